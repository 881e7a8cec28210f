# Targets of bulkload. `make` lists them.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

BULKLOAD := build/bulkload
CLUSTER  := build/cluster-tool
# The tag, or for a commit without one 0.1.0-dev and its hash.
VERSION  ?= $(shell git describe --tags --exact-match --match 'v[0-9]*' 2>/dev/null | sed 's/^v//' | grep . || echo 0.1.0-dev$$(git rev-parse --short=12 HEAD 2>/dev/null | sed 's/^/./'))

CASES ?= build,run
PEERS ?= importtsv
BENCHFLAGS ?=

.PHONY: help build demo demo-local demo-yarn demo-stop test test-short test-compat test-hfiles test-mutants test-mutations test-airflow test-cron test-examples test-report test-metrics test-source test-dialects test-stores test-exporters test-secure test-yarn test-versions test-release test-faults test-kills soak check fmt fuzz bench bench-secure bench-stores bench-serve soak-serve bench-go cluster-up cluster-down docs docs-quick-start man release clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## build the program: build/bulkload
	@mkdir -p build
	go build -trimpath -buildvcs=auto -ldflags '-X main.version=$(VERSION)' -o $(BULKLOAD) ./cmd/bulkload
	@go build -o $(CLUSTER) ./internal/test/testcluster/cmd/cluster

demo: build ## the main job on an embedded single-node cluster (needs a JDK and Maven): SECURE=1 LEVEL=privacy
	@scripts/demo $(BULKLOAD) $(CLUSTER)

demo-local: build ## build HFiles and look into them, with no JVM at all
	@rm -rf build/demo-local; $(BULKLOAD) demo build/demo-local

# Nodes run the program: it is linked statically.
demo-yarn: export CGO_ENABLED = 0
demo-yarn: build ## the main job with both passes on an embedded YARN
	@YARN=1 scripts/demo $(BULKLOAD) $(CLUSTER)

demo-stop: cluster-down ## stop what demo started

test: ## every test, once: units with the race detector, others on a real HDFS and HBase
	@scripts/test

test-compat: ## HFiles to and from the classes of HBase 1.4, 2.4, 2.5 and 3.0
	BULKLOAD_COMPAT=1 go test -count=1 -v -timeout 30m -run TestVersions ./internal/test/conformance

test-report: ## open reports and the pages of serve in Chromium, if there is one: wide and narrow, light and dark; PICTURES=DIR keeps what it saw
	BULKLOAD_BROWSER=1 BULKLOAD_PICTURES=$(if $(PICTURES),$(abspath $(PICTURES))) go test -count=1 -timeout 5m -run ^TestBrowser ./internal/cli/report ./internal/serve

HFILE_CASES ?= 500
test-hfiles: ## random HFiles to and from HBase's classes: HFILE_CASES=500
	BULKLOAD_CONFORMANCE_CASES=$(HFILE_CASES) go test -count=1 -v -timeout 60m -run '^TestRandomCases$$' ./internal/test/conformance

MUTANTS ?= 3000
test-mutants: ## damaged HFiles that hfile check accepts, with HBase's own reader as judge: MUTANTS=3000 MUTANTS_SEED=…
	BULKLOAD_MUTANTS=$(MUTANTS) BULKLOAD_MUTANTS_SEED=$(MUTANTS_SEED) go test -count=1 -v -timeout 60m -run '^TestMutants$$' ./internal/test/conformance

test-mutations: ## mistakes in the code that the tests must find, one at a time: RUN=pkg/hfile, ON_CLUSTER=1 for those that show on a cluster alone
	go test -count=1 -v -timeout 0 -run '^TestMutations$$' ./internal/test/mutants -args -at-a-time 2 -part '$(RUN)' $(if $(ON_CLUSTER),-cluster)

test-secure: ## clusters with Kerberos, TLS and encryption, of each kind one, and jobs on them
	BULKLOAD_SECURE=1 go test -count=1 -v -timeout 40m -p 1 -run 'TestSecured|TestEncrypted|TestRealm|TestTLS' ./internal/test/testcluster ./internal/hadoop/tlsconf
	BULKLOAD_SECURE=1 go test -count=1 -v -timeout 90m ./internal/test/secured

test-yarn: ## tests on a real YARN, with and without Kerberos (needs a JDK, Maven and a KDC)
	BULKLOAD_YARN=1 go test -count=1 -v -timeout 60m -p 1 -run 'YARN' ./internal/test/testcluster ./internal/hadoop/yarn ./internal/test/onyarn ./internal/test/faults

test-versions: ## the main job, a kill and a split on HBase 2.4, 2.5, 2.6 and 3.0, one after the other; up to 20 minutes: VERSIONS=2.4.18,2.6.4@3.3.6,…
	BULKLOAD_TEST_VERSIONS=$(or $(VERSIONS),all) go test -count=1 -v -timeout 40m ./internal/test/versions

test-faults: ## the whole fault suite: real kills, lost answers, splits; an hour
	BULKLOAD_FAULTS=1 go test -count=1 -v -timeout 90m -p 1 ./internal/test/faults ./pkg/hdfsio ./internal/jobs/job ./pkg/loader ./internal/jobs/rekey ./internal/jobs/undo

test-airflow: ## the provider's wheel and the example DAGs in real Airflows 2.11 and 3, installed on the first run
	BULKLOAD_TEST_AIRFLOW=1 go test -count=1 -v -timeout 120m -run TestAirflow ./internal/test/callers

test-cron: ## the example crontab under Debian's cron, in a mount namespace; needs root, two minutes
	BULKLOAD_TEST_CRON=1 go test -count=1 -v -timeout 15m -run TestCron ./internal/test/callers

test-examples: ## systemd units and Kubernetes manifests
	go test -count=1 -run TestSystemd ./internal/test/callers
	cd internal/test/manifests && go vet . && go test -count=1 .

test-metrics: ## metrics by Prometheus' own programs, lineage by OpenLineage's own client, where they are available
	@scripts/test-metrics

test-source: ## a table that was changed in every way, read from its snapshot and by HBase's own client: ROWS=20000, COST=3 for the times of both
	BULKLOAD_SOURCE_ROWS=$(or $(ROWS),20000) BULKLOAD_SOURCE_COST=$(COST) go test -count=1 -v -timeout 40m -run '^TestTableOfHBase$$' ./internal/pipeline/tablesource

test-dialects: ## files of 50 MB of each dialect, with Python, DuckDB and fastavro as judges: RUN=TestDialects/mysql
	RUN='$(RUN)' scripts/test-dialects

test-stores: ## inputs from servers of others (moto, fake-gcs-server, Azurite), which are installed on the first run
	scripts/test-stores

test-exporters: ## new exports of a real MariaDB, PostgreSQL and Spark, read with their settings; fetches 600 MB once
	BULKLOAD_TEST_EXPORTERS=1 go test -count=1 -v -timeout 40m ./internal/test/exporters

ROUNDS ?= 200
SEED ?= 1
KINDS ?= all
soak: ## random jobs with random faults, one after the other: ROUNDS=200 SEED=1 KINDS=kill,bit-flip=3 JSON=FILE
	go test -count=1 -v -timeout 0 -run '^TestSoak$$' ./internal/test/faults -args -rounds $(ROUNDS) -seed $(SEED) -kinds $(KINDS) $(if $(JSON),-json $(abspath $(JSON)))

KILLS ?= 200
test-kills: ## each command, and shares, killed at random, taken over by other hosts, and run while daemons die and calls are lost, with changes of the table in between: KILLS=200 SEED=1
	BULKLOAD_KILLS=$(KILLS) BULKLOAD_KILLS_SEED=$(SEED) go test -count=1 -v -timeout 180m -run '^Test((Killed|Disturbed)(Commands|Shares)|(Shares)?TakenOver)$$' ./internal/test/faults

test-short: ## the tests that need no cluster
	go test -short ./...

check: ## what must pass before a push besides the tests: format, vet, staticcheck, the structure and words of the whole
	@files=$$(gofmt -l $$(git ls-files '*.go')); [ -z "$$files" ] || { echo "not gofmt'ed:"; echo "$$files"; exit 1; }
	go vet ./...
	go vet -tags stopafter ./internal/engine/...
	CGO_ENABLED=0 GOOS=darwin GOARCH=arm64 go build -trimpath -o /dev/null ./cmd/bulkload
	go tool staticcheck -checks inherit,ST1020,ST1021,ST1022 ./...
	go mod tidy -diff
	go test -short ./internal/test/arch/... ./internal/test/reference/...
	go test -run TestListFitsTheTree ./internal/test/mutants

fmt: ## format the Go files
	gofmt -w $$(git ls-files '*.go')

FUZZTIME ?= 30s
fuzz: ## run every fuzz target for FUZZTIME each (default 30s)
	@grep -rlE '^func Fuzz' --include='*_test.go' cmd pkg internal | while read -r f; do \
	  for t in $$(grep -oE '^func Fuzz[A-Za-z0-9_]+' "$$f" | cut -c6-); do \
	    echo "== $$t in $$(dirname "$$f")"; go test -run '^$$' -fuzz "^$$t\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 20x "./$$(dirname "$$f")"; \
	  done; done

bench: ## measure against ImportTsv and the least possible work: CASES=all PEERS=importtsv,spark,put; CASES=guard: against the release before
	@go test -count=1 -v -timeout 0 -run '^TestBench$$' ./internal/test/bench -args --cases $(CASES) --peers $(PEERS) $(BENCHFLAGS)

bench-secure: ## the same jobs on clusters without security, at each level, and in an encryption zone; an hour
	BULKLOAD_SECURE=1 BULKLOAD_BENCH_SECURE=1 go test -count=1 -v -timeout 0 -run '^TestPace' ./internal/test/secured

bench-stores: ## builds of 1 GB from local disk and from a server of S3's protocol, in turn: ROUNDS=5
	BULKLOAD_BENCH_STORES=$(or $(filter-out 200,$(ROUNDS)),5) go test -count=1 -v -timeout 60m -run '^TestSpeed$$' ./internal/test/stores

bench-serve: ## measure serve on the test cluster against services in Java: one caller, 200, and fixed rates: SHORT=1
	BULKLOAD_BENCH_SERVE=$(if $(SHORT),short,1) go test -count=1 -v -timeout 30m -run '^TestServeBench$$' ./cmd/bulkload

soak-serve: ## hold the answers of serve to known rows while the cluster changes under it: TIME=15m
	BULKLOAD_SOAK=$(or $(TIME),15m) go test -count=1 -v -timeout 60m -run '^TestSoak$$' ./internal/serve

bench-go: ## the Go benchmarks of every stage
	go test -short -run '^$$' -bench . ./pkg/... ./internal/...

cluster-up: build ## start the test cluster and say how to use it: SECURE=1 LEVEL=privacy, CLUSTERFLAGS=…
	@$(CLUSTER) up $(if $(SECURE),--secure --level $(or $(LEVEL),authentication)) $(CLUSTERFLAGS)

cluster-down: build ## stop the test cluster
	@$(CLUSTER) down

docs: ## write docs/commands.md, docs/abilities.md, docs/messages.txt, the tables of docs/configuration.md and the types of the Python package from the code
	go test -count=1 ./cmd/bulkload -run '^TestCommandsDoc$$' -update
	go test -count=1 ./internal/test/reference -run '^(TestJobFile|TestMessageList|TestPythonTypes)$$' -update
	go test -count=1 ./internal/base/abilities -run '^TestDocument$$' -update

docs-quick-start: build ## run docs/quick-start.md on your cluster, which has no table quick:check, and update its outputs
	@dir=$$(mktemp -d); trap 'rm -rf "$$dir"' EXIT; ln -s $(CURDIR)/examples $(CURDIR)/testdata "$$dir"; \
	  PATH=$(CURDIR)/build:$$PATH HADOOP_USER_NAME=etl BULKLOAD_STATE=$$dir/state go test -count=1 ./internal/test/reference -run '^TestDocument$$' -args -document $(CURDIR)/docs/quick-start.md -directory "$$dir"

man: ## write the man pages: build/man/bulkload.1 and one for each command
	@mkdir -p build/man
	go test -count=1 ./cmd/bulkload -run '^TestManPages$$' -man $(CURDIR)/build/man -man-version $(VERSION) -man-date $$(date -u +%FT%TZ)

PLATFORMS ?= linux/amd64,linux/arm64,darwin/arm64
release: ## archives, packages, images, bill of materials and SHA256SUMS in build/release: PLATFORMS=linux/amd64,… VERSION=…
	go run -C internal/release ./cmd/release --root $(CURDIR) --out $(CURDIR)/build/release --version $(VERSION) --platforms $(PLATFORMS)

test-release: build ## install, upgrade and remove packages in a root directory of Debian, run the image in namespaces; needs root, debootstrap, rpm, a JDK and Maven
	@dir=$$(mktemp -d); trap '$(CLUSTER) --dir $$dir/cluster down; rm -rf $$dir' EXIT; $(CLUSTER) --dir $$dir/cluster up >/dev/null; \
	  eval "$$($(CLUSTER) --dir $$dir/cluster env)"; BULKLOAD_RELEASE=1 go test -C internal/release -count=1 -v -timeout 30m .

clean: ## remove what was built; the cluster's jars stay in the cache
	rm -rf build
