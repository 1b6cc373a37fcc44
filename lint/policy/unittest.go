package policy

import (
	"context"
	"fmt"
	"io/fs"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/rego"
	"github.com/open-policy-agent/opa/v1/tester"
)

// UnitTest is the outcome of one test_ rule of a *_test.rego file.
type UnitTest struct {
	Name  string // package and rule
	Place string // file:line
	Err   error  // nil if it passed
}

// RunUnitTests runs the test_ rules of the *_test.rego files of a file system. The mesh.* built-ins have no mesh there; a test
// replaces those that it needs, as in `with mesh.entry as {…}`.
func RunUnitTests(ctx context.Context, fsys fs.FS) ([]UnitTest, error) {
	s, err := load(fsys, true)
	if err != nil {
		return nil, err
	}
	caps := capabilities()
	var custom []*tester.Builtin
	for _, b := range builtins {
		custom = append(custom, &tester.Builtin{
			Decl: &ast.Builtin{Name: b.name, Decl: b.decl},
			Func: rego.FunctionDyn(&rego.Function{Name: b.name, Decl: b.decl}, b.call),
		})
	}
	runner := tester.NewRunner().
		SetCompiler(ast.NewCompiler().WithStrict(true).WithCapabilities(caps).WithDefaultRegoVersion(ast.RegoV1)).
		AddCustomBuiltins(custom).
		SetModules(s.modules).
		SetTimeout(Deadline).
		RaiseBuiltinErrors(true)
	results, err := runner.RunTests(ctx, nil)
	if err != nil {
		return nil, fmt.Errorf("run Rego tests: %w", err)
	}
	var out []UnitTest
	for r := range results {
		t := UnitTest{Name: r.Package + "." + r.Name, Place: r.Location.String()}
		switch {
		case r.Error != nil:
			t.Err = r.Error
		case !r.Pass():
			t.Err = fmt.Errorf("failed at %v", r.FailedAt)
		}
		out = append(out, t)
	}
	return out, nil
}
