package lint

import (
	"strconv"
	"strings"
)

// How texts of rules name several things, in Go as in Rego.

// Enumerate lists all of some words: a, b and c.
func Enumerate(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}

// PortList names ports by number: port 443, or ports 80, 443.
func PortList(numbers []uint32) string {
	if len(numbers) == 1 {
		return "port " + PortNumbers(numbers)
	}
	return "ports " + PortNumbers(numbers)
}

// PortNumbers are the bare numbers of ports: 80, 443, or none.
func PortNumbers(numbers []uint32) string {
	if len(numbers) == 0 {
		return "none"
	}
	words := make([]string, 0, len(numbers))
	for _, n := range numbers {
		words = append(words, strconv.FormatUint(uint64(n), 10))
	}
	return strings.Join(words, ", ")
}
