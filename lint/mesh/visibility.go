package mesh

import "slices"

// exportedTo says whether an exportTo list, or the mesh's default for an empty one, makes an object of namespace owner visible
// in namespace client.
func exportedTo(exportTo, meshDefault []string, owner, client string) bool {
	if len(exportTo) == 0 {
		exportTo = meshDefault
	}
	switch {
	case len(exportTo) == 0 || slices.Contains(exportTo, "*"):
		return true
	case slices.Contains(exportTo, "~"): // hides the object from everybody, whatever else the list says
		return false
	}
	return slices.Contains(exportTo, client) || owner == client && slices.Contains(exportTo, ".")
}

// Sees says whether clients in namespace ns see the target. Sidecar resources are not applied.
func (x *Index) Sees(t *Target, ns string) bool {
	return exportedTo(t.ExportTo, x.settings.DefaultServiceExportTo, t.Namespace(), ns)
}

// public says whether the target is exported to all namespaces.
func (x *Index) public(t *Target) bool {
	to := t.ExportTo
	if len(to) == 0 {
		to = x.settings.DefaultServiceExportTo
	}
	return len(to) == 0 || slices.Contains(to, "*")
}

// ClientNamespaces returns the namespaces whose clients may meet different rules for the target: its own, those that have a
// rule of their own for one of its hosts, those that an exportTo singles out, and one that stands for all others. Only
// namespaces that see the target and hold an object of the index count, and always its own.
func (x *Index) ClientNamespaces(t *Target) []string {
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
	for _, ns := range t.ExportTo {
		add(ns)
	}
	for _, h := range t.Hosts {
		for pattern := range x.patternsFor(h) {
			for _, r := range x.rulesAt(pattern) {
				add(NamespaceOf(r.Object))
				for _, ns := range r.ExportTo {
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
func (x *Index) Hidden(t *Target) bool {
	to := t.ExportTo
	if len(to) == 0 {
		to = x.settings.DefaultServiceExportTo
	}
	return slices.Contains(to, "~") && !slices.Contains(to, "*")
}
