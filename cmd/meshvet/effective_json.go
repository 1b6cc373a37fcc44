package main

import (
	"encoding/json"
	"io"

	"github.com/meshvet/meshvet/lint/effective"
	"github.com/meshvet/meshvet/lint/egress"
	"github.com/meshvet/meshvet/lint/report"
)

// effectiveVersion is the version of the JSON form. It changes when a script that relies on the schema could break.
const effectiveVersion = "1"

// effectiveDoc is `meshvet effective --format json`; effective_schema.go describes it.
type effectiveDoc struct {
	Version string              `json:"version"`
	Hosts   []egress.AnswerJSON `json:"hosts"`
}

// answersJSON collects answers for programs.
type answersJSON struct {
	to  io.Writer
	doc effectiveDoc
}

func newAnswersJSON(to io.Writer) *answersJSON {
	return &answersJSON{to: to, doc: effectiveDoc{Version: effectiveVersion, Hosts: []egress.AnswerJSON{}}}
}

func (w *answersJSON) write(a *egress.Answer) error {
	w.doc.Hosts = append(w.doc.Hosts, a.JSON())
	return nil
}

func (w *answersJSON) close() error { return report.WriteJSON(w.to, w.doc) }

// answersEnvoy writes what Istio compiles, in the shape of `istioctl proxy-config cluster -o json`.
type answersEnvoy struct {
	to   io.Writer
	note func(format string, args ...any)

	seen   map[string]string // content by name
	doc    []any
	differ map[string]bool
}

// tcpProxyName is Envoy's name of the filter.
const tcpProxyName = "envoy.filters.network.tcp_proxy"

func (w *answersEnvoy) write(a *egress.Answer) error {
	for _, way := range a.Ways {
		for _, h := range way.Hops {
			c := h.Cluster
			switch {
			case c.Panics != "":
				w.note("%s: Istio compiles nothing, since it breaks: %s", c.Name(), c.Panics)
				continue
			case c.Absent != "":
				w.note("%s: there is no cluster: %s", c.Name(), c.Absent)
				continue
			}
			cluster := effective.Fragment(c.Settings)
			cluster["name"] = c.Name()
			if err := w.add(c.Name(), cluster); err != nil {
				return err
			}
			rows := egress.TCPRows(h)
			if rows == nil {
				continue
			}
			proxy := effective.Fragment(rows)
			proxy["@type"] = "type.googleapis.com/envoy.extensions.filters.network.tcp_proxy.v3.TcpProxy"
			proxy["cluster"] = c.Name()
			if err := w.add("tcp_proxy to "+c.Name(), map[string]any{"name": tcpProxyName, "typedConfig": proxy}); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *answersEnvoy) add(name string, doc map[string]any) error {
	text, err := json.Marshal(doc)
	if err != nil {
		return err
	}
	if w.seen == nil {
		w.seen, w.differ = map[string]string{}, map[string]bool{}
	}
	old, twice := w.seen[name]
	switch {
	case twice && old == string(text):
		return nil
	case twice && !w.differ[name]:
		w.differ[name] = true
		w.note("%s is not the same for all clients and proxies, and is listed several times; --from picks one", name)
	}
	w.seen[name] = string(text)
	w.doc = append(w.doc, doc)
	return nil
}

func (w *answersEnvoy) close() error {
	if w.doc == nil {
		w.doc = []any{}
	}
	return report.WriteJSON(w.to, w.doc)
}
