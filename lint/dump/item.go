package dump

import (
	"fmt"
	"slices"
	"strings"
)

// The fields of a section's item that hold its resource, in Envoy's spelling.
var (
	wrapped = []struct {
		field string
		kind  Kind
	}{{"cluster", Cluster}, {"listener", Listener}, {"route_config", Route}, {"endpoint_config", Endpoints}}

	listenerStates = []struct {
		field string
		state State
	}{{"active_state", Active}, {"warming_state", Warming}, {"draining_state", Draining}}

	itemFields = []string{
		"cluster", "listener", "route_config", "endpoint_config",
		"active_state", "warming_state", "draining_state", errorState,
	}
)

const errorState = "error_state"

// item visits what an item of a section or list holds: a resource, a resource with its version and times around it, a listener in
// several states, or nothing where a mask took it away. It returns the kind, which is "" if it cannot be told.
func (r *reader) item(kind Kind, state State, m map[string]any) (Kind, error) {
	name, _ := field(m, "name").(string)
	isWrapped := false
	emit := func(k Kind, s State, body any, reason string) error {
		isWrapped = true
		object, ok := body.(map[string]any)
		wrong := ""
		switch {
		case !ok:
			wrong = fmt.Sprintf("%s was expected, which is an object", k)
		case kind != "" && k != kind && r.section != bareList:
			wrong = fmt.Sprintf("%s was expected, and not %s", kind, k)
		}
		if wrong != "" {
			return r.errorAt(r.start, Syntax, fmt.Sprintf("in %s: %s", r.where(), wrong), "write the dump again, without changes")
		}
		kind = k
		return r.emit(Resource{Kind: k, State: s, Name: nameOf(object, name), Body: object, Reason: reason})
	}
	for _, w := range wrapped {
		if body := field(m, w.field); body != nil {
			if err := emit(w.kind, state, body, ""); err != nil {
				return kind, err
			}
		}
	}
	for _, s := range listenerStates {
		if body := field(object(m, s.field), "listener"); body != nil {
			if err := emit(Listener, s.state, body, ""); err != nil {
				return kind, err
			}
		}
	}
	if failure := object(m, errorState); failure != nil {
		body := object(failure, "failed_configuration")
		k := kind
		if k == "" {
			k = kindOf(body)
		}
		if k != "" {
			if body == nil {
				body = map[string]any{}
			}
			reason, _ := field(failure, "details").(string)
			if err := emit(k, Failed, body, reason); err != nil {
				return kind, err
			}
		}
	}
	if isWrapped {
		return kind, nil
	}
	bare := kindOf(m)
	switch {
	case bare == "" && r.section != bareList:
		return kind, nil
	case bare == "" && name == "":
		return "", nil
	case bare == "":
		bare = kind // it has hardly a field, and is as what came before it in the list
		if bare == "" {
			return "", nil
		}
	}
	return bare, emit(bare, state, m, "")
}

func (r *reader) emit(resource Resource) error {
	r.resources++
	if r.resources > r.limits.Resources {
		return r.bounds(r.start, fmt.Sprintf("holds more than %d resources", r.limits.Resources), "write the kinds that matter into files of their own")
	}
	resource.Line = r.start.line
	r.summary.Counts[resource.Kind]++
	return r.visit(resource)
}

// nameOf is the name of a resource, or what its surroundings call it.
func nameOf(body map[string]any, fallback string) string {
	for _, key := range []string{"name", "cluster_name"} {
		if name, _ := field(body, key).(string); name != "" {
			return name
		}
	}
	return fallback
}

// marks are fields that only resources of a kind have, of those that a bare list may hold. Most kinds come with several of them.
var marks = []struct {
	kind   Kind
	fields []string
}{
	{Endpoints, []string{"cluster_name", "host_statuses", "added_via_api", "observability_name", "eds_service_name"}},
	{Route, []string{"virtual_hosts", "validate_clusters", "ignore_port_in_host_matching", "max_direct_response_body_size_bytes", "vhds"}},
	{Listener, []string{
		"filter_chains", "default_filter_chain", "filter_chain_matcher", "listener_filters", "traffic_direction", "api_listener", "internal_listener",
		"use_original_dst", "bind_to_port",
	}},
	{Cluster, []string{
		"connect_timeout", "lb_policy", "load_assignment", "eds_cluster_config", "cluster_type", "circuit_breakers", "alt_stat_name",
		"transport_socket_matches", "typed_extension_protocol_options", "outlier_detection",
	}},
}

var discoveryTypes = []any{"STATIC", "STRICT_DNS", "LOGICAL_DNS", "EDS", "ORIGINAL_DST"}

// kindOf tells of what kind a resource is by its fields.
func kindOf(m map[string]any) Kind {
	typ, _ := m["@type"].(string)
	switch typ[strings.LastIndexByte(typ, '.')+1:] {
	case "Cluster":
		return Cluster
	case "Listener":
		return Listener
	case "RouteConfiguration":
		return Route
	case "ClusterLoadAssignment":
		return Endpoints
	}
	for _, of := range marks {
		for _, f := range of.fields {
			if field(m, f) != nil {
				return of.kind
			}
		}
	}
	switch {
	case object(m, "address") != nil:
		return Listener
	case slices.Contains(discoveryTypes, m["type"]):
		return Cluster
	}
	return ""
}

// field returns the value of a field that is written as Envoy does or in camel case.
func field(m map[string]any, name string) any {
	if v, ok := m[name]; ok || !strings.Contains(name, "_") {
		return v
	}
	camel := make([]byte, 0, len(name))
	for i := 0; i < len(name); i++ {
		if name[i] == '_' && i+1 < len(name) {
			i++
			camel = append(camel, name[i]-'a'+'A')
			continue
		}
		camel = append(camel, name[i])
	}
	return m[string(camel)]
}

// object returns the value of a field if that is an object, and otherwise nil.
func object(m map[string]any, name string) map[string]any {
	o, _ := field(m, name).(map[string]any)
	return o
}
