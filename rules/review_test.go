package rules_test

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/linttest/meshcorpus"
	"github.com/meshvet/meshvet/lint/mesh"
	"github.com/meshvet/meshvet/lint/object"
)

// largeMesh is the size of the mesh for which webhooks are measured.
const largeMesh = 20_000

// cluster indexes the objects of a large mesh.
func cluster(b *testing.B) ([]*object.Object, *mesh.Store) {
	b.Helper()
	objects := []*object.Object{}
	for _, m := range meshcorpus.Cluster(largeMesh, 1) {
		objects = append(objects, fromMap(b, m))
	}
	store := mesh.NewStore(mesh.Settings{})
	store.Put(objects...)
	store.MarkComplete(lint.AllKinds()...)
	return objects, store
}

func fromMap(b *testing.B, m map[string]any) *object.Object {
	b.Helper()
	o, err := object.FromMap(m)
	if err != nil {
		b.Fatal(err)
	}
	return o
}

// altered is an object with something changed, under the same name or as a new one.
func altered(b *testing.B, o *object.Object, name string, change func(spec map[string]any)) *object.Object {
	b.Helper()
	js, err := json.Marshal(o.Root().Any())
	if err != nil {
		b.Fatal(err)
	}
	var m map[string]any
	if err := json.Unmarshal(js, &m); err != nil {
		b.Fatal(err)
	}
	spec, _ := m["spec"].(map[string]any)
	meta, _ := m["metadata"].(map[string]any)
	if name != "" {
		meta["name"] = name
		delete(meta, "creationTimestamp")
	}
	change(spec)
	return fromMap(b, m)
}

// BenchmarkReview is what a webhook does for a request in a mesh of 20,000 objects: it judges the object in the mesh that there would
// be and its neighbours before and after. Another change of the mesh comes between two reviews.
func BenchmarkReview(b *testing.B) {
	objects, store := cluster(b)
	e, err := lint.New(all(b), &lint.Config{})
	if err != nil {
		b.Fatal(err)
	}
	of := func(k object.Kind) []*object.Object {
		return slices.DeleteFunc(slices.Clone(objects), func(o *object.Object) bool { return o.Kind != k })
	}
	for _, c := range []struct {
		name  string
		kind  object.Kind
		after func(o *object.Object) *object.Object // nil: it is deleted
	}{
		{"new ServiceEntry", object.ServiceEntry, func(o *object.Object) *object.Object {
			return altered(b, o, "new", func(spec map[string]any) { spec["resolution"] = "NONE" })
		}},
		{"changed ServiceEntry", object.ServiceEntry, func(o *object.Object) *object.Object {
			return altered(b, o, "", func(spec map[string]any) { spec["resolution"] = "NONE" })
		}},
		{"new DestinationRule", object.DestinationRule, func(o *object.Object) *object.Object {
			return altered(b, o, "new", func(spec map[string]any) { delete(spec, "subsets") })
		}},
		{"changed DestinationRule", object.DestinationRule, func(o *object.Object) *object.Object {
			return altered(b, o, "", func(spec map[string]any) { delete(spec, "trafficPolicy") })
		}},
		{"deleted ServiceEntry", object.ServiceEntry, func(*object.Object) *object.Object { return nil }},
		{"deleted DestinationRule", object.DestinationRule, func(*object.Object) *object.Object { return nil }},
	} {
		for _, between := range []bool{false, true} {
			name := c.name
			if between {
				name += " after an event"
			}
			b.Run(name, func(b *testing.B) {
				rng := rand.New(rand.NewPCG(1, 2))
				list := of(c.kind)
				var took []time.Duration
				judged := 0
				b.ReportAllocs()
				for b.Loop() {
					b.StopTimer()
					old := list[rng.IntN(len(list))]
					changed := c.after(old)
					if between {
						event := objects[rng.IntN(len(objects))]
						store.Put(altered(b, event, "", func(map[string]any) {}))
						old = store.Snapshot().Get(old.Key)
					}
					if changed != nil && changed.Key != old.Key {
						old = nil
					}
					b.StartTimer()
					start := busy(b)
					judged += review(b, e, store.Snapshot(), old, changed)
					took = append(took, busy(b)-start)
				}
				slices.Sort(took)
				b.ReportMetric(float64(took[len(took)/2].Microseconds()), "µs-p50")
				b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "µs-p99")
				b.ReportMetric(float64(judged)/float64(b.N), "judged/op")
			})
		}
	}
}

// busy is the processor time that the process has taken, which unlike the clock does not hang on what else the machine does.
func busy(b *testing.B) time.Duration {
	b.Helper()
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		b.Fatal(err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// mostNeighbours is how many neighbours a review judges.
const mostNeighbours = 20

// review judges an object and its neighbours before and after a change, and returns how many verdicts that took.
func review(b *testing.B, e *lint.Engine, before *mesh.Index, old, changed *object.Object) int {
	b.Helper()
	var after *mesh.Index
	var around []*object.Object
	for _, o := range []*object.Object{old, changed} {
		if o == nil {
			continue
		}
		near, _ := before.Neighbours(o, mostNeighbours)
		for _, n := range near {
			if !slices.Contains(around, n) {
				around = append(around, n)
			}
		}
	}
	if changed != nil {
		after = before.With(changed)
	} else {
		after = before.Without(old.Key)
	}
	asked := lint.Review{Object: changed, Old: old, Operation: "UPDATE"}
	switch {
	case changed == nil:
		asked = lint.Review{Gone: old}
	case old == nil:
		asked.Operation = "CREATE"
	}
	n := 0
	for _, side := range []struct {
		ix *mesh.Index
		r  lint.Review
	}{{before, lint.Review{Object: old}}, {after, asked}} {
		report, err := e.Review(context.Background(), side.ix, side.r, around)
		if err != nil {
			b.Fatal(err)
		}
		n += report.Stats.Judged
	}
	return n
}

// BenchmarkStorePut is an event of a watch, with a snapshot taken each time, as reviews do.
func BenchmarkStorePut(b *testing.B) {
	objects, store := cluster(b)
	for _, kind := range []object.Kind{object.ServiceEntry, object.DestinationRule, object.VirtualService, object.Service} {
		b.Run(string(kind), func(b *testing.B) {
			list := slices.DeleteFunc(slices.Clone(objects), func(o *object.Object) bool { return o.Kind != kind })
			var took []time.Duration
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				b.StopTimer()
				o := altered(b, list[n%len(list)], "", func(map[string]any) {})
				n += 7
				b.StartTimer()
				start := busy(b)
				store.Put(o)
				store.Snapshot()
				took = append(took, busy(b)-start)
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds()), "µs-p50")
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "µs-p99")
		})
	}
	runtime.KeepAlive(store)
}
