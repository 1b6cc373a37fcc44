package mesh

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAddresses(t *testing.T) {
	yes, no := true, false
	const status = "\nstatus: {addresses: [{value: 240.240.0.1, host: a.example.com}, {value: none, host: b.example.com}, {value: 240.240.0.9}]}"
	for _, c := range []struct {
		name, meta, spec, status string
		capture, allocate        *bool
		a, b                     string // addresses of a.example.com and b.example.com
		allocated                string // hosts that have an address of istiod's
	}{
		{name: "none", spec: "resolution: DNS"},
		{name: "the entry's own", spec: "resolution: STATIC, addresses: [192.0.2.1, 192.0.2.0/24, 192.0.2.1/32, name]", status: status, a: "192.0.2.1 192.0.2.0/24", b: "192.0.2.1 192.0.2.0/24"},
		{name: "istiod's, by host", spec: "resolution: DNS", status: status, a: "240.240.0.1", allocated: "a"},
		{name: "with resolution NONE", spec: "resolution: NONE", status: status},
		{name: "against the label", meta: ", labels: {networking.istio.io/enable-autoallocate-ip: 'False'}", spec: "resolution: DNS", status: status},
		{name: "with the label", meta: ", labels: {networking.istio.io/enable-autoallocate-ip: 'true'}", spec: "resolution: DNS", status: status, a: "240.240.0.1", allocated: "a"},
		{name: "proxies do not answer DNS", spec: "resolution: DNS", status: status, capture: &no},
		{name: "istiod does not allocate", spec: "resolution: DNS", status: status, allocate: &no},
		{name: "one switch is known to be on", spec: "resolution: DNS", capture: &yes},
		{name: "both switches are on", spec: "resolution: DNS", capture: &yes, allocate: &yes, allocated: "a b"},
		{name: "both switches, resolution NONE", spec: "resolution: NONE", capture: &yes, allocate: &yes},
		{name: "both switches, addresses of its own", spec: "resolution: STATIC, addresses: [192.0.2.1]", capture: &yes, allocate: &yes, a: "192.0.2.1", b: "192.0.2.1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			ix := world(t, Settings{DNSCapture: c.capture, AutoAllocate: c.allocate}, "apiVersion: networking.istio.io/v1\nkind: ServiceEntry\nmetadata: {namespace: x, name: e"+c.meta+
				"}\nspec: {hosts: [a.example.com, b.example.com, '*.c.example.com'], "+c.spec+", ports: [{number: 5432, name: db, protocol: TCP}]}"+c.status+"\n")
			e := entryOf(t, ix, "x", "e")
			got := []string{strings.Join(ix.Addresses(e, "a.example.com"), " "), strings.Join(ix.Addresses(e, "b.example.com"), " "), ""}
			for _, h := range e.Hosts {
				if ix.Allocated(e, h) {
					got[2] = strings.TrimSpace(got[2] + " " + strings.TrimPrefix(string(h)[:1], "*"))
				}
			}
			if diff := cmp.Diff([]string{c.a, c.b, c.allocated}, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if all := ix.AllAddresses(e); len(all) > 0 != (c.a != "") || all == nil {
				t.Errorf("all addresses are %v", all)
			}
		})
	}
	ix := world(t, Settings{DNSCapture: &yes, AutoAllocate: &yes}, "apiVersion: networking.istio.io/v1\nkind: ServiceEntry\nmetadata: {namespace: x, name: e}\nspec: {hosts: ['*.example.com'], resolution: DYNAMIC_DNS}\n---\napiVersion: v1\nkind: Service\nmetadata: {namespace: x, name: s}\nspec: {addresses: [192.0.2.1]}\n")
	if !ix.Allocated(entryOf(t, ix, "x", "e"), "*.example.com") {
		t.Error("istiod gives a wildcard of DYNAMIC_DNS an address")
	}
	if s := ix.Targets("s.x.svc.cluster.local")[0]; ix.Allocated(s, s.Hosts[0]) || len(ix.AllAddresses(s)) > 0 {
		t.Error("a Service has addresses of a ServiceEntry")
	}
}

func TestNowhere(t *testing.T) {
	for addresses, hosts := range map[string]int{
		"[]": 1, "[192.0.2.1]": 1, "[192.0.2.0/24]": 1, "['2001:db8::1']": 1, "[192.0.2.700, 192.0.2.70]": 1, "['${IP}']": 1,
		"[192.0.2.700]": 0, "[192.0.2.0/40, db.example.com]": 0, "['']": 0,
	} {
		ix := world(t, Settings{}, "apiVersion: networking.istio.io/v1\nkind: ServiceEntry\nmetadata: {namespace: x, name: e}\nspec: {hosts: [a.example.com], addresses: "+addresses+"}\n")
		if n := len(ix.Targets("a.example.com")); n != hosts {
			t.Errorf("addresses %s: %d targets", addresses, n)
		}
	}
}
