"""Between a layer's projection and its attention: queries and keys are normed and turned, keys and values placed in the cache.

XLA makes some eight launches of it, each of a microsecond or two, over a few kilobytes. On a GPU one kernel does it all, a program for
each row and kv head, with the same roundings: float32 inside, the cache's dtype after a norm, after its weight and after the turn.
"""

from functools import partial

import jax
import jax.numpy as jnp
from jax import Array, lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import triton

from domino_jax import layers
from domino_jax.cache import write
from domino_jax.rope import Rope

Placed = tuple[Array, Array, Array, Array]


def place(
    query_BTKXH: Array,
    kv_BUKYH: Array,
    norms: tuple[Array, Array] | None,
    position_BU: Array,
    slot_BU: Array,
    key_BKSH: Array,
    value_BKSH: Array,
    *,
    G: int,
    rope: Rope,
    eps: float,
) -> Placed:
    """-> (query_BTKGH, key_BKSH, value_BKSH, finite_BU): the written cache, and which rows have a value that is finite in every head.

    Both inputs are [B, rows, K, some, H], and may be one array: the queries are the first G of `query`, key and value the last two
    of `kv`. U rows are placed, the first T of them ask. Zero times NaN is NaN: a value that is not finite would reach
    every query through its mask, so zeros are written in its place. A slot at or past the capacity is dropped.
    """
    cos_BUH, sin_BUH = layers.angles(position_BU, rope, kv_BUKYH.shape[-1])
    arguments = query_BTKXH, kv_BUKYH, norms, cos_BUH, sin_BUH, slot_BU, key_BKSH, value_BKSH
    if not has_kernel(kv_BUKYH):
        return by_xla(*arguments, G=G, eps=eps)
    return lax.platform_dependent(*arguments, cuda=partial(by_kernel, G=G, eps=eps), default=partial(by_xla, G=G, eps=eps))


def has_kernel(kv_BUKYH: Array) -> bool:
    """16 bits and a head of 2^n."""
    H = kv_BUKYH.shape[-1]
    return kv_BUKYH.dtype.itemsize == 2 and H >= 32 and H & (H - 1) == 0


def by_xla(query_BTKXH, kv_BUKYH, norms, cos_BUH, sin_BUH, slot_BU, key_BKSH, value_BKSH, *, G: int, eps: float) -> Placed:
    query_BTKGH, key_BUKH, value_BUKH = query_BTKXH[..., :G, :], kv_BUKYH[..., -2, :], kv_BUKYH[..., -1, :]
    if norms is not None:
        query_BTKGH, key_BUKH = layers.rms_norm(query_BTKGH, norms[0], eps), layers.rms_norm(key_BUKH, norms[1], eps)
    T = query_BTKGH.shape[1]
    key_BKSH = write(key_BKSH, layers.turn(key_BUKH, cos_BUH, sin_BUH), slot_BU)
    finite_BU = jnp.isfinite(value_BUKH).all((-2, -1))
    value_BKSH = write(value_BKSH, jnp.where(finite_BU[..., None, None], value_BUKH, 0), slot_BU)
    return layers.turn(query_BTKGH, cos_BUH[:, :T], sin_BUH[:, :T]), key_BKSH, value_BKSH, finite_BU


@partial(jax.jit, static_argnames=("G", "eps", "interpret"))  # traced and lowered once for all layers
def by_kernel(
    query_BTKXH, kv_BUKYH, norms, cos_BUH, sin_BUH, slot_BU, key_BKSH, value_BKSH, *, G: int, eps: float, interpret: bool = False
) -> Placed:
    (_, T, _, X, _), (B, U, K, Y, H), S = query_BTKXH.shape, kv_BUKYH.shape, key_BKSH.shape[2]
    norms = norms or ()

    def of_query(width):
        return pl.BlockSpec((None, None, None, width, H), lambda b, u, k: (b, jnp.minimum(u, T - 1), k, 0, 0))

    of_kv = pl.BlockSpec((None, None, K, Y, H), lambda b, u, k: (b, u, 0, 0, 0))
    weight = pl.BlockSpec((H,), lambda b, u, k: (0,))
    angle = pl.BlockSpec((None, None, H // 2), lambda b, u, k: (b, u, 0))
    one = pl.BlockSpec((None, 1), lambda b, u, k: (b, u))
    cache = pl.BlockSpec((None, None, S, H), lambda b, u, k: (b, k, 0, 0))
    arguments = query_BTKXH, kv_BUKYH, *norms, cos_BUH, sin_BUH, slot_BU, key_BKSH, value_BKSH
    query_BTKGH, key_BKSH, value_BKSH, finite_BU = pl.pallas_call(
        partial(_kernel, T=T, normed=bool(norms), eps=eps),
        grid=(B, U, K),
        in_specs=[of_query(X), of_kv, *[weight] * len(norms), angle, angle, one, cache, cache],
        out_specs=[of_query(G), cache, cache, one],
        out_shape=[
            jax.ShapeDtypeStruct((B, T, K, G, H), query_BTKXH.dtype),
            *(jax.ShapeDtypeStruct(a.shape, a.dtype) for a in (key_BKSH, value_BKSH)),
            jax.ShapeDtypeStruct((B, U), jnp.int32),
        ],
        input_output_aliases={len(arguments) - 2: 1, len(arguments) - 1: 2},
        compiler_params=triton.CompilerParams(num_warps=1),
        interpret=interpret,
        name="place",
    )(*arguments)
    return query_BTKGH, key_BKSH, value_BKSH, finite_BU == 1


def _kernel(query_ref, kv_ref, *refs, T: int, normed: bool, eps: float):
    """One row and kv head. A head is worked on as two halves, which a turn mixes."""
    q_norm_ref, k_norm_ref = refs[:2] if normed else (None, None)
    cos_ref, sin_ref, slot_ref, _, _, turned_ref, key_ref, value_ref, finite_ref = refs[2 * normed :]
    row, head, slot = pl.program_id(1), pl.program_id(2), slot_ref[0]
    (K, Y, H), (G, _), dtype = kv_ref.shape, turned_ref.shape, kv_ref.dtype
    halves = pl.ds(0, H // 2), pl.ds(H // 2, H // 2)
    cos_H, sin_H = cos_ref[...], sin_ref[...]

    def rounded(x):
        return x.astype(dtype).astype(jnp.float32)

    def turned(ref, norm_ref, *at):
        low_H, high_H = (ref[(*at, half)].astype(jnp.float32) for half in halves)
        if normed:
            scale = lax.rsqrt((low_H * low_H + high_H * high_H).sum() / H + eps)
            low_H, high_H = (
                rounded(rounded(x * scale) * norm_ref[half].astype(jnp.float32)) for x, half in zip((low_H, high_H), halves, strict=True)
            )
        return (low_H * cos_H - high_H * sin_H).astype(dtype), (high_H * cos_H + low_H * sin_H).astype(dtype)

    @pl.when(row < T)
    def _():
        for g in range(G):
            turned_ref[g, halves[0]], turned_ref[g, halves[1]] = turned(query_ref, q_norm_ref, g)

    # in every head of the row, though this program writes one: all heads of a row are kept or none
    spoilt = sum(jnp.where(jnp.abs(kv_ref[k, Y - 1, :].astype(jnp.float32)) < jnp.inf, 0.0, 1.0).max() for k in range(K))
    finite_ref[0] = jnp.where(spoilt == 0, 1, 0)

    @pl.when(slot < key_ref.shape[0])
    def _():
        key_ref[slot, halves[0]], key_ref[slot, halves[1]] = turned(kv_ref, k_norm_ref, head, Y - 2)
        value_ref[slot, :] = jnp.where(spoilt == 0, kv_ref[head, Y - 1, :], jnp.zeros(H, dtype))
