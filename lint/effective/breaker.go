package effective

import (
	"slices"

	"github.com/meshvet/meshvet/lint/mesh"
	"github.com/meshvet/meshvet/lint/object"
)

// breakers are the fields of a connectionPool that Istio compiles to circuit_breakers.thresholds[0], in the order in which
// they are told. Whichever is not set is written as 4294967295 (math.MaxUint32).
var breakers = [...]object.Path{
	{"http", "maxRetries"},
	{"tcp", "maxConnections"},
	{"http", "http1MaxPendingRequests"},
	{"http", "http2MaxRequests"},
}

// PartialPool is a connectionPool that sets some circuit breakers and leaves others unlimited.
type PartialPool struct {
	Level *Level
	Set   []Breaker
	Open  []Breaker // never empty, as Set is not
	// Reading are the ports of the level whose clusters carry requests, so that all four count.
	Reading []Port
}

// Breaker is a circuit breaker of a connectionPool.
type Breaker struct {
	Path  object.Path  // below connectionPool
	Value object.Value // not set if the breaker is open
}

// Is says whether the breaker is the one of a field, such as "tcp.maxConnections".
func (b Breaker) Is(name string) bool { return b.Path.String() == name }

// PartialPools lists the pools of a rule that set at least one circuit breaker and leave at least one open. A retryBudget stands
// in for maxRetries.
func PartialPools(ix *mesh.Index, o *object.Object, levels []Level) []PartialPool {
	var out []PartialPool
	for i := range levels {
		level := &levels[i]
		pool := level.Policy.Get("connectionPool")
		if level.Shadowed || !pool.Set() {
			continue
		}
		p := PartialPool{Level: level}
		for _, path := range breakers {
			switch v := pool.At(path...); {
			case !v.Set():
				p.Open = append(p.Open, Breaker{Path: path})
			case v.Int() > 0:
				p.Set = append(p.Set, Breaker{path, v})
			}
		}
		if len(p.Set) == 0 || len(p.Open) == 0 {
			continue
		}
		if p.Open[0].Is("http.maxRetries") && level.HasRetryBudget(ix, o) {
			if p.Open = p.Open[1:]; len(p.Open) == 0 {
				continue
			}
		}
		p.Reading = slices.DeleteFunc(slices.Clone(level.Ports), func(port Port) bool { return !port.CarriesRequests() })
		out = append(out, p)
	}
	return out
}
