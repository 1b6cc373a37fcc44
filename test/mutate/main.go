// Command mutate shows that the fixtures of each rule hold it to every part of its condition: it changes one operator, condition,
// member of a set, number or severity of a rule at a time, and runs the rule's fixtures, and for a policy the Rego tests beside it. A
// change that nothing notices is a survivor: either nothing depends on what was changed, or a look-alike is missing.
//
//	go run ./test/mutate            all rules
//	go run ./test/mutate SE101 -v   one rule, with its survivors
//
// It fails if a rule has no mutant that is noticed, or if fewer than -least percent are.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/policy"
	"github.com/meshvet/meshvet/policies"
	"github.com/meshvet/meshvet/rules"
)

// verdict is what became of the mutants of one rule.
type verdict struct {
	rule      string
	killed    int
	survivors []string
}

func (v verdict) mutants() int { return v.killed + len(v.survivors) }

// leastNoticed is the percentage that every rule has reached. What is left is of no consequence: conditions that the gate of the rule
// holds as well, the type of a value that is compared in the next line, a list that is not empty since it is read. A rule that falls below
// it has got a condition that no look-alike is about.
const leastNoticed = 80

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1) //nolint:gocritic // nothing is left to be undone
	}
}

func run(ctx context.Context, w io.Writer, args []string) error {
	flags := flag.NewFlagSet("mutate", flag.ContinueOnError)
	verbose := flags.Bool("v", false, "print the survivors")
	least := flags.Int("least", leastNoticed, "percentage of the mutants of each rule that have to be noticed")
	if err := flags.Parse(args); err != nil {
		return err
	}
	regoRules, err := policy.Load(ctx, policies.FS)
	if err != nil {
		return err
	}
	chosen := func(m *lint.Meta) bool { return flags.NArg() == 0 || slices.Contains(flags.Args(), m.ID) }
	all := append(rules.All(), regoRules...)
	verdicts, err := judgePolicies(ctx, all, chosen)
	if err != nil {
		return err
	}
	inGo, err := judgeGo(ctx, chosen)
	if err != nil {
		return err
	}
	return report(w, append(verdicts, inGo...), *verbose, *least)
}

func judgePolicies(ctx context.Context, all []lint.Rule, chosen func(*lint.Meta) bool) ([]verdict, error) {
	list := slices.DeleteFunc(slices.Clone(all), func(r lint.Rule) bool { return r.Lang != "rego" || !chosen(&r.Meta) })
	m, err := newPolicyMutator(policies.FS, "policies/testdata")
	if err != nil {
		return nil, err
	}
	verdicts := make([]verdict, len(list))
	errs := make([]error, len(list))
	next := make(chan int)
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for i := range next {
				verdicts[i], errs[i] = m.judge(ctx, &list[i].Meta, all)
			}
		})
	}
	for i := range list {
		next <- i
	}
	close(next)
	wg.Wait()
	return verdicts, errors.Join(errors.Join(errs...), ctx.Err())
}

// report prints a line for each rule, and says what is too little.
func report(w io.Writer, verdicts []verdict, verbose bool, least int) error {
	slices.SortFunc(verdicts, func(a, b verdict) int { return strings.Compare(a.rule, b.rule) })
	var table strings.Builder
	table.WriteString("RULE\tMUTANTS\tNOTICED\tSHARE\n")
	var weak, survivors []string
	all, killed := 0, 0
	for _, v := range verdicts {
		share := 0
		if v.mutants() > 0 {
			share = 100 * v.killed / v.mutants()
		}
		fmt.Fprintf(&table, "%s\t%d\t%d\t%d %%\n", v.rule, v.mutants(), v.killed, share)
		all, killed = all+v.mutants(), killed+v.killed
		if v.killed == 0 || share < least {
			weak = append(weak, v.rule)
		}
		for _, s := range v.survivors {
			survivors = append(survivors, "not noticed: "+s+"\n")
		}
	}
	if !verbose {
		survivors = nil
	}
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	_, err := io.WriteString(tw, table.String())
	err = errors.Join(err, tw.Flush())
	_, err2 := fmt.Fprintf(w, "%s%d of %d mutants of %d rules noticed\n", strings.Join(survivors, ""), killed, all, len(verdicts))
	if err := errors.Join(err, err2); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	if len(weak) > 0 {
		return fmt.Errorf("the fixtures of %s notice too little", strings.Join(weak, ", "))
	}
	return nil
}
