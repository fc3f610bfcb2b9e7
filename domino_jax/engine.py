"""The engine: a target, a drafter or none, and their compiled programs by (batch, capacity). The Python interface.

engine = domino_jax.load("Qwen3-8B", "Qwen3-8B-Domino-b16")
for result in engine.generate(["Why is the sky blue?"]):
    print(result.text, result.mean_acceptance_length)
"""

import asyncio
import dataclasses
import functools
import math
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx

from domino_jax import checkpoint, pairing, programs
from domino_jax.config import DraftConfig, TargetConfig, check_pair
from domino_jax.drafter import DEFAULT_POOL_SIZE, BlockDrafter, Drafter, looks_up
from domino_jax.early import Early
from domino_jax.errors import InputError
from domino_jax.events import Check, Ended, Event, Finished, Prompt, Result
from domino_jax.loop import Run
from domino_jax.plan import Models, Options, Plan, Task
from domino_jax.programs import Executable, Shape
from domino_jax.session import Session
from domino_jax.target import Target
from domino_jax.text import Text, stop_ids

DEFAULT_SESSION_CONTEXT = 4096
DEFAULT_CHECK_PROPOSALS = 15  # proposals a round of check mode where no drafter sets them: those of a block of 16
DTYPES = {"float32": jnp.dtype(jnp.float32), "bfloat16": jnp.dtype(jnp.bfloat16)}


@dataclass
class Engine:
    """A target, a drafter or none, and the programs compiled for them so far. Made by `domino_jax.load` or `Engine.random`."""

    target: Target
    drafter: Drafter | None
    dtype: jnp.dtype
    text: Text | None = None
    stop_ids: tuple[int, ...] = ()
    check_proposals: int = DEFAULT_CHECK_PROPOSALS
    executables: dict[tuple, Executable] = field(default_factory=dict, repr=False)
    early: Early | None = field(default=None, repr=False)  # what is still being compiled for the first run

    def __post_init__(self):
        if isinstance(self.drafter, BlockDrafter) and looks_up():
            has_weights = isinstance(jax.tree.leaves(self.target)[0], jax.Array)
            with_table = BlockDrafter.with_table if has_weights else functools.partial(jax.eval_shape, BlockDrafter.with_table)
            self.drafter = with_table(self.drafter, self.target.embedder)

    @classmethod
    def random(
        cls,
        target_config: TargetConfig,
        draft_config: DraftConfig | None,
        key: jax.Array,
        dtype: jnp.dtype | str = "auto",
        num_proposals: int | None = None,
        pool_size: int = DEFAULT_POOL_SIZE,
    ) -> "Engine":
        """An engine with random weights, made on the device: full-size models with nothing stored."""
        dtype = resolve_dtype(dtype)
        if draft_config is not None:
            check_pair(target_config, draft_config, "draft_config")
        target_key, draft_key = jax.random.split(key)
        target = Target(target_config, dtype, rngs=nnx.Rngs(target_key))
        drafter = None
        if draft_config is not None:
            drafter = BlockDrafter(draft_config, dtype, rngs=nnx.Rngs(draft_key), num_proposals=num_proposals, pool_size=pool_size)
        return cls(target, drafter, dtype, check_proposals=num_proposals or DEFAULT_CHECK_PROPOSALS)

    def with_drafter(self, drafter: Drafter | None) -> "Engine":
        """The same target with another drafter, or none; the target's compiled programs are shared."""
        mine = {key: made for key, made in self.executables.items() if key[0] in (programs.prefill, programs.fork, programs.verify)}
        return dataclasses.replace(self, drafter=drafter, executables=mine, early=None)

    @property
    def num_proposals(self) -> int:
        return self.drafter.num_proposals if self.drafter else self.check_proposals

    @property
    def models(self) -> Models:
        draft_config = getattr(self.drafter, "config", None)
        weights = sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves((self.target, self.drafter)))
        return Models(self.target.config, draft_config, self.num_proposals, self.stop_ids, self.text is not None, self.dtype, weights)

    def prompt(self, prompt: Prompt | str | Sequence[int], thinking: bool = False) -> Prompt:
        """A prompt from text (one user turn of the chat template), from token ids, or as it is."""
        if isinstance(prompt, Prompt):
            return prompt
        if not isinstance(prompt, str):
            ids = np.asarray(prompt)
            if ids.ndim != 1:
                raise InputError(f"a prompt is {prompt!r:.80}, expected a text, a sequence of token ids or a Prompt")
            return Prompt(tuple(ids.tolist()))
        if self.text is None:
            raise InputError("a text prompt was given but the target has no tokenizer, expected token ids")
        return Prompt(tuple(self.text.encode_chat([{"role": "user", "content": prompt}], thinking)))

    def generate(self, prompts: Sequence[Prompt | str | Sequence[int]], **options) -> list[Result]:
        """The results of `stream`, in the order of the prompts. The options are `stream`'s."""
        results = {event.index: event.result for event in self.stream(prompts, **options) if isinstance(event, Finished)}
        return [results[index] for index in sorted(results)]

    def stream(
        self, prompts: Sequence[Prompt | str | Sequence[int]], *, exact: bool = False, trace: bool = False, **options
    ) -> Iterator[Event]:
        """Decodes greedily, or draws; yields `Compiled`, `Started`, `Tokens`, `Finished` and, last, `Ended` events as they happen.

        exact: check mode, one token a round through the verify program. trace: keep every round's proposals. The other options are
        the fields of `domino_jax.plan.Options`. Raises InputError before any work for what is impossible, or does not fit.
        """
        if isinstance(prompts, str):
            raise InputError("prompts is a text, expected a list of prompts")
        if not len(prompts):
            return iter((Ended.at_once(),))
        return self.run(self.plan([self.prompt(prompt) for prompt in prompts], **options), exact=exact, trace=trace)

    def run(self, plan: Plan, tasks: Sequence[Task] | None = None, *, exact: bool = False, trace: bool = False) -> Iterator[Event]:
        """The events of a plan's tasks, or of those given, with the batch and capacity of the plan: rounding depends on these."""
        return self._run(plan, exact, trace).events(plan.tasks if tasks is None else tasks)

    async def astream(self, prompts: Sequence[Prompt | str | Sequence[int]], **options) -> AsyncIterator[Event]:
        """`stream` for an event loop, which it does not block: a thread of its own waits for the device."""
        events, thread = self.stream(prompts, **options), ThreadPoolExecutor(1)
        try:
            while (event := await asyncio.get_running_loop().run_in_executor(thread, next, events, None)) is not None:
                yield event
        finally:
            thread.submit(getattr(events, "close", lambda: None))  # after the `next` that a cancelled caller left running
            thread.shutdown(wait=False)

    def session(self, max_context: int | None = None, *, exact: bool = False, **options) -> Session:
        """A conversation of at most `max_context` positions, that many cached: None is what both models were made for, 4,096 at most.

        exact as for `stream`; the other options are the fields of `domino_jax.plan.Options` and hold for all its turns. A session has
        one row: it takes no `batch_size`.
        """
        if options.get("batch_size") is not None:
            raise InputError(f"batch_size is {options['batch_size']}, expected none (a session decodes one row)")
        if max_context is None:
            max_context = min(DEFAULT_SESSION_CONTEXT, *(config.context for config in self.models.configs))
        made = Options(**{**options, "max_context": max_context, "batch_size": 1})
        longest = Prompt((0,), max_new_tokens=max_context - 1)  # whatever a turn may be, its programs are this one's
        return Session(self._run(self.models.plan([longest], made), exact), self.models, made, self.text)

    def plan(self, prompts: Sequence[Prompt], **options) -> Plan:
        """What `run` will do; raises InputError for what cannot be served. Options as for `stream`."""
        return self.models.plan(prompts, Options(**options))

    def _run(self, plan: Plan, exact: bool = False, trace: bool = False) -> Run:
        drafter = None if exact else self.drafter
        width = self.num_proposals if drafter or exact else 0
        shape = Shape.of(
            plan.batch,
            plan.capacity,
            stop_ids=max((len(task.stop_ids) for task in plan.tasks), default=0),
            sampled=any(task.sampling.temperature > 0 for task in plan.tasks),
            filtered=any(task.sampling.is_filtered for task in plan.tasks),
            holding=any(task.min_tokens > 0 for task in plan.tasks),
        )
        return Run(self.target, drafter, self.dtype, shape, width, self.executables, self.text, trace, self.early)

    def check(
        self, results: Sequence[Result], prompts: Sequence[Prompt], watch: Callable[[Event], None] = lambda event: None, **options
    ) -> None:
        """Decodes again in check mode and notes in each result whether it is the same, bit for bit.

        `watch` is called with that run's events. Options as for `stream`.
        """
        references = {}
        for event in self.stream(prompts, **{**options, "exact": True, "trace": False}):
            if isinstance(event, Finished):
                references[event.index] = event.result
            watch(event)
        for index, result in enumerate(results):
            reference = references[index]
            ours, theirs = result.output_ids, reference.output_ids
            if (ours, result.finish_reason, result.error) == (theirs, reference.finish_reason, reference.error):
                result.check = Check(True, None, None)
                continue
            shorter = min(len(ours), len(theirs))
            first = next((i for i in range(shorter) if ours[i] != theirs[i]), shorter)
            best, second = self.best_two([*result.prompt_ids, *theirs[:first]])
            result.check = Check(False, first, best - second if math.isfinite(best - second) else None)

    def best_two(self, ids: Sequence[int]) -> tuple[float, float]:
        """The target's two largest logits after `ids`, as the prefill program computes them."""
        plan = self.plan([Prompt(tuple(ids))], max_new_tokens=1)
        run = self._run(plan, exact=True)
        for _ in run.compile(plan.tasks):
            pass
        best, second = jax.lax.top_k(run.fill(0, plan.tasks[0]).astype(jnp.float32), 2)[0].tolist()
        return best, second


def resolve_dtype(name: str) -> jnp.dtype:
    """`auto` is bfloat16 on an accelerator and float32 on a CPU."""
    if name == "auto":
        name = "float32" if jax.default_backend() == "cpu" else "bfloat16"
    if name not in DTYPES:
        raise InputError(f"dtype is {name}, expected auto, {' or '.join(DTYPES)}")
    return DTYPES[name]


@dataclass(frozen=True)
class Pair:
    """An opened target and drafter (or none): configs, headers and tokenizer checked against each other, no weight loaded."""

    target: checkpoint.Checkpoint
    draft: checkpoint.Checkpoint | None
    dtype: jnp.dtype
    text: Text | None
    stop_ids: tuple[int, ...]
    num_proposals: int
    options: dict  # the drafter's

    def plan(self, prompts: Sequence[Prompt], **options) -> Plan:
        """What `Engine.plan` will say, before the weights are loaded."""
        return self.models.plan(prompts, Options(**options))

    @functools.cached_property
    def models(self) -> Models:
        return self.in_shapes.models

    def with_proposals(self, count: int, note: str) -> "Pair":
        """The same with so many proposals a round, no more than the block has, and a note that says why."""
        draft = dataclasses.replace(self.draft, notes=(*self.draft.notes, note))
        return dataclasses.replace(self, draft=draft, num_proposals=count, options=self.options | {"num_proposals": count})

    def load(
        self,
        progress: Callable = lambda items, total: items,
        plan: Plan | None = None,
        tasks: Sequence[Task] | None = None,
        exact: bool = False,
    ) -> Engine:
        """`progress` wraps the iteration over each checkpoint's parameters, pairs of name and array; it is told their bytes.

        With a plan, the programs that `Engine.run(plan, tasks, exact)` needs are compiled meanwhile; that run is the first to wait for
        them, and announces them.
        """
        early = self._compiling(plan, tasks, exact) if plan else None
        try:
            target = checkpoint.load(self.target, self.dtype, progress)
            drafter = checkpoint.load(self.draft, self.dtype, progress, **self.options) if self.draft else None
        except BaseException:
            if early:
                early.end()
            raise
        return Engine(target, drafter, self.dtype, self.text, self.stop_ids, self.num_proposals, early=early)

    @functools.cached_property
    def in_shapes(self) -> Engine:
        """The engine with shapes in place of weights: it runs nothing."""
        target = checkpoint.abstract(self.target.config, self.dtype)
        drafter = checkpoint.abstract(self.draft.config, self.dtype, **self.options) if self.draft else None
        return Engine(target, drafter, self.dtype, self.text, self.stop_ids, self.num_proposals)

    def _compiling(self, plan: Plan, tasks: Sequence[Task] | None, exact: bool) -> Early:
        run = self.in_shapes._run(plan, exact)
        return Early.compiling(run.needed(plan.tasks if tasks is None else tasks), self.dtype)


def open_pair(
    target: str,
    draft: str | None = None,
    dtype: str = "auto",
    num_proposals: int | None = None,
    pool_size: int = DEFAULT_POOL_SIZE,
) -> Pair:
    """Raises InputError for whatever does not load or does not fit together. Arguments as for `load`."""
    resolved = resolve_dtype(dtype)
    opened, opened_draft, options = checkpoint.open_target(target), None, {}
    if draft is not None:
        opened_draft = checkpoint.open_draft(draft)
        options = {"num_proposals": num_proposals, "pool_size": pool_size}
        check_pair(opened.config, opened_draft.config, str(opened_draft.directory / "config.json"))
        num_proposals = checkpoint.abstract(opened_draft.config, **options).num_proposals  # refuses numbers out of range
        opened_draft = checkpoint.share(opened_draft, opened)
        opened_draft = dataclasses.replace(opened_draft, notes=opened_draft.notes + pairing.suspicions(opened, opened_draft))
    text = Text.load(opened.directory)
    opened = dataclasses.replace(opened, notes=opened.notes + pairing.oversized(opened, text))
    return Pair(opened, opened_draft, resolved, text, stop_ids(opened.directory, text), num_proposals or DEFAULT_CHECK_PROPOSALS, options)


def load(
    target: str,
    draft: str | None = None,
    dtype: str = "auto",
    *,
    num_proposals: int | None = None,
    pool_size: int = DEFAULT_POOL_SIZE,
) -> Engine:
    """An engine from checkpoint directories (Hugging Face or our Orbax layout) or hub ids; `draft` None decodes target-only.

    dtype: float32, bfloat16 or auto. num_proposals: proposals a round, None is block_size - 1. pool_size: candidate ids the
    Domino head chooses among, 0 is the whole vocabulary. The last two change the speed and never the text. Raises
    InputError, before any weight is loaded, for whatever does not load or does not fit together.
    """
    return open_pair(target, draft, dtype, num_proposals, pool_size).load()
