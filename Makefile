# Targets of bulkload. `make` lists them.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

BULKLOAD := build/bulkload
CLUSTER  := build/cluster-tool
VERSION  := $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)

CASES ?= build,run
PEERS ?= importtsv
BENCHFLAGS ?=

.PHONY: help build demo demo-local demo-stop test test-short test-compat test-faults test-airflow test-cron test-examples test-metrics soak check fmt fuzz bench bench-go cluster-up cluster-down clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## build the program: build/bulkload
	@mkdir -p build
	go build -trimpath -ldflags '-X main.version=$(VERSION)' -o $(BULKLOAD) ./cmd/bulkload
	@go build -o $(CLUSTER) ./internal/testcluster/cmd/cluster

demo: build ## the main job on an embedded single-node cluster (needs a JDK and Maven)
	@scripts/demo $(BULKLOAD) $(CLUSTER)

demo-local: build ## build HFiles and look into them, with no JVM at all
	@scripts/demo-local $(BULKLOAD)

demo-stop: cluster-down ## stop what demo started

test: ## every test, those on a real HDFS and HBase included
	@scripts/test

test-compat: ## HFiles to and from the classes of HBase 1.4, 2.4, 2.5 and 3.0
	BULKLOAD_COMPAT=1 go test -count=1 -v -timeout 30m -run TestVersions ./internal/conformance

test-faults: ## the whole fault suite: real kills, lost answers, splits; an hour
	BULKLOAD_FAULTS=1 go test -count=1 -v -timeout 90m -p 1 ./internal/faults ./pkg/hdfsio ./pkg/job ./pkg/loader

test-airflow: ## the example DAGs in real Airflows 2.11 and 3, installed on the first run
	BULKLOAD_TEST_AIRFLOW=1 go test -count=1 -v -timeout 30m -run TestAirflow ./internal/callers

test-cron: ## the example crontab under Debian's cron, in a mount namespace; needs root, two minutes
	BULKLOAD_TEST_CRON=1 go test -count=1 -v -timeout 15m -run TestCron ./internal/callers

test-examples: ## systemd units, Kubernetes manifests and the Dockerfile
	go test -count=1 -run TestSystemd ./internal/callers
	cd internal/manifests && go vet . && go test -count=1 .

test-metrics: ## metrics by Prometheus' own programs, lineage by OpenLineage's own client, where they are to be had
	@scripts/test-metrics

ROUNDS ?= 200
SEED ?= 1
soak: ## random jobs with random faults, one after the other: ROUNDS=200 SEED=1
	go run ./internal/faults/cmd/soak --rounds $(ROUNDS) --seed $(SEED)

test-short: ## the tests that need no cluster
	go test -short ./...

check: ## what must pass before a push: format, vet, staticcheck, races in the core
	@files=$$(gofmt -l $$(git ls-files '*.go')); [ -z "$$files" ] || { echo "not gofmt'ed:"; echo "$$files"; exit 1; }
	go vet ./...
	go tool staticcheck ./...
	go mod tidy -diff
	go test -race -short ./pkg/... ./internal/arch/...

fmt: ## format the Go files
	gofmt -w $$(git ls-files '*.go')

FUZZTIME ?= 30s
fuzz: ## run every fuzz target for FUZZTIME each (default 30s)
	@grep -rlE '^func Fuzz' --include='*_test.go' pkg internal | while read -r f; do \
	  for t in $$(grep -oE '^func Fuzz[A-Za-z0-9_]+' "$$f" | cut -c6-); do \
	    echo "== $$t in $$(dirname "$$f")"; go test -run '^$$' -fuzz "^$$t\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 20x "./$$(dirname "$$f")"; \
	  done; done

bench: ## measure against ImportTsv and the least possible work: CASES=all PEERS=importtsv,spark
	@mkdir -p build/bench
	@go build -o build/bench/bench ./internal/bench/cmd/bench
	@build/bench/bench --cases $(CASES) --peers $(PEERS) $(BENCHFLAGS)

bench-go: ## the Go benchmarks of every stage
	go test -short -run '^$$' -bench . ./pkg/...

cluster-up: build ## start the test cluster and say how to use it
	@$(CLUSTER) up

cluster-down: build ## stop the test cluster
	@$(CLUSTER) down

clean: ## remove what was built; the cluster's jars stay in the cache
	rm -rf build
