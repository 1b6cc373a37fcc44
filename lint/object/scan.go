package object

import (
	"bytes"
	"context"
	"io"
	"regexp"
	"strings"
)

// MentionsJudged says whether text may hold an object of a kind that meshvet judges. It errs on the side of true: a document
// is left unparsed only if its kind cannot be one of them, even when the kind is spelt with escapes.
func MentionsJudged(text string) bool { return namesJudged(text) || mayHideWords(text) }

func namesJudged(text string) bool {
	return strings.Contains(text, string(ServiceEntry)) || strings.Contains(text, string(DestinationRule))
}

// mentionsKind is MentionsJudged for all kinds that are read.
func mentionsKind(text string) bool {
	// HTTPRoute, Gateway and the like contain none of each other; Service is part of ServiceEntry.
	for _, word := range [...]string{
		string(Service), string(DestinationRule), string(VirtualService), string(Gateway), string(Sidecar), string(WorkloadEntry),
		string(EnvoyFilter), string(Namespace), string(ConfigMap), string(HTTPRoute), string(BackendTLSPolicy),
	} {
		if strings.Contains(text, word) {
			return true
		}
	}
	return mayHideWords(text)
}

// worthParsing says whether a document may hold an object that is read, or was meant to be one: it names such a kind, or the group
// of those that are judged. It errs on the side of true.
func worthParsing(text string) bool { return mentionsKind(text) || strings.Contains(text, IstioGroup) }

// mayHideWords says whether a scalar of the text may have a value whose letters are not in the text: by an escape in double
// quotes, by a line broken with a backslash, or as binary.
func mayHideWords(text string) bool {
	for rest := text; ; {
		i := strings.IndexByte(rest, '\\')
		if i < 0 || i+1 == len(rest) {
			break
		}
		switch rest[i+1] {
		case 'x', 'u', 'U', '\n', '\r', 0xC2, 0xE2: // the last two begin NEL, LS and PS
			// A Windows path or a regular expression lands here too; then the document is parsed, which is merely slower.
			if strings.IndexByte(text, '"') >= 0 {
				return true
			}
		}
		rest = rest[i+2:]
	}
	return strings.Contains(text, "binary") || strings.Contains(text, "%TAG") || hasEscapedTag(text)
}

// hasEscapedTag says whether a tag is written with %-escapes, in which !!binary may be hidden.
func hasEscapedTag(text string) bool {
	for {
		i := strings.IndexByte(text, '!')
		if i < 0 {
			return false
		}
		text = text[i+1:]
		for j := 0; j < len(text) && !isBlank(text[j]); j++ {
			if text[j] == '%' {
				return true
			}
			if text[j] == '!' && j > 0 {
				break // the next round begins there
			}
		}
	}
}

// rootKind finds what a document in block style gives as its kind, without parsing it.
var rootKind = regexp.MustCompile(`(?m)^kind:[ \t]+["']?([A-Za-z]+)["']?[ \t]*(?:#.*)?\r?$`)

var istioName = regexp.MustCompile(`(?m)^[ \t]+["']?name["']?:[ \t]+["']?istio(?:["'\s-]|$)`)

// mayHoldJudged says whether a document that cannot be parsed may have been meant to hold an object that is judged: it names
// such a kind, and not in the inside of something else.
func mayHoldJudged(text string) bool {
	return MentionsJudged(text) && mayBe(text, Kind.Judged)
}

// mayHoldRead is mayHoldJudged for all kinds that are read.
func mayHoldRead(text string) bool {
	return mentionsKind(text) && mayBe(text, func(k Kind) bool {
		_, known := groups[k]
		return known && (k != ConfigMap || istioName.MatchString(text))
	})
}

func mayBe(text string, wanted func(Kind) bool) bool {
	if !strings.Contains(text, "kind") {
		return false
	}
	found := rootKind.FindAllStringSubmatch(text, -1)
	for _, m := range found {
		if strings.HasSuffix(m[1], "List") || wanted(Kind(m[1])) {
			return true
		}
	}
	return len(found) == 0
}

// scanReader looks for the words of the judged kinds in a stream that is too long to keep.
func scanReader(ctx context.Context, r io.Reader) (bool, error) {
	const overlap = 32 // longer than any of the words
	se, dr := []byte(ServiceEntry), []byte(DestinationRule)
	buf := make([]byte, 256<<10)
	kept := 0
	for ctx.Err() == nil {
		n, err := io.ReadFull(r, buf[kept:])
		if read := buf[:kept+n]; bytes.Contains(read, se) || bytes.Contains(read, dr) {
			return true, nil
		}
		if err == io.EOF || err == io.ErrUnexpectedEOF {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		kept = copy(buf, buf[len(buf)-overlap:])
	}
	return false, nil
}
