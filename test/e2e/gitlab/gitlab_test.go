package gitlab

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/meshvet/meshvet/test/e2e/scratch"
)

// found fails the test unless the job had this exit code and reported these.
func (o *outcome) found(t *testing.T, code int, issues ...string) {
	t.Helper()
	want := ""
	if code != 0 {
		want = fmt.Sprintf(" FAIL %d ", code)
	}
	if (o.code == 0) != (code == 0) || !strings.Contains(o.log, want) || !slices.Equal(o.issues, issues) {
		t.Errorf("exit code %d of the job, want %d; reported are %q, want %q\n%s", o.code, code, o.issues, issues, o.log)
	}
}

// The pipeline of the example in a merge request: what is new fails it, with each report.
func TestMergeRequest(t *testing.T) {
	c := newChange(t, map[string]string{"manifests/old.yaml": scratch.Bad("old"), "elsewhere.yaml": scratch.Bad("elsewhere")})
	c.Write("manifests/new.yaml", scratch.Bad("new"))
	r := c.head()
	for range 2 { // the second time beside the reports of the first
		o := runs(t, r, c.mergeRequest()...)
		o.found(t, 1, "manifests/new.yaml:7 SE101")
		scratch.Says(t, o.log, "json schema validated", "manifests/new.yaml:7:15: warning: ", "(1 not new since "+c.base)
		scratch.Says(t, o.junit, `<testcase name="SE101 resolution-not-dns: ServiceEntry shop/new, field spec.resolution" classname="manifests/new.yaml">`, "<failure ")
		scratch.Says(t, o.html, "<!DOCTYPE html>", "new.example.com", "</html>")
	}

	// Once it is right, the job passes.
	c.Write("manifests/new.yaml", scratch.Good("new"))
	runs(t, c.head(), c.mergeRequest()...).found(t, 0, "manifests/new.yaml:5 DR204")
	// A manifest that cannot be read is another failure.
	c.Write("manifests/new.yaml", "apiVersion: networking.istio.io/v1\nkind: ServiceEntry\nspec: [\n")
	runs(t, c.head(), c.mergeRequest()...).found(t, 2, "manifests/new.yaml:4 MV903")
}

// What a merge request is compared with, whatever GitLab has fetched.
func TestBase(t *testing.T) {
	c := newChange(t, map[string]string{"manifests/old.yaml": scratch.Bad("old")})
	c.Write("manifests/new.yaml", scratch.Bad("new"))
	head := c.Commit()
	// Others have merged something since.
	c.Git("checkout", "--quiet", "main")
	c.Write("manifests/others.yaml", scratch.Bad("others"))
	target := c.Commit()
	c.Git("checkout", "--quiet", "--detach")
	c.Git("merge", "--quiet", "--no-ff", "-m", "merged result", head)
	merged := c.Git("rev-parse", "HEAD")
	t.Run("merged result", func(t *testing.T) {
		runs(t, c.fetch(merged), append(c.mergeRequest(), "CI_MERGE_REQUEST_TARGET_BRANCH_SHA="+target)...).found(t, 1, "manifests/new.yaml:7 SE101")
	})
	t.Run("all commits", func(t *testing.T) {
		r := c.fetch(head)
		r.Git("fetch", "--quiet", "--unshallow", "origin")
		r.Git("remote", "set-url", "origin", "file:///nowhere")
		runs(t, r, c.mergeRequest()...).found(t, 1, "manifests/new.yaml:7 SE101")
	})
	t.Run("a fork", func(t *testing.T) { // which has nothing of its project
		r := c.fetch(head)
		r.Git("remote", "set-url", "origin", "file:///nowhere")
		runs(t, r, append(c.mergeRequest(), "CI_MERGE_REQUEST_PROJECT_URL=file://"+c.Dir)...).found(t, 1, "manifests/new.yaml:7 SE101")
	})
	t.Run("no way to the base", func(t *testing.T) {
		r := c.fetch(head)
		r.Git("remote", "set-url", "origin", "file:///nowhere")
		o := runs(t, r, c.mergeRequest()...)
		o.found(t, 2)
		scratch.Says(t, o.log, "meshvet: --", c.base, "GIT_DEPTH")
	})
	t.Run("none", func(t *testing.T) {
		o := runs(t, c.fetch(head), append(c.mergeRequest(), "MESHVET_SINCE=none", "MESHVET_CONFIG_FROM=none")...)
		o.found(t, 1, "manifests/new.yaml:7 SE101", "manifests/old.yaml:7 SE101")
	})
}

// On the default branch everything is judged, and on others nothing.
func TestBranches(t *testing.T) {
	c := newChange(t, map[string]string{"manifests/old.yaml": scratch.Bad("old")})
	r := c.fetch(c.base)
	runs(t, r, "CI_PIPELINE_SOURCE=push", "CI_COMMIT_BRANCH=main", "CI_DEFAULT_BRANCH=main").found(t, 1, "manifests/old.yaml:7 SE101")
	list := func(variables ...string) string {
		args := []string{local, "--force-shell-executor", "--list-csv"}
		for _, v := range variables {
			args = append(args, "--variable", v)
		}
		return r.Run(0, args...)
	}
	scratch.Says(t, list("CI_PIPELINE_SOURCE=push", "CI_COMMIT_BRANCH=main", "CI_DEFAULT_BRANCH=main"), "\nmeshvet;")
	scratch.Silent(t, list("CI_PIPELINE_SOURCE=push", "CI_COMMIT_BRANCH=change", "CI_DEFAULT_BRANCH=main"), "\nmeshvet;")
}

// A change cannot switch off the rule that it breaks, and the reviewer is told that it tries.
func TestChangeDoesNotDecide(t *testing.T) {
	c := newChange(t, map[string]string{".meshvet.yaml": "rules: {SE101: error}\n", "manifests/old.yaml": scratch.Bad("old")})
	c.Write("manifests/new.yaml", scratch.Bad("new"))
	c.Write(".meshvet.yaml", "rules: {SE101: off}\n")
	runs(t, c.head(), c.mergeRequest()...).found(t, 1, ".meshvet.yaml:1 MV909", "manifests/new.yaml:7 SE101")
}

// Text of variables and of file names is text.
func TestHostileText(t *testing.T) {
	pwned := filepath.Join(t.TempDir(), "pwned")
	command := "$(touch $PWNED)`touch $PWNED`" // a file name takes no slash
	for _, name := range []string{"MESHVET_PATHS", "MESHVET_ARGS", "MESHVET_SINCE", "MESHVET_CONFIG_FROM", "MESHVET_FAIL_ON", "CI_MERGE_REQUEST_DIFF_BASE_SHA", "CI_MERGE_REQUEST_PROJECT_URL"} {
		c := newChange(t, map[string]string{"manifests/old.yaml": scratch.Bad("old")})
		c.Write("manifests/"+command+".yaml", scratch.Bad("new"))
		c.Write("manifests/--config=x.yaml", scratch.Bad("newer"))
		o := script(t, c.head(), append(c.mergeRequest(), "PWNED="+pwned, name+"="+command+"'\"; touch $PWNED #")...)
		if o.code == 0 {
			t.Errorf("%s: the job passes\n%s", name, o.log)
		}
	}
	if _, err := os.Stat(pwned); err == nil {
		t.Error("a text was run as a command")
	}
}

// job is the job of the template.
type job struct {
	Image  string
	Script []string
}

func readJob(t *testing.T) job {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(home.Checkout, "examples", "gitlab-ci", "meshvet.yml"))
	if err != nil {
		t.Fatal(err)
	}
	var template struct{ Meshvet job }
	if err := yaml.Unmarshal(text, &template); err != nil || len(template.Meshvet.Script) != 1 {
		t.Fatalf("%v in\n%s", err, text)
	}
	return template.Meshvet
}

// script runs the script of the job alone, in the plain sh of images without bash. MESHVET_PATHS is as in the example.
func script(t *testing.T, r *scratch.Repository, variables ...string) *outcome {
	t.Helper()
	args := []string{"env", "PATH=" + programs + string(filepath.ListSeparator) + os.Getenv("PATH"), "MESHVET_PATHS=manifests"}
	return ran(t, r, append(append(args, variables...), "sh", "-c", readJob(t).Script[0])...)
}

// The script is for any POSIX shell.
func TestShell(t *testing.T) {
	c := newChange(t, map[string]string{"manifests/old.yaml": scratch.Bad("old")})
	c.Write("manifests/new.yaml", scratch.Bad("new"))
	o := script(t, c.head(), append(c.mergeRequest(), "MESHVET_FAIL_ON=never", "MESHVET_PATHS=manifests/old.yaml\nmanifests/new.yaml")...)
	if o.code != 0 || !slices.Equal(o.issues, []string{"manifests/new.yaml:7 SE101"}) {
		t.Errorf("%d %q\n%s", o.code, o.issues, o.log)
	}
	if _, err := exec.LookPath("shellcheck"); err != nil {
		t.Skip("there is no shellcheck; .ci/packages installs it")
	}
	file := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(file, []byte(readJob(t).Script[0]), 0o600); err != nil {
		t.Fatal(err)
	}
	c.Run(0, "shellcheck", "--shell", "sh", file)
}

// How the program comes there.
func TestInstall(t *testing.T) {
	c := newChange(t, map[string]string{"manifests/old.yaml": scratch.Bad("old")})
	r := c.fetch(c.base)
	install := func(variables ...string) *outcome {
		t.Helper()
		args := append([]string{"env", "MESHVET_PATHS=manifests", "MESHVET_DOWNLOAD_URL=" + releases.URL}, variables...)
		return ran(t, r, append(args, "sh", "-c", readJob(t).Script[0])...)
	}
	for message, variable := range map[string]string{
		releases.Archive("v0.1.1") + " is not the file that the checksums.txt of v0.1.1 names": "MESHVET_VERSION=v0.1.1",
		"does not name " + releases.Archive("v0.1.2"):                                          "MESHVET_VERSION=v0.1.2",
		"/v9.9.9/checksums.txt cannot be fetched":                                              "MESHVET_VERSION=v9.9.9",
		"MESHVET_VERSION: v0.1.0/../x is no version such as v0.1.0":                            "MESHVET_VERSION=v0.1.0/../x",
		"is not the one that MESHVET_CHECKSUMS_SHA256 names":                                   "MESHVET_CHECKSUMS_SHA256=" + strings.Repeat("0", 64),
	} {
		if o := install(variable); o.code != 2 || !strings.Contains(o.log, "meshvet: ") || !strings.Contains(o.log, message) {
			t.Errorf("%s: exit code %d\n%s", variable, o.code, o.log)
		}
	}
	if o := install("MESHVET_CHECKSUMS_SHA256=" + releases.Sum()); o.code != 1 || !slices.Equal(o.issues, []string{"manifests/old.yaml:7 SE101"}) {
		t.Errorf("exit code %d, %q\n%s", o.code, o.issues, o.log)
	}
}

// The guide shows the pipeline of the example, and another, and the variables that the script reads.
func TestGuide(t *testing.T) {
	rule := "apiVersion: networking.istio.io/v1\nkind: DestinationRule\nmetadata: {name: a, namespace: shop}\nspec: {host: nowhere.example.com}\n"
	c := newChange(t, map[string]string{"base/a.yaml": scratch.Bad("a"), "clusters/prod/b.yaml": rule, "clusters/test/c.yaml": scratch.Bad("c")})
	read := func(name string) string {
		t.Helper()
		text, err := os.ReadFile(filepath.Join(home.Checkout, filepath.FromSlash(name)))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	guide := read("docs/guide/gitlab.md")
	pipelines := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(guide, -1)
	_, example, _ := strings.Cut(read("examples/gitlab-ci/.gitlab-ci.yml"), "\n") // a comment
	if len(pipelines) != 2 || pipelines[0][1] != example {
		t.Fatalf("the guide has other pipelines than the example and one more: %q", pipelines)
	}
	c.Write(".gitlab-ci.yml", served(t, pipelines[1][1]))
	o := runs(t, c.head(), "CI_PIPELINE_SOURCE=push", "CI_COMMIT_BRANCH=main", "CI_DEFAULT_BRANCH=main")
	o.found(t, 0, "base/a.yaml:7 SE101", "clusters/prod/b.yaml:4 MX301")

	variables := func(text, pattern string) []string {
		var all []string
		for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
			all = append(all, m[1])
		}
		slices.Sort(all)
		return slices.Compact(all)
	}
	// MESHVET_FAIL_ON is read by the program itself.
	inScript := append(variables(readJob(t).Script[0], `\$\{?(MESHVET_\w+)`), "MESHVET_FAIL_ON")
	slices.Sort(inScript)
	if inGuide := variables(guide, "(?m)^\\| `(MESHVET_\\w+)` \\|"); !slices.Equal(inScript, inGuide) {
		t.Errorf("the script reads %q, and the guide has %q", inScript, inGuide)
	}
	if !strings.Contains(guide, "| `MESHVET_VERSION` | `"+scratch.Release+"` |") || !strings.Contains(readJob(t).Script[0], "${MESHVET_VERSION:-"+scratch.Release+"}") {
		t.Errorf("guide and script do not have %s", scratch.Release)
	}
}
