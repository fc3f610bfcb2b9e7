"""The candidate pool: the K most promising token ids of a block, chosen once a round and shared by its corrected positions.

Correcting the whole vocabulary reads the [V, E] projector at every step; a pool of 2048 reads a 74th of it at V = 151,936.
The score of a token is the largest base logit it has at any of the positions, so the pool is an approximation of the draft
alone. Verification never sees it.
"""

from functools import partial

import jax.numpy as jnp
from jax import Array, lax

from domino_jax import pool_selection
from domino_jax.order import kth_largest, ordered_bits

BLOCK = 256  # tokens counted together when the chosen ids are packed


def select_pool(score_BPV: Array, size: int, start: int = 0) -> Array:
    """The ids of the `size` largest scores of each row, ascending -> int32 [B, C]. Ties go to the lowest id.

    A token's score is the largest it has at any position from `start` on. Exact, without a sort.
    """
    ways = dict(cuda=partial(pool_selection.select, size=size, start=start), default=partial(by_search, size=size, start=start))
    return lax.platform_dependent(score_BPV, **ways) if score_BPV.dtype.itemsize == 2 else ways["default"](score_BPV)


def by_search(score_BPV: Array, size: int, start: int = 0) -> Array:
    """A binary search over the bit patterns finds the `size`-th largest score, one count a bit."""
    key_BV = ordered_bits(score_BPV[:, start:].max(1))
    threshold_B1 = kth_largest(key_BV, size)
    above_BV, equal_BV = key_BV > threshold_B1, key_BV == threshold_B1
    spare_B1 = size - above_BV.sum(-1, keepdims=True, dtype=jnp.int32)
    chosen_BV = above_BV | (equal_BV & (jnp.cumsum(equal_BV, -1, dtype=jnp.int32) <= spare_B1))
    return _positions(chosen_BV, size)


def _positions(chosen_BV: Array, size: int) -> Array:
    """The ascending positions of the `size` true entries of each row. Block counts locate the block of each, then its place in it."""
    B, V = chosen_BV.shape
    blocks = -(-V // BLOCK)
    chosen_BMX = jnp.pad(chosen_BV, ((0, 0), (0, blocks * BLOCK - V))).reshape(B, blocks, BLOCK)
    count_BM = chosen_BMX.sum(-1, dtype=jnp.int32)
    end_BM = jnp.cumsum(count_BM, -1)
    rank_C = jnp.arange(size, dtype=jnp.int32)
    block_BC = (end_BM[:, None, :] <= rank_C[:, None]).sum(-1, dtype=jnp.int32)
    rank_in_block_BC = rank_C - jnp.take_along_axis(end_BM - count_BM, block_BC, -1)
    running_BMX = jnp.cumsum(chosen_BMX, -1, dtype=jnp.int32)
    running_BCX = jnp.take_along_axis(running_BMX, block_BC[..., None], 1)
    place_BC = (running_BCX <= rank_in_block_BC[..., None]).sum(-1, dtype=jnp.int32)
    return block_BC * BLOCK + place_BC
