package egress

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/effective"
	"github.com/meshvet/meshvet/lint/mesh"
	"github.com/meshvet/meshvet/lint/object"
)

// Options bound a map.
type Options struct {
	// MaxHosts is how many hosts are told in all; 0 means 2,000. Hosts of First come before those that a DestinationRule is for, and these
	// before the rest, each in the order of names.
	MaxHosts int
	// MaxHops is how many hops of hosts are told in all; 0 means 20,000. Hosts that come after that many are left out.
	MaxHops int
	// First are the objects whose hosts are wanted most, such as those with findings.
	First map[object.Key]bool
}

const (
	defaultMaxHosts = 2_000
	defaultMaxHops  = 20_000
	// maxNotes bounds how much is noted of a host or mesh.
	maxNotes = 20
)

// wanted is a host of a mesh and how much it is wanted; less is more.
type wanted struct {
	mesh int
	host mesh.Host
	rank int
}

// Build maps the hosts of meshes: those of ServiceEntries, and those of Services that a DestinationRule is for. Meshes that are context only
// are left out. An error is that of ctx.
func Build(ctx context.Context, meshes []lint.Mesh, opt Options) (*Map, error) {
	if opt.MaxHosts == 0 {
		opt.MaxHosts = defaultMaxHosts
	}
	if opt.MaxHops == 0 {
		opt.MaxHops = defaultMaxHops
	}
	meshes = slices.DeleteFunc(slices.Clone(meshes), func(m lint.Mesh) bool { return !m.Focus })
	if len(meshes) > 1 { // the meshes that share files tell them
		if own := slices.DeleteFunc(slices.Clone(meshes), func(m lint.Mesh) bool { return m.Shared }); len(own) > 0 {
			meshes = own
		}
	}
	notes := make([][]string, len(meshes))
	p := &Predictor{Meshes: meshes, Proxy: effective.Proxy{Type: effective.Sidecar}, work: &work{}}
	var hosts []wanted
	for i := range meshes {
		p.Note = func(format string, args ...any) { notes[i] = append(notes[i], fmt.Sprintf(format, args...)) }
		p.tellLimitsOf(meshes[i].Index, map[object.Key]bool{})
		for _, h := range p.HostsOf(meshes[i].Index) {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			hosts = append(hosts, wanted{i, h, rankOf(meshes[i].Index, h, opt.First)})
		}
	}
	hosts = onlyJudged(meshes, hosts)
	p.Note = func(string, ...any) {}
	out := &Map{}
	slices.SortStableFunc(hosts, func(a, b wanted) int { return cmp.Compare(a.rank, b.rank) })
	told := make([][]Host, len(meshes))
	hops := 0
	for n, w := range hosts {
		if n == opt.MaxHosts || hops >= opt.MaxHops || p.work.all >= maxWork {
			out.LeftOut = len(hosts) - n
			break
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		h, more := p.host(&meshes[w.mesh], w.host)
		hops += more
		told[w.mesh] = append(told[w.mesh], h)
	}
	for i := range meshes {
		ix := meshes[i].Index
		s := Scope{Name: ix.Settings().Scope, Hosts: told[i], Notes: atMost(maxNotes, notes[i])}
		slices.SortFunc(s.Hosts, func(a, b Host) int { return cmp.Compare(a.Name, b.Name) })
		for o := range ix.All(object.DestinationRule) {
			if r := ix.Rule(o); r != nil && judges(&meshes[i], o) && len(ix.ReachOf(r)) == 0 {
				s.Unreached = append(s.Unreached, Rule{refTo(o, "spec", "host"), o.Spec().Get("host").Str()})
			}
		}
		if len(meshes) == 1 || len(s.Hosts)+len(s.Unreached)+len(s.Notes) > 0 {
			out.Scopes = append(out.Scopes, s)
		}
	}
	return out, nil
}

func judges(m *lint.Mesh, o *object.Object) bool { return m.Judges == nil || m.Judges(o) }

// onlyJudged leaves out hosts that another mesh tells: of meshes with the same files under other configurations, the one by which a host's
// objects are judged does, else the first.
func onlyJudged(meshes []lint.Mesh, hosts []wanted) []wanted {
	if !slices.ContainsFunc(meshes, func(m lint.Mesh) bool { return m.Judges != nil }) {
		return hosts
	}
	type id struct {
		scope string
		host  mesh.Host
	}
	idOf := func(w wanted) id { return id{meshes[w.mesh].Index.Settings().Scope, w.host} }
	told := map[id]bool{}
	judged := make([]bool, len(hosts))
	for i, w := range hosts {
		m := &meshes[w.mesh]
		judged[i] = slices.ContainsFunc(m.Index.Targets(w.host), func(t *mesh.Target) bool { return judges(m, t.Object) }) ||
			slices.ContainsFunc(m.Index.RulesReaching(w.host), func(r *mesh.DestinationRule) bool { return judges(m, r.Object) })
		if judged[i] {
			told[idOf(w)] = true
		}
	}
	var out []wanted
	for i, w := range hosts {
		if judged[i] || !told[idOf(w)] {
			told[idOf(w)] = true
			out = append(out, w)
		}
	}
	return out
}

// atMost cuts notes that are more than n, and says so.
func atMost(n int, notes []string) []string {
	if len(notes) <= n {
		return notes
	}
	return append(notes[:n-1:n-1], fmt.Sprintf("and %d more notes like these", len(notes)-n+1))
}

func rankOf(ix *mesh.Index, h mesh.Host, first map[object.Key]bool) int {
	rules := ix.RulesReaching(h)
	if len(first) > 0 {
		for _, t := range ix.Targets(h) {
			if first[t.Object.Key] {
				return 0
			}
		}
		for _, r := range rules {
			if first[r.Object.Key] {
				return 0
			}
		}
	}
	if len(rules) > 0 {
		return 1
	}
	return 2
}

// host tells one host of a mesh, and how many hops of it that are.
func (p *Predictor) host(m *lint.Mesh, name mesh.Host) (Host, int) {
	h := Host{Name: string(name)}
	for _, t := range m.Index.Targets(name) {
		h.Entries = append(h.Entries, refTo(t.Object, "spec", "hosts"))
	}
	answers, err := p.answers(m, name, 0, nil, nil)
	if err != nil {
		h.Notes = append(h.Notes, strings.Split(err.Error(), "\n")...)
	}
	ports := map[uint32]*Port{}
	hops, leftOut := 0, 0
	for _, a := range answers {
		clients := slices.Clone(a.Clients)
		if a.Others {
			clients = append(clients, mesh.Everywhere)
		}
		h.Namespaces = append(h.Namespaces, clients...)
		for _, n := range a.Notes {
			if !slices.Contains(h.Notes, n) {
				h.Notes = append(h.Notes, n)
			}
		}
		for _, w := range a.Ways {
			port := ports[w.Port]
			if port == nil {
				port = &Port{Number: w.Port}
				ports[w.Port] = port
			}
			if hops >= maxHopsOfHost {
				leftOut++
				continue
			}
			hops += len(w.Hops)
			v := View{Clients: clients}
			for i, hop := range w.Hops {
				v.Hops = append(v.Hops, a.hopOf(hop, i == 0))
				if c := hop.Cluster; port.Protocol == "" && string(c.Port.Host) == h.Name {
					port.Protocol = c.Port.Protocol
				}
			}
			port.Views = append(port.Views, v)
		}
	}
	if leftOut > 0 {
		h.Notes = slices.Insert(h.Notes, 0, fmt.Sprintf("%d more ways to the host are left out; meshvet effective %s tells them", leftOut, name))
	}
	h.Notes = atMost(maxNotes, h.Notes)
	for _, t := range m.Index.Targets(name) { // ports to which nobody has a way are told too
		for _, tp := range t.Ports {
			port := ports[tp.Number]
			if port == nil {
				port = &Port{Number: tp.Number, Views: []View{{Clients: []string{mesh.Everywhere}, Note: "nobody in view gets here"}}}
				ports[tp.Number] = port
			}
			port.Name = cmp.Or(port.Name, tp.Name)
			port.Protocol = cmp.Or(port.Protocol, tp.Protocol)
		}
	}
	for _, port := range ports {
		h.Ports = append(h.Ports, *port)
	}
	slices.SortFunc(h.Ports, func(a, b Port) int { return cmp.Compare(a.Number, b.Number) })
	slices.Sort(h.Namespaces)
	h.Namespaces = slices.Compact(h.Namespaces)
	return h, hops
}

func (a *Answer) hopOf(h *effective.Hop, first bool) Hop {
	c := h.Cluster
	out := Hop{Proxy: "sidecar", Cluster: c.Name(), Subset: c.Subset}
	for _, path := range c.Unpredicted {
		out.Caveats = append(out.Caveats, "not predicted: "+path)
	}
	if !first {
		out.Proxy = a.ProxyText(h, false)
	}
	if c.Rule != nil {
		for _, r := range c.Rule.Rules {
			out.Rules = append(out.Rules, refTo(r.Object, "spec", "host"))
		}
	}
	if h.Route != nil {
		out.Routes = append(out.Routes, Ref{h.Route.Key, h.Route.Locate(h.Path)})
	}
	if h.Assumed != "" {
		out.Caveats = append(out.Caveats, "assumed: "+h.Assumed)
	}
	if c.Panics != "" {
		out.Caveats = append(out.Caveats, "Istio compiles no configuration at all: "+c.Panics)
		return out
	}
	if c.Absent != "" {
		out.Caveats = append(out.Caveats, "there is no such cluster: "+c.Absent)
	} else {
		out.Type, out.TLS = string(c.Type), TLSText(c.TLS())
		out.Facts = append(out.Facts, FamilyText(c.Port))
		if felt, ok := c.FeltConnectTime(); ok {
			out.Facts = append(out.Facts, FeltText(felt))
		}
		if e, ok := c.Ejection(a.Index); ok {
			out.Facts = append(out.Facts, "ejection: "+EjectionText(e))
		}
	}
	rows, ignored := Rows(c)
	for _, s := range slices.Concat(rows, TCPRows(h), ignored) {
		f := Field{
			Name: s.Field, Value: ValueText(s), Source: SourceText(s), Envoy: strings.TrimPrefix(PathText(s), "-> "),
			Inert: s.Status == effective.Inert, Ignored: s.Status == effective.Ignored,
		}
		f.At, _ = s.Origin.Location()
		out.Fields = append(out.Fields, f)
	}
	return out
}

// refTo names an object and where a field of it stands, the object itself where that is missing.
func refTo(o *object.Object, at ...any) Ref {
	return Ref{o.Key, o.Locate(object.Path(at))}
}
