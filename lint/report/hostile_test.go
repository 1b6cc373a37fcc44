package report

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	stdhtml "html"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/egress"
	"github.com/meshvet/meshvet/lint/object"
)

func TestClean(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"plain", "port 443 of api.example", "port 443 of api.example"},
		{"letters of any script", "Größe 決済チーム שלום عربى", "Größe 決済チーム שלום عربى"},
		{"escape sequence", "a\x1b[31mred", "a�[31mred"},
		{"bell and nul", "a\a\x00b", "a��b"},
		{"delete", "a\x7fb", "a�b"},
		{"C1 as UTF-8", "a\u009b31m\u0085b", "a�31m�b"},
		{"invalid UTF-8", "a\x9bb\xff", "a�b�"},
		{"line ends and tabs", "a\r\nb\tc", "a  b c"},
		{"bidi embedding", "a\u202a\u202b\u202c\u202d\u202eb", "a�����b"},
		{"bidi isolates", "a\u2066\u2067\u2068\u2069b", "a����b"},
		{"bidi marks", "a\u200e\u200f\u061cb", "a���b"},
		{"separators", "a\u2028b\u2029c", "a�b�c"},
		{"byte-order mark and soft hyphen", "\ufeffa\u00adb\u200bc", "�a�b�c"},
		{"tag characters", "a\U000e0041b", "a�b"},
		{"joiners are letters", "می\u200cخواهم 👩\u200d🚀", "می\u200cخواهم 👩\u200d🚀"},
		{"comment", "## a heading [1]", "## a heading [1]"},
		{"old command", "x ##[error]y", "x #�[error]y"},
		{"Azure command", "##vso[task.setvariable variable=a]b", "#�vso[task.setvariable variable=a]b"},
		{"TeamCity command", "###teamcity[x]", "##�teamcity[x]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := clean(c.in); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

func TestCleanName(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"egress/a.yaml", "egress/a.yaml"},
		{"::error::x", "./::error::x"},
		{":", "./:"}, // a colon follows
		{" :add-mask", " :add-mask"},
		{" \t::error::x", "./  ::error::x"},
		{"\u3000\u00a0::add-mask::x", "./\u3000\u00a0::add-mask::x"},
		{"a\n::error::x", "a ::error::x"},
		{"##[group]", "#�[group]"},
	} {
		if got := cleanName(c.in); got != c.want {
			t.Errorf("%q: %q, want %q", c.in, got, c.want)
		}
	}
}

func TestEscapeJSON(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{`{"a": "plain <b> é 決"}`, `{"a": "plain <b> é 決"}`},
		{"\"\u202e\u009b\x7f\"", `"\u202e\u009b\u007f"`},
		{"\"a\U000e0041b\"", `"a\udb40\udc41b"`},
		{`"###vso[a] # #"`, `"#\u0023\u0023vso[a] # #"`},
		{"\"\u2066\"\n", "\"\\u2066\"\n"},
	} {
		got := string(escapeJSON([]byte(c.in)))
		if got != c.want {
			t.Errorf("%q: %q, want %q", c.in, got, c.want)
		}
		var before, after any
		if err := json.Unmarshal([]byte(c.in), &before); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(got), &after); err != nil {
			t.Fatal(err)
		}
		if b, a := mustJSON(t, before), mustJSON(t, after); b != a {
			t.Errorf("%q: means %s, want %s", c.in, a, b)
		}
	}
}

func mustJSON(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestWorkflowCommands(t *testing.T) {
	at := func(line, col, endLine, endCol int) object.Location {
		return object.Location{File: "a.yaml", Range: object.Range{Start: object.Pos{Line: line, Col: col}, End: object.Pos{Line: endLine, Col: endCol}}}
	}
	for _, c := range []struct {
		name string
		f    lint.Finding
		want string
	}{
		{"one line", lint.Finding{Severity: lint.Error, Message: "bad", Location: at(3, 5, 3, 9)},
			"::error file=a.yaml,line=3,endLine=3,col=5,endColumn=8,title=XX900 bare::bad\n"},
		{"several lines", lint.Finding{Severity: lint.Warning, Message: "bad", Location: at(3, 5, 7, 2)},
			"::warning file=a.yaml,line=3,endLine=7,title=XX900 bare::bad\n"},
		{"no width", lint.Finding{Severity: lint.Info, Message: "bad", Location: at(3, 5, 3, 5)},
			"::notice file=a.yaml,line=3,endLine=3,col=5,endColumn=5,title=XX900 bare::bad\n"},
		{"no position", lint.Finding{Severity: lint.Error, Message: "bad", Location: object.Location{File: "a.yaml"}},
			"::error file=a.yaml,title=XX900 bare::bad\n"},
		{"cluster", lint.Finding{Severity: lint.Error, Message: "bad", Object: object.Key{Kind: "ServiceEntry", Namespace: "ns", Name: "n"},
			Location: object.Location{File: "cluster:ns/n"}},
			"::error title=XX900 bare::ServiceEntry ns/n: bad\n"},
		{"effect", lint.Finding{Severity: lint.Error, Message: "100% bad", Effect: "two\nlines", Location: object.Location{File: "a"}},
			"::error file=a,title=XX900 bare::100%25 bad%0Aeffect: two lines\n"},
		{"hostile", lint.Finding{Severity: lint.Error, Message: "a\r\n::error::b\x1b[0m%0A", Location: object.Location{File: "x,line=1:2\n::stop-commands::y%.yaml"}},
			"::error file=x%2Cline=1%3A2 %3A%3Astop-commands%3A%3Ay%25.yaml,title=XX900 bare::a  ::error::b�[0m%250A\n"},
		{"remedy", lint.Finding{Rule: notDNS, Severity: lint.Error, Message: "bad", Effect: "it fails", Location: object.Location{File: "a"}},
			"::error file=a,title=SE101 resolution-not-dns::bad%0Aeffect: it fails%0Ahelp: Write resolution: DNS. More: meshvet explain SE101\n"},
		{"hostile fix", lint.Finding{Severity: lint.Error, Message: "bad", Location: object.Location{File: "a"}, Fixes: []lint.Fix{{
			Title: "write 5%\r\n::error::b", Ops: []lint.Op{{Kind: lint.Add, Path: object.Path{"x"}, Value: "\n::error::\x1b<c>%0A##[d]"}},
		}}},
			"::error file=a,title=XX900 bare::bad%0Ahelp: write 5%25  ::error::b: x: \"\\n::error::\\u001b<c>%250A#\ufffd[d]\" (suggestion; see meshvet explain XX900)\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.f.Rule == nil {
				c.f.Rule = &lint.Meta{ID: "XX900", Name: "bare"}
			}
			if got := string(write(t, "github", Options{}, &lint.Report{Findings: []lint.Finding{c.f}})); got != c.want {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}

func TestRepositoryPath(t *testing.T) {
	for _, c := range []struct {
		name      string
		opt       Options
		file      string
		want, uri string
		inside    bool
	}{
		{"as named", Options{}, "egress/a.yaml", "egress/a.yaml", "egress/a.yaml", true},
		{"tidied", Options{}, "./egress//a.yaml", "egress/a.yaml", "egress/a.yaml", true},
		{"above, root unknown", Options{}, "../a.yaml", "../a.yaml", "../a.yaml", false},
		{"absolute, root unknown", Options{}, "/tmp/a.yaml", "/tmp/a.yaml", "file:///tmp/a.yaml", false},
		{"from a sub-folder", Options{Root: "/src", Dir: "/src/deploy"}, "a.yaml", "deploy/a.yaml", "deploy/a.yaml", true},
		{"up and down", Options{Root: "/src", Dir: "/src/deploy"}, "../egress/a.yaml", "egress/a.yaml", "egress/a.yaml", true},
		{"outside", Options{Root: "/src", Dir: "/src/deploy"}, "../../a.yaml", "/a.yaml", "file:///a.yaml", false},
		{"absolute below the root", Options{Root: "/src/", Dir: "/src"}, "/src/a.yaml", "a.yaml", "a.yaml", true},
		{"a neighbour of the root", Options{Root: "/src", Dir: "/src"}, "/src2/a.yaml", "/src2/a.yaml", "file:///src2/a.yaml", false},
		{"root of everything", Options{Root: "/", Dir: "/src"}, "a.yaml", "src/a.yaml", "src/a.yaml", true},
		{"dir without root", Options{Dir: "/src"}, "a.yaml", "a.yaml", "a.yaml", true},
		{"blanks, letters, percent", Options{}, "my egress/é %41?#.yaml", "my egress/é %41?#.yaml", "my%20egress/%C3%A9%20%2541%3F%23.yaml", true},
		{"no scheme", Options{}, "javascript:alert(1)/a:b", "javascript:alert(1)/a:b", "javascript%3Aalert%281%29/a%3Ab", true},
		{"controls and bad bytes", Options{}, "a\x1b\n\xff.yaml", "a\x1b\n\xff.yaml", "a%1B%0A%FF.yaml", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, inside := c.opt.repositoryPath(c.file)
			if got != c.want || inside != c.inside {
				t.Errorf("%q, %t; want %q, %t", got, inside, c.want, c.inside)
			}
			if u := uri(got); u != c.uri {
				t.Errorf("URI %q, want %q", u, c.uri)
			}
		})
	}
}

// Input must not bring links or placeholders into a SARIF message, nor get out of the text of ours.
func TestSARIFMessage(t *testing.T) {
	related := func(messages ...string) []lint.Related {
		var out []lint.Related
		for _, m := range messages {
			out = append(out, lint.Related{Message: m})
		}
		return out
	}
	for _, c := range []struct {
		name string
		f    lint.Finding
		want string
	}{
		{"plain", lint.Finding{Message: "m", Effect: "it fails"}, "m. Effect: it fails."},
		{"remedy", lint.Finding{Rule: notDNS, Message: "m", Effect: "it fails", Related: related("set here")},
			"m. Effect: it fails. Help: Write resolution: DNS. See [set here](1)."},
		{"fix", lint.Finding{Rule: notDNS, Message: "m", Fixes: []lint.Fix{{Title: "write {0} [a](b)"}, {Title: "or this"}}}, "m. Help: write {{0}} [a] (b)."},
		{"links", lint.Finding{Message: "m", Related: related("set here", "read here")}, "m. See [set here](1), [read here](2)."},
		{"empty link", lint.Finding{Message: "m", Related: related(" ")}, "m. See [place 1](1)."},
		{"placeholders", lint.Finding{Message: "pool {} and {0}"}, "pool {{}} and {{0}}."},
		{"link in the input", lint.Finding{Message: "host [click](https://evil.example)"}, "host [click] (https://evil.example)."},
		{"brackets in a link", lint.Finding{Message: "spec.ports[0]", Related: related(`ports[0] \ {x}](9)`)},
			`spec.ports[0]. See [ports\[0\] \\ {{x}}\](9)](1).`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.f.Rule == nil {
				c.f.Rule = &lint.Meta{ID: "XX900", Name: "bare"}
			}
			if got := *messageOf(&c.f, "", c.f.Related).Text; got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

// hostile is text that acts in one format or another if it is let through: on terminals, runners, parsers and pages.
const hostile = "<script>alert(1)</script></script>::add-mask::x\x1b[31m\x1b]0;t\a\u202egpj\u2066\r\n::error::y\n##vso[task.setvariable variable=a]b ##[group]c " +
	"`a`` | b` || \\| @org/team @everyone user@evil.example #12 GH-12 gh-7 org/repo#1 !3 $4 &5 ~bug ~\"a b\" %0A%0D%9 ^alert#1 *iteration:2 [vulnerability:6] " +
	"https://evil.example/?a=b ftp://evil.example www.evil.example WWW.evil.example [click](javascript:alert(1)) ![i](http://evil.example/i.png) <http://evil.example> " +
	"[ref]: http://evil.example <!-- --> <details> </details></td></table> <img src=x onerror=alert(1)> &lt;b&gt; &#64;org :octocat: :+1: $x$ $`y`$ " +
	"*b* **b** _i_ __b__ ~~s~~ a_b_c - [ ] 1. ]]> <![CDATA[ <?x?> &amp; \" ' \uffff\ufffe\x00\xff\u2028\U000e0041 \\"

// hostileReport has hostile text wherever text of the input gets.
func hostileReport(t testing.TB) *lint.Report {
	t.Helper()
	const name = hostile + "/a.yaml"
	file := load(t, name, "apiVersion: networking.istio.io/v1\nkind: ServiceEntry\nmetadata:\n  name: a # "+strings.NewReplacer("\n", " ", "\r", " ", "\x00", "", "\xff", "").Replace(hostile)+"\n")
	place := func(name string, line int) object.Location {
		l := object.Location{File: name, Exact: true}
		if line > 0 {
			l.Range = object.Range{Start: object.Pos{Line: line, Col: 5}, End: object.Pos{Line: line, Col: 9}}
		}
		return l
	}
	key := object.Key{Kind: object.Kind(hostile), Namespace: hostile, Name: hostile}
	meta := &lint.Meta{
		ID: "XX900", Name: hostile, Title: hostile, Summary: hostile, Why: hostile, Remedy: hostile,
		Category: lint.Category(hostile), Severity: lint.Error, References: []string{hostile}, Lang: "rego",
	}
	oddID := *meta
	oddID.ID = hostile // of a rule that somebody else wrote
	find := func(m *lint.Meta, s lint.Severity, at object.Location) lint.Finding {
		return lint.Finding{
			Rule: m, Severity: s, Message: hostile, Effect: hostile, Object: key, Path: object.Path{hostile, 0, hostile}, Location: at, Caused: true,
			Related: []lint.Related{{Message: hostile, Object: key, Path: object.Path{hostile}, Location: place(hostile, 3)}, {Message: hostile}},
		}
	}
	fixed := find(meta, lint.Warning, place(name, 4))
	fixed.Fixes = []lint.Fix{
		{Title: hostile, Safety: lint.Safe, Ops: []lint.Op{{Kind: lint.Add, Path: object.Path{hostile}, Value: map[string]any{hostile: []any{hostile}}}}},
		{Title: hostile, Safety: lint.Unsafe, Create: &lint.Create{Object: map[string]any{hostile: hostile}, AfterFile: name}},
	}
	fixed.Rendered = &lint.Rendered{By: []string{hostile, hostile}, File: file, At: place(name, 4)}
	fileOnly := find(&oddID, lint.Error, place("::stop-commands::x", 1))
	fileOnly.Object, fileOnly.Path = object.Key{}, nil
	r := &lint.Report{
		Rules:    []*lint.Meta{meta, &oddID},
		Sources:  map[string]*object.File{name: file},
		Findings: []lint.Finding{find(meta, lint.Error, place(name, 4)), fixed, find(meta, lint.Info, place("cluster:"+hostile, 0)), fileOnly},
		Problems: []object.Problem{
			{Kind: object.Syntax, Message: hostile, Location: place(name, 2)},
			{Kind: object.ProblemKind(hostile), Message: hostile},
			{Kind: object.Syntax, Message: hostile, Location: fileOnly.Location}, // which the finding tells
		},
		Skipped: []lint.Skip{{File: name, Reason: hostile}, {Rule: hostile, Object: key, Reason: hostile}},
		Scopes:  []lint.Scope{{Name: hostile, Files: []string{name}}},
		Since:   &lint.Since{Revision: hostile, Commit: hostile, Known: 1},
	}
	r.Suppressed = []lint.SuppressedFinding{{
		Finding:     find(meta, lint.Warning, place(name, 1)),
		Suppression: lint.Suppression{Reason: hostile, Until: hostile, Where: place(name, 1)},
	}}
	return r
}

// hostileEgress is a map with hostile text in every place.
func hostileEgress() (*egress.Map, error) {
	const h = hostile
	at := object.Location{File: h, Range: object.Range{Start: object.Pos{Line: 1, Col: 1}, End: object.Pos{Line: 1, Col: 2}}}
	ref := egress.Ref{Key: object.Key{Kind: object.Kind(h), Namespace: h, Name: h}, At: at}
	hop := egress.Hop{
		Proxy: h, Cluster: h, Subset: h, Type: h, TLS: h, Rules: []egress.Ref{ref}, Routes: []egress.Ref{ref}, Facts: []string{h}, Caveats: []string{h},
		Fields: []egress.Field{{Name: h, Value: h, Source: h, At: at, Envoy: h}, {Name: h, Value: h, Source: h, Inert: true}},
	}
	view := egress.View{Clients: []string{h, "*"}, Hops: []egress.Hop{hop, hop}}
	host := egress.Host{Name: h, Entries: []egress.Ref{ref}, Namespaces: []string{h, "*"}, Notes: []string{h}, Ports: []egress.Port{
		{Number: 443, Protocol: h, Name: h, Views: []egress.View{view, {Clients: []string{h}, Note: h}}},
	}}
	return &egress.Map{LeftOut: 1, Scopes: []egress.Scope{
		{Name: h, Hosts: []egress.Host{host}, Notes: []string{h}, Unreached: []egress.Rule{{Ref: ref, Host: h}}}, {Name: "b", Hosts: []egress.Host{host}},
	}}, nil
}

// hostileChecks says for each format that a report is safe to show and to parse, whatever is in it.
var hostileChecks = map[string]func(t *testing.T, out []byte, r *lint.Report){
	"text": checkHostileLines, "compact": checkHostileLines, "json": checkHostileJSON, "sarif": checkHostileJSON,
	"junit": checkHostileXML, "github": checkHostileGitHub, "gitlab": checkHostileGitLab, "checkstyle": checkHostileXML,
	"markdown": checkHostileMarkdown, "html": checkHostileHTML,
}

func checkHostileLines(t *testing.T, out []byte, _ *lint.Report) {
	t.Helper()
	checkLines(t, string(out), 0)
}

func checkHostileGitHub(t *testing.T, out []byte, r *lint.Report) {
	t.Helper()
	commands := len(r.Findings)
	told := (&view{Report: r}).told()
	for _, p := range r.Problems {
		if !told[spotOf(p.Location)] {
			commands++
		}
	}
	checkLines(t, string(out), commands)
}

func checkHostileGitLab(t *testing.T, out []byte, r *lint.Report) {
	t.Helper()
	checkHostileJSON(t, out, r)
	for _, x := range codeQuality(t, out) { // of which pages are made
		for _, s := range []string{x.Description, x.CheckName, x.Location.Path} {
			if s != clean(s) {
				t.Errorf("%q acts", s)
			}
		}
	}
}

func checkHostileMarkdown(t *testing.T, out []byte, _ *lint.Report) {
	t.Helper()
	checkLines(t, string(out), 0)
	for _, line := range strings.Split(string(out), "\n") {
		if !ownMarkdown.MatchString(line) {
			t.Errorf("a line that begins with text of the input, or with markup of it: %q", line)
		}
	}
}

// ownMarkdown is how lines of a report in Markdown begin.
var ownMarkdown = regexp.MustCompile(`^($|## meshvet$|Result: |\d+ of these |\*\*The run is not complete|- (<code>|problem: |and \d|\*\*|There is no room)|### (Errors|Warnings|Info) |` +
	`\| |</?details>$|<summary>.*</summary>$|  - (effect|see|cause|help)|\d+ findings? )`)

func checkHostileJSON(t *testing.T, out []byte, _ *lint.Report) {
	t.Helper()
	checkLines(t, string(out), 0)
	if !json.Valid(out) {
		t.Errorf("it is not JSON: %q", out)
	}
}

// checkHostileXML fails unless a report is XML with the elements and attributes of JUnit or Checkstyle alone.
func checkHostileXML(t *testing.T, out []byte, _ *lint.Report) {
	t.Helper()
	checkLines(t, string(out), 0)
	own := map[string]bool{}
	for _, name := range strings.Fields("testsuites testsuite testcase failure error skipped system-out name tests failures errors classname type message " +
		"checkstyle file version line column severity source") {
		own[name] = true
	}
	d := xml.NewDecoder(bytes.NewReader(out))
	for {
		tok, err := d.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatalf("%v in %q", err, out)
		}
		switch tok := tok.(type) {
		case xml.StartElement:
			for _, a := range append(tok.Attr, xml.Attr{Name: tok.Name}) {
				if !own[a.Name.Local] || a.Name.Space != "" {
					t.Errorf("%s is none of the format", a.Name.Local)
				}
			}
		case xml.EndElement, xml.CharData:
		case xml.ProcInst:
			if tok.Target != "xml" {
				t.Errorf("an instruction %s", tok.Target)
			}
		default:
			t.Errorf("%T %v", tok, tok)
		}
	}
}

// TestHostile takes one report through every format. A new format needs a check here, and tools of its own in a test beside this one.
func TestHostile(t *testing.T) {
	r := hostileReport(t)
	before := mustJSON(t, r.Findings)
	for _, name := range Names() {
		t.Run(name, func(t *testing.T) {
			check := hostileChecks[name]
			if check == nil {
				t.Fatal("nothing in hostileChecks says that this format is safe")
			}
			for _, opt := range []Options{{}, {DocsURL: "https://meshvet.example", Root: "/src", Dir: "/src/deploy", Version: hostile, Edits: edits, Egress: hostileEgress}} {
				out := write(t, name, opt, r)
				check(t, out, r)
				if len(out) < len(r.Findings)*100 {
					t.Errorf("the findings are not there: %q", out)
				}
				check(t, write(t, name, opt, &lint.Report{Findings: r.Findings[:1]}), &lint.Report{Findings: r.Findings[:1]})
			}
		})
	}
	for name := range hostileChecks {
		if !slices.Contains(Names(), name) {
			t.Errorf("%s is no format", name)
		}
	}
	if mustJSON(t, r.Findings) != before {
		t.Error("the report itself was changed")
	}
}

// The same report with the real tools: xmllint, and GitHub's renderer.
func TestHostileConsumers(t *testing.T) {
	const docs = "https://meshvet.example"
	r := hostileReport(t)
	for _, format := range []string{"junit", "checkstyle"} {
		if said := xmllint(t, format, write(t, format, Options{DocsURL: docs}, r)); said != "" {
			t.Errorf("%s: %s", format, said)
		}
	}
	p := gitHub(t, write(t, "markdown", Options{DocsURL: docs, Edits: edits}, r))
	checkPage(t, p, docs)
	want := strings.Join(strings.Fields(strings.NewReplacer("\uffff", "\ufffd", "\ufffe", "\ufffd").Replace(clean(hostile))), " ")
	shown := 0
	for _, x := range p.texts {
		if strings.HasSuffix(x.in, " td") && strings.Join(strings.Fields(strings.ReplaceAll(x.text, "\u200b", "")), " ") == want {
			shown++
		}
	}
	if shown != len(r.Findings)-1 { // of the object of a cluster, the name is before the message
		t.Errorf("%d messages are shown as they are, want %d", shown, len(r.Findings)-1)
	}
}

// What Markdown shows is what there was, and none of it is markup.
func FuzzMarkdownText(f *testing.F) {
	f.Add("plain text, max_connections 50 of outbound|443||a.example")
	f.Add(hostile)
	f.Add("@a@b##1 gh-gh-1 www.www. :a:b: ::: _a_b_ a_ _ \\_")
	f.Fuzz(func(t *testing.T, s string) {
		for _, out := range []string{markdownText(s), strings.TrimSuffix(strings.TrimPrefix(markdownCode(s), "<code>"), "</code>")} {
			if strings.ContainsAny(out, "\\`*<>[]|~$\n") {
				t.Errorf("markup in %q", out)
			}
			shown := stdhtml.UnescapeString(out)
			if got, want := strings.ReplaceAll(shown, "\u200b", ""), clean(s); got != want {
				t.Errorf("%q shows %q, want %q", out, got, want)
			}
		}
		if m := references.FindString(stdhtml.UnescapeString(markdownText(s))); m != "" {
			t.Errorf("%q is a reference in %q", m, markdownText(s))
		}
	})
}

func TestMarkdownText(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"port 443 of api.example, max_connections 50 (1.5s) at a.yaml:27:7", "port 443 of api.example, max_connections 50 (1.5s) at a.yaml:27:7"},
		{"outbound|443||*.example", "outbound&#124;443&#124;&#124;&#42;.example"},
		{"spec.ports[0]", "spec.ports&#91;0&#93;"},
		{"_a_ __b__", "&#95;a&#95; &#95;&#95;b&#95;&#95;"},
		{"`<b>` & c", "&#96;&#60;b&#62;&#96; &#38; c"},
		{"@org/team, a@b.example", "@&#8203;org/team, a@&#8203;b.example"},
		{"#12 org/repo#1 GH-12 # a", "#&#8203;12 org/repo#&#8203;1 GH-&#8203;12 # a"},
		{"!1 $2 &3 ~a %b 100% 5!", "!&#8203;1 &#36;&#8203;2 &#38;&#8203;3 &#126;&#8203;a %&#8203;b 100% 5!"},
		{"https://a.example www.a.example", "https:&#8203;//a.example www&#8203;.a.example"},
		{":octocat: :+1: a:b:c 1:27:7", ":&#8203;octocat: :+1: a:&#8203;b:c 1:27:7"},
		{"[vulnerability:1] *iteration:1", "&#91;&#8203;vulnerability:1&#93; &#42;&#8203;iteration:1"},
		{"a\r\nb\u202ec", "a  b\ufffdc"},
		{"決@決", "決@&#8203;決"},
	} {
		if got := markdownText(c.in); got != c.want {
			t.Errorf("%q: %q, want %q", c.in, got, c.want)
		}
	}
}

var colours = regexp.MustCompile(`\x1b\[[0-9;]*m`)

// checkLines fails if output for a terminal or log does anything but show lines, or gives a runner a command.
func checkLines(t *testing.T, out string, commands int) {
	t.Helper()
	lines := strings.Split(out, "\n")
	for _, line := range lines {
		for _, r := range line {
			if acts(r) || unicode.IsControl(r) {
				t.Errorf("%U reaches the output: %q", r, line)
			}
		}
		if strings.HasPrefix(strings.TrimSpace(line), "::") {
			commands--
		}
		if azure.MatchString(line) {
			t.Errorf("a logging command reaches the output: %q", line)
		}
	}
	if commands != 0 {
		t.Errorf("%d workflow commands fewer than there should be:\n%s", commands, out)
	}
}

var azure = regexp.MustCompile(`##\pL*\[`)

func FuzzFormats(f *testing.F) {
	f.Add("egress/a.yaml", "resolution NONE", "Envoy connects to what the client dialled", "comment", 9, 3, 12, "spec.resolution", true)
	f.Add("::error::x", "a\x1b[31m", "::error::b ::error::c\n::d", "\u202e\x00\t決 ##vso[task]", 5, 1, 40, "a.b[0]", false)
	f.Add(" :", "0", "0", "0", 20, 74, 0, "0", true)
	f.Add(" \u3000::x\n", "##[error]", strings.Repeat("word ", 60)+"::warning::x", strings.Repeat("決\t", 90), 5, 50, 60, "##[x", true)
	f.Fuzz(func(t *testing.T, name, message, effect, comment string, line, col, endCol int, path string, exact bool) {
		file := load(t, name, "apiVersion: networking.istio.io/v1\nkind: ServiceEntry\nmetadata:\n  name: a\n# "+comment+"\n")
		loc := object.Location{File: name, Exact: exact, Range: object.Range{Start: object.Pos{Line: line, Col: col}, End: object.Pos{Line: line, Col: endCol}}}
		fnd := lint.Finding{
			Rule: &lint.Meta{ID: "XX900", Name: message, Remedy: effect}, Severity: lint.Warning, Message: message, Effect: effect,
			Object: object.Key{Kind: object.ServiceEntry, Namespace: name, Name: effect},
			Path:   object.Path{path}, Location: loc,
			Related: []lint.Related{{Message: message, Location: loc}, {Message: effect, Location: object.Location{File: name}}},
		}
		fixed := fnd
		op := lint.Op{Kind: lint.Add, Path: object.Path{"spec", path}, Value: map[string]any{comment: []any{effect, line}}}
		fixed.Fixes = []lint.Fix{{Title: message + effect, Safety: lint.Safe, Ops: []lint.Op{op}}}
		r := &lint.Report{
			Findings: []lint.Finding{fnd, fixed},
			Problems: append(file.Problems, object.Problem{Kind: object.Syntax, Message: message, Location: loc}),
			Skipped:  []lint.Skip{{File: name, Reason: message}, {Rule: path, Reason: effect}},
			Scopes:   []lint.Scope{{Name: name, Files: []string{name}}},
			Sources:  map[string]*object.File{name: file},
		}
		for _, name := range Names() {
			hostileChecks[name](t, write(t, name, Options{}, r), r)
		}
		checkLines(t, string(write(t, "text", Options{NoExcerpt: true}, r)), 0)
		checkLines(t, colours.ReplaceAllString(string(write(t, "text", Options{Color: true}, r)), ""), 0)
		var notes bytes.Buffer
		if err := Notes(&notes, r, Options{Verbose: true}); err != nil {
			t.Fatal(err)
		}
		checkLines(t, notes.String(), 0)
	})
}
