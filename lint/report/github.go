package report

import (
	"bufio"
	"fmt"
	"strconv"
	"strings"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/object"
)

// writeGitHub writes workflow commands, which GitHub Actions turns into annotations of the changed files.
func writeGitHub(w *bufio.Writer, v *view) error {
	for i := range v.Findings {
		f := &v.Findings[i]
		message := clean(f.Message)
		if f.Effect != "" {
			message += "\neffect: " + clean(f.Effect)
		}
		if note := v.causedNote(f); note != "" {
			message += "\ncause: " + clean(note)
		}
		if briefHelp(f) != "" {
			message += "\nhelp: " + clean(help(f))
		}
		if inCluster(f.Location) {
			message = clean(f.Object.String()) + ": " + message
		}
		writeCommand(w, v.opt, commandOf(f.Severity), f.Location, f.Rule.ID+" "+f.Rule.Name, message)
	}
	told := v.told()
	for _, p := range v.Problems {
		if !told[spotOf(p.Location)] {
			writeCommand(w, v.opt, "error", p.Location, "problem ("+string(p.Kind)+")", clean(p.Message))
		}
	}
	return nil
}

func commandOf(s lint.Severity) string {
	switch s {
	case lint.Error:
		return "error"
	case lint.Warning:
		return "warning"
	}
	return "notice"
}

// The escapes of workflow commands. Properties also escape what ends them.
var (
	commandData     = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	commandProperty = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

func writeCommand(w *bufio.Writer, opt Options, command string, at object.Location, title, message string) {
	var properties []string
	add := func(name, value string) {
		properties = append(properties, name+"="+commandProperty.Replace(clean(value)))
	}
	if !inCluster(at) && at.File != "" {
		file, _ := opt.repositoryPath(at.File)
		add("file", file)
	}
	if start, end := at.Range.Start, at.Range.End; start.IsValid() {
		add("line", strconv.Itoa(start.Line))
		add("endLine", strconv.Itoa(max(start.Line, end.Line)))
		if end.Line == start.Line { // the runner drops the columns of an annotation of several lines, with a warning
			add("col", strconv.Itoa(start.Col))
			add("endColumn", strconv.Itoa(max(start.Col, end.Col-1))) // the last column, not the one after it
		}
	}
	add("title", title)
	fmt.Fprintf(w, "::%s %s::%s\n", command, strings.Join(properties, ","), commandData.Replace(message))
}
