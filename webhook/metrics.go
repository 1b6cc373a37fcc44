package webhook

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/meshvet/meshvet/lint"
)

// metrics are what the server counts. No label holds the name of an object or a namespace, so that their number is bounded.
type metrics struct {
	requests    *prometheus.CounterVec   // by kind, operation and decision
	duration    *prometheus.HistogramVec // seconds, by kind
	findings    *prometheus.CounterVec   // by rule, severity and action
	ruleTime    *prometheus.HistogramVec // seconds, by rule, of one request in sampleEvery
	ruleErrors  *prometheus.CounterVec   // by rule
	ruleSkipped *prometheus.CounterVec   // by rule and reason
	shed        *prometheus.CounterVec   // by reason
	inFlight    prometheus.Gauge
	reloads     *prometheus.CounterVec // by result
	refused     prometheus.Gauge       // 1 while the configuration that is there cannot be used
	config      *prometheus.GaugeVec   // 1, by hash
	expiry      prometheus.Gauge       // seconds since 1970
	build       *prometheus.GaugeVec   // 1, by version
}

func newMetrics() *metrics {
	m := makeMetrics()
	// A counter that is not there yet is not at zero to Prometheus: the first event of its kind would not be seen as a rise.
	for _, result := range [...]string{"success", "failure"} {
		m.reloads.WithLabelValues(result)
	}
	for _, reason := range [...]string{"busy", "deadline", "memory"} {
		m.shed.WithLabelValues(reason)
	}
	for _, kind := range [...]string{"ServiceEntry", "DestinationRule"} {
		for _, operation := range [...]string{"CREATE", "UPDATE", "DELETE"} {
			for _, decision := range [...]string{allowed, denied, exempt, unchanged, failed, shed} {
				m.requests.WithLabelValues(kind, operation, decision)
			}
		}
	}
	return m
}

func makeMetrics() *metrics {
	opts := func(name, help string) prometheus.Opts { return prometheus.Opts{Name: "meshvet_" + name, Help: help} }
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts(opts(name, help)), labels)
	}
	gauge := func(name, help string, labels ...string) *prometheus.GaugeVec {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts(opts(name, help)), labels)
	}
	histogram := func(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "meshvet_" + name, Help: help, Buckets: buckets}, labels)
	}
	return &metrics{
		requests: counter("admission_requests_total", "Requests that were answered, by what they were answered with.", "kind", "operation", "decision"),
		duration: histogram("admission_duration_seconds", "Time from a request that has been read to its answer.",
			[]float64{.0005, .001, .002, .003, .005, .0075, .01, .015, .02, .03, .05, .1, .25, .5, 1, 2.5, 5, 10}, "kind"),
		findings: counter("findings_total", "Findings of requests, by what became of them.", "rule", "severity", "action"),
		ruleTime: histogram("rule_duration_seconds", "Time that a rule took for one request, of a sample of the requests.",
			prometheus.ExponentialBuckets(1e-5, 4, 10), "rule"),
		ruleErrors:  counter("rule_errors_total", "Objects on which a rule broke.", "rule"),
		ruleSkipped: counter("rule_skipped_total", "Objects that a rule could not judge.", "rule", "reason"),
		shed:        counter("admission_shed_total", "Requests that were not judged because too many were in flight or their time was up.", "reason"),
		inFlight:    gauge("admission_in_flight", "Requests that are being judged.").WithLabelValues(),
		reloads:     counter("config_reloads_total", "Attempts to take over a changed configuration.", "result"),
		refused:     gauge("config_refused", "1 while the configuration that is there cannot be used, and the one before it is in force.").WithLabelValues(),
		config:      gauge("config_info", "The configuration in force, by the SHA-256 of its text.", "hash"),
		expiry:      gauge("certificate_expiry_timestamp_seconds", "When the certificate that is served ends.").WithLabelValues(),
		build:       gauge("build_info", "The version of meshvet.", "version"),
	}
}

// register makes the metrics visible. A registry that has them already, from a server before this one, shows these instead.
func (m *metrics) register(r prometheus.Registerer, more ...prometheus.Collector) error {
	all := append([]prometheus.Collector{
		m.requests, m.duration, m.findings, m.ruleTime, m.ruleErrors, m.ruleSkipped, m.shed, m.inFlight, m.reloads, m.refused, m.config, m.expiry, m.build,
	}, more...)
	for _, c := range all {
		err := r.Register(c)
		var there prometheus.AlreadyRegisteredError
		if errors.As(err, &there) {
			r.Unregister(there.ExistingCollector)
			err = r.Register(c)
		}
		if err != nil {
			return fmt.Errorf("register a metric: %w", err)
		}
	}
	return nil
}

// observe counts what a report says of the rules.
func (m *metrics) observe(r *lint.Report) {
	for _, p := range r.Problems {
		if p.Rule != "" {
			m.ruleErrors.WithLabelValues(p.Rule).Inc()
		}
	}
	for _, s := range r.Skipped {
		if s.Rule != "" {
			m.ruleSkipped.WithLabelValues(s.Rule, string(s.Cause)).Inc()
		}
	}
	if r.Profile == nil {
		return
	}
	for _, t := range r.Profile.Rules {
		if t.Judged > 0 {
			m.ruleTime.WithLabelValues(t.Rule.ID).Observe((t.Gates + t.Check).Seconds())
		}
	}
}

// decided counts a decision.
func (m *metrics) decided(d *Decision) {
	for _, f := range d.Findings {
		m.findings.WithLabelValues(f.Rule.ID, f.Severity.String(), string(f.Action)).Inc()
	}
}

// answered counts a request. Kind and operation come from outside: what is none that the server is for counts as other.
func (m *metrics) answered(kind, operation, decision string, took time.Duration) {
	if kind != "ServiceEntry" && kind != "DestinationRule" {
		kind = "other"
	}
	switch operation = strings.ToUpper(operation); operation {
	case "CREATE", "UPDATE", "DELETE":
	default:
		operation = "other"
	}
	m.requests.WithLabelValues(kind, operation, decision).Inc()
	m.duration.WithLabelValues(kind).Observe(took.Seconds())
}

// watchCollector shows what the index holds, as it is when somebody asks.
type watchCollector struct {
	index           *Index
	watches         []*watch
	objects, synced *prometheus.Desc
}

func newWatchCollector(index *Index, watches []*watch) *watchCollector {
	return &watchCollector{
		index: index, watches: watches,
		objects: prometheus.NewDesc("meshvet_index_objects", "Objects in the index.", []string{"kind"}, nil),
		synced:  prometheus.NewDesc("meshvet_index_synced", "1 if the index holds all objects of the kind: it follows the API server, or that does not serve the kind.", []string{"kind"}, nil),
	}
}

// Describe is part of prometheus.Collector.
func (c *watchCollector) Describe(out chan<- *prometheus.Desc) {
	out <- c.objects
	out <- c.synced
}

// Collect is part of prometheus.Collector.
func (c *watchCollector) Collect(out chan<- prometheus.Metric) {
	ix := c.index.Snapshot()
	for _, w := range c.watches {
		w.mu.Lock()
		synced := 0.0
		if w.complete() {
			synced = 1
		}
		w.mu.Unlock()
		out <- prometheus.MustNewConstMetric(c.synced, prometheus.GaugeValue, synced, string(w.Kind))
		out <- prometheus.MustNewConstMetric(c.objects, prometheus.GaugeValue, float64(c.index.count(ix, w.Kind)), string(w.Kind))
	}
}
