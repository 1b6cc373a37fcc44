package main

import (
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
)

// The part of the report between these lines is written; what is around them is a person's.
const (
	reportBegin = "<!-- begin: written by `make corpus` -->\n"
	reportEnd   = "<!-- end: written by `make corpus` -->\n"
)

// verdict is a row of the sample: what a person thinks of one finding.
type verdict struct{ place, rule, verdict, reason string }

// verdicts in the order in which they are told.
var verdicts = []string{"true", "arguable", "false"}

// readSample reads the verdicts of people on findings: file,rule,verdict,reason.
func readSample(name string) ([]verdict, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("read the sample: %w", err)
	}
	defer func() { _ = f.Close() }() // only read from
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("read the sample: %w", err)
	}
	var out []verdict
	for i, row := range rows {
		if i == 0 {
			if got := strings.Join(row, ","); got != "file,rule,verdict,reason" {
				return nil, fmt.Errorf("%s begins with %q, not with file,rule,verdict,reason", name, got)
			}
			continue
		}
		v := verdict{row[0], row[1], row[2], row[3]}
		if !slices.Contains(verdicts, v.verdict) || v.reason == "" {
			return nil, fmt.Errorf("%s, row %d: verdict %q, reason %q; true, arguable or false and a reason are wanted", name, i+1, v.verdict, v.reason)
		}
		out = append(out, v)
	}
	return out, nil
}

// checkSample says where the sample lags behind: a row of which there is no finding any more, or a rule of which fewer than two
// findings, or fewer than there are, were read.
func checkSample(sample []verdict, runs ...*tally) []string {
	found := map[string]bool{}
	count := map[string]int{}
	for _, t := range runs {
		for _, res := range t.results {
			for _, f := range res.report.Findings {
				key := fmt.Sprintf("%s/%s:%d %s", res.name, f.Location.File, f.Location.Line, f.ID)
				if !found[key] {
					found[key] = true
					count[f.ID]++
				}
			}
		}
	}
	var out []string
	read := map[string]int{}
	for _, v := range sample {
		key := v.place + " " + v.rule
		if !found[key] {
			out = append(out, "the sample has "+key+", and no such finding is made")
			continue
		}
		read[v.rule]++
	}
	for _, id := range slices.Sorted(maps.Keys(count)) {
		if read[id] < min(2, count[id]) {
			out = append(out, fmt.Sprintf("%d findings of %s are in the sample, of %d", read[id], id, count[id]))
		}
	}
	return out
}

// writeReport puts the counts of both runs, and of the sample, into the report.
func writeReport(name string, recommended, strict *tally, sample []verdict) error {
	old, err := os.ReadFile(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read the report: %w", err)
	}
	before, rest, found := strings.Cut(string(old), reportBegin)
	_, after, ended := strings.Cut(rest, reportEnd)
	if !found || !ended {
		before, after = "# The rules on public manifests\n\n", ""
	}
	text := before + reportBegin + reportText(recommended, strict, sample) + reportEnd + after
	if err := os.WriteFile(name, []byte(text), 0o666); err != nil { //nolint:gosec // a file like its neighbours
		return fmt.Errorf("write the report: %w", err)
	}
	return nil
}

func reportText(recommended, strict *tally, sample []verdict) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n%d files from %d repositories: %d hold a ServiceEntry or DestinationRule, %d other kinds only, %d are templates, %d cannot be read.\n\n",
		recommended.files.total(), len(recommended.results), recommended.files.Linted, recommended.files.Other, recommended.files.Template, recommended.files.Broken)
	read := map[string]map[string]int{}
	total := map[string]int{}
	for _, v := range sample {
		if read[v.rule] == nil {
			read[v.rule] = map[string]int{}
		}
		read[v.rule][v.verdict]++
		total[v.verdict]++
	}
	b.WriteString("| Rule | Severity | Findings | Repositories | With `strict` and `--complete` | Repositories | Read: true, arguable, false |\n| --- | --- | --: | --: | --: | --: | --- |\n")
	sum, sumStrict, fired := 0, 0, 0
	var silent []string
	for _, r := range slices.SortedFunc(maps.Values(strict.rules), func(x, y *ruleCount) int { return cmp.Compare(x.ID, y.ID) }) {
		have := recommended.rules[r.ID]
		if have == nil {
			have = &ruleCount{}
		}
		sum, sumStrict = sum+have.findings, sumStrict+r.findings
		if have.findings+r.findings == 0 {
			silent = append(silent, r.ID)
			continue
		}
		fired++
		fmt.Fprintf(&b, "| %s `%s` | %s | %d | %d | %d | %d | %d, %d, %d |\n", r.ID, r.Name, r.Severity, have.findings, have.repositories, r.findings, r.repositories,
			read[r.ID]["true"], read[r.ID]["arguable"], read[r.ID]["false"])
	}
	fmt.Fprintf(&b, "| all | | %d | | %d | | %d, %d, %d |\n\n", sum, sumStrict, total["true"], total["arguable"], total["false"])
	fmt.Fprintf(&b, "%d rules find something. These find nothing here: %s.\n", fired, strings.Join(silent, ", "))
	if n := total["arguable"] + total["false"]; n > 0 {
		b.WriteString("\nFindings of the sample that are not simply true:\n\n")
		for _, v := range sample {
			if v.verdict != "true" {
				fmt.Fprintf(&b, "- %s, %s, %s: %s\n", v.rule, v.place, v.verdict, v.reason)
			}
		}
	}
	b.WriteByte('\n')
	return b.String()
}
