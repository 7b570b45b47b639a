# The commands a person types. Each does its own set-up (scripts/setup.sh) and is quiet about it when nothing is missing.

SHELL := /bin/sh
.DEFAULT_GOAL := help
.PHONY: help demo test check build bench bench-cost chaos clean

REPORTERS := --reporter=default --reporter=./test/support/summary-reporter.ts

help: ## print this
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-10s %s\n", $$1, $$2 }' Makefile

demo: ## three nodes in network namespaces, one failover, measured (root)
	@scripts/setup.sh runtime
	@bin/holdfast demo

test: ## all tests; those in network namespaces need root (one file: make test FILES=test/unit/x.test.ts)
	@scripts/setup.sh test
	@npx --no-install vitest run $(REPORTERS) $(FILES)

check: ## format, lint, types, architecture
	@scripts/setup.sh runtime
	@npm run --silent check

build: ## leaves bin/holdfast ready to run
	@scripts/setup.sh runtime

bench: ## failover as a client sees it, beside keepalived: an hour (root; options: make bench ARGS=--help, ARGS='--table --resume')
	@scripts/setup.sh bench
	@npm run --silent bench:failover -- $(ARGS)

bench-cost: ## CPU, memory and start time when nothing happens, beside keepalived: 70 minutes (root; options: make bench-cost ARGS=--help)
	@scripts/setup.sh bench
	@npm run --silent bench:cost -- $(ARGS)

chaos: ## random faults on three nodes, judged by who answers (root; options: SECONDS=60 SEED=1 DAEMON=both OUT=FILE.md ARGS=--help)
	@scripts/setup.sh test
	@npm run --silent chaos -- --seconds $(or $(SECONDS),60) --seed $(or $(SEED),1) --daemon $(or $(DAEMON),holdfast) \
	  --interval $(or $(INTERVAL),100ms) $(if $(OUT),--out $(OUT)) $(ARGS)

clean: ## remove what was built
	rm -rf dist build
