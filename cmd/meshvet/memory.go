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
	// gcPercent is how much a heap grows between collections that is larger. Most of what a large run allocates it keeps, so that
	// Go's 100 would double its memory to save some time.
	gcPercent = 50
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

// afterCollection sets the heap at which the next collection starts, each time that one ends.
func afterCollection(first func()) {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	var pace func(struct{})
	pace = func(struct{}) {
		metrics.Read(live)
		percent := gcPercent
		if heap := live[0].Value.Uint64(); heap > 0 && heap < quietHeap {
			percent = max(percent, min(int(quietHeap*100/heap)-100, 6*gcPercent)) // bounded: it is set with a delay
		}
		debug.SetGCPercent(percent)
		first()
		first = func() {}
		runtime.AddCleanup(new([64]byte), pace, struct{}{}) // the next collection finds it dead
	}
	runtime.AddCleanup(new([64]byte), pace, struct{}{})
}
