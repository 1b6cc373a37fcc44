package hooks

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/meshvet/meshvet/test/e2e/scratch"
)

// Every configuration and command of docs/guide/pre-commit.md does what the guide says.
func TestGuide(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "guide", "pre-commit.md"))
	if err != nil {
		t.Fatal(err)
	}
	guide := string(text)
	blocks := func(language string) []string {
		var all []string
		for _, m := range regexp.MustCompile("(?ms)^```"+language+"\n(.*?)^```").FindAllStringSubmatch(guide, -1) {
			all = append(all, m[1])
		}
		return all
	}
	configurations := blocks("yaml")
	if len(configurations) != 3 {
		t.Fatalf("%d configurations", len(configurations))
	}

	t.Run("hooks", func(t *testing.T) {
		hooks, err := os.ReadFile(filepath.Join("..", "..", "..", ".pre-commit-hooks.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		names := func(pattern, text string) []string {
			var all []string
			for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
				all = append(all, m[1])
			}
			slices.Sort(all)
			return all
		}
		if diff := cmp.Diff(names(`(?m)^- id: (\S+)$`, string(hooks)), names("(?m)^\\| `(\\S+)` \\|", guide)); diff != "" {
			t.Errorf("-hooks +guide\n%s", diff)
		}
	})

	begin := func(t *testing.T, configuration string) *repository {
		t.Helper()
		r := newRepository(t, hook)
		r.Write(".pre-commit-config.yaml", configuration)
		r.Write("manifests/old.yaml", scratch.Bad("old"))
		r.Commit()
		return r
	}
	t.Run("first", func(t *testing.T) {
		r := begin(t, configurations[0])
		want := map[string]int{"pre-commit install": 0, "pre-commit run --all-files": 1, `SKIP=meshvet git commit -m "Repaired tomorrow"`: 0}
		ran := 0
		for _, block := range blocks("sh") {
			for line := range strings.Lines(block) {
				command, _, _ := strings.Cut(line, "#")
				command = strings.TrimSpace(command)
				code, known := want[command]
				if !known {
					t.Errorf("nothing is known of %s", command)
					continue
				}
				r.Stage("manifests/new.yaml", scratch.Bad("new"))
				out := r.Run(code, "sh", "-c", command)
				if code == 1 {
					scratch.Says(t, out, "manifests/old.yaml:7:15: warning: ", "manifests/new.yaml:7:15: warning: ")
				}
				ran++
			}
		}
		if ran != len(want) {
			t.Errorf("%d commands", ran)
		}
		r.Stage("manifests/newer.yaml", scratch.Bad("newer"))
		out := r.Run(1, "git", "commit", "-m", "not let through")
		scratch.Says(t, out, "manifests/newer.yaml:7:15: warning: ")
		scratch.Silent(t, out, "manifests/old.yaml:7")
	})
	t.Run("all", func(t *testing.T) {
		r := begin(t, configurations[1])
		r.Stage("elsewhere.yaml", scratch.Bad("elsewhere"))
		r.Stage("manifests/old.yaml", "# A comment.\n"+scratch.Bad("old"))
		r.run(0)
		r.Stage("manifests/new.yaml", mixed("new"))
		out := r.run(1)
		scratch.Says(t, out, "files were modified by this hook", "manifests/new.yaml:7:15: warning: ")
		_, lint, _ := strings.Cut(out, "\nmeshvet...") // meshvet-fix tells all that it leaves
		scratch.Says(t, lint, "manifests/new.yaml:7:15: warning: ", "(1 not new since HEAD)")
		scratch.Silent(t, lint, "elsewhere.yaml:7", "old.yaml:8")
		r.Stage("manifests/new.yaml", scratch.Good("new"))
		r.run(0)
		r.Stage(".meshvet.yaml", "rules: {SE101: inf}\n")
		scratch.Says(t, r.run(1), ".meshvet.yaml:1:16: ")
	})
	t.Run("system", func(t *testing.T) {
		r := begin(t, configurations[2])
		without := slices.Clone(home.Environ)
		home.Environ = append(home.Environ, "PATH="+installed(t)+string(filepath.ListSeparator)+os.Getenv("PATH"))
		defer func() { home.Environ = without }()
		r.Stage("manifests/new.yaml", scratch.Bad("new"))
		scratch.Says(t, r.run(1), "manifests/new.yaml:7:15: warning: ")
	})
}
