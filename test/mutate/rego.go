package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing/fstest"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/linttest"
	"github.com/meshvet/meshvet/lint/policy"
)

// mutant is a rule with one thing changed.
type mutant struct {
	line int    // in the rule's file, from 1
	what string // what was changed
	text string // the whole file, for policies
}

// opposite operators; each is written with a space on either side, as `opa fmt` does.
var opposite = []struct{ from, to string }{
	{" == ", " != "}, {" != ", " == "}, {" < ", " >= "}, {" >= ", " < "}, {" > ", " <= "}, {" <= ", " > "},
}

var (
	quoted     = regexp.MustCompile("\"(?:[^\"\\\\]|\\\\.)*\"|`[^`]*`")
	wholeSet   = regexp.MustCompile(`\bin \{("[^}]*")\}`)
	numeral    = regexp.MustCompile(`(^|[ (\[,{])(\d+)($|[ )\],}])`)
	severities = regexp.MustCompile(`"(error|warning|info)"`)
)

// policyMutants changes one operator, condition, member of a set, number or severity of a policy at a time. The text is as `opa fmt`
// leaves it, so that each expression has a line of its own.
func policyMutants(text string) []mutant {
	lines := strings.Split(text, "\n")
	var out []mutant
	change := func(i int, what, line string) {
		changed := append([]string{}, lines...)
		changed[i] = line
		out = append(out, mutant{i + 1, what, strings.Join(changed, "\n")})
	}
	code := false // below the package's annotation and the imports
	for i, line := range lines {
		trimmed := strings.TrimSpace(line)
		if strings.HasPrefix(trimmed, "import ") {
			code = true
			continue
		}
		if !code || trimmed == "" || strings.HasPrefix(trimmed, "#") {
			continue
		}
		bare := quoted.ReplaceAllStringFunc(line, func(s string) string { return strings.Repeat("~", len(s)) })
		for _, op := range opposite {
			for at := range indexes(bare, op.from) {
				change(i, fmt.Sprintf("%s becomes %s", strings.TrimSpace(op.from), strings.TrimSpace(op.to)), line[:at]+op.to+line[at+len(op.from):])
			}
		}
		indent := line[:len(line)-len(strings.TrimLeft(line, "\t"))]
		if rest, negated := strings.CutPrefix(trimmed, "not "); negated {
			change(i, "not is dropped", indent+rest)
		}
		if isCondition(trimmed) {
			change(i, "the condition is dropped", indent+"true")
		}
		if at := strings.Index(bare, " if "); at > 0 && !strings.HasSuffix(trimmed, "{") {
			change(i, "the condition is dropped", line[:at]+" if true")
		}
		for _, m := range wholeSet.FindAllStringSubmatchIndex(line, -1) {
			members := quoted.FindAllString(line[m[2]:m[3]], -1)
			for k := range members {
				kept := append(append([]string{}, members[:k]...), members[k+1:]...)
				if len(kept) > 0 {
					change(i, members[k]+" is dropped", line[:m[2]]+strings.Join(kept, ", ")+line[m[3]:])
				}
			}
		}
		for _, m := range numeral.FindAllStringSubmatchIndex(bare, -1) {
			n, err := strconv.Atoi(line[m[4]:m[5]])
			if err == nil && !strings.Contains(line[:m[4]], "sprintf") {
				change(i, fmt.Sprintf("%d becomes %d", n, n+1), line[:m[4]]+strconv.Itoa(n+1)+line[m[5]:])
			}
		}
		for _, m := range severities.FindAllStringSubmatchIndex(line, -1) {
			other := map[string]string{"error": "info", "warning": "info", "info": "warning"}[line[m[2]:m[3]]]
			change(i, fmt.Sprintf("%s becomes %s", line[m[2]:m[3]], other), line[:m[2]]+other+line[m[3]:])
		}
	}
	return out
}

// isCondition guesses whether a line is an expression in the body of a rule that can be left out without a name going undefined. What it
// gets wrong does not compile, and is no mutant.
func isCondition(line string) bool {
	for _, prefix := range []string{"some ", "every ", "}", "{", "]", "[", ")", "\""} {
		if strings.HasPrefix(line, prefix) {
			return false
		}
	}
	return !strings.Contains(line, ":=") && !strings.HasSuffix(line, "{") && !strings.HasSuffix(line, ",") && !strings.HasSuffix(line, "(") && !strings.HasSuffix(line, "[") &&
		!strings.Contains(line, " if ")
}

// indexes yields the places of a word in a text.
func indexes(text, word string) func(func(int) bool) {
	return func(yield func(int) bool) {
		for from := 0; ; {
			at := strings.Index(text[from:], word)
			if at < 0 || !yield(from+at) {
				return
			}
			from += at + 1
		}
	}
}

// policyMutator tries mutants of policies on their fixtures.
type policyMutator struct {
	files fs.FS
	lib   fstest.MapFS
	dir   string // of the fixtures
}

func newPolicyMutator(files fs.FS, dir string) (*policyMutator, error) {
	m := &policyMutator{files: files, lib: fstest.MapFS{}, dir: dir}
	names, err := fs.Glob(files, "lib/*.rego")
	if err != nil {
		return nil, fmt.Errorf("read policies: %w", err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.rego") {
			continue
		}
		data, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, fmt.Errorf("read policies: %w", err)
		}
		m.lib[name] = &fstest.MapFile{Data: data}
	}
	return m, nil
}

// rule loads one policy from a text.
func (m *policyMutator) rule(ctx context.Context, file, text string) (*lint.Rule, error) {
	fsys := fstest.MapFS{file: &fstest.MapFile{Data: []byte(text)}}
	for name, lib := range m.lib {
		fsys[name] = lib
	}
	rules, err := policy.Load(ctx, fsys)
	if err != nil {
		return nil, err
	}
	return &rules[0], nil
}

// testFails runs the Rego tests beside a policy, if there are some, with another text of the policy.
func (m *policyMutator) testFails(ctx context.Context, file, text string) (bool, error) {
	beside := strings.TrimSuffix(file, ".rego") + "_test.rego"
	tests, err := fs.ReadFile(m.files, beside)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read tests: %w", err)
	}
	fsys := fstest.MapFS{file: &fstest.MapFile{Data: []byte(text)}, beside: &fstest.MapFile{Data: tests}}
	for name, lib := range m.lib {
		fsys[name] = lib
	}
	results, err := policy.RunUnitTests(ctx, fsys)
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(results, func(t policy.UnitTest) bool { return t.Err != nil }), nil
}

// judge tries every mutant of a policy. all are the rules there are, unchanged.
func (m *policyMutator) judge(ctx context.Context, r *lint.Meta, all []lint.Rule) (verdict, error) {
	v := verdict{rule: r.ID}
	file := strings.ReplaceAll(r.Name, "-", "_") + ".rego"
	text, err := fs.ReadFile(m.files, file)
	if err != nil {
		return v, fmt.Errorf("read policy: %w", err)
	}
	cases, err := linttest.Cases(m.dir, r.Name)
	if err != nil {
		return v, err
	}
	sound, err := m.rule(ctx, file, string(text))
	if err != nil {
		return v, err
	}
	above := linttest.Superseding(r, all)
	if fault := linttest.FirstFault(sound, above, cases); fault != "" {
		return v, fmt.Errorf("%s fails its fixtures as it is: %s", r.ID, fault)
	}
	for _, x := range policyMutants(string(text)) {
		changed, err := m.rule(ctx, file, x.text)
		if err != nil {
			continue // it does not parse
		}
		fault := linttest.FirstFault(changed, above, cases)
		if strings.Contains(fault, "compile policies") {
			continue // nor is it a policy
		}
		noticed := fault != ""
		if !noticed {
			if noticed, err = m.testFails(ctx, file, x.text); err != nil {
				return v, err
			}
		}
		switch {
		case noticed:
			v.killed++
		default:
			v.survivors = append(v.survivors, fmt.Sprintf("%s:%d: %s", r.Source, x.line, x.what))
		}
	}
	return v, nil
}
