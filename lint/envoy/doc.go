// Package envoy holds how meshvet writes Envoy configuration down: one spelling of paths and values, into which the shapes of
// istioctl, of Envoy's /config_dump and of Istio's own compiler all come, so that they can be compared leaf by leaf.
package envoy
