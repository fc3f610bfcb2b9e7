"""The bench of whole rounds: frozen rows, limits by hand, and a table that says what was measured."""

import json

import jax
import numpy as np
import pytest
import torch

from bench import decode, limits, torch_baseline, torch_parity, torch_rounds
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


def test_the_parts_make_up_the_draft(engine):
    """Alone they give what the draft program gives; and timing them disturbs no round."""
    rounds = decode.Rounds(engine, CASE, drafted=True)
    report, proposals = np.asarray(rounds.round()), np.asarray(rounds.draft())
    parts = rounds.parts_of_draft()
    for _ in range(2):
        hidden, base, walked = (np.asarray(parts[name].start()) for name in ("block pass", "base logits", "rollout"))
        assert np.array_equal(walked, proposals)
        assert np.array_equal(base[:, 0].argmax(-1), proposals[:, 0])
        assert hidden.shape == (2, 15, 64)
        assert np.array_equal(rounds.round(), report)


def test_limits_are_what_a_pass_must_read_or_compute(engine):
    layer = 64 * (4 + 2 + 2) * 16 + 4 * 16 * 64 + 3 * 64 * 96 + 2 * 64 + 2 * 16
    head, gru = 512 * 64, 3 * 32 * (64 + 32)
    keys_values = 2 * 2 * 2 * 16 * 50 * 4  # keys and values, kv heads, batch, width, slots, bytes; a layer
    weights = 4 * (4 * layer + 64 + head)
    slow_memory = limits.Rates(bytes_per_second=1e6, operations_per_second=1e18)
    found = limits.works(engine, CASE)
    least = {name: work.milliseconds(slow_memory) for name, work in found.items()}
    assert least["verify"] == least["step"] == pytest.approx(1e-3 * (weights + 4 * keys_values))
    backbone = 2 * layer + 2 * 64 * 64 + 2 * 64
    domino = gru + (64 + 32) * 16 + 64 * 16  # the pool's rows of the projector
    assert least["block pass"] == pytest.approx(1e-3 * (4 * backbone + 2 * keys_values))
    assert least["rollout"] == pytest.approx(1e-3 * 4 * (domino + head))
    assert found["draft"] == found["block pass"] + found["rollout"]
    slow_arithmetic = limits.Rates(bytes_per_second=1e18, operations_per_second=1e6)
    assert found["verify"].milliseconds(slow_arithmetic) == pytest.approx(1e-3 * 2 * weights / 4 * 2 * 16)
    assert found["base logits"].milliseconds(slow_arithmetic) == pytest.approx(1e-3 * 2 * head * 2 * 15)


def test_the_command_prints_and_keeps_what_it_measured(tmp_path, capsys):
    """Recorded histograms are a length too; a case that does not fit is named, not measured; a trace has the scopes of the round."""
    (tmp_path / "told.json").write_text(json.dumps({"acceptance_histogram": {"2": 3, "6": 1}}))
    words = ["--shapes", "tiny", "--batch", "2", "--capacity", "128", str(10**9), "--used", "40"]
    words += ["--acceptance", "1", "3.5", str(tmp_path / "told.json"), "--profile", str(tmp_path / "trace")]
    assert decode.main([*words, "--repeats", "2", "--iterations", "2", "--json", str(tmp_path / "x.json")]) == 1
    printed, err = capsys.readouterr()
    kept = json.loads((tmp_path / "x.json").read_text())
    (row,) = kept["rows"]
    took = row["median"]
    assert row["compile_seconds"].keys() == {"draft", "verify", "step"}
    assert (row["batch"], row["capacity"], row["used"]) == (2, 128, 40)
    assert took.keys() == {"block pass", "base logits", "rollout", "draft", "verify", "round", "step"}
    assert row["sum"] == took["draft"] + took["verify"]
    assert kept["acceptance"] == {"1": 1.0, "3.5": 3.5, "3.00 (told.json)": 3.0}
    assert row["tokens_per_second"]["3.00 (told.json)"] == pytest.approx(1e3 * 2 * 3 / took["round"])
    assert row["even_at"] == pytest.approx(took["round"] / took["step"])
    assert row["of_bandwidth"]["round"] == pytest.approx(1e3 * row["bytes"]["round"] / took["round"] / kept["rates"]["bytes_per_second"])
    assert f"{took['round']:.3f} ({took['round'] / row['limit']['round']:.2f})" in printed
    assert f"{row['step_tokens_per_second']:,.0f} |" in printed
    assert list(kept["not_measured"]) == [f"batch 2, capacity {10**9}, 40 used"]
    assert f"* not measured: batch 2, capacity {10**9}, 40 used: needs" in printed
    (trace,) = (tmp_path / "trace" / "batch2_capacity128").rglob("*.xplane.pb")
    for scope in (b"jit(draft)/block_pass", b"jit(draft)/base_logits", b"jit(draft)/rollout/walk", b"jit(verify)/layers/layer3",
                  b"jit(verify)/head", b"jit(verify)/acceptance"):  # fmt: skip
        assert scope in trace.read_bytes()
    assert err.startswith(f"FAIL: batch 2, capacity {10**9}, 40 used: needs")


def test_a_batch_that_fails_is_named_and_the_others_are_kept(tmp_path, capsys, monkeypatch):
    """The first is in the file before the second has failed."""
    out = tmp_path / "x.json"

    def works(engine, case):
        if case.batch == 2:
            assert [row["batch"] for row in json.loads(out.read_text())["rows"]] == [1]
            raise MemoryError
        return limits.works(engine, case)

    monkeypatch.setattr(decode, "works", works)
    words = ["--shapes", "tiny", "--batch", "1", "2", "--capacity", "128", "--used", "40", "--repeats", "1", "--iterations", "1"]
    assert decode.main([*words, "--json", str(out)]) == 1
    printed, err = capsys.readouterr()
    kept = json.loads(out.read_text())
    assert [row["batch"] for row in kept["rows"]] == [1]
    assert kept["not_measured"] == {"batch 2, capacity 128, 40 used": "MemoryError"}
    assert "* not measured: batch 2, capacity 128, 40 used: MemoryError.\n" in printed
    assert err == "FAIL: batch 2, capacity 128, 40 used: MemoryError\n"


@pytest.fixture(scope="module")
def ours() -> torch_parity.Ours:
    return torch_parity.Ours()


def test_rounds_in_pytorch_are_the_same_rounds(ours):
    found = torch_parity.parity(torch_rounds.EAGER, ours)
    assert found.holds
    assert (found.same_proposals, found.same_chosen) == (found.proposals, found.chosen) == (120, 128)
    assert found.difference < 1e-4
    assert ours.run.state.length_B.tolist() == [6, 6]  # in two of the four rounds a proposal stood


@pytest.mark.parametrize("way", [torch_rounds.GRAPH, torch_rounds.COMPILED])
def test_what_needs_a_gpu_is_left_out(way, ours):
    with pytest.raises(torch_rounds.Unavailable, match="needs CUDA"):
        torch_parity.parity(way, ours)


@pytest.mark.parametrize(
    ("module", "name"), [(torch_rounds.TorchTarget, "forward"), (torch_rounds.TorchDrafter, "block"), (torch_baseline.Rollout, "__call__")]
)
def test_other_rounds_are_found_out(module, name, ours, monkeypatch):
    """The last of the outputs a little off: logits of one token raised, a hidden state or the proposals turned round."""
    right = getattr(module, name)

    def wrong(self, *arguments):
        found = right(self, *arguments)
        if name == "forward":
            return found[0].index_fill(-1, torch.tensor([7]), 9.0), found[1]
        return found.flip(1)

    monkeypatch.setattr(module, name, wrong)
    assert not torch_parity.parity(torch_rounds.EAGER, ours).holds


def test_rounds_in_pytorch_are_timed_beside_ours(ours, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(torch_parity, "Ours", lambda: ours)
    words = ["--shapes", "tiny", "--batch", "2", "--capacity", "128", "--baseline", "torch", "--repeats", "1", "--iterations", "1"]
    assert decode.main([*words, "--json", str(tmp_path / "x.json")]) == 0
    printed, err = capsys.readouterr()
    kept = json.loads((tmp_path / "x.json").read_text())
    (row,) = kept["rows"]
    found = row["torch"][torch_rounds.EAGER]
    assert (found["same_proposals"], found["same_chosen"]) == (1.0, 1.0)
    assert found["median"].keys() == found["times_faster"].keys() == {"draft", "verify", "round"}
    assert f"{found['median']['round']:.3f} ({found['times_faster']['round']:.2f})" in printed
    assert row["torch_left_out"] == dict.fromkeys((torch_rounds.GRAPH, torch_rounds.COMPILED), "needs CUDA")
    assert "120 of 120 proposals and 128 of 128 chosen tokens are ours" in kept["torch_agreement"][torch_rounds.EAGER]
    assert printed.count("left out: needs CUDA") == 2
    assert err == ""


def test_nothing_is_timed_beside_other_rounds(ours, capsys, monkeypatch):
    monkeypatch.setattr(torch_parity, "Ours", lambda: ours)
    call = torch_baseline.Rollout.__call__
    monkeypatch.setattr(torch_baseline.Rollout, "__call__", lambda self: call(self).flip(1))
    assert decode.main(["--shapes", "tiny", "--batch", "1", "--capacity", "128", "--baseline", "torch"]) == 1
    printed, err = capsys.readouterr()
    assert err.startswith(f"FAIL: {torch_rounds.EAGER}: ")
    assert printed == ""


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--used", "200"], "--used is 200, expected 1 to 112"),
        (["--acceptance", "0.5"], "--acceptance is 0.5"),
        (["--acceptance", "7", "--num-proposals", "5"], "--acceptance is 7, expected acceptance lengths from 1 to 6"),
        (["--acceptance", "absent.json"], "--acceptance absent.json"),
        (["--batch", "0"], "--batch is 0"),
    ],
)
def test_impossible_numbers_are_refused(words, said, capsys):
    assert decode.main(["--shapes", "tiny", "--capacity", "128", *words]) == 2
    assert said in capsys.readouterr().err
