package charts

import (
	"encoding/json"
	"slices"
	"testing"

	celgo "github.com/google/cel-go/cel"
)

const exemptionLabel = "admission.meshvet.dev/ignore"

// TestExemptionLabel evaluates the expressions of the policy that guards the label. Objects and the request are dynamic here as they are for
// the API server. That the server takes the policy and obeys it is for the tests against a real one to show.
func TestExemptionLabel(t *testing.T) {
	all := goldens(t)
	refused := guard(t, all[slices.IndexFunc(all, func(r *rendered) bool { return r.name == "exemption" })])
	none, set, other := map[string]any(nil), map[string]any{exemptionLabel: ""}, map[string]any{exemptionLabel: "yes"}
	more := map[string]any{"team": "a"}
	setAndMore := map[string]any{exemptionLabel: "", "team": "a"}
	devs, admins := []string{"devs", "system:authenticated"}, []string{"system:authenticated", "mesh-admins"}
	tests := []struct {
		name          string
		namespace     string
		create        bool
		before, after map[string]any
		groups        []string
		refused       bool
	}{
		{"create without it", "shop", true, none, more, devs, false},
		{"create without labels", "shop", true, none, none, devs, false},
		{"create with it", "shop", true, none, set, devs, true},
		{"create with it, as a member", "shop", true, none, set, admins, false},
		{"create with it under a generated name", "", true, none, set, devs, true},
		{"set", "shop", false, none, set, devs, true},
		{"set beside others", "shop", false, more, setAndMore, devs, true},
		{"set, as a member", "shop", false, none, set, admins, false},
		{"set, as root", "shop", false, none, set, []string{"system:masters"}, false},
		{"set, without groups", "shop", false, none, set, nil, true},
		{"change", "shop", false, set, other, devs, true},
		{"change, as a member", "shop", false, set, other, admins, false},
		{"remove", "shop", false, setAndMore, more, devs, true},
		{"remove with all labels", "shop", false, setAndMore, none, devs, true},
		{"remove, as a member", "shop", false, set, none, admins, false},
		{"change something else", "shop", false, set, setAndMore, devs, false},
		{"change something else without it", "shop", false, none, more, nil, false},
		{"a group of nearly that name", "shop", false, none, set, []string{"mesh-admins2"}, true},
		{"own namespace", namespace, false, none, set, devs, false},
		{"kube-system", "kube-system", false, none, set, devs, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			object := func(labels map[string]any) map[string]any {
				metadata := map[string]any{"name": test.namespace}
				if labels != nil {
					metadata["labels"] = labels
				}
				return map[string]any{"metadata": metadata}
			}
			in := map[string]any{"object": object(test.after), "oldObject": nil}
			if !test.create {
				in["oldObject"] = object(test.before)
			}
			userInfo := map[string]any{"username": "somebody"}
			if test.groups != nil {
				userInfo["groups"] = test.groups
			}
			in["request"] = map[string]any{"name": test.namespace, "userInfo": userInfo}
			if got := refused(t, in); got != test.refused {
				t.Errorf("refused: %t, want %t", got, test.refused)
			}
		})
	}
}

// guard compiles the policy of a golden file. What it returns says whether the policy refuses a request.
func guard(t *testing.T, r *rendered) func(*testing.T, map[string]any) bool {
	t.Helper()
	policy := r.find(t, "ValidatingAdmissionPolicy", nil)
	binding := r.find(t, "ValidatingAdmissionPolicyBinding", nil)
	if binding.get("spec.policyName") != policy.Metadata.Name || dig(binding.get("spec.validationActions"), "0") != "Deny" {
		t.Error("the policy is not in force")
	}
	if policy.get("spec.failurePolicy") != "Fail" {
		t.Error("an expression that breaks opens the door")
	}
	// Each of these writes labels; and anything else is none of the policy's business.
	matched, _ := json.Marshal(policy.get("spec.matchConstraints.resourceRules"))
	want := `[{"apiGroups":[""],"apiVersions":["v1"],"operations":["CREATE","UPDATE"],"resources":["namespaces","namespaces/status","namespaces/finalize"]}]`
	if string(matched) != want {
		t.Errorf("the policy is asked about %s", matched)
	}
	env, err := celgo.NewEnv(celgo.HomogeneousAggregateLiterals(), celgo.Variable("object", celgo.DynType), celgo.Variable("oldObject", celgo.DynType),
		celgo.Variable("request", celgo.DynType), celgo.Variable("variables", celgo.MapType(celgo.StringType, celgo.DynType)))
	if err != nil {
		t.Fatal(err)
	}
	program := func(expression any) celgo.Program {
		t.Helper()
		ast, issues := env.Compile(expression.(string))
		if issues.Err() != nil {
			t.Fatal(issues.Err())
		}
		p, err := env.Program(ast)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	type named struct {
		name string
		celgo.Program
	}
	programs := func(path, key string) []named {
		var list []named
		for _, x := range policy.get(path).([]any) {
			name, _ := dig(x, "name").(string)
			list = append(list, named{name, program(dig(x, key))})
		}
		return list
	}
	conditions, variables := programs("spec.matchConditions", "expression"), programs("spec.variables", "expression")
	validations := programs("spec.validations", "expression")
	return func(t *testing.T, in map[string]any) bool {
		t.Helper()
		eval := func(p celgo.Program) any {
			out, _, err := p.Eval(in)
			if err != nil {
				t.Fatalf("cannot be evaluated, which refuses the request: %v", err)
			}
			return out.Value()
		}
		for _, c := range conditions {
			if eval(c) != true {
				return false
			}
		}
		values := map[string]any{}
		for _, v := range variables {
			values[v.name] = eval(v)
		}
		in["variables"] = values
		for _, v := range validations {
			if eval(v) != true {
				return true
			}
		}
		return false
	}
}
