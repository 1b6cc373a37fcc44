package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/meshvet/meshvet/lint"
	"github.com/meshvet/meshvet/lint/live"
	"github.com/meshvet/meshvet/lint/object"
)

// liveFlags say which cluster is read, and what of it is judged.
type liveFlags struct {
	on            bool
	cluster       clusterFlags
	namespaces    list
	all           bool
	meshConfigMap string
	timeout       time.Duration
	pageSize      int64
}

func newLiveFlags() liveFlags {
	return liveFlags{namespaces: list{hint: "NAMESPACE,…"}, meshConfigMap: "istio", timeout: 30 * time.Second, pageSize: 500}
}

// add gives a command the flags that say which cluster is read. namespaces is what --namespace is to the command.
func (f *liveFlags) add(flags *pflag.FlagSet, namespaces string) {
	flags.BoolVar(&f.on, "live", false, "read a running cluster; what files define counts instead of what the cluster has under the same name")
	f.cluster.add(flags)
	flags.VarP(&f.namespaces, "namespace", "n", "with --live: "+namespaces)
	flags.StringVar(&f.meshConfigMap, "mesh-config-map", f.meshConfigMap, "with --live: `NAME` of the ConfigMap with Istio's mesh configuration, istio-REVISION for a revision")
	flags.DurationVar(&f.timeout, "request-timeout", f.timeout, "with --live: time that the API server has for each answer")
	flags.Int64Var(&f.pageSize, "chunk-size", f.pageSize, "with --live: objects that are asked for at a time")
}

// liveFiles is what --namespace is to commands that take files with -f and judge nothing.
const liveFiles = "where objects of files go that name no namespace, and where to look if nobody may list all namespaces"

// check refuses flags that contradict each other or say nothing. release says that --namespace is that of a Helm release.
func (f *liveFlags) check(cmd *cobra.Command, release bool) error {
	onLine := cmd.Flags().Changed
	if !f.on {
		if release && len(f.namespaces.items) > 1 {
			return usageError{cmd, errors.New("--namespace: a release has one namespace")}
		}
		for _, name := range []string{"kubeconfig", "kube-context", "namespace", "all-namespaces", "mesh-config-map", "request-timeout", "chunk-size"} {
			if onLine(name) && (name != "namespace" || !release) {
				return usageError{cmd, fmt.Errorf("--%s is about a cluster, which only --live reads", name)}
			}
		}
		return nil
	}
	switch {
	case f.all && len(f.namespaces.items) > 0:
		if onLine("all-namespaces") && onLine("namespace") {
			return usageError{cmd, errors.New("--namespace and --all-namespaces contradict each other")}
		}
		if f.all = onLine("all-namespaces"); f.all { // the one on the command line outranks the variable
			f.namespaces.items = nil
		}
	case f.timeout <= 0:
		return usageError{cmd, errors.New("--request-timeout has to be more than nothing, such as 30s")}
	case f.pageSize <= 0:
		return usageError{cmd, errors.New("--chunk-size has to be 1 or more")}
	}
	if err := checkNamespaces(f.namespaces.items...); err != nil {
		return usageError{cmd, err}
	}
	return nil
}

// liveMesh is what a run has of a cluster.
type liveMesh struct {
	name     string         // "cluster NAME"
	judged   []*object.File // stand for the objects that findings are about
	around   []*object.File // stand for the others
	complete []object.Kind
	unlisted map[object.Kind]string // of the other kinds: why they are not
	problems []object.Problem
	skips    []lint.Skip
}

// findCluster finds the cluster of the run.
func (r *lintRun) findCluster() (*kubeTarget, error) {
	if r.cluster == nil {
		c, err := r.flags.live.cluster.find(r.getenv)
		if err != nil {
			return nil, err
		}
		r.cluster = c
	}
	return r.cluster, nil
}

// readLive reads the cluster and lays files over it: those of the paths given, and those that are context. Without paths, and with
// --all-namespaces, objects of the cluster are judged, too.
func (r *lintRun) readLive(ctx context.Context, files, around []*object.File) (*liveMesh, error) {
	f := &r.flags.live
	at, err := r.findCluster()
	if err != nil {
		return nil, err
	}
	over := slices.Concat(files, around)
	if rival, found := lint.RivalIn(over, filepath.ToSlash(r.walker.cwd)); found {
		return nil, fmt.Errorf("%s and %s both define %s, and a cluster has it once: give --live the files of one mesh only", rival.First, rival.Other, rival.Key)
	}
	home := at.namespace
	if len(f.namespaces.items) == 1 {
		home = f.namespaces.items[0]
	}
	looked := slices.Clone(f.namespaces.items)
	for _, o := range objectsIn(over) {
		switch {
		case o.Kind == object.Namespace || o.Stray:
		case o.Namespace != "":
			looked = append(looked, o.Namespace)
		case len(f.namespaces.items) > 1:
			return nil, fmt.Errorf("%s: %s names no namespace, and --namespace names %d; give one", o.Locate(nil), o.Key, len(f.namespaces.items))
		default:
			looked = append(looked, home)
		}
	}
	slices.Sort(looked)
	done := r.meter.begin("reading cluster "+at.name, 0, "object")
	state, err := live.Read(ctx, live.Options{
		Cluster: at.config, Namespaces: slices.Compact(looked), RootNamespace: r.config.Mesh.RootNamespace, MeshConfigMap: f.meshConfigMap,
		PageSize: f.pageSize, RequestTimeout: f.timeout, Done: done,
		Say: func(line string) { r.say("%s", line) },
	})
	if err != nil {
		return nil, err
	}
	for _, w := range state.Warnings {
		r.note("the API server warns: %s", w)
	}
	r.note("cluster: %s at %s, %d objects", at.name, at.config.Host, len(state.Objects))
	m := &liveMesh{name: "cluster " + at.name, unlisted: map[object.Kind]string{}}
	wanted := func(o *object.Object) bool {
		return f.all || slices.Contains(f.namespaces.items, o.Namespace) || len(f.namespaces.items) == 0
	}
	judges := len(r.args) == 0 || f.all
	if !judges {
		wanted = func(*object.Object) bool { return false }
	}
	if err := m.account(r, state, judges); err != nil {
		return nil, err
	}
	m.lay(over, state, home, wanted)
	return m, nil
}

func objectsIn(files []*object.File) []*object.Object {
	var out []*object.Object
	for _, f := range files {
		out = append(out, f.Objects...)
	}
	return out
}

// lay takes over the objects of the cluster that no file defines. Files are read for this run only, so their objects can still be told what
// the cluster makes of them.
func (m *liveMesh) lay(over []*object.File, state *live.State, home string, wanted func(*object.Object) bool) {
	have := map[object.Key]*object.Object{}
	for _, o := range state.Objects {
		have[o.Key] = o
	}
	gone := map[*object.Object]bool{}
	for _, o := range objectsIn(over) {
		if o.Stray {
			continue
		}
		key := o.Key
		if key.Namespace == "" && key.Kind != object.Namespace {
			key.Namespace = home
		}
		o.Apply(home, have[key])
		gone[have[key]] = true
	}
	for _, o := range state.Objects {
		switch {
		case gone[o]:
		case o.Kind.Judged() && wanted(o):
			m.judged = append(m.judged, object.ClusterFile(o))
		default:
			m.around = append(m.around, object.ClusterFile(o))
		}
	}
}

// account says what of the cluster is not known, and what that means. judges says that its objects are judged.
func (m *liveMesh) account(r *lintRun, state *live.State, judges bool) error {
	if !state.Served(object.ServiceEntry) && !state.Served(object.DestinationRule) {
		return fmt.Errorf("%s does not serve serviceentries.networking.istio.io and destinationrules.networking.istio.io: Istio's CustomResourceDefinitions are not installed there; name the cluster of the mesh with --kube-context", m.name)
	}
	asked := r.flags.live.namespaces.items
	for i := range state.Kinds {
		k := &state.Kinds[i]
		at := object.Location{File: "cluster:" + k.String()}
		if k.Kind == object.ConfigMap {
			m.accountMeshConfig(r, k)
			continue
		}
		if k.Complete() {
			m.complete = append(m.complete, k.Kind)
		}
		judged := judges && k.Kind.Judged()
		switch k.Outcome {
		case live.All:
		case live.Absent:
			if k.Optional {
				r.note("%s is not served, so there is no %s", k, k.Kind)
			} else {
				m.skip(at, "is not served by the API server, so there is no "+string(k.Kind), lint.Unmatched)
			}
		case live.Failed:
			m.problems = append(m.problems, object.Problem{Kind: clusterProblem, Location: at, Message: "could not be listed: " + k.Reason})
		default: // it may not be read, or not everywhere
			m.unlisted[k.Kind] = k.Reason
			lost := slices.DeleteFunc(slices.Clone(asked), func(ns string) bool { return slices.Contains(k.Namespaces, ns) })
			switch {
			case judged && (len(asked) == 0 || len(lost) > 0), k.Kind.Judged() && k.Outcome == live.Denied:
				advice := "; a ClusterRole with the verbs get and list grants it"
				if len(asked) == 0 {
					advice += ", and --namespace asks for less"
				}
				m.problems = append(m.problems, object.Problem{Kind: clusterProblem, Location: at, Message: k.Reason + advice})
			case len(k.Namespaces) > 0:
				m.skip(at, fmt.Sprintf("is known in %s only: %s; rules that need to know every %s do not run",
					namespaceList(k.Namespaces), k.Reason, k.Kind), lint.Unread)
			default:
				m.skip(at, fmt.Sprintf("is not in view: %s; rules that need to know every %s do not run", k.Reason, k.Kind), lint.Unread)
			}
		}
		for _, u := range k.Unreadable {
			where := object.Location{File: u.Name}
			m.unlisted[k.Kind] = u.Name + " cannot be read"
			if judged {
				m.problems = append(m.problems, object.Problem{Kind: object.Bounds, Location: where, Message: "cannot be read: " + u.Reason})
			} else {
				m.skip(where, "cannot be read: "+u.Reason, lint.Unread)
			}
		}
	}
	m.checkNamespaces(asked, state)
	return nil
}

// clusterProblem is the kind of problem that a cluster is which does not give what is asked of it.
const clusterProblem object.ProblemKind = "cluster"

func namespaceList(names []string) string {
	if len(names) == 1 {
		return "namespace " + names[0]
	}
	return "namespaces " + strings.Join(names, ", ")
}

func (m *liveMesh) skip(at object.Location, reason string, cause lint.SkipCause) {
	m.skips = append(m.skips, lint.Skip{File: at.File, Reason: reason, Cause: cause})
}

// accountMeshConfig says that defaults are assumed where the mesh configuration cannot be read.
func (m *liveMesh) accountMeshConfig(r *lintRun, k *live.KindState) {
	if k.Outcome == live.All || r.config.Mesh.MeshConfig.Set() {
		return
	}
	root := cmp.Or(r.config.Mesh.RootNamespace, "istio-system")
	at := object.Location{File: "cluster:ConfigMap/" + root + "/" + r.flags.live.meshConfigMap}
	const assumed = "Istio's default mesh configuration is assumed"
	switch k.Outcome {
	case live.Absent:
		m.skip(at, "is not there, so "+assumed+"; --mesh-config-map names that of a revision, and istio.rootNamespace in the configuration another namespace", lint.Unmatched)
	case live.Failed:
		m.problems = append(m.problems, object.Problem{Kind: clusterProblem, Location: at, Message: "could not be read: " + k.Reason})
	default:
		m.skip(at, "is not in view: "+k.Reason+"; "+assumed, lint.Unread)
	}
}

// checkNamespaces makes problems of namespaces that somebody asks for and that are not there: their objects are none, which is not the same
// as none with a fault.
func (m *liveMesh) checkNamespaces(asked []string, state *live.State) {
	if state.Of(object.Namespace).Outcome != live.All {
		return
	}
	var names []string
	for _, o := range state.Objects {
		if o.Kind == object.Namespace {
			names = append(names, o.Name)
		}
	}
	for _, ns := range asked {
		if !slices.Contains(names, ns) {
			m.problems = append(m.problems, object.Problem{
				Kind: clusterProblem, Location: object.Location{File: "cluster:Namespace/" + ns},
				Message: "is not there: " + m.name + " has no such namespace" + didYouMean(ns, names),
			})
		}
	}
}

// overlay is a configuration for files that are laid over the cluster.
func (m *liveMesh) overlay(c *lint.Config) {
	c.Cluster, c.Unlisted = m.name, m.unlisted
	for _, k := range m.complete {
		if !slices.Contains(c.Complete, k) {
			c.Complete = append(slices.Clip(c.Complete), k)
		}
	}
	c.Partial = len(m.unlisted) > 0
}
