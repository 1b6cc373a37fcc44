package egress

import "github.com/meshvet/meshvet/lint/mesh"

// What a map may cost. A small text can ask for far more than anybody reads: for hundreds of hosts of which clients of hundreds of
// namespaces get something of their own, or for thousands of routes to each.
const (
	maxHopsOfHost = 300    // that are told
	maxWorkOfHost = 4_000  // hops that are worked out for the clients of a host
	maxWork       = 60_000 // for those of all hosts
	rulesPerWork  = 50     // routes that cost as much to look at as a hop to work out
)

// work counts what a map has cost so far, in hops that are worked out. It is the same on every machine, which time is not. A nil one counts
// nothing.
type work struct {
	all     int // of all hosts
	host    int // of the one that is worked out
	clients int // what each client of it costs beside its hops
}

// begin turns to the next host.
func (w *work) begin(ix *mesh.Index, h mesh.Host) {
	if w == nil {
		return
	}
	rules, ports := 0, 0
	for _, vs := range ix.VirtualServicesFor(h) {
		for _, kind := range mesh.RouteKinds() {
			rules += vs.Spec().Get(kind).Len()
		}
	}
	for _, t := range ix.Targets(h) {
		ports = max(ports, len(t.Ports))
	}
	labels := len(h) / maxNameBytes // names that long are no DNS names, and each label of one is looked up
	w.host, w.clients = 0, 1+ports*rules/rulesPerWork+labels*labels
}

// client counts one more client of the host.
func (w *work) client() {
	if w != nil {
		w.all += w.clients
		w.host += w.clients
	}
}

// hops counts those of an answer.
func (w *work) hops(a *Answer) {
	if w != nil {
		w.all += a.hops()
		w.host += a.hops()
	}
}

// exhausted says whether no other client of the host can be asked for, or would be told beside some answers.
func (w *work) exhausted(told []*Answer) bool {
	if w == nil {
		return false
	}
	hops := 0
	for _, a := range told {
		hops += a.hops()
	}
	return w.host >= maxWorkOfHost || hops >= maxHopsOfHost
}

// hops counts the connections on all ways.
func (a *Answer) hops() int {
	n := 0
	for _, w := range a.Ways {
		n += len(w.Hops)
	}
	return n
}
