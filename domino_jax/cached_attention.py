"""Attention over a cache, bounded by what each row uses of it: on a GPU a kernel, elsewhere XLA with a mask over all slots.

XLA reads the whole capacity, used or not. The kernel cuts a row's slots into tiles of 64; split z of Z takes the tiles z, z + Z, z + 2Z,
... that the row's queries see. This partition is absolute: it depends neither on the row's length, nor on its neighbours, nor on where
in a round a query stands. So a query meets the same keys in the same order in every round; tiles past it are not read, and
masked slots add exact zeros. Small batches need splits: few programs cannot draw the memory's bandwidth. (After Flash-Decoding, whose
splits are of equal length instead.)
"""

import math
from functools import partial

import jax
import jax.numpy as jnp
from jax import Array, lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import triton

from domino_jax import layers
from domino_jax.layers import MASKED

TILE = 64  # slots
LARGEST = 256  # queries of a kv head that one program holds: T · G
SMALLEST = 16  # the least height of a tensor-core product
PROGRAMS = 128  # that keep a large GPU busy
LOG2_E = math.log2(math.e)


def attend(query_BTKGH: Array, key_BKSH: Array, value_BKSH: Array, last_BT: Array) -> Array:
    """softmax(q·k / sqrt(H))·v -> [B, T, K, G, H]. Query t sees the slots up to and with `last_BT[:, t]`, which do not fall along T."""
    arguments = query_BTKGH, key_BKSH, value_BKSH, last_BT
    if not has_kernel(query_BTKGH, key_BKSH):
        return over_all_slots(*arguments)
    return lax.platform_dependent(*arguments, cuda=over_used_slots, default=over_all_slots)


def has_kernel(query_BTKGH: Array, key_BKSH: Array) -> bool:
    """Whether these shapes and dtypes have one: 16 bits, few queries (a round's or a narrow chunk's), whole tiles, a head of 2^n."""
    _, T, _, G, H = query_BTKGH.shape
    return query_BTKGH.dtype.itemsize == 2 and T * G <= LARGEST and key_BKSH.shape[2] % TILE == 0 and H >= 16 and H & (H - 1) == 0


def over_all_slots(query_BTKGH: Array, key_BKSH: Array, value_BKSH: Array, last_BT: Array) -> Array:
    visible_BTS = jnp.arange(key_BKSH.shape[2]) <= last_BT[..., None]
    return layers.attention(query_BTKGH, [(key_BKSH, value_BKSH, visible_BTS)])


@partial(jax.jit, static_argnames="interpret")  # traced and lowered once for all layers
def over_used_slots(query_BTKGH: Array, key_BKSH: Array, value_BKSH: Array, last_BT: Array, interpret: bool = False) -> Array:
    B, _, K, _, _ = query_BTKGH.shape
    slots = key_BKSH.shape[2]
    tiles_B = jnp.minimum(last_BT[:, -1], slots - 1) // TILE + 1
    splits = splits_of(B * K, slots)
    sums = _sums(splits, query_BTKGH.shape, slots, interpret)(tiles_B, last_BT, query_BTKGH, key_BKSH, value_BKSH)
    return _joined(splits, query_BTKGH, interpret)(*sums)


def splits_of(heads: int, slots: int) -> int:
    """How many programs share the slots of one row and kv head, of which there are `heads`: a power of two."""
    wanted = max(1, min(PROGRAMS // heads, slots // TILE))
    return 1 << (wanted.bit_length() - 1)


def _sums(splits: int, shape: tuple[int, ...], slots: int, interpret: bool):
    """The kernel for queries of this shape, M to a tile -> its sums by split Z: values, largest score, weights (float32, base 2)."""
    B, T, K, G, H = shape
    M = max(SMALLEST, 1 << (T * G - 1).bit_length())
    queries = pl.BlockSpec((None, T, None, G, H), lambda b, k, z: (b, 0, k, 0, 0))
    cached = pl.BlockSpec((None, None, slots, H), lambda b, k, z: (b, k, 0, 0))
    sums = pl.BlockSpec((None, None, None, M), lambda b, k, z: (b, k, z, 0))
    return pl.pallas_call(
        partial(_sums_kernel, splits=splits),
        grid=(B, K, splits),
        in_specs=[pl.BlockSpec((1,), lambda b, k, z: (b,)), pl.BlockSpec((None, T), lambda b, k, z: (b, 0)), queries, cached, cached],
        out_specs=[pl.BlockSpec((None, None, None, M, H), lambda b, k, z: (b, k, z, 0, 0)), sums, sums],
        out_shape=[jax.ShapeDtypeStruct((B, K, splits, M, H), jnp.float32), *[jax.ShapeDtypeStruct((B, K, splits, M), jnp.float32)] * 2],
        compiler_params=triton.CompilerParams(num_warps=4, num_stages=2),
        interpret=interpret,
        name="cached_attention",
    )


def _sums_kernel(tiles_ref, last_ref, query_ref, key_ref, value_ref, mixed_ref, top_ref, sum_ref, *, splits: int):
    """One row, kv head and split: an online softmax over its tiles of slots."""
    split, (T, G, _), (M, H) = pl.program_id(2), query_ref.shape, mixed_ref.shape
    query_M = jnp.minimum(lax.iota(jnp.int32, M), T * G - 1)  # the tile is filled up with the last query
    t_M, g_M = lax.div(query_M, G), lax.rem(query_M, G)
    query_MH, last_M = query_ref[t_M, g_M, :], last_ref[t_M]

    def take(turn, sums):
        mixed_MH, top_M, sum_M = sums
        start = (split + turn * splits) * TILE
        score_MS = _product(query_MH, key_ref[pl.ds(start, TILE), :], 1) * (H**-0.5 * LOG2_E)
        slot_MS = start + lax.broadcasted_iota(jnp.int32, (M, TILE), 1)
        score_MS = jnp.where(slot_MS <= last_M[:, None], score_MS, MASKED)
        higher_M = jnp.maximum(top_M, score_MS.max(-1))
        fall_M, weight_MS = jnp.exp2(top_M - higher_M), jnp.exp2(score_MS - higher_M[:, None])
        value_SH = value_ref[pl.ds(start, TILE), :]
        mixed_MH = mixed_MH * fall_M[:, None] + _product(weight_MS.astype(value_SH.dtype), value_SH, 0)
        return mixed_MH, higher_M, sum_M * fall_M + weight_MS.sum(-1)

    nothing = jnp.zeros((M, H), jnp.float32), jnp.full((M,), MASKED, jnp.float32), jnp.zeros((M,), jnp.float32)
    turns = lax.div(tiles_ref[0] - split + (splits - 1), splits)
    mixed_ref[...], top_ref[...], sum_ref[...] = lax.fori_loop(0, turns, take, nothing)


def _joined(splits: int, query_BTKGH: Array, interpret: bool):
    """The kernel that puts the splits of such queries together, a program each -> what they found, [B, T, K, G, H]."""
    B, T, K, G, H = query_BTKGH.shape
    sums = pl.BlockSpec((None, None, splits, None), lambda b, k, m: (b, k, 0, m))
    return pl.pallas_call(
        _joining_kernel,
        grid=(B, K, T * G),
        in_specs=[pl.BlockSpec((None, None, splits, None, H), lambda b, k, m: (b, k, 0, m, 0)), sums, sums],
        out_specs=pl.BlockSpec((None, None, None, None, H), lambda b, k, m: (b, lax.div(m, G), k, lax.rem(m, G), 0)),
        out_shape=jax.ShapeDtypeStruct(query_BTKGH.shape, query_BTKGH.dtype),
        compiler_params=triton.CompilerParams(num_warps=1),
        interpret=interpret,
        name="joined_splits",
    )


def _joining_kernel(mixed_ref, top_ref, sum_ref, joined_ref):
    """One query: its splits, each weighed by how far its largest score lies below the largest of all."""
    top_Z = top_ref[...]
    weight_Z = jnp.exp2(top_Z - top_Z.max())
    mixed_H = (mixed_ref[...] * weight_Z[:, None]).sum(0) / (sum_ref[...] * weight_Z).sum()
    joined_ref[...] = mixed_H.astype(joined_ref.dtype)


def _product(a: Array, b: Array, axis: int) -> Array:
    """a times b over the last axis of a and this of b, float32."""
    return lax.dot_general(a, b, (((1,), (axis,)), ((), ())), preferred_element_type=jnp.float32)
