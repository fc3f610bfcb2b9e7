"""The arithmetic of a decoder layer, as pure functions. Arrays end in their axes; this is the key:

    B rows             L layers                     F feed-forward width    C pool of candidate tokens
    T query positions  D model width                V vocabulary            R GRU width
    S cache slots      N query heads                P proposals             E correction width
    K kv heads         G query heads per kv head    J captured layers       H head width
    M tiles of an axis                              X several axes side by side, fused

Einsum letters are the same letters (Q stands for a second R, A a small fixed axis that names write as a digit: 2 for gate and up or
key and value, 3 for the GRU gates). Norms, angles, softmax and gates are float32 whatever the dtype of the weights.
"""

import jax
import jax.numpy as jnp
from jax import Array, lax

from domino_jax.rope import Rope

MASKED = -1e30  # finite: a row of nothing but masked scores must not become NaN


def rounded(x: Array, dtype: jnp.dtype) -> Array:
    """float32 x in `dtype`, rounded even inside a fusion, where XLA may keep the excess precision of a plain cast."""
    info = jnp.finfo(dtype)
    return lax.reduce_precision(x, info.nexp, info.nmant).astype(dtype)


def rms_norm(x: Array, weight: Array, eps: float) -> Array:
    """x / sqrt(mean(x²) + eps) · weight over the last axis; rounded to x's dtype before the weight, as Qwen3 does."""
    x32 = x.astype(jnp.float32)
    normed = x32 * lax.rsqrt(jnp.mean(x32 * x32, -1, keepdims=True) + eps)
    return normed.astype(x.dtype) * weight


def angles(position_BT: Array, rope: Rope, width: int) -> tuple[Array, Array]:
    """Cosine and sine of position · rate, by pair of a head `width` wide, times the rope's magnitude -> float32 [B, T, H/2] each."""
    angle_BTH = position_BT.astype(jnp.float32)[..., None] * jnp.asarray(rope.rates(width), jnp.float32)
    return jnp.cos(angle_BTH) * rope.magnitude, jnp.sin(angle_BTH) * rope.magnitude


def turn(x: Array, cos_BTH: Array, sin_BTH: Array) -> Array:
    """Turns the two halves of each head by its angles, pair by pair. x is [B, T, ..., H]."""
    cos, sin = (a.reshape(*a.shape[:2], *(1,) * (x.ndim - 3), a.shape[-1]) for a in (cos_BTH, sin_BTH))
    low, high = jnp.split(x.astype(jnp.float32), 2, -1)
    return jnp.concatenate([low * cos - high * sin, high * cos + low * sin], -1).astype(x.dtype)


def rotate(x: Array, position_BT: Array, rope: Rope) -> Array:
    """Turns the heads of x, [B, T, ..., H], to their positions."""
    return turn(x, *angles(position_BT, rope, x.shape[-1]))


def attention(query_BTKGH: Array, segments: list[tuple[Array, Array, Array | None]]) -> Array:
    """softmax(q·k / sqrt(H))·v over the keys of all segments together -> [B, T, K, G, H].

    A segment is (key_BKSH, value_BKSH, mask), mask boolean and broadcast to [B, T, S], or None where every key is seen.
    The G·T queries that share a kv head form one tile, so each (row, kv head) is one plain matmul. All keys of a segment
    are reduced in one fixed order, whatever the row's length: bit-equality of a row across rounds rests on that.
    """
    B, T, K, G, H = query_BTKGH.shape
    tile = query_BTKGH.transpose(0, 2, 3, 1, 4).reshape(B, K, G * T, H)
    scores = []
    for key_BKSH, _, mask in segments:
        score = jnp.einsum("BKMH,BKSH->BKMS", tile, key_BKSH, preferred_element_type=jnp.float32) * H**-0.5
        if mask is not None:
            score = score.reshape(B, K, G, T, -1)
            score = jnp.where(mask[:, None, None], score, MASKED).reshape(B, K, G * T, -1)
        scores.append(score)
    weights = jax.nn.softmax(jnp.concatenate(scores, -1), -1)
    mixed, start = 0.0, 0
    for _, value_BKSH, _ in segments:
        stop = start + value_BKSH.shape[2]
        weight = weights[..., start:stop].astype(value_BKSH.dtype)
        mixed += jnp.einsum("BKMS,BKSH->BKMH", weight, value_BKSH, preferred_element_type=jnp.float32)
        start = stop
    return mixed.astype(query_BTKGH.dtype).reshape(B, K, G, T, H).transpose(0, 3, 1, 2, 4)


def merge_heads(mixed_BTKGH: Array, out_KGHD: Array) -> Array:
    """What the heads found, projected onto the residual stream -> [B, T, D].

    One axis on both sides: einsum would sum over G, H, K in the order of their letters, and XLA transpose the weights in every pass.
    """
    return mixed_BTKGH.reshape(*mixed_BTKGH.shape[:2], -1) @ out_KGHD.reshape(-1, out_KGHD.shape[-1])


def swiglu(x_BTD: Array, gate_up_D2F: Array, down_FD: Array) -> Array:
    """down(silu(gate(x)) · up(x))."""
    gate_up = jnp.einsum("BTD,DAF->BTAF", x_BTD, gate_up_D2F)
    return (jax.nn.silu(gate_up[..., 0, :]) * gate_up[..., 1, :]) @ down_FD


def gru_cell(input_B3R: Array, state_BR: Array, recurrent_3RR: Array) -> Array:
    """One step of PyTorch's bias-free GRU, gates in the order reset, update, new -> float32 state_BR.

    The reset gate multiplies the *projected* state, and an update gate near one keeps the old state:
    n = tanh(i_n + r · h_n),  h' = (1 - u) · n + u · h.
    """
    recurrent_B3R = jnp.einsum("BR,AQR->BAQ", rounded(state_BR, recurrent_3RR.dtype), recurrent_3RR, preferred_element_type=jnp.float32)
    reset, update = jax.nn.sigmoid(input_B3R[:, 0] + recurrent_B3R[:, 0]), jax.nn.sigmoid(input_B3R[:, 1] + recurrent_B3R[:, 1])
    new = jnp.tanh(input_B3R[:, 2] + reset * recurrent_B3R[:, 2])
    return (1 - update) * new + update * state_BR
