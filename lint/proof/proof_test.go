package proof_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/meshvet/meshvet/lint/proof"
)

func TestText(t *testing.T) {
	want := &proof.Golden{
		Rule: "DR202 port-level-resets", Kind: "changes", Istio: "v0", Inputs: "sha256:00", Notes: []string{"one: two"},
		Cases: []proof.Case{
			{"bad.yaml, sidecar in namespace a", []string{"  cluster outbound|443||a.example.com", "-   connect_timeout: 10s", "+   connect_timeout: 1s"}},
			{"bad_two.yaml with creation times swapped, sidecar", []string{"  nothing changes"}},
		},
	}
	text := want.Text()
	got, err := proof.Parse(strings.ReplaceAll(text, "\n", "\r\n"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s\n%s", diff, text)
	}
	if a, b := got.Cases[0].File(), got.Cases[1].File(); a != "bad.yaml" || b != "bad_two.yaml" {
		t.Errorf("files %q and %q", a, b)
	}
	for _, broken := range []string{"", "rule: a\nkind: b\n", "rule\n", "rule: a\nkind: b\ninputs: c\nextra: d\n"} {
		if _, err := proof.Parse(broken); err == nil {
			t.Errorf("%q was read", broken)
		}
	}
}

// A proof counts as long as nothing that it rests on has changed.
func TestCheck(t *testing.T) {
	folder := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	check := func(want string) {
		t.Helper()
		err := proof.Check(folder, "DR1 x", "changes")
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "make prove")) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	prove := func(rule, kind string) {
		t.Helper()
		inputs, err := proof.Inputs(folder)
		if err != nil {
			t.Fatal(err)
		}
		write(proof.GoldenName, (&proof.Golden{Rule: rule, Kind: kind, Inputs: inputs}).Text())
	}
	write("bad.yaml", "kind: ServiceEntry\n")
	check("has no proof.yaml")
	write(proof.ClaimsName, "kind: changes\n")
	check("has no proof.golden")
	write(proof.GoldenName, "x")
	check("the head has")
	prove("DR1 x", "changes")
	check("")
	write("good.yaml", "kind: ServiceEntry\n")
	write("bad.yaml", "kind: ServiceEntry\r\n")
	check("")
	for _, name := range []string{"bad.yaml", "bad.fixed.yaml", "context.yaml", "bad.context.yaml", "bad.config.yaml", proof.ClaimsName} {
		write(name, "kind: DestinationRule # "+name+"\n")
		check("have changed")
		prove("DR1 x", "changes")
		check("")
	}
	if err := os.Remove(filepath.Join(folder, "bad.fixed.yaml")); err != nil {
		t.Fatal(err)
	}
	check("have changed")
	prove("DR1 x", "ignored")
	check("is of kind ignored")
	prove("DR2 y", "changes")
	check(`is that of "DR2 y"`)
}
