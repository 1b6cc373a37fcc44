package mesh

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestQualifyHost(t *testing.T) {
	for _, c := range []struct{ host, want string }{
		{"reviews", "reviews.shop.svc.cluster.local"},
		{"reviews.shop", "reviews.shop"}, // a dot makes a name full to Istio
		{"api.example.com", "api.example.com"},
		{"*", "*"},
		{"*.example.com", "*.example.com"},
		{"*reviews", "*reviews.shop.svc.cluster.local"},
		{"", ""},
		{"192.0.2.1", "192.0.2.1"},
		{"::1", "::1"},
		{"localhost", "localhost.shop.svc.cluster.local"},
	} {
		if got := QualifyHost(c.host, "shop", "cluster.local"); string(got) != c.want {
			t.Errorf("QualifyHost(%q) = %q, want %q", c.host, got, c.want)
		}
	}
}

func TestCovers(t *testing.T) {
	for _, c := range []struct {
		pattern, host Host
		covers, back  bool // back: the host covers the pattern
	}{
		{"api.example.com", "api.example.com", true, true},
		{"api.example.com", "API.example.com", false, false}, // Istio compares bytes
		{"*.example.com", "api.example.com", true, false},
		{"*.example.com", "a.b.example.com", true, false},
		{"*.example.com", "example.com", false, false},
		{"*.example.com", "badexample.com", false, false},
		{"*.example.com", "*.example.com", true, true},
		{"*.example.com", "*.api.example.com", true, false},
		{"*.example.com", "*-api.example.com", true, false},
		{"*-api.example.com", "x-api.example.com", true, false},
		{"*-api.example.com", "api.example.com", false, false},
		{"*example.com", "badexample.com", true, false},
		{"*example.com", "example.com", true, false},
		{"*example.com", "*.example.com", true, false},
		{"*", "api.example.com", true, false},
		{"*", "*", true, true},
		{"*", "*.com", true, false},
		{"*.", "host.", true, false},
	} {
		if got := c.pattern.Covers(c.host); got != c.covers {
			t.Errorf("%s covers %s: %v, want %v", c.pattern, c.host, got, c.covers)
		}
		if got := c.host.Covers(c.pattern); got != c.back {
			t.Errorf("%s covers %s: %v, want %v", c.host, c.pattern, got, c.back)
		}
		if got := c.host.Overlaps(c.pattern); got != (c.covers || c.back) {
			t.Errorf("%s overlaps %s: %v", c.host, c.pattern, got)
		}
	}
}

func TestLabelPatterns(t *testing.T) {
	for _, c := range []struct {
		host Host
		want []Host
	}{
		{"api.example.com", []Host{"*.example.com", "*.com", "*"}},
		{"*.example.com", []Host{"*.example.com", "*.com", "*"}},
		{"*-api.example.com", []Host{"*-api.example.com", "*.example.com", "*.com", "*"}},
		{"*example.com", []Host{"*example.com", "*.com", "*"}},
		{"localhost", []Host{"*"}},
		{"*", []Host{"*"}},
		{"*x", []Host{"*x", "*"}},
		{"dot.at.end.", []Host{"*.at.end.", "*.end.", "*.", "*"}},
		{"", []Host{"*"}},
	} {
		var got []Host
		for p := range c.host.labelPatterns {
			got = append(got, p)
			if !p.Covers(c.host) {
				t.Errorf("pattern %s of %s does not cover it", p, c.host)
			}
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("patterns of %q (-want +got):\n%s", c.host, diff)
		}
		for n := range got { // stopping early must be possible anywhere
			taken := 0
			for range c.host.labelPatterns {
				if taken++; taken == n+1 {
					break
				}
			}
			if taken != n+1 {
				t.Errorf("patterns of %q stop after %d, want %d", c.host, taken, n+1)
			}
		}
	}
}

// The patterns by which rules are looked up must be all that cover a host, the most specific first, each once.
func TestPatternsFor(t *testing.T) {
	patterns := []Host{
		"*", "*.com", "*.example.com", "*example.com", "*-api.example.com", "*i.example.com", "*.v1.example.com", "*m", "*le.com",
		"x-api.example.com", "api.example.com", "*.x-api.example.com",
	}
	ix := New(Settings{})
	y, e := ix.fork()
	for _, p := range patterns {
		y.noteOdd(p)
	}
	_ = e
	for _, h := range []Host{"x-api.example.com", "api.example.com", "*.example.com", "*-api.example.com", "a.v1.example.com", "*", "*m", "com", "example.com"} {
		var want []Host
		for _, p := range patterns {
			if p.Covers(h) && !(h.IsWildcard() && !p.IsWildcard()) {
				want = append(want, p)
			}
		}
		slices.SortFunc(want, func(a, b Host) int {
			if moreSpecific(a, b) {
				return -1
			}
			return 1
		})
		var got []Host
		for p := range y.patternsFor(h) {
			if slices.Contains(patterns, p) { // label patterns come whether or not a rule has them
				got = append(got, p)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("patterns for %s (-want +got):\n%s", h, diff)
		}
	}
}

func TestIsAddress(t *testing.T) {
	for host, want := range map[Host]bool{"192.0.2.1": true, "2001:db8::1": true, "api.example.com": false, "*": false, "192.0.2.0/24": false} {
		if host.IsAddress() != want {
			t.Errorf("%s is an address: %v", host, !want)
		}
	}
	for text, want := range map[string]bool{"192.0.2.0/24": true, "2001:db8::/32": true, "192.0.2.1": false, "x/24": false} {
		if IsCIDR(text) != want {
			t.Errorf("%s is a range: %v", text, !want)
		}
	}
}
