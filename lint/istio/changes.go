package istio

// Change is something that versions of Istio do differently.
type Change struct {
	// Kind, In and Field name a field of a CustomResourceDefinition by the one that it stands in; Value says that Field is a value of
	// the enum In. Kind is "" for what is no field of one, and "MeshConfig" for the mesh configuration.
	Kind, In, Field string
	Value           bool
	// Since is the first release known to have it; the ones with 1.25 are only known not to be in 1.24.
	Since Release
	// Envoy is where it is compiled to in a cluster, Now what becomes of it, Before what older versions do. Older ones do not know a
	// field that is new.
	Envoy, Now, Before string
	// Proven says that the oracle has shown Now. Before is read, never compiled.
	Proven bool
}

// The changes on which predictions hang.
var (
	MeshTrafficPolicy = &Change{
		Kind: "MeshConfig", Field: "defaultTrafficPolicy", Since: Release{1, 31}, Proven: true,
		Now: "fills connectionPool and outlierDetection where a rule has none",
	}
	PanicThreshold = &Change{
		Field: "minHealthPercent without outlierDetection", Since: Release{1, 31}, Proven: true,
		Envoy: "common_lb_config.healthy_panic_threshold", Now: "0 is written", Before: "nothing is written, so that Envoy's 50 % holds",
	}
	HTTP2KeepAlive = &Change{
		Kind: "DestinationRule", In: "http", Field: "http2KeepAlive", Since: Release{1, 31}, Proven: true,
		Envoy: "http2_protocol_options.connection_keepalive", Now: "is written where Envoy speaks HTTP/2",
	}
	ZoneAware = &Change{
		Kind: "DestinationRule", In: "loadBalancer", Field: "zoneAwareLbSetting", Since: Release{1, 31}, Proven: true,
		Envoy: "common_lb_config.zone_aware_lb_config", Now: "takes the place of localityLbSetting",
	}
	RetryBudget = &Change{
		Kind: "DestinationRule", In: "trafficPolicy", Field: "retryBudget", Since: Release{1, 25}, Proven: true,
		Envoy: "circuit_breakers.thresholds[0].retry_budget", Now: "is written",
	}
	RetryBudgetInterval = &Change{
		Kind: "DestinationRule", In: "retryBudget", Field: "budgetInterval", Since: Release{1, 31}, Proven: true,
		Envoy: "circuit_breakers.thresholds[0].retry_budget.budget_interval", Now: "is written",
	}
)

// Changes is the table. Source: the CRDs in the releases of istio.io/api; Istio's source of April 2026 (1.31 in development, with
// the API of 1.30) and of August 2026, which the oracle compiles.
func Changes() []*Change {
	const unknown = "is in the API; what becomes of it is not known here"
	return []*Change{
		{Kind: "DestinationRule", In: "httpCookie", Field: "attributes", Since: Release{1, 25}, Now: "goes to the route's hash policy"},
		RetryBudget,
		{Kind: "ServiceEntry", In: "resolution", Field: "DYNAMIC_DNS", Value: true, Since: Release{1, 25}, Envoy: "cluster_type", Now: "a dynamic_forward_proxy for wildcard hosts", Proven: true},
		MeshTrafficPolicy,
		PanicThreshold,
		HTTP2KeepAlive,
		ZoneAware,
		{Kind: "DestinationRule", In: "outlierDetection", Field: "outlierDetectionHttpErrorCodes", Since: Release{1, 31}, Now: "is accepted and ignored", Proven: true},
		RetryBudgetInterval,
		{Kind: "DestinationRule", In: "loadBalancer", Field: "backendUtilization", Since: Release{1, 32}, Now: unknown},
		{Kind: "DestinationRule", In: "outlierDetection", Field: "failurePercentageThreshold", Since: Release{1, 32}, Now: unknown},
		{Kind: "DestinationRule", In: "tls", Field: "caCertCredentialName", Since: Release{1, 32}, Now: unknown},
	}
}
