package render

import "testing"

func TestOrigin(t *testing.T) {
	d := Document{Source: "templates/a.yaml", Lines: []Lines{
		{From: 2, Count: 3, Line: 10, Step: 1},
		{From: 5, Count: 2, Line: 20},
		{From: 9, Count: 1, Line: 4, Source: "templates/_helpers.tpl"},
	}}
	for line, want := range map[int]struct {
		source string
		at     int
	}{
		0: {}, 1: {}, 2: {d.Source, 10}, 4: {d.Source, 12}, 5: {d.Source, 20}, 6: {d.Source, 20}, 7: {}, 8: {},
		9: {"templates/_helpers.tpl", 4}, 10: {},
	} {
		if source, at := d.Origin(line); source != want.source || at != want.at {
			t.Errorf("line %d is from %s:%d, want %s:%d", line, source, at, want.source, want.at)
		}
	}
	if source, at := (&Document{Source: "a.yaml"}).Origin(1); source != "" || at != 0 {
		t.Errorf("without Lines, line 1 is from %s:%d", source, at)
	}
}
