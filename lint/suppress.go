package lint

import "github.com/meshvet/meshvet/lint/object"

// SuppressedFinding is a finding that the author of its object silenced.
type SuppressedFinding struct {
	Finding
	Suppression Suppression
}

// Suppression is what silences findings.
type Suppression struct {
	Reason string
	Where  object.Location // of the words that name the rules
}
