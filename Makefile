# The commands a person types. Each does its own set-up (scripts/setup.sh) and is quiet about it when nothing is missing.

SHELL := /bin/sh
.DEFAULT_GOAL := help
.PHONY: help demo unit watch test test-long test-all cluster cluster-down cluster-test check docs build bench bench-balancer bench-cost chaos soak defects prove prove-all explore fuzz fuzz-native release image clean

REPORTERS := --reporter=default --reporter=./test/support/summary-reporter.ts --reporter=./test/support/history-reporter.ts

help: ## print this
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-10s %s\n", $$1, $$2 }' Makefile

demo: ## three nodes in network namespaces, two failovers, measured (root)
	@scripts/setup.sh runtime
	@bin/holdfast demo

# Named files go to the run that they need: containers, or all others.
CONTAINER_FILES := $(filter test/container/%,$(FILES))
OTHER_FILES := $(filter-out test/container/%,$(FILES))
# What `make test` runs, without the long forms and the containers.
SHORT := --project unit --project waiting --project computing --project timed --project alone

unit: ## what needs no root, no network and no wait: under a minute
	@scripts/setup.sh runtime
	@npx --no-install vitest run --project unit

watch: ## the unit tests that a change touches, at each change
	@scripts/setup.sh runtime
	@npx --no-install vitest watch --project unit --changed

test: ## unit, property, namespace and interop tests: 19 minutes (root; one file: make test FILES=test/unit/vrrp/fsm-active.test.ts)
	@scripts/setup.sh test
ifdef FILES
	@status=0; \
	[ -z "$(OTHER_FILES)" ] || scripts/tests.sh --project '!container' $(REPORTERS) $(OTHER_FILES) || status=$$?; \
	[ -z "$(CONTAINER_FILES)" ] || scripts/container-tests.sh $(REPORTERS) $(CONTAINER_FILES) || status=$$?; \
	exit $$status
else
	@scripts/tests.sh $(SHORT) $(REPORTERS)
endif

test-long: ## what test-all adds: chaos, soak, the matrix of accidents, packages, and image, pods and Compose where a Docker engine answers (root)
	@scripts/setup.sh test
	@status=0; \
	scripts/tests.sh --project long --project long-alone $(REPORTERS) || status=$$?; \
	scripts/container-tests.sh $(REPORTERS) || status=$$?; \
	exit $$status

test-all: ## every test (root)
	@status=0; \
	$(MAKE) --no-print-directory test || status=$$?; \
	$(MAKE) --no-print-directory test-long || status=$$?; \
	exit $$status

cluster: ## three control plane nodes in namespaces: real kubelets run etcd, kube-apiserver and holdfast as static pods (root, Go)
	@scripts/setup.sh cluster
	@scripts/cluster-binaries.sh >/dev/null
	@scripts/cluster.sh up

cluster-down: ## remove the nodes of make cluster
	@scripts/cluster.sh down

cluster-test: ## tests on a real kube-apiserver and on the nodes of make cluster; programs are built once: minutes (root, Go)
	@scripts/setup.sh test cluster
	@scripts/cluster-binaries.sh >/dev/null
	@scripts/tests.sh --project cluster $(REPORTERS) $(FILES)

check: ## format, lint, types, architecture
	@scripts/setup.sh runtime
	@npm run --silent check

docs: ## write the parts of docs/ and of bin/holdfast that are made from the code
	@scripts/setup.sh runtime
	@node scripts/launcher-flags.mjs
	@UPDATE_DOCS=1 npx --no-install vitest run test/unit/explain/explain.test.ts test/unit/judge/judge.test.ts test/unit/metrics/metrics.test.ts test/unit/log test/unit/http/published-schemas.test.ts test/unit/http/page-reasons.test.ts test/unit/support/testing-document.test.ts test/references.test.ts

build: ## leaves bin/holdfast ready to run
	@scripts/setup.sh runtime

bench: ## failover as a client sees it, beside keepalived: an hour (root; options: make bench ARGS=--help, ARGS='--table --labs 2')
	@scripts/setup.sh bench
	@npm run --silent bench:failover -- $(ARGS)

bench-cost: ## CPU, memory and start time when nothing happens, beside keepalived: 70 minutes (root; options: make bench-cost ARGS=--help)
	@scripts/setup.sh bench
	@npm run --silent bench:cost -- $(ARGS)

bench-balancer: ## lost requests of a client of the API while HAProxy, API servers and VIP fail: 25 minutes (root; options: make bench-balancer ARGS=--help)
	@scripts/setup.sh bench
	@npm run --silent bench:balancer -- $(ARGS)

lab: ## three routers, a client and Prometheus in Docker Compose: nine faults, a table of outages (root; options: make lab ARGS=--help)
	@scripts/setup.sh container
	@scripts/docker-engine.sh
	@scripts/base-images.sh
	@npm run --silent lab -- $(ARGS)

chaos: ## random faults on three nodes, judged by who answers (root; options: SECONDS=60 SEED=1 DAEMON=both OUT=FILE.md ARGS=--help)
	@scripts/setup.sh test
	@npm run --silent chaos -- --seconds $(or $(SECONDS),60) --seed $(or $(SEED),1) --daemon $(or $(DAEMON),holdfast) \
	  --interval $(or $(INTERVAL),100ms) $(if $(OUT),--out $(OUT)) $(ARGS)

soak: ## an hour at 10 ms with a failover every 10 s, reloads, scrapes, flapping checks: memory, descriptors, answers (root; options: SECONDS=600 OUT=FILE.md ARGS=--help)
	@scripts/setup.sh test
	@npm run --silent soak -- --seconds $(or $(SECONDS),3600) $(if $(OUT),--out $(OUT)) $(ARGS)

defects: ## ten defects planted in the daemon one after the other, each with the test that must fail with it: 5 minutes (root; options: ARGS='--only WORDS', ARGS=--control)
	@scripts/setup.sh test
	@npm run --silent defects -- $(ARGS)

prove: ## the long form of the simulated histories: 10 000 of 3 to 50 nodes, judged by who answers, over an hour of CPU; CI has 300 (options: HISTORIES=100 SEED=1, ARGS='--seconds 60')
	@scripts/setup.sh test
	@npm run --silent prove -- --histories $(or $(HISTORIES),10000) --seed $(or $(SEED),1) $(ARGS)

prove-all: ## every long form that needs no namespaces, one after the other: explore, prove, its extensions, fuzz, fuzz-native; hours of CPU (options as theirs)
	@scripts/prove-all.sh

explore: ## every interleaving on three nodes with one, two and three faults: many minutes of CPU (options: FAULTS=2 DEPTH=12 WORLDS=250000 SETTING=equal)
	@scripts/setup.sh test
	@npm run --silent explore -- --faults '$(FAULTS)' --depth '$(DEPTH)' --states '$(WORLDS)' --setting '$(SETTING)' $(ARGS)

fuzz: ## a million inputs for each parser (options: INPUTS=100000 SEED=1 TARGET=packet,yaml ARGS=--outcomes)
	@scripts/setup.sh runtime
	@npm run --silent fuzz -- --inputs $(or $(INPUTS),1000000) --seed $(or $(SEED),1) $(if $(TARGET),--target $(TARGET)) $(ARGS)

fuzz-native: ## libFuzzer and sanitizers on what the native parts read, ThreadSanitizer on the guardian (root; options: SECONDS=60 TARGET='guardian addon receive who-has threads')
	@scripts/setup.sh fuzz
	@native/fuzz/build.sh $(or $(SECONDS),60) $(TARGET)

release: ## build/release: npm package, tarball with Node, checksums, SBOM (CycloneDX)
	@scripts/setup.sh runtime
	@scripts/release.sh

image: ## the container image holdfast:dev, with Docker (starts an engine where none answers: root)
	@scripts/setup.sh container
	@scripts/docker-engine.sh
	@scripts/base-images.sh
	@docker build --target runtime --tag $(or $(TAG),holdfast:dev) --build-arg REVISION=$$(git rev-parse HEAD) \
	  --build-arg SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) \
	  --build-arg CREATED=$$(date -u +%Y-%m-%dT%H:%M:%SZ) .

clean: ## remove what was built
	rm -rf dist build
