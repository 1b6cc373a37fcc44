package effective

import (
	"net"
	"strconv"

	"github.com/meshvet/meshvet/lint/mesh"
	"github.com/meshvet/meshvet/lint/object"
)

// tcpProxy compiles the tcp_proxy that sends to a single cluster: it reads the destination level only, whatever port entries say,
// and of a subset the loadBalancer and the tunnel. Source: Istio's pilot/pkg/networking/core/networkfilter.go.
func (c *compilation) tcpProxy(s *mesh.Subset) []Setting {
	if !c.hasFamily(mesh.L4) && len(c.ix.ByteRoutes(c.port.Host, c.port.Number)) == 0 {
		return nil
	}
	out := settings{}
	dest := Source{}
	if c.rule != nil && c.rule.Policy != nil {
		dest = Source{Object: c.rule.Policy.Object, Path: destinationLevel, Value: c.rule.Policy.Object.Lookup(destinationLevel)}
	}
	tcp := dest.Value.At("connectionPool", "tcp")
	if v := tcp.Get("idleTimeout"); v.Set() {
		out.set("idle_timeout", seconds(v), tcpIdle, dest.at("connectionPool", "tcp", "idleTimeout"))
	} else {
		out.add(Setting{Field: tcpIdle, Envoy: "idle_timeout", Value: "3600s", Origin: byEnvoy, Status: Implicit})
	}
	if v := tcp.Get("maxConnectionDuration"); v.Set() {
		out.set("max_downstream_connection_duration", seconds(v), "connectionPool.tcp.maxConnectionDuration", dest.at("connectionPool", "tcp", "maxConnectionDuration"))
	}
	c.hashPolicy(&out)
	tunnel, from := dest.Value.Get("tunnel"), dest.at("tunnel")
	if s != nil {
		tunnel = s.Value().At("trafficPolicy", "tunnel")
		from = Origin{Kind: FromObject, Object: s.Rule.Object, Path: object.Path{"spec", "subsets", s.Index, "trafficPolicy", "tunnel"}}
	}
	if tunnel.Set() {
		target := net.JoinHostPort(tunnel.Get("targetHost").Str(), strconv.FormatInt(whole(tunnel.Get("targetPort")), 10))
		out.set("tunneling_config.hostname", target, "tunnel.targetHost", from.below("targetHost"))
		if tunnel.Get("protocol").Str() == "POST" {
			out.set("tunneling_config.use_post", true, "tunnel.protocol", from.below("protocol"))
		}
	}
	return out.finish()
}

// hashPolicy: of the keys of consistentHash only the client's address means something to tcp_proxy.
func (c *compilation) hashPolicy(out *settings) {
	if lb := c.policy.Hash; hashesSource(lb) {
		out.message("hash_policy[0].source_ip", "loadBalancer.consistentHash.useSourceIp", lb.at("consistentHash", "useSourceIp"))
	}
}

func hashesSource(lb Source) bool { return lb.Value.At("consistentHash", "useSourceIp").Bool() }
