package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// workTree is the folder in which files may be rewritten: the repository, or without one the working directory. Nothing outside it is changed, and
// nothing that git keeps for itself, whatever names and links lead there.
//
// There is no library for this: renameio and natefinch/atomic replace files by name, and a folder that is swapped for a link between the
// look at a file and its replacement would lead them elsewhere. os.Root holds on to the folder that was looked at.
type workTree struct {
	dir  string // absolute, without links
	root *os.Root
}

func openWorkTree(dir string) (*workTree, error) {
	target, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", dir, plainError(err))
	}
	root, err := os.OpenRoot(target)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", target, plainError(err))
	}
	return &workTree{target, root}, nil
}

func (t *workTree) Close() error { return t.root.Close() }

// errMoved is the error of a path that leads elsewhere than it did a moment ago.
var errMoved = errors.New("a folder or link on the way to it has been changed since it was read; run it again")

// treeFile is a file of the tree, in a folder that is held open.
type treeFile struct {
	folder *os.Root
	name   string
	info   fs.FileInfo
}

// Close lets go of the folder.
func (e *treeFile) Close() error { return e.folder.Close() }

// within returns the path of a file from the root of the tree, links resolved.
func (t *workTree) within(abs string) (string, error) {
	target, err := filepath.EvalSymlinks(abs)
	if err != nil {
		return "", plainError(err)
	}
	rel, err := filepath.Rel(t.dir, target)
	if err != nil || !filepath.IsLocal(rel) {
		if target != abs {
			return "", fmt.Errorf("it is a link to %s, outside %s, where nothing is changed; run meshvet there", filepath.ToSlash(target), filepath.ToSlash(t.dir))
		}
		return "", fmt.Errorf("it lies outside %s, where nothing is changed; run meshvet there", filepath.ToSlash(t.dir))
	}
	for part := range strings.SplitSeq(filepath.ToSlash(rel), "/") {
		if strings.EqualFold(part, ".git") {
			return "", errors.New("it lies in .git, where nothing is changed")
		}
	}
	return rel, nil
}

// open finds a file by an absolute path. A link is followed first, so that the file that it stands for is rewritten and the link stays. From
// then on none is: each folder on the way is opened from the one above it and held against what was there.
func (t *workTree) open(abs string) (*treeFile, error) {
	rel, err := t.within(abs)
	if err != nil {
		return nil, err
	}
	folder, err := t.root.OpenRoot(".")
	if err != nil {
		return nil, plainError(err)
	}
	parts := strings.Split(filepath.ToSlash(rel), "/")
	for _, part := range parts[:len(parts)-1] {
		next, err := descend(folder, part)
		folder.Close() //nolint:errcheck // nothing was written through it
		if err != nil {
			return nil, err
		}
		folder = next
	}
	e := &treeFile{folder: folder, name: parts[len(parts)-1]}
	if e.info, err = folder.Lstat(e.name); err == nil && !e.info.Mode().IsRegular() {
		err = errMoved
		if e.info.Mode()&fs.ModeSymlink == 0 {
			err = errors.New("it is no regular file")
		}
	}
	if err != nil {
		e.Close() //nolint:errcheck // nothing was written through it
		return nil, plainError(err)
	}
	return e, nil
}

// descend opens a folder in another one, unless it is a link or is swapped for another folder meanwhile.
func descend(in *os.Root, name string) (*os.Root, error) {
	info, err := in.Lstat(name)
	if err != nil {
		return nil, plainError(err)
	}
	if !info.IsDir() {
		return nil, errMoved
	}
	next, err := in.OpenRoot(name)
	if err != nil {
		return nil, plainError(err)
	}
	if opened, err := next.Stat("."); err != nil || !os.SameFile(info, opened) {
		next.Close() //nolint:errcheck // nothing was written through it
		return nil, errMoved
	}
	return next, nil
}

// keep says why a file is not to be rewritten, "" if it may be.
func (t *workTree) keep(abs string) string {
	e, err := t.open(abs)
	if err != nil {
		return err.Error()
	}
	defer e.Close() //nolint:errcheck // nothing is written through it
	if n := linksTo(e.info); n > 1 {
		return fmt.Sprintf("the file has %d names (hard links), and would be rewritten under one of them only; edit it by hand, or give it one name", n)
	}
	if e.info.Mode().Perm()&0o222 == 0 {
		return "the file is read-only; make it writable first"
	}
	return ""
}

// rewrite replaces the content of a file. Others see the old content or the new one, never a part of it: the new one is written to a file
// beside it, which takes its place. Mode, and owner where that is allowed, stay. It is an error if the content is not what it was.
func (t *workTree) rewrite(abs, was, now string) (err error) {
	e, err := t.open(abs)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	if n := linksTo(e.info); n > 1 {
		return errMoved
	}
	// Whoever may not write to a file may well replace it; its mode says that it should stay.
	if f, err := e.folder.OpenFile(e.name, os.O_WRONLY, 0); err != nil {
		return plainError(err)
	} else if err := f.Close(); err != nil {
		return plainError(err)
	}
	tmp, name, err := e.createBeside()
	if err != nil {
		return fmt.Errorf("its folder cannot be written to: %w", plainError(err))
	}
	defer e.folder.Remove(name) //nolint:errcheck // gone once it is renamed
	_, err = io.WriteString(tmp, now)
	if err == nil {
		keepOwner(tmp, e.info)
		err = tmp.Chmod(e.info.Mode() & (fs.ModePerm | fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky))
	}
	if err == nil {
		err = tmp.Sync()
	}
	if err = errors.Join(err, tmp.Close()); err != nil {
		return plainError(err)
	}
	if err := e.still(was); err != nil { // as late as can be
		return err
	}
	if err := e.folder.Rename(name, e.name); err != nil {
		return plainError(err)
	}
	if dir, err := e.folder.Open("."); err == nil { // the rename is lost with the power otherwise; some file systems have no sync of folders
		dir.Sync()  //nolint:errcheck // see above
		dir.Close() //nolint:errcheck // only read
	}
	return nil
}

// errChanged is the error of a file that somebody else wrote to.
var errChanged = errors.New("it has been changed since it was read; run it again")

// still checks that the file is the one that was found, and what it holds.
func (e *treeFile) still(was string) error {
	f, err := e.folder.Open(e.name)
	if err != nil {
		return plainError(err)
	}
	defer f.Close() //nolint:errcheck // only read
	info, err := f.Stat()
	if err != nil {
		return plainError(err)
	}
	now, err := e.folder.Lstat(e.name)
	if err != nil {
		return plainError(err)
	}
	if !os.SameFile(info, e.info) || !os.SameFile(now, e.info) {
		return errChanged
	}
	content, err := io.ReadAll(io.LimitReader(f, int64(len(was))+1))
	if err != nil {
		return plainError(err)
	}
	if string(content) != was {
		return errChanged
	}
	return nil
}

// createBeside makes a new file in the folder that only its owner may read.
func (e *treeFile) createBeside() (*os.File, string, error) {
	for n := 0; ; n++ {
		name := fmt.Sprintf(".%s.%d-%d.tmp", e.name, os.Getpid(), n)
		f, err := e.folder.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, fs.ErrExist) && n < 100 {
			continue
		}
		return f, name, err
	}
}
