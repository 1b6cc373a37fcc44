package rules

import (
	"fmt"
	"strings"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/effective"
	"github.com/meshvet/meshvet/lint/object"
)

var _ = register(lint.Rule{
	Meta: lint.Meta{
		ID:       "MX310",
		Name:     "mesh-default-dropped",
		Title:    "A DestinationRule discards what the mesh sets for all hosts",
		Category: lint.CategoryAcross,
		Severity: lint.Warning,
		Presets:  []string{"recommended", "strict"},
		Kinds:    []object.Kind{object.DestinationRule},
		When: append(anywhere("connectionPool"), append(anywhere("outlierDetection"), lint.Gate{
			All: []lint.Condition{{Path: "spec.subsets[*].trafficPolicy.portLevelSettings[*]"}},
		})...),
		Summary: "A connectionPool or outlierDetection of a DestinationRule through which a value of meshConfig.defaultTrafficPolicy is lost: the " +
			"mesh sets the field, the block does not, and what is in effect differs.",
		Why: "Istio applies the mesh's default by block: a host has the mesh's connectionPool only as long as no DestinationRule has one for it. " +
			"A rule that sets connectTimeout alone thus lifts every limit that the mesh sets, back to 4294967295, and nothing says so. An entry " +
			"for a port in a subset drops both blocks, whatever it holds.\n\n" +
			"Only the outermost level of the rule that does so is reported. What one level of a rule takes from another is told by DR202 and " +
			"DR224. Values that come out the same are no loss. The mesh configuration has to be in view, and the mesh to run Istio 1.31 or " +
			"newer: before, there was no such default.",
		Remedy: "Restate in the block what of the mesh's default should hold for the host too, or leave the block out.",
		Since:  "1.31",
		Proof:  lint.Proof{Kind: "changes", Text: "the cluster has the mesh's value with it restated in the block, and the default without"},
		Observe: lint.Observe{
			Stats:      []string{"upstream_cx_overflow", "upstream_rq_pending_overflow", "outlier_detection.ejections_active"},
			ConfigDump: "istioctl proxy-config cluster POD --fqdn HOST -o json shows 4294967295 under circuitBreakers.thresholds, connectTimeout 10s, or outlierDetection without the mesh's values",
		},
		Supersedes: []lint.Supersede{{Rule: "DR203", Scope: lint.ScopeBlock}},
		References: []string{
			"https://istio.io/latest/docs/reference/config/istio.mesh.v1alpha1/#MeshConfig",
			"https://istio.io/latest/docs/reference/config/networking/destination-rule/#TrafficPolicy",
		},
	},
	Check: func(p *lint.Pass) error {
		if !p.Mesh.Settings().MeshConfig.Get("defaultTrafficPolicy").Set() {
			return nil
		}
		for _, m := range effective.LossesOfMesh(p.Mesh, p.Object, p.Levels(), p.Reach().Known()) {
			what, cut := m.Block, m.Block+"." // fields are named below the block that the message is about
			if len(m.At) == len(m.Level.Path) {
				what, cut = fmt.Sprintf("the entry for port %d", m.Level.Port), ""
			}
			var told, envoy []string
			var ports []effective.Port
			for _, l := range m.Losses {
				told = append(told, fmt.Sprintf("%s %s becomes %s", strings.TrimPrefix(l.Field.Name, cut), l.From, l.To))
				envoy = append(envoy, l.Field.Envoy)
				ports = append(ports, l.Ports...)
			}
			if m.Level.Subset != "" {
				what += " of subset " + m.Level.Subset
			}
			about := lint.SubjectOf(ports)
			about.Blocks = []string{m.Block}
			p.Report(m.At,
				fmt.Sprintf("%s discards what meshConfig.defaultTrafficPolicy sets for all hosts: %s", what, strings.Join(told, "; ")),
				lint.Effect(fmt.Sprintf("Istio takes the mesh's %s%s only where no rule steps in, so Envoy's cluster has other values for %s", m.Block, meshConfigSource(p.Mesh), strings.Join(envoy, ", "))),
				lint.About(about),
			)
		}
		return nil
	},
})

// anywhere are gates for a block at the four places where a DestinationRule can hold it.
func anywhere(block string) []lint.Gate {
	var out []lint.Gate
	for _, at := range []string{"spec.trafficPolicy.", "spec.trafficPolicy.portLevelSettings[*].", "spec.subsets[*].trafficPolicy.", "spec.subsets[*].trafficPolicy.portLevelSettings[*]."} {
		out = append(out, lint.Gate{All: []lint.Condition{{Path: at + block}}})
	}
	return out
}
