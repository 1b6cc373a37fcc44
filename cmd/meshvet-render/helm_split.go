package main

import (
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"sigs.k8s.io/yaml"
)

// manifest is a YAML document that a template rendered.
type manifest struct {
	template string // Helm's name of it
	text     string
	first    int // the line of all that the template rendered in which text begins, from 1
	head     manifestHead
}

// manifestHead is what Helm reads of a manifest. What is of another shape is refused, as Helm does.
type manifestHead struct {
	Version  string `json:"apiVersion"`
	Kind     string `json:"kind,omitempty"`
	Metadata *struct {
		Name        string            `json:"name"`
		Annotations map[string]string `json:"annotations"`
	} `json:"metadata,omitempty"`
}

// ofMesh reports whether a manifest is one to which a finding can point.
func (m *manifest) ofMesh() bool {
	group, _, _ := strings.Cut(m.head.Version, "/")
	return group == "istio.io" || strings.HasSuffix(group, ".istio.io") || strings.HasPrefix(group, "gateway.networking.") ||
		m.head.Kind == "Service" || m.head.Kind == "List"
}

// brokenYAML is the first document that is no YAML.
type brokenYAML struct {
	template string
	err      error
	line     int    // of all that the template rendered, from 1; 0 if it is not known
	text     string // that line
}

// documentStart is where Helm takes a document to begin, also within a text that YAML takes for one.
var documentStart = regexp.MustCompile(`(?m)^---[ \t]*`)

// splitAll makes documents of what templates rendered, in the order of their names, as Helm does.
func splitAll(rendered map[string]string) ([]*manifest, *brokenYAML) {
	var all []*manifest
	for _, name := range slices.Sorted(maps.Keys(rendered)) {
		if strings.HasPrefix(path.Base(name), "_") {
			continue
		}
		for _, m := range split(rendered[name]) {
			m.template = name
			if err := yaml.Unmarshal([]byte(m.text), &m.head); err != nil {
				b := &brokenYAML{template: name, err: err}
				if line := yamlLine(err, []byte(m.text)); line > 0 {
					b.line = m.first + line - 1
					if lines := strings.Split(m.text, "\n"); line <= len(lines) {
						b.text = lines[line-1]
					}
				}
				return nil, b
			}
			if m.isObject() && !m.unknownHook() {
				all = append(all, m)
			}
		}
	}
	return all, nil
}

// split makes documents of a text.
func split(text string) []*manifest {
	var all []*manifest
	start := len(text) - len(strings.TrimLeftFunc(text, unicode.IsSpace))
	line, counted := 1, 0
	add := func(from, to int) {
		if strings.TrimSpace(text[from:to]) == "" {
			return
		}
		from += len(text[from:to]) - len(strings.TrimLeftFunc(text[from:to], unicode.IsSpace))
		line += strings.Count(text[counted:from], "\n")
		counted = from
		all = append(all, &manifest{text: text[from:to], first: line})
	}
	from := start
	for _, at := range documentStart.FindAllStringIndex(text[start:], -1) {
		add(from, start+at[0])
		from = start + at[1]
	}
	add(from, len(text))
	return all
}

// isObject reports whether a document holds more than comments.
func (m *manifest) isObject() bool {
	if m.head.Version != "" || m.head.Kind != "" || m.head.Metadata != nil {
		return true
	}
	for line := range strings.Lines(m.text) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			return true
		}
	}
	return false
}

// unknownHook reports whether a manifest is a hook of a kind that Helm does not know. Helm leaves these out, others not.
func (m *manifest) unknownHook() bool {
	if m.head.Metadata == nil {
		return false
	}
	hooks, is := m.head.Metadata.Annotations["helm.sh/hook"]
	if !is {
		return false
	}
	for hook := range strings.SplitSeq(hooks, ",") {
		switch strings.ToLower(strings.TrimSpace(hook)) {
		case "pre-install", "post-install", "pre-delete", "post-delete", "pre-upgrade", "post-upgrade", "pre-rollback", "post-rollback",
			"test", "test-success":
		default:
			return true
		}
	}
	return false
}
