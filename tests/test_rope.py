"""RoPE and its scalings against Transformers' own, and every spelling of them in config.json."""

import json

import numpy as np
import pytest
import torch
import transformers
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding
from transformers.models.qwen2.modeling_qwen2 import Qwen2RotaryEmbedding
from transformers.models.qwen3.modeling_qwen3 import Qwen3RotaryEmbedding

from domino_jax.config import DraftConfig, TargetConfig
from domino_jax.errors import InputError
from domino_jax.fields import Fields
from domino_jax.rope import Rope
from tests.models import draft_config, target_config

POSITIONS = 4096  # max_position_embeddings wherever a test does not say another
MODELS = {
    "qwen3": (transformers.Qwen3Config, Qwen3RotaryEmbedding),
    "qwen2": (transformers.Qwen2Config, Qwen2RotaryEmbedding),
    "llama": (transformers.LlamaConfig, LlamaRotaryEmbedding),
}
YARN = dict(rope_type="yarn", factor=4.0, original_max_position_embeddings=1024)
LLAMA3 = dict(rope_type="llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=512)
LINEAR, DYNAMIC = dict(rope_type="linear", factor=4.0), dict(rope_type="dynamic", factor=4.0, original_max_position_embeddings=1024)
SCALINGS = {
    "default": dict(rope_type="default"),
    "linear": LINEAR,
    "yarn": YARN,
    "yarn of the whole context": dict(rope_type="yarn", factor=2.5),
    "yarn, attention_factor": dict(YARN, attention_factor=1.25),
    "yarn, both mscales": dict(YARN, factor=40, mscale=1.0, mscale_all_dim=0.707),
    "yarn, one mscale": dict(YARN, mscale=0.5),
    "yarn, not truncated": dict(YARN, factor=32.0, truncate=False),
    "yarn, betas": dict(YARN, beta_fast=24, beta_slow=2.5),
    "yarn, betas together": dict(YARN, beta_fast=32, beta_slow=32, truncate=False),
    "yarn, factor 1": dict(YARN, factor=1.0),
    "llama3": LLAMA3,
    "llama3 of the whole context": {key: value for key, value in LLAMA3.items() if not key.startswith("original")},
    "dynamic": DYNAMIC,
}


def read(raw: dict, positions: int = POSITIONS) -> Rope:
    return Rope.read(Fields(raw, "there/config.json"), positions)


def refusal(raw: dict) -> str:
    with pytest.raises(InputError) as refused:
        read(raw)
    text = str(refused.value)
    assert text.startswith("there/config.json: ")
    assert "expected" in text
    assert "\n" not in text
    return text


def transformers_rope(model: str, parameters: dict, width: int, positions: int = POSITIONS) -> tuple[np.ndarray, float]:
    """Rates and magnitude as Transformers computes them, but in float64: its float32 powers are off by more than a wrong formula may be."""
    config_class, rotary_class = MODELS[model]
    config = config_class(head_dim=width, max_position_embeddings=positions, rope_parameters=dict(parameters))
    with pytest.MonkeyPatch.context() as patch:
        for name in ("float", "float32"):
            patch.setattr(torch, name, torch.float64)
        rotary = rotary_class(config)
    return rotary.inv_freq.numpy(), rotary.attention_scaling


def assert_same_as_transformers(model: str, parameters: dict, width: int) -> None:
    ours = read(dict(rope_parameters=parameters))
    rates, magnitude = transformers_rope(model, parameters, width)
    assert rates.dtype == np.float64
    np.testing.assert_allclose(ours.rates(width), rates, rtol=1e-9)
    assert ours.magnitude == pytest.approx(magnitude, rel=1e-9)


# Numbers


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("name", SCALINGS)
def test_rates_and_magnitude_are_those_of_transformers(name, model):
    for width, theta in ((16, 10000.0), (128, 1e6)):
        assert_same_as_transformers(model, dict(SCALINGS[name], rope_theta=theta), width)


def test_the_rates_of_every_scaling_differ():
    """Or the comparison with Transformers would show nothing."""
    kinds = ("default", "linear", "yarn", "yarn, not truncated", "yarn, betas", "llama3")
    ropes = {name: read(dict(rope_theta=1e4, rope_scaling=scaling)) for name, scaling in SCALINGS.items()}
    assert len({tuple(ropes[name].rates(64)) for name in kinds}) == len(kinds)
    assert len({rope.magnitude for rope in ropes.values()}) == 6  # 1 but for yarn: by three factors, set, by two mscales


FACTOR, CONTEXT = st.floats(1, 64), st.integers(64, 131072)
PARAMETERS = {
    "default": st.fixed_dictionaries({}),
    "linear": st.fixed_dictionaries(dict(factor=FACTOR)),
    "yarn": st.fixed_dictionaries(
        dict(factor=FACTOR),
        optional=dict(
            original_max_position_embeddings=CONTEXT,
            attention_factor=st.floats(0.1, 4),
            mscale=st.floats(0.1, 2),
            mscale_all_dim=st.floats(0.1, 2),
            beta_fast=st.one_of(st.integers(8, 64), st.floats(8, 64)),
            beta_slow=st.floats(0.5, 8),
            truncate=st.booleans(),
        ),
    ),
    "llama3": st.fixed_dictionaries(
        dict(factor=FACTOR, low_freq_factor=st.floats(0.25, 2), high_freq_factor=st.floats(2.5, 16)),
        optional=dict(original_max_position_embeddings=CONTEXT),
    ),
}
THETA = st.one_of(st.integers(100, 10**7), st.floats(100, 1e7))


@pytest.mark.parametrize("kind", PARAMETERS)
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_any_parameters_give_the_numbers_of_transformers_and_survive_writing(kind, data):
    parameters = dict(rope_type=kind, rope_theta=data.draw(THETA), **data.draw(PARAMETERS[kind]))
    assert_same_as_transformers("qwen3", parameters, data.draw(st.sampled_from([2, 8, 64, 128])))
    rope = read(dict(rope_parameters=parameters))
    assert read(json.loads(json.dumps(rope.to_dict()))) == rope


# Spellings


@pytest.mark.parametrize("name", SCALINGS)
def test_every_spelling_gives_the_same_rope(name):
    scaling = SCALINGS[name]
    kind = {key: value for key, value in scaling.items() if key != "rope_type"}
    spellings = [
        dict(rope_parameters=dict(scaling, rope_theta=5000)),
        dict(rope_theta=5000, rope_parameters=scaling),
        dict(rope_theta=5000, rope_scaling=scaling),
        dict(rope_theta=5000, rope_scaling=dict(kind, type=scaling["rope_type"])),
        dict(rope_theta=5000.0, rope_scaling=scaling, rope_parameters=dict(scaling, rope_theta=5000)),
        dict(rope_theta=5000, rope_scaling=None, rope_parameters=dict(scaling, rope_theta=None)),
    ]
    assert {read(raw) for raw in spellings} == {read(spellings[0])}
    assert read(spellings[0]).theta == 5000
    assert (read(spellings[0]).scaling is None) == (name == "default")


@pytest.mark.parametrize("name", SCALINGS)
def test_what_is_written_is_read_again_in_both_spellings_and_by_transformers(name):
    rope = read(dict(rope_theta=5000, rope_scaling=SCALINGS[name]))
    raw = json.loads(json.dumps(rope.to_dict()))
    new, old = ({key: raw[key] for key in keys} for keys in (("rope_parameters",), ("rope_theta", "rope_scaling")))
    assert read(raw) == read(new) == read(old) == rope
    rates, magnitude = transformers_rope("qwen3", raw["rope_parameters"], 16)
    np.testing.assert_allclose(rope.rates(16), rates, rtol=1e-9)
    assert rope.magnitude == pytest.approx(magnitude)


@pytest.mark.parametrize("name", SCALINGS)
def test_target_and_drafter_read_it_and_write_it(name):
    raw = dict(rope_theta=None, rope_parameters=dict(SCALINGS[name], rope_theta=5000))
    for config in (TargetConfig.from_dict(target_config(**raw)), DraftConfig.from_dict(draft_config(**raw))):
        assert config.rope == read(raw, positions=256)
        assert type(config).from_dict(json.loads(json.dumps(config.to_dict()))) == config


# Contexts


@pytest.mark.parametrize(
    ("scaling", "positions", "context"),
    [
        (SCALINGS["default"], 4096, 4096),
        (LINEAR, 4096, 4096),
        (LLAMA3, 4096, 4096),
        (YARN, 1024, 4096),
        (YARN, 2048, 4096),
        (YARN, 8192, 8192),  # as Qwen2.5 says it: already stretched
        (dict(rope_type="yarn", factor=2.5), 4096, 10240),
        (DYNAMIC, 4096, 1024),
        (DYNAMIC, 512, 512),
        (dict(rope_type="dynamic", factor=2.0), 4096, 4096),
    ],
    ids=str,
)
def test_the_positions_that_a_model_may_use(scaling, positions, context):
    assert read(dict(rope_theta=1e4, rope_scaling=scaling), positions).context(positions) == context
    config = TargetConfig.from_dict(target_config(rope_scaling=scaling, max_position_embeddings=positions))
    assert (config.context, config.max_position_embeddings) == (context, positions)


# Refusals


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (dict(rope_theta=1e4, rope_parameters=dict(YARN, rope_theta=2e4)), ("rope_theta", "10000.0, 20000.0", "one value")),
        (dict(rope_theta=1e4, rope_scaling=dict(YARN, rope_theta=2e4)), ("rope_theta", "10000.0, 20000.0", "one value")),
        (dict(rope_theta=1e4, rope_scaling=YARN, rope_parameters=LINEAR), ("rope_parameters and rope_scaling differ", "one RoPE scaling")),
        (dict(rope_theta=1e4, rope_scaling=YARN, rope_parameters=dict(YARN, factor=2)), ("rope_parameters and rope_scaling differ",)),
        (dict(rope_theta=1e4, rope_scaling=YARN, rope_parameters=dict(rope_type="default")), ("rope_parameters and rope_scaling differ",)),
        (dict(rope_theta=1e4, rope_scaling=dict(YARN, type="linear")), ("type",)),
        (dict(rope_theta=1e4, rope_scaling=dict(type="yarn", rope_type="default", factor=4.0)), ("type",)),
        (dict(rope_scaling=LINEAR), ("rope_theta is missing", "at the top level or in rope_parameters")),
    ],
    ids=str,
)
def test_disagreement_is_refused(raw, words):
    text = refusal(raw)
    assert all(word in text for word in words), text


@pytest.mark.parametrize("key", ["rope_scaling", "rope_parameters"])
@pytest.mark.parametrize(
    ("scaling", "word"),
    [
        (dict(rope_type="longrope", short_factor=[1.0] * 8, long_factor=[2.0] * 8, factor=4.0), "longrope"),
        (dict(type="mrope", mrope_section=[2, 3, 3]), "mrope"),
        (dict(rope_type="default", mrope_section=[2, 3, 3]), "mrope_section"),  # how Transformers re-saves the one above
        (dict(full_attention=YARN, sliding_attention=dict(rope_type="default")), "full_attention"),  # one for each kind of layer
        (dict(type="su"), "su"),
        (dict(rope_type=["yarn"], factor=4.0), "rope_type"),
        (dict(factor=4.0), "factor"),  # scaled, but nobody says how
        (dict(YARN, low_freq_factor=1.0), "low_freq_factor"),
        (dict(LINEAR, beta_fast=32), "beta_fast"),
        (dict(LLAMA3, attention_factor=1.5), "attention_factor"),
        (dict(DYNAMIC, alpha=1000.0), "alpha"),
        (dict(YARN, partial_rotary_factor=0.5), "partial_rotary_factor"),
        (dict(rope_type="default", partial_rotary_factor=0.25), "partial_rotary_factor"),
        (dict(rope_type="linear"), "factor is missing"),
        (dict(YARN, factor=None), "factor is missing"),
        (dict(LLAMA3, low_freq_factor=None), "low_freq_factor is missing"),
        (dict(LLAMA3, high_freq_factor=1.0), "high_freq_factor is 1.0"),
        (dict(YARN, factor=0), "factor is 0"),
        (dict(YARN, factor="4"), 'factor is "4"'),
        (dict(YARN, attention_factor=-1.0), "attention_factor is -1.0"),
        (dict(YARN, truncate=1), "truncate is 1"),
        (dict(YARN, original_max_position_embeddings=1024.5), "original_max_position_embeddings is 1024.5"),
    ],
    ids=str,
)
def test_a_scaling_that_is_not_understood_is_refused_by_its_key(scaling, word, key):
    text = refusal({"rope_theta": 1e4, key: scaling})
    assert word in text
    assert key in text


@pytest.mark.parametrize("config", [target_config, draft_config])
@pytest.mark.parametrize("key", ["partial_rotary_factor", "original_max_position_embeddings"])
def test_what_transformers_reads_beside_the_scaling_is_not_passed_over(key, config):
    """Both change what Transformers computes where they stand at the top level."""
    raw = config(rope_scaling=YARN, **{key: 0.5 if key.startswith("partial") else 512})
    with pytest.raises(InputError, match=key):
        (TargetConfig if config is target_config else DraftConfig).from_dict(raw)


def test_a_base_that_yarn_cannot_use_is_refused():
    """At 1 no pair turns slower than another, and the ramp divides by zero."""
    assert "rope_theta" in refusal(dict(rope_theta=1.0, rope_scaling=YARN))


def test_harmless_keys_are_accepted():
    """`finetuned` is written by YaRN's authors; whole heads may be said to turn whole."""
    scaling = dict(YARN, finetuned=True, partial_rotary_factor=1.0)
    assert read(dict(rope_theta=1e4, rope_scaling=scaling, partial_rotary_factor=1.0)) == read(dict(rope_theta=1e4, rope_scaling=YARN))
