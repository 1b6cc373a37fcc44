package webhook

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"

	"golang.org/x/sync/semaphore"
)

// The bounds on what is read from the network. The API server takes objects of up to 3 MiB, and a request holds at most two.
const (
	mostBody  = 7 << 20  // bytes of one request; controller-runtime reads no more
	smallBody = 64 << 10 // bytes of a request of the usual size
	mostSmall = 11 << 20 // bytes of all requests that are being read or judged, of each no more than smallBody
	mostLarge = 3        // larger requests at a time; with mostSmall they come to 32 MiB
)

// The times of a request. API servers say how long they wait in ?timeout=, by default 10 s; to answer takes some of that.
const (
	defaultTimeout = 10 * time.Second
	mostTimeout    = 30 * time.Second // the most that Kubernetes allows
	margin         = 10               // one part in so many of the timeout is left for the answer
)

// limited bounds the time and the memory that requests take, before anything of them is read. A request that finds no room in its time
// is not answered as a review: what becomes of it is then up to the failurePolicy, since whose request it is cannot be known.
func limited(next http.Handler, shed func(reason string), draining func() bool) http.Handler {
	small, large := semaphore.NewWeighted(mostSmall), semaphore.NewWeighted(mostLarge)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		timeout := timeoutOf(r)
		ctx, cancel := context.WithTimeout(r.Context(), timeout-timeout/margin)
		defer cancel()
		if r.Method != http.MethodPost {
			w.Header().Set("Allow", http.MethodPost)
			http.Error(w, "an AdmissionReview is posted", http.StatusMethodNotAllowed)
			return
		}
		if r.ContentLength > mostBody {
			w.Header().Set("Connection", "close")
			http.Error(w, "larger than "+strconv.Itoa(mostBody>>20)+" MiB", http.StatusRequestEntityTooLarge)
			return
		}
		if draining() { // the next request of this client is to go to another replica
			w.Header().Set("Connection", "close")
		}
		// A client that sends slowly would hold its connection. An error means that the connection knows no deadlines, as in tests.
		deadline, _ := ctx.Deadline()
		control := http.NewResponseController(w)
		_ = control.SetReadDeadline(deadline)
		defer func() { _ = control.SetReadDeadline(time.Time{}) }()
		body := &claimed{ReadCloser: http.MaxBytesReader(w, r.Body, mostBody), ctx: ctx, small: small, large: large, shed: shed}
		defer body.release()
		r.Body = body
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

// claimed is a body that takes its share of the memory as it arrives, and not what its length says: else a few clients that announce
// much and send little would take the place of all others. Of a large one the beginning counts like a small one, and for the rest it needs
// one of a few places. Whoever has one waits for nothing more, so that large requests cannot wait for one another, nor small ones for them.
type claimed struct {
	io.ReadCloser
	ctx          context.Context
	small, large *semaphore.Weighted
	held         int64 // bytes, no more than smallBody
	isLarge      bool
	shed         func(reason string)
}

var errNoRoom = errors.New("too many requests at once")

// Read is part of io.Reader. It waits for room as long as the request has time.
func (c *claimed) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	more := min(int64(n), smallBody-c.held)
	if c.small.Acquire(c.ctx, more) != nil {
		c.shed("memory")
		return 0, errNoRoom
	}
	c.held += more
	if int64(n) > more && !c.isLarge {
		if c.large.Acquire(c.ctx, 1) != nil {
			c.shed("memory")
			return 0, errNoRoom
		}
		c.isLarge = true
	}
	return n, err
}

func (c *claimed) release() {
	c.small.Release(c.held)
	if c.isLarge {
		c.large.Release(1)
	}
}

// timeoutOf is how long whoever sent a request waits for the answer.
func timeoutOf(r *http.Request) time.Duration {
	d, err := time.ParseDuration(r.URL.Query().Get("timeout"))
	if err != nil || d <= 0 {
		return defaultTimeout
	}
	return min(d, mostTimeout)
}
