package dump

import (
	"fmt"
	"strings"

	"github.com/meshvet/meshvet/lint/envoy"
)

// Node is the proxy that a dump is of, as its bootstrap tells. What it does not tell is "".
type Node struct {
	ID            string // such as sidecar~10.1.0.7~web-5d9f.shop~shop.svc.cluster.local
	Type          string // sidecar, router or waypoint: the first part of the ID
	Namespace     string // of the workload
	ClusterDomain string // such as cluster.local, from the last part of the ID
	Labels        map[string]string
	IstioVersion  string // of the proxy, such as 1.26.2
	Revision      string // of the control plane: ISTIO_REVISION, or the label istio.io/rev
	Locality      Locality
	// Metadata is all that the proxy tells of itself, under the names of Istio's NodeMetadata, such as DNS_CAPTURE.
	Metadata map[string]any
}

// Locality is where a proxy runs.
type Locality struct{ Region, Zone, SubZone string }

// bootstrap reads the node and passes the rest.
func (r *reader) bootstrap() error {
	section, index := r.section, r.index
	r.section, r.index = "bootstrap", -1
	defer func() { r.section, r.index = section, index }()
	return r.object(true, func(name string) error {
		if envoy.Name(name) != "node" {
			return r.skip()
		}
		m, err := r.resource()
		if err != nil {
			return err
		}
		node := nodeOf(m)
		if known := r.summary.Node.ID; known != "" && known != node.ID {
			return r.errorAt(r.start, Mixed, fmt.Sprintf("holds dumps of two proxies, %s and %s", excerpt(known), excerpt(node.ID)), "give the dump of one proxy")
		}
		r.summary.Node = node
		return nil
	})
}

func nodeOf(m map[string]any) Node {
	metadata := object(m, "metadata")
	text := func(m map[string]any, name string) string {
		s, _ := m[name].(string)
		return s
	}
	n := Node{
		ID:           text(m, "id"),
		Namespace:    text(metadata, "NAMESPACE"),
		IstioVersion: text(metadata, "ISTIO_VERSION"),
		Revision:     text(metadata, "ISTIO_REVISION"),
		Metadata:     metadata,
	}
	const parts = 4 // type, address, pod.namespace, domain
	if id := strings.Split(n.ID, "~"); len(id) == parts {
		n.Type = id[0]
		if dot := strings.LastIndexByte(id[2], '.'); n.Namespace == "" && dot >= 0 {
			n.Namespace = id[2][dot+1:]
		}
		if _, domain, ok := strings.Cut(id[3], ".svc."); ok {
			n.ClusterDomain = domain
		}
	}
	for name, v := range object(metadata, "LABELS") {
		if value, ok := v.(string); ok {
			if n.Labels == nil {
				n.Labels = map[string]string{}
			}
			n.Labels[name] = value
		}
	}
	if n.Revision == "" {
		n.Revision = n.Labels["istio.io/rev"]
	}
	locality := object(m, "locality")
	subZone, _ := field(locality, "sub_zone").(string)
	n.Locality = Locality{text(locality, "region"), text(locality, "zone"), subZone}
	return n
}
