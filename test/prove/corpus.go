package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	jsonpatch "github.com/evanphx/json-patch/v5"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/effective"
	"github.com/meshvet/meshvet/lint/envoy"
	"github.com/meshvet/meshvet/lint/linttest"
	"github.com/meshvet/meshvet/lint/object"
	"github.com/meshvet/meshvet/test/prove/agree"
	"github.com/meshvet/meshvet/test/prove/oracle"
)

// tally is what came of a set of inputs.
type tally struct {
	Name     string
	Files    int // that were read
	Outcome  agree.Outcome
	Removals map[string]*removals // by rule
	Fixes    map[string]*removals
	// Refused are files of which the oracle takes no object, with the reason.
	Refused []string
}

// removals count how often a claim about a field, or about a fix, was put to the test.
type removals struct{ Tested, Vacuous int }

// corpus holds every manifest of some folders and files against Istio: what is predicted of it, and what findings on it claim.
func (p *prover) corpus(ctx context.Context, out io.Writer, name string, paths []string) (*tally, error) {
	t := &tally{Name: name, Removals: map[string]*removals{}, Fixes: map[string]*removals{}}
	for _, root := range paths {
		err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() || !slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(path)) {
				return err
			}
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return p.corpusFile(ctx, t, path)
		})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", root, err)
		}
	}
	p.tell(out, t)
	return t, nil
}

func (p *prover) tell(out io.Writer, t *tally) {
	o := &t.Outcome
	fmt.Fprintf(out, "%s: %d files, %d meshes, %d proxies, %d clusters, %d tcp_proxy filters, %d routes, %d fields compared; %d contradictions\n",
		t.Name, t.Files, o.Meshes, o.Proxies, o.Clusters, o.Filters, o.Routes, o.Leaves, len(o.Contradictions))
	for _, c := range o.Contradictions {
		fmt.Fprintf(out, "  %s\n", c)
	}
}

func (p *prover) corpusFile(ctx context.Context, t *tally, path string) error {
	file, err := linttest.Load(path)
	if err != nil {
		return err
	}
	t.Files++
	m := &agree.Mesh{Name: path, Objects: file.Objects}
	if !m.Compiles() {
		return nil
	}
	proxies := m.Proxies()
	outcome, err := agree.Compare(ctx, p.oracle, m, proxies)
	if err != nil {
		t.Refused = append(t.Refused, oneLine(err.Error()))
		return nil //nolint:nilerr // it is told with the others at the end
	}
	t.Outcome.Add(outcome)
	if len(outcome.Died) > 0 {
		return nil
	}
	return p.claimsOn(ctx, t, m, file, proxies)
}

// claimsOn holds what findings claim of a file against the oracle: that a field is ignored or inert, and that a safe fix changes
// only what it may.
func (p *prover) claimsOn(ctx context.Context, t *tally, m *agree.Mesh, file *object.File, proxies []effective.Proxy) error {
	engine, err := lint.New(p.rules, &lint.Config{Complete: lint.AllKinds()})
	if err != nil {
		return err
	}
	report, err := engine.Lint(ctx, lint.Input{Files: []*object.File{file}})
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
	return nil
}

func counter(of map[string]*removals, rule string) *removals {
	if of[rule] == nil {
		of[rule] = &removals{}
	}
	return of[rule]
}

// removal takes the field away that a finding calls ignored or inert. What a finding says of the host is about the whole rule.
func (p *prover) removal(ctx context.Context, t *tally, m *agree.Mesh, o *object.Object, f *lint.Finding, proxies []effective.Proxy) error {
	n := counter(t.Removals, f.Rule.ID)
	var changed *object.Object
	if !f.Path.Equal(object.Path{"spec", "host"}) {
		raw, err := json.Marshal(o.Root())
		if err != nil {
			return fmt.Errorf("write %s: %w", o, err)
		}
		changed, err = patched(ctx, raw, []lint.Op{{Kind: lint.Remove, Path: f.Path}})
		if err != nil {
			return fmt.Errorf("%s: %s at %s: %w", m.Name, f.Rule.ID, f.Path, err)
		}
	}
	n.Tested++
	live := false
	for _, proxy := range proxies {
		pair, ok, err := p.pair(ctx, m, m.With(o, changed), proxy)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		for name := range pair.before {
			live = live || strings.HasPrefix(name, "cluster outbound|")
		}
		for _, d := range diff(pair.before, pair.after) {
			name, isCluster := strings.CutPrefix(d.resource, "cluster ")
			if f.Rule.Proof.Kind == "inert" && isCluster && (!about(f, name) || inert(d.path, familyOf(pair.before, name))) {
				continue
			}
			t.Outcome.Contradictions = append(t.Outcome.Contradictions, fmt.Sprintf("%s, %s in %s: %s calls %s %s, yet %s %s goes from %s to %s without it",
				m.Name, proxy.Type, proxy.Namespace, f.Rule.ID, f.Path, f.Rule.Proof.Kind, d.resource, d.path, d.before, d.after))
		}
	}
	if !live {
		n.Vacuous++
	}
	return nil
}

// about says whether a finding is about the port of a cluster: what it calls inert may be of use to others.
func about(f *lint.Finding, cluster string) bool {
	if len(f.Subject.Ports) == 0 {
		return true
	}
	parts := strings.Split(cluster, "|")
	return len(parts) == 4 && slices.ContainsFunc(f.Subject.Ports, func(n uint32) bool { return strconv.FormatUint(uint64(n), 10) == parts[1] })
}

// pair is what is compiled before and after a change.
type pair struct{ before, after resources }

// pair compiles two meshes for a proxy. ok is false where Istio panics on either.
func (p *prover) pair(ctx context.Context, before, after *agree.Mesh, proxy effective.Proxy) (out pair, ok bool, err error) {
	if !after.Compiles() { // the oracle takes no empty mesh
		filler, err := filler(ctx)
		if err != nil {
			return out, false, err
		}
		before, after = before.With(nil, filler), after.With(nil, filler)
	}
	both := [2]resources{}
	for i, m := range []*agree.Mesh{before, after} {
		res, err := m.Compile(ctx, p.oracle, proxy)
		var died *oracle.DiedError
		if errors.As(err, &died) {
			return out, false, nil
		}
		if err != nil {
			return out, false, err
		}
		if res.Panic != "" {
			return out, false, nil
		}
		if both[i], err = resourcesOf(res); err != nil {
			return out, false, err
		}
	}
	return pair{both[0], both[1]}, true, nil
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
	raw, err := json.Marshal(o.Root())
	if err != nil {
		return fmt.Errorf("write %s: %w", o, err)
	}
	changed, err := patched(ctx, raw, fix.Ops)
	if err != nil {
		return fmt.Errorf("%s: the fix of %s at %s: %w", m.Name, f.Rule.ID, f.Path, err)
	}
	counter(t.Fixes, f.Rule.ID).Tested++
	after := m.With(o, changed)
	for _, proxy := range proxies {
		pair, ok, err := p.pair(ctx, m, after, proxy)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		then, err := after.Predict(proxy)
		if err != nil {
			return err
		}
		for _, d := range diff(pair.before, pair.after) {
			name, isCluster := strings.CutPrefix(d.resource, "cluster ")
			if isCluster && (inert(d.path, familyOf(pair.before, name)) || stated(then[name], changed, fix.Ops, d.path)) {
				continue
			}
			t.Outcome.Contradictions = append(t.Outcome.Contradictions, fmt.Sprintf("%s, %s in %s: the safe fix of %s at %s changes %s %s from %s to %s",
				m.Name, proxy.Type, proxy.Namespace, f.Rule.ID, f.Path, d.resource, d.path, d.before, d.after))
		}
	}
	return nil
}

// stated says whether a path of a cluster gets its value from what a fix writes.
func stated(c *effective.Cluster, o *object.Object, ops []lint.Op, path string) bool {
	if c == nil {
		return false
	}
	for _, s := range c.Settings {
		if !s.Emitted() || s.Envoy != path || s.Origin.Object != o {
			continue
		}
		for _, op := range ops {
			if op.Kind != lint.Remove && len(s.Origin.Path) >= len(op.Path) && s.Origin.Path[:len(op.Path)].Equal(op.Path) {
				return true
			}
		}
	}
	return strings.HasPrefix(path, "outlier_detection.enforcing_") && stated(c, o, ops, strings.Replace(path, "enforcing_", "", 1)) ||
		path == "outlier_detection.enforcing_success_rate" && envoyHas(c, "outlier_detection")
}

// envoyHas says whether anything at or under a path of a cluster is written by a manifest.
func envoyHas(c *effective.Cluster, path string) bool {
	return slices.ContainsFunc(c.Settings, func(s effective.Setting) bool {
		return s.Origin.Kind == effective.FromObject && envoy.Under(s.Envoy, path)
	})
}

// patched is an object after operations, read again.
func patched(ctx context.Context, raw []byte, ops []lint.Op) (*object.Object, error) {
	type operation struct {
		Op    string `json:"op"`
		Path  string `json:"path"`
		Value any    `json:"value,omitempty"`
	}
	var list []operation
	for _, op := range ops {
		list = append(list, operation{string(op.Kind), pointer(op.Path), op.Value})
	}
	js, err := json.Marshal(list)
	if err != nil {
		return nil, fmt.Errorf("write the patch: %w", err)
	}
	patch, err := jsonpatch.DecodePatch(js)
	if err != nil {
		return nil, fmt.Errorf("read the patch: %w", err)
	}
	options := jsonpatch.NewApplyOptions()
	options.EnsurePathExistsOnAdd = true
	text, err := patch.ApplyWithOptions(raw, options)
	if err != nil {
		return nil, fmt.Errorf("apply the patch: %w", err)
	}
	f, err := object.Load(ctx, "patched", strings.NewReader(string(text)), object.Limits{})
	if err != nil {
		return nil, err
	}
	if len(f.Objects) != 1 {
		return nil, errors.New("what is patched is no object")
	}
	return f.Objects[0], nil
}

// pointer writes a path as a JSON Pointer.
func pointer(p object.Path) string {
	var b strings.Builder
	for _, e := range p {
		b.WriteString("/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(fmt.Sprint(e)))
	}
	return b.String()
}
