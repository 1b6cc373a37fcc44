// Package report writes the outcome of a run in the formats that people and machines read.
//
// Everything that comes from manifests (names, values, messages that quote them, lines of files) is taken to be hostile: the
// formats for terminals and logs replace what acts instead of showing, no line of theirs begins with text of the input, and
// the JSON formats escape it. The page is made by html/template, its script makes no markup, and its policy lets nothing else run.
//
// It builds on lint, lint/egress and lint/object only, and knows neither the rules nor the command line.
package report
