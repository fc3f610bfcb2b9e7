"""The live bar of a run: on stderr while it is a terminal, elsewhere nothing."""

import sys
import time
from typing import TextIO

import numpy as np
from tqdm import tqdm

from domino_jax.events import Event, Finished, Result, Started, Tokens

FORMAT = "{desc}: {percentage:3.0f}%|{bar}| {n_fmt}/{total_fmt} [{elapsed}<{remaining}{postfix}]"


class Bar:
    """Answers done, tokens/s and mean acceptance length so far, time left. The clock starts with the first prompt, after compilation.

    Both figures are those of `statistics.summarize`: they count in mid-answer already, and at the end they are the same.
    """

    def __init__(self, total: int, drafted: bool, file: TextIO | None = None):
        self.total, self.drafted, self.file = total, drafted, file or sys.stderr
        self.tqdm: tqdm | None = None
        self.first = 0.0
        self.running: dict[int, np.ndarray] = {}  # answer -> its part of the counts
        self.counts = np.zeros(3, int)  # tokens after each answer's first, tokens of all rounds before cuts, rounds

    def event(self, event: Event) -> None:
        if isinstance(event, Started) and self.tqdm is None:
            self.first = time.perf_counter()
            fixed = dict(desc="answers", bar_format=FORMAT, leave=False, disable=None, miniters=0, dynamic_ncols=True)
            self.tqdm = tqdm(total=self.total, file=self.file, **fixed)
        elif isinstance(event, Tokens):
            self.tokens(event)
        elif isinstance(event, Finished):
            self.finished(event.index, event.result)

    def tokens(self, event: Tokens) -> None:
        if event.index not in self.running:  # the first token is prefill's
            self.running[event.index] = np.zeros(3, int)
            return
        self.count(event.index, len(event.ids), event.accepted + 1, 1)
        self.show(0)

    def finished(self, index: int, result: Result) -> None:
        """The answer's own counts replace those so far: an event does not tell what was cut."""
        later = max(len(result.output_ids) - 1, 0)
        self.counts += [later, sum(result.acceptance_lengths), result.rounds] - self.running.pop(index, np.zeros(3, int))
        self.show(1)

    def count(self, index: int, *more: int) -> None:
        self.running[index] += more
        self.counts += more

    def show(self, done: int) -> None:
        if self.tqdm is not None and not self.tqdm.disable:
            self.tqdm.set_postfix_str(self.figures(time.perf_counter() - self.first), refresh=False)
            self.tqdm.update(done)

    def figures(self, seconds: float) -> str:
        later, produced, rounds = self.counts.tolist()
        parts = [f"{later / seconds:.1f} tokens/s"] if seconds > 0 else []
        if self.drafted and rounds:
            parts.append(f"acceptance {produced / rounds:.2f}")
        return ", ".join(parts)

    def close(self) -> None:
        if self.tqdm is not None:
            self.tqdm.close()
