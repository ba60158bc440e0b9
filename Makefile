# Everything a contributor runs. `make help` lists it.
SHELL := /bin/bash
.DEFAULT_GOAL := help

KUBERNETES_MINORS := 1.33 1.35 1.36 1.37
# The list of functions that a released program is laid out by; `make used-functions` writes it here.
FUNCTION_ORDER := $(abspath $(or $(LLSD_FUNCTION_ORDER),$(or $(CARGO_TARGET_DIR),target)/used-functions.txt))

# Of `make bench-scale` and `make soak`.
SIZES ?= 100,1000
HOURS ?= 2

.PHONY: help
help: ## This list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-18s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: demo
demo: ## The whole product on this machine: control plane, operator, real server; until Ctrl-C
	@scripts/demo

.PHONY: demo-check
demo-check: ## The same, unattended: ends when everything works
	@scripts/demo --check

.PHONY: demo-node
demo-node: ## The same with the operator's image on a real node (kubelet, containerd); as root; until Ctrl-C, or CHECK=1
	@scripts/demo-node $(if $(CHECK),--check)

.PHONY: test
test: ## All checks and tests, with all set-up; what CI runs
	@scripts/test

.PHONY: test-faults
test-faults: ## Faults that clusters really have, each beside a healthy resource; part of `make test`
	cargo test --workspace --locked --no-fail-fast --test faults

.PHONY: test-kubernetes
test-kubernetes: ## The control-plane tests on every supported Kubernetes minor
	@scripts/test-kubernetes $(KUBERNETES_MINORS)

.PHONY: test-servers
test-servers: ## Every release of the real server checks and boots what is generated; half an hour
	@scripts/test-servers

.PHONY: test-replacing
test-replacing: ## Real servers are replaced under streams of ten minutes; the gap with a volume is measured; half an hour
	LLSD_TEST_STREAM_PAUSE=150 cargo test --workspace --locked --test operator replaced_without -- --nocapture

.PHONY: test-install
test-install: ## The image, both charts and every way to install, on a real control plane; builds the released program
	@scripts/test-install

.PHONY: test-upgrade
test-upgrade: ## N (100) servers of an older build of the operator under this one: none is restarted; ten minutes
	@scripts/test-upgrade $(or $(N),100) $(FROM)

.PHONY: test-charts
test-charts: ## What Helm 3 and 4 make of the charts; part of `make test-install`
	@scripts/test-charts

.PHONY: test-manifests
test-manifests: ## What kubeconform, kube-score, checkov and OLM's validator say of all that is installed; part of `make test-install`
	@scripts/test-manifests

.PHONY: image
image: ## The operator's image in dist/image; with REF=… pushed there, with KEY=FILE signed
	@scripts/image $(REF) $(FLAGS)

.PHONY: release
release: ## Everything of a release in dist/: VERSION=…, and REF, KEY, DOWNLOAD_URL as they are set
	@scripts/release '$(VERSION)' $(REF) $(FLAGS)

.PHONY: playground
playground: ## The engine as one page without a server, dist/playground/index.html
	@scripts/playground

.PHONY: playground-test
playground-test: ## The page gives the bytes of the command line, and real Chromium drives it; PICTURES=FOLDER keeps screenshots
	@scripts/playground-test

.PHONY: docs
docs: ## The documentation as a site in dist/docs, with the playground, and no dead link
	@scripts/docs

.PHONY: docs-test
docs-test: ## Every command and YAML block of the documentation, run on a real control plane; PAGES=… for some
	@scripts/docs-test $(PAGES)

.PHONY: bench
bench: ## How long planning takes, and validating large files
	cargo bench -p llsd-plan --bench planning
	cargo bench -p llsd-offline --bench validating

.PHONY: bench-controller
bench-controller: ## How fast and small the operator is, with N resources (1000) on a real API server
	@[ -f '$(FUNCTION_ORDER)' ] && echo 'Functions laid out by $(FUNCTION_ORDER)' || \
	  echo 'No list of used functions (make used-functions writes one): the program is larger in memory'
	LLSD_FUNCTION_ORDER='$(wildcard $(FUNCTION_ORDER))' cargo build --release -p llsd --bin llsd
	cargo build --profile bench -p llsd-bench --bin bench-controller
	$${CARGO_TARGET_DIR:-target}/release/bench-controller $(or $(N),1000)

.PHONY: bench-scale
bench-scale: ## What fleets of SIZES (100,1000) cost the released program, with pictures in dist/scale; FLAGS
	@scripts/bench-released bench-scale --sizes '$(SIZES)' --pictures dist/scale $(FLAGS)

.PHONY: soak
soak: ## HOURS (2) of random changes and faults: memory stays flat, and all is in sync at the end; FLAGS
	@scripts/bench-released soak --hours $(HOURS) --picture dist/soak.svg $(FLAGS)

.PHONY: compare-profiles
compare-profiles: ## The program with fat and with thin link-time optimisation: time to build, size, and with N=300 speed and memory
	@scripts/compare-profiles $(N)

.PHONY: used-functions
used-functions: ## Lists the functions that a running operator uses, for the layout of the released program
	@scripts/used-functions '$(FUNCTION_ORDER)'

.PHONY: round-trips
round-trips: ## Ten million conversions there and back, compared; about 11 minutes
	LLSD_TEST_CONVERSIONS=10000000 cargo test --profile bench-conversion -p llsd-api --test conversion laws -- --nocapture

.PHONY: explore
explore: ## Every sequence of up to DEPTH (3) things at once, and RANDOM (1000000) longer ones, on a simulated cluster
	cargo run --profile explore -p llsd-explorer -- --depth $(or $(DEPTH),3) --random $(or $(RANDOM),1000000)

.PHONY: fuzz
fuzz: ## Every fuzz target for a minute, or as long as SECONDS_EACH says
	@scripts/fuzz $(or $(SECONDS_EACH),60)

.PHONY: fuzz-servers
fuzz-servers: ## Random resources, judged by real servers for SECONDS (120) each; RELEASES=0.7.3,… for some, SEED=n for others
	cargo run --locked -p llsd-server-fuzzer -- --seconds $(or $(SECONDS),120) --releases $(or $(RELEASES),all) --seed $(or $(SEED),1)

.PHONY: coverage
coverage: ## Line coverage of each crate
	@scripts/coverage

.PHONY: generate
generate: ## Writes everything that is generated and committed; CONTRIBUTING.md lists it
	cargo run --quiet -p llsd -- manifests --output-dir deploy --charts-dir charts
	@scripts/test-charts --if-changed
	UPDATE_REFERENCE=1 cargo test --quiet -p llsd-release --test reference
	UPDATE_CASES=1 UPDATE_OBJECTS=1 cargo test --quiet -p llsd-plan --test cases --test objects every_case

.PHONY: control-plane
control-plane: ## A Kubernetes control plane on loopback, until Ctrl-C
	cargo run --quiet -p llsd-testkit --bin control-plane -- run

.PHONY: node
node: ## A real node (kubelet, containerd) with its cluster, until Ctrl-C; NODES=2 for two machines, LOGS=FOLDER keeps logs
	@cargo run --quiet -p llsd-node -- run $(or $(NODES),1) $(LOGS)

.PHONY: node-shell
node-shell: ## A shell in the node that runs; NODE=node-2 for another machine
	@cargo run --quiet -p llsd-node -- shell $(or $(NODE),node-1)

.PHONY: node-status
node-status: ## The node that runs, its machines and pods; or what this machine lacks for one
	@cargo run --quiet -p llsd-node -- status

.PHONY: node-stop
node-stop: ## Ends the node that runs, and removes what one left whose janitor was killed
	@cargo run --quiet -p llsd-node -- stop

.PHONY: node-test
node-test: ## The node itself: pods, names, registries, a lost machine, killed at any moment; five minutes
	LLSD_TEST_NODE=1 cargo test --locked -p llsd-node --test node -- --test-threads 1

.PHONY: test-node
test-node: ## What the documentation promises, on a real node with the released image; as root; an hour
	@scripts/test-node

.PHONY: fmt
fmt: ## Formats the code
	cargo fmt --all

.PHONY: lint
lint: ## The linter, with warnings as errors
	cargo clippy --workspace --all-targets -- -D warnings
