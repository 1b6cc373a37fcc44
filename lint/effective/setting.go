package effective

import (
	"strings"

	"github.com/meshvet/meshvet/lint/envoy"
)

// Status says what becomes of a setting.
type Status string

// The statuses. Envoy gets what is Active or Inert; the two others are not in its configuration.
const (
	Active   Status = ""         // Envoy does it
	Inert    Status = "inert"    // Envoy has it, and it does nothing on this port
	Implicit Status = "implicit" // nothing is written: Envoy's own default holds
	Ignored  Status = "ignored"  // a manifest says it, and Istio drops it
)

// Setting is one value that Istio compiles, or leaves to Envoy, for one port.
type Setting struct {
	// Field is the field of the traffic policy that decides the value, such as connectionPool.tcp.maxConnections, or one of
	// ServiceEntry, VirtualService or meshConfig with its kind in front. "" if no field does.
	Field string
	// Envoy is the path in the cluster, as package envoy writes it.
	Envoy string
	// Value is a string, int64, float64 or bool; envoy.Empty for a message with nothing in it.
	Value  any
	Origin Origin
	Status Status
	// Why says what makes a value Ignored, where that is not plain: another level that takes its place.
	Why string
}

// Emitted says whether the setting is in Envoy's configuration.
func (s Setting) Emitted() bool { return s.Status == Active || s.Status == Inert }

// settings collects what is compiled, in the order in which it is told.
type settings struct {
	list []Setting
	at   map[string]int // by Envoy path
}

func (s *settings) add(set Setting) {
	if s.at == nil {
		s.at = map[string]int{}
	}
	if i, dup := s.at[set.Envoy]; dup && set.Emitted() {
		s.list[i] = set
		return
	}
	if set.Emitted() {
		s.at[set.Envoy] = len(s.list)
	}
	s.list = append(s.list, set)
}

func (s *settings) set(path string, value any, field string, from Origin) {
	s.add(Setting{Field: field, Envoy: path, Value: value, Origin: from})
}

// message notes that a message is there, whether or not anything in it is.
func (s *settings) message(path, field string, from Origin) {
	s.set(path, envoy.Empty, field, from)
}

// drop takes back what stands at or under a path.
func (s *settings) drop(path string) {
	var kept settings
	for _, set := range s.list {
		if !envoy.Under(set.Envoy, path) {
			kept.add(set)
		}
	}
	*s = kept
}

// finish leaves out the messages in which something stands.
func (s *settings) finish() []Setting {
	out := s.list[:0:0]
	for _, set := range s.list {
		if set.Value == envoy.Empty && set.Emitted() && s.holds(set.Envoy) {
			continue
		}
		out = append(out, set)
	}
	return out
}

func (s *settings) holds(message string) bool {
	for path := range s.at {
		if path != message && envoy.Under(path, message) {
			return true
		}
	}
	return false
}

// Leaves are what is in Envoy's configuration.
func Leaves(list []Setting) envoy.Leaves {
	out := envoy.Leaves{}
	for _, s := range list {
		if s.Emitted() {
			out[s.Envoy] = envoy.Text(s.Value)
		}
	}
	return out
}

// httpOptions is where HttpProtocolOptions stand in a cluster.
const httpOptions = "typed_extension_protocol_options.HttpProtocolOptions."

// qualified completes the path of a Field, which leaves out what every reader knows.
func qualified(short string) string {
	switch {
	case strings.HasPrefix(short, "common_http"), strings.HasPrefix(short, "explicit_http"), strings.HasPrefix(short, "use_downstream"):
		return httpOptions + short
	case strings.HasPrefix(short, "http2_protocol_options"):
		return httpOptions + "explicit_http_config." + short
	}
	return short
}
