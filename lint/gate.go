package lint

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/meshvet/meshvet/lint/effective"
	"github.com/meshvet/meshvet/lint/mesh"
	"github.com/meshvet/meshvet/lint/object"
)

// Gate says what an object must hold for a rule to have anything to say about it. It spares the engine most evaluations; a
// rule must find nothing in an object that none of its gates lets through.
type Gate struct {
	Kind object.Kind // "" = every kind of the rule
	All  []Condition
	// Option names an option of the rule, true or false, without which the gate lets nothing through. "" = none.
	Option string
}

// Condition holds if the field at Path is written with one of Values, with something else than all of Except, or with a number below
// Below (with any value if none of these is given), or, with Absent, if it is not written at all.
type Condition struct {
	Path   string // as object.Path, with [*] for every item of a list
	Values []any
	Except []any
	Below  int64 // 0 = not given
	Absent bool
}

// LevelGate narrows a rule about traffic policies: it judges a DestinationRule only if one of its policies (destination level,
// port entry, subset, port entry of a subset) meets all conditions, with paths below the policy, and reaches a port of the
// kind. While the host is not in view the kind of port counts as met, so that the rule can say that it had to skip; so it does
// for a policy that reaches no port, which may be the fault.
type LevelGate struct {
	All  []Condition
	Port PortGate
}

// PortGate names kinds of ports. An empty list and a nil pointer accept all.
type PortGate struct {
	Family   []string // L4, L7 (also L4 to which an http route leads), sniffed
	Cluster  []string // STRICT_DNS, EDS, LOGICAL_DNS, ORIGINAL_DST, dynamic_forward_proxy
	TLS      *bool    // clients bring their own TLS
	External *bool    // of a ServiceEntry for something outside the mesh
}

func (g PortGate) accepts(p effective.Port) bool {
	return (len(g.Family) == 0 || slices.Contains(g.Family, string(p.Family)) || p.Routed && slices.Contains(g.Family, string(mesh.L7))) &&
		(len(g.Cluster) == 0 || slices.Contains(g.Cluster, string(p.Cluster))) &&
		(g.TLS == nil || *g.TLS == p.IsTLS()) &&
		(g.External == nil || *g.External == p.External())
}

// Fact is something about an object and the mesh that costs little to know in Go, by which a rule can be gated as well.
type Fact string

// The facts.
const (
	// PortLosses: a portLevelSettings entry takes a value of the destination level away.
	PortLosses Fact = "port-losses"
	// SubsetLosses: a subset takes a value of what stands above it away.
	SubsetLosses Fact = "subset-losses"
	// IdleEntry: a portLevelSettings entry is for no port that the rule governs, or Istio does not read it. It holds too while the host is
	// not in view.
	IdleEntry Fact = "idle-entry"
	// ImplicitTimeout: a port outside the mesh has no connectTimeout because of the rule, or may have none.
	ImplicitTimeout Fact = "implicit-timeout"
	// PartialBreakers: a connectionPool sets some of its four circuit breakers and not the others, on a port whose requests Envoy
	// reads or of which nothing is known.
	PartialBreakers Fact = "partial-breakers"
	// UnwatchedHost: a host with a list of addresses has no outlier detection because of the object.
	UnwatchedHost Fact = "unwatched-host"
	// WildcardHost: one of the hosts of a ServiceEntry is a wildcard.
	WildcardHost Fact = "wildcard-host"
	// PlainHost: one of the hosts of a ServiceEntry is neither a wildcard nor an address, or the entry lists endpoints.
	PlainHost Fact = "plain-host"
	// OddHost: one of the hosts of a ServiceEntry is not written as a full name in lower case.
	OddHost Fact = "odd-host"
	// RepeatedAddress: two endpoints of a ServiceEntry have the same address.
	RepeatedAddress Fact = "repeated-address"
	// PartialWildcard: one of the hosts of a ServiceEntry is a wildcard within a label, such as *-eu.example.com.
	PartialWildcard Fact = "partial-wildcard"
	// OpaquePort: a port of a ServiceEntry has a protocol whose bytes name no host, or none.
	OpaquePort Fact = "opaque-port"
	// ClusterHost: one of the hosts of a ServiceEntry is a name of the cluster's own.
	ClusterHost Fact = "cluster-host"
	// MisfitPort: a port of a ServiceEntry is of UDP, carries requests on 443, or has a name that stands for another protocol.
	MisfitPort Fact = "misfit-port"
	// LateKeepalive: a tcpKeepalive of a DestinationRule begins after the idle timeout of a connection, or outside the mesh after what the
	// rule's option middleboxIdle says. It holds too while the host is not in view.
	LateKeepalive Fact = "late-keepalive"
	// DialsPort80: Envoy connects to port 80 for a port of a ServiceEntry that is not of TLS.
	DialsPort80 Fact = "dials-port-80"
	// TLSPort: a port of a ServiceEntry is of TLS, or a DestinationRule has Envoy start TLS, or means to, towards one.
	TLSPort Fact = "tls-port"
	// OriginatedPort: a DestinationRule has Envoy start TLS, or means to, towards a port of a ServiceEntry.
	OriginatedPort Fact = "originated-port"
)

// holds works a fact out.
func (f Fact) holds(p *Pass) (bool, error) {
	switch f {
	case PortLosses:
		return len(p.EntryLosses()) > 0, nil
	case SubsetLosses:
		return len(p.SubsetLosses()) > 0, nil
	case IdleEntry:
		return slices.ContainsFunc(p.Levels(), func(l effective.Level) bool {
			return l.IsEntry() && (len(l.Ports) == 0 || l.Shadowed)
		}), nil
	case ImplicitTimeout:
		return !p.Reach().Known() || len(p.ImplicitTimeouts()) > 0, nil
	case PartialBreakers:
		return slices.ContainsFunc(p.PartialPools(), func(pool effective.PartialPool) bool {
			return len(pool.Reading) > 0 || !p.Reach().Known()
		}), nil
	case UnwatchedHost:
		return len(p.Unwatched()) > 0, nil
	case WildcardHost:
		t := p.Mesh.Target(p.Object)
		return t != nil && slices.ContainsFunc(t.Hosts, mesh.Host.IsWildcard), nil
	case PlainHost:
		t := p.Mesh.Target(p.Object)
		return t != nil && (t.Object.Spec().Get("endpoints").Set() || slices.ContainsFunc(t.Hosts, func(h mesh.Host) bool { return !h.IsWildcard() && !h.IsAddress() })), nil
	case OddHost:
		t := p.Mesh.Target(p.Object)
		return t != nil && slices.ContainsFunc(t.Hosts, mesh.Host.IsOdd), nil
	case RepeatedAddress:
		return repeatsAddress(p.Object), nil
	case PartialWildcard:
		t := p.Mesh.Target(p.Object)
		return t != nil && slices.ContainsFunc(t.Hosts, func(h mesh.Host) bool { return len(h) > 1 && h[0] == '*' && h[1] != '.' }), nil
	case OpaquePort:
		t := p.Mesh.Target(p.Object)
		return t != nil && slices.ContainsFunc(t.Ports, mesh.Port.IsOpaque), nil
	case ClusterHost:
		t := p.Mesh.Target(p.Object)
		return t != nil && slices.ContainsFunc(t.Hosts, p.Mesh.Settings().InCluster), nil
	case MisfitPort:
		t := p.Mesh.Target(p.Object)
		return t != nil && slices.ContainsFunc(t.Ports, mesh.Port.IsMisfit), nil
	case LateKeepalive:
		return lateKeepalive(p), nil
	case DialsPort80:
		t := p.Mesh.Target(p.Object)
		return t != nil && slices.ContainsFunc(t.Ports, func(port mesh.Port) bool {
			dials, _ := t.Dials(port)
			return !port.IsTLS() && slices.Contains(dials, 80)
		}), nil
	case TLSPort:
		t := p.Mesh.Target(p.Object)
		return t != nil && slices.ContainsFunc(t.Ports, mesh.Port.IsTLS) || len(p.Originated()) > 0, nil
	case OriginatedPort:
		return len(p.Originated()) > 0, nil
	}
	return false, fmt.Errorf("unknown fact %q", f)
}

func repeatsAddress(o *object.Object) bool {
	seen := map[string]bool{}
	for _, e := range o.Spec().Get("endpoints").Items() {
		address := e.Get("address").Str()
		if address != "" && seen[address] {
			return true
		}
		seen[address] = true
	}
	return false
}

// lateKeepalive says whether the first probe of a tcpKeepalive may come too late. What is no duration is left to the rule.
func lateKeepalive(p *Pass) bool {
	text, _ := p.Option("middleboxIdle").(string)
	limit, err := time.ParseDuration(text)
	if err != nil {
		limit = math.MaxInt64
	}
	return slices.ContainsFunc(p.Uses(), func(u effective.Use) bool {
		if u.Field.Name != "connectionPool.tcp.tcpKeepalive" || !u.Value.Get("time").Set() {
			return false
		}
		return !p.Reach().Known() || u.ProbesLate(p.Mesh, p.Object, limit)
	})
}

type compiledLevelGate struct {
	conditions []compiledCondition
	port       PortGate
}

func compileLevelGates(gates []LevelGate) ([]compiledLevelGate, error) {
	var out []compiledLevelGate
	for _, g := range gates {
		conditions, err := compileConditions(g.All)
		if err != nil {
			return nil, err
		}
		out = append(out, compiledLevelGate{conditions, g.Port})
	}
	return out, nil
}

// passesLevels says whether one of the traffic policies of the pass's object meets one of the gates.
func passesLevels(gates []compiledLevelGate, p *Pass) bool {
	for _, level := range p.Levels() {
		for _, g := range gates {
			if slices.ContainsFunc(g.conditions, func(c compiledCondition) bool { return !c.holds(level.Policy) }) {
				continue
			}
			if !p.Reach().Known() || len(level.Ports) == 0 || slices.ContainsFunc(level.Ports, g.port.accepts) {
				return true
			}
		}
	}
	return false
}

type compiledGate struct {
	kind       object.Kind
	conditions []compiledCondition
	shut       bool // by its option
}

type compiledCondition struct {
	steps  []string // "*" = every item
	values []any
	except []any
	below  int64
	absent bool
}

// compileGates makes gates, given the values of the rule's options.
func compileGates(gates []Gate, options map[string]any) ([]compiledGate, error) {
	var out []compiledGate
	for _, g := range gates {
		conditions, err := compileConditions(g.All)
		if err != nil {
			return nil, err
		}
		shut := false
		if g.Option != "" {
			on, ok := options[g.Option].(bool)
			if !ok {
				return nil, fmt.Errorf("a gate hangs on %q, which is no option that is true or false", g.Option)
			}
			shut = !on
		}
		out = append(out, compiledGate{g.Kind, conditions, shut})
	}
	return out, nil
}

func compileConditions(list []Condition) ([]compiledCondition, error) {
	var out []compiledCondition
	for _, cond := range list {
		if cond.Path == "" {
			return nil, errors.New("a gate's condition has no path")
		}
		out = append(out, compiledCondition{
			steps:  strings.Split(strings.ReplaceAll(cond.Path, "[*]", ".*"), "."),
			values: cond.Values,
			except: cond.Except,
			below:  cond.Below,
			absent: cond.Absent,
		})
	}
	return out, nil
}

// passes says whether one of the gates lets the object through; a kind without gates is always let through.
func passes(gates []compiledGate, o *object.Object) bool {
	gated := false
	for _, g := range gates {
		if g.kind != "" && g.kind != o.Kind {
			continue
		}
		gated = true
		if !g.shut && !slices.ContainsFunc(g.conditions, func(c compiledCondition) bool { return !c.holds(o.Root()) }) {
			return true
		}
	}
	return !gated
}

func (c compiledCondition) holds(root object.Value) bool {
	found, match := c.walk(root, c.steps)
	return match || c.absent && !found
}

// walk says whether any value stands at the steps, and whether one of them is among the values.
func (c compiledCondition) walk(v object.Value, steps []string) (found, match bool) {
	if !v.Set() {
		return false, false
	}
	if len(steps) == 0 {
		if len(c.values) == 0 && len(c.except) == 0 && c.below == 0 {
			return true, !c.absent
		}
		is := func(want any) bool { return equalsScalar(v, want) }
		return true, c.below != 0 && isNumber(v) && v.Float() < float64(c.below) ||
			slices.ContainsFunc(c.values, is) || len(c.except) > 0 && !slices.ContainsFunc(c.except, is)
	}
	if steps[0] != "*" {
		return c.walk(v.Get(steps[0]), steps[1:])
	}
	for _, item := range v.Items() {
		f, m := c.walk(item, steps[1:])
		found, match = found || f, match || m
		if match {
			break
		}
		if c.absent && !f {
			return found, true // one item without the field is enough
		}
	}
	return found, match
}

func isNumber(v object.Value) bool { return v.Type() == object.Int || v.Type() == object.Float }

func equalsScalar(v object.Value, want any) bool {
	switch want := want.(type) {
	case string:
		return v.Type() == object.String && v.Str() == want
	case bool:
		return v.Type() == object.Bool && v.Bool() == want
	case int:
		return v.Type() == object.Int && v.Int() == int64(want)
	case int64:
		return v.Type() == object.Int && v.Int() == want
	}
	return false
}
