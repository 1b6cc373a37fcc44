package policy

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/object"
)

// rulePackage is the parent of all policies' packages; the last part is the rule's name with underscores.
const rulePackage = "meshvet"

// metaOf builds a rule's metadata from the package annotations of a policy. Every key that is missing, unknown or of the wrong
// type is an error that names the file and line.
func metaOf(module *ast.Module, file string) (lint.Meta, error) {
	r := metaReader{file: file}
	pkg := strings.TrimPrefix(module.Package.Path.String(), "data.")
	short, found := strings.CutPrefix(pkg, rulePackage+".")
	if !found || strings.Contains(short, ".") {
		return lint.Meta{}, fmt.Errorf("%s:%d: package %s; a policy's package is %s.<name_with_underscores>", file, module.Package.Location.Row, pkg, rulePackage)
	}
	if base := strings.TrimSuffix(path.Base(file), ".rego"); base != short {
		return lint.Meta{}, fmt.Errorf("%s:%d: package %s belongs in a file %s.rego", file, module.Package.Location.Row, pkg, short)
	}
	var annotations *ast.Annotations
	for _, a := range module.Annotations {
		if a.Scope == "package" {
			annotations = a
		}
	}
	if annotations == nil {
		return lint.Meta{}, fmt.Errorf("%s:%d: no METADATA annotation on the package", file, module.Package.Location.Row)
	}
	r.line = annotations.Location.Row
	m := lint.Meta{Name: strings.ReplaceAll(short, "_", "-"), Title: annotations.Title, Lang: "rego", Source: file}
	summary, why, _ := strings.Cut(strings.TrimSpace(annotations.Description), "\n\n")
	m.Summary, m.Why = oneLine(summary), paragraphs(why)
	for _, ref := range annotations.RelatedResources {
		m.References = append(m.References, ref.Ref.String())
	}
	r.require("title", m.Title)
	r.require("description", m.Summary)
	r.require("description (second paragraph: why)", m.Why)

	c := table{&r, "custom", annotations.Custom, map[string]bool{}}
	m.ID = c.text("id", true)
	m.Category = lint.Category(c.oneOf("category", true, string(lint.CategoryServiceEntry), string(lint.CategoryPool), string(lint.CategoryTLS), string(lint.CategoryAcross), string(lint.CategoryInput)))
	if s, err := lint.ParseSeverity(c.text("severity", true)); err != nil {
		r.fail("custom.severity: %s", err)
	} else {
		m.Severity = s
	}
	if name := c.oneOf("strictSeverity", false, lint.Info.String(), lint.Warning.String(), lint.Error.String()); name != "" {
		m.StrictSeverity, _ = lint.ParseSeverity(name)
	}
	m.Remedy = oneLine(c.text("remedy", true))
	m.Fix = lint.Safety(strings.TrimPrefix(c.oneOf("fix", true, "safe", "unsafe", "show", "none"), "none"))
	m.Security = c.flag("security")
	m.SidecarOnly = c.flag("sidecarOnly")
	m.Unsuppressible = c.flag("unsuppressible")
	m.Since = c.text("since", false)
	m.View = lint.View(c.oneOf("view", false, "", string(lint.ViewFiles)))
	m.Presets = c.list("presets")
	for _, k := range c.list("kinds") {
		m.Kinds = append(m.Kinds, object.Kind(k))
	}
	for _, k := range c.list("needs") {
		m.Needs = append(m.Needs, object.Kind(k))
	}
	if len(m.Kinds) == 0 {
		r.fail("custom.kinds is missing")
	}
	for _, s := range c.tables("supersedes") {
		m.Supersedes = append(m.Supersedes, lint.Supersede{
			Rule:  s.text("rule", true),
			Scope: lint.SupersedeScope(s.oneOf("scope", true, string(lint.ScopePath), string(lint.ScopeBlock), string(lint.ScopePort), string(lint.ScopeObject))),
		})
		s.done()
	}
	for _, o := range c.tables("options") {
		m.Options = append(m.Options, lint.Option{Name: o.text("name", true), Default: o.value("default"), Strict: o.value("strict"), Doc: oneLine(o.text("doc", true))})
		o.done()
	}
	if p, ok := c.table("proof"); ok {
		m.Proof = lint.Proof{Kind: p.oneOf("kind", true, "changes", "ignored", "inert", "rejects", "panics", "envoy", "input"), Text: oneLine(p.text("text", true))}
		p.done()
	} else {
		r.fail("custom.proof is missing")
	}
	if o, ok := c.table("observe"); ok {
		m.Observe = lint.Observe{Stats: o.list("stats"), Flags: o.list("flags"), ConfigDump: oneLine(o.text("configDump", false))}
		o.done()
	}
	m.When = gates(c)
	m.Levels = levelGates(c)
	for _, f := range c.list("facts") {
		m.Facts = append(m.Facts, lint.Fact(f))
	}
	c.done()
	return m, r.err()
}

func gates(c table) []lint.Gate {
	var out []lint.Gate
	for _, g := range c.tables("when") {
		out = append(out, lint.Gate{Kind: object.Kind(g.text("kind", false)), All: conditions(g), Option: g.text("option", false)})
		g.done()
	}
	return out
}

func levelGates(c table) []lint.LevelGate {
	var out []lint.LevelGate
	for _, g := range c.tables("levels") {
		gate := lint.LevelGate{All: conditions(g)}
		if p, ok := g.table("port"); ok {
			gate.Port = lint.PortGate{Family: p.list("family"), Cluster: p.list("cluster"), TLS: p.tri("tls"), External: p.tri("external")}
			p.done()
		}
		g.done()
		out = append(out, gate)
	}
	return out
}

func conditions(t table) []lint.Condition {
	var out []lint.Condition
	for _, cond := range t.tables("all") {
		out = append(out, lint.Condition{
			Path: cond.text("path", true), Values: cond.values("values"), Except: cond.values("except"), Below: cond.number("below"), Absent: cond.flag("absent"),
		})
		cond.done()
	}
	return out
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// paragraphs joins the lines of each paragraph.
func paragraphs(s string) string {
	var out []string
	for p := range strings.SplitSeq(s, "\n\n") {
		if p = oneLine(p); p != "" {
			out = append(out, p)
		}
	}
	return strings.Join(out, "\n\n")
}

// metaReader collects what is wrong with one policy's annotations.
type metaReader struct {
	file   string
	line   int
	faults []string
}

func (r *metaReader) fail(format string, args ...any) {
	r.faults = append(r.faults, fmt.Sprintf("%s:%d: METADATA: ", r.file, r.line)+fmt.Sprintf(format, args...))
}

func (r *metaReader) require(what, value string) {
	if value == "" {
		r.fail("%s is missing", what)
	}
}

func (r *metaReader) err() error {
	if len(r.faults) == 0 {
		return nil
	}
	return fmt.Errorf("%s", strings.Join(r.faults, "\n"))
}

// table reads one mapping of the annotations; done reports the keys that nobody asked for.
type table struct {
	r    *metaReader
	name string
	m    map[string]any
	seen map[string]bool
}

func (t table) take(key string) any {
	t.seen[key] = true
	return t.m[key]
}

func (t table) done() {
	for _, key := range slices.Sorted(maps.Keys(t.m)) {
		if !t.seen[key] {
			t.r.fail("unknown key %s.%s", t.name, key)
		}
	}
}

func (t table) text(key string, required bool) string {
	switch v := t.take(key).(type) {
	case string:
		return v
	case nil:
		if required {
			t.r.fail("%s.%s is missing", t.name, key)
		}
		return ""
	default:
		t.r.fail("%s.%s is %v; a string is wanted", t.name, key, v)
		return ""
	}
}

func (t table) oneOf(key string, required bool, words ...string) string {
	s := t.text(key, required)
	if s != "" && !slices.Contains(words, s) {
		t.r.fail("%s.%s is %q; one of %s is wanted", t.name, key, s, strings.Join(words, ", "))
	}
	return s
}

func (t table) flag(key string) bool {
	switch v := t.take(key).(type) {
	case bool:
		return v
	case nil:
		return false
	default:
		t.r.fail("%s.%s is %v; true or false is wanted", t.name, key, v)
		return false
	}
}

func (t table) number(key string) int64 {
	switch v := scalarValue(t.take(key)).(type) {
	case int64:
		return v
	case nil:
		return 0
	default:
		t.r.fail("%s.%s is %v; a whole number is wanted", t.name, key, v)
		return 0
	}
}

// tri is nil where the key is not set.
func (t table) tri(key string) *bool {
	if t.m[key] == nil {
		return nil
	}
	b := t.flag(key)
	return &b
}

func (t table) list(key string) []string {
	var out []string
	for _, v := range t.values(key) {
		s, ok := v.(string)
		if !ok {
			t.r.fail("%s.%s holds %v; a list of strings is wanted", t.name, key, v)
		}
		out = append(out, s)
	}
	return out
}

func (t table) values(key string) []any {
	switch v := t.take(key).(type) {
	case []any:
		for i := range v {
			v[i] = scalarValue(v[i])
		}
		return v
	case nil:
		return nil
	default:
		t.r.fail("%s.%s is %v; a list is wanted", t.name, key, v)
		return nil
	}
}

func (t table) value(key string) any {
	v := t.take(key)
	if list, ok := v.([]any); ok {
		out := make([]string, 0, len(list))
		for _, item := range list {
			out = append(out, fmt.Sprint(item))
		}
		return out
	}
	return scalarValue(v)
}

func (t table) table(key string) (table, bool) {
	return t.asTable(key, t.take(key))
}

func (t table) asTable(name string, v any) (table, bool) {
	switch m := v.(type) {
	case map[string]any:
		return table{t.r, t.name + "." + name, m, map[string]bool{}}, true
	case nil:
		return table{}, false
	default:
		t.r.fail("%s.%s is %v; a mapping is wanted", t.name, name, v)
		return table{}, false
	}
}

func (t table) tables(key string) []table {
	var out []table
	for i, v := range t.values(key) {
		if m, ok := t.asTable(fmt.Sprintf("%s[%d]", key, i), v); ok {
			out = append(out, m)
		}
	}
	return out
}

// scalarValue brings numbers to the types that options and gates use.
func scalarValue(v any) any {
	switch n := v.(type) {
	case int:
		return int64(n)
	case interface{ Int64() (int64, error) }:
		if i, err := n.Int64(); err == nil {
			return i
		}
		if f, ok := v.(interface{ Float64() (float64, error) }); ok {
			if x, err := f.Float64(); err == nil {
				return x
			}
		}
	case float64:
		if n == float64(int64(n)) {
			return int64(n)
		}
	}
	return v
}
