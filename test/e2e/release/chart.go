package release

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/meshvet/meshvet/test/e2e/cluster"
)

// hookAnnotation marks what helm does not install with the rest, but at some other time.
const hookAnnotation = "helm.sh/hook"

// Render has helm render the chart with the values, each of which is YAML and goes over those before it. It returns what is
// installed, and what `helm test` makes.
func Render(ctx context.Context, c *cluster.Cluster, name, namespace string, values ...string) (install, test []*unstructured.Unstructured, err error) {
	args := []string{"template", name, filepath.Join(c.Repository, "charts", "meshvet"), "--namespace=" + namespace}
	for i, v := range values {
		file := filepath.Join(c.Folder, fmt.Sprintf("values-%s-%s-%d.yaml", name, namespace, i))
		if err := os.WriteFile(file, []byte(v), 0o600); err != nil {
			return nil, nil, fmt.Errorf("write the values: %w", err)
		}
		args = append(args, "--values="+file)
	}
	cmd := exec.CommandContext(ctx, c.Assets.Helm, args...)
	// helm keeps its files in $HOME.
	cmd.Env = append(os.Environ(), "HOME="+filepath.Join(c.Folder, "home"))
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return nil, nil, fmt.Errorf("helm template: %w: %s", err, bytes.TrimSpace(stderr.Bytes()))
	}
	objects, err := Objects(stdout.String())
	if err != nil {
		return nil, nil, fmt.Errorf("read what helm rendered: %w", err)
	}
	for _, o := range objects {
		switch hook := o.GetAnnotations()[hookAnnotation]; hook {
		case "":
			install = append(install, o)
		case "test":
			test = append(test, o)
		default:
			return nil, nil, fmt.Errorf("%s %s is a hook of the kind %s, of which the tests know nothing", o.GetKind(), o.GetName(), hook)
		}
	}
	return install, test, nil
}

// Objects reads a stream of manifests.
func Objects(text string) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	d := yaml.NewYAMLOrJSONDecoder(strings.NewReader(text), 4096)
	for {
		o := new(unstructured.Unstructured)
		err := d.Decode(&o.Object)
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, fmt.Errorf("document %d: %w", len(objects)+1, err)
		}
		if len(o.Object) > 0 {
			objects = append(objects, o)
		}
	}
}

// manifest is the opposite of Objects.
func manifest(objects []*unstructured.Unstructured) (string, error) {
	var b strings.Builder
	for _, o := range objects {
		data, err := sigsyaml.Marshal(o.Object)
		if err != nil {
			return "", fmt.Errorf("write %s %s: %w", o.GetKind(), o.GetName(), err)
		}
		b.WriteString("---\n")
		b.Write(data)
	}
	return b.String(), nil
}

// ofKind returns the only object of a kind.
func ofKind(objects []*unstructured.Unstructured, kind string) (*unstructured.Unstructured, error) {
	var found *unstructured.Unstructured
	for _, o := range objects {
		if o.GetKind() != kind {
			continue
		}
		if found != nil {
			return nil, fmt.Errorf("the chart has more than one %s: %s and %s", kind, found.GetName(), o.GetName())
		}
		found = o
	}
	if found == nil {
		return nil, fmt.Errorf("the chart has no %s", kind)
	}
	return found, nil
}
