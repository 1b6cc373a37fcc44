package webhook

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

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
	now      func() time.Time

	// What was admitted counts before the informers see it, so that the DestinationRule that follows its ServiceEntry in one kubectl apply is
	// judged in the light of it.
	expected map[object.Key]*expectation
	due      []*expectation // by the time at which they end
}

// expectation is a change that was admitted and not yet seen.
type expectation struct {
	key    object.Key
	before *object.Object // what the informers had last seen, nil if nothing
	ends   time.Time
}

const (
	// expectFor is how long a change counts that is not seen: something after the webhook has refused it.
	expectFor = 2 * time.Second
	// mostExpected bounds the changes that wait to be seen.
	mostExpected = 1000
)

// NewIndex returns an empty index.
func NewIndex(settings mesh.Settings) *Index {
	x := &Index{settings: settings, complete: map[object.Kind]bool{}, now: time.Now, expected: map[object.Key]*expectation{}}
	x.rebuild(nil)
	return x
}

// Snapshot returns the mesh as it is now; later changes do not touch it.
func (x *Index) Snapshot() *mesh.Index {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.expire()
	return x.store.Snapshot()
}

// Expect takes over a change that was admitted: an object, or its removal (nil). If the informers do not see it soon, it is taken back.
func (x *Index) Expect(k object.Key, o *object.Object) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.expire()
	if len(x.due) >= mostExpected {
		return
	}
	e := &expectation{key: k, before: x.store.Snapshot().Get(k), ends: x.now().Add(expectFor)}
	if earlier := x.expected[k]; earlier != nil {
		e.before = earlier.before
	}
	x.expected[k] = e
	x.due = append(x.due, e)
	x.set(k, o)
}

// expire takes back the changes that nobody has seen in time.
func (x *Index) expire() {
	for len(x.due) > 0 && !x.now().Before(x.due[0].ends) {
		e := x.due[0]
		x.due = x.due[1:]
		if x.expected[e.key] == e {
			delete(x.expected, e.key)
			x.set(e.key, e.before)
		}
	}
}

func (x *Index) set(k object.Key, o *object.Object) {
	if o == nil {
		x.store.Delete(k)
	} else {
		x.store.Put(o)
	}
}

// Put adds an object, or replaces the one with its key.
func (x *Index) Put(o *object.Object) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if o.Kind == object.ConfigMap {
		x.setConfig(o)
		return
	}
	delete(x.expected, o.Key)
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
	delete(x.expected, k)
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
	for key, e := range x.expected { // not to come back when it is taken back
		if key.Kind == k && !keep(key) {
			e.before = nil
		}
	}
	var gone []object.Key
	for o := range x.store.Snapshot().All(k) {
		if !keep(o.Key) && x.expected[o.Key] == nil {
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
	if reflect.DeepEqual(x.settings, settings) {
		return
	}
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
