"""Answers that go round in circles. Greedy decoding leads small models there, and a loop is easily drafted: it flatters any drafter."""

from collections.abc import Sequence

LONGEST_PERIOD, REPEATS, TOKENS = 64, 4, 32


def loops(output_ids: Sequence[int]) -> bool:
    """Whether these tokens end in a loop: a run of one period of 1 to LONGEST_PERIOD tokens, at least REPEATS periods and TOKENS long.

    The run reaches to the last token, may end within a period, and repeats exactly: a list whose items differ, be it in their numbers
    alone, is no loop. What a model ended by itself is none either, but that is not seen here: ask it of answers that their budget ended.
    """
    return any(run(output_ids, period) >= max(REPEATS * period, TOKENS) for period in range(1, LONGEST_PERIOD + 1))


def run(ids: Sequence[int], period: int) -> int:
    """How many tokens at the end are one run of this period: each but the first `period` of them is the token a period before it."""
    repeated = 0
    while period + repeated < len(ids) and ids[-1 - repeated] == ids[-1 - repeated - period]:
        repeated += 1
    return min(period + repeated, len(ids))
