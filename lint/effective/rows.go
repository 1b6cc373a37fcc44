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
		if strings.HasPrefix(s.Envoy, "outlier_detection.enforcing_") && said[s.Field] {
			continue // a threshold is enforced, or switched off by 0, as its own row says
		}
		socket := strings.HasPrefix(s.Envoy, "transport_socket") // Envoy does in TLS whatever it is told
		if f := fieldFor(s.Field); f != nil && !socket && !f.Live(c.portFor(f), c.Policy) || c.unread(s) || c.unasked(s) {
			s.Status = Inert
		}
		s.Value = c.meaning(s)
		out = append(out, s)
		said[s.Field] = true
	}
	out = append(out, c.keys()...)
	if c.Absent == "" {
		out = append(out, c.implicit(said)...)
	}
	return append(out, c.unused()...)
}

// keys are the settings of the first route that tells requests apart.
func (c *Cluster) keys() []Setting {
	for _, r := range c.Retries {
		if len(r.Hash) == 0 {
			continue
		}
		out := slices.Clone(r.Hash)
		for i := range out {
			out[i].Envoy = "route." + out[i].Envoy
			if c.portFor(fieldNamed(consistentHash)).Cluster.HasList() && strings.HasPrefix(balancer(c.Policy, c.Port), "consistentHash") {
				continue
			}
			out[i].Status = Inert // nothing in the cluster asks for the key
		}
		return out
	}
	return nil
}

func fieldNamed(name string) *Field {
	return fields[slices.IndexFunc(fields, func(f *Field) bool { return f.Name == name })]
}

// unasked says whether a setting is about DNS in a cluster that looks nothing up any more.
func (c *Cluster) unasked(s Setting) bool {
	return c.Type == OriginalDst && (s.Envoy == "dns_refresh_rate" || s.Envoy == "respect_dns_ttl")
}

// meaning is the value of a setting in the words of its field, where Envoy has other ones.
func (c *Cluster) meaning(s Setting) any {
	switch {
	case s.Value == envoy.Empty && isPercent(s.Envoy):
		return int64(0) // which JSON leaves out
	case s.Field == "tls.mode" && s.Value == tlsSocket:
		if m := mode(c.Policy); m != "" {
			return m
		}
		return "ISTIO_MUTUAL" // automatic
	case strings.HasSuffix(s.Envoy, ".auto_sni"), strings.HasSuffix(s.Envoy, ".auto_san_validation"):
		return eachRequest
	case s.Field == "meshConfig.enableAutoMtls", s.Field == useClientProtocol && s.Value == envoy.Empty:
		return true
	case s.Field == h2UpgradePolicy && s.Value == envoy.Empty:
		return "UPGRADE"
	case strings.HasSuffix(s.Field, ".ports.protocol") && s.Value == envoy.Empty:
		return orNone(c.Port.Protocol)
	}
	return s.Value
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
		if f.Block() == "tls" && (!c.startsTLS() || !c.Policy.Block("tls").Set() || f.Name == "tls.caCertificates" && c.skipsCA()) {
			continue
		}
		switch v := f.Value(c.Policy, c.Port); v {
		case "none", "":
		default:
			from := byEnvoy
			if f.Name == h2UpgradePolicy || f.Name == useClientProtocol || f.Block() == "tls" {
				from = byIstio // which says nothing, or speaks of TLS without being asked
			}
			out = append(out, Setting{Field: f.Name, Envoy: qualified(f.Envoy), Value: v, Origin: from, Status: Implicit})
		}
	}
	return out
}

// startsTLS says whether the cluster has a TLS socket.
func (c *Cluster) startsTLS() bool {
	return slices.ContainsFunc(c.Settings, func(s Setting) bool { return s.Value == tlsSocket })
}

// skipsCA says whether no certificate of the server is believed or doubted.
func (c *Cluster) skipsCA() bool {
	return c.startsTLS() && tlsOf(c.Policy).Get("insecureSkipVerify").Bool() && skipsVerify(c.Port, c.Policy)
}

// unused lists what the rule writes for the port without any of it reaching Envoy: fields that Istio drops, and blocks that another
// level takes the place of.
func (c *Cluster) unused() []Setting {
	used := map[*object.Object]map[string]bool{}
	if c.skipsCA() { // it works by what is left out
		tls := c.Policy.Block("tls")
		used[tls.Object] = map[string]bool{tls.Path.Child("insecureSkipVerify").String(): true}
	}
	for _, list := range [][]Setting{c.Settings, c.TCP, c.keys()} {
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
			s := Setting{Field: field, Value: Text(v), Origin: Origin{Kind: FromObject, Object: o, Path: p}, Status: Ignored}
			if by := c.Policy.Block(block); c.Absent == "" && !by.Path.Equal(at) {
				s.Why = c.replacedBy(by, s.Origin)
			}
			out = append(out, s)
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

// replacedBy names the level that a block comes from instead of from a place, or that has none.
func (c *Cluster) replacedBy(by Source, from Origin) string {
	switch {
	case by.Object != nil:
		return "replaced by " + by.at().besides(from)
	case c.Policy.Entry != nil && c.Rule.Policy != nil:
		return "replaced by the entry of " + Origin{Kind: FromObject, Object: c.Rule.Policy.Object, Path: c.Policy.Entry}.besides(from)
	}
	return ""
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
