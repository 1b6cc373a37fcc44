package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/mesh"
	"github.com/meshvet/meshvet/lint/object"
)

var _ = register(lint.Rule{
	Meta: lint.Meta{
		ID:          "MX306",
		Name:        "rival-serviceentries",
		Title:       "Two ServiceEntries compete for a host or a listener",
		Category:    lint.CategoryAcross,
		Severity:    lint.Error,
		Presets:     []string{"recommended", "strict"},
		Kinds:       []object.Kind{object.ServiceEntry},
		SidecarOnly: true,
		Supersedes:  []lint.Supersede{{Rule: "SE111", Scope: lint.ScopePort}},
		Summary: "Two ServiceEntries that one client sees and that share a host but differ in resolution, in the protocol of a port, or, from two " +
			"namespaces, in their ports; or that have different hosts and opaque ports which need the same listener.",
		Why: "Within a namespace Istio puts the ports and endpoints of all entries for a host together, but takes the resolution of the oldest: " +
			"another entry's endpoints may be dropped, and a port that only the younger one has gets a listener but no cluster, so calls to it " +
			"end in 503 NC. From two namespaces nothing is put together: a client's own entry wins whole, else the oldest, and the ports that " +
			"only the other has vanish. Two entries with TCP ports and no addresses of their own share the listener on 0.0.0.0: all connections " +
			"to the port go to the oldest, and the other host is never reached. A repository does not show which one is older.\n\n" +
			"Entries of one namespace with the same resolution and other ports do add up, and entries that no client sees both of do not meet; " +
			"neither is reported.",
		Remedy: "Keep one ServiceEntry for a host. Give each entry with opaque ports an address of its own under `addresses`, or switch on DNS capture with address auto-allocation.",
		Proof:  lint.Proof{Kind: "changes", Text: "with creation times swapped the clusters, endpoints or the filter chain of 0.0.0.0 are those of the other entry"},
		Observe: lint.Observe{
			Flags:      []string{"NC", "UH"},
			ConfigDump: "istioctl proxy-config listener POD --port PORT and istioctl proxy-config cluster POD --fqdn HOST show what is missing",
		},
		References: []string{"https://istio.io/latest/docs/reference/config/networking/service-entry/"},
	},
	Check: func(p *lint.Pass) error {
		mine := p.Mesh.Target(p.Object)
		rivals := map[object.Key]bool{}
		for i, h := range mine.Hosts {
			for _, other := range p.Mesh.Targets(h) {
				if other.IsService() || rivals[other.Object.Key] || sameKey(other, mine) {
					continue
				}
				client, meet := p.Mesh.CommonClient(mine, other)
				if !meet {
					continue
				}
				if c, found := conflictOf(mine, other, client); found {
					rivals[other.Object.Key] = true
					c.report(p, hostPath(p.Object, h, i), h, mine, other)
				}
			}
		}
		if captured(p.Mesh, mine) {
			return nil
		}
		for _, r := range p.Mesh.ListenerRivals(mine) {
			reportListener(p, mine, r)
		}
		return nil
	},
})

func sameKey(a, b *mesh.Target) bool {
	return a.Namespace() == b.Namespace() && a.Object.Name == b.Object.Name
}

// hostPath is where a host stands in spec.hosts; n is its rank among the distinct ones.
func hostPath(o *object.Object, h mesh.Host, n int) object.Path {
	for i, item := range o.Spec().Get("hosts").Items() {
		if item.Str() == string(h) {
			return object.Path{"spec", "hosts", i}
		}
	}
	return object.Path{"spec", "hosts", n}
}

// conflict is how two entries for one host get in each other's way.
type conflict struct {
	severity lint.Severity
	differ   string // "in resolution (NONE against DNS)"
	effect   string
}

// conflictOf compares two entries that share a host and are both seen by a client.
func conflictOf(a, b *mesh.Target, client string) (conflict, bool) {
	shared, only := portsOf(a, b)
	if a.Namespace() != b.Namespace() {
		return acrossNamespaces(a, b, client, shared, only)
	}
	resolution := fmt.Sprintf("in resolution (%s against %s)", a.Resolution, b.Resolution)
	switch {
	case a.Resolution != b.Resolution && len(shared) > 0:
		return conflict{lint.Error, resolution,
			"Istio compiles one cluster for the port, with the resolution of the entry that was created first; the other's endpoints are added to it or dropped"}, true
	case a.Resolution != b.Resolution && len(a.Ports) > 0 && len(b.Ports) > 0:
		return conflict{lint.Error, resolution + " and in ports",
			fmt.Sprintf("Istio compiles a listener but no cluster for the ports of the entry that was created last (%s of %s or %s of %s): HTTP calls there end in 503 with flag NC, other connections are closed",
				ports(numbers(a)), a.Object.Name, ports(numbers(b)), b.Object.Name)}, true
	case len(protocols(a, b, shared)) > 0:
		n := protocols(a, b, shared)
		pa, _ := a.Port(n[0])
		pb, _ := b.Port(n[0])
		return conflict{lint.Warning, fmt.Sprintf("in the protocol of port %d (%s against %s)", n[0], protocolName(pa), protocolName(pb)),
			"Istio builds a filter chain for each protocol and enters the endpoints of both into one cluster"}, true
	case len(shared) > 0 && a.Resolution == "NONE":
		return conflict{lint.Info, "in nothing that matters", "Istio compiles one cluster of type ORIGINAL_DST for both"}, true
	case len(shared) > 0:
		return conflict{lint.Info, "in nothing that matters", "Istio enters the endpoints of both into one cluster, equal ones twice"}, true
	}
	return conflict{}, false
}

// acrossNamespaces: nothing is merged; one entry wins whole for each client.
func acrossNamespaces(a, b *mesh.Target, client string, shared, only []uint32) (conflict, bool) {
	winner := "a client's own namespace decides, else the entry that was created first wins whole"
	switch {
	case len(a.Ports) == 0 || len(b.Ports) == 0:
		return conflict{}, false // without ports Istio compiles nothing for an entry
	case len(only) > 0:
		return conflict{lint.Error, fmt.Sprintf("in ports (%s against %s)", ports(numbers(a)), ports(numbers(b))),
			fmt.Sprintf("%s: for a client such as one in namespace %s only the winner's ports exist, and those that only the other has vanish", winner, client)}, true
	case a.Resolution != b.Resolution:
		return conflict{lint.Error, fmt.Sprintf("in resolution (%s against %s)", a.Resolution, b.Resolution),
			winner + "; the other's endpoints are not used"}, true
	case len(protocols(a, b, shared)) > 0:
		n := protocols(a, b, shared)
		pa, _ := a.Port(n[0])
		pb, _ := b.Port(n[0])
		return conflict{lint.Error, fmt.Sprintf("in the protocol of port %d (%s against %s)", n[0], protocolName(pa), protocolName(pb)),
			winner + ": whether Envoy reads requests or forwards bytes depends on it"}, true
	case !sameValue(a.Endpoints(), b.Endpoints()):
		return conflict{lint.Error, "in endpoints", winner + "; the other's endpoints are not used"}, true
	}
	return conflict{lint.Info, "in nothing that matters", winner + ""}, len(shared) > 0
}

func (c conflict) report(p *lint.Pass, at object.Path, h mesh.Host, mine, other *mesh.Target) {
	// Subject names no ports: that another port of this host takes the traffic of a whole port is a fault of its own.
	message := fmt.Sprintf("ServiceEntry %s in namespace %s has the host %s too, and they differ %s", other.Object.Name, other.Namespace(), h, c.differ)
	if c.severity == lint.Info {
		message = fmt.Sprintf("ServiceEntry %s in namespace %s has the host %s too, on the same ports and with the same resolution", other.Object.Name, other.Namespace(), h)
	}
	p.Report(at, message,
		lint.As(c.severity), lint.Effect(c.effect+whoIsOlder(mine, other)),
		lint.Also(other.Object, hostPath(other.Object, h, 0), "the other entry for the host"),
		lint.About(lint.Subject{Objects: []object.Key{other.Object.Key}}),
	)
}

// whoIsOlder names the older entry where the cluster has said when each was made; files do not.
func whoIsOlder(a, b *mesh.Target) string {
	if a.Created() == "" || b.Created() == "" || a.Created() == b.Created() {
		return "; files do not show which is older"
	}
	if a.Created() < b.Created() {
		return fmt.Sprintf("; %s is the older", a.Object.Name)
	}
	return fmt.Sprintf("; %s is the older", b.Object.Name)
}

func reportListener(p *lint.Pass, mine *mesh.Target, r mesh.ListenerRival) {
	listener, cause := fmt.Sprintf("0.0.0.0:%d", r.Port.Number), "neither has addresses"
	if r.Address != "" {
		listener, cause = fmt.Sprintf("%s:%d", r.Address, r.Port.Number), "both have this address"
	}
	p.Report(r.Port.Path,
		fmt.Sprintf("port %d (%s) needs the listener %s, as does ServiceEntry %s in namespace %s for %s: %s",
			r.Port.Number, protocolName(r.Port), listener, r.Target.Object.Name, r.Target.Namespace(), r.Target.Hosts[0], cause),
		lint.Effect(fmt.Sprintf("Envoy has one filter chain on %s, which leads to the entry that was created first: connections meant for the other host are delivered to it as well%s", listener, whoIsOlder(mine, r.Target))),
		lint.Also(r.Target.Object, object.Path{"spec", "hosts"}, "the other entry on the listener"),
		lint.About(lint.Subject{Objects: []object.Key{r.Target.Object.Key}, Ports: []uint32{r.Port.Number}}),
	)
}

// captured says whether istiod gives the entry an address of its own, so that it needs no listener on 0.0.0.0. Both switches
// must be known to be on; istiod never does it for NONE, for entries with addresses, nor against the label.
func captured(ix *mesh.Index, t *mesh.Target) bool {
	s := ix.Settings()
	return s.DNSCapture != nil && *s.DNSCapture && s.AutoAllocate != nil && *s.AutoAllocate &&
		t.Resolution != "NONE" && len(t.Addresses()) == 0 && t.Object.Label("networking.istio.io/enable-autoallocate-ip") != "false"
}

// portsOf splits the ports of two entries into those that both have and those that only one has.
func portsOf(a, b *mesh.Target) (shared, only []uint32) {
	for _, n := range numbers(a) {
		if _, both := b.Port(n); both {
			shared = append(shared, n)
		} else {
			only = append(only, n)
		}
	}
	for _, n := range numbers(b) {
		if _, both := a.Port(n); !both {
			only = append(only, n)
		}
	}
	return shared, only
}

func numbers(t *mesh.Target) []uint32 {
	var out []uint32
	for _, p := range t.Ports {
		if !slices.Contains(out, p.Number) {
			out = append(out, p.Number)
		}
	}
	slices.Sort(out)
	return out
}

// protocols lists the shared ports on which Envoy would treat the two differently.
func protocols(a, b *mesh.Target, shared []uint32) []uint32 {
	var out []uint32
	for _, n := range shared {
		pa, _ := a.Port(n)
		pb, _ := b.Port(n)
		if pa.Protocol != pb.Protocol && !(pa.IsTLS() && pb.IsTLS()) {
			out = append(out, n)
		}
	}
	return out
}

func protocolName(p mesh.Port) string {
	if p.Protocol == "" {
		return "no protocol"
	}
	return p.Protocol
}

func ports(list []uint32) string {
	words := make([]string, 0, len(list))
	for _, n := range list {
		words = append(words, fmt.Sprint(n))
	}
	return strings.Join(words, ", ")
}
