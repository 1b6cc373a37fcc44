package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	k8slabels "k8s.io/apimachinery/pkg/labels"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/object"
)

func (a *app) newConfigCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Show and check configurations",
		Long:  "Config shows what a configuration comes to, and checks configurations. docs/guide/configure.md describes the file.",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return unknownCommand(cmd, args[0])
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.newConfigPrintCommand(), a.newConfigVerifyCommand())
	return cmd
}

// sharedFlags are those of lint that outrank the configuration.
var sharedFlags = [...]string{"config", "enable", "disable", "complete", "dataplane", "context", "baseline"}

func (a *app) newConfigPrintCommand() *cobra.Command {
	format := newChoice("yaml", "yaml", "json")
	var origin bool
	cmd := &cobra.Command{
		Use:   "print [PATH]",
		Short: "Print what holds for a file or folder, and why",
		Long: `Print shows the configuration that lint goes by for a file or folder, by default the working directory: every key with its value,
what is extended put together. For a file, the overrides that hold for all of it are part of the rules; those that depend on the
object stay overrides.

A null is what the manifests decide. With --origin, each value is followed by where it comes from: FILE:LINE, a preset, a variable, a flag, or default. The flags of
lint follow, since a variable may set them as well.`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return fmt.Errorf("config print shows what holds for one path, but was given %d", len(args))
			}
			return nil
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.BoolVar(&origin, "origin", false, "say where each value comes from")
	flags.Var(format, "format", "how it is written")
	lintCmd := a.newLintCommand()
	for _, name := range sharedFlags {
		if f := lintCmd.Flags().Lookup(name); f != nil {
			f.Annotations = map[string][]string{ofLint: {}}
			flags.AddFlag(f)
		}
	}
	complete(cmd, "format", format.words)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		path := "."
		if len(args) > 0 {
			path = args[0]
		}
		if err := readOtherTwins(lintCmd, flags, a.getenv); err != nil {
			return usageError{cmd, err}
		}
		p, err := a.newConfigPrinter(cmd.Context(), lintCmd.Flags(), path)
		if err != nil {
			return err
		}
		var b bytes.Buffer
		if format.value == "json" {
			err = p.writeJSON(&b, origin)
		} else {
			err = p.writeYAML(&b, origin)
		}
		if err != nil {
			return err
		}
		return untilDone(cmd.Context(), func() error {
			_, err := (&stoppable{cmd.Context(), a.stdout}).Write(b.Bytes())
			return err
		})
	}
	return cmd
}

// readOtherTwins sets the flags of lint that another command does not share with it from their variables.
func readOtherTwins(lintCmd *cobra.Command, shared *pflag.FlagSet, getenv func(string) string) error {
	var onLine []*pflag.Flag
	lintCmd.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Annotations[ofLint] != nil && shared.Lookup(f.Name) == f && !f.Changed {
			f.Changed = true // so that it is passed over
			onLine = append(onLine, f)
		}
	})
	err := readTwins(lintCmd, getenv)
	for _, f := range onLine {
		f.Changed = false
	}
	return err
}

// configPrinter is a configuration with what outranks it.
type configPrinter struct {
	path     string
	settings *settings
	flags    *pflag.FlagSet // of lint
	getenv   func(string) string
	keys     []shownKey
}

// shownKey is a key of the configuration with its value, or the keys below it.
type shownKey struct {
	name   string
	value  any
	origin string
	below  []shownKey // nil = it has a value
}

func (a *app) newConfigPrinter(ctx context.Context, flags *pflag.FlagSet, path string) (*configPrinter, error) {
	cwd, err := a.getwd()
	if err != nil {
		return nil, fmt.Errorf("find the working directory: %w", err)
	}
	w := newWalker(cwd, nil, func(string, ...any) {})
	if _, err := os.Stat(w.absolute(path)); err != nil {
		return nil, fmt.Errorf("config print shows what holds for a file or folder that is there: %s: %w", path, plainError(err))
	}
	f := lintFlags{config: flags.Lookup("config").Value.String(), dataplane: newChoice("")}
	f.dataplane.value = flags.Lookup("dataplane").Value.String()
	for name, to := range map[string]*list{"enable": &f.enable, "disable": &f.disable} {
		if l, ok := flags.Lookup(name).Value.(*list); ok {
			*to = *l
		}
	}
	if k, ok := flags.Lookup("complete").Value.(*kinds); ok {
		f.complete = *k
	}
	r := &lintRun{flags: &f, walker: w, args: []string{path}}
	if err := r.findConfigs(); err != nil {
		return nil, err
	}
	rules, err := allRules(ctx)
	if err != nil {
		return nil, err
	}
	p := &configPrinter{path: path, settings: r.config, flags: flags, getenv: a.getenv}
	cfg := r.config.Config
	if at := r.walker.absolute(path); !isFolder(at) && cfg.PathOf != nil {
		cfg = cfg.ForPath(cfg.PathOf(r.walker.name(at, filepath.IsAbs(path))))
	}
	settings, err := cfg.RuleSettings(rules, func(*lint.Override) bool { return false })
	if err := configErrors(r.config.problems, err); err != nil {
		return nil, err
	}
	if _, err := lint.New(rules, r.config.Config); err != nil { // what it says for the webhook is checked too
		return nil, err
	}
	p.keys = p.all(settings, cfg.StandingOverrides(rules))
	return p, nil
}

// all lists the keys in the order of the schema's documentation.
func (p *configPrinter) all(rules []lint.RuleSetting, overrides []lint.Override) []shownKey {
	s := p.settings
	presets := s.Extends
	if presets == nil {
		presets = []string{lint.Recommended}
	}
	key := func(path, name string, value any) shownKey {
		return shownKey{name: name, value: value, origin: p.origin(path)}
	}
	out := []shownKey{
		key("version", "version", 1),
		key("extends", "extends", presets),
		{name: "rules", below: p.rules(rules)},
		key("overrides", "overrides", overridesAsValue(overrides)),
		key("exclude", "exclude", orNone(s.Exclude)),
	}
	scopes := []any{}
	for _, c := range s.Scopes {
		scopes = append(scopes, pairs{{"name", c.Name}, {"paths", c.Paths}})
	}
	complete := make([]string, 0, len(s.Complete))
	for _, k := range s.Complete {
		complete = append(complete, string(k))
	}
	out = append(out,
		shownKey{name: "context", below: []shownKey{
			key("context.paths", "paths", p.contextPaths()),
			p.flagged("complete", key("context.complete", "complete", complete)),
		}},
		key("scopes", "scopes", scopes),
	)
	m := s.Mesh
	var meshConfig any
	if m.MeshConfig.Set() {
		meshConfig = m.MeshConfig.Any()
	}
	out = append(out, shownKey{name: "istio", below: []shownKey{
		key("istio.version", "version", orNull(m.IstioVersion)),
		key("istio.meshConfig", "meshConfig", meshConfig),
		p.flagged("dataplane", key("istio.dataplane", "dataplane", orNull(m.Dataplane))),
		key("istio.dnsCapture", "dnsCapture", m.DNSCapture),
		key("istio.autoAllocate", "autoAllocate", m.AutoAllocate),
		key("istio.gatewayNamespaces", "gatewayNamespaces", m.GatewayNamespaces),
		key("istio.clusterDomain", "clusterDomain", cmp.Or(m.ClusterDomain, "cluster.local")),
		key("istio.rootNamespace", "rootNamespace", cmp.Or(m.RootNamespace, m.MeshConfig.Get("rootNamespace").Str(), "istio-system")),
	}})
	baseline := p.flagged("baseline", key("baseline", "baseline", orNull(s.Baseline)))
	if f := p.flags.Lookup("baseline"); f != nil && f.Value.String() != "" {
		baseline.value = f.Value.String()
	}
	return append(out, baseline,
		shownKey{name: "suppressions", below: []shownKey{key("suppressions.forbid", "forbid", orNone(s.Suppressions.Forbid))}},
		shownKey{name: "webhook", below: p.webhook(key)})
}

func (p *configPrinter) rules(rules []lint.RuleSetting) []shownKey {
	out := []shownKey{}
	for _, r := range rules {
		at := shownKey{name: r.Rule.ID, below: []shownKey{{name: "severity", value: r.Severity.String(), origin: p.originOf(r.From)}}}
		var options []shownKey
		for _, o := range r.Options {
			options = append(options, shownKey{name: o.Name, value: o.Value, origin: p.originOf(o.From)})
		}
		if options != nil {
			at.below = append(at.below, shownKey{name: "options", below: options})
		}
		out = append(out, at)
	}
	return out
}

func (p *configPrinter) webhook(key func(path, name string, value any) shownKey) []shownKey {
	w := p.settings.Admission
	actions := []any{}
	for _, a := range w.Actions {
		var entry pairs
		if a.Rules != nil {
			entry = append(entry, pair{"rules", a.Rules})
		}
		if a.Severities != nil {
			var names []string
			for _, s := range a.Severities {
				names = append(names, s.String())
			}
			entry = append(entry, pair{"severities", names})
		}
		if a.Namespaces != nil {
			entry = append(entry, pair{"namespaceSelector", selectorAsValue(a.Namespaces)})
		}
		actions = append(actions, append(entry, pair{"action", string(a.Action)}))
	}
	onError, inFlight := "allow", w.MaxInFlight
	if w.DenyOnError {
		onError = "deny"
	}
	if inFlight == 0 {
		inFlight = lint.DefaultInFlight
	}
	return []shownKey{
		key("webhook.actions", "actions", actions),
		key("webhook.onError", "onError", onError),
		key("webhook.maxInFlight", "maxInFlight", inFlight),
		{name: "exempt", below: []shownKey{
			key("webhook.exempt.users", "users", orNone(w.Exempt.Users)),
			key("webhook.exempt.groups", "groups", orNone(w.Exempt.Groups)),
			key("webhook.exempt.namespaces", "namespaces", orNone(w.Exempt.Namespaces)),
		}},
		key("webhook.suppressible", "suppressible", orNone(w.Suppressible)),
		key("webhook.denyCaused", "denyCaused", w.DenyCaused),
	}
}

// contextPaths are the paths that are read as context, the default written out.
func (p *configPrinter) contextPaths() []string {
	s := p.settings
	if s.Context != nil || s.isolated || s.repo == "" {
		return orNone(s.Context)
	}
	rel, err := filepath.Rel(s.base, s.repo)
	if err != nil {
		return []string{}
	}
	return []string{filepath.ToSlash(rel)}
}

// flagged gives a key the origin of the flag that outranks it, if that is set.
func (p *configPrinter) flagged(flag string, k shownKey) shownKey {
	if f := p.flags.Lookup(flag); f != nil {
		if from := p.flagOrigin(f); from != "default" {
			k.origin = from
		}
	}
	return k
}

func (p *configPrinter) flagOrigin(f *pflag.Flag) string {
	twin := "MESHVET_" + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))
	switch {
	case f.Changed:
		return "flag --" + f.Name
	case hasTwin(f) && p.getenv(twin) != "":
		return "environment " + twin
	}
	return "default"
}

// origin is where a key of the configuration is written.
func (p *configPrinter) origin(path string) string {
	at, written := p.settings.trace[path]
	if !written {
		return "default"
	}
	return lineOf(at)
}

func (p *configPrinter) originOf(from lint.Origin) string {
	switch {
	case from.At.File != "":
		return lineOf(from.At)
	case strings.HasPrefix(from.Flag, "--"):
		return "flag " + from.Flag
	case from.Flag != "":
		return "environment " + from.Flag
	case from.Preset != "" && p.settings.Extends != nil:
		return "preset " + from.Preset
	}
	return "default"
}

func lineOf(at object.Location) string {
	return fmt.Sprintf("%s:%d", clean(at.File), at.Range.Start.Line)
}

// pairs is a mapping in the order of its keys.
type pairs []pair

type pair struct {
	key   string
	value any
}

// MarshalJSON writes the mapping in its order.
func (p pairs) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, e := range p {
		if i > 0 {
			b.WriteByte(',')
		}
		for j, v := range [...]any{e.key, e.value} {
			if j > 0 {
				b.WriteByte(':')
			}
			text, err := plainJSON(v)
			if err != nil {
				return nil, err
			}
			b.Write(text)
		}
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

func plainJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("write the configuration: %w", err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

func overridesAsValue(overrides []lint.Override) []any {
	out := []any{}
	for _, o := range overrides {
		var entry pairs
		for _, c := range [...]pair{{"paths", o.Paths}, {"namespaces", o.Namespaces}, {"hosts", o.Hosts}} {
			if names, ok := c.value.([]string); ok && len(names) > 0 {
				entry = append(entry, c)
			}
		}
		if o.Labels != nil {
			entry = append(entry, pair{"labels", selectorAsValue(o.Labels)})
		}
		var rules pairs
		var names []string
		for name := range o.Rules {
			names = append(names, name)
		}
		slices.Sort(names)
		for _, name := range names {
			var setting pairs
			if s := o.Rules[name].Severity; s != nil {
				setting = append(setting, pair{"severity", s.String()})
			}
			if len(o.Rules[name].Options) > 0 {
				setting = append(setting, pair{"options", o.Rules[name].Options})
			}
			rules = append(rules, pair{name, setting})
		}
		out = append(out, append(entry, pair{"rules", rules}))
	}
	return out
}

// selectorAsValue is a label selector as Kubernetes has it.
func selectorAsValue(s k8slabels.Selector) pairs {
	expressions := []any{}
	requirements, _ := s.Requirements()
	for _, r := range requirements {
		entry := pairs{{"key", r.Key()}, {"operator", lint.OperatorName(r.Operator())}}
		if values := r.ValuesUnsorted(); len(values) > 0 {
			slices.Sort(values)
			entry = append(entry, pair{"values", values})
		}
		expressions = append(expressions, entry)
	}
	return pairs{{"matchExpressions", expressions}}
}

func orNone(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

func orNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// sources says in a sentence which files the configuration is made of.
func (p *configPrinter) sources() string {
	files := p.settings.Files
	what := "no configuration, so the defaults hold"
	if len(files) > 0 {
		what = strings.Join(slices.Compact(slices.Clone(files)), ", extending ")
		if len(files) > 2 {
			what = files[0] + ", extending " + strings.Join(slices.Compact(slices.Clone(files[1:])), ", ")
		}
	}
	return clean(fmt.Sprintf("%s: %s", p.path, what))
}

func (p *configPrinter) writeYAML(w io.Writer, origin bool) error {
	var lines [][2]string // text and comment
	var add func(indent string, keys []shownKey) error
	add = func(indent string, keys []shownKey) error {
		for _, k := range keys {
			if k.below != nil {
				lines = append(lines, [2]string{indent + k.name + ":", ""})
				if err := add(indent+"  ", k.below); err != nil {
					return err
				}
				continue
			}
			text, err := yamlScalar(k.value)
			if err != nil {
				return err
			}
			lines = append(lines, [2]string{indent + k.name + ": " + text, k.origin})
		}
		return nil
	}
	if err := add("", p.keys); err != nil {
		return err
	}
	fmt.Fprintf(w, "# %s\n", p.sources())
	for _, l := range lines {
		if origin && l[1] != "" {
			fmt.Fprintf(w, "%-40s # %s\n", l[0], l[1])
		} else {
			fmt.Fprintln(w, l[0])
		}
	}
	if !origin {
		return nil
	}
	fmt.Fprintln(w, "\n# The flags of lint:")
	p.flags.VisitAll(func(f *pflag.Flag) {
		if hasTwin(f) {
			fmt.Fprintf(w, "# %-38s # %s\n", clean(strings.TrimSpace("--"+f.Name+" "+f.Value.String())), p.flagOrigin(f))
		}
	})
	return nil
}

// plainWord is a text that YAML reads as a string without quotes.
var plainWord = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_./-]*$`)

// notPlain are words that YAML reads as something else than a string.
var notPlain = []string{"true", "false", "yes", "no", "on", "off", "null", "y", "n"}

// yamlScalar writes a value on one line. JSON is YAML.
func yamlScalar(v any) (string, error) {
	if s, ok := v.(string); ok && plainWord.MatchString(s) && !slices.Contains(notPlain, strings.ToLower(s)) {
		return s, nil
	}
	text, err := plainJSON(v)
	return string(text), err
}

func (p *configPrinter) writeJSON(w io.Writer, origin bool) error {
	var values func(keys []shownKey) pairs
	values = func(keys []shownKey) pairs {
		out := pairs{}
		for _, k := range keys {
			if k.below != nil {
				out = append(out, pair{k.name, values(k.below)})
			} else {
				out = append(out, pair{k.name, k.value})
			}
		}
		return out
	}
	all := values(p.keys)
	if origin {
		origins, flags := pairs{}, pairs{}
		var add func(prefix string, keys []shownKey)
		add = func(prefix string, keys []shownKey) {
			for _, k := range keys {
				if k.below != nil {
					add(prefix+k.name+".", k.below)
				} else {
					origins = append(origins, pair{prefix + k.name, k.origin})
				}
			}
		}
		add("", p.keys)
		p.flags.VisitAll(func(f *pflag.Flag) {
			if hasTwin(f) {
				flags = append(flags, pair{f.Name, pairs{{"value", f.Value.String()}, {"origin", p.flagOrigin(f)}}})
			}
		})
		all = pairs{{"path", p.path}, {"files", orNone(p.settings.Files)}, {"config", all}, {"origins", origins}, {"flags", flags}}
	}
	text, err := plainJSON(all)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := json.Indent(&b, text, "", "  "); err != nil {
		return fmt.Errorf("write the configuration: %w", err)
	}
	_, err = fmt.Fprintln(w, b.String())
	return err
}
