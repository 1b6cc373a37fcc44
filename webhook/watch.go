package webhook

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	authorization "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/meshvet/meshvet/lint/live"
	"github.com/meshvet/meshvet/lint/object"
)

// State is how far the index knows a kind.
type State string

// The states of a kind. Rules that conclude something from the absence of an object run only where all kinds that they need are
// synced or absent.
const (
	Syncing   State = "syncing"   // its objects are being listed, or the API server does not answer
	Synced    State = "synced"    // the index follows the API server
	Absent    State = "absent"    // the API server does not serve the kind, so there are no objects of it
	Forbidden State = "forbidden" // the ServiceAccount may not read it
)

// watchRetry is the time between two attempts to find a kind that is not served, or to read one that may not be read.
const watchRetry = 10 * time.Second

// cluster is the API server to the watches.
type cluster struct {
	dynamic   dynamic.Interface
	discovery discovery.DiscoveryInterface
	access    authorization.SelfSubjectAccessReviewInterface
}

// namespace reads a Namespace.
func (c *cluster) namespace(ctx context.Context, name string) (*object.Object, error) {
	u, err := c.dynamic.Resource(schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("read namespace %s: %w", name, err)
	}
	return live.Object(u.Object)
}

func newCluster(cfg *rest.Config) (*cluster, error) {
	cfg = rest.CopyConfig(cfg)
	cfg.QPS, cfg.Burst = 50, 100 // a dozen kinds are listed at once when the server starts
	d, err := dynamic.NewForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("make a client for the API server: %w", err)
	}
	found, err := discovery.NewDiscoveryClientForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("make a client for the API server: %w", err)
	}
	auth, err := authorization.NewForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("make a client for the API server: %w", err)
	}
	return &cluster{dynamic: d, discovery: found, access: auth.SelfSubjectAccessReviews()}, nil
}

// watch keeps the objects of one kind in the index at the state of the cluster: through lost connections, missing rights and
// CustomResourceDefinitions that come and go. A kind that cannot be read does not keep the others from being read.
type watch struct {
	live.ReadKind
	name    string // "" = all
	cluster *cluster
	index   *Index
	log     logr.Logger
	retry   time.Duration

	mu         sync.Mutex
	namespace  string                  // "" = all
	interrupt  context.CancelCauseFunc // ends what runs at the moment; nil if nothing does
	state      State
	why        string              // of a state other than Synced
	unreadable map[object.Key]bool // objects that could not be read
	asked      bool                // whether it is known that the kind is served, or not, and may be read
}

// newWatches makes a watch for every kind that is read, and one for the ConfigMap with the mesh configuration.
func newWatches(c *cluster, index *Index, log logr.Logger, root, configMap string) []*watch {
	var out []*watch
	for _, k := range live.Kinds() {
		out = append(out, &watch{ReadKind: k, cluster: c, index: index, log: log})
	}
	config := &watch{
		ReadKind:  live.ReadKind{Kind: object.ConfigMap, Resource: "configmaps"},
		namespace: root,
		name:      configMap, cluster: c, index: index, log: log,
	}
	out = append(out, config)
	for _, w := range out {
		w.state, w.why, w.retry, w.unreadable = Syncing, "it has just started", watchRetry, map[object.Key]bool{}
		w.log = log.WithValues("kind", w.Kind)
	}
	return out
}

// run follows the kind until ctx ends.
func (w *watch) run(ctx context.Context) {
	const soon = time.Second
	for ctx.Err() == nil {
		pause := w.retry
		gvr, err := w.Served(w.cluster.discovery)
		switch {
		case err != nil:
			w.set(Syncing, err.Error())
			pause = soon
		case gvr.Version == "":
			w.index.Retain(w.Kind, func(object.Key) bool { return false })
			w.set(Absent, "the API server does not serve it")
		default:
			ns := w.place()
			if why := w.denied(ctx, gvr, ns); why != "" {
				w.set(Forbidden, why)
				break
			}
			err := w.follow(ctx, gvr, ns)
			if ctx.Err() != nil {
				return
			}
			w.set(Syncing, err.Error())
			pause = soon
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

// place is the namespace in which the kind is watched, "" for all.
func (w *watch) place() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.namespace
}

// move watches the kind in another namespace from now on.
func (w *watch) move(ns string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.namespace == ns {
		return
	}
	w.namespace = ns
	if w.interrupt != nil {
		w.interrupt(fmt.Errorf("from now on it is namespace %s", ns))
	}
}

// denied says which right is missing, "" if none is. A review that cannot be made denies nothing: the request itself will tell.
func (w *watch) denied(ctx context.Context, gvr schema.GroupVersionResource, ns string) string {
	var missing []string
	for _, verb := range [...]string{"list", "watch"} {
		review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
			ResourceAttributes: &authorizationv1.ResourceAttributes{
				Namespace: ns, Name: w.name, Verb: verb, Group: gvr.Group, Version: gvr.Version, Resource: gvr.Resource,
			},
		}}
		answer, err := w.cluster.access.Create(ctx, review, metav1.CreateOptions{})
		if err == nil && !answer.Status.Allowed {
			missing = append(missing, verb)
		}
	}
	if len(missing) == 0 {
		return ""
	}
	what := gvr.GroupResource().String()
	if w.name != "" {
		what += " " + ns + "/" + w.name
	}
	return fmt.Sprintf("no permission to %s %s", strings.Join(missing, " and "), what)
}

// follow runs an informer until ctx ends or the API server says that there is nothing to follow; the error says what it said.
func (w *watch) follow(ctx context.Context, gvr schema.GroupVersionResource, ns string) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	w.mu.Lock()
	w.interrupt = stop
	w.mu.Unlock()
	informer := dynamicinformer.NewFilteredDynamicInformer(w.cluster.dynamic, gvr, ns, 0, cache.Indexers{},
		func(o *metav1.ListOptions) {
			if w.name != "" {
				o.FieldSelector = fields.OneTermEqualSelector("metadata.name", w.name).String()
			}
		}).Informer()
	if err := informer.SetTransform(track); err != nil {
		return fmt.Errorf("set up the informer: %w", err)
	}
	err := informer.SetWatchErrorHandlerWithContext(func(_ context.Context, _ *cache.Reflector, err error) {
		if apierrors.IsForbidden(err) || apierrors.IsNotFound(err) {
			stop(err)
			return
		}
		// Nothing changes while the API server is away, and the informer asks again by itself.
		w.log.V(1).Info("the watch was interrupted", "error", err.Error())
	})
	if err != nil {
		return fmt.Errorf("set up the informer: %w", err)
	}
	registration, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { w.put(o) },
		UpdateFunc: func(_, o any) { w.put(o) },
		DeleteFunc: w.drop,
	})
	if err != nil {
		return fmt.Errorf("set up the informer: %w", err)
	}
	var running sync.WaitGroup
	defer running.Wait()
	defer stop(nil)
	running.Go(func() { informer.RunWithContext(ctx) })
	if cache.WaitForCacheSync(ctx.Done(), registration.HasSynced) {
		w.index.Retain(w.Kind, func(k object.Key) bool {
			_, there, err := informer.GetStore().GetByKey(cache.NewObjectName(k.Namespace, k.Name).String())
			return there || err != nil
		})
		w.set(Synced, "")
		<-ctx.Done()
	}
	return cmp.Or(context.Cause(ctx), errors.New("the watch ended"))
}

// put hands a new state of an object to the index.
func (w *watch) put(o any) {
	t, ok := o.(*tracked)
	if !ok {
		return
	}
	key := object.Key{Kind: w.Kind, Namespace: t.Namespace, Name: t.Name}
	if t.object == nil {
		w.index.Delete(key)
		w.readable(key, t.err)
		return
	}
	w.index.Put(t.object)
	w.readable(key, nil)
}

func (w *watch) drop(o any) {
	if gone, ok := o.(cache.DeletedFinalStateUnknown); ok {
		o = gone.Obj
	}
	t, ok := o.(*tracked)
	if !ok {
		return
	}
	key := object.Key{Kind: w.Kind, Namespace: t.Namespace, Name: t.Name}
	w.index.Delete(key)
	w.readable(key, nil)
}

// readable notes whether an object could be read. A kind with one that could not is not completely known.
func (w *watch) readable(k object.Key, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if (err != nil) == w.unreadable[k] {
		return
	}
	if err != nil {
		w.unreadable[k] = true
		w.log.Error(err, "an object cannot be read; nothing is concluded from what is missing of its kind", "namespace", k.Namespace, "name", k.Name)
	} else {
		delete(w.unreadable, k)
	}
	w.index.SetComplete(w.Kind, w.complete())
}

// set notes a state, and says so once.
func (w *watch) set(s State, why string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.state != s || w.why != why {
		switch s {
		case Synced:
			w.log.Info("in view")
		case Absent:
			w.log.Info("not served", "optional", w.Optional)
		case Forbidden:
			w.log.Error(errors.New(why), "not in view; rules that need to know all objects of the kind do not run")
		default:
			w.log.Info("not in view; rules that need to know all objects of the kind do not run", "state", s, "reason", why)
		}
	}
	w.state, w.why = s, why
	w.asked = w.asked || s != Syncing
	w.index.SetComplete(w.Kind, w.complete())
}

// complete says whether the index has all objects of the kind. The caller holds the lock.
func (w *watch) complete() bool {
	return (w.state == Synced || w.state == Absent) && len(w.unreadable) == 0
}

// status returns the state of the kind and what is wrong with it.
func (w *watch) status() (State, string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.state, w.why
}

// settled says whether the index knows of the kind what can be known: a server whose rights do not suffice serves what it can.
func (w *watch) settled() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.asked
}
