package egress

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/effective"
	"github.com/meshvet/meshvet/lint/mesh"
	"github.com/meshvet/meshvet/lint/object"
)

const (
	// maxNameBytes is the longest host name that DNS knows.
	maxNameBytes = 253
	// maxWays bounds how many ways are told for one port.
	maxWays = 100
	// maxWaysOfHost bounds how many ways are told for all ports of a host together: each has some hops of some fifty settings.
	maxWaysOfHost = 1000
	// maxClients bounds for how many namespaces that only an exportTo names a host is answered.
	maxClients = 50
	// maxMisses bounds how many reasons are told why some clients get no answer while others do.
	maxMisses = 3
)

// Query is what is asked for: a host, and a port of it (0 = every port).
type Query struct {
	Host string
	Port uint32
}

// Predictor answers queries about the meshes of a run.
type Predictor struct {
	Meshes []lint.Mesh
	Proxy  effective.Proxy // of the client; its namespace is filled in
	From   []string        // namespaces of clients; nil = each that may get something of its own
	Subset string
	Note   func(format string, args ...any)

	hosts []string // of all meshes, once they are needed
	work  *work    // what a map may still cost; nil where somebody asks
	// rivals remembers what competes with a ServiceEntry for listeners: its hosts, of which there may be hundreds with hundreds of
	// addresses, have that in common.
	rivals map[*mesh.Target][]mesh.ListenerRival
}

// Answer is what clients of some namespaces get for one host of one mesh.
type Answer struct {
	Host   mesh.Host
	Scope  string // "" if there is one mesh only
	Index  *mesh.Index
	Notes  []string
	Client effective.ProxyType
	// Clients are namespaces; Others says that the answer holds for all that are not named in any answer for the host; All that no
	// other answer is for the host.
	Clients []string
	Others  bool
	All     bool
	Ways    []Way

	Reasons map[*effective.Cluster][]effective.RuleReason // of clients that get the same
}

// Way is a chain of connections, for one port that the client dials.
type Way struct {
	Port uint32
	Hops []*effective.Hop
}

// TellLimits notes what is among the manifests and not applied.
func (p *Predictor) TellLimits() {
	told := map[object.Key]bool{}
	for i := range p.Meshes {
		p.tellLimitsOf(p.Meshes[i].Index, told)
	}
}

func (p *Predictor) tellLimitsOf(ix *mesh.Index, told map[object.Key]bool) {
	for _, o := range ix.EnvoyFilters() {
		if len(told) < maxMisses && !told[o.Key] {
			told[o.Key] = true
			p.Note("%s patches what Istio compiles, and is not applied", o)
		}
	}
	for o := range ix.All(object.Sidecar) {
		if len(told) < maxMisses && !told[o.Key] {
			told[o.Key] = true
			p.Note("%s limits what the proxies of %s see, and is not applied", o, mesh.NamespaceOf(o))
		}
	}
}

// Each answers queries in their order.
func (p *Predictor) Each(queries []Query) iter.Seq2[[]*Answer, error] {
	return func(yield func([]*Answer, error) bool) {
		for _, q := range queries {
			if !yield(p.Ask(q)) {
				return
			}
		}
	}
}

// EveryHost answers for every host that a policy can be for, mesh by mesh in the order of names.
func (p *Predictor) EveryHost() iter.Seq2[[]*Answer, error] {
	return func(yield func([]*Answer, error) bool) {
		found := false
		for i := range p.Meshes {
			m := &p.Meshes[i]
			if m.Shared && len(p.Meshes) > 1 {
				continue // the meshes that share these files answer
			}
			for _, h := range p.HostsOf(m.Index) {
				found = true
				answers, _ := p.answers(m, h, 0, p.From, nil)
				if !yield(answers, nil) {
					return
				}
			}
		}
		if !found {
			yield(nil, errors.New("no ServiceEntry is among the manifests, and no Service that a DestinationRule is for; -f names files and folders"))
		}
	}
}

// HostsOf lists the hosts of ServiceEntries, and those of Services that a DestinationRule is for.
func (p *Predictor) HostsOf(ix *mesh.Index) []mesh.Host {
	var out []mesh.Host
	for o := range ix.All(object.ServiceEntry) {
		t := ix.Target(o)
		if most, wide := effective.TooWide(ix, o); wide {
			p.Note("%s is left out, since it is for more than %d pairs of host and port; ask for one of its hosts", o, most)
			continue
		}
		out = append(out, t.Hosts...)
	}
	for o := range ix.All(object.Service) {
		for _, h := range ix.Target(o).Hosts {
			if len(ix.RulesReaching(h)) > 0 {
				out = append(out, h)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// candidate is a host that a Query may mean, for the clients of some namespaces (nil = all that count).
type candidate struct {
	host    mesh.Host
	clients []string
	note    string
}

// Ask answers a Query in every mesh that knows the host.
func (p *Predictor) Ask(q Query) ([]*Answer, error) {
	var out []*Answer
	var misses []error
	for _, shared := range []bool{false, true} { // what meshes have in common counts where none of them answers
		for i := range p.Meshes {
			m := &p.Meshes[i]
			if m.Shared != shared || shared && len(out) > 0 {
				continue
			}
			candidates, err := p.meant(m.Index, q)
			misses = append(misses, err)
			for _, c := range candidates {
				var notes []string
				if c.note != "" {
					notes = append(notes, c.note)
				}
				answers, err := p.answers(m, c.host, q.Port, c.clients, notes)
				misses = append(misses, err)
				out = append(out, answers...)
			}
		}
	}
	missed := errors.Join(misses...)
	switch {
	case len(out) > 0 && missed != nil:
		lines := strings.Split(missed.Error(), "\n")
		for _, line := range lines[:min(len(lines), maxMisses)] {
			p.Note("%s", line)
		}
		if n := len(lines) - maxMisses; n > 0 {
			p.Note("the same, or the like, goes for %d more meshes or namespaces", n)
		}
	case len(out) > 0:
	case missed != nil:
		return nil, firstOfEach(missed)
	default:
		return nil, p.unknown(q)
	}
	return out, nil
}

// firstOfEach leaves out repetitions among joined errors.
func firstOfEach(err error) error {
	lines := strings.Split(err.Error(), "\n")
	seen := map[string]bool{}
	return errors.New(strings.Join(slices.DeleteFunc(lines, func(l string) bool {
		twice := seen[l]
		seen[l] = true
		return twice
	}), "\n"))
}

// meant lists the hosts of a mesh that a Query can mean: the name as it is, a Service by a shorter name, or the wildcard that covers it.
func (p *Predictor) meant(ix *mesh.Index, q Query) ([]candidate, error) {
	known := func(h mesh.Host) bool { return len(ix.Targets(h)) > 0 }
	host, domain := mesh.Host(q.Host), ix.Settings().ClusterDomain
	if known(host) {
		return []candidate{{host: host, clients: p.From}}, nil
	}
	short := func(h mesh.Host) string { return fmt.Sprintf("%s is taken for %s", q.Host, h) }
	switch parts := strings.Split(q.Host, "."); {
	case host.IsAddress() || host.IsWildcard():
	case len(parts) == 1 && len(p.From) > 0:
		var out []candidate
		for _, ns := range p.From {
			if h := mesh.QualifyHost(q.Host, ns, domain); known(h) {
				out = append(out, candidate{h, []string{ns}, short(h)})
			}
		}
		if len(out) > 0 {
			return out, nil
		}
	case len(parts) == 1:
		var found []mesh.Host
		for _, ns := range ix.Namespaces() {
			if h := mesh.QualifyHost(q.Host, ns, domain); known(h) {
				found = append(found, h)
			}
		}
		switch len(found) {
		case 0:
		case 1:
			return []candidate{{host: found[0], note: short(found[0])}}, nil
		default:
			return nil, fmt.Errorf("%s is a Service in several namespaces; say --from NAMESPACE, or one of %s", q.Host, names(found))
		}
	case len(parts) == 2 || len(parts) == 3 && parts[2] == "svc":
		h := mesh.Host(parts[0] + "." + parts[1] + ".svc." + domain)
		if known(h) {
			return []candidate{{h, p.From, short(h)}}, nil
		}
	}
	for _, hit := range ix.TargetsCovering(host) {
		return []candidate{{host: host, clients: p.clientsOf(ix, hit.Host)}}, nil // answers finds which wildcard each client sees
	}
	return nil, nil
}

func names(hosts []mesh.Host) string {
	var out []string
	for i, h := range hosts {
		if i == 5 {
			out = append(out, "…")
			break
		}
		out = append(out, string(h))
	}
	return strings.Join(out, ", ")
}

// unknown words that no mesh knows a host.
func (p *Predictor) unknown(q Query) error {
	if p.hosts == nil {
		p.hosts = []string{}
		for i := range p.Meshes {
			ix := p.Meshes[i].Index
			for _, kind := range []object.Kind{object.ServiceEntry, object.Service} {
				for o := range ix.All(kind) {
					for _, h := range ix.Target(o).Hosts {
						p.hosts = append(p.hosts, string(h))
					}
				}
			}
		}
		slices.Sort(p.hosts)
		p.hosts = slices.Compact(p.hosts)
	}
	near := nearest(q.Host, p.hosts, 3)
	switch {
	case len(p.hosts) == 0:
		return fmt.Errorf("unknown host %q: no ServiceEntry and no Service is among the manifests; -f names files and folders", q.Host)
	case len(near) == 0:
		return fmt.Errorf("unknown host %q: no ServiceEntry and no Service has it, and none of the %d known hosts is like it", q.Host, len(p.hosts))
	}
	return fmt.Errorf("unknown host %q: no ServiceEntry and no Service has it; did you mean %s?", q.Host, strings.Join(near, " or "))
}

// nearest returns up to n names that a word may mean: those that begin with it as a label, then the nearest by spelling.
func nearest(word string, names []string, n int) []string {
	var out, rest []string
	most := len(word)/3 + 2
	for _, name := range names {
		switch {
		case strings.HasPrefix(name, word+".") && len(out) < n:
			out = append(out, name)
		case len(name) > len(word)-most && len(name) < len(word)+most && len(name) <= maxNameBytes:
			rest = append(rest, name)
		}
	}
	for len(out) < n {
		near := lint.Nearest(word, rest)
		if near == "" {
			break
		}
		out = append(out, near)
		rest = slices.DeleteFunc(rest, func(s string) bool { return s == near })
	}
	return out
}

// clientsOf lists the namespaces for which a host is answered: those of --from, else those whose clients may get something of their
// own. anyOther stands for those of which nothing is known.
func (p *Predictor) clientsOf(ix *mesh.Index, host mesh.Host) []string {
	if len(p.From) > 0 {
		return p.From
	}
	if p.Proxy.Type == effective.Gateway {
		if own := ix.Settings().GatewayNamespaces; len(own) > 0 {
			return own
		}
		return []string{ix.Settings().RootNamespace}
	}
	var out, named []string
	add := func(list *[]string, names ...string) {
		for _, ns := range names {
			if !slices.Contains([]string{"*", ".", "~"}, ns) && !slices.Contains(*list, ns) {
				*list = append(*list, ns)
			}
		}
	}
	anywhere := false
	for _, t := range ix.Targets(host) {
		add(&out, ix.ClientNamespaces(t)...)
		anywhere = anywhere || ix.Sees(t, anyOther)
		if len(named) < maxClients {
			add(&named, t.ExportTo...)
		}
	}
	for _, vs := range ix.VirtualServicesFor(host) {
		singled := vs.Spec().Get("exportTo").Strings()
		for _, kind := range [...]string{"http", "tls", "tcp"} {
			for _, rule := range vs.Spec().Get(kind).Items() {
				for _, m := range rule.Get("match").Items() {
					if ns := m.Get("sourceNamespace").Str(); ns != "" {
						singled = append(singled, ns)
					}
				}
			}
		}
		add(&out, mesh.NamespaceOf(vs))
		add(&out, slices.DeleteFunc(singled, func(ns string) bool { return !ix.HasNamespace(ns) })...)
	}
	if anywhere {
		add(&out, anyOther)
	}
	sees := func(ns string) bool {
		proxy := p.Proxy
		proxy.Namespace = ns
		return proxy.Target(ix, host) != nil
	}
	if !slices.ContainsFunc(out, sees) {
		add(&out, named...)
	}
	slices.Sort(out)
	return out
}

// anyOther is the namespace of clients of which nothing is known: no object has it, so that only what is said of all namespaces holds.
const anyOther = ""

// answers tells what the clients of some namespaces (nil = all that count) get for a host, those together that get the same. The
// error says why some get nothing.
func (p *Predictor) answers(m *lint.Mesh, host mesh.Host, port uint32, clients, notes []string) ([]*Answer, error) {
	ix := m.Index
	if clients == nil {
		clients = p.clientsOf(ix, host)
	}
	var out []*Answer
	var missed []error
	var hidden []string
	byContent := map[string]*Answer{}
	p.work.begin(ix, host)
	for i, ns := range clients {
		if i > 0 && p.work.exhausted(out) {
			missed = append(missed, fmt.Errorf("%s: what clients of %d more namespaces get is left out", host, len(clients)-i))
			break
		}
		p.work.client()
		proxy := p.Proxy
		proxy.Namespace = ns
		seen, note := host, ""
		if proxy.Target(ix, host) == nil {
			for _, hit := range ix.TargetsCovering(host) {
				if t := proxy.Target(ix, hit.Host); t != nil {
					seen, note = hit.Host, fmt.Sprintf("%s is covered by the host %s of %s, for which this is", host, hit.Host, t.Object)
					break
				}
			}
			if note == "" {
				hidden = append(hidden, ns)
				continue
			}
		}
		a := &Answer{
			Host: seen, Scope: ix.Settings().Scope, Index: ix, Client: proxy.Type, Notes: slices.Clone(notes),
			Reasons: map[*effective.Cluster][]effective.RuleReason{},
		}
		if note != "" {
			a.Notes = append(a.Notes, note)
		}
		if err := p.fill(a, proxy, port); err != nil {
			missed = append(missed, err)
			continue
		}
		p.work.hops(a)
		key := a.content()
		if same := byContent[key]; same != nil {
			same.join(a)
			a = same
		} else {
			byContent[key] = a
			out = append(out, a)
		}
		if ns == anyOther {
			a.Others = true
		} else {
			a.Clients = append(a.Clients, ns)
		}
	}
	if len(out) == 1 && len(hidden) == 0 && len(missed) == 0 {
		out[0].All = true
	}
	slices.SortStableFunc(out, func(a, b *Answer) int { // those for all others come last
		return cmp.Compare(boolInt(a.Others), boolInt(b.Others))
	})
	if len(hidden) > 0 && (len(p.From) > 0 || p.Proxy.Type == effective.Gateway || len(out) == 0) {
		missed = append(missed, hiddenError(ix, host, hidden))
	}
	return out, errors.Join(missed...)
}

// flag names a flag of `meshvet effective`, to readers of a map with the command.
func (p *Predictor) flag(name string) string {
	if p.work != nil {
		return "meshvet effective " + name
	}
	return name
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// hiddenError says what hides a host from clients of some namespaces.
func hiddenError(ix *mesh.Index, host mesh.Host, from []string) error {
	targets := ix.Targets(host)
	for _, hit := range ix.TargetsCovering(host) {
		targets = append(targets, hit.Target)
	}
	var why []string
	for i, t := range targets {
		if i == 3 {
			why = append(why, "…")
			break
		}
		exported := t.ExportTo
		at := t.Object.Locate(object.Path{"spec", "exportTo"})
		place := fmt.Sprintf("%s:%d", at.File, at.Range.Start.Line)
		if t.IsService() {
			at = t.Object.Locate(object.Path{"metadata", "annotations"})
			place = fmt.Sprintf("%s:%d", at.File, at.Range.Start.Line)
		}
		if len(exported) == 0 {
			exported, place = ix.Settings().DefaultServiceExportTo, "meshConfig.defaultServiceExportTo"
		}
		why = append(why, fmt.Sprintf("%s is exported to %s only (%s)", t.Object, strings.Join(exported, ", "), place))
	}
	for i, ns := range from {
		if ns == anyOther {
			from[i] = "any other"
		}
	}
	return fmt.Errorf("%s is hidden from namespace %s: %s", host, object.Abridge(strings.Join(from, ", ")), object.Abridge(strings.Join(why, "; ")))
}

// fill works out the ways of a client to the ports of a host.
func (p *Predictor) fill(a *Answer, proxy effective.Proxy, port uint32) error {
	ix := a.Index
	ports := effective.PortNumbers(ix, proxy, a.Host)
	if port != 0 {
		if !slices.Contains(ports, port) {
			return fmt.Errorf("%s has no port %d; it has %s", a.Host, port, lint.PortNumbers(ports))
		}
		ports = []uint32{port}
	}
	if len(ports) == 0 {
		a.Notes = append(a.Notes, "it has no ports, so there is nothing to tell")
	}
	subsets := effective.SubsetNames(ix, proxy, a.Host)
	if p.Subset != "" && !slices.Contains(subsets, p.Subset) {
		if len(subsets) == 0 {
			return fmt.Errorf("%s has no subset %q: no DestinationRule in force gives it any%s", a.Host, object.Abridge(p.Subset), forClients(proxy.Namespace))
		}
		return fmt.Errorf("%s has no subset %q%s; it has %s", a.Host, object.Abridge(p.Subset), forClients(proxy.Namespace), object.Abridge(strings.Join(subsets, ", ")))
	}
	routed := map[string]bool{}
	for i, n := range ports {
		if len(a.Ways) >= maxWaysOfHost {
			a.Notes = append(a.Notes, fmt.Sprintf("more than %d ways lead to the host, and its %s left out; ask for one of them", maxWaysOfHost, leftOut(ports[i:])))
			break
		}
		var first []*effective.Hop
		if p.Subset != "" {
			c := effective.ClusterFor(ix, proxy, a.Host, n, p.Subset)
			if c == nil { // the cluster without subset says why there is none
				c = effective.ClusterFor(ix, proxy, a.Host, n, "")
			}
			first = []*effective.Hop{{Proxy: proxy, Cluster: c}}
		} else {
			first = effective.WayTo(ix, proxy, a.Host, n)
		}
		if p.Subset == "" && len(first) == 0 {
			if vs := effective.AnsweredBy(ix, proxy, a.Host, n); vs != nil {
				a.Notes = append(a.Notes, fmt.Sprintf("port %d: what comes there is sent nowhere; %s redirects, answers or delegates it", n, vs))
			}
		}
		ways := chains(first, nil, maxWays+1)
		if len(ways) > maxWays {
			a.Notes = append(a.Notes, fmt.Sprintf("more than %d ways lead to port %d; these are the first", maxWays, n))
			ways = ways[:maxWays]
		}
		for _, hops := range ways {
			for _, h := range hops {
				if h.Cluster.Port.Host == a.Host {
					routed[h.Cluster.Subset] = true
				}
				if reason := h.Cluster.RuleReason(ix); reason != "" && len(a.Reasons[h.Cluster]) == 0 {
					a.Reasons[h.Cluster] = append(a.Reasons[h.Cluster], reason)
				}
			}
			a.Ways = append(a.Ways, Way{n, hops})
		}
		forget(first)
	}
	if p.Subset == "" {
		if rest := slices.DeleteFunc(subsets, func(s string) bool { return routed[s] }); len(rest) > 0 {
			a.Notes = append(a.Notes, "no route in view leads to subset "+object.Abridge(strings.Join(rest, ", "))+" ("+p.flag("--subset")+" shows one)")
		}
	}
	for _, list := range effective.OfUnknownAge(ix, proxy, a.Host) {
		a.Notes = append(a.Notes, fmt.Sprintf("%s and %s do not say which is older, which decides in Istio; here they count in the order of names", list[0], list[1]))
	}
	if t := proxy.Target(ix, a.Host); t != nil {
		if ix.Ambient(t) {
			a.Notes = append(a.Notes, "ztunnel or a waypoint may carry this traffic; what is told is true of sidecars and gateways only")
		}
		if policy := ix.BackendTLSPolicyFor(t); policy != nil {
			a.Notes = append(a.Notes, fmt.Sprintf("%s decides on TLS as well, and is not applied", policy))
		}
	}
	if proxy.Type == effective.Sidecar {
		a.Notes = append(a.Notes, p.rivalNotes(ix, proxy, a.Host, ports)...)
	}
	for _, r := range ix.RulesReaching(a.Host) {
		if r.Selector == nil || r.Namespace() != proxy.Namespace || a.has(r.Object) {
			continue
		}
		a.Notes = append(a.Notes, fmt.Sprintf("%s is for workloads with %s only (%s)", r.Object, object.Abridge(LabelsText(r.Selector)), p.flag("--labels")))
	}
	return nil
}

// rivalNotes say which ports of a host share a listener with something else, so that what is sent there may go to another cluster
// than the one that is told.
func (p *Predictor) rivalNotes(ix *mesh.Index, proxy effective.Proxy, host mesh.Host, ports []uint32) []string {
	t := proxy.Target(ix, host)
	if t == nil || t.IsService() {
		return nil
	}
	var out []string
	opaque := false
	for _, port := range t.Ports {
		if !port.IsOpaque() || !slices.Contains(ports, port.Number) {
			continue
		}
		opaque = true
		if len(t.Hosts) > 1 && len(ix.Addresses(t, host)) == 0 {
			out = append(out, fmt.Sprintf("port %d: nothing tells the hosts of %s apart, so Istio sends what comes there to one of them", port.Number, t.Object))
		}
	}
	if !opaque {
		return out
	}
	for _, r := range p.rivalsOf(ix, t) {
		if slices.Contains(ports, r.Port.Number) && r.Port.IsOpaque() && ix.Sees(r.Target, proxy.Namespace) {
			out = append(out, fmt.Sprintf("port %d: %s needs the same listener, so what comes there may go to its cluster", r.Port.Number, r.Target.Object))
		}
	}
	return out
}

func (p *Predictor) rivalsOf(ix *mesh.Index, t *mesh.Target) []mesh.ListenerRival {
	list, known := p.rivals[t]
	if !known {
		if p.rivals == nil {
			p.rivals = map[*mesh.Target][]mesh.ListenerRival{}
		}
		list = ix.ListenerRivals(t)
		p.rivals[t] = list
	}
	return list
}

func forClients(ns string) string {
	if ns == anyOther {
		return ""
	}
	return " for clients in " + object.Abridge(ns)
}

// has says whether a rule is in force somewhere on the ways.
func (a *Answer) has(o *object.Object) bool {
	for _, w := range a.Ways {
		for _, h := range w.Hops {
			if h.Cluster.Rule != nil && h.Cluster.Rule.Has(o) {
				return true
			}
		}
	}
	return false
}

// chains lists the ways through a tree of hops, at most n.
func chains(hops []*effective.Hop, before []*effective.Hop, n int) [][]*effective.Hop {
	var out [][]*effective.Hop
	for _, h := range hops {
		if len(out) >= n {
			break
		}
		chain := append(slices.Clone(before), h)
		if len(h.Next) == 0 {
			out = append(out, chain)
			continue
		}
		out = append(out, chains(h.Next, chain, n-len(out))...)
	}
	return out
}

// forget cuts a tree of hops, once its chains are made: it may hold far more hops than these.
func forget(hops []*effective.Hop) {
	for _, h := range hops {
		next := h.Next
		h.Next = nil
		forget(next)
	}
}

// leftOut words which ports are.
func leftOut(ports []uint32) string {
	if len(ports) == 1 {
		return fmt.Sprintf("port %d is", ports[0])
	}
	return "ports " + lint.PortNumbers(ports) + " are"
}

// join takes in an answer that says the same for other clients.
func (a *Answer) join(b *Answer) {
	for i := range a.Ways {
		for j, h := range a.Ways[i].Hops {
			for _, r := range b.Reasons[b.Ways[i].Hops[j].Cluster] {
				if have := a.Reasons[h.Cluster]; !slices.Contains(have, r) {
					a.Reasons[h.Cluster] = append(have, r)
				}
			}
		}
	}
}
