package effective_test

import (
	"testing"

	"github.com/meshvet/meshvet/lint/effective"
	"github.com/meshvet/meshvet/lint/object"
)

func TestMeets(t *testing.T) {
	host := entry("a", "a.example.com", "DNS", "", "80 HTTP", "443 TLS")
	const balance, detect = "loadBalancer: {simple: RANDOM}", "outlierDetection: {interval: 5s}"
	for name, c := range map[string]struct {
		mesh string
		spec string
		more []string
		far  bool        // the host is not in view
		at   object.Path // of the level, the destination level if it is not given
		want bool
	}{
		"at the same level":                 {spec: "trafficPolicy: {" + balance + ", " + detect + "}", want: true},
		"nowhere":                           {spec: "trafficPolicy: {" + balance + "}"},
		"a default of the mesh":             {spec: "trafficPolicy: {" + balance + "}", mesh: "defaultTrafficPolicy: {" + detect + "}", want: true},
		"on a port without the first block": {spec: "trafficPolicy: {" + balance + ", portLevelSettings: [{port: {number: 80}, " + detect + "}]}"},
		"not on the ports that are left": {spec: "trafficPolicy: {" + balance + ", " + detect + ", portLevelSettings: [{port: {number: 80}, " + balance + "}]}",
			at: object.Path{"spec", "trafficPolicy", "portLevelSettings", 0}},
		"in a subset that inherits the block":       {spec: "trafficPolicy: {" + balance + "}\nsubsets: [{name: x, trafficPolicy: {" + detect + "}}]", want: true},
		"in a subset that has a block of its own":   {spec: "trafficPolicy: {" + balance + "}\nsubsets: [{name: x, trafficPolicy: {" + balance + ", " + detect + "}}]"},
		"in a subset's entry that leaves it out":    {spec: "trafficPolicy: {" + balance + "}\nsubsets: [{name: x, trafficPolicy: {portLevelSettings: [{port: {number: 80}, " + detect + "}]}}]"},
		"in the subset of a rule that is merged":    {spec: "trafficPolicy: {" + balance + "}", more: []string{rule("b", "a.example.com", "subsets: [{name: x, trafficPolicy: {"+detect+"}}]")}, want: true},
		"in a subset that is merged, with an entry": {spec: "trafficPolicy: {portLevelSettings: [{port: {number: 443}, " + balance + "}]}", at: object.Path{"spec", "trafficPolicy", "portLevelSettings", 0}, more: []string{rule("b", "a.example.com", "subsets: [{name: x, trafficPolicy: {"+detect+"}}]")}, want: true},
		"from the destination level to the subset":  {spec: "trafficPolicy: {" + detect + "}\nsubsets: [{name: x, trafficPolicy: {" + balance + "}}]", at: object.Path{"spec", "subsets", 0, "trafficPolicy"}, want: true},
		"not to a subset's port entry":              {spec: "trafficPolicy: {" + detect + "}\nsubsets: [{name: x, trafficPolicy: {portLevelSettings: [{port: {number: 443}, " + balance + "}]}}]", at: object.Path{"spec", "subsets", 0, "trafficPolicy", "portLevelSettings", 0}},
		"from one subset to the other":              {spec: "subsets: [{name: x, trafficPolicy: {" + balance + "}}, {name: y, trafficPolicy: {" + detect + "}}]", at: object.Path{"spec", "subsets", 0, "trafficPolicy"}},
		"a host that is not in view":                {far: true, spec: "trafficPolicy: {" + balance + ", " + detect + "}", want: true},
		"an entry of a host that is not in view":    {far: true, spec: "trafficPolicy: {" + detect + ", portLevelSettings: [{port: {number: 80}, " + balance + "}]}", at: object.Path{"spec", "trafficPolicy", "portLevelSettings", 0}},
		"a subset of a host that is not in view":    {far: true, spec: "trafficPolicy: {" + balance + "}\nsubsets: [{name: x, trafficPolicy: {" + detect + "}}]", want: true},
		"a port that the host does not have":        {spec: "trafficPolicy: {portLevelSettings: [{port: {number: 9}, " + balance + ", " + detect + "}]}", at: object.Path{"spec", "trafficPolicy", "portLevelSettings", 0}, want: true},
		"on one of two ports":                       {spec: "trafficPolicy: {" + balance + "}\nsubsets: [{name: x, trafficPolicy: {" + detect + ", portLevelSettings: [{port: {number: 80}, " + balance + "}]}}]", want: true},
	} {
		t.Run(name, func(t *testing.T) {
			of := map[bool]string{true: "b.example.com", false: "a.example.com"}[c.far]
			ix, objects := world(t, c.mesh, append([]string{rule("a", of, c.spec), host}, c.more...)...)
			at := c.at
			if at == nil {
				at = object.Path{"spec", "trafficPolicy"}
			}
			for _, l := range effective.LevelsIn(objects[0], effective.EachPortOf(ix, objects[0])) {
				if !l.Path.Equal(at) {
					continue
				}
				if got := l.Meets(ix, objects[0], "loadBalancer", "outlierDetection"); got != c.want {
					t.Errorf("got %t", got)
				}
				return
			}
			t.Errorf("no level at %s", at)
		})
	}
}

// TestHashOfTheListener: tcp_proxy takes what it hashes from the destination level or from a subset's own loadBalancer, while the ring is
// that of the port.
func TestHashOfTheListener(t *testing.T) {
	const hash = "loadBalancer: {consistentHash: {useSourceIp: true}}"
	entryOf := func(level string) string {
		return "{" + level + "portLevelSettings: [{port: {number: 443}, " + hash + "}]}"
	}
	for name, c := range map[string]struct {
		spec string
		live map[string]bool
	}{
		"at the destination level":           {"trafficPolicy: {" + hash + "}", map[string]bool{"spec.trafficPolicy": true}},
		"in an entry alone":                  {"trafficPolicy: " + entryOf(""), map[string]bool{"spec.trafficPolicy.portLevelSettings[0]": false}},
		"in an entry beside another hash":    {"trafficPolicy: " + entryOf("loadBalancer: {consistentHash: {httpHeaderName: x}}, "), map[string]bool{"spec.trafficPolicy": false, "spec.trafficPolicy.portLevelSettings[0]": false}},
		"in an entry and above it":           {"trafficPolicy: " + entryOf(hash+", "), map[string]bool{"spec.trafficPolicy": true, "spec.trafficPolicy.portLevelSettings[0]": true}},
		"in a subset":                        {"subsets: [{name: x, trafficPolicy: {" + hash + "}}]", map[string]bool{"spec.subsets[0].trafficPolicy": true}},
		"in a subset's entry alone":          {"subsets: [{name: x, trafficPolicy: " + entryOf("") + "}]", map[string]bool{"spec.subsets[0].trafficPolicy.portLevelSettings[0]": false}},
		"in a subset's entry and the subset": {"subsets: [{name: x, trafficPolicy: " + entryOf(hash+", ") + "}]", map[string]bool{"spec.subsets[0].trafficPolicy": true, "spec.subsets[0].trafficPolicy.portLevelSettings[0]": true}},
		"in a subset's entry, for which the destination level says it": {"trafficPolicy: {" + hash + "}\nsubsets: [{name: x, trafficPolicy: " + entryOf("") + "}]",
			map[string]bool{"spec.trafficPolicy": true, "spec.subsets[0].trafficPolicy.portLevelSettings[0]": true}},
		"in a subset's entry, where the subset hashes something else": {"trafficPolicy: {" + hash + "}\nsubsets: [{name: x, trafficPolicy: " + entryOf("loadBalancer: {simple: RANDOM}, ") + "}]",
			map[string]bool{"spec.trafficPolicy": true, "spec.subsets[0].trafficPolicy.portLevelSettings[0]": false}},
	} {
		t.Run(name, func(t *testing.T) {
			ix, objects := world(t, "", rule("a", "a.example.com", c.spec), entry("a", "a.example.com", "DNS", "", "443 TLS", "8443 TLS"))
			uses := effective.UsesIn(ix, objects[0], effective.LevelsIn(objects[0], effective.EachPortOf(ix, objects[0])))
			seen := 0
			for _, u := range uses {
				want, told := c.live[u.Level.Path.String()]
				if u.Field.Name != "loadBalancer.consistentHash" || !told {
					continue
				}
				seen++
				if live := len(u.Live) > 0; live != want {
					t.Errorf("at %s it has an effect: %t", u.Level.Path, live)
				}
			}
			if seen != len(c.live) {
				t.Errorf("%d of %d levels were seen", seen, len(c.live))
			}
		})
	}
}
