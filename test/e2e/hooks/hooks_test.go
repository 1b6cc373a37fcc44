package hooks

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/meshvet/meshvet/test/e2e/scratch"
)

// limits is a DestinationRule for such a host. On a port of protocol TLS its settings for HTTP are DR201, which takes the ServiceEntry to know.
func limits(name string) string {
	return fmt.Sprintf(`apiVersion: networking.istio.io/v1
kind: DestinationRule
metadata: {name: %[1]s, namespace: shop}
spec:
  host: %[1]s.example.com
  trafficPolicy:
    connectionPool:
      tcp: {connectTimeout: 2s}
      http: {idleTimeout: 10m}
`, name)
}

func TestStagedFile(t *testing.T) {
	r := newRepository(t, "  - id: meshvet\n")
	r.Stage("pay.yaml", scratch.Bad("pay"))
	scratch.Says(t, r.run(1), "Failed\n", "- exit code: 1\n", "pay.yaml:7:15: warning: resolution is NONE", "[SE101 ", "7 |   resolution: NONE\n")
	r.Stage("pay.yaml", scratch.Good("pay"))
	scratch.Says(t, r.run(0), "meshvet", "Passed\n")
	r.Stage("pay.yaml", "kind: ServiceEntry\napiVersion: networking.istio.io/v1\nspec: [\n")
	scratch.Says(t, r.run(1), "- exit code: 2\n", "pay.yaml:4:1: error: ", "[MV903 ")
	r.Git("reset", "--quiet", "--hard")
	scratch.Says(t, r.run(0), "(no files to check)Skipped\n")

	// JSON is a manifest like any other.
	r.Stage("pay.json", `{"apiVersion": "networking.istio.io/v1", "kind": "ServiceEntry", "metadata": {"name": "pay", "namespace": "shop"},
"spec": {"hosts": ["pay.example.com"], "location": "MESH_EXTERNAL", "resolution": "NONE", "ports": [{"number": 443, "name": "tls", "protocol": "TLS"}]}}`)
	scratch.Says(t, r.run(1), "pay.json:2:", "[SE101 ")
}

// Findings are about the staged files, and what is found of them depends on the files around.
func TestContextOutsideStagedFiles(t *testing.T) {
	r := newRepository(t, hook)
	r.Write("entries/pay.yaml", scratch.Bad("pay"))
	r.Commit()
	r.Stage("rules/pay.yaml", limits("pay"))
	out := r.run(1)
	scratch.Says(t, out, "rules/pay.yaml:9:27: warning: connectionPool.http.idleTimeout 10m does nothing on port 443 (TLS) of pay.example.com", "[DR201 ")
	scratch.Silent(t, out, "[SE101 ") // of a file that is not staged

	// The same file is right beside another ServiceEntry, which is not even tracked.
	r.Git("rm", "--quiet", "entries/pay.yaml")
	r.Write("entries/new.yaml", scratch.Entry("pay", "DNS", "HTTP2"))
	r.run(0)

	// A finding that other files silence: where all ServiceEntries are known, a host without one is a mistake.
	r.Stage(".meshvet.yaml", "context: {complete: true}\n")
	r.run(0)
	if err := os.Remove(filepath.Join(r.Dir, "entries", "new.yaml")); err != nil {
		t.Fatal(err)
	}
	scratch.Says(t, r.run(1), "rules/pay.yaml:5:9: warning: ", "[MX301 ")
}

// duration is what pre-commit -v says of a hook.
var duration = regexp.MustCompile(`- duration: ([0-9.]+)s`)

// Files without an object of Istio cost a start of the program, whatever their size and the repository around.
func TestUnrelatedFiles(t *testing.T) {
	r := newRepository(t, hook)
	for i := range 300 {
		r.Write(fmt.Sprintf("mesh/%d.yaml", i), scratch.Bad(fmt.Sprintf("host-%d", i)))
	}
	r.Commit()
	var large strings.Builder
	for i := 0; large.Len() < 1<<20; i++ {
		fmt.Fprintf(&large, "key-%d: {list: [1, 2, 3], text: of no interest}\n", i)
	}
	r.Stage("large.yaml", large.String())
	r.Stage("deployment.yaml", "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\n")
	r.Stage("chart/templates/a.yaml", strings.Repeat("a: {{ .Values.a }}\n", 100))
	r.Stage("broken.yaml", "a: [\n")
	r.Stage("package.json", `{"name": "a"}`)
	out := r.run(0, "--verbose")
	scratch.Says(t, out, "Passed\n")
	m := duration.FindStringSubmatch(out)
	if m == nil {
		t.Fatalf("pre-commit does not say how long it took:\n%s", out)
	}
	t.Logf("pre-commit says that the hook took %s s", m[1])

	// CPU time, since others use the machine too. Rego policies take more to load than all this.
	program := filepath.Join(installed(t), "meshvet")
	cpu := func(args ...string) time.Duration {
		least := time.Hour
		for range 5 {
			cmd := exec.CommandContext(t.Context(), program, args...)
			cmd.Dir, cmd.Env = r.Dir, home.Environ
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
			if !ok {
				t.Fatal("the system does not say what a program cost")
			}
			least = min(least, time.Duration(usage.Utime.Nano()+usage.Stime.Nano()))
		}
		return least
	}
	start := cpu("version")
	lint := cpu("lint", "--", "large.yaml", "deployment.yaml", "chart/templates/a.yaml", "broken.yaml", "package.json")
	t.Logf("CPU: %v to start, %v to pass over the staged files", start, lint)
	if lint > start+30*time.Millisecond {
		t.Errorf("unrelated files cost %v, of which %v is the start of the program", lint, start)
	}
}

// mixed is a file with a finding that has a safe fix, and one without.
func mixed(name string) string {
	return scratch.Bad(name) + "---\n" + strings.Replace(limits(name), "idleTimeout: 10m", "http2MaxRequests: 1000", 1)
}

func TestFix(t *testing.T) {
	r := newRepository(t, "  - id: meshvet-fix\n")
	r.Stage("pay.yaml", mixed("pay"))
	scratch.Says(t, r.run(1), "Failed\n", "- files were modified by this hook\n")
	fixed := r.Read("pay.yaml")
	scratch.Says(t, fixed, "tcp: {connectTimeout: 2s}", "resolution: NONE") // the other finding is for meshvet to report
	scratch.Silent(t, fixed, "http2MaxRequests")
	scratch.Says(t, r.run(1), "Failed\n", "- files were modified by this hook\n") // until the change is staged
	r.Git("add", "--all")
	scratch.Says(t, r.run(0), "Passed\n")
	if r.Git("diff"); r.Read("pay.yaml") != fixed {
		t.Error("a second run changed something")
	}
}

func TestConfigVerify(t *testing.T) {
	r := newRepository(t, "  - id: meshvet-config-verify\n")
	r.Write("teams/shop/.meshvet.yaml", "extends: [../preset.yaml]\n")
	r.Write("teams/preset.yaml", "rules: {SE101: info}\n")
	r.Commit()
	r.Stage("teams/preset.yaml", "rules: {SE101: inf}\n")
	scratch.Says(t, r.run(1), "- exit code: 2\n", "teams/preset.yaml:1:16: ", `"inf"`)
	r.Stage("teams/preset.yaml", "rules: {SE101: error}\n")
	scratch.Says(t, r.run(0), "Passed\n")
	r.Git("reset", "--quiet", "--hard")
	r.Stage("README.md", "text\n")
	scratch.Says(t, r.run(0), "(no files to check)Skipped\n")
}

func TestFilesThatMoveAndGo(t *testing.T) {
	r := newRepository(t, hook)
	r.Write("pay.yaml", scratch.Bad("pay"))
	r.Write("rates.yaml", scratch.Bad("rates"))
	r.Commit()
	r.Git("rm", "--quiet", "rates.yaml")
	scratch.Says(t, r.run(0), "(no files to check)Skipped\n")
	r.Git("mv", "pay.yaml", "renamed.yaml")
	out := r.run(1)
	scratch.Says(t, out, "renamed.yaml:7:15: warning: ")
	scratch.Silent(t, out, "\npay.yaml", "rates.yaml", "cannot be read", "[MV")

	// A file that is staged and has gone from the working tree since: pre-commit puts it back for the run.
	r.Git("reset", "--quiet", "--hard")
	r.Stage("quotes.yaml", scratch.Bad("quotes"))
	if err := os.Remove(filepath.Join(r.Dir, "quotes.yaml")); err != nil {
		t.Fatal(err)
	}
	scratch.Says(t, r.run(1), "quotes.yaml:7:15: warning: ")
}

func TestFileNames(t *testing.T) {
	r := newRepository(t, hook)
	for i, name := range []string{
		"with space.yaml", "-c.yaml", "--config=weak.yaml", "--fail-on=never.yaml", "::add-mask::a.yaml", "$(touch pwned).yaml", "`touch pwned`.yaml", "quote's \"b\".yaml",
		"café.yaml", "line\nbreak.yaml", "*.yaml", "#.yaml", "-/-.yaml",
	} {
		r.Stage(name, scratch.Bad(fmt.Sprintf("host-%d", i)))
	}
	out := r.run(1)
	scratch.Says(t, out,
		"\nwith space.yaml:7:15: ", "\n-c.yaml:7:15: ", "\n--config=weak.yaml:7:15: ", "\n--fail-on=never.yaml:7:15: ", "\n./::add-mask::a.yaml:7:15: ", "\n$(touch pwned).yaml:7:15: ",
		"\n`touch pwned`.yaml:7:15: ", "\nquote's \"b\".yaml:7:15: ", "\ncafé.yaml:7:15: ", "\n*.yaml:7:15: ", "\n#.yaml:7:15: ", "\n-/-.yaml:7:15: ",
	)
	if n := strings.Count(out, "[SE101 "); n != 13 {
		t.Errorf("%d findings in 13 files\n%s", n, out)
	}
	if _, err := os.Lstat(filepath.Join(r.Dir, "pwned")); err == nil {
		t.Error("a file name was run as a command")
	}

	// Without args of the user's own, too.
	r = newRepository(t, "  - id: meshvet\n  - id: meshvet-fix\n")
	r.Stage("--config=weak.yaml", mixed("pay"))
	r.Write("weak.yaml", "rules: {SE101: off}\n")
	scratch.Says(t, r.run(1), "--config=weak.yaml:7:15: warning: ", "files were modified by this hook")
	scratch.Silent(t, r.Read("--config=weak.yaml"), "http2MaxRequests")
}

// What is judged is what will be committed: pre-commit takes changes that are not staged out of the way.
func TestPartlyStaged(t *testing.T) {
	r := newRepository(t, hook)
	r.Stage("pay.yaml", scratch.Good("pay"))
	r.Write("pay.yaml", scratch.Bad("pay"))
	scratch.Says(t, r.run(0), "Unstaged files detected", "Passed\n", "Restored changes")
	if r.Read("pay.yaml") != scratch.Bad("pay") {
		t.Error("the change that was not staged is lost")
	}
	r.Stage("pay.yaml", scratch.Bad("pay"))
	r.Write("pay.yaml", scratch.Good("pay"))
	scratch.Says(t, r.run(1), "pay.yaml:7:15: warning: ")
	if r.Read("pay.yaml") != scratch.Good("pay") {
		t.Error("the change that was not staged is lost")
	}

	// Context is as it will be committed as well.
	r.Git("reset", "--quiet", "--hard")
	r.Write("entry.yaml", scratch.Entry("pay", "DNS", "HTTP2"))
	r.Commit()
	r.Write("entry.yaml", scratch.Good("pay"))
	r.Stage("limits.yaml", limits("pay"))
	r.run(0)
}

// Each file is judged under the nearest configuration, in one run for all.
func TestMonorepo(t *testing.T) {
	r := newRepository(t, hook)
	if err := os.CopyFS(r.Dir, os.DirFS(filepath.Join(home.Checkout, "examples", "monorepo"))); err != nil {
		t.Fatal(err)
	}
	r.Git("add", "--all")
	want := []string{"payments/bank.yaml:9:15: error SE101", "payments/sandbox/bank.yaml:9:15: info SE101", "shop/egress.yaml:36:7: warning DR202"}
	if diff := cmp.Diff(want, findings(r.run(1))); diff != "" {
		t.Error(diff)
	}
	// A team's commit is judged as that.
	r.Git("reset", "--quiet")
	r.Git("add", "payments/sandbox")
	if diff := cmp.Diff([]string(nil), findings(r.run(0))); diff != "" {
		t.Error(diff)
	}
}

var compactLine = regexp.MustCompile(`(?m)^(\S+: \w+): .*\[([A-Z]{2}\d{3}) .*$`)

// findings are the findings of compact output, in order.
func findings(out string) []string {
	var all []string
	for _, m := range compactLine.FindAllStringSubmatch(out, -1) {
		all = append(all, m[1]+" "+m[2])
	}
	slices.Sort(all)
	return all
}

func TestChoiceOfFiles(t *testing.T) {
	r := newRepository(t, hook+"    files: ^manifests/\n    exclude: ^manifests/generated/\n")
	for _, dir := range []string{"manifests", "manifests/generated", "elsewhere"} {
		name := strings.ReplaceAll(dir, "/", "-")
		r.Write(dir+"/a.yaml", scratch.Bad(name))
	}
	r.Commit()
	want := []string{"manifests/a.yaml:7:15: warning SE101"}
	if diff := cmp.Diff(want, findings(r.run(1, "--all-files"))); diff != "" {
		t.Error(diff)
	}
	// What git ignores or the configuration excludes: pre-commit hands over what is tracked, and files that are named are judged unless they are excluded.
	r.Write(".meshvet.yaml", "exclude: [manifests]\n")
	scratch.Says(t, r.run(0, "--all-files"), "Passed\n")
}

// More files than fit on a command line are handed over in batches. A batch has those of the others as context, so that together they
// find what one run over everything finds.
func TestMoreFilesThanFitOnALine(t *testing.T) {
	r := newRepository(t, hook)
	folder := strings.Repeat("a-folder-with-a-long-name/", 6)
	const n = 900 // with names of 170 bytes, and at most 128 KiB on a line
	for i := range n {
		r.Write(fmt.Sprintf("%s%04d-entry.yaml", folder, i), scratch.Entry(fmt.Sprintf("host-%d", i), "DNS", "TLS"))
	}
	// At the end of the list, about the host of the first file; and the first is a rival of the last.
	r.Write(folder+"9998-limits.yaml", limits("host-0"))
	r.Write(folder+"0000-rival.yaml", strings.Replace(limits("pay"), "name: pay", "name: rival", 1))
	r.Write(folder+"9999-pay.yaml", limits("pay")+"---\n"+scratch.Entry("pay", "DNS", "HTTP2"))
	r.Write(folder+"9999-silent.yaml", "# meshvet:ignore-file SE101 -- as agreed\n"+scratch.Bad("silent"))
	r.Write(folder+"0000-unused.yaml", "# meshvet:ignore-file SE101 -- not needed\n"+scratch.Good("unused"))
	r.Commit()
	out := r.run(1, "--all-files", "--verbose")
	whole := r.Run(1, filepath.Join(installed(t), "meshvet"), "lint", "--format", "compact", ".")
	if diff := cmp.Diff(findings(whole), findings(out)); diff != "" || len(findings(whole)) < 4 {
		t.Errorf("-whole +batches:\n%s\n%s", diff, whole)
	}
	t.Logf("%s", duration.FindString(out))
}

// A baseline holds for a few files as it does for all, and says nothing of what it knows about the others.
func TestBaseline(t *testing.T) {
	r := newRepository(t, "  - id: meshvet\n    verbose: true\n")
	r.Write(".meshvet.yaml", "baseline: known.yaml\n")
	r.Write("known.yaml", `version: 1
findings:
- {rule: SE101, object: ServiceEntry shop/pay, path: spec.resolution, message: resolution is NONE for pay.example.com, file: pay.yaml}
- {rule: SE101, object: ServiceEntry shop/rates, path: spec.resolution, message: resolution is NONE for rates.example.com, file: rates.yaml}
`)
	r.Write("rates.yaml", scratch.Bad("rates"))
	r.Commit()
	r.Stage("pay.yaml", scratch.Bad("pay"))
	out := r.run(0)
	scratch.Says(t, out, "Passed\n", "(1 in the baseline)")
	scratch.Silent(t, out, "not there any more")
	r.Stage("new.yaml", scratch.Bad("new"))
	scratch.Says(t, r.run(1), "new.yaml:7:15: warning: ")
}

// Hooks of git have variables set that lead git to another index: what meshvet asks git about the last commit has to be right nevertheless.
func TestCommit(t *testing.T) {
	r := newRepository(t, "  - id: meshvet\n    args: [--since, HEAD, --]\n")
	r.Write("pay.yaml", scratch.Bad("pay"))
	r.Commit()
	r.Run(0, "pre-commit", "install")
	r.Write("pay.yaml", "# A comment.\n"+scratch.Bad("pay"))
	scratch.Says(t, r.Run(0, "git", "commit", "--all", "-m", "what was there before"), "Passed\n")
	r.Write("pay.yaml", scratch.Bad("pay")+"---\n"+scratch.Bad("rates"))
	out := r.Run(1, "git", "commit", "--all", "-m", "something new")
	scratch.Says(t, out, "Failed\n", "pay.yaml:17:15: warning: ", "(1 not new since HEAD)")
	scratch.Says(t, r.Run(1, "git", "commit", "-m", "the same", "pay.yaml"), "pay.yaml:17:15: warning: ")

	// So in another working tree.
	tree := &repository{&scratch.Repository{T: t, Home: home, Dir: filepath.Join(t.TempDir(), "tree")}}
	r.Git("worktree", "add", "--quiet", tree.Dir)
	tree.Stage("rates.yaml", scratch.Bad("rates"))
	scratch.Says(t, tree.Run(1, "git", "commit", "-m", "something new"), "rates.yaml:7:15: warning: ")
	tree.Stage("rates.yaml", scratch.Good("rates"))
	scratch.Says(t, tree.Run(0, "git", "commit", "-m", "something right"), "Passed\n")
}

// The hook for those who have the program already.
func TestSystem(t *testing.T) {
	r := newRepository(t, "  - id: meshvet-system\n")
	r.Stage("pay.yaml", scratch.Bad("pay"))
	without := slices.Clone(home.Environ)
	scratch.Says(t, r.run(1), "Executable `meshvet` not found")
	home.Environ = append(home.Environ, "PATH="+installed(t)+string(filepath.ListSeparator)+os.Getenv("PATH"))
	defer func() { home.Environ = without }()
	scratch.Says(t, r.run(1), "pay.yaml:7:15: warning: ", "[SE101 ")
}

// Manifests of real repositories, as if their authors had the hook: all files together find what one run over the folder finds.
func TestRealManifests(t *testing.T) {
	corpus := filepath.Join("..", "..", "..", "..", "shared", "corpus")
	if _, err := os.Stat(corpus); err != nil {
		t.Skipf("there is no corpus: %v", err)
	}
	for _, name := range []string{"istio__istio", "kiali__kiali", "slime-io__slime", "GoogleCloudPlatform__istio-samples"} {
		t.Run(name, func(t *testing.T) {
			r := newRepository(t, hook)
			if err := os.CopyFS(r.Dir, os.DirFS(filepath.Join(corpus, name))); err != nil {
				t.Fatal(err)
			}
			r.Commit()
			whole, _, err := home.Run(t.Context(), r.Dir, filepath.Join(installed(t), "meshvet"), "lint", "--format", "compact", ".")
			if err != nil {
				t.Fatal(err)
			}
			out, _, err := home.Run(t.Context(), r.Dir, "pre-commit", "run", "--all-files", "--verbose")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(findings(whole), findings(out)); diff != "" || len(findings(whole)) == 0 {
				t.Errorf("-folder +hook:\n%s\n%s", diff, whole)
			}
			t.Logf("%d findings, %s", len(findings(out)), duration.FindString(out))
		})
	}
}
