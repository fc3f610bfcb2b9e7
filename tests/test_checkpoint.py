"""Opening and loading published checkpoints: every tensor is used, named in a note, or named in the refusal."""

import json
import pickle
import struct
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import ClassVar

import huggingface_hub
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import safetensors.numpy

import domino_jax
from domino_jax import InputError, checkpoint, safetensors_files
from domino_jax.safetensors_files import INDEX, SafetensorsDirectory
from domino_jax.tensors import HEAD_TENSORS
from tests.models import draft_config, published_names, random_tensors, refusal, target_config, write

TARGET, TIED = target_config(num_hidden_layers=2), target_config(num_hidden_layers=2, tie_word_embeddings=True)
DOMINO = draft_config(num_hidden_layers=1, num_target_layers=2, nested=dict(target_layer_ids=[0, 1]))
DFLASH = draft_config(domino=False, num_hidden_layers=1, num_target_layers=2, nested=dict(target_layer_ids=[0, 1]))
CONFIGS = dict(untied=TARGET, tied=TIED, domino=DOMINO, dflash=DFLASH)


def tensors_of(raw: dict) -> dict[str, np.ndarray]:
    """Random tensors under their published names."""
    return random_tensors(raw) if "dflash_config" in raw else published_names(random_tensors(raw))


def leaves(module) -> list[np.ndarray]:
    return [np.asarray(leaf) for leaf in jax.tree.leaves(module)]


def load(directory: Path, dtype=jnp.float32) -> list[np.ndarray]:
    return leaves(checkpoint.load(checkpoint.open_any(directory), dtype))


def same(ours: list[np.ndarray], theirs: list[np.ndarray]) -> bool:
    return all(a.dtype == b.dtype and a.tobytes() == b.tobytes() for a, b in zip(ours, theirs, strict=True))


def write_raw(path: Path, dtype: str, name: str, shape: list[int], size: int) -> None:
    """A safetensors file of one tensor in a type that numpy may not have."""
    header = json.dumps({name: {"dtype": dtype, "shape": shape, "data_offsets": [0, size]}}).encode()
    path.write_bytes(struct.pack("<Q", len(header)) + header + bytes(size))


# --- files ---


@pytest.mark.parametrize("shards", [2, 5])
@pytest.mark.parametrize("kind", CONFIGS)
def test_shards_load_as_one_file_does(kind, shards, tmp_path):
    tensors = tensors_of(CONFIGS[kind])
    one, many = write(tmp_path / "one", CONFIGS[kind], tensors), write(tmp_path / "many", CONFIGS[kind], tensors, shards=shards)
    assert same(load(one), load(many))


@pytest.mark.parametrize("kind", CONFIGS)
def test_every_stored_number_is_in_the_loaded_model(kind, tmp_path):
    tensors = tensors_of(CONFIGS[kind])
    loaded = np.concatenate([leaf.ravel() for leaf in load(write(tmp_path, CONFIGS[kind], tensors))])
    stored = np.concatenate([tensor.ravel() for tensor in tensors.values()])
    assert np.array_equal(np.sort(loaded), np.sort(stored))


@pytest.mark.parametrize("broken", ["missing", "truncated", "truncated header", "empty"])
def test_a_broken_shard_is_refused_with_its_name_and_tensors(broken, tmp_path):
    directory = write(tmp_path, TARGET, tensors_of(TARGET), shards=2)
    shard = directory / "model-00002-of-00002.safetensors"
    held, content = len(safetensors.numpy.load_file(shard)), shard.read_bytes()
    shard.unlink()
    if broken != "missing":
        shard.write_bytes(content[: {"truncated": len(content) // 2, "truncated header": 100, "empty": 0}[broken]])
    text = refusal(directory)
    assert str(shard) in text
    assert f"expected {held} tensors (as {INDEX} says)" in text


@pytest.mark.parametrize("length", [0, 4, 100, -1])
def test_a_truncated_file_is_refused(length, tmp_path):
    file = write(tmp_path, TARGET, tensors_of(TARGET)) / "model.safetensors"
    file.write_bytes(file.read_bytes()[:length])
    text = refusal(tmp_path)
    assert f"{file}: cannot be read" in text
    assert "expected a complete safetensors file" in text


@pytest.mark.parametrize(
    "index",
    [
        "{",
        "[]",
        "{}",
        '{"weight_map": {}}',
        '{"weight_map": ["model.safetensors"]}',
        '{"weight_map": {"norm.weight": 1}}',
        '{"weight_map": {"norm.weight": "../model.safetensors"}}',
        '{"weight_map": {"norm.weight": ".."}}',
        '{"weight_map": {"norm.weight": ""}}',
    ],
)
def test_a_malformed_index_is_refused(index, tmp_path):
    write(tmp_path, TARGET, tensors_of(TARGET))
    (tmp_path / INDEX).write_text(index)
    assert str(tmp_path) in refusal(tmp_path)


def test_a_shard_that_lacks_what_the_index_promises_is_refused(tmp_path):
    write(tmp_path, TARGET, tensors_of(TARGET), shards=2)
    index = json.loads((tmp_path / INDEX).read_text())
    index["weight_map"]["model.layers.7.extra.weight"] = "model-00001-of-00002.safetensors"
    (tmp_path / INDEX).write_text(json.dumps(index))
    assert "model-00001-of-00002.safetensors: lacks model.layers.7.extra.weight" in refusal(tmp_path)


def test_a_tensor_in_two_files_is_refused(tmp_path):
    tensors = tensors_of(TARGET)
    write(tmp_path, TARGET, tensors)
    safetensors.numpy.save_file({"model.norm.weight": tensors["model.norm.weight"]}, tmp_path / "other.safetensors")
    text = refusal(tmp_path)
    assert "model.norm.weight" in text
    assert "model.safetensors" in text
    assert "other.safetensors" in text


@pytest.mark.parametrize("name", ["pytorch_model.bin", "model.pt", "model.pth", "last.ckpt"])
def test_a_pickled_checkpoint_is_refused_unopened(name, tmp_path):
    (tmp_path / "config.json").write_text(json.dumps(TARGET))
    (tmp_path / name).write_bytes(pickle.dumps(Trap()))
    assert f"{tmp_path}: holds no *.safetensors file but {name}, expected safetensors (pickles can run code" in refusal(tmp_path)
    assert Trap.sprung == []


class Trap:
    """Runs code when it is unpickled."""

    sprung: ClassVar[list] = []

    def __reduce__(self):
        return (Trap.sprung.append, (1,))


def test_a_directory_without_safetensors_is_refused(tmp_path):
    (tmp_path / "config.json").write_text(json.dumps(TARGET))
    assert f"{tmp_path}: holds no *.safetensors file, expected model.safetensors or shards with {INDEX}" in refusal(tmp_path)


def test_a_directory_without_config_is_refused(tmp_path):
    assert f"{tmp_path / 'config.json'}: the file is missing" in refusal(tmp_path)


@pytest.mark.parametrize("held", [["target", "draft"], ["draft"]])
def test_a_directory_of_checkpoints_is_refused_with_their_paths(held, tmp_path):
    for name in held:
        write(tmp_path / name, CONFIGS["domino"], tensors_of(DOMINO))
    assert f"pass {' or '.join(str(tmp_path / name) for name in held)}" in refusal(tmp_path)


# --- names ---


@pytest.mark.parametrize("prefix", ["", "model."])
@pytest.mark.parametrize("kind", CONFIGS)
def test_the_model_prefix_may_stand_on_all_tensors_or_on_none(kind, prefix, tmp_path):
    bare, raw = random_tensors(CONFIGS[kind]), CONFIGS[kind]
    named = {name if name == "lm_head.weight" else prefix + name: tensor for name, tensor in bare.items()}
    assert same(load(write(tmp_path / "named", raw, named)), load(write(tmp_path / "bare", raw, bare)))


@pytest.mark.parametrize(("odd", "renamed"), [("model.norm.weight", "norm.weight"), ("model.norm.weight", "language_model.norm.weight")])
def test_a_mixture_of_prefixes_is_refused(odd, renamed, tmp_path):
    tensors = tensors_of(TARGET)
    tensors[renamed] = tensors.pop(odd)
    text = refusal(write(tmp_path, TARGET, tensors))
    assert f'{renamed} has no "model." prefix' in text


def test_a_foreign_prefix_is_refused(tmp_path):
    text = refusal(write(tmp_path, TARGET, {"language_model." + name: tensor for name, tensor in tensors_of(TARGET).items()}))
    assert "missing: embed_tokens.weight" in text
    assert "unexpected: language_model.lm_head.weight" in text


def test_a_head_under_both_names_is_refused(tmp_path):
    tensors = tensors_of(TARGET)
    text = refusal(write(tmp_path, TARGET, tensors | {"model.lm_head.weight": tensors["lm_head.weight"]}))
    assert "lm_head.weight with and without" in text


# --- the tied head ---


def test_a_tied_head_may_be_left_out(tmp_path):
    opened = checkpoint.open_target(write(tmp_path, TIED, tensors_of(TIED)))
    assert opened.notes == ()
    assert checkpoint.load(opened, jnp.float32).embedder.head_VD is None


def test_an_equal_head_beside_a_tied_embedding_is_noted(tmp_path):
    tensors = tensors_of(TIED)
    tensors["lm_head.weight"] = tensors["model.embed_tokens.weight"].copy()
    opened = checkpoint.open_target(write(tmp_path, TIED, tensors))
    assert len(opened.notes) == 1
    assert "lm_head.weight is ignored" in opened.notes[0]
    assert checkpoint.load(opened, jnp.float32).embedder.head_VD is None


def test_another_head_beside_a_tied_embedding_is_refused(tmp_path):
    tensors = tensors_of(TIED)
    tensors["lm_head.weight"] = tensors["model.embed_tokens.weight"].copy()
    tensors["lm_head.weight"][-1, -1] += 1e-3
    text = refusal(write(tmp_path, TIED, tensors))
    assert all(word in text for word in ("lm_head.weight", "embed_tokens.weight", "tie_word_embeddings")), text


def test_a_head_in_place_of_a_tied_embedding_is_refused(tmp_path):
    tensors = tensors_of(TIED)
    tensors["lm_head.weight"] = tensors.pop("model.embed_tokens.weight")
    text = refusal(write(tmp_path, TIED, tensors))
    assert "1 missing: embed_tokens.weight; 1 unexpected: lm_head.weight" in text


def test_an_untied_model_without_head_is_refused(tmp_path):
    assert "1 missing: lm_head.weight" in refusal(write(tmp_path, TARGET, tensors_of(TIED)))


# --- one tensor too few, too many, or of another shape ---


@pytest.mark.parametrize("kind", CONFIGS)
def test_each_missing_tensor_is_named(kind, tmp_path):
    tensors = tensors_of(CONFIGS[kind])
    write(tmp_path, CONFIGS[kind], tensors)
    for name in tensors:
        safetensors.numpy.save_file({key: held for key, held in tensors.items() if key != name}, tmp_path / "model.safetensors")
        assert f"1 missing: {name.removeprefix('model.')})" in refusal(tmp_path)


@pytest.mark.parametrize("kind", CONFIGS)
def test_each_tensor_of_another_shape_is_named_with_both(kind, tmp_path):
    tensors = tensors_of(CONFIGS[kind])
    write(tmp_path, CONFIGS[kind], tensors)
    for name, tensor in tensors.items():
        safetensors.numpy.save_file(tensors | {name: tensor[1:]}, tmp_path / "model.safetensors")
        expected = list(tensor.shape)
        found = [expected[0] - 1, *expected[1:]]
        assert f"1 misshapen: {name.removeprefix('model.')} is {found}, expected {expected})" in refusal(tmp_path)


def test_heads_wider_than_the_config_says_are_refused_and_not_reshaped(tmp_path):
    """Without `head_dim` a head is as wide as the model divided by the heads, which these are not."""
    text = refusal(write(tmp_path, target_config(num_hidden_layers=2, head_dim=None), tensors_of(TARGET)))
    assert "layers.0.self_attn.q_proj.weight is [64, 32], expected [32, 32]" in text
    assert "layers.0.self_attn.q_norm.weight is [16], expected [8]" in text


def test_all_tensors_that_nobody_claims_are_named(tmp_path):
    extra = {f"layers.0.attention_conv.{i}.weight": np.zeros((32, 4), np.float32) for i in range(12)}
    text = refusal(write(tmp_path, DOMINO, tensors_of(DOMINO) | extra))
    assert "12 unexpected" in text
    assert all(name in text for name in extra)


def test_missing_unexpected_and_misshapen_stand_in_one_message(tmp_path):
    tensors = tensors_of(DOMINO)
    tensors["other.weight"] = tensors.pop("norm.weight")
    tensors["fc.weight"] = tensors["fc.weight"][:, :32].copy()
    text = refusal(write(tmp_path, DOMINO, tensors))
    assert "(1 missing: norm.weight; 1 unexpected: other.weight; 1 misshapen: fc.weight is [32, 32], expected [32, 64])" in text


@pytest.mark.parametrize("name", ["rotary_emb.inv_freq", "layers.0.self_attn.rotary_emb.inv_freq"])
@pytest.mark.parametrize("kind", CONFIGS)
def test_stored_rope_angles_are_ignored_with_a_note(kind, name, tmp_path):
    tensors = tensors_of(CONFIGS[kind])
    plain = load(write(tmp_path / "plain", CONFIGS[kind], tensors))
    prefix = "model." if "model.norm.weight" in tensors else ""
    directory = write(tmp_path / "more", CONFIGS[kind], tensors | {prefix + name: np.ones(8, np.float32)})
    assert checkpoint.open_any(directory).notes == (f"{name} is ignored: RoPE angles are computed",)
    assert same(load(directory), plain)


# --- drafters ---


@pytest.mark.parametrize("name", HEAD_TENSORS)
def test_a_domino_drafter_without_one_of_its_head_tensors_is_refused(name, tmp_path):
    tensors = tensors_of(DOMINO)
    del tensors[name]
    assert f"1 missing: {name})" in refusal(write(tmp_path, DOMINO, tensors))


def test_dflash_weights_under_a_domino_config_are_refused_with_all_four_names(tmp_path):
    assert f"4 missing: {', '.join(sorted(HEAD_TENSORS))})" in refusal(write(tmp_path, DOMINO, tensors_of(DFLASH)))


def test_domino_weights_under_a_dflash_config_are_refused_by_that_name(tmp_path):
    text = refusal(write(tmp_path, DFLASH, tensors_of(DOMINO)))
    assert f"holds the Domino head tensors {', '.join(HEAD_TENSORS)}" in text
    assert 'expected projector_type "domino"' in text


@pytest.mark.parametrize(("open_as", "kind", "words"), [("open_target", "domino", "as the draft"), ("open_draft", "tied", "as the target")])
def test_a_target_and_a_drafter_in_each_others_place_are_refused(open_as, kind, words, tmp_path):
    directory = write(tmp_path, CONFIGS[kind], tensors_of(CONFIGS[kind]))
    with pytest.raises(InputError, match=words):
        getattr(checkpoint, open_as)(directory)


@pytest.fixture(scope="module", params=["untied", "tied"])
def target(request, tmp_path_factory) -> Path:
    return write(tmp_path_factory.mktemp(request.param), CONFIGS[request.param], tensors_of(CONFIGS[request.param]))


def own(target: Path) -> dict[str, np.ndarray]:
    """The target's embedding and head; tied, they are one."""
    tensors = safetensors.numpy.load_file(target / "model.safetensors")
    embedding = tensors["model.embed_tokens.weight"]
    return {"embed_tokens.weight": embedding, "lm_head.weight": tensors.get("lm_head.weight", embedding)}


@pytest.mark.parametrize("names", [["embed_tokens.weight"], ["lm_head.weight"], ["embed_tokens.weight", "lm_head.weight"]])
def test_a_drafter_may_ship_the_targets_own_embedding_and_head(names, target, tmp_path):
    ours = own(target)
    directory = write(tmp_path, DOMINO, tensors_of(DOMINO) | {name: ours[name] for name in names})
    draft = checkpoint.open_draft(directory)
    assert draft.notes == tuple(f"{name} is not loaded: it must equal the target's" for name in names)
    domino_jax.load(target, directory)


@pytest.mark.parametrize("change", [lambda tensor: tensor + 1, lambda tensor: tensor[:-1].copy()], ids=["values", "rows"])
@pytest.mark.parametrize("name", ["embed_tokens.weight", "lm_head.weight"])
def test_a_drafter_with_an_embedding_or_head_of_its_own_is_refused(name, change, target, tmp_path):
    directory = write(tmp_path, DOMINO, tensors_of(DOMINO) | {name: change(own(target)[name])})
    with pytest.raises(InputError, match=f"{name} differs from the target's"):
        domino_jax.load(target, directory)


def test_an_untied_embedding_is_no_substitute_for_the_head(tmp_path):
    """The head that a drafter ships is compared with the head, not with the embedding of the same shape."""
    tensors = tensors_of(TARGET)
    target = write(tmp_path / "target", TARGET, tensors)
    draft = write(tmp_path / "draft", DOMINO, tensors_of(DOMINO) | {"lm_head.weight": tensors["model.embed_tokens.weight"]})
    with pytest.raises(InputError, match=r"lm_head\.weight differs"):
        domino_jax.load(target, draft)


# --- number formats ---


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.bfloat16])
@pytest.mark.parametrize("stored", [np.float16, jnp.bfloat16, np.float32, np.float64])
@pytest.mark.parametrize("kind", ["tied", "domino"])
def test_any_stored_float_is_cast_once(kind, stored, dtype, tmp_path):
    tensors = {name: tensor.astype(stored) for name, tensor in tensors_of(CONFIGS[kind]).items()}
    opened = checkpoint.open_any(write(tmp_path / "stored", CONFIGS[kind], tensors))
    assert opened.stored_dtypes == [np.dtype(stored).name]
    cast = {name: tensor.astype(dtype) for name, tensor in tensors.items()}
    assert same(leaves(checkpoint.load(opened, dtype)), load(write(tmp_path / "cast", CONFIGS[kind], cast), dtype))


@pytest.mark.parametrize(("dtype", "size"), [("F8_E4M3", 1), ("F8_E5M2", 1), ("I32", 4), ("I8", 1), ("U8", 1), ("I64", 8), ("BOOL", 1)])
@pytest.mark.parametrize("kind", ["untied", "domino"])
def test_a_tensor_that_is_no_float_is_refused_by_name_and_type(kind, dtype, size, tmp_path):
    tensors = tensors_of(CONFIGS[kind])
    name = next(name for name in tensors if name.endswith("q_proj.weight"))
    shape = list(tensors.pop(name).shape)
    write(tmp_path, CONFIGS[kind], tensors)
    write_raw(tmp_path / "quantised.safetensors", dtype, name, shape, size * shape[0] * shape[1])
    text = refusal(tmp_path)
    assert f"quantised.safetensors: {name} is {dtype}, expected F64, F32, F16, BF16" in text


def test_a_quantised_checkpoint_is_refused_by_its_config_and_its_first_tensor(tmp_path):
    """Also where the factors by which its numbers are to be multiplied lie beside them."""
    tensors = tensors_of(TARGET)
    first, *_ = sorted(name for name in tensors if name.endswith("q_proj.weight"))
    shape = list(tensors.pop(first).shape)
    raw = TARGET | {"quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]}}
    write(tmp_path, raw, tensors | {f"{first}_scale_inv": np.ones((1, 1), np.float32)})
    write_raw(tmp_path / "quantised.safetensors", "F8_E4M3", first, shape, shape[0] * shape[1])
    assert f"quantization_config is present and {first} is F8_E4M3, expected unquantised weights" in refusal(tmp_path)


# --- where a checkpoint lies ---


def test_a_missing_path_is_refused_without_asking_the_hub(tmp_path, monkeypatch):
    monkeypatch.setattr(huggingface_hub, "snapshot_download", lambda *_, **__: pytest.fail("the hub was asked"))
    for name in (tmp_path / "nowhere", "./nowhere/at/all", "~nobody-of-this-name/model", "nowhere"):
        with pytest.raises(InputError, match=r"nowhere|nobody") as refused:
            checkpoint.locate(name)
        assert "no such directory, expected a checkpoint directory or a hub id (owner/name)" in str(refused.value)


def test_a_file_in_place_of_a_directory_is_refused(tmp_path):
    file = write(tmp_path, TARGET, tensors_of(TARGET)) / "model.safetensors"
    assert f"{file}: is a file, expected a checkpoint directory" in refusal(file)


@pytest.mark.parametrize("error", [OSError("no route to host\nand much more"), RuntimeError("")], ids=repr)
def test_a_hub_id_without_network_is_refused_with_the_remedy(error, monkeypatch):
    def offline(*_, **__):
        raise error

    monkeypatch.setattr(huggingface_hub, "snapshot_download", offline)
    text = refusal("owner/some-model")
    assert text.startswith("owner/some-model: no such directory and not to be fetched from the hub (")
    assert (str(error).split("\n")[0] or "RuntimeError") in text
    assert "`hf download owner/some-model --local-dir DIR`" in text


def test_a_hub_id_is_fetched_and_opened(tmp_path, monkeypatch):
    asked = []

    def fetch(name, allow_patterns):
        asked.append((name, allow_patterns))
        return str(write(tmp_path, DOMINO, tensors_of(DOMINO)))

    monkeypatch.setattr(huggingface_hub, "snapshot_download", fetch)
    assert checkpoint.open_draft("owner/some-model").directory == tmp_path
    assert asked == [("owner/some-model", checkpoint.HUB_FILES)]


def test_a_local_directory_goes_before_a_hub_id(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(huggingface_hub, "snapshot_download", lambda *_, **__: pytest.fail("the hub was asked"))
    write(Path("owner/some-model"), DOMINO, tensors_of(DOMINO))
    assert checkpoint.open_draft("owner/some-model").kind == "domino"


def test_a_home_directory_is_expanded(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    assert checkpoint.locate(write(tmp_path / "model", DOMINO, tensors_of(DOMINO))) == checkpoint.locate("~/model")


# --- memory and imports ---


@pytest.fixture
def reads(monkeypatch) -> list[str]:
    """The names of the tensors read so far, in order."""
    names, read = [], SafetensorsDirectory.read
    monkeypatch.setattr(SafetensorsDirectory, "read", lambda self, name: names.append(name) or read(self, name))
    return names


@pytest.mark.parametrize("kind", CONFIGS)
def test_tensors_are_read_once_and_only_for_the_parameter_that_is_next(kind, reads, tmp_path):
    opened = checkpoint.open_any(write(tmp_path, CONFIGS[kind], tensors_of(CONFIGS[kind])))
    parameters = opened.parameters(jnp.float32)
    assert reads == []
    for row in opened.rows:
        before = len(reads)
        assert next(parameters)[0] == row.parameter
        assert reads[before:] == [*row.sources]
    assert next(parameters, None) is None


def test_progress_is_told_the_bytes_and_sees_every_parameter(tmp_path):
    opened, seen = checkpoint.open_any(write(tmp_path, DOMINO, tensors_of(DOMINO))), []

    def progress(items, total):
        assert total == sum(tensor.nbytes for tensor in tensors_of(DOMINO).values())
        for name, array in items:
            seen.append((name, array.nbytes))
            yield name, array

    checkpoint.load(opened, jnp.float32, progress)
    assert [name for name, _ in seen] == [row.parameter for row in opened.rows]
    assert sum(count for _, count in seen) == opened.bytes(jnp.dtype(jnp.float32))


def test_bfloat16_loads_without_torch(tmp_path):
    for name, raw in (("target", TARGET), ("draft", DOMINO)):
        write(tmp_path / name, raw, {key: tensor.astype(jnp.bfloat16) for key, tensor in tensors_of(raw).items()})
    script = "import sys, domino_jax; domino_jax.load('target', 'draft', 'bfloat16'); sys.exit('torch' in sys.modules)"
    root = str(Path(domino_jax.__file__).parents[1])
    subprocess.run([sys.executable, "-c", f"import sys; sys.path.insert(0, {root!r}); {script}"], cwd=tmp_path, check=True)


def test_what_is_loaded_does_not_change_with_the_file(tmp_path):
    """Its header is padded so that every tensor is aligned: a CPU could take the file's pages for the arrays."""
    directory = write(tmp_path, DOMINO, tensors_of(DOMINO))
    path = directory / "model.safetensors"
    size = int.from_bytes(path.read_bytes()[:8], "little")
    header, body = path.read_bytes()[8 : 8 + size], path.read_bytes()[8 + size :]
    header += b" " * (-(8 + size) % 64)
    path.write_bytes(len(header).to_bytes(8, "little") + header + body)
    loaded = dict(checkpoint.open_any(directory).parameters(None))
    before = {name: np.array(array) for name, array in loaded.items()}
    with path.open("r+b") as file:
        file.seek(8 + len(header))
        file.write(bytes(len(body)))
    for name, array in loaded.items():
        assert np.array_equal(array, before[name]), name


def test_a_file_that_shrinks_after_it_was_opened_is_named(tmp_path):
    opened = checkpoint.open_any(write(tmp_path, DOMINO, tensors_of(DOMINO)))
    path = tmp_path / "model.safetensors"
    path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(InputError, match=r"model\.safetensors: cannot be read \(.*expected what was there a moment ago"):
        dict(opened.parameters(None))


def test_no_more_weights_are_on_their_way_than_fit_ahead(monkeypatch):
    """A device takes them up later than they are sent; one that is larger than all room ahead is waited for at once."""
    monkeypatch.setattr(safetensors_files, "AHEAD_BYTES", 20)
    arrived = []

    def row(name: str, nbytes: int) -> SimpleNamespace:
        array = SimpleNamespace(nbytes=nbytes, block_until_ready=lambda: arrived.append(name))
        return SimpleNamespace(parameter=name, sources={}, pack=lambda: array)

    rows = [row(name, nbytes) for name, nbytes in (("a", 10), ("b", 10), ("c", 10), ("d", 30), ("e", 5))]
    seen = [(name, [*arrived]) for name, _ in SafetensorsDirectory.parameters(None, rows, None)]
    assert seen == [("a", []), ("b", []), ("c", ["a"]), ("d", ["a", "b", "c", "d"]), ("e", ["a", "b", "c", "d"])]
