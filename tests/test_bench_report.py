"""The report draws and prints what the benches kept, and measures nothing."""

import json
from pathlib import Path

import pytest

from bench import attention, decode, report, rollout

COMMON = ["--repeats", "1", "--iterations", "1", "--json"]


EAGER = "Transformers eager"


@pytest.fixture(scope="module")
def kept(tmp_path_factory) -> Path:
    """What the benches write on a CPU: two capacities and two pools. Figures of what takes longer to measure are made up."""
    directory = tmp_path_factory.mktemp("kept")
    files = {name: directory / f"{name}_a.json" for name in ("decode", "rollout", "attention")}
    few = ["--shapes", "tiny", "--batch", "1", "--capacity", "128", "256", "--used", "40"]
    assert decode.main([*few, *COMMON, str(files["decode"])]) == 0
    few = ["--shapes", "small", "--batch", "1", "--pool", "0", "256"]
    assert rollout.main([*few, *COMMON, str(files["rollout"])]) == 0
    few = ["--case", "1:64:40", "--layers", "1", "--kv-heads", "1", "--head-dim", "16"]
    assert attention.main([*few, *COMMON, str(files["attention"])]) == 0
    parts = dict.fromkeys(("draft", "verify", "round"), 4.0)
    beside = {"median": parts, "times_faster": parts, "same_proposals": 1.0, "same_chosen": 1.0}
    change(files["decode"], {"torch_agreement": {EAGER: "all are ours"}}, torch={EAGER: beside}, torch_left_out={"a graph": "no GPU"})
    slower = {"torch": 9.0, "inside": 8.0, "pool": 2.0}
    change(files["rollout"], {}, median=slower, spread=slower, agreement={"torch": {"same": 1.0, "steps": 0.0}})
    return directory


def change(path: Path, whole: dict, **of_rows: dict) -> None:
    """Adds to what was kept, and to each of its rows."""
    about = json.loads(path.read_text())
    rows = [row | {key: row.get(key, {}) | added for key, added in of_rows.items()} for row in about["rows"]]
    path.write_text(json.dumps(about | whole | {"rows": rows}))


def test_what_was_kept_is_printed_and_drawn(kept, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(report, "RESULTS", kept)
    assert report.main(["--out", str(tmp_path)]) == 0
    printed, err = capsys.readouterr()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["decode_a.svg", "rollout_a.svg"]
    assert all(path.read_text(encoding="utf-8").startswith("<?xml") for path in tmp_path.iterdir())
    for name in ("rollout_a", "decode_a", "attention_a"):
        assert f"### {name}.json\n" in printed
    commit = json.loads((kept / "decode_a.json").read_text())["commit"] or "unknown"
    assert printed.count(f"commit {commit}\n") + printed.count(f"commit {commit};") == 3
    whole, part = json.loads((kept / "decode_a.json").read_text())["rows"]
    assert f"| a whole round | {whole['median']['round']:.2f} | {part['median']['round']:.2f} |" in printed
    took, least = part["median"]["verify"], part["limit"]["verify"]
    share = part["of_bandwidth"]["verify"]
    assert f"| verify, batch 1, capacity 256 | {took:.3f} | {least:.3f} | {took / least:.2f} | {share:.0%} |" in printed
    assert f"| 1 | 128 | 40 | {EAGER} | 4.000 (4.00) |" in printed
    assert "a graph | left out: no GPU |" in printed
    assert err == ""


def test_a_row_that_failed_is_told_and_not_drawn(kept, tmp_path, capsys):
    about = json.loads((kept / "rollout_a.json").read_text())
    good, failed = about["rows"][0], {"batch": 64, "pool_size": 256, "error": "out of memory"}
    for name, rows in (("one", [good, failed]), ("none", [failed])):
        (tmp_path / f"{name}.json").write_text(json.dumps(about | {"rows": rows}))
        assert report.main([str(tmp_path / f"{name}.json"), "--out", str(tmp_path)]) == 0
        assert "| 64 | 256 | out of memory |" in capsys.readouterr().out
        assert (tmp_path / f"{name}.svg").exists() == (name == "one")


def test_a_serving_run_of_which_nothing_is_left_is_told(tmp_path, capsys):
    about = json.loads((Path(report.__file__).parent / "results" / "serve_8b_h200.json").read_text())
    failed = {"prompt_set": "8b", "mode": "domino", "concurrency": 64, "reason": "out of memory"}
    (tmp_path / "x.json").write_text(json.dumps(about | {"cells": [], "failed": [failed]}))
    assert report.main([str(tmp_path / "x.json"), "--out", str(tmp_path)]) == 0
    assert "* failed: 8b, domino, 64 slots: out of memory" in capsys.readouterr().out
    assert [path.name for path in tmp_path.iterdir()] == ["x.json"]


def test_the_serving_figures_in_the_repository_can_be_shown(tmp_path, capsys):
    path = Path(report.__file__).parent / "results" / "serve_8b_h200.json"
    assert report.main([str(path), "--out", str(tmp_path)]) == 0
    assert "| domino, recorded | 875 (4.80x) |" in capsys.readouterr().out
    assert (tmp_path / "serve_8b_h200.svg").exists()


@pytest.mark.parametrize(
    "content",
    ["", "[]", "{}", '{"bench": "coupling", "rows": []}', '{"bench": ["rollout"]}', '{"bench": "decode"}', '{"bench": "serve"}', "\xff"],
)
def test_other_files_are_refused(content, tmp_path, capsys):
    path = tmp_path / "x.json"
    path.write_bytes(content.encode("latin-1"))
    assert report.main([str(path), "--out", str(tmp_path)]) == 2
    printed, err = capsys.readouterr()
    assert (printed, err.count("\n")) == ("", 1)
    assert err.startswith(f"error: {path}: ")
    assert "expected JSON that bench.rollout, bench.decode, bench.attention, bench.coldstart, bench.serve wrote" in err


def test_without_files_or_a_place_for_pictures_nothing_is_done(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(report, "RESULTS", tmp_path)
    assert report.main([]) == 2
    assert f"{tmp_path}: has no rollout_*.json, decode_*.json" in capsys.readouterr().err
    assert report.main(["--out", str(tmp_path / "absent")]) == 2
    assert "absent: is not a directory" in capsys.readouterr().err
