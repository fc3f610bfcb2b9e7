"""The kernel that adds to the residual stream and norms it, read by the interpreter, against XLA; and that it lowers for CUDA alone."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from domino_jax.residual import WIDEST, add_and_norm, by_kernel, by_xla, has_kernel

SHAPES = [(1, 1, 4096), (2, 3, 576), (2, 5, 64)]  # 576 is no power of two


def case(B, T, D, dtype=jnp.bfloat16):
    keys = jax.random.split(jax.random.key(0), 3)
    x, branch = (3 * jax.random.normal(key, (B, T, D), dtype) for key in keys[:2])
    return x, branch, 1 + jax.random.normal(keys[2], (D,), dtype) / 4


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", [jnp.bfloat16, jnp.float16])
@pytest.mark.parametrize("marked", [False, True])
def test_the_kernel_is_the_same_arithmetic(shape, dtype, marked):
    """Op by op, where XLA rounds as it is written. Squares may be summed in another order: few values are a step apart."""
    x, branch, weight = case(*shape, dtype=dtype)
    finite = (jnp.arange(shape[0] * shape[1]) != 0).reshape(shape[:2]) if marked else None
    expected, found = by_xla(x, branch, finite, weight, eps=1e-6), by_kernel(x, branch, finite, weight, eps=1e-6, interpret=True)
    assert np.array_equal(expected[0], found[0], equal_nan=True)
    for one, other in zip(expected, found, strict=True):
        assert (one.shape, one.dtype) == (other.shape, other.dtype)
        assert np.isnan(other).any(-1).sum() == marked  # the first position, and no other
    one, other = (np.asarray(a[1].astype(jnp.float32)) for a in (expected, found))
    np.testing.assert_allclose(other, one, rtol=2 * jnp.finfo(dtype).eps)
    assert (np.nan_to_num(one) != np.nan_to_num(other)).mean() < 1e-2


def test_a_position_does_not_depend_on_its_neighbours():
    x, branch, weight = case(2, 5, 576)
    whole = by_kernel(x, branch, None, weight, eps=1e-6, interpret=True)
    rolled = by_kernel(jnp.roll(x, 2, 1)[::-1], jnp.roll(branch, 2, 1)[::-1], None, weight, eps=1e-6, interpret=True)
    for one, other in zip(whole, rolled, strict=True):
        assert np.array_equal(jnp.roll(one, 2, 1)[::-1], other)


@pytest.mark.parametrize(
    ("width", "dtype", "kernel"),
    [(4096, jnp.bfloat16, True), (576, jnp.float16, True), (64, jnp.float32, False), (2 * WIDEST, jnp.bfloat16, False)],
)
def test_on_cuda_alone_and_where_widths_and_dtypes_allow(width, dtype, kernel):
    x, branch, weight = case(1, 2, width, dtype)
    for finite in (None, jnp.ones((1, 2), bool)):
        traced = jax.jit(partial(add_and_norm, eps=1e-6)).trace(x, branch, finite, weight)
        assert ("xla.gpu.triton" in traced.lower(lowering_platforms=("cuda",)).as_text()) == kernel == has_kernel(x)
        for platform in ("cpu", "tpu"):
            assert "custom_call" not in traced.lower(lowering_platforms=(platform,)).as_text()
