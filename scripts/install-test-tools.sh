#!/usr/bin/env bash
# Installs what the checks need and the machine lacks: clients, a PostgreSQL to compare with. Debian and its derivatives;
# elsewhere it says what to install by hand.
set -euo pipefail

missing=()
command -v psql > /dev/null || missing+=(postgresql-client)
command -v pgbench > /dev/null || [ -x "$(ls -d /usr/lib/postgresql/*/bin/pgbench 2> /dev/null | tail -n 1)" ] \
  || missing+=(postgresql-contrib)
command -v java > /dev/null || missing+=(default-jdk-headless)
command -v mvn > /dev/null || missing+=(maven)
python3 -c 'import venv, ensurepip' 2> /dev/null || missing+=(python3-venv)
command -v zstd > /dev/null || missing+=(zstd)
[ -x "$(ls -d /usr/lib/postgresql/*/bin/initdb 2> /dev/null | tail -n 1)" ] || command -v initdb > /dev/null \
  || missing+=(postgresql)

[ ${#missing[@]} -eq 0 ] && exit 0
if ! command -v apt-get > /dev/null; then
  echo "Please install: ${missing[*]}" >&2
  exit 1
fi
sudo=()
[ "$(id -u)" -eq 0 ] || sudo=(sudo)
"${sudo[@]}" apt-get update -qq
"${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "${missing[@]}"
