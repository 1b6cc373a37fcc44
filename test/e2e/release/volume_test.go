package release

import (
	"context"
	"os"
	"path/filepath"
	"testing"
)

// TestVolume: a reader that has opened the folder finds all files of one state, and the old names go.
func TestVolume(t *testing.T) {
	folder := t.TempDir()
	var files map[string][]byte
	v := &volume{folder: folder, read: func(context.Context) (map[string][]byte, error) { return files, nil }}
	fill := func(want bool) {
		t.Helper()
		if filled, err := v.fill(t.Context()); err != nil || filled != want {
			t.Fatalf("fill: %v %v", filled, err)
		}
	}
	has := func(name, want string) {
		t.Helper()
		data, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil || string(data) != want {
			t.Errorf("%s is %q (%v), want %q", name, data, err, want)
		}
	}
	fill(false) // there is no object yet
	files = map[string][]byte{"a": []byte("1"), "b": []byte("1")}
	fill(true)
	has("a", "1")
	first, err := os.Readlink(filepath.Join(folder, "..data"))
	if err != nil {
		t.Fatal(err)
	}
	fill(true)
	if again, _ := os.Readlink(filepath.Join(folder, "..data")); again != first {
		t.Error("nothing changed, and yet the link was moved")
	}
	files = map[string][]byte{"a": []byte("2"), "c": []byte("2")}
	fill(true)
	has("a", "2")
	has("c", "2")
	if _, err := os.Lstat(filepath.Join(folder, "b")); !os.IsNotExist(err) {
		t.Errorf("b is still there: %v", err)
	}
	if _, err := os.Stat(filepath.Join(folder, first)); !os.IsNotExist(err) {
		t.Errorf("the old state is still there: %v", err)
	}
	files = nil // the object is gone; what was mounted stays
	fill(true)
	has("a", "2")
}

func TestCertificates(t *testing.T) {
	ca, err := NewCA()
	if err != nil {
		t.Fatal(err)
	}
	one, err := ca.Leaf("a.example.com")
	if err != nil {
		t.Fatal(err)
	}
	two, err := ca.Leaf("a.example.com")
	if err != nil {
		t.Fatal(err)
	}
	if one.Serial.Cmp(two.Serial) == 0 {
		t.Error("two certificates have one serial number")
	}
}
