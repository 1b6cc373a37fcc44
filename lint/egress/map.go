// Package egress says who in a mesh reaches which host, on which ports, through which proxies, and what policy applies there: host by
// host as `meshvet effective` asks (Predictor), and as a map of everything (Build).
package egress

import "github.com/meshvet/meshvet/lint/object"

// Map is the egress of all meshes of a run.
type Map struct {
	Scopes  []Scope
	LeftOut int // hosts over the bound
}

// Scope is one mesh.
type Scope struct {
	Name  string // "" if there is one mesh only
	Hosts []Host // in the order of their names
	// Unreached are the DestinationRules whose host nothing in view has.
	Unreached []Rule
	Notes     []string // what is left out or not known
}

// Rule is a DestinationRule and the host that it is for, as its author wrote it.
type Rule struct {
	Ref
	Host string
}

// Host is a host that clients of the mesh call.
type Host struct {
	Name       string
	Entries    []Ref    // ServiceEntries, or the Service
	Namespaces []string // client namespaces of which something is known, "*" = all others
	Ports      []Port
	Notes      []string // what limits the answer
}

// Port is a port of a host.
type Port struct {
	Number   uint32
	Protocol string // as Istio takes it, "" if none is declared
	Name     string
	Views    []View
}

// View is what the clients of some namespaces get on a port, one for each way that routes send them.
type View struct {
	Clients []string // namespaces with the same answer; "*" = all (others)
	Hops    []Hop
	Note    string // why there is none: nobody reaches it, …
}

// Hop is a connection, the proxy that opens it first.
type Hop struct {
	Proxy   string // "sidecar", "gateway in namespace istio-system (istio=egressgateway)"
	Cluster string // Envoy's name
	Subset  string
	Type    string   // Envoy's type of the cluster, such as STRICT_DNS
	TLS     string   // what becomes of TLS, in words
	Rules   []Ref    // DestinationRules that decide, most specific first
	Routes  []Ref    // the VirtualService that leads here
	Facts   []string // what follows from several fields together: how long a client waits, how many addresses can be ejected
	Fields  []Field
	Caveats []string
}

// Field is a setting that applies to a hop.
type Field struct {
	Name, Value string
	Source      string          // "a.yaml:12", whose default, and what makes it count for nothing
	At          object.Location // zero where no file says it
	Envoy       string          // path in the cluster or the tcp_proxy, "" for what Istio ignores
	Inert       bool            // written, and without effect on this port
	Ignored     bool            // written, and not compiled at all
}

// Ref names an object and where it is.
type Ref struct {
	Key object.Key
	At  object.Location
}
