package mesh

import (
	"iter"
	"slices"
	"strings"
)

// hostSet is a set of hosts in the order of their ends, so that what a wildcard covers stands together. Like shards it is copied for
// the price of its table: a write to a copy clones one block. Trees of libraries either write to the original when they are cloned,
// which concurrent overlays of one snapshot must not, or take microseconds for an insertion.
type hostSet struct {
	blocks []hostBlock
	owner  *edit // the edit that may change blocks in place
	n      int
}

// hostBlock is never empty.
type hostBlock struct {
	hosts []countedHost
	owner *edit // the edit that may change hosts in place
}

// countedHost says how many reasons there are for a host to be in the set.
type countedHost struct {
	host Host
	n    int
}

const blockSize = 256

// compareEnds orders hosts as their texts read backwards would be.
func compareEnds(a, b Host) int {
	for i, j := len(a)-1, len(b)-1; i >= 0 && j >= 0; i, j = i-1, j-1 {
		if a[i] != b[j] {
			return int(a[i]) - int(b[j])
		}
	}
	return len(a) - len(b)
}

// seek returns the block in which a host is or belongs, and its place there.
func (s *hostSet) seek(h Host) (block, at int, found bool) {
	block, found = slices.BinarySearchFunc(s.blocks, h, func(b hostBlock, h Host) int { return compareEnds(b.hosts[0].host, h) })
	if found || block == 0 {
		return block, 0, found
	}
	block--
	at, found = slices.BinarySearchFunc(s.blocks[block].hosts, h, func(c countedHost, h Host) int { return compareEnds(c.host, h) })
	return block, at, found
}

func (s *hostSet) writable(e *edit, block int) *hostBlock {
	if s.owner != e {
		s.blocks, s.owner = slices.Clone(s.blocks), e
	}
	b := &s.blocks[block]
	if b.owner != e {
		b.hosts, b.owner = append(make([]countedHost, 0, len(b.hosts)+1), b.hosts...), e
	}
	return b
}

// add puts a host into the set, once more if it is there.
func (s *hostSet) add(e *edit, h Host) {
	block, at, found := s.seek(h)
	if len(s.blocks) == 0 {
		s.blocks, s.owner, s.n = []hostBlock{{hosts: []countedHost{{h, 1}}, owner: e}}, e, 1
		return
	}
	b := s.writable(e, block)
	if found {
		b.hosts[at].n++
		return
	}
	b.hosts = slices.Insert(b.hosts, at, countedHost{h, 1})
	s.n++
	if len(b.hosts) > blockSize {
		half := len(b.hosts) / 2
		upper := hostBlock{hosts: slices.Clone(b.hosts[half:]), owner: e}
		clear(b.hosts[half:])
		b.hosts = b.hosts[:half]
		s.blocks = slices.Insert(s.blocks, block+1, upper)
	}
}

// drop takes a host out of the set once; it is gone when all reasons are. It says whether it is.
func (s *hostSet) drop(e *edit, h Host) bool {
	block, at, found := s.seek(h)
	if !found {
		return true
	}
	b := s.writable(e, block)
	if b.hosts[at].n--; b.hosts[at].n > 0 {
		return false
	}
	b.hosts = slices.Delete(b.hosts, at, at+1)
	s.n--
	if len(b.hosts) == 0 {
		s.blocks = slices.Delete(s.blocks, block, block+1)
	}
	return true
}

// under yields the hosts that a wildcard covers, itself among them, in the order of their ends; of a name that name.
func (s *hostSet) under(h Host) iter.Seq[Host] {
	return func(yield func(Host) bool) {
		if !h.IsWildcard() {
			if _, _, found := s.seek(h); found {
				yield(h)
			}
			return
		}
		if len(s.blocks) == 0 {
			return
		}
		end := h[1:]
		block, at, _ := s.seek(end)
		for ; block < len(s.blocks); block, at = block+1, 0 {
			for _, c := range s.blocks[block].hosts[at:] {
				if !strings.HasSuffix(string(c.host), string(end)) {
					return
				}
				if h.Covers(c.host) && !yield(c.host) {
					return
				}
			}
		}
	}
}
