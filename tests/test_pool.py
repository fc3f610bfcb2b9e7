"""The candidate pool against a stable sort."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from domino_jax.order import kth_by_digits, ordered_bits
from domino_jax.pool import select_pool

SELECT = jax.jit(lambda score_BV, size: select_pool(score_BV[:, None], size), static_argnums=1)


def by_sorting(score_BV: np.ndarray, size: int) -> np.ndarray:
    """The first `size` of a stable descending sort, so that of equal scores the lowest ids come in; ascending."""
    return np.sort(np.argsort(-score_BV.astype(np.float64), axis=-1, kind="stable")[:, :size], -1)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_any_scores(data):
    """A fixed shape, values that tie often, signed zeros and infinities among them."""
    values = st.sampled_from([0.0, -0.0, 1.0, -1.0, 1.5, -1.5, 3e38, -3e38, 1e-40, float("inf"), float("-inf")])
    size = data.draw(st.sampled_from([1, 2, 7, 20]))
    score = np.array(data.draw(st.lists(st.lists(values, min_size=20, max_size=20), min_size=2, max_size=2)), np.float32)
    assert np.array_equal(SELECT(jnp.array(score), size), by_sorting(score, size))


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.bfloat16])
@pytest.mark.parametrize(("vocabulary", "size"), [(1, 1), (255, 16), (256, 256), (257, 256), (1000, 999), (5000, 2048)])
def test_sizes_around_the_counting_blocks(vocabulary, size, dtype):
    """bfloat16 scores of thousands of tokens tie by the dozen."""
    score = jax.random.normal(jax.random.key(vocabulary), (3, vocabulary), dtype)
    assert np.array_equal(SELECT(score, size), by_sorting(np.asarray(score.astype(jnp.float32)), size))


@pytest.mark.parametrize("bits", [1, 2, 4, 8])
@pytest.mark.parametrize("dtype", [jnp.float32, jnp.bfloat16])
def test_a_threshold_is_the_same_however_many_bits_a_pass_finds(bits, dtype):
    """The platforms differ in this alone."""
    score = jax.random.normal(jax.random.key(bits), (4, 700), dtype).at[0].set(-0.0).at[1, :9].set(jnp.inf)
    for k in (1, 5, 9, 10, 699, 700):
        expected = jnp.sort(ordered_bits(score), -1)[:, 700 - k, None]
        assert np.array_equal(kth_by_digits(ordered_bits(score), k, bits), expected)
    assert not kth_by_digits(ordered_bits(score), 701, bits).any()


def test_all_equal():
    assert np.array_equal(SELECT(jnp.zeros((2, 600)), 5), [[0, 1, 2, 3, 4]] * 2)


def test_the_largest_at_any_position_from_a_first_one_on():
    score = jax.random.normal(jax.random.key(1), (2, 5, 300))
    for start in (0, 2, 4):
        expected = by_sorting(np.asarray(score[:, start:].max(1)), 20)
        assert np.array_equal(select_pool(score, 20, start), expected)
