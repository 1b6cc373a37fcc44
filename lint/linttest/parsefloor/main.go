// Command parsefloor reads every manifest below a folder into Istio's types and does nothing else. Benchmarks compare the
// linter with it: no tool that looks at the manifests can cost less.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"

	"go.yaml.in/yaml/v3"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	networking "istio.io/api/networking/v1alpha3"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: parsefloor DIR")
		os.Exit(2)
	}
	n, err := readAll(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, "parsefloor:", err)
		os.Exit(1)
	}
	fmt.Println(n, "documents")
}

func readAll(root string) (int64, error) {
	files := make(chan string)
	var documents atomic.Int64
	var mu sync.Mutex
	var failed error
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for name := range files {
				n, err := readFile(name)
				if err != nil {
					mu.Lock()
					failed = errors.Join(failed, fmt.Errorf("%s: %w", name, err))
					mu.Unlock()
				}
				documents.Add(n)
			}
		})
	}
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && filepath.Ext(name) == ".yaml" {
			files <- name
		}
		return err
	})
	close(files)
	wg.Wait()
	return documents.Load(), errors.Join(err, failed)
}

func readFile(name string) (int64, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return 0, err
	}
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var n int64
	for {
		var doc yaml.Node
		if err := dec.Decode(&doc); errors.Is(err, io.EOF) {
			return n, nil
		} else if err != nil {
			return n, err
		}
		if len(doc.Content) == 0 || doc.Content[0].Kind != yaml.MappingNode {
			continue
		}
		root := doc.Content[0]
		spec := specOf(field(root, "kind"))
		if spec == nil {
			continue
		}
		var b bytes.Buffer
		writeJSON(&b, field(root, "spec"))
		if err := (protojson.UnmarshalOptions{}).Unmarshal(b.Bytes(), spec); err != nil {
			return n, err
		}
		n++
	}
}

func specOf(kind *yaml.Node) proto.Message {
	switch {
	case kind == nil:
		return nil
	case kind.Value == "ServiceEntry":
		return &networking.ServiceEntry{}
	case kind.Value == "DestinationRule":
		return &networking.DestinationRule{}
	}
	return nil
}

func field(n *yaml.Node, key string) *yaml.Node {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return nil
}

func writeJSON(b *bytes.Buffer, n *yaml.Node) {
	if n == nil {
		b.WriteString("null")
		return
	}
	switch n.Kind {
	case yaml.MappingNode:
		b.WriteByte('{')
		for i := 0; i+1 < len(n.Content); i += 2 {
			if i > 0 {
				b.WriteByte(',')
			}
			writeString(b, n.Content[i].Value)
			b.WriteByte(':')
			writeJSON(b, n.Content[i+1])
		}
		b.WriteByte('}')
	case yaml.SequenceNode:
		b.WriteByte('[')
		for i, item := range n.Content {
			if i > 0 {
				b.WriteByte(',')
			}
			writeJSON(b, item)
		}
		b.WriteByte(']')
	case yaml.ScalarNode:
		switch n.Tag {
		case "!!int", "!!float", "!!bool", "!!null":
			b.WriteString(n.Value)
		default:
			writeString(b, n.Value)
		}
	}
}

func writeString(b *bytes.Buffer, s string) {
	js, err := json.Marshal(s)
	if err != nil {
		js = []byte(`""`)
	}
	b.Write(js)
}
