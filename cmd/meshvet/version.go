package main

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/meshvet/meshvet/cmd/internal/build"
)

// version is set by the linker for releases.
var version string

// buildInfo says what this binary was made of.
type buildInfo struct {
	version  string // "devel" if nobody said
	revision string
	modified bool
	istio    string // version of the Istio API that manifests are read with
}

func thisBuild() buildInfo {
	b := buildInfo{version: build.Version(version)}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.revision = s.Value
		case "vcs.modified":
			b.modified = s.Value == "true"
		}
	}
	for _, d := range info.Deps {
		if d.Path == "istio.io/api" {
			b.istio = d.Version
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
	if b.istio != "" {
		text += "istio API: " + b.istio + "\n"
	}
	_, err := fmt.Fprintf(w, "%sgo:        %s %s/%s\n", text, runtime.Version(), runtime.GOOS, runtime.GOARCH)
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
