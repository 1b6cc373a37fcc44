package lint

import (
	"slices"

	"github.com/meshvet/meshvet/lint/object"
)

// dropSuperseded takes out the findings whose cause another finding already names, as the rules' Supersedes say.
func dropSuperseded(findings []Finding) (kept, superseded []Finding) {
	// Only findings near each other can supersede: on one object, on an object that the stronger one names, and on the
	// ServiceEntries of a host that both are about. What is found on another DestinationRule concerns other clients.
	type near struct {
		rule string // of the weaker finding
		at   any    // an object.Key, or a host
	}
	by := map[near][]int{}
	on := map[object.Key][]int{}
	for i := range findings {
		f := &findings[i]
		on[f.Object] = append(on[f.Object], i)
		by[near{f.Rule.ID, f.Object}] = append(by[near{f.Rule.ID, f.Object}], i)
		if f.Object.Kind == object.ServiceEntry {
			for _, h := range f.Subject.Hosts {
				by[near{f.Rule.ID, h}] = append(by[near{f.Rule.ID, h}], i)
			}
		}
	}
	covered := map[int][]uint32{} // ports of a finding that stronger ones account for
	dropped := map[int]bool{}
	for i := range findings {
		strong := &findings[i]
		for _, s := range strong.Rule.Supersedes {
			keys := []near{{s.Rule, strong.Object}}
			if s.reachesOthers() {
				for _, o := range strong.Subject.Objects {
					keys = append(keys, near{s.Rule, o})
				}
				for _, h := range strong.Subject.Hosts {
					keys = append(keys, near{s.Rule, h})
				}
			}
			for _, k := range keys {
				for _, j := range by[k] {
					weak := &findings[j]
					if j == i || dropped[j] || !meet(strong.Subject.Blocks, weak.Subject.Blocks) {
						continue
					}
					switch s.Scope {
					case ScopeObject:
						dropped[j] = true
					case ScopePort:
						for _, p := range strong.Subject.Ports {
							if !slices.Contains(covered[j], p) {
								covered[j] = append(covered[j], p)
							}
						}
						dropped[j] = allIn(weak.Subject.Ports, covered[j])
					case ScopeBlock:
						dropped[j] = policyBlock(weak.Path).Equal(policyBlock(strong.Path))
					default:
						dropped[j] = weak.Path.HasPrefix(strong.Path) ||
							weak.Object == strong.Object && slices.ContainsFunc(strong.Subject.Fields, weak.Path.HasPrefix)
					}
				}
			}
		}
	}
	for i := range findings {
		weak := &findings[i]
		if !weak.Rule.Yields {
			continue
		}
		for _, j := range on[weak.Object] {
			strong := &findings[j]
			if strong.Rule.Yields || dropped[i] || dropped[j] || !strong.Path.Equal(weak.Path) || len(strong.Path) == 0 {
				continue
			}
			// What is said of a value that is refused, and weighs less, is not worth saying.
			if strong.Severity < weak.Severity {
				dropped[j] = true
			} else {
				dropped[i] = true
			}
		}
	}
	kept = findings[:0]
	for i := range findings {
		if dropped[i] {
			superseded = append(superseded, findings[i])
		} else {
			kept = append(kept, findings[i])
		}
	}
	return kept, superseded
}

// allIn says whether every port that a finding is about is accounted for; one about no port in particular is not.
func allIn(ports, covered []uint32) bool {
	if len(ports) == 0 {
		return false
	}
	return !slices.ContainsFunc(ports, func(p uint32) bool { return !slices.Contains(covered, p) })
}

// policyBlocks are the blocks of a traffic policy that Istio inherits or replaces as a whole.
var policyBlocks = []string{"connectionPool", "loadBalancer", "outlierDetection", "tls", "tunnel", "proxyProtocol", "retryBudget"}

// policyBlock cuts a path down to the block of the traffic policy that it lies in; a path elsewhere stays as it is.
func policyBlock(p object.Path) object.Path {
	for i, e := range p {
		if s, ok := e.(string); ok && slices.Contains(policyBlocks, s) {
			return p[:i+1]
		}
	}
	return p
}

// meet says whether two findings concern a common block; one that names none concerns all.
func meet(a, b []string) bool {
	return len(a) == 0 || len(b) == 0 || slices.ContainsFunc(a, func(block string) bool { return slices.Contains(b, block) })
}
