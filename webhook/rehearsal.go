package webhook

import (
	"sync"
	"time"

	"github.com/meshvet/meshvet/lint/mesh"
	"github.com/meshvet/meshvet/lint/object"
)

// rehearsals are what dry runs would have stored, for the dry runs that follow: a ServiceEntry and its DestinationRule that are rehearsed
// together would otherwise be judged as if each were alone, and a tool that rehearses all of a change before it makes it would never get
// to make it. Nothing but dry runs of the same user sees them.
type rehearsals struct {
	mu     sync.Mutex
	byUser map[string][]rehearsed
	count  int
}

type rehearsed struct {
	key    object.Key
	object *object.Object // nil for a removal
	ends   time.Time
}

const (
	rehearsalFor = 10 * time.Second
	// mostRehearsed bounds what is kept of one user, mostRehearsals of all.
	mostRehearsed  = 100
	mostRehearsals = 1000
)

// add keeps what a dry run would have done.
func (r *rehearsals) add(user string, k object.Key, o *object.Object, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.expire(now)
	if r.count >= mostRehearsals || len(r.byUser[user]) >= mostRehearsed {
		return
	}
	if r.byUser == nil {
		r.byUser = map[string][]rehearsed{}
	}
	r.byUser[user] = append(r.byUser[user], rehearsed{k, o, now.Add(rehearsalFor)})
	r.count++
}

// over lays what a user has rehearsed over an index.
func (r *rehearsals) over(ix *mesh.Index, user string, now time.Time) *mesh.Index {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.expire(now)
	for _, e := range r.byUser[user] {
		if e.object == nil {
			ix = ix.Without(e.key)
		} else {
			ix = ix.With(e.object)
		}
	}
	return ix
}

// expire forgets what is old. The lists are in the order of time.
func (r *rehearsals) expire(now time.Time) {
	for user, list := range r.byUser {
		n := 0
		for n < len(list) && !now.Before(list[n].ends) {
			n++
		}
		r.count -= n
		if n == len(list) {
			delete(r.byUser, user)
		} else {
			r.byUser[user] = list[n:]
		}
	}
}
