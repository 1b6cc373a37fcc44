package main

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/meshvet/meshvet/lint"
)

// writeProfile writes what each rule took as a table, with sums by language.
func writeProfile(w io.Writer, p *lint.Profile) error {
	var all time.Duration
	byLanguage := map[string]time.Duration{}
	for _, r := range p.Rules {
		all += r.Gates + r.Check
		byLanguage[languageOf(r.Rule)] += r.Gates + r.Check
	}
	share := func(d time.Duration) string {
		if all == 0 {
			return "0.0 %"
		}
		return fmt.Sprintf("%.1f %%", 100*float64(d)/float64(all))
	}
	ms := func(d time.Duration) string { return fmt.Sprintf("%.2f", float64(d)/float64(time.Millisecond)) }

	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(tw, "RULE\tLANGUAGE\tGATED\tJUDGED\tGATES ms\tRULE ms\tµs/JUDGED\tSHARE\t")
	for _, r := range p.Rules {
		each := "-"
		if r.Judged > 0 {
			each = fmt.Sprintf("%.1f", float64(r.Check)/float64(time.Microsecond)/float64(r.Judged))
		}
		fmt.Fprintf(tw, "%s\t%s\t%d\t%d\t%s\t%s\t%s\t%s\t\n", r.Rule.ID, languageOf(r.Rule), r.Gated, r.Judged, ms(r.Gates), ms(r.Check), each, share(r.Gates+r.Check))
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "rules in Go %s ms (%s), in Rego %s ms (%s); compiling policies %s ms, once. Each policy was evaluated alone, which costs more than together.\n",
		ms(byLanguage["Go"]), share(byLanguage["Go"]), ms(byLanguage["Rego"]), share(byLanguage["Rego"]), ms(p.Preparing))
	return err
}
