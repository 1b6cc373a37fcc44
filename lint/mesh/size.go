package mesh

import "github.com/meshvet/meshvet/lint/object"

// What the API server lets a ServiceEntry list (maxItems of its CustomResourceDefinition). The index takes no more of one from a
// file: hosts times ports times addresses is what Istio compiles, and a page of text could ask for billions.
const (
	maxHosts     = 256
	maxPorts     = 256
	maxAddresses = 256
)

// Excess is a list of an object that is too long for the API server to take it.
type Excess struct {
	Path        object.Path
	Items, Most int
}

// ExcessOf returns the first list of a ServiceEntry of which the index does not hold all items. ok is false if there is none.
func ExcessOf(o *object.Object) (e Excess, ok bool) {
	if o.Kind != object.ServiceEntry {
		return Excess{}, false
	}
	for _, list := range [...]struct {
		name string
		most int
	}{{"hosts", maxHosts}, {"ports", maxPorts}, {"addresses", maxAddresses}} {
		if n := o.Spec().Get(list.name).Len(); n > list.most {
			return Excess{object.Path{"spec", list.name}, n, list.most}, true
		}
	}
	return Excess{}, false
}
