package lint_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/object"
)

// remarkable are rules that find one thing each on every ServiceEntry, at different places: SE101 on line 7, SE103 on line 10 of the entry,
// SE104, of a field that is missing, on line 6, and SE105 on line 2. SE106 runs only where every Service is known; SE107 cannot tell.
func remarkable() []lint.Rule {
	made := func(id string, c lint.Category, check func(*lint.Pass) error) lint.Rule {
		r := simple(id, object.ServiceEntry, check)
		r.Category = c
		return r
	}
	rules := []lint.Rule{
		made("SE101", lint.CategoryServiceEntry, finds(object.Path{"spec", "hosts"}, "hosts")),
		made("SE103", lint.CategoryServiceEntry, finds(object.Path{"spec", "ports", 0, "number"}, "number")),
		made("SE104", lint.CategoryTLS, finds(object.Path{"spec", "location"}, "no location")),
		made("SE105", lint.CategoryAcross, finds(nil, "the object")),
		made("SE106", lint.CategoryPool, func(*lint.Pass) error { return nil }),
		made("SE107", lint.CategoryPool, func(p *lint.Pass) error { p.Skip("it cannot tell"); return nil }),
		made("SE108", lint.CategoryServiceEntry, func(*lint.Pass) error { return nil }),
		made("SE109", lint.CategoryPool, func(p *lint.Pass) error { return fmt.Errorf("it broke") }),
		made("DR201", lint.CategoryPool, nil),
		made("MX301", lint.CategoryAcross, func(*lint.Pass) error { return nil }),
		made("DR202", lint.CategoryPool, func(*lint.Pass) error { return nil }),
		made("DR238", lint.CategoryTLS, func(*lint.Pass) error { return nil }),
	}
	rules[10].Kinds = []object.Kind{object.DestinationRule}
	rules[4].Needs = []object.Kind{object.Service}
	rules[8].Kinds, rules[8].Check = []object.Kind{object.DestinationRule}, finds(nil, "the rule")
	return append(rules, telling())
}

// with puts lines into the entry, each above the line of the number.
func with(above map[int]string) string {
	lines := strings.SplitAfter(entry, "\n")
	var b strings.Builder
	for i, line := range lines {
		b.WriteString(above[i+1])
		b.WriteString(line)
	}
	return b.String()
}

func TestComments(t *testing.T) {
	const all = "SE101 SE103 SE104 SE105"
	lineOf := func(n int, comment string) string {
		lines := strings.Split(entry, "\n")
		lines[n-1] += " " + comment
		return strings.Join(lines, "\n")
	}
	for _, c := range []struct {
		name, text        string
		found, suppressed string
		notes             []string
	}{
		{"beside", lineOf(7, "# meshvet:ignore SE101 -- x"), "SE103 SE104 SE105", "SE101", nil},
		{"beside another line", lineOf(8, "# meshvet:ignore SE101 -- x"), all, "", []string{"8: the comment names in vain: SE101 on line 8"}},
		{"above", with(map[int]string{7: "  # meshvet:ignore SE101 -- x\n"}), "SE103 SE104 SE105", "SE101", nil},
		{"above the line above", with(map[int]string{6: "  # meshvet:ignore SE101 -- x\n"}), "SE103 SE104 SE105", "SE101", nil}, // spec: with all in it
		{"beside an item of what it is found on", lineOf(9, "# meshvet:ignore SE103 -- x"), "SE101 SE104 SE105", "SE103", nil},
		{"above the item", with(map[int]string{10: "# meshvet:ignore SE103 -- x\n"}), "SE101 SE104 SE105", "SE103", nil},
		{"above a key behind it", with(map[int]string{11: "# meshvet:ignore SE103 -- x\n"}), all, "", []string{"11: the comment names in vain: SE103 on line 12"}},
		{"of a field that is missing", lineOf(6, "# meshvet:ignore SE104 -- x"), "SE101 SE103 SE105", "SE104", nil},
		{"of the object, on its kind", lineOf(2, "# meshvet:ignore SE105 -- x"), "SE101 SE103 SE104", "SE105", nil},
		{"above the object", "# meshvet:ignore SE105 SE103 -- x\n" + entry, "SE101 SE104", "SE103 SE105", nil},
		{"above the mark", "# meshvet:ignore SE105 -- x\n---\n" + entry, "SE101 SE103 SE104", "SE105", nil},
		{"by category", "# meshvet:ignore Service-Entry, TLS -- x\n" + entry, "SE105", "SE101 SE103 SE104", nil},
		{"of the file", "# meshvet:ignore-file SE105 -- x\n" + entry + "---\n" + strings.ReplaceAll(entry, "name: api", "name: b"), "SE101*2 SE103*2 SE104*2", "SE105*2", nil},
		{"of the file, behind content", entry + "# meshvet:ignore-file SE105 -- x\n", all, "",
			[]string{"13: the comment silences nothing: a comment about the whole file stands before all else in it; move it there"}},
		{"two of the same", "# meshvet:ignore-file SE101 -- x\n" + lineOf(7, "# meshvet:ignore SE101 -- y"), "SE103 SE104 SE105", "SE101", nil},
		{"CRLF", strings.ReplaceAll(lineOf(7, "# meshvet:ignore SE101 -- x"), "\n", "\r\n"), "SE103 SE104 SE105", "SE101", nil},
		{"in a text", strings.Replace(entry, "spec:", "  annotations:\n    a: |\n      # meshvet:ignore SE101 -- x\nspec:", 1), all, "", nil},
		{"in a list", "kind: List\napiVersion: v1\nitems:\n# meshvet:ignore SE101 SE105 -- x\n- " + strings.ReplaceAll(strings.TrimSpace(entry), "\n", "\n  ") +
			"\n- " + strings.ReplaceAll(strings.TrimSpace(strings.ReplaceAll(entry, "name: api", "name: b")), "\n", "\n  "), "SE101 SE103*2 SE104*2 SE105", "SE101 SE105", nil},
		{"above a list", "# meshvet:ignore SE101 -- x\nkind: List\napiVersion: v1\nitems:\n- " + strings.ReplaceAll(strings.TrimSpace(entry), "\n", "\n  ") +
			"\n- " + strings.ReplaceAll(strings.TrimSpace(strings.ReplaceAll(entry, "name: api", "name: b")), "\n", "\n  "), "SE103*2 SE104*2 SE105*2", "SE101*2", nil},

		{"no reason", lineOf(7, "# meshvet:ignore SE101"), all, "", []string{"7: the comment silences nothing: it has to say why, as in meshvet:ignore SE101 -- the reason"}},
		{"one dash", lineOf(7, "# meshvet:ignore SE101 - ok then"), all, "", []string{"7: the comment silences nothing: the reason stands behind two dashes, as in meshvet:ignore SE101 -- the reason"}},
		{"an empty reason", lineOf(7, "# meshvet:ignore SE101 -- …"), all, "", []string{"7: the comment silences nothing: it has to say why, as in meshvet:ignore SE101 -- the reason"}},
		{"a reason without blanks", lineOf(7, "# meshvet:ignore SE101--x"), "SE103 SE104 SE105", "SE101", nil},
		{"no words", lineOf(7, "# meshvet:ignore -- x"), all, "", []string{"7: the comment silences nothing: it names no rule"}},
		{"another word", lineOf(7, "# meshvet:ignored SE101 -- x"), all, "", []string{`7: the comment silences nothing: "meshvet:ignored" is none of meshvet:ignore and meshvet:ignore-file`}},
		{"expired", lineOf(7, "# meshvet:ignore SE101 until=2026-11-29 -- x"), all, "",
			[]string{"7: the comment silences nothing: it has expired, its last day was 2026-11-29; cure what it names, or give it a later day"}},
		{"the last day", lineOf(7, "# meshvet:ignore SE101, until=2026-11-30 -- x"), "SE103 SE104 SE105", "SE101", nil},
		{"a last day behind the reason", lineOf(7, "# meshvet:ignore SE101 -- x until=2099-01-01"), all, "", []string{"7: the comment silences nothing: until= belongs before the --"}},
		{"nothing behind it", entry + "# meshvet:ignore SE101 -- x\n", all, "", []string{"13: the comment silences nothing: nothing follows it; put it on the line of the finding, or above that"}},
		{"above what is not judged", entry + "# meshvet:ignore SE101 -- x\n---\nkind: Service\n", all, "",
			[]string{"13: the comment silences nothing: line 15, which it is about, is part of no ServiceEntry or DestinationRule"}},

		{"a rule for another kind", "# meshvet:ignore DR201 -- x\n" + entry, all, "", []string{"1: the comment names in vain: DR201 on lines 2 to 13"}},
		{"rules that did not run", "# meshvet:ignore SE106, SE107, SE109, traffic-policy -- x\n" + entry, all, "", nil},
		{"a rule that ran beside", "# meshvet:ignore SE106, se108 -- x\n" + entry, all, "", []string{"1: the comment names in vain: se108 on lines 2 to 13"}},
		{"a rule that relates objects", "# meshvet:ignore MX301 -- x\n" + entry, all, "", []string{"1: the comment names in vain: MX301 on lines 2 to 13"}},
		{"a rule that relates objects, beside what is not read", "# meshvet:ignore MX301, SE108 -- x\n" + entry + "---\nkind: VirtualService\napiVersion: networking.istio.io/v1\nspec: {{x}}\n",
			all, "", []string{"1: the comment names in vain: SE108 on lines 2 to 13"}},
		{"in a file that is broken elsewhere", "# meshvet:ignore SE101, SE108 -- x\n" + entry + "---\nkind: ServiceEntry\na: [\n", "SE103 SE104 SE105", "SE101", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := run(t, &lint.Config{Clock: clock}, remarkable(), load(t, "a.yaml", c.text))
			notes := apart(r)
			var suppressed []lint.Finding
			for _, s := range r.Suppressed {
				suppressed = append(suppressed, s.Finding)
			}
			if diff := cmp.Diff(c.found, counted(r.Findings)); diff != "" {
				t.Errorf("found: %s", diff)
			}
			if diff := cmp.Diff(c.suppressed, counted(suppressed)); diff != "" {
				t.Errorf("suppressed: %s", diff)
			}
			if diff := cmp.Diff(c.notes, notes); diff != "" {
				t.Errorf("notes: %s", diff)
			}
		})
	}
}

// counted lists rules by ID, with how often they found something if that is more than once.
func counted(findings []lint.Finding) string {
	var out []string
	n := 1
	for _, id := range strings.Fields(idsOf(findings)) {
		if last := len(out) - 1; last >= 0 && strings.HasPrefix(out[last], id) {
			n++
			out[last] = fmt.Sprintf("%s*%d", id, n)
			continue
		}
		n = 1
		out = append(out, id)
	}
	return strings.Join(out, " ")
}

// Runs that know more and less do not contradict one another.
func TestUnusedOnlyIfRun(t *testing.T) {
	f := load(t, "a.yaml", "# meshvet:ignore SE106 -- x\n"+entry)
	if notes := apart(run(t, &lint.Config{Complete: lint.AllKinds()}, remarkable(), f)); len(notes) != 1 {
		t.Errorf("where it ran: %q", notes)
	}
	for name, cfg := range map[string]*lint.Config{
		"incomplete": {},
		"off":        {Complete: lint.AllKinds(), Rules: map[string]lint.RuleConfig{"SE106": {Severity: new(lint.Severity)}}},
		"disabled":   {Complete: lint.AllKinds(), Disable: []string{"SE106"}},
		"override": {Complete: lint.AllKinds(), Overrides: []lint.Override{
			{Namespaces: []string{"shop"}, Rules: map[string]lint.RuleConfig{"SE106": {Severity: new(lint.Severity)}}},
		}},
	} {
		if notes := apart(run(t, cfg, remarkable(), f)); len(notes) > 0 {
			t.Errorf("%s: %q", name, notes)
		}
	}
	e, err := lint.New(remarkable(), nil)
	if err != nil {
		t.Fatal(err)
	}
	vain := load(t, "b.yaml", "# meshvet:ignore SE108 -- x\n"+strings.ReplaceAll(entry, "name: api", "name: b"))
	r, err := e.Lint(t.Context(), lint.Input{Files: []*object.File{f}, Around: []*object.File{vain}})
	if err != nil {
		t.Fatal(err)
	}
	if notes := apart(r); len(notes) > 0 || len(r.Suppressions) != 1 {
		t.Errorf("of a file that is only context: %q, %d suppressions", notes, len(r.Suppressions))
	}
	generated := load(t, "c.yaml", "# meshvet:ignore SE108 -- x\n"+strings.ReplaceAll(entry, "name: api", "name: a~b"))
	if notes := apart(run(t, nil, remarkable(), generated)); len(notes) > 0 {
		t.Errorf("of what istiod wrote: %q", notes)
	}
}

// What a rule did not find may be due to what it did not see.
func TestUnusedOnlyIfInView(t *testing.T) {
	accepts := func(text string) *object.File {
		return load(t, "a.yaml", "# meshvet:ignore DR202, MX301, DR238, SE108 -- x\n"+text)
	}
	for _, c := range []struct {
		name  string
		cfg   lint.Config
		files []*object.File
		want  string
	}{
		{"an entry", lint.Config{}, []*object.File{accepts(entry)}, "DR202 MX301 DR238 SE108"},
		{"an entry of which nothing else is looked at", lint.Config{Partial: true}, []*object.File{accepts(entry)}, "DR202 SE108"},
		{"all there is", lint.Config{Partial: true, Complete: lint.AllKinds()}, []*object.File{accepts(entry)}, "DR202 MX301 DR238 SE108"},
		{"a rule without its host", lint.Config{}, []*object.File{accepts(rule)}, "MX301 DR238 SE108"},
		{"a rule with its host", lint.Config{}, []*object.File{accepts(rule), load(t, "b.yaml", entry)}, "DR202 MX301 DR238 SE108"},
	} {
		notes := apart(run(t, &c.cfg, remarkable(), c.files...))
		if len(notes) != 1 || !strings.Contains(notes[0], "in vain: "+c.want+" on") {
			t.Errorf("%s: %q, want %s", c.name, notes, c.want)
		}
	}
}

// A report has all that is said, with what identifies it.
func TestReportListsSuppressions(t *testing.T) {
	text := "# meshvet:ignore-file service-entry se105 -- a\n" + annotated("meshvet.dev/ignore: SE101 nonsense until=2027-01-01", reasoned) +
		"---\n" + with(map[int]string{10: "# meshvet:ignore SE108 -- b\n", 6: "# meshvet:ignore SE101\n"})
	var got []string
	for _, s := range run(t, &lint.Config{Clock: clock}, remarkable(), load(t, "a.yaml", text)).Suppressions {
		got = append(got, fmt.Sprintf("%d %s %q %s void=%t used=%t %s %s %q", s.Where.Range.Start.Line, s.Kind, s.Keys(), s.Until, s.Void, s.Used, s.Object, s.Path, s.Reason))
	}
	want := []string{
		`1 file ["file SE105 a.yaml" "file service-entry a.yaml"]  void=false used=true    "a"`,
		`8 annotation ["annotation SE101 ServiceEntry shop/api"] 2027-01-01 void=false used=true ServiceEntry shop/api  "the partner has no names"`,
		`23 comment ["comment SE101 ServiceEntry shop/api.spec"]  void=true used=false ServiceEntry shop/api spec ""`,
		`28 comment ["comment SE108 ServiceEntry shop/api.spec.ports[443]"]  void=false used=false ServiceEntry shop/api spec.ports[0] "b"`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// The narrowest of several is the one that a report names.
func TestNearestSuppression(t *testing.T) {
	text := "# meshvet:ignore-file SE101 -- file\n# meshvet:ignore SE101 -- object\n" + with(map[int]string{7: "# meshvet:ignore SE101 -- line\n"})
	r := run(t, nil, remarkable(), load(t, "a.yaml", text))
	if len(r.Suppressed) != 1 || r.Suppressed[0].Suppression.Reason != "line" || r.Suppressed[0].Suppression.Kind != lint.ByComment {
		t.Errorf("suppressed: %+v", r.Suppressed)
	}
	if notes := apart(r); len(notes) > 0 {
		t.Errorf("unused: %q", notes)
	}
}

func TestForbiddenSuppressions(t *testing.T) {
	cfg, problems := lint.ReadConfig("cfg.yaml", []byte("suppressions:\n  forbid: [se101,\n    TLS]\n"))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	text := "# meshvet:ignore SE101, se105 -- x\n# meshvet:ignore-file service-entry, tls -- x\n" +
		annotated("meshvet.dev/ignore: SE101", reasoned)
	r := run(t, cfg, remarkable(), load(t, "a.yaml", text))
	want := []string{
		"1: the comment names SE101 (se101), but the configuration does not allow SE101 to be suppressed (cfg.yaml:2)",
		"2: the comment names tls, but the configuration does not allow these rules to be suppressed (cfg.yaml:3)",
		"9: meshvet.dev/ignore names SE101 (se101), but the configuration does not allow SE101 to be suppressed (cfg.yaml:2)",
	}
	if diff := cmp.Diff(want, apart(r)); diff != "" {
		t.Error(diff)
	}
	if got := idsOf(r.Findings); got != "SE101 SE104" {
		t.Errorf("found %s", got)
	}

	// At admission too.
	e, err := lint.New(remarkable(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	o := load(t, "a.yaml", annotated("meshvet.dev/ignore: SE101 SE103 until=2020-01-01", reasoned)).Objects[0]
	forbidden := load(t, "a.yaml", annotated("meshvet.dev/ignore: SE101 SE103", reasoned)).Objects[0]
	for o, want := range map[*object.Object]string{
		o:         "meshvet.dev/ignore (line 7) silences nothing: it has expired, its last day was 2020-01-01; cure what it names, or give it a later day",
		forbidden: "meshvet.dev/ignore (line 7) names SE101 (se101), but the configuration does not allow SE101 to be suppressed (cfg.yaml:2)",
	} {
		r, err = e.Review(t.Context(), indexed(), lint.Review{Object: o, Operation: "CREATE"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		told := 0
		for _, s := range r.Skipped {
			if s.Cause == lint.Unheeded {
				told++
				if s.Reason != want {
					t.Errorf("%q, want %q", s.Reason, want)
				}
			}
		}
		if silenced := o == forbidden; told != 1 || (len(r.Suppressed) == 1) != silenced {
			t.Errorf("%d notes, %d suppressed", told, len(r.Suppressed))
		}
	}

	for text, want := range map[string]string{
		"suppressions: {forbid: [SE1011]}":                                       `cfg.yaml:1:25: unknown rule or category "SE1011"; did you mean "SE101"?`,
		"suppressions: {forbid: SE101}":                                          "cfg.yaml:1:24: suppressions.forbid is a string; a list is wanted",
		"suppressions: {forbids: [SE101]}":                                       `cfg.yaml:1:16: unknown key "forbids" in suppressions; did you mean "forbid"?`,
		"suppressions: {forbid: [tls]}\nwebhook: {suppressible: [SE101, se104]}": "cfg.yaml:2:33: SE104 (se104) is forbidden to be suppressed at cfg.yaml:1; take it out there or here",
	} {
		cfg, problems := lint.ReadConfig("cfg.yaml", []byte(text))
		err := error(&lint.ConfigError{Problems: problems})
		if len(problems) == 0 {
			_, err = lint.New(remarkable(), cfg)
		}
		if err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

// What is written a million times, and what is as long as a document can be, costs little and is told in short.
func TestHostileComments(t *testing.T) {
	for name, c := range map[string]struct {
		text  string
		notes int
	}{
		"comments above":               {"# x\n" + strings.Repeat("# meshvet:ignore SE108 -- x\n", 200_000) + "---\n" + entry, 2001},
		"comments of the file":         {strings.Repeat("# meshvet:ignore-file tls traffic-policy service-entry SE108 -- x\n", 50_000) + strings.Repeat("---\n"+entry, 2_000), 2001},
		"a long reason":                {"# meshvet:ignore SE108 -- " + strings.Repeat("x ", 1<<20) + "\n" + entry, 1},
		"a long list of words":         {"# meshvet:ignore " + strings.Repeat("SE108 ", 1<<18) + " -- x\n" + entry, 1},
		"many long words":              {"# meshvet:ignore " + strings.Repeat(strings.Repeat("x", 100)+"\u202e ", 30) + " -- x\n" + entry, 1},
		"a directive that is one word": {"# meshvet:ignore" + strings.Repeat("x", 1<<20) + "\n" + entry, 1},
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			f := load(t, "a.yaml", c.text)
			r := run(t, nil, remarkable(), f)
			if took := time.Since(start); took > 20*time.Second {
				t.Errorf("took %s", took)
			}
			notes := apart(r)
			if len(notes) != c.notes {
				t.Errorf("%d notes, want %d", len(notes), c.notes)
			}
			for _, n := range notes {
				if len(n) > 1010 {
					t.Errorf("a note of %d bytes", len(n))
				}
			}
			for _, s := range r.Suppressions {
				if len(s.Reason) > 1000 {
					t.Errorf("a reason of %d bytes", len(s.Reason))
				}
			}
		})
	}
}

// A suppression that was unused before a change is no news, wherever it stands.
func TestUnusedBefore(t *testing.T) {
	was := "# meshvet:ignore-file SE108 -- x\n# meshvet:ignore SE108 -- x\n" + annotated("meshvet.dev/ignore: SE108", reasoned)
	files := func(text string) []*object.File { return []*object.File{load(t, "a.yaml", text)} }
	e, err := lint.New(remarkable(), nil)
	if err != nil {
		t.Fatal(err)
	}
	now := files(was + "---\n# meshvet:ignore SE108 -- x\n" + strings.ReplaceAll(entry, "name: api", "name: b"))
	r, err := e.Lint(t.Context(), lint.Input{Files: now})
	if err != nil {
		t.Fatal(err)
	}
	then := files(was)
	before, err := e.Earlier(t.Context(), lint.Input{Files: then}, r)
	if err != nil {
		t.Fatal(err)
	}
	r.Compare(&lint.Before{Report: before, Now: now, Then: then, Unchanged: func(string) bool { return false }})
	if diff := cmp.Diff([]string{"19: the comment names in vain: SE108 on lines 20 to 31"}, apart(r)); diff != "" {
		t.Error(diff)
	}
}
