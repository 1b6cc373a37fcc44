package charts

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/object"
	"github.com/meshvet/meshvet/lint/policy"
	"github.com/meshvet/meshvet/policies"
	"github.com/meshvet/meshvet/rules"
	"github.com/meshvet/meshvet/webhook"
)

// manifest is an object of a golden file.
type manifest struct {
	APIVersion string `json:"apiVersion"`
	Kind       string
	Metadata   struct {
		Name, Namespace     string
		Labels, Annotations map[string]string
	}
	raw map[string]any
}

// get returns what stands at a dotted path; a number picks an item of a list. nil if there is nothing.
func (m *manifest) get(path string) any { return dig(m.raw, path) }

func dig(v any, path string) any {
	for key := range strings.SplitSeq(path, ".") {
		switch x := v.(type) {
		case map[string]any:
			v = x[key]
		case []any:
			var i int
			if _, err := fmt.Sscan(key, &i); err != nil || i >= len(x) {
				return nil
			}
			v = x[i]
		default:
			return nil
		}
	}
	return v
}

// rendered is a golden file.
type rendered struct {
	scenario
	objects []*manifest
}

// find returns the object of that kind which is not part of the test, and fails if there is not exactly one.
func (r *rendered) find(t *testing.T, kind string, where func(*manifest) bool) *manifest {
	t.Helper()
	var found []*manifest
	for _, m := range r.objects {
		if m.Kind == kind && m.Metadata.Annotations["helm.sh/hook"] == "" && (where == nil || where(m)) {
			found = append(found, m)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%s: %d objects of kind %s", r.name, len(found), kind)
	}
	return found[0]
}

func (r *rendered) has(kind string) bool {
	return slices.ContainsFunc(r.objects, func(m *manifest) bool { return m.Kind == kind && m.Metadata.Annotations["helm.sh/hook"] == "" })
}

// flag returns the value of a flag of the server, "" if it is not given.
func (r *rendered) flag(t *testing.T, name string) string {
	t.Helper()
	for _, arg := range r.find(t, "Deployment", nil).get("spec.template.spec.containers.0.args").([]any) {
		if value, ok := strings.CutPrefix(arg.(string), "--"+name+"="); ok {
			return value
		}
	}
	return ""
}

// goldens reads all golden files.
func goldens(t *testing.T) []*rendered {
	t.Helper()
	var list []*rendered
	for _, s := range scenarios(t) {
		r := &rendered{scenario: s}
		for doc := range strings.SplitSeq(read(t, filepath.Join("testdata", s.name+".yaml")), "\n---\n") {
			raw, ok := decode(t, strings.TrimPrefix(doc, "---\n")).(map[string]any)
			if !ok {
				t.Fatalf("%s: no object in %q", s.name, doc)
			}
			m := &manifest{raw: raw}
			convert(t, raw, m)
			r.objects = append(r.objects, m)
		}
		list = append(list, r)
	}
	return list
}

// convert fills a typed value with an untyped one.
func convert(t *testing.T, from, to any) {
	t.Helper()
	data, err := json.Marshal(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, to); err != nil {
		t.Fatal(err)
	}
}

// TestRights holds the roles of the chart to what the code asks for, in both directions.
func TestRights(t *testing.T) {
	granted := 0
	for _, r := range goldens(t) {
		t.Run(r.name, func(t *testing.T) {
			if !r.has("ClusterRole") {
				if r.has("Role") || r.has("RoleBinding") || r.has("ClusterRoleBinding") {
					t.Error("some of the rights are there and some are not")
				}
				return
			}
			granted++
			rotate := r.flag(t, "tls-mode") == "rotate"
			want := webhook.Access(webhook.AccessOptions{
				MeshConfigMap: r.flag(t, "mesh-config-map"), Rotate: rotate,
				Secret: r.flag(t, "tls-secret"), WebhookConfiguration: r.flag(t, "webhook-configuration"),
			})
			rulesOf := func(m *manifest) []rbacv1.PolicyRule {
				var list []rbacv1.PolicyRule
				convert(t, m.get("rules"), &list)
				return list
			}
			account := r.find(t, "Deployment", nil).get("spec.template.spec.serviceAccountName")
			bound := func(binding, role *manifest) {
				t.Helper()
				if got := binding.get("roleRef.name"); got != role.Metadata.Name || binding.get("roleRef.kind") != role.Kind {
					t.Errorf("%s binds %v", binding.Metadata.Name, got)
				}
				subjects := binding.get("subjects").([]any)
				if len(subjects) != 1 || dig(subjects, "0.name") != account || dig(subjects, "0.namespace") != namespace || dig(subjects, "0.kind") != "ServiceAccount" {
					t.Errorf("%s binds to %v, and the Pods are %v", binding.Metadata.Name, subjects, account)
				}
			}
			own := func(m *manifest) bool { return m.Metadata.Namespace == namespace }
			root := func(m *manifest) bool { return !own(m) }

			cluster := r.find(t, "ClusterRole", nil)
			if diff := cmp.Diff(want.Cluster, rulesOf(cluster)); diff != "" {
				t.Errorf("ClusterRole (- code + chart):\n%s", diff)
			}
			bound(r.find(t, "ClusterRoleBinding", nil), cluster)

			inOwn := r.find(t, "Role", own)
			if diff := cmp.Diff(want.Own, rulesOf(inOwn)); diff != "" {
				t.Errorf("Role of the own namespace (- code + chart):\n%s", diff)
			}
			bound(r.find(t, "RoleBinding", own), inOwn)

			inRoot := r.find(t, "Role", root)
			if diff := cmp.Diff(want.Root, rulesOf(inRoot)); diff != "" {
				t.Errorf("Role of the root namespace (- code + chart):\n%s", diff)
			}
			bound(r.find(t, "RoleBinding", root), inRoot)

			wantRoot := "istio-system"
			if cfg := config(t, r); cfg.Mesh.RootNamespace != "" {
				wantRoot = cfg.Mesh.RootNamespace
			}
			if inRoot.Metadata.Namespace != wantRoot {
				t.Errorf("the Role for the mesh configuration is in %s; it is read in %s", inRoot.Metadata.Namespace, wantRoot)
			}
		})
	}
	if granted < 6 {
		t.Errorf("only %d scenarios have rights to compare", granted)
	}
}

// config reads the configuration in the ConfigMap with the engine.
func config(t *testing.T, r *rendered) *lint.Config {
	t.Helper()
	data := r.find(t, "ConfigMap", nil).get("data").(map[string]any)
	path := r.flag(t, "config")
	text, ok := data[filepath.Base(path)].(string)
	if !ok || len(data) != 1 {
		t.Fatalf("--config is %s, and the ConfigMap has %v", path, sorted(data))
	}
	cfg, problems := lint.ReadConfig(path, []byte(text))
	for _, p := range problems {
		t.Errorf("%s: %s", p.Location, p.Message)
	}
	if cfg == nil {
		t.FailNow()
	}
	engine(t, cfg) // which knows the names of the rules
	return cfg
}

// engine has all rules of the program.
func engine(t *testing.T, cfg *lint.Config) *lint.Engine {
	t.Helper()
	rego, err := policy.Load(t.Context(), policies.FS)
	if err != nil {
		t.Fatal(err)
	}
	e, err := lint.New(slices.Concat(rules.All(), rego), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// TestNotes: whoever tries the example that is shown after an installation sees a warning of meshvet's. It must not be an error, since then
// Istio's own webhook may refuse the object first.
func TestNotes(t *testing.T) {
	_, after, _ := strings.Cut(read(t, "testdata/default.notes.txt"), "<<END\n")
	text, _, found := strings.Cut(after, "  END\n")
	if !found {
		t.Fatal("the notes show no example")
	}
	file, err := object.Load(t.Context(), "example.yaml", strings.NewReader(text), object.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	report, err := engine(t, &lint.Config{}).Lint(t.Context(), lint.Input{Files: []*object.File{file}})
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Problems) > 0 || len(report.Findings) == 0 {
		t.Errorf("problems %v, %d findings", report.Problems, len(report.Findings))
	}
	for _, f := range report.Findings {
		if f.Severity == lint.Error {
			t.Errorf("%s is an error: %s", f.Rule.ID, f.Message)
		}
	}
}

func TestConfig(t *testing.T) {
	for _, r := range goldens(t) {
		t.Run(r.name, func(t *testing.T) {
			config(t, r)
			m := r.find(t, "ConfigMap", nil)
			mount, volume := mounted(t, r, filepath.Dir(r.flag(t, "config")))
			if mount["subPath"] != nil {
				t.Error("a file that is mounted by itself never changes")
			}
			if got := dig(volume, "configMap.name"); got != m.Metadata.Name {
				t.Errorf("%v is mounted, and the ConfigMap is %s", got, m.Metadata.Name)
			}
		})
	}
}

// mounted returns what is mounted at a path of the container.
func mounted(t *testing.T, r *rendered, path string) (mount, volume map[string]any) {
	t.Helper()
	pod := r.find(t, "Deployment", nil)
	for _, m := range pod.get("spec.template.spec.containers.0.volumeMounts").([]any) {
		if dig(m, "mountPath") == path {
			mount = m.(map[string]any)
		}
	}
	for _, v := range pod.get("spec.template.spec.volumes").([]any) {
		if mount != nil && dig(v, "name") == mount["name"] {
			volume = v.(map[string]any)
		}
	}
	if volume == nil {
		t.Fatalf("nothing is mounted at %s", path)
	}
	return mount, volume
}

// TestChartFlags holds the arguments of the containers to the flags that the program has.
func TestChartFlags(t *testing.T) {
	page := func(name string) string {
		text, err := os.ReadFile("../docs/cli/" + name + ".md")
		if err != nil {
			t.Fatalf("the page of the command is missing, run make generate: %v", err)
		}
		return string(text)
	}
	server, check := page("meshvet_webhook"), page("meshvet_webhook_check")
	known := func(t *testing.T, page string, args []any) {
		t.Helper()
		for _, arg := range args {
			name, _, _ := strings.Cut(arg.(string), "=")
			if !strings.HasPrefix(name, "--") {
				if name != "webhook" && name != "check" {
					t.Errorf("the argument %s is neither a command nor a flag", arg)
				}
			} else if !regexp.MustCompile(regexp.QuoteMeta(name) + `\b[^-]`).MatchString(page) {
				t.Errorf("there is no flag %s", name)
			}
		}
	}
	for _, r := range goldens(t) {
		t.Run(r.name, func(t *testing.T) {
			known(t, server, r.find(t, "Deployment", nil).get("spec.template.spec.containers.0.args").([]any))
			for _, m := range r.objects {
				if m.Kind == "Pod" {
					known(t, check, m.get("spec.containers.0.args").([]any))
				}
			}
		})
	}
}

// TestFlagsAreGuarded: whatever flag the chart sets cannot be set a second time by extraArgs.
func TestFlagsAreGuarded(t *testing.T) {
	guard := read(t, filepath.Join(chart, "templates", "validate.yaml"))
	for _, r := range goldens(t) {
		t.Run(r.name, func(t *testing.T) {
			for _, arg := range r.find(t, "Deployment", nil).get("spec.template.spec.containers.0.args").([]any) {
				name, _, isFlag := strings.Cut(strings.TrimPrefix(arg.(string), "--"), "=")
				if isFlag && !strings.Contains(guard, `"`+name+`" "`) {
					t.Errorf("templates/validate.yaml lets extraArgs repeat --%s", name)
				}
			}
		})
	}
}

// TestWebhook: what the API server is told.
func TestWebhook(t *testing.T) {
	for _, r := range goldens(t) {
		t.Run(r.name, func(t *testing.T) {
			m := r.find(t, "ValidatingWebhookConfiguration", nil)
			hooks := m.get("webhooks").([]any)
			if len(hooks) != 1 {
				t.Fatalf("%d webhooks", len(hooks))
			}
			hook := hooks[0].(map[string]any)

			// The namespaces that are needed for a repair.
			excluded := false
			for _, e := range dig(hook, "namespaceSelector.matchExpressions").([]any) {
				if dig(e, "key") == "kubernetes.io/metadata.name" && dig(e, "operator") == "NotIn" {
					values, _ := dig(e, "values").([]any)
					excluded = excluded || slices.Contains(values, any(namespace)) && slices.Contains(values, any("kube-system"))
				}
			}
			if !excluded {
				t.Error("the own namespace and kube-system are reviewed")
			}
			rules, _ := json.Marshal(hook["rules"])
			want := `[{"apiGroups":["networking.istio.io"],"apiVersions":["v1","v1beta1","v1alpha3"],"operations":["CREATE","UPDATE","DELETE"],` +
				`"resources":["serviceentries","destinationrules"],"scope":"Namespaced"}]`
			if string(rules) != want {
				t.Errorf("rules are %s", rules)
			}
			for path, want := range map[string]any{"matchPolicy": "Equivalent", "sideEffects": "None", "clientConfig.service.path": "/validate",
				"clientConfig.service.namespace": namespace, "clientConfig.service.name": r.find(t, "Service", nil).Metadata.Name,
				"clientConfig.service.port": portTo(r.find(t, "Service", nil), "webhook"), "admissionReviewVersions.0": "v1"} {
				if got := dig(hook, path); got != want {
					t.Errorf("%s is %v, want %v", path, got, want)
				}
			}

			// The CA has one writer.
			_, chartWrites := dig(hook, "clientConfig").(map[string]any)["caBundle"]
			_, certManagerWrites := m.Metadata.Annotations["cert-manager.io/inject-ca-from"]
			mode := r.flag(t, "tls-mode")
			if chartWrites != (mode == "provided") || certManagerWrites != (mode == "certManager") {
				t.Errorf("mode %s: caBundle by the chart: %t, by cert-manager: %t", mode, chartWrites, certManagerWrites)
			}
			if certManagerWrites {
				certificate := m.Metadata.Annotations["cert-manager.io/inject-ca-from"]
				r.find(t, "Certificate", func(m *manifest) bool { return m.Metadata.Namespace+"/"+m.Metadata.Name == certificate })
			}
			if mode == "rotate" && r.flag(t, "webhook-configuration") != m.Metadata.Name {
				t.Errorf("the CA is written to %s", r.flag(t, "webhook-configuration"))
			}

			// The exemption label counts only where it is guarded.
			selector, _ := json.Marshal(hook["namespaceSelector"])
			if counts := strings.Contains(string(selector), "admission.meshvet.dev/ignore"); counts != r.has("ValidatingAdmissionPolicy") || counts != r.has("ValidatingAdmissionPolicyBinding") {
				t.Errorf("the exemption label counts: %t, and is guarded: %t", counts, !counts)
			}
		})
	}
}

// portTo returns the port of a Service that leads to a named port of the Pods; nil if none does.
func portTo(service *manifest, name string) any {
	for _, p := range service.get("spec.ports").([]any) {
		if dig(p, "targetPort") == name {
			return dig(p, "port")
		}
	}
	return nil
}

// TestCertificate: the Secret that is mounted is the one that the mode fills, and it is for the name that the API server asks for.
func TestCertificate(t *testing.T) {
	modeOf := map[any]string{} // by Secret: two modes would write over each other
	for _, r := range goldens(t) {
		t.Run(r.name, func(t *testing.T) {
			_, volume := mounted(t, r, r.flag(t, "webhook-cert-path"))
			secret := dig(volume, "secret.secretName")
			if other := modeOf[secret]; other != "" && other != r.flag(t, "tls-mode") {
				t.Errorf("%v is the Secret of the modes %s and %s", secret, other, r.flag(t, "tls-mode"))
			}
			modeOf[secret] = r.flag(t, "tls-mode")
			service := r.find(t, "Service", nil).Metadata.Name
			switch mode := r.flag(t, "tls-mode"); mode {
			case "certManager":
				leaf := r.find(t, "Certificate", func(m *manifest) bool { return m.get("spec.isCA") == nil })
				if got := leaf.get("spec.secretName"); got != secret {
					t.Errorf("cert-manager writes %v, and %v is mounted", got, secret)
				}
				if got := dig(leaf.get("spec.dnsNames"), "0"); got != service+"."+namespace+".svc" {
					t.Errorf("the certificate is for %v", got)
				}
				issuer := leaf.get("spec.issuerRef.name")
				if r.has("Issuer") {
					ca := r.find(t, "Certificate", func(m *manifest) bool { return m.get("spec.isCA") == true })
					r.find(t, "Issuer", func(m *manifest) bool {
						return m.Metadata.Name == issuer && m.get("spec.ca.secretName") == ca.get("spec.secretName")
					})
					r.find(t, "Issuer", func(m *manifest) bool {
						return m.Metadata.Name == ca.get("spec.issuerRef.name") && m.get("spec.selfSigned") != nil
					})
				} else if issuer != "corp" {
					t.Errorf("there is no issuer %v", issuer)
				}
			case "rotate":
				m := r.find(t, "Secret", nil)
				if m.Metadata.Name != secret || r.flag(t, "tls-secret") != secret || r.flag(t, "service") != service {
					t.Errorf("Secret %s, mounted %v, --tls-secret %s, --service %s", m.Metadata.Name, secret, r.flag(t, "tls-secret"), r.flag(t, "service"))
				}
				if m.get("data") != nil || m.get("stringData") != nil {
					t.Error("the Secret is not empty: an upgrade would undo what meshvet wrote")
				}
			case "provided":
				if r.has("Secret") || r.has("Certificate") || secret != "webhook-cert" {
					t.Errorf("%v is mounted", secret)
				}
			default:
				t.Errorf("mode %q", mode)
			}
			for _, name := range []string{"tls-secret", "service", "webhook-configuration"} {
				if r.flag(t, "tls-mode") != "rotate" && r.flag(t, name) != "" {
					t.Errorf("--%s is for rotate only", name)
				}
			}
		})
	}
}

// TestNetworkPolicy: the webhook is open, the metrics are not, and no rule is open by being empty.
func TestNetworkPolicy(t *testing.T) {
	for _, r := range goldens(t) {
		t.Run(r.name, func(t *testing.T) {
			if !r.has("NetworkPolicy") {
				return
			}
			for _, rule := range r.find(t, "NetworkPolicy", nil).get("spec.ingress").([]any) {
				ports := rule.(map[string]any)["ports"].([]any)
				if len(ports) != 1 {
					t.Errorf("a rule for %d ports", len(ports))
				}
				from, restricted := rule.(map[string]any)["from"]
				switch port := dig(ports, "0.port"); port {
				case "webhook":
					if restricted != (r.name == "everything") {
						t.Errorf("the webhook is restricted: %t", restricted)
					}
				case "metrics":
					if peers, _ := from.([]any); len(peers) == 0 {
						t.Error("the metrics are open to all")
					}
				default:
					t.Errorf("the port %v is open", port)
				}
			}
		})
	}
}

// TestPods: the restricted Pod security standard, ports that are where they are said to be, and time to end.
func TestPods(t *testing.T) {
	for _, r := range goldens(t) {
		t.Run(r.name, func(t *testing.T) {
			d := r.find(t, "Deployment", nil)
			pods := map[string]any{"Deployment": d.get("spec.template.spec")}
			for _, m := range r.objects {
				if m.Kind == "Pod" {
					pods["test"] = m.get("spec")
					if m.Metadata.Labels["sidecar.istio.io/inject"] != "false" {
						t.Error("the test may get a sidecar, and never end")
					}
				}
			}
			if len(pods) != 2 {
				t.Error("there is no test")
			}
			for name, pod := range pods {
				for path, want := range map[string]any{
					"securityContext.runAsNonRoot":                          true,
					"securityContext.seccompProfile.type":                   "RuntimeDefault",
					"containers.0.securityContext.allowPrivilegeEscalation": false,
					"containers.0.securityContext.readOnlyRootFilesystem":   true,
					"containers.0.securityContext.capabilities.drop.0":      "ALL",
				} {
					if got := dig(pod, path); got != want {
						t.Errorf("%s: %s is %v", name, path, got)
					}
				}
				if image, _ := dig(pod, "containers.0.image").(string); !regexp.MustCompile(`:[0-9.]+$|@sha256:[0-9a-f]{64}$`).MatchString(image) {
					t.Errorf("%s: the image is %s", name, image)
				}
				if n := len(dig(pod, "containers").([]any)); n != 1 {
					t.Errorf("%s: %d containers", name, n)
				}
			}

			// Flags, container ports, probes and the Service name the same ports.
			ports := map[any]any{}
			for _, p := range d.get("spec.template.spec.containers.0.ports").([]any) {
				ports[dig(p, "name")] = fmt.Sprint(dig(p, "containerPort"))
			}
			want := map[any]any{"webhook": r.flag(t, "webhook-port")}
			for name, flag := range map[string]string{"health": "health-probe-bind-address", "metrics": "metrics-bind-address"} {
				if address := r.flag(t, flag); address != "0" {
					_, port, err := net.SplitHostPort(address)
					if err != nil {
						t.Errorf("--%s: %v", flag, err)
					}
					want[name] = port
				}
			}
			if diff := cmp.Diff(want, ports); diff != "" {
				t.Errorf("ports (- flags + container):\n%s", diff)
			}
			for _, p := range r.find(t, "Service", nil).get("spec.ports").([]any) {
				if ports[dig(p, "targetPort")] == nil {
					t.Errorf("the Service leads to the port %v", dig(p, "targetPort"))
				}
			}

			var delay, timeout, grace int
			read := func(text, format string, into *int) {
				if _, err := fmt.Sscanf(text, format, into); err != nil {
					t.Errorf("%q: %v", text, err)
				}
			}
			read(r.flag(t, "shutdown-delay"), "%ds", &delay)
			read(fmt.Sprint(r.find(t, "ValidatingWebhookConfiguration", nil).get("webhooks.0.timeoutSeconds")), "%d", &timeout)
			read(fmt.Sprint(d.get("spec.template.spec.terminationGracePeriodSeconds")), "%d", &grace)
			if grace <= delay+timeout {
				t.Errorf("after %d s of delay, a review of %d s does not end within %d s", delay, timeout, grace)
			}
			if d.get("spec.strategy.rollingUpdate.maxUnavailable") != json.Number("0") {
				t.Error("a roll-out takes a Pod away before there is another")
			}
		})
	}
}

// TestLabels: every object says what it is part of, and whatever selects Pods selects those of the Deployment and not the test's.
func TestLabels(t *testing.T) {
	for _, r := range goldens(t) {
		t.Run(r.name, func(t *testing.T) {
			for _, m := range r.objects {
				for _, name := range []string{"name", "instance", "version", "component", "part-of", "managed-by"} {
					if m.Metadata.Labels["app.kubernetes.io/"+name] == "" {
						t.Errorf("%s %s has no label app.kubernetes.io/%s", m.Kind, m.Metadata.Name, name)
					}
				}
			}
			d := r.find(t, "Deployment", nil)
			pod := d.get("spec.template.metadata.labels").(map[string]any)
			selectors := map[string]any{
				"Deployment": d.get("spec.selector.matchLabels"),
				"Service":    r.find(t, "Service", nil).get("spec.selector"),
			}
			for _, kind := range []string{"PodDisruptionBudget", "NetworkPolicy"} {
				if r.has(kind) {
					m := r.find(t, kind, nil)
					selectors[kind] = m.get("spec.selector.matchLabels")
					if kind == "NetworkPolicy" {
						selectors[kind] = m.get("spec.podSelector.matchLabels")
					}
				}
			}
			constraints, _ := d.get("spec.template.spec.topologySpreadConstraints").([]any)
			for i, c := range constraints {
				selectors[fmt.Sprintf("topologySpreadConstraints[%d]", i)] = dig(c, "labelSelector.matchLabels")
			}
			for what, s := range selectors {
				selector, _ := s.(map[string]any)
				if len(selector) != 3 {
					t.Errorf("%s selects by %v", what, selector)
				}
				isTest := true
				for k, v := range selector {
					if pod[k] != v {
						t.Errorf("%s selects %s=%v, which the Pods are not", what, k, v)
					}
					for _, m := range r.objects {
						if m.Kind == "Pod" && m.Metadata.Labels[k] != v {
							isTest = false
						}
					}
				}
				if isTest {
					t.Errorf("%s selects the Pod of the test", what)
				}
			}
		})
	}
}

// TestServiceMonitor: Prometheus finds the Service, and the port of the metrics on it.
func TestServiceMonitor(t *testing.T) {
	monitors := 0
	for _, r := range goldens(t) {
		if !r.has("ServiceMonitor") {
			continue
		}
		monitors++
		service, monitor := r.find(t, "Service", nil), r.find(t, "ServiceMonitor", nil)
		for k, v := range monitor.get("spec.selector.matchLabels").(map[string]any) {
			if service.Metadata.Labels[k] != v {
				t.Errorf("%s: the Service has no label %s=%v", r.name, k, v)
			}
		}
		var names []any
		for _, p := range service.get("spec.ports").([]any) {
			if dig(p, "targetPort") == "metrics" {
				names = append(names, dig(p, "name"))
			}
		}
		if got := monitor.get("spec.endpoints.0.port"); !slices.Contains(names, got) {
			t.Errorf("%s: metrics are read from the port %v, and are on %v", r.name, got, names)
		}
	}
	if monitors == 0 {
		t.Error("no scenario has a ServiceMonitor")
	}
}

// TestDisruptionBudget: a node can be drained.
func TestDisruptionBudget(t *testing.T) {
	for _, r := range goldens(t) {
		if !r.has("PodDisruptionBudget") {
			continue
		}
		m := r.find(t, "PodDisruptionBudget", nil)
		want := map[string]any{"maxUnavailable": json.Number("1")}
		if r.name == "everything" {
			want = map[string]any{"minAvailable": "60%"}
		}
		for _, key := range []string{"maxUnavailable", "minAvailable"} {
			if got := m.get("spec." + key); got != want[key] {
				t.Errorf("%s: %s is %v, want %v", r.name, key, got, want[key])
			}
		}
		if m.get("spec.unhealthyPodEvictionPolicy") != "AlwaysAllow" {
			t.Errorf("%s: a Pod that does not work keeps its node from being drained", r.name)
		}
	}
}

// TestRightsOfTheTest: the test may create what it tries to create, where it does, and nothing else.
func TestRightsOfTheTest(t *testing.T) {
	for _, r := range goldens(t) {
		for _, m := range r.objects {
			if m.Metadata.Annotations["helm.sh/hook"] == "" {
				continue
			}
			switch m.Kind {
			case "Role":
				var rules []rbacv1.PolicyRule
				convert(t, m.get("rules"), &rules)
				want := []rbacv1.PolicyRule{{APIGroups: []string{"networking.istio.io"}, Resources: []string{"serviceentries"}, Verbs: []string{"create"}}}
				if diff := cmp.Diff(want, rules); diff != "" {
					t.Errorf("%s (- want + chart):\n%s", r.name, diff)
				}
				if pod := hook(r, "Pod"); !slices.Contains(pod.get("spec.containers.0.args").([]any), any("--namespace="+m.Metadata.Namespace)) {
					t.Errorf("%s: the rights are for %s, and the test is %v", r.name, m.Metadata.Namespace, pod.get("spec.containers.0.args"))
				}
			case "ServiceAccount", "RoleBinding", "Pod":
			default:
				t.Errorf("%s: the test has a %s", r.name, m.Kind)
			}
		}
		if got, want := hook(r, "Pod").get("spec.serviceAccountName"), hook(r, "ServiceAccount").Metadata.Name; got != want {
			t.Errorf("%s: the test runs as %v", r.name, got)
		}
	}
}

// hook returns the object of that kind which belongs to the test.
func hook(r *rendered, kind string) *manifest {
	for _, m := range r.objects {
		if m.Kind == kind && m.Metadata.Annotations["helm.sh/hook"] != "" {
			return m
		}
	}
	return &manifest{}
}
