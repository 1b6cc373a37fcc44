package verify_test

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/meshvet/meshvet/lint/effective"
	"github.com/meshvet/meshvet/lint/envoy"
	"github.com/meshvet/meshvet/lint/mesh"
	"github.com/meshvet/meshvet/lint/verify"
)

func TestCompiledAgrees(t *testing.T) {
	for _, w := range worlds {
		t.Run(w.name, func(t *testing.T) {
			if *oracle != "" {
				w.compile(t)
			}
			r := compare(t, w.index(t, nil), w.proxy, w.load(t))
			if r.Failed() || len(r.Missing)+len(r.Unexpected)+len(r.WithoutManifest)+r.Counts.Unpredicted > 0 {
				t.Errorf("%+v", r)
			}
			if r.Counts.Clusters == 0 || r.Counts.TCPProxies == 0 || r.Counts.Routes == 0 {
				t.Errorf("%+v", r.Counts)
			}
		})
	}
}

// node is a place in a JSON tree: a scalar, an empty object or an item of a list.
type node struct {
	path   string // as package envoy writes it
	change func()
	remove func()
}

// nodes lists the leaves of a tree, with what changes them.
func nodes(v any, path string, set func(any), remove func()) []node {
	var out []node
	switch v := v.(type) {
	case map[string]any:
		for k, item := range v {
			if k != "@type" {
				out = append(out, nodes(item, envoy.Join(path, k), func(x any) { v[k] = x }, func() { delete(v, k) })...)
			}
		}
		if len(out) == 0 && path != "" {
			out = append(out, node{path, func() { v["added"] = "mutant" }, remove})
		}
	case []any:
		for i, item := range v {
			out = append(out, nodes(item, path+"["+strconv.Itoa(i)+"]", func(x any) { v[i] = x }, func() { set(slices.Delete(slices.Clone(v), i, i+1)) })...)
		}
	default:
		out = append(out, node{path, func() { set(mutant(v)) }, remove})
	}
	return out
}

// mutant is another value of the type of a value.
func mutant(v any) any {
	switch v := v.(type) {
	case bool:
		return !v
	case json.Number:
		n, err := v.Float64()
		if err != nil {
			return v + "1"
		}
		return json.Number(strconv.FormatFloat(n+1, 'f', -1, 64))
	case string:
		if n, ok := strings.CutSuffix(v, "s"); ok {
			if f, err := strconv.ParseFloat(n, 64); err == nil {
				return strconv.FormatFloat(f+1, 'f', -1, 64) + "s"
			}
		}
		return v + "x"
	}
	return "mutant"
}

// Every value of every cluster is changed and removed once, and everything that only other clusters have is added once. Each must be
// reported, unless it is among what is not compared.
func TestMutantsOfClusters(t *testing.T) {
	every := envoy.Leaves{} // of all clusters
	for _, w := range worlds {
		for _, c := range w.load(t).Clusters {
			for path, v := range verify.ComparedLeaves(envoy.Flatten(c)) {
				every[path] = v
			}
		}
	}
	mutants := 0
	for _, w := range worlds {
		t.Run(w.name, func(t *testing.T) {
			ix := w.index(t, nil)
			text := w.text(t)
			for _, c := range parse(t, text).Clusters {
				name, _ := c["name"].(string)
				p := predicted(ix, w.proxy, name)
				if p == nil {
					continue
				}
				leaves := envoy.Flatten(c)
				of := verify.ComparedLeaves(leaves)
				isCompared := func(path string) bool {
					_, ok := of[path]
					return ok && !slices.ContainsFunc(p.Unpredicted, func(u string) bool { return envoy.Under(path, u) })
				}
				check := func(what, path string, c map[string]any) {
					mutants++
					r := compare(t, ix, w.proxy, compiled{Clusters: []map[string]any{c}})
					// Removing an item of a list moves the others, and emptying a message leaves the message.
					about := func(d verify.ClusterDifference) bool {
						parent := d.Path[:max(0, strings.LastIndexAny(d.Path, ".["))]
						return d.Cluster == name && (envoy.Under(d.Path, path) || envoy.Under(path, d.Path) || what == "remove" && parent != "" && envoy.Under(path, parent))
					}
					if !slices.ContainsFunc(r.Differences, about) {
						t.Errorf("%s: %s %s is not reported", name, what, path)
					}
				}
				n := len(nodes(c, "", nil, nil))
				for j := range n {
					for _, what := range []string{"change", "remove"} {
						fresh := parse(t, jsonOf(t, c)).Clusters[0]
						at := sortedNodes(fresh)[j]
						if !isCompared(at.path) {
							continue
						}
						if what == "change" {
							at.change()
						} else {
							at.remove()
						}
						check(what, at.path, fresh)
					}
				}
				for path, v := range every {
					if _, has := of[path]; has || slices.ContainsFunc(p.Unpredicted, func(u string) bool { return envoy.Under(path, u) }) {
						continue
					}
					more := envoy.Leaves{path: v}
					for at, v := range leaves {
						if !(v == envoy.Empty && envoy.Under(path, at)) && !(more[path] == envoy.Empty && envoy.Under(at, path)) {
							more[at] = v
						}
					}
					if verify.ComparedLeaves(more)[path] != v || len(more) <= len(leaves) && equal(more, leaves) {
						continue
					}
					if v == envoy.Empty && slices.ContainsFunc(leaves.Paths(), func(at string) bool { return envoy.Under(at, path) }) {
						continue // the message is there already
					}
					mutants++
					if diffs, _ := verify.Cluster(p, more); !slices.ContainsFunc(diffs, func(d verify.Difference) bool { return d.Path == path }) {
						t.Errorf("%s: added %s is not reported", name, path)
					}
				}
			}
		})
	}
	if mutants < 5000 {
		t.Errorf("only %d mutants", mutants)
	}
	for _, kind := range []string{
		"circuit_breakers.thresholds[0].retry_budget", "cluster_type", "common_lb_config.locality_weighted_lb_config",
		"common_lb_config.zone_aware_lb_config", "dns_refresh_rate", "maglev_lb_config", "original_dst_lb_config", "outlier_detection",
		"ring_hash_lb_config", "round_robin_lb_config.slow_start_config", "transport_socket.typed_config.sni",
		"transport_socket.typed_config.config.version", "transport_socket.typed_config.common_tls_context.validation_context",
		"transport_socket.typed_config.common_tls_context.tls_params.ecdh_curves[0]", "transport_socket_matches",
		"typed_extension_protocol_options.HttpProtocolOptions.common_http_protocol_options",
		"typed_extension_protocol_options.HttpProtocolOptions.explicit_http_config.http2_protocol_options.connection_keepalive",
		"typed_extension_protocol_options.HttpProtocolOptions.upstream_http_protocol_options",
		"typed_extension_protocol_options.HttpProtocolOptions.use_downstream_protocol_config", "upstream_connection_options.tcp_keepalive",
	} {
		if !slices.ContainsFunc(every.Paths(), func(p string) bool { return envoy.Under(p, kind) }) {
			t.Errorf("no cluster of the test has %s", kind)
		}
	}
}

func equal(a, b envoy.Leaves) bool { return len(envoy.Diff(a, b)) == 0 }

func jsonOf(t testing.TB, c map[string]any) []byte {
	t.Helper()
	b, err := json.Marshal(map[string]any{"clusters": []any{c}})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func sortedNodes(m map[string]any) []node {
	out := nodes(m, "", nil, nil)
	slices.SortFunc(out, func(a, b node) int { return strings.Compare(a.path, b.path) })
	return out
}

func predicted(ix *mesh.Index, proxy effective.Proxy, name string) *effective.Cluster {
	p := strings.Split(name, "|")
	if len(p) != 4 {
		return nil
	}
	for _, c := range effective.Clusters(ix, proxy, mesh.Host(p[3])) {
		if c.Name() == name {
			return c
		}
	}
	return nil
}

// What a traffic policy decides of a tcp_proxy, changed, removed and added.
func TestMutantsOfListeners(t *testing.T) {
	added := map[string]any{
		"idleTimeout": "7.5s", "maxDownstreamConnectionDuration": "7.5s", "hashPolicy": []any{map[string]any{"sourceIp": map[string]any{}}},
		"tunnelingConfig": map[string]any{"hostname": "mutant:1"},
	}
	mutants := 0
	for _, w := range worlds {
		t.Run(w.name, func(t *testing.T) {
			ix := w.index(t, nil)
			mutate := func(what string, change func(proxy map[string]any) bool) {
				all := 0
				eachProxy(w.load(t), func(map[string]any) { all++ })
				for i := range all {
					c, at, changed, cluster := w.load(t), 0, false, ""
					eachProxy(c, func(p map[string]any) {
						if at == i {
							changed = change(p)
							cluster, _ = p["cluster"].(string)
						}
						at++
					})
					if !changed {
						continue
					}
					mutants++
					r := compare(t, ix, w.proxy, compiled{Listeners: c.Listeners})
					if !slices.ContainsFunc(r.Differences, func(d verify.ClusterDifference) bool {
						return d.Cluster == cluster && strings.HasPrefix(d.In, "listener ")
					}) {
						t.Errorf("%s: %s is not reported", cluster, what)
					}
				}
			}
			for key, value := range added {
				mutate("added "+key, func(p map[string]any) bool {
					_, has := p[key]
					p[key] = value
					return !has
				})
				mutate("removed "+key, func(p map[string]any) bool {
					_, has := p[key]
					delete(p, key)
					return has
				})
				mutate("changed "+key, func(p map[string]any) bool {
					v, has := p[key]
					if has {
						nodes(v, key, func(x any) { p[key] = x }, nil)[0].change()
					}
					return has
				})
			}
		})
	}
	if mutants < 40 {
		t.Errorf("only %d mutants", mutants)
	}
}

// eachProxy visits the tcp_proxy filters that lead to one outbound cluster, in a fixed order.
func eachProxy(c compiled, visit func(map[string]any)) {
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			if typ, _ := v["@type"].(string); strings.HasSuffix(typ, ".TcpProxy") {
				if cluster, _ := v["cluster"].(string); strings.HasPrefix(cluster, "outbound|") {
					visit(v)
				}
			}
			for _, k := range sortedKeys(v) {
				walk(v[k])
			}
		case []any:
			for _, item := range v {
				walk(item)
			}
		}
	}
	for _, l := range c.Listeners {
		walk(l)
	}
}

func sortedKeys(m map[string]any) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// The timeout and the number of retries of every route, changed and removed.
func TestMutantsOfRoutes(t *testing.T) {
	mutants := 0
	for _, w := range worlds {
		t.Run(w.name, func(t *testing.T) {
			ix := w.index(t, nil)
			for what, change := range map[string]func(map[string]any) bool{
				"another timeout": func(a map[string]any) bool { a["timeout"] = "77s"; return true },
				"another number of retries": func(a map[string]any) bool {
					p, ok := a["retryPolicy"].(map[string]any)
					if ok {
						p["numRetries"] = json.Number("77")
					}
					return ok
				},
				"no retries": func(a map[string]any) bool {
					_, has := a["retryPolicy"]
					delete(a, "retryPolicy")
					return has
				},
				"retries where there were none": func(a map[string]any) bool {
					_, has := a["retryPolicy"]
					a["retryPolicy"] = map[string]any{"numRetries": json.Number("77")}
					return !has
				},
			} {
				all := 0
				eachAction(w.load(t), func(map[string]any) { all++ })
				for i := range all {
					c, at, changed, cluster := w.load(t), 0, false, ""
					eachAction(c, func(a map[string]any) {
						if at == i {
							changed = change(a)
							cluster, _ = a["cluster"].(string)
						}
						at++
					})
					if !changed {
						continue
					}
					mutants++
					r := compare(t, ix, w.proxy, compiled{Routes: c.Routes})
					if !slices.ContainsFunc(r.Differences, func(d verify.ClusterDifference) bool { return d.Cluster == cluster && d.Path == "route.retry_policy" }) {
						t.Errorf("%s: %s is not reported", cluster, what)
					}
				}
			}
		})
	}
	if mutants < 60 {
		t.Errorf("only %d mutants", mutants)
	}
}

// eachAction visits the routes that lead to one outbound cluster, in a fixed order.
func eachAction(c compiled, visit func(map[string]any)) {
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			if cluster, _ := v["cluster"].(string); strings.HasPrefix(cluster, "outbound|") && v["timeout"] != nil {
				visit(v)
			}
			for _, k := range sortedKeys(v) {
				walk(v[k])
			}
		case []any:
			for _, item := range v {
				walk(item)
			}
		}
	}
	for _, r := range c.Routes {
		walk(r)
	}
}
