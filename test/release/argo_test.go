package release

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/argoproj/argo-workflows/v3/pkg/apis/workflow/v1alpha1"
	"github.com/argoproj/argo-workflows/v3/util/template"
	"github.com/argoproj/argo-workflows/v3/workflow/validate"
	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

// The template is what `argo lint` takes, and runs as Argo Workflows would run it, with its own substitution.
func TestArgoWorkflow(t *testing.T) {
	var tmpl v1alpha1.WorkflowTemplate
	strict(t, "examples/argo-workflows/lint.yaml", &tmpl)
	// What `argo lint` says of the template, and what Argo says of a workflow that is made of it.
	check := func(w *v1alpha1.WorkflowTemplate) error {
		if err := validate.ValidateWorkflowTemplate(nil, nil, w, nil, validate.ValidateOpts{Lint: true, WorkflowTemplateValidation: true}); err != nil {
			return err
		}
		made := v1alpha1.Workflow{ObjectMeta: w.ObjectMeta, Spec: w.Spec}
		return validate.ValidateWorkflow(nil, nil, &made, nil, validate.ValidateOpts{Submit: true})
	}
	if err := check(&tmpl); err != nil {
		t.Error(err)
	}
	broken := tmpl.DeepCopy()
	broken.Spec.Templates[0].Container.Args = []string{"{{workflow.parameters.nobody}}"}
	if err := check(broken); err == nil {
		t.Error("Argo takes a parameter that the template does not have")
	}

	dir := put(t, map[string]string{"egress/good.yaml": good, "shop/bad.yaml": bad})
	text, err := json.Marshal(tmpl.Spec.Templates[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		given map[string]string
		code  int
		want  string
	}{
		{nil, 1, "shop/bad.yaml"},
		{map[string]string{"path": "egress"}, 0, "no findings"},
		{map[string]string{"fail-on": "never"}, 0, "shop/bad.yaml"},
		{map[string]string{"path": `"; touch ran #`}, 2, "touch ran"},
		{map[string]string{"path": "--fail-on=never"}, 2, "--fail-on=never"},
	} {
		values := map[string]string{}
		for _, p := range tmpl.Spec.Arguments.Parameters {
			values["workflow.parameters."+p.Name] = p.Value.String()
			if v, ok := c.given[p.Name]; ok {
				values["workflow.parameters."+p.Name] = v
			}
		}
		replaced, err := template.Replace(string(text), values, false)
		if err != nil {
			t.Fatal(err)
		}
		var made v1alpha1.Template
		if err := json.Unmarshal([]byte(replaced), &made); err != nil {
			t.Fatalf("%v: %s", err, replaced)
		}
		if made.Inputs.Artifacts[0].Path != made.Container.WorkingDir || fmt.Sprint(made.Container.Command) != "[/usr/local/bin/meshvet]" || !isImage(made.Container.Image) {
			t.Fatalf("%q in %s of %s", made.Container.Command, made.Container.WorkingDir, made.Container.Image)
		}
		out, code := runAs(t, dir, made.Container.Args...)
		if code != c.code || !strings.Contains(out, c.want) {
			t.Errorf("meshvet %q: exit code %d, want %d with %q\n%s", made.Container.Args, code, c.code, c.want, out)
		}
	}
}

// What kustomize makes of the example for Argo CD: the check runs before the sync, on the manifests that are about to be applied, and fails
// if one of them does.
func TestArgoCD(t *testing.T) {
	fs := filesys.MakeFsInMemory()
	const folder = "examples/argocd"
	for _, name := range []string{"kustomization.yaml", "mesh.yaml", "check.yaml"} {
		if err := fs.WriteFile("/"+name, []byte(read(t, folder+"/"+name))); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		mesh string
		code int
		want string
	}{{folder + "/mesh.yaml", 0, "no findings"}, {bad, 1, "/mesh.yaml:"}} {
		if err := fs.WriteFile("/mesh.yaml", []byte(read(t, c.mesh))); err != nil {
			t.Fatal(err)
		}
		made, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(fs, "/")
		if err != nil {
			t.Fatal(err)
		}
		var job batch.Job
		var manifests core.ConfigMap
		for _, r := range made.Resources() {
			text, err := r.AsYAML()
			if err != nil {
				t.Fatal(err)
			}
			switch r.GetKind() {
			case "Job":
				err = yaml.UnmarshalStrict(text, &job)
			case "ConfigMap":
				err = yaml.UnmarshalStrict(text, &manifests)
			}
			if err != nil {
				t.Fatalf("%v in\n%s", err, text)
			}
		}
		pod := job.Spec.Template.Spec
		if pod.Volumes[0].ConfigMap.Name != manifests.Name || job.Namespace != manifests.Namespace || pod.Containers[0].VolumeMounts[0].Name != pod.Volumes[0].Name {
			t.Errorf("the job mounts %s, there is %s", pod.Volumes[0].ConfigMap.Name, manifests.Name)
		}
		for _, annotations := range []map[string]string{job.Annotations, manifests.Annotations} {
			// The names and values of https://argo-cd.readthedocs.io/en/stable/user-guide/sync-waves/.
			if annotations["argocd.argoproj.io/hook"] != "PreSync" || annotations["argocd.argoproj.io/hook-delete-policy"] != "BeforeHookCreation" {
				t.Errorf("annotations: %v", annotations)
			}
		}
		if pod.RestartPolicy != core.RestartPolicyNever || *job.Spec.BackoffLimit != 0 || !isImage(pod.Containers[0].Image) {
			t.Errorf("the job: %v", job.Spec)
		}

		// A ConfigMap is mounted as links to links, the way that a kubelet swaps its files at once.
		dir := t.TempDir()
		mounted := filepath.Join(dir, "manifests")
		if err := os.MkdirAll(filepath.Join(mounted, "..2027"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink("..2027", filepath.Join(mounted, "..data")); err != nil {
			t.Fatal(err)
		}
		for name, text := range manifests.Data {
			if err := os.WriteFile(filepath.Join(mounted, "..2027", name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(filepath.Join("..data", name), filepath.Join(mounted, name)); err != nil {
				t.Fatal(err)
			}
		}
		args := slices.Clone(pod.Containers[0].Args)
		for i := range args {
			if at := pod.Containers[0].VolumeMounts[0].MountPath; strings.HasPrefix(args[i], at+"/") {
				args[i] = mounted + strings.TrimPrefix(args[i], at)
			}
		}
		if out, code := runAs(t, dir, args...); code != c.code || !strings.Contains(out, c.want) {
			t.Errorf("meshvet %q: exit code %d, want %d with %q\n%s", args, code, c.code, c.want, out)
		}
	}
}
