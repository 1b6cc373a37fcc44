package object

import (
	"regexp"
	"strings"
)

// templateSyntax recognises what text/template, Helm, Terraform, Jinja, ERB and FreeMarker leave in a file that has yet to be
// rendered, and whole-value placeholders such as %NAME% and @@NAME@@.
var templateSyntax = regexp.MustCompile(`\{\{|\{%|%\{|<%[=\-]?|</?#(?:if|list|else|assign|macro)|(?m:(?:^|[\s"'])(?:%[A-Za-z_]\w*%|@@\w+@@)(?:$|[\s"']))`)

// placeholder is what a shell, envsubst, Flux and Terraform replace: ${NAME}, with what may follow the name. A $ or ${} of another
// form is text.
var placeholder = regexp.MustCompile(`\$\{ *[A-Za-z_]\w*[^{}\r\n]*\}`)

// HasPlaceholder says whether text holds a variable of the form ${NAME}, to be replaced before the manifest is applied. Where any
// text can stand, such a value is as good as any other, and equal ones stay equal; elsewhere it is not the value that will count.
func HasPlaceholder(text string) bool {
	return strings.Contains(text, "${") && placeholder.MatchString(text)
}

// placeholderOnLine returns the first placeholder on the line of text that holds a byte, and where it stands, or "".
func placeholderOnLine(text string, at int) (marker string, off int) {
	at = min(max(at, 0), len(text))
	start := strings.LastIndexByte(text[:at], '\n') + 1
	line, _, _ := strings.Cut(text[start:], "\n")
	loc := placeholder.FindStringIndex(line)
	if loc == nil || strings.HasPrefix(strings.TrimLeft(line, " \t"), "#") {
		return "", 0
	}
	return line[loc[0]:loc[1]], start + loc[0]
}

// renderAdvice says how a template becomes something that can be linted.
func renderAdvice(marker string) string {
	switch {
	case strings.HasPrefix(marker, "{{"):
		return "render it first (meshvet lint --helm does that for a chart; else the tool that fills it in) and lint the output"
	case strings.HasPrefix(marker, "${"):
		return "fill it in first (envsubst, or the tool that replaces it) and lint the output"
	case strings.HasPrefix(marker, "%{"):
		return "lint the output of terraform's templatefile"
	}
	return "render it first and lint the output"
}

// findTemplate returns the first template marker of text and where it stands, or "". Comments do not count: what stands there
// cannot be why a document does not parse.
func findTemplate(text string) (marker string, at int) {
	for off := 0; off < len(text); {
		loc := templateSyntax.FindStringIndex(text[off:])
		if loc == nil {
			return "", 0
		}
		at, end := off+loc[0], off+loc[1]
		if strings.IndexByte("\r\n\t \"'", text[at]) >= 0 {
			at++
		}
		line := text[strings.LastIndexByte(text[:at], '\n')+1 : at]
		if !strings.HasPrefix(strings.TrimLeft(line, " \t"), "#") {
			return strings.TrimRight(text[at:end], " \t\r\n\"'"), at
		}
		nl := strings.IndexByte(text[at:], '\n')
		if nl < 0 {
			return "", 0
		}
		off = at + nl + 1
	}
	return "", 0
}

// templated returns the first value that decides what an object is, or what it does, and still holds template syntax; absent
// if there is none. Labels, annotations and status do not count: there such text may be meant for a later reader.
func templated(o *Object) Value {
	meta := o.root.Get("metadata")
	for _, v := range [...]Value{meta.Get("name"), meta.Get("generateName"), meta.Get("namespace")} {
		if found := findMarker(v, false); found.Exists() {
			return found
		}
		if o.Kind.Judged() && HasPlaceholder(v.Str()) {
			return v
		}
	}
	switch o.Kind {
	case ConfigMap:
		return findMarker(o.root.At("data", "mesh"), false)
	case EnvoyFilter:
		return findMarker(o.root.At("spec", "workloadSelector"), false) // Lua may hold anything
	}
	return findMarker(o.Spec(), o.Kind.Judged())
}

// findMarker returns the first value below v, or v itself, that holds template syntax in its text or its key.
func findMarker(v Value, judged bool) Value {
	switch v.Type() {
	case String:
		if hasTemplateMarker(v.Str(), judged) {
			return v
		}
	case List:
		for _, item := range v.Items() {
			if found := findMarker(item, judged); found.Exists() {
				return found
			}
		}
	case Map:
		for k, f := range v.Fields() {
			if hasTemplateMarker(k, judged) {
				return f
			}
			if found := findMarker(f, judged); found.Exists() {
				return found
			}
		}
	}
	return Value{}
}

// hasTemplateMarker is narrower than templateSyntax: a value parses, so only what no field can hold counts. %NAME% and @@NAME@@
// count in the judged kinds only; elsewhere Envoy has a meaning for the first.
func hasTemplateMarker(s string, judged bool) bool {
	if !strings.ContainsAny(s, "{%@") {
		return false
	}
	return strings.Contains(s, "{{") || strings.Contains(s, "%{") || strings.Contains(s, "{%") ||
		judged && (len(s) > 2 && s[0] == '%' && s[len(s)-1] == '%' || strings.HasPrefix(s, "@@"))
}
