"""What a run will do: every answer with its budget and terms, refused before any work if it cannot be served."""

import dataclasses
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from numbers import Integral

import jax.numpy as jnp

from domino_jax import capacity, memory
from domino_jax.config import DraftConfig, TargetConfig
from domino_jax.errors import InputError
from domino_jax.events import Prompt
from domino_jax.sampling import VALID, Sampling

DEFAULT_BATCH_SIZE = 8


@dataclass(frozen=True)
class Options:
    """How a run decodes. What a prompt says itself goes before these.

    max_new_tokens: None is 512, cut to what the context leaves; a number that the context cannot hold is refused.
    max_context: positions a row may use; None is the model's `max_position_embeddings`, and cache for no more than needed.
    batch_size: rows decoded together; None is min(answers, 8).
    n: answers to each prompt, drawn with different noise; they share one prefill.
    min_tokens: so many tokens come before a stop token or a stop text may.
    stop: texts that end an answer where they first come; they are left out of it. `output_ids` end with the token that completes one.
    stop_token_ids: tokens that end an answer, besides the model's own; `ignore_eos` forgets the model's own.
    temperature: 0 is greedy. top_k, top_p, min_p: filters, in this order; 0, 1 and 0 are off. seed: a prompt's text is a function
    of it, with any drafter and with none.
    """

    max_new_tokens: int | None = None
    max_context: int | None = None
    batch_size: int | None = None
    n: int = 1
    min_tokens: int = 0
    stop: Sequence[str] = ()
    stop_token_ids: Sequence[int] = ()
    ignore_eos: bool = False
    temperature: float = 0.0
    top_k: int = 0
    top_p: float = 1.0
    min_p: float = 0.0
    seed: int = 0

    def __post_init__(self):
        for name in ("max_new_tokens", "max_context", "batch_size"):
            value = getattr(self, name)
            if value is not None and not _is_integer(value):
                raise InputError(f"{name} is {value}, expected an integer")
        if self.batch_size is not None and self.batch_size < 1:
            raise InputError(f"batch_size is {self.batch_size}, expected at least 1")

    @property
    def sampling(self) -> Sampling:
        return Sampling(*(getattr(self, name) for name in VALID))


@dataclass(frozen=True)
class Task:
    """One answer to be written: the `sample`-th to prompt number `number`, of at most `budget` tokens."""

    number: int
    prompt: Prompt
    sample: int
    budget: int
    min_tokens: int
    stop: tuple[str, ...]
    stop_ids: tuple[int, ...]
    sampling: Sampling


@dataclass(frozen=True)
class Plan:
    """The answers in order, the rows decoded together and the cache slots of each."""

    tasks: tuple[Task, ...]
    batch: int
    capacity: int


@dataclass(frozen=True)
class Models:
    """What a plan must know of the models that will run it."""

    target: TargetConfig
    draft: DraftConfig | None
    num_proposals: int
    stop_ids: tuple[int, ...]  # the target's own
    has_text: bool  # whether there is a tokenizer
    dtype: jnp.dtype
    weights: int  # bytes

    @property
    def configs(self) -> tuple[TargetConfig | DraftConfig, ...]:
        return (self.target, self.draft) if self.draft else (self.target,)

    def plan(self, prompts: Sequence[Prompt], options: Options) -> Plan:
        """Raises InputError for a prompt or a number that cannot be served."""
        limit = capacity.context_limit(self.target, options.max_context)
        tasks = [task for number, prompt in enumerate(prompts) for task in self.tasks(prompt, number, limit, options)]
        used = max((len(task.prompt.ids) + task.budget for task in tasks), default=0)
        slots = capacity.slots(used, self.draft, self.num_proposals, options.max_context)
        batch = batch_for(len(tasks), options.batch_size)
        self.refuse_excess(batch, slots)
        return Plan(tuple(tasks), batch, slots)

    def refuse_excess(self, batch: int, slots: int) -> None:
        """Raises InputError for more memory than the device has, with the numbers and what would fit."""
        limit = memory.device_bytes()

        def need(batch: int, slots: int) -> memory.Memory:
            return memory.needed(self.target, self.draft, self.dtype, self.weights, batch, slots, self.num_proposals)

        if need(batch, slots).total <= limit:
            return
        rows = max((n for n in range(1, batch) if need(n, slots).total <= limit), default=0)
        fitting = max((n for n in capacity.buckets(slots) if need(batch, n).total <= limit), default=0)
        context = fitting - capacity.beyond(self.draft, self.num_proposals)
        ways = [f"batch_size {rows}"] * (rows > 0) + [f"max_context {context} at this batch_size"] * (context > 1)
        raise InputError(
            f"batch_size {batch} with {slots} cache slots a row needs {need(batch, slots)} but the device has {memory.gigabytes(limit)}, "
            f"expected at most {' or '.join(ways) or 'what fits: a larger device or a smaller model'}"
        )

    def tasks(self, prompt: Prompt, number: int, limit: int, options: Options) -> list[Task]:
        """The answers to prompt number `number` within `limit` positions."""
        name = prompt.where or f"prompt {number if prompt.id is None else prompt.id}"

        def own(field: str):
            return getattr(options if getattr(prompt, field) is None else prompt, field)

        budget = capacity.budget(name, prompt.ids, self.target.vocab_size, own("max_new_tokens"), limit)
        count, least, stop, added = own("n"), own("min_tokens"), own("stop"), own("stop_token_ids")
        if unknown := set(prompt.sampling or {}) - set(VALID):
            raise InputError(f"{name}: sampling has {', '.join(sorted(unknown))}, expected {', '.join(VALID)}")
        try:
            sampling = dataclasses.replace(options.sampling, **(prompt.sampling or {}))
        except InputError as error:
            raise InputError(f"{name}: {error}") from None
        if not _is_integer(count) or count < 1:
            raise InputError(f"{name}: n is {count}, expected an integer of at least 1")
        if count > 1 and not sampling.temperature:
            raise InputError(f"{name}: n is {count} at temperature 0, expected 1 (all would be the same) or a temperature above 0")
        if not _is_integer(least) or not 0 <= least <= budget:
            raise InputError(f"{name}: min_tokens is {least}, expected 0 to the tokens it may have, {budget}")
        if isinstance(added, str) or not isinstance(added, Iterable):
            raise InputError(f"{name}: stop_token_ids is {added!r}, expected a list of token ids")
        for token in added:
            if not _is_integer(token) or not 0 <= token < self.target.vocab_size:
                raise InputError(
                    f"{name}: stop token id {token} is outside the vocabulary, expected an integer from 0 to {self.target.vocab_size - 1}"
                )
        if isinstance(stop, str) or not isinstance(stop, Iterable) or not all(isinstance(text, str) and text for text in stop):
            raise InputError(f"{name}: stop is {stop!r}, expected a list of texts of at least one character")
        if stop and not self.has_text:
            raise InputError(f"{name}: stop is {list(stop)} but the target has no tokenizer, expected no stop texts")
        stop_ids = tuple(dict.fromkeys((*(() if options.ignore_eos else self.stop_ids), *added)))
        return [Task(number, prompt, sample, budget, least, tuple(stop), stop_ids, sampling) for sample in range(count)]


def batch_for(answers: int, batch_size: int | None) -> int:
    """The rows decoded together: `batch_size`, or where it is None one for each answer, 8 at most."""
    return min(max(answers, 1), DEFAULT_BATCH_SIZE) if batch_size is None else batch_size


def _is_integer(value: object) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)
