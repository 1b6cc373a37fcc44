// Package webhook is the place of the admission server, which answers requests of a Kubernetes API server with the findings of
// the engine. So far it only says what the server reads and which rights it needs; require.go keeps the version of
// controller-runtime that the server is to be built on in the module's graph, so that every other dependency is resolved
// together with it.
package webhook
