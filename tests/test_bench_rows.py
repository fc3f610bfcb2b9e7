"""What the benches have in common: refusals before any work, files that stay whole."""

import importlib.util
import json
import subprocess

import pytest

from bench import attention, decode, rollout, rows, timing


@pytest.mark.parametrize("bench", [attention, decode, rollout])
@pytest.mark.parametrize("where", ["no/such/x.json", "."])
def test_a_file_that_cannot_be_is_refused_before_anything_is_measured(bench, where, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(bench, "environment", None)
    assert bench.main(["--json", str(tmp_path / where)]) == 2
    assert capsys.readouterr().err.endswith("is a directory or in none, expected a file to write\n")


@pytest.mark.parametrize("bench", [decode, rollout])
def test_a_baseline_that_is_not_installed_is_refused_before_anything_is_measured(bench, monkeypatch, capsys):
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "torch" else found(name))
    monkeypatch.setattr(bench, "environment", None)
    assert bench.main(["--baseline", "torch"]) == 2
    assert capsys.readouterr().err == "error: --baseline torch is given and PyTorch is not installed, expected it: pip install torch\n"


def test_what_was_kept_stays_until_the_next_is_whole(tmp_path, monkeypatch):
    rows.keep({"rows": [1]}, tmp_path / "x.json")
    with monkeypatch.context() as patch:
        patch.setattr("domino_jax.directories.os.fsync", lambda handle: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            rows.keep({"rows": [1, 2]}, tmp_path / "x.json")
    assert json.loads((tmp_path / "x.json").read_text()) == {"rows": [1]}
    assert [path.name for path in tmp_path.iterdir()] == ["x.json"]


def test_without_git_the_commit_is_unknown(monkeypatch):
    def absent(*_, **__):
        raise FileNotFoundError("git")

    monkeypatch.setattr(subprocess, "run", absent)
    found = timing.environment("decode")
    assert (found["bench"], found["commit"]) == ("decode", None)
    assert timing.headline(found | {"dtype": "float32"}).endswith("commit unknown")
