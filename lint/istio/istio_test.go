package istio_test

import (
	"testing"

	"github.com/meshvet/meshvet/lint/istio"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]istio.Release{
		"1.31": {1, 31}, "1.31.2": {1, 31}, "v1.31.2-rc.0": {1, 31}, "1.32-dev": {1, 32}, "2.0": {2, 0},
	} {
		if got, err := istio.Parse(text); err != nil || got != want {
			t.Errorf("Parse(%q) = %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "1", "latest", "0.9", "1.x", "-1.2", "1.", "1.99999999"} {
		if got, err := istio.Parse(text); err == nil {
			t.Errorf("Parse(%q) = %v, want an error", text, got)
		}
	}
}

func TestBefore(t *testing.T) {
	older, newer := istio.Release{1, 9}, istio.Release{1, 31}
	if !older.Before(newer) || newer.Before(older) || newer.Before(newer) || !newer.Before(istio.Release{2, 0}) {
		t.Error("releases are out of order")
	}
	if older.Has(istio.PanicThreshold) || !istio.Oracle.Has(istio.PanicThreshold) {
		t.Error("the panic threshold is written from 1.31 on")
	}
}

func TestTheTableIsWhole(t *testing.T) {
	named := map[*istio.Change]bool{}
	for _, c := range istio.Changes() {
		named[c] = true
		if c.Field == "" || c.Now == "" || c.Since == (istio.Release{}) {
			t.Errorf("%+v is incomplete", c)
		}
		if c.Proven && istio.Oracle.Before(c.Since) {
			t.Errorf("%s came with %s: an oracle of %s cannot have shown it", c.Field, c.Since, istio.Oracle)
		}
	}
	for _, c := range []*istio.Change{istio.MeshTrafficPolicy, istio.PanicThreshold, istio.HTTP2KeepAlive, istio.ZoneAware, istio.RetryBudget, istio.RetryBudgetInterval} {
		if !named[c] {
			t.Errorf("%s is not in the table", c.Field)
		}
	}
}
