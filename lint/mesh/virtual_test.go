package mesh

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/meshvet/meshvet/lint/object"
)

// born writes a VirtualService with a time of creation.
func born(when, name, hosts string) string {
	return "apiVersion: networking.istio.io/v1\nkind: VirtualService\nmetadata: {namespace: egress, name: " + name + created(when) + "}\nspec: {hosts: [" + hosts + "]}\n---\n"
}

func TestVirtualServicesFor(t *testing.T) {
	const older, younger = "2024-01-01T00:00:00Z", "2024-01-02T00:00:00Z"
	for _, c := range []struct {
		name, objects string
		host          Host
		want          []string
	}{
		{"none", virtual("egress", "a", "hosts: [x.example.com]"), "api.example.com", nil},
		{"by name", virtual("egress", "b", "hosts: [api.example.com]") + virtual("egress", "a", "hosts: [x.example.com, api.example.com]"), "api.example.com", []string{"a", "b"}},
		{"by age", born(younger, "a", "api.example.com") + born(older, "b", "api.example.com"), "api.example.com", []string{"b", "a"}},
		{"the name, then the longest wildcard", virtual("egress", "a", "hosts: ['*.com']") + virtual("egress", "b", "hosts: ['*.example.com']") + virtual("egress", "c", "hosts: [api.example.com]") + virtual("egress", "d", "hosts: ['*']"), "api.example.com", []string{"c", "b", "a", "d"}},
		{"each once", virtual("egress", "a", "hosts: ['*.com', '*.example.com', api.example.com, api.example.com]"), "api.example.com", []string{"a"}},
		{"a wildcard host", virtual("egress", "a", "hosts: ['*.example.com']") + virtual("egress", "b", "hosts: [api.example.com]"), "*.example.com", []string{"a"}},
		{"a star within a label", virtual("egress", "a", "hosts: ['*i.example.com']") + virtual("egress", "b", "hosts: ['*-api.example.com']"), "api.example.com", []string{"a"}},
		{"a narrower wildcard", virtual("egress", "a", "hosts: ['*.example.com']") + virtual("egress", "b", "hosts: ['*.b.example.com']"), "*.a.example.com", []string{"a"}},
		{"two spellings of one name", virtual("egress", "a", "hosts: [api, api.egress.svc.cluster.local]"), "api.egress.svc.cluster.local", []string{"a"}},
		{"a short name is one of the namespace", virtual("egress", "a", "hosts: [api]"), "api.egress.svc.cluster.local", []string{"a"}},
		{"not of another one", virtual("egress", "a", "hosts: [api]"), "api.shop.svc.cluster.local", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, vs := range world(t, Settings{}, c.objects).VirtualServicesFor(c.host) {
				got = append(got, vs.Name)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestVirtualServicesForIsTheCallersOwn: what a caller does with the list must not reach the next one.
func TestVirtualServicesForIsTheCallersOwn(t *testing.T) {
	ix := world(t, Settings{}, virtual("egress", "a", "hosts: [api.example.com]"))
	ix.VirtualServicesFor("api.example.com")[0] = nil
	if ix.VirtualServicesFor("api.example.com")[0] == nil {
		t.Error("the index hands out its own list")
	}
}

func TestSeesVirtualService(t *testing.T) {
	for _, c := range []struct {
		exportTo, meshConfig string
		own, other, named    bool // in its namespace, in another, in the one that is named pay
	}{
		{"", "", true, true, true},
		{"exportTo: ['*']", "", true, true, true},
		{"exportTo: ['.']", "", true, false, false},
		{"exportTo: [pay]", "", false, false, true},
		{"exportTo: ['.', pay]", "", true, false, true},
		{"exportTo: [egress]", "", true, false, false},
		{"exportTo: []", "", true, true, true},
		{"", "defaultVirtualServiceExportTo: ['.']", true, false, false},
		{"exportTo: ['*']", "defaultVirtualServiceExportTo: ['.']", true, true, true},
	} {
		settings := Settings{}
		if c.meshConfig != "" {
			doc, problem := object.ParseDocument("mesh.yaml", []byte(c.meshConfig), object.Limits{})
			if problem != nil {
				t.Fatal(problem.Message)
			}
			settings.MeshConfig = doc.Root()
		}
		ix := world(t, settings, virtual("egress", "vs", c.exportTo))
		vs := named(t, ix, object.VirtualService, "egress", "vs")
		for ns, want := range map[string]bool{"egress": c.own, "shop": c.other, "pay": c.named} {
			if got := ix.SeesVirtualService(vs, ns); got != want {
				t.Errorf("{%s} under {%s}, seen from %s: %v", c.exportTo, c.meshConfig, ns, got)
			}
		}
	}
}

func TestVirtualServicesTo(t *testing.T) {
	to := func(name, kind, destination string) string {
		return virtual("egress", name, kind+": [{route: [{destination: {host: "+destination+"}}]}]")
	}
	ix := world(t, Settings{}, to("a", "tls", "api.example.com")+to("b", "http", "api")+to("c", "tcp", "api.example.com")+to("d", "http", "x.example.com")+
		virtual("egress", "e", "http: [{mirror: {host: api.example.com}}, {mirrors: [{destination: {host: m.example.com}}, {destination: {host: m.example.com}}]}]"))
	for host, want := range map[Host][]string{
		"api.example.com": {"a", "c", "e"}, "api.egress.svc.cluster.local": {"b"}, "m.example.com": {"e"}, "api.shop.svc.cluster.local": nil,
	} {
		var got []string
		for _, vs := range ix.VirtualServicesTo(host) {
			got = append(got, vs.Name)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("to %s (-want +got):\n%s", host, diff)
		}
	}
}

func TestLeadsByTLS(t *testing.T) {
	ix := world(t, Settings{}, virtual("egress", "a", "http: [{route: [{destination: {host: a.example.com}}]}], tls: [{route: [{destination: {host: b}}]}]"))
	vs := named(t, ix, object.VirtualService, "egress", "a")
	if ix.LeadsByTLS(vs, "a.example.com") || !ix.LeadsByTLS(vs, "b.egress.svc.cluster.local") {
		t.Error("tls routes count, and http routes do not")
	}
}

func TestLeadTo(t *testing.T) {
	ix := world(t, Settings{}, virtual("egress", "a", "http: [{route: [{destination: {host: a.example.com, port: {number: 80}}}]}]")+
		virtual("egress", "b", "tls: [{route: [{destination: {host: b, port: {number: 443}}}]}], tcp: [{route: [{destination: {host: c.example.com}}]}]")+
		virtual("egress", "c", "exportTo: [pay], http: [{route: [{destination: {host: e.example.com}}]}], tls: [{route: [{destination: {host: f.example.com}}]}]"))
	if !ix.LeadTo("e.example.com", 0, "pay") || !ix.LeadTo("f.example.com", 0, "pay") {
		t.Error("a route that the namespace gets leads nowhere")
	}
	for _, c := range []struct {
		host Host
		port uint32
		want bool
	}{
		{"e.example.com", 0, false}, {"f.example.com", 0, false},
		{"a.example.com", 80, true}, {"a.example.com", 81, false}, {"a.example.com", 0, true},
		{"b.egress.svc.cluster.local", 443, true}, {"b.egress.svc.cluster.local", 80, false}, {"b.egress.svc.cluster.local", 0, true},
		{"c.example.com", 5, true}, {"d.example.com", 0, false},
	} {
		if got := ix.LeadTo(c.host, c.port, "egress"); got != c.want {
			t.Errorf("port %d of %s: %v", c.port, c.host, got)
		}
	}
}

func TestLeadElsewhere(t *testing.T) {
	ix := world(t, Settings{}, virtual("egress", "a", "hosts: [a.example.com], tls: [{route: [{destination: {host: a.example.com}}, {destination: {host: gw.example.com}}]}]")+
		virtual("egress", "b", "hosts: [b], http: [{route: [{destination: {host: b}}]}]")+virtual("egress", "c", "hosts: [c.example.com], http: [{redirect: {uri: /}}]"))
	for host, want := range map[Host]bool{"a.example.com": true, "b.egress.svc.cluster.local": false, "c.example.com": false, "d.example.com": false} {
		if got := ix.LeadElsewhere(host); got != want {
			t.Errorf("%s: %v", host, got)
		}
	}
}

func TestHasGateway(t *testing.T) {
	ix := world(t, Settings{}, virtual("egress", "a", "hosts: [a.example.com]")+"apiVersion: networking.istio.io/v1\nkind: Gateway\nmetadata: {name: g, namespace: shop}\n")
	if ix.HasGateway("egress") || !ix.HasGateway("shop") {
		t.Error("Gateways are sought by namespace")
	}
}

func TestVirtualServicesChange(t *testing.T) {
	ix := world(t, Settings{}, virtual("egress", "a", "hosts: [api.example.com, '*.example.com']"))
	without := ix.Without(object.Key{Kind: object.VirtualService, Namespace: "egress", Name: "a"})
	moved := ix.With(load(t, virtual("egress", "a", "hosts: ['*.example.org']"))...)
	for _, c := range []struct {
		ix   *Index
		host Host
		want int
	}{
		{ix, "api.example.com", 1}, {ix, "www.example.com", 1}, {without, "api.example.com", 0}, {without, "www.example.com", 0},
		{moved, "api.example.com", 0}, {moved, "www.example.com", 0}, {moved, "www.example.org", 1},
	} {
		if got := len(c.ix.VirtualServicesFor(c.host)); got != c.want {
			t.Errorf("%s: %d VirtualServices, want %d", c.host, got, c.want)
		}
	}
}
