package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"istio.io/istio/pilot/pkg/model"
	"istio.io/istio/pilot/pkg/networking/core"
	"istio.io/istio/pilot/pkg/networking/util"
	"istio.io/istio/pilot/pkg/xds/endpoints"
	"istio.io/istio/pkg/config/constants"
	"istio.io/istio/pkg/config/mesh"
	"istio.io/istio/pkg/test"
)

// proxyVersion is the version that the proxy says it has: not older than any feature of the compiled Istio.
const proxyVersion = "1.33.0"

// compile does a job. Whatever goes wrong is in the result.
func compile(j *Job) *Result {
	res := &Result{ID: j.ID}
	if err := res.compile(j); err != nil {
		res.Error = err.Error()
	}
	if res.Error != "" || res.Panic != "" {
		res.CDS, res.EDS, res.LDS, res.RDS, res.NACK = nil, nil, nil, nil, nil // what was made until then is no answer
	}
	return res
}

func (r *Result) compile(j *Job) (err error) {
	defer r.recoverPanic() // of the parsers and validators
	want, err := j.check()
	if err != nil {
		return err
	}
	domain := cmp.Or(j.Domain, constants.DefaultClusterLocalDomain)
	m, err := readObjects(j.Objects, domain)
	if err != nil {
		return err
	}
	r.Objects = m.reviews
	if j.ReviewOnly {
		return nil
	}
	config := mesh.DefaultMeshConfig()
	if j.Mesh != "" {
		if config, err = mesh.ApplyMeshConfigDefaults(j.Mesh); err != nil {
			return fmt.Errorf("mesh: %w", err)
		}
	}
	// Wrap runs this in another goroutine, which a fatal error of the environment ends.
	return test.Wrap(func(t test.Failer) {
		defer r.recoverPanic()
		env := core.NewConfigGenTest(t, core.TestOptions{Configs: m.configs, Services: m.services, MeshConfig: config})
		r.generate(env, env.SetupProxy(j.Proxy.model(domain)), want)
	})
}

// model is the proxy as Istio sees it.
func (p *Proxy) model(domain string) *model.Proxy {
	namespace := cmp.Or(p.Namespace, metav1.NamespaceDefault)
	labels := p.Labels
	kind := model.SidecarProxy
	if p.Type == "router" {
		kind = model.Router
	}
	if len(labels) == 0 {
		labels = map[string]string{"app": "app"}
		if kind == model.Router {
			labels = map[string]string{"istio": "egressgateway"}
		}
	}
	node := &model.Proxy{
		Type: kind, ID: "app." + namespace, ConfigNamespace: namespace, Labels: labels, DNSDomain: namespace + ".svc." + domain,
		Metadata: &model.NodeMetadata{
			IstioVersion: proxyVersion, Namespace: namespace, Labels: maps.Clone(labels), DNSCapture: model.StringBool(p.DNSCapture),
		},
	}
	if p.Locality != "" {
		node.Locality = util.ConvertLocality(p.Locality)
	}
	return node
}

// generate asks Istio for the wanted resources.
func (r *Result) generate(env *core.ConfigGenTest, proxy *model.Proxy, want selection) {
	if want.kind("cds") || want.kind("eds") {
		clusters := env.Clusters(proxy)
		for _, c := range clusters {
			if want.takes("cds", c.Name) {
				r.add(&r.CDS, "cluster", c.Name, c)
			}
			if c.GetType() == clusterv3.Cluster_EDS && want.takes("eds", c.Name) {
				builder := endpoints.NewEndpointBuilder(c.Name, proxy, env.PushContext())
				if assignment := builder.BuildClusterLoadAssignment(env.Env().EndpointIndex); assignment != nil {
					r.add(&r.EDS, "endpoints", c.Name, assignment)
				}
			}
		}
	}
	if want.kind("lds") || want.kind("rds") {
		listeners := env.Listeners(proxy)
		for _, l := range listeners {
			if want.takes("lds", l.Name) {
				sortChains(l.FilterChains)
				r.add(&r.LDS, "listener", l.Name, l)
			}
		}
		if want.kind("rds") {
			for _, route := range env.RoutesFromListeners(proxy, listeners) {
				if want.takes("rds", route.Name) {
					r.add(&r.RDS, "route", route.Name, route)
				}
			}
		}
	}
}

// sortChains puts filter chains in the order of what they match. Envoy takes the most specific match wherever it stands, and Istio's
// order varies from run to run.
func sortChains(chains []*listenerv3.FilterChain) {
	key := func(c *listenerv3.FilterChain) string {
		// A message that came out of Istio can be marshalled; if not, the order is only less steady.
		match, _ := proto.MarshalOptions{Deterministic: true}.Marshal(c.FilterChainMatch)
		all, _ := proto.MarshalOptions{Deterministic: true}.Marshal(c)
		return string(match) + "\x00" + string(all)
	}
	slices.SortStableFunc(chains, func(a, b *listenerv3.FilterChain) int { return strings.Compare(key(a), key(b)) })
}

// add keeps a resource under its name, and what Envoy would have against it.
func (r *Result) add(into *map[string]json.RawMessage, kind, name string, m proto.Message) {
	text, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(m)
	if err != nil {
		r.Error = fmt.Sprintf("write %s %s as JSON: %s", kind, name, err)
		return
	}
	if *into == nil {
		*into = map[string]json.RawMessage{}
	}
	key := name
	for n := 2; ; n++ {
		if _, taken := (*into)[key]; !taken {
			break
		}
		key = name + "#" + strconv.Itoa(n)
	}
	(*into)[key] = text
	r.NACK = append(r.NACK, brokenConstraints(kind+" "+name, m)...)
}

// recoverPanic is deferred. It keeps a panic as the answer.
func (r *Result) recoverPanic() {
	if p := recover(); p != nil { // nil also when a fatal error ends the goroutine
		r.Panic = fmt.Sprintf("%v in %s", p, panicSite())
	}
}

// panicSite is the first function of Istio's on the stack of a panic.
func panicSite() string {
	counters := make([]uintptr, 64)
	frames := runtime.CallersFrames(counters[:runtime.Callers(3, counters)])
	for {
		f, more := frames.Next()
		if name, found := strings.CutPrefix(f.Function, "istio.io/istio/"); found {
			return fmt.Sprintf("%s (%s:%d)", name, filepath.Base(f.File), f.Line)
		}
		if !more {
			return "a function that is not Istio's"
		}
	}
}
