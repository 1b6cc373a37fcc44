package effective

import (
	"slices"

	"github.com/meshvet/meshvet/lint/object"
)

// Loss is a value of an outer level that does not survive an inner one.
type Loss struct {
	Field *Field
	From  string         // the value that is lost
	At    object.Path    // where it is written
	On    *object.Object // in which object
	To    string         // the value in effect instead
	Ports []Port         // the ports on which it is lost
	Value object.Value   // as written
}

// LostAtPort lists what a rule's destination-level portLevelSettings entry for a port takes away: the fields that the
// destination level sets, the entry does not, and whose value in effect differs with and without the entry on one of ports.
// Give one Port with only a number if the host is not in view.
func (l Levels) LostAtPort(ports []Port) []Loss {
	if len(ports) == 0 {
		return nil
	}
	n := ports[0].Number
	return compare(l.For(n, Without{Entry: true}), l.For(n, Without{}), ports)
}

// LostInSubset lists what a subset's own policy takes away from what the port has without it.
func (l Levels) LostInSubset(ports []Port) []Loss {
	if len(ports) == 0 {
		return nil
	}
	n := ports[0].Number
	return compare(l.For(n, Without{Subset: true}), l.For(n, Without{}), ports)
}

func compare(outer, inner *Policy, ports []Port) []Loss {
	var out []Loss
	whole := map[string]bool{} // blocks whose loss has been told as one
	for _, f := range fields {
		from := outer.Blocks[f.Block()]
		raw := f.Raw(outer)
		if whole[f.Block()] || !raw.Set() || from.Object == nil || from.Path.Equal(inner.Blocks[f.Block()].Path) {
			continue
		}
		if choosesIn(f, inner) || f.Block() == "tls" && len(f.Path()) > 1 && !sameMode(outer, inner) {
			continue
		}
		loss := Loss{Field: f, At: from.Path.Child(f.Path()[1:]...), On: from.Object, Value: raw}
		for _, port := range ports {
			if !f.Live(port, outer) {
				continue
			}
			was, is := f.Value(outer, port), f.Value(inner, port)
			if was == is {
				continue
			}
			if len(loss.Ports) == 0 {
				loss.From, loss.To = was, is
			}
			loss.Ports = append(loss.Ports, port)
		}
		if len(loss.Ports) == 0 {
			continue
		}
		if len(f.Path()) == 1 { // a block as a whole
			whole[f.Block()] = true
			if f.Name == "outlierDetection" {
				loss.From = Text(raw)
			}
		}
		out = append(out, loss)
	}
	return out
}

// choosesIn says whether the inner level sets the field itself, or another of its slot.
func choosesIn(f *Field, inner *Policy) bool {
	names := f.Slot
	if len(names) == 0 {
		names = []string{f.Name}
	}
	return slices.ContainsFunc(names, func(name string) bool {
		path := object.ParsePath(name)
		block, _ := path[0].(string)
		s := inner.Blocks[block]
		return s.Object != nil && s.Value.At(path[1:]...).Set()
	})
}

// sameMode: a block of another TLS mode is a choice of its own, whose other fields are not expected to be repeated.
func sameMode(outer, inner *Policy) bool {
	return outer.Blocks["tls"].Value.Get("mode").Str() == inner.Blocks["tls"].Value.Get("mode").Str()
}
