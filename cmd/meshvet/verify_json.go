package main

import (
	"encoding/json"
	"io"
	"maps"
	"slices"

	"github.com/meshvet/meshvet/lint/dump"
	"github.com/meshvet/meshvet/lint/effective"
	"github.com/meshvet/meshvet/lint/mesh"
	"github.com/meshvet/meshvet/lint/report"
)

// verifyVersion is the version of the JSON report of verify. It changes when a script that relies on the schema could break.
const verifyVersion = "1"

// The types below are the JSON report of verify, field for field; verifySchema describes it. Lists are never null.
type (
	jsonVerify struct {
		Version         string               `json:"version"`
		Proxy           jsonProxy            `json:"proxy"`
		Scope           string               `json:"scope"`
		Differences     []jsonDifference     `json:"differences"`
		LeftOut         int                  `json:"leftOut"`
		Missing         []jsonMissing        `json:"missing"`
		Unexpected      []jsonUnexpected     `json:"unexpected"`
		Refused         []jsonRefused        `json:"refused"`
		Waiting         []string             `json:"waiting"`
		WithoutManifest jsonWithoutManifest  `json:"withoutManifest"`
		Hints           []string             `json:"hints"`
		Notices         []string             `json:"notices"`
		Compared        jsonVerifyComparison `json:"compared"`
	}
	jsonProxy struct {
		Type         effective.ProxyType `json:"type"`
		Namespace    string              `json:"namespace"`
		Labels       map[string]string   `json:"labels"`
		Node         string              `json:"node"`
		IstioVersion string              `json:"istioVersion"`
	}
	jsonDifference struct {
		Cluster   string      `json:"cluster"`
		In        string      `json:"in"`
		Envoy     string      `json:"envoy"`
		Predicted *string     `json:"predicted"`
		Actual    *string     `json:"actual"`
		Field     string      `json:"field"`
		Source    *jsonSource `json:"source"`
	}
	jsonSource struct {
		Kind   effective.OriginKind `json:"kind"`
		Object string               `json:"object"`
		Path   string               `json:"path"`
		File   string               `json:"file"`
		Line   int                  `json:"line"`
	}
	jsonMissing struct {
		Cluster string `json:"cluster"`
		Object  string `json:"object"`
		File    string `json:"file"`
		Line    int    `json:"line"`
		Why     string `json:"why"`
		Hidden  bool   `json:"hidden"`
	}
	jsonUnexpected struct {
		Cluster string `json:"cluster"`
		Why     string `json:"why"`
		Excused bool   `json:"excused"`
	}
	jsonRefused struct {
		Kind   dump.Kind `json:"kind"`
		Name   string    `json:"name"`
		Reason string    `json:"reason"`
	}
	jsonWithoutManifest struct {
		Clusters int         `json:"clusters"`
		Hosts    []mesh.Host `json:"hosts"`
	}
	jsonVerifyComparison struct {
		Clusters    int `json:"clusters"`
		Differing   int `json:"differing"`
		TCPProxies  int `json:"tcpProxies"`
		Routes      int `json:"routes"`
		Values      int `json:"values"`
		Unpredicted int `json:"unpredicted"`
	}
)

func writeVerifyJSON(w io.Writer, r *verifyResult) error {
	c := r.Counts
	out := jsonVerify{
		Version: verifyVersion,
		Proxy:   jsonProxy{r.Proxy.Type, r.Proxy.Namespace, r.Proxy.Labels, r.node.ID, r.node.IstioVersion},
		Scope:   r.scope, Differences: []jsonDifference{}, LeftOut: r.LeftOut,
		Missing: []jsonMissing{}, Unexpected: []jsonUnexpected{}, Refused: []jsonRefused{},
		Waiting: listOf(r.Waiting), WithoutManifest: jsonWithoutManifest{r.ClustersWithout, listOf(r.WithoutManifest)},
		Hints: listOf(r.hints), Notices: listOf(r.notices),
		Compared: jsonVerifyComparison{c.Clusters, c.Differing, c.TCPProxies, c.Routes, c.Leaves, c.Unpredicted},
	}
	if out.Proxy.Labels == nil {
		out.Proxy.Labels = map[string]string{}
	}
	for _, d := range r.Differences {
		j := jsonDifference{Cluster: d.Cluster, In: d.In, Envoy: d.Path, Predicted: present(d.Predicted), Actual: present(d.Actual)}
		if d.Setting != nil {
			j.Field, j.Source = d.Setting.Field, sourceOf(d.Setting.Origin)
		}
		out.Differences = append(out.Differences, j)
	}
	for _, m := range r.Missing {
		at := m.Target.Locate(nil)
		out.Missing = append(out.Missing, jsonMissing{m.Cluster, m.Target.Key.String(), at.File, at.Range.Start.Line, m.Why, m.Excused})
	}
	for _, u := range r.Unexpected {
		out.Unexpected = append(out.Unexpected, jsonUnexpected(u))
	}
	for _, f := range r.Refused {
		out.Refused = append(out.Refused, jsonRefused(f))
	}
	return report.WriteJSON(w, out)
}

func listOf[T any](list []T) []T { return append([]T{}, list...) }

// present is nil for the value of a leaf that is missing.
func present(v string) *string {
	if v == "" {
		return nil
	}
	return &v
}

func sourceOf(o effective.Origin) *jsonSource {
	s := &jsonSource{Kind: o.Kind, Path: o.Path.String()}
	if o.Object != nil {
		s.Object = o.Object.Key.String()
	}
	if at, ok := o.Location(); ok {
		s.File, s.Line = at.File, at.Range.Start.Line
	}
	return s
}

// writeVerifySchema writes the JSON Schema of the report of verify. A test holds the reports to it.
func writeVerifySchema(w io.Writer) error {
	text := func(doc string) schema { return describe(schema{"type": "string"}, doc) }
	number := func(doc string) schema { return describe(schema{"type": "integer", "minimum": 0}, doc) }
	yesNo := func(doc string) schema { return describe(schema{"type": "boolean"}, doc) }
	maybe := func(doc string) schema { return describe(schema{"type": []string{"string", "null"}}, doc) }
	whole := func(doc string, properties schema) schema {
		m := mapping(doc, properties)
		return required(m, slices.Sorted(maps.Keys(properties))...)
	}
	list := func(doc string, item schema) schema { return describe(schema{"type": "array", "items": item}, doc) }
	cluster := text("The cluster, under Istio's name.")
	source := whole("Where the predicted value comes from; null if nothing sets it.", schema{
		"kind":   schema{"enum": []effective.OriginKind{effective.FromObject, effective.FromMesh, effective.FromIstio, effective.FromEnvoy}},
		"object": text("The object with the field, \"\" for defaults and meshConfig."),
		"path":   text("The field, in the object or in meshConfig."),
		"file":   text("The file of the object."),
		"line":   number("The line of the field, from 1; 0 without a file."),
	})
	source["type"] = []string{"object", "null"}
	root := whole("", schema{
		"version": schema{"description": "The version of this format. It changes when a script that relies on this schema could break.", "const": verifyVersion},
		"proxy": whole("The proxy that was compared.", schema{
			"type":         schema{"enum": []effective.ProxyType{effective.Sidecar, effective.Gateway}},
			"namespace":    text(""),
			"labels":       schema{"type": "object", "additionalProperties": schema{"type": "string"}},
			"node":         text("Its ID in Envoy's bootstrap, \"\" if the dump has none."),
			"istioVersion": text("Its release of Istio, \"\" if the dump does not say."),
		}),
		"scope": text("The mesh scope that it was compared with."),
		"differences": list("Values that differ, in the order of hosts.", whole("", schema{
			"cluster":   cluster,
			"in":        text("What has the value: cluster, or listener or route with its name."),
			"envoy":     text("The path of the value in Envoy's configuration."),
			"predicted": maybe("The value that Istio should compile; null if none."),
			"actual":    maybe("The value that Envoy has; null if none."),
			"field":     text("The field of the manifests that decides, \"\" if none does."),
			"source":    source,
		})),
		"leftOut": number("How many more differences, missing and unexpected clusters there are at least than the report lists."),
		"missing": list("Predicted clusters that the dump does not have.", whole("", schema{
			"cluster": cluster,
			"object":  text("The object that defines the host."),
			"file":    text("Its file."),
			"line":    number("Where it begins."),
			"why":     text("What may be the reason."),
			"hidden":  yesNo("A Sidecar resource hides the host, so that this is no difference."),
		})),
		"unexpected": list("Clusters of hosts in view that Istio should not compile.", whole("", schema{
			"cluster": cluster,
			"why":     text("Why not."),
			"excused": yesNo("What is out of view may be the reason, so that this is no difference."),
		})),
		"refused": list("What Envoy did not take.", whole("", schema{
			"kind":   text("The kind of resource."),
			"name":   text("Its name."),
			"reason": text("Envoy's reason."),
		})),
		"waiting": list("Clusters that Envoy is warming. They are not compared.", schema{"type": "string"}),
		"withoutManifest": whole("Clusters of hosts that no manifest defines. They are no difference.", schema{
			"clusters": number("How many there are."),
			"hosts":    list("Their hosts, at most 10,000.", schema{"type": "string"}),
		}),
		"hints":   list("What may explain the differences.", schema{"type": "string"}),
		"notices": list("What was not compared or is not known.", schema{"type": "string"}),
		"compared": whole("How much was compared.", schema{
			"clusters":    number("Clusters of hosts in view."),
			"differing":   number("How many of them differ."),
			"tcpProxies":  number("Filters of listeners."),
			"routes":      number("Routes, of which the retries are compared."),
			"values":      number("Values in all of them, absent ones included."),
			"unpredicted": number("Clusters and filters about which nothing can be said."),
		}),
	})
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["$id"] = "https://raw.githubusercontent.com/meshvet/meshvet/main/schemas/verify.schema.json"
	root["title"] = "meshvet verify"
	root["description"] = "What `meshvet verify --format json` writes. Every field is always there; lists are never null."
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(root)
}
