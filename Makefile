# `make` alone prints what there is. The tools are Go modules pinned in test/tools and built by `go tool` on first use.

SHELL       := bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:

GO      ?= go
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)
COMMIT  ?= $(shell git rev-parse HEAD 2>/dev/null)

# How the programs are built to be handed out, here as in the Dockerfile and .goreleaser.yaml: the same commit, version and Go give the
# same bytes, wherever the checkout is and whatever it looks like.
PROGRAMS    = ./cmd/meshvet ./cmd/meshvet-render
BIN        ?= bin
BUILD_FLAGS = -trimpath -buildvcs=false -ldflags '-s -w -X main.version=$(VERSION) -X main.commit=$(COMMIT)'

# Go keeps the built tools in its build cache. They have a module file each, since they need different versions of the
# same library.
GOLANGCI_LINT = $(GO) tool -modfile=test/tools/go.mod golangci-lint
OPA           = $(GO) tool -modfile=test/tools/opa.mod opa
ACTIONLINT    = $(GO) tool -modfile=test/tools/actionlint.mod actionlint
GORELEASER    = $(GO) tool -modfile=test/tools/goreleaser.mod goreleaser
HELM_DOCS     = $(GO) tool -modfile=test/tools/helmdocs.mod helm-docs --chart-search-root charts --sort-values-order file --log-level warning

# Flags for the tests, e.g. make test TESTFLAGS='-v -run TestFixtures'.
TESTFLAGS  ?=
# Tests that the race detector has nothing to look at in, though their packages start goroutines.
SEQUENTIAL = ^Test(Hostile|Oversize|Corpus|Differential|SameAnswers|EffectiveMeetsSchema|ComparedToIstioctl|Pages|MutatedObjects|DecidersAgreeWithCEL|WarningsFit|LongRun)
# Of the stories, those that tell of one goroutine after another; what runs side by side is in the others, monday among them.
SEQUENTIAL_STORIES = ^TestScript$$/^(baseline|broken|color|complete|completion|config|dataplane|effective|environment|exclude|exit|explain|fix-|init|rules|same|select|severity|since-|stdin|suppress|template|usage)
# Which benchmarks, and how: make bench BENCH=Lint BENCHFLAGS='-count 10'.
BENCH      ?= .
BENCHFLAGS ?= -benchmem
# How long each fuzz target runs, and which: make fuzz FUZZTIME=10m FUZZ=Load.
FUZZTIME   ?= 1m
FUZZ       ?= .
# The rules that are proven, and those that are mutated; empty means all.
PROVE      ?=
MUTATE     ?=
# How many mutants of manifests prove-refusals tries.
MUTANTS ?= 20000
# How many random meshes make prove-corpus compiles, and the report that it writes when all collections are there; PROOF= writes none.
RANDOM_MESHES ?= 2000
PROOF         ?= docs/proof.md
# The istioctl whose words make compared records; it has to be of the oracle's version of Istio.
ISTIOCTL      ?= istioctl
# Where the programs are built that stand for a cluster in tests, and the helm among them.
E2E_TOOLS ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/meshvet/e2e
HELM      ?= $(E2E_TOOLS)/helm
# What builds the image, and what it is called; the chart asks for the version without a v.
CONTAINER ?= docker
IMAGE     ?= ghcr.io/meshvet/meshvet:$(VERSION:v%=%)
# How bench-webhook measures.
LOADFLAGS  ?=
# Which suites of test-all run; empty means all of them.
SUITES     ?=

# Manifests of other repositories, and an outside check with known answers. Both are optional neighbours of the
# repository: without them the targets say so and do nothing.
CORPUS      ?= ../shared/corpus
CORPUSFLAGS ?=
# The report that corpus writes; empty means none.
CORPUSREPORT ?= docs/corpus.md
CASES       ?= ../shared/check/cases
MANIFESTS   ?= ../shared
# The rules whose answers `make cases` compares; empty means all that the binary has.
CASE_RULES  ?=

.PHONY: help
help: ## Print this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## /{printf "  %-14s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

.PHONY: build
build: ## Build bin/meshvet and bin/meshvet-render, static binaries
	CGO_ENABLED=0 $(GO) build $(BUILD_FLAGS) -o $(BIN)/ $(PROGRAMS)

.PHONY: manuals
manuals: ## Write the man pages and the completions of the shells to bin/manuals
	SOURCE_DATE_EPOCH="$${SOURCE_DATE_EPOCH:-$$(git log -1 --format=%ct)}" \
	  $(GO) run $(BUILD_FLAGS) ./cmd/meshvet docs --man bin/manuals/man --completions bin/manuals/completions

.PHONY: reproducible
reproducible: ## Build the programs in two folders and fail if a byte differs
	@bash .ci/reproducible

.PHONY: image
image: ## Build the container image (IMAGE=NAME:TAG, CONTAINER=podman)
	$(CONTAINER) build --build-arg VERSION='$(VERSION)' --build-arg COMMIT='$(COMMIT)' --tag '$(IMAGE)' .

.PHONY: test
test: ## Run the tests, those of the Rego policies included
	$(GO) test -timeout 10m $(TESTFLAGS) ./...

.PHONY: test-tools
test-tools: ## Run the tests of the development tools
	cd test/tools && $(GO) test -timeout 5m $(TESTFLAGS) ./...

.PHONY: test-release
test-release: ## Run the tests of what makes a release: workflows, image, .goreleaser.yaml, and of the pipelines in examples
	cd test/release && $(GO) test -timeout 5m $(TESTFLAGS) ./...

.PHONY: oracle
oracle: ## Build bin/oracle, which compiles manifests with Istio's own control plane
	cd test/oracle && $(GO) build -o ../../bin/oracle .

.PHONY: prove
prove: oracle ## Compile the fixtures of the rules, check what proof.yaml claims, write proof.golden (PROVE=SE101)
	$(GO) run ./test/prove -oracle bin/oracle write $(PROVE)

.PHONY: prove-check
prove-check: oracle ## Compile the fixtures again and fail if a proof does not hold or is out of date
	$(GO) run ./test/prove -oracle bin/oracle check $(PROVE)

.PHONY: prove-corpus
prove-corpus: oracle ## Hold predictions and findings on whole collections of manifests against Istio; write docs/proof.md if all are there
	@sets=('fixtures and examples=rules/testdata,policies/testdata,examples') report=(); \
	for set in 'public manifests=$(CORPUS)' 'cases with known answers=$(MANIFESTS)/cases' 'measured facts=$(MANIFESTS)/oracle/facts'; do \
	  if [ -e "$${set#*=}" ]; then sets+=("$$set"); else echo "$${set%=*}: $${set#*=} is not there"; fi; \
	done; \
	[ "$${#sets[@]}" -lt 4 ] || report=(-report '$(PROOF)'); \
	$(GO) run ./test/prove -oracle bin/oracle corpus -random $(RANDOM_MESHES) "$${report[@]}" "$${sets[@]}"

.PHONY: prove-refusals
prove-refusals: oracle ## Hold what MV907 refuses of random mutants against Istio's own validation
	$(GO) run ./test/prove -oracle bin/oracle refusals -n $(MUTANTS) rules/testdata policies/testdata examples

.PHONY: compared
compared: oracle ## Record what istioctl says of examples/compared-to-istioctl, and rewrite docs/compared-to-istioctl.md (ISTIOCTL=PATH)
	@if ! command -v '$(ISTIOCTL)' >/dev/null; then echo "no istioctl at $(ISTIOCTL): nothing recorded (set ISTIOCTL)"; exit 0; fi; \
	(cd test/oracle && $(GO) build -o ../../bin/analyze ./analyze); \
	$(GO) run ./test/prove -oracle bin/oracle compared -istioctl '$(ISTIOCTL)' -analyze bin/analyze examples/compared-to-istioctl; \
	$(GO) test ./cmd/meshvet -run TestComparedToIstioctl -update

.PHONY: mutate
mutate: ## Change one thing of a rule at a time; fail if the fixtures notice too little of it (MUTATE=SE101)
	$(GO) run ./test/mutate $(if $(MUTATE),-v $(MUTATE))

.PHONY: test-oracle
test-oracle: ## Run the tests of the oracle
	cd test/oracle && $(GO) test -timeout 20m $(TESTFLAGS) ./...

.PHONY: e2e-tools
e2e-tools: ## Build etcd, kube-apiserver, kubectl and helm, and fetch what tests take from npm, once
	@# Whoever sets KUBEBUILDER_ASSETS has them.
	[ -n "$${KUBEBUILDER_ASSETS:-}" ] || bash test/e2e/kube/build.sh '$(E2E_TOOLS)'
	bash test/e2e/npm/install.sh '$(E2E_TOOLS)/npm'

.PHONY: chart
chart: e2e-tools ## Check the Helm chart: lint, manifests, rights, values (TESTFLAGS=-update renders the golden files anew)
	@[ -x '$(HELM)' ] || { echo "there is no helm at $(HELM)" >&2; exit 1; }
	HELM='$(HELM)' $(GO) test -timeout 10m $(TESTFLAGS) ./charts
	@diff -u charts/meshvet/README.md <($(HELM_DOCS) --dry-run) || { echo "the README of the chart is stale, run make generate" >&2; exit 1; }

.PHONY: e2e
e2e: e2e-tools ## Test the webhook and its chart on a real API server (TESTFLAGS='-v -run TestRatchet')
	@# Not from the cache of go test, which does not know that the chart and the program are what is tested.
	cd test/e2e && KUBEBUILDER_ASSETS="$${KUBEBUILDER_ASSETS:-$(E2E_TOOLS)}" $(GO) test -count=1 -timeout 10m $(TESTFLAGS) ./...

.PHONY: bench-webhook
bench-webhook: e2e-tools ## Measure the webhook with 20,000 objects and 200 reviews a second (LOADFLAGS='-objects 5000')
	cd test/e2e && KUBEBUILDER_ASSETS="$${KUBEBUILDER_ASSETS:-$(E2E_TOOLS)}" $(GO) run ./load $(LOADFLAGS)

.PHONY: race
race: ## Run the tests of the engine and the program under the race detector
	@# Only packages that start goroutines, or whose tests do, have anything to check. Nor do tests that ask one thing after another,
	@# such as reading hostile files and comparing pages with what the program says, which take minutes under the detector. What renders
	@# works one thing after another, in processes with limits of memory that the detector's own would exceed.
	@packages=$$(grep -rlE '^[[:space:]]*go [a-zA-Z]|\.Go\(|\.Parallel\(\)|\.RunParallel\(' --include='*.go' lint webhook cmd | xargs -n 1 dirname | sort -u | grep -vx cmd/meshvet-render | sed 's|^|./|'); \
	CGO_ENABLED=1 $(GO) test -race -timeout 20m -skip '$(SEQUENTIAL)|$(SEQUENTIAL_STORIES)' $(TESTFLAGS) $$packages

.PHONY: test-all
test-all: ## Run everything that CI runs, with the time of each suite
	@CORPUS='$(CORPUS)' CASES='$(CASES)' bash .ci/suites $(SUITES)

.PHONY: lint
lint: ## Check the Go code, the policies, the scripts, the workflows and the release
	@unformatted=$$(gofmt -s -l .); if [ -n "$$unformatted" ]; then echo "not formatted, run make fmt:"; echo "$$unformatted"; exit 1; fi
	$(GO) vet ./...
	$(GOLANGCI_LINT) run
	cd test/tools && $(GO) vet ./... && $(GO) tool golangci-lint run
	cd test/oracle && $(GO) vet ./... && $(GO) tool -modfile=../tools/go.mod golangci-lint run
	cd test/release && $(GO) vet ./... && $(GO) tool -modfile=../tools/go.mod golangci-lint run
	cd test/e2e && $(GO) vet ./... && $(GO) tool -modfile=../tools/go.mod golangci-lint run
	$(OPA) fmt --diff --fail policies
	$(OPA) check --strict --capabilities policies/capabilities.json policies
	$(ACTIONLINT) -shellcheck shellcheck
	$(GORELEASER) check --quiet
	shellcheck .ci/run .ci/packages .ci/suites .ci/fuzz .ci/verify .ci/reproducible .ci/release-notes test/e2e/kube/build.sh test/e2e/npm/install.sh

.PHONY: fmt
fmt: ## Format the Go code and the policies
	gofmt -s -w .
	$(OPA) fmt --write policies

.PHONY: generate
generate: ## Rewrite the generated code, rule pages, schemas and the README of the chart
	$(GO) generate ./...
	$(GO) run ./cmd/meshvet docs --out docs --schemas schemas
	$(HELM_DOCS)

.PHONY: verify
verify: ## Fail if `make generate` or `go mod tidy` would change anything
	@bash .ci/verify

.PHONY: bench
bench: ## Run the benchmarks
	$(GO) test -run '^$$' -bench '$(BENCH)' -timeout 60m $(BENCHFLAGS) ./...

.PHONY: corpus
corpus: build ## Lint the corpus repository by repository, print counts, write docs/corpus.md (CORPUSFLAGS='-show SE101')
	@if [ ! -d '$(CORPUS)' ]; then echo "no corpus at $(CORPUS): nothing linted (set CORPUS)"; exit 0; fi; \
	meshvet=$$PWD/bin/meshvet; corpus=$$(cd '$(CORPUS)' && pwd); \
	docs=$$PWD/docs report=$(abspath $(CORPUSREPORT)); \
	cd test/tools && $(GO) run ./corpus -sample "$$docs/corpus-sample.csv" $${report:+-report "$$report"} $(CORPUSFLAGS) "$$meshvet" "$$corpus"

.PHONY: cases
cases: build ## Compare the answers on small inputs with the known ones
	@if [ ! -e '$(CASES)' ]; then echo "no cases at $(CASES): nothing compared (set CASES)"; exit 0; fi; \
	rules='$(CASE_RULES)'; \
	'$(CASES)' bin/meshvet $${rules:-$$(bin/meshvet rules | awk 'NR > 1 { print $$1 }')}

.PHONY: fuzz
fuzz: ## Run every fuzz target for FUZZTIME
	@bash .ci/fuzz '$(FUZZTIME)' '$(FUZZ)'

.PHONY: cover
cover: ## Measure the statement coverage of the tests
	@mkdir -p bin
	$(GO) test -timeout 15m -coverpkg=./... -coverprofile=bin/cover.out ./...
	$(GO) tool cover -html=bin/cover.out -o bin/cover.html
	$(GO) tool cover -func=bin/cover.out | tail -n 1

.PHONY: clean
clean: ## Remove what the targets above built
	rm -rf bin
