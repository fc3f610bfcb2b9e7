"""Loops: by hand, at every period, and what only looks like one."""

import pytest

from domino_jax.loops import LONGEST_PERIOD, REPEATS, TOKENS, loops, run

BEFORE = [900, 901, 902, 903]


def least(period: int) -> int:
    """The shortest run of this period that is a loop."""
    return max(REPEATS * period, TOKENS)


def cycle(period: int, length: int) -> list[int]:
    return [100 + i % period for i in range(length)]


@pytest.mark.parametrize("period", range(1, LONGEST_PERIOD + 1))
def test_the_shortest_loop_of_each_period_and_one_token_less(period):
    assert loops(BEFORE + cycle(period, least(period)))
    assert loops(cycle(period, least(period)))
    assert not loops(BEFORE + cycle(period, least(period) - 1))


def test_the_constants():
    assert [least(period) for period in (1, 8, 9, 64)] == [32, 32, 36, 256]


def test_a_longer_period_is_no_loop():
    period = LONGEST_PERIOD + 1
    assert not loops(cycle(period, 8 * period))


@pytest.mark.parametrize("part", [0, 1, 5, 6])
def test_a_loop_may_end_within_a_period(part):
    assert loops(BEFORE + cycle(7, 35 + part))


@pytest.mark.parametrize(
    "ids",
    [
        [],
        [5],
        [5] * 31,
        list(range(400)),
        [5] * 300 + [6],  # it got out
        [7] + [5] * 15 + [6] + [5] * 31,  # broken in the middle
        [*cycle(10, 100), 100, 101, 102, 999],  # out of step at the last token
        [*cycle(10, 60), 999, *cycle(10, 39)],
    ],
)
def test_what_is_none(ids):
    assert not loops(ids)


def test_a_list_whose_items_differ_in_a_number_is_none():
    """1. a b c 2. a b c 3. a b c: a model that counts is not in a loop, by this definition."""
    assert not loops([token for number in range(40) for token in (number, 500, 600, 601, 602)])


def test_items_that_differ_once_in_a_while_are_none():
    """Two kinds of line that take turns without a period."""
    lines = ([600, 601, 602, 603], [600, 601, 602, 604])
    assert not loops([token for number in range(40) for token in lines[(number * number // 7) % 2]])


def test_a_period_within_a_period():
    """a a a b, over and over: the runs of a are short, the whole is a loop of four."""
    assert loops([1, 1, 1, 2] * 8)
    assert not loops([1, 1, 1, 2] * 7)


@pytest.mark.parametrize(("ids", "period", "expected"), [([], 3, 0), ([1, 2], 3, 2), ([1, 2, 3], 1, 1), ([9, 1, 2, 1, 2, 1], 2, 5)])
def test_the_length_of_a_run(ids, period, expected):
    assert run(ids, period) == expected
