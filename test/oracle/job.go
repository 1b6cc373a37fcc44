package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
)

// Job is one request: what is in the mesh, and the proxy whose configuration is asked for.
type Job struct {
	ID string `json:"id,omitempty"` // handed back in the result
	// Objects are manifests, YAML documents or JSON values one after the other. Kinds of Istio and Services are read, others only
	// named in the result. An object without a namespace is in default; one without a creation time was created at one fixed
	// instant that all such objects share.
	Objects string `json:"objects"`
	Mesh    string `json:"mesh,omitempty"`   // mesh configuration in YAML, over Istio's defaults
	Domain  string `json:"domain,omitempty"` // DNS domain of the cluster; "" is cluster.local
	Proxy   Proxy  `json:"proxy"`
	// Want says which resources to answer with: for each of cds, eds, lds and rds a regular expression on their names, "" for all.
	// A kind that is not there is left out. Without Want all resources are given.
	Want map[string]string `json:"want,omitempty"`
	// ReviewOnly asks for what Istio's validation says of the objects, and compiles nothing: what it refuses can bring Istio down.
	ReviewOnly bool `json:"reviewOnly,omitempty"`
}

// Proxy is whom the configuration is for.
type Proxy struct {
	Type      string `json:"type,omitempty"`      // sidecar, the default, or router
	Namespace string `json:"namespace,omitempty"` // "" is default
	// Labels are those of the workload. Without any, a sidecar has app=app and a router istio=egressgateway.
	Labels   map[string]string `json:"labels,omitempty"`
	Locality string            `json:"locality,omitempty"` // region/zone/subzone
	// DNSCapture says that the proxy answers the workload's DNS queries, as ISTIO_META_DNS_CAPTURE does.
	DNSCapture bool `json:"dnsCapture,omitempty"`
}

// Result is the answer to a Job.
type Result struct {
	ID string `json:"id,omitempty"`
	// Error says why there is no answer: the job is malformed, or Istio's test environment could not be set up with it.
	Error string `json:"error,omitempty"`
	// Panic is what Istio panicked with, and the first function of Istio's on the stack.
	Panic   string   `json:"panic,omitempty"`
	Objects []Review `json:"objects,omitempty"` // objects that Istio or this program has something to say about
	// Resources by name: clusters, endpoints, listeners and routes. Of resources with one name the second and later ones
	// have #2, #3 behind it.
	CDS map[string]json.RawMessage `json:"cds,omitempty"`
	EDS map[string]json.RawMessage `json:"eds,omitempty"`
	LDS map[string]json.RawMessage `json:"lds,omitempty"`
	RDS map[string]json.RawMessage `json:"rds,omitempty"`
	// NACK lists where the resources break the constraints in Envoy's own API, for which Envoy refuses them.
	NACK []string `json:"nack,omitempty"`
}

// Review is what is to be said about one object.
type Review struct {
	Object  string `json:"object"` // kind and name
	Error   string `json:"error,omitempty"`
	Warning string `json:"warning,omitempty"`
	// Unknown names a field that Istio does not know and drops without a word.
	Unknown string `json:"unknown,omitempty"`
	Ignored bool   `json:"ignored,omitempty"` // of a kind that takes no part in the compilation
}

// selection says which resources are wanted.
type selection map[string]*regexp.Regexp

var resourceKinds = [...]string{"cds", "eds", "lds", "rds"}

// check reads the parts of a job that can be wrong without looking at the objects.
func (j *Job) check() (selection, error) {
	if j.Objects == "" {
		return nil, errors.New("objects is empty: nothing to compile")
	}
	switch j.Proxy.Type {
	case "", "sidecar", "router":
	default:
		return nil, fmt.Errorf("proxy.type %q is neither sidecar nor router", j.Proxy.Type)
	}
	sel := selection{}
	if j.Want == nil {
		for _, kind := range resourceKinds {
			sel[kind] = regexp.MustCompile("")
		}
		return sel, nil
	}
	for kind, pattern := range j.Want {
		switch kind {
		case "cds", "eds", "lds", "rds":
		default:
			return nil, fmt.Errorf("want.%s: there are cds, eds, lds and rds", kind)
		}
		re, err := regexp.Compile(pattern)
		if err != nil {
			return nil, fmt.Errorf("want.%s: %w", kind, err)
		}
		sel[kind] = re
	}
	return sel, nil
}

func (s selection) kind(kind string) bool { return s[kind] != nil }

func (s selection) takes(kind, name string) bool { return s[kind] != nil && s[kind].MatchString(name) }
