package egress

import (
	"encoding/json"
	"strconv"

	"github.com/meshvet/meshvet/lint/effective"
	"github.com/meshvet/meshvet/lint/envoy"
	"github.com/meshvet/meshvet/lint/mesh"
	"github.com/meshvet/meshvet/lint/object"
)

type (
	// AnswerJSON and the types below are `meshvet effective --format json`, field for field in the order of the output;
	// cmd/meshvet/effective_schema.go describes it. Lists are never null.
	AnswerJSON struct {
		Host    string    `json:"host"`
		Scope   string    `json:"scope"`   // "" if the manifests are one mesh
		Clients []string  `json:"clients"` // namespaces; "*" = all that no answer for the host names
		Notes   []string  `json:"notes"`
		Ways    []wayJSON `json:"ways"`
	}
	wayJSON struct {
		Port uint32    `json:"port"`
		Hops []hopJSON `json:"hops"`
	}
	hopJSON struct {
		Proxy    proxyJSON `json:"proxy"`
		Cluster  string    `json:"cluster"`
		Host     string    `json:"host"`
		Port     uint32    `json:"port"`
		Subset   string    `json:"subset"`
		Protocol string    `json:"protocol"`
		Family   string    `json:"family"`
		// Requests says whether Envoy has read what the cluster carries, always or as the first bytes decide.
		Requests        bool         `json:"requests"`
		Type            string       `json:"type"`
		TLS             tlsJSON      `json:"tls"`
		Rules           []ruleInJSON `json:"rules"`
		Route           *placeJSON   `json:"route"`
		Assumed         string       `json:"assumed"`
		Absent          string       `json:"absent"`
		Panics          string       `json:"panics"`
		Unpredicted     []string     `json:"unpredicted"`
		Fields          []fieldJSON  `json:"fields"`
		TCPProxy        []fieldJSON  `json:"tcpProxy"`
		Retries         []retryJSON  `json:"retries"`
		FeltConnectTime *feltJSON    `json:"feltConnectTime"`
		Outlier         *outlierJSON `json:"outlier"`
	}
	proxyJSON struct {
		Type effective.ProxyType `json:"type"`
		// Namespace is null for the first hop, whose proxies are those of the clients.
		Namespace *string           `json:"namespace"`
		Labels    map[string]string `json:"labels"`
	}
	tlsJSON struct {
		State      effective.Security `json:"state"`
		ServerName string             `json:"serverName"`
		Verified   bool               `json:"verified"`
		Names      string             `json:"names"`
	}
	// ruleInJSON is a DestinationRule in force. Policy says that the destination-level policy is its.
	ruleInJSON struct {
		Object   objectJSON             `json:"object"`
		Location locationJSON           `json:"location"`
		Host     string                 `json:"host"`
		Found    []effective.RuleReason `json:"found"`
		Selector map[string]string      `json:"selector"`
		Policy   bool                   `json:"policy"`
	}
	placeJSON struct {
		Object   objectJSON   `json:"object"`
		Location locationJSON `json:"location"`
		Path     string       `json:"path"`
	}
	objectJSON struct {
		Kind      object.Kind `json:"kind"`
		Namespace string      `json:"namespace"`
		Name      string      `json:"name"`
	}
	// locationJSON has zeros for a place without a position.
	locationJSON struct {
		File   string `json:"file"`
		Line   int    `json:"line"`
		Column int    `json:"column"`
	}
	fieldJSON struct {
		Field  string `json:"field"`
		Value  any    `json:"value"`
		Source string `json:"source"`
		Envoy  string `json:"envoy"`
		Status string `json:"status"`
	}
	retryJSON struct {
		Attempts       int64   `json:"attempts"`
		Source         string  `json:"source"`
		TimeoutSeconds float64 `json:"timeoutSeconds"`
	}
	feltJSON struct {
		Seconds  float64 `json:"seconds"`
		Attempts int64   `json:"attempts"`
	}
	outlierJSON struct {
		MaxEjectionPercent int64  `json:"maxEjectionPercent"`
		Source             string `json:"source"`
		List               bool   `json:"list"`
		Endpoints          *int   `json:"endpoints"` // null if only the resolver, or the cluster, knows
		AtOnce             *int   `json:"atOnce"`    // null likewise
		Fewest             int64  `json:"fewest"`
	}
)

// JSON is the answer as a document for programs.
func (a *Answer) JSON() AnswerJSON {
	out := AnswerJSON{Host: string(a.Host), Scope: a.Scope, Clients: append([]string{}, a.Clients...), Notes: append([]string{}, a.Notes...), Ways: []wayJSON{}}
	if a.Others {
		out.Clients = append(out.Clients, mesh.Everywhere)
	}
	for _, w := range a.Ways {
		way := wayJSON{Port: w.Port, Hops: []hopJSON{}}
		for i, h := range w.Hops {
			way.Hops = append(way.Hops, a.hopJSON(h, i == 0))
		}
		out.Ways = append(out.Ways, way)
	}
	return out
}

// content identifies what an answer says, whomever it says it of.
func (a *Answer) content() string {
	doc := a.JSON()
	doc.Clients = nil
	for _, w := range doc.Ways {
		for i := range w.Hops {
			for j := range w.Hops[i].Rules {
				w.Hops[i].Rules[j].Found = nil // by which namespace a rule was found does not change what it does
			}
		}
	}
	text, err := json.Marshal(doc)
	if err != nil { // which no value of these types gives rise to; then nothing is taken for equal
		return strconv.Itoa(len(a.Clients)) + err.Error()
	}
	return string(text)
}

func (a *Answer) hopJSON(h *effective.Hop, first bool) hopJSON {
	c := h.Cluster
	tls := c.TLS()
	out := hopJSON{
		Proxy:   proxyJSON{Type: h.Proxy.Type, Labels: h.Proxy.Labels},
		Cluster: c.Name(), Host: string(c.Port.Host), Port: c.Port.Number, Subset: c.Subset,
		Protocol: c.Port.Protocol, Family: string(c.Port.Family), Requests: c.Port.CarriesRequests(), Type: string(c.Type),
		TLS:   tlsJSON{tls.State, tls.ServerName, tls.Verified, tls.Names},
		Rules: []ruleInJSON{}, Assumed: h.Assumed, Absent: c.Absent, Panics: c.Panics,
		Unpredicted: append([]string{}, c.Unpredicted...),
		Fields:      fieldsJSON(c.Rows()), TCPProxy: fieldsJSON(TCPRows(h)), Retries: []retryJSON{},
	}
	if out.Proxy.Labels == nil {
		out.Proxy.Labels = map[string]string{}
	}
	if !first {
		out.Proxy.Namespace = &h.Proxy.Namespace
	}
	if c.Rule != nil {
		for _, r := range c.Rule.Rules {
			rule := ruleInJSON{
				Object: objectOf(r.Object), Location: locationOf(r.Object, object.Path{"spec", "host"}), Host: string(r.Host),
				Found: append([]effective.RuleReason{}, a.Reasons[c]...), Selector: r.Selector, Policy: c.Rule.Policy == r,
			}
			if rule.Selector == nil {
				rule.Selector = map[string]string{}
			}
			out.Rules = append(out.Rules, rule)
		}
	}
	if h.Route != nil {
		out.Route = &placeJSON{objectOf(h.Route), locationOf(h.Route, h.Path), h.Path.String()}
	}
	for _, r := range c.Retries {
		out.Retries = append(out.Retries, retryJSON{r.Attempts, r.Origin.Text(), r.Timeout.Seconds()})
	}
	if felt, ok := c.FeltConnectTime(); ok {
		out.FeltConnectTime = &feltJSON{felt.Time.Seconds(), felt.Attempts}
	}
	if e, ok := c.Ejection(a.Index); ok {
		out.Outlier = &outlierJSON{MaxEjectionPercent: e.Percent, Source: e.Origin.Text(), List: e.List, Fewest: e.Fewest()}
		if e.Known {
			n := e.AtOnce()
			out.Outlier.Endpoints, out.Outlier.AtOnce = &e.Endpoints, &n
		}
	}
	return out
}

// TCPRows are the settings of the tcp_proxy that leads to the cluster of a hop. Requests come by another way.
func TCPRows(h *effective.Hop) []effective.Setting {
	if h.Route != nil && len(h.Path) > 1 && h.Path[1] == "http" || h.Cluster.Absent != "" {
		return nil
	}
	return h.Cluster.TCP
}

func objectOf(o *object.Object) objectJSON {
	return objectJSON{o.Kind, mesh.NamespaceOf(o), o.Name}
}

func locationOf(o *object.Object, at object.Path) locationJSON {
	l := o.Locate(at)
	return locationJSON{l.File, l.Range.Start.Line, l.Range.Start.Col}
}

// The words for statuses in JSON.
var statusWords = map[effective.Status]string{
	effective.Active: "active", effective.Inert: "inert", effective.Implicit: "implicit", effective.Ignored: "ignored",
}

func fieldsJSON(settings []effective.Setting) []fieldJSON {
	out := []fieldJSON{}
	for _, s := range settings {
		out = append(out, fieldJSON{s.Field, valueJSON(s.Value), s.Origin.Text(), s.Envoy, statusWords[s.Status]})
	}
	return out
}

// valueJSON writes numbers and truth values as such, also where a setting holds them as text.
func valueJSON(v any) any {
	text, isText := v.(string)
	switch {
	case !isText:
		return v
	case text == envoy.Empty:
		return struct{}{}
	case text == "true" || text == "false":
		return text == "true"
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n
	}
	return text
}
