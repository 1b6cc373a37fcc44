// Package linttest runs the fixture folders of rules, Go and Rego alike, and holds every rule to what a rule must be.
//
// A folder testdata/<rule-name> holds cases: bad*.yaml, whose findings are announced by comments `# want ID "regexp"` on the
// line where they start; good*.yaml, in which the rule finds nothing; and for each bad file a <bad>.fixed.yaml, in which no
// rule finds anything above info. Each fix of a finding in a bad file is tried by itself. In gone*.yaml the first object is removed, and
// what the rule says of that is announced at the object, if anything. Files named context*.yaml are read as context of all cases,
// <case>.context.yaml of one; <case>.before.yaml is the file before the change that made it what it is.
// config.yaml configures all cases, <case>.config.yaml one. The mesh counts as completely known unless the configuration says
// context.complete. findings.golden holds all that the rule says of the bad files. proof.yaml and proof.golden belong to test/prove.
package linttest

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/edit"
	"github.com/meshvet/meshvet/lint/object"
	"github.com/meshvet/meshvet/lint/proof"
)

// Update is the flag by which golden files are written instead of compared.
var Update = flag.Bool("update", false, "write golden files instead of comparing with them")

// Case is one file of a rule's fixture folder with what belongs to it.
type Case struct {
	Rule    string // name of the rule = of the folder
	Path    string
	Bad     bool
	Gone    bool // the first object of the file is removed
	Config  *lint.Config
	Context []*object.File
	Before  *object.File // the file as it was before a change that is judged; nil = there is no change
}

// Name is the case's file name without its ending.
func (c Case) Name() string { return strings.TrimSuffix(filepath.Base(c.Path), ".yaml") }

// FixedPath is the file that shows a bad case cured.
func (c Case) FixedPath() string { return strings.TrimSuffix(c.Path, ".yaml") + ".fixed.yaml" }

// Cases reads the fixture folder of a rule.
func Cases(dir, rule string) ([]Case, error) {
	folder := filepath.Join(dir, rule)
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, fmt.Errorf("read fixtures of %s: %w", rule, err)
	}
	var out []Case
	var shared []*object.File
	for _, e := range entries {
		name := e.Name()
		path := filepath.Join(folder, name)
		switch {
		case strings.HasSuffix(name, ".fixed.yaml"), strings.HasSuffix(name, ".config.yaml"), strings.HasSuffix(name, ".context.yaml"), strings.HasSuffix(name, ".before.yaml"), name == "config.yaml":
		case name == proof.ClaimsName, name == proof.GoldenName, name == goldenName:
		case strings.HasPrefix(name, "context"):
			f, err := Load(path)
			if err != nil {
				return nil, err
			}
			shared = append(shared, f)
		case strings.HasPrefix(name, "bad"), strings.HasPrefix(name, "good"), strings.HasPrefix(name, "gone"):
			out = append(out, Case{Rule: rule, Path: path, Bad: strings.HasPrefix(name, "bad"), Gone: strings.HasPrefix(name, "gone")})
		default:
			return nil, fmt.Errorf("%s: a fixture is called bad*, good*, gone* or context*", path)
		}
	}
	for i := range out {
		c := &out[i]
		stem := strings.TrimSuffix(c.Path, ".yaml")
		c.Context = slices.Clone(shared)
		if own := stem + ".context.yaml"; exists(own) {
			f, err := Load(own)
			if err != nil {
				return nil, err
			}
			c.Context = append(c.Context, f)
		}
		if own := stem + ".before.yaml"; exists(own) {
			f, err := Load(own)
			if err != nil {
				return nil, err
			}
			c.Before = f
		}
		c.Config = &lint.Config{}
		for _, path := range []string{stem + ".config.yaml", filepath.Join(folder, "config.yaml")} {
			if !exists(path) {
				continue
			}
			data, err := os.ReadFile(path)
			if err != nil {
				return nil, fmt.Errorf("read configuration: %w", err)
			}
			cfg, problems := lint.ReadConfig(path, data)
			if len(problems) > 0 {
				return nil, &lint.ConfigError{Problems: problems}
			}
			c.Config = cfg
			break
		}
		if c.Config.Complete == nil {
			c.Config.Complete = lint.AllKinds()
		}
	}
	return out, nil
}

// EachFile reads the file of every case of some rules, and that of every bad one put right. The folders of rules in Rego are below
// regoDir, the others below goDir.
func EachFile(goDir, regoDir string, rules []lint.Rule, give func(Case, *object.File)) error {
	for i := range rules {
		dir := goDir
		if rules[i].Lang == "rego" {
			dir = regoDir
		}
		cases, err := Cases(dir, rules[i].Name)
		if err != nil {
			return err
		}
		for _, c := range cases {
			paths := []string{c.Path}
			if c.Bad {
				paths = append(paths, c.FixedPath())
			}
			for _, path := range paths {
				f, err := Load(path)
				if err != nil {
					return err
				}
				give(c, f)
			}
		}
	}
	return nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// Load reads a file as the command line does.
func Load(path string) (*object.File, error) {
	r, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read fixture: %w", err)
	}
	defer func() { _ = r.Close() }() // only read from
	return object.Load(context.Background(), filepath.ToSlash(path), r, object.Limits{})
}

// Lint judges a file under a case's configuration with all of its rules switched on.
func (c Case) Lint(rules []lint.Rule, files ...*object.File) (*lint.Report, error) {
	e, err := c.engine(rules)
	if err != nil {
		return nil, err
	}
	report, err := e.Lint(context.Background(), lint.Input{Files: files, Around: c.Context})
	if err != nil || c.Before == nil {
		return report, err
	}
	before, err := e.Earlier(context.Background(), lint.Input{Files: []*object.File{c.Before}, Around: c.Context}, report)
	if err != nil {
		return nil, err
	}
	e.JudgeChanges(report, lint.SuppressionChanges(report, before, "the revision", slices.Concat(files, c.Context), slices.Concat([]*object.File{c.Before}, c.Context)))
	return report, nil
}

// Removal judges what the removal of the first object of a file leaves behind, under a case's configuration.
func (c Case) Removal(rules []lint.Rule, file *object.File) (*lint.Report, error) {
	e, err := c.engine(rules)
	if err != nil {
		return nil, err
	}
	meshes, _, err := e.Meshes(lint.Input{Files: []*object.File{file}, Around: c.Context})
	if err != nil {
		return nil, err
	}
	if len(meshes) != 1 || len(file.Objects) == 0 {
		return nil, fmt.Errorf("%s: %d meshes, %d objects; one mesh and an object to remove are wanted", c.Path, len(meshes), len(file.Objects))
	}
	gone := file.Objects[0]
	var around []*object.Object
	for _, o := range file.Objects[1:] {
		if o.Kind.Judged() {
			around = append(around, o)
		}
	}
	report, err := e.Review(context.Background(), meshes[0].Index.Without(gone.Key), lint.Review{Gone: gone}, around)
	if err != nil {
		return nil, err
	}
	report.Findings = slices.DeleteFunc(report.Findings, func(f lint.Finding) bool { return f.Object != gone.Key })
	return report, nil
}

func (c Case) engine(rules []lint.Rule) (*lint.Engine, error) {
	cfg := *c.Config
	for i := range rules {
		if !slices.Contains(rules[i].Presets, lint.Recommended) && rules[i].Name == c.Rule {
			cfg.Enable = append(slices.Clone(cfg.Enable), rules[i].ID)
		}
	}
	return lint.New(rules, &cfg)
}

// Run checks the fixtures of those of rules whose folder is under dir.
func Run(t *testing.T, dir string, rules []lint.Rule, mine func(*lint.Meta) bool) {
	t.Helper()
	folders := map[string]bool{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		folders[e.Name()] = true
	}
	for i := range rules {
		r := &rules[i]
		if !mine(&r.Meta) {
			continue
		}
		delete(folders, r.Name)
		t.Run(r.ID, func(t *testing.T) {
			cases, err := Cases(dir, r.Name)
			if err != nil {
				t.Fatal(err)
			}
			if *Update {
				if err := writeGolden(dir, rules, r, cases); err != nil {
					t.Fatal(err)
				}
			}
			checkRule(t, rules, r, cases)
		})
	}
	for name := range folders {
		t.Errorf("%s belongs to no rule", filepath.Join(dir, name))
	}
}

func checkRule(t *testing.T, rules []lint.Rule, r *lint.Rule, cases []Case) {
	t.Helper()
	bad, good, gone, safe := 0, 0, 0, 0
	options := map[string]bool{}
	for _, c := range cases {
		if rc, ok := c.Config.Rules[r.ID]; ok {
			for name := range rc.Options {
				options[name] = true
			}
		}
		t.Run(c.Name(), func(t *testing.T) {
			switch {
			case c.Bad:
				bad++
				safe += checkBad(t, rules, r, c)
			case c.Gone:
				gone++
				checkGone(t, rules, r, c)
			default:
				good++
				checkGood(t, rules, r, c)
			}
		})
	}
	if bad == 0 || good == 0 {
		t.Errorf("%d bad and %d good cases; a rule needs both, and a good one that looks like a bad one", bad, good)
	}
	if (gone > 0) != (r.CheckGone != nil) {
		t.Errorf("%d cases of removals; a rule that judges them needs some, and no other does", gone)
	}
	if r.Fix == lint.Safe && safe == 0 {
		t.Error("the rule claims safe fixes and offers none in its fixtures")
	}
	for _, o := range r.Options {
		if !options[o.Name] {
			t.Errorf("no case sets option %s", o.Name)
		}
	}
}

// reporter is what a check tells its verdict: a *testing.T, or faults.
type reporter interface {
	Helper()
	Error(args ...any)
	Errorf(format string, args ...any)
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// faults collects verdicts. What is fatal ends the goroutine of the check, as in package testing.
type faults struct{ list []string }

func (f *faults) Helper()           {}
func (f *faults) Error(args ...any) { f.list = append(f.list, fmt.Sprint(args...)) }
func (f *faults) Errorf(format string, args ...any) {
	f.list = append(f.list, fmt.Sprintf(format, args...))
}
func (f *faults) Fatal(args ...any)                 { f.Error(args...); runtime.Goexit() }
func (f *faults) Fatalf(format string, args ...any) { f.Errorf(format, args...); runtime.Goexit() }

// Faults checks one case of a rule among some rules, and says what is wrong. Findings that the case wants of other rules than these
// are left aside.
func Faults(rules []lint.Rule, r *lint.Rule, c Case) []string {
	var f faults
	var wg sync.WaitGroup
	wg.Go(func() {
		switch {
		case c.Bad:
			checkBad(&f, rules, r, c)
		case c.Gone:
			checkGone(&f, rules, r, c)
		default:
			checkGood(&f, rules, r, c)
		}
	})
	wg.Wait()
	return f.list
}

// Superseding picks the rules by which findings of a rule may be left out: a look-alike may count on them. A rule about suppressions, or about
// changes to them, needs all those that these may name.
func Superseding(m *lint.Meta, all []lint.Rule) []lint.Rule {
	ofAll := slices.ContainsFunc(all, func(r lint.Rule) bool { return r.ID == m.ID && (r.CheckSuppression != nil || r.CheckChange != nil) })
	return slices.DeleteFunc(slices.Clone(all), func(other lint.Rule) bool {
		return other.ID == m.ID || !ofAll && !m.Yields && !other.Yields && !slices.ContainsFunc(other.Supersedes, func(s lint.Supersede) bool { return s.Rule == m.ID })
	})
}

// FirstFault checks the cases of a rule, beside those that supersede it, up to the first that finds fault with it; "" if none does.
func FirstFault(r *lint.Rule, superseding []lint.Rule, cases []Case) string {
	rules := append(slices.Clone(superseding), *r)
	for _, c := range cases {
		c.Config = among(c.Config, rules)
		if list := Faults(rules, r, c); len(list) > 0 {
			return list[0]
		}
	}
	return ""
}

// among leaves out of a configuration what it says of other rules than these, whose names the engine would not know.
func among(cfg *lint.Config, rules []lint.Rule) *lint.Config {
	out := *cfg
	out.Rules = map[string]lint.RuleConfig{}
	for name, rc := range cfg.Rules {
		if slices.ContainsFunc(rules, func(r lint.Rule) bool { return strings.EqualFold(r.ID, name) || strings.EqualFold(r.Name, name) }) {
			out.Rules[name] = rc
		}
	}
	return &out
}

var wantComment = regexp.MustCompile(`# want ((?:[A-Z]{2}\d{3} "(?:[^"\\]|\\.)*"\s*)+)$`)
var wantItem = regexp.MustCompile(`([A-Z]{2}\d{3}) ("(?:[^"\\]|\\.)*")`)

// want is a finding that a fixture announces.
type want struct {
	line int
	id   string
	re   *regexp.Regexp
}

func wants(t reporter, path string) []want {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var out []want
	for i, line := range strings.Split(string(data), "\n") {
		m := wantComment.FindStringSubmatch(strings.TrimRight(line, "\r"))
		if m == nil {
			if strings.Contains(line, "# want") {
				t.Errorf("%s:%d: malformed want comment", path, i+1)
			}
			continue
		}
		for _, item := range wantItem.FindAllStringSubmatch(m[1], -1) {
			var pattern string
			if err := json.Unmarshal([]byte(item[2]), &pattern); err != nil {
				t.Fatalf("%s:%d: %s", path, i+1, err)
			}
			re, err := regexp.Compile(pattern)
			if err != nil {
				t.Fatalf("%s:%d: %s", path, i+1, err)
			}
			out = append(out, want{i + 1, item[1], re})
		}
	}
	return out
}

func checkBad(t reporter, rules []lint.Rule, r *lint.Rule, c Case) (safe int) {
	t.Helper()
	file, err := Load(c.Path)
	if err != nil {
		t.Fatal(err)
	}
	report, err := c.Lint(rules, file)
	if err != nil {
		t.Fatal(err)
	}
	noRuleBroke(t, report)
	expected := wantsOf(t, rules, c)
	if !slices.ContainsFunc(expected, func(w want) bool { return w.id == r.ID }) {
		t.Errorf("%s wants no %s", c.Path, r.ID)
	}
	compare(t, r, c, report, expected)
	return checkFixes(t, rules, r, c, file, report)
}

// checkGone removes the first object of a file.
func checkGone(t reporter, rules []lint.Rule, r *lint.Rule, c Case) {
	t.Helper()
	file, err := Load(c.Path)
	if err != nil {
		t.Fatal(err)
	}
	report, err := c.Removal(rules, file)
	if err != nil {
		t.Fatal(err)
	}
	noRuleBroke(t, report)
	compare(t, r, c, report, wantsOf(t, rules, c))
}

// wantsOf are the findings that a case announces of some rules.
func wantsOf(t reporter, rules []lint.Rule, c Case) []want {
	t.Helper()
	return slices.DeleteFunc(wants(t, c.Path), func(w want) bool {
		return !slices.ContainsFunc(rules, func(r lint.Rule) bool { return r.ID == w.id })
	})
}

// compare holds a report against what the case announces and what its golden file has.
func compare(t reporter, r *lint.Rule, c Case, report *lint.Report, expected []want) {
	t.Helper()
	listed := map[string]bool{r.ID: true}
	for _, w := range expected {
		listed[w.id] = true
	}
	for _, f := range report.Findings {
		if !listed[f.Rule.ID] {
			continue
		}
		i := slices.IndexFunc(expected, func(w want) bool {
			return w.id == f.Rule.ID && w.line == f.Location.Range.Start.Line && w.re.MatchString(f.Message)
		})
		if i < 0 {
			t.Errorf("unexpected finding %s: %s %s: %s", f.Location, f.Severity, f.Rule.ID, f.Message)
			continue
		}
		expected = slices.Delete(expected, i, i+1)
		if f.Rule.ID == r.ID {
			checkFinding(t, f)
		}
	}
	for _, w := range expected {
		t.Errorf("%s:%d: no finding %s matching %q", c.Path, w.line, w.id, w.re)
	}
	if golden, err := goldenOf(c); err != nil {
		t.Error(err)
	} else if diff := cmp.Diff(golden, told(r, report)); diff != "" {
		t.Errorf("%s says something else of %s (-golden +now); if that is right, run the test with -update:\n%s", r.ID, c.Path, diff)
	}
}

func noRuleBroke(t reporter, report *lint.Report) {
	t.Helper()
	for _, p := range report.Problems {
		if p.Kind == lint.RuleBroke {
			t.Errorf("%s: %s", p.Location, p.Message)
		}
	}
}

// checkFinding holds the texts of a finding to what a person needs.
func checkFinding(t reporter, f lint.Finding) {
	t.Helper()
	if f.Effect == "" {
		t.Errorf("%s: no effect: what does Envoy do?", f.Location)
	}
	for what, text := range map[string]string{"message": f.Message, "effect": f.Effect} {
		if strings.HasSuffix(text, ".") && what == "message" || strings.Contains(text, "\n") || strings.Contains(text, "%!") || strings.TrimSpace(text) != text {
			t.Errorf("%s: malformed %s %q", f.Location, what, text)
		}
	}
}

// checkFixes tries each fix by itself, then what the rule proposes as a whole, and looks whether the safe fixes give the fixed
// file.
func checkFixes(t reporter, rules []lint.Rule, r *lint.Rule, c Case, file *object.File, report *lint.Report) (safe int) {
	t.Helper()
	if !exists(c.FixedPath()) {
		t.Errorf("%s is missing", c.FixedPath())
		return 0
	}
	fixed, err := Load(c.FixedPath())
	if err != nil {
		t.Fatal(err)
	}
	after, err := c.Lint(rules, fixed)
	if err != nil {
		t.Fatal(err)
	}
	noRuleBroke(t, after)
	for _, f := range after.Findings {
		if f.Rule.ID == r.ID || f.Severity > lint.Info {
			t.Errorf("the fixed file is not clean: %s: %s: %s [%s]", f.Location, f.Severity, f.Message, f.Rule.ID)
		}
	}
	for _, o := range file.Objects {
		var safeOps, allOps []lint.Op
		curable := true // every finding of the rule on the object comes with a fix that can be applied
		for _, f := range report.Findings {
			if f.Rule.ID != r.ID || f.Object != o.Key {
				continue
			}
			first := -1
			for i, x := range f.Fixes {
				for _, fault := range faultsOf(t, rules, c, file, report, f, x) {
					t.Errorf("%s: the fix %q of %q %s", f.Location, x.Title, f.Message, fault)
				}
				if x.Safety == lint.Safe {
					safe++
					safeOps = append(safeOps, x.Ops...)
				}
				if first < 0 && x.Safety != lint.Show && len(x.Ops) > 0 {
					first = i
				}
			}
			if first >= 0 {
				allOps = append(allOps, f.Fixes[first].Ops...)
			}
			curable = curable && first >= 0
		}
		if len(allOps) > 0 {
			after, err := c.Lint(rules, withObject(file, o, patch(t, o, allOps)))
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range after.Findings {
				if curable && f.Rule.ID == r.ID && f.Object == o.Key {
					t.Errorf("after its own fixes the rule still finds on %s: %s", o.Key, f.Message)
				}
			}
		}
		if len(safeOps) > 0 && len(safeOps) == len(allOps) {
			i := slices.IndexFunc(fixed.Objects, func(x *object.Object) bool { return x.Key == o.Key })
			if i < 0 {
				t.Errorf("the fixed file lacks %s", o.Key)
				continue
			}
			if diff := cmp.Diff(fixed.Objects[i].Root().Any(), patch(t, o, safeOps).Root().Any()); diff != "" {
				t.Errorf("the safe fixes of %s do not give the fixed file (-fixed +patched):\n%s", o.Key, diff)
			}
		}
	}
	return safe
}

// objectName is what Kubernetes takes for a name of the kinds that fixes create.
var objectName = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$`)

// faultsOf applies one fix of a finding to a file, and nothing else, and says what is wrong with the outcome: the finding has to be
// gone, and no rule may warn of an object that it did not warn of before. After a safe fix no rule may say anything new at all.
func faultsOf(t reporter, rules []lint.Rule, c Case, file *object.File, before *lint.Report, f lint.Finding, x lint.Fix) []string {
	t.Helper()
	var files []*object.File
	var faults []string
	switch {
	case (x.Create != nil) == (len(x.Ops) > 0):
		return []string{"has to have either operations or an object to create"}
	case x.Create != nil:
		made, fault := created(t, x)
		if fault != "" {
			return []string{fault}
		}
		files = []*object.File{file, made}
	default:
		o := file.Objects[slices.IndexFunc(file.Objects, func(o *object.Object) bool { return o.Key == f.Object })]
		files = []*object.File{withObject(file, o, patch(t, o, x.Ops))}
	}
	after, err := c.Lint(rules, files...)
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range after.Findings {
		same := func(b lint.Finding) bool { return b.Rule.ID == g.Rule.ID && b.Object == g.Object }
		switch {
		case same(f) && g.Path.Equal(f.Path) && g.Message == f.Message:
			faults = append(faults, "leaves the finding")
		case (g.Severity > lint.Info || x.Safety == lint.Safe) && !slices.ContainsFunc(before.Findings, same):
			faults = append(faults, fmt.Sprintf("brings about %s on %s: %s", g.Rule.ID, g.Object, g.Message))
		}
	}
	return faults
}

// created reads the object that a fix proposes from its text, as it would be read once it is written.
func created(t reporter, x lint.Fix) (file *object.File, fault string) {
	t.Helper()
	js, err := json.Marshal(x.Create.Object)
	if err != nil {
		t.Fatal(err)
	}
	file, err = object.Load(context.Background(), "created.yaml", bytes.NewReader(js), object.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if len(file.Objects) != 1 || len(file.Problems) > 0 {
		return nil, fmt.Sprintf("creates no object that can be read: %s", js)
	}
	if name := file.Objects[0].Name; !objectName.MatchString(name) {
		return nil, fmt.Sprintf("creates an object with the name %q, which no object can have", name)
	}
	return file, ""
}

// patch is edit.Patch for a fix that must apply.
func patch(t reporter, o *object.Object, ops []lint.Op) *object.Object {
	t.Helper()
	patched, err := edit.Patch(o, ops)
	if err != nil {
		t.Fatalf("fix of %s: %s", o.Key, err)
	}
	return patched
}

// withObject is the file with one object replaced by its patched form.
func withObject(file *object.File, old, o *object.Object) *object.File {
	changed := &object.File{Name: file.Name, Class: object.Linted}
	for _, x := range file.Objects {
		if x == old {
			x = o
		}
		changed.Objects = append(changed.Objects, x)
	}
	return changed
}

func checkGood(t reporter, rules []lint.Rule, r *lint.Rule, c Case) {
	t.Helper()
	file, err := Load(c.Path)
	if err != nil {
		t.Fatal(err)
	}
	if len(wants(t, c.Path)) > 0 {
		t.Errorf("%s is good and wants findings", c.Path)
	}
	report, err := c.Lint(rules, file)
	if err != nil {
		t.Fatal(err)
	}
	noRuleBroke(t, report)
	for _, f := range report.Findings {
		if f.Rule.ID == r.ID {
			t.Errorf("false finding %s: %s: %s", f.Location, f.Severity, f.Message)
		}
	}
}

// Proofs checks that each of the rules has a proof in its folder under dir that was made from the fixtures that are there now. It
// compiles nothing: `make prove` does, and writes the proofs.
func Proofs(t *testing.T, dir string, rules []lint.Rule, mine func(*lint.Meta) bool) {
	t.Helper()
	for i := range rules {
		m := &rules[i].Meta
		if !mine(m) {
			continue
		}
		t.Run(m.ID, func(t *testing.T) {
			if err := proof.Check(filepath.Join(dir, m.Name), m.ID+" "+m.Name, m.Proof.Kind); err != nil {
				t.Error(err)
			}
		})
	}
}
