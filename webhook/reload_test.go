package webhook

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/meshvet/meshvet/lint"
)

// TestReload swaps the configuration as a kubelet does, for a bad one, none, and a good one.
func TestReload(t *testing.T) {
	dir := t.TempDir()
	put := func(version, text string) {
		t.Helper()
		to := filepath.Join(dir, version)
		if err := os.Mkdir(to, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(to, "config.yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		link := filepath.Join(dir, "next")
		if err := os.Symlink(to, link); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(link, filepath.Join(dir, "..data")); err != nil {
			t.Fatal(err)
		}
	}
	put("1", "webhook: {denyCaused: true}")

	all, err := realRules()
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var now *ruleset
	var told []string
	r := &reloader{
		file: filepath.Join(dir, "..data", "config.yaml"), rules: all, log: logr.Discard(), metrics: newMetrics(),
		every: 20 * time.Millisecond,
		use:   func(rs *ruleset) { mu.Lock(); now = rs; mu.Unlock() },
		tell: func(warning bool, reason, message string) {
			mu.Lock()
			defer mu.Unlock()
			told = append(told, reason+": "+message)
			if warning != (reason == "ConfigRefused") {
				t.Errorf("%s is a warning: %v", reason, warning)
			}
		},
	}
	if err := r.load(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = r.run(ctx) })
	defer running.Wait()
	defer cancel()
	until := func(what string, done func() bool) {
		t.Helper()
		for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
			mu.Lock()
			ok := done()
			mu.Unlock()
			if ok {
				return
			}
		}
		t.Fatalf("it did not happen: %s; told: %q", what, told)
	}

	put("2", "webhook: {denyCuased: true}")
	until("a bad configuration is refused", func() bool { return len(told) == 1 })
	mu.Lock()
	if !now.config.Admission.DenyCaused || !strings.Contains(told[0], "ConfigRefused") || !strings.Contains(told[0], "denyCuased") || !strings.Contains(told[0], "stays in force") {
		t.Errorf("after a bad configuration: %+v, told %q", now.config.Admission, told)
	}
	mu.Unlock()
	if n := testutil.ToFloat64(r.metrics.reloads.WithLabelValues("failure")); n != 1 {
		t.Errorf("%v failures are counted", n)
	}
	put("2b", "\n")
	until("an emptied configuration is refused", func() bool { return len(told) == 2 })
	put("3", "webhook: {onError: deny}\nrules: {DR202: off}")
	until("a good configuration is taken over", func() bool { return now.config.Admission.DenyOnError })
	if n := testutil.ToFloat64(r.metrics.reloads.WithLabelValues("success")); n != 1 {
		t.Errorf("%v successes are counted", n)
	}
	if n := testutil.CollectAndCount(r.metrics.config); n != 1 {
		t.Errorf("%d configurations are said to be in force", n)
	}
	if err := os.Remove(filepath.Join(dir, "..data")); err != nil {
		t.Fatal(err)
	}
	until("a configuration that goes away is told", func() bool { return len(told) == 4 })
	put("4", "webhook: {onError: deny}\nrules: {DR202: off}")
	until("it comes back", func() bool { return len(told) == 5 })
}

// TestLoadRefuses starts with configurations that cannot be used: the error has the place.
func TestLoadRefuses(t *testing.T) {
	dir := t.TempDir()
	for name, c := range map[string]struct{ text, want string }{
		"unknown key":  {"webhoook: {}", "config.yaml:1:1"},
		"unknown rule": {"version: 1\nwebhook:\n  actions:\n    - {rules: [DR999], action: deny}\n", `:4:`},
		"not YAML":     {"{", "config.yaml:1"},
		"large":        {strings.Repeat("#", mostConfig+1), "larger than"},
	} {
		file := filepath.Join(dir, "config.yaml")
		if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		r := &reloader{file: file, rules: []lint.Rule{}, log: logr.Discard(), metrics: newMetrics(), use: func(*ruleset) {}}
		if err := r.load(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; it should hold %q", name, err, c.want)
		}
	}
	r := &reloader{file: filepath.Join(dir, "absent"), log: logr.Discard(), metrics: newMetrics(), use: func(*ruleset) {}}
	if err := r.load(); err == nil {
		t.Error("an absent file is taken for an empty one")
	}
}
