package main

import (
	"math"
	"runtime"
	"runtime/debug"
)

const (
	// quietHeap is how much memory a run takes before anything is collected: most runs of a hook end below it.
	quietHeap = 48 << 20
	// gcPercent is how much the heap grows between collections from then on. It is below Go's 100 because what a large run
	// keeps is what it reads, so that garbage would double it.
	gcPercent = 75
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
