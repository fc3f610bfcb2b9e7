"""A hundred of the thousand prompts: see `many_prompts.py`."""

import pytest

import domino_jax
from domino_jax import demo
from tests import many_prompts


@pytest.fixture(scope="module")
def engine() -> domino_jax.Engine:
    return domino_jax.load(demo.TARGET, demo.DRAFT)


@pytest.mark.parametrize(("batch", "longest", "budget"), [(2, 128, 64), (5, 128, 64), (8, 1500, 24)])
def test_every_answer_is_the_targets_own(engine, batch, longest, budget):
    prompts = many_prompts.mixed_prompts(engine, 100, longest=longest, budget=budget)
    assert many_prompts.lossless(engine, prompts, batch, context=longest + budget) == []


def test_killed_and_resumed_is_left_alone(engine):
    prompts = many_prompts.mixed_prompts(engine, 100, seed=1, longest=128, budget=64)
    assert many_prompts.killed_and_resumed(prompts, kills=2, batch=5, context=192) == []
