package dump

import (
	"context"
	"strings"
	"testing"
)

// BenchmarkRead reads a dump of some MB, of which one is what Istio compiles for a sidecar and the other not read.
func BenchmarkRead(b *testing.B) {
	c := loadCompiled(b)
	for range 9 {
		c.Clusters = append(c.Clusters, c.Clusters...)
	}
	read := printed(b, snake(fields{"configs": []any{fields{"dynamicActiveClusters": items("cluster", clusterType, c.Clusters)}}}))
	for _, bm := range []struct{ name, text string }{
		{"clusters", read},
		{"skipped", strings.Replace(read, "dynamic_active_clusters", "dynamic_active_secrets", 1)},
	} {
		b.Run(bm.name, func(b *testing.B) {
			b.SetBytes(int64(len(bm.text)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Read(context.Background(), "dump.json", strings.NewReader(bm.text), Limits{}, func(Resource) error { return nil }); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
