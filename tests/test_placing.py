"""The kernel between projection and attention, read by Pallas' interpreter, against the same arithmetic in XLA; and that it lowers."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from domino_jax import layers, placing
from domino_jax.placing import by_kernel, by_xla, place
from domino_jax.rope import Rope

S = 96  # slots
SIZES = [
    dict(T=6, U=6, K=2, G=4, H=128, one=True, normed=True),
    dict(T=4, U=9, K=2, G=3, H=64, one=False, normed=True),  # a drafter's block, and context that does not ask
    dict(T=1, U=1, K=3, G=3, H=64, one=True, normed=False),
    dict(T=3, U=3, K=1, G=1, H=32, one=True, normed=True),
]


def case(T, U, K, G, H, one, normed, dtype=jnp.bfloat16, first=(37, 7)):
    """Arguments of `by_xla` and `by_kernel`: two rows, of which a value is not finite, and slots that run past the cache or are dropped."""
    keys = iter(jax.random.split(jax.random.key(0), 6))
    kv = jax.random.normal(next(keys), (2, U, K, G + 2 if one else 2, H), dtype).at[0, 0, -1, -1, 3].set(jnp.nan)
    query = kv if one else jax.random.normal(next(keys), (2, T, K, G, H), dtype)
    norms = tuple(1 + jax.random.normal(next(keys), (2, H), dtype) / 4) if normed else None
    position = jnp.array(first)[:, None] + jnp.arange(U)
    slot = position.at[1, -1].set(S)
    caches = (jax.random.normal(next(keys), (2, K, S, H), dtype) for _ in range(2))
    return query, kv, norms, *layers.angles(position, Rope(1e4), H), slot, *caches


@pytest.mark.parametrize("sizes", SIZES, ids=str)
@pytest.mark.parametrize("dtype", [jnp.bfloat16, jnp.float16])
def test_the_kernel_is_the_same_arithmetic(sizes, dtype):
    """Op by op, where XLA rounds as it is written. A sum of products may be fused or not: few values are a step apart."""
    arguments, static = case(**sizes, dtype=dtype), dict(G=sizes["G"], eps=1e-6)
    expected, found = by_xla(*arguments, **static), by_kernel(*arguments, **static, interpret=True)
    for name, one, other in zip(("query", "key", "value", "finite"), expected, found, strict=True):
        assert (one.shape, one.dtype) == (other.shape, other.dtype), name
        one, other = (np.asarray(a.astype(jnp.float32)) for a in (one, other))
        np.testing.assert_allclose(one, other, rtol=jnp.finfo(dtype).eps, atol=jnp.finfo(dtype).eps, err_msg=name)
        assert (one != other).mean() < 1e-3 + np.isnan(one).mean(), name


def test_what_is_written_and_what_is_not():
    """Slots outside the rows keep what they had; a value that is not finite is zeros in every head and marks its row alone."""
    arguments = case(**SIZES[0])
    before_key, before_value = arguments[-2:]
    _, key, value, finite = by_kernel(*arguments, G=4, eps=1e-6, interpret=True)
    untouched = np.ones((2, S), bool)
    untouched[0, 37:43] = untouched[1, 7:12] = False  # the last of row 1 is dropped
    for before, after in ((before_key, key), (before_value, value)):
        same = (before == after).all((1, 3))
        assert np.array_equal(same, untouched)
    assert np.array_equal(finite, ~(np.indices((2, 6)) == 0).all(0))
    assert not value[0, :, 37].any()
    assert value[0, :, 38].any(-1).all()


def test_a_row_does_not_depend_on_its_neighbours_or_on_its_place_in_a_round():
    query, kv, norms, cos, sin, slot, key, value = case(**SIZES[0])
    whole = by_kernel(query, kv, norms, cos, sin, slot, key, value, G=4, eps=1e-6, interpret=True)
    later = [jnp.roll(a, -2, 1) for a in (kv, cos, sin, slot)]
    rolled = by_kernel(later[0], later[0], norms, *later[1:], key, value, G=4, eps=1e-6, interpret=True)
    assert np.array_equal(rolled[0], jnp.roll(whole[0], -2, 1), equal_nan=True)
    for one, other in zip(whole[1:3], rolled[1:3], strict=True):
        assert np.array_equal(one, other)
    swapped = by_kernel(
        *(a[::-1] for a in (kv, kv)), norms, *(a[::-1] for a in (cos, sin, slot, key, value)), G=4, eps=1e-6, interpret=True
    )
    for one, other in zip(whole, swapped, strict=True):
        assert np.array_equal(one, other[::-1], equal_nan=True)


@pytest.mark.parametrize(
    ("sizes", "dtype", "kernel"),
    [
        (SIZES[0], jnp.bfloat16, True),
        (SIZES[1], jnp.float16, True),
        (SIZES[2], jnp.float32, False),
        (SIZES[0] | dict(H=96), jnp.bfloat16, False),
    ],
)
def test_on_cuda_alone_and_where_shapes_and_dtypes_allow(sizes, dtype, kernel):
    query, kv, norms, _, _, slot, key, value = case(**sizes, dtype=dtype)
    traced = jax.jit(partial(place, G=sizes["G"], rope=Rope(1e4), eps=1e-6)).trace(query, kv, norms, slot, slot, key, value)
    assert ("xla.gpu.triton" in traced.lower(lowering_platforms=("cuda",)).as_text()) == kernel == placing.has_kernel(kv)
    for platform in ("cpu", "tpu"):
        assert "custom_call" not in traced.lower(lowering_platforms=(platform,)).as_text()


def test_the_cache_is_written_in_place():
    """Whoever donates it, as the engine does, pays for no copy of it."""
    query, kv, norms, cos, sin, slot, key, value = case(**SIZES[0])
    traced = jax.jit(partial(by_kernel, G=4, eps=1e-6), donate_argnums=(6, 7)).trace(query, kv, norms, cos, sin, slot, key, value)
    text = traced.lower(lowering_platforms=("cuda",)).as_text()
    assert "output_operand_alias" in text
    assert text.count("jax.buffer_donor") + text.count("tf.aliasing_output") == 2
