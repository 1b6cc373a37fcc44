package effective

import (
	"fmt"

	"github.com/meshvet/meshvet/lint/object"
)

// OriginKind says who decides a value.
type OriginKind string

// The kinds of origin.
const (
	FromObject OriginKind = "written"       // a field of an object
	FromMesh   OriginKind = "mesh"          // meshConfig
	FromIstio  OriginKind = "istio-default" // Istio writes it though nobody asked for it
	FromEnvoy  OriginKind = "envoy-default" // Istio writes nothing, so Envoy's own default holds
)

// Origin is where a value comes from.
type Origin struct {
	Kind   OriginKind
	Object *object.Object // of FromObject
	Path   object.Path    // in the object, or in meshConfig; of the field that decides, written or missing
	Mesh   string         // of FromMesh: where meshConfig stands, "" if that is not known
}

// Location is where the deciding field stands in its file; ok is false if no file says it.
func (o Origin) Location() (at object.Location, ok bool) {
	if o.Kind != FromObject || o.Object == nil || o.Object.File() == nil {
		return object.Location{}, false
	}
	return o.Object.Locate(o.Path), true
}

// Text names the origin for a person: file and line, meshConfig and the field, or whose default it is.
func (o Origin) Text() string {
	switch o.Kind {
	case FromObject:
		if at, ok := o.Location(); ok {
			return fmt.Sprintf("%s:%d", at.File, at.Range.Start.Line)
		}
		return fmt.Sprintf("%s %s", o.Object, o.Path)
	case FromMesh:
		if o.Mesh != "" {
			return fmt.Sprintf("meshConfig.%s (%s)", o.Path, o.Mesh)
		}
		return "meshConfig." + o.Path.String()
	case FromIstio:
		return "Istio's default"
	}
	return "Envoy's default"
}

// besides names the origin to a reader who is at another: of the same file only the line.
func (o Origin) besides(other Origin) string {
	at, ok := o.Location()
	if there, both := other.Location(); ok && both && at.File == there.File {
		return fmt.Sprintf("line %d", at.Range.Start.Line)
	}
	return o.Text()
}

// at is the origin of a field below a block, wherever the block stands.
func (s Source) at(path ...any) Origin {
	if s.Object == nil {
		return Origin{Kind: FromMesh, Path: s.Path.Child(path...), Mesh: s.mesh}
	}
	return Origin{Kind: FromObject, Object: s.Object, Path: s.Path.Child(path...)}
}

// fromMesh is the origin of what a field of meshConfig decides.
func (p *Policy) fromMesh(path ...any) Origin {
	return Origin{Kind: FromMesh, Path: object.Path{}.Child(path...), Mesh: p.meshAt}
}

var (
	byIstio = Origin{Kind: FromIstio}
	byEnvoy = Origin{Kind: FromEnvoy}
)
