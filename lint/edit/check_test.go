package edit

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	sigsyaml "sigs.k8s.io/yaml"

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

// faultOf says what is wrong with the edits that Lower gave for operations on an object of a file, "" if nothing is. What the guard
// looks at is looked at again, in the whole file and in another way.
func faultOf(f *object.File, i int, ops []lint.Op, edits []Edit) (after, fault string) {
	text := f.Text()
	o := f.Objects[i]
	done := 0
	for _, e := range edits {
		if e.Start < done || e.End < e.Start || e.End > len(text) {
			return "", fmt.Sprintf("edits %v are not in order, or not in the text of %d bytes", edits, len(text))
		}
		if e.Text == text[e.Start:e.End] {
			return "", fmt.Sprintf("edit %v changes nothing", e)
		}
		done = e.End
	}
	after, err := Apply(text, edits)
	if err != nil {
		return "", err.Error()
	}
	// Outside of the edits all is as it was.
	from, shift := 0, 0
	for _, e := range append(slices.Clone(edits), Edit{Start: len(text)}) {
		if got := after[from+shift : e.Start+shift]; got != text[from:e.Start] {
			return "", fmt.Sprintf("bytes %d to %d have changed", from, e.Start)
		}
		from, shift = e.End, shift+len(e.Text)-(e.End-e.Start)
	}
	g, err := object.Load(context.Background(), f.Name, strings.NewReader(after), object.Limits{})
	if err != nil {
		return after, err.Error()
	}
	want, err := patched(o.Root(), ops)
	if err != nil {
		return after, "was made although the operations do not fit: " + err.Error()
	}
	if want, err = plainNumbers(want); err != nil {
		return after, err.Error()
	}
	raw, _ := want.(map[string]any)
	stays, err := object.FromMap(raw)
	if err != nil {
		return after, err.Error()
	}
	if g.Documents != f.Documents || len(g.Problems) != len(f.Problems) {
		return after, fmt.Sprintf("%d documents and %d problems where there were %d and %d", g.Documents, len(g.Problems), f.Documents, len(f.Problems))
	}
	if stays == nil || stays.Kind != o.Kind || g.Template != nil {
		return after, ""
	}
	if len(g.Objects) != len(f.Objects) {
		return after, fmt.Sprintf("%d objects where there were %d", len(g.Objects), len(f.Objects))
	}
	for k, x := range g.Objects {
		was := f.Objects[k].Root().Any()
		if k == i {
			was = want
		}
		if diff := cmp.Diff(was, x.Root().Any()); diff != "" {
			return after, fmt.Sprintf("object %d (%d is changed) differs (-want +got):\n%s", k, i, diff)
		}
	}
	// Kubernetes' reader has to agree.
	if _, start, end, ok := g.Objects[i].Document(); ok && !strings.HasPrefix(strings.TrimLeft(after[start:end], " \r\n\t"), "{") {
		js, err := sigsyaml.YAMLToJSON([]byte(after[start:end]))
		if err != nil {
			return after, "Kubernetes' reader: " + err.Error()
		}
		root, _, _, _ := g.Objects[i].Document()
		got, err := decodeJSON(js)
		if err == nil {
			got, err = plainNumbers(got)
		}
		if err != nil {
			return after, err.Error()
		}
		if diff := cmp.Diff(got, root.Any()); diff != "" {
			return after, "Kubernetes' reader (-) has other values than ours (+):\n" + diff
		}
	}
	before, start, end, _ := o.Document()
	now, s, e, _ := g.Objects[i].Document()
	if a, b := commentTexts(text[start:end], before, start), commentTexts(after[s:e], now, s); !reflect.DeepEqual(a, b) {
		return after, "comments have changed: " + cmp.Diff(a, b)
	}
	return after, ""
}

// lower is Lower with its result looked at. ok is false if the change is refused.
func lower(t testing.TB, f *object.File, i int, ops []lint.Op) (after string, ok bool) {
	t.Helper()
	edits, err := Lower(f.Objects[i], ops)
	if err != nil {
		var r *Refusal
		if !errors.As(err, &r) || r.Reason == "" || r.At.File == "" {
			t.Errorf("%v: the error is no refusal with reason and place: %v", ops, err)
		}
		return err.Error(), false
	}
	after, fault := faultOf(f, i, ops, edits)
	if fault != "" {
		t.Errorf("%v of object %d in\n%s\ngives\n%s\nby %v: %s", ops, i, f.Text(), after, edits, fault)
	}
	return after, true
}
