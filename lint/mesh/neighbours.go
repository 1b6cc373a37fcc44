package mesh

import (
	"iter"
	"slices"
	"strings"

	"github.com/meshvet/meshvet/lint/object"
)

// Neighbours returns the ServiceEntries and DestinationRules of the index, but for the one with o's key, whose findings the presence,
// the content or the absence of a ServiceEntry, DestinationRule or Service may change: at most so many, the nearest first and always
// in the same order; all is false if there are more, or may be since very many VirtualServices lead to o. Of an object that changes,
// both what it was and what it becomes have neighbours. Whether the index holds o makes no difference.
//
// Near are, in this order, objects of the same hosts; those of wildcards that cover them, and what a wildcard of o's covers; rules for
// the other hosts of the entries among these; objects of another spelling of the name, which is what a finding proposes; objects that
// lie on the way of the same VirtualServices; and entries that need the same listener.
//
// Left out is what depends on the number of objects in the mesh: an object that is the first or last of its namespace while the index
// does not hold the Namespace itself may change which namespaces stand for all others, and the counts of ServiceEntries and wildcard
// DestinationRules bound how much is looked at in a mesh of tens of thousands.
func (x *Index) Neighbours(o *object.Object, most int) (list []*object.Object, all bool) {
	hosts, t := x.hostsOfObject(o)
	n := &nearby{x: x, self: normal(o.Key), most: most, seen: map[*object.Object]bool{}}
	for near := range n.around(o, hosts, t) {
		if !n.add(near) {
			return n.list, false
		}
	}
	return n.list, !n.cut
}

// hostsOfObject are the hosts that an object is for; the target is nil if it is a rule.
func (x *Index) hostsOfObject(o *object.Object) ([]Host, *Target) {
	if o.Kind == object.DestinationRule {
		if r := ruleOf(o, x.settings.ClusterDomain); r.Host != "" {
			return []Host{r.Host}, nil
		}
		return nil, nil
	}
	t := targetOf(o, x.settings.ClusterDomain)
	if t == nil {
		return nil, nil
	}
	return t.Hosts, t
}

// nearby collects the neighbours of an object.
type nearby struct {
	x    *Index
	self object.Key
	most int
	seen map[*object.Object]bool
	list []*object.Object
	cut  bool // there may be more than were looked for
}

// add takes an object up; it says no if there is no room for it.
func (n *nearby) add(o *object.Object) bool {
	if !o.Kind.Judged() || n.seen[o] || normal(o.Key) == n.self {
		return true
	}
	if len(n.list) >= n.most {
		return false
	}
	n.seen[o] = true
	n.list = append(n.list, o)
	return true
}

// around yields objects near to one with some hosts, the nearest first, some of them more than once.
func (n *nearby) around(o *object.Object, hosts []Host, t *Target) iter.Seq[*object.Object] {
	return func(yield func(*object.Object) bool) {
		_ = n.same(hosts, yield) && n.overlapping(hosts, yield) && n.siblings(hosts, yield) && n.spelt(o, hosts, yield) &&
			n.onWays(hosts, yield) && n.listening(t, yield) && n.on80(t, yield)
	}
}

// same yields what has exactly these hosts.
func (n *nearby) same(hosts []Host, yield func(*object.Object) bool) bool {
	for _, h := range hosts {
		if !n.at(h, yield) {
			return false
		}
	}
	return true
}

func (n *nearby) at(h Host, yield func(*object.Object) bool) bool {
	for _, t := range n.x.Targets(h) {
		if !yield(t.Object) {
			return false
		}
	}
	return n.rulesAt(h, yield)
}

func (n *nearby) rulesAt(h Host, yield func(*object.Object) bool) bool {
	for _, r := range n.x.rulesAt(h) {
		if !yield(r.Object) {
			return false
		}
	}
	return true
}

// overlapping yields what has a wildcard that covers one of the hosts, and what one of them covers.
func (n *nearby) overlapping(hosts []Host, yield func(*object.Object) bool) bool {
	for _, h := range hosts {
		for p := range n.x.patternsFor(h) {
			if !n.at(p, yield) {
				return false
			}
		}
		if !h.IsWildcard() {
			continue
		}
		for name := range n.x.names.under(h) {
			if !n.at(name, yield) {
				return false
			}
		}
	}
	return true
}

// siblings yields the rules for the other hosts of entries that have one of the hosts: the clients of an entry are those of all its
// hosts.
func (n *nearby) siblings(hosts []Host, yield func(*object.Object) bool) bool {
	for _, o := range slices.Clone(n.list) {
		if o.Kind != object.ServiceEntry {
			continue
		}
		for _, h := range n.x.Target(o).Hosts {
			for p := range n.x.patternsFor(h) {
				if !slices.Contains(hosts, p) && !n.rulesAt(p, yield) {
					return false
				}
			}
		}
	}
	return true
}

// spelt yields what is for another spelling of the same names.
func (n *nearby) spelt(o *object.Object, hosts []Host, yield func(*object.Object) bool) bool {
	for _, h := range hosts {
		for _, other := range n.x.spelt.at(n.x.seed, h) {
			if !yield(other) {
				return false
			}
		}
	}
	return n.same(n.x.spellings(o), yield)
}

// spellings are the names that an object may have meant by its hosts: a finding says so if they exist.
func (x *Index) spellings(o *object.Object) []Host {
	var written []string
	switch o.Kind {
	case object.DestinationRule:
		written = []string{o.Spec().Get("host").Str()}
	case object.ServiceEntry:
		for i, h := range o.Spec().Get("hosts").Items() {
			if i == maxHosts {
				break
			}
			written = append(written, h.Str())
		}
	}
	var out []Host
	for _, w := range written {
		if !Host(w).IsOdd() {
			continue
		}
		short := strings.TrimSuffix(w, ".")
		for _, s := range [...]string{w, short, strings.ToLower(w), strings.ToLower(short)} {
			for _, h := range [...]Host{Host(s), QualifyHost(s, NamespaceOf(o), x.settings.ClusterDomain)} {
				if h != "" && h != Host(w) && !slices.Contains(out, h) {
					out = append(out, h)
				}
			}
		}
	}
	return out
}

// onWays yields what is for the hosts and destinations of VirtualServices for the hosts, of those that lead to them, and of those for
// the hosts from which these lead there.
func (n *nearby) onWays(hosts []Host, yield func(*object.Object) bool) bool {
	var met []Host
	read := map[*object.Object]bool{}
	known := map[Host]bool{}
	given := 0
	// follow yields what is for the hosts that VirtualServices speak of.
	follow := func(services []*object.Object) bool {
		for _, vs := range services {
			if read[vs] {
				continue
			}
			if read[vs] = true; len(read) > mostFollowed {
				n.cut = true
				return false
			}
			for _, h := range slices.Concat(n.x.virtualHosts(vs), n.x.ledTo(vs)) {
				if !known[h] {
					known[h] = true
					met = append(met, h)
				}
			}
			for ; given < len(met); given++ {
				if !n.at(met[given], yield) || !n.overlapping(met[given:given+1], yield) {
					return false
				}
			}
		}
		return true
	}
	for _, h := range hosts {
		if !follow(n.x.virtualServicesAround(h)) {
			return n.cut
		}
	}
	var sources []Host
	for _, h := range hosts {
		into := n.x.virtualServicesInto(h)
		if !follow(into) {
			return n.cut
		}
		for _, vs := range into {
			sources = append(sources, n.x.virtualHosts(vs)...)
		}
	}
	for _, h := range each(sources) {
		if !follow(n.x.virtualServicesAround(h)) {
			return n.cut
		}
	}
	return true
}

// mostFollowed is how many VirtualServices are followed. Of an object that more of them lead to not all neighbours are found.
const mostFollowed = 1000

// virtualServicesAround lists the VirtualServices with a host that covers h or that h covers.
func (x *Index) virtualServicesAround(h Host) []*object.Object {
	out := x.VirtualServicesFor(h)
	if h.IsWildcard() {
		for name := range x.routed.under(h) {
			out = append(out, x.virtual.at(x.seed, name)...)
		}
	}
	return out
}

// virtualServicesInto lists the VirtualServices with a route to h or a host that h covers.
func (x *Index) virtualServicesInto(h Host) []*object.Object {
	var out []*object.Object
	for name := range x.routed.under(h) {
		out = append(out, x.leading.at(x.seed, name)...)
	}
	return out
}

// listening yields the entries that may need the same listener.
func (n *nearby) listening(t *Target, yield func(*object.Object) bool) bool {
	if t == nil {
		return true
	}
	for _, l := range n.x.opaqueListeners(t) {
		for _, other := range n.x.opaque.at(n.x.seed, l) {
			if !yield(other.Object) {
				return false
			}
		}
	}
	return true
}

// on80 yields what http routes lead to if the target is the only one for which sidecars read requests on port 80: while there is any,
// they have the routes of all VirtualServices there.
func (n *nearby) on80(t *Target, yield func(*object.Object) bool) bool {
	if t == nil || !n.x.onHTTP80(t) {
		return true
	}
	others := n.x.http80
	if have := n.x.Get(n.self); have != nil {
		if mine := n.x.Target(have); mine != nil && n.x.onHTTP80(mine) {
			others--
		}
	}
	if others > 0 {
		return true
	}
	for h := range n.x.routed.under("*") {
		if len(n.x.routes.at(n.x.seed, h)) == 0 {
			continue
		}
		if !n.at(h, yield) || !n.overlapping([]Host{h}, yield) {
			return false
		}
	}
	return true
}
