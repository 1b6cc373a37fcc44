package lint

import (
	"regexp"
	"strconv"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
	meshconfig "istio.io/api/mesh/v1alpha1"

	"github.com/meshvet/meshvet/lint/object"
)

// meshConfig checks the mesh configuration against Istio's own type for it: one that Istio cannot read says nothing about the mesh.
func (r *configReader) meshConfig(at object.Path, v object.Value) {
	r.message(at, v, (*meshconfig.MeshConfig)(nil).ProtoReflect().Descriptor())
}

// message checks a mapping against a protobuf message, as JSON writes it.
func (r *configReader) message(at object.Path, v object.Value, d protoreflect.MessageDescriptor) {
	fields := map[string]func(object.Path, object.Value){}
	for i := range d.Fields().Len() {
		fd := d.Fields().Get(i)
		read := func(at object.Path, v object.Value) { r.protoField(at, v, fd) }
		fields[fd.JSONName()] = read
		if original := fd.TextName(); v.Get(original).Exists() {
			fields[original] = read
		}
	}
	r.read(at, v, fields)
}

// protoField checks the value of a field.
func (r *configReader) protoField(at object.Path, v object.Value, fd protoreflect.FieldDescriptor) {
	switch {
	case fd.IsMap():
		if r.wants(at, v, "a mapping", v.Type() == object.Map) {
			for key, item := range v.Fields() {
				r.protoValue(at.Child(key), item, fd.MapValue())
			}
		}
	case fd.IsList():
		if r.wants(at, v, "a list", v.Type() == object.List) {
			for i, item := range v.Items() {
				r.protoValue(at.Child(i), item, fd)
			}
		}
	default:
		r.protoValue(at, v, fd)
	}
}

var protoDuration = regexp.MustCompile(`^-?[0-9]+(\.[0-9]{1,9})?s$`)

// protoValue checks one value of a field.
func (r *configReader) protoValue(at object.Path, v object.Value, fd protoreflect.FieldDescriptor) {
	kind := fd.Kind()
	if kind == protoreflect.MessageKind {
		switch d := fd.Message(); d.FullName() {
		case "google.protobuf.Duration":
			r.wants(at, v, "a duration in seconds, such as 1.5s,", v.Type() == object.String && protoDuration.MatchString(v.Str()))
			return
		case "google.protobuf.Struct", "google.protobuf.Any":
			r.wants(at, v, "a mapping", v.Type() == object.Map)
			return
		case "google.protobuf.Value", "google.protobuf.ListValue", "google.protobuf.Timestamp", "google.protobuf.FieldMask":
			return
		default:
			if d.ParentFile().Path() != "google/protobuf/wrappers.proto" {
				r.message(at, v, d)
				return
			}
			kind = d.Fields().ByName("value").Kind() // JSON writes a wrapper as what it wraps
		}
	}
	switch kind {
	case protoreflect.BoolKind:
		r.wants(at, v, "true or false", v.Type() == object.Bool)
	case protoreflect.StringKind, protoreflect.BytesKind:
		r.wants(at, v, "a string", v.Type() == object.String)
	case protoreflect.EnumKind:
		r.enum(at, v, fd.Enum())
	default:
		_, err := strconv.ParseFloat(v.Str(), 64) // JSON may write numbers as strings
		r.wants(at, v, "a number", v.Type() == object.Int || v.Type() == object.Float || v.Type() == object.String && err == nil)
	}
}

func (r *configReader) enum(at object.Path, v object.Value, d protoreflect.EnumDescriptor) {
	if v.Type() == object.Int {
		return
	}
	values := d.Values()
	if v.Type() == object.String && values.ByName(protoreflect.Name(v.Str())) != nil {
		return
	}
	var names []string
	for i := range values.Len() {
		names = append(names, string(values.Get(i).Name()))
	}
	r.fail(at, "%s %q is not one of %s", at, v.Text(), strings.Join(names, ", "))
}

// wants reports a value that is not what is wanted.
func (r *configReader) wants(at object.Path, v object.Value, what string, ok bool) bool {
	switch {
	case ok:
	case v.Len() > 0:
		r.fail(at, "%s is %s; %s is wanted", at, typeName(v), what)
	default:
		r.fail(at, "%s is %s, %s; %s is wanted", at, v.Text(), typeName(v), what)
	}
	return ok
}
