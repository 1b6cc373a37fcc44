// Command analyze runs the analyzers of `istioctl analyze` on files as if they were all that a cluster holds. Without a cluster
// istioctl itself skips each analyzer that wants to know the cluster's Pods, Services or Namespaces, those of subsets and of unknown
// hosts among them.
package main

import (
	"fmt"
	"io"
	"os"

	"istio.io/istio/pkg/config/analysis/analyzers"
	"istio.io/istio/pkg/config/analysis/local"
	"istio.io/istio/pkg/log"
)

func main() {
	if err := run(os.Stdout, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "analyze:", err)
		os.Exit(1)
	}
}

func run(out io.Writer, names []string) error {
	options := log.DefaultOptions()
	options.SetDefaultOutputLevel("all", log.FatalLevel)
	options.OutputPaths = []string{"stderr"}
	if err := log.Configure(options); err != nil {
		return fmt.Errorf("configure Istio's log: %w", err)
	}
	analyzer := local.NewIstiodAnalyzer(analyzers.AllCombined(), "", "istio-system", nil)
	for _, name := range names {
		if err := add(analyzer, name); err != nil {
			return err
		}
	}
	stop := make(chan struct{})
	defer close(stop)
	result, err := analyzer.Analyze(stop)
	if err != nil {
		return fmt.Errorf("analyze: %w", err)
	}
	for i := range result.Messages {
		fmt.Fprintln(out, result.Messages[i].String())
	}
	return nil
}

func add(analyzer *local.IstiodAnalyzer, name string) error {
	file, err := os.Open(name)
	if err != nil {
		return fmt.Errorf("read the manifest: %w", err)
	}
	defer func() { _ = file.Close() }() // only read from
	// What "test" names is that Pods, Services and the like are read from the file, too.
	if err := analyzer.AddTestReaderKubeSource([]local.ReaderSource{{Name: name, Reader: file}}); err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	return nil
}
