"""The host loop of one run. It dispatches round n+1 before it reads round n.

The device decides by itself which rows have ended, so a round dispatched in vain for a row changes nothing of it. Rows are
independent: a finished row's slot takes the next prompt at once, and no row's output depends on its neighbours.
"""

import time
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from domino_jax import programs
from domino_jax.capacity import Plan
from domino_jax.drafter import Drafter
from domino_jax.events import Compiled, Event, Finished, Result, Round, Started, Tokens
from domino_jax.programs import Executable
from domino_jax.sampling import Sampling, SamplingState
from domino_jax.target import Target
from domino_jax.text import Text, Until


@dataclass
class Row:
    """The occupant of a slot, as the host knows it."""

    index: int
    result: Result
    text: Until | None
    started: float  # when its prefill was dispatched
    first_token: float = 0.0


@dataclass
class Pending:
    """A dispatched program whose report is not read yet, with the rows it was dispatched for."""

    report: jax.Array
    rows: dict[int, Row]  # slot -> row
    is_prefill: bool
    proposals_BP: jax.Array | None = None  # kept for the trace


class Run:
    """The decoding state of one call of `Engine.stream`, the rows in its slots, and what is dispatched but not read.

    `width` is the number of proposals verified a round; 0 runs the step program, and with no drafter to make them they are
    impossible: check mode.
    """

    def __init__(
        self,
        target: Target,
        drafter: Drafter | None,
        dtype: jnp.dtype,
        plan: Plan,
        batch: int,
        width: int,
        stop_ids: tuple[int, ...],
        executables: dict[tuple, Executable],
        samplings: Sequence[Sampling] = (),
        text: Text | None = None,
        stop_texts: Sequence[tuple[str, ...]] = (),
        trace: bool = False,
    ):
        self.target, self.drafter, self.dtype, self.plan, self.batch, self.width = target, drafter, dtype, plan, batch, width
        self.executables, self.text, self.trace, self.stop_texts = executables, text, trace, stop_texts
        self.stop_ids = frozenset(stop_ids)
        sampled = any(sampling.temperature > 0 for sampling in samplings)
        self.samplings = [SamplingState.of([sampling]) for sampling in samplings] if sampled else [None] * len(plan.prompts)
        self.state = programs.allocate(target.config, batch, plan.capacity, dtype, stop_ids, sampled)
        self.impossible_BP = jnp.full((batch, width), programs.IMPOSSIBLE, jnp.int32)
        if drafter:
            self.draft_cache = drafter.allocate(batch, plan.capacity, dtype)
            self.features = tuple(jnp.zeros((batch, width + 1, target.config.hidden_size), dtype) for _ in drafter.layer_ids)
        self.rows: dict[int, Row] = {}
        self.pending: deque[Pending] = deque()

    def events(self) -> Iterator[Event]:
        yield from self.compile()
        waiting = deque(range(len(self.plan.prompts)))
        while waiting or self.rows:
            for slot in range(self.batch):
                if waiting and slot not in self.rows:
                    self.start(slot, waiting.popleft())
            self.round()
            while len(self.pending) > 1:
                yield from self.read(self.pending.popleft())

    def compile(self) -> Iterator[Compiled]:
        """Compiles the programs this run needs and the engine does not have yet."""
        yield from self.compile_prefill()
        state = self.state
        if self.drafter:
            yield from self._compile(programs.draft, self.width, (self.drafter, self.target.embedder), self._draft_arguments(), donate=[0])
        yield from self._compile(programs.verify, self.width, (self.target,), (state, self.impossible_BP), donate=[0])

    def compile_prefill(self) -> Iterator[Compiled]:
        one, state = np.int32(0), self.state
        row_shape = (self.target.config.hidden_size,)
        for width in sorted({width for chunks in self.plan.chunks for width in chunks}):
            chunk = np.zeros(width, np.int32)
            arguments = (state, one, chunk, one, one, one, self.samplings[0])
            yield from self._compile(programs.prefill, width, (self.target,), arguments, donate=[0])
            if self.drafter and self.drafter.layer_ids:
                features = (jax.ShapeDtypeStruct((1, width, *row_shape), self.dtype),) * len(self.drafter.layer_ids)
                yield from self._compile(programs.absorb, width, (self.drafter,), (self.draft_cache, features, one, one), donate=[0])

    def _compile(self, function, width: int, modules: tuple, arguments: tuple, donate: list[int]) -> Iterator[Compiled]:
        key = self._key(function, width)
        if key not in self.executables:
            self.executables[key] = made = programs.compile_ahead(function, modules, arguments, self.dtype, donate)
            name = "step" if function is programs.verify and not width else function.__name__
            yield Compiled(name, self.batch, self.plan.capacity, made.seconds, made.cached)

    def _key(self, function, width: int) -> tuple:
        return function, self.batch, self.plan.capacity, width, self.state.stop_ids.shape, self.state.sampling is not None

    def program(self, function, width: int) -> Executable:
        return self.executables[self._key(function, width)]

    # What is dispatched

    def start(self, slot: int, index: int) -> None:
        """Prefills prompt `index` into `slot`."""
        prompt = self.plan.prompts[index]
        result = Result(index if prompt.id is None else prompt.id, prompt.ids, trace=[] if self.trace else None)
        stops = self.stop_texts[index] if self.stop_texts else ()
        row = Row(index, result, self.text.stream(stops) if self.text else None, time.perf_counter())
        self.rows[slot] = row
        report, _ = self.prefill(slot, index)
        self._dispatched(Pending(report, {slot: row}, is_prefill=True))

    def prefill(self, slot: int, index: int) -> tuple[jax.Array, jax.Array]:
        """Dispatches a prompt's chunks -> (report, two largest logits) of the last."""
        ids, budget, offset = self.plan.prompts[index].ids, self.plan.budgets[index], 0
        for width in self.plan.chunks[index]:
            part = ids[offset : offset + width]
            chunk = np.zeros(width, np.int32)
            chunk[: len(part)] = part
            place = np.int32(slot), np.int32(offset)
            prefill = self.program(programs.prefill, width)
            numbers = (np.int32(len(part)), np.int32(budget))
            self.state, residuals, report, best_2 = prefill(self.state, place[0], chunk, place[1], *numbers, self.samplings[index])
            if self.drafter and self.drafter.layer_ids:
                absorb = self.program(programs.absorb, width)
                self.draft_cache = absorb(self.draft_cache, self._captured(residuals), *place)
            offset += width
        return report, best_2

    def round(self) -> None:
        """Dispatches one round of all rows."""
        proposals_BP = self.impossible_BP
        if self.drafter:
            draft = self.program(programs.draft, self.width)
            self.draft_cache, proposals_BP = draft(*self._draft_arguments())
        self.state, residuals, report = self.program(programs.verify, self.width)(self.state, proposals_BP)
        if self.drafter:
            self.features = self._captured(residuals)
        self._dispatched(Pending(report, dict(self.rows), False, proposals_BP if self.trace else None))

    def _draft_arguments(self) -> tuple:
        state = self.state
        return self.draft_cache, self.features, state.features_from_B, state.length_B, state.verified_B, state.sampling

    def _captured(self, residuals: tuple[jax.Array, ...]) -> tuple[jax.Array, ...]:
        return tuple(residuals[i] for i in self.drafter.layer_ids)

    def _dispatched(self, pending: Pending) -> None:
        pending.report.copy_to_host_async()
        self.pending.append(pending)

    # What is read

    def read(self, pending: Pending) -> Iterator[Event]:
        """Waits for a report and turns it into events."""
        report = np.asarray(pending.report)
        now = time.perf_counter()
        if pending.is_prefill:
            ((slot, row),) = pending.rows.items()
            yield from self._read_prefill(slot, row, report, now)
            return
        proposals_BP = None if pending.proposals_BP is None else np.asarray(pending.proposals_BP)
        for slot, row in pending.rows.items():
            if self.rows.get(slot) is row:  # else it ended while this round was on its way
                yield from self._read_round(slot, row, report[slot], None if proposals_BP is None else proposals_BP[slot], now)

    def _read_prefill(self, slot: int, row: Row, report: np.ndarray, now: float) -> Iterator[Event]:
        token, done, finite = (int(x) for x in report)
        row.first_token, row.result.prefill_seconds = now, now - row.started
        yield Started(row.index, len(row.result.prompt_ids), row.result.prefill_seconds)
        if finite:
            yield from self._emit(slot, row, [token], bool(done), now)
        else:
            yield self._fail(slot, row, len(row.result.prompt_ids) - 1)

    def _read_round(self, slot: int, row: Row, report: np.ndarray, proposals: np.ndarray | None, now: float) -> Iterator[Event]:
        accepted, emitted, done, failed_at = (int(x) for x in report[self.width + 1 :])
        result = row.result
        start = len(result.prompt_ids) + len(result.output_ids) - 1
        if failed_at >= 0:
            yield self._fail(slot, row, start + failed_at)
            return
        result.acceptance_lengths.append(accepted + 1)
        if proposals is not None:
            result.trace.append(Round(start, result.output_ids[-1], tuple(proposals.tolist()), accepted))
        yield from self._emit(slot, row, report[:emitted].tolist(), bool(done), now, accepted)

    def _emit(self, slot: int, row: Row, ids: list[int], done: bool, now: float, accepted: int = 0) -> Iterator[Event]:
        result, piece = row.result, None
        stopped = done and ids[-1] in self.stop_ids
        if row.text:
            piece, used = row.text.push(ids[:-1] if stopped else ids)
            if used is not None:  # the device does not know of stop texts: what it still computes for this row is not read
                ids, done, stopped = ids[:used], True, True
            elif done:
                piece += row.text.finish()
        result.output_ids += ids
        yield Tokens(row.index, tuple(ids), piece, min(accepted, len(ids)))
        if done:
            result.finish_reason = "stop" if stopped else "length"
            result.decode_seconds = now - row.first_token
            result.text = row.text.shown if row.text else None
            del self.rows[slot]
            yield Finished(row.index, result)

    def _fail(self, slot: int, row: Row, position: int) -> Finished:
        """A row whose logits are not finite ends without output: nothing that follows from them may pass for an answer."""
        result = row.result
        result.error = (
            f"prompt {result.id}: the target's logits after position {position} are not finite, expected finite numbers; check the weights"
        )
        result.finish_reason, result.output_ids, result.acceptance_lengths = "error", [], []
        result.trace = None if result.trace is None else []
        del self.rows[slot]
        return Finished(row.index, result)
