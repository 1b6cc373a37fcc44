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

// WarningList is a rest.WarningHandler that collects.
type WarningList struct {
	mu   sync.Mutex
	said []string
}

// HandleWarningHeader is part of rest.WarningHandler.
func (w *WarningList) HandleWarningHeader(_ int, _, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.said = append(w.said, text)
}

// Take returns what was collected since it was last asked.
func (w *WarningList) Take() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	said := w.said
	w.said = nil
	return said
}
