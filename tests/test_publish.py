"""Checkpoints written in the published layouts: names, shapes, keys, and that they load again as they were."""

import json
import shutil
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest
import safetensors.numpy

import domino_jax
from convert.checkpoint import main
from domino_jax import checkpoint, safetensors_files
from tests.models import draft_config, random_tensors, target_config, write, write_counting_pair, write_random_pair

HEAD = {  # inference.md's list of a Domino drafter's tensors, for D 32, R 12, E 8, V 96
    "prefix_gru.weight_ih_l0": (36, 32),
    "prefix_gru.weight_hh_l0": (36, 12),
    "embed_proj.0.weight": (8, 44),
    "embed_proj.2.weight": (96, 8),
}
LAYER = {
    "input_layernorm.weight": (32,),
    "self_attn.q_proj.weight": (64, 32),
    "self_attn.k_proj.weight": (32, 32),
    "self_attn.v_proj.weight": (32, 32),
    "self_attn.o_proj.weight": (32, 64),
    "self_attn.q_norm.weight": (16,),
    "self_attn.k_norm.weight": (16,),
    "post_attention_layernorm.weight": (32,),
    "mlp.gate_proj.weight": (48, 32),
    "mlp.up_proj.weight": (48, 32),
    "mlp.down_proj.weight": (32, 48),
}
BACKBONE = {f"layers.{i}.{name}": shape for i in range(2) for name, shape in LAYER.items()}
BACKBONE |= {"fc.weight": (32, 64), "hidden_norm.weight": (32,), "norm.weight": (32,)}


@pytest.fixture(scope="module")
def pair(tmp_path_factory) -> tuple[Path, Path]:
    """Stored in bfloat16, as published ones are; with keys that nobody here reads."""
    directory = tmp_path_factory.mktemp("random")
    for name, raw, prefix in (
        ("target", target_config(eos_token_id=7), "model."),
        ("draft", draft_config(auto_map={"AutoModel": "x.Y"}), ""),
    ):
        tensors = {n if n == "lm_head.weight" else prefix + n: t.astype(jnp.bfloat16) for n, t in random_tensors(raw).items()}
        write(directory / name, raw, tensors)
    return directory / "target", directory / "draft"


@pytest.fixture(scope="module")
def stored(pair, tmp_path_factory) -> Path:
    """The pair in our own layout."""
    out = tmp_path_factory.mktemp("stored") / "pair"
    assert convert(*pair, out) == 0
    return out


def convert(target: Path | None, draft: Path | None, out: Path, *options: str) -> int:
    given = [word for name, path in (("--target", target), ("--draft", draft)) if path for word in (name, str(path))]
    return main([*given, "--out", str(out), *options])


def tensors(directory: Path) -> dict[str, np.ndarray]:
    return {name: tensor for path in directory.glob("*.safetensors") for name, tensor in safetensors.numpy.load_file(path).items()}


def same(ours: dict[str, np.ndarray], theirs: dict[str, np.ndarray]) -> bool:
    return ours.keys() == theirs.keys() and all(ours[n].dtype == theirs[n].dtype and ours[n].tobytes() == theirs[n].tobytes() for n in ours)


@pytest.mark.parametrize("shard_bytes", [1 << 30, 5_000])
def test_what_was_published_comes_back_bit_for_bit(shard_bytes, pair, stored, tmp_path, monkeypatch):
    monkeypatch.setattr(safetensors_files, "SHARD_BYTES", shard_bytes)
    assert convert(stored / "target", stored / "draft", tmp_path / "out", "--to", "hf", "--verify") == 0
    for name, source in zip(("target", "draft"), pair, strict=True):
        written = tmp_path / "out" / name
        assert same(tensors(written), tensors(source))
        shards = len(list(written.glob("*.safetensors")))
        assert (shards == 1) == (shard_bytes > 10_000) == (not (written / "model.safetensors.index.json").exists())
        if shards > 1:
            index = json.loads((written / "model.safetensors.index.json").read_text())
            assert index["weight_map"].keys() == tensors(source).keys()
            assert index["metadata"]["total_size"] == sum(tensor.nbytes for tensor in tensors(source).values())


def test_the_published_drafter_has_the_names_and_shapes_of_the_reference_classes(stored, tmp_path):
    assert convert(stored / "target", stored / "draft", tmp_path / "out", "--to", "hf") == 0
    written = tensors(tmp_path / "out" / "draft")
    assert {name: tensor.shape for name, tensor in written.items()} == BACKBONE | HEAD
    assert {tensor.dtype for tensor in written.values()} == {jnp.dtype(jnp.bfloat16)}


def test_the_published_config_serves_every_reader(stored, tmp_path):
    assert convert(stored / "target", stored / "draft", tmp_path / "out", "--to", "hf") == 0
    raw = json.loads((tmp_path / "out" / "draft" / "config.json").read_text())
    assert raw["architectures"] == ["DFlashDraftModel"]
    assert "auto_map" not in raw
    assert raw["emb_dim"] == raw["dflash_config"]["emb_dim"] == 8
    assert raw["rope_theta"] == raw["rope_parameters"]["rope_theta"] == 10000
    assert raw["torch_dtype"] == raw["dtype"] == "bfloat16"
    target = json.loads((tmp_path / "out" / "target" / "config.json").read_text())
    assert (target["architectures"], target["eos_token_id"]) == (["Qwen3ForCausalLM"], 7)


def test_a_published_drafter_in_speculators_format_has_its_names_and_shapes(pair, tmp_path, capsys):
    assert convert(*pair, tmp_path / "out", "--to", "speculators", "--verify") == 0
    assert "not yet merged" in capsys.readouterr().err
    written = tensors(tmp_path / "out" / "draft")
    head = {f"logits_correction.{name}": shape for name, shape in HEAD.items()}
    shared = {"embed_tokens.weight": (96, 32), "lm_head.weight": (96, 32)}
    assert {name: tensor.shape for name, tensor in written.items()} == BACKBONE | head | shared
    raw = json.loads((tmp_path / "out" / "draft" / "config.json").read_text())
    assert raw["aux_hidden_state_layer_ids"] == [1, 3]
    assert (raw["speculators_model_type"], raw["sample_from_anchor"], raw["logits_correction_emb_dim"]) == ("domino", True, 8)
    assert raw["speculators_config"]["verifier"] == {"name_or_path": str(pair[0]), "architectures": ["Qwen3ForCausalLM"]}
    assert raw["transformer_layer_config"]["num_hidden_layers"] == 2


@pytest.mark.parametrize("to", ["orbax", "hf", "speculators"])
def test_every_layout_decodes_alike_and_converts_back(to, tmp_path):
    pair = write_counting_pair(tmp_path / "source")
    assert convert(*pair, tmp_path / "there", "--to", to) == 0
    there = tmp_path / "there" / "target", tmp_path / "there" / "draft"
    result = domino_jax.load(*map(str, there)).generate([[0]], max_new_tokens=40)[0]
    assert (result.output_ids, result.acceptance_lengths) == ([*range(1, 29)], [16, 16])
    assert convert(*there, tmp_path / "back", "--to", "hf") == 0
    for name, source in zip(("target", "draft"), pair, strict=True):
        assert same(tensors(tmp_path / "back" / name), tensors(source))


def test_speculators_needs_the_target(pair, tmp_path, capsys):
    assert convert(None, pair[1], tmp_path / "out", "--to", "speculators") == 2
    assert "--to speculators is given without --target" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


REDUCED = {"draft_vocab_size": 40}


@pytest.fixture
def reduced(pair, tmp_path) -> Path:
    """A drafter of 40 of the target's tokens, every second from 10 on."""
    raw = draft_config(**REDUCED)
    ids = 10 + 2 * np.arange(40)
    held = random_tensors(raw)
    held |= {"d2t": ids - np.arange(40), "t2d": np.isin(np.arange(96), ids), "lm_head.weight": np.ones((40, 32), np.float32)}
    return write(tmp_path / "reduced", raw, held)


def test_a_reduced_vocabulary_has_no_place_in_the_published_layout(reduced, tmp_path, capsys):
    assert convert(None, reduced, tmp_path / "out", "--to", "hf") == 2
    assert "a draft vocabulary of 40 tokens, which Hugging Face's layout cannot say" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("through", ["orbax", "speculators"])
def test_a_reduced_vocabulary_survives(through, pair, reduced, tmp_path):
    assert convert(pair[0], reduced, tmp_path / "there", "--to", through, "--verify") == 0
    assert convert(pair[0], tmp_path / "there" / "draft", tmp_path / "back", "--to", "speculators", "--dtype", "float32") == 0
    written, source = tensors(tmp_path / "back" / "draft"), tensors(reduced)
    for name in ("d2t", "t2d", "lm_head.weight", "fc.weight"):
        assert written[name].dtype == source[name].dtype
        assert np.array_equal(written[name], source[name])


@pytest.mark.parametrize(("keys", "to"), [({}, "speculators"), ({"sliding_window_non_causal": True}, "hf")])
def test_sliding_layers_go_only_where_their_rule_is_meant(keys, to, pair, tmp_path, capsys):
    raw = draft_config(layer_types=["full_attention", "sliding_attention"], sliding_window=8, **keys)
    draft = write(tmp_path / "draft", raw, random_tensors(raw))
    assert convert(pair[0], draft, tmp_path / "out", "--to", to) == 2
    assert "sliding layers by" in capsys.readouterr().err
    if to == "speculators":
        assert convert(pair[0], draft, tmp_path / "out", "--to", "hf") == 0
        assert checkpoint.open_draft(tmp_path / "out" / "draft").config.windows == checkpoint.open_draft(draft).config.windows


# --- which target a drafter was made for ---


@pytest.fixture
def other(tmp_path) -> Path:
    return write_random_pair(tmp_path / "other", target_config(eos_token_id=7), seed=5)[0]


def notes(target: Path, draft: Path) -> str:
    return " ".join(domino_jax.engine.open_pair(str(target), str(draft)).draft.notes)


def test_a_converted_drafter_knows_its_target_in_any_layout_and_dtype(pair, stored, tmp_path):
    assert convert(*pair, tmp_path / "wide", "--dtype", "float32") == 0
    for target in (pair[0], stored / "target", tmp_path / "wide" / "target"):
        assert notes(target, stored / "draft") == ""


def test_a_converted_drafter_beside_another_target_is_suspicious(stored, other):
    assert "whose weights are other than" in notes(other, stored / "draft")


@pytest.mark.parametrize(("name", "suspicious"), [("Qwen/Qwen3-8B", True), ("someone/target", False), ("TARGET/", False)])
def test_a_drafter_that_names_its_target_beside_another_name(name, suspicious, pair, tmp_path):
    assert convert(*pair, tmp_path / "out", "--to", "speculators") == 0
    draft = tmp_path / "out" / "draft"
    raw = json.loads((draft / "config.json").read_text())
    raw["speculators_config"]["verifier"]["name_or_path"] = name
    (draft / "config.json").write_text(json.dumps(raw))
    assert (f"was made for {name}" in notes(pair[0], draft)) == suspicious


# --- what must not be converted, and what goes wrong ---


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("to", ["orbax", "hf"])
def test_weights_that_are_no_numbers_are_named_and_refused(to, value, pair, tmp_path, capsys):
    draft = shutil.copytree(pair[1], tmp_path / "draft")
    held = tensors(draft)
    held["layers.1.mlp.up_proj.weight"][3, 4] = value
    safetensors.numpy.save_file(held, draft / "model.safetensors")
    assert convert(None, draft, tmp_path / "out", "--to", to) == 2
    assert f"{draft}: layers.1.mlp.up_proj.weight holds NaN or infinity" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
    assert convert(None, draft, tmp_path / "out", "--to", to, "--allow-nonfinite", "--verify") == 0
