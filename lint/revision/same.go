package revision

import (
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

// Holds says whether an entry is a file of a certain content, which may be given in parts. Nothing is read: the content is hashed as
// git hashes it, with its line ends as they are and, where that is another file, as git stores them under core.autocrlf.
func (t *Tree) Holds(e Entry, content ...string) bool {
	if e.Type != File {
		return false
	}
	if t.hashOf(content) == e.ID {
		return true
	}
	whole := strings.Join(content, "")
	return strings.Contains(whole, "\r\n") && t.hashOf([]string{PlainEnds(whole)}) == e.ID
}

// PlainEnds is a text with the line ends that git stores under core.autocrlf.
func PlainEnds(text string) string { return strings.ReplaceAll(text, "\r\n", "\n") }

func (t *Tree) hashOf(content []string) string {
	made := sha1.New
	if len(t.commit) == 64 {
		made = sha256.New
	}
	h := made()
	size := 0
	for _, part := range content {
		size += len(part)
	}
	fmt.Fprintf(h, "blob %d\x00", size)
	for _, part := range content {
		_, _ = h.Write([]byte(part)) // a hash never fails
	}
	return hex.EncodeToString(h.Sum(nil))
}
