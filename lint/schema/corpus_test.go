package schema

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"
)

// TestCorpus holds Valid and Validate to the API server's libraries on the manifests below the directory that the environment variable
// CORPUS names (from the root of the module), and logs what is wrong with them.
func TestCorpus(t *testing.T) {
	dir := os.Getenv("CORPUS")
	if dir == "" {
		t.Skip("CORPUS is not set: no corpus of manifests to validate")
	}
	if !filepath.IsAbs(dir) {
		dir = filepath.Join("..", "..", dir)
	}
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("no corpus of manifests to validate: %v", err)
	}
	v := newValidator(t, "")
	objects, certain, refused := 0, 0, 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if ext := filepath.Ext(path); err != nil || d.IsDir() || ext != ".yaml" && ext != ".yml" {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for doc := range bytes.SplitSeq(append([]byte("\n"), text...), []byte("\n---")) {
			asJSON, err := yaml.YAMLToJSON(doc)
			if err != nil {
				continue // a template, or broken: not a question of schemas
			}
			var raw map[string]any
			if utiljson.Unmarshal(asJSON, &raw) != nil {
				continue
			}
			kind, _ := raw["kind"].(string)
			group, _ := raw["apiVersion"].(string)
			if v.kinds[kind] == nil || !strings.HasPrefix(group, "networking.istio.io/") {
				continue
			}
			objects++
			if v.Valid(kind, Of(raw)) {
				certain++
			}
			if d := disagreement(t, v, kind, raw); d != "" {
				t.Errorf("%s: %s", path, d)
			}
			got, err := v.Validate(t.Context(), kind, raw)
			if err != nil {
				t.Errorf("%s: %v", path, err)
			}
			if len(got) > 0 {
				refused++
			}
			for _, x := range got {
				t.Logf("%s: %s: %s: %s", strings.TrimPrefix(path, dir+"/"), x.Kind, x.Path, x.Message)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if objects == 0 {
		t.Errorf("%s holds no ServiceEntry and no DestinationRule", dir)
	}
	t.Logf("%d objects: %d certainly valid, %d with violations", objects, certain, refused)
}
