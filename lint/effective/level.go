package effective

import (
	"slices"

	"github.com/meshvet/meshvet/lint/mesh"
	"github.com/meshvet/meshvet/lint/object"
)

// LevelKind says at which level of a DestinationRule a traffic policy stands.
type LevelKind string

// The levels.
const (
	Destination LevelKind = "destination"
	PortEntry   LevelKind = "port"
	SubsetLevel LevelKind = "subset"
	SubsetEntry LevelKind = "subset port"
)

// Level is one traffic policy that a DestinationRule writes.
type Level struct {
	Kind   LevelKind
	Path   object.Path // of the traffic policy or port entry
	Policy object.Value
	Subset string // name, at the subset levels
	Port   uint32 // of a port entry; 0 if the entry names no number
	// Ports are those that the level's connectionPool, loadBalancer, outlierDetection and tls reach: for a port entry the ports
	// of its number, for the others the ports for which no entry of theirs steps in. Levels share them: they are not to be changed.
	Ports []Port
	// Shadowed says that an earlier entry for the same port makes Istio ignore this one.
	Shadowed bool
}

// IsEntry says whether the level is an entry for a port.
func (l *Level) IsEntry() bool { return l.Kind == PortEntry || l.Kind == SubsetEntry }

// SubsetLabels are the labels that the endpoints of the level's subset have, absent outside subsets.
func (l *Level) SubsetLabels(o *object.Object) object.Value {
	if l.Kind != SubsetLevel && l.Kind != SubsetEntry {
		return object.Value{}
	}
	return o.Lookup(l.Path[:3]).Get("labels") // spec.subsets[i]
}

// LevelsIn lists the traffic policies of a rule, as far as they are written, with the ports that each reaches.
func LevelsIn(o *object.Object, reach Reach) []Level {
	var out []Level
	add := func(at object.Path, level object.Value, subset string) {
		if !level.Set() {
			return
		}
		kind, entryKind := Destination, PortEntry
		if subset != "" || len(at) > 2 {
			kind, entryKind = SubsetLevel, SubsetEntry
		}
		outer := Level{Kind: kind, Path: at, Policy: level, Subset: subset}
		outer.Ports = reach.Ports // shared by all levels without entries: there may be many, and ports by the thousand
		if level.Get("portLevelSettings").Len() > 0 {
			outer.Ports = nil
			for _, p := range reach.Ports {
				if EntryFor(level, p.Number) < 0 {
					outer.Ports = append(outer.Ports, p)
				}
			}
		}
		out = append(out, outer)
		for i, e := range level.Get("portLevelSettings").Items() {
			entry := Level{Kind: entryKind, Path: at.Child("portLevelSettings", i), Policy: e, Subset: subset}
			if n, ok := PortOfEntry(e); ok {
				entry.Port = n
				entry.Shadowed = EntryFor(level, n) != i
				entry.Ports = reach.Numbered(n)
			}
			out = append(out, entry)
		}
	}
	add(destinationLevel, o.Lookup(destinationLevel), "")
	for i, s := range o.Spec().Get("subsets").Items() {
		add(object.Path{"spec", "subsets", i, "trafficPolicy"}, s.Get("trafficPolicy"), s.Get("name").Str())
	}
	return out
}

// EndpointCount returns how many addresses Envoy holds for a port of a target, those that other entries of the namespace bring
// included. Istio keeps the endpoints of a fixed list by the name of the port and those of a DNS list by its number. known is
// false for DNS names, whose number of addresses only the resolver knows, for endpoints chosen by labels, and where something
// in a fixed list is no address. Only endpoints with all of labels count, as for a subset.
func EndpointCount(ix *mesh.Index, h mesh.Host, t *mesh.Target, port mesh.Port, labels object.Value) (n int, known bool) {
	fixed := ClusterTypeOf(t) == EDS
	for _, m := range ix.Merged(h, t, t.Namespace()) {
		if !slices.ContainsFunc(m.Ports, func(p mesh.Port) bool {
			return fixed && p.Name == port.Name || !fixed && p.Number == port.Number
		}) {
			continue
		}
		if m.HasSelector() || !fixed && m.Endpoints().Len() == 0 && labels.Len() == 0 { // without endpoints the host itself is looked up
			return 0, false
		}
		has, addresses := m.CountEndpoints(labels, fixed)
		if !addresses {
			return 0, false
		}
		n += has
	}
	return n, fixed || n > 0 || labels.Len() > 0
}
