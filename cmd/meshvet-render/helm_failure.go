package main

import (
	"bytes"
	"fmt"
	"path"
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"helm.sh/helm/v4/pkg/chart/loader/archive"
	"sigs.k8s.io/yaml"

	"github.com/meshvet/meshvet/lint/render"
)

// maxWords bounds a message. Helm puts whole templates into some.
const maxWords = 1000

// fail makes a failure that is the user's to mend.
func fail(file string, line int, format string, args ...any) error {
	return &render.Failure{Message: oneLine(fmt.Sprintf(format, args...)), File: file, Line: line}
}

// words are the message of an error, on one line.
func words(err error) string { return oneLine(err.Error()) }

// oneLine puts a text on one line, without what a terminal takes for a command, and not too long.
func oneLine(text string) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsPrint(r):
			return -1
		}
		return r
	}, text)
	text = strings.Join(strings.Fields(text), " ")
	if len(text) <= maxWords {
		return text
	}
	return strings.ToValidUTF8(text[:maxWords], "") + "…"
}

// sizeOf is a number of bytes as people read it.
func sizeOf(bytes int64) string {
	switch {
	case bytes >= 10<<20:
		return fmt.Sprintf("%d MiB", bytes>>20)
	case bytes >= 10<<10:
		return fmt.Sprintf("%d KiB", bytes>>10)
	default:
		return fmt.Sprintf("%d bytes", bytes)
	}
}

var (
	atYAMLLine = regexp.MustCompile(`\bline (\d+): `)
	badFile    = regexp.MustCompile(`^cannot load (Chart\.yaml|Chart\.lock|values\.yaml|requirements\.yaml|requirements\.lock): `)
)

// yamlLine is the line that an error of reading a text as YAML is about, or 0. In a text of several documents the line is one of them,
// and tells nothing.
func yamlLine(err error, text []byte) int {
	m := atYAMLLine.FindStringSubmatch(err.Error())
	if m == nil || bytes.Contains(text, []byte("\n---")) {
		return 0
	}
	line, _ := strconv.Atoi(m[1])
	if strings.Contains(err.Error(), m[0]+"did not find expected") {
		line++ // the library names the line before
	}
	return max(1, min(line, bytes.Count(bytes.TrimRight(text, "\n"), []byte("\n"))+1))
}

// yamlWords are the message of an error of reading YAML, without the line, the steps that it went
// through and the names of Go's types.
func yamlWords(text string) string {
	for _, step := range []string{
		"cannot unmarshal yaml document: ", "error converting YAML to JSON: ", "error unmarshaling JSON: ", "while decoding JSON: ", "yaml: ",
	} {
		text = strings.Replace(text, step, "", 1)
	}
	text = atYAMLLine.ReplaceAllString(text, "")
	return oneLine(badShape.ReplaceAllStringFunc(text, func(found string) string {
		m := badShape.FindStringSubmatch(found)
		what, wanted := "it", "map"
		if _, field, is := strings.Cut(m[2], "."); is {
			what = field
		}
		switch {
		case m[3] == "string":
			wanted = "string"
		case m[3] == "bool":
			wanted = "boolean"
		case strings.HasPrefix(m[3], "[]"):
			wanted = "list"
		}
		return fmt.Sprintf("%s is %s, where a %s has to be", what, shapes[m[1]], wanted)
	}))
}

// badShape is what encoding/json says of what has another type than it should.
var badShape = regexp.MustCompile(`json: cannot unmarshal (string|number|bool|array|object)(?: \S+)? into Go (?:value|struct field (\S+)) of type (\S+.*)`)

// shapes are the names that users know of those of encoding/json.
var shapes = map[string]string{"string": "a string", "number": "a number", "bool": "a boolean", "array": "a list", "object": "a map"}

// loadFailure says why Helm's loader makes no chart of files, in the words of err.
func loadFailure(err error, where string, files []*archive.BufferedFile) error {
	text := err.Error()
	if m := badFile.FindStringSubmatch(text); m != nil {
		line := 0
		for _, f := range files {
			if f.Name == m[1] {
				line = yamlLine(err, f.Data)
			}
		}
		return fail(path.Join(where, m[1]), line, "%s", yamlWords(strings.TrimPrefix(text, m[0])))
	}
	if wrong, is := strings.CutPrefix(text, "validation: "); is {
		return fail(path.Join(where, chartFile), 0, "%s", wrong)
	}
	if strings.Contains(text, "Chart.yaml file is missing") {
		return fail(where, 0, "there is no Chart.yaml, which every chart has, also those in the folder charts")
	}
	return fail(where, 0, "%s", text)
}

// apiVersion is that of a Chart.yaml.
func apiVersion(text []byte) (string, error) {
	var head struct {
		APIVersion string `json:"apiVersion"`
	}
	err := yaml.Unmarshal(text, &head)
	return head.APIVersion, err
}

// lineOf is the first line of a text that begins with something, or 0.
func lineOf(text []byte, with string) int {
	n := 0
	for line := range bytes.Lines(text) {
		n++
		if bytes.HasPrefix(line, []byte(with)) {
			return n
		}
	}
	return 0
}

var (
	// A message of Helm's that names one place: "parse error at (NAME:LINE[:COLUMN]): WHY".
	atPlace = regexp.MustCompile(`(?s)^(parse|execution) error (?:at|in) \((.+?)(?::(\d+))?(?::\d+)?\): (.*)$`)
	// Messages of text/template and of Helm name the places that lead to a fault, from the outermost to that of the fault:
	// "[template: ]NAME:LINE[:COLUMN]", then "executing "TEMPLATE" at <ACTION>:". Helm has each of these on a line of its own.
	step      = regexp.MustCompile(`(?m)(?:^|template: )([^\s:]+):(\d+)(?::\d+)?(?::[ ]|$)`)
	executing = regexp.MustCompile(`executing "[^"]*" at <(.*?)>:`)
)

// templateFailure says why the templates cannot be rendered, in Helm's words, with the places taken out of them.
func (r *rendering) templateFailure(err error) error {
	text := strings.TrimSpace(err.Error())
	if m := atPlace.FindStringSubmatch(text); m != nil {
		line, _ := strconv.Atoi(m[3])
		kind := "the template fails: "
		if m[1] == "parse" {
			kind = "the template cannot be parsed: "
		}
		return fail(r.sourceOf(m[2]), line, "%s%s", kind, m[4])
	}
	var places [][]int // of those in text that are templates of the chart
	for _, at := range step.FindAllStringSubmatchIndex(text, -1) {
		if r.files[text[at[2]:at[3]]] != nil {
			places = append(places, at)
		}
	}
	if len(places) == 0 {
		return fail(r.where[r.chart], 0, "the chart cannot be rendered: %s", strings.TrimPrefix(text, "rendering template failed: "))
	}
	where := func(at []int) (string, int) {
		line, _ := strconv.Atoi(text[at[4]:at[5]])
		return r.sourceOf(text[at[2]:at[3]]), line
	}
	last := places[len(places)-1]
	why, action := text[last[1]:], ""
	if at := executing.FindStringSubmatchIndex(why); at != nil {
		why, action = why[at[1]:], ", at "+why[at[2]:at[3]]
	}
	file, line := where(last)
	message := fmt.Sprintf("the template fails: %s%s", strings.TrimSpace(why), action)
	if first, at := where(places[0]); first != file || at != line {
		message += fmt.Sprintf(", reached from %s:%d", first, at)
	}
	return fail(file, line, "%s", message)
}

// sourceOf is the path of a template that Helm knows by name, or that name.
func (r *rendering) sourceOf(name string) string {
	if t := r.files[name]; t != nil {
		return t.source
	}
	return name
}

// yamlFailure says that what a template renders is no YAML.
func (r *rendering) yamlFailure(b *brokenYAML, o *origins) error {
	source := r.files[b.template].source
	what := "YAML"
	if badShape.MatchString(b.err.Error()) {
		what = "manifest"
	}
	message := fmt.Sprintf("the template renders what is no %s: %s", what, yamlWords(b.err.Error()))
	at := 0
	if b.line > 0 {
		message += fmt.Sprintf(", on line %d of what it renders", b.line)
		if text := strings.TrimSpace(b.text); text != "" {
			message += fmt.Sprintf(", which is %q", shorten(text, 120))
		}
		if o != nil {
			if from, line := o.line(b.line); line > 0 {
				source, at = from, line
			}
		}
	}
	return fail(source, at, "%s", message)
}

// shorten cuts a text.
func shorten(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}
