package envoy

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Leaves are the scalars of an Envoy resource by their paths, such as circuit_breakers.thresholds[0].max_connections. An empty
// message is a leaf with the value Empty; an empty list is none, since JSON does not tell it from an absent one.
type Leaves map[string]string

// Empty is the value of a message that is there and has nothing in it, which in Envoy often switches something on.
const Empty = "{}"

// Flatten lists the leaves of a resource, decoded from JSON, with numbers as json.Number or float64. Field names become those of
// Envoy's protobuf files (snake case), whether the JSON has them so (Envoy) or in camel case (istioctl). The type names of packed
// messages (@type) are left out, and a key that is a type name is shortened to its last word.
func Flatten(resource any) Leaves {
	out := Leaves{}
	out.add("", resource)
	return out
}

func (l Leaves) add(path string, v any) {
	switch v := v.(type) {
	case map[string]any:
		n := 0
		for k, item := range v {
			if k == "@type" {
				continue
			}
			n++
			l.add(Join(path, k), item)
		}
		if n == 0 && path != "" {
			l[path] = Empty
		}
	case []any:
		for i, item := range v {
			l.add(path+"["+strconv.Itoa(i)+"]", item)
		}
	case nil:
	default:
		l[path] = Text(v)
	}
}

// Join appends a key of the JSON of a resource to a path.
func Join(path, key string) string {
	name := Name(key)
	if path == "" {
		return name
	}
	return path + "." + name
}

// Name is the protobuf name of a field that JSON may write in camel case. Keys of maps that are type names are shortened to
// their last word; other keys that are no names are quoted.
func Name(key string) string {
	if special, ok := withDigits[key]; ok {
		return special
	}
	if strings.HasPrefix(key, "envoy.") {
		return key[strings.LastIndexByte(key, '.')+1:]
	}
	var b strings.Builder
	for i, r := range key {
		switch {
		case r >= 'A' && r <= 'Z':
			if i > 0 {
				b.WriteByte('_')
			}
			b.WriteRune(r - 'A' + 'a')
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '_':
			b.WriteRune(r)
		default:
			return strconv.Quote(key)
		}
	}
	return b.String()
}

// withDigits are the field names whose camel case does not say where an underscore was.
var withDigits = map[string]string{
	"consecutive5xx":          "consecutive_5xx",
	"enforcingConsecutive5xx": "enforcing_consecutive_5xx",
	"proxy100Continue":        "proxy_100_continue",
}

// Text writes a scalar so that equal values are equal texts: JSON has 64-bit numbers as strings and durations with three, six or
// nine decimals.
func Text(v any) string {
	switch v := v.(type) {
	case string:
		return trimDuration(v)
	case json.Number:
		return v.String()
	case bool:
		return strconv.FormatBool(v)
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return fmt.Sprint(v)
}

// trimDuration writes 0.100s as 0.1s; other texts stay as they are.
func trimDuration(s string) string {
	digits, isSeconds := strings.CutSuffix(s, "s")
	whole, fraction, hasFraction := strings.Cut(digits, ".")
	if !isSeconds || !hasFraction || !isDigits(strings.TrimPrefix(whole, "-")) || !isDigits(fraction) {
		return s
	}
	if fraction = strings.TrimRight(fraction, "0"); fraction == "" {
		return whole + "s"
	}
	return whole + "." + fraction + "s"
}

func isDigits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// Paths returns the paths in order.
func (l Leaves) Paths() []string { return slices.Sorted(maps.Keys(l)) }

// Under says whether a path is another or lies below it.
func Under(path, ancestor string) bool {
	rest, ok := strings.CutPrefix(path, ancestor)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// Difference is a leaf that two resources do not share. A value is "" where the leaf is missing.
type Difference struct{ Path, Before, After string }

// Diff lists the leaves that differ, in the order of paths.
func Diff(before, after Leaves) []Difference {
	var out []Difference
	for path, b := range before {
		if a, ok := after[path]; !ok || a != b {
			out = append(out, Difference{path, b, a})
		}
	}
	for path, a := range after {
		if _, ok := before[path]; !ok {
			out = append(out, Difference{path, "", a})
		}
	}
	slices.SortFunc(out, func(x, y Difference) int { return strings.Compare(x.Path, y.Path) })
	return out
}
