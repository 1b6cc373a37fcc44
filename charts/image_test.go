package charts

import (
	"fmt"
	"go/version"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestImage holds the Dockerfile to what it repeats of go.mod and the chart; test/release has the rest. No engine is needed for that.
func TestImage(t *testing.T) {
	text := strings.ReplaceAll(read(t, "../Dockerfile"), "\\\n", " ")
	one := func(what, in, pattern string) string {
		t.Helper()
		found := regexp.MustCompile(pattern).FindAllStringSubmatch(in, -1)
		if len(found) != 1 {
			t.Fatalf("%s: found %d of %s", what, len(found), pattern)
		}
		return found[0][1]
	}

	for _, from := range regexp.MustCompile(`(?m)^FROM (?:--platform=\S+ )?(\S+)`).FindAllStringSubmatch(text, -1) {
		if !regexp.MustCompile(`^\S+:\S+@sha256:[0-9a-f]{64}$`).MatchString(from[1]) {
			t.Errorf("%s is not pinned by tag and digest", from[1])
		}
	}
	builder, need := one("Dockerfile", text, `golang:([0-9.]+)-`), one("go.mod", read(t, "../go.mod"), `(?m)^go ([0-9.]+)$`)
	if version.Compare("go"+builder, "go"+need) < 0 {
		t.Errorf("the builder has Go %s, go.mod needs %s", builder, need)
	}

	for _, r := range goldens(t) {
		if r.name == "default" {
			pod := r.find(t, "Deployment", nil).get("spec.template.spec.securityContext")
			want := fmt.Sprintf("%v:%v", dig(pod, "runAsUser"), dig(pod, "runAsGroup"))
			if got := one("Dockerfile", text, `(?m)^USER (\S+)$`); got != want {
				t.Errorf("the image runs as %s, the chart as %s", got, want)
			}
		}
	}

	// What is sent to the engine holds all that is copied.
	ignore := read(t, "../.dockerignore")
	entries, err := os.ReadDir("..")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		code := e.IsDir() && hasProgramCode(t, filepath.Join("..", e.Name()))
		sent := strings.Contains(ignore, "\n!"+e.Name()+"\n")
		switch name := e.Name(); {
		case code && name != "test" && !sent:
			t.Errorf(".dockerignore keeps %s out of the image's build", name)
		case !code && sent && name != "go.mod" && name != "go.sum" && name != "LICENSE":
			t.Errorf(".dockerignore sends %s for nothing", name)
		}
	}
}

// hasProgramCode says whether there is Go code in a folder that is not a test.
func hasProgramCode(t *testing.T, folder string) bool {
	t.Helper()
	found := false
	if err := filepath.WalkDir(folder, func(path string, _ os.DirEntry, err error) error {
		if strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") {
			found = true
			return filepath.SkipAll
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return found
}
