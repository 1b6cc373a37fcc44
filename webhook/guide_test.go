package webhook

import (
	"os"
	"regexp"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/meshvet/meshvet/lint"
)

// TestGuide reads the values that the guide shows, as the chart would hand them to the server.
func TestGuide(t *testing.T) {
	all, err := realRules()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("../docs/guide/webhook.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllSubmatch(text, -1)
	if len(blocks) < 2 {
		t.Fatalf("the guide has %d blocks of values", len(blocks))
	}
	for _, block := range blocks {
		var values struct {
			Config map[string]any `json:"config"`
		}
		if err := yaml.Unmarshal(block[1], &values); err != nil || values.Config == nil {
			t.Errorf("no values with a config: %v in\n%s", err, block[1])
			continue
		}
		config, err := yaml.Marshal(values.Config)
		if err != nil {
			t.Fatal(err)
		}
		cfg, problems := lint.ReadConfig("config", config)
		if len(problems) > 0 {
			t.Errorf("%v in\n%s", problems, config)
			continue
		}
		if _, err := newRuleset(all, cfg, ""); err != nil {
			t.Errorf("%v in\n%s", err, config)
		}
	}
}
