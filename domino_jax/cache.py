"""The key/value cache: for each layer two arrays [B, K, S, H], rows left-aligned at slot 0.

The cache holds no lengths; whoever owns it does (`DecodeState.length_B`). Nothing is ever rolled back: entries past a row's
length are hidden by the mask and overwritten by the next round.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jax import Array, lax

from domino_jax.config import DecoderConfig


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class KVCache:
    key: tuple[Array, ...]  # a layer: key_BKSH
    value: tuple[Array, ...]

    @property
    def capacity(self) -> int:
        return self.key[0].shape[2]

    def row(self, row: Array, cleared: Array | bool = False) -> "KVCache":
        """The cache of one row as a batch of one; all zeros if `cleared`, so that nothing of an earlier occupant is left."""
        return jax.tree.map(lambda a: jnp.where(cleared, 0, lax.dynamic_slice_in_dim(a, row, 1, axis=0)), self)

    def with_row(self, row: Array, one: "KVCache") -> "KVCache":
        """This cache with `one` (a batch of one) as its row."""
        return jax.tree.map(lambda a, b: lax.dynamic_update_slice_in_dim(a, b, row, axis=0), self, one)


def allocate(config: DecoderConfig, batch: int, capacity: int, dtype: jnp.dtype) -> KVCache:
    """An empty cache. Its entries are zeros, not garbage: a masked value is multiplied by a weight of zero, so it must be finite."""
    shape = (batch, config.num_key_value_heads, capacity, config.head_dim)
    layers = range(config.num_hidden_layers)
    return KVCache(*(tuple(jnp.zeros(shape, dtype) for _ in layers) for _ in ("key", "value")))


def write(cache_BKSH: Array, new_BTKH: Array, slot_BT: Array) -> Array:
    """The cache with `new` in the given slots of each row. A slot at or past the capacity is dropped, never clamped."""
    rows_B1 = jnp.arange(cache_BKSH.shape[0])[:, None]
    return cache_BKSH.at[rows_B1, :, slot_BT].set(new_BTKH, mode="drop", unique_indices=True)
