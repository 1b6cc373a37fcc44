// Command oracle says what Istio's own control plane makes of manifests: the Envoy configuration for a proxy, what Istio's
// validation has against the objects, where Envoy's own constraints are broken, and whether Istio panics.
//
// It reads jobs from its standard input, one JSON object a line (see Job), and writes a Result a line for each, in order. One
// process answers any number of jobs; each takes some 40 ms, and the process 0.3 s to start.
package main

import (
	"flag"
	"fmt"
	"os"
	"runtime/debug"

	"istio.io/istio/pkg/kube/krt"
	"istio.io/istio/pkg/log"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "oracle:", err)
		os.Exit(1)
	}
}

func run() error {
	version := flag.Bool("version", false, "print the version of the istio.io/istio module and end")
	flag.Parse()
	if *version {
		fmt.Println(istioVersion())
		return nil
	}
	if err := prepare(); err != nil {
		return err
	}
	return serve(os.Stdin, os.Stdout)
}

// prepare sets up what Istio has one of in a process. All but fatal messages stay out of its log, and the log out of standard output,
// where the answers go. The register of collections for debugging is switched off: it keeps every environment that ever was.
func prepare() error {
	krt.GlobalDebugHandler = nil
	options := log.DefaultOptions()
	options.SetDefaultOutputLevel("all", log.FatalLevel)
	options.OutputPaths = []string{"stderr"}
	if err := log.Configure(options); err != nil {
		return fmt.Errorf("configure Istio's log: %w", err)
	}
	return nil
}

// istioVersion is the version of the Istio that this program is built with.
func istioVersion() string {
	info, ok := debug.ReadBuildInfo()
	if ok {
		for _, m := range info.Deps {
			if m.Path == "istio.io/istio" {
				return m.Version
			}
		}
	}
	return "unknown"
}
