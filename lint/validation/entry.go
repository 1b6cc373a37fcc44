package validation

import (
	"strings"

	"github.com/meshvet/meshvet/lint/object"
)

// protocols are the words that Istio knows, in any case.
var protocols = []string{"TCP", "UDP", "GRPC", "GRPC-WEB", "HTTP", "HTTP_PROXY", "HTTP2", "HTTPS", "TLS", "MONGO", "REDIS", "MYSQL"}

func knownProtocol(word string) bool {
	for _, p := range protocols {
		if strings.EqualFold(p, word) {
			return true
		}
	}
	return false
}

// tellsHosts says whether the bytes of a protocol name the host that is meant.
func tellsHosts(protocol string) bool {
	switch strings.ToUpper(protocol) {
	case "HTTP", "HTTP2", "HTTP_PROXY", "GRPC", "GRPC-WEB", "HTTPS", "TLS":
		return true
	}
	return false
}

func (r *review) serviceEntry(spec object.Value) {
	root := object.Path{"spec"}
	if labels := spec.At("workloadSelector", "labels"); labels.Type() == object.Map {
		r.selector(root.Child("workloadSelector", "labels"), labels)
	}
	endpoints := spec.Get("endpoints")
	if spec.Get("workloadSelector").Set() && endpoints.Len() > 0 {
		r.refuse(root.Child("endpoints"), "endpoints stand beside workloadSelector, and only one of them can say where traffic goes")
	}
	hosts := spec.Get("hosts")
	if hosts.Len() == 0 {
		r.missing(root, "hosts", "the ServiceEntry names no host")
	}
	resolution := spec.Get("resolution").Str()
	for i, h := range hosts.Items() {
		at := root.Child("hosts", i)
		if h.Type() != object.String {
			continue
		}
		if h.Str() == "*" {
			r.refuse(at, "the host is \"*\", and a ServiceEntry cannot be for every host there is")
		} else if fault := hostFault(h.Str(), true); fault != "" {
			r.refuse(at, "host %q %s", h.Str(), fault)
		}
	}
	r.addresses(root, spec, resolution)
	names := r.ports(root, spec.Get("ports"))
	switch resolution {
	case "", "NONE":
		if endpoints.Len() > 0 {
			r.refuse(root.Child("endpoints"), "endpoints are listed, and resolution is %s, by which Envoy goes to the address that the client dialled", orNone(resolution))
		}
	case "STATIC":
		r.staticEndpoints(root.Child("endpoints"), endpoints, names)
	case "DNS", "DNS_ROUND_ROBIN":
		r.namedEndpoints(root, spec, resolution, names)
	case "DYNAMIC_DNS":
		r.dynamicDNS(root, spec)
	}
	if resolution != "" && resolution != "NONE" && hosts.Len() > 1 {
		for i, port := range spec.Get("ports").Items() {
			protocol := port.Get("protocol")
			if port.Type() == object.Map && !tellsHosts(protocol.Str()) {
				r.refuse(protocolOf(root.Child("ports", i), port), "port %s (%s) is shared by %d hosts, and the bytes of such a protocol do not say which one is meant: give each host a ServiceEntry of its own",
					port.Get("number").Text(), orNothing(protocol.Str()), hosts.Len())
				break
			}
		}
	}
	r.exportTo(root.Child("exportTo"), spec.Get("exportTo"), true, false)
}

// protocolOf is where the protocol of a port is written, the port if it is not.
func protocolOf(at object.Path, port object.Value) object.Path {
	if port.Get("protocol").Set() {
		return at.Child("protocol")
	}
	return at
}

func orNone(resolution string) string {
	if resolution == "" {
		return "omitted (NONE)"
	}
	return resolution
}

func orNothing(protocol string) string {
	if protocol == "" {
		return "no protocol"
	}
	return strings.ToUpper(protocol)
}

func (r *review) addresses(root object.Path, spec object.Value, resolution string) {
	ranges := -1
	for i, a := range spec.Get("addresses").Items() {
		if a.Type() != object.String {
			continue
		}
		if fault := addressFault(a.Str()); fault != "" {
			r.refuse(root.Child("addresses", i), "address %q %s", a.Str(), fault)
		}
		if ranges < 0 && strings.Contains(a.Str(), "/") {
			ranges = i
		}
	}
	if ranges >= 0 && resolution != "" && resolution != "NONE" && resolution != "STATIC" && resolution != "DYNAMIC_DNS" {
		r.refuse(root.Child("addresses", ranges), "address %s is a range, which Istio takes with resolution NONE or STATIC, not with %s",
			spec.At("addresses", ranges).Str(), resolution)
	}
}

// ports checks the ports of an entry and returns their names.
func (r *review) ports(root object.Path, ports object.Value) map[string]bool {
	names, numbers := map[string]bool{}, map[int64]bool{}
	for i, port := range ports.Items() {
		at := root.Child("ports", i)
		if port.Type() != object.Map {
			if port.Type() == object.Null {
				r.refuse(at, "ports[%d] is empty", i)
			}
			continue
		}
		name, number := port.Get("name"), port.Get("number")
		switch {
		case name.Str() == "" && (name.Type() == object.String || !name.Set()):
			r.missing(at, "name", "port %s has no name, and every port needs one, such as %s", number.Text(), nameFor(port))
		case name.Type() == object.String && !isLabel(name.Str()):
			r.refuse(at.Child("name"), "port name %q is none: letters, digits and inner hyphens, 63 at most", name.Str())
		case names[name.Str()]:
			r.refuse(at.Child("name"), "two ports have the name %s; endpoints name ports by it", name.Str())
		}
		names[name.Str()] = true
		if number.Type() == object.Int {
			if numbers[number.Int()] {
				r.refuse(at.Child("number"), "port %d is listed twice", number.Int())
			}
			numbers[number.Int()] = true
		}
		r.portNumber(at.Child("number"), number)
		if target := port.Get("targetPort"); target.Int() != 0 {
			r.portNumber(at.Child("targetPort"), target)
		}
		if p := port.Get("protocol"); p.Type() == object.String && p.Str() != "" && !knownProtocol(p.Str()) {
			r.refuse(at.Child("protocol"), "protocol %q is unknown; there are %s", p.Str(), strings.Join(protocols, ", "))
		}
	}
	return names
}

// nameFor is a name that a port might have.
func nameFor(port object.Value) string {
	if p := port.Get("protocol").Str(); p != "" && isLabel(p) {
		return strings.ToLower(p)
	}
	return "tcp"
}

// staticEndpoints checks endpoints that are addresses or sockets.
func (r *review) staticEndpoints(at object.Path, endpoints object.Value, names map[string]bool) {
	for i, e := range endpoints.Items() {
		if e.Type() != object.Map {
			continue
		}
		where, address := at.Child(i), e.Get("address")
		socket, isSocket := strings.CutPrefix(address.Str(), "unix://")
		switch {
		case address.Str() == "" && e.Get("network").Str() == "":
			r.missing(where, "address", "endpoint %d has neither an address nor a network", i+1)
			continue
		case address.Str() == "":
		case isSocket:
			if fault := socketFault(socket); fault != "" {
				r.refuse(where.Child("address"), "endpoint %q %s", address.Str(), fault)
			}
			if e.Get("ports").Len() > 0 {
				r.refuse(where.Child("ports"), "endpoint %s is a socket and has no ports", address.Str())
			}
			if len(names) != 1 {
				r.refuse(where.Child("address"), "endpoint %s is a socket, and the ServiceEntry has %d ports: a socket stands for exactly one", address.Str(), len(names))
			}
		case !isIP(address.Str()):
			r.refuse(where.Child("address"), "endpoint %q is no IP address, and with resolution STATIC nothing is looked up", address.Str())
		}
		r.endpointPorts(where, e, names)
	}
}

// namedEndpoints checks what is to be looked up in DNS.
func (r *review) namedEndpoints(root object.Path, spec object.Value, resolution string, names map[string]bool) {
	endpoints := spec.Get("endpoints")
	if endpoints.Len() == 0 {
		for _, h := range spec.Get("hosts").Items() {
			if h.Type() != object.String || h.Str() == "*" {
				continue
			}
			if fault := hostFault(h.Str(), false); fault != "" {
				if hostFault(h.Str(), true) == "" {
					r.refuse(root.Child("resolution"), "resolution %s looks hosts up in DNS, and %q is a wildcard without an endpoint", resolution, h.Str())
				}
				break
			}
		}
	}
	if resolution == "DNS_ROUND_ROBIN" && endpoints.Len() > 1 {
		r.refuse(root.Child("endpoints"), "%d endpoints are listed, and resolution DNS_ROUND_ROBIN takes one at most", endpoints.Len())
	}
	for i, e := range endpoints.Items() {
		if e.Type() != object.Map {
			continue
		}
		where, address := root.Child("endpoints", i), e.Get("address").Str()
		if address == "" {
			r.missing(where, "address", "endpoint %d has no address to look up", i+1)
		} else if !isIP(address) {
			if fault := hostFault(address, false); fault != "" {
				r.refuse(where.Child("address"), "endpoint %q %s", address, fault)
			}
		}
		r.endpointPorts(where, e, names)
	}
}

// endpointPorts checks the ports and labels of one endpoint.
func (r *review) endpointPorts(at object.Path, e object.Value, names map[string]bool) {
	ports := e.Get("ports")
	for _, name := range sortedKeys(ports) {
		where, port := at.Child("ports", name), ports.Get(name)
		if !names[name] {
			r.refuse(where, "the endpoint has a port %q (%s), and the ServiceEntry has no port of that name", name, port.Text())
		} else if !isLabel(name) {
			r.refuse(where, "port name %q is none: letters, digits and inner hyphens, 63 at most", name)
		}
		r.portNumber(where, port)
	}
	r.labelsOf(at.Child("labels"), e.Get("labels"))
}

func (r *review) dynamicDNS(root object.Path, spec object.Value) {
	for _, h := range spec.Get("hosts").Items() {
		if h.Type() == object.String && !strings.HasPrefix(h.Str(), "*") {
			r.refuse(root.Child("resolution"), "resolution DYNAMIC_DNS is for wildcards only, and host %q is none", h.Str())
		}
	}
	for _, list := range []string{"addresses", "endpoints"} {
		if n := spec.Get(list).Len(); n > 0 {
			r.refuse(root.Child(list), "%s are listed (%d), and with resolution DYNAMIC_DNS the name that the client asks for decides where traffic goes", list, n)
		}
	}
	for i, port := range spec.Get("ports").Items() {
		protocol := port.Get("protocol").Str()
		switch strings.ToUpper(protocol) {
		case "HTTP", "HTTP2", "GRPC", "TLS":
		default:
			if port.Type() == object.Map {
				r.refuse(protocolOf(root.Child("ports", i), port), "port %s has protocol %s, and resolution DYNAMIC_DNS takes HTTP, HTTP2, GRPC and TLS", port.Get("number").Text(), orNothing(protocol))
			}
		}
	}
	if waypoint := r.object.Lookup(object.Path{"metadata", "labels", "istio.io/use-waypoint"}).Str(); waypoint != "" && !strings.EqualFold(waypoint, "none") && spec.Get("location").Str() == "MESH_INTERNAL" {
		r.refuse(root.Child("location"), "location is MESH_INTERNAL, which resolution DYNAMIC_DNS does not take behind a waypoint (%s)", waypoint)
	}
}
