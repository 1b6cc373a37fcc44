package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"slices"
	"sync"
	"time"

	dto "github.com/prometheus/client_model/go"
	admissionv1 "k8s.io/api/admission/v1"
)

// target is a webhook that reviews are sent to.
type target struct {
	url    string
	client *http.Client
}

func newTarget(port int) *target {
	return &target{
		url: fmt.Sprintf("https://127.0.0.1:%d/validate?timeout=10s", port),
		client: &http.Client{Transport: &http.Transport{
			TLSClientConfig:     &tls.Config{InsecureSkipVerify: true},
			MaxIdleConnsPerHost: 256,
		}},
	}
}

// outcome is what a number of reviews came to.
type outcome struct {
	// latencies are those of the answers, from the moment when the request was due: one that is sent late because all before it were slow
	// counts as late.
	latencies []time.Duration
	warned    int // answers with warnings
	failures  []string
}

// drive sends the bodies at an even rate, whether or not those before them were answered, and waits for all.
func (t *target) drive(ctx context.Context, bodies [][]byte, every, offset time.Duration) *outcome {
	out := &outcome{}
	var mu sync.Mutex
	var all sync.WaitGroup
	start := time.Now().Add(offset)
	for i, body := range bodies {
		due := start.Add(time.Duration(i) * every)
		time.Sleep(time.Until(due))
		all.Go(func() {
			warnings, err := t.send(ctx, body)
			took := time.Since(due)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				out.failures = append(out.failures, err.Error())
				return
			}
			out.latencies = append(out.latencies, took)
			if warnings > 0 {
				out.warned++
			}
		})
	}
	all.Wait()
	slices.Sort(out.latencies)
	return out
}

// send posts one review and returns how many warnings came back.
func (t *target) send(ctx context.Context, body []byte) (int, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, t.url, bytes.NewReader(body))
	if err != nil {
		return 0, fmt.Errorf("make a request: %w", err)
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := t.client.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close() //nolint:errcheck // only read
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, fmt.Errorf("read the answer: %w", err)
	}
	var review admissionv1.AdmissionReview
	if err := json.Unmarshal(answer, &review); err != nil || review.Response == nil {
		return 0, fmt.Errorf("the answer is %s: %.200s", response.Status, answer)
	}
	if !review.Response.Allowed {
		return 0, fmt.Errorf("it is refused: %s", review.Response.Result.Message)
	}
	return len(review.Response.Warnings), nil
}

// quantile of sorted durations, 0 if there are none.
func quantile(sorted []time.Duration, q float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(int(math.Ceil(q*float64(len(sorted))))-1, len(sorted)-1)]
}

// histogram is the sum of the histograms of a metric, counted since an earlier one.
type histogram struct {
	bounds []float64
	counts []uint64 // cumulative
	total  uint64
}

func newHistogram(family *dto.MetricFamily) histogram {
	var h histogram
	for _, m := range family.GetMetric() {
		h.total += m.GetHistogram().GetSampleCount()
		for i, b := range m.GetHistogram().GetBucket() {
			if i == len(h.bounds) {
				h.bounds, h.counts = append(h.bounds, b.GetUpperBound()), append(h.counts, 0)
			}
			h.counts[i] += b.GetCumulativeCount()
		}
	}
	return h
}

func (h histogram) since(before histogram) histogram {
	out := histogram{bounds: h.bounds, counts: slices.Clone(h.counts), total: h.total - before.total}
	for i := range before.counts {
		out.counts[i] -= before.counts[i]
	}
	return out
}

// quantile within a bucket is taken as its place in it, as Prometheus does. Beyond the last bound it is that bound.
func (h histogram) quantile(q float64) time.Duration {
	rank := q * float64(h.total)
	lower, below := 0.0, uint64(0)
	for i, bound := range h.bounds {
		if float64(h.counts[i]) >= rank && h.counts[i] > below {
			if math.IsInf(bound, 1) {
				break
			}
			part := (rank - float64(below)) / float64(h.counts[i]-below)
			return time.Duration((lower + (bound-lower)*part) * float64(time.Second))
		}
		if !math.IsInf(bound, 1) {
			lower = bound
		}
		below = h.counts[i]
	}
	return time.Duration(lower * float64(time.Second))
}
