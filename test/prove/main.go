// Command prove holds what the rules claim against what Istio's own control plane compiles.
//
//	prove -oracle BINARY write [RULE...]   compile the fixtures, check the claims, write each proof.golden
//	prove -oracle BINARY check [RULE...]   the same, but compare with each proof.golden instead
//	prove -oracle BINARY show RULE [CASE]  print all that differs, and what a proof.yaml could say
//	prove -oracle BINARY corpus [FLAG...] [NAME=PATH...]
//	                                       hold predictions and findings on whole folders, and on random meshes, against Istio
//	prove -oracle BINARY refusals [FLAG...] PATH...
//	                                       hold what lint/validation refuses of random mutants against Istio's own validation
//	prove -oracle BINARY compared [FLAG...] FOLDER
//	                                       record what istioctl says of the manifests in a folder, and what Istio compiles of them
//
// The claims of a rule are in the proof.yaml of its fixture folder; see claims.
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/policy"
	"github.com/meshvet/meshvet/lint/proof"
	"github.com/meshvet/meshvet/policies"
	"github.com/meshvet/meshvet/rules"
	"github.com/meshvet/meshvet/test/prove/oracle"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	out := bufio.NewWriter(os.Stdout)
	err := run(ctx, out, os.Args[1:])
	if flushed := out.Flush(); err == nil {
		err = flushed
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "prove:", err)
		stop()
		os.Exit(1) //nolint:gocritic // the deferred stop has been called
	}
}

func run(ctx context.Context, out io.Writer, args []string) (err error) {
	flags := flag.NewFlagSet("prove", flag.ContinueOnError)
	binary := flags.String("oracle", "bin/oracle", "path of the oracle, which make oracle builds")
	root := flags.String("root", ".", "folder of the repository")
	if err := flags.Parse(args); err != nil {
		return err
	}
	verb := flags.Arg(0)
	if !slices.Contains([]string{"write", "check", "show", "corpus", "refusals", "compared"}, verb) || verb == "show" && flags.NArg() < 2 {
		return errors.New("say write, check, show RULE, corpus, refusals or compared")
	}
	all, err := ruleSet(ctx)
	if err != nil {
		return err
	}
	client, err := oracle.Start(ctx, *binary)
	if err != nil {
		return err
	}
	defer func() {
		if closed := client.Close(); err == nil {
			err = closed
		}
	}()
	p := &prover{oracle: client, rules: all, root: *root}
	if verb == "corpus" { // the oracle does one job after the other, and waits while answers are compared
		var others []*oracle.Client
		defer func() {
			for _, h := range others {
				_ = h.Close() // the first one tells
			}
		}()
		for range runtime.GOMAXPROCS(0) - 1 {
			another, err := oracle.Start(ctx, *binary)
			if err != nil {
				return err
			}
			others = append(others, another)
			p.beside = append(p.beside, &prover{oracle: another, rules: all, root: *root})
		}
	}
	if verb == "refusals" {
		return p.refusals(ctx, out, flags.Args()[1:])
	}
	if verb == "compared" {
		return p.compared(ctx, out, flags.Args()[1:])
	}
	if verb == "corpus" {
		return p.corpora(ctx, out, flags.Args()[1:])
	}
	if verb == "show" {
		return p.show(ctx, out, flags.Arg(1), flags.Args()[2:])
	}
	return p.proveAll(ctx, out, flags.Args()[1:], verb == "write")
}

// ruleSet is every rule of meshvet's: they supersede one another, so none is judged alone.
func ruleSet(ctx context.Context) ([]lint.Rule, error) {
	rego, err := policy.Load(ctx, policies.FS)
	if err != nil {
		return nil, fmt.Errorf("load the policies: %w", err)
	}
	all := append(rules.All(), rego...)
	slices.SortFunc(all, func(a, b lint.Rule) int { return strings.Compare(a.ID, b.ID) })
	return all, nil
}

// proveAll proves the rules of the given IDs or names, all if there are none, and prints a line for each.
func (p *prover) proveAll(ctx context.Context, out io.Writer, words []string, write bool) error {
	began := time.Now()
	proven, cases, failed := 0, 0, 0
	for i := range p.rules {
		r := &p.rules[i]
		if len(words) > 0 && !slices.Contains(words, r.ID) && !slices.Contains(words, r.Name) {
			continue
		}
		proven++
		g, faults, err := p.prove(ctx, r)
		if err == nil && len(faults) == 0 {
			var fault string
			if fault, err = p.settle(r, g, write); fault != "" {
				faults = append(faults, fault)
			}
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			faults = append(faults, err.Error())
		}
		if len(faults) > 0 {
			failed++
			fmt.Fprintf(out, "%s %s:\n", r.ID, r.Name)
			for _, fault := range faults {
				fmt.Fprintf(out, "  %s\n", strings.ReplaceAll(strings.TrimRight(fault, "\n"), "\n", "\n  "))
			}
			continue
		}
		cases += len(g.Cases)
	}
	if proven == 0 {
		return fmt.Errorf("no rule is called %s", strings.Join(words, " or "))
	}
	fmt.Fprintf(out, "%d rules, %d of them proven in %d cases with istio.io/istio %s in %.1f s\n",
		proven, proven-failed, cases, p.oracle.Version(), time.Since(began).Seconds())
	if failed > 0 {
		return fmt.Errorf("%d rules are not proven", failed)
	}
	return nil
}

// settle writes a proof, or says how it differs from the one that is there.
func (p *prover) settle(r *lint.Rule, g *proof.Golden, write bool) (fault string, err error) {
	name := filepath.Join(p.folder(r), proof.GoldenName)
	text := g.Text()
	old, err := os.ReadFile(name)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("read the proof: %w", err)
	}
	before := strings.ReplaceAll(string(old), "\r\n", "\n")
	switch {
	case before == text:
		return "", nil
	case write:
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil { //nolint:gosec // a file like its neighbours
			return "", fmt.Errorf("write the proof: %w", err)
		}
		return "", nil
	}
	return fmt.Sprintf("%s is not what Istio compiles (- written, + compiled), run make prove:\n%s",
		name, cmp.Diff(strings.Split(before, "\n"), strings.Split(text, "\n"))), nil
}

// folder is where a rule's fixtures are.
func (p *prover) folder(r *lint.Rule) string { return filepath.Join(p.fixtures(r), r.Name) }

func (p *prover) fixtures(r *lint.Rule) string {
	if r.Lang == "rego" {
		return filepath.Join(p.root, "policies", "testdata")
	}
	return filepath.Join(p.root, "rules", "testdata")
}
