package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"debug/buildinfo"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/meshvet/meshvet/lint/object"
	"github.com/meshvet/meshvet/test/prove/oracle"
)

// compared records what Istio's own tools say of the manifests in a folder, each in a text file beside it: istioctl, its analyzers when
// they know the whole cluster, and the compiler. The page docs/compared-to-istioctl.md shows them beside what meshvet says.
//
// Beside NAME.yaml there may be NAME.mesh.yaml, the mesh configuration, and NAME.status.yaml, the status that istiod writes into the last
// object, which a file in a repository does not have and the compiler sees. NAME.show.txt says what to show of the compiled
// configuration, in lines
//
//	RESOURCE: PATH, PATH...
//
// A line "also without -A" there asks for one more run of istioctl.
func (p *prover) compared(ctx context.Context, out io.Writer, args []string) error {
	flags := flag.NewFlagSet("prove compared", flag.ContinueOnError)
	istioctl := flags.String("istioctl", "istioctl", "path of istioctl")
	analyze := flags.String("analyze", "bin/analyze", "path of the analyzers, which make compared builds")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() != 1 {
		return errors.New("say which folder")
	}
	names, err := filepath.Glob(filepath.Join(flags.Arg(0), "*.yaml"))
	if err != nil {
		return fmt.Errorf("list the manifests: %w", err)
	}
	version, err := istioctlVersion(ctx, *istioctl)
	if err != nil {
		return err
	}
	if version != p.oracle.Version() {
		return fmt.Errorf("istioctl is of istio.io/istio %s, and the oracle of %s: what they say would be of two versions", version, p.oracle.Version())
	}
	recorded := 0
	for _, name := range names {
		base := strings.TrimSuffix(name, ".yaml")
		if strings.Contains(filepath.Base(base), ".") {
			continue // what is beside a manifest
		}
		r := &recording{base: filepath.ToSlash(base), version: version, istioctl: *istioctl, analyze: *analyze}
		text, err := r.text(ctx, p.oracle)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if err := os.WriteFile(base+".istio.txt", []byte(text), 0o644); err != nil {
			return fmt.Errorf("write the recording: %w", err)
		}
		recorded++
	}
	fmt.Fprintf(out, "%d manifests recorded with istio.io/istio %s\n", recorded, version)
	return nil
}

const alsoWithoutA = "also without -A\n"

// istioctlVersion is the version of the Istio that the program is built from.
func istioctlVersion(ctx context.Context, path string) (string, error) {
	found, err := exec.LookPath(path)
	if err != nil {
		return "", fmt.Errorf("find istioctl: %w", err)
	}
	if info, err := buildinfo.ReadFile(found); err == nil {
		for _, m := range info.Deps {
			if m.Path == "istio.io/istio" {
				return m.Version, nil
			}
		}
	}
	said, err := exec.CommandContext(ctx, found, "version", "--remote=false").Output()
	if err != nil {
		return "", fmt.Errorf("ask istioctl for its version: %w", err)
	}
	return strings.TrimSpace(strings.TrimPrefix(string(said), "client version:")), nil
}

// recording is what is said of one manifest.
type recording struct {
	base              string // the path of the manifest without .yaml
	version           string
	istioctl, analyze string
}

func (r *recording) text(ctx context.Context, client compiler) (string, error) {
	manifest, err := os.ReadFile(r.base + ".yaml")
	if err != nil {
		return "", fmt.Errorf("read the manifest: %w", err)
	}
	mesh, err := optional(r.base + ".mesh.yaml")
	if err != nil {
		return "", err
	}
	status, err := optional(r.base + ".status.yaml")
	if err != nil {
		return "", err
	}
	show, err := optional(r.base + ".show.txt")
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(slices.Concat(manifest, mesh, status, show))
	var b strings.Builder
	fmt.Fprintf(&b, "istio.io/istio %s; SHA-256 of the manifest and what is beside it %x\n", r.version, sum)

	command := []string{"analyze", "--use-kube=false", "-A"}
	if len(mesh) > 0 {
		command = append(command, "--meshConfigFile", r.base+".mesh.yaml")
	}
	said, err := r.run(ctx, &b, append(command, r.base+".yaml"))
	if err != nil {
		return "", err
	}
	if bytes.Contains(show, []byte(alsoWithoutA)) {
		if _, err := r.run(ctx, &b, []string{"analyze", "--use-kube=false", r.base + ".yaml"}); err != nil {
			return "", err
		}
	}
	if _, err := r.run(ctx, &b, []string{"validate", "-f", r.base + ".yaml"}); err != nil {
		return "", err
	}
	whole, err := exec.CommandContext(ctx, r.analyze, r.base+".yaml").Output()
	if err != nil {
		return "", fmt.Errorf("run the analyzers: %w", err)
	}
	known := strings.Split(said, "\n")
	var more []string
	for line := range strings.Lines(string(whole)) {
		if line = strings.TrimSuffix(line, "\n"); line != "" && !slices.Contains(known, line) {
			more = append(more, line)
		}
	}
	if len(more) > 0 && len(mesh) == 0 { // the analyzers are not told the mesh configuration
		fmt.Fprintf(&b, "\nistioctl's analyzers, if this were all that a cluster holds, say beside that\n%s\n", strings.Join(more, "\n"))
	}
	compiled, err := r.compiled(ctx, client, manifest, mesh, status, show)
	return b.String() + compiled, err
}

func optional(name string) ([]byte, error) {
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read what is beside the manifest: %w", err)
	}
	return text, nil
}

// run notes a command of istioctl's, all that it prints and its exit code.
func (r *recording) run(ctx context.Context, b *strings.Builder, args []string) (said string, err error) {
	cmd := exec.CommandContext(ctx, r.istioctl, args...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	code := 0
	if err := cmd.Run(); err != nil {
		var ended *exec.ExitError
		if !errors.As(err, &ended) {
			return "", fmt.Errorf("run istioctl: %w", err)
		}
		code = ended.ExitCode()
	}
	said = strings.TrimSpace(out.String())
	fmt.Fprintf(b, "\n$ istioctl %s\n%s\nexit code %d\n", strings.Join(args, " "), said, code)
	return said, nil
}

// compiled is what is to be shown of the compilation for a sidecar in shop. As in fixtures, objects are as old as they stand: the first first.
func (r *recording) compiled(ctx context.Context, client compiler, manifest, mesh, status, show []byte) (string, error) {
	const namespace = "shop"
	file, err := object.Load(ctx, r.base+".yaml", bytes.NewReader(slices.Concat(manifest, status)), object.Limits{})
	if err != nil {
		return "", fmt.Errorf("read the manifest: %w", err)
	}
	own, err := manifestsOf(file)
	if err != nil {
		return "", err
	}
	if own, err = own.created(false); err != nil {
		return "", err
	}
	objects, err := own.text()
	if err != nil {
		return "", err
	}
	job := &oracle.Job{
		ID: r.base, Objects: objects, Mesh: string(mesh),
		Proxy: oracle.Proxy{Namespace: namespace, DNSCapture: bytes.Contains(mesh, []byte(`ISTIO_META_DNS_CAPTURE: "true"`))},
	}
	res, err := client.Compile(ctx, job)
	if err != nil {
		return "", err
	}
	if res.Panic != "" {
		return "\nIstio's compiler panics: " + res.Panic + "\n", nil
	}
	all, err := resourcesOf(res)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for wanted := range strings.Lines(string(show)) {
		if wanted == alsoWithoutA {
			continue
		}
		wanted = strings.TrimSuffix(wanted, "\n")
		if b.Len() == 0 {
			fmt.Fprintf(&b, "\nIstio compiles for a sidecar in %s\n", namespace)
		}
		resource, paths, _ := strings.Cut(wanted, ": ")
		leaves, exists := all[resource]
		if !exists {
			fmt.Fprintf(&b, "  no %s\n", resource)
			continue
		}
		fmt.Fprintf(&b, "  %s\n", resource)
		for pattern := range strings.SplitSeq(paths, ", ") {
			shown := 0
			for _, path := range leaves.Paths() {
				if matches(path, pattern) {
					fmt.Fprintf(&b, "    %s: %s\n", path, leaves[path])
					shown++
				}
			}
			if shown == 0 {
				fmt.Fprintf(&b, "    no %s\n", pattern)
			}
		}
	}
	return b.String(), nil
}
