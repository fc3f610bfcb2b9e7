"""The target against Transformers' Qwen3 in float32, from checkpoints that Transformers wrote itself."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
import transformers

from domino_jax import cache, checkpoint
from tests import models, reference

FORWARD = jax.jit(lambda target, ids, slot, kv: target.forward(ids, slot, slot, kv))


def transformers_model(tied: bool) -> transformers.Qwen3ForCausalLM:
    torch.manual_seed(tied)
    model = transformers.Qwen3ForCausalLM(
        transformers.Qwen3Config(**models.SHAPE, tie_word_embeddings=tied, attn_implementation="eager")
    ).eval()
    with torch.no_grad():
        for parameter in model.parameters():  # its own initial values are too small to tell errors apart
            parameter.normal_(std=0.3).add_(1.0 if parameter.ndim == 1 else 0.0)
    return model


@pytest.mark.parametrize(("tied", "shard_size"), [(True, "1GB"), (False, "40KB")])
def test_transformers_parity(tied, shard_size, tmp_path):
    """Logits and every layer's residuals. Transformers 5 writes `rope_parameters`; heads are wider than hidden / heads."""
    model = transformers_model(tied)
    model.save_pretrained(tmp_path, max_shard_size=shard_size)
    assert (tmp_path / "model.safetensors.index.json").exists() != tied
    target = checkpoint.load(checkpoint.open_target(tmp_path), jnp.float32)

    ids = np.random.default_rng(0).integers(0, 96, (2, 40))
    with torch.no_grad():
        theirs = model(torch.tensor(ids), output_hidden_states=True)
    slot = np.broadcast_to(np.arange(40), (2, 40))
    hidden, residuals, _ = FORWARD(target, ids, slot, cache.allocate(target.config, 2, 64, jnp.float32))
    np.testing.assert_allclose(target.embedder.decode(hidden), theirs.logits, rtol=1e-5, atol=1e-4)
    for layer in range(3):  # the last entry of theirs is normed
        np.testing.assert_allclose(residuals[layer], theirs.hidden_states[layer + 1], rtol=1e-5, atol=1e-4)


@pytest.fixture(scope="module")
def target(random_pair):
    return checkpoint.load(checkpoint.open_target(random_pair[0]), jnp.float32)


def test_in_pieces_and_ragged(target):
    """Two rows of different lengths, taken in by pieces at their own offsets, equal the whole sequences at once."""
    oracle = reference.Target(models.target_config(), models.random_tensors(models.target_config()))
    ids = np.random.default_rng(1).integers(0, 96, (2, 24))
    starts = np.array([8, 3])
    kv = cache.allocate(target.config, 2, 32, jnp.float32)
    _, _, kv = FORWARD(target, ids[:, :8], np.broadcast_to(np.arange(8), (2, 8)), kv)  # row 1 writes 5 too many
    new = np.stack([ids[row, start : start + 8] for row, start in enumerate(starts)])
    hidden, residuals, _ = FORWARD(target, new, starts[:, None] + np.arange(8), kv)
    for row, start in enumerate(starts):
        logits, features = oracle(ids[row, : start + 8])
        np.testing.assert_allclose(target.embedder.decode(hidden[row]), logits[start:], rtol=1e-4, atol=1e-4)
        for ours, theirs in zip(residuals, features, strict=True):
            np.testing.assert_allclose(ours[row], theirs[start:], rtol=1e-4, atol=1e-4)


def test_position_is_apart_from_slot(target):
    """Only distances of positions matter, and slots only say what is seen."""
    ids, slot = np.arange(10)[None], np.arange(10)[None]
    kv = cache.allocate(target.config, 1, 32, jnp.float32)
    near = jax.jit(target.forward)(ids, slot, slot, kv)[0]
    far = jax.jit(target.forward)(ids, slot + 100, slot, kv)[0]
    turned = jax.jit(target.forward)(ids, 2 * slot, slot, kv)[0]
    np.testing.assert_allclose(near, far, atol=1e-3)
    assert np.abs(near - turned).max() > 0.1


def test_an_impossible_token_disturbs_nothing_before_it(target):
    """Check mode feeds the id -1: what it computes there is never read, and must be finite and later."""
    slot, kv = np.arange(8)[None], cache.allocate(target.config, 1, 32, jnp.float32)
    with_it = FORWARD(target, np.array([[1, 2, 3, -1, -1, -1, -1, -1]]), slot, kv)[0]
    without = FORWARD(target, np.array([[1, 2, 3, 4, 5, 6, 7, 8]]), slot, kv)[0]
    assert np.array_equal(with_it[:, :3], without[:, :3])
    assert np.isfinite(with_it).all()
