package object

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"
)

// Class is what a file turned out to be. Every file that is read has exactly one.
type Class string

// The classes of files.
const (
	Linted   Class = "linted"   // holds objects of a kind that is judged
	Other    Class = "other"    // holds only other kinds, or nothing
	Template Class = "template" // must be rendered before it can be judged
	Broken   Class = "broken"   // holds a document that cannot be loaded
)

// ProblemKind says why something could not be loaded.
type ProblemKind string

// The kinds of problems.
const (
	Syntax     ProblemKind = "syntax"     // not YAML or JSON, or a duplicate key
	Bounds     ProblemKind = "bounds"     // larger, deeper or longer than Limits
	Unreadable ProblemKind = "unreadable" // the file cannot be opened or read
	Missing    ProblemKind = "missing"    // there is no such file
)

// Problem is a fault of the input that keeps a document from being judged. It makes a run fail, whatever else is found.
type Problem struct {
	Kind     ProblemKind
	Message  string
	Location Location
	Rule     string // the ID of the rule that broke, "" if it is no fault of a rule
}

// Notice is something a reader of the report should know that is no fault.
type Notice struct {
	Message  string
	Location Location
}

// File is one source of objects.
type File struct {
	Name      string
	Class     Class
	Documents int       // documents that are not empty
	Objects   []*Object // of the kinds that are read, in the order of the text
	Problems  []Problem
	Template  *Notice  // set when Class is Template
	Unread    []Notice // documents of context kinds that could not be loaded: what they say is not known

	comments     []Comment
	moreComments bool
	inCluster    bool
	rendering    *Rendering // nil unless the text was rendered

	text      string
	bom       bool
	linesOnce sync.Once
	lines     lines
}

// Text is the content of the file, without byte-order mark. It is empty for files that hold nothing of
// which to report.
func (f *File) Text() string { return f.text }

// HasBOM says whether the file begins with a byte-order mark, which offsets into Text do not count.
func (f *File) HasBOM() bool { return f.bom }

// Line returns line n (from 1) without its line end, "" if there is none.
func (f *File) Line(n int) string {
	f.indexLines()
	if n < 1 || n > len(f.lines.starts) {
		return ""
	}
	end := len(f.text)
	if n < len(f.lines.starts) {
		end = int(f.lines.starts[n])
	}
	return strings.TrimRight(f.text[f.lines.starts[n-1]:end], "\r\n")
}

func (f *File) indexLines() {
	f.linesOnce.Do(func() { f.lines = editorLines(f.text) })
}

// Pos is the place of a byte of Text; that of its end is where more would be written.
func (f *File) Pos(off int) Pos { return f.pos(uint32(max(0, min(off, len(f.text))))) }

func (f *File) pos(off uint32) Pos {
	f.indexLines()
	return f.lines.pos(off)
}

func (f *File) spanRange(start, end uint32) Range { return Range{f.pos(start), f.pos(end)} }

// rangeOf is the place at which a finding about a value points: a scalar itself, the key of anything else, the first line of
// what has no key or runs over several lines.
func (f *File) rangeOf(v Value) Range {
	n := v.node()
	if n.keyEnd > n.keyStart && (n.typ == Map || n.typ == List || n.typ == Null) {
		return f.spanRange(n.keyStart, n.keyEnd)
	}
	end := n.end
	if nl := strings.IndexByte(f.text[n.start:end], '\n'); nl >= 0 {
		end = n.start + uint32(len(strings.TrimRight(f.text[n.start:n.start+uint32(nl)], " \t\r")))
	}
	return f.spanRange(n.start, end)
}

// Load reads a stream of manifests. name is what reports call it. Faults of the content are Problems of the result; the error
// is only for ctx.
func Load(ctx context.Context, name string, r io.Reader, limits Limits) (*File, error) {
	limits = limits.WithDefaults()
	f := &File{Name: name, Class: Other}
	text, err := readAll(r, limits.FileBytes)
	switch {
	case err != nil:
		f.problem(Unreadable, Location{File: name}, "cannot be read: %s", err)
		return f, f.interrupted(ctx)
	case len(text) > limits.FileBytes:
		f.loadOversize(ctx, text, r, limits)
		return f, f.interrupted(ctx)
	}
	if rest, found := strings.CutPrefix(text, bom); found {
		f.bom, text = true, rest
	}
	if encoding := wideEncoding(text); encoding != "" {
		if namesJudged(strings.ReplaceAll(text, "\x00", "")) {
			f.problem(Syntax, Location{File: name}, "is encoded as %s; save it as UTF-8", encoding)
		}
		return f, f.interrupted(ctx)
	}
	if !worthParsing(text) {
		return f, f.interrupted(ctx)
	}
	f.text = text
	l := loader{f: f, limits: limits, tree: treeBuilder{limits: limits, text: text}}
	if strings.Contains(text, IgnoreMark) {
		l.remarks, l.tree.wantTexts = newCommentReader(f), true
	}
	if err := l.load(ctx); err != nil {
		return f, err
	}
	l.settle()
	if len(f.Objects) == 0 && len(f.Problems) == 0 && f.Template == nil && len(f.Unread) == 0 {
		f.text, f.lines, f.comments = "", lines{}, nil
	}
	return f, nil
}

func (f *File) interrupted(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("read %s: %w", f.Name, err)
	}
	return nil
}

// readAll reads up to limit bytes, and one more if there are more. It keeps no second copy, and where the size is known, no
// more than that.
func readAll(r io.Reader, limit int) (string, error) {
	var b strings.Builder
	switch r := r.(type) {
	case interface{ Len() int }:
		b.Grow(min(r.Len(), limit) + 1)
	case interface{ Stat() (fs.FileInfo, error) }:
		if info, err := r.Stat(); err == nil && info.Size() > 0 {
			b.Grow(int(min(info.Size(), int64(limit))) + 1)
		}
	}
	if _, err := io.Copy(&b, io.LimitReader(r, int64(limit)+1)); err != nil {
		return "", err
	}
	if b.Cap() > b.Len()+b.Len()/4 {
		return strings.Clone(b.String()), nil
	}
	return b.String(), nil
}

// wideEncoding recognises UTF-16 and UTF-32, by the byte-order mark or by where the zeros stand among the first bytes: manifests
// are mostly ASCII. It returns "" for anything else.
func wideEncoding(text string) string {
	switch {
	case strings.HasPrefix(text, "\xff\xfe\x00\x00"), strings.HasPrefix(text, "\x00\x00\xfe\xff"):
		return "UTF-32"
	case strings.HasPrefix(text, "\xff\xfe"), strings.HasPrefix(text, "\xfe\xff"):
		return "UTF-16"
	}
	quads := min(len(text), 256) / 4
	var zeros [4]int
	for i := range 4 * quads {
		if text[i] == 0 {
			zeros[i%4]++
		}
	}
	var mostly [4]bool
	for i, n := range zeros {
		mostly[i] = n > quads/2
	}
	switch mostly {
	case [4]bool{true, true, true, false}, [4]bool{false, true, true, true}:
		return "UTF-32"
	case [4]bool{true, false, true, false}, [4]bool{false, true, false, true}:
		return "UTF-16"
	}
	return ""
}

// loadOversize looks through a file that is too large to keep, so that a data file that merely is YAML stays silent.
func (f *File) loadOversize(ctx context.Context, head string, r io.Reader, limits Limits) {
	all := &io.LimitedReader{R: io.MultiReader(strings.NewReader(head), r), N: int64(limits.SearchedBytes)}
	ours, err := scanReader(ctx, all)
	switch {
	case err != nil:
		f.problem(Unreadable, Location{File: f.Name}, "cannot be read: %s", err)
	case !ours && all.N == 0:
		f.problem(Bounds, Location{File: f.Name}, "does not end within %d MiB; give the manifests alone, or exclude the file", limits.SearchedBytes>>20)
	case ours:
		f.problem(Bounds, Location{File: f.Name}, "is larger than %d MiB; split it", limits.FileBytes>>20)
	}
}

func (f *File) problem(kind ProblemKind, at Location, format string, args ...any) {
	f.Class = Broken
	f.Problems = append(f.Problems, Problem{Kind: kind, Message: Abridge(fmt.Sprintf(format, args...)), Location: at})
}

// locationAt is a one-character location at a byte of the text.
func (f *File) locationAt(off int) Location {
	start := f.pos(uint32(off))
	end := start
	end.Col++
	return Location{File: f.Name, Range: Range{start, end}, Exact: true}
}

// loader reads the documents of one file.
type loader struct {
	f      *File
	limits Limits
	tree   treeBuilder
	run    run
	doc    document // the one whose objects are being taken out
	pieces int      // documents so far, the empty ones too
	// unreadTemplate is the first document of context kinds that must be rendered; it is told unless the file is a template anyway.
	unreadTemplate *Notice
	loose          bool           // a document that is no manifest is noted
	remarks        *commentReader // nil if the file has no comment that is kept
}

func (l *loader) load(ctx context.Context) error {
	for p := range split(l.f.text) {
		if err := l.f.interrupted(ctx); err != nil {
			return err
		}
		if !p.empty && l.run.takes(p) && worthParsing(l.f.text[p.start:p.end]) {
			l.run.pieces = append(l.run.pieces, p)
			continue
		}
		if !l.flush() || !l.document(p, nil) {
			return nil
		}
	}
	l.flush()
	return nil
}

// flush reads the documents that were put off to be read together. It returns false if the file has too many.
func (l *loader) flush() bool {
	r := &l.run
	if len(r.pieces) == 0 {
		return true
	}
	r.decode(l.f.text, l.limits)
	for i, p := range r.pieces {
		if !l.document(p, r.roots[i]) {
			return false
		}
	}
	r.pieces = r.pieces[:0]
	return true
}

// document reads one document, whose root is known if it was read in a run. It returns false if the file has too many.
func (l *loader) document(p piece, root *yaml.Node) bool {
	f := l.f
	if l.pieces++; l.pieces > l.limits.Documents {
		l.unloadable(piece{start: p.start, end: len(f.text)}, &documentError{
			Bounds, uint32(p.start), fmt.Sprintf("has more than %d documents; split it", l.limits.Documents),
		})
		return false
	}
	if p.empty {
		l.comments(p, nil, Value{})
		return true
	}
	f.Documents++
	text := f.text[p.start:p.end]
	if !worthParsing(text) {
		l.commentsOfOthers(p)
		return true
	}
	if len(text) > l.limits.DocumentBytes {
		l.unloadable(p, l.numbered(&documentError{
			Bounds, uint32(p.start), fmt.Sprintf("larger than %d MiB; split it", l.limits.DocumentBytes>>20),
		}))
		return true
	}
	var v Value
	var err error
	if root != nil {
		v, err = l.tree.value(root, l.run.start(), l.run.lines, false)
	} else {
		v, err = l.tree.parse(p.start, p.end)
	}
	if err == nil {
		l.comments(p, l.tree.texts, v)
		l.doc = document{v, uint32(p.start), uint32(p.end)}
		l.addObjects(v, typed{})
		l.looseManifests(v, text)
		return true
	}
	if parts := jsonValues(text, p.start); len(parts) > 1 {
		f.Documents--
		l.pieces--
		for _, part := range parts {
			if !l.document(part, nil) {
				return false
			}
		}
		return true
	}
	de := &documentError{kind: Syntax, at: uint32(p.start), msg: err.Error()}
	errors.As(err, &de)
	l.unloadable(p, l.numbered(de))
	return true
}

func (l *loader) comments(p piece, texts []stretch, root Value) {
	if l.remarks != nil {
		l.remarks.read(p, texts, root)
	}
}

// commentsOfOthers reads a document that holds nothing of ours for what stands at its end: it may be about the next one.
func (l *loader) commentsOfOthers(p piece) {
	if l.remarks == nil || p.end-p.start > l.limits.DocumentBytes || !strings.Contains(l.f.text[p.start:p.end], IgnoreMark) {
		return
	}
	if root, err := l.tree.parse(p.start, p.end); err == nil {
		l.comments(p, l.tree.texts, root)
	}
}

// numbered says which document an error is about.
func (l *loader) numbered(e *documentError) *documentError {
	return &documentError{e.kind, e.at, fmt.Sprintf("document %d cannot be read: %s", l.f.Documents, e.msg)}
}

// unloadable records a document that could not be loaded: a problem if it may hold a judged kind, else something unread.
func (l *loader) unloadable(p piece, e *documentError) {
	f := l.f
	text := f.text[p.start:p.end]
	judged := mayHoldJudged(text)
	if !judged && !mayHoldRead(text) {
		return
	}
	if e.kind == Syntax {
		if marker, off := findTemplate(text); marker != "" {
			l.template(marker, f.locationAt(p.start+off), judged)
			return
		}
		// ${NAME} is text in most places, so it is the cause only on the line of the fault, such as in [${NAME}].
		if marker, off := placeholderOnLine(text, int(e.at)-p.start); marker != "" {
			l.template(marker, f.locationAt(p.start+off), judged)
			return
		}
	}
	if judged {
		f.problem(e.kind, e.location(f), "%s", e.msg)
		return
	}
	f.Unread = append(f.Unread, Notice{Message: Abridge(e.msg), Location: e.location(f)})
}

// template notes that a document must be rendered first. One notice per file is enough.
func (l *loader) template(marker string, at Location, judged bool) {
	n := Notice{Message: Abridge(fmt.Sprintf("is a template (%s on line %d): %s", marker, at.Range.Start.Line, renderAdvice(marker))), Location: at}
	switch {
	case judged && l.f.Template == nil:
		l.f.Template = &n
	case !judged && l.unreadTemplate == nil:
		l.unreadTemplate = &n
	}
}

// addObjects takes the objects out of a document: itself, or the items of a list.
func (l *loader) addObjects(root Value, list typed) {
	f := l.f
	if kind := root.Get("kind").Str(); strings.HasSuffix(kind, "List") {
		items := root.Get("items")
		if items.Len() > l.limits.ListItems {
			n := root.node()
			l.unloadable(piece{start: int(n.start), end: int(n.end)}, l.numbered(&documentError{
				Bounds, items.node().start, fmt.Sprintf("its %s holds more than %d items; split it", kind, l.limits.ListItems),
			}))
			return
		}
		list := typed{}
		if kind != "List" {
			list = typedBy(root)
		}
		// kubectl refuses the whole list for one item that is no mapping; telling one of them is enough.
		told := !Kind(strings.TrimSuffix(kind, "List")).Judged()
		for i, item := range items.Items() {
			if item.Type() != Map && !told {
				told = true
				n := root.node()
				l.unloadable(piece{start: int(n.start), end: int(n.end)}, l.numbered(&documentError{
					Syntax, item.node().start, fmt.Sprintf("item %d of its %s is no mapping (type %s); write the manifest, or remove it", i+1, kind, item.Type()),
				}))
			}
			l.addObjects(item, list)
		}
		return
	}
	o := newObject(f, root, list)
	if o == nil || o.Kind == ConfigMap && !(strings.HasPrefix(o.Name, "istio") && o.root.At("data", "mesh").Exists()) {
		return // of ConfigMaps, only one that holds mesh configuration is of interest
	}
	if v := templated(o); v.Exists() {
		at := Location{File: f.Name, Range: f.rangeOf(v), Exact: true}
		marker, _ := findTemplate(v.Str())
		if marker == "" {
			marker, _ = findTemplate(v.Key())
		}
		if marker == "" {
			marker = placeholder.FindString(v.Str())
		}
		l.template(marker, at, o.Kind.Judged())
		return
	}
	if long := o.longList(l.limits.ObjectItems); long.Exists() {
		f.problem(Bounds, Location{File: f.Name, Range: f.rangeOf(long), Exact: true},
			"%s is not judged: %s holds %d items, and %d are the most; shorten it, or split the object", strings.TrimSpace(o.Key.String()), cmp.Or(long.Key(), "a list"), long.Len(), l.limits.ObjectItems)
		return
	}
	o.doc = l.doc
	f.Objects = append(f.Objects, o)
}

// looseManifests notes that a document of ours is none that a tool for Kubernetes reads: a list, of the kind that Ansible and
// JSON patches consist of, or a text. One notice per file is enough.
func (l *loader) looseManifests(root Value, text string) {
	f := l.f
	var at Value
	var what string
	switch root.Type() {
	case List:
		at, what = manifestIn(root), "is a list, from which kubectl reads no manifests: the one on line %d was not judged; put it into a document of its own"
	case String:
		if namesJudged(text) && strings.Contains(text, "kind") {
			at, what = root, "is a text (from line %d on), so nothing in it was judged; remove what makes it one, such as a // comment before JSON"
		}
	}
	if !at.Exists() || l.loose {
		return
	}
	l.loose = true
	where := Location{File: f.Name, Range: f.rangeOf(at), Exact: true}
	f.Unread = append(f.Unread, Notice{
		Message:  fmt.Sprintf("document %d "+what, f.Documents, where.Range.Start.Line),
		Location: where,
	})
}

// manifestIn returns the kind of the first object of a judged kind that stands in a list at any depth, an absent value if none
// does. What has no metadata is a reference to an object.
func manifestIn(v Value) Value {
	if apiVersion := v.Get("apiVersion").Str(); apiVersion != "" && v.Get("metadata").Type() == Map {
		if k, _ := classify(apiVersion, kindOf(v)); k.Judged() {
			return v.Get("kind")
		}
	}
	for c := v.First(); c.Exists(); c = c.Next() {
		if found := manifestIn(c); found.Exists() {
			return found
		}
	}
	return Value{}
}

// settle decides what the file is. A template is judged only as rendered, so its own documents are dropped even where they
// happen to parse, and their faults with them.
func (l *loader) settle() {
	f := l.f
	if f.Template != nil {
		f.Objects = nil
		f.Problems = slices.DeleteFunc(f.Problems, func(p Problem) bool { return p.Kind == Syntax })
	} else if l.unreadTemplate != nil {
		f.Unread = append(f.Unread, *l.unreadTemplate)
	}
	switch {
	case len(f.Problems) > 0:
		f.Class = Broken
	case f.Template != nil:
		f.Class = Template
	case slices.ContainsFunc(f.Objects, func(o *Object) bool { return o.Kind.Judged() }):
		f.Class = Linted
	default:
		f.Class = Other
	}
}
