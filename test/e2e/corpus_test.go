package e2e

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/meshvet/meshvet/test/e2e/release"
)

// corpus holds manifests of other repositories, where it is.
const corpus = "../../../shared/corpus"

// TestPublicManifests rehearses every ServiceEntry and DestinationRule of the corpus that the API server takes: each is judged.
func TestPublicManifests(t *testing.T) {
	if _, err := os.Stat(corpus); err != nil {
		t.Skipf("there is no corpus: %v", err)
	}
	r := meshvet(t)
	ns := namespace(t, r)
	warnings := &release.WarningList{}
	client := clients(t, warnings)
	resources := map[string]string{"ServiceEntry": "serviceentries", "DestinationRule": "destinationrules"}
	taken, refused := 0, 0
	err := filepath.WalkDir(corpus, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".yaml") && !strings.HasSuffix(path, ".yml") {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		objects, _ := release.Objects(string(text)) // what stands before a broken document counts
		for _, o := range objects {
			gv, err := schema.ParseGroupVersion(o.GetAPIVersion())
			if err != nil || gv.Group != release.ServiceEntries.Group || resources[o.GetKind()] == "" {
				continue
			}
			o.SetNamespace(ns)
			o.SetResourceVersion("")
			_, err = client.Resource(gv.WithResource(resources[o.GetKind()])).Namespace(ns).Create(t.Context(), o, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
			switch {
			case err == nil:
				taken++
			case apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) || apierrors.IsNotFound(err):
				refused++ // by Istio's definitions
			default:
				t.Errorf("%s: %s %s: %v", path, o.GetKind(), o.GetName(), err)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	findings, said := 0, warnings.Take()
	for _, w := range said {
		if len(ids([]string{w})) > 0 {
			findings++
		}
		if strings.Contains(w, "could not judge") || strings.Contains(w, "no time") {
			t.Errorf("not judged: %s", w)
		}
	}
	t.Logf("%d objects taken, %d refused by the API server, %d findings in %d warnings", taken, refused, findings, len(said))
	if taken < 100 || findings < taken/10 {
		t.Errorf("%d objects were taken, with %d findings", taken, findings)
	}
}
