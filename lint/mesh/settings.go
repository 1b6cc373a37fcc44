package mesh

import (
	"slices"
	"strings"

	"github.com/meshvet/meshvet/lint/object"
)

// Settings are the facts about a mesh that its objects do not show.
type Settings struct {
	IstioVersion  string // "1.31"; "" = the version whose compiler the rules are proven against
	ClusterDomain string // default "cluster.local"
	RootNamespace string // default "istio-system"
	Dataplane     string // "sidecar", "ambient" or "mixed"; "" = as the labels in view say

	// Scope is the name of the mesh if a run reads several, "" if it is the only one.
	Scope string
	// Unread names, for kinds of which there may be objects that could not be read, one file that may hold them. Such a kind is not
	// completely known, whatever is declared.
	Unread map[object.Kind]string
	// Shared says that the objects are those that several meshes have in common: each of them may have more.
	Shared bool

	// DNSCapture and AutoAllocate say whether proxies answer DNS (default: what meshConfig's proxyMetadata says) and whether istiod
	// gives addresses to ServiceEntries without any. nil = not known.
	DNSCapture, AutoAllocate *bool

	// GatewayNamespaces are where gateway proxies run; if it is empty, Index.GatewayNamespaces finds out.
	GatewayNamespaces []string

	// MeshConfig is meshConfig as written, MeshConfigSource the name of where it stands ("" = nowhere).
	MeshConfig       object.Value
	MeshConfigSource string

	// DefaultServiceExportTo and DefaultRuleExportTo are meshConfig's defaults for exportTo; empty = exported to all.
	DefaultServiceExportTo, DefaultRuleExportTo []string
}

func withDefaults(s Settings) Settings {
	if m := s.MeshConfig; m.Set() {
		if s.RootNamespace == "" {
			s.RootNamespace = m.Get("rootNamespace").Str()
		}
		if s.DefaultServiceExportTo == nil {
			s.DefaultServiceExportTo = m.Get("defaultServiceExportTo").Strings()
		}
		if s.DefaultRuleExportTo == nil {
			s.DefaultRuleExportTo = m.Get("defaultDestinationRuleExportTo").Strings()
		}
		if v := m.At("defaultConfig", "proxyMetadata", "ISTIO_META_DNS_CAPTURE"); s.DNSCapture == nil && v.Set() {
			on := strings.EqualFold(v.Text(), "true")
			s.DNSCapture = &on
		}
	}
	s.DefaultServiceExportTo, s.DefaultRuleExportTo = sorted(s.DefaultServiceExportTo), sorted(s.DefaultRuleExportTo)
	if s.ClusterDomain == "" {
		s.ClusterDomain = "cluster.local"
	}
	if s.RootNamespace == "" {
		s.RootNamespace = "istio-system"
	}
	return s
}

// InCluster says whether a host is a name of this cluster's own: under the cluster domain, or the *.local of common wildcards.
func (s *Settings) InCluster(h Host) bool {
	if h == "*" {
		return false
	}
	domain := Host("*." + s.ClusterDomain)
	return domain.Covers(h) || h.Covers(domain) || h == Host(s.ClusterDomain)
}

// Ambient says whether ztunnel or a waypoint may carry traffic to the target, so that what is true of sidecars may not hold:
// by the configured dataplane, a use-waypoint label on the object or its Namespace, or an ambient Namespace that sees it.
func (x *Index) Ambient(t *Target) bool {
	switch x.settings.Dataplane {
	case "ambient", "mixed":
		return true
	case "sidecar":
		return false
	}
	if x.ambient == 0 {
		return false
	}
	if boundToWaypoint(t.Object) {
		return true
	}
	for _, ns := range cached(x, ambientCache, theOnly{}, (*Index).ambientSpaces) {
		if ns.Name == t.Namespace() && boundToWaypoint(ns) {
			return true
		}
		if ns.Label("istio.io/dataplane-mode") == "ambient" && x.Sees(t, ns.Name) {
			return true
		}
	}
	return false
}

// ambientSpaces lists the Namespaces with a label of the ambient data plane.
func (x *Index) ambientSpaces(theOnly) []*object.Object {
	var out []*object.Object
	for ns := range x.All(object.Namespace) {
		if boundToWaypoint(ns) || ns.Label("istio.io/dataplane-mode") == "ambient" {
			out = append(out, ns)
		}
	}
	return out
}

// MayBeAmbient says whether anything in view or in the settings hints at the ambient data plane.
func (x *Index) MayBeAmbient() bool {
	return x.ambient > 0 || x.settings.Dataplane == "ambient" || x.settings.Dataplane == "mixed"
}

func boundToWaypoint(o *object.Object) bool {
	w := o.Label("istio.io/use-waypoint")
	return w != "" && w != "none"
}

// EnvoyFilters returns the EnvoyFilters that patch clusters or listeners: what Envoy runs then differs from what Istio compiles.
func (x *Index) EnvoyFilters() []*object.Object {
	return cached(x, filtersCache, theOnly{}, (*Index).envoyFilters)
}

func (x *Index) envoyFilters(theOnly) []*object.Object {
	var out []*object.Object
	for o := range x.All(object.EnvoyFilter) {
		for _, p := range o.Spec().Get("configPatches").Items() {
			if at := p.Get("applyTo").Str(); slices.Contains([]string{"CLUSTER", "LISTENER", "FILTER_CHAIN", "NETWORK_FILTER"}, at) {
				out = append(out, o)
				break
			}
		}
	}
	return out
}

// BackendTLSPolicyFor returns a Gateway API BackendTLSPolicy that targets a ServiceEntry or Service, the first by name. Istio
// turns it into a DestinationRule, so what a DestinationRule alone says about TLS is then not the whole. It takes only targets
// in the policy's own namespace, none of kind Hostname, and no policy with the annotation istio.io/ignore-policy-attachment.
func (x *Index) BackendTLSPolicyFor(t *Target) *object.Object {
	list := x.policies.at(x.seed, normal(t.Object.Key))
	if len(list) == 0 {
		return nil
	}
	return list[0]
}

// policyTargets lists the objects that a BackendTLSPolicy is for, each once.
func policyTargets(o *object.Object) []object.Key {
	if o.Annotation("istio.io/ignore-policy-attachment") == "true" {
		return nil
	}
	var out []object.Key
	for _, ref := range o.Spec().Get("targetRefs").Items() {
		k := object.Key{Kind: object.Kind(ref.Get("kind").Str()), Namespace: NamespaceOf(o), Name: ref.Get("name").Str()}
		group, wanted := ref.Get("group").Str(), ""
		if k.Kind == object.ServiceEntry {
			wanted = object.IstioGroup
		}
		if (k.Kind == object.ServiceEntry || k.Kind == object.Service) && group == wanted && !slices.Contains(out, k) {
			out = append(out, k)
		}
	}
	return out
}

// providers are the hosts that serve the proxies themselves as one of meshConfig.extensionProviders.
func (s *Settings) providers() map[Host]bool {
	out := map[Host]bool{}
	for _, provider := range s.MeshConfig.Get("extensionProviders").Items() {
		for _, kind := range provider.Fields() {
			service := kind.Get("service").Str()
			out[Host(service[strings.LastIndexByte(service, '/')+1:])] = true // NAMESPACE/HOST, or HOST alone
		}
	}
	return out
}
