//go:build unix

package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/meshvet/meshvet/cmd/internal/build"
	"github.com/meshvet/meshvet/lint/render"
)

const chartYAML = "apiVersion: v2\nname: shop\nversion: 0.1.0\n"

// failure renders a chart that has to fail as the user's fault, and answers with the message and its file.
func failure(t *testing.T, h *render.Helm, l render.Limits) (message, file string) {
	t.Helper()
	answer, err := renderHelm(t.Context(), h, l)
	var f *render.Failure
	if !errors.As(err, &f) {
		t.Fatalf("rendered %v, error %v", answer, err)
	}
	if strings.ContainsFunc(f.Message, func(r rune) bool { return r < ' ' }) || len(f.Message) > 2*maxWords {
		t.Errorf("the message is not for a terminal: %q", f.Message)
	}
	return f.Message, f.File
}

// folder is one in which a test makes a chart.
type folder struct {
	*testing.T
	dir string
}

func (f folder) write(name, text string) {
	f.Helper()
	write(f.T, filepath.Join(f.dir, name), text)
}

// link makes a link to a target, which is taken as it is.
func (f folder) link(target, name string) {
	f.Helper()
	name = filepath.Join(f.dir, name)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		f.Fatal(err)
	}
	if err := os.Symlink(target, name); err != nil {
		f.Fatal(err)
	}
}

// TestHelmFolders has folders that lead out of themselves, or have no end.
func TestHelmFolders(t *testing.T) {
	small := render.DefaultLimits()
	small.Files, small.Unpacked = 50, 1<<20
	tests := []struct {
		name       string
		make       func(f folder) // its chart has a Chart.yaml
		want, file string
	}{
		{"a link out", func(f folder) { f.link("/etc/hostname", "chart/templates/a.yaml") },
			"this link leads to /etc/hostname, outside of", "chart/templates/a.yaml"},
		{"a relative link out", func(f folder) { f.link("../../../../../../../../etc", "chart/templates/etc") },
			"this link leads to /etc, outside of", "chart/templates/etc"},
		{"a link to nothing", func(f folder) { f.link("nothing", "chart/a") },
			"this link cannot be followed", "chart/a"},
		{"a link to itself", func(f folder) { f.link("a", "chart/a") },
			"this link cannot be followed", "chart/a"},
		{"a link to the folder it is in", func(f folder) { f.link("../..", "chart/templates/a/b") },
			"this link leads to a folder that it is in", "chart/templates/a/b"},
		{"two folders that lead to each other", func(f folder) {
			f.link("../b", "chart/a/b")
			f.link("../a", "chart/b/a")
		}, "this link leads to a folder that it is in", "chart/b/a"},
		{"links that are ever more", func(f folder) {
			f.write("chart/0/file", "")
			for i := range 12 {
				f.link(fmt.Sprintf("../%d", i), fmt.Sprintf("chart/%d/a", i+1))
				f.link(fmt.Sprintf("../%d", i), fmt.Sprintf("chart/%d/b", i+1))
			}
		}, "the chart has more than 50 files", ""},
		{"a pipe", func(f folder) {
			if err := syscall.Mkfifo(f.dir+"/chart/pipe", 0o600); err != nil {
				f.Fatal(err)
			}
		}, "this is no regular file", "chart/pipe"},
		{"many files", func(f folder) {
			for i := range 60 {
				f.write(fmt.Sprintf("chart/%d", i), "")
			}
		}, "the chart has more than 50 files", ""},
		{"many folders", func(f folder) {
			for i := range 600 {
				if err := os.Mkdir(fmt.Sprintf("%s/chart/%d", f.dir, i), 0o755); err != nil {
					f.Fatal(err)
				}
			}
		}, "the chart has more than 50 files", ""},
		{"large files", func(f folder) {
			f.write("chart/a", strings.Repeat("a", 600<<10))
			f.write("chart/b", strings.Repeat("a", 600<<10))
		}, "the files of the chart have more than 1024 KiB together", ""},
		{"charts in charts in charts", func(f folder) {
			for i := range 40 {
				f.write("chart/"+strings.Repeat("charts/a/", i)+"Chart.yaml", chartYAML)
			}
		}, "charts are in charts, more than 32 deep", "chart" + strings.Repeat("/charts/a", 33)},
		{"a .helmignore that leads out", func(f folder) { f.link("/etc/passwd", "chart/.helmignore") },
			"this link leads to /etc/passwd", "chart/.helmignore"},
		{"values that double", func(f folder) {
			text := "a0: &a0 [x]\n"
			for i := range 40 {
				text += fmt.Sprintf("a%d: &a%d [*a%d, *a%d]\n", i+1, i+1, i, i)
			}
			f.write("chart/values.yaml", text)
		}, "excessive aliasing", "chart/values.yaml"},
		{"what is no text", func(f folder) {
			f.write("chart/templates/a.yaml", "\x00\x01\xff{{ printf \"%c\" 7 }}")
		}, "the template renders what is no YAML", "chart/templates/a.yaml"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := folder{t, t.TempDir()}
			f.write("chart/Chart.yaml", chartYAML)
			tt.make(f)
			message, file := failure(t, &render.Helm{Chart: f.dir + "/chart", Root: f.dir}, small)
			if !strings.Contains(message, tt.want) || file != tt.file {
				t.Errorf("said %q of %q", message, file)
			}
		})
	}
	t.Run("links that are fine", func(t *testing.T) {
		f := folder{t, t.TempDir()}
		f.write("chart/Chart.yaml", chartYAML)
		f.write("chart/.helmignore", "secret\n")
		f.write("shared/entry.yaml", "kind: ServiceEntry\n")
		f.link("../../shared", "chart/templates/shared")
		f.link(filepath.Join(f.dir, "shared", "entry.yaml"), "chart/templates/again.yaml")
		f.link("/etc/shadow", "chart/secret")
		answer, err := renderHelm(t.Context(), &render.Helm{Chart: f.dir + "/chart", Root: f.dir}, small)
		if err != nil || len(answer.Documents) != 2 {
			t.Errorf("rendered %v, error %v", answer, err)
		}
	})
	t.Run("a chart outside", func(t *testing.T) {
		f, out := folder{t, t.TempDir()}, t.TempDir()
		write(t, out+"/Chart.yaml", chartYAML)
		f.link(out, "chart")
		if message, _ := failure(t, &render.Helm{Chart: f.dir + "/chart", Root: f.dir}, small); !strings.Contains(message, "outside of which nothing is read") {
			t.Errorf("said %q", message)
		}
	})
}

// pack makes a packed chart of names and texts in turn.
func pack(t *testing.T, files ...string) string {
	t.Helper()
	var out bytes.Buffer
	zipped := gzip.NewWriter(&out)
	w := tar.NewWriter(zipped)
	for i := 0; i < len(files); i += 2 {
		header := &tar.Header{Name: files[i], Mode: 0o644, Size: int64(len(files[i+1]))}
		if err := w.WriteHeader(header); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, files[i+1]); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), zipped.Close()); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// TestHelmArchives has archives that are larger than they look, and names that lead elsewhere.
func TestHelmArchives(t *testing.T) {
	small := render.DefaultLimits()
	small.Archive, small.Unpacked, small.Files = 64<<10, 1<<20, 150
	zeros := strings.Repeat("\x00", 600<<10)
	nested := pack(t, "a/Chart.yaml", chartYAML)
	for range 40 {
		nested = pack(t, "a/Chart.yaml", chartYAML, "a/charts/a.tgz", nested)
	}
	many := []string{"a/Chart.yaml", chartYAML}
	for i := range 160 {
		many = append(many, fmt.Sprintf("a/%d", i), "")
	}
	bomb := pack(t, "a/Chart.yaml", chartYAML, "a/zeros", zeros)
	tests := []struct{ name, packed, want string }{
		{"no archive", "kind: ServiceEntry\n", "this is no packed chart"},
		{"half an archive", bomb[:len(bomb)/2], "cannot be unpacked"},
		{"not a tar", func() string {
			var out bytes.Buffer
			w := gzip.NewWriter(&out)
			fmt.Fprint(w, strings.Repeat("no tar", 200))
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			return out.String()
		}(), "cannot be unpacked"},
		{"empty", pack(t), "cannot be unpacked: no files in chart archive"},
		{"packed large", pack(t, "a/Chart.yaml", chartYAML) + strings.Repeat("x", 65<<10), "the packed chart has 65 KiB; it may have 64 KiB"},
		{"unpacked large", pack(t, "a/Chart.yaml", chartYAML, "a/1", zeros, "a/2", zeros), "more than 1024 KiB together"},
		{"large together", pack(t, "a/Chart.yaml", chartYAML, "a/charts/b.tgz", bomb, "a/charts/c.tgz", bomb), "more than 1024 KiB together"},
		{"many files", pack(t, many...), "more than 150 files"},
		{"nested", nested, "more than 32 deep"},
		{"a path out", pack(t, "a/Chart.yaml", chartYAML, "a/../../../etc/passwd", ""), "illegally references parent directory"},
		{"an absolute path", pack(t, "a/Chart.yaml", chartYAML, "a//etc/passwd", ""), "illegally contains absolute paths"},
		{"no folder", pack(t, "Chart.yaml", chartYAML), "cannot be unpacked"},
		{"no chart", pack(t, "a/values.yaml", ""), "there is no Chart.yaml"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir+"/chart.tgz", tt.packed)
			if message, _ := failure(t, &render.Helm{Chart: dir + "/chart.tgz", Root: dir}, small); !strings.Contains(message, tt.want) {
				t.Errorf("said %q", message)
			}
		})
	}
	t.Run("a good one", func(t *testing.T) {
		dir := t.TempDir()
		inner := pack(t, "b/Chart.yaml", strings.ReplaceAll(chartYAML, "shop", "inner"), "b/templates/entry.yaml", "kind: ServiceEntry\n")
		write(t, dir+"/chart.tgz", pack(t, "a/Chart.yaml", chartYAML, "a/charts/inner-0.1.0.tgz", inner))
		answer, err := renderHelm(t.Context(), &render.Helm{Chart: dir + "/chart.tgz", Root: dir}, small)
		if err != nil || len(answer.Documents) != 1 {
			t.Fatalf("rendered %v, error %v", answer, err)
		}
		if got, want := answer.Documents[0].Source, "chart.tgz/charts/inner-0.1.0.tgz/templates/entry.yaml"; got != want {
			t.Errorf("the source is %s, want %s", got, want)
		}
	})
}

// TestHelmBounds has the program render what takes all the time or memory that there is.
func TestHelmBounds(t *testing.T) {
	limits := render.DefaultLimits()
	limits.Output, limits.Memory = 1<<20, 400<<20
	tests := []struct {
		name, template, want string
		timeout              time.Duration
	}{
		{"a loop", `{{ range until 100000 }}{{ range until 100000 }}{{ end }}{{ end }}`, "took longer than 200ms", 200 * time.Millisecond},
		{"a large list", `{{ range until 2000000000 }}{{ end }}`, "needs more than 400 MiB of memory", time.Minute},
		{"output without end", `{{ range until 100000 }}{{ repeat 1000000 "a" }}{{ end }}`, "needs more than 400 MiB of memory", time.Minute},
		{"a gigabyte", `{{ repeat 1073741824 "a" }}`, "needs more than 400 MiB of memory", time.Minute},
		{"more than an answer may have", `{{ repeat 2000000 "a" }}`, "a rendering may have 1024 KiB", time.Minute},
		{"a template in itself", `{{ define "a" }}{{ template "a" }}{{ end }}{{ template "a" }}`, "exceeded maximum template depth", time.Minute},
	}
	program := program(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir+"/Chart.yaml", chartYAML)
			write(t, dir+"/templates/a.yaml", tt.template)
			limits := limits
			limits.Timeout = tt.timeout
			answer, err := render.Run(t.Context(), program, render.Request{
				Version: build.Version(""), Helm: &render.Helm{Chart: dir, Root: dir}, Limits: limits,
			})
			said := fmt.Sprint(err)
			if err == nil && answer.Error != nil {
				said = answer.Error.Message
			}
			if !strings.Contains(said, tt.want) {
				t.Errorf("said %q", said)
			}
		})
	}
}
