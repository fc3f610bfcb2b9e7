"""Recorded acceptance: what a drafter of known acceptance buys on a model whose weights are random.

Random weights accept nothing. `RecordedDrafter` runs the real draft program at its full cost and then puts scripted proposals in
the place of its own, so that each round accepts a length that was drawn beforehand. The rollout stays alive in the program: the
script is an argument like any weight, and wherever it holds -1 the rollout's own proposals go out.

A script must know the text. Check mode writes it once, through the verify executable that the drafter will run, and a lossless
decoder then writes the same text in every slot: so all requests of a run are one prompt with one budget, and the absolute position
tells what is right, whichever request a slot holds. Where the rounds end is a slot's *walk*, a list of acceptance lengths that
starts anew with each request. The walks of all slots are dealt from one deck, whose shares are those of the distribution.
"""

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import jax.numpy as jnp
import numpy as np
from flax import nnx

from domino_jax.drafter import BlockDrafter, ScriptedDrafter
from domino_jax.errors import InputError
from domino_jax.events import Result

AUTHORS_MEAN = 7.17  # Qwen3-8B, temperature 0, mean over their eight tasks, as the Domino authors report it (arXiv 2605.29707)


def shares(acceptance: str | None, longest: int) -> tuple[np.ndarray, str]:
    """The share of rounds with acceptance length 1, 2, ... `longest`, and where it is from.

    `acceptance` is a mean (None: the authors') or a file with an `acceptance_histogram`.
    """
    geometric = f"each proposal stands with the same probability, a round yields {longest} at most"
    if acceptance is None:
        source = f"as the Domino authors report for Qwen3-8B at temperature 0, arXiv 2605.29707; {geometric}"
        return shares_with_mean(AUTHORS_MEAN, longest), source
    try:
        mean = float(acceptance)
    except ValueError:
        return shares_of_file(Path(acceptance).expanduser(), longest), f"the histogram in {acceptance}"
    if not 1 <= mean <= longest:
        raise InputError(f"--acceptance is {acceptance}, expected a mean acceptance length from 1 to {longest}")
    return shares_with_mean(mean, longest), f"as given; {geometric}"


def shares_with_mean(mean: float, longest: int) -> np.ndarray:
    """Those of a drafter whose every proposal stands with the same probability q: geometric, cut at `longest`.

    A round reaches length j + 1 with probability q^j, so the mean is the sum of q^j over j < `longest`; q is found by bisection.
    """
    powers, low, high = np.arange(longest), 0.0, 1.0
    for _ in range(60):
        q = (low + high) / 2
        low, high = (q, high) if (q**powers).sum() < mean else (low, q)
    reached = high**powers
    return reached - np.append(reached[1:], 0)


def shares_of_file(path: Path, longest: int) -> np.ndarray:
    """Those of the `acceptance_histogram` that `generate --stats json` wrote: counts by length."""
    try:
        histogram = json.loads(path.read_text(encoding="utf-8"))["acceptance_histogram"]
        counts = {int(length): int(count) for length, count in histogram.items()}
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise InputError(f"--acceptance {path}: {error!r}, expected a number, or a JSON file with an acceptance_histogram") from None
    if not counts or min(counts.values()) < 0 or not sum(counts.values()) or not {*counts} <= {*range(1, longest + 1)}:
        raise InputError(f"--acceptance {path}: acceptance_histogram is {histogram}, expected counts of lengths from 1 to {longest}")
    return np.array([counts.get(length, 0) for length in range(1, longest + 1)]) / sum(counts.values())


def note(shares_T: np.ndarray, source: str) -> str:
    """What must be said beside every figure of recorded acceptance."""
    return (
        "random weights accept nothing: the acceptance lengths are drawn, not measured, with a mean of "
        f"{shares_T @ np.arange(1, len(shares_T) + 1):.2f} ({source}). The real draft program runs in every round at its full cost, and "
        "then its proposals are replaced. All requests are one prompt with one budget. As drawn: requests whose output is check mode's, "
        "in rounds of the lengths drawn"
    )


def deck(shares_T: np.ndarray, size: int, rng: np.random.Generator) -> Iterator[int]:
    """Endless acceptance lengths: `size` quantiles of the distribution in random order, again and again."""
    middles = (np.arange(size) + 0.5) / size
    lengths = 1 + np.searchsorted(np.cumsum(shares_T), middles)
    while True:
        yield from rng.permutation(lengths).tolist()


def deal(shares_T: np.ndarray, slots: int, tokens: int, seed: int) -> tuple[tuple[int, ...], ...]:
    """A walk for each slot: lengths whose sum reaches `tokens`, the last of them perhaps past it."""
    mean = shares_T @ np.arange(1, len(shares_T) + 1)
    cards = deck(shares_T, math.ceil(slots * tokens / mean), np.random.default_rng(seed))
    walks = []
    for _ in range(slots):
        walk: list[int] = []
        while sum(walk) < tokens:
            walk.append(next(cards))
        walks.append(tuple(walk))
    return tuple(walks)


@dataclass(frozen=True)
class Recording:
    """What every request says, and the acceptance lengths of its rounds by slot.

    `text` goes a whole round past the budget, so that the last round too accepts what was drawn.
    """

    prompt_ids: tuple[int, ...]
    text_ids: tuple[int, ...]
    walks: tuple[tuple[int, ...], ...]

    def script(self, vocab_size: int) -> np.ndarray:
        """Proposals by slot and absolute position [slots, positions]: the text, with a wrong token where each round ends.

        A round that starts from the verified token at position t and accepts a length n is wrong first at t + n, where the bonus
        token then stands; the next round proposes from there on.
        """
        script = np.tile(np.array(self.prompt_ids + self.text_ids, np.int32), (len(self.walks), 1))
        for row, walk in zip(script, self.walks, strict=True):
            ends = len(self.prompt_ids) + np.cumsum(walk)
            row[ends] = (row[ends] + 1) % vocab_size
        return script

    def as_drawn(self, results: Sequence[Result]) -> int:
        """How many results hold the text, in rounds as drawn."""
        return sum(
            tuple(result.acceptance_lengths) in self.walks and tuple(result.output_ids) == self.text_ids[: len(result.output_ids)]
            for result in results
        )


class RecordedDrafter(nnx.Module):
    """A drafter at its full cost, with the acceptance of a recording."""

    def __init__(self, drafter: BlockDrafter, recording: Recording):
        self.config, self.kind, self.layer_ids, self.num_proposals = drafter.config, drafter.kind, drafter.layer_ids, drafter.num_proposals
        self.recording = recording
        self.drafter = drafter
        self.script = ScriptedDrafter(recording.script(drafter.config.vocab_size), drafter.num_proposals)

    def allocate(self, batch, capacity, dtype):
        return self.drafter.allocate(batch, capacity, dtype)

    def prefill(self, cache, features, row, slot_1T):
        return self.drafter.prefill(cache, features, row, slot_1T)

    def propose(self, embedder, cache, features, slot_BT, length_B, verified_B, sampling=None):
        rollout_BP, cache = self.drafter.propose(embedder, cache, features, slot_BT, length_B, verified_B, sampling)
        script_BP, _ = self.script.propose(embedder, None, features, slot_BT, length_B, verified_B)
        return jnp.where(script_BP >= 0, script_BP, rollout_BP), cache
