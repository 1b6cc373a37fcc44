package schema

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	celconfig "k8s.io/apiserver/pkg/apis/cel"

	"github.com/meshvet/meshvet/lint/istio"
)

// Validator validates the raw form of objects. It is safe for concurrent use. Making one costs next to nothing: the tables of a kind,
// the Kubernetes libraries' form of its schema, and CEL programs are each made when an object first needs them.
type Validator struct {
	version istio.Release // zero = no check for newer fields
	kinds   map[string]*kindSchema
}

// kindSchema is what a Validator knows about one kind.
type kindSchema struct {
	kind     string
	table    func() *crd
	version  istio.Release
	deciders map[string]decider

	once sync.Once
	crd  *crd
	meta nodeID // the schema of metadata

	placesOnce sync.Once
	places     map[string][]place // where each field name occurs

	library library
	cel     celPrograms
}

// New returns a Validator. istioVersion is the version of Istio that will read the objects, such as "1.31" or "1.31.2": a field or enum
// value that came later is then a violation. Empty means that no such check is made. What was removed or restricted between that
// version and the schema's (see APIVersion) is not known.
func New(istioVersion string) (*Validator, error) {
	v := &Validator{}
	if istioVersion != "" {
		var err error
		if v.version, err = istio.Parse(istioVersion); err != nil {
			return nil, err
		}
	}
	v.kinds = map[string]*kindSchema{
		"DestinationRule": newKind("DestinationRule", destinationRuleCRD, v.version, deciders()),
		"ServiceEntry":    newKind("ServiceEntry", serviceEntryCRD, v.version, deciders()),
	}
	return v, nil
}

func newKind(kind string, table func() *crd, version istio.Release, rules map[string]decider) *kindSchema {
	return &kindSchema{kind: kind, table: table, version: version, deciders: rules}
}

// APIVersion returns the version of the Go module istio.io/api whose CRDs are validated against, such as "v1.32.0".
func APIVersion() string { return apiVersion }

// Kinds returns the kinds that a Validator knows, sorted.
func (v *Validator) Kinds() []string { return slices.Sorted(maps.Keys(v.kinds)) }

// Valid says that the object root, of the given kind, is certainly valid: Validate would return nothing. False means that Validate has
// to be asked.
func (v *Validator) Valid(kind string, root Value) bool {
	k := v.kinds[kind]
	if k == nil || root == nil {
		return false
	}
	k.load()
	w := walker{k: k, quick: true, free: -1}
	return w.object(root)
}

// Validate returns every violation of an object of the given kind, sorted by path; nil if the API server would take it as it is. raw is
// the object as Kubernetes' unstructured form holds it, see Of; it is not changed. An error means that the libraries failed or ctx ended;
// the violations found until then come with it.
func (v *Validator) Validate(ctx context.Context, kind string, raw map[string]any) ([]Violation, error) {
	k := v.kinds[kind]
	if k == nil {
		return nil, fmt.Errorf("no schema for kind %q: the kinds with one are %s", kind, list(v.Kinds(), "and"))
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	k.load()
	w := walker{k: k, ctx: ctx, free: -1, celBudget: celconfig.RuntimeCELCostBudget}
	w.object(Of(raw))
	if len(w.found) == 0 && !w.unsure && !w.unsureMeta && w.err == nil {
		return nil, nil
	}
	found, err := w.judge(raw)
	if err != nil {
		err = fmt.Errorf("validating a %s: %w", kind, err)
	}
	return tidy(found), err
}

// load fills in what the generated tables leave out.
func (k *kindSchema) load() {
	k.once.Do(func() {
		c := k.table()
		k.meta = c.addObjectMeta()
		c.addTypeMeta(k.meta)
		for i := range c.nodes {
			n := &c.nodes[i]
			for _, name := range n.required {
				n.requiredMask |= 1 << n.find(name)
			}
			for _, group := range n.atMostOne {
				var mask uint64
				for _, name := range group {
					mask |= 1 << n.find(name)
				}
				n.groupMasks = append(n.groupMasks, mask)
			}
			for j := range n.rules {
				if r := &n.rules[j]; r.more == "" {
					r.decide = k.deciders[r.text]
				}
			}
		}
		k.crd = c
		if k.version != (istio.Release{}) {
			k.markNewer()
		}
	})
}

// CheckVersion says what is wrong with a version of Istio that New is given; nil if nothing is.
func CheckVersion(version string) error {
	_, err := istio.Parse(version)
	return err
}
