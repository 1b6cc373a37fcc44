package rules_test

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/edit"
	"github.com/meshvet/meshvet/lint/linttest"
	"github.com/meshvet/meshvet/lint/object"
)

// TestFixing applies all fixes of each fixture, example and public manifest together, as meshvet fix does, and looks at what comes of it.
func TestFixing(t *testing.T) {
	set := all(t)
	made := fixing{applied: map[lint.Safety]int{}, refused: map[string]int{}}
	err := linttest.EachFile("testdata", "../policies/testdata", set, func(c linttest.Case, f *object.File) {
		if f.Name == filepath.ToSlash(c.FixedPath()) {
			return // most of what is in it is in the bad one too
		}
		made.try(t, []*object.File{f}, func(_ context.Context, files []*object.File) (*lint.Report, error) { return c.Lint(set, files...) })
	})
	if err != nil {
		t.Fatal(err)
	}
	made.tell(t, "fixtures")
	if made.applied[lint.Safe] < 50 || made.applied[lint.Unsafe] < 100 {
		t.Errorf("in fixtures %v fixes are applied", made.applied)
	}

	cfg := lint.Config{Complete: lint.AllKinds()}
	for _, r := range set {
		cfg.Enable = append(cfg.Enable, r.ID)
	}
	engine, err := lint.New(set, &cfg)
	if err != nil {
		t.Fatal(err)
	}
	judge := func(ctx context.Context, files []*object.File) (*lint.Report, error) {
		return engine.Lint(ctx, lint.Input{Files: files})
	}
	for _, what := range []string{"../examples", "../../shared/cases", "../../shared/corpus/*"} {
		dirs, err := filepath.Glob(what)
		if err != nil {
			t.Fatal(err)
		}
		made := fixing{applied: map[lint.Safety]int{}, refused: map[string]int{}}
		for _, dir := range dirs {
			made.try(t, filesIn(t, dir), judge)
		}
		made.tell(t, what)
	}
}

// fixing counts what became of fixes, and why some were refused.
type fixing struct {
	applied map[lint.Safety]int
	refused map[string]int
	caused  int
}

func (n *fixing) tell(t *testing.T, what string) {
	t.Helper()
	t.Logf("%s: applied %v, findings that came with unsafe ones %d", what, n.applied, n.caused)
	for _, reason := range slices.Sorted(maps.Keys(n.refused)) {
		t.Logf("  refused %d: %s", n.refused[reason], reason)
	}
}

// quoted is what refusals of one sort have that differs.
var quoted = regexp.MustCompile(`"[^"]*"|[&*]\w+|spec\.[^ ]*|DestinationRule [^ ]*|find: .*`)

// try fixes files, first with safe fixes only.
func (n *fixing) try(t *testing.T, files []*object.File, judge edit.Judge) {
	t.Helper()
	judge = remembering(judge)
	for _, unsafe := range []bool{false, true} {
		r, err := edit.Fix(t.Context(), files, judge, edit.Options{Unsafe: unsafe})
		if err != nil {
			t.Fatal(err)
		}
		if r.Unfinished {
			t.Errorf("%s: does not come to an end", files[0].Name)
			continue
		}
		for _, x := range r.Applied {
			if !unsafe || x.Fix.Safety == lint.Unsafe {
				n.applied[x.Fix.Safety]++
			}
		}
		for _, x := range r.Refused {
			if x.Reason == "" {
				t.Errorf("%s: %s is refused without a reason", x.Finding.Location, x.Finding.Rule.ID)
			}
			n.refused[x.Finding.Rule.ID+": "+quoted.ReplaceAllString(x.Reason, "…")]++
		}
		n.caused += len(r.Caused)
		if len(r.Changed) == 0 {
			continue
		}

		// Once more there is nothing to do.
		again, err := edit.Fix(t.Context(), r.Files, judge, edit.Options{Unsafe: unsafe})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range again.Changed {
			t.Errorf("another run changes more:\n%s", edit.Diff(c.Name, c.Before, c.After))
		}

		cured(t, r)
		if !unsafe {
			nothingNew(t, r)
		}
		was := map[string]*object.File{}
		for _, f := range files {
			was[f.Name] = f
		}
		for _, f := range r.Files {
			untouched(t, r, was[f.Name], f)
		}
	}
}

// remembering is a judge that does not judge the same files twice.
func remembering(judge edit.Judge) edit.Judge {
	type judged struct {
		files  []*object.File
		report *lint.Report
	}
	var known []judged
	return func(ctx context.Context, files []*object.File) (*lint.Report, error) {
		for _, k := range known {
			if slices.Equal(k.files, files) {
				return k.report, nil
			}
		}
		report, err := judge(ctx, files)
		if err == nil {
			known = append(known, judged{files, report})
		}
		return report, err
	}
}

// cured: what was fixed is not found any more.
func cured(t *testing.T, r *edit.Result) {
	t.Helper()
	left := map[string]bool{}
	for _, f := range r.Report.Findings {
		left[f.Location.File+" "+f.Fingerprint()] = true
	}
	for _, x := range r.Applied {
		if left[x.Finding.Location.File+" "+x.Finding.Fingerprint()] {
			t.Errorf("%s: %s still finds: %s", x.Finding.Location, x.Finding.Rule.ID, x.Finding.Message)
		}
	}
}

// nothingNew: no rule speaks up about an object that it had nothing to say about, unless another finding stood for it, or it is about a value
// of which a fix made a copy elsewhere, as its finding says.
func nothingNew(t *testing.T, r *edit.Result) {
	t.Helper()
	type said struct {
		rule, file string
		object     object.Key
	}
	before := map[said]bool{}
	add := func(f *lint.Finding) { before[said{f.Rule.ID, f.Location.File, f.Object}] = true }
	for i := range r.Before.Findings {
		add(&r.Before.Findings[i])
	}
	for i := range r.Before.Suppressed {
		add(&r.Before.Suppressed[i].Finding)
	}
	for _, f := range r.Before.Superseded() {
		add(&f)
	}
	copied := func(f lint.Finding) bool {
		return slices.ContainsFunc(r.Applied, func(x edit.Applied) bool {
			return slices.ContainsFunc(x.Finding.Related, func(from lint.Related) bool {
				return from.Object == f.Object && (f.Path.HasPrefix(from.Path) || from.Path.HasPrefix(f.Path))
			})
		})
	}
	for _, f := range r.Report.Findings {
		if !before[said{f.Rule.ID, f.Location.File, f.Object}] && !copied(f) {
			t.Errorf("%s: after safe fixes %s finds: %s", f.Location, f.Rule.ID, f.Message)
		}
	}
}

// untouched: comments survive, and so does every byte of documents in which nothing was fixed.
func untouched(t *testing.T, r *edit.Result, was, now *object.File) {
	t.Helper()
	if was.HasBOM() != now.HasBOM() {
		t.Errorf("%s: the byte-order mark comes or goes", was.Name)
	}
	touched := map[object.Key]bool{}
	fixed := false
	for _, x := range r.Applied {
		if x.Finding.Location.File == was.Name {
			touched[x.Finding.Object], fixed = true, true
		}
	}
	if !fixed && was.Text() != now.Text() {
		t.Errorf("%s: changes without a fix", was.Name)
	}
	comments := remarks(now.Text())
	for text, count := range remarks(was.Text()) {
		if comments[text] < count {
			t.Errorf("%s: %d of %d comments %q are lost", was.Name, count-comments[text], count, text)
		}
	}
	docs := documents(was)
	here := documents(now)
	for start, objects := range docs {
		if slices.ContainsFunc(objects, func(o *object.Object) bool { return touched[o.Key] }) {
			continue
		}
		text := body(was, objects[0])
		found := false
		for _, others := range here {
			found = found || body(now, others[0]) == text
		}
		if !found {
			t.Errorf("%s: the document at byte %d, in which nothing was fixed, is not the same", was.Name, start)
		}
	}
	for text := range strings.Lines(now.Text()) {
		if strings.HasSuffix(text, "\n") && strings.HasSuffix(text, "\r\n") != strings.Contains(was.Text(), "\r\n") && !strings.Contains(was.Text(), text) {
			t.Errorf("%s: line %q has another line end than the file", was.Name, text)
		}
	}
}

// documents are the objects of a file by where their documents begin.
func documents(f *object.File) map[int][]*object.Object {
	out := map[int][]*object.Object{}
	for _, o := range f.Objects {
		if _, start, _, ok := o.Document(); ok {
			out[start] = append(out[start], o)
		}
	}
	return out
}

func body(f *object.File, o *object.Object) string {
	_, start, end, _ := o.Document()
	return strings.TrimRight(f.Text()[start:end], "\r\n")
}

var remark = regexp.MustCompile(`(^|[ \t])#.*`)

// remarks counts what looks like a comment, by a reading of its own.
func remarks(text string) map[string]int {
	out := map[string]int{}
	for line := range strings.Lines(text) {
		if m := remark.FindString(strings.TrimRight(line, "\r\n")); m != "" {
			out[fmt.Sprint(strings.TrimSpace(m))]++
		}
	}
	return out
}
