"""What tokens give the GRU, looked up: the same proposals, the same text, counted with the weights, and only where it pays."""

import dataclasses

import jax
import numpy as np
import pytest

from domino_jax import Engine
from domino_jax.config import DraftConfig, TargetConfig
from domino_jax.engine import open_pair
from domino_jax.events import Prompt
from tests import models

CONFIGS = TargetConfig.from_dict(models.target_config()), DraftConfig.from_dict(models.draft_config())
PROMPTS = [Prompt((5, 17, 60)), Prompt((1, 2, 3, 4, 5, 6, 7, 8, 9)), Prompt((90,))]


def engine_on(platform: str, monkeypatch, draft=CONFIGS[1], **options) -> Engine:
    with monkeypatch.context() as patch:
        patch.setattr(jax, "default_backend", lambda: platform)
        return Engine.random(CONFIGS[0], draft, jax.random.key(3), "float32", **options)


@pytest.mark.parametrize("pool_size", [0, 20])
@pytest.mark.parametrize("drawn", [{}, dict(temperature=1.0, top_p=0.9, seed=4)])
def test_texts_and_proposals_are_those_without_it_and_check_modes(pool_size, drawn, monkeypatch):
    tabled, plain = (engine_on(platform, monkeypatch, pool_size=pool_size) for platform in ("gpu", "cpu"))
    assert plain.drafter.table_V3R is None
    assert tabled.drafter.table_V3R.shape == (96, 3, 12)
    options = dict(max_new_tokens=24, batch_size=2, **drawn)
    ours, theirs = (engine.generate(PROMPTS, trace=True, **options) for engine in (tabled, plain))
    check = tabled.generate(PROMPTS, exact=True, **options)
    for one, other, exact in zip(ours, theirs, check, strict=True):
        assert (one.output_ids, one.logprobs) == (exact.output_ids, exact.logprobs)
        assert one.output_ids == other.output_ids
        assert one.trace == other.trace is not None


def test_it_says_what_the_matmul_says():
    drafter = Engine.random(*CONFIGS, jax.random.key(0), "float32")
    embed_VD, head = drafter.target.embedder.embed_VD[...], drafter.drafter.head
    table_V3R = drafter.drafter.with_table(drafter.target.embedder).table_V3R[...]
    expected = np.einsum("vd,ard->var", np.asarray(embed_VD, np.float64), np.asarray(head.input_3RD[...], np.float64))
    np.testing.assert_allclose(table_V3R, expected, rtol=1e-4, atol=1e-5)


def test_of_the_embedding_that_the_drafter_reads():
    """One that brings its own is not given the target's."""

    config = dataclasses.replace(CONFIGS[1], own_embedding=True)
    engine = Engine.random(CONFIGS[0], config, jax.random.key(0), "float32")
    tabled = engine.drafter.with_table(engine.target.embedder)
    given = engine.drafter.head.gru_input(engine.drafter.vocabulary.embed_VD[...])
    np.testing.assert_allclose(tabled.table_V3R[...], given, rtol=1e-5, atol=1e-6)


def test_a_drafter_without_a_head_has_none(monkeypatch):
    dflash = DraftConfig.from_dict(models.draft_config(domino=False))
    assert engine_on("gpu", monkeypatch, dflash).drafter.table_V3R is None


def test_it_counts_as_weights_before_anything_is_loaded(tmp_path, monkeypatch):
    """And what is compiled from shapes is what runs."""
    paths = [
        models.write(tmp_path / name, raw, models.random_tensors(raw))
        for name, raw in (("t", models.target_config()), ("d", models.draft_config()))
    ]
    pair = open_pair(*map(str, paths), dtype="float32")
    without = pair.models.weights
    with monkeypatch.context() as patch:
        patch.setattr(jax, "default_backend", lambda: "gpu")
        pair = open_pair(*map(str, paths), dtype="float32")
        assert pair.models.weights == without + 96 * 3 * 12 * 4
        engine = pair.load(plan=pair.plan(PROMPTS, max_new_tokens=8))
        assert engine.models == pair.models
        results = engine.generate(PROMPTS, max_new_tokens=8)
    assert [r.output_ids for r in results] == [r.output_ids for r in engine.generate(PROMPTS, max_new_tokens=8, exact=True)]


def test_making_it_twice_is_making_it_once():
    engine = Engine.random(*CONFIGS, jax.random.key(0), "float32")
    once = engine.drafter.with_table(engine.target.embedder)
    assert once.with_table(engine.target.embedder) is once
    assert engine.drafter.table_V3R is None  # the first is as it was
