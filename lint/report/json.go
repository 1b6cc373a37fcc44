package report

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/object"
)

// formatVersion is the version of the JSON report. It changes when a script that relies on the schema could break.
const formatVersion = "1"

// The types below are the JSON report, field for field in the order of the output; schemas/report.schema.json describes it.
// Lists are never null.
type (
	jsonReport struct {
		Version   string         `json:"version"`
		Findings  []jsonFinding  `json:"findings"`
		Problems  []jsonProblem  `json:"problems"`
		Skipped   []jsonSkip     `json:"skipped"`
		Scopes    []jsonScope    `json:"scopes"`
		Context   jsonContext    `json:"context"`
		Baselines []jsonBaseline `json:"baselines"`
		Since     *jsonSince     `json:"since"` // null if the findings were compared with nothing
		Stats     jsonStats      `json:"stats"`
	}
	jsonFinding struct {
		ID          string           `json:"id"`
		Name        string           `json:"name"`
		Severity    string           `json:"severity"`
		Message     string           `json:"message"`
		Effect      string           `json:"effect"`
		Object      *jsonObject      `json:"object"` // null if the finding is about a file
		Path        string           `json:"path"`   // dotted, "" for the object as a whole
		Location    jsonLocation     `json:"location"`
		Related     []jsonRelated    `json:"related"`
		Fixes       []jsonFix        `json:"fixes"`
		Fingerprint string           `json:"fingerprint"`
		Suppressed  *jsonSuppression `json:"suppressed"`
		Caused      bool             `json:"caused"` // by a change in another file
		Rendered    *jsonRendered    `json:"rendered"`
	}
	// jsonRendered says what a finding was rendered by: kustomizations and charts, and the line that the first of them has.
	jsonRendered struct {
		By   []string `json:"by"`
		Line string   `json:"line"`
	}
	jsonObject struct {
		Kind      object.Kind `json:"kind"`
		Namespace string      `json:"namespace"`
		Name      string      `json:"name"`
	}
	// jsonLocation has zeros for a place without a position; EndColumn is that of the first code point after the place.
	jsonLocation struct {
		File      string `json:"file"`
		Line      int    `json:"line"`
		Column    int    `json:"column"`
		EndLine   int    `json:"endLine"`
		EndColumn int    `json:"endColumn"`
		Exact     bool   `json:"exact"`
	}
	jsonRelated struct {
		Message  string       `json:"message"`
		Location jsonLocation `json:"location"`
	}
	jsonFix struct {
		Title  string      `json:"title"`
		Safety lint.Safety `json:"safety"`
		Ops    []jsonOp    `json:"ops"`
		Edits  []jsonEdit  `json:"edits"`
		// Refused says why there are no edits, "" if there are, or if the fix is to be read only.
		Refused string      `json:"refused"`
		Create  *jsonCreate `json:"create"`
	}
	// jsonOp is an operation of JSON Patch, with its path as a JSON Pointer; remove has no value.
	jsonOp struct {
		Op    lint.OpKind `json:"op"`
		Path  string      `json:"path"`
		Value *any        `json:"value,omitempty"`
	}
	// jsonEdit replaces the bytes of a file from StartByte up to EndByte. A byte-order mark counts.
	jsonEdit struct {
		File      string `json:"file"`
		StartByte int    `json:"startByte"`
		EndByte   int    `json:"endByte"`
		Text      string `json:"text"`
	}
	jsonCreate struct {
		Object    map[string]any `json:"object"`
		AfterFile string         `json:"afterFile"`
	}
	jsonSuppression struct {
		Reason string `json:"reason"`
		Where  string `json:"where"`
		Until  string `json:"until"`
	}
	jsonProblem struct {
		Kind     object.ProblemKind `json:"kind"`
		Message  string             `json:"message"`
		Location jsonLocation       `json:"location"`
	}
	jsonSkip struct {
		Rule   string      `json:"rule,omitempty"`
		File   string      `json:"file,omitempty"`
		Object *jsonObject `json:"object"`
		Reason string      `json:"reason"`
		Cause  string      `json:"cause"`
		// Context says that it is about a file that was read as context only.
		Context bool `json:"context"`
	}
	jsonContext struct {
		From  lint.ContextSource `json:"from"`
		Files []string           `json:"files"`
	}
	jsonScope struct {
		Name  string   `json:"name"`
		Files []string `json:"files"`
	}
	// jsonBaseline says what became of a baseline.
	jsonBaseline struct {
		File  string      `json:"file"`
		Stale []jsonStale `json:"stale"`
	}
	// jsonStale is an entry of a baseline that nothing, or less than it says, is left of.
	jsonStale struct {
		ID      string `json:"id"`
		Object  string `json:"object"`
		Path    string `json:"path"`
		Message string `json:"message"`
		File    string `json:"file"`
		Line    int    `json:"line"` // of the entry in the baseline
		Count   int    `json:"count"`
		Reason  string `json:"reason"`
	}
	jsonSince struct {
		Revision string `json:"revision"`
		Commit   string `json:"commit"`
		Known    int    `json:"known"` // findings that were there and are left out
	}
	jsonStats struct {
		Files      jsonFiles      `json:"files"`
		Documents  int            `json:"documents"`
		Objects    int            `json:"objects"`
		Judged     int            `json:"judged"`
		Findings   jsonSeverities `json:"findings"` // like ByRule without those that are silenced
		ByRule     map[string]int `json:"byRule"`
		Suppressed int            `json:"suppressed"`
		Baseline   int            `json:"baseline"` // findings that baselines hold; Suppressed does not count them
	}
	jsonFiles struct {
		Linted   int `json:"linted"`
		Other    int `json:"other"`
		Template int `json:"template"`
		Broken   int `json:"broken"`
	}
	jsonSeverities struct {
		Error   int `json:"error"`
		Warning int `json:"warning"`
		Info    int `json:"info"`
	}
)

func writeJSON(w *bufio.Writer, v *view) error {
	out := jsonReport{
		Version:   formatVersion,
		Findings:  make([]jsonFinding, 0, len(v.Findings)+len(v.Suppressed)),
		Problems:  make([]jsonProblem, 0, len(v.Problems)),
		Skipped:   make([]jsonSkip, 0, len(v.Skipped)),
		Scopes:    make([]jsonScope, 0, len(v.Scopes)),
		Baselines: make([]jsonBaseline, 0, len(v.Baselines)),
		Stats:     statsOf(v),
	}
	for _, e := range v.entries() {
		out.Findings = append(out.Findings, v.findingOf(e))
	}
	for _, p := range v.Problems {
		out.Problems = append(out.Problems, jsonProblem{p.Kind, p.Message, locationOf(p.Location)})
	}
	for _, s := range v.Skipped {
		out.Skipped = append(out.Skipped, jsonSkip{s.Rule, s.File, objectOf(s.Object), s.Reason, cmp.Or(string(s.Cause), "other"), s.Around})
	}
	out.Context = jsonContext{cmp.Or(v.Context.From, lint.NoContext), append([]string{}, v.Context.Files...)}
	for _, s := range v.Scopes {
		out.Scopes = append(out.Scopes, jsonScope{s.Name, append([]string{}, s.Files...)})
	}
	for _, b := range v.Baselines {
		use := jsonBaseline{File: b.Name, Stale: make([]jsonStale, 0, len(b.Stale))}
		for _, s := range b.Stale {
			use.Stale = append(use.Stale, jsonStale{s.Rule, s.Object, s.Path, s.Message, s.File, s.Line, s.Gone, s.Reason})
		}
		out.Baselines = append(out.Baselines, use)
	}
	if s := v.Since; s != nil {
		out.Since = &jsonSince{s.Revision, s.Commit, s.Known}
	}
	return writeDocument(w, out)
}

// writeDocument encodes a JSON document. Equal values give equal bytes: the encoder sorts the keys of maps.
func writeDocument(w *bufio.Writer, doc any) error {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetIndent("", "  ")
	if err := enc.Encode(doc); err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	w.Write(escapeJSON(buf.Bytes()))
	return nil
}

func (v *view) findingOf(f entry) jsonFinding {
	out := jsonFinding{
		ID:          f.Rule.ID,
		Name:        f.Rule.Name,
		Severity:    f.Severity.String(),
		Message:     f.Message,
		Effect:      f.Effect,
		Object:      objectOf(f.Object),
		Path:        f.Path.String(),
		Location:    locationOf(f.Location),
		Related:     make([]jsonRelated, 0, len(f.Related)),
		Fixes:       make([]jsonFix, 0, len(f.Fixes)),
		Fingerprint: f.Fingerprint(),
		Caused:      f.Caused,
	}
	if m := f.Rendered; m != nil {
		out.Rendered = &jsonRendered{append([]string{}, m.By...), object.Abridge(m.Line())}
	}
	if s := f.suppression; s != nil {
		out.Suppressed = &jsonSuppression{Reason: s.Reason, Where: s.Where.String(), Until: s.Until}
	}
	for _, r := range f.Related {
		out.Related = append(out.Related, jsonRelated{r.Message, locationOf(r.Location)})
	}
	for i := range f.Fixes {
		x := &f.Fixes[i]
		fix := jsonFix{Title: x.Title, Safety: x.Safety, Ops: make([]jsonOp, 0, len(x.Ops)), Edits: []jsonEdit{}}
		for _, op := range x.Ops {
			j := jsonOp{Op: op.Kind, Path: op.Path.Pointer()}
			if op.Kind != lint.Remove {
				j.Value = &op.Value
			}
			fix.Ops = append(fix.Ops, j)
		}
		edits, err := v.edits(f.Finding, x)
		if err != nil {
			fix.Refused = err.Error()
		}
		for _, e := range edits {
			fix.Edits = append(fix.Edits, jsonEdit{e.File, e.Start, e.End, e.Text})
		}
		if x.Create != nil {
			fix.Create = &jsonCreate{x.Create.Object, x.Create.AfterFile}
		}
		out.Fixes = append(out.Fixes, fix)
	}
	return out
}

func objectOf(k object.Key) *jsonObject {
	if k.Kind == "" {
		return nil
	}
	return &jsonObject{k.Kind, k.Namespace, k.Name}
}

func locationOf(l object.Location) jsonLocation {
	start, end := l.Range.Start, l.Range.End
	return jsonLocation{l.File, start.Line, start.Col, end.Line, end.Col, l.Exact}
}

func statsOf(v *view) jsonStats {
	files := v.Stats.Files
	out := jsonStats{
		Files:     jsonFiles{files[object.Linted], files[object.Other], files[object.Template], files[object.Broken]},
		Documents: v.Stats.Documents,
		Objects:   v.Stats.Objects,
		Judged:    v.Stats.Judged,
		Findings:  jsonSeverities{v.Count(lint.Error), v.Count(lint.Warning), v.Count(lint.Info)},
		ByRule:    map[string]int{},
	}
	out.Suppressed, out.Baseline = v.accepted()
	for _, f := range v.Findings {
		out.ByRule[f.Rule.ID]++
	}
	return out
}
