package mesh

import "slices"

// An exportTo list may name thousands of namespaces, and is asked for each pair of objects: they are kept sorted.

// sorted is a list as a set, in order.
func sorted(list []string) []string {
	if len(list) < 2 {
		return list
	}
	set := slices.Clone(list)
	slices.Sort(set)
	return slices.Compact(set)
}

// has says whether a sorted list holds a string.
func has(set []string, s string) bool {
	_, found := slices.BinarySearch(set, s)
	return found
}

// hasAll says whether a sorted list holds all of another.
func hasAll(set, subset []string) bool {
	for _, s := range subset {
		i, found := slices.BinarySearch(set, s)
		if !found {
			return false
		}
		set = set[i+1:]
	}
	return true
}

// exports is the exportTo list that counts for a target, the mesh's default if it has none.
func (x *Index) exports(t *Target) []string {
	if len(t.ExportTo) == 0 {
		return x.settings.DefaultServiceExportTo
	}
	return t.ExportTo
}

// Sees says whether clients in namespace ns see the target. Sidecar resources are not applied.
func (x *Index) Sees(t *Target, ns string) bool {
	switch {
	case x.public(t):
		return true
	case x.Hidden(t): // whatever else the list says
		return false
	}
	to := x.exports(t)
	return has(to, ns) || ns == t.Namespace() && has(to, ".")
}

// Public says whether clients of all namespaces see the target.
func (x *Index) Public(t *Target) bool { return x.public(t) }

// public says whether the target is exported to all namespaces.
func (x *Index) public(t *Target) bool {
	to := x.exports(t)
	return len(to) == 0 || has(to, "*")
}

// ClientNamespaces returns the namespaces whose clients may meet different rules for the target: its own, those that have a
// rule of their own for one of its hosts, those that an exportTo singles out, and one that stands for all others. Only
// namespaces that see the target and hold an object of the index count, and always its own.
func (x *Index) ClientNamespaces(t *Target) []string {
	return cached(x, clientsCache, t, (*Index).clientNamespaces)
}

func (x *Index) clientNamespaces(t *Target) []string {
	own := t.Namespace()
	seen := map[string]bool{own: true, "*": true, ".": true, "~": true}
	out := []string{own}
	add := func(ns string) bool {
		if seen[ns] {
			return false
		}
		seen[ns] = true
		if !x.HasNamespace(ns) || !x.Sees(t, ns) {
			return false
		}
		out = append(out, ns)
		return true
	}
	for _, ns := range x.exports(t) {
		add(ns)
	}
	for _, h := range t.Hosts {
		for pattern := range x.patternsFor(h) {
			for _, r := range x.rulesAt(pattern) {
				add(NamespaceOf(r.Object))
				for _, ns := range r.exports {
					add(ns)
				}
			}
		}
	}
	add(x.settings.RootNamespace)
	if x.public(t) {
		for _, ns := range x.Namespaces() { // one for all that nothing singles out
			if add(ns) {
				break
			}
		}
	}
	return out
}

// Hidden says whether no namespace at all sees the target, so that Istio compiles nothing from it but its endpoints.
func (x *Index) Hidden(t *Target) bool { return has(x.exports(t), "~") && !x.public(t) }
