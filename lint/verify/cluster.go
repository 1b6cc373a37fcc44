package verify

import (
	"slices"
	"strings"

	"github.com/meshvet/meshvet/lint/effective"
	"github.com/meshvet/meshvet/lint/envoy"
)

// Difference is a leaf in which Envoy's configuration is not what was predicted.
type Difference struct {
	Path string
	// Predicted and Actual are the values, "" where the leaf is missing.
	Predicted, Actual string
	// Setting is what the prediction says of the leaf; nil if it predicts none.
	Setting *effective.Setting
}

// Uncompared are the parts of a cluster that no traffic policy decides, each with the reason. A path ending in a dot stands for all
// that contain it.
var Uncompared = []struct{ Path, Why string }{
	{"name", "it is how clusters are found"},
	{"alt_stat_name", "follows meshConfig.outboundClusterStatName"},
	{"metadata", "names the objects that the cluster was made from, for telemetry"},
	{"filters", "metadata exchange between proxies, for telemetry"},
	{"eds_cluster_config", "where Envoy asks for endpoints"},
	{"load_assignment", "endpoints: what a cluster resolves to is not policy"},
	{"dns_lookup_family", "follows the addresses of the proxy"},
	{"dns_jitter", "an environment variable of istiod"},
	{"typed_dns_resolver_config", "environment variables of istiod"},
	{"cluster_type.typed_config.dns_cache_config", "where Envoy resolves names"},
	{"sds_config.", "where Envoy asks for certificates"},
	{"transport_socket_connect_timeout", "a constant of istiod"},
	{"circuit_breakers.thresholds[0].track_remaining", "an environment variable of istiod"},
}

func compared(path string) bool {
	for _, u := range Uncompared {
		if strings.HasSuffix(u.Path, ".") {
			if strings.Contains(path+".", u.Path) {
				return false
			}
		} else if envoy.Under(path, u.Path) {
			return false
		}
	}
	return true
}

// zeros are the values that JSON leaves out because they are 0 in Envoy's enums.
var zeros = map[string]string{"lb_policy": "ROUND_ROBIN"}

// ComparedLeaves are the leaves of a cluster that are compared.
func ComparedLeaves(l envoy.Leaves) envoy.Leaves {
	out := envoy.Leaves{}
	for path, v := range l {
		if compared(path) {
			out[path] = v
		}
	}
	for path, v := range zeros {
		if _, has := out[path]; !has {
			out[path] = v
		}
	}
	return out
}

// Cluster compares a predicted cluster with one that Envoy has. n is how many leaves were compared.
func Cluster(c *effective.Cluster, actual envoy.Leaves) (diffs []Difference, n int) {
	want, got := ComparedLeaves(effective.Leaves(c.Settings)), ComparedLeaves(actual)
	for _, leaves := range []envoy.Leaves{want, got} {
		for path := range leaves {
			if slices.ContainsFunc(c.Unpredicted, func(u string) bool { return envoy.Under(path, u) }) {
				delete(leaves, path)
			}
		}
	}
	return differences(c.Settings, want, got)
}

func differences(list []effective.Setting, want, got envoy.Leaves) (diffs []Difference, n int) {
	for _, d := range envoy.Diff(want, got) {
		diffs = append(diffs, Difference{Path: d.Path, Predicted: d.Before, Actual: d.After, Setting: settingAt(list, d.Path)})
	}
	n = len(got)
	for path := range want {
		if _, both := got[path]; !both {
			n++
		}
	}
	return diffs, n
}

// settingAt is the setting that decides a leaf: its own, else the nearest around or beside it.
func settingAt(list []effective.Setting, path string) *effective.Setting {
	for i := range list {
		if list[i].Envoy == path {
			return &list[i]
		}
	}
	for i := range list {
		if list[i].Emitted() && (envoy.Under(path, list[i].Envoy) || envoy.Under(list[i].Envoy, path)) {
			return &list[i]
		}
	}
	return nil
}
