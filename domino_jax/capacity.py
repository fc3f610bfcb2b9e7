"""What a run needs room for: budgets within the context, prompt chunks, and one cache capacity that never grows."""

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral

from domino_jax.config import DraftConfig, TargetConfig
from domino_jax.errors import InputError
from domino_jax.events import Prompt

DEFAULT_MAX_NEW_TOKENS = 512
PREFILL_WIDTHS = (32, 128, 512)


@dataclass(frozen=True)
class Plan:
    """Checked prompts with their budgets (tokens to generate) and chunk widths, and the cache slots a row gets."""

    prompts: tuple[Prompt, ...]
    budgets: tuple[int, ...]
    chunks: tuple[tuple[int, ...], ...]
    capacity: int


def plan(
    prompts: Sequence[Prompt],
    target: TargetConfig,
    draft: DraftConfig | None,
    num_proposals: int,
    max_new_tokens: int | None = None,
    max_context: int | None = None,
) -> Plan:
    """Raises InputError for a prompt or a number that cannot be served."""
    limit = target.max_position_embeddings
    if max_context is not None:
        if not 2 <= max_context <= limit:
            raise InputError(f"max_context is {max_context}, expected 2 to max_position_embeddings = {limit}")
        limit = max_context
    budgets = tuple(_budget(prompt, number, target.vocab_size, max_new_tokens, limit) for number, prompt in enumerate(prompts))
    used = max((len(prompt.ids) + budget for prompt, budget in zip(prompts, budgets, strict=True)), default=0)
    if draft is not None and used > draft.max_position_embeddings:
        raise InputError(
            f"the run needs {used} positions (longest prompt and its new tokens) but the drafter's max_position_embeddings is "
            f"{draft.max_position_embeddings}, expected at least {used}; lower max_new_tokens"
        )
    slots = (used if max_context is None else max_context) + num_proposals + 1
    return Plan(tuple(prompts), budgets, tuple(chunk_widths(len(prompt.ids)) for prompt in prompts), bucket(slots))


def _budget(prompt: Prompt, number: int, vocab_size: int, max_new_tokens: int | None, limit: int) -> int:
    name = prompt.where or f"prompt {number if prompt.id is None else prompt.id}"
    length = len(prompt.ids)
    if not length:
        raise InputError(f"{name} is empty, expected at least one token")
    for token in prompt.ids:
        if not isinstance(token, Integral) or isinstance(token, bool) or not 0 <= token < vocab_size:
            raise InputError(f"{name}: token id {token} is outside the vocabulary, expected an integer from 0 to {vocab_size - 1}")
    if length >= limit:
        raise InputError(f"{name} has {length} tokens, expected at most {limit - 1} (the context holds {limit} positions)")
    asked = max_new_tokens if prompt.max_new_tokens is None else prompt.max_new_tokens
    if asked is None:
        return min(DEFAULT_MAX_NEW_TOKENS, limit - length)
    if asked < 1:
        raise InputError(f"{name}: max_new_tokens is {asked}, expected at least 1")
    if length + asked > limit:
        raise InputError(
            f"{name}: {length} prompt tokens and max_new_tokens {asked} need {length + asked} positions, expected at most {limit}"
        )
    return asked


def bucket(slots: int) -> int:
    """The capacity for this many slots: 64, 96, 128, 192, 256, 384, ... so that similar runs share their programs."""
    size = 64
    while size < slots:
        if size * 3 // 2 >= slots:
            return size * 3 // 2
        size *= 2
    return size


def chunk_widths(length: int) -> tuple[int, ...]:
    """The prefill programs that take in a prompt, in order: as many of the widest as it fills, then the narrowest that holds the rest."""
    whole, rest = divmod(length, PREFILL_WIDTHS[-1])
    last = next((width for width in PREFILL_WIDTHS if rest <= width), 0) if rest else 0
    return (PREFILL_WIDTHS[-1],) * whole + ((last,) if last else ())
