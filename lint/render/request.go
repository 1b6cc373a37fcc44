// Package render has manifests made of kustomizations and Helm charts.
//
// The renderers are not linked into the programs that judge: they are a program of their own, meshvet-render, which reads one Request
// from its standard input, writes one Answer to its standard output and ends. That keeps meshvet quick to start, and what renders
// something that is not trusted can be bounded and killed.
package render

import (
	"sort"
	"time"
)

// Program is the name of the program that renders.
const Program = "meshvet-render"

// Request is what one process renders: a kustomization or a chart. Exactly one of the two is set.
type Request struct {
	Version   string     `json:"version"` // of the program that asks; the one that renders has to be of the same
	Kustomize *Kustomize `json:"kustomize,omitempty"`
	Helm      *Helm      `json:"helm,omitempty"`
	Limits    Limits     `json:"limits"`
}

// Kustomize is a kustomization.
type Kustomize struct {
	Dir  string `json:"dir"`  // folder of the kustomization, absolute
	Root string `json:"root"` // folder outside of which nothing is read, absolute; Dir is within it
}

// Helm is a chart and what it is rendered with.
type Helm struct {
	Chart       string      `json:"chart"` // folder, or .tgz, absolute
	Root        string      `json:"root"`  // folder outside of which nothing is read, absolute; Chart is within it
	Values      []ValueFile `json:"values,omitempty"`
	Set         []string    `json:"set,omitempty"` // as of helm's --set
	Release     string      `json:"release,omitempty"`
	Namespace   string      `json:"namespace,omitempty"`
	KubeVersion string      `json:"kubeVersion,omitempty"`
	APIVersions []string    `json:"apiVersions,omitempty"`
}

// ValueFile is a file of values. Of several, later ones win.
type ValueFile struct {
	Name string `json:"name"` // as the user calls it
	Text []byte `json:"text"`
}

// Limits bound a rendering. All are in bytes but Timeout.
type Limits struct {
	Archive  int64         `json:"archive"`  // of a packed chart
	Unpacked int64         `json:"unpacked"` // of all files that are read
	Files    int           `json:"files"`    // number of files that are read
	Output   int64         `json:"output"`   // of all documents
	Memory   int64         `json:"memory"`   // of the process, where the system can bound it
	Timeout  time.Duration `json:"timeout"`  // nanoseconds
}

// DefaultLimits are the limits that a Request has unless somebody says otherwise.
func DefaultLimits() Limits {
	return Limits{
		Archive:  20 << 20,
		Unpacked: 100 << 20,
		Files:    20_000,
		Output:   64 << 20,
		Memory:   2 << 30,
		Timeout:  30 * time.Second,
	}
}

// Answer is what became of a Request. If it failed, it has an Error and no Documents.
type Answer struct {
	Version   string     `json:"version"` // of the program that rendered
	Documents []Document `json:"documents,omitempty"`
	Namespace string     `json:"namespace,omitempty"` // of the objects that name none, where it is asked for
	Error     *Failure   `json:"error,omitempty"`
	Notes     []string   `json:"notes,omitempty"` // what the renderer warns of, a line each
}

// Document is a manifest that was rendered.
type Document struct {
	Text   string `json:"text"`             // one YAML document, without markers
	Source string `json:"source,omitempty"` // the file that it comes from, relative to Root, with slashes; "" if it is not known
	Line   int    `json:"line,omitempty"`   // line of Source where it begins, from 1; 0 if it is not known
	// Lines says which lines of which files wrote the lines of Text, where the renderer knows that for certain: by rising From,
	// without overlap. Nothing is known of a line that is in none of them.
	Lines []Lines `json:"lines,omitempty"`
}

// Lines says where consecutive lines of a Document's Text come from.
type Lines struct {
	From   int    `json:"from"`             // the first of them, from 1
	Count  int    `json:"count"`            // number of them
	Source string `json:"source,omitempty"` // the file that wrote them, relative to Root; "" for that of the Document
	Line   int    `json:"line"`             // line of the file that wrote the first of them, from 1
	// Step is 1 where each following line was written by the following line of the file, and 0 where the one line wrote all of them,
	// as a template action does that puts a list of the values into the document.
	Step int `json:"step,omitempty"`
}

// Origin says which line of which file wrote a line of Text, counted from 1. The line of the file is 0 if that is not known.
func (d *Document) Origin(line int) (source string, at int) {
	i := sort.Search(len(d.Lines), func(i int) bool { return d.Lines[i].From > line }) - 1
	if i < 0 || line >= d.Lines[i].From+d.Lines[i].Count {
		return "", 0
	}
	l := d.Lines[i]
	source = l.Source
	if source == "" {
		source = d.Source
	}
	return source, l.Line + (line-l.From)*l.Step
}

// Failure is why something cannot be rendered.
type Failure struct { //nolint:errname // it is part of an answer first
	Message string `json:"message"`        // one line: what is wrong and what to do
	File    string `json:"file,omitempty"` // where, relative to Root, with slashes, or the Name of a ValueFile; "" if it is not known
	Line    int    `json:"line,omitempty"` // from 1; 0 if it is not known
}

// Error makes a Failure an error.
func (f *Failure) Error() string { return f.Message }
