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
		ID:       "DR208",
		Name:     "outlier-on-dynamic-dns",
		Title:    "Outlier detection on a DYNAMIC_DNS host makes Istio panic",
		Category: lint.CategoryPool,
		Severity: lint.Error,
		Presets:  []string{"recommended", "strict"},
		Kinds:    []object.Kind{object.DestinationRule, object.ServiceEntry},
		When: append(slices.Clone(whereOutlierDetection), lint.Gate{
			Kind: object.ServiceEntry, All: []lint.Condition{{Path: "spec.resolution", Values: []any{"DYNAMIC_DNS"}}},
		}),
		Summary: "outlierDetection that is in effect on a port of a ServiceEntry of resolution DYNAMIC_DNS, be it written in a " +
			"DestinationRule or in meshConfig.defaultTrafficPolicy.",
		Why: "For such a host Istio compiles a dynamic_forward_proxy cluster, to which addresses are not known and from which none can be " +
			"ejected. Istio's generator (1.31 release candidate) does not expect outlierDetection there: it dereferences a nil pointer in " +
			"applyOutlierDetection and panics, so that the proxies that see the host get no configuration. This was seen in Istio's generator " +
			"used as a library; a real istiod, which may crash, was not tried.\n\n" +
			"In a subset, or in an entry for a port that the host lacks, the block is only ignored, which is a warning. Istio compiles such a " +
			"cluster only for ports of protocol HTTP, HTTP2, GRPC and TLS; the others get none, and are not reported.",
		Remedy: "Drop outlierDetection for the host. If the mesh configuration sets it for all hosts, a DestinationRule cannot take it back: " +
			"drop it there, or give the host a resolution other than DYNAMIC_DNS.",
		Fix:   lint.Safe,
		Proof: lint.Proof{Kind: "panics", Text: "compiling the host panics with the block and yields a dynamic_forward_proxy cluster without it"},
		Observe: lint.Observe{
			Stats:      []string{"pilot_xds", "pilot_xds_pushes"},
			ConfigDump: "istioctl proxy-status shows proxies as STALE or missing; the log of istiod has a stack trace through applyOutlierDetection",
		},
		References: []string{
			"https://istio.io/latest/docs/reference/config/networking/service-entry/#ServiceEntry-Resolution",
			"https://www.envoyproxy.io/docs/envoy/latest/intro/arch_overview/http/http_proxy",
		},
	},
	Check: func(p *lint.Pass) error {
		if p.Object.Kind == object.ServiceEntry {
			outlierFromMeshDefault(p)
			return nil
		}
		outlierFromRule(p)
		return nil
	},
})

const outlierPanic = "Istio's generator panics on the dynamic_forward_proxy cluster (seen in the generator of Istio 1.31-rc, not tried with a real istiod), so proxies that see the host get no configuration"

func outlierFromRule(p *lint.Pass) {
	reach := p.EachPort()
	if !reach.Known() {
		skipUnknownHost(p)
		return
	}
	dynamic := whichever(reach.Ports, effective.Port.Dynamic)
	onlyDynamic := len(dynamic) > 0 && len(dynamic) == len(whichever(reach.Ports, effective.Port.Compiled))
	for _, w := range effective.WrittenIn(p.Object, "outlierDetection", reach) {
		if w.Level.Shadowed || w.Value.Get("minHealthPercent").Int() < 0 { // a negative share keeps Istio from the missing field
			continue
		}
		hit := whichever(w.Level.Ports, effective.Port.Dynamic)
		inSubset := w.Level.Kind == effective.SubsetLevel || w.Level.Kind == effective.SubsetEntry
		switch {
		case len(hit) > 0 && !inSubset:
			p.Report(w.Path,
				fmt.Sprintf("outlierDetection is in effect on %s%s, whose resolution is DYNAMIC_DNS", portName(hit[0]), andMore(len(hit)-1)),
				lint.Effect(outlierPanic),
				lint.Also(hit[0].Target.Object, object.Path{"spec", "resolution"}, "the resolution is written here"),
				lint.About(lint.SubjectOf(hit)),
				suggestAll(dropOutlier(p, w, len(hit) == len(whichever(w.Level.Ports, effective.Port.Compiled)) && !anyElsewhere(p.Mesh, hit))),
			)
		case onlyDynamic && (inSubset || len(w.Level.Ports) == 0):
			p.Report(w.Path,
				fmt.Sprintf("outlierDetection is ignored: %s, whose resolution is DYNAMIC_DNS, has no %s", dynamic[0].Host, lacking(w.Level)),
				lint.As(lint.Warning),
				lint.Effect("Istio compiles no cluster that the block would apply to; on one that it does apply to, it would panic"),
				lint.Also(dynamic[0].Target.Object, object.Path{"spec", "resolution"}, "the resolution is written here"),
				lint.About(lint.SubjectOf(dynamic)),
				suggestAll(dropOutlier(p, w, !anyElsewhere(p.Mesh, dynamic))),
			)
		}
	}
}

// whichever picks the ports that have a property.
func whichever(ports []effective.Port, has func(effective.Port) bool) []effective.Port {
	return slices.DeleteFunc(slices.Clone(ports), func(port effective.Port) bool { return !has(port) })
}

// anyElsewhere says whether another namespace has one of the hosts too, so that a gateway may get that one.
func anyElsewhere(ix *mesh.Index, ports []effective.Port) bool {
	return slices.ContainsFunc(ports, func(port effective.Port) bool { return ix.Elsewhere(port.Target, port.Host) })
}

// lacking names what a level would apply to if it were there.
func lacking(l effective.Level) string {
	switch {
	case l.Subset != "":
		return fmt.Sprintf("cluster for subset %s", l.Subset)
	case l.Kind == effective.PortEntry:
		return fmt.Sprintf("port %d", l.Port)
	}
	return "port without an entry of its own"
}

// dropOutlier takes the block away. A level that would be left empty, which Istio refuses, goes with it; where that would lay
// open what an outer level says, or where other hosts make use of the block, the change is not safe. Nothing is proposed if the
// mesh's default would take the block's place.
func dropOutlier(p *lint.Pass, w effective.Written, useless bool) []lint.Fix {
	if defaultOutlier(p.Mesh).Set() {
		return nil
	}
	drop := func(safety lint.Safety, title string, at object.Path) []lint.Fix {
		if !useless {
			safety = lint.Unsafe
		}
		return []lint.Fix{{Title: title, Safety: safety, Ops: []lint.Op{{Kind: lint.Remove, Path: at}}}}
	}
	isEntry := w.Level.Kind == effective.PortEntry || w.Level.Kind == effective.SubsetEntry
	noSuchPort := isEntry && len(w.Level.Ports) == 0
	switch {
	case noSuchPort:
		return drop(lint.Safe, "drop the entry, since the host has no such port", wholly(p.Object, w.Level.Path))
	case !w.Alone:
		return drop(lint.Safe, "drop outlierDetection", w.Path)
	case !isEntry:
		return drop(lint.Safe, "drop trafficPolicy, which holds nothing but outlierDetection", w.Level.Path)
	}
	at := wholly(p.Object, w.Level.Path)
	safety := lint.Unsafe // without the entry the outer level's other blocks reach the port
	if w.Level.Kind == effective.SubsetEntry || at[len(at)-1] == "trafficPolicy" {
		safety = lint.Safe
	}
	return drop(safety, "drop the entry, which holds nothing but outlierDetection", at)
}

// wholly widens the path of a portLevelSettings entry to what would be left empty without it.
func wholly(o *object.Object, entry object.Path) object.Path {
	list, policy := entry[:len(entry)-1], entry[:len(entry)-2]
	if o.Lookup(list).Len() > 1 {
		return entry
	}
	for k, f := range o.Lookup(policy).Fields() {
		if k != "portLevelSettings" && f.Set() {
			return list
		}
	}
	return policy
}

func defaultOutlier(ix *mesh.Index) object.Value {
	return ix.Settings().MeshConfig.At("defaultTrafficPolicy", "outlierDetection")
}

// outlierFromMeshDefault reports a host whose outlier detection nobody but the mesh configuration asks for.
func outlierFromMeshDefault(p *lint.Pass) {
	if !defaultOutlier(p.Mesh).Set() {
		return
	}
	t := p.Mesh.Target(p.Object)
	for _, h := range t.Hosts {
		for _, client := range p.Mesh.ClientNamespaces(t) {
			levels := effective.LevelsOfMerged(p.Mesh, p.Mesh.RuleFor(t, h, client, nil), "")
			for _, port := range t.Ports {
				hit := effective.Port{Port: port, Host: h, Target: t, Cluster: effective.ClusterTypeOf(t)}
				block := levels.For(port.Number, effective.Without{}).Block("outlierDetection")
				if !hit.Dynamic() || !block.Set() || block.Object != nil {
					continue
				}
				p.Report(object.Path{"spec", "resolution"},
					fmt.Sprintf("resolution is DYNAMIC_DNS, and %s gives %s outlier detection%s", defaultPolicySource(p.Mesh), portName(hit), forClients(t, client)),
					lint.Effect(outlierPanic),
					lint.About(lint.SubjectOf([]effective.Port{hit})),
				)
				return // one cause, however many ports and clients
			}
		}
	}
}

func defaultPolicySource(ix *mesh.Index) string {
	return "meshConfig.defaultTrafficPolicy.outlierDetection" + meshConfigSource(ix)
}

// meshConfigSource says in brackets where the mesh configuration stands, if that is known.
func meshConfigSource(ix *mesh.Index) string {
	if source := ix.Settings().MeshConfigSource; source != "" {
		return fmt.Sprintf(" (%s)", source)
	}
	return ""
}

func forClients(t *mesh.Target, client string) string {
	if client == t.Namespace() {
		return ""
	}
	return " for clients in namespace " + client
}
