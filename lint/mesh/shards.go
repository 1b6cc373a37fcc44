package mesh

import (
	"hash/maphash"
	"iter"
	"slices"
	"sort"
)

// shards is a map that can be copied like a value: writing to a copy clones its table of shards and the shard that is written to. It
// makes snapshots cheap and updates proportional to a small part of the mesh.
type shards[K comparable, V any] struct {
	tab   *[shardCount]shard[K, V]
	owner *edit // the edit that may write tab in place
	n     int
}

const shardCount = 256

type shard[K comparable, V any] struct {
	m     map[K]V
	owner *edit // the edit that may write m in place
}

// edit is the identity of one series of writes.
type edit struct{ seed maphash.Seed }

func (s *shards[K, V]) at(seed maphash.Seed, k K) *shard[K, V] {
	return &s.tab[maphash.Comparable(seed, k)%shardCount]
}

func (s *shards[K, V]) get(seed maphash.Seed, k K) (V, bool) {
	if s.tab == nil {
		var zero V
		return zero, false
	}
	v, ok := s.at(seed, k).m[k]
	return v, ok
}

func (s *shards[K, V]) writable(e *edit, k K) *shard[K, V] {
	if s.owner != e {
		tab := new([shardCount]shard[K, V])
		if s.tab != nil {
			*tab = *s.tab
		}
		s.tab, s.owner = tab, e
	}
	sh := s.at(e.seed, k)
	if sh.owner != e {
		m := make(map[K]V, len(sh.m)+1)
		for k, v := range sh.m {
			m[k] = v
		}
		sh.m, sh.owner = m, e
	}
	return sh
}

func (s *shards[K, V]) set(e *edit, k K, v V) {
	sh := s.writable(e, k)
	before := len(sh.m)
	sh.m[k] = v
	s.n += len(sh.m) - before
}

func (s *shards[K, V]) delete(e *edit, k K) {
	if _, has := s.get(e.seed, k); has {
		delete(s.writable(e, k).m, k)
		s.n--
	}
}

// all yields the entries in no particular order.
func (s *shards[K, V]) all() iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		if s.tab == nil {
			return
		}
		for i := range s.tab {
			for k, v := range s.tab[i].m {
				if !yield(k, v) {
					return
				}
			}
		}
	}
}

// adjust adds to the number at a key; a number that comes to 0 is not kept. It says whether the key came or went.
func adjust[K comparable](s *shards[K, int], e *edit, k K, by int) bool {
	n, had := s.get(e.seed, k)
	if n += by; n > 0 {
		s.set(e, k, n)
		return !had
	}
	s.delete(e, k)
	return had
}

// list is a value of shards that holds several items.
type list[V any] struct {
	items []V
	owner *edit // the edit that may change items in place
}

// lists is a map of lists with the sharing of shards.
type lists[K comparable, V any] struct{ shards[K, *list[V]] }

func (s *lists[K, V]) at(seed maphash.Seed, k K) []V {
	if l, ok := s.get(seed, k); ok {
		return l.items
	}
	return nil
}

func (s *lists[K, V]) own(e *edit, k K) *list[V] {
	l, _ := s.get(e.seed, k)
	if l == nil || l.owner != e {
		own := &list[V]{owner: e}
		if l != nil {
			own.items = append(make([]V, 0, len(l.items)+1), l.items...)
		}
		s.set(e, k, own)
		l = own
	}
	return l
}

// insert puts an item into the list at k, before the first one that it is less than.
func (s *lists[K, V]) insert(e *edit, k K, item V, less func(a, b V) bool) {
	l := s.own(e, k)
	at := sort.Search(len(l.items), func(i int) bool { return less(item, l.items[i]) })
	l.items = slices.Insert(l.items, at, item)
}

// remove takes the first item for which is holds out of the list at k.
func (s *lists[K, V]) remove(e *edit, k K, is func(V) bool) {
	i := slices.IndexFunc(s.at(e.seed, k), is)
	if i < 0 {
		return
	}
	l := s.own(e, k)
	if l.items = slices.Delete(l.items, i, i+1); len(l.items) == 0 {
		s.delete(e, k)
	}
}
