package report

import (
	"bufio"
	"cmp"
	"encoding/xml"
	"fmt"
	"strings"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/object"
)

// The types below are JUnit's XML as Jenkins and GitLab read it. There is no file attribute in a test case, though GitLab would show it: the
// schema of Jenkins does not have it. The class name, which both show, is the file.
type (
	junitReport struct {
		XMLName  xml.Name `xml:"testsuites"`
		Name     string   `xml:"name,attr"`
		Tests    int      `xml:"tests,attr"`
		Failures int      `xml:"failures,attr"`
		Errors   int      `xml:"errors,attr"`
		Suites   []*junitSuite
	}
	junitSuite struct {
		XMLName  xml.Name `xml:"testsuite"`
		Name     string   `xml:"name,attr"`
		Tests    int      `xml:"tests,attr"`
		Failures int      `xml:"failures,attr"`
		Errors   int      `xml:"errors,attr"`
		Skipped  int      `xml:"skipped,attr"`
		Cases    []*junitCase
		names    map[string]int
	}
	junitCase struct {
		XMLName   xml.Name      `xml:"testcase"`
		Name      string        `xml:"name,attr"`
		Class     string        `xml:"classname,attr"`
		Failure   *junitOutcome `xml:"failure"`
		Error     *junitOutcome `xml:"error"`
		Skipped   *junitOutcome `xml:"skipped"`
		SystemOut string        `xml:"system-out,omitempty"`
	}
	// junitOutcome has all in its text, because GitLab shows that and not the message, which Jenkins shows above it.
	junitOutcome struct {
		Type    string `xml:"type,attr"`
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

// clusterSuite is the suite of objects that came from a cluster, which have no files.
const clusterSuite = "cluster"

// writeJUnit writes a suite of tests for each file, with a test for each finding, and one for the run as a whole, so that there is a
// test in a run without findings too: Jenkins takes a report without tests for a mistake. What fails the run is a failure. What does
// not, such as a recommendation, is skipped, and so is what is silenced: it is the only other outcome whose text GitLab and Jenkins show.
// What keeps the run from judging is an error.
func writeJUnit(w *bufio.Writer, v *view) error {
	j := junitWriter{view: v, suites: map[string]*junitSuite{}, doc: junitReport{Name: "meshvet"}}
	problems := map[spot]bool{}
	for _, p := range v.Problems {
		problems[spotOf(p.Location)] = true
	}
	j.run()
	for _, e := range v.entries() {
		j.finding(e, e.Object.Kind == "" && problems[spotOf(e.Location)])
	}
	told := v.told()
	for _, p := range v.Problems {
		if !told[spotOf(p.Location)] {
			j.problem(p)
		}
	}
	for _, s := range j.doc.Suites {
		j.doc.Tests += s.Tests
		j.doc.Failures += s.Failures
		j.doc.Errors += s.Errors
	}
	return writeXML(w, &j.doc)
}

type junitWriter struct {
	*view
	doc    junitReport
	suites map[string]*junitSuite
}

// run adds the test that is there in any case.
func (j *junitWriter) run() {
	c := &junitCase{Name: "all that was given is judged", Class: "meshvet", SystemOut: summary(j.view)}
	if n := len(j.Problems); n > 0 {
		what := fmt.Sprintf("the run is not complete: %s", count(n, "problem"))
		c.Error = &junitOutcome{Type: "problem", Message: what, Text: what + "\n" + summary(j.view)}
	}
	j.add("meshvet", c)
}

// finding adds a test for a finding; broken says that it tells why the run is not complete.
func (j *junitWriter) finding(e entry, broken bool) {
	f := e.Finding
	name := clean(f.Rule.ID + " " + f.Rule.Name)
	if where := whereabouts(f); where != "" {
		name += ": " + where
	}
	out := &junitOutcome{Type: f.Severity.String(), Message: clean(f.Message), Text: j.text(f)}
	c := &junitCase{Name: name}
	switch x := e.suppression; {
	case x != nil:
		out.Message = "suppressed: " + clean(x.Reason) + acceptedWhere(x)
		if x.Kind == lint.ByBaseline {
			out.Message = clean(x.Reason)
		}
		out.Text = out.Message + "\n" + out.Text
		c.Skipped = out
	case broken:
		c.Error = out
	case f.Severity >= cmp.Or(j.opt.FailOn, lint.Warning):
		c.Failure = out
	default:
		c.Skipped = out
	}
	j.add(j.suiteOf(f.Location), c)
}

// text is what there is to say about a finding. No line begins with text of the input, but for file names.
func (j *junitWriter) text(f *lint.Finding) string {
	var lines []string
	g := *f
	g.Location = j.opt.fromRoot(f.Location)
	lines = append(lines, headline(&g, newPens(false)))
	if where := whereabouts(f); where != "" {
		lines = append(lines, "in "+where)
	}
	prose := func(label, text string) {
		if text != "" {
			lines = append(lines, label+": "+clean(text))
		}
	}
	prose("effect", f.Effect)
	for _, r := range f.Related {
		lines = append(lines, place(j.opt.fromRoot(r.Location))+": "+clean(r.Message))
	}
	prose("cause", j.causedNote(f))
	prose("help", help(f))
	prose("page", j.opt.ruleURL(f.Rule.ID))
	return strings.Join(lines, "\n")
}

func (j *junitWriter) problem(p object.Problem) {
	text := "problem: " + clean(p.Message)
	if p.Location.File != "" {
		text = place(j.opt.fromRoot(p.Location)) + ": " + text
	}
	j.add(j.suiteOf(p.Location), &junitCase{
		Name:  "problem (" + clean(string(p.Kind)) + ")",
		Error: &junitOutcome{Type: "problem", Message: clean(p.Message), Text: text},
	})
}

func (j *junitWriter) suiteOf(l object.Location) string {
	switch {
	case inCluster(l):
		return clusterSuite
	case l.File == "":
		return "meshvet"
	}
	return clean(j.opt.fromRoot(l).File)
}

// add puts a test in a suite. GitLab keeps one test of each name, so those that are named alike are numbered.
func (j *junitWriter) add(suite string, c *junitCase) {
	s := j.suites[suite]
	if s == nil {
		s = &junitSuite{Name: suite, names: map[string]int{}}
		j.suites[suite] = s
		j.doc.Suites = append(j.doc.Suites, s)
	}
	c.Class = suite
	if s.names[c.Name]++; s.names[c.Name] > 1 {
		c.Name += fmt.Sprintf(" (%d)", s.names[c.Name])
	}
	s.Cases = append(s.Cases, c)
	s.Tests++
	switch {
	case c.Failure != nil:
		s.Failures++
	case c.Error != nil:
		s.Errors++
	case c.Skipped != nil:
		s.Skipped++
	}
}
