package webhook

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/object"
)

// The bounds of what an answer says, in bytes. Above the first two the API server cuts a warning short, and drops warnings.
const (
	mostWarning  = 256
	mostWarnings = 4096
	mostMessage  = 2048 // of a denial
	mostCauses   = 20
	mostCause    = 512 // of one cause, without help and link
	mostHelp     = 256
	mostAudit    = 4096
	mostNotes    = 3 // of an object
)

// moreCauses stands for those for which there is no room.
const moreCauses metav1.CauseType = "MORE"

// Wording makes answers of decisions.
type Wording struct {
	// DocsURL is the folder of the rules' pages; "" gives no links.
	DocsURL string
}

// Response words a decision.
func (w Wording) Response(d *Decision, v Verdict) admission.Response {
	r := admission.Response{AdmissionResponse: admissionv1.AdmissionResponse{Allowed: d.Allowed()}}
	r.Warnings = w.warnings(d)
	r.AuditAnnotations = auditAnnotations(d)
	if r.Allowed {
		r.Result = &metav1.Status{Code: http.StatusOK}
		return r
	}
	r.Result = w.denial(d, v)
	return r
}

// link is the page of a rule.
func (w Wording) link(id string) string {
	if w.DocsURL == "" {
		return ""
	}
	return strings.TrimSuffix(w.DocsURL, "/") + "/" + id + ".md"
}

// warnings are the lines that kubectl prints. Denied findings are not among them: the denial tells them.
func (w Wording) warnings(d *Decision) []string {
	var lines []string
	if len(d.Problems) > 0 && d.OnError != lint.Deny {
		lines = append(lines, fit("meshvet could not judge this wholly: ", d.Problems[0], others(len(d.Problems)-1)))
	}
	for _, note := range d.Notes[:min(len(d.Notes), mostNotes)] {
		lines = append(lines, fit("meshvet: ", note, ""))
	}
	warned := d.with(lint.Warn)
	if n := fits(lines, len(warned), func(i int) int { return len(w.warning(warned[i])) }); n < len(warned) {
		for _, f := range warned[:n] {
			lines = append(lines, w.warning(f))
		}
		return append(lines, more(warned[n:]))
	}
	for _, f := range warned {
		lines = append(lines, w.warning(f))
	}
	return lines
}

// fits says how many of n lines go out after some others, with room for the one that sums up the rest.
func fits(before []string, n int, size func(int) int) int {
	room := mostWarnings
	for _, l := range before {
		room -= len(l)
	}
	total := 0
	for i := range n {
		total += size(i)
	}
	if total <= room {
		return n
	}
	room -= mostWarning
	for i := range n {
		if room -= size(i); room < 0 {
			return i
		}
	}
	return n
}

// warning is one finding in one line: the ID first, the link last, and what is between them cut to fit.
func (w Wording) warning(f Decided) string {
	head := fmt.Sprintf("%s %s: %s", f.Rule.ID, f.Severity, about(f))
	tail := ""
	if l := w.link(f.Rule.ID); l != "" {
		tail = ": " + l
	}
	return fit(head, place(f)+f.Message, tail)
}

// place is the field of a finding, with a colon.
func place(f Decided) string {
	if len(f.Path) == 0 {
		return ""
	}
	return f.Path.String() + ": "
}

// more sums up findings for which there is no room.
func more(rest []Decided) string {
	count := map[string]int{}
	var ids []string
	for _, f := range rest {
		if count[f.Rule.ID]++; count[f.Rule.ID] == 1 {
			ids = append(ids, f.Rule.ID)
		}
	}
	for i, id := range ids {
		if count[id] > 1 {
			ids[i] = fmt.Sprintf("%s (%d)", id, count[id])
		}
	}
	return fit(fmt.Sprintf("and %d more: ", len(rest)), strings.Join(ids, ", "), "")
}

func others(n int) string {
	if n <= 0 {
		return ""
	}
	return fmt.Sprintf(" (and %d more)", n)
}

// fit puts three parts together in at most mostWarning bytes, at the cost of the middle one, and then of the first.
func fit(head, middle, tail string) string {
	head, middle, tail = plain(head), plain(middle), plain(tail)
	head = cut(head, mostWarning-len(tail))
	return head + cut(middle, mostWarning-len(head)-len(tail)) + tail
}

// cut shortens text to so many bytes, where it can after a word, and shows that it did.
func cut(s string, most int) string {
	const dots = "..." // warnings are HTTP headers: a rune beyond ASCII is escaped there, and counts for more
	if len(s) <= most {
		return s
	}
	if most < len(dots) {
		return ""
	}
	s = s[:most-len(dots)]
	for len(s) > 0 {
		if r, size := utf8.DecodeLastRuneInString(s); r != utf8.RuneError || size > 1 {
			break
		}
		s = s[:len(s)-1]
	}
	const longWord = 24
	if space := strings.LastIndexByte(s, ' '); space > 0 && len(s)-space <= longWord {
		s = s[:space]
	}
	return s + dots
}

// plain makes text that quotes an object harmless to terminals and headers.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\r' || r == '\t':
			return ' '
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r), r == utf8.RuneError:
			return -1
		}
		return r
	}, s)
}

// denial is the status that a refused request is answered with. Its first line stands for itself; more follow.
func (w Wording) denial(d *Decision, v Verdict) *metav1.Status {
	status := &metav1.Status{
		Status: metav1.StatusFailure,
		Code:   http.StatusUnprocessableEntity,
		Reason: metav1.StatusReasonInvalid,
		Details: &metav1.StatusDetails{
			Name: v.Object.Name, Group: object.IstioGroup, Kind: string(v.Object.Kind),
		},
	}
	denied := d.with(lint.Deny)
	if len(denied) == 0 {
		status.Code, status.Reason = http.StatusInternalServerError, metav1.StatusReasonInternalError
		status.Message = cut("meshvet could not judge this, and webhook.onError is deny: "+plain(d.Problems[0])+others(len(d.Problems)-1), mostMessage)
		return status
	}
	lines := []string{fmt.Sprintf("%s: [%s %s] %s", counted(denied), denied[0].Rule.ID, denied[0].Rule.Name, plain(about(denied[0])+place(denied[0])+denied[0].Message))}
	for i, f := range denied {
		if i < mostCauses {
			status.Details.Causes = append(status.Details.Causes, w.cause(f))
		} else if i == mostCauses {
			status.Details.Causes = append(status.Details.Causes, metav1.StatusCause{Type: moreCauses, Field: "spec", Message: more(denied[i:])})
		}
		if i > 0 {
			lines = append(lines, fmt.Sprintf("[%s %s] %s", f.Rule.ID, f.Rule.Name, plain(about(f)+place(f)+f.Message)))
		}
		if f.Effect != "" {
			lines = append(lines, "  "+plain(f.Effect))
		}
		if len(f.Fixes) > 0 {
			lines = append(lines, "  help: "+plain(f.Fixes[0].Title))
		}
		if l := w.link(f.Rule.ID); l != "" {
			lines = append(lines, "  "+l)
		}
	}
	status.Message = cutLines(lines, mostMessage)
	return status
}

// cause is a finding as part of a status. Of a refused object kubectl prints the causes and nothing else, so each says all that is
// needed to act on it. A field is one of the object under review: what its change causes on another object stands at its spec.
func (w Wording) cause(f Decided) metav1.StatusCause {
	at, what := f.Path.String(), f.Message
	switch {
	case f.Caused:
		at, what = "spec", about(f)+place(f)+f.Message
	case f.Note != "":
		what += " (" + f.Note + ")"
	}
	text := fmt.Sprintf("[%s %s] %s", f.Rule.ID, f.Rule.Name, what)
	tail := ""
	if len(f.Fixes) > 0 {
		tail = "; help: " + cut(plain(f.Fixes[0].Title), mostHelp)
	}
	if l := w.link(f.Rule.ID); l != "" {
		tail += ": " + l
	}
	return metav1.StatusCause{Type: metav1.CauseType(f.Rule.ID), Field: cut(plain(at), mostMessage), Message: cut(plain(text), mostCause) + tail}
}

// about names the object of a finding, since kubectl does not, and what is special about it.
func about(f Decided) string {
	if f.Note == "" {
		return f.Object.String() + ": "
	}
	return f.Object.String() + " (" + f.Note + "): "
}

// counted says how many findings there are of which severity: "2 errors, 1 warning".
func counted(findings []Decided) string {
	var parts []string
	for _, s := range [...]lint.Severity{lint.Error, lint.Warning, lint.Info} {
		n := 0
		for _, f := range findings {
			if f.Severity == s {
				n++
			}
		}
		switch {
		case n == 1:
			parts = append(parts, "1 "+s.String())
		case n > 1 && s == lint.Info:
			parts = append(parts, fmt.Sprintf("%d infos", n))
		case n > 1:
			parts = append(parts, fmt.Sprintf("%d %ss", n, s))
		}
	}
	return strings.Join(parts, ", ")
}

// cutLines joins as many whole lines as there is room for, the first one in any case.
func cutLines(lines []string, most int) string {
	out := cut(lines[0], most)
	for _, l := range lines[1:] {
		if len(out)+1+len(l) > most-len("\n...") {
			return out + "\n..."
		}
		out += "\n" + l
	}
	return out
}

// auditAnnotations are what the audit log keeps of a request. The API server puts the name of the webhook before each key.
func auditAnnotations(d *Decision) map[string]string {
	out := map[string]string{}
	decision := "allow"
	if !d.Allowed() {
		decision = "deny"
	}
	out["decision"] = decision
	var findings []string
	for _, f := range d.Findings {
		entry := fmt.Sprintf("%s/%s/%s %s", f.Rule.ID, f.Severity, f.Action, plain(f.Path.String()))
		if f.Caused {
			entry += " of " + plain(f.Object.String())
		}
		findings = append(findings, strings.TrimSpace(entry))
	}
	if len(findings) > 0 {
		out["findings"] = cut(strings.Join(findings, "; "), mostAudit)
	}
	if len(d.Suppressed) > 0 {
		out["suppressed"] = cut(strings.Join(slices.Compact(slices.Sorted(slices.Values(d.Suppressed))), ","), mostAudit)
	}
	if len(d.Problems) > 0 {
		out["error"] = cut(plain(strings.Join(d.Problems, "; ")), mostAudit)
	}
	return out
}
