package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/meshvet/meshvet/lint/linttest"
	"github.com/meshvet/meshvet/lint/mesh"
	"github.com/meshvet/meshvet/lint/object"
	"github.com/meshvet/meshvet/test/prove/oracle"
)

// manifests are objects that can be changed, as JSON has them.
type manifests []manifest

type manifest struct {
	key object.Key
	raw map[string]any
}

// manifestsOf copies the objects of files.
func manifestsOf(files ...*object.File) (manifests, error) {
	var out manifests
	for _, f := range files {
		if len(f.Problems) > 0 {
			return nil, fmt.Errorf("%s: %s", f.Problems[0].Location, f.Problems[0].Message)
		}
		for _, o := range f.Objects {
			raw, ok := o.Root().Any().(map[string]any)
			if !ok {
				return nil, fmt.Errorf("%s is not a mapping", o.Key)
			}
			out = append(out, manifest{o.Key, raw})
		}
	}
	return out, nil
}

// text writes the objects one after the other.
func (m manifests) text() (string, error) {
	var b strings.Builder
	for _, one := range m {
		js, err := json.Marshal(one.raw)
		if err != nil {
			return "", fmt.Errorf("write %s: %w", one.key, err)
		}
		b.Write(js)
		b.WriteByte('\n')
	}
	return b.String(), nil
}

// without removes a field, or with an empty path the whole object, and leaves the receiver as it is.
func (m manifests) without(key object.Key, path object.Path) (manifests, error) {
	i := slices.IndexFunc(m, func(x manifest) bool { return x.key == key })
	if i < 0 {
		return nil, fmt.Errorf("there is no %s", key)
	}
	if len(path) == 0 {
		return slices.Delete(slices.Clone(m), i, i+1), nil
	}
	raw, err := copied(m[i].raw)
	if err != nil {
		return nil, err
	}
	after, ok := removed(raw, path)
	object, isMap := after.(map[string]any)
	if !ok || !isMap {
		return nil, fmt.Errorf("%s has no %s", key, path)
	}
	out := slices.Clone(m)
	out[i] = manifest{key, object}
	return out, nil
}

// removed is a value without what is at a path in it.
func removed(v any, path object.Path) (any, bool) {
	switch step := path[0].(type) {
	case string:
		fields, ok := v.(map[string]any)
		if !ok {
			return nil, false
		}
		inner, ok := fields[step]
		if !ok {
			return nil, false
		}
		if len(path) == 1 {
			delete(fields, step)
			return fields, true
		}
		fields[step], ok = removed(inner, path[1:])
		return fields, ok
	case int:
		items, ok := v.([]any)
		if !ok || step < 0 || step >= len(items) {
			return nil, false
		}
		if len(path) == 1 {
			return slices.Delete(items, step, step+1), true
		}
		items[step], ok = removed(items[step], path[1:])
		return items, ok
	}
	return nil, false
}

func copied(raw map[string]any) (map[string]any, error) {
	js, err := json.Marshal(raw)
	if err != nil {
		return nil, fmt.Errorf("copy an object: %w", err)
	}
	var out map[string]any
	if err := json.Unmarshal(js, &out); err != nil {
		return nil, fmt.Errorf("copy an object: %w", err)
	}
	return out, nil
}

// created gives the objects that are judged creation times, a day apart in the order of the text or in the opposite one: what Istio makes
// of rivals that are equally old varies from run to run.
func (m manifests) created(opposite bool) (manifests, error) {
	out := slices.Clone(m)
	day := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for i := range out {
		j := i
		if opposite {
			j = len(out) - 1 - i
		}
		if !out[j].key.Kind.Judged() {
			continue
		}
		raw, err := copied(out[j].raw)
		if err != nil {
			return nil, err
		}
		meta, ok := raw["metadata"].(map[string]any)
		if !ok {
			return nil, fmt.Errorf("%s has no metadata", out[j].key)
		}
		day = day.AddDate(0, 0, 1)
		meta["creationTimestamp"] = day.Format(time.RFC3339)
		out[j].raw = raw
	}
	return out, nil
}

// jobOf asks for what a proxy gets of manifests under a case's configuration.
func jobOf(c *linttest.Case, one *claim, own, around manifests) (*oracle.Job, error) {
	objects, err := append(slices.Clone(own), around...).text()
	if err != nil {
		return nil, err
	}
	settings := c.Config.Mesh
	job := &oracle.Job{
		ID: c.Name(), Objects: objects, Domain: settings.ClusterDomain,
		Proxy: oracle.Proxy{Type: one.Proxy.Type, Namespace: one.Proxy.Namespace, Labels: one.Proxy.Labels, Locality: one.Proxy.Locality},
	}
	switch {
	case one.Proxy.DNSCapture != nil:
		job.Proxy.DNSCapture = *one.Proxy.DNSCapture
	case settings.DNSCapture != nil:
		job.Proxy.DNSCapture = *settings.DNSCapture
	}
	job.Mesh, err = meshConfig(c)
	return job, err
}

// meshConfig is the mesh configuration of a case: what the configuration file says, or else a ConfigMap in view.
func meshConfig(c *linttest.Case) (string, error) {
	settings := c.Config.Mesh
	value := settings.MeshConfig
	if !value.Set() {
		var objects []*object.Object
		for _, f := range c.Context {
			objects = append(objects, f.Objects...)
		}
		file, err := linttest.Load(c.Path)
		if err != nil {
			return "", err
		}
		value, _ = mesh.FindMeshConfig(append(objects, file.Objects...), settings.RootNamespace)
	}
	config := map[string]any{}
	if value.Set() {
		written, ok := value.Any().(map[string]any)
		if !ok {
			return "", errors.New("the mesh configuration is not a mapping")
		}
		config = written
	}
	for name, v := range map[string]any{"rootNamespace": settings.RootNamespace, "defaultServiceExportTo": settings.DefaultServiceExportTo, "defaultDestinationRuleExportTo": settings.DefaultRuleExportTo} {
		switch v := v.(type) {
		case string:
			if v != "" {
				config[name] = v
			}
		case []string:
			if len(v) > 0 {
				config[name] = v
			}
		}
	}
	if len(config) == 0 {
		return "", nil
	}
	js, err := json.Marshal(config)
	if err != nil {
		return "", fmt.Errorf("write the mesh configuration: %w", err)
	}
	return string(js), nil
}
