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
		r := lossesRecord(p, e.Losses, into, perilous(p, e.Port))
		r["path"], r["port"] = pathRecord(into), e.Port
		out = append(out, r)
	}
	return out, nil
}

// perilous are the blocks over which Istio's generator would panic if they came back to a port: outlierDetection of a dynamic host, and
// failoverPriority for names in several localities, which may wait for outlierDetection to count.
func perilous(p *lint.Pass, number uint32) []string {
	var out []string
	if slices.ContainsFunc(p.Reach().Numbered(number), effective.Port.Dynamic) {
		out = append(out, "outlierDetection")
	}
	if asksForPriority(p) && slices.ContainsFunc(p.EachPort().Numbered(number), func(port effective.Port) bool {
		if port.Cluster != effective.StrictDNS && port.Cluster != effective.LogicalDNS {
			return false
		}
		places, _ := effective.Localities(p.Mesh, port.Host, port.Target, port.Port, object.Value{})
		return len(places) > 1
	}) {
		out = append(out, "outlierDetection", "loadBalancer")
	}
	return out
}

// asksForPriority says whether the destination level, one of its entries or the mesh configuration has a failoverPriority.
func asksForPriority(p *lint.Pass) bool {
	asks := func(balancer object.Value) bool {
		return balancer.At("localityLbSetting", "failoverPriority").Len() > 0 || balancer.At("zoneAwareLbSetting", "failoverPriority").Len() > 0
	}
	level := p.Object.Spec().Get("trafficPolicy")
	if asks(level.Get("loadBalancer")) || asks(p.Mesh.Settings().MeshConfig) {
		return true
	}
	for _, entry := range level.Get("portLevelSettings").Items() {
		if asks(entry.Get("loadBalancer")) {
			return true
		}
	}
	return false
}

func evalSubsetLosses(p *lint.Pass, _ []*ast.Term) (any, error) {
	if _, _, err := ruleAndReach(p); err != nil {
		return nil, err
	}
	out := []any{}
	for _, s := range p.SubsetLosses() {
		r := lossesRecord(p, s.Losses, s.Level.Path, nil)
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
// what can be done about them, since a policy that sorts them itself costs ten times as much. If one of perilous, which are blocks, is
// among them, nothing is written back.
func lossesRecord(p *lint.Pass, losses []effective.Loss, into object.Path, perilous []string) record {
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
		where := "at " + l.At.String() // an object from a cluster has no lines
		if l.On.File() != nil {
			where = lineBeside(l.On.Locate(l.At), p.Object.Locate(into), where)
		}
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
	if slices.ContainsFunc(perilous, func(block string) bool { return slices.Contains(blocks, block) }) {
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

// lineBeside names a line to a reader who is at another place: of another file with its name, since a template has its parts in several;
// otherwise by what is given, where the line is not known.
func lineBeside(at, reader object.Location, otherwise string) string {
	line := at.Range.Start.Line
	switch {
	case line == 0:
		return otherwise
	case at.File != reader.File:
		return fmt.Sprintf("%s:%d", at.File, line)
	}
	return fmt.Sprintf("line %d", line)
}
