package effective

import (
	"slices"

	"github.com/meshvet/meshvet/lint/mesh"
	"github.com/meshvet/meshvet/lint/object"
)

// Originated is a port of a host for which a DestinationRule has Envoy start TLS, or would if its tls named a mode.
type Originated struct {
	Host  mesh.Host
	Port  Port
	Block Source // the tls block
}

// Mode is the mode of the block, "" if it names none: then Envoy starts no TLS, whatever else the block says.
func (o Originated) Mode() string { return o.Block.Value.Get("mode").Str() }

// OriginatedOf lists, host by host and port by port, each tls block that is in effect on a port of a ServiceEntry for some clients, be
// it for some workloads of a namespace or in a subset only. Blocks that switch TLS off, or say nothing, are left out.
func OriginatedOf(ix *mesh.Index, t *mesh.Target) []Originated {
	if t == nil || t.IsService() || ix.Hidden(t) {
		return nil
	}
	var out []Originated
	for _, h := range t.Hosts {
		rules := ix.RulesReaching(h)
		if !slices.ContainsFunc(rules, func(r *mesh.DestinationRule) bool { return writesTLS(r.Object) }) {
			continue
		}
		out = append(out, originatedOn(ix, t, h, rules)...)
	}
	return out
}

func originatedOn(ix *mesh.Index, t *mesh.Target, h mesh.Host, rules []*mesh.DestinationRule) []Originated {
	found := map[uint32][]Originated{}
	for _, client := range ix.ClientNamespaces(t) {
		owner := ix.Resolve(h, client)
		if owner == nil || owner.Namespace() != t.Namespace() {
			continue
		}
		levels := levelsWithTLS(ix, owner, h, client, rules)
		if len(levels) == 0 {
			continue
		}
		for _, p := range mergedPorts(ix, h, owner, client) {
			if p.Target != t || !p.Compiled() {
				continue
			}
			for _, l := range levels {
				b := l.For(p.Number, Without{}).Block("tls")
				if !asksForTLS(b.Value) || slices.ContainsFunc(found[p.Number], func(o Originated) bool { return o.Block.Object == b.Object && o.Block.Path.Equal(b.Path) }) {
					continue
				}
				found[p.Number] = append(found[p.Number], Originated{h, p, b})
			}
		}
	}
	var out []Originated
	for _, p := range t.Ports {
		out = append(out, found[p.Number]...)
		delete(found, p.Number)
	}
	return out
}

// levelsWithTLS are the policies, one for each subset that has a say in it, that the clients of a namespace get for a host: those
// without labels, and those whose labels a rule asks for.
func levelsWithTLS(ix *mesh.Index, owner *mesh.Target, h mesh.Host, client string, rules []*mesh.DestinationRule) []Levels {
	var out []Levels
	var seen []*mesh.Merged
	add := func(labels map[string]string) {
		m := ix.RuleFor(owner, h, client, labels)
		if m == nil || slices.Contains(seen, m) || !slices.ContainsFunc(m.Rules, func(r *mesh.DestinationRule) bool { return writesTLS(r.Object) }) {
			return
		}
		seen = append(seen, m)
		out = append(out, LevelsOfMerged(ix, m, ""))
		for _, s := range m.Subsets {
			if policyWritesTLS(s.Value().Get("trafficPolicy")) {
				out = append(out, levelsOfSubset(ix, m, s))
			}
		}
	}
	add(nil)
	for _, r := range rules {
		if r.Selector != nil && ix.Applies(r, owner, h, client) {
			add(r.Selector)
		}
	}
	return out
}

// writesTLS says whether a DestinationRule has a tls block at any level.
func writesTLS(o *object.Object) bool {
	if policyWritesTLS(o.Lookup(destinationLevel)) {
		return true
	}
	for _, s := range o.Spec().Get("subsets").Items() {
		if policyWritesTLS(s.Get("trafficPolicy")) {
			return true
		}
	}
	return false
}

func policyWritesTLS(level object.Value) bool {
	if level.Get("tls").Set() {
		return true
	}
	for _, e := range level.Get("portLevelSettings").Items() {
		if e.Get("tls").Set() {
			return true
		}
	}
	return false
}

// asksForTLS says whether a tls block means that there be TLS. One without a mode does if it says anything else.
func asksForTLS(block object.Value) bool {
	if mode := block.Get("mode"); mode.Set() {
		return mode.Str() != "" && mode.Str() != "DISABLE"
	}
	for _, v := range block.Fields() {
		if v.Set() {
			return true
		}
	}
	return false
}
