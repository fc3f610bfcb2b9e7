"""Sampling that speculation cannot disturb: the noise of a token depends on its seed, sample and absolute position, and on nothing else.

A token at position q is argmax(filtered logits / T + G(seed, sample, q)), with G one Gumbel number for each id of the vocabulary; that is a
draw from softmax(filtered logits / T). Given the prefix it is a *function* of the target's logits. So verification goes on as in
greedy decoding: a proposal stands while it equals what the target chooses, and the text is the target's own, token for token, with
any drafter and with none. A drafter that draws from its own logits with the same filters and the same noise is often right.

Filters apply in the order top-k, top-p, min-p, each to what the one before has left, after the temperature. Temperature 0 is the
argmax of the logits as they are.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from domino_jax.errors import InputError
from domino_jax.filters import best_kept

VALID = {
    "temperature": (lambda v: 0 <= v < float("inf"), "0 (greedy) or a positive number"),
    "top_k": (lambda v: v >= 0 and v == int(v), "0 (off) or a positive integer"),
    "top_p": (lambda v: 0 < v <= 1, "more than 0, up to 1 (off)"),
    "min_p": (lambda v: 0 <= v < 1, "0 (off) to less than 1"),
    "seed": (lambda v: 0 <= v < 2**32 and v == int(v), "an integer from 0 to 4294967295"),
}


@dataclass(frozen=True)
class Sampling:
    """How one prompt's tokens are drawn. Raises InputError for numbers that mean nothing."""

    temperature: float = 0.0
    top_k: int = 0  # 0: off
    top_p: float = 1.0
    min_p: float = 0.0
    seed: int = 0

    def __post_init__(self):
        for name, (valid, expected) in VALID.items():
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, Real) or not valid(value):
                raise InputError(f"{name} is {value}, expected {expected}")

    @property
    def is_filtered(self) -> bool:
        """Whether top-k or top-p takes a part in it."""
        return self.temperature > 0 and (self.top_k > 0 or self.top_p < 1)


GREEDY = Sampling()


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class SamplingState:
    """The same for the rows of a batch. Where no row has a top-k or top-p, both are None and cost nothing."""

    temperature_B: Array
    top_k_B: Array | None
    top_p_B: Array | None
    min_p_B: Array
    seed_B: Array
    sample_B: Array

    @classmethod
    def of(cls, rows: Sequence[Sampling], samples: Sequence[int] | None = None, filtered: bool = True) -> "SamplingState":
        """`samples`: which of its prompt's samples a row is; the first."""

        def column(name: str, dtype) -> np.ndarray:
            return np.array([getattr(row, name) for row in rows], dtype)

        return cls(
            temperature_B=column("temperature", np.float32),
            top_k_B=column("top_k", np.int32) if filtered else None,
            top_p_B=column("top_p", np.float32) if filtered else None,
            min_p_B=column("min_p", np.float32),
            seed_B=column("seed", np.uint32),
            sample_B=np.array(samples or [0] * len(rows), np.uint32),
        )


def noise(sampling: SamplingState, position_BT: Array, vocab_size: int) -> Array:
    """G(seed, sample, position): standard Gumbel numbers, float32 [B, T, V]."""

    def at(seed, sample, position):
        key = jax.random.fold_in(jax.random.fold_in(jax.random.key(seed), sample), position)
        return jax.random.gumbel(key, (vocab_size,), jnp.float32)

    return jax.vmap(jax.vmap(at, (None, None, 0)))(sampling.seed_B, sampling.sample_B, position_BT)


def draw(logits_BTV: Array, noise_BTV: Array | None, sampling: SamplingState | None) -> Array:
    """The tokens that these logits give with this noise -> int32 [B, T]. Without `sampling` the argmax, in the logits' own dtype."""
    if sampling is None:
        return jnp.argmax(logits_BTV, -1).astype(jnp.int32)
    each = jax.tree.map(lambda a_B: a_B[:, None, None], sampling)
    warm_B11 = each.temperature_B > 0
    wide_BTV = logits_BTV.astype(jnp.float32)
    # from the largest down: a temperature near 0 must not make two infinities meet
    scaled_BTV = (wide_BTV - wide_BTV.max(-1, keepdims=True)) / jnp.where(warm_B11, each.temperature_B, 1)
    score_BTV = jnp.where(warm_B11, scaled_BTV + noise_BTV, wide_BTV)
    score_BTV = jnp.where(warm_B11 & (scaled_BTV < jnp.log(each.min_p_B)), -jnp.inf, score_BTV)
    if sampling.top_k_B is None:
        return jnp.argmax(score_BTV, -1).astype(jnp.int32)
    top_k_B11, top_p_B11 = jnp.where(warm_B11, each.top_k_B, 0), jnp.where(warm_B11, each.top_p_B, 1)
    return best_kept(logits_BTV, scaled_BTV, score_BTV, top_k_B11, top_p_B11)


def choose(logits_BTV: Array, position_BT: Array, sampling: SamplingState | None) -> Array:
    """The tokens for these absolute positions -> int32 [B, T]."""
    noise_BTV = None if sampling is None else noise(sampling, position_BT, logits_BTV.shape[-1])
    return draw(logits_BTV, noise_BTV, sampling)


def perturbed(logits_BTV: Array, noise_BTV: Array | None, sampling: SamplingState | None) -> Array:
    """What `draw` compares, filters left out: the score by which a candidate pool is picked."""
    if sampling is None:
        return logits_BTV
    warm = sampling.temperature_B[:, None, None] > 0
    scaled_BTV = logits_BTV.astype(jnp.float32) / jnp.where(warm, sampling.temperature_B[:, None, None], 1)
    return scaled_BTV + jnp.where(warm, noise_BTV, 0)
