package rules

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/effective"
	"github.com/meshvet/meshvet/lint/mesh"
	"github.com/meshvet/meshvet/lint/object"
)

var _ = register(lint.Rule{
	Meta: lint.Meta{
		ID:       "MX302",
		Name:     "rival-destinationrules",
		Title:    "Two DestinationRules of one namespace compete for a host",
		Category: lint.CategoryAcross,
		Severity: lint.Error,
		Presets:  []string{"recommended", "strict"},
		Kinds:    []object.Kind{object.DestinationRule},
		Summary: "Two DestinationRules of one namespace with the same host and without a workloadSelector, or with equal ones, of which " +
			"something is lost: both have a trafficPolicy and these differ, or both define a subset of the same name differently.",
		Why: "Istio does not merge the two field by field. It keeps the destination-level trafficPolicy of one of them whole, and of each " +
			"subset the first definition. Which one is first is decided by creation time, which a repository does not show: applying the same " +
			"files to a new cluster may turn the outcome round. If the two have different exportTo lists Istio does not merge them at all, and " +
			"the order is reversed: then the younger one wins.\n\n" +
			"A rule with only subsets beside one with only a policy does merge, and is not reported.",
		Remedy: "Put both policies into one DestinationRule.",
		Proof:  lint.Proof{Kind: "changes", Text: "with creation times swapped, the cluster carries the other rule's policy"},
		References: []string{
			"https://istio.io/latest/docs/ops/best-practices/traffic-management/#split-virtual-services",
		},
	},
	Check: func(p *lint.Pass) error {
		mine := p.Mesh.Rule(p.Object)
		for _, other := range p.Mesh.Rules(mine.Host) {
			if other.Object.Key == p.Object.Key || other.Namespace() != mine.Namespace() || !sameSelector(mine, other) {
				continue
			}
			lost := contested(p.Object, other.Object)
			if len(lost) == 0 {
				continue
			}
			p.Report(object.Path{"spec", "host"},
				fmt.Sprintf("%s also rules %s in namespace %s, and they differ in %s", other.Object.Name, mine.Host, mine.Namespace(), strings.Join(lost, ", ")),
				lint.Effect(rivalEffect(mine, other, lost)),
				lint.Also(other.Object, object.Path{"spec", "host"}, "the other rule for the host"),
				lint.About(lint.Subject{Objects: []object.Key{other.Object.Key}, Hosts: []string{string(mine.Host)}}),
			)
			return nil // one finding however many rivals: they are cured together
		}
		return nil
	},
})

func sameSelector(a, b *mesh.DestinationRule) bool {
	return (a.Selector == nil) == (b.Selector == nil) && maps.Equal(a.Selector, b.Selector)
}

func rivalEffect(a, b *mesh.DestinationRule, lost []string) string {
	if !slices.Equal(exportSet(a), exportSet(b)) {
		return "their exportTo lists differ, so Istio keeps both apart and applies the one created last to clients that see both; the other's settings are lost without a word"
	}
	subsets := slices.DeleteFunc(slices.Clone(lost), func(what string) bool { return !strings.HasPrefix(what, "subset ") })
	switch {
	case len(subsets) == 0:
		return "Istio applies the whole trafficPolicy of whichever was created first; the other's is lost without a word"
	case len(subsets) == len(lost):
		return fmt.Sprintf("of %s Istio takes the definition of whichever was created first; the other's is lost without a word", strings.Join(subsets, ", "))
	}
	return fmt.Sprintf("Istio applies the whole trafficPolicy of whichever was created first, and its definition of %s; the other's are lost without a word", strings.Join(subsets, ", "))
}

func exportSet(r *mesh.DestinationRule) []string {
	set := slices.Clone(r.ExportTo)
	slices.Sort(set)
	return slices.Compact(set)
}

// contested lists what only one of two rules can have its way in: blocks and port entries of the destination level, and
// subsets that both define.
func contested(a, b *object.Object) []string {
	var out []string
	pa, pb := a.Spec().Get("trafficPolicy"), b.Spec().Get("trafficPolicy")
	if pa.Set() && pb.Set() {
		for _, block := range append(slices.Clone(effective.Blocks[:]), "portLevelSettings") {
			if !sameValue(pa.Get(block), pb.Get(block)) && !(block == "loadBalancer" && isDefaultBalancer(pa.Get(block)) && isDefaultBalancer(pb.Get(block))) {
				out = append(out, block)
			}
		}
	}
	for _, sa := range a.Spec().Get("subsets").Items() {
		for _, sb := range b.Spec().Get("subsets").Items() {
			if name := sa.Get("name").Str(); name == sb.Get("name").Str() && !sameValue(sa, sb) {
				out = append(out, fmt.Sprintf("subset %q", name))
			}
		}
	}
	return out
}

// isDefaultBalancer says whether a loadBalancer, or none at all, compiles to Istio's default, LEAST_REQUEST.
func isDefaultBalancer(lb object.Value) bool {
	if !lb.Set() {
		return true
	}
	switch lb.Get("simple").Str() {
	case "LEAST_REQUEST", "LEAST_CONN", "UNSPECIFIED":
		return lb.Len() == 1
	}
	return false
}

func sameValue(a, b object.Value) bool {
	if !a.Set() || !b.Set() {
		return !a.Set() && !b.Set()
	}
	return effective.Text(a) == effective.Text(b)
}
