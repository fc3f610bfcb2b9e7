"""The arithmetic of a layer against NumPy and PyTorch."""

import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
import torch

from domino_jax import layers
from domino_jax.rope import Rope
from tests import reference

rng = np.random.default_rng(0)


def test_rms_norm():
    x, weight = rng.normal(size=(2, 3, 8)), rng.normal(size=8)
    ours = layers.rms_norm(jnp.array(x, jnp.float32), jnp.array(weight, jnp.float32), 1e-6)
    np.testing.assert_allclose(ours, reference.rms_norm(x, weight, 1e-6), rtol=1e-5)


def test_rms_norm_rounds_before_the_weight():
    """In bfloat16 the normed value is rounded, then multiplied, as the published model code does it."""
    x, weight = rng.normal(size=64).astype(ml_dtypes.bfloat16), rng.normal(size=64).astype(ml_dtypes.bfloat16)
    normed = reference.rms_norm(x.astype(np.float64), 1.0, 1e-6).astype(np.float32).astype(ml_dtypes.bfloat16)
    assert np.array_equal(np.asarray(layers.rms_norm(jnp.array(x), jnp.array(weight), 1e-6)), normed * weight)


def test_rope_by_absolute_position():
    x, position = rng.normal(size=(2, 3, 4, 16)), np.array([[0, 1, 2], [70, 500, 3000]])
    ours = layers.rotate(jnp.array(x, jnp.float32), jnp.array(position), Rope(10000.0))
    for row in range(2):
        np.testing.assert_allclose(ours[row], reference.rope(x[row], position[row], 10000.0), atol=1e-3 if row else 1e-5)


@pytest.mark.parametrize("segments", [1, 2])
def test_attention(segments):
    """Keys in one segment or split over two give what one softmax over all of them gives."""
    B, T, K, G, H, S = 2, 3, 2, 2, 8, 10
    query, key, value = rng.normal(size=(B, T, K, G, H)), rng.normal(size=(B, K, S, H)), rng.normal(size=(B, K, S, H))
    visible = rng.random((B, T, S)) < 0.5
    visible[..., -1] = True
    parts = np.split(np.arange(S), [S // 3]) if segments == 2 else [np.arange(S)]
    key32, value32 = jnp.array(key, jnp.float32), jnp.array(value, jnp.float32)
    given = [(key32[:, :, part], value32[:, :, part], visible[..., part]) for part in parts]
    ours = layers.attention(jnp.array(query, jnp.float32), given)
    for row in range(B):
        flat = query[row].reshape(T, K * G, H)
        expected = reference.attention(flat, key[row].swapaxes(0, 1), value[row].swapaxes(0, 1), visible[row])
        np.testing.assert_allclose(ours[row].reshape(T, K * G, H), expected, atol=1e-5)


def test_attention_with_nothing_visible_is_finite():
    zeros = jnp.zeros((1, 1, 4, 8))
    assert jnp.isfinite(layers.attention(jnp.ones((1, 1, 1, 2, 8)), [(zeros, zeros, jnp.zeros((1, 1, 4), bool))])).all()


def test_swiglu():
    x, gate, up, down = (rng.normal(size=shape) for shape in ((2, 3, 8), (12, 8), (12, 8), (8, 12)))
    gate_up = jnp.array(np.stack([gate.T, up.T], 1), jnp.float32)
    ours = layers.swiglu(jnp.array(x, jnp.float32), gate_up, jnp.array(down.T, jnp.float32))
    np.testing.assert_allclose(ours, (reference.silu(x @ gate.T) * (x @ up.T)) @ down.T, rtol=1e-4, atol=1e-5)


def test_gru_cell_is_pytorchs():
    """Six steps of torch.nn.GRU without biases: gate order, the place of the reset gate, the sense of the update gate."""
    D, R, B, steps = 5, 7, 3, 6
    gru = torch.nn.GRU(D, R, bias=False, batch_first=True)
    x = torch.randn(B, steps, D)
    expected = gru(x)[0].detach().numpy()
    input_3RD = jnp.array(gru.weight_ih_l0.detach().numpy().reshape(3, R, D))
    recurrent_3RR = jnp.array(gru.weight_hh_l0.detach().numpy().reshape(3, R, R))
    state = jnp.zeros((B, R))
    for step in range(steps):
        state = layers.gru_cell(jnp.einsum("BD,ARD->BAR", x[:, step].numpy(), input_3RD), state, recurrent_3RR)
        np.testing.assert_allclose(state, expected[:, step], atol=1e-6)


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.bfloat16])
def test_rounded_is_a_cast(dtype):
    x = jnp.array(rng.normal(size=1000), jnp.float32)
    assert layers.rounded(x, dtype).dtype == dtype
    assert jnp.array_equal(layers.rounded(x, dtype), x.astype(dtype))
