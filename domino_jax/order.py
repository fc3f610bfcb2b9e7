"""Order statistics without a sort: searches over bit patterns, a few bits with each pass over the numbers."""

from collections.abc import Callable
from functools import partial

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
    """The k-th largest of unsigned keys [..., V] -> [..., 1]. `k` is an int or broadcasts to [..., 1]; beyond V the answer is 0.

    What a pass costs is on a GPU its launches and on a CPU its comparisons: four bits a pass there, one here.
    """
    return lax.platform_dependent(key, k, cpu=partial(kth_by_digits, bits=1), default=partial(kth_by_digits, bits=4))


def kth_by_digits(key: Array, k: Array | int, bits: int) -> Array:
    """The same, `bits` at a time from the top: as many digits fit as trials have at least k keys from them on."""
    found = jnp.zeros_like(key[..., :1])
    digits = jnp.arange(1, 1 << bits, dtype=key.dtype).reshape(-1, *(1,) * key.ndim)  # leading: each trial's sum runs along memory
    for place in reversed(range(0, jnp.iinfo(key.dtype).bits, bits)):
        enough = (key >= (found | digits << place)).sum(-1, keepdims=True, dtype=jnp.int32) >= k
        found |= enough.sum(0, dtype=key.dtype) << place
    return found
