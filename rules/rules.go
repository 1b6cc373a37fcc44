// Package rules holds the rules that are written in Go, one file each.
//
// A rule registers itself by being a package variable, var _ = register(lint.Rule{…}), so that a new rule is a
// new file and a new folder in testdata and nothing else. A rule reports only on the object it is given, by field path; it may
// look at the whole mesh. It imports no policy engine and no command line.
package rules

import (
	"slices"
	"strings"

	"github.com/meshvet/meshvet/lint"
)

// registered is filled while the package's variables are initialised; Go initialises it before the variables that use it.
var registered []lint.Rule

func register(r lint.Rule) lint.Rule { //nolint:unparam // a variable needs something to be initialised with
	r.Lang = "go"
	r.Source = "rules/" + strings.ReplaceAll(r.Name, "-", "_") + ".go"
	registered = append(registered, r)
	return r
}

// All returns the rules, by ID.
func All() []lint.Rule {
	out := slices.Clone(registered)
	slices.SortFunc(out, func(a, b lint.Rule) int { return strings.Compare(a.ID, b.ID) })
	return out
}
