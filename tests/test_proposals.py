"""As many proposals as were fastest: which row of a table is chosen, which tables are refused, and that the text stays the target's."""

import io
import json
import os
import re
import shlex
import shutil
from pathlib import Path
from statistics import median
from types import SimpleNamespace

import jax
import pytest

from bench import proposals as bench
from convert import checkpoint as convert
from domino_jax import demo, proposals
from domino_jax.demo import problems
from domino_jax.engine import Pair, open_pair
from domino_jax.proposals import TABLE
from tests.commands import COUNT, runner

HERE = dict(device=proposals.device(), dtype="float32")


def row(batch_size: int, num_proposals: int, tokens_per_second: float, **changes) -> dict:
    return HERE | dict(batch_size=batch_size, num_proposals=num_proposals, tokens_per_second=tokens_per_second) | changes


@pytest.fixture
def measured(counting_pair, tmp_path):
    """The counting pair, its drafter with a table of these rows, or with what stands for one."""

    def write(*rows: dict, table: object = None) -> tuple[Path, Path]:
        draft = tmp_path / "draft"
        shutil.copytree(counting_pair[1], draft)
        (draft / TABLE).write_text(table if isinstance(table, str) else json.dumps({"rows": rows} if table is None else table))
        return counting_pair[0], draft

    return write


def opened(pair: tuple[Path, Path]) -> Pair:
    return open_pair(*map(str, pair), "float32")


# What is chosen


@pytest.mark.parametrize(("batch", "chosen"), [(1, 7), (2, 7), (7, 7), (8, 3), (64, 3)])
def test_the_fastest_at_the_largest_batch_size_measured_that_is_not_above(measured, batch, chosen):
    rows = row(8, 3, 900), row(8, 7, 800.5), row(2, 3, 100), row(2, 7, 101), row(2, 15, 99.5), row(2, 0, 50), row(1, 0, 5000)
    pair = proposals.fastest(opened(measured(*rows)), batch)
    assert pair.num_proposals == pair.models.num_proposals == pair.load().num_proposals == chosen


@pytest.mark.parametrize("other", [dict(device="another chip"), dict(dtype="bfloat16")])
def test_rows_of_other_devices_and_dtypes_count_for_nothing(measured, other):
    rows = row(1, 3, 100), row(1, 7, 90), row(1, 7, 1000, **other), row(8, 15, 1000, **other)
    assert proposals.fastest(opened(measured(*rows)), 8).num_proposals == 3


@pytest.mark.parametrize(("step", "said"), [(120, "; --draft none is faster there (120)"), (80, ""), (None, "")])
def test_a_note_says_what_was_chosen_and_where_none_would_be_faster(measured, step, said):
    """By the step program at the same batch size."""
    steps = [row(8, 0, step)] if step else []
    pair = proposals.fastest(opened(measured(*steps, row(8, 3, 100), row(1, 3, 10), row(1, 0, 500))), 9)
    assert pair.draft.notes == (f"--num-proposals auto: 3, the fastest at batch 8 (100 tokens/s){said}",)


def test_a_cpu_is_known_by_its_cores_and_another_device_by_its_name(monkeypatch):
    assert proposals.device() == f"{jax.devices()[0].device_kind}, {os.cpu_count()} cores"
    monkeypatch.setattr(jax, "devices", lambda: [SimpleNamespace(device_kind="some chip")])
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    assert proposals.device() == "some chip"


# What is refused


BROKEN = {
    "{": "not valid JSON",
    "[]": "holds a list, expected a JSON object",
    "{}": "rows is null, expected a list of objects",
    '{"rows": {}}': "rows is {}, expected a list of objects",
    '{"rows": [5]}': ", row 1: is 5, expected an object",
}
WRONG = [
    ("device", None, "device is missing"),
    ("device", 5, "device is 5, expected a text"),
    ("dtype", ["float32"], 'dtype is \\["float32"\\], expected a text'),
    ("batch_size", 0, "batch_size is 0, expected an integer of at least 1"),
    ("batch_size", 1.0, "batch_size is 1.0, expected an integer"),
    ("batch_size", True, "batch_size is true, expected an integer"),
    ("num_proposals", -1, "num_proposals is -1, expected an integer from 0 to 16"),
    ("num_proposals", 17, "num_proposals is 17, expected an integer from 0 to 16"),
    ("num_proposals", "3", 'num_proposals is "3", expected an integer from 0 to 16'),
    ("num_proposals", None, "num_proposals is missing"),
    ("tokens_per_second", 0, "tokens_per_second is 0, expected a positive number"),
    ("tokens_per_second", -5.0, "tokens_per_second is -5.0, expected a positive number"),
    ("tokens_per_second", float("nan"), "tokens_per_second is NaN, expected a positive number"),
    ("tokens_per_second", float("inf"), "tokens_per_second is Infinity, expected a positive number"),
    ("tokens_per_second", "fast", 'tokens_per_second is "fast", expected a positive number'),
]


@pytest.fixture
def refusal(measured, refused):
    """The sentence that refuses such a table, after its path."""

    def refusal(*rows: dict, table: object = None) -> str:
        target, draft = measured(*rows, table=table)
        said = refused("--target", target, "--draft", draft, "--num-proposals", "auto", "--prompt-ids", "0")
        assert said.startswith(f"error: {draft / TABLE}")
        assert "expected" in said
        return said.removeprefix(f"error: {draft / TABLE}")

    return refusal


@pytest.mark.parametrize("table", BROKEN)
def test_what_is_no_table_is_refused(refusal, table):
    assert BROKEN[table] in refusal(table=table)


@pytest.mark.parametrize(("key", "value", "said"), WRONG)
def test_a_wrong_row_is_refused_by_number_and_key(refusal, key, value, said):
    """Whether it would be chosen or not."""
    assert re.match(f", row 2: {said}", refusal(row(1, 15, 900), row(1, 3, 100) | {key: value}))


def test_two_rows_for_one_number_are_refused(refusal):
    assert refusal(row(1, 3, 100), row(1, 3, 200)).startswith(", row 2: is there twice")


def command(said: str) -> list[str]:
    """What a refusal says to run, after the module's name."""
    python, option, module, *argv = shlex.split(re.search("`(.*)`", said)[1])
    assert (python, option, module) == ("python", "-m", "bench.proposals")
    return argv


def test_without_a_table_the_command_that_measures_is_named(refused, counting_pair):
    models = "--target", str(counting_pair[0]), "--draft", str(counting_pair[1])
    said = refused(*models, "--num-proposals", "auto", "--prompt-ids", "0")
    assert f"{counting_pair[1] / TABLE} is missing, expected what `" in said
    assert command(said) == [*models, "--dtype", "float32"]
    bench.parser().parse(command(said))


def test_what_was_measured_elsewhere_is_refused_by_name(refusal):
    rows = row(1, 3, 9, dtype="bfloat16"), row(1, 7, 9, dtype="bfloat16"), row(8, 3, 9, device="some chip")
    said = refusal(*rows, row(1, 0, 5))  # the step program alone says nothing of proposals
    wanted = f"{HERE['device']}, float32"
    assert said.startswith(f": holds {HERE['device']}, bfloat16; {wanted}; some chip, float32, expected {wanted} with proposals, which `")
    bench.parser().parse(command(said))


def test_an_empty_table_is_refused(refusal):
    assert refusal().startswith(": holds nothing, expected ")


# The command


@pytest.mark.parametrize(
    ("argv", "length"),
    [
        ((), 4),
        (("--prompt-ids", "1"), 8),
        (("--temperature", 1, "--n", 2), 8),
        (("--prompt-ids", "1", "--batch-size", 1), 4),
        (("--batch-size", 2), 8),
    ],
)
def test_the_batch_is_that_of_the_run(run, measured, argv, length):
    count = runner(run, measured(row(1, 3, 100), row(2, 7, 100)), "--max-context", "47")
    done = count("--prompt-ids", "0", *argv, "--num-proposals", "auto", "--output", "json", "--stats", "json")
    assert json.loads(done.last)["num_proposals"] == length - 1
    assert f"note: --num-proposals auto: {length - 1}, " in done.err
    if "--temperature" not in argv:
        assert done.answers[0]["output_ids"] == COUNT
        assert max(done.answers[0]["acceptance_lengths"]) == length


def test_a_conversation_is_one_row(run, speaking_pair, tmp_path, monkeypatch):
    draft = tmp_path / "draft"
    shutil.copytree(speaking_pair[1], draft)
    (draft / TABLE).write_text(json.dumps({"rows": [row(1, 3, 100), row(8, 7, 100)]}))
    monkeypatch.setattr("sys.stdin", io.StringIO())
    done = run("--target", speaking_pair[0], "--draft", draft, "--chat", "--num-proposals", "auto", "--max-context", "47")
    assert done.status == 0, done.err
    assert "note: --num-proposals auto: 3, the fastest at batch 1 " in done.err


def test_a_converted_drafter_keeps_its_table(measured, run, tmp_path):
    target, draft = measured(row(1, 5, 100))
    for layout in ("orbax", "hf"):
        out = tmp_path / layout
        assert convert.main(["--target", str(target), "--draft", str(draft), "--out", str(out), "--to", layout]) == 0
        assert (out / "draft" / TABLE).read_bytes() == (draft / TABLE).read_bytes()
        assert not (out / "target" / TABLE).exists()
        count = runner(run, (out / "target", out / "draft"), "--max-context", "47")
        assert count("--prompt-ids", "0", "--num-proposals", "auto", "--output", "json").answers[0]["acceptance_lengths"][0] == 6


def test_the_text_is_the_targets_own(run, tmp_path):
    """Of the shipped pair, whatever its table says."""
    draft = tmp_path / "draft"
    shutil.copytree(demo.DRAFT, draft)
    (draft / TABLE).write_text(json.dumps({"rows": [row(4, 7, 100), row(4, 15, 99)]}))
    asked = [word for problem in problems.generate("test", 4) for word in ("--prompt", problem.question)]
    fixed = "--target", demo.TARGET, *asked, "--max-new-tokens", 200, "--dtype", "float32", "--output", "json"
    ours = run(*fixed, "--draft", draft, "--num-proposals", "auto", "--check")
    alone = run(*fixed, "--draft", "none")
    assert (ours.status, alone.status) == (0, 0), ours.err + alone.err
    assert [answer["output_ids"] for answer in ours.answers] == [answer["output_ids"] for answer in alone.answers]
    assert all(answer["check"]["equal"] for answer in ours.answers)
    assert {max(answer["acceptance_lengths"]) for answer in ours.answers} == {8}


# The shipped table


def shipped() -> list[dict]:
    return json.loads((Path(demo.DRAFT) / TABLE).read_text(encoding="utf-8"))["rows"]


def test_the_shipped_table_is_one_and_follows_from_what_was_timed():
    rows = proposals.read(Path(demo.DRAFT) / TABLE, open_pair(demo.TARGET, demo.DRAFT).draft.config.max_proposals)
    assert {row.num_proposals for row in rows} >= {0, 3, 7, 15}
    steps = {(row["device"], row["dtype"], row["batch_size"]): row for row in shipped() if not row["num_proposals"]}
    for row in shipped():
        step = steps[row["device"], row["dtype"], row["batch_size"]]
        assert row["tokens_per_second"] == median(row["repeats"])
        assert row["even_at"] == pytest.approx(row["acceptance_length"] * step["tokens_per_second"] / row["tokens_per_second"])


def test_the_readme_has_what_the_shipped_table_has_of_two_cores():
    rows = [row for row in shipped() if row["device"] == "cpu, 2 cores"]
    assert rows
    assert bench.markdown(rows) in (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")


def test_the_shipped_pair_on_a_device_that_is_not_in_the_table(refused, monkeypatch):
    monkeypatch.setattr(proposals, "device", lambda: "a chip of tomorrow")
    said = refused("--prompt", "hi", "--num-proposals", "auto", "--dtype", "float32")
    assert f"expected a chip of tomorrow, float32 with proposals, which `python -m bench.proposals --target {demo.TARGET} " in said
