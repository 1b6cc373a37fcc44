package verify_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/meshvet/meshvet/lint/dump"
	"github.com/meshvet/meshvet/lint/effective"
	"github.com/meshvet/meshvet/lint/mesh"
	"github.com/meshvet/meshvet/lint/verify"
)

// without removes resources whose name contains a text.
func without(list []map[string]any, text string) []map[string]any {
	var out []map[string]any
	for _, r := range list {
		if name, _ := r["name"].(string); !strings.Contains(name, text) {
			out = append(out, r)
		}
	}
	return out
}

// told writes a report as lines.
func told(r *verify.Report) string {
	var b strings.Builder
	for _, d := range r.Differences {
		fmt.Fprintf(&b, "%s %s: %s %q, has %q\n", d.In, d.Cluster, d.Path, d.Predicted, d.Actual)
	}
	for _, m := range r.Missing {
		fmt.Fprintf(&b, "missing %s %v: %s\n", m.Cluster, m.Excused, m.Why)
	}
	for _, u := range r.Unexpected {
		fmt.Fprintf(&b, "unexpected %s %v: %s\n", u.Cluster, u.Excused, u.Why)
	}
	for _, f := range r.Refused {
		fmt.Fprintf(&b, "refused %s %s: %s\n", f.Kind, f.Name, f.Reason)
	}
	for _, c := range r.Causes {
		fmt.Fprintf(&b, "cause %q %s (%d)\n", c.Object, c.Why, c.Clusters)
	}
	for _, v := range r.Rivals {
		fmt.Fprintf(&b, "rivals %s %s\n", v.Host, v.Objects)
	}
	for _, w := range r.Waiting {
		fmt.Fprintf(&b, "waiting %s\n", w)
	}
	for _, h := range r.WithoutManifest {
		fmt.Fprintf(&b, "unknown %s\n", h)
	}
	fmt.Fprintf(&b, "failed %v\n", r.Failed())
	return b.String()
}

func TestReport(t *testing.T) {
	pool := worlds[1]
	replace := func(pairs ...string) func(string) string {
		return func(s string) string {
			out := strings.NewReplacer(pairs...).Replace(s)
			if out == s {
				t.Fatalf("nothing to replace: %q", pairs)
			}
			return out
		}
	}
	sidecar := func(spec string) func(string) string {
		return func(s string) string {
			return s + "---\napiVersion: networking.istio.io/v1\nkind: Sidecar\nmetadata: {name: own, namespace: shop}\nspec: " + spec + "\n"
		}
	}
	for _, c := range []struct {
		name   string
		edit   func(string) string // of the manifests
		change func(*compiled)     // of what the proxy has
		want   string
	}{
		{name: "a rule that is not in view", edit: replace("host: 'client.example.com'", "host: 'other.example.com'", "name: client,", "name: other,"), want: `
cluster outbound|80||client.example.com: typed_extension_protocol_options.HttpProtocolOptions.use_downstream_protocol_config.http2_protocol_options "", has "{}"
cluster outbound|80||client.example.com: typed_extension_protocol_options.HttpProtocolOptions.use_downstream_protocol_config.http_protocol_options "", has "{}"
cause "DestinationRule shop/client" is not among the manifests (1)
failed true`},
		{name: "a rule that is not applied", edit: replace("host: 'client.example.com'", "host: 'plain.example.com'"), want: `
cluster outbound|80||client.example.com: typed_extension_protocol_options.HttpProtocolOptions.use_downstream_protocol_config.http2_protocol_options "", has "{}"
cluster outbound|80||client.example.com: typed_extension_protocol_options.HttpProtocolOptions.use_downstream_protocol_config.http_protocol_options "", has "{}"
cluster outbound|80||plain.example.com: typed_extension_protocol_options.HttpProtocolOptions.use_downstream_protocol_config.http2_protocol_options "{}", has ""
cluster outbound|80||plain.example.com: typed_extension_protocol_options.HttpProtocolOptions.use_downstream_protocol_config.http_protocol_options "{}", has ""
cluster outbound|443||plain.example.com: typed_extension_protocol_options.HttpProtocolOptions.use_downstream_protocol_config.http2_protocol_options "{}", has ""
cluster outbound|443||plain.example.com: typed_extension_protocol_options.HttpProtocolOptions.use_downstream_protocol_config.http_protocol_options "{}", has ""
cause "" made without a DestinationRule, though DestinationRule shop/client should hold: it may not be applied (2)
cause "DestinationRule shop/client" is what the proxy has, though it should not hold for it (1)
failed true`},
		{name: "a host that is not applied", change: func(c *compiled) { c.Clusters = without(c.Clusters, "client") }, want: `
missing outbound|80||client.example.com false: not applied, or hidden by a Sidecar resource or discoverySelectors out of view
failed true`},
		{name: "a host that a Sidecar hides", edit: sidecar("{egress: [{hosts: ['./full.example.com', '*/retried.example.com', 'shop/plain.example.com', '~/*', './upgrade.example.com']}]}"),
			change: func(c *compiled) { c.Clusters = without(c.Clusters, "client") }, want: `
missing outbound|80||client.example.com true: Sidecar shop/own does not import it
failed false`},
		{name: "a host that a Sidecar imports", edit: sidecar("{egress: [{hosts: ['./*']}]}"), change: func(c *compiled) { c.Clusters = without(c.Clusters, "client") }, want: `
missing outbound|80||client.example.com false: not applied, since Sidecar shop/own imports it
failed true`},
		{name: "one port of a host", change: func(c *compiled) { c.Clusters = without(c.Clusters, "443||plain") }, want: `
missing outbound|443||plain.example.com false: 
failed true`},
		{name: "a port and a subset too many", change: func(c *compiled) {
			c.Clusters = append(c.Clusters, map[string]any{"name": "outbound|81||client.example.com"}, map[string]any{"name": "outbound|80|v1|client.example.com"},
				map[string]any{"name": "outbound|80|v1|plain.example.com"})
		}, want: `
unexpected outbound|80|v1|client.example.com false: DestinationRule shop/client, which holds for the host, has no subset "v1"
unexpected outbound|81||client.example.com false: nothing in view gives the host a port 81
unexpected outbound|80|v1|plain.example.com false: no DestinationRule in view holds for the host and this proxy
failed true`},
		{name: "a name that Istio never gives", change: func(c *compiled) {
			c.Clusters = append([]map[string]any{{"name": "outbound|080||client.example.com"}}, c.Clusters...)
		}, want: `
failed false`},
		{name: "a host that should be hidden", edit: replace("hosts: ['client.example.com']", "exportTo: [other]\n  hosts: ['client.example.com']"), want: `
unexpected outbound|80||client.example.com false: no ServiceEntry in view exports the host to namespace shop
failed true`},
		{name: "two entries of unknown age", edit: func(s string) string {
			return s + "---\napiVersion: networking.istio.io/v1\nkind: ServiceEntry\nmetadata: {name: also, namespace: shop}\nspec: {hosts: [client.example.com], resolution: STATIC, exportTo: ['*'], ports: [{number: 81, name: p, protocol: HTTP}], endpoints: [{address: 192.0.2.9}]}\n"
		}, change: func(c *compiled) { c.Clusters = c.Clusters[:len(c.Clusters):len(c.Clusters)] }, want: `
missing outbound|81||client.example.com false: 
unexpected outbound|80||client.example.com false: Istio takes the host's ports from ServiceEntry shop/also, which differs in resolution, labels, workloadSelector or exportTo
rivals client.example.com [ServiceEntry shop/also ServiceEntry shop/client]
failed true`},
		{name: "other hosts", change: func(c *compiled) {
			c.Clusters = append(c.Clusters, map[string]any{"name": "outbound|80||b.example.org"}, map[string]any{"name": "outbound|80||a.example.org"})
		}, want: `
unknown a.example.org
unknown b.example.org
failed false`},
		{name: "some clusters only", change: func(c *compiled) { c.Clusters = without(without(without(c.Clusters, "full"), "Cluster"), "plain") }, want: "\nfailed false"},
	} {
		t.Run(c.name, func(t *testing.T) {
			resources := pool.load(t)
			if c.change != nil {
				c.change(&resources)
			}
			got := told(compare(t, pool.index(t, c.edit), pool.proxy, compiled{Clusters: resources.Clusters}))
			if diff := cmp.Diff(strings.TrimSpace(c.want), strings.TrimSpace(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// Only what Envoy uses is compared: not what it warms, drains or has refused.
func TestStates(t *testing.T) {
	w := worlds[1]
	c := w.load(t)
	v := verify.New(w.index(t, nil), w.proxy)
	visit := func(kind dump.Kind, state dump.State, body map[string]any, reason string) {
		name, _ := body["name"].(string)
		if err := v.Visit(dump.Resource{Kind: kind, State: state, Name: name, Body: body, Reason: reason}); err != nil {
			t.Fatal(err)
		}
	}
	for _, r := range c.Clusters {
		switch name, _ := r["name"].(string); {
		case strings.Contains(name, "client"):
			r["connectTimeout"] = "77s"
			visit(dump.Cluster, dump.Warming, r, "")
		case strings.Contains(name, "upgrade"):
			visit(dump.Cluster, dump.Failed, map[string]any{"name": name}, "no such thing")
		case strings.Contains(name, "retried"):
			visit(dump.Cluster, dump.Active, r, "")
			r["connectTimeout"] = "77s"
			visit(dump.Cluster, dump.Warming, r, "")
		default:
			visit(dump.Cluster, dump.Static, r, "")
		}
	}
	for _, l := range c.Listeners {
		eachProxy(compiled{Listeners: []map[string]any{l}}, func(p map[string]any) { p["idleTimeout"] = "77s" })
		visit(dump.Listener, dump.Draining, l, "")
	}
	want := "refused cluster outbound|80||upgrade.example.com: no such thing\nwaiting outbound|80||client.example.com\nfailed true\n"
	r, err := v.Report(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, told(r)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A route that a VirtualService out of view made says so.
func TestRouteOfUnseenVirtualService(t *testing.T) {
	w := worlds[1]
	ix := w.index(t, func(s string) string { return s[:strings.LastIndex(s, "---")] })
	want := `route 80 outbound|80||retried.example.com: route.retry_policy "2 retries, timeout 0s", has "0 retries, timeout 0s"
route 80 outbound|80||retried.example.com: route.retry_policy "2 retries, timeout 0s", has "5 retries, timeout 3s"
cause "VirtualService shop/retried" is not among the manifests (1)
failed true
`
	if diff := cmp.Diff(want, told(compare(t, ix, w.proxy, compiled{Routes: w.load(t).Routes}))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestHostsInView(t *testing.T) {
	w := worlds[4]
	got, err := verify.New(w.index(t, nil), w.proxy).HostsInView(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]mesh.Host{"none.example.com", "simple.example.com"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got, err := verify.New(w.index(t, nil), effective.Proxy{Type: effective.Sidecar, Namespace: "shop"}).HostsInView(t.Context()); err != nil || len(got) != 2 {
		t.Error(got, err)
	}
}

func TestSidecarFor(t *testing.T) {
	const more = `---
apiVersion: networking.istio.io/v1
kind: Sidecar
metadata: {name: all, namespace: istio-system}
spec: {egress: [{hosts: ["none/*"]}]}
---
apiVersion: networking.istio.io/v1
kind: Sidecar
metadata: {name: chosen, namespace: shop}
spec: {workloadSelector: {labels: {app: x}}, egress: [{hosts: ["./*"]}]}
`
	w := worlds[1]
	ix := w.index(t, func(s string) string { return s + more })
	for _, c := range []struct {
		labels map[string]string
		hidden bool
	}{{nil, true}, {map[string]string{"app": "x"}, false}, {map[string]string{"app": "y"}, true}} {
		p := w.proxy
		p.Labels = c.labels
		r := compare(t, ix, p, compiled{Clusters: without(w.load(t).Clusters, "client")})
		if len(r.Missing) != 1 || r.Missing[0].Excused != c.hidden {
			t.Errorf("%v: %+v", c.labels, r.Missing)
		}
	}
}
