package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/meshvet/meshvet/lint/dump"
	"github.com/meshvet/meshvet/lint/object"
)

// dumpFile is a file of a dump, which is read twice if the first time has to find out whose proxy it is of.
type dumpFile struct {
	name string
	file *os.File
	temp bool // a copy of what can be read once only
}

// openDumps opens files. What was opened is returned with an error too.
func (a *app) openDumps(ctx context.Context, names []string) ([]*dumpFile, error) {
	cwd, err := a.getwd()
	if err != nil {
		return nil, fmt.Errorf("find the working directory: %w", err)
	}
	w := newWalker(cwd, nil, nil)
	var out []*dumpFile
	for _, name := range names {
		d := &dumpFile{name: name}
		if name == "-" {
			d.name = "<stdin>"
			err = d.spool(ctx, func() (io.ReadCloser, error) { return io.NopCloser(a.stdin), nil })
		} else {
			err = d.open(ctx, w.absolute(name))
		}
		if d.file != nil {
			out = append(out, d)
		}
		if err != nil {
			return out, fmt.Errorf("read dump %s: %w", d.name, plainError(err))
		}
	}
	return out, nil
}

func (d *dumpFile) open(ctx context.Context, path string) error {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return err
	case info.IsDir():
		return errors.New("is a directory")
	case !info.Mode().IsRegular(): // such as what a shell makes of <(istioctl …)
		return d.spool(ctx, func() (io.ReadCloser, error) { return os.Open(path) })
	}
	d.file, err = os.Open(path)
	return err
}

// spool copies what can be read once only into a file that nobody else sees.
func (d *dumpFile) spool(ctx context.Context, open func() (io.ReadCloser, error)) error {
	in := interruptible(ctx, open)
	defer in.Close() //nolint:errcheck // it was only read
	var err error
	if d.file, err = os.CreateTemp("", "meshvet-dump-*.json"); err != nil {
		return err
	}
	d.temp = true
	most := dump.Limits{}.WithDefaults().FileBytes
	_, err = io.Copy(d.file, io.LimitReader(in, most+1)) // of what is larger, the reader says so
	return err
}

func closeDumps(dumps []*dumpFile) {
	for _, d := range dumps {
		_ = d.file.Close()
		if d.temp {
			_ = os.Remove(d.file.Name())
		}
	}
}

// read reads the file from its beginning.
func (d *dumpFile) read(ctx context.Context, visit func(dump.Resource) error) (dump.Summary, error) {
	if _, err := d.file.Seek(0, io.SeekStart); err != nil {
		return dump.Summary{}, fmt.Errorf("read dump %s: %w", d.name, plainError(err))
	}
	return dump.Read(ctx, d.name, d.file, dump.Limits{}, visit)
}

// findNode finds the proxy that the dump is of, which is zero if no file has a bootstrap. Nearly always that comes first.
func findNode(ctx context.Context, dumps []*dumpFile) (dump.Node, error) {
	var node dump.Node
	for _, d := range dumps {
		n, err := d.findNode(ctx)
		switch {
		case err != nil:
			return node, err
		case n.ID != "" && node.ID != "" && n.ID != node.ID:
			return node, otherNode(d.name, n, node)
		case n.ID != "":
			node = n
		}
	}
	return node, nil
}

func otherNode(name string, is, first dump.Node) error {
	if first.ID == "" {
		return fmt.Errorf("%s says only after a list that it is of %s; give --config-dump with that part first, or by itself", name, object.Abridge(is.ID))
	}
	return fmt.Errorf("the dumps are of two proxies, %s and (%s) %s; give those of one", object.Abridge(first.ID), name, object.Abridge(is.ID))
}

// errResource ends a search for the bootstrap at the first resource.
var errResource = errors.New("a resource")

func (d *dumpFile) findNode(ctx context.Context) (dump.Node, error) {
	isList, err := d.isList()
	if err != nil || isList { // istioctl's lists have no bootstrap
		return dump.Node{}, err
	}
	sum, err := d.read(ctx, func(dump.Resource) error { return errResource })
	if errors.Is(err, errResource) && sum.Node.ID == "" {
		sum, err = d.read(ctx, func(dump.Resource) error { return nil }) // it may stand at the end
	}
	if errors.Is(err, errResource) {
		err = nil
	}
	return sum.Node, err
}

// isList says whether the first thing in the file is a list.
func (d *dumpFile) isList() (bool, error) {
	if _, err := d.file.Seek(0, io.SeekStart); err != nil {
		return false, fmt.Errorf("read dump %s: %w", d.name, plainError(err))
	}
	in := bufio.NewReader(d.file)
	for {
		r, _, err := in.ReadRune()
		switch {
		case errors.Is(err, io.EOF):
			return false, nil
		case err != nil:
			return false, fmt.Errorf("read dump %s: %w", d.name, plainError(err))
		}
		switch r {
		case ' ', '\t', '\r', '\n', '\ufeff':
		default:
			return r == '[', nil
		}
	}
}
