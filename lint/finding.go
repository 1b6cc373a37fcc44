package lint

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/meshvet/meshvet/lint/effective"
	"github.com/meshvet/meshvet/lint/object"
)

// Finding is one thing that a rule found wrong with one object.
type Finding struct {
	Rule     *Meta
	Severity Severity
	Message  string // what is wrong, with the value; one sentence without a full stop
	Effect   string // what Envoy will do because of it
	Object   object.Key
	Path     object.Path
	Location object.Location
	Related  []Related
	Fixes    []Fix
	Subject  Subject
	// Caused says that a change brings the finding in, and that the change is not in the file of the finding. See Report.Since.
	Caused bool
	// Rendered says what the object was rendered by, nil if it stands in its file as it was judged. Location is in the file that it was
	// rendered from, and exact only if that holds the same.
	Rendered *Rendered

	fingerprint string
	place       string           // StablePath of Path, "" if it is about a file
	cause       string           // the fingerprint that it shares with findings that read alike
	object      *object.Object   // the one that it is about; nil if it is about a file
	beside      bool             // on an object that is not judged
	suppressed  *claim           // what silences it
	remark      *object.Location // the place of the suppression that it is about, nil if it is about none
}

// Related is another place that has to do with a finding.
type Related struct {
	Message  string
	Object   object.Key
	Path     object.Path
	Location object.Location
}

// Subject is what a finding is about beyond the field it points at; it decides which findings have the same cause.
type Subject struct {
	Objects []object.Key
	Hosts   []string
	Ports   []uint32
	// Blocks are the blocks of a traffic policy that the finding is about, such as connectionPool; none = not about some of them only.
	Blocks []string
	// Fields are other fields of the finding's object that it accounts for, beside its path.
	Fields []object.Path
}

// SubjectOf is what a finding about some ports is about.
func SubjectOf(ports []effective.Port) Subject {
	var s Subject
	for _, p := range ports {
		if h := string(p.Host); h != "" && !slices.Contains(s.Hosts, h) {
			s.Hosts = append(s.Hosts, h)
		}
		if !slices.Contains(s.Ports, p.Number) {
			s.Ports = append(s.Ports, p.Number)
		}
	}
	return s
}

// Safety says how a fix may be applied.
type Safety string

// The safeties. NoFix is for metadata only.
const (
	NoFix  Safety = ""
	Safe   Safety = "safe"   // changes nothing but what the author's own values name, or what Envoy ignores anyway
	Unsafe Safety = "unsafe" // brings in a choice that the author did not state
	Show   Safety = "show"   // to be read, not applied
)

// Fix is a change that would cure a finding, as JSON Patch operations on the finding's object, or as an object to create.
type Fix struct {
	Title  string
	Safety Safety
	Ops    []Op
	Create *Create
}

// Offers returns the safety of the best fix of the finding that can be applied, NoFix if it has none.
func (f *Finding) Offers() Safety {
	best := NoFix
	if f.Rendered != nil {
		return best // what is rendered is made anew from something else
	}
	for i := range f.Fixes {
		switch f.Fixes[i].Safety {
		case Safe:
			return Safe
		case Unsafe:
			best = Unsafe
		}
	}
	return best
}

// OpKind is a JSON Patch operation.
type OpKind string

// The operations that fixes use.
const (
	Add     OpKind = "add"
	Replace OpKind = "replace"
	Remove  OpKind = "remove"
)

// Op is one operation. Unlike in RFC 6902, adding below a missing mapping creates it.
type Op struct {
	Kind  OpKind
	Path  object.Path
	Value any
}

// Create is a whole object that a fix proposes.
type Create struct {
	Object    map[string]any
	AfterFile string // the file after whose end it would be written
}

// Fingerprint identifies a finding across edits that do not touch its cause: it holds the rule, the object, the path with
// list items named by what identifies them, and the message without its numbers.
func (f *Finding) Fingerprint() string { return f.fingerprint }

// abridge shortens what the finding quotes from the input, which its fingerprint still holds in full.
func (f *Finding) abridge() {
	f.Message, f.Effect = object.Abridge(f.Message), object.Abridge(f.Effect)
	for i := range f.Related {
		f.Related[i].Message = object.Abridge(f.Related[i].Message)
	}
	for i := range f.Fixes {
		f.Fixes[i].Title = object.Abridge(f.Fixes[i].Title)
	}
}

// identify works out what the finding is known by. o is nil if it is about a file.
func (f *Finding) identify(o *object.Object) {
	h := sha256.New()
	fmt.Fprintln(h, f.Rule.ID)
	fmt.Fprintln(h, f.Object.Kind, f.Object.Namespace, f.Object.Name)
	f.object = o
	if o != nil {
		f.place = StablePath(o, f.Path)
		fmt.Fprintln(h, f.place)
	} else {
		fmt.Fprintln(h, f.Location.File)
	}
	fmt.Fprintln(h, messageShape(f.placeless()))
	f.fingerprint = hex.EncodeToString(h.Sum(nil)[:12])
}

// alike is what a finding has in common with those of other runs, and of other meshes, that read alike. It does not hold the name of the
// file, also not that of a file that is at fault itself.
func (f *Finding) alike() string {
	if f.Object.Kind == "" {
		return f.Rule.ID + "\n" + messageShape(strings.ReplaceAll(f.Message, f.Location.File, ""))
	}
	return cmp.Or(f.cause, f.fingerprint)
}

// tellApart gives findings that read alike, such as two broken documents of one file, fingerprints of their own, by their order. Those
// that are silenced count too, or silencing one would give another its fingerprint.
func tellApart(r *Report) {
	all := make([]*Finding, 0, len(r.Findings)+len(r.Suppressed))
	for i := range r.Findings {
		all = append(all, &r.Findings[i])
	}
	for i := range r.Suppressed {
		all = append(all, &r.Suppressed[i].Finding)
	}
	if len(r.Suppressed) > 0 {
		slices.SortStableFunc(all, func(a, b *Finding) int { return CompareFindings(*a, *b) })
	}
	seen := map[string]int{}
	for _, f := range all {
		f.cause = f.fingerprint
		if seen[f.fingerprint]++; seen[f.fingerprint] > 1 {
			sum := sha256.Sum256(fmt.Appendf(nil, "%s %d", f.fingerprint, seen[f.fingerprint]))
			f.fingerprint = hex.EncodeToString(sum[:12])
		}
	}
}

// itemKeys are the fields by which items of the lists in our kinds are told apart.
var itemKeys = [...]object.Path{{"number"}, {"port", "number"}, {"name"}, {"address"}, {"from"}}

// StablePath writes a path with list items named by their identifying field or value instead of their index.
func StablePath(o *object.Object, p object.Path) string {
	var b strings.Builder
	v := o.Root()
	for _, e := range p {
		v = v.At(e)
		if _, isIndex := e.(int); !isIndex {
			fmt.Fprintf(&b, ".%s", e)
			continue
		}
		id := fmt.Sprint(e)
		switch v.Type() {
		case object.String, object.Int:
			id = v.Text()
		case object.Map:
			for _, key := range itemKeys {
				if k := v.At(key...); k.Type() == object.String || k.Type() == object.Int {
					id = k.Text()
					break
				}
			}
		}
		fmt.Fprintf(&b, "[%s]", id)
	}
	return b.String()
}

// placeless is the message with FILE for the other places that it names: what a file is called, and from where, does not belong to a fault.
func (f *Finding) placeless() string {
	msg := f.Message
	for i := range f.Related {
		if l := f.Related[i].Location; l.File != "" && strings.Contains(msg, l.File) {
			msg = strings.ReplaceAll(strings.ReplaceAll(msg, l.String(), "FILE"), l.File, "FILE")
		}
	}
	return msg
}

// messageShape drops digits, which stand for lines, counts and limits that may change while the cause stays.
func messageShape(msg string) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return -1
		}
		return r
	}, msg)
}

// CompareFindings orders findings as reports show them.
func CompareFindings(a, b Finding) int {
	if c := strings.Compare(a.Location.File, b.Location.File); c != 0 {
		return c
	}
	if as, bs := a.Location.Range.Start, b.Location.Range.Start; as != bs {
		if as.Less(bs) {
			return -1
		}
		return 1
	}
	if c := strings.Compare(a.Rule.ID, b.Rule.ID); c != 0 {
		return c
	}
	if c := strings.Compare(a.Path.String(), b.Path.String()); c != 0 {
		return c
	}
	return strings.Compare(a.Message, b.Message)
}
