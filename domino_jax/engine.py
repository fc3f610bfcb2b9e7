"""The engine: a target, a drafter or none, and their compiled programs by (batch, capacity). The Python interface.

engine = domino_jax.load("Qwen3-8B", "Qwen3-8B-Domino-b16")
for result in engine.generate(["Why is the sky blue?"]):
    print(result.text, result.mean_acceptance_length)
"""

import dataclasses
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx

from domino_jax import capacity, checkpoint, programs
from domino_jax.config import DraftConfig, TargetConfig, check_pair
from domino_jax.drafter import DEFAULT_POOL_SIZE, BlockDrafter, Drafter
from domino_jax.errors import InputError
from domino_jax.events import Check, Event, Finished, Prompt, Result
from domino_jax.loop import Run
from domino_jax.programs import Executable
from domino_jax.sampling import Sampling
from domino_jax.target import Target
from domino_jax.text import Text, stop_ids

DEFAULT_CHECK_PROPOSALS = 15  # proposals a round of check mode where no drafter sets them: those of a block of 16
DEFAULT_BATCH_SIZE = 8
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
        mine = {key: made for key, made in self.executables.items() if key[0] in (programs.prefill, programs.verify)}
        return dataclasses.replace(self, drafter=drafter, executables=mine)

    @property
    def num_proposals(self) -> int:
        return self.drafter.num_proposals if self.drafter else self.check_proposals

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
        self,
        prompts: Sequence[Prompt | str | Sequence[int]],
        *,
        max_new_tokens: int | None = None,
        max_context: int | None = None,
        batch_size: int | None = None,
        ignore_eos: bool = False,
        exact: bool = False,
        trace: bool = False,
        temperature: float = 0.0,
        top_k: int = 0,
        top_p: float = 1.0,
        min_p: float = 0.0,
        seed: int = 0,
        stop: Sequence[str] = (),
    ) -> Iterator[Event]:
        """Decodes greedily, or draws; yields `Compiled`, `Started`, `Tokens` and `Finished` events as they happen.

        max_new_tokens: None is 512, cut to what the context leaves; a number that the context cannot hold is refused.
        max_context: positions a row may use; None is the model's `max_position_embeddings`, and cache for no more than needed.
        batch_size: rows decoded together; None is min(prompts, 8).
        exact: check mode, one token a round through the verify program. trace: keep every round's proposals.
        temperature: 0 is greedy. top_k, top_p, min_p: filters, in this order; 0, 1 and 0 are off. seed: a prompt's text is a function
        of it, with any drafter and with none. A prompt's own `sampling` goes before these.
        stop: texts that end an answer where they first come; they are left out of it. `output_ids` end with the token that completes one.
        Raises InputError before any work for a prompt that is empty, out of the vocabulary, or does not fit.
        """
        if isinstance(prompts, str):
            raise InputError("prompts is a text, expected a list of prompts")
        if not len(prompts):
            return iter(())
        prompts = [self.prompt(prompt) for prompt in prompts]
        plan = self.plan(prompts, max_new_tokens, max_context)
        batch = min(len(prompts), DEFAULT_BATCH_SIZE) if batch_size is None else batch_size
        if batch < 1:
            raise InputError(f"batch_size is {batch}, expected at least 1")
        default = Sampling(temperature, top_k, top_p, min_p, seed)
        samplings = [dataclasses.replace(default, **(prompt.sampling or {})) for prompt in prompts]
        stops = [tuple(stop if prompt.stop is None else prompt.stop) for prompt in prompts]
        for texts in stops:
            if "" in texts:
                raise InputError("stop holds an empty text, expected texts of at least one character")
            if texts and self.text is None:
                raise InputError(f"stop is {list(texts)} but the target has no tokenizer, expected no stop texts")
        return self._run(plan, batch, () if ignore_eos else self.stop_ids, exact, trace, samplings, stops).events()

    def plan(self, prompts: Sequence[Prompt], max_new_tokens: int | None = None, max_context: int | None = None) -> capacity.Plan:
        """Budgets, chunks and capacity of a run; raises InputError for what cannot be served."""
        draft_config = getattr(self.drafter, "config", None)
        return capacity.plan(prompts, self.target.config, draft_config, self.num_proposals, max_new_tokens, max_context)

    def _run(
        self,
        plan: capacity.Plan,
        batch: int,
        stop_ids: tuple[int, ...],
        exact: bool,
        trace: bool = False,
        samplings: Sequence[Sampling] = (),
        stop_texts: Sequence[tuple[str, ...]] = (),
    ) -> Run:
        drafter = None if exact else self.drafter
        width = self.num_proposals if drafter or exact else 0
        texts = self.text, stop_texts
        return Run(self.target, drafter, self.dtype, plan, batch, width, stop_ids, self.executables, samplings, *texts, trace)

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
        run = self._run(self.plan([Prompt(tuple(ids))], max_new_tokens=1), 1, (), exact=True)
        for _ in run.compile_prefill():
            pass
        best, second = run.prefill(0, 0)[1].tolist()
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

    def plan(self, prompts: Sequence[Prompt], max_new_tokens: int | None = None, max_context: int | None = None) -> capacity.Plan:
        """What `Engine.plan` will say, before the weights are loaded."""
        return capacity.plan(prompts, self.target.config, self.draft and self.draft.config, self.num_proposals, max_new_tokens, max_context)

    def load(self, progress: Callable = lambda items, total: items) -> Engine:
        """`progress` wraps the iteration over each checkpoint's parameters, as tqdm does."""
        target = checkpoint.load(self.target, self.dtype, progress)
        drafter = checkpoint.load(self.draft, self.dtype, progress, **self.options) if self.draft else None
        return Engine(target, drafter, self.dtype, self.text, self.stop_ids, self.num_proposals)


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
        if checkpoint.shared_tensors(opened_draft):
            checkpoint.check_shared(opened_draft, checkpoint.read_embedder(opened))
    text = Text.load(opened.directory)
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
