"""The serving sweep: figures on hand-made cells, acceptance that is forced, prompt sets, and the command."""

import dataclasses
import json
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bench import cells, recorded, serve
from bench.cells import CONTINUOUS, GANGS, TARGET_ONLY, Cell
from bench.prompt_sets import MIXED_BUDGET, MIXED_PROMPT, mixed_prompts, problem_prompts, read_set
from bench.recorded import RecordedDrafter, Recording
from domino_jax import DraftConfig, Engine, Prompt, ScriptedDrafter, TargetConfig, demo
from domino_jax.errors import InputError
from domino_jax.events import Result
from domino_jax.text import Text
from tests import models

# Figures

CELL = Cell(
    prompt_set="some",
    mode="domino",
    schedule=CONTINUOUS,
    concurrency=2,
    seconds=2.0,
    prompt_tokens=[3, 4, 5],
    output_tokens=[11, 6, 1],
    first_token_seconds=[0.25, 0.5, 0.25],
    decode_seconds=[1.0, 1.0, 0.0],
    acceptance_histogram={"2": 1, "4": 3},
    differences=[(1, 5)],
)


def test_figures_by_hand():
    found = cells.figures(CELL)
    assert (found["requests"], found["tokens"], found["tokens_per_second"], found["equal"]) == (3, 18, 9.0, 2)
    assert found["acceptance_length"] == 14 / 4
    assert found["idle"] == 1 - 3 / 4  # 1.25 + 1.5 + 0.25 of 2 slots x 2 seconds
    assert found["first_token_ms"] == pytest.approx({"p50": 250, "p99": 250 + 0.98 * 250})
    assert found["per_token_ms"] == pytest.approx({"p50": 150, "p99": 199})  # of 100 and 200; one token has none after it


@pytest.mark.parametrize(
    ("seconds", "p50", "p99"), [([0.002], 2, 2), ([0.1, 0.3], 200, 298), ([i / 1000 for i in range(101)], 50, 99), ([3, 1, 2], 2000, 2980)]
)
def test_percentiles_are_linear_between_ranks(seconds, p50, p99):
    assert cells.milliseconds(seconds) == pytest.approx({"p50": p50, "p99": p99})
    assert cells.milliseconds([]) is None


def result(ids: list[int], lengths: list[int] = ()) -> Result:
    return Result(0, (1,), output_ids=ids, acceptance_lengths=[*lengths])


def test_differences_and_histogram():
    ours, plain = [[1, 2, 3], [1, 2, 3], [1, 2], [9]], [[1, 2, 3], [1, 5, 3], [1, 2, 3], [1]]
    assert serve.differences([*map(result, ours)], [*map(result, plain)]) == [(1, 1), (2, 2), (3, 0)]
    assert serve.histogram([result([1], [16, 2]), result([1], [2])]) == {"2": 2, "16": 1}


def variants() -> list[Cell]:
    """Two modes at two concurrencies, and gangs of one of them."""
    plain = dataclasses.replace(CELL, mode=TARGET_ONLY, seconds=4.0, acceptance_histogram={"1": 15}, differences=[])
    gangs = dataclasses.replace(CELL, schedule=GANGS, seconds=3.0)
    wide = [dataclasses.replace(cell, concurrency=4) for cell in (plain, CELL)]
    return [plain, CELL, gangs, *wide]


ABOUT = {"device": "some chip", "dtype": "float32", "versions": {"jax": "1"}, "conventions": {"equal": "alike"}, "sets": {}}


def test_markdown_says_each_figure_in_its_place():
    lines = cells.markdown(ABOUT, variants()).splitlines()
    assert "| tokens/s at concurrency | 2 | 4 |" in lines
    assert "| target-only | 4 | 4 |" in lines  # 4.5, ties to even
    assert "| domino | 9 (2.00x) | 9 (2.00x) |" in lines
    assert "| 2 | domino | 3 | 18 | 250.00 / 495.00 | 150.00 / 199.00 | 3.50 | 25% | 2 of 3 |" in lines
    assert "| some | domino | 2 | 9 | 6 | 1.50x | 25%, 50% |" in lines
    assert "* not equal: domino at 2, request 1 at token 5" in lines
    assert lines[-1] == "* equal: alike."
    tables = [line for line in lines if line.startswith("|")]
    assert {line.count("|") for line in tables} == {4, 10, 8}


def test_markdown_of_recorded_cells_has_one_column_more():
    drawn = [dataclasses.replace(cell, as_drawn=2 if cell.mode == "domino" else None) for cell in variants()]
    text = cells.markdown(ABOUT | {"recorded": "forced"}, drawn)
    assert "| 2 of 3 | 2 of 3 |\n" in text
    assert "| 3 of 3 |  |\n" in text
    assert text.endswith("* recorded: forced.")


def test_a_written_file_is_read_back(tmp_path):
    cells.write_json(tmp_path / "a.json", ABOUT, variants())
    about, found = cells.read_json(tmp_path / "a.json")
    assert about == ABOUT
    assert [cells.figures(cell) for cell in found] == [cells.figures(cell) for cell in variants()]
    assert cells.markdown(about, found) == cells.markdown(ABOUT, variants())


def test_the_plot_has_a_line_for_each_mode_and_a_panel_for_each_set(tmp_path):
    others = [dataclasses.replace(cell, prompt_set="other") for cell in variants()]
    cells.plot(ABOUT, [*variants(), *others], tmp_path / "a.svg")
    drawn = (tmp_path / "a.svg").read_text()
    assert [drawn.count(f"<!-- {name} -->") for name in ("some", "other", "target-only", "domino", "concurrency")] == [1, 1, 1, 1, 2]


# Acceptance that is forced


@pytest.mark.parametrize("mean", [1, 1.2, 7.17, 15.5, 16])
def test_shares_with_a_mean(mean):
    shares_T, source = recorded.shares(str(mean), 16)
    assert source.startswith("as given; each proposal stands with the same probability")
    assert len(shares_T) == 16
    assert shares_T.sum() == pytest.approx(1)
    assert shares_T @ np.arange(1, 17) == pytest.approx(mean)
    if 1 < mean < 16:  # each proposal stands with the same probability: geometric but for the last, the cut
        assert shares_T[1:15] / shares_T[:14] == pytest.approx([1 - shares_T[0]] * 14)


def test_shares_of_a_file_and_the_default(tmp_path):
    (tmp_path / "s.json").write_text(json.dumps({"acceptance_histogram": {"1": 1, "4": 3}, "other": 0}))
    assert recorded.shares(str(tmp_path / "s.json"), 4)[0].tolist() == [0.25, 0, 0, 0.75]
    authors, source = recorded.shares(None, 16)
    assert authors.tolist() == recorded.shares("7.17", 16)[0].tolist()
    assert "Domino authors" in source


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("0.9", "expected a mean acceptance length from 1 to 4"),
        ("4.1", "expected a mean acceptance length from 1 to 4"),
        ("nan", "expected a mean"),
        ("no.json", "expected a number, or a JSON file"),
        ("{}", "expected a number, or a JSON file"),
        ('{"acceptance_histogram": {"5": 1}}', "expected counts of lengths from 1 to 4"),
        ('{"acceptance_histogram": {"1": -1, "2": 2}}', "expected counts"),
        ('{"acceptance_histogram": {}}', "expected counts"),
    ],
)
def test_impossible_acceptance_is_refused(given, said, tmp_path):
    if given.startswith("{"):
        (tmp_path / "s.json").write_text(given)
        given = str(tmp_path / "s.json")
    with pytest.raises(InputError, match=said):
        recorded.shares(given, 4)


def test_walks_are_dealt_from_one_deck():
    shares_T, _ = recorded.shares("7.17", 16)
    walks = recorded.deal(shares_T, 8, 127, seed=3)
    assert len(walks) == len(set(walks)) == 8
    assert all(sum(walk[:-1]) < 127 <= sum(walk) for walk in walks)
    assert np.mean([length for walk in walks for length in walk]) == pytest.approx(7.17, abs=0.4)
    assert walks == recorded.deal(shares_T, 8, 127, seed=3) != recorded.deal(shares_T, 8, 127, seed=4)


def test_a_deck_holds_the_distribution():
    cards = recorded.deck(np.array([0.5, 0, 0.3, 0.2]), 10, np.random.default_rng(0))
    first, second = ([next(cards) for _ in range(10)] for _ in range(2))
    assert sorted(first) == sorted(second) == [1] * 5 + [3] * 3 + [4] * 2
    assert first != second


RECORDING = Recording((5, 6), (10, 11, 12, 13, 14, 15, 16, 17), ((1, 3, 1), (4, 2)))


def test_a_script_is_the_text_with_a_wrong_token_where_a_round_ends():
    assert RECORDING.script(vocab_size=18).tolist() == [
        [5, 6, 10, 12, 12, 13, 15, 16, 16, 17],  # token 2 is verified; wrong at 2 + 1, + 3, + 1
        [5, 6, 10, 11, 12, 13, 15, 15, 17, 17],
    ]
    assert Recording((5,), (17, 17, 17), ((1,),)).script(vocab_size=18).tolist() == [[5, 17, 0, 17]]


def test_only_the_text_in_rounds_as_drawn_counts():
    text = [*RECORDING.text_ids[:5]]
    found = [result(text, [1, 3, 1]), result(text, [4, 2]), result(text, [3, 1, 1]), result([*text[:4], 0], [4, 2])]
    assert RECORDING.as_drawn(found) == 2


def test_the_program_holds_all_of_the_drafter():
    """The script is an argument: nothing of the rollout can be left out for it, and where it is silent the rollout's proposals go out."""
    target, draft = TargetConfig.from_dict(models.target_config()), DraftConfig.from_dict(models.draft_config())
    engine = Engine.random(target, draft, jax.random.key(0), "float32", num_proposals=3)
    real, P, D = engine.drafter, engine.num_proposals, target.hidden_size
    partly = RecordedDrafter(real, RECORDING)
    partly.script = ScriptedDrafter(np.array([[7, 7, 7, 7, 7, -1, 8, -1]] * 2), P)
    features = tuple(jax.random.normal(jax.random.key(i), (2, P + 1, D)) for i in real.layer_ids)
    slot_BT, length_B, verified_B = jnp.tile(jnp.arange(P + 1), (2, 1)), jnp.array([P + 1, 3]), jnp.array([1, 2])
    rest = engine.target.embedder, real.allocate(2, 64, jnp.float32), features, slot_BT, length_B, verified_B
    programs = [jax.jit(lambda drafter, *rest: drafter.propose(*rest)[0]).lower(drafter, *rest).compile() for drafter in (real, partly)]
    rollout_BP, partly_BP = (np.asarray(made(drafter, *rest)) for made, drafter in zip(programs, (real, partly), strict=True))
    assert partly_BP.tolist() == [[rollout_BP[0, 0], 8, rollout_BP[0, 2]], [7, rollout_BP[1, 1], 8]]
    costs = [made.cost_analysis()["flops"] for made in programs]
    assert 0 < costs[0] <= costs[1]


# Prompt sets


@pytest.fixture(scope="module")
def text() -> Text:
    return Text.load(demo.DIRECTORY / "target")


def test_the_mixed_set(text):
    found = mixed_prompts(text, 30, seed=0)
    lengths, budgets = [len(prompt.ids) for prompt in found], [prompt.max_new_tokens for prompt in found]
    assert max(lengths) <= MIXED_PROMPT[1]
    assert min(lengths) < 150 < 600 < max(lengths)
    assert MIXED_BUDGET[0] <= min(budgets) < 10 < 200 < max(budgets) <= MIXED_BUDGET[1]
    assert found[:5] == mixed_prompts(text, 5, seed=0) != mixed_prompts(text, 5, seed=1)


def test_a_file_serves_as_a_set_and_starts_again(text, tmp_path):
    (tmp_path / "p.jsonl").write_text('{"prompt": "One?", "answer": "1"}\n{"prompt_ids": [5, 6], "max_new_tokens": 3}\n')
    name, found = read_set(f"mine={tmp_path / 'p.jsonl'}", text, 3, 0)
    assert name == "mine"
    assert found[0] == found[2] != found[1]
    assert (found[1].ids, found[1].max_new_tokens) == ((5, 6), 3)
    assert read_set("problems", text, 2, 0) == ("problems", problem_prompts(text, 2, 0))


def test_all_modes_get_the_context_of_the_longest():
    asked = [Prompt((1, 2), sampling={"temperature": 1.0}), Prompt((1, 2, 3), max_new_tokens=50, stop=("x",))]
    (case,) = serve.cases_of("some", asked, [4], 20)
    assert (case.slots, case.max_context) == (4, 53)
    assert case.asked == (Prompt((1, 2), max_new_tokens=20), Prompt((1, 2, 3), max_new_tokens=50))


# The command


def test_the_command_on_the_shipped_pair(tmp_path, capsys):
    out, drawn = tmp_path / "a.json", tmp_path / "a.png"
    argv = ["--prompts", "problems", "--concurrency", "1", "8", "--requests", "3"]  # at 8 slots these are the programs of the gates
    assert serve.main([*argv, "--json", str(out), "--plot", str(drawn)]) == 0
    printed = capsys.readouterr().out
    assert drawn.stat().st_size > 1000
    written = json.loads(out.read_text())
    assert written["command"].endswith(f"--requests 3 --json {out} --plot {drawn}")
    found = [(cell["concurrency"], cell["mode"], cell["schedule"]) for cell in written["cells"]]
    modes = [TARGET_ONLY, "dflash", "domino"]
    assert found == [(1, mode, CONTINUOUS) for mode in modes] + [(8, mode, schedule) for mode in modes for schedule in (CONTINUOUS, GANGS)]
    for cell in written["cells"]:
        assert cell["differences"] == []
        assert cell["output_tokens"] == written["cells"][0]["output_tokens"]
        assert 0 < cell["seconds"] < math.inf
        assert -1e-3 < cell["figures"]["idle"] < 1
        assert (cell["figures"]["acceptance_length"] > 4) == (cell["mode"] != TARGET_ONLY)
    assert serve.main(["--from", str(out)]) == 0
    assert capsys.readouterr().out == printed


def test_rounds_accept_what_was_drawn_in_every_slot_and_after_every_refill(tmp_path, capsys):
    out = tmp_path / "a.json"
    argv = ["--shapes", "tiny", "--concurrency", "2", "--requests", "5", "--max-new-tokens", "30", "--gangs", "2", "--acceptance", "3"]
    assert serve.main([*argv, "--json", str(out)]) == 0
    assert "mean of 3.00 (as given; " in capsys.readouterr().out
    _, plain_gangs, drafted, drafted_gangs = json.loads(out.read_text())["cells"]
    assert (drafted["mode"], drafted_gangs["schedule"]) == ("domino, recorded", GANGS)
    assert [cell["as_drawn"] for cell in (plain_gangs, drafted, drafted_gangs)] == [None, 5, 5]
    for cell in (drafted, drafted_gangs):
        assert cell["output_tokens"] == [30] * 5
        assert cell["differences"] == []
        assert cell["figures"]["acceptance_length"] == pytest.approx(3, abs=0.6)


def test_a_concurrency_that_fails_is_named_and_the_others_are_kept(tmp_path, capsys, monkeypatch):
    """The first has no memory: on standard output, in the file and in the exit status."""
    warm_up, out = serve.warm_up, tmp_path / "a.json"

    def failing(engine, case, name):
        if case.slots == 1:
            raise RuntimeError("RESOURCE_EXHAUSTED: out of memory\nand a page of figures")
        warm_up(engine, case, name)

    monkeypatch.setattr(serve, "warm_up", failing)
    argv = ["--shapes", "tiny", "--concurrency", "1", "2", "--requests", "3", "--max-new-tokens", "30", "--gangs", "0"]
    assert serve.main([*argv, "--json", str(out), "--plot", str(tmp_path / "a.png")]) == 1
    printed, err = capsys.readouterr()
    written = json.loads(out.read_text())
    assert [(cell["concurrency"], cell["mode"]) for cell in written["cells"]] == [(2, TARGET_ONLY), (2, "domino, recorded")]
    assert written["failed"] == [
        dict(prompt_set="tiny", mode=TARGET_ONLY, concurrency=1, reason="RESOURCE_EXHAUSTED: out of memory"),
    ]
    said = f"tiny, {TARGET_ONLY}, 1 slots: RESOURCE_EXHAUSTED: out of memory"
    assert f"* failed: {said}\n" in printed
    assert f"FAIL: {said}\n" in err
    assert serve.main(["--from", str(out)]) == 1
    assert capsys.readouterr().out == printed


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["--concurrency", "0"], "0 is too small, expected at least 1"),
        (["--draft", "x"], "--draft is given without --target"),
        (["--prompts", "poems"], "--prompts is poems, expected problems, mixed or NAME=FILE.jsonl"),
        (["--prompts", "problems", "--prompts", "problems"], "expected different names"),
        (["--shapes", "8b", "--target", "x"], "not allowed with argument"),
        (["--shapes", "8b", "--prompts", "problems"], "--prompts is given with --shapes"),
        (["--acceptance", "3"], "--acceptance is given without --shapes"),
        (["--shapes", "tiny", "--acceptance", "17"], "from 1 to 16"),
        (["--from", "no.json"], "expected a file that bench.serve --json wrote"),
        (["--from", "no.json", "--json", "b.json"], "expected one"),
        (["--json", "no/such/a.json"], "expected a file to write"),
        (["--plot", "a.txt"], "expected .png or .svg"),
        (["--concurency", "1"], "the nearest is --concurrency"),
    ],
)
def test_bad_options_are_one_line_and_exit_2(argv, said, capsys):
    assert serve.main(argv) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1
