"""Directories that are complete or not there."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from domino_jax.errors import InputError


@contextmanager
def built(out: Path) -> Iterator[Path]:
    """A directory to fill, beside `out`; it takes the place of `out` if the block ends well, and is gone if it does not."""
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        building = Path(tempfile.mkdtemp(prefix=f".{out.name}.", dir=out.parent))
    except OSError as error:
        raise InputError(f"{out.parent}: cannot be written ({error.strerror}), expected a directory to make {out.name} in") from None
    try:
        yield building
        building.chmod(0o755)
        _replace(building, out)
    finally:
        shutil.rmtree(building, ignore_errors=True)


def _replace(building: Path, out: Path) -> None:
    """Renames `building` to `out`; an old `out` is moved aside first, and back if that fails, and deleted last."""
    if not out.exists():
        building.rename(out)
        return
    aside = Path(tempfile.mkdtemp(prefix=f".{out.name}.old.", dir=out.parent))
    out.rename(aside / out.name)
    try:
        building.rename(out)
    except BaseException:
        (aside / out.name).rename(out)
        aside.rmdir()
        raise
    shutil.rmtree(aside)
