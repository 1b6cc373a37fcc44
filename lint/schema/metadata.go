package schema

import (
	"fmt"
	"reflect"
	"strings"
	"time"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/meshvet/meshvet/lint/object"
)

// addTypeMeta puts a root above the one of the CRD that has the fields of every object besides. Its status may be anything: the API
// server drops it from what a user creates. The CRD's own root stays what the schema libraries validate with.
func (c *crd) addTypeMeta(meta nodeID) {
	text := c.add(node{typ: stringType})
	own := c.nodes[c.root]
	own.props = append([]prop{{name: "apiVersion", node: text}, {name: "kind", node: text}, {name: "metadata", node: meta}}, own.props...)
	own.props[own.find("status")].node = c.add(node{nullable: true})
	c.crdRoot, c.root = c.root, c.add(own)
}

// addObjectMeta adds the schema of metadata, read off the Go type that the API server decodes it into.
func (c *crd) addObjectMeta() nodeID {
	meta := c.addGoType(reflect.TypeFor[metav1.ObjectMeta]())
	n := &c.nodes[meta]
	if i := n.find("generation"); i >= 0 {
		generation := c.add(node{typ: integerType, nullable: true, minimum: limit{set: true}})
		c.nodes[meta].props[i].node = generation
	}
	return meta
}

// addGoType adds the schema of what encoding/json decodes into a type. null is accepted anywhere: it leaves the zero value.
func (c *crd) addGoType(t reflect.Type) nodeID {
	n := node{nullable: true}
	switch {
	case t == reflect.TypeFor[metav1.Time]():
		n.typ, n.format = stringType, "date-time"
	case t == reflect.TypeFor[metav1.FieldsV1]():
		// Kept as it is.
	case t.Kind() == reflect.Pointer:
		return c.addGoType(t.Elem())
	case t.Kind() == reflect.String:
		n.typ = stringType
	case t.Kind() == reflect.Bool:
		n.typ = booleanType
	case t.Kind() == reflect.Int64:
		n.typ = integerType
	case t.Kind() == reflect.Slice:
		n.typ, n.items = arrayType, c.addGoType(t.Elem())
	case t.Kind() == reflect.Map:
		n.typ, n.values = objectType, c.addGoType(t.Elem())
	case t.Kind() == reflect.Struct:
		n.typ = objectType
		for f := range t.Fields() {
			if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && name != "-" {
				n.props = append(n.props, prop{name: name, node: c.addGoType(f.Type)})
			}
		}
		sortProps(n.props)
	}
	return c.add(n)
}

func (c *crd) add(n node) nodeID {
	c.nodes = append(c.nodes, n)
	return nodeID(len(c.nodes) - 1)
}

// metadata judges what the API server checks in metadata beyond fields and types, as for an object that is created.
func (w *walker) metadata(root Value) bool {
	meta := get(root, "metadata")
	if meta != nil && meta.Type() != Map {
		return true // a type error, which the walk over the root reports
	}
	good := true
	named := false
	w.pushKey("metadata")
	defer w.pop()
	if meta != nil {
		for f := meta.First(); f != nil; f = f.Next() {
			if f.Type() == Null {
				continue
			}
			w.pushKey(f.Key())
			switch f.Key() {
			case "name", "generateName":
				named = named || f.Type() != String || f.Str() != ""
				good = w.objectName(f, f.Key() == "generateName") && good
			case "namespace":
				good = w.namespace(f) && good
			case "labels":
				good = w.labels(f) && good
			case "annotations":
				good = w.annotations(f) && good
			case "finalizers", "ownerReferences", "managedFields":
				// Rare in what people write, so the rest of it is left to the Kubernetes library.
				if f.First() != nil {
					w.unsureMeta = true
					good = good && !w.quick
				}
				if f.Key() == "finalizers" {
					good = w.finalizers(f) && good
				}
			}
			w.pop()
			if w.stop(good) {
				return false
			}
		}
	}
	if named {
		return good
	}
	if w.quick {
		return false
	}
	w.report(fromMetadata, MissingField, object.Path{"name"}, nil, "metadata has no name (nor a generateName); a name is required")
	return false
}

// objectName judges name or, as the prefix of a name, generateName.
func (w *walker) objectName(v Value, prefix bool) bool {
	if v.Type() != String || v.Str() == "" {
		return true
	}
	name := v.Str()
	if lowerDNS(name, true) || prefix && lowerDNS(strings.TrimSuffix(name, "-"), true) {
		return true
	}
	if w.quick {
		return false
	}
	if len(apivalidation.NameIsDNSSubdomain(name, prefix)) == 0 {
		return true
	}
	f := w.report(fromMetadata, InvalidValue, nil, v, fmt.Sprintf("%s %s %s", w.label(), got(v), misnamed(name, true)))
	f.suggest(validName(name, apivalidation.NameIsDNSSubdomain))
	return false
}

func (w *walker) namespace(v Value) bool {
	if v.Type() != String || v.Str() == "" {
		return true
	}
	name := v.Str()
	if lowerDNS(name, false) {
		return true
	}
	if w.quick {
		return false
	}
	if len(apivalidation.ValidateNamespaceName(name, false)) == 0 {
		return true
	}
	f := w.report(fromMetadata, InvalidValue, nil, v, fmt.Sprintf("%s %s %s", w.label(), got(v), misnamed(name, false)))
	f.suggest(validName(name, apivalidation.ValidateNamespaceName))
	return false
}

// lowerDNS says whether s is short and certainly a DNS label or, with dots, a subdomain. The library decides what it does not accept.
func lowerDNS(s string, dots bool) bool {
	if len(s) > 63 {
		return false
	}
	edge := true // at the start of a label
	for i := range len(s) {
		switch c := s[i]; {
		case c >= 'a' && c <= 'z' || c >= '0' && c <= '9':
			edge = false
		case c == '-' && !edge && i < len(s)-1 && s[i+1] != '.':
		case c == '.' && dots && !edge && i < len(s)-1:
			edge = true
		default:
			return false
		}
	}
	return s != ""
}

// misnamed says why a name is none: it is a DNS subdomain if dots are allowed, a DNS label otherwise.
func misnamed(name string, dots bool) string {
	allowed, most := "lower-case letters, digits and '-'", validation.DNS1123LabelMaxLength
	if dots {
		allowed, most = "lower-case letters, digits, '-' and '.'", validation.DNS1123SubdomainMaxLength
	}
	for _, c := range name {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && (c != '.' || !dots) {
			return fmt.Sprintf("holds %q; only %s are allowed", c, allowed)
		}
	}
	if len(name) > most {
		return fmt.Sprintf("is %d characters long; at most %d are allowed", len(name), most)
	}
	if dots {
		return "is not a valid name; a letter or digit has to stand at both ends and on both sides of each '.'"
	}
	return "is not a valid name; a letter or digit has to stand at both ends"
}

// validName makes a valid name of one that is nearly so: in lower case, '_' for '-'. It returns "" if that does not do.
func validName(name string, check apivalidation.ValidateNameFunc) string {
	if len(name) > 253 {
		return ""
	}
	fixed := strings.ReplaceAll(strings.ToLower(name), "_", "-")
	if fixed == name || len(check(fixed, false)) > 0 {
		return ""
	}
	return fixed
}

func (w *walker) labels(v Value) bool {
	return w.entries(v, func(f Value) bool {
		good := w.qualifiedKey(f, f.Key(), "a label")
		if f.Type() != String {
			return good
		}
		s := f.Str()
		if s == "" || len(s) <= 63 && alphanumeric(s, "-_.") {
			return good
		}
		if w.quick {
			return false
		}
		if len(validation.IsValidLabelValue(s)) > 0 {
			w.report(fromMetadata, InvalidValue, nil, f, fmt.Sprintf(
				"%s %s is not a valid label value; letters, digits, '-', '_' and '.' are allowed, with a letter or digit at both ends, at most 63 in all",
				w.label(), got(f)))
			return false
		}
		return good
	})
}

func (w *walker) annotations(v Value) bool {
	size := 0
	good := w.entries(v, func(f Value) bool {
		size += len(f.Key()) + len(f.Str())
		return w.qualifiedKey(f, strings.ToLower(f.Key()), "an annotation")
	})
	if size <= apivalidation.TotalAnnotationSizeLimitB || v.Type() != Map {
		return good
	}
	return w.tooMany(v, fmt.Sprintf("are %d bytes in all; at most %d are allowed", size, apivalidation.TotalAnnotationSizeLimitB))
}

// entries judges the fields of a mapping with free keys.
func (w *walker) entries(v Value, judge func(Value) bool) bool {
	if v.Type() != Map {
		return true
	}
	good := true
	free := w.free
	w.free = len(w.path)
	for f := v.First(); f != nil && !w.stop(good); f = f.Next() {
		w.pushKey(f.Key())
		good = judge(f) && good
		w.pop()
	}
	w.free = free
	return good
}

// qualifiedKey judges the name of a label or an annotation.
func (w *walker) qualifiedKey(f Value, key, what string) bool {
	prefix, name, found := strings.Cut(key, "/")
	if !found {
		name = key
	}
	if len(name) <= 63 && alphanumeric(name, "-_.") && (!found || lowerDNS(prefix, true)) {
		return true
	}
	if w.quick {
		return false
	}
	if len(validation.IsQualifiedName(key)) == 0 {
		return true
	}
	w.report(fromMetadata, InvalidValue, nil, f, fmt.Sprintf(
		"%s is not a valid name of %s; letters, digits, '-', '_' and '.' are allowed, at most 63, after a domain and a '/' or alone",
		quoted(f.Key()), what))
	return false
}

func (w *walker) finalizers(v Value) bool {
	if w.quick || v.Type() != List {
		return !w.quick
	}
	good := true
	i := 0
	for item := v.First(); item != nil && !w.full(); item = item.Next() {
		if s := item.Str(); item.Type() == Null || item.Type() == String && len(validation.IsQualifiedName(s)) > 0 {
			w.report(fromMetadata, InvalidValue, object.Path{i}, item, fmt.Sprintf(
				"%s %s is not a valid name of a finalizer, such as example.com/cleanup", label(w.path.Child(i), -1), got(item)))
			good = false
		}
		i++
	}
	return good
}

// timestamp judges a time in metadata.
func (w *walker) timestamp(v Value) bool {
	if _, err := time.Parse(time.RFC3339, v.Str()); err == nil {
		return true
	}
	if w.quick {
		return false
	}
	w.report(fromMetadata, InvalidValue, nil, v, fmt.Sprintf(`%s %s is not a time such as "2026-01-31T12:00:00Z"`, w.label(), got(v)))
	return false
}
