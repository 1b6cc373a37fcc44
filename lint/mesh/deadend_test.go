package mesh

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/meshvet/meshvet/lint/object"
)

// deadEndsOf tells the dead ends of the VirtualService egress/vs.
func deadEndsOf(t *testing.T, complete bool, manifests string) []string {
	t.Helper()
	ix := world(t, Settings{}, manifests)
	if complete {
		ix = ix.WithComplete(object.Service)
	}
	var out []string
	for _, e := range ix.DeadEnds(named(t, ix, object.VirtualService, "egress", "vs")) {
		text := fmt.Sprintf("%s[%d] %s %d %s lacks %q", e.Kind, e.Rule, e.Host, e.Port, e.Subset, e.Lacks)
		if e.Owner != nil {
			text += " of " + e.Owner.Key.String()
		}
		out = append(out, text)
	}
	return out
}

func subsets(ns, name, host, names string) string {
	return "apiVersion: networking.istio.io/v1\nkind: DestinationRule\nmetadata: {namespace: " + ns + ", name: " + name + "}\nspec: {host: '" + host + "', subsets: [" + names + "]}\n---\n"
}

func TestDeadEnds(t *testing.T) {
	api := two("api", "api.example.com")
	to := func(kind, destination string) string {
		return virtual("egress", "vs", "hosts: [api.example.com], "+kind+": [{route: [{destination: {"+destination+"}}]}]")
	}
	const gw = "gw.edge.svc.cluster.local"
	for _, c := range []struct {
		name, objects string
		complete      bool
		want          []string
	}{
		{"none", api + to("http", "host: api.example.com, port: {number: 80}"), true, nil},
		{"a host", api + to("http", "host: apj.example.com, port: {number: 80}"), false, []string{`http[0] apj.example.com 80  lacks "host"`}},
		{"no host at all", api + to("http", "subset: a"), true, nil},
		{"a Service", api + to("http", "host: "+gw), true, []string{`http[0] gw.edge.svc.cluster.local 0  lacks "host"`}},
		{"a Service that may be out of view", api + to("http", "host: "+gw), false, nil},
		{"a subset of that", api + to("http", "host: "+gw+", subset: a"), false, []string{`http[0] gw.edge.svc.cluster.local 0 a lacks "subset"`}},
		{"a subset that a rule beside it lacks", api + to("http", "host: "+gw+", subset: a") + subsets("egress", "d", gw, "{name: b}"), false, []string{`http[0] gw.edge.svc.cluster.local 0 a lacks "subset" of DestinationRule egress/d`}},
		{"one that a rule of its namespace has", api + to("http", "host: "+gw+", subset: a") + subsets("edge", "d", gw, "{name: a}"), false, nil},
		{"one for clients elsewhere", api + to("http", "host: "+gw+", subset: a") + subsets("shop", "d", gw, "{name: a}"), false, nil},
		{"a port", api + to("http", "host: api.example.com, port: {number: 8080}"), false, []string{`http[0] api.example.com 8080  lacks "port" of ServiceEntry egress/api`}},
		{"no port", api + to("http", "host: api.example.com"), false, []string{`http[0] api.example.com 0  lacks ""`}},
		{"the port of the connection or the only one", api + to("tls", "host: api.example.com"), false, nil},
		{"another cluster's name", api + to("http", "host: gw.edge.svc.other.example"), true, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, deadEndsOf(t, c.complete, c.objects)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// However much a text holds, of one VirtualService no more is kept than anybody reads.
func TestDeadEndsAreBounded(t *testing.T) {
	many := func(destination string) string {
		return virtual("egress", "vs", "hosts: [api.example.com], http: ["+strings.Repeat("{match: [{uri: {prefix: /a}}], route: [{destination: {"+destination+"}}]}, ", 200)+"]")
	}
	api := two("api", "api.example.com")
	gone, portless := "host: gone.example.com", "host: api.example.com"
	for _, c := range []struct {
		name, objects string
		want          int
	}{
		{"dead ends", api + many(gone), maxDeadEnds},
		{"without a port", api + many(portless), maxDeadEnds},
		{"one behind those", api + strings.Replace(many(portless), ", ]", ", {route: [{destination: {"+gone+"}}]}]", 1), maxDeadEnds + 1},
	} {
		if got := deadEndsOf(t, true, c.objects); len(got) != c.want {
			t.Errorf("%s: %d, want %d", c.name, len(got), c.want)
		}
	}
}

// Of a host whose clients may be any of very many namespaces nothing is said.
func TestDeadEndsWithVeryManyClients(t *testing.T) {
	const gw = "gw.edge.svc.cluster.local"
	service := "apiVersion: v1\nkind: Service\nmetadata: {namespace: edge, name: gw}\nspec: {ports: [{name: http, port: 80}]}\n---\n"
	vs := two("api", "api.example.com") + virtual("egress", "vs", "hosts: [api.example.com], http: [{route: [{destination: {host: "+gw+", subset: a, port: {number: 80}}}]}]")
	for n, want := range map[int]int{10: 1, maxAsked + 1: 0} {
		var rules strings.Builder
		for i := range n {
			rules.WriteString(subsets(fmt.Sprintf("n%d", i), "d", gw, "{name: b}"))
		}
		for _, objects := range []string{vs + rules.String(), vs + service + rules.String()} {
			if got := deadEndsOf(t, false, objects); len(got) != want {
				t.Errorf("%d namespaces: %v", n, got)
			}
		}
	}
}

func TestDecides(t *testing.T) {
	const to = ", http: [{route: [{destination: {host: x}}]}]"
	for _, c := range []struct {
		name, objects string
		want          bool
	}{
		{"alone", virtual("egress", "vs", "hosts: [api.example.com]"+to), true},
		{"not for the host", virtual("egress", "vs", "hosts: [www.example.com]"+to), false},
		{"for gateways", virtual("egress", "vs", "hosts: [api.example.com], gateways: [out]"+to), false},
		{"for sidecars by a match", virtual("egress", "vs", "hosts: [api.example.com], gateways: [out], http: [{match: [{gateways: [mesh]}]}]"), true},
		{"two of one host", virtual("egress", "vs", "hosts: [api.example.com]"+to) + virtual("egress", "b", "hosts: [api.example.com]"+to), false},
		{"the other for gateways", virtual("egress", "vs", "hosts: [api.example.com]"+to) + virtual("egress", "b", "hosts: [api.example.com], gateways: [out]"+to), true},
		{"the other more general", virtual("egress", "vs", "hosts: [api.example.com]"+to) + virtual("egress", "b", "hosts: ['*.example.com']"+to), true},
		{"the other more specific", virtual("egress", "vs", "hosts: ['*.com']"+to) + virtual("egress", "b", "hosts: ['*.example.com']"+to), false},
		{"both of one wildcard", virtual("egress", "vs", "hosts: ['*.com']"+to) + virtual("egress", "b", "hosts: ['*.com']"+to), false},
		{"no client sees both", virtual("egress", "vs", "hosts: [api.example.com], exportTo: ['.']"+to) + virtual("shop", "b", "hosts: [api.example.com], exportTo: ['.']"+to), true},
		{"the other's clients see both", virtual("egress", "vs", "hosts: [api.example.com]"+to) + virtual("shop", "b", "hosts: [api.example.com], exportTo: ['.']"+to), false},
		{"its own clients see both", virtual("egress", "vs", "hosts: [api.example.com], exportTo: [egress]"+to) + virtual("shop", "b", "hosts: [api.example.com]"+to), false},
	} {
		ix := world(t, Settings{}, c.objects)
		if got := ix.Decides(named(t, ix, object.VirtualService, "egress", "vs"), "api.example.com"); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}
