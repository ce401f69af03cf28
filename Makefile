# Two commands do everything on a fresh machine with a Rust toolchain: `make run` and `make test`.

SHELL := /usr/bin/env bash
.SHELLFLAGS := -euo pipefail -c

# A build cache outside the checkout is used where there is one, so that a clean clone need not build all
# dependencies again. CARGO_TARGET_DIR wins.
SHAREDDB_CACHE ?= $(HOME)/.cache/shareddb/target
ifneq ($(wildcard $(SHAREDDB_CACHE)/.),)
export CARGO_TARGET_DIR ?= $(SHAREDDB_CACHE)
endif

.PHONY: run test install format lint dependencies tests clients docs soak bench bench-star bench-tpch

# A release server on 127.0.0.1:7432 with the demo bookstore in it.
run:
	cargo run --release --bin shareddb -- serve --listen 127.0.0.1:7432 --demo bookstore

# All checks, client tests included; scripts/gate.py tells the phases.
test: install
	python3 scripts/gate.py

# What the tests need beyond the toolchain: PostgreSQL (psql, pgbench, a server to compare with), a JDK and Maven for
# JDBC, Python for psycopg.
install:
	timeout 900 scripts/install-test-tools.sh

# One phase of the checks.
format lint dependencies docs:
	python3 scripts/gate.py $@

tests clients: install
	python3 scripts/gate.py build $@

# What explores, and what measures times: new seeds for MINUTES minutes. Never part of `test`.
MINUTES ?= 30
soak: install
	python3 scripts/soak.py --minutes $(MINUTES)

# The recorded figures (docs/benchmarks.md tells how long it takes).
bench:
	cargo build --release --bin shareddb
	cargo build --release -p shareddb-workloads --features mariadb
	scripts/bench.sh

# The analytical figures: `bench star` and `bench tpch` against peers from the Python registry.
bench-star bench-tpch:
	cargo build --release --bin shareddb
	cargo build --release -p shareddb-workloads
	scripts/bench.sh $(@:bench-%=%)
