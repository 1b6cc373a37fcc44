package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// runAtRoot runs the program as a person does at the root of the repository.
func runAtRoot(t *testing.T, args ...string) (stdout string, code int) {
	t.Helper()
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(root)
	var out, errs bytes.Buffer
	code = run(context.Background(), args, process{
		stdin: strings.NewReader(""), stdout: &out, stderr: &errs,
		getenv: func(string) string { return "" },
		getwd:  func() (string, error) { return root, nil },
	})
	if code == exitFailed {
		t.Fatalf("the run failed: %s", errs.String())
	}
	return out.String(), code
}

var ruleInBrackets = regexp.MustCompile(`\[([A-Z]{2}\d{3}) `)

func TestExamples(t *testing.T) {
	for _, c := range []struct {
		path string
		code int
		ids  []string
	}{
		{"examples/good", exitClean, nil},
		{"examples/bad/passthrough.yaml", exitFindings, []string{"DR201", "DR207", "DR211", "SE101"}},
		{"examples/bad/tls-origination.yaml", exitFindings, []string{"DR202", "DR203", "DR231"}},
		{"examples/bad/egress-gateway.yaml", exitFindings, []string{"DR234", "MX302"}},
		{"examples", exitFindings, []string{
			"DR201", "DR202", "DR203", "DR205", "DR207", "DR208", "DR211", "DR226", "DR231", "DR232", "DR234", "DR236", "DR254",
			"MV901", "MV902", "MV907", "MX302", "MX303", "MX306", "SE101", "SE103", "SE110", "SE111", "SE116", "SE123",
		}},
	} {
		t.Run(c.path, func(t *testing.T) {
			out, code := runAtRoot(t, "lint", "--config", os.DevNull, "--format", "compact", "--severity", "warning", c.path)
			if code != c.code {
				t.Errorf("exit code %d, want %d\n%s", code, c.code, out)
			}
			var ids []string
			for _, m := range ruleInBrackets.FindAllStringSubmatch(out, -1) {
				ids = append(ids, m[1])
			}
			slices.Sort(ids)
			if ids = slices.Compact(ids); !slices.Equal(ids, c.ids) {
				t.Errorf("rules %v, want %v\n%s", ids, c.ids, out)
			}
		})
	}
}

var readmeOutput = regexp.MustCompile("(?s)<!-- output of: meshvet (.*?) -->\n```text\n(.*?)```")

// What the README shows is what the program says.
func TestReadmeShowsRealOutput(t *testing.T) {
	readme := filepath.Join("..", "..", "README.md")
	text, err := os.ReadFile(readme)
	if err != nil {
		t.Fatal(err)
	}
	path, err := filepath.Abs(readme)
	if err != nil {
		t.Fatal(err)
	}
	shown := readmeOutput.FindAllSubmatchIndex(text, -1)
	if len(shown) == 0 {
		t.Fatal("README.md shows no output")
	}
	var fresh []byte
	kept := 0
	for _, m := range shown {
		command := string(text[m[2]:m[3]])
		t.Run(command, func(t *testing.T) { // which returns to the folder that the test began in
			want, _ := runAtRoot(t, strings.Fields(command)...)
			if got := string(text[m[4]:m[5]]); got != want && !*update {
				t.Errorf("README.md shows\n%s\nthe program says\n%s\n(run the test with -update)", got, want)
			}
			fresh = append(append(fresh, text[kept:m[4]]...), want...)
			kept = m[5]
		})
	}
	if *update {
		if err := os.WriteFile(path, append(fresh, text[kept:]...), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

var readmeConfiguration = regexp.MustCompile("(?s)### Configuration\n.*?```yaml\n(.*?)```")

// The configuration that the README shows does what its comments say: both meshes see the base, and neither the other.
func TestReadmeConfiguration(t *testing.T) {
	readme, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	m := readmeConfiguration.FindSubmatch(readme)
	if m == nil {
		t.Fatal("README.md shows no configuration")
	}
	dir := t.TempDir()
	entry := func(name string) string {
		return "apiVersion: networking.istio.io/v1\nkind: ServiceEntry\nmetadata: {name: " + name + ", namespace: shop}\nspec:\n  hosts: [" + name + ".example.com]\n" +
			"  location: MESH_EXTERNAL\n  resolution: STATIC\n  ports:\n  - {number: 443, name: tls, protocol: TLS}\n  endpoints:\n  - address: 192.0.2.10\n"
	}
	rule := func(host string) string {
		return "---\napiVersion: networking.istio.io/v1\nkind: DestinationRule\nmetadata: {name: " + host + ", namespace: shop}\nspec:\n  host: " + host + ".example.com\n"
	}
	for name, text := range map[string]string{
		".git/HEAD":                  "",
		".meshvet.yaml":              string(m[1]),
		"base/entry.yaml":            entry("both"),
		"clusters/prod/all.yaml":     entry("own") + rule("own") + rule("both"),
		"clusters/staging/rule.yaml": strings.TrimPrefix(rule("both")+rule("own"), "---\n"),
	} {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	lint := func(path string) (stdout, stderr string) {
		var out, errs bytes.Buffer
		run(context.Background(), []string{"lint", "--format", "compact", "--severity", "warning", "--verbose", path}, process{
			stdin: strings.NewReader(""), stdout: &out, stderr: &errs,
			getenv: func(string) string { return "" },
			getwd:  func() (string, error) { return dir, nil },
		})
		return out.String(), errs.String()
	}
	// staging has no ServiceEntry for one host, which only prod defines; for the other, the base does.
	for _, path := range []string{".", "clusters/staging"} {
		out, errs := lint(path)
		if !strings.HasPrefix(out, "clusters/staging/rule.yaml") || strings.Count(out, "\n") != 1 || !strings.Contains(out, `"own.example.com" [MX301 `) {
			t.Errorf("lint %s: findings\n%s", path, out)
		}
		for _, want := range []string{"mesh scope prod: 2 files\n", "mesh scope staging: 2 files\n"} {
			if !strings.Contains(errs, want) || strings.Contains(errs, "notice") || strings.Count(errs, "mesh scope") != 2 {
				t.Errorf("lint %s: it says\n%s", path, errs)
			}
		}
	}
}
