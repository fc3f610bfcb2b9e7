"""Our own checkpoints: Orbax arrays under their module paths, beside `config.json` and a manifest. All use of Orbax is here.

The usual Orbax savers hold two copies of a tree. This one saves and restores a piece at a time.
"""

import ctypes
import json
import logging
import sys
import zlib
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from domino_jax.errors import InputError
from domino_jax.fields import read_json, said
from domino_jax.tensors import Row, cast

ARRAYS, MANIFEST = "arrays", "checkpoint.json"
FORMAT = 2
DTYPES = {name: jnp.dtype(name) for name in ("float64", "float32", "float16", "bfloat16", "int32")}  # of what is stored
PIECE_BYTES = 1 << 27
READ_BYTES = 1 << 22


def is_store(directory: Path) -> bool:
    return (directory / MANIFEST).exists() or (directory / ARRAYS).exists()


class OrbaxDirectory:
    """An opened store: its files compared with the manifest, so that a broken one is refused before Orbax reads it.

    origin: the checkpoint it was converted from. target: of a drafter, name and fingerprint of the target converted with it, or None.
    """

    format = "orbax"

    def __init__(self, directory: Path):
        self.directory = directory
        manifest = read_json(directory / MANIFEST)
        if manifest.get("format") != FORMAT:
            raise InputError(f"{directory / MANIFEST}: format is {said(manifest.get('format'))}, expected {FORMAT}")
        try:
            self.origin, self.target = str(manifest.get("origin", "")), manifest.get("target")
            self.checksums = {directory / _inside(name): _count(file["crc32"]) for name, file in manifest["files"].items()}
            sizes = {directory / name: _count(file["size"]) for name, file in manifest["files"].items()}
            self.shapes = {name: tuple(map(_count, tensor["shape"])) for name, tensor in manifest["tensors"].items()}
            self.dtypes = {name: DTYPES[tensor["dtype"]] for name, tensor in manifest["tensors"].items()}
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise InputError(
                f"{directory / MANIFEST}: malformed ({error!r:.200}), expected files with sizes and checksums, tensors with shapes"
            ) from None
        if self.target is not None and not isinstance(self.target, dict):
            raise InputError(f"{directory / MANIFEST}: target is {said(self.target)}, expected an object or nothing")
        self.unread = True
        with self._reading():
            for path, size in sizes.items():
                found = path.stat().st_size if path.is_file() else None
                if found != size:
                    raise InputError(
                        f"{path}: {'is missing' if found is None else f'has {found} bytes'}, expected {size} bytes (as {MANIFEST} says)"
                    )

    def parameters(self, rows: list[Row], dtype: jnp.dtype | None) -> Iterator[tuple[str, Array]]:
        """(module path, array) of each row, cast to `dtype` (None: as stored). Raises InputError if a bit of the files has changed."""
        if self.unread:
            self._compare_checksums()
            self._compare_arrays()
            self.unread = False
        checkpointer = _orbax()
        place = jax.sharding.SingleDeviceSharding(jax.devices()[0])
        size = {name: int(np.prod(self.shapes[name])) * self.dtypes[name].itemsize for name in self.shapes}
        for names in _pieces((row.parameter for row in rows), size):
            wanted = {name: checkpointer.PLACEHOLDER for name in self.shapes}
            wanted |= {name: jax.ShapeDtypeStruct(self.shapes[name], self.dtypes[name], sharding=place) for name in names}
            with self._reading():
                arrays = checkpointer.load((self.directory / ARRAYS).absolute(), wanted)
            for name in names:
                array = arrays.pop(name)
                yield name, cast(array, dtype)
            _give_back()

    @contextmanager
    def _reading(self) -> Iterator[None]:
        try:
            yield
        except InputError:
            raise
        except Exception as error:  # whatever it trips over, the files are not what was written
            reason = (str(error).strip() or type(error).__name__).splitlines()[0]
            raise InputError(f"{self.directory / ARRAYS}: cannot be read ({reason:.400}), expected what {MANIFEST} lists") from error

    def _compare_arrays(self) -> None:
        """Orbax casts to whatever it is asked for: what the manifest says must be what is there."""
        with self._reading():
            held = _orbax().metadata((self.directory / ARRAYS).absolute()).metadata
            there = {name: f"{jnp.dtype(array.dtype).name} {list(array.shape)}" for name, array in held.items()}
        listed = {name: f"{self.dtypes[name].name} {list(shape)}" for name, shape in self.shapes.items()}
        for name in sorted(there.keys() | listed.keys()):
            if there.get(name) != listed.get(name):
                raise InputError(
                    f"{self.directory / MANIFEST}: {name} is {listed.get(name)}, expected {there.get(name)} (as {ARRAYS} holds it)"
                )

    def _compare_checksums(self) -> None:
        with self._reading(), ThreadPoolExecutor() as threads:  # zlib lets go of the interpreter
            for path, found in zip(self.checksums, threads.map(checksum, self.checksums), strict=True):
                if found != self.checksums[path]:
                    raise InputError(f"{path}: has the checksum {found}, expected {self.checksums[path]} (as {MANIFEST} says)")


def _inside(name: str) -> str:
    """The name of a file of the arrays. Raises ValueError for any other."""
    if Path(name).parts[:1] != (ARRAYS,) or ".." in Path(name).parts:
        raise ValueError(f"{name} is not in {ARRAYS}")
    return name


def _count(value: object) -> int:
    """The same. Raises ValueError for what counts nothing."""
    if type(value) is not int or not 0 <= value < 2**63:
        raise ValueError(f"{said(value)} is no count")
    return value


def checksum(path: Path) -> int:
    """CRC-32 of a file."""
    crc = 0
    with path.open("rb") as file:
        while piece := file.read(READ_BYTES):
            crc = zlib.crc32(piece, crc)
    return crc


def save(directory: Path, parameters: Iterable[tuple[str, Array]], **about: object) -> None:
    """Writes the arrays and the manifest into `directory`, which holds everything else already. The manifest says `about` as well."""
    checkpointer = _orbax()
    path = (directory / ARRAYS).absolute()
    tensors, piece, held = {}, {}, 0
    for name, array in parameters:
        tensors[name] = {"shape": list(array.shape), "dtype": array.dtype.name}
        piece[name] = np.asarray(array)
        held += array.nbytes
        if held >= PIECE_BYTES:
            checkpointer.partial.save(path, piece)
            piece, held = {}, 0
    if piece:
        checkpointer.partial.save(path, piece)
    checkpointer.partial.finalize(path)
    files = {
        str(file.relative_to(directory)): {"size": file.stat().st_size, "crc32": checksum(file)}
        for file in sorted(path.rglob("*"))
        if file.is_file()
    }
    manifest = {
        "format": FORMAT,
        **about,
        "dtype": sorted({tensor["dtype"] for tensor in tensors.values()}),
        "tensors": tensors,
        "files": files,
    }
    (directory / MANIFEST).write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")


def _pieces(names: Iterable[str], size: dict[str, int]) -> Iterator[list[str]]:
    piece, held = [], 0
    for name in names:
        piece.append(name)
        held += size[name]
        if held >= PIECE_BYTES:
            yield piece
            piece, held = [], 0
    if piece:
        yield piece


def _give_back() -> None:
    """Freed memory, to the system: glibc keeps what Orbax's threads read pieces into, up to a third of the checkpoint's size."""
    if sys.platform == "linux" and (trim := getattr(ctypes.CDLL(None), "malloc_trim", None)):
        trim(0)


def _orbax():
    """Orbax's piecewise interface. It logs its progress, and tracebacks of errors that it raises as well: none of use to a command line."""
    import orbax.checkpoint.experimental.v1 as checkpointer  # a second of import that safetensors users never pay

    for name in ("absl", "asyncio", "concurrent.futures"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    return checkpointer
