"""The course of a training run: time budget, progress, log, checkpoints. Killed and resumed, it computes what it would have computed.

OUT/run.json            what the run is: a resumed command must say the same
OUT/log.csv             one line for every logged step
OUT/checkpoints/STEP/   parameters, optimizer state and step, by Orbax; the newest two
"""

import csv
import json
import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import jax
import numpy as np
from jax import Array
from tqdm import tqdm

from domino_jax import cli
from domino_jax.errors import InputError

KEEP = 2


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class State:
    """Parameters by module path, float32 masters; random state and data position are functions of the step."""

    parameters: dict[str, Array]
    optimizer: object
    step: Array


class Run:
    def __init__(self, out: Path, identity: dict):
        """Raises InputError if `out` holds another run."""
        self.out, self.identity = out, json.loads(json.dumps(identity))
        record = out / "run.json"
        if record.exists():
            found = json.loads(record.read_text(encoding="utf-8"))
            for key in self.identity:
                if found.get(key) != self.identity[key]:
                    raise InputError(
                        f"{record}: {key} is {json.dumps(found.get(key))}, this command says {json.dumps(self.identity[key])}, "
                        "expected the same to resume, or another --out"
                    )
        out.mkdir(parents=True, exist_ok=True)
        record.write_text(json.dumps(self.identity, indent=1) + "\n", encoding="utf-8")
        self.checkpointer = _orbax().training.Checkpointer(
            (out / "checkpoints").absolute(), preservation_policy=_orbax().training.preservation_policies.LatestN(KEEP)
        )

    def restore(self, state: State) -> State:
        """The newest checkpoint, laid out as `state`, or `state` itself if there is none."""
        if self.checkpointer.latest is None:
            return state
        leaves, structure = jax.tree.flatten(state)
        abstract = {str(i): jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=leaf.sharding) for i, leaf in enumerate(leaves)}
        found = self.checkpointer.load(abstract_state=abstract)
        return jax.tree.unflatten(structure, [found[str(i)] for i in range(len(leaves))])

    def save(self, state: State) -> None:
        step = int(state.step)
        if self.checkpointer.latest is None or self.checkpointer.latest.step < step:
            self.checkpointer.save(step, {str(i): leaf for i, leaf in enumerate(jax.tree.leaves(state))})

    def train(
        self,
        state: State,
        update: Callable[[State, int], tuple[State, object]],
        describe: Callable[[object, int, int], dict[str, float]],
        total_steps: int,
        minutes: float | None,
        log_every: int,
        save_every: int,
        tokens: Callable[[int], int],
    ) -> State:
        """Updates until `total_steps`, or until the minutes are over (a later call goes on). Ends with a checkpoint.

        update(state, step) -> (state, sums), sums additive; describe(sums since the last line, steps of them, step) -> the line,
        to which the times are added: wall clock, checkpoints left out; tokens(step) of an update, padding counted.
        """
        first = int(state.step)
        log = Log(self.out / "log.csv", first)
        deadline = None if minutes is None else time.monotonic() + 60 * minutes
        sums, counted, padded, since = None, 0, 0, time.perf_counter()
        with tqdm(total=total_steps, initial=first, desc="training", unit="step", disable=None) as bar:
            for step in range(first, total_steps):
                state, new = update(state, step)
                padded += tokens(step)
                sums, counted = new if sums is None else jax.tree.map(jax.numpy.add, sums, new), counted + 1
                bar.update()
                if (step + 1) % log_every == 0 or step + 1 == total_steps:
                    line = describe(sums, counted, step)  # waits for the device
                    seconds = time.perf_counter() - since
                    line |= {"tokens_per_second": padded / seconds, "seconds_per_step": seconds / counted}
                    log.write(step + 1, line)
                    bar.set_postfix({name: f"{line[name]:.3g}" for name in list(line)[:4]})
                    if deadline is not None and time.monotonic() > deadline and step + 1 < total_steps:
                        cli.say(f"the time is over after step {step + 1} of {total_steps}; the same command goes on from here")
                        self.save(state)
                        return state
                    sums, counted, padded, since = None, 0, 0, time.perf_counter()
                if (step + 1) % save_every == 0:
                    self.save(state)
                    since = time.perf_counter()
        self.save(state)
        return state


class Log:
    """A CSV of the logged steps; resuming drops the lines that the checkpoint does not know of."""

    def __init__(self, path: Path, step: int):
        self.path = path
        kept = []
        if path.exists():
            with path.open(newline="", encoding="utf-8") as file:
                kept = [row for row in csv.DictReader(file) if int(row["step"]) <= step]
        self.fields = list(kept[0]) if kept else None
        with path.open("w", newline="", encoding="utf-8") as file:
            if kept:
                writer = csv.DictWriter(file, self.fields)
                writer.writeheader()
                writer.writerows(kept)

    def write(self, step: int, line: dict[str, float]) -> None:
        row = {"step": step, **{name: f"{float(value):.6g}" for name, value in line.items()}}
        with self.path.open("a", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, list(row))
            if self.fields is None:
                writer.writeheader()
                self.fields = list(row)
            writer.writerow(row)


def recorded_steps(out: Path) -> int | None:
    """The length of the run that `out` holds, if it holds one."""
    record = out / "run.json"
    return json.loads(record.read_text(encoding="utf-8"))["steps"] if record.exists() else None


def calibrate(state: State, update: Callable[[State, int], tuple[State, object]], minutes: float, sample: Sequence[int] = range(32)) -> int:
    """How many updates fit into the minutes, from timing a few on a copy of the state: those of `sample`.

    Where batches differ in width, it must have each as often as an epoch does. All of them run once before, so that every width's
    compilation is left out.
    """
    state = jax.tree.map(lambda leaf: leaf.copy(), state)
    for _ in range(2):
        began = time.perf_counter()
        for step in sample:
            state, sums = update(state, step)
        jax.block_until_ready((state, sums))
    return max(1, int(60 * minutes / ((time.perf_counter() - began) / len(sample))))


def plot(log: Path, picture: Path) -> None:
    """Draws the log's curves, one panel a quantity. Needs matplotlib (the extra `plot`)."""
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    with log.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    names = [name for name in rows[0] if name != "step"]
    columns = 3
    figure, panels = plt.subplots(-(-len(names) // columns), columns, figsize=(11, 2.2 * -(-len(names) // columns)), layout="constrained")
    for panel, name in zip(np.ravel(panels), names, strict=False):
        panel.plot([int(row["step"]) for row in rows], [float(row[name]) for row in rows], color="#0072b2", linewidth=1)
        panel.set_title(name.replace("_", " "), fontsize=9, loc="left")
        panel.spines[["top", "right"]].set_visible(False)
    for panel in np.ravel(panels)[len(names) :]:
        panel.set_visible(False)
    figure.savefig(picture, dpi=120)


def _orbax():
    import orbax.checkpoint.experimental.v1 as checkpointer

    logging.getLogger("absl").setLevel(logging.ERROR)
    return checkpointer
