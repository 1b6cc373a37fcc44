package report

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/object"
)

// The types below are what GitLab reads of a Code Quality report, which is a list of issues. GitLab gives up on the list at the first
// that lacks a field.
type (
	codeQualityIssue struct {
		Description string              `json:"description"`
		CheckName   string              `json:"check_name"`
		Fingerprint string              `json:"fingerprint"` // of two issues with the same one GitLab keeps the last
		Severity    string              `json:"severity"`
		Location    codeQualityLocation `json:"location"`
	}
	codeQualityLocation struct {
		Path  string           `json:"path"` // from the root of the repository, without ./
		Lines codeQualityLines `json:"lines"`
	}
	codeQualityLines struct {
		Begin int `json:"begin"`
	}
)

// writeGitLab writes a Code Quality report, which GitLab shows in merge requests beside the lines that they change. It has no place for
// findings that are silenced: those left out count as solved, as they are meant to.
func writeGitLab(w *bufio.Writer, v *view) error {
	issues := make([]codeQualityIssue, 0, len(v.Findings)+len(v.Problems)) // an empty list says that nothing was found
	for i := range v.Findings {
		f := &v.Findings[i]
		issues = append(issues, codeQualityIssue{
			Description: clean(f.Rule.ID+" "+f.Rule.Name) + ": " + v.inOneLine(f),
			CheckName:   clean(f.Rule.ID),
			Fingerprint: f.Fingerprint(),
			Severity:    codeQualitySeverity(f.Severity),
			Location:    v.opt.codeQualityLocation(f.Location),
		})
	}
	told := v.told()
	for _, p := range v.Problems {
		if told[spotOf(p.Location)] {
			continue
		}
		issues = append(issues, codeQualityIssue{
			Description: "The run is not complete: " + clean(sentence(p.Message)),
			CheckName:   "problem-" + clean(string(p.Kind)),
			Fingerprint: fingerprintOf(string(p.Kind), p.Location.File, p.Message),
			Severity:    "blocker",
			Location:    v.opt.codeQualityLocation(p.Location),
		})
	}
	seen := map[string]int{}
	for i := range issues {
		x := &issues[i]
		if x.Fingerprint == "" {
			x.Fingerprint = fingerprintOf(x.CheckName, x.Location.Path, x.Description)
		}
		first := x.Fingerprint
		if seen[first]++; seen[first] > 1 {
			x.Fingerprint = fingerprintOf(first, fmt.Sprint(seen[first]))
		}
	}
	return writeDocument(w, issues)
}

// codeQualitySeverity is one of GitLab's info, minor, major, critical and blocker. What the mesh refuses or drops is critical, what it
// silently does otherwise major; blocker is for what keeps the run itself from judging.
func codeQualitySeverity(s lint.Severity) string {
	switch s {
	case lint.Error:
		return "critical"
	case lint.Warning:
		return "major"
	}
	return "info"
}

// codeQualityLocation is where GitLab shows an issue. It makes a link of it, and can do without neither path nor line. What came from
// a cluster goes by its name in the cluster, which is no file, and the link leads nowhere.
func (o Options) codeQualityLocation(l object.Location) codeQualityLocation {
	l = o.fromRoot(l)
	out := codeQualityLocation{Path: clean(l.File), Lines: codeQualityLines{Begin: max(1, l.Range.Start.Line)}}
	if out.Path == "" {
		out.Path = "."
	}
	return out
}

// fingerprintOf is a fingerprint of what has none of its own.
func fingerprintOf(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%q\n", p)
	}
	return hex.EncodeToString(h.Sum(nil)[:12])
}
