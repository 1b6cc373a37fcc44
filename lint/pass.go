package lint

import (
	"context"

	"github.com/meshvet/meshvet/lint/effective"
	"github.com/meshvet/meshvet/lint/mesh"
	"github.com/meshvet/meshvet/lint/object"
	"github.com/meshvet/meshvet/lint/schema"
)

// Pass is what a rule is given to judge one object.
type Pass struct {
	Context   context.Context
	Object    *object.Object
	Mesh      *mesh.Index
	Operation string         // "CREATE" or "UPDATE" at admission, "" for files
	Old       *object.Object // the object before an UPDATE

	rule  *activeRule
	visit *visit
}

// visit is one object being judged; what rules work out about it is kept for the others.
type visit struct {
	engine   *Engine
	rules    *ruleSet
	err      error   // why the object could not be judged at all
	active   []*Meta // the rules whose gates let the object through
	memo     map[any]any
	findings []Finding
	skips    []Skip
	problems []object.Problem
	claim    *claim     // what the annotations of the object say
	idle     bool       // no rule ran on the object
	done     bool       // all rules have had their say
	formOnly bool       // rules about the form of the manifest ran, and no others
	watch    *stopwatch // nil unless the time of rules is measured
}

// Extra adds something to a finding.
type Extra func(*Finding)

// Effect says what Envoy will do because of the fault.
func Effect(text string) Extra { return func(f *Finding) { f.Effect = text } }

// Also names another place that has to do with the fault.
func Also(o *object.Object, at object.Path, msg string) Extra {
	return func(f *Finding) {
		f.Related = append(f.Related, Related{Message: msg, Object: o.Key, Path: at, Location: o.Locate(at)})
	}
}

// Suggest adds a fix.
func Suggest(fix Fix) Extra { return func(f *Finding) { f.Fixes = append(f.Fixes, fix) } }

// As gives the finding another severity than its rule's, for rules whose faults differ in weight. A severity that the
// configuration sets for the rule wins.
func As(s Severity) Extra { return func(f *Finding) { f.Severity = s } }

// About says what the finding is about beyond its path; see Subject.
func About(s Subject) Extra { return func(f *Finding) { f.Subject = s } }

// OnKey points the finding at the name of the field instead of its value.
func OnKey(o *object.Object) Extra { return func(f *Finding) { f.Location = o.LocateKey(f.Path) } }

// Report records a finding about the field at a path of the pass's object. msg is one sentence without a full stop.
func (p *Pass) Report(at object.Path, msg string, extras ...Extra) {
	f := Finding{
		Rule:     &p.rule.rule.Meta,
		Severity: p.rule.preset,
		Message:  msg,
		Object:   p.Object.Key,
		Path:     at,
		Location: p.Object.Locate(at),
	}
	for _, e := range extras {
		e(&f)
	}
	if p.rule.severity != nil {
		f.Severity = *p.rule.severity
	}
	f.identify(p.Object)
	f.noteRendering(p.Object.File())
	f.abridge()
	p.visit.findings = append(p.visit.findings, f)
}

// Skip says that the rule could not judge the object, and why.
func (p *Pass) Skip(reason string) {
	p.visit.skips = append(p.visit.skips, Skip{Rule: p.rule.rule.ID, File: p.Object.FileName(), Object: p.Object.Key, Reason: reason, Cause: Undecided})
}

// Rule returns the rule that is being run.
func (p *Pass) Rule() *Meta { return &p.rule.rule.Meta }

// Active returns the rules that are being run on the object.
func (p *Pass) Active() []*Meta { return p.visit.active }

// Option returns the configured value of an option of the rule, or its default; nil if the rule has no such option.
func (p *Pass) Option(name string) any { return p.OptionOf(p.rule.rule.ID, name) }

// OptionOf returns the value of an option of any rule.
func (p *Pass) OptionOf(id, name string) any {
	r := p.visit.rules.byID[id]
	if r == nil {
		return nil
	}
	return r.options[name]
}

// Memo returns what f returned the first time that it was called with key while the pass's object was being judged. A key
// belongs to one type of value.
func Memo[T any](p *Pass, key any, f func() T) T {
	if v, ok := p.visit.memo[key].(T); ok {
		return v
	}
	if p.visit.memo == nil {
		p.visit.memo = map[any]any{}
	}
	v := f()
	p.visit.memo[key] = v
	return v
}

type (
	reachMemo     struct{}
	eachPortMemo  struct{}
	levelsMemo    struct{}
	usesMemo      struct{}
	lossesMemo    struct{}
	subsetsMemo   struct{}
	timeoutsMemo  struct{}
	poolsMemo     struct{}
	unwatchedMemo struct{}
	originMemo    struct{}
	schemaMemo    struct{}
)

// Reach is what the DestinationRule being judged governs; empty for other kinds.
func (p *Pass) Reach() effective.Reach {
	return Memo(p, reachMemo{}, func() effective.Reach {
		if p.Object.Kind != object.DestinationRule {
			return effective.Reach{}
		}
		return effective.ReachOf(p.Mesh, p.Object)
	})
}

// EachPort is Reach with every port of every host listed.
func (p *Pass) EachPort() effective.Reach {
	return Memo(p, eachPortMemo{}, func() effective.Reach {
		if p.Object.Kind != object.DestinationRule {
			return effective.Reach{}
		}
		return effective.EachPortOf(p.Mesh, p.Object)
	})
}

// Levels are the traffic policies that the DestinationRule being judged writes, with the ports that each reaches.
func (p *Pass) Levels() []effective.Level {
	return Memo(p, levelsMemo{}, func() []effective.Level {
		if p.Object.Kind != object.DestinationRule {
			return nil
		}
		return effective.LevelsIn(p.Object, p.Reach())
	})
}

// Uses are the fields that the DestinationRule being judged writes, with the ports on which they have an effect and those on which
// they have none.
func (p *Pass) Uses() []effective.Use {
	return Memo(p, usesMemo{}, func() []effective.Use {
		if p.Object.Kind != object.DestinationRule {
			return nil
		}
		return effective.UsesIn(p.Mesh, p.Object, p.Levels())
	})
}

// EntryLosses are the portLevelSettings entries through which the DestinationRule being judged loses a value.
func (p *Pass) EntryLosses() []effective.EntryLosses {
	return Memo(p, lossesMemo{}, func() []effective.EntryLosses {
		return effective.LossesAtEntries(p.Mesh, p.Object, p.Reach())
	})
}

// SubsetLosses are the blocks of subsets, and the port entries in them, through which the DestinationRule being judged loses a value.
func (p *Pass) SubsetLosses() []effective.SubsetLosses {
	return Memo(p, subsetsMemo{}, func() []effective.SubsetLosses {
		return effective.LossesInSubsets(p.Mesh, p.Object, p.Levels(), p.Reach().Known())
	})
}

// ImplicitTimeouts are the levels of the DestinationRule being judged that leave ports outside the mesh without a connectTimeout.
func (p *Pass) ImplicitTimeouts() []effective.ImplicitTimeout {
	return Memo(p, timeoutsMemo{}, func() []effective.ImplicitTimeout {
		return effective.ImplicitTimeouts(p.Mesh, p.Object, p.EachPort())
	})
}

// PartialPools are the connectionPools of the DestinationRule being judged that set some circuit breakers and not the others.
func (p *Pass) PartialPools() []effective.PartialPool {
	return Memo(p, poolsMemo{}, func() []effective.PartialPool {
		return effective.PartialPools(p.Mesh, p.Object, p.Levels())
	})
}

// Unwatched are the hosts that have a list of addresses and no outlier detection because of the object being judged.
func (p *Pass) Unwatched() []effective.Unwatched {
	return Memo(p, unwatchedMemo{}, func() []effective.Unwatched {
		switch p.Object.Kind {
		case object.ServiceEntry:
			return effective.UnwatchedOf(p.Mesh, p.Mesh.Target(p.Object))
		case object.DestinationRule:
			return effective.UnwatchedUnder(p.Mesh, p.Mesh.Rule(p.Object))
		}
		return nil
	})
}

// Originated are the tls blocks of DestinationRules that are in effect on ports of the ServiceEntry being judged.
func (p *Pass) Originated() []effective.Originated {
	return Memo(p, originMemo{}, func() []effective.Originated {
		if p.Object.Kind != object.ServiceEntry {
			return nil
		}
		return effective.OriginatedOf(p.Mesh, p.Mesh.Target(p.Object))
	})
}

// SchemaViolations returns where the object breaks the schema of its kind or of Kubernetes' metadata.
func (p *Pass) SchemaViolations() ([]schema.Violation, error) {
	type result struct {
		violations []schema.Violation
		err        error
	}
	r := Memo(p, schemaMemo{}, func() result {
		v, err := p.visit.engine.validate(p.Context, p.Object)
		return result{v, err}
	})
	return r.violations, r.err
}
