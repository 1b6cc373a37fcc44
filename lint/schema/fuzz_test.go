package schema

import (
	"testing"

	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// FuzzValidate holds Valid and Validate to the API server's libraries on any JSON object.
func FuzzValidate(f *testing.F) {
	for _, list := range seeds(f) {
		for _, raw := range list {
			f.Add([]byte(toJSON(f, raw)))
		}
	}
	for _, text := range []string{smallServiceEntry, fullDestinationRule, invalidDestinationRule} {
		f.Add([]byte(text))
	}
	v := newValidator(f, "")
	f.Fuzz(func(t *testing.T, text []byte) {
		var raw map[string]any
		if len(text) > 1<<14 || utiljson.Unmarshal(text, &raw) != nil || raw == nil {
			return
		}
		for _, kind := range v.Kinds() {
			if d := disagreement(t, v, kind, raw); d != "" {
				t.Error(d)
			}
		}
	})
}
