package schema

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/meshvet/meshvet/lint/object"
)

// A decider decides a CEL rule in Go, for a value v of node n, which has the type that n says. It reports what is wrong where it stands,
// which is often more precise than the value that carries the rule. What it reads below v may still be of the wrong type or missing:
// that is reported elsewhere, and not a reason to find fault here.
type decider func(w *walker, n *node, v Value) bool

// deciders maps the exact text of a rule to its decider. A rule that is not here, such as one that a new version of the CRDs brings, is
// evaluated by the CEL library. A test holds each decider to CEL.
func deciders() map[string]decider {
	return map[string]decider{
		`duration(self) >= duration('1ms')`:      minimumDuration,
		`0 < self && self <= 65535`:              portNumber,
		`self != "*"`:                            notEveryHost,
		`!self.contains("*")`:                    noWildcardValue,
		`self.all(key, !key.contains("*"))`:      noWildcardKeys,
		`self.all(key, key.size() != 0)`:         noEmptyKeys,
		`has(self.address) || has(self.network)`: addressOrNetwork,
		`(has(self.address) ? self.address : "").startsWith("unix://") ? !has(self.ports) : true`:                                                                 socketWithoutPorts,
		`self.startsWith("unix://") ? (self.substring(7, 8) == "/" || self.substring(7, 8) == "@") : true`:                                                        absoluteSocket,
		`self.startsWith("unix://") ? !self.endsWith("/") : true`:                                                                                                 socketNotDirectory,
		`self.all(key, size(key) < 63 && key.matches("^[a-zA-Z0-9](?:[-a-zA-Z0-9]*[a-zA-Z0-9])?$"))`:                                                              portNames,
		`self.all(l1, self.exists_one(l2, l1.number == l2.number))`:                                                                                               distinctNumbers,
		`(has(self.workloadSelector) ? 1 : 0) + (has(self.endpoints) ? 1 : 0) <= 1`:                                                                               selectorOrEndpoints,
		`((has(self.resolution) ? self.resolution : "NONE") == "NONE") ? !has(self.endpoints) : true`:                                                             noneWithoutEndpoints,
		`((has(self.resolution) ? self.resolution : "") == "DNS_ROUND_ROBIN") ? ((has(self.endpoints) ? self.endpoints : []).size() <= 1) : true`:                 roundRobinOneEndpoint,
		`!((has(self.addresses) ? self.addresses : []).exists(k, k.contains("/")) && !((has(self.resolution) ? self.resolution : "NONE") in ["STATIC", "NONE"]))`: rangesNeedStatic,
	}
}

const minDuration = time.Millisecond

func minimumDuration(w *walker, _ *node, v Value) bool {
	d, err := time.ParseDuration(v.Str())
	if err == nil && d >= minDuration {
		return true
	}
	if w.quick {
		return false
	}
	s := v.Str()
	withUnit, unitErr := time.ParseDuration(s + "s")
	switch {
	case err == nil && d < 0:
		return w.broken(nil, v, fmt.Sprintf("%s %s is negative; at least 1ms is required", w.label(), got(v)))
	case err == nil:
		return w.broken(nil, v, fmt.Sprintf("%s %s is below the minimum of 1ms", w.label(), got(v)))
	case s == "":
		return w.broken(nil, v, w.label()+` is an empty string; a duration such as "5s" is required`)
	case unitErr == nil && withUnit >= minDuration:
		w.report(fromRule, InvalidValue, nil, v,
			fmt.Sprintf("%s %s has no unit; a duration such as %q is required", w.label(), got(v), short(s)+"s")).suggest(s + "s")
		return false
	case strings.Contains(err.Error(), "unknown unit"):
		return w.broken(nil, v, fmt.Sprintf("%s %s has a unit that is none of h, m, s, ms, us and ns", w.label(), got(v)))
	}
	return w.broken(nil, v, fmt.Sprintf(`%s %s is not a duration; a number with a unit (h, m, s, ms, us, ns) such as "5s" or "1m30s" is required`,
		w.label(), got(v)))
}

func portNumber(w *walker, _ *node, v Value) bool {
	if v.Type() == Int && v.Int() > 0 && v.Int() <= 65535 {
		return true
	}
	if w.quick {
		return false
	}
	if v.Type() == Float {
		return w.broken(nil, v, fmt.Sprintf("%s is written with a decimal point; an integer from 1 to 65535 is required", w.label()))
	}
	return w.broken(nil, v, fmt.Sprintf("%s %s is not a port; 1 to 65535 is allowed", w.label(), got(v)))
}

func notEveryHost(w *walker, _ *node, v Value) bool {
	return v.Str() != "*" || w.broken(nil, v,
		w.label()+` "*" stands for every host, which one ServiceEntry cannot describe; a wildcard needs a domain, such as "*.example.com"`)
}

func noWildcardValue(w *walker, _ *node, v Value) bool {
	return !strings.Contains(v.Str(), "*") || w.broken(nil, v,
		fmt.Sprintf("%s %s holds a *; a selector compares label values as they are", w.label(), got(v)))
}

func noWildcardKeys(w *walker, _ *node, v Value) bool {
	return w.keys(v, func(key string) string {
		if !strings.Contains(key, "*") {
			return ""
		}
		return fmt.Sprintf("label name %s holds a *; a selector compares label names as they are", quoted(key))
	})
}

func noEmptyKeys(w *walker, _ *node, v Value) bool {
	return w.keys(v, func(key string) string {
		if key != "" {
			return ""
		}
		return "a label name is empty"
	})
}

func portNames(w *walker, _ *node, v Value) bool {
	return w.keys(v, func(key string) string {
		if utf8.RuneCountInString(key) < 63 && alphanumeric(key, "-") {
			return ""
		}
		return fmt.Sprintf("port name %s is not valid; fewer than 63 letters, digits and '-' are allowed, with a letter or digit at both ends", quoted(key))
	})
}

// keys judges the keys of a mapping; wrong returns what is wrong with one, "" if nothing is. Fields that are null do not count.
func (w *walker) keys(v Value, wrong func(key string) string) bool {
	good := true
	for f := v.First(); f != nil && !w.full(); f = f.Next() {
		if f.Type() == Null {
			continue
		}
		msg := wrong(f.Key())
		if msg == "" {
			continue
		}
		if w.quick {
			return false
		}
		good = w.broken(object.Path{f.Key()}, f, w.label()+": "+msg)
	}
	return good
}

// alphanumeric says whether s is ASCII letters, digits and the characters of inner, with a letter or digit at both ends.
func alphanumeric(s, inner string) bool {
	for i := range len(s) {
		c := s[i]
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' {
			continue
		}
		if i == 0 || i == len(s)-1 || strings.IndexByte(inner, c) < 0 {
			return false
		}
	}
	return s != ""
}

func addressOrNetwork(w *walker, _ *node, v Value) bool {
	if get(v, "address") != nil || get(v, "network") != nil {
		return true
	}
	if w.quick {
		return false
	}
	w.report(fromRule, MissingField, object.Path{"address"}, nil, w.label()+" has neither an address nor a network; one of them is required")
	return false
}

const unixPrefix = "unix://"

func socketWithoutPorts(w *walker, _ *node, v Value) bool {
	address, ports := get(v, "address"), get(v, "ports")
	if address == nil || ports == nil || !strings.HasPrefix(address.Str(), unixPrefix) {
		return true
	}
	return w.broken(object.Path{"ports"}, ports, fmt.Sprintf("%s has ports beside the Unix domain socket %s, which has none", w.label(), got(address)))
}

func absoluteSocket(w *walker, _ *node, v Value) bool {
	path, ok := strings.CutPrefix(v.Str(), unixPrefix)
	return !ok || strings.HasPrefix(path, "/") || strings.HasPrefix(path, "@") || w.broken(nil, v,
		fmt.Sprintf("%s %s is not an absolute path; unix:// is followed by / or, for an abstract socket, by @", w.label(), got(v)))
}

func socketNotDirectory(w *walker, _ *node, v Value) bool {
	return !strings.HasPrefix(v.Str(), unixPrefix) || !strings.HasSuffix(v.Str(), "/") || w.broken(nil, v,
		fmt.Sprintf("%s %s ends in / like a directory; a Unix domain socket is a file", w.label(), got(v)))
}

func distinctNumbers(w *walker, _ *node, v Value) bool {
	good := true
	var few [8]int64
	seen := few[:0]
	var many map[int64]bool // instead of seen, when that gets long
	i := -1
	for item := v.First(); item != nil && !w.full(); item = item.Next() {
		i++
		number := get(item, "number")
		switch {
		case number == nil:
		case number.Type() == Float:
			// CEL has no integer here and fails the rule; portNumber says so at the number.
			good = false
		case number.Type() != Int:
		case slices.Contains(seen, number.Int()) || many[number.Int()]:
			good = w.broken(object.Path{i, "number"}, number, fmt.Sprintf("%s number %s is the one of an earlier port; each port is listed once",
				label(w.path.Child(i), -1), got(number)))
		case len(seen) < len(few):
			seen = append(seen, number.Int())
		default:
			if many == nil {
				many = map[int64]bool{}
			}
			many[number.Int()] = true
		}
		if w.quick && !good {
			return false
		}
	}
	return good
}

func selectorOrEndpoints(w *walker, _ *node, v Value) bool {
	selector := get(v, "workloadSelector")
	return selector == nil || get(v, "endpoints") == nil || w.broken(object.Path{"workloadSelector"}, selector,
		w.label()+" has both a workloadSelector and endpoints; the endpoints come from one of them")
}

// resolution returns the resolution of a ServiceEntry's spec, absent as "". ok is false if it is not a value that the schema allows,
// so that nothing follows from it.
func (w *walker) resolution(n *node, spec Value) (resolution string, ok bool) {
	v := get(spec, "resolution")
	if v == nil {
		return "", true
	}
	i := n.find("resolution")
	return v.Str(), v.Type() == String && i >= 0 && slices.Contains(w.k.crd.nodes[n.props[i].node].enum, v.Str())
}

func noneWithoutEndpoints(w *walker, n *node, v Value) bool {
	endpoints := get(v, "endpoints")
	if endpoints == nil {
		return true
	}
	resolution, ok := w.resolution(n, v)
	switch {
	case !ok || resolution != "" && resolution != "NONE":
		return true
	case resolution == "":
		return w.broken(object.Path{"endpoints"}, endpoints,
			"endpoints needs a resolution of STATIC, DNS or DNS_ROUND_ROBIN; it is not set, which means NONE, and NONE goes where the client dialled")
	}
	return w.broken(object.Path{"endpoints"}, endpoints,
		"endpoints cannot be used with resolution NONE, which goes where the client dialled; STATIC, DNS and DNS_ROUND_ROBIN use them")
}

func roundRobinOneEndpoint(w *walker, n *node, v Value) bool {
	endpoints := get(v, "endpoints")
	if endpoints == nil || endpoints.Type() != List {
		return true
	}
	if resolution, _ := w.resolution(n, v); resolution != "DNS_ROUND_ROBIN" {
		return true
	}
	count := 0
	for item := endpoints.First(); item != nil; item = item.Next() {
		count++
	}
	return count <= 1 || w.broken(object.Path{"endpoints"}, endpoints,
		fmt.Sprintf("endpoints has %d items; resolution DNS_ROUND_ROBIN allows one", count))
}

func rangesNeedStatic(w *walker, n *node, v Value) bool {
	addresses := get(v, "addresses")
	if addresses == nil || addresses.Type() != List {
		return true
	}
	resolution, ok := w.resolution(n, v)
	if !ok || resolution == "" || resolution == "NONE" || resolution == "STATIC" {
		return true
	}
	i := 0
	for item := addresses.First(); item != nil; item = item.Next() {
		if item.Type() == String && strings.Contains(item.Str(), "/") {
			return w.broken(object.Path{"addresses", i}, item,
				fmt.Sprintf("addresses[%d] %s is a range; resolution %s takes single addresses, NONE and STATIC take ranges", i, got(item), resolution))
		}
		i++
	}
	return true
}

// broken reports a value that breaks a CEL rule.
func (w *walker) broken(rel object.Path, v Value, message string) bool {
	if w.quick {
		return false
	}
	w.report(fromRule, InvalidValue, rel, v, message)
	return false
}
