package release

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// A Service stands for kube-proxy: it hands each connection to one of the Pods that were ready a moment ago. A connection
// that stands stays with its Pod, whatever becomes of its readiness.
type Service struct {
	// Port is where it listens.
	Port int

	listener net.Listener
	cancel   context.CancelFunc
	done     sync.WaitGroup

	mu        sync.Mutex
	pods      []*Pod
	endpoints []*Pod // of the pods, those that were ready
	next      atomic.Uint64

	// Strayed counts the connections that were handed to a Pod that did not take them.
	Strayed atomic.Int64
}

// lag is how long a change of readiness takes to reach the endpoints. In a cluster the news goes through three watches.
const lag = 300 * time.Millisecond

// newService starts to listen on localhost; there are no Pods yet.
func newService(ctx context.Context) (*Service, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for a Service: %w", err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	s := &Service{Port: portOf(listener), listener: listener, cancel: cancel}
	s.done.Go(func() { s.watch(ctx) })
	s.done.Go(func() { s.accept(ctx) })
	return s, nil
}

// portOf is the port that a listener for TCP has.
func portOf(l net.Listener) int {
	if a, ok := l.Addr().(*net.TCPAddr); ok {
		return a.Port
	}
	return 0
}

func (s *Service) stop() {
	s.cancel()
	_ = s.listener.Close()
	s.done.Wait()
}

func (s *Service) add(p *Pod) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pods = append(s.pods, p)
}

// Endpoints returns how many Pods connections are handed to.
func (s *Service) Endpoints() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.endpoints)
}

// watch keeps the list of endpoints, which lags behind.
func (s *Service) watch(ctx context.Context) {
	for ctx.Err() == nil {
		s.mu.Lock()
		pods := append([]*Pod(nil), s.pods...)
		s.mu.Unlock()
		is := make([]bool, len(pods))
		var asked sync.WaitGroup
		for i, p := range pods {
			asked.Go(func() { is[i] = !p.terminating.Load() && p.Ready(ctx) })
		}
		asked.Wait()
		var ready []*Pod
		for i, p := range pods {
			if is[i] {
				ready = append(ready, p)
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(lag):
		}
		s.mu.Lock()
		s.endpoints = ready
		s.mu.Unlock()
	}
}

func (s *Service) accept(ctx context.Context) {
	for {
		conn, err := s.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			continue
		}
		s.mu.Lock()
		var pod *Pod
		if n := uint64(len(s.endpoints)); n > 0 {
			pod = s.endpoints[s.next.Add(1)%n]
		}
		s.mu.Unlock()
		if pod == nil {
			_ = conn.Close() // kube-proxy refuses; this is as near as one who listens can get
			continue
		}
		go s.forward(ctx, conn, pod.WebhookPort)
	}
}

func (s *Service) forward(ctx context.Context, client net.Conn, port int) {
	defer client.Close() //nolint:errcheck // nobody is left to tell
	server, err := new(net.Dialer).DialContext(ctx, "tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		s.Strayed.Add(1)
		return
	}
	defer server.Close() //nolint:errcheck // as above
	stop := context.AfterFunc(ctx, func() {
		_ = client.Close()
		_ = server.Close()
	})
	defer stop()
	var both sync.WaitGroup
	both.Go(func() { pipe(server, client) })
	both.Go(func() { pipe(client, server) })
	both.Wait()
}

// pipe copies until one side ends, and passes the end on.
func pipe(to, from net.Conn) {
	_, _ = io.Copy(to, from)
	if t, ok := to.(*net.TCPConn); ok {
		_ = t.CloseWrite()
	}
}
