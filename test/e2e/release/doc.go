// Package release runs a release of the chart: helm renders it, kubectl applies it, and what kubelet and kube-proxy
// would do for its Pods is done here, since the tests' cluster has neither.
//
// A Pod is the real program as a process, with the arguments and the environment of the rendered Deployment. It speaks to
// the API server in the name of the chart's ServiceAccount, by impersonation, so it has the rights that the chart gives.
// Only ports and paths are replaced by what is free on this machine, and the chart's Service is of type ExternalName,
// for localhost, so that the API server finds the process under the Service's name.
package release
