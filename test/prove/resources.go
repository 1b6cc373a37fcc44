package main

import (
	"maps"
	"slices"
	"strings"

	"github.com/meshvet/meshvet/lint/envoy"
	"github.com/meshvet/meshvet/test/prove/oracle"
)

// resources are the flattened resources of a result by "KIND NAME".
type resources map[string]envoy.Leaves

// masked is where Istio notes which objects a resource comes from. Envoy's filters only report it.
const masked = "metadata.filter_metadata.istio"

func resourcesOf(res *oracle.Result) (resources, error) {
	out := resources{}
	for name, r := range res.Resources() {
		leaves, err := r.Leaves()
		if err != nil {
			return nil, err
		}
		maps.DeleteFunc(leaves, func(path, _ string) bool {
			i := strings.Index(path, masked)
			return i == 0 || i > 0 && path[i-1] == '.'
		})
		out[name] = leaves
	}
	return out, nil
}

// change is a resource that differs: a leaf of it, or all of it where path is "".
type change struct {
	resource, path string
	before, after  string // values, present or absent
}

// where is the resource with the path.
func (c change) where() string { return strings.TrimSuffix(c.resource+" "+c.path, " ") }

// diff lists what differs, by resource and path. Of a resource that one side lacks only that is listed.
func diff(before, after resources) []change {
	names := maps.Clone(before)
	maps.Copy(names, after)
	var out []change
	for _, name := range slices.Sorted(maps.Keys(names)) {
		b, inBefore := before[name]
		a, inAfter := after[name]
		switch {
		case !inAfter:
			out = append(out, change{name, "", present, absent})
			continue
		case !inBefore:
			out = append(out, change{name, "", absent, present})
			continue
		}
		for _, d := range envoy.Diff(b, a) {
			c := change{name, d.Path, d.Before, d.After}
			if _, ok := b[d.Path]; !ok {
				c.before = absent
			}
			if _, ok := a[d.Path]; !ok {
				c.after = absent
			}
			out = append(out, c)
		}
	}
	return out
}

// gathered puts the leaves of what one side lacks altogether, such as a whole transport_socket, into one change, unless there are few.
func gathered(changes []change, before, after resources) []change {
	const few = 2
	var out []change
	for _, c := range changes {
		var lacking resources
		switch {
		case c.path == "":
		case c.before == absent:
			lacking = before
		case c.after == absent:
			lacking = after
		}
		if lacking == nil {
			out = append(out, c)
			continue
		}
		root := missingRoot(lacking[c.resource], c.path)
		if n := len(out); n > 0 && out[n-1].resource == c.resource && out[n-1].path == root {
			continue
		}
		members := 0
		for _, other := range changes {
			if other.resource == c.resource && envoy.Under(other.path, root) {
				members++
			}
		}
		if members <= few {
			out = append(out, c)
			continue
		}
		whole := change{c.resource, root, absent, present}
		if c.after == absent {
			whole.before, whole.after = present, absent
		}
		out = append(out, whole)
	}
	return out
}

// missingRoot is the shortest part of a path of which the resource has nothing.
func missingRoot(leaves envoy.Leaves, path string) string {
	for i := 1; i < len(path); i++ {
		if path[i] != '.' && path[i] != '[' {
			continue
		}
		found := false
		for p := range leaves {
			if found = envoy.Under(p, path[:i]); found {
				break
			}
		}
		if !found {
			return path[:i]
		}
	}
	return path
}

// matches says whether a path is a pattern or lies below it. [*] in the pattern stands for any index.
func matches(path, pattern string) bool {
	if pattern == "" {
		return true
	}
	for {
		head, rest, more := strings.Cut(pattern, "[*]")
		if !more {
			return envoy.Under(path, pattern)
		}
		tail, found := strings.CutPrefix(path, head+"[")
		if !found {
			return false
		}
		end := strings.IndexByte(tail, ']')
		if end < 0 {
			return false
		}
		path, pattern = tail[end+1:], rest
		if pattern == "" {
			return true
		}
	}
}

// holds says whether a resource has a value at a path, and what it has there instead.
func (r resources) holds(resource, path, value string) (ok bool, instead string) {
	leaves, exists := r[resource]
	if path == "" || !exists {
		if (value == present) == exists && (value == present || value == absent) {
			return true, ""
		}
		if exists {
			return false, present
		}
		return value == absent, absent
	}
	var found []string
	for _, p := range leaves.Paths() {
		if !matches(p, path) {
			continue
		}
		if value == present || leaves[p] == value && depth(p) == depth(path) {
			return true, ""
		}
		found = append(found, p+": "+leaves[p])
	}
	switch {
	case len(found) == 0:
		return value == absent, absent
	case len(found) > 3:
		found = append(found[:3], "…")
	}
	return false, strings.Join(found, ", ")
}

// depth tells a leaf from what lies below it.
func depth(path string) int { return strings.Count(path, ".") + strings.Count(path, "[") }
