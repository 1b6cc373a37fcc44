package lint_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/object"
)

// annotated is the entry with annotations, each a line of YAML.
func annotated(lines ...string) string {
	block := "  annotations:\n"
	for _, l := range lines {
		block += "    " + l + "\n"
	}
	return strings.Replace(entry, "  namespace: shop\n", "  namespace: shop\n"+block, 1)
}

const reasoned = "meshvet.dev/ignore-reason: the partner has no names"

// suppressible are rules that find one thing each on every ServiceEntry. SE102 is not selected.
func suppressible() []lint.Rule {
	made := func(id, name string, c lint.Category) lint.Rule {
		r := simple(id, object.ServiceEntry, finds(object.Path{"spec", "hosts"}, "by "+id))
		r.Name, r.Category = name, c
		return r
	}
	rules := []lint.Rule{
		made("SE101", "resolution-not-dns", lint.CategoryServiceEntry),
		made("SE102", "first-ip-only", lint.CategoryServiceEntry),
		made("DR231", "name-not-verified", lint.CategoryTLS),
		made("MV901", "unknown-field", lint.CategoryInput),
	}
	rules[1].Presets = []string{lint.Strict}
	rules[3].Unsuppressible = true
	return append(rules, telling())
}

// clock stands in the last minute of a day, in a zone where it is another day.
func clock() time.Time {
	return time.Date(2026, 12, 1, 8, 59, 0, 0, time.FixedZone("east", 9*60*60))
}

// telling is a rule that says all that is wrong with suppressions.
func telling() lint.Rule {
	r := simple("MV905", object.ServiceEntry, nil)
	r.Category, r.Unsuppressible = lint.CategoryInput, true
	r.CheckSuppression = func(p *lint.SuppressionPass) error {
		for i := range p.Faults {
			f := &p.Faults[i]
			p.ReportFault(f, f.Subject+" "+f.Message)
		}
		if len(p.Unused) > 0 {
			p.Report(p.Subject + " names in vain: " + strings.Join(p.Unused, " ") + " " + p.Extent())
		}
		return nil
	}
	return r
}

// apart takes what is said of suppressions, with the lines, out of the findings.
func apart(r *lint.Report) (notes []string) {
	r.Findings = slices.DeleteFunc(r.Findings, func(f lint.Finding) bool {
		if f.Rule.ID == "MV905" {
			notes = append(notes, fmt.Sprintf("%d: %s", f.Location.Range.Start.Line, f.Message))
		}
		return f.Rule.ID == "MV905"
	})
	return notes
}

func TestSuppression(t *testing.T) {
	all := "DR231 MV901 SE101"
	for _, c := range []struct {
		name        string
		annotations []string
		found       string // IDs of rules
		suppressed  string
		notes       []string
	}{
		{"no annotation", []string{"team: a"}, all, "", nil},
		{"by ID", []string{"meshvet.dev/ignore: SE101", reasoned}, "DR231 MV901", "SE101", nil},
		{"by name", []string{"meshvet.dev/ignore: resolution-not-dns", reasoned}, "DR231 MV901", "SE101", nil},
		{"by category", []string{"meshvet.dev/ignore: tls", reasoned}, "MV901 SE101", "DR231", nil},
		{"in any case", []string{"meshvet.dev/ignore: 'se101, TLS'", reasoned}, "MV901", "DR231 SE101", nil},
		{"with commas", []string{"meshvet.dev/ignore: 'SE101,DR231'", reasoned}, "MV901", "DR231 SE101", nil},
		{"with blanks", []string{"meshvet.dev/ignore: SE101 DR231", reasoned}, "MV901", "DR231 SE101", nil},
		{"with all kinds of white space", []string{`meshvet.dev/ignore: " ,SE101,,\n\t DR231\r\n"`, reasoned}, "MV901", "DR231 SE101", nil},
		{"over several lines", []string{"meshvet.dev/ignore: |\n      SE101\n      DR231", reasoned}, "MV901", "DR231 SE101", nil},
		{"one that is off", []string{"meshvet.dev/ignore: SE102 SE101", reasoned}, "DR231 MV901", "SE101", nil},
		{"one that finds nothing", []string{"meshvet.dev/ignore: SE102", reasoned}, all, "", nil},
		{"nearly a name", []string{"meshvet.dev/ignore: resolution-not-dsn", reasoned}, all, "",
			[]string{`7: meshvet.dev/ignore names "resolution-not-dsn", which is no rule or category; did you mean "resolution-not-dns"?`}},

		{"no reason", []string{"meshvet.dev/ignore: SE101"}, all, "",
			[]string{"7: meshvet.dev/ignore silences nothing: meshvet.dev/ignore-reason has to say why"}},
		{"empty reason", []string{"meshvet.dev/ignore: SE101", "meshvet.dev/ignore-reason: ''"}, all, "",
			[]string{"7: meshvet.dev/ignore silences nothing: meshvet.dev/ignore-reason has to say why"}},
		{"null reason", []string{"meshvet.dev/ignore: SE101", "meshvet.dev/ignore-reason:"}, all, "",
			[]string{"7: meshvet.dev/ignore silences nothing: meshvet.dev/ignore-reason has to say why"}},
		{"reason that says nothing", []string{"meshvet.dev/ignore: SE101", `meshvet.dev/ignore-reason: " \u200b…--\x07"`}, all, "",
			[]string{"7: meshvet.dev/ignore silences nothing: meshvet.dev/ignore-reason has to say why"}},
		{"reason in any script", []string{"meshvet.dev/ignore: SE101", "meshvet.dev/ignore-reason: 移行中"}, "DR231 MV901", "SE101", nil},
		{"reason as a number", []string{"meshvet.dev/ignore: SE101", "meshvet.dev/ignore-reason: 4711"}, all, "",
			[]string{"8: meshvet.dev/ignore-reason silences nothing: it is an integer, and a string is wanted"}},
		{"reason without rules", []string{reasoned}, all, "",
			[]string{"7: meshvet.dev/ignore-reason silences nothing: there is no meshvet.dev/ignore that names rules"}},

		{"a list", []string{"meshvet.dev/ignore: [SE101]", reasoned}, all, "",
			[]string{"7: meshvet.dev/ignore silences nothing: it is a list, and a string is wanted"}},
		{"a switch", []string{"meshvet.dev/ignore: true", reasoned}, all, "",
			[]string{"7: meshvet.dev/ignore silences nothing: it is a boolean, and a string is wanted"}},
		{"null", []string{"meshvet.dev/ignore: ~", reasoned}, all, "",
			[]string{"8: meshvet.dev/ignore-reason silences nothing: there is no meshvet.dev/ignore that names rules"}},
		{"empty", []string{"meshvet.dev/ignore: ''", reasoned}, all, "",
			[]string{"7: meshvet.dev/ignore silences nothing: it names no rule"}},
		{"separators only", []string{"meshvet.dev/ignore: ' , ,'", reasoned}, all, "",
			[]string{"7: meshvet.dev/ignore silences nothing: it names no rule"}},

		{"an unknown word", []string{"meshvet.dev/ignore: SE101 SE1001", reasoned}, "DR231 MV901", "SE101",
			[]string{`7: meshvet.dev/ignore names "SE1001", which is no rule or category; did you mean "SE101"?`}},
		{"no wildcards", []string{"meshvet.dev/ignore: '*'", reasoned}, all, "",
			[]string{"7: meshvet.dev/ignore names \"*\", which is no rule or category; `meshvet rules` lists them"}},
		{"unknown words, some of them twice", []string{"meshvet.dev/ignore: all every ALL each any every", reasoned}, all, "",
			[]string{`7: meshvet.dev/ignore names "all", "every", "each" and 1 more, which are no rules or categories`}},
		{"what can never be", []string{"meshvet.dev/ignore: Unknown-Field SE101 MV901", reasoned}, "DR231 MV901", "SE101",
			[]string{"7: meshvet.dev/ignore names MV901 (unknown-field), which can never be suppressed"}},
		{"what can never be, by category", []string{"meshvet.dev/ignore: input", reasoned}, all, "", nil},

		{"a last day", []string{"meshvet.dev/ignore: SE101 until=2027-03-01", reasoned}, "DR231 MV901", "SE101", nil},
		{"the last day", []string{"meshvet.dev/ignore: SE101 until=2026-11-30", reasoned}, "DR231 MV901", "SE101", nil},
		{"after the last day", []string{"meshvet.dev/ignore: SE101 nonsense until=2026-11-29", reasoned}, all, "",
			[]string{"7: meshvet.dev/ignore silences nothing: it has expired, its last day was 2026-11-29; cure what it names, or give it a later day"}},
		{"a last day after a comma", []string{"meshvet.dev/ignore: 'SE101,UNTIL=2020-01-01,DR231'", reasoned}, all, "",
			[]string{"7: meshvet.dev/ignore silences nothing: it has expired, its last day was 2020-01-01; cure what it names, or give it a later day"}},
		{"a last day alone", []string{"meshvet.dev/ignore: until=2099-01-01", reasoned}, all, "", []string{"7: meshvet.dev/ignore silences nothing: it names no rule"}},
		{"two last days", []string{"meshvet.dev/ignore: until=2099-01-01 SE101 until=2099-01-02", reasoned}, all, "",
			[]string{`7: meshvet.dev/ignore silences nothing: "until=2099-01-02" is a second last day; keep one`}},
		{"no such day", []string{"meshvet.dev/ignore: SE101 until=2099-02-30", reasoned}, all, "",
			[]string{`7: meshvet.dev/ignore silences nothing: "until=2099-02-30" is no last day; write one as in until=2027-06-30`}},
		{"a day in other words", []string{"meshvet.dev/ignore: SE101 until=30.6.2099", reasoned}, all, "",
			[]string{`7: meshvet.dev/ignore silences nothing: "until=30.6.2099" is no last day; write one as in until=2027-06-30`}},
		{"a last day that is spelt otherwise", []string{"meshvet.dev/ignore: 'SE101 until: 2099-01-01'", reasoned}, all, "",
			[]string{`7: meshvet.dev/ignore silences nothing: "until:" is no last day; write one as in until=2027-06-30`}},
		{"a last day apart", []string{"meshvet.dev/ignore: SE101 until 2099-01-01", reasoned}, all, "",
			[]string{`7: meshvet.dev/ignore silences nothing: "until" is no last day; write one as in until=2027-06-30`}},
		{"a last day in the reason", []string{"meshvet.dev/ignore: SE101", "meshvet.dev/ignore-reason: new partner (Until=2099-01-01)"}, all, "",
			[]string{"8: meshvet.dev/ignore-reason silences nothing: until= belongs into meshvet.dev/ignore"}},
		{"a last day in both", []string{"meshvet.dev/ignore: SE101 until=2099-01-01", "meshvet.dev/ignore-reason: until=2099-01-01"}, "DR231 MV901", "SE101", nil},
		{"a reason with an end in words", []string{"meshvet.dev/ignore: SE101", "meshvet.dev/ignore-reason: until the partner has names"}, "DR231 MV901", "SE101", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := load(t, "a.yaml", annotated(c.annotations...))
			r := run(t, &lint.Config{Clock: clock}, suppressible(), f)
			notes := apart(r)
			if diff := cmp.Diff(c.found, idsOf(r.Findings)); diff != "" {
				t.Errorf("found: %s", diff)
			}
			var suppressed []lint.Finding
			for _, s := range r.Suppressed {
				suppressed = append(suppressed, s.Finding)
			}
			if diff := cmp.Diff(c.suppressed, idsOf(suppressed)); diff != "" {
				t.Errorf("suppressed: %s", diff)
			}
			if len(r.Skipped) > 0 {
				t.Errorf("skipped: %v", r.Skipped)
			}
			if diff := cmp.Diff(c.notes, notes); diff != "" {
				t.Errorf("notes: %s", diff)
			}
			if r.Worst() == lint.Off != (len(r.Findings) == 0) || r.Count(lint.Warning) != len(r.Findings) {
				t.Error("what is silenced counts")
			}
		})
	}
}

func idsOf(findings []lint.Finding) string {
	var ids []string
	for _, f := range findings {
		ids = append(ids, f.Rule.ID)
	}
	slices.Sort(ids)
	return strings.Join(ids, " ")
}

func TestSuppressionSaysWhyAndWhere(t *testing.T) {
	f := load(t, "a.yaml", annotated("meshvet.dev/ignore: SE101", "meshvet.dev/ignore-reason: '  the partner has no names\n\n      yet '"))
	r := run(t, nil, suppressible(), f)
	if len(r.Suppressed) != 1 {
		t.Fatalf("%d are suppressed", len(r.Suppressed))
	}
	s := r.Suppressed[0]
	if s.Suppression.Reason != "the partner has no names\nyet" || s.Suppression.Where.String() != "a.yaml:7:25" {
		t.Errorf("%q at %s", s.Suppression.Reason, s.Suppression.Where)
	}
	if s.Severity != lint.Warning || s.Location.String() != "a.yaml:12:3" || s.Fingerprint() == "" {
		t.Errorf("the finding is %+v", s.Finding)
	}
}

// An annotation is about its own object, also where another one has its name, as in another mesh.
func TestSuppressionIsOfOneObject(t *testing.T) {
	silent := load(t, "a/x.yaml", annotated("meshvet.dev/ignore: service-entry tls", reasoned))
	loud := load(t, "b/x.yaml", entry)
	r := run(t, nil, suppressible(), loud, silent)
	var got []string
	for _, f := range r.Findings {
		got = append(got, f.Location.File+" "+f.Rule.ID)
	}
	if diff := cmp.Diff([]string{"a/x.yaml MV901", "b/x.yaml DR231", "b/x.yaml MV901", "b/x.yaml SE101"}, got); diff != "" {
		t.Error(diff)
	}
	if len(r.Suppressed) != 2 || r.Suppressed[0].Rule.ID != "DR231" || r.Suppressed[1].Rule.ID != "SE101" {
		t.Errorf("suppressed: %v", r.Suppressed)
	}
}

// What is silenced still supersedes, on its own object and on others: the same cause does not come back under another name. And what
// is superseded needs no annotation.
func TestSuppressedFindingsSupersede(t *testing.T) {
	weakHere := simple("SE101", object.ServiceEntry, finds(object.Path{"spec", "hosts"}, "the same in weaker words"))
	strongHere := simple("SE102", object.ServiceEntry, finds(object.Path{"spec", "hosts"}, "strong"))
	strongHere.Supersedes = []lint.Supersede{{Rule: "SE101", Scope: lint.ScopePath}}
	weakThere := simple("DR201", object.DestinationRule, finds(nil, "weak"))
	strongHereToo := simple("SE103", object.ServiceEntry, func(p *lint.Pass) error {
		p.Report(nil, "strong", lint.About(lint.Subject{Objects: []object.Key{{Kind: object.DestinationRule, Namespace: "shop", Name: "api"}}}))
		return nil
	})
	strongHereToo.Supersedes = []lint.Supersede{{Rule: "DR201", Scope: lint.ScopeObject}}
	rules := []lint.Rule{weakHere, strongHere, weakThere, strongHereToo}
	dr := load(t, "m/dr.yaml", rule)
	for _, c := range []struct{ ignore, found, suppressed string }{
		{"SE102", "SE103", "SE102"},
		{"SE103", "SE102", "SE103"},
		{"SE102 SE103", "", "SE102 SE103"},
		{"SE101", "SE102 SE103", ""},
	} {
		t.Run(c.ignore, func(t *testing.T) {
			r := run(t, nil, rules, load(t, "m/se.yaml", annotated("meshvet.dev/ignore: "+c.ignore, reasoned)), dr)
			var suppressed []lint.Finding
			for _, s := range r.Suppressed {
				suppressed = append(suppressed, s.Finding)
			}
			if got := idsOf(r.Findings); got != c.found {
				t.Errorf("found %s, want %s", got, c.found)
			}
			if got := idsOf(suppressed); got != c.suppressed {
				t.Errorf("suppressed %s, want %s", got, c.suppressed)
			}
		})
	}
}

// Findings that read alike keep their fingerprints when some of them are silenced.
func TestSuppressionKeepsFingerprints(t *testing.T) {
	prints := func(first string) []string {
		r := run(t, nil, suppressible(), load(t, "a.yaml", first+"---\n"+entry))
		var out []string
		for _, f := range r.Findings {
			out = append(out, f.Fingerprint())
		}
		for _, s := range r.Suppressed {
			out = append(out, s.Fingerprint())
		}
		slices.Sort(out)
		return out
	}
	loud, silent := prints(annotated("team: a", "stage: b")), prints(annotated("meshvet.dev/ignore: SE101", reasoned))
	if diff := cmp.Diff(loud, silent); diff != "" || len(slices.Compact(loud)) != 6 {
		t.Errorf("%d fingerprints; %s", len(loud), diff)
	}
}

// The same at admission, of the object under review and of those around it.
func TestReviewSuppresses(t *testing.T) {
	object1 := load(t, "a.yaml", annotated("meshvet.dev/ignore: SE101", reasoned)).Objects[0]
	object2 := load(t, "b.yaml", strings.Replace(annotated("meshvet.dev/ignore: tls"), "name: api", "name: other", 1)).Objects[0]
	raw, ok := object1.Root().Any().(map[string]any)
	if !ok {
		t.Fatal("the object is no mapping")
	}
	object1, err := object.FromMap(raw)
	if err != nil {
		t.Fatal(err)
	}
	e := newEngine(t, suppressible()...)
	r, err := e.Review(context.Background(), indexed(), lint.Review{Object: object1, Operation: "CREATE"}, []*object.Object{object2})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"DR231 ServiceEntry shop/other", "MV901 ServiceEntry shop/other", "SE101 ServiceEntry shop/other",
		"DR231 ServiceEntry shop/api", "MV901 ServiceEntry shop/api",
	}
	if diff := cmp.Diff(want, told(r.Findings)); diff != "" {
		t.Error(diff)
	}
	if len(r.Suppressed) != 1 || r.Suppressed[0].Object != object1.Key || r.Suppressed[0].Suppression.Where.File != "cluster:ServiceEntry/shop/api" {
		t.Errorf("suppressed: %+v", r.Suppressed)
	}
	if len(r.Skipped) != 1 || r.Skipped[0].Reason != "meshvet.dev/ignore (line 7) silences nothing: meshvet.dev/ignore-reason has to say why" {
		t.Errorf("skipped: %+v", r.Skipped)
	}
}

// Annotations as large as Kubernetes takes them, and what nobody writes on purpose, cost little and are told in short.
func TestHostileSuppressions(t *testing.T) {
	const kubernetes = 256 << 10
	quoted := func(s string) string { return fmt.Sprintf("%q", s) }
	for _, c := range []struct {
		name, ignore, reason string
		suppressed           int
		note                 string
	}{
		{"a huge list of rules", quoted(strings.Repeat("SE101,", kubernetes/6)), "x", 0, "silences nothing: it is longer than 4096 bytes"},
		{"a huge word", quoted(strings.Repeat("S", kubernetes)), "x", 0, "silences nothing: it is longer than 4096 bytes"},
		{"a list at its bound", quoted("SE101" + strings.Repeat(" ", 4091)), "x", 1, ""},
		{"a list beyond its bound", quoted("SE101" + strings.Repeat(" ", 4092)), "x", 0, "longer than 4096 bytes"},
		{"thousands of words", quoted("SE101 " + strings.Repeat("a b ", 1000)), "x", 1, `names "a", "b", which are no rules or categories`},
		{"thousands of different words", quoted(manyWords(700) + "SE101"), "x", 1, `names "w0", "w1", "w2" and 697 more, which are no rules or categories`},
		{"a long word", quoted(strings.Repeat("é", 2000)), "x", 0, `names "` + strings.Repeat("é", 32) + `…", which is no rule or category`},
		{"control characters", `"SE101 \e[31m\u202e\u0000\a"`, "x", 1, `names "\x1b[31m\u202e\x00\a", which is no rule or category`},
		{"no UTF-8 in the middle of a rune", quoted("aé" + strings.Repeat("é", 100)), "x", 0, "which is no rule or category"},
		{"a huge reason", "SE101", quoted(strings.Repeat("because ", kubernetes/8)), 1, ""},
		{"a huge reason that says nothing", "SE101", quoted(strings.Repeat("-", kubernetes)), 0, "has to say why"},
		{"a reason of control characters", "SE101", `"\e]0;owned\a\r\n::error::x"`, 1, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := load(t, "a.yaml", annotated("meshvet.dev/ignore: "+c.ignore, "meshvet.dev/ignore-reason: "+c.reason))
			if len(f.Objects) != 1 {
				t.Fatalf("problems %v", f.Problems)
			}
			start := time.Now()
			r := run(t, nil, suppressible(), f)
			if took := time.Since(start); took > 5*time.Second {
				t.Errorf("took %s", took)
			}
			if len(r.Suppressed) != c.suppressed {
				t.Errorf("%d are suppressed, want %d", len(r.Suppressed), c.suppressed)
			}
			for _, s := range r.Suppressed {
				if n := len(s.Suppression.Reason); n == 0 || n > 1000 {
					t.Errorf("a reason of %d bytes", n)
				}
			}
			switch notes := apart(r); {
			case c.note == "" && len(notes) == 0:
			case len(notes) != 1 || c.note == "" || !strings.Contains(notes[0], c.note) || len(notes[0]) > 1000:
				t.Errorf("notes %q, want …%s…", notes, c.note)
			}
		})
	}
}

func manyWords(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "w%d ", i%1000)
	}
	return b.String()
}

// FuzzIgnore holds that no annotations silence what can never be, or silence without a reason, and that what is said of them is short.
func FuzzIgnore(f *testing.F) {
	for _, s := range [][2]string{
		{"SE101", "x"}, {"tls, MV901 input", "a reason"}, {"SE101 until=2020-01-01", "x"}, {"SE101", " \u200b"}, {"\x00é\xff,", "until=1"},
	} {
		f.Add(s[0], s[1])
	}
	e, err := lint.New(suppressible(), &lint.Config{Clock: clock})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, ignore, reason string) {
		o, err := object.FromMap(map[string]any{
			"apiVersion": "networking.istio.io/v1", "kind": "ServiceEntry",
			"metadata": map[string]any{"name": "api", "namespace": "shop", "annotations": map[string]any{
				lint.IgnoreAnnotation: ignore, lint.ReasonAnnotation: reason,
			}},
			"spec": map[string]any{"hosts": []any{"api.example.com"}},
		})
		if err != nil || o == nil {
			t.Skip(err)
		}
		r, err := e.Run(context.Background(), indexed(), []*object.Object{o})
		if err != nil {
			t.Fatal(err)
		}
		notes := apart(r)
		if len(r.Findings)+len(r.Suppressed) != 3 {
			t.Errorf("%d findings and %d suppressed", len(r.Findings), len(r.Suppressed))
		}
		for _, s := range r.Suppressed {
			if s.Rule.Unsuppressible || strings.TrimSpace(s.Suppression.Reason) == "" || len(s.Suppression.Reason) > 1000 {
				t.Errorf("%s is suppressed for %q", s.Rule.ID, s.Suppression.Reason)
			}
			if lower := strings.ToLower(ignore + " " + reason); strings.Contains(lower, "until=") && s.Suppression.Until < "2026-11-30" {
				t.Errorf("suppressed until %q: %q, %q", s.Suppression.Until, ignore, reason)
			}
		}
		for _, n := range notes {
			if len(n) > 1010 || !utf8.ValidString(n) {
				t.Errorf("a note of %d bytes: %q", len(n), n)
			}
		}
	})
}

// What a removal leaves behind is silenced by the annotation of what is removed, or by that of the object on which the same is found.
func TestReviewSuppressesWhatRemovalLeaves(t *testing.T) {
	route := object.Key{Kind: object.VirtualService, Namespace: "shop", Name: "api"}
	r := simple("MX306", object.ServiceEntry, finds(nil, "the route leads nowhere", about(route)))
	r.CheckGone = finds(nil, "the route will lead nowhere", about(route))
	e := newEngine(t, r)
	loud, silent := load(t, "a.yaml", entry).Objects[0], load(t, "a.yaml", annotated("meshvet.dev/ignore: MX306", reasoned)).Objects[0]
	other := load(t, "b.yaml", strings.Replace(annotated("meshvet.dev/ignore: MX306", reasoned), "name: api", "name: other", 1)).Objects[0]
	for _, c := range []struct {
		name              string
		gone              *object.Object
		around            []*object.Object
		found, suppressed int
	}{
		{"neither", loud, nil, 1, 0},
		{"of what is removed", silent, nil, 0, 1},
		{"of what stays", loud, []*object.Object{other}, 0, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := e.Review(context.Background(), indexed(), lint.Review{Gone: c.gone}, c.around)
			if err != nil {
				t.Fatal(err)
			}
			if len(r.Findings) != c.found || len(r.Suppressed) != c.suppressed {
				t.Errorf("found %v, suppressed %v", told(r.Findings), r.Suppressed)
			}
		})
	}
}

// about is a related place in another object.
func about(k object.Key) lint.Extra {
	return func(f *lint.Finding) {
		f.Related = append(f.Related, lint.Related{Object: k, Path: object.Path{"spec", "http"}})
	}
}
