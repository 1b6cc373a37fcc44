package release

import (
	"context"
	"fmt"
	"io"
	"net/http"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// Metrics are what the process tells at /metrics, by name.
type Metrics map[string]*dto.MetricFamily

// Metrics reads them.
func (p *Pod) Metrics(ctx context.Context) (Metrics, error) {
	body, code, err := p.get(ctx, p.MetricsPort, "/metrics")
	if err != nil {
		return nil, err
	}
	defer body.Close() //nolint:errcheck // only read
	if code != http.StatusOK {
		return nil, fmt.Errorf("/metrics answers %d", code)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(body)
	if err != nil {
		return nil, fmt.Errorf("read /metrics: %w", err)
	}
	return families, nil
}

// Sum adds up the counters and gauges of a name (and the counts of a histogram) whose labels are among others these,
// given as name, value, name, value.
func (m Metrics) Sum(name string, labels ...string) float64 {
	var sum float64
	for _, metric := range m[name].GetMetric() {
		if !has(metric, labels) {
			continue
		}
		switch {
		case metric.Counter != nil:
			sum += metric.GetCounter().GetValue()
		case metric.Gauge != nil:
			sum += metric.GetGauge().GetValue()
		case metric.Histogram != nil:
			sum += float64(metric.GetHistogram().GetSampleCount())
		}
	}
	return sum
}

func has(m *dto.Metric, labels []string) bool {
	for i := 0; i+1 < len(labels); i += 2 {
		found := false
		for _, l := range m.GetLabel() {
			found = found || l.GetName() == labels[i] && l.GetValue() == labels[i+1]
		}
		if !found {
			return false
		}
	}
	return true
}

// Get asks the process's port for health or metrics, and returns the status and the text.
func (p *Pod) Get(ctx context.Context, port int, path string) (int, string, error) {
	body, code, err := p.get(ctx, port, path)
	if err != nil {
		return 0, "", err
	}
	defer body.Close() //nolint:errcheck // only read
	text, err := io.ReadAll(body)
	if err != nil {
		return 0, "", fmt.Errorf("read %s: %w", path, err)
	}
	return code, string(text), nil
}

func (p *Pod) get(ctx context.Context, port int, path string) (io.ReadCloser, int, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("http://127.0.0.1:%d%s", port, path), http.NoBody)
	if err != nil {
		return nil, 0, fmt.Errorf("ask for %s: %w", path, err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, 0, fmt.Errorf("ask for %s: %w", path, err)
	}
	return response.Body, response.StatusCode, nil
}
