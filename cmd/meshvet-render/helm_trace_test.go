package main

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/loader/archive"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	releaseutil "helm.sh/helm/v4/pkg/release/v1/util"
)

// scribe writes a template in which all that is written tells its line: T7 is text on line 7, A7 is written by an action there.
type scribe struct {
	*rand.Rand
	strings.Builder
	line   int
	prefix string // of what is written in this file
	named  []string
}

func (s *scribe) write(text string) {
	s.WriteString(text)
	s.line += strings.Count(text, "\n")
}

func (s *scribe) token(kind string) string { return fmt.Sprintf("%s%s%d", s.prefix, kind, s.line) }

// action writes an action that may cut off the white space around it.
func (s *scribe) action(text string) {
	open, end := "{{ ", " }}"
	if s.IntN(3) == 0 {
		open = "{{- "
	}
	if s.IntN(3) == 0 {
		end = " -}}"
	}
	s.write(open + text + end)
}

// list writes some nodes.
func (s *scribe) list(depth int) {
	for range 1 + s.IntN(5) {
		switch n := s.IntN(14); {
		case n < 4:
			s.write(strings.Repeat(" ", s.IntN(3)) + s.token("T") + ": text")
		case n < 6:
			s.write("\n")
		case n < 7:
			s.action(strconv.Quote(s.token("A") + "\n" + s.token("A")))
		case n < 8:
			s.action(strconv.Quote(s.token("A")+"\n"+s.token("A")) + " | nindent 2")
		case n < 9:
			s.action(strconv.Quote(s.token("A")))
		case n < 10 && len(s.named) > 0:
			s.action(fmt.Sprintf("include %q . | %s", s.named[s.IntN(len(s.named))], []string{"nindent 2", "indent 1", "trim"}[s.IntN(3)]))
		case n < 11:
			s.action("$x := 1")
		case n < 12 && depth > 0:
			s.action([]string{"if true", "if false", "with 1", "with 0"}[s.IntN(4)])
			s.list(depth - 1)
			if s.IntN(2) == 0 {
				s.action("else")
				s.list(depth - 1)
			}
			s.action("end")
		case n < 13 && depth > 0:
			s.action(fmt.Sprintf("range until %d", s.IntN(4)))
			s.list(depth - 1)
			s.action("end")
		default:
			s.write(s.token("T") + ": text\n")
		}
	}
}

// TestOriginsAreTrue renders templates in which everything says which line it is from, and holds that against what is said of lines.
func TestOriginsAreTrue(t *testing.T) {
	token := regexp.MustCompile(`([EH])[TA](\d+)`)
	told, all := 0, 0
	for seed := range uint64(600) {
		random := rand.New(rand.NewPCG(seed, 1))
		helpers := &scribe{Rand: random, line: 1, prefix: "H"}
		for i := range 2 {
			helpers.write(fmt.Sprintf("{{- define \"named%d\" }}\n", i))
			helpers.list(1)
			helpers.write("\n")
			helpers.write(helpers.token("T") + ": text\n{{- end }}\n")
		}
		entry := &scribe{Rand: random, line: 1, prefix: "E", named: []string{"named0", "named1"}}
		entry.list(3)

		made, err := loader.LoadFiles([]*archive.BufferedFile{
			{Name: chartFile, Data: []byte(chartYAML)},
			{Name: "templates/_helpers.tpl", Data: []byte(helpers.String())},
			{Name: "templates/entry.yaml", Data: []byte(entry.String())},
		})
		if err != nil {
			t.Fatal(err)
		}
		r := &rendering{loadedChart: &loadedChart{chart: made, sources: map[*common.File]string{}}, files: map[string]*template{}}
		for _, f := range made.Templates {
			r.sources[f] = f.Name
		}
		r.nameTemplates(made)
		values, err := util.ToRenderValues(made, nil, common.ReleaseOptions{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		rendered, err := r.execute(t.Context(), values)
		if err != nil {
			t.Fatalf("seed %d: %v\n%s\n%s", seed, err, helpers.String(), entry.String())
		}
		const name = "shop/templates/entry.yaml"
		o := r.trace(t.Context(), values, rendered, map[string]bool{name: true})[name]
		if o == nil {
			t.Errorf("seed %d: nothing is known", seed)
			continue
		}
		for n, line := range strings.Split(rendered[name], "\n") {
			first := token.FindStringSubmatch(line)
			if first == nil {
				continue
			}
			all++
			source, at := o.line(n + 1)
			if at == 0 {
				continue
			}
			told++
			want := map[string]string{"E": "templates/entry.yaml", "H": "templates/_helpers.tpl"}[first[1]] + ":" + first[2]
			if first[1] == "H" && source == "templates/entry.yaml" && strings.Contains(strings.Split(entry.String(), "\n")[at-1], "include") {
				continue // it had the line written
			}
			if got := fmt.Sprintf("%s:%d", source, at); got != want {
				t.Errorf("seed %d: line %d, %q, is told to be from %s\n%s\n%s", seed, n+1, line, got, helpers.String(), entry.String())
			}
		}
		if t.Failed() {
			return
		}
	}
	t.Logf("%d of %d lines have an origin", told, all)
	if told < all*3/5 || all < 1000 {
		t.Errorf("only %d of %d lines have an origin", told, all)
	}
}

// TestSplitLikeHelm takes texts apart as Helm's own function does, and knows where the parts begin.
func TestSplitLikeHelm(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	words := []string{"---", "\n", "\n", " ", "\t", "a: 1", "# c", "-", "x---", "\r\n", "\u00a0"}
	for range 5000 {
		var text strings.Builder
		for range random.IntN(14) {
			text.WriteString(words[random.IntN(len(words))])
		}
		got := split(text.String())
		want := releaseutil.SplitManifests(text.String())
		if len(got) != len(want) {
			t.Fatalf("%q: %d parts, want %d", text.String(), len(got), len(want))
		}
		lines := strings.Split(text.String(), "\n")
		for i, m := range got {
			if m.text != want[fmt.Sprintf("manifest-%d", i)] {
				t.Fatalf("%q: part %d is %q, want %q", text.String(), i, m.text, want[fmt.Sprintf("manifest-%d", i)])
			}
			if first, _, _ := strings.Cut(m.text, "\n"); !strings.HasSuffix(lines[m.first-1], first) {
				t.Fatalf("%q: part %d, %q, is said to begin on line %d", text.String(), i, m.text, m.first)
			}
		}
	}
}
