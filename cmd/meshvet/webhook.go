package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"flag"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"go.uber.org/zap/zapcore"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/meshvet/meshvet/lint/live"
	"github.com/meshvet/meshvet/webhook"
)

// webhookFlags are the flags of `meshvet webhook`. Where others of Kubernetes' controllers have the same, it is called the same.
type webhookFlags struct {
	cluster       clusterFlags
	options       webhook.Options
	tlsMode       *choice
	tlsMinVersion *choice
	zap           zap.Options
}

func (a *app) newWebhookCommand() *cobra.Command {
	f := &webhookFlags{
		tlsMode:       newChoice(string(webhook.Provided), string(webhook.CertManager), string(webhook.Rotate), string(webhook.Provided)),
		tlsMinVersion: newChoice("1.2", "1.2", "1.3"),
	}
	cmd := &cobra.Command{
		Use:   "webhook",
		Short: "Answer the admission requests of a cluster",
		Long: `Webhook answers the API server of a cluster about each ServiceEntry and DestinationRule that somebody applies, with the
findings that lint would have for it among all objects of the cluster. By default every finding is a warning; the key webhook of the
configuration says which findings deny, and for whom.

It is run by the Helm chart charts/meshvet, which also tells the API server of it.`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.webhook(cmd.Context(), f) },
	}
	o := &f.options
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVarP(&o.ConfigFile, "config", "c", "", "configuration `FILE`, read again when it changes; by default there is none")
	f.cluster.add(flags)
	flags.IntVar(&o.Port, "webhook-port", 9443, "`PORT` on which requests are answered")
	flags.StringVar(&o.CertDir, "webhook-cert-path", "/certs", "`FOLDER` of the certificate, which is read again when it changes")
	flags.StringVar(&o.CertName, "webhook-cert-name", "tls.crt", "`FILE` of the certificate in it")
	flags.StringVar(&o.KeyName, "webhook-cert-key", "tls.key", "`FILE` of the private key in it")
	flags.Var(f.tlsMode, "tls-mode", "where the certificate comes from; rotate makes and renews it")
	flags.Var(f.tlsMinVersion, "tls-min-version", "the oldest version of TLS that is spoken")
	flags.StringVar(&o.Namespace, "namespace", "", "`NAMESPACE` that the server runs in; by default $POD_NAMESPACE, else that of its ServiceAccount")
	flags.StringVar(&o.Secret, "tls-secret", "", "with --tls-mode rotate: `NAME` of the Secret of the certificate")
	flags.StringVar(&o.Service, "service", "", "with --tls-mode rotate: `NAME` of the Service that the API server calls")
	flags.StringVar(&o.WebhookConfiguration, "webhook-configuration", "", "with --tls-mode rotate: `NAME` of the ValidatingWebhookConfiguration that is given the CA")
	flags.StringVar(&o.MeshConfigMap, "mesh-config-map", "istio", "`NAME` of the ConfigMap with Istio's mesh configuration, istio-REVISION for a revision")
	flags.StringVar(&o.MetricsAddress, "metrics-bind-address", ":8080", "`ADDRESS` of /metrics; 0 for none")
	flags.StringVar(&o.HealthAddress, "health-probe-bind-address", ":8081", "`ADDRESS` of /healthz and /readyz; 0 for none")
	flags.StringVar(&o.PprofAddress, "pprof-bind-address", "0", "`ADDRESS` of /debug/pprof, such as localhost:6060; 0 for none")
	flags.DurationVar(&o.ShutdownDelay, "shutdown-delay", 10*time.Second, "time in which the server goes on answering once it is told to end")
	flags.BoolVar(&o.HTTP2, "enable-http2", false, "speak HTTP/2, too, which API servers do not need")
	zapFlags := flag.NewFlagSet("zap", flag.ContinueOnError)
	f.zap.StacktraceLevel = zapcore.DPanicLevel // an error says what to do; where it was made is no help
	f.zap.BindFlags(zapFlags)
	flags.AddGoFlagSet(zapFlags)

	complete(cmd, "tls-mode", f.tlsMode.words)
	complete(cmd, "tls-min-version", f.tlsMinVersion.words)
	cmd.AddCommand(a.newWebhookCheckCommand())
	return cmd
}

func (a *app) webhook(ctx context.Context, f *webhookFlags) error {
	o := f.options
	at, err := f.cluster.find(a.getenv)
	if err != nil {
		return err
	}
	o.Cluster = at.config
	if o.Rules, err = allRules(ctx); err != nil {
		return err
	}
	o.TLSMode = webhook.TLSMode(f.tlsMode.value)
	o.TLSMinVersion = map[string]uint16{"1.2": tls.VersionTLS12, "1.3": tls.VersionTLS13}[f.tlsMinVersion.value]
	o.Namespace = cmp.Or(o.Namespace, a.getenv("POD_NAMESPACE"), ownNamespace())
	o.Pod = a.getenv("POD_NAME")
	o.DocsURL, o.Version = docsURL, thisBuild().version
	o.Log = zap.New(zap.UseFlagOptions(&f.zap), zap.WriteTo(a.stderr))
	return webhook.Run(ctx, o)
}

// ownNamespace is the namespace of the ServiceAccount whose token is mounted, "" outside of a Pod.
func ownNamespace() string {
	ns, err := os.ReadFile("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(ns))
}

func (a *app) newWebhookCheckCommand() *cobra.Command {
	var cluster clusterFlags
	namespace := "default"
	timeout := 30 * time.Second
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Ask a cluster whether its webhook answers",
		Long: `Check has the API server create a faulty ServiceEntry as a dry run, and prints what it warns of. Nothing is stored.

It says whether meshvet was asked, and what it answered: allow, deny, exempt (whoever asks is not judged), error or shed (it could
not judge). So it also works where findings are only audited.

Exit codes: 0 meshvet answered, 1 it was not asked, 2 the question could not be asked.`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, cancel := context.WithTimeout(cmd.Context(), timeout)
			defer cancel()
			code, err := a.checkWebhook(ctx, &cluster, namespace, timeout)
			a.code = code
			return err
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	cluster.add(flags)
	flags.StringVarP(&namespace, "namespace", "n", namespace, "`NAMESPACE` that the webhook judges")
	flags.DurationVar(&timeout, "timeout", timeout, "time to wait for the answer")
	return cmd
}

func (a *app) checkWebhook(ctx context.Context, cluster *clusterFlags, namespace string, timeout time.Duration) (int, error) {
	at, err := cluster.find(a.getenv)
	if err != nil {
		return 0, err
	}
	say := func(line string) { fmt.Fprintln(a.stderr, clean(line)) }
	if err := live.Login(ctx, at.config, timeout, say); err != nil {
		return 0, err
	}
	checked, err := webhook.Check(ctx, at.config, namespace)
	if err != nil {
		return 0, err
	}
	for _, w := range checked.Warnings {
		fmt.Fprintln(a.stdout, "Warning: "+clean(w))
	}
	if checked.Denial != "" {
		fmt.Fprintln(a.stdout, "Denied: "+clean(checked.Denial))
	}
	if checked.Answer == "" {
		fmt.Fprintf(a.stdout, `meshvet was not asked about namespace %s. Either no Pod of it answers and failurePolicy is Ignore (kubectl get pods, their
log, meshvet_certificate_expiry_timestamp_seconds), or the webhook is not for this namespace: its own, kube-system, one that
namespaceSelector leaves out or that has the exemption label (kubectl get validatingwebhookconfiguration -o yaml).
`, clean(namespace))
		return exitFindings, nil
	}
	fmt.Fprintf(a.stdout, "meshvet answers in namespace %s: %s\n", clean(namespace), clean(checked.Answer))
	return exitClean, nil
}
