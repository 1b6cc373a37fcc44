package render

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/meshvet/meshvet/lint/object"
)

// Load reads the documents of an answer: a file for each that they come from, in the order in which these come first. by is what reports
// call the kustomization or chart, root the folder that sources are in, and name gives the name in reports of a file with an absolute
// path. at is where a document counts as written whose source is not known. The error is for ctx, and for sources that lead out of root.
func Load(ctx context.Context, a *Answer, by, root, at string, name func(abs string) string, limits object.Limits) ([]*object.File, error) {
	folder, err := os.OpenRoot(root)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", root, err)
	}
	defer folder.Close() //nolint:errcheck // it was only read
	var order []string
	bySource := map[string][]*Document{}
	for i := range a.Documents {
		d := &a.Documents[i]
		if bySource[d.Source] == nil {
			order = append(order, d.Source)
		}
		bySource[d.Source] = append(bySource[d.Source], d)
	}
	sources := map[string]*object.File{} // nil for what cannot be read
	open := func(source string) error {
		if _, known := sources[source]; known || source == "" {
			return nil
		}
		if !filepath.IsLocal(filepath.FromSlash(source)) {
			return fmt.Errorf("%s: %s names a source outside of the repository: %q", by, Program, source)
		}
		var err error
		sources[source], err = loadSource(ctx, folder, source, name(filepath.Join(root, filepath.FromSlash(source))), limits)
		return err
	}
	var out []*object.File
	for _, source := range order {
		text, docs := join(bySource[source])
		called := name(at)
		if source != "" {
			called = name(filepath.Join(root, filepath.FromSlash(source)))
		}
		made := &object.Rendering{By: by, Namespace: a.Namespace}
		for _, s := range sourcesOf(source, docs) {
			if err := open(s); err != nil {
				return nil, err
			}
			if from := sources[s]; from != nil {
				made.Sources = append(made.Sources, from)
			}
		}
		t := newTracer(called, text, docs, sources[source], sources)
		made.Trace = t
		f, err := object.LoadRendered(ctx, called, text, limits, made)
		if err != nil {
			return nil, fmt.Errorf("read what %s renders: %w", by, err)
		}
		t.pair(f.Objects)
		out = append(out, f)
	}
	return out, nil
}

// sourcesOf are the files that documents come from, each once; "" is none.
func sourcesOf(source string, docs []begin) []string {
	out := []string{source}
	for _, d := range docs {
		for _, l := range d.Lines {
			if l.Source != "" && !slices.Contains(out, l.Source) {
				out = append(out, l.Source)
			}
		}
	}
	return out
}

// join puts documents into one text.
func join(docs []*Document) (string, []begin) {
	var text strings.Builder
	begins := make([]begin, len(docs))
	line := 1
	for i, d := range docs {
		if i > 0 {
			text.WriteString("---\n")
			line++
		}
		begins[i] = begin{line, d}
		body := strings.TrimSuffix(d.Text, "\n") + "\n"
		text.WriteString(body)
		line += strings.Count(body, "\n")
	}
	return text.String(), begins
}

// loadSource reads what something was rendered from; nil if that cannot be read, which is nothing to fail for: it has been rendered.
func loadSource(ctx context.Context, folder *os.Root, source, name string, limits object.Limits) (*object.File, error) {
	path := filepath.FromSlash(source)
	info, err := folder.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return nil, nil //nolint:nilnil // as of a chart that is packed
	}
	in, err := folder.Open(path)
	if err != nil {
		return nil, nil //nolint:nilnil // as above
	}
	defer in.Close() //nolint:errcheck // it was only read
	limit := int64(limits.WithDefaults().FileBytes)
	text, err := io.ReadAll(io.LimitReader(in, limit+1))
	if err != nil && !errors.Is(err, fs.ErrClosed) || int64(len(text)) > limit {
		return nil, nil //nolint:nilnil // as above
	}
	f, err := object.Load(ctx, name, strings.NewReader(string(text)), limits)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	if f.Text() == "" { // templates too have lines to be shown
		f = object.NewText(name, string(text))
	}
	return f, nil
}
