package report

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/meshvet/meshvet/lint"
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

func FuzzText(f *testing.F) {
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
		checkLines(t, string(write(t, "text", Options{}, r)), 0)
		checkLines(t, string(write(t, "text", Options{NoExcerpt: true}, r)), 0)
		checkLines(t, colours.ReplaceAllString(string(write(t, "text", Options{Color: true}, r)), ""), 0)
		checkLines(t, string(write(t, "compact", Options{}, r)), 0)
		checkLines(t, string(write(t, "github", Options{}, r)), len(r.Findings)+len(r.Problems))
		var notes bytes.Buffer
		if err := Notes(&notes, r, Options{Verbose: true}); err != nil {
			t.Fatal(err)
		}
		checkLines(t, notes.String(), 0)
		for _, format := range []string{"json", "sarif"} {
			out := write(t, format, Options{}, r)
			checkLines(t, string(out), 0)
			if !json.Valid(out) {
				t.Errorf("%s is not JSON: %q", format, out)
			}
		}
	})
}
