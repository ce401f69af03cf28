#!/usr/bin/env bash
# Makes a Python environment with the analytical peers of `shareddb bench star` and `tpch` (about 1 GB). DuckDB,
# Hyper, ClickHouse and DataFusion come from the Python registry at the versions of the recorded figures.
set -euo pipefail
cd "$(dirname "$0")/.."

folder="${1:-target/peers}"
[ -x "$folder/bin/python3" ] || python3 -m venv "$folder"
"$folder/bin/pip" install --quiet --disable-pip-version-check \
  duckdb==2.0.0 tableauhyperapi==0.0.26963 chdb==4.4.0 datafusion==55.0.0 pyarrow==26.0.1
