package lint

import (
	"cmp"
	"slices"
	"strings"

	"github.com/meshvet/meshvet/lint/object"
)

const theComment = "the comment"

// commented reads the comments of a file that silence findings.
func (e *Engine) commented(f *object.File) []*claim {
	comments, more := f.Comments()
	if len(comments) == 0 {
		return nil
	}
	var judged []placed
	for _, o := range f.Objects {
		if o.Kind.Judged() {
			first, last := o.Lines()
			judged = append(judged, placed{o, first, last})
		}
	}
	out := make([]*claim, len(comments))
	for i := range comments {
		out[i] = e.comment(f, &comments[i], judged)
	}
	if more {
		out[len(out)-1].fail("is the last of %d in the file; those behind it silence nothing, so split the file", len(comments))
	}
	return out
}

// placed is an object that findings can be about, with the lines on which it stands.
type placed struct {
	*object.Object
	first, last int
}

// comment reads one. judged are the objects of the file.
func (e *Engine) comment(f *object.File, text *object.Comment, judged []placed) *claim {
	c := &claim{
		Suppression: Suppression{Kind: ByComment, Where: text.Location, place: f.Name},
		subject:     theComment, file: f, first: text.First, last: text.Last,
	}
	rest := strings.TrimPrefix(text.Text, object.IgnoreMark)
	form, rest := cutWord(rest)
	words, reason, reasoned := strings.Cut(rest, "--")
	switch form {
	case "":
		c.about = c.within(judged)
		if len(c.about) == 1 {
			o := c.about[0]
			c.object, c.Object = o, o.Key
			c.Path, _ = o.FieldOn(c.first)
			c.place = o.Key.String() + StablePath(o, c.Path)
		} else if len(c.about) == 0 {
			c.read(e, words)
			if c.first == 0 {
				c.void("nothing follows it; put it on the line of the finding, or above that")
			} else {
				c.void("line %d, which it is about, is part of no ServiceEntry or DestinationRule", c.lineOf(c.first))
			}
			return c
		}
	case "-file":
		c.Kind, c.first, c.last = ByFile, 0, 0
		if !text.Leading {
			c.read(e, words)
			c.void("a comment about the whole file stands before all else in it; move it there")
			return c
		}
	default:
		c.void("%q is none of %s and %s-file", shortened(object.IgnoreMark+form), object.IgnoreMark, object.IgnoreMark)
		return c
	}
	if !c.read(e, words) {
		return c
	}
	switch {
	case !reasoned || !says(reason):
		names, why := c.words, "it has to say why"
		if n := slices.IndexFunc(names, func(w string) bool { return w == "-" || w == "–" || w == "—" }); n >= 0 {
			names, why = names[:n], "the reason stands behind two dashes"
		}
		c.void("%s, as in %s -- the reason", why, shortened(object.IgnoreMark+form+" "+strings.Join(names, " ")))
	case c.Until == "" && setsEnd(reason):
		c.void("until= belongs before the --")
	default:
		c.justify(e, strings.TrimLeft(reason, "-"))
	}
	return c
}

// lineOf is the number of a line in the file that somebody wrote, if it can be told.
func (c *claim) lineOf(line int) int {
	return cmp.Or(c.file.Place(line).Range.Start.Line, line)
}

// within lists the objects that a comment is about, all of them or in part.
func (c *claim) within(judged []placed) []*object.Object {
	var out []*object.Object
	for _, o := range judged {
		if o.first <= c.last && c.first <= o.last {
			out = append(out, o.Object)
		}
	}
	return out
}

// cutWord cuts a text behind its first word, which is empty if the text begins with white space or a comma.
func cutWord(text string) (word, rest string) {
	if n := strings.IndexFunc(text, separates); n >= 0 {
		return text[:n], text[n:]
	}
	return text, ""
}
