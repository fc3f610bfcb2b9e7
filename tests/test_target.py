"""The target against Transformers in float32, from checkpoints that Transformers wrote itself: Qwen3, Qwen2.5, Llama, scaled RoPE."""

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
import transformers

import domino_jax
from domino_jax import InputError, Prompt, cache, checkpoint
from domino_jax.config import TargetConfig
from tests import models, reference

FORWARD = jax.jit(lambda target, ids, slot, kv: target.forward(ids, slot, slot, kv))


SHORT = 16  # the context before scaling: most of the 40 positions compared lie beyond it
YARN = dict(rope_type="yarn", factor=4.0, original_max_position_embeddings=SHORT)
LLAMA3 = dict(rope_type="llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=SHORT)
DYNAMIC = dict(rope_type="dynamic", factor=4.0, original_max_position_embeddings=48)
VARIANTS = {
    "qwen3, tied": ("Qwen3", dict(tie_word_embeddings=True)),
    "qwen3": ("Qwen3", {}),
    "qwen3, biased": ("Qwen3", dict(attention_bias=True)),
    "qwen3, linear": ("Qwen3", dict(rope_parameters=dict(rope_type="linear", factor=4.0, rope_theta=1e4))),
    "qwen3, yarn": ("Qwen3", dict(rope_parameters=dict(YARN, rope_theta=1e4), max_position_embeddings=4 * SHORT)),
    "qwen3, yarn, not truncated": ("Qwen3", dict(rope_parameters=dict(YARN, rope_theta=150.0, truncate=False, attention_factor=1.3))),
    "qwen3, dynamic": ("Qwen3", dict(rope_parameters=dict(DYNAMIC, rope_theta=1e4), max_position_embeddings=48)),
    "qwen2": ("Qwen2", dict(head_dim=None)),  # as published: width and biases are not in the config
    "qwen2, tied, yarn": ("Qwen2", dict(head_dim=None, tie_word_embeddings=True, rope_parameters=dict(YARN, rope_theta=1e4))),
    "llama": ("Llama", {}),
    "llama, tied, llama3": ("Llama", dict(tie_word_embeddings=True, rope_parameters=dict(LLAMA3, rope_theta=1e4))),
    "llama, biased": ("Llama", dict(attention_bias=True)),
}


def transformers_model(variant: str) -> transformers.PreTrainedModel:
    torch.manual_seed(len(variant))
    name, changes = VARIANTS[variant]
    shape = {key: value for key, value in {**models.SHAPE, "tie_word_embeddings": False, **changes}.items() if value is not None}
    config = getattr(transformers, name + "Config")(**shape, attn_implementation="eager")
    model = getattr(transformers, name + "ForCausalLM")(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():  # its own initial values are too small to tell errors apart
            parameter.normal_(std=0.3).add_(1.0 if parameter.ndim == 1 else 0.0)
    return model


@pytest.mark.parametrize("variant", VARIANTS)
def test_transformers_parity(variant, tmp_path):
    """Logits and every layer's residuals. Transformers 5 writes `rope_parameters`; heads are wider than hidden / heads."""
    model, sharded = transformers_model(variant), variant == "qwen3"
    model.save_pretrained(tmp_path, max_shard_size="40KB" if sharded else "1GB")
    assert (tmp_path / "model.safetensors.index.json").exists() == sharded
    target = checkpoint.load(checkpoint.open_target(tmp_path), jnp.float32)

    ids = np.random.default_rng(0).integers(0, 96, (2, 40))
    with torch.no_grad():
        theirs = model(torch.tensor(ids), output_hidden_states=True)
    slot = np.broadcast_to(np.arange(40), (2, 40))
    hidden, residuals, _ = FORWARD(target, ids, slot, cache.allocate(target.config, 2, 64, jnp.float32))
    np.testing.assert_allclose(target.embedder.decode(hidden), theirs.logits, rtol=1e-5, atol=1e-4)
    for layer in range(3):  # the last entry of theirs is normed
        np.testing.assert_allclose(residuals[layer], theirs.hidden_states[layer + 1], rtol=1e-5, atol=1e-4)
    assert target.config.context >= 40
    assert TargetConfig.from_dict(target.config.to_dict()) == target.config


def test_biases_are_where_each_model_type_has_them(tmp_path):
    """Qwen2.5: of q, k and v, always. Qwen3 and Llama: of the output too, if the config says so, else none."""
    held = {}
    for variant in ("qwen2", "qwen3", "qwen3, biased", "llama", "llama, biased"):
        transformers_model(variant).save_pretrained(tmp_path / variant)
        opened = checkpoint.open_target(tmp_path / variant)
        held[variant] = {name.split(".")[-2] for name in opened.source.shapes if name.endswith("bias")}
        assert ("q_proj" in held[variant], "o_proj" in held[variant]) == (opened.config.qkv_bias, opened.config.out_bias)
    qkv = {"q_proj", "k_proj", "v_proj"}
    everywhere = qkv | {"o_proj"}
    assert held == {"qwen2": qkv, "qwen3": set(), "qwen3, biased": everywhere, "llama": set(), "llama, biased": everywhere}


def rescaled(directory: Path, **changes) -> Path:
    """The random pair's target under a config.json with other RoPE or another context."""
    tensors = models.published_names(models.random_tensors(models.target_config()))
    return models.write(directory, models.target_config(**changes), tensors)


def test_inside_its_original_context_a_dynamic_rope_is_the_default_one(random_pair, tmp_path):
    ids, slot = np.arange(40)[None] % 96, np.arange(40)[None]
    hidden = []
    for directory in (random_pair[0], rescaled(tmp_path, rope_scaling=DYNAMIC)):
        target = checkpoint.load(checkpoint.open_target(directory), jnp.float32)
        hidden.append(FORWARD(target, ids, slot, cache.allocate(target.config, 1, 64, jnp.float32))[0])
    assert np.array_equal(*hidden)


def test_beyond_its_original_context_a_dynamic_rope_is_not_run(tmp_path):
    """Keys in the cache would be stale: refused with the numbers, before anything is compiled."""
    engine = domino_jax.load(str(rescaled(tmp_path, rope_scaling=DYNAMIC)))
    with pytest.raises(InputError, match="10 prompt tokens and max_new_tokens 39 need 49 positions, expected at most 48"):
        engine.generate([range(10)], max_new_tokens=39)
    with pytest.raises(InputError, match="prompt 0 has 48 tokens, expected at most 47"):
        engine.generate([range(48)])
    with pytest.raises(InputError, match=r"max_context is 49, expected 2 to 48 \(dynamic RoPE scaling, max_position_embeddings = 256\)"):
        engine.generate([range(10)], max_context=49)
    assert engine.plan([Prompt(tuple(range(10)))], max_new_tokens=38).tasks[0].budget == 38
    assert engine.plan([Prompt(tuple(range(10)))]).tasks[0].budget == 38  # what is not asked for is cut
    assert not engine.executables


def test_a_drafter_with_a_dynamic_rope_is_not_run_beyond_its_original_context_either(random_pair, tmp_path):
    raw = models.draft_config(rope_scaling=DYNAMIC)
    engine = domino_jax.load(str(random_pair[0]), str(models.write(tmp_path, raw, models.random_tensors(raw, 1))))
    with pytest.raises(InputError, match=r"the run needs 49 positions .* but the drafter") as refused:
        engine.generate([range(10)], max_new_tokens=39)
    assert "at least 49" in str(refused.value)
    assert "dynamic" in str(refused.value)  # `max_position_embeddings` is 256: it is the scaling that says 48
    assert engine.plan([Prompt(tuple(range(10)))], max_new_tokens=38).tasks[0].budget == 38


def test_yarn_gives_as_many_positions_as_it_stretches_to(tmp_path):
    pair = domino_jax.engine.open_pair(str(rescaled(tmp_path, rope_scaling=YARN, max_position_embeddings=SHORT)))
    assert pair.plan([Prompt(tuple(range(40)))], max_new_tokens=24).tasks[0].budget == 24
    with pytest.raises(InputError, match="40 prompt tokens and max_new_tokens 25 need 65 positions, expected at most 64"):
        pair.plan([Prompt(tuple(range(40)))], max_new_tokens=25)


def test_a_residual_is_what_its_layer_puts_out(tmp_path):
    """A layer that adds nothing passes on the one before it: numbers shifted by one would show the next layer's instead."""
    tensors = models.random_tensors(models.target_config())
    for name in ("self_attn.o_proj", "mlp.down_proj"):
        tensors[f"layers.2.{name}.weight"][:] = 0
    directory = models.write(tmp_path, models.target_config(), models.published_names(tensors))
    target = checkpoint.load(checkpoint.open_target(directory), jnp.float32)
    ids, slot = np.arange(1, 41)[None], np.arange(40)[None]
    residuals = FORWARD(target, ids, slot, cache.allocate(target.config, 1, 64, jnp.float32))[1]
    assert len(residuals) == 4
    assert np.array_equal(residuals[2], residuals[1])
    assert min(np.abs(residuals[3] - residuals[2]).max(), np.abs(residuals[1] - residuals[0]).max()) > 1


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
