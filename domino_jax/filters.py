"""The best-scored of the tokens that top-k and top-p keep.

A filter keeps a beginning of the tokens in falling order of their logits, of equal ones the lowest id first. There are three ways to
know whether a token is in it, the same tokens, and each has its place (milliseconds; top-p 0.9 alone, then with top-k 50):

    sorting     few tokens, on an accelerator: 14 draws one after the other from a pool of 2048, H200, batch 1: 0.5
    searching   many, on an accelerator: fixed counts of passes, nothing that the host must wait for
    looking     on a CPU: 16 draws from 4,096 tokens, two cores, batch 1: 2 and 4; searching 6 and 7, sorting 28 and 23

Looking at the large vocabulary on a GPU takes less time than searching alone, but the host has to learn each time whether to look
again: verify at 8B then took 8.7 ms instead of 5.8, and a round twice its time.
"""

import jax.numpy as jnp
from jax import Array, lax

from domino_jax.order import kth_largest, largest, ordered_bits

SORTED = 2048  # so many tokens are sorted


def best_kept(logits_BTV: Array, scaled_BTV: Array, score_BTV: Array, top_k_B11: Array, top_p_B11: Array) -> Array:
    """The token with the largest score of those that the filters keep -> int32 [B, T].

    scaled: logits / T, their largest 0, float32. top_k 0 and top_p 1 keep all. Of the logits themselves, in their own dtype, only the
    order counts: 16 bits are searched in half the passes.
    """
    accelerated = best_sorted if scaled_BTV.shape[-1] <= SORTED else best_searched
    return lax.platform_dependent(logits_BTV, scaled_BTV, score_BTV, top_k_B11, top_p_B11, cpu=best_looked_at, default=accelerated)


def best_sorted(logits_BTV: Array, scaled_BTV: Array, score_BTV: Array, top_k_B11: Array, top_p_B11: Array) -> Array:
    ids_BTV = lax.broadcasted_iota(jnp.int32, scaled_BTV.shape, 2)
    falling_BTV, ids_BTV, score_BTV = lax.sort((-scaled_BTV, ids_BTV, score_BTV), num_keys=2)
    keep_BTV = (top_k_B11 == 0) | (jnp.arange(scaled_BTV.shape[-1]) < top_k_B11)
    weight_BTV = jnp.where(keep_BTV, jnp.exp(-falling_BTV), 0)
    before_BTV = jnp.cumsum(weight_BTV, -1) - weight_BTV
    # the smallest set that holds top_p of the weight: a token stays if those before it hold less
    keep_BTV &= (top_p_B11 >= 1) | (before_BTV < top_p_B11 * _sum(weight_BTV)) | (before_BTV == 0)
    best_BT = jnp.argmax(jnp.where(keep_BTV, score_BTV, -jnp.inf), -1)
    return jnp.take_along_axis(ids_BTV, best_BT[..., None], -1)[..., 0]


def best_searched(logits_BTV: Array, scaled_BTV: Array, score_BTV: Array, top_k_B11: Array, top_p_B11: Array) -> Array:
    """Searches the least logit that a filter keeps, and how many of the tokens that have it; then the id where these end."""
    V = scaled_BTV.shape[-1]
    key_BTV, weight_BTV, ids_V = ordered_bits(logits_BTV), jnp.exp(scaled_BTV), jnp.arange(V)
    k_B11 = jnp.where(top_k_B11 == 0, V, jnp.minimum(top_k_B11, V))
    k_least_BT1 = kth_largest(key_BTV, k_B11)
    k_ties_BT1 = k_B11 - _count(key_BTV > k_least_BT1)
    whole_BT1 = _sum(weight_BTV, key_BTV > k_least_BT1) + k_ties_BT1 * _weight_of(k_least_BT1, key_BTV, weight_BTV)

    enough_BT1 = jnp.where(top_p_B11 < 1, top_p_B11 * whole_BT1, jnp.inf)
    p_least_BT1 = largest(jnp.zeros_like(k_least_BT1), lambda trial_BT1: _sum(weight_BTV, key_BTV >= trial_BT1) >= enough_BT1)
    tied_BT1 = _weight_of(p_least_BT1, key_BTV, weight_BTV)
    missing_BT1 = enough_BT1 - _sum(weight_BTV, key_BTV > p_least_BT1)
    p_ties_BT1 = jnp.where(tied_BT1 > 0, jnp.ceil(missing_BT1 / tied_BT1), V)

    least_BT1 = jnp.maximum(k_least_BT1, p_least_BT1)
    ties_BT1 = jnp.minimum(jnp.where(k_least_BT1 == least_BT1, k_ties_BT1, V), jnp.where(p_least_BT1 == least_BT1, p_ties_BT1, V))
    tie_BTV = key_BTV == least_BT1
    end_BT1 = largest(jnp.zeros_like(k_ties_BT1), lambda trial_BT1: _count(tie_BTV & (ids_V < trial_BT1)) <= ties_BT1, V.bit_length())
    keep_BTV = (key_BTV > least_BT1) | (tie_BTV & (ids_V < end_BT1))
    return jnp.argmax(jnp.where(keep_BTV, score_BTV, -jnp.inf), -1).astype(jnp.int32)


def best_looked_at(logits_BTV: Array, scaled_BTV: Array, score_BTV: Array, top_k_B11: Array, top_p_B11: Array) -> Array:
    """The best-scored token stands if as little comes before it as the filters ask; else it and all behind it are out, and the best
    of the rest is looked at. A look or two are usual, the logarithm of V many.
    """
    weight_BTV, ids_V = jnp.exp(scaled_BTV), jnp.arange(scaled_BTV.shape[-1])
    enough_BT1 = top_p_B11 * _top_k_weight(logits_BTV, weight_BTV, top_k_B11, top_p_B11)

    def before(token_BT1: Array) -> Array:
        """Which tokens come before this one, bool [B, T, V]."""
        own_BT1 = jnp.take_along_axis(scaled_BTV, token_BT1, -1)
        return (scaled_BTV > own_BT1) | ((scaled_BTV == own_BT1) & (ids_V < token_BT1))

    def stands(token_BT1: Array) -> Array:
        before_BTV = before(token_BT1)
        weight_BT1 = _sum(weight_BTV, before_BTV)
        in_k_BT1 = (top_k_B11 == 0) | (_count(before_BTV) < top_k_B11)
        return in_k_BT1 & ((top_p_B11 >= 1) | (weight_BT1 < enough_BT1) | (weight_BT1 == 0))

    def look_further(carry: tuple[Array, Array]) -> tuple[Array, Array]:
        token_BT1, stands_BT1 = carry
        next_BT1 = _argmax(jnp.where(before(token_BT1), score_BTV, -jnp.inf))
        token_BT1 = jnp.where(stands_BT1, token_BT1, next_BT1)
        return token_BT1, stands(token_BT1)

    token_BT1 = _argmax(score_BTV)
    return lax.while_loop(lambda carry: ~carry[1].all(), look_further, (token_BT1, stands(token_BT1)))[0][..., 0]


def _top_k_weight(logits_BTV: Array, weight_BTV: Array, top_k_B11: Array, top_p_B11: Array) -> Array:
    """What top-k leaves of the weight, where top-p asks for a part of it; searched only if a row has both."""
    whole_BT1 = _sum(weight_BTV)

    def search() -> Array:
        key_BTV = ordered_bits(logits_BTV)
        least_BT1 = kth_largest(key_BTV, top_k_B11)
        ties_BT1 = top_k_B11 - _count(key_BTV > least_BT1)
        left_BT1 = _sum(weight_BTV, key_BTV > least_BT1) + ties_BT1 * _weight_of(least_BT1, key_BTV, weight_BTV)
        return jnp.where(top_k_B11 > 0, left_BT1, whole_BT1)

    return lax.cond(((top_k_B11 > 0) & (top_p_B11 < 1)).any(), search, lambda: whole_BT1)


def _weight_of(least_BT1: Array, key_BTV: Array, weight_BTV: Array) -> Array:
    """The weight of a token with this key, 0 if there is none."""
    return jnp.where(key_BTV == least_BT1, weight_BTV, 0).max(-1, keepdims=True)


def _count(which_BTV: Array) -> Array:
    return which_BTV.sum(-1, keepdims=True, dtype=jnp.int32)


def _sum(weight_BTV: Array, which_BTV: Array | None = None) -> Array:
    return (weight_BTV if which_BTV is None else jnp.where(which_BTV, weight_BTV, 0)).sum(-1, keepdims=True)


def _argmax(score_BTV: Array) -> Array:
    return jnp.argmax(score_BTV, -1, keepdims=True).astype(jnp.int32)
