"""Thousands of broken checkpoints. Each opens and loads as the same weights, or one sentence refuses it; nothing else may happen.

What is broken is drawn from a generator seeded by the test's name, so a failing case comes again.
"""

import copy
import dataclasses
import functools
import gc
import json
import math
import os
import random
import resource
import shutil
import signal
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import safetensors.numpy

from convert.checkpoint import main
from domino_jax import checkpoint, engine
from domino_jax.checkpoint import Checkpoint
from domino_jax.config import DraftConfig, TargetConfig
from domino_jax.errors import InputError
from domino_jax.fields import read_json
from domino_jax.orbax_store import ARRAYS, MANIFEST, checksum
from domino_jax.safetensors_files import INDEX
from tests.models import draft_config, published_names, random_tensors, target_config, write, write_tokenizer

LARGEST = 2**31 - 1
SECONDS, BYTES = 10, 1 << 29  # what no broken file may take, of time and of memory

# --- what may come out ---


@contextmanager
def within_limits() -> Iterator[None]:
    """A hang raises TimeoutError."""

    def late(*_):
        raise TimeoutError(f"longer than {SECONDS} seconds")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def outcome(use: Callable[[], object]) -> object:
    """What `use` returns, or None if one sentence refused it. Anything else is raised."""
    with within_limits():
        try:
            return use()
        except InputError as error:
            text = str(error)
            assert "expected" in text, text
            assert len(text.splitlines()) == 1, text
            assert len(text) < 3000, f"{len(text)} characters: {text[:200]}"
            return None


def bits(opened: Checkpoint) -> list[tuple]:
    """Shape and bytes of every parameter, loaded in float32."""
    loaded = checkpoint.load(opened, jnp.float32)
    return [(leaf.shape, np.asarray(leaf).tobytes()) for leaf in jax.tree.leaves(loaded)]


class Cases:
    """Runs cases and reports what went wrong with all of them together; counts those refused and those that loaded."""

    def __init__(self):
        self.wrong, self.refused, self.loaded = [], 0, 0

    def run(self, said: str, use: Callable[[], object]) -> object:
        try:
            found = outcome(use)
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            self.wrong.append(f"{said}: {type(error).__name__}: {str(error).splitlines()[:1]!s:.300}")
            return None
        self.refused += found is None
        self.loaded += found is not None
        return found

    def expect(self, right: bool, said: str) -> None:
        if not right:
            self.wrong.append(said)


@pytest.fixture
def cases() -> Iterator[Cases]:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    made = Cases()
    yield made
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    assert not made.wrong, "\n".join(made.wrong[:20])
    assert made.refused > 0
    assert grown < BYTES, f"{grown} bytes more"


@pytest.fixture(autouse=True, scope="module")
def made_once() -> Iterator[None]:
    """The abstract module of a config is what takes longest; most cases that load have the same."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checkpoint, "abstract", functools.cache(checkpoint.abstract))
        yield


@pytest.fixture
def rng(request) -> random.Random:
    return random.Random(request.node.name)


# --- JSON, broken ---

ENTITIES = {  # what Python's own writer does not write
    '"@deep@"': "[" * 100_000 + "]" * 100_000,
    '"@nested@"': "[" * 900 + "]" * 900,
    '"@digits@"': "9" * 5000,
    '"@long@"': "9" * 4000,
    '"@overflow@"': "1e999",
    '"@twice@': '"',
}
VALUES = [
    *(None, True, False, 0, 1, 2, 3, -1, 4, 7, 16, 32, 48, 96, 9999, LARGEST, 2**31, 2**63, 2**64, 10**400, -(10**400)),
    *(0.0, -0.0, 0.5, 1.0, 2.0, 16.0, 1e-320, 1e308, -1.5, math.nan, math.inf, -math.inf, *ENTITIES),
    *("", "x", "16", "true", "silu", "domino", "default", "yarn", "line\nend", "\ud800", "\0", "a" * 1000, "é\u2028🙂", "/dev/zero"),
    *([], [[]], [0], [1], [1, 2], [0, 0], [-1], [None], ["x"], [10**400], [0] * 10_000, ["full_attention"], ["sliding_attention"]),
    *({}, {"a": 1}, {"rope_type": "yarn"}, {"rope_type": "linear", "factor": 1e-300}, {"": {"": {}}}, {"x\ny": "z\nz"}),
]
VALUES = [value.strip('"') if isinstance(value, str) and value.startswith('"@') else value for value in VALUES if value != '"@twice@']


def text_of(raw: object) -> str:
    text = json.dumps(raw)
    for name, meant in ENTITIES.items():
        text = text.replace(name, meant)
    return text


def keys_within(value: object) -> set[str]:
    """All keys of an object and of those in it."""
    if isinstance(value, list):
        return set().union(*map(keys_within, value))
    return {*value}.union(*map(keys_within, value.values())) if isinstance(value, dict) else set()


def containers(value: object) -> list:
    """All objects and arrays that hold something."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return ([value] if inner else []) + [found for held in inner for found in containers(held)]


@dataclasses.dataclass
class Broken:
    """A JSON text with one thing changed: how, the keys that have to do with it, and the values before and after."""

    text: str
    how: str
    keys: set[str]
    key: str = ""
    before: object = None
    after: object = None


def broken(rng: random.Random, raw: dict) -> Broken:
    """Replaces, deletes, renames, moves, doubles, repeats elsewhere or swaps."""
    raw = copy.deepcopy(raw)
    holder = rng.choice(containers(raw)) if rng.random() < 0.5 else raw
    key = rng.choice([*holder] if isinstance(holder, dict) else range(len(holder)))
    owners = [name for other in containers(raw) if isinstance(other, dict) for name, held in other.items() if held is holder]
    keys = {*owners, *map(str, [key]), *keys_within(holder[key])}
    how = rng.choices(["replace", "delete", "rename", "move", "double", "again", "swap"], [50, 10, 10, 10, 5, 10, 5])[0]
    value, before = rng.choice(VALUES), holder[key]
    if how == "replace" or not isinstance(holder, dict):
        how = "replace"
        holder[key] = value
        return Broken(text_of(raw), f"{how} {key!r} by {value!r:.60}", keys | keys_within(value), str(key), before, value)
    if how == "double":
        pairs = [*holder.items()]
        holder.clear()
        holder.update([("@twice@" + key, value), *pairs] if rng.random() < 0.5 else [*pairs, ("@twice@" + key, value)])
        return Broken(text_of(raw), f"{how} {key!r} with {value!r:.60}", keys | keys_within(value))
    if how == "again":
        others = [held for held in containers(raw) if isinstance(held, dict) and key not in held]
        rng.choice(others or [{}])[key] = value
        return Broken(text_of(raw), f"{how} {key!r} by {value!r:.60}", keys)
    del holder[key]
    if how == "rename":
        new = rng.choice([key + "x", key[:-1], key.upper(), " " + key, key + "\n", "", rng.choice([*keys_within(raw)] or ["x"])])
        holder[new] = before
        return Broken(text_of(raw), f"{how} {key!r} to {new!r}", keys | {new})
    if how == "move":
        other = rng.choice([held for held in containers(raw) if isinstance(held, dict)] or [holder])
        other[key] = before
        owners = [name for held in containers(raw) if isinstance(held, dict) for name, inner in held.items() if inner is other]
        return Broken(text_of(raw), f"{how} {key!r}", keys | {*owners})
    if how == "swap" and holder:
        other = rng.choice([*holder])
        keys |= {other, *keys_within(holder[other])}
        holder[key], holder[other] = holder[other], before
        return Broken(text_of(raw), f"{how} {key!r} and {other!r}", keys)
    return Broken(text_of(raw), f"delete {key!r}", keys)


def torn(rng: random.Random, content: bytes) -> tuple[str, bytes]:
    """Bytes cut, flipped, put in or taken out, or something else altogether."""
    place = rng.randrange(len(content) + 1)
    flipped = bytes(byte ^ 1 << rng.randrange(8) for byte in content[place : place + 1])
    return rng.choice(
        [
            (f"cut at {place}", content[:place]),
            (f"byte {place} flipped", content[:place] + flipped + content[place + 1 :]),
            (f"without byte {place}", content[:place] + content[place + 1 :]),
            (f"no UTF-8 at {place}", content[:place] + b"\xff\xfe" + content[place:]),
            (f"NUL at {place}", content[:place] + b"\0" + content[place:]),
            ("empty", b""),
            ("twice", content * 2),
            ("byte order mark", b"\xef\xbb\xbf" + content),
            ("UTF-16", content.decode("utf-8", "replace").encode("utf-16")),
            ("zeros", bytes(len(content))),
        ]
    )


# --- what is broken ---

SMALL = dict(num_hidden_layers=1)
ROPE_SCALINGS = {
    "llama3": dict(rope_type="llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=64),
    "yarn": dict(rope_type="yarn", factor=4.0, original_max_position_embeddings=64, beta_fast=32, beta_slow=1.0, rope_theta=10000.0),
}
PUBLISHED = dict(bos_token_id=1, eos_token_id=7, hidden_act="silu", initializer_range=0.02, attention_bias=False)
FLAT = draft_config(**SMALL, num_target_layers=1, nested=dict(target_layer_ids=[0]), sliding_window=8, layer_types=["sliding_attention"])
CONFIGS = {
    "qwen3": target_config(**SMALL, **PUBLISHED, use_sliding_window=False, layer_types=["full_attention"]),
    "qwen2": target_config(**SMALL, **PUBLISHED, model_type="qwen2", tie_word_embeddings=True, use_sliding_window=False),
    "llama": target_config(**SMALL, **PUBLISHED, model_type="llama", mlp_bias=False, rope_scaling=ROPE_SCALINGS["llama3"]),
    "yarn": target_config(**SMALL, **PUBLISHED, rope_theta=None, rope_parameters=ROPE_SCALINGS["yarn"]),
    "domino": draft_config(**SMALL, **PUBLISHED, num_target_layers=1, nested=dict(target_layer_ids=[0])),
    "dflash": draft_config(domino=False, **SMALL, **PUBLISHED, num_target_layers=1, nested=dict(target_layer_ids=[0])),
    "flat": {key: value for key, value in {**FLAT, **FLAT["dflash_config"]}.items() if key not in ("dflash_config", "shift_label")}
    | {"query_zero_predicts_next": True},
}
REDUCED = 40  # tokens of the speculators drafter


def write_bases(directory: Path) -> None:
    """Every format that is read, as small as it may be."""
    for name, raw in CONFIGS.items():
        if "target_layer_ids" in raw or "dflash_config" in raw:
            write(directory / name, raw, random_tensors(raw if "dflash_config" in raw else CONFIGS["domino"], 1))
        else:
            write(directory / name, raw, published_names(random_tensors(raw)))
    assert main(["--target", str(directory / "qwen3"), "--draft", str(directory / "domino"), "--out", str(directory / "made")]) == 0
    (directory / "made" / "target").rename(directory / "stored target")
    (directory / "made" / "draft").rename(directory / "stored draft")
    (directory / "made").rmdir()
    own = ["--target", str(directory / "qwen3"), "--draft", str(directory / "domino"), "--to", "speculators"]
    assert main([*own, "--out", str(directory / "made")]) == 0
    new = directory / "speculators"
    (directory / "made" / "draft").rename(new)
    shutil.rmtree(directory / "made")
    raw, tensors = json.loads((new / "config.json").read_text()), safetensors.numpy.load_file(new / "model.safetensors")
    renamed = {"logits_correction_emb_dim": "domino_emb_dim", "gru_hidden_dim": "domino_gru_hidden_dim"}
    renamed |= {"pure_draft_prefix_len": "domino_pure_draft_prefix_len"}
    old = {renamed.get(key, key): value for key, value in raw.items()} | {"speculators_model_type": "dflash", "domino_enabled": True}
    write(directory / "speculators, old", old, {name.replace("logits_correction.", "domino_head."): held for name, held in tensors.items()})
    ids = 10 + 2 * np.arange(REDUCED)
    tensors |= {"d2t": ids - np.arange(REDUCED), "t2d": np.isin(np.arange(96), ids)}
    tensors |= {name: tensors[name][:REDUCED] for name in ("lm_head.weight", "logits_correction.embed_proj.2.weight")}
    write(new, raw | {"draft_vocab_size": REDUCED}, tensors)


BASES = [*CONFIGS, "speculators", "speculators, old", "stored target", "stored draft"]
TARGETS = {"qwen3", "qwen2", "llama", "yarn", "stored target"}


@pytest.fixture(scope="module")
def bases(tmp_path_factory) -> Path:
    directory = tmp_path_factory.mktemp("bases")
    write_bases(directory)
    return directory


class Base:
    """A checkpoint of its own to break, and what it is whole."""

    def __init__(self, source: Path, directory: Path):
        self.name, self.source, self.directory = source.name, source, shutil.copytree(source, directory)
        opened = checkpoint.open_any(directory)
        self.config, self.bits = opened.config, bits(opened)
        self.raw = json.loads((directory / "config.json").read_text())

    def use(self) -> tuple[TargetConfig | DraftConfig, list[tuple]]:
        opened = checkpoint.open_any(self.directory)
        return opened.config, bits(opened)

    def restore(self) -> None:
        shutil.rmtree(self.directory)
        shutil.copytree(self.source, self.directory)

    def unchanged(self, found: tuple) -> bool:
        return found[1] == self.bits and changed(found[0], self.config) == set()


@pytest.fixture
def base(request, bases, tmp_path) -> Base:
    return Base(bases / request.param, tmp_path / "base")


def changed(ours: TargetConfig | DraftConfig, theirs: TargetConfig | DraftConfig) -> set[str]:
    """The fields in which two configs differ."""
    if type(ours) is not type(theirs):
        return {"kind"}
    names = [field.name for field in dataclasses.fields(ours)]
    return {name for name in names if getattr(ours, name) != getattr(theirs, name)}


# --- config.json ---

ROPE_KEYS = {"rope_theta", "rope_scaling", "rope_parameters", "rope_type", "type", "factor", "original_max_position_embeddings"}
ROPE_KEYS |= {"low_freq_factor", "high_freq_factor", "beta_fast", "beta_slow", "attention_factor"}
WINDOW_KEYS = {"layer_types", "sliding_window", "use_sliding_window", "max_window_layers", "sliding_window_non_causal"}
HEAD_KEYS = {"shift_label", "query_zero_predicts_next", "sample_from_anchor", "pure_draft_prefix_len", "domino_pure_draft_prefix_len"}
NAME_KEYS = {"speculators_config", "verifier", "name_or_path"}
MAY_CHANGE = {  # a field -> the keys that may change it beside the same tensors, besides its own name
    "rope": {*ROPE_KEYS, "max_position_embeddings"},
    "windows": WINDOW_KEYS,
    "domino": HEAD_KEYS,
    "target_layer_ids": {"aux_hidden_state_layer_ids"},
    "draft_vocab_size": {"vocab_size"},
    "target_name": NAME_KEYS,
}
WHOLE = ("vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads", "num_key_value_heads", "head_dim")
ONE_KIND = (
    ROPE_KEYS
    | HEAD_KEYS
    | {  # keys whose value must be refused if it is of another kind
        *(*WHOLE, "rms_norm_eps", "max_position_embeddings", "hidden_act", "block_size", "mask_token_id", "target_layer_ids", "emb_dim"),
        *("num_target_layers", "gru_hidden_dim", "layer_types", "dflash_config", "transformer_layer_config", "aux_hidden_state_layer_ids"),
        *("projector_type", "speculators_model_type", "domino_enabled", "logits_correction_emb_dim", "domino_emb_dim"),
    }
)


def kind(value: object) -> str:
    return "number" if type(value) in (int, float) else type(value).__name__


def legal(config: TargetConfig | DraftConfig) -> bool:
    """Whether a model of this config computes finite numbers in a context of some positions."""
    counts = [getattr(config, name) for name in (*WHOLE, "max_position_embeddings")] + [config.context]
    numbers = [config.rms_norm_eps, config.rope.magnitude, *config.rope.rates(config.head_dim)]
    if isinstance(config, DraftConfig):
        counts += [config.block_size, config.draft_vocab_size, *(id + 1 for id in config.target_layer_ids), config.mask_token_id + 1]
        counts += [window.size for window in config.windows if window]
    return all(type(count) is int and 1 <= count <= LARGEST for count in counts) and all(
        number > 0 and math.isfinite(np.float32(number)) for number in numbers
    )


@pytest.mark.parametrize("base", BASES, indirect=True)
def test_a_config_with_one_thing_changed(base, rng, cases):
    """The weights are the same, and no field is another but for the keys that have to do with it."""
    for _ in range(60 if base.name.startswith("stored") else 150):
        made = broken(rng, base.raw)
        (base.directory / "config.json").write_text(made.text, encoding="utf-8")
        found = cases.run(made.how, base.use)
        if found is None:
            continue
        config, held = found
        fields = changed(config, base.config)
        cases.expect(held == base.bits, f"{made.how}: other weights")
        cases.expect(legal(config), f"{made.how}: {config}")
        cases.expect(all(({field} | MAY_CHANGE.get(field, set())) & made.keys for field in fields), f"{made.how}: {fields} changed")
        cases.expect(not fields or not made.how.startswith("again"), f"{made.how}: {fields} changed")
        if made.how.startswith("replace") and None not in (made.before, made.after) and kind(made.after) != kind(made.before):
            cases.expect(made.key not in ONE_KIND, f"{made.how}: loads")


@pytest.mark.parametrize("base", [name for name in BASES if not name.startswith("stored")], indirect=True)
def test_every_value_of_every_key(base, cases):
    """Read without the tensors, which would refuse most of what is legal: nothing changes but what the key stands for."""
    kind_of = DraftConfig if isinstance(base.config, DraftConfig) else TargetConfig
    path = base.directory / "config.json"
    for place, number in [(place, number) for place, held in enumerate(containers(base.raw)) for number in range(len(held))]:
        for value in VALUES:
            raw = copy.deepcopy(base.raw)
            holder = containers(raw)[place]
            key = [*holder][number] if isinstance(holder, dict) else number
            before, holder[key] = holder[key], value
            if (text := text_of(raw)) == path.read_text(encoding="utf-8"):
                continue
            path.write_text(text, encoding="utf-8")
            how = f"{key!r}: {value!r:.60}"
            config = cases.run(how, lambda: kind_of.from_dict(read_json(path), str(path)))
            if config is not None:
                cases.expect(legal(config), f"{how}: {config}")
                if None not in (value, before) and kind(value) != kind(before):
                    cases.expect(key not in ONE_KIND, f"{how}: is taken")


@pytest.mark.parametrize("base", BASES, indirect=True)
def test_a_config_that_is_torn(base, rng, cases):
    content = (base.directory / "config.json").read_bytes()
    for _ in range(40):
        how, made = torn(rng, content)
        (base.directory / "config.json").write_bytes(made)
        found = cases.run(how, base.use)
        if found is not None:
            cases.expect(found[1] == base.bits and legal(found[0]), f"{how}: {found[0]}")


@pytest.mark.parametrize("base", ["domino", "dflash", "flat", "speculators", "stored draft"], indirect=True)
def test_a_drafter_with_one_thing_changed_beside_its_target(base, bases, rng, cases):
    for _ in range(30):
        made = broken(rng, base.raw)
        (base.directory / "config.json").write_text(made.text, encoding="utf-8")
        pair = cases.run(made.how, lambda: engine.open_pair(str(bases / "qwen3"), str(base.directory)))
        if pair is not None:
            cases.expect(pair.draft.config.vocab_size == pair.target.config.vocab_size, f"{made.how}: another vocabulary")
            cases.expect(max(pair.draft.config.target_layer_ids) < pair.target.config.num_hidden_layers, f"{made.how}: layers")


@pytest.mark.parametrize("base", BASES, indirect=True)
def test_the_command_line_says_it_in_one_line(base, rng, capsys, tmp_path):
    """And leaves nothing where it refuses."""
    out, name = tmp_path / "out", "--target" if base.name in TARGETS else "--draft"
    for number in range(12):
        made = broken(rng, base.raw)
        (base.directory / "config.json").write_text(made.text, encoding="utf-8")
        inspecting = number % 3
        status = main(["--inspect", str(base.directory)] if inspecting else [name, str(base.directory), "--out", str(out)])
        printed, err = capsys.readouterr()
        assert "Traceback" not in err, made.how
        if status == 0:
            assert inspecting or checkpoint.open_any(out / name[2:]), made.how
            shutil.rmtree(out, ignore_errors=True)
            continue
        assert (status, inspecting or printed) == (2, inspecting or ""), made.how
        assert err.startswith("error: "), made.how
        assert err.count("\n") == 1, made.how
        assert [path.name for path in tmp_path.iterdir()] == ["base"], made.how


@pytest.mark.parametrize("base", ["speculators"], indirect=True)
@pytest.mark.parametrize("name", ["\ud800", "line\nend", "\0", "\x1b[2J"], ids=ascii)
def test_a_target_whose_name_cannot_be_printed_is_none(name, base, bases, capsys):
    raw = base.raw | {"speculators_config": {"verifier": {"name_or_path": name}}}
    (base.directory / "config.json").write_text(json.dumps(raw))
    assert main(["--inspect", str(base.directory)]) == 0
    printed, err = capsys.readouterr()
    assert "target_name = None\n" in printed
    assert (err, engine.open_pair(str(bases / "qwen3"), str(base.directory)).draft.config.target_name) == ("", None)


# --- safetensors files ---


class File:
    """A safetensors file taken apart."""

    def __init__(self, path: Path):
        content = path.read_bytes()
        (length,) = struct.unpack("<Q", content[:8])
        self.path, self.header, self.data = path, json.loads(content[8 : 8 + length]), content[8 + length :]

    def write(self, header: bytes, data: bytes | None = None, length: int | None = None) -> None:
        self.path.write_bytes(struct.pack("<Q", len(header) if length is None else length) + header + (self.data if data is None else data))


LENGTHS = [0, 1, 2, 7, 8, 100, 1 << 20, 100_000_000, 100_000_001, 2**31, 2**32, 2**40, 2**63 - 1, 2**63, 2**64 - 1]
SHAPES = [
    *([], [0], [1], [-1], [-32, -32], [2**31], [2**31, 2**31], [2**32, 2**32], [2**63], [2**64], [2**40, 0], [0, 2**63], [10**400]),
    *([1.5], ["32"], [None], [[32]], [True], None, "32", 32, {}, [1] * 5000, [2**21] * 3, [math.nan]),
]
DTYPES = [
    "F64",
    "F16",
    "BF16",
    "I8",
    "U8",
    "I16",
    "U16",
    "I32",
    "U32",
    "I64",
    "U64",
    "BOOL",
    "F8_E4M3",
    "F8_E5M2",
    "F8_E8M0",
    "F6_E2M3",
    "F4",
]
DTYPES += ["C64", "f32", "F32\n", "float32", "", None, 32, ["F32"], "\ud800"]
NAMES = ["", "a\nb", "\0", "é\u2028", "x" * 300, "__metadata__", "model.", "lm_head.weight", "model.lm_head.weight", "d2t", "t2d", "../x"]
NAMES += ["rotary_emb.inv_freq", "layers.0.mlp.gate_proj.weight.scale", "head.prefix_gru.weight_ih_l0", "logit_head.norm.weight"]
METADATA = [{}, None, [], "x", {"format": "np"}, {"format": 1}, {"a": {"b": "c"}}, {"x\ny": "z"}, {"k": "v" * 100_000}]


def lie(rng: random.Random, file: File) -> str:
    """Writes the file with a header that says one thing wrong, and says which."""
    header, size = copy.deepcopy(file.header), len(file.data)
    name = rng.choice([name for name in header if name != "__metadata__"])
    entry, other = header[name], header[rng.choice([name for name in header if name != "__metadata__"])]
    begin, end = entry["data_offsets"]
    how = rng.choice(["length", "shape", "dtype", "offsets", "name", "key", "metadata", "bytes", "whole", "twice", "data"])
    data = None
    if how == "length":
        length = rng.choice([*LENGTHS, *(len(text_of(header).encode()) + more for more in (-100, -1, 1, 8, size, size + 1))])
        file.write(text_of(header).encode(), length=length)
        return f"length {length}"
    if how == "shape":
        shape = entry["shape"]
        flat = [[*shape[::-1], 1], [math.prod(shape)], [1, *shape], [*shape, 1], [*shape, 2], [shape[0] - 1, *shape[1:]]]
        entry["shape"] = rng.choice([*SHAPES, *flat, *[shape[::-1]] * (len({*shape}) > 1)])
        said = f"{name}: shape {entry['shape']!r:.80}"
    elif how == "dtype":
        entry["dtype"] = rng.choice(DTYPES)
        said = f"{name}: dtype {entry['dtype']!r}"
    elif how == "offsets":
        middle = (begin + end) // 2
        choices = [[begin, end - 4], [begin + 4, end], [begin + 4, end + 4], [end, begin], [begin, size + 4], [size, size + end - begin]]
        choices += [[-4, end], [begin, 2**63], [begin, 2**64], [2**64 - 4, 2**64 - 1], [begin, begin], [begin], [begin, middle, end], []]
        choices += ["0", None, {}, [str(begin), end], [begin + 0.5, end], [None, end], [0, 0], [begin, 10**400]]
        entry["data_offsets"] = rng.choice([*choices, *[other["data_offsets"]] * (other is not entry)])
        said = f"{name}: offsets {entry['data_offsets']!r:.80}"
    elif how == "name":
        new = rng.choice([*NAMES, name.upper(), name + "\n", " " + name, "model." + name, "logit_head." + name])
        held = [(new if other == name else other, entry) for other, entry in header.items()]
        header = dict(held)
        if len(header) < len(held):
            header = {**header, "@twice@" + new: entry}
        said = f"{name}: called {new!r:.80}"
    elif how == "twice":
        header["@twice@" + name] = rng.choice([entry, other, {**entry, "shape": [0], "data_offsets": [size, size]}])
        said = f"{name}: twice, {header['@twice@' + name]}"
    elif how == "key":
        key = rng.choice([*entry])
        entry[rng.choice(["", key + "x", "@twice@" + key])] = entry.pop(key) if rng.random() < 0.5 else rng.choice(VALUES)
        said = f"{name}: keys {entry!r:.200}"
    elif how == "metadata":
        header["__metadata__"] = rng.choice(METADATA)
        said = f"metadata {header['__metadata__']!r:.80}"
    elif how == "data":
        data = rng.choice([b"", file.data[:-1], file.data[:-4], file.data + b"\0", file.data + file.data, file.data[: size // 2]])
        said = f"{len(data)} bytes in place of {size}"
    elif how == "whole":
        text = rng.choice(["", "{}", "[]", "null", "1", '"x"', "{" * 10, "[" * 100_000, '{"a": ' * 10_000, '{"a":{}}'])
        file.write(text.encode(), rng.choice([b"", file.data]))
        return f"a header of {text[:20]!r}"
    else:
        said, torn_header = torn(rng, text_of(header).encode())
        file.write(torn_header)
        return f"header {said}"
    file.write(text_of(header).encode(), data)
    return said


@pytest.mark.parametrize("base", ["qwen3", "qwen2", "domino", "speculators"], indirect=True)
def test_a_safetensors_header_that_lies(base, rng, cases):
    file = File(base.directory / "model.safetensors")
    for _ in range(180):
        how = lie(rng, file)
        found = cases.run(how, base.use)
        cases.expect(found is None or base.unchanged(found), f"{how}: other weights")


# --- shards and their index ---

SHARDS = 3


def misindexed(rng: random.Random, directory: Path) -> str:
    """Breaks the index, or what it speaks of, and says how."""
    index = json.loads((directory / INDEX).read_text())
    names = index["weight_map"]
    name, shards = rng.choice([*names]), sorted({*names.values()})
    shard = rng.choice(shards)
    other = rng.choice([held for held in shards if held != shard])
    held = safetensors.numpy.load_file(directory / shard)
    ways = ["no shard", "extra", "wrong shard", "path", "unlisted shard", "unlisted name", "in two shards", "emptied", "another file"]
    how = rng.choice([*ways, "JSON", "torn"])
    if how == "no shard":
        (directory / shard).unlink()
    elif how == "extra":
        names[rng.choice(["more.weight", "", "a\nb", "\ud800", name + "x"])] = rng.choice([shard, "more.safetensors"])
    elif how == "wrong shard":
        names[name] = next(held for held in shards if held != names[name])
    elif how == "path":
        paths = [
            str(directory / shard),
            f"./{shard}",
            f"x/../{shard}",
            f"../{directory.name}/{shard}",
            "/dev/zero",
            "/etc/passwd",
            ".",
            "/",
        ]
        names[name] = rng.choice([*paths, "config.json", INDEX, shard + "\0", shard + "\n", "a" * 300, shard.upper(), "\ud800"])
        how = f"path {names[name]!r:.100}"
    elif how == "unlisted shard":
        index["weight_map"] = {name: file for name, file in names.items() if file != shard}
    elif how == "unlisted name":
        del names[name]
    elif how == "in two shards":
        more = safetensors.numpy.load_file(directory / other)
        safetensors.numpy.save_file(held | {name: more[name] + 1 for name in [*more][:1]}, directory / shard)
    elif how == "emptied":
        safetensors.numpy.save_file({}, directory / shard)
    elif how == "another file":
        safetensors.numpy.save_file(held, directory / "more.safetensors")
    if how in ("JSON", "torn"):
        made = broken(rng, index) if how == "JSON" else None
        said, content = (made.how, made.text.encode()) if made else torn(rng, (directory / INDEX).read_bytes())
        (directory / INDEX).write_bytes(content)
        return said
    (directory / INDEX).write_text(json.dumps(index))
    return f"{how}: {name}, {shard}"


@pytest.mark.parametrize("name", ["qwen3", "domino"])
def test_an_index_that_is_wrong(name, bases, rng, cases, tmp_path):
    raw, tensors = CONFIGS[name], safetensors.numpy.load_file(bases / name / "model.safetensors")
    base = Base(write(tmp_path / "source", raw, tensors, shards=SHARDS), tmp_path / "base")
    for _ in range(120):
        how = misindexed(rng, base.directory)
        found = cases.run(how, base.use)
        cases.expect(found is None or base.unchanged(found), f"{how}: other weights")
        cases.expect(found is None or not how.startswith(("path", "in two shards")), f"{how}: is taken")
        base.restore()


# --- stores ---


def shaken(rng: random.Random, store: Path, content: dict[str, bytes]) -> str:
    """Damages one file below the arrays, or puts one there, and says which and how."""
    name = rng.choice([*content])
    path = store / ARRAYS / name
    how = rng.choice(["gone", "torn", "flipped", "flipped", "another's", "directory", "one more"])
    if how == "flipped":
        place = rng.randrange(len(content[name]) or 1)
        path.write_bytes(content[name][:place] + bytes(byte ^ 1 for byte in content[name][place : place + 1]) + content[name][place + 1 :])
    elif how == "gone":
        path.unlink()
    elif how == "torn":
        how, made = torn(rng, content[name])
        path.write_bytes(made)
    elif how == "another's":
        path.write_bytes(content[rng.choice([*content])])
    elif how == "directory":
        path.unlink()
        path.mkdir()
    else:
        (path.parent / rng.choice(["more", "manifest.ocdbt.__lock", ".zarray", "_METADATA", "x.orbax-checkpoint-tmp"])).write_bytes(b"{}")
    return f"{name}: {how}"


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # Orbax drops its coroutines where one has failed
@pytest.mark.parametrize("forged", [False, True], ids=["", "with its manifest"])
@pytest.mark.parametrize("base", ["stored target", "stored draft"], indirect=True)
def test_a_store_that_was_shaken(forged, base, rng, cases):
    """Also one whose manifest has the sizes and checksums of the damaged files: then the weights may be others, but nothing breaks."""
    arrays = base.directory / ARRAYS
    content = {str(path.relative_to(arrays)): path.read_bytes() for path in sorted(arrays.rglob("*")) if path.is_file()}
    for _ in range(40 if forged else 60):
        how = shaken(rng, base.directory, content)
        if forged:
            forge(base.directory)
        found = cases.run(how, base.use)
        cases.expect(found is None or base.unchanged(found) or forged, f"{how}: other weights")
        base.restore()
    gc.collect()  # what Orbax dropped warns here, where that is no surprise


def forge(store: Path) -> None:
    """Makes the manifest list the files that are there."""
    manifest = json.loads((store / MANIFEST).read_text())
    files = [path for path in sorted((store / ARRAYS).rglob("*")) if path.is_file()]
    manifest["files"] = {str(file.relative_to(store)): {"size": file.stat().st_size, "crc32": checksum(file)} for file in files}
    (store / MANIFEST).write_text(json.dumps(manifest))


def plausible(rng: random.Random, manifest: dict) -> tuple[str, bytes]:
    """A manifest with another value of the right kind."""
    manifest = copy.deepcopy(manifest)
    name, file = rng.choice([*manifest["tensors"]]), rng.choice([*manifest["files"]])
    tensor, held = manifest["tensors"][name], manifest["files"][file]
    how = rng.choice(["dtype", "shape", "crc32", "size", "no file", "no tensor", "name"])
    if how == "dtype":
        tensor["dtype"] = rng.choice(["bfloat16", "float16", "float64", "int32"])
    elif how == "shape":
        shape = tensor["shape"]
        tensor["shape"] = rng.choice([shape[::-1], [math.prod(shape)], [*shape, 1], shape[:-1], [float(size) for size in shape]])
    elif how in ("crc32", "size"):
        held[how] += rng.choice([-1, 1, 2**32])
    elif how == "no file":
        del manifest["files"][file]
    elif how == "no tensor":
        del manifest["tensors"][name]
    else:
        manifest["files"] = {rng.choice(["/dev/null", "../x", f"x/../{file}", f"{file}/", file.upper()]): held}
    return f"{how} of {name}, {file}", json.dumps(manifest).encode()


@pytest.mark.parametrize("base", ["stored target", "stored draft"], indirect=True)
def test_a_manifest_that_is_wrong(base, rng, cases):
    manifest = json.loads((base.directory / MANIFEST).read_text())
    for _ in range(120):
        way = rng.random()
        if way < 0.5:
            made = broken(rng, manifest)
            how, content = made.how, made.text.encode()
        elif way < 0.8:
            how, content = plausible(rng, manifest)
        else:
            how, content = torn(rng, json.dumps(manifest).encode())
        (base.directory / MANIFEST).write_bytes(content)
        found = cases.run(how, base.use)
        cases.expect(found is None or base.unchanged(found), f"{how}: other weights")


# --- whatever stands in place of a file ---


@pytest.mark.parametrize("base", ["qwen3", "domino", "stored target", "stored draft"], indirect=True)
def test_what_is_no_file(base, cases):
    """A directory, a link to nowhere or to itself, a pipe that nobody writes to, a device."""
    names = sorted(str(path.relative_to(base.directory)) for path in base.directory.rglob("*") if path.is_file())
    for name in names:
        for how in ("directory", "nowhere", "itself", "pipe", "/dev/null"):
            path = base.directory / name
            path.unlink()
            if how == "directory":
                path.mkdir()
            elif how == "pipe":
                os.mkfifo(path)
            else:
                path.symlink_to(path if how == "itself" else how)
            cases.run(f"{name}: {how}", base.use)
            base.restore()
    assert cases.loaded <= 1  # Orbax's empty mark, as an empty device


# --- text ---

TEXT_FILES = ["tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "generation_config.json", "config.json"]


@pytest.mark.parametrize("name", TEXT_FILES)
def test_a_tokenizer_and_stop_ids_that_are_wrong(name, bases, rng, cases, tmp_path):
    """What is taken encodes and decodes."""
    directory = shutil.copytree(bases / "qwen3", tmp_path / "target")
    write_tokenizer(directory)
    (directory / "generation_config.json").write_text(json.dumps({"eos_token_id": [7, 5], "do_sample": True, "temperature": 0.6}))
    special = {"eos_token": "<|im_end|>", "additional_special_tokens": ["<|im_start|>"]}
    (directory / "special_tokens_map.json").write_text(json.dumps(special))
    raw = json.loads((directory / name).read_text())

    def use() -> tuple:
        pair = engine.open_pair(str(directory))
        ids = [] if pair.text is None else pair.text.encode("hé")
        return ids, pair.stop_ids, pair.text and pair.text.decode(ids)

    for _ in range(80):
        if rng.random() < 0.8:
            made = broken(rng, raw)
            how, content = made.how, made.text.encode()
        else:
            how, content = torn(rng, json.dumps(raw).encode())
        (directory / name).write_bytes(content)
        found = cases.run(how, use)
        if found is not None:
            ids, stops, said = found
            cases.expect(all(type(token) is int for token in (*ids, *stops)) and isinstance(said, str | None), f"{how}: {found}")
