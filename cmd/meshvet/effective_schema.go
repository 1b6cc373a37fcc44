package main

import (
	"encoding/json"
	"io"
	"maps"
	"slices"

	"github.com/meshvet/meshvet/lint/effective"
)

// writeEffectiveSchema writes the JSON Schema of `meshvet effective --format json`. A test holds the two together.
func writeEffectiveSchema(w io.Writer) error {
	text := func(doc string) schema { return describe(schema{"type": "string"}, doc) }
	whole := func(doc string) schema { return describe(schema{"type": "integer", "minimum": 0}, doc) }
	list := func(doc string, item schema) schema { return describe(schema{"type": "array", "items": item}, doc) }
	strings := func(doc string) schema { return list(doc, schema{"type": "string"}) }
	ref := func(name string) schema { return schema{"$ref": "#/$defs/" + name} }
	orNull := func(doc string, s schema) schema {
		return describe(schema{"anyOf": []any{s, schema{"type": "null"}}}, doc)
	}
	labels := func(doc string) schema {
		return describe(schema{"type": "object", "additionalProperties": schema{"type": "string"}}, doc)
	}
	port := func(doc string) schema {
		return describe(schema{"type": "integer", "minimum": 0, "maximum": 65535}, doc)
	}
	// every is a mapping in which all properties are required.
	every := func(doc string, properties schema) schema {
		return required(mapping(doc, properties), slices.Sorted(maps.Keys(properties))...)
	}
	fields := list("", ref("field"))

	root := every("What `meshvet effective --format json` writes. Every field is always there; lists are never null.", schema{
		"version": describe(schema{"const": effectiveVersion}, "The version of this format. It changes when a script that relies on this schema could break."),
		"hosts":   list("Answers in the order of the questions, one for each mesh and for clients that get the same.", ref("answer")),
	})
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["$id"] = "https://raw.githubusercontent.com/meshvet/meshvet/main/schemas/effective.schema.json"
	root["title"] = "meshvet effective policy"
	root["$defs"] = schema{
		"answer": every("", schema{
			"host":    text("The host that is answered for: the one asked for, a Service by its full name, or the wildcard that covers it."),
			"scope":   text("The mesh; empty if the manifests are one mesh."),
			"clients": strings("Namespaces of the clients; * stands for all that no other answer for the host names."),
			"notes":   strings("What else a reader should know."),
			"ways":    list("One for each port and each way that routes offer.", ref("way")),
		}),
		"way": every("", schema{
			"port": port("The port that the client dials."),
			"hops": list("The connections on the way, the client's own first.", ref("hop")),
		}),
		"hop": every("", schema{
			"proxy": every("The Envoy that opens the connection.", schema{
				"type":      schema{"enum": []any{effective.Sidecar, effective.Gateway}},
				"namespace": orNull("Null at the first hop, where it is that of the clients.", schema{"type": "string"}),
				"labels":    labels("Labels of its workload, as far as they are known."),
			}),
			"cluster":  text("Istio's name for the cluster."),
			"host":     text("The host of the cluster."),
			"port":     port("The port of the cluster."),
			"subset":   text("The subset, or empty."),
			"protocol": text("The declared protocol in upper case, or empty."),
			"family":   describe(schema{"enum": []any{"L7", "L4", "sniffed", "none", ""}}, "What Envoy understands of the port; empty if the cluster does not exist."),
			"requests": describe(schema{"type": "boolean"}, "Whether Envoy has read what the cluster carries, always or as the first bytes decide; an http route may lead to an L4 port."),
			"type": describe(schema{"enum": []any{
				effective.StrictDNS, effective.EDS, effective.LogicalDNS, effective.OriginalDst, effective.DynamicDNS, "",
			}}, "The type of the cluster; empty if it does not exist."),
			"tls": every("", schema{
				"state": schema{"enum": []any{
					effective.InPlaintext, effective.ClientTLS, effective.Origination, effective.DoubleTLS, effective.MeshMTLS, effective.AutoMeshMTLS, effective.NotTold,
				}},
				"serverName": text("The SNI that Envoy sends, or what it is taken from; empty if it sends none or starts no TLS."),
				"verified":   describe(schema{"type": "boolean"}, "Whether Envoy checks who issued the certificate; false where it starts no TLS itself."),
				"names":      text("The names that the certificate may bear; empty if it may bear any."),
			}),
			"rules": list("The DestinationRules in force, the oldest first.", every("", schema{
				"object":   ref("object"),
				"location": ref("location"),
				"host":     text("The host of the rule, which may be a wildcard."),
				"found":    list("In which namespaces Istio found it: the client's, the host's or the root.", schema{"enum": []any{effective.OfClient, effective.OfHost, effective.OfRoot}}),
				"selector": labels("Labels of the workloads that it is for; empty for all."),
				"policy":   describe(schema{"type": "boolean"}, "Whether the destination-level trafficPolicy is this rule's."),
			})),
			"route": orNull("The route that leads here; null for Istio's own.", every("", schema{
				"object": ref("object"), "location": ref("location"), "path": text("The destination in it."),
			})),
			"assumed":     text("What is taken for granted about a Service that is not among the manifests, or empty."),
			"absent":      text("Why there is no cluster, or empty."),
			"panics":      text("Why Istio's compiler breaks, or empty."),
			"unpredicted": strings("Paths of the cluster that hang on what no manifest shows."),
			"fields":      describe(fields, "The settings of the cluster."),
			"tcpProxy":    describe(fields, "The settings of the tcp_proxy that leads to the cluster; none for requests."),
			"retries": list("How requests to the cluster are retried, one for each route.", every("", schema{
				"attempts":       whole("How often a failed request is sent again."),
				"source":         ref("source"),
				"timeoutSeconds": describe(schema{"type": "number", "minimum": 0}, "The time for a request with its retries; 0 = none."),
			})),
			"feltConnectTime": orNull("How long a client waits if no endpoint answers.", every("", schema{
				"seconds":  schema{"type": "number", "minimum": 0},
				"attempts": whole("How often Envoy tries to connect."),
			})),
			"outlier": orNull("What outlier detection can do; null if there is none.", every("", schema{
				"maxEjectionPercent": whole("The percentage in force."),
				"source":             ref("source"),
				"list":               describe(schema{"type": "boolean"}, "Whether Envoy keeps a list of addresses; without one nothing can be ejected."),
				"endpoints":          orNull("How many addresses there are; null if no manifest says.", whole("")),
				"atOnce":             orNull("How many can be ejected at once; null if no manifest says.", whole("")),
				"fewest":             whole("From how many addresses on one can be ejected; 0 = never."),
			})),
		}),
		"field": every("", schema{
			"field":  text("The field of the traffic policy; one of another kind has its kind in front, such as ServiceEntry.resolution."),
			"value":  describe(schema{"type": []string{"string", "number", "boolean", "object"}}, "The value that is in force. A duration is a string; an empty object is a message without fields."),
			"source": ref("source"),
			"envoy":  text("The path in the cluster or filter, with the names of Envoy's protobuf files; empty if it is not there."),
			"status": describe(schema{"enum": []any{"active", "inert", "implicit", "ignored"}},
				"active: Envoy does it; inert: Envoy has it, and it has no effect on this port; implicit: nothing is written, Envoy's default holds; ignored: a manifest says it, and Istio drops it."),
		}),
		"source": text("Where the value comes from: FILE:LINE, a field of meshConfig, or whose default it is."),
		"object": every("", schema{"kind": schema{"type": "string"}, "namespace": schema{"type": "string"}, "name": schema{"type": "string"}}),
		"location": every("Zeros stand for a place without a position.", schema{
			"file": schema{"type": "string"}, "line": whole(""), "column": whole(""),
		}),
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(root)
}
