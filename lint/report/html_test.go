package report

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/html"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/egress"
	"github.com/meshvet/meshvet/lint/object"
)

// htmlPageOf writes the report as HTML and reads it as a browser with scripts does.
func htmlPageOf(t testing.TB, opt Options, r *lint.Report) (text string, doc *html.Node) {
	t.Helper()
	out := write(t, "html", opt, r)
	doc, err := html.Parse(bytes.NewReader(out))
	if err != nil {
		t.Fatal(err)
	}
	return string(out), doc
}

func all(doc *html.Node, match func(*html.Node) bool) []*html.Node {
	var out []*html.Node
	for n := range doc.Descendants() {
		if n.Type == html.ElementNode && match(n) {
			out = append(out, n)
		}
	}
	return out
}

func tags(doc *html.Node, name string) []*html.Node {
	return all(doc, func(n *html.Node) bool { return n.Data == name })
}

func byID(t testing.TB, doc *html.Node, id string) *html.Node {
	t.Helper()
	found := all(doc, func(n *html.Node) bool { return attribute(n, "id") == id })
	if len(found) != 1 {
		t.Fatalf("%d elements have the id %s", len(found), id)
	}
	return found[0]
}

func attribute(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

func textOf(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			b.WriteString(d.Data)
		}
	}
	return b.String()
}

// outline writes the texts of a part of the page, a block each line, so that a person can read what it says.
func outline(n *html.Node) string {
	blocks := map[string]bool{
		"h2": true, "h3": true, "p": true, "li": true, "dt": true, "dd": true, "tr": true, "article": true, "summary": true, "label": true, "legend": true, "div": true, "pre": true,
	}
	var b strings.Builder
	var walk func(*html.Node)
	walk = func(n *html.Node) {
		switch {
		case n.Type == html.TextNode:
			b.WriteString(n.Data)
		case n.Data == "mark":
			b.WriteString("[")
			defer b.WriteString("]")
		case n.Data == "option", n.Data == "noscript", n.Data == "svg":
			return
		case blocks[n.Data]:
			b.WriteString("\n")
			defer b.WriteString("\n")
		case n.Data == "td", n.Data == "th":
			b.WriteString(" | ")
		case n.Data == "a" && strings.HasPrefix(attribute(n, "href"), "http"):
			defer func() { b.WriteString(" <" + attribute(n, "href") + ">") }()
		}
		for c := range n.ChildNodes() {
			walk(c)
		}
	}
	walk(n)
	var out strings.Builder
	for line := range strings.Lines(b.String()) {
		if line = strings.TrimRight(line, " \n"); strings.TrimSpace(line) != "" {
			out.WriteString(line + "\n")
		}
	}
	return out.String()
}

// egressOf is a map for the fixture: a host with two ports and two kinds of clients, one that goes through a gateway, and one that nobody reaches.
func egressOf(t testing.TB) func() (*egress.Map, error) {
	t.Helper()
	objects := load(t, "egress/payments.yaml", fixtureFiles["egress/payments.yaml"]).Objects
	ref := func(o *object.Object) []egress.Ref {
		return []egress.Ref{{Key: o.Key, At: o.Locate(object.Path{"spec"})}}
	}
	at := func(line int) object.Location {
		return object.Location{File: "egress/payments.yaml", Range: object.Range{Start: object.Pos{Line: line, Col: 1}, End: object.Pos{Line: line, Col: 2}}, Exact: true}
	}
	gateway := object.Key{Kind: "VirtualService", Namespace: "istio-egress", Name: "out"}
	fields := []egress.Field{
		{Name: "connectionPool.tcp.maxConnections", Value: "50", Source: "egress/payments.yaml:23", At: at(23), Envoy: "circuit_breakers.thresholds[0].max_connections"},
		{Name: "connectionPool.tcp.connectTimeout", Value: "10s", Source: "Istio's default", Envoy: "connect_timeout"},
		{Name: "connectionPool.http.maxRetries", Value: "3", Source: "egress/payments.yaml:24", At: at(24), Inert: true},
		{Name: "outlierDetection.consecutiveErrors", Value: "5", Source: "egress/payments.yaml:25", At: at(25), Ignored: true},
	}
	return func() (*egress.Map, error) {
		return &egress.Map{LeftOut: 3, Scopes: []egress.Scope{{
			Name: "egress", Notes: []string{"EnvoyFilter shop/patch is not applied"},
			Unreached: []egress.Rule{{Ref: egress.Ref{Key: object.Key{Kind: object.DestinationRule, Namespace: "shop", Name: "old"}, At: at(40)}, Host: "gone.example"}},
			Hosts: []egress.Host{
				{
					Name: "api.payments.example", Entries: ref(objects[0]), Namespaces: []string{"*", "pay", "shop"}, Notes: []string{"half of it is a guess"},
					Ports: []egress.Port{{Number: 443, Protocol: "TLS", Name: "tls", Views: []egress.View{
						{Clients: []string{"shop"}, Hops: []egress.Hop{
							{
								Proxy: "sidecar", Cluster: "outbound|443||api.payments.example", Type: "ORIGINAL_DST", TLS: "passthrough", Rules: ref(objects[1]),
								Fields: fields, Facts: []string{"a client waits up to 10s"}, Caveats: []string{"the age of two rules is not known"},
							},
						}},
						{Clients: []string{"*", "pay"}, Hops: []egress.Hop{
							{
								Proxy: "sidecar", Cluster: "outbound|443|v1|egress.istio.example", Subset: "v1", Fields: fields[1:2],
								Routes: []egress.Ref{{Key: gateway, At: object.Location{File: "gateway.yaml"}}},
							},
							{Proxy: "gateway in namespace istio-egress", Cluster: "outbound|443||api.payments.example", Rules: ref(objects[1]), Fields: fields[:2]},
						}},
					}}},
				},
				{Name: "quiet.example", Namespaces: []string{"shop"}, Ports: []egress.Port{{Number: 80, Protocol: "HTTP", Name: "http", Views: []egress.View{{Note: "nobody sees it"}}}}},
			},
		}}}, nil
	}
}

func TestHTMLGolden(t *testing.T) {
	for _, g := range []struct {
		name   string
		opt    Options
		report func(testing.TB) *lint.Report
	}{
		{"html", Options{Version: "v1.2.3", DocsURL: "https://meshvet.example/rules/", Edits: edits, Egress: egressOf(t)}, fixture},
		{"html-empty", Options{}, empty},
		{"html-baseline", Options{MinSeverity: lint.Warning}, baselined},
		{"html-since", Options{}, changed},
	} {
		t.Run(g.name, func(t *testing.T) {
			r := g.report(t)
			text, doc := htmlPageOf(t, g.opt, r)
			checkGolden(t, g.name, []byte(outline(tags(doc, "main")[0])))
			if again, _ := htmlPageOf(t, g.opt, r); text != again {
				t.Error("two reports of the same run differ")
			}
		})
	}
}

// The data of the map, and the tables that a reader without a script has, are of the same content.
func TestHTMLMap(t *testing.T) {
	r := fixture(t)
	r.Findings[4].Subject = lint.Subject{Hosts: []string{"api.payments.example"}, Ports: []uint32{443}}
	text, doc := htmlPageOf(t, Options{Egress: egressOf(t)}, r)
	var data mapData
	if err := json.Unmarshal([]byte(textOf(byID(t, doc, "data"))), &data); err != nil {
		t.Fatal(err)
	}
	var lines strings.Builder
	line := func(name string, v any) {
		out, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&lines, "%s %s\n", name, out)
	}
	for i, s := range data.Texts {
		line(fmt.Sprint("text ", i), s)
	}
	line("fields", data.Fields)
	line("refs", data.Refs)
	for _, h := range data.Hosts {
		line("host", h)
	}
	checkGolden(t, "html-map", []byte(lines.String()))

	// With scripts a parser takes what is in noscript for text.
	var static strings.Builder
	for _, n := range tags(doc, "noscript") {
		part, err := html.Parse(strings.NewReader(textOf(n)))
		if err != nil {
			t.Fatal(err)
		}
		static.WriteString(outline(part))
	}
	checkGolden(t, "html-noscript", []byte(static.String()))

	if n := strings.Count(text, `class="tomap`); n != 4 {
		t.Errorf("%d findings lead to the map, want 4", n)
	}
}

func TestHTMLWithoutMap(t *testing.T) {
	for _, c := range []struct {
		name   string
		egress func() (*egress.Map, error)
		want   string
	}{
		{"not asked for", nil, "This report was made without the map of egress."},
		{"none", func() (*egress.Map, error) { return nil, nil }, "There is nothing to draw"},
		{"empty", func() (*egress.Map, error) { return &egress.Map{Scopes: []egress.Scope{{Name: "a"}}}, nil }, "There is nothing to draw"},
		{"failed", func() (*egress.Map, error) { return nil, errors.New("the mesh <is> too large") }, "The map could not be worked out: the mesh <is> too large"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, doc := htmlPageOf(t, Options{Egress: c.egress}, fixture(t))
			if got := outline(byID(t, doc, "map")); !strings.Contains(got, c.want) {
				t.Errorf("%q, want %q", got, c.want)
			}
			if n := len(all(doc, func(n *html.Node) bool { return attribute(n, "id") == "policy" || attribute(n, "id") == "canvas" })); n > 0 {
				t.Error("there are parts of a map")
			}
		})
	}
}

// checkHTML fails if a page could load, run or send anything but its own script, or holds text that acts.
func checkHTML(t testing.TB, text string, doc *html.Node) {
	t.Helper()
	for _, r := range text {
		if acts(r) && r != '\n' {
			t.Errorf("%U reaches the page", r)
		}
	}
	scripts, styles := tags(doc, "script"), tags(doc, "style")
	if len(scripts) != 2 || len(styles) != 1 || attribute(scripts[0], "type") != "application/json" || len(scripts[1].Attr) > 0 {
		t.Fatalf("%d scripts, %d styles", len(scripts), len(styles))
	}
	if !json.Valid([]byte(textOf(scripts[0]))) {
		t.Error("the data of the map is not JSON")
	}
	hash := func(n *html.Node) string {
		sum := sha256.Sum256([]byte(textOf(n)))
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	want := "default-src 'none'; script-src " + hash(scripts[1]) + "; style-src " + hash(styles[0]) + "; base-uri 'none'; form-action 'none'"
	policies := all(doc, func(n *html.Node) bool { return attribute(n, "http-equiv") == "Content-Security-Policy" })
	if len(policies) != 1 || attribute(policies[0], "content") != want {
		t.Errorf("the policy does not fit the page, want %s", want)
	}
	ids := map[string]bool{}
	for n := range doc.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		for _, a := range n.Attr {
			switch {
			case a.Key == "id" && ids[a.Val]:
				t.Errorf("two elements have the id %s", a.Val)
			case a.Key == "id":
				ids[a.Val] = true
			case a.Key == "style", a.Key == "src", a.Key == "srcset", a.Key == "action", a.Key == "formaction", strings.HasPrefix(a.Key, "on"):
				t.Errorf("<%s> has an attribute %s", n.Data, a.Key)
			}
		}
	}
	for _, a := range tags(doc, "a") {
		href := attribute(a, "href")
		if id, local := strings.CutPrefix(href, "#"); local && !ids[id] || !local && !strings.HasPrefix(href, "https://") {
			t.Errorf("a link leads to %q", href)
		}
	}
	allowed := map[string]bool{}
	for name := range strings.FieldsSeq("html head meta title style body a header h1 span nav ul li label select option main section h2 h3 p div dl dt dd code table caption thead " +
		"tbody tr th td button svg rect form input fieldset legend article details summary pre mark noscript footer script") {
		allowed[name] = true
	}
	for n := range doc.Descendants() {
		if n.Type == html.ElementNode && !allowed[n.Data] {
			t.Errorf("there is a <%s>", n.Data)
		}
	}
}

func checkHostileHTML(t *testing.T, out []byte, _ *lint.Report) {
	t.Helper()
	doc, err := html.Parse(bytes.NewReader(out))
	if err != nil {
		t.Fatal(err)
	}
	checkHTML(t, string(out), doc)
}

func TestHTMLIsClosed(t *testing.T) {
	for _, r := range []*lint.Report{fixture(t), empty(t), suppressed(t), baselined(t), changed(t)} {
		text, doc := htmlPageOf(t, Options{Version: "v1", DocsURL: "https://meshvet.example/rules", Edits: edits, Egress: egressOf(t)}, r)
		checkHTML(t, text, doc)
	}
	if strings.Contains(htmlScript, "</script") || strings.Contains(htmlScript, "<!--") || strings.Contains(htmlStyle, "</style") || strings.Contains(htmlScript+htmlStyle, "\r") {
		t.Error("the script or the style would not be what its hash says")
	}
	for _, word := range []string{"innerHTML", "outerHTML", "insertAdjacent", "document.write", "eval(", "Function(", "fetch(", "XMLHttp", "import("} {
		if strings.Contains(htmlScript, word) {
			t.Errorf("the script uses %s", word)
		}
	}
}

// Every text of a report that can come from the input is hostile, and the page is as closed as ever.
func TestHTMLHostile(t *testing.T) {
	for _, h := range []string{
		`</script><script>alert(1)</script>`, `<!--<script>`, `"><img src=x onerror=alert(1)>`, `' onfocus='alert(1)`, `</style></noscript><b>`, "{{.Policy}}",
		"javascript:alert(1)", "a\u202eb\u2066c\u200b", "\x1b[31m\x00\x9b\r\n", "\xff\xfe", "`<b>`", "&lt;b&gt;", strings.Repeat("<\"'&>", 5000), "]]>-->", "##[error]x",
	} {
		text, doc := htmlPageOf(t, Options{Version: h, DocsURL: "https://meshvet.example", Egress: func() (*egress.Map, error) { return hostileMap(h), nil }}, reportOf(t, h))
		checkHTML(t, text, doc)
	}
}

// reportOf is a report all of whose texts are one.
func reportOf(t testing.TB, h string) *lint.Report {
	t.Helper()
	file := &object.File{Name: h}
	if !strings.Contains(h, "\x00") && len(h) < 1000 {
		file = load(t, h, "apiVersion: networking.istio.io/v1\nkind: ServiceEntry\nmetadata: {name: a}\n# "+strings.NewReplacer("\n", " ", "\r", " ").Replace(h)+"\nspec: {}\n")
	}
	loc := object.Location{File: h, Exact: true, Range: object.Range{Start: object.Pos{Line: 4, Col: 1}, End: object.Pos{Line: 4, Col: 9}}}
	key := object.Key{Kind: object.ServiceEntry, Namespace: h, Name: h}
	f := lint.Finding{
		Rule: &lint.Meta{ID: h, Name: h, Title: h, Remedy: h}, Severity: lint.Error, Message: h, Effect: h, Object: key, Path: object.Path{h, 1}, Location: loc,
		Related: []lint.Related{{Message: h, Location: loc}}, Subject: lint.Subject{Hosts: []string{h}},
		Fixes: []lint.Fix{{Title: h, Safety: lint.Unsafe, Ops: []lint.Op{{Kind: lint.Add, Path: object.Path{h}, Value: map[string]any{h: h}}}, Create: &lint.Create{Object: map[string]any{h: h}}}},
	}
	return &lint.Report{
		Findings: []lint.Finding{f}, Suppressed: []lint.SuppressedFinding{{Finding: f, Suppression: lint.Suppression{Reason: h, Where: loc, Until: h}}},
		Problems: []object.Problem{{Message: h, Location: loc}}, Skipped: []lint.Skip{{File: h, Reason: h}, {Rule: h, Reason: h, Object: key}},
		Scopes: []lint.Scope{{Name: h}}, Since: &lint.Since{Revision: h, Commit: h}, Sources: map[string]*object.File{h: file},
	}
}

func hostileMap(h string) *egress.Map {
	ref := []egress.Ref{{Key: object.Key{Kind: object.ServiceEntry, Namespace: h, Name: h}, At: object.Location{File: h}}}
	return &egress.Map{Scopes: []egress.Scope{{
		Name: h, Notes: []string{h}, Unreached: []egress.Rule{{Ref: ref[0], Host: h}},
		Hosts: []egress.Host{{Name: h, Entries: ref, Namespaces: []string{h}, Notes: []string{h}, Ports: []egress.Port{{Number: 1, Protocol: h, Name: h, Views: []egress.View{
			{Clients: []string{h}, Note: h, Hops: []egress.Hop{{
				Proxy: h, Cluster: h, Subset: h, Type: h, TLS: h, Rules: ref, Routes: ref, Facts: []string{h}, Caveats: []string{h},
				Fields: []egress.Field{{Name: h, Value: h, Source: h, Envoy: h, Inert: true}},
			}}},
		}}}}},
	}}}
}

// A page of very many findings and hosts is one that a browser opens: what it leaves out, it tells.
func TestHTMLBounds(t *testing.T) {
	r := fixture(t)
	some := r.Findings
	long := strings.Repeat(`"<&>" `, 150)
	for _, c := range []struct {
		name            string
		findings, hosts int
		message         string
		want            []string
	}{
		{"many", 12_000, 2_500, "a message of a common length that says what is wrong with the value", []string{"2000 more findings are left out", "500 hosts are left out", "no room for the details of the last"}},
		{"long", 12_000, 2_500, long, []string{"more findings are left out"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			big := *r
			big.Findings = nil
			for i := range c.findings {
				f := some[i%len(some)]
				f.Message = c.message + fmt.Sprint(i)
				f.Object.Namespace = fmt.Sprint("team-", i)
				big.Findings = append(big.Findings, f)
			}
			m := &egress.Map{Scopes: []egress.Scope{{}}}
			one, err := egressOf(t)()
			if err != nil {
				t.Fatal(err)
			}
			for i := range c.hosts {
				h := one.Scopes[0].Hosts[0]
				h.Name = fmt.Sprintf("host-%d.example %s", i, c.message)
				h.Ports = append(h.Ports, h.Ports[0])
				m.Scopes[0].Hosts = append(m.Scopes[0].Hosts, h)
			}
			text, doc := htmlPageOf(t, Options{Egress: func() (*egress.Map, error) { return m, nil }}, &big)
			t.Logf("%.1f MB", float64(len(text))/1e6)
			if len(text) > 20_000_000 {
				t.Errorf("the page has %d bytes", len(text))
			}
			main := textOf(tags(doc, "main")[0])
			for _, w := range c.want {
				if !strings.Contains(main, w) {
					t.Errorf("the page does not say %q", w)
				}
			}
		})
	}
}

func TestLineDiff(t *testing.T) {
	const text = "a: 1\nb: 2\nc: 3\nd: 4\n"
	f := load(t, "a.yaml", text)
	if f.Text() == "" { // of files without objects the loader keeps no text
		f = load(t, "a.yaml", "apiVersion: networking.istio.io/v1\nkind: ServiceEntry\nmetadata: {name: a}\nspec:\n  resolution: NONE\n  hosts: [a]\n")
	}
	at := func(s string) int { return strings.Index(f.Text(), s) }
	for _, c := range []struct {
		name  string
		edits []Edit
		want  string
	}{
		{"a value", []Edit{{Start: at("NONE"), End: at("NONE") + 4, Text: "DNS"}}, "-5   resolution: NONE\n+0   resolution: DNS\n"},
		{"a line comes", []Edit{{Start: at("  hosts"), End: at("  hosts"), Text: "  location: MESH_EXTERNAL\n"}}, "+0   location: MESH_EXTERNAL\n 6   hosts: [a]\n"},
		{"a line goes", []Edit{{Start: at("  resolution"), End: at("  hosts")}}, "-5   resolution: NONE\n 6   hosts: [a]\n"},
		{"two places", []Edit{{Start: at("v1"), End: at("v1") + 2, Text: "v1beta1"}, {Start: at("[a]"), End: at("[a]") + 3, Text: "[b]"}},
			"-1 apiVersion: networking.istio.io/v1\n+0 apiVersion: networking.istio.io/v1beta1\n 0 …\n-6   hosts: [a]\n+0   hosts: [b]\n"},
		{"outside", []Edit{{Start: 9000, End: 9001}}, "refused"},
	} {
		t.Run(c.name, func(t *testing.T) {
			lines, ok := diffOf(f, c.edits)
			var b strings.Builder
			for _, l := range lines {
				fmt.Fprintf(&b, "%s%d %s\n", l.Op, l.N, l.Text)
			}
			if !ok {
				b.WriteString("refused")
			}
			if diff := cmp.Diff(c.want, b.String()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestParts(t *testing.T) {
	for in, want := range map[string][]htmlPart{
		"":                 nil,
		"plain":            {{Text: "plain"}},
		"drop `tls`.":      {{"drop ", "tls"}, {Text: "."}},
		"`a` and `b`":      {{"", "a"}, {" and ", "b"}},
		"one ` is no code": {{Text: "one ` is no code"}},
		"``":               {{Text: "``"}},
	} {
		if diff := cmp.Diff(want, parts(in)); diff != "" {
			t.Errorf("%q: %s", in, diff)
		}
	}
}

// A finding whose object is at no node belongs to the host that it names, in its own mesh.
func TestHTMLMapOfMeshes(t *testing.T) {
	host := []egress.Host{{Name: "a.example", Namespaces: []string{"*"}, Ports: []egress.Port{{Number: 443}}}}
	m := &egress.Map{Scopes: []egress.Scope{{Name: "prod", Hosts: host}, {Name: "staging", Hosts: host}}}
	f := lint.Finding{Rule: notDNS, Severity: lint.Warning, Message: "m", Subject: lint.Subject{Hosts: []string{"a.example"}}, Location: object.Location{File: "staging/a.yaml"}}
	r := &lint.Report{Findings: []lint.Finding{f}, Scopes: []lint.Scope{{Name: "prod", Files: []string{"prod/a.yaml"}}, {Name: "staging", Files: []string{"staging/a.yaml"}}}}
	_, doc := htmlPageOf(t, Options{Egress: func() (*egress.Map, error) { return m, nil }}, r)
	var data mapData
	if err := json.Unmarshal([]byte(textOf(byID(t, doc, "data"))), &data); err != nil {
		t.Fatal(err)
	}
	if len(data.Hosts) != 2 || len(data.Hosts[0].Findings) != 0 || len(data.Hosts[1].Findings) != 1 {
		t.Errorf("the finding is at %+v", data.Hosts)
	}
}

// Of an object that something renders, the page shows what comes out where the source does not hold it.
func TestHTMLRendered(t *testing.T) {
	source := load(t, "chart/templates/a.yaml", "apiVersion: networking.istio.io/v1\nkind: ServiceEntry\nmetadata: {name: a}\nspec:\n  resolution: DNS\n")
	out := load(t, "rendered", "apiVersion: networking.istio.io/v1\nkind: ServiceEntry\nmetadata: {name: a}\nspec:\n  hosts: [a]\n  resolution: NONE\n")
	f := finding(notDNS, out.Objects[0], "spec.resolution", "resolution is NONE")
	f.Rendered = &lint.Rendered{By: []string{"chart (values-prod.yaml)", "overlays/prod"}, File: out, At: f.Location}
	f.Location = source.Objects[0].Locate(nil)
	_, doc := htmlPageOf(t, Options{}, &lint.Report{Findings: []lint.Finding{f}, Sources: map[string]*object.File{source.Name: source}})
	text := outline(byID(t, doc, "list"))
	for _, want := range []string{
		"  resolution: [NONE]\n", "chart/templates/a.yaml:",
		"Rendered\nby chart (values-prod.yaml), overlays/prod; the lines are what comes out, which chart/templates/a.yaml does not hold\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
}

// TestEgressIsAskedFor: the map costs about what the run does, so html asks for it once, and no other format at all.
func TestEgressIsAskedFor(t *testing.T) {
	for _, name := range Names() {
		asked := 0
		write(t, name, Options{Egress: func() (*egress.Map, error) {
			asked++
			return egressOf(t)()
		}}, fixture(t))
		want := 0
		if name == "html" {
			want = 1
		}
		if asked != want {
			t.Errorf("%s asks for the map %d times, want %d", name, asked, want)
		}
	}
}
