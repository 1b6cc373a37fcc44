package schema

import (
	"slices"

	"github.com/meshvet/meshvet/lint/istio"
)

// markNewer marks what the configured version does not know.
func (k *kindSchema) markNewer() {
	for _, e := range istio.Changes() {
		if e.Kind != k.kind || k.version.Has(e) {
			continue
		}
		for i := range k.crd.nodes {
			for _, p := range k.crd.nodes[i].props {
				if p.name != e.In {
					continue
				}
				n := &k.crd.nodes[p.node]
				if e.Value && !slices.Contains(n.newerEnum, e.Field) {
					n.newerEnum = append(n.newerEnum, e.Field)
				} else if j := n.find(e.Field); !e.Value && j >= 0 {
					n.props[j].newer = true
				}
			}
		}
	}
}

// without returns the words that are not in drop.
func without(words, drop []string) []string {
	if len(drop) == 0 {
		return words
	}
	return slices.DeleteFunc(slices.Clone(words), func(w string) bool { return slices.Contains(drop, w) })
}
