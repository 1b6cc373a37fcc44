package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/go-logr/logr"
	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/klog/v2"

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
	klog.SetLogger(logr.Discard()) // client-go would write to the terminal what its errors say, too, and what a server sends
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
	if err := checkKubeconfigs(loading, getenv(clientcmd.RecommendedConfigPathEnvVar)); err != nil {
		return nil, err
	}
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
	if err := checkKubeFiles(&raw, name); err != nil {
		return nil, fmt.Errorf("context %s of the kubeconfig cannot be used: %w", name, err)
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

// maxKubeFile bounds a kubeconfig, and each file that it names, in bytes.
const maxKubeFile = 1 << 20

// checkKubeconfigs refuses kubeconfigs that are no files of a sensible size, which client-go would wait for or read to no end. It skips
// those that are not there, so a KUBECONFIG that names none that is would go unnoticed.
func checkKubeconfigs(loading *clientcmd.ClientConfigLoadingRules, variable string) error {
	if loading.ExplicitPath != "" {
		if _, err := readRegularUpTo(loading.ExplicitPath, maxKubeFile); err != nil && !isNullDevice(loading.ExplicitPath) && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("the kubeconfig %s cannot be read: %w", loading.ExplicitPath, plainError(err))
		}
		return nil
	}
	found := false
	for _, file := range loading.Precedence {
		_, err := readRegularUpTo(file, maxKubeFile)
		switch {
		case err == nil, isNullDevice(file):
			found = true
		case !errors.Is(err, fs.ErrNotExist):
			return fmt.Errorf("the kubeconfig %s cannot be read: %w", file, plainError(err))
		}
	}
	if variable != "" && !found {
		return fmt.Errorf("KUBECONFIG names %s, which does not exist", variable)
	}
	return nil
}

// checkKubeFiles does the same for the files that a context names. Those that are not there are told by client-go.
func checkKubeFiles(raw *clientcmdapi.Config, context string) error {
	at := raw.Contexts[context]
	files := map[string]string{}
	if c := raw.Clusters[at.Cluster]; c != nil {
		files["certificate-authority"] = c.CertificateAuthority
	}
	if u := raw.AuthInfos[at.AuthInfo]; u != nil {
		files["client-certificate"], files["client-key"], files["tokenFile"] = u.ClientCertificate, u.ClientKey, u.TokenFile
	}
	for _, field := range slices.Sorted(maps.Keys(files)) {
		if files[field] == "" {
			continue
		}
		if _, err := readRegularUpTo(files[field], maxKubeFile); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s %s cannot be read: %w", field, files[field], plainError(err))
		}
	}
	return nil
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
