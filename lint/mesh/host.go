package mesh

import (
	"net/netip"
	"strings"
)

// Host is a host name as Istio's registry holds it: fully qualified, or a wildcard such as *.example.com or *.
type Host string

// QualifyHost turns the host of a DestinationRule or route into the name that Istio looks up: a name without a dot is a
// Kubernetes service in the namespace of the object that says it. Addresses and "*" stay as they are.
func QualifyHost(host, namespace, clusterDomain string) Host {
	if host == "" || host == "*" || strings.Contains(host, ".") {
		return Host(host)
	}
	if _, err := netip.ParseAddr(host); err == nil {
		return Host(host)
	}
	return Host(host + "." + namespace + ".svc." + clusterDomain)
}

// IsWildcard says whether the host is a pattern.
func (h Host) IsWildcard() bool { return strings.HasPrefix(string(h), "*") }

// IsOdd says whether the host is not written as a full name in lower case: it ends in a dot, has a single label or an upper-case letter.
func (h Host) IsOdd() bool {
	return strings.HasSuffix(string(h), ".") || !strings.Contains(string(h), ".") || strings.ToLower(string(h)) != string(h)
}

// Covers says whether a pattern, or the same name, takes in other. Istio compares what follows the star as a plain suffix,
// so *.example.com does not cover example.com, and a wildcard covers a narrower wildcard.
func (h Host) Covers(other Host) bool {
	if !h.IsWildcard() {
		return h == other
	}
	return strings.HasSuffix(strings.TrimPrefix(string(other), "*"), string(h[1:]))
}

// Overlaps says whether some name is taken in by both.
func (h Host) Overlaps(other Host) bool { return h.Covers(other) || other.Covers(h) }

// IsAddress says whether the host is an IP address.
func (h Host) IsAddress() bool {
	_, err := netip.ParseAddr(string(h))
	return err == nil
}

// moreSpecific orders the patterns that cover one host: longer ones first, then by name.
func moreSpecific(a, b Host) bool {
	if aw, bw := a.IsWildcard(), b.IsWildcard(); aw != bw {
		return bw
	}
	if len(a) != len(b) {
		return len(a) > len(b)
	}
	return a < b
}

// onLabel says whether a wildcard's star stands for whole labels ("*" or "*.x"), so that it is found by walking the labels
// of a host. Others, such as *-api.example.com, must be tried one by one.
func (h Host) onLabel() bool { return h == "*" || strings.HasPrefix(string(h), "*.") }

// labelPatterns yields the wildcards on label boundaries that cover h, the longest first, "*" last.
func (h Host) labelPatterns(yield func(Host) bool) {
	s := string(h)
	if h.IsWildcard() {
		if !yield(h) || h == "*" {
			return
		}
		s = s[1:]
		if !strings.HasPrefix(s, ".") {
			s = "x" + s // *-api.example.com is covered by *.example.com
		} else {
			s = s[1:]
		}
	}
	for {
		dot := strings.IndexByte(s, '.')
		if dot < 0 {
			break
		}
		s = s[dot+1:]
		if !yield(Host("*." + s)) {
			return
		}
	}
	yield("*")
}
