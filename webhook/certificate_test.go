package webhook

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/go-logr/logr"
)

// unwatchable are files that cannot be watched, and at first cannot be read.
type unwatchable struct{ reads chan int }

func (u unwatchable) Start(context.Context) error { return errors.New("no space left on device") }

func (u unwatchable) ReadCertificate() error {
	n := <-u.reads
	u.reads <- n + 1
	if n == 0 {
		return errors.New("too many open files")
	}
	return nil
}

// TestCertificateThatCannotBeWatched is read all the same, until the server ends.
func TestCertificateThatCannotBeWatched(t *testing.T) {
	c := newCertificate(t.TempDir(), "tls.crt", "tls.key", logr.Discard(), nil)
	files := unwatchable{make(chan int, 1)}
	files.reads <- 0
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		c.follow(ctx, files, time.Millisecond)
		close(ended)
	}()
	for n := 0; n < 3; {
		n = <-files.reads
		files.reads <- n
		select {
		case <-ended:
			t.Fatal("it ended")
		case <-time.After(time.Millisecond):
		}
	}
	cancel()
	<-ended
}
