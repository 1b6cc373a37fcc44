package lint_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/object"
)

func TestSetOps(t *testing.T) {
	o := load(t, "a.yaml", rule).Objects[0]
	policy := object.Path{"spec", "trafficPolicy"}
	for _, c := range []struct {
		name     string
		settings []lint.Setting
		want     []lint.Op
	}{
		{"replace what is there",
			[]lint.Setting{{Path: policy.Child("connectionPool", "tcp", "maxConnections"), Value: int64(5)}},
			[]lint.Op{{Kind: lint.Replace, Path: policy.Child("connectionPool", "tcp", "maxConnections"), Value: int64(5)}}},
		{"add beside it",
			[]lint.Setting{{Path: policy.Child("connectionPool", "tcp", "connectTimeout"), Value: "1s"}},
			[]lint.Op{{Kind: lint.Add, Path: policy.Child("connectionPool", "tcp", "connectTimeout"), Value: "1s"}}},
		{"missing mappings are created once, with all that goes into them",
			[]lint.Setting{{Path: policy.Child("tls", "mode"), Value: "SIMPLE"}, {Path: policy.Child("tls", "sni"), Value: "a"}, {Path: policy.Child("connectionPool", "http", "maxRetries"), Value: int64(3)}},
			[]lint.Op{
				{Kind: lint.Add, Path: policy.Child("tls"), Value: map[string]any{"mode": "SIMPLE", "sni": "a"}},
				{Kind: lint.Add, Path: policy.Child("connectionPool", "http"), Value: map[string]any{"maxRetries": int64(3)}},
			}},
		{"several levels at once",
			[]lint.Setting{{Path: object.Path{"metadata", "annotations", "a", "b"}, Value: "c"}},
			[]lint.Op{{Kind: lint.Add, Path: object.Path{"metadata", "annotations"}, Value: map[string]any{"a": map[string]any{"b": "c"}}}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, lint.SetOps(o, c.settings)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
