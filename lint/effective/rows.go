package effective

import (
	"slices"
	"strings"

	"github.com/meshvet/meshvet/lint/envoy"
	"github.com/meshvet/meshvet/lint/object"
)

// Rows are the settings as a person reads them: what Envoy gets, with what does nothing there marked as Inert; what Envoy decides by
// itself, as Implicit; and what a rule says in vain, as Ignored, each once. Settings that no field decides are left out.
func (c *Cluster) Rows() []Setting {
	var out []Setting
	said := map[string]bool{} // fields of which there is a row
	for _, s := range c.Settings {
		if s.Field == "" {
			continue
		}
		automatic := strings.HasPrefix(s.Envoy, "transport_socket") && !c.Policy.Block("tls").Set() // no field's doing
		if f := fieldFor(s.Field); f != nil && !automatic && !f.Live(c.portFor(f), c.Policy) || c.unread(s) {
			s.Status = Inert
		}
		if s.Value == envoy.Empty && isPercent(s.Envoy) {
			s.Value = int64(0) // JSON leaves the 0 of a percentage out, which says a lot to a reader
		}
		out = append(out, s)
		said[s.Field] = true
	}
	if c.Absent == "" {
		out = append(out, c.implicit(said)...)
	}
	return append(out, c.unused()...)
}

// isPercent says whether a path is a message that holds a percentage.
func isPercent(path string) bool {
	return path == panicThreshold || strings.HasSuffix(path, "percent") || strings.HasSuffix(path, ".routing_enabled")
}

// portFor is the port for the question whether a field has an effect: after PASSTHROUGH there is no list of addresses any more, which
// is just what that field does.
func (c *Cluster) portFor(f *Field) Port {
	port := c.Port
	if c.Type == OriginalDst && f.Name != simple {
		port.Cluster = OriginalDst
	}
	return port
}

// unread says whether a setting is for requests, of which the port carries none. The field may have an effect all the same: the timeouts
// of tcp in the listener, and HTTP/2 in the ALPN of TLS, of which no other row tells.
func (c *Cluster) unread(s Setting) bool {
	return c.Port.ForwardsBytes() && envoy.Under(s.Envoy, strings.TrimSuffix(httpOptions, ".")) && s.Field != h2UpgradePolicy && s.Field != useClientProtocol
}

// fieldFor is the catalogued field that a field is, or is a part of.
func fieldFor(name string) *Field {
	var best *Field
	for _, f := range fields {
		if name == f.Name || strings.HasPrefix(name, f.Name+".") && strings.Contains(f.Name, ".") || name == "tls.mode" && f.Name == "tls" {
			if best == nil || len(f.Name) > len(best.Name) {
				best = f
			}
		}
	}
	return best
}

// implicit lists the fields that nobody sets and for which Envoy's default has an effect.
func (c *Cluster) implicit(said map[string]bool) []Setting {
	var out []Setting
	for _, f := range fields {
		if said[f.Name] || f.Raw(c.Policy).Set() || !f.Live(c.portFor(f), c.Policy) || f.Name == "tls" {
			continue
		}
		if f.Name == tcpIdle { // a matter of the listener, or of the field for requests
			continue
		}
		if slices.ContainsFunc(f.Slot, func(other string) bool { return said[other] }) {
			continue
		}
		if strings.HasPrefix(f.Name, "tls.") && !c.Policy.Block("tls").Set() {
			continue
		}
		switch v := f.Value(c.Policy, c.Port); v {
		case "none", "":
		default:
			from := byEnvoy
			if f.Name == h2UpgradePolicy || f.Name == useClientProtocol {
				from = byIstio // which leaves the protocol out that Envoy would not choose by itself either
			}
			out = append(out, Setting{Field: f.Name, Envoy: qualified(f.Envoy), Value: v, Origin: from, Status: Implicit})
		}
	}
	return out
}

// unused lists what the rule writes for the port without any of it reaching Envoy: fields that Istio drops, and blocks that another
// level takes the place of.
func (c *Cluster) unused() []Setting {
	used := map[*object.Object]map[string]bool{}
	for _, list := range [][]Setting{c.Settings, c.TCP} {
		for _, s := range list {
			if s.Origin.Kind == FromObject {
				if used[s.Origin.Object] == nil {
					used[s.Origin.Object] = map[string]bool{}
				}
				used[s.Origin.Object][s.Origin.Path.String()] = true
			}
		}
	}
	var out []Setting
	add := func(o *object.Object, at object.Path, block string) {
		eachScalar(o.Lookup(at), at, func(p object.Path, v object.Value) {
			if usedBy(used[o], p) {
				return
			}
			field := block
			if rest := p[len(at):]; len(rest) > 0 {
				field += "." + rest.String()
			}
			out = append(out, Setting{Field: field, Value: Text(v), Origin: Origin{Kind: FromObject, Object: o, Path: p}, Status: Ignored})
		})
	}
	for _, level := range c.levels() {
		for _, block := range Blocks {
			if at := level.at.Child(block); level.o.Lookup(at).Set() {
				add(level.o, at, block)
			}
		}
	}
	return out
}

// usedBy says whether a setting comes from a path or from one that it is a part of.
func usedBy(used map[string]bool, p object.Path) bool {
	for n := len(p); n > 2; n-- {
		if used[p[:n].String()] {
			return true
		}
	}
	return false
}

type levelAt struct {
	o  *object.Object
	at object.Path
}

// levels are those that speak of the port: the destination's, its port entry, the subset's, and that one's.
func (c *Cluster) levels() []levelAt {
	var out []levelAt
	add := func(o *object.Object, at object.Path) {
		policy := o.Lookup(at)
		if !policy.Set() {
			return
		}
		out = append(out, levelAt{o, at})
		if i := EntryFor(policy, c.Port.Number); i >= 0 {
			out = append(out, levelAt{o, at.Child("portLevelSettings", i)})
		}
	}
	if c.Rule == nil {
		return nil
	}
	if c.Rule.Policy != nil {
		add(c.Rule.Policy.Object, destinationLevel)
	}
	if s, ok := c.Rule.Subset(c.Subset); ok && c.Subset != "" {
		add(s.Rule.Object, object.Path{"spec", "subsets", s.Index, "trafficPolicy"})
	}
	return out
}

// eachScalar visits the scalars below a value, and the mappings and lists that hold none.
func eachScalar(v object.Value, at object.Path, visit func(object.Path, object.Value)) {
	switch v.Type() {
	case object.Map:
		for k, item := range v.Fields() {
			eachScalar(item, at.Child(k), visit)
		}
	case object.List:
		for i, item := range v.Items() {
			eachScalar(item, at.Child(i), visit)
		}
	case object.Absent, object.Null:
		return
	default:
		visit(at, v)
		return
	}
	if v.Len() == 0 {
		visit(at, v)
	}
}

// Fragment builds the JSON of what is in Envoy's configuration, with field names as istioctl writes them.
func Fragment(list []Setting) map[string]any { return envoy.Build(Leaves(list)) }
