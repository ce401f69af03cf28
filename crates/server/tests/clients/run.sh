#!/usr/bin/env bash
# Runs psql, psycopg 3, asyncpg, SQLAlchemy and JDBC against a freshly started server on a free port that verifies every answer by another path,
# compares its answers to random statements and batches with PostgreSQL's, and runs other people's suites. Sets up what it
# needs under target/clients. SHAREDDB names another program than the debug build; arguments pick some of
# `clients`; <NAME>_OPTIONS goes to that one's program, as in POSTGRES_OPTIONS='--seed random'. Each client has CLIENT_SECONDS,
# which only one that hangs reaches. The last words on a client are `clients: NAME passed|FAILED|skipped`, and why.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../../../.." && pwd)
target=${CARGO_TARGET_DIR:-$root/target}
work=$root/target/clients
program=${SHAREDDB:-$target/debug/shareddb}
limit=${CLIENT_SECONDS:-600}
clients=("$@")
# Not among those of every run: `sqllogictest` and `regress`, which take long and have no record yet (`--write` makes one). What
# random statements find between paths is compared by `postgres` itself, so it comes behind `verification`.
[ ${#clients[@]} -gt 0 ] || clients=(psql psycopg asyncpg sqlalchemy jdbc batches logic facts verification postgres)
# The versions that answers and messages are compared with.
postgres_major=15
psycopg='psycopg[binary]==3.3.9'
# What the tests of other drivers want besides.
drivers=('asyncpg==0.32.0' 'SQLAlchemy==2.1.9' 'psycopg2-binary==2.9.13')
skipped=77
late=124
mkdir -p "$work"
[ -x "$program" ] || { echo "run.sh: no program at $program; cargo build --bin shareddb" >&2; exit 1; }

log=$work/server.log
# Emptied before it is read: an earlier server's port is in it.
: > "$log"
"$program" serve --listen 127.0.0.1:0 --verify "${VERIFY:-1}" > "$log" 2>&1 &
server=$!

# Ends the server, by force where it does not end within a minute.
finish() {
    kill "$server" 2> /dev/null || return 0
    for _ in $(seq 600); do
        kill -0 "$server" 2> /dev/null || return 0
        sleep 0.1
    done
    echo "run.sh: the server does not end" >&2
    kill -KILL "$server"
}
trap finish EXIT

port=
for _ in $(seq 600); do
    port=$(sed -n 's/.* listens on .*:\([0-9]*\)$/\1/p' "$log")
    [ -z "$port" ] || break
    kill -0 "$server" 2> /dev/null || { cat "$log" >&2; exit 1; }
    sleep 0.1
done
[ -n "$port" ] || { echo "run.sh: the server does not listen" >&2; cat "$log" >&2; exit 1; }
export PGHOST=127.0.0.1 PGPORT=$port PGUSER=shareddb PGDATABASE=shareddb PGCONNECT_TIMEOUT=10

limited() { timeout -k 10 "$limit" "$@"; }

run_psql() {
    local failed=0 script actual version
    version=$(psql --version)
    if [[ $version != *" $postgres_major."* ]]; then
        echo "what psql shows is compared with $postgres_major's; here is $version"
        return "$skipped"
    fi
    for script in "$here"/psql/*.sql; do
        actual=$work/$(basename "$script" .sql).out
        limited psql -X -q -A -v VERBOSITY=verbose -v SHOW_CONTEXT=never -f "$script" 2>&1 |
            sed -e 's/^psql:[^ ]*: //' -e '/^LOCATION:/d' -e '/^DETAIL:  Expected:/d' > "$actual" || true
        if ! diff -u "${script%.sql}.expected" "$actual"; then failed=1; fi
    done
    return $failed
}

# Python with psycopg 3.
python() {
    local venv=$work/venv
    if [ "$(cat "$venv/has" 2> /dev/null)" != "$psycopg" ]; then
        [ -x "$venv/bin/pip" ] || python3 -m venv "$venv"
        limited "$venv/bin/pip" install --quiet --disable-pip-version-check "$psycopg"
        echo "$psycopg" > "$venv/has"
    fi
    PYTHONDONTWRITEBYTECODE=1 limited "$venv/bin/python" "$@"
}

run_psycopg() {
    python "$here/python/check.py"
}

# The same with other drivers, which a registry may not have.
with_drivers() {
    local venv=$work/venv-drivers wanted="$psycopg ${drivers[*]}"
    if [ "$(cat "$venv/has" 2> /dev/null)" != "$wanted" ]; then
        [ -x "$venv/bin/pip" ] || python3 -m venv "$venv"
        if ! limited "$venv/bin/pip" install --quiet --disable-pip-version-check "$psycopg" "${drivers[@]}"; then
            echo "pip does not find $wanted"
            return "$skipped"
        fi
        echo "$wanted" > "$venv/has"
    fi
    PYTHONDONTWRITEBYTECODE=1 limited "$venv/bin/python" "$@"
}

run_asyncpg() { with_drivers "$here/python/asyncpg_check.py"; }
run_sqlalchemy() { with_drivers "$here/python/sqlalchemy_check.py"; }

run_jdbc() {
    limited mvn --quiet --batch-mode -f "$here/jdbc/pom.xml" -Dwork="$work/jdbc" compile exec:java
}

# Runs a program once for each line of `seeds.txt` that names the client: with the seed, and so many as the line says of what
# `counted` names. Further arguments come last, so that they win.
seeded() {
    local client=$1 counted=$2 script=$3 name seed count
    shift 3
    while read -r name seed count; do
        [ "$name" = "$client" ] || continue
        python "$script" --seed "$seed" "$counted" "$count" "$@" || return $?
    done < "$here/seeds.txt"
}

# shellcheck disable=SC2086
run_postgres() { seeded postgres --statements "$here/postgres/check.py" ${POSTGRES_OPTIONS:-}; }
# shellcheck disable=SC2086
run_batches() { seeded batches --batches "$here/batches/check.py" ${BATCHES_OPTIONS:-}; }
# shellcheck disable=SC2086
run_logic() { seeded logic --groups "$here/batches/logic.py" ${LOGIC_OPTIONS:-}; }
# A part of the names: all of them take minutes.
# shellcheck disable=SC2086
run_facts() { python "$here/facts/check.py" ${FACTS_OPTIONS:---part 16}; }
# shellcheck disable=SC2086
run_sqllogictest() { python "$here/suites/sqllogictest.py" ${SQLLOGICTEST_OPTIONS:-}; }
# shellcheck disable=SC2086
run_regress() { python "$here/suites/regress.py" ${REGRESS_OPTIONS:-}; }

# What the server itself has found: no answer may differ from another path's.
ask() {
    limited "$program" sql --connect "127.0.0.1:$port" "$1" | sed -e 1d -e '/^-- /d'
}
run_verification() {
    local counted="SELECT activations FROM shareddb.verification WHERE outcome ="
    for _ in $(seq 6000); do
        [ "$(ask "$counted 'waiting'")" != 0 ] || break
        sleep 0.1
    done
    ask "SELECT outcome, reason, activations FROM shareddb.verification"
    [ "$(ask "$counted 'waiting'")" = 0 ] || { echo "run.sh: verification does not end" >&2; return 1; }
    [ "$(ask "$counted 'differed'")" = 0 ] || { ask "SELECT * FROM shareddb.differences" >&2; return 1; }
}

status=0
for client in "${clients[@]}"; do
    said=$work/$client.said
    code=0
    began=$SECONDS
    "run_$client" 2>&1 | tee "$said" || code=${PIPESTATUS[0]}
    case $code in
        0) echo "clients: $client passed: $((SECONDS - began)) s" ;;
        "$skipped") echo "clients: $client skipped: $(tail -n 1 "$said")" ;;
        "$late")
            echo "clients: $client FAILED: ended after $limit s"
            status=1
            ;;
        *)
            echo "clients: $client FAILED"
            status=1
            ;;
    esac
done
if grep -A3 "panicked at" "$log"; then
    echo "clients: server FAILED: it panicked"
    status=1
fi
if ! kill -0 "$server" 2> /dev/null; then
    echo "clients: server FAILED: it died"
    status=1
fi
[ "$status" -eq 0 ] || { echo "the server's log:"; tail -50 "$log"; }
exit $status
