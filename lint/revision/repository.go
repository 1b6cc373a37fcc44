package revision

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
)

// Repository is a git repository with a working tree.
type Repository struct {
	root    string
	git     string // the program
	env     []string
	shallow bool
}

// Open opens the repository whose working tree begins at a folder. environ is the environment of this program, of which git gets
// what it needs.
func Open(ctx context.Context, root string, environ []string) (*Repository, error) {
	git, err := exec.LookPath("git")
	if err != nil {
		return nil, errNoGit
	}
	r := &Repository{root: root, git: git, env: environment(environ)}
	// The folder comes last, since there may be line ends in its name.
	out, said, err := r.run(ctx, 1<<16, "", "rev-parse", "--is-shallow-repository", "--is-bare-repository", "--show-toplevel")
	if err != nil {
		if ctx.Err() != nil {
			return nil, err
		}
		if lines := strings.SplitN(out, "\n", 3); len(lines) > 1 && lines[1] == "true" {
			return nil, fmt.Errorf("%s is a bare repository, which has no working tree to compare", root)
		}
		if strings.Contains(said, "not a git repository") {
			return nil, fmt.Errorf("%s is not a git repository", root)
		}
		return nil, r.failed("open the repository "+root, err, said)
	}
	lines := strings.SplitN(out, "\n", 3)
	if len(lines) < 3 {
		return nil, fmt.Errorf("open the repository %s: git gives %q for an answer", root, out)
	}
	r.shallow = lines[0] == "true"
	// A configuration can place the working tree elsewhere; then its files are not those that were asked about.
	top := strings.TrimSuffix(strings.TrimSuffix(lines[2], "\n"), "\r")
	if !sameFolder(top, root) {
		return nil, fmt.Errorf("%s is not the root of a working tree: git takes %s for it", root, top)
	}
	return r, nil
}

func sameFolder(a, b string) bool {
	x, errA := os.Stat(a)
	y, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(x, y)
}

// Root is the folder in which the working tree begins, as it was opened.
func (r *Repository) Root() string { return r.root }

// maxName bounds the name of a revision, in bytes.
const maxName = 1024

// Resolve finds the commit that a name means: a branch, a tag, a hash, HEAD~2 and whatever else git takes for one. A...B is the commit
// in which A and B parted, and a side that is left out is HEAD. The tree has to be closed.
func (r *Repository) Resolve(ctx context.Context, name string) (*Tree, error) {
	left, right, parted := strings.Cut(name, "...")
	var commit string
	var err error
	switch {
	case parted:
		commit, err = r.mergeBase(ctx, name, left, right)
	case strings.Contains(name, ".."):
		return nil, fmt.Errorf("%q is a range of revisions, and one is wanted; %q is the commit in which both parted", name, strings.Replace(name, "..", "...", 1))
	default:
		commit, err = r.commit(ctx, name)
	}
	if err != nil {
		return nil, err
	}
	return &Tree{repository: r, name: name, commit: commit}, nil
}

// commit returns the hash of the commit that a name means.
func (r *Repository) commit(ctx context.Context, name string) (string, error) {
	switch {
	case name == "":
		return "", errors.New("the name of a revision is empty; give a branch, a tag or a commit, such as origin/main")
	case len(name) > maxName:
		return "", fmt.Errorf("%.40q… is no revision: it is longer than %d bytes", name, maxName)
	case strings.ContainsFunc(name, func(c rune) bool { return c < ' ' || c == 0x7f }):
		return "", fmt.Errorf("%q is no revision: it holds a line end or another control character", name)
	case name[0] == '-':
		return "", fmt.Errorf("%q is no revision: none begins with a dash", name)
	case name[0] == ':':
		return "", fmt.Errorf("%q is no commit: what begins with a colon is the index, or a search; give a branch, a tag or a commit", name)
	case strings.Contains(outsideBraces(name), ":"):
		return "", fmt.Errorf("%q is a file of a revision; give the revision alone", name)
	case name[0] == '^' || strings.HasSuffix(name, "^!") || strings.HasSuffix(name, "^@"):
		return "", fmt.Errorf("%q is a set of revisions, and one is wanted", name)
	}
	remote := "refs/remotes/origin/" + name
	out, said, err := r.run(ctx, 1<<16, name+"^{commit}\n"+remote+"^{commit}\n", "cat-file", "--batch-check=%(objectname) %(objecttype)")
	if err != nil {
		if ctx.Err() != nil {
			return "", err
		}
		return "", r.failed(fmt.Sprintf("find the revision %q", name), err, said)
	}
	answers := strings.Split(out, "\n")
	for len(answers) < 2 {
		answers = append(answers, "")
	}
	hash, found := strings.CutSuffix(answers[0], " commit")
	found = found && isHash(hash)
	switch {
	case strings.HasSuffix(answers[0], " ambiguous") || strings.Contains(said, "short object ID"):
		return "", fmt.Errorf("%q is the beginning of more than one commit; give more of it", name)
	case found && name != "HEAD" && strings.Contains(said, "refname '"+name+"' is ambiguous"):
		return "", fmt.Errorf("%q is ambiguous: a branch, a tag or a remote branch may be meant; write refs/heads/%s, refs/tags/%s or origin/%s", name, name, name, name)
	case found:
		return hash, nil
	case strings.Contains(said, "expected commit type"):
		return "", fmt.Errorf("%q is no commit; give a branch, a tag or a commit", name)
	case strings.HasSuffix(answers[1], " commit"):
		return "", fmt.Errorf("there is no revision %q in %s; did you mean origin/%s?", name, r.root, name)
	case r.shallow:
		return "", fmt.Errorf("there is no revision %q in %s, which is a shallow clone: fetch more of it, by git fetch --unshallow, fetch-depth: 0 in GitHub Actions, or GIT_DEPTH: 0 in GitLab CI", name, r.root)
	}
	return "", fmt.Errorf("there is no revision %q in %s; fetch it, or give another", name, r.root)
}

// outsideBraces is the name of a revision without what says when or looks for something: main@{10:00}, main^{/text}.
func outsideBraces(name string) string {
	before, rest, found := strings.Cut(name, "{")
	if !found {
		return name
	}
	_, after, _ := strings.Cut(rest, "}")
	return before + outsideBraces(after)
}

func (r *Repository) mergeBase(ctx context.Context, name, left, right string) (string, error) {
	var sides [2]string
	for i, side := range [...]string{left, right} {
		if side == "" {
			side = "HEAD"
		}
		var err error
		if sides[i], err = r.commit(ctx, side); err != nil {
			return "", err
		}
	}
	out, said, err := r.run(ctx, 1<<16, "", "merge-base", sides[0], sides[1])
	base := strings.TrimSpace(out)
	var exit *exec.ExitError
	switch {
	case err == nil && isHash(base):
		return base, nil
	case ctx.Err() != nil:
		return "", err
	case r.shallow:
		return "", fmt.Errorf("the commit in which %q parted is not in %s, which is a shallow clone: fetch more of it, by git fetch --unshallow, fetch-depth: 0 in GitHub Actions, or GIT_DEPTH: 0 in GitLab CI", name, r.root)
	case errors.As(err, &exit) && exit.ExitCode() == 1:
		return "", fmt.Errorf("%q: the two have no commit in common", name)
	}
	return "", r.failed(fmt.Sprintf("find the commit in which %q parted", name), err, said)
}

// isHash says whether a text is the full name of an object: of a SHA-1 or a SHA-256 repository.
func isHash(s string) bool {
	return (len(s) == 40 || len(s) == 64) && !strings.ContainsFunc(s, func(c rune) bool {
		return (c < '0' || c > '9') && (c < 'a' || c > 'f')
	})
}

// LeftOut returns which of some files, named from the root with forward slashes, are missing from the working tree because of a sparse
// checkout, and not because somebody removed them.
func (r *Repository) LeftOut(ctx context.Context, files map[string]bool) (map[string]bool, error) {
	out := map[string]bool{}
	if len(files) == 0 {
		return out, nil
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cmd := r.command(ctx, "ls-files", "-z", "-t")
	var said complaint
	cmd.Stderr = &said
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("run git ls-files: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("run git ls-files: %w", err)
	}
	in := bufio.NewReaderSize(pipe, maxPath+8)
	var line []byte
	for err == nil {
		line, err = in.ReadSlice(0)
		if name, skipped := strings.CutPrefix(strings.TrimSuffix(string(line), "\x00"), "S "); skipped && files[name] {
			out[name] = true
		}
	}
	if !errors.Is(err, io.EOF) {
		cancel()
		_ = cmd.Wait() // it was killed
		return nil, fmt.Errorf("read the index of %s: %w", r.root, err)
	}
	if err := cmd.Wait(); err != nil {
		return nil, r.failed("read the index of "+r.root, err, said.String())
	}
	return out, nil
}
