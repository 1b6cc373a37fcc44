package rules

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/effective"
	"github.com/meshvet/meshvet/lint/mesh"
	"github.com/meshvet/meshvet/lint/object"
)

const optionLimit = "limit"

var _ = register(lint.Rule{
	Meta: lint.Meta{
		ID:       "DR220",
		Name:     "slow-failure",
		Title:    "A connectTimeout that retries multiply, that routes cut short, or that nothing can meet",
		Category: lint.CategoryPool,
		Severity: lint.Info,
		Presets:  []string{"recommended", "strict"},
		Kinds:    []object.Kind{object.DestinationRule},
		Summary: "A connectTimeout for a host outside the mesh that makes clients wait longer than a limit (by default 6s) when no endpoint " +
			"answers. As a warning: one below 100ms, and one that is not shorter than the perTryTimeout or timeout of a route that retries.",
		Why: "Envoy waits connectTimeout for each attempt to connect. Where it reads requests it retries them, twice unless a VirtualService or " +
			"the mesh says otherwise, so a request to a host that does not answer fails after three times as long: with 1s, 3,033 ms on " +
			"average (measured on Istio 1.30.0). Bytes on TLS and TCP ports are never sent again.\n\n" +
			"A perTryTimeout that is over before connectTimeout ends the attempt as a timeout, which retryOn connect-failure, and Istio's " +
			"default retryOn, do not cover: the retries are there and none is made. Nor is any if the timeout of the whole route is over " +
			"first. Below 100ms a handshake over the internet often cannot be done at all.\n\n" +
			"The limit is applied to timeouts that are written; DR219 is about those that are not. Hosts of private addresses and of names " +
			"for private networks may be near enough for less than 100ms.",
		Remedy: "Write 1s to 3s, and fewer retries where that is still too long. Where a route has a perTryTimeout, write a connectTimeout below it, " +
			"or add 5xx or reset to its retryOn.",
		Options: []lint.Option{{Name: optionLimit, Default: "6s", Doc: "How long a client may wait for a host of which no endpoint answers."}},
		Proof:   lint.Proof{Kind: "changes", Text: "the cluster has connect_timeout and the route num_retries and per_try_timeout as the message says"},
		Observe: lint.Observe{
			Stats:      []string{"upstream_cx_connect_timeout", "upstream_rq_retry", "upstream_rq_per_try_timeout"},
			Flags:      []string{"UF", "UT", "URX"},
			ConfigDump: "istioctl proxy-config cluster POD --fqdn HOST -o json shows connectTimeout; istioctl proxy-config route POD -o json shows retryPolicy and timeout",
		},
		Supersedes: []lint.Supersede{{Rule: "DR219", Scope: lint.ScopeObject}},
		References: []string{
			"https://istio.io/latest/docs/reference/config/networking/virtual-service/#HTTPRetry",
			"https://www.envoyproxy.io/docs/envoy/latest/configuration/http/http_filters/router_filter#x-envoy-retry-on",
		},
	},
	Check: func(p *lint.Pass) error {
		text, _ := p.Option(optionLimit).(string)
		limit, err := time.ParseDuration(text)
		if err != nil {
			return fmt.Errorf("option %s: %w", optionLimit, err)
		}
		timeouts := connectTimeouts(p)
		written := len(timeouts) > 0
		if !p.Reach().Known() {
			if written {
				skipUnknownHost(p)
			}
			return nil
		}
		if p.Mesh.Count(object.VirtualService)+p.Mesh.Count(object.HTTPRoute) == 0 && inTime(timeouts, limit, attemptsByDefault(p)) {
			return nil
		}
		var all slowConnects
		for _, port := range portsToConnect(p, written) {
			if len(p.Mesh.RoutesTo(port.Host)) == 0 && allInTime(p, timeouts, port, limit) {
				continue
			}
			proxy, ok := clientOf(p, port)
			if !ok {
				continue
			}
			for _, subset := range subsetNames(p.Object) {
				if c := effective.ClusterFor(p.Mesh, proxy, port.Host, port.Number, subset); c != nil && c.Absent == "" && c.Rule.Has(p.Object) {
					all.judge(p.Object, c, limit)
				}
			}
		}
		for _, s := range all.list {
			p.Report(s.path, s.message(), lint.As(s.severity), lint.Effect(s.effect), suggestAlso(s.also), lint.About(lint.SubjectOf(s.ports)))
		}
		return nil
	},
})

// connectTimeouts are the values that a rule writes for connectTimeout anywhere.
func connectTimeouts(p *lint.Pass) []object.Value {
	var out []object.Value
	for _, level := range p.Levels() {
		if v := level.Policy.At("connectionPool", "tcp", "connectTimeout"); v.Set() {
			out = append(out, v)
		}
	}
	return out
}

// allInTime says, without compiling a cluster, that none of the timeouts is a fault on a port to which no route leads: each is long enough
// for a handshake, and within the limit with all retries that Istio makes by itself.
func allInTime(p *lint.Pass, timeouts []object.Value, port effective.Port, limit time.Duration) bool {
	attempts := attemptsByDefault(p)
	if port.ForwardsBytes() && len(p.Mesh.Targets(port.Host)) == 1 { // another target may have the same port for requests
		attempts = 1
	}
	return inTime(timeouts, limit, attempts)
}

// attemptsByDefault is how often a request is tried to which no route applies.
func attemptsByDefault(p *lint.Pass) int64 {
	if v := p.Mesh.Settings().MeshConfig.Get("defaultHttpRetryPolicy"); v.Set() {
		return 1 + max(v.Get("attempts").Int(), 0)
	}
	return 3
}

// inTime says whether all timeouts are long enough for a handshake and, with that many attempts, within the limit.
func inTime(timeouts []object.Value, limit time.Duration, attempts int64) bool {
	return !slices.ContainsFunc(timeouts, func(v object.Value) bool {
		connect, err := time.ParseDuration(v.Str())
		return err != nil || connect < 100*time.Millisecond || connect > limit/time.Duration(attempts)
	})
}

// portsToConnect are the ports outside the mesh that a rule governs: one of each kind if it writes a timeout, and those with routes.
func portsToConnect(p *lint.Pass, written bool) []effective.Port {
	var out []effective.Port
	seen := map[string]bool{}
	add := func(port effective.Port) {
		if name := portName(port); !seen[name] && port.External() && port.Compiled() && !p.Mesh.Settings().InCluster(port.Host) {
			seen[name] = true
			out = append(out, port)
		}
	}
	if written {
		for _, port := range p.Reach().Ports {
			add(port)
		}
	}
	for _, port := range p.EachPort().Ports {
		if len(p.Mesh.RoutesTo(port.Host)) > 0 {
			add(port)
		}
	}
	return out
}

// clientOf is a sidecar for which the rule being judged is in force on a port.
func clientOf(p *lint.Pass, port effective.Port) (effective.Proxy, bool) {
	clients := effective.ClientsOf(p.Mesh, p.Object, port.Host, port.Target)
	proxy := effective.Proxy{Type: effective.Sidecar, Labels: p.Mesh.Rule(p.Object).Selector}
	if own := mesh.NamespaceOf(p.Object); slices.Contains(clients.In, own) {
		proxy.Namespace = own
		return proxy, true
	}
	if len(clients.In) == 0 {
		return proxy, false
	}
	proxy.Namespace = clients.In[0]
	return proxy, true
}

// subsetNames are the subsets of a rule, and "" for the host itself.
func subsetNames(o *object.Object) []string {
	out := []string{""}
	for _, s := range o.Spec().Get("subsets").Items() {
		if name := s.Get("name").Str(); name != "" {
			out = append(out, name)
		}
	}
	return out
}

// slowConnect is one finding about a connectTimeout, for all ports of which it is true.
type slowConnect struct {
	path     object.Path
	severity lint.Severity
	text     string // with %s for the ports
	effect   string
	also     *mesh.Route
	wait     time.Duration // that is too long, 0 if it is another fault
	ports    []effective.Port
}

func (s *slowConnect) message() string {
	return fmt.Sprintf(s.text, portName(s.ports[0])+andMore(len(s.ports)-1))
}

type slowConnects struct{ list []*slowConnect }

// add records a finding, or a further port of one that says the same. Of the waits that one timeout brings about the longest is told.
func (all *slowConnects) add(s slowConnect, port effective.Port) {
	i := slices.IndexFunc(all.list, func(have *slowConnect) bool {
		return have.path.Equal(s.path) && (have.text == s.text || have.wait > 0 && s.wait > 0)
	})
	switch {
	case i < 0:
		i = len(all.list)
		all.list = append(all.list, &s)
	case s.wait > all.list[i].wait:
		all.list[i] = &s
	case s.wait < all.list[i].wait:
		return
	}
	if have := all.list[i]; !slices.ContainsFunc(have.ports, func(other effective.Port) bool { return portName(other) == portName(port) }) {
		have.ports = append(have.ports, port)
	}
}

// judge looks at how a cluster connects.
func (all *slowConnects) judge(o *object.Object, c *effective.Cluster, limit time.Duration) {
	i := slices.IndexFunc(c.Settings, func(s effective.Setting) bool { return s.Envoy == "connect_timeout" })
	if i < 0 || c.Port.Family == mesh.NoProxy {
		return
	}
	from := c.Settings[i].Origin
	text, _ := c.Settings[i].Value.(string)
	connect, err := time.ParseDuration(text)
	if err != nil {
		return
	}
	written := from.Kind == effective.FromObject && from.Object == o
	if written && o.Lookup(from.Path).Type() != object.String {
		return // no duration: the API server refuses it
	}
	if path, mine := connectTimeoutOf(o, c); mine && !c.Port.ForwardsBytes() {
		all.cut(path, c, connect, written)
	}
	if !written {
		return
	}
	if connect < 100*time.Millisecond && !mayBeNear(c.Port) {
		all.add(slowConnect{
			path: from.Path, severity: lint.Warning, text: fmt.Sprintf("connectTimeout %s is less than a connection to %%s may take", shortly(connect)),
			effect: "Envoy gives up a connection that is not there after connect_timeout, TLS that it starts included, and answers 503 with flag UF, though the host is well",
		}, c.Port)
	}
	felt, ok := c.FeltConnectTime()
	if !ok || felt.Time <= limit {
		return
	}
	s := slowConnect{
		path: from.Path, severity: lint.Info, wait: felt.Time,
		text:   fmt.Sprintf("connectTimeout %s lets a client of %%s wait %s if no endpoint answers, more than %s", shortly(connect), shortly(felt.Time), shortly(limit)),
		effect: fmt.Sprintf("Envoy waits connect_timeout %s for the only attempt, since bytes are never sent again", shortly(connect)),
	}
	if felt.Retry != nil {
		s.effect = fmt.Sprintf("Envoy waits %s for each of %d attempts: the route retries a request %s", shortly(felt.Each), felt.Attempts, times(felt.Attempts-1))
		s.also = felt.Retry.Route
	}
	all.add(s, c.Port)
}

// connectTimeoutOf is where the connectTimeout of a cluster is written, or would be; mine says that it is in o.
func connectTimeoutOf(o *object.Object, c *effective.Cluster) (path object.Path, mine bool) {
	field := []any{"connectionPool", "tcp", "connectTimeout"}
	if pool := c.Policy.Block("connectionPool"); pool.Set() && pool.Object != nil {
		return pool.Path.Child(field[1:]...), pool.Object == o
	}
	if c.Rule.Policy != nil && c.Rule.Policy.Object != o {
		return nil, false
	}
	if c.Policy.Entry != nil {
		return c.Policy.Entry.Child(field...), true
	}
	return object.Path{"spec", "trafficPolicy"}.Child(field...), true
}

// cut reports routes that are over before a connection is given up, so that what they say about retries means nothing for it.
func (all *slowConnects) cut(path object.Path, c *effective.Cluster, connect time.Duration, written bool) {
	for i := range c.Retries {
		r := &c.Retries[i]
		if r.Route == nil || r.Attempts <= 0 || !r.Reconnects {
			continue
		}
		var name string
		var over time.Duration
		switch {
		case r.Timeout > 0 && r.Timeout <= connect:
			name, over = "timeout", r.Timeout
		case r.PerTry > 0 && r.PerTry <= connect && !retriesTimeouts(r.Route.Rule().At("retries", "retryOn").Str()):
			name, over = "perTryTimeout", r.PerTry
		default:
			continue
		}
		whose := "connectTimeout " + shortly(connect)
		if !written {
			whose = fmt.Sprintf("connectTimeout is not set, and %s", shortly(connect))
		}
		s := slowConnect{
			path: path, severity: lint.Warning, also: r.Route,
			text: fmt.Sprintf("%s is not shorter than the %s %s of VirtualService %s, so requests to %%s that find no connection are not retried",
				whose, name, shortly(over), r.Route.Object.Name),
			effect: fmt.Sprintf("Envoy ends the request after %s (504 with flag UT) while the first attempt still waits for connect_timeout: of the %s that the route asks for none is made", shortly(over), retriesText(r.Attempts)),
		}
		if name == "perTryTimeout" {
			s.effect = fmt.Sprintf("Envoy ends the attempt after %s as a timeout, which the route's retryOn does not cover, while it still waits for connect_timeout: of the %s that the route asks for none is made", shortly(over), retriesText(r.Attempts))
		}
		all.add(s, c.Port)
	}
}

// retriesTimeouts says whether a retryOn takes in attempts that perTryTimeout ends. Source: Envoy's x-envoy-retry-on.
func retriesTimeouts(on string) bool {
	return slices.ContainsFunc(strings.Split(on, ","), func(condition string) bool {
		return slices.Contains([]string{"5xx", "gateway-error", "reset"}, strings.TrimSpace(condition))
	})
}

func times(n int64) string {
	switch n {
	case 1:
		return "once"
	case 2:
		return "twice"
	}
	return fmt.Sprintf("%d times", n)
}

func retriesText(n int64) string {
	if n == 1 {
		return "one retry"
	}
	return fmt.Sprintf("%d retries", n)
}

// shortly writes a duration for messages: 1m30s, 30ms.
func shortly(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	return s
}

// privateNames are endings of names that only private networks have.
var privateNames = []string{".internal", ".local", ".lan", ".corp", ".home", ".home.arpa", ".intranet", ".private"}

// mayBeNear says whether a host may be in a network so near that a connection takes a moment: all that is known of it is private
// addresses, or one of its names is of a private network.
func mayBeNear(port effective.Port) bool {
	names := []string{string(port.Host)}
	var addresses []string
	for _, e := range port.Target.Endpoints().Items() {
		if a := e.Get("address").Str(); mesh.Host(a).IsAddress() || strings.HasPrefix(a, "unix://") {
			addresses = append(addresses, a)
		} else {
			names = append(names, a)
		}
	}
	if port.Cluster == effective.OriginalDst {
		addresses = append(addresses, port.Target.Object.Spec().Get("addresses").Strings()...)
	}
	if slices.ContainsFunc(names, func(n string) bool {
		return slices.ContainsFunc(privateNames, func(end string) bool { return strings.HasSuffix(n, end) })
	}) {
		return true
	}
	return len(addresses) > 0 && !slices.ContainsFunc(addresses, func(a string) bool {
		bare, _, _ := strings.Cut(a, "/")
		ip, err := netip.ParseAddr(bare)
		return err == nil && !ip.IsPrivate() && !ip.IsLoopback() && !ip.IsLinkLocalUnicast()
	})
}

// suggestAlso points at a route, if there is one.
func suggestAlso(r *mesh.Route) lint.Extra {
	return func(f *lint.Finding) {
		if r != nil {
			lint.Also(r.Object, r.Path[:3], "the route")(f)
		}
	}
}
