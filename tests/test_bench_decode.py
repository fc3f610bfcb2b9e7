"""The bench of whole rounds: frozen rows, limits by hand, and a table that says what was measured."""

import json

import jax
import numpy as np
import pytest

from bench import decode
from domino_jax.engine import Engine
from tests.gpu.run import configs

CASE = decode.Case(batch=2, capacity=128, used=50)


@pytest.fixture(scope="module")
def engine() -> Engine:
    return Engine.random(*configs(small=True), jax.random.key(0), "float32", pool_size=64)


def test_every_iteration_is_the_same_work(engine):
    rounds = decode.Rounds(engine, CASE, drafted=True)
    first, proposals = np.asarray(rounds.round()), np.asarray(rounds.draft())
    for _ in range(3):
        assert np.array_equal(rounds.round(), first)
        assert np.array_equal(rounds.draft(), proposals)
    assert rounds.run.state.length_B.tolist() == [50, 50]
    assert (proposals >= 0).all()


def test_limits_are_what_a_pass_must_read_or_compute(engine):
    layer = 64 * (4 + 2 + 2) * 16 + 4 * 16 * 64 + 3 * 64 * 96 + 2 * 64 + 2 * 16
    head, gru = 512 * 64, 3 * 32 * (64 + 32)
    keys_values = 2 * 2 * 2 * 16 * 50 * 4  # keys and values, kv heads, batch, width, slots, bytes; a layer
    weights = 4 * (4 * layer + 64 + head)
    slow_memory = decode.Rates(bytes_per_second=1e6, operations_per_second=1e18)
    found = decode.limits(engine, CASE, slow_memory)
    assert found["verify"] == found["step"] == pytest.approx(1e-3 * (weights + 4 * keys_values))
    backbone = 2 * layer + 2 * 64 * 64 + 2 * 64
    domino = gru + (64 + 32) * 16 + 64 * 16  # the pool's rows of the projector
    assert found["draft"] == pytest.approx(1e-3 * (4 * (backbone + domino + head) + 2 * keys_values))
    slow_arithmetic = decode.Rates(bytes_per_second=1e18, operations_per_second=1e6)
    assert decode.limits(engine, CASE, slow_arithmetic)["verify"] == pytest.approx(1e-3 * 2 * weights / 4 * 2 * 16)


def test_the_command_prints_and_keeps_what_it_measured(tmp_path, capsys):
    words = ["--shapes", "tiny", "--batch", "1", "2", "--capacity", "128", "--used", "40", "--acceptance", "1", "3.5"]
    assert decode.main([*words, "--repeats", "2", "--iterations", "2", "--json", str(tmp_path / "x.json")]) == 0
    printed, err = capsys.readouterr()
    kept = json.loads((tmp_path / "x.json").read_text())
    assert [(row["batch"], row["capacity"], row["used"]) for row in kept["rows"]] == [(1, 128, 40), (2, 128, 40)]
    for row in kept["rows"]:
        took = row["median"]
        assert took.keys() == {"draft", "verify", "round", "step"}
        assert row["compile_seconds"].keys() == {"draft", "verify", "step"}
        assert row["tokens_per_second"]["3.5"] == pytest.approx(1e3 * row["batch"] * 3.5 / took["round"])
        assert row["even_at"] == pytest.approx(took["round"] / took["step"])
        assert f"{took['round']:.3f} ({took['round'] / row['limit']['round']:.2f})" in printed
    assert "In brackets: times the limit." in printed
    assert err == ""


def test_a_batch_that_fails_is_named_and_the_others_are_kept(tmp_path, capsys, monkeypatch):
    """The first is in the file before the second has failed."""
    out = tmp_path / "x.json"

    def limits(engine, case, rates):
        if case.batch == 2:
            assert [row["batch"] for row in json.loads(out.read_text())["rows"]] == [1]
            raise MemoryError
        return dict.fromkeys(("draft", "verify", "round", "step"), 1.0)

    monkeypatch.setattr(decode, "limits", limits)
    words = ["--shapes", "tiny", "--batch", "1", "2", "--capacity", "128", "--used", "40", "--repeats", "1", "--iterations", "1"]
    assert decode.main([*words, "--json", str(out)]) == 1
    printed, err = capsys.readouterr()
    good, failed = json.loads(out.read_text())["rows"]
    assert good["median"]["round"] > 0
    assert failed == dict(batch=2, capacity=128, used=40, error="MemoryError")
    assert "| 2 | 128 | 40 | MemoryError |\n" in printed
    assert err == "FAIL: batch 2, capacity 128, used 40: MemoryError\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--used", "200"], "--used is 200, expected 1 to 112"),
        (["--acceptance", "0.5"], "--acceptance is 0.5"),
        (["--batch", "0"], "--batch is 0"),
    ],
)
def test_impossible_numbers_are_refused(words, said, capsys):
    assert decode.main(["--shapes", "tiny", "--capacity", "128", *words]) == 2
    assert said in capsys.readouterr().err
