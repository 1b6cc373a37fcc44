package report

import (
	"fmt"
	"net/url"
	"path"
	"path/filepath"
	"strings"

	"github.com/meshvet/meshvet/lint/object"
)

// place writes a location the way terminals and editors make a link of: file:line:col.
func place(l object.Location) string {
	name := cleanName(l.File)
	if !l.Range.Start.IsValid() {
		return name
	}
	return fmt.Sprintf("%s:%d:%d", name, l.Range.Start.Line, l.Range.Start.Col)
}

// inCluster says whether a location is that of an object that came from no file.
func inCluster(l object.Location) bool {
	return strings.HasPrefix(l.File, "cluster:") && !l.Range.Start.IsValid()
}

// repositoryPath names a file from Options.Root, with slashes. inside is false for a file that is not below it; then the
// path is absolute, or the name of the report if nothing better is known.
func (o Options) repositoryPath(name string) (p string, inside bool) {
	name = filepath.ToSlash(name)
	abs := name
	if !path.IsAbs(name) {
		if o.Dir == "" {
			p = path.Clean(name)
			return p, p != ".." && !strings.HasPrefix(p, "../")
		}
		abs = path.Join(filepath.ToSlash(o.Dir), name)
	}
	if o.Root == "" {
		if abs != name { // a relative name is meant to stay one where no root is known
			p = path.Clean(name)
			return p, p != ".." && !strings.HasPrefix(p, "../")
		}
		return path.Clean(abs), false
	}
	root := strings.TrimSuffix(path.Clean(filepath.ToSlash(o.Root)), "/")
	if rest, below := strings.CutPrefix(path.Clean(abs), root+"/"); below {
		return rest, true
	}
	return path.Clean(abs), false
}

// fromRoot is a location whose file is named from Options.Root, as services know it. What came from a cluster keeps its name.
func (o Options) fromRoot(l object.Location) object.Location {
	if l.File != "" && !inCluster(l) {
		l.File, _ = o.repositoryPath(l.File)
	}
	return l
}

// uri writes a slashed path as a URI reference. Colons are escaped too, since one in the first segment would make it a scheme.
func uri(p string) string {
	segments := strings.Split(p, "/")
	for i, s := range segments {
		segments[i] = strings.ReplaceAll(url.PathEscape(s), ":", "%3A")
	}
	ref := strings.Join(segments, "/")
	if strings.HasPrefix(p, "/") {
		return "file://" + ref
	}
	return ref
}

// ruleURL is the address of a rule's page, "" if there is none.
func (o Options) ruleURL(id string) string {
	if o.DocsURL == "" {
		return ""
	}
	return strings.TrimSuffix(o.DocsURL, "/") + "/" + url.PathEscape(id) + ".md"
}
