package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/object"
	"github.com/meshvet/meshvet/lint/report"
)

// wantComment is what announces a finding in a fixture to the tests.
var wantComment = regexp.MustCompile(`(?m)^[ \t]*# want [A-Z]{2}\d{3} .*\n|[ \t]*# want [A-Z]{2}\d{3} .*$`)

// fixtureFolders are where the fixtures of rules are, from the root of the repository.
var fixtureFolders = [...]string{"rules/testdata", "policies/testdata"}

// fixture is the folder of a rule's fixtures. It has the same meaning to the tests of the rules.
type fixture struct {
	folder string
	place  string // from the root of the repository, with slashes
	names  []string
}

// openFixture finds a rule's fixtures below the root of the repository; nil if it has none.
func openFixture(root string, m *lint.Meta) (*fixture, error) {
	for _, parent := range fixtureFolders {
		folder := filepath.Join(root, filepath.FromSlash(parent), m.Name)
		entries, err := os.ReadDir(folder)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read the fixtures of %s: %w", m.ID, err)
		}
		f := &fixture{folder: folder, place: parent + "/" + m.Name}
		for _, e := range entries {
			f.names = append(f.names, e.Name())
		}
		return f, nil
	}
	return nil, nil
}

func (f *fixture) read(name string) (string, error) {
	if !slices.Contains(f.names, name) {
		return "", nil
	}
	data, err := os.ReadFile(filepath.Join(f.folder, name))
	if err != nil {
		return "", fmt.Errorf("read fixture: %w", err)
	}
	return string(data), nil
}

// bad picks the bad case to show: bad.yaml, or else the first.
func (f *fixture) bad() string {
	if slices.Contains(f.names, "bad.yaml") {
		return "bad.yaml"
	}
	for _, name := range f.names {
		if strings.HasPrefix(name, "bad") && strings.Count(name, ".") == 1 {
			return name
		}
	}
	return ""
}

// example judges a rule's bad manifest as its test does, and shows what a user would see.
func (f *fixture) example(ctx context.Context, r *lint.Rule, all []lint.Rule) (*example, error) {
	bad := f.bad()
	if bad == "" {
		return nil, nil
	}
	stem := strings.TrimSuffix(bad, ".yaml")
	text, err := f.read(bad)
	if err != nil {
		return nil, err
	}
	ex := &example{Name: bad, Bad: wantComment.ReplaceAllString(text, "")}

	cfg, err := f.config(stem)
	if err != nil {
		return nil, err
	}
	if cfg.Complete == nil {
		cfg.Complete = lint.AllKinds()
	}
	if strictOnly(&r.Meta) {
		cfg.Enable = append(cfg.Enable, r.ID)
	}
	engine, err := lint.New(all, cfg)
	if err != nil {
		return nil, fmt.Errorf("fixture of %s: %w", r.ID, err)
	}
	file, err := object.Load(ctx, bad, strings.NewReader(ex.Bad), object.Limits{})
	if err != nil {
		return nil, err
	}
	in := lint.Input{Files: []*object.File{file}}
	for _, name := range f.names {
		if !strings.HasPrefix(name, "context") && name != stem+".context.yaml" {
			continue
		}
		around, err := f.read(name)
		if err != nil {
			return nil, err
		}
		loaded, err := object.Load(ctx, name, strings.NewReader(around), object.Limits{})
		if err != nil {
			return nil, err
		}
		in.Around = append(in.Around, loaded)
		ex.Around = append(ex.Around, manifestFile{name, around})
	}
	rep, err := engine.Lint(ctx, in)
	if err != nil {
		return nil, err
	}
	if ex.Before, err = f.read(stem + ".before.yaml"); err != nil {
		return nil, err
	}
	if ex.Before != "" {
		before, err := object.Load(ctx, bad, strings.NewReader(ex.Before), object.Limits{})
		if err != nil {
			return nil, err
		}
		if err := compareWith(ctx, engine, rep, in, lint.Input{Files: []*object.File{before}, Around: in.Around}); err != nil {
			return nil, err
		}
	}
	found := len(rep.Findings)
	rep.Findings = slices.DeleteFunc(rep.Findings, func(x lint.Finding) bool { return x.Rule.ID != r.ID })
	if len(rep.Findings) == 0 {
		return nil, fmt.Errorf("%s finds nothing in its own fixture %s", r.ID, filepath.Join(f.folder, bad))
	}
	ex.Others = found > len(rep.Findings)
	if ex.Output, err = textOf(rep); err != nil {
		return nil, err
	}
	if ex.Fixed, err = f.read(stem + ".fixed.yaml"); err != nil {
		return nil, err
	}
	for _, name := range f.names {
		if (strings.HasPrefix(name, "bad") || strings.HasPrefix(name, "good")) && strings.Count(name, ".") == 1 {
			ex.Files = append(ex.Files, fmt.Sprintf("[%s](../../%s/%s)", name, f.place, name))
		}
	}
	return ex, nil
}

// compareWith adds to a report what the rules say of a change.
func compareWith(ctx context.Context, engine *lint.Engine, rep *lint.Report, now, then lint.Input) error {
	before, err := engine.Earlier(ctx, then, rep)
	if err != nil {
		return err
	}
	engine.JudgeChanges(rep, lint.SuppressionChanges(rep, before, "the revision", slices.Concat(now.Files, now.Around), slices.Concat(then.Files, then.Around)))
	return nil
}

// textOf is the text report without its summary.
func textOf(rep *lint.Report) (string, error) {
	text, err := report.Named("text", report.Options{Quiet: true})
	if err != nil {
		return "", err
	}
	var out bytes.Buffer
	if err := text.Report(&out, rep); err != nil {
		return "", err
	}
	return out.String(), nil
}

func (f *fixture) config(stem string) (*lint.Config, error) {
	for _, name := range []string{stem + ".config.yaml", "config.yaml"} {
		text, err := f.read(name)
		if err != nil {
			return nil, err
		}
		if text == "" {
			continue
		}
		cfg, problems := lint.ReadConfig(name, []byte(text))
		return cfg, configErrors(problems, nil)
	}
	return &lint.Config{}, nil
}
