package report

import (
	"bufio"
	"encoding/xml"
	"fmt"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/object"
)

// checkstyleVersion is the version of Checkstyle whose form the report has; consumers look for the attribute and not at the number.
const checkstyleVersion = "5.0"

type (
	checkstyleReport struct {
		XMLName xml.Name          `xml:"checkstyle"`
		Version string            `xml:"version,attr"`
		Files   []*checkstyleFile `xml:"file"`
	}
	checkstyleFile struct {
		Name   string            `xml:"name,attr"`
		Errors []checkstyleError `xml:"error"`
	}
	checkstyleError struct {
		Line     int    `xml:"line,attr,omitempty"`
		Column   int    `xml:"column,attr,omitempty"`
		Severity string `xml:"severity,attr"`
		Message  string `xml:"message,attr"`
		// Source is a dotted name, as that of a class: Jenkins takes what is behind the last dot for the type of an issue, and
		// what is before it for its category.
		Source string `xml:"source,attr"`
	}
)

// writeCheckstyle writes a report in the form of Checkstyle, which Jenkins, reviewdog and others read. It has no place for findings that
// are silenced. An object that came from a cluster is a file of its name there.
func writeCheckstyle(w *bufio.Writer, v *view) error {
	doc := checkstyleReport{Version: checkstyleVersion}
	files := map[string]*checkstyleFile{}
	add := func(at object.Location, e checkstyleError) {
		at = v.opt.fromRoot(at)
		if at.File == "" {
			at.File = "."
		}
		f := files[at.File]
		if f == nil {
			f = &checkstyleFile{Name: clean(at.File)}
			files[at.File] = f
			doc.Files = append(doc.Files, f)
		}
		e.Line, e.Column = at.Range.Start.Line, at.Range.Start.Col
		f.Errors = append(f.Errors, e)
	}
	for i := range v.Findings {
		f := &v.Findings[i]
		category := string(f.Rule.Category)
		if category == "" {
			category = "other"
		}
		add(f.Location, checkstyleError{
			Severity: checkstyleSeverity(f.Severity),
			Message:  clean(f.Rule.Name) + ": " + v.inOneLine(f),
			Source:   "meshvet." + clean(category) + "." + clean(f.Rule.ID),
		})
	}
	told := v.told()
	for _, p := range v.Problems {
		if !told[spotOf(p.Location)] {
			add(p.Location, checkstyleError{
				Severity: "error",
				Message:  "the run is not complete: " + clean(sentence(p.Message)),
				Source:   "meshvet.problem." + clean(string(p.Kind)),
			})
		}
	}
	return writeXML(w, &doc)
}

func checkstyleSeverity(s lint.Severity) string {
	switch s {
	case lint.Error:
		return "error"
	case lint.Warning:
		return "warning"
	}
	return "info"
}

// writeXML writes a document of XML 1.0. The encoder escapes markup, and puts U+FFFD for runes that XML does not allow.
func writeXML(w *bufio.Writer, doc any) error {
	if _, err := w.WriteString(xml.Header); err != nil {
		return err
	}
	enc := xml.NewEncoder(w)
	enc.Indent("", "  ")
	if err := enc.Encode(doc); err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	return w.WriteByte('\n')
}
