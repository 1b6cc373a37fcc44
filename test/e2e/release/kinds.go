package release

import (
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// ServiceEntries and DestinationRules are the resources that are reviewed.
var (
	ServiceEntries   = schema.GroupVersionResource{Group: "networking.istio.io", Version: "v1", Resource: "serviceentries"}
	DestinationRules = schema.GroupVersionResource{Group: "networking.istio.io", Version: "v1", Resource: "destinationrules"}
)

// warningList is a rest.WarningHandler that collects.
type warningList struct {
	mu   sync.Mutex
	said []string
}

func (w *warningList) HandleWarningHeader(_ int, _, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.said = append(w.said, text)
}

func (w *warningList) take() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	said := w.said
	w.said = nil
	return said
}
