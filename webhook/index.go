package webhook

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/mesh"
	"github.com/meshvet/meshvet/lint/object"
)

// Index is the mesh as the informers have last seen it. It is safe for concurrent use.
type Index struct {
	mu       sync.Mutex
	settings mesh.Settings  // as the configuration has them
	config   *object.Object // the ConfigMap with Istio's mesh configuration, nil if there is none
	complete map[object.Kind]bool
	store    *mesh.Store
}

// NewIndex returns an empty index.
func NewIndex(settings mesh.Settings) *Index {
	x := &Index{settings: settings, complete: map[object.Kind]bool{}}
	x.rebuild(nil)
	return x
}

// Snapshot returns the mesh as it is now; later changes do not touch it.
func (x *Index) Snapshot() *mesh.Index {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.store.Snapshot()
}

// Put adds an object, or replaces the one with its key.
func (x *Index) Put(o *object.Object) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if o.Kind == object.ConfigMap {
		x.setConfig(o)
		return
	}
	x.store.Put(o)
}

// Delete removes the object with a key.
func (x *Index) Delete(k object.Key) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if k.Kind == object.ConfigMap {
		x.setConfig(nil)
		return
	}
	x.store.Delete(k)
}

// SetComplete says whether the index holds every object of a kind.
func (x *Index) SetComplete(k object.Kind, complete bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.complete[k] == complete {
		return
	}
	x.complete[k] = complete
	if complete {
		x.store.MarkComplete(k)
	} else {
		x.store.MarkIncomplete(k)
	}
}

// Retain removes the objects of a kind for which keep is false: those that went away while nobody watched.
func (x *Index) Retain(k object.Kind, keep func(object.Key) bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if k == object.ConfigMap {
		if x.config != nil && !keep(x.config.Key) {
			x.setConfig(nil)
		}
		return
	}
	var gone []object.Key
	for o := range x.store.Snapshot().All(k) {
		if !keep(o.Key) {
			gone = append(gone, o.Key)
		}
	}
	if len(gone) > 0 {
		x.store.Delete(gone...)
	}
}

// Configure takes over what a new configuration says of the mesh.
func (x *Index) Configure(settings mesh.Settings) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.settings = settings
	x.rebuild(x.store.Snapshot())
}

// setConfig takes over a mesh configuration. All that is known of the mesh depends on it, so the index is made anew; it changes
// with an upgrade of Istio, not with every deployment.
func (x *Index) setConfig(o *object.Object) {
	if text(x.config) == text(o) {
		x.config = o
		return
	}
	x.config = o
	x.rebuild(x.store.Snapshot())
}

func text(config *object.Object) string {
	if config == nil {
		return ""
	}
	return config.Root().At("data", "mesh").Str()
}

// rebuild makes the store anew with the objects of an index.
func (x *Index) rebuild(from *mesh.Index) {
	settings := x.settings
	if !settings.MeshConfig.Set() && x.config != nil {
		settings.MeshConfig, settings.MeshConfigSource = mesh.FindMeshConfig([]*object.Object{x.config}, settings.RootNamespace)
	}
	x.store = mesh.NewStore(settings)
	for _, k := range lint.AllKinds() {
		if from != nil {
			x.store.Put(slices.Collect(from.All(k))...)
		}
		if x.complete[k] {
			x.store.MarkComplete(k)
		}
	}
}

// count is the number of objects of a kind, in a snapshot of the index.
func (x *Index) count(ix *mesh.Index, k object.Kind) int {
	if k != object.ConfigMap {
		return ix.Count(k)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.config == nil {
		return 0
	}
	return 1
}

// rootNamespace is where the mesh configuration is looked for.
func rootNamespace(s *mesh.Settings) string {
	return cmp.Or(strings.TrimSpace(s.RootNamespace), "istio-system")
}
