package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/object"
)

// schemaURL is where editors find the schema of the configuration.
const schemaURL = "https://raw.githubusercontent.com/meshvet/meshvet/main/schemas/config.schema.json"

func (a *app) newInitCommand() *cobra.Command {
	var dir string
	var force bool
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Write a .meshvet.yaml to begin with",
		Long: `Init writes a .meshvet.yaml into the root of the repository, or without one into the working directory. The file says what holds
without it, so a run finds what it found before. What the manifests let guess, such as the version of Istio, stands in it as a
comment, to be read and switched on.

It prints what to do next, and a hook for pre-commit, whose configuration it does not touch.`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.init(cmd.Context(), dir, force) },
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&dir, "dir", "", "`FOLDER` that the configuration is for, instead of the root of the repository")
	flags.BoolVar(&force, "force", false, "replace a configuration that is there")
	return cmd
}

func (a *app) init(ctx context.Context, dir string, force bool) error {
	cwd, err := a.getwd()
	if err != nil {
		return fmt.Errorf("find the working directory: %w", err)
	}
	w := newWalker(cwd, nil, func(string, ...any) {})
	switch {
	case dir == "":
		dir = cmp.Or(findRepository(cwd), cwd)
	case !isFolder(w.absolute(dir)):
		return fmt.Errorf("--dir=%s: there is no such folder", dir)
	default:
		dir = w.absolute(dir)
	}
	file := filepath.Join(dir, lint.ConfigNames()[0])
	if err := mayWriteConfig(w, dir, force); err != nil {
		return err
	}
	seen, err := look(ctx, w, dir)
	if err != nil {
		return err
	}
	text := seen.config()
	if _, problems := lint.ReadConfig(w.name(file, false), []byte(text)); seen.above == "" && len(problems) > 0 {
		return configErrors(problems, nil)
	}
	if err := writeFile(file, func(out io.Writer) error {
		_, err := io.WriteString(out, text)
		return err
	}); err != nil {
		return err
	}
	return untilDone(ctx, func() error {
		_, err := io.WriteString(&stoppable{ctx, a.stdout}, seen.told(w.name(file, false), w.name(dir, false)))
		return err
	})
}

// mayWriteConfig returns an error if a configuration is there that is not to be replaced.
func mayWriteConfig(w *walker, dir string, force bool) error {
	for i, name := range lint.ConfigNames() {
		file := filepath.Join(dir, name)
		info, err := os.Lstat(file)
		shown := w.name(file, false)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return fmt.Errorf("write %s: %w", shown, plainError(err))
		case !info.Mode().IsRegular():
			return fmt.Errorf("%s is no plain file; remove it, or name another folder with --dir", shown)
		case i > 0 && force:
			return fmt.Errorf("%s is there, and would not be read beside %s; rename it first", shown, lint.ConfigNames()[0])
		case !force:
			return fmt.Errorf("%s is there already; --force replaces it, and `meshvet config verify` checks it", shown)
		}
	}
	return nil
}

// sight is what the manifests of a folder let guess about its meshes.
type sight struct {
	above   string // the configuration that holds in the folder so far, relative to it; "" if none does
	version string // of Istio, major and minor; "" if none was seen, or several
	where   string // the file that names it
	kinds   []object.Kind
	judged  int
	scopes  []lint.Scope // more than one, or none
	hooks   bool         // the repository has a configuration of pre-commit
}

// look reads what is in a folder.
func look(ctx context.Context, w *walker, dir string) (*sight, error) {
	s := &sight{}
	c := newConfigs(w, nil, []string{dir}, "", func(*settings) {})
	w.configs, w.exclude = c, c
	if above := c.ofNothingIn(dir); above.home != "" {
		rel, err := filepath.Rel(dir, filepath.Join(above.home, filepath.Base(above.Source)))
		if err != nil {
			return nil, fmt.Errorf("find the configuration above %s: %w", dir, err)
		}
		s.above = filepath.ToSlash(rel)
	}
	for _, root := range []string{dir, findRepository(dir)} {
		if _, err := os.Lstat(filepath.Join(root, ".pre-commit-config.yaml")); root != "" && err == nil {
			s.hooks = true
		}
	}
	sources := w.addFolder(dir, false)
	files, err := load(ctx, sources, nil)
	if err != nil {
		return nil, err
	}
	versions := map[string]string{}
	for i, f := range files {
		for _, o := range f.Objects {
			if slices.Contains(lint.AllKinds(), o.Kind) && !slices.Contains(s.kinds, o.Kind) {
				s.kinds = append(s.kinds, o.Kind)
			}
			if o.Kind.Judged() {
				s.judged++
			}
		}
		if v := istioVersionIn(&sources[i]); v != "" && versions[v] == "" {
			versions[v] = f.Name
		}
	}
	slices.SortFunc(s.kinds, func(a, b object.Kind) int {
		return slices.Index(lint.AllKinds(), a) - slices.Index(lint.AllKinds(), b)
	})
	if len(versions) == 1 {
		for v, file := range versions {
			s.version, s.where = v, below(w, dir, file)
		}
	}
	engine, err := lint.New(nil, nil)
	if err != nil {
		return nil, err
	}
	meshes, _, err := engine.Meshes(lint.Input{Files: files, Dir: filepath.ToSlash(dir)})
	if err != nil {
		return nil, err
	}
	for _, m := range meshes {
		if !m.Shared && len(m.Files) > 0 {
			s.scopes = append(s.scopes, m.Scope)
		}
	}
	if len(s.scopes) < 2 {
		s.scopes = nil
	}
	s.relateScopes(w, dir)
	return s, nil
}

// relateScopes names the files of scopes from the folder of the configuration.
func (s *sight) relateScopes(w *walker, dir string) {
	for i := range s.scopes {
		for j, name := range s.scopes[i].Files {
			s.scopes[i].Files[j] = below(w, dir, name)
		}
	}
}

// below names a file from a folder.
func below(w *walker, dir, name string) string {
	rel, err := filepath.Rel(dir, w.absolute(filepath.FromSlash(name)))
	if err != nil {
		return name
	}
	return filepath.ToSlash(rel)
}

// istioVersions are the places where manifests say which version of Istio is installed.
var istioVersions = [...]struct{ kind, version *regexp.Regexp }{
	{nil, regexp.MustCompile(`(?m)^[ \t-]*image:[ \t]*["']?[\w.:/-]*\b(?:pilot|proxyv2):v?(\d+\.\d+)`)},
	{regexp.MustCompile(`(?m)^kind:[ \t]*IstioOperator\b`), regexp.MustCompile(`(?m)^[ \t]+tag:[ \t]*["']?v?(\d+\.\d+)`)},
	{regexp.MustCompile(`(?m)^apiVersion:[ \t]*sailoperator\.io/`), regexp.MustCompile(`(?m)^[ \t]+version:[ \t]*["']?v?(\d+\.\d+)`)},
	{regexp.MustCompile(`(?m)^[ \t-]*chart:[ \t]*["']?istiod\b`), regexp.MustCompile(`(?m)^[ \t-]*(?:version|targetRevision):[ \t]*["']?v?(\d+\.\d+)`)},
}

// istioVersionIn returns the version of Istio that a file installs, as far as it can be told; "" if it says none or several.
func istioVersionIn(src *source) string {
	if src.path == "" || src.info == nil || src.info.Size() > maxConfigBytes {
		return ""
	}
	text, err := readRegular(src.path)
	if err != nil {
		return ""
	}
	found := ""
	for _, p := range istioVersions {
		if p.kind != nil && !p.kind.Match(text) {
			continue
		}
		for _, m := range p.version.FindAllSubmatch(text, -1) {
			if v := string(m[1]); lint.CheckIstioVersion(v) != nil || found != "" && found != v {
				return ""
			}
			found = string(m[1])
		}
	}
	return found
}

// config is the text of the file.
func (s *sight) config() string {
	var b strings.Builder
	say := func(format string, args ...any) { fmt.Fprintf(&b, format, args...) }
	say("# yaml-language-server: $schema=%s\n", schemaURL)
	say("# What meshvet goes by in this folder and below. `meshvet config print` shows all of it, `meshvet config verify` checks it.\n")
	say("version: 1\n\n")
	if s.above != "" {
		say("# A configuration takes over from the one above it only what it extends. What stands here outranks that.\nextends: [%s]\n\n", strconv.Quote(s.above))
	} else {
		say("# The rules that are on: recommended, or strict, which has the rules about habits too. Files can be extended as well.\nextends: [recommended]\n\n")
	}
	say(`# Rules by ID or name: a severity (error, warning, info, off), or severity and options. meshvet rules lists them.
# rules:
#   DR204: off

# Rules that are different for some objects: by folder, namespace, host, label.
# overrides:
# - {paths: [sandbox], rules: {SE101: info}}

# Files and folders that are not read.
# exclude: ["**/testdata/**"]

`)
	kinds := make([]string, 0, len(s.kinds))
	for _, k := range s.kinds {
		kinds = append(kinds, string(k))
	}
	if len(kinds) == 0 {
		kinds = []string{string(object.ServiceEntry), string(object.DestinationRule)}
	}
	say(`# A file of findings that are known and fail no run. It has to be there: meshvet lint --write-baseline writes it.
# baseline: .meshvet-baseline.yaml

# Kinds of which the repository holds every object that the mesh has. Some rules conclude something from the absence of an
# object, and only run for these.
# context:
#   complete: [%s]

`, strings.Join(kinds, ", "))
	if folders := s.scopeFolders(); len(s.scopes) > 0 && folders == nil {
		say("# The manifests are taken for %d meshes, since they define the same objects; meshvet lint -v lists these. If that is not so, say\n# which files make up a mesh, under the key scopes.\n\n", len(s.scopes))
	} else if len(folders) > 0 {
		say("# Each of these is taken for a mesh of its own, since they define the same objects. If that is not so, say which files\n# make up a mesh. Files that all of them share stand in each.\n# scopes:\n")
		for _, folder := range folders {
			say("# - {name: %s, paths: [%s]}\n", strconv.Quote(folder), strconv.Quote(lint.EscapeGlob(folder)))
		}
		say("\n")
	}
	version, where := cmp.Or(s.version, "1.31"), "such as"
	if s.where != "" {
		where = "from " + strconv.Quote(object.Abridge(s.where))
	}
	say("# The version of Istio that reads the manifests; by default the one that this meshvet was made for.\n# istio:\n#   version: %q # %s\n", version, where)
	return b.String()
}

// mostScopes bounds the scopes that are written out: nobody reads more before they are switched on.
const mostScopes = 30

// scopeFolders are the folders of the scopes, if these can be told by them; else nil. To leave some out would leave their files out of all
// meshes, or put them into one.
func (s *sight) scopeFolders() []string {
	if len(s.scopes) > mostScopes {
		return nil
	}
	var out []string
	for _, scope := range s.scopes {
		folder := commonFolder(scope.Files)
		if slices.Contains(out, folder) || object.Abridge(folder) != folder {
			return nil
		}
		out = append(out, folder)
	}
	return out
}

// commonFolder is the deepest folder that all files are in or below.
func commonFolder(files []string) string {
	dir := path.Dir(files[0])
	for _, f := range files[1:] {
		for dir != "." && f != dir && !strings.HasPrefix(f, dir+"/") {
			dir = path.Dir(dir)
		}
	}
	return dir
}

// hook is what pre-commit takes to run meshvet.
const hook = `- repo: local
  hooks:
  - id: meshvet
    name: meshvet
    entry: meshvet lint
    language: system
    types_or: [yaml, json]
    require_serial: true
`

// plainPath is what a shell takes as it is.
var plainPath = regexp.MustCompile(`^[A-Za-z0-9_./][A-Za-z0-9_./+:@%,-]*$`)

// shellWord is a path as it is written in a shell.
func shellWord(path string) string {
	if plainPath.MatchString(path) {
		return path
	}
	return "'" + strings.ReplaceAll(clean(path), "'", `'\''`) + "'"
}

// told is what is printed once the file is written: name is what it is called where the user stands, and dir is its folder.
func (s *sight) told(name, dir string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s is written. A run finds what it found without it.\n\n", clean(name))
	if s.judged == 0 {
		fmt.Fprintf(&b, "There is no ServiceEntry or DestinationRule in this folder yet.\n\n")
	}
	where := ""
	if dir != "." {
		where = " " + shellWord(dir)
	}
	next := func(command, what string) {
		if len(command) > 29 {
			command += "\n" + strings.Repeat(" ", 31)
		}
		fmt.Fprintf(&b, "  %-29s  %s\n", command, what)
	}
	b.WriteString("Next:\n")
	next("meshvet lint"+where, "judge the manifests")
	next("meshvet lint --write-baseline "+shellWord(path.Join(dir, ".meshvet-baseline.yaml"))+where,
		"accept what is found today; the key baseline: makes it known to every run")
	next("meshvet config print --origin"+where, "what holds, and why")
	if s.version != "" {
		fmt.Fprintf(&b, "  istio.version                  %s says %s; switch it on in the file if that is so\n", clean(object.Abridge(s.where)), s.version)
	}
	if s.hooks {
		fmt.Fprintf(&b, "\nFor pre-commit, add to repos: in .pre-commit-config.yaml\n%s", hook)
	} else {
		fmt.Fprintf(&b, "\nFor pre-commit, write .pre-commit-config.yaml\nrepos:\n%s", hook)
	}
	return b.String()
}
