"""Attention over the slots a row really uses, as a Pallas kernel for Hopper GPUs (Mosaic): a candidate for `layers.attention`.

The slots of a row are cut into tiles of 64, and split s of n takes the tiles s, s + n, s + 2n, ...: the partition is absolute, it does
not depend on the row's length, on its neighbours or on where in a round a query stands. So a query meets the same keys in the same
order whatever the length: tiles past it are not read, and masked slots add exact zeros. The splits' softmax sums are put together in
one order by XLA. Small batches need splits, or a few programs would have to pull all of the memory's bandwidth.
"""

import math
from functools import partial

import jax
import jax.numpy as jnp
from jax import Array, lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import mosaic_gpu as gpu

from domino_jax.layers import MASKED

TILE = 64  # slots; also the height a tensor-core product is padded to
STAGES = 4  # tiles of keys and values on their way
LOG2_E = math.log2(math.e)
SWIZZLED = (gpu.TilingTransform((8, 64)), gpu.SwizzleTransform(128))  # as tensor cores read 16-bit tiles
SWIZZLED_FLOAT = (gpu.TilingTransform((8, 32)), gpu.SwizzleTransform(128))


def attend(
    query_BTKGH: Array, key_BKSH: Array, value_BKSH: Array, seen_B: Array, *, causal: bool, splits: int, interpret: object = False
) -> Array:
    """softmax(q·k / sqrt(H))·v -> [B, T, K, G, H]. Query t sees the first `seen` slots, and t more where causal.

    16-bit keys; H a multiple of 64. `interpret`: the parameters of Pallas' GPU interpreter, to run on a CPU.
    """
    B, T, K, G, H = query_BTKGH.shape
    tile = query_BTKGH.transpose(0, 2, 1, 3, 4).reshape(B, K, T * G, H)
    padded = jnp.pad(tile, ((0, 0), (0, 0), (0, -T * G % TILE), (0, 0)))
    last_B = jnp.minimum(seen_B + (T - 1 if causal else 0), key_BKSH.shape[2])
    call = _call(padded.shape, padded.dtype, G if causal else None, splits, interpret)
    mixed_BKZMH, top_BKZM, sum_BKZM = call(seen_B, last_B, padded, key_BKSH, value_BKSH)
    weight_BKZM = jnp.exp2(top_BKZM - top_BKZM.max(2, keepdims=True))
    mixed = (mixed_BKZMH * weight_BKZM[..., None]).sum(2) / (sum_BKZM * weight_BKZM).sum(2)[..., None]
    return mixed[:, :, : T * G].astype(query_BTKGH.dtype).reshape(B, K, T, G, H).transpose(0, 2, 1, 3, 4)


def _call(shape: tuple[int, ...], dtype: jnp.dtype, group: int | None, splits: int, interpret: object):
    """The kernel for tiles of this shape -> its sums by split Z: weighted values, largest score, weights (float32, base 2)."""
    B, K, M, H = shape
    sums = jax.ShapeDtypeStruct((B, K, splits, M), jnp.float32)
    return gpu.kernel(
        partial(_kernel, M=M, H=H, group=group, splits=splits, interpreted=bool(interpret)),
        out_type=(jax.ShapeDtypeStruct((B, K, splits, M, H), jnp.float32), sums, sums),
        grid=(B, K, splits),
        grid_names=("row", "kv_head", "split"),
        scratch_types=[
            gpu.SMEM((M, H), dtype, transforms=SWIZZLED),
            gpu.SMEM((M, TILE), dtype, transforms=SWIZZLED),
            gpu.SMEM((M, H), jnp.float32, transforms=SWIZZLED_FLOAT),
            gpu.SMEM((M,), jnp.float32),
            gpu.SMEM((M,), jnp.float32),
            gpu.Barrier(),
        ],
        interpret=interpret,
    )


def _kernel(
    seen_ref, last_ref, query_ref, key_ref, value_ref, mixed_out, top_out, sum_out,
    query, weights, mixed_done, top_done, sum_done, arrived, *, M: int, H: int, group: int | None, splits: int, interpreted: bool,
):  # fmt: skip
    """One row, kv head and split: an online softmax over its tiles of slots."""
    row, kv_head, split = lax.axis_index("row"), lax.axis_index("kv_head"), lax.axis_index("split")
    per_query = gpu.Layout.WGMMA.reduce(1)

    def laid(x, layout):  # the interpreter knows no layouts
        return x if interpreted else gpu.layout_cast(x, layout)

    def counting(axis):
        return laid(lax.broadcasted_iota(jnp.int32, (M, TILE), axis), gpu.Layout.WGMMA)

    def across(x, width):
        return lax.broadcast_in_dim(x, (M, width), [0])

    gpu.copy_gmem_to_smem(query_ref.at[row, kv_head], query, arrived)
    tiles = lax.div(last_ref[row] + (TILE - 1), TILE)
    seen = seen_ref[row] + (0 if group is None else lax.div(counting(0), jnp.int32(group)))
    gpu.barrier_wait(arrived)

    def body(indices, keys, values, carry):
        mixed, top, total = carry
        score = _product(query, keys, TILE, True, interpreted) * (H**-0.5 * LOG2_E)
        first = (split + indices[0] * splits) * TILE
        score = jnp.where(first + counting(1) < seen, score, MASKED)
        higher = jnp.maximum(top, score.max(axis=1))
        weight = jnp.exp2(score - across(higher, TILE))
        weights[...] = weight.astype(weights.dtype)
        gpu.commit_smem()
        fall = jnp.exp2(top - higher)
        mixed = mixed * across(fall, H) + _product(weights, values, H, False, interpreted)
        return mixed, higher, total * fall + weight.sum(axis=1)

    start = (
        laid(jnp.zeros((M, H), jnp.float32), gpu.Layout.WGMMA),
        laid(jnp.full((M,), MASKED, jnp.float32), per_query),
        laid(jnp.zeros((M,), jnp.float32), per_query),
    )
    spec = gpu.BlockSpec((TILE, H), lambda i: (split + i * splits, 0), transforms=SWIZZLED)
    mine = lax.div(tiles - split + (splits - 1), splits)
    walk = gpu.emit_pipeline(body, grid=(mine,), in_specs=[spec, spec], max_concurrent_steps=STAGES, init_carry=start)
    mixed_done[...], top_done[...], sum_done[...] = walk(key_ref.at[row, kv_head], value_ref.at[row, kv_head])
    gpu.commit_smem()
    for done, out in ((mixed_done, mixed_out), (top_done, top_out), (sum_done, sum_out)):
        gpu.copy_smem_to_gmem(done, out.at[row, kv_head, split])
    gpu.wait_smem_to_gmem(0)


def _product(a_ref, b_ref, width: int, transposed: bool, interpreted: bool):
    """a @ b, or a @ bᵀ, on the tensor cores -> float32 [M, width]."""
    if interpreted:  # the interpreter has no transposed references
        b = b_ref[...].T if transposed else b_ref[...]
        return jnp.dot(a_ref[...], b, preferred_element_type=jnp.float32)

    def multiply(sum_ref):
        gpu.wgmma(sum_ref, a_ref, gpu.transpose_ref(b_ref, (1, 0)) if transposed else b_ref)
        return sum_ref[...]

    return pl.run_scoped(multiply, gpu.ACC((a_ref.shape[0], width), jnp.float32))
