"""Sampling that speculation cannot disturb: the noise of a token depends on its seed and its absolute position, and on nothing else.

A token at position q is argmax(filtered logits / T + G(seed, q)), with G one Gumbel number for each id of the vocabulary; that is a
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


GREEDY = Sampling()


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class SamplingState:
    """The same for the rows of a batch."""

    temperature_B: Array
    top_k_B: Array
    top_p_B: Array
    min_p_B: Array
    seed_B: Array

    @classmethod
    def greedy(cls, batch: int) -> "SamplingState":
        return cls.of([GREEDY] * batch)

    @classmethod
    def of(cls, rows: Sequence[Sampling]) -> "SamplingState":
        def column(name: str, dtype) -> Array:
            return jnp.asarray(np.array([getattr(row, name) for row in rows], dtype))

        floats = {f"{name}_B": column(name, np.float32) for name in ("temperature", "top_p", "min_p")}
        return cls(**floats, top_k_B=column("top_k", np.int32), seed_B=column("seed", np.uint32))

    def with_row(self, row: Array, one: "SamplingState") -> "SamplingState":
        """This state with `one` (a batch of one) as its row."""
        return jax.tree.map(lambda a, b: jax.lax.dynamic_update_slice_in_dim(a, b, row, 0), self, one)


def noise(seed_B: Array, position_BT: Array, vocab_size: int) -> Array:
    """G(seed, position): standard Gumbel numbers, float32 [B, T, V]."""

    def at(seed, position):
        return jax.random.gumbel(jax.random.fold_in(jax.random.key(seed), position), (vocab_size,), jnp.float32)

    return jax.vmap(jax.vmap(at, (None, 0)))(seed_B, position_BT)


def filtered(scaled_BTV: Array, sampling: SamplingState) -> Array:
    """The scaled logits with -inf where a filter takes a token out. Of equal logits the lowest ids come first."""
    sampling = jax.tree.map(lambda a: a[:, None, None], sampling)
    order_BTV = jnp.argsort(-scaled_BTV, axis=-1, stable=True)
    sorted_BTV = jnp.take_along_axis(scaled_BTV, order_BTV, -1)
    rank_V = jnp.arange(scaled_BTV.shape[-1])
    keep = (sampling.top_k_B == 0) | (rank_V < sampling.top_k_B)
    share = jax.nn.softmax(jnp.where(keep, sorted_BTV, -jnp.inf), -1)
    # the smallest set that holds top_p of the mass: a token stays if those before it hold less
    keep &= (sampling.top_p_B >= 1) | (jnp.cumsum(share, -1) - share < sampling.top_p_B)
    share = jax.nn.softmax(jnp.where(keep, sorted_BTV, -jnp.inf), -1)
    keep &= share >= sampling.min_p_B * share[..., :1]
    kept = jnp.take_along_axis(keep, jnp.argsort(order_BTV, axis=-1), -1)
    return jnp.where(kept, scaled_BTV, -jnp.inf)


def draw(logits_BTV: Array, noise_BTV: Array | None, sampling: SamplingState | None) -> Array:
    """The tokens that these logits give with this noise -> int32 [B, T]. Without `sampling` the argmax, in the logits' own dtype."""
    if sampling is None:
        return jnp.argmax(logits_BTV, -1).astype(jnp.int32)
    warm = sampling.temperature_B[:, None, None] > 0
    logits_BTV = logits_BTV.astype(jnp.float32)
    # from the largest down: a temperature near 0 must not make two infinities meet
    scaled_BTV = (logits_BTV - logits_BTV.max(-1, keepdims=True)) / jnp.where(warm, sampling.temperature_B[:, None, None], 1)
    return jnp.argmax(jnp.where(warm, filtered(scaled_BTV, sampling) + noise_BTV, logits_BTV), -1).astype(jnp.int32)


def choose(logits_BTV: Array, position_BT: Array, sampling: SamplingState | None) -> Array:
    """The tokens for these absolute positions -> int32 [B, T]."""
    noise_BTV = None if sampling is None else noise(sampling.seed_B, position_BT, logits_BTV.shape[-1])
    return draw(logits_BTV, noise_BTV, sampling)


def perturbed(logits_BTV: Array, noise_BTV: Array | None, sampling: SamplingState | None) -> Array:
    """What `draw` compares, filters left out: the score by which a candidate pool is picked."""
    if sampling is None:
        return logits_BTV
    warm = sampling.temperature_B[:, None, None] > 0
    scaled_BTV = logits_BTV.astype(jnp.float32) / jnp.where(warm, sampling.temperature_B[:, None, None], 1)
    return scaled_BTV + jnp.where(warm, noise_BTV, 0)
