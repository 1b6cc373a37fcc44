package policy

import (
	"encoding/json"
	"fmt"

	"github.com/open-policy-agent/opa/v1/ast"
)

// allowed are the built-ins of OPA that policies may call: pure functions of their arguments, bounded in what they produce.
// What is not here cannot be compiled: the network, the clock, randomness, cryptography, the environment, other policies, and
// numbers.range and the like, whose results are not bounded by their arguments' size.
var allowed = []string{
	"eq", "equal", "neq", "lt", "lte", "gt", "gte", "plus", "minus", "mul", "div", "rem", "assign", "internal.member_2", "internal.member_3",
	"internal.print", "internal.template_string", "and", "or",
	"abs", "ceil", "floor", "round", "count", "sum", "product", "max", "min", "sort", "all", "any",
	"array.concat", "array.reverse", "array.slice", "array.flatten", "intersection", "union",
	"object.get", "object.keys", "object.remove", "object.filter", "object.subset", "object.union", "object.union_n",
	"concat", "contains", "endswith", "startswith", "format_int", "indexof", "indexof_n", "lower", "upper", "replace", "split", "sprintf",
	"strings.any_prefix_match", "strings.any_suffix_match", "strings.count", "strings.replace_n", "strings.reverse",
	"substring", "trim", "trim_left", "trim_right", "trim_prefix", "trim_suffix", "trim_space",
	"regex.match", "regex.is_valid", "regex.find_n", "regex.replace", "regex.split", "glob.match", "glob.quote_meta",
	"is_array", "is_boolean", "is_null", "is_number", "is_object", "is_set", "is_string", "type_name", "to_number", "cast_array",
	"json.marshal", "json.is_valid", "json.filter", "json.remove", "walk", "semver.compare", "semver.is_valid", "units.parse", "units.parse_bytes",
	"time.parse_duration_ns",
	"net.cidr_contains", "net.cidr_intersects", "net.cidr_is_valid",
}

// capabilities are those of the running OPA cut down to the allow-list, with the mesh.* built-ins added.
func capabilities() *ast.Capabilities {
	full := ast.CapabilitiesForThisVersion()
	byName := map[string]*ast.Builtin{}
	for _, b := range full.Builtins {
		byName[b.Name] = b
	}
	caps := &ast.Capabilities{Features: full.Features, FutureKeywords: full.FutureKeywords, AllowNet: []string{}}
	for _, name := range allowed {
		if b, ok := byName[name]; ok {
			caps.Builtins = append(caps.Builtins, b)
		}
	}
	for _, b := range builtins {
		caps.Builtins = append(caps.Builtins, &ast.Builtin{Name: b.name, Description: b.doc, Decl: b.decl})
	}
	return caps
}

// CapabilitiesJSON is the file that `opa check --capabilities` and editors take, so that they know the mesh.* built-ins and
// refuse the same others.
func CapabilitiesJSON() ([]byte, error) {
	js, err := json.MarshalIndent(capabilities(), "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode capabilities: %w", err)
	}
	return append(js, '\n'), nil
}
