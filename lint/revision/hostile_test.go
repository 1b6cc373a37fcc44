package revision

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// hostile is a repository of two commits whose configuration names a program wherever it can. Each leaves a mark in a folder of its own.
type hostile struct {
	*repo
	marks   string
	missing string // path of a file whose blob is not there
}

func newHostile(t *testing.T) *hostile {
	t.Helper()
	h := &hostile{repo: newRepo(t), marks: t.TempDir(), missing: "lost.yaml"}
	text := "kind: ServiceEntry\n"
	h.commit(map[string]string{"a.yaml": text, "sub/b.yaml": text, h.missing: "kind: DestinationRule\n"})
	h.git("checkout", "-q", "-b", "change")
	h.commit(map[string]string{"a.yaml": text + "# changed\n", ".gitattributes": "*.yaml filter=evil diff=evil merge=evil ident\n"})
	blob := h.git("rev-parse", "main:"+h.missing)
	if err := os.Remove(filepath.Join(h.dir, ".git", "objects", blob[:2], blob[2:])); err != nil {
		t.Fatal(err)
	}

	touch := func(mark string) string { return "touch " + filepath.Join(h.marks, mark) + ";" }
	hooks := filepath.Join(h.dir, ".git", "evil")
	for _, hook := range []string{"post-checkout", "post-index-change", "reference-transaction", "fsmonitor-watchman", "pre-auto-gc", "sendemail-validate"} {
		at := filepath.Join(hooks, hook)
		if err := errors.Join(os.MkdirAll(hooks, 0o755), os.WriteFile(at, []byte("#!/bin/sh\n"+touch("hook-"+hook)+"\n"), 0o755)); err != nil {
			t.Fatal(err)
		}
	}
	shell := filepath.Join(h.dir, ".git", "pack.sh") // a program without arguments of its own
	if err := os.WriteFile(shell, []byte("#!/bin/sh\n"+touch("uploadpack")+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	h.configure(fmt.Sprintf(`
[core]
	fsmonitor = "%s #"
	hooksPath = %s
	pager = "%s"
	editor = "%s"
	sshCommand = "%s"
	askPass = "%s"
	gitProxy = "%s"
	alternateRefsCommand = "%s"
[pager]
	cat-file = "%[3]s"
	rev-parse = "%[3]s"
	ls-files = "%[3]s"
[filter "evil"]
	clean = "%[9]s cat"
	smudge = "%[10]s cat"
	required = true
[diff]
	external = "%[11]s"
[diff "evil"]
	textconv = "%[12]s cat"
	command = "%[13]s"
[alias]
	cat-file = "!%[14]s"
	rev-parse = "!%[14]s"
	merge-base = "!%[14]s"
[gpg]
	program = "%[15]s"
[log]
	showSignature = true
[credential]
	helper = "!%[16]s"
[protocol]
	allow = always
[protocol "ext"]
	allow = always
[protocol "file"]
	allow = always
[uploadpack]
	packObjectsHook = "%[17]s"
`,
		touch("fsmonitor"), hooks, touch("pager"), touch("editor"), touch("ssh"), touch("askpass"), touch("proxy"), touch("alternate"),
		touch("clean"), touch("smudge"), touch("external"), touch("textconv"), touch("command"), touch("alias"), touch("gpg"), touch("credential"), touch("pack")))
	return h
}

// promise makes a remote that is to have what is missing.
func (h *hostile) promise(url string) {
	h.Helper()
	h.configure(fmt.Sprintf(`
[extensions]
	partialClone = evil
[remote "evil"]
	url = %q
	promisor = true
	partialCloneFilter = blob:none
	uploadpack = %q
`, url, filepath.Join(h.dir, ".git", "pack.sh")))
}

// configure adds to the configuration of the repository.
func (h *hostile) configure(text string) {
	h.Helper()
	at := filepath.Join(h.dir, ".git", "config")
	before, err := os.ReadFile(at)
	if err == nil {
		err = os.WriteFile(at, append(before, text...), 0o644)
	}
	if err != nil {
		h.Fatal(err)
	}
}

// remote is where a transport would look for what is missing.
func (h *hostile) remote(transport string) string {
	return map[string]string{
		"ext":   "ext::sh -c touch% " + filepath.Join(h.marks, "ext"),
		"path":  h.dir,
		"ssh":   "ssh://example.com/x",
		"git":   "git://127.0.0.1:1/x",
		"https": "https://127.0.0.1:1/x",
	}[transport]
}

func (h *hostile) marked() string {
	h.Helper()
	entries, err := os.ReadDir(h.marks)
	if err != nil {
		h.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return strings.Join(names, " ")
}

// everything asks all that the package can be asked, and some that fails.
func (h *hostile) everything() {
	h.Helper()
	opened := h.open()
	for _, name := range []string{"main", "main...", "HEAD~1", "change"} {
		tree := h.resolve(opened, name)
		files := list(h.T, tree)
		if _, there := files["sub/b.yaml"]; !there {
			h.Errorf("%s: files are %s", name, paths(files))
		}
		if text, err := read(h.Context(), tree, files["a.yaml"]); err != nil || !strings.HasPrefix(text, "kind: ServiceEntry\n") {
			h.Errorf("%s: a.yaml is %q, %v", name, text, err)
		}
		_, err := read(h.Context(), tree, files[h.missing])
		if err == nil || !strings.Contains(err.Error(), h.missing+" at "+name) {
			h.Errorf("%s: what is missing was read: %v", name, err)
		}
		// It is of use after that.
		if text, err := read(h.Context(), tree, files["sub/b.yaml"]); err != nil || text != "kind: ServiceEntry\n" {
			h.Errorf("%s: sub/b.yaml is %q, %v", name, text, err)
		}
	}
	if _, err := opened.LeftOut(h.Context(), map[string]bool{"gone.yaml": true}); err != nil {
		h.Error(err)
	}
	for _, name := range []string{"no-such", "main:a.yaml", "--help", "-cfoo=bar", ":/x", ":a.yaml"} {
		if _, err := opened.Resolve(h.Context(), name); err == nil {
			h.Errorf("%q is a revision", name)
		}
	}
}

func TestNothingOfTheRepositoryRuns(t *testing.T) {
	for _, transport := range []string{"ext", "path", "ssh", "git", "https"} {
		t.Run(transport, func(t *testing.T) {
			h := newHostile(t)
			h.promise(h.remote(transport))
			h.everything()
			if got := h.marked(); got != "" {
				t.Errorf("these ran: %s", got)
			}
		})
	}
	// An older git does not know GIT_NO_LAZY_FETCH.
	t.Run("second lock", func(t *testing.T) {
		h := newHostile(t)
		h.promise(h.remote("ext"))
		opened := h.open()
		for i, v := range opened.env {
			if strings.HasPrefix(v, "GIT_NO_LAZY_FETCH=") {
				opened.env[i] = "GIT_NO_LAZY_FETCH=0"
			}
		}
		tree := h.resolve(opened, "main")
		if _, err := read(t.Context(), tree, list(t, tree)[h.missing]); err == nil {
			t.Error("what is missing was read")
		}
		if got := h.marked(); got != "" {
			t.Errorf("these ran: %s", got)
		}
	})
}

// The repository of the test above has to be one that runs things.
func TestHostileRepositoryIsHostile(t *testing.T) {
	for _, c := range []struct {
		mark string
		git  []string
	}{
		{"fsmonitor", []string{"status"}},
		{"clean", []string{"add", "--renormalize", "."}},
		{"smudge", []string{"cat-file", "--filters", "main:a.yaml"}},
		{"command", []string{"diff", "main", "--", "a.yaml"}},
		{"textconv", []string{"cat-file", "--textconv", "main:a.yaml"}},
		{"hook-post-index-change", []string{"update-index", "--force-write-index"}},
		{"hook-reference-transaction", []string{"update-ref", "refs/heads/x", "HEAD"}},
		{"ext", []string{"cat-file", "-p", "main:lost.yaml"}},
		{"ssh", []string{"cat-file", "-p", "main:lost.yaml"}},
		{"uploadpack", []string{"cat-file", "-p", "main:lost.yaml"}},
	} {
		h := newHostile(t)
		switch c.mark {
		case "ssh":
			h.promise(h.remote("ssh"))
		case "uploadpack":
			h.promise(h.remote("path"))
		default:
			h.promise(h.remote("ext"))
		}
		h.env = append(h.env, "GIT_NO_LAZY_FETCH=0")
		out, _ := h.try("", c.git...)
		if _, err := os.Stat(filepath.Join(h.marks, c.mark)); errors.Is(err, fs.ErrNotExist) {
			t.Errorf("git %s leaves %q, not %s:\n%s", strings.Join(c.git, " "), h.marked(), c.mark, out)
		}
	}
}
