"""The compiled programs: pure functions over the decoding state, one XLA executable each per (batch, capacity).

    prefill   one chunk of one prompt, into one row                   target only
    fork      a row's prompt, into another row                        target only
    copy      the same of the drafter's cache                         drafter
    verify    [verified, proposals] of every row, acceptance, bonus   target only; with no proposals it is the step program
    absorb    one prompt chunk's features into the drafter's cache    drafter
    draft     the last round's features, then proposals               drafter and the target's embedder

Prefill and verify know nothing of the drafter. Fed impossible proposals (-1), verify commits one token a round: check mode,
bit for bit what any drafter gives, for it is the same executable.
"""

import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from domino_jax import cache
from domino_jax.cache import KVCache
from domino_jax.config import TargetConfig
from domino_jax.drafter import Drafter
from domino_jax.sampling import GREEDY, Sampling, SamplingState, choose
from domino_jax.target import Embedder, Target
from domino_jax.verify import count_accepted, count_emitted

IMPOSSIBLE = -1  # a token id no target can choose


@dataclass(frozen=True)
class Shape:
    """What the programs of a run are compiled for. Where no row samples or holds stops back, they know nothing of it."""

    batch: int
    capacity: int
    stop_ids: int  # a row's, padding included
    sampled: bool = False
    filtered: bool = False  # by top-k or top-p
    holding: bool = False

    @classmethod
    def of(cls, batch: int, capacity: int, stop_ids: int, **used: bool) -> "Shape":
        """For at most `stop_ids` stop ids a row."""
        return cls(batch, capacity, max(-(-stop_ids // 8), 1) * 8, **used)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Terms:
    """How the rows of a batch choose their tokens, and which tokens end them."""

    stop_ids_BX: Array  # padded with -1
    stop_from_B: Array | None  # the first position where a stop token may stand; None: anywhere
    sampling: SamplingState | None  # None: every row is greedy

    @classmethod
    def of(cls, shape: Shape, stop_ids: Sequence[int] = (), stop_from: int = 0, sampling: Sampling = GREEDY, sample: int = 0) -> "Terms":
        """One row's, a batch of one."""
        return cls(
            stop_ids_BX=np.array([[*stop_ids, *[IMPOSSIBLE] * (shape.stop_ids - len(stop_ids))]], np.int32),
            stop_from_B=np.array([stop_from], np.int32) if shape.holding else None,
            sampling=SamplingState.of([sampling], [sample], shape.filtered) if shape.sampled else None,
        )

    def with_row(self, row: Array, one: "Terms") -> "Terms":
        """These terms with `one` (a batch of one) as the row's."""
        return jax.tree.map(lambda a, b: jax.lax.dynamic_update_slice_in_dim(a, b, row, 0), self, one)

    def choose(self, logits_BTV: Array, position_BT: Array) -> tuple[Array, Array]:
        """The tokens for these positions and their log-probabilities under the logits as they are -> int32, float32 [B, T]."""
        allowed_BTV = logits_BTV
        if self.stop_from_B is not None:
            stop_BV = (self.stop_ids_BX[..., None] == jnp.arange(logits_BTV.shape[-1])).any(1)
            early_BT = position_BT < self.stop_from_B[:, None]
            allowed_BTV = jnp.where(early_BT[..., None] & stop_BV[:, None], -jnp.inf, logits_BTV)
        chosen_BT = choose(allowed_BTV, position_BT, self.sampling)
        falls_BTV = logits_BTV.astype(jnp.float32) - logits_BTV.max(-1, keepdims=True).astype(jnp.float32)
        fall_BT = jnp.take_along_axis(falls_BTV, chosen_BT[..., None], -1)[..., 0]
        return chosen_BT, fall_BT - jnp.log(jnp.exp(falls_BTV).sum(-1))


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class DecodeState:
    """Everything the device knows of the rows. It alone decides when a row ends: round n+1 starts before round n is read."""

    cache: KVCache
    length_B: Array  # committed tokens: the slot and the position of the verified token
    verified_B: Array  # the last token the target chose; its keys and values are not in the cache yet
    remaining_B: Array  # tokens the row may still emit
    done_B: Array  # a done row is frozen
    features_from_B: Array  # slot of the first position of the last verify; the capacity (nowhere) right after prefill
    terms: Terms


def allocate(config: TargetConfig, shape: Shape, dtype: jnp.dtype) -> DecodeState:
    """A state of idle rows."""
    batch = shape.batch
    zeros_B = jnp.zeros(batch, jnp.int32)
    return DecodeState(
        cache=cache.allocate(config, batch, shape.capacity, dtype),
        length_B=zeros_B,
        verified_B=zeros_B + 0,
        remaining_B=zeros_B + 0,
        done_B=jnp.ones(batch, bool),
        features_from_B=jnp.full(batch, shape.capacity, jnp.int32),
        terms=jax.tree.map(lambda a: jnp.repeat(a, batch, 0), Terms.of(shape)),
    )


def prefill(target: Target, state: DecodeState, row: Array, tokens_T: Array, offset: Array, count: Array, budget: Array, terms: Terms):
    """Writes `count` prompt tokens at slots offset.. of `row` and chooses the token after them.

    -> (state, L residuals [1, T, D], report, logits_V); see `begin`. `terms` are the row's, a batch of one. Of a prompt's
    chunks only the last has a budget: the row is done, and so frozen, until then. Tokens past `count` are padding: what they
    write lies past the row's length.
    """
    slot_1T = offset + jnp.arange(tokens_T.shape[0])[None]
    with jax.named_scope("layers"):
        hidden_1TD, residuals, one = target.forward(tokens_T[None], slot_1T, slot_1T, state.cache.row(row, cleared=offset == 0))
    with jax.named_scope("head"):
        logits_V = target.embedder.decode(hidden_1TD[0, count - 1])
    state, report = begin(state, row, one, offset + count, logits_V, budget, terms)
    return state, residuals, report, logits_V


def fork(target: Target, state: DecodeState, row: Array, source: Array, length: Array, logits_V: Array, budget: Array, terms: Terms):
    """Starts another answer to the prompt in row `source`, of `length` tokens and with these last logits -> (state, report)."""
    return begin(state, row, state.cache.row(source), length, logits_V, budget, terms)


def copy(drafter: Drafter, draft_cache: KVCache, row: Array, source: Array) -> KVCache:
    """The drafter's context of row `source`, in `row` too."""
    return draft_cache.with_row(row, draft_cache.row(source))


def begin(state: DecodeState, row: Array, one: KVCache, length: Array, logits_V: Array, budget: Array, terms: Terms):
    """Lets `row` go on from its prompt -> (state, report int32 [first token, done, finite, bits of its log-probability])."""
    first_11, logprob_11 = terms.choose(logits_V[None, None], length[None, None])
    first, finite = first_11[0, 0], jnp.isfinite(logits_V).all()
    done = (first == terms.stop_ids_BX).any() | (budget <= 1) | ~finite
    state = replace(
        state,
        cache=state.cache.with_row(row, one),
        length_B=state.length_B.at[row].set(length),
        verified_B=state.verified_B.at[row].set(first),
        remaining_B=state.remaining_B.at[row].set(budget - 1),
        done_B=state.done_B.at[row].set(done),
        features_from_B=state.features_from_B.at[row].set(state.cache.capacity),
        terms=state.terms.with_row(row, terms),
    )
    return state, jnp.stack([first, done.astype(jnp.int32), finite.astype(jnp.int32), float_bits(logprob_11[0, 0])])


def float_bits(x: Array) -> Array:
    """float32 as int32, bit for bit, to travel in a report."""
    return jax.lax.bitcast_convert_type(x, jnp.int32)


def verify(target: Target, state: DecodeState, proposals_BP: Array):
    """One round -> (state, L residuals [B, T, D], report int32 [B, 2T + 4]), T = P + 1.

    A row of the report: the T tokens the target chose, the bits of their log-probabilities, then accepted, emitted, done, and
    the first position of the round whose logits were not finite (-1: none). P = 0 is the step program.
    """
    tokens_BT = jnp.concatenate([state.verified_B[:, None], proposals_BP], 1)
    slot_BT = state.length_B[:, None] + jnp.arange(tokens_BT.shape[1])
    with jax.named_scope("layers"):
        hidden_BTD, residuals, written = target.forward(tokens_BT, slot_BT, slot_BT, state.cache)
    with jax.named_scope("head"):
        logits_BTV = target.embedder.decode(hidden_BTD)
    with jax.named_scope("choice"):
        chosen_BT, logprob_BT = state.terms.choose(logits_BTV, slot_BT + 1)
    with jax.named_scope("acceptance"):
        state, report = accept(state, proposals_BP, written, logits_BTV, chosen_BT)
    return state, residuals, jnp.concatenate([chosen_BT, float_bits(logprob_BT), report], 1)


def accept(state: DecodeState, proposals_BP: Array, written: KVCache, logits_BTV: Array, chosen_BT: Array) -> tuple[DecodeState, Array]:
    """What of a round stands -> (state, the last four columns of `verify`'s report)."""
    accepted_B = count_accepted(proposals_BP, chosen_BT)
    emitted_B, ended_B = count_emitted(chosen_BT, accepted_B, state.remaining_B, state.terms.stop_ids_BX)
    bad_BT = ~jnp.isfinite(logits_BTV).all(-1) & (jnp.arange(chosen_BT.shape[1]) <= accepted_B[:, None])
    failed_B = bad_BT.any(-1)
    live_B = ~state.done_B
    emitted_B = jnp.where(live_B & ~failed_B, emitted_B, 0)
    done_B = state.done_B | ended_B | failed_B
    bonus_B = jnp.take_along_axis(chosen_BT, accepted_B[:, None], 1)[:, 0]
    report = [accepted_B, emitted_B, done_B.astype(jnp.int32), jnp.where(failed_B, jnp.argmax(bad_BT, -1), -1)]
    state = replace(
        state,
        cache=written,
        length_B=jnp.where(live_B, state.length_B + accepted_B + 1, state.length_B),
        verified_B=jnp.where(live_B, bonus_B, state.verified_B),
        remaining_B=state.remaining_B - emitted_B,
        done_B=done_B,
        features_from_B=state.length_B,
    )
    return state, jnp.stack(report, 1).astype(jnp.int32)


def absorb(drafter: Drafter, draft_cache: KVCache, features: tuple[Array, ...], row: Array, offset: Array) -> KVCache:
    """Takes one prompt chunk's features ([1, T, D] each) at slots offset.. of `row` into the drafter's cache."""
    return drafter.prefill(draft_cache, features, row, offset + jnp.arange(features[0].shape[1])[None])


def draft(
    drafter: Drafter,
    embedder: Embedder,
    draft_cache: KVCache,
    features: tuple[Array, ...],
    features_from_B: Array,
    length_B: Array,
    verified_B: Array,
    sampling: SamplingState | None,
):
    """Takes in the last round's features, then proposes -> (draft cache, proposals_BP).

    Features of rejected positions are written too: they lie past `length_B`, unseen, until the next round overwrites them.
    """
    slot_BT = features_from_B[:, None] + jnp.arange(drafter.num_proposals + 1)
    proposals_BP, draft_cache = drafter.propose(embedder, draft_cache, features, slot_BT, length_B, verified_B, sampling)
    return draft_cache, proposals_BP


@dataclass(frozen=True)
class Executable:
    """A program compiled ahead of time for exact shapes: another shape is an error, never a recompilation."""

    compiled: jax.stages.Compiled
    leaves: tuple[Array, ...]
    seconds: float
    cached: bool

    def __call__(self, *arguments):
        return self.compiled(self.leaves, *arguments)

    def bound(self, modules: tuple) -> "Executable":
        """The same program with these weights: it may have been compiled from their shapes."""
        return replace(self, leaves=tuple(jax.tree.leaves(modules)))


def lower(
    function: Callable,
    modules: tuple,
    arguments: tuple,
    dtype: jnp.dtype,
    donate: Sequence[int] = (),
    platforms: Sequence[str] | None = None,
):
    """`function(*modules, *arguments)` lowered with the modules flattened once; `donate` counts from the first argument.

    float32 multiplies in float32: left to itself, a GPU would round the operands to TF32.
    """
    structure = jax.tree.structure(modules)

    def flat(leaves, *arguments):
        return function(*jax.tree.unflatten(structure, leaves), *arguments)

    flat.__name__ = function.__name__
    jitted = jax.jit(flat, donate_argnums=[1 + i for i in donate])
    with jax.default_matmul_precision("highest" if dtype == jnp.float32 else "default"):
        traced = jitted.trace(tuple(jax.tree.leaves(modules)), *arguments)
        return traced.lower(lowering_platforms=tuple(platforms)) if platforms else traced.lower()


def use_compile_cache(directory: Path) -> str | None:
    """Keeps every compiled program in `directory` from now on -> what is wrong with it, or None."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=directory):
            pass
    except OSError as error:
        return f"{directory} cannot be written ({error.strerror})"
    jax.config.update("jax_compilation_cache_dir", str(directory))
    # by default only programs that took a second are kept
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
    return None


def compile_ahead(function: Callable, modules: tuple, arguments: tuple, dtype: jnp.dtype, donate: Sequence[int] = ()) -> Executable:
    """Compiles now, and notes the seconds and whether the persistent cache had it."""
    hits, thread = [], threading.get_ident()

    def listener(event: str, **_) -> None:
        if event == "/jax/compilation_cache/cache_hits" and threading.get_ident() == thread:
            hits.append(event)

    jax.monitoring.register_event_listener(listener)
    started = time.perf_counter()
    try:
        compiled = lower(function, modules, arguments, dtype, donate).compile()
    finally:
        jax.monitoring.unregister_event_listener(listener)
    seconds = time.perf_counter() - started
    return Executable(compiled, tuple(jax.tree.leaves(modules)), seconds, bool(hits))
