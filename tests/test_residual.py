"""The kernel that adds to the residual stream and norms it, read by the interpreter, against XLA; and that it lowers for CUDA alone."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from domino_jax.residual import WIDEST, add_and_norm, by_kernel, by_xla, has_kernel, shares_of

SHAPES = [(1, 1, 1024, 4096), (2, 3, 96, 576), (2, 5, 512, 64)]  # 576 is no power of two; 512 summed in two shares


def case(B, T, X, D, dtype=jnp.bfloat16):
    """Stream, what is projected onto it, the projection, its bias, and the norm's weight."""
    keys = jax.random.split(jax.random.key(0), 5)
    x, inner = (3 * jax.random.normal(key, (B, T, width), dtype) for key, width in zip(keys, (D, X), strict=False))
    out, bias, norm = (jax.random.normal(key, shape, dtype) for key, shape in zip(keys[2:], ((X, D), (D,), (D,)), strict=True))
    return x, inner, out * X**-0.5, bias, 1 + norm / 4


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", [jnp.bfloat16, jnp.float16])
@pytest.mark.parametrize("marked", [False, True])
def test_the_kernel_is_the_same_arithmetic(shape, dtype, marked):
    """Op by op, where XLA rounds as it is written. Sums may be in another order: few values are a step apart."""
    x, inner, out, _, norm = case(*shape, dtype=dtype)
    finite = (jnp.arange(shape[0] * shape[1]) != 0).astype(jnp.int32).reshape(shape[:2]) if marked else None
    expected = by_xla(x, inner, out, None, finite, norm, eps=1e-6)
    found = by_kernel(x, inner, out, None, finite, norm, eps=1e-6, interpret=True)
    for one, other in zip(expected, found, strict=True):
        assert (one.shape, one.dtype) == (other.shape, other.dtype)
        assert np.isnan(other).any(-1).sum() == marked  # the first position, and no other
        one, other = (np.asarray(a.astype(jnp.float32)) for a in (one, other))
        np.testing.assert_allclose(other, one, rtol=4 * jnp.finfo(dtype).eps, atol=8 * jnp.finfo(dtype).eps)
        assert (np.nan_to_num(one) != np.nan_to_num(other)).mean() < 0.02


def test_against_float64():
    x, inner, out, bias, norm = (np.asarray(a.astype(jnp.float32), np.float64) for a in case(2, 5, 512, 64))
    stream, normed = by_kernel(*(jnp.asarray(a, jnp.bfloat16) for a in (x, inner, out, bias)), None, norm, eps=1e-6, interpret=True)
    total = x + inner @ out + bias
    np.testing.assert_allclose(stream.astype(jnp.float32), total, atol=2**-4)
    scale = 1 / np.sqrt((total**2).mean(-1, keepdims=True) + 1e-6)
    np.testing.assert_allclose(normed.astype(jnp.float32), total * scale * norm, atol=2**-4)


def test_a_position_does_not_depend_on_its_neighbours():
    x, inner, out, _, norm = case(2, 5, 512, 576)
    whole = by_kernel(x, inner, out, None, None, norm, eps=1e-6, interpret=True)
    rolled = by_kernel(*(jnp.roll(a, 2, 1)[::-1] for a in (x, inner)), out, None, None, norm, eps=1e-6, interpret=True)
    for one, other in zip(whole, rolled, strict=True):
        assert np.array_equal(jnp.roll(one, 2, 1)[::-1], other)


@pytest.mark.parametrize(
    ("rows", "summed", "columns", "expected"),
    [(16, 4096, 4096, 4), (16, 12288, 4096, 4), (128, 4096, 4096, 2), (1024, 4096, 4096, 1), (8, 1536, 576, 4), (1, 200, 64, 1)],
)
def test_shares_fill_a_gpu_and_no_more(rows, summed, columns, expected):
    assert shares_of(rows, summed, columns) == expected


@pytest.mark.parametrize(
    ("width", "dtype", "kernel"),
    [(4096, jnp.bfloat16, True), (576, jnp.float16, True), (64, jnp.float32, False), (2 * WIDEST, jnp.bfloat16, False)],
)
def test_on_cuda_alone_and_where_widths_and_dtypes_allow(width, dtype, kernel):
    x, inner, out, bias, norm = case(1, 2, 64, width, dtype)
    for finite in (None, jnp.ones((1, 2), jnp.int32)):
        traced = jax.jit(partial(add_and_norm, eps=1e-6)).trace(x, inner, out, bias, finite, norm)
        assert ("xla.gpu.triton" in traced.lower(lowering_platforms=("cuda",)).as_text()) == kernel == has_kernel(x)
        for platform in ("cpu", "tpu"):
            assert "custom_call" not in traced.lower(lowering_platforms=(platform,)).as_text()
