package main

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	chart "helm.sh/helm/v4/pkg/chart/v2"
)

// schemaURL is the name that Helm gives a schema, which its messages begin with.
const schemaURL = "file:///values.schema.json"

// errNotFetched is what a schema meets that refers to another place.
var errNotFetched = errors.New("not fetched")

// checkSchemas holds values against the schema of the chart and of those that it depends on. Helm's own function would read files and
// fetch addresses that a schema refers to; this is what it does, with the same library, without either.
func (r *rendering) checkSchemas(c *chart.Chart, values map[string]any) error {
	if c.Schema != nil {
		if err := r.checkSchema(c, values); err != nil {
			return err
		}
	}
	for _, sub := range c.Dependencies() {
		v, found := values[sub.Name()]
		if !found || v == nil {
			continue
		}
		of, is := v.(map[string]any)
		if !is {
			return fail(r.manifest(), 0, "the values of chart %s have %T for the chart %s in it, where a map has to be", c.Name(), v, sub.Name())
		}
		if err := r.checkSchemas(sub, of); err != nil {
			return err
		}
	}
	return nil
}

// checkSchema holds values against the schema of one chart.
func (r *rendering) checkSchema(c *chart.Chart, values map[string]any) (err error) {
	at := path.Join(r.where[c], "values.schema.json")
	if r.where[c] == "" {
		at = "" // a copy that has an alias
	}
	defer func() {
		if p := recover(); p != nil {
			err = fail(at, 0, "the schema of chart %s cannot be applied: %v", c.Name(), p)
		}
	}()
	schema, err := jsonschema.UnmarshalJSON(bytes.NewReader(c.Schema))
	if err != nil {
		return fail(at, 0, "the schema of chart %s is no JSON: %s", c.Name(), words(err))
	}
	outside := &noFetch{}
	compiler := jsonschema.NewCompiler()
	compiler.UseLoader(outside)
	if err := compiler.AddResource(schemaURL, schema); err != nil {
		return fail(at, 0, "the schema of chart %s cannot be applied: %s", c.Name(), words(err))
	}
	compiled, err := compiler.Compile(schemaURL)
	switch {
	case outside.url != "":
		r.note("the schema of chart %s refers to %s, which is not fetched: the values are not held against it", c.Name(), outside.url)
		return nil
	case err != nil:
		return fail(at, 0, "the schema of chart %s cannot be applied: %s", c.Name(), words(err))
	}
	if err := compiled.Validate(values); err != nil {
		_, why, _ := strings.Cut(err.Error(), "\n") // the first line names the schema
		return fail(at, 0, "the values do not fit the schema of chart %s: %s", c.Name(), oneLine(strings.ReplaceAll(strings.TrimPrefix(why, "- "), "\n- ", "; ")))
	}
	return nil
}

// noFetch loads nothing.
type noFetch struct{ url string }

// Load is that of a jsonschema.URLLoader.
func (n *noFetch) Load(url string) (any, error) {
	if n.url == "" {
		n.url = url
	}
	return nil, fmt.Errorf("%s: %w", url, errNotFetched)
}
