package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/meshvet/meshvet/lint/object"
)

// clusterFlags say which API server is meant.
type clusterFlags struct{ kubeconfig, context string }

func (f *clusterFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.kubeconfig, "kubeconfig", "", "`FILE` that says where the API server is; by default $KUBECONFIG, else the Pod's own, else ~/.kube/config")
	flags.StringVar(&f.context, "kube-context", "", "`NAME` of the context in it")
}

// kubeTarget is an API server, with what it is to whoever asks it.
type kubeTarget struct {
	config    *rest.Config
	name      string // of the context, or what else it is known by
	namespace string // in which objects are that name none
}

// find finds the API server: what flags or KUBECONFIG name, else the one of the Pod that this is, else ~/.kube/config. Programs that the
// kubeconfig names to get credentials are run, as kubectl does, but have nobody to ask.
func (f *clusterFlags) find(getenv func(string) string) (*kubeTarget, error) {
	if f.kubeconfig == "" && f.context == "" && getenv(clientcmd.RecommendedConfigPathEnvVar) == "" {
		cfg, err := rest.InClusterConfig()
		switch {
		case err == nil:
			return &kubeTarget{named(cfg), "of this Pod", cmp.Or(ownNamespace(), "default")}, nil
		case !errors.Is(err, rest.ErrNotInCluster):
			return nil, fmt.Errorf("find the API server of this Pod: %w", err)
		}
	}
	loading := clientcmd.NewDefaultClientConfigLoadingRules()
	loading.ExplicitPath = f.kubeconfig
	loading.WarnIfAllMissing = false
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(loading, &clientcmd.ConfigOverrides{CurrentContext: f.context})
	raw, err := loader.RawConfig()
	switch {
	case errors.Is(err, fs.ErrNotExist) && f.kubeconfig != "":
		return nil, fmt.Errorf("there is no kubeconfig %s", f.kubeconfig)
	case err != nil:
		return nil, fmt.Errorf("read the kubeconfig: %s", oneLine(err))
	}
	contexts := slices.Sorted(maps.Keys(raw.Contexts))
	name := cmp.Or(f.context, raw.CurrentContext)
	hint := "it has no contexts"
	if len(contexts) > 0 {
		hint = "it has " + object.Abridge(strings.Join(contexts, ", "))
	}
	switch {
	case len(raw.Contexts) == 0 && len(raw.Clusters) == 0 && name == "":
		return nil, errors.New("there is no cluster to read: no kubeconfig was found; set KUBECONFIG, or name one with --kubeconfig")
	case name == "":
		return nil, fmt.Errorf("the kubeconfig has no current context; name one with --kube-context: %s", hint)
	case raw.Contexts[name] == nil:
		return nil, fmt.Errorf("the kubeconfig has no context %q%s: %s", name, didYouMean(name, contexts), hint)
	}
	cfg, err := loader.ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("context %s of the kubeconfig cannot be used: %s", name, oneLine(err))
	}
	if cfg.ExecProvider != nil {
		cfg.ExecProvider.StdinUnavailable = true
		cfg.ExecProvider.StdinUnavailableMessage = "meshvet asks for nothing while it runs; log in first"
	}
	ns, _, err := loader.Namespace()
	if err != nil {
		return nil, fmt.Errorf("context %s of the kubeconfig cannot be used: %s", name, oneLine(err))
	}
	return &kubeTarget{named(cfg), name, cmp.Or(ns, "default")}, nil
}

// oneLine is the text of an error that may have several lines.
func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }

// named lets the API server's logs say who asks.
func named(cfg *rest.Config) *rest.Config {
	if cfg != nil {
		cfg.UserAgent = "meshvet/" + thisBuild().version
	}
	return cfg
}
