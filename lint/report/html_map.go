package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html/template"
	"slices"
	"strings"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/egress"
	"github.com/meshvet/meshvet/lint/object"
)

// What is said of a setting beside its value.
const (
	fieldInert = 1 << iota
	fieldDefault
	fieldIgnored
)

// What of a map one page holds.
const (
	maxHTMLHosts   = 2_000
	maxHTMLHops    = 20_000
	maxHTMLFields  = 400_000   // settings of all hops together; equal ones are written once, but each takes a place
	maxFieldTexts  = 4_000_000 // bytes of all texts, escaped, after which settings are left out
	maxMapTexts    = 5_500_000 // bytes of all texts, escaped, after which hosts are
	maxRefs        = 50        // objects in one list
	maxCaveats     = 24        // of a hop, a host or the map
	maxUnreached   = 300       // rules without a host
	maxPlaces      = 60        // nodes that one finding leads to
	maxStatic      = 2_500_000 // bytes, about, of the settings that are there without a script
	maxStaticHosts = 1_500_000 // bytes, about, of the hosts that are
	everyone       = "*"
)

// htmlEgress is the map as the template shows it: the reason why there is none, and the tables for readers without a script.
type htmlEgress struct {
	Drawn               bool
	Why                 string // it is not drawn, or what is missing of it
	Hosts               []htmlHost
	Unreached           []htmlLost
	Notes               []string
	Shown, TableLeftOut int
	UnreachedLeftOut    int
	HostsLeftOut        int // of Hosts
}

type (
	htmlHost struct {
		Name, Scope, Clients, Ports, Entries string
		Findings                             int
		Worst                                string
		Notes                                []string
		Tables                               []htmlTable // nil if there was no room
	}
	htmlTable struct {
		Caption, Rules, Routes, Note string
		Facts                        []string
		Fields                       []htmlField
	}
	htmlField struct {
		Name, Value, Source, Envoy, Lost string // Lost says how the value counts for nothing
	}
	// htmlLost is a rule that nothing in view has the host of.
	htmlLost struct{ Rule, Place, Host, Scope string }
)

// The types below are the JSON that the script reads. Texts are indices into Texts, so that what thousands of hosts have in common is
// written once; Findings are indices into those of the page.
type (
	mapData struct {
		Texts  []string   `json:"texts"`
		Fields []mapField `json:"fields"`
		Refs   [][2]int   `json:"refs"` // an object, its place
		Hosts  []mapHost  `json:"hosts"`
		Scopes bool       `json:"scopes"` // there are several meshes
	}
	mapHost struct {
		Name     int       `json:"n"`
		Scope    int       `json:"m"`
		Clients  int       `json:"c"`
		Owner    int       `json:"o"` // the namespace of what defines it
		Entries  []int     `json:"e,omitempty"`
		Findings []int     `json:"z,omitempty"`
		Ports    []mapPort `json:"p,omitempty"`
		Notes    []int     `json:"w,omitempty"`
	}
	mapPort struct {
		Title    int       `json:"n"`
		Findings []int     `json:"z,omitempty"`
		Views    []mapView `json:"v,omitempty"`
	}
	mapView struct {
		Clients int      `json:"c"`
		Note    int      `json:"t,omitempty"`
		Hops    []mapHop `json:"h,omitempty"`
	}
	mapHop struct {
		Proxy    int   `json:"x"`
		Cluster  int   `json:"k"`
		Subset   int   `json:"u,omitempty"`
		Rules    []int `json:"r,omitempty"`
		Routes   []int `json:"o,omitempty"`
		Fields   []int `json:"f,omitempty"`
		Facts    []int `json:"w,omitempty"` // what follows, and what is not known
		Findings []int `json:"z,omitempty"`
	}
	// mapField is name, value, source and Envoy's path, then flags: 1 = inert, 2 = a default, 4 = ignored.
	mapField [5]int
)

// htmlMap is the map of a page in the making.
type htmlMap struct {
	from    *egress.Map
	err     error
	asked   bool
	data    mapData
	texts   map[string]int
	fields  map[mapField]int
	refs    map[[2]int]int
	hosts   map[string][]int           // by name
	leadsTo map[int]int                // how many nodes a finding has
	meshes  map[string]map[string]bool // of a file, by name
	cut     string                     // what had no room
	bytes   int                        // of texts

	worst []lint.Severity
}

// nodeObject is an object in a file. Meshes may have objects of the same name.
type nodeObject struct {
	key  object.Key
	file string
}

func (v *view) newHTMLMap(findings []*lint.Finding) *htmlMap {
	m := &htmlMap{texts: map[string]int{}, fields: map[mapField]int{}, refs: map[[2]int]int{}, hosts: map[string][]int{}, leadsTo: map[int]int{}}
	m.text("") // index 0, which is left out of the JSON
	for _, f := range findings {
		m.worst = append(m.worst, f.Severity)
	}
	if v.opt.Egress == nil {
		return m
	}
	m.asked = true
	if m.from, m.err = v.opt.Egress(); m.err != nil || m.from == nil {
		m.from = nil
		return m
	}
	m.build()
	m.meshes = map[string]map[string]bool{}
	for _, scope := range v.Scopes {
		for _, file := range scope.Files {
			if m.meshes[file] == nil {
				m.meshes[file] = map[string]bool{}
			}
			m.meshes[file][clean(object.Abridge(scope.Name))] = true
		}
	}
	m.place(findings)
	return m
}

func (m *htmlMap) has(finding int) bool { return m.leadsTo[finding] > 0 }

func (m *htmlMap) text(s string) int {
	n, known := m.texts[s]
	if !known {
		n = len(m.data.Texts)
		m.texts[s] = n
		s = clean(object.Abridge(s))
		m.data.Texts = append(m.data.Texts, s)
		m.bytes += written(s)
	}
	return n
}

func (m *htmlMap) ref(r egress.Ref) int {
	at := [2]int{m.text(r.Key.String()), m.text(linePlace(r.At))}
	n, known := m.refs[at]
	if !known {
		n = len(m.data.Refs)
		m.refs[at] = n
		m.data.Refs = append(m.data.Refs, at)
	}
	return n
}

func (m *htmlMap) refsOf(list []egress.Ref) []int {
	var out []int
	for _, r := range list[:min(len(list), maxRefs)] {
		if n := m.ref(r); !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	return out
}

// linePlace is file:line; columns are of no use in a table.
func linePlace(l object.Location) string {
	if !l.Range.Start.IsValid() {
		return l.File
	}
	return fmt.Sprintf("%s:%d", l.File, l.Range.Start.Line)
}

// clientsText names the namespaces of clients. all are those of which something is known.
func clientsText(namespaces, all []string) string {
	const most = 12
	others := slices.Contains(namespaces, everyone)
	switch {
	case len(namespaces) == 0:
		return "nobody"
	case others && len(namespaces) >= len(all):
		return "every namespace"
	}
	var parts []string
	for _, ns := range namespaces {
		switch ns {
		case everyone:
			continue
		case "":
			ns = "(no namespace)"
		}
		if len(parts) == most {
			parts = append(parts, fmt.Sprintf("%d more", len(namespaces)-most))
			break
		}
		parts = append(parts, ns)
	}
	if others {
		parts = append(parts, "all other namespaces")
	}
	return strings.Join(parts, ", ")
}

func portTitle(p *egress.Port) string {
	title := fmt.Sprint(p.Number)
	if p.Protocol != "" {
		title += " " + p.Protocol
	}
	if p.Name != "" && !strings.EqualFold(p.Name, p.Protocol) {
		title += " (" + p.Name + ")"
	}
	return title
}

// ownerOf is the namespace of what defines a host.
func ownerOf(h *egress.Host) string {
	var names []string
	for _, e := range h.Entries {
		ns := e.Key.Namespace
		if ns == "" {
			ns = "(no namespace)"
		}
		if !slices.Contains(names, ns) {
			names = append(names, ns)
		}
	}
	if len(names) == 0 {
		return "(nothing defines it)"
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// build writes the map as the script reads it.
func (m *htmlMap) build() {
	fields, hops := 0, 0
	m.data.Scopes = len(m.from.Scopes) > 1
	leftOut := m.from.LeftOut
	for i := range m.from.Scopes {
		s := &m.from.Scopes[i]
		for j := range s.Hosts {
			h := &s.Hosts[j]
			if len(m.data.Hosts) == maxHTMLHosts || m.bytes > maxMapTexts {
				leftOut++
				continue
			}
			out := mapHost{
				Name: m.text(h.Name), Scope: m.text(s.Name), Clients: m.text(clientsText(h.Namespaces, h.Namespaces)), Owner: m.text(ownerOf(h)), Entries: m.refsOf(h.Entries),
				Notes: m.list(h.Notes),
			}
			for k := range h.Ports {
				p := &h.Ports[k]
				port := mapPort{Title: m.text(portTitle(p))}
				for l := range p.Views {
					w := &p.Views[l]
					view := mapView{Clients: m.text(clientsText(w.Clients, h.Namespaces)), Note: m.text(w.Note)}
					for n := range w.Hops {
						if hops++; hops > maxHTMLHops {
							m.cut = fmt.Sprintf("only the first %d hops are shown", maxHTMLHops)
							break
						}
						view.Hops = append(view.Hops, m.hop(&w.Hops[n], &fields))
					}
					port.Views = append(port.Views, view)
				}
				out.Ports = append(out.Ports, port)
			}
			m.hosts[h.Name] = append(m.hosts[h.Name], len(m.data.Hosts))
			m.data.Hosts = append(m.data.Hosts, out)
		}
	}
	if leftOut > 0 {
		more := fmt.Sprintf("%s left out: a page holds %d", areCount(leftOut, "host"), len(m.data.Hosts))
		m.cut = strings.TrimPrefix(m.cut+"; "+more, "; ")
	}
}

// factsOf says in words what cluster a hop has and what becomes of TLS.
func factsOf(h *egress.Hop) []string {
	var out []string
	if h.Type != "" {
		out = append(out, "Cluster type "+h.Type)
	}
	if h.TLS != "" {
		out = append(out, "TLS: "+h.TLS)
	}
	return out
}

// list puts texts among those of the map, no more than a person reads.
func (m *htmlMap) list(texts []string) []int {
	var out []int
	for _, s := range texts[:min(len(texts), maxCaveats)] {
		out = append(out, m.text(s))
	}
	return out
}

func (m *htmlMap) hop(h *egress.Hop, fields *int) mapHop {
	out := mapHop{
		Proxy: m.text(h.Proxy), Cluster: m.text(h.Cluster), Subset: m.text(h.Subset), Rules: m.refsOf(h.Rules), Routes: m.refsOf(h.Routes),
	}
	facts := slices.Concat(factsOf(h), h.Facts, h.Caveats)
	out.Facts = m.list(facts)
	for i := range h.Fields {
		if *fields++; *fields > maxHTMLFields || m.bytes > maxFieldTexts {
			m.cut = "not all settings are shown"
			break
		}
		f := &h.Fields[i]
		row := mapField{m.text(f.Name), m.text(f.Value), m.text(f.Source), m.text(f.Envoy)}
		if f.Inert {
			row[4] |= fieldInert
		}
		if f.At.File == "" {
			row[4] |= fieldDefault
		}
		if f.Ignored {
			row[4] |= fieldIgnored
		}
		n, known := m.fields[row]
		if !known {
			n = len(m.data.Fields)
			m.fields[row] = n
			m.data.Fields = append(m.data.Fields, row)
		}
		out.Fields = append(out.Fields, n)
	}
	return out
}

// place puts each finding at the nodes that it is about: the hops whose policy its DestinationRule decides, the hosts of its ServiceEntry or
// the ports of these that it names; and where the object is at no node, the hosts and ports that it names.
func (m *htmlMap) place(findings []*lint.Finding) {
	entries, rules := map[nodeObject][]spotOfMap{}, map[nodeObject][]spotOfMap{}
	i := -1
	for s := range m.from.Scopes {
		for h := range m.from.Scopes[s].Hosts {
			if i++; i >= len(m.data.Hosts) {
				break
			}
			host := &m.from.Scopes[s].Hosts[h]
			for _, e := range host.Entries {
				add(entries, e, spotOfMap{host: i, port: -1})
			}
			for p := range host.Ports {
				for w := range host.Ports[p].Views {
					for n := range m.data.Hosts[i].Ports[p].Views[w].Hops {
						for _, r := range host.Ports[p].Views[w].Hops[n].Rules {
							add(rules, r, spotOfMap{i, p, w, n, host.Ports[p].Number})
						}
					}
				}
			}
		}
	}
	for f, x := range findings {
		on := nodeObject{x.Object, x.Location.File}
		spots := m.about(x, rules[on])
		if len(spots) == 0 {
			spots = m.about(x, m.byPort(x, entries[on]))
		}
		if len(spots) == 0 {
			spots = m.named(x)
		}
		for _, s := range spots[:min(len(spots), maxPlaces)] {
			h := &m.data.Hosts[s.host]
			list := &h.Findings
			switch {
			case s.port >= 0 && s.hop >= 0:
				list = &h.Ports[s.port].Views[s.view].Hops[s.hop].Findings
			case s.port >= 0:
				list = &h.Ports[s.port].Findings
			}
			if !slices.Contains(*list, f) {
				*list = append(*list, f)
				m.leadsTo[f]++
			}
		}
	}
}

// spotOfMap is a node: a hop; a port if hop is negative; a host if port is.
type spotOfMap struct {
	host, port, view, hop int
	number                uint32 // of the port
}

func add(to map[nodeObject][]spotOfMap, r egress.Ref, s spotOfMap) {
	on := nodeObject{r.Key, r.At.File}
	to[on] = append(to[on], s)
}

// about keeps the nodes that a finding names; all, if it names none of them.
func (m *htmlMap) about(f *lint.Finding, spots []spotOfMap) []spotOfMap {
	keep := func(ok func(spotOfMap) bool) {
		var some []spotOfMap
		for _, s := range spots {
			if ok(s) {
				some = append(some, s)
			}
		}
		if len(some) > 0 {
			spots = some
		}
	}
	if len(f.Subject.Hosts) > 0 {
		keep(func(s spotOfMap) bool {
			return slices.Contains(f.Subject.Hosts, m.data.Texts[m.data.Hosts[s.host].Name])
		})
	}
	if len(f.Subject.Ports) > 0 {
		keep(func(s spotOfMap) bool { return s.port >= 0 && slices.Contains(f.Subject.Ports, s.number) })
	}
	return spots
}

// byPort adds to hosts those of their ports that a finding names.
func (m *htmlMap) byPort(f *lint.Finding, hosts []spotOfMap) []spotOfMap {
	out := slices.Clone(hosts)
	if len(f.Subject.Ports) == 0 {
		return out
	}
	for _, s := range hosts {
		for p, number := range m.numbers(s.host) {
			if slices.Contains(f.Subject.Ports, number) {
				out = append(out, spotOfMap{s.host, p, -1, -1, number})
			}
		}
	}
	return out
}

// numbers are those of the ports of a host.
func (m *htmlMap) numbers(host int) []uint32 {
	for i := range m.from.Scopes {
		hosts := m.from.Scopes[i].Hosts
		if host < len(hosts) {
			var out []uint32
			for _, p := range hosts[host].Ports {
				out = append(out, p.Number)
			}
			return out
		}
		host -= len(hosts)
	}
	return nil
}

// named are the nodes that have the names which a finding gives, in its mesh: hosts of other meshes may be called the same.
func (m *htmlMap) named(f *lint.Finding) []spotOfMap {
	var hosts []spotOfMap
	for _, name := range f.Subject.Hosts {
		for _, i := range m.hosts[name] {
			if !m.data.Scopes || m.meshes[f.Location.File][m.data.Texts[m.data.Hosts[i].Scope]] {
				hosts = append(hosts, spotOfMap{host: i, port: -1})
			}
		}
	}
	return m.about(f, m.byPort(f, hosts))
}

// draw puts the map on the page: as data for the script, and as tables for readers without one.
func (p *htmlPage) draw(m *htmlMap) error {
	e := &p.Egress
	switch {
	case !m.asked:
		e.Why = "This report was made without the map of egress."
	case m.err != nil:
		e.Why = "The map could not be worked out: " + clean(object.Abridge(m.err.Error()))
	case m.from == nil || len(m.data.Hosts) == 0:
		e.Why = "There is nothing to draw: no ServiceEntry is among the manifests, and no Service that a DestinationRule is for."
	default:
		e.Drawn = true
		if m.cut != "" {
			e.Why = strings.ToUpper(m.cut[:1]) + m.cut[1:] + "."
		}
		m.tables(e)
	}
	if m.from != nil {
		m.lostRules(e)
	}
	if !e.Drawn {
		m.data = mapData{}
	}
	e.Shown = len(m.data.Hosts)
	p.HasMap = e.Drawn
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf) // which writes <, > and & as \u escapes, so that no text of it can end the element
	if err := enc.Encode(m.data); err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	p.Data = template.JS(escapeJSON(bytes.TrimSpace(buf.Bytes()))) //nolint:gosec // JSON, escaped above
	return nil
}

// tables lists the hosts, and the settings of as many as have room.
func (m *htmlMap) tables(e *htmlEgress) {
	t := func(i int) string { return m.data.Texts[i] }
	refs := func(list []int) string {
		var parts []string
		for _, r := range list {
			parts = append(parts, t(m.data.Refs[r][0])+" ("+t(m.data.Refs[r][1])+")")
		}
		return strings.Join(parts, ", ")
	}
	room, rows := maxStatic, maxStaticHosts
	for i := range m.data.Hosts {
		h := &m.data.Hosts[i]
		out := htmlHost{Name: t(h.Name), Scope: t(h.Scope), Clients: t(h.Clients), Entries: refs(h.Entries)}
		found := map[int]bool{}
		note := func(list []int) {
			for _, f := range list {
				found[f] = true
			}
		}
		note(h.Findings)
		var ports []string
		var tables []htmlTable
		for _, p := range h.Ports {
			ports = append(ports, t(p.Title))
			note(p.Findings)
			for _, w := range p.Views {
				if len(w.Hops) == 0 {
					tables = append(tables, htmlTable{Caption: "port " + t(p.Title) + ", " + t(w.Clients), Note: t(w.Note)})
				}
				for n, hop := range w.Hops {
					note(hop.Findings)
					x := htmlTable{
						Caption: fmt.Sprintf("port %s, clients in %s, hop %d: %s → %s", t(p.Title), t(w.Clients), n+1, t(hop.Proxy), t(hop.Cluster)),
						Rules:   refs(hop.Rules), Routes: refs(hop.Routes),
					}
					for _, c := range hop.Facts {
						x.Facts = append(x.Facts, t(c))
					}
					for _, f := range hop.Fields {
						row := m.data.Fields[f]
						x.Fields = append(x.Fields, htmlField{t(row[0]), t(row[1]), t(row[2]), t(row[3]), lost(row[4])})
					}
					tables = append(tables, x)
				}
			}
		}
		for _, n := range h.Notes {
			out.Notes = append(out.Notes, t(n))
		}
		out.Ports = strings.Join(ports, ", ")
		out.Findings = len(found)
		worst := lint.Off
		for f := range found {
			worst = max(worst, m.worst[f])
		}
		if worst > lint.Off {
			out.Worst = worst.String()
		}
		if rows -= 150 + written(out.Name, out.Clients, out.Ports, out.Entries); rows < 0 {
			e.HostsLeftOut++
			e.TableLeftOut++
			continue
		}
		if room -= sizeOf(tables) + written(out.Name, out.Scope) + written(out.Notes...); room > 0 {
			out.Tables = tables
		} else {
			e.TableLeftOut++
		}
		e.Hosts = append(e.Hosts, out)
	}
}

// lost says how a value counts for nothing, "" if it counts.
func lost(flags int) string {
	switch {
	case flags&fieldIgnored != 0:
		return "ignored by Istio"
	case flags&fieldInert != 0:
		return "no effect"
	}
	return ""
}

// lostRules lists the rules that nothing in view has the host of, and what limits the map as a whole.
func (m *htmlMap) lostRules(e *htmlEgress) {
	for i := range m.from.Scopes {
		s := &m.from.Scopes[i]
		for _, r := range s.Unreached {
			if len(e.Unreached) == maxUnreached {
				e.UnreachedLeftOut++
				continue
			}
			e.Unreached = append(e.Unreached, htmlLost{
				clean(object.Abridge(r.Key.String())), shortPlace(r.At), clean(object.Abridge(r.Host)), clean(object.Abridge(s.Name)),
			})
		}
		for _, n := range s.Notes {
			if len(e.Notes) < maxCaveats {
				e.Notes = append(e.Notes, clean(object.Abridge(n)))
			}
		}
	}
}

// sizeOf is about how many bytes of the page tables take.
func sizeOf(tables []htmlTable) int {
	n := 400
	for _, t := range tables {
		n += 300 + written(t.Caption, t.Rules, t.Routes, t.Note) + written(t.Facts...)
		for _, f := range t.Fields {
			n += 120 + written(f.Name, f.Value, f.Source, f.Envoy)
		}
	}
	return n
}
