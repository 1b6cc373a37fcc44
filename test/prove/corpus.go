package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/edit"
	"github.com/meshvet/meshvet/lint/effective"
	"github.com/meshvet/meshvet/lint/envoy"
	"github.com/meshvet/meshvet/lint/linttest"
	"github.com/meshvet/meshvet/lint/mesh"
	"github.com/meshvet/meshvet/lint/object"
	"github.com/meshvet/meshvet/lint/verify"
	"github.com/meshvet/meshvet/test/prove/agree"
	"github.com/meshvet/meshvet/test/prove/oracle"
)

// tally is what came of a set of inputs.
type tally struct {
	Name    string
	Files   int // that were read, other kinds and templates among them; 0 for random meshes
	Outcome agree.Outcome
	// Claims count the fields that findings call ignored or inert and that were taken away, Fixes the safe fixes that were applied,
	// by rule.
	Claims, Fixes map[string]int
	// Together are the meshes to whose text all safe fixes were applied at once, Applied the fixes that were.
	Together, Applied int
	// Unshown are the claims about which the mesh has no cluster, so that it would show nothing if they were wrong.
	Unshown map[string]int
	// Refused are the meshes that the oracle does not take, with the reason.
	Refused []string
}

func newTally(name string) *tally {
	return &tally{Name: name, Claims: map[string]int{}, Fixes: map[string]int{}, Unshown: map[string]int{}}
}

// add puts another tally to this one.
func (t *tally) add(other *tally) {
	t.Files += other.Files
	t.Outcome.Add(other.Outcome)
	for _, x := range [...]struct{ to, from map[string]int }{{t.Claims, other.Claims}, {t.Fixes, other.Fixes}, {t.Unshown, other.Unshown}} {
		for rule, n := range x.from {
			x.to[rule] += n
		}
	}
	t.Together += other.Together
	t.Applied += other.Applied
	t.Refused = append(t.Refused, other.Refused...)
}

// tallied shares work, and adds up what comes of the pieces in their order.
func (p *prover) tallied(ctx context.Context, t *tally, pieces int, do func(ctx context.Context, by *prover, t *tally, piece int) error) error {
	parts := make([]*tally, pieces)
	err := p.share(ctx, pieces, func(ctx context.Context, by *prover, i int) error {
		parts[i] = newTally(t.Name)
		return do(ctx, by, parts[i], i)
	})
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return err
	}
	for _, part := range parts {
		t.add(part)
	}
	return nil
}

// corpus holds every manifest of some folders and files against Istio: what is predicted of it, and what findings on it claim.
func (p *prover) corpus(ctx context.Context, t *tally, roots []string) error {
	for _, root := range roots {
		var paths []string
		err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
			if err == nil && !d.IsDir() && slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(path)) {
				paths = append(paths, path)
			}
			return err
		})
		if err == nil {
			err = p.tallied(ctx, t, len(paths), func(ctx context.Context, by *prover, t *tally, i int) error {
				return by.corpusFile(ctx, t, paths[i])
			})
		}
		if err != nil {
			return fmt.Errorf("%s: %w", root, err)
		}
	}
	return nil
}

// random is corpus for random meshes, from one seed on. Of each mesh one proxy is compiled, another one for the next.
func (p *prover) random(ctx context.Context, t *tally, first, count uint64) error {
	if first+count < first { // there are no more seeds
		count = 0
	}
	return p.tallied(ctx, t, int(count), func(ctx context.Context, by *prover, t *tally, i int) error { //nolint:gosec // so many meshes take years
		seed := first + uint64(i) //nolint:gosec // it is not negative
		m, err := agree.Random(seed)
		if err != nil {
			return err
		}
		all := m.Proxies()
		return by.hold(ctx, t, m, all[seed%uint64(len(all)):][:1])
	})
}

func (p *prover) corpusFile(ctx context.Context, t *tally, path string) error {
	file, err := linttest.Load(path)
	if err != nil {
		return err
	}
	t.Files++
	m := &agree.Mesh{Name: path, Objects: file.Objects, File: file}
	if !m.Compiles() {
		return nil
	}
	return p.hold(ctx, t, m, m.Proxies())
}

// hold holds one mesh against Istio.
func (p *prover) hold(ctx context.Context, t *tally, m *agree.Mesh, proxies []effective.Proxy) error {
	outcome, err := agree.Compare(ctx, p.oracle, m, proxies)
	var refused *oracle.RefusedError
	if errors.As(err, &refused) {
		t.Refused = append(t.Refused, oneLine(err.Error()))
		t.Outcome.Contradictions = append(t.Outcome.Contradictions, outcome.Contradictions...) // of proxies before that one
		return nil
	}
	if err != nil {
		return err
	}
	t.Outcome.Add(outcome)
	if len(outcome.Died) > 0 {
		return nil
	}
	return p.claimsOn(ctx, t, m, proxies)
}

// claimsOn holds what findings claim of a file against the oracle: that a field is ignored or inert, and that a safe fix changes
// only what it may.
func (p *prover) claimsOn(ctx context.Context, t *tally, m *agree.Mesh, proxies []effective.Proxy) error {
	settings, err := m.Settings()
	if err != nil {
		return err
	}
	engine, err := p.engine(m.MeshConfig == "", settings)
	if err != nil {
		return err
	}
	report, err := engine.Lint(ctx, lint.Input{Files: []*object.File{m.File}})
	if err != nil {
		return err
	}
	for i := range report.Findings {
		f := &report.Findings[i]
		at := slices.IndexFunc(m.Objects, func(o *object.Object) bool { return o.Key == f.Object })
		if at < 0 {
			continue
		}
		o := m.Objects[at]
		if f.Rule.Proof.Kind == "ignored" || f.Rule.Proof.Kind == "inert" {
			if err := p.removal(ctx, t, m, o, f, proxies); err != nil {
				return err
			}
		}
		for j := range f.Fixes {
			if fix := &f.Fixes[j]; fix.Safety == lint.Safe && len(fix.Ops) > 0 {
				if err := p.fix(ctx, t, m, o, f, fix, proxies); err != nil {
					return err
				}
			}
		}
	}
	return p.together(ctx, t, m, engine, proxies)
}

// engine judges meshes that are completely known. The one for the default mesh configuration is made once.
func (p *prover) engine(plain bool, settings mesh.Settings) (*lint.Engine, error) {
	if plain && p.plain != nil {
		return p.plain, nil
	}
	e, err := lint.New(p.rules, &lint.Config{Complete: lint.AllKinds(), Mesh: settings})
	if err == nil && plain {
		p.plain = e
	}
	return e, err
}

// removal takes the field away that a finding calls ignored or inert. What a finding says of the host is about the whole rule, and
// one that names the route of a VirtualService is about the route.
func (p *prover) removal(ctx context.Context, t *tally, m *agree.Mesh, o *object.Object, f *lint.Finding, proxies []effective.Proxy) error {
	path := f.Path
	route := slices.IndexFunc(f.Related, func(r lint.Related) bool { return r.Object.Kind == object.VirtualService })
	if route >= 0 {
		r := f.Related[route]
		at := slices.IndexFunc(m.Objects, func(o *object.Object) bool { return o.Key == r.Object })
		if at < 0 {
			return nil
		}
		o, path = m.Objects[at], r.Path
	}
	var changed *object.Object
	if !path.Equal(object.Path{"spec", "host"}) {
		var err error
		changed, err = edit.Patch(o, []lint.Op{{Kind: lint.Remove, Path: path}})
		if err != nil {
			return fmt.Errorf("%s: %s at %s: %w", m.Name, f.Rule.ID, path, err)
		}
	}
	t.Claims[f.Rule.ID]++
	shown := changed == nil // nothing is to be seen of a rule that reaches nothing
	for _, proxy := range proxies {
		pair, err := p.pair(ctx, m, m.With(o, changed), proxy)
		if err != nil {
			return err
		}
		for resource := range pair.before {
			name, isCluster := strings.CutPrefix(resource, "cluster ")
			shown = shown || isCluster && strings.HasPrefix(name, "outbound") && about(f, name, pair.before)
		}
		for _, d := range differences(pair) {
			name, isCluster := strings.CutPrefix(d.resource, "cluster ")
			if f.Rule.Proof.Kind == "inert" && isCluster && (!about(f, name, pair.before) || inert(d.path, familyOf(pair.before, name))) {
				continue
			}
			if route >= 0 && d.resource == "route 80" && !slices.Contains(f.Subject.Ports, 80) {
				continue // http routes are there whatever ports their host has
			}
			t.Outcome.Contradictions = append(t.Outcome.Contradictions, fmt.Sprintf("%s, %s in %s: %s calls %s %s, yet %s goes from %s to %s without it",
				m.Name, proxy.Type, proxy.Namespace, f.Rule.ID, path, f.Rule.Proof.Kind, d.where(), d.before, d.after))
		}
	}
	if !shown {
		t.Unshown[f.Rule.ID]++
	}
	return nil
}

// differences are those that mean something in resources that Envoy gets: of several with one name, in an order that varies, it
// keeps the first.
func differences(p pair) []change {
	return slices.DeleteFunc(diff(p.before, p.after), func(c change) bool {
		return strings.Contains(c.resource, "#") || saysNothing(c) || p.leadsNowhere(c)
	})
}

// leadsNowhere says whether a change is in a tcp_proxy whose cluster is not there on either side: Istio writes listeners for ports for
// which it compiles no cluster, and Envoy closes what comes in.
func (p pair) leadsNowhere(c change) bool {
	const config = ".typed_config."
	i := strings.LastIndex(c.path, config)
	if !strings.HasPrefix(c.resource, "listener ") || i < 0 {
		return false
	}
	cluster := c.path[:i] + config + "cluster"
	for _, all := range []resources{p.before, p.after} {
		name := all[c.resource][cluster]
		if _, there := all["cluster "+name]; !strings.HasPrefix(name, "outbound|") || there {
			return false
		}
	}
	return true
}

// about says whether a finding is about a cluster: what it calls inert on a port may be of use to others. A mere remark says that the
// field is of use somewhere, which may be under the same name and number in another namespace.
func about(f *lint.Finding, cluster string, all resources) bool {
	if f.Rule.Proof.Kind == "inert" && f.Severity == lint.Info {
		if of := familyOf(all, cluster); of == l7 || of == sniffed {
			return false
		}
	}
	if len(f.Subject.Ports) == 0 {
		return true
	}
	parts := strings.Split(cluster, "|")
	return len(parts) == 4 && slices.ContainsFunc(f.Subject.Ports, func(n uint32) bool { return strconv.FormatUint(uint64(n), 10) == parts[1] })
}

// pair is what is compiled before and after a change. Where Istio panics on one of the two, that one has nothing but panicked, and the
// other nothing at all.
type pair struct{ before, after resources }

// panicked stands for all resources where Istio panics.
const panicked = "a panic"

// pair compiles two meshes for a proxy.
func (p *prover) pair(ctx context.Context, before, after *agree.Mesh, proxy effective.Proxy) (pair, error) {
	if !after.Compiles() { // the oracle takes no empty mesh
		filler, err := filler(ctx)
		if err != nil {
			return pair{}, err
		}
		before, after = before.With(nil, filler), after.With(nil, filler)
	}
	b, err := p.asItIs(ctx, before, proxy)
	if err != nil {
		return pair{}, err
	}
	a, err := p.resources(ctx, after, proxy)
	if err != nil {
		return pair{}, err
	}
	_, first := b[panicked]
	_, second := a[panicked]
	switch {
	case first && !second:
		a = resources{}
	case second && !first:
		b = resources{}
	}
	return pair{b, a}, nil
}

// asItIs is resources of a mesh of which much is claimed: each proxy's are compiled once.
func (p *prover) asItIs(ctx context.Context, m *agree.Mesh, proxy effective.Proxy) (resources, error) {
	if p.of != m {
		p.of, p.compiled = m, map[string]resources{}
	}
	key := string(proxy.Type) + " " + proxy.Namespace
	if r, ok := p.compiled[key]; ok {
		return r, nil
	}
	r, err := p.resources(ctx, m, proxy)
	if err == nil {
		p.compiled[key] = r
	}
	return r, err
}

func (p *prover) resources(ctx context.Context, m *agree.Mesh, proxy effective.Proxy) (resources, error) {
	res, err := m.Compile(ctx, p.oracle, proxy)
	var died *oracle.DiedError
	if errors.As(err, &died) || err == nil && res.Panic != "" {
		return resources{panicked: nil}, nil
	}
	if err != nil {
		return nil, err
	}
	return resourcesOf(res)
}

// filler is an object that changes nothing for any other.
func filler(ctx context.Context) (*object.Object, error) {
	f, err := object.Load(ctx, "filler", strings.NewReader(`{"apiVersion": "networking.istio.io/v1", "kind": "ServiceEntry", "metadata": {"name": "filler"},
		"spec": {"hosts": ["filler.invalid"], "ports": [{"number": 60000, "name": "tls", "protocol": "TLS"}], "resolution": "DNS"}}`), object.Limits{})
	if err != nil {
		return nil, err
	}
	return f.Objects[0], nil
}

// fix applies a fix that is called safe, and looks at every path that changes: it must be inert there, or be one to which a value that
// the author wrote compiles.
func (p *prover) fix(ctx context.Context, t *tally, m *agree.Mesh, o *object.Object, f *lint.Finding, fix *lint.Fix, proxies []effective.Proxy) error {
	changed, err := edit.Patch(o, fix.Ops)
	if err != nil {
		return fmt.Errorf("%s: the fix of %s at %s: %w", m.Name, f.Rule.ID, f.Path, err)
	}
	t.Fixes[f.Rule.ID]++
	what := fmt.Sprintf("the safe fix of %s at %s changes", f.Rule.ID, f.Path)
	return p.fixed(ctx, t, m, m.With(o, changed), []applied{{changed, fix.Ops}}, what, proxies)
}

// together applies all safe fixes of a mesh to its text, as meshvet fix does, and looks at every path that changes as fix does.
func (p *prover) together(ctx context.Context, t *tally, m *agree.Mesh, engine *lint.Engine, proxies []effective.Proxy) error {
	judge := func(ctx context.Context, files []*object.File) (*lint.Report, error) {
		return engine.Lint(ctx, lint.Input{Files: files})
	}
	r, err := edit.Fix(ctx, []*object.File{m.File}, judge, edit.Options{})
	if err != nil {
		return err
	}
	if len(r.Changed) == 0 {
		return nil
	}
	after := &agree.Mesh{Name: m.Name, Objects: r.Files[0].Objects, File: r.Files[0], MeshConfig: m.MeshConfig}
	var fixes []applied
	for _, x := range r.Applied {
		at := slices.IndexFunc(after.Objects, func(o *object.Object) bool { return o.Key == x.Finding.Object })
		if at < 0 {
			return fmt.Errorf("%s: %s is not there any more once it is fixed", m.Name, x.Finding.Object)
		}
		fixes = append(fixes, applied{after.Objects[at], x.Fix.Ops})
	}
	t.Together++
	t.Applied += len(r.Applied)
	return p.fixed(ctx, t, m, after, fixes, "all safe fixes together change", proxies)
}

// applied is a fix that was applied, and the object as it is then.
type applied struct {
	object *object.Object
	ops    []lint.Op
}

// fixed looks at every path that differs once fixes are applied. what begins the sentence about one that should not.
func (p *prover) fixed(ctx context.Context, t *tally, m, after *agree.Mesh, fixes []applied, what string, proxies []effective.Proxy) error {
	for _, proxy := range proxies {
		pair, err := p.pair(ctx, m, after, proxy)
		if err != nil {
			return err
		}
		then, err := after.Predict(proxy)
		if err != nil {
			return err
		}
		for _, d := range differences(pair) {
			if d.resource == panicked && d.after == absent {
				// There is nothing to compare with, but a prediction of what is there now.
				outcome, err := agree.Compare(ctx, p.oracle, after, []effective.Proxy{proxy})
				if err != nil {
					return err
				}
				t.Outcome.Contradictions = append(t.Outcome.Contradictions, outcome.Contradictions...)
				continue
			}
			if slices.ContainsFunc(fixes, func(x applied) bool { return x.accountsFor(pair, then, d) }) {
				continue
			}
			t.Outcome.Contradictions = append(t.Outcome.Contradictions, fmt.Sprintf("%s, %s in %s: %s %s from %s to %s",
				m.Name, proxy.Type, proxy.Namespace, what, d.where(), d.before, d.after))
		}
	}
	return nil
}

// accountsFor says whether a path may change because of a safe fix: it is inert, or one to which a value that the author wrote compiles.
func (x applied) accountsFor(pair pair, then map[string]*effective.Cluster, d change) bool {
	name, isCluster := strings.CutPrefix(d.resource, "cluster ")
	if !isCluster {
		return timed(then, x.object, pair.after[d.resource], d)
	}
	return inert(d.path, familyOf(pair.before, name)) ||
		stated(then[name], x.object, x.ops, d) && asPredicted(then[name], pair.after[d.resource], d)
}

// steering are the paths by which a cluster's destination, protocol and TLS are chosen. No safe fix changes them.
var steering = []string{
	"type", "cluster_type", "transport_socket", "transport_socket_matches",
	options + ".use_downstream_protocol_config", options + ".upstream_http_protocol_options",
}

// derived are the paths that Istio writes of its own accord along with a field that the author states.
var derived = []struct{ field, path string }{
	{"outlierDetection", "outlier_detection.enforcing_success_rate"},
	{"outlierDetection", "outlier_detection.enforcing_consecutive_*"},
	{"outlierDetection", "outlier_detection.enforcing_local_origin_success_rate"},
	{"outlierDetection", "common_lb_config.healthy_panic_threshold"},
	{"outlierDetection", "common_lb_config.locality_weighted_lb_config"},
	{"outlierDetection", "load_assignment"}, // endpoints are put into groups of localities or priorities
	{"loadBalancer", "common_lb_config.locality_weighted_lb_config"},
	{"loadBalancer", "load_assignment"},
	{"loadBalancer", "lb_policy"},
	{"loadBalancer", "least_request_lb_config"},
	{"loadBalancer", "round_robin_lb_config"},
	{"loadBalancer", "ring_hash_lb_config"},
	{"loadBalancer", "maglev_lb_config"},
	{"connectionPool", options + ".common_http_protocol_options"},
}

// timed says whether a change of a listener is that a tcp_proxy in it got a timeout that the rule states once it is fixed.
func timed(then map[string]*effective.Cluster, o *object.Object, listener envoy.Leaves, d change) bool {
	i := strings.LastIndexByte(d.path, '.')
	filter, field := d.path[:max(i, 0)], d.path[i+1:]
	if !strings.HasPrefix(d.resource, "listener ") || !strings.HasSuffix(filter, ".typed_config") {
		return false
	}
	c := then[listener[filter+".cluster"]]
	return c != nil && slices.ContainsFunc(c.TCP, func(s effective.Setting) bool {
		return s.Envoy == field && s.Origin.Object == o && envoy.Text(s.Value) == d.after
	})
}

// asPredicted says whether a path of a cluster came to what is predicted of the fixed rule: stated looks at paths alone.
func asPredicted(c *effective.Cluster, actual envoy.Leaves, d change) bool {
	diffs, _ := verify.Cluster(c, actual)
	return !slices.ContainsFunc(diffs, func(other verify.Difference) bool { return other.Path == d.path })
}

// stated says whether a change of a cluster is at a path to which a value compiles that the rule states once it is fixed, or that comes
// along with one.
func stated(c *effective.Cluster, o *object.Object, ops []lint.Op, d change) bool {
	if c == nil {
		return false
	}
	if slices.ContainsFunc(steering, func(s string) bool { return matches(d.path, s) }) {
		return false
	}
	for _, s := range c.Settings {
		if s.Origin.Object == o && (s.Envoy == d.path || envoy.Under(s.Envoy, d.path)) {
			return true
		}
	}
	return slices.ContainsFunc(derived, func(along struct{ field, path string }) bool {
		pattern, prefix := strings.CutSuffix(along.path, "*")
		return (matches(d.path, along.path) || prefix && strings.HasPrefix(d.path, pattern)) &&
			slices.ContainsFunc(ops, func(op lint.Op) bool { return op.Kind != lint.Remove && slices.Contains(op.Path, any(along.field)) })
	})
}
