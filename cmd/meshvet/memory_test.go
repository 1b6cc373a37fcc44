package main

import (
	"math"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
	"time"
)

func gcSettings() (percent, limit uint64) {
	s := []metrics.Sample{{Name: "/gc/gogc:percent"}, {Name: "/gc/gomemlimit:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64(), s[1].Value.Uint64()
}

func TestTuneMemory(t *testing.T) {
	percent, limit := debug.SetGCPercent(100), debug.SetMemoryLimit(math.MaxInt64)
	t.Cleanup(func() {
		debug.SetGCPercent(percent)
		debug.SetMemoryLimit(limit)
	})

	tuneMemory(func(name string) string { return map[string]string{"GOGC": "100"}[name] })
	if p, l := gcSettings(); p != 100 || l != math.MaxInt64 {
		t.Errorf("what the user set is overridden: %d %%, %d bytes", p, l)
	}

	tuneMemory(func(string) string { return "" })
	// The first collection ends the quiet; what it frees is cleaned up after it. The heap of this test is small, so that it may grow
	// by more than gcPercent.
	deadline := time.Now().Add(10 * time.Second)
	for {
		runtime.GC()
		p, l := gcSettings()
		if p >= gcPercent && p <= 6*gcPercent && l == math.MaxInt64 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("still %d %% and %d bytes after a collection", p, l)
		}
		time.Sleep(time.Millisecond)
	}
}
