"""The shipped pair keeps its figures; the tokenizer is Qwen3's as far as it goes; the pre-training command works."""

import json

import numpy as np
import pytest

from domino_jax import demo, generate
from domino_jax.checkpoint import open_any
from domino_jax.demo import gates, pretrain, problems, tokenizer
from domino_jax.errors import InputError
from domino_jax.events import Result
from domino_jax.figures import Acceptance
from domino_jax.rope import Rope
from domino_jax.text import Text


def test_gates(capsys):
    """Right answers, acceptance, Domino over DFlash, the pool, losslessness: on 200 problems that no model was trained on."""
    assert gates.command([]) == 0, capsys.readouterr().out
    assert capsys.readouterr().out.count("\nok ") == 6


def test_a_missed_gate_is_seen():
    some = dict(answers=9, rounds=9, acceptance_length=2.0, interval=(1.9, 2.1), ratio=1.0, ratio_interval=(0.9, 1.1))
    row = gates.Figures(
        **some, name="x", kind="none", prompts=9, score=0.5, equal=3, looping=0, without_loops=Acceptance(**some), oracle=15.0,
        by_position=[0.5], tokens=99, tokens_per_second=1.0,
    )  # fmt: skip
    pools = {gates.SMALL_POOL: [Result(0, (1,), [5], acceptance_lengths=[1])], 0: [Result(0, (1,), [6], acceptance_lengths=[2])]}
    assert not any(passed for _, passed, _ in gates.gates([row, row, row], pools, 200))


def test_generate_uses_the_pair_by_default(capsys):
    problem = next(problems.generate("test", 1))
    assert generate.main(["--prompt", problem.question, "--max-new-tokens", "256", "--stats", "none", "--check"]) == 0
    assert capsys.readouterr().out == problem.answer + "\n"


def test_exact_does_not_take_the_shipped_drafter(capsys):
    assert generate.main(["--prompt-ids", "1", "--exact"]) == 2
    assert "--exact is given with a drafter, expected --draft none" in capsys.readouterr().err


def test_show_rounds_sets_accepted_tokens_apart(capsys):
    problem = next(problems.generate("test", 1))
    assert generate.main(["--prompt", problem.question, "--max-new-tokens", "256", "--show-rounds"]) == 0
    shown = capsys.readouterr().out
    assert shown.replace("[", "").replace("]", "") == problem.answer + "\n"
    assert 2 < shown.count("[") == shown.count("]") < 20


def test_the_pair_is_small_and_complete():
    files = [path for path in demo.DIRECTORY.rglob("*") if path.is_file() and path.suffix in (".safetensors", ".json")]
    assert sum(path.stat().st_size for path in files) <= 22_000_000
    assert [open_any(path).kind for path in (demo.TARGET, demo.DRAFT, demo.DFLASH)] == ["target", "domino", "dflash"]


def test_any_text_survives_the_cut_tokenizer():
    text = Text(demo.DIRECTORY / "target")
    for sample in ("Zoltan drives 6 * 15 = 90 jars.", "naïve 你好 🙂 \t x", "#### 1234"):
        assert text.decode(text.encode(sample)) == sample
        assert max(text.encode(sample)) < tokenizer.SIZE
    assert text.decode([4097, *text.encode("x"), 4098]) == "x"


def test_cutting_keeps_ids_and_the_merges_that_make_them():
    """From a tokenizer of six ids the first five: the merge that makes the sixth goes."""
    whole = {"added_tokens": [{"id": 6}], "model": {"vocab": {"a": 0, "b": 1, "c": 2} | {"ab": 3, "abc": 4, "ca": 5},
             "merges": [["a", "b"], "ab c", ["c", "a"]]}}  # fmt: skip
    cut = tokenizer.cut(whole, 5)
    assert cut["model"] == {"vocab": {"a": 0, "b": 1, "c": 2, "ab": 3, "abc": 4}, "merges": [["a", "b"], ["ab", "c"]]}
    assert [(token["id"], token["content"]) for token in cut["added_tokens"]] == list(enumerate(tokenizer.SPECIAL, 5))
    with pytest.raises(InputError, match="6 ids below 7"):
        tokenizer.cut(whole, 7)


def test_pretraining_learns_resumes_and_writes_a_target(tmp_path, monkeypatch, capsys):
    """On a tiny shape: the loss falls, the time budget ends the run, the same command finishes it, the target loads."""
    small = pretrain.TargetConfig(4160, 32, 48, 2, 2, 1, 16, 1e-6, Rope(10000.0), 2048, True)
    monkeypatch.setattr(pretrain, "CONFIG", small)
    argv = ["--tokenizer", demo.TARGET, "--out", str(tmp_path / "run"), "--problems", "64", "--batch-size", "8", "--dtype", "float32"]
    argv += ["--steps", "16"]
    assert pretrain.main([*argv, "--minutes", "0.0001"]) == 0
    assert "the same command goes on from here" in capsys.readouterr().err
    assert pretrain.main(argv) == 0
    lines = (tmp_path / "run" / "log.csv").read_text().splitlines()
    losses = [float(line.split(",")[1]) for line in lines[1:]]
    assert len(losses) == 16
    assert losses[-1] < losses[0] - 0.5
    assert open_any(tmp_path / "run" / "target").config == small
    assert json.loads((tmp_path / "run" / "target" / "generation_config.json").read_text()) == {"eos_token_id": [4098, 4096]}
    assert np.isfinite(losses).all()
