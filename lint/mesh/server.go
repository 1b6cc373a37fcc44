package mesh

import (
	"slices"
	"strings"

	"github.com/meshvet/meshvet/lint/object"
)

// Server is a server of a Gateway.
type Server struct {
	Gateway *object.Object
	Path    object.Path
	// Names are the names of hosts, without the namespaces that they may be limited to.
	Names    []Host
	Protocol string // upper case
	Mode     string // of tls; "" if there is none
	// Sure says that the pods of the Service have the Gateway for certain, and not perhaps.
	Sure bool
}

// IsTLS says whether clients of the server start TLS, whether the gateway ends it or not.
func (s Server) IsTLS() bool { return s.Protocol == "HTTPS" || s.Protocol == "TLS" }

// ReadsPlainHTTP says whether the gateway expects requests without TLS.
func (s Server) ReadsPlainHTTP() bool { return familyOf(s.Protocol) == L7 }

// maxServers is how many servers of one port are looked at. If there are more nothing is said of any.
const maxServers = 1000

// ServersFor returns the servers that the pods of a Service have, or may have, on one of its ports; none if there may be very many. Of
// a Service that is not in view the labels of the pods are those that Istio's chart gives a gateway of its name.
func (x *Index) ServersFor(service Host, port uint32) []Server {
	return cached(x, servedCache, destination{service, port}, (*Index).serversFor)
}

func (x *Index) serversFor(d destination) []Server {
	service, port := d.host, d.port
	name, _, _ := strings.Cut(string(service), ".")
	labels := map[string]string{"app": name, "istio": strings.TrimPrefix(name, "istio-")}
	numbers := []uint32{port}
	for _, t := range x.Targets(service) {
		if !t.IsService() {
			return nil
		}
		labels = map[string]string{}
		for k, v := range t.Object.Spec().Get("selector").Fields() {
			labels[k] = v.Text()
		}
		if p, has := t.Port(port); has && p.TargetPort != 0 && p.TargetPort != port {
			numbers = append(numbers, p.TargetPort) // a server may name what the pod listens on
		}
	}
	atPort := cached(x, serversCache, theOnly{}, (*Index).readGateways)
	var out []Server
	for _, n := range numbers {
		all := atPort[n]
		if len(all) > maxServers {
			return nil
		}
		for _, s := range all {
			selector := s.Gateway.Spec().Get("selector")
			sure, may := selector.Len() > 0, true
			for k, v := range selector.Fields() {
				have, has := labels[k]
				sure = sure && has && have == v.Text()
				may = may && (!has || have == v.Text())
			}
			if may {
				s.Sure = sure
				out = append(out, s)
			}
		}
	}
	return out
}

// readGateways sorts the servers of all Gateways by port.
func (x *Index) readGateways(theOnly) map[uint32][]Server {
	atPort := map[uint32][]Server{}
	for gw := range x.All(object.Gateway) {
		for i, v := range gw.Spec().Get("servers").Items() {
			s := Server{
				Gateway: gw, Path: object.Path{"spec", "servers", i},
				Protocol: strings.ToUpper(v.At("port", "protocol").Str()), Mode: v.At("tls", "mode").Str(),
			}
			if s.Mode == "" && v.Get("tls").Set() {
				s.Mode = "PASSTHROUGH" // the first of the modes
			}
			for _, h := range sorted(v.Get("hosts").Strings()) {
				s.Names = append(s.Names, Host(h[strings.LastIndexByte(h, '/')+1:]))
			}
			slices.Sort(s.Names)
			s.Names = slices.Compact(s.Names)
			n := uint32(v.At("port", "number").Int())
			atPort[n] = append(atPort[n], s)
		}
	}
	return atPort
}
