package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A page of text can ask for more than a mesh can hold: hosts times ports times addresses, namespaces times rules. Each of these
// took minutes or gigabytes once, or would take them if something were compared pair by pair.
func TestHostileMeshes(t *testing.T) {
	in := func(namespace, kind, name, spec string) string {
		return "apiVersion: networking.istio.io/v1\nkind: " + kind + "\nmetadata: {name: " + name + ", namespace: " + namespace + "}\nspec:\n" + spec
	}
	object := func(kind, name, spec string) string { return in("ns", kind, name, spec) }
	entry := func(name, spec string) string {
		return object("ServiceEntry", name, "  location: MESH_EXTERNAL\n  resolution: DNS\n"+spec)
	}
	rule := func(name, spec string) string {
		return object("DestinationRule", name, spec+"  trafficPolicy: {connectionPool: {http: {maxRetries: 3}, tcp: {maxConnections: 3}}}\n")
	}
	list := func(field string, n int, item string) string {
		var b strings.Builder
		fmt.Fprintf(&b, "  %s:\n", field)
		for i := range n {
			b.WriteString("  - " + strings.ReplaceAll(item, "#", fmt.Sprint(i)) + "\n")
		}
		return b.String()
	}
	pool := "  trafficPolicy: {connectionPool: {tcp: {maxConnections: 3, connectTimeout: 3s}}}\n"
	repeat := func(n int, f func(i int) string) []string {
		var out []string
		for i := range n {
			out = append(out, f(i))
		}
		return out
	}
	addresses := func(n int) string {
		var b strings.Builder
		b.WriteString("  addresses:\n")
		for i := range n {
			fmt.Fprintf(&b, "  - 10.%d.%d.%d\n", i>>16, i>>8&255, i&255)
		}
		return b.String()
	}
	hosts := func(n int, under string) string { return list("hosts", n, "h#"+under+".example.com") }
	ports := func(n int, protocol string) string {
		var b strings.Builder
		b.WriteString("  ports:\n")
		for i := range n {
			fmt.Fprintf(&b, "  - {number: %d, name: p%d, protocol: %s}\n", i+1, i, protocol)
		}
		return b.String()
	}
	one := entry("one", "  hosts: [a.example.com]\n  ports: [{number: 443, name: tls, protocol: TLS}, {number: 80, name: http, protocol: HTTP}]\n")
	wide := func(n int, protocol string) []string {
		return repeat(n, func(i int) string {
			return entry(fmt.Sprint("e", i), hosts(256, fmt.Sprint(".u", i))+ports(256, protocol))
		})
	}
	// One entry for each of many hosts, and as many namespaces with a rule of their own for all of them.
	crowd := func(n int) []string {
		return append(repeat(n, func(i int) string {
			return entry(fmt.Sprint("e", i), fmt.Sprintf("  hosts: [h%d.example.com]\n", i)+ports(2, "TLS"))
		}), repeat(n, func(i int) string {
			return in(fmt.Sprint("n", i), "DestinationRule", "d", "  host: '*.example.com'\n"+pool)
		})...)
	}
	// Of these the map of a page would take minutes too, and gigabytes.
	mapped := map[string]bool{
		"hosts times addresses": true, "rules that are kept back": true, "routes beside rules that are kept back": true,
		"subsets for clients of many namespaces": true,
	}
	subsets := list("subsets", 4096, "{name: s#, labels: {v: a#}, trafficPolicy: {outlierDetection: {maxEjectionPercent: 1}}}")
	for name, docs := range map[string][]string{
		"hosts times addresses": {entry("a", hosts(2000, "")+addresses(3000)+ports(3, "TCP"))},
		"hosts times ports":     wide(20, "TCP"),
		"addresses times ports": repeat(20, func(i int) string {
			return entry(fmt.Sprint("e", i), hosts(39, fmt.Sprint(".u", i))+addresses(256)+ports(256, "TCP"))
		}),
		"rules times hosts":       append(wide(20, "TLS"), repeat(20, func(i int) string { return rule(fmt.Sprint("d", i), "  host: '*.example.com'\n") })...),
		"subsets times hosts":     append(wide(1, "TLS"), object("DestinationRule", "d", "  host: '*.example.com'\n"+subsets)),
		"subsets times endpoints": {entry("a", hosts(30, "")+ports(30, "TCP")+list("endpoints", 4096, "{address: 10.0.0.1, labels: {v: a#}}")), object("DestinationRule", "d", "  host: '*.example.com'\n"+subsets)},
		"namespaces of exportTo": append(repeat(20, func(i int) string {
			return entry(fmt.Sprint("e", i), hosts(1, "")+ports(3, "TCP")+list("exportTo", 4000+i, "n#"))
		}), repeat(40, func(i int) string {
			return rule(fmt.Sprint("d", i), "  host: h0.example.com\n"+list("exportTo", 4000-i, "n#"))
		})...),
		"items of a wrong type":      {object("DestinationRule", "d", "  host: a.example.com\n  subsets: ["+strings.Repeat("1, ", 4000)+"]\n")},
		"more items than are judged": {object("DestinationRule", "d", "  host: a.example.com\n  subsets: ["+strings.Repeat("1, ", 400_000)+"]\n")},
		"routes":                     {one, object("VirtualService", "v", "  hosts: [a.example.com]\n"+list("http", 20_000, "route: [{destination: {host: a.example.com, port: {number: 443}}}]")), rule("d", "  host: a.example.com\n")},
		"rules that nobody looks for": append(repeat(4000, func(i int) string {
			return in(fmt.Sprint("n", i), "DestinationRule", "d", "  host: a.example.com\n  exportTo: ['*', other]\n"+pool)
		}), one),
		"rules that are kept back": append(crowd(400), repeat(400, func(i int) string {
			return rule(fmt.Sprint("d", i), fmt.Sprintf("  host: h%d.example.com\n  exportTo: [.]\n", i))
		})...),
		"routes beside rules that are kept back": append(repeat(500, func(i int) string {
			return rule(fmt.Sprint("d", i), "  host: a.example.com\n  exportTo: [., n"+fmt.Sprint(i)+"]\n")
		}), entry("one", "  hosts: [a.example.com]\n  exportTo: [., m]\n"+ports(1, "TLS")),
			object("VirtualService", "v", "  hosts: [a.example.com]\n"+list("tls", 10_000, "route: [{destination: {host: a.example.com}}]"))),
		"rules behind rules": append(crowd(400), repeat(400, func(i int) string {
			return in("istio-system", "DestinationRule", fmt.Sprint("d", i), fmt.Sprintf("  host: h%d.example.com\n", i)+pool)
		})...),
		"wildcards below wildcards": append(repeat(400, func(i int) string {
			return entry(fmt.Sprint("e", i), "  hosts: [x."+strings.Repeat("a.", i)+"com]\n"+ports(1, "TLS"))
		}), repeat(400, func(i int) string {
			return object("DestinationRule", fmt.Sprint("d", i), "  host: '*."+strings.Repeat("a.", i)+"com'\n"+pool)
		})...),
		"rules for chosen workloads": append(crowd(100), repeat(400, func(i int) string {
			return rule(fmt.Sprint("d", i), fmt.Sprintf("  host: '*.com'\n  workloadSelector: {matchLabels: {app: a%d}}\n", i))
		})...),
		"Sidecars": append(crowd(200), append(repeat(200, func(i int) string {
			return in(fmt.Sprint("n", i), "Sidecar", "s", "  egress:\n  - hosts: [./*"+strings.Repeat(", 'x/*.example.org', x/y.example.org, 'x/*-z.example.org'", 100)+"]\n")
		}), repeat(200, func(i int) string {
			return entry(fmt.Sprint("f", i), fmt.Sprintf("  hosts: ['*.f%d.example.com']\n", i)+ports(2, "TLS")+list("exportTo", 200, "n#"))
		})...)...),
		"Sidecars of one namespace": append(repeat(1000, func(i int) string {
			return object("Sidecar", fmt.Sprint("s", i), "  egress: [{hosts: [x/*]}]\n")
		}), append(crowd(50), repeat(1000, func(i int) string {
			return object("VirtualService", fmt.Sprint("v", i), "  hosts: [h0.example.com]\n  tls: [{route: [{destination: {host: h0.example.com}}]}]\n")
		})...)...),
		"VirtualServices for all hosts": append(wide(20, "TLS"), repeat(2000, func(i int) string {
			return object("VirtualService", fmt.Sprint("v", i), "  hosts: ['*']\n"+list("http", 20, "{match: [{port: 44#}], route: [{destination: {host: gone.example.com, subset: a}}]}")+list("tls", 20, "{match: [{port: #, sniHosts: ['*']}], route: [{destination: {host: gone#.example.com}}]}"))
		})...),
		"VirtualServices for one host": append(repeat(2000, func(i int) string {
			return object("VirtualService", fmt.Sprint("v", i), "  hosts: [a.example.com]\n"+list("http", 10, "{match: [{uri: {prefix: /a}}], route: [{destination: {host: a.example.com, subset: s#, port: {number: 8#}}}]}"))
		}), repeat(100, func(i int) string {
			return entry(fmt.Sprint("e", i), "  hosts: [a.example.com]\n"+ports(2, "HTTP")) + "---\n" + rule(fmt.Sprint("d", i), "  host: a.example.com\n")
		})...),
		"hosts of VirtualServices": append(repeat(20, func(i int) string {
			return object("VirtualService", fmt.Sprint("v", i), list("hosts", 5000, "'*h#.example.com'")+"  http: [{route: [{destination: {host: gone}}]}]\n")
		}), wide(20, "TLS")...),
		"routes times ServiceEntries of one host": append(repeat(1000, func(i int) string {
			return entry(fmt.Sprint("e", i), "  hosts: [a.example.com]\n"+ports(1, "TLS"))
		}), repeat(40, func(i int) string {
			return object("VirtualService", fmt.Sprint("v", i), "  hosts: [a.example.com]\n"+list("http", 1000, "route: [{destination: {host: a.example.com, port: {number: 1}}}]"))
		})...),
		"subsets of many rules for one host": append(repeat(200, func(i int) string {
			return rule(fmt.Sprint("d", i), "  host: a.example.com\n"+list("subsets", 200, fmt.Sprintf("{name: s%d-#, labels: {v: a#}, trafficPolicy: {connectionPool: {tcp: {maxConnections: 3}}}}", i)))
		}), one),
		"subsets for clients of many namespaces": append(repeat(500, func(i int) string {
			return strings.Replace(rule(fmt.Sprint("d", i), "  host: a.example.com\n  subsets: [{name: x}]\n"), "namespace: ns", fmt.Sprint("namespace: n", i), 1)
		}), one, object("VirtualService", "v", "  hosts: [a.example.com]\n"+list("http", 20_000, "{match: [{uri: {prefix: /#}}], route: [{destination: {host: a.example.com, subset: s#, port: {number: 80}}}]}"))),
		"Gateways times subsets": append(repeat(400, func(i int) string {
			return object("Gateway", fmt.Sprint("g", i), "  selector: {app: out}\n"+list("servers", 20, "{port: {number: 44#, protocol: HTTPS}, hosts: [a#.example.com], tls: {mode: ISTIO_MUTUAL}}"))
		}), repeat(40, func(i int) string {
			return object("DestinationRule", fmt.Sprint("d", i), "  host: out.ns.svc.cluster.local\n"+list("subsets", 200, "{name: s#, trafficPolicy: {portLevelSettings: [{port: {number: 443}, tls: {mode: ISTIO_MUTUAL}}, {port: {number: 444}, tls: {mode: ISTIO_MUTUAL, sni: x}}]}}"))
		})...),
		"subsets of a wildcard": append(repeat(300, func(i int) string {
			return entry(fmt.Sprint("e", i), fmt.Sprintf("  hosts: [h%d.example.com]\n  resolution: STATIC\n  endpoints: [{address: 192.0.2.1, labels: {v: a}}]\n", i)+ports(1, "TLS"))
		}), rule("d", "  host: '*.example.com'\n"+list("subsets", 1500, "{name: s#, labels: {v: v#}, trafficPolicy: {tls: {mode: SIMPLE}}}"))),
		"labels of hosts": append(repeat(100, func(i int) string {
			return entry(fmt.Sprint("e", i), "  hosts: ["+strings.Repeat("a.", 2000)+fmt.Sprint("x", i)+".com]\n"+ports(1, "TLS"))
		}), rule("d", "  host: '*.com'\n")),
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "mesh.yaml")
			if err := os.WriteFile(file, []byte(strings.Join(docs, "---\n")), 0o600); err != nil {
				t.Fatal(err)
			}
			var errs bytes.Buffer
			start := time.Now()
			page := filepath.Join(filepath.Dir(file), "report.html")
			args := []string{"lint", "--complete", "--format", "json", file}
			if mapped[name] {
				args = append(args, "--format", "html="+page)
			}
			code := run(t.Context(), args, process{
				stdin: strings.NewReader(""), stdout: io.Discard, stderr: &errs,
				getenv: func(string) string { return "" },
				getwd:  func() (string, error) { return filepath.Dir(file), nil },
			})
			// The bound is generous to a busy machine; these take a second or two.
			if took := time.Since(start); took > time.Minute {
				t.Errorf("took %v", took)
			}
			if strings.Contains(errs.String(), "panic") {
				t.Errorf("exit code %d: %s", code, errs.String())
			}
			if !mapped[name] {
				return
			}
			if info, err := os.Stat(page); err != nil || info.Size() > 20<<20 {
				t.Errorf("exit code %d, %v; the page is %v", code, err, info)
			}
		})
	}
}
