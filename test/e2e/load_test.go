package e2e

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/meshvet/meshvet/test/e2e/release"
)

// load creates faulty ServiceEntries in a namespace until it is stopped. Each has to be taken, and to be warned of: with
// failurePolicy Fail a review that fails is a create that is refused, and one that did not take place has no warning.
type load struct {
	stop context.CancelFunc
	done sync.WaitGroup

	mu       sync.Mutex
	created  int
	unwarned int
	failures []string
	began    time.Time
}

// The load is loadRate creates a second, workers at once: the API server keeps as many connections to the webhook open, and each is used
// again and again. One that lies idle for the whole shutdown delay of a Pod is closed in the end, and a request that is written to it at that
// moment is lost: HTTP/1.1 has no way to tell the client before.
const (
	loadRate = 100
	workers  = 8
)

func startLoad(t *testing.T, ns string) *load {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	l := &load{stop: stop, began: time.Now()}
	turns := make(chan int, workers)
	l.done.Go(func() {
		defer close(turns)
		tick := time.NewTicker(workers * time.Second / loadRate)
		defer tick.Stop()
		for i := 0; ; {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			for range workers {
				turns <- i
				i++
			}
		}
	})
	for range workers {
		var warned warningCount
		client := clients(t, &warned)
		l.done.Go(func() {
			for i := range turns {
				objects, err := release.Objects(strings.ReplaceAll(passthrough, "payments", fmt.Sprintf("load-%d", i)))
				if err == nil {
					// Not with ctx: a create that is cut off by the end of the load would count as a failure.
					_, err = client.Resource(release.ServiceEntries).Namespace(ns).Create(context.WithoutCancel(ctx), objects[0], metav1.CreateOptions{})
				}
				l.mu.Lock()
				l.created++
				if err != nil {
					l.failures = append(l.failures, err.Error())
				} else if warned == 0 {
					l.unwarned++
				}
				l.mu.Unlock()
				warned = 0
			}
		})
	}
	t.Cleanup(func() { l.stop(); l.done.Wait() })
	return l
}

// warningCount counts the warnings that mention the rule; it is used by one goroutine.
type warningCount int

func (w *warningCount) HandleWarningHeader(_ int, _, text string) {
	if strings.HasPrefix(text, "SE101 ") {
		*w++
	}
}

var _ rest.WarningHandler = new(warningCount)

// count is how many creates there have been.
func (l *load) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.created
}

// goOn lets the load go on for half a second.
func (l *load) goOn(t *testing.T) {
	t.Helper()
	until := l.count() + loadRate/2
	eventually(t, "the load goes on", func(context.Context) error {
		if now := l.count(); now < until {
			return fmt.Errorf("%d of %d", now, until)
		}
		return nil
	})
}

// end stops the load and fails the test if a review was missing, or the rate was too low to show anything.
func (l *load) end(t *testing.T, r *release.Release) {
	t.Helper()
	l.stop()
	l.done.Wait()
	seconds := time.Since(l.began).Seconds()
	t.Logf("%d creates in %.1f s", l.created, seconds)
	if rate := float64(l.created) / seconds; rate < 50 {
		t.Errorf("only %.0f creates a second", rate)
	}
	if len(l.failures) > 0 {
		t.Errorf("%d of %d creates failed, the first with: %s; %d connections went to a Pod that did not take them",
			len(l.failures), l.created, l.failures[0], r.Service.Strayed.Load())
	}
	if l.unwarned > 0 {
		t.Errorf("%d of %d creates were not reviewed", l.unwarned, l.created)
	}
}
