package release

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
)

const root = "../.."

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// decode reads YAML into a value that names each key that may be there.
func decode(t *testing.T, name string, into any) {
	t.Helper()
	d := yaml.NewDecoder(strings.NewReader(read(t, name)))
	d.KnownFields(true)
	if err := d.Decode(into); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

// one is the only match of a pattern with one group.
func one(t *testing.T, what, in, pattern string) string {
	t.Helper()
	found := regexp.MustCompile(pattern).FindAllStringSubmatch(in, -1)
	if len(found) != 1 {
		t.Fatalf("%s: found %d of %s", what, len(found), pattern)
	}
	return found[0][1]
}

// Whoever hands out the programs builds them with the same flags: `make build`, the image, a release.
func TestSameFlags(t *testing.T) {
	normal := func(flags string) []string {
		return strings.Fields(strings.NewReplacer(
			"$(VERSION)", "VERSION", "$VERSION", "VERSION", "v{{ .Version }}", "VERSION",
			"$(COMMIT)", "COMMIT", "$COMMIT", "COMMIT", "{{ .FullCommit }}", "COMMIT", "'", "", `"`, "").Replace(flags))
	}
	makefile := read(t, "Makefile")
	want := normal(one(t, "Makefile", makefile, `(?m)^BUILD_FLAGS = (.*)$`))
	if !slices.Contains(want, "-trimpath") || !slices.Contains(want, "-buildvcs=false") || !slices.Contains(want, "main.version=VERSION") {
		t.Fatalf("the flags of the Makefile are %q", want)
	}
	programs := strings.Fields(one(t, "Makefile", makefile, `(?m)^PROGRAMS +:?= (.*)$`))

	image := normal(one(t, "Dockerfile", strings.ReplaceAll(read(t, "Dockerfile"), "\\\n", " "), `CGO_ENABLED=0 .* go build (.*)`))
	if diff := cmp.Diff(slices.Concat(want, []string{"-o", "/out/"}, programs), image); diff != "" {
		t.Errorf("-Makefile +Dockerfile:\n%s", diff)
	}

	var config struct {
		Builds []struct {
			ID, Main, Binary                  string
			Env, Goos, Goarch, Flags, Ldflags []string
			Timestamp                         string `yaml:"mod_timestamp"`
		}
		Rest map[string]any `yaml:",inline"`
	}
	decode(t, ".goreleaser.yaml", &config)
	var built []string
	for _, b := range config.Builds {
		built = append(built, b.Main)
		got := normal(strings.Join(b.Flags, " ") + " -ldflags " + strings.Join(b.Ldflags, " "))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("-Makefile +%s in .goreleaser.yaml:\n%s", b.ID, diff)
		}
		if filepath.Base(b.Main) != b.Binary || !slices.Equal(b.Env, []string{"CGO_ENABLED=0"}) || b.Timestamp == "" {
			t.Errorf("%s is built as %s with %v at %q", b.Main, b.Binary, b.Env, b.Timestamp)
		}
		if diff := cmp.Diff([][]string{{"linux", "darwin", "windows"}, {"amd64", "arm64"}}, [][]string{b.Goos, b.Goarch}); diff != "" {
			t.Errorf("-platforms +of %s:\n%s", b.ID, diff)
		}
	}
	if diff := cmp.Diff(programs, built); diff != "" {
		t.Errorf("-programs of the Makefile +of .goreleaser.yaml:\n%s", diff)
	}
}

// What is tested is compiled by the Go that the release is compiled by, and the tests run in the image that it is built in.
func TestOneGo(t *testing.T) {
	from := one(t, "Dockerfile", read(t, "Dockerfile"), `(?m)^FROM --platform=\S+ (golang:\S+) AS build$`)
	version := one(t, "Dockerfile", from, `^golang:([0-9.]+)-`)
	seen := 0
	for name, w := range workflows(t) {
		for id, job := range w.Jobs {
			if job.Container != "" {
				seen++
				if job.Container != from {
					t.Errorf("%s: %s runs in %s, the Dockerfile builds in %s", name, id, job.Container, from)
				}
			}
			for _, s := range job.Steps {
				if v := s.With["go-version"]; v != "" {
					seen++
					if v != version {
						t.Errorf("%s: %s has Go %s, the Dockerfile %s", name, id, v, version)
					}
				}
				if key := s.With["key"]; key != "" && !strings.Contains(key, version) {
					t.Errorf("%s: %s keeps %s, which is not of Go %s", name, id, key, version)
				}
			}
		}
	}
	if seen < 3 {
		t.Errorf("%d places name Go", seen)
	}
}

type workflow struct {
	Name        string
	On          any
	Permissions map[string]string
	Concurrency struct {
		Group  string
		Cancel any `yaml:"cancel-in-progress"`
	}
	Env      map[string]string
	Defaults any
	Jobs     map[string]job
}

type job struct {
	Needs       any
	RunsOn      string `yaml:"runs-on"`
	Timeout     int    `yaml:"timeout-minutes"`
	Permissions map[string]string
	Uses        string
	Container   string
	Defaults    any
	Steps       []step
}

type step struct {
	Name, ID, Uses, Run string
	With, Env           map[string]string
}

func workflows(t *testing.T) map[string]workflow {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, ".github", "workflows", "*"))
	if err != nil || len(files) < 2 {
		t.Fatalf("%v: %v", files, err)
	}
	out := map[string]workflow{}
	for _, f := range files {
		var w workflow
		decode(t, filepath.Join(".github", "workflows", filepath.Base(f)), &w)
		out[filepath.Base(f)] = w
	}
	return out
}

// What actionlint does not ask for: rights are given job by job, a job ends, actions are pinned by commit with the version beside it, and
// nothing that somebody else may have chosen is pasted into a script.
func TestWorkflows(t *testing.T) {
	pinned := regexp.MustCompile(`^[\w.-]+(/[\w.-]+)+@[0-9a-f]{40}$`)
	actions := map[string]string{}
	for name, w := range workflows(t) {
		if w.Permissions == nil || len(w.Permissions) > 0 || w.Concurrency.Group == "" {
			t.Errorf("%s: permissions are %v and not {}, or there is no concurrency", name, w.Permissions)
		}
		for id, j := range w.Jobs {
			if len(j.Permissions) == 0 || (j.Uses == "" && (j.Timeout == 0 || j.RunsOn != "ubuntu-24.04")) {
				t.Errorf("%s: %s has permissions %v, %d minutes and runs on %q", name, id, j.Permissions, j.Timeout, j.RunsOn)
			}
			if j.Uses != "" && !strings.HasPrefix(j.Uses, "./") {
				t.Errorf("%s: %s uses %s", name, id, j.Uses)
			}
			for _, s := range j.Steps {
				if strings.Contains(s.Run, "${{") {
					t.Errorf("%s: %s pastes an expression into a script:\n%s", name, id, s.Run)
				}
				if s.Uses == "" {
					continue
				}
				if !pinned.MatchString(s.Uses) {
					t.Errorf("%s: %s uses %s, which is no commit", name, id, s.Uses)
				}
				comment := one(t, name, strings.Join(linesWith(read(t, ".github/workflows/"+name), "uses: "+s.Uses), "\n")+"\n",
					`(?m)\A(?:.*\n)*?.*# (v\d+\.\d+\.\d+)\n(?:.*\n)*\z`)
				action, _, _ := strings.Cut(s.Uses, "@")
				if other := actions[action]; other != "" && other != s.Uses+" "+comment {
					t.Errorf("%s is %s and %s %s", action, other, s.Uses, comment)
				}
				actions[action] = s.Uses + " " + comment
				if action == "actions/checkout" && s.With["persist-credentials"] != "false" {
					t.Errorf("%s: %s leaves its token in the checkout", name, id)
				}
				if strings.HasPrefix(action, "actions/setup-go") && name == "release.yaml" && s.With["cache"] != "false" {
					t.Errorf("%s: %s builds a release from a cache", name, id)
				}
			}
		}
	}
	if len(actions) < 8 {
		t.Errorf("%d actions", len(actions))
	}
}

func linesWith(text, part string) []string {
	var out []string
	for line := range strings.Lines(text) {
		if strings.Contains(line, part) {
			out = append(out, strings.TrimRight(line, "\n"))
		}
	}
	return out
}

// Dependabot is told of every module, and of nothing that is gone.
func TestDependabot(t *testing.T) {
	var config struct {
		Version int
		Updates []struct {
			Ecosystem   string `yaml:"package-ecosystem"`
			Directory   string
			Directories []string
			Schedule    struct{ Interval string }
			Cooldown    map[string]int
			Groups      map[string]struct {
				Patterns []string
				Types    []string `yaml:"update-types"`
			}
			Ignore []struct {
				Name string `yaml:"dependency-name"`
			}
		}
	}
	decode(t, ".github/dependabot.yml", &config)
	told := map[string][]string{}
	for _, u := range config.Updates {
		dirs := u.Directories
		if u.Directory != "" {
			dirs = append(dirs, u.Directory)
		}
		told[u.Ecosystem] = append(told[u.Ecosystem], dirs...)
	}
	there := map[string][]string{"docker": {"/"}, "github-actions": {"/"}}
	tracked, err := exec.CommandContext(t.Context(), "git", "-C", root, "ls-files", "--cached", "--others", "--exclude-standard", "--", "*go.mod", "*package-lock.json").Output()
	if err != nil {
		t.Fatal(err)
	}
	for file := range strings.FieldsSeq(string(tracked)) {
		dir := strings.TrimSuffix("/"+filepath.ToSlash(filepath.Dir(file)), "/.")
		if dir == "" {
			dir = "/"
		}
		switch filepath.Base(file) {
		case "go.mod":
			if !strings.Contains(file, "testdata/") {
				there["gomod"] = append(there["gomod"], dir)
			}
		case "package-lock.json":
			there["npm"] = append(there["npm"], dir)
		}
	}
	for _, m := range []map[string][]string{told, there} {
		for k := range m {
			slices.Sort(m[k])
		}
	}
	if diff := cmp.Diff(there, told); diff != "" {
		t.Errorf("-in the repository +in .github/dependabot.yml:\n%s", diff)
	}
}

// The notes of a release are the part of the changelog that is of its version.
func TestReleaseNotes(t *testing.T) {
	dir := t.TempDir()
	put := func(name, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put(".ci/release-notes", read(t, ".ci/release-notes"))
	put("charts/meshvet/Chart.yaml", "apiVersion: v2\nversion: 0.3.0\nappVersion: \"1.2.3\"\n")
	put("CHANGELOG.md", "# Changelog\n\n## [Unreleased]\n\n- not yet\n\n## [1.2.3] - 2027-01-02\n\n### Added\n\n- `this`\n\n## [1.2.2] - 2026-12-01\n\n- old\n\n[1.2.3]: https://example.com\n")
	for _, c := range []struct{ tag, out, err string }{
		{"v1.2.3", "\n### Added\n\n- `this`\n", ""},
		{"v1.2.2", "", "charts/meshvet/Chart.yaml has appVersion 1.2.3, the tag is v1.2.2"},
		{"v1.2", "", "v1.2 is not a version"},
		{"v1.2.3;touch ran", "", "is not a version"},
		{"", "", "the tag of the release"},
	} {
		var out, errs bytes.Buffer
		cmd := exec.CommandContext(t.Context(), "bash", filepath.Join(dir, ".ci", "release-notes"), c.tag)
		cmd.Stdout, cmd.Stderr = &out, &errs
		if err := cmd.Run(); (err == nil) != (c.err == "") || !strings.Contains(errs.String(), c.err) || out.String() != c.out {
			t.Errorf("%s: %v\n%q\n%s", c.tag, err, out.String(), errs.String())
		}
	}
	put("charts/meshvet/Chart.yaml", "appVersion: 1.2.4\n")
	if said, err := exec.CommandContext(t.Context(), "bash", filepath.Join(dir, ".ci", "release-notes"), "v1.2.4").CombinedOutput(); err == nil || !strings.Contains(string(said), "CHANGELOG.md has nothing") {
		t.Errorf("a version that the changelog does not know: %v\n%s", err, said)
	}
}
