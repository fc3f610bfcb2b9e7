"""What a serving sweep found: cells, their figures, and how they are written: JSON (raw), a Markdown table, a plot."""

import dataclasses
import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path

import numpy as np

from domino_jax.directories import write_file
from domino_jax.errors import InputError
from domino_jax.plot import COLOURS, save, subplots

TARGET_ONLY = "target-only"
CONTINUOUS, GANGS = "continuous", "gangs"
SHOWN = 4  # differences told in the Markdown; the JSON holds all
CONVENTIONS = {
    "load": "greedy; closed loop: all requests wait from the start, `concurrency` slots, an ended request's slot takes the next at once",
    "tokens/s": "all output tokens over wall clock from the first dispatch to the last token; compilation and a warm-up run left out",
    "first token": "from a request's turn, when it takes a slot, to its first token at the host; the wait for a slot is left out",
    "per token": "(last token - first token) / (tokens - 1), of each request with two tokens or more",
    "p50, p99": "percentiles over the requests of a cell, linear between ranks",
    "acceptance length": "accepted + bonus, mean over all rounds, before a stop or the budget cuts the last",
    "idle": "the share of slots x seconds in which a slot holds no request",
    "equal": "requests whose output is target-only's at the same concurrency, token for token; target-only runs the step program, "
    "another executable, so texts may part at a near-tie of the target's two best tokens (likely in bfloat16)",
    "gangs": "the fixed batch: the same requests through the same programs, one gang of `concurrency` to its end before the next starts",
}


@dataclass(frozen=True)
class Cell:
    """One measured run, raw: a list has one entry a request. Seconds are rounded to the microsecond."""

    prompt_set: str
    mode: str
    schedule: str  # CONTINUOUS or GANGS
    concurrency: int
    seconds: float
    prompt_tokens: list[int]
    output_tokens: list[int]
    first_token_seconds: list[float]
    decode_seconds: list[float]  # first token to last
    acceptance_histogram: dict[str, int]
    differences: list[tuple[int, int]]  # (request, first token that is not target-only's)
    as_drawn: int | None = None  # requests that ran in rounds as drawn; None where nothing is


@dataclass(frozen=True)
class Failure:
    """A run that could not be measured; the modes after it at its concurrency are left out."""

    prompt_set: str
    mode: str
    concurrency: int
    reason: str

    def __str__(self) -> str:
        return f"{self.prompt_set}, {self.mode}, {self.concurrency} slots: {self.reason}"


def figures(cell: Cell) -> dict:
    """The figures of a cell, by CONVENTIONS."""
    tokens, rounds = sum(cell.output_tokens), sum(cell.acceptance_histogram.values())
    accepted = sum(int(length) * count for length, count in cell.acceptance_histogram.items())
    pairs = zip(cell.decode_seconds, cell.output_tokens, strict=True)
    busy = sum(cell.first_token_seconds) + sum(cell.decode_seconds)
    return {
        "requests": len(cell.output_tokens),
        "tokens": tokens,
        "tokens_per_second": tokens / cell.seconds,
        "first_token_ms": milliseconds(cell.first_token_seconds),
        "per_token_ms": milliseconds([seconds / (count - 1) for seconds, count in pairs if count > 1]),
        "acceptance_length": accepted / rounds if rounds else None,
        "idle": 1 - busy / (cell.concurrency * cell.seconds),
        "equal": len(cell.output_tokens) - len(cell.differences),
    }


def milliseconds(seconds: Sequence[float]) -> dict[str, float] | None:
    """Their percentiles, None of nothing."""
    if not seconds:
        return None
    p50, p99 = (1e3 * np.percentile(seconds, [50, 99])).tolist()
    return {"p50": p50, "p99": p99}


def write_json(path: Path, about: dict, cells: Sequence[Cell]) -> None:
    """Everything, a cell a line: raw, and its figures."""
    lines = ",\n".join("  " + json.dumps(dataclasses.asdict(cell) | {"figures": figures(cell)}) for cell in cells)
    write_file(path, json.dumps(about, indent=1).removesuffix("\n}") + f',\n "cells": [\n{lines}\n ]\n}}\n')


def read_json(path: Path) -> tuple[dict, list[Cell]]:
    """-> (what is said of the run, its cells)."""
    try:
        return split(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{path}: {error!r}, expected a file that bench.serve --json wrote") from None


def split(kept: dict) -> tuple[dict, list[Cell]]:
    names = [field.name for field in dataclasses.fields(Cell)]
    return {key: value for key, value in kept.items() if key != "cells"}, [
        Cell(**{name: cell[name] for name in names}) for cell in kept["cells"]
    ]


def markdown(about: dict, cells: Sequence[Cell]) -> str:
    """Per prompt set the speeds side by side and every figure; then the scheduler against gangs; then what it all means."""
    lines = [f"{about['device']}, {about['dtype']}, jax {about['versions']['jax']}", ""]
    continuous = [cell for cell in cells if cell.schedule == CONTINUOUS]
    for name in dict.fromkeys(cell.prompt_set for cell in continuous):
        mine = [cell for cell in continuous if cell.prompt_set == name]
        lines += [f"### {name}", "", *speeds(mine), "", *details(mine), "", *partings(mine)]
    if gangs := [cell for cell in cells if cell.schedule == GANGS]:
        lines += ["### scheduler and gangs", "", *gains(continuous, gangs), ""]
    lines += [f"* failed: {Failure(**failed)}" for failed in about.get("failed", ())]
    lines += [f"* {name}: {about['sets'][name]}." for name in dict.fromkeys(cell.prompt_set for cell in cells) if name in about["sets"]]
    terms = about["conventions"] | ({"recorded": about["recorded"]} if "recorded" in about else {})
    return "\n".join([*lines, *(f"* {term}: {meaning}." for term, meaning in terms.items())])


def speeds(cells: Sequence[Cell]) -> list[str]:
    """Rows of modes, columns of concurrency: tokens/s and, in brackets, over target-only."""
    by = {(cell.mode, cell.concurrency): figures(cell)["tokens_per_second"] for cell in cells}
    modes, columns = (list(dict.fromkeys(key[i] for key in by)) for i in (0, 1))
    rows = [f"| tokens/s at concurrency | {' | '.join(map(str, columns))} |", f"|---|{'---|' * len(columns)}"]
    for mode in modes:
        found = [(by.get((mode, slots)), by[TARGET_ONLY, slots]) for slots in columns]
        texts = ["" if x is None else f"{x:,.0f}" + ("" if mode == TARGET_ONLY else f" ({x / plain:.2f}x)") for x, plain in found]
        rows.append(f"| {mode} | {' | '.join(texts)} |")
    return rows


def details(cells: Sequence[Cell]) -> list[str]:
    columns = ["concurrency", "mode", "requests", "tokens", "first token ms, p50 / p99", "per token ms, p50 / p99", "acceptance length",
               "idle", "equal"]  # fmt: skip
    columns += ["as drawn"] * any(cell.as_drawn is not None for cell in cells)
    rows = [f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]
    for cell in cells:
        f = figures(cell)
        first, later = (f"{x['p50']:.2f} / {x['p99']:.2f}" if x else "" for x in (f["first_token_ms"], f["per_token_ms"]))
        length = "" if cell.mode == TARGET_ONLY or f["acceptance_length"] is None else f"{f['acceptance_length']:.2f}"
        texts = [cell.concurrency, cell.mode, f["requests"], f"{f['tokens']:,}", first, later, length, f"{f['idle']:.0%}"]
        counts = [f["equal"], cell.as_drawn][: len(columns) - len(texts)]
        texts += ["" if count is None else f"{count} of {f['requests']}" for count in counts]
        rows.append(f"| {' | '.join(map(str, texts))} |")
    return rows


def partings(cells: Sequence[Cell]) -> list[str]:
    """Where outputs first differ from target-only's, if any do."""
    rows = []
    for cell in cells:
        if cell.differences:
            said = ", ".join(f"request {number} at token {place}" for number, place in cell.differences[:SHOWN])
            more = f", and {len(cell.differences) - SHOWN} more" * (len(cell.differences) > SHOWN)
            rows.append(f"* not equal: {cell.mode} at {cell.concurrency}, {said}{more}")
    return [*rows, ""] if rows else []


def gains(continuous: Sequence[Cell], gangs: Sequence[Cell]) -> list[str]:
    by = {(cell.prompt_set, cell.mode, cell.concurrency): figures(cell) for cell in continuous}
    rows = ["| prompt set | mode | slots | scheduler tokens/s | gangs tokens/s | gain | idle: scheduler, gangs |", "|---" * 7 + "|"]
    for cell in gangs:
        one, other = by[cell.prompt_set, cell.mode, cell.concurrency], figures(cell)
        ours, theirs = one["tokens_per_second"], other["tokens_per_second"]
        rows.append(
            f"| {cell.prompt_set} | {cell.mode} | {cell.concurrency} | {ours:,.0f} | {theirs:,.0f} | {ours / theirs:.2f}x "
            f"| {one['idle']:.0%}, {other['idle']:.0%} |"
        )
    return rows


def plot(about: dict, cells: Sequence[Cell], path: Path) -> None:
    """Tokens/s against concurrency: a panel for each prompt set, a line for each mode. Needs matplotlib (the extra `plot`)."""
    continuous = [cell for cell in cells if cell.schedule == CONTINUOUS]
    names, modes, slots = (
        list(dict.fromkeys(getattr(cell, name) for cell in continuous)) for name in ("prompt_set", "mode", "concurrency")
    )
    figure, panels = subplots(len(names), (0.8 + 4.2 * len(names), 3.6))
    for axes, name in zip(panels, names, strict=True):
        for mode, colour in zip(modes, cycle(("#777777", *COLOURS)), strict=False):
            points = [(cell.concurrency, figures(cell)["tokens_per_second"]) for cell in continuous
                      if (cell.prompt_set, cell.mode) == (name, mode)]  # fmt: skip
            if points:
                axes.plot(*zip(*points, strict=True), marker="o", markersize=4, color=colour, label=mode)
        axes.set_xscale("log", base=2)
        axes.set_xticks(slots, map(str, slots))
        axes.minorticks_off()
        axes.set(xlabel="concurrency", ylim=(0, None))
        axes.set_title(name, fontsize=10, loc="left")
    panels[0].set_ylabel("output tokens / s")
    panels[0].legend(frameon=False)
    figure.suptitle(f"{about['device']}, {about['dtype']}", fontsize=10, x=0.01, ha="left")
    save(figure, path)
