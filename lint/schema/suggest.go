package schema

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"

	"github.com/meshvet/meshvet/lint/object"
)

// maxGuessed is the length of the longest name for which a correction is looked for: longer ones are no misspelling of ours.
const maxGuessed = 64

// unknown reports a field that the node does not have. It returns the bits of the required fields that it likely stands for.
func (w *walker) unknown(n *node, f Value) (likely uint64) {
	key := f.Key()
	w.pushKey(key)
	defer w.pop()
	v := w.report(fromDecoding, UnknownField, nil, f, "")
	if w.full() {
		return 0
	}
	what := fmt.Sprintf("%s is not a field of %s", label(object.Path{key}, -1), inside(w.path))
	v.Message = what
	if key == "" || len(key) > maxGuessed {
		return 0
	}
	names := make([]string, len(n.props))
	for i, p := range n.props {
		names[i] = p.name
	}
	match := misspelt(key, names)
	if i := slices.IndexFunc(renamed, func(r rename) bool {
		return r.kind == w.k.kind && r.old == key && r.in == w.path.Parent().String()
	}); i >= 0 && n.find(renamed[i].now) >= 0 {
		match = []string{renamed[i].now}
	}
	switch {
	case len(match) == 1 && strings.Contains(key, "_") && fold(match[0]) == fold(key):
		v.Suggestion, v.SnakeCase = match[0], true
		v.Message = fmt.Sprintf("%s; Kubernetes only knows it as %s", what, match[0])
	case len(match) == 1:
		v.Suggestion = match[0]
		v.Message = fmt.Sprintf("%s (did you mean %s?)", what, match[0])
	case len(match) > 1:
		v.Message = fmt.Sprintf("%s (did you mean %s?)", what, list(match, "or"))
	case key == "name" && len(n.props) == 1 && n.props[0].name == "number":
		v.Message = what + "; a port is selected by its number only"
	default:
		if at := w.k.elsewhere(w.path.Parent(), key); len(at) > 0 {
			var under []string
			for _, h := range at {
				under = append(under, shown(w.path.Parent(), h.mapping))
			}
			v.Message = fmt.Sprintf("%s; it belongs under %s", what, list(under, "or"))
			if len(at) == 1 && !at[0].inItem {
				v.Belongs = at[0].mapping.Child(at[0].field)
			}
		}
	}
	if i := n.find(v.Suggestion); i >= 0 {
		likely = 1 << i
	}
	return likely
}

// A rename is a field that an early version of Istio's v1alpha3 had under another name.
type rename struct{ kind, in, old, now string }

var renamed = []rename{
	{"DestinationRule", "spec", "name", "host"},
	{"ServiceEntry", "spec", "discovery", "resolution"},
}

// fold brings the spellings of a name together: connect_timeout, ConnectTimeout, connect-timeout.
func fold(s string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "", " ", "").Replace(s))
}

// misspelt returns the names that a wrong one likely stands for, the nearest only.
func misspelt(wrong string, names []string) []string {
	if len(wrong) > maxGuessed {
		return nil
	}
	folded := fold(wrong)
	var best []string
	nearest := allowedDistance(folded) + 1
	for _, name := range names {
		switch d := typos(folded, fold(name)); {
		case d < nearest:
			best, nearest = []string{name}, d
		case d == nearest && d <= allowedDistance(folded):
			best = append(best, name)
		}
	}
	if len(best) > 0 || len(folded) < 4 {
		return best
	}
	// keepAlive for tcpKeepalive, timeout for connectTimeout and idleTimeout, portNumber for number.
	for _, name := range names {
		if f := fold(name); strings.HasPrefix(f, folded) || strings.HasSuffix(f, folded) || len(f) >= 4 && strings.HasSuffix(folded, f) {
			best = append(best, name)
		}
	}
	if len(best) > 3 {
		return nil
	}
	return best
}

// typos counts the slips that make one word another: letters added, lost, replaced, or two neighbours swapped.
func typos(a, b string) int {
	if len(a) == len(b) {
		for i := range len(a) - 1 {
			if a[i] != b[i] {
				if a[i] == b[i+1] && a[i+1] == b[i] && a[i+2:] == b[i+2:] {
					return 1
				}
				break
			}
		}
	}
	return levenshtein.ComputeDistance(a, b)
}

// allowedDistance is how many letters may be wrong in a word that still is recognised.
func allowedDistance(word string) int { return min(len(word)/3, 3) }

// nearest returns the value that a wrong one stands for, "" if that is not clear.
func nearest(wrong string, values []string) string {
	if match := misspelt(wrong, values); len(match) == 1 {
		return match[0]
	}
	return ""
}

// A place is where a field occurs in the schema: the names of the fields that lead to its mapping, "[]" for the items of a list.
type place struct {
	field   string
	mapping []string
}

// A home is a place in an object. Where a list lies on the way, which of its items is meant is not known, and mapping ends at the list.
type home struct {
	field   string
	mapping object.Path
	inItem  bool
}

// elsewhere returns where a field does exist, seen from the mapping at path, which does not have it: the nearest place, or two that
// are as near. Far ones say nothing about what the author meant.
func (k *kindSchema) elsewhere(path object.Path, key string) []home {
	k.placesOnce.Do(func() {
		k.places = map[string][]place{}
		k.addPlaces(k.crd.root, nil)
	})
	here := make([]string, len(path))
	for i, e := range path {
		here[i] = "[]"
		if s, ok := e.(string); ok {
			here[i] = s
		}
	}
	const far = 4
	var best []place
	least := far + 1
	for _, p := range k.places[fold(key)] {
		up, down := distance(here, p.mapping)
		if d := up + down; up <= 3 && d <= least && d <= far {
			if d < least {
				best = nil
			}
			best, least = append(best, p), d
		}
	}
	if len(best) > 2 {
		return nil
	}
	var out []home
	for _, p := range best {
		up, _ := distance(here, p.mapping)
		common := len(here) - up // this much of the way is the author's own path, with its indexes
		h := home{field: p.field, mapping: path[:common].Child()}
		for _, name := range p.mapping[common:] {
			if name == "[]" {
				h.inItem = true
				break
			}
			h.mapping = append(h.mapping, name)
		}
		out = append(out, h)
	}
	return out
}

// addPlaces notes where the fields below a node occur.
func (k *kindSchema) addPlaces(id nodeID, at []string) {
	n := &k.crd.nodes[id]
	for _, p := range n.props {
		name := fold(p.name)
		k.places[name] = append(k.places[name], place{p.name, at})
		k.addPlaces(p.node, append(slices.Clip(at), p.name))
	}
	if n.items != 0 {
		k.addPlaces(n.items, append(slices.Clip(at), "[]"))
	}
}

// distance counts the steps from one mapping up to the common ancestor and down to the other.
func distance(from, to []string) (up, down int) {
	common := 0
	for common < len(from) && common < len(to) && from[common] == to[common] {
		common++
	}
	return len(from) - common, len(to) - common
}

// shown writes a path for a message: from the mapping at hand if it leads down from there, from the root otherwise.
func shown(from, to object.Path) string {
	if len(to) > len(from) && to.HasPrefix(from) {
		return short(to[len(from):].String())
	}
	if len(to) == 0 {
		return "the top level"
	}
	return short(to.String())
}
