package schema

import (
	"slices"
	"strings"
)

// A crd is what validation reads of a CustomResourceDefinition.
type crd struct {
	group    string
	versions []string // served, newest first; they share the schema
	root     nodeID   // the whole object; of the CRD alone until load
	crdRoot  nodeID   // what the CRD says of it
	nodes    []node
}

// nodeID is an index into crd.nodes; 0 is no node.
type nodeID int32

type jsonType uint8

const (
	anyType jsonType = iota
	stringType
	integerType
	numberType
	booleanType
	arrayType
	objectType
)

// A node is the schema of one value: the keywords of a structural schema that the walker decides itself. What it does not decide is
// in more, and sends the object to the Kubernetes libraries.
type node struct {
	typ      jsonType
	nullable bool
	duration bool   // a google.protobuf.Duration in Istio's API: text such as "5s"
	open     bool   // unknown fields are kept
	format   string // "int32" and "double" from a CRD, "date-time" in metadata

	minimum, maximum                             limit
	maxLength, minItems, maxItems, maxProperties int // 0 = no limit
	enum                                         []string

	props      []prop // sorted by name
	values     nodeID // of a mapping with free keys
	items      nodeID
	required   []string
	atMostOne  [][]string // from a protobuf oneof: groups of fields that exclude each other
	listMapKey string     // the field by which the items of the list are told apart

	rules []rule
	more  string // further keywords, as the JSON of a JSONSchemaProps

	// Filled in by load.
	requiredMask uint64
	groupMasks   []uint64
	newerEnum    []string // values that the configured version of Istio does not know
}

// A prop is a field of a node.
type prop struct {
	name  string
	node  nodeID
	newer bool // the configured version of Istio does not know it; filled in by load
}

// A limit is an inclusive bound of a number.
type limit struct {
	set   bool
	value float64
}

// A rule is a CEL rule of the CRD. more holds its settings beyond the message (fieldPath, messageExpression, reason, …), as the JSON
// of a ValidationRule.
type rule struct {
	text, message string
	more          string
	decide        decider // filled in by load; nil = evaluated by the CEL library
}

// find returns the index of the field name, -1 if the node has none.
func (n *node) find(name string) int {
	lo, hi := 0, len(n.props)
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		switch p := n.props[mid].name; {
		case p == name:
			return mid
		case p < name:
			lo = mid + 1
		default:
			hi = mid
		}
	}
	return -1
}

func sortProps(props []prop) {
	slices.SortFunc(props, func(a, b prop) int { return strings.Compare(a.name, b.name) })
}
