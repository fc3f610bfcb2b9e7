"""Sliding layers of a drafter: what they see under SpecForge's rule and under speculators', and that the text stays the target's."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import domino_jax
from domino_jax import DraftConfig, Engine
from domino_jax.config import Window
from domino_jax.dflash import visible_block, visible_context
from tests import models, reference

GOLDEN = Path(__file__).parent / "golden"
PROMPTS = [[5, 9, 15, 25, 41], [10, 20, 30, 40, 1, 2, 3, 4, 5, 6, 7, 8, 9]]
NEW, P, B = 24, 7, 8
SLIDING, FULL = "sliding_attention", "full_attention"


def speculators(raw: dict, tensors: dict) -> tuple[dict, dict]:
    return models.speculators(raw, tensors)


def speculators_non_causal(raw: dict, tensors: dict) -> tuple[dict, dict]:
    return models.speculators(raw, tensors, sliding_window_non_causal=True)


def hugging_face(raw: dict, tensors: dict) -> tuple[dict, dict]:
    return raw, tensors


RULES = {  # layout -> whether the window moves with the row, whether a row sees only the block up to itself
    hugging_face: (True, True),
    speculators: (False, True),
    speculators_non_causal: (False, False),
}


# What is seen


def seen(window: Window | None, length: int, rows: int, slots: int) -> np.ndarray:
    """What the drafter's rows see of `slots` context slots, then of the block."""
    context = np.broadcast_to(visible_context(window, np.array([length]), rows, slots)[0], (rows, slots))
    block = visible_block(window, rows)
    return np.concatenate([context, np.ones((rows, rows), bool) if block is None else block[0]], 1)


def keys(visible: np.ndarray) -> list[set[int]]:
    return [{*map(int, np.flatnonzero(row))} for row in visible]


def padded(visible: np.ndarray, length: int, slots: int) -> np.ndarray:
    """The oracle's context columns filled up to `slots`."""
    return np.concatenate([visible[:, :length], np.zeros((len(visible), slots - length), bool), visible[:, length:]], 1)


def test_specforges_own_fixture():
    """Anchor 6, 12 slots, block 4, window 4: key numbers 12 to 15 are the block's."""
    rows = [{3, 4, 5, 12}, {4, 5, 12, 13}, {5, 12, 13, 14}, {12, 13, 14, 15}]
    assert keys(seen(Window(4), 6, 4, 12)) == rows
    assert keys(seen(None, 6, 4, 12)) == [{*range(6), *range(12, 16)}] * 4
    assert keys(padded(reference.block_visible(6, 4, 4), 6, 12)) == rows


def test_a_window_of_speculators_begins_at_one_place():
    context = {2, 3, 4, 5}
    assert keys(seen(Window(4, moves=False), 6, 4, 12)) == [context | {*range(12, 13 + row)} for row in range(4)]
    assert keys(seen(Window(4, moves=False, causal=False), 6, 4, 12)) == [context | {*range(12, 16)}] * 4


def test_a_window_of_one_sees_itself_and_one_wider_than_the_context_all_of_it():
    assert keys(seen(Window(1), 6, 4, 12)) == [{*range(12, 13 + row)} for row in range(4)]
    assert keys(seen(Window(100), 6, 4, 12)) == [{*range(6), *range(12, 13 + row)} for row in range(4)]
    assert keys(seen(Window(100, moves=False, causal=False), 6, 4, 12)) == keys(seen(None, 6, 4, 12))


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 20), st.integers(2, 8), st.integers(1, 30), st.booleans(), st.booleans())
def test_any_window_is_seen_as_the_oracle_sees_it(length, rows, size, moves, causal):
    expected = padded(reference.block_visible(length, rows, size, moves, causal), length, 24)
    assert np.array_equal(seen(Window(size, moves, causal), length, rows, 24), expected)


# What config.json says


WINDOWED = dict(num_hidden_layers=3, sliding_window=5)


@pytest.mark.parametrize("form", RULES)
@pytest.mark.parametrize(
    ("changes", "slides"),
    [
        (dict(layer_types=[SLIDING, FULL, SLIDING]), (True, False, True)),
        (dict(layer_types=[SLIDING] * 3, use_sliding_window=True, max_window_layers=2), (True, True, True)),  # layer_types goes before
        (dict(layer_types=[FULL] * 3, use_sliding_window=True, max_window_layers=0), (False, False, False)),
        (dict(use_sliding_window=True, max_window_layers=1), (False, True, True)),
        (dict(use_sliding_window=True, max_window_layers=3), (False, False, False)),
        (dict(use_sliding_window=False, max_window_layers=0), (False, False, False)),
        ({}, (False, False, False)),
    ],
    ids=str,
)
def test_which_layers_slide_and_how(changes, slides, form):
    raw = models.draft_config(**WINDOWED, **changes)
    config = DraftConfig.from_dict(form(raw, {})[0])
    assert config.windows == tuple(Window(5, *RULES[form]) if slide else None for slide in slides)


@pytest.mark.parametrize("changes", [dict(layer_types=[SLIDING, FULL]), dict(use_sliding_window=True, max_window_layers=1)], ids=str)
@pytest.mark.parametrize("form", [hugging_face, speculators])
def test_a_sliding_layer_without_a_window_is_refused(form, changes, tmp_path):
    text = models.refusal(models.write(tmp_path, *form(models.draft_config(**changes), {})))
    assert "sliding_window is missing" in text
    assert ("(speculators format)" in text) == (form is speculators)


def test_sliding_layers_are_published_again():
    config = DraftConfig.from_dict(models.draft_config(**WINDOWED, layer_types=[SLIDING, FULL, SLIDING]))
    assert DraftConfig.from_dict(config.to_dict()) == config


# What is drafted


class Pair:
    """A trained pair; the target's text and features are computed once."""

    def __init__(self, name: str):
        self.target, (self.raw, self.tensors) = GOLDEN / name / "target", models.read(GOLDEN / name / "draft")
        self.engine = dataclasses.replace(domino_jax.load(str(self.target)), check_proposals=P)
        self.texts = [result.output_ids for result in self.generate(self.engine, new=NEW + B)]
        assert [result.output_ids for result in self.generate(self.engine, exact=True)] == [text[:NEW] for text in self.texts]
        self.oracle = models.oracle(self.target)
        self.features = [self.oracle([*prompt, *text])[1] for prompt, text in zip(PROMPTS, self.texts, strict=True)]

    @staticmethod
    def generate(engine: Engine, new: int = NEW, **options) -> list:
        return engine.generate(PROMPTS, max_new_tokens=new, ignore_eos=True, **options)

    def windowed(self, kinds: list[str], window: int) -> dict:
        return self.raw | dict(layer_types=kinds, sliding_window=window, use_sliding_window=True)

    def load(self, directory: Path, raw: dict, tensors: dict) -> Engine:
        drafter = domino_jax.load(str(self.target), str(models.write(directory, raw, tensors))).drafter
        return self.engine.with_drafter(drafter)

    def propose(self, raw: dict, prompt: int, start: int, moves: bool, causal: bool) -> tuple[int, ...]:
        """What the NumPy drafter proposes at this position of the target's text."""
        ids = [*PROMPTS[prompt], *self.texts[prompt]]
        drafter = reference.Drafter(raw, self.tensors, self.oracle, moves, causal)
        return tuple(drafter.propose(self.features[prompt], ids[start], start, P, 0))


@pytest.fixture(scope="module")
def pairs() -> dict[str, Pair]:
    return {"dflash": Pair("dflash_trained"), "domino": Pair("domino_shift_trained")}


MIXTURES = [([SLIDING, FULL], 3), ([FULL, SLIDING], 2), ([SLIDING, SLIDING], 5)]


@pytest.mark.parametrize("form", RULES)
@pytest.mark.parametrize(("kinds", "window"), MIXTURES, ids=str)
@pytest.mark.parametrize("kind", ["dflash", "domino"])
def test_sliding_layers_draft_by_the_book_and_the_text_is_the_targets_own(kind, kinds, window, form, pairs, tmp_path):
    pair = pairs[kind]
    raw = pair.windowed(kinds, window)
    results = pair.generate(pair.load(tmp_path, *form(raw, pair.tensors)), trace=True)
    assert [result.output_ids for result in results] == [text[:NEW] for text in pair.texts]
    for prompt, result in enumerate(results):
        for entry in result.trace:
            assert entry.proposals == pair.propose(raw, prompt, entry.start, *RULES[form])


@pytest.mark.parametrize(("kinds", "window"), MIXTURES, ids=str)
@pytest.mark.parametrize("kind", ["dflash", "domino"])
def test_the_rules_draft_differently_and_none_of_them_as_full_layers_do(kind, kinds, window, pairs):
    """Or the comparison with the oracle would show nothing."""
    pair = pairs[kind]
    drafted = {}
    for rule in (None, *RULES.values()):
        raw = pair.raw if rule is None else pair.windowed(kinds, window)
        starts = range(len(PROMPTS[1]), len(PROMPTS[1]) + NEW)
        drafted[rule] = tuple(pair.propose(raw, 1, start, *(rule or (True, True))) for start in starts)
    assert len({*drafted.values()}) == 4


def test_a_sampled_text_is_the_targets_own_too(pairs, tmp_path):
    pair, sampling = pairs["domino"], dict(temperature=1.0, seed=7)
    engine = pair.load(tmp_path, *speculators(pair.windowed([SLIDING, SLIDING], 3), pair.tensors))
    texts = [[result.output_ids for result in pair.generate(made, **sampling, **options)] for made, options in
             ((engine, {}), (engine, dict(exact=True)), (pair.engine, {}))]  # fmt: skip
    assert texts[0] == texts[1] == texts[2] != [text[:NEW] for text in pair.texts]
