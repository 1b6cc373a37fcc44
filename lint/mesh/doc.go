// Package mesh is an index of one mesh's configuration: which hosts exist and where they come from, which DestinationRules
// meet them, who sees what, and what the mesh configuration says.
//
// An [Index] never changes and may be read from any number of goroutines. Changing one makes a new Index that shares almost
// all of the old one, so that a webhook can keep a [Store] up to date object by object, and ask what the mesh would be with
// the object under review.
//
// Host names, visibility and precedence follow Istio's pilot/pkg/model: ResolveShortnameToFQDN, MostSpecificHostMatch,
// setDestinationRules, mergeDestinationRule and destinationRule.
package mesh
