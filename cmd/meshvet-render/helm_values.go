package main

import (
	"bytes"
	"strings"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/strvals"

	"github.com/meshvet/meshvet/lint/render"
)

// mergeValues merges the values of a request, by Helm's own code: of files, later ones win, and what is set wins over them.
func mergeValues(h *render.Helm) (map[string]any, error) {
	merged := map[string]any{}
	for _, f := range h.Values {
		values, err := loader.LoadValues(bytes.NewReader(bytes.TrimPrefix(f.Text, []byte("\ufeff"))))
		if err != nil {
			return nil, fail(f.Name, yamlLine(err, f.Text), "the file cannot be read as values: %s", yamlWords(err.Error()))
		}
		merged = loader.MergeMaps(merged, values)
	}
	for _, s := range h.Set {
		if err := strvals.ParseInto(s, merged); err != nil {
			return nil, fail("", 0, "--set %q cannot be read: %s; write NAME=VALUE, with a backslash before a comma, dot or bracket that is part of it", s, words(err))
		}
	}
	return merged, nil
}

// checkDependencies refuses a chart of which a dependency is not there. That of a dependency which the values disable makes no
// difference, and repositories often leave out all of them.
func (r *rendering) checkDependencies() error {
	var missing []string
	var values common.Values
	for _, d := range r.chart.Metadata.Dependencies {
		if hasDependency(r.chart, d.Name) {
			continue
		}
		if values == nil {
			var err error
			if values, err = util.CoalesceValues(r.chart, r.values); err != nil {
				return fail(r.manifest(), 0, "the values of chart %s cannot be merged: %s", r.chart.Name(), words(err))
			}
		}
		if !disabled(d, values) {
			missing = append(missing, d.Name)
		}
	}
	if len(missing) > 0 {
		return fail(r.manifest(), 0, "the chart depends on %s, not found in its folder charts: run `helm dependency build` on it, since nothing is fetched here",
			strings.Join(missing, ", "))
	}
	r.noteMissing(r.chart)
	return nil
}

// noteMissing tells of dependencies of dependencies that are not there. Helm leaves them out.
func (r *rendering) noteMissing(c *chart.Chart) {
	for _, sub := range c.Dependencies() {
		for _, d := range sub.Metadata.Dependencies {
			if !hasDependency(sub, d.Name) {
				r.note("the chart %s, on which %s depends, depends on %s, not found in its folder charts: it is rendered without", sub.Name(), c.Name(), d.Name)
			}
		}
		r.noteMissing(sub)
	}
}

// hasDependency reports whether a chart of a name is in the folder charts of c. Helm looks at no versions here.
func hasDependency(c *chart.Chart, name string) bool {
	for _, sub := range c.Dependencies() {
		if sub.Name() == name {
			return true
		}
	}
	return false
}

// disabled reports whether a dependency that is not there would be disabled if it were, whatever its own values are.
func disabled(d *chart.Dependency, values common.Values) bool {
	name := d.Name
	if d.Alias != "" {
		name = d.Alias
	}
	for condition := range strings.SplitSeq(strings.TrimSpace(d.Condition), ",") {
		if condition == "" {
			continue
		}
		v, err := values.PathValue(condition)
		if enabled, is := v.(bool); err == nil && is {
			return !enabled
		}
		if strings.HasPrefix(condition, name+".") {
			return false // the values of the chart that is missing decide
		}
	}
	tags, err := values.Table("tags")
	if err != nil {
		return false
	}
	off := false
	for _, t := range d.Tags {
		if on, is := tags[t].(bool); is {
			if on {
				return false
			}
			off = true
		}
	}
	return off
}

// copyValues makes a copy of what templates are given that they cannot change. What is neither a map nor a list is not copied.
func copyValues(v map[string]any) map[string]any {
	c := make(map[string]any, len(v))
	for k, e := range v {
		c[k] = copyValue(e)
	}
	return c
}

func copyValue(v any) any {
	switch v := v.(type) {
	case map[string]any:
		return copyValues(v)
	case common.Values:
		return common.Values(copyValues(v))
	case []any:
		c := make([]any, len(v))
		for i, e := range v {
			c[i] = copyValue(e)
		}
		return c
	default:
		return v
	}
}
