package rules

import (
	"fmt"
	"strings"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/effective"
)

// skipUnknownHost says that a rule about what a DestinationRule's host is has nothing to go by. Services of the mesh, which
// rules for external hosts do not concern, are left out without a word.
func skipUnknownHost(p *lint.Pass) {
	host := p.Mesh.Rule(p.Object).Host
	if !p.Mesh.Settings().InCluster(host) {
		p.Skip(fmt.Sprintf("%s is not in view, so the kind of its ports is not known", host))
	}
}

// portName is how messages name a port of a host.
func portName(port effective.Port) string { return fmt.Sprintf("%s:%d", port.Host, port.Number) }

// andMore says how many others there are beside the one that is named.
func andMore(n int) string {
	if n <= 0 {
		return ""
	}
	return fmt.Sprintf(" (and %d more)", n)
}

// suggestAll adds fixes, of which there may be none.
func suggestAll(fixes []lint.Fix) lint.Extra {
	return func(f *lint.Finding) { f.Fixes = append(f.Fixes, fixes...) }
}

// someOf lists up to three names, or two and the number of the others.
func someOf(names []string) string {
	if len(names) <= 3 {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:2], ", "), len(names)-2)
}
