// Package object reads manifests: YAML and JSON text, or objects handed over by a cluster, become [Object] values that keep
// what the author wrote, the values as kubectl reads them, and the position of every field.
//
// It is the bottom layer of meshvet: it knows the kinds that matter to egress configuration, but no rule and no mesh.
// It is also the only package, besides the one that edits files, that imports a YAML library.
package object
