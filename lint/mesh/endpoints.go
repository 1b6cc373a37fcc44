package mesh

import (
	"cmp"
	"iter"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/meshvet/meshvet/lint/object"
)

// endpointCounts remembers how many endpoints of a target have which labels: it is asked for each port of each host and subset.
type endpointCounts struct {
	mu    sync.Mutex
	known map[string]endpointCount
}

type endpointCount struct {
	n         int
	addresses bool
}

// maxEndpointCounts bounds what is remembered of one target. A mesh in which rules come and go for years asks for more sets of
// labels than any one of its rules has.
const maxEndpointCounts = 8192

// CountEndpoints returns the number of endpoints of spec.endpoints that have all of some labels, an absent value for any. It also
// says whether each of them is an address, so that Envoy holds as many as there are; sockets (unix://) count as addresses if asked
// for.
func (t *Target) CountEndpoints(labels object.Value, sockets bool) (n int, addresses bool) {
	key := strconv.FormatBool(sockets) + labelText(labels)
	c := &t.endpointCounts
	c.mu.Lock()
	defer c.mu.Unlock()
	if have, ok := c.known[key]; ok {
		return have.n, have.addresses
	}
	addresses = true
	for _, e := range t.Endpoints().Items() {
		if !HasLabels(e, labels) {
			continue
		}
		n++
		address := e.Get("address").Str()
		addresses = addresses && (Host(address).IsAddress() || sockets && strings.HasPrefix(address, "unix://"))
	}
	if c.known == nil || len(c.known) >= maxEndpointCounts {
		c.known = map[string]endpointCount{}
	}
	c.known[key] = endpointCount{n, addresses}
	return n, addresses
}

// Dials returns the ports, in order and each once, to which Envoy connects for a port of a ServiceEntry: those of its endpoints, or
// without any that of the host itself. known is false where workloads are chosen by labels, and for DYNAMIC_DNS, where the request says
// which port it is for.
func (t *Target) Dials(p Port) (ports []uint32, known bool) {
	if t.HasSelector() || t.Resolution == "DYNAMIC_DNS" {
		return nil, false
	}
	endpoints := t.Endpoints()
	if t.Resolution == "NONE" || endpoints.Len() == 0 && t.Resolution != "STATIC" {
		return []uint32{p.EndpointPort()}, true
	}
	for _, e := range endpoints.Items() {
		if strings.HasPrefix(e.Get("address").Str(), "unix:") {
			continue
		}
		port := p.EndpointPort()
		if own := e.Get("ports").Get(p.Name); own.Int() > 0 {
			port = uint32(own.Int())
		}
		if !slices.Contains(ports, port) {
			ports = append(ports, port)
		}
	}
	slices.Sort(ports)
	return ports, true
}

// HasLabels says whether an endpoint, or a WorkloadEntry's spec, has all of some labels, those that Istio derives included.
func HasLabels(endpoint, labels object.Value) bool {
	for k, v := range labels.Fields() {
		if endpointLabel(endpoint, k) != v.Text() {
			return false
		}
	}
	return true
}

// The labels that Istio derives from other fields of an endpoint. That of its cluster, and the network where none is written, hang on
// how istiod is installed.
const (
	regionLabel  = "topology.kubernetes.io/region"
	zoneLabel    = "topology.kubernetes.io/zone"
	subzoneLabel = "topology.istio.io/subzone"
	networkLabel = "topology.istio.io/network"
	clusterLabel = "topology.istio.io/cluster"

	localityLabel = "topology.istio.io/locality" // stands for the field of that name
)

// endpointLabel is a label of an endpoint. What its locality says goes before the label that is written. Source: Istio's
// pilot/pkg/serviceregistry/util/label, AugmentLabels.
func endpointLabel(endpoint object.Value, name string) string {
	own := endpoint.At("labels", name).Text()
	i := slices.Index([]string{regionLabel, zoneLabel, subzoneLabel}, name)
	switch {
	case name == networkLabel && own == "":
		return endpoint.Get("network").Str()
	case i < 0:
		return own
	}
	locality := endpoint.Get("locality").Str()
	if locality == "" {
		labels := endpoint.Get("labels")
		if locality = labels.Get("istio-locality").Str(); labels.Get(localityLabel).Exists() {
			locality = labels.Get(localityLabel).Str()
		}
		if !strings.Contains(locality, "/") {
			locality = strings.ReplaceAll(locality, ".", "/")
		}
	}
	if parts := strings.Split(locality, "/"); i < len(parts) && parts[i] != "" {
		return parts[i]
	}
	return own
}

// HangsOnInstallation says whether some labels are such that no manifest shows which endpoints have them.
func HangsOnInstallation(labels object.Value) bool {
	return labels.Get(clusterLabel).Exists() || labels.Get(networkLabel).Exists()
}

// labelText writes labels such that equal ones, in whatever order, have equal texts.
func labelText(labels object.Value) string {
	if labels.Len() == 0 {
		return ""
	}
	pairs := make([][2]string, 0, labels.Len())
	for k, v := range labels.Fields() {
		pairs = append(pairs, [2]string{k, v.Text()})
	}
	slices.SortFunc(pairs, func(a, b [2]string) int { return cmp.Or(strings.Compare(a[0], b[0]), strings.Compare(a[1], b[1])) })
	var b strings.Builder
	for _, p := range pairs {
		b.WriteString(strconv.Quote(p[0]) + strconv.Quote(p[1]))
	}
	return b.String()
}

// SelectsEndpoint says whether the workloadSelector of a ServiceEntry chooses a WorkloadEntry in view that has all of some
// labels. What it chooses among pods is not in view.
func (x *Index) SelectsEndpoint(t *Target, labels object.Value) bool {
	for w := range x.Selected(t) {
		if HasLabels(w.Spec(), labels) {
			return true
		}
	}
	return false
}

// Selected yields the WorkloadEntries that a workloadSelector chooses. Pods, which it chooses too, are never in view.
func (x *Index) Selected(t *Target) iter.Seq[*object.Object] {
	return func(yield func(*object.Object) bool) {
		selector := t.Object.Spec().At("workloadSelector", "labels")
		for _, w := range x.workload.at(x.seed, t.Namespace()) {
			if HasLabels(w.Spec(), selector) && !yield(w) {
				return
			}
		}
	}
}
