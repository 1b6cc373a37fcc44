package revision

import (
	"bufio"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os/exec"
	"slices"
	"strconv"
	"strings"
)

const (
	// maxEntries bounds what is looked at in one walk. Trees that hold one another many times over are small to store.
	maxEntries = 4_000_000
	maxPath    = 16 << 10 // bytes
	// maxDrained is how much of a blob that nobody reads to its end is read nevertheless, before git is ended instead.
	maxDrained = 1 << 20
)

// Tree is the tree of a commit. It runs one git process, from the first question to Close, and serves one caller at a time.
type Tree struct {
	repository *Repository
	name       string
	commit     string
	batch      *batch
}

// Name is what the revision was called.
func (t *Tree) Name() string { return t.name }

// Commit is the hash of the commit, in hexadecimal digits.
func (t *Tree) Commit() string { return t.commit }

// Type is the sort of thing that an entry of a tree is.
type Type int

// The types.
const (
	File    Type = iota // a regular file
	Symlink             // a symbolic link; its blob is its target
	Nested              // a commit of another repository: a submodule
	folder
)

// Entry is a file of a tree.
type Entry struct {
	Path string // from the root of the repository, with forward slashes
	Type Type
	ID   string // hash of the blob, in hexadecimal digits
}

// Walk tells of the files of a tree, in the order of git. It enters the folders for which enter says so, which are named like files.
func (t *Tree) Walk(ctx context.Context, enter func(dir string) bool, visit func(Entry)) error {
	type pending struct{ path, id string }
	todo := []pending{{"", t.commit + "^{tree}"}}
	seen := 0
	for len(todo) > 0 {
		at := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		var below []pending
		err := t.ask(ctx, at.id, "tree", at.path, func(_ int64, r io.Reader) error {
			return readTree(r, len(t.commit)/2, func(name string, typ Type, id string) error {
				if seen++; seen > maxEntries {
					return fmt.Errorf("it holds more than %d files", maxEntries)
				}
				path := name
				if at.path != "" {
					path = at.path + "/" + name
				}
				switch {
				case len(path) > maxPath:
					return fmt.Errorf("the path of a file is longer than %d bytes", maxPath)
				case typ != folder:
					visit(Entry{path, typ, id})
				case enter(path):
					below = append(below, pending{path, id})
				}
				return nil
			})
		})
		if err != nil {
			return err
		}
		slices.Reverse(below)
		todo = append(todo, below...)
	}
	return nil
}

// readTree reads the object of a folder: mode, blank, name, zero byte and hash of each entry.
func readTree(r io.Reader, hashBytes int, entry func(name string, typ Type, id string) error) error {
	in := bufio.NewReaderSize(r, maxPath)
	damaged := errors.New("the folder is damaged")
	hash := make([]byte, hashBytes)
	for {
		head, err := in.ReadSlice(0)
		if errors.Is(err, io.EOF) && len(head) == 0 {
			return nil
		}
		if err != nil {
			return damaged
		}
		mode, name, found := strings.Cut(string(head[:len(head)-1]), " ")
		bits, err := strconv.ParseUint(mode, 8, 32)
		if !found || err != nil {
			return damaged
		}
		if _, err := io.ReadFull(in, hash); err != nil {
			return damaged
		}
		// git writes no such names into a working tree, so there is nothing to compare with.
		if name == "" || name == "." || name == ".." || strings.Contains(name, "/") {
			return fmt.Errorf("it holds a file that is called %q", name)
		}
		typ := File
		switch bits & 0o170000 {
		case 0o040000:
			typ = folder
		case 0o120000:
			typ = Symlink
		case 0o160000:
			typ = Nested
		case 0o100000:
		default:
			return damaged
		}
		if err := entry(name, typ, hex.EncodeToString(hash)); err != nil {
			return err
		}
	}
}

// Lookup finds one file, by its path from the root with forward slashes. The error wraps fs.ErrNotExist if there is none.
func (t *Tree) Lookup(ctx context.Context, path string) (Entry, error) {
	var found *Entry
	err := t.Walk(ctx, func(dir string) bool { return strings.HasPrefix(path, dir+"/") }, func(e Entry) {
		if e.Path == path {
			found = &e
		}
	})
	if err != nil {
		return Entry{}, err
	}
	if found == nil {
		return Entry{}, fmt.Errorf("%s at %s: %w", path, t.name, fs.ErrNotExist)
	}
	return *found, nil
}

// Read hands the content of an entry to a reader, with its size in bytes; it need not be read to its end.
func (t *Tree) Read(ctx context.Context, e Entry, read func(size int64, content io.Reader) error) error {
	return t.ask(ctx, e.ID, "blob", e.Path, read)
}

// ask asks git for an object.
func (t *Tree) ask(ctx context.Context, id, typ, path string, read func(size int64, content io.Reader) error) error {
	what := t.name
	if path != "" {
		what = path + " at " + t.name
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("read %s: %w", what, err)
	}
	if t.batch == nil {
		b, err := t.repository.startBatch(ctx)
		if err != nil {
			return err
		}
		t.batch = b
	}
	stop := context.AfterFunc(ctx, t.batch.cancel)
	err := t.batch.ask(id, typ, read)
	stop()
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	var missing *missingError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &missing):
		return notHere(what)
	}
	said := t.batch.end() // it is of no further use: nobody knows what it says next
	t.batch = nil
	var ended *endedError
	switch {
	case errors.Is(err, errUnread):
		return nil
	case errors.As(err, &ended) && strings.Contains(said, "promisor remote"):
		return notHere(what)
	case errors.As(err, &ended):
		return t.repository.failed("read "+what, err, said)
	}
	return fmt.Errorf("read %s: %w", what, err)
}

func notHere(what string) error {
	return fmt.Errorf("%s is not in this clone, which is a partial or a damaged one; clone without --filter, or fetch what is missing by git fetch --refetch", what)
}

// Close ends the git process.
func (t *Tree) Close() {
	if t.batch != nil {
		t.batch.end()
		t.batch = nil
	}
}

// batch is a git process that is asked for objects, one after the other.
type batch struct {
	cmd    *exec.Cmd
	cancel context.CancelFunc
	in     io.WriteCloser
	out    *bufio.Reader
	said   complaint
}

// missingError says that the repository does not hold an object.
type missingError struct{ id string }

func (e *missingError) Error() string { return "object " + e.id + " is missing" }

// endedError says that git ended, or gave an answer that is none.
type endedError struct{ err error }

func (e *endedError) Error() string { return "git ended: " + e.err.Error() }
func (e *endedError) Unwrap() error { return e.err }

func (r *Repository) startBatch(ctx context.Context) (*batch, error) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx)) // it outlives one question
	b := &batch{cmd: r.command(ctx, "cat-file", "--batch"), cancel: cancel}
	b.cmd.Stderr = &b.said
	in, err := b.cmd.StdinPipe()
	if err == nil {
		b.in = in
		var out io.ReadCloser
		if out, err = b.cmd.StdoutPipe(); err == nil {
			b.out = bufio.NewReaderSize(out, 64<<10)
			err = b.cmd.Start()
		}
	}
	if err != nil {
		cancel()
		return nil, fmt.Errorf("run git cat-file: %w", err)
	}
	return b, nil
}

// end ends the process and returns what it said on its standard error.
func (b *batch) end() string {
	_ = b.in.Close() // it may be gone
	b.cancel()
	_ = b.cmd.Wait() // it was killed, or failed as was said before
	return b.said.String()
}

// ask asks for one object and has its content read. An error of read is returned as it is.
func (b *batch) ask(id, typ string, read func(size int64, content io.Reader) error) error {
	if _, err := io.WriteString(b.in, id+"\n"); err != nil {
		return &endedError{err}
	}
	line, err := b.out.ReadSlice('\n')
	if err != nil {
		return &endedError{err}
	}
	parts := strings.Fields(string(line))
	if len(parts) == 2 && parts[1] == "missing" {
		return &missingError{id}
	}
	if len(parts) != 3 || !isHash(parts[0]) {
		return &endedError{fmt.Errorf("it answers %.100q", line)}
	}
	size, err := strconv.ParseInt(parts[2], 10, 64)
	if err != nil || size < 0 {
		return &endedError{fmt.Errorf("it answers %.100q", line)}
	}
	if parts[1] != typ {
		return fmt.Errorf("object %s is a %s, and a %s is wanted", parts[0], parts[1], typ)
	}
	content := &io.LimitedReader{R: b.out, N: size}
	if err := read(size, content); err != nil {
		return err
	}
	if content.N > maxDrained {
		return errUnread
	}
	if _, err := io.Copy(io.Discard, content); err != nil {
		return &endedError{err}
	}
	if content.N > 0 {
		return &endedError{io.ErrUnexpectedEOF}
	}
	if _, err := b.out.Discard(1); err != nil { // the line end
		return &endedError{err}
	}
	return nil
}

// errUnread says that too much of an object is left to be read for the process to be of further use.
var errUnread = errors.New("the object was not read to its end")
