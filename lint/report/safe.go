package report

import (
	"bufio"
	"fmt"
	"io"
)

// Clean makes text of the input fit for one line of a terminal or log. A line must not begin with it.
func Clean(s string) string { return clean(s) }

// Wrap cuts text that is clean into lines of at most width cells, between words.
func Wrap(s string, width int) []string { return wrap(s, width) }

// WriteJSON writes a document that is fit to be shown: what would act on a terminal is escaped.
func WriteJSON(w io.Writer, doc any) error {
	bw := bufio.NewWriter(w)
	if err := writeDocument(bw, doc); err != nil {
		return err
	}
	if err := bw.Flush(); err != nil {
		return fmt.Errorf("write: %w", err)
	}
	return nil
}
