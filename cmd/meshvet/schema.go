package main

import (
	"encoding/json"
	"io"
	"slices"

	"github.com/meshvet/meshvet/lint"
)

// schema is a part of a JSON Schema; encoding/json sorts its keys.
type schema = map[string]any

// writeConfigSchema writes the JSON Schema of .meshvet.yaml, for editors. The reader of the configuration decides; a test holds
// the two together.
func writeConfigSchema(w io.Writer, all []lint.Rule) error {
	kindsEnum := []string{}
	for _, k := range lint.AllKinds() {
		kindsEnum = append(kindsEnum, string(k))
	}
	complete := schema{
		"description": "Kinds of which the inputs hold every object that exists. Only then do rules conclude something from the absence of one. true means all kinds.",
		"oneOf":       []any{schema{"type": "boolean"}, stringsOf(schema{"enum": kindsEnum})},
	}
	// What the reader refuses beyond this, such as a pattern that leads out of the folder, a regular expression cannot say plainly.
	glob := schema{"type": "string", "pattern": "^[^/!]"}
	paths := describe(stringsOf(glob), "Files, folders or globs that are read as context only, relative to this file. By default the repository is. An empty list means none.")

	root := mapping("Configuration of meshvet", schema{
		"version": schema{"description": "Version of this format.", "const": 1},
		"extends": describe(stringsOf(schema{"anyOf": []any{schema{"enum": lint.PresetNames()}, schema{
			"description": "A configuration in the repository, relative to this file.",
			"type":        "string", "pattern": `^(\.[^:\\]*|[^/:\\][^:\\]*[./][^:\\]*)$`,
		}}}),
			"Presets whose rules are on: recommended, which is the default, or strict, which also has the rules about habits and some that weigh more. An empty list switches on only the rules to which rules: gives a severity. Also files of the repository, relative to this one; what is named later wins, and what stands here over all of them. The webhook extends presets only."),
		"rules":     rulesSchema(all),
		"overrides": overridesSchema(glob),
		"exclude":   describe(stringsOf(glob), "Globs of files and folders that are not read, relative to this file; ** stands for any number of folders."),
		"baseline": describe(schema{"type": "string", "pattern": `^\s*[^/\s]`},
			"File of findings that are known and fail no run, in the files that go by this configuration; relative to this file. meshvet lint --write-baseline writes it. The webhook does not read it."),
		"context": schema{
			"description": "What is read beside the paths given, so that rules know what they meet.",
			"oneOf":       []any{paths, mapping("", schema{"paths": paths, "complete": complete})},
		},
		"scopes": schema{
			"description": "Meshes of the repository. Rules see the objects of one only. A file that matches several is judged in the first, and seen from the others too; files that match none are judged apart. By default a folder is one mesh until two of the folders in it define the same object; then each is one, and sees the files above it.",
			"type":        "array",
			"items": required(mapping("", schema{
				"name":  schema{"type": "string", "minLength": 1},
				"paths": describe(schema{"type": "array", "minItems": 1, "items": glob}, "Globs of the files that make it up, relative to this file."),
			}), "name", "paths"),
		},
		"istio": istioSchema(),
		"suppressions": mapping("What comments and annotations silence, in files and at admission.", schema{
			"forbid": describe(ruleWords(all, false),
				"Rules, by ID, name or category, whose findings no comment and no annotation silences. MV905 tells of each that names one."),
		}),
		"webhook": webhookSchema(all),
	})
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["$id"] = "https://raw.githubusercontent.com/meshvet/meshvet/main/schemas/config.schema.json"
	root["title"] = "Configuration of meshvet (.meshvet.yaml)"
	delete(root, "description")

	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(root)
}

// rulesSchema knows each rule by ID and by name, and the options of each.
func rulesSchema(all []lint.Rule) schema {
	rules, defs := schema{}, []*lint.Meta{}
	for i := range all {
		defs = append(defs, &all[i].Meta)
	}
	for _, m := range defs {
		options := schema{}
		for _, o := range m.Options {
			options[o.Name] = describe(typeSchema(o.Default), o.Doc)
		}
		fields := schema{"severity": severitySchema()}
		if len(options) > 0 {
			fields["options"] = mapping("", options)
		}
		setting := schema{
			"description": m.Name + ": " + m.Title + ".",
			"oneOf":       []any{severitySchema(), mapping("", fields)},
		}
		rules[m.ID] = setting
		byName := schema{"description": m.ID + ": " + m.Title + ".", "oneOf": setting["oneOf"]}
		rules[m.Name] = byName
	}
	return mapping("Rules by ID or name: a severity, or a mapping with severity and options.", rules)
}

// overridesSchema is that of rules for some objects.
func overridesSchema(glob schema) schema {
	some := func(item schema, doc string) schema {
		list := atMostEntries(stringsOf(item))
		list["minItems"] = 1
		return describe(list, doc)
	}
	selector := selectorSchema("")
	selector["anyOf"] = []any{
		schema{"required": []string{"matchLabels"}, "properties": schema{"matchLabels": schema{"minProperties": 1}}},
		schema{"required": []string{"matchExpressions"}, "properties": schema{"matchExpressions": schema{"minItems": 1}}},
	}
	item := required(mapping("", schema{
		"paths": some(glob, "Globs of files and folders, relative to this file. At admission there are none."),
		"namespaces": some(schema{"type": "string", "pattern": `^[a-z0-9*]([a-z0-9*-]*[a-z0-9*])?$`},
			"Names of namespaces; a star stands for any characters."),
		"hosts": some(schema{"type": "string", "minLength": 1, "maxLength": 253, "pattern": `^\*?[^*/?\[\]{}\\,;'"\s]*$`},
			"Hosts of ServiceEntries and DestinationRules, or wildcards such as *.example.com, as Istio matches them."),
		"labels": schema{
			"description": "Labels of the objects: all that are named, or a selector as in Kubernetes.",
			"anyOf":       []any{selector, schema{"type": "object", "minProperties": 1, "additionalProperties": schema{"type": "string"}}},
		},
		"rules": schema{"description": "What is different for these objects, as under rules.", "$ref": "#/properties/rules", "minProperties": 1},
	}), "rules")
	var conditions []any
	for _, key := range [...]string{"paths", "namespaces", "hosts", "labels"} {
		conditions = append(conditions, schema{"required": []string{key}})
	}
	item["anyOf"] = conditions
	return describe(atMostEntries(schema{"type": "array", "items": item}),
		"Rules that are different for some objects: those that meet all conditions of an entry. Later entries outrank earlier ones.")
}

// severitySchema takes false too, which is what YAML makes of an unquoted off.
func severitySchema() schema { return schema{"enum": []any{"error", "warning", "info", "off", false}} }

func istioSchema() schema {
	text := func(doc string) schema { return schema{"type": "string", "description": doc} }
	yesNo := func(doc string) schema { return schema{"type": "boolean", "description": doc} }
	return mapping("Facts about the mesh that manifests do not show.", schema{
		"version": schema{
			"description": `Version of Istio, such as "1.31". Quote it: YAML reads 1.30 as 1.3.`,
			"oneOf":       []any{schema{"type": "string", "pattern": `^v?[0-9]+\.[0-9]+(\.[0-9]+)?$`}, schema{"type": "number"}},
		},
		"meshConfig":        schema{"type": "object", "description": "Istio's meshConfig, as far as it differs from the defaults. Otherwise it is read from a ConfigMap istio among the inputs."},
		"dataplane":         schema{"enum": []string{"sidecar", "ambient", "mixed"}, "description": "How traffic of the mesh is carried. By default labels in view decide."},
		"dnsCapture":        yesNo("Proxies answer the DNS queries of their workloads."),
		"autoAllocate":      yesNo("istiod gives addresses to ServiceEntries that have none."),
		"gatewayNamespaces": describe(stringsOf(schema{"type": "string"}), "Namespaces in which gateway proxies run; by default the root namespace and those of the Gateways in view."),
		"clusterDomain":     text("Domain of the cluster's own names; cluster.local by default."),
		"rootNamespace":     text("Root namespace of the mesh; istio-system by default."),
	})
}

// ruleWords is a list of what rules are called: IDs, names and categories. suppressible leaves out rules that never are.
func ruleWords(all []lint.Rule, suppressible bool) schema {
	var ids, names, categories []string
	for i := range all {
		m := &all[i].Meta
		if suppressible && m.Unsuppressible {
			continue
		}
		ids, names = append(ids, m.ID), append(names, m.Name)
		if c := string(m.Category); c != "" && !slices.Contains(categories, c) {
			categories = append(categories, c)
		}
	}
	slices.Sort(categories)
	return atMostEntries(stringsOf(schema{"enum": slices.Concat(ids, names, categories)}))
}

func webhookSchema(all []lint.Rule) schema {
	names := func(doc string) schema {
		return describe(atMostEntries(stringsOf(schema{"type": "string", "minLength": 1, "pattern": `^[^*]*\*?$`})),
			doc+" An entry that ends in a star is the beginning of names.")
	}
	selector := selectorSchema("Namespaces, by their labels, as in Kubernetes; an empty one, or none, means all.")
	some := func(s schema, doc string) schema {
		s["minItems"] = 1
		return describe(s, doc)
	}
	return mapping("What `meshvet webhook` does with requests of a Kubernetes API server.", schema{
		"actions": describe(atMostEntries(schema{"type": "array", "items": required(mapping("", schema{
			"rules":             some(ruleWords(all, false), "IDs, names or categories of rules; without it, all rules."),
			"severities":        some(stringsOf(schema{"enum": []string{"error", "warning", "info"}}), "Severities of findings; without it, all."),
			"namespaceSelector": selector,
			"action": schema{"enum": []lint.Action{lint.Deny, lint.Warn, lint.Audit},
				"description": "deny refuses the request, warn tells the user, audit tells the audit log only."},
		}), "action")}), "What becomes of a request because of a finding: the first entry that matches it decides. A finding that none matches warns."),
		"onError": schema{"enum": []string{"allow", "deny"}, "default": "allow",
			"description": "What becomes of a request that could not be judged. By default it passes with a warning."},
		"maxInFlight": schema{"type": "integer", "minimum": 1, "maximum": lint.MostInFlight, "default": lint.DefaultInFlight,
			"description": "How many requests are judged at the same time."},
		"exempt": mapping("Whose requests are not judged.", schema{
			"users":      names("Names of users, such as system:serviceaccount:flux-system:*."),
			"groups":     names("Names of groups."),
			"namespaces": names("Namespaces."),
		}),
		"suppressible": describe(ruleWords(all, true),
			"Rules whose denials an object's own annotation meshvet.dev/ignore lifts. Those of other rules it does not, nor of those that suppressions.forbid names, whose warnings it does not silence either."),
		"denyCaused": schema{"type": "boolean", "default": false,
			"description": "A finding that a change causes on another object denies like one on its own. By default it warns."},
	})
}

// selectorSchema is that of a label selector.
func selectorSchema(doc string) schema {
	label := schema{"type": "string"}
	return mapping(doc, schema{
		"matchLabels": schema{"type": "object", "additionalProperties": label},
		"matchExpressions": atMostEntries(schema{"type": "array", "items": required(mapping("", schema{
			"key":      label,
			"operator": schema{"enum": []string{"In", "NotIn", "Exists", "DoesNotExist"}},
			"values":   atMostEntries(stringsOf(label)),
		}), "key", "operator")}),
	})
}

// atMostEntries bounds a list under webhook as its reader does.
func atMostEntries(list schema) schema {
	list["maxItems"] = lint.MostEntries
	return list
}

// mapping is a mapping of exactly these keys.
func mapping(doc string, properties schema) schema {
	s := schema{"type": "object", "properties": properties, "additionalProperties": false}
	if doc != "" {
		s["description"] = doc
	}
	return s
}

func required(s schema, keys ...string) schema {
	s["required"] = keys
	return s
}

func describe(s schema, doc string) schema {
	if doc != "" {
		s["description"] = doc
	}
	return s
}

func stringsOf(item schema) schema { return schema{"type": "array", "items": item} }

// typeSchema is the schema of an option, whose default fixes its type.
func typeSchema(v any) schema {
	s := schema{"type": schemaType(v), "default": v}
	if s["type"] == "array" {
		s["items"] = schema{"type": "string"}
	}
	return s
}

func schemaType(v any) string {
	switch v.(type) {
	case bool:
		return "boolean"
	case int64:
		return "integer"
	case float64:
		return "number"
	case []string:
		return "array"
	}
	return "string"
}
