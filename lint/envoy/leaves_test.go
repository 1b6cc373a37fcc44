package envoy_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/meshvet/meshvet/lint/envoy"
)

func decode(t *testing.T, text string) any {
	t.Helper()
	d := json.NewDecoder(bytes.NewBufferString(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

// The two shapes are of the same cluster, as istioctl and as Envoy's admin interface print it.
func TestFlattenGivesBothShapesOneSpelling(t *testing.T) {
	istioctl := `{"name": "c", "connectTimeout": "0.100s", "circuitBreakers": {"thresholds": [{"maxConnections": 4294967295}]},
		"commonLbConfig": {"healthyPanicThreshold": {}}, "outlierDetection": {"consecutive5xx": 3, "enforcingConsecutive5xx": 100},
		"typedExtensionProtocolOptions": {"envoy.extensions.upstreams.http.v3.HttpProtocolOptions": {
			"@type": "type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions",
			"explicitHttpConfig": {"http2ProtocolOptions": {"maxConcurrentStreams": 64}}}},
		"ringHashLbConfig": {"minimumRingSize": "1024"}, "respectDnsTtl": true, "aliases": []}`
	admin := `{"name": "c", "connect_timeout": "0.1s", "circuit_breakers": {"thresholds": [{"max_connections": 4294967295}]},
		"common_lb_config": {"healthy_panic_threshold": {}}, "outlier_detection": {"consecutive_5xx": 3, "enforcing_consecutive_5xx": 100},
		"typed_extension_protocol_options": {"envoy.extensions.upstreams.http.v3.HttpProtocolOptions": {
			"@type": "type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions",
			"explicit_http_config": {"http2_protocol_options": {"max_concurrent_streams": 64}}}},
		"ring_hash_lb_config": {"minimum_ring_size": 1024}, "respect_dns_ttl": true}`
	want := envoy.Leaves{
		"name": "c", "connect_timeout": "0.1s",
		"circuit_breakers.thresholds[0].max_connections": "4294967295",
		"common_lb_config.healthy_panic_threshold":       "{}",
		"outlier_detection.consecutive_5xx":              "3",
		"outlier_detection.enforcing_consecutive_5xx":    "100",
		"typed_extension_protocol_options.HttpProtocolOptions.explicit_http_config.http2_protocol_options.max_concurrent_streams": "64",
		"ring_hash_lb_config.minimum_ring_size": "1024", "respect_dns_ttl": "true",
	}
	for name, text := range map[string]string{"istioctl": istioctl, "admin": admin} {
		if diff := cmp.Diff(want, envoy.Flatten(decode(t, text))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestText(t *testing.T) {
	for _, c := range []struct {
		value any
		want  string
	}{
		{"10s", "10s"}, {"0.100s", "0.1s"}, {"1.000s", "1s"}, {"-0.500s", "-0.5s"}, {"s", "s"}, {".5s", ".5s"}, {"1.2.3s", "1.2.3s"},
		{"a.100s", "a.100s"}, {"5", "5"}, {json.Number("5"), "5"}, {5.5, "5.5"}, {true, "true"}, {4294967295.0, "4294967295"},
	} {
		if got := envoy.Text(c.value); got != c.want {
			t.Errorf("Text(%#v) = %q, want %q", c.value, got, c.want)
		}
	}
}

func TestName(t *testing.T) {
	for key, want := range map[string]string{
		"connectTimeout": "connect_timeout", "connect_timeout": "connect_timeout", "http2ProtocolOptions": "http2_protocol_options",
		"envoy.transport_sockets.tls": "tls", "a b": `"a b"`, "io.istio.x": `"io.istio.x"`, "": "", "é": `"é"`,
	} {
		if got := envoy.Name(key); got != want {
			t.Errorf("Name(%q) = %q, want %q", key, got, want)
		}
	}
}

func TestDiff(t *testing.T) {
	before := envoy.Leaves{"a": "1", "b": "2", "c": "3"}
	after := envoy.Leaves{"a": "1", "b": "4", "d": "5"}
	want := []envoy.Difference{{"b", "2", "4"}, {"c", "3", ""}, {"d", "", "5"}}
	if diff := cmp.Diff(want, envoy.Diff(before, after)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if envoy.Diff(before, before) != nil {
		t.Error("equal leaves differ")
	}
}

func TestUnder(t *testing.T) {
	for _, c := range []struct {
		path, ancestor string
		want           bool
	}{
		{"a.b", "a", true}, {"a[0].b", "a", true}, {"a", "a", true}, {"ab", "a", false}, {"a", "a.b", false},
	} {
		if got := envoy.Under(c.path, c.ancestor); got != c.want {
			t.Errorf("Under(%q, %q) = %v", c.path, c.ancestor, got)
		}
	}
}
