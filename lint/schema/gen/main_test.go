package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestGeneratedFileIsCurrent(t *testing.T) {
	want, err := generate(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../crd_gen.go")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("lint/schema/crd_gen.go is not what istio.io/api of go.mod gives; run go generate ./lint/schema (-want +got):\n%s", diff)
	}
}

func crdText(t *testing.T) []byte {
	t.Helper()
	dir, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", apiModule).Output()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), filepath.FromSlash(crdFile)))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestUnexpectedSchemas changes the CRDs in ways that the tables cannot say.
func TestUnexpectedSchemas(t *testing.T) {
	text := crdText(t)
	entry := bytes.Index(text, []byte("kind: ServiceEntry\n"))
	if entry < 0 {
		t.Fatal("no ServiceEntry")
	}
	// change replaces the first (or every) occurrence after the name of the CRD.
	change := func(old, now string, n int) []byte {
		if !bytes.Contains(text[entry:], []byte(old)) {
			t.Fatalf("the CRD has no %q", old)
		}
		return append(bytes.Clone(text[:entry]), bytes.Replace(text[entry:], []byte(old), []byte(now), n)...)
	}
	limit := regexp.MustCompile(`(?m)^( +)maxLength: 64\n +type: string$`)
	if !limit.Match(text[entry:]) {
		t.Fatal("the CRD has no string of at most 64 characters")
	}
	// items replaces the schema of an address in every version.
	items := func(now string) []byte {
		return append(bytes.Clone(text[:entry]), limit.ReplaceAll(text[entry:], []byte(now))...)
	}
	tests := []struct {
		name string
		text []byte
		want string
	}{
		{"the versions differ", change("maxLength: 64", "maxLength: 65", 1), "the schema of version v1alpha3 differs from the one of v1"},
		{"a default", items("${1}default: x\n${1}type: string"), "spec.addresses[]: a default value"},
		{"a keyword of a later Kubernetes", items("${1}x-kubernetes-new: 1\n${1}type: string"), "do not know all of versions[0].schema.openAPIV3Schema.properties.spec.properties.addresses.items.x-kubernetes-new"},
		{"a limit of zero", items("${1}maxLength: 0\n${1}type: string"), "spec.addresses[]: maxLength is 0"},
		{"an unknown type", items("${1}type: text"), `type "text"`},
		{"a field that Istio does not have", change(" addresses:\n", " adresses:\n", -1), "field adresses is not in Istio's istio.networking.v1alpha3.ServiceEntry"},
		{"another scope", change("scope: Namespaced", "scope: Cluster", 1), "scope is Cluster"},
		{"no status subresource", change("    subresources:\n      status: {}\n", "", 1), "no status subresource"},
		{"no CRD", text[:entry], "no CustomResourceDefinition of ServiceEntry"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := render("v0.0.0", tt.text); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}

// TestKeptForTheLibrary adds a constraint that the tables do not decide.
func TestKeptForTheLibrary(t *testing.T) {
	text := regexp.MustCompile(`(?m)^( +)maxLength: 64$`).ReplaceAll(crdText(t), []byte("${1}maxLength: 64\n${1}pattern: ^a+$$"))
	src, err := render("v0.0.0", text)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(src, []byte("more: \"{\\\"pattern\\\":\\\"^a+$\\\"}\"")) && !bytes.Contains(src, []byte("more: `{\"pattern\":\"^a+$\"}`")) {
		t.Errorf("the pattern is not kept:\n%s", src)
	}
	if !bytes.Contains(src, []byte(`const apiVersion = "v0.0.0"`)) {
		t.Error("the version is not kept")
	}
}
