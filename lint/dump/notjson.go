package dump

import (
	"bytes"
	"regexp"
	"strings"
)

// notJSON says what the text is at a place where JSON should begin. after says that JSON has been read before it.
func (r *reader) notJSON(after bool) error {
	const enough = 512
	rest := r.buf[r.pos:min(r.end, r.pos+enough)]
	what, remedy := describe(rest)
	if after {
		what = "goes on after the JSON: it " + what
	}
	return r.errorAt(r.here(), NotJSON, what, remedy)
}

const toJSON = "let istioctl print it with -o json"

var (
	// tableHead is a line of column names in capitals with gaps between them, or what istioctl prints above its tables.
	tableHead = regexp.MustCompile(`^(?:-{3,} [A-Z ]+ -{3,}|Istio Version: |[A-Z]+(?: [A-Z/]+)*(?: {2,}|\t)\s*[A-Z])`)
	// yamlHead is a document marker, a list item or a field.
	yamlHead = regexp.MustCompile(`^(?:---|%YAML|#|- |-$|["']?[\w@./-]+["']?:(?: |$))`)
	message  = regexp.MustCompile(`(?i)^(?:error\b|fatal\b|warning\b|usage:|defaulted container|unable to |the connection to |command terminated|no running |` +
		`no such |bash: |sh: |zsh: |istioctl: |kubectl: |upstream |unauthorized|forbidden|time out|timed out|[IWEF][0-9]{4} )`)
)

// describe says what a text is that is not JSON, and what to do about it.
func describe(text []byte) (what, remedy string) {
	switch {
	case bytes.HasPrefix(text, []byte{0x1f, 0x8b}):
		return "is compressed with gzip", "unpack it"
	case bytes.HasPrefix(text, []byte{0xff, 0xfe}), bytes.HasPrefix(text, []byte{0xfe, 0xff}), bytes.IndexByte(text, 0) >= 0:
		return "is text in UTF-16, or no text", "write it as UTF-8; in PowerShell, with | Out-File -Encoding utf8"
	}
	first, _, _ := strings.Cut(string(text), "\n")
	first = strings.TrimRight(first, " \t\r")
	switch {
	case strings.HasPrefix(first, "<"):
		return "is HTML or XML", "ask Envoy's own admin interface, which in a pod of Istio's is at localhost:15000"
	case message.MatchString(first):
		return "has a message of a program in it: " + excerpt(first), "do what it says, and write nothing but the standard output to the file (no 2>&1)"
	case tableHead.MatchString(first):
		return "has a table in it", toJSON
	case yamlHead.MatchString(first):
		return "looks like YAML", toJSON
	}
	return "has something in it that is no JSON dump: " + excerpt(first), shapes
}
