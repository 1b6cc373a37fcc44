package object

import (
	"fmt"
	"maps"
	"slices"
)

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
