package mesh

import (
	"slices"
	"strings"

	"github.com/meshvet/meshvet/lint/object"
)

// sidecars are the Sidecar resources of one namespace.
type sidecars struct {
	wide   []*imports // for all of its workloads; in the root namespace for all that have none
	chosen []*imports // for workloads with some labels
}

// imports are the hosts that a Sidecar resource lets its proxies see.
type imports struct {
	object *object.Object
	all    bool // it says nothing of egress, so it hides nothing
	byHost map[Host][]egress
	odd    []egress // hosts whose star is not a whole label
	many   bool     // too many to be gone through one by one
}

// egress is one host of an egress listener: NAMESPACE/NAME.
type egress struct {
	namespace string
	name      Host
	port      uint32 // of the listener; 0 = any
}

// manyImports is how many hosts of a Sidecar resource are gone through for a wildcard host. One with more counts as importing it.
const manyImports = 1000

func importsOf(o *object.Object) *imports {
	im := &imports{object: o, byHost: map[Host][]egress{}}
	listeners := o.Spec().Get("egress")
	im.all = listeners.Len() == 0
	n := 0
	for _, listener := range listeners.Items() {
		for _, item := range listener.Get("hosts").Strings() {
			ns, name, ok := strings.Cut(item, "/")
			if !ok {
				continue
			}
			e := egress{ns, Host(name), uint32(listener.At("port", "number").Int())}
			if n++; e.name.IsWildcard() && !e.name.onLabel() {
				im.odd = append(im.odd, e)
			} else {
				im.byHost[e.name] = append(im.byHost[e.name], e)
			}
		}
	}
	im.many = n > manyImports
	return im
}

// lets says whether proxies of a namespace see a host of a target, on one of its ports at least.
func (im *imports) lets(h Host, t *Target, client string) bool {
	fits := func(e egress) bool {
		ns := e.namespace
		if ns == "." {
			ns = client
		}
		if ns != "*" && ns != t.Namespace() {
			return false
		}
		_, has := t.Port(e.port)
		return e.port == 0 || has
	}
	if im.all || slices.ContainsFunc(im.byHost[h], fits) || slices.ContainsFunc(im.odd, func(e egress) bool { return e.name.Overlaps(h) && fits(e) }) {
		return true
	}
	for p := range h.labelPatterns {
		if slices.ContainsFunc(im.byHost[p], fits) {
			return true
		}
	}
	if !h.IsWildcard() {
		return false
	}
	if im.many {
		return true
	}
	for name, list := range im.byHost {
		if h.Covers(name) && slices.ContainsFunc(list, fits) {
			return true
		}
	}
	return false
}

// allSidecars are the Sidecar resources of a mesh.
type allSidecars struct {
	in     map[string]*sidecars // by namespace
	spaces []string             // their namespaces, sorted
}

func (x *Index) readSidecars(theOnly) *allSidecars {
	all := &allSidecars{in: map[string]*sidecars{}}
	for o := range x.All(object.Sidecar) {
		ns := NamespaceOf(o)
		in := all.in[ns]
		if in == nil {
			in = &sidecars{}
			all.in[ns] = in
			all.spaces = append(all.spaces, ns)
		}
		if o.Spec().At("workloadSelector", "labels").Len() > 0 {
			in.chosen = append(in.chosen, importsOf(o))
		} else {
			in.wide = append(in.wide, importsOf(o))
		}
	}
	slices.Sort(all.spaces)
	return all
}

func (x *Index) allSidecars() *allSidecars {
	return cached(x, sidecarsCache, theOnly{}, (*Index).readSidecars)
}

func (x *Index) sidecarsIn(ns string) *sidecars {
	if in := x.allSidecars().in[ns]; in != nil {
		return in
	}
	return &sidecars{}
}

// SidecarNamespaces returns the namespaces with a Sidecar resource, sorted.
func (x *Index) SidecarNamespaces() []string { return x.allSidecars().spaces }

// Sidecars is the number of Sidecar resources that HidingSidecar looks at for a namespace.
func (x *Index) Sidecars(ns string) int {
	in := x.sidecarsIn(ns)
	return len(in.wide) + len(in.chosen) + len(x.sidecarsIn(x.settings.RootNamespace).wide)
}

// HidingSidecar returns the Sidecar resource that keeps a host from all sidecars of a namespace, nil if some may see it or if it is not
// exported to them anyway. All that
// are for the namespace count, since age decides between them, and all that are for some of its workloads; those for the whole
// mesh only where the namespace has none of its own. Source: Istio's pilot/pkg/model, getSidecarScope.
func (x *Index) HidingSidecar(h Host, ns string) *object.Object {
	in := x.sidecarsIn(ns)
	wide := in.wide
	if len(wide) == 0 {
		wide = x.sidecarsIn(x.settings.RootNamespace).wide
	}
	if len(wide) == 0 {
		return nil
	}
	seen := false
	for _, t := range x.targets.at(x.seed, h) {
		if !x.Sees(t, ns) {
			continue
		}
		seen = true
		lets := func(im *imports) bool { return im.lets(h, t, ns) }
		if slices.ContainsFunc(wide, lets) || slices.ContainsFunc(in.chosen, lets) {
			return nil
		}
	}
	if !seen {
		return nil
	}
	return wide[0].object
}
