package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/mesh"
	"github.com/meshvet/meshvet/lint/object"
)

var _ = register(lint.Rule{
	Meta: lint.Meta{
		ID:          "MX306",
		Name:        "rival-serviceentries",
		Title:       "Two ServiceEntries compete for a host or a listener",
		Category:    lint.CategoryAcross,
		Severity:    lint.Error,
		Presets:     []string{"recommended", "strict"},
		Kinds:       []object.Kind{object.ServiceEntry},
		SidecarOnly: true,
		Supersedes:  []lint.Supersede{{Rule: "SE111", Scope: lint.ScopePort}},
		Summary: "ServiceEntries that one client sees and that share a host but differ in something that Istio takes from one of them only: within " +
			"a namespace resolution, protocol, labels and the like, from two namespaces anything; or that have different hosts and ports which need " +
			"the same listener, because nothing in their bytes tells the hosts apart. How grave it is hangs on " +
			"what differs: from info, where nothing is lost, to error, where ports, endpoints or hosts are.",
		Why: "Within a namespace Istio puts the ports of two entries for a host together if their resolution, labels, workloadSelector and exportTo " +
			"are equal. Otherwise it compiles clusters for the ports of the first one only: a port that only the other has gets a listener but no " +
			"cluster, so calls to it end in 503 NC. Ports that both have get one cluster with the resolution of the first and, as far as that takes " +
			"them, the endpoints of both. From two namespaces nothing is put together: a client gets the entry of its own namespace whole, else " +
			"the first, and the ports that only the other has are missing. Two entries with TCP ports and no addresses of their own share the " +
			"filter chain on 0.0.0.0, which leads to the first, and the other host is never reached.\n\n" +
			"First is an entry that is exported to chosen namespaces before one that is exported to all, then the one that was created first, which " +
			"a repository does not show.\n\n" +
			"An entry has one finding for a host, which names the worst of its rivals. Entries of one namespace whose ports add up, and entries that " +
			"no client sees both of, are not reported.",
		Remedy: "Keep one ServiceEntry for a host. Give each entry with opaque ports an address of its own under `addresses`, or switch on DNS capture with address auto-allocation.",
		Proof:  lint.Proof{Kind: "changes", Text: "with creation times swapped the clusters, endpoints or the filter chain of 0.0.0.0 are those of the other entry"},
		Observe: lint.Observe{
			Flags:      []string{"NC", "UH"},
			ConfigDump: "istioctl proxy-config listener POD --port PORT and istioctl proxy-config cluster POD --fqdn HOST show what is missing",
		},
		References: []string{"https://istio.io/latest/docs/reference/config/networking/service-entry/"},
	},
	Check: func(p *lint.Pass) error {
		if overwritten(p) {
			return nil
		}
		mine := p.Mesh.Target(p.Object)
		named := map[object.Key]bool{}
		conflicts := map[*mesh.Target]conflict{}
		for i, h := range mine.Hosts {
			found, others := worstRival(p.Mesh, mine, h, conflicts)
			if len(found) > 0 && !named[found[0].other.Object.Key] { // the next host of the same two entries has the same fault
				named[found[0].other.Object.Key] = true
				reportRivals(p, hostPath(p.Object, h, i), h, found, others)
			}
		}
		for _, r := range p.Mesh.ListenerRivals(mine) {
			reportListener(p, mine, r)
		}
		return nil
	},
})

// What is compared and shown of the rivals of one entry. A host with more is a mistake of whatever writes the entries, and the
// worst of many alike ones is found early.
const (
	comparedRivals = 30
	shownRivals    = 5
)

// worstRival compares an entry with the others for a host. It returns the conflicts that are worth showing, the worst first, and how
// many other entries are in conflict with it. conflicts holds those that are known from other hosts.
func worstRival(ix *mesh.Index, mine *mesh.Target, h mesh.Host, conflicts map[*mesh.Target]conflict) (found []conflict, others int) {
	seen := 0
	for other, n := range ix.Rivals(mine, h) {
		if seen++; seen > comparedRivals {
			others += n
			continue
		}
		c, known := conflicts[other]
		if !known {
			c, c.clash = conflictOf(ix, mine, other)
			conflicts[other] = c
		}
		if !c.clash {
			continue
		}
		others += n
		switch {
		case len(found) > 0 && c.severity > found[0].severity:
			found = append([]conflict{c}, found...)
		default:
			found = append(found, c)
		}
		if len(found) > shownRivals {
			found = found[:shownRivals]
		}
	}
	return found, others
}

// hostPath is where a host stands in spec.hosts; n is its rank among the distinct ones.
func hostPath(o *object.Object, h mesh.Host, n int) object.Path {
	for i, item := range o.Spec().Get("hosts").Items() {
		if item.Str() == string(h) {
			return object.Path{"spec", "hosts", i}
		}
	}
	return object.Path{"spec", "hosts", n}
}

// conflict is how two entries for one host get in each other's way.
type conflict struct {
	other    *mesh.Target
	severity lint.Severity
	differ   []string // "resolution (NONE against DNS)"; empty = in nothing that matters
	effect   string
	clash    bool
}

// conflictOf compares two entries that share a host and are both seen by a client.
func conflictOf(ix *mesh.Index, mine, other *mesh.Target) (conflict, bool) {
	if len(numbers(mine)) == 0 && len(numbers(other)) == 0 {
		return conflict{}, false // nothing is compiled for either; but one without ports takes the host from one that has some
	}
	if mine.Namespace() == other.Namespace() {
		return within(ix, mine, other)
	}
	return across(ix, mine, other), true
}

// within compares two entries of one namespace, whose ports and endpoints Istio puts together as far as it can.
func within(ix *mesh.Index, mine, other *mesh.Target) (conflict, bool) {
	c := conflict{other: other}
	shared := sharedPorts(mine, other)
	first := precedence(ix, mine, other)
	var effects []string
	byOrder := false
	add := func(s lint.Severity, differ, effect string) {
		c.severity = max(c.severity, s)
		c.differ = append(c.differ, differ)
		effects = append(effects, effect)
	}
	separate := mesh.Separate(mine, other)
	if mine.Resolution != other.Resolution && len(shared) > 0 {
		effect := fmt.Sprintf("Istio compiles one cluster for %s, with the resolution of %s; the other's endpoints are added to it or dropped", lint.PortList(shared), first.name)
		if pair := []string{mine.Resolution, other.Resolution}; slices.Contains(pair, "DNS_ROUND_ROBIN") && !slices.Contains(pair, "NONE") {
			effect += ", and Envoy refuses a DNS_ROUND_ROBIN cluster that has two"
		}
		add(lint.Error, resolutions(mine, other), effect)
		byOrder = true
	}
	switch lost := lostPorts(first, mine, other, len(separate) > 0); {
	case lost == "":
	case len(separate) == 0:
		add(lint.Error, "the protocol of a port, UDP on one side",
			fmt.Sprintf("of a port number that both have Istio takes the port of %s, and it compiles nothing for UDP: %s", first.name, lost))
		byOrder = true
	default:
		if mine.Resolution != other.Resolution {
			if len(shared) == 0 {
				c.differ = append(c.differ, resolutions(mine, other))
			}
			separate = separate[1:]
		}
		c.differ = append(c.differ, separate...)
		add(lint.Error, "ports "+against(lint.PortNumbers(numbers(mine)), lint.PortNumbers(numbers(other))),
			fmt.Sprintf("Istio compiles clusters for the ports of %s only: %s, so HTTP calls there end in 503 with flag NC and other connections are closed", first.name, lost))
		byOrder = true
	}
	if mine.Resolution == other.Resolution && len(shared) > 0 {
		for _, d := range settings(mine, other, shared) {
			add(d.severity, d.what, d.effect(first))
			byOrder = byOrder || d.byOrder
		}
	}
	switch {
	case len(effects) > 0:
		c.effect = strings.Join(effects, "; ")
		if byOrder {
			c.effect += first.note
		}
		if slices.Contains(mesh.Separate(mine, other), "exportTo") {
			c.effect = "for clients that see both, " + c.effect
		}
	case len(shared) == 0:
		return conflict{}, false // their ports add up
	default:
		c.severity = lint.Info
		c.effect = fmt.Sprintf("Istio compiles one cluster for %s, so one of the two is enough", lint.PortList(shared))
	}
	return c, true
}

// order is what is known of which of two entries Istio takes first. What texts call the entries is never empty.
type order struct {
	target   *mesh.Target // the first; nil = not known
	name     string       // of the first
	last     string       // of the other
	youngest string       // of the one that was created last, which need not be the other
	note     string       // how that is known, to stand at the end
}

func precedence(ix *mesh.Index, mine, other *mesh.Target) order {
	first, byExport := ix.First(mine, other)
	o := order{target: first, name: "the entry that was created first", last: "the entry that was created last", youngest: "the entry that was created last"}
	if first == nil {
		o.note = "; files do not show which is older"
		return o
	}
	o.name, o.last = first.Object.Name, mine.Object.Name
	if first == mine {
		o.last = other.Object.Name
	}
	if byExport {
		o.note = fmt.Sprintf("; %s comes first because it is exported to chosen namespaces", o.name)
		return o
	}
	o.youngest, o.note = o.last, fmt.Sprintf("; %s is the older", o.name)
	return o
}

// lostPorts says which ports get no cluster, "" if none does: of separate entries those that only the second has, else those of
// whose number the first has a UDP port.
func lostPorts(first order, mine, other *mesh.Target, separate bool) string {
	lost := func(winner, loser *mesh.Target) []uint32 {
		if first.target == loser {
			return nil
		}
		return slices.DeleteFunc(portsOnlyOf(loser, winner), func(n uint32) bool {
			_, udp := winner.Port(n)
			return !separate && !udp
		})
	}
	theirs, ours := lost(mine, other), lost(other, mine)
	const fate = "a listener but no cluster"
	if len(theirs) > 0 && len(ours) > 0 {
		return fmt.Sprintf("%s of %s get%s %s, or if %s is the first, %s of %s", lint.PortList(theirs), other.Object.Name, singular(theirs), fate, other.Object.Name, lint.PortList(ours), mine.Object.Name)
	}
	winner, loser, only := mine, other, theirs
	if len(ours) > 0 {
		winner, loser, only = other, mine, ours
	}
	switch {
	case len(only) == 0:
		return ""
	case first.target == nil:
		return fmt.Sprintf("if that is %s, %s of %s get%s %s", winner.Object.Name, lint.PortList(only), loser.Object.Name, singular(only), fate)
	}
	return fmt.Sprintf("%s of %s get%s %s", lint.PortList(only), loser.Object.Name, singular(only), fate)
}

// difference is a setting in which two entries with the same ports and resolution differ.
type difference struct {
	severity lint.Severity
	what     string
	effect   func(order) string
	byOrder  bool // the effect hangs on which entry is first
}

// settings lists how two entries differ on the ports that they share, resolution apart.
func settings(a, b *mesh.Target, shared []uint32) []difference {
	var out []difference
	add := func(s lint.Severity, what string, byOrder bool, effect func(order) string) {
		out = append(out, difference{s, what, effect, byOrder})
	}
	for _, n := range shared {
		pa, _ := proxied(a, n)
		pb, _ := proxied(b, n)
		if sameProtocol(pa, pb) {
			continue
		}
		d := protocolDifference(a, b, pa, pb)
		d.what = fmt.Sprintf("the protocol of port %d %s", n, against(protocolName(pa), protocolName(pb)))
		out = append(out, d)
		break
	}
	for _, n := range shared {
		pa, _ := proxied(a, n)
		pb, _ := proxied(b, n)
		if pa.EndpointPort() == pb.EndpointPort() {
			continue
		}
		one := a.Resolution == "NONE" || a.Resolution == "DNS_ROUND_ROBIN"
		add(lint.Warning, fmt.Sprintf("targetPort of port %d %s", n, against(fmt.Sprint(pa.EndpointPort()), fmt.Sprint(pb.EndpointPort()))), one, func(o order) string {
			if one {
				return fmt.Sprintf("Envoy dials the targetPort of %s", o.name)
			}
			return "Envoy spreads connections over both ports"
		})
		break
	}
	if !sameValue(a.Endpoints(), b.Endpoints()) || a.HasSelector() != b.HasSelector() {
		out = append(out, endpoints(a, b, shared))
	} else if slices.Contains(mesh.Separate(a, b), "workloadSelector") {
		add(lint.Info, "workloadSelector", false, func(order) string { return "Envoy spreads calls over the workloads of both" })
	}
	if !sameSet(a, b, "subjectAltNames") {
		add(lint.Warning, "subjectAltNames", true, func(o order) string {
			return fmt.Sprintf("where a DestinationRule starts TLS and names none itself, the certificate is held to the subjectAltNames of %s", o.youngest)
		})
	}
	if a.External != b.External {
		add(lint.Warning, "location", true, func(o order) string {
			return fmt.Sprintf("Istio takes the location of %s: whether calls are mesh-internal, with automatic mutual TLS, depends on it", o.name)
		})
	}
	if l7 := slices.ContainsFunc(shared, func(n uint32) bool { p, _ := proxied(a, n); return p.Family == mesh.L7 }); l7 && !sameSet(a, b, "addresses") {
		add(lint.Info, "addresses", true, func(o order) string {
			return fmt.Sprintf("HTTP requests to an address find a route only if it is one of %s", o.last)
		})
	}
	return out
}

// readsHTTP says whether Istio gives a port HTTP routes.
func readsHTTP(p mesh.Port) bool { return p.Family == mesh.L7 || p.Family == mesh.Sniffed }

// protocolDifference says what Istio makes of two protocols on one port of a host.
func protocolDifference(a, b *mesh.Target, pa, pb mesh.Port) difference {
	n := pa.Number
	switch {
	case pa.Family == mesh.L7 && pb.Family == mesh.L7:
		return difference{severity: lint.Warning, byOrder: true, effect: func(o order) string {
			return fmt.Sprintf("on port %d Envoy speaks the protocol of %s to the endpoints", n, o.name)
		}}
	case readsHTTP(pa) && readsHTTP(pb):
		sniffed := a
		if pb.Family == mesh.Sniffed {
			sniffed = b
		}
		return difference{severity: lint.Warning, byOrder: true, effect: func(o order) string {
			switch o.target {
			case nil:
				return fmt.Sprintf("on port %d connections that are not HTTP reach the host only if the entry with no protocol was created first", n)
			case sniffed:
				return fmt.Sprintf("on port %d Envoy takes connections that are not HTTP to be for the host too", n)
			}
			return fmt.Sprintf("on port %d connections that are not HTTP do not reach the host", n)
		}}
	case readsHTTP(pa) || readsHTTP(pb):
		http, reader := pa, a
		if readsHTTP(pb) {
			http, reader = pb, b
		}
		start := fmt.Sprintf("on port %d Istio builds a filter chain for each protocol", n)
		return difference{severity: lint.Warning, byOrder: true, effect: func(o order) string {
			switch o.target {
			case nil:
				return fmt.Sprintf("%s, but has a route for HTTP requests to the host only if the entry with %s was created last", start, protocolName(http))
			case reader:
				return start + ", but has no route for HTTP requests to the host"
			}
			return start + ", and both lead to one cluster"
		}}
	case pa.IsOpaque() && pb.IsOpaque():
		return difference{severity: lint.Warning, byOrder: true, effect: func(o order) string {
			return fmt.Sprintf("on port %d Envoy reads the protocol of %s", n, o.name)
		}}
	}
	return difference{severity: lint.Info, effect: func(order) string {
		return fmt.Sprintf("on port %d Istio builds a filter chain for each protocol, and both lead to one cluster", n)
	}}
}

// endpoints says what becomes of two different lists of endpoints.
func endpoints(a, b *mesh.Target, shared []uint32) difference {
	const what = "endpoints"
	if a.HasSelector() || b.HasSelector() {
		return difference{lint.Warning, "workloadSelector", func(order) string {
			return "Envoy spreads calls over the workloads of the one and the endpoints of the other"
		}, false}
	}
	names := slices.ContainsFunc(shared, func(n uint32) bool {
		pa, _ := proxied(a, n)
		pb, _ := proxied(b, n)
		return pa.Name != pb.Name
	})
	switch {
	case a.Resolution == "DNS_ROUND_ROBIN" || a.Resolution == "STATIC" && names:
		reason := "one endpoint is all that DNS_ROUND_ROBIN takes"
		if a.Resolution == "STATIC" {
			reason = "the two give the port different names"
		}
		return difference{lint.Error, what, func(o order) string {
			return fmt.Sprintf("Envoy uses the endpoints of %s only, because %s", o.name, reason)
		}, true}
	case a.Resolution == "DNS" && (a.Endpoints().Len() == 0 || b.Endpoints().Len() == 0):
		return difference{lint.Warning, what, func(order) string {
			return "Envoy spreads calls over the endpoints of the one and the host's own name, since the other has no endpoints"
		}, false}
	}
	return difference{lint.Info, what, func(order) string { return "Envoy spreads calls over the endpoints of both" }, false}
}

// across compares two entries of two namespaces. Nothing is merged: each client gets one of them whole.
func across(ix *mesh.Index, mine, other *mesh.Target) conflict {
	c := conflict{other: other, severity: lint.Info}
	shared := sharedPorts(mine, other)
	if len(portsOnlyOf(mine, other)) > 0 || len(portsOnlyOf(other, mine)) > 0 {
		c.differ = append(c.differ, "ports "+against(lint.PortNumbers(numbers(mine)), lint.PortNumbers(numbers(other))))
	}
	grave := len(c.differ) > 0
	if mine.Resolution != other.Resolution {
		c.differ = append(c.differ, resolutions(mine, other))
		grave = true
	}
	for _, d := range settings(mine, other, shared) {
		c.differ = append(c.differ, d.what)
		grave = grave || d.what == "endpoints" || strings.HasPrefix(d.what, "the protocol")
	}
	if mine.HasSelector() && other.HasSelector() {
		c.differ = append(c.differ, "the namespace of the workloads that they select")
		grave = true
	}
	got, winners, byAge, note := whoGetsWhich(ix, mine, other)
	c.effect = "Istio gives each client one of them whole: " + got
	var missing []string
	for _, w := range winners {
		loser := mine
		if w == mine {
			loser = other
		}
		if only := portsOnlyOf(loser, w); len(only) > 0 {
			is := "are"
			if len(only) == 1 {
				is = "is"
			}
			missing = append(missing, fmt.Sprintf("%s %s missing where that of %s is used", lint.PortList(only), is, w.Namespace()))
		}
	}
	if len(missing) > 0 {
		c.effect += "; " + strings.Join(missing, ", ")
	}
	c.effect += note
	switch {
	case grave && byAge:
		c.severity = lint.Error
	case len(c.differ) > 0 && (byAge || len(missing) > 0):
		c.severity = lint.Warning
	}
	return c
}

// whoGetsWhich says which clients get which of two entries of two namespaces, and which of the entries some client gets.
func whoGetsWhich(ix *mesh.Index, mine, other *mesh.Target) (text string, winners []*mesh.Target, byAge bool, note string) {
	var words, elsewhere []string
	wins := func(t *mesh.Target) {
		if !slices.Contains(winners, t) {
			winners = append(winners, t)
		}
	}
	for client := range ix.CommonClients(mine, other) {
		switch client {
		case mine.Namespace():
			words = append(words, fmt.Sprintf("clients in namespace %s that of %s", client, client))
			wins(mine)
		case other.Namespace():
			words = append(words, fmt.Sprintf("clients in namespace %s that of %s", client, client))
			wins(other)
		case mesh.Everywhere:
			elsewhere = append(elsewhere, "all others")
		default:
			elsewhere = append(elsewhere, "those in "+client)
		}
	}
	if len(elsewhere) > 0 {
		who := elsewhere[0]
		if len(elsewhere) > 1 {
			who += andMore(len(elsewhere) - 1)
		}
		first, byExport := ix.First(mine, other)
		switch {
		case first == nil:
			words = append(words, who+" the one that was created first")
			byAge, note = true, "; files do not show which is older"
			wins(mine)
			wins(other)
		case byExport:
			words = append(words, fmt.Sprintf("%s that of %s, which is exported to chosen namespaces", who, first.Namespace()))
			wins(first)
		default:
			words = append(words, fmt.Sprintf("%s that of %s, which is the older", who, first.Namespace()))
			byAge = true
			wins(first)
		}
	}
	return strings.Join(words, ", "), winners, byAge, note
}

func reportRivals(p *lint.Pass, at object.Path, h mesh.Host, found []conflict, others int) {
	worst := found[0]
	// The subject names no ports: that another port of this host takes the traffic of a whole port is a fault of its own.
	message := fmt.Sprintf("ServiceEntry %s in namespace %s has the host %s too", worst.other.Object.Name, worst.other.Namespace(), h)
	if len(worst.differ) > 0 {
		message += ", and they differ in " + lint.Enumerate(worst.differ)
	} else {
		message += ", with the same settings"
	}
	switch {
	case others == 2:
		message += "; one more entry has it"
	case others > 2:
		message += fmt.Sprintf("; %d more entries have it", others-1)
	}
	extras := []lint.Extra{
		lint.As(worst.severity), lint.Effect(worst.effect),
		lint.About(lint.Subject{Objects: []object.Key{worst.other.Object.Key}}),
	}
	for _, c := range found {
		extras = append(extras, lint.Also(c.other.Object, hostPath(c.other.Object, h, 0), "the other entry for the host"))
	}
	p.Report(at, message, extras...)
}

func reportListener(p *lint.Pass, mine *mesh.Target, r mesh.ListenerRival) {
	place, cause := fmt.Sprintf("the listener 0.0.0.0:%d", r.Port.Number), "neither has addresses"
	switch {
	case mesh.IsCIDR(r.Address):
		place, cause = fmt.Sprintf("the connections to %s on port %d", r.Address, r.Port.Number), "both have this range"
	case r.Address != "":
		place, cause = fmt.Sprintf("the listener %s:%d", r.Address, r.Port.Number), "both have this address"
	}
	first := precedence(p.Mesh, mine, r.Target)
	what := "connections"
	if r.Port.Family == mesh.Sniffed {
		what = "connections that are not HTTP and"
	}
	severity, outcome := lint.Error, fmt.Sprintf("%s meant for the other host are delivered to it as well", what)
	if mine.Resolution == "NONE" && r.Target.Resolution == "NONE" {
		severity, outcome = lint.Warning, fmt.Sprintf("%s meant for the other host still reach the address that was dialled, but count as traffic of this one", what)
	}
	p.Report(r.Port.Path,
		fmt.Sprintf("port %d (%s) needs %s, as does ServiceEntry %s in namespace %s for %s: %s",
			r.Port.Number, protocolName(r.Port), place, r.Target.Object.Name, r.Target.Namespace(), r.Target.Hosts[0], cause),
		lint.As(severity),
		lint.Effect(fmt.Sprintf("Envoy has one filter chain for both, which leads to %s: %s%s", first.name, outcome, first.note)),
		lint.Also(r.Target.Object, object.Path{"spec", "hosts"}, "the other entry on the listener"),
		lint.About(lint.Subject{Objects: []object.Key{r.Target.Object.Key}, Ports: []uint32{r.Port.Number}}),
	)
}

// sharedPorts are the numbers of ports that both entries have, portsOnlyOf those that only the first has.
func sharedPorts(a, b *mesh.Target) []uint32 {
	return slices.DeleteFunc(numbers(a), func(n uint32) bool { _, both := proxied(b, n); return !both })
}

func portsOnlyOf(a, b *mesh.Target) []uint32 {
	return slices.DeleteFunc(numbers(a), func(n uint32) bool { _, both := proxied(b, n); return both })
}

// proxied returns the port with a number. Istio compiles nothing for UDP, so such ports do not count, here as in numbers.
func proxied(t *mesh.Target, n uint32) (mesh.Port, bool) {
	i := slices.IndexFunc(t.Ports, func(p mesh.Port) bool { return p.Number == n && p.Family != mesh.NoProxy })
	if i < 0 {
		return mesh.Port{}, false
	}
	return t.Ports[i], true
}

func numbers(t *mesh.Target) []uint32 {
	var out []uint32
	for _, p := range t.Ports {
		if p.Family != mesh.NoProxy && !slices.Contains(out, p.Number) {
			out = append(out, p.Number)
		}
	}
	slices.Sort(out)
	return out
}

// sameProtocol says whether Envoy treats two ports alike.
func sameProtocol(a, b mesh.Port) bool { return a.Protocol == b.Protocol || a.IsTLS() && b.IsTLS() }

// sameSet says whether two entries list the same in a field, in whatever order.
func sameSet(a, b *mesh.Target, field string) bool {
	list := func(t *mesh.Target) []string {
		set := t.Object.Spec().Get(field).Strings()
		slices.Sort(set)
		return slices.Compact(set)
	}
	return slices.Equal(list(a), list(b))
}

func resolutions(mine, other *mesh.Target) string {
	return "resolution " + against(mine.Resolution, other.Resolution)
}

func against(mine, other string) string { return fmt.Sprintf("(%s against %s)", mine, other) }

func protocolName(p mesh.Port) string {
	if p.Protocol == "" {
		return "no protocol"
	}
	return p.Protocol
}

// singular is the ending of a verb that ports are the subject of.
func singular(list []uint32) string {
	if len(list) == 1 {
		return "s"
	}
	return ""
}
