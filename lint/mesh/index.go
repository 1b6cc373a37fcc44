package mesh

import (
	"hash/maphash"
	"iter"
	"slices"
	"strings"
	"sync"

	"github.com/meshvet/meshvet/lint/object"
)

// Index is an immutable view of one mesh.
type Index struct {
	settings *Settings
	seed     maphash.Seed

	objects  shards[object.Key, []*object.Object] // the last one counts; more than one means duplicates in files
	byKind   map[object.Kind]*shards[object.Key, *object.Object]
	targets  lists[Host, *Target] // by each of their hosts, the oldest first
	under    lists[string, Host]  // hosts of targets and rules by every suffix of whole labels, for wildcards
	rules    lists[Host, *DestinationRule]
	routes   lists[Host, *Route]           // http routes by the host of their destination
	virtual  lists[Host, *object.Object]   // VirtualServices by each of their hosts, the oldest first
	wildVS   lists[string, *object.Object] // those with a wildcard host by what follows its star
	sentTo   lists[Host, *object.Object]   // VirtualServices by the hosts that their routes lead to
	opaque   lists[listener, *Target]      // ServiceEntries by the listeners that their ports may need for themselves
	spelt    lists[Host, *object.Object]   // ServiceEntries and DestinationRules by the hosts that they may have meant
	spaces   shards[string, int]           // objects per namespace
	oddHosts []Host                        // wildcard hosts of targets and rules whose star is not a whole label
	complete map[object.Kind]bool
	ambient  int // objects whose labels bind hosts or namespaces to the ambient data plane
	wild     int // DestinationRules with a wildcard host
	http80   int // targets for which sidecars read requests on port 80

	namesOnce  sync.Once
	namespaces []string

	destinationsOnce sync.Once
	destinations     map[Host]bool // hosts that routes lead to from somewhere else

	subsetsOnce   sync.Once
	subsets       map[Host][]SubsetRoute // destinations that name a subset
	gatewayOnce   sync.Once
	gatewaySpaces []string

	beyondOnce sync.Once
	beyond     map[Host]bool // to which a gateway has a route

	led *ledTo // made anew when a VirtualService changes

	sidecarOnce   sync.Once
	sidecars      map[string]*sidecars // by namespace
	sidecarSpaces []string

	portsOnce sync.Once
	atPort    map[uint32][]Server // servers of Gateways by port

	pools         sync.Map // of []pools, by the host string of rules, each made when it is first asked for
	entrances     sync.Map // of entrance, by VirtualService, likewise
	idle          sync.Map // of IdleRoutes, likewise
	sidecarRoutes sync.Map // of bool: whether a VirtualService has routes for sidecars, likewise
	deadEnds      sync.Map // of []DeadEnd, likewise
	servers       sync.Map // of []Server, by host and port of a Service, likewise
	clients       sync.Map // of []string, the client namespaces of a target, likewise
	cleartext     sync.Map // of bool: whether http routes lead to a port of a host, likewise
	gathered      sync.Mutex
	gatherings    map[any]*gathering // by Host or listener, each made when it is first asked for
}

// New returns an empty index.
func New(settings Settings) *Index {
	s := withDefaults(settings)
	return &Index{settings: &s, seed: maphash.MakeSeed(), led: &ledTo{}, byKind: map[object.Kind]*shards[object.Key, *object.Object]{}}
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
	for _, k := range kinds {
		y.complete[k] = true
	}
	return y
}

func (x *Index) fork() (*Index, *edit) {
	y := &Index{
		settings: x.settings, seed: x.seed, led: x.led,
		objects: x.objects, targets: x.targets, under: x.under, rules: x.rules, routes: x.routes, virtual: x.virtual, wildVS: x.wildVS, sentTo: x.sentTo, opaque: x.opaque, spelt: x.spelt, spaces: x.spaces, ambient: x.ambient, wild: x.wild, http80: x.http80,
		byKind: make(map[object.Kind]*shards[object.Key, *object.Object], len(x.byKind)+1), oddHosts: x.oddHosts, complete: make(map[object.Kind]bool, len(x.complete)),
	}
	for k, s := range x.byKind {
		c := *s
		c.fork()
		y.byKind[k] = &c
	}
	for k := range x.complete {
		y.complete[k] = true
	}
	y.objects.fork()
	y.targets.fork()
	y.under.fork()
	y.rules.fork()
	y.routes.fork()
	y.virtual.fork()
	y.wildVS.fork()
	y.sentTo.fork()
	y.opaque.fork()
	y.spelt.fork()
	y.spaces.fork()
	return y, &edit{x.seed}
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
	if o.Kind == object.VirtualService {
		x.led = &ledTo{}
	}
	key := normal(o.Key)
	kind := x.byKind[o.Kind]
	if kind == nil {
		kind = new(shards[object.Key, *object.Object])
		kind.fork()
		x.byKind[o.Kind] = kind
	}
	kind.set(e, key, o)
	x.count(e, o, 1)
	for _, r := range x.routesOf(o) {
		x.routes.insert(e, r.Host, r, func(a, b *Route) bool { return older("", "", a.Object, b.Object) })
	}
	for _, h := range x.virtualHosts(o) {
		x.virtual.insert(e, h, o, olderVirtualService)
		if h.IsWildcard() {
			x.wildVS.insert(e, string(h[1:]), o, olderVirtualService)
		}
	}
	for _, h := range x.destinationsOf(o) {
		x.sentTo.insert(e, h, o, olderVirtualService)
	}
	for _, h := range x.spellings(o) {
		x.spelt.insert(e, h, o, func(a, b *object.Object) bool { return older("", "", a, b) })
	}
	if t := targetOf(o, x.settings.ClusterDomain); t != nil {
		for _, h := range t.Hosts {
			x.name(e, h)
			x.targets.insert(e, h, t, olderTarget)
			x.noteOdd(h)
		}
		for _, l := range x.opaqueListeners(t) {
			x.opaque.insert(e, l, t, olderTarget)
		}
		if x.onHTTP80(t) {
			x.http80++
		}
	}
	if o.Kind == object.DestinationRule {
		if r := ruleOf(o, x.settings.ClusterDomain); r.Host != "" {
			x.name(e, r.Host)
			x.rules.insert(e, r.Host, r, olderRule)
			x.noteOdd(r.Host)
			x.countWild(r.Host, 1)
		}
	}
}

func (x *Index) unlink(e *edit, o *object.Object) {
	if o.Kind == object.VirtualService {
		x.led = &ledTo{}
	}
	key := normal(o.Key)
	if kind := x.byKind[o.Kind]; kind != nil {
		kind.delete(e, key)
	}
	x.count(e, o, -1)
	for _, r := range x.routesOf(o) {
		x.routes.remove(e, r.Host, func(have *Route) bool { return have.Object == o })
	}
	for _, h := range x.virtualHosts(o) {
		same := func(have *object.Object) bool { return have == o }
		x.virtual.remove(e, h, same)
		if h.IsWildcard() {
			x.wildVS.remove(e, string(h[1:]), same)
		}
	}
	for _, h := range x.destinationsOf(o) {
		x.sentTo.remove(e, h, func(have *object.Object) bool { return have == o })
	}
	for _, h := range x.spellings(o) {
		x.spelt.remove(e, h, func(have *object.Object) bool { return have == o })
	}
	if t := targetOf(o, x.settings.ClusterDomain); t != nil {
		for _, h := range t.Hosts {
			x.targets.remove(e, h, func(have *Target) bool { return have.Object == o })
			x.unname(e, h)
		}
		for _, l := range x.opaqueListeners(t) {
			x.opaque.remove(e, l, func(have *Target) bool { return have.Object == o })
		}
		if x.onHTTP80(t) {
			x.http80--
		}
	}
	if o.Kind == object.DestinationRule {
		host := QualifyHost(o.Spec().Get("host").Str(), NamespaceOf(o), x.settings.ClusterDomain)
		if host != "" {
			x.rules.remove(e, host, func(have *DestinationRule) bool { return have.Object == o })
			x.unname(e, host)
			x.countWild(host, -1)
		}
	}
}

// name enters a host, before its first target or rule, into the lists by which wildcards find it.
func (x *Index) name(e *edit, h Host) {
	if len(x.targets.at(e.seed, h))+len(x.rules.at(e.seed, h)) == 0 {
		for suffix := range suffixesOf(h) {
			x.under.insert(e, suffix, h, func(Host, Host) bool { return false })
		}
	}
}

// unname takes a host out of them after its last target or rule.
func (x *Index) unname(e *edit, h Host) {
	if len(x.targets.at(e.seed, h))+len(x.rules.at(e.seed, h)) == 0 {
		for suffix := range suffixesOf(h) {
			x.under.remove(e, suffix, func(have Host) bool { return have == h })
		}
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
	n, _ := x.spaces.get(e.seed, ns)
	if n += by; n > 0 {
		x.spaces.set(e, ns, n)
	} else {
		x.spaces.delete(e, ns)
	}
}

func (x *Index) countWild(h Host, by int) {
	if h.IsWildcard() {
		x.wild += by
	}
}

// WildcardRules is the number of DestinationRules with a wildcard host.
func (x *Index) WildcardRules() int { return x.wild }

// noteOdd remembers wildcards that label walks do not find. The list only grows; an entry without objects matches nothing.
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

// suffixesOf yields ".b.c", ".c" and "" for a.b.c; for a wildcard its own suffix too. They are parts of h, so that a long name
// does not cost the square of its length.
func suffixesOf(h Host) iter.Seq[string] {
	return func(yield func(string) bool) {
		s, from := string(h), 0
		if h.IsWildcard() {
			if s = s[1:]; !yield(s) || s == "" {
				return
			}
			if s[0] == '.' {
				from = 1
			}
		}
		for dot := strings.IndexByte(s[from:], '.'); dot >= 0; dot = strings.IndexByte(s[from:], '.') {
			if s = s[from+dot:]; !yield(s) {
				return
			}
			from = 1
		}
		yield("")
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
		if s == nil {
			return
		}
		var list []*object.Object
		for _, o := range s.all() {
			list = append(list, o)
		}
		slices.SortFunc(list, func(a, b *object.Object) int {
			if older("", "", a, b) {
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
func (x *Index) Count(kind object.Kind) int {
	if s := x.byKind[kind]; s != nil {
		return s.n
	}
	return 0
}

// AnyIn says whether a namespace holds an object of a kind.
func (x *Index) AnyIn(kind object.Kind, ns string) bool {
	if s := x.byKind[kind]; s != nil {
		for _, o := range s.all() {
			if NamespaceOf(o) == ns {
				return true
			}
		}
	}
	return false
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
	x.namesOnce.Do(func() {
		for ns := range x.spaces.all() {
			x.namespaces = append(x.namespaces, ns)
		}
		slices.Sort(x.namespaces)
	})
	return x.namespaces
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
	s.change(func(*edit) {
		for _, k := range kinds {
			s.index.complete[k] = true
		}
	})
}

// MarkIncomplete says that there may be objects of these kinds that the store does not hold.
func (s *Store) MarkIncomplete(kinds ...object.Kind) {
	s.change(func(*edit) {
		for _, k := range kinds {
			delete(s.index.complete, k)
		}
	})
}

func (s *Store) change(f func(*edit)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.e == nil {
		s.index, s.e = s.index.fork()
	}
	f(s.e)
}
