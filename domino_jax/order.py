"""Order statistics without a sort: binary searches over bit patterns, one pass over the numbers a bit."""

from collections.abc import Callable

import jax.numpy as jnp
from jax import Array, lax


def ordered_bits(x: Array) -> Array:
    """Unsigned integers in the order of the floats, +0 and -0 alike."""
    unsigned = {2: jnp.uint16, 4: jnp.uint32}[x.dtype.itemsize]
    bits, sign = lax.bitcast_convert_type(x, unsigned), jnp.array(1 << (x.dtype.itemsize * 8 - 1), unsigned)
    bits = jnp.where(bits == sign, 0, bits)  # -0 is +0
    return jnp.where(bits & sign, ~bits, bits | sign)


def largest(zeros: Array, holds: Callable[[Array], Array], bits: int | None = None) -> Array:
    """The largest integers (of the shape and dtype of `zeros`) that `holds` is true of, and of all smaller ones; 0 if of none.

    `bits` they have at most; all of their dtype's.
    """
    found = zeros
    for bit in reversed(range(bits or jnp.iinfo(zeros.dtype).bits)):
        trial = found | jnp.array(1 << bit, zeros.dtype)
        found = jnp.where(holds(trial), trial, found)
    return found


def kth_largest(key: Array, k: Array | int) -> Array:
    """The k-th largest of unsigned keys [..., V] -> [..., 1]. `k` is an int or broadcasts to [..., 1]; beyond V the answer is 0."""
    return largest(jnp.zeros_like(key[..., :1]), lambda trial: (key >= trial).sum(-1, keepdims=True, dtype=jnp.int32) >= k)
