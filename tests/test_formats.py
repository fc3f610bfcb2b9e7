"""One drafter in every published format: it loads, and drafts what it drafts in the public Hugging Face layout."""

import dataclasses
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import domino_jax
from domino_jax import DraftConfig, Engine, checkpoint
from domino_jax.engine import open_pair
from domino_jax.tensors import HEAD_MODULES, HEAD_PREFIXES
from tests import models

GOLDEN = Path(__file__).parent / "golden"
PROMPTS = [[5, 9, 15, 25, 41], [10, 20, 30, 40], [0, 1, 2, 3, 4, 5, 6]]

Drafter = tuple[dict, dict[str, np.ndarray]]  # config.json and tensors


def nested(raw: dict, **changes) -> dict:
    return raw | dict(dflash_config={key: value for key, value in {**raw["dflash_config"], **changes}.items() if value is not None})


def without(raw: dict, *keys: str) -> dict:
    return {key: value for key, value in raw.items() if key not in keys}


def prefixed(tensors: dict, prefix: str, which: Callable[[str], bool]) -> dict:
    return {prefix * which(name) + name: tensor for name, tensor in tensors.items()}


def is_head(name: str) -> bool:
    return name.startswith(HEAD_MODULES)


def everywhere_but_the_head_of_the_language_model(name: str) -> bool:
    return name != "lm_head.weight"


# How each format writes a drafter of the public layout. `own` is what speculators puts beside it: the target's two matrices and two
# tables that leave out no token.


def domino(raw: dict, tensors: dict, own: dict) -> Drafter:
    return raw | dict(architectures=["DFlashDraftModel"], auto_map=dict(AutoModel="dflash.DFlashDraftModel")), tensors


def specforge(raw: dict, tensors: dict, own: dict) -> Drafter:
    return raw | dict(architectures=["DominoDraftModel"], auto_map=dict(AutoModel="domino.DominoDraftModel")), tensors


def early_specforge(raw: dict, tensors: dict, own: dict) -> Drafter:
    return raw | dict(architectures=["DominoDraftModel"]), prefixed(tensors, "logit_head.", is_head)


def nemo(raw: dict, tensors: dict, own: dict) -> Drafter:
    """Derived from the target's config: what a drafter needs stands in dflash_config; RoPE's rates are stored."""
    inner = dict(block_size=raw["block_size"], num_target_layers=raw["num_target_layers"], attention_backend="sdpa")
    raw = nested(without(raw, "block_size", "num_target_layers", "emb_dim"), **inner)
    return raw | dict(architectures=["Qwen3DFlashDraftModel"]), tensors | {"rotary_emb.inv_freq": np.ones(16, np.float32)}


def verl(raw: dict, tensors: dict, own: dict) -> Drafter:
    """A flat training config that no architecture and no dflash_config mark as a drafter's."""
    training = dict(lambda_base_start=1.0, lambda_base_decay_ratio=0.5, loss_decay_gamma=7.0)
    return without(raw, "dflash_config", "architectures") | raw["dflash_config"] | training, tensors


def newer_z_lab(raw: dict, tensors: dict, own: dict) -> Drafter:
    return nested(without(raw, "block_size"), block_size=raw["block_size"]), tensors


def older_z_lab(raw: dict, tensors: dict, own: dict) -> Drafter:
    return nested(raw, mask_token_id=None) | dict(mask_token_id=raw["dflash_config"]["mask_token_id"]), tensors


def transformers_5(raw: dict, tensors: dict, own: dict) -> Drafter:
    rope = dict(rope_type="default", rope_theta=raw["rope_theta"])
    return without(raw, "rope_theta", "rope_scaling") | dict(rope_parameters=rope), tensors


def model_prefix(raw: dict, tensors: dict, own: dict) -> Drafter:
    return raw, prefixed(tensors, "model.", everywhere_but_the_head_of_the_language_model)


def with_the_targets_matrices(raw: dict, tensors: dict, own: dict) -> Drafter:
    return raw, tensors | {name: own[name] for name in ("embed_tokens.weight", "lm_head.weight")}


def causal_v5(raw: dict, tensors: dict, own: dict) -> Drafter:
    return nested(raw, projector_type="causal_v5"), tensors


def query_zero(raw: dict, tensors: dict, own: dict) -> Drafter:
    return nested(raw, shift_label=None, query_zero_predicts_next=True), tensors


def anchor(raw: dict, tensors: dict, own: dict) -> Drafter:
    return nested(raw, shift_label=None) | dict(sample_from_anchor=True), tensors


def speculators(raw: dict, tensors: dict, own: dict) -> Drafter:
    return models.speculators(raw, tensors | own)


def older_speculators(raw: dict, tensors: dict, own: dict) -> Drafter:
    return models.speculators(raw, tensors | own, older=True)


def bare_speculators(raw: dict, tensors: dict, own: dict) -> Drafter:
    return models.speculators(raw, tensors, draft_vocab_size=None, speculators_config=None)


def speculators_of_transformers_5(raw: dict, tensors: dict, own: dict) -> Drafter:
    return models.speculators(transformers_5(raw, tensors, own)[0], tensors | own)


def speculators_with_model_prefix(raw: dict, tensors: dict, own: dict) -> Drafter:
    raw, tensors = models.speculators(raw, tensors | own)
    return raw, prefixed(tensors, "model.", everywhere_but_the_head_of_the_language_model)


OF_BOTH = [
    domino, specforge, nemo, verl, newer_z_lab, older_z_lab, transformers_5, model_prefix, with_the_targets_matrices, speculators,
    bare_speculators, speculators_of_transformers_5, speculators_with_model_prefix,
]  # fmt: skip
OF_DOMINO = [early_specforge, causal_v5, query_zero, anchor, older_speculators]
CASES = [("dflash", form) for form in OF_BOTH] + [("domino", form) for form in OF_BOTH + OF_DOMINO]


def own_tensors(target: Path) -> dict[str, np.ndarray]:
    tensors = models.read(target)[1]
    embedding = tensors["embed_tokens.weight"]
    shared = {"embed_tokens.weight": embedding, "lm_head.weight": tensors.get("lm_head.weight", embedding)}
    return shared | dict(d2t=np.zeros(len(embedding), np.int64), t2d=np.ones(len(embedding), bool))


@dataclasses.dataclass
class Public:
    """A pair in the public layout and what it does."""

    target: Path
    drafter: Drafter
    engine: Engine
    done: list

    @classmethod
    def of(cls, target: Path, draft: Path, prompts: list[list[int]]) -> "Public":
        engine = domino_jax.load(str(target), str(draft))
        return cls(target, models.read(draft), engine, drafted(engine, prompts))

    def load(self, form: Callable[..., Drafter], directory: Path) -> Engine:
        """The same drafter in another format; the target's programs are shared."""
        directory = models.write(directory, *form(*self.drafter, own_tensors(self.target)))
        return self.engine.with_drafter(domino_jax.load(str(self.target), str(directory)).drafter)


def drafted(engine: Engine, prompts: list[list[int]]) -> list:
    return [(result.output_ids, result.trace) for result in engine.generate(prompts, max_new_tokens=40, trace=True)]


@pytest.fixture(scope="module")
def public() -> dict[str, Public]:
    """The trained pairs: what they propose depends on every feature that the drafter reads."""
    pairs = {"dflash": GOLDEN / "dflash_trained", "domino": GOLDEN / "domino_shift_trained"}
    return {kind: Public.of(pair / "target", pair / "draft", PROMPTS) for kind, pair in pairs.items()}


@pytest.fixture(scope="module")
def leaving(noisy_pair) -> Public:
    """The chain whose target leaves it: untied, so embedding and head are two matrices."""
    return Public.of(*noisy_pair, [[0], [20, 3], [5, 6, 7, 9, 11]])


def off_by_one(raw: dict, tensors: dict, own: dict) -> Drafter:
    return nested(raw, target_layer_ids=[layer + 1 for layer in raw["dflash_config"]["target_layer_ids"]]), tensors


@pytest.mark.parametrize("kind", ["dflash", "domino"])
def test_the_pairs_that_formats_are_compared_on_tell_a_wrong_layer(kind, public, tmp_path):
    """Some rounds accept nothing and some all; with the next layers' features the proposals are others."""
    assert {0, 7} <= {entry.accepted for _, trace in public[kind].done for entry in trace}
    changed = drafted(public[kind].load(off_by_one, tmp_path), PROMPTS)
    assert [text for text, _ in changed] == [text for text, _ in public[kind].done]
    assert changed != public[kind].done


@pytest.mark.parametrize(("kind", "form"), CASES, ids=lambda value: getattr(value, "__name__", value))
def test_every_format_drafts_as_the_public_layout_does(kind, form, public, tmp_path):
    engine = public[kind].load(form, tmp_path)
    ours, theirs = engine.drafter.config, public[kind].engine.drafter.config
    assert ours.kind == kind
    assert dataclasses.replace(ours, num_target_layers=theirs.num_target_layers) == theirs
    assert drafted(engine, PROMPTS) == public[kind].done


@pytest.mark.parametrize("form", [specforge, early_specforge, nemo, verl, model_prefix, speculators, older_speculators])
def test_the_counting_chain_is_proposed_whole_in_every_format(form, counting_pair, tmp_path):
    """Known by hand: 28 tokens in two rounds. Untied, so embedding and head are not one matrix."""
    directory = models.write(tmp_path, *form(*models.read(counting_pair[1]), own_tensors(counting_pair[0])))
    (result,) = domino_jax.load(str(counting_pair[0]), str(directory)).generate([[0]], max_new_tokens=40)
    assert (result.output_ids, result.acceptance_lengths) == ([*range(1, 29)], [16, 16])


@pytest.mark.parametrize("form", [early_specforge, verl, speculators, older_speculators])
def test_a_target_that_leaves_the_chain_is_drafted_for_alike_in_every_format(form, leaving, tmp_path):
    prompts = [[0], [20, 3], [5, 6, 7, 9, 11]]
    assert {entry.accepted for _, trace in leaving.done for entry in trace} == {0, 1, 2, 15}
    assert drafted(leaving.load(form, tmp_path), prompts) == leaving.done


@pytest.mark.parametrize("ids", [[1, 2], [0, 1], [2, 3]])
def test_layers_are_numbered_from_one_in_speculators_format(ids):
    raw = models.draft_config(nested=dict(target_layer_ids=ids))
    theirs = models.speculators(raw, {})[0]
    assert theirs["aux_hidden_state_layer_ids"] == [layer + 1 for layer in ids]
    assert DraftConfig.from_dict(theirs).target_layer_ids == tuple(ids)


@pytest.mark.parametrize(("enabled", "kind"), [(True, "domino"), (None, "domino"), (False, "dflash")])
def test_a_head_of_older_speculators_format_is_there_unless_it_is_denied(enabled, kind):
    raw = models.draft_config(nested=dict(shift_label=False))
    assert DraftConfig.from_dict(models.speculators(raw, {}, older=True, domino_enabled=enabled)[0]).kind == kind


def test_what_speculators_format_says_of_the_target_is_kept_apart_from_the_model():
    config = DraftConfig.from_dict(models.speculators(models.draft_config(), {})[0])
    assert config.target_name == "some/Target-8B"
    assert dataclasses.replace(config, num_target_layers=4) == DraftConfig.from_dict(models.draft_config())


@pytest.mark.parametrize("form", [speculators, older_speculators])
@pytest.mark.parametrize("kind", ["dflash", "domino"])
def test_tensors_that_say_nothing_new_are_left_out_with_a_note(kind, form, public, tmp_path):
    pair = public[kind]
    directory = models.write(tmp_path, *form(*pair.drafter, own_tensors(pair.target)))
    opened = open_pair(str(pair.target), str(directory)).draft
    for note in (
        "embed_tokens.weight is not loaded: it equals the target's",
        "lm_head.weight is not loaded: it equals the target's",
        "d2t is not loaded: the drafter has all of the target's tokens",
    ):
        assert note in opened.notes
    assert {note.split()[0] for note in opened.notes} >= {"t2d"}
    assert not opened.config.own_embedding
    assert not opened.config.own_head


# Refusals


CONTRADICTIONS = [
    (dict(shift_label=True), dict(sample_from_anchor=False)),
    (dict(shift_label=False), dict(query_zero_predicts_next=True)),
    (dict(sample_from_anchor=True), dict(query_zero_predicts_next=False)),
    (dict(shift_label=True), dict(sample_from_anchor=1)),
]


@pytest.mark.parametrize("places", ["outer, inner", "inner, outer", "outer, outer", "inner, inner"])
@pytest.mark.parametrize(("one", "other"), CONTRADICTIONS, ids=str)
def test_contradictions_about_the_first_row_are_refused(one, other, places, tmp_path):
    outer, inner = {}, dict(shift_label=None)
    for said, place in zip((one, other), places.split(", "), strict=True):
        (outer if place == "outer" else inner).update(said)
    text = models.refusal(models.write(tmp_path, models.draft_config(nested=inner, **outer), {}))
    assert all(name in text for name in (*one, *other))
    assert "expected one value" in text


@pytest.mark.parametrize("key", ["shift_label", "sample_from_anchor", "query_zero_predicts_next"])
def test_one_key_about_the_first_row_with_two_values_is_refused(key, tmp_path):
    raw = models.draft_config(nested={"shift_label": None, key: True}, **{key: False})
    assert f"{key} is false at the top level and true in dflash_config" in models.refusal(models.write(tmp_path, raw, {}))


def test_contradictions_about_the_first_row_are_refused_in_speculators_format_too(tmp_path):
    raw, _ = models.speculators(models.draft_config(), {}, shift_label=False)
    text = models.refusal(models.write(tmp_path, raw, {}))
    assert "shift_label" in text
    assert "sample_from_anchor" in text


FOREIGN = [
    (dict(speculators_model_type="eagle3"), 'speculators_model_type is "eagle3", expected "dflash" or "domino"'),
    (dict(speculators_model_type=["dflash"]), 'speculators_model_type is ["dflash"], expected "dflash" or "domino"'),
    (dict(fusion_mode="flare"), 'fusion_mode is "flare", expected no such key'),
    (dict(speculators_model_type="dflash", domino_enabled="yes"), 'domino_enabled is "yes", expected true or false'),
    (dict(transformer_layer_config=[]), "transformer_layer_config is [], expected an object"),
    (dict(speculators_config="x"), 'speculators_config is "x", expected an object'),
    (dict(aux_hidden_state_layer_ids=[0, 1]), "aux_hidden_state_layer_ids is [0, 1], expected a list of distinct layer numbers from 1"),
    (dict(quantization_config={}), "quantization_config is present"),
]


@pytest.mark.parametrize(("changes", "words"), FOREIGN, ids=str)
def test_a_drafter_of_another_family_is_refused_by_the_key_that_tells(changes, words, tmp_path):
    assert words in models.refusal(models.write(tmp_path, models.speculators(models.draft_config(), {}, **changes)[0], {}))


@pytest.mark.parametrize("place", ["top", "nested"])
def test_the_flare_network_is_refused_in_hugging_face_layout(place, tmp_path):
    raw = models.draft_config(**dict(fusion_mode="flare") if place == "top" else dict(nested=dict(fusion_mode="flare")))
    assert 'fusion_mode is "flare"' in models.refusal(models.write(tmp_path, raw, {}))


NEEDED = {
    "block_size": "block_size",
    "mask_token_id": "mask_token_id",
    "aux_hidden_state_layer_ids": "aux_hidden_state_layer_ids",
    "gru_hidden_dim": "gru_hidden_dim",
    "logits_correction_emb_dim": "logits_correction_emb_dim",
    "transformer_layer_config": "num_hidden_layers",
}


@pytest.mark.parametrize("key", NEEDED)
def test_a_key_that_speculators_format_lacks_is_never_guessed(key, tmp_path):
    """Not even where other places of other formats hold it."""
    raw, _ = models.speculators(models.draft_config(), {}, **{key: None})
    text = models.refusal(models.write(tmp_path, raw | dict(num_hidden_layers=2, target_layer_ids=[0, 2], mask_token=93), {}))
    assert f"config.json (speculators format): {NEEDED[key]}" in text
    assert "is missing" in text


@pytest.mark.parametrize("key", ["domino_emb_dim", "domino_gru_hidden_dim"])
def test_a_key_that_older_speculators_format_lacks_is_never_guessed(key, tmp_path):
    raw, _ = models.speculators(models.draft_config(), {}, older=True, **{key: None})
    text = models.refusal(models.write(tmp_path, raw, {}))
    assert "(speculators format): " in text
    assert f"{key} " in text
    assert "is missing" in text


def test_newer_and_older_names_with_two_values_are_refused(tmp_path):
    raw, _ = models.speculators(models.draft_config(), {}, domino_emb_dim=9)
    text = models.refusal(models.write(tmp_path, raw, {}))
    assert "logits_correction_emb_dim is 8 at the top level and domino_emb_dim is 9 at the top level, expected one value" in text


def test_a_plain_drafter_cannot_sample_from_its_anchor(tmp_path):
    raw, _ = models.speculators(models.draft_config(domino=False), {}, sample_from_anchor=True)
    assert "(speculators format): sample_from_anchor is true, expected false" in models.refusal(models.write(tmp_path, raw, {}))


def test_a_head_that_the_config_denies_is_refused(tmp_path):
    raw = models.draft_config()
    config, tensors = models.speculators(raw, models.random_tensors(raw), older=True, domino_enabled=False, sample_from_anchor=False)
    assert "holds the Domino head tensors" in models.refusal(models.write(tmp_path, config, tensors))


@pytest.mark.parametrize("prefix", HEAD_PREFIXES)
@pytest.mark.parametrize("other", ["", *HEAD_PREFIXES])
def test_head_tensors_under_two_prefixes_are_refused(prefix, other, tmp_path):
    raw = models.draft_config()
    tensors = prefixed(models.random_tensors(raw), prefix, is_head)
    odd = prefix + "embed_proj.0.weight"
    tensors[other + "embed_proj.0.weight"] = tensors.pop(odd)
    directory = models.write(tmp_path, raw, tensors)
    if prefix == other:
        assert checkpoint.open_any(directory).kind == "domino"
    else:
        assert "embed_proj.0.weight" in models.refusal(directory)


@pytest.mark.parametrize("form", [domino, speculators])
@pytest.mark.parametrize("prefix", ["draft_model.", "module.", "model.model."])
def test_a_prefix_that_no_format_has_is_refused(prefix, form, tmp_path):
    raw = models.draft_config()
    config, tensors = form(raw, models.random_tensors(raw), {})
    text = models.refusal(models.write(tmp_path, config, {prefix + name: tensor for name, tensor in tensors.items()}))
    assert prefix.removeprefix("model.") + "fc.weight" in text
    assert "missing" in text
    assert "unexpected" in text
