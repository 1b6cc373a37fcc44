package report

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/haya14busa/go-checkstyle/checkstyle"
	"github.com/joshdk/go-junit"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/object"
)

// schemaFiles are official schemas; testdata/schemas/README.md says where they are from.
var schemaFiles = map[string]string{
	"junit":      filepath.Join("testdata", "schemas", "junit-10.xsd"),
	"checkstyle": filepath.Join("testdata", "schemas", "checkstyle-report-1.0.0.xsd"),
	"gitlab":     filepath.Join("testdata", "schemas", "codeclimate.json"),
}

// tool is the path of a program that .ci/packages installs.
func tool(t testing.TB, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("%v; .ci/packages installs it", err)
	}
	return path
}

// xmllint returns what the real xmllint says against a report, "" if it is valid.
func xmllint(t *testing.T, format string, doc []byte) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), tool(t, "xmllint"), "--noout", "--nonet", "--schema", schemaFiles[format], "-") //nolint:gosec // a tool of the tests
	cmd.Stdin = bytes.NewReader(doc)
	said, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if err == nil {
		return ""
	}
	return string(said)
}

func TestXMLMeetsOfficialSchemas(t *testing.T) {
	for _, g := range goldens {
		if g.format == "junit" || g.format == "checkstyle" {
			t.Run(g.name, func(t *testing.T) {
				if said := xmllint(t, g.format, write(t, g.format, g.opt, g.report(t))); said != "" {
					t.Error(said)
				}
			})
		}
	}
	// A report that is not as the schema says must not pass, or passing means nothing.
	for _, c := range []struct{ format, old, new string }{
		{"junit", `name="meshvet" tests=`, `name="meshvet" test=`},
		{"junit", `classname=`, `file=`},
		{"junit", "<skipped", "<passed"},
		{"checkstyle", `severity="error"`, `severity="note"`},
		{"checkstyle", `line="6"`, `line="0"`},
	} {
		t.Run(c.format+" refuses "+c.new, func(t *testing.T) {
			good := string(write(t, c.format, Options{}, fixture(t)))
			bad := strings.Replace(good, c.old, c.new, 1)
			if bad == good {
				t.Fatalf("the report has no %s", c.old)
			}
			if xmllint(t, c.format, []byte(bad)) == "" {
				t.Errorf("passes with %s instead of %s", c.new, c.old)
			}
		})
	}
}

// What a reader of JUnit's XML counts is what the run found, and nothing is named alike: GitLab keeps one test of each name.
func TestJUnitIsRead(t *testing.T) {
	for _, c := range []struct {
		name                             string
		r                                *lint.Report
		failOn                           lint.Severity
		passed, failed, skipped, errored int
	}{
		{"nothing", empty(t), lint.Off, 1, 0, 0, 0},
		{"everything", fixture(t), lint.Off, 0, 8, 1, 4},
		{"fail on errors", fixture(t), lint.Error, 0, 1, 8, 4},
		{"fail on all", fixture(t), lint.Info, 0, 9, 0, 4},
		{"suppressed", suppressed(t), lint.Info, 1, 1, 4, 0},
		{"known", baselined(t), lint.Off, 1, 0, 5, 0},
		{"alike", manyFindings(t, 3), lint.Off, 1, 3, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			suites, err := junit.Ingest(write(t, "junit", Options{FailOn: c.failOn}, c.r))
			if err != nil {
				t.Fatal(err)
			}
			var got junit.Totals
			names := map[string]bool{}
			for _, s := range suites {
				got.Passed += s.Totals.Passed
				got.Failed += s.Totals.Failed
				got.Skipped += s.Totals.Skipped
				got.Error += s.Totals.Error
				for _, x := range s.Tests {
					name := s.Name + "\n" + x.Classname + "\n" + x.Name
					if names[name] {
						t.Errorf("two tests are called %q", name)
					}
					names[name] = true
					if x.Classname == "" || x.Name == "" {
						t.Errorf("a test without a name: %+v", x)
					}
				}
			}
			if want := (junit.Totals{Passed: c.passed, Failed: c.failed, Skipped: c.skipped, Error: c.errored}); got != want {
				t.Errorf("%+v, want %+v", got, want)
			}
		})
	}
}

// GitLab shows the text of a failure and not its message, so the text has to say all.
func TestJUnitTextSaysAll(t *testing.T) {
	suites, err := junit.Ingest(write(t, "junit", Options{DocsURL: "https://meshvet.example"}, fixture(t)))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range suites {
		for _, x := range s.Tests {
			if x.Name != "DR202 port-level-resets: DestinationRule shop/payments, field spec.trafficPolicy.portLevelSettings[0].connectionPool" {
				continue
			}
			const want = `egress/payments.yaml:27:7: warning: port 443 loses connectionPool.tcp.maxConnections 50 [DR202 port-level-resets]
in DestinationRule shop/payments, field spec.trafficPolicy.portLevelSettings[0].connectionPool
effect: max_connections of the cluster outbound|443||api.payments.example is 4294967295
egress/payments.yaml:25:25: the destination-level pool [tcp] is set here
egress/payments.yaml:10:13: port 443 of the host
help: Repeat in the entry what shall hold on the port. More: meshvet explain DR202
page: https://meshvet.example/DR202.md`
			var failure junit.Error
			if !errors.As(x.Error, &failure) || failure.Body != want || failure.Type != "warning" {
				t.Errorf("%+v, want %s", failure, want)
			}
			return
		}
	}
	t.Error("the test is not there")
}

// The parser is that of reviewdog.
func TestCheckstyleIsRead(t *testing.T) {
	var got checkstyle.Result
	if err := xml.Unmarshal(write(t, "checkstyle", Options{Root: "/src", Dir: "/src/deploy"}, fixture(t)), &got); err != nil {
		t.Fatal(err)
	}
	files, errs := map[string]bool{}, 0
	for _, f := range got.Files {
		if files[f.Name] {
			t.Errorf("%s is there twice", f.Name)
		}
		files[f.Name] = true
		errs += len(f.Errors)
		if f.Name != "deploy/egress/payments.yaml" {
			continue
		}
		want := checkstyle.Error{Line: 27, Column: 7, Severity: "warning", Source: "meshvet.traffic-policy.DR202", Message: "port-level-resets: " +
			"port 443 loses connectionPool.tcp.maxConnections 50. Effect: max_connections of the cluster outbound|443||api.payments.example " +
			"is 4294967295. Help: Repeat in the entry what shall hold on the port."}
		if e := f.Errors[2]; *e != want {
			t.Errorf("%+v, want %+v", *e, want)
		}
	}
	if errs != 12 { // 10 findings, of which one tells a problem, and the 2 other problems
		t.Errorf("%d errors", errs)
	}
}

// codeQuality reads a report as GitLab does, which stops at the first issue that is not as its schema says and keeps one of each fingerprint.
func codeQuality(t *testing.T, doc []byte) []codeQualityIssue {
	t.Helper()
	schema, err := jsonschema.NewCompiler().Compile(schemaFiles["gitlab"])
	if err != nil {
		t.Fatal(err)
	}
	var issues []codeQualityIssue
	if err := json.Unmarshal(doc, &issues); err != nil {
		t.Fatal(err)
	}
	list, isList := decode(t, doc).([]any)
	if !isList || issues == nil {
		t.Fatalf("no list:\n%s", doc)
	}
	for i, x := range list {
		if err := schema.Validate(x); err != nil {
			t.Errorf("issue %d: %v", i, err)
		}
	}
	severities := map[string]bool{"info": true, "minor": true, "major": true, "critical": true, "blocker": true}
	seen := map[string]bool{}
	for i, x := range issues {
		if x.Description == "" || x.CheckName == "" || x.Fingerprint == "" || !severities[x.Severity] {
			t.Errorf("issue %d: %+v", i, x)
		}
		if p := x.Location.Path; p == "" || strings.HasPrefix(p, "./") || x.Location.Lines.Begin < 1 {
			t.Errorf("issue %d is at %+v", i, x.Location)
		}
		if seen[x.Fingerprint] {
			t.Errorf("fingerprint %s is there twice", x.Fingerprint)
		}
		seen[x.Fingerprint] = true
	}
	return issues
}

func TestGitLabMeetsItsSchema(t *testing.T) {
	for _, g := range goldens {
		if g.format == "gitlab" {
			t.Run(g.name, func(t *testing.T) { codeQuality(t, write(t, g.format, g.opt, g.report(t))) })
		}
	}
	t.Run("alike", func(t *testing.T) {
		if n := len(codeQuality(t, write(t, "gitlab", Options{}, manyFindings(t, 5)))); n != 5 {
			t.Errorf("%d issues", n)
		}
	})
}

// GitLab tells by the fingerprints what a merge request brings in.
func TestGitLabFingerprintsStay(t *testing.T) {
	prints := func(r *lint.Report) []string {
		var out []string
		for _, x := range codeQuality(t, write(t, "gitlab", Options{}, r)) {
			out = append(out, x.Fingerprint)
		}
		return out
	}
	before := prints(fixture(t))
	r := fixture(t)
	for i := range r.Findings {
		if at := &r.Findings[i].Location.Range.Start; at.IsValid() {
			at.Line += 7
		}
	}
	for i := range r.Problems {
		r.Problems[i].Location.Range.Start.Line += 7
	}
	if after := prints(r); strings.Join(before, " ") != strings.Join(after, " ") {
		t.Errorf("they change with the lines: %v, %v", before, after)
	}
	r.Findings = r.Findings[1:]
	r.Problems = r.Problems[1:]
	if after := prints(r); strings.Join(before[1:], " ") != strings.Join(after, " ") {
		t.Errorf("they change with other findings: %v, %v", before[1:], after)
	}
}

// renderedText is a piece of text of a rendered page, and the elements that it is in.
type renderedText struct {
	in   string // such as "td code"
	text string
}

// page is what GitHub's renderer makes of a report in Markdown.
type page struct {
	elements map[string]int
	links    []string
	texts    []renderedText
}

// gitHub renders Markdown with GitHub's own renderer and all of its extensions, but without the cleaning that GitHub does afterwards, so that
// HTML that came in by the input would be seen. It fails if attributes other than those of links are there.
func gitHub(t *testing.T, markdown []byte) page {
	t.Helper()
	args := []string{"--unsafe"}
	for _, x := range []string{"table", "autolink", "strikethrough", "tasklist", "footnotes"} {
		args = append(args, "-e", x)
	}
	cmd := exec.CommandContext(t.Context(), tool(t, "cmark-gfm"), args...) //nolint:gosec // a tool of the tests
	cmd.Stdin = bytes.NewReader(markdown)
	html, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	p := page{elements: map[string]int{}}
	for _, allowed := range []string{"\ufffe", "\uffff"} { // in HTML, and not in XML
		html = bytes.ReplaceAll(html, []byte(allowed), []byte("\ufffd"))
	}
	d := xml.NewDecoder(bytes.NewReader(html))
	d.Strict = false
	d.AutoClose = xml.HTMLAutoClose
	d.Entity = xml.HTMLEntity
	var path []string
	for {
		tok, err := d.RawToken()
		if errors.Is(err, io.EOF) {
			return p
		}
		if err != nil {
			t.Fatal(err)
		}
		switch tok := tok.(type) {
		case xml.StartElement:
			name := tok.Name.Local
			p.elements[name]++
			path = append(path, name)
			for _, a := range tok.Attr {
				if name == "a" && a.Name.Local == "href" {
					p.links = append(p.links, a.Value)
				} else {
					t.Errorf("<%s %s=%q>", name, a.Name.Local, a.Value)
				}
			}
		case xml.EndElement:
			if len(path) == 0 || path[len(path)-1] != tok.Name.Local {
				t.Fatalf("</%s> closes %v", tok.Name.Local, path)
			}
			path = path[:len(path)-1]
		case xml.CharData:
			p.texts = append(p.texts, renderedText{strings.Join(path, " "), string(tok)})
		default:
			t.Errorf("%T %v", tok, tok)
		}
	}
}

// references are what GitHub and GitLab make links, notifications or images of in text that is rendered already.
var references = regexp.MustCompile(`(?i)@[a-z0-9"]|#[0-9]|\bgh-[0-9]|[!$&][0-9]|[~%][a-z0-9"]|\^alert#|\*iteration:|\[[a-z_]+:|` +
	`[a-z][a-z0-9+.-]*://|www\.|[^\s@]+@[a-z0-9-]+\.|:[0-9+-]*[a-z_][a-z0-9_+-]*:`)

// checkPage fails unless the page has nothing but what meshvet itself puts there.
func checkPage(t *testing.T, p page, docs string) {
	t.Helper()
	own := map[string]bool{}
	for _, name := range strings.Fields("h2 h3 p strong a code table thead tbody tr th td details summary ul li") {
		own[name] = true
	}
	for name := range p.elements {
		if !own[name] {
			t.Errorf("an element %s", name)
		}
	}
	for _, l := range p.links {
		if docs == "" || !strings.HasPrefix(l, docs+"/") {
			t.Errorf("a link to %s", l)
		}
	}
	for _, x := range p.texts {
		if strings.Contains(x.in, "code") { // where nobody looks for references, but for the colons of a place
			if strings.Contains(x.text, "://") || strings.Contains(x.text, "www.") {
				t.Errorf("an address in %s: %q", x.in, x.text)
			}
			continue
		}
		if m := references.FindString(x.text); m != "" {
			t.Errorf("%q would be a reference in %s: %q", m, x.in, x.text)
		}
	}
}

func TestMarkdownOnGitHub(t *testing.T) {
	const docs = "https://meshvet.example"
	for _, g := range goldens {
		if g.format != "markdown" {
			continue
		}
		t.Run(g.name, func(t *testing.T) {
			g.opt.DocsURL = docs
			r := g.report(t)
			p := gitHub(t, write(t, g.format, g.opt, r))
			checkPage(t, p, docs)
			shown, tables := 0, map[lint.Severity]bool{}
			for i := range r.Findings {
				if s := r.Findings[i].Severity; s >= g.opt.MinSeverity {
					shown++
					tables[s] = true
				}
			}
			if p.elements["table"] != len(tables) || p.elements["details"] != len(tables) || p.elements["tr"] != shown+len(tables) || p.elements["td"] != 3*shown {
				t.Errorf("%d findings of %d severities: %v", shown, len(tables), p.elements)
			}
			if len(p.links) != 2*shown {
				t.Errorf("%d links for %d findings", len(p.links), shown)
			}
		})
	}
}

// A comment that is too long would be refused as a whole.
func TestMarkdownBound(t *testing.T) {
	long := func(n int) *lint.Report {
		r := &lint.Report{}
		for i := range n {
			f := lint.Finding{
				Rule: notDNS, Severity: lint.Severity(1 + i%3), Message: fmt.Sprintf("finding %d_ ", i) + strings.Repeat("|", i%200),
				Effect: strings.Repeat("so it fails ", 20), Location: object.Location{File: "a.yaml"},
			}
			r.Findings = append(r.Findings, f)
		}
		for i := range maxMarkdownProblems + 5 {
			r.Problems = append(r.Problems, object.Problem{Kind: object.Syntax, Message: "m", Location: object.Location{File: fmt.Sprint(i)}})
		}
		return r
	}
	for _, n := range []int{0, 1, 50, 100, 200, 400, 20_000} {
		r := long(n)
		out := write(t, "markdown", Options{}, r)
		if len(out) > maxMarkdown {
			t.Errorf("%d findings take %d bytes", n, len(out))
		}
		rows, left := strings.Count(string(out), "\n| SE101"), 0
		if m := regexp.MustCompile(`\n(\d+) findings? (is|are) left out`).FindSubmatch(out); m != nil {
			left, _ = strconv.Atoi(string(m[1]))
		}
		if rows+left != n {
			t.Errorf("of %d findings %d are shown and %d said to be left out", n, rows, left)
		}
		if n > 1000 && (rows < 100 || strings.Contains(string(out), "### Info")) {
			t.Errorf("%d rows, and not the worst first", rows)
		}
		if !strings.Contains(string(out), "- and 5 other problems\n") {
			t.Error("the problems are not bounded")
		}
		details := strings.Count(string(out), "  - effect: so it fails")
		if n == 50 && details != n || n == 100 && (details <= 50 || details == n) {
			t.Errorf("%d of %d have details", details, n)
		}
		if details > 0 && (details < n-left) != strings.Contains(string(out), "There is no room for that of") {
			t.Errorf("%d of %d have details, and what is said of it is wrong", details, n)
		}
	}
}
