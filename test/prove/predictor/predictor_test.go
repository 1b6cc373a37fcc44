package predictor_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/meshvet/meshvet/test/prove/oracle"
	"github.com/meshvet/meshvet/test/prove/predictor"
)

func TestAnswer(t *testing.T) {
	job := &oracle.Job{ID: "x", Proxy: oracle.Proxy{Namespace: "shop"}, Objects: `{"apiVersion": "networking.istio.io/v1", "kind": "ServiceEntry", "metadata": {"name": "api", "namespace": "shop"},
		"spec": {"hosts": ["api.example.com"], "resolution": "DNS", "ports": [{"number": 80, "name": "http", "protocol": "HTTP"}, {"number": 443, "name": "tls", "protocol": "TLS"}]}}`}
	p := &predictor.Predictor{}
	res, err := p.Compile(t.Context(), job)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for name := range res.Resources() {
		names = append(names, name)
	}
	const want = "cluster outbound|443||api.example.com, cluster outbound|80||api.example.com, " +
		"listener outbound|443||api.example.com, route outbound|80||api.example.com"
	if got := strings.Join(names, ", "); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	clusters, err := res.Clusters()
	if got := clusters["outbound|443||api.example.com"]["type"]; err != nil || got != "STRICT_DNS" {
		t.Errorf("type %q, %v", got, err)
	}
	broken := errors.New("broken")
	p.Change = func(*oracle.Job, *predictor.Answer) error { return broken }
	if _, err := p.Compile(t.Context(), job); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	p.Change = func(_ *oracle.Job, a *predictor.Answer) error { a.Panic = "nil"; return nil }
	if res, err := p.Compile(t.Context(), job); err != nil || res.Panic != "nil" || len(res.CDS) > 0 {
		t.Errorf("%+v, %v", res, err)
	}
	if p.Jobs != 3 {
		t.Errorf("%d jobs", p.Jobs)
	}
}
