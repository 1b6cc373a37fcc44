package verify_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/meshvet/meshvet/lint/dump"
	"github.com/meshvet/meshvet/lint/verify"
)

// Whatever a dump holds, it is compared or refused.
func FuzzVerify(f *testing.F) {
	w := worlds[1]
	c := w.load(f)
	for _, list := range [][]map[string]any{c.Clusters[:5], c.Listeners[:2], c.Routes} {
		text, err := json.Marshal(list)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte(`{"configs":[{"dynamic_active_clusters":[{"cluster":{"name":"outbound|80||full.example.com","metadata":{"filter_metadata":{"istio":{"config":"/apis/a/b/namespaces/x/destination-rule/y"}}}}}]}]}`))
	f.Add([]byte(`[{"name":"outbound|80||full.example.com","connect_timeout":[],"lb_policy":{"a":null},"circuit_breakers":7}]`))
	f.Add([]byte(`[{"virtual_hosts":[{"routes":[{"metadata":[],"route":{"cluster":"outbound|80||full.example.com","timeout":{},"retry_policy":[]}}]}]}]`))
	ix := w.index(f, nil)
	f.Fuzz(func(t *testing.T, data []byte) {
		v := verify.New(ix, w.proxy)
		limits := dump.Limits{ResourceBytes: 1 << 20, Values: 10_000, PathBytes: 1 << 20}
		_, err := dump.Read(t.Context(), "fuzz.json", bytes.NewReader(data), limits, v.Visit)
		r, failed := v.Report(t.Context())
		if failed != nil {
			t.Fatal(failed)
		}
		if err == nil && r.Counts.Differing > r.Counts.Clusters {
			t.Errorf("%+v", r.Counts)
		}
	})
}
