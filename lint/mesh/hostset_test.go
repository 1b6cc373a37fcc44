package mesh

import (
	"hash/maphash"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A set of hosts must be what a map and trying every host say, and so must its copies, whatever is written to either.
func TestHostSet(t *testing.T) {
	type version struct {
		set  hostSet
		want map[Host]int
	}
	seed := maphash.MakeSeed()
	for run := range uint64(4) {
		r := rand.New(rand.NewPCG(run, 11))
		host := func() Host {
			labels := []string{"a", "b", "ab", "x-a", "com", "*"}
			var parts []string
			for range 1 + r.IntN(4) {
				parts = append(parts, labels[r.IntN(5)])
			}
			h := strings.Join(parts, ".")
			switch r.IntN(4) {
			case 0:
				h = "*." + h
			case 1:
				h = "*" + h
			}
			return Host(h)
		}
		versions := []version{{want: map[Host]int{}}}
		for range 30 {
			from := versions[r.IntN(len(versions))]
			v := version{from.set, map[Host]int{}}
			for h, n := range from.want {
				v.want[h] = n
			}
			e := &edit{seed}
			for range 100 {
				h := host()
				if r.IntN(5) > 1 {
					v.set.add(e, h)
					v.want[h]++
					continue
				}
				if v.want[h] > 1 {
					v.want[h]--
				} else {
					delete(v.want, h)
				}
				if gone := v.set.drop(e, h); gone != (v.want[h] == 0) {
					t.Errorf("dropping %s says gone %v and leaves %d", h, gone, v.want[h])
				}
			}
			versions = append(versions, v)
		}
		for _, v := range versions {
			if v.set.n != len(v.want) {
				t.Errorf("%d hosts instead of %d", v.set.n, len(v.want))
			}
			for _, pattern := range []Host{"*", "*.com", "*com", "*.a.b", "*-a.b", "a.b", "*.nowhere", "*b", "**a", ""} {
				var want []Host
				for h := range v.want {
					if pattern.Covers(h) {
						want = append(want, h)
					}
				}
				slices.SortFunc(want, compareEnds)
				if diff := cmp.Diff(want, slices.Collect(v.set.under(pattern))); diff != "" {
					t.Fatalf("under %s (-want +got):\n%s", pattern, diff)
				}
			}
		}
	}
}

// The set stays cheap where very many hosts have one parent, and where the names are long.
func TestHostSetSplits(t *testing.T) {
	var s hostSet
	e := &edit{maphash.MakeSeed()}
	for i := range 20 * blockSize {
		s.add(e, Host(strings.Repeat("x", i%97)+string(rune('a'+i%26))+strings.Repeat("y", i%89)+".example.com"))
	}
	before := s.n
	for _, b := range s.blocks {
		if len(b.hosts) == 0 || len(b.hosts) > blockSize {
			t.Errorf("a block of %d", len(b.hosts))
		}
	}
	c := s
	for _, h := range slices.Collect(s.under("*")) {
		for !c.drop(&edit{maphash.MakeSeed()}, h) {
		}
	}
	if c.n != 0 || len(c.blocks) != 0 || s.n != before || len(slices.Collect(s.under("*.example.com"))) != before {
		t.Errorf("%d hosts are left of a copy, and %d of %d in the original", c.n, s.n, before)
	}
}
