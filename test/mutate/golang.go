package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/rules"
)

// change is one condition, or one severity, of a rule in Go. All of them are compiled into one program, in which a number says which
// one is changed.
type change struct {
	id         int
	from, to   int // offsets of the expression
	line       int
	what       string
	isSeverity bool
}

// conditionsOf finds the expressions of a file that are true or false, and the severities that it gives to findings. Conditions of loops
// are left alone, since the loop might not end.
func conditionsOf(fset *token.FileSet, file *ast.File, text []byte, next *int) []change {
	var out []change
	seen := map[ast.Expr]bool{}
	add := func(e ast.Expr, severity bool) {
		if seen[e] {
			return
		}
		seen[e] = true
		from, to := fset.Position(e.Pos()).Offset, fset.Position(e.End()).Offset
		what := "the contrary of " + string(bytes.Join(bytes.Fields(text[from:to]), []byte(" ")))
		if severity {
			what = "another severity than " + string(text[from:to])
		}
		*next++
		out = append(out, change{*next, from, to, fset.Position(e.Pos()).Line, what, severity})
	}
	var condition func(e ast.Expr)
	condition = func(e ast.Expr) {
		switch e := e.(type) {
		case *ast.ParenExpr:
			condition(e.X)
		case *ast.UnaryExpr:
			condition(e.X)
		case *ast.BinaryExpr:
			if e.Op == token.LAND || e.Op == token.LOR {
				condition(e.X)
				condition(e.Y)
				return
			}
			add(e, false)
		default:
			add(e, false)
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ForStmt:
			ast.Inspect(n, func(inner ast.Node) bool {
				if e, ok := inner.(ast.Expr); ok && n.Cond != nil && n.Cond.Pos() <= e.Pos() && e.End() <= n.Cond.End() {
					seen[e] = true
				}
				return true
			})
		case *ast.IfStmt:
			condition(n.Cond)
		case *ast.SwitchStmt:
			for _, s := range n.Body.List {
				if c, ok := s.(*ast.CaseClause); ok && n.Tag == nil {
					for _, e := range c.List {
						condition(e)
					}
				}
			}
		case *ast.BinaryExpr:
			if n.Op == token.LAND || n.Op == token.LOR {
				condition(n)
			}
		case *ast.ReturnStmt:
			for _, e := range n.Results {
				if b, ok := e.(*ast.BinaryExpr); ok && isComparison(b.Op) {
					condition(b)
				}
			}
		case *ast.CallExpr:
			if fun, ok := n.Fun.(*ast.SelectorExpr); ok && fun.Sel.Name == "As" && len(n.Args) == 1 {
				if x, ok := fun.X.(*ast.Ident); ok && x.Name == "lint" {
					add(n.Args[0], true)
				}
			}
		}
		return true
	})
	return out
}

func isComparison(op token.Token) bool {
	return slices.Contains([]token.Token{token.EQL, token.NEQ, token.LSS, token.LEQ, token.GTR, token.GEQ}, op)
}

// rewritten wraps each expression in a call that changes it if its number is the chosen one.
func rewritten(text []byte, changes []change) ([]byte, error) {
	type insertion struct {
		at, order int
		text      string
	}
	var list []insertion
	for _, c := range changes {
		name := "mutateCondition"
		if c.isSeverity {
			name = "mutateSeverity"
		}
		// Of two that begin at one place the longer opens first, of two that end at one the shorter closes first.
		list = append(list, insertion{c.from, c.from - c.to, fmt.Sprintf("%s(%d, ", name, c.id)}, insertion{c.to, c.to - c.from - len(text), ")"})
	}
	slices.SortStableFunc(list, func(a, b insertion) int {
		if a.at != b.at {
			return a.at - b.at
		}
		return a.order - b.order
	})
	var out bytes.Buffer
	from := 0
	for _, in := range list {
		out.Write(text[from:in.at])
		out.WriteString(in.text)
		from = in.at
	}
	out.Write(text[from:])
	return format.Source(out.Bytes())
}

// mutantSwitch is added to the package of the rules.
const mutantSwitch = `package rules

import "github.com/meshvet/meshvet/lint"

var activeMutant int

func mutateCondition[B ~bool](id int, holds B) B { return holds != B(id == activeMutant) }

func mutateSeverity(id int, s lint.Severity) lint.Severity {
	switch {
	case id != activeMutant:
		return s
	case s == lint.Info:
		return lint.Warning
	}
	return lint.Info
}
`

// mutantTest tries the mutants and writes a line for each.
const mutantTest = `package rules

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/linttest"
	"github.com/meshvet/meshvet/lint/policy"
	"github.com/meshvet/meshvet/policies"
)

func TestMutants(t *testing.T) {
	inRego, err := policy.Load(context.Background(), policies.FS)
	if err != nil {
		t.Fatal(err)
	}
	all := append(All(), inRego...)
	out, err := os.Create(os.Getenv("MUTANTS_OUT"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	for i := range all {
		r := &all[i]
		ids := mutantsOf[r.ID]
		if len(ids) == 0 {
			continue
		}
		cases, err := linttest.Cases("testdata", r.Name)
		if err != nil {
			t.Fatal(err)
		}
		above := linttest.Superseding(&r.Meta, all)
		for _, id := range append([]int{0}, ids...) {
			activeMutant = id
			done := make(chan string, 1)
			go func() { done <- linttest.FirstFault(r, above, cases) }()
			fault := "it does not end"
			select {
			case fault = <-done:
			case <-time.After(time.Minute):
			}
			activeMutant = 0
			if id == 0 && fault != "" {
				t.Fatalf("%s fails its fixtures as it is: %s", r.ID, fault)
			}
			fmt.Fprintln(out, id, fault != "")
		}
	}
}

var _ lint.Rule
`

// judgeGo tries every mutant of the rules in Go.
func judgeGo(ctx context.Context, chosen func(*lint.Meta) bool) ([]verdict, error) {
	dir, err := os.MkdirTemp("", "mutate")
	if err != nil {
		return nil, fmt.Errorf("make a folder: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }() // it is of no use to anybody
	overlay := map[string]string{}
	add := func(name string, text []byte) error {
		to := filepath.Join(dir, filepath.Base(name))
		if err := os.WriteFile(to, text, 0o600); err != nil {
			return fmt.Errorf("write mutants: %w", err)
		}
		abs, err := filepath.Abs(name)
		overlay[abs] = to
		return err
	}
	byID := map[int]string{}
	ids := map[string][]int{}
	n := 0
	for _, r := range rules.All() {
		if !chosen(&r.Meta) {
			continue
		}
		text, err := os.ReadFile(r.Source)
		if err != nil {
			return nil, fmt.Errorf("read rule: %w", err)
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, r.Source, text, 0)
		if err != nil {
			return nil, fmt.Errorf("parse rule: %w", err)
		}
		changes := conditionsOf(fset, file, text, &n)
		for _, c := range changes {
			byID[c.id] = fmt.Sprintf("%s:%d: %s", r.Source, c.line, c.what)
			ids[r.ID] = append(ids[r.ID], c.id)
		}
		mutated, err := rewritten(text, changes)
		if err != nil {
			return nil, fmt.Errorf("mutate %s: %w", r.Source, err)
		}
		if err := add(r.Source, mutated); err != nil {
			return nil, err
		}
	}
	if n == 0 {
		return nil, nil
	}
	table := fmt.Sprintf("\nvar mutantsOf = %#v\n", ids)
	if err := errors.Join(add("rules/mutants.go", []byte(mutantSwitch)), add("rules/mutants_test.go", []byte(mutantTest+table))); err != nil {
		return nil, err
	}
	noticed, err := tryMutants(ctx, dir, overlay)
	if err != nil {
		return nil, err
	}
	var out []verdict
	for rule, list := range ids {
		v := verdict{rule: rule}
		for _, id := range list {
			if yes, tried := noticed[id]; !tried {
				return nil, fmt.Errorf("%s was not tried", byID[id])
			} else if yes {
				v.killed++
			} else {
				v.survivors = append(v.survivors, byID[id])
			}
		}
		out = append(out, v)
	}
	return out, nil
}

// tryMutants compiles the mutants and runs them; what comes back is which ones a fixture notices.
func tryMutants(ctx context.Context, dir string, overlay map[string]string) (map[int]bool, error) {
	js, err := json.Marshal(map[string]any{"Replace": overlay})
	if err != nil {
		return nil, fmt.Errorf("write overlay: %w", err)
	}
	file, results := filepath.Join(dir, "overlay.json"), filepath.Join(dir, "results")
	if err := os.WriteFile(file, js, 0o600); err != nil {
		return nil, fmt.Errorf("write overlay: %w", err)
	}
	cmd := exec.CommandContext(ctx, "go", "test", "-overlay", file, "-count=1", "-vet=off", "-timeout", "20m", "-run", "^TestMutants$", "./rules") //nolint:gosec // the file is the program's own
	cmd.Env = append(os.Environ(), "MUTANTS_OUT="+results)
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("run mutants: %w\n%s", err, out)
	}
	f, err := os.Open(results)
	if err != nil {
		return nil, fmt.Errorf("read results: %w", err)
	}
	defer func() { _ = f.Close() }() // only read from
	noticed := map[int]bool{}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		number, yes, _ := strings.Cut(lines.Text(), " ")
		id, err := strconv.Atoi(number)
		if err != nil {
			return nil, fmt.Errorf("read results: %w", err)
		}
		noticed[id] = yes == "true"
	}
	return noticed, nil
}
