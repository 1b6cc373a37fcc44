// Package oracle asks test/oracle, the program that compiles manifests with Istio's own control plane. It runs the program as a
// child process, starts it again when it dies, and speaks its protocol: a JSON object a line each way.
package oracle

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/meshvet/meshvet/lint/envoy"
)

// Job is one request: what is in the mesh, and the proxy whose configuration is asked for.
type Job struct {
	ID string `json:"id,omitempty"` // for messages
	// Objects are manifests, YAML documents or JSON values one after the other. Kinds of Istio and Services count. An object without
	// a namespace is in default; one without a creation time was created at one fixed instant that all such objects share. Hosts
	// without a dot are completed as Istio does it.
	Objects string `json:"objects"`
	Mesh    string `json:"mesh,omitempty"`   // mesh configuration in YAML or JSON, over Istio's defaults
	Domain  string `json:"domain,omitempty"` // DNS domain of the cluster; "" is cluster.local
	Proxy   Proxy  `json:"proxy"`
	// Want says which resources to answer with: for each of CDS, EDS, LDS and RDS a regular expression on their names, "" for all.
	// A kind that is not there is left out. Without Want all resources are given, with an empty Want none.
	Want map[string]string `json:"want"`
	// ReviewOnly asks for what Istio's validation says of the objects, and has nothing compiled.
	ReviewOnly bool `json:"reviewOnly,omitempty"`
}

// The kinds of resources, as in Job.Want.
const (
	CDS = "cds"
	EDS = "eds"
	LDS = "lds"
	RDS = "rds"
)

// Proxy is whom the configuration is for.
type Proxy struct {
	Type      string `json:"type,omitempty"`      // Sidecar, the default, or Router
	Namespace string `json:"namespace,omitempty"` // "" is default
	// Labels are those of the workload. Without any, a sidecar has app=app and a router istio=egressgateway.
	Labels     map[string]string `json:"labels,omitempty"`
	Locality   string            `json:"locality,omitempty"`   // region/zone/subzone
	DNSCapture bool              `json:"dnsCapture,omitempty"` // the proxy answers the workload's DNS queries
}

// The types of proxies.
const (
	Sidecar = "sidecar"
	Router  = "router"
)

// Result is the answer to a Job.
type Result struct {
	ID string `json:"id"`
	// Panic is what Istio panicked with, and the first function of Istio's on the stack. There are no resources then.
	Panic   string   `json:"panic"`
	Objects []Review `json:"objects"` // objects that Istio or the oracle has something to say about
	// Resources by name: clusters, endpoints of EDS clusters, listeners and routes. Of resources with one name the second and later
	// ones have #2, #3 behind it.
	CDS map[string]json.RawMessage `json:"cds"`
	EDS map[string]json.RawMessage `json:"eds"`
	LDS map[string]json.RawMessage `json:"lds"`
	RDS map[string]json.RawMessage `json:"rds"`
	// NACK lists where the resources break the constraints in Envoy's own API, for which Envoy refuses them.
	NACK []string `json:"nack"`
	// Error says why there is no answer. Compile returns it as its error.
	Error string `json:"error"`
}

// Review is what is to be said about one object.
type Review struct {
	Object  string `json:"object"`  // "DestinationRule payments/api"
	Error   string `json:"error"`   // of Istio's validation: its webhook refuses the object
	Warning string `json:"warning"` // of Istio's validation
	Unknown string `json:"unknown"` // a field that Istio does not know and drops without a word
	Ignored bool   `json:"ignored"` // of a kind that takes no part in the compilation
}

// Resource is one resource of a result.
type Resource struct {
	Kind string // "cluster", "endpoints", "listener" or "route"
	Name string // as Envoy has it, such as outbound|443||api.example.com
	JSON json.RawMessage
}

// Resources yields all resources, by kind and name, each under "KIND NAME".
func (r *Result) Resources() iter.Seq2[string, Resource] {
	return func(yield func(string, Resource) bool) {
		for _, group := range []struct {
			kind string
			all  map[string]json.RawMessage
		}{{"cluster", r.CDS}, {"endpoints", r.EDS}, {"listener", r.LDS}, {"route", r.RDS}} {
			for _, name := range slices.Sorted(maps.Keys(group.all)) {
				if !yield(group.kind+" "+name, Resource{group.kind, name, group.all[name]}) {
					return
				}
			}
		}
	}
}

// Leaves flattens the resource, numbers as they are written.
func (r Resource) Leaves() (envoy.Leaves, error) {
	decoder := json.NewDecoder(bytes.NewReader(r.JSON))
	decoder.UseNumber()
	var v any
	if err := decoder.Decode(&v); err != nil {
		return nil, fmt.Errorf("read %s %s: %w", r.Kind, r.Name, err)
	}
	return envoy.Flatten(v), nil
}

// Clusters flattens all clusters, by name.
func (r *Result) Clusters() (map[string]envoy.Leaves, error) {
	out := make(map[string]envoy.Leaves, len(r.CDS))
	for name, text := range r.CDS {
		leaves, err := Resource{"cluster", name, text}.Leaves()
		if err != nil {
			return nil, err
		}
		out[name] = leaves
	}
	return out, nil
}
