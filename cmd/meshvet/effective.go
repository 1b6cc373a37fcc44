package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/effective"
	"github.com/meshvet/meshvet/lint/egress"
	"github.com/meshvet/meshvet/lint/object"
	"github.com/meshvet/meshvet/lint/report"
)

// effectiveFlags are the flags of `meshvet effective`.
type effectiveFlags struct {
	files     []string
	config    string
	context   []string
	dataplane *choice
	all       bool
	from      list
	proxy     *choice
	labels    labels
	subset    string
	format    *choice
	quiet     bool
	live      liveFlags
}

func (a *app) newEffectiveCommand() *cobra.Command {
	f := &effectiveFlags{
		dataplane: newChoice("", "sidecar", "ambient", "mixed"),
		from:      list{hint: "NAMESPACE,…"},
		proxy:     newChoice("sidecar", "sidecar", "gateway"),
		format:    newChoice("text", "text", "json", "envoy"),
		live:      newLiveFlags(),
	}
	cmd := &cobra.Command{
		Use:   "effective HOST[:PORT]…",
		Short: "Show the traffic policy that really applies to a host",
		Long: `Effective works out which traffic policy Envoy runs for a host: each setting with its value, the file and line that it comes from
(or whose default it is), and where Istio writes it in Envoy's configuration. It follows routes hop by hop: from the client's sidecar
through egress gateways to the host.

HOST is a host of a ServiceEntry or Service. A name without a dot is a Service in the namespace of --from, and a host that only a
wildcard covers is answered for the wildcard. Without PORT every port is told. Clients of different namespaces may get different
policies: namespaces that get the same are told together. Sidecar resources and EnvoyFilters are not applied.

Manifests are read as by meshvet lint: folders are searched, the rest of the repository is context, and if the files are several meshes,
each that knows the host answers. --live reads a running cluster, with -f as it would be once these files are applied.

--format json is for programs (schemas/effective.schema.json). --format envoy prints what Istio compiles, as istioctl spells it: a list of
clusters and of the tcp_proxy filters that lead to them, with the fields that a traffic policy can touch.

Exit codes: 0 answered, 2 unknown host, port or subset, bad flag or configuration, or unreadable input.`,
		Example: `  meshvet effective api.example.com:443 -f manifests/
  meshvet effective api.example.com --from shop --labels app=web
  meshvet effective api.example.com --live
  meshvet effective --all --format json
  meshvet effective api.example.com --format envoy | jq '.[0].circuitBreakers'`,
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case f.all && len(args) > 0:
				return errors.New("give hosts or --all, not both")
			case !f.all && len(args) == 0:
				return errors.New("give a host, such as api.example.com:443, or --all")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			code, err := a.effective(cmd.Context(), cmd, f, args)
			a.code = code
			return err
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringArrayVarP(&f.files, "file", "f", nil, "`PATH` of manifests: a file, a folder (by default the working directory) or - for standard input; can be repeated")
	flags.BoolVar(&f.all, "all", false, "every host of a ServiceEntry, and every Service that a DestinationRule is for")
	flags.Var(&f.from, "from", "namespaces of the clients; by default each that may get something of its own")
	flags.Var(f.proxy, "proxy", "which Envoy opens the first connection; gateways are in the namespaces of --from")
	flags.Var(&f.labels, "labels", "labels of the client's workload, by which workloadSelectors choose")
	flags.StringVar(&f.subset, "subset", "", "`NAME` of a subset, whether or not a route leads to it")
	flags.Var(f.format, "format", "how the answer is written")
	flags.StringVarP(&f.config, "config", "c", "", "configuration `FILE`, instead of the nearest .meshvet.yaml")
	flags.StringArrayVar(&f.context, "context", nil, "`PATH` that is read as context only; can be repeated")
	flags.Var(f.dataplane, "dataplane", "how traffic of the mesh is carried, instead of what labels in view say")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "print answers and problems only")
	f.live.add(flags, liveFiles)
	complete(cmd, "proxy", f.proxy.words)
	complete(cmd, "format", f.format.words)
	complete(cmd, "dataplane", f.dataplane.words)
	return cmd
}

// labels is a flag that takes KEY=VALUE pairs between commas, and can be given several times.
type labels struct{ pairs map[string]string }

func (l *labels) String() string { return egress.LabelsText(l.pairs) }

func (l *labels) Type() string { return "KEY=VALUE,…" }

func (l *labels) Set(s string) error {
	for pair := range strings.SplitSeq(s, ",") {
		k, v, ok := strings.Cut(strings.TrimSpace(pair), "=")
		if !ok || k == "" {
			return fmt.Errorf("%q is not of the form KEY=VALUE", object.Abridge(pair))
		}
		if l.pairs == nil {
			l.pairs = map[string]string{}
		}
		l.pairs[k] = v
	}
	return nil
}

// effective is one run. The exit code counts only without an error.
func (a *app) effective(ctx context.Context, cmd *cobra.Command, f *effectiveFlags, args []string) (int, error) {
	var queries []egress.Query
	for _, arg := range args {
		q, err := parseQuery(arg)
		if err != nil {
			return 0, usageError{cmd, err}
		}
		queries = append(queries, q)
	}
	if err := f.live.check(cmd, false); err != nil {
		return 0, err
	}
	files := f.files
	if len(files) == 0 && !f.live.on {
		files = []string{"."}
	}
	r, err := a.newRun(ctx, &lintFlags{config: f.config, context: f.context, dataplane: f.dataplane, live: f.live}, files)
	if err != nil {
		return 0, err
	}
	meshes, rep, err := r.meshes(ctx)
	if err != nil {
		return 0, err
	}
	opt := report.Options{Quiet: f.quiet, Color: a.colored(true, a.stderr)}
	if err := untilDone(ctx, func() error { return report.Notes(&stoppable{ctx, a.stderr}, rep, opt) }); err != nil {
		return 0, err
	}
	note := func(format string, args ...any) {
		if !f.quiet {
			fmt.Fprintln(a.stderr, "note: "+report.Clean(fmt.Sprintf(format, args...)))
		}
	}
	if err := checkNamespaces(f.from.items...); err != nil {
		return 0, err
	}
	p := &egress.Predictor{
		Meshes: meshes, From: f.from.items, Subset: f.subset, Note: note,
		Proxy: effective.Proxy{Type: effective.ProxyType(f.proxy.value), Labels: f.labels.pairs},
	}
	p.TellLimits()
	var out answerWriter
	to := &stoppable{ctx, a.stdout}
	switch f.format.value {
	case "json":
		out = newAnswersJSON(to)
	case "envoy":
		out = &answersEnvoy{to: to, note: note}
	default:
		out = newAnswersText(to, a.colored(true, a.stdout))
	}
	var failed error
	err = untilDone(ctx, func() error {
		ask := p.Each(queries)
		if f.all {
			ask = p.EveryHost()
		}
		for answers, err := range ask {
			if cerr := ctx.Err(); cerr != nil {
				return cerr
			}
			failed = errors.Join(failed, err)
			for _, answer := range answers {
				if err := out.write(answer); err != nil {
					return err
				}
			}
		}
		return out.close()
	})
	if err != nil {
		return 0, err
	}
	if failed != nil {
		return 0, failed
	}
	if len(rep.Problems) > 0 {
		return exitFailed, nil
	}
	return exitClean, nil
}

// meshes reads the manifests of a run and cuts them into meshes. Only those count that the paths given are part of.
func (r *lintRun) meshes(ctx context.Context) ([]lint.Mesh, *lint.Report, error) {
	var sources []source
	if r.config.Source != "" {
		r.note("configuration: %s", r.config.Source)
	}
	if slices.Contains(r.args, "-") {
		sources = r.walker.addStdin(r.stdin, r.flags.stdinName)
	}
	for _, arg := range r.args {
		if abs := r.walker.absolute(arg); arg != "-" && isFolder(abs) && kustomizationIn(abs) != "" {
			r.say("notice: %s holds a kustomization, which is not rendered here: pipe what kustomize build %s prints to -f -", arg, arg)
		}
		if arg != "-" {
			sources = append(sources, r.walker.add(arg)...)
		}
	}
	files, err := load(ctx, sources, nil)
	if err != nil {
		return nil, nil, err
	}
	in := inputs{files: files}
	if r.flags.live.on {
		err = r.addLive(ctx, &in)
	} else {
		sources, err = r.addContext(ctx, &in, sources)
	}
	if err != nil {
		return nil, nil, err
	}
	c := r.config
	c.ForgetRules() // no rule is run, so what it says about rules is no matter
	if err := configErrors(c.problems, nil); err != nil {
		return nil, nil, err
	}
	if in.live == nil {
		r.walker.lost = append(r.walker.lost, c.emptyScopes(r.walker, sources)...)
	}
	j := &judge{configs: r.configs, walker: r.walker, live: in.live}
	meshes, rep, err := j.meshes(in.files, in.around)
	if err != nil {
		return nil, nil, err
	}
	rep.Skipped = append(rep.Skipped, r.walker.lost...)
	in.tellLost(rep)
	meshes = slices.DeleteFunc(meshes, func(m lint.Mesh) bool { return !m.Focus && in.live == nil })
	return meshes, rep, nil
}

// addContext reads what the configuration names beside the paths given. It returns all sources.
func (r *lintRun) addContext(ctx context.Context, in *inputs, sources []source) ([]source, error) {
	more, asked, _ := r.contextSources([]*settings{r.config})
	var err error
	if in.around, err = load(ctx, more, nil); err != nil {
		return nil, err
	}
	in.lost = unreadableContext(in.around, asked)
	return append(sources, more...), nil
}

// answerWriter writes answers one by one.
type answerWriter interface {
	write(*egress.Answer) error
	close() error
}
