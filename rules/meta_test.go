package rules_test

import (
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/linttest"
	"github.com/meshvet/meshvet/lint/object"
)

var (
	idPattern   = regexp.MustCompile(`^(SE1|DR2|MX3|AM4|MV9)\d\d$`)
	namePattern = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)
)

func TestMetadata(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range all(t) {
		t.Run(r.ID, func(t *testing.T) {
			if !idPattern.MatchString(r.ID) || !namePattern.MatchString(r.Name) {
				t.Errorf("malformed id %q or name %q", r.ID, r.Name)
			}
			if seen[r.ID] || seen[r.Name] {
				t.Errorf("%s %s is taken", r.ID, r.Name)
			}
			seen[r.ID], seen[r.Name] = true, true
			for what, text := range map[string]string{
				"title": r.Title, "summary": r.Summary, "why": r.Why, "remedy": r.Remedy, "proof": r.Proof.Text, "proof kind": r.Proof.Kind, "category": string(r.Category),
			} {
				if strings.TrimSpace(text) == "" {
					t.Errorf("no %s", what)
				}
			}
			if strings.HasSuffix(r.Title, ".") {
				t.Errorf("title %q ends in a full stop", r.Title)
			}
			if len(r.References) == 0 {
				t.Error("no reference")
			}
			for _, ref := range r.References {
				if !strings.HasPrefix(ref, "https://") {
					t.Errorf("reference %s is not https", ref)
				}
			}
			if len(r.Presets) == 0 || !slices.Contains(r.Presets, "strict") {
				t.Errorf("presets %v; strict holds every rule", r.Presets)
			}
			if r.StrictSeverity != lint.Off && r.StrictSeverity <= r.Severity {
				t.Errorf("severity %s, and %s under the stricter preset", r.Severity, r.StrictSeverity)
			}
			for _, p := range r.Presets {
				if !slices.Contains(lint.PresetNames(), p) {
					t.Errorf("there is no preset %q", p)
				}
			}
			for _, o := range r.Options {
				if o.Strict != nil && fmt.Sprintf("%T", o.Strict) != fmt.Sprintf("%T", o.Default) {
					t.Errorf("option %s: %v and, under the preset strict, %v", o.Name, o.Default, o.Strict)
				}
			}
			for _, s := range r.Supersedes {
				if !idPattern.MatchString(s.Rule) {
					t.Errorf("supersedes %q", s.Rule)
				}
			}
			checks := 0
			for _, has := range []bool{r.Check != nil, r.CheckFile != nil, r.CheckSuppression != nil, r.CheckChange != nil} {
				if has {
					checks++
				}
			}
			if checks != 1 {
				t.Errorf("%d of Check, CheckFile, CheckSuppression and CheckChange", checks)
			}
			if !strings.HasSuffix(r.Source, strings.ReplaceAll(r.Name, "-", "_")+map[string]string{"go": ".go", "rego": ".rego"}[r.Lang]) {
				t.Errorf("source %q does not follow from the name %q", r.Source, r.Name)
			}
		})
	}
}

// casesOf reads the fixtures of a rule, wherever they are.
func casesOf(t *testing.T, r *lint.Rule) []linttest.Case {
	t.Helper()
	dir := "testdata"
	if r.Lang == "rego" {
		dir = "../policies/testdata"
	}
	cases, err := linttest.Cases(dir, r.Name)
	if err != nil {
		t.Fatal(err)
	}
	return cases
}

// found judges files by one rule alone and says what it found, in a form to compare.
func found(t *testing.T, c linttest.Case, r lint.Rule, files ...*object.File) []string {
	t.Helper()
	report, err := c.Lint([]lint.Rule{r}, files...)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, p := range report.Problems {
		if p.Kind == lint.RuleBroke {
			t.Errorf("%s: %s", c.Path, p.Message)
		}
	}
	for _, f := range report.Findings {
		out = append(out, fmt.Sprintf("%s %s %s: %s", f.Object, f.Path, f.Severity, f.Message))
	}
	return out
}

// alone drops what the configuration says about other rules, which an engine of one rule does not know.
func alone(c linttest.Case, r *lint.Rule) linttest.Case {
	cfg := *c.Config
	cfg.Rules, cfg.Suppressions = maps.Clone(cfg.Rules), lint.SuppressionConfig{}
	maps.DeleteFunc(cfg.Rules, func(name string, _ lint.RuleConfig) bool { return name != r.ID && name != r.Name })
	c.Config = &cfg
	return c
}

// Gates spare evaluations; they must never spare findings. So every field of every fixture is deleted in turn, which opens and
// closes gates, and the rule must find the same with its gates and without.
func TestGatesAreSound(t *testing.T) {
	for _, r := range all(t) {
		if len(r.When)+len(r.Levels)+len(r.Facts) == 0 {
			continue
		}
		open := r
		open.When, open.Levels, open.Facts = nil, nil, nil
		t.Run(r.ID, func(t *testing.T) {
			for _, c := range casesOf(t, &r) {
				c = alone(c, &r)
				file, err := linttest.Load(c.Path)
				if err != nil {
					t.Fatal(err)
				}
				for i, o := range file.Objects {
					for what, changed := range without(o) {
						mutant := &object.File{Name: file.Name, Class: object.Linted, Objects: slices.Clone(file.Objects)}
						mutant.Objects[i] = changed
						if diff := cmp.Diff(found(t, c, open, mutant), found(t, c, r, mutant)); diff != "" {
							t.Fatalf("%s without %s of %s: the gate changes the findings (-without gate +with):\n%s", c.Path, what, o.Key, diff)
						}
					}
				}
			}
		})
	}
}

// without yields an object once for each of its fields below spec, and for labels and annotations, with that field deleted.
func without(o *object.Object) map[string]*object.Object {
	out := map[string]*object.Object{}
	var walk func(v object.Value, at object.Path)
	walk = func(v object.Value, at object.Path) {
		for key, f := range v.Fields() {
			path := at.Child(key)
			raw, _ := o.Root().Any().(map[string]any)
			if remove(raw, path) {
				if changed, err := object.FromMap(raw); err == nil && changed != nil {
					out[path.String()] = changed
				}
			}
			walk(f, path)
		}
		for i, item := range v.Items() {
			walk(item, at.Child(i))
		}
	}
	walk(o.Root(), nil)
	return out
}

// No rule breaks on a manifest whose fields are of the wrong type, or on one that a hostile hand wrote: the run goes on, the
// other rules are heard, and MV902 names the fault.
func TestHostileValues(t *testing.T) {
	rules := all(t)
	hostile := []any{nil, true, int64(-1), 1.5, "", "x", []any{}, []any{nil, "x", map[string]any{}}, map[string]any{}, map[string]any{"x": []any{int64(1)}}}
	for _, r := range rules {
		t.Run(r.ID, func(t *testing.T) {
			c := casesOf(t, &r)[0]
			file, err := linttest.Load(c.Path)
			if err != nil {
				t.Fatal(err)
			}
			n := 0
			for i, o := range file.Objects {
				for _, path := range fieldsOf(o) {
					raw, _ := o.Root().Any().(map[string]any)
					n++
					if !replace(raw, path, hostile[n%len(hostile)]) {
						continue
					}
					changed, err := object.FromMap(raw)
					if err != nil || changed == nil {
						continue
					}
					mutant := &object.File{Name: file.Name, Class: object.Linted, Objects: slices.Clone(file.Objects)}
					mutant.Objects[i] = changed
					report, err := c.Lint(rules, mutant)
					if err != nil {
						t.Fatal(err)
					}
					for _, p := range report.Problems {
						t.Errorf("%s with %s = %v: %s", c.Path, path, hostile[n%len(hostile)], p.Message)
					}
				}
			}
		})
	}
}

// fieldsOf lists the paths of all fields and items of an object.
func fieldsOf(o *object.Object) []object.Path {
	var out []object.Path
	var walk func(v object.Value, at object.Path)
	walk = func(v object.Value, at object.Path) {
		if len(at) > 0 {
			out = append(out, at)
		}
		for key, f := range v.Fields() {
			walk(f, at.Child(key))
		}
		for i, item := range v.Items() {
			walk(item, at.Child(i))
		}
	}
	walk(o.Root(), nil)
	return out
}

func replace(v any, path object.Path, with any) bool {
	for i, e := range path {
		last := i == len(path)-1
		switch key := e.(type) {
		case string:
			m, ok := v.(map[string]any)
			if !ok {
				return false
			}
			if last {
				m[key] = with
				return true
			}
			v = m[key]
		case int:
			list, ok := v.([]any)
			if !ok || key >= len(list) {
				return false
			}
			if last {
				list[key] = with
				return true
			}
			v = list[key]
		}
	}
	return false
}

func remove(v any, path object.Path) bool {
	for _, e := range path[:len(path)-1] {
		switch key := e.(type) {
		case string:
			m, _ := v.(map[string]any)
			v = m[key]
		case int:
			list, _ := v.([]any)
			v = list[key]
		}
	}
	m, ok := v.(map[string]any)
	key, isKey := path[len(path)-1].(string)
	if !ok || !isKey {
		return false
	}
	delete(m, key)
	return true
}

// A rule that reasons from absence says so in Needs: it is silent where nothing is known to be complete. Every other rule finds the
// same there as anywhere, or says of each object on which it does not that it skipped it.
func TestNeeds(t *testing.T) {
	for _, r := range all(t) {
		t.Run(r.ID, func(t *testing.T) {
			for _, c := range casesOf(t, &r) {
				if !c.Bad {
					continue
				}
				c = alone(c, &r)
				file, err := linttest.Load(c.Path)
				if err != nil {
					t.Fatal(err)
				}
				complete := found(t, c, r, file)
				cfg := *c.Config
				cfg.Complete = []object.Kind{}
				c.Config = &cfg
				partial := found(t, c, r, file)
				switch {
				case len(r.Needs) > 0 && len(partial) > 0:
					t.Errorf("%s: found without knowing every %v: %v", c.Path, r.Needs, partial)
				case len(r.Needs) == 0 && len(complete) != len(partial)+skipped(t, c, r, file):
					t.Errorf("%s: the findings depend on completeness, and Needs does not say so:\n%s", c.Path, cmp.Diff(complete, partial))
				}
			}
		})
	}
}

// skipped counts the objects that a rule says it could not judge, of those on which it finds nothing.
func skipped(t *testing.T, c linttest.Case, r lint.Rule, file *object.File) int {
	t.Helper()
	report, err := c.Lint([]lint.Rule{r}, file)
	if err != nil {
		t.Fatal(err)
	}
	objects := map[object.Key]bool{}
	for _, s := range report.Skipped {
		objects[s.Object] = true
	}
	for _, f := range report.Findings {
		delete(objects, f.Object)
	}
	return len(objects)
}

// The same files give the same report for any number of workers.
func TestReportsAreDeterministic(t *testing.T) {
	rules := all(t)
	var files []*object.File
	for _, pattern := range []string{"testdata/*/*.yaml", "../policies/testdata/*/*.yaml"} {
		names, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			if strings.HasSuffix(name, "config.yaml") {
				continue
			}
			f, err := linttest.Load(name)
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, f)
		}
	}
	everything := func(workers int) []string {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(workers))
		c := linttest.Case{Config: &lint.Config{Complete: lint.AllKinds()}}
		report, err := c.Lint(rules, files...)
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, f := range report.Findings {
			out = append(out, fmt.Sprintf("%s %s %s %s %s", f.Location, f.Rule.ID, f.Severity, f.Message, f.Fingerprint()))
		}
		for _, s := range report.Skipped {
			out = append(out, fmt.Sprint(s))
		}
		return out
	}
	one, many := everything(1), everything(8)
	if len(one) == 0 {
		t.Fatal("no finding")
	}
	if diff := cmp.Diff(one, many); diff != "" {
		t.Errorf("one worker against eight:\n%s", diff)
	}
}
