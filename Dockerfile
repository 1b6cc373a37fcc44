# The image of meshvet: static binaries, for `meshvet webhook` in a cluster and for any other command, meshvet-render among them, which
# meshvet runs to render kustomizations and Helm charts. `make image` builds it.
#
# Both bases are pinned: the tag says what it is, the digest (of the index of all platforms) decides. The Go version is at least that of go.mod.
FROM --platform=$BUILDPLATFORM golang:1.26.8-bookworm@sha256:a688600ca24f8a4d3ca77f95b0dd40704a9fc787c826660eb7ba0b641b8b175d AS build
WORKDIR /src
# Modules first, since they change less often than the code.
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG TARGETOS
ARG TARGETARCH
ARG VERSION=devel
ARG COMMIT=
# As in the Makefile. Compiled on the builder's own platform for that of the image; no emulation is needed.
RUN CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH \
    go build -trimpath -buildvcs=false -ldflags "-s -w -X main.version=$VERSION -X main.commit=$COMMIT" -o /out/ ./cmd/meshvet ./cmd/meshvet-render

FROM gcr.io/distroless/static-debian13:nonroot@sha256:e2e927ec666bae08560abb3c55d0659eceabb657f56b6782ab500a9fc7f555e3
ARG VERSION=devel
ARG COMMIT=
LABEL org.opencontainers.image.title="meshvet" \
      org.opencontainers.image.description="Tells what Istio will really make of a ServiceEntry or DestinationRule" \
      org.opencontainers.image.source="https://github.com/meshvet/meshvet" \
      org.opencontainers.image.documentation="https://github.com/meshvet/meshvet/tree/main/docs" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="$VERSION" \
      org.opencontainers.image.revision="$COMMIT"
COPY LICENSE /licenses/LICENSE
COPY --from=build /out/meshvet /out/meshvet-render /usr/local/bin/
# By number: a kubelet cannot tell whether a user with a name is root. The chart runs it as this user too.
USER 65532:65532
ENTRYPOINT ["/usr/local/bin/meshvet"]
