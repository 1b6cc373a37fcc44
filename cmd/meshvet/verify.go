package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/dump"
	"github.com/meshvet/meshvet/lint/effective"
	"github.com/meshvet/meshvet/lint/istio"
	"github.com/meshvet/meshvet/lint/mesh"
	"github.com/meshvet/meshvet/lint/object"
	"github.com/meshvet/meshvet/lint/verify"
)

// verifyFlags are the flags of `meshvet verify`.
type verifyFlags struct {
	dumps   []string
	files   []string
	from    string
	proxy   *choice
	labels  labels
	scope   string
	config  string
	context []string
	format  *choice
	live    liveFlags
}

func (a *app) newVerifyCommand() *cobra.Command {
	f := &verifyFlags{
		proxy:  newChoice("", string(effective.Sidecar), string(effective.Gateway)),
		format: newChoice("text", "text", "json"),
		live:   newLiveFlags(),
	}
	cmd := &cobra.Command{
		Use:   "verify --config-dump FILE [-f PATH…]",
		Short: "Compare what a proxy runs with what Istio should compile from the manifests",
		Long: `Verify predicts, for every host that the manifests define, the clusters that Istio compiles for one proxy, the timeouts of the
tcp_proxy filters that lead to them and the retries of their routes, and compares them with a dump of that proxy, value by value.

A dump is what Envoy's /config_dump answers, or what istioctl proxy-config all, cluster, listener or route prints with -o json. Several
files are parts of one dump: clusters in one, listeners in another. - is standard input. Files are read as a stream, whatever their
size.

Whose proxy it is says the dump, if it has a bootstrap, as /config_dump and istioctl proxy-config all do. Otherwise --from has to, and
--proxy and --labels may. A flag that contradicts the dump is an error.

Manifests, the configuration and mesh scopes are found as by lint; with --live they are those of a running cluster. If the manifests are of several meshes, --scope says which of them
the proxy is in; meshvet does not guess, since a proxy of one that is compared with another would only seem to differ.

What counts as a difference, and makes the exit code 1: another value; a cluster that was predicted and is not there, unless a Sidecar
resource in view hides its host or the dump was limited to some clusters; a cluster of a host in view that should not be there; a cluster
that Envoy refused. Clusters of hosts that no manifest defines are counted and no difference.

The version of Istio is istio.version of the configuration, or else that of the proxy; predictions are proven with 1.31 only, and a notice
says so of others. Endpoints are not compared, nor what only telemetry reads. Sidecar resources and EnvoyFilters are not followed; those in view are named
where they may explain a difference. Proxies of the ambient data plane are not supported yet.

Exit codes: 0 no difference, 1 differences, 2 bad flag, configuration or manifest, a dump that cannot be read or is of another mesh.`,
		Example: `  istioctl proxy-config all deploy/web -n shop -o json | meshvet verify --config-dump -
  kubectl exec deploy/web -n shop -c istio-proxy -- pilot-agent request GET config_dump > dump.json
  meshvet verify --config-dump dump.json -f manifests/
  meshvet verify --config-dump dump.json --live
  meshvet verify --config-dump clusters.json --config-dump listeners.json --from shop`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return fmt.Errorf("verify takes no arguments, but was given %q; manifests are named with -f", args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			failed, err := a.verify(cmd.Context(), cmd, f)
			if failed {
				a.code = exitFindings
			}
			return err
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringArrayVar(&f.dumps, "config-dump", nil, "`FILE` with what the proxy runs, or - for standard input; can be repeated")
	flags.StringArrayVarP(&f.files, "file", "f", nil, "`PATH` of manifests, a file, a folder (by default the working directory) or - for standard input; can be repeated")
	flags.StringVar(&f.from, "from", "", "`NAMESPACE` of the proxy's workload")
	flags.Var(f.proxy, "proxy", "kind of proxy; sidecar unless the dump says otherwise")
	flags.Var(&f.labels, "labels", "labels of the proxy's workload, by which workloadSelectors choose")
	flags.StringVar(&f.scope, "scope", "", "`NAME` of the mesh scope that the proxy is in")
	flags.StringVarP(&f.config, "config", "c", "", "configuration `FILE`, instead of the nearest .meshvet.yaml")
	flags.StringArrayVar(&f.context, "context", nil, "`PATH` that is read as context only; can be repeated")
	flags.Var(f.format, "format", "how the differences are written")
	f.live.add(flags, liveFiles)
	complete(cmd, "proxy", f.proxy.words)
	complete(cmd, "format", f.format.words)
	return cmd
}

// verify is one run. It says whether the proxy has something else than was predicted.
func (a *app) verify(ctx context.Context, cmd *cobra.Command, f *verifyFlags) (failed bool, err error) {
	switch stdin := count(f.dumps, "-"); {
	case len(f.dumps) == 0:
		return false, usageError{cmd, errors.New("give the dump to compare with: --config-dump FILE, or - for standard input")}
	case stdin > 1, stdin > 0 && slices.Contains(f.files, "-"):
		return false, usageError{cmd, errors.New("standard input can be read once only")}
	}
	if err := f.live.check(cmd, false); err != nil {
		return false, err
	}
	dumps, err := a.openDumps(ctx, f.dumps)
	defer closeDumps(dumps)
	if err != nil {
		return false, err
	}
	node, err := findNode(ctx, dumps)
	if err != nil {
		return false, err
	}
	proxy, err := proxyOf(node, f)
	if err != nil {
		return false, err
	}
	m, version, notices, err := a.meshOf(ctx, f, minorOf(node.IstioVersion))
	if err != nil {
		return false, err
	}
	v := &verification{
		comparison: verify.New(m.Index, proxy), mesh: m, node: node, proxy: proxy, version: version,
		labels: len(proxy.Labels) > 0, notices: notices,
	}
	if err := v.read(ctx, dumps); err != nil {
		return false, err
	}
	r, err := v.result(ctx)
	if err != nil {
		return false, err
	}
	write := writeVerifyText
	if f.format.value == "json" {
		write = writeVerifyJSON
	}
	err = untilDone(ctx, func() error { return write(&stoppable{ctx, a.stdout}, r) })
	return r.Failed(), err
}

func count(list []string, s string) int {
	n := 0
	for _, item := range list {
		if item == s {
			n++
		}
	}
	return n
}

// proxyOf puts together what the dump and the flags say of the proxy.
func proxyOf(node dump.Node, f *verifyFlags) (effective.Proxy, error) {
	labels := f.labels.pairs
	p := effective.Proxy{Type: effective.ProxyType(f.proxy.value), Namespace: f.from, Labels: labels}
	if f.from != "" {
		if err := checkNamespaces(f.from); err != nil {
			return p, err
		}
	}
	if node.ID == "" {
		if p.Namespace == "" {
			return p, errors.New("the dump does not say which proxy it is of, since it has no bootstrap with the ID of one (istioctl proxy-config all and " +
				"/config_dump have it): give --from NAMESPACE, and for a gateway --proxy gateway")
		}
		if p.Type == "" {
			p.Type = effective.Sidecar
		}
		return p, nil
	}
	contradiction := func(flag, said, is string) error {
		return fmt.Errorf("--%s %s contradicts the dump, which is of %s (%s); leave the flag out, or give the dump of another proxy", flag, said, is, node.ID)
	}
	types := map[string]effective.ProxyType{"sidecar": effective.Sidecar, "router": effective.Gateway} // by Istio's node types
	is, known := types[node.Type]
	switch {
	case node.Type == "waypoint", node.Type == "ztunnel":
		return p, fmt.Errorf("the dump is of a %s (%s), and the ambient data plane is not supported yet; give the dump of a sidecar or gateway", node.Type, node.ID)
	case !known && p.Type == "":
		return p, fmt.Errorf("the dump is of a node %q, whose ID does not say what kind of proxy it is; give --proxy sidecar or gateway", object.Abridge(node.ID))
	case known && p.Type != "" && p.Type != is:
		return p, contradiction("proxy", string(p.Type), "a "+string(is))
	case known:
		p.Type = is
	}
	switch {
	case node.Namespace == "" && p.Namespace == "":
		return p, fmt.Errorf("the dump is of a node %q, which does not say its namespace; give --from NAMESPACE", object.Abridge(node.ID))
	case node.Namespace != "" && p.Namespace != "" && p.Namespace != node.Namespace:
		return p, contradiction("from", p.Namespace, "a proxy in "+node.Namespace)
	case node.Namespace != "":
		p.Namespace = node.Namespace
	}
	if node.Labels != nil {
		for _, k := range slices.Sorted(maps.Keys(labels)) {
			if v, has := node.Labels[k]; !has || v != labels[k] {
				return p, contradiction("labels", k+"="+labels[k], fmt.Sprintf("a workload whose %s is %q", k, v))
			}
		}
		p.Labels = node.Labels
	}
	return p, nil
}

// verification is a comparison with what surrounds it.
type verification struct {
	comparison *verify.Comparison
	mesh       lint.Mesh
	node       dump.Node
	proxy      effective.Proxy
	version    string // of Istio, as the configuration says
	labels     bool   // those of the workload are known
	notices    []string
	covered    map[dump.Kind]bool
}

// read compares what the files hold.
func (v *verification) read(ctx context.Context, dumps []*dumpFile) error {
	v.covered = map[dump.Kind]bool{}
	for _, d := range dumps {
		sum, err := d.read(ctx, v.comparison.Visit)
		if err != nil {
			return err
		}
		if id := sum.Node.ID; id != "" && id != v.node.ID {
			return otherNode(d.name, sum.Node, v.node)
		}
		for _, k := range []dump.Kind{dump.Cluster, dump.Listener, dump.Route} {
			v.covered[k] = v.covered[k] || sum.Has(k)
		}
	}
	c := v.comparison
	inView, err := c.HostsInView(ctx)
	if err != nil {
		return err
	}
	switch {
	case !v.covered[dump.Cluster] && !v.covered[dump.Listener] && !v.covered[dump.Route]:
		return errors.New("the dump holds neither clusters nor listeners nor routes, so that there is nothing to compare; " +
			"give what istioctl proxy-config all prints with -o json")
	case len(inView) == 0:
		return fmt.Errorf("the manifests define no host for which Istio compiles a cluster for a %s in %s: there is nothing to compare; "+
			"name them with -f, and look at their exportTo", v.proxy.Type, v.proxy.Namespace)
	case v.covered[dump.Cluster] && !c.Shares() && len(c.HostsOfDump()) == 0:
		return errors.New("the dump has no outbound cluster at all; the proxy may not have its configuration yet, or the dump was limited to other clusters")
	case v.covered[dump.Cluster] && !c.Shares():
		return fmt.Errorf("the dump is of another mesh than the manifests: it has no cluster of the %s that they define (%s); its own are for %s; "+
			"give the dump of a proxy that sees them, or other manifests with -f",
			counted(len(inView), "host", "hosts"), someHosts(inView), someHosts(c.HostsOfDump()))
	}
	return nil
}

// someHosts names a few hosts for a message.
func someHosts(hosts []mesh.Host) string {
	const most = 3
	var names []string
	for _, h := range hosts[:min(most, len(hosts))] {
		names = append(names, object.Abridge(string(h)))
	}
	if more := len(hosts) - most; more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, ", ")
}

// verifyResult is what a run of verify tells.
type verifyResult struct {
	*verify.Report
	node    dump.Node
	scope   string
	hints   []string // what may explain the differences
	notices []string // what was not compared, and what is not known
}

// result ends the comparison.
func (v *verification) result(ctx context.Context) (*verifyResult, error) {
	rep, err := v.comparison.Report(ctx)
	if err != nil {
		return nil, err
	}
	r := &verifyResult{Report: rep, node: v.node, scope: v.mesh.Name, notices: slices.Clone(v.notices)}
	note := func(format string, args ...any) {
		r.notices = append(r.notices, object.Abridge(fmt.Sprintf(format, args...)))
	}
	hint := func(format string, args ...any) {
		r.hints = append(r.hints, object.Abridge(fmt.Sprintf(format, args...)))
	}
	for _, of := range []struct {
		kind dump.Kind
		what string
	}{
		{dump.Cluster, "clusters: connection pools, outlier detection, load balancing and TLS were not compared"},
		{dump.Listener, "listeners: the timeouts, hash policies and tunnels of tcp_proxy were not compared"},
		{dump.Route, "routes: retries were not compared"},
	} {
		if !v.covered[of.kind] {
			note("the dump has no %s", of.what)
		}
	}
	if r.Filtered && v.covered[dump.Cluster] {
		note("the dump has outbound clusters only, as istioctl prints with --fqdn, --port or --direction: clusters that it lacks are not told")
	}
	for _, name := range r.Waiting[:min(len(r.Waiting), listedNames)] {
		note("Envoy is warming %s, and does not use it yet; it was not compared", name)
	}
	if n := r.Counts.Unpredicted; n > 0 {
		note("%s of hosts in view not predicted", counted(n, "cluster or tcp_proxy", "clusters and tcp_proxies"))
	}
	if chosen := verify.Selectors(v.mesh.Index, v.proxy.Namespace); len(chosen) > 0 && !v.labels && v.proxy.Type == effective.Sidecar {
		note("%s holds for chosen workloads only, and the labels of this one are not known; give --labels", chosen[0])
	}
	v.versions(note)
	if !r.Failed() {
		return r, nil
	}
	for _, c := range r.Causes {
		if c.Object == "" {
			hint("%s: %s", counted(c.Clusters, "cluster that differs", "clusters that differ"), c.Why)
		} else {
			hint("%s %s (%s)", c.Object, c.Why, counted(c.Clusters, "cluster that differs", "clusters that differ"))
		}
	}
	for _, rivals := range r.Rivals {
		hint("%s and %s are about %s, and the manifests do not say which is older, which decides in Istio", rivals.Objects[0], rivals.Objects[1], rivals.Host)
	}
	for o := range v.mesh.Index.All(object.BackendTLSPolicy) {
		hint("%s becomes a DestinationRule in Istio, and is not followed: it may be the cause", o)
	}
	for _, o := range v.mesh.Index.EnvoyFilters() {
		hint("%s patches what Istio compiles, and is not followed: it may be the cause", o)
	}
	if len(r.Differences) > 0 && len(r.hints) == 0 && !v.mesh.Index.Settings().MeshConfig.Set() &&
		!slices.ContainsFunc(r.Differences, func(d verify.ClusterDifference) bool { return !d.MayBeOfMesh() }) {
		hint("each of these values may come from meshConfig, which is neither in the configuration (istio.meshConfig) nor a ConfigMap among the manifests")
	}
	return r, nil
}

// versions tells if the proxy is of another release of Istio than the configuration says, or than what predictions are proven for.
func (v *verification) versions(note func(string, ...any)) {
	runs := minorOf(v.node.IstioVersion)
	if said := minorOf(v.version); said != "" && runs != "" && said != runs {
		note("the proxy runs Istio %s, and istio.version in the configuration is %s", v.node.IstioVersion, v.version)
	}
	if runs != "" && runs != istio.Oracle.String() {
		note("the proxy runs Istio %s; predictions are proven with Istio %s only", v.node.IstioVersion, istio.Oracle)
	}
}

// minorOf is 1.31 for 1.31.2, "" for what is no version.
func minorOf(version string) string {
	parts := strings.SplitN(strings.TrimPrefix(version, "v"), ".", 3)
	if len(parts) < 2 {
		return ""
	}
	minor, _, _ := strings.Cut(parts[1], "-")
	return parts[0] + "." + minor
}

// listedNames is how many items of a list the text report shows.
const listedNames = 10

func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
