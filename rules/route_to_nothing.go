package rules

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/effective"
	"github.com/meshvet/meshvet/lint/mesh"
	"github.com/meshvet/meshvet/lint/object"
)

var _ = register(lint.Rule{
	Meta: lint.Meta{
		ID:       "MX308",
		Name:     "route-to-nothing",
		Title:    "A VirtualService that leads to a host, port or subset that does not exist",
		Category: lint.CategoryAcross,
		Severity: lint.Error,
		Presets:  []string{"recommended", "strict"},
		Kinds:    []object.Kind{object.ServiceEntry, object.DestinationRule},
		Needs:    []object.Kind{object.ServiceEntry, object.DestinationRule},
		Summary: "A route of a VirtualService whose destination is a subset that no DestinationRule in force defines, a port that its host does not " +
			"have, or a host that nothing defines. It is reported on the DestinationRule that lacks the subset or the ServiceEntry that lacks " +
			"the port, else on the ServiceEntry whose traffic the route takes. At admission the removal of the object that alone defines the host " +
			"or the subset is reported, too.",
		Why: "A destination becomes the name of a cluster, outbound|PORT|SUBSET|HOST, and Istio does not check whether it compiles one of that " +
			"name. Where there is none every request that takes the route fails with 503 and response flag NC, and a TLS or TCP connection is " +
			"closed at once. Hosts are compared letter by letter, and a host below a wildcard ServiceEntry has no cluster of its own. Subsets are " +
			"looked for in the DestinationRule that the client gets: one in another namespace, or under a less specific host, is of no use.\n\n" +
			"An http route without a port leads sidecars to the port on which the request came in, also if the host has just one other.\n\n" +
			"Mirrored requests are not looked at, nor are routes behind one that takes everything, routes of which another VirtualService for " +
			"the same host may take the place, and routes to a subset that clients of some namespace have; nor, for the traffic of a ServiceEntry, " +
			"what a gateway does with a VirtualService for *. A host inside the cluster counts as " +
			"missing only where every Service is known.",
		Remedy: "Define the subset in a DestinationRule for the host in the namespace of the clients, of the host or of istiod; for an egress gateway a " +
			"subset with nothing but a name will do. Write host and port as the ServiceEntry or Service has them.",
		Proof: lint.Proof{Kind: "changes", Text: "the cluster that the route or tcp_proxy names is absent before and there after"},
		Observe: lint.Observe{
			Flags:      []string{"NC"},
			ConfigDump: "istioctl proxy-config route POD -o json (for TLS and TCP: listener) names a cluster that istioctl proxy-config cluster POD does not list",
		},
		References: []string{
			"https://istio.io/latest/docs/reference/config/networking/virtual-service/#Destination",
			"https://istio.io/latest/docs/ops/common-problems/network-issues/#503-errors-after-setting-destination-rule",
		},
	},
	Check: func(p *lint.Pass) error {
		if p.Object.Kind == object.DestinationRule {
			reportSubsets(p)
			return nil
		}
		t := p.Mesh.Target(p.Object)
		reportPorts(p, t)
		reportTaken(p, t)
		return nil
	},
	CheckGone: func(p *lint.Pass) error {
		reportOrphans(p)
		return nil
	},
})

// reportOrphans reports the routes that only the removed object gave a destination, each destination once.
func reportOrphans(p *lint.Pass) {
	gone := p.Object.Spec()
	at, hosts := object.Path{"spec", "hosts"}, gone.Get("hosts").Strings()
	if p.Object.Kind == object.DestinationRule {
		at, hosts = object.Path{"spec", "host"}, []string{gone.Get("host").Str()}
	}
	for _, written := range hosts {
		h := mesh.Host(written)
		if p.Object.Kind == object.DestinationRule {
			h = mesh.QualifyHost(written, mesh.NamespaceOf(p.Object), p.Mesh.Settings().ClusterDomain)
		}
		services := p.Mesh.RoutedTo(h)
		seen := map[string]bool{}
		for _, vs := range services[:min(len(services), maxVirtualServices)] {
			for _, e := range p.Mesh.DeadEnds(vs) {
				what := orphaned(e, gone)
				if e.Host != h || e.Owner != nil || what == "" || seen[what] {
					continue
				}
				seen[what] = true
				p.Report(at, fmt.Sprintf("VirtualService %s routes to %s, which only this %s defines", vs.Name, what, p.Object.Kind),
					lint.Effect(deadEndEffect(e, 0)),
					lint.Also(vs, e.Path, "the destination"),
					lint.About(lint.Subject{Objects: []object.Key{vs.Key}, Hosts: []string{string(h)}}),
				)
			}
		}
	}
}

// orphaned names what a destination lacks, if it is something that the removed object had; else "".
func orphaned(e mesh.DeadEnd, gone object.Value) string {
	if e.Lacks == mesh.LacksHost && gone.Get("hosts").Set() {
		return string(e.Host)
	}
	for _, s := range gone.Get("subsets").Items() {
		if e.Lacks == mesh.LacksSubset && s.Get("name").Str() == e.Subset {
			return fmt.Sprintf("subset %s of %s", e.Subset, e.Host)
		}
	}
	return ""
}

// deadEndsAt lists the dead ends that lie with an object, of those that lead to its hosts.
func deadEndsAt(p *lint.Pass, hosts ...mesh.Host) []mesh.DeadEnd {
	var out []mesh.DeadEnd
	for _, h := range hosts {
		services := p.Mesh.RoutedTo(h)
		for _, vs := range services[:min(len(services), maxVirtualServices)] {
			out = append(out, deadEndsOn(p, vs, h)...)
		}
	}
	return out
}

// deadEndsOn lists those of one VirtualService and host.
func deadEndsOn(p *lint.Pass, vs *object.Object, h mesh.Host) []mesh.DeadEnd {
	return slices.DeleteFunc(slices.Clone(p.Mesh.DeadEnds(vs)), func(e mesh.DeadEnd) bool { return e.Owner != p.Object || e.Host != h })
}

// subsetsAt lists the dead ends that lie with a DestinationRule: only routes that name a subset of its host have any, of which there are
// hardly any among the thousands that may lead to an egress gateway.
func subsetsAt(p *lint.Pass, h mesh.Host) []mesh.DeadEnd {
	named := map[*object.Object]bool{}
	for _, r := range p.Mesh.SubsetRoutes(h) {
		named[r.Object] = true
	}
	if len(named) == 0 {
		return nil
	}
	var out []mesh.DeadEnd
	left := maxVirtualServices
	for _, vs := range p.Mesh.RoutedTo(h) {
		if !named[vs] {
			continue
		}
		if left--; left < 0 {
			break
		}
		out = append(out, deadEndsOn(p, vs, h)...)
	}
	return out
}

// reportSubsets reports the subsets that routes name and a DestinationRule lacks, each once.
func reportSubsets(p *lint.Pass) {
	rule := p.Mesh.Rule(p.Object)
	at := object.Path{"spec", "subsets"}
	if !p.Object.Lookup(at).Set() {
		at = object.Path{"spec", "host"}
	}
	all := subsetsAt(p, rule.Host)
	for i, e := range all {
		same := func(o mesh.DeadEnd) bool { return o.Subset == e.Subset }
		if slices.ContainsFunc(all[:i], same) {
			continue
		}
		var names []string
		for _, s := range e.Rules.Subsets {
			names = append(names, s.Name)
		}
		there := "no subset is defined"
		switch {
		case len(names) == 1:
			there = "the only subset is " + names[0]
		case len(names) > 1:
			there = "the subsets are " + someOf(names)
		}
		p.Report(at, fmt.Sprintf("VirtualService %s routes to subset %s of %s, and %s%s", e.VirtualService.Name, e.Subset, e.Host, there, others(all[i+1:], same)),
			lint.Effect(deadEndEffect(e, 0)),
			lint.Also(e.VirtualService, e.Path, "the destination"),
			lint.About(lint.Subject{Objects: []object.Key{e.VirtualService.Key}, Hosts: []string{string(e.Host)}}),
		)
	}
}

// reportPorts reports the ports that routes name and a ServiceEntry lacks, each once.
func reportPorts(p *lint.Pass, t *mesh.Target) {
	at := object.Path{"spec", "ports"}
	if !p.Object.Lookup(at).Set() {
		at = object.Path{"spec", "hosts"}
	}
	all := deadEndsAt(p, t.Hosts...)
	for i, e := range all {
		same := func(o mesh.DeadEnd) bool { return o.Port == e.Port && o.Host == e.Host }
		if slices.ContainsFunc(all[:i], same) {
			continue
		}
		p.Report(at, fmt.Sprintf("VirtualService %s routes to port %d of %s, and %s%s", e.VirtualService.Name, e.Port, e.Host, portsThere(p.Mesh, e.Host), others(all[i+1:], same)),
			lint.Effect(deadEndEffect(e, 0)),
			lint.Also(e.VirtualService, e.Path, "the destination"),
			lint.About(lint.Subject{Objects: []object.Key{e.VirtualService.Key}, Hosts: []string{string(e.Host)}}),
		)
	}
}

// others says how many more routes lead to the same dead end.
func others(rest []mesh.DeadEnd, same func(mesh.DeadEnd) bool) string {
	n := 0
	for _, e := range rest {
		if same(e) {
			n++
		}
	}
	if n == 0 {
		return ""
	}
	if n == 1 {
		return "; 1 more route leads there"
	}
	return fmt.Sprintf("; %d more routes lead there", n)
}

// portsThere says which ports a host has.
func portsThere(ix *mesh.Index, h mesh.Host) string {
	var ports []uint32
	for _, t := range ix.Targets(h) {
		ports = append(ports, numbers(t)...)
	}
	slices.Sort(ports)
	ports = slices.Compact(ports)
	switch len(ports) {
	case 0:
		return "the host has no port that Envoy serves"
	case 1:
		return fmt.Sprintf("the host has only port %d", ports[0])
	}
	return "the host has only ports " + lint.PortNumbers(ports)
}

// taken is a dead end to which a route sends the traffic of a host.
type taken struct {
	end  mesh.DeadEnd
	host mesh.Host
	at   object.Path
	port uint32 // of the ServiceEntry; 0 at a gateway
}

// reportTaken reports the routes that send the traffic of a ServiceEntry where nothing is, one for each VirtualService, but those that
// are reported where something is missing.
func reportTaken(p *lint.Pass, t *mesh.Target) {
	seen := map[*object.Object]bool{}
	for i, h := range t.Hosts {
		services := p.Mesh.VirtualServicesFor(h)
		for _, vs := range services[:min(len(services), maxVirtualServices)] {
			if seen[vs] {
				continue
			}
			var found []taken
			for _, e := range p.Mesh.DeadEnds(vs) {
				if e.Owner != nil {
					continue
				}
				if port, takes := takenBy(p.Mesh, e, t, h); takes {
					at := object.Path{"spec", "hosts", i}
					if port.Number != 0 {
						at = port.Path.Child("number")
					}
					found = append(found, taken{e, h, at, port.Number})
				}
			}
			if len(found) == 0 || !meetsClients(p.Mesh, t, vs) {
				continue
			}
			seen[vs] = true
			one := found[0]
			what := fmt.Sprintf("port %d of %s", one.port, h)
			if one.port == 0 {
				what = fmt.Sprintf("what gateways get for %s", h)
			}
			subject := lint.Subject{Objects: []object.Key{vs.Key}, Hosts: []string{string(h)}}
			if one.port != 0 {
				subject.Ports = []uint32{one.port}
			}
			p.Report(one.at, fmt.Sprintf("VirtualService %s sends %s to %s%s", vs.Name, what, nowhere(p.Mesh, one), andMoreDeadEnds(len(found)-1)),
				lint.Effect(deadEndEffect(one.end, one.port)), lint.About(subject),
				lint.Also(vs, one.end.Path, "the destination"))
		}
	}
}

func andMoreDeadEnds(n int) string {
	switch {
	case n <= 0:
		return ""
	case n == 1:
		return "; 1 more of its routes leads to nothing"
	}
	return fmt.Sprintf("; %d more of its routes lead to nothing", n)
}

// nowhere names a destination and what is wrong with it.
func nowhere(ix *mesh.Index, t taken) string {
	e := t.end
	switch e.Lacks {
	case mesh.LacksSubset:
		return fmt.Sprintf("subset %s of %s, and no DestinationRule in force defines it", e.Subset, e.Host)
	case mesh.LacksPort:
		return fmt.Sprintf("port %d of %s, and %s", e.Port, e.Host, portsThere(ix, e.Host))
	case mesh.LacksNothing:
		return fmt.Sprintf("%s, which for want of a port in the route means its port %d, and %s", e.Host, t.port, portsThere(ix, e.Host))
	}
	for _, by := range ix.TargetsCovering(e.Host) {
		if !e.Host.IsWildcard() && by.Host != "*" {
			return fmt.Sprintf("%s, which has no cluster of its own: only the wildcard %s of ServiceEntry %s takes it in", e.Host, by.Host, by.Target.Object.Name)
		}
	}
	return fmt.Sprintf("%s, and no ServiceEntry or Service has that host", e.Host)
}

// takenBy says whether a route takes traffic of a ServiceEntry under one of its hosts: the first such port, none if the route is one
// that gateways have.
func takenBy(ix *mesh.Index, e mesh.DeadEnd, t *mesh.Target, h mesh.Host) (mesh.Port, bool) {
	rule := e.VirtualService.Spec().At(e.Kind, e.Rule)
	if !mesh.SidecarsOnly(e.VirtualService, rule) {
		return mesh.Port{}, names(ix, e.VirtualService, rule, h)
	}
	if !ix.Decides(e.VirtualService, h) {
		return mesh.Port{}, false
	}
	for _, port := range t.Ports {
		switch {
		case !slices.Contains(port.RouteKinds(), e.Kind) || !admits(rule, e.Kind, h, port.Number):
		case e.Lacks == mesh.LacksNothing && ix.LeadsOn(e.Host, port.Number):
		default:
			return port, true
		}
	}
	return mesh.Port{}, false
}

// names says whether a route that gateways have is one for a host. A VirtualService for * alone serves whatever a gateway is opened for,
// which is nothing that the author of a ServiceEntry had in mind.
func names(ix *mesh.Index, vs *object.Object, rule object.Value, h mesh.Host) bool {
	for _, s := range vs.Spec().Get("hosts").Strings() {
		if s != "*" && mesh.QualifyHost(s, mesh.NamespaceOf(vs), ix.Settings().ClusterDomain).Overlaps(h) {
			return true
		}
	}
	for _, m := range rule.Get("match").Items() {
		if slices.ContainsFunc(m.Get("sniHosts").Strings(), func(s string) bool { return s != "*" && mesh.Host(s).Overlaps(h) }) {
			return true
		}
	}
	return false
}

// admits says whether a route holds for some of what comes in on a port of a host.
func admits(rule object.Value, kind string, h mesh.Host, port uint32) bool {
	match := rule.Get("match")
	for _, m := range match.Items() {
		if n := m.Get("port"); n.Set() && uint32(n.Int()) != port {
			continue
		}
		names := m.Get("sniHosts").Strings()
		if kind != "tls" || slices.ContainsFunc(names, func(s string) bool { return mesh.Host(s).Overlaps(h) }) {
			return true
		}
	}
	return match.Len() == 0
}

// deadEndEffect says what becomes of what takes a route to nothing; port is the one on which it came in, 0 if it is not known.
func deadEndEffect(e mesh.DeadEnd, port uint32) string {
	which := "a cluster"
	if e.Kind != "http" {
		port = 0 // the only port of the destination may count
	}
	if n := cmp.Or(e.Port, port); n != 0 {
		which = "cluster " + effective.ClusterName(n, e.Subset, e.Host)
	}
	if e.Kind == "http" {
		return fmt.Sprintf("the route names %s, which Istio does not compile: requests that take it fail with 503 (response flag NC)", which)
	}
	return fmt.Sprintf("tcp_proxy names %s, which Istio does not compile: connections that take the route are closed (response flag NC)", which)
}
