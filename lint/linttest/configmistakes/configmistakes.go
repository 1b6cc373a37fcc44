// Package configmistakes holds mistakes in configurations, for the tests of whatever reads them.
package configmistakes

import "strings"

// Mistake is a configuration that is wrong in one place.
type Mistake struct {
	Name, Text string
	At         string // the place of the first problem, or its beginning: ":LINE:COLUMN"
	Want       string // is part of what is said
	// Beyond says that a schema does not see it: it is no fault of the form, or none of what a schema is given.
	Beyond bool
}

// All returns the mistakes that a reader finds without knowing the rules.
func All() []Mistake {
	return []Mistake{
		{Name: "unknown key", Text: "version: 1\nexlude: []\n", At: ":2:1", Want: `unknown key "exlude" in the configuration; did you mean "exclude"?`},
		{Name: "unknown key below", Text: "istio:\n  meshconfig: {}\n", At: ":2:3", Want: `did you mean "meshConfig"?`},
		{Name: "far from any key", Text: "istio:\n  qqqqqqqqqqqq: 1\n", At: ":2:3", Want: "known are"},
		{Name: "version", Text: "version: 2\n", At: ":1:10", Want: "version 2 is not supported"},
		{Name: "quoted version", Text: "version: '1'\n", At: ":1:10", Want: "without quotes"},
		{Name: "scopes of one name", Text: "scopes:\n- {name: x, paths: [a]}\n- {name: z, paths: [b]}\n- {name: x, paths: [c]}\n", At: ":4:10", Want: `scope "x" is defined twice, first as scopes[0]`, Beyond: true},
		{Name: "preset", Text: "extends: [recomended]\n", At: ":1:11", Want: `"recomended" is no preset; did you mean "recommended"?`},
		{Name: "preset as text", Text: "extends: strict\n", At: ":1:10", Want: "extends is a string; a list is wanted"},
		{Name: "severity", Text: "rules:\n  SE101: fatal\n", At: ":2:10", Want: `severity "fatal" is not one of off, info, warning, error`},
		{Name: "pattern", Text: "exclude: ['[']\n", At: ":1:11", Want: "not a valid pattern", Beyond: true},
		{Name: "pattern of braces", Text: "exclude: ['" + strings.Repeat("{a,}", 9) + "']\n", At: ":1:11", Want: "stands for more than 256 patterns", Beyond: true},
		{Name: "pattern of one brace", Text: "scopes:\n- {name: x, paths: ['{" + strings.Repeat("a,", 256) + "b}']}\n", At: ":2:21", Want: "stands for more than 256 patterns", Beyond: true},
		{Name: "pattern of nested braces", Text: "context: ['{" + strings.Repeat("{a,b},", 127) + "c,d,[{],\\,}" + "{e,f}']\n", At: ":1:11", Want: "stands for more than 256 patterns", Beyond: true},
		{Name: "empty pattern", Text: "exclude: [a, '']\n", At: ":1:14", Want: "matches no file"},
		{Name: "negated pattern", Text: "exclude: ['!a']\n", At: ":1:11", Want: "cannot be negated"},
		{Name: "absolute pattern", Text: "exclude: [/a]\n", At: ":1:11", Want: "relative to the configuration's folder"},
		{Name: "absolute context", Text: "context: {paths: [/etc/hosts]}\n", At: ":1:19", Want: "relative to the configuration's folder"},
		{Name: "outside", Text: "exclude: [../**]\n", At: ":1:11", Want: "matches no file: only what is below", Beyond: true},
		{Name: "outside by a detour", Text: "scopes:\n- {name: x, paths: [a/../..]}\n", At: ":2:21", Want: "matches no file: only what is below", Beyond: true},
		{Name: "list wanted", Text: "exclude: x\n", At: ":1:10", Want: "a list is wanted"},
		{Name: "kind", Text: "context:\n  complete: [Servise]\n", At: ":2:14", Want: `did you mean "Service"?`},
		{Name: "version as number", Text: "istio:\n  version: 1.30\n", At: ":2:12", Want: "quote the version", Beyond: true},
		{Name: "version as another number", Text: "istio:\n  version: 1.20\n", At: ":2:12", Want: "YAML reads 1.20 as the number 1.2", Beyond: true},
		{Name: "no version", Text: "istio:\n  version: '0.5'\n", At: ":2:12", Want: "0.5\" is not a version of Istio", Beyond: true},
		{Name: "no version of ours", Text: "istio:\n  version: '1.70000'\n", At: ":2:12", Want: "1.70000\" is not a version of Istio", Beyond: true},
		{Name: "options as a list", Text: "rules:\n  DR202:\n    options: [1]\n", At: ":3:5", Want: "a list; a mapping is wanted"},
		{Name: "dataplane", Text: "istio:\n  dataplane: ambiant\n", At: ":2:14", Want: "is not one of sidecar, ambient, mixed"},
		{Name: "boolean", Text: "istio:\n  dnsCapture: maybe\n", At: ":2:15", Want: "true or false is wanted"},
		{Name: "scope", Text: "scopes:\n- name: x\n", At: ":2:3", Want: "a scope takes a name and paths"},
		{Name: "syntax", Text: "rules: [\n", At: ":", Want: "cannot be read", Beyond: true},
		{Name: "two documents", Text: "version: 1\n---\nversion: 1\n", At: ":2:1", Want: "more than one YAML document", Beyond: true},
		{Name: "duplicate key", Text: "version: 1\nversion: 1\n", At: ":2:1", Want: "already set", Beyond: true},
		{Name: "not a mapping", Text: "- x\n", At: ":1:1", Want: "a mapping is wanted"},
		{Name: "article", Text: "istio: 5\n", At: ":1:8", Want: "istio is an integer; a mapping is wanted"},
	}
}
