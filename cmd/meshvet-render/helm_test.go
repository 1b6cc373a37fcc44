package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/meshvet/meshvet/lint/render"
)

var updateHelm = flag.Bool("update-helm", false, "write the golden files of testdata/helm anew")

// helmCase is a file in testdata/helm: a chart in the folder chart and files of values, with the flags of `meshvet lint --helm` in
// the first line if that begins with one.
type helmCase struct {
	name  string
	flags []string
	dir   string // where the files are
}

// helmCases unpacks the cases.
func helmCases(t *testing.T) []helmCase {
	t.Helper()
	names, err := filepath.Glob("testdata/helm/*.txtar")
	if err != nil || len(names) < 25 {
		t.Fatalf("found the cases %v (%v)", names, err)
	}
	var cases []helmCase
	for _, name := range names {
		a, err := txtar.ParseFile(name)
		if err != nil {
			t.Fatal(err)
		}
		c := helmCase{name: strings.TrimSuffix(filepath.Base(name), ".txtar"), dir: t.TempDir()}
		if first, _, _ := strings.Cut(string(a.Comment), "\n"); strings.HasPrefix(first, "--") {
			c.flags = strings.Fields(first)
		}
		for _, f := range a.Files {
			write(t, filepath.Join(c.dir, f.Name), string(f.Data))
		}
		cases = append(cases, c)
	}
	return cases
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// request is what the flags of a case ask for.
func (c *helmCase) request(t *testing.T) *render.Helm {
	t.Helper()
	h := &render.Helm{Chart: filepath.Join(c.dir, "chart"), Root: c.dir, KubeVersion: "1.37.0"}
	for pair := range slices.Chunk(c.flags, 2) {
		switch value := pair[1]; pair[0] {
		case "--values":
			text, err := os.ReadFile(filepath.Join(c.dir, value))
			if err != nil {
				t.Fatal(err)
			}
			h.Values = append(h.Values, render.ValueFile{Name: value, Text: text})
		case "--set":
			h.Set = append(h.Set, value)
		case "--release":
			h.Release = value
		case "--namespace":
			h.Namespace = value
		case "--kube-version":
			h.KubeVersion = value
		case "--api-versions":
			h.APIVersions = append(h.APIVersions, value)
		default:
			t.Fatalf("no flag is called %s", pair[0])
		}
	}
	return h
}

// TestHelm renders the cases. The golden file of each has the documents, with the line that wrote each line, or why there are none.
func TestHelm(t *testing.T) {
	for _, c := range helmCases(t) {
		t.Run(c.name, func(t *testing.T) {
			answer, err := renderHelm(t.Context(), c.request(t), render.DefaultLimits())
			if _, should := strings.CutPrefix(c.name, "fail-"); should != (err != nil) {
				t.Errorf("the case is called %s, and the error is %v", c.name, err)
			}
			golden := filepath.Join("testdata", "helm", c.name+".golden")
			got := strings.ReplaceAll(describe(t, answer, err), c.dir, "DIR")
			got = regexp.MustCompile(`random-\w{12}`).ReplaceAllString(got, "random-NAME")
			if *updateHelm {
				write(t, golden, got)
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(string(want), got); d != "" {
				t.Errorf("-want +got, or run with -update-helm:\n%s", d)
			}
		})
	}
}

// describe writes an answer for people.
func describe(t *testing.T, answer *render.Answer, err error) string {
	t.Helper()
	var out strings.Builder
	if err != nil {
		var f *render.Failure
		if !errors.As(err, &f) {
			t.Errorf("%v is no failure that is told as the user's", err)
			return err.Error() + "\n"
		}
		fmt.Fprintf(&out, "failure: %s\n", f.Message)
		if f.File != "" {
			fmt.Fprintf(&out, "at %s:%d\n", f.File, f.Line)
		}
		return out.String()
	}
	for _, n := range answer.Notes {
		fmt.Fprintf(&out, "note: %s\n", n)
	}
	for i := range answer.Documents {
		d := &answer.Documents[i]
		fmt.Fprintf(&out, "== %s, line %d\n", d.Source, d.Line)
		for n, line := range strings.Split(strings.TrimRight(d.Text, "\n"), "\n") {
			from := ""
			if source, at := d.Origin(n + 1); at > 0 {
				from = fmt.Sprintf("%s:%d", filepath.Base(source), at)
			}
			fmt.Fprintln(&out, strings.TrimRight(fmt.Sprintf("%-16s| %s", from, line), " "))
		}
	}
	return out.String()
}

// TestLikeHelm holds what comes out of the cases and of our own chart against what `helm template` makes of them.
func TestLikeHelm(t *testing.T) {
	helm := findHelm(t)
	cases := helmCases(t)
	own := filepath.Join("..", "..", "charts", "meshvet")
	values, err := filepath.Glob(filepath.Join(own, "ci", "*-values.yaml"))
	if err != nil || len(values) < 8 {
		t.Fatalf("found the values %v (%v)", values, err)
	}
	for _, v := range values {
		c := helmCase{name: filepath.Base(v), flags: []string{"--values", "values.yaml"}, dir: t.TempDir()}
		if err := os.CopyFS(filepath.Join(c.dir, "chart"), os.DirFS(own)); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(v)
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(c.dir, "values.yaml"), string(text))
		if bytes.Contains(text, []byte("--api-versions cert-manager.io/v1")) {
			c.flags = append(c.flags, "--api-versions", "cert-manager.io/v1")
		}
		cases = append(cases, c)
	}
	for _, c := range cases {
		if c.name == "random" {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			h := c.request(t)
			answer, err := renderHelm(t.Context(), h, render.DefaultLimits())
			var got []string
			if err == nil {
				for _, d := range answer.Documents {
					got = append(got, strings.TrimSpace(d.Text))
				}
			}
			want, refused := c.helm(t, helm, h)
			if refused != (err != nil) {
				switch c.name {
				case "subcharts", "warnings":
					// Helm demands also what the values disable, and fetches a schema that another one refers to.
					return
				}
				t.Fatalf("refused by Helm: %v; by us: %v", refused, err)
			}
			slices.Sort(got)
			slices.Sort(want)
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("-helm +meshvet-render:\n%s", d)
			}
		})
	}
}

var (
	helmDocument = regexp.MustCompile(`(?m)^---[ \t]*`)
	helmSource   = regexp.MustCompile(`(?m)^# Source: .*\n`)
	onlyComments = regexp.MustCompile(`^(\s*(#.*)?\n?)*$`)
)

// helm runs `helm template`, and answers with the documents it writes.
func (c *helmCase) helm(t *testing.T, helm string, h *render.Helm) (documents []string, refused bool) {
	t.Helper()
	args := []string{"template", "chart", "--api-versions", strings.Join(istioVersions(), ",")}
	if h.KubeVersion != "" && !slices.Contains(c.flags, "--kube-version") {
		args = append(args, "--kube-version", h.KubeVersion)
	}
	for pair := range slices.Chunk(c.flags, 2) {
		if pair[0] == "--release" {
			args = slices.Insert(args, 1, pair[1])
			continue
		}
		args = append(args, pair...)
	}
	cmd := exec.CommandContext(t.Context(), helm, args...)
	cmd.Dir = c.dir
	cmd.Env = []string{"HOME=" + t.TempDir(), "HTTPS_PROXY=http://127.0.0.1:1"} // nothing may be fetched in a test
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return nil, true
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range helmDocument.Split(string(out), -1) {
		if d = strings.TrimSpace(helmSource.ReplaceAllString(d, "")); !onlyComments.MatchString(d) {
			documents = append(documents, d)
		}
	}
	return documents, false
}

// findHelm is the helm that HELM names, else the one that `make e2e-tools` builds.
func findHelm(t *testing.T) string {
	t.Helper()
	helm := os.Getenv("HELM")
	if helm == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			t.Fatal(err)
		}
		helm = filepath.Join(cache, "meshvet", "e2e", "helm")
	}
	if _, err := os.Stat(helm); err != nil {
		t.Skipf("there is no helm at %s: run make e2e-tools, or set HELM", helm)
	}
	return helm
}
