package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/meshvet/meshvet/lint/object"
	"github.com/meshvet/meshvet/lint/render"
)

var _ filesys.FileSystem = (*rootFS)(nil)

// rootFS is what kustomize sees of the disk: what is below a folder, to read, and no more of it than is bounded. Symbolic links are
// followed as long as they stay in that folder. Each text passes through onRead, under the name that was asked for; it may
// replace the text or refuse it.
type rootFS struct {
	root   string // absolute, without links
	in     *os.Root
	limits render.Limits
	onRead func(abs string, text []byte) ([]byte, error)
	read   map[string]bool // paths that were read, as they were asked for and without links

	files int
	bytes int64
	// refused is the first thing that was refused. kustomize tries other ways of reading a file, and its error may be about those.
	refused *render.Failure
}

// openRoot makes a file system of a folder.
func openRoot(root string, limits render.Limits) (*rootFS, error) {
	resolved, err := filepath.EvalSymlinks(root)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", root, plainError(err))
	}
	in, err := os.OpenRoot(resolved)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", root, plainError(err))
	}
	return &rootFS{root: resolved, in: in, limits: limits}, nil
}

// plainError drops the path from an error of the file system.
func plainError(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

// relative is the path of a file from the root, false if it is not below it.
func (x *rootFS) relative(abs string) (string, bool) {
	rel, err := filepath.Rel(x.root, abs)
	return rel, err == nil && filepath.IsLocal(rel)
}

// name is what messages call a file.
func (x *rootFS) name(abs string) string {
	if rel, inside := x.relative(abs); inside {
		return filepath.ToSlash(rel)
	}
	return filepath.ToSlash(abs)
}

// refuse returns a failure, and keeps the first one.
func (x *rootFS) refuse(f *render.Failure) error {
	if x.refused == nil {
		x.refused = f
	}
	return f
}

// resolve follows the links of a path, and refuses one that leads out of the root. What is outside is not looked at.
func (x *rootFS) resolve(path string) (abs string, info fs.FileInfo, err error) {
	abs = filepath.Clean(path)
	if !filepath.IsAbs(abs) {
		abs = filepath.Join(x.root, abs)
	}
	rel, inside := x.relative(abs)
	if !inside {
		return "", nil, x.outside(abs)
	}
	// os.Root follows links as long as they stay inside, whatever is changed meanwhile.
	if info, err = x.in.Stat(rel); err != nil {
		if target, e := filepath.EvalSymlinks(abs); e == nil {
			if _, inside := x.relative(target); !inside {
				return "", nil, x.outside(abs)
			}
		}
		return "", nil, &fs.PathError{Op: "open", Path: x.name(abs), Err: plainError(err)}
	}
	if abs, err = filepath.EvalSymlinks(abs); err != nil {
		return "", nil, &fs.PathError{Op: "open", Path: x.name(abs), Err: plainError(err)}
	}
	if _, inside := x.relative(abs); !inside { // an absolute link that os.Root would not follow, or a race
		return "", nil, x.outside(abs)
	}
	return abs, info, nil
}

func (x *rootFS) outside(abs string) error {
	return x.refuse(&render.Failure{Message: fmt.Sprintf("%s leads out of %s, and nothing outside of it is read; copy what is needed into it", x.name(abs), x.root)})
}

// ReadFile implements filesys.FileSystem.
func (x *rootFS) ReadFile(path string) ([]byte, error) {
	abs, info, err := x.resolve(path)
	if err != nil {
		return nil, err
	}
	name := x.name(abs)
	most := int64(object.Limits{}.WithDefaults().FileBytes)
	switch {
	case info.IsDir():
		return nil, &fs.PathError{Op: "read", Path: name, Err: errors.New("is a folder")}
	case !info.Mode().IsRegular():
		return nil, x.refuse(&render.Failure{Message: "is neither a file nor a folder, and is not read", File: name})
	}
	if x.files++; x.files > x.limits.Files {
		return nil, x.refuse(&render.Failure{Message: fmt.Sprintf("needs more than %d files; render less at a time", x.limits.Files)})
	}
	rel, _ := x.relative(abs)
	f, err := x.in.Open(rel)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: plainError(err)}
	}
	defer f.Close() //nolint:errcheck // it was only read
	text, err := io.ReadAll(io.LimitReader(f, most+1))
	if err != nil {
		return nil, &fs.PathError{Op: "read", Path: name, Err: plainError(err)}
	}
	if int64(len(text)) > most {
		return nil, x.refuse(&render.Failure{Message: fmt.Sprintf("is larger than %d MiB; split it", most>>20), File: name})
	}
	if x.bytes += int64(len(text)); x.bytes > x.limits.Unpacked {
		return nil, x.refuse(&render.Failure{Message: fmt.Sprintf("needs more than %d MiB of files; render less at a time", x.limits.Unpacked>>20)})
	}
	asked := filepath.Clean(path) // kustomize goes by the name of a file, not by that of what it links to
	if x.read == nil {
		x.read = map[string]bool{}
	}
	x.read[asked], x.read[abs] = true, true
	if x.onRead == nil {
		return text, nil
	}
	if text, err = x.onRead(asked, text); err != nil {
		var failure *render.Failure
		if errors.As(err, &failure) {
			return nil, x.refuse(failure)
		}
		return nil, err
	}
	return text, nil
}

// CleanedAbs implements filesys.FileSystem.
func (x *rootFS) CleanedAbs(path string) (filesys.ConfirmedDir, string, error) {
	abs, info, err := x.resolve(path)
	switch {
	case err != nil:
		return "", "", err
	case info.IsDir():
		return filesys.ConfirmedDir(abs), "", nil
	}
	return filesys.ConfirmedDir(filepath.Dir(abs)), filepath.Base(abs), nil
}

// Exists implements filesys.FileSystem.
func (x *rootFS) Exists(path string) bool {
	_, _, err := x.resolve(path)
	return err == nil
}

// IsDir implements filesys.FileSystem.
func (x *rootFS) IsDir(path string) bool {
	_, info, err := x.resolve(path)
	return err == nil && info.IsDir()
}

// ReadDir implements filesys.FileSystem.
func (x *rootFS) ReadDir(path string) ([]string, error) {
	abs, _, err := x.resolve(path)
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(abs)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", x.name(abs), plainError(err))
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	return names, nil
}

// errReadOnly is what anything gets that is no reading. Building a kustomization needs none of it.
var errReadOnly = errors.New("files are only read")

// Open implements filesys.FileSystem.
func (x *rootFS) Open(string) (filesys.File, error) { return nil, errReadOnly }

// Glob implements filesys.FileSystem.
func (x *rootFS) Glob(string) ([]string, error) { return nil, errReadOnly }

// Walk implements filesys.FileSystem.
func (x *rootFS) Walk(string, filepath.WalkFunc) error { return errReadOnly }

// Create implements filesys.FileSystem.
func (x *rootFS) Create(string) (filesys.File, error) { return nil, errReadOnly }

// Mkdir implements filesys.FileSystem.
func (x *rootFS) Mkdir(string) error { return errReadOnly }

// MkdirAll implements filesys.FileSystem.
func (x *rootFS) MkdirAll(string) error { return errReadOnly }

// RemoveAll implements filesys.FileSystem.
func (x *rootFS) RemoveAll(string) error { return errReadOnly }

// WriteFile implements filesys.FileSystem.
func (x *rootFS) WriteFile(string, []byte) error { return errReadOnly }

// unrooted names files in a text of kustomize's from the root.
func (x *rootFS) unrooted(text string) string {
	text = strings.ReplaceAll(text, x.root+string(filepath.Separator), "")
	return strings.ReplaceAll(text, x.root, ".")
}
