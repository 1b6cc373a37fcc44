package dump

import (
	"context"
	"io"

	"github.com/meshvet/meshvet/lint/envoy"
)

// Kind is what an Envoy resource configures.
type Kind string

// The kinds that are read. Others, such as secrets, are passed over.
const (
	Cluster   Kind = "cluster"
	Listener  Kind = "listener"
	Route     Kind = "route"     // a route configuration
	Endpoints Kind = "endpoints" // of one cluster
)

// State is what Envoy does with a resource.
type State string

// The states. istioctl prints active and static resources alike, which are Active here.
const (
	Active   State = "active"
	Warming  State = "warming"  // not in use yet
	Draining State = "draining" // a listener that only serves the connections it has
	Failed   State = "error"    // refused by Envoy, which keeps what it had before
	Static   State = "static"   // part of the bootstrap
	// Unstated is a cluster of a dump that was limited to one section with ?resource=, which does not say whether the section
	// was that of active or that of warming clusters.
	Unstated State = ""
)

// Resource is one resource in one state.
type Resource struct {
	Kind  Kind
	State State
	Name  string // of the cluster for Endpoints; "" if the dump leaves it out
	// Body is the resource as decoded from JSON, with the field names as they are in the file and numbers as json.Number.
	// Endpoints are a ClusterLoadAssignment, or where the command asked Envoy for /clusters a ClusterStatus, which has the
	// hosts in host_statuses. It is empty for a Failed resource that Envoy does not show.
	Body   map[string]any
	Reason string // why Envoy refused a Failed resource, in its words
	Line   int    // where it begins, with its states and times around it; from 1
}

// Leaves are the scalars of the resource by paths with Envoy's field names.
func (r Resource) Leaves() envoy.Leaves { return envoy.Flatten(r.Body) }

// Summary is what a file holds.
type Summary struct {
	Node Node // zero if the file has no bootstrap
	// Counts are the resources visited. A kind that is absent may be so because the dump does not cover it; see Has.
	Counts map[Kind]int
	// Sections are the lists of resources that were seen, each once, in the order of the file: dynamic_listeners and the
	// like in a dump, and the kind where the file has a bare list.
	Sections []string
	kinds    map[Kind]bool
}

// Has says whether the file covers a kind, even with no resource. A proxy without a single route configuration is
// indistinguishable from a dump without that section, and is not said to have it. Neither is it told whether filters (flags of
// istioctl, ?name_regex= and ?mask= of Envoy) took away some of the resources.
func (s Summary) Has(k Kind) bool { return s.kinds[k] }

// Read reads a file and gives each resource to visit, which may keep it. The name is for messages.
//
// Reading ends at the first error of visit, which is returned as it is, at the first mistake in the file, which is an *Error, or
// when the context ends or reading fails, whose error is wrapped. What has been visited until then is what the file began with:
// a caller that needs all of it must wait for the end. The Summary is of what has been read, with an error too.
func Read(ctx context.Context, name string, in io.Reader, limits Limits, visit func(Resource) error) (Summary, error) {
	r := &reader{scanner: newScanner(ctx, name, in, limits.WithDefaults()), visit: visit}
	r.where = r.place
	r.summary.Counts, r.summary.kinds = map[Kind]int{}, map[Kind]bool{}
	err := r.file()
	return r.summary, err
}
