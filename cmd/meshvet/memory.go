package main

import (
	"math"
	"runtime"
	"runtime/debug"
)

const (
	// quietHeap is how much memory a run takes before anything is collected: most runs of a hook end below it.
	quietHeap = 48 << 20
	// gcPercent is how much the heap grows between collections from then on. Most of what a large run allocates it keeps, so
	// that Go's 100 would double its memory to save some time.
	gcPercent = 50
)

// tuneMemory makes the garbage collector fit a program that runs for a moment. Whoever sets GOGC or GOMEMLIMIT knows better.
func tuneMemory(getenv func(string) string) {
	if getenv("GOGC") != "" || getenv("GOMEMLIMIT") != "" {
		return
	}
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(quietHeap)
	// The first collection finds this object dead, and what it guarded against is over.
	runtime.AddCleanup(new([64]byte), func(struct{}) {
		debug.SetGCPercent(gcPercent)
		debug.SetMemoryLimit(math.MaxInt64)
	}, struct{}{})
}
