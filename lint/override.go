package lint

import (
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/meshvet/meshvet/lint/mesh"
	"github.com/meshvet/meshvet/lint/object"
)

// Override is what the configuration says about rules for some objects: those that meet every condition that is given. The items of
// a condition are alternatives.
type Override struct {
	// Paths are globs of the files that the objects stand in, ** included. What comes from a cluster stands in none.
	Paths []string
	// Namespaces are names, in which a star stands for any characters. An object without a namespace is in "".
	Namespaces []string
	// Hosts are names and wildcards as Istio matches them, in any case: one of a ServiceEntry's hosts, or the host of a DestinationRule,
	// which counts as it is written and as Istio completes it.
	Hosts  []string
	Labels labels.Selector // of the object's labels; nil = any
	Rules  map[string]RuleConfig
	At     object.Location // where it is written

	folder string // that Paths are relative to, until all files are read
}

// Layer is what one file of a configuration says about rules. A later one outranks those before it.
type Layer struct {
	Rules     map[string]RuleConfig
	Overrides []Override
}

// layers are the layers of the configuration: those that it inherits, and its own.
func (c *Config) layers() []Layer {
	return append(slices.Clip(c.Inherited), Layer{Rules: c.Rules, Overrides: c.Overrides})
}

// SelectsLabels says whether which rules run on an object depends on its labels.
func (c *Config) SelectsLabels() bool {
	return slices.ContainsFunc(c.layers(), func(l Layer) bool {
		return slices.ContainsFunc(l.Overrides, func(o Override) bool { return o.Labels != nil })
	})
}

// ForgetRules drops what the configuration says about rules, for runs that need none.
func (c *Config) ForgetRules() {
	c.Rules, c.Overrides, c.Inherited, c.Admission, c.Suppressions = nil, nil, nil, Admission{}, SuppressionConfig{}
}

// overrides reads what is said about rules for some objects.
func (r *configReader) overrides(at object.Path, v object.Value) []Override {
	if !r.list(at, v) {
		return nil
	}
	var out []Override
	for i, item := range v.Items() {
		path := at.Child(i)
		known := len(r.problems)
		o := Override{At: r.doc.Locate(path), folder: r.folder}
		conditions := 0
		condition := func(read func(object.Path, object.Value)) func(object.Path, object.Value) {
			return func(at object.Path, v object.Value) {
				conditions++
				read(at, v)
			}
		}
		r.read(path, item, map[string]func(object.Path, object.Value){
			"paths": condition(func(at object.Path, v object.Value) {
				if r.alternatives(at, v) {
					o.Paths = r.globs(at, v, true)
				}
			}),
			"namespaces": condition(func(at object.Path, v object.Value) { o.Namespaces = r.namespaces(at, v) }),
			"hosts":      condition(func(at object.Path, v object.Value) { o.Hosts = r.hosts(at, v) }),
			"labels":     condition(func(at object.Path, v object.Value) { o.Labels = r.objectLabels(at, v) }),
			"rules":      func(at object.Path, v object.Value) { o.Rules = r.rules(at, v) },
		})
		if len(r.problems) == known && item.Set() {
			switch {
			case conditions == 0:
				r.fail(path, "an override takes at least one of paths, namespaces, hosts and labels; what holds for all objects stands under rules")
			case len(o.Rules) == 0:
				r.fail(path, "an override takes rules, which say what is different for these objects")
			}
		}
		out = append(out, o)
	}
	return out
}

// alternatives says whether a value is a list with something in it.
func (r *configReader) alternatives(at object.Path, v object.Value) bool {
	if !r.list(at, v) {
		return false
	}
	if v.Len() == 0 {
		r.fail(at, "%s is empty, so the override is for nothing; leave %s out if all are meant", at, at[len(at)-1])
		return false
	}
	return true
}

// maxNamespaceLength is the most that Kubernetes takes.
const maxNamespaceLength = 63

func (r *configReader) namespaces(at object.Path, v object.Value) []string {
	if !r.alternatives(at, v) {
		return nil
	}
	out := r.strings(at, v)
	for i, name := range out {
		wrong := func(c rune) bool { return (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '*' }
		switch {
		case v.At(i).Type() != object.String:
		case name == "":
			r.fail(at.Child(i), "%s is empty; a namespace is wanted", at.Child(i))
		case strings.ContainsFunc(name, wrong) || len(strings.ReplaceAll(name, "*", "")) > maxNamespaceLength || strings.HasPrefix(name, "-") || strings.HasSuffix(name, "-"):
			r.fail(at.Child(i), "no namespace can be called %q: lower-case letters, digits and - are what Kubernetes takes, and * stands for any of them", name)
		}
	}
	return out
}

// maxHostLength is the most that the API server takes for a host.
const maxHostLength = 253

func (r *configReader) hosts(at object.Path, v object.Value) []string {
	if !r.alternatives(at, v) {
		return nil
	}
	out := r.strings(at, v)
	for i, host := range out {
		switch {
		case v.At(i).Type() != object.String:
		case host == "":
			r.fail(at.Child(i), "%s is empty; a host is wanted", at.Child(i))
		case strings.LastIndexByte(host, '*') > 0:
			r.fail(at.Child(i), "%q matches no host: as in Istio, a star stands only at the beginning, such as *.example.com", host)
		case strings.ContainsFunc(host, func(c rune) bool { return c <= ' ' || c > '~' || strings.ContainsRune("/?[]{}\\,;'\"", c) }), len(host) > maxHostLength:
			r.fail(at.Child(i), "%q matches no host; write names, or wildcards such as *.example.com", host)
		}
		out[i] = strings.ToLower(host)
	}
	return out
}

// objectLabels reads a label selector as Kubernetes has it, or plain labels that are all wanted.
func (r *configReader) objectLabels(at object.Path, v object.Value) labels.Selector {
	known := len(r.problems)
	selector := labels.NewSelector()
	if v.Type() == object.Map && !v.Get("matchLabels").Set() && !v.Get("matchExpressions").Set() {
		selector = r.matchLabels(selector, at, v)
	} else {
		selector = r.selector(at, v)
	}
	switch requirements, _ := selector.Requirements(); {
	case len(r.problems) > known:
	case len(requirements) == 0:
		r.fail(at, "%s is empty, so every object has them; leave labels out, or name some", at)
	case contradict(requirements):
		r.fail(at, "no object can have these labels: they contradict each other")
	}
	return selector
}

// contradict says whether no labels meet all of some requirements.
func contradict(requirements labels.Requirements) bool {
	for _, a := range requirements {
		var possible []string
		switch a.Operator() {
		case selection.In, selection.Equals, selection.DoubleEquals:
			possible = a.ValuesUnsorted()
		case selection.Exists:
		default:
			continue
		}
		for _, b := range requirements {
			if b.Key() != a.Key() {
				continue
			}
			if b.Operator() == selection.DoesNotExist {
				return true
			}
			if possible != nil {
				possible = slices.DeleteFunc(possible, func(value string) bool { return !b.Matches(labels.Set{a.Key(): value}) })
				if len(possible) == 0 {
					return true
				}
			}
		}
	}
	return false
}

// condition is an Override made ready to be asked about objects.
type condition struct {
	*Override
	files fileSet
	hosts []mesh.Host
}

func newCondition(o *Override) condition {
	c := condition{Override: o}
	var globs []string
	for _, g := range o.Paths {
		if g = path.Clean(g); g == "." {
			g = "**"
		}
		globs = append(globs, g)
	}
	c.files = newFileSet(globs)
	for _, h := range o.Hosts {
		c.hosts = append(c.hosts, mesh.Host(h))
	}
	return c
}

// holdsFor says whether an object meets the conditions but that of paths.
func (c *condition) holdsFor(o *object.Object, clusterDomain string) bool {
	return (len(c.Namespaces) == 0 || slices.ContainsFunc(c.Namespaces, func(pattern string) bool { return matchesStars(pattern, o.Namespace) })) &&
		(len(c.hosts) == 0 || slices.ContainsFunc(hostsOf(o, clusterDomain), c.coversHost)) &&
		(c.Labels == nil || c.Labels.Matches(labelsOf(o)))
}

// onlyPaths says whether what no object has decides.
func (c *condition) onlyPaths() bool {
	return len(c.Namespaces) == 0 && len(c.hosts) == 0 && c.Labels == nil
}

func (c *condition) coversHost(host mesh.Host) bool {
	return slices.ContainsFunc(c.hosts, func(pattern mesh.Host) bool { return pattern.Covers(host) })
}

// matchesStars says whether a name fits a pattern in which each star stands for any characters.
func matchesStars(pattern, name string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return pattern == name
	}
	last := len(parts) - 1
	rest, ok := strings.CutPrefix(name, parts[0])
	if !ok {
		return false
	}
	for _, part := range parts[1:last] {
		if _, rest, ok = strings.Cut(rest, part); !ok {
			return false
		}
	}
	return strings.HasSuffix(rest, parts[last])
}

// hostsOf are the hosts that an object is about, in lower case: as they are written, and as Istio completes a short one.
func hostsOf(o *object.Object, clusterDomain string) []mesh.Host {
	var out []mesh.Host
	add := func(v object.Value) {
		if v.Type() != object.String || v.Str() == "" {
			return
		}
		host := strings.ToLower(v.Str())
		out = append(out, mesh.Host(host))
		if full := mesh.QualifyHost(host, o.Namespace, clusterDomain); o.Kind == object.DestinationRule && string(full) != host {
			out = append(out, full)
		}
	}
	switch o.Kind {
	case object.ServiceEntry:
		for _, v := range o.Spec().Get("hosts").Items() {
			add(v)
		}
	case object.DestinationRule:
		add(o.Spec().Get("host"))
	}
	return out
}

func labelsOf(o *object.Object) labels.Set {
	out := labels.Set{}
	for key, v := range o.Lookup(object.Path{"metadata", "labels"}).Fields() {
		if v.Type() == object.String {
			out[key] = v.Str()
		}
	}
	return out
}
