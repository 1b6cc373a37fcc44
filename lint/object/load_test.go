package object

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"
)

// summary describes what became of a file, one line for each thing that is reported.
func summary(f *File) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %d documents\n", f.Class, f.Documents)
	for _, o := range f.Objects {
		fmt.Fprintf(&b, "%s", o.Key)
		if o.Stray {
			fmt.Fprintf(&b, " (stray %s)", o.APIVersion)
		}
		b.WriteByte('\n')
	}
	for _, p := range f.Problems {
		fmt.Fprintf(&b, "%s at %d:%d: %s\n", p.Kind, p.Location.Range.Start.Line, p.Location.Range.Start.Col, p.Message)
	}
	if f.Template != nil {
		fmt.Fprintf(&b, "template at %d:%d\n", f.Template.Location.Range.Start.Line, f.Template.Location.Range.Start.Col)
	}
	for _, u := range f.Unread {
		fmt.Fprintf(&b, "unread at %d:%d: %s\n", u.Location.Range.Start.Line, u.Location.Range.Start.Col, u.Message)
	}
	return b.String()
}

// manifest is a small object of a kind of Istio's.
func manifest(kind, name string) string {
	return "apiVersion: networking.istio.io/v1\nkind: " + kind + "\nmetadata:\n  name: " + name + "\nspec: {}\n"
}

func TestLoad(t *testing.T) {
	se, dr, vs := manifest("ServiceEntry", "a"), manifest("DestinationRule", "b"), manifest("VirtualService", "c")
	tests := []struct{ name, text, want string }{
		{"nothing", "", "other, 0 documents\n"},
		{"no kind of ours", "kind: Pod\n---\nkind: Job\n", "other, 0 documents\n"},
		{"one document", se, "linted, 1 documents\nServiceEntry a\n"},
		{"context only", vs, "other, 1 documents\nVirtualService c\n"},
		{"no final newline", strings.TrimSpace(se), "linted, 1 documents\nServiceEntry a\n"},
		{"stream", se + "---\n" + dr + "---\n" + vs, "linted, 3 documents\nServiceEntry a\nDestinationRule b\nVirtualService c\n"},
		{"empty and comment-only documents", "# licence\n---\n---\n\n---\n# nothing\n---\n" + se + "---\n--- # end\n", "linted, 1 documents\nServiceEntry a\n"},
		{"byte-order mark", bom + se, "linted, 1 documents\nServiceEntry a\n"},
		{"byte-order marks of glued files", bom + se + "---\n" + bom + dr + "...\n" + bom + vs, "linted, 3 documents\nServiceEntry a\nDestinationRule b\nVirtualService c\n"},
		{"CRLF", strings.ReplaceAll(se+"---\n"+dr, "\n", "\r\n"), "linted, 2 documents\nServiceEntry a\nDestinationRule b\n"},
		{"document end markers", se + "...\n" + dr + "...\n---\n" + vs, "linted, 3 documents\nServiceEntry a\nDestinationRule b\nVirtualService c\n"},
		{"content behind a document end marker", "a: b\n... {apiVersion: networking.istio.io/v1, kind: ServiceEntry}\n", "linted, 2 documents\nServiceEntry \n"},
		{"directives", "%YAML 1.1\n# comment\n---\n" + se + "...\n%YAML 1.1\n---\n" + dr, "linted, 2 documents\nServiceEntry a\nDestinationRule b\n"},
		{"directive after a bare marker", "---\n%YAML 1.1\n---\n" + se, "linted, 1 documents\nServiceEntry a\n"},
		{"content on the marker line", "--- {apiVersion: networking.istio.io/v1, kind: ServiceEntry, metadata: {name: a}}\n--- # comment\n" + dr, "linted, 2 documents\nServiceEntry a\nDestinationRule b\n"},
		{"marker inside a block scalar is indented", "apiVersion: v1\nkind: ConfigMap\ndata:\n  x: |\n    ---\n    kind: ServiceEntry\n", "other, 1 documents\n"},
		{"quoted kind", "apiVersion: \"networking.istio.io/v1\"\n'kind': \"ServiceEntry\"\nmetadata: {\"name\": 'a'}\n", "linted, 1 documents\nServiceEntry a\n"},
		{"escaped kind", "apiVersion: networking.istio.io/v1\nkind: \"\\x53ervice\\\n  \\u0045ntry\"\nmetadata: {name: a}\n", "linted, 1 documents\nServiceEntry a\n"},
		{"versions", strings.ReplaceAll(se, "/v1", "/v1alpha3") + "---\n" + strings.ReplaceAll(dr, "/v1", "/v1beta1"), "linted, 2 documents\nServiceEntry a\nDestinationRule b\n"},
		{"namespace and generateName", "apiVersion: networking.istio.io/v1\nkind: ServiceEntry\nmetadata: {generateName: x-, namespace: ns}\n", "linted, 1 documents\nServiceEntry ns/x-*\n"},

		{"list", "apiVersion: v1\nkind: List\nitems:\n- " + indent(se) + "- " + indent(vs) + "- apiVersion: v1\n  kind: Pod\n", "linted, 1 documents\nServiceEntry a\nVirtualService c\n"},
		{"list in a list", "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: List\n  items:\n  - {apiVersion: networking.istio.io/v1, kind: ServiceEntry, metadata: {name: a}}\n", "linted, 1 documents\nServiceEntry a\n"},
		{"lists in lists", "{kind: List, items: [{kind: List, items: [{kind: List, items: [{kind: List, items: [{kind: List, items: [" + flowSE + "]}]}]}]}, " + flowSE + "]}\n", "linted, 1 documents\nServiceEntry a\nServiceEntry a\n"},
		{"list without a kind", "- name: x\n- " + indent(se) + "- " + indent(dr) + "---\n[" + flowSE + "]\n", "other, 2 documents\nunread at 3:9: document 1 is a list, from which kubectl reads no manifests: the one on line 3 was not judged; put it into a document of its own\n"},
		{"list of tasks", "# play\n- name: apply\n  k8s:\n    definition: " + flowSE + "\n", "other, 1 documents\nunread at 4:60: document 1 is a list, from which kubectl reads no manifests: the one on line 4 was not judged; put it into a document of its own\n"},
		{"list of patches", "- op: add\n  path: /spec/targetRef\n  value: {apiVersion: networking.istio.io/v1, kind: ServiceEntry, name: a}\n- [ServiceEntry, {kind: DestinationRule, metadata: {name: a}}]\n", "other, 1 documents\n"},
		{"JSON behind a comment", "// made by jq\n{\"apiVersion\":\"networking.istio.io/v1\",\"kind\":\"ServiceEntry\"}\n", "other, 1 documents\nunread at 1:1: document 1 is a text (from line 1 on), so nothing in it was judged; remove what makes it one, such as a // comment before JSON\n"},
		{"typed list whose items have no kind", "apiVersion: networking.istio.io/v1\nkind: ServiceEntryList\nitems:\n- metadata: {name: a}\n- metadata: {name: b}\n", "linted, 1 documents\nServiceEntry a\nServiceEntry b\n"},
		{"typed list of other things", "apiVersion: networking.istio.io/v1\nkind: ServiceEntryList\nitems: [{metadata: {name: a}}, 5, null]\n---\nkind: List\nitems: [5, null]\n",
			"broken, 2 documents\nServiceEntry a\nsyntax at 3:32: document 1 cannot be read: item 2 of its ServiceEntryList is no mapping (type integer); write the manifest, or remove it\n"},
		{"list without items", "apiVersion: networking.istio.io/v1\nkind: ServiceEntryList\n", "other, 1 documents\n"},

		{"JSON", `{"apiVersion": "networking.istio.io/v1", "kind": "ServiceEntry", "metadata": {"name": "a"}}`, "linted, 1 documents\nServiceEntry a\n"},
		{"JSON with tabs", "{\n\t\"apiVersion\": \"networking.istio.io/v1\",\n\t\"kind\": \"ServiceEntry\",\n\t\"metadata\": {\n\t\t\"name\": \"a\"\n\t}\n}\n", "linted, 1 documents\nServiceEntry a\n"},
		{"JSON with surrogates", `{"apiVersion": "networking.istio.io/v1", "kind": "ServiceEntry", "metadata": {"name": "\ud83d\ude00\\ud83d"}}`, "linted, 1 documents\nServiceEntry \U0001F600\\ud83d\n"},
		{"JSON with what YAML refuses", "{\"apiVersion\"\n  : \"networking.istio.io/v1\", \"kind\"\r\n\r\n:\"ServiceEntry\", \"metadata\" : {\"name\":\"a\x7f\u0080\ufeff\u2028\\u2028\\/\"}}", "linted, 1 documents\nServiceEntry a\x7f\u0080\ufeff\u2028\u2028/\n"},
		{"JSON objects without markers", `{"kind": "Pod"}` + "\n" + `{"apiVersion": "networking.istio.io/v1", "kind": "ServiceEntry", "metadata": {"name": "a"}} {"apiVersion": "networking.istio.io/v1", "kind": "DestinationRule"}`, "linted, 3 documents\nServiceEntry a\nDestinationRule \n"},

		{"other groups", "apiVersion: networking.dubbo.apache.org/v1alpha3\nkind: DestinationRule\n---\napiVersion: gateway.networking.k8s.io/v1\nkind: Gateway\n---\napiVersion: serving.knative.dev/v1\nkind: Service\n---\napiVersion: networking.istio.io/v1\nkind: Service\n", "other, 4 documents\n"},
		{"groups of context kinds", "apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\n---\napiVersion: networking.istio.io/v1\nkind: Gateway\n---\napiVersion: v1\nkind: Service\n---\napiVersion: v1\nkind: Namespace\n", "other, 4 documents\nHTTPRoute \nGateway \nService \nNamespace \n"},
		{"misspelt group", "apiVersion: nnetworking.istio.io/v1\nkind: ServiceEntry\n", "linted, 1 documents\nServiceEntry  (stray nnetworking.istio.io/v1)\n"},
		{"generated by istiod", "apiVersion: networking.istio.io/v1\nkind: ServiceEntry\nmetadata:\n  name: a~istio\n  annotations: {internal.istio.io/parents: x}\n", "linted, 1 documents\nServiceEntry a~istio\n"},
		{"kind deep inside something else", "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nspec: {match: {kind: ServiceEntry}}\n", "other, 1 documents\n"},
		{"kind in a list", "kind: [ServiceEntry]\napiVersion: networking.istio.io/v1\n---\nkind: [Service]\napiVersion: v1\n---\nkind: [ServiceEntry, Service]\n---\nkind: {a: ServiceEntry}\n", "linted, 4 documents\nServiceEntry  (stray networking.istio.io/v1)\n"},
		{"kind as a block", "apiVersion: networking.istio.io/v1\nkind: |\n  ServiceEntry\nmetadata: {name: a}\n---\napiVersion: networking.istio.io/v1\nkind: >-\n  ServiceEntry\nmetadata: {name: b}\n", "linted, 2 documents\nServiceEntry a (stray networking.istio.io/v1)\nServiceEntry b\n"},
		{"misspelt kinds", strings.ReplaceAll(se, "ServiceEntry", "serviceentry") + "---\n" + strings.ReplaceAll(dr, "DestinationRule", "' Destinationrules '") + "---\n" + strings.ReplaceAll(vs, "VirtualService", "virtualservice"),
			"linted, 3 documents\nServiceEntry a (stray networking.istio.io/v1)\nDestinationRule b (stray networking.istio.io/v1)\n"},
		{"root that is no mapping", "- ServiceEntry\n---\nServiceEntry\n", "other, 2 documents\n"},
		{"config maps", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: istio}\ndata: {mesh: 'a: b'}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: other}\ndata: {mesh: x}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: istio-sidecar-injector}\ndata: {config: '{{ x }}'}\n", "other, 3 documents\nConfigMap istio\n"},

		{"a broken document does not hide its neighbours", se + "---\nkind: ServiceEntry\nspec:\n  a: b\n c: d\n---\n" + dr,
			"broken, 3 documents\nServiceEntry a\nDestinationRule b\nsyntax at 10:2: document 2 cannot be read: a key is expected here; check the indentation of this line and of those above it\n"},
		{"broken context kind", se + "---\nkind: VirtualService\n a: b: c\n", "linted, 2 documents\nServiceEntry a\nunread at 8:2: document 2 cannot be read: a key cannot begin here; check the indentation, and quote values that hold \": \"\n"},
		{"broken foreign kind", se + "---\nkind: Pod # not a Service\n a: b: c\n", "linted, 2 documents\nServiceEntry a\n"},
		{"broken foreign kind that mentions ours", se + "---\nkind: ClusterPolicy\nmatch: ServiceEntry\n a: b: c\n", "linted, 2 documents\nServiceEntry a\n"},
		{"broken config map", "kind: ConfigMap\n a: b: c\n---\nkind: ConfigMap\nmetadata:\n  name: istio\n a: b: c\n", "other, 2 documents\nunread at 7:2: document 2 cannot be read: a key is expected here; check the indentation of this line and of those above it\n"},
		{"duplicate key", "kind: ServiceEntry\nspec:\n  hosts: [a]\n  ports: []\n  \"hosts\": [b]\n", "broken, 1 documents\nsyntax at 5:3: document 1 cannot be read: key \"hosts\" is already set on line 3; remove one of the two\n"},
		{"duplicate key of a later document", se + "---\nkind: ServiceEntry\na: 1\na: 2\n", "broken, 2 documents\nServiceEntry a\nsyntax at 9:1: document 2 cannot be read: key \"a\" is already set on line 8; remove one of the two\n"},
		{"key twice as a number and a string", "kind: ServiceEntry\n1: a\n\"1\": b\n", "broken, 1 documents\nsyntax at 3:1: document 1 cannot be read: key \"1\" is already set on line 2; remove one of the two\n"},
		{"unknown alias", "kind: ServiceEntry\na: *b\n", "broken, 1 documents\nsyntax at 2:4: document 1 cannot be read: *b is an alias, but no anchor &b stands before it in the document; add the anchor, or quote the value\n"},
		{"anchor of another document", "a: &b c\n---\nkind: ServiceEntry\na: *b\n", "broken, 2 documents\nsyntax at 4:4: document 2 cannot be read: *b is an alias, but no anchor &b stands before it in the document; add the anchor, or quote the value\n"},
		{"value that JSON cannot hold", "kind: ServiceEntry\na: .inf\n", "broken, 1 documents\nsyntax at 2:4: document 1 cannot be read: .inf is infinite or not a number, which JSON cannot hold; write a finite number, or quote it\n"},
		{"null key", "kind: ServiceEntry\n~: a\n", "broken, 1 documents\nsyntax at 2:1: document 1 cannot be read: a mapping key is empty or null; write the key, or quote it\n"},
		{"composite key", "kind: ServiceEntry\n? [a]\n: a\n", "broken, 1 documents\nsyntax at 2:3: document 1 cannot be read: a mapping key is itself a mapping or a list, which JSON cannot hold; quote it\n"},
		{"wrong tag", "kind: ServiceEntry\na: !!int x\n", "broken, 1 documents\nsyntax at 2:4: document 1 cannot be read: \"x\" is tagged !!int but is none; correct the value or drop the tag\n"},
		{"merge of a scalar", "kind: ServiceEntry\n<<: x\n", "broken, 1 documents\nsyntax at 2:1: document 1 cannot be read: a merge key (<<) takes a mapping or a list of mappings; give it one, or quote the key\n"},
		{"tab", "kind: ServiceEntry\nspec:\n\ta: b\n", "broken, 1 documents\nsyntax at 3:2: document 1 cannot be read: a value cannot begin with a tab, %, @ or `; indent with spaces, and quote such values\n"},
		{"open quote", "kind: ServiceEntry\nspec:\n  a: 'b\n  c: d\n---\n" + dr, "broken, 2 documents\nDestinationRule b\nsyntax at 3:3: document 1 cannot be read: a quoted string is not closed; add the closing quote\n"},
		{"open bracket", "kind: ServiceEntry\nspec:\n  a: [b\n  c: d\n", "broken, 1 documents\nsyntax at 4:3: document 1 cannot be read: a list that [ opens is not closed; add the comma or the ] that is missing before this\n"},
		{"key without colon", "kind: ServiceEntry\nspec\n  a: b\n", "broken, 1 documents\nsyntax at 2:1: document 1 cannot be read: a key without \":\"; add it, or check the indentation\n"},
		{"list item without dash", "kind: ServiceEntry\nspec:\n- a\nb\n", "broken, 1 documents\nsyntax at 4:1: document 1 cannot be read: a key without \":\"; add it, or check the indentation\n"},
		{"text after the document", "{kind: ServiceEntry}\na: b\n", "broken, 1 documents\nsyntax at 2:1: document 1 cannot be read: this is no part of the document above it; check the indentation, or put --- before it\n"},
		{"lone CR", "a: b\r---\rkind: ServiceEntry\r", "broken, 1 documents\nsyntax at 1:6: document 1 cannot be read: another document begins here, where most tools see none; end lines in LF or CRLF only, and put --- at the start of a line\n"},
		{"document hidden in a comment by a lone CR", "# a\rapiVersion: networking.istio.io/v1\rkind: ServiceEntry\r", "linted, 1 documents\nServiceEntry \n"},
		{"NUL", "kind: ServiceEntry\na: b\x00\n", "broken, 1 documents\nsyntax at 2:5: document 1 cannot be read: the control character U+0000 cannot stand in YAML; remove it\n"},
		{"invalid UTF-8", "kind: ServiceEntry\na: \u00e9\xff\n", "broken, 1 documents\nsyntax at 2:5: document 1 cannot be read: byte 0xFF is not UTF-8; save the file as UTF-8\n"},
		{"byte-order mark inside", "kind: ServiceEntry\na: b" + bom + "c\n", "broken, 1 documents\nsyntax at 2:5: document 1 cannot be read: a byte-order mark (U+FEFF) stands inside the document, where YAML readers stumble over it; remove it\n"},
		{"UTF-16", utf16Text(se, true), "broken, 0 documents\nsyntax at 0:0: is encoded as UTF-16; save it as UTF-8\n"},
		{"UTF-16 without byte-order mark", utf16Text(se, false), "broken, 0 documents\nsyntax at 0:0: is encoded as UTF-16; save it as UTF-8\n"},
		{"UTF-32", wideText(bom+se, 4, false), "broken, 0 documents\nsyntax at 0:0: is encoded as UTF-32; save it as UTF-8\n"},
		{"UTF-32, other end first", wideText(bom+se, 4, true), "broken, 0 documents\nsyntax at 0:0: is encoded as UTF-32; save it as UTF-8\n"},
		{"UTF-32 without byte-order mark", wideText("# \u65e5\n"+se, 4, false), "broken, 0 documents\nsyntax at 0:0: is encoded as UTF-32; save it as UTF-8\n"},
		{"UTF-32 of something else", wideText("kind: Pod\n", 4, true), "other, 0 documents\n"},
		{"UTF-16, other end first", wideText("\u65e5: 1\n"+se, 2, true), "broken, 0 documents\nsyntax at 0:0: is encoded as UTF-16; save it as UTF-8\n"},
		{"NUL at the start", "\x00" + se, "broken, 1 documents\nsyntax at 1:1: document 1 cannot be read: the control character U+0000 cannot stand in YAML; remove it\n"},
		{"UTF-16 of something else", utf16Text("kind: Pod\n", true), "other, 0 documents\n"},

		{"helm", "{{- if .Values.x }}\n" + se + "{{- end }}\n", "template, 1 documents\ntemplate at 1:1\n"},
		{"helm value", "# {{ not here }}\n" + se + "  hosts: {{ .Values.hosts }}\n", "template, 1 documents\ntemplate at 7:10\n"},
		{"helm value that parses", dr + "---\n" + strings.Replace(se, "spec: {}", "spec: {hosts: [a, \"{{ .Values.host }}\"]}", 1), "template, 2 documents\ntemplate at 11:19\n"},
		{"one notice for many templates, and no faults of theirs", "kind: ServiceEntry\na: {{ .x }}\n---\nkind: ServiceEntry\na: b: c\n---\nkind: DestinationRule\na: {{ .x }}\n---\nkind: Gateway\na: {{ .x }}\n", "template, 4 documents\ntemplate at 2:4\n"},
		{"templates of context kinds", "kind: Service\na: {{ .x }}\n---\nkind: Gateway\na: {{ .x }}\n---\n" + se, "linted, 3 documents\nServiceEntry a\nunread at 2:4: is a template ({{ on line 2): render it first (meshvet lint --helm does that for a chart; else the tool that fills it in) and lint the output\n"},
		{"template of a foreign kind", "kind: Job\nx: Service\na: {{ .x }}\n---\n" + se, "linted, 2 documents\nServiceEntry a\n"},
		{"terraform", "kind: ServiceEntry\nhosts:\n%{ for h in hosts ~}\n- ${h}\n%{ endfor ~}\n", "template, 1 documents\ntemplate at 3:1\n"},
		{"jinja", "kind: ServiceEntry\n{% if x %}\na: b\n{% endif %}\n", "template, 1 documents\ntemplate at 2:1\n"},
		{"ERB", "kind: ServiceEntry\n<% if x %>\na: b\n<% end %>\n", "template, 1 documents\ntemplate at 2:1\n"},
		{"freemarker", "kind: ServiceEntry\n<#if x>\na: b\n</#if>\n", "template, 1 documents\ntemplate at 2:1\n"},
		{"placeholder that is no YAML", "kind: ServiceEntry\nhosts:\n- %SSO_SVC%\n", "template, 1 documents\ntemplate at 3:3\n"},
		{"placeholder that parses", strings.Replace(se, "spec: {}", "spec: {hosts: ['%HOST%']}", 1), "template, 1 documents\ntemplate at 5:16\n"},
		{"template in a key that parses", strings.Replace(se, "spec: {}", "spec: {'{{ .x }}': {}}", 1), "template, 1 documents\ntemplate at 5:8\n"},
		{"template on the last line, in a comment", "kind: ServiceEntry\na: b: c\n# {{ x }}", "broken, 1 documents\nsyntax at 2:1: document 1 cannot be read: a key cannot begin here; check the indentation, and quote values that hold \": \"\n"},
		{"anchor and tag of nothing", "kind: ServiceEntry\na: &x\n! b: c\n", "broken, 1 documents\nsyntax at 2:4: document 1 cannot be read: an anchor without a value is followed by a tag; put them on one line\n"},
		{"shell variables are values", strings.Replace(se, "spec: {}", "spec: {hosts: ['${HOST}']}", 1), "linted, 1 documents\nServiceEntry a\n"},
		{"but not in names", strings.Replace(se, "name: a", "name: 'a-${ENV}'", 1), "template, 1 documents\ntemplate at 4:9\n"},
		{"nor in namespaces", strings.Replace(se, "name: a", "name: a, namespace: '${NS:-shop}'", 1), "template, 1 documents\ntemplate at 4:24\n"},
		{"a dollar is no variable", strings.Replace(se, "name: a", "name: 'a$b${}${1}'", 1), "linted, 1 documents\nServiceEntry a$b${}${1}\n"},
		{"names of context kinds", strings.Replace(vs, "name: c", "name: 'a-${ENV}'", 1), "other, 1 documents\nVirtualService a-${ENV}\n"},
		{"variable that is no YAML", "kind: ServiceEntry\nspec:\n  hosts: [${HOST}, b]\n", "template, 1 documents\ntemplate at 3:11\n"},
		{"variable beside a fault elsewhere", "kind: ServiceEntry\nhosts: ['${HOST}']\na: b: c\n", "broken, 1 documents\nsyntax at 3:1: document 1 cannot be read: a key cannot begin here; check the indentation, and quote values that hold \": \"\n"},
		{"templates in annotations are for a later reader", strings.Replace(se, "spec: {}", "  annotations: {x: '{{ y }}'}", 1), "linted, 1 documents\nServiceEntry a\n"},
		{"Envoy's variables are no placeholders", strings.Replace(vs, "spec: {}", "spec: {http: [{headers: {request: {set: {x: '%START_TIME%'}}}}]}", 1), "other, 1 documents\nVirtualService c\n"},
		{"syntax error beside a template in a comment", "kind: ServiceEntry\n# {{ x }}\na: b: c\n", "broken, 1 documents\nsyntax at 3:1: document 1 cannot be read: a key cannot begin here; check the indentation, and quote values that hold \": \"\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := load(t, tt.text)
			if diff := cmp.Diff(tt.want, summary(f)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if _, isBOM := strings.CutPrefix(tt.text, bom); f.HasBOM() != isBOM {
				t.Errorf("HasBOM = %t", f.HasBOM())
			}
			checkFile(t, f, strings.TrimPrefix(tt.text, bom))
		})
	}
}

// flowSE is a ServiceEntry on one line.
const flowSE = "{apiVersion: networking.istio.io/v1, kind: ServiceEntry, metadata: {name: a}}"

// indent indents all lines but the first by two spaces.
func indent(s string) string {
	return strings.ReplaceAll(strings.TrimSuffix(s, "\n"), "\n", "\n  ") + "\n"
}

// wideText encodes a text of the first plane with 2 or 4 bytes a character.
func wideText(s string, width int, bigEndian bool) string {
	var b strings.Builder
	for _, r := range s {
		unit := make([]byte, width)
		unit[0], unit[1] = byte(r), byte(r>>8)
		if bigEndian {
			slices.Reverse(unit)
		}
		b.Write(unit)
	}
	return b.String()
}

func utf16Text(s string, mark bool) string {
	if mark {
		s = bom + s
	}
	var b strings.Builder
	for _, u := range utf16.Encode([]rune(s)) {
		b.WriteByte(byte(u))
		b.WriteByte(byte(u >> 8))
	}
	return b.String()
}

func TestLoadBounds(t *testing.T) {
	se := manifest("ServiceEntry", "a")
	pod := "kind: Pod # not a Service\n"
	tests := []struct {
		name   string
		text   string
		limits Limits
		want   string
	}{
		{"file", se + strings.Repeat("#", 1<<20), Limits{FileBytes: 1 << 20}, "broken, 0 documents\nbounds at 0:0: is larger than 1 MiB; split it\n"},
		{"file of other things", "x: y\n" + strings.Repeat("#", 1<<20), Limits{FileBytes: 1 << 20}, "other, 0 documents\n"},
		{"word beyond the limit", strings.Repeat("#", 1<<20) + "\n" + se, Limits{FileBytes: 1 << 20}, "broken, 0 documents\nbounds at 0:0: is larger than 1 MiB; split it\n"},
		{"endless", strings.Repeat("#", 3<<20), Limits{FileBytes: 1 << 20, SearchedBytes: 2 << 20}, "broken, 0 documents\nbounds at 0:0: does not end within 2 MiB; give the manifests alone, or exclude the file\n"},
		{"as long as is searched", strings.Repeat("#", 2<<20-1), Limits{FileBytes: 1 << 20, SearchedBytes: 2 << 20}, "other, 0 documents\n"},
		{"document", pod + "---\n" + se + strings.Repeat("#", 1<<20), Limits{DocumentBytes: 1 << 20}, "broken, 2 documents\nbounds at 2:1: document 2 cannot be read: larger than 1 MiB; split it\n"},
		{"document of a foreign kind", "kind: Pod # ServiceEntry" + strings.Repeat("#", 1<<20) + "\n---\n" + se, Limits{DocumentBytes: 1 << 20}, "linted, 2 documents\nServiceEntry a\n"},
		{"documents", strings.Repeat("---\n", 3) + se, Limits{Documents: 2}, "broken, 0 documents\nbounds at 3:1: has more than 2 documents; split it\n"},
		{"documents of other kinds", se + strings.Repeat("---\n"+pod, 3), Limits{Documents: 2}, "linted, 2 documents\nServiceEntry a\n"},
		{"list items", "kind: List\nitems:\n- {kind: ServiceEntry}\n- {}\n- {}\n", Limits{ListItems: 2}, "broken, 1 documents\nbounds at 3:1: document 1 cannot be read: its List holds more than 2 items; split it\n"},
		{"items of a typed list", "apiVersion: networking.istio.io/v1\nkind: ServiceEntryList\nitems: [{}, {}, {}]\n", Limits{ListItems: 2}, "broken, 1 documents\nbounds at 3:8: document 1 cannot be read: its ServiceEntryList holds more than 2 items; split it\n"},
		{"items of a list in an object", se + "---\nkind: ServiceEntry\napiVersion: networking.istio.io/v1\nmetadata: {name: b}\nspec:\n  exportTo: [a, b, c]\n", Limits{ObjectItems: 2},
			"broken, 2 documents\nServiceEntry a\nbounds at 11:3: ServiceEntry b is not judged: exportTo holds 3 items, and 2 are the most; shorten it, or split the object\n"},
		{"items of a list in an object that is only read", "apiVersion: networking.istio.io/v1\nkind: VirtualService\nspec:\n  http: [{}, {}, {}]\n", Limits{ObjectItems: 2}, "other, 1 documents\nVirtualService \n"},
		{"depth", "kind: ServiceEntry\na: {b: [{c: d}]}\n", Limits{Depth: 3}, "broken, 1 documents\nbounds at 2:13: document 1 cannot be read: nested more than 3 levels deep; flatten it\n"},
		{"depth reached", "apiVersion: networking.istio.io/v1\nkind: ServiceEntry\na: {b: [{c: d}]}\n", Limits{Depth: 4}, "linted, 1 documents\nServiceEntry \n"},
		{"depth through an alias", "kind: ServiceEntry\na: &a {b: c}\nd: {e: *a}\n", Limits{Depth: 2}, "broken, 1 documents\nbounds at 3:8: document 1 cannot be read: nested more than 2 levels deep; flatten it\n"},
		{"depth through a merge key", "kind: ServiceEntry\na: &a {<<: {<<: {<<: {<<: {b: c}}}}}\n", Limits{Depth: 3}, "broken, 1 documents\nbounds at 2:22: document 1 cannot be read: nested more than 3 levels deep; flatten it\n"},
		{"values", "kind: ServiceEntry\na: [1, 2, 3]\n", Limits{Nodes: 5}, "broken, 1 documents\nbounds at 2:11: document 1 cannot be read: holds more than 5 values; split it\n"},
		{"values through aliases", "kind: ServiceEntry\na: &a [1, 2, 3]\nb: [*a, *a]\n", Limits{Nodes: 11}, "broken, 1 documents\nbounds at 3:9: document 1 cannot be read: holds more than 11 values; split it\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f, err := Load(context.Background(), "test.yaml", strings.NewReader(tt.text), tt.limits)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, summary(f)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestLoadUnreadable(t *testing.T) {
	readers := map[string]io.Reader{
		"at once":         iotest.ErrReader(errors.New("disk on fire")),
		"after the bound": io.MultiReader(strings.NewReader(strings.Repeat("x", 100)), iotest.ErrReader(errors.New("disk on fire"))),
	}
	for name, r := range readers {
		t.Run(name, func(t *testing.T) {
			f, err := Load(context.Background(), "test.yaml", r, Limits{FileBytes: 10})
			if err != nil {
				t.Fatal(err)
			}
			if want := "broken, 0 documents\nunreadable at 0:0: cannot be read: disk on fire\n"; summary(f) != want {
				t.Errorf("got %q, want %q", summary(f), want)
			}
		})
	}
}

func TestLoadCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for name, text := range map[string]string{
		"kinds of ours": manifest("ServiceEntry", "a"),
		"other kinds":   "kind: Pod\n",
		"oversize":      strings.Repeat("x", 100),
	} {
		if _, err := Load(ctx, "test.yaml", strings.NewReader(text), Limits{FileBytes: 90}); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: error %v, want %v", name, err, context.Canceled)
		}
	}
}

// TestLoadReaders holds that the text does not depend on what kind of reader it comes from.
func TestLoadReaders(t *testing.T) {
	text := strings.Repeat(manifest("ServiceEntry", "a")+"---\n", 2000)
	path := filepath.Join(t.TempDir(), "a.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	for name, r := range map[string]io.Reader{
		"string": strings.NewReader(text), "file": file, "pipe": iotest.HalfReader(io.MultiReader(strings.NewReader(text))),
	} {
		f, err := Load(context.Background(), path, r, Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if f.Text() != text || len(f.Objects) != 2000 {
			t.Errorf("%s: %d bytes and %d objects, want %d and 2000", name, len(f.Text()), len(f.Objects), len(text))
		}
	}
}

func TestFileText(t *testing.T) {
	f := load(t, bom+"# caf\u00e9\r\n"+manifest("ServiceEntry", "a")+"# end")
	for n, want := range map[int]string{0: "", 1: "# caf\u00e9", 2: "apiVersion: networking.istio.io/v1", 7: "# end", 8: ""} {
		if got := f.Line(n); got != want {
			t.Errorf("line %d is %q, want %q", n, got, want)
		}
	}
	if f := load(t, "kind: Pod\n---\nkind: Job # Service\n"); f.Text() != "" || f.Line(1) != "" {
		t.Error("the text is kept, though nothing can be reported on it")
	}
	for name, text := range map[string]string{
		"template": "kind: ServiceEntry\na: {{ .x }}\n",
		"unread":   "kind: Service\na: b: c\n",
	} {
		if f := load(t, text); f.Text() != text {
			t.Errorf("%s: what it may hold cannot be told", name)
		}
	}
	if f := load(t, "kind: ServiceEntry\na: b: c\n"); f.Line(2) != "a: b: c" {
		t.Errorf("the text of a broken file is not kept")
	}
}
