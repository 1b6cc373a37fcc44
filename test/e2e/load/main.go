// Command load measures what the webhook takes in a large mesh: it fills a real API server with objects, runs the chart's
// process on it, and sends reviews straight to that at an even rate, beside an empty handler of controller-runtime that gets as many. It prints
// tables in Markdown for docs/performance.md.
//
// It judges nothing: that answers are right under load is for the tests, and how fast they have to be depends on the machine.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/meshvet/meshvet/test/e2e/cluster"
	"github.com/meshvet/meshvet/test/e2e/release"
)

// emptyVariable has the port that this program serves an empty handler on, when it was started for that.
const emptyVariable = "MESHVET_LOAD_EMPTY"

func main() {
	if cluster.Reap() {
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	var err error
	if port := os.Getenv(emptyVariable); port != "" {
		err = serveEmpty(ctx, port)
	} else {
		err = run(ctx, os.Args[1:], os.Stdout)
	}
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

type options struct {
	objects  int
	rate     int // reviews a second
	duration time.Duration
	churn    int // writes a second
	profile  string
}

func run(ctx context.Context, args []string, out io.Writer) (err error) {
	var o options
	flags := flag.NewFlagSet("load", flag.ContinueOnError)
	flags.IntVar(&o.objects, "objects", 20000, "how many objects the mesh has")
	flags.IntVar(&o.rate, "rate", 200, "reviews a second")
	flags.DurationVar(&o.duration, "duration", time.Minute, "how long reviews are sent, twice")
	flags.IntVar(&o.churn, "churn", 20, "objects that are written a second, the second time")
	flags.StringVar(&o.profile, "profile", "", "write the CPU profile of the first pass to a `FILE`, for go tool pprof")
	if err := flags.Parse(args); err != nil {
		return err
	}
	assets, err := cluster.Find()
	if err != nil {
		return err
	}
	reaper, err := cluster.StartReaper()
	if err != nil {
		return err
	}
	defer func() {
		_, stopErr := reaper.Stop()
		err = errors.Join(err, stopErr)
	}()
	c, err := cluster.Start(ctx, assets, reaper.Folder)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Stop()) }()
	binary, err := release.Binary(ctx, c)
	if err != nil {
		return err
	}
	m := newMesh(o.objects)
	began := time.Now()
	progress("creating %d objects", m.objects())
	if err := m.create(ctx, c.Config); err != nil {
		return err
	}
	progress("created them in %s", time.Since(began).Round(time.Second))

	began = time.Now()
	values, pprof := "", 0
	if o.profile != "" {
		if pprof, err = release.FreePort(); err != nil {
			return err
		}
		values = fmt.Sprintf("extraArgs: ['--pprof-bind-address=127.0.0.1:%d']\n", pprof)
	}
	r, err := release.Install(ctx, c, binary, release.Options{Name: "meshvet", Values: values})
	if r != nil {
		defer func() { err = errors.Join(err, r.Uninstall(context.WithoutCancel(ctx))) }()
	}
	if err != nil {
		return err
	}
	progress("the release was ready after %s", time.Since(began).Round(100*time.Millisecond))
	empty, err := startEmpty(ctx, c, r)
	if err != nil {
		return err
	}
	l := &load{options: o, cluster: c, release: r, mesh: m, empty: empty, pprof: pprof}
	return l.measure(ctx, out)
}

func progress(format string, args ...any) {
	fmt.Fprintf(os.Stderr, format+"\n", args...)
}

// load is a measurement.
type load struct {
	options
	cluster *cluster.Cluster
	release *release.Release
	mesh    *mesh
	empty   *target
	pprof   int // port, 0 = none
}

// figures are what one pass came to.
type figures struct {
	name           string
	meshvet, empty *outcome
	handler        histogram
	resident, cpu  float64 // bytes at the end, seconds
	shed           float64 // reviews that were let pass unjudged, since there was no time
	collections    float64
	longestPause   float64 // seconds, of all collections so far
	written        int
}

func (l *load) measure(ctx context.Context, out io.Writer) error {
	webhook := newTarget(l.release.Pod().WebhookPort)
	warm, err := l.mesh.reviews(l.rate, 0)
	if err != nil {
		return err
	}
	for _, t := range []*target{webhook, l.empty} {
		if o := t.drive(ctx, warm, time.Second/time.Duration(l.rate), 0); len(o.failures) > 0 {
			return fmt.Errorf("%d of %d reviews failed, the first with: %s", len(o.failures), len(warm), o.failures[0])
		}
	}
	idle, err := l.release.Pod().Memory()
	if err != nil {
		return err
	}
	profiled := make(chan error, 1)
	go func() { profiled <- l.writeProfile(ctx) }()
	quiet, err := l.pass(ctx, webhook, "nothing changes", 0)
	if err := errors.Join(err, <-profiled); err != nil {
		return err
	}
	busy, err := l.pass(ctx, webhook, fmt.Sprintf("%d objects change a second", l.churn), l.churn)
	if err != nil {
		return err
	}
	peak, err := l.release.Pod().PeakMemory()
	if err != nil {
		return err
	}
	return l.print(out, idle, peak, quiet, busy)
}

// writeProfile writes the CPU profile of the time that a pass takes, if one is wanted.
func (l *load) writeProfile(ctx context.Context) error {
	if l.pprof == 0 {
		return nil
	}
	code, text, err := l.release.Pod().Get(ctx, l.pprof, fmt.Sprintf("/debug/pprof/profile?seconds=%d", int(l.duration.Seconds())))
	if err != nil || code != http.StatusOK {
		return fmt.Errorf("get the profile: %d %w", code, err)
	}
	if err := os.WriteFile(l.profile, []byte(text), 0o600); err != nil {
		return fmt.Errorf("write the profile: %w", err)
	}
	return nil
}

// pass sends reviews to both handlers, one between two of the other, while so many objects are written a second.
func (l *load) pass(ctx context.Context, webhook *target, name string, churn int) (*figures, error) {
	bodies, err := l.mesh.reviews(int(l.duration.Seconds()*float64(l.rate)), 1)
	if err != nil {
		return nil, err
	}
	progress("%d reviews, %d a second: %s", len(bodies), l.rate, name)
	f := &figures{name: name}
	before, err := l.release.Pod().Metrics(ctx)
	if err != nil {
		return nil, err
	}
	writing, stop := context.WithCancel(ctx)
	defer stop()
	var both, writer sync.WaitGroup
	every := time.Second / time.Duration(l.rate)
	if churn > 0 {
		writer.Go(func() { f.written = l.write(writing, churn) })
	}
	both.Go(func() { f.meshvet = webhook.drive(ctx, bodies, every, 0) })
	both.Go(func() { f.empty = l.empty.drive(ctx, bodies, every, every/2) })
	both.Wait()
	stop()
	writer.Wait()
	after, err := l.release.Pod().Metrics(ctx)
	if err != nil {
		return nil, err
	}
	const duration = "meshvet_admission_duration_seconds"
	f.handler = newHistogram(after[duration]).since(newHistogram(before[duration]))
	f.shed = after.Sum("meshvet_admission_shed_total") - before.Sum("meshvet_admission_shed_total")
	f.resident = after.Sum("process_resident_memory_bytes")
	f.cpu = after.Sum("process_cpu_seconds_total") - before.Sum("process_cpu_seconds_total")
	count := func(m release.Metrics) (float64, float64) {
		s := m["go_gc_duration_seconds"].GetMetric()[0].GetSummary()
		longest := 0.0
		for _, q := range s.GetQuantile() {
			longest = max(longest, q.GetValue())
		}
		return float64(s.GetSampleCount()), longest
	}
	was, _ := count(before)
	f.collections, f.longestPause = count(after)
	f.collections -= was
	return f, nil
}

// write changes objects of the mesh through the API server until the context ends, and returns how many.
func (l *load) write(ctx context.Context, churn int) int {
	config := rest.CopyConfig(l.cluster.Config)
	config.WarningHandler = rest.NoWarnings{}
	api, err := dynamic.NewForConfig(config)
	if err != nil {
		return 0
	}
	tick := time.NewTicker(time.Second / time.Duration(churn))
	defer tick.Stop()
	for n := 0; ; n++ {
		select {
		case <-ctx.Done():
			return n
		case <-tick.C:
		}
		var list []*unstructured.Unstructured
		switch n % 3 {
		case 0:
			list = l.mesh.entries
		case 1:
			list = l.mesh.rules
		default:
			list = l.mesh.rest
		}
		o := list[(n*7919)%len(list)]
		patch := fmt.Sprintf(`{"spec":{"exportTo":["*","team-%d"]}}`, n%10)
		if o.GetKind() != "ServiceEntry" && o.GetKind() != "DestinationRule" {
			patch = fmt.Sprintf(`{"metadata":{"labels":{"turn":"%d"}}}`, n)
		}
		_, err := api.Resource(resources[o.GetKind()]).Namespace(o.GetNamespace()).
			Patch(ctx, o.GetName(), "application/merge-patch+json", []byte(patch), metav1.PatchOptions{})
		if err != nil && ctx.Err() == nil {
			progress("write %s %s/%s: %v", o.GetKind(), o.GetNamespace(), o.GetName(), err)
		}
	}
}

// print writes the tables.
func (l *load) print(out io.Writer, idle, peak int64, passes ...*figures) error {
	ms := func(d time.Duration) string { return fmt.Sprintf("%.1f", float64(d)/float64(time.Millisecond)) }
	var b strings.Builder
	fmt.Fprintf(&b, "%d objects, %d reviews/s for %s each to meshvet and to an empty handler of controller-runtime; %d cores, %s, GOMEMLIMIT as the chart sets it.\n\n",
		l.mesh.objects(), l.rate, l.duration, runtime.NumCPU(), runtime.Version())
	b.WriteString("| | p50 ms | p90 ms | p99 ms | max ms | reviews | failed | unjudged |\n| --- | --- | --- | --- | --- | --- | --- | --- |\n")
	failed := 0
	for _, f := range passes {
		h := f.handler
		fmt.Fprintf(&b, "| %s: handler, by its own clock | %s | %s | %s | | %d | | %.0f |\n", f.name, ms(h.quantile(.5)), ms(h.quantile(.9)), ms(h.quantile(.99)), h.total, f.shed)
		for _, side := range []struct {
			name string
			o    *outcome
		}{{"meshvet, by the client's clock", f.meshvet}, {"empty handler, by the client's clock", f.empty}} {
			o := side.o
			fmt.Fprintf(&b, "| %s: %s | %s | %s | %s | %s | %d | %d | |\n", f.name, side.name, ms(quantile(o.latencies, .5)), ms(quantile(o.latencies, .9)),
				ms(quantile(o.latencies, .99)), ms(quantile(o.latencies, 1)), len(o.latencies)+len(o.failures), len(o.failures))
			failed += len(o.failures)
			if len(o.failures) > 0 {
				progress("%s: %s: the first failure: %s", f.name, side.name, o.failures[0])
			}
		}
	}
	b.WriteString("\n| | RSS MiB | CPU s | collections | longest pause ms | writes |\n| --- | --- | --- | --- | --- | --- |\n")
	const mib = 1 << 20
	fmt.Fprintf(&b, "| before | %d | | | | |\n", idle/mib)
	for _, f := range passes {
		fmt.Fprintf(&b, "| %s | %.0f | %.1f | %.0f | %.2f | %d |\n", f.name, f.resident/mib, f.cpu, f.collections, f.longestPause*1000, f.written)
	}
	fmt.Fprintf(&b, "| most ever | %d | | | | |\n", peak/mib)
	if _, err := io.WriteString(out, b.String()); err != nil {
		return fmt.Errorf("print the tables: %w", err)
	}
	if failed > 0 {
		return fmt.Errorf("%d reviews failed", failed)
	}
	return nil
}

// startEmpty starts this program again as an empty handler, with the certificate of the release.
func startEmpty(ctx context.Context, c *cluster.Cluster, r *release.Release) (*target, error) {
	folder := filepath.Join(c.Folder, "empty")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, fmt.Errorf("make the folder of the empty handler: %w", err)
	}
	for name, data := range map[string][]byte{"tls.crt": r.Leaf.Cert, "tls.key": r.Leaf.Key} {
		if err := os.WriteFile(filepath.Join(folder, name), data, 0o600); err != nil {
			return nil, fmt.Errorf("write the certificate of the empty handler: %w", err)
		}
	}
	port, err := release.FreePort()
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	cmd := exec.CommandContext(ctx, self) // the reaper ends it
	cmd.Dir, cmd.Env, cmd.Stderr = folder, append(os.Environ(), emptyVariable+"="+strconv.Itoa(port)), os.Stderr
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the empty handler: %w", err)
	}
	t := newTarget(port)
	body := []byte(`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"x"}}`)
	err = cluster.Poll(ctx, 30*time.Second, "the empty handler answers", func(ctx context.Context) error {
		_, err := t.send(ctx, body)
		return err
	})
	return t, err
}

// serveEmpty is the yardstick: what controller-runtime takes to read a review and to let it pass.
func serveEmpty(ctx context.Context, port string) error {
	number, err := strconv.Atoi(port)
	if err != nil {
		return fmt.Errorf("%s: %w", emptyVariable, err)
	}
	log.SetLogger(zap.New(zap.UseDevMode(false)))
	server := webhook.NewServer(webhook.Options{Host: "127.0.0.1", Port: number, CertDir: "."})
	allow := admission.HandlerFunc(func(context.Context, admission.Request) admission.Response { return admission.Allowed("") })
	hook, err := admission.StandaloneWebhook(&admission.Webhook{Handler: allow}, admission.StandaloneOptions{})
	if err != nil {
		return fmt.Errorf("make the empty handler: %w", err)
	}
	server.Register("/validate", hook)
	return server.Start(ctx)
}
