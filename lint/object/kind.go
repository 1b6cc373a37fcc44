package object

import (
	"strings"

	"github.com/agnivade/levenshtein"
)

// Kind is the kind of a manifest, in the spelling of its `kind` field.
type Kind string

// The kinds that meshvet judges, and those that it reads to know what the judged ones meet.
const (
	ServiceEntry    Kind = "ServiceEntry"
	DestinationRule Kind = "DestinationRule"

	VirtualService   Kind = "VirtualService"
	Gateway          Kind = "Gateway"
	Sidecar          Kind = "Sidecar"
	WorkloadEntry    Kind = "WorkloadEntry"
	EnvoyFilter      Kind = "EnvoyFilter"
	Service          Kind = "Service"
	Namespace        Kind = "Namespace"
	ConfigMap        Kind = "ConfigMap"
	HTTPRoute        Kind = "HTTPRoute"
	BackendTLSPolicy Kind = "BackendTLSPolicy"
)

// Stray is what rules name to be given manifests that were meant to be a ServiceEntry or DestinationRule, but whose API group or
// kind is only nearly Istio's. Istio never sees such an object, so it is in no mesh.
const Stray Kind = "(misspelt group or kind)"

// IstioGroup is the API group of the kinds that meshvet judges; v1alpha3, v1beta1 and v1 of it are one kind.
const IstioGroup = "networking.istio.io"

// groups says which API group owns each kind that is read.
var groups = map[Kind]string{
	ServiceEntry: IstioGroup, DestinationRule: IstioGroup, VirtualService: IstioGroup, Gateway: IstioGroup,
	Sidecar: IstioGroup, WorkloadEntry: IstioGroup, EnvoyFilter: IstioGroup,
	Service: "", Namespace: "", ConfigMap: "",
	HTTPRoute: "gateway.networking.k8s.io", BackendTLSPolicy: "gateway.networking.k8s.io",
}

// Judged says whether findings can be about objects of this kind.
func (k Kind) Judged() bool { return k == ServiceEntry || k == DestinationRule }

// classify says what a manifest with this apiVersion and kind is to meshvet: of a kind it reads, a stray that was meant to be of
// that kind, or nothing ("").
func classify(apiVersion, kind string) (k Kind, stray bool) {
	k = Kind(kind)
	group, _, found := strings.Cut(apiVersion, "/")
	want, known := groups[k]
	if !known {
		if found && group == IstioGroup {
			return nearlyJudged(kind), true
		}
		return "", false
	}
	if !found && !nearlyIstio(group) {
		group = "" // the core group is written without a slash
	}
	switch {
	case group == want && (found || want == ""):
		return k, false
	case k == Gateway && group == "gateway.networking.k8s.io":
		return "", false // the Gateway API's Gateway is another kind of the same name
	case k.Judged() && (group == "" || nearlyIstio(group)):
		return k, true // the core group has no such kinds
	}
	return "", false
}

// nearlyJudged returns the judged kind that a word is a misspelling of: but for case and white space, in the plural, or two edits
// away. No other kind of Istio's group is as near.
func nearlyJudged(word string) Kind {
	word = strings.ToLower(strings.TrimSpace(word))
	for _, k := range [...]Kind{ServiceEntry, DestinationRule} {
		const edits = 2
		name := strings.ToLower(string(k))
		if d := len(word) - len(name); d < -edits || d > edits+1 {
			continue
		}
		if levenshtein.ComputeDistance(word, name) <= edits || word == "serviceentries" && k == ServiceEntry {
			return k
		}
	}
	return ""
}

// kindOf reads the kind of a manifest. Somebody who writes [ServiceEntry] means one kind.
func kindOf(root Value) string {
	v := root.Get("kind")
	if v.Len() == 1 {
		v = v.Index(0)
	}
	return v.Str()
}

// nearlyIstio says whether a group is a misspelling of Istio's rather than another product's: it is below istio.io, where no
// other group has these kinds, or two edits away, which catches doubled, dropped and swapped letters. Other products differ by
// whole words.
func nearlyIstio(group string) bool {
	group = strings.ToLower(group)
	if group == "istio.io" || strings.HasSuffix(group, ".istio.io") {
		return true
	}
	const edits = 2
	if d := len(group) - len(IstioGroup); d > edits || d < -edits {
		return false
	}
	return levenshtein.ComputeDistance(group, IstioGroup) <= edits
}

// Key names an object within one cluster. Namespace is as written; "" means that the manifest leaves it to whoever applies it.
type Key struct {
	Kind      Kind
	Namespace string
	Name      string
}

func (k Key) String() string {
	if k.Namespace == "" {
		return string(k.Kind) + " " + k.Name
	}
	return string(k.Kind) + " " + k.Namespace + "/" + k.Name
}
