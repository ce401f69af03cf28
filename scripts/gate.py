#!/usr/bin/env python3
"""The checks, phase by phase, as CI and `make test` run them.

    gate.py [PHASE ...]

Without arguments all phases run, in this order: format, lint, dependencies, build, tests, clients, docs. Each has a limit that only
a hang reaches; a red phase does not hide the others. At the end stand the seconds of each phase, the tests that took longest, what
was skipped and why, and one line `N passed, N failed, N skipped`. What is skipped and not in `allowed-skips.txt` makes the run red
where PostgreSQL 15 and the corpora are present.
"""

import collections
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import threading
import time

import dependencies

ROOT = pathlib.Path(__file__).resolve().parent.parent
ALLOWED = ROOT / "scripts" / "allowed-skips.txt"
# Seconds after which a phase, and one test program within its phase, is taken to hang.
LIMITS = {"format": 120, "lint": 1800, "dependencies": 120, "build": 3000, "tests": 1800, "clients": 1800, "docs": 1200}
PROGRAM_LIMIT = 900
LONGEST_SHOWN = 15

PASSED = re.compile(r"^test (.+?)(?: - should panic)? \.\.\. ok(?: <([\d.]+)s>)?$")
FAILED = re.compile(r"^test (.+?)(?: - should panic)? \.\.\. FAILED")
IGNORED = re.compile(r"^test (.+?) \.\.\. ignored(?:, (.*?))?(?: <[\d.]+s>)?$")
SLOW = re.compile(r"^test (\S+) has been running for over 60 seconds$")
SKIPPED = re.compile(r"^skipped: ([^:]+(?:::[^:]+)*): (.*)$")
CLIENT = re.compile(r"^clients: (\S+) (passed|FAILED|skipped)(?:: (.*))?$")


class Outcome:
    """What the phases found, added up."""

    def __init__(self):
        self.passed = 0
        self.failed = []
        self.skipped = {}
        self.seconds = collections.OrderedDict()
        self.durations = []

    def failure(self, what):
        print(f"gate: {what}", flush=True)
        self.failed.append(what)


def run(command, limit, each_line=lambda line: None, **options):
    """Runs a command in a process group of its own and shows its output line by line; its exit code, or None where it was ended
    after `limit` seconds."""
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True, **options
    )
    ended = threading.Event()

    def end():
        ended.set()
        os.killpg(process.pid, signal.SIGKILL)

    watch = threading.Timer(limit, end)
    watch.start()
    try:
        for line in process.stdout:
            text = line.decode(errors="replace").rstrip("\n")
            print(text, flush=True)
            each_line(text)
        code = process.wait()
    finally:
        watch.cancel()
    return None if ended.is_set() else code


def told(code, limit):
    return f"ended after {limit} s" if code is None else f"exit code {code}"


def plain(name, command, **environment):
    """A phase that is one command."""

    def phase(outcome):
        code = run(command, LIMITS[name], cwd=ROOT, env={**os.environ, **environment})
        if code == 0:
            outcome.passed += 1
        else:
            outcome.failure(f"{name} failed: {told(code, LIMITS[name])}")

    return phase


def check_dependencies(outcome):
    faults = dependencies.faults(ROOT)
    for fault in faults:
        outcome.failure(f"dependencies: {fault}")
    outcome.passed += not faults


def build(outcome):
    """Builds all test programs; phase `tests` takes them from there."""
    code = run(["cargo", "test", "--locked", "--workspace", "--no-run"], LIMITS["build"], cwd=ROOT)
    if code != 0:
        outcome.failure(f"build failed: {told(code, LIMITS['build'])}")


def test_programs(*options):
    """Of each test program that `build` has made: a name, its path and its package's folder. Options go to cargo."""
    command = ["cargo", "test", "--locked", "--workspace", "--no-run", "--message-format", "json", *options]
    listing = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=LIMITS["build"])
    for line in listing.stdout.splitlines():
        message = json.loads(line)
        if message.get("reason") == "compiler-artifact" and message["profile"]["test"] and message["executable"]:
            folder = pathlib.Path(message["manifest_path"]).parent
            target = message["target"]
            kind = "" if "test" not in target["kind"] else f" {target['name']}"
            yield f"{folder.name}{kind or ' unit'}", message["executable"], folder


class Program:
    """One test program's run."""

    def __init__(self, name, outcome):
        self.name = name
        self.outcome = outcome
        self.unfinished = set()
        self.has_ended = False

    def line(self, text):
        if found := PASSED.match(text):
            self.outcome.passed += 1
            self.outcome.durations.append((float(found[2] or 0), f"{self.name} {found[1]}"))
        elif found := FAILED.match(text):
            self.outcome.failed.append(f"{self.name} {found[1]}")
        elif found := IGNORED.match(text):
            self.outcome.skipped[f"{self.name} {found[1]}"] = found[2] or "no reason given"
        elif found := SKIPPED.match(text):
            self.outcome.skipped[f"{self.name} {found[1]}"] = found[2]
        elif found := SLOW.match(text):
            self.unfinished.add(found[1])
            return
        elif text.startswith("test result: "):
            self.has_ended = True
        if found:
            self.unfinished.discard(found[1])

    def run(self, executable, folder):
        # Times of single tests are among what the harness gives to nightly programs only; it alone sees the variable.
        environment = {**os.environ, "CARGO_MANIFEST_DIR": str(folder), "RUSTC_BOOTSTRAP": "1"}
        command = [executable, "-Z", "unstable-options", "--report-time"]
        print(f"gate: {self.name}", flush=True)
        code = run(command, PROGRAM_LIMIT, self.line, cwd=folder, env=environment)
        if code is None or not self.has_ended:
            unfinished = f"; unfinished: {', '.join(sorted(self.unfinished))}" if self.unfinished else ""
            self.outcome.failure(f"{self.name}: {told(code, PROGRAM_LIMIT)}{unfinished}")


def tests(outcome):
    end = time.monotonic() + LIMITS["tests"]
    for name, executable, folder in test_programs():
        if time.monotonic() > end:
            outcome.failure(f"{name} was not reached within {LIMITS['tests']} s")
            continue
        Program(name, outcome).run(executable, folder)
    documentation = Program("documentation", outcome)
    command = ["cargo", "test", "--locked", "--workspace", "--doc", "--no-fail-fast"]
    code = run(command, PROGRAM_LIMIT, documentation.line, cwd=ROOT)
    if code != 0:
        outcome.failure(f"documentation's examples: {told(code, PROGRAM_LIMIT)}")


def clients(outcome):
    def line(text):
        if found := CLIENT.match(text):
            name, how, why = found.groups()
            if how == "passed":
                outcome.passed += 1
            elif how == "FAILED":
                outcome.failed.append(f"client {name}{': ' + why if why else ''}")
            else:
                outcome.skipped[f"client {name}"] = why or "no reason given"

    before = len(outcome.failed)
    code = run([ROOT / "crates/server/tests/clients/run.sh"], LIMITS["clients"], line, cwd=ROOT)
    if code != 0 and len(outcome.failed) == before:
        outcome.failure(f"clients: {told(code, LIMITS['clients'])}")


PHASES = {
    "format": plain("format", ["cargo", "fmt", "--all", "--check"]),
    "lint": plain("lint", ["cargo", "clippy", "--locked", "--workspace", "--all-targets", "--", "-D", "warnings"]),
    "dependencies": check_dependencies,
    "build": build,
    "tests": tests,
    "clients": clients,
    "docs": plain("docs", ["cargo", "doc", "--locked", "--workspace", "--no-deps"], RUSTDOCFLAGS="-D warnings"),
}
# What runs only where another phase was green.
NEEDS = {"tests": "build", "clients": "build"}


def allowed_skips():
    lines = ALLOWED.read_text().splitlines()
    return {line.split("#")[0].strip() for line in lines} - {""}


def is_complete():
    """Whether this machine has what nothing may be skipped beside: PostgreSQL 15 and the corpora."""
    corpora = pathlib.Path(os.environ.get("CORPORA", ROOT.parent / "shared" / "corpora"))
    return pathlib.Path("/usr/lib/postgresql/15/bin/initdb").exists() and corpora.exists()


def judge_skips(outcome):
    allowed = allowed_skips()
    for what in outcome.skipped:
        if what not in allowed and is_complete():
            outcome.failed.append(f"{what} was skipped, which {ALLOWED.name} does not allow: {outcome.skipped[what]}")


def report(outcome):
    print("\ngate: seconds of each phase")
    for name, seconds in outcome.seconds.items():
        print(f"  {name:<14}{seconds:>6.0f}")
    if outcome.durations:
        print("gate: the tests that took longest")
        for seconds, name in sorted(outcome.durations, reverse=True)[:LONGEST_SHOWN]:
            print(f"  {seconds:>6.1f}  {name}")
    for what, why in sorted(outcome.skipped.items()):
        print(f"skipped: {what}: {why}")
    for what in outcome.failed:
        print(f"FAILED: {what}")
    print(f"{outcome.passed} passed, {len(outcome.failed)} failed, {len(outcome.skipped)} skipped", flush=True)


def main():
    chosen = sys.argv[1:] or list(PHASES)
    if unknown := [name for name in chosen if name not in PHASES]:
        raise SystemExit(f"gate.py: no phase is called {', '.join(unknown)}; there are {', '.join(PHASES)}")
    outcome, red = Outcome(), set()
    for name in chosen:
        if NEEDS.get(name) in red:
            outcome.failure(f"{name} did not run, since {NEEDS[name]} failed")
            continue
        print(f"gate: phase {name}", flush=True)
        began, failures = time.monotonic(), len(outcome.failed)
        try:
            PHASES[name](outcome)
        except (OSError, subprocess.SubprocessError) as error:
            outcome.failure(f"{name}: {error}")
        outcome.seconds[name] = time.monotonic() - began
        if len(outcome.failed) > failures:
            red.add(name)
    judge_skips(outcome)
    report(outcome)
    raise SystemExit(1 if outcome.failed else 0)


if __name__ == "__main__":
    main()
