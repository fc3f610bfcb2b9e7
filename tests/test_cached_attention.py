"""The kernel for attention over a cache, read by Pallas' interpreter: what it computes, what it leaves unread, and that it lowers."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from domino_jax import cached_attention
from domino_jax.cached_attention import attend, over_all_slots, over_used_slots, splits_of

FIRST = jnp.array([100, 0], jnp.int32)
interpreted = functools.partial(over_used_slots, interpret=True)


def arrays(T: int, K: int, G: int, H: int, S: int, dtype=jnp.bfloat16):
    """Two rows: query, keys, values."""
    shapes = (2, T, K, G, H), (2, K, S, H), (2, K, S, H)
    return [jax.random.normal(key, shape, dtype) for key, shape in zip(jax.random.split(jax.random.key(0), 3), shapes, strict=True)]


def slots(T: int, first=FIRST):
    return first[:, None] + jnp.arange(T)


@pytest.mark.parametrize(
    ("T", "K", "G", "H", "S"),
    [(16, 2, 4, 128, 192), (5, 1, 3, 64, 128), (1, 1, 8, 64, 2048), (1, 2, 1, 16, 64), (16, 64, 1, 16, 128)],
)
def test_it_is_attention_over_the_slots_up_to_ones_own(T, K, G, H, S):
    """Also where the tile of queries is padded, one split has it all, and where there are more splits than tiles in use."""
    query, key, value = arrays(T, K, G, H, S)
    first = FIRST if S > 116 else FIRST // 3
    wide = (x.astype(jnp.float32) for x in (query, key, value))
    expected = over_all_slots(*wide, slots(T, first))
    found = interpreted(query, key, value, slots(T, first))
    assert (found.shape, found.dtype) == (expected.shape, query.dtype)
    np.testing.assert_allclose(found.astype(jnp.float32), expected, atol=2**-6)


def test_a_query_is_the_same_bit_for_bit_wherever_it_stands_whatever_lies_past_it_and_beside_it():
    query, key, value = arrays(8, 1, 4, 64, 192)
    whole = interpreted(query, key, value, slots(8))
    later = interpreted(jnp.roll(query, -3, 1), key.at[:, :, 150:].set(7), value.at[:, :, 150:].set(-7), slots(8, FIRST + 3))
    assert np.array_equal(later[:, :5], whole[:, 3:])
    swapped = interpreted(query[::-1], key[::-1], value[::-1], slots(8)[::-1])
    assert np.array_equal(swapped[::-1], whole)


def test_queries_that_see_one_another():
    """A drafter's block: all of them see up to the last."""
    query, key, value = arrays(8, 2, 3, 64, 192)
    last = jnp.broadcast_to(slots(8)[:, -1:], (2, 8))
    expected = over_all_slots(query, key, value, last)
    found = interpreted(query, key, value, last)
    np.testing.assert_allclose(found.astype(jnp.float32), expected.astype(jnp.float32), atol=2**-6)
    assert not np.array_equal(found, interpreted(query, key, value, slots(8)))


def test_slots_past_a_row_are_not_read():
    query, key, value = arrays(8, 1, 4, 64, 192)
    spoilt = [x.at[:, :, 128:].set(jnp.nan) for x in (key, value)]
    assert np.array_equal(interpreted(query, *spoilt, slots(8)), interpreted(query, key, value, slots(8)))


def test_a_row_that_fills_its_cache_and_slots_that_do_not_exist():
    """A frozen row's last round may stand past the capacity."""
    query, key, value = arrays(8, 1, 4, 64, 128)
    first = jnp.array([120, 126])
    expected = over_all_slots(query, key, value, slots(8, first))
    found = interpreted(query, key, value, slots(8, first))
    np.testing.assert_allclose(found.astype(jnp.float32), expected.astype(jnp.float32), atol=2**-6)


@pytest.mark.parametrize(
    ("heads", "slots", "expected"), [(8, 2048, 16), (64, 2048, 2), (512, 1024, 1), (3, 64, 1), (3, 384, 4), (1, 65536, 128)]
)
def test_splits_fill_a_gpu_and_no_more(heads, slots, expected):
    assert splits_of(heads, slots) == expected


@pytest.mark.parametrize(
    ("sizes", "dtype", "kernel"),
    [
        (dict(T=16, K=8, G=4, H=128, S=2048), jnp.bfloat16, True),
        (dict(T=1, K=3, G=3, H=64, S=96), jnp.bfloat16, False),  # S not in whole tiles
        (dict(T=1, K=3, G=3, H=64, S=128), jnp.float16, True),
        (dict(T=512, K=8, G=4, H=128, S=2048), jnp.bfloat16, False),  # a prompt's chunk
        (dict(T=16, K=8, G=4, H=96, S=2048), jnp.bfloat16, False),
        (dict(T=16, K=8, G=4, H=128, S=2048), jnp.float32, False),
    ],
)
def test_on_cuda_alone_and_where_shapes_and_dtypes_allow(sizes, dtype, kernel):
    arguments = *arrays(**sizes, dtype=dtype), slots(sizes["T"])
    traced = jax.jit(attend).trace(*arguments)
    assert ("xla.gpu.triton" in traced.lower(lowering_platforms=("cuda",)).as_text()) == kernel
    for platform in ("cpu", "tpu"):
        assert "custom_call" not in traced.lower(lowering_platforms=(platform,)).as_text()


def test_elsewhere_it_is_the_other_bit_for_bit():
    arguments = *arrays(16, 2, 4, 64, 128), slots(16)
    assert np.array_equal(attend(*arguments), over_all_slots(*arguments))
    assert cached_attention.has_kernel(*arguments[:2])
