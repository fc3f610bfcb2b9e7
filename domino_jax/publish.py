"""Checkpoints in the published layouts: Hugging Face's, which serving engines load, and speculators'.

Matrices are PyTorch's, [out, in]. Tensors go to disk a shard at a time, so no more than one is held in memory.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import jax.numpy as jnp
import numpy as np
from jax import Array

from domino_jax import directories
from domino_jax.config import DraftConfig, TargetConfig, published_decoder, published_windows
from domino_jax.errors import InputError
from domino_jax.safetensors_files import write_tensors
from domino_jax.tensors import DRAFT_TO_TARGET, HEAD_MODULES, IN_DRAFT, Row, draft_rows, target_rows

NOT_CARRIED = ("auto_map", "torch_dtype", "dtype")  # names code of others, or is said anew


def save(directory: Path, config: TargetConfig | DraftConfig, parameters: Mapping[str, Array], dtype: jnp.dtype) -> None:
    """The Hugging Face layout in `dtype`, complete or not there at all; replaces what is there."""
    with directories.built(directory, replace=True) as building:
        hugging_face(building, config, ((path, array.astype(dtype)) for path, array in parameters.items()), jnp.dtype(dtype).name)


def hugging_face(
    directory: Path, config: TargetConfig | DraftConfig, parameters: Iterable[tuple[str, Array]], dtype: str, raw: dict | None = None
) -> None:
    """Fills `directory`: config.json and the tensors. Keys of `raw`, a source's config.json in this layout, are kept where we say nothing.

    Raises InputError for a drafter with what this layout has no place for.
    """
    if isinstance(config, DraftConfig):
        windows = [window for window in config.windows if window]
        for odd, what in (
            (config.is_reduced, f"a draft vocabulary of {config.draft_vocab_size} tokens"),
            (config.own_embedding or config.own_head, "an embedding or a head of its own"),
            (any(not (window.moves and window.causal) for window in windows), "sliding layers by speculators' rule"),
        ):
            if odd:
                raise InputError(f"{directory.name}: the drafter has {what}, which Hugging Face's layout cannot say, expected another")
    kept = {key: value for key, value in (raw or {}).items() if key not in NOT_CARRIED}
    write_config(directory, kept | config.to_dict() | {"torch_dtype": dtype, "dtype": dtype})
    prefix = "model." if isinstance(config, TargetConfig) else ""
    named = published(rows_of(config), parameters)
    write_tensors(directory, ((name if name == "lm_head.weight" else prefix + name, tensor) for name, tensor in named))


def speculators(
    directory: Path,
    config: DraftConfig,
    parameters: Iterable[tuple[str, Array]],
    dtype: str,
    target: TargetConfig,
    target_name: str,
    shared: Iterable[tuple[str, np.ndarray]],
) -> None:
    """Fills `directory` in speculators' format, complete in itself: `shared` are the target's tensors that the drafter reads.

    Raises InputError for what the format has no place for.
    """
    if any(window and window.moves for window in config.windows) or (config.domino and config.domino.bias):
        what = "projector biases" if config.domino and config.domino.bias else "sliding layers by SpecForge's rule"
        raise InputError(f"{directory.name}: the drafter has {what}, which speculators' format cannot say, expected another layout")
    write_config(directory, speculators_config(config, target, target_name) | {"dtype": dtype})

    def named() -> Iterator[tuple[str, np.ndarray]]:
        for name, tensor in published(rows_of(config), parameters):
            yield ("logits_correction." if name.startswith(HEAD_MODULES) else "") + name, tensor
            if name == DRAFT_TO_TARGET:
                yield IN_DRAFT, np.isin(np.arange(config.vocab_size), np.arange(len(tensor)) + tensor)
        yield from shared

    write_tensors(directory, named())


def speculators_config(config: DraftConfig, target: TargetConfig, target_name: str) -> dict:
    """config.json in speculators' format, as its unmerged Domino converter writes it too."""
    kind, window = config.kind, next(filter(None, config.windows), None)
    layers = {"model_type": "qwen3", **published_decoder(config), **published_windows(config), "attention_bias": False}
    algorithm = {
        "algorithm": kind,
        "proposal_methods": [{"proposal_type": "greedy", "speculative_tokens": config.block_size - 1}],
        "default_proposal_method": "greedy",
        "verifier": {"name_or_path": target_name, "architectures": target.to_dict()["architectures"]},
    }
    head = {}
    if config.domino:
        head = {"gru_hidden_dim": config.domino.gru_hidden_dim, "logits_correction_emb_dim": config.domino.emb_dim}
        head |= {"pure_draft_prefix_len": config.domino.pure_draft_prefix_len}
    return {
        "architectures": ["DominoSpeculator" if config.domino else "DFlashSpeculator"],
        "speculators_model_type": kind,
        "speculators_config": algorithm,
        "transformer_layer_config": layers,
        "draft_vocab_size": config.draft_vocab_size,
        "target_hidden_size": target.hidden_size,
        "block_size": config.block_size,
        "mask_token_id": config.mask_token_id,
        "aux_hidden_state_layer_ids": [i + 1 for i in config.target_layer_ids],
        "sample_from_anchor": config.first_row == 0,
        "sliding_window_non_causal": bool(window and not window.causal),
        "tie_word_embeddings": False,
        **head,
    }


def rows_of(config: TargetConfig | DraftConfig) -> list[Row]:
    return target_rows(config) if isinstance(config, TargetConfig) else draft_rows(config)


def published(rows: list[Row], parameters: Iterable[tuple[str, Array]]) -> Iterator[tuple[str, np.ndarray]]:
    """(bare published name, tensor) of every parameter."""
    row_of = {row.parameter: row for row in rows}
    for path, array in parameters:
        row = row_of[path]
        for name, part in zip(row.sources, row.unpack(array), strict=True):
            yield name, np.ascontiguousarray(part, np.int64 if name == DRAFT_TO_TARGET else None)


def write_config(directory: Path, raw: dict) -> None:
    (directory / "config.json").write_text(json.dumps(raw, indent=2) + "\n", encoding="utf-8")
