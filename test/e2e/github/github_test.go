package github

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/meshvet/meshvet/test/e2e/scratch"
)

// example is the workflow of examples/github-action, with the releases of the test server.
func example(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(home.Checkout, "examples", "github-action", "meshvet.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	with := "      with:\n        paths: |\n"
	if !strings.Contains(string(text), with) {
		t.Fatal("the example has other inputs")
	}
	return strings.Replace(string(text), with, "      with:\n        download-url: "+releases.URL+"\n        paths: |\n", 1)
}

// The workflow of the example on a pull request: what is new fails it, with an annotation, a summary, outputs and a SARIF report.
func TestPullRequest(t *testing.T) {
	c := newChange(t, map[string]string{where: example(t), "manifests/old.yaml": scratch.Bad("old")})
	c.Write("manifests/new.yaml", scratch.Bad("new"))
	o := runs(t, c.checkout(2), "pull_request", c.event())
	if o.steps["meshvet"] != "failure" {
		t.Errorf("the step: %s\n%s", o.steps["meshvet"], o.log)
	}
	want := []annotation{{"warning", "manifests/new.yaml", "7", "SE101 resolution-not-dns", ""}}
	if diff := cmp.Diff(want, brief(o.annotations), cmp.AllowUnexported(annotation{})); diff != "" {
		t.Errorf("%s\n%s", diff, o.log)
	}
	scratch.Says(t, o.annotations[0].text, "resolution is NONE for new.example.com", "\neffect: ", "\nhelp: ")
	scratch.Says(t, o.summary, "## meshvet\n", "| [SE101 resolution-not-dns](https://", "manifests/new.yaml:7:15", "new.example.com")
	scratch.Silent(t, o.summary, "old.example.com")
	scratch.Says(t, o.log, "using meshvet ", "manifests/new.yaml:7:15: warning: ")
	if o.outputs["exit-code"] != "1" || o.outputs["findings"] != "1" {
		t.Errorf("outputs %v", o.outputs)
	}
	if got := slices.Sorted(maps.Keys(o.outputs)); !slices.Equal(got, []string{"exit-code", "findings", "json", "report", "sarif"}) {
		t.Errorf("outputs %q", got)
	}
	var sarif struct {
		Runs []struct {
			Results []struct {
				RuleID    string
				Locations []struct {
					PhysicalLocation struct{ ArtifactLocation struct{ URI string } }
				}
			}
		}
	}
	// The condition of the step for forks is looked at by act as well: this one is from a fork, so nothing is uploaded.
	if _, err := os.Stat(filepath.Join(o.files, "uploaded.sarif")); err == nil {
		t.Error("a report was uploaded from a fork")
	}
	c.Git("commit", "--quiet", "--allow-empty", "-m", "again")
	event := c.event()
	event["pull_request"].(map[string]any)["head"].(map[string]any)["repo"] = map[string]any{"fork": false}
	o = runs(t, c.checkout(2), "pull_request", event)
	text, err := os.ReadFile(filepath.Join(o.files, "uploaded.sarif"))
	if err != nil {
		t.Fatalf("%v\n%s", err, o.log)
	}
	if err := json.Unmarshal(text, &sarif); err != nil {
		t.Fatal(err)
	}
	if r := sarif.Runs[0].Results; len(r) != 1 || r[0].RuleID != "SE101" || r[0].Locations[0].PhysicalLocation.ArtifactLocation.URI != "manifests/new.yaml" {
		t.Errorf("uploaded was\n%s", text)
	}

	// Once it is right, the step passes: a recommendation does not fail it.
	c.Write("manifests/new.yaml", scratch.Good("new"))
	o = runs(t, c.checkout(2), "pull_request", c.event())
	want = []annotation{{"notice", "manifests/new.yaml", "5", "DR204 outlier-detection-missing", ""}}
	diff := cmp.Diff(want, brief(o.annotations), cmp.AllowUnexported(annotation{}))
	if diff != "" || o.steps["meshvet"] != "success" || o.outputs["exit-code"] != "0" || o.outputs["findings"] != "1" {
		t.Errorf("the step: %s, %v, %s", o.steps["meshvet"], o.outputs, diff)
	}
}

// brief drops the texts of annotations.
func brief(all []annotation) []annotation {
	var out []annotation
	for _, a := range all {
		a.text = ""
		out = append(out, a)
	}
	return out
}

// On other events everything is judged.
func TestPush(t *testing.T) {
	c := newChange(t, map[string]string{where: workflow("fail-on: error"), "old.yaml": scratch.Bad("old")})
	o := runs(t, c.fetch(c.base, 1), "push", map[string]any{"ref": "refs/heads/main", "before": c.base, "after": c.base})
	if o.steps["meshvet"] != "success" || o.outputs["exit-code"] != "0" || o.outputs["findings"] != "1" || len(o.annotations) != 1 {
		t.Errorf("%v, %v, %v\n%s", o.steps, o.outputs, o.annotations, o.log)
	}
}

// What a pull request is compared with, whatever was checked out.
func TestBase(t *testing.T) {
	ahead := func(t *testing.T) *change {
		t.Helper()
		c := newChange(t, map[string]string{where: workflow(""), "old.yaml": scratch.Bad("old")})
		c.Write("new.yaml", scratch.Bad("new"))
		c.Commit()
		// Others have merged something since the event.
		c.Git("checkout", "--quiet", "main")
		c.Write("others.yaml", scratch.Bad("others"))
		c.Commit()
		c.Git("checkout", "--quiet", "change")
		return c
	}
	onlyNew := func(t *testing.T, o *outcome) {
		t.Helper()
		if diff := cmp.Diff([]annotation{{"warning", "new.yaml", "7", "SE101 resolution-not-dns", ""}}, brief(o.annotations), cmp.AllowUnexported(annotation{})); diff != "" {
			t.Errorf("%s\n%s", diff, o.log)
		}
	}
	t.Run("the merge alone", func(t *testing.T) { // as actions/checkout makes it by default; the base is fetched
		c := ahead(t)
		onlyNew(t, runs(t, c.checkout(1), "pull_request", c.event()))
	})
	t.Run("all commits", func(t *testing.T) {
		c := ahead(t)
		onlyNew(t, runs(t, c.checkout(0), "pull_request", c.event()))
	})
	t.Run("the head", func(t *testing.T) { // ref: ${{ github.event.pull_request.head.sha }}, fetch-depth: 0
		c := ahead(t)
		onlyNew(t, runs(t, c.fetch(c.Git("rev-parse", "change"), 0), "pull_request_target", c.event()))
	})
	t.Run("the head alone", func(t *testing.T) { // where it has left the base is not in the checkout
		c := ahead(t)
		o := runs(t, c.fetch(c.Git("rev-parse", "change"), 1), "pull_request_target", c.event())
		if o.outputs["exit-code"] != "2" || len(o.annotations) != 1 || !strings.Contains(o.annotations[0].text, "fetch-depth: 0") {
			t.Errorf("%v, %v\n%s", o.outputs, o.annotations, o.log)
		}
	})
	t.Run("no way to the base", func(t *testing.T) {
		c := ahead(t)
		r := c.checkout(1)
		r.Git("remote", "set-url", "origin", "file:///nowhere")
		o := runs(t, r, "pull_request", c.event())
		if o.outputs["exit-code"] != "2" || len(o.annotations) != 1 || !strings.Contains(o.annotations[0].text, "fetch") {
			t.Errorf("%v, %v\n%s", o.outputs, o.annotations, o.log)
		}
	})
	t.Run("a merge queue", func(t *testing.T) {
		c := ahead(t)
		main := c.Git("rev-parse", "main")
		r := c.checkout(0)
		onlyNew(t, runs(t, r, "merge_group", map[string]any{"merge_group": map[string]any{"base_sha": main, "base_ref": "refs/heads/main"}}))
	})
	t.Run("none", func(t *testing.T) {
		c := ahead(t)
		c.Write(where, workflow("since: none\nconfig-from: none"))
		if o := runs(t, c.checkout(1), "pull_request", c.event()); o.outputs["findings"] != "3" {
			t.Errorf("%v\n%s", o.outputs, o.log)
		}
	})
	t.Run("another", func(t *testing.T) {
		c := ahead(t)
		c.Write(where, workflow("since: "+c.Git("rev-parse", "change")+"\nconfig-from: HEAD"))
		if o := runs(t, c.checkout(0), "pull_request", c.event()); o.outputs["findings"] != "1" || o.annotations[0].file != "others.yaml" {
			t.Errorf("%v, %v\n%s", o.outputs, o.annotations, o.log)
		}
	})
}

// A change cannot switch off the rule that it breaks, and the reviewer is told that it tries.
func TestChangeDoesNotDecide(t *testing.T) {
	c := newChange(t, map[string]string{where: workflow(""), ".meshvet.yaml": "rules: {SE101: error}\n"})
	c.Write("new.yaml", scratch.Bad("new"))
	c.Write(".meshvet.yaml", "rules: {SE101: off}\n")
	o := runs(t, c.checkout(2), "pull_request", c.event())
	want := []annotation{
		{"notice", ".meshvet.yaml", "1", "MV909 gate-changed", ""},
		{"error", "new.yaml", "7", "SE101 resolution-not-dns", ""},
	}
	if diff := cmp.Diff(want, brief(o.annotations), cmp.AllowUnexported(annotation{})); diff != "" || o.outputs["exit-code"] != "1" {
		t.Errorf("%v %s\n%s", o.outputs, diff, o.log)
	}
}

// Text of inputs, of file names and of events is text.
func TestHostileText(t *testing.T) {
	pwned := filepath.Join(t.TempDir(), "pwned")
	command := "$(touch " + pwned + ")"
	t.Run("inputs", func(t *testing.T) {
		// All at once would stop at the first.
		for _, input := range []string{"paths", "since", "config-from", "config", "fail-on", "args", "working-directory", "sarif-file", "install", "version", "binary", "checksums-sha256"} {
			text := command + " `touch " + pwned + "` \"'; touch " + pwned + " #\n::add-mask::x"
			c := newChange(t, map[string]string{"old.yaml": scratch.Bad("old")})
			quoted, err := json.Marshal(text)
			if err != nil {
				t.Fatal(err)
			}
			made := workflow
			switch input {
			case "binary", "install", "version", "checksums-sha256":
				made = installing
			}
			c.Write(where, made(input+": "+string(quoted)))
			o := runs(t, c.checkout(2), "pull_request", c.event())
			if o.steps["meshvet"] != "failure" {
				t.Errorf("%s: %s passes\n%s", input, text, o.log)
			}
			obeyed(t, o)
		}
	})
	t.Run("names", func(t *testing.T) {
		c := newChange(t, map[string]string{where: workflow("fail-on: error"), "a.yaml": scratch.Good("a")})
		// A file name takes no slash.
		without := home.Environ
		home.Environ = append(slices.Clone(without), "PWNED="+pwned)
		defer func() { home.Environ = without }()
		for _, name := range []string{"$(touch $PWNED).yaml", "`touch $PWNED`.yaml", "::add-mask::x.yaml", "##[add-mask]x.yaml", "x\n::add-mask::x.yaml", "--config=a.yaml", "::stop-commands::x.yaml"} {
			c.Write(name, scratch.Bad("new"))
		}
		c.Write("::error::broken.yaml", "apiVersion: networking.istio.io/v1\nkind: ServiceEntry\nspec: [\n")
		event := c.event()
		event["pull_request"].(map[string]any)["head"].(map[string]any)["ref"] = "a`touch " + pwned + "`\"'" + command
		o := runs(t, c.checkout(2), "pull_request", event)
		obeyed(t, o)
		if o.outputs["exit-code"] != "2" || len(o.annotations) < 7 {
			t.Errorf("%v %v\n%s", o.outputs, o.annotations, o.log)
		}
	})
	if _, err := os.Stat(pwned); err == nil {
		t.Error("a text was run as a command")
	}
}

// obeyed fails the test if a workflow command was obeyed that is not the action's own.
func obeyed(t *testing.T, o *outcome) {
	t.Helper()
	open := false
	for _, command := range o.commands {
		switch {
		case command == "stop-commands" && !open:
			open = true
		case open && len(command) == 32: // the token
			open = false
		default:
			t.Errorf("the runner obeyed %q\n%s", command, o.log)
		}
	}
}

// How the program comes there.
func TestInstall(t *testing.T) {
	refused := func(t *testing.T, inputs, message string) {
		t.Helper()
		c := newChange(t, map[string]string{where: installing(inputs), "old.yaml": scratch.Bad("old")})
		o := runs(t, c.checkout(2), "pull_request", c.event())
		if o.steps["meshvet install"] != "failure" || o.steps["meshvet lint"] != "" || len(o.annotations) != 1 || !strings.Contains(o.annotations[0].text, message) {
			t.Errorf("%s: %v %v\n%s", inputs, o.steps, o.annotations, o.log)
		}
	}
	taken := func(t *testing.T, inputs string) {
		t.Helper()
		c := newChange(t, map[string]string{where: installing(inputs), "old.yaml": scratch.Bad("old")})
		if o := runs(t, c.fetch(c.base, 1), "push", nil); o.steps["meshvet install"] != "success" || o.outputs["findings"] != "1" {
			t.Errorf("%s: %v %v\n%s", inputs, o.steps, o.outputs, o.log)
		}
	}
	refused(t, "version: v0.1.1", releases.Archive("v0.1.1")+" is not the file that the checksums.txt of v0.1.1 names")
	refused(t, "version: v0.1.2", "does not name "+releases.Archive("v0.1.2"))
	refused(t, "version: v9.9.9", "/v9.9.9/checksums.txt cannot be fetched")
	refused(t, "version: ../../x", "is no version such as v0.1.0")
	refused(t, "checksums-sha256: "+strings.Repeat("0", 64), "is not the one that checksums-sha256 names")
	refused(t, "install: latest", "is not one of auto, release, go, source")
	refused(t, "binary: nowhere/meshvet", "nowhere/meshvet is no program")
	refused(t, "binary: old.yaml", "old.yaml is no program")
	taken(t, "checksums-sha256: "+releases.Sum())
	taken(t, "binary: "+filepath.Join(programs, "meshvet"))

	// From the action's own source.
	alone := action
	defer func() { action = alone }()
	action = home.Clone
	taken(t, "install: source")
}

// Other inputs.
func TestInputs(t *testing.T) {
	c := newChange(t, map[string]string{
		where: workflow(`working-directory: deploy
paths: |
  with space
  other.yaml
args: |
  --complete=Service

  --disable
  DR204
config: my config.yaml
sarif-file: ../out.sarif
fail-on: never`),
		"deploy/with space/a.yaml": scratch.Bad("a"), "deploy/other.yaml": scratch.Bad("b"), "deploy/third.yaml": scratch.Bad("c"),
		"deploy/my config.yaml": "rules: {SE101: error}\n",
	})
	o := runs(t, c.fetch(c.base, 1), "push", nil)
	want := []annotation{
		{"error", "deploy/other.yaml", "7", "SE101 resolution-not-dns", ""}, {"error", "deploy/with space/a.yaml", "7", "SE101 resolution-not-dns", ""},
	}
	if diff := cmp.Diff(want, brief(o.annotations), cmp.AllowUnexported(annotation{})); diff != "" || o.steps["meshvet"] != "success" || o.outputs["exit-code"] != "0" {
		t.Errorf("%v %v %s\n%s", o.steps, o.outputs, diff, o.log)
	}
}

// The inputs that docs/guide/github.md gives as an example, after the workflow, which is that of examples/github-action.
func TestGuide(t *testing.T) {
	guide, err := os.ReadFile(filepath.Join(home.Checkout, "docs", "guide", "github.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, inputs, there := strings.Cut(string(guide), "```yaml\n      with:\n")
	inputs, _, closed := strings.Cut(inputs, "```")
	if !there || !closed {
		t.Fatal("the guide has no inputs")
	}
	inputs = strings.TrimPrefix(strings.ReplaceAll("\n"+inputs, "\n        ", "\n"), "\n")
	rule := "apiVersion: networking.istio.io/v1\nkind: DestinationRule\nmetadata: {name: a, namespace: shop}\nspec: {host: nowhere.example.com}\n"
	c := newChange(t, map[string]string{where: workflow(inputs), "base/a.yaml": scratch.Bad("a"), "clusters/prod/b.yaml": rule, "clusters/test/c.yaml": scratch.Bad("c")})
	o := runs(t, c.fetch(c.base, 1), "push", nil)
	var got []string
	for _, a := range o.annotations {
		id, _, _ := strings.Cut(a.title, " ")
		got = append(got, a.file+" "+id)
	}
	if want := []string{"base/a.yaml SE101", "clusters/prod/b.yaml MX301"}; !slices.Equal(got, want) || o.outputs["exit-code"] != "0" {
		t.Errorf("%q %v\n%s", got, o.outputs, o.log)
	}
}
