"""GGUF files, written with the gguf package, as Hugging Face directories."""

import itertools
import json
from pathlib import Path

import gguf
import jax.numpy as jnp
import numpy as np
import pytest
import safetensors.numpy
from gguf.quants import dequantize, quantize
from tokenizers import Tokenizer

from convert.gguf import KINDS, main
from domino_jax import checkpoint, demo
from domino_jax.rope import Rope, Scaling
from domino_jax.text import Text, stop_ids
from tests.models import random_tensors, target_config

VOCABULARY = Path(demo.TARGET) / "tokenizer.json"
SIZES = dict(intermediate_size=64, num_hidden_layers=2, max_position_embeddings=512)
MODULES = {
    "input_layernorm": "attn_norm", "q_proj": "attn_q", "k_proj": "attn_k", "v_proj": "attn_v", "o_proj": "attn_output",
    "q_norm": "attn_q_norm", "k_norm": "attn_k_norm", "post_attention_layernorm": "ffn_norm", "gate_proj": "ffn_gate",
    "up_proj": "ffn_up", "down_proj": "ffn_down",
}  # fmt: skip


def stored_name(name: str) -> str:
    if not name.startswith("layers."):
        return {"embed_tokens.weight": "token_embd.weight", "norm.weight": "output_norm.weight", "lm_head.weight": "output.weight"}[name]
    parts = name.split(".")
    return f"blk.{parts[1]}.{MODULES[parts[-2]]}.{parts[-1]}"


def interleaved(tensor: np.ndarray, heads: int) -> np.ndarray:
    """llama.cpp's order of q and k rows: row 2i and 2i+1 of a head are rows i and i + half."""
    order = [head * 16 + place for head in range(heads) for pair in range(8) for place in (pair, pair + 8)]
    return tensor[order]


def write(path: Path, raw: dict, tensors: dict[str, np.ndarray], kind: str = "F32", metadata: dict | None = None) -> Path:
    """A GGUF file of a random model; `metadata` replaces what it says, None leaves a key out."""
    arch = raw["model_type"]
    writer = gguf.GGUFWriter(path, arch)
    vocabulary = Tokenizer.from_file(str(VOCABULARY))
    words = [vocabulary.id_to_token(number) for number in range(raw["vocab_size"])]
    if "tokenizer.ggml.merges" not in (metadata or {}):  # the writer leaves out what is empty
        words[-1] = words[0] + words[1]
    said = {
        f"{arch}.context_length": raw["max_position_embeddings"], f"{arch}.embedding_length": raw["hidden_size"],
        f"{arch}.block_count": raw["num_hidden_layers"], f"{arch}.feed_forward_length": raw["intermediate_size"],
        f"{arch}.attention.head_count": raw["num_attention_heads"], f"{arch}.attention.head_count_kv": raw["num_key_value_heads"],
        f"{arch}.attention.key_length": raw["head_dim"], f"{arch}.rope.freq_base": float(raw["rope_theta"]),
        f"{arch}.attention.layer_norm_rms_epsilon": float(raw["rms_norm_eps"]),
        "tokenizer.ggml.model": "gpt2", "tokenizer.ggml.pre": "qwen2", "tokenizer.ggml.tokens": words,
        "tokenizer.ggml.token_type": [1] * len(words), "tokenizer.ggml.merges": [f"{words[0]} {words[1]}"],
        "tokenizer.ggml.eos_token_id": 5,
    } | (metadata or {})  # fmt: skip
    for key, value in said.items():
        if value is None:
            continue
        add = {str: writer.add_string, bool: writer.add_bool, int: writer.add_uint32, float: writer.add_float32, list: writer.add_array}
        add[type(value)](key, value)
    for name, tensor in tensors.items():
        if arch == "llama" and (".q_proj" in name or ".k_proj" in name):
            tensor = interleaved(tensor, raw["num_attention_heads" if ".q_proj" in name else "num_key_value_heads"])
        wide = tensor.ndim == 2 and kind != "F32"
        stored = quantize(tensor, gguf.GGMLQuantizationType[kind]) if wide else tensor
        writer.add_tensor(stored_name(name), stored, raw_dtype=gguf.GGMLQuantizationType[kind if wide else "F32"])
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def model(arch: str, **changes) -> tuple[dict, dict[str, np.ndarray]]:
    raw = target_config(model_type=arch, **SIZES, **changes)
    return raw, random_tensors(raw)


def loaded(directory: Path) -> dict[str, np.ndarray]:
    return {name.removeprefix("model."): t for name, t in safetensors.numpy.load_file(directory / "model.safetensors").items()}


def refusal(file: Path, capsys) -> str:
    assert main([str(file), "--out", str(file.parent / "out")]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert not (file.parent / "out").exists()
    return err


@pytest.mark.parametrize("arch", ["llama", "qwen2", "qwen3"])
@pytest.mark.parametrize("tied", [True, False])
def test_a_model_comes_back_as_it_was(arch, tied, tmp_path):
    raw, tensors = model(arch, tie_word_embeddings=tied)
    assert main([str(write(tmp_path / "x.gguf", raw, tensors)), "--out", str(tmp_path / "out")]) == 0
    found = loaded(tmp_path / "out")
    assert found.keys() == tensors.keys()
    assert all(np.array_equal(found[name], tensors[name]) for name in tensors)
    config = checkpoint.open_target(tmp_path / "out").config
    assert (config.model_type, config.tie_word_embeddings, config.rope) == (arch, tied, Rope(10000.0))
    assert config.rms_norm_eps == 1e-6


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_dequantised(kind, tmp_path):
    raw, tensors = model("llama")
    assert main([str(write(tmp_path / "x.gguf", raw, tensors, kind)), "--out", str(tmp_path / "out")]) == 0
    found = loaded(tmp_path / "out")
    for name, tensor in tensors.items():
        kept = tensor if tensor.ndim == 1 or kind == "F32" else dequantize(quantize(tensor, gguf.GGMLQuantizationType[kind]),
                                                                          gguf.GGMLQuantizationType[kind])  # fmt: skip
        assert np.array_equal(found[name], kept)
        assert np.abs(found[name] - tensor).max() < 0.3


def test_bfloat16_is_rounded_once(tmp_path):
    raw, tensors = model("qwen3")
    assert main([str(write(tmp_path / "x.gguf", raw, tensors)), "--out", str(tmp_path / "out"), "--dtype", "bfloat16"]) == 0
    found = loaded(tmp_path / "out")
    assert all(np.array_equal(found[name], tensors[name].astype(jnp.bfloat16)) for name in tensors)
    assert json.loads((tmp_path / "out" / "config.json").read_text())["torch_dtype"] == "bfloat16"


def test_the_tokenizer_is_qwens(tmp_path):
    """The demo's tokenizer, which is the public Qwen3 one cut short, through GGUF and back."""
    source = json.loads(VOCABULARY.read_text(encoding="utf-8"))
    vocabulary = Tokenizer.from_file(str(VOCABULARY))
    size = vocabulary.get_vocab_size()
    special = {token["id"]: 3 if token["special"] else 4 for token in source["added_tokens"]}
    raw, tensors = model("qwen3", vocab_size=size)
    merges = [merge if isinstance(merge, str) else " ".join(merge) for merge in source["model"]["merges"]]
    ends = {name: vocabulary.token_to_id(name) for name in ("<|im_end|>", "<|endoftext|>")}
    metadata = {
        "tokenizer.ggml.merges": merges, "tokenizer.ggml.token_type": [special.get(number, 1) for number in range(size)],
        "tokenizer.ggml.eos_token_id": ends["<|endoftext|>"], "tokenizer.ggml.eot_token_id": ends["<|im_end|>"],
        "tokenizer.chat_template": "{{ messages[0].content }}<|im_end|>",
    }  # fmt: skip
    assert main([str(write(tmp_path / "x.gguf", raw, tensors, metadata=metadata)), "--out", str(tmp_path / "out")]) == 0
    text = Text.load(tmp_path / "out")
    for said in ("Zoltan's 12 jars cost $3.50 -- don't!", " \n\n\t  naïve café 你好 🙂", "<|im_start|>user\nhi<|im_end|>", "I'LL 2024"):
        assert text.encode(said) == vocabulary.encode(said).ids
        assert text.tokenizer.decode(text.encode(said)) == vocabulary.decode(vocabulary.encode(said).ids, skip_special_tokens=False)
    assert text.encode_chat([{"role": "user", "content": "7"}])[-1] == ends["<|im_end|>"]
    assert {*stop_ids(tmp_path / "out", text)} == {*ends.values()}


def test_llamas_begin_with_their_first_token(tmp_path):
    raw, tensors = model("llama")
    metadata = {"tokenizer.ggml.pre": "llama-bpe", "tokenizer.ggml.add_bos_token": True, "tokenizer.ggml.bos_token_id": 7}
    assert main([str(write(tmp_path / "x.gguf", raw, tensors, metadata=metadata)), "--out", str(tmp_path / "out")]) == 0
    assert Text.load(tmp_path / "out").encode("!")[0] == 7


@pytest.mark.parametrize("factor", [8.0, 32.0])
def test_llama_3s_rope_factors_are_recognised(factor, tmp_path, capsys, monkeypatch):
    raw, tensors = model("llama")
    scaling = Scaling("llama3", factor, 8192, 1.0, 4.0)
    factors = (Rope(10000.0).rates(16) / Rope(10000.0, scaling).rates(16)).astype(np.float32)
    names = {"rope_freqs": "rope_freqs.weight"}
    monkeypatch.setattr("tests.test_gguf.stored_name", lambda name, known=stored_name: names.get(name) or known(name))
    file = write(tmp_path / "x.gguf", raw, tensors | {"rope_freqs": factors})
    assert main([str(file), "--out", str(tmp_path / "out")]) == 0
    assert checkpoint.open_target(tmp_path / "out").config.rope.scaling == scaling
    capsys.readouterr()
    odd = write(tmp_path / "odd" / "y.gguf" if (tmp_path / "odd").mkdir() is None else tmp_path, raw, tensors | {"rope_freqs": 2 * factors})
    assert "rope_freqs.weight is neither Llama 3.1's nor 3.2's" in refusal(odd, capsys)


@pytest.mark.parametrize(("kind", "original"), [("linear", 512), ("yarn", 128)])
def test_scaled_rope_is_carried_over(kind, original, tmp_path):
    raw, tensors = model("qwen3")
    metadata = {"qwen3.rope.scaling.type": kind, "qwen3.rope.scaling.factor": 4.0}
    metadata |= {"qwen3.rope.scaling.original_context_length": original}
    assert main([str(write(tmp_path / "x.gguf", raw, tensors, metadata=metadata)), "--out", str(tmp_path / "out")]) == 0
    scaling = checkpoint.open_target(tmp_path / "out").config.rope.scaling
    assert (scaling.kind, scaling.factor, scaling.original) == (kind, 4.0, original)


@pytest.mark.parametrize(
    ("metadata", "words"),
    [
        ({"general.architecture": "gemma"}, "general.architecture is 'gemma', expected one of llama, qwen2, qwen3"),
        ({"llama.block_count": None}, "llama.block_count is missing"),
        ({"llama.block_count": "two"}, "llama.block_count is 'two', expected int"),
        ({"llama.attention.head_count_kv": 3}, "num_key_value_heads is 3, expected a divisor"),
        ({"llama.expert_count": 8}, "llama.expert_count is 8, expected none"),
        ({"llama.attention.sliding_window": 4096}, "llama.attention.sliding_window is 4096, expected none"),
        ({"llama.rope.dimension_count": 8}, "llama.rope.dimension_count is 8, expected 16"),
        ({"llama.rope.scaling.type": "longrope"}, "rope.scaling.type is 'longrope'"),
        ({"llama.feed_forward_length": 96}, "blk.0.ffn_down.weight is [32, 64], expected [32, 96]"),
        ({"tokenizer.ggml.model": "llama"}, "tokenizer.ggml.model is 'llama'"),
        ({"tokenizer.ggml.pre": "deepseek"}, "tokenizer.ggml.pre 'deepseek'"),
        ({"tokenizer.ggml.merges": ["a qqqq"]}, "tokenizer.ggml.merges do not fit the tokens"),
        ({"tokenizer.ggml.token_type": [1, 1]}, "96 distinct, and 2 kinds"),
        ({"tokenizer.ggml.eos_token_id": 96}, "tokenizer.ggml.eos_token_id is 96"),
    ],
    ids=str,
)
def test_what_does_not_fit_is_refused_by_name(metadata, words, tmp_path, capsys):
    raw, tensors = model("llama")
    assert words in refusal(write(tmp_path / "x.gguf", raw, tensors, metadata=metadata), capsys)


@pytest.mark.parametrize("change", ["missing", "unexpected", "nan", "kind"])
def test_tensors_that_do_not_fit_are_named(change, tmp_path, capsys):
    raw, tensors = model("qwen3")
    if change == "missing":
        del tensors["layers.1.mlp.up_proj.weight"]
    elif change == "unexpected":
        tensors["layers.2.mlp.up_proj.weight"] = np.ones((64, 32), np.float32)
    elif change == "nan":
        tensors["layers.1.mlp.up_proj.weight"][3, 3] = np.nan
    file = write(tmp_path / "x.gguf", raw, tensors, "F32" if change != "kind" else "Q8_0")
    if change == "kind":  # the number of Q6_K in place of Q8_0's, in the header of the first such tensor
        content, name = file.read_bytes(), b"blk.1.ffn_up.weight"
        place = content.index(name) + len(name) + 4 + 2 * 8
        assert int.from_bytes(content[place : place + 4], "little") == gguf.GGMLQuantizationType.Q8_0
        file.write_bytes(content[:place] + (30).to_bytes(4, "little") + content[place + 4 :])
    err = refusal(file, capsys)
    assert "blk." in err or change == "kind"


def test_what_is_no_gguf_file_is_refused(tmp_path, capsys):
    raw, tensors = model("qwen3")
    whole = write(tmp_path / "x.gguf", raw, tensors).read_bytes()
    assert "no such file" in refusal(tmp_path / "nowhere.gguf", capsys)
    for number, content in enumerate((b"", b"GGUF", b"x" * 64, whole[:200], whole[: len(whole) // 2], whole[:-100])):
        (tmp_path / f"{number}.gguf").write_bytes(content)
        assert "expected a whole GGUF file" in refusal(tmp_path / f"{number}.gguf", capsys)


def test_a_flipped_byte_of_the_header_never_gives_a_traceback(tmp_path, capsys):
    raw, tensors = model("llama")
    whole = write(tmp_path / "x.gguf", raw, tensors).read_bytes()
    rng = np.random.default_rng(0)
    for place, out in zip(rng.integers(0, 6000, 60), itertools.count(), strict=False):
        (tmp_path / "y.gguf").write_bytes(whole[:place] + bytes([whole[place] ^ (1 << int(rng.integers(8)))]) + whole[place + 1 :])
        status = main([str(tmp_path / "y.gguf"), "--out", str(tmp_path / f"out{out}")])
        err = capsys.readouterr().err
        assert status in (0, 2)
        assert err.count("\n") == 1, err


def test_an_existing_directory_is_kept(tmp_path, capsys):
    raw, tensors = model("qwen3")
    file = write(tmp_path / "x.gguf", raw, tensors)
    (tmp_path / "out").mkdir()
    assert main([str(file), "--out", str(tmp_path / "out")]) == 2
    assert "exists already" in capsys.readouterr().err
    assert main([str(file), "--out", str(tmp_path), "--force"]) == 2
    assert "holds the source" in capsys.readouterr().err
    assert main([str(file), "--out", str(tmp_path / "out"), "--force"]) == 0
