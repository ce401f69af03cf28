# Two commands do everything on a fresh machine with a Rust toolchain: `make run` and `make test`.

SHELL := /usr/bin/env bash
.SHELLFLAGS := -euo pipefail -c

# A build cache outside the checkout is used where there is one, so that a clean clone need not build all
# dependencies again. CARGO_TARGET_DIR wins.
SHAREDDB_CACHE ?= $(HOME)/.cache/shareddb/target
ifneq ($(wildcard $(SHAREDDB_CACHE)/.),)
export CARGO_TARGET_DIR ?= $(SHAREDDB_CACHE)
endif

.PHONY: run test install format lint docs unit clients deny bench bench-star bench-tpch

# A release server on 127.0.0.1:7432 with the demo bookstore in it.
run:
	cargo run --release --bin shareddb -- serve --listen 127.0.0.1:7432 --demo bookstore

# All checks, client tests included.
test: install format lint unit clients docs deny

# What the tests need beyond the toolchain: PostgreSQL (psql, pgbench, a server to compare with), a JDK and Maven for
# JDBC, Python for psycopg, cargo-deny.
install:
	scripts/install-test-tools.sh

format:
	cargo fmt --all --check

lint:
	cargo clippy --workspace --all-targets -- -D warnings

docs:
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps

unit:
	cargo test --workspace

# Other people's clients against the program that `unit` has built (building it alone would unify other features
# and compile DataFusion once more).
clients: unit
	crates/server/tests/clients/run.sh

# Licences, banned crates and sources.
deny: install
	cargo deny check licenses bans sources

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
