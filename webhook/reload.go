package webhook

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/go-logr/logr"

	"github.com/meshvet/meshvet/lint"
)

// configPoll is the time between two looks at the configuration. A kubelet swaps a symbolic link when a ConfigMap changes, on some file
// systems without any notice, so the text itself is compared.
const configPoll = 2 * time.Second

// mostConfig bounds the configuration, in bytes; a ConfigMap holds no more.
const mostConfig = 1 << 20

// reloader takes over the configuration whenever its file changes. One that cannot be used leaves the one before in force.
type reloader struct {
	file    string // "" = the defaults
	rules   []lint.Rule
	log     logr.Logger
	metrics *metrics
	use     func(*ruleset)
	// tell makes an event of a configuration that is refused, or taken over again.
	tell func(warning bool, reason, message string)

	every time.Duration // between two looks; 0 = configPoll
	text  []byte        // that was looked at last
	hash  string        // of the configuration in force
}

// read makes a ruleset of a text.
func (r *reloader) read(text []byte) (*ruleset, error) {
	cfg, problems := lint.ReadConfig(r.file, text)
	if len(problems) > 0 {
		return nil, &lint.ConfigError{Problems: problems}
	}
	if len(bytes.TrimSpace(text)) == 0 {
		cfg = &lint.Config{Version: 1}
	}
	sum := sha256.Sum256(text)
	return newRuleset(r.rules, cfg, hex.EncodeToString(sum[:6]))
}

// load reads the file for the first time. A mistake in it is an error: a server that has never had a configuration does not guess one.
func (r *reloader) load() error {
	text, err := r.open()
	if err != nil {
		return err
	}
	rs, err := r.read(text)
	if err != nil {
		return fmt.Errorf("configuration %s: %w", r.file, err)
	}
	r.text = text
	r.put(rs)
	return nil
}

func (r *reloader) put(rs *ruleset) {
	r.metrics.refused.Set(0)
	r.metrics.config.DeleteLabelValues(r.hash)
	r.hash = rs.hash
	r.metrics.config.WithLabelValues(r.hash).Set(1)
	r.use(rs)
}

func (r *reloader) open() ([]byte, error) {
	if r.file == "" {
		return nil, nil
	}
	f, err := os.Open(r.file)
	if err != nil {
		return nil, fmt.Errorf("read the configuration: %w", err)
	}
	defer f.Close() //nolint:errcheck // it was only read
	text, err := io.ReadAll(io.LimitReader(f, mostConfig+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read the configuration: %w", err)
	case len(text) > mostConfig:
		return nil, fmt.Errorf("configuration %s is larger than %d MiB", r.file, mostConfig>>20)
	}
	return text, nil
}

// run looks at the file until ctx ends.
func (r *reloader) run(ctx context.Context) error {
	if r.file == "" {
		<-ctx.Done()
		return nil
	}
	ticker := time.NewTicker(cmp.Or(r.every, configPoll))
	defer ticker.Stop()
	lost := ""
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		text, err := r.open()
		switch {
		case err != nil && err.Error() == lost:
		case err != nil:
			lost = err.Error()
			r.refuse(err)
		case bytes.Equal(text, r.text) && lost == "":
		default:
			lost = ""
			r.text = text
			r.replace(text)
		}
	}
}

func (r *reloader) replace(text []byte) {
	rs, err := r.read(text)
	if len(bytes.TrimSpace(text)) == 0 {
		// Whoever wants the defaults can say so; an accident must not lift every denial.
		err = fmt.Errorf("configuration %s is empty; write version: 1 for the defaults", r.file)
	}
	if err != nil {
		r.refuse(err)
		return
	}
	before := r.hash
	r.put(rs)
	r.metrics.reloads.WithLabelValues("success").Inc()
	r.log.Info("configuration taken over", "hash", rs.hash, "before", before)
	r.tell(false, "ConfigLoaded", "The configuration was taken over")
}

func (r *reloader) refuse(err error) {
	r.metrics.reloads.WithLabelValues("failure").Inc()
	r.metrics.refused.Set(1)
	message := plain(strings.ReplaceAll(err.Error(), "\n", "; "))
	r.log.Error(errors.New(message), "the changed configuration cannot be used; the one before stays in force", "hash", r.hash)
	const most = 1000 // an Event's note holds 1,024
	r.tell(true, "ConfigRefused", cut("The changed configuration cannot be used, the one before stays in force: "+message, most))
}
