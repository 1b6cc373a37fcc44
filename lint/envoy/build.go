package envoy

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// longNames are the type names that Name has shortened.
var longNames = map[string]string{"HttpProtocolOptions": "envoy.extensions.upstreams.http.v3.HttpProtocolOptions"}

// Build puts leaves together again, with field names in camel case as istioctl has them. Numbers and truth values come back as
// such; a text that looks like one does too.
func Build(l Leaves) map[string]any {
	root := map[string]any{}
	for _, path := range l.Paths() {
		value := scalar(l[path])
		if l[path] == Empty {
			value = map[string]any{}
		}
		put(root, strings.Split(path, "."), value)
	}
	tidy, _ := lists(root).(map[string]any)
	return tidy
}

func scalar(text string) any {
	if b, err := strconv.ParseBool(text); err == nil && len(text) > 1 {
		return b
	}
	if n := json.Number(text); isNumber(text) {
		return n
	}
	return text
}

func isNumber(text string) bool {
	_, err := strconv.ParseFloat(text, 64)
	return err == nil && strings.Trim(text, "0123456789.-") == ""
}

// list is a list in the making, by index.
type list map[int]any

func put(into map[string]any, path []string, value any) {
	name, index, isItem := strings.Cut(path[0], "[")
	key := camel(name)
	if !isItem {
		if len(path) == 1 {
			if _, has := into[key]; !has {
				into[key] = value
			}
			return
		}
		next, ok := into[key].(map[string]any)
		if !ok {
			next = map[string]any{}
			into[key] = next
		}
		put(next, path[1:], value)
		return
	}
	i, _ := strconv.Atoi(strings.TrimSuffix(index, "]"))
	items, ok := into[key].(list)
	if !ok {
		items = list{}
		into[key] = items
	}
	if len(path) == 1 {
		items[i] = value
		return
	}
	next, ok := items[i].(map[string]any)
	if !ok {
		next = map[string]any{}
		items[i] = next
	}
	put(next, path[1:], value)
}

func lists(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, item := range v {
			v[k] = lists(item)
		}
	case list:
		out := make([]any, 0, len(v))
		for _, i := range slices.Sorted(maps.Keys(v)) {
			out = append(out, lists(v[i]))
		}
		return out
	}
	return v
}

func camel(name string) string {
	if long, ok := longNames[name]; ok {
		return long
	}
	for json, proto := range withDigits {
		if proto == name {
			return json
		}
	}
	parts := strings.Split(name, "_")
	for i, p := range parts[1:] {
		if p != "" {
			parts[i+1] = strings.ToUpper(p[:1]) + p[1:]
		}
	}
	return strings.Join(parts, "")
}
