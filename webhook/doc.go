// Package webhook is the admission server: it answers the requests of a Kubernetes API server about ServiceEntries and
// DestinationRules with the findings of the engine.
//
// Informers feed an index of the mesh (watch.go, index.go). A request lays its object over a snapshot of that index, the engine
// judges it (judge.go), a pure function weighs the findings (decide.go), and another one words the answer (response.go). What
// goes wrong on the way is answered as webhook.onError of the configuration says, never left to a library's default: an error
// inside a webhook would be a denial, which failurePolicy does not soften.
//
// The package knows the engine and controller-runtime. It does not know the rules, which it is handed, nor cobra.
package webhook
