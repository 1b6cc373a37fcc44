package cluster

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// ErrNoAssets is what Find returns when the binaries are not there. Tests are skipped then; `make e2e` builds them first,
// and .ci/suites does not accept the skip.
var ErrNoAssets = errors.New("no etcd, kube-apiserver, kubectl and helm: run make e2e-tools or set KUBEBUILDER_ASSETS")

// Assets are the paths of the programs that the tests start.
type Assets struct {
	Folder    string
	Etcd      string
	APIServer string
	Kubectl   string
	Helm      string
}

// Find looks in $KUBEBUILDER_ASSETS, else in the folder that `make e2e-tools` fills. A program that is missing there is
// ErrNoAssets, unless KUBEBUILDER_ASSETS is set: then somebody meant to run the tests, and it is another error.
func Find() (Assets, error) {
	folder, chosen := os.Getenv("KUBEBUILDER_ASSETS"), true
	if folder == "" {
		cache := os.Getenv("XDG_CACHE_HOME") // as in the Makefile, and not os.UserCacheDir, which is elsewhere on a Mac
		if cache == "" {
			home, err := os.UserHomeDir()
			if err != nil {
				return Assets{}, fmt.Errorf("find the cache folder: %w", err)
			}
			cache = filepath.Join(home, ".cache")
		}
		folder, chosen = filepath.Join(cache, "meshvet", "e2e"), false
	}
	a := Assets{Folder: folder}
	for name, path := range map[string]*string{
		"etcd": &a.Etcd, "kube-apiserver": &a.APIServer, "kubectl": &a.Kubectl, "helm": &a.Helm,
	} {
		*path = filepath.Join(folder, name)
		_, err := os.Stat(*path)
		switch {
		case err == nil:
		case errors.Is(err, os.ErrNotExist) && !chosen:
			return Assets{}, fmt.Errorf("%w (%s is not there)", ErrNoAssets, *path)
		default:
			return Assets{}, fmt.Errorf("KUBEBUILDER_ASSETS: %w", err)
		}
	}
	return a, nil
}
