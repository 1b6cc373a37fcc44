package live

import (
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/tools/clientcmd"
)

// The faults that are in the cluster.
var faults = []string{
	"MX301 cluster:DestinationRule/payments/nobody",
	"SE101 cluster:ServiceEntry/shop/rates",
}

// grant applies the rights that the guide shows, without some resources, under another name.
func grant(t *testing.T, name string, without ...string) {
	t.Helper()
	role := reader(t)
	for _, resource := range without {
		less := regexp.MustCompile(`\b`+resource+`\b(, )?`).ReplaceAllString(role, "")
		if less == role {
			t.Fatalf("the guide's role has no %s", resource)
		}
		role = less
	}
	kubectl(t, strings.ReplaceAll(role, "meshvet-reader", name), "apply", "-f", "-")
	kubectl(t, "", "create", "clusterrolebinding", name, "--clusterrole="+name, "--user="+name)
	kubectl(t, "", "create", "rolebinding", name, "-n", "istio-system", "--role="+name, "--user="+name)
}

// reader is the manifest with the rights in the guide.
func reader(t *testing.T) string {
	t.Helper()
	m := regexp.MustCompile("(?s)```yaml\n# reader.yaml\n(.*?)```").FindStringSubmatch(guide(t))
	if m == nil {
		t.Fatal("the guide has no reader.yaml")
	}
	return m[1]
}

// TestReadOnly: with the guide's rights all of the cluster is judged, by nothing but get and list.
func TestReadOnly(t *testing.T) {
	config := user(t, "reader")
	grant(t, "reader")
	s := meshvet(t, config, "", "lint", "--live", "--severity", "warning", "--format", "json", "--chunk-size", "100")
	if s.code != 1 || len(s.report.Problems) > 0 {
		t.Fatalf("%s", s)
	}
	if diff := cmp.Diff(faults, s.found()); diff != "" {
		t.Error(diff)
	}
	if j := s.report.Stats.Judged; j != bulk+4 {
		t.Errorf("%d objects judged", j)
	}
	if s.report.Context.From != "cluster" || len(s.report.Scopes) != 1 || !strings.HasPrefix(s.report.Scopes[0].Name, "cluster ") {
		t.Errorf("context from %q, scopes %v", s.report.Context.From, s.report.Scopes)
	}
	events, err := server(t).AuditOf("reader")
	if err != nil {
		t.Fatal(err)
	}
	pages := 0
	for _, e := range events {
		at, err := url.Parse(e.RequestURI)
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case e.Verb != "get" && e.Verb != "list", strings.Contains(e.RequestURI, "secret"), at.Query().Has("watch"):
			t.Errorf("%s %s was asked for", e.Verb, e.RequestURI)
		case e.ResponseStatus.Code >= 400 && e.ObjectRef.Resource != "":
			t.Errorf("%s %s was answered with %d", e.Verb, e.RequestURI, e.ResponseStatus.Code)
		case e.Verb == "list" && e.ObjectRef.Resource == "serviceentries":
			pages++
		}
	}
	if pages != 7 {
		t.Errorf("%d pages of ServiceEntries", pages)
	}
}

// Namespaces narrow what is judged, not what is known.
func TestNamespace(t *testing.T) {
	config := server(t).Kubeconfig
	s := meshvet(t, config, "", "lint", "--live", "-n", "payments", "--severity", "warning", "--format", "json")
	if diff := cmp.Diff(faults[:1], s.found()); diff != "" || s.report.Stats.Objects < bulk {
		t.Errorf("%s\n%d objects", diff, s.report.Stats.Objects)
	}
	s = meshvet(t, config, "", "lint", "--live", "-n", "payment", "--severity", "warning", "--format", "json")
	if s.code != 2 || !s.problem("cluster:Namespace/payment", `did you mean "payments"?`) {
		t.Errorf("%s", s)
	}
}

// TestMissingRight: what may not be read is named, and the rest is judged.
func TestMissingRight(t *testing.T) {
	t.Run("context", func(t *testing.T) {
		config := user(t, "no-services")
		grant(t, "no-services", "services")
		s := meshvet(t, config, "", "lint", "--live", "--severity", "warning", "--format", "json")
		const why = `user "no-services" has no permission to list services in all namespaces`
		if s.code != 1 || len(s.report.Problems) > 0 || !s.skipped("", "cluster:services", why) || !strings.Contains(s.stderr, why) {
			t.Fatalf("%s", s)
		}
		// MX301 would say that nobody is nobody's host, and now cannot know.
		if !s.skipped("MX301", "cluster:DestinationRule/payments/nobody", "not every Service is known") || slices.Contains(s.found(), faults[0]) || !slices.Contains(s.found(), faults[1]) {
			t.Errorf("%s", s)
		}
	})
	t.Run("judged", func(t *testing.T) {
		config := user(t, "no-entries")
		grant(t, "no-entries", "serviceentries")
		s := meshvet(t, config, "", "lint", "--live", "--severity", "warning", "--format", "json")
		if s.code != 2 || !s.problem("cluster:serviceentries.networking.istio.io", `user "no-entries" has no permission to list serviceentries.networking.istio.io in all namespaces`, "ClusterRole") {
			t.Fatalf("%s", s)
		}
		if s.report.Stats.Judged != 2 || !s.skipped("MX301", "", "needs to know every ServiceEntry", "no permission to list") {
			t.Errorf("the DestinationRules are not judged: %s", s)
		}
	})
}

// TestOneNamespace: who has rights in one namespace only may lint that.
func TestOneNamespace(t *testing.T) {
	config := user(t, "shopper")
	kubectl(t, strings.ReplaceAll(reader(t), "meshvet-reader", "shop-reader"), "apply", "-f", "-")
	kubectl(t, "", "create", "rolebinding", "shopper", "-n", "shop", "--clusterrole=shop-reader", "--user=shopper")
	s := meshvet(t, config, "", "lint", "--live", "-n", "shop", "--severity", "warning", "--format", "json")
	if diff := cmp.Diff(faults[1:], s.found()); s.code != 1 || diff != "" || s.report.Stats.Judged != 2 {
		t.Errorf("%s\n%s", diff, s)
	}
	if !s.skipped("", "cluster:ConfigMap/istio-system/istio", "get configmaps istio in namespace istio-system", "assumed") {
		t.Errorf("the mesh configuration is not told: %s", s)
	}
	s = meshvet(t, config, "", "lint", "--live", "-n", "shop,payments", "--severity", "warning", "--format", "json")
	if s.code != 2 || !s.problem("cluster:destinationrules.networking.istio.io", "list destinationrules.networking.istio.io in namespace payments") || !slices.Contains(s.found(), faults[1]) {
		t.Errorf("%s", s)
	}
	s = meshvet(t, config, "", "lint", "--live", "--severity", "warning", "--format", "json")
	if s.code != 2 || !s.problem("cluster:serviceentries.networking.istio.io", "in all namespaces", "--namespace") {
		t.Errorf("%s", s)
	}
}

// TestFiles: files count instead of what the cluster has, and findings are about them.
func TestFiles(t *testing.T) {
	config := server(t).Kubeconfig
	folder := t.TempDir()
	write(t, folder, "shop.yaml", `
apiVersion: networking.istio.io/v1
kind: ServiceEntry
metadata: {name: rates}
spec:
  hosts: [rates.example.com]
  location: MESH_EXTERNAL
  resolution: DNS
  ports: [{number: 443, name: tls, protocol: TLS}]
`)
	s := meshvet(t, config, folder, "lint", "--live", "-n", "shop", "--severity", "warning", "--format", "json", "shop.yaml")
	if s.code != 0 || s.report.Stats.Judged != 1 || s.report.Stats.Objects < bulk {
		t.Errorf("%s", s)
	}
	// In the namespace default it is another object, and what is in shop stays as it is.
	s = meshvet(t, config, folder, "lint", "--live", "--all-namespaces", "--severity", "warning", "--format", "json", "shop.yaml")
	if !slices.Contains(s.found(), faults[1]) || s.report.Stats.Judged != bulk+5 {
		t.Errorf("%s", s)
	}
	write(t, folder, "shop.yaml", strings.Replace(read(t, folder, "shop.yaml"), "name: rates", "name: rates, namespace: shop", 1))
	s = meshvet(t, config, folder, "lint", "--live", "-A", "--severity", "warning", "--format", "json", "shop.yaml")
	if diff := cmp.Diff(faults[:1], s.found()); diff != "" || s.report.Stats.Judged != bulk+4 {
		t.Errorf("%s\n%s", diff, s)
	}
	// The Service that a file is about is in the cluster only.
	rule := "apiVersion: networking.istio.io/v1\nkind: DestinationRule\nmetadata: {name: new, namespace: payments}\nspec: {host: HOST, trafficPolicy: {outlierDetection: {consecutive5xxErrors: 5}}}\n"
	write(t, folder, "new.yaml", strings.Replace(rule, "HOST", "web", 1))
	write(t, folder, "newer.yaml", strings.Replace(strings.Replace(rule, "HOST", "wbe", 1), "new", "newer", 1))
	s = meshvet(t, config, folder, "lint", "--live", "--severity", "warning", "--format", "json", "new.yaml", "newer.yaml")
	if slices.Contains(s.found(), "MX301 new.yaml") || !slices.Contains(s.found(), "MX301 newer.yaml") {
		t.Errorf("%s", s)
	}
	if err := os.MkdirAll(filepath.Join(folder, "stage"), 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, folder, "stage/shop.yaml", read(t, folder, "shop.yaml"))
	s = meshvet(t, config, folder, "lint", "--live", ".")
	if s.code != 2 || !strings.Contains(s.stderr, "both define ServiceEntry shop/rates") {
		t.Errorf("%s", s)
	}
}

// TestBaseline: what is known of a cluster can be kept, and what has gone from it is told as of files.
func TestBaseline(t *testing.T) {
	config := server(t).Kubeconfig
	folder := t.TempDir()
	s := meshvet(t, config, folder, "lint", "--live", "--write-baseline", "known.yaml")
	if s.code != 0 || !strings.Contains(read(t, folder, "known.yaml"), "cluster:ServiceEntry/shop/rates") {
		t.Fatalf("%s", s)
	}
	before := read(t, folder, "known.yaml")
	s = meshvet(t, config, folder, "lint", "--live", "--baseline", "known.yaml")
	if s.code != 0 || !strings.Contains(s.stdout, "no findings") || strings.Contains(s.stderr, "stale") {
		t.Errorf("%s", s)
	}
	s = meshvet(t, config, folder, "lint", "--live", "-n", "shop", "--baseline", "known.yaml", "-v")
	if s.code != 0 || strings.Contains(s.stderr, "stale") {
		t.Errorf("%s", s)
	}
	s = meshvet(t, config, folder, "lint", "--live", "-n", "shop", "--write-baseline", "known.yaml")
	if read(t, folder, "known.yaml") != before {
		t.Errorf("what was not judged is lost: %s\n%s", s, cmp.Diff(before, read(t, folder, "known.yaml")))
	}
}

// TestFormats: a place in a cluster is none in a file, in whatever format.
func TestFormats(t *testing.T) {
	config := server(t).Kubeconfig
	for format, want := range map[string]string{
		"text":    "cluster:ServiceEntry/shop/rates: warning",
		"compact": "cluster:ServiceEntry/shop/rates: warning: ",
		"json":    `"file": "cluster:ServiceEntry/shop/rates"`,
		"sarif":   `"fullyQualifiedName": "ServiceEntry shop/rates`,
		"github":  "::warning title=SE101",
		"junit":   "cluster:ServiceEntry/shop/rates",
		"html":    "cluster:ServiceEntry/shop/rates",
	} {
		s := meshvet(t, config, "", "lint", "--live", "-n", "shop", "--format", format)
		if s.code != 1 || !strings.Contains(s.stdout, want) {
			t.Errorf("%s: %s", format, s)
		}
	}
}

// TestEffective: what applies to a host in the cluster, and to one that is about to be there.
func TestEffective(t *testing.T) {
	config := server(t).Kubeconfig
	s := meshvet(t, config, "", "effective", "--live", "web.payments.svc.cluster.local:80")
	if s.code != 0 || !strings.Contains(s.stdout, "DestinationRule payments/web spec.trafficPolicy") {
		t.Errorf("%s", s)
	}
	folder := t.TempDir()
	write(t, folder, "web.yaml", "apiVersion: networking.istio.io/v1\nkind: DestinationRule\nmetadata: {name: web}\nspec: {host: web, trafficPolicy: {outlierDetection: {consecutive5xxErrors: 7}}}\n")
	s = meshvet(t, config, folder, "effective", "--live", "-n", "payments", "-f", "web.yaml", "web.payments.svc.cluster.local:80")
	if s.code != 0 || !strings.Contains(s.stdout, "web.yaml:4") || strings.Contains(s.stdout, "DestinationRule payments/web spec") {
		t.Errorf("%s", s)
	}
}

// TestCredentials: a program may have the credentials, and credentials may be refused.
func TestCredentials(t *testing.T) {
	config, err := clientcmd.LoadFromFile(server(t).Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	for name, info := range config.AuthInfos {
		credential, err := json.Marshal(map[string]any{
			"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential",
			"status": map[string]any{"clientCertificateData": string(info.ClientCertificateData), "clientKeyData": string(info.ClientKeyData)},
		})
		if err != nil {
			t.Fatal(err)
		}
		write(t, folder, "credential.json", string(credential))
		info.ClientCertificateData, info.ClientKeyData = nil, nil
		info.Exec = execConfig("cat", filepath.Join(folder, "credential.json"))
		config.AuthInfos[name] = info
	}
	path := filepath.Join(folder, "kubeconfig")
	save := func() {
		t.Helper()
		if err := clientcmd.WriteToFile(*config, path); err != nil {
			t.Fatal(err)
		}
	}
	save()
	s := meshvet(t, "", folder, "lint", "--live", "--kubeconfig", path, "-n", "shop", "--severity", "warning", "--format", "json")
	if diff := cmp.Diff(faults[1:], s.found()); diff != "" {
		t.Errorf("%s\n%s", diff, s)
	}
	for _, info := range config.AuthInfos {
		info.Exec, info.Token = nil, "expired"
	}
	save()
	s = meshvet(t, "", folder, "lint", "--live", "--kubeconfig", path)
	if s.code != 2 || !strings.Contains(s.stderr, "it does not accept the credentials; log in again") {
		t.Errorf("%s", s)
	}
	for _, info := range config.AuthInfos {
		info.Token, info.Exec = "", execConfig("no-such-program")
	}
	save()
	s = meshvet(t, "", folder, "lint", "--live", "--kubeconfig", path)
	if s.code != 2 || !strings.Contains(s.stderr, "no-such-program") {
		t.Errorf("%s", s)
	}
}

// TestGuide runs the commands of the guide.
func TestGuide(t *testing.T) {
	config := user(t, "auditor")
	folder := t.TempDir()
	write(t, folder, "reader.yaml", reader(t))
	for _, dir := range []string{"manifests", "overlays/prod"} {
		if err := os.MkdirAll(filepath.Join(folder, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write(t, folder, "manifests/a.yaml", strings.SplitN(objects, "---", 2)[0])
	write(t, folder, "overlays/prod/kustomization.yaml", "resources: [a.yaml]\n")
	write(t, folder, "overlays/prod/a.yaml", strings.SplitN(objects, "---", 2)[0])
	var commands []string
	for _, block := range regexp.MustCompile("(?s)```console\n(.*?)```").FindAllStringSubmatch(guide(t), -1) {
		for _, line := range strings.Split(block[1], "\n") {
			if command, ok := strings.CutPrefix(line, "$ "); ok {
				commands = append(commands, command)
			}
		}
	}
	// Rights come first, whatever the order in which the guide explains things.
	slices.SortStableFunc(commands, func(a, b string) int { return rank(a) - rank(b) })
	if len(commands) < 9 {
		t.Fatalf("the guide has %d commands", len(commands))
	}
	for _, command := range commands {
		code, out := shell(t, folder, config, command)
		switch {
		case rank(command) != 1 && code != 0:
			t.Errorf("%s: exit code %d\n%s", command, code, out)
		case rank(command) == 1 && (code != 1 || !strings.Contains(out, "SE101")):
			t.Errorf("%s: exit code %d\n%s", command, code, out)
		}
	}
	if s := meshvet(t, config, "", "lint", "--live", "--severity", "warning", "--format", "json"); len(s.report.Problems)+len(s.stderr) > 0 {
		t.Errorf("the rights of the guide do not suffice: %s", s)
	}
}

// TestNoIstio comes last: the cluster loses Istio's kinds.
func TestNoIstio(t *testing.T) {
	config := server(t).Kubeconfig
	kubectl(t, "", "delete", "crd", "--wait", "serviceentries.networking.istio.io", "sidecars.networking.istio.io")
	s := meshvet(t, config, "", "lint", "--live", "--severity", "warning", "--format", "json")
	if s.code != 1 || !s.skipped("", "cluster:serviceentries.networking.istio.io", "is not served") || !s.skipped("", "cluster:sidecars.networking.istio.io", "is not served") {
		t.Errorf("%s", s)
	}
	kubectl(t, "", "delete", "crd", "--wait", "destinationrules.networking.istio.io")
	s = meshvet(t, config, "", "lint", "--live")
	if s.code != 2 || !strings.Contains(s.stderr, "Istio's CustomResourceDefinitions are not installed there") {
		t.Errorf("%s", s)
	}
}
