package main

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// What client-go logs of an answer that breaks off is not written beside what meshvet says of it.
func TestLiveWithoutNoise(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "1000")
		if _, err := w.Write([]byte("{")); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(srv.Close)
	folder := t.TempDir()
	config := `{"apiVersion": "v1", "kind": "Config", "current-context": "prod", "clusters": [{"name": "c", "cluster": {"server": "` + srv.URL + `"}}],
"contexts": [{"name": "prod", "context": {"cluster": "c", "user": "u"}}], "users": [{"name": "u", "user": {}}]}`
	if err := os.WriteFile(filepath.Join(folder, "config"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, "lint", "--live", "-c", os.DevNull)
	cmd.Dir = folder
	cmd.Env = []string{asProgram + "=1", "HOME=" + folder, "KUBECONFIG=config"}
	var stderr strings.Builder
	cmd.Stderr = &stderr
	err = cmd.Run()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != exitFailed {
		t.Errorf("%v", err)
	}
	if got := stderr.String(); strings.Count(got, "\n") != 1 || !strings.HasPrefix(got, "meshvet: the API server at "+srv.URL+" cannot be asked: ") {
		t.Errorf("%q", got)
	}
}
