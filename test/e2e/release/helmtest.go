package release

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Test does what `helm test` does: it makes the objects of the chart's test and runs its Pod, with the rights of that. It returns the exit
// code of the Pod's process and what that printed.
func (r *Release) Test(ctx context.Context) (code int, out string, err error) {
	pod, err := ofKind(r.test, "Pod")
	if err != nil {
		return 0, "", err
	}
	var rest []*unstructured.Unstructured
	for _, o := range r.test {
		if o != pod {
			rest = append(rest, o)
		}
	}
	text, err := manifest(rest)
	if err != nil {
		return 0, "", err
	}
	said, err := r.cluster.Admin().Kubectl(ctx, text, "apply", "-f", "-")
	if err != nil {
		return 0, "", err
	}
	if said.Refused() {
		return 0, "", fmt.Errorf("apply the chart's test: %s", said)
	}
	object := new(corev1.Pod)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(pod.Object, object); err != nil {
		return 0, "", fmt.Errorf("read the Pod: %w", err)
	}
	// As the hook-delete-policy says.
	before := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: object.Namespace, Name: object.Name}}
	if err := r.cluster.Client.Delete(ctx, before, client.GracePeriodSeconds(0)); client.IgnoreNotFound(err) != nil {
		return 0, "", fmt.Errorf("remove the Pod of an earlier test: %w", err)
	}
	if err := r.cluster.Client.Create(ctx, object); err != nil { // against the namespace's Pod security standard
		return 0, "", fmt.Errorf("create the Pod of the test: %w", err)
	}
	if len(object.Spec.Containers) != 1 || len(object.Spec.Volumes) > 0 {
		return 0, "", errors.New("the Pod of the test has more than one container, or volumes")
	}
	container := &object.Spec.Containers[0]
	kubeconfig := filepath.Join(r.folder, "test.kubeconfig")
	if err := r.impersonate(kubeconfig, object.Spec.ServiceAccountName); err != nil {
		return 0, "", err
	}
	env, err := environment(object, container)
	if err != nil {
		return 0, "", err
	}
	cmd := exec.CommandContext(ctx, r.binary, append(container.Args, "--kubeconfig="+kubeconfig)...)
	cmd.Env = slices.Concat(env, r.marks())
	printed, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return 0, "", fmt.Errorf("run the chart's test: %w", err)
	}
	return cmd.ProcessState.ExitCode(), string(printed), nil
}
