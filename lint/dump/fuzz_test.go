package dump

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

// fuzzLimits are small enough for the fuzzer to meet them.
var fuzzLimits = Limits{FileBytes: 1 << 15, ResourceBytes: 1 << 12, Depth: 16, Values: 200, Resources: 20, PathBytes: 1 << 12}

// FuzzRead holds for any text: it ends without a panic, in an error that says where or in what encoding/json takes for values,
// and it does not matter in which portions the text comes.
func FuzzRead(f *testing.F) {
	c := loadCompiled(f)
	c.Listeners = []map[string]any{{"name": "a", "listenerFilters": []any{}}, {"name": "b", "address": fields{}}, {"name": "c"}}
	c.Routes = []map[string]any{{"name": "80", "virtualHosts": []any{}}}
	c.Endpoints = []map[string]any{{"clusterName": "e", "endpoints": []any{}}}
	for i := range c.Clusters {
		c.Clusters[i] = fields{"name": fmt.Sprint("c", i), "type": "EDS", "connectTimeout": "0.1s"}
	}
	for _, shape := range []any{
		configDump(c), snake(configDump(c)), c.Clusters, snake(c.Routes), items("endpointConfig", "", c.Endpoints),
		fields{"configs": []any{typed("admin.v3.ClustersConfigDump.StaticCluster", fields{"cluster": c.Clusters[0]})}},
		fields{"cluster_statuses": []any{fields{"name": "a"}}},
	} {
		var compact bytes.Buffer
		if err := json.Compact(&compact, []byte(printed(f, shape))); err != nil {
			f.Fatal(err)
		}
		f.Add(compact.String())
	}
	for _, text := range []string{
		"", " \n", "[]", "{}", "[]\n[{}]", "\ufeff[{\"name\": \"a\", \"type\": \"EDS\"}]\ufeff[]", "<html>", "a: b", "- a", "NAME   TYPE\n", "Error: x\n",
		"[{\"name\": \"\\ud83d\\ude00\\ud83d\\n\\ude00\\/\xff\", \"type\": \"EDS\", \"n\": [-0, 1.5e-7, true, false, null]}]",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		read := func(in io.Reader) (string, error) {
			var all []string
			_, err := Read(t.Context(), "fuzz.json", in, fuzzLimits, func(r Resource) error {
				body, err := json.Marshal(r.Body)
				if err != nil {
					t.Errorf("a body that is no JSON: %s", err)
				}
				all = append(all, fmt.Sprintf("%s %s %q %q %d %s %d", r.Kind, r.State, r.Name, r.Reason, r.Line, body, len(r.Leaves())))
				return nil
			})
			return strings.Join(all, "\n"), err
		}
		got, err := read(strings.NewReader(text))
		again, errAgain := read(iotest.OneByteReader(strings.NewReader(text)))
		if problem := checkError(text, err); problem != "" {
			t.Errorf("%s: %v", problem, err)
		}
		if !dependsOnPortions(err) && !dependsOnPortions(errAgain) && (got != again || fmt.Sprint(err) != fmt.Sprint(errAgain)) {
			t.Errorf("in one piece:\n%s\n%v\nbyte by byte:\n%s\n%v", got, err, again, errAgain)
		}
		if err == nil {
			d := json.NewDecoder(strings.NewReader(strings.ReplaceAll(text, "\ufeff", " ")))
			d.UseNumber()
			for err == nil {
				var v any
				err = d.Decode(&v)
			}
			if !errors.Is(err, io.EOF) {
				t.Errorf("read without an error, but encoding/json says: %s", err)
			}
		}
	})
}

// dependsOnPortions says that an error may be another, or elsewhere, if the text comes in other portions: bounds on bytes are looked
// at once for each, and a text that is no JSON is quoted as far as it is there.
func dependsOnPortions(err error) bool {
	var problem *Error
	return errors.As(err, &problem) && (problem.Problem == Bounds || problem.Problem == NotJSON)
}

// checkError says what is wrong with an error about a text.
func checkError(text string, err error) string {
	if err == nil {
		return ""
	}
	var e *Error
	switch {
	case !errors.As(err, &e):
		return "an error of another type"
	case e.Name == "" || e.Problem == "" || e.What == "" || e.Remedy == "":
		return "an error that does not say everything"
	case e.Offset < 0 || e.Offset > int64(len(text)):
		return "an error outside the text"
	case e.Line != 1+strings.Count(text[:e.Offset], "\n"):
		return "an error on another line"
	}
	return ""
}

// FuzzDifferential holds that values are read as encoding/json reads them. Only a field that is there twice is refused here.
func FuzzDifferential(f *testing.F) {
	for _, text := range []string{
		`null`, `[1, -0.5e+3, 0, 1E9, "a", true, false, null, {}, []]`, `{"a": {"b": [{}]}}`, `"\ud83d\ude00 \ud83d \ude00\ud83dx\ud83d\n\ud83d\u0041\u00e9"`,
		"\"\xff\xc3é\xe2\x28\"", `01`, `1.`, `-`, `1e`, `tru`, `"\x"`, `"\u12"`, "\"\n\"", `[1,]`, `{"a":1,}`, `{"a" 1}`, `[1 2]`, `{"a":1,"a":2}`, `"\/\b\f\n\r\t\"\\"`,
		`{"\u0061":1,"\ud83d":2}`, "\"\u2028\x7f\"", `1}, "b": {`, `2] `,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		text = `{"a": ` + text + "}"
		s := newScanner(t.Context(), "fuzz.json", strings.NewReader(text), Limits{Depth: 1000}.WithDefaults())
		got, err := s.resource()
		if err == nil {
			var c byte
			if c, err = s.token(); err == nil {
				err = fmt.Errorf("%q after the object", c)
			} else if errors.Is(err, io.EOF) {
				err = nil
			}
		}
		skipper := newScanner(t.Context(), "fuzz.json", strings.NewReader(text), Limits{Depth: 1000}.WithDefaults())
		errSkip := skipper.skip()
		d := json.NewDecoder(strings.NewReader(text))
		d.UseNumber()
		var want map[string]any
		errWant := d.Decode(&want)
		if errWant == nil {
			if _, e := d.Token(); !errors.Is(e, io.EOF) {
				errWant = errors.New("more after the object")
			}
		}
		if err != nil && (strings.Contains(err.Error(), " is there twice") || strings.Contains(err.Error(), " levels deep")) {
			return
		}
		switch {
		case (err == nil) != (errWant == nil):
			t.Errorf("%q: %v, but encoding/json: %v", text, err, errWant)
		case err == nil && errSkip != nil:
			t.Errorf("%q can be read, but not skipped: %v", text, errSkip)
		case err == nil:
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%q (-encoding/json +this):\n%s", text, diff)
			}
		}
	})
}
