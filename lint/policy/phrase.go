package policy

import (
	"fmt"
	"strings"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/effective"
)

// placesOf names ports as a sentence wants them: up to three, or two and the number of the others.
func placesOf(ports []effective.Port) string {
	return firstOf(ports, func(p effective.Port) string { return wordsFor(p) + " of " + string(p.Host) })
}

// bareOf is placesOf without the hosts.
func bareOf(ports []effective.Port) string { return firstOf(ports, wordsFor) }

func wordsFor(p effective.Port) string {
	protocol := p.Protocol
	if protocol == "" {
		protocol = "no protocol"
	}
	return fmt.Sprintf("port %d (%s)", p.Number, protocol)
}

func firstOf[T any](things []T, name func(T) string) string {
	shown := things
	if len(things) > 3 {
		shown = things[:2]
	}
	names := make([]string, 0, len(shown))
	for _, t := range shown {
		names = append(names, name(t))
	}
	list := strings.Join(names, ", ")
	if more := len(things) - len(shown); more > 0 {
		return fmt.Sprintf("%s and %d more", list, more)
	}
	return list
}

// subjectOf is what a finding about some ports is about, by which one finding supersedes another.
func subjectOf(ports []effective.Port) record {
	s := lint.SubjectOf(ports)
	return record{"hosts": s.Hosts, "ports": s.Ports}
}

// whose names the subset of a level, if it has one.
func whose(l *effective.Level) string {
	if l.Subset == "" {
		return ""
	}
	return " of subset " + l.Subset
}
