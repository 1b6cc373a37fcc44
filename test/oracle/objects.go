package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubeyaml "k8s.io/apimachinery/pkg/util/yaml"

	"istio.io/istio/pilot/pkg/config/kube/crd"
	"istio.io/istio/pilot/pkg/model"
	kubereg "istio.io/istio/pilot/pkg/serviceregistry/kube"
	"istio.io/istio/pkg/cluster"
	"istio.io/istio/pkg/config"
	"istio.io/istio/pkg/config/schema/collections"
	"istio.io/istio/pkg/config/schema/resource"
)

// created is when objects came to be that do not say it: one instant, so that answers can be repeated.
var created = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// manifests are the objects of a job as Istio takes them.
type manifests struct {
	configs  []config.Config
	services []*model.Service
	reviews  []Review
}

// readObjects converts manifests as istiod does what it gets from the API server, defaults of the API server included. An object
// that Istio's webhook would refuse is kept, and its refusal reported.
func readObjects(text, domain string) (*manifests, error) {
	var m manifests
	decoder := kubeyaml.NewYAMLOrJSONDecoder(strings.NewReader(text), 64<<10)
	for n := 1; ; n++ {
		var obj crd.IstioKind
		err := decoder.Decode(&obj)
		if errors.Is(err, io.EOF) {
			return &m, nil
		}
		if err != nil {
			return nil, fmt.Errorf("document %d: %w", n, err)
		}
		if obj.Kind == "" && obj.APIVersion == "" {
			continue // nothing between two markers
		}
		gvk := obj.GroupVersionKind()
		schema, known := collections.PilotGatewayAPI().FindByGroupVersionAliasesKind(resource.FromKubernetesGVK(&gvk))
		if obj.Namespace == "" && (!known || !schema.IsClusterScoped()) {
			obj.Namespace = metav1.NamespaceDefault
		}
		if obj.CreationTimestamp.IsZero() {
			obj.CreationTimestamp = metav1.NewTime(created)
		}
		switch {
		case known:
			err = m.addConfig(schema, &obj, domain)
		case obj.Kind == "Service" && obj.APIVersion == "v1":
			err = m.addService(&obj, domain)
		default:
			m.reviews = append(m.reviews, Review{Object: nameOf(&obj), Ignored: true})
		}
		if err != nil {
			return nil, fmt.Errorf("document %d, %s: %w", n, nameOf(&obj), err)
		}
	}
}

func nameOf(obj *crd.IstioKind) string {
	return fmt.Sprintf("%s %s/%s", obj.Kind, obj.Namespace, obj.Name)
}

func (m *manifests) addConfig(schema resource.Schema, obj *crd.IstioKind, domain string) error {
	if len(obj.Spec) == 0 {
		obj.Spec = json.RawMessage("{}")
	}
	c, err := crd.ConvertObject(schema, obj, domain)
	if err != nil {
		return err
	}
	m.configs = append(m.configs, *c)
	review := Review{Object: nameOf(obj), Unknown: unknownField(schema, obj.Spec)}
	warning, err := schema.ValidateConfig(*c)
	if warning != nil {
		review.Warning = warning.Error()
	}
	if err != nil {
		review.Error = err.Error()
	}
	if review.Warning != "" || review.Error != "" || review.Unknown != "" {
		m.reviews = append(m.reviews, review)
	}
	return nil
}

// unknownField decodes a spec once more without Istio's leniency, and returns what that says.
func unknownField(schema resource.Schema, spec json.RawMessage) string {
	instance, err := schema.NewInstance()
	if err != nil {
		return err.Error()
	}
	message, ok := instance.(proto.Message)
	if !ok {
		return "" // a kind of the Gateway API: those are Go structs
	}
	if err := protojson.Unmarshal(spec, message); err != nil {
		return strings.ReplaceAll(err.Error(), "\u00a0", " ") // protobuf varies its blanks on purpose
	}
	return ""
}

func (m *manifests) addService(obj *crd.IstioKind, domain string) error {
	s := corev1.Service{ObjectMeta: obj.ObjectMeta}
	if len(obj.Spec) > 0 {
		if err := json.Unmarshal(obj.Spec, &s.Spec); err != nil {
			return err
		}
	}
	// The API server gives each Service that asks for none an address, and TCP as the protocol.
	if s.Spec.ClusterIP == "" && s.Spec.Type != corev1.ServiceTypeExternalName {
		n := len(m.services) + 1
		s.Spec.ClusterIP = fmt.Sprintf("10.96.%d.%d", n>>8&0xff, n&0xff)
	}
	for i := range s.Spec.Ports {
		if s.Spec.Ports[i].Protocol == "" {
			s.Spec.Ports[i].Protocol = corev1.ProtocolTCP
		}
	}
	m.services = append(m.services, kubereg.ConvertService(s, nil, domain, cluster.ID("Kubernetes"), domain))
	return nil
}
