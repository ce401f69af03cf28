"""Other people's tests, unpacked for as long as somebody needs them. They are no part of the repository: `CORPORA` names the folder
that has them, packed; where it is missing, who asks skips and says so."""

import contextlib
import os
import pathlib
import shutil
import subprocess
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
SKIPPED = 77


class Missing(Exception):
    """The text says what is not there."""


def folder():
    beside = HERE.parents[4].parent / "shared" / "corpora"
    return pathlib.Path(os.environ.get("CORPORA", beside))


@contextlib.contextmanager
def unpacked(name):
    """The folder with what the archive of that name has."""
    archive = folder() / f"{name}.tar.zst"
    if not archive.exists():
        raise Missing(f"there is no {archive.name} to be found (CORPORA names the folder that has it)")
    place = pathlib.Path(tempfile.mkdtemp(prefix="corpus-"))
    try:
        unpack = subprocess.run(["tar", "--zstd", "-xf", archive, "-C", place], capture_output=True, text=True)
        if unpack.returncode:
            raise Missing(f"{archive.name} cannot be unpacked: {unpack.stderr.strip()}")
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)
