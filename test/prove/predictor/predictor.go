// Package predictor stands in for the oracle in tests: it answers with what meshvet predicts, changed as a test likes. What holds Istio
// against predictions has to agree with it, and to notice each change.
package predictor

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"github.com/meshvet/meshvet/lint/effective"
	"github.com/meshvet/meshvet/lint/envoy"
	"github.com/meshvet/meshvet/lint/object"
	"github.com/meshvet/meshvet/test/prove/agree"
	"github.com/meshvet/meshvet/test/prove/oracle"
)

// Predictor answers jobs.
type Predictor struct {
	// Change is shown each answer before it is given; nil changes nothing. An error is given in the place of the answer.
	Change func(job *oracle.Job, a *Answer) error
	Jobs   int // that were answered
}

// Answer is what is answered, before it is written.
type Answer struct {
	Panic                       string
	Clusters, Listeners, Routes map[string]map[string]any // by name, with field names in camel case
}

// Version is what Istio's would be.
func (p *Predictor) Version() string { return "v0" }

// Compile answers a job. Each cluster without requests gets a listener of its name with a tcp_proxy, each with requests a route.
func (p *Predictor) Compile(ctx context.Context, job *oracle.Job) (*oracle.Result, error) {
	p.Jobs++
	f, err := object.Load(ctx, job.ID, strings.NewReader(job.Objects), object.Limits{})
	if err != nil {
		return nil, err
	}
	proxy := effective.Proxy{Type: effective.Sidecar, Namespace: job.Proxy.Namespace, Labels: job.Proxy.Labels}
	if job.Proxy.Type == oracle.Router {
		proxy.Type = effective.Gateway
	}
	m := &agree.Mesh{Name: job.ID, Objects: f.Objects, MeshConfig: job.Mesh}
	predicted, err := m.Predict(proxy)
	if err != nil {
		return nil, err
	}
	a := &Answer{Clusters: map[string]map[string]any{}, Listeners: map[string]map[string]any{}, Routes: map[string]map[string]any{}}
	for name, c := range predicted {
		if c.Panics != "" {
			a.Panic = c.Panics
		}
		if c.Absent != "" {
			continue
		}
		a.Clusters[name] = envoy.Build(effective.Leaves(c.Settings))
		a.Clusters[name]["name"] = name
		if len(c.Retries) > 0 {
			a.Routes[name] = route(c)
		} else {
			a.Listeners[name] = listener(c)
		}
	}
	if p.Change != nil {
		if err := p.Change(job, a); err != nil {
			return nil, err
		}
	}
	if a.Panic != "" {
		return &oracle.Result{ID: job.ID, Panic: a.Panic}, nil
	}
	res := &oracle.Result{ID: job.ID}
	if res.CDS, err = written(a.Clusters); err != nil {
		return nil, err
	}
	if res.LDS, err = written(a.Listeners); err != nil {
		return nil, err
	}
	res.RDS, err = written(a.Routes)
	return res, err
}

func listener(c *effective.Cluster) map[string]any {
	filter := envoy.Build(effective.Leaves(c.TCP))
	filter["@type"] = "type.googleapis.com/envoy.extensions.filters.network.tcp_proxy.v3.TcpProxy"
	filter["cluster"] = c.Name()
	return map[string]any{"filterChains": []any{map[string]any{"filters": []any{
		map[string]any{"name": "envoy.filters.network.tcp_proxy", "typedConfig": filter},
	}}}}
}

func route(c *effective.Cluster) map[string]any {
	var routes []any
	for _, r := range c.Retries {
		action := map[string]any{"cluster": c.Name(), "timeout": fmt.Sprintf("%gs", r.Timeout.Seconds())}
		if r.Attempts > 0 {
			action["retryPolicy"] = map[string]any{"numRetries": r.Attempts}
		}
		maps.Copy(action, effective.Fragment(r.Hash))
		routes = append(routes, map[string]any{"route": action})
	}
	return map[string]any{"virtualHosts": []any{map[string]any{"routes": routes}}}
}

func written(all map[string]map[string]any) (map[string]json.RawMessage, error) {
	out := map[string]json.RawMessage{}
	for name, body := range all {
		text, err := json.Marshal(body)
		if err != nil {
			return nil, fmt.Errorf("write %s: %w", name, err)
		}
		out[name] = text
	}
	return out, nil
}
