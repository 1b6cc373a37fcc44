package mesh

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNeighbours(t *testing.T) {
	const to = "http: [{route: [{destination: {host: %s}}]}]"
	for _, c := range []struct {
		name, x, others, settings string
		want                      string
	}{
		{
			name: "the same host, its own first", x: entry("a", "x", "api.example.com", "", ""),
			others: rule("b", "wide", "*.example.com", "", "") + rule("b", "same", "api.example.com", "", "") + entry("b", "same", "api.example.com", "", "") + entry("b", "other", "other.example.com", "", ""),
			want:   "ServiceEntry b/same, DestinationRule b/same, DestinationRule b/wide",
		},
		{
			name: "what a wildcard covers", x: rule("a", "x", "*.example.com", "", ""),
			others: rule("a", "r", "one.example.com", "", "") + entry("a", "e", "'*.two.example.com'", "", "") + entry("a", "odd", "'*-x.example.com'", "", "") + rule("a", "odd", "*-x.example.com", "", "") + rule("a", "bare", "example.com", "", ""),
			want:   "DestinationRule a/r, ServiceEntry a/e, ServiceEntry a/odd, DestinationRule a/odd",
		},
		{
			name: "wildcards inside a label", x: entry("a", "x", "v1-x.example.com", "", ""),
			others: rule("a", "odd", "*-x.example.com", "", "") + rule("a", "not", "*-y.example.com", "", "") + rule("a", "all", "*", "", ""),
			want:   "DestinationRule a/odd, DestinationRule a/all",
		},
		{
			name: "rules for other hosts of an entry, and not other entries", x: rule("a", "x", "one.example.com", "", ""),
			others: entry("a", "both", "one.example.com, two.example.org", "", "") + rule("a", "two", "two.example.org", "", "") + entry("a", "two", "two.example.org", "", "") + rule("a", "org", "*.example.org", "", ""),
			want:   "ServiceEntry a/both, DestinationRule a/two, DestinationRule a/org",
		},
		{
			name: "another spelling", x: entry("a", "x", "api.example.com", "", ""),
			others: rule("a", "upper", "API.example.com", "", "") + rule("a", "dot", "api.example.com.", "", "") + entry("a", "dot", "Api.Example.Com.", "", ""),
			want:   "DestinationRule a/dot, ServiceEntry a/dot, DestinationRule a/upper",
		},
		{
			name: "the other way round", x: rule("a", "x", "API.example.com.", "", ""),
			others: entry("a", "api", "api.example.com", "", "") + entry("a", "not", "api.example.org", "", ""),
			want:   "ServiceEntry a/api",
		},
		{
			name: "a name that is a Service's", x: entry("a", "x", "api", "", ""),
			others: rule("a", "api", "api", "", "") + rule("b", "api", "api", "", ""),
			want:   "DestinationRule a/api",
		},
		{
			name: "where routes lead", x: entry("a", "x", "from.example.com", "", ""),
			others: virtual("a", "v", "hosts: [from.example.com], "+fmt.Sprintf(to, "to.example.com")) + rule("a", "to", "to.example.com", "", "") +
				virtual("a", "w", "hosts: [to.example.com], "+fmt.Sprintf(to, "on.example.com")) + rule("a", "on", "on.example.com", "", ""),
			want: "DestinationRule a/to",
		},
		{
			name: "whence they lead, and where else", x: rule("a", "x", "to.example.com", "", ""),
			others: virtual("a", "v", "hosts: [from.example.com, also.example.com], "+fmt.Sprintf(to, "to.example.com")) + entry("a", "from", "from.example.com", "", "") + entry("a", "also", "also.example.com", "", "") +
				virtual("a", "w", "hosts: ['*.example.com'], tcp: [{route: [{destination: {host: far.example.org}}]}]") + rule("a", "far", "far.example.org", "", "") +
				virtual("a", "m", "hosts: [m.example.net], http: [{mirror: {host: to.example.com}}]") + entry("a", "m", "m.example.net", "", ""),
			want: "ServiceEntry a/from, ServiceEntry a/also, DestinationRule a/far, ServiceEntry a/m",
		},
		{
			name: "the same listener", x: entry("a", "x", "one.example.com", "", ", addresses: [192.0.2.1]"),
			others: entry("b", "same", "two.example.org", "", ", addresses: [192.0.2.1]") + entry("b", "other", "three.example.net", "", ", addresses: [192.0.2.2]"),
			want:   "ServiceEntry b/same",
		},
		{
			name: "the only one with requests on port 80", x: strings.Replace(entry("a", "x", "one.example.com", "", ""), "443, name: tls, protocol: TLS", "80, name: http, protocol: HTTP", 1),
			others: virtual("a", "v", "hosts: [from.example.org], "+fmt.Sprintf(to, "to.example.org")) + rule("a", "to", "to.example.org", "", ""),
			want:   "DestinationRule a/to",
		},
		{
			name: "one of several", x: strings.Replace(entry("a", "x", "one.example.com", "", ""), "443, name: tls, protocol: TLS", "80, name: http, protocol: HTTP", 1),
			others: strings.Replace(entry("a", "y", "two.example.com", "", ""), "443, name: tls, protocol: TLS", "80, name: http, protocol: HTTP", 1) +
				virtual("a", "v", "hosts: [from.example.org], "+fmt.Sprintf(to, "to.example.org")) + rule("a", "to", "to.example.org", "", ""),
		},
		{name: "a rule without a host", x: rule("a", "x", "", "", ""), others: rule("a", "y", "", "", "")},
		{name: "a kind that has none", x: virtual("a", "x", "hosts: [api.example.com]"), others: entry("a", "e", "api.example.com", "", "")},
	} {
		t.Run(c.name, func(t *testing.T) {
			x := load(t, c.x)[0]
			without := world(t, Settings{}, c.others)
			for _, ix := range []*Index{without, without.With(x)} {
				list, all := ix.Neighbours(x, 100)
				var got []string
				for _, o := range list {
					got = append(got, o.Key.String())
				}
				if diff := cmp.Diff(c.want, strings.Join(got, ", ")); diff != "" || !all {
					t.Errorf("all %v (-want +got):\n%s", all, diff)
				}
				for most := range list {
					if some, all := ix.Neighbours(x, most); all || !slices.Equal(list[:most], some) {
						t.Errorf("%d neighbours are others than the first, all %v", most, all)
					}
				}
			}
		})
	}
}

// A gateway to which thousands of routes lead is no endless work, and what else is near is found all the same.
func TestNeighboursOfHub(t *testing.T) {
	var text strings.Builder
	for i := range 2 * mostFollowed {
		text.WriteString(virtual("a", fmt.Sprintf("v%d", i), fmt.Sprintf("hosts: [h%d.example.com], http: [{route: [{destination: {host: hub.example.com}}]}]", i)))
	}
	text.WriteString(entry("a", "last", fmt.Sprintf("h%d.example.com", 2*mostFollowed-1), "", ""))
	hub := strings.Replace(entry("a", "hub", "hub.example.com", "", ", addresses: [192.0.2.1]"), "protocol: TLS", "protocol: TCP", 1)
	ix := world(t, Settings{}, text.String()+strings.Replace(hub, "hub", "other", 2))
	list, all := ix.Neighbours(load(t, hub)[0], 10)
	if all || len(list) == 0 || list[len(list)-1].Name != "other" {
		t.Errorf("neighbours %v, all %v", list, all)
	}
}
