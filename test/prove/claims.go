package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/meshvet/meshvet/lint/envoy"
	"github.com/meshvet/meshvet/lint/object"
	"github.com/meshvet/meshvet/lint/proof"
)

// claims is a proof.yaml: what Istio must make of a rule's fixtures.
type claims struct {
	Kind string `json:"kind"` // that of the rule's metadata
	// Says is, for kind envoy, what Envoy does with what Istio compiles, and Source where that is documented or was measured; for
	// kind input, why Istio never gets to see the fault.
	Says   string  `json:"says"`
	Source string  `json:"source"`
	Cases  []claim `json:"cases"`
	// Unproven are the bad cases that have no claim, each with the reason.
	Unproven map[string]string `json:"unproven"`
}

// claim is what is compared for one bad fixture and one proxy: what is compiled from the fixture as it is (before) and from
// something else (after).
type claim struct {
	Case string `json:"case"` // name of the fixture without .yaml
	Kind string `json:"kind"` // if other than the rule's
	Note string `json:"note"` // for the reader of the proof
	// Proxy sees the configuration. DNSCapture is that of the case's configuration if it is not given.
	Proxy struct {
		Type       string            `json:"type"`
		Namespace  string            `json:"namespace"`
		Labels     map[string]string `json:"labels"`
		Locality   string            `json:"locality"`
		DNSCapture *bool             `json:"dnsCapture"`
	} `json:"proxy"`
	// Beside are manifests that are in view for the proof alone.
	Beside string `json:"beside"`
	// Against says what the untouched fixture is compared with: "fixed", its .fixed.yaml; "without", itself without each field that a
	// finding of the rule points at; "swapped", the same objects created in the opposite order. Without it, kinds ignored and inert
	// are compared without the fields, the others with what is fixed.
	Against string `json:"against"`
	// Without is what is removed, as KIND/NAME or KIND/NAME PATH, instead of what the findings point at.
	Without string `json:"without"`
	// Only are the resources on which a field of kind inert does nothing. Without it, it does nothing anywhere.
	Only []string `json:"only"`
	// Shows is what is compiled from the bad fixture: by resource, "present", "absent", or values by path.
	Shows map[string]json.RawMessage `json:"shows"`
	// Changes is what differs: by resource, "BEFORE -> AFTER" or that by path. BEFORE and AFTER are values, "present" or "absent".
	Changes map[string]json.RawMessage `json:"changes"`
	// Rejects, NACK and Panics are parts of what Istio's validation, Envoy's constraints and a panic say of the bad fixture.
	Rejects string `json:"rejects"`
	NACK    string `json:"nack"`
	Panics  string `json:"panics"`
}

// readClaims reads the proof.yaml in a folder.
func readClaims(folder string) (*claims, error) {
	name := filepath.Join(folder, proof.ClaimsName)
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("read the claims: %w", err)
	}
	doc, problem := object.ParseDocument(name, data, object.Limits{})
	if problem != nil {
		return nil, fmt.Errorf("%s: %s", problem.Location, problem.Message)
	}
	js, err := json.Marshal(doc.Root())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	decoder := json.NewDecoder(bytes.NewReader(js))
	decoder.DisallowUnknownFields()
	var c claims
	if err := decoder.Decode(&c); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return &c, nil
}

// expectation is a value that a resource must have at a path before and after. A path may have [*] for any item of a list. The
// empty path is the resource itself.
type expectation struct {
	resource, path string
	before, after  string // "" = nothing is expected
}

// The words for values that are not compared.
const (
	present = "present"
	absent  = "absent"
)

// expectations reads shows, with which only before is set, or changes.
func expectations(written map[string]json.RawMessage, both bool) ([]expectation, error) {
	var out []expectation
	add := func(resource, path, value string) error {
		e := expectation{resource: resource, path: path, before: value}
		if both {
			before, after, ok := strings.Cut(value, " -> ")
			if !ok || before == after {
				return fmt.Errorf("%s %s: %q is not of the form BEFORE -> AFTER", resource, path, value)
			}
			e.before, e.after = before, after
		}
		if e.before == "" || both && e.after == "" {
			return fmt.Errorf("%s %s: a value is empty", resource, path)
		}
		out = append(out, e)
		return nil
	}
	for resource, raw := range written {
		decoder := json.NewDecoder(bytes.NewReader(raw))
		decoder.UseNumber()
		var v any
		if err := decoder.Decode(&v); err != nil {
			return nil, fmt.Errorf("%s: %w", resource, err)
		}
		fields, ok := v.(map[string]any)
		if !ok {
			fields = map[string]any{"": v}
		}
		for path, value := range fields {
			switch value.(type) {
			case map[string]any, []any, nil:
				return nil, fmt.Errorf("%s %s: a value is wanted, such as 7 or %s", resource, path, present)
			}
			if err := add(resource, path, envoy.Text(value)); err != nil {
				return nil, err
			}
		}
	}
	slices.SortFunc(out, func(a, b expectation) int {
		return strings.Compare(a.resource+"\x00"+a.path, b.resource+"\x00"+b.path)
	})
	return out, nil
}

// check says what a file of claims lacks, given the names of the bad fixtures.
func (c *claims) check(kind string, bad []string) error {
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	if c.Kind != kind {
		fault("proof.yaml says kind %q, the rule's metadata %q", c.Kind, kind)
	}
	switch {
	case kind == "input":
		if c.Says == "" || len(c.Cases) > 0 {
			fault("a proof of kind input says why Istio never sees the fault, and has no cases")
		}
		return errors.Join(faults...)
	case kind == "envoy" && (c.Says == "" || c.Source == ""):
		fault("a proof of kind envoy says what Envoy does, and names the source")
	}
	own := 0
	seen := map[string]bool{}
	for _, one := range c.Cases {
		seen[one.Case] = true
		if one.Kind == "" || one.Kind == kind {
			own++
		}
		if !slices.Contains(bad, one.Case) {
			fault("there is no bad fixture %s.yaml", one.Case)
		}
	}
	if own == 0 {
		fault("no case is of the rule's kind, %s", kind)
	}
	for name, why := range c.Unproven {
		if seen[name] || why == "" || !slices.Contains(bad, name) {
			fault("unproven: %s is to be a bad fixture that no case is about, with the reason", name)
		}
	}
	for _, name := range bad {
		if !seen[name] && c.Unproven[name] == "" {
			fault("%s.yaml is neither among the cases nor under unproven", name)
		}
	}
	return errors.Join(faults...)
}
