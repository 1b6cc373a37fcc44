package webhook

import (
	"slices"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/meshvet/meshvet/lint/live"
	"github.com/meshvet/meshvet/lint/object"
)

// What only the rotator needs must not be granted to a server that is handed its certificates.
func TestAccessWithoutRotation(t *testing.T) {
	got := Access(AccessOptions{MeshConfigMap: "istio", Secret: "tls", WebhookConfiguration: "meshvet"})
	for _, r := range slices.Concat(got.Cluster, got.Root, got.Own) {
		for _, resource := range []string{"secrets", "leases", "validatingwebhookconfigurations"} {
			if slices.Contains(r.Resources, resource) {
				t.Errorf("without rotation there is a rule for %s: %v", resource, r)
			}
		}
	}
	for _, r := range slices.Concat(got.Cluster, got.Root) {
		if writes(r) {
			t.Errorf("without rotation the server only reads outside its namespace, and there is %v", r)
		}
	}
}

// Whatever is written outside the own namespace, and every Secret, is limited to one name; nothing is granted by wildcard.
func TestAccessIsNarrow(t *testing.T) {
	o := AccessOptions{MeshConfigMap: "istio", Rotate: true, Secret: "tls", WebhookConfiguration: "meshvet"}
	got := Access(o)
	for _, r := range slices.Concat(got.Cluster, got.Root, got.Own) {
		for _, list := range [][]string{r.APIGroups, r.Resources, r.Verbs, r.ResourceNames} {
			if slices.Contains(list, "*") {
				t.Errorf("wildcard in %v", r)
			}
		}
		if slices.Contains(r.Verbs, "create") && len(r.ResourceNames) > 0 {
			t.Errorf("a create that is limited to a name is never granted: %v", r)
		}
	}
	for _, r := range slices.Concat(got.Cluster, got.Root) {
		if writes(r) && !slices.Equal(r.ResourceNames, []string{o.WebhookConfiguration}) {
			t.Errorf("writes more than its own webhook configuration: %v", r)
		}
	}
	for _, r := range got.Own {
		if slices.Contains(r.Resources, "secrets") && !slices.Equal(r.ResourceNames, []string{o.Secret}) {
			t.Errorf("more than its own Secret: %v", r)
		}
	}
}

// The index is fed by what is watched, so each kind that a mesh is made of has to be there.
func TestWatchedKinds(t *testing.T) {
	var kinds []object.Kind
	for _, w := range live.Kinds() {
		kinds = append(kinds, w.Kind)
		if w.Optional && w.Group == "" {
			t.Errorf("%s is of the core group, which every cluster serves", w.Kind)
		}
	}
	for _, k := range []object.Kind{
		object.ServiceEntry, object.DestinationRule, object.VirtualService, object.Gateway, object.Sidecar, object.WorkloadEntry,
		object.EnvoyFilter, object.Service, object.Namespace, object.HTTPRoute, object.BackendTLSPolicy,
	} {
		if !slices.Contains(kinds, k) {
			t.Errorf("%s is not watched", k)
		}
	}
	if slices.Contains(kinds, object.ConfigMap) {
		t.Error("ConfigMaps of all namespaces are nobody's business")
	}
	got := map[string]bool{}
	for _, r := range Access(AccessOptions{}).Cluster {
		for _, resource := range r.Resources {
			got[r.APIGroups[0]+"/"+resource] = slices.Equal(r.Verbs, []string{"get", "list", "watch"})
		}
	}
	for _, w := range live.Kinds() {
		if !got[w.Group+"/"+w.Resource] {
			t.Errorf("no right to get, list and watch %s", w.Resource)
		}
	}
}

func writes(r rbacv1.PolicyRule) bool {
	return slices.ContainsFunc(r.Verbs, func(verb string) bool { return !slices.Contains([]string{"get", "list", "watch"}, verb) })
}
