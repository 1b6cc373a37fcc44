package dump

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/meshvet/meshvet/lint/envoy"
)

type reader struct {
	*scanner
	visit     func(Resource) error
	summary   Summary
	resources int

	section string // in which the scanner is
	index   int    // of the item in it, or -1
}

// place says where the scanner is.
func (r *reader) place() string {
	switch {
	case r.section == "":
		return "the JSON"
	case r.index < 0:
		return r.section
	}
	return fmt.Sprintf("%s, item %d", r.section, r.index+1)
}

// clusterStatuses is the list of /clusters?format=json. Its items have nothing around them.
const clusterStatuses = "cluster_statuses"

// sections are the lists of a dump, in Envoy's spelling.
var sections = map[string]struct {
	kind  Kind
	state State
}{
	"static_clusters":          {Cluster, Static},
	"dynamic_active_clusters":  {Cluster, Active},
	"dynamic_warming_clusters": {Cluster, Warming},
	"static_listeners":         {Listener, Static},
	"dynamic_listeners":        {Listener, Unstated}, // each item has its states
	"static_route_configs":     {Route, Static},
	"dynamic_route_configs":    {Route, Active},
	"static_endpoint_configs":  {Endpoints, Static},
	"dynamic_endpoint_configs": {Endpoints, Active},
	clusterStatuses:            {Endpoints, Active},
	// Of envoy/admin/v2alpha, until dynamic_listeners came.
	"dynamic_active_listeners":   {Listener, Active},
	"dynamic_warming_listeners":  {Listener, Warming},
	"dynamic_draining_listeners": {Listener, Draining},
}

// file reads the values of the file, which are one or several after each other.
func (r *reader) file() error {
	if err := r.prime(); err != nil {
		return err
	}
	read, empty := false, position{}
	for {
		r.section, r.index = "", -1
		if !r.passMark() {
			return r.notJSON(read || empty.line > 0)
		}
		c, err := r.token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		at := r.here()
		switch c {
		case '{':
			read = true
			err = r.outerObject(at)
		case '[':
			var filled bool
			filled, err = r.outerList()
			read = read || filled
			if !filled && empty.line == 0 {
				empty = at
			}
		default:
			err = r.notJSON(read || empty.line > 0)
		}
		if err != nil {
			return err
		}
	}
	switch {
	case read:
		return nil
	case empty.line > 0:
		return r.errorAt(empty, NotDump, "holds an empty list, which does not say of what", "ask for more: there was nothing that the flags of its command ask for")
	}
	return r.errorAt(r.here(), Empty, "is empty", "look at what the command that should have written it said")
}

// outerObject reads a dump, or a section or a bootstrap on its own.
func (r *reader) outerObject(at position) error {
	known := false
	var others []string
	err := r.object(true, func(name string) error {
		name = envoy.Name(name)
		switch {
		case name == "configs":
			known = true
			return r.listOrNull(name, r.config)
		case name == "bootstrap":
			known = true
			return r.bootstrap()
		case sections[name].kind != "":
			known = true
			return r.items(name)
		}
		if len(others) < namesInMessage {
			others = append(others, strings.Clone(name[:min(len(name), nameBytesKept)]))
		}
		return r.skip()
	})
	if err != nil || known {
		return err
	}
	return r.errorAt(at, NotDump, "holds "+foreign(others), shapes)
}

// namesInMessage is how many field names a message repeats.
const namesInMessage = 5

// foreign describes an object that is no dump by its fields.
func foreign(names []string) string {
	has := func(name string) bool { return slices.Contains(names, name) }
	switch {
	case len(names) == 0:
		return "an empty object"
	case has("api_version") && has("kind"):
		return "a Kubernetes object and no dump"
	case has("workloads") && (has("services") || has("policies")):
		return "a dump of ztunnel, which is not Envoy"
	case has("dynamic_active_secrets") || has("dynamic_warming_secrets") || has("static_secrets"):
		return "secrets only, and nothing that is read"
	}
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = excerpt(n)
	}
	return "a JSON object that is no dump (its fields: " + strings.Join(quoted, ", ") + ")"
}

// listOrNull reads the items of a list as those of a section. The list may be null.
func (r *reader) listOrNull(section string, item func() error) error {
	outer, index := r.section, r.index
	r.section, r.index = section, -1
	defer func() { r.section, r.index = outer, index }()
	c, err := r.inside()
	if err != nil {
		return err
	}
	if c == 'n' {
		return r.skip()
	}
	return r.list(func(i int) error {
		r.index = i
		return item()
	})
}

// items reads a section.
func (r *reader) items(section string) error {
	of := sections[section]
	r.saw(of.kind, section)
	return r.listOrNull(section, func() error {
		m, err := r.resource()
		if err != nil {
			return err
		}
		if section == clusterStatuses {
			return r.emit(Resource{Kind: of.kind, State: of.state, Name: nameOf(m, ""), Body: m})
		}
		_, err = r.item(of.kind, of.state, m)
		return err
	})
}

func (r *reader) saw(k Kind, section string) {
	r.summary.kinds[k] = true
	if section != "" && !slices.Contains(r.summary.Sections, section) {
		r.summary.Sections = append(r.summary.Sections, section)
	}
}

// config reads one of the configs of a dump: sections, or with ?resource= an item of a section.
func (r *reader) config() error {
	typ, fields, held := "", 0, false
	item := map[string]any{}
	err := r.object(true, func(name string) error {
		if name == "@type" {
			return r.text(&typ)
		}
		fields++
		switch name = envoy.Name(name); {
		case sections[name].kind != "":
			return r.items(name)
		case name == "bootstrap":
			return r.bootstrap()
		case name == "name":
			var text string
			err := r.text(&text)
			item[name] = text
			return err
		case slices.Contains(itemFields, name):
			if _, _, isItem := ofType(typ); typ != "" && !isItem {
				return r.skip() // of something else that happens to have such a field
			}
			value, err := r.resource()
			item[name], held = value, true
			return err
		}
		return r.skip()
	})
	if err != nil || fields == 0 {
		return err
	}
	kind, state, _ := ofType(typ)
	if held {
		if kind, err = r.item(kind, state, item); err != nil {
			return err
		}
	}
	if kind != "" {
		// A section without resources lacks the field of its list, but has a version.
		r.saw(kind, "")
	}
	return nil
}

// ofType tells the kind and state of a part of a dump by the name of its type, such as
// type.googleapis.com/envoy.admin.v3.ClustersConfigDump.StaticCluster, which is an item of a section.
func ofType(typ string) (kind Kind, state State, isItem bool) {
	for _, of := range []struct {
		message string
		kind    Kind
		dynamic State
	}{
		{".ClustersConfigDump", Cluster, Unstated},
		{".ListenersConfigDump", Listener, Active},
		{".RoutesConfigDump", Route, Active},
		{".EndpointsConfigDump", Endpoints, Active},
	} {
		_, item, ok := strings.Cut(typ, of.message)
		if !ok {
			continue
		}
		if strings.HasPrefix(item, ".Static") {
			return of.kind, Static, true
		}
		return of.kind, of.dynamic, item != ""
	}
	return "", Unstated, false
}

// bareList is the place of the items of what istioctl prints of one kind.
const bareList = "the list"

// outerList reads what istioctl prints of one kind. It returns false for an empty list.
func (r *reader) outerList() (filled bool, err error) {
	var last Kind
	err = r.list(func(i int) error {
		r.section, r.index, filled = bareList, i, true
		m, err := r.resource()
		if err != nil {
			return err
		}
		kind, err := r.item(last, Active, m)
		if err != nil {
			return err
		}
		if kind == "" {
			return r.errorAt(r.start, NotDump, fmt.Sprintf("holds a list whose item %d is no cluster, listener, route configuration or "+
				"endpoints", i+1), shapes)
		}
		r.saw(kind, string(kind))
		last = kind
		return nil
	})
	return filled, err
}

// text reads a string; a value of another type counts as none.
func (r *reader) text(into *string) error {
	c, err := r.inside()
	if err != nil {
		return err
	}
	if c != '"' {
		return r.skip()
	}
	r.pos++
	raw, err := r.str(true)
	*into = string(raw)
	return err
}
