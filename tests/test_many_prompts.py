"""Some of the thousand prompts: see `many_prompts.py`."""

import pytest

import domino_jax
from domino_jax import demo
from tests import many_prompts


@pytest.fixture(scope="module")
def engine() -> domino_jax.Engine:
    return domino_jax.load(demo.TARGET, demo.DRAFT)


@pytest.mark.parametrize(("batch", "count", "longest", "budget"), [(2, 30, 128, 32), (5, 100, 128, 32)])
def test_every_answer_is_the_targets_own(engine, batch, count, longest, budget):
    prompts = many_prompts.mixed_prompts(engine, count, longest=longest, budget=budget)
    assert many_prompts.lossless(engine, prompts, batch, context=longest + budget) == []
