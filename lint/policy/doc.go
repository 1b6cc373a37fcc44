// Package policy turns Rego files into lint rules. A policy judges input.object, the manifest as written, with the help of
// mesh.* built-ins that read the mesh index; its METADATA annotations carry what a Go rule carries in lint.Meta. Past this
// package nothing can tell the two apart.
//
// All policies that an object's gates let through are evaluated in one prepared query. Built-ins are an allow-list: a policy
// cannot reach the network, the clock, the environment or files.
package policy
