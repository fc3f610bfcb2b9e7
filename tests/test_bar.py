"""The live bar: what it counts while answers are on their way, and where it shows."""

import io
import re

import pytest

from domino_jax.bar import Bar
from domino_jax.events import Compiled, Finished, Result, Started, Tokens


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def finished(index: int, tokens: int, *lengths: int, error: str | None = None) -> Finished:
    return Finished(index, Result(index, (1,), output_ids=[1] * tokens, acceptance_lengths=[*lengths], error=error))


def started(bar: Bar, *indices: int) -> None:
    """Each has its first token, which is prefill's."""
    for index in indices:
        bar.event(Started(index, 1, 0.1))
        bar.event(Tokens(index, (1,), None))


@pytest.fixture
def bar() -> Bar:
    return Bar(2, drafted=True, file=Terminal())


def test_figures_count_in_mid_answer(bar):
    started(bar, 0, 1)
    assert bar.figures(2.0) == "0.0 tokens/s"
    bar.event(Tokens(0, (1,) * 4, None, accepted=3))
    bar.event(Tokens(1, (1,) * 2, None, accepted=1))
    assert bar.figures(2.0) == "3.0 tokens/s, acceptance 3.00"
    bar.event(Tokens(0, (1,) * 5, None, accepted=4))
    assert bar.figures(2.0) == "5.5 tokens/s, acceptance 3.67"


def test_at_the_end_figures_are_those_of_the_statistics(bar):
    """The last round was of 16, and cut; so was the second token, by a stop text."""
    started(bar, 0, 1)
    bar.event(Tokens(0, (1,) * 4, None, accepted=4))
    bar.event(finished(0, 5, 16))
    assert bar.figures(2.0) == "2.0 tokens/s, acceptance 16.00"
    bar.event(Tokens(1, (1,), None, accepted=0))
    bar.event(finished(1, 2, 1))
    assert bar.figures(2.0) == "2.5 tokens/s, acceptance 8.50"


def test_a_failed_answer_counts_for_nothing(bar):
    started(bar, 0, 1)
    bar.event(Tokens(0, (1,) * 4, None, accepted=3))
    bar.event(Tokens(1, (1,) * 2, None, accepted=1))
    bar.event(finished(1, 0, error="not finite"))
    assert bar.figures(2.0) == "2.0 tokens/s, acceptance 4.00"


def test_without_a_drafter_there_is_no_acceptance():
    bar = Bar(2, drafted=False, file=Terminal())
    started(bar, 0)
    bar.event(Tokens(0, (1,), None))
    assert bar.figures(1.0) == "1.0 tokens/s"


def test_what_is_shown(bar):
    started(bar, 0, 1)
    bar.tqdm.mininterval = 0
    bar.event(Tokens(0, (1,) * 4, None, accepted=3))
    bar.event(finished(0, 5, 4))
    shown = bar.file.getvalue().split("\r")
    assert re.search(r"^answers:   0%\|.*\| 0/2 \[00:00<\?, [\d.]+ tokens/s, acceptance 4.00\]", shown[-2])
    assert re.search(r"^answers:  50%\|.*\| 1/2 \[00:00<00:00, [\d.]+ tokens/s, acceptance 4.00\]", shown[-1])
    bar.close()
    assert bar.file.getvalue().endswith("\r")  # and nothing is left of it


def test_compilation_is_not_counted(bar):
    bar.event(Compiled("verify", 1, 64, 9.0, False))
    assert bar.tqdm is None
    bar.close()


def test_nothing_is_shown_where_there_is_no_terminal():
    file = io.StringIO()
    bar = Bar(2, drafted=True, file=file)
    started(bar, 0)
    bar.event(Tokens(0, (1,) * 4, None, accepted=3))
    bar.event(finished(0, 5, 4))
    bar.close()
    assert file.getvalue() == ""


def test_a_run_of_several_prompts_shows_none_in_a_pipe(count):
    err = count("--prompt-ids", "26", "--prompt-ids", "25", "--batch-size", 1).err
    assert "\r" not in err
    assert "answers:" not in err
