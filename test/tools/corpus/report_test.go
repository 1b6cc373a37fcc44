package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func tallyOf(t *testing.T, findings ...finding) *tally {
	t.Helper()
	sum := newTally([]rule{{"SE101", "first", "warning"}, {"SE102", "second", "info"}})
	res := result{name: "owner__repo", report: report{Findings: findings}}
	res.report.Stats.Files = &files{Linted: 2, Other: 1}
	sum.add(res)
	return sum
}

func at(id string, line int) finding {
	return finding{ID: id, Message: "m", Location: location{File: "a.yaml", Line: line}}
}

func TestWriteReportKeepsWhatAPersonWrote(t *testing.T) {
	name := filepath.Join(t.TempDir(), "corpus.md")
	sample := []verdict{{"owner__repo/a.yaml:1", "SE101", "true", "it is"}, {"owner__repo/a.yaml:2", "SE101", "arguable", "a sample of documentation"}}
	if err := writeReport(name, tallyOf(t, at("SE101", 1)), tallyOf(t, at("SE101", 1), at("SE101", 2)), sample); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"3 files from 1 repositories: 2 hold a ServiceEntry", "| SE101 `first` | warning | 1 | 1 | 2 | 1 | 1, 1, 0 |\n", "These find nothing here: SE102.",
		"- SE101, owner__repo/a.yaml:2, arguable: a sample of documentation\n",
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	if err := os.WriteFile(name, append(text, "\nWhat was changed.\n"...), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := writeReport(name, tallyOf(t), tallyOf(t, at("SE102", 9)), nil); err != nil {
		t.Fatal(err)
	}
	again, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(string(again), "\nWhat was changed.\n") || strings.Contains(string(again), "arguable: a sample") || strings.Count(string(again), reportBegin) != 1 {
		t.Errorf("the second report is\n%s", again)
	}
}

func TestSampleHasToKeepUp(t *testing.T) {
	run := tallyOf(t, at("SE101", 1), at("SE101", 2), at("SE101", 3), at("SE102", 4))
	sample := []verdict{{place: "owner__repo/a.yaml:1", rule: "SE101"}, {place: "owner__repo/a.yaml:7", rule: "SE101"}}
	got := strings.Join(checkSample(sample, run, run), "\n")
	want := "the sample has owner__repo/a.yaml:7 SE101, and no such finding is made\n1 findings of SE101 are in the sample, of 3\n0 findings of SE102 are in the sample, of 1"
	if got != want {
		t.Errorf("got %s", got)
	}
	if got := checkSample([]verdict{{place: "owner__repo/a.yaml:1", rule: "SE101"}, {place: "owner__repo/a.yaml:2", rule: "SE101"}, {place: "owner__repo/a.yaml:4", rule: "SE102"}}, run); len(got) > 0 {
		t.Errorf("a sample that keeps up: %v", got)
	}
}

func TestReadSample(t *testing.T) {
	name := filepath.Join(t.TempDir(), "sample.csv")
	for text, fault := range map[string]string{
		"file,rule,verdict,reason\na.yaml:1,SE101,true,\"it is, really\"\n": "",
		"a.yaml:1,SE101,true,x\n":                            "begins with",
		"file,rule,verdict,reason\na.yaml:1,SE101,maybe,x\n": `row 2: verdict "maybe"`,
		"file,rule,verdict,reason\na.yaml:1,SE101,true,\n":   "a reason are wanted",
		"file,rule,verdict,reason\na.yaml:1,SE101,true\n":    "wrong number of fields",
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		sample, err := readSample(name)
		switch {
		case fault == "" && (err != nil || len(sample) != 1 || sample[0].reason != "it is, really"):
			t.Errorf("%q: %v %v", text, sample, err)
		case fault != "" && (err == nil || !strings.Contains(err.Error(), fault)):
			t.Errorf("%q: %v", text, err)
		}
	}
}
