package rules

import (
	"fmt"
	"slices"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/effective"
	"github.com/meshvet/meshvet/lint/mesh"
	"github.com/meshvet/meshvet/lint/object"
)

var _ = register(lint.Rule{
	Meta: lint.Meta{
		ID:       "SE121",
		Name:     "identity-list-unused",
		Title:    "Names that the server's certificate must bear, which nobody checks",
		Category: lint.CategoryTLS,
		Severity: lint.Info,
		Presets:  []string{"recommended", "strict"},
		Kinds:    []object.Kind{object.ServiceEntry},
		Needs:    []object.Kind{object.DestinationRule},
		When:     []lint.Gate{{All: []lint.Condition{{Path: "spec.subjectAltNames[*]"}}}},
		Summary: "subjectAltNames in a ServiceEntry for something outside the mesh, while no DestinationRule has Envoy start TLS towards any port " +
			"of its hosts for any client; or in one of resolution DYNAMIC_DNS.",
		Why: "Istio writes the list as match_subject_alt_names into the TLS context of the hosts' clusters. Towards the outside there is such a " +
			"context only if a DestinationRule has a tls block that starts TLS. TLS that clients bring passes through unread, so that the list says nothing " +
			"about it, however much it looks like a check. For a wildcard host of DYNAMIC_DNS Istio leaves the list out even then: Envoy checks the name " +
			"that each request asks for.\n\n" +
			"Inside the mesh the list counts for Istio's own mutual TLS, so MESH_INTERNAL entries are not judged. A tls block without a mode, and one " +
			"with names of its own, are other matters.",
		Remedy: "Drop the list, and let the clients that bring TLS check the name; or have Envoy start TLS, with a DestinationRule of tls mode " +
			"SIMPLE. For DYNAMIC_DNS drop it.",
		Proof: lint.Proof{Kind: "ignored", Text: "without subjectAltNames Istio compiles the same clusters"},
		Observe: lint.Observe{
			ConfigDump: "istioctl proxy-config cluster POD --fqdn HOST -o json shows no matchSubjectAltNames",
		},
		References: []string{"https://istio.io/latest/docs/reference/config/networking/service-entry/#ServiceEntry"},
	},
	Check: func(p *lint.Pass) error {
		t := p.Mesh.Target(p.Object)
		names := p.Object.Spec().Get("subjectAltNames").Strings()
		if t == nil || !t.External || p.Mesh.Hidden(t) || len(names) == 0 || len(t.Ports) == 0 {
			return nil
		}
		var outside []string
		dynamic := t.Resolution == "DYNAMIC_DNS" && !slices.ContainsFunc(t.Hosts, func(h mesh.Host) bool { return !h.IsWildcard() })
		for _, h := range t.Hosts {
			if !dynamic && startsTLS(p.Mesh, t, h) || insideToo(p.Mesh, t, h) {
				return nil
			}
			if !p.Mesh.Settings().InCluster(h) {
				outside = append(outside, string(h))
			}
		}
		if len(outside) == 0 {
			return nil
		}
		says := fmt.Sprintf("subjectAltNames (%s) are checked by nobody, since no DestinationRule starts TLS towards %s", someOf(names), someOf(outside))
		effect := "Envoy's clusters have no transport_socket that could hold match_subject_alt_names: whatever certificate the server shows, Envoy does not look at it"
		if dynamic {
			says = fmt.Sprintf("subjectAltNames (%s) do nothing for %s, whose resolution is DYNAMIC_DNS", someOf(names), someOf(outside))
			effect = "Envoy's cluster has no match_subject_alt_names: where a DestinationRule starts TLS, Envoy checks the name that each request asks for (auto_san_validation)"
		}
		p.Report(object.Path{"spec", "subjectAltNames"}, says, lint.Effect(effect), lint.About(lint.Subject{Hosts: outside}))
		return nil
	},
})

// insideToo says whether another entry of the namespace has the host inside the mesh, where Istio's own mutual TLS checks the names of all.
func insideToo(ix *mesh.Index, t *mesh.Target, h mesh.Host) bool {
	return slices.ContainsFunc(ix.Targets(h), func(other *mesh.Target) bool { return other.Namespace() == t.Namespace() && !other.External })
}

// startsTLS says whether a DestinationRule asks for TLS on some port that the ServiceEntries of a target's namespace give to a host.
func startsTLS(ix *mesh.Index, t *mesh.Target, h mesh.Host) bool {
	return slices.ContainsFunc(ix.Targets(h), func(other *mesh.Target) bool {
		return other.Namespace() == t.Namespace() && len(effective.OriginatedFor(ix, other, h)) > 0
	})
}
