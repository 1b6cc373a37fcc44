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
			"something is lost: both have a trafficPolicy and these differ, or both define a subset of the same name differently, or their " +
			"exportTo lists keep Istio from merging them. Where the outcome is the same on every cluster it is a warning.",
		Why: "Istio does not merge the two field by field. It keeps the destination-level trafficPolicy of one of them whole, and of each " +
			"subset the first definition. Which one is first is decided by creation time, which a repository does not show: applying the same " +
			"files to a new cluster may turn the outcome round.\n\n" +
			"If the two have different exportTo lists Istio does not merge them, and the order is reversed: clients that see both get the " +
			"younger one and nothing of the older. Unset and `*` are different lists too. Only if one list holds all entries of the other " +
			"does the rule with the shorter list win, whichever is older; but if it is the older one, the other is merged into it and does not " +
			"exist by itself any more, so namespaces that only the longer list names get neither.\n\n" +
			"A rule with only subsets beside one with only a policy and an equal exportTo does merge, and is not reported. Nor are rules that no " +
			"client sees both of, and two definitions of one and the same object.",
		Remedy: "Put both policies into one DestinationRule.",
		Proof:  lint.Proof{Kind: "changes", Text: "with creation times swapped, the cluster carries the other rule's policy"},
		Observe: lint.Observe{
			ConfigDump: "istioctl proxy-config cluster POD --fqdn HOST -o json shows the values of one of the rules; its last column without -o json names only one of them",
		},
		References: []string{
			"https://istio.io/latest/docs/ops/best-practices/traffic-management/#split-virtual-services",
		},
	},
	Check: func(p *lint.Pass) error {
		if overwritten(p) {
			return nil
		}
		mine := p.Mesh.Rule(p.Object)
		var worst *rivalry
		compared := 0
		for _, other := range p.Mesh.Rules(mine.Host) {
			if other.Object == p.Object || other.Namespace() != mine.Namespace() || !sameSelector(mine, other) {
				continue
			}
			if compared++; compared > maxRivals {
				p.Skip(fmt.Sprintf("the namespace has more than %d rules for %s; it is compared with the oldest of them only", maxRivals, mine.Host))
				break
			}
			r, found := rivalryOf(p.Mesh, mine, other)
			if found && (worst == nil || r.severity > worst.severity) {
				worst = &r
			}
			if found && r.severity == lint.Error {
				break
			}
		}
		if worst == nil {
			return nil
		}
		// One finding however many rivals: they are cured together.
		p.Report(object.Path{"spec", "host"},
			fmt.Sprintf("%s also rules %s in namespace %s, and they differ in %s", worst.other.Object.Name, mine.Host, mine.Namespace(), strings.Join(worst.lost, ", ")),
			lint.As(worst.severity), lint.Effect(worst.effect),
			lint.Also(worst.other.Object, object.Path{"spec", "host"}, "the other rule for the host"),
			lint.About(lint.Subject{Objects: []object.Key{worst.other.Object.Key}, Hosts: []string{string(mine.Host)}}),
		)
		return nil
	},
})

// overwritten says whether a later file defines the judged object again. What becomes of an object that is defined twice is
// MV906's; that the definition which counts has rivals is reported on that one.
func overwritten(p *lint.Pass) bool {
	have := p.Mesh.Get(p.Object.Key)
	return have != nil && have != p.Object
}

// maxRivals bounds how many rules of one namespace for one host a rule is compared with.
const maxRivals = 200

func sameSelector(a, b *mesh.DestinationRule) bool {
	return (a.Selector == nil) == (b.Selector == nil) && maps.Equal(a.Selector, b.Selector)
}

// rivalry is what two rules for one host take from each other.
type rivalry struct {
	other    *mesh.DestinationRule
	severity lint.Severity
	lost     []string
	effect   string
}

func rivalryOf(ix *mesh.Index, mine, other *mesh.DestinationRule) (rivalry, bool) {
	meeting, narrow := ix.Meet(mine, other)
	r := rivalry{other: other, severity: lint.Error}
	switch meeting {
	case mesh.Strangers:
		return r, false
	case mesh.Merge:
		r.lost = contested(mine.Object, other.Object)
		r.effect = mergeEffect(r.lost)
	case mesh.Displace:
		r.lost = differences(mine.Object, other.Object)
		r.effect = "their exportTo lists differ, so Istio does not merge them: clients that see both get the one that was created last and nothing of the other"
	case mesh.Swallow:
		r.lost = differences(mine.Object, other.Object)
		wide := mine
		if narrow == mine {
			wide = other
		}
		n, w := narrow.Object.Name, wide.Object.Name
		r.effect = fmt.Sprintf("%s is exported to all whom %s is exported to, and these get %s, whichever was created first, and of %s at most what %s has nothing for", w, n, n, w, n)
		if ix.Private(narrow) {
			r.severity = lint.Warning // the same on every cluster
			break
		}
		r.effect += fmt.Sprintf("; if %s was created last, Istio merges it into %s, and namespaces that only %s is exported to get neither", w, n, w)
		if len(r.lost) == 0 {
			r.lost = []string{"exportTo"}
		}
	}
	return r, len(r.lost) > 0
}

func mergeEffect(lost []string) string {
	subsets := slices.DeleteFunc(slices.Clone(lost), func(what string) bool { return !strings.HasPrefix(what, "subset ") })
	switch {
	case len(subsets) == 0:
		return "Istio applies the whole trafficPolicy of whichever was created first; the other's is lost without a word"
	case len(subsets) == len(lost):
		return fmt.Sprintf("of %s Istio takes the definition of whichever was created first; the other's is lost without a word", strings.Join(subsets, ", "))
	}
	return fmt.Sprintf("Istio applies the whole trafficPolicy of whichever was created first, and its definition of %s; the other's are lost without a word", strings.Join(subsets, ", "))
}

// contested lists what only one of two rules that Istio merges can have its way in: blocks and port entries of the destination
// level if both have one, and subsets that both define.
func contested(a, b *object.Object) []string {
	var out []string
	if pa, pb := a.Spec().Get("trafficPolicy"), b.Spec().Get("trafficPolicy"); pa.Set() && pb.Set() {
		out = differingBlocks(pa, pb)
	}
	sb := subsetsOf(b)
	for _, s := range a.Spec().Get("subsets").Items() {
		if other, both := sb[s.Get("name").Str()]; both && !sameValue(s, other) {
			out = append(out, fmt.Sprintf("subset %q", s.Get("name").Str()))
		}
	}
	return out
}

// differences lists all that only one of two rules that Istio does not merge can have its way in.
func differences(a, b *object.Object) []string {
	out := differingBlocks(a.Spec().Get("trafficPolicy"), b.Spec().Get("trafficPolicy"))
	sa, sb := subsetsOf(a), subsetsOf(b)
	for _, name := range slices.Sorted(maps.Keys(sa)) {
		if other, both := sb[name]; !both || !sameValue(sa[name], other) {
			out = append(out, fmt.Sprintf("subset %q", name))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(sb)) {
		if _, both := sa[name]; !both {
			out = append(out, fmt.Sprintf("subset %q", name))
		}
	}
	return out
}

func differingBlocks(pa, pb object.Value) []string {
	var out []string
	for _, block := range effective.Blocks {
		if !sameValue(pa.Get(block), pb.Get(block)) && !(block == "loadBalancer" && isDefaultBalancer(pa.Get(block)) && isDefaultBalancer(pb.Get(block))) {
			out = append(out, block)
		}
	}
	if entries := "portLevelSettings"; !sameEntries(pa.Get(entries), pb.Get(entries)) {
		out = append(out, entries)
	}
	return out
}

func subsetsOf(o *object.Object) map[string]object.Value {
	out := map[string]object.Value{}
	for _, s := range o.Spec().Get("subsets").Items() {
		if _, dup := out[s.Get("name").Str()]; !dup {
			out[s.Get("name").Str()] = s
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

// sameValue says whether two values mean the same to Istio: the order of keys, null for a field that is not there, and the unit
// of a duration make no difference.
func sameValue(a, b object.Value) bool {
	switch {
	case !a.Set() || !b.Set():
		return !a.Set() && !b.Set()
	case a.Type() == object.Map && b.Type() == object.Map:
		for k, v := range a.Fields() {
			if !sameValue(v, b.Get(k)) {
				return false
			}
		}
		for k, v := range b.Fields() {
			if v.Set() && !a.Get(k).Set() {
				return false
			}
		}
		return true
	case a.Type() == object.List && b.Type() == object.List:
		if a.Len() != b.Len() {
			return false
		}
		for i, v := range a.Items() {
			if !sameValue(v, b.Index(i)) {
				return false
			}
		}
		return true
	}
	return effective.Text(a) == effective.Text(b)
}

// sameEntries compares portLevelSettings, whose order does not matter; of two entries for a port the first counts.
func sameEntries(a, b object.Value) bool {
	byPort := func(list object.Value) map[string]object.Value {
		out := map[string]object.Value{}
		for _, e := range list.Items() {
			number := effective.Text(e.At("port", "number"))
			if _, dup := out[number]; !dup {
				out[number] = e
			}
		}
		return out
	}
	return maps.EqualFunc(byPort(a), byPort(b), sameValue)
}
