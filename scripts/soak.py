#!/usr/bin/env python3
"""What explores and what measures times: new seeds, for as long as one likes. Never part of the checks in front of main.

    soak.py [--minutes N] [--only PART ...] [--profile NAME]

The minutes are divided among the parts below. Each prints the seeds that it draws; a seed that finds something goes into the file of
seeds that the checks read, together with what mends it. The last line says what was found.
"""

import argparse
import os
import subprocess
import time

from gate import ROOT, run

# Variables that give the random batches of a crate their seconds, and the clients that draw seeds.
BATCHES = {"engine": "ENGINE_BATCHES_SECONDS", "sql": "SQL_BATCHES_SECONDS"}
CLIENTS = ("batches", "logic", "postgres", "sqllogictest")


def cargo_test(options, *arguments):
    return ["cargo", "test", "--locked", "--profile", options.profile, *arguments]


def timed(options, _seconds):
    """The tests that measure times, one after another: ignored in the checks."""
    return [(cargo_test(options, "--workspace", "--no-fail-fast", "--", "--ignored", "--test-threads", "1"), {})]


def batches(crate):
    def commands(options, seconds):
        chosen = cargo_test(options, "-p", f"shareddb-{crate}", "--test", "it", "random_batches", "--", "--nocapture")
        return [(chosen, {BATCHES[crate]: str(int(seconds))})]

    return commands


def client(name):
    def commands(options, seconds):
        counted = {"batches": "--batches", "logic": "--groups", "postgres": "--statements"}.get(name)
        drawn = f"--seed random --seconds {seconds:.0f}" + (f" {counted} 1000000000" if counted else "")
        environment = {f"{name.upper()}_OPTIONS": drawn, "CLIENT_SECONDS": str(int(seconds) + 600)}
        return [([str(ROOT / "crates/server/tests/clients/run.sh"), name, "verification"], environment)]

    return commands


def parts():
    found = {"timed": timed}
    found.update({f"{crate} batches": batches(crate) for crate in BATCHES})
    found.update({f"client {name}": client(name) for name in CLIENTS})
    return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--only", nargs="*", choices=sorted(parts()))
    parser.add_argument("--profile", default="dev")
    options = parser.parse_args()
    chosen = {name: commands for name, commands in parts().items() if not options.only or name in options.only}
    subprocess.run(cargo_test(options, "--workspace", "--no-run"), cwd=ROOT, check=True)
    share, found, began = options.minutes * 60 / len(chosen), [], time.monotonic()
    for name, commands in chosen.items():
        for command, environment in commands(options, share):
            print(f"soak: {name}, {share:.0f} s", flush=True)
            code = run(command, share + 1200, cwd=ROOT, env={**os.environ, **environment})
            if code != 0:
                found.append(name if code is not None else f"{name} (ended)")
    minutes = (time.monotonic() - began) / 60
    print(f"soak: {minutes:.0f} minutes; found something: {', '.join(found) if found else 'nothing'}", flush=True)
    raise SystemExit(1 if found else 0)


if __name__ == "__main__":
    main()
