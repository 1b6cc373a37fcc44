package main

import (
	"runtime/debug"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/meshvet/meshvet/cmd/internal/build"
)

// TestVersion tells what `meshvet version` says of each way in which a program comes to be.
func TestVersion(t *testing.T) {
	const commit = "0123456789abcdef0123456789abcdef01234567"
	deps := []*debug.Module{{Path: "istio.io/api", Version: "v1.32.0"}}
	for _, c := range []struct {
		name, linked, revision string
		info                   debug.BuildInfo
		want                   string
	}{
		{"release", "v1.2.3", commit, debug.BuildInfo{Deps: deps}, "meshvet v1.2.3\nrevision:  " + commit + "\n"},
		{
			"go install …@version", "", "", debug.BuildInfo{Main: debug.Module{Version: "v1.2.3"}, Deps: deps},
			"meshvet v1.2.3\n",
		},
		{
			"go build in a checkout", "", "", debug.BuildInfo{
				Main: debug.Module{Version: "v1.2.4-0.20260102030405-0123456789ab+dirty"}, Deps: deps,
				Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: commit}, {Key: "vcs.modified", Value: "true"}},
			},
			"meshvet v1.2.4-0.20260102030405-0123456789ab+dirty\nrevision:  " + commit + " with changes\n",
		},
		{"go build elsewhere", "", "", debug.BuildInfo{Main: debug.Module{Version: "(devel)"}, Deps: deps}, "meshvet devel\n"},
		{
			"what is linked wins", "v1.2.3", commit, debug.BuildInfo{
				Main: debug.Module{Version: "(devel)"}, Deps: deps,
				Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: "other"}, {Key: "vcs.modified", Value: "true"}},
			},
			"meshvet v1.2.3\nrevision:  " + commit + "\n",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := buildOf(&c.info, build.VersionOf(&c.info, c.linked), c.revision)
			b.toolchain = "go1.26.8 linux/amd64"
			var out strings.Builder
			if err := b.write(&out); err != nil {
				t.Fatal(err)
			}
			want := c.want + "proven on: Istio 1.31\nistio API: v1.32.0\ngo:        go1.26.8 linux/amd64\n"
			if diff := cmp.Diff(want, out.String()); diff != "" {
				t.Error(diff)
			}
		})
	}
}
