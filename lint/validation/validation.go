// Package validation says what Istio's validating webhook refuses of a ServiceEntry or DestinationRule that the schema of its kind lets
// pass, and where. It follows pkg/config/validation of Istio; test/prove holds the two together on mutants of many manifests.
package validation

import (
	"cmp"
	"fmt"
	"net/netip"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/meshvet/meshvet/lint/object"
)

// Refusal is one reason for which Istio refuses an object.
type Refusal struct {
	// Path is the value that is refused. If a field is missing, Missing is its name and Path where it belongs.
	Path    object.Path
	Missing string
	// Message is one sentence without a full stop: what is wrong with which value, and what is wanted instead.
	Message string
	// Sometimes says that Istio comes upon it only if it goes through a mapping in the wrong order, which is random.
	Sometimes bool
}

// Refusals returns why Istio's validation refuses an object, in the order of the manifest; none for kinds that meshvet does not judge. Values
// of a type that the schema does not allow are passed over.
func Refusals(o *object.Object) []Refusal {
	r := &review{object: o, namespace: cmp.Or(o.Namespace, "default")}
	spec := o.Spec()
	if spec.Type() != object.Map {
		return nil
	}
	r.annotations()
	switch o.Kind {
	case object.ServiceEntry:
		r.serviceEntry(spec)
	case object.DestinationRule:
		r.destinationRule(spec)
	default:
		return nil
	}
	return r.found
}

// review walks one object.
type review struct {
	namespace string
	object    *object.Object
	found     []Refusal
}

func (r *review) refuse(at object.Path, format string, args ...any) {
	r.found = append(r.found, Refusal{Path: at, Message: fmt.Sprintf(format, args...)})
}

func (r *review) missing(at object.Path, field, format string, args ...any) {
	r.found = append(r.found, Refusal{Path: at, Missing: field, Message: fmt.Sprintf(format, args...)})
}

// Annotations that are for istiod, or for another kind.
var refusedAnnotations = []struct{ name, why string }{
	{"istio.io/dry-run", "Istio takes it on an AuthorizationPolicy only"},
	{"internal.istio.io/webhook-always-reject", "Istio refuses every object that has it"},
	{"internal.istio.io/parent-namespace", "only istiod may set it"},
	{"internal.istio.io/parents", "only istiod may set it"},
}

func (r *review) annotations() {
	at := object.Path{"metadata", "annotations"}
	for _, a := range refusedAnnotations {
		if r.object.Lookup(at.Child(a.name)).Type() == object.String {
			r.refuse(at.Child(a.name), "annotation %s cannot be set: %s", a.name, a.why)
		}
	}
}

const labelPart = "[a-zA-Z0-9](?:[-a-zA-Z0-9]*[a-zA-Z0-9])?"

var (
	labelKey   = regexp.MustCompile("^(" + labelPart + `(?:\.` + labelPart + ")*/)?((?:[A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$")
	labelValue = regexp.MustCompile("^((?:[A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$")
)

// isLabel says whether a text is one part of a DNS name, as Istio sees it: it takes capitals.
func isLabel(s string) bool {
	if s == "" || len(s) > 63 || s[0] == '-' || s[len(s)-1] == '-' {
		return false
	}
	for _, c := range []byte(s) {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && c != '-' {
			return false
		}
	}
	return true
}

// isWildcardLabel says whether a text is the first part of a wildcard, or of a name: a star, and behind it nothing, a part, or a hyphen
// and a part.
func isWildcardLabel(s string) bool {
	rest, star := strings.CutPrefix(s, "*")
	if !star {
		return isLabel(s)
	}
	return len(s) <= 63 && (rest == "" || isLabel(rest) || isLabel(strings.TrimPrefix(rest, "-")))
}

// hostFault says what is wrong with a host; "" if nothing is. wildcard says that its first part may be or begin with a star.
func hostFault(h string, wildcard bool) string {
	switch {
	case h == "":
		return "is empty"
	case len(h) > 255:
		return fmt.Sprintf("has %d characters, and 255 are the most that a name can have", len(h))
	}
	parts := strings.Split(h, ".")
	if wildcard {
		if !isWildcardLabel(parts[0]) {
			return partFault(parts[0], h)
		}
		if parts = parts[1:]; len(parts) == 0 {
			return ""
		}
	}
	last := parts[len(parts)-1]
	if _, err := strconv.Atoi(last); err == nil && !strings.ContainsAny(h, ":/") {
		return fmt.Sprintf("ends in %s, a number, which no name can; an address belongs under addresses or endpoints", last)
	}
	for i, part := range parts {
		if i == len(parts)-1 && part == "" {
			return "" // a dot at the end
		}
		if !isLabel(part) {
			return partFault(part, h)
		}
	}
	return ""
}

// partFault says what keeps a part from being one of a DNS name.
func partFault(part, h string) string {
	switch {
	case part == "":
		return "has an empty part between its dots"
	case len(part) > 63:
		return fmt.Sprintf("has a part of %d characters, and 63 are the most", len(part))
	case strings.Contains(h, "://"):
		return "is a URL; a host is the name alone"
	case strings.Contains(h, ":"):
		return "holds a colon; ports are listed under ports, not in the host"
	case strings.Contains(h, "/"):
		return "holds a slash; a host is the name alone"
	case strings.Contains(part, "*"):
		return "has a star where none can be: only the first part may be one, or begin with one"
	case strings.Contains(part, "_"):
		return "holds an underscore, which no part of a host can"
	}
	return fmt.Sprintf("has the part %q: parts are of letters, digits and inner hyphens", part)
}

// labelsOf checks labels of endpoints and subsets.
func (r *review) labelsOf(at object.Path, v object.Value) {
	for key, value := range v.Fields() {
		prefix, _, found := strings.Cut(key, "/")
		if isLabel(key) && (value.Type() != object.String || value.Str() == "" || isLabel(value.Str())) {
			continue
		}
		switch m := labelKey.FindStringSubmatch(key); {
		case m == nil:
			r.refuse(at.Child(key), "%q is no name of a label: letters, digits, and -, _ or . between them, with a DNS name and a slash before it if any", key)
		case found && len(prefix) > 253:
			r.refuse(at.Child(key), "the part of label %q before the slash has %d characters, and 253 are the most", object.Abridge(key), len(prefix))
		case len(m[2]) > 63:
			r.refuse(at.Child(key), "label %q has a name of %d characters, and 63 are the most", object.Abridge(key), len(m[2]))
		}
		if value.Type() == object.String && !labelValue.MatchString(value.Str()) {
			r.refuse(at.Child(key), "%q is no value of a label: letters, digits, and -, _ or . between them", value.Str())
		}
	}
}

// selector checks the labels of a workloadSelector.
func (r *review) selector(at object.Path, v object.Value) {
	for key, value := range v.Fields() {
		switch {
		case key == "":
			r.refuse(at.Child(key), "the selector has a label with an empty name")
		case strings.Contains(key, "*") || strings.Contains(value.Str(), "*"):
			r.refuse(at.Child(key), "the selector has the label %s=%s, and labels are compared letter by letter: no star stands for anything", key, value.Str())
		}
	}
}

// duration checks that a duration is of whole milliseconds, one at least. Zero may stand for "off".
func (r *review) duration(at object.Path, v object.Value, zero bool) {
	if v.Type() != object.String {
		return
	}
	d, err := time.ParseDuration(v.Str())
	switch {
	case err != nil:
		r.refuse(at, "%s is %q, which is no duration; a number with a unit is wanted, such as 500ms or 5s", last(at), v.Str())
	case zero && d.Milliseconds() == 0:
	case d < time.Millisecond:
		r.refuse(at, "%s is %s; 1ms is the least", last(at), v.Str())
	case d%time.Millisecond != 0:
		r.refuse(at, "%s is %s, which is no whole number of milliseconds", last(at), v.Str())
	}
}

// notNegative checks a count.
func (r *review) notNegative(at object.Path, v object.Value) {
	if v.Type() == object.Int && v.Int() < 0 {
		r.refuse(at, "%s is %d; it counts something and cannot be negative", last(at), v.Int())
	}
}

func (r *review) percent(at object.Path, v object.Value) {
	if n := v.Int(); v.Type() == object.Int && (n < 0 || n > 100) {
		r.refuse(at, "%s is %d; a percentage from 0 to 100 is wanted", last(at), n)
	}
}

func (r *review) portNumber(at object.Path, v object.Value) {
	if n := v.Int(); v.Type() == object.Int && (n < 1 || n > 65535) {
		r.refuse(at, "%s is %d; ports go from 1 to 65535", last(at), n)
	}
}

// last is the name of the field at a path.
func last(at object.Path) string {
	name, _ := at[len(at)-1].(string)
	return name
}

func isIP(s string) bool {
	_, err := netip.ParseAddr(s)
	return err == nil
}

// addressFault says what is wrong with an address or range of addresses; "" if nothing is.
func addressFault(s string) string {
	if strings.Count(s, "/") == 1 {
		if _, err := netip.ParsePrefix(s); err != nil {
			return "is no range of addresses, such as 192.0.2.0/24"
		}
		return ""
	}
	if !isIP(s) {
		return "is neither an IP address nor a range of them"
	}
	return ""
}

// socketFault says what is wrong with the path of a Unix domain socket; "" if nothing is.
func socketFault(p string) string {
	switch {
	case p == "":
		return "names no socket"
	case strings.HasPrefix(p, "@"):
		return ""
	case !path.IsAbs(p) || strings.HasSuffix(p, "/"):
		return "is no absolute path to a file"
	}
	return ""
}

// exportTo checks the namespaces to which an object is shown. Under withSelector it is a DestinationRule for chosen workloads.
func (r *review) exportTo(at object.Path, v object.Value, entry, withSelector bool) {
	if v.Len() == 0 {
		return
	}
	seen := map[string]bool{}
	for i, item := range v.Items() {
		if item.Type() != object.String {
			continue
		}
		name := item.Str()
		key := name
		if name == "." {
			key = r.namespace
		}
		where := at.Child(i)
		switch {
		case seen[key] && key != name:
			r.refuse(where, "exportTo names the object's own namespace %s twice: once by its name and once by \".\"", key)
		case seen[key]:
			r.refuse(where, "exportTo names %q twice", name)
		case name == "~" && !entry:
			r.refuse(where, "exportTo holds \"~\" (nobody), which Istio takes for a ServiceEntry only")
		case name != "*" && name != "~" && !isLabel(name) && name != ".":
			r.refuse(where, "exportTo holds %q, which is neither a namespace nor \".\" or \"*\"", name)
		}
		seen[key] = true
	}
	own := seen[r.namespace]
	switch several := v.Len() > 1; {
	case seen["*"] && several:
		r.refuse(at, "exportTo holds \"*\" (everybody) beside others (%s); leave one or the other", strings.Join(v.Strings(), ", "))
	case seen["~"] && several:
		r.refuse(at, "exportTo holds \"~\" (nobody) beside others (%s); leave one or the other", strings.Join(v.Strings(), ", "))
	case withSelector && (!own || len(seen) > 1):
		r.refuse(at, "exportTo is %s, and a DestinationRule with a workloadSelector is for workloads of its own namespace only: write \".\" or leave it out", strings.Join(v.Strings(), ", "))
	}
}

// sortedKeys returns the names of the fields of a mapping in alphabetical order.
func sortedKeys(v object.Value) []string {
	var keys []string
	for k := range v.Fields() {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
