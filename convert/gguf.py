"""python -m convert.gguf: a Llama, Qwen2 or Qwen3 model in one GGUF file becomes a Hugging Face directory.

Weights are dequantised, tokenizer and chat template come from the file's metadata. llama.cpp stores the rows of a Llama's q and k
with the two halves of each head interleaved; here they are put apart again. The `gguf` package (extra `gguf`) does the parsing.
"""

import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import jax.numpy as jnp
import numpy as np
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

import domino_jax
from domino_jax import cli, directories, publish
from domino_jax.config import TargetConfig
from domino_jax.engine import DTYPES
from domino_jax.errors import InputError
from domino_jax.rope import Rope, Scaling
from domino_jax.tensors import target_rows

ARCHITECTURES = ("llama", "qwen2", "qwen3")
KINDS = ("F32", "F16", "BF16", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0")
LAYER = {  # published name of a layer's module -> GGUF's
    "input_layernorm": "attn_norm", "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output", "self_attn.q_norm": "attn_q_norm", "self_attn.k_norm": "attn_k_norm",
    "post_attention_layernorm": "ffn_norm", "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down",
}  # fmt: skip
OUTSIDE = {"embed_tokens.weight": "token_embd.weight", "norm.weight": "output_norm.weight", "lm_head.weight": "output.weight"}
ROPE_FACTORS = "rope_freqs.weight"  # how Llama 3's RoPE scaling is stored: what each pair's rate is divided by
LLAMA3 = [Scaling("llama3", factor, 8192, low_freq_factor=1.0, high_freq_factor=4.0) for factor in (8.0, 32.0)]  # 3.1 and 3.2
CONTROL, USER_DEFINED = 3, 4  # kinds of tokens that text is not merged into

WORDS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}%s| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
SPLITS = {  # `tokenizer.ggml.pre` -> what comes before the merges
    "smollm": [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)],
    "qwen2": [pre_tokenizers.Split(Regex(WORDS % ""), "isolated"), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)],
    "llama-bpe": [
        pre_tokenizers.Split(Regex(WORDS % "{1,3}"), "isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
    ],
}


@dataclass(frozen=True)
class File:
    """An opened GGUF file: its metadata and its tensors' names, shapes ([out, in]) and kinds."""

    path: Path
    metadata: dict
    tensors: dict

    def get(self, key: str, kind: type = object, default: object = ...) -> object:
        """Raises InputError if it is missing (without a default) or not of the kind."""
        if key not in self.metadata:
            if default is ...:
                raise InputError(f"{self.path}: {key} is missing, expected in the metadata")
            return default
        value = self.metadata[key]
        if not isinstance(value, kind) or (kind is not bool and isinstance(value, bool)):
            raise InputError(f"{self.path}: {key} is {value!r:.80}, expected {kind.__name__}")
        return value

    def of_model(self, key: str, kind: type = object, default: object = ...) -> object:
        return self.get(f"{self.get('general.architecture')}.{key}", kind, default)

    def number(self, key: str, default: object = ...) -> float:
        """A float32 as the decimal number that it was written as."""
        return float(str(np.float32(self.of_model(key, (int, float) if default is ... else object, default))))


def open_file(path: Path) -> File:
    """Raises InputError for what is no GGUF file, or not whole."""
    try:
        import gguf
    except ImportError:
        raise InputError('the gguf package is missing, expected it installed: pip install "domino-jax[gguf]"') from None
    if not path.is_file():
        raise InputError(f"{path}: no such file, expected a GGUF file")
    try:
        reader = gguf.GGUFReader(path)
        metadata = {name: field.contents() for name, field in reader.fields.items()}
        tensors = {tensor.name: tensor for tensor in reader.tensors}
    except Exception as error:  # whatever the parser trips over
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise InputError(f"{path}: cannot be read ({reason}), expected a whole GGUF file") from error
    if len(tensors) < len(reader.tensors):
        raise InputError(f"{path}: holds a tensor twice, expected each once")
    return File(path, metadata, tensors)


def published_config(file: File) -> dict:
    """config.json. Raises InputError for a model that we do not run."""
    architecture = file.get("general.architecture", str)
    if architecture not in ARCHITECTURES:
        raise InputError(f"{file.path}: general.architecture is {architecture!r}, expected one of {', '.join(ARCHITECTURES)}")
    for key in ("expert_count", "attention.sliding_window"):
        if file.of_model(key, default=0):
            raise InputError(f"{file.path}: {architecture}.{key} is {file.of_model(key)}, expected none (a dense model, full attention)")
    hidden, heads, rows = file.of_model("embedding_length", int), file.of_model("attention.head_count", int), file.tensors
    context, theta = file.of_model("context_length", int), file.number("rope.freq_base", 10000.0)
    width = file.of_model("attention.key_length", int, hidden // heads)
    bias = "blk.0.attn_q.bias" in rows
    sizes = dict(
        vocab_size=int(rows["token_embd.weight"].shape[1]) if "token_embd.weight" in rows else 1,
        hidden_size=hidden,
        intermediate_size=file.of_model("feed_forward_length", int),
        num_hidden_layers=file.of_model("block_count", int),
        num_attention_heads=heads,
        num_key_value_heads=file.of_model("attention.head_count_kv", int, heads),
        head_dim=width,
        rms_norm_eps=file.number("attention.layer_norm_rms_epsilon"),
        max_position_embeddings=context,
        tie_word_embeddings="output.weight" not in rows,
        attention_bias=bias and architecture != "qwen2",
        model_type=architecture,
        hidden_act="silu",
    )
    if (turned := file.of_model("rope.dimension_count", int, width)) != width:
        raise InputError(f"{file.path}: {architecture}.rope.dimension_count is {turned}, expected {width} (heads turn whole)")
    raw = sizes | Rope(theta, rope_scaling(file, theta, width, context)).to_dict()
    return TargetConfig.from_dict(raw, f"{file.path}: metadata").to_dict()


def rope_scaling(file: File, theta: float, width: int, context: int) -> Scaling | None:
    """Raises InputError for a scaling that we cannot name."""
    kind = file.of_model("rope.scaling.type", str, "none")
    if kind not in ("none", "linear", "yarn"):
        raise InputError(f"{file.path}: rope.scaling.type is {kind!r}, expected none, linear or yarn")
    if ROPE_FACTORS in file.tensors:
        factors = np.asarray(file.tensors[ROPE_FACTORS].data, np.float32)
        for scaling in LLAMA3:
            expected = Rope(theta).rates(width) / Rope(theta, scaling).rates(width)
            if factors.shape == expected.shape and np.allclose(factors, expected, rtol=1e-4):
                return scaling
        raise InputError(f"{file.path}: {ROPE_FACTORS} is neither Llama 3.1's nor 3.2's RoPE scaling, expected one of them")
    if kind == "none":
        return None
    original = file.of_model("rope.scaling.original_context_length", int, context)
    return Scaling(kind, file.number("rope.scaling.factor"), original)


def gguf_name(name: str) -> str:
    """The GGUF name of a published tensor (bare)."""
    if name in OUTSIDE:
        return OUTSIDE[name]
    _, number, rest = name.split(".", 2)
    module, _, part = rest.rpartition(".")
    return f"blk.{number}.{LAYER[module]}.{part}"


def expected_tensors(file: File, config: TargetConfig) -> dict[str, tuple[int, ...]]:
    """Published name -> shape. Raises InputError, naming all of them, unless the file has exactly these in kinds that we read."""
    shapes = {name: shape for row in target_rows(config) for name, shape in row.sources.items()}
    wanted = {gguf_name(name): shape for name, shape in shapes.items()}
    found = {name: tuple(int(n) for n in reversed(tensor.shape)) for name, tensor in file.tensors.items() if name != ROPE_FACTORS}
    wrong = [f"{name} is missing" for name in sorted(wanted.keys() - found.keys())]
    wrong += [f"{name} is unexpected" for name in sorted(found.keys() - wanted.keys())]
    wrong += [f"{n} is {list(found[n])}, expected {list(wanted[n])}" for n in sorted(wanted.keys() & found.keys()) if found[n] != wanted[n]]
    kinds = {name: tensor.tensor_type.name for name, tensor in file.tensors.items()}
    wrong += [f"{name} is {kind}, expected one of {', '.join(KINDS)}" for name, kind in kinds.items() if kind not in KINDS]
    if wrong:
        more = f" and {len(wrong) - 20} more" if len(wrong) > 20 else ""
        raise InputError(
            f"{file.path}: the tensors do not fit the metadata, expected {len(wanted)} of them ({'; '.join(wrong[:20])}{more})"
        )
    return shapes


def weights(file: File, config: TargetConfig, shapes: dict[str, tuple[int, ...]], dtype: jnp.dtype) -> Iterator[tuple[str, np.ndarray]]:
    """(published name, tensor), one after the other."""
    from gguf.quants import dequantize

    for name, shape in shapes.items():
        stored = file.tensors[gguf_name(name)]
        tensor = dequantize(stored.data, stored.tensor_type).reshape(shape)
        if config.model_type == "llama" and ".self_attn.q_proj." in name:
            tensor = halves_apart(tensor, config.num_attention_heads)
        elif config.model_type == "llama" and ".self_attn.k_proj." in name:
            tensor = halves_apart(tensor, config.num_key_value_heads)
        if not np.isfinite(tensor).all():
            raise InputError(f"{file.path}: {gguf_name(name)} holds NaN or infinity, expected finite numbers")
        yield name if name == "lm_head.weight" else f"model.{name}", np.ascontiguousarray(tensor.astype(dtype))


def halves_apart(tensor: np.ndarray, heads: int) -> np.ndarray:
    """Rows of each head: pair by pair -> first all low halves, then all high ones, as RoPE here and in Transformers turns them."""
    pairs = tensor.reshape(heads, len(tensor) // heads // 2, 2, *tensor.shape[1:])
    return pairs.swapaxes(1, 2).reshape(tensor.shape)


def tokenizer(file: File) -> tuple[Tokenizer, dict]:
    """tokenizer.json and tokenizer_config.json. Raises InputError for a tokenizer that is no known byte-level BPE."""
    kind, pre = file.get("tokenizer.ggml.model", str), file.get("tokenizer.ggml.pre", str, "none")
    if kind != "gpt2" or pre not in SPLITS:
        expected = f"gpt2 with tokenizer.ggml.pre one of {', '.join(SPLITS)}"
        raise InputError(f"{file.path}: tokenizer.ggml.model is {kind!r} with tokenizer.ggml.pre {pre!r}, expected {expected}")
    words, kinds = file.get("tokenizer.ggml.tokens", list), file.get("tokenizer.ggml.token_type", list)
    merges = [tuple(merge.split(" ", 1)) for merge in file.get("tokenizer.ggml.merges", list)]
    if len({*words}) < len(words) or len(kinds) != len(words):
        raise InputError(f"{file.path}: tokenizer.ggml.tokens has {len(words)} tokens, {len({*words})} distinct, and {len(kinds)} kinds")
    vocabulary = {word: number for number, word in enumerate(words)}
    try:
        made = Tokenizer(models.BPE(vocabulary, merges, ignore_merges=pre == "llama-bpe"))
    except Exception as error:  # merges of pieces that are no tokens
        raise InputError(f"{file.path}: tokenizer.ggml.merges do not fit the tokens ({error}), expected pairs of tokens") from error
    made.pre_tokenizer = pre_tokenizers.Sequence(SPLITS[pre])
    made.decoder = decoders.ByteLevel()
    if pre == "qwen2":
        made.normalizer = normalizers.NFC()
    added = [(word, kind == CONTROL) for word, kind in zip(words, kinds, strict=True) if kind in (CONTROL, USER_DEFINED)]
    made.add_tokens([AddedToken(word, special=special, normalized=False) for word, special in added])
    named = {}
    for ours, theirs in (("bos_token", "bos"), ("eos_token", "eos"), ("unk_token", "unknown"), ("pad_token", "padding")):
        number = file.get(f"tokenizer.ggml.{theirs}_token_id", int, None)
        if number is not None and not 0 <= number < len(words):
            raise InputError(f"{file.path}: tokenizer.ggml.{theirs}_token_id is {number}, expected one of {len(words)} tokens")
        named |= {} if number is None else {ours: words[number]}
    if file.get("tokenizer.ggml.add_bos_token", bool, False) and "bos_token" in named:
        bos = named["bos_token"]
        made.post_processor = processors.TemplateProcessing(f"{bos} $A", f"{bos} $A {bos} $B", [(bos, vocabulary[bos])])
    settings = {"tokenizer_class": "PreTrainedTokenizerFast", "clean_up_tokenization_spaces": False, **named}
    if (template := file.get("tokenizer.chat_template", str, None)) is not None:
        settings["chat_template"] = template
    return made, settings


def generation_config(file: File) -> dict:
    """generation_config.json: every token that ends a turn."""
    ids = {key: file.get(f"tokenizer.ggml.{key}_token_id", int, None) for key in ("bos", "eos", "eot", "padding")}
    ends = list(dict.fromkeys(number for number in (ids["eos"], ids["eot"]) if number is not None))
    settings = {"bos_token_id": ids["bos"], "eos_token_id": ends[0] if len(ends) == 1 else ends or None, "pad_token_id": ids["padding"]}
    return {key: value for key, value in settings.items() if value is not None}


def convert(path: Path, out: Path, dtype: jnp.dtype, force: bool, progress: Callable) -> TargetConfig:
    """Writes `out`, complete or not at all."""
    file = open_file(path)
    raw = published_config(file) | {"torch_dtype": dtype.name, "dtype": dtype.name}
    config = TargetConfig.from_dict(raw, f"{path}: metadata")
    shapes = expected_tensors(file, config)
    made, settings = tokenizer(file)
    texts = {"config.json": raw, "tokenizer_config.json": settings, "generation_config.json": generation_config(file)}
    with directories.built(out, replace=force) as building:
        for name, content in texts.items():
            (building / name).write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        made.save(str(building / "tokenizer.json"))
        total = sum(int(np.prod(shape)) for shape in shapes.values()) * dtype.itemsize
        publish.write_tensors(building, progress(weights(file, config, shapes, dtype), total))
    return config


def parser() -> cli.Parser:
    p = cli.Parser(
        prog="python -m convert.gguf",
        description="Converts a Llama, Qwen2 or Qwen3 model in one GGUF file to a Hugging Face directory, tokenizer and template too. "
        f"Dequantises {', '.join(KINDS)}.",
    )
    p.add_argument("file", metavar="FILE", help="GGUF file")
    p.add_argument("--out", metavar="DIR", required=True, help="directory to make")
    p.add_argument(
        "--dtype", choices=list(DTYPES), default="float32", help="store as; default float32, which holds quantised values exactly"
    )
    p.add_argument("--force", action="store_true", help="replace DIR if it exists; default off")
    p.add_argument("--debug", action="store_true", help="show tracebacks; default off")
    p.add_argument("--version", action="version", version=f"domino_jax {domino_jax.__version__}")
    return p


def command(argv: Sequence[str] | None) -> int:
    arguments = parser().parse(argv)
    path, out = (Path(os.path.abspath(os.path.expanduser(name))) for name in (arguments.file, arguments.out))
    if out.exists() and not arguments.force:
        raise InputError(f"{out}: exists already, expected a new directory (or --force to replace it)")
    if path.is_relative_to(out):
        raise InputError(f"{out}: holds the source {path}, expected another directory (--force would delete the source)")
    config = convert(path, out, DTYPES[arguments.dtype], arguments.force, cli.transfer("converting"))
    cli.say(f"{config.model_type}, {config.num_hidden_layers} layers: wrote {out} as {arguments.dtype}")
    return cli.DONE


def main(argv: Sequence[str] | None = None) -> int:
    return cli.run(command, argv)


if __name__ == "__main__":
    sys.exit(main())
