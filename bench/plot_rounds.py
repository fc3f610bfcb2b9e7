"""Draws what a round buys, from the log of `python -m tests.gpu.run`: python -m bench.plot_rounds LOG OUT.svg

A round costs the same whatever it yields, so tokens per second rise in a straight line with the acceptance length; the step
program is a level. Where they cross, speculation breaks even.
"""

import re
import sys
from pathlib import Path

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt

COLOURS = {1: "#0072b2", 8: "#d55e00"}


def milliseconds(log: str) -> dict[int, tuple[float, float]]:
    """batch -> (a whole round, a token of the step program)."""
    rounds = {int(batch): float(ms) for batch, ms in re.findall(r"batch (\d+): .*round ([\d.]+) ms", log)}
    steps = [float(ms) for ms in re.findall(r"step program ([\d.]+)", log)]
    return {batch: (rounds[batch], step) for batch, step in zip(rounds, steps, strict=True)}


def main() -> None:
    log, out = Path(sys.argv[1]).read_text(encoding="utf-8"), Path(sys.argv[2])
    figure, axes = plt.subplots(figsize=(7, 3.6), layout="constrained")
    lengths = range(1, 17)
    for batch, (a_round, a_step) in milliseconds(log).items():
        even = a_round / a_step
        axes.plot(lengths, [1e3 * length / a_round for length in lengths], color=COLOURS[batch], label=f"rounds, batch {batch}")
        axes.axhline(1e3 / a_step, color=COLOURS[batch], linestyle=":", label=f"step program, batch {batch} (even at {even:.2f})")
    axes.set(xlabel="acceptance length (accepted + bonus)", ylabel="tokens / s of a row", xlim=(1, 16), ylim=(0, None))
    axes.set_title(log.splitlines()[0].split(", target")[0] + ", Qwen3-8B shapes", fontsize=10, loc="left")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    figure.savefig(out, metadata={"Date": None})


if __name__ == "__main__":
    main()
