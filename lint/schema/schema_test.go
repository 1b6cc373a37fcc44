package schema

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/meshvet/meshvet/lint/istio"
	"github.com/meshvet/meshvet/lint/object"
)

// se and dr write an object around a spec.
func se(spec string) string {
	return `{"apiVersion": "networking.istio.io/v1", "kind": "ServiceEntry", "metadata": {"name": "a", "namespace": "n"}, "spec": ` + spec + `}`
}

func dr(spec string) string {
	return `{"apiVersion": "networking.istio.io/v1", "kind": "DestinationRule", "metadata": {"name": "a", "namespace": "n"}, "spec": ` + spec + `}`
}

// policy writes a DestinationRule around a traffic policy.
func policy(p string) string { return dr(`{"host": "a.example.com", "trafficPolicy": ` + p + `}`) }

// meta writes a ServiceEntry around metadata.
func meta(m string) string {
	return `{"apiVersion": "networking.istio.io/v1", "kind": "ServiceEntry", "metadata": ` + m + `, "spec": {"hosts": ["a.example.com"]}}`
}

func TestValidate(t *testing.T) {
	const port = `"ports": [{"number": 443, "name": "tls", "protocol": "TLS"}]`
	tests := []struct {
		name string
		text string
		want []string // kind path: message
	}{
		// Objects that are valid.
		{"a TCP idle timeout of 0s", policy(`{"connectionPool": {"tcp": {"maxConnections": 20, "connectTimeout": "3s", "idleTimeout": "0s"}}}`), nil},
		{"DYNAMIC_DNS", se(`{"hosts": ["*.saas.example.com"], "location": "MESH_EXTERNAL", "resolution": "DYNAMIC_DNS", ` + port + `}`), nil},
		{"an empty outlier detection", policy(`{"outlierDetection": {}, "loadBalancer": {"simple": "LEAST_REQUEST", "warmupDurationSecs": "180s"}}`), nil},
		{"local failures without the split", policy(`{"outlierDetection": {"consecutiveLocalOriginFailures": 3}}`), nil},
		{"no ports", se(`{"hosts": ["a"]}`), nil},
		{"nulls", se(`{"hosts": ["a"], "ports": null, "endpoints": null, "resolution": null}`), nil},
		{"a generated name", meta(`{"generateName": "a-"}`), nil},
		{"a status", `{"apiVersion": "networking.istio.io/v1", "kind": "DestinationRule", "metadata": {"name": "a"}, "status": {"x": 1}}`, nil},
		{"an integral float", policy(`{"connectionPool": {"tcp": {"maxConnections": 20.0}}}`), nil},

		// Unknown fields.
		{"a field of the wrong number", se(`{"hosts": ["a"], "address": "240.1.1.1"}`), []string{
			`unknown field spec.address: address is not a field of spec (did you mean addresses?) -> addresses`,
		}},
		{"a required field under a wrong name", se(`{"host": "a"}`), []string{
			`unknown field spec.host: host is not a field of spec (did you mean hosts?) -> hosts`,
		}},
		{"keepAlive", policy(`{"connectionPool": {"tcp": {"keepAlive": {"time": "300s"}}}}`), []string{
			`unknown field spec.trafficPolicy.connectionPool.tcp.keepAlive: keepAlive is not a field of connectionPool.tcp (did you mean tcpKeepalive?) -> tcpKeepalive`,
		}},
		{"a port by name", policy(`{"portLevelSettings": [{"port": {"name": "http"}, "tls": {"mode": "DISABLE"}}]}`), []string{
			`unknown field spec.trafficPolicy.portLevelSettings[0].port.name: name is not a field of portLevelSettings[0].port; a port is selected by its number only`,
		}},
		{"a field one level too high", policy(`{"connectTimeout": "5s"}`), []string{
			`unknown field spec.trafficPolicy.connectTimeout: connectTimeout is not a field of trafficPolicy; it belongs under connectionPool.tcp @ spec.trafficPolicy.connectionPool.tcp.connectTimeout`,
		}},
		{"a field too deep", policy(`{"portLevelSettings": [{"connectionPool": {"outlierDetection": {}}}]}`), []string{
			`unknown field spec.trafficPolicy.portLevelSettings[0].connectionPool.outlierDetection: outlierDetection is not a field of portLevelSettings[0].connectionPool; ` +
				`it belongs under spec.trafficPolicy.portLevelSettings[0] @ spec.trafficPolicy.portLevelSettings[0].outlierDetection`,
		}},
		{"a field of two places", policy(`{"connectionPool": {"idleTimeout": "5s"}}`), []string{
			`unknown field spec.trafficPolicy.connectionPool.idleTimeout: idleTimeout is not a field of trafficPolicy.connectionPool; it belongs under http or tcp`,
		}},
		{"an ambiguous name", policy(`{"connectionPool": {"tcp": {"timeout": "5s"}}}`), []string{
			`unknown field spec.trafficPolicy.connectionPool.tcp.timeout: timeout is not a field of connectionPool.tcp (did you mean connectTimeout or idleTimeout?)`,
		}},
		{"snake case", dr(`{"host": "a", "traffic_policy": {"connection_pool": {}}}`), []string{
			`unknown field spec.traffic_policy: traffic_policy is not a field of spec; Kubernetes only knows it as trafficPolicy -> trafficPolicy (snake case)`,
		}},
		{"wrong capitals", policy(`{"outlierdetection": {}}`), []string{
			`unknown field spec.trafficPolicy.outlierdetection: outlierdetection is not a field of trafficPolicy (did you mean outlierDetection?) -> outlierDetection`,
		}},
		{"a field of the items of a list", dr(`{"host": "a", "labels": {}}`), []string{
			`unknown field spec.labels: labels is not a field of spec; it belongs under metadata or subsets`,
		}},
		{"a field of the items of a list alone", se(`{"hosts": ["a"], "weight": 5}`), []string{
			`unknown field spec.weight: weight is not a field of spec; it belongs under endpoints`,
		}},
		{"a name of early versions", dr(`{"name": "reviews"}`), []string{
			`unknown field spec.name: name is not a field of spec (did you mean host?) -> host`,
		}},
		{"the spec misspelt", `{"apiVersion": "networking.istio.io/v1", "kind": "ServiceEntry", "metadata": {"name": "a"}, "sepc": {"hosts": 1}}`, []string{
			`unknown field sepc: sepc is not a field of the object (did you mean spec?) -> spec`,
		}},
		{"a field outside the spec", `{"apiVersion": "networking.istio.io/v1", "kind": "DestinationRule", "metadata": {"name": "a"}, "spec": {"host": "a"}, "trafficPolicy": {}}`, []string{
			`unknown field trafficPolicy: trafficPolicy is not a field of the object; it belongs under spec @ spec.trafficPolicy`,
		}},
		{"a field of metadata in the spec", dr(`{"host": "a", "annotations": {}}`), []string{
			`unknown field spec.annotations: annotations is not a field of spec; it belongs under metadata @ metadata.annotations`,
		}},
		{"nothing like ours", se(`{"hosts": ["a"], "zebra": [{"hosts": 5}]}`), []string{
			`unknown field spec.zebra: zebra is not a field of spec`,
		}},

		// Types.
		{"numbers for durations", policy(`{"connectionPool": {"tcp": {"connectTimeout": "10"}}, "outlierDetection": {"interval": 30, "baseEjectionTime": "0s"}}`), []string{
			`invalid value spec.trafficPolicy.connectionPool.tcp.connectTimeout: connectTimeout "10" has no unit; a duration such as "10s" is required -> 10s`,
			`invalid value spec.trafficPolicy.outlierDetection.baseEjectionTime: baseEjectionTime "0s" is below the minimum of 1ms`,
			`invalid value spec.trafficPolicy.outlierDetection.interval: interval is the number 30; a duration with a unit such as "30s" is required`,
		}},
		{"a number for a duration that has no rule", policy(`{"connectionPool": {"tcp": {"idleTimeout": 0}}}`), []string{
			`invalid value spec.trafficPolicy.connectionPool.tcp.idleTimeout: idleTimeout is the number 0; a duration with a unit such as "5s" is required`,
		}},
		{"more durations", policy(`{"outlierDetection": {"interval": "-1s", "baseEjectionTime": "1d"}, "connectionPool": {"tcp": {"connectTimeout": ""}, "http": {"idleTimeout": "five"}}}`), []string{
			`invalid value spec.trafficPolicy.connectionPool.http.idleTimeout: idleTimeout "five" is not a duration; a number with a unit (h, m, s, ms, us, ns) such as "5s" or "1m30s" is required`,
			`invalid value spec.trafficPolicy.connectionPool.tcp.connectTimeout: connectTimeout is an empty string; a duration such as "5s" is required`,
			`invalid value spec.trafficPolicy.outlierDetection.baseEjectionTime: baseEjectionTime "1d" has a unit that is none of h, m, s, ms, us and ns`,
			`invalid value spec.trafficPolicy.outlierDetection.interval: interval "-1s" is negative; at least 1ms is required`,
		}},
		{"quoted numbers and bare words", policy(`{"connectionPool": {"tcp": {"maxConnections": "100"}}, "tls": {"mode": "SIMPLE", "sni": true, "insecureSkipVerify": "true", "subjectAltNames": "a"}}`), []string{
			`invalid value spec.trafficPolicy.connectionPool.tcp.maxConnections: maxConnections is the string "100"; an integer is required, without quotes => 100`,
			`invalid value spec.trafficPolicy.tls.insecureSkipVerify: insecureSkipVerify is the string "true"; true or false is required, without quotes => true`,
			`invalid value spec.trafficPolicy.tls.sni: sni is the boolean true; a string is required (without quotes, the words true, false, yes, no, y, n, on and off are booleans)`,
			`invalid value spec.trafficPolicy.tls.subjectAltNames: subjectAltNames is the string "a"; a list of strings is required`,
		}},
		{"mappings and lists", dr(`{"host": {"a": 1}, "trafficPolicy": [{"tls": {"x": 1}}], "subsets": {"name": "a"}, "exportTo": [null, 5]}`), []string{
			`invalid value spec.exportTo[0]: exportTo[0] is empty (null); a string is required`,
			`invalid value spec.exportTo[1]: exportTo[1] is the number 5; a string is required, so put it in quotes: "5" -> 5`,
			`invalid value spec.host: host is a mapping; a string is required`,
			`invalid value spec.subsets: subsets is a mapping; a list of mappings is required`,
			`invalid value spec.trafficPolicy: trafficPolicy is a list; a mapping is required`,
		}},

		// Values.
		{"enums", policy(`{"tls": {"mode": "SIMPEL"}, "loadBalancer": {"simple": "RoundRobin"}, "proxyProtocol": {"version": 1}}`), []string{
			`invalid value spec.trafficPolicy.loadBalancer.simple: simple "RoundRobin" is not one of UNSPECIFIED, LEAST_CONN, RANDOM, PASSTHROUGH, ROUND_ROBIN, LEAST_REQUEST (did you mean ROUND_ROBIN?) -> ROUND_ROBIN`,
			`invalid value spec.trafficPolicy.proxyProtocol.version: version is the number 1; one of V1, V2 is required`,
			`invalid value spec.trafficPolicy.tls.mode: mode "SIMPEL" is not one of DISABLE, SIMPLE, MUTUAL, ISTIO_MUTUAL (did you mean SIMPLE?) -> SIMPLE`,
		}},
		{"ranges", policy(`{"outlierDetection": {"consecutive5xxErrors": -1, "outlierDetectionHttpErrorCodes": [99, 600]}, "connectionPool": {"tcp": {"maxConnections": 3000000000}},
			"loadBalancer": {"warmup": {"duration": "1s", "minimumPercent": 100.5}}}`), []string{
			`invalid value spec.trafficPolicy.connectionPool.tcp.maxConnections: maxConnections 3000000000 does not fit into 32 bits; -2147483648 to 2147483647 is allowed`,
			`invalid value spec.trafficPolicy.loadBalancer.warmup.minimumPercent: minimumPercent 100.5 is above the maximum of 100`,
			`invalid value spec.trafficPolicy.outlierDetection.consecutive5xxErrors: consecutive5xxErrors -1 is below the minimum of 0`,
			`invalid value spec.trafficPolicy.outlierDetection.outlierDetectionHttpErrorCodes[0]: outlierDetectionHttpErrorCodes[0] 99 is below the minimum of 100`,
			`invalid value spec.trafficPolicy.outlierDetection.outlierDetectionHttpErrorCodes[1]: outlierDetectionHttpErrorCodes[1] 600 is above the maximum of 599`,
		}},
		{"lengths", se(`{"hosts": [], "addresses": ["` + strings.Repeat("a", 65) + `"]}`), []string{
			`invalid value spec.addresses[0]: addresses[0] is 65 characters long; at most 64 are allowed`,
			`invalid value spec.hosts: hosts is an empty list; at least 1 item is required`,
		}},
		{"required fields", se(`{"ports": [{"number": 3306, "protocol": "TCP"}, {}]}`), []string{
			`missing field spec.hosts: spec has no hosts, which is required`,
			`missing field spec.ports[0].name: ports[0] has no name, which is required`,
			`missing field spec.ports[1].name: ports[1] has no name, which is required`,
			`missing field spec.ports[1].number: ports[1] has no number, which is required`,
		}},
		{"no spec, where the CRD wants one", `{"apiVersion": "networking.istio.io/v1", "kind": "ServiceEntry", "metadata": {"name": "a"}, "spec": null}`, []string{
			`missing field spec: the object has no spec, which is required`,
		}},
		{"no spec, where the CRD does not", `{"apiVersion": "networking.istio.io/v1", "kind": "DestinationRule", "metadata": {"name": "a"}}`, nil},
		{"fields that exclude each other", policy(`{"loadBalancer": {"simple": "RANDOM", "consistentHash": {"useSourceIp": true, "httpHeaderName": "x", "httpQueryParameterName": "q", "maglev": {}, "ringHash": {}}}}`), []string{
			`invalid value spec.trafficPolicy.loadBalancer: loadBalancer sets both simple and consistentHash; at most one of simple, consistentHash and backendUtilization is allowed`,
			`invalid value spec.trafficPolicy.loadBalancer.consistentHash: consistentHash sets httpHeaderName, useSourceIp and httpQueryParameterName; ` +
				`at most one of httpHeaderName, httpCookie, useSourceIp and httpQueryParameterName is allowed`,
		}},

		// CEL rules.
		{"hosts and ports", se(`{"hosts": ["*"], "ports": [{"number": 0, "name": "a"}, {"number": 80, "name": "a"}, {"number": 80, "name": "b", "targetPort": 70000}]}`), []string{
			`invalid value spec.hosts[0]: hosts[0] "*" stands for every host, which one ServiceEntry cannot describe; a wildcard needs a domain, such as "*.example.com"`,
			`invalid value spec.ports[0].number: number 0 is not a port; 1 to 65535 is allowed`,
			`invalid value spec.ports[1].name: ports[1] name "a" is the one of ports[0]; each needs its own`,
			`invalid value spec.ports[2].number: ports[2] number 80 is the one of an earlier port; each port is listed once`,
			`invalid value spec.ports[2].targetPort: targetPort 70000 is not a port; 1 to 65535 is allowed`,
		}},
		{"a port with a decimal point", se(`{"hosts": ["a"], "ports": [{"number": 80.0, "name": "a"}]}`), []string{
			`invalid value spec.ports[0].number: number is written with a decimal point; an integer from 1 to 65535 is required`,
		}},
		{"endpoints and the resolution", se(`{"hosts": ["a"], "workloadSelector": {"labels": {"app": "*"}}, "endpoints": [{"address": "192.0.2.1"}]}`), []string{
			`invalid value spec.endpoints: endpoints needs a resolution of STATIC, DNS or DNS_ROUND_ROBIN; it is not set, which means NONE, and NONE goes where the client dialled`,
			`invalid value spec.workloadSelector: spec has both a workloadSelector and endpoints; the endpoints come from one of them`,
			`invalid value spec.workloadSelector.labels.app: labels.app "*" holds a *; a selector compares label values as they are`,
		}},
		{"NONE with endpoints", se(`{"hosts": ["a"], "resolution": "NONE", "endpoints": []}`), []string{
			`invalid value spec.endpoints: endpoints cannot be used with resolution NONE, which goes where the client dialled; STATIC, DNS and DNS_ROUND_ROBIN use them`,
		}},
		{"a wrong resolution has no consequences", se(`{"hosts": ["a"], "resolution": "static", "endpoints": [{"address": "192.0.2.1"}], "addresses": ["10.0.0.0/8"]}`), []string{
			`invalid value spec.resolution: resolution "static" is not one of NONE, STATIC, DNS, DNS_ROUND_ROBIN, DYNAMIC_DNS (did you mean STATIC?) -> STATIC`,
		}},
		{"DNS with ranges", se(`{"hosts": ["a"], "resolution": "DNS", "addresses": ["10.0.0.1", "10.0.0.0/8"]}`), []string{
			`invalid value spec.addresses[1]: addresses[1] "10.0.0.0/8" is a range; resolution DNS takes single addresses, NONE and STATIC take ranges`,
		}},
		{"round robin over two", se(`{"hosts": ["a"], "resolution": "DNS_ROUND_ROBIN", "endpoints": [{"address": "a"}, {"address": "b"}]}`), []string{
			`invalid value spec.endpoints: endpoints has 2 items; resolution DNS_ROUND_ROBIN allows one`,
		}},
		{"endpoints", se(`{"hosts": ["a"], "resolution": "STATIC", "endpoints": [{}, {"address": "unix://s/"}, {"address": "unix:///s/", "ports": {"-a": 1, "b": 70000}}]}`), []string{
			`missing field spec.endpoints[0].address: endpoints[0] has neither an address nor a network; one of them is required`,
			`invalid value spec.endpoints[1].address: address "unix://s/" is not an absolute path; unix:// is followed by / or, for an abstract socket, by @`,
			`invalid value spec.endpoints[2].address: address "unix:///s/" ends in / like a directory; a Unix domain socket is a file`,
			`invalid value spec.endpoints[2].ports: endpoints[2] has ports beside the Unix domain socket "unix:///s/", which has none`,
			`invalid value spec.endpoints[2].ports.-a: ports: port name "-a" is not valid; fewer than 63 letters, digits and '-' are allowed, with a letter or digit at both ends`,
			`invalid value spec.endpoints[2].ports.b: ports.b 70000 is not a port; 1 to 65535 is allowed`,
		}},
		{"label selectors", dr(`{"host": "a", "workloadSelector": {"matchLabels": {"": "a", "b*": "c"}}}`), []string{
			`invalid value spec.workloadSelector.matchLabels[""]: matchLabels: a label name is empty`,
			`invalid value spec.workloadSelector.matchLabels.b*: matchLabels: label name "b*" holds a *; a selector compares label names as they are`,
		}},

		// Metadata, apiVersion and kind.
		{"no name", meta(`{"labels": {}}`), []string{`missing field metadata.name: metadata has no name (nor a generateName); a name is required`}},
		{"no metadata", meta(`null`), []string{`missing field metadata.name: metadata has no name (nor a generateName); a name is required`}},
		{"metadata of the wrong type", meta(`[]`), []string{`invalid value metadata: metadata is a list; a mapping is required`}},
		{"booleans for names", meta(`{"name": "a", "namespace": false, "labels": {"on": true, "version": 2}}`), []string{
			`invalid value metadata.labels.on: labels.on is the boolean true; a string is required (without quotes, the words true, false, yes, no, y, n, on and off are booleans)`,
			`invalid value metadata.labels.version: labels.version is the number 2; a string is required, so put it in quotes: "2" -> 2`,
			`invalid value metadata.namespace: namespace is the boolean false; a string is required (without quotes, the words true, false, yes, no, y, n, on and off are booleans)`,
		}},
		{"a name with capitals", meta(`{"name": "My_Entry", "namespace": "a.b"}`), []string{
			`invalid value metadata.name: name "My_Entry" holds 'M'; only lower-case letters, digits, '-' and '.' are allowed -> my-entry`,
			`invalid value metadata.namespace: namespace "a.b" holds '.'; only lower-case letters, digits and '-' are allowed`,
		}},
		{"names with wrong ends", meta(`{"name": "-a", "namespace": "` + strings.Repeat("a", 64) + `"}`), []string{
			`invalid value metadata.name: name "-a" is not a valid name; a letter or digit has to stand at both ends and on both sides of each '.'`,
			`invalid value metadata.namespace: namespace "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"… is 64 characters long; at most 63 are allowed`,
		}},
		{"labels and annotations", meta(`{"name": "a", "labels": {"a b": "x", "c": "-"}, "annotations": {"/": "any text", "ok": "-", "n": 1}}`), []string{
			`invalid value metadata.annotations./: "/" is not a valid name of an annotation; letters, digits, '-', '_' and '.' are allowed, at most 63, after a domain and a '/' or alone`,
			`invalid value metadata.annotations.n: annotations.n is the number 1; a string is required, so put it in quotes: "1" -> 1`,
			`invalid value metadata.labels.a b: "a b" is not a valid name of a label; letters, digits, '-', '_' and '.' are allowed, at most 63, after a domain and a '/' or alone`,
			`invalid value metadata.labels.c: labels.c "-" is not a valid label value; letters, digits, '-', '_' and '.' are allowed, with a letter or digit at both ends, at most 63 in all`,
		}},
		{"times and numbers", meta(`{"name": "a", "creationTimestamp": "today", "generation": -1}`), []string{
			`invalid value metadata.creationTimestamp: creationTimestamp "today" is not a time such as "2026-01-31T12:00:00Z"`,
			`invalid value metadata.generation: generation -1 is below the minimum of 0`,
		}},
		{"owners and finalizers", meta(`{"name": "a", "finalizers": [" "], "ownerReferences": [{"apiVersion": "v1", "kind": "X", "name": "x"}]}`), []string{
			`invalid value metadata.finalizers[0]: finalizers[0] " " is not a valid name of a finalizer, such as example.com/cleanup`,
			`missing field metadata.ownerReferences[0].uid: ownerReferences[0] has no uid, which is required`,
		}},
		{"unknown metadata", meta(`{"name": "a", "label": {}, "hosts": [], "ownerReferences": [{"apiVersion": "v1", "kind": "X", "name": "x", "uid": "u", "owner": true}]}`), []string{
			`unknown field metadata.hosts: hosts is not a field of metadata; it belongs under spec @ spec.hosts`,
			`unknown field metadata.label: label is not a field of metadata (did you mean labels?) -> labels`,
			`unknown field metadata.ownerReferences[0].owner: owner is not a field of metadata.ownerReferences[0]`,
		}},
		{"another version and kind", `{"apiVersion": "networking.istio.io/v2", "kind": "VirtualService", "metadata": {"name": "a"}, "spec": {"hosts": ["a"]}}`, []string{
			`invalid value apiVersion: apiVersion "networking.istio.io/v2" is not served for a ServiceEntry; networking.istio.io/v1, networking.istio.io/v1beta1 and networking.istio.io/v1alpha3 are -> networking.istio.io/v1`,
			`invalid value kind: kind is the string "VirtualService"; ServiceEntry is required`,
		}},
		{"no version and kind", `{"metadata": {"name": "a"}, "spec": {"hosts": ["a"]}}`, []string{
			`missing field apiVersion: the object has no apiVersion; it is one of networking.istio.io/v1, networking.istio.io/v1beta1 or networking.istio.io/v1alpha3`,
			`missing field kind: the object has no kind; ServiceEntry is required`,
		}},
	}
	v := newValidator(t, "")
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			raw := fromJSON(t, tt.text)
			kind := "ServiceEntry"
			if strings.Contains(tt.text, `"DestinationRule"`) {
				kind = "DestinationRule"
			}
			got, err := v.Validate(t.Context(), kind, raw)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, lines(got)); diff != "" {
				t.Errorf("violations (-want +got):\n%s", diff)
			}
			if d := disagreement(t, v, kind, raw); d != "" {
				t.Error(d)
			}
		})
	}
}

// lines writes violations as the tests expect them.
func lines(vs []Violation) []string {
	var out []string
	for _, v := range vs {
		line := fmt.Sprintf("%s %s: %s", v.Kind, v.Path, v.Message)
		if v.Suggestion != "" {
			line += " -> " + v.Suggestion
		}
		if _, text := v.Replacement.(string); text != (v.Kind == InvalidValue && v.Suggestion != "") || text && v.Replacement != v.Suggestion {
			line += fmt.Sprintf(" but %v", v.Replacement)
		} else if v.Replacement != nil && !text {
			line += fmt.Sprintf(" => %v", v.Replacement)
		}
		if v.SnakeCase {
			line += " (snake case)"
		}
		if v.Belongs != nil {
			line += " @ " + v.Belongs.String()
		}
		out = append(out, line)
	}
	return out
}

func TestViolationValues(t *testing.T) {
	v := newValidator(t, "")
	raw := fromJSON(t, policy(`{"tls": {"mode": "X", "sni": "`+strings.Repeat("é", 100)+`"}, "loadBalancer": {"simple": ["`+strings.Repeat("é", 100)+`"]},
		"outlierDetection": {"interval": "`+strings.Repeat("5", 200)+`"}, "tunnel": {"targetHost": "t"}}`))
	got, err := v.Validate(t.Context(), "DestinationRule", raw)
	if err != nil {
		t.Fatal(err)
	}
	want := []Violation{
		{Path: object.Path{"spec", "trafficPolicy", "loadBalancer", "simple"}, Got: "a list", Allowed: []string{"UNSPECIFIED", "LEAST_CONN", "RANDOM", "PASSTHROUGH", "ROUND_ROBIN", "LEAST_REQUEST"}},
		{Path: object.Path{"spec", "trafficPolicy", "outlierDetection", "interval"}, Got: `"` + strings.Repeat("5", 60) + `"…`, Suggestion: ""},
		{Path: object.Path{"spec", "trafficPolicy", "tls", "mode"}, Got: `"X"`, Allowed: []string{"DISABLE", "SIMPLE", "MUTUAL", "ISTIO_MUTUAL"}},
		{Path: object.Path{"spec", "trafficPolicy", "tunnel", "targetPort"}, Kind: MissingField},
	}
	for i := range got {
		if len(got[i].Message) > 400 {
			t.Errorf("message of %d bytes: %s", len(got[i].Message), got[i].Message)
		}
		got[i].Message = ""
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestNewerFields(t *testing.T) {
	const everything = `{
		"outlierDetection": {"failurePercentageThreshold": 85, "outlierDetectionHttpErrorCodes": [500]},
		"tls": {"caCertCredentialName": 5},
		"loadBalancer": {"simple": "RANDOM", "backendUtilization": {"x": 1}, "zoneAwareLbSetting": {}},
		"connectionPool": {"http": {"http2KeepAlive": {"interval": "1s"}}},
		"retryBudget": {"percent": 20, "budgetInterval": "1s"},
		"portLevelSettings": [{"loadBalancer": {"backendUtilization": {}, "consistentHash": {"httpCookie": {"name": "c", "attributes": []}}}}]}`
	newer := func(paths ...string) []string {
		var out []string
		for _, p := range paths {
			out = append(out, "newer field spec.trafficPolicy."+p)
		}
		return out
	}
	tests := []struct {
		version, kind, text string
		want                []string
	}{
		{"1.32", "DestinationRule", policy(`{"outlierDetection": {"failurePercentageThreshold": 85}}`), nil},
		{"1.40", "DestinationRule", policy(`{"outlierDetection": {"failurePercentageThreshold": 85}}`), nil},
		{"1.31.4", "DestinationRule", policy(everything), newer("loadBalancer.backendUtilization", "outlierDetection.failurePercentageThreshold",
			"portLevelSettings[0].loadBalancer.backendUtilization", "tls.caCertCredentialName")},
		{"v1.30", "DestinationRule", policy(everything), newer("connectionPool.http.http2KeepAlive", "loadBalancer.backendUtilization",
			"loadBalancer.zoneAwareLbSetting", "outlierDetection.failurePercentageThreshold", "outlierDetection.outlierDetectionHttpErrorCodes",
			"portLevelSettings[0].loadBalancer.backendUtilization", "retryBudget.budgetInterval", "tls.caCertCredentialName")},
		{"1.24.2", "DestinationRule", policy(`{"retryBudget": {"budgetInterval": "1s"}, "loadBalancer": {"consistentHash": {"httpCookie": {"name": "c", "attributes": []}}}}`),
			newer("loadBalancer.consistentHash.httpCookie.attributes", "retryBudget")},
		{"1.24", "ServiceEntry", se(`{"hosts": ["a"], "resolution": "DYNAMIC_DNS"}`), []string{"newer field spec.resolution"}},
		{"1.25", "ServiceEntry", se(`{"hosts": ["a"], "resolution": "DYNAMIC_DNS"}`), nil},
	}
	for _, tt := range tests {
		v := newValidator(t, tt.version)
		raw := fromJSON(t, tt.text)
		got, err := v.Validate(t.Context(), tt.kind, raw)
		if err != nil {
			t.Fatal(err)
		}
		var paths []string
		for _, x := range got {
			paths = append(paths, x.Kind.String()+" "+x.Path.String())
		}
		if diff := cmp.Diff(tt.want, paths); diff != "" {
			t.Errorf("%s: (-want +got):\n%s", tt.version, diff)
		}
		if valid := v.Valid(tt.kind, Of(raw)); valid != (len(tt.want) == 0) {
			t.Errorf("%s: Valid = %v with %d violations", tt.version, valid, len(tt.want))
		}
	}

	got, err := newValidator(t, "1.24").Validate(t.Context(), "ServiceEntry", fromJSON(t, se(`{"hosts": ["a"], "resolution": "DYNAMIC-DNS"}`)))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{`invalid value spec.resolution: resolution "DYNAMIC-DNS" is not one of NONE, STATIC, DNS, DNS_ROUND_ROBIN`}
	if diff := cmp.Diff(want, lines(got)); diff != "" {
		t.Errorf("a newer value is offered: (-want +got):\n%s", diff)
	}
}

// TestNewerTableIsUsed finds entries that name nothing in the schemas.
func TestNewerTableIsUsed(t *testing.T) {
	for _, e := range istio.Changes() {
		found := false
		k, isCRD := newValidator(t, "1.1").kinds[e.Kind]
		if !isCRD {
			continue
		}
		k.load()
		for i := range k.crd.nodes {
			for _, p := range k.crd.nodes[i].props {
				n := &k.crd.nodes[p.node]
				if p.name != e.In {
					continue
				}
				if e.Value {
					found = found || strings.Contains(strings.Join(n.newerEnum, " "), e.Field)
				} else if j := n.find(e.Field); j >= 0 {
					found = found || n.props[j].newer
				}
			}
		}
		if !found {
			t.Errorf("%s: no %s in %s", e.Kind, e.Field, e.In)
		}
	}
}

func TestNewRefusesVersions(t *testing.T) {
	for _, version := range []string{"latest", "1", "1.x", ".", "0.8", "1.-1", "1.99999999999", " 1.31"} {
		if _, err := New(version); err == nil || !strings.Contains(err.Error(), "version of Istio") {
			t.Errorf("New(%q): %v", version, err)
		}
	}
}

func TestUnknownKind(t *testing.T) {
	v := newValidator(t, "")
	if _, err := v.Validate(t.Context(), "VirtualService", nil); err == nil || !strings.Contains(err.Error(), "DestinationRule and ServiceEntry") {
		t.Errorf("error %v", err)
	}
	if v.Valid("VirtualService", Of(map[string]any{})) {
		t.Error("Valid knows the kind")
	}
	if APIVersion() == "" || len(v.Kinds()) != 2 {
		t.Error(APIVersion(), v.Kinds())
	}
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := newValidator(t, "").Validate(ctx, "ServiceEntry", map[string]any{}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func TestHostileObjects(t *testing.T) {
	deep := any("x")
	for range 100_000 {
		deep = []any{map[string]any{"a": deep}}
	}
	long := strings.Repeat("é", 1<<20)
	many := func(n int, item func(i int) any) []any {
		out := make([]any, n)
		for i := range out {
			out[i] = item(i)
		}
		return out
	}
	wide := map[string]any{}
	for i := range 100_000 {
		wide[fmt.Sprint("k", i)] = int64(i)
	}
	object := func(spec any) map[string]any {
		return map[string]any{"apiVersion": "networking.istio.io/v1", "kind": "ServiceEntry", "metadata": map[string]any{"name": "a"}, "spec": spec}
	}
	tests := []struct {
		name string
		raw  map[string]any
	}{
		{"nil", nil},
		{"empty", map[string]any{}},
		{"deep spec", object(deep)},
		{"deep unknown field", object(map[string]any{"hosts": []any{"a"}, "x": deep})},
		{"deep value", object(map[string]any{"hosts": deep, "ports": []any{deep}, "endpoints": map[string]any{"a": deep}})},
		{"deep metadata", map[string]any{"metadata": map[string]any{"name": deep, "managedFields": []any{map[string]any{"fieldsV1": deep}}, "labels": deep}}},
		{"long strings", object(map[string]any{"hosts": []any{long}, long: long, "resolution": long, "ports": []any{map[string]any{"name": long, "number": long}}})},
		{"long metadata", map[string]any{"kind": long, "apiVersion": long, "metadata": map[string]any{
			"name": long, "namespace": long, "labels": map[string]any{long: long}, "annotations": map[string]any{long: long}, "finalizers": []any{long}}}},
		{"many hosts", object(map[string]any{"hosts": many(200_000, func(int) any { return "*" })})},
		{"many bad ports", object(map[string]any{"hosts": []any{"a"}, "ports": many(100_000, func(i int) any {
			return map[string]any{"name": "a", "number": int64(i % 3)}
		})})},
		{"many good ports", object(map[string]any{"hosts": []any{"a"}, "ports": many(100_000, func(i int) any {
			return map[string]any{"name": fmt.Sprint(i), "number": int64(i + 1)}
		})})},
		{"many items of a wrong type", object(map[string]any{"hosts": many(90_000, func(int) any { return int64(1) })})},
		{"many unknown fields", object(wide)},
		{"many wrong labels", map[string]any{"metadata": map[string]any{"name": "a", "labels": wide, "annotations": wide}}},
		{"values that are not JSON", object(map[string]any{"hosts": []string{"a"}, "ports": 5 + 2i, "endpoints": func() {}, "resolution": []byte("DNS"), "location": struct{}{}})},
	}
	v := newValidator(t, "1.20")
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if v.Valid("ServiceEntry", Of(tt.raw)) {
				t.Error("Valid accepts it")
			}
			got, err := v.Validate(t.Context(), "ServiceEntry", tt.raw)
			if err != nil {
				t.Error(err)
			}
			if len(got) == 0 || len(got) > maxViolations+1 {
				t.Errorf("%d violations", len(got))
			}
			for _, x := range got {
				if len(x.Message) > 2000 || len(x.Got) > 1000 {
					t.Fatalf("%d bytes of message and %d of value", len(x.Message), len(x.Got))
				}
			}
		})
	}
	t.Run("a fault behind more values than the libraries are given", func(t *testing.T) {
		endpoints := many(60_000, func(i int) any { return map[string]any{"address": fmt.Sprintf("10.0.%d.%d", i/256, i%256)} })
		endpoints[59_999] = map[string]any{"address": "10.0.0.1", "weight": "heavy"}
		got, err := v.Validate(t.Context(), "ServiceEntry", object(map[string]any{"hosts": []any{"a.example.com"}, "resolution": "STATIC",
			"ports": []any{map[string]any{"name": "tls", "number": int64(443)}}, "endpoints": endpoints}))
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(got, func(x Violation) bool { return x.Path.String() == "spec.endpoints[59999].weight" }) {
			t.Errorf("the fault is not found: %+v", got)
		}
		for _, x := range got {
			if x.Kind == MissingField {
				t.Errorf("a field is missing only from what the libraries were given: %+v", x)
			}
		}
	})
	t.Run("more violations than are listed", func(t *testing.T) {
		got, err := v.Validate(t.Context(), "ServiceEntry", object(wide))
		if err != nil {
			t.Fatal(err)
		}
		if got[0].Message != "the object has more than 500 violations; the others are not listed" || len(got[0].Path) != 0 {
			t.Errorf("first violation %+v", got[0])
		}
	})
}

// TestConcurrentUse is of use under the race detector.
func TestConcurrentUse(t *testing.T) {
	v := newValidator(t, "")
	v.kinds["DestinationRule"].deciders = nil // so that CEL programs are compiled too
	texts := []string{policy(`{"connectionPool": {"tcp": {"connectTimeout": "5", "keepAlive": {}}}}`), policy(`{"outlierDetection": {"interval": "1s"}}`)}
	var wg sync.WaitGroup
	for i := range 8 {
		raw := fromJSON(t, texts[i%2])
		wg.Go(func() {
			got, err := v.Validate(context.Background(), "DestinationRule", raw)
			if err != nil || len(got) != 2-2*(i%2) {
				t.Error(got, err)
			}
		})
	}
	wg.Wait()
}
