"""python -m bench.coupling: how many tokens a round three lossless ways of sampling give, with one pair, prompts and filters.

p is what the target says of the next token, q what the drafter says, both after temperature and filters (q over its pool). With any
of the three the token that comes out is distributed as p. A proposal stands with probability

    coupling     Σ_i 1 / Σ_j max(p_j/p_i, q_j/q_i)   proposal argmax(log q + G), target's choice argmax(log p + G), the same G
    rejection    Σ_i min(p_i, q_i) = 1 - TV          proposal x drawn from q: stands with probability min(1, p_x/q_x), else a token
                                                     drawn from max(p - q, 0) takes its place
    point mass   p_b, b = argmax q                   rejection with all of q on the drafter's best token

Coupling is what this package does. Its formula: E_j = exp(-G_j) are independent standard exponential numbers, and i is both argmaxes
if E_j >= E_i max(p_j/p_i, q_j/q_i) for all j, which has probability 1 / Σ_j of these maxima (Moulton and Jiang 2018, arXiv 1809.04052,
as a measure of similarity). A maximum is at most max(p_j, q_j) / min(p_i, q_i), and these sum to 1 + TV over j; hence at least
(1 - TV) / (1 + TV) of the proposals stand. Daliri, Musco and Suresh 2024 (arXiv 2408.07978) give this bound and its optimality for
parties that share nothing but noise. No scheme passes 1 - TV, and rejection reaches it (Leviathan et al. 2022, arXiv 2211.17192).
Coupling pays the difference for a text that is a function of the seed, with any drafter and with none.

Point mass accepts what also stands when a greedy draft is compared with independent draws of the target.
"""

import argparse
import dataclasses
import itertools
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from domino_jax import cache, capacity, cli, demo, programs
from domino_jax.cache import KVCache
from domino_jax.demo import problems
from domino_jax.demo.gates import SMALL_POOL, with_pool
from domino_jax.domino import Walk
from domino_jax.drafter import DEFAULT_POOL_SIZE, BlockDrafter
from domino_jax.engine import Engine, open_pair
from domino_jax.errors import InputError
from domino_jax.events import Prompt, Result
from domino_jax.figures import draws, resampled
from domino_jax.pool import select_pool
from domino_jax.sampling import Sampling, SamplingState, draw
from domino_jax.target import Embedder, Target

SCHEMES = ("coupling", "rejection", "point mass")
KINDS = {"temperature": float, "top_k": int, "top_p": float, "min_p": float, "pool_size": int}  # what a setting may say
SETTINGS = (
    *((Sampling(temperature), DEFAULT_POOL_SIZE) for temperature in (0.3, 0.7, 1.0, 1.5, 2.5)),
    (Sampling(1.0, top_p=0.9), DEFAULT_POOL_SIZE),
    (Sampling(1.0, top_k=50), DEFAULT_POOL_SIZE),
    (Sampling(1.5, min_p=0.05), DEFAULT_POOL_SIZE),
    (Sampling(2.5, top_k=50), DEFAULT_POOL_SIZE),
    *((Sampling(temperature), pool_size) for pool_size in (SMALL_POOL, 0) for temperature in (1.0, 2.5)),
)
VARIATIONS, TOY_VOCABULARY, TOY_PAIRS, TOY_KEYS = (0.05, 0.1, 0.2, 0.4, 0.6), 16, 16, 20_000
NOTE = (
    "Acceptance length: accepted + bonus, mean over all rounds of all prompts, before cuts by a stop or the budget; 95 % intervals by "
    "bootstrap over prompts, of the ratio over pairs of answers to one prompt. Coupling is the engine itself, noise in its choice of the "
    "pool included; rejection and point mass choose the pool without noise."
)
THEORY_NOTE = (
    f"Share of proposals that stand, mean over {TOY_PAIRS} random pairs p, q over {TOY_VOCABULARY} tokens (q is p with Gaussian noise in "
    f"its logits, as much as gives the TV): formula (counted over {TOY_KEYS:,} keys a pair). Floor of coupling: (1 - TV) / (1 + TV)."
)


gumbel = partial(jax.random.gumbel, mode="high")  # the default knows no token below 1e-7 of the likeliest's probability


# Distributions and acceptance


def probabilities(logits_XV: Array, temperature: Array, top_k: Array, top_p: Array, min_p: Array) -> Array:
    """What a token is drawn from, float32: the softmax of logits / temperature after the filters, as in `Sampling`."""
    scaled_XV = (logits_XV - logits_XV.max(-1, keepdims=True)).astype(jnp.float32) / temperature

    def in_order() -> Array:
        best_XV, rank_V = -jnp.sort(-scaled_XV, -1), jnp.arange(scaled_XV.shape[-1])
        in_k_V = (top_k == 0) | (rank_V < top_k)
        share_XV = jax.nn.softmax(jnp.where(in_k_V, best_XV, -jnp.inf), -1)
        in_p_XV = (top_p >= 1) | (jnp.cumsum(share_XV, -1) - share_XV < top_p)
        count_X1 = (in_k_V & in_p_XV).sum(-1, keepdims=True)  # the filters keep a beginning of the falling order
        least_X1 = jnp.take_along_axis(best_XV, count_X1 - 1, -1)
        above_XV, tied_XV = scaled_XV > least_X1, scaled_XV == least_X1
        return above_XV | (tied_XV & (jnp.cumsum(tied_XV, -1) <= count_X1 - above_XV.sum(-1, keepdims=True)))

    kept_XV = lax.cond((top_k > 0) | (top_p < 1), in_order, lambda: jnp.ones(scaled_XV.shape, bool))
    kept_XV &= scaled_XV >= jnp.log(min_p)
    return jax.nn.softmax(jnp.where(kept_XV, scaled_XV, -jnp.inf), -1)


def filters_of(sampling: Sampling) -> dict[str, float]:
    """What `probabilities` takes."""
    return {name: getattr(sampling, name) for name in ("temperature", "top_k", "top_p", "min_p")}


def accept(proposals_BP: Array, q_BPV: Array, p_BTV: Array, uniform_BP: Array, noise_BV: Array) -> tuple[Array, Array]:
    """Speculative rejection -> (accepted_B, bonus_B).

    q holds what each proposal was drawn from, p the target's distributions there and after the last, T = P + 1. After the last there
    is no proposal, q is 0 and the residual is p.
    """
    at_BP1 = proposals_BP[..., None]
    p_BP = jnp.take_along_axis(p_BTV[:, :-1], at_BP1, -1)[..., 0]
    q_BP = jnp.take_along_axis(q_BPV, at_BP1, -1)[..., 0]
    accepted_B = jnp.cumprod(uniform_BP * q_BP < p_BP, -1).sum(-1)
    residual_BTV = jnp.maximum(p_BTV - jnp.pad(q_BPV, ((0, 0), (0, 1), (0, 0))), 0)
    residual_BV = jnp.take_along_axis(residual_BTV, accepted_B[:, None, None], 1)[:, 0]
    return accepted_B, jnp.argmax(jnp.log(residual_BV) + noise_BV, -1)


def randomness(key: Array, shape: tuple[int, int, int]) -> tuple[Array, Array, Array]:
    """Three independent parts: Gumbel numbers of the drafts [B, P, V], uniform ones of acceptance [B, P], Gumbel of the bonus [B, V]."""
    drafting, acceptance, bonus = jax.random.split(key, 3)
    return gumbel(drafting, shape), jax.random.uniform(acceptance, shape[:2]), gumbel(bonus, (shape[0], shape[2]))


# Decoding by rejection and by point mass


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class State:
    """A batch between two rounds, as `programs.DecodeState`; which rows have ended is the host's affair here."""

    cache: KVCache
    draft_cache: KVCache
    length_B: Array
    verified_B: Array
    features: tuple[Array, ...]  # of the last round's positions
    features_from_B: Array


def rollout(drafter: BlockDrafter, embedder: Embedder, hidden_BPD: Array, verified_B: Array, noise_BPV: Array, point_mass: Array, filters):
    """The Domino head's walk with drawn tokens -> (proposals_BP, q_BPV: what each was drawn from, given those before it)."""
    prefix = drafter.config.domino.pure_draft_prefix_len
    free = max(prefix, 1)  # so many proposals come from the whole vocabulary
    base_BPV = embedder.decode(hidden_BPD)
    B, P, V = base_BPV.shape
    walk = Walk(drafter.head, lambda ids: drafter.head.gru_input(embedder.encode(ids)), base_BPV, hidden_BPD, None, None)
    pool_BV = jnp.ones((B, V), bool)
    if 0 < drafter.pool_size < V and free < P:
        pool_BC = select_pool(base_BPV, drafter.pool_size, free)
        pool_BV = jnp.zeros((B, V), bool).at[jnp.arange(B)[:, None], pool_BC].set(True)

    def step(carry, at):
        (state_BR, token_B), (number, base_BV, hidden_BE, noise_BV) = carry, at
        state_BR = walk.read(token_B, state_BR)
        correction_BV = jnp.einsum(
            "BE,VE->BV", walk.inner(state_BR, hidden_BE), drafter.head.w2_VE[...], preferred_element_type=jnp.float32
        )
        logits_BV = base_BV.astype(jnp.float32) + jnp.where(number < prefix, 0, correction_BV)
        logits_BV = jnp.where(pool_BV | (number < free), logits_BV, -jnp.inf)
        best_B = jnp.argmax(logits_BV, -1)
        q_BV = lax.cond(point_mass, lambda: jax.nn.one_hot(best_B, V), lambda: probabilities(logits_BV, **filters))
        token_B = jnp.argmax(jnp.log(q_BV) + noise_BV, -1).astype(jnp.int32)
        return (state_BR, token_B), (token_B, q_BV)

    along_P = (jnp.arange(P), *(a.swapaxes(0, 1) for a in (base_BPV, walk.hidden_BPE, noise_BPV)))
    _, (tokens_PB, q_PBV) = lax.scan(step, walk.prime(verified_B, jnp.zeros((B, 0), jnp.int32)), along_P)
    return tokens_PB.T, q_PBV.swapaxes(0, 1)


def start(
    target: Target, drafter: BlockDrafter, state: State, tokens_BT: Array, length_B: Array, key: Array, filters
) -> tuple[State, Array]:
    """Takes in the prompts and draws the token after each -> (state, first_B)."""
    B, T = tokens_BT.shape
    slot_BT = jnp.broadcast_to(jnp.arange(T), (B, T))
    hidden_BTD, residuals, written = target.forward(tokens_BT, slot_BT, slot_BT, state.cache)
    p_BV = probabilities(target.embedder.decode(hidden_BTD[jnp.arange(B), length_B - 1]), **filters)
    first_B = jnp.argmax(jnp.log(p_BV) + gumbel(key, p_BV.shape), -1).astype(jnp.int32)
    features = tuple(residuals[i] for i in drafter.layer_ids)
    return dataclasses.replace(
        state,
        cache=written,
        draft_cache=drafter.backbone.write_context(features, slot_BT, state.draft_cache),
        length_B=length_B,
        verified_B=first_B,
        features_from_B=jnp.full(B, written.capacity, jnp.int32),
    ), first_B


def one_round(target: Target, drafter: BlockDrafter, state: State, key: Array, point_mass: Array, filters) -> tuple[State, Array]:
    """-> (state, report [B, P + 2]: the proposals, the bonus, how many proposals were accepted)."""
    config, B, P, V = drafter.config, state.verified_B.shape[0], drafter.num_proposals, drafter.config.vocab_size
    drafting_BPV, uniform_BP, bonus_BV = randomness(key, (B, P, V))
    masks_BT = jnp.full((B, config.block_size - 1), config.mask_token_id, jnp.int32)
    block_BTD = target.embedder.encode(jnp.concatenate([state.verified_B[:, None], masks_BT], 1))
    at_T = jnp.arange(P + 1)
    features_slot_BT, slot_BT = state.features_from_B[:, None] + at_T, state.length_B[:, None] + at_T
    hidden_BTD, draft_cache = drafter.backbone.block(block_BTD, state.features, features_slot_BT, state.length_B, state.draft_cache)
    hidden_BPD = hidden_BTD[:, config.first_row : config.first_row + P]
    proposals_BP, q_BPV = rollout(drafter, target.embedder, hidden_BPD, state.verified_B, drafting_BPV, point_mass, filters)
    tokens_BT = jnp.concatenate([state.verified_B[:, None], proposals_BP], 1)
    hidden_BTD, residuals, written = target.forward(tokens_BT, slot_BT, slot_BT, state.cache)
    p_BTV = probabilities(target.embedder.decode(hidden_BTD), **filters)
    accepted_B, bonus_B = accept(proposals_BP, q_BPV, p_BTV, uniform_BP, bonus_BV)
    state = State(
        cache=written,
        draft_cache=draft_cache,
        length_B=state.length_B + accepted_B.astype(jnp.int32) + 1,
        verified_B=bonus_B.astype(jnp.int32),
        features=tuple(residuals[i] for i in drafter.layer_ids),
        features_from_B=state.length_B,
    )
    return state, jnp.concatenate([proposals_BP, jnp.stack([bonus_B, accepted_B], 1).astype(jnp.int32)], 1)


class Decoder:
    """Decodes prompts of at most `width` tokens by rejection or point mass. Its two programs serve every way of sampling."""

    def __init__(self, engine: Engine, width: int, max_new_tokens: int, batch: int):
        self.engine, self.width, self.budget, self.batch = engine, width, max_new_tokens, batch
        self.capacity = capacity.bucket(width + max_new_tokens + engine.drafter.num_proposals + 1)
        modules, key, filters = (engine.target, engine.drafter), jax.random.key(0), filters_of(Sampling(1.0))
        prompts = np.zeros((batch, width), np.int32), np.zeros(batch, np.int32)
        self.start = programs.compile_ahead(start, modules, (self.idle(), *prompts, key, filters), engine.dtype, donate=[0])
        self.round = programs.compile_ahead(one_round, modules, (self.idle(), key, np.bool_(False), filters), engine.dtype, donate=[0])

    def idle(self) -> State:
        engine, batch = self.engine, self.batch
        shape = (batch, engine.drafter.num_proposals + 1, engine.target.config.hidden_size)
        return State(
            cache=cache.allocate(engine.target.config, batch, self.capacity, engine.dtype),
            draft_cache=engine.drafter.allocate(batch, self.capacity, engine.dtype),
            length_B=jnp.zeros(batch, jnp.int32),
            verified_B=jnp.zeros(batch, jnp.int32),
            features=tuple(jnp.zeros(shape, engine.dtype) for _ in engine.drafter.layer_ids),
            features_from_B=jnp.zeros(batch, jnp.int32),
        )

    def decode(self, asked: Sequence[Prompt], sampling: Sampling, point_mass: bool) -> list[Result]:
        """The answers in order. Each batch has a key of its own, and so has each of its rounds."""
        batches = [asked[first : first + self.batch] for first in range(0, len(asked), self.batch)]
        keys = jax.random.split(jax.random.key(sampling.seed), len(batches))
        return [result for batch, key in zip(batches, keys, strict=True) for result in self._decode(batch, key, sampling, point_mass)]

    def _decode(self, asked: Sequence[Prompt], key: Array, sampling: Sampling, point_mass: bool) -> list[Result]:
        rows = [Result(place, prompt.ids) for place, prompt in enumerate(asked)]
        tokens_BT, length_B = np.zeros((self.batch, self.width), np.int32), np.ones(self.batch, np.int32)
        for row, (place, result) in enumerate(zip(tokens_BT, rows, strict=False)):
            place[: len(result.prompt_ids)], length_B[row] = result.prompt_ids, len(result.prompt_ids)
        keys, filters = (jax.random.fold_in(key, number) for number in itertools.count()), filters_of(sampling)
        state, first_B = self.start(self.idle(), tokens_BT, length_B, next(keys), filters)
        for result, token in zip(rows, np.asarray(first_B).tolist(), strict=False):
            self._emit(result, [token])
        while not all(result.finish_reason for result in rows):
            state, report = self.round(state, next(keys), np.bool_(point_mass), filters)
            for result, (*tokens, bonus, accepted) in zip(rows, np.asarray(report).tolist(), strict=False):
                if not result.finish_reason:
                    result.acceptance_lengths.append(accepted + 1)
                    self._emit(result, [*tokens[:accepted], bonus])
        return rows

    def _emit(self, result: Result, ids: list[int]) -> None:
        """Adds new tokens up to a stop id or the budget's end."""
        for token in ids:
            if not result.finish_reason:
                result.output_ids.append(token)
                stopped, full = token in self.engine.stop_ids, len(result.output_ids) == self.budget
                result.finish_reason = "stop" if stopped else "length" if full else None


# Theory


def standing(p_V: np.ndarray, q_V: np.ndarray) -> dict[str, float]:
    """The probability, by scheme, that a proposal stands."""
    both_I = (p_V > 0) & (q_V > 0)
    maxima_IV = np.maximum(p_V / p_V[both_I, None], q_V / q_V[both_I, None])
    return dict(
        zip(SCHEMES, (float((1 / maxima_IV.sum(1)).sum()), float(np.minimum(p_V, q_V).sum()), float(p_V[q_V.argmax()])), strict=True)
    )


@partial(jax.jit, static_argnames="keys")
def counted(p_V: Array, q_V: Array, seed: Array, keys: int) -> dict[str, Array]:
    """The same, counted over `keys` keys: coupling by the product's `draw`, the others by `accept`."""
    drafting_BPV, uniform_BP, bonus_BV = randomness(jax.random.key(seed), (keys, 1, len(p_V)))

    def coupled(p_V: Array) -> Array:
        logits_BPV = jnp.broadcast_to(jnp.log(p_V), drafting_BPV.shape)
        return draw(logits_BPV, drafting_BPV, SamplingState.of([Sampling(1.0)] * keys))

    def rejected(q_V: Array) -> Array:
        q_BPV, p_BTV = (jnp.broadcast_to(a_V, (keys, T, len(p_V))) for a_V, T in ((q_V, 1), (p_V, 2)))
        return accept(jnp.argmax(jnp.log(q_BPV) + drafting_BPV, -1), q_BPV, p_BTV, uniform_BP, bonus_BV)[0]

    standing = coupled(p_V) == coupled(q_V), rejected(q_V), rejected(jax.nn.one_hot(jnp.argmax(q_V), len(q_V)))
    return dict(zip(SCHEMES, (one.mean() for one in standing), strict=True))


def toy_pair(rng: np.random.Generator, variation: float) -> tuple[np.ndarray, np.ndarray]:
    """Random p and q with this total variation: p a softmax of Gaussians, q the same with noise in its logits, its size bisected."""

    def softmax(logits_V: np.ndarray) -> np.ndarray:
        weight_V = np.exp(logits_V - logits_V.max())
        return weight_V / weight_V.sum()

    logits_V, noise_V = 2 * rng.normal(size=TOY_VOCABULARY), rng.normal(size=TOY_VOCABULARY)
    p_V, low, high = softmax(logits_V), 0.0, 50.0
    if abs(p_V - softmax(logits_V + high * noise_V)).sum() / 2 < variation:  # the noise is largest where p is
        return toy_pair(rng, variation)
    for _ in range(60):
        size = (low + high) / 2
        q_V = softmax(logits_V + size * noise_V)
        low, high = (size, high) if abs(p_V - q_V).sum() / 2 < variation else (low, size)
    return p_V, q_V


def theory() -> list[dict]:
    """A row a total variation: by formula and counted, by scheme."""
    rng, rows = np.random.default_rng(0), []
    for variation in VARIATIONS:
        pairs = [toy_pair(rng, variation) for _ in range(TOY_PAIRS)]
        found = [(standing(*pair), counted(*map(jnp.float32, pair), seed, TOY_KEYS)) for seed, pair in enumerate(pairs)]
        formula, count = (
            {scheme: float(np.mean([one[scheme] for one in part])) for scheme in SCHEMES} for part in zip(*found, strict=True)
        )
        rows.append({"variation": variation, "formula": formula, "counted": count, "floor": (1 - variation) / (1 + variation)})
    return rows


# The demo pair


@dataclass
class Figures:
    """One scheme with one setting."""

    sampling: Sampling
    pool_size: int
    scheme: str
    tokens: int
    rounds: int
    acceptance_length: float
    interval: tuple[float, float]  # 95 %
    ratio: float  # acceptance length over rejection's
    ratio_interval: tuple[float, float]
    by_position: list[float]  # share of rounds in which proposal j, and all before it, stood


def figures(found: dict[str, list[Result]], sampling: Sampling, pool_size: int, width: int) -> list[Figures]:
    """The figures of the three schemes, `found` by each, on the same prompts."""
    count, others = len(found["rejection"]), [row.acceptance_lengths for row in found["rejection"]]
    drawn, whole = draws(count, seed=0), np.arange(count)[None]

    def one(scheme: str, rows: list[Result]) -> Figures:
        of_prompts = [row.acceptance_lengths for row in rows]
        lengths = np.concatenate(of_prompts)
        means, ratios = resampled(of_prompts, drawn), resampled(of_prompts, drawn) / resampled(others, drawn)
        return Figures(
            sampling=sampling,
            pool_size=pool_size,
            scheme=scheme,
            tokens=sum(len(row.output_ids) for row in rows),
            rounds=len(lengths),
            acceptance_length=float(lengths.mean()),
            interval=tuple(np.percentile(means, [2.5, 97.5]).tolist()),
            ratio=float(lengths.mean() / resampled(others, whole)[0]),
            ratio_interval=tuple(np.percentile(ratios, [2.5, 97.5]).tolist()),
            by_position=[float((lengths > j).mean()) for j in range(1, width + 1)],
        )

    return [one(scheme, rows) for scheme, rows in found.items()]


def answers(decoder: Decoder, asked: Sequence[Prompt], sampling: Sampling) -> dict[str, list[Result]]:
    """By scheme, on the same prompts. Each prompt's coupling has a seed of its own."""
    seeded = [dataclasses.replace(prompt, sampling={"seed": seed}) for seed, prompt in enumerate(asked)]
    coupled = decoder.engine.generate(seeded, max_new_tokens=decoder.budget, batch_size=decoder.batch, **filters_of(sampling))
    return dict(zip(SCHEMES, (coupled, *(decoder.decode(asked, sampling, point_mass) for point_mass in (False, True))), strict=True))


def measure(settings: Sequence[tuple[Sampling, int]], count: int, max_new_tokens: int, batch: int) -> list[Figures]:
    """The demo pair on `count` problems of the test split. Programs are compiled once a pool size."""
    pair = open_pair(demo.TARGET, demo.DRAFT, "float32")
    engine, decoders, found = pair.load(), {}, []
    asked = [engine.prompt(problem.question) for problem in problems.generate("test", count)]
    width = max(len(prompt.ids) for prompt in asked)
    for sampling, pool_size in cli.progress("settings")(settings, len(settings)):
        started = time.perf_counter()
        if pool_size not in decoders:
            decoders[pool_size] = Decoder(with_pool(engine, pair.draft, pool_size), width, max_new_tokens, min(batch, count))
        found += figures(answers(decoders[pool_size], asked, sampling), sampling, pool_size, engine.drafter.num_proposals)
        cli.say(f"{name(sampling)}, pool {pool_size}: {time.perf_counter() - started:.1f} s")
    return found


# The command


def name(sampling: Sampling) -> str:
    parts = {"top-k": sampling.top_k, "top-p": sampling.top_p if sampling.top_p < 1 else 0, "min-p": sampling.min_p}
    return ", ".join([f"T {sampling.temperature:g}", *(f"{part} {value:g}" for part, value in parts.items() if value)])


def markdown(found: list[Figures], rows: list[dict], context: dict) -> str:
    lines = [f"| sampling | pool | {' | '.join(SCHEMES)} | coupling over rejection |", "|---" * 6 + "|"] if found else []
    for schemes in zip(*[iter(found)] * len(SCHEMES), strict=True):
        first = schemes[0]
        means = [f"{f.acceptance_length:.2f} [{f.interval[0]:.2f}, {f.interval[1]:.2f}]" for f in schemes]
        ratio = f"{first.ratio:.3f} [{first.ratio_interval[0]:.3f}, {first.ratio_interval[1]:.3f}]"
        lines.append(f"| {name(first.sampling)} | {first.pool_size or 'all'} | {' | '.join(means)} | {ratio} |")
    if found:
        lines += ["", "{prompts} test problems, at most {max_new_tokens} new tokens each, {dtype}. {note}".format(**context), ""]
    lines += [f"| TV | {' | '.join(SCHEMES)} | coupling over rejection | floor |", "|---" * 6 + "|"]
    for row in rows:
        formula, count = row["formula"], row["counted"]
        shares = [f"{formula[scheme]:.4f} ({count[scheme]:.4f})" for scheme in SCHEMES]
        lines.append(
            f"| {row['variation']} | {' | '.join(shares)} | {formula['coupling'] / formula['rejection']:.3f} | {row['floor']:.4f} |"
        )
    return "\n".join([*lines, "", THEORY_NOTE])


def setting(text: str) -> tuple[Sampling, int]:
    """An option's type: `temperature=1.5,min_p=0.05,pool_size=64`."""
    values = {"pool_size": DEFAULT_POOL_SIZE}
    for part in text.split(","):
        key, _, value = part.partition("=")
        try:
            values[key] = KINDS[key](value)
        except (KeyError, ValueError):
            raise argparse.ArgumentTypeError(f"{part!r} says nothing, expected NAME=NUMBER with a name of {', '.join(KINDS)}") from None
    pool_size = values.pop("pool_size")
    try:
        sampling = Sampling(**values)
    except InputError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    if not sampling.temperature or pool_size < 0:
        raise argparse.ArgumentTypeError(f"{text} draws nothing, expected a temperature above 0 and a pool_size of at least 0")
    return sampling, pool_size


def parser() -> cli.Parser:
    p = cli.Parser(prog="python -m bench.coupling", description="Coupling, rejection and point mass on the demo pair, and in theory.")
    p.add_argument("--prompts", type=cli.number(0), default=64, metavar="N", help="test problems; default 64; 0: theory only")
    p.add_argument(
        "--setting",
        type=setting,
        action="append",
        metavar="NAME=X,...",
        help=f"names are {', '.join(KINDS)} (default {DEFAULT_POOL_SIZE}, 0: all); repeatable; default the {len(SETTINGS)} of the table",
    )
    p.add_argument("--max-new-tokens", type=cli.number(1), default=128, metavar="N", help="default 128")
    p.add_argument("--batch-size", type=cli.number(1), default=32, metavar="N", help="rows decoded together; default 32")
    p.add_argument("--output", choices=["markdown", "json"], default="markdown", help="of standard output; default markdown")
    p.add_argument("--out", type=Path, metavar="DIR", help="write coupling.md and coupling.json there too; default none")
    p.add_argument("--debug", action="store_true", help="show tracebacks; default off")
    return p


def command(argv: Sequence[str] | None) -> int:
    arguments = parser().parse(argv)
    if arguments.out and not arguments.out.is_dir():
        raise InputError(f"{arguments.out}: no such directory, expected one to write in")
    rows, found = theory(), []
    if arguments.prompts:
        found = measure(arguments.setting or SETTINGS, arguments.prompts, arguments.max_new_tokens, arguments.batch_size)
    context = {"platform": jax.default_backend(), "jax": jax.__version__, "dtype": "float32", "prompts": arguments.prompts,
               "max_new_tokens": arguments.max_new_tokens, "batch_size": arguments.batch_size, "note": NOTE}  # fmt: skip
    runs = [dataclasses.asdict(figure) for figure in found]
    written = {
        "markdown": markdown(found, rows, context),
        "json": json.dumps(context | {"runs": runs, "theory_note": THEORY_NOTE, "theory": rows}, indent=1),
    }
    print(written[arguments.output])
    if arguments.out:
        for kind, suffix in (("markdown", "md"), ("json", "json")):
            (arguments.out / f"coupling.{suffix}").write_text(written[kind] + "\n", encoding="utf-8")
    return cli.DONE


def main(argv: Sequence[str] | None = None) -> int:
    return cli.run(command, argv)


if __name__ == "__main__":
    sys.exit(main())
