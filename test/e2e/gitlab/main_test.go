// Package gitlab tests the job of examples/gitlab-ci as a project uses it: gitlab-ci-local runs the project's pipeline on this machine, in a
// clone as GitLab's runner makes it, with servers that stand for the template on GitHub and for the releases.
package gitlab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/meshvet/meshvet/test/e2e/scratch"
)

// What all tests share. TestMain sets it.
var (
	home      *scratch.Home
	local     string // gitlab-ci-local, "" if it is not there
	programs  string // the folder of meshvet
	releases  *scratch.Releases
	templates *httptest.Server // stands for raw.githubusercontent.com
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
	cache := os.Getenv("XDG_CACHE_HOME") // as in the Makefile
	if cache == "" {
		user, err := os.UserHomeDir()
		if err != nil {
			return 1, fmt.Errorf("find the cache folder: %w", err)
		}
		cache = filepath.Join(user, ".cache")
	}
	local = filepath.Join(cache, "meshvet", "e2e", "npm", "node_modules", ".bin", "gitlab-ci-local")
	if _, err := os.Stat(local); errors.Is(err, os.ErrNotExist) {
		local = ""
		return m.Run(), nil
	}
	ctx := context.Background()
	if home, err = scratch.New(ctx); err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, home.Remove()) }()
	if programs, err = home.Build(ctx); err != nil {
		return 1, err
	}
	if releases, err = scratch.Serve(programs); err != nil {
		return 1, err
	}
	defer releases.Close()
	prefix := "/meshvet/meshvet/" + scratch.Release
	templates = httptest.NewServer(http.StripPrefix(prefix, http.FileServer(http.Dir(home.Clone))))
	defer templates.Close()
	return m.Run(), nil
}

// change is a project on GitLab with a merge request.
type change struct {
	*scratch.Repository
	base string // the commit that the merge request has left
}

// newChange makes a project whose main branch holds these files beside the pipeline of examples/gitlab-ci, and checks out a branch for the change.
func newChange(t *testing.T, files map[string]string) *change {
	t.Helper()
	switch {
	case local != "":
	case os.Getenv("CI") == "true":
		t.Fatal("there is no gitlab-ci-local; make e2e-tools installs it")
	default:
		t.Skip("there is no gitlab-ci-local; make e2e-tools installs it")
	}
	c := &change{Repository: home.Repository(t)}
	text, err := os.ReadFile(filepath.Join(home.Checkout, "examples", "gitlab-ci", ".gitlab-ci.yml"))
	if err != nil {
		t.Fatal(err)
	}
	c.Write(".gitlab-ci.yml", served(t, string(text)))
	c.Write(".gitignore", ".gitlab-ci-local/\n")
	for name, text := range files {
		c.Write(name, text)
	}
	c.base = c.Commit()
	c.Git("config", "uploadpack.allowAnySHA1InWant", "true") // as GitLab has it
	c.Git("checkout", "--quiet", "-b", "change")
	return c
}

// served is the text of a pipeline with the template of the test server.
func served(t *testing.T, pipeline string) string {
	t.Helper()
	const host = "https://raw.githubusercontent.com"
	if !strings.Contains(pipeline, host) {
		t.Fatalf("the pipeline does not take the template from %s:\n%s", host, pipeline)
	}
	return strings.ReplaceAll(pipeline, host, templates.URL)
}

// fetch is what GitLab's runner makes of a commit with GIT_DEPTH 1.
func (c *change) fetch(commit string) *scratch.Repository {
	t := c.T
	t.Helper()
	r := &scratch.Repository{T: t, Home: home, Dir: t.TempDir()}
	r.Git("init", "--quiet")
	r.Git("remote", "add", "origin", "file://"+c.Dir)
	r.Git("fetch", "--quiet", "--no-tags", "--depth=1", "origin", "+"+commit+":refs/pipelines/1")
	r.Git("checkout", "--quiet", "--detach", commit)
	return r
}

// mergeRequest are the variables of a pipeline about the head of the merge request.
func (c *change) mergeRequest() []string {
	return []string{"CI_PIPELINE_SOURCE=merge_request_event", "CI_COMMIT_BRANCH=", "CI_MERGE_REQUEST_DIFF_BASE_SHA=" + c.base}
}

// head commits all there is and checks it out as the runner does.
func (c *change) head() *scratch.Repository {
	c.T.Helper()
	return c.fetch(c.Commit())
}

// outcome is what came of the job.
type outcome struct {
	code   int // of gitlab-ci-local: 0 if the job has passed
	log    string
	issues []string // of the Code Quality report, as FILE:LINE RULE
	junit  string
	html   string
}

// runs has gitlab-ci-local run the job in a checkout, with these variables.
func runs(t *testing.T, r *scratch.Repository, variables ...string) *outcome {
	t.Helper()
	args := []string{
		"env", "PATH=" + programs + string(filepath.ListSeparator) + os.Getenv("PATH"), local, "--force-shell-executor", "--no-color", "--fetch-includes",
	}
	for _, v := range variables {
		args = append(args, "--variable", v)
	}
	return ran(t, r, append(args, "meshvet")...)
}

// ran runs a command that runs the job, and reads the reports.
func ran(t *testing.T, r *scratch.Repository, args ...string) *outcome {
	t.Helper()
	out, code, err := home.Run(t.Context(), r.Dir, args...)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	o := &outcome{code: code, log: out}
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join(r.Dir, name))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		return string(text)
	}
	o.junit, o.html = read("meshvet.xml"), read("meshvet.html")
	var issues []struct {
		Check    string `json:"check_name"`
		Location struct {
			Path  string
			Lines struct{ Begin int }
		}
	}
	if text := read("gl-code-quality-report.json"); text != "" {
		if err := json.Unmarshal([]byte(text), &issues); err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
	}
	for _, i := range issues {
		o.issues = append(o.issues, fmt.Sprintf("%s:%d %s", i.Location.Path, i.Location.Lines.Begin, i.Check))
	}
	return o
}
