#!/usr/bin/env bash
# The figures of docs/benchmarks.md: bench.sh [bookstore|star|tpch]; installs the peers, then drives everybody.
# bookstore: about 40 minutes on two cores; `ITEMS=100000 BROWSERS=1000` gives the large shop and needs 20 GB of
# memory. star and tpch: `SCALE_FACTOR=10` needs 16 GB of memory and 10 GB of disk.
set -euo pipefail
cd "$(dirname "$0")/.."

workload="${1:-bookstore}"
missing=()
ls /usr/lib/postgresql/*/bin/postgres > /dev/null 2>&1 || missing+=(postgresql)
[ "$workload" != bookstore ] || command -v mariadbd > /dev/null || missing+=(mariadb-server)
if [ ${#missing[@]} -gt 0 ]; then
  sudo=()
  [ "$(id -u)" -eq 0 ] || sudo=(sudo)
  "${sudo[@]}" apt-get update -qq
  "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "${missing[@]}"
fi

target="${CARGO_TARGET_DIR:-target}"
output="${OUTPUT:-target/bench}"
case "$workload" in
  bookstore)
    exec "$target/release/shareddb-bench" bookstore \
      --mix browsing,shopping,ordering --seconds "${SECONDS_PER_RUN:-10}" \
      --items "${ITEMS:-10000}" --browsers "${BROWSERS:-100}" \
      --against postgres,mariadb --no-sharing \
      --figure throughput,batches,interference \
      --output "$output" --json "$output/bookstore.json"
    ;;
  star)
    scripts/install-bench-peers.sh
    exec "$target/release/shareddb-bench" star \
      --scale-factor "${SCALE_FACTOR:-1}" --seconds "${SECONDS_PER_RUN:-10}" \
      --against duckdb,hyper,clickhouse,datafusion,postgres --no-sharing \
      --figure selectivity,similarity,working-sets \
      --output "$output" --json "$output/star.json"
    ;;
  tpch)
    scripts/install-bench-peers.sh
    exec "$target/release/shareddb-bench" tpch \
      --scale-factor "${SCALE_FACTOR:-1}" --seconds "${SECONDS_PER_RUN:-10}" \
      --against duckdb,hyper,clickhouse,datafusion,postgres \
      --output "$output" --json "$output/tpch.json"
    ;;
  *)
    echo "no workload $workload: bookstore, star or tpch" >&2
    exit 1
    ;;
esac
