package effective

import (
	"strconv"
	"time"

	"github.com/meshvet/meshvet/lint/envoy"
	"github.com/meshvet/meshvet/lint/istio"
	"github.com/meshvet/meshvet/lint/mesh"
	"github.com/meshvet/meshvet/lint/object"
)

// unlimited is what Istio writes for a circuit breaker that is not set.
const unlimited = int64(4294967295)

// thresholds is where Istio writes circuit breakers. It never writes any for the HIGH priority.
const thresholds = "circuit_breakers.thresholds[0]."

// breakerPaths are the circuit breakers in the order in which they are told.
var breakerPaths = [...]struct {
	field, envoy string
	path         object.Path
}{
	{"connectionPool.tcp.maxConnections", "max_connections", object.Path{"tcp", "maxConnections"}},
	{"connectionPool.http.http1MaxPendingRequests", "max_pending_requests", object.Path{"http", "http1MaxPendingRequests"}},
	{"connectionPool.http.http2MaxRequests", "max_requests", object.Path{"http", "http2MaxRequests"}},
	{"connectionPool.http.maxRetries", "max_retries", object.Path{"http", "maxRetries"}},
}

// upstreamProtocol is which HTTP Envoy speaks to the endpoints.
type upstreamProtocol struct {
	explicit   string // "http1" or "http2": explicit_http_config
	downstream bool   // use_downstream_protocol_config
	header     bool   // keep the case of HTTP/1 headers
	from       Origin
	field      string

	common          bool // common_http_protocol_options are there
	sni, validation bool // auto_sni, auto_san_validation
}

// upstream is what the protocol of the port makes of the cluster, before any policy.
func (c *compilation) upstream() {
	p := &c.protocol
	declared := Origin{Kind: FromObject, Object: c.port.Target.Object, Path: c.port.Path.Child("protocol")}
	protocol := string(c.port.Target.Object.Kind) + ".ports.protocol"
	if c.port.IsHTTP2() {
		p.explicit, p.from, p.field = "http2", declared, protocol
		return
	}
	const keepsCase = "preserveHttp1HeaderCase"
	if c.port.Family == mesh.L7 || c.port.Family == mesh.Sniffed {
		if v := c.policy.mesh.At("defaultConfig", "proxyHeaders", keepsCase); v.Bool() {
			p.explicit, p.header, p.from = "http1", true, c.policy.fromMesh("defaultConfig", "proxyHeaders", keepsCase)
		}
	}
	if c.port.Family == mesh.Sniffed && c.proxy.Type == Sidecar {
		p.explicit, p.downstream, p.from, p.field = "", true, declared, protocol
	}
}

// pool compiles connectionPool and retryBudget.
func (c *compilation) pool() {
	pool := c.policy.Block("connectionPool")
	c.upgrade(pool)
	if v := pool.Value.At("tcp", "connectTimeout"); v.Set() {
		c.out.set("connect_timeout", seconds(v), "connectionPool.tcp.connectTimeout", pool.at("tcp", "connectTimeout"))
	} else if v := c.policy.mesh.Get("connectTimeout"); v.Set() {
		c.out.set("connect_timeout", seconds(v), "connectionPool.tcp.connectTimeout", c.policy.fromMesh("connectTimeout"))
	} else {
		c.out.set("connect_timeout", "10s", "connectionPool.tcp.connectTimeout", byIstio)
	}
	for _, b := range breakerPaths {
		if n := whole(pool.Value.At(b.path...)); n > 0 {
			c.out.set(thresholds+b.envoy, n, b.field, pool.at(b.path...))
		} else {
			c.out.set(thresholds+b.envoy, unlimited, b.field, byIstio)
		}
	}
	c.retryBudget()
	c.keepalive(pool)
	c.lifetimes(pool)
}

func (c *compilation) retryBudget() {
	b := c.policy.Block("retryBudget")
	if !b.Set() || !c.version.Has(istio.RetryBudget) {
		return
	}
	const at = thresholds + "retry_budget."
	percent, from := 20.0, byIstio
	if v := b.Value.Get("percent"); v.Set() {
		percent, from = v.Float(), b.at("percent")
	}
	c.percent(at+"budget_percent", percent, "retryBudget.percent", from)
	concurrency, from := int64(3), byIstio
	if n := whole(b.Value.Get("minRetryConcurrency")); n > 0 {
		concurrency, from = n, b.at("minRetryConcurrency")
	}
	c.out.set(at+"min_retry_concurrency", concurrency, "retryBudget.minRetryConcurrency", from)
	if v := b.Value.Get("budgetInterval"); v.Set() && c.version.Has(istio.RetryBudgetInterval) {
		c.out.set(at+"budget_interval", seconds(v), "retryBudget.budgetInterval", b.at("budgetInterval"))
	}
}

// percent writes Envoy's Percent, whose value 0 JSON leaves out.
func (c *compilation) percent(path string, value float64, field string, from Origin) {
	if value == 0 {
		c.out.message(path, field, from)
		return
	}
	c.out.set(path+".value", value, field, from)
}

// keepalive merges tcpKeepalive with the mesh's field by field. Times are whole seconds; what is below one is cut off.
func (c *compilation) keepalive(pool Source) {
	const at = "upstream_connection_options.tcp_keepalive"
	const field = "connectionPool.tcp.tcpKeepalive"
	levels := [...]struct {
		value object.Value
		from  func(...any) Origin
	}{
		{c.policy.mesh.Get("tcpKeepalive"), func(path ...any) Origin { return c.policy.fromMesh("tcpKeepalive").below(path...) }},
		{pool.Value.At("tcp", "tcpKeepalive"), func(path ...any) Origin { return pool.at("tcp", "tcpKeepalive").below(path...) }},
	}
	for _, l := range levels {
		if !l.value.Set() {
			continue
		}
		c.out.message(at, field, l.from())
		if n := whole(l.value.Get("probes")); n > 0 {
			c.out.set(at+".keepalive_probes", n, field+".probes", l.from("probes"))
		}
		for _, name := range [...]string{"time", "interval"} {
			if v := l.value.Get(name); v.Set() {
				c.out.set(at+".keepalive_"+name, int64(duration(v)/time.Second), field+"."+name, l.from(name))
			}
		}
	}
}

func (o Origin) below(path ...any) Origin {
	o.Path = o.Path.Child(path...)
	return o
}

// upgrade decides on HTTP/2 towards the endpoints, where the protocol of the port leaves it open.
func (c *compilation) upgrade(pool Source) {
	if c.protocol.explicit != "" || c.protocol.downstream {
		return
	}
	http := pool.Value.Get("http")
	if http.Set() {
		if http.Get("useClientProtocol").Bool() {
			return
		}
		switch http.Get("h2UpgradePolicy").Str() {
		case "UPGRADE":
			c.protocol.explicit, c.protocol.from, c.protocol.field = "http2", pool.at("http", "h2UpgradePolicy"), h2UpgradePolicy
			return
		case "DO_NOT_UPGRADE":
			return
		}
	}
	if c.port.Family == mesh.L7 && c.policy.mesh.Get("h2UpgradePolicy").Str() == "UPGRADE" {
		c.protocol.explicit, c.protocol.from, c.protocol.field = "http2", c.policy.fromMesh("h2UpgradePolicy"), h2UpgradePolicy
	}
}

// lifetimes compiles how long connections live, and what goes with HTTP/2.
func (c *compilation) lifetimes(pool Source) {
	tcp, http := pool.Value.Get("tcp"), pool.Value.Get("http")
	const common = httpOptions + "common_http_protocol_options"
	idle, idleField, idleFrom := http.Get("idleTimeout"), httpIdle, pool.at("http", "idleTimeout")
	if !idle.Set() {
		idle, idleField, idleFrom = tcp.Get("idleTimeout"), tcpIdle, pool.at("tcp", "idleTimeout")
	}
	if idle.Set() {
		c.protocol.common = true
		c.out.set(common+".idle_timeout", seconds(idle), idleField, idleFrom)
	}
	if v := tcp.Get("maxConnectionDuration"); v.Set() {
		c.protocol.common = true
		c.out.set(common+".max_connection_duration", seconds(v), "connectionPool.tcp.maxConnectionDuration", pool.at("tcp", "maxConnectionDuration"))
	}
	if n := uint32(whole(http.Get("maxRequestsPerConnection"))); n > 0 {
		c.protocol.common = true
		c.out.set(common+".max_requests_per_connection", int64(n), "connectionPool.http.maxRequestsPerConnection", pool.at("http", "maxRequestsPerConnection"))
	}
	const http2 = httpOptions + "explicit_http_config.http2_protocol_options"
	streams, keepalive := uint32(whole(http.Get("maxConcurrentStreams"))), http.Get("http2KeepAlive")
	if !c.version.Has(istio.HTTP2KeepAlive) {
		keepalive = object.Value{}
	}
	if streams > 0 || keepalive.Set() {
		c.protocol.common = true
	}
	if c.protocol.explicit == "http2" {
		if streams > 0 {
			c.out.set(http2+".max_concurrent_streams", int64(streams), "connectionPool.http.maxConcurrentStreams", pool.at("http", "maxConcurrentStreams"))
		}
		if keepalive.Set() {
			c.out.message(http2+".connection_keepalive", "connectionPool.http.http2KeepAlive", pool.at("http", "http2KeepAlive"))
			for _, name := range [...]string{"interval", "timeout"} {
				if v := keepalive.Get(name); v.Set() {
					c.out.set(http2+".connection_keepalive."+name, seconds(v), "connectionPool.http.http2KeepAlive."+name, pool.at("http", "http2KeepAlive", name))
				}
			}
		}
	}
	if http.Get("useClientProtocol").Bool() {
		c.out.drop(http2)
		c.protocol.header = c.protocol.header && c.protocol.explicit == "http1"
		c.protocol.explicit, c.protocol.downstream = "", true
		c.protocol.from, c.protocol.field = pool.at("http", "useClientProtocol"), useClientProtocol
	}
}

// http writes HttpProtocolOptions as far as a step wanted them. Envoy requires a protocol in them, so they have HTTP/1 then.
func (c *compilation) http() {
	p := c.protocol
	if p.explicit == "" && !p.downstream {
		if !p.common && !p.sni && !p.validation {
			return
		}
		c.out.message(httpOptions+"explicit_http_config.http_protocol_options", "", byIstio)
	}
	header := func(at string) {
		c.out.message(at, "", p.from)
		if p.header {
			c.out.set(at+".header_key_format.stateful_formatter.name", "preserve_case", "", p.from)
			c.out.message(at+".header_key_format.stateful_formatter.typed_config", "", p.from)
		}
	}
	switch {
	case p.downstream:
		const at = httpOptions + "use_downstream_protocol_config."
		header(at + "http_protocol_options")
		c.out.message(at+"http2_protocol_options", p.field, p.from)
	case p.explicit == "http1":
		header(httpOptions + "explicit_http_config.http_protocol_options")
	case p.explicit == "http2":
		c.out.message(httpOptions+"explicit_http_config.http2_protocol_options", p.field, p.from)
	}
	if p.common {
		c.out.message(httpOptions+"common_http_protocol_options", "", byIstio)
	}
}

// whole reads a whole number as Istio does, from a number or a text; 0 for anything else.
func whole(v object.Value) int64 {
	switch v.Type() {
	case object.Int:
		return v.Int()
	case object.Float:
		return int64(v.Float())
	case object.String:
		n, err := strconv.ParseInt(v.Str(), 10, 64)
		if err == nil {
			return n
		}
	}
	return 0
}

// duration reads a duration such as 1m30s; 0 for anything else.
func duration(v object.Value) time.Duration {
	d, err := time.ParseDuration(v.Str())
	if err != nil {
		return 0
	}
	return d
}

// seconds writes a duration as Envoy's JSON has it, such as 90s.
func seconds(v object.Value) string {
	d := duration(v)
	return envoy.Text(strconv.FormatFloat(d.Seconds(), 'f', 9, 64) + "s")
}
