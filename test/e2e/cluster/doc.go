// Package cluster is what the end-to-end tests have of Kubernetes: a real etcd and kube-apiserver, started by
// controller-runtime's envtest, with Istio's CustomResourceDefinitions, and a user with a real kubectl.
//
// Nothing else of a cluster is there: no controller, no kubelet and no kube-proxy. What a test needs of these two, the
// package release stands in for.
package cluster
