package scratch

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// Releases is a server that stands for https://github.com/meshvet/meshvet/releases/download.
//
// Beside Release there are v0.1.1, whose archive is another than its list of checksums names, and v0.1.2, whose archive is not in the list.
type Releases struct {
	*httptest.Server
	files map[string][]byte // by path
}

// Archive is the name of a release's archive for this machine.
func (*Releases) Archive(version string) string {
	return fmt.Sprintf("meshvet_%s_%s_%s.tar.gz", strings.TrimPrefix(version, "v"), runtime.GOOS, runtime.GOARCH)
}

// Sum is the SHA-256 of the list of checksums of Release.
func (r *Releases) Sum() string {
	return fmt.Sprintf("%x", sha256.Sum256(r.files["/"+Release+"/checksums.txt"]))
}

// Serve serves a release of the programs in a folder, which Build has made.
func Serve(programs string) (*Releases, error) {
	archive, err := pack(programs)
	if err != nil {
		return nil, fmt.Errorf("make a release of %s: %w", programs, err)
	}
	r := &Releases{}
	right, none := fmt.Sprintf("%x", sha256.Sum256(archive)), strings.Repeat("0", 64)
	r.files = map[string][]byte{
		"/" + Release + "/" + r.Archive(Release): archive,
		"/" + Release + "/checksums.txt":         []byte(none + "  other.zip\n" + right + "  " + r.Archive(Release) + "\n"),
		// Nobody gets as far as to unpack these.
		"/v0.1.1/" + r.Archive("v0.1.1"): []byte("another"), "/v0.1.1/checksums.txt": []byte(none + "  " + r.Archive("v0.1.1") + "\n"),
		"/v0.1.2/" + r.Archive("v0.1.2"): []byte("another"), "/v0.1.2/checksums.txt": []byte(right + "  other.zip\n"),
	}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		text, there := r.files[q.URL.Path]
		if !there {
			http.NotFound(w, q)
			return
		}
		_, _ = w.Write(text)
	}))
	return r, nil
}

// pack makes an archive of the files in a folder.
func pack(dir string) ([]byte, error) {
	var archive bytes.Buffer
	zipped, err := gzip.NewWriterLevel(&archive, gzip.BestSpeed)
	if err != nil {
		return nil, err
	}
	w := tar.NewWriter(zipped)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		if err := w.WriteHeader(&tar.Header{Name: e.Name(), Mode: 0o755, Size: int64(len(text))}); err != nil {
			return nil, err
		}
		if _, err := w.Write(text); err != nil {
			return nil, err
		}
	}
	if err := errors.Join(w.Close(), zipped.Close()); err != nil {
		return nil, err
	}
	return archive.Bytes(), nil
}
