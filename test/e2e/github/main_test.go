// Package github tests action.yml as a workflow uses it: nektos/act runs the workflow of examples/github-action on this machine, in a clone as
// actions/checkout makes it, with a server that stands for the releases of GitHub.
package github

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/meshvet/meshvet/test/e2e/scratch"
)

// What all tests share. TestMain sets it.
var (
	home     *scratch.Home
	act      string
	programs string // the folder of meshvet
	action   string // a folder with action.yml alone, since act copies all of it, twice
	upload   string // stands for github/codeql-action, which would send the report to GitHub
	shell    string // a folder with the bash that steps run in
	releases *scratch.Releases
)

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	ctx := context.Background()
	if home, err = scratch.New(ctx); err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, home.Remove()) }()
	if act, err = home.Tool(ctx, "act"); err != nil {
		return 1, err
	}
	if programs, err = home.Build(ctx); err != nil {
		return 1, err
	}
	if releases, err = scratch.Serve(programs); err != nil {
		return 1, err
	}
	defer releases.Close()
	action = filepath.Join(home.Dir, "action")
	text, err := os.ReadFile(filepath.Join(home.Checkout, "action.yml"))
	if err != nil {
		return 1, err
	}
	if err := os.Mkdir(action, 0o700); err != nil {
		return 1, err
	}
	if err := os.WriteFile(filepath.Join(action, "action.yml"), text, 0o600); err != nil {
		return 1, err
	}
	upload = filepath.Join(home.Dir, "codeql-action")
	if err := os.MkdirAll(filepath.Join(upload, "upload-sarif"), 0o700); err != nil {
		return 1, err
	}
	if err := os.WriteFile(filepath.Join(upload, "upload-sarif", "action.yml"), []byte(uploadSARIF), 0o600); err != nil {
		return 1, err
	}
	shell = filepath.Join(home.Dir, "shell")
	if err := os.Mkdir(shell, 0o700); err != nil {
		return 1, err
	}
	if err := os.WriteFile(filepath.Join(shell, "bash"), []byte(patientBash), 0o700); err != nil {
		return 1, err
	}
	return m.Run(), nil
}

// patientBash is bash, but for this: act does not wait for the last lines of a step that fails. So the shell does not end before act has
// written them to its log.
const patientBash = `#!/bin/sh
PATH=${PATH#*:}
bash "$@"
code=$?
if [ "$code" -ne 0 ]; then
  printf '\nend of step %s\n' "$$"
  for _ in $(seq 200); do
    if grep -q "end of step $$" "$LOG"; then break; fi
    sleep 0.02
  done
fi
exit "$code"
`

// uploadSARIF puts the report away. The inputs are those of the real one.
const uploadSARIF = `name: upload-sarif
description: puts the report away
inputs: {sarif_file: {required: true}, category: {}}
runs:
  using: composite
  steps:
  - {shell: bash, env: {SARIF: '${{ inputs.sarif_file }}'}, run: 'cp "$SARIF" "$FILES/uploaded.sarif"'}
`

// change is a repository on GitHub with a pull request.
type change struct {
	*scratch.Repository
	base string // the commit that the pull request was last compared with
}

// newChange makes a repository whose main branch holds these files, and checks out a branch for the change.
func newChange(t *testing.T, files map[string]string) *change {
	t.Helper()
	c := &change{Repository: home.Repository(t)}
	for name, text := range files {
		c.Write(name, text)
	}
	c.base = c.Commit()
	c.Git("config", "uploadpack.allowAnySHA1InWant", "true") // as GitHub has it
	c.Git("checkout", "--quiet", "-b", "change")
	return c
}

// checkout is what actions/checkout makes of a pull request: its merge into main, with so many commits. 0 is all of them.
func (c *change) checkout(depth int) *scratch.Repository {
	t := c.T
	t.Helper()
	head := c.Commit()
	c.Git("checkout", "--quiet", "--detach", "main")
	c.Git("merge", "--quiet", "--no-ff", "-m", "Merge "+head+" into main", head)
	merge := c.Git("rev-parse", "HEAD")
	c.Git("update-ref", "refs/pull/1/merge", merge)
	c.Git("checkout", "--quiet", "change")
	return c.fetch(merge, depth)
}

// fetch is what actions/checkout makes of a commit.
func (c *change) fetch(commit string, depth int) *scratch.Repository {
	t := c.T
	t.Helper()
	r := &scratch.Repository{T: t, Home: home, Dir: t.TempDir()}
	r.Git("init", "--quiet")
	r.Git("remote", "add", "origin", "file://"+c.Dir)
	args := []string{"fetch", "--quiet", "--no-tags", "origin", "+" + commit + ":refs/remotes/pull/1/merge"}
	if depth > 0 {
		args = append(args, fmt.Sprintf("--depth=%d", depth))
	}
	r.Git(args...)
	r.Git("checkout", "--quiet", "--detach", commit)
	return r
}

// event is the payload of an event of the pull request.
func (c *change) event() map[string]any {
	return map[string]any{"number": 1, "pull_request": map[string]any{
		"number": 1,
		"base":   map[string]any{"sha": c.base, "ref": "main"},
		"head":   map[string]any{"sha": c.Git("rev-parse", "change"), "ref": "change", "repo": map[string]any{"fork": true}},
	}}
}

// outcome is what came of a workflow.
type outcome struct {
	log         string
	steps       map[string]string // by ID: success or failure
	outputs     map[string]string // of the action
	summary     string
	annotations []annotation
	commands    []string // workflow commands that were obeyed, but for annotations
	files       string   // the folder with what the workflow has put away
}

// annotation is a workflow command that shows a text beside a line.
type annotation struct{ level, file, line, title, text string }

// logged is a line of act's log, as far as the tests read it.
type logged struct {
	Msg        string            `json:"msg"`
	Command    string            `json:"command"`
	Name       string            `json:"name"`
	Arg        string            `json:"arg"`
	Content    string            `json:"content"`
	Pairs      map[string]string `json:"kvPairs"`
	Stage      string            `json:"stage"`
	StepID     []string          `json:"stepID"`
	StepResult string            `json:"stepResult"`
	RawOutput  bool              `json:"raw_output"`
}

// workflow is one with a step that uses the action with these inputs, in YAML, and the program that the tests have built.
func workflow(inputs string) string {
	return installing("binary: " + filepath.Join(programs, "meshvet") + "\n" + inputs)
}

// installing is one whose inputs say where the program is from.
func installing(inputs string) string {
	inputs = strings.TrimSpace("download-url: " + releases.URL + "\n" + inputs)
	return `on: [pull_request, pull_request_target, push, merge_group]
jobs:
  meshvet:
    runs-on: ubuntu-latest
    steps:
    - uses: actions/checkout@3d3c42e5aac5ba805825da76410c181273ba90b1
    - id: meshvet
      uses: ` + "meshvet/meshvet@" + scratch.Release + `
      with:
        ` + strings.ReplaceAll(inputs, "\n", "\n        ") + `
`
}

// where a workflow stands in a repository.
const where = ".github/workflows/meshvet.yaml"

// runs has act run the workflow of a checkout for an event.
func runs(t *testing.T, r *scratch.Repository, name string, event map[string]any) *outcome {
	t.Helper()
	if event == nil {
		event = map[string]any{}
	}
	event["repository"] = map[string]any{"default_branch": "main", "full_name": "shop/manifests"}
	payload, err := json.Marshal(event)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	o := &outcome{steps: map[string]string{}, outputs: map[string]string{}, files: filepath.Join(dir, "files")}
	if err := os.Mkdir(o.files, 0o700); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "event.json")
	if err := os.WriteFile(file, payload, 0o600); err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(dir, "log")
	out, _, err := home.Run(t.Context(), r.Dir, "sh", "-c", `export LOG="$0" PATH="$1:$PATH"; shift; exec "$@" >"$LOG" 2>&1`, log, shell, act, name, "--json", "--eventpath", file, "--platform", "ubuntu-latest=-self-hosted", "--no-cache-server",
		"--action-cache-path", filepath.Join(dir, "cache"), "--local-repository", "meshvet/meshvet@"+scratch.Release+"="+action,
		"--local-repository", "github/codeql-action@cdf488f595d80d6e07e03d4674febd5ab45fa938="+upload, "--env", "FILES="+o.files)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	all, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	for text := range strings.Lines(string(all)) {
		if !strings.HasPrefix(text, "{") { // act's own closing word
			o.log += text
			continue
		}
		var l logged
		if err := json.Unmarshal([]byte(text), &l); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		o.log += strings.TrimSuffix(l.Msg, "\n") + "\n"
		step := strings.Join(l.StepID, " ")
		if l.StepResult != "" && l.Stage == "Main" {
			o.steps[step] = l.StepResult
		}
		switch l.Command {
		case "", "ignored":
		case "set-output":
			if step == "meshvet" {
				o.outputs[l.Name] = l.Arg
			}
		case "summary":
			if step == "meshvet lint" {
				o.summary += l.Content
			}
		case "error", "warning", "notice":
			o.annotations = append(o.annotations, annotation{l.Command, l.Pairs["file"], l.Pairs["line"], l.Pairs["title"], l.Arg})
		default:
			o.commands = append(o.commands, l.Command)
		}
	}
	if o.steps["meshvet"] == "" {
		t.Fatalf("the action did not run:\n%s", o.log)
	}
	return o
}
