package effective

import (
	"github.com/meshvet/meshvet/lint/mesh"
	"github.com/meshvet/meshvet/lint/object"
)

// panicThreshold is the share of healthy hosts below which Envoy sends to all of them. Istio always sets it, to 0 unless told
// otherwise; Envoy's own default is 50.
const panicThreshold = "common_lb_config.healthy_panic_threshold"

// ejection compiles outlierDetection.
func (c *compilation) ejection() {
	od := c.policy.Block("outlierDetection")
	if !od.Set() {
		return
	}
	percent, from := whole(od.Value.Get("minHealthPercent")), od.at("minHealthPercent")
	if c.typ == DynamicDNS && percent >= 0 {
		c.c.Panics = "outlierDetection for a DYNAMIC_DNS host: istiod dereferences a missing common_lb_config"
		c.c.PanicsOver = od.at()
		return
	}
	const at = "outlier_detection."
	if od.Value.Len() == 0 { // an empty block switches detection on, with Envoy's defaults
		c.out.set(at+"enforcing_success_rate", int64(0), "outlierDetection", od.at())
	} else {
		c.out.set(at+"enforcing_success_rate", int64(0), "", byIstio)
	}
	counted := func(name, envoyName string) {
		v := od.Value.Get(name)
		if !v.Set() {
			return
		}
		n := whole(v)
		c.out.set(at+envoyName, n, "outlierDetection."+name, od.at(name))
		c.out.set(at+"enforcing_"+envoyName, enforced(n), "outlierDetection."+name, od.at(name))
	}
	counted("consecutive5xxErrors", "consecutive_5xx")
	counted("consecutiveGatewayErrors", "consecutive_gateway_failure")
	for _, d := range [...][2]string{{"interval", "interval"}, {"baseEjectionTime", "base_ejection_time"}} {
		if v := od.Value.Get(d[0]); v.Set() {
			c.out.set(at+d[1], seconds(v), "outlierDetection."+d[0], od.at(d[0]))
		}
	}
	if n := whole(od.Value.Get("maxEjectionPercent")); n > 0 {
		c.out.set(at+"max_ejection_percent", n, "outlierDetection.maxEjectionPercent", od.at("maxEjectionPercent"))
	}
	if od.Value.Get("splitExternalLocalOriginErrors").Bool() {
		c.out.set(at+"split_external_local_origin_errors", true, split, od.at("splitExternalLocalOriginErrors"))
		if n := whole(od.Value.Get("consecutiveLocalOriginFailures")); n > 0 {
			c.out.set(at+"consecutive_local_origin_failure", n, "outlierDetection.consecutiveLocalOriginFailures", od.at("consecutiveLocalOriginFailures"))
			c.out.set(at+"enforcing_consecutive_local_origin_failure", int64(100), "outlierDetection.consecutiveLocalOriginFailures", od.at("consecutiveLocalOriginFailures"))
		}
		c.out.set(at+"enforcing_local_origin_success_rate", int64(0), "", byIstio)
	}
	if percent == 0 {
		from = byIstio
	}
	if percent >= 0 {
		if trafficDistribution(c.owner) != "" {
			percent = 0
		}
		c.percent(panicThreshold, float64(percent), "outlierDetection.minHealthPercent", from)
	}
}

// enforced: a threshold of 0 switches its check off.
func enforced(threshold int64) int64 {
	if threshold == 0 {
		return 0
	}
	return 100
}

// trafficDistribution is what the target says of where its traffic should stay, "" if nothing. Source: Istio's
// pilot/pkg/model, GetTrafficDistribution.
func trafficDistribution(t *mesh.Target) string {
	o := t.Object
	named := o.Spec().Get("trafficDistribution").Str()
	if own := o.Annotation("networking.istio.io/traffic-distribution"); named == "" || o.Kind != object.Service {
		named = own
	}
	switch named {
	case "PreferClose", "PreferSameZone", "PreferSameNode":
		return named
	}
	return ""
}
