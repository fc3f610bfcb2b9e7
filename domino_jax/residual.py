"""Between two branches of a layer: what one has found joins the residual stream, which is normed for the next.

XLA makes two launches of it and reads the stream twice. On a GPU one kernel does it, a program for each position, with the same
roundings: the sum to the stream's dtype, the norm before its weight and after.
"""

from functools import partial

import jax
import jax.numpy as jnp
from jax import Array, lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import triton

from domino_jax import layers

WIDEST = 16384  # of a stream that one program holds


def add_and_norm(x_BTD: Array, branch_BTD: Array, finite_BT: Array | None, weight_D: Array, eps: float) -> tuple[Array, Array]:
    """-> (x + branch, its RMS norm times the weight), both [B, T, D]; NaN at positions that are not `finite` (None: all are)."""
    arguments = x_BTD, branch_BTD, finite_BT, weight_D
    if not has_kernel(x_BTD):
        return by_xla(*arguments, eps=eps)
    return lax.platform_dependent(*arguments, cuda=partial(by_kernel, eps=eps), default=partial(by_xla, eps=eps))


def has_kernel(x_BTD: Array) -> bool:
    """16 bits, and no wider than a program can hold."""
    return x_BTD.dtype.itemsize == 2 and x_BTD.shape[-1] <= WIDEST


def by_xla(x_BTD: Array, branch_BTD: Array, finite_BT: Array | None, weight_D: Array, *, eps: float) -> tuple[Array, Array]:
    x_BTD = x_BTD + branch_BTD
    if finite_BT is not None:
        x_BTD = jnp.where(finite_BT[..., None], x_BTD, jnp.nan)
    return x_BTD, layers.rms_norm(x_BTD, weight_D, eps)


@partial(jax.jit, static_argnames=("eps", "interpret"))  # traced and lowered once for all layers
def by_kernel(
    x_BTD: Array, branch_BTD: Array, finite_BT: Array | None, weight_D: Array, *, eps: float, interpret: bool = False
) -> tuple[Array, Array]:
    B, T, D = x_BTD.shape
    stream = pl.BlockSpec((None, None, D), lambda b, t: (b, t, 0))
    marks = [] if finite_BT is None else [pl.BlockSpec((None, 1), lambda b, t: (b, t))]
    return pl.pallas_call(
        partial(_kernel, eps=eps),
        grid=(B, T),
        in_specs=[stream, stream, pl.BlockSpec((D,), lambda b, t: (0,)), *marks],
        out_specs=[stream, stream],
        out_shape=[jax.ShapeDtypeStruct(x_BTD.shape, x_BTD.dtype)] * 2,
        compiler_params=triton.CompilerParams(num_warps=8 if D > 1024 else 4),
        interpret=interpret,
        name="add_and_norm",
    )(x_BTD, branch_BTD, weight_D, *([] if finite_BT is None else [finite_BT.astype(jnp.int32)]))


def _kernel(x_ref, branch_ref, weight_ref, *refs, eps: float):
    """One position. A width that is no power of two is filled up with the last element, which does not count twice."""
    *finite_ref, sum_ref, normed_ref = refs
    D, dtype = x_ref.shape[0], x_ref.dtype
    lane_M = lax.iota(jnp.int32, 1 << (D - 1).bit_length())
    whole = len(lane_M) == D
    at = slice(None) if whole else jnp.minimum(lane_M, D - 1)
    x_M = (x_ref[at].astype(jnp.float32) + branch_ref[at].astype(jnp.float32)).astype(dtype)
    if finite_ref:
        x_M = jnp.where(finite_ref[0][0] == 1, x_M, jnp.full_like(x_M, jnp.nan))
    x32_M = x_M.astype(jnp.float32)
    square_M = x32_M * x32_M if whole else jnp.where(lane_M < D, x32_M * x32_M, 0)
    sum_ref[at] = x_M
    normed_M = (x32_M * lax.rsqrt(square_M.sum() / D + eps)).astype(dtype)
    normed_ref[at] = (normed_M.astype(jnp.float32) * weight_ref[at].astype(jnp.float32)).astype(dtype)
