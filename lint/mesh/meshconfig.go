package mesh

import (
	"strings"

	"github.com/meshvet/meshvet/lint/object"
)

// FindMeshConfig looks for the mesh configuration among objects: the ConfigMap istio, or istio-REVISION, of the root namespace
// (istio-system if root is ""), whose data.mesh is YAML. It returns an absent value if there is none, or if its text does not
// parse. source names the ConfigMap and its file.
func FindMeshConfig(objects []*object.Object, root string) (config object.Value, source string) {
	if root == "" {
		root = "istio-system"
	}
	for _, o := range objects {
		if o.Kind != object.ConfigMap || NamespaceOf(o) != root {
			continue
		}
		text := o.Root().At("data", "mesh").Str()
		if strings.TrimSpace(text) == "" {
			continue
		}
		name := "ConfigMap " + root + "/" + o.Name
		doc, problem := object.ParseDocument(name, []byte(text), object.Limits{})
		if problem != nil || doc.Root().Type() != object.Map {
			continue
		}
		return doc.Root(), o.Locate(object.Path{"data", "mesh"}).String()
	}
	return object.Value{}, ""
}
