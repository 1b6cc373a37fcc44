package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strconv"

	"github.com/meshvet/meshvet/lint/object"
	"github.com/meshvet/meshvet/test/prove/agree"
	"github.com/meshvet/meshvet/test/prove/oracle"
)

func main() {
	ctx := context.Background()
	c, err := oracle.Start(ctx, "/tmp/wt/oracle/bin/oracle")
	if err != nil {
		panic(err)
	}
	var total agree.Outcome
	if os.Args[1] == "random" {
		from, _ := strconv.Atoi(os.Args[2])
		to, _ := strconv.Atoi(os.Args[3])
		for s := from; s < to; s++ {
			m, err := agree.Random(uint64(s))
			if err != nil {
				panic(err)
			}
			all := m.Proxies()
			pick := all[s%len(all):][:1]
			if len(os.Args) > 4 {
				for _, o := range m.Objects {
					b, _ := o.Root().MarshalJSON()
					fmt.Println("---\n" + string(b))
				}
				fmt.Println("# mesh", m.MeshConfig)
				pick = all
			}
			o, err := agree.Compare(ctx, c, m, pick)
			if err != nil {
				fmt.Println("ERR", err)
			}
			total.Add(o)
		}
	} else {
		for _, f := range os.Args[1:] {
			b, _ := os.ReadFile(f)
			l, err := object.Load(ctx, f, bytes.NewReader(b), object.Limits{})
			if err != nil {
				continue
			}
			m := &agree.Mesh{Name: f, Objects: l.Objects}
			o, err := agree.Compare(ctx, c, m, m.Proxies())
			if err != nil {
				fmt.Println("ERR", err)
			}
			total.Add(o)
		}
	}
	for _, x := range total.Contradictions {
		fmt.Println(x)
	}
	fmt.Println("died", total.Died)
	fmt.Println(total.Meshes, "meshes", total.Proxies, "proxies", total.Clusters, "clusters", total.Filters, "filters", total.Routes, "routes", total.Leaves, "leaves", total.Panics, "panics", len(total.Contradictions), "contradictions")
}
