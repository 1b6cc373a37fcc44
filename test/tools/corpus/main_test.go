package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestMain lets this test binary stand in for meshvet: it prints the report and exits with the code that it finds
// beside the manifests.
func TestMain(m *testing.M) {
	if os.Getenv("CORPUS_TEST_STAND_IN") == "" {
		os.Exit(m.Run())
	}
	switch os.Args[1] {
	case "rules":
		fmt.Print(`{"rules": [{"id": "SE101", "name": "resolution-not-dns", "severity": "warning"}, {"id": "SE104", "name": "static-without-endpoints", "severity": "error"}]}`)
	case "lint":
		report, err := os.ReadFile("report")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(3)
		}
		code, err := os.ReadFile("exit")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(3)
		}
		if text, err := os.ReadFile("stderr"); err == nil {
			fmt.Fprint(os.Stderr, string(text))
		}
		fmt.Print(string(report))
		n, err := strconv.Atoi(string(code))
		if err != nil {
			n = 3
		}
		os.Exit(n)
	}
}

const (
	clean = `{"version": "1", "findings": [], "problems": [], "skipped": [], "scopes": [{"name": "."}],
		"stats": {"files": {"linted": 1, "other": 0, "template": 0, "broken": 0, "empty": 0}}}`
	oneFinding = `{"version": "1", "findings": [{"id": "SE101", "name": "resolution-not-dns", "severity": "warning", "message": "goes to the dialled IP",
		"location": {"file": "a.yaml", "line": 2}, "suppressed": null}], "problems": [], "scopes": [{"name": "."}],
		"stats": {"files": {"linted": 1}}}`
	manifest = "apiVersion: networking.istio.io/v1\nkind: ServiceEntry\n"
)

func TestRun(t *testing.T) {
	t.Setenv("CORPUS_TEST_STAND_IN", "1")
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// files: path in the corpus -> content.
	tests := map[string]struct {
		files map[string]string
		args  []string
		code  int
		want  []string
	}{
		"counts per rule and per class": {
			files: map[string]string{
				"a__a/a.yaml": manifest, "a__a/report": oneFinding, "a__a/exit": "1",
				"b__b/b.yml": manifest, "b__b/report": clean, "b__b/exit": "0",
			},
			want: []string{
				"SE101 resolution-not-dns warning 1 1 0",
				"SE104 static-without-endpoints error 0 0 0",
				"linted 2", "total 2",
				"runs by exit code: 0: 1, 1: 1, 2: 0",
				"corpus: 2 repositories, 2 mesh scopes, 2 files, 1 findings,",
			},
		},
		"findings shown by rule": {
			files: map[string]string{"a__a/a.yaml": manifest, "a__a/report": oneFinding, "a__a/exit": "1"},
			args:  []string{"-show", "SE1.*"},
			want:  []string{"a__a/a.yaml:2: warning: goes to the dialled IP [SE101 resolution-not-dns]"},
		},
		"suppressed findings count apart and do not fail": {
			files: map[string]string{
				"a__a/a.yaml": manifest, "a__a/exit": "0",
				"a__a/report": strings.Replace(oneFinding, `"suppressed": null`, `"suppressed": {"reason": "known"}`, 1),
			},
			want: []string{"SE101 resolution-not-dns warning 0 0 1"},
		},
		"a manifest that is not accounted for": {
			files: map[string]string{"a__a/a.yaml": manifest, "a__a/b.json": "{}", "a__a/report": clean, "a__a/exit": "0"},
			code:  1,
			want:  []string{"BROKEN PROMISE a__a: 2 manifests, but 1 are accounted for"},
		},
		"an exit code that contradicts the report": {
			files: map[string]string{"a__a/a.yaml": manifest, "a__a/report": oneFinding, "a__a/exit": "0"},
			code:  1,
			want:  []string{"BROKEN PROMISE a__a: exit 0, but the report says 1"},
		},
		"problems make exit 2": {
			files: map[string]string{
				"a__a/a.yaml": manifest, "a__a/exit": "2",
				"a__a/report": strings.Replace(clean, `"problems": []`, `"problems": [{"kind": "syntax", "message": "bad indent", "location": {"file": "a.yaml", "line": 1}}]`, 1),
			},
			want: []string{"runs by exit code: 0: 0, 1: 0, 2: 1", "a__a/a.yaml:1: syntax: bad indent"},
		},
		"a line that the file does not have": {
			files: map[string]string{
				"a__a/a.yaml": manifest, "a__a/exit": "1",
				"a__a/report": strings.Replace(oneFinding, `"line": 2`, `"line": 20`, 1),
			},
			code: 1,
			want: []string{"BROKEN PROMISE a__a: SE101: location a.yaml:20, but the file has 3 lines"},
		},
		"a location outside the repository": {
			files: map[string]string{
				"a__a/a.yaml": manifest, "a__a/exit": "1",
				"a__a/report": strings.Replace(oneFinding, `"file": "a.yaml"`, `"file": "../b__b/a.yaml"`, 1),
			},
			code: 1,
			want: []string{`location "../b__b/a.yaml" is not a path below the folder`},
		},
		"no report": {
			files: map[string]string{"a__a/a.yaml": manifest, "a__a/report": "", "a__a/exit": "2", "a__a/stderr": "unknown flag\n"},
			code:  1,
			want:  []string{"BROKEN PROMISE a__a: exit 2 without a JSON report", "unknown flag"},
		},
		"a panic": {
			files: map[string]string{"a__a/a.yaml": manifest, "a__a/report": clean, "a__a/exit": "2", "a__a/stderr": "panic: boom\n\ngoroutine 1 [running]:\n"},
			code:  1,
			want:  []string{"BROKEN PROMISE a__a: panicked: panic: boom"},
		},
		"a finding of a rule that is not listed": {
			files: map[string]string{
				"a__a/a.yaml": manifest, "a__a/exit": "1",
				"a__a/report": strings.Replace(oneFinding, `"id": "SE101"`, `"id": "SE999"`, 1),
			},
			code: 1,
			want: []string{"BROKEN PROMISE a__a: SE999 is not among the listed rules"},
		},
		"no repositories": {
			files: map[string]string{"INDEX.tsv": "path\n"},
			code:  2,
			want:  []string{"no repositories in"},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			corpus := t.TempDir()
			for path, text := range tc.files {
				path = filepath.Join(corpus, path)
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			// report, exit and stderr have no ending, so the walk does not count them.
			var out bytes.Buffer
			code := run(t.Context(), append(tc.args, binary, corpus), &out, &out)
			if code != tc.code {
				t.Errorf("exit %d, want %d", code, tc.code)
			}
			got := strings.Join(strings.Fields(out.String()), " ")
			for _, want := range tc.want {
				if !strings.Contains(got, want) {
					t.Errorf("no %q in:\n%s", want, out.String())
				}
			}
		})
	}
}

func TestRunWithoutBinary(t *testing.T) {
	var out bytes.Buffer
	if code := run(t.Context(), []string{filepath.Join(t.TempDir(), "meshvet"), t.TempDir()}, &out, &out); code != 2 {
		t.Errorf("exit %d, want 2:\n%s", code, out.String())
	}
}
