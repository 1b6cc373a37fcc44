package effective

import (
	"fmt"
	"strings"
	"time"

	"github.com/meshvet/meshvet/lint/istio"
	"github.com/meshvet/meshvet/lint/mesh"
	"github.com/meshvet/meshvet/lint/object"
)

// Unlimited is what Istio writes for every circuit breaker that is not set: the largest 32-bit number.
const Unlimited = "4294967295"

// Field is one setting of a traffic policy.
type Field struct {
	Name  string // path below the traffic policy, such as connectionPool.tcp.maxConnections
	Envoy string // where Istio compiles it to
	// Slot is the set of fields of which only one can be in effect, the field itself included: an entry that sets another of
	// them has made a choice of its own.
	Slot []string
	// Everywhere says that the field has an effect on every kind of port.
	Everywhere bool
	// Timer says that tcp_proxy reads the field too, and at the destination level only, whatever port entries and subsets say.
	Timer bool

	path   object.Path
	def    func(p *Policy, port Port) string // the value in effect when the field is not set
	zero   bool                              // 0 is the same as not set
	live   func(port Port, p *Policy) bool   // whether the field has an effect on the port
	values func(p *Policy, port Port) string // computes the value in effect, for fields that are not just read
	// needs are fields that decide whether this one has an effect. An entry that sets one of them decides that for itself.
	needs []string
	// yields says that another field that is set takes this one's place in the cluster.
	yields func(p *Policy, port Port) bool
	since  *istio.Change // nil = every release has the field
}

// Fields are the settings of a traffic policy whose loss can be told, in the order in which messages name them.
func Fields() []*Field { return fields }

var fields = withPaths(
	&Field{Name: "tls", Envoy: "transport_socket", def: defaultTLS, values: tlsMode, Everywhere: true, live: always},
	&Field{Name: tlsSNI, Envoy: "transport_socket.sni", def: none, values: serverName, live: namesServer},
	&Field{Name: "tls.subjectAltNames", Envoy: "transport_socket.common_tls_context match_subject_alt_names", def: none, values: peerNames, live: namesPeer, needs: []string{tlsSNI}},
	&Field{Name: "tls.insecureSkipVerify", Envoy: "transport_socket.common_tls_context validation_context", def: constant("false"), live: skipsVerify},
	&Field{Name: "tls.caCertificates", Envoy: "transport_socket.common_tls_context validation_context", def: fromCredential("the system's CAs"), values: trustedCAs, live: originatesTLS},
	&Field{Name: "tls.caCrl", Envoy: "transport_socket.common_tls_context validation_context.crl", def: none, live: originatesTLS},
	&Field{Name: "tls.credentialName", Envoy: "transport_socket.common_tls_context SDS", def: none, live: originatesTLS},
	&Field{Name: "tls.clientCertificate", Envoy: "transport_socket.common_tls_context tls_certificate", def: fromCredential("none"), live: presentsCertificate},
	&Field{Name: "tls.privateKey", Envoy: "transport_socket.common_tls_context tls_certificate", def: fromCredential("none"), live: presentsCertificate},
	&Field{Name: "proxyProtocol", Envoy: "transport_socket upstream_proxy_protocol", def: none, values: blockText("proxyProtocol"), live: always, Everywhere: true},
	&Field{Name: "retryBudget", Envoy: "circuit_breakers.thresholds[0].retry_budget", def: none, values: blockText("retryBudget"), live: readsRequests, since: istio.RetryBudget},

	&Field{Name: maxRetries, Envoy: "circuit_breakers.thresholds[0].max_retries", def: constant(Unlimited), zero: true, live: countsRetries},
	&Field{Name: "connectionPool.tcp.maxConnections", Envoy: "circuit_breakers.thresholds[0].max_connections", def: constant(Unlimited), zero: true, live: always, Everywhere: true},
	&Field{Name: "connectionPool.http.http1MaxPendingRequests", Envoy: "circuit_breakers.thresholds[0].max_pending_requests", def: constant(Unlimited), zero: true, live: always, Everywhere: true},
	&Field{Name: "connectionPool.http.http2MaxRequests", Envoy: "circuit_breakers.thresholds[0].max_requests", def: constant(Unlimited), zero: true, live: readsRequests},
	&Field{Name: "connectionPool.tcp.connectTimeout", Envoy: "connect_timeout", def: connectTimeout, live: always, Everywhere: true},
	&Field{Name: "connectionPool.tcp.tcpKeepalive", Envoy: "upstream_connection_options.tcp_keepalive", def: none, values: keepalive, live: always},
	&Field{Name: "connectionPool.tcp.maxConnectionDuration", Envoy: "common_http_protocol_options.max_connection_duration", def: none, values: maxDuration, live: timesOut, Timer: true},
	&Field{Name: tcpIdle, Envoy: "common_http_protocol_options.idle_timeout", def: constant("1h"), Slot: idleSlot, values: idleTimeout, live: tcpIdleCounts, yields: httpIdleWins, Timer: true},
	&Field{Name: httpIdle, Envoy: "common_http_protocol_options.idle_timeout", def: constant("1h"), Slot: idleSlot, values: idleTimeout, live: readsRequests},
	&Field{Name: "connectionPool.http.maxRequestsPerConnection", Envoy: "common_http_protocol_options.max_requests_per_connection", def: constant("no limit"), zero: true, live: readsRequests},
	&Field{Name: h2UpgradePolicy, Envoy: "explicit_http_config.http2_protocol_options", def: none, values: upgrade, live: upgrades, needs: []string{useClientProtocol}},
	&Field{Name: useClientProtocol, Envoy: "use_downstream_protocol_config", def: constant("false"), live: hasFixedProtocol},
	&Field{Name: "connectionPool.http.maxConcurrentStreams", Envoy: "http2_protocol_options.max_concurrent_streams", def: constant("1024"), zero: true, live: speaksHTTP2, needs: http2Switches},
	&Field{Name: "connectionPool.http.http2KeepAlive", Envoy: "http2_protocol_options.connection_keepalive", def: none, live: speaksHTTP2, needs: http2Switches, since: istio.HTTP2KeepAlive},

	&Field{Name: "outlierDetection", Envoy: "outlier_detection", def: constant("no outlier detection"), values: outlier, live: ejects, Everywhere: true},
	&Field{Name: "outlierDetection.consecutive5xxErrors", Envoy: "outlier_detection.consecutive_5xx", def: constant("5"), live: countsResponses, needs: splitSwitch},
	&Field{Name: "outlierDetection.consecutiveGatewayErrors", Envoy: "outlier_detection.consecutive_gateway_failure", def: constant("not enforced"), zero: true, live: countsResponses, needs: splitSwitch},
	&Field{Name: split, Envoy: "outlier_detection.split_external_local_origin_errors", def: constant("false"), live: detects},
	&Field{Name: "outlierDetection.consecutiveLocalOriginFailures", Envoy: "outlier_detection.consecutive_local_origin_failure", def: constant("5"), zero: true, live: splits, needs: splitSwitch},
	&Field{Name: "outlierDetection.interval", Envoy: "outlier_detection.interval", def: constant("10s"), live: detects},
	&Field{Name: "outlierDetection.baseEjectionTime", Envoy: "outlier_detection.base_ejection_time", def: constant("30s"), live: detects},
	&Field{Name: "outlierDetection.maxEjectionPercent", Envoy: "outlier_detection.max_ejection_percent", def: constant("10"), zero: true, live: detects},
	&Field{Name: "outlierDetection.minHealthPercent", Envoy: "common_lb_config.healthy_panic_threshold", def: constant("0"), zero: true, live: detects},

	&Field{Name: simple, Envoy: "lb_policy", def: constant("LEAST_REQUEST"), Slot: balancerSlot, values: balancer, live: balances, Everywhere: true},
	&Field{Name: consistentHash, Envoy: "lb_policy RING_HASH", def: constant("LEAST_REQUEST"), Slot: balancerSlot, values: balancer, live: hashes},
	&Field{Name: "loadBalancer.localityLbSetting", Envoy: "load_assignment locality weights and priorities", def: meshwide("localityLbSetting"), live: prefersLocality},
	&Field{Name: "loadBalancer.zoneAwareLbSetting", Envoy: "common_lb_config.zone_aware_lb_config", def: meshwide("zoneAwareLbSetting"), live: balances, since: istio.ZoneAware},
	&Field{Name: "loadBalancer.warmup", Envoy: "slow_start_config", def: none, live: warmsUp, needs: balancerSlot},
	&Field{Name: "loadBalancer.warmupDurationSecs", Envoy: "slow_start_config", def: none, live: warmsUp, needs: balancerSlot},
)

// The fields that others depend on.
const (
	tlsSNI            = "tls.sni"
	maxRetries        = "connectionPool.http.maxRetries"
	tcpIdle           = "connectionPool.tcp.idleTimeout"
	httpIdle          = "connectionPool.http.idleTimeout"
	h2UpgradePolicy   = "connectionPool.http.h2UpgradePolicy"
	useClientProtocol = "connectionPool.http.useClientProtocol"
	split             = "outlierDetection.splitExternalLocalOriginErrors"
	simple            = "loadBalancer.simple"
	consistentHash    = "loadBalancer.consistentHash"
)

var (
	idleSlot      = []string{tcpIdle, httpIdle}
	balancerSlot  = []string{simple, consistentHash}
	http2Switches = []string{h2UpgradePolicy, useClientProtocol}
	splitSwitch   = []string{split}
)

// withPaths parses the names once; comparing policies asks for the paths again and again.
func withPaths(fields ...*Field) []*Field {
	for _, f := range fields {
		f.path = object.ParsePath(f.Name)
	}
	return fields
}

// Path is the field's path below a traffic policy.
func (f *Field) Path() object.Path { return f.path }

// Block is the block that the field belongs to.
func (f *Field) Block() string {
	block, _, _ := strings.Cut(f.Name, ".")
	return block
}

// Restatable says whether a portLevelSettings entry can set the field.
func (f *Field) Restatable() bool { return portBlocks[f.Block()] }

// Live says whether the field has an effect on a port under a policy. For a port that is not in view only the fields with an
// effect everywhere are live.
func (f *Field) Live(port Port, p *Policy) bool {
	if !port.Known() {
		return f.Everywhere
	}
	return f.live(port, p)
}

// Raw returns the field as written in the block that reaches the port.
func (f *Field) Raw(p *Policy) object.Value {
	return p.Blocks[f.Block()].Value.At(f.Path()[1:]...)
}

// Value returns the value in effect as text, defaults included.
func (f *Field) Value(p *Policy, port Port) string {
	if f.values != nil {
		return f.values(p, port)
	}
	return f.plain(f.Raw(p), p, port)
}

func (f *Field) plain(v object.Value, p *Policy, port Port) string {
	if !v.Set() || f.zero && v.Type() == object.Int && v.Int() == 0 {
		return f.def(p, port)
	}
	return Text(v)
}

// Text writes a value for messages: scalars as they are, durations in their shortest form, collections as JSON.
func Text(v object.Value) string {
	switch v.Type() {
	case object.List, object.Map:
		js, err := v.MarshalJSON()
		if err != nil {
			return v.Text()
		}
		return string(js)
	case object.String:
		if d, err := time.ParseDuration(v.Str()); err == nil {
			return shortDuration(d)
		}
	}
	return v.Text()
}

// shortDuration writes 1h for 1h0m0s, so that equal durations are equal texts.
func shortDuration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

func constant(s string) func(*Policy, Port) string { return func(*Policy, Port) string { return s } }

func none(*Policy, Port) string { return "none" }

// meshwide: what the mesh configuration sets for all hosts.
func meshwide(name string) func(*Policy, Port) string {
	return func(p *Policy, _ Port) string {
		if v := p.mesh.Get(name); v.Set() {
			return Text(v)
		}
		return "none"
	}
}

func always(Port, *Policy) bool { return true }

// readsRequests: circuit breakers for requests and retries, and HttpProtocolOptions, are of no use to tcp_proxy.
func readsRequests(port Port, _ *Policy) bool { return port.CarriesRequests() }

// countsRetries: Envoy lets a retry budget override the circuit breaker for retries.
func countsRetries(port Port, p *Policy) bool {
	return readsRequests(port, p) && !(p.Blocks["retryBudget"].Set() && p.version.Has(istio.RetryBudget))
}

// upgrades: h2UpgradePolicy does nothing on ports that are HTTP/2 or HTTP/1 anyway, nor where Envoy follows the client's protocol. At L4
// nobody speaks HTTP unless a route sends requests there, but where Envoy starts TLS it still offers h2 in ALPN.
func upgrades(port Port, p *Policy) bool {
	http := p.Blocks["connectionPool"].Value.Get("http")
	if http.Get("useClientProtocol").Bool() {
		return false
	}
	switch port.Family {
	case mesh.L7:
		return !port.IsHTTP2() && !keepsHTTP1(port, p)
	case mesh.L4:
		return (port.Routed || startsTLS(port, p)) && http.Get("h2UpgradePolicy").Str() == "UPGRADE"
	}
	return false
}

// keepsHTTP1 says whether the mesh keeps the case of HTTP/1 headers, for which Istio pins HTTP ports to HTTP/1.
func keepsHTTP1(port Port, p *Policy) bool {
	return port.Family == mesh.L7 && !port.IsHTTP2() && p.mesh.At("defaultConfig", "proxyHeaders", "preserveHttp1HeaderCase").Bool()
}

// startsTLS says whether Envoy starts TLS of any kind, Istio's own included.
func startsTLS(port Port, p *Policy) bool {
	return verifiesPeer(port, p) || !p.Block("tls").Set() && tlsMode(p, port) == autoMTLS
}

// hasFixedProtocol: a port without protocol follows the client's anyway. At L4 it keeps h2 out of ALPN where the upgrade policy would
// put it there.
func hasFixedProtocol(port Port, p *Policy) bool {
	http := p.Block("connectionPool").Value.Get("http")
	return port.ReadsRequests() || port.Family == mesh.L4 && startsTLS(port, p) && http.Get("h2UpgradePolicy").Str() == "UPGRADE"
}

func speaksHTTP2(port Port, p *Policy) bool {
	if !port.ReadsRequests() || p.Blocks["connectionPool"].Value.At("http", "useClientProtocol").Bool() {
		return false
	}
	return port.IsHTTP2() || upgrade(p, port) == "UPGRADE"
}

func mode(p *Policy) string { return tlsOf(p).Get("mode").Str() }

func tlsOf(p *Policy) object.Value { return p.Blocks["tls"].Value }

func originatesTLS(_ Port, p *Policy) bool {
	m := mode(p)
	return m == "SIMPLE" || m == "MUTUAL"
}

// verifiesPeer: ISTIO_MUTUAL takes the names from the rule too, though not its certificates.
func verifiesPeer(port Port, p *Policy) bool {
	return originatesTLS(port, p) || mode(p) == "ISTIO_MUTUAL"
}

// skipsVerify: ISTIO_MUTUAL heeds insecureSkipVerify only where it would check the names of requests.
func skipsVerify(port Port, p *Policy) bool {
	return originatesTLS(port, p) || mode(p) == "ISTIO_MUTUAL" && asksForHost(port, p)
}

// eachRequest is the name that Envoy sends or checks under auto_sni and auto_san_validation.
const eachRequest = "the host of each request"

// asksForHost says whether Envoy takes names that the rule does not give from the requests. Istio asks for that in every cluster
// that starts TLS, and for DYNAMIC_DNS under ISTIO_MUTUAL as well; only where Envoy reads requests does anything come of it.
func asksForHost(port Port, p *Policy) bool {
	return readsRequests(port, p) && (originatesTLS(port, p) || mode(p) == "ISTIO_MUTUAL" && port.Cluster == DynamicDNS)
}

// isRequestHost says whether a name is the one that the requests for a port bear anyway.
func isRequestHost(name string, port Port) bool {
	return port.Family == mesh.L7 && !port.Host.IsWildcard() && strings.EqualFold(name, string(port.Host))
}

// serverName is the SNI in effect. Under ISTIO_MUTUAL Istio writes the name of the cluster if the rule gives none.
func serverName(p *Policy, port Port) string {
	switch own := tlsOf(p).Get("sni").Str(); {
	case own != "":
		return own
	case asksForHost(port, p):
		return eachRequest
	case mode(p) == "ISTIO_MUTUAL" && port.Cluster != DynamicDNS:
		return fmt.Sprintf("outbound_.%d_._.%s", port.Number, port.Host)
	}
	return "none"
}

// namesServer: to send the host of the requests no sni is needed.
func namesServer(port Port, p *Policy) bool {
	return verifiesPeer(port, p) && !(asksForHost(port, p) && isRequestHost(tlsOf(p).Get("sni").Str(), port))
}

// peerNames are those that the server's certificate may bear: the rule's, else the ServiceEntry's, else the host of each request
// unless an sni is given. For DYNAMIC_DNS the ServiceEntry's do not count, and an sni makes no difference.
func peerNames(p *Policy, port Port) string {
	tls, dynamic := tlsOf(p), port.Cluster == DynamicDNS
	if tls.Get("insecureSkipVerify").Bool() && skipsVerify(port, p) {
		return "none"
	}
	if own := tls.Get("subjectAltNames"); own.Len() > 0 {
		return Text(own)
	}
	if port.Target != nil && !dynamic && verifiesPeer(port, p) {
		if names := port.Target.Object.Spec().Get("subjectAltNames"); !port.Target.IsService() && names.Len() > 0 {
			return Text(names)
		}
	}
	switch {
	case asksForHost(port, p) && (dynamic || tls.Get("sni").Str() == ""):
		return eachRequest
	case mode(p) == "ISTIO_MUTUAL" && port.InCluster:
		return "the service accounts of its endpoints"
	}
	return "none"
}

// namesPeer: the host of the requests is checked without subjectAltNames too, as long as no sni switches that off.
func namesPeer(port Port, p *Policy) bool {
	tls := tlsOf(p)
	names, sni := tls.Get("subjectAltNames"), tls.Get("sni").Str()
	given := asksForHost(port, p) && (sni == "" || isRequestHost(sni, port)) && names.Len() == 1 && isRequestHost(names.At(0).Str(), port)
	return verifiesPeer(port, p) && !given
}

// trustedCAs: "system" is what Istio takes without caCertificates, and a credential brings its own.
func trustedCAs(p *Policy, port Port) string {
	own := tlsOf(p).Get("caCertificates").Str()
	if own == "" || own == "system" || tlsOf(p).Get("credentialName").Str() != "" {
		return fromCredential("the system's CAs")(p, port)
	}
	return own
}

// fromCredential: what the rule does not name as a file comes from the credential that it names, if it does.
func fromCredential(otherwise string) func(*Policy, Port) string {
	return func(p *Policy, _ Port) string {
		if name := tlsOf(p).Get("credentialName").Str(); name != "" {
			return "what credentialName " + name + " holds"
		}
		return otherwise
	}
}

func presentsCertificate(_ Port, p *Policy) bool { return mode(p) == "MUTUAL" }

// ejects: without a list of addresses there is nothing to eject from.
func ejects(port Port, p *Policy) bool { return balances(port, p) }

func detects(port Port, p *Policy) bool { return ejects(port, p) && p.Blocks["outlierDetection"].Set() }

func splits(port Port, p *Policy) bool { return detects(port, p) && splitOn(p) }

func splitOn(p *Policy) bool {
	return p.Blocks["outlierDetection"].Value.Get("splitExternalLocalOriginErrors").Bool()
}

// countsResponses: at L4 the only errors are failures to connect, which count as 5xx and gateway errors unless they are split
// off.
func countsResponses(port Port, p *Policy) bool {
	return detects(port, p) && !(port.ForwardsBytes() && splitOn(p))
}

func balances(port Port, _ *Policy) bool { return port.Cluster.HasList() }

// hashes: tcp_proxy can hash nothing but the client's address.
func hashes(port Port, p *Policy) bool {
	return balances(port, p) && (!port.ForwardsBytes() || p.Blocks["loadBalancer"].Value.At("consistentHash", "useSourceIp").Bool())
}

// prefersLocality: shares by locality work by themselves; failover, and switching it off, mean something only where endpoints
// can be ejected.
func prefersLocality(port Port, p *Policy) bool {
	return balances(port, p) && (p.Blocks["outlierDetection"].Set() || p.Blocks["loadBalancer"].Value.At("localityLbSetting", "distribute").Len() > 0)
}

// warmsUp: of the policies that choose an endpoint only two know a slow start.
func warmsUp(port Port, p *Policy) bool {
	b := balancer(p, port)
	return balances(port, p) && (b == "LEAST_REQUEST" || b == "ROUND_ROBIN")
}

// Plaintext is the value in effect of a tls block that starts no TLS.
const Plaintext = "plaintext"

// The names of what else a port gets without a tls block.
const (
	autoMTLS  = "Istio's automatic mutual TLS"
	noneOfIts = "no TLS of the rule's own" // where it is not known whether the host is in the mesh
)

func defaultTLS(p *Policy, port Port) string {
	if port.InCluster {
		if auto := p.mesh.Get("enableAutoMtls"); !auto.Set() || auto.Bool() {
			return autoMTLS
		}
		return Plaintext
	}
	if !port.Known() {
		return noneOfIts
	}
	return Plaintext
}

// tlsMode treats a tls block without mode as DISABLE, as Istio does, and ISTIO_MUTUAL inside the mesh as what happens anyway.
// For a host that is not in view, which may be in the mesh, neither differs from having no block for certain.
func tlsMode(p *Policy, port Port) string {
	if !p.Blocks["tls"].Set() {
		return defaultTLS(p, port)
	}
	switch m := mode(p); m {
	case "", "DISABLE":
		if !port.Known() && !port.InCluster {
			return noneOfIts
		}
		return Plaintext
	case "ISTIO_MUTUAL":
		if port.InCluster || !port.Known() {
			return defaultTLS(p, port)
		}
		return m
	default:
		return m
	}
}

func blockText(block string) func(*Policy, Port) string {
	return func(p *Policy, _ Port) string {
		if s := p.Blocks[block]; s.Set() {
			return Text(s.Value)
		}
		return "none"
	}
}

func outlier(p *Policy, _ Port) string {
	if p.Blocks["outlierDetection"].Set() {
		return "on"
	}
	return "no outlier detection"
}

// connectTimeout: meshConfig.connectTimeout, else Istio's 10s.
func connectTimeout(p *Policy, _ Port) string {
	if v := p.mesh.Get("connectTimeout"); v.Set() {
		return Text(v)
	}
	return "10s"
}

// keepalive: Istio merges tcpKeepalive with the mesh's field by field. An empty block switches keepalive on, with the times of
// the operating system; 0 probes are the same as none set.
func keepalive(p *Policy, _ Port) string {
	own, meshwide := p.Blocks["connectionPool"].Value.At("tcp", "tcpKeepalive"), p.mesh.Get("tcpKeepalive")
	if !own.Set() && !meshwide.Set() {
		return "none"
	}
	var parts []string
	for _, name := range [...]string{"probes", "time", "interval"} {
		v := own.Get(name)
		if !v.Set() || name == "probes" && v.Int() == 0 {
			v = meshwide.Get(name)
		}
		if v.Set() && !(name == "probes" && v.Int() == 0) {
			parts = append(parts, name+": "+Text(v))
		}
	}
	if len(parts) == 0 {
		return "on, with the operating system's times"
	}
	return strings.Join(parts, ", ")
}

// listened returns a field of tcp for a port: at L4 tcp_proxy reads it from the destination level only; elsewhere it is the
// cluster's.
func listened(p *Policy, port Port, name string) object.Value {
	pool := p.Blocks["connectionPool"].Value
	if port.Family == mesh.L4 {
		pool = p.Listener.Value
	}
	return pool.At("tcp", name)
}

func maxDuration(p *Policy, port Port) string {
	if v := listened(p, port, "maxConnectionDuration"); v.Set() {
		return Text(v)
	}
	return "none"
}

func idleTimeout(p *Policy, port Port) string {
	v := listened(p, port, "idleTimeout")
	if http := p.Blocks["connectionPool"].Value.At("http", "idleTimeout"); http.Set() && !port.ForwardsBytes() {
		v = http
	}
	if v.Set() {
		return Text(v)
	}
	return "1h"
}

// httpIdleWins: where both are set, the cluster gets http.idleTimeout.
func httpIdleWins(p *Policy, port Port) bool {
	return port.Family != mesh.L4 && p.Blocks["connectionPool"].Value.At("http", "idleTimeout").Set()
}

// tcpIdleCounts: on a port without protocol tcp_proxy may run too.
func tcpIdleCounts(port Port, p *Policy) bool {
	return timesOut(port, p) && (port.Family != mesh.L7 || !httpIdleWins(p, port))
}

// timesOut: where all is bytes, a timeout is tcp_proxy's, which reads no pool but the destination level's.
func timesOut(port Port, p *Policy) bool {
	pool := p.Blocks["connectionPool"]
	return !port.ForwardsBytes() || pool.Object == p.Listener.Object && pool.Path.Equal(p.Listener.Path)
}

// upgrade: where the mesh keeps the case of headers there is none. On HTTP ports DEFAULT follows the mesh's h2UpgradePolicy, which is DO_NOT_UPGRADE unless set.
func upgrade(p *Policy, port Port) string {
	if keepsHTTP1(port, p) {
		return "DO_NOT_UPGRADE"
	}
	own := p.Blocks["connectionPool"].Value.At("http", "h2UpgradePolicy").Str()
	if own != "" && own != "DEFAULT" {
		return own
	}
	if m := p.mesh.Get("h2UpgradePolicy").Str(); m != "" && port.Family == mesh.L7 {
		return m
	}
	return "DO_NOT_UPGRADE"
}

// balancer: LEAST_CONN and UNSPECIFIED compile to the default, LEAST_REQUEST.
func balancer(p *Policy, _ Port) string {
	lb := p.Blocks["loadBalancer"].Value
	if hash := lb.Get("consistentHash"); hash.Set() {
		return "consistentHash " + Text(hash)
	}
	switch simple := lb.Get("simple").Str(); simple {
	case "", "UNSPECIFIED", "LEAST_CONN":
		return "LEAST_REQUEST"
	default:
		return simple
	}
}
