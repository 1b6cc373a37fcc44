package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/meshvet/meshvet/lint/object"
	"github.com/meshvet/meshvet/lint/schema"
	"github.com/meshvet/meshvet/lint/validation"
	"github.com/meshvet/meshvet/test/prove/oracle"
)

// Words and numbers that are put in the place of others: each is on an edge of something that is validated.
var (
	oddWords = []string{
		"", "*", ".", "~", "a_b.example.com", "API.example.com.", "api.example.com:443", "https://api.example.com", "*.a.example.com", "a-*.example.com",
		"*-a.example.com", "a.*.com", "a..b", "example.1", "192.0.2.1", "192.0.2.0/24", "192.0.2.0/33", "2001:db8::1", "1/2/3", "unix:///a", "unix://a/", "unix://@a", "unix://",
		"0s", "1ms", "100us", "1500us", "-1s", "1s", "1m30s", "NONE", "STATIC", "DNS", "DNS_ROUND_ROBIN", "DYNAMIC_DNS", "MESH_INTERNAL", "SIMPLE", "MUTUAL", "ISTIO_MUTUAL",
		"configmap://a", "configmap://shop/a", "configmap://default/", "configmap://default/a/b", "tcp", "Grpc-Web", "QUIC", "HTTP", "TLS", "topology.kubernetes.io/zone",
		"us", "us/*", "us/a", "us/a/b", "us*", "u*s", "/a", "UPGRADE", "x y", "default", "app", strings.Repeat("x", 64), strings.Repeat("x.", 130) + "x",
	}
	oddNumbers = []any{0, 1, 2, 4, 100, 101, 65535, 65536, 5000011, true, false}
)

// Fields that a mutant may get beside its own, with what is put there.
var oddFields = []struct {
	under string // the name of the mapping that gets it; spec, trafficPolicy and so on
	name  string
	value string // JSON
}{
	{"spec", "workloadSelector", `{"labels": {"app": "a"}}`},
	{"spec", "workloadSelector", `{"labels": {"app": "*"}}`},
	{"spec", "workloadSelector", `{"matchLabels": {"app": "a"}}`},
	{"spec", "workloadSelector", `{"matchLabels": {"a*": "a"}}`},
	{"spec", "exportTo", `["."]`},
	{"spec", "exportTo", `["*", "a"]`},
	{"spec", "exportTo", `["~", "a"]`},
	{"spec", "exportTo", `[".", "default"]`},
	{"spec", "exportTo", `["a", "a"]`},
	{"spec", "endpoints", `[]`},
	{"spec", "endpoints", `[{"address": "unix:///a"}]`},
	{"spec", "endpoints", `[{"network": "n"}]`},
	{"spec", "endpoints", `[{"address": "192.0.2.1", "ports": {"nosuch": 1}}, {"address": "b.example.com", "labels": {"-a": "b"}}]`},
	{"spec", "addresses", `["192.0.2.1", "192.0.2.0/24"]`},
	{"spec", "resolution", `"DYNAMIC_DNS"`},
	{"spec", "subsets", `[{"name": "a"}, {"name": "a", "labels": {"v": "b/c"}}]`},
	{"spec", "subsets", `[{"name": "a", "trafficPolicy": {}}]`},
	{"spec", "trafficPolicy", `{"portLevelSettings": []}`},
	{"trafficPolicy", "tunnel", `{"targetHost": "a.example.com", "targetPort": 443}`},
	{"trafficPolicy", "tunnel", `{"protocol": "GET", "targetHost": "a_b", "targetPort": 0}`},
	{"trafficPolicy", "proxyProtocol", `{"version": "V2"}`},
	{"trafficPolicy", "retryBudget", `{}`},
	{"trafficPolicy", "portLevelSettings", `[{"port": {"number": 443}}, {"tls": {"mode": "SIMPLE"}}]`},
	{"trafficPolicy", "connectionPool", `{}`},
	{"trafficPolicy", "connectionPool", `{"http": {"http2KeepAlive": {"interval": "1s"}, "useClientProtocol": true, "h2UpgradePolicy": "UPGRADE"}}`},
	{"trafficPolicy", "loadBalancer", `{"consistentHash": {"maglev": {"tableSize": 10}}}`},
	{"trafficPolicy", "loadBalancer", `{"consistentHash": {"maglev": {}, "httpCookie": {"name": "", "attributes": [{"name": "a"}, {"name": "a"}]}}}`},
	{"trafficPolicy", "loadBalancer", `{"consistentHash": {"minimumRingSize": 3, "ringHash": {}}}`},
	{"trafficPolicy", "loadBalancer", `{"warmup": {"minimumPercent": 101, "aggression": 0}}`},
	{"trafficPolicy", "loadBalancer", `{"localityLbSetting": {"distribute": [{"from": "us/a", "to": {"us/a": 60, "eu": 40}}, {"from": "us/*", "to": {"us": 99}}]}}`},
	{"trafficPolicy", "loadBalancer", `{"localityLbSetting": {"distribute": [{"from": "us/*", "to": {"*": 50, "us": 50}}, {"from": "us/a/b", "to": {"us": 100}}]}}`},
	{"trafficPolicy", "loadBalancer", `{"localityLbSetting": {"failover": [{"from": "us", "to": "us"}, {"from": "us/a", "to": "e*"}], "failoverPriority": ["topology.istio.io/subzone"]}}`},
	{"trafficPolicy", "loadBalancer", `{"localityLbSetting": {}, "zoneAwareLbSetting": {"failoverPriority": ["topology.kubernetes.io/region"], "failover": [{"from": "us", "to": "eu/a"}]}}`},
	{"trafficPolicy", "outlierDetection", `{"consecutiveLocalOriginFailures": 3, "interval": "1500us", "maxEjectionPercent": 101}`},
	{"trafficPolicy", "tls", `{"mode": "MUTUAL"}`},
	{"trafficPolicy", "tls", `{"mode": "SIMPLE", "insecureSkipVerify": true, "subjectAltNames": ["a"]}`},
	{"trafficPolicy", "tls", `{"mode": "MUTUAL", "insecureSkipVerify": true, "credentialName": "a", "caCrl": "b"}`},
	{"trafficPolicy", "tls", `{"mode": "ISTIO_MUTUAL", "credentialName": "configmap://other/a", "insecureSkipVerify": true}`},
	{"metadata", "annotations", `{"istio.io/dry-run": "true"}`},
	{"metadata", "labels", `{"istio.io/use-waypoint": "w"}`},
}

// refusals changes the ServiceEntries and DestinationRules below some paths at random, and compares what lint/validation refuses of the
// mutants that their schemas let pass with what Istio's own validation does.
func (p *prover) refusals(ctx context.Context, out io.Writer, args []string) error {
	flags := flag.NewFlagSet("refusals", flag.ContinueOnError)
	n := flags.Int("n", 2000, "number of mutants")
	seed := flags.Uint64("seed", 1, "seed of the random changes")
	if err := flags.Parse(args); err != nil {
		return err
	}
	seeds, err := judgedBelow(ctx, flags.Args())
	if err != nil {
		return err
	}
	if len(seeds) == 0 {
		return errors.New("no ServiceEntry or DestinationRule to change; name folders")
	}
	validator, err := schema.New("")
	if err != nil {
		return fmt.Errorf("load the schemas: %w", err)
	}
	r := rand.New(rand.NewPCG(*seed, 0)) //nolint:gosec // what is wanted is the same mutants for the same seed
	var batch []*object.Object
	var tally refusalTally
	for made := 0; made < *n; {
		o, err := mutantOf(r, seeds[r.IntN(len(seeds))])
		if err != nil {
			return err
		}
		if o == nil || !o.Kind.Judged() {
			continue
		}
		made++
		raw, _ := o.Root().Any().(map[string]any)
		if violations, err := validator.Validate(ctx, string(o.Kind), raw); err != nil {
			return fmt.Errorf("validate a mutant: %w", err)
		} else if slices.ContainsFunc(violations, func(v schema.Violation) bool { return v.Kind != schema.UnknownField }) {
			tally.schema++
			continue
		}
		if batch = append(batch, o); len(batch) == 50 {
			if err := p.compareRefusals(ctx, batch, &tally); err != nil {
				return err
			}
			batch = nil
		}
	}
	if err := p.compareRefusals(ctx, batch, &tally); err != nil {
		return err
	}
	for _, c := range tally.contradictions {
		fmt.Fprintln(out, c)
	}
	fmt.Fprintf(out, "%d mutants of %d objects: %d refused by the schema, %d by Istio and meshvet, %d by neither, %d contradictions\n",
		*n, len(seeds), tally.schema, tally.both, tally.neither, len(tally.contradictions))
	if len(tally.contradictions) > 0 {
		return fmt.Errorf("lint/validation and Istio disagree on %d mutants", len(tally.contradictions))
	}
	return nil
}

type refusalTally struct {
	schema, both, neither int
	contradictions        []string
}

// compareRefusals asks Istio about some objects at once, and about each alone if it cannot read one of them.
func (p *prover) compareRefusals(ctx context.Context, batch []*object.Object, tally *refusalTally) error {
	if len(batch) == 0 {
		return nil
	}
	var text strings.Builder
	for i, o := range batch {
		raw, _ := o.Root().Any().(map[string]any)
		renamed := maps.Clone(raw)
		meta, _ := raw["metadata"].(map[string]any)
		meta = maps.Clone(meta)
		meta["name"] = fmt.Sprintf("m%d", i)
		renamed["metadata"] = meta
		js, err := json.Marshal(renamed)
		if err != nil {
			return fmt.Errorf("write a mutant: %w", err)
		}
		text.Write(js)
		text.WriteByte('\n')
	}
	res, err := p.oracle.Compile(ctx, &oracle.Job{ID: "refusals", Objects: text.String(), ReviewOnly: true})
	var refused *oracle.RefusedError
	if errors.As(err, &refused) && len(batch) > 1 {
		for _, o := range batch {
			if err := p.compareRefusals(ctx, []*object.Object{o}, tally); err != nil {
				return err
			}
		}
		return nil
	}
	switch {
	case refused != nil:
		tally.schema++
		return nil //nolint:nilerr // Istio cannot read it, so that no webhook is asked
	case err != nil:
		return err
	}
	said := map[string]string{}
	for _, review := range res.Objects {
		said[review.Object] = review.Error
	}
	for i, o := range batch {
		namespace := o.Namespace
		if namespace == "" {
			namespace = "default"
		}
		theirs := said[fmt.Sprintf("%s %s/m%d", o.Kind, namespace, i)]
		ours := validation.Refusals(o)
		switch {
		case theirs != "" && len(ours) > 0:
			tally.both++
		case theirs == "" && !slices.ContainsFunc(ours, func(r validation.Refusal) bool { return !r.Sometimes }):
			tally.neither++
		default:
			js, err := json.Marshal(o.Root())
			if err != nil {
				return fmt.Errorf("write a mutant: %w", err)
			}
			verdict := "Istio refuses it: " + theirs
			if theirs == "" {
				verdict = fmt.Sprintf("only meshvet refuses it: %s: %s", ours[0].Path, ours[0].Message)
			}
			tally.contradictions = append(tally.contradictions, fmt.Sprintf("%s\n  %s", js, verdict))
		}
	}
	return nil
}

// judgedBelow reads the ServiceEntries and DestinationRules of all YAML files below some folders, as JSON has them.
func judgedBelow(ctx context.Context, roots []string) ([]map[string]any, error) {
	var out []map[string]any
	for _, root := range roots {
		err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || filepath.Ext(name) != ".yaml" && filepath.Ext(name) != ".yml" {
				return err
			}
			f, err := os.Open(name)
			if err != nil {
				return err
			}
			defer func() { _ = f.Close() }() // only read from
			file, err := object.Load(ctx, name, f, object.Limits{})
			if err != nil {
				return err
			}
			for _, o := range file.Objects {
				raw, isMap := o.Root().Any().(map[string]any)
				if _, hasMeta := raw["metadata"].(map[string]any); o.Kind.Judged() && isMap && hasMeta {
					out = append(out, raw)
				}
			}
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("read manifests to change: %w", err)
		}
	}
	return out, nil
}

// mutantOf changes up to three things of an object.
func mutantOf(r *rand.Rand, raw map[string]any) (*object.Object, error) {
	js, err := json.Marshal(raw)
	if err != nil {
		return nil, fmt.Errorf("write a manifest: %w", err)
	}
	var fresh map[string]any
	if err := json.Unmarshal(js, &fresh); err != nil {
		return nil, fmt.Errorf("copy a manifest: %w", err)
	}
	for range 1 + r.IntN(3) {
		mutate(r, fresh)
	}
	o, err := object.FromMap(fresh)
	if err != nil || o == nil {
		return nil, nil //nolint:nilerr,nilnil // a mutant that is no object is none
	}
	return o, nil
}

// mutate changes one thing.
func mutate(r *rand.Rand, raw map[string]any) {
	if r.IntN(3) == 0 {
		f := oddFields[r.IntN(len(oddFields))]
		var value any
		if err := json.Unmarshal([]byte(f.value), &value); err != nil {
			return
		}
		if f.under == "metadata" {
			meta, _ := raw["metadata"].(map[string]any)
			meta[f.name] = value
			return
		}
		var places []map[string]any
		var find func(key string, v any)
		find = func(key string, v any) {
			switch v := v.(type) {
			case map[string]any:
				if key == f.under {
					places = append(places, v)
				}
				for _, k := range slices.Sorted(maps.Keys(v)) {
					find(k, v[k])
				}
			case []any:
				for _, item := range v {
					find("", item)
				}
			}
		}
		find("spec", raw["spec"])
		if len(places) > 0 {
			places[r.IntN(len(places))][f.name] = value
		}
		return
	}
	spec, _ := raw["spec"].(map[string]any)
	mutateIn(r, spec)
}

// mutateIn walks down at random, and changes what it comes to.
func mutateIn(r *rand.Rand, in map[string]any) {
	if len(in) == 0 {
		return
	}
	keys := slices.Sorted(maps.Keys(in))
	key := keys[r.IntN(len(keys))]
	if r.IntN(10) == 0 {
		delete(in, key)
		return
	}
	in[key] = mutated(r, in[key])
}

func mutated(r *rand.Rand, v any) any {
	switch v := v.(type) {
	case map[string]any:
		mutateIn(r, v)
		return v
	case []any:
		switch i := r.IntN(6); {
		case len(v) == 0:
			return v
		case i == 0:
			return append(v, v[r.IntN(len(v))])
		case i == 1:
			return v[1:]
		default:
			at := r.IntN(len(v))
			v[at] = mutated(r, v[at])
			return v
		}
	case string:
		return oddWords[r.IntN(len(oddWords))]
	}
	return oddNumbers[r.IntN(len(oddNumbers))]
}
