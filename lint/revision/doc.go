// Package revision reads the files of a git revision, with the git program.
//
// A checkout is hostile: its .git/config and .gitattributes can name programs that git runs. So nothing is asked of git that reads
// the working tree or runs what a repository configures (filters, textconv, external diffs, fsmonitor, hooks, transports), and git
// is started in an environment that forbids what could. No text from outside is ever an argument of git: names of revisions go
// through its standard input, and objects are asked for by their hashes.
package revision
