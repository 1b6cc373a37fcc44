package mesh

import (
	"hash/maphash"
	"iter"
	"maps"
	"slices"
	"sync"

	"github.com/meshvet/meshvet/lint/object"
)

// Index is an immutable view of one mesh.
type Index struct {
	settings  *Settings
	seed      maphash.Seed
	providers map[Host]bool // hosts that serve the proxies themselves, as the mesh configuration says

	objects  shards[object.Key, []*object.Object] // the last one counts; more than one means duplicates in files
	byKind   map[object.Kind]shards[object.Key, *object.Object]
	targets  lists[Host, *Target] // by each of their hosts, the oldest first
	names    hostSet              // hosts of targets and rules
	rules    lists[Host, *DestinationRule]
	opaque   lists[listener, *Target]          // ServiceEntries by the listeners that their ports may need for themselves
	spelt    lists[Host, *object.Object]       // ServiceEntries and DestinationRules by the hosts that they may have meant
	oddHosts []Host                            // wildcards among names whose star is not a whole label
	ways                                       // what VirtualServices and HTTPRoutes say
	choosing lists[label, *object.Object]      // Services by each label that they choose pods by
	policies lists[object.Key, *object.Object] // BackendTLSPolicies by the object that they are for, by name
	workload lists[string, *object.Object]     // WorkloadEntries by namespace, by name
	spaces   shards[string, int]               // objects per namespace
	complete map[object.Kind]bool
	ambient  int // objects whose labels bind hosts or namespaces to the ambient data plane
	wild     int // DestinationRules with a wildcard host
	http80   int // targets for which sidecars read requests on port 80

	caches caches
}

// New returns an empty index.
func New(settings Settings) *Index {
	s := withDefaults(settings)
	return &Index{settings: &s, seed: maphash.MakeSeed(), providers: s.providers(), caches: newCaches()}
}

// Settings returns what is known of the mesh besides its objects.
func (x *Index) Settings() *Settings { return x.settings }

// With returns the index with objects added; one with the key of an object that is there takes its place.
func (x *Index) With(objects ...*object.Object) *Index {
	y, e := x.fork()
	for _, o := range objects {
		y.put(e, o)
	}
	return y
}

// Without returns the index without the objects of these keys.
func (x *Index) Without(keys ...object.Key) *Index {
	y, e := x.fork()
	for _, k := range keys {
		if have, ok := y.objects.get(y.seed, normal(k)); ok {
			for _, o := range have {
				y.drop(e, o)
			}
		}
	}
	return y
}

// WithComplete returns the index with kinds marked as completely known: of these, what is not in the index does not exist.
func (x *Index) WithComplete(kinds ...object.Kind) *Index {
	y, _ := x.fork()
	y.know(kinds, true)
	return y
}

// know marks kinds as complete, or as not.
func (x *Index) know(kinds []object.Kind, complete bool) {
	x.complete = maps.Clone(x.complete)
	if x.complete == nil {
		x.complete = map[object.Kind]bool{}
	}
	for _, k := range kinds {
		x.complete[k] = complete
	}
	x.caches.forget(onCompleteness)
}

// fork copies the index, so that the copy can be written without the original seeing it.
func (x *Index) fork() (*Index, *edit) {
	y := *x
	y.byKind = maps.Clone(x.byKind)
	if y.byKind == nil {
		y.byKind = map[object.Kind]shards[object.Key, *object.Object]{}
	}
	return &y, &edit{x.seed}
}

// normal is the key under which an object is kept: one without a namespace counts as in "default".
func normal(k object.Key) object.Key {
	if k.Namespace == "" && k.Kind != object.Namespace {
		k.Namespace = "default"
	}
	return k
}

func (x *Index) put(e *edit, o *object.Object) {
	if o.Stray {
		return
	}
	key := normal(o.Key)
	if have, ok := x.objects.get(e.seed, key); ok {
		current := have[len(have)-1]
		x.unlink(e, current)
		if current.File() != nil && o.File() != nil && current != o {
			x.objects.set(e, key, append(slices.Clip(have), o))
		} else {
			x.objects.set(e, key, []*object.Object{o})
		}
	} else {
		x.objects.set(e, key, []*object.Object{o})
	}
	x.link(e, o)
}

func (x *Index) drop(e *edit, o *object.Object) {
	key := normal(o.Key)
	if have, ok := x.objects.get(e.seed, key); ok && have[len(have)-1] == o {
		x.unlink(e, o)
		x.objects.delete(e, key)
	}
}

// link enters an object into the indexes that lookups use.
func (x *Index) link(e *edit, o *object.Object) {
	key := normal(o.Key)
	kind := x.byKind[o.Kind]
	kind.set(e, key, o)
	x.byKind[o.Kind] = kind
	x.caches.forget(groundsOf(o.Kind))
	x.count(e, o, 1)
	for _, h := range x.spellings(o) {
		x.spelt.insert(e, h, o, byName)
	}
	switch o.Kind {
	case object.ServiceEntry, object.Service:
		x.linkTarget(e, targetOf(o, x.settings.ClusterDomain))
	case object.DestinationRule:
		if r := ruleOf(o, x.settings.ClusterDomain); r.Host != "" {
			x.rules.insert(e, r.Host, r, olderRule)
			x.name(e, r.Host)
			x.countWild(r.Host, 1)
		}
	case object.VirtualService, object.HTTPRoute:
		x.linkWays(e, o)
	case object.BackendTLSPolicy:
		for _, k := range policyTargets(o) {
			x.policies.insert(e, k, o, byName)
		}
	case object.WorkloadEntry:
		x.workload.insert(e, NamespaceOf(o), o, byName)
	}
}

func (x *Index) linkTarget(e *edit, t *Target) {
	for _, h := range t.Hosts {
		x.targets.insert(e, h, t, olderTarget)
		x.name(e, h)
	}
	for _, l := range x.opaqueListeners(t) {
		x.opaque.insert(e, l, t, olderTarget)
	}
	if x.onHTTP80(t) {
		x.http80++
	}
	for _, l := range labelsChosen(t.Object) {
		x.choosing.insert(e, l, t.Object, byName)
	}
}

func (x *Index) unlink(e *edit, o *object.Object) {
	is := func(have *object.Object) bool { return have == o }
	kind := x.byKind[o.Kind]
	kind.delete(e, normal(o.Key))
	x.byKind[o.Kind] = kind
	x.caches.forget(groundsOf(o.Kind))
	x.count(e, o, -1)
	for _, h := range x.spellings(o) {
		x.spelt.remove(e, h, is)
	}
	switch o.Kind {
	case object.ServiceEntry, object.Service:
		x.unlinkTarget(e, x.Target(o))
	case object.DestinationRule:
		if host := QualifyHost(o.Spec().Get("host").Str(), NamespaceOf(o), x.settings.ClusterDomain); host != "" {
			x.rules.remove(e, host, func(have *DestinationRule) bool { return have.Object == o })
			x.unname(e, host)
			x.countWild(host, -1)
		}
	case object.VirtualService, object.HTTPRoute:
		x.unlinkWays(e, o)
	case object.BackendTLSPolicy:
		for _, k := range policyTargets(o) {
			x.policies.remove(e, k, is)
		}
	case object.WorkloadEntry:
		x.workload.remove(e, NamespaceOf(o), is)
	}
}

func (x *Index) unlinkTarget(e *edit, t *Target) {
	is := func(have *Target) bool { return have.Object == t.Object }
	for _, h := range t.Hosts {
		x.targets.remove(e, h, is)
		x.unname(e, h)
	}
	for _, l := range x.opaqueListeners(t) {
		x.opaque.remove(e, l, is)
	}
	if x.onHTTP80(t) {
		x.http80--
	}
	for _, l := range labelsChosen(t.Object) {
		x.choosing.remove(e, l, func(have *object.Object) bool { return have == t.Object })
	}
}

func (x *Index) name(e *edit, h Host) {
	x.names.add(e, h)
	x.noteOdd(h)
}

func (x *Index) unname(e *edit, h Host) {
	if x.names.drop(e, h) {
		x.forgetOdd(h)
	}
}

func (x *Index) count(e *edit, o *object.Object, by int) {
	ns := NamespaceOf(o)
	if o.Kind == object.Namespace {
		ns = o.Name
	}
	if o.Label("istio.io/dataplane-mode") == "ambient" || boundToWaypoint(o) {
		x.ambient += by
	}
	if adjust(&x.spaces, e, ns, by) {
		x.caches.forget(onNamespaces)
	}
}

func (x *Index) countWild(h Host, by int) {
	if h.IsWildcard() {
		x.wild += by
	}
}

// byName orders objects by name, then namespace.
func byName(a, b *object.Object) bool { return older("", "", a, b) }

// WildcardRules is the number of DestinationRules with a wildcard host.
func (x *Index) WildcardRules() int { return x.wild }

// noteOdd remembers wildcards that label walks do not find.
func (x *Index) noteOdd(h Host) {
	if h.IsWildcard() && !h.onLabel() && !slices.Contains(x.oddHosts, h) {
		x.oddHosts = append(slices.Clip(x.oddHosts), h)
		slices.SortFunc(x.oddHosts, func(a, b Host) int {
			if moreSpecific(a, b) {
				return -1
			}
			return 1
		})
	}
}

// forgetOdd forgets one that no target or rule has any more.
func (x *Index) forgetOdd(h Host) {
	if i := slices.Index(x.oddHosts, h); i >= 0 {
		x.oddHosts = slices.Delete(slices.Clone(x.oddHosts), i, i+1)
	}
}

// Get returns the object with a key, nil if there is none.
func (x *Index) Get(k object.Key) *object.Object {
	list, _ := x.objects.get(x.seed, normal(k))
	if len(list) == 0 {
		return nil
	}
	return list[len(list)-1]
}

// Duplicates returns all objects that were read with one key, in the order of reading.
func (x *Index) Duplicates(k object.Key) []*object.Object {
	list, _ := x.objects.get(x.seed, normal(k))
	return list
}

// All yields the objects of a kind, ordered by key.
func (x *Index) All(kind object.Kind) iter.Seq[*object.Object] {
	return func(yield func(*object.Object) bool) {
		s := x.byKind[kind]
		var list []*object.Object
		for _, o := range s.all() {
			list = append(list, o)
		}
		slices.SortFunc(list, func(a, b *object.Object) int {
			if byName(a, b) {
				return -1
			}
			return 1
		})
		for _, o := range list {
			if !yield(o) {
				return
			}
		}
	}
}

// Count returns the number of objects of a kind.
func (x *Index) Count(kind object.Kind) int { return x.byKind[kind].n }

// HasGateway says whether a namespace holds a Gateway.
func (x *Index) HasGateway(ns string) bool {
	return cached(x, gatewayHomesCache, theOnly{}, (*Index).gatewayHomes)[ns]
}

func (x *Index) gatewayHomes(theOnly) map[string]bool {
	out := map[string]bool{}
	for gw := range x.All(object.Gateway) {
		out[NamespaceOf(gw)] = true
	}
	return out
}

// Complete says whether the index holds every object of a kind that exists in the mesh.
func (x *Index) Complete(kind object.Kind) bool {
	return x.complete[kind] && x.settings.Unread[kind] == ""
}

// HasNamespace says whether an object of the index lives in a namespace, or is that Namespace.
func (x *Index) HasNamespace(ns string) bool {
	n, _ := x.spaces.get(x.seed, ns)
	return n > 0
}

// Namespaces returns the namespaces of all objects, sorted.
func (x *Index) Namespaces() []string {
	return cached(x, namespacesCache, theOnly{}, func(x *Index, _ theOnly) []string {
		var out []string
		for ns := range x.spaces.all() {
			out = append(out, ns)
		}
		slices.Sort(out)
		return out
	})
}

// Store is an index that changes. It is safe for concurrent use.
type Store struct {
	mu    sync.Mutex
	index *Index
	e     *edit // while nobody holds index, writes go into it directly
}

// NewStore returns an empty store.
func NewStore(settings Settings) *Store { return &Store{index: New(settings)} }

// Snapshot returns the index as it is now; later changes do not touch it.
func (s *Store) Snapshot() *Index {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.e = nil
	return s.index
}

// Put adds an object or replaces the one with its key.
func (s *Store) Put(objects ...*object.Object) {
	s.change(func(e *edit) {
		for _, o := range objects {
			s.index.put(e, o)
		}
	})
}

// Delete removes the object with a key.
func (s *Store) Delete(keys ...object.Key) {
	s.change(func(e *edit) {
		for _, k := range keys {
			if o := s.index.Get(k); o != nil {
				s.index.drop(e, o)
			}
		}
	})
}

// MarkComplete says that the store holds every object of these kinds.
func (s *Store) MarkComplete(kinds ...object.Kind) {
	s.change(func(*edit) { s.index.know(kinds, true) })
}

// MarkIncomplete says that there may be objects of these kinds that the store does not hold.
func (s *Store) MarkIncomplete(kinds ...object.Kind) {
	s.change(func(*edit) { s.index.know(kinds, false) })
}

func (s *Store) change(f func(*edit)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.e == nil {
		s.index, s.e = s.index.fork()
	}
	f(s.e)
}
