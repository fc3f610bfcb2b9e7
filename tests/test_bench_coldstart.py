"""Starts of real processes: the parts add up, the first fills the compilation cache, and what is made up of random weights loads."""

import json
from pathlib import Path

import numpy as np
import pytest

from bench import coldstart, random_checkpoint, report
from domino_jax import checkpoint
from domino_jax.engine import open_pair
from domino_jax.tensors import draft_rows, target_rows


@pytest.fixture(scope="module")
def kept(tmp_path_factory) -> Path:
    """What one start in each state of the page cache leaves."""
    directory = tmp_path_factory.mktemp("kept")
    (directory / "tiny").mkdir()
    argv = ["--shapes", "tiny", "--directory", directory / "tiny", "--repeats", 1, "--json", directory / "coldstart_a.json"]
    assert coldstart.main([*map(str, argv)]) == 0
    return directory


def test_the_parts_are_the_whole(kept):
    about = json.loads((kept / "coldstart_a.json").read_text())
    assert [row["page_cache"] for row in about["rows"]] == ["warm", "dropped"]
    for row in about["rows"]:
        seconds = row["median"]
        assert sum(seconds[part] for part in coldstart.PARTS) == pytest.approx(seconds["total"])
        assert all(seconds[part] >= 0 for part in seconds)
        assert row["disk"] > 0 < row["to_device"]
    pair = open_pair(str(kept / "tiny" / "target"), str(kept / "tiny" / "draft"))
    assert about["stored"] == pair.target.bytes() + pair.draft.bytes()
    assert about["memory"]["weights"] == pair.models.weights


def test_only_the_first_start_compiles(kept):
    about = json.loads((kept / "coldstart_a.json").read_text())
    cached = [
        [one["cached"] for one in start["compiled"]] for start in (about["first_start"], *(row["starts"][0] for row in about["rows"]))
    ]
    assert cached == [[False] * 4, [True] * 4, [True] * 4]


def test_the_report_has_it(kept, monkeypatch, capsys):
    monkeypatch.setattr(report, "RESULTS", kept)
    assert report.main([]) == 0
    printed = capsys.readouterr().out
    assert "| load | " in printed
    assert "peak device memory: the device reports none; predicted" in printed


def test_a_pair_is_made_in_shards_once_and_opens(tmp_path, monkeypatch):
    monkeypatch.setattr(random_checkpoint, "SHARD_BYTES", 60_000)
    monkeypatch.setattr(random_checkpoint, "BLOCK_BYTES", 1 << 12)
    target, draft = random_checkpoint.make_pair(tmp_path, "tiny")
    assert len(list(target.glob("*.safetensors"))) > 2
    for opened, rows_of in ((checkpoint.open_target(target), target_rows), (checkpoint.open_draft(draft), draft_rows)):
        assert [row.parameter for row in opened.rows] == [row.parameter for row in rows_of(opened.config)]
        for _, array in opened.parameters(None):
            values = np.asarray(array, np.float32)
            assert 0 < np.abs(values).max() <= 0.0201
            assert values.std() > 0.005
    stamps = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.safetensors")}
    random_checkpoint.make_pair(tmp_path, "tiny")
    assert {path: path.stat().st_mtime_ns for path in stamps} == stamps


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["--shapes", "tiny"], "--shapes goes with --directory"),
        (["--directory", "x"], "--shapes goes with --directory"),
        (["--repeats", "0"], "--repeats: 0 is too small, expected at least 1"),
        (["--target", "nowhere"], "nowhere: holds no *.safetensors file"),
    ],
)
def test_what_cannot_be_measured_is_refused(argv, words, capsys):
    assert coldstart.main(argv) == 2
    assert words in capsys.readouterr().err
