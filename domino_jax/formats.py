"""The published formats of a drafter's config.json: which key of which format means what.

    ours                    Hugging Face                               speculators
                            (z-lab, Domino, SpecForge, NeMo,
                            verl-SpeCo; a key stands at the top
                            level or in dflash_config)
    Qwen3's own keys        the same                                   in transformer_layer_config
    block_size              the same                                   the same
    mask_token_id           the same                                   the same
    target_layer_ids        the same                                   aux_hidden_state_layer_ids, each one more
    num_target_layers       the same                                   not stored
    projector_type          the same                                   speculators_model_type, domino_enabled
    shift_label             the same, query_zero_predicts_next,        sample_from_anchor
                            sample_from_anchor
    emb_dim                 the same                                   logits_correction_emb_dim, domino_emb_dim
    gru_hidden_dim          the same                                   the same, domino_gru_hidden_dim
    pure_draft_prefix_len   the same                                   the same, domino_pure_draft_prefix_len
    draft_vocab_size        the same                                   the same
    sliding layers          see a moving window, causally              a fixed one; sliding_window_non_causal
    the target's name       not stored                                 speculators_config.verifier.name_or_path

To add a format is to add a `Format` and a case in `tests/test_formats.py`. Tensor names are `tensors.py`'s matter.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from domino_jax.errors import InputError
from domino_jax.fields import Fields, said

NESTED, LAYERS = "dflash_config", "transformer_layer_config"
SPECULATORS_MARKS = ("speculators_model_type", "speculators_config", "speculators_version", LAYERS, "aux_hidden_state_layer_ids")
DRAFTER_MARKS = (NESTED, "target_layer_ids", *SPECULATORS_MARKS)  # no target has these
SHIFTED = ("shift_label", "query_zero_predicts_next", "sample_from_anchor")
HEAD = ("emb_dim", "gru_hidden_dim", "pure_draft_prefix_len")


@dataclass(frozen=True)
class Format:
    """A layout of config.json. `places`: our key -> the dotted paths where it may stand."""

    name: str
    places: Callable[[str], tuple[str, ...]]
    readings: Mapping[str, Callable[[object], object]] = field(default_factory=dict)
    window_moves: bool = True  # with the query, as SpecForge trains; speculators' begins at one place for a whole block

    def fields(self, raw: dict, where: str) -> Fields:
        return Fields(raw, where, self.places, self.readings)


def _hugging_face(key: str) -> tuple[str, ...]:
    names = SHIFTED if key == "shift_label" else (key,)
    return tuple(place for name in names for place in (name, f"{NESTED}.{name}"))


SPECULATORS_PLACES = {
    "target_layer_ids": ("aux_hidden_state_layer_ids",),
    "shift_label": ("sample_from_anchor", "shift_label"),
    "emb_dim": ("logits_correction_emb_dim", "domino_emb_dim", "emb_dim"),
    "gru_hidden_dim": ("gru_hidden_dim", "domino_gru_hidden_dim"),
    "pure_draft_prefix_len": ("pure_draft_prefix_len", "domino_pure_draft_prefix_len"),
    "target_name": ("speculators_config.verifier.name_or_path",),
} | {
    key: (key,)
    for key in ("block_size", "mask_token_id", "draft_vocab_size", "sliding_window_non_causal", "causal", "quantization_config",
                "domino_enabled", "speculators_model_type", "fusion_mode")
}  # fmt: skip


def _speculators(key: str) -> tuple[str, ...]:
    return SPECULATORS_PLACES.get(key, (f"{LAYERS}.{key}",))


def _one_less(ids: object) -> object:
    """speculators counts the embedding as the output of layer 0."""
    return [i - 1 if type(i) is int else i for i in ids] if isinstance(ids, list) else ids


HUGGING_FACE = Format("Hugging Face", _hugging_face)
SPECULATORS = Format("speculators", _speculators, {"target_layer_ids": _one_less}, window_moves=False)


def is_drafter(raw: dict) -> bool:
    """Whether a config.json speaks of a drafter rather than a target."""
    return any(key in raw for key in DRAFTER_MARKS) or "DraftModel" in str(raw.get("architectures"))


def format_of(raw: dict) -> Format:
    return SPECULATORS if any(key in raw for key in SPECULATORS_MARKS) else HUGGING_FACE


def projector_type(fields: Fields, form: Format) -> object:
    """ "domino", None for plain DFlash, or whatever else stands there. Raises InputError for a drafter of another family."""
    if (mode := fields.get("fusion_mode", None)) is not None:
        raise fields.refuse("fusion_mode", mode, "no such key (that network is neither DFlash nor Domino)")
    if form is HUGGING_FACE:
        return fields.get("projector_type", None)
    kind = fields.get("speculators_model_type", "dflash")
    if kind not in ("dflash", "domino"):
        raise fields.refuse("speculators_model_type", kind, '"dflash" or "domino"')
    has_head = any(fields.get(key, None) is not None for key in HEAD)
    return "domino" if kind == "domino" or fields.boolean("domino_enabled", has_head) else None


def read_layers(raw: dict, where: str) -> None:
    """Raises InputError where an object that a format nests its keys in is something else."""
    for key in (NESTED, LAYERS, "speculators_config"):
        if raw.get(key) is not None and not isinstance(raw[key], dict):
            raise InputError(f"{where}: {key} is {said(raw[key])}, expected an object")
