package release

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	pipeline "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	"github.com/tektoncd/pipeline/pkg/container"
	"sigs.k8s.io/yaml"
)

// strict reads a manifest into the type of its kind and refuses what the type does not have.
func strict(t *testing.T, name string, into any) {
	t.Helper()
	if err := yaml.UnmarshalStrict([]byte(read(t, name)), into); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

// The objects are what Tekton's own admission takes.
func TestTektonObjects(t *testing.T) {
	ctx := t.Context()
	task, pipe, run := readTekton(t)
	task.SetDefaults(ctx)
	pipe.SetDefaults(ctx)
	run.SetDefaults(ctx)
	run.Name = run.GenerateName + "x7k2p" // as the API server does
	if err := task.Validate(ctx); err != nil {
		t.Errorf("the task: %v", err)
	}
	if err := pipe.Validate(ctx); err != nil {
		t.Errorf("the pipeline: %v", err)
	}
	if err := run.Validate(ctx); err != nil {
		t.Errorf("the run: %v", err)
	}
	broken := task.DeepCopy()
	broken.Spec.Steps[0].Args = []string{"$(params.nobody)"}
	if err := broken.Validate(ctx); err == nil {
		t.Error("Tekton takes a parameter that the task does not have")
	}

	// The pipeline gives the task what it has.
	for _, pt := range pipe.Spec.Tasks {
		if pt.TaskRef.Name != task.Name {
			continue
		}
		for _, p := range pt.Params {
			if !declares(task.Spec.Params, p.Name, p.Value.Type) {
				t.Errorf("the pipeline gives the task %s, a %s, which it does not have", p.Name, p.Value.Type)
			}
		}
	}
	if run.Spec.PipelineRef.Name != pipe.Name {
		t.Errorf("the run is of %s", run.Spec.PipelineRef.Name)
	}
	for _, p := range run.Spec.Params {
		if !declares(pipe.Spec.Params, p.Name, p.Value.Type) {
			t.Errorf("the run gives the pipeline %s, a %s, which it does not have", p.Name, p.Value.Type)
		}
	}
}

func declares(specs pipeline.ParamSpecs, name string, kind pipeline.ParamType) bool {
	for _, s := range specs {
		if s.Name == name {
			return s.Type == kind
		}
	}
	return false
}

func readTekton(t *testing.T) (task pipeline.Task, pipe pipeline.Pipeline, run pipeline.PipelineRun) {
	t.Helper()
	strict(t, "examples/tekton/task.yaml", &task)
	strict(t, "examples/tekton/pipeline.yaml", &pipe)
	strict(t, "examples/tekton/run.yaml", &run)
	return task, pipe, run
}

// The step is run as Tekton would run it, with Tekton's own substitution: what parameters say are arguments, whatever they say.
func TestTektonStep(t *testing.T) {
	task, _, _ := readTekton(t)
	dir := put(t, map[string]string{"egress/good.yaml": good, "shop/bad.yaml": bad, "shop/--fail-on=never": bad, "$(touch ran)/bad.yaml": bad})
	for _, c := range []struct {
		name        string
		paths, args []string
		code        int
		want        string
	}{
		{"as it is", nil, nil, 1, "shop/bad.yaml"},
		{"what is right", []string{"egress"}, nil, 0, "no findings"},
		{"several", []string{"egress", "shop/bad.yaml"}, []string{"--format=compact", "--fail-on=error"}, 1, "shop/bad.yaml:"},
		{"a flag", []string{"shop/bad.yaml"}, []string{"--fail-on=never"}, 0, "shop/bad.yaml"},
		{"a path that looks like a flag", []string{"--fail-on=never"}, nil, 2, "--fail-on=never"},
		{"a path that looks like a script", []string{"$(touch ran)", "; touch ran"}, nil, 2, "; touch ran"},
		{"a path that is not there", []string{"nowhere"}, nil, 2, "nowhere"},
		{"a flag that is not there", nil, []string{"--nothing"}, 2, "unknown flag --nothing"},
	} {
		t.Run(c.name, func(t *testing.T) {
			texts, arrays := map[string]string{"workspaces.source.path": dir}, map[string][]string{}
			given := map[string][]string{"paths": c.paths, "args": c.args}
			for _, p := range task.Spec.Params {
				switch {
				case p.Type == pipeline.ParamTypeString:
					texts["params."+p.Name] = p.Default.StringVal
				case given[p.Name] != nil:
					arrays["params."+p.Name] = given[p.Name]
				default:
					arrays["params."+p.Name] = p.Default.ArrayVal
				}
			}
			step := task.Spec.Steps[0].DeepCopy()
			container.ApplyStepReplacements(step, texts, arrays)
			if step.Script != "" || fmt.Sprint(step.Command) != "[/usr/local/bin/meshvet]" || step.WorkingDir != dir || !isImage(step.Image) {
				t.Fatalf("the step is %q %q in %s of %s", step.Script, step.Command, step.WorkingDir, step.Image)
			}
			out, code := runAs(t, step.WorkingDir, step.Args...)
			if code != c.code || !strings.Contains(out, c.want) {
				t.Errorf("meshvet %q: exit code %d, want %d with %q\n%s", step.Args, code, c.code, c.want, out)
			}
			if _, err := os.Stat(filepath.Join(dir, "ran")); err == nil {
				t.Error("what a parameter said was run")
			}
		})
	}
}

// isImage says whether examples name the image of the version that the chart installs.
func isImage(name string) bool {
	return strings.HasPrefix(name, "ghcr.io/meshvet/meshvet:") && !strings.Contains(name, "latest") && !strings.Contains(name, "$")
}
