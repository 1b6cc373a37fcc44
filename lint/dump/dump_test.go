package dump

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/meshvet/meshvet/lint/envoy"
)

// ofDump is what configDump holds.
var ofDump = []string{
	"cluster static BlackHoleCluster",
	"cluster active outbound|443||bookings.example.com",
	"cluster active outbound|80||bookings.example.com",
	"cluster warming outbound|9000||ledger.example.com",
	"endpoints active outbound|9000||ledger.example.com",
	"listener active 0.0.0.0_80",
	"listener active 0.0.0.0_9000",
	"listener warming 0.0.0.0_443",
	"listener error 0.0.0.0_443",
	"listener draining 10.0.0.1_80",
	"listener error 10.0.0.2_80",
	"route static inbound|8080||",
	"route active 80",
}

var listNames = []string{
	"cluster active BlackHoleCluster",
	"cluster active outbound|443||bookings.example.com",
	"cluster active outbound|80||bookings.example.com",
	"cluster active outbound|9000||ledger.example.com",
	"listener active 0.0.0.0_443",
	"listener active 0.0.0.0_80",
	"listener active 0.0.0.0_9000",
	"route active 80",
	"endpoints active outbound|9000||ledger.example.com",
}

func TestReadShapes(t *testing.T) {
	c := loadCompiled(t)
	whole := configDump(c)
	configs := whole["configs"].([]any)
	list := func(field string, resources []map[string]any) []any { return items(field, "", resources) }
	statuses := []any{
		fields{"name": "outbound|80||bookings.example.com", "addedViaApi": true, "hostStatuses": []any{fields{"weight": 1}}},
		fields{"name": "xds-grpc", "circuitBreakers": fields{"thresholds": []any{}}, "observabilityName": "xds-grpc"},
		fields{"name": "bare"},
	}
	statusNames := []string{"endpoints active outbound|80||bookings.example.com", "endpoints active xds-grpc", "endpoints active bare"}
	sections := []string{
		"dynamic_active_clusters", "dynamic_warming_clusters", "static_clusters", "dynamic_endpoint_configs", "dynamic_listeners",
		"dynamic_route_configs", "static_route_configs",
	}
	allKinds := []Kind{Cluster, Listener, Route, Endpoints}
	var single []any
	for _, item := range items("cluster", clusterType, c.Clusters[1:2]) {
		single = append(single, typed("admin.v3.ClustersConfigDump.DynamicCluster", item.(fields)))
	}
	single = append(single, typed("admin.v3.ClustersConfigDump.StaticCluster", items("cluster", clusterType, c.Clusters[:1])[0].(fields)))
	single = append(single, typed("admin.v3.ListenersConfigDump.DynamicListener", fields{
		"name": "l", "activeState": fields{"listener": fields{"address": fields{}}}, "warmingState": fields{"listener": fields{"name": "m"}},
	}))
	single = append(single, typed("admin.v3.RoutesConfigDump.DynamicRouteConfig", fields{"routeConfig": fields{"name": "r"}}))
	single = append(single, typed("admin.v3.EndpointsConfigDump.StaticEndpointConfig", fields{"endpointConfig": fields{"clusterName": "e"}}))
	single = append(single, typed("admin.v3.ListenersConfigDump.DynamicListener", fields{
		"name": "f", "errorState": fields{"details": "no", "failedConfiguration": fields{}},
	}))

	for _, tt := range []struct {
		name     string
		shape    any // or a text
		want     []string
		sections []string
		kinds    []Kind
		node     string
	}{
		{"config_dump", whole, ofDump, sections, allKinds, nodeID},
		{"config_dump with a mask for clusters", fields{"configs": []any{typed("admin.v3.ClustersConfigDump", fields{
			"dynamicActiveClusters": list("cluster", c.Clusters[:1]),
		})}}, []string{"cluster active BlackHoleCluster"}, []string{"dynamic_active_clusters"}, []Kind{Cluster}, ""},
		{"config_dump with a mask that left messages empty", fields{"configs": []any{
			typed("admin.v3.BootstrapConfigDump", nil), typed("admin.v3.ListenersConfigDump", nil),
			typed("admin.v3.ClustersConfigDump", fields{"dynamicActiveClusters": []any{fields{"versionInfo": "1"}, fields{"cluster": fields{"name": "a"}}}}),
		}}, []string{"cluster active a"}, []string{"dynamic_active_clusters"}, []Kind{Cluster}, ""},
		{"config_dump without a resource", fields{"configs": []any{
			typed("admin.v3.ClustersConfigDump", fields{"versionInfo": "1", "dynamicActiveClusters": nil}),
			typed("admin.v3.ListenersConfigDump", fields{"versionInfo": "1"}),
		}}, nil, []string{"dynamic_active_clusters"}, []Kind{Cluster, Listener}, ""},
		{"config_dump with types that are none", fields{"configs": []any{fields{"@type": 7, "name": nil, "staticClusters": []any{}}}}, nil,
			[]string{"static_clusters"}, []Kind{Cluster}, ""},
		{"config_dump of nothing", fields{"configs": nil}, nil, nil, nil, ""},
		{"config_dump with resource", fields{"configs": single}, []string{
			"cluster  outbound|443||bookings.example.com", "cluster static BlackHoleCluster", "listener active l", "listener warming m",
			"route active r", "endpoints static e", "listener error f",
		}, nil, allKinds, ""},
		{"config_dump with resource and without types", fields{"configs": []any{fields{"cluster": fields{"name": "a"}}}},
			[]string{"cluster  a"}, nil, []Kind{Cluster}, ""},
		{"config_dump of the API v2", fields{"configs": []any{fields{
			"@type":                    "type.googleapis.com/envoy.admin.v2alpha.ListenersConfigDump",
			"dynamicActiveListeners":   list("listener", c.Listeners[:1]),
			"dynamicWarmingListeners":  list("listener", c.Listeners[1:2]),
			"dynamicDrainingListeners": list("listener", c.Listeners[2:]),
			"staticListeners":          list("listener", []map[string]any{{"name": "s"}}),
		}}}, []string{
			"listener active 0.0.0.0_443", "listener draining 0.0.0.0_9000", "listener warming 0.0.0.0_80", "listener static s",
		}, []string{"dynamic_active_listeners", "dynamic_draining_listeners", "dynamic_warming_listeners", "static_listeners"}, []Kind{Listener}, ""},
		{"config_dump whose items have nothing around them", fields{"configs": []any{fields{"dynamicActiveClusters": c.Clusters[:1]}}},
			[]string{"cluster active BlackHoleCluster"}, []string{"dynamic_active_clusters"}, []Kind{Cluster}, ""},
		{"one config", configs[2], []string{"endpoints active outbound|9000||ledger.example.com"},
			[]string{"dynamic_endpoint_configs"}, []Kind{Endpoints}, ""},
		{"a cluster that was refused", fields{"configs": []any{fields{"dynamicActiveClusters": []any{fields{"errorState": fields{
			"failedConfiguration": typed(clusterType, fields{"name": "bad"}),
		}}}}}}, []string{"cluster error bad"}, []string{"dynamic_active_clusters"}, []Kind{Cluster}, ""},
		{"a refused cluster without the type of its item", fields{"configs": []any{fields{"errorState": fields{
			"failedConfiguration": typed(clusterType, fields{"name": "bad"}),
		}}}}, []string{"cluster error bad"}, nil, []Kind{Cluster}, ""},
		{"istioctl bootstrap", fields{"bootstrap": bootstrapOf(nodeID), "lastUpdated": "x"}, nil, nil, nil, nodeID},
		{"istioctl cluster", c.Clusters, listNames[:4], []string{"cluster"}, []Kind{Cluster}, ""},
		{"istioctl listener", c.Listeners, listNames[4:7], []string{"listener"}, []Kind{Listener}, ""},
		{"istioctl route", c.Routes, listNames[7:8], []string{"route"}, []Kind{Route}, ""},
		{"istioctl eds", c.Endpoints, listNames[8:], []string{"endpoints"}, []Kind{Endpoints}, ""},
		{"istioctl endpoint", statuses, statusNames, []string{"endpoints"}, []Kind{Endpoints}, ""},
		{"clusters of the admin interface", fields{"clusterStatuses": statuses}, statusNames, []string{"cluster_statuses"}, []Kind{Endpoints}, ""},
		{"list of wrapped clusters", list("cluster", c.Clusters), listNames[:4], []string{"cluster"}, []Kind{Cluster}, ""},
		{"list of wrapped listeners", list("listener", c.Listeners), listNames[4:7], []string{"listener"}, []Kind{Listener}, ""},
		{"list of wrapped routes", list("routeConfig", c.Routes), listNames[7:8], []string{"route"}, []Kind{Route}, ""},
		{"list of wrapped endpoints", list("endpointConfig", c.Endpoints), listNames[8:], []string{"endpoints"}, []Kind{Endpoints}, ""},
		{"list of listeners in states", []any{fields{"name": "l", "activeState": fields{"listener": fields{}}}}, []string{"listener active l"},
			[]string{"listener"}, []Kind{Listener}, ""},
		{"list of all kinds", slices.Concat(c.Clusters, c.Listeners, c.Routes, c.Endpoints), listNames,
			[]string{"cluster", "listener", "route", "endpoints"}, allKinds, ""},
		{"list with types only", []any{
			typed(clusterType, nil), typed(listenerType, nil), typed(routeType, nil), typed(edsType, nil),
		}, []string{"cluster active ", "listener active ", "route active ", "endpoints active "}, []string{"cluster", "listener", "route", "endpoints"}, allKinds, ""},
		{"list with a resource of few fields", []any{fields{"name": "a", "type": "EDS"}, fields{"name": "b"}, fields{"address": fields{}, "name": "c"}},
			[]string{"cluster active a", "cluster active b", "listener active c"}, []string{"cluster", "listener"}, []Kind{Cluster, Listener}, ""},
		{"clusters, then listeners", printed(t, c.Clusters) + printed(t, c.Listeners), listNames[:7], []string{"cluster", "listener"}, []Kind{Cluster, Listener}, ""},
		{"lists without a space between, one of them empty", "[]" + strings.TrimSpace(printed(t, c.Routes)) + "[]" + printed(t, c.Endpoints), listNames[7:],
			[]string{"route", "endpoints"}, []Kind{Route, Endpoints}, ""},
		{"bootstrap, then clusters", printed(t, fields{"bootstrap": bootstrapOf(nodeID)}) + printed(t, c.Clusters), listNames[:4], []string{"cluster"}, []Kind{Cluster}, nodeID},
		{"two dumps of one proxy", printed(t, fields{"configs": configs[:1]}) + printed(t, whole), ofDump, sections, allKinds, nodeID},
		{"byte order marks", "\ufeff" + printed(t, c.Routes) + "\ufeff" + printed(t, c.Endpoints), listNames[7:], []string{"route", "endpoints"}, []Kind{Route, Endpoints}, ""},
		{"CRLF", strings.ReplaceAll(printed(t, c.Routes), "\n", "\r\n"), listNames[7:8], []string{"route"}, []Kind{Route}, ""},
	} {
		texts := map[string]string{}
		if text, ok := tt.shape.(string); ok {
			texts["text"] = text
		} else {
			texts["camel"], texts["snake"] = printed(t, tt.shape), printed(t, snake(tt.shape))
		}
		for spelling, text := range texts {
			t.Run(tt.name+"/"+spelling, func(t *testing.T) {
				s, resources, got, err := collect(t, text)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(sorted(tt.want), sorted(got)); diff != "" {
					t.Errorf("resources (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(sorted(tt.sections), sorted(s.Sections)); diff != "" {
					t.Errorf("sections (-want +got):\n%s", diff)
				}
				for _, k := range allKinds {
					if want := slices.Contains(tt.kinds, k); s.Has(k) != want {
						t.Errorf("Has(%s) = %v, want %v", k, s.Has(k), want)
					}
				}
				counts := map[Kind]int{}
				for _, r := range resources {
					counts[r.Kind]++
					compareLeaves(t, c, r)
				}
				if diff := cmp.Diff(counts, s.Counts); diff != "" {
					t.Errorf("counts (-want +got):\n%s", diff)
				}
				if s.Node.ID != tt.node {
					t.Errorf("node %q, want %q", s.Node.ID, tt.node)
				}
				// It does not matter in which portions the text comes.
				var again []string
				_, err = Read(t.Context(), "dump.json", iotest.OneByteReader(strings.NewReader(text)), Limits{}, func(r Resource) error {
					again = append(again, string(r.Kind)+" "+string(r.State)+" "+r.Name)
					return nil
				})
				if err != nil || !slices.Equal(got, again) {
					t.Errorf("byte by byte: %v, %v", again, err)
				}
			})
		}
	}
}

func sorted(s []string) []string { return slices.Sorted(slices.Values(s)) }

// compareLeaves holds a resource that was compiled by Istio to what the compiler printed.
func compareLeaves(t *testing.T, c compiled, r Resource) {
	t.Helper()
	of := map[Kind][]map[string]any{Cluster: c.Clusters, Listener: c.Listeners, Route: c.Routes, Endpoints: c.Endpoints}
	for _, want := range of[r.Kind] {
		if name := want["name"]; name == r.Name && len(r.Body) > 2 && r.Body["hostStatuses"] == nil && r.Body["host_statuses"] == nil {
			if diff := cmp.Diff(envoy.Flatten(want), r.Leaves()); diff != "" {
				t.Errorf("%s %s (-want +got):\n%s", r.Kind, r.Name, diff)
			}
		}
	}
}

func TestReadDetails(t *testing.T) {
	_, resources, _, err := collect(t, printed(t, snake(configDump(loadCompiled(t)))))
	if err != nil {
		t.Fatal(err)
	}
	reasons := map[string]string{}
	line := 0
	for _, r := range resources {
		if r.State == Failed {
			reasons[r.Name] = r.Reason
			if r.Body == nil {
				t.Errorf("%s has no body at all", r.Name)
			}
		}
		if r.Line < line {
			t.Errorf("%s begins on line %d, before what stands above it", r.Name, r.Line)
		}
		line = r.Line
	}
	want := map[string]string{"0.0.0.0_443": "error adding listener: no such filter", "10.0.0.2_80": "duplicate address"}
	if diff := cmp.Diff(want, reasons); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestNode(t *testing.T) {
	metadata := map[string]any{
		"NAMESPACE": "shop", "ISTIO_VERSION": "1.26.2", "LABELS": fields{"app": "web", "istio.io/rev": "stable"}, "DNS_CAPTURE": "true",
	}
	for _, tt := range []struct {
		name string
		node fields
		want Node
	}{
		{"sidecar", bootstrapOf(nodeID)["node"].(fields), Node{
			ID: nodeID, Type: "sidecar", Namespace: "shop", ClusterDomain: "cluster.local", Labels: map[string]string{"app": "web", "istio.io/rev": "stable"},
			IstioVersion: "1.26.2", Revision: "stable", Locality: Locality{"eu", "eu-1", "a"}, Metadata: metadata,
		}},
		{"waypoint, by its ID alone", fields{"id": "waypoint~192.0.2.1~wp-1.x.apps~apps.svc.corp.example"}, Node{
			ID: "waypoint~192.0.2.1~wp-1.x.apps~apps.svc.corp.example", Type: "waypoint", Namespace: "apps", ClusterDomain: "corp.example",
		}},
		{"revision of the metadata", fields{"metadata": fields{"ISTIO_REVISION": "canary", "LABELS": fields{"istio.io/rev": "stable", "n": 1}}}, Node{
			Revision: "canary", Labels: map[string]string{"istio.io/rev": "stable"},
			Metadata: fields{"ISTIO_REVISION": "canary", "LABELS": fields{"istio.io/rev": "stable", "n": 1}},
		}},
		{"another ID", fields{"id": "front-proxy", "metadata": "x", "locality": 1}, Node{ID: "front-proxy"}},
		{"an ID without its parts", fields{"id": "router~~x~y"}, Node{ID: "router~~x~y", Type: "router"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, shape := range []any{tt.node, snake(tt.node)} {
				if diff := cmp.Diff(tt.want, nodeOf(shape.(fields))); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			}
		})
	}
}

func TestReadStops(t *testing.T) {
	text := printed(t, loadCompiled(t).Clusters)
	t.Run("visit fails", func(t *testing.T) {
		stop := errors.New("enough")
		s, err := Read(t.Context(), "dump.json", strings.NewReader(text), Limits{}, func(Resource) error { return stop })
		if err != stop { //nolint:errorlint // as it is
			t.Errorf("got %v", err)
		}
		if s.Counts[Cluster] != 1 {
			t.Errorf("%d clusters", s.Counts[Cluster])
		}
	})
	t.Run("visit fails later", func(t *testing.T) {
		single := fields{"configs": []any{typed("admin.v3.ClustersConfigDump.DynamicCluster", fields{"cluster": fields{"name": "a"}})}}
		for _, shape := range []any{configDump(loadCompiled(t)), loadCompiled(t).Listeners, single, fields{"clusterStatuses": []any{fields{"name": "a"}}}} {
			text := printed(t, shape)
			_, _, all, err := collect(t, text)
			if err != nil {
				t.Fatal(err)
			}
			stop := errors.New("enough")
			for most := range all {
				n := 0
				s, err := Read(t.Context(), "dump.json", strings.NewReader(text), Limits{}, func(Resource) error {
					if n++; n > most {
						return stop
					}
					return nil
				})
				counted := 0
				for _, c := range s.Counts {
					counted += c
				}
				if !errors.Is(err, stop) || n != most+1 || counted != n {
					t.Errorf("after %d of %d: %v, visited %d, counted %d", most, len(all), err, n, counted)
				}
			}
		}
	})
	t.Run("reading fails between two outputs", func(t *testing.T) {
		broken := errors.New("disk on fire")
		_, err := Read(t.Context(), "dump.json", io.MultiReader(strings.NewReader(text), iotest.ErrReader(broken)), Limits{}, func(Resource) error { return nil })
		if !errors.Is(err, broken) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("reading fails", func(t *testing.T) {
		broken := errors.New("disk on fire")
		_, err := Read(t.Context(), "dump.json", io.MultiReader(strings.NewReader(text[:2000]), iotest.ErrReader(broken)), Limits{}, func(Resource) error { return nil })
		if !errors.Is(err, broken) || err.Error() != "dump.json: disk on fire" {
			t.Errorf("got %v", err)
		}
	})
	t.Run("the end comes with the last bytes", func(t *testing.T) {
		if _, err := Read(t.Context(), "dump.json", iotest.DataErrReader(strings.NewReader(text)), Limits{}, func(Resource) error { return nil }); err != nil {
			t.Error(err)
		}
	})
	t.Run("the reader gives nothing", func(t *testing.T) {
		_, err := Read(t.Context(), "dump.json", idle{}, Limits{}, func(Resource) error { return nil })
		if !errors.Is(err, io.ErrNoProgress) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("the reader lies", func(t *testing.T) {
		_, err := Read(t.Context(), "dump.json", liar{}, Limits{}, func(Resource) error { return nil })
		if err == nil {
			t.Error("no error")
		}
	})
	t.Run("cancelled before", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := Read(ctx, "dump.json", strings.NewReader(text), Limits{}, func(Resource) error { return nil })
		if !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("cancelled while reading", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		endless := &repeating{head: "[", unit: `{"name": "a", "type": "EDS"},`, count: 1 << 40}
		_, err := Read(ctx, "dump.json", endless, Limits{}, func(Resource) error { cancel(); return nil })
		if !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})
}

type idle struct{}

func (idle) Read([]byte) (int, error) { return 0, nil }

type liar struct{}

func (liar) Read(p []byte) (int, error) { return len(p) + 1, nil }
