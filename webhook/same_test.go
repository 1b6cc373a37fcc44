package webhook

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/linttest"
	"github.com/meshvet/meshvet/lint/live"
	"github.com/meshvet/meshvet/lint/mesh"
	"github.com/meshvet/meshvet/lint/object"
	"github.com/meshvet/meshvet/lint/schema"
	"github.com/meshvet/meshvet/test/prove/agree"
)

var (
	sameSeeds = flag.Uint64("same-seeds", 20, "how many random meshes, and mixtures of fixtures, TestSameAnswers judges")
	sameMost  = flag.Int("same-most", 2, "how many objects of a mesh TestSameAnswers admits")
)

// sameMesh is a mesh in both views: the objects as an API server holds them, in the order of their creation.
type sameMesh struct {
	name    string
	config  lint.Config
	objects []map[string]any
}

// TestSameAnswers: what the webhook says of an object that is admitted last is what the command line says of it, if the whole mesh is
// in its files: the same findings, of the same weight, at the same fields, with the same words and fixes. Only places in files are
// apart, and what the API server would have refused or pruned.
//
// The index has seen the objects in any order, with older versions and other objects in between.
func TestSameAnswers(t *testing.T) {
	all, err := realRules()
	if err != nil {
		t.Fatal(err)
	}
	validator, err := schema.New("")
	if err != nil {
		t.Fatal(err)
	}
	meshes := sameMeshes(t, all, validator)
	var mu sync.Mutex
	admitted, found := 0, 0
	t.Run("", func(t *testing.T) {
		for i, m := range meshes {
			t.Run(m.name, func(t *testing.T) {
				t.Parallel()
				n, f := m.compare(t, all, rand.New(rand.NewPCG(uint64(i), 3)))
				mu.Lock()
				defer mu.Unlock()
				admitted, found = admitted+n, found+f
			})
		}
	})
	t.Logf("%d meshes, %d objects admitted, %d findings", len(meshes), admitted, found)
	if found < 1000 {
		t.Error("too little is found")
	}
}

// sameMeshes are the fixtures of all rules, cases and repositories beside the repository if there are any, and random meshes.
func sameMeshes(t *testing.T, all []lint.Rule, validator *schema.Validator) []sameMesh {
	t.Helper()
	var out []sameMesh
	add := func(name string, cfg lint.Config, files, around []*object.File) {
		cfg.Complete = lint.AllKinds()
		for _, r := range all {
			cfg.Enable = append(cfg.Enable, r.ID)
		}
		e, err := lint.New(all, &cfg)
		if err != nil {
			t.Fatal(err)
		}
		in := lint.Input{Files: files, Around: around}
		meshes, _, err := e.Meshes(in)
		if err != nil {
			t.Fatal(err)
		}
		for _, scope := range meshes {
			m := sameMesh{name: strings.TrimSuffix(name+" "+scope.Name, " "), config: cfg}
			m.config.Scopes = nil
			for _, f := range slices.Concat(around, files) {
				if slices.Contains(scope.Files, f.Name) {
					for _, o := range f.Objects {
						if scope.Index.Get(o.Key) == o {
							m.add(t, validator, o)
						}
					}
				}
			}
			// In a cluster a namespace exists for itself, and not because something is in it that the index does not hold.
			if ns := scope.Index.Settings().RootNamespace; scope.Index.Count(object.ConfigMap) > 0 && scope.Index.Get(object.Key{Kind: object.Namespace, Name: ns}) == nil {
				m.objects = append(m.objects, map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": ns}})
			}
			if len(m.objects) > 0 {
				out = append(out, m)
			}
		}
	}
	var pool []*object.File
	err := linttest.EachFile("../rules/testdata", "../policies/testdata", all, func(c linttest.Case, f *object.File) {
		add(f.Name, *c.Config, []*object.File{f}, c.Context)
		pool = append(pool, f)
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range glob(t, "../../shared/cases/*.yaml") {
		f := loadFile(t, path)
		add(path, lint.Config{}, []*object.File{f}, nil)
		pool = append(pool, f)
	}
	for _, dir := range glob(t, "../../shared/corpus/*") {
		var files []*object.File
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() && slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(path)) {
				files = append(files, loadFile(t, path))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		add(dir, lint.Config{}, files, nil)
	}
	for seed := range *sameSeeds {
		m, err := agree.Random(seed)
		if err != nil {
			t.Fatal(err)
		}
		var cfg lint.Config
		if cfg.Mesh, err = m.Settings(); err != nil {
			t.Fatal(err)
		}
		add(m.Name, cfg, []*object.File{m.File}, nil)
		d := rand.New(rand.NewPCG(seed, 1))
		var files []*object.File
		for range 2 + d.IntN(3) {
			if f := pool[d.IntN(len(pool))]; !slices.Contains(files, f) {
				files = append(files, f)
			}
		}
		add(fmt.Sprintf("mixture %d", seed), lint.Config{}, files, nil)
	}
	return out
}

func loadFile(t *testing.T, path string) *object.File {
	t.Helper()
	f, err := linttest.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func glob(t *testing.T, pattern string) []string {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

// add takes an object into the mesh as the API server would: in a namespace, without fields that its schema does not know, and not at
// all if it is refused.
func (m *sameMesh) add(t *testing.T, validator *schema.Validator, o *object.Object) {
	t.Helper()
	raw, ok := o.Root().Any().(map[string]any)
	meta, isMap := raw["metadata"].(map[string]any)
	if !ok || !isMap || o.Name == "" {
		return
	}
	if o.Kind != object.Namespace && o.Namespace == "" {
		meta["namespace"] = "default"
	}
	delete(meta, "creationTimestamp")
	if o.Kind.Judged() {
		for round := 0; ; round++ {
			violations, err := validator.Validate(context.Background(), string(o.Kind), raw)
			if err != nil {
				t.Fatal(err)
			}
			pruned := false
			for _, v := range violations {
				if v.Kind != schema.UnknownField || round == 20 {
					return
				}
				pruned = prune(raw, v.Path) || pruned
			}
			if !pruned {
				break
			}
		}
	}
	if len(m.objects)%4 == 1 { // somebody has accepted what is found often
		annotations, _ := meta["annotations"].(map[string]any)
		if annotations == nil {
			annotations = map[string]any{}
			meta["annotations"] = annotations
		}
		annotations["meshvet.dev/ignore"], annotations["meshvet.dev/ignore-reason"] = "SE118,DR204,DR219,MX306", "accepted"
	}
	m.objects = append(m.objects, raw)
}

// prune removes the field at a path.
func prune(raw map[string]any, path object.Path) bool {
	var at any = raw
	for i, e := range path {
		switch e := e.(type) {
		case string:
			in, ok := at.(map[string]any)
			if !ok {
				return false
			}
			if i == len(path)-1 {
				_, had := in[e]
				delete(in, e)
				return had
			}
			at = in[e]
		case int:
			list, ok := at.([]any)
			if !ok || e >= len(list) {
				return false
			}
			at = list[e]
		}
	}
	return false
}

// compare admits objects of the mesh, each as the youngest, and returns how many and how much was found.
func (m *sameMesh) compare(t *testing.T, all []lint.Rule, d *rand.Rand) (admitted, found int) {
	t.Helper()
	rs, err := newRuleset(all, &m.config, "test")
	if err != nil {
		t.Fatal(err)
	}
	var judged []int
	for i, raw := range m.objects {
		if kind, _ := raw["kind"].(string); object.Kind(kind).Judged() {
			judged = append(judged, i)
		}
	}
	d.Shuffle(len(judged), func(i, j int) { judged[i], judged[j] = judged[j], judged[i] })
	for _, last := range judged[:min(len(judged), *sameMost)] {
		order := append(slices.Delete(slices.Clone(m.objects), last, last+1), m.objects[last])
		for _, dated := range []bool{true, false} {
			if dated {
				for i, raw := range order {
					order[i] = withTime(raw, time.Date(2026, 1, 1, 0, 0, i, 0, time.UTC).Format(time.RFC3339))
				}
			} else {
				order = append(slices.Delete(slices.Clone(m.objects), last, last+1), m.objects[last])
			}
			want, err := fromFiles(rs.engine, order)
			if err != nil {
				t.Fatal(err)
			}
			got, err := m.fromWebhook(rs, order, d)
			if err != nil {
				t.Fatal(err)
			}
			alignAbridged(want, got)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s, dated %v (-files +webhook):\n%s", nameOf(order[len(order)-1]), dated, diff)
			}
			admitted, found = admitted+1, found+len(want)
		}
	}
	return admitted, found
}

// alignAbridged cuts the lines of findings of which a text was too long on one side: places take more room there, so that the middle is left
// out, or another part of it.
func alignAbridged(want, got []string) {
	const kept = 250 // less than what is left of a text in front of the gap, once places are replaced
	for i := range min(len(want), len(got)) {
		if !strings.Contains(want[i]+got[i], "[…]") {
			continue
		}
		for _, text := range []*string{&want[i], &got[i]} {
			lines := strings.Split(*text, "\n")
			for j, line := range lines {
				lines[j] = line[:min(len(line), kept)]
			}
			*text = strings.Join(lines, "\n")
		}
	}
}

func withTime(raw map[string]any, at string) map[string]any {
	out, meta := map[string]any{}, map[string]any{}
	for k, v := range raw {
		out[k] = v
	}
	if old, ok := raw["metadata"].(map[string]any); ok {
		for k, v := range old {
			meta[k] = v
		}
	}
	meta["creationTimestamp"] = at
	out["metadata"] = meta
	return out
}

func nameOf(raw map[string]any) string {
	meta, _ := raw["metadata"].(map[string]any)
	return fmt.Sprintf("%v %v/%v", raw["kind"], meta["namespace"], meta["name"])
}

// fromFiles is what the command line finds on the last of some objects.
func fromFiles(e *lint.Engine, objects []map[string]any) ([]string, error) {
	var text strings.Builder
	for _, raw := range objects {
		js, err := json.Marshal(raw)
		if err != nil {
			return nil, err
		}
		text.WriteString("---\n" + string(js) + "\n")
	}
	f, err := object.Load(context.Background(), "mesh.yaml", strings.NewReader(text.String()), object.Limits{})
	if err != nil {
		return nil, err
	}
	r, err := e.Lint(context.Background(), lint.Input{Files: []*object.File{f}})
	if err != nil {
		return nil, err
	}
	last := f.Objects[len(f.Objects)-1]
	if len(f.Objects) != len(objects) {
		return nil, fmt.Errorf("%d objects are read of %d", len(f.Objects), len(objects))
	}
	var out []string
	for i := range r.Findings {
		if r.Findings[i].Object == last.Key && r.Findings[i].Rule.View != lint.ViewFiles {
			out = append(out, wordsOf(&r.Findings[i], false))
		}
	}
	for i := range r.Suppressed {
		if r.Suppressed[i].Object == last.Key {
			out = append(out, wordsOf(&r.Suppressed[i].Finding, true))
		}
	}
	slices.Sort(out)
	return out, nil
}

// fromWebhook is what the webhook finds on the last of some objects when it is admitted.
func (m *sameMesh) fromWebhook(rs *ruleset, objects []map[string]any, d *rand.Rand) ([]string, error) {
	now := objects[len(objects)-1]
	var old map[string]any
	op := admissionv1.Create
	if d.IntN(2) == 0 {
		op, old = admissionv1.Update, edited(now)
	}
	ix := NewIndex(m.config.Mesh)
	if err := feed(ix, rs.config.Mesh, append(slices.Clone(objects[:len(objects)-1]), old), d); err != nil {
		return nil, err
	}
	req := &admissionv1.AdmissionRequest{Operation: op}
	meta, _ := now["metadata"].(map[string]any)
	req.Namespace, _ = meta["namespace"].(string)
	var err error
	if req.Object.Raw, err = json.Marshal(now); err != nil {
		return nil, err
	}
	if old != nil {
		if req.OldObject.Raw, err = json.Marshal(old); err != nil {
			return nil, err
		}
	}
	c, err := readChange(req)
	if err != nil {
		return nil, err
	}
	v, _, err := judge(context.Background(), rs.engine, &rs.config.Admission, ix.Snapshot(), c)
	if err != nil {
		return nil, err
	}
	var out []string
	for i := range v.Findings {
		if w := &v.Findings[i]; w.Object == c.object.Key && !w.Caused {
			out = append(out, wordsOf(&w.Finding, w.Suppressed))
		}
	}
	slices.Sort(out)
	return out, nil
}

// edited is an object as it may have been before.
func edited(raw map[string]any) map[string]any {
	out := map[string]any{}
	for k, v := range raw {
		out[k] = v
	}
	if raw["kind"] == "DestinationRule" {
		out["spec"] = map[string]any{"host": "before.example.com"}
	} else {
		out["spec"] = map[string]any{"hosts": []any{"before.example.com"}, "ports": []any{map[string]any{"number": int64(80), "name": "http", "protocol": "HTTP"}}}
	}
	return out
}

// feed lets an index see objects as watches bring them: in any order, with earlier versions, and with objects that go again.
func feed(ix *Index, settings mesh.Settings, objects []map[string]any, d *rand.Rand) error {
	type event struct {
		object *object.Object
		gone   bool
	}
	var events []event
	config := false
	for _, raw := range objects {
		if raw == nil {
			continue
		}
		through := func(raw map[string]any) (*object.Object, error) {
			js, err := json.Marshal(raw)
			if err != nil {
				return nil, err
			}
			var req admissionv1.AdmissionRequest
			req.Object.Raw = js
			sent, err := decode(req.Object)
			if err != nil {
				return nil, err
			}
			return live.Object(sent)
		}
		o, err := through(raw)
		if err != nil {
			return fmt.Errorf("%s: %w", nameOf(raw), err)
		}
		if o.Kind == object.ConfigMap {
			// The watch is for one name; here it is the one that the command line takes.
			found, _ := mesh.FindMeshConfig([]*object.Object{o}, rootNamespace(&settings))
			if config || !found.Set() {
				continue
			}
			config = true
		}
		list := []event{{object: o}}
		if d.IntN(3) == 0 {
			before, err := through(edited(raw))
			if err != nil {
				return err
			}
			list = append([]event{{object: before}}, list...)
			if d.IntN(2) == 0 {
				list = slices.Insert(list, 1, event{object: o, gone: true})
			}
		}
		if d.IntN(6) == 0 && o.Kind.Judged() {
			other := edited(raw)
			meta, _ := raw["metadata"].(map[string]any)
			other["metadata"] = map[string]any{"name": fmt.Sprint(meta["name"], "-gone"), "namespace": meta["namespace"]}
			passing, err := through(other)
			if err != nil {
				return err
			}
			list = append(list, event{object: passing}, event{object: passing, gone: true})
		}
		// Events of one object stay in order; those of others come in between.
		at := 0
		for _, e := range list {
			at += d.IntN(len(events) - at + 1)
			events = slices.Insert(events, at, e)
			at++
		}
	}
	for _, e := range events {
		if d.IntN(4) == 0 {
			ix.Snapshot()
		}
		if e.gone {
			ix.Delete(e.object.Key)
		} else {
			ix.Put(e.object)
		}
	}
	for _, k := range lint.AllKinds() {
		ix.SetComplete(k, true)
	}
	return nil
}

// wordsOf writes all that a finding says but for places in files.
func wordsOf(f *lint.Finding, suppressed bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s %s: %s\neffect: %s", f.Rule.ID, f.Severity, f.Path, f.Message, f.Effect)
	if suppressed {
		b.WriteString("\nsuppressed")
	}
	for _, r := range f.Related {
		fmt.Fprintf(&b, "\nrelated: %s %s: %s", r.Object, r.Path, r.Message)
	}
	for _, fix := range f.Fixes {
		fmt.Fprintf(&b, "\n%s fix: %s", fix.Safety, fix.Title)
		for _, op := range fix.Ops {
			value, err := json.Marshal(op.Value)
			fmt.Fprintf(&b, "\n  %s %s %s %v", op.Kind, op.Path, value, err)
		}
		if fix.Create != nil {
			value, err := json.Marshal(fix.Create.Object)
			fmt.Fprintf(&b, "\n  create %s %v", value, err)
		}
	}
	fmt.Fprintf(&b, "\nabout: %v", f.Subject)
	return places.ReplaceAllString(b.String(), "PLACE")
}

// places are those in the files of one side, and what the other says instead.
var places = regexp.MustCompile(`mesh\.yaml:\d+:\d+|cluster:[^ )]+|\bline \d+|\bat spec[.][^ );,]+`)
