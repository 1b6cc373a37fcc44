package verify

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/meshvet/meshvet/lint/dump"
	"github.com/meshvet/meshvet/lint/effective"
	"github.com/meshvet/meshvet/lint/envoy"
	"github.com/meshvet/meshvet/lint/mesh"
	"github.com/meshvet/meshvet/lint/object"
)

const outbound = "outbound|"

// Bounds on what a comparison keeps of a dump, which may be of any size. What is beyond them is counted and not listed.
const (
	keptDifferences = 10_000
	keptNames       = 10_000 // of each list
	keptClusters    = 4_096  // predictions
)

// Comparison compares what a proxy has with what is predicted, resource by resource as a dump is read. It keeps predictions and
// differences, and of the dump names only.
type Comparison struct {
	ix    *mesh.Index
	proxy effective.Proxy

	predicted map[clusterName]*effective.Cluster
	visible   map[mesh.Host]bool // of hosts in view, as far as they were asked for

	seen    map[string]bool // clusters of hosts in view, by name: whether they were compared
	unknown map[mesh.Host]bool
	foreign bool // the dump has clusters that are not outbound
	waiting map[string]bool

	differing map[string]bool
	told      map[Mismatch]bool
	causes    map[Cause]map[string]bool
	out       Report
}

// New returns a comparison for a proxy of a mesh.
func New(ix *mesh.Index, proxy effective.Proxy) *Comparison {
	return &Comparison{
		ix: ix, proxy: proxy,
		predicted: map[clusterName]*effective.Cluster{}, visible: map[mesh.Host]bool{}, seen: map[string]bool{}, unknown: map[mesh.Host]bool{}, waiting: map[string]bool{},
		differing: map[string]bool{}, told: map[Mismatch]bool{}, causes: map[Cause]map[string]bool{},
	}
}

// Report is what a comparison comes to. Its lists are in the order of names.
type Report struct {
	Proxy       effective.Proxy
	Differences []ClusterDifference
	// LeftOut is how many differences, missing and unexpected clusters there are at least beyond those that are listed.
	LeftOut int
	// Missing are predicted clusters that the dump does not have.
	Missing []Missing
	// Unexpected are clusters of hosts in view that Istio should not have compiled.
	Unexpected []Unexpected
	// Refused are resources that Istio compiled for hosts in view, and Envoy did not take.
	Refused []Refused
	// WithoutManifest are hosts of clusters that no manifest in view defines, ClustersWithout how many clusters they have.
	WithoutManifest []mesh.Host
	ClustersWithout int
	// Waiting are clusters of hosts in view that Envoy is warming, and does not use yet. They are not compared.
	Waiting []string
	// Causes say which objects differences come from, as far as the dump names them.
	Causes []Cause
	// Rivals are hosts that differ, and that several objects of a kind define of which one does not say how old it is: Istio
	// takes the oldest.
	Rivals []Rivals
	// Filtered says that the dump was limited to some of the proxy's clusters: it has none of those that every proxy has.
	Filtered bool
	Counts   Counts
}

// Counts say how much was compared.
type Counts struct {
	Clusters, Differing int // of hosts in view
	TCPProxies, Routes  int
	Leaves              int // of all three
	// Unpredicted are clusters and tcp_proxy filters of hosts in view about which nothing can be said.
	Unpredicted int
}

// Failed says whether the proxy has something else than what was predicted.
func (r *Report) Failed() bool {
	return len(r.Differences) > 0 || len(r.Refused) > 0 ||
		slices.ContainsFunc(r.Unexpected, func(u Unexpected) bool { return !u.Excused }) ||
		slices.ContainsFunc(r.Missing, func(m Missing) bool { return !m.Excused })
}

// ClusterDifference is a difference with the cluster that it is about.
type ClusterDifference struct {
	Cluster string
	In      string // what has the value: "cluster", "listener NAME" or "route NAME"
	Difference
}

// Missing is a predicted cluster that the dump does not have.
type Missing struct {
	Cluster string
	Target  *object.Object // the ServiceEntry or Service
	Why     string         // what may hide it, "" if nothing in view does
	Excused bool           // something in view hides it, so that this is no difference
}

// Unexpected is a cluster that Istio should not have compiled.
type Unexpected struct {
	Cluster, Why string
	Excused      bool // what makes Istio compile it may be out of view
}

// Refused is a resource that Envoy did not take.
type Refused struct {
	Kind         dump.Kind
	Name, Reason string
}

// Cause is what the dump says of where clusters or routes that differ come from.
type Cause struct {
	Object string // "DestinationRule shop/bookings", "" = no rule
	Why    string
	// Clusters is how many differ for it.
	Clusters int
}

// Rivals are objects of a kind that define one host.
type Rivals struct {
	Host    mesh.Host
	Objects []*object.Object
}

// Mismatch is a difference as it is told once.
type Mismatch struct{ Cluster, In, Path, Predicted, Actual string }

// Visit compares a resource. It is for dump.Read, and returns no error.
func (c *Comparison) Visit(r dump.Resource) error {
	switch r.Kind {
	case dump.Cluster:
		c.cluster(r)
	case dump.Listener, dump.Route:
		c.leadsTo(r)
	}
	return nil
}

// clusterName is the name of an outbound cluster in parts.
type clusterName struct {
	port   uint32
	subset string
	host   mesh.Host
}

func parseName(name string) (n clusterName, ok bool) {
	const parts = 4
	p := strings.SplitN(name, "|", parts)
	if len(p) != parts || p[0] != "outbound" {
		return n, false
	}
	port, err := strconv.ParseUint(p[1], 10, 32)
	n = clusterName{uint32(port), p[2], mesh.Host(p[3])}
	return n, err == nil && p[1] == strconv.FormatUint(port, 10) // 0443 is another name than 443
}

func (c *Comparison) cluster(r dump.Resource) {
	name, ok := parseName(r.Name)
	if !ok {
		c.foreign = c.foreign || !strings.HasPrefix(r.Name, outbound)
		return
	}
	if len(c.ix.Targets(name.host)) == 0 {
		c.out.ClustersWithout++
		if len(c.unknown) < keptNames {
			c.unknown[mesh.Host(object.Abridge(string(name.host)))] = true
		}
		return
	}
	switch r.State {
	case dump.Warming:
		if len(c.waiting) < keptNames {
			c.waiting[r.Name] = true
		}
		return
	case dump.Failed:
		c.refused(r)
		return
	}
	if c.seen[r.Name] {
		return // in another file as well
	}
	p, why, excused := c.find(name)
	if why != "" {
		// The dump may hold any number of them, so that a few are enough.
		if len(c.out.Unexpected) < keptNames {
			c.seen[r.Name] = true
			c.out.Unexpected = append(c.out.Unexpected, Unexpected{object.Abridge(r.Name), why, excused})
		} else if !excused {
			c.out.LeftOut++
		}
		return
	}
	c.seen[r.Name] = true
	if p.Panics != "" {
		c.out.Counts.Unpredicted++
		return
	}
	leaves := r.Leaves()
	diffs, n := Cluster(p, leaves)
	c.out.Counts.Clusters++
	c.out.Counts.Leaves += n
	if len(diffs) > 0 {
		c.out.Counts.Differing++
		c.blame(p, leaves["metadata.filter_metadata.istio.config"])
		c.tell(r.Name, "cluster", diffs)
	}
}

// find returns the prediction for a cluster of a host in view, or why there is none.
func (c *Comparison) find(name clusterName) (p *effective.Cluster, why string, excused bool) {
	if p := c.clusterFor(name); p != nil {
		if p.Absent != "" {
			// Endpoints that are chosen by labels are pods and WorkloadEntries, of which more may be out of view.
			return nil, p.Absent, p.Port.Target.HasSelector()
		}
		return p, "", false
	}
	if !c.isVisible(name.host) {
		return nil, fmt.Sprintf("no %s in view exports the host to namespace %s", c.ix.Targets(name.host)[0].Object.Kind, c.proxy.Namespace), false
	}
	base := c.clusterFor(clusterName{name.port, "", name.host})
	switch {
	case base == nil:
		return nil, fmt.Sprintf("nothing in view gives the host a port %d", name.port), false
	case base.Absent != "":
		return nil, base.Absent, base.Port.Target.HasSelector()
	case base.Rule == nil:
		return nil, "no DestinationRule in view holds for the host and this proxy", false
	}
	return nil, fmt.Sprintf("%s, which holds for the host, has no subset %q", base.Rule.Rules[0].Object, object.Abridge(name.subset)), false
}

// isVisible says whether the proxy sees a host in view.
func (c *Comparison) isVisible(host mesh.Host) bool {
	visible, known := c.visible[host]
	if !known {
		for range effective.EachCluster(c.ix, c.proxy, host) {
			visible = true
			break
		}
		c.visible[host] = visible
	}
	return visible
}

// clusterFor is the prediction for a cluster. A cluster is asked for again by each listener and route that leads to it.
func (c *Comparison) clusterFor(name clusterName) *effective.Cluster {
	if have, ok := c.predicted[name]; ok {
		return have
	}
	if len(c.predicted) >= keptClusters {
		clear(c.predicted)
	}
	p := effective.ClusterFor(c.ix, c.proxy, name.host, name.port, name.subset)
	c.predicted[name] = p
	return p
}

func (c *Comparison) refused(r dump.Resource) {
	if len(c.out.Refused) < keptNames {
		c.seen[r.Name] = true
		c.out.Refused = append(c.out.Refused, Refused{r.Kind, object.Abridge(r.Name), object.Abridge(r.Reason)})
	}
}

// leadsTo compares what leads to clusters: the tcp_proxy filters of a listener, the retries of routes.
func (c *Comparison) leadsTo(r dump.Resource) {
	switch r.State {
	case dump.Warming, dump.Draining, dump.Failed:
		return
	}
	in := fmt.Sprintf("%s %s", r.Kind, object.Abridge(r.Name))
	at := func(cluster string) *effective.Cluster {
		name, ok := parseName(cluster)
		if !ok || len(c.ix.Targets(name.host)) == 0 {
			return nil
		}
		p, _, _ := c.find(name)
		if p == nil || p.Panics != "" {
			return nil
		}
		return p
	}
	if r.Kind == dump.Listener {
		for _, t := range TCPProxies(r.Body) {
			p := at(t.Cluster)
			switch {
			case p == nil:
			case len(p.TCP) == 0: // a tcp route to a port of requests
				c.out.Counts.Unpredicted++
			default:
				diffs, n := CompareTCPProxy(p, t)
				c.out.Counts.TCPProxies++
				c.out.Counts.Leaves += n
				c.tell(t.Cluster, in, diffs)
			}
		}
		return
	}
	for _, retries := range RouteRetries(r.Body) {
		p := at(retries.Cluster)
		if p == nil {
			continue
		}
		c.out.Counts.Routes++
		c.out.Counts.Leaves++
		if diffs := CompareRetries(p, []Retries{retries}); len(diffs) > 0 {
			c.cause(retries.Cluster, retries.Config, object.VirtualService, nil)
			c.tell(retries.Cluster, in, diffs)
		}
	}
}

// tell adds differences, each once.
func (c *Comparison) tell(cluster, in string, diffs []Difference) {
	for _, d := range diffs {
		d.Path, d.Predicted, d.Actual = object.Abridge(d.Path), object.Abridge(d.Predicted), object.Abridge(d.Actual)
		m := Mismatch{object.Abridge(cluster), in, d.Path, d.Predicted, d.Actual}
		if c.told[m] {
			continue
		}
		if len(c.out.Differences) >= keptDifferences {
			c.out.LeftOut++
			continue
		}
		c.told[m] = true
		c.out.Differences = append(c.out.Differences, ClusterDifference{m.Cluster, in, d})
	}
}

// blame notes which DestinationRule a cluster that differs was made from, if it is not the predicted one.
func (c *Comparison) blame(p *effective.Cluster, config string) {
	if config == "" {
		if p.Rule != nil {
			c.note(p.Name(), Cause{Why: fmt.Sprintf("made without a DestinationRule, though %s should hold: it may not be applied", p.Rule.Rules[0].Object)})
		}
		return
	}
	c.cause(p.Name(), config, object.DestinationRule, p.Rule)
}

// cause notes the object that the dump names, unless it is one of those that the prediction was made from.
func (c *Comparison) cause(cluster, config string, kind object.Kind, predicted *mesh.Merged) {
	namespace, name, ok := parseConfig(config, kind)
	if !ok {
		return
	}
	key := object.Key{Kind: kind, Namespace: namespace, Name: name}
	o := c.ix.Get(key)
	text := object.Abridge(fmt.Sprintf("%s %s/%s", kind, namespace, name))
	switch {
	case o == nil:
		c.note(cluster, Cause{Object: text, Why: "is not among the manifests"})
	case kind != object.DestinationRule || predicted.Has(o):
	case predicted == nil:
		c.note(cluster, Cause{Object: text, Why: "is what the proxy has, though it should not hold for it"})
	default:
		c.note(cluster, Cause{Object: text, Why: fmt.Sprintf("is what the proxy has, though %s should hold", predicted.Rules[0].Object)})
	}
}

func (c *Comparison) note(cluster string, cause Cause) {
	if c.causes[cause] == nil {
		if len(c.causes) >= keptNames {
			return
		}
		c.causes[cause] = map[string]bool{}
	}
	if len(c.causes[cause]) < keptNames {
		c.causes[cause][cluster] = true
	}
}

// configOf is Istio's name for what a part of Envoy's configuration was made from.
func configOf(m map[string]any) string {
	for _, step := range [][]string{{"metadata"}, {"filterMetadata", "filter_metadata"}, {"istio"}} {
		var next map[string]any
		for _, key := range step {
			if v, ok := m[key].(map[string]any); ok {
				next = v
			}
		}
		if next == nil {
			return ""
		}
		m = next
	}
	config, _ := m["config"].(string)
	return config
}

// parseConfig reads such a name. Source: Istio's pilot/pkg/networking/util, BuildConfigInfoMetadata.
func parseConfig(config string, kind object.Kind) (namespace, name string, ok bool) {
	_, rest, ok := strings.Cut(config, "/namespaces/")
	if !ok {
		return "", "", false
	}
	const parts = 3
	p := strings.Split(rest, "/")
	if len(p) != parts || strings.ReplaceAll(p[1], "-", "") != strings.ToLower(string(kind)) {
		return "", "", false
	}
	return p[0], p[2], true
}

// Shares says whether the dump has a cluster of any host that the manifests have. If not, one of the two is of another mesh.
func (c *Comparison) Shares() bool { return len(c.seen) > 0 || len(c.waiting) > 0 }

// HostsOfDump are the hosts of the dump's outbound clusters that the manifests do not have, HostsInView those that the manifests
// have and the proxy should see, each in the order of names.
func (c *Comparison) HostsOfDump() []mesh.Host { return slices.Sorted(maps.Keys(c.unknown)) }

// HostsInView lists the hosts of which at least one cluster is predicted, in the order of names. The error is that of ctx.
func (c *Comparison) HostsInView(ctx context.Context) ([]mesh.Host, error) {
	var out []mesh.Host
	for _, h := range c.hosts() {
		for p := range effective.EachCluster(c.ix, c.proxy, h) {
			if err := ctx.Err(); err != nil {
				return nil, fmt.Errorf("verify: %w", err)
			}
			if isPredicted(p) {
				out = append(out, h)
				break
			}
		}
	}
	return out, nil
}

func isPredicted(p *effective.Cluster) bool { return p.Absent == "" && p.Panics == "" }

// hosts lists the hosts in view, in the order of names.
func (c *Comparison) hosts() []mesh.Host {
	all := map[mesh.Host]bool{}
	for _, kind := range []object.Kind{object.ServiceEntry, object.Service} {
		for o := range c.ix.All(kind) {
			if t := c.ix.Target(o); t != nil {
				for _, h := range t.Hosts {
					all[h] = true
				}
			}
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// Report ends the comparison. The error is that of ctx.
func (c *Comparison) Report(ctx context.Context) (*Report, error) {
	out := &c.out
	out.Proxy = c.proxy
	out.Filtered = !c.foreign
	for name := range c.waiting {
		if !c.seen[name] {
			out.Waiting = append(out.Waiting, name)
		}
	}
	slices.Sort(out.Waiting)
	out.WithoutManifest = c.HostsOfDump()
	if err := c.missing(ctx); err != nil {
		return nil, err
	}
	out.Rivals = c.rivals()
	for cause, clusters := range c.causes {
		cause.Clusters = len(clusters)
		out.Causes = append(out.Causes, cause)
	}
	slices.SortFunc(out.Causes, func(a, b Cause) int {
		return cmp.Or(cmp.Compare(b.Clusters, a.Clusters), cmp.Compare(a.Object, b.Object), cmp.Compare(a.Why, b.Why))
	})
	slices.SortFunc(out.Differences, func(a, b ClusterDifference) int {
		return cmp.Or(compareNames(a.Cluster, b.Cluster), cmp.Compare(a.In, b.In), cmp.Compare(a.Path, b.Path), cmp.Compare(a.Actual, b.Actual))
	})
	slices.SortFunc(out.Unexpected, func(a, b Unexpected) int { return compareNames(a.Cluster, b.Cluster) })
	slices.SortFunc(out.Refused, func(a, b Refused) int { return cmp.Or(cmp.Compare(a.Kind, b.Kind), compareNames(a.Name, b.Name)) })
	return out, nil
}

// compareNames orders clusters by host, then port, then subset.
func compareNames(a, b string) int {
	x, _ := parseName(a)
	y, _ := parseName(b)
	return cmp.Or(cmp.Compare(x.host, y.host), cmp.Compare(x.port, y.port), cmp.Compare(x.subset, y.subset), cmp.Compare(a, b))
}

// missing lists the predicted clusters that the dump does not have.
func (c *Comparison) missing(ctx context.Context) error {
	if c.out.Filtered {
		return nil // it was not asked for them
	}
	imports := newImports(c.ix, c.proxy)
	for _, host := range c.hosts() {
		if len(c.out.Missing) >= keptDifferences {
			break
		}
		var lacking []Missing
		has, beyond := false, false
		for p := range effective.EachCluster(c.ix, c.proxy, host) {
			if err := ctx.Err(); err != nil {
				return fmt.Errorf("verify: %w", err)
			}
			name := p.Name()
			switch {
			case c.seen[name] || c.waiting[name]:
				has = true
			case !isPredicted(p):
			case len(c.out.Missing)+len(lacking) >= keptDifferences:
				beyond = true
			default:
				lacking = append(lacking, Missing{Cluster: name, Target: p.Port.Target.Object})
			}
			if beyond {
				c.out.LeftOut++ // and whatever comes after it: to predict it all may take minutes
				break
			}
		}
		for i := range lacking {
			if m := &lacking[i]; !has {
				m.Why, m.Excused = imports.hides(host, mesh.NamespaceOf(m.Target))
			}
		}
		c.out.Missing = append(c.out.Missing, lacking...)
	}
	slices.SortFunc(c.out.Missing, func(a, b Missing) int { return compareNames(a.Cluster, b.Cluster) })
	return nil
}

// rivals lists them for the hosts that the report is about.
func (c *Comparison) rivals() []Rivals {
	hosts := map[mesh.Host]bool{}
	note := func(cluster string) {
		if name, ok := parseName(cluster); ok {
			hosts[name.host] = true
		}
	}
	for _, d := range c.out.Differences {
		note(d.Cluster)
	}
	for _, m := range c.out.Missing {
		note(m.Cluster)
	}
	for _, u := range c.out.Unexpected {
		note(u.Cluster)
	}
	var out []Rivals
	for _, h := range slices.Sorted(maps.Keys(hosts)) {
		for _, list := range effective.OfUnknownAge(c.ix, c.proxy, h) {
			out = append(out, Rivals{h, list})
		}
	}
	return out
}

// meshDecided are the paths that meshConfig can decide where no DestinationRule does.
var meshDecided = []string{
	"connect_timeout",                                                 // connectTimeout
	"upstream_connection_options",                                     // tcpKeepalive
	"outlier_detection",                                               // defaultTrafficPolicy
	"circuit_breakers",                                                // likewise
	httpOptions + "common_http_protocol_options",                      // likewise
	"common_lb_config",                                                // localityLbSetting and defaultTrafficPolicy
	httpOptions + "explicit_http_config",                              // h2UpgradePolicy and defaultConfig.proxyHeaders
	httpOptions + "use_downstream_protocol_config",                    // defaultConfig.proxyHeaders
	"transport_socket.typed_config.common_tls_context.tls_params",     // tlsDefaults
	"transport_socket.typed_config.common_tls_context.alpn_protocols", // h2UpgradePolicy
	"transport_socket_matches",                                        // enableAutoMtls
	"dns_refresh_rate",                                                // dnsRefreshRate
	"route.retry_policy",                                              // defaultHttpRetryPolicy
}

const httpOptions = "typed_extension_protocol_options.HttpProtocolOptions."

// MayBeOfMesh says whether a default of meshConfig could explain the difference: no object decides the value.
func (d Difference) MayBeOfMesh() bool {
	if s := d.Setting; s != nil && s.Origin.Kind == effective.FromObject && s.Envoy == d.Path {
		return false
	}
	return slices.ContainsFunc(meshDecided, func(at string) bool { return envoy.Under(d.Path, at) })
}
