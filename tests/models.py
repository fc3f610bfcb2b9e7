"""Small checkpoints in the published layout, written to disk by the tests that need them.

Random pairs are for arithmetic and files. The *chain* pair is for behaviour: its target answers token t with `follower[t]`
whatever came before, and its Domino drafter proposes exactly that chain, so every output and acceptance length is known by hand.
"""

import itertools
import json
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

from domino_jax import checkpoint
from domino_jax.config import DraftConfig, TargetConfig
from domino_jax.errors import InputError
from domino_jax.tensors import HEAD_MODULES, Row, draft_rows, target_rows
from tests import reference

SHAPE = dict(
    vocab_size=96, hidden_size=32, intermediate_size=48, num_hidden_layers=4, num_attention_heads=4, num_key_value_heads=2, head_dim=16,
    rms_norm_eps=1e-6, rope_theta=10000.0, max_position_embeddings=256,
)  # fmt: skip


def target_config(**changes) -> dict:
    """A Qwen3 config.json. A key set to None is left out."""
    raw = dict(SHAPE, architectures=["Qwen3ForCausalLM"], model_type="qwen3", tie_word_embeddings=False, torch_dtype="float32")
    return _changed(raw, changes)


def draft_config(domino: bool = True, nested: dict | None = None, **changes) -> dict:
    """A drafter's config.json: `nested` changes what stands in dflash_config. A key set to None is left out."""
    raw = dict(SHAPE, architectures=["DFlashDraftModel"], num_hidden_layers=2, num_target_layers=4, block_size=4)
    inner = dict(mask_token_id=93, target_layer_ids=[0, 2])
    if domino:
        inner |= dict(projector_type="domino", pure_draft_prefix_len=1, emb_dim=8, gru_hidden_dim=12, shift_label=True)
    return _changed(raw | dict(dflash_config=_changed(inner, nested or {})), changes)


def _changed(raw: dict, changes: dict) -> dict:
    return {key: value for key, value in {**raw, **changes}.items() if value is not None}


def rows_of(raw: dict) -> list[Row]:
    return draft_rows(DraftConfig.from_dict(raw)) if "dflash_config" in raw else target_rows(TargetConfig.from_dict(raw))


def random_tensors(raw: dict, seed: int = 0) -> dict[str, np.ndarray]:
    """Every published tensor of the config, bare names, float32: norms around one, matrices with the square root of their fan-in."""
    rng, tensors = np.random.default_rng(seed), {}
    for row in rows_of(raw):
        for name, shape in row.sources.items():
            noise = rng.normal(size=shape)
            tensors[name] = (1 + 0.1 * noise if len(shape) == 1 else noise * shape[-1] ** -0.5).astype(np.float32)
    return tensors


def published_names(tensors: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """A target's tensors under the names Hugging Face gives them."""
    return {name if name == "lm_head.weight" else "model." + name: tensor for name, tensor in tensors.items()}


def write(directory: Path, raw: dict, tensors: dict[str, np.ndarray], shards: int = 1, **files: dict) -> Path:
    """Writes config.json, the tensors in one file or in shards with an index, and `files` (name without .json -> content)."""
    directory.mkdir(parents=True, exist_ok=True)
    for name, content in {"config": raw, **files}.items():
        (directory / f"{name}.json").write_text(json.dumps(content), encoding="utf-8")
    if shards == 1:
        safetensors.numpy.save_file(tensors, directory / "model.safetensors")
        return directory
    names, weight_map = sorted(tensors), {}
    for number in range(shards):
        file = f"model-{number + 1:05}-of-{shards:05}.safetensors"
        held = names[number::shards]
        safetensors.numpy.save_file({name: tensors[name] for name in held}, directory / file)
        weight_map |= dict.fromkeys(held, file)
    (directory / "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": weight_map}), encoding="utf-8")
    return directory


def refusal(directory: Path) -> str:
    """The sentence that refuses a checkpoint, before any tensor is read."""
    with pytest.raises(InputError) as refused:
        checkpoint.open_any(directory)
    assert "expected" in str(refused.value)
    assert "\n" not in str(refused.value)
    return str(refused.value)


def write_random_pair(directory: Path, target: dict | None = None, draft: dict | None = None, seed: int = 0) -> tuple[Path, Path]:
    """-> the directories of a random target and drafter."""
    target, draft = target or target_config(), draft or draft_config()
    tensors = published_names(random_tensors(target, seed))
    return write(directory / "target", target, tensors), write(directory / "draft", draft, random_tensors(draft, seed + 1))


def write_chain_pair(
    directory: Path, follower: list[int], stop: int, noise: float = 0.0, block_size: int = 16, **draft_changes
) -> tuple[Path, Path]:
    """-> the directories of a chain pair: one-hot embeddings, layers that add nothing, a head whose row follower[t] reads t.

    With `noise` the target's attention adds something: it then leaves the chain now and then, and the drafter does not, so
    acceptance is ragged and depends on every cached key. The mask token is the last id. The drafter's GRU forgets all but the
    newest token (its update gate is shut), and the projector turns that token into a large score for its follower.
    """
    V = len(follower)
    shape = dict(vocab_size=V, hidden_size=V, intermediate_size=8, num_attention_heads=2, num_key_value_heads=1, head_dim=8)
    target = target_config(**shape, num_hidden_layers=2, eos_token_id=stop)
    inner = dict(mask_token_id=V - 1, target_layer_ids=[0, 1], emb_dim=V, gru_hidden_dim=V)
    draft = draft_config(**shape, num_target_layers=2, block_size=block_size, nested=inner | draft_changes)
    reads = np.zeros((V, V), np.float32)
    reads[follower, np.arange(V)] = 1
    one = np.eye(V, dtype=np.float32)
    ours, theirs = random_tensors(target), random_tensors(draft, 1)
    for name in [*ours]:
        if name.endswith(("o_proj.weight", "down_proj.weight")):
            ours[name] = ours[name] * np.float32(noise if "o_proj" in name else 0)
            if name in theirs:
                theirs[name] = np.zeros_like(theirs[name])
    for tensors in (ours, theirs):
        tensors["norm.weight"] = np.ones(V, np.float32)
    ours |= {"embed_tokens.weight": one, "lm_head.weight": reads}
    open_gate = 40 * np.ones_like(one)
    theirs["prefix_gru.weight_ih_l0"] = np.concatenate([open_gate, -open_gate, 4 * one])  # reset, update, new
    theirs["prefix_gru.weight_hh_l0"] = np.zeros((3 * V, V), np.float32)
    theirs["embed_proj.0.weight"] = np.concatenate([0 * one, 8 * one], 1)
    theirs["embed_proj.2.weight"] = 8 * reads
    return write(directory / "target", target, published_names(ours)), write(directory / "draft", draft, theirs)


def read(directory: Path) -> tuple[dict, dict[str, np.ndarray]]:
    """config.json and the tensors, bare names, of a checkpoint that is in one file."""
    tensors = safetensors.numpy.load_file(directory / "model.safetensors")
    config = json.loads((directory / "config.json").read_text(encoding="utf-8"))
    return config, {name.removeprefix("model."): tensor for name, tensor in tensors.items()}


def oracle(target: Path) -> reference.Target:
    """The slow oracle of a target that is in one file."""
    return reference.Target(*read(target))


def speculators(raw: dict, tensors: dict[str, np.ndarray], older: bool = False, **changes) -> tuple[dict, dict[str, np.ndarray]]:
    """A drafter of the public layout in speculators' format, whose Domino part once had other names. A change to None leaves a key out."""
    inner, outer = (
        raw["dflash_config"],
        ("architectures", "num_target_layers", "block_size", "dflash_config", "emb_dim", "draft_vocab_size"),
    )
    config = dict(
        architectures=["DFlashSpeculator"],
        speculators_model_type="dflash",
        speculators_version="0.5.0",
        transformer_layer_config={key: value for key, value in raw.items() if key not in outer} | dict(model_type="qwen3"),
        draft_vocab_size=raw.get("draft_vocab_size", raw["vocab_size"]),
        target_hidden_size=raw["hidden_size"],
        block_size=raw["block_size"],
        mask_token_id=inner["mask_token_id"],
        aux_hidden_state_layer_ids=[layer + 1 for layer in inner["target_layer_ids"]],
        sample_from_anchor=inner.get("shift_label", False),
        sliding_window_non_causal=False,
        speculators_config=dict(
            algorithm="dflash",
            proposal_methods=[dict(proposal_type="greedy", speculative_tokens=raw["block_size"] - 1)],
            default_proposal_method="greedy",
            verifier=dict(name_or_path="some/Target-8B", architectures=["Qwen3ForCausalLM"]),
        ),
    )
    if "projector_type" in inner and older:
        config |= {f"domino_{key}": inner[key] for key in ("emb_dim", "gru_hidden_dim", "pure_draft_prefix_len")} | dict(
            domino_enabled=True
        )
    elif "projector_type" in inner:
        config |= dict(speculators_model_type="domino", lambda_base_start=1.0, lambda_base_decay_ratio=0.5)
        config |= {key: inner[key] for key in ("gru_hidden_dim", "pure_draft_prefix_len")} | dict(
            logits_correction_emb_dim=inner["emb_dim"]
        )
    prefix = "domino_head." if older else "logits_correction."
    return _changed(config, changes), {prefix * name.startswith(HEAD_MODULES) + name: tensor for name, tensor in tensors.items()}


COUNT_STOP, NOISE = 28, 0.5


def write_counting_pair(directory: Path, **draft_changes) -> tuple[Path, Path]:
    """The chain 0 1 2 ... 28, then 0 again; 28 is the stop id."""
    return write_chain_pair(directory, [*range(1, 29), 0, 0, 0, 0], COUNT_STOP, **draft_changes)


def write_noisy_pair(directory: Path, **draft_changes) -> tuple[Path, Path]:
    """The same chain in a target that leaves it now and then; 30, the stop id, is never said."""
    return write_chain_pair(directory, [*range(1, 29), 0, 0, 0, 0], 30, noise=NOISE, **draft_changes)


TEXT, IM_START, IM_END, THINK, END_THINK = "é你🙂", 257, 258, 259, 260
CHAT_TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n"
    "{% if not enable_thinking %}<think>\n\n</think>\n\n{% endif %}{% endif %}"
)


def byte_tokenizer() -> Tokenizer:
    """Ids 0 to 255 are the bytes, 256 to 260 special tokens named as Qwen's are."""
    alphabet = [*range(33, 127), *range(161, 173), *range(174, 256)]  # bytes that byte-level BPE writes as themselves
    letters = {byte: chr(byte) for byte in alphabet}
    letters |= {byte: chr(256 + i) for i, byte in enumerate(byte for byte in range(256) if byte not in alphabet)}
    tokenizer = Tokenizer(models.BPE(vocab={letters[byte]: byte for byte in range(256)}, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([AddedToken(name, special=True) for name in ("<|endoftext|>", "<|im_start|>", "<|im_end|>")])
    tokenizer.add_tokens([AddedToken(name, normalized=False) for name in ("<think>", "</think>")])
    return tokenizer


def write_tokenizer(directory: Path, chat_template: bool = True) -> None:
    byte_tokenizer().save(str(directory / "tokenizer.json"))
    config = {"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": "<|im_end|>"}
    config |= {"chat_template": CHAT_TEMPLATE} if chat_template else {}
    (directory / "tokenizer_config.json").write_text(json.dumps(config), encoding="utf-8")


def write_speaking_pair(directory: Path, chat_template: bool = True) -> tuple[Path, Path]:
    """A chain pair over bytes with a tokenizer: after a line end or `>` it says TEXT and stops; after anything else it repeats it."""
    follower = list(range(288))
    said = [ord("\n"), *TEXT.encode(), IM_END]
    for token, next_token in itertools.pairwise(said):
        follower[token] = next_token
    follower[ord(">")] = said[1]
    target, draft = write_chain_pair(directory, follower, IM_END)
    write_tokenizer(target, chat_template)
    return target, draft
