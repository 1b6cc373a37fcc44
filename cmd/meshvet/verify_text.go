package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/meshvet/meshvet/lint/effective"
	"github.com/meshvet/meshvet/lint/object"
	"github.com/meshvet/meshvet/lint/report"
	"github.com/meshvet/meshvet/lint/verify"
)

// writeVerifyText writes a report for a person. All that comes from the dump or the manifests goes through report.Clean.
func writeVerifyText(w io.Writer, r *verifyResult) error {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintln(&b, report.Clean(fmt.Sprintf(format, args...))) }
	writeDifferences(&b, r.Differences)
	if r.LeftOut > 0 {
		line("… and at least %d more, which are not listed", r.LeftOut)
	}
	section := func(title string, n int, item func(int) string) {
		if n == 0 {
			return
		}
		if b.Len() > 0 {
			line("")
		}
		line("%s", title)
		for i := range min(n, listedNames) {
			line("  %s", item(i))
		}
		if n > listedNames {
			line("  … and %d more, which --format json lists", n-listedNames)
		}
	}
	section("refused by Envoy, which keeps what it had before:", len(r.Refused), func(i int) string {
		return r.Refused[i].Name + ": " + r.Refused[i].Reason
	})
	missing, hidden := splitMissing(r.Missing)
	writeMissing(section, "predicted, and not in the dump", missing)
	unexpected, excused := splitUnexpected(r.Unexpected)
	section("in the dump, though Istio should not compile it:", len(unexpected), func(i int) string {
		return unexpected[i].Cluster + ": " + unexpected[i].Why
	})
	writeMissing(section, "hidden from this proxy", hidden)
	section("in the dump, which something out of view may explain:", len(excused), func(i int) string {
		return excused[i].Cluster + ": " + excused[i].Why
	})
	section("what may explain it:", len(r.hints), func(i int) string { return r.hints[i] })
	section("not compared, or not known:", len(r.notices), func(i int) string { return r.notices[i] })
	if b.Len() > 0 {
		line("")
	}
	line("%s", summary(r))
	_, err := io.WriteString(w, b.String())
	return err
}

// writeDifferences writes a table for each cluster.
func writeDifferences(b *strings.Builder, list []verify.ClusterDifference) {
	for i := 0; i < len(list); {
		j := i
		for j < len(list) && list[j].Cluster == list[i].Cluster {
			j++
		}
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintln(b, report.Clean(list[i].Cluster))
		tw := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
		fmt.Fprintln(tw, "  FIELD\tPREDICTED\tACTUAL\tPREDICTED BY")
		for _, d := range list[i:j] {
			path := strings.TrimPrefix(d.Path, "typed_extension_protocol_options.")
			if d.In != "cluster" {
				path += " of " + d.In
			}
			fmt.Fprintf(tw, "  %s\t%s\t%s\t%s\n", cell(path), valueCell(d.Predicted), valueCell(d.Actual), report.Clean(decidedBy(d)))
		}
		_ = tw.Flush() // a Builder takes everything
		i = j
	}
}

// decidedBy names the field that the predicted value comes from, and where it stands.
func decidedBy(d verify.ClusterDifference) string {
	s := d.Setting
	switch {
	case s == nil:
		return "nothing sets it"
	case s.Origin.Kind == effective.FromObject && s.Field != "":
		return s.Field + ", " + s.Origin.Text()
	}
	return s.Origin.Text()
}

const widestCell = 60

// cell makes text fit for a table.
func cell(s string) string {
	s = report.Clean(s)
	if r := []rune(s); len(r) > widestCell {
		head, tail := widestCell*2/3, widestCell/3
		return string(r[:head]) + "…" + string(r[len(r)-tail:])
	}
	return s
}

func valueCell(v string) string {
	if v == "" {
		return "(absent)"
	}
	return cell(v)
}

func splitMissing(list []verify.Missing) (missing, hidden []verify.Missing) {
	for _, m := range list {
		if m.Excused {
			hidden = append(hidden, m)
		} else {
			missing = append(missing, m)
		}
	}
	return missing, hidden
}

func splitUnexpected(list []verify.Unexpected) (unexpected, excused []verify.Unexpected) {
	for _, u := range list {
		if u.Excused {
			excused = append(excused, u)
		} else {
			unexpected = append(unexpected, u)
		}
	}
	return unexpected, excused
}

// writeMissing writes a section for each reason.
func writeMissing(section func(string, int, func(int) string), title string, list []verify.Missing) {
	var reasons []string
	by := map[string][]verify.Missing{}
	for _, m := range list {
		if by[m.Why] == nil {
			reasons = append(reasons, m.Why)
		}
		by[m.Why] = append(by[m.Why], m)
	}
	for _, why := range reasons {
		of, about := by[why], title
		if why != "" {
			about += ": " + why
		}
		section(about+":", len(of), func(i int) string {
			at := effective.Origin{Kind: effective.FromObject, Object: of[i].Target}.Text()
			return fmt.Sprintf("%s (%s)", of[i].Cluster, at)
		})
	}
}

// summary counts what was compared and what differs.
func summary(r *verifyResult) string {
	var wrong []string
	add := func(n int, one, many string) {
		if n > 0 {
			wrong = append(wrong, counted(n, one, many))
		}
	}
	missing, _ := splitMissing(r.Missing)
	unexpected, _ := splitUnexpected(r.Unexpected)
	add(len(r.Differences), "difference", "differences")
	add(len(missing), "missing cluster", "missing clusters")
	add(len(unexpected), "unexpected cluster", "unexpected clusters")
	add(len(r.Refused), "refused resource", "refused resources")
	if r.LeftOut > 0 {
		wrong = append(wrong, fmt.Sprintf("at least %d more", r.LeftOut))
	}
	if len(wrong) == 0 {
		wrong = []string{"no differences"}
	}
	c := r.Counts
	compared := []string{counted(c.Clusters, "cluster", "clusters")}
	if c.TCPProxies > 0 {
		compared = append(compared, counted(c.TCPProxies, "tcp_proxy", "tcp_proxies"))
	}
	if c.Routes > 0 {
		compared = append(compared, counted(c.Routes, "route", "routes"))
	}
	out := fmt.Sprintf("%s; %s in %s compared, of a %s in %s", strings.Join(wrong, ", "), counted(c.Leaves, "value", "values"),
		strings.Join(compared, ", "), r.Proxy.Type, object.Abridge(r.Proxy.Namespace))
	if r.ClustersWithout > 0 {
		out += fmt.Sprintf("; %s of hosts that no manifest defines (%s)", counted(r.ClustersWithout, "cluster", "clusters"), someHosts(r.WithoutManifest))
	}
	return out
}
