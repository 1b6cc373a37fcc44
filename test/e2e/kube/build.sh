#!/usr/bin/env bash
# Builds the API server that the end-to-end tests talk to: test/e2e/kube/build.sh OUT puts etcd, kube-apiserver, kubectl
# and helm into the folder OUT and does nothing when OUT holds them already.
#
# A cold build takes about 10 minutes on two cores, most of it kube-apiserver; Go's build cache (3 GB) makes later ones a
# matter of seconds. Nothing but Go and the module proxy is needed: the binaries are static.
set -euo pipefail
out=$(mkdir -p "$1" && cd "$1" && pwd)
cd "$(dirname "${BASH_SOURCE[0]}")"

# The stamp names all that decides what is built, so that a new version of anything builds anew.
stamp=$(cat go.mod go.sum ../helm/go.mod ../helm/go.sum build.sh <(go env GOVERSION GOOS GOARCH) | sha256sum)
if [ "$(cat "$out/stamp" 2>/dev/null)" = "$stamp" ]; then
  exit 0
fi
rm -f "$out/stamp"

# Without these the server calls itself v0.0.0, and Helm compares the version with a chart's kubeVersion.
version=$(go list -m -f '{{.Version}}' k8s.io/kubernetes)
IFS=. read -r major minor _ <<<"${version#v}"
package=k8s.io/component-base/version
ld="-s -w -X $package.gitVersion=$version -X $package.gitMajor=$major -X $package.gitMinor=$minor -X $package.gitTreeState=clean"

export CGO_ENABLED=0
build() {
  local began=$SECONDS
  echo "building $1"
  go build -ldflags="$ld" -o "$out/$1" "$2"
  echo "built $1 in $((SECONDS - began)) s"
}
build etcd go.etcd.io/etcd/server/v3
build kube-apiserver k8s.io/kubernetes/cmd/kube-apiserver
build kubectl k8s.io/kubernetes/cmd/kubectl
cd ../helm
ld='-s -w'
build helm helm.sh/helm/v4/cmd/helm
echo "$stamp" >"$out/stamp"
