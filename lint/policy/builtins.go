package policy

import (
	"errors"
	"fmt"
	"slices"

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
	{"mesh.settings", "mesh.settings(): the version of Istio, empty if it is not known, the root namespace, the cluster domain, whether mutual TLS within the mesh is automatic, whether the mesh configuration is in view, and for kinds of which some objects could not be read a file that may hold them",
		function(types.A), evalSettings},
	{"mesh.entry", "mesh.entry(): the ServiceEntry being judged, as Istio's registry holds it: hosts, ports with family and cluster type, endpoints",
		function(types.A), evalEntry},
	{"mesh.host", "mesh.host(name): whether a ServiceEntry or Service in view has exactly this host, the DestinationRules of all namespaces whose host it is, names without a dot written out, and the VirtualServices for it or for a wildcard that takes it in, with their sections (http, tls, tcp); a hundred at most of each",
		function(types.A, types.S), evalHost},
	{"mesh.http_uses", "mesh.http_uses(): the fields of connectionPool.http by which the DestinationRule being judged asks for something, with the ports on which they do nothing",
		function(types.A), evalHTTPUses},
	{"mesh.uses", "mesh.uses(fields, beside): where the DestinationRule being judged writes some fields of a traffic policy, each with the ports on which it has an effect and those on which it has none; with each port come the values in effect there of other fields",
		function(types.A, types.NewArray(nil, types.S), types.NewArray(nil, types.S)), evalUses},
	{"mesh.partial_pools", "mesh.partial_pools(): the connectionPools of the DestinationRule being judged that set some circuit breakers and leave others unlimited, with the ports on which Envoy reads requests",
		function(types.A), evalPartialPools},
	{"mesh.reach", "mesh.reach(): the host of the DestinationRule being judged, and whether anything that it takes in is known",
		function(types.A), evalReach},
	{"mesh.blocks", "mesh.blocks(name): where the DestinationRule being judged writes a block of a traffic policy, each with the ports that it governs; alike ports are listed once, with the number of hosts that have them",
		function(types.A, types.S), evalBlocks},
	{"mesh.meets", "mesh.meets(path, block): whether the block at a path of the DestinationRule being judged is in effect together with another one anywhere, be it that of a subset that inherits the first or a default of the mesh's",
		function(types.B, types.A, types.S), evalMeets},
	{"mesh.entries", "mesh.entries(): the portLevelSettings entries of the DestinationRule being judged, each with its port (0 = none that can exist), how many ports of hosts have the number (1 if only what another rule or target takes the place of has it), and whether an earlier one takes its place",
		function(types.A), evalEntries},
	{"mesh.governing", "mesh.governing(name): where DestinationRules write a block of a traffic policy that is in effect on ports of the ServiceEntry being judged, for some clients at least; each with the rule and its host, the place, the value and, if it is in effect there only, the subset",
		function(types.A, types.S), evalGoverning},
	{"mesh.implicit_timeouts", "mesh.implicit_timeouts(): the levels of the DestinationRule being judged at which a connectTimeout would have to be written for ports outside the mesh that have Istio's default, each with these ports",
		function(types.A), evalImplicitTimeouts},
	{"mesh.port_losses", "mesh.port_losses(): the entries of portLevelSettings that discard values of the destination level, each with these values and how to write them back",
		function(types.A), evalPortLosses},
	{"mesh.subset_losses", "mesh.subset_losses(): the blocks of subsets, and the entries for ports in them, that discard values of what stands above them, each with these values and how to write them back",
		function(types.A), evalSubsetLosses},
	{"mesh.direct_clients", "mesh.direct_clients(host, port): for the clients of which namespaces the DestinationRule being judged is in force on a port of a host to which their own proxies connect: no gateways, nor those whose routes lead elsewhere; none where a gateway has a route to the host",
		function(types.A, types.S, types.N), evalDirectClients},
	{"mesh.unwatched", "mesh.unwatched(): where the object being judged leaves hosts outside the mesh, of which Envoy has a list of addresses, without outlier detection: the hosts of a ServiceEntry, the levels of a DestinationRule",
		function(types.A), evalUnwatched},
	{"mesh.originated", "mesh.originated(): the ports of the ServiceEntry being judged for which a DestinationRule has Envoy start TLS, or would if its tls named a mode, for some clients at least; each with the rule and the place of its tls, and whether anything is sent there",
		function(types.A), evalOriginated},
	{"mesh.cleartext_routes", "mesh.cleartext_routes(host, port): the http routes that send requests for a host to that port of it, so that Envoy, not the client, starts TLS there",
		function(types.A, types.S, types.N), evalCleartextRoutes},
	{"mesh.byte_routes", "mesh.byte_routes(host, port): the tcp and tls routes that send connections to that port of a host, so that Envoy forwards bytes there, whatever the port's protocol",
		function(types.A, types.S, types.N), evalByteRoutes},
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
	value, err := valueFrom(v)
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
	auto := s.MeshConfig.Get("enableAutoMtls")
	unread := record{}
	for kind, file := range s.Unread {
		unread[string(kind)] = file
	}
	return record{
		"istio_version": s.IstioVersion, "root_namespace": s.RootNamespace, "cluster_domain": s.ClusterDomain,
		"auto_mtls": !auto.Set() || auto.Bool(), "mesh_config": s.MeshConfig.Set(), "unread": unread,
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
		shared := false
		for _, other := range p.Mesh.Targets(h) {
			if other.Object == t.Object || other.IsService() || other.Namespace() != t.Namespace() {
				continue
			}
			shared = true
			if other.Endpoints().Len() == 0 && !other.HasSelector() {
				continue
			}
			for _, port := range other.Ports {
				if !slices.Contains(elsewhere, any(port.Name)) {
					elsewhere = append(elsewhere, port.Name)
				}
			}
		}
		hosts = append(hosts, record{
			"name": string(h), "wildcard": h.IsWildcard(), "address": h.IsAddress(), "in_cluster": p.Mesh.Settings().InCluster(h),
			"shared": shared, "endpoint_ports": elsewhere, "may_have_pods": mayHavePods(p.Mesh, h, t), "allocated": p.Mesh.Allocated(t, h),
			"service": serviceRecord(p.Mesh, h, t), "destination": p.Mesh.IsDestination(h),
		})
	}
	ports := make([]any, 0, len(t.Ports))
	for i, port := range t.Ports {
		r := portRecord(p.Mesh, effective.Port{Port: port, Target: t, Cluster: effective.ClusterTypeOf(t)})
		r["index"], r["named"], r["dials"] = i, port.Named(), nil
		if dials, known := t.Dials(port); known {
			r["dials"] = dials
		}
		ports = append(ports, r)
	}
	return record{
		"external": t.External, "resolution": t.Resolution, "cluster": string(effective.ClusterTypeOf(t)),
		"hosts": hosts, "ports": ports, "addresses": p.Mesh.AllAddresses(t), "selector": t.HasSelector(), "endpoints": t.Endpoints().Len(),
		"namespace": t.Namespace(), "hidden": p.Mesh.Hidden(t), "public": p.Mesh.Public(t),
		"backend_tls": p.Mesh.BackendTLSPolicyFor(t) != nil,
	}, nil
}

// serviceRecord is the Service that has a host as well and that some client gets in place of an entry, nil if there is none.
func serviceRecord(ix *mesh.Index, h mesh.Host, t *mesh.Target) any {
	for _, client := range ix.ClientNamespaces(t) {
		s := ix.Resolve(h, client)
		if s == nil || !s.IsService() || !ix.Sees(s, client) || !ix.Sees(t, client) {
			continue
		}
		ports := []any{}
		for _, p := range s.Ports {
			ports = append(ports, record{"number": p.Number, "name": p.Name})
		}
		return record{"target": record{"kind": string(s.Object.Kind), "namespace": s.Namespace(), "name": s.Object.Name}, "ports": ports}
	}
	return nil
}

// shownRules bounds the lists of DestinationRules and VirtualServices: more for one host are a mistake of whatever writes them.
const shownRules = 100

func evalHost(p *lint.Pass, args []*ast.Term) (any, error) {
	name, ok := args[0].Value.(ast.String)
	if !ok {
		return nil, errors.New("the host is no string")
	}
	rules := []any{}
	for _, r := range p.Mesh.Rules(mesh.Host(name)) {
		if len(rules) == shownRules {
			break
		}
		rules = append(rules, record{"kind": string(r.Object.Kind), "namespace": r.Object.Namespace, "name": r.Object.Name})
	}
	services := []any{}
	for _, vs := range p.Mesh.VirtualServicesFor(mesh.Host(name)) {
		if len(services) == shownRules {
			break
		}
		sections := []any{}
		for _, section := range [...]string{"http", "tls", "tcp"} {
			if vs.Spec().Get(section).Len() > 0 {
				sections = append(sections, section)
			}
		}
		services = append(services, record{"kind": string(vs.Kind), "namespace": vs.Namespace, "name": vs.Name, "sections": sections})
	}
	return record{"in_view": len(p.Mesh.Targets(mesh.Host(name))) > 0, "rules": rules, "virtual_services": services}, nil
}

// mayHavePods says whether the pods of a Service can be endpoints of an entry under a host: a Service in view has it, or the entry
// is for something in the mesh by a name of the cluster, so that one that is not in view may.
func mayHavePods(ix *mesh.Index, h mesh.Host, t *mesh.Target) bool {
	return !t.External && ix.Settings().InCluster(h) || slices.ContainsFunc(ix.Targets(h), (*mesh.Target).IsService)
}

// portRecord describes a port to policies.
func portRecord(ix *mesh.Index, port effective.Port) record {
	r := record{
		"number": port.Number, "name": port.Name, "protocol": port.Protocol, "family": string(port.Family),
		"tls":  port.IsTLS(),
		"host": string(port.Host), "cluster": string(port.Cluster), "external": port.External(), "in_cluster": port.InCluster,
		"forwards_bytes": port.ForwardsBytes(), "list": port.Cluster.HasList(), "wildcard": port.Host.IsWildcard(), "compiled": port.Compiled(),
	}
	if t := port.Target; t != nil {
		r["elsewhere"] = port.Host != "" && ix.Elsewhere(t, port.Host) // a gateway may get another entry
		r["target"] = record{"kind": string(t.Object.Kind), "namespace": t.Object.Namespace, "name": t.Object.Name}
		r["path"], r["resolution"] = pathRecord(port.Path), t.Resolution
		r["subject_alt_names"] = t.Object.Spec().Get("subjectAltNames").Strings()
		r["endpoints"] = nil
		if port.Host != "" {
			if n, known := effective.EndpointCount(ix, port.Host, t, port.Port, object.Value{}); known {
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
	numbers := []uint32{}
	for _, port := range reach.Ports {
		numbers = append(numbers, port.Number)
	}
	slices.Sort(numbers)
	return record{
		"host": string(r.Host), "wildcard": r.Host.IsWildcard(), "in_cluster": p.Mesh.Settings().InCluster(r.Host),
		"known": reach.Known(), "numbers": slices.Compact(numbers),
	}, nil
}

func evalBlocks(p *lint.Pass, args []*ast.Term) (any, error) {
	block, err := blockArg(args[0])
	if err != nil {
		return nil, err
	}
	if p.Object.Kind != object.DestinationRule {
		return nil, errNotDestinationRule
	}
	reach := p.EachPort()
	out := []any{}
	for _, w := range effective.WrittenIn(p.Object, block, reach) {
		out = append(out, record{
			"level": string(w.Level.Kind), "at": pathRecord(w.Level.Path), "path": pathRecord(w.Path), "subset": w.Level.Subset,
			"port": w.Level.Port, "shadowed": w.Level.Shadowed, "known": reach.Known(), "alone": w.Alone, "value": w.Value,
			"ports": alikePorts(p, w.Level.Ports, w.Level.SubsetLabels(p.Object)),
		})
	}
	return out, nil
}

func blockArg(t *ast.Term) (string, error) {
	block, ok := t.Value.(ast.String)
	if !ok || !slices.Contains(effective.Blocks[:], string(block)) {
		return "", fmt.Errorf("%s is no block of a traffic policy", t)
	}
	return string(block), nil
}

// alikePorts describes ports to policies, those once that no policy treats differently: a wildcard may take in thousands. labels
// are those of the subset whose endpoints count.
func alikePorts(p *lint.Pass, ports []effective.Port, labels object.Value) []any {
	ix := p.Mesh
	type class struct {
		number, targetPort                            uint32
		protocol                                      string
		cluster                                       effective.ClusterType
		service, external, inCluster, selector, named bool
		wildcard, sans, cleartext, bytes              bool
		near, elsewhere                               bool
		endpoints, localities                         int // -1 if not known
	}
	out := []any{}
	seen := map[class]record{}
	hosts := map[class]int{}
	for _, port := range ports {
		c := class{
			number: port.Number, targetPort: port.TargetPort, protocol: port.Protocol, cluster: port.Cluster,
			service: port.Target.IsService(), external: port.External(), inCluster: port.InCluster, selector: port.Target.HasSelector(),
			named: port.InCluster && ix.Settings().InCluster(port.Host), wildcard: port.Host.IsWildcard(),
			sans:      port.Target.Object.Spec().Get("subjectAltNames").Len() > 0,
			cleartext: port.IsTLS() && port.Routed, bytes: port.ForwardsBytes(),
			near:      effective.StaysNear(port.Target),
			elsewhere: ix.Elsewhere(port.Target, port.Host),
			endpoints: -1, localities: -1,
		}
		if n, known := effective.EndpointCount(ix, port.Host, port.Target, port.Port, labels); known {
			c.endpoints = n
		}
		if list, known := effective.Localities(ix, port.Host, port.Target, port.Port, labels); known {
			c.localities = len(list)
		}
		hosts[c]++
		if r, dup := seen[c]; dup {
			r["hosts"] = hosts[c]
			continue
		}
		r := portRecord(ix, port)
		r["hosts"], r["selector"], r["in_cluster_name"], r["cleartext"] = 1, c.selector, c.named, c.cleartext
		r["near"], r["endpoints"], r["localities"] = c.near, nil, nil
		if c.endpoints >= 0 {
			r["endpoints"] = c.endpoints
		}
		if c.localities >= 0 {
			r["localities"] = c.localities
		}
		r["clients"] = clientsRecord(effective.ClientsOf(ix, p.Object, port.Host, port.Target))
		seen[c] = r
		out = append(out, r)
	}
	return out
}

func anyList(list []string) []any {
	out := make([]any, len(list))
	for i, s := range list {
		out[i] = s
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

func hostAndPort(args []*ast.Term) (mesh.Host, uint32, error) {
	host, ok := args[0].Value.(ast.String)
	if !ok {
		return "", 0, errors.New("the host is no string")
	}
	n, err := indexArg(args[1])
	return mesh.Host(host), uint32(n), err
}

func evalCleartextRoutes(p *lint.Pass, args []*ast.Term) (any, error) {
	return routesTo(args, p.Mesh.CleartextRoutes)
}

func evalByteRoutes(p *lint.Pass, args []*ast.Term) (any, error) {
	return routesTo(args, p.Mesh.ByteRoutes)
}

// routesTo describes to policies the routes to a host and port that they name.
func routesTo(args []*ast.Term, find func(mesh.Host, uint32) []*mesh.Route) (any, error) {
	host, port, err := hostAndPort(args)
	if err != nil {
		return nil, err
	}
	out := []any{}
	for _, r := range find(host, port) {
		out = append(out, record{"kind": string(r.Object.Kind), "namespace": r.Object.Namespace, "name": r.Object.Name, "path": pathRecord(r.Path)})
	}
	return out, nil
}
