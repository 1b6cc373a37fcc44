package effective

import (
	"github.com/meshvet/meshvet/lint/object"
)

// Breakers are the fields of a connectionPool that Istio compiles to circuit_breakers.thresholds[0]. Whichever is not set, or 0,
// is written as Unlimited.
var Breakers = [...]object.Path{
	{"connectionPool", "tcp", "maxConnections"},
	{"connectionPool", "http", "http1MaxPendingRequests"},
	{"connectionPool", "http", "http2MaxRequests"},
	{"connectionPool", "http", "maxRetries"},
}

// SetsSomeBreakers says whether a traffic policy sets at least one circuit breaker and leaves at least one unlimited.
func SetsSomeBreakers(policy object.Value) bool {
	set := 0
	for _, path := range Breakers {
		if policy.At(path...).Int() > 0 {
			set++
		}
	}
	return set > 0 && set < len(Breakers)
}
