package schema

import (
	"math/rand/v2"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
)

// undecided lists the rules of the CRDs that have no decider on purpose: objects that they apply to cost a run of the CEL library, and the
// first one its compilation.
var undecided = []string{}

func TestEveryRuleIsAccountedFor(t *testing.T) {
	used := map[string]bool{}
	for kind, k := range newValidator(t, "").kinds {
		k.load()
		for i := range k.crd.nodes {
			for _, r := range k.crd.nodes[i].rules {
				used[r.text] = true
				if (r.decide == nil) != slices.Contains(undecided, r.text) {
					t.Errorf("%s: rule %q: decided in Go = %v; a rule that the CEL library has to evaluate belongs in the list undecided, one with a decider does not",
						kind, r.text, r.decide != nil)
				}
			}
		}
	}
	for text := range deciders() {
		if !used[text] {
			t.Errorf("the decider of %q decides no rule of the CRDs", text)
		}
	}
	for _, text := range undecided {
		if !used[text] {
			t.Errorf("undecided rule %q is none of the CRDs'", text)
		}
	}
}

// valuesByNode collects, for each node of a kind that carries a rule, values that occur there in mutated objects.
func valuesByNode(t *testing.T, k *kindSchema, seeds []map[string]any) map[nodeID][]any {
	t.Helper()
	rng := rand.New(rand.NewPCG(3, 4))
	out := map[nodeID][]any{}
	seen := map[nodeID]map[string]bool{}
	const enough = 2000
	add := func(id nodeID, v any) {
		if seen[id] == nil {
			seen[id] = map[string]bool{}
		}
		if text := toJSON(t, v); !seen[id][text] && len(out[id]) < enough {
			seen[id][text] = true
			out[id] = append(out[id], v)
		}
	}
	var visit func(id nodeID, v any)
	visit = func(id nodeID, v any) {
		n := &k.crd.nodes[id]
		if len(n.rules) > 0 {
			add(id, v)
		}
		switch v := v.(type) {
		case []any:
			for _, item := range v {
				if n.items != 0 {
					visit(n.items, item)
				}
			}
		case map[string]any:
			for key, item := range v {
				if i := n.find(key); i >= 0 {
					visit(n.props[i].node, item)
				} else if n.values != 0 {
					visit(n.values, item)
				}
			}
		}
	}
	for _, raw := range combinations(k.kind) {
		visit(k.crd.crdRoot, raw)
	}
	for range 6000 {
		raw := runtime.DeepCopyJSON(seeds[rng.IntN(len(seeds))])
		for range 1 + rng.IntN(4) {
			mutate(rng, raw)
		}
		visit(k.crd.crdRoot, raw)
	}
	for id := range k.crd.nodes {
		n := &k.crd.nodes[id]
		if len(n.rules) == 0 {
			continue
		}
		switch {
		case n.typ == stringType:
			for _, s := range strangeStrings {
				add(nodeID(id), s)
				for _, prefix := range []string{"unix://", "unix:///", "unix://@", "1h", "-", "*.", "0.0009999999"} {
					add(nodeID(id), prefix+s)
				}
			}
		case n.typ == integerType:
			for _, i := range strangeInts {
				add(nodeID(id), i)
			}
		case n.values != 0:
			for _, key := range append(slices.Clone(strangeStrings), unlikelyKeys...) {
				for _, v := range []any{"v", int64(1), nil} {
					add(nodeID(id), map[string]any{key: v, "ok": v})
				}
			}
		}
	}
	return out
}

// combinations returns objects with every combination of the values on which the rules about several fields turn.
func combinations(kind string) []any {
	if kind != "ServiceEntry" {
		return nil
	}
	type field struct {
		name   string
		values []any
	}
	absent := struct{}{}
	fields := []field{
		{"resolution", []any{absent, nil, "NONE", "STATIC", "DNS", "DNS_ROUND_ROBIN", "DYNAMIC_DNS"}},
		{"endpoints", []any{
			absent, nil, []any{},
			[]any{map[string]any{"address": "a"}},
			[]any{map[string]any{"address": "unix:///s", "ports": map[string]any{}}, map[string]any{"network": ""}},
			[]any{map[string]any{"address": "unix:///s", "ports": nil}, map[string]any{"address": nil}},
			[]any{map[string]any{"address": "unix:/s", "ports": map[string]any{"a": int64(1)}}, map[string]any{}},
		}},
		{"addresses", []any{absent, nil, []any{}, []any{"a"}, []any{"a", "10.0.0.0/8"}, []any{"/"}}},
		{"workloadSelector", []any{absent, nil, map[string]any{}}},
	}
	out := []any{map[string]any{"hosts": []any{"a"}}}
	for _, f := range fields {
		var next []any
		for _, spec := range out {
			for _, value := range f.values {
				with := runtime.DeepCopyJSONValue(spec).(map[string]any)
				if value != absent {
					with[f.name] = runtime.DeepCopyJSONValue(value)
				}
				next = append(next, with)
			}
		}
		out = next
	}
	for i, spec := range out {
		out[i] = map[string]any{"spec": spec}
	}
	return out
}

// TestDecidersAgreeWithCEL holds each decider to the CEL library on values that the schema lets through to the rules.
func TestDecidersAgreeWithCEL(t *testing.T) {
	all := seeds(t)
	for kind, k := range newValidator(t, "").kinds {
		k.load()
		verdicts := map[string]map[bool]int{}
		for id, values := range valuesByNode(t, k, all[kind]) {
			validator, _, err := k.crd.compile(id)
			if err != nil {
				t.Fatal(err)
			}
			for i, r := range k.crd.nodes[id].rules {
				if verdicts[r.text] == nil {
					verdicts[r.text] = map[bool]int{}
				}
				failed := 0
				for _, raw := range values {
					left := maxCopied
					v := Of(raw)
					pruned := k.prune(id, v, &left)
					if pruned == nil || !validator.Validate(pruned).IsValid() {
						continue
					}
					errs, _, err := k.cel.evaluate(t.Context(), k, ruleID{id, i}, v, 1<<40)
					if err != nil {
						t.Fatal(err)
					}
					want := len(errs) == 0
					quick := walker{k: k, quick: true, free: -1}
					full := walker{k: k, free: -1}
					gotQuick, gotFull := r.decide(&quick, &k.crd.nodes[id], v), r.decide(&full, &k.crd.nodes[id], v)
					// A float that is a port is refused by CEL for its type; the decider of the number says so once for the list.
					if gotQuick != want || gotFull != want || len(full.found) > 0 && want || len(quick.found) > 0 {
						t.Errorf("%s: %s\n  of %s: CEL says %v, the decider %v (quick %v), reporting %v", kind, r.text, toJSON(t, raw), want, gotFull, gotQuick, full.found)
						if failed++; failed > 5 {
							break
						}
					}
					verdicts[r.text][want]++
				}
			}
		}
		for text, n := range verdicts {
			if n[true] < 5 || n[false] < 1 {
				t.Errorf("%s: %s was tried on %d values that pass and %d that fail: too few", kind, text, n[true], n[false])
			}
			t.Logf("%s: %s: %d pass, %d fail", kind, text, n[true], n[false])
		}
	}
}

// TestRulesThroughCEL validates with no decider at all, which is how a rule is judged that a new CRD brings.
func TestRulesThroughCEL(t *testing.T) {
	v := newValidator(t, "")
	for _, k := range v.kinds {
		k.deciders = nil
	}
	all := seeds(t)
	rng := rand.New(rand.NewPCG(5, 6))
	for i := range 600 {
		kind := v.Kinds()[i%2]
		raw := runtime.DeepCopyJSON(all[kind][rng.IntN(len(all[kind]))])
		for range rng.IntN(3) {
			mutate(rng, raw)
		}
		if d := disagreement(t, v, kind, raw); d != "" {
			t.Fatal(d)
		}
	}
	raw := fromJSON(t, `{"apiVersion": "networking.istio.io/v1", "kind": "ServiceEntry", "metadata": {"name": "a"}, "spec": {
		"hosts": ["*", "b"], "ports": [{"number": 0, "name": "a"}, {"number": "80", "name": "b"}], "endpoints": [{}]}}`)
	got, err := v.Validate(t.Context(), "ServiceEntry", raw)
	if err != nil {
		t.Fatal(err)
	}
	// The rule that compares the numbers of all ports is not asked, because one of them is no number.
	want := []string{
		`spec.endpoints[0]: endpoints[0]: the rule of the CustomResourceDefinition is broken: Address is required`,
		`spec.hosts[0]: hosts[0]: the rule of the CustomResourceDefinition is broken: hostname cannot be wildcard`,
		`spec.ports[0].number: number: the rule of the CustomResourceDefinition is broken: port must be between 1-65535`,
		`spec.ports[1].number: number is the string "80"; an integer is required, without quotes`,
	}
	var lines []string
	for _, x := range got {
		lines = append(lines, x.Path.String()+": "+x.Message)
	}
	if !slices.Equal(lines, want) {
		t.Errorf("got  %q\nwant %q", lines, want)
	}
	if v.Valid("ServiceEntry", Of(all["ServiceEntry"][1])) {
		t.Error("Valid decided an object that has a rule without a decider")
	}
}
