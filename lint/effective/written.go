package effective

import (
	"github.com/meshvet/meshvet/lint/object"
)

// Written is a block of a traffic policy where a DestinationRule writes it.
type Written struct {
	Level Level // with the ports that the block governs
	Path  object.Path
	Value object.Value
	// Alone says that the level holds nothing else, so that without the block it would be empty, which Istio refuses.
	Alone bool
}

// WrittenIn lists where a rule writes a block, with the ports of reach that each place governs.
func WrittenIn(o *object.Object, block string, reach Reach) []Written {
	var out []Written
	for _, l := range LevelsIn(o, reach) {
		v := l.Policy.Get(block)
		if !v.Set() {
			continue
		}
		alone := true
		for k, f := range l.Policy.Fields() {
			if k != block && k != "port" && f.Set() {
				alone = false
			}
		}
		if block == "tunnel" { // no entry takes it away, and the subset's own is taken for all of its ports
			l.Ports = reach.Ports
		}
		out = append(out, Written{Level: l, Path: l.Path.Child(block), Value: v, Alone: alone})
	}
	return out
}
