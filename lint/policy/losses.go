package policy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/effective"
	"github.com/meshvet/meshvet/lint/object"
)

func evalPortLosses(p *lint.Pass, _ []*ast.Term) (any, error) {
	if _, _, err := ruleAndReach(p); err != nil {
		return nil, err
	}
	out := []any{}
	for _, e := range p.EntryLosses() {
		into := object.Path{"spec", "trafficPolicy", "portLevelSettings", e.Index}
		panics := slices.ContainsFunc(p.Reach().Numbered(e.Port), effective.Port.Dynamic)
		r := lossesRecord(p, e.Losses, into, panics)
		r["path"], r["port"] = pathRecord(into), e.Port
		out = append(out, r)
	}
	return out, nil
}

func evalSubsetLosses(p *lint.Pass, _ []*ast.Term) (any, error) {
	if _, _, err := ruleAndReach(p); err != nil {
		return nil, err
	}
	out := []any{}
	for _, s := range p.SubsetLosses() {
		r := lossesRecord(p, s.Losses, s.Level.Path, false)
		if s.Mixed { // what is one port's is not the other's
			r["restate"], r["restate_tls"] = []any{}, []any{}
		}
		r["path"], r["subset"], r["port"], r["block"] = pathRecord(s.Level.Path), s.Level.Subset, s.Level.Port, s.Block
		if s.Block != "" {
			r["path"] = pathRecord(s.Level.Path.Child(s.Block))
		}
		out = append(out, r)
	}
	return out, nil
}

// lossesRecord describes in words what one level takes away, and how to write it back into that level. The values come sorted by
// what can be done about them, since a policy that sorts them itself costs ten times as much. panics says that Istio's
// generator would panic if outlierDetection came back: then nothing is written back.
func lossesRecord(p *lint.Pass, losses []effective.Loss, into object.Path, panics bool) record {
	var told, envoy, unstatable, blocks []string
	var ports []effective.Port
	related, restate, restateTLS := []any{}, []any{}, []any{}
	grave, overMesh, steers := false, false, false
	filled := false            // whether the mesh configuration could have filled in what is lost
	whole := map[string]bool{} // blocks that are restated as one
	for _, l := range losses {
		overMesh = overMesh || l.OverMesh
		whole[l.Field.Name] = true
		steers = steers || l.Steers()
	}
	for _, l := range losses {
		block := l.Field.Block()
		write := record{"path": pathRecord(into.Child(l.Field.Path()...)), "value": l.Value}
		asOne := l.Field.Name == block || !whole[block]
		if l.Latent {
			if asOne {
				restate = append(restate, write)
			}
			continue
		}
		where := fmt.Sprintf("line %d", l.On.Locate(l.At).Range.Start.Line)
		also := record{"path": pathRecord(l.At), "message": l.Field.Name + " is set here"}
		if l.On != p.Object {
			where = "DestinationRule " + l.On.Name
			also["kind"], also["namespace"], also["name"] = string(l.On.Kind), l.On.Namespace, l.On.Name
		}
		told = append(told, fmt.Sprintf("%s %s (%s) becomes %s", l.Field.Name, l.From, where, l.To))
		envoy = append(envoy, l.Field.Envoy)
		related = append(related, also)
		blocks = append(blocks, block)
		filled = filled || block == "connectionPool" || block == "outlierDetection"
		switch {
		case !l.Field.Restatable():
			unstatable = append(unstatable, block)
			grave = true
		case block == "tls":
			if l.Ports[0].Known() { // whether an unknown host should get TLS is not for us to say
				restateTLS = append(restateTLS, write)
			}
			grave = grave || l.Field.Name == "tls" && l.From != effective.Plaintext
		case asOne:
			restate = append(restate, write)
		}
		ports = append(ports, l.Ports...)
	}
	if panics && slices.Contains(blocks, "outlierDetection") {
		restate, restateTLS = []any{}, []any{}
	}
	subject := subjectOf(ports)
	subject["blocks"] = blocks
	return record{
		"told": strings.Join(told, "; "), "envoy": strings.Join(envoy, ", "), "related": related, "restate": restate, "restate_tls": restateTLS,
		"unstatable": lint.Enumerate(unstatable), "subject": subject, "grave": grave, "safe": !overMesh && !steers,
		"no_mesh_config": filled && !p.Mesh.Settings().MeshConfig.Set(),
	}
}
