"""Acceptance on hand-made rows, and against a loop that reads like the definition."""

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from domino_jax.verify import count_accepted, count_emitted

STOPS = (7, 9)


def emitted(chosen: list[int], accepted: int, remaining: int, stops=STOPS) -> tuple[int, bool]:
    count, ended = count_emitted(jnp.array([chosen]), jnp.array([accepted]), jnp.array([remaining]), jnp.array([[*stops, -1]]))
    return int(count[0]), bool(ended[0])


@pytest.mark.parametrize(
    ("proposals", "chosen", "accepted"),
    [
        ([1, 2, 3], [1, 2, 3, 4], 3),
        ([1, 2, 3], [1, 2, 4, 4], 2),
        ([1, 2, 3], [5, 2, 3, 4], 0),  # what agrees again after a difference does not count
        ([-1, -1, -1], [0, 0, 0, 0], 0),
    ],
)
def test_longest_agreeing_prefix(proposals, chosen, accepted):
    assert count_accepted(jnp.array([proposals]), jnp.array([chosen])).tolist() == [accepted]


@pytest.mark.parametrize(
    ("chosen", "accepted", "remaining", "expected"),
    [
        ([1, 2, 3, 4], 3, 9, (4, False)),
        ([1, 2, 3, 4], 1, 9, (2, False)),
        ([1, 7, 3, 4], 3, 9, (2, True)),  # a stop inside the block
        ([1, 7, 3, 4], 0, 9, (1, False)),  # a stop past what was accepted
        ([1, 2, 3, 9], 3, 9, (4, True)),  # the bonus is a stop
        ([1, 2, 3, 4], 3, 2, (2, True)),  # the budget cuts
        ([1, 2, 7, 4], 3, 2, (2, True)),  # the budget cuts before the stop
        ([1, 7, 9, 4], 3, 2, (2, True)),  # both at once; the first stop counts
    ],
)
def test_stops_and_budget(chosen, accepted, remaining, expected):
    assert emitted(chosen, accepted, remaining) == expected


def test_without_stop_ids():
    assert emitted([0, 2, 3], 2, 9, stops=()) == (3, False)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.integers(0, 9), min_size=4, max_size=4), st.lists(st.integers(-1, 9), min_size=3, max_size=3), st.integers(1, 6))
def test_definition(chosen, proposals, remaining):
    accepted = 0
    while accepted < 3 and proposals[accepted] == chosen[accepted]:
        accepted += 1
    out = []
    for token in chosen[: accepted + 1]:
        out.append(token)
        if token in STOPS or len(out) == remaining:
            break
    ours = int(count_accepted(jnp.array([proposals]), jnp.array([chosen]))[0])
    assert ours == accepted
    assert emitted(chosen, ours, remaining) == (len(out), out[-1] in STOPS or len(out) == remaining)


def test_rows_are_independent():
    chosen, proposals = np.array([[1, 2, 3], [4, 5, 6], [7, 7, 7]]), np.array([[1, 2], [4, 0], [0, 0]])
    accepted = count_accepted(jnp.array(proposals), jnp.array(chosen))
    assert accepted.tolist() == [2, 1, 0]
    count, ended = count_emitted(jnp.array(chosen), accepted, jnp.array([9, 9, 9]), jnp.array([[7]] * 3))
    assert (count.tolist(), ended.tolist()) == ([3, 2, 1], [False, False, True])
