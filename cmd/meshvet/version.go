package main

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/meshvet/meshvet/cmd/internal/build"
	"github.com/meshvet/meshvet/lint/istio"
)

// What the linker sets where a program is built to be handed out, by `make build`, the Dockerfile and a release alike. Such a build is not
// stamped by the go command, since what a checkout looks like must not change the bytes.
var version, commit string

// buildInfo says what this binary was made of.
type buildInfo struct {
	version   string // "devel" if nobody said
	revision  string // commit; "" if nobody said, as with `go install …@version`
	modified  bool   // the commit had changes
	api       string // version of the Istio API that manifests are read with
	toolchain string // of Go, and what it built for
}

func thisBuild() buildInfo {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	b := buildOf(info, build.Version(version), commit)
	b.toolchain = fmt.Sprintf("%s %s/%s", runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return b
}

// buildOf puts together what the linker and what the go command wrote into a program.
func buildOf(info *debug.BuildInfo, version, revision string) buildInfo {
	b := buildInfo{version: version, revision: revision}
	for _, s := range info.Settings {
		switch {
		case b.revision == "" && s.Key == "vcs.revision":
			b.revision = s.Value
		case revision == "" && s.Key == "vcs.modified":
			b.modified = s.Value == "true"
		}
	}
	for _, d := range info.Deps {
		if d.Path == "istio.io/api" {
			b.api = d.Version
		}
	}
	return b
}

func (b buildInfo) write(w io.Writer) error {
	text := "meshvet " + b.version + "\n"
	if b.revision != "" {
		text += "revision:  " + b.revision
		if b.modified {
			text += " with changes"
		}
		text += "\n"
	}
	text += "proven on: Istio " + istio.Oracle.String() + "\n"
	if b.api != "" {
		text += "istio API: " + b.api + "\n"
	}
	_, err := fmt.Fprintf(w, "%sgo:        %s\n", text, b.toolchain)
	return err
}

func newVersionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  noArguments,
		RunE:  func(cmd *cobra.Command, _ []string) error { return thisBuild().write(cmd.OutOrStdout()) },
	}
}
