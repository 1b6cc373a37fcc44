package meshcorpus

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func read(t *testing.T, dir string) map[string]string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*", "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		out[filepath.Base(name)] = string(text)
	}
	return out
}

// Figures of two runs can only be compared if both read the same manifests.
func TestSameSeedSameCorpus(t *testing.T) {
	var made []map[string]string
	for _, seed := range []uint64{1, 1, 2} {
		dir := t.TempDir()
		documents, bytes, err := Write(dir, Spec{Documents: 1000, Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		files := read(t, dir)
		var total int
		for _, text := range files {
			total += len(text)
		}
		if documents != 1000 || len(files) != 100 || int64(total) != bytes {
			t.Errorf("%d documents in %d files, %d bytes of %d", documents, len(files), total, bytes)
		}
		made = append(made, files)
	}
	if diff := cmp.Diff(made[0], made[1]); diff != "" {
		t.Error(diff)
	}
	if cmp.Equal(made[0], made[2]) {
		t.Error("another seed gives the same corpus")
	}
}
