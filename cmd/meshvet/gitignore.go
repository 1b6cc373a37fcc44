package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// gitignoreName is the file in a folder that says what git is to ignore there.
const gitignoreName = ".gitignore"

// ignoreFile is one file of patterns in the format of gitignore(5).
//
// There is no dependency for this on purpose. go-git's matcher answers differently from git where a negated pattern names a
// folder (go-git issue 2112) and links far more than patterns; the small libraries are years without a release. The format is
// small and settled, and the tests hold this reading of it to what `git check-ignore` answers.
type ignoreFile struct {
	dir      string // absolute; patterns with a slash are relative to it
	patterns []ignorePattern
}

type ignorePattern struct {
	segments []string // between slashes; "**" stands for any number of folders
	negated  bool
	dirOnly  bool
	anywhere bool // without a slash: matched against the last name of the path
}

// readIgnoreFile reads patterns; a file that does not exist or cannot be read has none, as for git, and the latter is told.
func readIgnoreFile(file, dir string, lost func(file string, err error)) *ignoreFile {
	data, err := readRegular(file)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			lost(file, err)
		}
		return nil
	}
	return &ignoreFile{dir: dir, patterns: parseIgnorePatterns(string(data))}
}

func parseIgnorePatterns(text string) []ignorePattern {
	var out []ignorePattern
	for line := range strings.SplitSeq(strings.TrimPrefix(text, "\ufeff"), "\n") {
		if p, ok := parseIgnorePattern(line); ok {
			out = append(out, p)
		}
	}
	return out
}

func parseIgnorePattern(line string) (p ignorePattern, ok bool) {
	line = trimUnquotedSpaces(strings.TrimSuffix(line, "\r"))
	if line == "" || line[0] == '#' {
		return p, false
	}
	if line[0] == '!' {
		p.negated = true
		line = line[1:]
	}
	if rest, found := strings.CutSuffix(line, "/"); found {
		p.dirOnly = true
		line = rest
	}
	p.anywhere = !strings.Contains(line, "/")
	line = strings.TrimPrefix(line, "/")
	if line == "" {
		return p, false
	}
	p.segments = strings.Split(line, "/")
	for i, s := range p.segments {
		if len(s) > 2 && strings.Trim(s, "*") == "" {
			p.segments[i] = "**" // more stars mean no more
		}
	}
	if last := len(p.segments) - 1; last > 0 && p.segments[last] == "**" {
		p.segments = append(p.segments, "*") // what is below the folder, not the folder itself
	}
	return p, true
}

// trimUnquotedSpaces drops trailing spaces, but not one after a backslash.
func trimUnquotedSpaces(s string) string {
	end := len(s)
	for end > 0 && s[end-1] == ' ' {
		end--
	}
	if end < len(s) {
		slashes := 0
		for end-slashes > 0 && s[end-slashes-1] == '\\' {
			slashes++
		}
		if slashes%2 == 1 {
			end++
		}
	}
	return s[:end]
}

// match says what the file decides about a path: the last pattern that matches wins. decided is false if none does.
func (g *ignoreFile) match(path string, isDir bool) (ignored, decided bool) {
	if g == nil || len(g.patterns) == 0 {
		return false, false
	}
	rel, err := filepath.Rel(g.dir, path)
	if err != nil || !filepath.IsLocal(rel) {
		return false, false
	}
	names := strings.Split(filepath.ToSlash(rel), "/")
	for i := len(g.patterns) - 1; i >= 0; i-- {
		p := &g.patterns[i]
		switch {
		case p.dirOnly && !isDir:
		case p.anywhere && matchWildcard(p.segments[0], names[len(names)-1]),
			!p.anywhere && matchSegments(p.segments, names):
			return !p.negated, true
		}
	}
	return false, false
}

// matchSegments matches a path against a pattern, both cut at slashes. Going back to the last "**" only keeps it from taking
// exponential time.
func matchSegments(pattern, names []string) bool {
	p, n, star, retry := 0, 0, -1, 0
	for n < len(names) {
		switch {
		case p < len(pattern) && pattern[p] == "**":
			star, retry = p, n
			p++
		case p < len(pattern) && matchWildcard(pattern[p], names[n]):
			p++
			n++
		case star >= 0:
			retry++
			p, n = star+1, retry
		default:
			return false
		}
	}
	for p < len(pattern) && pattern[p] == "**" {
		p++
	}
	return p == len(pattern)
}

// matchWildcard matches one name against a pattern with *, ?, [classes] and backslashes.
func matchWildcard(pattern, name string) bool {
	p, n, star, retry := 0, 0, -1, 0
	for n < len(name) {
		if p < len(pattern) && pattern[p] == '*' {
			star, retry = p, n
			p++
			continue
		}
		if width := matchOne(pattern[p:], name[n]); width > 0 {
			p += width
			n++
			continue
		}
		if star < 0 {
			return false
		}
		retry++
		p, n = star+1, retry
	}
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern)
}

// matchOne matches the first element of a pattern against a byte, as git does, and returns how long that element is; 0 if it
// does not match.
func matchOne(pattern string, c byte) int {
	switch {
	case pattern == "":
		return 0
	case pattern[0] == '?':
		return 1
	case pattern[0] == '[':
		return matchClass(pattern, c)
	case pattern[0] == '\\':
		if len(pattern) > 1 && pattern[1] == c {
			return 2
		}
		return 0
	case pattern[0] == c:
		return 1
	}
	return 0
}

// matchClass is matchOne for [a-z], [!a-z], [[:digit:]] and mixtures of them.
func matchClass(pattern string, c byte) int {
	i := 1
	negated := i < len(pattern) && (pattern[i] == '!' || pattern[i] == '^')
	if negated {
		i++
	}
	matched := false
	for first := true; ; first = false {
		if i >= len(pattern) {
			return 0 // never closed: matches nothing
		}
		if pattern[i] == ']' && !first {
			break
		}
		if rest, found := strings.CutPrefix(pattern[i:], "[:"); found {
			if name, _, closed := strings.Cut(rest, ":]"); closed {
				in, known := posixClass(name, c)
				if !known {
					return 0
				}
				matched = matched || in
				i += len(name) + 4
				continue
			}
		}
		low, ok := classByte(pattern, &i)
		if !ok {
			return 0
		}
		high := low
		if i+1 < len(pattern) && pattern[i] == '-' && pattern[i+1] != ']' {
			i++
			if high, ok = classByte(pattern, &i); !ok {
				return 0
			}
		}
		matched = matched || low <= c && c <= high
	}
	if matched == negated {
		return 0
	}
	return i + 1
}

func classByte(pattern string, i *int) (byte, bool) {
	if pattern[*i] == '\\' {
		*i++
		if *i >= len(pattern) {
			return 0, false
		}
	}
	c := pattern[*i]
	*i++
	return c, true
}

func posixClass(name string, c byte) (in, known bool) {
	lower, upper, digit := 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9'
	graph := '!' <= c && c <= '~'
	switch name {
	case "alpha":
		return lower || upper, true
	case "digit":
		return digit, true
	case "alnum":
		return lower || upper || digit, true
	case "lower":
		return lower, true
	case "upper":
		return upper, true
	case "xdigit":
		return digit || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F', true
	case "space":
		return c == ' ' || '\t' <= c && c <= '\r', true
	case "blank":
		return c == ' ' || c == '\t', true
	case "cntrl":
		return c < ' ' || c == 0x7f, true
	case "print":
		return graph || c == ' ', true
	case "graph":
		return graph, true
	case "punct":
		return graph && !lower && !upper && !digit, true
	}
	return false, false
}

// ignoreStack is the ignore files that apply in a folder: the repository's own list, then those from its root down to the
// folder.
type ignoreStack []*ignoreFile

// ignoreStackAt reads the ignore files for a folder. Without a repository the folder's own is the first. lost is told which
// of them cannot be read.
func ignoreStackAt(repo, dir string, lost func(file string, err error)) ignoreStack {
	if repo == "" {
		return ignoreStack{}.enter(dir, lost)
	}
	s := ignoreStack{readIgnoreFile(filepath.Join(gitFolder(repo), "info", "exclude"), repo, lost)}
	below, err := filepath.Rel(repo, dir)
	if err != nil || !filepath.IsLocal(below) {
		return s.enter(dir, lost)
	}
	s = s.enter(repo, lost)
	if below == "." {
		return s
	}
	at := repo
	for name := range strings.SplitSeq(below, string(filepath.Separator)) {
		at = filepath.Join(at, name)
		s = s.enter(at, lost)
	}
	return s
}

// enter returns the stack for a folder inside. The receiver stays as it is.
func (s ignoreStack) enter(dir string, lost func(file string, err error)) ignoreStack {
	g := readIgnoreFile(filepath.Join(dir, gitignoreName), dir, lost)
	if g == nil {
		return s
	}
	return append(s[:len(s):len(s)], g)
}

// ignores says whether git would ignore a path, its parents being walked already: the nearest file that says anything decides.
func (s ignoreStack) ignores(path string, isDir bool) bool {
	for i := len(s) - 1; i >= 0; i-- {
		if ignored, decided := s[i].match(path, isDir); decided {
			return ignored
		}
	}
	return false
}

// findRepository returns the nearest folder upwards that is a git repository or worktree, "" if there is none.
func findRepository(dir string) string {
	for {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return dir
		}
		up := filepath.Dir(dir)
		if up == dir {
			return ""
		}
		dir = up
	}
}

// gitFolder finds the folder that git keeps a repository's own settings in; in a worktree or submodule, .git is a file that
// says where.
func gitFolder(repo string) string {
	git := filepath.Join(repo, ".git")
	pointer, err := readRegular(git)
	if err != nil { // a folder
		return git
	}
	at, found := strings.CutPrefix(strings.TrimSpace(string(pointer)), "gitdir: ")
	if !found {
		return git
	}
	if !filepath.IsAbs(at) {
		at = filepath.Join(repo, at)
	}
	if common, err := readRegular(filepath.Join(at, "commondir")); err == nil {
		shared := strings.TrimSpace(string(common))
		if !filepath.IsAbs(shared) {
			shared = filepath.Join(at, shared)
		}
		return shared
	}
	return at
}
