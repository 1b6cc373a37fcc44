package webhook

import (
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/meshvet/meshvet/lint/live"
)

// AccessOptions is what the rights of a server depend on.
type AccessOptions struct {
	// MeshConfigMap is the name of the ConfigMap with Istio's mesh configuration (--mesh-config-map).
	MeshConfigMap string
	// Rotate says that the server makes and renews its own certificates (--tls-mode rotate). The names below matter only then.
	Rotate bool
	// Secret holds the certificates (--tls-secret). The Lease that elects the replica which writes them has the same name: it
	// guards this Secret.
	Secret string
	// WebhookConfiguration is the ValidatingWebhookConfiguration that is given the CA (--webhook-configuration).
	WebhookConfiguration string
}

// Rights are RBAC rules by where they hold.
type Rights struct {
	Cluster []rbacv1.PolicyRule // everywhere: a ClusterRole and its binding
	Root    []rbacv1.PolicyRule // in Istio's root namespace: a Role there
	Own     []rbacv1.PolicyRule // in the namespace of the server: a Role there
}

// Access returns the rights that a server with these options uses, and nothing beyond them. The chart grants exactly these.
//
// Where a right is limited to a name, list and watch are too, and the API server grants them only to a request with the field
// selector metadata.name. A create cannot be limited to a name, since the authorizer does not see it.
func Access(o AccessOptions) Rights {
	r := Rights{
		Cluster: watchedRules(),
		Root:    []rbacv1.PolicyRule{named("", "configmaps", o.MeshConfigMap, "get", "list", "watch")},
		// A config that cannot be read and certificates that run out are told as Events about the Pod.
		Own: []rbacv1.PolicyRule{rule("events.k8s.io", "events", "create", "patch")},
	}
	if o.Rotate {
		const webhooks = "validatingwebhookconfigurations"
		r.Cluster = append(r.Cluster,
			named("admissionregistration.k8s.io", webhooks, o.WebhookConfiguration, "get", "list", "watch", "update"))
		r.Own = append(r.Own,
			// Leader election still writes Events of the core group.
			rule("", "events", "create", "patch"),
			// The chart makes the Secret, so nothing here creates one.
			named("", "secrets", o.Secret, "get", "list", "watch", "update"),
			rule("coordination.k8s.io", "leases", "create"),
			named("coordination.k8s.io", "leases", o.Secret, "get", "update"),
		)
	}
	return r
}

// watchedRules lets all of live.Kinds be read, with one rule for each API group.
func watchedRules() []rbacv1.PolicyRule {
	var rules []rbacv1.PolicyRule
	for _, w := range live.Kinds() {
		i := slices.IndexFunc(rules, func(r rbacv1.PolicyRule) bool { return r.APIGroups[0] == w.Group })
		if i < 0 {
			rules = append(rules, rule(w.Group, w.Resource, "get", "list", "watch"))
		} else {
			rules[i].Resources = append(rules[i].Resources, w.Resource)
		}
	}
	return rules
}

func rule(group, resource string, verbs ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, Verbs: verbs}
}

// named is a rule for the one object of that name.
func named(group, resource, name string, verbs ...string) rbacv1.PolicyRule {
	r := rule(group, resource, verbs...)
	r.ResourceNames = []string{name}
	return r
}
