package object

import (
	"fmt"
	"strings"
	"sync"

	networking "istio.io/api/networking/v1alpha3"
	clientnetworking "istio.io/client-go/pkg/apis/networking/v1"
)

// Object is one manifest. It never changes once loaded, and may be read from several goroutines.
type Object struct {
	Key
	APIVersion string
	// Stray says that the manifest's group or kind is a misspelling of Istio's: neither Kubernetes nor Istio know this object. Its
	// Kind is what was meant.
	Stray bool

	file *File // nil for an object from a cluster
	root Value
	doc  document
	// inherited says that kind and apiVersion are those of the list that the object stands in.
	inherited bool
	replaces  *Object // see Apply

	typed  sync.Once
	spec   any
	decErr error
}

// newObject makes an object of a document or list item that is one of the kinds that are read; otherwise nil.
func newObject(file *File, root Value, list typed) *Object {
	root, inherited := list.complete(root)
	apiVersion := root.Get("apiVersion").Str()
	kind, stray := classify(apiVersion, kindOf(root))
	if written := root.Get("kind"); written.Type() != String {
		stray = true
	}
	if kind == "" || stray && !kind.Judged() {
		return nil
	}
	meta := root.Get("metadata")
	o := &Object{
		Key:        Key{Kind: kind, Namespace: meta.Get("namespace").Str(), Name: meta.Get("name").Str()},
		APIVersion: apiVersion,
		Stray:      stray,
		file:       file,
		root:       root,
		inherited:  inherited,
	}
	if prefix := meta.Get("generateName").Str(); o.Name == "" && prefix != "" {
		o.Name = prefix + "*"
	}
	return o
}

// FromMap makes an object of what a cluster holds, in the form of unstructured.Unstructured. It returns nil if the kind is not
// one that meshvet reads. Such an object has no file, and its locations no positions.
func FromMap(raw map[string]any) (*Object, error) {
	b := mapBuilder{}
	if err := b.add(raw, "", 0); err != nil {
		return nil, fmt.Errorf("read object from the cluster: %w", err)
	}
	return newObject(nil, Value{t: &table{nodes: b.nodes, strs: b.strs}}, typed{}), nil
}

// longList returns the first list with more items than a limit of an object that is judged, an absent value if there is none.
func (o *Object) longList(limit int) Value {
	if !o.Kind.Judged() {
		return Value{}
	}
	first := o.root.i
	for i, n := range o.root.t.nodes[first:o.root.end()] {
		if n.typ == List && n.bits > uint64(limit) {
			return Value{t: o.root.t, i: first + int32(i)}
		}
	}
	return Value{}
}

// Size is the number of values in the manifest: mappings, lists, and what is in them.
func (o *Object) Size() int { return int(o.root.end() - o.root.i) }

// document is where an object stands in its file.
type document struct {
	root       Value
	start, end uint32
}

// Document returns the value of the document that holds the object, and the bytes of the file in which it stands, with the
// document's marker and the comments around it. The value is that of a list if the object is an item of one. ok is false for an
// object without a file.
func (o *Object) Document() (root Value, start, end int, ok bool) {
	return o.doc.root, int(o.doc.start), int(o.doc.end), o.file != nil && o.doc.root.Exists()
}

// Root is the whole manifest.
func (o *Object) Root() Value { return o.root }

// Spec is the manifest's spec.
func (o *Object) Spec() Value { return o.root.Get("spec") }

// Lookup follows a path from the root. The value exists only if the author wrote it: absent and zero differ.
func (o *Object) Lookup(p Path) Value { return o.root.At(p...) }

// Label returns a label, "" if it is not set.
func (o *Object) Label(key string) string { return o.root.At("metadata", "labels", key).Str() }

// Annotation returns an annotation, "" if it is not set.
func (o *Object) Annotation(key string) string {
	return o.root.At("metadata", "annotations", key).Str()
}

// File returns the file that the object was read from, nil for an object from a cluster.
func (o *Object) File() *File { return o.file }

// FileName is the name of that file, or "cluster:kind/namespace/name".
func (o *Object) FileName() string {
	if o.file == nil {
		return clusterPrefix + string(o.Kind) + "/" + strings.TrimPrefix(o.Namespace+"/"+o.Name, "/")
	}
	return o.file.Name
}

// Span returns the bytes of the file that hold the value at p, without its key. ok is false if there is no such value or no file.
func (o *Object) Span(p Path) (start, end int, ok bool) {
	v := o.Lookup(p)
	if v.t == nil || o.file == nil {
		return 0, 0, false
	}
	n := v.node()
	return int(n.start), int(n.end), true
}

// Locate finds the place in the file that a finding about p should point at: a scalar itself, the key of a mapping or list,
// and, where p does not exist, the same for its nearest existing ancestor with Exact false.
func (o *Object) Locate(p Path) Location { return o.traced(p, false, o.locate(p)) }

func (o *Object) locate(p Path) Location {
	loc := Location{File: o.FileName(), Exact: true}
	if o.file == nil {
		return loc
	}
	v := o.root
	for i, e := range p {
		next := v.At(e)
		if next.t == nil {
			loc.Exact = false
			p = p[:i]
			break
		}
		v = next
	}
	if len(p) == 0 {
		if kind := o.root.Get("kind"); kind.t != nil && !o.inherited {
			v = kind
		}
	}
	loc.Range = o.file.rangeOf(v)
	return loc
}

// LocateKey is Locate for findings about a field's name rather than its value.
func (o *Object) LocateKey(p Path) Location {
	v := o.Lookup(p)
	if v.t == nil || o.file == nil || v.node().keyStart == v.node().keyEnd {
		return o.Locate(p)
	}
	n := v.node()
	return o.traced(p, true, Location{File: o.FileName(), Range: o.file.spanRange(n.keyStart, n.keyEnd), Exact: true})
}

// LastLine is the line of the file on which the object ends, 0 without a file.
func (o *Object) LastLine() int {
	if o.file == nil {
		return 0
	}
	return o.file.pos(o.root.node().end).Line
}

// ServiceEntry returns the spec as Istio's own types hold it, nil if the object is of another kind or does not decode.
func (o *Object) ServiceEntry() *networking.ServiceEntry {
	se, _ := o.decode().(*networking.ServiceEntry)
	return se
}

// DestinationRule returns the spec as Istio's own types hold it, nil if the object is of another kind or does not decode.
func (o *Object) DestinationRule() *networking.DestinationRule {
	dr, _ := o.decode().(*networking.DestinationRule)
	return dr
}

// DecodeError says why Istio's types do not take the object: a wrong enum value, a number for a duration. It is nil for other
// kinds. Unknown fields are no error here; Istio drops them in silence.
func (o *Object) DecodeError() error {
	o.decode()
	return o.decErr
}

func (o *Object) decode() any {
	o.typed.Do(func() {
		var spec interface{ UnmarshalJSON([]byte) error }
		switch o.Kind {
		case ServiceEntry:
			spec = &new(clientnetworking.ServiceEntry).Spec
		case DestinationRule:
			spec = &new(clientnetworking.DestinationRule).Spec
		default:
			return
		}
		if err := spec.UnmarshalJSON(o.Spec().appendJSON(nil)); err != nil {
			o.decErr = fmt.Errorf("decode %s: %w", o.Key, err)
			return
		}
		o.spec = spec
	})
	return o.spec
}
