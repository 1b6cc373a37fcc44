package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/mesh"
	"github.com/meshvet/meshvet/lint/object"
)

var _ = register(lint.Rule{
	Meta: lint.Meta{
		ID:       "MX301",
		Name:     "host-matches-nothing",
		Title:    "A DestinationRule for a host that does not exist",
		Category: lint.CategoryAcross,
		Severity: lint.Warning,
		Presets:  []string{"recommended", "strict"},
		Kinds:    []object.Kind{object.DestinationRule},
		Needs:    []object.Kind{object.ServiceEntry},
		Summary: "A DestinationRule whose host no ServiceEntry or Service in the mesh has; or, as an error, one for an exact name of which only a " +
			"wildcard ServiceEntry exists.",
		Why: "Istio applies a DestinationRule to the clusters that it compiles for hosts in its registry. A host that is not there has no cluster, " +
			"so the rule does nothing and nobody says so. A misspelt name, a dot at the end, an upper-case letter or a short name that " +
			"resolves in another namespace is enough: Istio compares names letter by letter.\n\n" +
			"An exact name below a wildcard ServiceEntry has no cluster of its own either: its traffic runs through the wildcard's cluster, which " +
			"only rules for the wildcard reach.",
		Remedy: "Write the host as its ServiceEntry or Service has it, add a ServiceEntry for it, or delete the rule. If the host is in another folder " +
			"of the same mesh, say under `scopes:` in .meshvet.yaml which folders make up a mesh.",
		Fix:   lint.Unsafe,
		Proof: lint.Proof{Kind: "ignored", Text: "without the rule Istio compiles the same clusters, listeners and routes"},
		Observe: lint.Observe{
			ConfigDump: "istioctl proxy-config cluster POD --fqdn HOST lists no cluster",
		},
		References: []string{
			"https://istio.io/latest/docs/reference/config/networking/destination-rule/#DestinationRule",
			"https://istio.io/latest/docs/tasks/traffic-management/egress/egress-control/#envoy-passthrough-to-external-services",
		},
	},
	Check: func(p *lint.Pass) error {
		r := p.Mesh.Rule(p.Object)
		if r.Host == "" || coversWholeMesh(p.Mesh, r.Host) || len(p.Mesh.Reach(r.Host, r.Namespace())) > 0 {
			return nil
		}
		if r.Host == mesh.Host("kubernetes.default.svc."+p.Mesh.Settings().ClusterDomain) {
			return nil // every cluster has it, and no repository
		}
		at := object.Path{"spec", "host"}
		if p.Mesh.Settings().InCluster(r.Host) && !p.Mesh.Complete(object.Service) {
			p.Skip(fmt.Sprintf("%s is a name inside the cluster, and not every Service is known", r.Host))
			return nil
		}
		about := lint.About(lint.Subject{Hosts: []string{string(r.Host)}})
		// A ServiceEntry for "*" is refused by Istio, so it takes in nothing; nor does one that the rule's clients do not see.
		covering := slices.DeleteFunc(p.Mesh.TargetsCovering(r.Host), func(by mesh.Reached) bool {
			return by.Host == "*" || !p.Mesh.Sees(by.Target, r.Namespace())
		})
		if len(covering) > 0 && !r.Host.IsWildcard() {
			by := covering[0]
			p.Report(at, fmt.Sprintf("%s has no cluster of its own: only the wildcard %s of ServiceEntry %s takes it in", r.Host, by.Host, by.Target.Object.Name),
				lint.As(lint.Error), about,
				lint.Effect(fmt.Sprintf("Envoy sends its traffic through the cluster of %s, to which this rule does not apply: nothing in it has an effect", by.Host)),
				lint.Also(by.Target.Object, object.Path{"spec", "hosts"}, "the wildcard host"),
			)
			return nil
		}
		extras := []lint.Extra{about, lint.Effect(inScope(p.Mesh) + "Istio compiles no cluster for the host, so nothing in the rule has an effect; " + unknownHostEffect(p.Mesh))}
		if name := nearestSpelling(p.Mesh, r); name != "" {
			extras = append(extras, lint.Suggest(lint.Fix{
				Title: "write " + name, Safety: lint.Unsafe, Ops: []lint.Op{{Kind: lint.Replace, Path: at, Value: name}},
			}))
		}
		p.Report(at, fmt.Sprintf("no ServiceEntry or Service has the host %q", r.Host), extras...)
		return nil
	},
})

// inScope names the mesh that was searched, where there are several: another may well have the host. It stays out of the message,
// since the name hangs on where the run was started.
func inScope(ix *mesh.Index) string {
	if name := ix.Settings().Scope; name != "" {
		return fmt.Sprintf("in mesh scope %s ", name)
	}
	return ""
}

// coversWholeMesh recognises the hosts of mesh-wide defaults, which are written before there is anything for them to reach.
func coversWholeMesh(ix *mesh.Index, h mesh.Host) bool {
	return h == "*" || h.IsWildcard() && h.Covers(mesh.Host("*.svc."+ix.Settings().ClusterDomain))
}

// unknownHostEffect says where calls to a host go that Istio does not know: meshConfig.outboundTrafficPolicy decides.
func unknownHostEffect(ix *mesh.Index) string {
	if ix.Settings().MeshConfig.At("outboundTrafficPolicy", "mode").Str() == "REGISTRY_ONLY" {
		return "with outboundTrafficPolicy REGISTRY_ONLY calls to it end in BlackHoleCluster"
	}
	return "calls to it go through PassthroughCluster with Envoy's defaults, or end in BlackHoleCluster under outboundTrafficPolicy REGISTRY_ONLY"
}

// nearestSpelling finds the name that a host would match if it were written as Istio compares names.
func nearestSpelling(ix *mesh.Index, r *mesh.DestinationRule) string {
	written := r.Object.Spec().Get("host").Str()
	for _, name := range []string{strings.TrimSuffix(written, "."), strings.ToLower(written), strings.ToLower(strings.TrimSuffix(written, "."))} {
		host := mesh.QualifyHost(name, r.Namespace(), ix.Settings().ClusterDomain)
		if name != written && len(ix.Targets(host)) > 0 {
			return name
		}
	}
	return ""
}
