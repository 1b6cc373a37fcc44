package object

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestItemsOfTypedList holds that an item is what it would be if it stood alone with the kind of its list, at the places of
// the list.
func TestItemsOfTypedList(t *testing.T) {
	f := load(t, `apiVersion: networking.istio.io/v1
kind: ServiceEntryList
metadata: {resourceVersion: "1"}
items:
- metadata: {name: a, labels: {"\u0061": "\u0062"}}
  spec: {hosts: &h ["a.example.com", 'b'], ports: [{number: 1}, {number: 2}]}
- kind:
  spec: {hosts: *h}
  metadata:
    name: b
- {apiVersion: networking.istio.io/v1beta1, kind: ServiceEntry, metadata: {name: whole}}
- {apiVersion: networking.istio.io/v1, metadata: {name: half}}
- {kind: DestinationRule, metadata: {name: other half}}
- []
- text
`)
	found := func(o *Object, p Path) string {
		l := o.Locate(p)
		return fmt.Sprintf("%s %q", rangeText(l), f.textOf(l.Range))
	}
	want := []string{
		`ServiceEntry a networking.istio.io/v1 false 5:3-5:52 "metadata: {name: a, labels: {\"\\u0061\": \"\\u0062\"}}"`,
		`ServiceEntry b networking.istio.io/v1 false 7:3-7:8 "kind:"`,
		`ServiceEntry whole networking.istio.io/v1beta1 false 11:51-11:63 "ServiceEntry"`,
		`DestinationRule other half  true 13:10-13:25 "DestinationRule"`,
	}
	var got []string
	for _, o := range f.Objects {
		got = append(got, fmt.Sprintf("%s %s %t %s", o.Key, o.APIVersion, o.Stray, found(o, nil)))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	wantValue := map[string]any{
		"apiVersion": "networking.istio.io/v1", "kind": "ServiceEntry",
		"metadata": map[string]any{"name": "a", "labels": map[string]any{"a": "b"}},
		"spec": map[string]any{
			"hosts": []any{"a.example.com", "b"},
			"ports": []any{map[string]any{"number": int64(1)}, map[string]any{"number": int64(2)}},
		},
	}
	if diff := cmp.Diff(any(wantValue), f.Objects[0].Root().Any()); diff != "" {
		t.Errorf("item (-want +got):\n%s", diff)
	}
	for path, want := range map[string]string{
		"kind":                 `2:7-2:23 "ServiceEntryList"`,
		"apiVersion":           `1:13-1:35 "networking.istio.io/v1"`,
		"spec.hosts[1]":        `6:38-6:41 "'b'"`,
		"spec.ports[1].number": `6:74-6:75 "2"`,
	} {
		if got := found(f.Objects[0], ParsePath(path)); got != want {
			t.Errorf("%s is at %s, want %s", path, got, want)
		}
	}
	if got := f.Objects[1].Root().Len(); got != 4 {
		t.Errorf("item with a null kind has %d fields, want 4", got)
	}
}
