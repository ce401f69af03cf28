#!/usr/bin/env python3
"""Licences, banned packages and sources of what Cargo.lock names, by the rules of `deny.toml`, without any tool beyond cargo.

    dependencies.py

`cargo metadata` tells each package's licence and source; it reads the lock file and what is already fetched.
"""

import json
import pathlib
import re
import subprocess
import tomllib

TOKEN = re.compile(r"\(|\)|\bAND\b|\bOR\b|[A-Za-z0-9.+-]+(?:\s+WITH\s+[A-Za-z0-9.+-]+)?|/")


def is_allowed(expression, allowed):
    """Whether an SPDX expression can be met by licences that are allowed; `MIT/Apache-2.0` is an old way to write OR."""
    tokens = [re.sub(r"\s+", " ", token) for token in TOKEN.findall(expression)]
    at = 0

    def alternative():
        nonlocal at
        met = joined()
        while at < len(tokens) and tokens[at] in ("OR", "/"):
            at += 1
            met = joined() or met
        return met

    def joined():
        nonlocal at
        met = single()
        while at < len(tokens) and tokens[at] == "AND":
            at += 1
            met = single() and met
        return met

    def single():
        nonlocal at
        token = tokens[at]
        at += 1
        if token != "(":
            return token in allowed
        met = alternative()
        at += 1
        return met

    met = alternative()
    return met and at == len(tokens)


def packages(root):
    command = ["cargo", "metadata", "--locked", "--format-version", "1", "--all-features"]
    return json.loads(subprocess.run(command, cwd=root, check=True, stdout=subprocess.PIPE, timeout=300).stdout)


def users(metadata):
    """Who depends on a package, by its name."""
    names = {package["id"]: package["name"] for package in metadata["packages"]}
    found = {}
    for node in metadata["resolve"]["nodes"]:
        for needed in node["dependencies"]:
            found.setdefault(names[needed], set()).add(names[node["id"]])
    return found


def faults(root):
    """What the rules of `deny.toml` do not allow, a line each."""
    rules = tomllib.loads((root / "deny.toml").read_text())
    metadata = packages(root)
    licences = set(rules["licenses"]["allow"])
    exceptions = {entry["crate"]: set(entry["allow"]) for entry in rules["licenses"]["exceptions"]}
    banned = {entry["crate"]: set(entry.get("wrappers", ())) for entry in rules["bans"]["deny"]}
    uses, found = users(metadata), []
    for package in metadata["packages"]:
        name, shown = package["name"], f"{package['name']} {package['version']}"
        licence = package["license"]
        if not licence or not is_allowed(licence, licences | exceptions.get(name, set())):
            found.append(f"{shown} has licence {licence}")
        if name in banned and not uses.get(name, set()) <= banned[name]:
            found.append(f"{shown} is banned; {', '.join(sorted(uses.get(name, set())))} depends on it")
        source = package["source"]
        if source and not source.startswith("registry+"):
            found.append(f"{shown} comes from {source}")
        if not source:
            found += [f"{shown} takes any version of {needed['name']}" for needed in package["dependencies"] if needed["req"] == "*" and not needed.get("path")]
    return found


def main():
    found = faults(pathlib.Path(__file__).resolve().parent.parent)
    for fault in found:
        print(fault)
    raise SystemExit(1 if found else 0)


if __name__ == "__main__":
    main()
