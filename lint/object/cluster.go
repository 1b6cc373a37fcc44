package object

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// clusterPrefix begins the names of objects that are in no file.
const clusterPrefix = "cluster:"

// ClusterFile stands for an object of a cluster where there are files: it has the name of the object, and no text.
func ClusterFile(o *Object) *File {
	f := &File{Name: o.FileName(), Class: Other, Objects: []*Object{o}, inCluster: true}
	if o.Kind.Judged() {
		f.Class = Linted
	}
	return f
}

// InCluster says whether the file only stands for an object of a cluster.
func (f *File) InCluster() bool { return f.inCluster }

// InCluster says whether the name of a file is that of an object, or a kind, of a cluster.
func InCluster(name string) bool { return strings.HasPrefix(name, clusterPrefix) }

// Apply makes an object of a file what it would be in a cluster: in the namespace that is meant where it names none, and with the age and
// the status of the object that it replaces, nil if there is none. It is called before anybody else sees the object.
func (o *Object) Apply(namespace string, replaces *Object) {
	if o.Namespace == "" && o.Kind != Namespace {
		o.Namespace = namespace
	}
	o.replaces = replaces
}

// Created is when the API server says the object was made, in RFC 3339 and UTC, which sorts as text; "" in a file.
func (o *Object) Created() string {
	if o.replaces != nil {
		return o.replaces.Created()
	}
	return o.root.At("metadata", "creationTimestamp").Str()
}

// Status is what controllers of the cluster say of the object.
func (o *Object) Status() Value {
	if o.replaces != nil {
		return o.replaces.Status()
	}
	return o.root.Get("status")
}

// mapBuilder lays decoded JSON out as a table without text.
type mapBuilder struct {
	nodes []node
	strs  []string
}

func (b *mapBuilder) add(v any, key string, depth int) error {
	limits := Limits{}.WithDefaults()
	if depth > limits.Depth {
		return fmt.Errorf("nested more than %d levels deep", limits.Depth)
	}
	if len(b.nodes) >= limits.Nodes {
		return fmt.Errorf("more than %d values in one object", limits.Nodes)
	}
	i := int32(len(b.nodes))
	b.nodes = append(b.nodes, node{key: -1})
	if key != "" {
		b.nodes[i].key = b.keep(key)
	}
	var children []int32
	child := func(v any, key string) error {
		children = append(children, int32(len(b.nodes)))
		return b.add(v, key, depth+1)
	}
	switch v := v.(type) {
	case map[string]any:
		b.nodes[i].typ = Map
		for _, k := range slices.Sorted(maps.Keys(v)) {
			if err := child(v[k], k); err != nil {
				return err
			}
		}
	case []any:
		b.nodes[i].typ = List
		for _, item := range v {
			if err := child(item, ""); err != nil {
				return err
			}
		}
	default:
		s, err := scalarOf(v)
		if err != nil {
			return err
		}
		b.nodes[i].typ, b.nodes[i].bits = s.typ, s.bits
		if s.typ == String {
			b.nodes[i].bits = uint64(b.keep(s.str))
		}
		return nil
	}
	b.nodes[i].bits = uint64(len(children))
	for c := 1; c < len(children); c++ {
		b.nodes[children[c-1]].next = children[c]
	}
	return nil
}

func (b *mapBuilder) keep(s string) int32 {
	b.strs = append(b.strs, s)
	return int32(len(b.strs) - 1)
}
