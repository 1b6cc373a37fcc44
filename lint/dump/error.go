package dump

import "fmt"

// Problem is the kind of an Error.
type Problem string

// What can be wrong with a file.
const (
	Empty     Problem = "empty"     // nothing but white space
	NotJSON   Problem = "not JSON"  // YAML, a table, HTML, a message of kubectl
	Truncated Problem = "truncated" // the text ends inside a value
	Syntax    Problem = "syntax"    // JSON with a mistake in it, or with a value of another type than the shape has there
	NotDump   Problem = "no dump"   // JSON of another kind
	Mixed     Problem = "mixed"     // dumps of several proxies
	Bounds    Problem = "bounds"    // beyond a limit
)

// Error says why a file cannot be read, or cannot be read any further.
type Error struct {
	Name    string // of the file, as it was given to Read
	Offset  int64  // bytes before the place, from 0
	Line    int    // from 1
	Problem Problem
	What    string // a sentence without its subject, which is the file
	Remedy  string // what to do about it
}

func (e *Error) Error() string {
	return fmt.Sprintf("%s:%d: %s; %s (byte %d)", e.Name, e.Line, e.What, e.Remedy, e.Offset)
}

const shapes = "give what Envoy's /config_dump answers, or what istioctl proxy-config all, cluster, listener, route or endpoint " +
	"prints with -o json"

// excerpt quotes the beginning of a text that is not trusted.
func excerpt(text string) string {
	const most = 60
	if len(text) > most {
		return fmt.Sprintf("%.*q…", most, text)
	}
	return fmt.Sprintf("%q", text)
}

func size(bytes int64) string {
	switch {
	case bytes >= 1<<30 && bytes%(1<<30) == 0:
		return fmt.Sprintf("%d GiB", bytes>>30)
	case bytes >= 1<<20 && bytes%(1<<20) == 0:
		return fmt.Sprintf("%d MiB", bytes>>20)
	}
	return fmt.Sprintf("%d bytes", bytes)
}
