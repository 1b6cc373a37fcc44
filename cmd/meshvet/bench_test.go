package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/meshvet/meshvet/lint/effective"
	"github.com/meshvet/meshvet/lint/egress"
	"github.com/meshvet/meshvet/lint/linttest/meshcorpus"
	"github.com/meshvet/meshvet/lint/mesh"
)

// The benchmarks run the program as a person does and read what the kernel says it cost. `make bench` puts the figures side by
// side with those of parsefloor, which only reads the same files; ratios of one run are what counts, since machines differ.

// program builds one of the module's commands.
func program(b *testing.B, pkg string) string {
	b.Helper()
	bin := filepath.Join(b.TempDir(), filepath.Base(pkg))
	cmd := exec.CommandContext(b.Context(), "go", "build", "-trimpath", "-o", bin, pkg)
	cmd.Dir = filepath.Join("..", "..")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("build %s: %v\n%s", pkg, err, out)
	}
	return bin
}

// measure runs a program b.N times and reports its CPU time, user and system, and the largest of its resident sizes.
func measure(b *testing.B, documents int, bin string, args ...string) {
	b.Helper()
	var cpu time.Duration
	var peak int64
	for b.Loop() {
		cmd := exec.CommandContext(b.Context(), bin, args...)
		cmd.Env = []string{"HOME=" + os.TempDir(), "PATH=" + os.Getenv("PATH")}
		out, err := cmd.CombinedOutput()
		if code := cmd.ProcessState.ExitCode(); code < 0 || code > exitFindings {
			b.Fatalf("exit code %d, %v\n%.500s", code, err, out)
		}
		cpu += cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
		if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
			peak = max(peak, usage.Maxrss)
		}
	}
	b.ReportMetric(float64(cpu.Milliseconds())/float64(b.N), "cpu-ms/run")
	if runtime.GOOS == "linux" { // elsewhere the unit of Maxrss differs
		b.ReportMetric(float64(peak)/1024, "peak-MiB")
	}
	if documents > 0 {
		b.ReportMetric(float64(cpu.Microseconds())/float64(b.N)/float64(documents), "cpu-us/document")
	}
}

func BenchmarkCorpus(b *testing.B) {
	bin, floor := program(b, "./cmd/meshvet"), program(b, "./lint/linttest/parsefloor")
	for _, n := range []int{1_000, 10_000, 50_000} {
		dir := b.TempDir()
		documents, _, err := meshcorpus.Write(dir, meshcorpus.Spec{Documents: n})
		if err != nil {
			b.Fatal(err)
		}
		b.Run(fmt.Sprintf("parsefloor/%d", n), func(b *testing.B) { measure(b, documents, floor, dir) })
		b.Run(fmt.Sprintf("lint/%d", n), func(b *testing.B) {
			measure(b, documents, bin, "lint", "--config", os.DevNull, "--complete", "--format", "compact", dir)
		})
	}
}

// BenchmarkEffective compares the answer about one host with what lint takes to read the same manifests, without a rule.
func BenchmarkEffective(b *testing.B) {
	bin := program(b, "./cmd/meshvet")
	dir := b.TempDir()
	documents, _, err := meshcorpus.Write(dir, meshcorpus.Spec{Documents: 10_000})
	if err != nil {
		b.Fatal(err)
	}
	ask := func(args ...string) []string {
		return append([]string{"effective", "--config", os.DevNull, "-f", dir}, args...)
	}
	b.Run("lint-load", func(b *testing.B) {
		measure(b, documents, bin, "lint", "--config", os.DevNull, "--disable", "across-objects,input,service-entry,tls,traffic-policy", "--format", "compact", dir)
	})
	b.Run("one-host", func(b *testing.B) { measure(b, documents, bin, ask("api-00002.vendor-02.example.com")...) })
	b.Run("one-host-json", func(b *testing.B) {
		measure(b, documents, bin, ask("api-00002.vendor-02.example.com", "--format", "json")...)
	})
	b.Run("every-host", func(b *testing.B) { measure(b, documents, bin, ask("--all")...) })
}

// BenchmarkEffectiveQuery is one answer once the manifests are read: about the hosts of a large mesh one after another, and about
// one host behind an egress gateway in a mesh with routes for 5,000 others.
func BenchmarkEffectiveQuery(b *testing.B) {
	large := b.TempDir()
	if _, _, err := meshcorpus.Write(large, meshcorpus.Spec{Documents: 10_000}); err != nil {
		b.Fatal(err)
	}
	routed := b.TempDir()
	story, err := txtar.ParseFile(filepath.Join("testdata", "script", "effective.txtar"))
	if err != nil {
		b.Fatal(err)
	}
	var text strings.Builder
	for _, f := range story.Files {
		if f.Name == "egress.yaml" {
			text.Write(f.Data)
		}
	}
	for i := range 5_000 {
		fmt.Fprintf(&text, "---\napiVersion: networking.istio.io/v1\nkind: VirtualService\nmetadata: {name: v%d, namespace: shop}\nspec: {hosts: [h%d.example.org], http: [{route: [{destination: {host: h%d.example.org}}]}]}\n", i, i, i)
	}
	if err := os.WriteFile(filepath.Join(routed, "mesh.yaml"), []byte(text.String()), 0o600); err != nil {
		b.Fatal(err)
	}
	for _, c := range []struct {
		name, dir string
		hosts     []mesh.Host // nil = all
	}{{"10000-documents", large, nil}, {"egress-gateway", routed, []mesh.Host{"api.example.com"}}} {
		b.Run(c.name, func(b *testing.B) {
			a := &app{process: process{stderr: io.Discard, getwd: func() (string, error) { return c.dir, nil }}}
			r, err := a.newRun(b.Context(), &lintFlags{config: os.DevNull, dataplane: newChoice("")}, []string{c.dir})
			if err != nil {
				b.Fatal(err)
			}
			meshes, _, err := r.meshes(b.Context())
			if err != nil {
				b.Fatal(err)
			}
			p := &egress.Predictor{Meshes: meshes, Proxy: effective.Proxy{Type: effective.Sidecar}, Note: func(string, ...any) {}}
			hosts := c.hosts
			if hosts == nil {
				hosts = p.HostsOf(meshes[0].Index)
			}
			n := 0
			for b.Loop() {
				answers, err := p.Ask(egress.Query{Host: string(hosts[n%len(hosts)])})
				if err != nil || len(answers) == 0 {
					b.Fatal(err)
				}
				n += 101
			}
		})
	}
}

// BenchmarkSince compares a run on a repository of 2,000 files, of which one has changed, with one that tells only what the change brings in.
func BenchmarkSince(b *testing.B) {
	bin := program(b, "./cmd/meshvet")
	dir := b.TempDir()
	documents, _, err := meshcorpus.Write(dir, meshcorpus.Spec{Documents: 20_000})
	if err != nil {
		b.Fatal(err)
	}
	for _, args := range [][]string{
		{"init", "-q", "-b", "main"}, {"add", "."}, {"-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-q", "-m", "all"},
	} {
		cmd := exec.CommandContext(b.Context(), "git", args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	f, err := os.OpenFile(filepath.Join(dir, "team-000", "egress-00007.yaml"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		b.Fatal(err)
	}
	_, err = f.WriteString("---\napiVersion: networking.istio.io/v1\nkind: ServiceEntry\nmetadata: {name: fresh, namespace: team-00}\nspec: {hosts: [fresh.example.com], resolution: NONE, ports: [{number: 443, name: tls, protocol: TLS}]}\n")
	if err := errors.Join(err, f.Close()); err != nil {
		b.Fatal(err)
	}
	lint := func(args ...string) []string {
		return append([]string{"lint", "--config", os.DevNull, "--complete", "--format", "compact"}, append(args, dir)...)
	}
	b.Run("lint", func(b *testing.B) { measure(b, documents, bin, lint()...) })
	b.Run("since", func(b *testing.B) { measure(b, documents, bin, lint("--since", "main")...) })
}

// BenchmarkReference is BenchmarkCorpus on a corpus made elsewhere, named by MESHVET_BENCH_CORPUS.
func BenchmarkReference(b *testing.B) {
	dir := os.Getenv("MESHVET_BENCH_CORPUS")
	if dir == "" {
		b.Skip("MESHVET_BENCH_CORPUS names no corpus")
	}
	bin, floor := program(b, "./cmd/meshvet"), program(b, "./lint/linttest/parsefloor")
	b.Run("parsefloor", func(b *testing.B) { measure(b, 0, floor, dir) })
	b.Run("lint", func(b *testing.B) {
		measure(b, 0, bin, "lint", "--config", os.DevNull, "--complete", "--format", "compact", dir)
	})
}

func BenchmarkStart(b *testing.B) {
	bin := program(b, "./cmd/meshvet")
	other := filepath.Join(b.TempDir(), "deployment.yaml")
	if err := os.WriteFile(other, []byte("apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\n"), 0o644); err != nil {
		b.Fatal(err)
	}
	invalid := filepath.Join(b.TempDir(), "invalid.yaml")
	manifest := "apiVersion: networking.istio.io/v1\nkind: DestinationRule\nmetadata:\n  name: web\nspec:\n  host: web\n  trafficPolicy:\n    outlierDetection:\n      interval: 5\n"
	if err := os.WriteFile(invalid, []byte(manifest), 0o644); err != nil {
		b.Fatal(err)
	}
	examples := filepath.Join("..", "..", "examples", "good")
	b.Run("other-kinds", func(b *testing.B) { measure(b, 0, bin, "lint", "--config", os.DevNull, other) })
	b.Run("examples", func(b *testing.B) { measure(b, 0, bin, "lint", "--config", os.DevNull, examples) })
	b.Run("cel", func(b *testing.B) { measure(b, 0, bin, "lint", "--config", os.DevNull, invalid) })
}
