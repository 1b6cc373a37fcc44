package verify

import (
	"fmt"
	"slices"
	"strings"

	"github.com/meshvet/meshvet/lint/effective"
	"github.com/meshvet/meshvet/lint/envoy"
)

// Retries are what a traffic policy decides of a route that sends to a cluster.
type Retries struct {
	Cluster string
	Text    string // "2 retries, timeout 0s", and what requests are told apart by
	// Config is Istio's name for the object that the route was made from, such as
	// /apis/networking.istio.io/v1/namespaces/shop/virtual-service/bookings; "" if Istio made it by itself.
	Config string
}

// RouteRetries finds the routes of a route configuration that send to one outbound cluster, decoded from JSON in either spelling.
func RouteRetries(config map[string]any) []Retries {
	var out []Retries
	var walk func(v any, madeFrom string)
	walk = func(v any, madeFrom string) {
		switch v := v.(type) {
		case map[string]any:
			if own := configOf(v); own != "" {
				madeFrom = own
			}
			cluster, _ := v["cluster"].(string)
			if timeout, isRoute := v["timeout"]; isRoute && strings.HasPrefix(cluster, outbound) {
				out = append(out, Retries{Cluster: cluster, Text: routeText(attemptsOf(v), envoy.Text(timeout), hashOf(v)), Config: madeFrom})
			}
			for _, item := range v {
				walk(item, madeFrom)
			}
		case []any:
			for _, item := range v {
				walk(item, madeFrom)
			}
		}
	}
	walk(config, "")
	return out
}

func attemptsOf(route map[string]any) string {
	for _, key := range []string{"retryPolicy", "retry_policy"} {
		if policy, ok := route[key].(map[string]any); ok {
			for _, n := range []string{"numRetries", "num_retries"} {
				if v, ok := policy[n]; ok {
					return envoy.Text(v)
				}
			}
		}
	}
	return "0"
}

// hashOf are the leaves of what a route tells requests apart by.
func hashOf(route map[string]any) envoy.Leaves {
	policies, ok := route["hashPolicy"]
	if !ok {
		policies = route["hash_policy"]
	}
	return envoy.Flatten(map[string]any{"hash_policy": policies})
}

func routeText(attempts, timeout string, hash envoy.Leaves) string {
	text := fmt.Sprintf("%s retries, timeout %s", attempts, timeout)
	for _, path := range hash.Paths() {
		text += fmt.Sprintf(", %s %s", path, hash[path])
	}
	return text
}

// CompareRetries compares the routes that lead to a cluster with those that Envoy has. Every retry that Envoy has must be one that
// was predicted; routes that were predicted and are not there may be on another proxy.
func CompareRetries(c *effective.Cluster, have []Retries) []Difference {
	var want []string
	for _, r := range c.Retries {
		want = append(want, routeText(fmt.Sprint(r.Attempts), envoy.Text(fmt.Sprintf("%.9fs", r.Timeout.Seconds())), effective.Leaves(r.Hash)))
	}
	var out []Difference
	for _, h := range have {
		if h.Cluster != c.Name() || slices.Contains(want, h.Text) {
			continue
		}
		d := Difference{Path: "route.retry_policy", Predicted: strings.Join(want, "; "), Actual: h.Text}
		if len(c.Retries) > 0 {
			d.Setting = &effective.Setting{Field: "VirtualService.http.retries", Envoy: d.Path, Value: d.Predicted, Origin: c.Retries[0].Origin}
		}
		if !slices.ContainsFunc(out, func(o Difference) bool { return o.Actual == d.Actual }) {
			out = append(out, d)
		}
	}
	return out
}
