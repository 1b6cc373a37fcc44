package browser

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
)

// What is in the way of a page that puts texts together carelessly.
var hostile = []string{
	`</script><script>window.pwned=1</script>`,
	`<img src=x onerror=window.pwned=1>`,
	`"><svg onload=window.pwned=1>`,
	`'-alert(1)-'`,
	`</style></noscript><b>`,
	`<!--<script>`,
	`javascript:alert(1)`,
	`a` + "\u202e" + `txt.exe` + "\u2066",
	"\x1b[31mred\x00",
	strings.Repeat("long-", 500),
}

// A manifest whose names, hosts and values are hostile is shown as text: nothing runs, nothing is asked for, nothing is an element.
func TestHostile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var b strings.Builder
	for i, h := range hostile {
		q := strconv.Quote(h) // which YAML reads as Go does
		fmt.Fprintf(&b, `---
apiVersion: networking.istio.io/v1
kind: ServiceEntry
metadata: {name: %[1]s, namespace: %[1]s, annotations: {%[1]s: %[1]s}}
spec:
  hosts: [%[1]s, host-%[2]d.example.com]
  location: MESH_EXTERNAL
  ports: [{number: 443, name: %[1]s, protocol: TLS}]
---
apiVersion: networking.istio.io/v1
kind: DestinationRule
metadata: {name: %[1]s, namespace: %[1]s}
spec:
  host: host-%[2]d.example.com
  subsets: [{name: %[1]s, labels: {a: b}}]
  trafficPolicy:
    tls: {mode: SIMPLE, sni: %[1]s, caCertificates: %[1]s}
    connectionPool: {tcp: {maxConnections: 5}, http: {http2MaxRequests: 1000}}
    outlierDetection: {consecutiveErrors: 5}
`, q, i)
	}
	write(t, dir, "a.yaml", b.String())
	write(t, dir, "template.yaml", "kind: ServiceEntry\napiVersion: networking.istio.io/v1\nmetadata: {name: '{{ .Values.name }}</b><b>'}\n")
	write(t, dir, "<img src=x onerror=window.pwned=1>.yaml", strings.ReplaceAll(b.String(), "host-", "other-"))
	write(t, dir, "\u202e</script>.yaml", "kind: ServiceEntry\napiVersion: networking.istio.io/v1\nmetadata: {name: \"<b>\n")
	file := lint(t, dir, ".")
	for _, noScript := range []bool{false, true} {
		p := show(t, file, settings{noScript: noScript})
		p.want(`typeof window.pwned`, "undefined")
		p.want(`document.querySelectorAll('script').length`, "2")
		p.want(`document.querySelectorAll('img, iframe, b, object, embed, base, link').length`, "0")
		p.want(`document.querySelectorAll('style').length`, "1")
		p.want(`[...document.querySelectorAll('*')].filter(e => [...e.attributes].some(a => a.name.startsWith('on'))).length`, "0")
		p.want(`/[\u0000-\u0008\u000b-\u001f\u202a-\u202e\u2066-\u2069]/.test(document.body.textContent)`, "false")
		p.want(`[...document.querySelectorAll('a[href]')].filter(a => !/^(#|https:)/.test(a.getAttribute('href'))).length`, "0")
		p.want(`document.querySelectorAll('#list > .f').length > 20`, "true")
		if !noScript {
			p.want(`document.querySelectorAll('#canvas .node.host').length > 5`, "true")
			p.want(`document.documentElement.scrollWidth <= innerWidth`, "true")
			eval[bool](p, `(document.querySelectorAll('.tomap button').forEach(b => b.click()), true)`)
			eval[bool](p, `(e => { for (const o of e.options) { e.value = o.value; e.dispatchEvent(new Event('change')); } return true; })(document.getElementById('host'))`)
			eval[bool](p, `(dispatchEvent(new Event('beforeprint')), true)`)
			p.want(`typeof window.pwned + document.querySelectorAll('img, b').length`, "undefined0")
			p.picture("hostile", false)
		}
	}
}
