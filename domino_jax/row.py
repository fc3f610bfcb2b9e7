"""The occupant of a slot, as the host knows it: what its reports say, as events."""

import time
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from domino_jax import capacity
from domino_jax.events import Event, Finished, Result, Round, Started, Tokens
from domino_jax.plan import Task
from domino_jax.text import Until


@dataclass
class Row:
    """An answer on its way. `held` are the tokens whose keys and values are surely in its slot; they outlive it there."""

    index: int
    task: Task
    result: Result
    text: Until | None
    held: list[int]
    offset: int  # prompt tokens in the cache, or on their way there
    widths: deque[int]  # of the prompt's chunks that are left
    started: float  # when it took the slot
    first_token: float = 0.0

    @classmethod
    def admitted(cls, index: int, task: Task, text: Until | None, held: Sequence[int], trace: bool) -> "Row":
        """The row of a task in a slot that holds `held` of its prompt."""
        prompt, offset = task.prompt, len(held)
        name = task.number if prompt.id is None else prompt.id
        result = Result(name, prompt.ids, task.sample, offset, trace=[] if trace else None)
        widths = deque(capacity.chunk_widths(len(prompt.ids) - offset))
        return cls(index, task, result, text, list(held), offset, widths, time.perf_counter())

    @property
    def is_prefilling(self) -> bool:
        return bool(self.widths)

    def begun(self, report: np.ndarray) -> Iterator[Event]:
        """The events of a prefill's report."""
        token, done, finite = report[:3].tolist()
        self.first_token = time.perf_counter()
        self.result.prefill_seconds = self.first_token - self.started
        yield Started(self.index, len(self.result.prompt_ids), self.result.prefill_seconds)
        if finite:
            yield from self._emit([token], report[3:].view(np.float32), bool(done))
        else:
            yield self._fail(len(self.result.prompt_ids) - 1)

    def went_on(self, report: np.ndarray, proposals: np.ndarray | None) -> Iterator[Event]:
        """The events of a verify's report on this row; `proposals` only if they are to be traced."""
        T, result = (len(report) - 4) // 2, self.result
        accepted, emitted, done, failed_at = report[2 * T :].tolist()
        start = len(result.prompt_ids) + len(result.output_ids) - 1
        if failed_at >= 0:
            yield self._fail(start + failed_at)
            return
        result.acceptance_lengths.append(accepted + 1)
        if proposals is not None:
            result.trace.append(Round(start, result.output_ids[-1], tuple(proposals.tolist()), accepted))
        yield from self._emit(report[:emitted].tolist(), report[T : T + emitted].view(np.float32), bool(done), accepted)

    def _emit(self, ids: list[int], logprobs: np.ndarray, done: bool, accepted: int = 0) -> Iterator[Event]:
        result, piece = self.result, None
        stopped = done and ids[-1] in self.task.stop_ids
        if self.text:
            piece, used = self.text.push(ids[:-1] if stopped else ids)
            if used is not None:  # the device does not know of stop texts: what it still computes for this row is not read
                ids, done, stopped = ids[:used], True, True
            elif done:
                piece += self.text.finish()
        self.held += [*result.output_ids[-1:], *ids[:-1]]  # the last one's keys and values come with the next round
        result.output_ids += ids
        result.logprobs += logprobs[: len(ids)].tolist()
        yield Tokens(self.index, tuple(ids), piece, min(accepted, len(ids)), tuple(result.logprobs[-len(ids) :]))
        if done:
            result.finish_reason = "stop" if stopped else "length"
            result.decode_seconds = time.perf_counter() - self.first_token
            result.text = self.text.shown if self.text else None
            yield Finished(self.index, result)

    def _fail(self, position: int) -> Finished:
        """A row whose logits are not finite ends without output: nothing that follows from them may pass for an answer."""
        result = self.result
        result.error = (
            f"prompt {result.id}: the target's logits after position {position} are not finite, expected finite numbers; check the weights"
        )
        result.finish_reason, result.output_ids, result.logprobs, result.acceptance_lengths = "error", [], [], []
        result.trace = None if result.trace is None else []
        self.held.clear()
        return Finished(self.index, result)
