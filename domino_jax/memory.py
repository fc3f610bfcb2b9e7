"""Device memory that a run takes, reckoned before anything runs: weights, caches, and the largest intermediate values."""

import os
from dataclasses import dataclass
from pathlib import Path

import jax
import jax.numpy as jnp

from domino_jax.capacity import PREFILL_WIDTHS
from domino_jax.config import DecoderConfig, DraftConfig, TargetConfig

CGROUP_LIMIT = Path("/sys/fs/cgroup/memory.max")


@dataclass(frozen=True)
class Memory:
    """Bytes of a run."""

    weights: int
    caches: int
    working: int

    @property
    def total(self) -> int:
        return self.weights + self.caches + self.working

    def __str__(self) -> str:
        parts = ", ".join(f"{gigabytes(getattr(self, name))} {name}" for name in ("weights", "caches", "working"))
        return f"{gigabytes(self.total)} ({parts})"


def needed(
    target: TargetConfig, draft: DraftConfig | None, dtype: jnp.dtype, weights: int, batch: int, capacity: int, num_proposals: int
) -> Memory:
    """What `batch` rows of `capacity` slots take. Of the intermediate values these count: logits, attention scores and the feed-forward
    layer of the widest prefill chunk and of a round, and the features that go to the drafter.
    """
    caches = sum(cache_bytes(config, dtype, batch, capacity) for config in (target, draft) if config)
    positions = batch * (num_proposals + 1)
    logits = positions * target.vocab_size * 2 * (dtype.itemsize + 4)  # the drafter's and the target's, and a float32 pass over each
    wide = max(positions, PREFILL_WIDTHS[-1])
    scores = 2 * 4 * wide * target.num_attention_heads * capacity
    layer = wide * dtype.itemsize * (3 * target.intermediate_size + 4 * target.hidden_size)
    features = wide * dtype.itemsize * target.hidden_size * (2 * len(draft.target_layer_ids) if draft else 1)
    return Memory(weights, caches, logits + scores + layer + features)


def cache_bytes(config: DecoderConfig, dtype: jnp.dtype, batch: int, capacity: int) -> int:
    """Keys and values of all layers."""
    return 2 * config.num_hidden_layers * batch * config.num_key_value_heads * capacity * config.head_dim * dtype.itemsize


def device_bytes() -> int:
    """What the first device can hold; on a CPU the machine's memory, or less if the process may not have all."""
    statistics = jax.devices()[0].memory_stats() or {}
    if "bytes_limit" in statistics:
        return statistics["bytes_limit"]
    physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    try:
        return min(physical, int(CGROUP_LIMIT.read_text()))
    except (OSError, ValueError):  # no such limit
        return physical


def gigabytes(count: int) -> str:
    return f"{count / 1e9:.3g} GB"
