package release

import (
	"context"
	"testing"

	"github.com/moby/buildkit/client/llb"
	"github.com/moby/buildkit/client/llb/sourceresolver"
	"github.com/moby/buildkit/frontend/dockerfile/dockerfile2llb"
	"github.com/opencontainers/go-digest"
)

// images answers for every image that it is an empty one, in place of a registry.
type images struct{}

func (images) ResolveImageConfig(_ context.Context, ref string, _ sourceresolver.Opt) (string, digest.Digest, []byte, error) {
	config := []byte(`{"architecture": "amd64", "os": "linux", "config": {}, "rootfs": {"type": "layers"}}`)
	return ref, digest.FromBytes(config), config, nil
}

// What `docker build --check` says of the Dockerfile: nothing. There is no engine here; it is the same code.
func TestDockerfile(t *testing.T) {
	lint := func(text string) []string {
		t.Helper()
		results, err := dockerfile2llb.DockerfileLint(t.Context(), []byte(text), dockerfile2llb.ConvertOpt{
			MetaResolver: images{}, SourceMap: &llb.SourceMap{Definition: &llb.Definition{}, Filename: "Dockerfile", Data: []byte(text)},
		})
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		if results.Error != nil {
			out = append(out, results.Error.Message)
		}
		for _, w := range results.Warnings {
			out = append(out, w.RuleName+": "+w.Detail)
		}
		return out
	}
	text := read(t, "Dockerfile")
	for _, said := range lint(text) {
		t.Error(said)
	}
	for _, broken := range []string{
		text + "COPY --form=build /out/meshvet /\n", text + "RUN --what\n", text + "maintainer somebody\n", text + "LABEL a=$UNDEFINED\n",
	} {
		if len(lint(broken)) == 0 {
			t.Errorf("no fault is found with\n%s", broken[len(text):])
		}
	}
}
