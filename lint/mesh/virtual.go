package mesh

import (
	"slices"

	"github.com/meshvet/meshvet/lint/object"
)

// VirtualServicesFor returns the VirtualServices with a host that covers h, those with the most specific host first, of equals the
// oldest. Which proxies get them is not looked at.
func (x *Index) VirtualServicesFor(h Host) []*object.Object {
	out := slices.Clone(x.virtual.at(x.seed, h))
	if x.wildVS.n == 0 {
		return out
	}
	seen := map[*object.Object]bool{}
	for _, vs := range out {
		seen[vs] = true
	}
	// A wildcard covers h if what follows its star is an end of h, of which there are as many as letters. Names longer than DNS has
	// any are not looked for.
	const longest = 253
	rest := string(h)
	if h.IsWildcard() {
		rest = rest[1:]
	}
	for from := max(0, len(rest)-longest); from <= len(rest); from++ {
		for _, vs := range x.wildVS.at(x.seed, rest[from:]) {
			if !seen[vs] {
				seen[vs] = true
				out = append(out, vs)
			}
		}
	}
	return out
}

// virtualHosts lists the hosts of a VirtualService, each once; none for other kinds.
func (x *Index) virtualHosts(o *object.Object) []Host {
	if o.Kind != object.VirtualService {
		return nil
	}
	var out []Host
	for _, h := range sorted(o.Spec().Get("hosts").Strings()) {
		out = append(out, QualifyHost(h, NamespaceOf(o), x.settings.ClusterDomain))
	}
	slices.Sort(out) // two ways to write a name may mean one
	return slices.Compact(out)
}

func olderVirtualService(a, b *object.Object) bool { return older(createdOf(a), createdOf(b), a, b) }

// SeesVirtualService says whether proxies of a namespace get a VirtualService.
func (x *Index) SeesVirtualService(vs *object.Object, ns string) bool {
	to := vs.Spec().Get("exportTo").Strings()
	if len(to) == 0 {
		to = x.settings.MeshConfig.Get("defaultVirtualServiceExportTo").Strings()
	}
	return len(to) == 0 || slices.Contains(to, "*") || slices.Contains(to, ns) || slices.Contains(to, ".") && NamespaceOf(vs) == ns
}
