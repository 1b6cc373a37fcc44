package policy

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/rego"
	"github.com/open-policy-agent/opa/v1/types"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/effective"
	"github.com/meshvet/meshvet/lint/mesh"
	"github.com/meshvet/meshvet/lint/object"
)

// builtin is a function that policies call to learn of the mesh around the object they judge.
type builtin struct {
	name string
	doc  string
	decl *types.Function
	eval func(p *lint.Pass, args []*ast.Term) (any, error)
}

// builtins are the mesh.* functions. They are part of the API for policies: names and results only ever grow.
var builtins = []builtin{
	{"mesh.complete", "mesh.complete(kind): whether every object of the kind that exists is known, so that absence is evidence",
		function(types.B, types.S), evalComplete},
	{"mesh.settings", "mesh.settings(): what is known of the mesh besides its objects",
		function(types.A), evalSettings},
	{"mesh.entry", "mesh.entry(): the ServiceEntry being judged, as Istio's registry holds it: hosts, ports with family and cluster type, endpoints",
		function(types.A), evalEntry},
	{"mesh.levels", "mesh.levels(): the traffic policies that the DestinationRule being judged writes, each with the ports that it reaches",
		function(types.A), evalLevels},
	{"mesh.http_uses", "mesh.http_uses(): the fields of connectionPool.http that the traffic policies of the DestinationRule being judged set, each with the ports on which it has an effect (live), on which it has none (dead), and which of the latter are L4",
		function(types.A), evalHTTPUses},
	{"mesh.reach", "mesh.reach(): the ports and hosts that the DestinationRule being judged takes in",
		function(types.A), evalReach},
	{"mesh.blocks", "mesh.blocks(name): where the DestinationRule being judged writes a block of a traffic policy, each with the ports that it governs; alike ports are listed once, with the number of hosts that have them",
		function(types.A, types.S), evalBlocks},
	{"mesh.port_losses", "mesh.port_losses(i): the values of the destination level that portLevelSettings[i] discards, sorted by what can be done about them",
		function(types.A, types.N), evalPortLosses},
	{"mesh.unwatched", "mesh.unwatched(): the hosts outside the mesh that have a list of addresses and no outlier detection because of the object being judged",
		function(types.A), evalUnwatched},
	{"mesh.cleartext_routes", "mesh.cleartext_routes(host, port): the http routes that send requests for a host to that port of it, so that Envoy, not the client, starts TLS there",
		function(types.A, types.S, types.N), evalCleartextRoutes},
}

func function(result types.Type, args ...types.Type) *types.Function {
	return types.NewFunction(types.Args(args...), result)
}

func (b builtin) call(bctx rego.BuiltinContext, args []*ast.Term) (*ast.Term, error) {
	p, ok := bctx.Context.Value(passKey{}).(*lint.Pass)
	if !ok {
		return nil, fmt.Errorf("%s is called outside the judging of an object; in tests, replace it with `with %s as …`", b.name, b.name)
	}
	v, err := b.eval(p, args)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", b.name, err)
	}
	value, err := ast.InterfaceToValue(v)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", b.name, err)
	}
	return ast.NewTerm(value), nil
}

// record is a Rego object.
type record = map[string]any

var errNotDestinationRule = errors.New("the object being judged is no DestinationRule")

func evalComplete(p *lint.Pass, args []*ast.Term) (any, error) {
	name, ok := args[0].Value.(ast.String)
	if !ok {
		return nil, errors.New("the kind is no string")
	}
	kind, err := lint.ParseKind(string(name))
	if err != nil {
		return nil, err
	}
	return p.Mesh.Complete(kind), nil
}

func evalSettings(p *lint.Pass, _ []*ast.Term) (any, error) {
	s := p.Mesh.Settings()
	tri := func(b *bool) any {
		if b == nil {
			return nil
		}
		return *b
	}
	return record{
		"istio_version": s.IstioVersion, "root_namespace": s.RootNamespace, "cluster_domain": s.ClusterDomain,
		"dns_capture": tri(s.DNSCapture), "auto_allocate": tri(s.AutoAllocate),
		"mesh_config": s.MeshConfig.Set(), "default_pool": s.MeshConfig.At("defaultTrafficPolicy", "connectionPool").Set(),
	}, nil
}

func evalEntry(p *lint.Pass, _ []*ast.Term) (any, error) {
	t := p.Mesh.Target(p.Object)
	if t == nil || t.IsService() {
		return nil, errors.New("the object being judged is no ServiceEntry")
	}
	hosts := make([]any, 0, len(t.Hosts))
	for _, h := range t.Hosts {
		// Istio keeps endpoints by host, namespace and name of port, so other entries bring theirs whatever their exportTo says.
		elsewhere := []any{}
		for _, other := range p.Mesh.Targets(h) {
			if other.Object == t.Object || other.IsService() || other.Namespace() != t.Namespace() || other.Endpoints().Len() == 0 && !other.HasSelector() {
				continue
			}
			for _, port := range other.Ports {
				elsewhere = append(elsewhere, port.Name)
			}
		}
		hosts = append(hosts, record{
			"name": string(h), "wildcard": h.IsWildcard(), "address": h.IsAddress(), "in_cluster": p.Mesh.Settings().InCluster(h),
			"endpoint_ports": elsewhere,
		})
	}
	ports := make([]any, 0, len(t.Ports))
	for i, port := range t.Ports {
		r := portRecord(p.Mesh, effective.Port{Port: port, Target: t, Cluster: effective.ClusterTypeOf(t)})
		r["index"] = i
		ports = append(ports, r)
	}
	return record{
		"external": t.External, "resolution": t.Resolution, "cluster": string(effective.ClusterTypeOf(t)),
		"hosts": hosts, "ports": ports, "addresses": p.Mesh.AllAddresses(t), "selector": t.HasSelector(), "endpoints": t.Endpoints().Len(),
		"namespace": t.Namespace(),
	}, nil
}

// portRecord describes a port to policies.
func portRecord(ix *mesh.Index, port effective.Port) record {
	r := record{
		"number": port.Number, "name": port.Name, "protocol": port.Protocol, "family": string(port.Family),
		"target_port": port.TargetPort, "tls": port.IsTLS(), "http2": port.IsHTTP2(),
		"host": string(port.Host), "cluster": string(port.Cluster), "external": port.External(), "in_cluster": port.InCluster,
		"list": port.Cluster.HasList(), "wildcard": port.Host.IsWildcard(),
	}
	if t := port.Target; t != nil {
		r["target"] = record{"kind": string(t.Object.Kind), "namespace": t.Object.Namespace, "name": t.Object.Name}
		r["path"] = pathRecord(port.Path)
		r["subject_alt_names"] = t.Object.Spec().Get("subjectAltNames").Strings()
		r["endpoints"] = nil
		if port.Host != "" {
			if n, known := effective.EndpointCount(ix, port.Host, t); known {
				r["endpoints"] = n
			}
		}
	}
	return r
}

func pathRecord(path object.Path) []any {
	out := make([]any, len(path))
	copy(out, path)
	return out
}

func ruleAndReach(p *lint.Pass) (*mesh.DestinationRule, effective.Reach, error) {
	r := p.Mesh.Rule(p.Object)
	if r == nil {
		return nil, effective.Reach{}, errNotDestinationRule
	}
	return r, p.Reach(), nil
}

func evalReach(p *lint.Pass, _ []*ast.Term) (any, error) {
	r, reach, err := ruleAndReach(p)
	if err != nil {
		return nil, err
	}
	ports := make([]any, 0, len(reach.Ports))
	for i, port := range reach.Ports {
		rec := portRecord(p.Mesh, port)
		rec["hosts"] = reach.Hosts[i]
		ports = append(ports, rec)
	}
	return record{
		"host": string(r.Host), "wildcard": r.Host.IsWildcard(), "in_cluster": p.Mesh.Settings().InCluster(r.Host),
		"known": reach.Known(), "ports": ports, "selector": r.Selector != nil,
	}, nil
}

func evalLevels(p *lint.Pass, _ []*ast.Term) (any, error) {
	_, reach, err := ruleAndReach(p)
	if err != nil {
		return nil, err
	}
	var out []any
	for _, l := range p.Levels() {
		ports := make([]any, 0, len(l.Ports))
		for _, port := range l.Ports {
			ports = append(ports, portRecord(p.Mesh, port))
		}
		out = append(out, record{
			"level": string(l.Kind), "path": pathRecord(l.Path), "subset": l.Subset, "port": l.Port, "known": reach.Known(),
			"ports": ports, "shadowed": l.Shadowed, "policy": p.Object.Lookup(l.Path).Any(), "retry_budget": l.HasRetryBudget(p.Mesh, p.Object),
		})
	}
	return out, nil
}

func evalHTTPUses(p *lint.Pass, _ []*ast.Term) (any, error) {
	if _, _, err := ruleAndReach(p); err != nil {
		return nil, err
	}
	out := []any{}
	for _, u := range effective.UsesIn(p.Mesh, p.Object, p.Levels()) {
		name, isHTTP := strings.CutPrefix(u.Field.Name, "connectionPool.http.")
		if !isHTTP {
			continue
		}
		live, dead := carrying(u.Live), carrying(u.Dead)
		l4 := slices.DeleteFunc(slices.Clone(dead), func(port effective.Port) bool { return port.Family != mesh.L4 })
		out = append(out, record{
			"level": string(u.Level.Kind), "at": pathRecord(u.Level.Path), "subset": u.Level.Subset, "name": name,
			"path": pathRecord(u.Path), "block": u.Path.Parent().String(), "value": u.Value.Any(), "text": effective.Text(u.Value),
			"live": groupRecord(live), "dead": groupRecord(dead), "l4": groupRecord(l4),
		})
	}
	return out, nil
}

// carrying leaves out the ports for which Istio compiles nothing.
func carrying(ports []effective.Port) []effective.Port {
	return slices.DeleteFunc(slices.Clone(ports), func(port effective.Port) bool { return port.Family == mesh.NoProxy })
}

// groupRecord describes several ports as a sentence wants them: how many, in words with and without their hosts, and as the
// subject of a finding.
func groupRecord(ports []effective.Port) record {
	bare, full, hosts, numbers := []string{}, []string{}, []any{}, []any{}
	for _, port := range ports {
		protocol := port.Protocol
		if protocol == "" {
			protocol = "no protocol"
		}
		words := fmt.Sprintf("port %d (%s)", port.Number, protocol)
		bare, full = append(bare, words), append(full, words+" of "+string(port.Host))
		if !slices.Contains(hosts, any(string(port.Host))) {
			hosts = append(hosts, string(port.Host))
		}
		if !slices.Contains(numbers, any(port.Number)) {
			numbers = append(numbers, port.Number)
		}
	}
	return record{"count": len(ports), "bare": firstOf(bare), "places": firstOf(full), "subject": record{"hosts": hosts, "ports": numbers}}
}

// firstOf lists up to three things, or two and the number of the others.
func firstOf(things []string) string {
	if len(things) <= 3 {
		return strings.Join(things, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(things[:2], ", "), len(things)-2)
}

func evalBlocks(p *lint.Pass, args []*ast.Term) (any, error) {
	block, ok := args[0].Value.(ast.String)
	if !ok || !slices.Contains(effective.Blocks[:], string(block)) {
		return nil, fmt.Errorf("%s is no block of a traffic policy", args[0])
	}
	if p.Object.Kind != object.DestinationRule {
		return nil, errNotDestinationRule
	}
	type governedMemo struct{}
	type governed struct {
		reach  effective.Reach
		inView bool
	}
	g := lint.Memo(p, governedMemo{}, func() governed {
		reach, inView := effective.Governed(p.Mesh, p.Object)
		return governed{reach, inView}
	})
	out := []any{}
	for _, w := range effective.WrittenIn(p.Object, string(block), g.reach) {
		out = append(out, record{
			"level": string(w.Level.Kind), "at": pathRecord(w.Level.Path), "path": pathRecord(w.Path), "subset": w.Level.Subset,
			"port": w.Level.Port, "shadowed": w.Level.Shadowed, "known": g.inView, "alone": w.Alone, "value": w.Value.Any(),
			"ports": alikePorts(p.Mesh, w.Level.Ports),
		})
	}
	return out, nil
}

// alikePorts describes ports to policies, those once that no policy treats differently: a wildcard may take in thousands.
func alikePorts(ix *mesh.Index, ports []effective.Port) []any {
	type class struct {
		number, targetPort                            uint32
		protocol                                      string
		cluster                                       effective.ClusterType
		service, external, inCluster, selector, named bool
		wildcard, sans, cleartext                     bool
	}
	out := []any{}
	seen := map[class]record{}
	hosts := map[class]int{}
	for _, port := range ports {
		c := class{
			number: port.Number, targetPort: port.TargetPort, protocol: port.Protocol, cluster: port.Cluster,
			service: port.Target.IsService(), external: port.External(), inCluster: port.InCluster, selector: port.Target.HasSelector(),
			named: ix.Settings().InCluster(port.Host), wildcard: port.Host.IsWildcard(),
			sans:      port.Target.Object.Spec().Get("subjectAltNames").Len() > 0,
			cleartext: port.IsTLS() && len(ix.CleartextRoutes(port.Host, port.Number)) > 0,
		}
		hosts[c]++
		if r, dup := seen[c]; dup {
			r["hosts"] = hosts[c]
			continue
		}
		r := portRecord(ix, port)
		r["hosts"], r["selector"], r["in_cluster_name"], r["cleartext"] = 1, c.selector, c.named, c.cleartext
		seen[c] = r
		out = append(out, r)
	}
	return out
}

func indexArg(t *ast.Term) (int, error) {
	n, ok := t.Value.(ast.Number)
	if !ok {
		return 0, errors.New("a number is wanted")
	}
	i, ok := n.Int()
	if !ok || i < 0 {
		return 0, fmt.Errorf("%s is no index", n)
	}
	return i, nil
}

func evalPortLosses(p *lint.Pass, args []*ast.Term) (any, error) {
	i, err := indexArg(args[0])
	if err != nil {
		return nil, err
	}
	_, reach, err := ruleAndReach(p)
	if err != nil {
		return nil, err
	}
	into := object.Path{"spec", "trafficPolicy", "portLevelSettings", i}
	return lossesRecord(p, effective.LostByEntry(p.Mesh, p.Object, reach, i), into), nil
}

// lossesRecord describes what one level takes away; into is that level. The values come sorted by what can be done about them,
// since a policy that sorts them itself costs ten times as much.
func lossesRecord(p *lint.Pass, losses []effective.Loss, into object.Path) record {
	fields, restate, restateTLS, lost, hosts := []any{}, []any{}, []any{}, []any{}, []any{}
	seen := map[mesh.Host]bool{}
	grave := false
	filled := false // whether the mesh configuration could have filled in what is lost
	overMesh := false
	whole := map[string]bool{} // blocks that are restated as one
	for _, l := range losses {
		overMesh = overMesh || l.OverMesh
		whole[l.Field.Name] = true
	}
	for _, l := range losses {
		if l.Latent {
			if l.Field.Name == l.Field.Block() || !whole[l.Field.Block()] {
				restate = append(restate, record{"path": pathRecord(into.Child(l.Field.Path()...)), "value": l.Value.Any()})
			}
			continue
		}
		fields = append(fields, record{
			"field": l.Field.Name, "from": l.From, "to": l.To, "path": pathRecord(l.At), "line": l.On.Locate(l.At).Range.Start.Line, "envoy": l.Field.Envoy,
		})
		filled = filled || l.Field.Block() == "connectionPool" || l.Field.Block() == "outlierDetection"
		write := record{"path": pathRecord(into.Child(l.Field.Path()...)), "value": l.Value.Any()}
		switch {
		case !l.Field.Restatable():
			lost = append(lost, l.Field.Block())
			grave = true
		case l.Field.Block() == "tls":
			if l.Ports[0].Known() { // whether an unknown host should get TLS is not for us to say
				restateTLS = append(restateTLS, write)
			}
			grave = grave || l.Field.Name == "tls" && l.From != effective.Plaintext
		case l.Field.Name == l.Field.Block() || !whole[l.Field.Block()]:
			restate = append(restate, write)
		}
		for _, port := range l.Ports {
			if port.Host != "" && !seen[port.Host] {
				seen[port.Host] = true
				hosts = append(hosts, string(port.Host))
			}
		}
	}
	return record{
		"fields": fields, "restate": restate, "restate_tls": restateTLS, "unstatable": lost, "hosts": hosts, "grave": grave,
		"over_mesh": overMesh, "no_mesh_config": filled && !p.Mesh.Settings().MeshConfig.Set(),
	}
}

func evalUnwatched(p *lint.Pass, _ []*ast.Term) (any, error) {
	found := p.Unwatched()
	out := make([]any, 0, len(found))
	for _, u := range found {
		ports := make([]any, 0, len(u.Ports))
		for i, port := range u.Ports {
			r := portRecord(p.Mesh, port)
			pool := u.Policies[i].Block("connectionPool")
			r["at"] = pathRecord(u.At[i])
			r["connect_timeout"] = pool.Value.At("tcp", "connectTimeout").Set()
			r["pool_from_mesh"] = u.Policies[i].FromMesh("connectionPool")
			ports = append(ports, r)
		}
		out = append(out, record{
			"host": string(u.Host), "client": u.Client, "ports": ports, "governed": u.Rule != nil,
			"target": record{"kind": string(u.Target.Object.Kind), "namespace": u.Target.Object.Namespace, "name": u.Target.Object.Name},
		})
	}
	return out, nil
}

func hostAndPort(args []*ast.Term) (mesh.Host, uint32, error) {
	host, ok := args[0].Value.(ast.String)
	if !ok {
		return "", 0, errors.New("the host is no string")
	}
	n, err := indexArg(args[1])
	return mesh.Host(host), uint32(n), err
}

func evalCleartextRoutes(p *lint.Pass, args []*ast.Term) (any, error) {
	host, port, err := hostAndPort(args)
	if err != nil {
		return nil, err
	}
	out := []any{}
	for _, r := range p.Mesh.CleartextRoutes(host, port) {
		out = append(out, record{"kind": string(r.Object.Kind), "namespace": r.Object.Namespace, "name": r.Object.Name, "path": pathRecord(r.Path)})
	}
	return out, nil
}
