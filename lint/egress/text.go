package egress

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/meshvet/meshvet/lint/effective"
	"github.com/meshvet/meshvet/lint/envoy"
	"github.com/meshvet/meshvet/lint/mesh"
	"github.com/meshvet/meshvet/lint/object"
)

// LabelsText writes labels as selectors on a command line are written.
func LabelsText(pairs map[string]string) string {
	var out []string
	for k, v := range pairs {
		out = append(out, k+"="+v)
	}
	slices.Sort(out)
	return strings.Join(out, ",")
}

// ForWhom names the clients that an answer is for.
func (a *Answer) ForWhom() string {
	names := object.Abridge(strings.Join(a.Clients, ", "))
	switch {
	case a.Others && a.All:
		return "every namespace"
	case a.Others && len(a.Clients) == 0:
		return "every other namespace"
	case a.Others:
		return "namespace " + names + " and every other"
	}
	return "namespace " + names
}

// ProxyText names the proxy that opens a hop.
func (a *Answer) ProxyText(h *effective.Hop, first bool) string {
	switch {
	case first && h.Proxy.Type == effective.Sidecar:
		return "the client's sidecar"
	case first:
		return "gateway in " + a.ForWhom()
	}
	if text := LabelsText(h.Proxy.Labels); text != "" {
		return fmt.Sprintf("gateway in namespace %s (%s)", h.Proxy.Namespace, text)
	}
	return "gateway in namespace " + h.Proxy.Namespace
}

// FamilyText says what Envoy makes of the bytes of a port.
func FamilyText(p effective.Port) string {
	protocol := "protocol " + p.Protocol
	if p.Protocol == "" {
		protocol = "no protocol"
	}
	switch {
	case p.Routed:
		return "Envoy reads requests, since an http route leads here (" + protocol + ")"
	case p.Family == mesh.L7:
		return "Envoy reads requests (" + protocol + ")"
	case p.Family == mesh.Sniffed:
		return "Envoy looks at the first bytes and reads requests if it finds HTTP (" + protocol + ")"
	}
	return "Envoy forwards bytes (" + protocol + ")"
}

// TLSText says what becomes of TLS on a hop.
func TLSText(s effective.TLSState) string {
	var text string
	switch s.State {
	case effective.InPlaintext:
		return "none, Envoy sends plaintext"
	case effective.ClientTLS:
		return "passthrough: the client's own TLS goes through, and Envoy verifies nothing"
	case effective.NotTold:
		return "none of Envoy's: it sends on whatever the client sends"
	case effective.AutoMeshMTLS:
		return "automatic mutual TLS with endpoints that have a proxy, plaintext with others"
	case effective.MeshMTLS:
		text = "Istio's mutual TLS"
	case effective.DoubleTLS:
		text = "double TLS: Envoy starts TLS around the client's own"
	default:
		text = "origination: Envoy starts TLS"
	}
	if s.ServerName != "" {
		text += ", server name " + s.ServerName
	} else {
		text += ", no server name"
	}
	switch {
	case !s.Verified:
		text += "; the certificate is NOT VERIFIED"
	case s.Names == "":
		text += "; the certificate's issuer is verified, its name is NOT VERIFIED"
	default:
		text += "; the certificate is verified, it must bear " + s.Names
	}
	return text
}

// FeltText says how long a client waits for a connection at most.
func FeltText(f effective.Felt) string {
	r := f.Retry
	if r == nil {
		return fmt.Sprintf("a client waits up to %s (connectTimeout; bytes are not sent again)", f.Time)
	}
	each := "connectTimeout"
	if r.PerTry > 0 && f.Each == r.PerTry {
		each = "the route's perTryTimeout"
	}
	if f.Time < f.Each*time.Duration(f.Attempts) {
		return fmt.Sprintf("a client waits up to %s, the route's timeout (%s %s, %d retries, %s)", f.Time, each, f.Each, f.Attempts-1, r.Origin.Text())
	}
	if f.Attempts == 1 && r.Attempts > 0 {
		return fmt.Sprintf("a client waits up to %s (%s; retryOn, %s, is not about connections)", f.Time, each, r.Origin.Text())
	}
	return fmt.Sprintf("a client waits up to %s (%s %s x (1 + %d retries, %s))", f.Time, each, f.Each, f.Attempts-1, r.Origin.Text())
}

// EjectionText says how many addresses outlier detection can eject.
func EjectionText(e effective.Ejection) string {
	percent := fmt.Sprintf("max_ejection_percent %d (%s)", e.Percent, e.Origin.Text())
	switch {
	case !e.List:
		return "nothing can be ejected, since the cluster has no list of addresses to choose from"
	case e.Known && e.Endpoints == 0:
		return fmt.Sprintf("there is no address, %s", percent)
	case e.Known && e.Endpoints == 1:
		if e.Percent >= 100 {
			return fmt.Sprintf("the only address can be ejected, %s", percent)
		}
		return fmt.Sprintf("the only address is never ejected, %s", percent)
	case e.Known && e.AtOnce() == 0:
		return fmt.Sprintf("none of the %d addresses: one would be %d %%, %s", e.Endpoints, 100/e.Endpoints, percent)
	case e.Known:
		return fmt.Sprintf("at most %d of the %d addresses at once, %s", e.AtOnce(), e.Endpoints, percent)
	case e.Fewest() == 1:
		return fmt.Sprintf("every address can be ejected, %s", percent)
	}
	return fmt.Sprintf("nothing while there are fewer than %d addresses, %s; the manifests do not say how many there are", e.Fewest(), percent)
}

// ValueText is the value of a setting; the number that stands for no limit says so.
func ValueText(s effective.Setting) string {
	text := envoy.Text(s.Value)
	if text == effective.Unlimited {
		return "unlimited (" + text + ")"
	}
	return object.Abridge(text)
}

// SourceText says where a value comes from, and whether it matters.
func SourceText(s effective.Setting) string {
	from := s.Origin.Text()
	switch {
	case s.Status == effective.Inert:
		return from + ", no effect on this port"
	case s.Why != "":
		return from + ", " + s.Why
	}
	return from
}

// PathText is where Envoy has the value.
func PathText(s effective.Setting) string {
	if s.Envoy == "" {
		return ""
	}
	return "-> " + strings.TrimPrefix(s.Envoy, "typed_extension_protocol_options.")
}

// Place is the file and line of a field of an object.
func Place(o *object.Object, at object.Path) string {
	l := o.Locate(at)
	if !l.Range.Start.IsValid() {
		return l.File
	}
	return fmt.Sprintf("%s:%d", l.File, l.Range.Start.Line)
}

// Rows are the settings of a cluster as a person reads them: those of a block together, in the order in which the blocks come, and those that
// Istio ignores apart.
func Rows(c *effective.Cluster) (kept, ignored []effective.Setting) {
	order := map[string]int{}
	for _, s := range c.Rows() {
		if s.Status == effective.Ignored {
			ignored = append(ignored, s)
			continue
		}
		kept = append(kept, s)
		if block, _ := Block(s.Field); order[block] == 0 {
			order[block] = len(order) + 1
		}
	}
	slices.SortStableFunc(kept, func(a, b effective.Setting) int {
		x, whole := Block(a.Field)
		y, rest := Block(b.Field)
		if x == y && (whole == "" || rest == "") { // the block itself comes first
			return len(whole) - len(rest)
		}
		return order[x] - order[y]
	})
	return kept, ignored
}

// Block cuts the name of a field after its block; a block itself has no rest.
func Block(field string) (block, rest string) {
	block, rest, _ = strings.Cut(field, ".")
	return block, rest
}
