package release

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// elsewhere are the beginnings of commands that cannot be run here, and why.
var elsewhere = map[string]string{
	"curl ":                  "fetches a release; the test makes its archive itself",
	"go install ":            "fetches a published version",
	"docker run ":            "needs a container runtime; TestDockerfile reads what it would build",
	"cosign ":                "asks the public transparency log about a published release",
	"gh attestation verify ": "asks GitHub about a published release",
	"kubectl ":               "needs a cluster with Tekton or Argo; their own code holds the examples to their types in TestTekton… and TestArgo…",
	"tkn ":                   "needs a cluster with Tekton",
	"argo ":                  "needs a cluster with Argo Workflows",
}

// commands returns the lines of a guide's shell blocks, without those of elsewhere, which are counted in met.
func commands(t *testing.T, guide string, met map[string]int) (run []string) {
	t.Helper()
	for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(read(t, guide), -1) {
		for line := range strings.Lines(block[1]) {
			line = strings.TrimSpace(line)
			left := false
			for start := range elsewhere {
				if strings.HasPrefix(line, start) {
					met[start]++
					left = true
				}
			}
			if !left {
				run = append(run, line)
			}
		}
	}
	return run
}

// shell runs a line in a folder, for a user whose home it is and who has what the guide has installed.
func shell(t *testing.T, dir, line string) (out string, code int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "bash", "-euc", line)
	cmd.Dir = dir
	cmd.Env = []string{"HOME=" + dir, "PATH=" + filepath.Join(dir, ".local", "bin") + ":" + os.Getenv("PATH"), "GIT_CONFIG_NOSYSTEM=1"}
	text, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return string(text), cmd.ProcessState.ExitCode()
}

// must runs lines of which each has to succeed, and returns what the last one said.
func must(t *testing.T, dir string, lines ...string) (out string) {
	t.Helper()
	for _, line := range lines {
		var code int
		if out, code = shell(t, dir, line); code != 0 {
			t.Fatalf("%s: exit code %d: %s", line, code, out)
		}
	}
	return out
}

// archive puts the archive of a release and its checksums into a folder, with what .goreleaser.yaml says is in it.
func archive(t *testing.T, dir string) {
	t.Helper()
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	packed := t.TempDir()
	must(t, packed, "cp '"+path+"' meshvet && ./meshvet docs --man man/man1 --completions completions")
	build := exec.CommandContext(t.Context(), "go", append(slices.Clone(handedOut), "-o", filepath.Join(packed, "meshvet-render"), "./cmd/meshvet-render")...)
	build.Dir, build.Env = root, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	const name = "meshvet_0.1.0_linux_amd64.tar.gz"
	must(t, packed, "tar -cf - * | gzip -1 >'"+filepath.Join(dir, name)+"'")
	text, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(text)
	list := hex.EncodeToString(sum[:]) + "  " + name + "\n" + strings.Repeat("0", 64) + "  meshvet_0.1.0_darwin_arm64.tar.gz\n"
	if err := os.WriteFile(filepath.Join(dir, "checksums.txt"), []byte(list), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Every command of docs/guide/install.md and docs/guide/ci.md is run, or is one of elsewhere.
func TestGuides(t *testing.T) {
	met := map[string]int{}
	install, ci := commands(t, "docs/guide/install.md", met), commands(t, "docs/guide/ci.md", met)
	for start, why := range elsewhere {
		if met[start] == 0 {
			t.Errorf("no guide has a command that begins with %q, which %s", start, why)
		}
	}
	if len(install) < 12 || len(ci) < 4 {
		t.Fatalf("%d and %d commands", len(install), len(ci))
	}

	home := t.TempDir()
	archive(t, home)
	for _, line := range install {
		if out := must(t, home, line); strings.HasPrefix(line, "meshvet ") && !strings.Contains(out, "meshvet") {
			t.Errorf("%s says %q", line, out)
		}
	}
	for _, name := range []string{
		".local/bin/meshvet", ".local/bin/meshvet-render", ".local/share/man/man1/meshvet.1", ".local/share/man/man1/meshvet-lint.1",
		".local/share/bash-completion/completions/meshvet", ".config/fish/completions/meshvet.fish", "unpacked/completions/_meshvet",
	} {
		if info, err := os.Stat(filepath.Join(home, name)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	if out, code := shell(t, home, "echo >>meshvet_0.1.0_linux_amd64.tar.gz; "+install[0]); code == 0 {
		t.Errorf("%s does not see a changed archive: %s", install[0], out)
	}
	// What is installed finds its renderer.
	must(t, home, "mkdir rendered && cp '"+absolute(t, good)+"' rendered/mesh.yaml && echo 'resources: [mesh.yaml]' >rendered/kustomization.yaml",
		"meshvet lint rendered")

	// The guide's commands on a branch that brings in nothing, then on one that has a fault, then on one that cannot be read.
	git := "git -c user.name=test -c user.email=test@example.com -c init.defaultBranch=main "
	must(t, home, "mkdir work && cd work && mkdir manifests && cp '"+absolute(t, good)+"' manifests/good.yaml",
		"cd work && "+git+"init -q && git add -A && "+git+"commit -qm one && git update-ref refs/remotes/origin/main HEAD")
	for _, state := range []struct {
		do   string
		want int
	}{
		{"true", 0},
		{"cp '" + absolute(t, bad) + "' manifests/bad.yaml", 1},
		{"printf 'apiVersion: networking.istio.io/v1\\nkind: ServiceEntry\\nspec: {' >manifests/broken.yaml", 2},
	} {
		must(t, home, "cd work && "+state.do)
		for _, line := range ci {
			want := state.want
			out, code := shell(t, home, "cd work && "+line)
			if want == 1 && strings.Contains(line, "--fail-on error") && !strings.Contains(out, ": error: ") {
				want = 0
			}
			if code != want {
				t.Errorf("%s after %s: exit code %d, want %d: %s", line, state.do, code, want, out)
			}
		}
	}
	if report, err := os.ReadFile(filepath.Join(home, "work", "meshvet.xml")); err != nil || !strings.Contains(string(report), "<testsuite") {
		t.Errorf("meshvet.xml is %q: %v", report, err)
	}
}

// What the guides say of a release is what makes it: who signs, which platforms, which version.
func TestGuidesNameTheRelease(t *testing.T) {
	guide := read(t, "docs/guide/install.md")
	for _, identity := range regexp.MustCompile(`--certificate-identity https://github\.com/meshvet/meshvet/(\S+?)@refs/tags/`).FindAllStringSubmatch(guide, -1) {
		if !strings.Contains(read(t, identity[1]), "cosign sign") {
			t.Errorf("%s signs nothing", identity[1])
		}
	}
	var config struct {
		Builds []struct {
			Goos, Goarch []string
			Rest         map[string]any `yaml:",inline"`
		}
		Rest map[string]any `yaml:",inline"`
	}
	decode(t, ".goreleaser.yaml", &config)
	for _, system := range config.Builds[0].Goos {
		for _, machine := range config.Builds[0].Goarch {
			if !strings.Contains(guide, system+"_"+machine) {
				t.Errorf("the guide does not have %s_%s", system, machine)
			}
		}
	}
	version := one(t, "Chart.yaml", read(t, "charts/meshvet/Chart.yaml"), `(?m)^appVersion: (\S+)$`)
	for _, name := range []string{"docs/guide/install.md", "docs/guide/ci.md", "examples/tekton/task.yaml", "examples/argo-workflows/lint.yaml", "examples/argocd/check.yaml"} {
		found := regexp.MustCompile(`ghcr\.io/meshvet/meshvet:([0-9][\w.]*)`).FindAllStringSubmatch(read(t, name), -1)
		if len(found) == 0 || slices.ContainsFunc(found, func(m []string) bool { return m[1] != version }) {
			t.Errorf("%s names the images %q, not that of %s", name, found, version)
		}
	}
}

func absolute(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join(root, filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return path
}
