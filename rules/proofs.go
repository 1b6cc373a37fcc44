package rules

import "embed"

// Proofs holds testdata/NAME/proof.golden of each rule in this package: what has been shown to be true of it.
//
//go:embed testdata/*/proof.golden
var Proofs embed.FS
