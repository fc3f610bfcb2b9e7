"""Model configurations, read from `config.json` as published and validated before anything is loaded.

Field names are Hugging Face's. A key is accepted wherever a published file puts it (top level or inside `dflash_config`);
standing in two places with different values, it is refused.
"""

import dataclasses
import json
import sys
from dataclasses import dataclass
from pathlib import Path

from domino_jax.errors import InputError

_ABSENT = object()
SPECULATORS_KEYS = ("speculators_model_type", "speculators_config", "speculators_version", "transformer_layer_config",
                    "aux_hidden_state_layer_ids")  # fmt: skip


class Fields:
    """Typed access to the keys of one JSON object; every refusal names the file, the key, found and expected."""

    def __init__(self, raw: dict, where: str, nested: dict | None = None):
        self.raw, self.nested, self.where = raw, nested or {}, where

    def refuse(self, key: str, found: object, expected: str) -> InputError:
        return InputError(f"{self.where}: {key} is {json.dumps(found)}, expected {expected}")

    def get(self, key: str, default: object = _ABSENT) -> object:
        """The value of `key`, from the top level or the nested object; JSON null counts as absent."""
        found = [level[key] for level in (self.raw, self.nested) if level.get(key) is not None]
        if len(found) == 2 and found[0] != found[1]:
            raise InputError(
                f"{self.where}: {key} is {json.dumps(found[0])} at the top level and {json.dumps(found[1])} "
                "in dflash_config, expected one value"
            )
        if not found and default is _ABSENT:
            places = "at the top level or in dflash_config" if self.nested else "at the top level"
            raise InputError(f"{self.where}: {key} is missing, expected {places}")
        return found[0] if found else default

    def integer(self, key: str, low: int = 1, high: int | None = None, default: object = _ABSENT) -> int:
        value = self.get(key, default)
        if value is None:
            return value
        if type(value) is not int or value < low or (high is not None and value > high):
            raise self.refuse(key, value, f"an integer of at least {low}" if high is None else f"an integer from {low} to {high}")
        return value

    def number(self, key: str, default: object = _ABSENT) -> float:
        value = self.get(key, default)
        if type(value) not in (int, float) or not 0 < value <= sys.float_info.max:
            raise self.refuse(key, value, "a positive number")
        return float(value)

    def boolean(self, key: str, default: bool) -> bool:
        value = self.get(key, default)
        if type(value) is not bool:
            raise self.refuse(key, value, "true or false")
        return value


def read_json(path: Path) -> dict:
    """The JSON object in `path`. Raises InputError for a missing, unreadable or malformed file."""
    try:
        raw = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"{path}: the file is missing, expected a JSON object") from None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read ({error}), expected a JSON object") from None
    except (ValueError, RecursionError) as error:  # malformed, a number of thousands of digits, nested without end
        raise InputError(f"{path}: not valid JSON ({error}), expected a JSON object") from None
    if not isinstance(raw, dict):
        raise InputError(f"{path}: holds a {type(raw).__name__}, expected a JSON object")
    return raw


@dataclass(frozen=True)
class DecoderConfig:
    """What target and drafter have in common: the shape of a Qwen3 decoder layer."""

    vocab_size: int
    hidden_size: int
    intermediate_size: int
    num_hidden_layers: int
    num_attention_heads: int
    num_key_value_heads: int
    head_dim: int
    rms_norm_eps: float
    rope_theta: float
    max_position_embeddings: int

    @property
    def queries_per_kv_head(self) -> int:
        return self.num_attention_heads // self.num_key_value_heads


@dataclass(frozen=True)
class TargetConfig(DecoderConfig):
    """A dense Qwen3 model."""

    tie_word_embeddings: bool

    @classmethod
    def from_dict(cls, raw: dict, where: str = "config.json") -> "TargetConfig":
        """Raises InputError for anything that is not a dense Qwen3 model."""
        if is_drafter(raw):
            raise InputError(f"{where}: this is a DFlash/Domino drafter (no embeddings), expected a target model; pass it as the draft")
        fields = Fields(raw, where)
        if raw.get("model_type") != "qwen3":
            raise fields.refuse("model_type", raw.get("model_type"), '"qwen3" (a dense Qwen3 model)')
        return cls(**_decoder_fields(fields), tie_word_embeddings=fields.boolean("tie_word_embeddings", False))

    def to_dict(self) -> dict:
        """The published config.json."""
        return {"architectures": ["Qwen3ForCausalLM"], **_published_decoder(self), "tie_word_embeddings": self.tie_word_embeddings}


@dataclass(frozen=True)
class DominoConfig:
    """The Domino head: one GRU and a two-layer projector (arXiv 2605.29707)."""

    gru_hidden_dim: int
    emb_dim: int
    pure_draft_prefix_len: int
    shift_label: bool


@dataclass(frozen=True)
class DraftConfig(DecoderConfig):
    """A DFlash drafter, with a Domino head or without (`domino is None`)."""

    block_size: int
    mask_token_id: int
    target_layer_ids: tuple[int, ...]
    num_target_layers: int | None
    domino: DominoConfig | None

    @property
    def kind(self) -> str:
        return "domino" if self.domino else "dflash"

    @property
    def first_row(self) -> int:
        """The block row that predicts the first proposal: 0 where labels are shifted (row j predicts the *next* token), else 1."""
        return 0 if self.domino and self.domino.shift_label else 1

    @property
    def max_proposals(self) -> int:
        return self.block_size - self.first_row

    @classmethod
    def from_dict(cls, raw: dict, where: str = "config.json") -> "DraftConfig":
        """Raises InputError for anything but a DFlash or Domino drafter in the published Hugging Face layout."""
        if any(key in raw for key in SPECULATORS_KEYS):
            raise InputError(f"{where}: this is a drafter in speculators format, expected the published Hugging Face layout")
        if not is_drafter(raw):
            raise InputError(f"{where}: dflash_config is missing, expected a DFlash or Domino drafter; pass a target model as the target")
        nested = raw.get("dflash_config")
        if nested is not None and not isinstance(nested, dict):
            raise InputError(f"{where}: dflash_config is {json.dumps(nested)}, expected an object")
        fields = Fields(raw, where, nested)
        if fields.boolean("causal", False):
            raise fields.refuse("causal", True, "false (causal blocks are not supported)")
        decoder = _decoder_fields(fields)
        draft_vocabulary = fields.get("draft_vocab_size", decoder["vocab_size"])
        if draft_vocabulary != decoder["vocab_size"]:
            raise fields.refuse(
                "draft_vocab_size",
                draft_vocabulary,
                f"vocab_size = {decoder['vocab_size']} (reduced vocabularies are not supported)",
            )
        num_target_layers = fields.integer("num_target_layers", default=None)
        block_size = fields.integer("block_size", low=2)
        return cls(
            **decoder,
            block_size=block_size,
            mask_token_id=fields.integer("mask_token_id", low=0, high=decoder["vocab_size"] - 1),
            target_layer_ids=_target_layer_ids(fields, num_target_layers),
            num_target_layers=num_target_layers,
            domino=_domino(fields, block_size),
        )

    def to_dict(self) -> dict:
        """The published config.json. Engines serve the whole family as `DFlashDraftModel`; `projector_type` tells the members apart."""
        inner = {"mask_token_id": self.mask_token_id, "target_layer_ids": list(self.target_layer_ids)}
        if self.domino:
            inner |= {"projector_type": "domino"} | dataclasses.asdict(self.domino)
        outer = {"block_size": self.block_size, "num_target_layers": self.num_target_layers, "dflash_config": inner}
        outer |= {"emb_dim": self.domino.emb_dim} if self.domino else {}
        return {"architectures": ["DFlashDraftModel"], **_published_decoder(self), "tie_word_embeddings": False, **outer}


def _published_decoder(config: DecoderConfig) -> dict:
    """The Qwen3 keys, with both spellings of the RoPE base: Transformers 5 reads the object, older readers the number."""
    rope = {"rope_theta": config.rope_theta, "rope_parameters": {"rope_type": "default", "rope_theta": config.rope_theta}}
    layers = {"layer_types": ["full_attention"] * config.num_hidden_layers, "hidden_act": "silu", "attention_bias": False}
    sizes = {field.name: getattr(config, field.name) for field in dataclasses.fields(DecoderConfig)}
    return {"model_type": "qwen3", **sizes, **rope, **layers}


def is_drafter(raw: dict) -> bool:
    """Whether a config.json speaks of a drafter rather than a target."""
    return "dflash_config" in raw or any(key in raw for key in SPECULATORS_KEYS) or "DraftModel" in str(raw.get("architectures"))


def _decoder_fields(fields: Fields) -> dict:
    """The fields of DecoderConfig, after refusing what no decoder layer here implements."""
    if fields.get("quantization_config", None) is not None:
        raise InputError(f"{fields.where}: quantization_config is present, expected unquantised weights (float32, float16 or bfloat16)")
    for key, supported in (("hidden_act", "silu"), ("attention_bias", False), ("use_sliding_window", False)):
        if (found := fields.get(key, supported)) != supported:
            raise fields.refuse(key, found, json.dumps(supported))
    layers, layer_types = fields.integer("num_hidden_layers"), fields.get("layer_types", None)
    full = isinstance(layer_types, list) and len(layer_types) == layers and all(kind == "full_attention" for kind in layer_types)
    if layer_types is not None and not full:
        raise fields.refuse("layer_types", layer_types, f'{layers} x "full_attention" (sliding layers are not supported)')
    hidden, heads = fields.integer("hidden_size"), fields.integer("num_attention_heads")
    kv_heads = fields.integer("num_key_value_heads", default=heads)
    if heads % kv_heads:
        raise fields.refuse("num_key_value_heads", kv_heads, f"a divisor of num_attention_heads = {heads}")
    head_dim = fields.integer("head_dim", default=hidden // heads)
    if head_dim % 2:
        raise fields.refuse("head_dim", head_dim, "an even number (RoPE turns pairs)")
    return dict(
        vocab_size=fields.integer("vocab_size"),
        hidden_size=hidden,
        intermediate_size=fields.integer("intermediate_size"),
        num_hidden_layers=layers,
        num_attention_heads=heads,
        num_key_value_heads=kv_heads,
        head_dim=head_dim,
        rms_norm_eps=fields.number("rms_norm_eps", 1e-6),
        rope_theta=_rope_theta(fields),
        max_position_embeddings=fields.integer("max_position_embeddings", default=32768),
    )


def _rope_theta(fields: Fields) -> float:
    """The RoPE base: `rope_theta`, or `rope_parameters.rope_theta` as Transformers 5 writes it. Scaled RoPE is refused."""
    bases = [fields.number("rope_theta")] if fields.get("rope_theta", None) is not None else []
    for key in ("rope_parameters", "rope_scaling"):
        parameters = fields.get(key, None)
        if parameters is None:
            continue
        if not isinstance(parameters, dict):
            raise fields.refuse(key, parameters, "an object or null")
        kind = parameters.get("rope_type", parameters.get("type", "default"))
        if kind != "default":
            raise fields.refuse(f"{key}.rope_type", kind, '"default" (RoPE scaling is not supported)')
        if parameters.get("rope_theta") is not None:
            bases.append(Fields(parameters, f"{fields.where}: {key}").number("rope_theta"))
    if not bases:
        raise InputError(f"{fields.where}: rope_theta is missing, expected at the top level or in rope_parameters")
    if len(set(bases)) > 1:
        raise InputError(f"{fields.where}: rope_theta has the values {bases}, expected one value")
    return bases[0]


def _target_layer_ids(fields: Fields, num_target_layers: int | None) -> tuple[int, ...]:
    ids = fields.get("target_layer_ids")
    limit = num_target_layers if num_target_layers is not None else float("inf")
    valid = isinstance(ids, list) and ids and all(type(i) is int and 0 <= i < limit for i in ids) and len(set(ids)) == len(ids)
    if not valid:
        bound = "" if num_target_layers is None else f" below num_target_layers = {num_target_layers}"
        raise fields.refuse("target_layer_ids", ids, f"a list of distinct layer numbers from 0{bound}")
    return tuple(ids)


def _domino(fields: Fields, block_size: int) -> DominoConfig | None:
    projector, shift_label = fields.get("projector_type", None), fields.boolean("shift_label", False)
    if projector not in (None, "domino", "causal_v5"):
        raise fields.refuse("projector_type", projector, '"domino" (or its legacy name "causal_v5"), or no such key')
    if projector is None:
        if shift_label:
            raise fields.refuse("shift_label", True, 'false without projector_type "domino"')
        return None
    return DominoConfig(
        gru_hidden_dim=fields.integer("gru_hidden_dim"),
        emb_dim=fields.integer("emb_dim"),
        pure_draft_prefix_len=fields.integer("pure_draft_prefix_len", low=0, high=block_size - 1, default=0),
        shift_label=shift_label,
    )


def check_pair(target: TargetConfig, draft: DraftConfig, where: str = "config.json") -> None:
    """Raises one InputError that lists every way in which the drafter does not fit the target."""
    found = [
        f"{name} is {theirs}, expected {ours}"
        for name, theirs, ours in (
            ("hidden_size", draft.hidden_size, target.hidden_size),
            ("vocab_size", draft.vocab_size, target.vocab_size),
            ("num_target_layers", draft.num_target_layers, target.num_hidden_layers),
        )
        if theirs is not None and theirs != ours
    ]
    if max(draft.target_layer_ids) >= target.num_hidden_layers:
        found.append(f"target_layer_ids are {list(draft.target_layer_ids)}, expected numbers below {target.num_hidden_layers}")
    if found:
        raise InputError(f"{where}: this drafter is for another target: {'; '.join(found)}")
