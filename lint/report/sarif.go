package report

import (
	"bufio"
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/object"
)

const (
	sarifSchema = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
	homePage    = "https://github.com/meshvet/meshvet"
	sourceRoot  = "%SRCROOT%"
	sarifKey    = "meshvet/v1" // names the way fingerprints are made; a new way takes a new key

	// GitHub refuses a file with more results than this in a run, and shows no more related places than this of one.
	maxResults = 25_000
	maxRelated = 100
)

// writeSARIF writes a SARIF 2.1.0 log of one run, with what GitHub code scanning asks of it.
func writeSARIF(w *bufio.Writer, v *view) error {
	return writeSARIFUpTo(w, v, maxResults)
}

func writeSARIFUpTo(w *bufio.Writer, v *view, limit int) error {
	s := sarifWriter{view: v, ruleIndex: map[string]int{}}
	run := sarif.NewRunWithInformationURI("meshvet", homePage)
	run.WithColumnKind("unicodeCodePoints")
	driver := run.Tool.Driver
	if v.opt.Version != "" {
		driver.WithVersion(v.opt.Version)
		if ok, err := regexp.MatchString(semver, v.opt.Version); err == nil && ok {
			driver.WithSemanticVersion(strings.TrimPrefix(v.opt.Version, "v"))
		}
	}
	for i, m := range s.rules() {
		s.ruleIndex[m.ID] = i
		driver.AddRule(s.rule(m))
	}
	entries, dropped := mostSevere(v.entries(), limit)
	results := make([]sarifResult, 0, len(entries))
	for _, e := range entries {
		results = append(results, s.result(e))
	}
	run.AddInvocation(s.invocation(dropped))

	doc := sarif.NewReport()
	doc.Schema = sarifSchema
	return writeDocument(w, sarifDocument{doc, []sarifRun{{run, results}}})
}

// The types below have fields of the library's types in another form. It leaves out an empty list of suppressions; by the standard
// either all results of a run have a list or none, so that one of them says whether anybody looked for suppressions.
type (
	sarifDocument struct {
		*sarif.Report
		Runs []sarifRun `json:"runs"`
	}
	sarifRun struct {
		*sarif.Run
		Results []sarifResult `json:"results"`
	}
	sarifResult struct {
		*sarif.Result
		Suppressions []*sarif.Suppression `json:"suppressions"`
	}
)

// semver is the form of a semantic version, with or without the v of a tag.
const semver = `^v?(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$`

// mostSevere keeps at most limit entries, in their order, and says how many it dropped. Those that are silenced go first.
func mostSevere(entries []entry, limit int) ([]entry, int) {
	dropped := len(entries) - limit
	if dropped <= 0 {
		return entries, 0
	}
	order := make([]int, len(entries))
	for i := range order {
		order[i] = i
	}
	weight := func(i int) lint.Severity {
		if entries[i].suppression != nil {
			return lint.Off
		}
		return entries[i].Severity
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(weight(b), weight(a)) })
	order = order[:limit]
	slices.Sort(order)
	kept := make([]entry, 0, limit)
	for _, i := range order {
		kept = append(kept, entries[i])
	}
	return kept, dropped
}

type sarifWriter struct {
	*view
	ruleIndex map[string]int
}

// rules are those that were selected, and any other that has a finding.
func (s *sarifWriter) rules() []*lint.Meta {
	rules := slices.Clone(s.Rules)
	known := map[string]bool{}
	for _, m := range rules {
		known[m.ID] = true
	}
	for _, e := range s.entries() {
		if m := e.Rule; !known[m.ID] {
			known[m.ID] = true
			rules = append(rules, m)
		}
	}
	slices.SortStableFunc(rules, func(a, b *lint.Meta) int { return cmp.Compare(a.ID, b.ID) })
	return rules
}

func (s *sarifWriter) rule(m *lint.Meta) *sarif.ReportingDescriptor {
	r := sarif.NewRule(m.ID).
		WithName(m.Name).
		WithShortDescription(descriptorText(cmp.Or(m.Title, m.Name))).
		WithFullDescription(descriptorText(cmp.Or(sentence(m.Summary), m.Title, m.Name))).
		WithDefaultConfiguration(sarif.NewReportingConfiguration().WithLevel(levelOf(m.Severity)))
	text, markdown := ruleHelp(m)
	r.WithHelp(descriptorText(text).WithMarkdown(markdown))
	if u := s.opt.ruleURL(m.ID); u != "" {
		r.WithHelpURI(u)
	}
	bag := sarif.NewPropertyBag()
	bag.Add("precision", precisionOf(m))
	bag.Add("problem.severity", problemSeverity[m.Severity])
	bag.Tags = []string{"istio"}
	if m.Category != "" {
		bag.Tags = append(bag.Tags, string(m.Category))
	}
	if m.Security {
		bag.Tags = append(bag.Tags, "security")
		bag.Add("security-severity", securitySeverity[m.Severity])
	}
	return r.WithProperties(bag)
}

// descriptorText is text of a rule. It is not a message: nothing in it is taken for a placeholder or a link.
func descriptorText(text string) *sarif.MultiformatMessageString {
	return sarif.NewMultiformatMessageString().WithText(text)
}

var (
	// securitySeverity is a CVSS score, by which GitHub sorts security alerts: high, medium, low.
	securitySeverity = map[lint.Severity]string{lint.Error: "8.0", lint.Warning: "5.5", lint.Info: "3.0"}
	problemSeverity  = map[lint.Severity]string{lint.Error: "error", lint.Warning: "warning", lint.Info: "recommendation"}
)

// precisionOf says how far a rule is to be trusted: its claim is seen in what Istio compiles, or is Envoy's documented meaning.
func precisionOf(m *lint.Meta) string {
	switch m.Proof.Kind {
	case "":
		return "medium"
	case "envoy":
		return "high"
	}
	return "very-high"
}

// ruleHelp is the rule's page in short, as text and as Markdown.
func ruleHelp(m *lint.Meta) (text, markdown string) {
	var t, md strings.Builder
	part := func(heading, body string) {
		body = strings.TrimSpace(body)
		if body == "" {
			return
		}
		if t.Len() > 0 {
			t.WriteString("\n\n")
			md.WriteString("\n\n")
		}
		fmt.Fprintf(&t, "%s: %s", heading, body)
		fmt.Fprintf(&md, "**%s.** %s", heading, body)
	}
	part("What it flags", cmp.Or(m.Summary, m.Title, m.Name))
	part("Why", m.Why)
	part("What to do", m.Remedy)
	if len(m.References) > 0 {
		part("References", strings.Join(m.References, " "))
	}
	return t.String(), md.String()
}

func levelOf(s lint.Severity) string {
	switch s {
	case lint.Error:
		return sarif.LevelError
	case lint.Warning:
		return sarif.LevelWarning
	}
	return sarif.LevelNote
}

func (s *sarifWriter) result(e entry) sarifResult {
	f := e.Finding
	related := f.Related[:min(len(f.Related), maxRelated)]
	r := sarif.NewRuleResult(f.Rule.ID).
		WithRuleIndex(s.ruleIndex[f.Rule.ID]).
		WithLevel(levelOf(f.Severity)).
		WithMessage(messageOf(f, s.causedNote(f), related)).
		AddLocation(s.location(f.Location, f.Object, f.Path))
	for i, x := range related {
		l := s.location(x.Location, x.Object, x.Path)
		l.WithID(i + 1)
		l.WithMessage(sarif.NewTextMessage(messageText(x.Message)))
		r.AddRelatedLocation(l)
	}
	if fp := f.Fingerprint(); fp != "" {
		r.WithPartialFingerprints(map[string]string{sarifKey: fp})
	}
	for i := range f.Fixes {
		if fix := s.fix(f, &f.Fixes[i]); fix != nil {
			r.AddFixe(fix)
		}
	}
	if f.Caused {
		bag := sarif.NewPropertyBag()
		bag.Add("caused", true)
		r.WithProperties(bag)
	}
	out := sarifResult{r, []*sarif.Suppression{}}
	if x := e.suppression; x != nil {
		kind := "inSource" // as comments and annotations are
		if x.Kind == lint.ByBaseline {
			kind = "external"
		}
		out.Suppressions = append(out.Suppressions, sarif.NewSuppression().WithKind(kind).
			WithJustification(x.Reason).WithLocation(s.location(x.Where, f.Object, nil)))
	}
	return out
}

// fix is a fix as replacements in files, nil if it has none.
func (s *sarifWriter) fix(f *lint.Finding, x *lint.Fix) *sarif.Fix {
	edits, err := s.edits(f, x)
	if err != nil || len(edits) == 0 {
		return nil
	}
	title := x.Title
	if x.Safety == lint.Unsafe {
		title += " (unsafe)"
	}
	out := sarif.NewFix().WithDescription(sarif.NewTextMessage(messageText(title)))
	var change *sarif.ArtifactChange
	file := ""
	for _, e := range edits {
		if change == nil || e.File != file {
			file = e.File
			change = sarif.NewArtifactChange().WithArtifactLocation(s.artifact(file))
			out.AddArtifactChange(change)
		}
		start, end := e.Range.Start, e.Range.End
		change.AddReplacement(sarif.NewReplacement().
			WithDeletedRegion(sarif.NewRegion().WithStartLine(start.Line).WithStartColumn(start.Col).WithEndLine(end.Line).WithEndColumn(end.Col)).
			WithInsertedContent(sarif.NewArtifactContent().WithText(e.Text)))
	}
	return out
}

// messageOf puts into one message what the other formats show apart. Related places are linked from it, since viewers show
// them in no other way.
func messageOf(f *lint.Finding, cause string, related []lint.Related) *sarif.Message {
	text := messageText(sentence(f.Message))
	if f.Effect != "" {
		text += " Effect: " + messageText(sentence(f.Effect))
	}
	if cause != "" {
		text += " Cause: " + messageText(sentence(cause))
	}
	if help := briefHelp(f); help != "" {
		text += " Help: " + messageText(sentence(help))
	}
	for i, x := range related {
		lead := ", "
		if i == 0 {
			lead = " See "
		}
		text += fmt.Sprintf("%s[%s](%d)", lead, linkText(x.Message, i+1), i+1)
	}
	if len(related) > 0 {
		if n := len(f.Related) - len(related); n > 0 {
			text += fmt.Sprintf(" and %s", count(n, "other place"))
		}
		text += "."
	}
	return sarif.NewTextMessage(text)
}

var (
	// Braces stand for placeholders unless they are doubled, and a link that the input brings along is none of ours.
	messageEscape = strings.NewReplacer("{", "{{", "}", "}}", "](", "] (")
	linkEscape    = strings.NewReplacer("{", "{{", "}", "}}", `\`, `\\`, "[", `\[`, "]", `\]`)
)

func messageText(s string) string { return messageEscape.Replace(s) }

func linkText(s string, id int) string {
	if strings.TrimSpace(s) == "" {
		return fmt.Sprintf("place %d", id)
	}
	return linkEscape.Replace(s)
}

func (s *sarifWriter) location(l object.Location, k object.Key, p object.Path) *sarif.Location {
	out := sarif.NewLocation()
	if k.Kind != "" {
		full := k.String()
		if len(p) > 0 {
			full += " " + p.String()
		}
		out.AddLogicalLocation(sarif.NewLogicalLocation().WithName(k.Name).WithFullyQualifiedName(full).WithKind("resource"))
	}
	if inCluster(l) || l.File == "" {
		return out
	}
	physical := sarif.NewPhysicalLocation().WithArtifactLocation(s.artifact(l.File))
	start, end := l.Range.Start, l.Range.End
	if !start.IsValid() {
		start = object.Pos{Line: 1, Col: 1} // GitHub refuses a result without a region
	}
	if end.Less(start) {
		end = start
	}
	region := sarif.NewRegion().WithStartLine(start.Line).WithStartColumn(start.Col).WithEndLine(end.Line).WithEndColumn(end.Col)
	return out.WithPhysicalLocation(physical.WithRegion(region))
}

func (s *sarifWriter) artifact(name string) *sarif.ArtifactLocation {
	p, inside := s.opt.repositoryPath(name)
	a := sarif.NewArtifactLocation().WithURI(uri(p))
	if inside || !strings.HasPrefix(p, "/") {
		a.WithURIBaseID(sourceRoot)
	}
	return a
}

// invocation says whether the run judged all that it was given, and what it could not.
func (s *sarifWriter) invocation(dropped int) *sarif.Invocation {
	inv := sarif.NewInvocation().WithExecutionSuccessful(len(s.Problems) == 0)
	note := func(level, text string, at object.Location) {
		n := sarif.NewNotification().WithLevel(level).WithMessage(sarif.NewTextMessage(messageText(text)))
		if at.File != "" {
			l := s.location(at, object.Key{}, nil)
			if l.PhysicalLocation != nil && !at.Range.Start.IsValid() {
				l.PhysicalLocation.Region = nil
			}
			n.AddLocation(l)
		}
		inv.AddToolExecutionNotification(n)
	}
	for _, p := range s.Problems {
		note(sarif.LevelError, p.Message, p.Location)
	}
	for _, k := range s.Skipped {
		if k.Rule == "" {
			note(sarif.LevelNote, k.Reason, noticePlace(s.Report, k))
		}
	}
	if dropped > 0 {
		note(sarif.LevelWarning, fmt.Sprintf("%s left out: a run may hold %d results; the most severe are kept",
			count(dropped, "finding"), maxResults), object.Location{})
	}
	return inv
}
