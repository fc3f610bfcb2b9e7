"""Checkpoints: published safetensors directories and our Orbax ones, opened strictly and loaded one parameter at a time.

Opening reads configs and headers only and settles everything that can be refused. Loading then moves each parameter to the
device as it comes, cast on the way, so memory stays near one copy of the weights.
"""

import math
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx
from jax import Array

from domino_jax import orbax_store
from domino_jax.config import DraftConfig, TargetConfig
from domino_jax.drafter import BlockDrafter
from domino_jax.errors import InputError
from domino_jax.fields import read_json, said
from domino_jax.formats import SPECULATORS, format_of, is_drafter
from domino_jax.safetensors_files import SafetensorsDirectory, first_quantised
from domino_jax.target import Embedder, Target
from domino_jax.tensors import DRAFT_TO_TARGET, HEAD_BIASES, HEAD_TENSORS, IN_DRAFT, Row, draft_rows, target_rows

HARMLESS = re.compile(r"(^|\.)rotary_emb\.inv_freq$")  # a buffer that older exports stored; angles are computed here
SHARED = {"embed_tokens.weight": "own_embedding", "lm_head.weight": "own_head"}  # the target's too -> whether a drafter's are its own
HUB_ID = re.compile(r"[\w.-]+/[\w.-]+")
HUB_FILES = ["*.json", "*.safetensors", "*.txt", "*.jinja", "*.model"]


@dataclass(frozen=True)
class Checkpoint:
    """An opened checkpoint: every name, shape and dtype checked, no array read yet."""

    directory: Path
    config: TargetConfig | DraftConfig
    rows: list[Row]
    source: SafetensorsDirectory | orbax_store.OrbaxDirectory
    notes: tuple[str, ...]  # what was left out and why that is harmless

    @property
    def kind(self) -> str:
        return "target" if isinstance(self.config, TargetConfig) else self.config.kind

    @property
    def stored_dtypes(self) -> list[str]:
        return sorted({dtype.name for dtype in self.source.dtypes.values() if jnp.issubdtype(dtype, jnp.floating)})

    def bytes(self, dtype: jnp.dtype | None = None) -> int:
        """What all parameters take in `dtype` (None: as stored)."""
        shapes, dtypes = self.source.shapes, self.source.dtypes
        held = [name for row in self.rows for name in ((row.parameter,) if row.parameter in shapes else row.sources)]
        return sum(math.prod(shapes[name]) * jnp.dtype(dtype or dtypes[name]).itemsize for name in held)

    def parameters(self, dtype: jnp.dtype | None = None) -> Iterator[tuple[str, Array]]:
        """(module path, array) one after the other, cast to `dtype` (None: as stored)."""
        return self.source.parameters(self.rows, dtype)


def locate(name: str | Path) -> Path:
    """The local directory of a checkpoint; a hub id (`owner/name`) that is no local directory is fetched."""
    path = Path(os.path.expanduser(name))  # Path's own raises for a user who does not exist
    try:
        os.listdir(path)
        return path
    except PermissionError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}), expected a checkpoint directory") from None
    except (OSError, ValueError):  # not there, too long, no name at all
        pass
    if os.path.exists(path):
        raise InputError(f"{path}: is a file, expected a checkpoint directory")
    if not HUB_ID.fullmatch(str(name)):
        raise InputError(f"{path}: no such directory, expected a checkpoint directory or a hub id (owner/name)")
    import huggingface_hub  # only a hub id needs it

    try:
        return Path(huggingface_hub.snapshot_download(str(name), allow_patterns=HUB_FILES))
    except Exception as error:  # no network, no such repository, no access: the remedy is the same
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise InputError(
            f"{name}: no such directory and not to be fetched from the hub ({reason}), expected a checkpoint directory; "
            f"on a machine with network run `hf download {name} --local-dir DIR` and pass DIR"
        ) from error


def open_target(name: str | Path) -> Checkpoint:
    """Raises InputError for anything but a complete checkpoint of a supported model."""
    directory = locate(name)
    config = TargetConfig.from_dict(_read_config(directory), str(directory / "config.json"))
    return _open(directory, config, target_rows(config), open_source(directory))


def open_any(name: str | Path) -> Checkpoint:
    """A target or a drafter, whichever its config says."""
    directory = locate(name)
    return open_draft(directory) if is_drafter(_read_config(directory)) else open_target(directory)


def open_draft(name: str | Path) -> Checkpoint:
    """Raises InputError for anything but a complete DFlash or Domino drafter."""
    directory = locate(name)
    raw = _read_config(directory)
    config, source = DraftConfig.from_dict(raw, str(directory / "config.json")), open_source(directory)
    config = _completed(config, source.shapes.keys(), brings_its_own=format_of(raw) is SPECULATORS)
    return _open(directory, config, draft_rows(config), source)


def _completed(config: DraftConfig, names: Iterable[str], brings_its_own: bool) -> DraftConfig:
    """The config with what only the tensors tell. In speculators' format a drafter is complete in itself; `share` settles the rest."""
    return replace(
        config,
        domino=config.domino and replace(config.domino, bias=bool({*HEAD_BIASES, "head.bias1_E"} & {*names})),
        own_embedding="vocabulary.embed_VD" in names or (brings_its_own and "embed_tokens.weight" in names),
        own_head=config.is_reduced or "vocabulary.head_UD" in names or (brings_its_own and "lm_head.weight" in names),
    )


def _read_config(directory: Path) -> dict:
    inside = [str(directory / name) for name in ("target", "draft") if (directory / name / "config.json").exists()]
    if inside and not (directory / "config.json").exists():
        raise InputError(f"{directory}: holds checkpoints in directories of its own, expected one checkpoint; pass {' or '.join(inside)}")
    raw = read_json(directory / "config.json")
    if raw.get("quantization_config") is not None:
        raise InputError(
            f"{directory / 'config.json'}: quantization_config is present{first_quantised(directory)}, expected unquantised weights "
            "(float32, float16 or bfloat16)"
        )
    return raw


def open_source(directory: Path) -> SafetensorsDirectory | orbax_store.OrbaxDirectory:
    """The arrays of a checkpoint, headers read, not yet compared with its config."""
    return orbax_store.OrbaxDirectory(directory) if orbax_store.is_store(directory) else SafetensorsDirectory(directory)


def _open(
    directory: Path, config: TargetConfig | DraftConfig, rows: list[Row], source: SafetensorsDirectory | orbax_store.OrbaxDirectory
) -> Checkpoint:
    if isinstance(source, orbax_store.OrbaxDirectory):
        _compare(directory, {row.parameter: _packed(row) if row.parameter in source.shapes else () for row in rows}, source.shapes)
        return Checkpoint(directory, config, rows, source, ())
    notes = _left_out(directory, config, source)
    expected = {name: shape for row in rows for name, shape in row.sources.items()}
    _compare(directory, expected, {name: shape for name, shape in source.shapes.items() if name not in notes})
    if DRAFT_TO_TARGET in source.shapes:
        _check_vocabulary(directory, config, source)
    return Checkpoint(directory, config, rows, source, tuple(f"{name} {why}" for name, why in notes.items()))


def _packed(row: Row) -> tuple[int, ...]:
    """The shape of its parameter."""
    return jax.eval_shape(row.pack, *(jax.ShapeDtypeStruct(shape, jnp.float32) for shape in row.sources.values())).shape


def _left_out(directory: Path, config: TargetConfig | DraftConfig, source: SafetensorsDirectory) -> dict[str, str]:
    """The tensors that are rightly not loaded, and why. Raises InputError where leaving one out would change the model."""
    found = source.shapes
    notes = {name: "is ignored: RoPE angles are computed" for name in found if HARMLESS.search(name)}
    if isinstance(config, DraftConfig):
        head = [name for name in HEAD_TENSORS if name in found]
        if head and config.domino is None:
            raise InputError(
                f"{directory}: holds the Domino head tensors {', '.join(head)} but config.json has no projector_type, "
                'expected projector_type "domino"'
            )
        notes |= {name: "is not loaded: it must equal the target's" for name in SHARED if name in found and not _owns(config, name)}
        notes |= {IN_DRAFT: f"is not loaded: {DRAFT_TO_TARGET} says the same"} if {IN_DRAFT, DRAFT_TO_TARGET} <= found.keys() else {}
        if DRAFT_TO_TARGET in found and not config.is_reduced:
            notes[DRAFT_TO_TARGET] = "is not loaded: the drafter has all of the target's tokens"
    elif config.tie_word_embeddings and found.keys() >= {*SHARED}:
        if not np.array_equal(source.read("lm_head.weight"), source.read("embed_tokens.weight")):
            raise InputError(
                f"{directory}: lm_head.weight differs from embed_tokens.weight although tie_word_embeddings is true, "
                "expected equal tensors or tie_word_embeddings false"
            )
        notes["lm_head.weight"] = "is ignored: it equals embed_tokens.weight, to which it is tied"
    return notes


def _compare(where: Path, expected: dict[str, tuple[int, ...]], found: dict[str, tuple[int, ...]]) -> None:
    """Raises one InputError that names every missing, unexpected and misshapen tensor."""
    listing = {
        "missing": sorted(expected.keys() - found.keys()),
        "unexpected": sorted(found.keys() - expected.keys()),
        "misshapen": [
            f"{name} is {said(list(found[name]))}, expected {list(expected[name])}"
            for name in sorted(expected.keys() & found.keys())
            if tuple(found[name]) != tuple(expected[name])
        ],
    }
    parts = []
    for word, names in listing.items():
        if names:
            more = f" and {len(names) - 20} more" if len(names) > 20 else ""
            parts.append(f"{len(names)} {word}: {', '.join(names[:20])}{more}")
    if parts:
        raise InputError(f"{where}: the tensors do not match config.json, expected {len(expected)} of them ({'; '.join(parts)})")


def abstract(config: TargetConfig | DraftConfig, dtype: jnp.dtype = jnp.float32, **options) -> Target | BlockDrafter:
    """The module of a config with shapes in place of arrays. `options` go to the drafter."""
    build = Target if isinstance(config, TargetConfig) else BlockDrafter
    return nnx.eval_shape(lambda: build(config, dtype, rngs=nnx.Rngs(0), **options))


def leaves(module: nnx.Module) -> dict[str, Array | jax.ShapeDtypeStruct]:
    """Module path (`layers.0.qkv_DKXH`) -> leaf, in tree order."""
    with_paths = jax.tree_util.tree_flatten_with_path(module)[0]
    return {".".join(re.findall(r"\w+", jax.tree_util.keystr(path)[: -len(".value")])): leaf for path, leaf in with_paths}


def assemble(module: nnx.Module, parameters: Mapping[str, Array]) -> nnx.Module:
    """A module like `module` (arrays or shapes) with the given leaves."""
    return jax.tree.unflatten(jax.tree.structure(module), [parameters[path] for path in leaves(module)])


def load(
    checkpoint: Checkpoint,
    dtype: jnp.dtype,
    progress: Callable[[Iterable, int], Iterable] = lambda items, total: items,
    **options,
) -> Target | BlockDrafter:
    """The module with its weights on the default device, in `dtype`. `progress` wraps the parameters and is told their bytes."""
    parameters = dict(progress(checkpoint.parameters(dtype), checkpoint.bytes(dtype)))
    return assemble(abstract(checkpoint.config, dtype, **options), parameters)


def shared_tensors(draft: Checkpoint) -> list[str]:
    """What a drafter ships that may be the target's; a head over a vocabulary of its own cannot."""
    return [name for name in SHARED if name in draft.source.shapes and not (name == "lm_head.weight" and draft.config.is_reduced)]


def must_share(draft: Checkpoint) -> list[str]:
    """What it ships that must be the target's."""
    return [name for name in shared_tensors(draft) if not _owns(draft.config, name)]


def _owns(config: DraftConfig, name: str) -> bool:
    return getattr(config, SHARED[name])


def share(draft: Checkpoint, target: Checkpoint) -> Checkpoint:
    """The drafter, with the target's embedding and head in place of its own where they are equal.

    Raises InputError where a format says that they are the target's, and they are not.
    """
    shipped = shared_tensors(draft)
    if not shipped:
        return draft
    embedder, config, notes = read_embedder(target), draft.config, list(draft.notes)
    for name in shipped:
        embedded = name == "embed_tokens.weight" or embedder.head_VD is None
        ours, theirs = np.asarray((embedder.embed_VD if embedded else embedder.head_VD)[...]), draft.source.read(name)
        equal = theirs.shape == ours.shape and np.array_equal(theirs.astype(ours.dtype), ours)
        owned = _owns(config, name)
        if not equal and not owned:
            raise InputError(f"{draft.directory}: {name} differs from the target's, expected the target's own (a drafter shares it)")
        if owned:
            notes.append(f"{name} is not loaded: it equals the target's" if equal else f"{name} is the drafter's own")
            config = replace(config, **{SHARED[name]: not equal})
    return replace(draft, config=config, rows=draft_rows(config), notes=tuple(notes))


def _check_vocabulary(directory: Path, config: DraftConfig, source: SafetensorsDirectory) -> None:
    """Raises InputError unless the tables of a drafter's tokens name distinct tokens of the target, and the same ones."""
    size, offset_U = config.draft_vocab_size, source.read(DRAFT_TO_TARGET)
    if offset_U.shape != (size,):
        raise InputError(
            f"{directory}: {DRAFT_TO_TARGET} is {list(offset_U.shape)}, expected [{size}] (draft_vocab_size, or vocab_size without)"
        )
    if not config.is_reduced and offset_U.any():
        raise InputError(f"{directory}: {DRAFT_TO_TARGET} changes the order of all of the target's tokens, expected zeros or fewer tokens")
    ids = np.arange(size) + offset_U
    if ids.min() < 0 or ids.max() >= config.vocab_size or len(np.unique(ids)) < len(ids):
        raise InputError(
            f"{directory}: {DRAFT_TO_TARGET} does not name {len(ids)} distinct tokens below vocab_size = {config.vocab_size}, expected "
            "each draft token's id in the target less its own number"
        )
    if IN_DRAFT in source.shapes:
        marked = source.read(IN_DRAFT)
        if marked.shape != (config.vocab_size,) or not np.array_equal(np.flatnonzero(marked), np.sort(ids)):
            raise InputError(f"{directory}: {IN_DRAFT} marks other tokens than {DRAFT_TO_TARGET} names, expected the same")


def read_embedder(target: Checkpoint) -> Embedder:
    """The target's embedder alone, as stored."""
    rows = [row for row in target.rows if row.parameter.startswith("embedder.")]
    module = nnx.eval_shape(lambda: Embedder(target.config, jnp.float32, rngs=nnx.Rngs(0)))
    arrays = {path.removeprefix("embedder."): array for path, array in target.source.parameters(rows, None)}
    return assemble(module, arrays)
