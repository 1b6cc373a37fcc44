package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/revision"
)

// instructions is where a run reads from what says how to judge: configurations, what they extend, and the baseline. Paths are absolute.
// Manifests, and what git is to ignore, are always those of the working tree.
type instructions struct {
	// read returns what a file holds, of at most so many bytes. Its error wraps fs.ErrNotExist if there is no such file.
	read func(file string, most int64) ([]byte, error)
	// there says whether there is such a file.
	there func(file string) bool
	// name is what reports call a file that the walker calls so.
	name func(name string) string
	// elsewhere says that what the folders of the working tree hold says nothing about it.
	elsewhere bool
}

// workingTree is where instructions are read from unless --config-from says otherwise.
func workingTree() instructions {
	return instructions{
		read: readRegularUpTo,
		there: func(file string) bool {
			info, err := os.Stat(file)
			return err == nil && !info.IsDir() // reading a pipe fails, which is told
		},
		name: func(name string) string { return name },
	}
}

// instructions are those of the revision. It looks through the whole tree once, for configurations and for what
// git was to ignore, with which a change is compared.
func (s *since) instructions(ctx context.Context) (instructions, error) {
	known := append(lint.ConfigNames(), gitignoreName)
	configs := map[string]bool{}
	err := s.tree.Walk(ctx, func(string) bool { return true }, func(e revision.Entry) {
		if e.Type != revision.Nested && slices.Contains(known, path.Base(e.Path)) {
			configs[e.Path] = true
		}
	})
	if err != nil {
		return instructions{}, err
	}
	// Links of the working tree are not followed, since the change may have made them.
	inTree := func(file string) (string, bool) {
		if rel, err := filepath.Rel(s.root, file); err == nil && filepath.IsLocal(rel) {
			return filepath.ToSlash(rel), true
		}
		return s.path(file)
	}
	return instructions{
		read: func(file string, most int64) ([]byte, error) {
			at, inside := inTree(file)
			if !inside {
				return nil, errors.New("is not in the repository, of which --config-from reads a revision")
			}
			e, err := s.tree.Lookup(ctx, at)
			switch {
			case err != nil:
				return nil, err
			case e.Type == revision.Symlink:
				return nil, fmt.Errorf("is a symbolic link at %s, which is not followed there", s.tree.Name())
			case e.Type == revision.Nested:
				return nil, fmt.Errorf("is a submodule at %s", s.tree.Name())
			}
			var data []byte
			err = s.tree.Read(ctx, e, func(size int64, content io.Reader) (err error) {
				if size > most {
					return fmt.Errorf("is larger than %d MiB", most>>20)
				}
				data, err = io.ReadAll(content)
				return err
			})
			return data, err
		},
		there: func(file string) bool {
			at, inside := inTree(file)
			return inside && configs[at]
		},
		name:      func(name string) string { return s.tree.Name() + ":" + name },
		elsewhere: true,
	}, nil
}

// trust makes a run read its instructions from the revision that --config-from names.
func (r *lintRun) trust(ctx context.Context, environ []string) error {
	f := r.flags
	root := findRepository(r.walker.startFolder(r.args[0], f.stdinName))
	var err error
	if r.trusted, err = newSince(ctx, root, f.configFrom, "--config-from", environ); err != nil {
		return err
	}
	r.walker.instructions, err = r.trusted.instructions(ctx)
	return err
}

// close ends what was begun to look at revisions.
func (r *lintRun) close() {
	for _, s := range [...]*since{r.since, r.trusted} {
		if s != nil {
			s.tree.Close()
		}
	}
}
