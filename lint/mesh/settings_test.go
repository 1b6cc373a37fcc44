package mesh

import (
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/meshvet/meshvet/lint/object"
)

func TestSettingsDefaults(t *testing.T) {
	s := New(Settings{}).Settings()
	if s.ClusterDomain != "cluster.local" || s.RootNamespace != "istio-system" {
		t.Errorf("defaults are %+v", s)
	}
	objects := load(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: istio, namespace: istio-system}\ndata:\n  mesh: |\n    rootNamespace: control\n    defaultServiceExportTo: ['.']\n    defaultDestinationRuleExportTo: ['*']\n")
	config, _ := FindMeshConfig(objects, "")
	s = New(Settings{MeshConfig: config}).Settings()
	if s.RootNamespace != "control" {
		t.Errorf("the root namespace is %s", s.RootNamespace)
	}
	if diff := cmp.Diff([][]string{{"."}, {"*"}}, [][]string{s.DefaultServiceExportTo, s.DefaultRuleExportTo}); diff != "" {
		t.Error(diff)
	}
	// What is said outright counts more than the mesh configuration.
	s = New(Settings{MeshConfig: config, RootNamespace: "mine", DefaultServiceExportTo: []string{}}).Settings()
	if s.RootNamespace != "mine" || len(s.DefaultServiceExportTo) != 0 {
		t.Errorf("settings are overruled: %+v", s)
	}
}

func TestDNSCaptureFromMeshConfig(t *testing.T) {
	for text, want := range map[string]string{`"true"`: "true", "true": "true", `"false"`: "false", "": "unknown"} {
		doc := "defaultConfig: {}\n"
		if text != "" {
			doc = "defaultConfig: {proxyMetadata: {ISTIO_META_DNS_CAPTURE: " + text + "}}\n"
		}
		config, problem := object.ParseDocument("mesh.yaml", []byte(doc), object.Limits{})
		if problem != nil {
			t.Fatal(problem.Message)
		}
		got := "unknown"
		if s := New(Settings{MeshConfig: config.Root()}).Settings(); s.DNSCapture != nil {
			got = strconv.FormatBool(*s.DNSCapture)
		}
		if got != want {
			t.Errorf("ISTIO_META_DNS_CAPTURE %s: capture is %s, want %s", text, got, want)
		}
	}
	no := false
	config, _ := object.ParseDocument("mesh.yaml", []byte("defaultConfig: {proxyMetadata: {ISTIO_META_DNS_CAPTURE: 'true'}}\n"), object.Limits{})
	if s := New(Settings{MeshConfig: config.Root(), DNSCapture: &no}).Settings(); *s.DNSCapture {
		t.Error("what is said outright is overruled")
	}
}

func TestInCluster(t *testing.T) {
	for _, c := range []struct {
		domain string
		host   Host
		want   bool
	}{
		{"", "foo.shop.svc.cluster.local", true},
		{"", "*.svc.cluster.local", true},
		{"", "*.local", true},
		{"", "cluster.local", true},
		{"", "*", false},
		{"", "foo.shop", false},
		{"", "api.example.com", false},
		{"", "foo.shop.svc.homelab.local", false},
		{"homelab.local", "foo.shop.svc.homelab.local", true},
		{"homelab.local", "foo.shop.svc.cluster.local", false},
	} {
		if got := New(Settings{ClusterDomain: c.domain}).Settings().InCluster(c.host); got != c.want {
			t.Errorf("%s in %q: %v", c.host, c.domain, got)
		}
	}
}

func TestFindMeshConfig(t *testing.T) {
	mesh := func(ns, name, text string) string {
		return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + ", namespace: " + ns + "}\ndata:\n  mesh: |-\n    " + strings.ReplaceAll(text, "\n", "\n    ") + "\n---\n"
	}
	for _, c := range []struct {
		name, objects, root string
		want                string // connectTimeout
		source              string
	}{
		{name: "nothing", objects: entry("a", "e", "x.example.com", "", "")},
		{name: "the usual place", objects: mesh("istio-system", "istio", "connectTimeout: 3s\nrootNamespace: istio-system"), want: "3s", source: "mesh.yaml:6:5"},
		{name: "a revision's", objects: mesh("istio-system", "istio-canary", "connectTimeout: 4s"), want: "4s", source: "mesh.yaml"},
		{name: "another root", root: "control", objects: mesh("istio-system", "istio", "connectTimeout: 3s") + mesh("control", "istio", "connectTimeout: 5s"), want: "5s", source: "mesh.yaml"},
		{name: "another namespace's", objects: mesh("shop", "istio", "connectTimeout: 3s")},
		{name: "another name", objects: mesh("istio-system", "settings", "connectTimeout: 3s")},
		{name: "no YAML", objects: mesh("istio-system", "istio", "connectTimeout: [3s")},
		{name: "no mapping", objects: mesh("istio-system", "istio", "- connectTimeout")},
		{name: "one that is broken before one that is not", objects: mesh("istio-system", "istio", "a: {") + mesh("istio-system", "istio-new", "connectTimeout: 6s"), want: "6s", source: "mesh.yaml"},
		{name: "empty", objects: mesh("istio-system", "istio", "")},
	} {
		t.Run(c.name, func(t *testing.T) {
			config, source := FindMeshConfig(load(t, c.objects), c.root)
			if got := config.Get("connectTimeout").Str(); got != c.want || config.Set() != (c.want != "") {
				t.Errorf("connectTimeout is %q, want %q", got, c.want)
			}
			if !strings.HasPrefix(source, strings.Split(c.source, ":")[0]) || (source == "") != (c.source == "") {
				t.Errorf("source is %q, want %q", source, c.source)
			}
		})
	}
}

func TestAmbient(t *testing.T) {
	space := func(name, labels string) string {
		return "apiVersion: v1\nkind: Namespace\nmetadata: {name: " + name + ", labels: {" + labels + "}}\n---\n"
	}
	se := func(labels, spec string) string {
		return entry("egress", "api", "api.example.com", ", labels: {"+labels+"}", spec)
	}
	for _, c := range []struct {
		name, objects, dataplane string
		want, maybe              bool
	}{
		{name: "no hint", objects: se("", "")},
		{name: "said outright", objects: se("", ""), dataplane: "ambient", want: true, maybe: true},
		{name: "mixed", objects: se("", ""), dataplane: "mixed", want: true, maybe: true},
		{name: "bound to a waypoint", objects: se("istio.io/use-waypoint: wp", ""), want: true, maybe: true},
		{name: "bound to none", objects: se("istio.io/use-waypoint: none", "")},
		{name: "sidecars said outright", objects: se("istio.io/use-waypoint: wp", ""), dataplane: "sidecar", maybe: true},
		{name: "namespace bound to a waypoint", objects: se("", "") + space("egress", "istio.io/use-waypoint: wp"), want: true, maybe: true},
		{name: "another namespace bound to a waypoint", objects: se("", "") + space("shop", "istio.io/use-waypoint: wp"), maybe: true},
		{name: "clients in an ambient namespace", objects: se("", "") + space("shop", "istio.io/dataplane-mode: ambient"), want: true, maybe: true},
		{name: "that do not see it", objects: se("", ", exportTo: ['.']") + space("shop", "istio.io/dataplane-mode: ambient"), maybe: true},
		{name: "a namespace that is not ambient", objects: se("", "") + space("shop", "istio.io/dataplane-mode: none")},
	} {
		t.Run(c.name, func(t *testing.T) {
			ix := world(t, Settings{Dataplane: c.dataplane}, c.objects)
			if got := ix.Ambient(entryOf(t, ix, "egress", "api")); got != c.want {
				t.Errorf("ambient: %v", got)
			}
			if got := ix.MayBeAmbient(); got != c.maybe {
				t.Errorf("may be ambient: %v", got)
			}
			// The hint goes with the object that gives it.
			var keys []object.Key
			for _, o := range load(t, c.objects) {
				if o.Kind == object.Namespace {
					keys = append(keys, o.Key)
				}
			}
			if len(keys) > 0 && c.dataplane == "" && ix.Without(keys...).MayBeAmbient() {
				t.Error("may still be ambient without its Namespace")
			}
		})
	}
}

func TestEnvoyFilters(t *testing.T) {
	filter := func(name, at string) string {
		return "apiVersion: networking.istio.io/v1alpha3\nkind: EnvoyFilter\nmetadata: {name: " + name + ", namespace: istio-system}\nspec: {configPatches: [{applyTo: HTTP_FILTER}, {applyTo: " + at + "}]}\n---\n"
	}
	ix := world(t, Settings{}, filter("b", "CLUSTER")+filter("a", "LISTENER")+filter("c", "HTTP_ROUTE"))
	var got []string
	for _, o := range ix.EnvoyFilters() {
		got = append(got, o.Name)
	}
	if diff := cmp.Diff([]string{"a", "b"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestBackendTLSPolicyFor(t *testing.T) {
	policy := func(ns, name, meta, ref string) string {
		return "apiVersion: gateway.networking.k8s.io/v1\nkind: BackendTLSPolicy\nmetadata: {namespace: " + ns + ", name: " + name + meta + "}\nspec: {targetRefs: [{group: x, kind: Y, name: z}, {" + ref + "}]}\n---\n"
	}
	const toEntry = "group: networking.istio.io, kind: ServiceEntry, name: api"
	for _, c := range []struct{ name, policies, entry, service string }{
		{name: "none"},
		{name: "the entry", policies: policy("back", "p", "", toEntry), entry: "p"},
		{name: "the first by name", policies: policy("back", "q", "", toEntry) + policy("back", "p", "", toEntry), entry: "p"},
		{name: "another namespace", policies: policy("other", "p", "", toEntry)},
		{name: "another group", policies: policy("back", "p", "", "kind: ServiceEntry, name: api")},
		{name: "another name", policies: policy("back", "p", "", "group: networking.istio.io, kind: ServiceEntry, name: apis")},
		{name: "a host name, which Istio does not take", policies: policy("back", "p", "", "group: networking.istio.io, kind: Hostname, name: api.example.com")},
		{name: "not to be attached", policies: policy("back", "p", ", annotations: {istio.io/ignore-policy-attachment: 'true'}", toEntry)},
		{name: "the service", policies: policy("back", "p", "", "group: '', kind: Service, name: foo"), service: "p"},
	} {
		t.Run(c.name, func(t *testing.T) {
			ix := world(t, Settings{}, entry("back", "api", "api.example.com", "", "")+service+c.policies)
			name := func(o *object.Object) string {
				if o == nil {
					return ""
				}
				return o.Name
			}
			if got := name(ix.BackendTLSPolicyFor(entryOf(t, ix, "back", "api"))); got != c.entry {
				t.Errorf("of the entry: %q, want %q", got, c.entry)
			}
			if got := name(ix.BackendTLSPolicyFor(ix.Target(named(t, ix, object.Service, "back", "foo")))); got != c.service {
				t.Errorf("of the Service: %q, want %q", got, c.service)
			}
		})
	}
}
