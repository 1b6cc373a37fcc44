package agree

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/meshvet/meshvet/lint/effective"
	"github.com/meshvet/meshvet/lint/mesh"
	"github.com/meshvet/meshvet/lint/verify"
	"github.com/meshvet/meshvet/test/prove/oracle"
)

// Compiler compiles jobs.
type Compiler interface {
	// Compile has one job done, as oracle.Client does.
	Compile(ctx context.Context, job *oracle.Job) (*oracle.Result, error)
}

// Outcome is what came of comparing.
type Outcome struct {
	Meshes, Proxies, Clusters, Filters, Routes, Leaves int
	// Panics are jobs on which Istio panics and meshvet says so. Died are jobs that end the whole process of the oracle, as its own
	// name for them says.
	Panics int
	Died   []string
	// Contradictions are where meshvet and Istio differ.
	Contradictions []string
}

// Add puts another outcome to this one.
func (o *Outcome) Add(other Outcome) {
	o.Meshes += other.Meshes
	o.Proxies += other.Proxies
	o.Clusters += other.Clusters
	o.Filters += other.Filters
	o.Routes += other.Routes
	o.Leaves += other.Leaves
	o.Panics += other.Panics
	o.Died = append(o.Died, other.Died...)
	o.Contradictions = append(o.Contradictions, other.Contradictions...)
}

// Proxies are those whose configuration is compared: a sidecar and a gateway in each of the mesh's namespaces.
func (m *Mesh) Proxies() []effective.Proxy {
	var out []effective.Proxy
	for _, ns := range m.namespaces() {
		out = append(out,
			effective.Proxy{Type: effective.Sidecar, Namespace: ns, Labels: workload},
			effective.Proxy{Type: effective.Gateway, Namespace: ns, Labels: gateway})
	}
	return out
}

// Compare compares what meshvet predicts for some proxies with what Istio compiles.
func Compare(ctx context.Context, c Compiler, m *Mesh, proxies []effective.Proxy) (Outcome, error) {
	out := Outcome{Meshes: 1}
	ix, err := m.index()
	if err != nil {
		return out, err
	}
	texts, err := m.texts()
	if err != nil {
		return out, err
	}
	for _, p := range proxies {
		res, err := c.Compile(ctx, m.job(texts, asked(p)))
		var died *oracle.DiedError
		if errors.As(err, &died) {
			out.Died = append(out.Died, fmt.Sprintf("%s, %s in %s", m.Name, p.Type, p.Namespace))
			continue
		}
		if err != nil {
			return out, fmt.Errorf("%s: %w", m.Name, err)
		}
		out.Proxies++
		x := comparison{out: &out, where: fmt.Sprintf("%s, %s in %s", m.Name, p.Type, p.Namespace), predicted: predict(ix, p)}
		if err := x.compare(res, p); err != nil {
			return out, fmt.Errorf("%s: %w", x.where, err)
		}
	}
	return out, nil
}

// asked is a proxy as the oracle names it.
func asked(p effective.Proxy) oracle.Proxy {
	typ := oracle.Sidecar
	if p.Type == effective.Gateway {
		typ = oracle.Router
	}
	return oracle.Proxy{Type: typ, Namespace: p.Namespace, Labels: p.Labels, Locality: locality}
}

// predict lists what meshvet expects of all hosts in view, by the name of the cluster.
func predict(ix *mesh.Index, p effective.Proxy) map[string]*effective.Cluster {
	out := map[string]*effective.Cluster{}
	for _, h := range ix.Hosts() {
		for _, c := range effective.Clusters(ix, p, h) {
			out[c.Name()] = c
		}
	}
	return out
}

type comparison struct {
	out       *Outcome
	where     string
	predicted map[string]*effective.Cluster
}

func (x *comparison) contradict(format string, args ...any) {
	x.out.Contradictions = append(x.out.Contradictions, x.where+": "+fmt.Sprintf(format, args...))
}

func (x *comparison) compare(res *oracle.Result, p effective.Proxy) error {
	panics := ""
	for _, name := range slices.Sorted(maps.Keys(x.predicted)) {
		panics = max(panics, x.predicted[name].Panics)
	}
	if (res.Panic != "") != (panics != "") {
		x.contradict("Istio panics: %q; predicted: %q", res.Panic, panics)
		return nil
	}
	if res.Panic != "" {
		x.out.Panics++
		return nil
	}
	if err := x.clusters(res); err != nil {
		return err
	}
	return x.filters(res, p)
}

func (x *comparison) clusters(res *oracle.Result) error {
	actual, err := res.Clusters()
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(actual)) {
		if strings.HasSuffix(name, "|") || strings.Contains(name, "#") || strings.HasPrefix(name, "outbound_.") {
			continue // of an empty host; the second one of a name, which Envoy never gets; or behind an sni-dnat listener
		}
		c := x.predicted[name]
		switch {
		case c == nil:
			x.contradict("cluster %s is not predicted", name)
			continue
		case c.Absent != "":
			x.contradict("cluster %s is there; predicted: %s", name, c.Absent)
			continue
		}
		diffs, n := verify.Cluster(c, actual[name])
		x.out.Clusters++
		x.count(name, diffs, n)
	}
	for _, name := range slices.Sorted(maps.Keys(x.predicted)) {
		if _, has := actual[name]; !has && x.predicted[name].Absent == "" {
			x.contradict("cluster %s is predicted and not there", name)
		}
	}
	return nil
}

func (x *comparison) count(of string, diffs []verify.Difference, n int) {
	x.out.Leaves += n
	for _, d := range diffs {
		x.contradict("%s: %s predicted %q, compiled %q", of, d.Path, d.Predicted, d.Actual)
	}
}

// filters compares listeners and routes.
func (x *comparison) filters(res *oracle.Result, p effective.Proxy) error {
	var retries []verify.Retries
	for key, r := range res.Resources() {
		if r.Kind != "listener" && r.Kind != "route" {
			continue
		}
		body, err := decode(r.JSON)
		if err != nil {
			return fmt.Errorf("read %s: %w", key, err)
		}
		if r.Kind == "route" {
			retries = append(retries, verify.RouteRetries(body)...)
			continue
		}
		for _, filter := range verify.TCPProxies(body) {
			if c := x.predicted[filter.Cluster]; c != nil {
				diffs, n := verify.CompareTCPProxy(c, filter)
				x.out.Filters++
				x.count(key+" to "+filter.Cluster, diffs, n)
			}
		}
	}
	if p.Type == effective.Gateway {
		return nil
	}
	x.out.Routes += len(retries)
	x.out.Leaves += len(retries)
	for _, name := range slices.Sorted(maps.Keys(x.predicted)) {
		x.count("routes to "+name, verify.CompareRetries(x.predicted[name], retries), 0)
	}
	return nil
}

func decode(text []byte) (map[string]any, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v map[string]any
	err := d.Decode(&v)
	return v, err
}
