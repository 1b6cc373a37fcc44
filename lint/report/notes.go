package report

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/object"
)

// Notes writes what a person should know beside the findings, one line each; it is meant for standard error, whatever the
// format of the report. It tells problems and what was not judged as a whole (templates first of all), and with
// Options.Verbose also which findings are silenced and which rules did not run, both with the reason, and the mesh scopes.
func Notes(w io.Writer, r *lint.Report, opt Options) error {
	bw := bufio.NewWriter(w)
	v := newView(r, opt)
	pens := newPens(opt.Color)
	var told map[spot]bool
	if opt.SkipTold {
		told = v.told()
	}
	for _, p := range v.Problems {
		if !told[spotOf(p.Location)] {
			at := ""
			if p.Location.File != "" {
				at = place(p.Location) + ": "
			}
			fmt.Fprintf(bw, "%s%s: %s\n", at, pens.of(lint.Error, "problem"), clean(p.Message))
		}
	}
	if !opt.Quiet {
		writeNotices(bw, v, pens)
	}
	for i := range v.Baselines {
		writeStale(bw, v, &v.Baselines[i], pens)
	}
	if opt.Verbose {
		for i := range v.Suppressed {
			f := &v.Suppressed[i]
			if f.Suppression.Kind == lint.ByBaseline { // which says all that there is to say
				continue
			}
			fmt.Fprintf(bw, "%s: %s: %s: %s%s\n", place(f.Location), pens.of(lint.Info, "suppressed"),
				clean(f.Rule.ID+" "+f.Rule.Name), clean(f.Suppression.Reason), acceptedWhere(&f.Suppression))
		}
		writeRuleSkips(bw, v.Skipped)
		if s := v.Since; s != nil {
			fmt.Fprintf(bw, "compared with %s, commit %s: %s not new\n", clean(object.Abridge(s.Revision)), clean(s.Commit), areCount(s.Known, "finding"))
		}
		for _, s := range v.Scopes {
			fmt.Fprintf(bw, "mesh scope %s", scopeName(s))
			if len(s.Files) > 0 || v.Context.From != lint.FromCluster {
				fmt.Fprintf(bw, ": %s", count(len(s.Files), "file"))
			}
			fmt.Fprintln(bw)
		}
	}
	if err := bw.Flush(); err != nil {
		return fmt.Errorf("write notes: %w", err)
	}
	return nil
}

// writeNotices tells what is skipped as a whole. A repository may hold hundreds of templates, which somebody who lints one other file
// knows: without Options.Verbose what was to be context only is one line.
func writeNotices(w *bufio.Writer, v *view, pens pens) {
	around := map[string]bool{}
	for _, s := range v.Skipped {
		if s.Rule == "" && s.Around {
			around[s.File] = true
		}
	}
	short := len(around) > 1 && !v.opt.Verbose
	for _, s := range v.Skipped {
		if s.Rule == "" && !(short && s.Around) {
			fmt.Fprintf(w, "%s: %s: %s\n", place(noticePlace(v.Report, s)), pens.of(lint.Info, "notice"), clean(s.Reason))
		}
	}
	if short {
		fmt.Fprintf(w, "context: %s: %d files around the paths given are templates or cannot be read, so what they hold is not known; -v lists them\n",
			pens.of(lint.Info, "notice"), len(around))
	}
}

// acceptedWhere says where a suppression stands, which is in the file of what it silences, and until when it holds.
func acceptedWhere(s *lint.Suppression) string {
	var parts []string
	if start := s.Where.Range.Start; start.IsValid() {
		parts = append(parts, fmt.Sprintf("accepted on line %d", start.Line))
	}
	if s.Until != "" {
		parts = append(parts, "until "+clean(s.Until))
	}
	if len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, ", ") + ")"
}

// writeStale tells which entries of a baseline nothing is left of, one by one under Options.Verbose.
func writeStale(w *bufio.Writer, v *view, b *lint.BaselineUse, pens pens) {
	if len(b.Stale) == 0 || v.opt.Quiet {
		return
	}
	gone := 0
	for _, s := range b.Stale {
		gone += s.Gone
		if v.opt.Verbose {
			entry := s.Rule + " " + s.Object
			if s.Path != "" {
				entry += " " + s.Path
			}
			if s.Gone < s.Count {
				entry += fmt.Sprintf(" (%d of %d)", s.Gone, s.Count)
			}
			fmt.Fprintf(w, "%s:%d: %s: %s\n", clean(b.Name), s.Line, pens.of(lint.Info, "stale"), clean(entry+": "+s.Reason))
		}
	}
	fmt.Fprintf(w, "%s: %s: %s not there any more and still in the baseline; ", clean(b.Name), pens.of(lint.Info, "notice"), areCount(gone, "finding"))
	if b.Rewrite != "" {
		fmt.Fprintf(w, "--write-baseline %s removes what is stale", clean(b.Rewrite))
	} else {
		fmt.Fprint(w, "remove what is stale from the file")
	}
	if !v.opt.Verbose {
		fmt.Fprint(w, ", -v lists it")
	}
	fmt.Fprintln(w)
}

// areCount writes a number with its noun and verb.
func areCount(n int, noun string) string {
	if n == 1 {
		return count(n, noun) + " is"
	}
	return count(n, noun) + " are"
}

// spot is where a location begins.
type spot struct {
	file  string
	start object.Pos
}

func spotOf(l object.Location) spot { return spot{l.File, l.Range.Start} }

// told is where findings without an object are. A problem at such a place is the fault that the finding is about.
func (v *view) told() map[spot]bool {
	out := map[spot]bool{}
	for _, f := range v.Findings {
		if f.Object.Kind == "" {
			out[spotOf(f.Location)] = true
		}
	}
	return out
}

// noticePlace is where a notice about a file points; a template's own says on which line it is one.
func noticePlace(r *lint.Report, s lint.Skip) object.Location {
	if f := r.Sources[s.File]; f != nil && f.Template != nil && f.Template.Message == s.Reason {
		return f.Template.Location
	}
	return object.Location{File: s.File}
}

func scopeName(s lint.Scope) string {
	if s.Name == "" {
		return "(all files)"
	}
	return clean(s.Name)
}

// ruleSkip is a reason for which a rule did not judge some objects.
type ruleSkip struct {
	rule, reason string
	objects      int // 0 = it was not run at all
}

// what says what the rule left out.
func (s ruleSkip) what() string {
	if s.objects > 0 {
		return "passed over " + count(s.objects, "object")
	}
	return "was not run"
}

// ruleSkips sums up which rules did not judge how many objects, by reason.
func ruleSkips(skips []lint.Skip) []ruleSkip {
	objects := map[ruleSkip]int{}
	for _, s := range skips {
		if s.Rule == "" {
			continue
		}
		n := 0
		if s.Object.Kind != "" {
			n = 1
		}
		objects[ruleSkip{rule: s.Rule, reason: s.Reason}] += n
	}
	out := make([]ruleSkip, 0, len(objects))
	for c, n := range objects {
		c.objects = n
		out = append(out, c)
	}
	slices.SortFunc(out, func(a, b ruleSkip) int {
		return cmp.Or(cmp.Compare(a.rule, b.rule), cmp.Compare(a.reason, b.reason))
	})
	return out
}

// writeRuleSkips tells which rules did not judge how many objects, by reason.
func writeRuleSkips(w *bufio.Writer, skips []lint.Skip) {
	for _, c := range ruleSkips(skips) {
		fmt.Fprintf(w, "rule %s %s: %s\n", clean(c.rule), c.what(), clean(c.reason))
	}
}
