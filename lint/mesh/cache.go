package mesh

import (
	"sync"
	"sync/atomic"

	"github.com/meshvet/meshvet/lint/object"
)

// grounds are what something that is worked out of an index depends on.
type grounds uint32

const (
	onServiceEntries grounds = 1 << iota
	onDestinationRules
	onServices
	onVirtualServices
	onHTTPRoutes
	onGateways
	onSidecars
	onEnvoyFilters
	onNamespaceObjects
	onNamespaces   // which namespaces there are: see Index.HasNamespace
	onCompleteness // of which kinds everything is known

	onTargets = onServiceEntries | onServices
)

// groundsOf is what changes with an object of a kind. Other kinds are in no cache.
func groundsOf(kind object.Kind) grounds {
	switch kind {
	case object.ServiceEntry:
		return onServiceEntries
	case object.DestinationRule:
		return onDestinationRules
	case object.Service:
		return onServices
	case object.VirtualService:
		return onVirtualServices
	case object.HTTPRoute:
		return onHTTPRoutes
	case object.Gateway:
		return onGateways
	case object.Sidecar:
		return onSidecars
	case object.EnvoyFilter:
		return onEnvoyFilters
	case object.Namespace:
		return onNamespaceObjects
	}
	return 0
}

// cacheID names a cache.
type cacheID int

const (
	namespacesCache   cacheID = iota // []string
	ambientCache                     // []*object.Object, the Namespaces with a label of the ambient data plane
	filtersCache                     // []*object.Object, the EnvoyFilters that count
	sidecarsCache                    // *allSidecars
	serversCache                     // map[uint32][]Server, servers of Gateways by port
	gatewaysCache                    // []string, the namespaces of gateway proxies
	gatewayHomesCache                // map[string]bool, the namespaces of Gateways
	servedCache                      // []Server, by host and port of a Service
	poolsCache                       // []pools, by the host string of rules
	meshBoundCache                   // bool, by VirtualService: whether it has routes for sidecars
	entrancesCache                   // entrance, by VirtualService
	idleCache                        // IdleRoutes, by VirtualService
	deadEndsCache                    // []DeadEnd, by VirtualService
	cleartextCache                   // bool, by destination: whether http routes lead there
	clientsCache                     // []string, the client namespaces of a Target
	gatheringsCache                  // *gathering, by Host or listener
	numCaches
)

// groundsOfCaches is what each cache depends on, beside the settings: it must name all that is read to fill it, whatever calls on the
// way read it. An index shares a cache with the one that it was made from until one of its grounds changes. A cache by object is begun
// anew with the kind of its keys too, so that those that are gone leave nothing behind.
var groundsOfCaches = [numCaches]grounds{
	namespacesCache:   onNamespaces,
	ambientCache:      onNamespaceObjects,
	filtersCache:      onEnvoyFilters,
	sidecarsCache:     onSidecars,
	serversCache:      onGateways,
	gatewaysCache:     onGateways | onServices,
	gatewayHomesCache: onGateways,
	servedCache:       onGateways | onTargets,
	poolsCache:        onDestinationRules,
	meshBoundCache:    onVirtualServices,
	entrancesCache:    onVirtualServices | onTargets,
	idleCache:         onVirtualServices | onTargets,
	deadEndsCache:     onVirtualServices | onTargets | onDestinationRules | onNamespaces | onCompleteness,
	cleartextCache:    onVirtualServices | onHTTPRoutes | onTargets,
	clientsCache:      onTargets | onDestinationRules | onNamespaces,
	gatheringsCache:   onServiceEntries,
}

// cache holds answers, each worked out when it is first asked for.
type cache struct {
	answers sync.Map // func() V by key
	n       atomic.Int64
}

// caches are those of an index.
type caches [numCaches]*cache

func newCaches() caches {
	var c caches
	c.forget(^grounds(0))
	return c
}

// forget makes anew what depends on something that has changed.
func (c *caches) forget(changed grounds) {
	for id, g := range groundsOfCaches {
		if g&changed != 0 {
			c[id] = new(cache)
		}
	}
}

// cached returns what f returned the first time for a key of a cache. A cache that is shared by overlays may be asked for keys that no
// object of the mesh has; when there are many it begins again.
func cached[K comparable, V any](x *Index, id cacheID, k K, f func(*Index, K) V) V {
	c := x.caches[id]
	have, ok := c.answers.Load(k)
	if !ok {
		if c.n.Add(1) > int64(1024+2*x.objects.n) {
			c.answers.Clear()
			c.n.Store(1)
		}
		have, _ = c.answers.LoadOrStore(k, sync.OnceValue(func() V { return f(x, k) }))
	}
	answer, _ := have.(func() V)
	return answer()
}

// theOnly is the key of a cache that holds one answer.
type theOnly struct{}
