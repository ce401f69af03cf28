"""A PostgreSQL of our own, in a temporary directory, for as long as somebody needs it."""

import contextlib
import glob
import os
import pathlib
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time

import psycopg


class NoPostgres(Exception):
    """Nothing to compare with; the text says why."""


def programs():
    """The newest directory with PostgreSQL's server programs."""
    places = [pathlib.Path(place) for place in glob.glob("/usr/lib/postgresql/*/bin")]
    places.sort(key=lambda place: float(place.parent.name), reverse=True)
    found = shutil.which("initdb")
    if found:
        places.append(pathlib.Path(found).resolve().parent)
    for place in places:
        if (place / "initdb").exists() and (place / "postgres").exists():
            return place
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


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


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
        subprocess.run([*initialize, "--no-sync"], check=True, stdout=subprocess.DEVNULL, **options)
        port = free_port()
        settings = {
            "listen_addresses": "127.0.0.1",
            "port": port,
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
        address = f"host=127.0.0.1 port={port} user=postgres dbname=postgres"
        wait_for(server, address, log)
        yield address
    finally:
        if server and server.poll() is None:
            server.send_signal(signal.SIGINT)
            server.wait()
        shutil.rmtree(directory, ignore_errors=True)
