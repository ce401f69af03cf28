#!/usr/bin/env bash
# The figures of docs/benchmarks.md: bench.sh [bookstore|bookstore-load|star|star-scale|star-cores|star-grid|working-sets|tpch|overload-WORKLOAD];
# installs the peers, then drives everybody. docs/benchmarks.md tells what each is, and how long it takes on two cores.
# bookstore: `ITEMS=100000 BROWSERS=1000` gives the large shop and needs 20 GB of memory. star, working-sets and tpch:
# `SCALE_FACTOR=10` needs 20 GB of memory and 20 GB of disk; so does star-scale. AGAINST and SECONDS_PER_RUN
# change whom to compare with and how long a run is.
set -euo pipefail
cd "$(dirname "$0")/.."

workload="${1:-bookstore}"
missing=()
ls /usr/lib/postgresql/*/bin/postgres > /dev/null 2>&1 || missing+=(postgresql)
[ "${workload%-load}" != bookstore ] || command -v mariadbd > /dev/null || missing+=(mariadb-server)
if [ ${#missing[@]} -gt 0 ]; then
  sudo=()
  [ "$(id -u)" -eq 0 ] || sudo=(sudo)
  "${sudo[@]}" apt-get update -qq
  "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "${missing[@]}"
fi
case "$workload" in
  star | star-scale | star-cores | working-sets | tpch)
    [ -n "${SHAREDDB_PEERS_PYTHON:-}" ] || scripts/install-bench-peers.sh
    ;;
esac

target="${CARGO_TARGET_DIR:-target}"
output="${OUTPUT:-target/bench}/$workload"
driver="$target/release/shareddb-bench"
seconds="${SECONDS_PER_RUN:-10}"
mkdir -p "$output"

# Everybody's results and figures go into the workload's folder.
bench() {
  "$driver" "$@" --seconds "$seconds" --output "$output" --json "$output/$workload.json"
}

bookstore_peers="${AGAINST:-postgres,mariadb}"
peers="${AGAINST:-duckdb,hyper,clickhouse,datafusion,postgres}"
scale="${SCALE_FACTOR:-1}"
shop=(--items "${ITEMS:-10000}" --browsers "${BROWSERS:-100}")
case "$workload" in
  bookstore)
    bench bookstore "${shop[@]}" --against "$bookstore_peers" --no-sharing \
      --figure batches,interference,interactions,cores
    ;;
  bookstore-load)
    bench bookstore "${shop[@]}" --against "$bookstore_peers" --rounds 1 \
      --connections 8,16,32,64 --figure throughput --think-seconds 7
    ;;
  star)
    bench star --scale-factor "$scale" --against "$peers" --no-sharing --updates-per-second 1000 \
      --figure concurrency,selectivity,similarity
    ;;
  star-scale)
    bench star --scale-factor 1,10 --against "$peers" --concurrency 1,16,64,256,1024 \
      --connections 1,2,4 --figure concurrency --most-at-once 64
    ;;
  star-cores)
    bench star --scale-factor "$scale" --cores "$(seq -s, 1 "$(nproc)")" \
      --against "${AGAINST:-duckdb}" --concurrency 1,16,64,256 --at-once 64
    ;;
  star-grid)
    bench star --scale-factor "$scale" --concurrency 1 --at-once 1 --check 0 --figure grid
    ;;
  working-sets)
    bench star --scale-factor "$scale" --against "$peers" --no-sharing --always-sharing \
      --concurrency 16 --at-once 1 --figure working-sets
    ;;
  tpch)
    bench tpch --scale-factor "$scale" --against "$peers"
    ;;
  overload-*)
    bench overload --workload "${workload#overload-}" --scale-factor "$scale"
    ;;
  *)
    echo "no workload $workload" >&2
    exit 1
    ;;
esac
