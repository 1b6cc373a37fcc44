package edit

import (
	"context"
	"strings"
	"testing"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/object"
)

func load(t testing.TB, text string) *object.File {
	t.Helper()
	f, err := object.Load(context.Background(), "a.yaml", strings.NewReader(text), object.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

const head = "apiVersion: networking.istio.io/v1\nkind: DestinationRule\nmetadata:\n  name: a\n"

func TestQuick(t *testing.T) {
	text := head + "spec:\n  host: a # host\n  trafficPolicy:   # tp\n    tls: # tls\n      mode: SIMPLE # mode\n      # inner\n\n    # foot\n  subsets:\n  - name: v1 # v1\n    # lab\n    labels: {a: b, c: d}\n  - name: v2\n    labels: {}"
	for _, ops := range [][]lint.Op{
		{{Kind: lint.Replace, Path: object.ParsePath("spec.host"), Value: "on"}},
		{{Kind: lint.Remove, Path: object.ParsePath("spec.trafficPolicy.tls")}},
		{{Kind: lint.Remove, Path: object.ParsePath("spec.trafficPolicy")}},
		{{Kind: lint.Remove, Path: object.ParsePath("spec.subsets[0].name")}},
		{{Kind: lint.Remove, Path: object.ParsePath("spec.subsets[0].labels.a")}},
		{{Kind: lint.Remove, Path: object.ParsePath("spec.subsets[0].labels.c")}},
		{{Kind: lint.Add, Path: object.ParsePath("spec.subsets[0].labels.e"), Value: "f"}},
		{{Kind: lint.Add, Path: object.ParsePath("spec.subsets[1].labels.e"), Value: "f"}},
		{{Kind: lint.Remove, Path: object.ParsePath("spec.subsets[1]")}},
		{{Kind: lint.Remove, Path: object.ParsePath("spec.subsets[0]")}},
		{{Kind: lint.Remove, Path: object.ParsePath("spec.subsets")}},
		{{Kind: lint.Add, Path: object.ParsePath("spec.subsets[2]"), Value: map[string]any{"name": "v3", "labels": map[string]string{"x": "y"}}}},
		{{Kind: lint.Add, Path: object.ParsePath("spec.trafficPolicy.outlierDetection.x"), Value: 5}, {Kind: lint.Add, Path: object.ParsePath("spec.exportTo"), Value: []string{"."}}},
		{{Kind: lint.Replace, Path: object.ParsePath("spec.subsets"), Value: 7}},
		{{Kind: lint.Replace, Path: object.ParsePath("spec.subsets[1].labels"), Value: 7}},
	} {
		f := load(t, text)
		edits, err := Lower(f.Objects[0], ops)
		if err != nil {
			t.Errorf("%v: %s", ops, err)
			continue
		}
		after, err := Apply(text, edits)
		t.Logf("%v %v %v\n%s\n=====", ops, edits, err, after[len(head):])
	}
}
