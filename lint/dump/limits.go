package dump

// Limits bound what one file may cost. A field that is not positive means its default.
type Limits struct {
	FileBytes     int64 // size of the file; default 1 GiB
	ResourceBytes int64 // size of one resource with what is around it, such as all states of a listener; default 16 MiB
	Depth         int   // nesting of objects and lists, counted from the outermost; default 256
	Values        int   // objects, lists and scalars of one resource; default 1,000,000
	Resources     int   // resources of the file; default 1,000,000
	// PathBytes is the size of the paths of all scalars of one resource, which is what its Leaves cost; default 256 MiB.
	// A resource of Istio's has some hundred bytes for each scalar; only names made to be long come to more.
	PathBytes int64
}

// WithDefaults returns the limits with every unset field at its default.
func (l Limits) WithDefaults() Limits {
	setDefault(&l.FileBytes, 1<<30)
	setDefault(&l.ResourceBytes, 16<<20)
	setDefault(&l.Depth, 256)
	setDefault(&l.Values, 1_000_000)
	setDefault(&l.Resources, 1_000_000)
	setDefault(&l.PathBytes, 256<<20)
	return l
}

func setDefault[T int | int64](p *T, v T) {
	if *p <= 0 {
		*p = v
	}
}
