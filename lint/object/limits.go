package object

// Limits bound what one input may cost. A zero field means its default.
type Limits struct {
	FileBytes     int // size of a file; default 32 MiB
	SearchedBytes int // how far a larger file is searched for a judged kind before it counts as endless; default 1 GiB
	DocumentBytes int // size of one document of a file; default 3 MiB
	Depth         int // nesting of mappings and lists; default 100
	Nodes         int // values of a document with its aliases followed; default 1,000,000
	AliasFactor   int // values that aliases may add, as a multiple of those written out; default 10
	Documents     int // documents of a file; default 50,000
	ListItems     int // items of a `kind: List`; default 20,000
	// ObjectItems is the most items in a list of a judged object; default 4,096, which is the most that Istio's
	// CustomResourceDefinitions allow in any list that they bound.
	ObjectItems int
}

// aliasFloor is how many values aliases may add to any document, however small: ten times a tiny document is too little for
// honest use of anchors.
const aliasFloor = 10_000

// WithDefaults returns the limits with every unset field at its default.
func (l Limits) WithDefaults() Limits {
	set := func(p *int, v int) {
		if *p == 0 {
			*p = v
		}
	}
	set(&l.FileBytes, 32<<20)
	set(&l.SearchedBytes, 1<<30)
	set(&l.DocumentBytes, 3<<20)
	set(&l.Depth, 100)
	set(&l.Nodes, 1_000_000)
	set(&l.AliasFactor, 10)
	set(&l.Documents, 50_000)
	set(&l.ListItems, 20_000)
	set(&l.ObjectItems, 4_096)
	return l
}
