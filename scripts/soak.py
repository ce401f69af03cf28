#!/usr/bin/env python3
"""What explores and what measures times: new seeds, for as long as one likes. Never part of the checks in front of main.

    soak.py [--minutes N] [--only PART ...] [--profile NAME]

The minutes are divided among the parts: the timed tests, each test of a `tests/seeds.txt`, and the clients that draw statements. Each
prints the seeds that it draws; a seed that finds something goes into the file that the checks read, together with what mends it. The
last line says what was found.
"""

import argparse
import os
import subprocess
import time

from gate import ROOT, run, test_programs

# Tests that draw seeds, by the names that `tests/seeds.txt` gives them: their program, and what picks them there.
RANDOM = {
    "engine-batches": ("engine it", "random_batches"),
    "sql-batches": ("sql it", "random_batches"),
    "join-orders": ("sql it", "join_orders"),
    "pipelining": ("sql it", "pipelining"),
    "fuzz": ("server it", "fuzz"),
    "leaving": ("server it", "leaving"),
    "moving": ("server it", "moving"),
    "kill": ("shareddb it", "kill"),
}
# Clients that draw statements, and the option that says how many; without one they end by themselves.
CLIENTS = {"batches": "--batches", "logic": "--groups", "postgres": "--statements", "sqllogictest": None, "facts": None}
UNLIMITED = 1_000_000_000
# Seconds that a part may go on beyond its time: what it has begun, and making a failing case smaller.
BEYOND = 1200


class Soak:
    def __init__(self, options):
        profile = ("--profile", options.profile)
        subprocess.run(["cargo", "test", "--locked", "--workspace", "--no-run", *profile], cwd=ROOT, check=True)
        self.programs = {}
        for name, executable, folder in test_programs(*profile):
            self.programs.setdefault(name, []).append((executable, folder))

    def test(self, program, arguments, seconds, **environment):
        """Whether a test program finds nothing."""
        codes = [
            run([executable, *arguments], seconds + BEYOND, cwd=folder, env={**os.environ, **environment})
            for executable, folder in self.programs[program]
        ]
        return all(code == 0 for code in codes)

    def timed(self, seconds):
        """The tests that measure, one after another: ignored in the checks."""
        return all([self.test(program, ["--ignored", "--test-threads", "1"], seconds) for program in self.programs])

    def random(self, name, seconds):
        program, chosen = RANDOM[name]
        variable = f"{name.upper().replace('-', '_')}_SECONDS"
        return self.test(program, [chosen, "--nocapture"], seconds, **{variable: str(int(seconds))})

    def client(self, name, seconds):
        counted = CLIENTS[name]
        drawn = f"--seed random --seconds {seconds:.0f}" + (f" {counted} {UNLIMITED}" if counted else "")
        environment = {f"{name.upper()}_OPTIONS": drawn, "CLIENT_SECONDS": str(int(seconds) + BEYOND)}
        command = [ROOT / "crates/server/tests/clients/run.sh", name, "verification"]
        return run(command, seconds + 2 * BEYOND, cwd=ROOT, env={**os.environ, **environment}) == 0

    def part(self, name, seconds):
        if name == "timed":
            return self.timed(seconds)
        return self.random(name, seconds) if name in RANDOM else self.client(name, seconds)


def main():
    parts = ["timed", *RANDOM, *CLIENTS]
    parser = argparse.ArgumentParser()
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--only", nargs="*", choices=parts, default=parts)
    parser.add_argument("--profile", default="dev")
    options = parser.parse_args()
    soak, found, began = Soak(options), [], time.monotonic()
    seconds = options.minutes * 60 / len(options.only)
    for name in options.only:
        print(f"soak: {name}, {seconds:.0f} s", flush=True)
        if not soak.part(name, seconds):
            found.append(name)
    minutes = (time.monotonic() - began) / 60
    print(f"soak: {minutes:.0f} minutes; found something: {', '.join(found) or 'nothing'}", flush=True)
    raise SystemExit(1 if found else 0)


if __name__ == "__main__":
    main()
