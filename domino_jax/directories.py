"""Directories and files that are complete or not there."""

import atexit
import errno
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from domino_jax.errors import InputError

NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
TAKEN = (errno.ENOTEMPTY, errno.EEXIST)  # by another process, a moment ago
SETTLED = 1.0  # seconds after an error no thread of a library is at work any more


@contextmanager
def built(out: Path, replace: bool) -> Iterator[Path]:
    """A directory to fill, beside `out`; it becomes `out` if the block ends well, and is gone if it does not.

    Raises InputError where it cannot be made, where the disk is full, and where `out` exists in the end and is not to be replaced.
    """
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        building = Path(tempfile.mkdtemp(prefix=f".{out.name}.", dir=out.parent))
    except OSError as error:
        raise InputError(f"{out.parent}: cannot be written ({error.strerror}), expected a directory to make {out.name} in") from None
    try:
        yield building
        building.chmod(0o755)
        if replace:
            _replace(building, out)
        else:
            _become(building, out)
    except Exception as error:
        if (reason := _no_room(error)) is None:
            raise
        raise InputError(f"{out}: cannot be written ({reason}), expected room for all of it; nothing was left behind") from error
    finally:
        _remove(building)


def write_file(out: Path, text: str) -> None:
    """Makes or replaces a file, for a link that to which it leads; raises InputError where it cannot, and then leaves what was there."""
    with _beside(out) as (building, out):
        with building.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        building.chmod(0o644)
        building.replace(out)


def require_writable(out: Path) -> None:
    """Raises the InputError that `write_file` would, before the work whose result it is to write."""
    with _beside(out):
        pass


@contextmanager
def _beside(out: Path) -> Iterator[tuple[Path, Path]]:
    """An empty hidden file beside `out`, gone in the end unless it was moved, and the file to which `out` leads."""
    building, out = None, out.resolve()
    if out.exists() and not out.is_file():
        raise InputError(f"{out}: is no file, expected one to make or replace")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f".{out.name}.", dir=out.parent)
        os.close(handle)
        building = Path(name)
        yield building, out
    except OSError as error:
        raise InputError(f"{out}: cannot be written ({error.strerror}), expected a file to make or replace") from None
    finally:
        if building is not None:
            building.unlink(missing_ok=True)


def _remove(building: Path) -> None:
    """Deletes it, also while a library's threads are still writing into it after an error: they may even make it anew a moment later."""
    if not building.exists():
        return
    atexit.register(_keep_away, building, time.monotonic() + SETTLED)
    for _ in range(50):
        shutil.rmtree(building, ignore_errors=True)
        if not building.exists():
            return
        time.sleep(0.1)


def _keep_away(building: Path, until: float) -> None:
    shutil.rmtree(building, ignore_errors=True)
    while time.monotonic() < until:
        time.sleep(0.02)
        shutil.rmtree(building, ignore_errors=True)


def _become(building: Path, out: Path) -> None:
    try:
        building.rename(out)
    except OSError:
        if not out.exists():
            raise
        raise InputError(f"{out}: was made by another process meanwhile, expected a new directory") from None


def _no_room(error: Exception) -> str | None:
    """What a full disk said; libraries wrap it in errors of their own."""
    if isinstance(error, OSError) and error.errno in NO_ROOM:
        return error.strerror
    return next((reason for reason in map(os.strerror, NO_ROOM) if reason in str(error)), None)


def _replace(building: Path, out: Path) -> None:
    """Renames `building` to `out`; an old `out` is moved aside first, and back if that fails, and deleted last.

    Another process may do the same at the same time: whichever comes later stays.
    """
    while True:
        aside = Path(tempfile.mkdtemp(prefix=f".{out.name}.old.", dir=out.parent))
        old = aside / out.name
        try:
            with suppress(FileNotFoundError):
                out.rename(old)
            building.rename(out)
        except BaseException as error:
            taken = isinstance(error, OSError) and error.errno in TAKEN
            if not taken and os.path.lexists(old) and not os.path.lexists(out):
                old.rename(out)
            shutil.rmtree(aside)
            if not taken:
                raise
        else:
            shutil.rmtree(aside)
            return
