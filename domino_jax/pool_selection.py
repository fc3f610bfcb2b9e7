"""The selection of a candidate pool on a GPU: five launches, where XLA makes some twenty.

A program has a block of the vocabulary. The threshold, the `size`-th largest key of 16 bits, is found four bits at a time: each
pass counts in every block how many keys reach each of 16 trials, and the next adds the counts of all blocks up before it counts
itself. Last, each block knows from the counts how many of the chosen lie before it, and writes its own.
"""

from functools import partial

import jax
import jax.numpy as jnp
from jax import Array, lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import triton

from domino_jax.order import ordered_bits

BLOCK = 1024  # tokens
TRIALS = 16
PLACES = (12, 8, 4, 0)  # of the bits that a pass finds


@partial(jax.jit, static_argnames=("size", "start", "interpret"))
def select(score_BPV: Array, size: int, start: int = 0, interpret: bool = False) -> Array:
    """The ids of the `size` largest scores of each row at any position from `start` on, ascending -> int32 [B, C].

    Ties go to the lowest id. Scores have 16 bits; `interpret` reads the kernels without a GPU.
    """
    B, P, V = score_BPV.shape
    blocks = -(-V // BLOCK)
    counts = jax.ShapeDtypeStruct((B, blocks, TRIALS), jnp.int32), jax.ShapeDtypeStruct((B, blocks), jnp.int32)
    block = pl.BlockSpec((None, BLOCK), lambda b, i: (b, i))
    row, mine = pl.BlockSpec((1,), lambda b, i: (b,)), pl.BlockSpec((None, 1), lambda b, i: (b, i))
    every = pl.BlockSpec((None, blocks, TRIALS), lambda b, i: (b, 0, 0)), pl.BlockSpec((None, blocks), lambda b, i: (b, 0))
    trials = pl.BlockSpec((None, None, TRIALS), lambda b, i: (b, i, 0))
    call = partial(pl.pallas_call, grid=(B, blocks), interpret=interpret)
    options = triton.CompilerParams(num_warps=4)

    key_BV, count_BIA, over_BI = call(
        partial(_rank, start=start, V=V),
        in_specs=[pl.BlockSpec((None, P, BLOCK), lambda b, i: (b, 0, i))],
        out_specs=[block, trials, mine],
        out_shape=[jax.ShapeDtypeStruct((B, blocks * BLOCK), jnp.uint16), *counts],
        compiler_params=options,
        name="rank",
    )(score_BPV)
    narrow = call(
        partial(_narrow, size=size),
        in_specs=[pl.BlockSpec((1,), lambda b, i: (0,)), row, every[0], block],
        out_specs=[row, trials, mine],
        out_shape=[jax.ShapeDtypeStruct((B,), jnp.int32), *counts],
        compiler_params=options,
        name="narrow",
    )
    found_B = jnp.zeros(B, jnp.int32)
    for place in PLACES[1:]:
        found_B, count_BIA, over_BI = narrow(jnp.full(1, place, jnp.int32), found_B, count_BIA, key_BV)
    return call(
        partial(_pack, size=size, V=V),
        in_specs=[row, *every, block],
        out_specs=pl.BlockSpec((None, size), lambda b, i: (b, 0)),
        out_shape=jax.ShapeDtypeStruct((B, size), jnp.int32),
        compiler_params=options,
        name="pack",
    )(found_B, count_BIA, over_BI, key_BV)


def _rank(score_ref, key_ref, count_ref, over_ref, *, start: int, V: int):
    """Keys: bits in the order of the largest score of each token. What lies past the vocabulary is -inf, and comes after all ties."""
    inside_X = pl.program_id(1) * BLOCK + lax.iota(jnp.int32, BLOCK) < V
    top_X = jnp.full((BLOCK,), -jnp.inf, jnp.float32)
    for position in range(start, score_ref.shape[0]):  # unrolled: all loads are under way at once
        score_X = triton.load(score_ref.at[jnp.int32(position)], mask=inside_X, other=-jnp.inf)
        top_X = jnp.maximum(top_X, score_X.astype(jnp.float32))
    key_X = ordered_bits(top_X.astype(score_ref.dtype))
    key_ref[...] = key_X
    _count(key_X, 0, PLACES[0], count_ref, over_ref)


def _narrow(place_ref, found_ref, before_ref, key_ref, next_ref, count_ref, over_ref, *, size: int):
    """Four more bits of the threshold, from the counts of the pass before; then the counts of the next."""
    place = place_ref[0]
    found = found_ref[0] + (_digit(_of_blocks(before_ref), size) << (place + 4))
    next_ref[0] = found
    _count(key_ref[...], found, place, count_ref, over_ref)


def _pack(found_ref, count_ref, over_ref, key_ref, pool_ref, *, size: int, V: int):
    """The chosen of one block: all above the threshold, and of those at it the first, while there is room."""
    count_IA = _of_blocks(count_ref)
    digit = _digit(count_IA, size)
    threshold = found_ref[0] + digit
    trial_IA = lax.broadcasted_iota(jnp.int32, count_IA.shape, 1)
    reached_I = jnp.where(trial_IA == digit, count_IA, 0).sum(1)
    block_I = lax.iota(jnp.int32, reached_I.shape[0])
    above_I = jnp.where(digit == TRIALS - 1, _of_blocks(over_ref), jnp.where(trial_IA == digit + 1, count_IA, 0).sum(1))
    before_I = block_I < pl.program_id(1)
    above_before = jnp.where(before_I, above_I, 0).sum()
    equal_before = jnp.where(before_I, reached_I - above_I, 0).sum()
    room = size - above_I.sum()
    key_X = key_ref[...].astype(jnp.int32)
    above_X, equal_X = (key_X > threshold).astype(jnp.int32), (key_X == threshold).astype(jnp.int32)
    equal_X = jnp.where(equal_before + jnp.cumsum(equal_X) <= room, equal_X, 0)
    chosen_X = above_X + equal_X
    place_X = above_before + jnp.minimum(equal_before, room) + jnp.cumsum(chosen_X) - 1
    id_X = jnp.minimum(pl.program_id(1) * BLOCK + lax.iota(jnp.int32, BLOCK), V - 1)  # past it only where all is NaN
    triton.store(pool_ref.at[jnp.where(chosen_X == 1, place_X, size)], id_X, mask=chosen_X == 1)


def _count(key_X: Array, found: Array | int, place: Array | int, count_ref, over_ref):
    """How many keys of the block reach each trial: `found` with the next four bits 0 to 15; and how many go over all of these."""
    key_X = key_X.astype(jnp.int32)
    trial_A = found + (lax.iota(jnp.int32, TRIALS) << place)
    count_ref[...] = (key_X[None, :] >= trial_A[:, None]).astype(jnp.int32).sum(1)
    over_ref[0] = (key_X >= found + (TRIALS << place)).astype(jnp.int32).sum()


def _of_blocks(ref) -> Array:
    """The counts of all blocks, filled up with zeros to 2^n of them."""
    blocks = ref.shape[0]
    block_I = lax.iota(jnp.int32, 1 << (blocks - 1).bit_length())
    at_I = jnp.minimum(block_I, blocks - 1)
    if len(ref.shape) == 1:
        return jnp.where(block_I < blocks, ref[at_I], 0)
    return jnp.where(block_I[:, None] < blocks, ref[at_I, :], 0)


def _digit(count_IA: Array, size: int) -> Array:
    """The largest trial that at least `size` keys reach."""
    return (count_IA.sum(0) >= size).astype(jnp.int32).sum() - 1
