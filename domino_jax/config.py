"""Model configurations, read from `config.json` as published and validated before anything is loaded.

Field names are Hugging Face's. `formats.py` knows where each format of a drafter keeps which key; a key that stands in two
places with different values is refused.
"""

import dataclasses
import json
from dataclasses import dataclass, field

from domino_jax.errors import InputError
from domino_jax.fields import Fields
from domino_jax.formats import SPECULATORS, Format, format_of, is_drafter, projector_type, read_layers
from domino_jax.rope import Rope

MOST_LAYERS = 10_000  # a config.json that says more is broken
QK_NORM = {"qwen3": True, "qwen2": False, "llama": False}  # the model types of a target; whether queries and keys are normed


@dataclass(frozen=True)
class DecoderConfig:
    """What target and drafter have in common: the shape of a decoder layer."""

    vocab_size: int
    hidden_size: int
    intermediate_size: int
    num_hidden_layers: int
    num_attention_heads: int
    num_key_value_heads: int
    head_dim: int
    rms_norm_eps: float
    rope: Rope
    max_position_embeddings: int

    @property
    def queries_per_kv_head(self) -> int:
        return self.num_attention_heads // self.num_key_value_heads

    @property
    def context(self) -> int:
        """The positions a row may use."""
        return self.rope.context(self.max_position_embeddings)


@dataclass(frozen=True)
class TargetConfig(DecoderConfig):
    """A dense decoder: Qwen3, Qwen2.5 or Llama 3."""

    tie_word_embeddings: bool
    model_type: str = "qwen3"
    qkv_bias: bool = False
    out_bias: bool = False  # of the attention's output projection

    @property
    def qk_norm(self) -> bool:
        return QK_NORM[self.model_type]

    @classmethod
    def from_dict(cls, raw: dict, where: str = "config.json") -> "TargetConfig":
        """Raises InputError for anything that is not a dense model of a supported type."""
        if is_drafter(raw):
            raise InputError(f"{where}: this is a DFlash/Domino drafter (no embeddings), expected a target model; pass it as the draft")
        fields, kind = Fields(raw, where), raw.get("model_type")
        if not isinstance(kind, str) or kind not in QK_NORM:
            supported = ", ".join(f'"{name}"' for name in QK_NORM)
            raise fields.refuse("model_type", kind, f"one of {supported} (dense; no mixture of experts, no linear attention)")
        for key in ("num_experts", "num_local_experts", "n_routed_experts"):
            if raw.get(key) is not None:
                raise fields.refuse(key, raw[key], "no such key (a mixture of experts is not supported)")
        for key, supported in (("mlp_bias", False), ("rope_interleaved", False)):
            if (found := fields.get(key, supported)) != supported:
                raise fields.refuse(key, found, json.dumps(supported))
        biased = kind != "qwen2" and fields.boolean("attention_bias", False)
        decoder = _decoder_fields(fields)
        if any(_sliding_layers(fields, decoder["num_hidden_layers"])):
            raise fields.refuse(
                "layer_types", fields.get("layer_types", None), "full attention (a target's sliding layers are not supported)"
            )
        return cls(
            **decoder,
            tie_word_embeddings=fields.boolean("tie_word_embeddings", False),
            model_type=kind,
            qkv_bias=kind == "qwen2" or biased,
            out_bias=biased,
        )

    def to_dict(self) -> dict:
        """The published config.json."""
        architecture = {"qwen3": "Qwen3", "qwen2": "Qwen2", "llama": "Llama"}[self.model_type] + "ForCausalLM"
        raw = {"architectures": [architecture], "model_type": self.model_type, **published_decoder(self)}
        return raw | {"tie_word_embeddings": self.tie_word_embeddings, "attention_bias": self.out_bias}


@dataclass(frozen=True)
class DominoConfig:
    """The Domino head: one GRU and a two-layer projector (arXiv 2605.29707)."""

    gru_hidden_dim: int
    emb_dim: int
    pure_draft_prefix_len: int
    shift_label: bool
    bias: bool = False  # of both layers of the projector; the tensors tell


@dataclass(frozen=True)
class Window:
    """What a sliding layer of the drafter sees.

    moves: each row the last `size` positions up to its own; else every row the context from `size` before the verified token on.
    causal: a row sees the block up to itself, else all of it.
    """

    size: int
    moves: bool = True
    causal: bool = True


@dataclass(frozen=True)
class DraftConfig(DecoderConfig):
    """A DFlash drafter, with a Domino head or without (`domino is None`).

    windows: of each layer, None for full attention. draft_vocab_size: below `vocab_size` it proposes only some of the target's
    tokens. own_embedding, own_head: it brings matrices that are not the target's; the tensors tell.
    """

    block_size: int
    mask_token_id: int
    target_layer_ids: tuple[int, ...]
    num_target_layers: int | None
    domino: DominoConfig | None
    windows: tuple[Window | None, ...] = ()
    draft_vocab_size: int = 0  # 0: the target's
    own_embedding: bool = False
    own_head: bool = False
    target_name: str | None = field(default=None, compare=False)  # whom it was made for, if it says

    def __post_init__(self):
        object.__setattr__(self, "windows", self.windows or (None,) * self.num_hidden_layers)
        object.__setattr__(self, "draft_vocab_size", self.draft_vocab_size or self.vocab_size)

    @property
    def kind(self) -> str:
        return "domino" if self.domino else "dflash"

    @property
    def is_reduced(self) -> bool:
        return self.draft_vocab_size < self.vocab_size

    @property
    def first_row(self) -> int:
        """The block row that predicts the first proposal: 0 where labels are shifted (row j predicts the *next* token), else 1."""
        return 0 if self.domino and self.domino.shift_label else 1

    @property
    def max_proposals(self) -> int:
        return self.block_size - self.first_row

    @classmethod
    def from_dict(cls, raw: dict, where: str = "config.json") -> "DraftConfig":
        """Raises InputError for anything but a DFlash or Domino drafter in a published format."""
        if not is_drafter(raw):
            raise InputError(f"{where}: dflash_config is missing, expected a DFlash or Domino drafter; pass a target model as the target")
        read_layers(raw, where)
        form = format_of(raw)
        fields = form.fields(raw, where if form is not SPECULATORS else f"{where} (speculators format)")
        projector = projector_type(fields, form)
        if fields.boolean("causal", False):
            raise fields.refuse("causal", True, "false (causal blocks are not supported)")
        if fields.boolean("attention_bias", False):
            raise fields.refuse("attention_bias", True, "false")
        decoder = _decoder_fields(fields)
        num_target_layers = fields.integer("num_target_layers", default=None)
        block_size = fields.integer("block_size", low=2)
        return cls(
            **decoder,
            block_size=block_size,
            mask_token_id=fields.integer("mask_token_id", low=0, high=decoder["vocab_size"] - 1),
            target_layer_ids=_target_layer_ids(fields, num_target_layers),
            num_target_layers=num_target_layers,
            domino=_domino(fields, projector, block_size),
            windows=_windows(fields, form, decoder["num_hidden_layers"]),
            draft_vocab_size=fields.integer("draft_vocab_size", high=decoder["vocab_size"], default=decoder["vocab_size"]),
            target_name=_target_name(fields),
        )

    def to_dict(self) -> dict:
        """The published config.json. Engines serve the whole family as `DFlashDraftModel`; `projector_type` tells the members apart."""
        inner = {"mask_token_id": self.mask_token_id, "target_layer_ids": list(self.target_layer_ids)}
        if self.domino:
            head = dataclasses.asdict(self.domino)
            inner |= {"projector_type": "domino"} | {key: value for key, value in head.items() if key != "bias"}
        outer = {"block_size": self.block_size, "num_target_layers": self.num_target_layers, "dflash_config": inner}
        outer |= {"emb_dim": self.domino.emb_dim} if self.domino else {}
        outer |= {"draft_vocab_size": self.draft_vocab_size} if self.is_reduced else {}
        raw = {"architectures": ["DFlashDraftModel"], "model_type": "qwen3", **published_decoder(self)}
        return raw | published_windows(self) | {"attention_bias": False, "tie_word_embeddings": False} | outer


def published_decoder(config: DecoderConfig) -> dict:
    """The keys of a decoder of full-attention layers, with both spellings of RoPE."""
    sizes = {name.name: getattr(config, name.name) for name in dataclasses.fields(DecoderConfig) if name.name != "rope"}
    return {**sizes, **config.rope.to_dict(), "layer_types": ["full_attention"] * config.num_hidden_layers, "hidden_act": "silu"}


def published_windows(config: DraftConfig) -> dict:
    """The keys that say which layers slide; none if none does."""
    if not any(config.windows):
        return {}
    kinds = ["sliding_attention" if window else "full_attention" for window in config.windows]
    size = next(window.size for window in config.windows if window)
    return {"layer_types": kinds, "sliding_window": size, "use_sliding_window": True}


def _decoder_fields(fields: Fields) -> dict:
    """The fields of DecoderConfig, after refusing what no decoder layer here implements."""
    if fields.get("quantization_config", None) is not None:
        raise InputError(f"{fields.where}: quantization_config is present, expected unquantised weights (float32, float16 or bfloat16)")
    if (found := fields.get("hidden_act", "silu")) != "silu":
        raise fields.refuse("hidden_act", found, '"silu"')
    layers = fields.integer("num_hidden_layers")
    if layers > MOST_LAYERS:
        raise fields.refuse("num_hidden_layers", layers, f"at most {MOST_LAYERS}")
    hidden, heads = fields.integer("hidden_size"), fields.integer("num_attention_heads")
    kv_heads = fields.integer("num_key_value_heads", default=heads)
    if heads % kv_heads:
        raise fields.refuse("num_key_value_heads", kv_heads, f"a divisor of num_attention_heads = {heads}")
    head_dim = fields.integer("head_dim", default=hidden // heads)
    if head_dim % 2:
        raise fields.refuse("head_dim", head_dim, "an even number (RoPE turns pairs)")
    positions = fields.integer("max_position_embeddings", default=32768)
    return dict(
        vocab_size=fields.integer("vocab_size"),
        hidden_size=hidden,
        intermediate_size=fields.integer("intermediate_size"),
        num_hidden_layers=layers,
        num_attention_heads=heads,
        num_key_value_heads=kv_heads,
        head_dim=head_dim,
        rms_norm_eps=fields.number("rms_norm_eps", 1e-6),
        rope=Rope.read(fields, positions),
        max_position_embeddings=positions,
    )


def _sliding_layers(fields: Fields, layers: int) -> list[bool]:
    """Which layers slide: those that `layer_types` names, else Qwen's rule, from `max_window_layers` on if `use_sliding_window`."""
    kinds = fields.get("layer_types", None)
    if kinds is None:
        first = fields.integer("max_window_layers", low=0, default=28) if fields.boolean("use_sliding_window", False) else layers
        return [number >= first for number in range(layers)]
    known = ("full_attention", "sliding_attention")
    if not isinstance(kinds, list) or len(kinds) != layers or not all(kind in known for kind in kinds):
        raise fields.refuse("layer_types", kinds, f"a list of {layers} times {' or '.join(json.dumps(kind) for kind in known)}")
    return [kind == "sliding_attention" for kind in kinds]


def _windows(fields: Fields, form: Format, layers: int) -> tuple[Window | None, ...]:
    sliding = _sliding_layers(fields, layers)
    if not any(sliding):
        return ()
    window = Window(
        fields.integer("sliding_window"),
        moves=form.window_moves,
        causal=not fields.boolean("sliding_window_non_causal", False),
    )
    return tuple(window if slides else None for slides in sliding)


def _target_layer_ids(fields: Fields, num_target_layers: int | None) -> tuple[int, ...]:
    ids = fields.get("target_layer_ids")
    limit = MOST_LAYERS if num_target_layers is None else num_target_layers
    valid = isinstance(ids, list) and ids and all(type(i) is int and 0 <= i < limit for i in ids) and len(set(ids)) == len(ids)
    if not valid:
        bound = "" if num_target_layers is None else f" below num_target_layers = {num_target_layers}"
        stored, lowest = fields.found("target_layer_ids"), 1 if "target_layer_ids" in fields.readings else 0
        raise fields.refuse(
            fields.name("target_layer_ids"), next(iter(stored.values())), f"a list of distinct layer numbers from {lowest}{bound}"
        )
    return tuple(ids)


def _domino(fields: Fields, projector: object, block_size: int) -> DominoConfig | None:
    shift_label = fields.boolean("shift_label", False)
    if projector not in (None, "domino", "causal_v5"):
        raise fields.refuse("projector_type", projector, '"domino" (or its legacy name "causal_v5"), or no such key')
    if projector is None:
        if shift_label:
            raise fields.refuse(fields.name("shift_label"), True, 'false without projector_type "domino"')
        return None
    return DominoConfig(
        gru_hidden_dim=fields.integer("gru_hidden_dim"),
        emb_dim=fields.integer("emb_dim"),
        pure_draft_prefix_len=fields.integer("pure_draft_prefix_len", low=0, high=block_size - 1, default=0),
        shift_label=shift_label,
    )


def _target_name(fields: Fields) -> str | None:
    name = fields.get("target_name", None)
    return name if isinstance(name, str) and name.isprintable() else None


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
