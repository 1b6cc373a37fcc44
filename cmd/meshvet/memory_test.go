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
	// by more than leastGrowth.
	deadline := time.Now().Add(10 * time.Second)
	for {
		runtime.GC()
		p, l := gcSettings()
		if p >= leastGrowth && p <= mostGrowth && l == math.MaxInt64 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("still %d %% and %d bytes after a collection", p, l)
		}
		time.Sleep(time.Millisecond)
	}
}

func TestGrowth(t *testing.T) {
	for heap, want := range map[uint64]int{
		0: 300, 1 << 20: 300, 16 << 20: 200, 24 << 20: 100, 36 << 20: 100, 40 << 20: 100, 60 << 20: 66, 80 << 20: 50, 1 << 30: 50,
	} {
		if got := growth(heap); got != want {
			t.Errorf("a heap of %d MiB may grow by %d %%, want %d", heap>>20, got, want)
		}
	}
}
