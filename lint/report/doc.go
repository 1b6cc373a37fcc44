// Package report writes the outcome of a run in the formats that people and machines read.
//
// Everything that comes from manifests (names, values, messages that quote them, lines of files) is taken to be hostile: the
// formats for terminals and logs replace what acts instead of showing, no line of theirs begins with text of the input, and
// the JSON formats escape it. XML and Markdown have the same cleaned text, with what is markup escaped; Markdown also breaks what a service
// would make a mention, a reference or a link of. The page is made by html/template, its script makes no markup, and its policy lets nothing
// else run.
//
// A format is a function in a file of its own, a line in the list of report.go, golden files, and a check in hostile_test.go that one
// hostile report is safe in it. What reads the format, its schema or the program itself, is in consumer_test.go.
//
// It builds on lint, lint/egress and lint/object only, and knows neither the rules nor the command line.
package report
