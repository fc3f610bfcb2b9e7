"""The rollout's bench: every implementation proposes the same, wrong proposals are caught, and what is printed is what was measured."""

import json
import time

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bench import ladder, rollout, torch_baseline
from bench.timing import Variant, interleaved

SHAPE = dict(hidden_size=48, vocab_size=500, gru_hidden_dim=24, emb_dim=16, block_size=8)


@pytest.fixture(scope="module")
def inputs() -> rollout.Inputs:
    return rollout.Inputs.random(SHAPE, 3, jnp.dtype(jnp.float32))


@pytest.mark.parametrize("pool_size", [0, 40, 500])
def test_every_implementation_proposes_the_same(pool_size, inputs):
    ours = np.asarray(jax.jit(rollout.ours(pool_size))(*inputs.arrays))
    assert np.array_equal(torch_baseline.Rollout(*inputs.arrays, pool_size)().numpy(), ours)
    table = inputs.head.input_table(inputs.embed_VD)
    assert np.array_equal(ladder.feedback(inputs.head, table, *inputs.arrays[2:], pool_size), ours)
    if pool_size != 40:
        assert np.array_equal(ladder.plain(*inputs.arrays, one_matmul=True), ours)
        assert np.array_equal(ladder.plain(*inputs.arrays, one_matmul=False), ours)
    assert rollout.steps_below_best(inputs.arrays, jnp.asarray(ours), pool_size).max() < 0.1


def test_the_pool_matters_here(inputs):
    assert not np.array_equal(*(np.asarray(jax.jit(rollout.ours(pool_size))(*inputs.arrays)) for pool_size in (0, 4)))


@pytest.mark.parametrize("iterations", [1, 3])
def test_what_the_device_does_is_timed_and_not_its_dispatch(iterations):
    """A program that sleeps 50 ms at the end of each iteration."""

    def slept(x):
        time.sleep(0.05)
        return x

    slow = jax.jit(lambda x: jax.pure_callback(slept, x, x))
    timing = interleaved({"slow": Variant(lambda: slow(jnp.ones(2)))}, repeats=2, iterations=iterations)["slow"]
    assert timing.median >= 50


@pytest.mark.parametrize("pool_size", [0, 40])
@pytest.mark.parametrize("place", [0, 3, 6])
def test_a_wrong_proposal_is_caught(place, pool_size, inputs):
    proposals = jax.jit(rollout.ours(pool_size))(*inputs.arrays)
    wrong = proposals.at[1, place].set((proposals[1, place] + 1) % SHAPE["vocab_size"])
    below_BP = np.asarray(rollout.steps_below_best(inputs.arrays, wrong, pool_size))
    assert below_BP[1, place] > rollout.STEPS
    assert below_BP[[0, 2]].max() < 0.1


def test_a_loop_waits_for_all_of_it():
    waits = []
    variants = {name: Variant(lambda name=name: name, waits.append) for name in ("a", "b")}
    timings = interleaved(variants, repeats=3, iterations=5)
    assert waits == ["a", "b"] + ["a", "b"] * 3  # the warm-up's, then in turns
    assert all(len(timing.repeats) == 3 for timing in timings.values())


def test_the_command_prints_and_keeps_what_it_measured(tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(rollout.SHAPES, "small", SHAPE)
    words = ["--shapes", "small", "--batch", "2", "--pool", "0", "40", "--baseline", "torch", "--ladder", "--repeats", "2"]
    assert rollout.main([*words, "--iterations", "2", "--json", str(tmp_path / "x.json")]) == 0
    printed, err = capsys.readouterr()
    kept = json.loads((tmp_path / "x.json").read_text())
    assert [row["pool_size"] for row in kept["rows"]] == [0, 40]
    for row in kept["rows"]:
        assert row["median"].keys() == {"base logits", "ours", "torch", *ladder.RUNGS}
        assert row["agreement"]["torch"]["same"] == 1.0
        assert all(len(repeats) == 2 for repeats in row["milliseconds"].values())
        assert f"{row['median']['ours']:.3f}" in printed
        assert f"{row['median']['torch'] / row['median']['ours']:.2f}" in printed
        assert row["compile_seconds"].keys() == {"base logits", "ours", "compiled", "feedback", "pool"}
        assert min(row["compile_seconds"].values()) > 0
    assert (kept["platform"], kept["device"], kept["dtype"]) == ("cpu", "cpu", "float32")
    assert (kept["rows"][0]["batch"], kept["shape"], kept["versions"]["jax"]) == (2, SHAPE, jax.__version__)
    assert "cpu, float32" in printed
    assert err == ""


def test_a_wrong_implementation_fails_the_command(capsys, monkeypatch):
    monkeypatch.setitem(rollout.SHAPES, "small", SHAPE)
    call = torch_baseline.Rollout.__call__
    monkeypatch.setattr(torch_baseline.Rollout, "__call__", lambda self: call(self).flip(1))
    words = ["--shapes", "small", "--batch", "1", "--pool", "0", "--baseline", "torch", "--repeats", "1", "--iterations", "1"]
    assert rollout.main(words) == 1
    assert "FAIL: batch 1, pool 0: torch proposes a token" in capsys.readouterr().err


@pytest.mark.parametrize("batches", [["2", "1"], ["2"]])
def test_a_batch_that_fails_is_named_and_the_others_are_kept(batches, tmp_path, capsys, monkeypatch):
    """On standard output, in the file and in the exit status; also where it was the only one."""
    random = rollout.Inputs.random

    def failing(shape, batch, dtype):
        if batch == 2:
            raise RuntimeError("RESOURCE_EXHAUSTED: out of memory\nand a page of figures")
        return random(shape, batch, dtype)

    monkeypatch.setitem(rollout.SHAPES, "small", SHAPE)
    monkeypatch.setattr(rollout.Inputs, "random", failing)
    words = ["--shapes", "small", "--batch", *batches, "--pool", "0", "--repeats", "1", "--iterations", "1"]
    assert rollout.main([*words, "--json", str(tmp_path / "x.json")]) == 1
    printed, err = capsys.readouterr()
    rows = {row.pop("batch"): row for row in json.loads((tmp_path / "x.json").read_text())["rows"]}
    assert [str(batch) for batch in rows] == batches
    assert rows.pop(2) == {"pool_size": 0, "error": "RESOURCE_EXHAUSTED: out of memory"}
    assert all(row["median"]["ours"] > 0 for row in rows.values())
    assert "| 2 | all | RESOURCE_EXHAUSTED: out of memory |\n" in printed
    assert err == "FAIL: batch 2, pool_size 0: RESOURCE_EXHAUSTED: out of memory\n"


@pytest.mark.parametrize(
    ("words", "said"), [(["--batch", "0"], "--batch is [0]"), (["--iterations", "0"], "--iterations is 0"), (["--pool", "-1"], "--pool is")]
)
def test_impossible_numbers_are_refused(words, said, capsys):
    assert rollout.main(["--shapes", "small", *words]) == 2
    assert said in capsys.readouterr().err
