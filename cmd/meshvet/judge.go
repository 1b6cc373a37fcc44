package main

import (
	"context"
	"path/filepath"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/object"
)

// judge is what a run needs to judge a set of files. It may be asked several times, with files that have changed.
type judge struct {
	rules  []lint.Rule
	config *settings
	walker *walker
}

// newJudge checks the configuration. All mistakes of it are one *lint.ConfigError.
func newJudge(rules []lint.Rule, config *settings, w *walker) (*judge, error) {
	_, err := lint.New(rules, config.Config)
	if err := configErrors(config.problems, err); err != nil {
		return nil, err
	}
	return &judge{rules: rules, config: config, walker: w}, nil
}

// lint judges files in the light of those around them.
func (j *judge) lint(ctx context.Context, files, around []*object.File) (*lint.Report, error) {
	engine, err := j.engine(files, around)
	if err != nil {
		return nil, err
	}
	return engine.Lint(ctx, j.input(files, around))
}

// earlier judges files as they were, as far as it matters to a report about them as they are.
func (j *judge) earlier(ctx context.Context, files, around []*object.File, now *lint.Report) (*lint.Report, error) {
	engine, err := j.engine(files, around)
	if err != nil {
		return nil, err
	}
	return engine.Earlier(ctx, j.input(files, around), now)
}

func (j *judge) engine(files, around []*object.File) (*lint.Engine, error) {
	return lint.New(j.rules, j.config.anchored(j.walker, files, around))
}

func (j *judge) input(files, around []*object.File) lint.Input {
	return lint.Input{Files: files, Around: around, Dir: filepath.ToSlash(j.walker.cwd)}
}
