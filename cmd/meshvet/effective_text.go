package main

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/fatih/color"
	"github.com/mattn/go-runewidth"

	"github.com/meshvet/meshvet/lint/effective"
	"github.com/meshvet/meshvet/lint/envoy"
	"github.com/meshvet/meshvet/lint/mesh"
	"github.com/meshvet/meshvet/lint/object"
	"github.com/meshvet/meshvet/lint/report"
)

// textCells is the width of the text.
const textCells = 100

// answersText writes answers for people. No line begins with anything of the input.
type answersText struct {
	to    *bufio.Writer
	bold  *color.Color
	faint *color.Color
	some  bool
}

func newAnswersText(to io.Writer, colored bool) *answersText {
	w := &answersText{to: bufio.NewWriter(to), bold: color.New(color.Bold), faint: color.New(color.Faint)}
	for _, c := range []*color.Color{w.bold, w.faint} {
		if colored {
			c.EnableColor()
		} else {
			c.DisableColor()
		}
	}
	return w
}

func (w *answersText) close() error {
	if err := w.to.Flush(); err != nil {
		return fmt.Errorf("write: %w", err)
	}
	return nil
}

// line writes one line; text of the input in it is made safe.
func (w *answersText) line(indent int, text string) {
	fmt.Fprintln(w.to, strings.Repeat(" ", indent)+report.Clean(text))
}

// prose writes text over as many lines as it takes; those after the first are indented further.
func (w *answersText) prose(indent int, text string) {
	for i, line := range report.Wrap(report.Clean(object.Abridge(text)), textCells-indent-2) {
		if i > 0 {
			line = "  " + line
		}
		fmt.Fprintln(w.to, strings.Repeat(" ", indent)+line)
	}
}

func (w *answersText) write(a *answer) error {
	if w.some {
		fmt.Fprintln(w.to)
	}
	w.some = true
	title := fmt.Sprintf("host %s, for clients in %s", a.host, a.forWhom())
	if a.scope != "" {
		title += ", mesh scope " + a.scope
	}
	for i, l := range report.Wrap(report.Clean(object.Abridge(title)), textCells-2) {
		if i > 0 {
			l = "  " + l
		}
		fmt.Fprintln(w.to, w.bold.Sprint(l))
	}
	for _, n := range a.notes {
		w.prose(0, "note: "+n)
	}
	shown := map[*effective.Hop]bool{}
	ways := map[uint32]int{}
	for _, way := range a.ways {
		ways[way.port]++
	}
	number := map[uint32]int{}
	for _, way := range a.ways {
		number[way.port]++
		fmt.Fprintln(w.to)
		if n := ways[way.port]; n > 1 {
			w.line(0, fmt.Sprintf("port %d, way %d of %d", way.port, number[way.port], n))
		} else {
			w.line(0, fmt.Sprintf("port %d", way.port))
		}
		for i, h := range way.hops {
			if i > 0 {
				fmt.Fprintln(w.to)
			}
			title := fmt.Sprintf("hop %d: %s -> %s", i+1, a.proxyText(h, i == 0), h.Cluster.Name())
			if shown[h] {
				w.prose(0, title+" (told above)")
				continue
			}
			shown[h] = true
			for j, l := range report.Wrap(report.Clean(object.Abridge(title)), textCells-2) {
				if j > 0 {
					l = "  " + l
				}
				fmt.Fprintln(w.to, w.bold.Sprint(l))
			}
			w.hop(a, h)
		}
	}
	if _, err := w.to.Write(nil); err != nil { // what an earlier write ran into
		return fmt.Errorf("write: %w", err)
	}
	return nil
}

// forWhom names the clients that an answer is for.
func (a *answer) forWhom() string {
	names := object.Abridge(strings.Join(a.clients, ", "))
	switch {
	case a.others && a.all:
		return "every namespace"
	case a.others && len(a.clients) == 0:
		return "every other namespace"
	case a.others:
		return "namespace " + names + " and every other"
	}
	return "namespace " + names
}

func (a *answer) proxyText(h *effective.Hop, first bool) string {
	switch {
	case first && h.Proxy.Type == effective.Sidecar:
		return "the client's sidecar"
	case first:
		return "gateway in " + a.forWhom()
	}
	l := labels{h.Proxy.Labels}
	if text := l.String(); text != "" {
		return fmt.Sprintf("gateway in namespace %s (%s)", h.Proxy.Namespace, text)
	}
	return "gateway in namespace " + h.Proxy.Namespace
}

func (w *answersText) hop(a *answer, h *effective.Hop) {
	c := h.Cluster
	const indent = 2
	if h.Route != nil {
		w.prose(indent, fmt.Sprintf("route: %s, %s (%s)", h.Route, h.Path, place(h.Route, h.Path)))
	}
	if h.Assumed != "" {
		w.prose(indent, "assumed: "+h.Assumed)
	}
	w.rules(a, c, indent)
	if c.Panics != "" {
		w.prose(indent, "breaks: Istio compiles no configuration at all: "+c.Panics)
		return
	}
	if c.Absent != "" {
		w.prose(indent, "no cluster: "+c.Absent)
	} else {
		w.prose(indent, fmt.Sprintf("cluster: %s; %s", c.Type, familyText(c.Port)))
		w.prose(indent, "TLS: "+tlsText(c.TLS()))
		if felt, ok := c.FeltConnectTime(); ok {
			w.prose(indent, "connect time: "+feltText(felt))
		}
		if e, ok := c.Ejection(a.index); ok {
			w.prose(indent, "ejection: "+ejectionText(e))
		}
	}
	rows, ignored := sorted(c.Rows())
	w.table(rows, "cluster")
	if tcp := tcpRows(h); len(tcp) > 0 {
		w.table(tcp, "listener (the tcp_proxy that leads to the cluster)")
	}
	if len(ignored) > 0 {
		w.table(ignored, "written for this port, and ignored by Istio")
	}
}

func place(o *object.Object, at object.Path) string {
	l := o.Locate(at)
	if !l.Range.Start.IsValid() {
		return l.File
	}
	return fmt.Sprintf("%s:%d", l.File, l.Range.Start.Line)
}

// reasonWords say in which of the namespaces that Istio asks a rule was found. What opens a later hop is the client of that one.
var reasonWords = map[effective.RuleReason]string{
	effective.OfClient: "the client's namespace", effective.OfHost: "the host's namespace", effective.OfRoot: "the root namespace",
}

// rules says which DestinationRules are in force, and why.
func (w *answersText) rules(a *answer, c *effective.Cluster, indent int) {
	if c.Rule == nil || len(c.Rule.Rules) == 0 {
		w.prose(indent, "rule: no DestinationRule")
		return
	}
	// Where clients get one rule for several reasons, what is said of the host holds for all of them.
	var where string
	for _, reason := range [...]effective.RuleReason{effective.OfRoot, effective.OfHost, effective.OfClient} {
		if where == "" && slices.Contains(a.reasons[c], reason) {
			where = " of " + reasonWords[reason]
		}
	}
	for _, r := range c.Rule.Rules {
		text := fmt.Sprintf("rule: %s (%s)%s", r.Object, place(r.Object, object.Path{"spec", "host"}), where)
		if r.Host.IsWildcard() {
			text += fmt.Sprintf(", by its wildcard host %s", r.Host)
		} else {
			text += ", by the exact host"
		}
		if r.Selector != nil {
			text += fmt.Sprintf(", for workloads with %s", (&labels{r.Selector}).String())
		}
		if len(c.Rule.Rules) > 1 {
			switch {
			case c.Rule.Policy == r:
				text += "; its trafficPolicy counts"
			case c.Rule.Policy != nil && r.HasPolicy():
				text += "; merged, only its subsets count"
			default:
				text += "; merged for its subsets"
			}
		}
		w.prose(indent, text)
	}
}

func familyText(p effective.Port) string {
	protocol := "protocol " + p.Protocol
	if p.Protocol == "" {
		protocol = "no protocol"
	}
	switch {
	case p.Routed:
		return "Envoy reads requests, since an http route leads here (" + protocol + ")"
	case p.Family == mesh.L7:
		return "Envoy reads requests (" + protocol + ")"
	case p.Family == mesh.Sniffed:
		return "Envoy looks at the first bytes and reads requests if it finds HTTP (" + protocol + ")"
	}
	return "Envoy forwards bytes (" + protocol + ")"
}

func tlsText(s effective.TLSState) string {
	var text string
	switch s.State {
	case effective.InPlaintext:
		return "none, Envoy sends plaintext"
	case effective.ClientTLS:
		return "passthrough: the client's own TLS goes through, and Envoy verifies nothing"
	case effective.NotTold:
		return "none of Envoy's: it sends on whatever the client sends"
	case effective.AutoMeshMTLS:
		return "automatic mutual TLS with endpoints that have a proxy, plaintext with others"
	case effective.MeshMTLS:
		text = "Istio's mutual TLS"
	case effective.DoubleTLS:
		text = "double TLS: Envoy starts TLS around the client's own"
	default:
		text = "origination: Envoy starts TLS"
	}
	if s.ServerName != "" {
		text += ", server name " + s.ServerName
	} else {
		text += ", no server name"
	}
	switch {
	case !s.Verified:
		text += "; the certificate is NOT VERIFIED"
	case s.Names == "":
		text += "; the certificate's issuer is verified, its name is NOT VERIFIED"
	default:
		text += "; the certificate is verified, it must bear " + s.Names
	}
	return text
}

func feltText(f effective.Felt) string {
	r := f.Retry
	if r == nil {
		return fmt.Sprintf("a client waits up to %s (connectTimeout; bytes are not sent again)", f.Time)
	}
	each := "connectTimeout"
	if r.PerTry > 0 && f.Each == r.PerTry {
		each = "the route's perTryTimeout"
	}
	if f.Time < f.Each*time.Duration(f.Attempts) {
		return fmt.Sprintf("a client waits up to %s, the route's timeout (%s %s, %d retries, %s)", f.Time, each, f.Each, f.Attempts-1, r.Origin.Text())
	}
	if f.Attempts == 1 && r.Attempts > 0 {
		return fmt.Sprintf("a client waits up to %s (%s; retryOn, %s, is not about connections)", f.Time, each, r.Origin.Text())
	}
	return fmt.Sprintf("a client waits up to %s (%s %s x (1 + %d retries, %s))", f.Time, each, f.Each, f.Attempts-1, r.Origin.Text())
}

func ejectionText(e effective.Ejection) string {
	percent := fmt.Sprintf("max_ejection_percent %d (%s)", e.Percent, e.Origin.Text())
	switch {
	case !e.List:
		return "nothing can be ejected, since the cluster has no list of addresses to choose from"
	case e.Known && e.Endpoints == 0:
		return fmt.Sprintf("there is no address, %s", percent)
	case e.Known && e.Endpoints == 1:
		if e.Percent >= 100 {
			return fmt.Sprintf("the only address can be ejected, %s", percent)
		}
		return fmt.Sprintf("the only address is never ejected, %s", percent)
	case e.Known && e.AtOnce() == 0:
		return fmt.Sprintf("none of the %d addresses: one would be %d %%, %s", e.Endpoints, 100/e.Endpoints, percent)
	case e.Known:
		return fmt.Sprintf("at most %d of the %d addresses at once, %s", e.AtOnce(), e.Endpoints, percent)
	case e.Fewest() == 1:
		return fmt.Sprintf("every address can be ejected, %s", percent)
	}
	return fmt.Sprintf("nothing while there are fewer than %d addresses, %s; the manifests do not say how many there are", e.Fewest(), percent)
}

// sorted puts the rows of a block together, in the order in which the blocks come, and sets those that Istio ignores apart.
func sorted(rows []effective.Setting) (kept, ignored []effective.Setting) {
	order := map[string]int{}
	for _, s := range rows {
		if s.Status == effective.Ignored {
			ignored = append(ignored, s)
			continue
		}
		kept = append(kept, s)
		if block, _ := blockOf(s.Field); order[block] == 0 {
			order[block] = len(order) + 1
		}
	}
	slices.SortStableFunc(kept, func(a, b effective.Setting) int {
		x, whole := blockOf(a.Field)
		y, rest := blockOf(b.Field)
		if x == y && (whole == "" || rest == "") { // the block itself comes first
			return len(whole) - len(rest)
		}
		return order[x] - order[y]
	})
	return kept, ignored
}

// blockOf cuts the name of a field after its block; a block itself has no rest.
func blockOf(field string) (block, rest string) {
	block, rest, _ = strings.Cut(field, ".")
	return block, rest
}

// The widths of the columns of a table.
const (
	fieldCells = 34
	valueCells = 24
)

// table writes rows, two lines each: field, value and source; then where Envoy has it.
func (w *answersText) table(rows []effective.Setting, title string) {
	if len(rows) == 0 {
		return
	}
	const indent = 2
	fmt.Fprintln(w.to)
	w.line(indent, title)
	w.line(indent, w.columns("  FIELD", "VALUE", "SOURCE")+" / ENVOY")
	last := ""
	for _, s := range rows {
		block, rest := blockOf(s.Field)
		name := "  " + object.Abridge(rest)
		switch {
		case rest == "":
			name = block
		case block != last:
			w.line(indent, object.Abridge(block))
		}
		last = block
		line := w.columns(name, valueText(s), sourceText(s))
		if cells(line) > textCells-indent {
			w.line(indent, strings.TrimRight(w.columns(name, valueText(s), ""), " "))
			w.line(indent+6, "from "+object.Abridge(sourceText(s)))
		} else {
			w.line(indent, line)
		}
		if path := pathText(s); path != "" {
			fmt.Fprintln(w.to, strings.Repeat(" ", indent+4)+w.faint.Sprint(report.Clean(path)))
		}
	}
}

func cells(s string) int { return runewidth.StringWidth(s) }

func (w *answersText) columns(field, value, source string) string {
	return pad(pad(field, fieldCells)+value, fieldCells+valueCells) + source
}

// pad fills up to a width, and separates what is wider by two blanks.
func pad(s string, width int) string {
	s = report.Clean(s)
	if n := width - cells(s); n >= 2 {
		return s + strings.Repeat(" ", n)
	}
	return s + "  "
}

func valueText(s effective.Setting) string {
	text := envoy.Text(s.Value)
	if text == effective.Unlimited {
		return "unlimited (" + text + ")"
	}
	return object.Abridge(text)
}

// sourceText says where a value comes from, and whether it matters.
func sourceText(s effective.Setting) string {
	from := s.Origin.Text()
	switch {
	case s.Status == effective.Inert:
		return from + ", no effect on this port"
	case s.Why != "":
		return from + ", " + s.Why
	}
	return from
}

// pathText is where Envoy has the value.
func pathText(s effective.Setting) string {
	if s.Envoy == "" {
		return ""
	}
	return "-> " + strings.TrimPrefix(s.Envoy, "typed_extension_protocol_options.")
}
