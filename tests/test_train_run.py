"""Training from end to end: optimizer, updates over batches and devices, resuming, the command lines, what is exported."""

import csv
import itertools
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import safetensors.numpy

import domino_jax
from domino_jax import Finished, checkpoint
from domino_jax.config import DraftConfig, TargetConfig
from domino_jax.engine import Engine
from domino_jax.train import __main__ as train
from domino_jax.train import data, drafters, features, regenerate, run
from domino_jax.train.optimizer import Optimization, adamw, schedule
from domino_jax.train.run import State
from tests import models

ROOT = Path(__file__).parent.parent
SHAPE = ["--layers", "1", "--block-size", "4", "--target-layer-ids", "1 2 3", "--gru-hidden-dim", "16", "--emb-dim", "8"]
MISSING = object()
TIMES = ("tokens_per_second", "seconds_per_step")


# Optimizer


def test_learning_rate():
    settings = Optimization(learning_rate=6e-4, warmup_ratio=0.04)
    rates = [float(schedule(step, 1000, settings)) for step in (0, 39, 40, 520, 999)]
    assert rates == pytest.approx([1.5e-5, 6e-4, 6e-4, 3e-4, 1.6e-9], rel=0.05)
    assert float(schedule(0, 10, settings)) == pytest.approx(6e-4)  # too short a run to warm up
    floor = Optimization(learning_rate=1.0, warmup_ratio=0, final_ratio=0.1)
    assert [float(schedule(step, 100, floor)) for step in (0, 50, 100)] == pytest.approx([1, 0.55, 0.1])


def test_the_gradient_is_clipped_as_a_whole():
    """Adam's first moment after one update is a tenth of the gradient that reached it."""
    parameters = {"a": jnp.zeros(2), "b": jnp.zeros(1)}
    optimizer = adamw(10, Optimization(clip=1.0))
    for scale, expected in ((1.0, [0.06, 0.08]), (0.1, [0.03, 0.04])):  # of norms 5 and 0.5
        gradient = {"a": jnp.array([3.0, 0.0]) * scale, "b": jnp.array([4.0]) * scale}
        moments = optimizer.update(gradient, optimizer.init(parameters), parameters)[1][1][0].mu
        assert [float(moments["a"][0]), float(moments["b"][0])] == pytest.approx(expected)


def test_weight_decay_spares_norms_and_embeddings():
    parameters = {"norm_D": jnp.ones(3), "embed_VD": jnp.ones((2, 3)), "fc_XD": jnp.ones((2, 3))}
    optimizer = adamw(10, Optimization(weight_decay=0.1))
    changes, _ = optimizer.update(jax.tree.map(jnp.zeros_like, parameters), optimizer.init(parameters), parameters)
    assert {path for path, change in changes.items() if change.any()} == {"fc_XD"}


# Updates


def one_update(micro: int = 1, width: int = 16, anchors: int = 16) -> dict[str, np.ndarray]:
    """Parameters, moments and sums after an update with every anchor of four uneven sequences, in `micro` micro-batches."""
    update, state = small_update(anchors)
    batch = (np.pad(a, ((0, 0), (0, width - 16))).reshape(micro, 4 // micro, width) for a in uneven())
    state, sums = update(state, *batch)
    leaves = jax.tree_util.tree_leaves_with_path({"state": state, "sums": sums})
    return {jax.tree_util.keystr(path): np.asarray(leaf) for path, leaf in leaves}


def small_update(anchors: int = 16):
    """The update that the command makes of SHAPE and TWENTY."""
    inner = dict(target_layer_ids=[1, 2, 3], mask_token_id=95, gru_hidden_dim=16)
    config, target = DraftConfig.from_dict(models.draft_config(num_hidden_layers=1, nested=inner)), models.target_config()
    tensors, rows = models.random_tensors(target), models.rows_of(target)
    packed = {row.parameter: row.pack(*(jnp.array(tensors[name]) for name in row.sources)) for row in rows}
    target = checkpoint.assemble(checkpoint.abstract(TargetConfig.from_dict(target)), packed)
    goal, settings, mesh = drafters.Objective(anchors, chunk=8), Optimization(1e-3), drafters.data_mesh()
    update = drafters.DrafterUpdate(target, config, goal, settings, 20, 0, jnp.dtype(jnp.float32), mesh)
    return update, drafters.initial_state(drafters.random_parameters(config, 0), 20, settings, mesh)


def uneven() -> tuple[np.ndarray, np.ndarray]:
    tokens = np.random.default_rng(0).integers(0, 90, (4, 16)).astype(np.int32)
    return tokens, np.arange(16) >= np.array([0, 2, 9, 12])[:, None]


def compare(ours: dict, theirs: dict) -> None:
    assert ours.keys() == theirs.keys()
    for path, leaf in ours.items():
        np.testing.assert_allclose(leaf, theirs[path], rtol=1e-4, atol=1e-5, err_msg=path)


@pytest.fixture(scope="module")
def updated() -> dict[str, np.ndarray]:
    return one_update()


def test_micro_batches_are_normalised_together(updated):
    """Two of two are one of four: the sums are divided once, not each micro-batch by its own weight."""
    assert updated["['sums'].blocks"] == 15 + 13 + 6 + 3
    compare(one_update(micro=2), updated)


@pytest.mark.parametrize("padded", [dict(width=24), dict(width=16, anchors=64), dict(width=40, anchors=64)])
def test_neither_padding_nor_unused_places_change_an_update(updated, padded):
    """The anchors are the same: every one."""
    compare(one_update(**padded), updated)


def test_a_narrow_batch_has_no_more_places_than_anchors(monkeypatch):
    counts, sample = [], drafters.sample_anchors
    monkeypatch.setattr(drafters, "sample_anchors", lambda key, mask, count: (counts.append(count), sample(key, mask, count))[1])
    for width in (16, 18, 200):  # 15, 17, 199 anchors, in chunks of 8
        one_update(width=width, anchors=64)
    assert [*dict.fromkeys(counts)] == [16, 24, 64]


def test_devices_are_normalised_together(updated, tmp_path):
    """Four devices, a sequence each, make the same update as one device."""
    code = (
        "import sys, jax, numpy as np; from tests.test_train_run import one_update; "
        "assert jax.device_count() == 4; np.savez(sys.argv[1], **one_update())"
    )
    environment = os.environ | {"XLA_FLAGS": "--xla_force_host_platform_device_count=4", "PYTHONPATH": str(ROOT)}
    environment["JAX_COMPILATION_CACHE_DIR"] = jax.config.jax_compilation_cache_dir
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path / "four.npz")], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    compare(dict(np.load(tmp_path / "four.npz")), updated)


def test_calibration_leaves_the_state_as_it_was(updated):
    """The update takes its state's memory; calibration works on a copy."""
    update, state = small_update()
    batch = uneven()
    step = drafters.step_function(update, lambda number: batch, 1)
    assert run.calibrate(state, step, minutes=1.0, sample=range(2)) > 10
    state, _ = step(state, 0)
    np.testing.assert_array_equal(state.parameters["backbone.fc_XD"], updated["['state'].parameters['backbone.fc_XD']"])


def test_calibration_times_its_sample_without_compilation(monkeypatch):
    """A clock that an update sets forward by its number of seconds, the first time by 1000 more."""
    clock, steps = [0.0], []

    def update(state, step):
        clock[0] += step + 1000 * (step not in steps)
        steps.append(step)
        return state, ()

    monkeypatch.setattr(run, "time", SimpleNamespace(perf_counter=lambda: clock[0]))
    assert run.calibrate({"w": jnp.zeros(1)}, update, minutes=1.0, sample=[9, 2, 4]) == 60 // 5
    assert steps == [9, 2, 4] * 2


def test_accumulation_takes_the_next_batches():
    taken = []
    step = drafters.step_function(lambda state, *batch: taken.append(batch), lambda number: (np.array([number]), np.array([-number])), 3)
    step(None, 4)
    assert [part.ravel().tolist() for part in taken[0]] == [[12, 13, 14], [-12, -13, -14]]


# The course of a run


def nothing_yet() -> State:
    return State({"w": jnp.zeros(3)}, (jnp.zeros(3),), jnp.zeros((), jnp.int32))


def halving(state: State, step: int) -> tuple[State, dict]:
    assert step == state.step
    return State({"w": state.parameters["w"] / 2 + step}, state.optimizer, state.step + 1), {"steps": jnp.float32(step)}


def go(out: Path, update=halving, minutes=None, steps: int = 20, **identity) -> State:
    history = run.Run(out, {"steps": steps, "seed": 0, **identity})
    state = history.restore(nothing_yet())
    return history.train(state, update, lambda sums, n, step: {"mean": sums["steps"] / n}, steps, minutes, 2, 4, lambda step: 10 * step)


def read_log(out: Path) -> list[dict]:
    """The lines without their timings."""
    with (out / "log.csv").open(newline="") as file:
        return [{name: value for name, value in row.items() if name not in TIMES} for row in csv.DictReader(file)]


def test_the_log_has_means_over_its_steps(tmp_path):
    go(tmp_path)
    assert [(int(row["step"]), float(row["mean"])) for row in read_log(tmp_path)] == [(step, step - 1.5) for step in range(2, 21, 2)]
    assert run.recorded_steps(tmp_path) == 20
    assert run.recorded_steps(tmp_path / "elsewhere") is None


def test_the_log_counts_the_tokens_of_its_steps(tmp_path):
    go(tmp_path)
    with (tmp_path / "log.csv").open(newline="") as file:
        rows = [{name: float(value) for name, value in row.items()} for row in csv.DictReader(file)]
    tokens = [row["tokens_per_second"] * row["seconds_per_step"] * 2 for row in rows]
    assert tokens == pytest.approx([10 * (step - 1 + step - 2) for step in range(2, 21, 2)], rel=1e-4)


def test_a_killed_run_goes_on_from_its_checkpoint(tmp_path):
    """Killed in step 10: the line of step 10 and updates after step 8 are lost, and come again."""

    def dying(state, step):
        if step == 10:
            raise KeyboardInterrupt
        return halving(state, step)

    whole = go(tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        go(tmp_path / "killed", dying)
    assert len(read_log(tmp_path / "killed")) == 5
    resumed = []
    state = go(tmp_path / "killed", lambda state, step: (resumed.append(step), halving(state, step))[1])
    assert resumed == [*range(8, 20)]
    assert all(np.array_equal(ours, theirs) for ours, theirs in zip(*map(jax.tree.leaves, (whole, state)), strict=True))
    assert read_log(tmp_path / "killed") == read_log(tmp_path / "whole")


def test_the_newest_two_checkpoints_are_kept(tmp_path):
    go(tmp_path)
    assert sorted(path.name for path in (tmp_path / "checkpoints").iterdir() if path.name.isdigit()) == ["16", "20"]


def test_a_run_stops_when_its_minutes_are_over(tmp_path, monkeypatch, capsys):
    """A clock that a look sets forward by 20 seconds: the fourth line of the log is past the minute."""
    clock = itertools.count(0, 20)
    monkeypatch.setattr(run, "time", SimpleNamespace(monotonic=lambda: next(clock), perf_counter=time.perf_counter))
    assert go(tmp_path, minutes=1).step == 8
    assert capsys.readouterr().err == "the time is over after step 8 of 20; the same command goes on from here\n"
    assert go(tmp_path).step == 20
    assert [int(row["step"]) for row in read_log(tmp_path)] == [*range(2, 21, 2)]


def test_another_run_in_the_same_place_is_refused(tmp_path):
    go(tmp_path, data={"a": [1, 2]})
    with pytest.raises(domino_jax.InputError) as refused:
        go(tmp_path, data={"a": [1, 3]})
    assert str(refused.value) == (
        f'{tmp_path / "run.json"}: data is {{"a": [1, 2]}}, this command says {{"a": [1, 3]}}, '
        "expected the same to resume, or another --out"
    )
    assert go(tmp_path, data={"a": (1, 2)}).step == 20


# python -m domino_jax.train


def command(target: Path, out: Path, *options: str) -> int:
    """Trains; later options take the place of earlier ones."""
    common = ["--max-length", "28", "--anchors", "24", "--chunk", "24", "--batch-size", "1", "--learning-rate", "5e-3"]
    return train.main(["--target", str(target), "--out", str(out), *SHAPE, *common, *map(str, options)])


@pytest.fixture(scope="module")
def answer(random_pair, tmp_path_factory) -> Path:
    """One answer of the random target, 24 tokens."""
    directory = tmp_path_factory.mktemp("answer")
    (directory / "prompts.jsonl").write_text('{"prompt_ids": [5, 17, 40]}\n')
    files = ["--prompts", str(directory / "prompts.jsonl"), "--out", str(directory / "answers.jsonl")]
    assert regenerate.main(["--target", str(random_pair[0]), *files, "--max-new-tokens", "24"]) == 0
    return directory / "answers.jsonl"


@pytest.fixture(scope="module")
def taught(random_pair, answer, tmp_path_factory) -> tuple[Path, State]:
    """The run that learnt this answer by heart, and its last state."""
    out, states, export = tmp_path_factory.mktemp("taught"), [], train.export
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(train, "export", lambda *at: (states.append(at[2]), export(*at)))
        assert command(random_pair[0], out, "--data", answer, "--steps", 200, "--plot", out / "log.png") == 0
    return out, states[0]


def test_a_sequence_is_learnt_by_heart(taught, random_pair):
    """Under teacher forcing every label is right, so a block gains block_size + 1, cut at the end; and so it decodes."""
    last = read_log(taught[0])[-1]
    assert (float(last["top1"]), float(last["top5"]), float(last["lambda"])) == (1, 1, 0.005)
    assert float(last["acceptance_length"]) == pytest.approx(np.mean([min(4, left) + 1 for left in range(1, 24)]), rel=1e-5)
    engine = domino_jax.load(str(random_pair[0]), str(taught[0] / "draft"), num_proposals=4)
    result = engine.generate([[5, 17, 40]], max_new_tokens=24)[0]
    assert result.acceptance_lengths[:4] == [5, 5, 5, 5]
    assert result.acceptance_lengths[4] >= 4  # the last round goes on past what was learnt


def test_the_log_follows_the_schedules_and_is_drawn(taught):
    out, _ = taught
    rows = read_log(out)
    assert [int(row["step"]) for row in rows] == [50, 100, 150, 200]
    assert [float(row["lambda"]) for row in rows] == pytest.approx([0.755, 0.505, 0.255, 0.005])
    losses = [float(row["final_loss"]) for row in rows]
    assert losses == sorted(losses, reverse=True)
    assert (out / "log.png").read_bytes()[:4] == b"\x89PNG"


def test_the_export_is_the_published_layout(taught):
    """Bare published names, one family name for engines, both spellings of the RoPE base, emb_dim where each engine looks."""
    out, state = taught
    raw = json.loads((out / "draft" / "config.json").read_text())
    assert raw["architectures"] == ["DFlashDraftModel"]
    assert raw["rope_theta"] == raw["rope_parameters"]["rope_theta"] == 10000.0
    assert raw["emb_dim"] == raw["dflash_config"]["emb_dim"] == 8
    assert raw["dflash_config"] == dict(mask_token_id=95, target_layer_ids=[1, 2, 3], projector_type="domino", gru_hidden_dim=16,
                                        emb_dim=8, pure_draft_prefix_len=1, shift_label=True)  # fmt: skip
    assert (raw["block_size"], raw["num_hidden_layers"], raw["num_target_layers"]) == (4, 1, 4)
    assert "auto_map" not in raw
    stored = safetensors.numpy.load_file(out / "draft" / "model.safetensors")
    assert stored.keys() == models.random_tensors(raw).keys()
    assert {"fc.weight", "prefix_gru.weight_hh_l0", "embed_proj.2.weight", "layers.0.self_attn.k_proj.weight"} <= stored.keys()
    loaded = checkpoint.leaves(checkpoint.load(checkpoint.open_draft(out / "draft"), jnp.float32))
    assert loaded.keys() == state.parameters.keys()
    assert all(np.array_equal(loaded[path], leaf) for path, leaf in state.parameters.items())


def test_the_export_is_rounded_as_the_arithmetic_was(taught, tmp_path):
    config = checkpoint.open_draft(taught[0] / "draft").config
    train.export(tmp_path / "half", config, taught[1], jnp.bfloat16)
    opened = checkpoint.open_draft(tmp_path / "half")
    assert opened.stored_dtypes == ["bfloat16"]
    loaded = checkpoint.leaves(checkpoint.load(opened, jnp.float32))
    assert all(np.array_equal(loaded[path], leaf.astype(jnp.bfloat16)) for path, leaf in taught[1].parameters.items())


def test_a_warm_start_has_learnt_already(taught, answer, random_pair, tmp_path, capsys):
    """In the first line of the log. Its shape is the drafter's, whatever the options say; its labels must lie as asked for."""
    draft = taught[0] / "draft"
    more = ["--data", answer, "--init", draft, "--steps", 200, "--log-every", 1, "--minutes", "1e-9"]
    assert command(random_pair[0], tmp_path, *more, "--block-size", 8) == 0
    assert (read_log(tmp_path)[0]["top1"], json.loads((tmp_path / "draft" / "config.json").read_text())["block_size"]) == ("1", 4)
    capsys.readouterr()
    for option, message in (
        (["--unshifted"], f"--init {draft} has shifted labels, expected the layout that is asked for"),
        (["--projector", "dflash"], f"--init {draft} is a domino drafter, expected --projector domino"),
    ):
        assert command(random_pair[0], tmp_path / "no", *more, *option) == 2
        assert capsys.readouterr().err == f"error: {message}\n"


def test_dflash_learns_too(answer, random_pair, tmp_path):
    """Without the head: nothing of it is exported, and a block is one proposal shorter. From eight blocks at a time, other ones each."""
    few = ["--anchors", 8, "--chunk", 4, "--log-every", 25, "--steps", 100]
    assert command(random_pair[0], tmp_path, "--data", answer, "--projector", "dflash", *few) == 0
    last = read_log(tmp_path)[-1]
    assert (last["top1"], last["final_loss"]) == ("1", last["base_loss"])
    assert float(last["acceptance_length"]) * 8 % 1 > 0.01  # the same eight, all right, would give eighths
    raw = json.loads((tmp_path / "draft" / "config.json").read_text())
    assert raw["architectures"] == ["DFlashDraftModel"]
    assert raw["dflash_config"] == {"mask_token_id": 95, "target_layer_ids": [1, 2, 3]}
    engine = domino_jax.load(str(random_pair[0]), str(tmp_path / "draft"))
    assert engine.generate([[5, 17, 40]], max_new_tokens=24)[0].acceptance_lengths[:5] == [4] * 5


@pytest.fixture(scope="module")
def several(tmp_path_factory) -> Path:
    """Nine sequences of random tokens: five of 6 to 8, four of 12 to 16."""
    rng, path = np.random.default_rng(0), tmp_path_factory.mktemp("several") / "data.jsonl"
    lengths = [3, 4, 5, 5, 5, 9, 11, 12, 13]
    lines = [{"prompt_ids": rng.integers(0, 90, 3).tolist(), "output_ids": rng.integers(0, 90, n).tolist()} for n in lengths]
    path.write_text("\n".join(map(json.dumps, lines)))
    return path


TWENTY = ["--steps", "20", "--batch-size", "2", "--accumulate", "2", "--max-length", "16", "--anchors", "16", "--chunk", "8",
          "--learning-rate", "1e-3", "--log-every", "3", "--save-every", "3"]  # fmt: skip


@pytest.fixture
def two_widths(monkeypatch) -> None:
    """Batches of 8 and of 16 tokens, where --max-length is 16."""
    monkeypatch.setattr(data, "LEAST_WIDTH", 8)


@pytest.fixture
def states(monkeypatch) -> list[State]:
    """The last state of each run."""
    found = []
    monkeypatch.setattr(train, "export", lambda directory, config, state, dtype: found.append(state))
    return found


def same(ours: State, theirs: State) -> bool:
    assert jax.tree.structure(ours) == jax.tree.structure(theirs)
    return all(np.array_equal(a, b) for a, b in zip(*map(jax.tree.leaves, (ours, theirs)), strict=True))


def test_killed_and_resumed_is_never_killed(random_pair, several, two_widths, states, tmp_path, monkeypatch, capsys):
    """Bit for bit, over epochs; the resumed one, given minutes and no steps, keeps the length it was laid out for."""
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    assert command(random_pair[0], whole, "--data", several, *TWENTY) == 0
    update, calls, seen = drafters.DrafterUpdate.__call__, itertools.count(), set()

    def dying(self, *batch):
        if next(calls) == 10:
            raise KeyboardInterrupt
        seen.add(batch[1].shape)
        return update(self, *batch)

    in_minutes = ["--data", several, "--minutes", "60", *TWENTY[2:]]
    monkeypatch.setattr(run, "calibrate", lambda state, step, minutes, sample: 20)
    monkeypatch.setattr(drafters.DrafterUpdate, "__call__", dying)
    assert command(random_pair[0], killed, *in_minutes) == 130
    assert "20 updates fit into 60.0 minutes" in capsys.readouterr().err
    monkeypatch.setattr(run, "calibrate", None)
    assert command(random_pair[0], killed, *in_minutes) == 0
    assert next(calls) == 11 + 20 - 9
    assert seen == {(2, 2, 8), (2, 2, 16)}
    assert states[0].step == 20
    assert same(*states)
    assert read_log(killed) == read_log(whole)
    assert command(random_pair[0], whole, "--data", several, *TWENTY) == 0  # nothing is left to do
    assert same(states[0], states[2])

    for option, key in (("--seed", "seed"), ("--gamma", "objective"), ("--clip", "optimization"), ("--block-size", "draft")):
        capsys.readouterr()
        assert command(random_pair[0], whole, "--data", several, *TWENTY, option, "3") == 2
        error = capsys.readouterr().err.splitlines()[-1]
        assert error.startswith(f"error: {whole / 'run.json'}: {key} is ")
        assert error.endswith("expected the same to resume, or another --out")
    record = json.loads((killed / "run.json").read_text())
    (killed / "run.json").write_text(json.dumps({key: value for key, value in record.items() if key != "widths"}))
    assert command(random_pair[0], killed, *in_minutes) == 2  # of a time when all batches were of one width, in another order
    assert "widths is null, this command says [8, 16], expected the same to resume" in capsys.readouterr().err
    raw, tensors = models.read(random_pair[0])
    other = models.write(tmp_path / "other", raw, tensors | {"norm.weight": 2 * tensors["norm.weight"]})
    assert command(other, whole, "--data", several, *TWENTY) == 2
    assert "target_weights is " in capsys.readouterr().err


def stored_features(target: Path, data: Path, out: Path, *options: str) -> int:
    """Writes features, four sequences a file."""
    common = ["--target-layer-ids", "1 2 3", "--max-length", "16", "--batch-size", "4"]
    return features.main(["--target", str(target), "--data", str(data), "--out", str(out), *common, *options])


def test_stored_features_train_the_same_drafter(random_pair, several, two_widths, states, tmp_path, monkeypatch):
    """But for rounding: the target runs on other batches and in another program. In training it does not run at all."""
    assert stored_features(random_pair[0], several, tmp_path / "features") == 0
    assert command(random_pair[0], tmp_path / "online", "--data", several, *TWENTY) == 0
    monkeypatch.setattr(drafters, "capture", None)
    assert command(random_pair[0], tmp_path / "offline", "--features", tmp_path / "features", *TWENTY) == 0
    for path, leaf in states[0].parameters.items():
        np.testing.assert_allclose(states[1].parameters[path], leaf, atol=1e-4, err_msg=path)
    losses = [[float(row["final_loss"]) for row in read_log(tmp_path / name)] for name in ("online", "offline")]
    assert losses[0] == pytest.approx(losses[1], rel=1e-4)


def test_features_are_stored_in_the_dtype_asked_for(random_pair, several, tmp_path):
    config = DraftConfig.from_dict(models.draft_config(nested={"target_layer_ids": [1, 2, 3]}))
    for name in ("float32", "bfloat16"):
        assert stored_features(random_pair[0], several, tmp_path / name, "--dtype", name) == 0
    full, half = (features.FeatureBatches(tmp_path / name, config, 5, seed=0).batch(0) for name in ("float32", "bfloat16"))
    assert {leaf.dtype for leaf in half[2]} == {jnp.dtype(jnp.bfloat16)}
    assert np.array_equal(full[0], half[0])
    for ours, theirs in zip(half[2], full[2], strict=True):
        assert np.abs(ours.astype(np.float32) - theirs)[full[1]].mean() < 0.05 < 0.5 < np.abs(theirs).mean()


def test_features_that_do_not_fit_are_refused(random_pair, several, tmp_path, capsys):
    assert stored_features(random_pair[0], several, tmp_path, "--max-length", "8") == 2
    assert capsys.readouterr().err == f"error: {tmp_path}: exists already, expected a new directory\n"
    for ids, message in (("0 4", "--target-layer-ids is [0, 4], expected numbers from 0 to 3"), ("one", "--target-layer-ids is 'one'")):
        assert stored_features(random_pair[0], several, tmp_path / "new", "--target-layer-ids", ids) == 2
        assert capsys.readouterr().err.startswith(f"error: {message}")
    (tmp_path / "features.json").write_text(json.dumps({"layer_ids": [0, 2]}))
    assert command(random_pair[0], tmp_path / "run", "--features", tmp_path, "--steps", 1) == 2
    assert "layer_ids is [0, 2], expected the drafter's [1, 2, 3]" in capsys.readouterr().err


def test_every_option_arrives(random_pair, several, tmp_path, monkeypatch):
    """In what is exported and in what the run says of itself; nothing is parsed and forgotten."""
    monkeypatch.setattr(run.Run, "train", lambda self, state, *rest: (arrived.append((state, rest)), state)[1])
    arrived, options = [], ["--layers", 2, "--intermediate-size", 20, "--block-size", 6, "--target-layer-ids", "0,3"]
    options += [
        "--mask-token-id",
        91,
        "--gru-hidden-dim",
        5,
        "--emb-dim",
        7,
        "--prefix-len",
        2,
        "--unshifted",
        "--anchors",
        6,
        "--chunk",
        3,
        "--gamma",
        3,
        "--lambda-start",
        0.5,
    ]
    options += ["--lambda-ratio", 0.25, "--steps", 11, "--minutes", 9, "--batch-size", 2, "--accumulate", 4, "--max-length", 12]
    options += ["--learning-rate", 0.125, "--warmup-ratio", 0.5, "--clip", 2, "--weight-decay", 0.75, "--seed", 8, "--dtype", "bfloat16"]
    options += ["--log-every", 13, "--save-every", 14]
    assert command(random_pair[0], tmp_path, "--data", several, *options) == 0
    state, (_, _, *course) = arrived[0]
    assert course[:-1] == [11, 9.0, 13, 14]
    assert course[-1](0) == 2 * 4 * 12  # padded tokens
    said = json.loads((tmp_path / "run.json").read_text())
    assert said["objective"] == dict(anchors=6, chunk=3, gamma=3.0, base_start=0.5, base_ratio=0.25)
    settings = dict(learning_rate=0.125, warmup_ratio=0.5, clip=2.0, weight_decay=0.75)
    assert {key: said["optimization"][key] for key in settings} == settings
    numbers = dict(steps=11, batch_size=2, accumulate=4, seed=8, max_length=12, dtype="bfloat16", sequences=9)
    assert {key: said[key] for key in numbers} == numbers
    config = checkpoint.open_draft(tmp_path / "draft").config
    assert (config.num_hidden_layers, config.block_size, config.mask_token_id, config.target_layer_ids) == (2, 6, 91, (0, 3))
    assert config.intermediate_size == 20
    assert config.domino == domino_jax.config.DominoConfig(5, 7, 2, False)
    first = drafters.random_parameters(config, 8)
    assert all(np.array_equal(state.parameters[path], leaf) for path, leaf in first.items())


@pytest.mark.parametrize("mask", [95, 7])
def test_a_mask_token_that_the_data_hold_is_noted(mask, random_pair, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(run.Run, "train", lambda self, state, *rest: state)
    (tmp_path / "data.jsonl").write_text('{"prompt_ids": [7, 1], "output_ids": [2, 7, 3]}\n')
    assert command(random_pair[0], tmp_path / "run", "--data", tmp_path / "data.jsonl", "--steps", 1, "--mask-token-id", mask) == 0
    assert ("note: the data hold the mask token 7 2 times" in capsys.readouterr().err) == (mask == 7)


@pytest.mark.parametrize(
    ("layers", "target_layers", "ids"),
    [(5, 36, [1, 9, 17, 25, 33]), (5, 24, [1, 6, 11, 16, 21]), (5, 64, [1, 16, 31, 46, 61]), (3, 8, [1, 3, 5]), (1, 8, [4])],
)
def test_captured_layers_are_spread(layers, target_layers, ids):
    assert train.spread(layers, target_layers) == ids


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--data", MISSING], "--data or --features is expected, exactly one of them"),
        (["--features", "x"], "--data or --features is expected, exactly one of them"),
        (["--steps", MISSING], "--steps and --minutes are missing, expected at least one of them"),
        (["--steps", "0"], "argument --steps: 0 is too small, expected at least 1"),
        (["--step", "3"], "unknown argument --step, expected one of the options"),
        (["--projector", "dflash", "--unshifted"], "--unshifted is given with --projector dflash"),
        (["--lambda-start", "1.5"], "--lambda-start is 1.5, expected 0 to 1"),
        (["--lambda-ratio", "0"], "--lambda-ratio is 0.0, expected more than 0, up to 1"),
        (["--warmup-ratio", "1"], "--warmup-ratio is 1.0, expected 0 to less than 1"),
        (["--learning-rate", "0"], "--learning-rate is 0.0, expected a positive number"),
        (["--learning-rate", "inf"], "--learning-rate is inf, expected a positive number"),
        (["--clip", "nan"], "--clip is nan, expected a positive number"),
        (["--weight-decay", "-1"], "--weight-decay is -1.0, expected 0 or more"),
        (["--gamma", "-7"], "--gamma is -7.0, expected 0 or more"),
        (["--minutes", "0"], "--minutes is 0.0, expected a positive number"),
        (["--minutes", "inf"], "--minutes is inf, expected a positive number"),
        (["--chunk", "5"], "chunk is 5, expected a divisor of anchors = 24"),
        (["--block-size", "1"], "argument --block-size: 1 is too small, expected at least 2"),
        (["--prefix-len", "4"], "pure_draft_prefix_len is 4, expected an integer from 0 to 3"),
        (["--mask-token-id", "96"], "mask_token_id is 96, expected an integer from 0 to 95"),
        (["--target-layer-ids", "1 x"], "--target-layer-ids is '1 x', expected numbers such as"),
        (["--target-layer-ids", ""], "target_layer_ids is [], expected a list of distinct layer numbers"),
        (["--target-layer-ids", "1 4"], "target_layer_ids is [1, 4], expected a list of distinct layer numbers"),
        (["--batch-size", "10"], "the data hold 9 sequences, expected at least batch_size = 10"),
        (["--max-length", "4"], "holds no sequence with two supervised tokens within 4"),
        (["--data", "nowhere.jsonl"], "nowhere.jsonl: cannot be read"),
        (["--init", "nowhere"], "nowhere: no such directory"),
        (["--target", "nowhere"], "nowhere: no such directory"),
    ],
)
def test_bad_options_are_refused_in_a_line(random_pair, several, tmp_path, capsys, options, message):
    """And leave nothing behind."""
    given = {"--data": several, "--steps": "3"} | dict(itertools.zip_longest(options[::2], options[1::2]))
    words = [str(word) for option, value in given.items() if value != MISSING for word in (option, value) if word is not None]
    assert command(random_pair[0], tmp_path / "out", *words) == 2
    error = capsys.readouterr().err.splitlines()[-1]
    assert error.startswith("error: ")
    assert message in error
    assert not (tmp_path / "out").exists()


# python -m domino_jax.train.regenerate


QUESTIONS = ["hi", "why is the sky blue?", "a", "b", "one more"]


@pytest.fixture
def regenerated(speaking_pair, tmp_path):
    """Runs the command on these questions -> (exit status, the lines of its file, sorted)."""

    def go(questions=QUESTIONS, *options: str) -> tuple[int, list[bytes]]:
        lines = [json.dumps({"prompt": text, "answer": "", "template": 1}) for text in questions]
        (tmp_path / "prompts.jsonl").write_text("\n".join(lines))
        files = ["--prompts", str(tmp_path / "prompts.jsonl"), "--out", str(tmp_path / "answers.jsonl")]
        status = regenerate.main(["--target", str(speaking_pair[0]), *files, "--batch-size", "2", "--max-new-tokens", "20", *options])
        return status, sorted((tmp_path / "answers.jsonl").read_bytes().splitlines(keepends=True))

    return go


def test_answers_are_the_engines(regenerated, speaking_pair):
    status, lines = regenerated()
    assert status == 0
    results = domino_jax.load(str(speaking_pair[0])).generate(QUESTIONS, max_new_tokens=20)
    answers = [json.loads(line) for line in lines]
    assert [answer["id"] for answer in answers] == [*range(5)]
    for answer, result in zip(answers, results, strict=True):
        assert answer["finish_reason"] == "stop"
        assert (tuple(answer["prompt_ids"]), answer["output_ids"]) == (result.prompt_ids, result.output_ids)
    assert bytes(results[0].output_ids[:-1]).decode() == models.TEXT
    assert regenerated(QUESTIONS, "--draft", str(speaking_pair[1])) == (0, lines)


def test_drawn_answers_have_a_seed_for_each_prompt(regenerated, speaking_pair):
    """The same question thrice, hot: three answers, each the engine's for the given seed plus the prompt's number."""
    status, lines = regenerated(["hi"] * 3, "--temperature", "100", "--seed", "5")
    answers = [json.loads(line)["output_ids"] for line in lines]
    engine = domino_jax.load(str(speaking_pair[0]))
    alone = [engine.generate(["hi"], max_new_tokens=20, temperature=100.0, seed=5 + i)[0].output_ids for i in range(3)]
    assert (status, answers) == (0, alone)
    assert len({tuple(answer) for answer in answers}) == 3


@pytest.mark.parametrize("kept", [1, 3, 40, 200, -1, -20])
def test_a_torn_file_is_made_whole(regenerated, tmp_path, kept):
    """Cut anywhere: before, inside and after a line."""
    _, lines = regenerated()
    whole = (tmp_path / "answers.jsonl").read_bytes()
    (tmp_path / "answers.jsonl").write_bytes(whole[:kept])
    assert regenerated() == (0, lines)
    assert (tmp_path / "answers.jsonl").read_bytes().startswith(whole[: whole.rfind(b"\n", 0, kept) + 1])


def test_a_killed_command_goes_on(regenerated, monkeypatch):
    stream = Engine.stream

    def dying(self, *prompts, **options):
        finished = 0
        for event in stream(self, *prompts, **options):
            yield event
            finished += isinstance(event, Finished)
            if finished == 2:
                raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Engine, "stream", dying)
        status, lines = regenerated()
        assert (status, len(lines)) == (130, 2)
    status, whole = regenerated()
    assert (status, len(whole)) == (0, 5)
    assert {*lines} < {*whole}
    assert [json.loads(line)["id"] for line in whole] == [*range(5)]
    monkeypatch.setattr(Engine, "stream", None)
    assert regenerated() == (0, whole)  # nothing is left to ask


def test_a_file_of_something_else_is_refused_and_left_alone(regenerated, tmp_path, capsys):
    out = tmp_path / "answers.jsonl"
    _, lines = regenerated()
    for content, questions, message in (
        (lines, ["hi", "other", "a", "b", "one more"], "line 2: is the answer to another prompt"),
        (lines, QUESTIONS[:2], "line 3: is the answer to another prompt"),
        ([b'{"prompt": "hi"}\n'], QUESTIONS, "line 1: is no answer, expected one JSON object"),
        ([b'{"prompt": "hi"}'], QUESTIONS, "ends in a line that is no answer"),
    ):
        out.write_bytes(b"".join(content))
        capsys.readouterr()
        assert regenerated(questions) == (2, content)
        error = capsys.readouterr().err
        assert error.startswith(f"error: {out}")
        assert message in error
