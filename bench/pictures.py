"""Pictures of what `bench.decode` and `bench.rollout` kept. Drawing one imports matplotlib, the extra `plot`."""

from collections.abc import Sequence
from itertools import cycle
from pathlib import Path

import numpy as np

from bench import decode_tables
from bench.timing import headline
from domino_jax.plot import COLOURS, save, subplots

GREY = "#777777"  # what ours is compared with first: base logits, steps


def names(rows: Sequence[dict]) -> list[str]:
    """Of cases: the batch, and what else differs between them."""
    differs = [key for key in ("capacity", "used") if len({row[key] for row in rows}) > 1]
    return [", ".join([f"batch {row['batch']}", *(f"{key} {row[key]:,}" for key in differs)]) for row in rows]


def decode(about: dict, path: Path) -> None:
    """Parts over their limits, tokens/s by acceptance length; rounds by capacity where there are several, beside PyTorch where measured."""
    rows = about["rows"]
    first = [row for row in rows if row["capacity"] == rows[0]["capacity"]]
    panels = [(over_limits, first), (speeds, first)]
    panels += [(by_capacity, rows)] * (len(first) < len(rows)) + [(beside_torch, first)] * any(row.get("torch") for row in first)
    figure, axes = subplots(len(panels), (4.4 * len(panels), 3.8))
    for (draw, drawn), axis in zip(panels, axes, strict=True):
        draw(axis, drawn, about)
    title(figure, f"{headline(about)}; shapes {about['shapes']}, capacity {first[0]['capacity']:,} with {first[0]['used']:,} used")
    save(figure, path)


def title(figure, text: str) -> None:
    figure.suptitle(text, fontsize=9, x=0.01, ha="left")


def over_limits(axes, rows: Sequence[dict], about: dict) -> None:
    """A group of bars a part, a bar a case: the time over the least that the device allows."""
    parts = decode_tables.PARTS
    bars(axes, parts, {name: [row["over_limit"][part] for part in parts] for row, name in zip(rows, names(rows), strict=True)})
    axes.axhline(1, color="black", linewidth=0.8)
    axes.set(ylabel="time over the device's limit")
    axes.tick_params(axis="x", rotation=30)


def bars(axes, groups: Sequence[str], series: dict[str, Sequence[float]], colours: Sequence[str] = COLOURS) -> None:
    """Groups of bars, one of each series."""
    width = 0.8 / len(series)
    for number, ((name, values), colour) in enumerate(zip(series.items(), cycle(colours), strict=False)):
        places = np.arange(len(groups)) + (number - (len(series) - 1) / 2) * width
        drawn = axes.bar(places, values, width=0.92 * width, color=colour, label=name)
        axes.bar_label(drawn, [f"{value:.3g}" if value else "" for value in values], fontsize=6)
    axes.set_xticks(range(len(groups)), groups)
    axes.legend(frameon=False, fontsize=8)


def speeds(axes, rows: Sequence[dict], about: dict) -> None:
    """A round costs the same whatever it yields: straight lines. Where one crosses the level of steps, speculation breaks even."""
    lengths = np.array([1, about["num_proposals"] + 1])
    for row, name, colour in zip(rows, names(rows), cycle(COLOURS), strict=False):
        axes.plot(lengths, 1e3 * lengths / row["median"]["round"], color=colour, label=f"{name}: even at {row['even_at']:.2f}")
        axes.axhline(1e3 / row["median"]["step"], color=colour, linestyle=":", linewidth=1)
    axes.set(xlabel="acceptance length (given, not measured)", ylabel="tokens / s of a row; dotted: steps", ylim=(0, None))
    axes.legend(frameon=False, fontsize=8)


def by_capacity(axes, rows: Sequence[dict], about: dict) -> None:
    """What slots cost that a row may use: a line a batch."""
    for batch, colour in zip(dict.fromkeys(row["batch"] for row in rows), cycle(COLOURS), strict=False):
        points = sorted((row["capacity"], row["median"]["round"]) for row in rows if row["batch"] == batch)
        axes.plot(*zip(*points, strict=True), color=colour, marker="o", markersize=4, label=f"batch {batch}")
    slots = sorted({row["capacity"] for row in rows})
    axes.set_xscale("log", base=2)
    axes.set_xticks(slots, [f"{count:,}" for count in slots])
    axes.minorticks_off()
    axes.set(xlabel="cache slots a row", ylabel="ms a round", ylim=(0, None))
    axes.legend(frameon=False, fontsize=8)


def beside_torch(axes, rows: Sequence[dict], about: dict) -> None:
    """Milliseconds of whole rounds; a way that was left out somewhere has no bar there."""
    ways = list(dict.fromkeys(way for row in rows for way in row.get("torch", {})))
    series = {"ours": [row["median"]["round"] for row in rows]}
    series |= {way: [row["torch"][way]["median"]["round"] if way in row["torch"] else 0 for row in rows] for way in ways}
    bars(axes, names(rows), series)
    axes.set(ylabel="ms a round")


def rollout(about: dict, path: Path) -> None:
    """A panel a pool: the rollout and what it is compared with, by batch; and what each optimisation of the ladder brings."""
    rows = about["rows"]
    pools = list(dict.fromkeys(row["pool_size"] for row in rows))
    shown = [name for name in ("base logits", "ours", "torch") if name in rows[0]["median"]]
    rungs = [name for name in rows[0]["median"] if name not in ("base logits", "ours", "torch")]
    figure, axes = subplots(len(pools) + bool(rungs), (4.4 * (len(pools) + bool(rungs)), 3.6))
    for axis, pool in zip(axes, pools, strict=False):
        mine = [row for row in rows if row["pool_size"] == pool]
        series = {name: [row["median"][name] for row in mine] for name in shown}
        bars(axis, [f"batch {row['batch']}" for row in mine], series, (GREY, *COLOURS[1::-1]))
        axis.set(ylabel="ms a rollout")
        axis.set_title(f"pool {pool:,}" if pool else "whole vocabulary", fontsize=10, loc="left")
    if rungs:
        last = [row for row in rows if row["pool_size"]] or rows
        bars(axes[-1], rungs, {f"batch {row['batch']}": [row["median"][name] for name in rungs] for row in last})
        axes[-1].set(yscale="log", ylabel="ms a rollout")
        axes[-1].set_title("one optimisation after the other", fontsize=10, loc="left")
        axes[-1].tick_params(axis="x", rotation=30)
    title(figure, f"{headline(about)}; vocabulary {about['shape']['vocab_size']:,}, width {about['shape']['hidden_size']:,}")
    save(figure, path)
