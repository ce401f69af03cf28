#!/usr/bin/env bash
# The figures of docs/benchmarks.md: installs the peers, then drives everybody in turns. About 40 minutes on two
# cores; `ITEMS=100000 BROWSERS=1000` gives the large shop and needs 20 GB of memory.
set -euo pipefail
cd "$(dirname "$0")/.."

missing=()
ls /usr/lib/postgresql/*/bin/postgres > /dev/null 2>&1 || missing+=(postgresql)
command -v mariadbd > /dev/null || missing+=(mariadb-server)
if [ ${#missing[@]} -gt 0 ]; then
  sudo=()
  [ "$(id -u)" -eq 0 ] || sudo=(sudo)
  "${sudo[@]}" apt-get update -qq
  "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "${missing[@]}"
fi

target="${CARGO_TARGET_DIR:-target}"
exec "$target/release/shareddb-bench" bookstore \
  --mix browsing,shopping,ordering --seconds "${SECONDS_PER_RUN:-10}" \
  --items "${ITEMS:-10000}" --browsers "${BROWSERS:-100}" \
  --against postgres,mariadb --no-sharing \
  --figure throughput,batches,interference \
  --output "${OUTPUT:-target/bench}" --json "${OUTPUT:-target/bench}/bookstore.json"
