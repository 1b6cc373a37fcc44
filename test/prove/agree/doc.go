// Package agree holds what meshvet predicts against what Istio compiles: for each proxy of a mesh, cluster by cluster and leaf by
// leaf, on manifests of any origin and on random ones.
package agree
