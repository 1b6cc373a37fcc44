package object

import "unicode/utf8"

// maxMessage is the longest text, in bytes, that a report says about anything. No message of ours is as long, but what it quotes
// from the input may be.
const (
	maxMessage = 1000
	keptHead   = 600
	keptTail   = 300
)

// Abridge leaves out the middle of a text that quotes more than a reader can use.
func Abridge(text string) string {
	if len(text) <= maxMessage {
		return text
	}
	head, tail := keptHead, len(text)-keptTail
	for n := 1; n < utf8.UTFMax && !utf8.RuneStart(text[head]); n++ {
		head--
	}
	for n := 1; n < utf8.UTFMax && !utf8.RuneStart(text[tail]); n++ {
		tail++
	}
	return text[:head] + " […] " + text[tail:]
}
