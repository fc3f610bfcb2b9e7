"""What an answer needs room for: a budget within the context, prompt chunks, and one cache capacity that never grows in a run."""

from collections.abc import Sequence
from numbers import Integral

from domino_jax.config import DecoderConfig, DraftConfig, TargetConfig
from domino_jax.errors import InputError

DEFAULT_MAX_NEW_TOKENS = 512
PREFILL_WIDTHS = (32, 128, 512)


def context_limit(target: TargetConfig, max_context: int | None) -> int:
    """The positions that a row may use."""
    limit = target.context
    if max_context is not None and not 2 <= max_context <= limit:
        raise InputError(f"max_context is {max_context}, expected 2 to {_context(target)}")
    return limit if max_context is None else max_context


def _context(config: DecoderConfig) -> str:
    """How many positions, and why."""
    said = f"max_position_embeddings = {config.max_position_embeddings}"
    return (
        said if config.context == config.max_position_embeddings else f"{config.context} ({config.rope.scaling.kind} RoPE scaling, {said})"
    )


def slots(used: int, draft: DraftConfig | None, num_proposals: int, max_context: int | None) -> int:
    """The capacity of a run whose longest row uses `used` positions; with `max_context`, of any row within that."""
    if draft is not None and used > draft.context:
        raise InputError(
            f"the run needs {used} positions (longest prompt and its new tokens) but the drafter has {_context(draft)}, "
            f"expected at least {used}; lower max_new_tokens"
        )
    return bucket((used if max_context is None else max_context) + beyond(draft, num_proposals))


def beyond(draft: DraftConfig | None, num_proposals: int) -> int:
    """The slots that a round takes past a row's length: its positions, and the drafter's block."""
    return max(num_proposals + 1, 0 if draft is None else draft.block_size)


def budget(name: str, ids: Sequence[int], vocab_size: int, asked: int | None, limit: int) -> int:
    """The tokens that may follow the prompt `ids`, which errors call `name`."""
    length = len(ids)
    if not length:
        raise InputError(f"{name} is empty, expected at least one token")
    for token in ids:
        if not isinstance(token, Integral) or isinstance(token, bool) or not 0 <= token < vocab_size:
            raise InputError(f"{name}: token id {token} is outside the vocabulary, expected an integer from 0 to {vocab_size - 1}")
    if length >= limit:
        raise InputError(f"{name} has {length} tokens, expected at most {limit - 1} (the context holds {limit} positions)")
    if asked is None:
        return min(DEFAULT_MAX_NEW_TOKENS, limit - length)
    if not isinstance(asked, Integral) or isinstance(asked, bool):
        raise InputError(f"{name}: max_new_tokens is {asked}, expected an integer of at least 1")
    if asked < 1:
        raise InputError(f"{name}: max_new_tokens is {asked}, expected at least 1")
    if length + asked > limit:
        raise InputError(
            f"{name}: {length} prompt tokens and max_new_tokens {asked} need {length + asked} positions, expected at most {limit}"
        )
    return asked


def bucket(slots: int) -> int:
    """The capacity for this many slots: 64, 96, 128, 192, 256, 384, ... so that similar runs share their programs."""
    return buckets(slots)[-1]


def buckets(slots: int) -> list[int]:
    """All capacities up to the first that has this many slots."""
    sizes = [64]
    while sizes[-1] < slots:
        sizes.append(sizes[-1] * 3 // 2 if sizes[-1].bit_count() == 1 else sizes[-1] * 4 // 3)
    return sizes


def chunk_widths(length: int) -> tuple[int, ...]:
    """The prefill programs that take in a prompt, in order: as many of the widest as it fills, then the narrowest that holds the rest."""
    whole, rest = divmod(length, PREFILL_WIDTHS[-1])
    last = next((width for width in PREFILL_WIDTHS if rest <= width), 0) if rest else 0
    return (PREFILL_WIDTHS[-1],) * whole + ((last,) if last else ())
