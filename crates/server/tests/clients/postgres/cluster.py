"""A PostgreSQL of our own, in a temporary directory, for as long as somebody needs it."""

import contextlib
import os
import pathlib
import pwd
import re
import shutil
import signal
import subprocess
import tempfile
import time

import psycopg


MAJOR = 15
PORT = 5432


class NoPostgres(Exception):
    """Nothing to compare with; the text says why."""


def programs():
    """The directory with the server programs of the release that answers are compared with."""
    places = [pathlib.Path(f"/usr/lib/postgresql/{MAJOR}/bin")]
    found = shutil.which("initdb")
    if found:
        places.append(pathlib.Path(found).resolve().parent)
    others = set()
    for place in places:
        if not ((place / "initdb").exists() and (place / "postgres").exists()):
            continue
        version = subprocess.run([place / "postgres", "--version"], capture_output=True, text=True, check=True).stdout
        if re.search(rf"\b{MAJOR}\.", version):
            return place
        others.add(version.strip())
    if others:
        raise NoPostgres(f"answers are compared with PostgreSQL {MAJOR}; here is {', '.join(others)}")
    raise NoPostgres("PostgreSQL's server programs (initdb, postgres) are not installed")


def owner():
    """PostgreSQL refuses to run as root: options of a process that runs as somebody else."""
    if os.geteuid() != 0:
        return {}
    try:
        account = pwd.getpwnam("postgres")
    except KeyError:
        raise NoPostgres("PostgreSQL does not run as root, and there is no user postgres") from None
    return {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}


def wait_for(server, address, log):
    for _ in range(300):
        if server.poll() is not None:
            break
        try:
            psycopg.connect(address).close()
            return
        except psycopg.OperationalError:
            time.sleep(0.1)
    raise RuntimeError("PostgreSQL does not start:\n" + log.read_text())


@contextlib.contextmanager
def running():
    """The address of a fresh PostgreSQL, which ends with the block."""
    place, user = programs(), owner()
    directory = pathlib.Path(tempfile.mkdtemp(prefix="postgres-"))
    server = None
    try:
        if user:
            os.chown(directory, user["user"], user["group"])
        data, log = directory / "data", directory / "log"
        log.touch()
        options = {"cwd": directory, "stdin": subprocess.DEVNULL, "stderr": subprocess.STDOUT, **user}
        initialize = [place / "initdb", "-D", data, "-U", "postgres", "--auth=trust", "--locale=C", "--encoding=UTF8"]
        subprocess.run([*initialize, "--no-sync"], check=True, timeout=120, stdout=subprocess.DEVNULL, **options)
        settings = {
            # Its socket lies in a directory of its own, so that no port need be free; the number is part of its name.
            "listen_addresses": "",
            "port": PORT,
            "unix_socket_directories": directory,
            "fsync": "off",
            "jit": "off",
            "timezone": "UTC",
        }
        command = [place / "postgres", "-D", data]
        for name, value in settings.items():
            command += ["-c", f"{name}={value}"]
        with log.open("w") as output:
            server = subprocess.Popen(command, stdout=output, **options)
        address = f"host={directory} user=postgres dbname=postgres port={PORT}"
        wait_for(server, address, log)
        yield address
    finally:
        if server and server.poll() is None:
            server.send_signal(signal.SIGINT)
            try:
                server.wait(timeout=60)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()
        shutil.rmtree(directory, ignore_errors=True)
