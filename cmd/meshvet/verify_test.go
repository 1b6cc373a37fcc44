package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

type fields = map[string]any

// compiledWorld is what Istio compiles from manifests of lint/verify/testdata for a sidecar of namespace shop.
type compiledWorld struct {
	manifests                   string
	Clusters, Listeners, Routes []fields
}

func loadWorld(t testing.TB, name string) compiledWorld {
	t.Helper()
	folder := filepath.Join("..", "..", "lint", "verify", "testdata")
	manifests, err := os.ReadFile(filepath.Join(folder, name+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(folder, name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	w := compiledWorld{manifests: string(manifests)}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&w); err != nil {
		t.Fatal(err)
	}
	return w
}

// each visits the clusters of a name.
func (w *compiledWorld) each(name string, change func(fields)) {
	for _, c := range w.Clusters {
		if n, _ := c["name"].(string); strings.Contains(n, name) {
			change(c)
		}
	}
}

const webNode = "sidecar~10.1.0.7~web-5d9f.shop~shop.svc.cluster.local"

// configDump is the answer of /config_dump in camel case, as istioctl proxy-config all prints it.
func (w *compiledWorld) configDump(node string, metadata fields) fields {
	section := func(typ, list, item string, resources []fields) fields {
		var out []any
		for _, r := range resources {
			entry := fields{"versionInfo": "7", "lastUpdated": "2026-02-03T04:05:06.789Z"}
			if item == "listener" {
				entry = fields{"name": r["name"], "activeState": fields{"versionInfo": "7", item: r}}
			} else {
				entry[item] = r
			}
			out = append(out, entry)
		}
		return fields{"@type": "type.googleapis.com/envoy.admin.v3." + typ, "versionInfo": "7", list: out}
	}
	return fields{"configs": []any{
		fields{"@type": "type.googleapis.com/envoy.admin.v3.BootstrapConfigDump", "bootstrap": fields{"node": fields{"id": node, "metadata": metadata}}},
		section("ClustersConfigDump", "dynamicActiveClusters", "cluster", w.Clusters),
		section("ListenersConfigDump", "dynamicListeners", "listener", w.Listeners),
		section("RoutesConfigDump", "dynamicRouteConfigs", "routeConfig", w.Routes),
	}}
}

func sidecarMetadata() fields {
	return fields{"NAMESPACE": "shop", "ISTIO_VERSION": "1.31.0", "LABELS": fields{"app": "app"}}
}

// snakeCase spells field names as Envoy does.
func snakeCase(v any) any {
	switch v := v.(type) {
	case fields:
		out := fields{}
		for k, item := range v {
			if !strings.ContainsAny(k, ".@/") && k != strings.ToUpper(k) {
				var b strings.Builder
				for _, r := range k {
					if 'A' <= r && r <= 'Z' {
						b.WriteByte('_')
						r += 'a' - 'A'
					}
					b.WriteRune(r)
				}
				k = strings.ReplaceAll(b.String(), "consecutive5xx", "consecutive_5xx")
			}
			out[k] = snakeCase(item)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = snakeCase(item)
		}
		return out
	case []fields:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = snakeCase(item)
		}
		return out
	}
	return v
}

func encode(t testing.TB, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// verifyIn runs verify in a folder with files.
func verifyIn(t testing.TB, files map[string]string, stdin string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	dir := t.TempDir()
	if _, own := files[".meshvet.yaml"]; !own {
		files[".meshvet.yaml"] = "version: 1\n"
	}
	for name, text := range files {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return verifyAt(t, dir, stdin, args...)
}

func verifyAt(t testing.TB, dir, stdin string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(t.Context(), append([]string{"verify"}, args...), process{
		stdin: strings.NewReader(stdin), stdout: &out, stderr: &errs,
		getenv: func(string) string { return "" },
		getwd:  func() (string, error) { return dir, nil },
	})
	return code, out.String(), errs.String()
}

// Whichever tool printed the dump, and in however many files: what agrees, agrees.
func TestVerifyShapes(t *testing.T) {
	for _, world := range []string{"tls", "pool", "balance"} {
		w := loadWorld(t, world)
		all := w.configDump(webNode, sidecarMetadata())
		configs, _ := all["configs"].([]any)
		last := fields{"configs": []any{configs[1], configs[2], configs[3], configs[0]}}
		parts := []string{"--config-dump", "clusters.json", "--config-dump", "listeners.json", "--config-dump", "routes.json", "--from", "shop", "--labels", "app=app"}
		for _, c := range []struct {
			name  string
			files map[string]string
			stdin string
			args  []string
		}{
			{"istioctl proxy-config all", map[string]string{"d.json": encode(t, all)}, "", []string{"--config-dump", "d.json"}},
			{"its bootstrap at the end", map[string]string{"d.json": encode(t, last)}, "", []string{"--config-dump", "d.json"}},
			{"/config_dump", map[string]string{"d.json": encode(t, snakeCase(all))}, "", []string{"--config-dump", "d.json"}},
			{"standard input", map[string]string{}, encode(t, snakeCase(all)), []string{"--config-dump", "-"}},
			{"flags that say the same", map[string]string{"d.json": encode(t, all)}, "", []string{"--config-dump", "d.json", "--from", "shop", "--proxy", "sidecar", "--labels", "app=app"}},
			{"three lists", map[string]string{"clusters.json": encode(t, w.Clusters), "listeners.json": encode(t, w.Listeners), "routes.json": encode(t, w.Routes)}, "", parts},
			{"three sections of Envoy", map[string]string{
				"clusters.json":  encode(t, snakeCase(fields{"configs": configs[1:2]})),
				"listeners.json": encode(t, snakeCase(fields{"configs": configs[2:3]})),
				"routes.json":    encode(t, snakeCase(fields{"configs": configs[3:]})),
			}, "", parts},
			{"the same file twice", map[string]string{"d.json": encode(t, all)}, "", []string{"--config-dump", "d.json", "--config-dump", "d.json"}},
		} {
			t.Run(world+"/"+c.name, func(t *testing.T) {
				c.files["manifests/mesh.yaml"] = w.manifests
				code, out, errs := verifyIn(t, c.files, c.stdin, append(c.args, "-f", "manifests")...)
				if code != exitClean || errs != "" || !strings.HasPrefix(out, "no differences; ") || strings.Count(out, "\n") != 1 {
					t.Errorf("exit code %d\n%s%s", code, out, errs)
				}
			})
		}
	}
}

const verifyGoldens = "testdata/verify"

// changedWorld is a proxy that has something else than the manifests say, in every way there is.
func changedWorld(t testing.TB) map[string]string {
	t.Helper()
	w := loadWorld(t, "pool")
	w.each("80||full", func(c fields) {
		c["connectTimeout"] = "10s"
		delete(c, "outlierDetection")
		c["respectDnsTtl"] = false
		c["maxRequestsPerConnection"] = json.Number("5")
	})
	w.each("80||upgrade", func(c fields) {
		c["metadata"] = fields{"filterMetadata": fields{"istio": fields{"config": "/apis/networking.istio.io/v1/namespaces/ops/destination-rule/wide"}}}
		c["connectTimeout"] = "3s"
		c["lbPolicy"] = "RANDOM\x1b[31m ##[error]\u202e"
	})
	w.Clusters = slices.DeleteFunc(w.Clusters, func(c fields) bool { return c["name"] == "outbound|443||plain.example.com" })
	w.Clusters = append(w.Clusters,
		fields{"name": "outbound|81||client.example.com"}, fields{"name": "outbound|443||api.example.org"}, fields{"name": "outbound|443||web.example.org"})
	text := strings.ReplaceAll(encode(t, w.Listeners), `"idleTimeout":"90s"`, `"idleTimeout":"3600s"`)
	if err := json.Unmarshal([]byte(text), &w.Listeners); err != nil {
		t.Fatal(err)
	}
	text = strings.ReplaceAll(encode(t, w.Routes), `"numRetries":5`, `"numRetries":9`)
	if err := json.Unmarshal([]byte(text), &w.Routes); err != nil {
		t.Fatal(err)
	}
	return map[string]string{
		"mesh.yaml":   w.manifests,
		"filter.yaml": "apiVersion: networking.istio.io/v1alpha3\nkind: EnvoyFilter\nmetadata: {name: patch, namespace: shop}\nspec:\n  configPatches:\n  - {applyTo: CLUSTER, patch: {operation: MERGE, value: {}}}\n",
		"d.json":      encode(t, w.configDump(webNode, fields{"NAMESPACE": "shop", "ISTIO_VERSION": "1.32.0"})),
	}
}

func TestVerifyText(t *testing.T) {
	files := changedWorld(t)
	code, out, errs := verifyIn(t, files, "", "--config-dump", "d.json", "-f", "mesh.yaml", "-f", "filter.yaml")
	if code != exitFindings || errs != "" {
		t.Errorf("exit code %d: %s", code, errs)
	}
	if strings.ContainsAny(out, "\x1b\u202e") || strings.Contains(out, "##[") {
		t.Error("what acts on a terminal came through")
	}
	golden(t, filepath.Join(verifyGoldens, "changed.txt"), out)
}

func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got; run the test with -update):\n%s", file, diff)
	}
}

func TestVerifyJSONMeetsSchema(t *testing.T) {
	schema, err := jsonschema.NewCompiler().Compile("../../schemas/verify.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var fresh bytes.Buffer
	if err := writeVerifySchema(&fresh); err != nil {
		t.Fatal(err)
	}
	if kept, err := os.ReadFile("../../schemas/verify.schema.json"); err != nil || string(kept) != fresh.String() {
		t.Errorf("the schema is not what the program writes; run make generate (%v)", err)
	}
	changed := changedWorld(t)
	agreeing := map[string]string{"mesh.yaml": loadWorld(t, "tls").manifests, "d.json": encode(t, loadWorld(t, "tls").Clusters)}
	var text string
	for name, c := range map[string]struct {
		files map[string]string
		args  []string
		code  int
	}{
		"changed":  {changed, []string{"--config-dump", "d.json", "--format", "json"}, exitFindings},
		"agreeing": {agreeing, []string{"--config-dump", "d.json", "--from", "shop", "--labels", "app=app", "--format", "json"}, exitClean},
	} {
		code, out, errs := verifyIn(t, c.files, "", c.args...)
		if code != c.code || errs != "" {
			t.Errorf("%s: exit code %d: %s", name, code, errs)
		}
		doc, err := jsonschema.UnmarshalJSON(strings.NewReader(out))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(doc); err != nil {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
		if name == "changed" {
			text = out
		}
	}
	golden(t, filepath.Join(verifyGoldens, "changed.json"), text)
	for _, c := range []struct{ old, new string }{
		{`"version": "1"`, `"version": "2"`}, {`"leftOut": 0`, `"leftOut": -1`}, {`"leftOut": 0`, `"more": 0`}, {`"waiting": []`, `"waiting": null`},
		{`"in": "cluster"`, `"in": 1`}, {`"source": null`, `"source": {}`}, {`"kind": "written"`, `"kind": "other"`},
	} {
		bad := strings.Replace(text, c.old, c.new, 1)
		doc, err := jsonschema.UnmarshalJSON(strings.NewReader(bad))
		if err != nil {
			t.Fatal(err)
		}
		if bad == text || schema.Validate(doc) == nil {
			t.Errorf("%s passes for %s", c.new, c.old)
		}
	}
}

// What is wrong with a run, and what to do about it.
func TestVerifyFails(t *testing.T) {
	w := loadWorld(t, "pool")
	clusters := encode(t, w.Clusters)
	all := encode(t, w.configDump(webNode, sidecarMetadata()))
	dumpOf := func(node string) string { return encode(t, w.configDump(node, nil)) }
	in := func(dump string) map[string]string {
		return map[string]string{"mesh.yaml": w.manifests, "d.json": dump}
	}
	two := func() map[string]string {
		return map[string]string{"d.json": all, "prod/mesh.yaml": w.manifests, "staging/mesh.yaml": w.manifests}
	}
	d := []string{"--config-dump", "d.json"}
	with := func(args ...string) []string { return append(slices.Clone(d), args...) }
	for _, c := range []struct {
		name  string
		files map[string]string
		args  []string
		want  string // in what is said
	}{
		{"no dump", in(all), nil, "--config-dump FILE"},
		{"no such file", in(all), []string{"--config-dump", "nope.json"}, "read dump nope.json: no such file or directory"},
		{"a folder", in(all), []string{"--config-dump", "."}, "is a directory"},
		{"standard input twice", in(all), []string{"--config-dump", "-", "-f", "-"}, "standard input can be read once only"},
		{"an argument", in(all), with("mesh.yaml"), "manifests are named with -f"},
		{"an empty file", in(""), with("--from", "shop"), "d.json:1: is empty"},
		{"YAML", in("name: x\n"), with("--from", "shop"), "d.json:1: looks like YAML; let istioctl print it with -o json"},
		{"a truncated dump", in(all[:len(all)/2]), d, "was the output cut off"},
		{"a truncated list", in(clusters[:len(clusters)/2]), with("--from", "shop"), "was the output cut off"},
		{"another document", in(`{"kind": "List", "apiVersion": "v1"}`), with("--from", "shop"), "a Kubernetes object and no dump"},
		{"no bootstrap", in(clusters), d, "give --from NAMESPACE"},
		{"labels that are none", in(clusters), with("--from", "shop", "--labels", "app"), `"app" is not of the form KEY=VALUE`},
		{"a flag that contradicts the namespace", in(all), with("--from", "other"), "--from other contradicts the dump, which is of a proxy in shop"},
		{"a flag that contradicts the kind", in(all), with("--proxy", "gateway"), "--proxy gateway contradicts the dump, which is of a sidecar"},
		{"a flag that contradicts the labels", in(all), with("--labels", "app=b"), `--labels app=b contradicts the dump, which is of a workload whose app is "app"`},
		{"a waypoint", in(dumpOf("waypoint~10.1.0.7~wp.shop~shop.svc.cluster.local")), d, "the ambient data plane is not supported yet"},
		{"ztunnel", in(`{"workloads": {}, "services": {}}`), with("--from", "shop"), "ztunnel"},
		{"a node of no kind", in(dumpOf("x")), d, "give --proxy sidecar or gateway"},
		{"two proxies", map[string]string{"mesh.yaml": w.manifests, "d.json": all, "e.json": dumpOf("sidecar~10.1.0.8~db.shop~shop.svc.cluster.local")},
			with("--config-dump", "e.json"), "of two proxies"},
		{"another mesh", map[string]string{"mesh.yaml": loadWorld(t, "tls").manifests, "d.json": all}, d,
			"it has no cluster of the 9 hosts that they define (auto.example.com, behind.example.com, behindtls.example.com, 6 more); its own are for client.example.com, "},
		{"a proxy without configuration", in(encode(t, w.Clusters[:1])), with("--from", "shop"), "the dump has no outbound cluster at all"},
		{"no manifests", map[string]string{"d.json": all}, d, "the manifests define no host"},
		{"none that count", map[string]string{"d.json": all, "ns.yaml": "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n"}, d, "the manifests define no host"},
		{"a broken manifest", map[string]string{"d.json": all, "mesh.yaml": w.manifests + "---\napiVersion: networking.istio.io/v1\nkind: ServiceEntry\nspec: {hosts: [a\n"}, d, "mesh.yaml:"},
		{"no such manifest", in(all), with("-f", "nope.yaml"), "nope.yaml: cannot be read: no such file or directory"},
		{"a bad configuration", map[string]string{"d.json": all, "mesh.yaml": w.manifests, ".meshvet.yaml": "version: 2\n"}, d, "version 2 is not supported"},
		{"two meshes", two(), d, "the manifests are of 2 meshes: give the one that the proxy is in, with --scope: prod, staging"},
		{"an unknown mesh", two(), with("--scope", "qa"), `there is no mesh scope "qa"; known are prod, staging`},
		{"only endpoints", in(`[{"clusterName": "outbound|80||a", "endpoints": []}]`), with("--from", "shop"), "neither clusters nor listeners nor routes"},
		{"far too many clusters", map[string]string{"d.json": all, "mesh.yaml": w.manifests, "wide.yaml": wideEntry()}, d, "is for more than 10000 ports of hosts"},
	} {
		t.Run(c.name, func(t *testing.T) {
			code, out, errs := verifyIn(t, c.files, "", c.args...)
			if code != exitFailed || out != "" || !strings.Contains(errs, c.want) || strings.Count(errs, "\n") > 2 {
				t.Errorf("exit code %d, want %q\n%s%s", code, c.want, out, errs)
			}
		})
	}
	t.Run("one of two meshes", func(t *testing.T) {
		if code, out, errs := verifyIn(t, two(), "", with("--scope", "staging")...); code != exitClean {
			t.Errorf("exit code %d\n%s%s", code, out, errs)
		}
	})
	t.Run("the mesh that -f names", func(t *testing.T) {
		if code, out, errs := verifyIn(t, two(), "", with("-f", "prod")...); code != exitClean {
			t.Errorf("exit code %d\n%s%s", code, out, errs)
		}
	})
}

func wideEntry() string {
	var b strings.Builder
	b.WriteString("apiVersion: networking.istio.io/v1\nkind: ServiceEntry\nmetadata: {name: wide, namespace: shop}\nspec:\n  resolution: DNS\n  hosts:\n")
	for i := range 200 {
		b.WriteString("  - h" + strings.Repeat("x", i+1) + ".example.com\n")
	}
	b.WriteString("  ports:\n")
	for i := range 200 {
		p := encodeInt(i + 1)
		b.WriteString("  - {number: " + p + ", name: p" + p + ", protocol: TCP}\n")
	}
	return b.String()
}

func encodeInt(n int) string {
	b, _ := json.Marshal(n)
	return string(b)
}

// What the report says beside the differences.
func TestVerifyHints(t *testing.T) {
	w := loadWorld(t, "pool")
	slow := loadWorld(t, "pool")
	slow.each("plain", func(c fields) { c["connectTimeout"] = "4s" })
	d := []string{"--config-dump", "d.json"}
	for _, c := range []struct {
		name  string
		files map[string]string
		args  []string
		code  int
		want  string
		not   string
	}{
		{"a default of the mesh", map[string]string{"d.json": encode(t, slow.configDump(webNode, sidecarMetadata()))}, d, exitFindings, "may come from meshConfig", ""},
		{"which the configuration says", map[string]string{"d.json": encode(t, slow.configDump(webNode, sidecarMetadata())), ".meshvet.yaml": "version: 1\nistio:\n  meshConfig: {connectTimeout: 5s}\n"},
			d, exitFindings, "meshConfig.connectTimeout", "may come from meshConfig"},
		{"another version of Istio", map[string]string{"d.json": encode(t, w.configDump(webNode, fields{"NAMESPACE": "shop", "ISTIO_VERSION": "1.32.1"}))},
			d, exitClean, "the proxy runs Istio 1.32.1; predictions are proven with Istio 1.31 only", "istio.version"},
		{"another than the configuration says", map[string]string{"d.json": encode(t, w.configDump(webNode, fields{"NAMESPACE": "shop", "ISTIO_VERSION": "1.31.0"})), ".meshvet.yaml": "version: 1\nistio: {version: \"1.32\"}\n"},
			d, exitClean, "the proxy runs Istio 1.31.0, and istio.version in the configuration is 1.32", "proven"},
		{"clusters only", map[string]string{"d.json": encode(t, w.Clusters)}, append(d, "--from", "shop"), exitClean, "the dump has no listeners: ", "the dump has no clusters"},
		{"listeners only", map[string]string{"d.json": encode(t, w.Listeners)}, append(d, "--from", "shop"), exitClean, "the dump has no clusters: ", "the dump has no listeners"},
		{"some clusters", map[string]string{"d.json": encode(t, slices.DeleteFunc(slices.Clone(w.Clusters), func(c fields) bool {
			name, _ := c["name"].(string)
			return !strings.Contains(name, "plain")
		}))}, append(d, "--from", "shop"), exitClean, "has outbound clusters only", ""},
		{"unknown labels", map[string]string{"d.json": encode(t, loadWorld(t, "tls").Clusters), "tls.yaml": loadWorld(t, "tls").manifests}, append(d, "--from", "shop", "-f", "tls.yaml"), exitFindings,
			"DestinationRule shop/secret holds for chosen workloads only", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.files["tls.yaml"] == "" {
				c.files["mesh.yaml"] = w.manifests
			}
			code, out, errs := verifyIn(t, c.files, "", c.args...)
			if code != c.code || !strings.Contains(out, c.want) || c.not != "" && strings.Contains(out, c.not) {
				t.Errorf("exit code %d, want %q and not %q\n%s%s", code, c.want, c.not, out, errs)
			}
		})
	}
}

// A dump of 200 MB is read as a stream: in seconds, and with no more memory than a small one.
func TestHostileDumpOf200MB(t *testing.T) {
	w := loadWorld(t, "pool")
	dir := t.TempDir()
	f, err := os.Create(filepath.Join(dir, "d.json"))
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	text := encode(t, w.configDump(webNode, sidecarMetadata()))
	const at = `"dynamicActiveClusters":[`
	i := strings.Index(text, at) + len(at)
	if _, err := f.WriteString(text[:i]); err != nil {
		t.Fatal(err)
	}
	like := encode(t, fields{"cluster": w.Clusters[len(w.Clusters)-1]})
	for n := 0; n < 200<<20; n += b.Len() {
		b.Reset()
		for range 1000 {
			host := encodeInt(n) + "x" + encodeInt(b.Len()) + ".example.org"
			b.WriteString(strings.ReplaceAll(like, "upgrade.example.com", host) + ",")
		}
		if _, err := f.Write(b.Bytes()); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := f.WriteString(text[i:]); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{"mesh.yaml": w.manifests, ".meshvet.yaml": "version: 1\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	peak, stop := peakHeap()
	start := time.Now()
	code, out, errs := verifyAt(t, dir, "", "--config-dump", "d.json") // which lies among the manifests
	took := time.Since(start)
	stop()
	t.Logf("%v, at most %d MiB", took, *peak>>20)
	if *peak > 150<<20 {
		t.Errorf("%d MiB of memory", *peak>>20)
	}
	if code != exitClean || errs != "" {
		t.Errorf("exit code %d\n%s%s", code, out, errs)
	}
	if took > time.Minute { // generous to a busy machine; it takes a few seconds
		t.Errorf("took %v", took)
	}
}

// What a dump says of hosts in view costs more than what it says of others, and is bounded all the same.
func TestHostileDumps(t *testing.T) {
	w := loadWorld(t, "pool")
	for name, clusters := range map[string]func(b *strings.Builder){
		"clusters that should not be there": func(b *strings.Builder) {
			for i := range 200_000 {
				b.WriteString(`{"name":"outbound|` + encodeInt(i) + `|s|full.example.com"},`)
			}
		},
		"a cluster of many values": func(b *strings.Builder) {
			b.WriteString(`{"name":"outbound|80||full.example.com","x":[` + strings.Repeat("1,", 900_000) + `1]},`)
		},
		"a value without end": func(b *strings.Builder) {
			b.WriteString(`{"name":"outbound|80||full.example.com","lb_policy":"` + strings.Repeat("x", 10<<20) + `"},`)
		},
		"a name without end": func(b *strings.Builder) {
			b.WriteString(`{"name":"outbound|80|` + strings.Repeat("x", 10<<20) + `|full.example.com"},{"name":"outbound|80||` + strings.Repeat("y", 10<<20) + `"},`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			var b strings.Builder
			b.WriteString(`[{"name":"BlackHoleCluster","type":"STATIC"},`)
			clusters(&b)
			b.WriteString(`{"name":"outbound|443||plain.example.com","type":"EDS"}]`)
			start := time.Now()
			for _, format := range []string{"text", "json"} {
				code, out, errs := verifyIn(t, map[string]string{"d.json": b.String(), "mesh.yaml": w.manifests}, "", "--config-dump", "d.json", "--from", "shop", "--format", format)
				if code != exitFindings || errs != "" || len(out) > 10<<20 {
					t.Errorf("exit code %d, %d bytes of output\n%.1000s", code, len(out), errs)
				}
			}
			took := time.Since(start)
			t.Log(took)
			if took > time.Minute { // generous to a busy machine
				t.Errorf("took %v", took)
			}
		})
	}
}

// peakHeap samples how much memory is in use until stop is called.
func peakHeap() (peak *uint64, stop func()) {
	peak = new(uint64)
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-done:
				return
			case <-time.After(10 * time.Millisecond):
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				*peak = max(*peak, m.HeapInuse)
			}
		}
	}()
	return peak, func() { close(done); <-ended }
}
