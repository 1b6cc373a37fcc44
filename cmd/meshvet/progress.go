package main

import (
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/term"
)

// When progress is shown. A run that is over before meterDelay shows nothing.
const (
	meterDelay = 500 * time.Millisecond
	meterPause = 100 * time.Millisecond // between two drawings
)

// meter shows on the last line of a terminal how far a run is. A nil meter shows nothing.
type meter struct {
	to    io.Writer
	width func() int // of the terminal, in cells

	mu    sync.Mutex
	stage stage
	drawn string // what the line shows, "" if it is clear
	quit  chan struct{}
	gone  sync.WaitGroup
}

// stage is a part of a run.
type stage struct {
	what string        // such as "reading files"
	done *atomic.Int64 // of
	of   int           // 0 = that is not known
	unit string        // one of done, where of is not known
}

// newMeter starts a meter on standard error if that is a terminal and a person may be looking at it.
func (a *app) newMeter(quiet bool) *meter {
	if t := a.getenv("TERM"); quiet || a.getenv("CI") != "" || t == "" || t == "dumb" || !isTerminal(a.stderr) {
		return nil
	}
	m := &meter{to: a.stderr, width: func() int { return 80 }, quit: make(chan struct{})}
	if f, ok := a.stderr.(*os.File); ok {
		m.width = func() int {
			if w, _, err := term.GetSize(int(f.Fd())); err == nil && w > 0 {
				return w
			}
			return 80
		}
	}
	quit := m.quit
	m.gone.Go(func() { m.run(quit) })
	return m
}

func (m *meter) run(quit <-chan struct{}) {
	wait := time.NewTimer(meterDelay)
	defer wait.Stop()
	for {
		select {
		case <-quit:
			return
		case <-wait.C:
		}
		m.draw()
		wait.Reset(meterPause)
	}
}

// begin says what the run is doing from now on. The number that is returned is to be increased as it goes on; it is one also without a
// meter.
func (m *meter) begin(what string, of int, unit string) *atomic.Int64 {
	done := new(atomic.Int64)
	if m != nil {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.stage = stage{what, done, of, unit}
	}
	return done
}

func (s *stage) String() string {
	switch n := s.done.Load(); {
	case s.of > 0:
		return fmt.Sprintf("%s: %d of %d", s.what, min(n, int64(s.of)), s.of)
	case n > 0:
		return s.what + ": " + counted(int(n), s.unit, s.unit+"s")
	}
	return s.what
}

func (m *meter) draw() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.stage.done == nil {
		return
	}
	text := []rune(clean(m.stage.String()))
	if room := m.width() - 1; len(text) > room { // a line that wraps could not be cleared
		text = text[:max(0, room)]
	}
	if string(text) != m.drawn {
		m.drawn = string(text)
		fmt.Fprintf(m.to, "\r%s\x1b[K", m.drawn)
	}
}

// aside clears the line for as long as something else is written.
func (m *meter) aside(write func()) {
	if m != nil {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.clear()
	}
	write()
}

func (m *meter) clear() {
	if m.drawn != "" {
		m.drawn = ""
		fmt.Fprint(m.to, "\r\x1b[K")
	}
}

// end clears the line for good. It may be called again.
func (m *meter) end() {
	if m == nil {
		return
	}
	m.mu.Lock()
	over := m.quit == nil
	if !over {
		close(m.quit)
		m.quit = nil
	}
	m.mu.Unlock()
	if over {
		return
	}
	m.gone.Wait()
	m.clear()
}
