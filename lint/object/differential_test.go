package object

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
	sigsyaml "sigs.k8s.io/yaml"
)

// corpusDir holds real manifests of many repositories. It is not part of the module.
const corpusDir = "../../../shared/corpus"

// eachCorpusDocument calls check for every document of the corpus that is not empty, of whatever kind.
func eachCorpusDocument(t *testing.T, check func(name, text string, start, end int)) {
	t.Helper()
	if _, err := os.Stat(corpusDir); err != nil {
		t.Skip("no corpus of real manifests at " + corpusDir + "; the fuzz targets hold the loader to the same on made-up input")
	}
	documents := 0
	err := filepath.WalkDir(corpusDir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		switch filepath.Ext(path) {
		case ".yaml", ".yml", ".json":
		default:
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		text := strings.TrimPrefix(string(data), bom)
		for p := range split(text) {
			if !p.empty {
				documents++
				check(path, text, p.start, p.end)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d documents", documents)
}

// disagreement says how this package and Kubernetes' reader differ about a document, "" if they do not. They may differ where
// the reader that kubectl uses is careless, or kubectl does better than the reader alone:
//   - in its strict form it takes a key that a merge key sets and the mapping sets too for a duplicate; kubectl uses the
//     other form, in which the later one wins;
//   - it takes the keys 1 and "1" for two, and then loses one of them in JSON;
//   - it drops what follows the root of a document, for which it takes {} and [] before a colon too;
//   - it misreads documents with a byte-order mark in their midst, and kubectl shows it none that begins one;
//   - kubectl does not show it JSON, whose escapes for characters beyond the first plane it does not know, and some of whose
//     characters and line breaks it does not take;
//   - it reads an anchor and a lone "!" on two lines as those of one value, which cannot be seen in a yaml.Node;
//   - it reads UTF-16, which kubectl cannot cut into documents, bytes that are not UTF-8 where it happens not to look at
//     them, and beyond the bounds of this package.
func disagreement(text string, start, end int) string {
	b := treeBuilder{limits: Limits{}.WithDefaults(), text: text}
	root, err := b.parse(start, end)
	document := text[start:end]
	if m := afterMarker.FindString(document); m != "" {
		document = document[len(m):]
	}
	document = strings.TrimPrefix(document, bom)
	js, sigsErr := sigsyaml.YAMLToJSONStrict([]byte(document))
	isJSON := (sigsErr != nil || strings.Contains(document, bom)) && jsonForYAML(document) != ""
	switch {
	case isJSON:
		js, sigsErr = []byte(strings.TrimPrefix(document, "---")), nil
	case err == nil && sigsErr != nil && strings.Contains(document, "<<"):
		js, sigsErr = sigsyaml.YAMLToJSON([]byte(document))
	}
	switch {
	case err != nil && sigsErr == nil:
		if carelesslyAccepted(document, string(js), err) || isJSON && duplicateKey.MatchString(err.Error()) {
			return ""
		}
		return "refused here only: " + err.Error()
	case err == nil && sigsErr != nil:
		return "refused by Kubernetes' reader only: " + sigsErr.Error()
	case err != nil:
		return ""
	}
	want, err := decodeAsKubernetes(js)
	if err == nil && isJSON {
		// Numbers such as 1e2 become what they would be after YAML.
		if js, err = json.Marshal(want); err == nil {
			want, err = decodeAsKubernetes(js)
		}
	}
	if err != nil {
		return "JSON of Kubernetes' reader: " + err.Error()
	}
	if diff := cmp.Diff(want, root.Any()); diff != "" {
		return "values differ (-Kubernetes +here):\n" + diff
	}
	return ""
}

var duplicateKey = regexp.MustCompile(`^key "(.*)" is already set on line \d+`)

// carelesslyAccepted says whether a document that is refused here with err is one that Kubernetes' reader should have refused
// too: it read it as js.
func carelesslyAccepted(document, js string, err error) bool {
	var de *documentError
	if !errors.As(err, &de) {
		return false
	}
	if m := duplicateKey.FindStringSubmatch(de.msg); m != nil {
		return !isPlainString(m[1])
	}
	if de.kind == Bounds || de.msg == hiddenDocument || de.msg == compositeKey || de.msg == strayTag || strings.Contains(document, bom) || !utf8.ValidString(document) {
		return true
	}
	if !dropsRest(document, js) {
		return false
	}
	b := treeBuilder{limits: Limits{}.WithDefaults()}
	_, dec, err := b.decode(document, 0)
	if err == nil {
		err = dec.Decode(new(yaml.Node))
	}
	return err != nil && !errors.Is(err, io.EOF)
}

// dropsRest says whether Kubernetes' reader reads a document as js whatever follows it.
func dropsRest(document, js string) bool {
	again, err := sigsyaml.YAMLToJSONStrict([]byte(document + "\n]"))
	return err == nil && string(again) == js
}

// decodeAsKubernetes decodes JSON as the API machinery does: integers where they fit in 64 bits, else floats.
func decodeAsKubernetes(js []byte) (any, error) {
	dec := json.NewDecoder(strings.NewReader(string(js)))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	var convert func(any) any
	convert = func(v any) any {
		switch v := v.(type) {
		case json.Number:
			if i, err := v.Int64(); err == nil {
				return i
			}
			f, err := v.Float64()
			if err != nil {
				return fmt.Sprintf("number %s: %v", v, err)
			}
			return f
		case []any:
			for i := range v {
				v[i] = convert(v[i])
			}
		case map[string]any:
			for k := range v {
				v[k] = convert(v[k])
			}
		}
		return v
	}
	return convert(v), nil
}

func TestCorpusAgreesWithKubernetes(t *testing.T) {
	eachCorpusDocument(t, func(name, text string, start, end int) {
		if d := disagreement(text, start, end); d != "" {
			t.Errorf("%s, document at byte %d: %s", name, start, d)
		}
	})
}
