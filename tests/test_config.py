"""Configurations: where a key may stand, what is refused and in which words, and that no field is read in vain."""

import dataclasses
import json
from contextlib import suppress
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from domino_jax import InputError, Prompt, cache
from domino_jax.config import DominoConfig, DraftConfig, TargetConfig, check_pair
from domino_jax.engine import open_pair
from domino_jax.fields import read_json
from domino_jax.formats import is_drafter
from domino_jax.rope import Rope
from tests.models import draft_config, random_tensors, target_config, write


def read(raw: dict) -> TargetConfig | DraftConfig:
    return (DraftConfig if is_drafter(raw) else TargetConfig).from_dict(raw, "there/config.json")


def message(raw: dict) -> str:
    """The one sentence that refuses this config.json."""
    with pytest.raises(InputError) as refusal:
        read(raw)
    text = str(refusal.value)
    assert text.startswith(("there/config.json: ", "there/config.json (speculators format): "))
    assert "expected" in text
    assert "\n" not in text
    return text


def at(raw: dict, key: str, place: str, value: object) -> dict:
    """The config with `key` in the `place` named (top, nested or both) and nowhere else."""
    inner = {name: held for name, held in raw["dflash_config"].items() if name != key}
    outer = {name: held for name, held in raw.items() if name not in (key, "dflash_config")}
    if place in ("nested", "both"):
        inner[key] = value
    if place in ("top", "both"):
        outer[key] = value
    return outer | {"dflash_config": inner}


EITHER_PLACE = {
    "block_size": 5,
    "mask_token_id": 91,
    "target_layer_ids": [3, 1],
    "num_target_layers": 4,
    "gru_hidden_dim": 7,
    "emb_dim": 9,
    "pure_draft_prefix_len": 2,
    "shift_label": False,
}


@pytest.mark.parametrize("place", ["top", "nested", "both"])
@pytest.mark.parametrize("key", EITHER_PLACE)
def test_a_drafter_key_may_stand_in_either_place_or_agree_in_both(key, place):
    value = EITHER_PLACE[key]
    config = read(at(draft_config(), key, place, value))
    holder = config.domino if key in {field.name for field in dataclasses.fields(DominoConfig)} else config
    assert getattr(holder, key) == (tuple(value) if isinstance(value, list) else value)


@pytest.mark.parametrize("place", ["top", "nested", "both"])
def test_the_projector_type_may_stand_in_either_place(place):
    assert read(at(draft_config(), "projector_type", place, "domino")).kind == "domino"


@pytest.mark.parametrize("key", EITHER_PLACE)
def test_a_drafter_key_with_two_values_is_refused_with_both(key):
    value = EITHER_PLACE[key]
    other = [0] if isinstance(value, list) else True if value is False else value + 1
    text = message(at(draft_config(), key, "top", other) | {"dflash_config": draft_config(nested={key: value})["dflash_config"]})
    assert f"{key} is {json.dumps(other)} at the top level and {json.dumps(value)} in dflash_config" in text


@pytest.mark.parametrize("place", ["top", "nested", "both"])
def test_null_counts_as_absent(place):
    assert read(at(draft_config(), "num_target_layers", place, None)).num_target_layers is None
    assert "block_size is missing" in message(at(draft_config(), "block_size", place, None))


def test_defaults_of_a_target():
    absent = dict.fromkeys(["num_key_value_heads", "head_dim", "rms_norm_eps", "max_position_embeddings", "tie_word_embeddings"])
    config = read(target_config(**absent))
    assert (config.num_key_value_heads, config.head_dim, config.queries_per_kv_head) == (4, 8, 1)
    assert (config.rms_norm_eps, config.max_position_embeddings, config.tie_word_embeddings) == (1e-6, 32768, False)


def test_defaults_of_a_domino_head():
    config = read(draft_config(nested=dict(pure_draft_prefix_len=None, shift_label=None)))
    assert (config.domino.pure_draft_prefix_len, config.domino.shift_label) == (0, False)


def test_a_plain_drafter_has_no_head():
    config = read(draft_config(domino=False))
    assert (config.kind, config.domino, config.first_row, config.max_proposals) == ("dflash", None, 1, 3)


@pytest.mark.parametrize(("shifted", "first_row", "most"), [(True, 0, 4), (False, 1, 3)])
def test_shifted_labels_make_the_first_row_a_prediction(shifted, first_row, most):
    config = read(draft_config(nested=dict(shift_label=shifted)))
    assert (config.first_row, config.max_proposals) == (first_row, most)


def test_the_legacy_name_of_the_projector_is_the_domino_head():
    assert read(draft_config(nested=dict(projector_type="causal_v5"))) == read(draft_config())


@pytest.mark.parametrize("prefix", range(4))
def test_every_prefix_below_the_block_size_is_accepted(prefix):
    assert read(draft_config(nested=dict(pure_draft_prefix_len=prefix))).domino.pure_draft_prefix_len == prefix


def test_target_layer_ids_keep_their_order():
    assert read(draft_config(nested=dict(target_layer_ids=[3, 0, 2]))).target_layer_ids == (3, 0, 2)


@pytest.mark.parametrize("architecture", ["DFlashDraftModel", "DominoDraftModel"])
def test_a_drafter_may_have_every_key_at_the_top_level(architecture):
    raw = draft_config(architectures=[architecture])
    assert read({**raw, **raw["dflash_config"], "dflash_config": None}) == read(raw)


ROPE = dict(rope_type="default", rope_theta=10000)


@pytest.mark.parametrize("config", [target_config, draft_config])
@pytest.mark.parametrize(
    "changes",
    [
        dict(rope_theta=None, rope_parameters=ROPE),
        dict(rope_theta=None, rope_parameters=dict(rope_theta=10000)),
        dict(rope_theta=10000, rope_parameters=ROPE),
        dict(rope_theta=10000, rope_scaling=dict(type="default")),
        dict(rope_theta=10000, rope_parameters=dict(rope_type="default")),
    ],
    ids=str,
)
def test_the_rope_base_is_found_wherever_it_stands(config, changes):
    assert read(config(**changes)).rope == Rope(10000.0)


# changes of either kind of config.json -> words of the refusal: the key, what was found, what was expected
DECODER_REFUSALS = [
    *[
        (dict([(key, value)]), (f"{key} is {json.dumps(value)}", "an integer of at least 1"))
        for key in ("vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads", "num_key_value_heads",
                    "head_dim", "max_position_embeddings")
        for value in (0, -1, True, 2.0, "4")
    ],
    *[
        (dict([(key, None)]), (f"{key} is missing", "expected at the top level"))
        for key in ("vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads")
    ],
    *[
        (dict([(key, value)]), (f"{key} is {json.dumps(value)}", "a positive number"))
        for key in ("rms_norm_eps", "rope_theta")
        for value in (0, -1.0, "1e-6", True, float("nan"), float("inf"), 10**400)
    ],
    (dict(num_key_value_heads=3), ("num_key_value_heads is 3", "a divisor of num_attention_heads = 4")),
    (dict(head_dim=5), ("head_dim is 5", "an even number")),
    (dict(rope_theta=None), ("rope_theta is missing", "at the top level or in rope_parameters")),
    (dict(rope_parameters=dict(ROPE, rope_theta=5000)), ("rope_theta", "10000.0, 5000.0", "one value")),
    (dict(rope_theta=None, rope_parameters=dict(rope_theta="x")), ('rope_parameters: rope_theta is "x"', "a positive number")),
    (dict(rope_parameters=dict(ROPE, rope_type="longrope")), ('rope_parameters.rope_type is "longrope"', "yarn", "not supported")),
    (dict(rope_scaling=[2]), ("rope_scaling is [2]", "an object or null")),
    (dict(quantization_config=dict(quant_method="fp8")), ("quantization_config is present", "unquantised weights")),
    (dict(hidden_act="gelu"), ('hidden_act is "gelu"', '"silu"')),
    (dict(attention_bias=1), ("attention_bias is 1", "true or false")),
    (dict(layer_types=["full_attention"]), ('layer_types is ["full_attention"]', 'times "full_attention" or "sliding_attention"')),
    (dict(layer_types=["linear_attention"] * 2, num_hidden_layers=2), ("layer_types", 'a list of 2 times "full_attention"')),
    (dict(layer_types="full_attention"), ('layer_types is "full_attention"', 'times "full_attention"')),
    (dict(layer_types=[]), ("layer_types is []", 'times "full_attention"')),
    (dict(num_hidden_layers=10**30), ("num_hidden_layers is 1000000", "from 1 to 2147483647")),
    (dict(num_hidden_layers=10**7), ("num_hidden_layers is 10000000", "at most 10000")),
    (dict(hidden_size=10**30), ("hidden_size is 1000000", "from 1 to 2147483647")),
]  # fmt: skip


@pytest.mark.parametrize("config", [target_config, draft_config])
@pytest.mark.parametrize(("changes", "words"), DECODER_REFUSALS, ids=str)
def test_what_no_decoder_layer_here_implements_is_refused(config, changes, words):
    text = message(config(**changes))
    assert all(word in text for word in words), text


TARGET_REFUSALS = [
    *[
        (
            dict(model_type=kind),
            (f"model_type is {json.dumps(kind)}", '"qwen3", "qwen2", "llama"', "mixture of experts", "linear attention"),
        )
        for kind in ("qwen3_moe", "qwen3_next", "qwen3_5", "mistral", ["qwen3"])
    ],
    (dict(model_type=None), ("model_type is null", '"qwen3"')),
    (dict(num_experts=8), ("num_experts is 8", "a mixture of experts is not supported")),
    (dict(model_type="llama", mlp_bias=True), ("mlp_bias is true", "false")),
    (dict(use_sliding_window=True, max_window_layers=2), ("layer_types is null", "sliding layers are not supported")),
    (dict(layer_types=["sliding_attention"] * 4), ("layer_types", "sliding layers are not supported")),
    (dict(tie_word_embeddings=1), ("tie_word_embeddings is 1", "true or false")),
    (dict(dflash_config={}), ("this is a DFlash/Domino drafter", "expected a target model", "pass it as the draft")),
]


@pytest.mark.parametrize(("changes", "words"), TARGET_REFUSALS, ids=str)
def test_what_is_no_target_is_refused(changes, words):
    with pytest.raises(InputError) as refusal:
        TargetConfig.from_dict(target_config(**changes))
    assert all(word in str(refusal.value) for word in words), refusal.value


@pytest.mark.parametrize("domino", [True, False])
def test_a_drafter_given_as_the_target_is_refused_by_that_name(domino):
    with pytest.raises(InputError, match=r"this is a DFlash/Domino drafter \(no embeddings\).*pass it as the draft"):
        TargetConfig.from_dict(draft_config(domino=domino))


def test_a_target_given_as_the_drafter_is_refused_by_that_name():
    with pytest.raises(InputError, match=r"dflash_config is missing.*pass a target model as the target"):
        DraftConfig.from_dict(target_config())


BLOCK_SIZE, LAYER_IDS = "an integer of at least 2", "a list of distinct layer numbers from 0 below num_target_layers = 4"
MASK, PREFIX, BOOLEAN = "an integer from 0 to 95", "an integer from 0 to 3", "true or false"

# key -> values that are refused, and what was expected; None leaves the key out
DRAFT_REFUSALS = {
    "block_size": ([1, 0, -4, "16", 4.0, True], BLOCK_SIZE),
    "num_target_layers": ([0, "4", False], "an integer of at least 1"),
    "mask_token_id": ([96, -1, True, "93", 93.0], MASK),
    "target_layer_ids": ([[], [0, 4], [-1], [1, 1], [True], ["0"], [[0]], 2, {"0": 1}], LAYER_IDS),
    "projector_type": (["dominos", "linear", 1, ["domino"]], '"domino" (or its legacy name "causal_v5")'),
    "gru_hidden_dim": ([0, -1, True, "12"], "an integer of at least 1"),
    "emb_dim": ([0, 8.0], "an integer of at least 1"),
    "pure_draft_prefix_len": ([-1, 4, True, "1"], PREFIX),
    "shift_label": (["true", 1, 0], BOOLEAN),
    "causal": ([True], "false (causal blocks are not supported)"),
    "draft_vocab_size": ([97, 0, "32"], "an integer from 1 to 96"),
    "attention_bias": ([True], "false"),
    "sliding_window": ([0, "4"], "an integer of at least 1"),
    "fusion_mode": (["flare"], "neither DFlash nor Domino"),
}


@pytest.mark.parametrize("place", ["top", "nested"])
@pytest.mark.parametrize(("key", "value"), [(key, value) for key, (values, _) in DRAFT_REFUSALS.items() for value in values], ids=str)
def test_a_drafter_key_out_of_bounds_is_refused(key, value, place):
    sliding = dict(layer_types=["full_attention", "sliding_attention"]) if key == "sliding_window" else {}
    text = message(at(draft_config(**sliding), key, place, value))
    assert f"{key} is {json.dumps(value)}, expected" in text
    assert DRAFT_REFUSALS[key][1] in text


@pytest.mark.parametrize("key", ["block_size", "mask_token_id", "target_layer_ids", "gru_hidden_dim", "emb_dim"])
def test_a_missing_drafter_key_is_never_guessed(key):
    text = message(at(draft_config(), key, "nowhere", None))
    assert f"{key} is missing, expected at the top level or in dflash_config" in text
    assert not any(guess in text for guess in ("pad", "eos"))


@pytest.mark.parametrize("value", [False, [], "x", 3])
def test_a_dflash_config_that_is_no_object_is_refused(value):
    assert f"dflash_config is {json.dumps(value)}, expected an object" in message(draft_config() | {"dflash_config": value})


def test_shifted_labels_without_a_domino_head_are_refused():
    text = message(draft_config(domino=False, nested=dict(shift_label=True)))
    assert 'shift_label is true, expected false without projector_type "domino"' in text


def test_speculators_format_is_named_where_something_is_wrong():
    raw = dict(speculators_model_type="dflash", architectures=["DFlashSpeculator"], block_size=8, mask_token_id=93)
    assert "there/config.json (speculators format): num_hidden_layers is missing, expected in transformer_layer_config" in message(raw)


@pytest.mark.parametrize("architectures", ["DFlashDraftModel", ["DFlashDraftModel"]])
def test_a_drafter_is_known_by_its_architecture_alone(architectures):
    assert "mask_token_id is missing" in message(draft_config(architectures=architectures) | {"dflash_config": None})


PAIR_MISMATCHES = {
    "hidden_size is 64, expected 32": dict(hidden_size=64),
    "vocab_size is 100, expected 96": dict(vocab_size=100),
    "num_target_layers is 6, expected 4": dict(num_target_layers=6),
    "target_layer_ids are [0, 5], expected numbers below 4": dict(nested=dict(target_layer_ids=[0, 5]), num_target_layers=None),
}


@pytest.mark.parametrize(("words", "changes"), PAIR_MISMATCHES.items())
def test_a_drafter_for_another_target_is_refused(words, changes):
    with pytest.raises(InputError) as refusal:
        check_pair(read(target_config()), read(draft_config(**changes)), "draft/config.json")
    assert str(refusal.value) == f"draft/config.json: this drafter is for another target: {words}"


def test_all_mismatches_of_a_pair_stand_in_one_message():
    changes = dict(hidden_size=64, vocab_size=100, num_target_layers=6, nested=dict(target_layer_ids=[0, 5]))
    with pytest.raises(InputError) as refusal:
        check_pair(read(target_config()), read(draft_config(**changes)))
    assert all(words in str(refusal.value) for words in PAIR_MISMATCHES), refusal.value


def test_a_drafter_that_does_not_say_its_targets_depth_fits():
    check_pair(read(target_config()), read(draft_config(num_target_layers=None)))


@pytest.mark.parametrize("content", [b"", b"{", b"[1]", b"null", b"\xff\xfe", b"[" * 100_000, b'{"a": ' + b"1" * 5000 + b"}"])
def test_a_file_that_is_no_json_object_is_refused(tmp_path, content):
    path = tmp_path / "config.json"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"config\.json: .*expected a JSON object"):
        read_json(path)


@pytest.mark.parametrize("path", ["nowhere.json", "."])
def test_a_path_that_is_no_file_is_refused(tmp_path, path):
    with pytest.raises(InputError, match="expected a JSON object"):
        read_json(tmp_path / path)


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=4,
)
INTEGERS = ["vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads", "max_position_embeddings",
            "block_size", "mask_token_id", "num_target_layers", "gru_hidden_dim", "emb_dim", "pure_draft_prefix_len"]  # fmt: skip


@settings(deadline=None)
@given(key=st.sampled_from(INTEGERS), value=JSON_VALUES, place=st.sampled_from(["top", "nested", "both"]))
def test_any_value_of_an_integer_key_is_a_plain_integer_or_refused(key, value, place):
    try:
        config = read(at(draft_config(), key, place, value))
    except InputError:
        return
    found = getattr(config.domino if hasattr(config.domino, key) else config, key)
    assert value is None or (type(found) is int and found == value)


ANY_KEY = sorted({*target_config(), *draft_config(), *draft_config()["dflash_config"], "rope_parameters", "rope_scaling", "causal",
                  "quantization_config", "layer_types", "draft_vocab_size", "speculators_model_type"})  # fmt: skip


@settings(deadline=None)
@given(key=st.sampled_from(ANY_KEY), value=JSON_VALUES, domino=st.booleans())
def test_any_value_of_any_key_is_accepted_or_refused_and_never_breaks(key, value, domino):
    for raw in (target_config() | {key: value}, draft_config(domino) | {key: value}, at(draft_config(domino), key, "nested", value)):
        with suppress(InputError):
            assert isinstance(read(raw), (TargetConfig, DraftConfig))


# Every field must matter: changed in config.json beside the same tensors, it changes what is computed or it is refused.

TINY = dict(vocab_size=64, hidden_size=16, intermediate_size=24, num_hidden_layers=2, head_dim=8)
TINY_TARGET = target_config(**TINY)
TINY_DRAFT = draft_config(
    **TINY,
    num_target_layers=2,
    layer_types=["full_attention", "sliding_attention"],
    sliding_window=6,
    nested=dict(mask_token_id=61, target_layer_ids=[0, 1]),
)
COMPUTED = {
    TargetConfig: dict(rms_norm_eps=0.5, rope=10.0),
    DraftConfig: dict(rms_norm_eps=0.5, rope=10.0, block_size=5, mask_token_id=7, target_layer_ids=[1, 0], windows=1),
    DominoConfig: dict(pure_draft_prefix_len=2, shift_label=False),
}
REFUSED_SHAPES = dict(vocab_size=66, hidden_size=18, intermediate_size=26, num_hidden_layers=1, num_attention_heads=2,
                      num_key_value_heads=1, head_dim=4, max_position_embeddings=12)  # fmt: skip
REFUSED = {
    TargetConfig: REFUSED_SHAPES | dict(tie_word_embeddings=True, model_type="llama", attention_bias=True),
    DraftConfig: REFUSED_SHAPES | dict(num_target_layers=3, domino={}, draft_vocab_size=32),
    DominoConfig: dict(gru_hidden_dim=13, emb_dim=9),
}
PLACES = {"rope": "rope_theta", "windows": "sliding_window"}  # fields that config.json has under another name
BY_TENSORS = {
    TargetConfig: {"qkv_bias", "out_bias"},  # attention_bias above
    DraftConfig: {"own_embedding", "own_head", "target_name"},
    DominoConfig: {"bias"},
}  # not in config.json, or no figure: see test_formats.py
KINDS = list(COMPUTED)
TOKENS = [3, 1, 4, 1, 5, 9, 2, 6]


@pytest.fixture(scope="module")
def tiny_pair(tmp_path_factory) -> tuple[Path, Path]:
    directory = tmp_path_factory.mktemp("tiny")
    target = write(directory / "target", TINY_TARGET, random_tensors(TINY_TARGET))
    return target, write(directory / "draft", TINY_DRAFT, random_tensors(TINY_DRAFT, 1))


@jax.jit
def read_tokens(target, tokens_BT):
    """-> logits at every position, the residuals of every layer."""
    B, T = tokens_BT.shape
    slot_BT = jnp.broadcast_to(jnp.arange(T), (B, T))
    hidden_BTD, residuals, _ = target.forward(tokens_BT, slot_BT, slot_BT, cache.allocate(target.config, B, T, jnp.float32))
    return target.embedder.decode(hidden_BTD), residuals


@jax.jit
def propose(drafter, embedder, features, verified_B):
    B, T, _ = features[0].shape
    slot_BT = jnp.broadcast_to(jnp.arange(T), (B, T))
    return drafter.propose(embedder, drafter.allocate(B, T + 8, jnp.float32), features, slot_BT, jnp.full(B, T), verified_B)[0]


def compute(target: Path, draft: Path) -> tuple[np.ndarray, np.ndarray]:
    """The target's logits on TOKENS and what the drafter proposes after them, on eight rows. Raises what loading raises."""
    pair = open_pair(str(target), str(draft), "float32", num_proposals=3)
    pair.plan([Prompt(tuple(TOKENS))], max_new_tokens=8)
    engine = pair.load()
    rolled_BT = jnp.array([TOKENS[i:] + TOKENS[:i] for i in range(len(TOKENS))])
    logits, residuals = read_tokens(engine.target, rolled_BT)
    features = tuple(residuals[i] for i in engine.drafter.layer_ids)
    return np.asarray(logits), np.asarray(propose(engine.drafter, engine.target.embedder, features, rolled_BT[:, 0]))


@pytest.fixture(scope="module")
def unchanged(tiny_pair) -> tuple[np.ndarray, np.ndarray]:
    return compute(*tiny_pair)


def with_config(source: Path, changed: Path, raw: dict) -> Path:
    """A checkpoint with the tensors of `source` and another config.json."""
    changed.mkdir()
    (changed / "config.json").write_text(json.dumps(raw))
    (changed / "model.safetensors").symlink_to(source / "model.safetensors")
    return changed


def changed_pair(pair: tuple[Path, Path], directory: Path, kind: type, field: str, value: object) -> tuple[Path, Path]:
    """The pair with one field of one of its config.json changed. Without a `domino` its keys are gone."""
    target, draft = pair
    field = PLACES.get(field, field)
    if kind is TargetConfig:
        return with_config(target, directory / "target", TINY_TARGET | {field: value}), draft
    nested = TINY_DRAFT["dflash_config"]
    if field == "domino":
        raw = TINY_DRAFT | {"dflash_config": {key: nested[key] for key in ("mask_token_id", "target_layer_ids")}}
    elif field in nested:
        raw = TINY_DRAFT | {"dflash_config": nested | {field: value}}
    else:
        raw = TINY_DRAFT | {field: value}
    return target, with_config(draft, directory / "draft", raw)


def cases(table: dict) -> list:
    return [pytest.param(kind, *change, id=f"{kind.__name__}-{change[0]}") for kind in table for change in table[kind].items()]


@pytest.mark.parametrize("kind", KINDS)
def test_every_field_is_among_those_changed_below(kind):
    changed = COMPUTED[kind].keys() | REFUSED[kind].keys() | BY_TENSORS[kind]
    assert {field.name for field in dataclasses.fields(kind)} == changed - {"attention_bias"}


@pytest.mark.parametrize(("kind", "field", "value"), cases(COMPUTED))
def test_a_changed_field_changes_what_is_computed(kind, field, value, tiny_pair, unchanged, tmp_path):
    logits, proposals = compute(*changed_pair(tiny_pair, tmp_path, kind, field, value))
    before, after = (unchanged[0], logits) if kind is TargetConfig else (unchanged[1], proposals)
    assert before.shape == after.shape
    assert not np.array_equal(before, after)


@pytest.mark.parametrize(("kind", "field", "value"), cases(REFUSED))
def test_a_changed_field_is_refused_beside_the_same_tensors(kind, field, value, tiny_pair, tmp_path):
    with pytest.raises(InputError):
        compute(*changed_pair(tiny_pair, tmp_path, kind, field, value))
