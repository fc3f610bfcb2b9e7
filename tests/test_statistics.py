"""Statistics: what each figure counts, and when a run is warned about."""

import json

import jax
import pytest
from hypothesis import given
from hypothesis import strategies as st

from domino_jax import statistics
from domino_jax.events import Result

CONTEXT = {"platform": "cpu", "device": "some cpu", "dtype": "float32", "draft": "domino", "draft_path": "drafts/one", "num_proposals": 15}
SECONDS = {"load": 2.0, "compile": 3.0, "decode": 4.0}


def result(tokens: int, lengths: list[int] = (), prefill: float = 0.25, prompt: int = 3, error: str | None = None, **more) -> Result:
    answer = Result(0, (0,) * prompt, output_ids=[1] * tokens, acceptance_lengths=[*lengths], prefill_seconds=prefill, error=error, **more)
    answer.finish_reason = "error" if error else "length"
    return answer


def summary(*results: Result, **context) -> dict:
    return statistics.summarize(results, SECONDS, CONTEXT | context)


TWO = (result(28, [16, 16], prefill=0.5, prompt=1), result(5, [1, 1, 2]))


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("prompts", 2),
        ("failed", 0),
        ("prompt_tokens", 4),
        ("tokens", 33),
        ("tokens_per_second", 31 / 4),  # the first token of each row is prefill's
        ("time_to_first_token", 0.375),
        ("rounds", 5),
        ("mean_acceptance_length", 36 / 5),  # over all rounds, not the mean of the rows' means
        ("acceptance_histogram", {"1": 2, "2": 1, "16": 2}),
        ("acceptance_by_position", [0.6, *[0.4] * 14]),  # longer than 1: of 16, 16, 2; longer than 2: of 16, 16
        ("seconds", SECONDS),
        *CONTEXT.items(),
    ],
)
def test_figures(key, value):
    assert summary(*TWO)[key] == value


@pytest.mark.parametrize(("lengths", "shares"), [([1], [0, 0]), ([2, 1], [0.5, 0]), ([3, 3, 2, 1], [0.75, 0.5]), ([], None)])
def test_positions_stand_in_rounds_that_are_longer(lengths, shares):
    """And their sum and 1, the bonus, is the mean length."""
    found = statistics.by_position(lengths, 2)
    assert found == shares
    assert not lengths or 1 + sum(found) == sum(lengths) / len(lengths)


def test_what_each_answer_took():
    times = dict(decode_seconds=1.5, draft_seconds=0.5, verify_seconds=0.75)
    assert summary(result(28, [16, 16], sample=1, **times))["answers"] == [
        dict(id=0, sample=1, rounds=2, tokens=28, mean_acceptance_length=16.0, prefill_seconds=0.25, **times)
    ]


@pytest.mark.parametrize(
    ("samples", "prompts"),
    [([(0, 3)], 1), ([(0, 3), (1, 3), (2, 3)], 1), ([(0, 3), (0, 3)], 2), ([(0, 3), (1, 3), (0, 4)], 2), ([(1, 3), (2, 3)], 1), ([], 0)],
)
def test_prompts_are_counted_once_each_however_many_answers(samples, prompts):
    """(sample, prompt length) of each answer; one id for all."""
    found = summary(*(result(2, prompt=length, sample=sample) for sample, length in samples))
    assert (found["prompts"], len(found["answers"])) == (prompts, len(samples))
    assert found["prompt_tokens"] in (3 * prompts, 7)


def test_histogram_is_in_order_of_length():
    assert [*summary(*TWO)["acceptance_histogram"]] == ["1", "2", "16"]


def test_versions_name_the_package_and_what_it_runs_on():
    versions = summary()["versions"]
    assert versions["jax"] == jax.__version__
    assert {"domino-jax", "jaxlib", "flax"} <= versions.keys()


@given(rows=st.lists(st.lists(st.integers(1, 17), max_size=9), max_size=5))
def test_identities(rows):
    """Histogram, rounds, mean and tokens are counts of the same rounds."""
    found = summary(*(result(1 + sum(lengths), lengths) for lengths in rows))
    histogram = {int(length): count for length, count in found["acceptance_histogram"].items()}
    produced = sum(length * count for length, count in histogram.items())
    assert sum(histogram.values()) == found["rounds"] == sum(map(len, rows))
    assert produced == found["tokens"] - len(found["answers"]) == round((found["mean_acceptance_length"] or 0) * found["rounds"])
    assert json.loads(json.dumps(found)) == found


@pytest.mark.parametrize("results", [(), (result(1),), (result(0, error="not finite"),)], ids=["no prompt", "no round", "failed"])
def test_figures_without_rounds_are_null(results):
    found = summary(*results)
    assert found["mean_acceptance_length"] is found["tokens_per_second"] is None
    assert found["acceptance_by_position"] is None
    assert (found["rounds"], found["acceptance_histogram"]) == (0, {})
    assert "acceptance" not in statistics.line(found)


def test_failed_rows_are_counted():
    assert (summary(*TWO, result(0, error="not finite"))["failed"], summary(*TWO)["failed"]) == (1, 0)


# The line


def test_line_says_everything_once():
    assert statistics.line(summary(*TWO)) == (
        "cpu (some cpu), float32, domino draft drafts/one, 2 prompts, 33 tokens, 7.8 tokens/s after the first token, "
        "first token after 0.375 s, 5 rounds, mean acceptance length 7.20 (accepted + bonus)"
    )


def test_line_of_a_run_without_drafter():
    assert "float32, no draft, 1 prompt, 2 tokens," in statistics.line(summary(result(2, [1]), draft="none", draft_path=None))


def test_line_counts_answers_where_there_are_several_to_a_prompt():
    assert ", 1 prompt, 2 answers, 4 tokens, " in statistics.line(summary(result(2, sample=0), result(2, sample=1)))


def test_line_counts_in_singular_and_plural():
    assert "1 prompt, 1 token, " in statistics.line(summary(result(1)))
    assert ", 1 round, " in statistics.line(summary(result(2, [1])))


# The warning


@pytest.mark.parametrize(
    ("lengths", "draft", "warned"),
    [
        ([1] * 8, "domino", True),
        ([1] * 8, "dflash", True),
        ([1] * 9 + [2], "domino", True),  # 1.1
        ([1] * 8 + [2, 2], "domino", False),  # 1.2
        ([16] * 8, "domino", False),
        ([1] * 7, "domino", False),  # too few to tell
        ([], "domino", False),
        ([1] * 27, "none", False),  # always 1
    ],
)
def test_warning_at_low_acceptance_only(lengths, draft, warned):
    said = statistics.warning(summary(result(1 + sum(lengths), lengths), draft=draft))
    assert (said is not None) == warned


def test_warning_names_the_figure_and_the_usual_causes():
    said = statistics.warning(summary(result(28, [1] * 27)))
    assert said.startswith("warning: mean acceptance length 1.00")
    for cause in ("thinking", "another target", "shift_label"):
        assert cause in said
    assert "\n" not in said
