// Package release holds the files that make a release to what they repeat of each other, and to what keeps a release safe: the workflows,
// .goreleaser.yaml, the Dockerfile and the Makefile. actionlint and goreleaser check what each of them is by itself, in `make lint`.
package release
