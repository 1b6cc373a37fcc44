package edit

import (
	"fmt"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/aymanbagabas/go-udiff/lcs"
)

// margin is the number of unchanged lines around changes in a diff.
const margin = 3

// Diff returns the unified diff of a file's content, "" if there is none. It applies with `patch -p1` and with `git apply` where name
// is a path relative to where they run, with slashes. Names that hold what a line of a diff cannot are quoted as git does.
func Diff(name, before, after string) string {
	if before == after {
		return ""
	}
	a, b := splitLines(before), splitLines(after)
	var out strings.Builder
	fmt.Fprintf(&out, "--- %s\n+++ %s\n", quoteName("a/"+name), quoteName("b/"+name))
	changes := lineChanges(a, b)
	for len(changes) > 0 {
		n := 1
		for n < len(changes) && changes[n].Start-changes[n-1].End <= 2*margin {
			n++
		}
		writeHunk(&out, a, b, changes[:n])
		changes = changes[n:]
	}
	return out.String()
}

func splitLines(text string) []string {
	lines := strings.SplitAfter(text, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// lineChanges lists what is different, in order. Files are first cut at lines that are there once on either side, so that the cost
// of the search between them does not grow with their length.
func lineChanges(a, b []string) []lcs.Diff {
	var out []lcs.Diff
	between := func(i, iEnd, j, jEnd int) {
		for i < iEnd && j < jEnd && a[i] == b[j] {
			i, j = i+1, j+1
		}
		for i < iEnd && j < jEnd && a[iEnd-1] == b[jEnd-1] {
			iEnd, jEnd = iEnd-1, jEnd-1
		}
		if i == iEnd || j == jEnd {
			if i < iEnd || j < jEnd {
				out = append(out, lcs.Diff{Start: i, End: iEnd, ReplStart: j, ReplEnd: jEnd})
			}
			return
		}
		for _, d := range lcs.DiffLines(a[i:iEnd], b[j:jEnd]) {
			out = append(out, lcs.Diff{Start: d.Start + i, End: d.End + i, ReplStart: d.ReplStart + j, ReplEnd: d.ReplEnd + j})
		}
	}
	i, j := 0, 0
	for _, p := range anchors(a, b) {
		between(i, p[0], j, p[1])
		i, j = p[0]+1, p[1]+1
	}
	between(i, len(a), j, len(b))
	return out
}

// anchors pairs the lines that are there exactly once on either side, as many as have the same order on both.
func anchors(a, b []string) [][2]int {
	type seen struct{ inA, inB, atA int }
	lines := make(map[string]*seen, len(a))
	for i, line := range a {
		s := lines[line]
		if s == nil {
			s = &seen{}
			lines[line] = s
		}
		s.inA, s.atA = s.inA+1, i
	}
	for _, line := range b {
		if s := lines[line]; s != nil {
			s.inB++
		}
	}
	var pairs [][2]int
	for j, line := range b {
		if s := lines[line]; s != nil && s.inA == 1 && s.inB == 1 {
			pairs = append(pairs, [2]int{s.atA, j})
		}
	}
	// The longest rising sequence of what is in a.
	ends := make([]int, 0, len(pairs)) // of the best sequence of each length, its last pair
	prev := make([]int, len(pairs))
	for k, p := range pairs {
		n := sort.Search(len(ends), func(n int) bool { return pairs[ends[n]][0] >= p[0] })
		prev[k] = -1
		if n > 0 {
			prev[k] = ends[n-1]
		}
		if n == len(ends) {
			ends = append(ends, k)
		} else {
			ends[n] = k
		}
	}
	var out [][2]int
	if len(ends) > 0 {
		for k := ends[len(ends)-1]; k >= 0; k = prev[k] {
			out = append(out, pairs[k])
		}
	}
	slices.Reverse(out)
	return out
}

func writeHunk(out *strings.Builder, a, b []string, changes []lcs.Diff) {
	first, last := changes[0], changes[len(changes)-1]
	lead := min(margin, first.Start)
	tail := min(margin, len(a)-last.End)
	fmt.Fprintf(out, "@@ -%s +%s @@\n",
		extent(first.Start-lead, last.End+tail), extent(first.ReplStart-lead, last.ReplEnd+tail))
	at := first.Start - lead
	for _, c := range changes {
		writeLines(out, ' ', a[at:c.Start])
		writeLines(out, '-', a[c.Start:c.End])
		writeLines(out, '+', b[c.ReplStart:c.ReplEnd])
		at = c.End
	}
	writeLines(out, ' ', a[at:at+tail])
}

// extent writes lines [from, to), counted from 0, as a hunk's header does.
func extent(from, to int) string {
	switch n := to - from; n {
	case 0:
		return fmt.Sprintf("%d,0", from)
	case 1:
		return fmt.Sprint(from + 1)
	default:
		return fmt.Sprintf("%d,%d", from+1, n)
	}
}

func writeLines(out *strings.Builder, mark byte, lines []string) {
	for _, line := range lines {
		out.WriteByte(mark)
		out.WriteString(line)
		if !strings.HasSuffix(line, "\n") {
			out.WriteString("\n\\ No newline at end of file\n")
		}
	}
}

// quoteName writes a file name as it stands in the head of a diff.
func quoteName(name string) string {
	odd := func(r rune) bool { return r < ' ' || r == 0x7f || r == '"' || r == '\\' }
	if utf8.ValidString(name) && strings.IndexFunc(name, odd) < 0 {
		if strings.Contains(name, " ") {
			return name + "\t" // or patch takes what follows the blank for a time
		}
		return name
	}
	var out strings.Builder
	out.WriteByte('"')
	for i := range len(name) {
		switch c := name[i]; {
		case c == '"' || c == '\\':
			out.WriteByte('\\')
			out.WriteByte(c)
		case c == '\n':
			out.WriteString(`\n`)
		case c == '\t':
			out.WriteString(`\t`)
		case c == '\r':
			out.WriteString(`\r`)
		case c < ' ' || c >= 0x7f:
			fmt.Fprintf(&out, `\%03o`, c)
		default:
			out.WriteByte(c)
		}
	}
	out.WriteByte('"')
	return out.String()
}
