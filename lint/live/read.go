package live

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/meshvet/meshvet/lint/object"
)

// Options says what is read, and from where.
type Options struct {
	Cluster *rest.Config
	// Namespaces are where objects are looked for one namespace after the other if it is not allowed to list those of all.
	Namespaces []string
	// RootNamespace and MeshConfigMap name the ConfigMap with Istio's mesh configuration; "" means istio-system and istio.
	RootNamespace, MeshConfigMap string
	PageSize                     int64         // objects in one answer; 0 = 500
	RequestTimeout               time.Duration // of one request, repetitions included, and of a credential plugin; 0 = 30 s
	// Say, if it is set, is told what the kubeconfig's credential plugin says, line by line, such as where to log in.
	Say func(line string)
	// Done, if there is one, is increased by each object that was read.
	Done *atomic.Int64
}

// Outcome is what became of a kind.
type Outcome string

// The outcomes.
const (
	All    Outcome = "all"    // every object of the cluster was listed
	Some   Outcome = "some"   // those of some namespaces were
	Absent Outcome = "absent" // the API server does not serve the kind, so there are no objects of it
	Denied Outcome = "denied" // it may not be read
	Failed Outcome = "failed" // the API server did not answer, or not with a list
)

// KindState says how far a kind is known.
type KindState struct {
	ReadKind
	Outcome    Outcome
	Namespaces []string // of Some: those that were listed
	Reason     string   // of Some, Denied and Failed: why it is not All, in words for the user
	// Unreadable are objects that were listed and are not in State.Objects, each with the reason.
	Unreadable []Unreadable
}

// Unreadable is an object that is larger or deeper than is read.
type Unreadable struct {
	Name   string // that of object.Object.FileName
	Reason string
}

// Complete says whether every object of the kind is known.
func (k *KindState) Complete() bool {
	return (k.Outcome == All || k.Outcome == Absent) && len(k.Unreadable) == 0
}

// State is what a cluster holds.
type State struct {
	Objects []*object.Object // by kind, namespace and name
	// Kinds are those of Kinds, in that order, and the mesh configuration. That is Absent where there is no such ConfigMap.
	Kinds    []KindState
	Warnings []string // what the API server warns of, once each
}

// Of returns what became of a kind.
func (s *State) Of(k object.Kind) *KindState {
	i := slices.IndexFunc(s.Kinds, func(have KindState) bool { return have.Kind == k })
	if i < 0 {
		return &KindState{ReadKind: ReadKind{Kind: k}, Outcome: Absent}
	}
	return &s.Kinds[i]
}

// Served says whether the API server knows a kind, or does not let that be known.
func (s *State) Served(k object.Kind) bool { return s.Of(k).Outcome != Absent }

const (
	defaultPageSize = 500
	defaultTimeout  = 30 * time.Second
	// atOnce is how many kinds are read side by side.
	atOnce = 4
	// mostObjects bounds what is sent of a kind, mostUnreadable those of it that cannot be read, and mostEmpty the answers without an
	// object: a server may go on for ever.
	mostObjects    = 500_000
	mostUnreadable = 1000
	mostEmpty      = 20
	// mostRestarts is how often a list begins again whose next page has expired; then it is asked for in one piece.
	mostRestarts = 2
)

// Read reads a cluster. The error is for ctx, and for an API server that cannot be reached or takes no credentials: there, all
// kinds would fail for one reason.
func Read(ctx context.Context, o Options) (*State, error) {
	if o.PageSize <= 0 {
		o.PageSize = defaultPageSize
	}
	if o.RequestTimeout <= 0 {
		o.RequestTimeout = defaultTimeout
	}
	if o.RootNamespace == "" {
		o.RootNamespace = "istio-system"
	}
	if o.MeshConfigMap == "" {
		o.MeshConfigMap = "istio"
	}
	if o.Done == nil {
		o.Done = new(atomic.Int64)
	}
	r := &reader{Options: o}
	cfg := rest.CopyConfig(o.Cluster)
	cfg.QPS = -1 // there are never more requests than kinds that are read at once
	cfg.Timeout = o.RequestTimeout
	cfg.WarningHandler = &r.warnings
	if err := Login(ctx, cfg, o.RequestTimeout, o.Say); err != nil {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("read the cluster: %w", ctx.Err())
		}
		return nil, r.unreachable(err)
	}
	client, err := newClient(cfg, mostBytes)
	if err != nil {
		return nil, fmt.Errorf("make a client for the API server: %w", err)
	}
	if r.dynamic, err = dynamic.NewForConfigAndClient(cfg, client); err != nil {
		return nil, fmt.Errorf("make a client for the API server: %w", err)
	}
	found, err := discovery.NewDiscoveryClientForConfigAndClient(cfg, client)
	if err != nil {
		return nil, fmt.Errorf("make a client for the API server: %w", err)
	}
	r.discovery = &cachedDiscovery{ask: func(gv string) (*metav1.APIResourceList, error) {
		ctx, cancel := context.WithTimeout(ctx, o.RequestTimeout)
		defer cancel()
		return found.ServerResourcesForGroupVersionWithContext(ctx, gv)
	}}
	// The first answer says whether there is any use in asking further.
	core, err := r.discovery.ServerResourcesForGroupVersion("v1")
	switch {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("read the cluster: %w", ctx.Err())
	case apierrors.IsForbidden(err): // so may the kinds be; each is told
	case err != nil:
		return nil, r.unreachable(err)
	case len(core.APIResources) == 0:
		return nil, r.unreachable(errNoKubernetes)
	}
	return r.all(ctx)
}

// reader is one reading of a cluster.
type reader struct {
	Options
	dynamic   dynamic.Interface
	discovery Discovery
	warnings  warnings
}

func (r *reader) all(ctx context.Context) (*State, error) {
	kinds := append(Kinds(), configMaps())
	states := make([]KindState, len(kinds))
	objects := make([][]*object.Object, len(kinds))
	var wg sync.WaitGroup
	slots := make(chan struct{}, atOnce)
	for i, k := range kinds {
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			l := &listing{reader: r, state: &states[i]}
			l.state.ReadKind = k
			if k.Kind == object.ConfigMap {
				l.readMeshConfig(ctx)
			} else {
				l.readAll(ctx)
			}
			objects[i] = l.objects
		})
	}
	wg.Wait()
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("read the cluster: %w", err)
	}
	s := &State{Kinds: states, Warnings: r.warnings.told()}
	for _, list := range objects {
		slices.SortFunc(list, func(a, b *object.Object) int { return strings.Compare(a.FileName(), b.FileName()) })
		s.Objects = append(s.Objects, list...)
	}
	return s, nil
}

// listing is the reading of one kind.
type listing struct {
	*reader
	state   *KindState
	objects []*object.Object
}

func (l *listing) readAll(ctx context.Context) {
	gvr, err := l.state.Served(l.discovery)
	switch {
	case err != nil:
		l.fail(err)
		return
	case gvr.Version == "":
		l.state.Outcome = Absent
		return
	}
	err = l.list(ctx, gvr, "")
	switch {
	case err == nil:
		l.state.Outcome = All
	case apierrors.IsNotFound(err): // the CustomResourceDefinition has just been removed
		l.objects, l.state.Unreadable = nil, nil
		l.state.Outcome = Absent
	case !apierrors.IsForbidden(err):
		l.fail(err)
	default:
		l.objects, l.state.Unreadable = nil, nil
		l.state.Outcome, l.state.Reason = Denied, missing(l.state.ReadKind, "list", "", err)
		l.readEach(ctx, gvr)
	}
}

// readEach reads the kind where a Role of a namespace may allow it.
func (l *listing) readEach(ctx context.Context, gvr schema.GroupVersionResource) {
	var reasons []string
	for _, ns := range l.Namespaces {
		verb := "list"
		var err error
		if l.state.Kind == object.Namespace {
			verb = "get"
			var u *unstructured.Unstructured
			if u, err = l.get(ctx, gvr, "", ns); err == nil {
				l.keep(u)
			}
		} else {
			err = l.list(ctx, gvr, ns)
		}
		switch {
		case err == nil:
			l.state.Namespaces = append(l.state.Namespaces, ns)
		case apierrors.IsNotFound(err):
		case apierrors.IsForbidden(err):
			reasons = append(reasons, missing(l.state.ReadKind, verb, ns, err))
		default:
			l.fail(err)
			return
		}
	}
	if len(l.state.Namespaces) > 0 {
		l.state.Outcome = Some
	}
	if len(reasons) > 0 {
		l.state.Reason = strings.Join(reasons, "; ")
	}
}

func (l *listing) readMeshConfig(ctx context.Context) {
	u, err := l.get(ctx, schema.GroupVersionResource{Version: "v1", Resource: l.state.Resource}, l.RootNamespace, l.MeshConfigMap)
	switch {
	case err == nil:
		l.state.Outcome = All
		l.keep(u)
	case apierrors.IsNotFound(err):
		l.state.Outcome = Absent
	case apierrors.IsForbidden(err):
		named := l.state.ReadKind
		named.Resource += " " + l.MeshConfigMap
		l.state.Outcome, l.state.Reason = Denied, missing(named, "get", l.RootNamespace, err)
	default:
		l.fail(err)
	}
}

// fail gives the kind up. What was read of it so far counts for nothing, since more may contradict it.
func (l *listing) fail(err error) {
	l.objects, l.state.Unreadable, l.state.Namespaces = nil, nil, nil
	l.state.Outcome, l.state.Reason = Failed, l.reason(err)
}

func (l *listing) get(ctx context.Context, gvr schema.GroupVersionResource, ns, name string) (*unstructured.Unstructured, error) {
	ctx, cancel := context.WithTimeout(ctx, l.RequestTimeout)
	defer cancel()
	u, err := l.at(gvr, ns).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	return u, l.checkObject(u)
}

func (l *listing) at(gvr schema.GroupVersionResource, ns string) dynamic.ResourceInterface {
	if ns == "" {
		return l.dynamic.Resource(gvr)
	}
	return l.dynamic.Resource(gvr).Namespace(ns)
}

// list reads the objects of a namespace, "" for all, page by page. A list whose next page has expired begins again, since objects may have
// come and gone.
func (l *listing) list(ctx context.Context, gvr schema.GroupVersionResource, ns string) error {
	kept, unreadable := len(l.objects), len(l.state.Unreadable)
	for restarts := 0; ; restarts++ {
		size := l.PageSize
		if restarts > mostRestarts {
			size = 0 // what comes in one piece does not expire
		}
		err := l.pages(ctx, gvr, ns, size)
		if err == nil || !expired(err) || size == 0 {
			return err
		}
		l.Done.Add(int64(kept - len(l.objects)))
		l.objects, l.state.Unreadable = l.objects[:kept], l.state.Unreadable[:unreadable]
	}
}

func expired(err error) bool { return apierrors.IsResourceExpired(err) || apierrors.IsGone(err) }

var errNoKubernetes = errors.New("what answers there is no Kubernetes API server")

var errEndless = errors.New("the API server goes on listing; that is more than is read")

var errUnreadable = fmt.Errorf("the API server lists more than %d objects that are not what was asked for, or cannot be read", mostUnreadable)

// unaskedError is an answer that is something else than was asked for.
type unaskedError struct{ got, want string }

func (e *unaskedError) Error() string {
	return fmt.Sprintf("the API server answered with %s, not %s", e.got, e.want)
}

// checkList refuses what is no list of the kind. The client takes any object for an empty list.
func (l *listing) checkList(list *unstructured.UnstructuredList, gvr schema.GroupVersionResource) error {
	kind := list.GetKind()
	switch {
	case kind == string(l.state.Kind)+"List" && list.GroupVersionKind().Group == gvr.Group:
		return nil
	case !strings.HasSuffix(kind, "List"):
		return &unaskedError{withArticle(kind), "a list"}
	case kind == string(l.state.Kind)+"List":
		return &unaskedError{withArticle(kind) + " of " + plain(list.GetAPIVersion()), "one of " + gvr.GroupVersion().String()}
	}
	return &unaskedError{withArticle(kind), withArticle(string(l.state.Kind) + "List")}
}

// checkObject refuses an object of another kind than the one that was asked for.
func (l *listing) checkObject(u *unstructured.Unstructured) error {
	if kind := u.GetKind(); kind != string(l.state.Kind) {
		return &unaskedError{withArticle(kind), withArticle(string(l.state.Kind))}
	}
	return nil
}

func withArticle(kind string) string {
	kind = plain(kind)
	if strings.IndexAny(kind, "AEIOU") == 0 {
		return "an " + kind
	}
	return "a " + kind
}

// pages lists objects, with at most so many in an answer; 0 = all in one.
func (l *listing) pages(ctx context.Context, gvr schema.GroupVersionResource, ns string, size int64) error {
	next := ""
	received, empty := 0, 0
	for {
		list, err := l.page(ctx, gvr, ns, metav1.ListOptions{Limit: size, Continue: next})
		if err != nil {
			return err
		}
		if err := l.checkList(list, gvr); err != nil {
			return err
		}
		received += len(list.Items)
		for i := range list.Items {
			l.keep(&list.Items[i])
			if len(l.state.Unreadable) > mostUnreadable {
				return errUnreadable
			}
		}
		if next = list.GetContinue(); next == "" {
			return nil
		}
		if len(list.Items) == 0 {
			empty++
		}
		if received > mostObjects || empty > mostEmpty {
			return errEndless
		}
	}
}

func (l *listing) page(ctx context.Context, gvr schema.GroupVersionResource, ns string, o metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	ctx, cancel := context.WithTimeout(ctx, l.RequestTimeout)
	defer cancel()
	return l.at(gvr, ns).List(ctx, o)
}

// keep takes over an object. Its unstructured form, several times as large, is garbage then.
func (l *listing) keep(u *unstructured.Unstructured) {
	l.Done.Add(1)
	o, err := Object(u.Object)
	switch {
	case err == nil && o.Kind == l.state.Kind && !o.Stray:
		l.objects = append(l.objects, o)
	case err == nil:
		err = fmt.Errorf("is of another kind, %s", o.Kind)
		fallthrough
	default:
		name := "cluster:" + string(l.state.Kind) + "/" + strings.TrimPrefix(u.GetNamespace()+"/"+u.GetName(), "/")
		l.state.Unreadable = append(l.state.Unreadable, Unreadable{Name: name, Reason: err.Error()})
	}
}

// cachedDiscovery asks for the resources of each group and version once.
type cachedDiscovery struct {
	ask     func(gv string) (*metav1.APIResourceList, error)
	answers sync.Map // from group and version to a func() (*metav1.APIResourceList, error)
}

func (c *cachedDiscovery) ServerResourcesForGroupVersion(gv string) (*metav1.APIResourceList, error) {
	known, _ := c.answers.LoadOrStore(gv, sync.OnceValues(func() (*metav1.APIResourceList, error) {
		return c.ask(gv)
	}))
	answer, ok := known.(func() (*metav1.APIResourceList, error))
	if !ok {
		return nil, errors.New("no answer")
	}
	return answer()
}

// warnings collects what the API server warns of.
type warnings struct {
	mu   sync.Mutex
	seen []string
}

// mostWarnings bounds what is kept of them.
const mostWarnings = 20

// HandleWarningHeader keeps the text of a warning.
func (w *warnings) HandleWarningHeader(code int, _, text string) {
	const persistent = 299 // the only code of Kubernetes' own warnings
	if code != persistent || text == "" {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.seen) < mostWarnings && !slices.Contains(w.seen, text) {
		w.seen = append(w.seen, text)
	}
}

func (w *warnings) told() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	slices.Sort(w.seen)
	return w.seen
}
