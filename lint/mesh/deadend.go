package mesh

import (
	"slices"
	"strings"

	"github.com/meshvet/meshvet/lint/object"
)

// DeadEnd is a destination in a route of a VirtualService for which Istio compiles no cluster, for no client.
type DeadEnd struct {
	VirtualService *object.Object
	Kind           string // of the route: http, tls or tcp
	Rule           int    // its index among those of the kind
	Path           object.Path
	Host           Host
	Port           uint32 // 0 if the destination names none
	Subset         string
	Lacks          Lack
	// Owner is the object that lacks it: the DestinationRule in force, or the ServiceEntry; nil if there is none, or none that is
	// judged, such as a Service.
	Owner *object.Object
	// Rules is, where a subset is missing, what clients get for the host instead; nil if there is no DestinationRule.
	Rules *Merged
}

// Lack is what a destination names that does not exist.
type Lack string

// The lacks.
const (
	LacksHost   Lack = "host"
	LacksPort   Lack = "port"
	LacksSubset Lack = "subset"
	// LacksNothing is said of an http destination without a port. Sidecars take it for the port on which the request came in: it is a
	// dead end for those for which LeadsOn does not hold.
	LacksNothing Lack = ""
)

const (
	// maxDeadEnds is how many dead ends of one VirtualService are kept.
	maxDeadEnds = 32
	// maxAsked is how many namespaces are asked whether their clients have a subset. Of a host with more nothing is said.
	maxAsked = 100
)

// DeadEnds lists the destinations of a VirtualService that do not exist, and those that name no port. Its judgement rests on knowing
// every ServiceEntry and DestinationRule; of Services that are not in view it only says that they are missing if every Service is
// known. Left out are destinations that get no share of the traffic, mirrored requests, routes behind one that takes everything or on
// ports that do not take them, and routes for sidecars of which another VirtualService of the same host may take the place.
func (x *Index) DeadEnds(vs *object.Object) []DeadEnd {
	return cached(x, deadEndsCache, vs, (*Index).findDeadEnds)
}

func (x *Index) findDeadEnds(vs *object.Object) []DeadEnd {
	var out []DeadEnd
	portless := 0
	decides, idle := x.decidesSomewhere(vs), x.IdleRoutes(vs)
	for _, kind := range RouteKinds() {
		taken := map[uint32]bool{} // ports of which nothing is left for later routes
		for i, rule := range vs.Spec().Get(kind).Items() {
			if len(out)-portless >= maxDeadEnds || taken[0] {
				break
			}
			ports := portsOfMatch(rule)
			left := slices.ContainsFunc(ports, func(n uint32) bool { return !taken[n] })
			takeAll(rule, taken)
			sidecars := SidecarsOnly(vs, rule)
			if !left || sidecars && (!decides || slices.ContainsFunc(ports, func(n uint32) bool { return idle.has(kind, n, i) })) {
				continue
			}
			routes := rule.Get("route")
			for j, r := range routes.Items() {
				if routes.Len() > 1 && r.Get("weight").Int() == 0 {
					continue
				}
				d := r.Get("destination")
				e := DeadEnd{
					VirtualService: vs, Kind: kind, Rule: i, Path: object.Path{"spec", kind, i, "route", j, "destination"},
					Host: QualifyHost(d.Get("host").Str(), NamespaceOf(vs), x.settings.ClusterDomain), Port: uint32(d.At("port", "number").Int()), Subset: d.Get("subset").Str(),
				}
				if e.Host == "" || !x.isDeadEnd(&e, sidecars) {
					continue
				}
				if e.Lacks == LacksNothing {
					if portless++; portless > maxDeadEnds {
						portless--
						continue
					}
				} else if len(out)-portless >= maxDeadEnds {
					return out
				}
				out = append(out, e)
			}
		}
	}
	return out
}

// takeAll notes the ports of which a route takes everything.
func takeAll(rule object.Value, taken map[uint32]bool) {
	match := rule.Get("match")
	if match.Len() == 0 {
		taken[0] = true
	}
	for _, m := range match.Items() {
		if port := m.Get("port"); m.Len() == 0 || m.Len() == 1 && (port.Set() || m.At("uri", "prefix").Str() == "/") {
			taken[uint32(port.Int())] = true
		}
	}
}

// decidesSomewhere says whether a VirtualService is the one that sidecars follow for one of its hosts at least.
func (x *Index) decidesSomewhere(vs *object.Object) bool {
	hosts := x.virtualHosts(vs)
	return slices.ContainsFunc(hosts[:min(len(hosts), maxAsked)], func(h Host) bool { return x.Decides(vs, h) })
}

// isDeadEnd completes a dead end, and says whether it is one.
func (x *Index) isDeadEnd(e *DeadEnd, sidecars bool) bool {
	targets := x.Targets(e.Host)
	if strings.Contains(string(e.Host), ".svc.") && !x.settings.InCluster(e.Host) {
		return false // of other clusters, or of this one under a domain that nobody has told
	}
	if len(targets) == 0 && (!x.settings.InCluster(e.Host) || x.Complete(object.Service)) {
		e.Lacks = LacksHost
		return true
	}
	for _, t := range targets {
		if t.IsService() && t.Object.Spec().Get("type").Str() == "ExternalName" {
			return false // an alias, which may have no ports
		}
	}
	if e.Port != 0 && len(targets) > 0 && !x.LeadsOn(e.Host, e.Port) {
		e.Lacks = LacksPort
		if first := targets[0].Object; first.Kind == object.ServiceEntry {
			e.Owner = first
		}
		return true
	}
	if e.Subset != "" && !x.hasSubset(e, sidecars) {
		e.Lacks = LacksSubset
		return true
	}
	return e.Port == 0 && e.Kind == "http" && sidecars && len(targets) > 0
}

// LeadsOn says whether an entry for a host has a port.
func (x *Index) LeadsOn(h Host, port uint32) bool {
	return slices.ContainsFunc(x.Targets(h), func(t *Target) bool {
		return slices.ContainsFunc(t.Ports, func(p Port) bool { return p.Number == port && p.Family != NoProxy })
	})
}

// hasSubset says whether clients of some namespace have the subset that a destination names. If not it completes the dead end.
func (x *Index) hasSubset(e *DeadEnd, sidecars bool) bool {
	from := NamespaceOf(e.VirtualService)
	targets := x.Targets(e.Host)
	owners := []string{}
	clients := []string{from}
	for _, t := range targets {
		owners = append(owners, t.Namespace())
		clients = append(clients, x.ClientNamespaces(t)...)
		if len(clients) > maxAsked {
			return true
		}
	}
	if len(targets) == 0 { // a Service that is not in view
		_, rest, _ := strings.Cut(string(e.Host), ".")
		owner, _, _ := strings.Cut(rest, ".")
		owners = append(owners, owner)
		for _, r := range x.RulesReaching(e.Host) {
			if clients = append(clients, r.Namespace()); len(clients) > maxAsked {
				return true
			}
		}
	}
	slices.Sort(owners)
	slices.Sort(clients[1:])
	for _, owner := range slices.Compact(owners) {
		for i, client := range clients {
			if i > 0 && (client == clients[i-1] || client == from) || sidecars && !x.SeesVirtualService(e.VirtualService, client) {
				continue
			}
			m, all := x.ruleFor(owner, e.Host, client, nil, nil)
			if slices.ContainsFunc(all, func(m *Merged) bool { _, has := m.Subset(e.Subset); return has }) {
				return true
			}
			if e.Rules == nil && m != nil {
				e.Rules = m
			}
		}
	}
	if e.Rules != nil && e.Rules.Host() == e.Host {
		e.Owner = e.Rules.Rules[0].Object
	}
	return false
}

// RoutedTo returns the VirtualServices with a route to a host, by name.
func (x *Index) RoutedTo(h Host) []*object.Object { return x.sentTo.at(x.seed, h) }

// RoutedPorts lists the ports of a host that routes to a subset of it name, in order; with no subset those of all routes. Of a host
// that very many routes lead to it looks at some.
func (x *Index) RoutedPorts(h Host, subset string) []uint32 {
	var out []uint32
	left := 1000
	for _, vs := range x.RoutedTo(h) {
		for _, kind := range RouteKinds() {
			for _, rule := range vs.Spec().Get(kind).Items() {
				for _, r := range rule.Get("route").Items() {
					if left--; left < 0 {
						return out
					}
					d := r.Get("destination")
					n := uint32(d.At("port", "number").Int())
					if n != 0 && !slices.Contains(out, n) && (subset == "" || d.Get("subset").Str() == subset) &&
						QualifyHost(d.Get("host").Str(), NamespaceOf(vs), x.settings.ClusterDomain) == h {
						out = append(out, n)
					}
				}
			}
		}
	}
	slices.Sort(out)
	return out
}

// destinationsOf lists the hosts that routes of a VirtualService lead to, each once; none for other kinds.
func (x *Index) destinationsOf(o *object.Object) []Host {
	if o.Kind != object.VirtualService {
		return nil
	}
	var out []Host
	for _, kind := range RouteKinds() {
		for _, rule := range o.Spec().Get(kind).Items() {
			for _, r := range rule.Get("route").Items() {
				if h := r.At("destination", "host").Str(); h != "" {
					out = append(out, QualifyHost(h, NamespaceOf(o), x.settings.ClusterDomain))
				}
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
