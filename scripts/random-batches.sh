#!/usr/bin/env bash
# Random batches for hours: shared beside alone, in the engine and through SQL, with new seeds all the time.
#
#   scripts/random-batches.sh [hours] [folder]
#
# Writes a line per run to <folder>/runs.log, and what failed, with its seed and the smallest case found, to
# <folder>/failures.log. PROFILE names another cargo profile than `dev`. Ends with 1 where something failed.
set -euo pipefail
cd "$(dirname "$0")/.."

hours=${1:-8}
folder=${2:-${CARGO_TARGET_DIR:-target}/random-batches}
profile=${PROFILE:-dev}
minutes=10
mkdir -p "$folder"
end=$(($(date +%s) + hours * 3600))
failed=0

# One run of a crate's random batches; its variables begin with the given name.
run() {
  local crate=$1 name=$2 output="$folder/$1.out" result=0
  env "${name}_SECONDS=$((minutes * 60))" cargo test --quiet --profile "$profile" -p "shareddb-$crate" --test it \
    random_batches -- --nocapture >"$output" 2>&1 || result=$?
  echo "$(date -u +%FT%TZ) $crate exit $result $(grep -aE '^(seeds |[A-Z_]+_SEED=)' "$output" | tail -1)" >>"$folder/runs.log"
  if [ "$result" -ne 0 ]; then
    failed=1
    { echo "== $(date -u +%FT%TZ) $crate"; cat "$output"; } >>"$folder/failures.log"
  fi
}

while [ "$(date +%s)" -lt "$end" ]; do
  run engine ENGINE_BATCHES
  run sql SQL_BATCHES
  tail -2 "$folder/runs.log"
done
exit "$failed"
