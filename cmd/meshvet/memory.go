package main

import "runtime/debug"

// tuneMemory makes the garbage collector fit a program that runs for a moment: most runs end below the first limit and never
// collect at all, and from there on memory is worth more than time. Whoever sets GOGC or GOMEMLIMIT knows better.
func tuneMemory(getenv func(string) string) {
	if getenv("GOGC") != "" || getenv("GOMEMLIMIT") != "" {
		return
	}
	debug.SetGCPercent(gcPercent)
}

// gcPercent is how much the heap may grow between collections.
const gcPercent = 100
