package main

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/object"
)

// gate is what decides about a change: instructions as they are, and as they were at a revision.
type gate struct {
	walker    *walker
	now, then instructions
	revision  string
	effect    string // of a change to a file

	seen    map[string]bool // absolute paths of files that were compared
	changes []lint.GateChange
}

// changedInstructions says what of the configurations of files, of what these extend, and of the baselines differs from the revision.
func (r *lintRun) changedInstructions(ctx context.Context, files []*object.File) ([]lint.GateChange, error) {
	g := &gate{walker: r.walker, now: workingTree(), then: r.walker.instructions, seen: map[string]bool{}, effect: "this run obeys it as it is now"}
	if r.trusted != nil {
		g.effect = fmt.Sprintf("this run obeys %s; what it says now counts once the change is in", r.trusted.tree.Name())
	}
	// What the change does shows against where it began: the trusted revision may have moved on since.
	s := r.since
	if s == nil {
		s = r.trusted
	} else {
		var err error
		if g.then, err = s.instructions(ctx); err != nil {
			return nil, err
		}
	}
	g.revision = s.tree.Name()
	if r.flags.config != "" {
		if file := r.walker.absolute(r.flags.config); !isNullDevice(file) {
			if _, inside := s.path(file); inside {
				g.compareConfig(file, file)
			}
		}
	} else {
		for _, dir := range r.foldersAbove(s.root, files) {
			if now, then := configAmong(g.now, dir), configAmong(g.then, dir); now != "" || then != "" {
				g.compareConfig(now, then)
			}
		}
	}
	for _, b := range r.known {
		if _, inside := s.path(b.path); inside && !b.write {
			g.compareBaseline(b.path)
		}
	}
	g.compareIgnored(s.root)
	return g.changes, nil
}

// compareIgnored compares what git is to ignore in the folders that were read, and above them.
func (g *gate) compareIgnored(root string) {
	dirs := map[string]bool{}
	for dir := range g.walker.walked {
		for ; isWithin(root, dir) && !dirs[dir]; dir = filepath.Dir(dir) {
			dirs[dir] = true
		}
	}
	patterns := func(from instructions, file string) []ignorePattern {
		data, err := from.read(file, maxConfigBytes)
		if err != nil {
			return nil // as for the walker, which tells it
		}
		return parseIgnorePatterns(string(data))
	}
	for _, dir := range slices.Sorted(maps.Keys(dirs)) {
		file := filepath.Join(dir, gitignoreName)
		if is, was := g.now.there(file), g.then.there(file); !is && !was || findRepository(dir) != root {
			continue // a submodule is none of the change's
		}
		if !reflect.DeepEqual(patterns(g.now, file), patterns(g.then, file)) {
			g.changes = append(g.changes, lint.GateChange{
				Message: "what git is to ignore differs from " + g.revision,
				Effect:  "manifests that git ignores are not read, even if they are in the repository",
				At:      object.Location{File: g.walker.name(file, false)},
			})
		}
	}
}

// foldersAbove are the folders of files and of the configurations that were found, and those above them, up to a root.
func (r *lintRun) foldersAbove(root string, files []*object.File) []string {
	out := map[string]bool{}
	add := func(dir string) {
		for ; isWithin(root, dir) && !out[dir]; dir = filepath.Dir(dir) {
			out[dir] = true
		}
	}
	add(r.configs.start)
	for _, c := range r.configs.found {
		if c.home != "" { // it may exclude all that is below it
			add(c.home)
		}
	}
	for _, f := range files {
		if f.Name != stdinName {
			add(filepath.Dir(r.walker.absolute(filepath.FromSlash(f.Name))))
		}
	}
	return slices.Sorted(maps.Keys(out))
}

// configAmong returns the path of the configuration in a folder, "" if there is none.
func configAmong(from instructions, dir string) string {
	for _, name := range lint.ConfigNames() {
		if file := filepath.Join(dir, name); from.there(file) {
			return file
		}
	}
	return ""
}

func (g *gate) add(at object.Location, format string, args ...any) {
	g.changes = append(g.changes, lint.GateChange{Message: fmt.Sprintf(format, args...), Effect: g.effect, At: at})
}

// compareConfig compares the configuration of a folder, or that which --config names. A path is "" if there is none.
func (g *gate) compareConfig(now, then string) {
	file := now
	if now == "" {
		file = then
	}
	if g.seen[file] {
		return
	}
	g.seen[file] = true
	at := object.Location{File: g.walker.name(file, false)}
	switch {
	case now == "":
		g.add(at, "the configuration is gone, which there is at %s", g.revision)
	case then == "":
		g.add(at, "the configuration is new; there is none at %s", g.revision)
		return
	}
	before, wasRead := g.document(g.then, then)
	if now == "" {
		return
	}
	after, isRead := g.document(g.now, now)
	switch {
	case wasRead && isRead:
		if told, place := lint.DocumentChanges(before, after); told != "" {
			g.add(placed(place, at), "the configuration differs from %s: %s", g.revision, told)
		}
	case wasRead != isRead || !g.sameBytes(now, then):
		g.add(at, "the configuration differs from %s", g.revision)
	}
	if wasRead {
		g.compareExtended(before, file, file)
	}
	if isRead {
		g.compareExtended(after, file, file)
	}
}

// compareExtended compares the files that a configuration, or one that it extends, names; those that are on one side only are told by
// whoever names them.
func (g *gate) compareExtended(doc *object.Document, file, config string) {
	for _, item := range doc.Root().Get("extends").Items() {
		name := item.Str()
		if !strings.ContainsAny(name, "./") || strings.Contains(name, `\`) || len(g.seen) > 1000 {
			continue // a preset, or a mistake; and nobody extends as many files
		}
		extended := filepath.Join(filepath.Dir(file), filepath.FromSlash(name))
		if g.seen[extended] {
			continue
		}
		g.seen[extended] = true
		before, wasRead := g.document(g.then, extended)
		after, isRead := g.document(g.now, extended)
		at := object.Location{File: g.walker.name(extended, false)}
		what := fmt.Sprintf("what %s extends differs from %s", g.walker.name(config, false), g.revision)
		switch {
		case wasRead && isRead:
			if told, place := lint.DocumentChanges(before, after); told != "" {
				g.add(placed(place, at), "%s: %s", what, told)
			}
		case wasRead != isRead:
			g.add(at, "%s", what)
		}
		if wasRead {
			g.compareExtended(before, extended, config)
		}
		if isRead {
			g.compareExtended(after, extended, config)
		}
	}
}

// placed is a place in a file, or the file if it is empty.
func placed(place, file object.Location) object.Location {
	if place.File == "" {
		return file
	}
	return place
}

// document reads a file; false if there is none, or what there is cannot be read.
func (g *gate) document(from instructions, file string) (*object.Document, bool) {
	if file == "" {
		return nil, false
	}
	data, err := from.read(file, maxConfigBytes)
	if err != nil {
		return nil, false
	}
	doc, problem := object.ParseDocument(g.walker.name(file, false), data, object.Limits{})
	return doc, problem == nil
}

func (g *gate) sameBytes(now, then string) bool {
	a, errA := g.now.read(now, maxConfigBytes)
	b, errB := g.then.read(then, maxConfigBytes)
	return errA == nil && errB == nil && string(a) == string(b)
}

// compareBaseline tells of a baseline that holds more than it did.
func (g *gate) compareBaseline(file string) {
	name := g.walker.name(file, false)
	read := func(from instructions) (*lint.Baseline, bool) {
		data, err := from.read(file, lint.MaxBaselineBytes)
		if err != nil {
			return &lint.Baseline{}, false
		}
		b, err := lint.ReadBaseline(name, data)
		if err != nil {
			return &lint.Baseline{}, false
		}
		return b, true
	}
	now, isRead := read(g.now)
	if !isRead {
		return // it holds nothing, or fails the run
	}
	then, wasRead := read(g.then)
	held := map[lint.BaselineEntry]int{}
	for _, e := range then.Entries {
		held[g.entryKey(file, e)] += e.Count
	}
	more, line := 0, 0
	for _, e := range now.Entries {
		fresh := e.Count
		for _, key := range [...]lint.BaselineEntry{g.entryKey(file, e), withoutFile(e)} {
			known := min(fresh, held[key])
			fresh -= known
			held[key] -= known
		}
		if fresh > 0 && line == 0 {
			line = e.Line
		}
		more += fresh
	}
	if more == 0 {
		return
	}
	at := object.Location{File: name}
	if line > 0 {
		at.Range = object.Range{Start: object.Pos{Line: line, Col: 1}, End: object.Pos{Line: line, Col: 1}}
		at.Exact = true
	}
	findings := "findings"
	if more == 1 {
		findings = "finding"
	}
	if !wasRead {
		g.add(at, "the baseline is new, with %d %s; there is none at %s", more, findings, g.revision)
		return
	}
	g.add(at, "the baseline holds %d %s that it did not hold at %s", more, findings, g.revision)
}

// entryKey is an entry without what changes when files move: it keeps its file as long as there is one, since the same object may be in
// another mesh too.
func (g *gate) entryKey(baseline string, e lint.BaselineEntry) lint.BaselineEntry {
	key := withoutFile(e)
	if g.now.there(filepath.Join(filepath.Dir(baseline), filepath.FromSlash(e.File))) {
		key.File = e.File
	}
	return key
}

func withoutFile(e lint.BaselineEntry) lint.BaselineEntry {
	e.File, e.Count, e.Line = "", 0, 0
	return e
}

// tellGate adds to a report what the change does to what decides about it. before is the report about the revision, nil if there is none
// yet.
func (r *lintRun) tellGate(ctx context.Context, in *inputs, rep, before *lint.Report) error {
	changes := slices.Clone(in.gate)
	s := r.since
	if s == nil {
		s = r.trusted
	}
	if len(rep.Suppressions) > 0 {
		if before == nil {
			var err error
			if _, before, err = s.earlier(ctx, r, in, rep); err != nil {
				return err
			}
		}
		if before != nil { // else nothing has changed
			now, then := slices.Concat(in.files, in.around), slices.Concat(s.was.files, s.was.around)
			for _, c := range lint.SuppressionChanges(rep, before, s.tree.Name(), now, then) {
				if c.At.File != stdinName { // which was nowhere before
					changes = append(changes, c)
				}
			}
		}
	}
	return in.judge.changes(rep, changes)
}
