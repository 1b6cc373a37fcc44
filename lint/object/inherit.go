package object

import (
	"slices"
	"strings"
)

// typed is what a list such as ServiceEntryList says of its items, which need not repeat it.
type typed struct {
	apiVersion Value
	kind       node
	strs       []string // of the list's table, with the kind of the items
}

// typedBy reads what a list says of its items.
func typedBy(list Value) typed {
	kind := list.Get("kind")
	t := typed{apiVersion: list.Get("apiVersion"), kind: *kind.node(), strs: slices.Clone(list.t.strs)}
	t.kind.valueIn, t.kind.bits = notInText, uint64(len(t.strs))
	t.strs = append(t.strs, strings.TrimSuffix(kind.Str(), "List"))
	return t
}

// complete gives an item that says neither of itself the kind and the apiVersion of its list, as Kubernetes' reader does. The
// new fields stand where the list has them. inherited is false for an item that stays as it is.
func (t typed) complete(item Value) (whole Value, inherited bool) {
	if t.strs == nil || item.Type() != Map || item.Get("kind").Str() != "" || item.Get("apiVersion").Str() != "" {
		return item, false
	}
	out := &table{text: item.t.text, strs: t.strs, nodes: []node{*item.node()}}
	out.nodes[0].next = 0
	last := int32(0)
	take := func(nodes []node, from int32) {
		at := int32(len(out.nodes))
		out.nodes = append(out.nodes, nodes...)
		for i := range nodes {
			if n := &out.nodes[int(at)+i]; n.next != 0 {
				n.next += at - from
			}
		}
		out.nodes[at].next = 0
		if last > 0 {
			out.nodes[last].next = at
		}
		last = at
		out.nodes[0].bits++
	}
	out.nodes[0].bits = 0
	take([]node{t.kind}, 0)
	if t.apiVersion.Type() == String {
		take([]node{*t.apiVersion.node()}, 0)
	}
	for f := item.First(); f.Exists(); f = f.Next() {
		if key := f.Key(); key != "kind" && key != "apiVersion" {
			take(f.t.nodes[f.i:f.end()], f.i)
		}
	}
	return Value{t: out}, true
}

// end is the index of the node behind the last one of the value.
func (v Value) end() int32 {
	for c := v.First(); c.Exists(); c = v.First() {
		for next := c.Next(); next.Exists(); next = c.Next() {
			c = next
		}
		v = c
	}
	return v.i + 1
}
