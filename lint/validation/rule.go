package validation

import (
	"slices"
	"strings"
	"time"

	"github.com/meshvet/meshvet/lint/object"
)

// blocks are what a traffic policy can hold; an entry for a port can hold the first four.
var blocks = []string{"connectionPool", "outlierDetection", "loadBalancer", "tls", "portLevelSettings", "tunnel", "proxyProtocol", "retryBudget"}

const portBlocks = 4

func (r *review) destinationRule(spec object.Value) {
	root := object.Path{"spec"}
	if h := spec.Get("host"); h.Type() == object.String || !h.Set() {
		if fault := hostFault(h.Str(), true); h.Str() == "" {
			r.missing(root, "host", "the DestinationRule names no host")
		} else if fault != "" {
			r.refuse(root.Child("host"), "host %q %s", h.Str(), fault)
		}
	}
	r.trafficPolicy(root.Child("trafficPolicy"), spec.Get("trafficPolicy"))
	names := map[string]bool{}
	for i, s := range spec.Get("subsets").Items() {
		at := root.Child("subsets", i)
		if s.Type() != object.Map {
			continue
		}
		name := s.Get("name")
		switch {
		case name.Str() == "" && (name.Type() == object.String || !name.Set()):
			r.missing(at, "name", "subset %d has no name, by which routes would choose it", i+1)
		case name.Type() == object.String && !isLabel(name.Str()):
			r.refuse(at.Child("name"), "subset name %q is none: letters, digits and inner hyphens, 63 at most", name.Str())
		case names[name.Str()]:
			r.refuse(at.Child("name"), "two subsets have the name %s", name.Str())
		}
		names[name.Str()] = true
		r.labelsOf(at.Child("labels"), s.Get("labels"))
		r.trafficPolicy(at.Child("trafficPolicy"), s.Get("trafficPolicy"))
	}
	selector := spec.Get("workloadSelector")
	r.exportTo(root.Child("exportTo"), spec.Get("exportTo"), false, selector.Set())
	if labels := selector.Get("matchLabels"); labels.Type() == object.Map {
		r.selector(root.Child("workloadSelector", "matchLabels"), labels)
	}
}

// holdsOneOf says whether a mapping sets one of some fields. An empty list counts as not set.
func holdsOneOf(v object.Value, names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		f := v.Get(name)
		return f.Set() && (f.Type() != object.List || f.Len() > 0)
	})
}

func (r *review) trafficPolicy(at object.Path, policy object.Value) {
	if policy.Type() != object.Map {
		return
	}
	if !holdsOneOf(policy, blocks) {
		r.refuse(at, "trafficPolicy is empty: it needs at least one of %s", strings.Join(blocks, ", "))
		return
	}
	if policy.Get("tunnel").Set() && policy.Get("proxyProtocol").Set() {
		r.refuse(at.Child("proxyProtocol"), "proxyProtocol stands beside tunnel, and only one of them can begin the connection")
		return
	}
	r.portPolicy(at, policy)
	for i, entry := range policy.Get("portLevelSettings").Items() {
		where := at.Child("portLevelSettings", i)
		if entry.Type() != object.Map {
			continue
		}
		if !entry.Get("port").Set() {
			r.missing(where, "port", "entry %d of portLevelSettings names no port", i+1)
		}
		if !holdsOneOf(entry, blocks[:portBlocks]) {
			r.refuse(where, "the entry for port %s is empty: it needs at least one of %s", entry.At("port", "number").Text(), strings.Join(blocks[:portBlocks], ", "))
			continue
		}
		r.portPolicy(where, entry)
	}
	r.tunnel(at.Child("tunnel"), policy.Get("tunnel"))
}

// portPolicy checks what a traffic policy and an entry for a port have in common.
func (r *review) portPolicy(at object.Path, policy object.Value) {
	r.outlierDetection(at.Child("outlierDetection"), policy.Get("outlierDetection"))
	r.connectionPool(at.Child("connectionPool"), policy.Get("connectionPool"))
	r.loadBalancer(at.Child("loadBalancer"), policy.Get("loadBalancer"))
	r.tls(at.Child("tls"), policy.Get("tls"))
}

func (r *review) tunnel(at object.Path, tunnel object.Value) {
	if tunnel.Type() != object.Map {
		return
	}
	if p := tunnel.Get("protocol"); p.Str() != "" && p.Str() != "CONNECT" && p.Str() != "POST" {
		r.refuse(at.Child("protocol"), "tunnel protocol is %q; CONNECT or POST is wanted", p.Str())
	}
	host := tunnel.Get("targetHost")
	if host.Str() == "" && (host.Type() == object.String || !host.Set()) {
		r.missing(at, "targetHost", "the tunnel leads to no host: targetHost is missing")
	} else if fault := hostFault(host.Str(), false); host.Type() == object.String && fault != "" && !isIP(host.Str()) {
		r.refuse(at.Child("targetHost"), "targetHost %q %s", host.Str(), fault)
	}
	if port := tunnel.Get("targetPort"); port.Set() {
		r.portNumber(at.Child("targetPort"), port)
	} else {
		r.missing(at, "targetPort", "the tunnel leads to no port: targetPort is missing")
	}
}

func (r *review) outlierDetection(at object.Path, od object.Value) {
	for _, name := range []string{"baseEjectionTime", "interval"} {
		r.duration(at.Child(name), od.Get(name), false)
	}
	if n := od.Get("consecutiveLocalOriginFailures").Int(); n > 0 && !od.Get("splitExternalLocalOriginErrors").Bool() {
		r.refuse(at.Child("consecutiveLocalOriginFailures"), "consecutiveLocalOriginFailures is %d, which only counts with splitExternalLocalOriginErrors: true", n)
	}
	for _, name := range []string{"maxEjectionPercent", "minHealthPercent"} {
		r.percent(at.Child(name), od.Get(name))
	}
}

func (r *review) connectionPool(at object.Path, pool object.Value) {
	if pool.Type() != object.Map {
		return
	}
	http, tcp := pool.Get("http"), pool.Get("tcp")
	if !http.Set() && !tcp.Set() {
		r.refuse(at, "connectionPool is empty: it needs http or tcp")
		return
	}
	for _, name := range []string{"http1MaxPendingRequests", "http2MaxRequests", "maxRequestsPerConnection", "maxRetries", "maxConcurrentStreams"} {
		r.notNegative(at.Child("http", name), http.Get(name))
	}
	r.duration(at.Child("http", "idleTimeout"), http.Get("idleTimeout"), false)
	if http.Get("h2UpgradePolicy").Str() == "UPGRADE" && http.Get("useClientProtocol").Bool() {
		r.refuse(at.Child("http", "useClientProtocol"), "useClientProtocol is true beside h2UpgradePolicy UPGRADE: either the client's protocol is kept or it is upgraded")
	}
	if keepAlive := http.Get("http2KeepAlive"); keepAlive.Type() == object.Map {
		for _, name := range []string{"interval", "timeout"} {
			if d := keepAlive.Get(name); d.Set() {
				r.duration(at.Child("http", "http2KeepAlive", name), d, false)
			} else {
				r.missing(at.Child("http", "http2KeepAlive"), name, "http2KeepAlive has no %s, and needs both interval and timeout", name)
			}
		}
	}
	r.notNegative(at.Child("tcp", "maxConnections"), tcp.Get("maxConnections"))
	for _, name := range []string{"connectTimeout", "maxConnectionDuration"} {
		r.duration(at.Child("tcp", name), tcp.Get(name), false)
	}
	r.duration(at.Child("tcp", "idleTimeout"), tcp.Get("idleTimeout"), true)
	for _, name := range []string{"time", "interval"} {
		r.duration(at.Child("tcp", "tcpKeepalive", name), tcp.At("tcpKeepalive", name), false)
	}
}

func (r *review) loadBalancer(at object.Path, lb object.Value) {
	r.consistentHash(at.Child("consistentHash"), lb.Get("consistentHash"))
	locality, zone := lb.Get("localityLbSetting"), lb.Get("zoneAwareLbSetting")
	if locality.Set() && zone.Set() {
		r.refuse(at.Child("zoneAwareLbSetting"), "zoneAwareLbSetting stands beside localityLbSetting, and only one of them can order the endpoints")
	}
	r.locality(at.Child("localityLbSetting"), locality)
	r.zoneAware(at.Child("zoneAwareLbSetting"), zone)
	if warmup := lb.Get("warmup"); warmup.Type() == object.Map {
		where := at.Child("warmup")
		if d := warmup.Get("duration"); d.Set() {
			r.duration(where.Child("duration"), d, false)
		} else {
			r.missing(where, "duration", "warmup has no duration")
		}
		if p := warmup.Get("minimumPercent"); p.Float() > 100 {
			r.refuse(where.Child("minimumPercent"), "minimumPercent is %s; 100 is the most", p.Text())
		}
		if a := warmup.Get("aggression"); (a.Type() == object.Int || a.Type() == object.Float) && a.Float() <= 0 {
			r.refuse(where.Child("aggression"), "aggression is %s; it has to be above 0", a.Text())
		}
	}
}

func (r *review) consistentHash(at object.Path, hash object.Value) {
	if cookie := hash.Get("httpCookie"); cookie.Type() == object.Map {
		where := at.Child("httpCookie")
		if name := cookie.Get("name"); name.Str() == "" && (name.Type() == object.String || !name.Set()) {
			r.missing(where, "name", "httpCookie has no name")
		}
		if ttl := cookie.Get("ttl"); ttl.Type() == object.String {
			if _, err := time.ParseDuration(ttl.Str()); err != nil {
				r.refuse(where.Child("ttl"), "ttl is %q, which is no duration; a number with a unit is wanted, such as 60s", ttl.Str())
			}
		}
		names := map[string]bool{}
		for i, a := range cookie.Get("attributes").Items() {
			name := a.Get("name").Str()
			switch {
			case name == "":
				r.missing(where.Child("attributes", i), "name", "attribute %d of httpCookie has no name", i+1)
			case names[name]:
				r.refuse(where.Child("attributes", i, "name"), "two attributes of httpCookie have the name %s", name)
			}
			names[name] = true
		}
	}
	maglev := hash.Get("maglev")
	if n := hash.Get("minimumRingSize").Int(); n != 0 && (maglev.Set() || hash.Get("ringHash").Set()) {
		r.refuse(at.Child("minimumRingSize"), "minimumRingSize is %d beside ringHash or maglev, which take its place; write ringHash.minimumRingSize", n)
	}
	if maglev.Type() == object.Map {
		where := at.Child("maglev")
		switch size := maglev.Get("tableSize"); {
		case size.Int() == 0 && (size.Type() == object.Int || !size.Set()):
			r.missing(where, "tableSize", "maglev has no tableSize; it needs a prime number such as 65537")
		case size.Int() >= 5000011:
			r.refuse(where.Child("tableSize"), "tableSize is %d; it has to be less than 5000011", size.Int())
		case size.Int() > 0 && !prime(size.Int()):
			r.refuse(where.Child("tableSize"), "tableSize is %d, which is no prime number; %d is one", size.Int(), primeFrom(size.Int()))
		}
	}
}

// prime holds for 1, as it does for Envoy.
func prime(n int64) bool {
	for f := int64(2); f*f <= n; f++ {
		if n%f == 0 {
			return false
		}
	}
	return true
}

// primeFrom finds the next prime number.
func primeFrom(n int64) int64 {
	for !prime(n) {
		n++
	}
	return n
}

const topology = "topology.kubernetes.io/"

// topologyLabels are those by which Istio orders endpoints of itself.
var topologyLabels = []string{topology + "region", topology + "zone", "topology.istio.io/subzone"}

func (r *review) locality(at object.Path, lb object.Value) {
	if lb.Type() != object.Map {
		return
	}
	distribute, failover := lb.Get("distribute"), lb.Get("failover")
	if distribute.Len() > 0 && failover.Len() > 0 {
		r.refuse(at.Child("failover"), "failover stands beside distribute, and only one of them can say where traffic goes")
		return
	}
	if failover.Len() > 0 {
		for i, label := range lb.Get("failoverPriority").Items() {
			if slices.Contains(topologyLabels, label.Str()) {
				r.refuse(at.Child("failoverPriority", i), "failoverPriority names %s beside failover, which orders regions already", label.Str())
				return
			}
		}
	}
	var from []located
	for i, d := range distribute.Items() {
		where := at.Child("distribute", i)
		if f := d.Get("from"); f.Type() == object.String || !f.Set() {
			from = append(from, located{f.Str(), where.Child("from")})
		}
		to := d.Get("to")
		sum := int64(0)
		var names []located
		for name, weight := range to.Fields() {
			names = append(names, located{name, where.Child("to", name)})
			if n := weight.Int(); weight.Type() == object.Int && (n <= 0 || n > 100) {
				r.refuse(where.Child("to", name), "the weight of %s is %d; weights go from 1 to 100", name, n)
				return
			}
			sum += weight.Int()
		}
		if sum != 100 {
			r.refuse(where.Child("to"), "the weights of localities come to %d; they have to come to 100", sum)
			return
		}
		r.localities(names, true)
	}
	r.localities(from, false)
	r.failover(at.Child("failover"), failover)
}

// located is the name of a locality and where it stands.
type located struct {
	name string
	at   object.Path
}

// localities checks that localities are region, region/zone or region/zone/subzone, and that none is within one before it. Those in a
// mapping come in any order.
func (r *review) localities(list []located, anyOrder bool) {
	var seen [][]string
	for _, l := range list {
		parts := strings.SplitN(l.name, "/", 3)
		switch {
		case strings.Count(l.name, "*") > 1 || strings.Contains(l.name, "*") && !strings.HasSuffix(l.name, "*"):
			r.refuse(l.at, "locality %q has a star that is not at its end, or more than one", l.name)
			return
		case slices.Contains(parts, ""):
			r.refuse(l.at, "locality %q has an empty part; region, region/zone or region/zone/subzone is wanted", l.name)
			return
		}
		for _, other := range seen {
			if overlap(other, parts) || anyOrder && overlap(parts, other) {
				r.refuse(l.at, "localities %q and %q take in the same endpoints", strings.Join(other, "/"), l.name)
				r.found[len(r.found)-1].Sometimes = anyOrder
				return
			}
		}
		seen = append(seen, parts)
	}
}

// overlap says whether Istio refuses a locality after an earlier one. A star stands for all parts of its kind only by itself.
func overlap(earlier, later []string) bool {
	switch {
	case earlier[0] == "*" && len(earlier) == 1:
		return true
	case earlier[0] != later[0]:
		return false
	case len(later) == 1 || len(earlier) == 1 || earlier[1] == "*":
		return true
	case earlier[1] != later[1]:
		return false
	}
	return len(later) == 2 || len(earlier) == 2 || earlier[2] == "*" || earlier[2] == later[2]
}

func (r *review) failover(at object.Path, failover object.Value) {
	for i, f := range failover.Items() {
		from, to := f.Get("from").Str(), f.Get("to").Str()
		where := at.Child(i)
		switch {
		case f.Type() != object.Map:
		case from == to:
			r.refuse(where, "failover leads from region %q to itself", from)
		case strings.Contains(from, "/"), strings.Contains(to, "/"):
			r.refuse(where, "failover leads from %q to %q, and takes regions only, without a zone", from, to)
		case strings.Contains(from, "*"), strings.Contains(to, "*"):
			r.refuse(where, "failover leads from %q to %q, and takes whole names of regions only", from, to)
		}
	}
}

func (r *review) zoneAware(at object.Path, lb object.Value) {
	for i, label := range lb.Get("failoverPriority").Items() {
		if slices.Contains(topologyLabels, label.Str()) {
			r.refuse(at.Child("failoverPriority", i), "failoverPriority names %s, which zoneAwareLbSetting takes care of itself", label.Str())
		}
	}
	r.failover(at.Child("failover"), lb.Get("failover"))
}

func (r *review) tls(at object.Path, tls object.Value) {
	if tls.Type() != object.Map {
		return
	}
	has := func(name string) bool { return tls.Get(name).Str() != "" }
	mode := tls.Get("mode").Str()
	starts := mode == "SIMPLE" || mode == "MUTUAL"
	credential := tls.Get("credentialName").Str()
	if ref, isMap := strings.CutPrefix(credential, "configmap://"); isMap {
		namespace, name, _ := strings.Cut(ref, "/")
		name, _, _ = strings.Cut(name, "/")
		switch where := at.Child("credentialName"); {
		case namespace == "" || name == "":
			r.refuse(where, "credentialName is %q; a ConfigMap is named as configmap://NAMESPACE/NAME", credential)
		case namespace != r.namespace:
			r.refuse(where, "credentialName names a ConfigMap in namespace %s, and it has to be in the rule's own, %s", namespace, r.namespace)
		}
	}
	if tls.Get("insecureSkipVerify").Bool() && starts {
		checks := []string{"caCertificates", "subjectAltNames"}
		if mode == "SIMPLE" {
			checks = append(checks, "credentialName")
		}
		for _, name := range checks {
			if f := tls.Get(name); f.Str() != "" || f.Len() > 0 {
				r.refuse(at.Child(name), "%s stands beside insecureSkipVerify: true, by which nothing is verified", name)
				break
			}
		}
	}
	if starts && credential != "" {
		for _, name := range []string{"clientCertificate", "privateKey", "caCertificates", "caCrl"} {
			if has(name) {
				r.refuse(at.Child(name), "%s %s stands beside credentialName %s, from which all certificates come", name, tls.Get(name).Str(), credential)
				break
			}
		}
		return
	}
	if mode == "MUTUAL" {
		switch certificate, key := has("clientCertificate"), has("privateKey"); {
		case !certificate && !key:
			r.missing(at, "clientCertificate", "mode MUTUAL needs clientCertificate and privateKey, files in the proxy, or credentialName")
		case !certificate:
			r.missing(at, "clientCertificate", "mode MUTUAL needs clientCertificate beside privateKey %s", tls.Get("privateKey").Str())
		case !key:
			r.missing(at, "privateKey", "mode MUTUAL needs privateKey beside clientCertificate %s", tls.Get("clientCertificate").Str())
		}
	}
}
