package main

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/fatih/color"
	"github.com/mattn/go-runewidth"

	"github.com/meshvet/meshvet/lint/effective"
	"github.com/meshvet/meshvet/lint/egress"
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

func (w *answersText) write(a *egress.Answer) error {
	if w.some {
		fmt.Fprintln(w.to)
	}
	w.some = true
	title := fmt.Sprintf("host %s, for clients in %s", a.Host, a.ForWhom())
	if a.Scope != "" {
		title += ", mesh scope " + a.Scope
	}
	for i, l := range report.Wrap(report.Clean(object.Abridge(title)), textCells-2) {
		if i > 0 {
			l = "  " + l
		}
		fmt.Fprintln(w.to, w.bold.Sprint(l))
	}
	for _, n := range a.Notes {
		w.prose(0, "note: "+n)
	}
	shown := map[*effective.Hop]bool{}
	ways := map[uint32]int{}
	for _, way := range a.Ways {
		ways[way.Port]++
	}
	number := map[uint32]int{}
	for _, way := range a.Ways {
		number[way.Port]++
		fmt.Fprintln(w.to)
		if n := ways[way.Port]; n > 1 {
			w.line(0, fmt.Sprintf("port %d, way %d of %d", way.Port, number[way.Port], n))
		} else {
			w.line(0, fmt.Sprintf("port %d", way.Port))
		}
		for i, h := range way.Hops {
			if i > 0 {
				fmt.Fprintln(w.to)
			}
			title := fmt.Sprintf("hop %d: %s -> %s", i+1, a.ProxyText(h, i == 0), h.Cluster.Name())
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

func (w *answersText) hop(a *egress.Answer, h *effective.Hop) {
	c := h.Cluster
	const indent = 2
	if h.Route != nil {
		w.prose(indent, fmt.Sprintf("route: %s, %s (%s)", h.Route, h.Path, egress.Place(h.Route, h.Path)))
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
		w.prose(indent, fmt.Sprintf("cluster: %s; %s", c.Type, egress.FamilyText(c.Port)))
		w.prose(indent, "TLS: "+egress.TLSText(c.TLS()))
		if felt, ok := c.FeltConnectTime(); ok {
			w.prose(indent, "connect time: "+egress.FeltText(felt))
		}
		if e, ok := c.Ejection(a.Index); ok {
			w.prose(indent, "ejection: "+egress.EjectionText(e))
		}
	}
	rows, ignored := egress.Rows(c)
	w.table(rows, "cluster")
	if tcp := egress.TCPRows(h); len(tcp) > 0 {
		w.table(tcp, "listener (the tcp_proxy that leads to the cluster)")
	}
	if len(ignored) > 0 {
		w.table(ignored, "written for this port, and ignored by Istio")
	}
}

// reasonWords say in which of the namespaces that Istio asks a rule was found. What opens a later hop is the client of that one.
var reasonWords = map[effective.RuleReason]string{
	effective.OfClient: "the client's namespace", effective.OfHost: "the host's namespace", effective.OfRoot: "the root namespace",
}

// rules says which DestinationRules are in force, and why.
func (w *answersText) rules(a *egress.Answer, c *effective.Cluster, indent int) {
	if c.Rule == nil || len(c.Rule.Rules) == 0 {
		w.prose(indent, "rule: no DestinationRule")
		return
	}
	// Where clients get one rule for several reasons, what is said of the host holds for all of them.
	var where string
	for _, reason := range [...]effective.RuleReason{effective.OfRoot, effective.OfHost, effective.OfClient} {
		if where == "" && slices.Contains(a.Reasons[c], reason) {
			where = " of " + reasonWords[reason]
		}
	}
	for _, r := range c.Rule.Rules {
		text := fmt.Sprintf("rule: %s (%s)%s", r.Object, egress.Place(r.Object, object.Path{"spec", "host"}), where)
		if r.Host.IsWildcard() {
			text += fmt.Sprintf(", by its wildcard host %s", r.Host)
		} else {
			text += ", by the exact host"
		}
		if r.Selector != nil {
			text += fmt.Sprintf(", for workloads with %s", egress.LabelsText(r.Selector))
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
		block, rest := egress.Block(s.Field)
		name := "  " + object.Abridge(rest)
		switch {
		case rest == "":
			name = block
		case block != last:
			w.line(indent, object.Abridge(block))
		}
		last = block
		line := w.columns(name, egress.ValueText(s), egress.SourceText(s))
		if cells(line) > textCells-indent {
			w.line(indent, strings.TrimRight(w.columns(name, egress.ValueText(s), ""), " "))
			w.line(indent+6, "from "+object.Abridge(egress.SourceText(s)))
		} else {
			w.line(indent, line)
		}
		if path := egress.PathText(s); path != "" {
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
