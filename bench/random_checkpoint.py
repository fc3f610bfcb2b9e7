"""Checkpoints of full-size shapes and random weights on disk, in the published layout, written a piece at a time."""

import json
import math
from collections.abc import Sequence
from pathlib import Path

import jax.numpy as jnp
import numpy as np

from domino_jax import publish
from domino_jax.config import DraftConfig, TargetConfig
from domino_jax.safetensors_files import INDEX
from domino_jax.tensors import draft_rows, target_rows
from tests.gpu.run import DOMINO_B16, QWEN3_8B

QWEN3_06B = dict(hidden_size=1024, intermediate_size=3072, num_hidden_layers=28, num_attention_heads=16, tie_word_embeddings=True)
TINY = dict(
    vocab_size=512, hidden_size=64, intermediate_size=96, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, head_dim=16
)
SHAPES = {"8b": {}, "0.6b": QWEN3_06B, "tiny": TINY}
SHARD_BYTES = 5_000_000_000
BLOCK_BYTES = 1 << 26
MARK = "random.json"


def make_pair(directory: Path, shapes: str) -> tuple[Path, Path]:
    """The directories of a target of these shapes and a Domino drafter for it, bfloat16; made unless they are there already."""
    target = QWEN3_8B | SHAPES[shapes]
    depth = target["num_hidden_layers"]
    layers = sorted({round(1 + i * (depth - 4) / 4) for i in range(5)}) if depth >= 8 else [0]
    inner = DOMINO_B16["dflash_config"] | dict(target_layer_ids=layers, mask_token_id=target["vocab_size"] - 1)
    draft = DOMINO_B16 | SHAPES[shapes] | dict(num_hidden_layers=5, num_target_layers=depth, dflash_config=inner)
    made = directory / "target", directory / "draft"
    mark = directory / MARK  # last: without it nothing is complete
    if not mark.exists() or json.loads(mark.read_text(encoding="utf-8")) != shapes:
        write(made[0], target, [item for row in target_rows(TargetConfig.from_dict(target)) for item in row.sources.items()], "model.")
        write(made[1], draft, [item for row in draft_rows(DraftConfig.from_dict(draft)) for item in row.sources.items()], "")
        mark.write_text(json.dumps(shapes), encoding="utf-8")
    return made


def write(directory: Path, raw: dict, tensors: Sequence[tuple[str, tuple[int, ...]]], prefix: str) -> None:
    """config.json and shards of SHARD_BYTES with their index: numbers within 0.02 of zero, one block of them again and again."""
    directory.mkdir(parents=True, exist_ok=True)
    publish.write_config(directory, raw)
    noise = np.random.default_rng(0).uniform(-0.02, 0.02, BLOCK_BYTES // 2).astype(jnp.bfloat16).tobytes()
    shards: list[dict[str, tuple[int, ...]]] = [{}]
    for name, shape in tensors:
        if sum(map(_bytes, shards[-1].values())) + _bytes(shape) > SHARD_BYTES and shards[-1]:
            shards.append({})
        shards[-1][name if name == "lm_head.weight" else prefix + name] = shape
    weight_map = {}
    for number, shard in enumerate(shards, 1):
        file = f"model-{number:05}-of-{len(shards):05}.safetensors"
        _write_shard(directory / file, shard, memoryview(noise))
        weight_map |= dict.fromkeys(shard, file)
    total = sum(_bytes(shape) for _, shape in tensors)
    (directory / INDEX).write_text(json.dumps({"metadata": {"total_size": total}, "weight_map": weight_map}), encoding="utf-8")


def _bytes(shape: tuple[int, ...]) -> int:
    return 2 * math.prod(shape)


def _write_shard(path: Path, tensors: dict[str, tuple[int, ...]], noise: memoryview) -> None:
    header, end = {}, 0
    for name, shape in tensors.items():
        header[name] = {"dtype": "BF16", "shape": shape, "data_offsets": [end, end + _bytes(shape)]}
        end += _bytes(shape)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with path.open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        while end:
            end -= file.write(noise[:end])
