package policy

import (
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/effective"
	"github.com/meshvet/meshvet/lint/mesh"
	"github.com/meshvet/meshvet/lint/object"
)

// httpOrder is the order in which fields of connectionPool.http are told. The first one that goes carries the removal of a block.
var httpOrder = []string{
	"maxRetries", "http2MaxRequests", "idleTimeout", "h2UpgradePolicy", "useClientProtocol", "maxConcurrentStreams",
	"http2KeepAlive", "maxRequestsPerConnection", "http1MaxPendingRequests",
}

// pending is the one field of connectionPool.http that counts on every port: tcp_proxy applies it to connections being set up.
const pending = "http1MaxPendingRequests"

// The fates of a field of connectionPool.http that a policy may want to tell of.
const (
	inert     = "inert"     // it reaches ports, all of them L4, and does nothing on any
	half      = "half"      // it does something on one port and nothing on an L4 one
	unreached = "unreached" // every port has an entry, so that the destination level reaches none
	unknown   = "unknown"   // the host is not in view
)

// httpUse is a field of connectionPool.http that asks for something.
type httpUse struct {
	effective.Use
	name  string // below connectionPool.http
	fate  string // "" if there is nothing to tell
	l4    []effective.Port
	moves bool // it is the L4 idle timeout that the author wants
}

func evalHTTPUses(p *lint.Pass, _ []*ast.Term) (any, error) {
	rule, reach, err := ruleAndReach(p)
	if err != nil {
		return nil, err
	}
	uses := httpUsesOf(p, reach)
	if !reach.Known() {
		if len(uses) == 0 {
			return []any{}, nil
		}
		return []any{record{"fate": unknown, "host": string(rule.Host)}}, nil
	}
	out := []any{}
	blocks := map[*effective.Level][]*httpUse{}
	for i := range uses {
		blocks[uses[i].Level] = append(blocks[uses[i].Level], &uses[i])
	}
	levels := p.Levels()
	for i := range levels {
		level := &levels[i]
		var halves, inerts []*httpUse
		for _, u := range blocks[level] {
			switch u.fate {
			case half:
				halves = append(halves, u)
			case inert:
				inerts = append(inerts, u)
			}
		}
		for _, u := range inerts {
			out = append(out, inertRecord(p, inerts, u))
		}
		if len(halves) > 0 && !rule.Host.IsWildcard() {
			out = append(out, record{
				"fate": half, "path": pathRecord(halves[0].Path), "names": namesOf(halves), "whose": whose(level), "host": string(rule.Host),
				"live": bareOf(halves[0].Live), "dead": bareOf(halves[0].l4), "subject": subjectOf(halves[0].l4),
			})
		}
	}
	reaching := slices.ContainsFunc(reach.Ports, func(port effective.Port) bool { return port.Family != mesh.NoProxy })
	var nowhere []*httpUse
	for i := range uses {
		if uses[i].fate == unreached {
			nowhere = append(nowhere, &uses[i])
		}
	}
	if len(nowhere) > 0 && reaching && !slices.ContainsFunc(nowhere, func(u *httpUse) bool { return lostToEntry(p, u.Field) }) {
		block := nowhere[0].Path.Parent()
		out = append(out, record{
			"fate": unreached, "path": pathRecord(block), "names": namesOf(nowhere), "host": string(rule.Host),
			"subject": record{"hosts": []string{string(rule.Host)}, "ports": subjectOf(reach.Ports)["ports"]}, "removal": removeBlock(p, block),
		})
	}
	return out, nil
}

// httpUsesOf lists what a rule asks of connectionPool.http, in the order in which it is told.
func httpUsesOf(p *lint.Pass, reach effective.Reach) []httpUse {
	var uses []httpUse
	for _, u := range p.Uses() {
		name, isHTTP := strings.CutPrefix(u.Field.Name, "connectionPool.http.")
		if !isHTTP || asksNothing(u.Value) {
			continue
		}
		u.Live, u.Dead = carrying(u.Live), carrying(u.Dead)
		use := httpUse{Use: u, name: name}
		use.l4 = slices.DeleteFunc(slices.Clone(u.Dead), func(port effective.Port) bool { return !port.ForwardsBytes() })
		use.moves = name == "idleTimeout" && !p.Object.Lookup(l4IdleTimeout).Set()
		switch atTop := u.Level.Kind == effective.Destination; {
		case !reach.Known():
		case len(u.Live)+len(u.Dead) == 0 && atTop:
			use.fate = unreached
		case len(u.Dead) > 0 && len(u.Live) == 0 && len(use.l4) == len(u.Dead) && !(atTop && lostToEntry(p, u.Field)):
			use.fate = inert
		case len(u.Live) > 0 && len(use.l4) > 0 && name != pending:
			use.fate = half
		}
		uses = append(uses, use)
	}
	slices.SortStableFunc(uses, func(a, b httpUse) int { return slices.Index(httpOrder, a.name) - slices.Index(httpOrder, b.name) })
	return uses
}

// lostToEntry says whether a port entry takes a field of the destination level away. That is a loss, and told as one: the field
// should move there, not go.
func lostToEntry(p *lint.Pass, f *effective.Field) bool {
	return slices.ContainsFunc(p.EntryLosses(), func(e effective.EntryLosses) bool {
		return slices.ContainsFunc(e.Losses, func(l effective.Loss) bool { return l.Field == f })
	})
}

func namesOf(uses []*httpUse) string {
	names := make([]string, 0, len(uses))
	for _, u := range uses {
		names = append(names, u.name)
	}
	return strings.Join(names, ", ")
}

// inertRecord describes one of the inert fields of a block.
func inertRecord(p *lint.Pass, inerts []*httpUse, u *httpUse) record {
	block := u.Level.Policy.At("connectionPool", "http")
	carrier, whole := removalOf(inerts, block)
	kept := block.Get("h2UpgradePolicy").Str() == "UPGRADE" && !block.Get("useClientProtocol").Bool()
	r := record{
		"fate": inert, "name": u.name, "path": pathRecord(u.Path), "text": plainText(u.Value), "whose": whose(u.Level),
		"places": placesOf(u.Dead), "subject": subjectOf(u.Dead), "moves": u.moves,
		"pending_beside": block.Get(pending).Set() && !asksNothing(block.Get(pending)),
		"http2":          kept,
		"carrier":        "", // the field whose fix removes this one as well
	}
	switch {
	case u.moves:
		r["value"] = u.Value
	case !whole:
		r["removal"], r["whole"] = remove(u.Path), false
	case carrier == u.name:
		r["removal"], r["whole"] = emptied(p, u.Path.Parent()), true
	default:
		r["carrier"] = carrier
	}
	return r
}

// l4IdleTimeout is the only place at which an idle timeout counts for tcp_proxy.
var l4IdleTimeout = object.Path{"spec", "trafficPolicy", "connectionPool", "tcp", "idleTimeout"}

// asksNothing says whether a value leaves things as they are.
func asksNothing(v object.Value) bool {
	switch v.Type() {
	case object.Int:
		return v.Int() == 0
	case object.Bool:
		return !v.Bool()
	case object.String:
		return v.Str() == "DEFAULT"
	}
	return false
}

func plainText(v object.Value) string {
	if v.Type() == object.String {
		return v.Str()
	}
	return effective.Text(v)
}

// carrying leaves out the ports for which Istio compiles nothing.
func carrying(ports []effective.Port) []effective.Port {
	return slices.DeleteFunc(slices.Clone(ports), func(port effective.Port) bool { return port.Family == mesh.NoProxy })
}

// removalOf says whether the inert fields of a block are all that it holds, so that they go together, and in the fix for which.
func removalOf(inerts []*httpUse, block object.Value) (carrier string, whole bool) {
	var gone []string
	for _, u := range inerts {
		if !u.moves {
			gone = append(gone, u.name)
		}
	}
	for name := range block.Fields() {
		if !slices.Contains(gone, name) {
			return "", false
		}
	}
	return gone[0], true
}

func remove(path object.Path) record { return record{"op": "remove", "path": pathRecord(path)} }

// emptied removes a connectionPool.http of which nothing is left. Istio refuses a connectionPool, a trafficPolicy and a port entry
// without content. And an absent connectionPool is not the same as one without settings: the mesh's default pool, or the
// destination level's for a subset, would take its place.
func emptied(p *lint.Pass, block object.Path) record {
	pool := block.Parent()
	level := pool.Parent()
	switch {
	case hasOther(p.Object.Lookup(pool), "http"):
		return remove(block)
	case level[1] != "subsets" && !p.Mesh.Settings().MeshConfig.At("defaultTrafficPolicy", "connectionPool").Set() &&
		hasOther(p.Object.Lookup(level), "connectionPool", "port"):
		return remove(pool)
	}
	return record{"op": "replace", "path": pathRecord(block), "value": record{}}
}

// removeBlock removes a connectionPool.http that reaches no port, and the pool with it if that holds nothing else.
func removeBlock(p *lint.Pass, block object.Path) record {
	if hasOther(p.Object.Lookup(block.Parent()), "http") {
		return remove(block)
	}
	return remove(block.Parent())
}

// hasOther says whether a mapping holds a value besides those of some names.
func hasOther(v object.Value, names ...string) bool {
	for name, f := range v.Fields() {
		if !slices.Contains(names, name) && f.Set() {
			return true
		}
	}
	return false
}

func evalPartialPools(p *lint.Pass, _ []*ast.Term) (any, error) {
	rule, reach, err := ruleAndReach(p)
	if err != nil {
		return nil, err
	}
	out := []any{}
	for _, pool := range p.PartialPools() {
		var set, open []string
		var connectionsSet, pendingOpen bool
		for _, b := range pool.Set {
			set = append(set, b.Path.String()+" "+plainText(b.Value))
			connectionsSet = connectionsSet || b.Is("tcp.maxConnections")
		}
		for _, b := range pool.Open {
			open = append(open, b.Path.String())
			pendingOpen = pendingOpen || b.Is("http."+pending)
		}
		subject := subjectOf(pool.Reading)
		subject["blocks"] = []string{"connectionPool"}
		out = append(out, record{
			"path": pathRecord(pool.Level.Path.Child("connectionPool")), "set": lint.Enumerate(set), "open": lint.Enumerate(open), "several": len(open) > 1,
			"whose": whose(pool.Level), "reading": len(pool.Reading), "places": placesOf(pool.Reading), "subject": subject,
			"queues": connectionsSet && pendingOpen, "host": string(rule.Host), "known": reach.Known(),
		})
	}
	return out, nil
}
