package main

import (
	"math"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

const (
	// quietHeap is how much memory a run takes before anything is collected: most runs of a hook end below it. Nor is a larger run
	// collected more often than that.
	quietHeap = 48 << 20
	// doubled is how much a heap may grow between collections as long as that does not more than double it.
	doubled = 40 << 20
	// leastGrowth is by how much, in percent, any heap may grow. Most of what a large run allocates it keeps, so that Go's 100 would
	// double its memory to save some time.
	leastGrowth = 50
	// mostGrowth bounds the growth of a small heap: what is set counts from a moment later on, when the heap is larger.
	mostGrowth = 300
)

// tuneMemory makes the garbage collector fit a program that runs for a moment. Whoever sets GOGC or GOMEMLIMIT knows better.
func tuneMemory(getenv func(string) string) {
	if getenv("GOGC") != "" || getenv("GOMEMLIMIT") != "" {
		return
	}
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(quietHeap)
	afterCollection(func() { debug.SetMemoryLimit(math.MaxInt64) })
}

// afterCollection sets by how much the heap may grow until the next collection, each time that one ends.
func afterCollection(first func()) {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	var pace func(struct{})
	pace = func(struct{}) {
		metrics.Read(live)
		debug.SetGCPercent(growth(live[0].Value.Uint64()))
		first()
		first = func() {}
		runtime.AddCleanup(new([64]byte), pace, struct{}{}) // the next collection finds it dead
	}
	runtime.AddCleanup(new([64]byte), pace, struct{}{})
}

// growth is by how much, in percent, a heap of a size may grow.
func growth(heap uint64) int {
	if heap == 0 {
		return mostGrowth
	}
	bytes := min(heap, doubled)
	if heap < quietHeap {
		bytes = max(bytes, quietHeap-heap)
	}
	return max(leastGrowth, min(int(bytes*100/heap), mostGrowth))
}
