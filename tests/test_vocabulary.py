"""Drafters that bring something of their own: fewer tokens than the target, an embedding, a head, RoPE, biases."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest

import domino_jax
from domino_jax import Engine, InputError
from domino_jax.engine import open_pair
from tests import models, reference

GOLDEN = Path(__file__).parent / "golden"
PROMPTS = [[5, 9, 15, 25, 41], [10, 20, 30, 40]]
NEW, P, V, U = 24, 7, 64, 20
EMBEDDING, HEAD, BIASES = "embed_tokens.weight", "lm_head.weight", ("embed_proj.0.bias", "embed_proj.2.bias")

SAMPLING = dict(temperature=1.0, seed=7)

Drafter = tuple[dict, dict[str, np.ndarray]]  # config.json and tensors in the public layout


class Pair:
    """A trained pair: the target alone, its text, its oracle's features of that text, and the drafter to be changed."""

    def __init__(self, name: str):
        self.target, self.drafter = GOLDEN / name / "target", models.read(GOLDEN / name / "draft")
        self.engine = dataclasses.replace(domino_jax.load(str(self.target)), check_proposals=P)
        self.texts = texts(self.engine, max_new_tokens=NEW + P + 1)
        assert texts(self.engine, exact=True) == [text[:NEW] for text in self.texts]  # and compiles what every drafter needs
        self.oracle = models.oracle(self.target)
        self.embedding = self.head = self.oracle.embed.astype(np.float32)  # tied
        self.features = []
        for prompt, text in zip(PROMPTS, self.texts, strict=True):
            logits, residuals = self.oracle([*prompt, *text])
            assert logits.argmax(-1)[len(prompt) - 1 : -1].tolist() == text
            self.features.append(residuals)

    def load(self, directory: Path, raw: dict, tensors: dict, pool_size: int = 0) -> Engine:
        """The target, whose compiled programs are shared, with a drafter written to `directory`."""
        drafter = domino_jax.load(str(self.target), str(models.write(directory, raw, tensors)), pool_size=pool_size).drafter
        return self.engine.with_drafter(drafter)

    def expected(self, raw: dict, tensors: dict, pool_size: int = 0) -> list:
        """What a NumPy drafter proposes on the way through the target's own text: a prompt's tokens and rounds."""
        drafter, expected = reference.Drafter(raw, tensors, self.oracle), []
        for prompt, text, residuals in zip(PROMPTS, self.texts, self.features, strict=True):
            ids, start, rounds = [*prompt, *text], len(prompt), []
            while start < len(prompt) + NEW - 1:
                proposals = drafter.propose(residuals, ids[start], start, P, pool_size)
                accepted = next((i for i in range(P) if proposals[i] != ids[start + 1 + i]), P)
                rounds.append((start, ids[start], tuple(proposals), accepted))
                start += accepted + 1
            expected.append((text[:NEW], rounds))
        return expected

    def reduced(self, drafter: Drafter | None = None, descending: bool = False) -> Drafter:
        """The drafter with the head rows of U tokens: half of them the target says, as far as they go."""
        said = dict.fromkeys(token for text in self.texts for token in text)
        others = [token for token in np.random.default_rng(0).permutation(V).tolist() if token not in said]
        ids = np.sort(np.array([*said][: U // 2] + others[: U // 2]))
        ids = ids[::-1].copy() if descending else ids
        raw, tensors = drafter or self.drafter
        own = {HEAD: self.head[ids], "d2t": ids - np.arange(U), "t2d": np.isin(np.arange(V), ids)}
        own |= {name: tensors[name][ids] for name in ("embed_proj.2.weight", "embed_proj.2.bias") if name in tensors}
        return raw | dict(draft_vocab_size=U), tensors | own


def texts(engine: Engine, **options) -> list[list[int]]:
    return [result.output_ids for result in engine.generate(PROMPTS, **dict(max_new_tokens=NEW, ignore_eos=True) | options)]


def drafted(engine: Engine) -> list:
    results = engine.generate(PROMPTS, max_new_tokens=NEW, ignore_eos=True, trace=True)
    return [(r.output_ids, [(entry.start, entry.verified, entry.proposals, entry.accepted) for entry in r.trace]) for r in results]


def proposed(rounds: list) -> set[int]:
    return {token for _, trace in rounds for entry in trace for token in entry[2]}


@pytest.fixture(scope="module")
def pairs() -> dict[str, Pair]:
    return {"dflash": Pair("dflash_trained"), "domino": Pair("domino_shift_trained")}


KINDS = pytest.mark.parametrize("kind", ["dflash", "domino"])
LAYOUTS = pytest.mark.parametrize("layout", [lambda *drafter: drafter, models.speculators], ids=["hugging face", "speculators"])


# Fewer tokens


@LAYOUTS
@pytest.mark.parametrize(("kind", "pool_size"), [("dflash", 0), ("domino", 0), ("domino", 8), ("domino", U)])
def test_a_drafter_of_fewer_tokens_proposes_by_the_book(kind, pool_size, layout, pairs, tmp_path):
    """Every round is the oracle's: argmaxes and pool over the drafter's tokens, embeddings those of the target's ids."""
    pair = pairs[kind]
    raw, tensors = pair.reduced()
    rounds = drafted(pair.load(tmp_path, *layout(raw, tensors), pool_size))
    assert rounds == pair.expected(raw, tensors, pool_size)
    assert proposed(rounds) <= {*np.flatnonzero(tensors["t2d"])}
    assert proposed(rounds) - {*range(U)}  # places are no ids
    accepted = {entry[3] for _, trace in rounds for entry in trace}
    assert 0 in accepted
    assert max(accepted) > 0
    assert {token for text in pair.texts for token in text} - {*np.flatnonzero(tensors["t2d"])}  # and the target says others


@KINDS
def test_the_tokens_may_stand_in_any_order(kind, pairs, tmp_path):
    pair = pairs[kind]
    raw, tensors = pair.reduced(descending=True)
    rounds = drafted(pair.load(tmp_path, raw, tensors))
    assert rounds == pair.expected(raw, tensors) == pair.expected(*pair.reduced())


@pytest.fixture(scope="module")
def sampled(pairs) -> dict[str, list[list[int]]]:
    """The targets' own texts with the noise of a seed. Compiles what every drafter then needs."""
    own = {kind: texts(pair.engine, **SAMPLING) for kind, pair in pairs.items()}
    assert {kind: texts(pair.engine, exact=True, **SAMPLING) for kind, pair in pairs.items()} == own
    return own


@pytest.mark.parametrize(("kind", "pool_size"), [("dflash", 0), ("domino", 0), ("domino", 8)])
def test_sampling_with_fewer_tokens_writes_the_targets_own_text(kind, pool_size, pairs, sampled, tmp_path):
    pair = pairs[kind]
    raw, tensors = pair.reduced()
    engine = pair.load(tmp_path, *models.speculators(raw, tensors), pool_size)
    results = engine.generate(PROMPTS, max_new_tokens=NEW, ignore_eos=True, trace=True, **SAMPLING)
    assert [result.output_ids for result in results] == sampled[kind] == texts(engine, exact=True, **SAMPLING)
    assert sampled[kind] != [text[:NEW] for text in pair.texts]
    proposals = {token for result in results for entry in result.trace for token in entry.proposals}
    assert proposals <= {*np.flatnonzero(tensors["t2d"])}
    assert max(length for result in results for length in result.acceptance_lengths) > 1


@KINDS
def test_draws_with_fewer_tokens_use_the_noise_of_the_targets_ids(kind, pairs, sampled, tmp_path):
    """With the target's noise a proposal is often the target's draw; with noise of the drafter's places it would be chance.

    At a high temperature logits hardly matter: argmaxes of the same noise over the tokens that both have.
    """
    pair = pairs[kind]
    raw, tensors = pair.reduced()
    engine = pair.load(tmp_path, raw, tensors)
    results = engine.generate(PROMPTS, max_new_tokens=NEW, ignore_eos=True, trace=True, temperature=100.0, seed=3)
    mine = {*np.flatnonzero(tensors["t2d"])}
    rounds = [(result, entry) for result in results for entry in result.trace]
    said = [([*result.prompt_ids, *result.output_ids][entry.start + 1 :], entry) for result, entry in rounds]
    pairs_said = [(text[0], entry.proposals[0]) for text, entry in said if text and text[0] in mine]
    assert len(pairs_said) > 5
    assert sum(ours == theirs for ours, theirs in pairs_said) > 0.8 * len(pairs_said)


def broken_tables() -> dict[str, tuple]:
    names = "does not name 20 distinct tokens below vocab_size = 64, expected each draft token's id in the target less its own number"
    marks = "t2d marks other tokens than d2t names, expected the same"

    def changed(name: str, place: int, value: int):
        def change(tensors: dict) -> dict:
            table = tensors[name].copy()
            table[place] = value
            return tensors | {name: table}

        return change

    return {
        "past the end": (changed("d2t", 19, V - 19), f"d2t {names}"),
        "below zero": (changed("d2t", 0, -1), f"d2t {names}"),
        "twice": (lambda t: changed("d2t", 1, t["d2t"][0] - 1)(t), f"d2t {names}"),
        "huge": (changed("d2t", 5, 2**40), f"d2t {names}"),
        "all the same": (lambda t: t | {"d2t": -np.arange(U)}, f"d2t {names}"),
        "marked more": (lambda t: t | {"t2d": np.ones(V, bool)}, marks),
        "marked others": (lambda t: t | {"t2d": ~t["t2d"]}, marks),
        "marked one other": (lambda t: t | {"t2d": np.roll(t["t2d"], 1)}, marks),
        "marks of another length": (lambda t: t | {"t2d": t["t2d"][:-1].copy()}, marks),
        "no d2t": (lambda t: {name: tensor for name, tensor in t.items() if name != "d2t"}, "1 missing: d2t"),
        "short d2t": (lambda t: t | {"d2t": t["d2t"][:-1].copy()}, "d2t is [19], expected [20]"),
        "float d2t": (lambda t: t | {"d2t": t["d2t"].astype(np.float32)}, "d2t is F32, expected I64, I32, BOOL"),
        "no head": (lambda t: {name: tensor for name, tensor in t.items() if name != HEAD}, f"1 missing: {HEAD}"),
        "the whole head": (lambda t: t | {HEAD: np.ones((V, V), np.float32)}, f"{HEAD} is [64, 64], expected [20, 64]"),
    }


@LAYOUTS
@KINDS
@pytest.mark.parametrize("name", broken_tables())
def test_a_broken_table_of_tokens_is_refused(name, kind, layout, pairs, tmp_path):
    change, words = broken_tables()[name]
    raw, tensors = pairs[kind].reduced()
    assert words in models.refusal(models.write(tmp_path, *layout(raw, change(tensors))))


def test_the_marks_may_be_left_out(pairs, tmp_path):
    raw, tensors = pairs["dflash"].reduced()
    del tensors["t2d"]
    pairs["dflash"].load(tmp_path, raw, tensors)


@LAYOUTS
@pytest.mark.parametrize("said", [None, V])
def test_a_table_for_fewer_tokens_than_the_config_says_is_refused(said, layout, pairs, tmp_path):
    """A config.json that does not say how many tokens its drafter has is no reason to break, nor to draft all of them."""
    raw, tensors = pairs["dflash"].reduced()
    raw, tensors = layout({key: value for key, value in (raw | dict(draft_vocab_size=said)).items() if value is not None}, tensors)
    for name, held in {"with head": tensors, "without": {name: tensor for name, tensor in tensors.items() if name != HEAD}}.items():
        text = models.refusal(models.write(tmp_path / name, raw, held))
        assert "d2t" in text or f"{HEAD} is [20, 64], expected [64, 64]" in text


def test_a_table_that_only_changes_the_order_is_not_passed_over(pairs, tmp_path):
    """The head's rows are then in that order too, and proposals would have the wrong names."""
    pair = pairs["dflash"]
    ids = np.random.default_rng(1).permutation(V)
    raw, tensors = pair.drafter
    tensors = tensors | {EMBEDDING: pair.embedding, HEAD: pair.head[ids], "d2t": ids - np.arange(V)}
    with pytest.raises(InputError, match="d2t changes the order of all of the target's tokens, expected zeros or fewer tokens"):
        pair.load(tmp_path, *models.speculators(raw, tensors))


# An embedding or a head of its own


def own_matrices(pair: Pair, names: tuple[str, ...]) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(2)
    theirs = {EMBEDDING: pair.embedding, HEAD: pair.head}
    return {
        name: tensor + (0.3 * rng.normal(size=tensor.shape).astype(np.float32) if name in names else 0) for name, tensor in theirs.items()
    }


@KINDS
@pytest.mark.parametrize("names", [(EMBEDDING,), (HEAD,), (EMBEDDING, HEAD)])
def test_matrices_of_its_own_are_used_in_speculators_format(kind, names, pairs, tmp_path):
    pair = pairs[kind]
    raw, tensors = pair.drafter[0], pair.drafter[1] | own_matrices(pair, names)
    engine = pair.load(tmp_path, *models.speculators(raw, tensors))
    rounds = drafted(engine)
    assert rounds == pair.expected(raw, tensors)
    assert rounds != pair.expected(*pair.drafter)
    notes = open_pair(str(pair.target), str(tmp_path)).draft.notes
    for name in (EMBEDDING, HEAD):
        said = f"{name} is the drafter's own" if name in names else f"{name} is not loaded: it equals the target's"
        assert said in notes


@pytest.mark.parametrize("name", [EMBEDDING, HEAD])
def test_matrices_of_its_own_are_refused_in_hugging_face_layout(name, pairs, tmp_path):
    pair = pairs["domino"]
    raw, tensors = pair.drafter[0], pair.drafter[1] | own_matrices(pair, (name,))
    with pytest.raises(InputError, match=f"{name} differs from the target's, expected the target's own"):
        pair.load(tmp_path, raw, tensors)


def test_an_embedding_of_its_own_beside_fewer_tokens(pairs, tmp_path):
    pair = pairs["domino"]
    raw, tensors = pair.reduced()
    tensors = tensors | {EMBEDDING: own_matrices(pair, (EMBEDDING,))[EMBEDDING]}
    assert drafted(pair.load(tmp_path, *models.speculators(raw, tensors), 8)) == pair.expected(raw, tensors, 8)


@KINDS
def test_a_rope_of_its_own_turns_the_drafter_alone(kind, pairs, tmp_path):
    pair = pairs[kind]
    raw = pair.drafter[0] | dict(rope_theta=5000.0, rope_scaling=dict(type="linear", factor=4.0))
    rounds = drafted(pair.load(tmp_path, raw, pair.drafter[1]))
    assert rounds == pair.expected(raw, pair.drafter[1])
    assert rounds != pair.expected(raw | dict(rope_scaling=None), pair.drafter[1])


# Biases of the projector


def biased(pair: Pair) -> Drafter:
    raw, tensors = pair.drafter
    rng = np.random.default_rng(3)
    sizes = zip(BIASES, (len(tensors["embed_proj.0.weight"]), V), strict=True)
    return raw, tensors | {name: (2 * rng.normal(size=size)).astype(np.float32) for name, size in sizes}


@pytest.mark.parametrize("pool_size", [0, 8])
@LAYOUTS
def test_biases_of_the_projector_are_used(layout, pool_size, pairs, tmp_path):
    pair = pairs["domino"]
    raw, tensors = biased(pair)
    rounds = drafted(pair.load(tmp_path, *layout(raw, tensors), pool_size))
    assert rounds == pair.expected(raw, tensors, pool_size)
    for name in BIASES:  # each of them counts
        assert rounds != pair.expected(raw, tensors | {name: 0 * tensors[name]}, pool_size)


def test_biases_beside_fewer_tokens_are_those_tokens_own(pairs, tmp_path):
    pair = pairs["domino"]
    raw, tensors = pair.reduced(biased(pair))
    assert tensors[BIASES[1]].shape == (U,)
    assert drafted(pair.load(tmp_path, *models.speculators(raw, tensors), 8)) == pair.expected(raw, tensors, 8)


@LAYOUTS
@pytest.mark.parametrize("missing", BIASES)
def test_one_bias_without_the_other_is_refused(missing, layout, pairs, tmp_path):
    raw, tensors = biased(pairs["domino"])
    del tensors[missing]
    assert f"1 missing: {missing})" in models.refusal(models.write(tmp_path, *layout(raw, tensors)))


def test_biases_without_a_head_are_refused(pairs, tmp_path):
    raw, tensors = pairs["dflash"].drafter
    tensors = tensors | {name: np.ones(V, np.float32) for name in BIASES}
    assert f"2 unexpected: {', '.join(BIASES)}" in models.refusal(models.write(tmp_path, raw, tensors))
