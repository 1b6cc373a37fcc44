package webhook

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/object"
)

// TestWarningsFit makes decisions of any size, with messages of any length and content.
func TestWarningsFit(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // the same decisions in every run
	runes := []rune("aé漢\n\x1b\u202e\x00 字")
	long := func(most int) string {
		var b strings.Builder
		for range r.IntN(most) {
			b.WriteRune(runes[r.IntN(len(runes))])
		}
		return b.String()
	}
	w := Wording{DocsURL: "https://github.com/meshvet/meshvet/blob/main/docs/rules"}
	for i := range 500 {
		d := Decision{OnError: lint.Warn}
		if i%7 == 0 {
			d.Problems = []string{long(2000), "b"}
		}
		for range r.IntN(60) {
			d.Findings = append(d.Findings, Decided{Action: lint.Warn, Weighed: Weighed{
				Caused: r.IntN(3) == 0,
				Finding: lint.Finding{
					Rule: &lint.Meta{ID: fmt.Sprintf("DR%03d", r.IntN(300)), Name: "some-rule"}, Severity: lint.Warning,
					Message: long(900), Object: object.Key{Kind: object.ServiceEntry, Namespace: "a", Name: long(300)},
					Path: object.Path{"spec", strings.Repeat("x", r.IntN(200)), r.IntN(9)},
				},
			}})
		}
		total, told := 0, 0
		got := w.warnings(&d)
		for _, line := range got {
			total += len(line)
			if len(line) > mostWarning || !utf8.ValidString(line) || strings.ContainsAny(line, "\n\x1b\x00\u202e") {
				t.Fatalf("%d bytes, valid %v: %q", len(line), utf8.ValidString(line), line)
			}
			if strings.HasPrefix(line, "DR") {
				told++
				if !strings.Contains(line, "docs/rules/DR") && len(d.Findings[told-1].Object.Name) < 100 {
					t.Fatalf("no link: %q", line)
				}
			}
		}
		if total > mostWarnings {
			t.Fatalf("%d bytes in all", total)
		}
		if told < len(d.Findings) && !strings.HasPrefix(got[len(got)-1], fmt.Sprintf("and %d more: ", len(d.Findings)-told)) {
			t.Fatalf("%d of %d findings are told, and the last line is %q", told, len(d.Findings), got[len(got)-1])
		}
	}
}

func TestDenialFits(t *testing.T) {
	d := Decision{}
	for i := range 200 {
		d.Findings = append(d.Findings, Decided{Action: lint.Deny, Weighed: Weighed{Finding: lint.Finding{
			Rule: &lint.Meta{ID: "SE103", Name: "wildcard-cannot-resolve"}, Severity: lint.Error,
			Message: strings.Repeat("m", 500), Path: object.Path{"spec", "hosts", i}, Effect: "e", Object: object.Key{Kind: object.ServiceEntry, Namespace: "web", Name: "a"},
		}}})
	}
	status := Wording{}.denial(&d, Verdict{Object: object.Key{Kind: object.ServiceEntry, Name: "a"}})
	first, _, _ := strings.Cut(status.Message, "\n")
	if !strings.HasPrefix(first, "200 errors: [SE103 wildcard-cannot-resolve] ServiceEntry web/a: spec.hosts[0]: mmm") {
		t.Errorf("first line: %q", first)
	}
	if len(status.Message) > mostMessage || len(status.Details.Causes) != mostCauses+1 {
		t.Errorf("%d bytes, %d causes", len(status.Message), len(status.Details.Causes))
	}
	if last := status.Details.Causes[mostCauses]; last.Type != moreCauses || last.Message != "and 180 more: SE103 (180)" {
		t.Errorf("the last cause: %+v", last)
	}
}
