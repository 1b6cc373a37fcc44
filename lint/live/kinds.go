package live

import (
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/meshvet/meshvet/lint/object"
)

// ReadKind is a kind of object that is read of a cluster, to know the mesh.
type ReadKind struct {
	Kind     object.Kind
	Group    string // "" is the core group
	Resource string // as RBAC and discovery name it: lower case, plural
	// Optional kinds are those of CustomResourceDefinitions that a mesh may well do without. A cluster that does not serve one is
	// a cluster that has no objects of it.
	Optional bool
}

// Kinds is all that is read in every namespace: by the webhook, whose rights follow from it, and by Read. The ConfigMap with the mesh
// configuration is not of it: that is read by name, in the root namespace only.
func Kinds() []ReadKind {
	const istio, gatewayAPI = object.IstioGroup, "gateway.networking.k8s.io"
	return []ReadKind{
		{Kind: object.ServiceEntry, Group: istio, Resource: "serviceentries"},
		{Kind: object.DestinationRule, Group: istio, Resource: "destinationrules"},
		{Kind: object.VirtualService, Group: istio, Resource: "virtualservices"},
		{Kind: object.Gateway, Group: istio, Resource: "gateways"},
		{Kind: object.Sidecar, Group: istio, Resource: "sidecars"},
		{Kind: object.WorkloadEntry, Group: istio, Resource: "workloadentries"},
		{Kind: object.EnvoyFilter, Group: istio, Resource: "envoyfilters", Optional: true},
		{Kind: object.Service, Resource: "services"},
		{Kind: object.Namespace, Resource: "namespaces"},
		{Kind: object.HTTPRoute, Group: gatewayAPI, Resource: "httproutes", Optional: true},
		{Kind: object.BackendTLSPolicy, Group: gatewayAPI, Resource: "backendtlspolicies", Optional: true},
	}
}

// configMaps is the kind of the mesh configuration.
func configMaps() ReadKind { return ReadKind{Kind: object.ConfigMap, Resource: "configmaps"} }

// Versions are the API versions that are asked for, the best first.
func Versions() []string { return []string{"v1", "v1beta1", "v1alpha3"} }

// String is the resource with its group, as kubectl takes it: serviceentries.networking.istio.io.
func (k ReadKind) String() string {
	return schema.GroupResource{Group: k.Group, Resource: k.Resource}.String()
}

// Discovery tells which resources an API server has of a group and version.
type Discovery interface {
	// ServerResourcesForGroupVersion returns the resources of a group and version; the error is NotFound if it is not served.
	ServerResourcesForGroupVersion(groupVersion string) (*metav1.APIResourceList, error)
}

// Served finds the best version of the kind that the API server has; none is no error.
func (k ReadKind) Served(d Discovery) (schema.GroupVersionResource, error) {
	for _, v := range Versions() {
		gv := schema.GroupVersion{Group: k.Group, Version: v}
		list, err := d.ServerResourcesForGroupVersion(gv.String())
		switch {
		case apierrors.IsNotFound(err):
			continue
		case err != nil:
			return schema.GroupVersionResource{}, fmt.Errorf("ask for the resources of %s: %w", gv, err)
		case slices.ContainsFunc(list.APIResources, func(r metav1.APIResource) bool { return r.Name == k.Resource }):
			return gv.WithResource(k.Resource), nil
		}
	}
	return schema.GroupVersionResource{}, nil
}
