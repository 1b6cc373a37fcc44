// Package schema validates ServiceEntry and DestinationRule objects the way a Kubernetes API server with Istio's
// CustomResourceDefinitions does when such an object is created: unknown fields, types, enums, ranges, required and exclusive fields,
// list keys, CEL rules, and the metadata that every object has.
//
// Two things judge an object. A walk over compact tables, generated from the CRDs that ship in istio.io/api, decides in a microsecond
// or two that an object is valid, which nearly all are. When it finds fault, the Kubernetes libraries validate the object too: theirs
// is the verdict, the walk supplies the words, the precise paths and the suggestions. CEL rules are decided by a Go function where
// there is one for the exact text of the rule, and by the CEL library otherwise, compiled when an object first needs it.
package schema

//go:generate go run ./gen -o crd_gen.go
