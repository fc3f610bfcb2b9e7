"""Writes at the edge, and rows that leave their neighbours alone."""

import jax.numpy as jnp
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from domino_jax import cache
from domino_jax.config import TargetConfig
from tests.models import target_config

CAPACITY = 8


@settings(deadline=None)
@given(st.lists(st.integers(0, CAPACITY + 4), min_size=2, max_size=2))
def test_write_drops_what_does_not_fit(starts):
    """Each row has its own offset. A block over the edge keeps its part inside, and moves back over nothing."""
    before = np.arange(2 * 1 * CAPACITY * 2, dtype=np.float32).reshape(2, 1, CAPACITY, 2)
    new = -1 - np.arange(2 * 4 * 1 * 2, dtype=np.float32).reshape(2, 4, 1, 2)
    slot = np.array(starts)[:, None] + np.arange(4)
    expected = before.copy()
    for row in range(2):
        for t, s in enumerate(slot[row]):
            if s < CAPACITY:
                expected[row, :, s] = new[row, t]
    assert np.array_equal(cache.write(jnp.array(before), jnp.array(new), jnp.array(slot)), expected)


def test_rows_come_out_and_go_back():
    full = cache.allocate(TargetConfig.from_dict(target_config()), 3, CAPACITY, jnp.float32)
    assert full.capacity == CAPACITY
    assert all(array.shape == (3, 2, CAPACITY, 16) and not array.any() for array in (*full.key, *full.value))
    full = cache.KVCache(*(tuple(array + 1 + jnp.arange(3)[:, None, None, None] for array in side) for side in (full.key, full.value)))
    one = full.row(jnp.int32(1), cleared=jnp.array(False))
    assert all((array == 2).all() and array.shape[0] == 1 for array in (*one.key, *one.value))
    assert not any(array.any() for array in full.row(jnp.int32(1), cleared=jnp.array(True)).key)
    back = full.with_row(jnp.int32(2), one)
    assert [float(back.value[0][row, 0, 0, 0]) for row in range(3)] == [1, 2, 2]
