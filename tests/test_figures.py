"""The figures of an evaluation: definitions on hand-made results, of one set and of several, with and without loops."""

import dataclasses
import json

import numpy as np
import pytest

from domino_jax import tables
from domino_jax.events import Result
from domino_jax.figures import Answers, Figures, Way, figures, records, right

LOOP = [7] * 40


@pytest.mark.parametrize(
    ("text", "answer", "expected"),
    [
        ("so\n#### 12", "x\n#### 12", True),
        ("so\n#### 12 and #### 13", "#### 13", False),  # the first counts
        ("12", "#### 12", False),
        ("#### -3", "####-3", True),
        (r"so it is \boxed{1,234}.", "#### 1234", True),
        (r"\boxed{ -7 }", "#### 7", False),
        (r"\boxed{x}", "#### 7", False),
        ("#### 12.5", "#### 12", False),
        ("#### $12", "#### 12", True),
        (r"\boxed{\$12.0}", "#### 12", True),
        (r"\boxed{12\%}", "#### 12", True),
        (" blue ", "blue", True),
        ("Blue", "blue", False),
        (None, "blue", False),
    ],
)
def test_right(text, answer, expected):
    assert right(text, answer) is expected


def result(lengths: list[int], ids: list[int], text: str = "", reason: str = "stop") -> Result:
    return Result(0, (1,), output_ids=ids, text=text, acceptance_lengths=lengths, finish_reason=reason)


def way(*sets: list, width: int = 15, name: str = "d", seconds: float = 1.0) -> Way:
    """Of sets of results, or of lists of them: those of a conversation."""
    turns = [[row if isinstance(row, list) else [row] for row in rows] for rows in sets]
    return Way(name, "domino", width, [Answers(rows, seconds) for rows in turns])


def alone(ours: Way) -> Figures:
    """Measured against itself."""
    return figures(ours, ours, ours, [None] * len(ours.sets))


def test_figures_by_hand():
    plain = way([result([1] * 5, list(range(6)), "#### 1"), result([1] * 3, list(range(4)), "#### 2")], width=0)
    first = way([result([2, 2, 2], list(range(6)), "#### 1"), result([2, 2], list(range(4)), "#### 2")], width=3)
    ours = way([result([3, 3], list(range(6)), "#### 1"), result([4], [0, 1, 2, 9], "#### 9")], width=3, seconds=2.0)
    found = figures(ours, plain, first, [["#### 1", "#### 2"]])
    assert (found.score, found.equal, found.answers, found.rounds, found.tokens, found.tokens_per_second) == (0.5, 1, 2, 3, 10, 4.0)
    assert found.acceptance_length == pytest.approx(10 / 3)
    assert found.ratio == pytest.approx(10 / 3 / 2)
    assert found.oracle == pytest.approx(8 / 3)  # 5 and 3 later tokens in blocks of 4: two rounds and one
    assert found.by_position == pytest.approx([1, 1, 1 / 3])
    assert found.interval == (3.0, 4.0)  # a resample holds the first prompt twice, the second twice, or both
    assert found.ratio_interval == (1.5, 2.0)
    assert (found.looping, found.without_loops.acceptance_length, found.without_loops.answers) == (0, found.acceptance_length, 2)


def test_a_ratio_draws_the_same_prompts_for_both():
    """Prompts differ much, and each is drafted twice as well: the ratio is certain though neither mean is."""
    rng = np.random.default_rng(0)
    lengths = [rng.integers(1, 8, 6).tolist() for _ in range(20)]
    first = way([result(some, [0, 1]) for some in lengths])
    ours = way([result([2 * length for length in some], [0, 1]) for some in lengths])
    found = figures(ours, first, first, [None])
    assert found.interval[1] - found.interval[0] > 0.5
    assert (found.ratio, *found.ratio_interval) == pytest.approx((2, 2, 2))


def test_the_interval_narrows_with_prompts():
    rng = np.random.default_rng(0)
    many = [result(rng.integers(1, 16, 9).tolist(), [0, 1]) for _ in range(200)]
    wide, narrow = (alone(way(part)).interval for part in (many[:10], many))
    assert narrow[1] - narrow[0] < (wide[1] - wide[0]) / 2


def test_figures_without_a_round_are_none_and_dashes():
    """A budget of one token: prefill gives it, and nothing is drafted."""
    found = alone(way([result([], [1]), result([], [2])]))
    assert (found.rounds, found.tokens, found.equal) == (0, 2, 2)
    means = ("acceptance_length", "interval", "ratio", "ratio_interval", "oracle", "by_position", "tokens_per_second")
    assert [getattr(found, name) for name in means] == [None] * 7
    assert tables.one_set([found]).splitlines()[2] == "| d |  | 2 of 2 | 0 | – | – | – | – |"
    assert "NaN" not in json.dumps(dataclasses.asdict(found))


def test_resamples_without_a_round_are_left_out_of_the_interval():
    found = alone(way([result([], [1]), result([2, 2], [1, 2, 3, 4, 5])]))
    assert (found.acceptance_length, found.interval, found.ratio, found.ratio_interval) == (2.0, (2.0, 2.0), 1.0, (1.0, 1.0))


# Several sets


def test_sets_count_the_same_whatever_their_size():
    """Means 2 and 6, of one prompt and of three; their mean over that of a first drafter's 2 and 3, which is not the ratios' mean."""
    small, large = [result([2, 2], list(range(5)), "a")], [result([6], list(range(7)), "b")] * 3
    ours = way(small, large, width=7, seconds=2.0)
    first = way([result([2, 2], list(range(5)))], [result([3, 3], list(range(7)))] * 3, width=7)
    found = figures(ours, first, first, [["a"], ["b", "b", "x"]])
    assert found.acceptance_length == 4.0
    assert found.interval == (4.0, 4.0)
    assert (found.ratio, found.ratio_interval) == (1.6, (1.6, 1.6))
    assert found.score == pytest.approx((1 + 2 / 3) / 2)
    assert (found.prompts, found.answers, found.rounds, found.equal, found.tokens) == (4, 4, 5, 4, 26)
    assert found.tokens_per_second == (4 + 18) / 4  # tokens after the first, over the seconds of both
    assert found.by_position == [1, 0.5, 0.5, 0.5, 0.5, 0, 0]  # these and 1 make the acceptance length
    assert 1 + sum(found.by_position) == found.acceptance_length
    assert found.oracle == (4 + 6) / 2


def test_the_average_of_one_set_is_that_set():
    rng = np.random.default_rng(0)
    one, other = ([result(rng.integers(1, 16, 9).tolist(), list(range(30))) for _ in range(20)] for _ in range(2))
    both = way(one, other)
    assert alone(both.of(0)) == alone(way(one))
    assert alone(both.of(1)) == alone(way(other))


def test_sets_are_drawn_independently():
    """The average of two sets is more certain than either; the same draws for both would leave it as uncertain."""
    rows = [result([length], [0, 1]) for length in range(1, 16)] * 2
    (low, high), (low_of_two, high_of_two) = alone(way(rows)).interval, alone(way(rows, rows)).interval
    assert high_of_two - low_of_two == pytest.approx((high - low) / 2**0.5, rel=0.1)


def test_a_set_without_a_figure_leaves_the_average_without():
    found = figures(*[way([result([2], [1, 2], "a")], [result([], [1], "a")])] * 3, [["a"], None])
    assert [found.acceptance_length, found.interval, found.ratio, found.score, found.oracle, found.by_position] == [None] * 6
    assert (found.rounds, found.tokens_per_second) == (1, 0.5)


# Conversations


def test_a_conversation_is_one_prompt_of_several_answers():
    """All rounds of all turns count, the bootstrap draws whole conversations, the last answer is the one that is right or not."""
    ours = way([[result([4], [1, 2, 3, 4, 5], "x"), result([2, 2], [5, 6, 7, 8, 9], "y")]])
    plain = way([[result([1], [1, 2, 3, 4, 5]), result([1], [5, 6])]])
    found = figures(ours, plain, ours, [["y"]])
    assert (found.prompts, found.answers, found.rounds, found.equal, found.score) == (1, 2, 3, 1, 1.0)
    assert found.acceptance_length == pytest.approx(8 / 3)
    assert found.interval == pytest.approx((8 / 3, 8 / 3))


# Loops


def test_figures_without_loops():
    """Of two answers one loops, and another is as long a loop that the model itself ended."""
    ours = way([result([10, 10], LOOP, reason="length"), result([2, 4], LOOP), result([3], [1, 2], reason="length")])
    first = way([result([5, 5, 5, 5], LOOP, reason="length"), result([2, 2, 2], LOOP), result([1, 1], [1, 2], reason="length")])
    found = figures(ours, ours, first, [None])
    assert (found.looping, found.answers, found.without_loops.answers) == (1, 3, 2)
    assert (found.acceptance_length, found.without_loops.acceptance_length) == (29 / 5, 3.0)
    assert found.ratio == pytest.approx(29 / 5 / (28 / 9))
    assert found.without_loops.ratio == pytest.approx(3 / (8 / 5))
    assert found.without_loops.rounds == 3
    assert found.without_loops.interval == (3.0, 3.0)
    low, high = found.without_loops.ratio_interval
    assert (low, high) == pytest.approx((1.5, 3.0))  # of the second prompt alone, and of the third


def test_a_conversation_loses_the_answers_that_loop_and_keeps_the_others():
    ours = way([[result([10], LOOP, reason="length"), result([2], [1, 2])]])
    found = alone(ours)
    assert (found.acceptance_length, found.without_loops.acceptance_length, found.without_loops.answers) == (6.0, 2.0, 1)


def test_where_all_loop_nothing_is_left():
    found = alone(way([result([10], LOOP, reason="length")]))
    assert dataclasses.astuple(found.without_loops) == (0, 0, None, None, None, None)
    assert "| d | 0 of 1 | 0 | – | – |" in tables.one_set([found]).splitlines()


# Records


def test_records_hold_what_the_figures_are_made_of():
    ours = way([[result([10, 6], LOOP, reason="length"), result([2], [1, 2])], result([3], [1, 2, 3])])
    plain = way([[result([1], LOOP, reason="length"), result([1], [1, 9])], result([1], [1, 2, 3])])
    found = figures(ours, plain, ours, [None])
    rows = records(ours.sets[0], plain.sets[0], None)
    expected = dict(id=0, turn=1, tokens=40, rounds=2, acceptance_lengths=[10, 6], finish_reason="length", looping=True, equal=True)
    assert rows[0] == expected | {"right": None}
    assert [(row["turn"], row["equal"], row["looping"]) for row in rows] == [(1, True, True), (2, False, False), (1, True, False)]
    assert sum(sum(row["acceptance_lengths"]) for row in rows) / sum(row["rounds"] for row in rows) == found.acceptance_length
    assert (sum(row["tokens"] for row in rows), sum(row["equal"] for row in rows)) == (found.tokens, found.equal)


def test_the_record_of_a_last_turn_says_whether_it_was_right():
    ours = way([[result([1], [1], "#### 3"), result([1], [1], "#### 4")], [result([1], [1], "#### 4")]])
    assert [row["right"] for row in records(ours.sets[0], ours.sets[0], ["#### 4", "#### 5"])] == [None, True, False]


# Tables


def found_of(name: str, kind: str, rows: list, expected: list[str] | None = None) -> Figures:
    return figures(*[Way(name, kind, 7, [Answers([[row] for row in rows], 1.0)])] * 3, [expected])


def test_one_set_has_a_row_for_each_way():
    rows = [result([2, 2], list(range(5)), "a")] * 2
    lines = tables.one_set([found_of("target-only", "none", rows, ["a", "b"]), found_of("d", "domino", rows, ["a", "b"])]).splitlines()
    assert lines[:4] == [
        "| | score | equal to target-only | rounds | acceptance length | over the first drafter | oracle | tokens/s |",
        "|---|---|---|---|---|---|---|---|",
        "| target-only | 0.500 | 2 of 2 | 4 |  |  |  | 8 |",
        "| d | 0.500 | 2 of 2 | 4 | 2.00 [2.00, 2.00] | 1.00 [1.00, 1.00] | 4.00 | 8 |",
    ]
    assert lines[4] == ""
    assert lines[5].endswith("None does here.")
    assert len(lines) == 6


def test_one_set_with_loops_has_a_second_table():
    rows = [result([9], LOOP, reason="length"), result([2, 2], list(range(5)))]
    lines = tables.one_set([found_of("target-only", "none", rows), found_of("d", "domino", rows)]).splitlines()
    assert lines[5:-2] == [
        "Without the answers that loop:",
        "",
        "| | answers | rounds | acceptance length | over the first drafter |",
        "|---|---|---|---|---|",
        "| target-only | 1 of 2 | 2 |  |  |",
        "| d | 1 of 2 | 2 | 2.00 [2.00, 2.00] | 1.00 [1.00, 1.00] |",
    ]
    assert "An answer loops if" in lines[-1]
    assert "None does" not in lines[-1]


@pytest.mark.parametrize(("sets", "drafters"), [(2, 1), (10, 3)])
@pytest.mark.parametrize("looping", [False, True])
def test_several_sets_have_a_row_each_and_an_average(sets, drafters, looping):
    rows = [result([2, 2], list(range(5))), result([9], LOOP, reason="length" if looping else "stop")]
    found = [found_of("target-only", "none", rows), *(found_of(f"d{n}", "domino", rows) for n in range(drafters))]
    names = [f"set{n}" for n in range(sets)]
    shown = tables.several_sets(dict.fromkeys(names, found), found)
    *blocks, note = shown.split("\n\n")
    titles, tabled = blocks[::2], blocks[1::2]
    assert len(titles) == 4 + (drafters > 1) + looping * (1 + (drafters > 1))
    for title, block in zip(titles, tabled, strict=True):
        header, rule, *lines = block.splitlines()
        assert header.count("|") == rule.count("|") == lines[0].count("|")
        assert [line.split(" | ")[0] for line in lines[:-1]] == [f"| {name}" for name in names], title
        assert lines[-1].startswith(("| average | 2 |", "| all | 2 |"))
    assert "plain mean of the sets" in note
    assert ("1 of 2" in shown) is looping


def test_a_set_may_be_called_average():
    found = [found_of("d", "domino", [result([2], [0, 1])])]
    assert tables.several_sets({"average": found, "all": found}, found).count("| average | 1 | 2.00") == 2
