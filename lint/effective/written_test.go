package effective_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/meshvet/meshvet/lint/effective"
	"github.com/meshvet/meshvet/lint/mesh"
	"github.com/meshvet/meshvet/lint/object"
)

func portNames(ports []effective.Port) []string {
	var out []string
	for _, p := range ports {
		out = append(out, fmt.Sprintf("%s:%d", p.Host, p.Number))
	}
	return out
}

// find returns the DestinationRule with a name.
func find(t *testing.T, objects []*object.Object, name string) *object.Object {
	t.Helper()
	for _, o := range objects {
		if o.Kind == object.DestinationRule && o.Name == name {
			return o
		}
	}
	t.Fatalf("no DestinationRule %s", name)
	return nil
}

func TestEachPortOf(t *testing.T) {
	hosts := []string{
		entry("a", "a.example.com", "DNS", "", "80 HTTP", "443 TLS"), entry("b", "b.example.com", "DNS", "", "443 TLS"), entry("c", "c.example.com", "DNS", "exportTo: ['.']", "443 TLS"),
	}
	wild := rule("wild", "*.example.com", "trafficPolicy: {tls: {mode: SIMPLE}}")
	for _, c := range []struct {
		name   string
		more   []string
		judged string
		want   []string
		inView bool
	}{
		{name: "every port of every host, though they are alike", judged: "wild", want: []string{"a.example.com:80", "a.example.com:443", "b.example.com:443", "c.example.com:443"}, inView: true},
		{name: "but those with a more specific rule", more: []string{rule("own", "b.example.com", "trafficPolicy: {loadBalancer: {simple: RANDOM}}")}, judged: "wild",
			want: []string{"a.example.com:80", "a.example.com:443", "c.example.com:443"}, inView: true},
		{name: "a more specific rule for another namespace takes nothing away at home", more: []string{rule("own", "b.example.com", "exportTo: ['x']")}, judged: "wild",
			want: []string{"a.example.com:80", "a.example.com:443", "b.example.com:443", "c.example.com:443"}, inView: true},
		{name: "one with a selector does, for the workloads that it does not select too", judged: "wild",
			more: []string{rule("own", "b.example.com", "workloadSelector: {matchLabels: {app: x}}")},
			want: []string{"a.example.com:80", "a.example.com:443", "c.example.com:443"}, inView: true},
		{name: "none", more: []string{rule("lost", "*.com", "trafficPolicy: {tls: {mode: SIMPLE}}")}, judged: "lost", inView: true},
		{name: "a host that is not in view", more: []string{rule("lost", "x.example.org", "trafficPolicy: {tls: {mode: SIMPLE}}")}, judged: "lost"},
	} {
		t.Run(c.name, func(t *testing.T) {
			ix, objects := world(t, "", append(append([]string{wild}, hosts...), c.more...)...)
			reach := effective.EachPortOf(ix, find(t, objects, c.judged))
			if diff := cmp.Diff(c.want, portNames(reach.Ports)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if reach.Known() != c.inView || len(reach.Hosts) != len(reach.Ports) || (len(reach.Targets) > 0) != (len(reach.Ports) > 0) {
				t.Errorf("in view: %v; hosts %v; %d targets", reach.Known(), reach.Hosts, len(reach.Targets))
			}
		})
	}
}

// The object under review counts though the index does not have it, or has another under its name.
func TestReachOfTheObjectUnderReview(t *testing.T) {
	ix, objects := world(t, "", entry("a", "a.example.com", "DNS", "", "443 TLS"), entry("b", "b.example.com", "DNS", "", "443 TLS"),
		rule("wild", "*.example.com", "trafficPolicy: {tls: {mode: SIMPLE}}"), rule("own", "a.example.com", "subsets: [{name: x}]"))
	own := find(t, objects, "own")
	_, review := world(t, "", rule("own", "b.example.com", "subsets: [{name: x}]"))
	for name, index := range map[string]*mesh.Index{"another": ix, "none": ix.Without(own.Key)} {
		reach := effective.EachPortOf(index, review[0])
		if diff := cmp.Diff([]string{"b.example.com:443"}, portNames(reach.Ports)); diff != "" {
			t.Errorf("%s in the index (-want +got):\n%s", name, diff)
		}
	}
	if ix.Get(own.Key) != own {
		t.Error("the index has changed")
	}
}

func TestWrittenIn(t *testing.T) {
	ix, objects := world(t, "", entry("a", "a.example.com", "DNS", "", "80 HTTP", "443 TLS"), rule("d", "a.example.com", `
trafficPolicy:
  tls: {mode: SIMPLE}
  portLevelSettings:
  - {port: {number: 443}, tls: {mode: DISABLE}}
  - {port: {number: 443}, tls: {mode: SIMPLE}, loadBalancer: {simple: RANDOM}}
  - {port: {number: 80}, loadBalancer: {simple: RANDOM}}
subsets:
- name: one
  trafficPolicy: {tls: {mode: MUTUAL}, loadBalancer: null}
- name: two
  trafficPolicy: {loadBalancer: {simple: RANDOM}}`))
	d := find(t, objects, "d")
	reach := effective.EachPortOf(ix, d)
	var got []string
	for _, w := range effective.WrittenIn(d, "tls", reach) {
		got = append(got, fmt.Sprintf("%s %s %v alone=%v shadowed=%v", w.Path, w.Value.Get("mode").Str(), portNames(w.Level.Ports), w.Alone, w.Level.Shadowed))
	}
	want := []string{
		"spec.trafficPolicy.tls SIMPLE [] alone=false shadowed=false",
		"spec.trafficPolicy.portLevelSettings[0].tls DISABLE [a.example.com:443] alone=true shadowed=false",
		"spec.trafficPolicy.portLevelSettings[1].tls SIMPLE [a.example.com:443] alone=false shadowed=true",
		"spec.subsets[0].trafficPolicy.tls MUTUAL [a.example.com:80 a.example.com:443] alone=true shadowed=false",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The tunnel of a level is that of all of the host's ports, entries or not.
func TestWrittenTunnel(t *testing.T) {
	ix, objects := world(t, "", entry("a", "a.example.com", "DNS", "", "80 HTTP", "443 TLS"), rule("d", "a.example.com", `
trafficPolicy:
  tunnel: {targetHost: t.example.com, targetPort: 443}
  portLevelSettings: [{port: {number: 443}, loadBalancer: {simple: RANDOM}}]`))
	d := find(t, objects, "d")
	written := effective.WrittenIn(d, "tunnel", effective.EachPortOf(ix, d))
	if len(written) != 1 {
		t.Fatalf("it is written in %d places", len(written))
	}
	if diff := cmp.Diff([]string{"a.example.com:80", "a.example.com:443"}, portNames(written[0].Level.Ports)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
