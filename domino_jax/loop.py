"""The host loop of one run. It dispatches round n+1 before it reads round n.

The device decides by itself which rows have ended, so a round dispatched in vain for a row changes nothing of it. Rows are
independent: a finished row's slot takes the next prompt at once, and no row's output depends on its neighbours.
"""

import functools
import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from domino_jax import capacity, programs
from domino_jax.drafter import Drafter
from domino_jax.early import Early, Needed
from domino_jax.events import Compiled, Ended, Event, Finished
from domino_jax.plan import Task
from domino_jax.programs import Executable, Shape
from domino_jax.row import Row
from domino_jax.target import Target
from domino_jax.text import Text


@dataclass
class Pending:
    """A dispatched program whose report is not read yet, with the rows it was dispatched for."""

    report: jax.Array
    rows: dict[int, Row]  # slot -> row
    proposals_BP: jax.Array | None = None  # None: the end of a prefill


class Run:
    """The decoding state of one call of `Engine.stream` or of one session, the rows in its slots, and what is dispatched but not read.

    `width` is the number of proposals verified a round; 0 runs the step program, and with no drafter to make them they are
    impossible: check mode. With modules of shapes it says what it needs (`needed`) and runs nothing.
    """

    def __init__(
        self,
        target: Target,
        drafter: Drafter | None,
        dtype: jnp.dtype,
        shape: Shape,
        width: int,
        executables: dict[tuple, Executable],
        text: Text | None = None,
        trace: bool = False,
        early: Early | None = None,
    ):
        self.target, self.drafter, self.dtype, self.shape, self.width = target, drafter, dtype, shape, width
        self.executables, self.text, self.trace, self.early = executables, text, trace, early
        has_weights = isinstance(jax.tree.leaves(target)[0], jax.Array)
        idle = self.idle if has_weights else functools.partial(jax.eval_shape, self.idle)
        self.state, self.impossible_BP, self.draft_cache, self.features = idle()
        self.rows: dict[int, Row] = {}
        self.held: dict[int, list[int]] = {}  # slot -> tokens whose keys and values are surely in it
        self.prompts: dict[int, tuple[tuple[int, ...], jax.Array]] = {}  # slot -> the prompt in it and its last logits
        self.pending: deque[Pending] = deque()

    def idle(self) -> tuple:
        """State, impossible proposals, the drafter's cache and the features it reads, before the first prompt."""
        batch, capacity, drafter = self.shape.batch, self.shape.capacity, self.drafter
        return (
            programs.allocate(self.target.config, self.shape, self.dtype),
            jnp.full((batch, self.width), programs.IMPOSSIBLE, jnp.int32),
            drafter and drafter.allocate(batch, capacity, self.dtype),
            drafter and tuple(jnp.zeros((batch, self.width + 1, self.target.config.hidden_size), self.dtype) for _ in drafter.layer_ids),
        )

    def events(self, tasks: Sequence[Task], reuse: bool = False) -> Iterator[Event]:
        """Decodes the tasks. With `reuse` a prompt that begins as its slot's last occupant did is prefilled from where they part."""
        self.rows.clear()  # whom an abandoned call left behind
        self.pending.clear()
        yield from self.compile(tasks, reuse)
        began, self.waits = time.perf_counter(), dict.fromkeys(("prefill", "draft", "verify"), 0.0)
        waiting = deque(enumerate(tasks))
        while waiting or self.rows:
            for slot in range(self.shape.batch):
                if waiting and slot not in self.rows:
                    self.admit(slot, *waiting.popleft(), reuse)
            for slot, row in self.rows.items():
                if row.is_prefilling:  # a chunk a round: a long prompt must not keep the others waiting
                    self.advance(slot, row)
            if decoding := {slot: row for slot, row in self.rows.items() if not row.is_prefilling}:
                self.round(decoding)
            while len(self.pending) > 1:
                yield from self.read(self.pending.popleft())
        yield Ended(self.waits | {"host": time.perf_counter() - began - sum(self.waits.values())})

    # What is compiled

    def compile(self, tasks: Sequence[Task], reuse: bool = False) -> Iterator[Compiled]:
        """Compiles the programs that these tasks need and the engine does not have yet, or waits for those that are being compiled."""
        try:
            for one in self.needed(tasks, reuse):
                if one.key in self.executables:
                    continue
                made = (self.early and self.early.take(one.key)) or one.compiled(self.dtype)
                self.executables[one.key] = made = made.bound(one.modules)
                yield Compiled(one.name, self.shape.batch, self.shape.capacity, made.seconds, made.cached)
        finally:
            if self.early:
                self.early.end()

    def needed(self, tasks: Sequence[Task], reuse: bool = False) -> Iterator[Needed]:
        """The programs that these tasks run, in the order of their first use. `reuse`: from wherever a prompt may go on."""
        lengths = {len(task.prompt.ids) for task in tasks}
        yield from self.prefills(capacity.PREFILL_WIDTHS if reuse else {w for n in lengths for w in capacity.chunk_widths(n)})
        if any(task.sample for task in tasks):
            yield from self.forks()
        if self.drafter:
            yield self._needed(programs.draft, self.width, (self.drafter, self.target.embedder), *self.draft_arguments())
        yield self._needed(programs.verify, self.width, (self.target,), self.state, self.impossible_BP)

    def prefills(self, widths: Iterable[int]) -> Iterator[Needed]:
        one, terms, D = np.int32(0), programs.Terms.of(self.shape), self.target.config.hidden_size
        for width in sorted(widths):
            yield self._needed(programs.prefill, width, (self.target,), self.state, one, np.zeros(width, np.int32), one, one, one, terms)
            if self.reads_features:
                features = (jax.ShapeDtypeStruct((1, width, D), self.dtype),) * len(self.drafter.layer_ids)
                yield self._needed(programs.absorb, width, (self.drafter,), self.draft_cache, features, one, one)

    def forks(self) -> Iterator[Needed]:
        one, logits_V = np.int32(0), jax.ShapeDtypeStruct((self.target.config.vocab_size,), self.dtype)
        terms = programs.Terms.of(self.shape)
        yield self._needed(programs.fork, 0, (self.target,), self.state, one, one, one, logits_V, one, terms)
        if self.reads_features:
            yield self._needed(programs.copy, 0, (self.drafter,), self.draft_cache, one, one)

    def _needed(self, function, width: int, modules: tuple, *arguments) -> Needed:
        return Needed((function, width, self.shape), modules, arguments)

    def program(self, function, width: int) -> Executable:
        return self.executables[function, width, self.shape]

    @property
    def reads_features(self) -> bool:
        return bool(self.drafter and self.drafter.layer_ids)

    # What is dispatched

    def admit(self, slot: int, index: int, task: Task, reuse: bool = False) -> None:
        """Gives `slot` to a task. With `reuse` it goes on from what the slot holds of its prompt."""
        ids = task.prompt.ids
        text = self.text.stream(task.stop, task.min_tokens) if self.text else None
        kept = common_prefix(self.held.get(slot, ()), ids[:-1]) if reuse else 0
        row = self.rows[slot] = Row.admitted(index, task, text, ids[:kept], self.trace)
        self.held[slot] = row.held
        if slot in self.prompts and not (task.sample and self.prompts[slot][0] == ids):
            del self.prompts[slot]  # its first chunk clears the slot

    def advance(self, slot: int, row: Row) -> None:
        """Brings on a row's prompt: by a chunk, or whole from the slot where an earlier sample has it."""
        ids = row.task.prompt.ids
        if row.task.sample:
            source = next((s for s, (there, _) in self.prompts.items() if there == ids), None)
            if source is not None:
                self.fork(slot, row, source)
                return
            if any(other.task.prompt.ids == ids and other.index < row.index for other in self.rows.values()):
                return  # it is on its way there
        self.prefill(slot, row)

    def fill(self, slot: int, task: Task) -> jax.Array:
        """Admits a task and dispatches all of its prompt -> the logits after it, [V]."""
        self.admit(slot, slot, task)
        while self.rows[slot].is_prefilling:
            logits_V = self.prefill(slot, self.rows[slot])
        return logits_V

    def terms(self, task: Task) -> programs.Terms:
        return programs.Terms.of(self.shape, task.stop_ids, len(task.prompt.ids) + task.min_tokens, task.sampling, task.sample)

    def prefill(self, slot: int, row: Row) -> jax.Array:
        """Dispatches the next chunk of a prompt -> the logits after it, [V]."""
        width, ids = row.widths.popleft(), row.task.prompt.ids
        part = ids[row.offset : row.offset + width]
        tokens_T = np.zeros(width, np.int32)
        tokens_T[: len(part)] = part
        numbers = np.int32(row.offset), np.int32(len(part)), np.int32(0 if row.is_prefilling else row.task.budget)
        prefill = self.program(programs.prefill, width)
        self.state, residuals, report, logits_V = prefill(self.state, np.int32(slot), tokens_T, *numbers, self.terms(row.task))
        if self.reads_features:
            absorb = self.program(programs.absorb, width)
            self.draft_cache = absorb(self.draft_cache, self.captured(residuals), np.int32(slot), numbers[0])
        row.offset += len(part)
        row.held += part
        if not row.is_prefilling:
            self.prompts[slot] = ids, logits_V
            self._dispatched(Pending(report, {slot: row}))
        return logits_V

    def fork(self, slot: int, row: Row, source: int) -> None:
        """Starts a row with the prompt in slot `source`."""
        row.widths.clear()
        row.result.cached_tokens = len(row.task.prompt.ids)
        ids, logits_V = self.prompts[slot] = self.prompts[source]
        numbers = np.int32(len(ids)), logits_V, np.int32(row.task.budget)
        fork = self.program(programs.fork, 0)
        self.state, report = fork(self.state, np.int32(slot), np.int32(source), *numbers, self.terms(row.task))
        if self.reads_features:
            self.draft_cache = self.program(programs.copy, 0)(self.draft_cache, np.int32(slot), np.int32(source))
        row.held[:] = ids
        self._dispatched(Pending(report, {slot: row}))

    def round(self, rows: dict[int, Row]) -> None:
        """Dispatches one round of these rows."""
        proposals_BP = self.impossible_BP
        if self.drafter:
            draft = self.program(programs.draft, self.width)
            self.draft_cache, proposals_BP = draft(*self.draft_arguments())
        self.state, residuals, report = self.program(programs.verify, self.width)(self.state, proposals_BP)
        if self.drafter:
            self.features = self.captured(residuals)
        self._dispatched(Pending(report, rows, proposals_BP))

    def draft_arguments(self) -> tuple:
        """What the draft program takes after its modules."""
        state = self.state
        return self.draft_cache, self.features, state.features_from_B, state.length_B, state.verified_B, state.terms.sampling

    def captured(self, residuals: tuple[jax.Array, ...]) -> tuple[jax.Array, ...]:
        """Those that the drafter reads."""
        return tuple(residuals[i] for i in self.drafter.layer_ids)

    def _dispatched(self, pending: Pending) -> None:
        pending.report.copy_to_host_async()
        self.pending.append(pending)

    # What is read

    def read(self, pending: Pending) -> Iterator[Event]:
        """Waits for a report and turns it into events."""
        live = {slot: row for slot, row in pending.rows.items() if self.rows.get(slot) is row}  # the others have ended meanwhile
        if pending.proposals_BP is None:
            self._wait("prefill", pending.report)
            for slot, row in live.items():
                yield from self._told(slot, row.begun(np.asarray(pending.report)))
            return
        draft, verify = self._wait("draft", pending.proposals_BP), self._wait("verify", pending.report)
        report_BX = np.asarray(pending.report)
        proposals_BP = np.asarray(pending.proposals_BP) if self.trace else [None] * self.shape.batch
        for slot, row in live.items():
            row.result.draft_seconds += draft
            row.result.verify_seconds += verify
            yield from self._told(slot, row.went_on(report_BX[slot], proposals_BP[slot]))

    def _told(self, slot: int, events: Iterator[Event]) -> Iterator[Event]:
        """Lets a row's events through; an ended row frees its slot, and one that failed leaves nothing of use there."""
        for event in events:
            if isinstance(event, Finished):
                del self.rows[slot]
                if event.result.error:
                    self.prompts.pop(slot, None)
            yield event

    def _wait(self, stage: str, made: jax.Array) -> float:
        """Seconds until the array was there."""
        began = time.perf_counter()
        made.block_until_ready()
        waited = time.perf_counter() - began
        self.waits[stage] += waited
        return waited


def common_prefix(a: Sequence[int], b: Sequence[int]) -> int:
    """How many tokens two sequences begin with alike."""
    return next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
