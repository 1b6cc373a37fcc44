package dump

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"
)

// repeating is a text that is made while it is read.
type repeating struct {
	head, unit, tail string
	count            int // how often unit is there
	rest             string
	state            int
}

func (g *repeating) Read(p []byte) (int, error) {
	n := 0
	for n < len(p) {
		if g.rest == "" {
			switch {
			case g.state == 0:
				g.rest, g.state = g.head, 1
			case g.count > 0:
				g.rest = g.unit
				g.count--
			case g.state == 1:
				g.rest, g.state = g.tail, 2
			default:
				if n == 0 {
					return 0, io.EOF
				}
				return n, nil
			}
			continue
		}
		k := copy(p[n:], g.rest)
		n, g.rest = n+k, g.rest[k:]
	}
	return n, nil
}

// heapWhile runs f and returns by how much the heap grew meanwhile at most.
func heapWhile(f func()) int64 {
	runtime.GC()
	var before runtime.MemStats
	runtime.ReadMemStats(&before)
	done, peaked := make(chan struct{}), make(chan uint64)
	go func() {
		var peak uint64
		for {
			var now runtime.MemStats
			runtime.ReadMemStats(&now)
			peak = max(peak, now.HeapAlloc)
			select {
			case <-done:
				peaked <- peak
				return
			case <-time.After(5 * time.Millisecond):
			}
		}
	}()
	f()
	close(done)
	return int64(<-peaked) - int64(before.HeapAlloc)
}

// TestHostileSizes holds that files of 200 MB, made to be costly, are read or refused in memory that does not depend on their size.
func TestHostileSizes(t *testing.T) {
	const (
		fileSize = 200_000_000
		x        = "0123456789abcdef"
	)
	cluster := strings.TrimSpace(printed(t, snake(items("cluster", clusterType, loadCompiled(t).Clusters[1:2])[0])))
	fill := func(head, unit, tail string) *repeating {
		return &repeating{head: head, unit: strings.Repeat(unit, max(1, 4096/len(unit))), tail: tail, count: fileSize / (len(unit) * max(1, 4096/len(unit)))}
	}
	inSection := `{"configs": [{"dynamic_active_clusters": [`
	for _, tt := range []struct {
		name   string
		in     *repeating
		limits Limits
		want   string // part of the error; "" for none
		least  int    // clusters
		memory int64  // MB
	}{
		{"a dump of many clusters", fill(inSection, cluster+",", cluster+"]}]}"), Limits{}, "", 50_000, 32},
		{"a dump with much that is not read", fill(`{"configs": [{"secrets": [`, `{"name": "x", "secret": [1, true, null, "y\u00e9"]},`, `{}]}]}`), Limits{}, "", 0, 8},
		{"a long string that is not read", fill(`{"configs": [{"secret": "`, x, `"}]}`), Limits{}, "", 0, 8},
		{"a long number that is not read", fill(`{"configs": [{"secret": 1`, "0", `}]}`), Limits{}, "", 0, 8},
		{"a long name that is not read", fill(`{"configs": [{"secret": {"`, x, `": 1}}]}`), Limits{}, "", 0, 8},
		{"white space", fill(`{"configs": [`, " \n", `]}`), Limits{}, "", 0, 8},
		{"white space only", fill("", " \n", ""), Limits{}, "is empty", 0, 8},
		{"a long string in a cluster", fill(inSection+`{"cluster": {"name": "`, x, `"}}]}]}`), Limits{},
			"dynamic_active_clusters, item 1 is larger than 16 MiB; leave it out of the dump", 0, 128},
		{"a long number in a cluster", fill(inSection+`{"cluster": {"name": 1`, "0", `}}]}]}`), Limits{}, "item 1 is larger than 16 MiB", 0, 128},
		{"a long name in a cluster", fill(inSection+`{"cluster": {"`, x, `":1}}]}]}`), Limits{}, "larger than 16 MiB", 0, 128},
		{"a long name of a section", fill(`{"configs": [{"`, x, `":1}]}`), Limits{}, "larger than 16 MiB", 0, 128},
		{"a long type", fill(`{"configs": [{"@type":"`, x, `"}]}`), Limits{}, "larger than 16 MiB", 0, 128},
		{"a large cluster", fill(inSection+`{"cluster": {"name": ["`+x, `","`+x+x+x+x, `"]}}]}]}`), Limits{}, "item 1 is larger than 16 MiB", 0, 128},
		{"a cluster of many small values", fill(inSection+`{"cluster": {"name": [0`, `,0`, `]}}]}]}`), Limits{}, "item 1 holds more than 1000000 values", 0, 256},
		{"a cluster of many small objects", fill(inSection+`{"cluster": {"name": [0`, `,{"a":0}`, `]}}]}]}`), Limits{}, "item 1 holds more than 1000000 values", 0, 384},
		{"long names above many values", fill(inSection+`{"cluster": {"`+strings.Repeat(x, 60_000)+`": [0`, `,0`, `]}}]}]}`), Limits{},
			"the field names of dynamic_active_clusters, item 1, written out for each value, are larger than 256 MiB", 0, 128},
		{"brackets that are not read", fill(`{"configs": [{"secret": `, "[", ""), Limits{}, "configs, item 1 is nested more than 256 levels deep", 0, 8},
		{"braces in a cluster", fill(inSection, `{"a":`, ""), Limits{}, "nested more than 256 levels deep", 0, 8},
		{"many outputs", fill("", "[               ]", ""), Limits{}, "holds an empty list", 0, 8},
		{"many resources", fill("[", `{"type":"EDS"},`, "{}]"), Limits{Resources: 300_000}, "holds more than 300000 resources", 300_000, 8},
		{"many foreign fields", fill("{", `"`+strings.Repeat(x, 12)+`":0,`, `"a":0}`), Limits{}, "holds a JSON object that is no dump", 0, 8},
		{"a file beyond the limit", fill("[", cluster+",", ""), Limits{FileBytes: 20 << 20}, "is larger than 20 MiB", 1000, 32},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var summary Summary
			var err error
			start := time.Now()
			heap := heapWhile(func() {
				summary, err = Read(t.Context(), "dump.json", tt.in, tt.limits, func(Resource) error { return nil })
			})
			t.Logf("%v, heap at most %d MB more, %v", time.Since(start).Round(time.Millisecond), heap/1e6, err)
			switch {
			case tt.want == "" && err != nil:
				t.Error(err)
			case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
				t.Errorf("got %v, want %s", err, tt.want)
			}
			if heap > tt.memory*1e6 {
				t.Errorf("the heap grew by %d MB, bound %d MB", heap/1e6, tt.memory)
			}
			if n := summary.Counts[Cluster]; n < tt.least {
				t.Errorf("%d clusters, want %d", n, tt.least)
			}
			if took := time.Since(start); took > time.Minute {
				t.Errorf("took %v", took)
			}
		})
	}
}

// TestTruncated holds that a dump that ends early is always an error that says so.
func TestTruncated(t *testing.T) {
	c := loadCompiled(t)
	small := fields{"configs": []any{
		typed("admin.v3.BootstrapConfigDump", fields{"bootstrap": bootstrapOf(nodeID)}),
		typed("admin.v3.ClustersConfigDump", fields{"versionInfo": "é\u2028\"\\ \U0001F600", "dynamicActiveClusters": items("cluster", clusterType, c.Clusters[:2])}),
		typed("admin.v3.ListenersConfigDump", fields{"dynamicListeners": []any{fields{"name": "l", "activeState": fields{"listener": c.Listeners[2]}}}}),
		typed("admin.v3.SecretsConfigDump", fields{"dynamicActiveSecrets": []any{1, -2.5e+10, true, false, nil, "\u2029\x01"}}),
	}}
	for name, text := range map[string]string{"dump": printed(t, snake(small)), "list": printed(t, c.Routes), "escaped": `[{"name":"\ud83d\ude00","type":"EDS"}]`} {
		text = strings.TrimSpace(text)
		for cut := range len(text) {
			_, _, _, err := collect(t, text[:cut])
			var problem *Error
			if !errors.As(err, &problem) {
				t.Fatalf("%s, %d bytes: %v", name, cut, err)
			}
			want := Truncated
			if cut == 0 {
				want = Empty
			}
			if problem.Problem != want || problem.Offset != int64(cut) || problem.Line != 1+strings.Count(text[:cut], "\n") {
				t.Errorf("%s, %d bytes: %s at %d, line %d: %v", name, cut, problem.Problem, problem.Offset, problem.Line, err)
			}
		}
	}
}

func TestErrors(t *testing.T) {
	c := loadCompiled(t)
	dynamic := func(item string) string {
		return "{\"configs\": [\n{\"dynamic_active_clusters\": [\n{\"cluster\": {\"name\": \"a\"}},\n" + item + "]}]}"
	}
	for _, tt := range []struct {
		name, text string
		limits     Limits
		want       string
		problem    Problem
	}{
		{"empty", "", Limits{}, "dump.json:1: is empty; look at what the command that should have written it said (byte 0)", Empty},
		{"blank", " \n\t\r\n", Limits{}, "dump.json:3: is empty; look at what the command that should have written it said (byte 5)", Empty},
		{"byte order mark only", "\ufeff", Limits{}, "dump.json:1: is empty; look at what the command that should have written it said (byte 3)", Empty},
		{"part of a byte order mark", "[]\xef\xbb", Limits{}, `dump.json:1: goes on after the JSON: it has something in it that is no JSON dump: ""; give`, NotJSON},
		{"HTML", "\n<!DOCTYPE html>\n<html>", Limits{}, "dump.json:2: is HTML or XML; ask Envoy's own admin interface, which in a pod of Istio's is at localhost:15000 (byte 1)", NotJSON},
		{"YAML of istioctl all", "configs:\n- '@type': x\n", Limits{}, "dump.json:1: looks like YAML; let istioctl print it with -o json (byte 0)", NotJSON},
		{"YAML of istioctl cluster", "- altStatName: x\n", Limits{}, "looks like YAML; let istioctl", NotJSON},
		{"YAML document", "---\nkind: ServiceEntry\n", Limits{}, "looks like YAML; let istioctl", NotJSON},
		{"table of clusters", "SERVICE FQDN                  PORT     SUBSET     DIRECTION     TYPE\n", Limits{}, "has a table in it; let istioctl print it with -o json", NotJSON},
		{"table of listeners", "ADDRESSES     PORT  MATCH        DESTINATION\n", Limits{}, "has a table in it; let istioctl", NotJSON},
		{"table of routes", "NAME     VHOST NAME     DOMAINS     MATCH     VIRTUAL SERVICE\n", Limits{}, "has a table in it; let istioctl", NotJSON},
		{"summary", "Istio Version:       1.26.2\n", Limits{}, "has a table in it; let istioctl", NotJSON},
		{"table of everything", "------ BOOTSTRAP INFO ------\n\n", Limits{}, "has a table in it; let istioctl", NotJSON},
		{"error of kubectl", "Error from server (NotFound): pods \"web\" not found\n", Limits{},
			`dump.json:1: has a message of a program in it: "Error from server (NotFound): pods \"web\" not found"; do what it says, and write nothing but the standard output to the file (no 2>&1) (byte 0)`, NotJSON},
		{"note of kubectl", "Defaulted container \"istio-proxy\" out of: istio-proxy\n{\"configs\": []}", Limits{}, "has a message of a program in it: \"Defaulted", NotJSON},
		{"log line", "W0203 04:05:06.789 warning\n[]", Limits{}, "has a message of a program in it: \"W0203", NotJSON},
		{"a message after the dump", "{\"configs\": []}\ncommand terminated with exit code 1\n", Limits{},
			`dump.json:2: goes on after the JSON: it has a message of a program in it: "command terminated with exit code 1"; do what it says,`, NotJSON},
		{"brackets after the dump", "[]\n]", Limits{}, `dump.json:2: goes on after the JSON: it has something in it that is no JSON dump: "]"`, NotJSON},
		{"gzip", "\x1f\x8b\x08\x00", Limits{}, "is compressed with gzip; unpack it", NotJSON},
		{"UTF-16 with a byte order mark", "\xff\xfe{\x00", Limits{}, "is text in UTF-16, or no text; write it as UTF-8", NotJSON},
		{"UTF-16", "\x00{\x00}", Limits{}, "is text in UTF-16, or no text; write it as UTF-8", NotJSON},
		{"long text", strings.Repeat("é", 5000), Limits{}, `has something in it that is no JSON dump: "` + strings.Repeat("é", 60) + `"…; give what Envoy's /config_dump answers,`, NotJSON},
		{"null", "null", Limits{}, `has something in it that is no JSON dump: "null"`, NotJSON},
		{"empty object", "{}", Limits{}, "dump.json:1: holds an empty object; give what Envoy's /config_dump answers, or what istioctl proxy-config all, cluster, listener, " +
			"route or endpoint prints with -o json (byte 0)", NotDump},
		{"empty list", " []", Limits{}, "dump.json:1: holds an empty list, which does not say of what; ask for more: there was nothing that the flags of its command ask for (byte 1)", NotDump},
		{"Kubernetes object", `{"apiVersion": "v1", "kind": "Pod"}`, Limits{}, "holds a Kubernetes object and no dump; give", NotDump},
		{"ztunnel", `{"config": {}, "policies": [], "services": [], "workloads": []}`, Limits{}, "holds a dump of ztunnel, which is not Envoy; give", NotDump},
		{"secrets", `{"dynamicActiveSecrets": []}`, Limits{}, "holds secrets only, and nothing that is read", NotDump},
		{"another object", "[{\"type\": \"EDS\"}]\n" + `{"a": {}, "b\n": [1, 2], "` + strings.Repeat("c", 100) + `": 1, "d": 0, "e": 0, "f": 0}`, Limits{},
			`dump.json:2: holds a JSON object that is no dump (its fields: "a", "\"b\\n\"", "` + strings.Repeat("c", 60) + `"…, "d", "e"); give`, NotDump},
		{"a list of others", `[{"type": "EDS"}, {"metadata": {}}]`, Limits{}, "dump.json:1: holds a list whose item 2 is no cluster, listener, route configuration or endpoints; give", NotDump},
		{"a list of one name", `[{"name": "a"}]`, Limits{}, "holds a list whose item 1 is no cluster", NotDump},
		{"a list of lists", `[[]]`, Limits{}, `dump.json:1: in the list, item 1: an object was expected, and not '['; write the dump again, without changes (byte 1)`, Syntax},
		{"two proxies", printed(t, fields{"bootstrap": bootstrapOf("sidecar~a~b.c~d")}) + printed(t, fields{"configs": []any{fields{"bootstrap": bootstrapOf(nodeID)}}}), Limits{},
			`holds dumps of two proxies, "sidecar~a~b.c~d" and "sidecar~10.1.0.7~web-5d9f.v2.shop~shop.svc.cluster.local"; give the dump of one proxy`, Mixed},

		{"truncated", printed(t, c.Clusters)[:300], Limits{}, "ends in the middle of the list, item 2; was the output cut off? write the dump again (byte 300)", Truncated},
		{"truncated in a section", strings.TrimSuffix(dynamic(`{"cluster": {`), "]}]}"), Limits{}, "dump.json:4: ends in the middle of dynamic_active_clusters, item 2; was the output cut off?", Truncated},
		{"truncated in what is not read", `{"configs": [{"x": [`, Limits{}, "ends in the middle of configs, item 1; was", Truncated},
		{"truncated in a list", `[{"type": "EDS"},`, Limits{}, "ends in the middle of the list, item 2; was", Truncated},

		{"configs are no list", `{"configs": {}}`, Limits{}, "dump.json:1: in configs: a list was expected, and not '{'; write", Syntax},
		{"config is no object", `{"configs": [7]}`, Limits{}, "in configs, item 1: an object was expected, and not '7'", Syntax},
		{"bootstrap is no object", `{"configs": [{"bootstrap": "x"}]}`, Limits{}, `in bootstrap: an object was expected, and not '"'`, Syntax},
		{"section is no list", `{"dynamicListeners": true}`, Limits{}, "in dynamic_listeners: a list was expected, and not 't'", Syntax},
		{"item is null", dynamic("null"), Limits{}, "dump.json:4: in dynamic_active_clusters, item 2: an object was expected, and not 'n'", Syntax},
		{"cluster is no object", dynamic(`{"cluster": "x"}`), Limits{}, "dump.json:4: in dynamic_active_clusters, item 2: cluster was expected, which is an object", Syntax},
		{"a listener among clusters", dynamic(`{"name": "x", "filter_chains": []}`), Limits{}, "item 2: cluster was expected, and not listener", Syntax},
		{"a wrapped listener among clusters", dynamic(`{"listener": {"name": "x"}}`), Limits{}, "item 2: cluster was expected, and not listener", Syntax},
		{"no comma", dynamic(`{} {}`), Limits{}, "item 2: a comma or the end of a list was expected, and not '{'", Syntax},
		{"comma at the end", dynamic(`{},`), Limits{}, "item 3: an object was expected, and not ']'", Syntax},
		{"comma at the end of an object", dynamic(`{"cluster": {"name": "b",}}`), Limits{}, "a field name in quotes was expected, and not '}'", Syntax},
		{"comma at the end of what is not read", `{"configs": [], "a": [1,]}`, Limits{}, "in the JSON: a value was expected, and not ']'", Syntax},
		{"no quotes", dynamic(`{cluster: {}}`), Limits{}, "a field name in quotes was expected, and not 'c'", Syntax},
		{"no colon", dynamic(`{"cluster" {}}`), Limits{}, "a colon was expected, and not '{'", Syntax},
		{"no value", dynamic(`{"cluster": {"a": é}}`), Limits{}, "a value was expected, and not a character beyond ASCII", Syntax},
		{"no comma in an object", dynamic(`{"cluster": {"a": 1 "b": 2}}`), Limits{}, "a comma or the end of an object was expected, and not '\"'", Syntax},
		{"brackets that do not fit", dynamic(`{"cluster": {"a": [1}}`), Limits{}, "a comma or the end of a list was expected, and not '}'", Syntax},
		{"twice", dynamic(`{"cluster": {"a": 1, "b": 2, "a": 1}}`), Limits{}, `item 2: the field "a" is there twice`, Syntax},
		{"NaN", dynamic(`{"cluster": {"a": NaN}}`), Limits{}, "a value was expected, and not 'N'", Syntax},
		{"leading zero", dynamic(`{"cluster": {"a": 01}}`), Limits{}, "a comma or the end of an object was expected, and not '1'", Syntax},
		{"sign only", dynamic(`{"cluster": {"a": -}}`), Limits{}, "a digit was expected, and not '}'", Syntax},
		{"point at the end", dynamic(`{"cluster": {"a": 1.}}`), Limits{}, "a digit was expected, and not '}'", Syntax},
		{"exponent without digits", dynamic(`{"cluster": {"a": 1e+}}`), Limits{}, "a digit was expected, and not '}'", Syntax},
		{"misspelt word", dynamic(`{"cluster": {"a": nil}}`), Limits{}, "null was expected, but its letter 2 is 'i'", Syntax},
		{"line break in a string", dynamic("{\"cluster\": {\"a\": \"b\nc\"}}"), Limits{}, "a string has the control character U+000A in it", Syntax},
		{"unknown escape", dynamic(`{"cluster": {"a": "\x"}}`), Limits{}, "a backslash is followed by 'x'", Syntax},
		{"half an escape", dynamic(`{"cluster": {"a": "\u12g4"}}`), Limits{}, `\u is followed by 'g', which is no hexadecimal digit`, Syntax},

		{"file too large", printed(t, c.Clusters), Limits{FileBytes: 100}, "dump.json:1: is larger than 100 bytes; write the kinds that matter into files of their own", Bounds},
		{"resource too large", dynamic(`{"cluster": {"name": "` + strings.Repeat("x", 100) + `"}}`), Limits{ResourceBytes: 100},
			"dump.json:4: dynamic_active_clusters, item 2 is larger than 100 bytes; leave it out of the dump", Bounds},
		{"too deep", dynamic(`{"cluster": {"a": [[]]}}`), Limits{Depth: 7}, "dump.json:4: dynamic_active_clusters, item 2 is nested more than 7 levels deep; leave it out of the dump", Bounds},
		{"too many values", dynamic(`{"cluster": {"a": [1, 2, 3]}}`), Limits{Values: 4}, "dump.json:4: dynamic_active_clusters, item 2 holds more than 4 values; leave", Bounds},
		{"too many resources", printed(t, c.Clusters), Limits{Resources: 3}, "holds more than 3 resources; write", Bounds},
		{"paths too long", dynamic(`{"cluster": {"aaaaaaaaaa": [1, 2, 3, 4, 5]}}`), Limits{PathBytes: 100}, "dump.json:4: the field names of dynamic_active_clusters, item 2, written out", Bounds},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Read(t.Context(), "dump.json", strings.NewReader(tt.text), tt.limits, func(Resource) error { return nil })
			var problem *Error
			if !errors.As(err, &problem) {
				t.Fatalf("got %v, want %s", err, tt.want)
			}
			if problem.Problem != tt.problem {
				t.Errorf("problem %q, want %q", problem.Problem, tt.problem)
			}
			if !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got  %s\nwant %s", err, tt.want)
			}
		})
	}
}

// Offsets and lines are those of an editor, also far into a file.
func TestErrorPlaces(t *testing.T) {
	const items = 20_000
	var b strings.Builder
	b.WriteString("[\n")
	for i := range items {
		fmt.Fprintf(&b, "{\"name\": \"c%d\",\n \"type\": \"EDS\"},\n", i)
	}
	offset := b.Len()
	b.WriteString("?]")
	_, _, _, err := collect(t, b.String())
	var problem *Error
	if !errors.As(err, &problem) {
		t.Fatal(err)
	}
	if problem.Offset != int64(offset) || problem.Line != 2*items+2 {
		t.Errorf("offset %d, line %d; want %d, %d", problem.Offset, problem.Line, offset, 2*items+2)
	}
}
