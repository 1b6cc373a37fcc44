// Package policies holds the rules that are written in Rego. It only embeds them; lint/policy makes rules of them.
package policies

import "embed"

//go:generate go run ../lint/policy/gen

// FS holds each policy at the top and what they share below lib.
//
//go:embed *.rego lib/*.rego
var FS embed.FS

// Proofs holds testdata/NAME/proof.golden of each policy: what has been shown to be true of it.
//
//go:embed testdata/*/proof.golden
var Proofs embed.FS
