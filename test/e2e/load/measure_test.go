package main

import (
	"math"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
)

func TestQuantile(t *testing.T) {
	var sorted []time.Duration
	for i := range 100 {
		sorted = append(sorted, time.Duration(i+1))
	}
	for q, want := range map[float64]time.Duration{0.5: 50, 0.99: 99, 0.999: 100, 1: 100} {
		if got := quantile(sorted, q); got != want {
			t.Errorf("quantile %v is %d, want %d", q, got, want)
		}
	}
	if got := quantile(nil, 0.5); got != 0 {
		t.Errorf("of nothing it is %d", got)
	}
}

func TestHistogram(t *testing.T) {
	family := func(counts ...uint64) *dto.MetricFamily {
		h := new(dto.Histogram)
		for i, bound := range []float64{0.001, 0.002, 0.01, math.Inf(1)} {
			h.Bucket = append(h.Bucket, &dto.Bucket{UpperBound: &bound, CumulativeCount: &counts[i]})
		}
		h.SampleCount = &counts[3]
		return &dto.MetricFamily{Metric: []*dto.Metric{{Histogram: h}}}
	}
	h := newHistogram(family(10, 110, 120, 120)).since(newHistogram(family(10, 10, 20, 20)))
	if h.total != 100 {
		t.Errorf("there are %d", h.total)
	}
	// All hundred lie between 1 and 2 ms.
	if got := h.quantile(0.5); got != 1500*time.Microsecond {
		t.Errorf("the median is %s", got)
	}
	if got := h.quantile(0.99); got != 1990*time.Microsecond {
		t.Errorf("p99 is %s", got)
	}
	beyond := newHistogram(family(0, 0, 0, 5))
	if got := beyond.quantile(0.5); got != 10*time.Millisecond {
		t.Errorf("beyond the last bound it is %s", got)
	}
}

func TestMesh(t *testing.T) {
	m := newMesh(250)
	if n := m.objects(); n != 303 {
		t.Errorf("there are %d objects: three namespaces of %d were wanted, and the namespaces", n, perNamespace)
	}
	bodies, err := m.reviews(100, 1)
	if err != nil {
		t.Fatal(err)
	}
	again, err := m.reviews(100, 1)
	if err != nil {
		t.Fatal(err)
	}
	for i := range bodies {
		if string(bodies[i]) != string(again[i]) {
			t.Fatal("the same seed gives other reviews")
		}
	}
}
