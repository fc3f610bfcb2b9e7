"""The candidate pool: the K most promising token ids of a block, chosen once a round and shared by its corrected positions.

Correcting the whole vocabulary reads the [V, E] projector at every step; a pool of 2048 reads a 74th of it at V = 151,936.
The score of a token is the largest base logit it has at any of the positions, so the pool is an approximation of the draft
alone. Verification never sees it.
"""

import jax.numpy as jnp
from jax import Array, lax

BLOCK = 256  # tokens counted together when the chosen ids are packed


def select_pool(score_BV: Array, size: int) -> Array:
    """The ids of the `size` largest scores of each row, ascending -> int32 [B, C]. Ties go to the lowest id.

    Exact, without a sort: a binary search over the bit patterns finds the `size`-th largest score, one count a bit.
    """
    key_BV = _ordered_bits(score_BV)
    bits = jnp.iinfo(key_BV.dtype).bits
    threshold_B1 = _kth_largest(key_BV, size, bits)
    above_BV, equal_BV = key_BV > threshold_B1, key_BV == threshold_B1
    spare_B1 = size - above_BV.sum(-1, keepdims=True, dtype=jnp.int32)
    chosen_BV = above_BV | (equal_BV & (jnp.cumsum(equal_BV, -1, dtype=jnp.int32) <= spare_B1))
    return _positions(chosen_BV, size)


def _ordered_bits(x: Array) -> Array:
    """Unsigned integers in the order of the floats, +0 and -0 alike."""
    unsigned = {2: jnp.uint16, 4: jnp.uint32}[x.dtype.itemsize]
    bits, sign = lax.bitcast_convert_type(x, unsigned), jnp.array(1 << (x.dtype.itemsize * 8 - 1), unsigned)
    bits = jnp.where(bits == sign, 0, bits)  # -0 is +0
    return jnp.where(bits & sign, ~bits, bits | sign)


def _kth_largest(key_BV: Array, k: int, bits: int) -> Array:
    """The k-th largest key of each row [B, 1], found bit by bit from the top: a bit is set if k keys still reach it."""
    found_B1 = jnp.zeros((key_BV.shape[0], 1), key_BV.dtype)
    for bit in reversed(range(bits)):
        trial_B1 = found_B1 | jnp.array(1 << bit, key_BV.dtype)
        enough_B1 = (key_BV >= trial_B1).sum(-1, keepdims=True, dtype=jnp.int32) >= k
        found_B1 = jnp.where(enough_B1, trial_B1, found_B1)
    return found_B1


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
