"""A directory of safetensors files, one or many with an index, as one set of named tensors."""

import json
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import safetensors.numpy
from jax import Array

from domino_jax.errors import InputError
from domino_jax.fields import read_json
from domino_jax.tensors import DRAFT_TO_TARGET, HEAD_MODULES, HEAD_PREFIXES, IN_DRAFT, Row, cast

INDEX = "model.safetensors.index.json"
FLOATS = {"F64": np.float64, "F32": np.float32, "F16": np.float16, "BF16": jnp.bfloat16}
SHARD_BYTES = 1 << 30
AHEAD_BYTES = 1 << 28  # dispatched, not yet there
PICKLED = ("*.bin", "*.pt", "*.pth", "*.ckpt")
INTEGERS = {"I64": np.int64, "I32": np.int32, "BOOL": np.bool_}  # of the tables of a reduced vocabulary


@dataclass(frozen=True)
class Tensor:
    """Where a tensor lies and what its header says."""

    file: Path
    name: str  # as stored
    shape: tuple[int, ...]
    dtype: np.dtype
    start: int  # its first byte in the file


class SafetensorsDirectory:
    """Names come bare: without the `model.` prefix, which either all tensors carry (a language model's head apart) or none, and without
    the prefix that some formats give the Domino head.
    """

    format = "safetensors"

    def __init__(self, directory: Path):
        self.directory = directory
        tensors: dict[str, Tensor] = {}
        for path, held in _shards(directory).items():
            for name, tensor in _header(path, held).items():
                if name in tensors:
                    raise InputError(f"{path}: holds {name}, which {tensors[name].file} holds too, expected it once")
                tensors[name] = tensor
        self.tensors = {bare: tensors[name] for name, bare in _bare_names(directory, tensors).items()}
        if len(self.tensors) < len(tensors):  # only the language model's head may stand without the prefix, so only it can stand twice
            raise InputError(f'{directory}: holds lm_head.weight with and without the "model." prefix, expected it once')

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        return {name: tensor.shape for name, tensor in self.tensors.items()}

    @property
    def dtypes(self) -> dict[str, np.dtype]:
        return {name: tensor.dtype for name, tensor in self.tensors.items()}

    def read(self, name: str) -> np.ndarray:
        """One tensor, as stored: a view of its file, to be read from there by whoever uses it.

        Raises InputError for a file that has gone or shrunk since it was opened.
        """
        tensor = self.tensors[name]
        try:
            return np.asarray(np.memmap(tensor.file, tensor.dtype, "r", tensor.start, tensor.shape))
        except (OSError, ValueError) as error:
            raise InputError(f"{tensor.file}: cannot be read ({error}), expected what was there a moment ago") from None

    def parameters(self, rows: list[Row], dtype: jnp.dtype | None) -> Iterator[tuple[str, Array]]:
        """(module path, array) of each row, packed on the device and cast to `dtype` (None: as stored).

        No more than AHEAD_BYTES are on their way: what is not packed yet takes room on the device as well.
        """
        ahead = deque()
        for row in rows:
            packed = row.pack(*(cast(_on_device(self.read(name)), dtype) for name in row.sources))
            ahead.append(packed)
            while sum(array.nbytes for array in ahead) > AHEAD_BYTES:
                ahead.popleft().block_until_ready()
            yield row.parameter, packed


def _on_device(view: np.ndarray) -> Array:
    """A view of a file as an array, with no copy on the way. A CPU would take well aligned pages as they are, and the file may change."""
    array = jax.device_put(view)  # `jnp.asarray` would copy first
    is_view = array.platform() == "cpu" and array.unsafe_buffer_pointer() == view.ctypes.data
    return array.copy() if is_view else array


def write_tensors(directory: Path, tensors: Iterable[tuple[str, np.ndarray]]) -> None:
    """model.safetensors, or shards of SHARD_BYTES with their index. A tensor is held until its shard is full."""
    shards: list[tuple[Path, list[str]]] = []
    held: dict[str, np.ndarray] = {}
    total = 0

    def flush() -> None:
        path = directory / f"shard-{len(shards)}.safetensors"
        safetensors.numpy.save_file(held, path, metadata={"format": "pt"})
        path.chmod(0o644)  # the library makes it private
        shards.append((path, [*held]))
        held.clear()

    for name, tensor in tensors:
        if held and sum(other.nbytes for other in held.values()) + tensor.nbytes > SHARD_BYTES:
            flush()
        held[name] = tensor
        total += tensor.nbytes
    flush()
    if len(shards) == 1:
        shards[0][0].rename(directory / "model.safetensors")
        return
    weight_map = {}
    for number, (path, names) in enumerate(shards, 1):
        file = f"model-{number:05}-of-{len(shards):05}.safetensors"
        path.rename(directory / file)
        weight_map |= dict.fromkeys(names, file)
    index = {"metadata": {"total_size": total}, "weight_map": weight_map}
    (directory / INDEX).write_text(json.dumps(index, indent=1) + "\n", encoding="utf-8")


def first_quantised(directory: Path) -> str:
    """ " and NAME is DTYPE" of the first tensor that is no float, or nothing: part of the message that refuses the checkpoint."""
    for path in sorted(filter(Path.is_file, directory.glob("*.safetensors"))):
        with suppress(safetensors.SafetensorError, OSError), safetensors.safe_open(path, framework="numpy") as file:
            dtypes = {name: file.get_slice(name).get_dtype() for name in sorted(file.keys())}
            for name, dtype in dtypes.items():
                if dtype not in _readable(name):
                    return f" and {name} is {dtype}"
    return ""


def _shards(directory: Path) -> dict[Path, set[str] | None]:
    """The files to open, each with the names that the index expects in it (None: there is no index)."""
    index = directory / INDEX
    if index.exists():
        weight_map = read_json(index).get("weight_map")
        if (
            not isinstance(weight_map, dict)
            or not weight_map
            or not all(isinstance(v, str) and Path(v).name == v for v in weight_map.values())
        ):
            raise InputError(f"{index}: weight_map is missing or malformed, expected tensor names mapped to file names")
        shards: dict[Path, set[str]] = {}
        for name, file in weight_map.items():
            shards.setdefault(directory / file, set()).add(name)
        return shards
    files = sorted(directory.glob("*.safetensors"))
    pickled = sorted(path.name for pattern in PICKLED for path in directory.glob(pattern))
    if not files and pickled:
        raise InputError(
            f"{directory}: holds no *.safetensors file but {pickled[0]}, expected safetensors (pickles can run code: none is opened)"
        )
    if not files:
        raise InputError(f"{directory}: holds no *.safetensors file, expected model.safetensors or shards with {INDEX}")
    return dict.fromkeys(files)


def _header(path: Path, held: set[str] | None) -> dict[str, Tensor]:
    """The tensors of one file, by stored name, checked against what the index expects in it."""
    expected = f"{len(held)} tensors (as {INDEX} says)" if held is not None else "a complete safetensors file"
    tensors = {}
    try:
        if not path.is_file():
            raise InputError(f"{path}: {'is no file' if path.exists() else 'the shard is missing'}, expected {expected}")
        with safetensors.safe_open(path, framework="numpy") as file:
            starts = _starts(path)
            for name in sorted(file.keys()):
                view = file.get_slice(name)
                stored, readable = view.get_dtype(), _readable(name)
                if stored not in readable:
                    raise InputError(f"{path}: {name} is {stored}, expected {', '.join(readable)} (quantised weights are not supported)")
                tensors[name] = Tensor(path, name, tuple(view.get_shape()), np.dtype(readable[stored]), starts[name])
    except (safetensors.SafetensorError, OSError) as error:
        raise InputError(f"{path}: cannot be read ({error}), expected {expected}") from None
    if held is not None and held - tensors.keys():
        raise InputError(f"{path}: lacks {', '.join(sorted(held - tensors.keys())[:20])}, expected {expected}")
    return tensors


def _starts(path: Path) -> dict[str, int]:
    """Where each tensor starts in a file whose header is sound; the library does not tell."""
    with path.open("rb") as file:
        size = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(size))
    return {name: 8 + size + entry["data_offsets"][0] for name, entry in header.items() if name != "__metadata__"}


def _readable(name: str) -> dict[str, type]:
    return INTEGERS if name.rpartition(".")[2] in (DRAFT_TO_TARGET, IN_DRAFT) else FLOATS


def _bare_names(directory: Path, names: Iterable[str]) -> dict[str, str]:
    """Stored name -> bare name. A prefix is on all tensors that it may stand before, or on none."""
    body = [name for name in names if name != "lm_head.weight"]
    bare = dict.fromkeys(names, "model.") if _prefixed(directory, body, "model.") else dict.fromkeys(names, "")
    bare = {name: name.removeprefix(prefix) for name, prefix in bare.items()}
    for prefix in HEAD_PREFIXES:
        head = [name for name in bare.values() if name.removeprefix(prefix).startswith(HEAD_MODULES)]
        if _prefixed(directory, head, prefix):
            bare = {stored: name.removeprefix(prefix) for stored, name in bare.items()}
    return bare


def _prefixed(directory: Path, names: list[str], prefix: str) -> bool:
    """Whether these tensors carry the prefix. Raises InputError if some do and some do not."""
    carrying = [name for name in names if name.startswith(prefix)]
    if carrying and len(carrying) < len(names):
        odd = sorted(set(names) - set(carrying))[0]
        raise InputError(
            f'{directory}: {odd} has no "{prefix}" prefix but {carrying[0]} has, expected the prefix on all '
            f"{'' if prefix == 'model.' else 'head '}tensors or on none"
        )
    return bool(carrying)
