package mesh

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/meshvet/meshvet/lint/object"
)

func TestDuplicates(t *testing.T) {
	first := load(t, rule("a", "d", "one.example.com", "", "")+entry("a", "e", "api.example.com", "", ""))
	second := load(t, rule("a", "d", "two.example.com", "", ""))
	third := load(t, rule("a", "d", "three.example.com", "", ""))
	key := first[0].Key

	ix := New(Settings{}).With(first...).With(second...).With(third...)
	if diff := cmp.Diff([]string{"one.example.com", "two.example.com", "three.example.com"}, ruleHosts(ix.Duplicates(key))); diff != "" {
		t.Errorf("in the order of reading (-want +got):\n%s", diff)
	}
	if ix.Get(key) != third[0] || ix.Count(object.DestinationRule) != 1 {
		t.Error("the last one does not count alone")
	}
	if len(ix.Rules("one.example.com"))+len(ix.Rules("two.example.com")) != 0 || len(ix.Rules("three.example.com")) != 1 {
		t.Error("an earlier one is still looked up")
	}
	if ix.Namespaces()[0] != "a" || !ix.HasNamespace("a") {
		t.Error("the namespace is lost")
	}
	// The same object again is no duplicate.
	if again := ix.With(third...); len(again.Duplicates(key)) != 1 {
		t.Errorf("%d duplicates", len(again.Duplicates(key)))
	}
	// An object of a cluster takes the place of what files said.
	live, err := object.FromMap(map[string]any{
		"apiVersion": "networking.istio.io/v1", "kind": "DestinationRule",
		"metadata": map[string]any{"name": "d", "namespace": "a"}, "spec": map[string]any{"host": "live.example.com"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if y := ix.With(live); len(y.Duplicates(key)) != 1 || y.Get(key) != live || len(y.Rules("three.example.com")) != 0 || len(y.Rules("live.example.com")) != 1 {
		t.Error("the object of the cluster does not stand alone")
	}
	// Going, it takes all of its name with it.
	gone := ix.Without(key)
	if gone.Get(key) != nil || len(gone.Duplicates(key)) != 0 || gone.Count(object.DestinationRule) != 0 || len(gone.Rules("three.example.com")) != 0 {
		t.Error("something is left")
	}
	if !gone.HasNamespace("a") || gone.Without(first[1].Key).HasNamespace("a") {
		t.Error("namespaces are miscounted")
	}
	if ix.Get(key) != third[0] {
		t.Error("the index that was left behind has changed")
	}
}

func ruleHosts(objects []*object.Object) []string {
	var out []string
	for _, o := range objects {
		out = append(out, o.Spec().Get("host").Str())
	}
	return out
}

func TestKeysWithoutNamespace(t *testing.T) {
	ix := world(t, Settings{}, entry("", "e", "api.example.com", "", "")+"apiVersion: v1\nkind: Namespace\nmetadata: {name: default}\n")
	bare := object.Key{Kind: object.ServiceEntry, Name: "e"}
	full := object.Key{Kind: object.ServiceEntry, Namespace: "default", Name: "e"}
	if ix.Get(bare) == nil || ix.Get(bare) != ix.Get(full) {
		t.Error("an object without a namespace is not that of default")
	}
	if ix.Get(object.Key{Kind: object.Namespace, Name: "default"}) == nil {
		t.Error("the Namespace is not found")
	}
	if y := ix.Without(full); y.Get(bare) != nil {
		t.Error("it cannot be taken away by its full key")
	}
	s := NewStore(Settings{})
	s.Put(load(t, entry("", "e", "api.example.com", "", ""))...)
	s.Delete(full, full, object.Key{Kind: object.ServiceEntry, Name: "never"})
	if s.Snapshot().Get(bare) != nil {
		t.Error("the store still holds it")
	}
}

func TestStrays(t *testing.T) {
	objects := load(t, strings.Replace(rule("a", "d", "api.example.com", "", ""), "networking.istio.io", "networking.istio.oi", 1))
	if len(objects) != 1 || !objects[0].Stray {
		t.Fatalf("no stray: %+v", objects)
	}
	ix := New(Settings{}).With(objects...)
	if ix.Get(objects[0].Key) != nil || len(ix.Rules("api.example.com")) != 0 || ix.HasNamespace("a") {
		t.Error("Istio never sees the object, but the index has it")
	}
}

func TestComplete(t *testing.T) {
	s := NewStore(Settings{})
	before := s.Snapshot()
	s.MarkComplete(object.ServiceEntry, object.Service)
	after := s.Snapshot()
	if before.Complete(object.ServiceEntry) || !after.Complete(object.ServiceEntry) || !after.Complete(object.Service) || after.Complete(object.Namespace) {
		t.Error("what is complete is muddled up")
	}
	if with := after.WithComplete(object.Namespace); !with.Complete(object.Namespace) || !with.Complete(object.Service) || after.Complete(object.Namespace) {
		t.Error("WithComplete changes the index it was called on, or forgets")
	}
	if !after.With(load(t, entry("a", "e", "x.example.com", "", ""))...).Complete(object.Service) {
		t.Error("With forgets what is complete")
	}
}

func TestAllAndRules(t *testing.T) {
	ix := world(t, Settings{}, rule("b", "x", "api.example.com", "", "")+rule("a", "yes-too", "api.example.com", "", "")+rule("a", "x", "API", "", "")+rule("a", "no-host", "", "", ""))
	var got []string
	for o := range ix.All(object.DestinationRule) {
		got = append(got, o.Namespace+"/"+o.Name)
	}
	if diff := cmp.Diff([]string{"a/no-host", "a/x", "b/x", "a/yes-too"}, got); diff != "" {
		t.Errorf("by name, then namespace (-want +got):\n%s", diff)
	}
	for range ix.All(object.DestinationRule) {
		break
	}
	for range ix.All(object.Gateway) {
		t.Error("there is a Gateway")
	}
	if len(ix.Rules("API.a.svc.cluster.local")) != 1 || len(ix.Rules("")) != 0 {
		t.Error("rules are not found by the name that Istio looks up")
	}
}

// universe makes objects whose names, hosts and namespaces collide often.
type universe struct {
	r *rand.Rand
}

func (u universe) pick(words ...string) string { return words[u.r.IntN(len(words))] }

func (u universe) namespace() string { return u.pick("a", "b", "istio-system", "default") }

func (u universe) host() string {
	return u.pick("api.example.com", "v1-api.example.com", "x.y.example.com", "*.example.com", "*-api.example.com", "*.y.example.com", "example.com", "*", "svc.a.svc.cluster.local")
}

func (u universe) exportTo() any {
	return []any{u.pick("*", ".", "a", "b"), u.pick("*", ".", "a", "b")}[:1+u.r.IntN(2)]
}

func (u universe) port() int64 { return []int64{80, 443, 443}[u.r.IntN(3)] }

func (u universe) destination() map[string]any {
	d := map[string]any{"host": u.pick(u.host(), "svc")}
	if u.r.IntN(3) > 0 {
		d["port"] = map[string]any{"number": u.port()}
	}
	if u.r.IntN(3) == 0 {
		d["subset"] = u.pick("v1", "v2")
	}
	return d
}

func (u universe) object(t *testing.T) *object.Object {
	t.Helper()
	meta := map[string]any{"name": u.pick("x", "y", "z"), "namespace": u.namespace()}
	if u.r.IntN(2) == 0 {
		meta["creationTimestamp"] = fmt.Sprintf("2026-01-0%dT00:00:00Z", 1+u.r.IntN(4))
	}
	if u.r.IntN(8) == 0 {
		meta["labels"] = map[string]any{u.pick("istio.io/use-waypoint", "istio.io/dataplane-mode"): u.pick("ambient", "none")}
	}
	spec := map[string]any{}
	raw := map[string]any{"metadata": meta, "spec": spec, "apiVersion": "networking.istio.io/v1"}
	if u.r.IntN(3) == 0 {
		spec["exportTo"] = u.exportTo()
	}
	switch u.r.IntN(17) {
	case 0, 1, 2, 3:
		raw["kind"] = "ServiceEntry"
		spec["hosts"] = []any{u.host(), u.host()}[:1+u.r.IntN(2)]
		spec["ports"] = []any{
			map[string]any{"number": u.port(), "name": "p", "protocol": u.pick("TLS", "HTTP", "TCP")},
			map[string]any{"number": int64(80), "name": "q", "protocol": u.pick("TLS", "HTTP")},
		}[:1+u.r.IntN(2)]
		if u.r.IntN(4) == 0 {
			spec["workloadSelector"] = map[string]any{"labels": map[string]any{"app": u.pick("p", "q")}}
		}
	case 4, 5, 6:
		raw["kind"] = "DestinationRule"
		spec["host"] = u.pick(u.host(), u.host(), "svc", "API.example.com", "api.example.com.")
		spec["trafficPolicy"] = map[string]any{"tls": map[string]any{"mode": "DISABLE"}}
		spec["subsets"] = []any{map[string]any{"name": u.pick("v1", "v2")}}
		if u.r.IntN(5) == 0 {
			spec["workloadSelector"] = map[string]any{"matchLabels": map[string]any{"app": u.pick("p", "q")}}
		}
	case 7, 8, 9:
		raw["kind"] = "VirtualService"
		spec["hosts"] = []any{u.host(), u.host()}[:1+u.r.IntN(2)]
		if u.r.IntN(3) == 0 {
			spec["gateways"] = []any{u.pick("mesh", "x"), u.pick("mesh", "y")}[:1+u.r.IntN(2)]
		}
		for range 2 {
			rule := map[string]any{"route": []any{map[string]any{"destination": u.destination()}, map[string]any{"destination": u.destination(), "weight": int64(1)}}[:1+u.r.IntN(2)]}
			if u.r.IntN(3) == 0 {
				rule["match"] = []any{map[string]any{"port": u.port()}}
			}
			kind := u.pick("http", "http", "tls", "tcp")
			if kind == "http" && u.r.IntN(3) == 0 {
				rule["mirror"] = u.destination()
			}
			have, _ := spec[kind].([]any)
			spec[kind] = append(have, rule)
		}
	case 10:
		raw["apiVersion"], raw["kind"], meta["name"], meta["namespace"] = "v1", "Namespace", u.namespace(), nil
	case 11, 15:
		raw["kind"] = "Gateway"
		spec["selector"] = map[string]any{"app": u.pick("p", "q")}
		spec["servers"] = []any{map[string]any{"port": map[string]any{"number": u.port(), "protocol": u.pick("HTTP", "TLS")}, "hosts": []any{u.host()}}}
	case 12:
		raw["kind"] = "Sidecar"
		spec["egress"] = []any{map[string]any{"hosts": []any{u.pick("*/", "./", "a/") + u.host()}}}
	case 13:
		switch u.r.IntN(3) {
		case 0:
			raw["kind"] = "WorkloadEntry"
			spec["labels"] = map[string]any{"app": u.pick("p", "q")}
		case 1:
			raw["kind"] = "EnvoyFilter"
			spec["configPatches"] = []any{map[string]any{"applyTo": u.pick("CLUSTER", "VIRTUAL_HOST")}}
		default:
			raw["apiVersion"], raw["kind"] = "gateway.networking.k8s.io/v1", "BackendTLSPolicy"
			spec["targetRefs"] = []any{map[string]any{"group": object.IstioGroup, "kind": "ServiceEntry", "name": u.pick("x", "y", "z")}, map[string]any{"group": "", "kind": "Service", "name": "svc"}}
		}
	case 14:
		raw["apiVersion"], raw["kind"] = "gateway.networking.k8s.io/v1", "HTTPRoute"
		spec["parentRefs"] = []any{map[string]any{"kind": u.pick("Gateway", "ServiceEntry"), "name": u.pick("x", "y", "z")}}
		spec["rules"] = []any{map[string]any{"backendRefs": []any{map[string]any{"kind": u.pick("Hostname", "Service"), "name": u.pick("svc", u.host()), "port": u.port()}}}}
	default:
		raw["apiVersion"], raw["kind"], meta["name"] = "v1", "Service", "svc"
		spec["selector"] = map[string]any{"app": u.pick("p", "q")}
		spec["ports"] = []any{map[string]any{"port": u.port(), "name": u.pick("tls", "http")}}
	}
	o, err := object.FromMap(raw)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// answers is all that an index says, as text.
func answers(ix *Index) []string {
	var out []string
	say := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	hosts := []Host{
		"api.example.com", "v1-api.example.com", "x.y.example.com", "*.example.com", "*-api.example.com", "*.y.example.com", "example.com", "*", "*.com",
		"*example.com", "svc.a.svc.cluster.local", "svc.b.svc.cluster.local", "*.local",
	}
	clients := []string{"a", "b", "istio-system", "default", "nowhere"}
	say("namespaces %v, may be ambient %v, wildcard rules %d", ix.Namespaces(), ix.MayBeAmbient(), ix.WildcardRules())
	say("gateways in %v, sidecars in %v", ix.GatewayNamespaces(), ix.SidecarNamespaces())
	for _, o := range ix.EnvoyFilters() {
		say("patched by %s", o.Key)
	}
	for _, kind := range lintedKinds {
		say("%d of %s, complete %v", ix.Count(kind), kind, ix.Complete(kind))
		for o := range ix.All(kind) {
			js, _ := o.Root().MarshalJSON()
			say("%s %s same %v", o.Key, js, ix.Get(o.Key) == o)
			near, all := ix.Neighbours(o, 5)
			for _, n := range near {
				say("%s is near %s, one of all %v", n.Key, o.Key, all)
			}
			switch kind {
			case object.VirtualService:
				say("%s idle %v for sidecars %v", o.Key, ix.IdleRoutes(o), ix.forSidecars(o))
				for _, d := range ix.DeadEnds(o) {
					owner, rules := object.Key{}, ""
					if d.Owner != nil {
						owner = d.Owner.Key
					}
					if d.Rules != nil {
						rules = rulesOf(d.Rules)
					}
					say("%s dead %s %s %s owned by %s, ruled by %s", o.Key, d.Path, d.Host, d.Lacks, owner, rules)
				}
			case object.DestinationRule:
				if m := ix.MergedWith(o); m != nil {
					say("%s goes into %s", o.Key, rulesOf(m))
				}
				for _, hit := range ix.ReachOf(ix.Rule(o)) {
					say("%s reaches %s of %s from %s", o.Key, hit.Host, hit.Target.Object.Key, hit.From)
				}
			}
		}
	}
	vs := func(what string, h Host, list []*object.Object) {
		for _, o := range list {
			say("%s %s %s", h, what, o.Key)
		}
	}
	for _, h := range hosts {
		for _, r := range ix.RulesReaching(h) {
			say("%s is reached by %s of %s", h, r.Object.Key, r.Host)
		}
		for _, t := range ix.Targets(h) {
			say("%s is %s, seen by %v, ambient %v, gateway routes %v", h, t.Object.Key, ix.ClientNamespaces(t), ix.Ambient(t), ix.HasHTTPRoute(t))
			for _, r := range ix.ListenerRivals(t) {
				say("%s of %s meets %s at %s", h, t.Object.Key, r.Target.Object.Key, r.Address)
			}
			for r, n := range ix.Rivals(t, h) {
				say("%s of %s rivals %s and %d", h, t.Object.Key, r.Object.Key, n)
			}
			for w := range ix.Selected(t) {
				say("%s has workload %s", t.Object.Key, w.Key)
			}
			if p := ix.BackendTLSPolicyFor(t); p != nil {
				say("%s has policy %s", t.Object.Key, p.Key)
			}
			for _, client := range clients {
				for _, labels := range []map[string]string{nil, {"app": "p"}} {
					if m := ix.RuleFor(t, h, client, labels); m != nil {
						say("in %s as %v it is ruled by %s", client, labels, rulesOf(m))
					}
				}
				say("with it in %s %v", client, names(ix.Merged(h, t, client)))
			}
		}
		for _, hit := range ix.TargetsCovering(h) {
			say("%s is covered by %s of %s", h, hit.Host, hit.Target.Object.Key)
		}
		for _, port := range []uint32{80, 443} {
			for _, r := range ix.CleartextRoutes(h, port) {
				say("%s %d is routed to by %s %s", h, port, r.Object.Key, r.Path)
			}
			for _, r := range ix.ByteRoutes(h, port) {
				say("%s %d gets bytes by %s %s", h, port, r.Object.Key, r.Path)
			}
			for _, s := range ix.ServersFor(h, port) {
				say("%s %d is served by %s %s sure %v", h, port, s.Gateway.Key, s.Path, s.Sure)
			}
			say("%s %d cleartext %v", h, port, ix.HasCleartextRoute(h, port))
		}
		for _, r := range ix.SubsetRoutes(h) {
			say("%s has subset %s in %s %s", r.Host, r.Subset, r.Object.Key, r.Path)
		}
		vs("is of", h, ix.VirtualServicesFor(h))
		vs("is led to by", h, ix.VirtualServicesTo(h))
		vs("is routed to by", h, ix.RoutedTo(h))
		say("%s is a destination %v, has a gateway route %v", h, ix.IsDestination(h), ix.HasGatewayRoute(h))
		for _, client := range clients {
			for _, hit := range ix.Reach(h, client) {
				say("%s takes in %s of %s from %s", h, hit.Host, hit.Target.Object.Key, client)
			}
			if o := ix.HidingSidecar(h, client); o != nil {
				say("%s is hidden in %s by %s", h, client, o.Key)
			}
			say("%s has a gateway %v", client, ix.HasGateway(client))
		}
	}
	return out
}

var lintedKinds = []object.Kind{
	object.ServiceEntry, object.DestinationRule, object.VirtualService, object.Gateway, object.Sidecar, object.WorkloadEntry, object.EnvoyFilter, object.Service,
	object.Namespace, object.HTTPRoute, object.BackendTLSPolicy,
}

// However a store came to hold its objects, each of its snapshots must answer like an index built anew of the same objects, also
// after the store has gone on changing.
func TestSnapshotsAnswerLikeRebuilt(t *testing.T) {
	for seed := range uint64(6) {
		u := universe{rand.New(rand.NewPCG(seed, 7))}
		store := NewStore(Settings{})
		live := map[object.Key]*object.Object{}
		type kept struct {
			ix      *Index
			objects []*object.Object
			kinds   []object.Kind
		}
		complete := map[object.Kind]bool{}
		var snapshots []kept
		for range 120 {
			n := u.r.IntN(10)
			switch {
			case n < 6:
				o := u.object(t)
				store.Put(o)
				live[normal(o.Key)] = o
			case n < 9:
				for key := range live { // any one
					store.Delete(key)
					delete(live, key)
					break
				}
			case u.r.IntN(3) == 0:
				kind := lintedKinds[u.r.IntN(len(lintedKinds))]
				if complete[kind] {
					store.MarkIncomplete(kind)
					delete(complete, kind)
				} else {
					store.MarkComplete(kind)
					complete[kind] = true
				}
			default:
				o := u.object(t)
				store.Put(o, o)
				store.Delete(o.Key)
				delete(live, normal(o.Key))
			}
			if u.r.IntN(12) == 0 {
				k := kept{ix: store.Snapshot(), kinds: slices.Collect(maps.Keys(complete))}
				for _, o := range live {
					k.objects = append(k.objects, o)
				}
				snapshots = append(snapshots, k)
				if u.r.IntN(2) == 0 {
					answers(k.ix) // whatever it works out must be forgotten where it no longer holds
				}
				// An index made from the snapshot must leave it alone, and answer for itself.
				for range 3 {
					other := u.object(t)
					overlay := kept{k.ix.With(other), nil, k.kinds}
					for key, o := range live {
						if key != normal(other.Key) {
							overlay.objects = append(overlay.objects, o)
						}
					}
					overlay.objects = append(overlay.objects, other)
					snapshots = append(snapshots, overlay, kept{overlay.ix.Without(other.Key), slices.DeleteFunc(slices.Clone(overlay.objects), func(o *object.Object) bool { return o == other }), k.kinds})
				}
			}
		}
		for i, k := range snapshots {
			u.r.Shuffle(len(k.objects), func(a, b int) { k.objects[a], k.objects[b] = k.objects[b], k.objects[a] })
			want, got := answers(New(Settings{}).With(k.objects...).WithComplete(k.kinds...)), answers(k.ix)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("seed %d, snapshot %d of %d objects (-rebuilt +snapshot):\n%s", seed, i, len(k.objects), diff)
			}
		}
		if len(snapshots) == 0 {
			t.Errorf("seed %d took no snapshot", seed)
		}
	}
}

// The patterns by which wildcard rules find hosts must agree with trying every host.
func TestReachAgreesWithCovers(t *testing.T) {
	u := universe{rand.New(rand.NewPCG(3, 3))}
	var objects []*object.Object
	for range 80 {
		objects = append(objects, u.object(t))
	}
	ix := New(Settings{}).With(objects...)
	hosts := map[Host]bool{}
	for o := range ix.All(object.ServiceEntry) {
		for _, h := range ix.Target(o).Hosts {
			hosts[h] = true
		}
	}
	for o := range ix.All(object.Service) {
		hosts[ix.Target(o).Hosts[0]] = true
	}
	for _, pattern := range []Host{"*", "*.com", "*.example.com", "*example.com", "*-api.example.com", "*i.example.com", "*.y.example.com", "*l", "*.a.svc.cluster.local"} {
		var want []string
		for h := range hosts {
			if pattern.Covers(h) {
				want = append(want, string(h))
			}
		}
		slices.Sort(want)
		if diff := cmp.Diff(want, hostsOf(ix.Reach(pattern, "a"))); diff != "" {
			t.Errorf("reach of %s (-want +got):\n%s", pattern, diff)
		}
	}
}

// Readers use snapshots while writers change the store. The race detector watches; besides, no reader may see half a change.
func TestStoreConcurrency(t *testing.T) {
	store := NewStore(Settings{})
	pair := func(i int) []*object.Object {
		name := fmt.Sprintf("n%d", i%5)
		return load(t, entry("a", name, fmt.Sprintf("h%d.example.com", i), "", "")+rule("a", name, fmt.Sprintf("h%d.example.com", i), "", pool))
	}
	var batches [][]*object.Object
	for i := range 40 {
		batches = append(batches, pair(i))
	}
	ctx, stop := context.WithCancel(context.Background())
	var writers, readers sync.WaitGroup
	for w := range 3 {
		writers.Go(func() {
			for i := w; i < len(batches); i += 3 {
				// Objects of files gather as duplicates, so the old ones go first.
				store.Delete(batches[i][0].Key, batches[i][1].Key)
				store.Put(batches[i]...)
				store.MarkComplete(object.Service)
			}
		})
	}
	for range 4 {
		readers.Go(func() {
			for ctx.Err() == nil {
				ix := store.Snapshot()
				for o := range ix.All(object.ServiceEntry) {
					target := ix.Target(o)
					host := target.Hosts[0]
					if m := ix.RuleFor(target, host, "a", nil); m == nil || m.Host() != host {
						t.Errorf("%s has an entry and no rule", host)
						return
					}
					ix.ClientNamespaces(target)
				}
				if n := ix.Count(object.ServiceEntry); n != len(hostsOf(ix.Reach("*", "a"))) {
					t.Errorf("%d entries, but other hosts in reach", n)
					return
				}
			}
		})
	}
	writers.Wait()
	stop()
	readers.Wait()
	if ix := store.Snapshot(); ix.Count(object.ServiceEntry) != 5 || !ix.Complete(object.Service) {
		t.Errorf("%d entries are left", ix.Count(object.ServiceEntry))
	}
}

// Overlays of one snapshot share its caches, and are made and asked at the same time.
func TestOverlaysConcurrently(t *testing.T) {
	u := universe{rand.New(rand.NewPCG(9, 9))}
	var objects []*object.Object
	for range 60 {
		objects = append(objects, u.object(t))
	}
	base := New(Settings{}).With(objects...)
	want := answers(New(Settings{}).With(objects...))
	var readers sync.WaitGroup
	for i := range 8 {
		o := u.object(t)
		fresh := append(slices.DeleteFunc(slices.Clone(objects), func(have *object.Object) bool { return normal(have.Key) == normal(o.Key) }), o)
		readers.Go(func() {
			if i%2 == 0 {
				if diff := cmp.Diff(want, answers(base)); diff != "" {
					t.Errorf("the snapshot answers otherwise (-alone +beside others):\n%s", diff)
				}
				return
			}
			if diff := cmp.Diff(answers(New(Settings{}).With(fresh...)), answers(base.With(o))); diff != "" {
				t.Errorf("the overlay with %s answers otherwise (-alone +beside others):\n%s", o.Key, diff)
			}
		})
	}
	readers.Wait()
}

// A webhook's store lives for months; what goes must leave nothing behind.
func TestStoreForgets(t *testing.T) {
	u := universe{rand.New(rand.NewPCG(5, 5))}
	store := NewStore(Settings{})
	var keys []object.Key
	for range 400 {
		o := u.object(t)
		store.Put(o)
		keys = append(keys, o.Key)
	}
	store.Delete(keys...)
	ix := store.Snapshot()
	left := map[string]int{
		"objects": ix.objects.n, "targets": ix.targets.n, "names": ix.names.n, "odd names": len(ix.oddHosts), "rules": ix.rules.n, "routes": ix.routes.n,
		"listeners": ix.opaque.n, "spellings": ix.spelt.n, "namespaces": ix.spaces.n, "ambient": ix.ambient, "wildcard rules": ix.wild, "ports 80": ix.http80,
		"VirtualServices": ix.virtual.n + ix.wildVS.n, "destinations": ix.sentTo.n + ix.leading.n + ix.bytes.n + ix.subsets.n + ix.sent.n + ix.beyond.n + ix.parents.n,
		"hosts of routes": ix.routed.n, "labels": ix.choosing.n, "policies": ix.policies.n, "workloads": ix.workload.n,
	}
	for what, n := range left {
		if n != 0 {
			t.Errorf("%d %s are left", n, what)
		}
	}
	for kind, s := range ix.byKind {
		if s.n != 0 {
			t.Errorf("%d of %s are left", s.n, kind)
		}
	}
}
