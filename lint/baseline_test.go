package lint_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/object"
)

// withFaults is a ServiceEntry that rules SE101 to SE103 find what its annotations say of them: messages with | between them.
func withFaults(name string, faults ...string) string {
	text := "apiVersion: networking.istio.io/v1\nkind: ServiceEntry\nmetadata:\n  name: " + name + "\n  namespace: shop\n  annotations:\n    team: a\n"
	for _, f := range faults {
		rule, messages, _ := strings.Cut(f, "=")
		text += fmt.Sprintf("    %s: %q\n", rule, messages)
	}
	return text + "spec:\n  hosts: [" + name + ".example.com]\n  ports:\n  - {number: 80, name: http, protocol: HTTP}\n"
}

// faultRules find what annotations say. SE102 yields to SE101, SE103 needs to know all Services, and SE104 passes the object over.
func faultRules() []lint.Rule {
	var rules []lint.Rule
	for _, id := range []string{"SE101", "SE102", "SE103", "SE104"} {
		r := simple(id, object.ServiceEntry, func(p *lint.Pass) error {
			for m := range strings.SplitSeq(p.Object.Annotation(p.Rule().ID), "|") {
				switch m {
				case "":
				case "skip":
					p.Skip("cannot be known")
				default:
					p.Report(object.Path{"spec", "ports", 0, "protocol"}, m)
				}
			}
			return nil
		})
		rules = append(rules, r)
	}
	rules[0].Supersedes = []lint.Supersede{{Rule: "SE102", Scope: lint.ScopeObject}}
	rules[2].Needs = []object.Kind{object.Service}
	return rules
}

// seen is a run: what it judges, what is context, and whether that is everything.
type seen struct {
	files, around map[string]string
	whole         bool
	onDisk        []string
	config        *lint.Config
}

func (s seen) lint(t *testing.T) (*lint.Report, lint.BaselineView) {
	t.Helper()
	loadAll := func(texts map[string]string) []*object.File {
		var out []*object.File
		for name, text := range texts {
			out = append(out, load(t, name, text))
		}
		slices.SortFunc(out, func(a, b *object.File) int { return strings.Compare(a.Name, b.Name) })
		return out
	}
	v := lint.BaselineView{
		Files: loadAll(s.files), Around: loadAll(s.around),
		Whole:  func(string) bool { return s.whole },
		Exists: func(file string) bool { return slices.Contains(s.onDisk, file) },
		Known:  func(id string) bool { return id != "SE199" },
	}
	e, err := lint.New(faultRules(), s.config)
	if err != nil {
		t.Fatal(err)
	}
	r, err := e.Lint(context.Background(), lint.Input{Files: v.Files, Around: v.Around})
	if err != nil {
		t.Fatal(err)
	}
	return r, v
}

// baselineOf is what a run writes over an older baseline, read again from its text.
func baselineOf(t *testing.T, old *lint.Baseline, s seen) *lint.Baseline {
	t.Helper()
	r, v := s.lint(t)
	made, _ := old.Update(r, v)
	return reread(t, made)
}

func reread(t *testing.T, b *lint.Baseline) *lint.Baseline {
	t.Helper()
	text, err := b.Text()
	if err != nil {
		t.Fatal(err)
	}
	out, err := lint.ReadBaseline("baseline.yaml", text)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return out
}

func TestBaseline(t *testing.T) {
	// What a team has when it writes the baseline: one fault, the same fault twice, and the same object in two meshes.
	before := seen{files: map[string]string{
		"api.yaml":          withFaults("api", "SE101=port 80 is wrong", "SE104=http is slow"),
		"twice.yaml":        withFaults("twice", "SE101=a of 2|a of 3"),
		"prod/web.yaml":     withFaults("web", "SE101=b"),
		"staging/web.yaml":  withFaults("web", "SE101=b"),
		"prod/next.yaml":    withFaults("next"),
		"staging/next.yaml": withFaults("next", "SE101=c"),
	}}
	baseline := baselineOf(t, nil, before)
	onDisk := []string{"api.yaml", "twice.yaml", "prod/web.yaml", "staging/web.yaml", "prod/next.yaml", "staging/next.yaml"}

	// with is before with other files; "" removes one.
	with := func(files map[string]string) seen {
		out := seen{files: map[string]string{}, whole: true}
		for name, text := range before.files {
			out.files[name] = text
		}
		for name, text := range files {
			out.files[name] = text
			if text == "" {
				delete(out.files, name)
			}
		}
		return out
	}
	// only is a run over some of the files, with or without the others as context.
	only := func(s seen, context bool, names ...string) seen {
		out := seen{files: map[string]string{}, around: map[string]string{}, onDisk: onDisk}
		for name, text := range s.files {
			if slices.Contains(names, name) {
				out.files[name] = text
			} else if context {
				out.around[name] = text
			}
		}
		return out
	}
	config := func(s seen, c lint.Config) seen {
		s.config = &c
		return s
	}
	off := lint.Off
	partly, problems := lint.ReadConfig("c.yaml", []byte("overrides: [{paths: [prod], rules: {SE101: off}}]"))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	for _, c := range []struct {
		name   string
		run    seen
		found  []string // what is not in the baseline
		known  int
		stale  []string
		change lint.BaselineChange
	}{
		{name: "nothing changed", run: with(nil), known: 7},
		{name: "moved lines and other numbers",
			run: with(map[string]string{"api.yaml": "# new\n\n" + withFaults("api", "SE101=port 8080 is wrong", "SE104=http is slow")}), known: 7},
		{name: "another message", run: with(map[string]string{"api.yaml": withFaults("api", "SE101=the protocol is wrong", "SE104=http is slow")}),
			found: []string{"api.yaml SE101 the protocol is wrong"}, known: 6,
			stale: []string{"SE101 api.yaml 1: it is not found any more"}, change: lint.BaselineChange{Added: 1, Removed: 1}},
		{name: "a new fault beside a known one", run: with(map[string]string{"twice.yaml": withFaults("twice", "SE101=a of 2|a of 3|a of 4")}),
			found: []string{"twice.yaml SE101 a of 4"}, known: 7, change: lint.BaselineChange{Added: 1}},
		{name: "one of two repaired", run: with(map[string]string{"twice.yaml": withFaults("twice", "SE101=a of 3")}), known: 6,
			stale: []string{"SE101 twice.yaml 1: it is not found any more"}, change: lint.BaselineChange{Removed: 1}},
		{name: "moved to another file", run: with(map[string]string{"api.yaml": "", "moved/api.yaml": before.files["api.yaml"]}), known: 7},
		{name: "moved to another file with others", run: with(map[string]string{
			"api.yaml": withFaults("other"), "twice.yaml": before.files["twice.yaml"] + "---\n" + before.files["api.yaml"]}), known: 7},
		{name: "repaired in one mesh, new in the other", run: with(map[string]string{
			"prod/next.yaml": withFaults("next", "SE101=c"), "staging/next.yaml": withFaults("next")}),
			found: []string{"prod/next.yaml SE101 c"}, known: 6,
			stale: []string{"SE101 staging/next.yaml 1: it is not found any more"}, change: lint.BaselineChange{Added: 1, Removed: 1}},
		{name: "gone from one mesh, new in the other", run: with(map[string]string{
			"staging/next.yaml": "", "prod/next.yaml": withFaults("next", "SE101=c")}),
			found: []string{"prod/next.yaml SE101 c"}, known: 6,
			stale:  []string{"SE101 staging/next.yaml 1: the object is only in other files, which had it before"},
			change: lint.BaselineChange{Added: 1, Removed: 1}},
		{name: "object gone", run: with(map[string]string{"api.yaml": ""}), known: 5,
			stale:  []string{"SE101 api.yaml 1: the object is gone", "SE104 api.yaml 1: the object is gone"},
			change: lint.BaselineChange{Removed: 2}},
		{name: "object gone, but not everything is in view", run: seen{files: with(map[string]string{"api.yaml": ""}).files}, known: 5,
			change: lint.BaselineChange{Unjudged: 2}},
		{name: "file left out", run: seen{files: with(map[string]string{"api.yaml": ""}).files, whole: true, onDisk: onDisk}, known: 5,
			change: lint.BaselineChange{Unjudged: 2}},
		{name: "file that cannot be judged any more", run: with(map[string]string{"api.yaml": "kind: ServiceEntry\nspec: {{ .Values.x }}\n"}), known: 5,
			change: lint.BaselineChange{Unjudged: 2}},
		{name: "one file with its context", run: only(with(nil), true, "prod/web.yaml"), known: 1, change: lint.BaselineChange{Unjudged: 6}},
		{name: "one file alone", run: only(with(nil), false, "prod/web.yaml"), known: 1, change: lint.BaselineChange{Unjudged: 6}},
		{name: "one file, in which the fault of its like in another mesh is new",
			run:   only(with(map[string]string{"prod/next.yaml": withFaults("next", "SE101=c")}), true, "prod/next.yaml"),
			found: []string{"prod/next.yaml SE101 c"}, change: lint.BaselineChange{Added: 1, Unjudged: 7}},
		{name: "the same without context", run: only(with(map[string]string{"prod/next.yaml": withFaults("next", "SE101=c")}), false, "prod/next.yaml"),
			found: []string{"prod/next.yaml SE101 c"}, change: lint.BaselineChange{Added: 1, Unjudged: 7}},
		{name: "rule off", run: config(with(nil), lint.Config{Rules: map[string]lint.RuleConfig{"SE101": {Severity: &off}}}), known: 1,
			change: lint.BaselineChange{Unjudged: 6}},
		{name: "rule off in some files", run: config(with(nil), *partly), known: 6, change: lint.BaselineChange{Unjudged: 1}},
		{name: "rule that passed the object over", run: with(map[string]string{"api.yaml": withFaults("api", "SE101=port 80 is wrong", "SE104=skip")}), known: 6,
			change: lint.BaselineChange{Unjudged: 1}},
		{name: "suppressed by its author", run: with(map[string]string{
			"api.yaml": withFaults("api", "SE101=port 80 is wrong", "SE104=http is slow", "meshvet.dev/ignore=SE104", "meshvet.dev/ignore-reason=on purpose")}), known: 6,
			stale:  []string{"SE104 api.yaml 1: it is suppressed at api.yaml:10:25"},
			change: lint.BaselineChange{Removed: 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, v := c.run.lint(t)
			updated, change := baseline.Update(r, v)
			if diff := cmp.Diff(c.change, change); diff != "" {
				t.Errorf("update (-want +got):\n%s", diff)
			}
			all := len(r.Findings)
			baseline.Apply(r, v)
			var found, stale []string
			for _, f := range r.Findings {
				found = append(found, f.Location.File+" "+f.Rule.ID+" "+f.Message)
			}
			for _, s := range r.Baselines[0].Stale {
				stale = append(stale, fmt.Sprintf("%s %s %d: %s", s.Rule, s.File, s.Gone, s.Reason))
			}
			if diff := cmp.Diff(c.found, found); diff != "" {
				t.Errorf("found (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.stale, stale); diff != "" {
				t.Errorf("stale (-want +got):\n%s", diff)
			}
			if r.Baselines[0].Findings != c.known || len(r.Findings)+c.known != all {
				t.Errorf("%d findings in the baseline, want %d of %d", r.Baselines[0].Findings, c.known, all)
			}
			// What is written holds for the run that wrote it, and needs no second writing.
			r, v = c.run.lint(t)
			updated = reread(t, updated)
			again, change := updated.Update(r, v)
			if want := (lint.BaselineChange{Unjudged: c.change.Unjudged}); change != want {
				t.Errorf("a second update changes %+v, want %+v", change, want)
			}
			if diff := cmp.Diff(textOf(t, updated), textOf(t, again)); diff != "" {
				t.Errorf("a second update (-first +second):\n%s", diff)
			}
			if updated.Apply(r, v); len(r.Findings) > 0 || len(r.Baselines[0].Stale) > 0 {
				t.Errorf("after the update: found %v, stale %v", r.Findings, r.Baselines[0].Stale)
			}
		})
	}
}

func textOf(t *testing.T, b *lint.Baseline) string {
	t.Helper()
	text, err := b.Text()
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// An entry stays as long as another finding names its cause, and while its rule does not know enough to run.
func TestBaselineKeepsWhatIsNotAnswered(t *testing.T) {
	complete := &lint.Config{Complete: []object.Kind{object.Service}}
	b := baselineOf(t, nil, seen{files: map[string]string{"a.yaml": withFaults("a", "SE102=x", "SE103=y")}, config: complete})
	for _, c := range []struct {
		name   string
		run    seen
		change lint.BaselineChange
	}{
		{"superseded", seen{files: map[string]string{"a.yaml": withFaults("a", "SE101=z", "SE102=x", "SE103=y")}, config: complete}, lint.BaselineChange{Added: 1, Unjudged: 1}},
		{"incomplete", seen{files: map[string]string{"a.yaml": withFaults("a", "SE102=x", "SE103=y")}}, lint.BaselineChange{Unjudged: 1}},
		{"repaired", seen{files: map[string]string{"a.yaml": withFaults("a")}, config: complete}, lint.BaselineChange{Removed: 2}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, v := c.run.lint(t)
			if _, got := b.Update(r, v); got != c.change {
				t.Errorf("update changes %+v, want %+v", got, c.change)
			}
		})
	}
}

// Of two baselines each holds for its own files, and neither answers for those of the other.
func TestBaselinesOfSomeFiles(t *testing.T) {
	files := map[string]string{"a/web.yaml": withFaults("web", "SE101=b"), "b/web.yaml": withFaults("web", "SE101=b")}
	in := func(folder string) func(string) bool {
		return func(name string) bool { return strings.HasPrefix(name, folder+"/") }
	}
	ofA := baselineOf(t, nil, seen{files: map[string]string{"a/web.yaml": files["a/web.yaml"]}})
	ofB := baselineOf(t, nil, seen{files: map[string]string{"b/web.yaml": files["b/web.yaml"]}})
	for _, c := range []struct {
		name   string
		files  map[string]string
		found  int
		staleA string
	}{
		{name: "both", files: files},
		{name: "gone from a", files: map[string]string{"b/web.yaml": files["b/web.yaml"]},
			staleA: "the object is only in files under other configurations, for which the baseline does not hold"},
		{name: "repaired in a", files: map[string]string{"a/web.yaml": withFaults("web"), "b/web.yaml": files["b/web.yaml"]}, staleA: "it is not found any more"},
		{name: "new in b, moved in a", found: 1, files: map[string]string{
			"a/next.yaml": withFaults("web", "SE101=b"), "b/web.yaml": files["b/web.yaml"], "b/next.yaml": withFaults("web", "SE101=b")}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, order := range [][]string{{"a", "b"}, {"b", "a"}} {
				r, v := seen{files: c.files, whole: true}.lint(t)
				stale := map[string]string{}
				for _, folder := range order {
					v.Covers = in(folder)
					map[string]*lint.Baseline{"a": ofA, "b": ofB}[folder].Apply(r, v)
					for _, s := range r.Baselines[len(r.Baselines)-1].Stale {
						stale[folder] = s.Reason
					}
				}
				if len(r.Findings) != c.found || stale["a"] != c.staleA || stale["b"] != "" {
					t.Errorf("%v: found %v, stale %q", order, r.Findings, stale)
				}
			}
			r, v := seen{files: c.files, whole: true}.lint(t)
			v.Covers = in("a")
			updated, _ := ofA.Update(r, v)
			if slices.ContainsFunc(updated.Entries, func(e lint.BaselineEntry) bool { return !in("a")(e.File) }) {
				t.Errorf("an update takes in what is elsewhere: %v", updated.Entries)
			}
		})
	}
}

func TestBaselineOfUnknownRule(t *testing.T) {
	b, err := lint.ReadBaseline("b.yaml", []byte("version: 1\nfindings:\n- {rule: SE199, object: ServiceEntry shop/a, message: x}\n"))
	if err != nil {
		t.Fatal(err)
	}
	r, v := seen{files: map[string]string{"a.yaml": withFaults("a")}}.lint(t)
	b.Apply(r, v)
	if len(r.Baselines[0].Stale) != 1 || r.Baselines[0].Stale[0].Reason != "there is no such rule" || r.Baselines[0].Stale[0].Line != 3 {
		t.Errorf("stale: %+v", r.Baselines[0].Stale)
	}
}

// A finding about a file tells of a problem, which no baseline takes away.
func TestBaselineHoldsNoProblems(t *testing.T) {
	broken := lint.Rule{
		Meta: lint.Meta{ID: "MV903", Name: "not-loadable", Severity: lint.Error, Presets: []string{"recommended"}},
		CheckFile: func(p *lint.FilePass) error {
			p.Report(p.File.Problems[0].Location, p.File.Problems[0].Message, "")
			return nil
		},
	}
	f := load(t, "a.yaml", "apiVersion: networking.istio.io/v1\nkind: ServiceEntry\nspec: [\n")
	r := run(t, nil, []lint.Rule{broken}, f)
	b, change := (*lint.Baseline)(nil).Update(r, lint.BaselineView{Files: []*object.File{f}})
	if len(r.Findings) != 1 || len(b.Entries) != 0 || change != (lint.BaselineChange{}) {
		t.Errorf("%d findings; entries %v", len(r.Findings), b.Entries)
	}
}

func TestReadBaselineRefuses(t *testing.T) {
	const head = "version: 1\nfindings:\n"
	const entry = "- rule: SE101\n  object: ServiceEntry shop/a\n  message: m\n  file: a.yaml\n"
	for _, c := range []struct{ name, text, want string }{
		{"empty", "", "b.yaml: is no baseline: it lacks version: 1; `meshvet lint --write-baseline FILE` writes one"},
		{"a manifest", "apiVersion: v1\nkind: Service\n", "b.yaml:1:1: is no baseline: it lacks version: 1; "},
		{"a list", "- a\n", "b.yaml:1:1: is no baseline: it lacks version: 1; "},
		{"another key", head + entry + "finding: []\n", `b.yaml:7:1: unknown key "finding" in a baseline; known are findings, version`},
		{"version", "version: 2\nfindings: []\n", "b.yaml:1:10: version 2 of a baseline is not supported; this meshvet knows version 1"},
		{"no YAML", "version: [\n", "b.yaml:2:1: cannot be read: "},
		{"two documents", head + entry + "---\n" + head, "b.yaml:7:1: holds more than one YAML document; keep one"},
		{"findings", "version: 1\nfindings: {a: b}\n", "b.yaml:2:1: findings is a mapping; a list is wanted"},
		{"an entry", head + "- SE101\n", "b.yaml:3:3: an entry is a string; a mapping with rule, object and message is wanted"},
		{"no rule", head + "- object: a\n  message: m\n", "b.yaml:3:3: an entry lacks rule"},
		{"no message", head + "- rule: SE101\n  object: a\n", "b.yaml:3:3: an entry lacks message"},
		{"a number", head + "- rule: SE101\n  object: a\n  message: 12\n", "b.yaml:5:12: findings[0].message is 12, an integer; quote it"},
		{"a misspelt key", head + entry + "  massage: m\n", `b.yaml:7:3: unknown key "massage" in findings[0]; did you mean "message"?`},
		{"count", head + entry + "  count: 0\n", "b.yaml:7:10: count is 0; it is a number from 1 to 1000000"},
		{"huge count", head + entry + "  count: 99999999999999999999\n", "b.yaml:7:10: count is 1"},
		{"pinned to nothing", head + "- {rule: SE101, object: a, message: m, pinned: true}\n", "b.yaml:3:48: findings[0].pinned is true, but the entry has no file to which it is pinned"},
		{"pinned to a text", head + entry + "  pinned: here\n", "b.yaml:7:11: findings[0].pinned is here; true or false is wanted"},
		{"the same twice", head + entry + entry, "b.yaml:7:3: repeats the entry on line 3; remove one of them, or write count: 2"},
		{"the same with another number", head + strings.Replace(entry, ": m", ": m 1", 1) + strings.Replace(entry, ": m", ": m 2", 1), "b.yaml:7:3: repeats the entry on line 3; "},
		{"a merge conflict", head + "<<<<<<< ours\n" + entry + "=======\n>>>>>>> theirs\n", "b.yaml:3:1: holds a merge conflict; "},
		{"huge", head + strings.Repeat("#"+strings.Repeat("x", 1000)+"\n", lint.MaxBaselineBytes/1000), "b.yaml: is larger than 16 MiB; shorten it"},
		{"deep", "version: 1\nfindings: " + strings.Repeat("[", 200) + strings.Repeat("]", 200), "b.yaml:2:111: cannot be read: nested more than 100 levels deep; flatten it"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := lint.ReadBaseline("b.yaml", []byte(c.text))
			var bad *lint.ConfigError
			if !errors.As(err, &bad) || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("%v\nwant %s", err, c.want)
			}
		})
	}
	t.Run("many mistakes", func(t *testing.T) {
		_, err := lint.ReadBaseline("b.yaml", []byte(head+strings.Repeat("- {}\n", 100_000)))
		if err == nil || strings.Count(err.Error(), "\n") > 25 {
			t.Errorf("%v", err)
		}
	})
}

// Whatever manifests bring into messages, names and paths, a baseline gives it back.
func TestBaselineTextIsReadAsWritten(t *testing.T) {
	words := []string{
		"plain words", "x: y", "x #y", "#", "- a", "'", `"`, `\`, "a\nb", "a\r\n", "\t", " a ", "é", "\u00a0", "\u2028", "\ufeff", "😀",
		"\x00\x1b[31m", "yes", "NULL", "true", "~", "n", "[a, b]", "{a: b}", "*a", "&a", "!t", "%x", "@a", "`a`", "a:", "key:\tx", "<<", "=", "0x1f", "1e3", "…",
		"<<<<<<< ours", "a\u0085b", "\x7f", "{{ x }}", "---",
	}
	b := &lint.Baseline{Name: "baseline.yaml"}
	for i, w := range words {
		b.Entries = append(b.Entries, lint.BaselineEntry{
			Rule: "SE101", Object: fmt.Sprintf("ServiceEntry %c%s", 'a'+i/26, w), Path: w, Message: w, File: w, Count: 1 + i%2, Line: 4,
		})
	}
	got := reread(t, b)
	for i := range got.Entries {
		got.Entries[i].Line = 4
	}
	if diff := cmp.Diff(b, got); diff != "" {
		t.Errorf("(-written +read):\n%s", diff)
	}
	for i, line := range strings.Split(textOf(t, b), "\n") {
		if strings.ContainsAny(line, "\r\x1b\u2028\u0085") {
			t.Errorf("line %d: %q", i+1, line)
		}
	}
}

// Branches that add and remove entries in different places merge by themselves, into what a run after the merge would write.
func TestBaselineMerges(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	called := func(i int) string { return fmt.Sprintf("o%c%c", 'a'+i/26, 'a'+i%26) }
	files := map[string]string{}
	for i := 0; i < 60; i += 2 {
		files[called(i)+".yaml"] = withFaults(called(i), "SE101=wrong", "SE103=odd: #|odd: 'x'", "SE104=slow")
	}
	complete := &lint.Config{Complete: []object.Kind{object.Service}}
	branch := func(from map[string]string, changes map[int]string) map[string]string {
		out := map[string]string{}
		for name, text := range from {
			out[name] = text
		}
		for i, text := range changes {
			out[called(i)+".yaml"] = text
		}
		return out
	}
	fix := func(i int) string { return withFaults(called(i), "SE101=wrong", "SE104=slow") }
	worse := func(i int) string {
		return withFaults(called(i), "SE101=wrong|worse", "SE103=odd: #|odd: 'x'", "SE104=slow")
	}
	base := baselineOf(t, nil, seen{files: files, config: complete})
	for _, c := range []struct {
		name         string
		ours, theirs map[int]string
	}{
		{"both repair", map[int]string{2: fix(2), 4: fix(4), 30: fix(30)}, map[int]string{6: fix(6), 50: fix(50)}},
		{"neighbouring objects", map[int]string{10: fix(10)}, map[int]string{12: fix(12)}},
		{"both add", map[int]string{20: worse(20), 33: worse(33)}, map[int]string{22: worse(22), 35: worse(35)}},
		{"one adds, one repairs", map[int]string{20: worse(20)}, map[int]string{40: fix(40), 22: fix(22), 21: worse(21)}},
		{"the same repair", map[int]string{20: fix(20)}, map[int]string{20: fix(20), 44: fix(44)}},
		{"an object goes", map[int]string{20: withFaults(called(20))}, map[int]string{24: withFaults(called(24))}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			write := func(name string, b *lint.Baseline) string {
				at := filepath.Join(dir, name)
				if err := os.WriteFile(at, []byte(textOf(t, b)), 0o600); err != nil {
					t.Fatal(err)
				}
				return at
			}
			made := func(changes ...map[int]string) *lint.Baseline {
				now := files
				for _, c := range changes {
					now = branch(now, c)
				}
				return baselineOf(t, base, seen{files: now, config: complete, whole: true})
			}
			var problems bytes.Buffer
			cmd := exec.CommandContext(t.Context(), git, "merge-file", "-p", write("ours", made(c.ours)), write("base", base), write("theirs", made(c.theirs)))
			cmd.Stderr = &problems
			merged, err := cmd.Output()
			if err != nil {
				t.Fatalf("%v %s\n%s", err, problems.String(), merged)
			}
			if diff := cmp.Diff(textOf(t, made(c.ours, c.theirs)), string(merged)); diff != "" {
				t.Errorf("(-a run after the merge +merged):\n%s", diff)
			}
		})
	}
}

// FuzzReadBaseline holds that a baseline that can be read is written and read as the same one, and that the reader ends.
func FuzzReadBaseline(f *testing.F) {
	f.Add([]byte("version: 1\nfindings: []\n"))
	f.Add([]byte("version: 1\nfindings:\n- rule: SE101\n  object: ServiceEntry shop/a\n  path: \"spec.hosts[a b]\"\n  message: \"N is: \\x1b\"\n  file: a.yaml\n  count: 2\n"))
	f.Add([]byte("<<<<<<< x\n"))
	f.Add([]byte("version: 1\nfindings: &a [{rule: *a}]\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		b, err := lint.ReadBaseline("b.yaml", data)
		if err != nil {
			return
		}
		first, err := b.Text()
		if err != nil {
			return // larger than what it was read from, since of quotes
		}
		again, err := lint.ReadBaseline("b.yaml", first)
		if err != nil {
			t.Fatalf("%v\n%s", err, first)
		}
		if second := textOf(t, again); second != string(first) {
			t.Errorf("written %q, then %q", first, second)
		}
	})
}
