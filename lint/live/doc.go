// Package live reads what makes up a mesh from the API server of a running cluster.
//
// It only gets and lists, page by page, and never a Secret. A kind that may not be read, or that is not served, does not keep the
// others from being read: State says of each how far it is known.
package live
