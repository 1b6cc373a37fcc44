package policies_test

import (
	"bytes"
	"context"
	"os"
	"testing"

	"github.com/meshvet/meshvet/lint/policy"
	"github.com/meshvet/meshvet/policies"
)

func TestUnitTests(t *testing.T) {
	results, err := policy.RunUnitTests(context.Background(), policies.FS)
	if err != nil {
		t.Fatal(err)
	}
	if len(results) == 0 {
		t.Error("no test_ rule was found")
	}
	for _, r := range results {
		if r.Err != nil {
			t.Errorf("%s: %s: %s", r.Place, r.Name, r.Err)
		}
	}
}

// The file is for `opa check --capabilities` and editors; `make generate` writes it.
func TestCapabilitiesAreCurrent(t *testing.T) {
	want, err := policy.CapabilitiesJSON()
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("capabilities.json")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("capabilities.json is stale; run make generate")
	}
}
