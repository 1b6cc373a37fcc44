package object

import (
	"strconv"
	"strings"
)

// Path names one field of an object: map keys are strings, list indexes are ints.
// It is the coin in which rules, fixes and admission causes name a place; positions are looked up from it.
type Path []any

// ParsePath reads the dotted form that String writes: spec.ports[0].number, metadata.annotations["a.b/c"].
// It is meant for paths written in code and policies; what it cannot read it takes as part of a key.
func ParsePath(s string) Path {
	var p Path
	for s != "" {
		switch s[0] {
		case '.':
			s = s[1:]
		case '[':
			end := strings.IndexByte(s, ']')
			if end < 0 {
				return append(p, s)
			}
			inner := s[1:end]
			if strings.HasPrefix(inner, `"`) {
				if quote := strings.Index(s[2:], `"]`); quote >= 0 {
					p = append(p, s[2:2+quote])
					s = s[2+quote+2:]
					continue
				}
			}
			if n, err := strconv.Atoi(inner); err == nil {
				p = append(p, n)
			} else {
				p = append(p, inner)
			}
			s = s[end+1:]
		default:
			end := strings.IndexAny(s, ".[")
			if end < 0 {
				end = len(s)
			}
			p = append(p, s[:end])
			s = s[end:]
		}
	}
	return p
}

// String writes the path as Kubernetes' field.Path does, with keys that hold a dot or a bracket quoted.
func (p Path) String() string {
	var b strings.Builder
	for _, e := range p {
		switch e := e.(type) {
		case int:
			b.WriteByte('[')
			b.WriteString(strconv.Itoa(e))
			b.WriteByte(']')
		case string:
			if strings.ContainsAny(e, `.[]"`) || e == "" {
				b.WriteString(`["` + e + `"]`)
				continue
			}
			if b.Len() > 0 {
				b.WriteByte('.')
			}
			b.WriteString(e)
		}
	}
	return b.String()
}

// Pointer writes the path as a JSON Pointer (RFC 6901), the form of JSON Patch operations.
func (p Path) Pointer() string {
	var b strings.Builder
	for _, e := range p {
		b.WriteByte('/')
		switch e := e.(type) {
		case int:
			b.WriteString(strconv.Itoa(e))
		case string:
			b.WriteString(pointerEscape.Replace(e))
		}
	}
	return b.String()
}

var pointerEscape = strings.NewReplacer("~", "~0", "/", "~1")

// Child returns p with elems appended, sharing nothing with p.
func (p Path) Child(elems ...any) Path {
	out := make(Path, 0, len(p)+len(elems))
	return append(append(out, p...), elems...)
}

// Parent returns p without its last element; the parent of the empty path is the empty path.
func (p Path) Parent() Path {
	if len(p) == 0 {
		return p
	}
	return p[:len(p)-1]
}

// HasPrefix says whether prefix is p or one of its ancestors.
func (p Path) HasPrefix(prefix Path) bool {
	if len(prefix) > len(p) {
		return false
	}
	for i := range prefix {
		if p[i] != prefix[i] {
			return false
		}
	}
	return true
}

// Equal says whether two paths name the same field.
func (p Path) Equal(q Path) bool { return len(p) == len(q) && p.HasPrefix(q) }
