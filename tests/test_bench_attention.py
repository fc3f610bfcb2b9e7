"""The attention bench; what the kernel computes is tested in `test_cached_attention.py`."""

import json

import pytest

from bench import attention


def test_the_command_measures_what_runs_here_and_says_what_does_not(tmp_path, capsys):
    words = ["--layers", "2", "--kv-heads", "2", "--head-dim", "16", "--positions", "4", "--repeats", "2", "--iterations", "2"]
    assert attention.main(["--case", "1:128:100", "2:64:64", *words, "--json", str(tmp_path / "x.json")]) == 0
    printed, err = capsys.readouterr()
    rows = json.loads((tmp_path / "x.json").read_text())["rows"]
    assert [(row["batch"], row["capacity"], row["used"], [*row["variants"]]) for row in rows] == [
        (1, 128, 100, ["all slots"]),
        (2, 64, 64, ["all slots"]),
    ]
    for row in rows:
        found = row["variants"]["all slots"]
        assert found["error"] < 1e-5
        assert found["same_anywhere"] == 1.0
        used = 2 * 2 * row["batch"] * row["used"] * 2 * 16 * 4
        assert found["bytes_per_second"] == pytest.approx(1e3 * used / found["median"])
        assert f"| all slots | {found['median']:.3f} |" in printed
    assert "The kernel is not run: it needs a GPU" in printed
    assert err == ""


@pytest.mark.parametrize(("case", "words"), [("1:100:9", "slots in 64s"), ("1:64", "not batch:capacity:used"), ("1:64:3", "3 used slots")])
def test_cases_that_cannot_be_are_refused(case, words, capsys):
    assert attention.main(["--case", case]) == 2
    assert words in capsys.readouterr().err
