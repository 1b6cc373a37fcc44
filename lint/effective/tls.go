package effective

import (
	"fmt"
	"slices"
	"strings"

	"github.com/meshvet/meshvet/lint/envoy"
	"github.com/meshvet/meshvet/lint/mesh"
	"github.com/meshvet/meshvet/lint/object"
)

// Security says what protects the bytes that Envoy sends to the endpoints.
type Security string

// The states of TLS.
const (
	InPlaintext  Security = "plaintext"       // Envoy sends what it read, with no TLS
	ClientTLS    Security = "passthrough"     // the client brings its own TLS, and Envoy passes it on
	Origination  Security = "TLS origination" // Envoy starts TLS
	DoubleTLS    Security = "double TLS"      // Envoy starts TLS around the client's own
	MeshMTLS     Security = "mutual TLS"      // Istio's own, between proxies
	AutoMeshMTLS Security = "automatic mTLS"  // the same, with endpoints that have a proxy
	NotTold      Security = "as the client sends it"
)

// TLSState is what a cluster's TLS comes to.
type TLSState struct {
	State Security
	// ServerName is the SNI: a name, or what it is taken from, "" if none is sent.
	ServerName string
	// Verified says whether the server's certificate is checked against a CA; Names are the names that it may bear, "" if it may bear
	// any. Both are empty where Envoy starts no TLS.
	Verified bool
	Names    string
}

// TLS says what a cluster's TLS comes to.
func (c *Cluster) TLS() TLSState {
	p, port := c.Policy, c.Port
	s := TLSState{State: InPlaintext}
	leaves := Leaves(c.Settings)
	_, started := leaves[socketAt(leaves)+"name"]
	switch {
	case leaves["transport_socket_matches[0].name"] == "tlsMode-istio":
		s.State = AutoMeshMTLS
	case started && mode(p) == "ISTIO_MUTUAL":
		s.State = MeshMTLS
	case started && port.IsTLS() && port.ForwardsBytes():
		s.State = DoubleTLS
	case started:
		s.State = Origination
	case port.IsTLS() && port.ForwardsBytes():
		s.State = ClientTLS
	case port.ForwardsBytes():
		s.State = NotTold
	}
	if !started {
		return s
	}
	name := func(v string) string {
		if v == "none" {
			return ""
		}
		return v
	}
	s.ServerName = name(serverName(p, port))
	s.Verified = !(tlsOf(p).Get("insecureSkipVerify").Bool() && skipsVerify(port, p))
	s.Names = name(peerNames(p, port))
	return s
}

// socketAt is where the TLS socket of a cluster stands: PROXY protocol puts itself around it.
func socketAt(l envoy.Leaves) string {
	const outer = "transport_socket."
	switch l[outer+"name"] {
	case tlsSocket:
		return outer
	case proxySocket:
		if l[outer+inner+"name"] == tlsSocket {
			return outer + inner
		}
	}
	return "none."
}

const (
	tlsSocket   = "envoy.transport_sockets.tls"
	rawSocket   = "envoy.transport_sockets.raw_buffer"
	rawWrapped  = "raw_buffer" // the same, as Istio names it inside PROXY protocol
	proxySocket = "envoy.transport_sockets.upstream_proxy_protocol"
	inner       = "typed_config.transport_socket."
)

// tls compiles tls, or Istio's automatic mutual TLS where no rule says anything.
func (c *compilation) tls(s *mesh.Subset) {
	block := c.policy.Block("tls")
	if !block.Set() {
		if c.autoMTLS(s) {
			c.automatic()
		}
		return
	}
	const at = "transport_socket."
	switch m := mode(c.policy); m {
	case "ISTIO_MUTUAL":
		c.istioMutual(at, block, block.Value.Get("sni").Str(), block.Value.Get("subjectAltNames").Strings())
		if c.typ == DynamicDNS {
			c.autoNames(block)
		}
	case "SIMPLE", "MUTUAL":
		c.originate(at, block, m == "MUTUAL")
	}
}

// autoMTLS says whether Istio decides on mutual TLS by itself. To addresses that the client chose it starts TLS only if every
// endpoint in view has a proxy.
func (c *compilation) autoMTLS(s *mesh.Subset) bool {
	if !inMesh(c.owner) {
		return false
	}
	if auto := c.policy.mesh.Get("enableAutoMtls"); auto.Set() && !auto.Bool() {
		return false
	}
	lb := c.levelOf(s).At("loadBalancer", "simple").Str()
	if c.port.Cluster == OriginalDst || lb == passthrough {
		return c.everyEndpointHasProxy()
	}
	return true
}

// levelOf is the traffic policy of the subset, else of the destination, whatever their port entries say.
func (c *compilation) levelOf(s *mesh.Subset) object.Value {
	if s != nil {
		return s.Value().Get("trafficPolicy")
	}
	if c.rule == nil || c.rule.Policy == nil {
		return object.Value{}
	}
	return c.rule.Policy.Object.Lookup(destinationLevel)
}

// everyEndpointHasProxy looks at the endpoints of the port; those of pods are not in view.
func (c *compilation) everyEndpointHasProxy() bool {
	if slices.ContainsFunc(c.merged(), (*mesh.Target).HasSelector) {
		c.c.Unpredicted = append(c.c.Unpredicted, "transport_socket", "transport_socket_matches")
	}
	n := 0
	for e := range c.endpoints(c.port.Number) {
		n++
		if tlsModeOf(e) != "istio" {
			return false
		}
	}
	return n > 0
}

// tlsModeOf is the security.istio.io/tlsMode of an endpoint: a service account stands for a proxy.
func tlsModeOf(endpoint object.Value) string {
	if label := endpoint.At("labels", "security.istio.io/tlsMode"); label.Exists() {
		return label.Text()
	}
	if endpoint.Get("serviceAccount").Str() != "" {
		return "istio"
	}
	return "disabled"
}

// automatic writes the choice that Envoy makes for each endpoint, by whether it has a proxy. Addresses that the client chose leave
// no choice.
func (c *compilation) automatic() {
	if c.typ == OriginalDst {
		c.istioMutual("transport_socket.", Source{}, "", nil)
		return
	}
	const first, second = "transport_socket_matches[0].", "transport_socket_matches[1]."
	c.out.set(first+"name", "tlsMode-istio", "meshConfig.enableAutoMtls", byIstio)
	c.out.set(first+"match.tls_mode", "istio", "", byIstio)
	c.istioMutual(first+"transport_socket.", Source{}, "", nil)
	if c.typ == DynamicDNS {
		c.autoNames(Source{})
	}
	c.out.set(second+"name", "tlsMode-disabled", "", byIstio)
	c.out.message(second+"match", "", byIstio)
	c.rawBuffer(second+"transport_socket.", rawSocket)
}

func (c *compilation) rawBuffer(at, name string) {
	c.out.set(at+"name", name, "", byIstio)
	c.out.message(at+"typed_config", "", byIstio)
}

// context writes what every TLS socket of Istio's has.
func (c *compilation) context(at string, block Source) string {
	from := byIstio
	if block.Set() {
		from = block.at("mode")
	}
	c.out.set(at+"name", tlsSocket, "tls.mode", from)
	ctx := at + "typed_config.common_tls_context."
	c.out.set(ctx+"tls_params.tls_maximum_protocol_version", "TLSv1_3", "", byIstio)
	c.out.set(ctx+"tls_params.tls_minimum_protocol_version", "TLSv1_2", "", byIstio)
	return ctx
}

// istioMutual writes the TLS between proxies.
func (c *compilation) istioMutual(at string, block Source, sni string, names []string) {
	ctx := c.context(at, block)
	sniFrom, namesFrom := block.at("sni"), block.at("subjectAltNames")
	if sni == "" && c.typ != DynamicDNS {
		sni = fmt.Sprintf("outbound_.%d_.%s_.%s", c.port.Number, c.subsetName(), c.port.Host)
		sniFrom = byIstio
	}
	if sni != "" {
		c.out.set(at+"typed_config.sni", sni, tlsSNI, sniFrom)
	}
	c.out.set(ctx+"tls_certificate_sds_secret_configs[0].name", "default", "", byIstio)
	validation := ctx + "combined_validation_context."
	c.out.set(validation+"validation_context_sds_secret_config.name", "ROOTCA", "", byIstio)
	if len(names) == 0 && c.typ != DynamicDNS {
		names, namesFrom = c.accounts(), byIstio
		if c.owner.HasSelector() {
			c.c.Unpredicted = append(c.c.Unpredicted, validation+"default_validation_context")
		}
	}
	c.out.message(validation+"default_validation_context", "", byIstio)
	c.peerNames(validation+"default_validation_context.", names, namesFrom)
	alpn := []string{"istio-peer-exchange", "istio"}
	if c.protocol.explicit == "http2" {
		alpn = append(alpn, "h2")
	}
	c.alpn(ctx, alpn)
}

func (c *compilation) subsetName() string {
	if c.chosen == nil {
		return ""
	}
	return c.chosen.Name
}

// accounts are the names that the certificates of the host's endpoints may bear, as far as manifests say, in order: subjectAltNames
// of the youngest ServiceEntry of the namespace, and the service accounts of the endpoints of all. Source: Istio's
// pilot/pkg/model/push_context.go, addServiceAccounts.
func (c *compilation) accounts() []string {
	var own []string
	var out []string
	domain := c.policy.mesh.Get("trustDomain").Str()
	if domain == "" {
		domain = "cluster.local"
	}
	for _, t := range c.ix.Targets(c.port.Host) {
		if t.Namespace() != c.owner.Namespace() {
			continue
		}
		own = nil
		if !t.IsService() {
			own = t.Object.Spec().Get("subjectAltNames").Strings()
		}
		if t.HasSelector() && !t.IsService() {
			for w := range c.ix.Selected(t) {
				out = append(out, accountOf(domain, t.Namespace(), w.Spec())...)
			}
		}
	}
	for e := range c.endpointsOfAnyPort() {
		out = append(out, accountOf(domain, c.owner.Namespace(), e)...)
	}
	out = append(out, own...)
	slices.Sort(out)
	return slices.Compact(out)
}

// accountOf is the identity of an endpoint; none if it says none.
func accountOf(domain, namespace string, endpoint object.Value) []string {
	if account := endpoint.Get("serviceAccount").Str(); account != "" {
		return []string{fmt.Sprintf("spiffe://%s/ns/%s/sa/%s", domain, namespace, account)}
	}
	return nil
}

func (c *compilation) peerNames(at string, names []string, from Origin) {
	for i, n := range names {
		c.out.set(fmt.Sprintf("%smatch_subject_alt_names[%d].exact", at, i), n, "tls.subjectAltNames", from)
	}
}

func (c *compilation) alpn(ctx string, names []string) {
	for i, n := range names {
		c.out.set(fmt.Sprintf("%salpn_protocols[%d]", ctx, i), n, "", byIstio)
	}
}

// originate writes the TLS that the rule asks for. A credential of a Secret is for gateways, and for sidecars that the rule picks by
// workloadSelector; other sidecars get no TLS at all.
func (c *compilation) originate(at string, block Source, mutual bool) {
	tls := block.Value
	credential := tls.Get("credentialName").Str()
	if credential != "" && !strings.HasPrefix(credential, "configmap://") && c.proxy.Type == Sidecar && !c.selected() {
		return
	}
	cert, key := tls.Get("clientCertificate").Str(), tls.Get("privateKey").Str()
	c.autoNames(block)
	if credential == "" && mutual && (cert == "" || key == "") {
		return // Istio logs an error and leaves the cluster without TLS
	}
	ctx := c.context(at, block)
	if sni := tls.Get("sni").Str(); sni != "" {
		c.out.set(at+"typed_config.sni", sni, tlsSNI, block.at("sni"))
	}
	names, namesFrom := tls.Get("subjectAltNames").Strings(), block.at("subjectAltNames")
	if len(names) == 0 && !c.owner.IsService() && c.typ != DynamicDNS {
		names, namesFrom = c.accounts(), c.fromTarget("spec", "subjectAltNames")
	}
	skips := tls.Get("insecureSkipVerify").Bool()
	validation := ctx + "combined_validation_context."
	if credential != "" {
		if mutual {
			c.out.set(ctx+"tls_certificate_sds_secret_configs[0].name", secretName(credential), "tls.credentialName", block.at("credentialName"))
		}
		if !skips {
			c.out.message(validation+"default_validation_context", "", byIstio)
			c.peerNames(validation+"default_validation_context.", names, namesFrom)
			c.out.set(validation+"validation_context_sds_secret_config.name", secretName(credential+"-cacert"), "tls.credentialName", block.at("credentialName"))
		}
	} else {
		if mutual {
			c.out.set(ctx+"tls_certificate_sds_secret_configs[0].name", "file-cert:"+cert+"~"+key, "tls.clientCertificate", block.at("clientCertificate"))
		}
		if skips {
			c.out.message(ctx+"validation_context", "tls.insecureSkipVerify", block.at("insecureSkipVerify"))
		} else {
			c.trust(validation, block, names, namesFrom)
		}
	}
	if d := c.policy.mesh.Get("tlsDefaults"); d.Set() {
		for i, curve := range d.Get("ecdhCurves").Strings() {
			c.out.set(fmt.Sprintf("%stls_params.ecdh_curves[%d]", ctx, i), curve, "", c.policy.fromMesh("tlsDefaults", "ecdhCurves"))
		}
		for i, suite := range d.Get("cipherSuites").Strings() {
			c.out.set(fmt.Sprintf("%stls_params.cipher_suites[%d]", ctx, i), suite, "", c.policy.fromMesh("tlsDefaults", "cipherSuites"))
		}
	}
	if c.protocol.explicit == "http2" {
		c.alpn(ctx, []string{"h2"})
	}
}

// trust writes which CAs are believed.
func (c *compilation) trust(validation string, block Source, names []string, namesFrom Origin) {
	c.out.message(validation+"default_validation_context", "", byIstio)
	c.peerNames(validation+"default_validation_context.", names, namesFrom)
	if crl := block.Value.Get("caCrl").Str(); crl != "" {
		c.out.set(validation+"default_validation_context.crl.filename", crl, "tls.caCrl", block.at("caCrl"))
	}
	ca, from := block.Value.Get("caCertificates").Str(), block.at("caCertificates")
	if ca == "" {
		ca, from = "system", byIstio
	}
	c.out.set(validation+"validation_context_sds_secret_config.name", "file-root:"+ca, "tls.caCertificates", from)
}

// selected says whether the rule in force picks its clients by labels.
func (c *compilation) selected() bool { return c.rule != nil && c.rule.Selector() != nil }

// secretName is the SDS resource of a credential: a Secret, unless the name says what it is.
func secretName(credential string) string {
	if strings.Contains(credential, "://") {
		return credential
	}
	return "kubernetes://" + credential
}

// autoNames asks Envoy to take the server's name from each request, and to check it.
func (c *compilation) autoNames(block Source) {
	tls := block.Value
	skips, dynamic := tls.Get("insecureSkipVerify").Bool(), c.typ == DynamicDNS
	sni := tls.Get("sni").Str() == ""
	validation := !skips && (dynamic || sni && tls.Get("subjectAltNames").Len() == 0)
	const at = httpOptions + "upstream_http_protocol_options."
	if sni {
		c.protocol.sni = true
		c.out.set(at+"auto_sni", true, tlsSNI, byIstio)
	}
	if validation {
		c.protocol.validation = true
		c.out.set(at+"auto_san_validation", true, "tls.subjectAltNames", byIstio)
	}
	if dynamic && (skips || !sni || !validation) {
		c.out.set("cluster_type.typed_config.allow_insecure_cluster_options", true, "tls", block.at("mode"))
	}
}

// proxyProtocol puts the PROXY protocol around whatever socket there is.
func (c *compilation) proxyProtocol() {
	b := c.policy.Block("proxyProtocol")
	if !b.Set() {
		return
	}
	wrap := func(at string) {
		var socket []Setting
		for _, s := range c.out.list {
			if envoy.Under(s.Envoy, strings.TrimSuffix(at, ".")) {
				socket = append(socket, s)
			}
		}
		c.out.drop(strings.TrimSuffix(at, "."))
		c.out.set(at+"name", proxySocket, "proxyProtocol", b.at())
		if b.Value.Get("version").Str() == "V2" {
			c.out.set(at+"typed_config.config.version", "V2", "proxyProtocol.version", b.at("version"))
		} else {
			c.out.message(at+"typed_config.config", "proxyProtocol.version", b.at("version"))
		}
		if len(socket) == 0 {
			c.rawBuffer(at+inner, rawWrapped)
		}
		for _, s := range socket {
			s.Envoy = at + inner + strings.TrimPrefix(s.Envoy, at)
			c.out.add(s)
		}
		for i, path := range c.c.Unpredicted {
			if rest, inside := strings.CutPrefix(path, at); inside {
				c.c.Unpredicted[i] = at + inner + rest
			}
		}
	}
	if _, matches := c.out.at["transport_socket_matches[0].name"]; matches {
		wrap("transport_socket_matches[0].transport_socket.")
		wrap("transport_socket_matches[1].transport_socket.")
		return
	}
	wrap("transport_socket.")
}
