package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const comparedFolder = "examples/compared-to-istioctl"

var (
	comparedBlock = regexp.MustCompile("(?s)<!-- (manifest|recorded|output) of: (.*?) -->\n```(?:yaml|text)\n(.*?)```")
	recordedFirst = regexp.MustCompile(`^istio\.io/istio (\S+); SHA-256 of the manifest and what is beside it ([0-9a-f]{64})\n`)
	comparedRow   = regexp.MustCompile(`(?m)^\| \[([a-z-]+)\]\(#[a-z0-9-]+\) \| (.*?) \| (.*?) \|`)
	istioctlCode  = regexp.MustCompile(`IST\d{4}`)
	ruleID        = regexp.MustCompile(`\b(?:SE|DR|MX|MV)\d{3}\b`)
	comparedTable = regexp.MustCompile(`(?s)<!-- table of: (.*?) -->\n(.*?)<!-- end of table -->`)
	validateLine  = regexp.MustCompile(`(?m)^\t\* (\w+)/(\S+)/(\S+): (.*)$`)
	oracleIstio   = regexp.MustCompile(`(?m)^\s*(?:require )?istio\.io/istio (\S+)`)
)

// The page shows the manifests as they are, what istioctl said when it was recorded, and what meshvet says now.
func TestComparedToIstioctl(t *testing.T) {
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	page := filepath.Join(root, "docs", "compared-to-istioctl.md")
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	var fresh []byte
	kept := 0
	shown := map[string][]string{}
	outputs := map[string]string{}
	for _, m := range comparedBlock.FindAllSubmatchIndex(text, -1) {
		kind, of := string(text[m[2]:m[3]]), string(text[m[4]:m[5]])
		t.Run(kind+" "+of, func(t *testing.T) { // which returns to the folder that the test began in
			var want string
			switch kind {
			case "manifest":
				want = readBeside(t, root, of+".yaml")
			case "recorded":
				want = recordedFirst.ReplaceAllString(readBeside(t, root, of+".istio.txt"), "")
				want = strings.TrimPrefix(want, "\n")
			case "output":
				want, _ = runAtRoot(t, strings.Fields(strings.TrimPrefix(of, "meshvet "))...)
				if want == "" {
					t.Error("the program prints nothing at all")
				}
				of = strings.TrimSuffix(filepath.Base(of), ".yaml")
				outputs[of] = want
			}
			shown[kind] = append(shown[kind], of)
			if got := string(text[m[6]:m[7]]); got != want && !*update {
				t.Errorf("the page shows\n%s\nit should be\n%s\n(run the test with -update)", got, want)
			}
			fresh = append(append(fresh, text[kept:m[6]]...), want...)
			kept = m[7]
		})
	}
	for _, kind := range []string{"manifest", "recorded", "output"} {
		if names := slices.Sorted(slices.Values(shown[kind])); !slices.Equal(names, comparedNames(t, root)) {
			t.Errorf("the page has the %s of %v, and the folder %v", kind, names, comparedNames(t, root))
		}
	}
	fresh = append(fresh, text[kept:]...)
	tables := comparedTable.FindAllSubmatchIndex(fresh, -1)
	if len(tables) != 1 {
		t.Fatalf("the page has %d tables of refusals, want 1", len(tables))
	}
	m := tables[0]
	want := refusals(t, root, string(fresh[m[2]:m[3]]))
	if got := string(fresh[m[4]:m[5]]); got != want && !*update {
		t.Errorf("the page shows\n%s\nit should be\n%s\n(run the test with -update)", got, want)
	}
	checkOverview(t, root, string(fresh), outputs)
	if *update {
		if err := os.WriteFile(page, slices.Concat(fresh[:m[4]], []byte(want), fresh[m[5]:]), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// checkOverview holds the first table of the page against what was recorded, and what the program says.
func checkOverview(t *testing.T, root, page string, outputs map[string]string) {
	t.Helper()
	rows := comparedRow.FindAllStringSubmatch(page, -1)
	var names []string
	for _, m := range rows {
		names = append(names, m[1])
		recorded := readBeside(t, root, m[1]+".istio.txt")
		if got, want := codes(istioctlCode, m[2]), codes(istioctlCode, recorded); !slices.Equal(got, want) {
			t.Errorf("the table says that istioctl says %v of %s, and it said %v", got, m[1], want)
		}
		var found []string
		for _, f := range ruleInBrackets.FindAllStringSubmatch(outputs[m[1]], -1) {
			found = append(found, f[1])
		}
		if got, want := codes(ruleID, m[3]), codes(ruleID, strings.Join(found, " ")); !slices.Equal(got, want) {
			t.Errorf("the table says that meshvet says %v of %s, and it says %v", got, m[1], want)
		}
		if silent := strings.HasPrefix(m[3], "silent"); silent != (len(found) == 0) {
			t.Errorf("the table says %q of %s, and meshvet says %v", m[3], m[1], found)
		}
	}
	if slices.Sort(names); !slices.Equal(names, comparedNames(t, root)) {
		t.Errorf("the table has %v, and the folder %v", names, comparedNames(t, root))
	}
}

func codes(of *regexp.Regexp, text string) []string {
	return slices.Compact(slices.Sorted(slices.Values(of.FindAllString(text, -1))))
}

// refusals are the rows, by object, of what istioctl validate said of a manifest and what meshvet calls an error of it.
func refusals(t *testing.T, root, name string) string {
	t.Helper()
	type row struct{ istioctl, meshvet []string }
	rows := map[string]*row{}
	var objects []string
	for _, m := range validateLine.FindAllStringSubmatch(readBeside(t, root, name+".istio.txt"), -1) {
		object := m[1] + " " + m[3]
		if rows[object] == nil {
			rows[object] = &row{}
			objects = append(objects, object)
		}
		rows[object].istioctl = append(rows[object].istioctl, m[4])
	}
	out, _ := runAtRoot(t, "lint", "--config", os.DevNull, "--severity", "error", "--format", "json", comparedFolder+"/"+name+".yaml")
	var report struct {
		Findings []struct {
			ID, Message string
			Object      struct{ Kind, Name string }
			Location    struct{ Line, Column int }
		}
	}
	if err := json.Unmarshal([]byte(out), &report); err != nil {
		t.Fatal(err)
	}
	for _, f := range report.Findings {
		r := rows[f.Object.Kind+" "+f.Object.Name]
		if r == nil {
			t.Errorf("%s is fine for istioctl, and %s says: %s", f.Object.Name, f.ID, f.Message)
			continue
		}
		r.meshvet = append(r.meshvet, fmt.Sprintf("%d:%d %s (%s)", f.Location.Line, f.Location.Column, f.Message, f.ID))
	}
	text := "| object | istioctl | meshvet |\n| --- | --- | --- |\n"
	for _, object := range objects {
		r := rows[object]
		if len(r.meshvet) == 0 {
			t.Errorf("meshvet has nothing against %s", object)
		}
		text += fmt.Sprintf("| %s | %s | %s |\n", object, strings.Join(r.istioctl, "<br>"), strings.Join(r.meshvet, "<br>"))
	}
	return text
}

// What istioctl said was said of the manifests as they are now, by the version of Istio that the proofs are made with.
func TestComparedRecordingsAreOfTheseManifests(t *testing.T) {
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	module, err := os.ReadFile(filepath.Join(root, "test", "oracle", "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	version := oracleIstio.FindSubmatch(module)
	if version == nil {
		t.Fatal("test/oracle/go.mod requires no istio.io/istio")
	}
	for _, name := range comparedNames(t, root) {
		recorded := recordedFirst.FindStringSubmatch(readBeside(t, root, name+".istio.txt"))
		if recorded == nil {
			t.Errorf("%s.istio.txt does not say of what it is", name)
			continue
		}
		if recorded[1] != string(version[1]) {
			t.Errorf("%s.istio.txt is of istio.io/istio %s, and the oracle of %s: run make compared", name, recorded[1], version[1])
		}
		var all bytes.Buffer
		for _, suffix := range []string{".yaml", ".mesh.yaml", ".status.yaml", ".show.txt"} {
			part, err := os.ReadFile(filepath.Join(root, comparedFolder, name+suffix))
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				t.Fatal(err)
			}
			all.Write(part)
		}
		if sum := fmt.Sprintf("%x", sha256.Sum256(all.Bytes())); sum != recorded[2] {
			t.Errorf("%s.yaml has changed since istioctl was recorded: run make compared", name)
		}
	}
}

// comparedNames are the manifests, without .yaml; what is beside one has two dots in its name.
func comparedNames(t *testing.T, root string) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(root, comparedFolder, "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, path := range paths {
		if name := strings.TrimSuffix(filepath.Base(path), ".yaml"); !strings.Contains(name, ".") {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		t.Fatalf("%s has no manifests", comparedFolder)
	}
	slices.Sort(names)
	return names
}

func readBeside(t *testing.T, root, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, comparedFolder, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
