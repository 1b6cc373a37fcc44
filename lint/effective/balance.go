package effective

import (
	"strconv"

	"github.com/meshvet/meshvet/lint/istio"
	"github.com/meshvet/meshvet/lint/object"
)

// balance compiles loadBalancer.
func (c *compilation) balance() {
	if c.typ == DynamicDNS {
		c.out.set("lb_policy", "CLUSTER_PROVIDED", "", byIstio)
		return
	}
	if _, set := c.out.at[panicThreshold]; !set && !c.hasThreshold() && (c.version.Has(istio.PanicThreshold) || trafficDistribution(c.owner) != "") {
		c.out.message(panicThreshold, "outlierDetection.minHealthPercent", byIstio)
	}
	c.locality()
	if c.typ == OriginalDst {
		return
	}
	lb := c.policy.Block("loadBalancer")
	simple := lb.Value.Get("simple").Str()
	from := lb.at("simple")
	switch simple {
	case "RANDOM":
		c.out.set("lb_policy", "RANDOM", "loadBalancer.simple", from)
	case "ROUND_ROBIN":
		c.out.set("lb_policy", "ROUND_ROBIN", "loadBalancer.simple", from)
		c.slowStart(lb, "round_robin_lb_config")
	case passthrough:
		c.passThrough(from)
	default:
		if simple == "" || simple == "UNSPECIFIED" {
			from = byIstio
		}
		c.out.set("lb_policy", "LEAST_REQUEST", "loadBalancer.simple", from)
		c.slowStart(lb, "least_request_lb_config")
	}
	c.hash(lb)
}

// hasThreshold says whether the value of the panic threshold is set, below its message.
func (c *compilation) hasThreshold() bool {
	_, set := c.out.at[panicThreshold+".value"]
	return set
}

// passThrough gives up the list of addresses. What the cluster says about DNS stays, and has no use.
func (c *compilation) passThrough(from Origin) {
	c.typ = OriginalDst
	c.out.set("type", string(OriginalDst), "loadBalancer.simple", from)
}

// slowStart compiles warmup, and warmupDurationSecs, its older form.
func (c *compilation) slowStart(lb Source, config string) {
	at := config + ".slow_start_config."
	if w := lb.Value.Get("warmup"); w.Set() {
		if v := w.Get("duration"); v.Set() {
			c.out.set(at+"slow_start_window", seconds(v), "loadBalancer.warmup.duration", lb.at("warmup", "duration"))
		}
		aggression, from := 1.0, byIstio
		if v := w.Get("aggression"); v.Set() {
			aggression, from = v.Float(), lb.at("warmup", "aggression")
		}
		if aggression != 0 {
			c.out.set(at+"aggression.default_value", aggression, "loadBalancer.warmup.aggression", from)
		}
		c.out.set(at+"aggression.runtime_key", "(", "", byIstio)
		percent, from := 10.0, byIstio
		if v := w.Get("minimumPercent"); v.Set() {
			percent, from = v.Float(), lb.at("warmup", "minimumPercent")
		}
		c.percent(at+"min_weight_percent", percent, "loadBalancer.warmup.minimumPercent", from)
		return
	}
	if v := lb.Value.Get("warmupDurationSecs"); v.Set() {
		c.out.set(at+"slow_start_window", seconds(v), "loadBalancer.warmupDurationSecs", lb.at("warmupDurationSecs"))
	}
}

// hash compiles consistentHash. It takes the place of the other configuration only if it has a size to tell.
func (c *compilation) hash(lb Source) {
	hash := lb.Value.Get("consistentHash")
	if !hash.Set() {
		return
	}
	const field = "loadBalancer.consistentHash"
	sized := func(config, name string, size uint64, path ...any) {
		if size == 0 {
			return
		}
		c.out.drop("least_request_lb_config")
		from := byIstio
		if hash.At(path...).Set() {
			from = lb.at("consistentHash").below(path...)
		}
		c.out.set(config+"."+name, strconv.FormatUint(size, 10), field, from)
	}
	from := lb.at("consistentHash")
	switch {
	case hash.Get("maglev").Set():
		c.out.set("lb_policy", "MAGLEV", field, from)
		sized("maglev_lb_config", "table_size", uint64(whole(hash.At("maglev", "tableSize"))), "maglev", "tableSize")
	case hash.Get("ringHash").Set():
		c.out.set("lb_policy", "RING_HASH", field, from)
		sized("ring_hash_lb_config", "minimum_ring_size", uint64(whole(hash.At("ringHash", "minimumRingSize"))), "ringHash", "minimumRingSize")
	default:
		c.out.set("lb_policy", "RING_HASH", field, from)
		size := uint64(whole(hash.Get("minimumRingSize")))
		if size == 0 {
			size = 1024
		}
		sized("ring_hash_lb_config", "minimum_ring_size", size, "minimumRingSize")
	}
}

// locality compiles which localities come first. The rule's setting decides before the target's trafficDistribution, that before
// the mesh's; zoneAwareLbSetting before localityLbSetting.
func (c *compilation) locality() {
	lb, meshwide := c.policy.Block("loadBalancer"), c.policy.mesh
	switch {
	case lb.Value.Get("zoneAwareLbSetting").Set() && c.version.Has(istio.ZoneAware):
		c.zoneAware(lb.Value.Get("zoneAwareLbSetting"), "loadBalancer.zoneAwareLbSetting", lb.at("zoneAwareLbSetting"))
	case lb.Value.Get("localityLbSetting").Set():
		c.weighted(lb.Value.Get("localityLbSetting"), "loadBalancer.localityLbSetting", lb.at("localityLbSetting"))
	case trafficDistribution(c.owner) != "":
		c.out.message(localityWeighted, "", c.fromTarget("metadata", "annotations"))
		c.splitByPriority(c.fromTarget("metadata", "annotations"))
	case meshwide.Get("zoneAwareLbSetting").Set() && c.version.Has(istio.ZoneAware):
		c.zoneAware(meshwide.Get("zoneAwareLbSetting"), "meshConfig.zoneAwareLbSetting", c.policy.fromMesh("zoneAwareLbSetting"))
	case meshwide.Get("localityLbSetting").Set():
		c.weighted(meshwide.Get("localityLbSetting"), "meshConfig.localityLbSetting", c.policy.fromMesh("localityLbSetting"))
	}
}

const localityWeighted = "common_lb_config.locality_weighted_lb_config"

func (c *compilation) weighted(s object.Value, field string, from Origin) {
	if on := s.Get("enabled"); on.Set() && !on.Bool() {
		return
	}
	failsOver := c.policy.Block("outlierDetection").Set()
	if s.Get("distribute").Len() > 0 || failsOver && (s.Get("failover").Len() > 0 || s.Get("failoverPriority").Len() > 0) {
		c.out.message(localityWeighted, field, from)
	}
	if failsOver && s.Get("distribute").Len() == 0 && s.Get("failoverPriority").Len() > 0 {
		c.splitByPriority(from.below("failoverPriority"))
	}
}

// splitByPriority: where Envoy resolves names, Istio sorts the endpoints by failoverPriority as if all were of one locality, and
// reads beyond the end of a list if they are not. Source: Istio's loadbalancer.go, applyFailoverPriorityPerLocality.
func (c *compilation) splitByPriority(over Origin) {
	if c.chosen != nil || c.typ != StrictDNS && c.typ != LogicalDNS {
		return
	}
	localities := map[string]bool{}
	for e := range c.endpoints(c.port.Number) {
		localities[e.Get("locality").Str()] = true
	}
	if len(localities) > 1 {
		c.c.Panics = "failoverPriority for names in several localities: istiod reads beyond the end of a list"
		c.c.PanicsOver = over
	}
}

func (c *compilation) zoneAware(s object.Value, field string, from Origin) {
	const at = "common_lb_config.zone_aware_lb_config"
	c.out.message(at, field, from)
	if on := s.Get("enabled"); on.Set() && !on.Bool() {
		c.out.message(at+".routing_enabled", field+".enabled", from.below("enabled"))
	}
	if on := s.Get("enabled"); (!on.Set() || on.Bool()) && s.Get("failoverPriority").Len() > 0 {
		c.splitByPriority(from.below("failoverPriority"))
	}
	if v := s.Get("minClusterSize"); v.Set() {
		c.out.set(at+".min_cluster_size", strconv.FormatInt(whole(v), 10), field+".minClusterSize", from.below("minClusterSize"))
	}
}
