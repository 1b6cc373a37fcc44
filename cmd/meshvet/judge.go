package main

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"sync/atomic"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/egress"
	"github.com/meshvet/meshvet/lint/object"
)

// judge is what a run needs to judge a set of files. It may be asked several times, with files that have changed.
type judge struct {
	rules   []lint.Rule
	configs *configs
	walker  *walker
	live    *liveMesh       // nil unless files are laid over a cluster
	judged  *atomic.Int64   // is increased by each object that has been judged
	named   map[string]bool // names of files that --context names, which every configuration has in view
	// rendered are judged beside the files, each in a mesh of its own.
	rendered []*rendered
}

// newJudge checks the configurations of files. All mistakes of them are one *lint.ConfigError.
func newJudge(rules []lint.Rule, c *configs, files []*object.File, made []*rendered, w *walker) (*judge, error) {
	var problems []object.Problem
	var used []*settings
	if len(files) > 0 || len(made) == 0 {
		used = configsOf(c.governing(files))
	}
	for _, one := range made {
		if !slices.Contains(used, one.config) {
			used = append(used, one.config)
		}
	}
	for _, s := range used {
		more, err := mistakesIn(rules, s)
		if err != nil {
			return nil, err
		}
		problems = append(problems, more...)
	}
	if len(problems) > 0 {
		return nil, &lint.ConfigError{Problems: distinct(problems)}
	}
	return &judge{rules: rules, configs: c, walker: w, rendered: made}, nil
}

// mistakesIn are the mistakes of a configuration.
func mistakesIn(rules []lint.Rule, s *settings) ([]object.Problem, error) {
	_, err := lint.New(rules, s.Config)
	var wrong *lint.ConfigError
	if err = configErrors(s.problems, err); err != nil && !errors.As(err, &wrong) {
		return nil, err
	}
	if wrong == nil {
		return nil, nil
	}
	return wrong.Problems, nil
}

// distinct leaves out what is told already, such as a flag's mistake under each configuration.
func distinct(problems []object.Problem) []object.Problem {
	var out []object.Problem
	seen := map[object.Problem]bool{}
	for _, p := range problems {
		if !seen[p] {
			seen[p] = true
			out = append(out, p)
		}
	}
	return out
}

// lint judges files in the light of those around them, each under its configuration.
func (j *judge) lint(ctx context.Context, files, around []*object.File) (*lint.Report, error) {
	groups, err := j.allGroups(files, around)
	if err != nil {
		return nil, err
	}
	return lint.JudgeGroups(ctx, groups, filepath.ToSlash(j.walker.cwd))
}

// allGroups are those of files and those of what was rendered.
func (j *judge) allGroups(files, around []*object.File) ([]lint.Group, error) {
	groups, err := j.groups(files, around)
	if err != nil {
		return nil, err
	}
	if len(files) == 0 && len(j.rendered) > 0 {
		groups = nil // that of the first path, in which nothing is
	}
	made, err := j.renderedGroups(around)
	if err != nil {
		return nil, err
	}
	return append(groups, made...), nil
}

// egress maps the meshes that files are judged in, those of the findings of a report first.
func (j *judge) egress(ctx context.Context, files, around []*object.File, rep *lint.Report) (*egress.Map, error) {
	groups, err := j.allGroups(files, around)
	if err != nil {
		return nil, err
	}
	meshes, err := lint.MeshesOfGroups(groups, filepath.ToSlash(j.walker.cwd))
	if err != nil {
		return nil, err
	}
	first := map[object.Key]bool{}
	for i := range rep.Findings {
		first[rep.Findings[i].Object] = true
	}
	return egress.Build(ctx, meshes, egress.Options{First: first})
}

// changes adds what the rules say of changes to what decides, under the configuration of the first path.
func (j *judge) changes(rep *lint.Report, list []lint.GateChange) error {
	if len(list) == 0 {
		return nil
	}
	engine, err := lint.New(j.rules, j.configs.of(j.configs.start).Config)
	if err != nil {
		return err
	}
	engine.JudgeChanges(rep, list)
	return nil
}

// groups puts files under their configurations; files of one that is wrong are left out. What a group sees is what a run over its files
// alone would: what the context of its configuration names. By default that is the repository, and whatever else is judged.
func (j *judge) groups(files, around []*object.File) ([]lint.Group, error) {
	all := j.configs.governing(files)
	out := make([]lint.Group, 0, len(all))
	engines := map[*settings]*lint.Engine{}
	engineOf := func(f *object.File) *lint.Engine {
		s := j.configs.ofFile(f.Name)
		e, made := engines[s]
		if !made && len(s.problems) == 0 {
			e, _ = lint.New(j.rules, s.Config) // one that is wrong judges nothing
			engines[s] = e
		}
		return e
	}
	for _, g := range all {
		group := lint.Group{Files: g.files, Around: around, EngineOf: engineOf}
		if len(all) > 1 {
			group.Around = j.inView(&g, files, around)
		}
		config := *g.config.anchored(j.walker, group.Files, group.Around)
		config.Partial = g.config.looksNowhere() && len(j.named) == 0
		config.Judged = j.judged
		if j.live != nil {
			j.live.overlay(&config)
		}
		var err error
		group.Engine, err = lint.New(j.rules, &config)
		var wrong *lint.ConfigError
		if len(g.config.problems) > 0 || errors.As(err, &wrong) {
			continue // those of files that are judged were found to be right
		}
		if err != nil {
			return nil, err
		}
		engines[g.config] = group.Engine
		out = append(out, group)
	}
	return out, nil
}

// renderedGroups are what was rendered. Each sees itself, and what --context names.
func (j *judge) renderedGroups(around []*object.File) ([]lint.Group, error) {
	var named []*object.File
	for _, f := range around {
		if j.named[f.Name] {
			named = append(named, f)
		}
	}
	var out []lint.Group
	for _, one := range j.rendered {
		if len(one.config.problems) > 0 {
			continue // which newJudge has told
		}
		config := *one.config.Config
		config.Partial = len(named) == 0
		engine, err := lint.New(j.rules, &config)
		if err != nil {
			return nil, err
		}
		out = append(out, lint.Group{Engine: engine, Files: one.files, Around: named, Rendering: one.name})
	}
	return out, nil
}

// earlier judges files as they were, as far as it matters to a report about them as they are.
func (j *judge) earlier(ctx context.Context, files, around []*object.File, now *lint.Report) (*lint.Report, error) {
	groups, err := j.groups(slices.Concat(files, around), nil) // what is only around now may have been at fault then
	if err != nil {
		return nil, err
	}
	return lint.EarlierGroups(ctx, groups, filepath.ToSlash(j.walker.cwd), now)
}

// inView are the files beside its own that a group sees, of several.
func (j *judge) inView(g *governed, files, around []*object.File) []*object.File {
	own := make(map[*object.File]bool, len(g.files))
	for _, f := range g.files {
		own[f] = true
	}
	c := g.config
	var globs []viewFilter
	for _, glob := range c.Context {
		globs = append(globs, newViewFilter(c.base, glob))
	}
	sees := func(f *object.File, judged bool) bool {
		switch {
		case own[f]:
			return false
		case f.InCluster(), j.live != nil && !judged: // all is one mesh
			return true
		case j.named[f.Name]:
			return true
		case c.isolated:
			return judged
		}
		abs := j.walker.absolute(filepath.FromSlash(f.Name))
		if c.Context == nil {
			return judged || f.Name != stdinName && c.repo != "" && isWithin(c.repo, abs)
		}
		return f.Name != stdinName && slices.ContainsFunc(globs, func(v viewFilter) bool { return v.match(abs) })
	}
	var out []*object.File
	for _, f := range files {
		if sees(f, true) {
			out = append(out, f)
		}
	}
	for _, f := range around {
		if sees(f, false) {
			out = append(out, f)
		}
	}
	return out
}

// viewFilter is the files that a path or glob under context names.
type viewFilter struct {
	folder string // absolute
	wild   *pathFilter
}

func newViewFilter(base, glob string) viewFilter {
	folder, filter := globFolder(base, glob)
	return viewFilter{folder, filter}
}

func (v viewFilter) match(abs string) bool {
	return isWithin(v.folder, abs) && (v.wild == nil || v.wild.match(abs) != "")
}

// meshes cuts files into meshes as the configuration of the first path does.
func (j *judge) meshes(files, around []*object.File) ([]lint.Mesh, *lint.Report, error) {
	config := *j.configs.of(j.configs.start).anchored(j.walker, files, around)
	if j.live != nil {
		j.live.overlay(&config)
	}
	engine, err := lint.New(j.rules, &config)
	if err != nil {
		return nil, nil, err
	}
	return engine.Meshes(lint.Input{Files: files, Around: around, Dir: filepath.ToSlash(j.walker.cwd)})
}
