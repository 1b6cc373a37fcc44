// Package verify compares what effective predicts with what an Envoy really has: clusters, the tcp_proxy filters of listeners and
// the retries of routes, leaf by leaf.
package verify
