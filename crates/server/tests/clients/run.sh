#!/usr/bin/env bash
# Runs psql, psycopg 3 and JDBC against a freshly started server on a free port that verifies every answer by another path,
# compares its answers to random statements and batches with PostgreSQL's, and runs other people's suites. Sets up what it
# needs under target/clients. SHAREDDB names another program than the debug build; arguments pick some of
# `clients`; <NAME>_OPTIONS goes to that one's program, as in POSTGRES_OPTIONS='--seed random'.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../../../.." && pwd)
target=${CARGO_TARGET_DIR:-$root/target}
work=$root/target/clients
program=${SHAREDDB:-$target/debug/shareddb}
clients=("$@")
# Not among those of every run: `sqllogictest` and `regress`, which take long and have no record yet (`--write` makes one). What
# random statements find between paths is compared by `postgres` itself, so it comes behind `verification`.
[ ${#clients[@]} -gt 0 ] || clients=(psql psycopg jdbc batches logic verification postgres)
mkdir -p "$work"
[ -x "$program" ] || { echo "run.sh: no program at $program; cargo build --bin shareddb" >&2; exit 1; }

log=$work/server.log
"$program" serve --listen 127.0.0.1:0 --verify "${VERIFY:-1}" > "$log" 2>&1 &
server=$!
trap 'kill "$server" 2> /dev/null || true; wait "$server" 2> /dev/null || true' EXIT

port=
for _ in $(seq 300); do
    port=$(sed -n 's/.* listens on .*:\([0-9]*\)$/\1/p' "$log")
    [ -z "$port" ] || break
    kill -0 "$server" 2> /dev/null || { cat "$log" >&2; exit 1; }
    sleep 0.1
done
[ -n "$port" ] || { echo "run.sh: the server does not listen" >&2; cat "$log" >&2; exit 1; }
export PGHOST=127.0.0.1 PGPORT=$port PGUSER=shareddb PGDATABASE=shareddb PGCONNECT_TIMEOUT=10

run_psql() {
    local failed=0 script actual
    for script in "$here"/psql/*.sql; do
        actual=$work/$(basename "$script" .sql).out
        psql -X -q -A -v VERBOSITY=verbose -v SHOW_CONTEXT=never -f "$script" 2>&1 |
            sed -e 's/^psql:[^ ]*: //' -e '/^LOCATION:/d' -e '/^DETAIL:  Expected:/d' > "$actual" || true
        if ! diff -u "${script%.sql}.expected" "$actual"; then failed=1; fi
    done
    return $failed
}

# Python with psycopg 3.
python() {
    local venv=$work/venv
    if ! "$venv/bin/python" -c 'import psycopg' 2> /dev/null; then
        python3 -m venv "$venv"
        "$venv/bin/pip" install --quiet --disable-pip-version-check 'psycopg[binary]>=3.2,<4'
    fi
    PYTHONDONTWRITEBYTECODE=1 "$venv/bin/python" "$@"
}

run_psycopg() {
    python "$here/python/check.py"
}

run_jdbc() {
    mvn --quiet --batch-mode -f "$here/jdbc/pom.xml" -Dwork="$work/jdbc" compile exec:java
}

# shellcheck disable=SC2086
run_postgres() { python "$here/postgres/check.py" --seed 1 ${POSTGRES_OPTIONS:-}; }
# shellcheck disable=SC2086
run_batches() { python "$here/batches/check.py" --seconds 40 ${BATCHES_OPTIONS:-}; }
# shellcheck disable=SC2086
run_logic() { python "$here/batches/logic.py" ${LOGIC_OPTIONS:-}; }
# shellcheck disable=SC2086
run_sqllogictest() { python "$here/suites/sqllogictest.py" ${SQLLOGICTEST_OPTIONS:-}; }
# shellcheck disable=SC2086
run_regress() { python "$here/suites/regress.py" ${REGRESS_OPTIONS:-}; }

# What the server itself has found: no answer may differ from another path's.
ask() {
    "$program" sql --connect "127.0.0.1:$port" "$1" | sed -e 1d -e '/^-- /d'
}
run_verification() {
    local counted="SELECT activations FROM shareddb.verification WHERE outcome ="
    for _ in $(seq 1200); do
        [ "$(ask "$counted 'waiting'")" != 0 ] || break
        sleep 0.1
    done
    ask "SELECT outcome, reason, activations FROM shareddb.verification"
    [ "$(ask "$counted 'waiting'")" = 0 ] || { echo "run.sh: verification does not end" >&2; return 1; }
    [ "$(ask "$counted 'differed'")" = 0 ] || { ask "SELECT * FROM shareddb.differences" >&2; return 1; }
}

skipped=77
status=0
for client in "${clients[@]}"; do
    code=0
    "run_$client" || code=$?
    case $code in
        0) echo "clients: $client passed" ;;
        "$skipped") echo "clients: $client skipped" ;;
        *)
            echo "clients: $client FAILED" >&2
            status=1
            ;;
    esac
done
! grep -A3 "panicked at" "$log" || status=1
kill -0 "$server" 2> /dev/null || { echo "run.sh: the server died" >&2; status=1; }
[ "$status" -eq 0 ] || { echo "the server's log:" >&2; tail -50 "$log" >&2; }
exit $status
