package object

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

func TestSplit(t *testing.T) {
	tests := []struct {
		name, text string
		want       []string // with "(empty) " before pieces without content
	}{
		{"nothing", "", nil},
		{"one", "a: b\n", []string{"a: b\n"}},
		{"stream", "a\n---\nb\n---\nc", []string{"a\n", "---\nb\n", "---\nc"}},
		{"marker first", "---\na\n", []string{"---\na\n"}},
		{"comments", "# a\n---\n# b\n\n---\nc\n", []string{"(empty) # a\n", "(empty) ---\n# b\n\n", "---\nc\n"}},
		{"CRLF", "a\r\n---\r\nb\r\n...\r\nc", []string{"a\r\n", "---\r\nb\r\n", "c"}},
		{"marker lines with more", "--- a\n--- # b\n---\tc\n---d\n", []string{"--- a\n", "(empty) --- # b\n", "---\tc\n---d\n"}},
		{"document end", "a\n...\nb\n... # c\n---\nd\n", []string{"a\n", "b\n", "---\nd\n"}},
		{"content behind a document end", "a\n... b\n", []string{"a\n", " b\n"}},
		{"directives", "# a\n%YAML 1.1\n---\nb\n...\n%TAG ! x\n---\nc\n", []string{"# a\n%YAML 1.1\n---\nb\n", "%TAG ! x\n---\nc\n"}},
		{"directive in content", "a: |\n%b\n---\nc\n", []string{"a: |\n%b\n", "---\nc\n"}},
		{"directive behind a bare marker", "---\n%YAML 1.1\n---\nb\n", []string{"(empty) ---\n", "%YAML 1.1\n---\nb\n"}},
		{"indented marker", "a: |\n  ---\n ...\n", []string{"a: |\n  ---\n ...\n"}},
		{"comment with another line end inside", "# a\rb\n---\n# c\u2028d\n---\n# e\r\n", []string{"# a\rb\n", "---\n# c\u2028d\n", "(empty) ---\n# e\r\n"}},
		{"only markers", "---\n---\n...\n", []string{"(empty) ---\n", "(empty) ---\n"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for p := range split(tt.text) {
				s := tt.text[p.start:p.end]
				if p.empty {
					s = "(empty) " + s
				}
				got = append(got, s)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			for range split(tt.text) {
				break // must not go on
			}
		})
	}
}

func TestMentions(t *testing.T) {
	for text, want := range map[string]struct{ judged, read bool }{
		"kind: ServiceEntry":                        {true, true},
		"kind: DestinationRule":                     {true, true},
		"kind: Service":                             {false, true},
		"kind: BackendTLSPolicy":                    {false, true},
		"kind: Pod":                                 {},
		`kind: "\x53erviceEntry"`:                   {true, true},
		`kind: "\u0053erviceEntry"`:                 {true, true},
		"kind: \"Serv\\\niceEntry\"":                {true, true},
		"kind: \"Serv\\\u2028iceEntry\"":            {true, true},
		`kind: 'a' # \x41`:                          {},
		`path: "C:\\users"`:                         {},
		`path: "\\\u0041"`:                          {true, true},
		"kind: !!binary U2VydmljZUVudHJ5":           {true, true},
		"kind: !!%62inary U2VydmljZUVudHJ5":         {true, true},
		"kind: !a!!%62inary U2VydmljZUVudHJ5":       {true, true},
		"kind: !<tag:yaml.org,2002:%62inary> U2Vyd": {true, true},
		"%TAG !b! tag:yaml.org,2002:bin\n---\n":     {true, true},
		"a: !Ref b # 100%":                          {},
		`ends in a backslash \`:                     {},
	} {
		if MentionsJudged(text) != want.judged || mentionsKind(text) != want.read {
			t.Errorf("%q: judged %t, read %t, want %v", text, MentionsJudged(text), mentionsKind(text), want)
		}
	}
}

func TestScanReader(t *testing.T) {
	pad := strings.Repeat("x", 256<<10-5)
	for name, tt := range map[string]struct {
		r    io.Reader
		want bool
	}{
		"nothing":                  {strings.NewReader(""), false},
		"at once":                  {strings.NewReader("kind: ServiceEntry"), true},
		"across two chunks":        {strings.NewReader(pad + "DestinationRule"), true},
		"across, in small reads":   {iotest.OneByteReader(strings.NewReader(pad + "DestinationRule")), true},
		"cut off":                  {strings.NewReader(pad + "DestinationRul"), false},
		"last chunk exactly full":  {strings.NewReader(pad + "xxxxx"), false},
		"before an error, is read": {io.MultiReader(strings.NewReader("ServiceEntry"), iotest.ErrReader(io.ErrClosedPipe)), true},
	} {
		if got, err := scanReader(context.Background(), tt.r); got != tt.want || err != nil {
			t.Errorf("%s: %t, %v, want %t", name, got, err, tt.want)
		}
	}
	if _, err := scanReader(context.Background(), iotest.ErrReader(io.ErrClosedPipe)); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("error %v, want %v", err, io.ErrClosedPipe)
	}
}
