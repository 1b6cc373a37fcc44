package main

import (
	"fmt"
	"net/netip"
	"regexp"
	"strconv"
	"strings"

	"github.com/meshvet/meshvet/lint/egress"
	"github.com/meshvet/meshvet/lint/object"
)

// maxNameBytes is the longest host name that DNS knows.
const maxNameBytes = 253

// parseQuery reads HOST, HOST:PORT or an address, IPv6 with a port in brackets.
func parseQuery(arg string) (egress.Query, error) {
	quoted := fmt.Sprintf("%q", object.Abridge(arg))
	host, port, hasPort := arg, "", false
	switch {
	case strings.Contains(arg, "://"):
		return egress.Query{}, fmt.Errorf("%s is a URL; write its HOST or HOST:PORT", quoted)
	case strings.HasPrefix(arg, "["):
		inner, rest, closed := strings.Cut(arg[1:], "]")
		if _, err := netip.ParseAddr(inner); !closed || err != nil || rest != "" && !strings.HasPrefix(rest, ":") {
			return egress.Query{}, fmt.Errorf("%s is no host: brackets hold an IPv6 address, as in [::1]:443", quoted)
		}
		host, port, hasPort = inner, strings.TrimPrefix(rest, ":"), rest != ""
	case strings.Count(arg, ":") == 1:
		host, port, hasPort = strings.Cut(arg, ":")
	case strings.Contains(arg, ":"):
		if _, err := netip.ParseAddr(arg); err != nil {
			return egress.Query{}, fmt.Errorf("%s is no host: more than one colon; write HOST:PORT, an IPv6 address with a port as [::1]:443", quoted)
		}
	}
	switch {
	case host == "":
		return egress.Query{}, fmt.Errorf("%s names no host; write HOST or HOST:PORT", quoted)
	case len(host) > maxNameBytes:
		return egress.Query{}, fmt.Errorf("%s is longer than %d bytes, which no host name is", quoted, maxNameBytes)
	}
	q := egress.Query{Host: host}
	if hasPort {
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil || n == 0 {
			return egress.Query{}, fmt.Errorf("%s: port %q is not a number from 1 to 65535", quoted, object.Abridge(port))
		}
		q.Port = uint32(n)
	}
	return q, nil
}

// namespaceName is what Kubernetes lets a namespace be called.
var namespaceName = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)

// checkNamespaces says which of some namespaces, given by flag, cannot be one.
func checkNamespaces(names ...string) error {
	for _, n := range names {
		if !namespaceName.MatchString(n) {
			return fmt.Errorf("--from: %q cannot be the name of a namespace", object.Abridge(n))
		}
	}
	return nil
}
