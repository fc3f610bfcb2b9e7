"""Pictures of acceptance: how long rounds were, how far proposals stood. Drawing one imports matplotlib, the extra `plot`."""

import importlib.util
import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from domino_jax.errors import InputError

SUFFIXES = (".png", ".svg")
COLOURS = ("#d55e00", "#0072b2", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
BAR, MEAN = COLOURS[1], COLOURS[0]
DOTS_PER_INCH = 130


@dataclass(frozen=True)
class Curve:
    """One drafter: a name, its mean acceptance length (None without a round), and the share of rounds in which proposal 1..P stood."""

    name: str
    mean: float | None
    by_position: Sequence[float]

    @property
    def label(self) -> str:
        return self.name if self.mean is None else f"{self.name}: {self.mean:.2f} a round"


@dataclass(frozen=True)
class Bars:
    """One drafter over several sets of prompts: its mean acceptance lengths and their intervals, None where there was no round."""

    means: Sequence[float | None]
    intervals: Sequence[tuple[float, float] | None]


def refuse_impossible(path: Path | None) -> None:
    """Raises InputError for a picture that could not be written when all is done."""
    if path is None:
        return
    if path.suffix not in SUFFIXES:
        raise InputError(f"--plot {path}: its suffix is {path.suffix or 'missing'}, expected {' or '.join(SUFFIXES)}")
    if not path.parent.is_dir():
        raise InputError(f"--plot {path}: its directory is missing, expected one to write in")
    if path.is_dir():
        raise InputError(f"--plot {path}: is a directory, expected a file to write")
    if importlib.util.find_spec("matplotlib") is None:
        raise InputError("--plot needs matplotlib, which is not installed, expected it: pip install matplotlib (or the extra plot)")


def draw_run(summary: dict, path: Path) -> None:
    """Two panels from the statistics of a run with at least one round: acceptance lengths, and acceptance by position."""
    figure, (left, right) = subplots(2, (9.6, 3.8))
    _draw_lengths(left, summary)
    _draw_positions(right, [Curve("", None, summary["acceptance_by_position"])], [BAR])
    place = Path(*Path(summary["draft_path"]).parts[-2:])  # the last folder alone is often called draft
    figure.suptitle(f"{summary['draft']} drafter {place}; prompts: {summary['prompts']}, rounds: {summary['rounds']}", fontsize=10)
    save(figure, path)


def draw_curves(curves: Sequence[Curve], path: Path) -> None:
    """One panel: acceptance by position of several drafters."""
    figure, (axes,) = subplots(1, (6.5, 3.4))
    _draw_positions(axes, curves, COLOURS)
    axes.legend(frameon=False)
    save(figure, path)


def draw_sets(sets: Sequence[str], bars: Sequence[Bars], curves: Sequence[Curve], path: Path) -> None:
    """Two panels: acceptance lengths by set, the last of which is the average; acceptance by position of the same drafters over all."""
    wide = max(4.5, len(sets) * (0.35 + 0.15 * len(bars)))
    figure, (left, right) = subplots(2, (wide + 4.5, 4.8), width_ratios=[wide, 4.5])
    _draw_bars(left, sets, bars)
    _draw_positions(right, curves, COLOURS)
    right.set_title("average of the sets", fontsize=10)
    figure.legend(*right.get_legend_handles_labels(), frameon=False, loc="outside lower center")  # names may be long paths
    save(figure, path)


def _draw_bars(axes, sets: Sequence[str], bars: Sequence[Bars]) -> None:
    """A group of bars for each set, a bar for each drafter, and its interval."""
    width = 0.8 / len(bars)
    for number, (drafter, colour) in enumerate(zip(bars, itertools.cycle(COLOURS), strict=False)):
        shift = width * (number - (len(bars) - 1) / 2)
        for group, (mean, interval) in enumerate(zip(drafter.means, drafter.intervals, strict=True)):
            if mean is not None:
                axes.bar(group + shift, mean, width=0.9 * width, color=colour)
                axes.vlines(group + shift, *interval, color="#333333", linewidth=1.2)
    axes.axvline(len(sets) - 1.5, color="#999999", linewidth=0.8, linestyle=":")  # the average is no set
    axes.set_xticks(range(len(sets)), sets, rotation=30, ha="right", rotation_mode="anchor")
    axes.tick_params(axis="x", length=0)
    axes.set(ylabel="acceptance length (accepted + bonus)", xlim=(-0.6, len(sets) - 0.4), ylim=(0, None))


def _draw_lengths(axes, summary: dict) -> None:
    """The share of rounds of each acceptance length, 1 to P + 1, and the mean."""
    longest, mean = len(summary["acceptance_by_position"]) + 1, summary["mean_acceptance_length"]
    lengths = range(1, longest + 1)
    shares = [summary["acceptance_histogram"].get(str(length), 0) / summary["rounds"] for length in lengths]
    axes.bar(lengths, shares, width=0.85, color=BAR)
    axes.axvline(mean, color=MEAN, linewidth=1.2)
    beside, place = ("right", -4) if mean > (longest + 1) / 2 else ("left", 4)  # where the axes have room for it
    axes.annotate(f"mean {mean:.2f}", (mean, 1.0), (place, -2), xycoords=("data", "axes fraction"), textcoords="offset points",
                  ha=beside, va="top", color=MEAN)  # fmt: skip
    axes.set(xlabel="acceptance length (accepted + bonus)", ylabel="share of rounds", xlim=(0.4, longest + 0.6))
    axes.set_ylim(0, 1.15 * max(shares))
    _whole_ticks(axes, longest)


def _draw_positions(axes, curves: Sequence[Curve], colours: Sequence[str]) -> None:
    """The share of rounds in which each proposal, and all before it, stood."""
    for curve, colour in zip(curves, itertools.cycle(colours), strict=False):
        positions = range(1, len(curve.by_position) + 1)
        axes.plot(positions, curve.by_position, marker="o", markersize=3, color=colour, label=curve.label)
    axes.set(xlabel="proposal", ylabel="share of rounds in which it stood", ylim=(0, 1.02))
    _whole_ticks(axes, max((len(curve.by_position) for curve in curves), default=1))


def _whole_ticks(axes, last: int) -> None:
    axes.set_xticks(range(1, last + 1, 1 + last // 20))


def subplots(panels: int, size: tuple[float, float], width_ratios: Sequence[float] | None = None):
    """-> (figure, its panels, side by side); nothing needs a display."""
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, panels, figsize=size, layout="constrained", squeeze=False, width_ratios=width_ratios)
    for panel in axes[0]:
        panel.spines[["top", "right"]].set_visible(False)
        panel.grid(axis="y", color="#e5e5e5", linewidth=0.8)
        panel.set_axisbelow(True)
    return figure, axes[0]


def save(figure, path: Path) -> None:
    import matplotlib.pyplot as plt

    with plt.rc_context({"svg.hashsalt": "domino_jax"}):  # this, and no date: the same figures are the same file
        figure.savefig(path, dpi=DOTS_PER_INCH, metadata={"Date": None} if path.suffix == ".svg" else None)
    plt.close(figure)
