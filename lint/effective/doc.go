// Package effective works out which traffic policy Envoy really runs for a port: what a DestinationRule's destination level,
// port entries and subsets come to once Istio has merged them, filled in the mesh's defaults and dropped what the kind of port
// cannot use. Rules about inheritance, defaults and effect read it; none derives a merge by itself.
//
// The merging follows Istio's pilot/pkg/networking/core (cluster_traffic_policy.go, util.MergeTrafficPolicy): a
// portLevelSettings entry replaces the destination level's connectionPool, loadBalancer, outlierDetection and tls whole, and
// proxyProtocol and retryBudget with them; a block that is unset then comes from meshConfig.defaultTrafficPolicy; a subset
// replaces block by block what came of that, and a port entry of the subset the four blocks at once.
package effective
