package main

import (
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"text/template"
	"time"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/istio"
	"github.com/meshvet/meshvet/lint/verify"
)

//go:embed report.md.tmpl
var reportTemplate string

// corpora holds sets of inputs against Istio, prints a line for each and all contradictions, and writes a report if asked to. It
// fails if there is a contradiction, and if nothing of a set could be compared.
func (p *prover) corpora(ctx context.Context, out io.Writer, args []string) error {
	flags := flag.NewFlagSet("corpus", flag.ContinueOnError)
	count := flags.Uint64("random", 0, "how many random meshes to make")
	seed := flags.Uint64("seed", 0, "the seed of the first one")
	report := flags.String("report", "", "file to write the figures to")
	if err := flags.Parse(args); err != nil {
		return err
	}
	began := time.Now()
	var all []*tally
	contradictions := 0
	run := func(name string, work func(*tally) error) error {
		t := newTally(name)
		if err := work(t); err != nil {
			return err
		}
		all = append(all, t)
		contradictions += len(t.Outcome.Contradictions)
		t.tell(out)
		if t.Outcome.Proxies == 0 {
			return fmt.Errorf("%s: nothing of it was compared", name)
		}
		return nil
	}
	for _, arg := range flags.Args() {
		name, paths, ok := strings.Cut(arg, "=")
		if !ok {
			return fmt.Errorf("%q is not of the form NAME=PATH,PATH", arg)
		}
		if err := run(name, func(t *tally) error { return p.corpus(ctx, t, strings.Split(paths, ",")) }); err != nil {
			return err
		}
	}
	if *count > 0 {
		name := fmt.Sprintf("random meshes, seeds %d to %d", *seed, *seed+*count-1)
		if err := run(name, func(t *tally) error { return p.random(ctx, t, *seed, *count) }); err != nil {
			return err
		}
	}
	if len(all) == 0 {
		return errors.New("nothing to compare: name folders, or say -random")
	}
	fmt.Fprintf(out, "%d contradictions, in %.0f s\n", contradictions, time.Since(began).Seconds())
	if contradictions > 0 {
		return fmt.Errorf("meshvet and Istio contradict each other %d times", contradictions)
	}
	if *report == "" {
		return nil
	}
	return p.writeReport(*report, all)
}

// tell prints what came of one set.
func (t *tally) tell(out io.Writer) {
	o := &t.Outcome
	fmt.Fprintf(out, "%s: %d meshes, %d proxies, %d clusters, %d tcp_proxy filters, %d routes, %d fields; %d claims and %d safe fixes tried, %d of these together in %d meshes; %d contradictions\n",
		t.Name, o.Meshes, o.Proxies, o.Clusters, o.Filters, o.Routes, o.Leaves, sum(t.Claims), sum(t.Fixes), t.Applied, t.Together, len(o.Contradictions))
	for _, list := range []struct {
		what  string
		items []string
	}{{"contradiction", o.Contradictions}, {"the oracle died", o.Died}, {"refused", t.Refused}} {
		for _, item := range list.items {
			fmt.Fprintf(out, "  %s: %s\n", list.what, item)
		}
	}
}

func sum(of map[string]int) int {
	n := 0
	for _, v := range of {
		n += v
	}
	return n
}

// claimRow is a line of the report: how often the claims of a rule were put to the test.
type claimRow struct {
	Rule, Name, Kind       string
	Claims, Unshown, Fixes int
}

// writeReport writes the figures.
func (p *prover) writeReport(path string, all []*tally) error {
	total := newTally("all")
	for _, t := range all {
		total.Outcome.Add(t.Outcome)
		total.Files += t.Files
		total.Together += t.Together
		total.Applied += t.Applied
		total.Refused = append(total.Refused, t.Refused...)
		for _, pair := range []struct{ into, from map[string]int }{{total.Claims, t.Claims}, {total.Fixes, t.Fixes}, {total.Unshown, t.Unshown}} {
			for rule, n := range pair.from {
				pair.into[rule] += n
			}
		}
	}
	ids := maps.Clone(total.Claims)
	maps.Copy(ids, total.Fixes)
	var rows []claimRow
	for _, id := range slices.Sorted(maps.Keys(ids)) {
		r := &p.rules[slices.IndexFunc(p.rules, func(r lint.Rule) bool { return r.ID == id })]
		rows = append(rows, claimRow{id, r.Name, r.Proof.Kind, total.Claims[id], total.Unshown[id], total.Fixes[id]})
	}
	tmpl, err := template.New("report").Funcs(template.FuncMap{"families": familyNames}).Parse(reportTemplate)
	if err != nil {
		return fmt.Errorf("read the template of the report: %w", err)
	}
	var b strings.Builder
	err = tmpl.Execute(&b, map[string]any{
		"Istio": p.oracle.Version(), "Oracle": istio.Oracle, "Sets": all, "Total": total, "Rows": rows, "Inert": inertPaths(),
		"Uncompared": verify.Uncompared, "Changes": istio.Changes(), "Rules": len(p.rules),
	})
	if err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	if err := os.WriteFile(path, []byte(b.String()), 0o666); err != nil { //nolint:gosec // a page like its neighbours
		return fmt.Errorf("write the report: %w", err)
	}
	return nil
}

func familyNames(list []family) string {
	var names []string
	for _, f := range list {
		names = append(names, f.String())
	}
	return strings.Join(names, ", ")
}
