"""The bench of proposals: figures by hand, what is shared and kept, and the command."""

import json
import shutil
from pathlib import Path

import jax
import pytest

from bench import proposals
from domino_jax import checkpoint
from domino_jax.engine import open_pair
from domino_jax.events import Result
from domino_jax.proposals import TABLE, device, read

# Figures


def test_figures_by_hand():
    """Even where accepted tokens are as dear as steps: 300 tokens/s at 6 a round are 50 rounds, to 200 steps."""
    assert proposals.figures(8, 7, [310.0, 300.0, 100.0], 6.0, [190.0, 200.0, 900.0]) == {
        "batch_size": 8,
        "num_proposals": 7,
        "tokens_per_second": 300.0,
        "acceptance_length": 6.0,
        "even_at": 4.0,
        "repeats": [310.0, 300.0, 100.0],
    }
    assert proposals.figures(1, 7, [5.0], None, [5.0])["even_at"] is None


def test_the_acceptance_length_is_over_rounds_not_answers():
    results = [Result(0, (1,), acceptance_lengths=[1]), Result(1, (1,), acceptance_lengths=[4, 4, 3])]
    assert proposals.acceptance_length(results) == 3
    assert proposals.acceptance_length([Result(0, (1,))]) is None


def row(device: str, dtype: str, batch_size: int, num_proposals: int, tokens_per_second: float = 1.0) -> dict:
    return dict(device=device, dtype=dtype, batch_size=batch_size, num_proposals=num_proposals, tokens_per_second=tokens_per_second)


def test_what_was_measured_again_gives_way():
    old = [
        row("a", "float32", 1, 3),
        row("a", "float32", 1, 15),
        row("a", "float32", 8, 3),
        row("a", "bfloat16", 1, 3),
        row("b", "float32", 1, 3),
    ]
    new = [row("a", "float32", 1, 7), row("a", "float32", 1, 0)]
    assert proposals.merged(old, new) == [old[3], new[1], new[0], old[2], old[4]]


def test_a_line_for_each_row():
    rows = [
        proposals.figures(8, number, [rate], length, [1000.0])
        for number, rate, length in ((0, 1000.0, 1.0), (3, 1500.4, 3.0), (7, 700.0, None))
    ]
    assert proposals.markdown(rows).splitlines()[2:] == [
        "| 8 | none | 1,000 |  |  |  |",
        "| 8 | 3 | 1,500 | 1.50 x | 3.00 | 2.00 |",
        "| 8 | 7 | 700 | 0.70 x |  |  |",
    ]


# What is shared


def test_drafters_share_their_weights(counting_pair):
    pair = open_pair(*map(str, counting_pair), pool_size=5)
    loaded = pair.load().drafter
    found = proposals.drafters_of(pair, loaded, [3, 16])
    assert found.pop(0) is None
    assert [(drafter.num_proposals, drafter.pool_size) for drafter in found.values()] == [(3, 5), (16, 5)]
    for drafter in found.values():
        ours, theirs = checkpoint.leaves(drafter), checkpoint.leaves(loaded)
        assert ours.keys() == theirs.keys()
        assert all(ours[name] is theirs[name] for name in ours)


# The command


@pytest.fixture
def pair(counting_pair, tmp_path) -> tuple[Path, Path]:
    """The counting pair, its drafter in a directory of its own."""
    shutil.copytree(counting_pair[1], tmp_path / "draft")
    return counting_pair[0], tmp_path / "draft"


@pytest.fixture
def bench(pair, tmp_path):
    """Runs the command on the counting pair, which has no tokenizer -> its exit status."""
    prompts = tmp_path / "asked.jsonl"
    prompts.write_text('{"prompt_ids": [0]}\n{"prompt_ids": [5, 6, 7], "max_new_tokens": 9}\n')

    def bench(*argv) -> int:
        models = "--target", str(pair[0]), "--draft", str(pair[1])
        return proposals.main([*models, "--prompts", f"mine={prompts}", *map(str, argv)])

    return bench


FEW = ("--num-proposals", 2, 15, "--requests", 3, "--repeats", 2, "--max-new-tokens", 20)


def test_the_command_writes_what_generate_reads(bench, pair, run, capfd):
    assert bench("--batch-size", 1, 2, *FEW) == 0
    printed = capfd.readouterr()
    written = json.loads((pair[1] / TABLE).read_text())
    rows = written["rows"]
    assert [(row["batch_size"], row["num_proposals"]) for row in rows] == [(size, number) for size in (1, 2) for number in (0, 2, 15)]
    assert {(row["device"], row["dtype"], row["jax"]) for row in rows} == {(device(), "float32", jax.__version__)}
    assert all(row["command"].startswith("python -m bench.proposals --target") for row in rows)
    assert [row["acceptance_length"] for row in rows[:3]] == [1.0, 3.0, 16.0]
    assert all(len(row["repeats"]) == 2 for row in rows)
    assert written["conventions"] == proposals.CONVENTIONS
    assert printed.out == proposals.markdown(rows) + "\n"
    assert printed.err.count("batch 2, 15 proposals: ") == 2
    best = max(read(pair[1] / TABLE, 16)[1:3], key=lambda row: row.tokens_per_second)
    done = run("--target", pair[0], "--draft", pair[1], "--prompt-ids", "0", "--num-proposals", "auto", "--output", "json")
    assert done.answers[0]["acceptance_lengths"][0] == best.num_proposals + 1


def test_what_is_compiled_of_the_target_is_compiled_once(bench, capfd):
    assert bench("--batch-size", 1, *FEW) == 0
    lines = capfd.readouterr().err.splitlines()
    assert [sum(f" {program} for batch 1" in line for line in lines) for program in ("prefill", "step", "draft", "verify")] == [1, 1, 2, 2]


def test_every_number_is_as_lossless(bench, monkeypatch):
    """What is timed is the text of the target."""
    texts, serve = [], proposals.serve

    def listening(engine, case, asked, name):
        results, seconds = serve(engine, case, asked, name)
        texts.append([result.output_ids for result in results])
        return results, seconds

    monkeypatch.setattr(proposals, "serve", listening)
    assert bench("--batch-size", 2, *FEW) == 0
    assert texts == [[[*range(1, 21)], [*range(8, 17)], [*range(1, 21)]]] * 6


@pytest.mark.parametrize(("raised", "status"), [(KeyboardInterrupt, 130), (RuntimeError("RESOURCE_EXHAUSTED"), 1)])
def test_what_is_measured_stays_when_the_rest_fails(bench, pair, monkeypatch, raised, status):
    """With the rows that were in the table before."""
    there = row("some chip", "bfloat16", 64, 3) | {"beside": "kept as it is"}
    (pair[1] / TABLE).write_text(json.dumps({"rows": [there]}))
    measure = proposals.measure

    def failing(engines, case, repeats):
        if case.slots == 2:
            raise raised
        return measure(engines, case, repeats)

    monkeypatch.setattr(proposals, "measure", failing)
    assert bench("--batch-size", 1, 2, *FEW) == status
    rows = json.loads((pair[1] / TABLE).read_text())["rows"]
    assert rows[-1] == there
    assert [row["num_proposals"] for row in rows[:-1]] == [0, 2, 15]


def test_the_numbers_unless_told(counting_pair):
    def numbers(most: int | None, *argv: str) -> list[int]:
        return proposals.numbers(proposals.parser().parse(argv), open_pair(*map(str, counting_pair), num_proposals=most))

    assert numbers(None) == [3, 7, 15]
    assert numbers(5) == [3, 5]  # as of a block of 6
    assert numbers(2) == [2]
    assert numbers(9, "--num-proposals", "9", "4", "9") == [4, 9]


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["--num-proposals", "3", "17"], "num_proposals is 17, expected 1 to 16"),
        (["--num-proposals", "auto"], "'auto' is not an integer"),
        (["--batch-size", "0"], "0 is too small, expected at least 1"),
        (["--prompts", "problems"], "the target has no tokenizer"),
        (["--max-new-tokens", "300"], "max_context is 301, expected 2 to max_position_embeddings"),
        (["--out", "."], "is no file, expected a JSON object"),
        (["--out", "/dev/null/x.json"], "cannot be written"),
        (["--batch-sise", "1"], "the nearest is --batch-size"),
    ],
)
def test_bad_options_are_one_line_and_exit_2(bench, pair, argv, said, capfd, monkeypatch):
    """And nothing is loaded or written."""
    monkeypatch.setattr(checkpoint, "load", lambda *_, **__: pytest.fail("loaded"))
    assert bench(*argv) == 2
    error = capfd.readouterr().err
    assert said in error
    assert error.count("\n") == 1
    assert not (pair[1] / TABLE).exists()


def test_one_of_target_and_draft_is_refused(capfd):
    assert proposals.main(["--target", "x"]) == 2
    assert "one of --target and --draft is given, expected both or neither" in capfd.readouterr().err


def test_a_file_that_is_no_table_is_left_alone(bench, tmp_path, capfd, monkeypatch):
    monkeypatch.setattr(checkpoint, "load", lambda *_, **__: pytest.fail("loaded"))
    other = tmp_path / "other.json"
    other.write_text('{"rows": [{"device": "x"}]}')
    assert bench("--out", other) == 2
    assert f"{other}, row 1: dtype is missing" in capfd.readouterr().err
    assert other.read_text() == '{"rows": [{"device": "x"}]}'
