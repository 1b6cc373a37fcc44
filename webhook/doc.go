// Package webhook is the place of the admission server, which answers requests of a Kubernetes API server with the findings of
// the engine. It holds no code yet: require.go only keeps the version of controller-runtime that the server is to be built on in
// the module's graph, so that every other dependency is resolved together with it.
package webhook
