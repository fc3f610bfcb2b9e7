"""Evaluation: definitions on hand-made results, and a run of the command."""

import dataclasses
import json

import numpy as np
import pytest

from domino_jax import evaluate
from domino_jax.events import Result


@pytest.mark.parametrize(
    ("text", "answer", "expected"),
    [
        ("so\n#### 12", "x\n#### 12", True),
        ("so\n#### 12 and #### 13", "#### 13", False),  # the first counts
        ("12", "#### 12", False),
        ("#### -3", "####-3", True),
        (" blue ", "blue", True),
        ("Blue", "blue", False),
        (None, "blue", False),
    ],
)
def test_right(text, answer, expected):
    assert evaluate.right(text, answer) is expected


def result(lengths: list[int], ids: list[int], text: str = "") -> Result:
    return Result(0, (1,), output_ids=ids, text=text, acceptance_lengths=lengths)


def test_figures_by_hand():
    plain = [result([1] * 5, list(range(6)), "#### 1"), result([1] * 3, list(range(4)), "#### 2")]
    first = [result([2, 2, 2], list(range(6)), "#### 1"), result([2, 2], list(range(4)), "#### 2")]
    rows = [result([3, 3], list(range(6)), "#### 1"), result([4], [0, 1, 2, 9], "#### 9")]
    found = evaluate.figures("d", "domino", 3, rows, plain, first, ["#### 1", "#### 2"], seconds=2.0)
    assert (found.score, found.equal, found.rounds, found.tokens, found.tokens_per_second) == (0.5, 1, 3, 10, 4.0)
    assert found.acceptance_length == pytest.approx(10 / 3)
    assert found.ratio == pytest.approx(10 / 3 / 2)
    assert found.oracle == pytest.approx(8 / 3)  # 5 and 3 later tokens in blocks of 4: two rounds and one
    assert found.by_position == pytest.approx([1, 1, 1 / 3])
    assert found.interval[0] <= found.acceptance_length <= found.interval[1]
    assert found.ratio_interval[0] <= found.ratio <= found.ratio_interval[1]


def test_the_interval_narrows_with_prompts():
    rng = np.random.default_rng(0)
    many = [result(rng.integers(1, 16, 9).tolist(), [0, 1]) for _ in range(200)]
    wide, narrow = (evaluate.figures("d", "domino", 15, part, part, part, None, 1.0).interval for part in (many[:10], many))
    assert narrow[1] - narrow[0] < (wide[1] - wide[0]) / 2


def test_figures_without_a_round_are_none_and_dashes():
    """A budget of one token: prefill gives it, and nothing is drafted."""
    rows = [result([], [1]), result([], [2])]
    found = evaluate.figures("d", "domino", 15, rows, rows, rows, None, 1.0)
    assert (found.rounds, found.tokens, found.equal) == (0, 2, 2)
    means = ("acceptance_length", "interval", "ratio", "ratio_interval", "oracle", "by_position", "tokens_per_second")
    assert [getattr(found, name) for name in means] == [None] * 7
    assert evaluate.markdown([found], 2).splitlines()[2] == "| d |  | 2 of 2 | 0 | – | – | – | – |"
    assert "NaN" not in json.dumps(dataclasses.asdict(found))


def test_resamples_without_a_round_are_left_out_of_the_interval():
    rows = [result([], [1]), result([2, 2], [1, 2, 3, 4, 5])]
    found = evaluate.figures("d", "domino", 15, rows, rows, rows, None, 1.0)
    assert (found.acceptance_length, found.interval, found.ratio, found.ratio_interval) == (2.0, (2.0, 2.0), 1.0, (1.0, 1.0))


def test_the_command(counting_pair, prompts_file, tmp_path, capsys):
    file = str(prompts_file({"prompt_ids": [0]}, {"prompt_ids": [20]}))
    argv = ["--target", str(counting_pair[0]), "--draft", str(counting_pair[1]), "--prompts", file, "--max-new-tokens", "40"]
    assert evaluate.main([*argv, "--output", "json", "--plot", str(tmp_path / "plot.png")]) == 0
    plain, domino = json.loads(capsys.readouterr().out)["runs"]
    assert (plain["kind"], plain["acceptance_length"], plain["equal"], plain["score"]) == ("none", 1.0, 2, None)
    assert (domino["kind"], domino["acceptance_length"], domino["rounds"], domino["equal"], domino["tokens"]) == ("domino", 16.0, 3, 2, 36)
    assert (tmp_path / "plot.png").stat().st_size > 1000
    assert evaluate.main(argv) == 0
    table = capsys.readouterr().out.splitlines()
    assert [line.count("|") for line in table[:4]] == [9] * 4
    assert "accepted + bonus" in table[-1]


def test_answers_are_in_every_line_or_in_none(counting_pair, prompts_file, capsys):
    file = str(prompts_file({"prompt_ids": [0], "answer": "#### 1"}, {"prompt_ids": [20]}))
    assert evaluate.main(["--target", str(counting_pair[0]), "--prompts", file]) == 2
    assert "prompt 2: answer is null, expected a text in every line or in none" in capsys.readouterr().err


def test_one_token_each(counting_pair, prompts_file, capsys):
    file = str(prompts_file({"prompt_ids": [0]}))
    argv = ["--target", str(counting_pair[0]), "--draft", str(counting_pair[1]), "--prompts", file, "--max-new-tokens", "1"]
    assert evaluate.main([*argv, "--output", "json"]) == 0
    plain, domino = json.loads(capsys.readouterr().out, parse_constant=lambda name: pytest.fail(name))["runs"]
    assert plain["acceptance_length"] is domino["acceptance_length"] is domino["ratio"] is None
    assert evaluate.main(argv) == 0
    printed = capsys.readouterr()
    assert "nan" not in (printed.out + printed.err).lower()


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["--plot", "x.png"], "--plot is given without --draft"),
        (["--draft", "d", "--plot", "x.gif"], "x.gif: its suffix is .gif, expected .png or .svg"),
        (["--draft", "d", "--plot", "missing/x.png"], "missing/x.png: its directory is missing"),
    ],
)
def test_pictures_that_cannot_be_are_refused_at_the_start(prompts_file, capsys, argv, said):
    assert evaluate.main(["--target", "missing", "--prompts", str(prompts_file({"prompt_ids": [0]})), *argv]) == 2
    assert said in capsys.readouterr().err


def test_one_answer_to_a_prompt(counting_pair, prompts_file, capsys):
    file = prompts_file({"prompt_ids": [0]}, {"prompt_ids": [0], "n": 3, "temperature": 1})
    assert evaluate.main(["--target", str(counting_pair[0]), "--prompts", str(file)]) == 2
    assert f"{file}, line 2: n is 3, expected 1" in capsys.readouterr().err
