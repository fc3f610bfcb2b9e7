"""The end of a branch of a layer: its last matmul, the sum with the residual stream, and the norm for what comes next.

A skinny matmul draws a GPU's bandwidth only if several programs share each sum. XLA adds such shares up in a launch of its own, and
makes two more of sum and norm. Here the shares are an axis of the matmul, and one kernel, a program for each position, adds them up,
adds the stream and norms it, with the same roundings: the branch and the sum to the stream's dtype, the norm before its weight and after.
"""

from functools import partial

import jax
import jax.numpy as jnp
from jax import Array, lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import triton

from domino_jax import layers

WIDEST = 16384  # of a stream that one program holds
PROGRAMS = 256  # that keep a large GPU busy
TILE = 64  # of the matmul's rows and columns, to a program
SHORTEST = 256  # of a share of a sum


def add_and_norm(
    x_BTD: Array, inner_BTX: Array, out_XD: Array, bias_D: Array | None, finite_BT: Array | None, norm_D: Array, eps: float
) -> tuple[Array, Array]:
    """-> (x + inner · out + bias, its RMS norm times norm_D), both [B, T, D]; NaN where `finite` is 0 (None: nowhere)."""
    arguments = x_BTD, inner_BTX, out_XD, bias_D, finite_BT, norm_D
    if not has_kernel(x_BTD):
        return by_xla(*arguments, eps=eps)
    return lax.platform_dependent(*arguments, cuda=partial(by_kernel, eps=eps), default=partial(by_xla, eps=eps))


def has_kernel(x_BTD: Array) -> bool:
    """16 bits, and no wider than a program can hold."""
    return x_BTD.dtype.itemsize == 2 and x_BTD.shape[-1] <= WIDEST


def by_xla(
    x_BTD: Array, inner_BTX: Array, out_XD: Array, bias_D: Array | None, finite_BT: Array | None, norm_D: Array, *, eps: float
) -> tuple[Array, Array]:
    x_BTD = x_BTD + inner_BTX @ out_XD
    if bias_D is not None:
        x_BTD += bias_D
    if finite_BT is not None:
        x_BTD = jnp.where(finite_BT[..., None] == 1, x_BTD, jnp.nan)
    return x_BTD, layers.rms_norm(x_BTD, norm_D, eps)


def shares_of(rows: int, summed: int, columns: int) -> int:
    """How many programs share a sum of the matmul: a power of two."""
    tiles = -(-rows // TILE) * -(-columns // TILE)
    wanted = max(1, min(PROGRAMS // tiles, summed // SHORTEST))
    return min(1 << (wanted.bit_length() - 1), summed & -summed)


@partial(jax.jit, static_argnames=("eps", "interpret"))  # traced and lowered once for all layers
def by_kernel(
    x_BTD: Array,
    inner_BTX: Array,
    out_XD: Array,
    bias_D: Array | None,
    finite_BT: Array | None,
    norm_D: Array,
    *,
    eps: float,
    interpret: bool = False,
) -> tuple[Array, Array]:
    (B, T, D), X = x_BTD.shape, inner_BTX.shape[-1]
    Z = shares_of(B * T, X, D)
    shares = inner_BTX.reshape(B, T, Z, X // Z), out_XD.reshape(Z, X // Z, D)
    share_ZBTD = jnp.einsum("BTZX,ZXD->ZBTD", *shares, preferred_element_type=jnp.float32)
    if bias_D is not None:
        share_ZBTD = share_ZBTD.at[0].add(bias_D)
    stream = pl.BlockSpec((None, None, D), lambda b, t: (b, t, 0))
    marks = [] if finite_BT is None else [pl.BlockSpec((None, 1), lambda b, t: (b, t))]
    return pl.pallas_call(
        partial(_kernel, eps=eps),
        grid=(B, T),
        in_specs=[stream, pl.BlockSpec((Z, None, None, D), lambda b, t: (0, b, t, 0)), pl.BlockSpec((D,), lambda b, t: (0,)), *marks],
        out_specs=[stream, stream],
        out_shape=[jax.ShapeDtypeStruct(x_BTD.shape, x_BTD.dtype)] * 2,
        compiler_params=triton.CompilerParams(num_warps=8 if D > 1024 else 4),
        interpret=interpret,
        name="add_and_norm",
    )(x_BTD, share_ZBTD, norm_D, *([] if finite_BT is None else [finite_BT]))


def _kernel(x_ref, share_ref, norm_ref, *refs, eps: float):
    """One position. A width that is no power of two is filled up with the last element, which does not count twice."""
    *finite_ref, sum_ref, normed_ref = refs
    D, dtype = x_ref.shape[0], x_ref.dtype
    lane_M = lax.iota(jnp.int32, 1 << (D - 1).bit_length())
    whole = len(lane_M) == D
    at = slice(None) if whole else jnp.minimum(lane_M, D - 1)
    branch_M = sum(share_ref[share, at] for share in range(share_ref.shape[0])).astype(dtype)
    x_M = (x_ref[at].astype(jnp.float32) + branch_M.astype(jnp.float32)).astype(dtype)
    if finite_ref:
        x_M = jnp.where(finite_ref[0][0] == 1, x_M, jnp.full_like(x_M, jnp.nan))
    x32_M = x_M.astype(jnp.float32)
    square_M = x32_M * x32_M if whole else jnp.where(lane_M < D, x32_M * x32_M, 0)
    sum_ref[at] = x_M
    normed_M = (x32_M * lax.rsqrt(square_M.sum() / D + eps)).astype(dtype)
    normed_ref[at] = (normed_M.astype(jnp.float32) * norm_ref[at].astype(jnp.float32)).astype(dtype)
