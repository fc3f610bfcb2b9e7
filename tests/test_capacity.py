"""Budgets, chunks and capacity."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from domino_jax import DraftConfig, InputError, Prompt, TargetConfig
from domino_jax.capacity import PREFILL_WIDTHS, bucket, chunk_widths
from domino_jax.plan import Models, Options, Plan
from tests.models import draft_config, target_config

TARGET, DRAFT = TargetConfig.from_dict(target_config()), DraftConfig.from_dict(draft_config())


def plan(prompts: list[Prompt], target: TargetConfig, draft: DraftConfig | None, num_proposals: int, **options) -> Plan:
    return Models(target, draft, num_proposals, (), False, np.dtype(np.float32), 10**6).plan(prompts, Options(**options))


def budgets(made: Plan) -> list[int]:
    return [task.budget for task in made.tasks]


@given(st.integers(1, 5000))
def test_chunks_hold_the_prompt_without_a_chunk_to_spare(length):
    widths = chunk_widths(length)
    assert set(widths) <= set(PREFILL_WIDTHS)
    assert sum(widths[:-1]) < length <= sum(widths)
    assert sum(widths) - length < PREFILL_WIDTHS[-1]


@given(st.integers(1, 100_000))
def test_a_bucket_wastes_less_than_half(slots):
    assert slots <= bucket(slots) <= max(64, slots * 3 // 2)
    assert bucket(bucket(slots)) == bucket(slots)


def test_buckets_are_few():
    assert len({bucket(slots) for slots in range(1, 40961)}) == 20


def test_default_budget_is_cut_to_the_context():
    made = plan([Prompt((1,) * 200), Prompt((1,) * 3, max_new_tokens=5)], TARGET, DRAFT, 3)
    assert budgets(made) == [56, 5]
    assert made.capacity == bucket(256 + 3 + 1)
    assert budgets(plan([Prompt((1,))], TargetConfig.from_dict(target_config(max_position_embeddings=4096)), None, 0)) == [512]


def test_capacity_covers_the_last_round():
    """A round may start at the last position of a budget and verify P + 1 of them."""
    for length, budget in itertools.product((1, 30, 50), (1, 10, 14)):
        made = plan([Prompt((1,) * length)], TARGET, DRAFT, 3, max_new_tokens=budget)
        assert made.capacity >= length + budget + 4


def test_max_context_fixes_the_capacity():
    assert plan([Prompt((1,))], TARGET, DRAFT, 3, max_new_tokens=5, max_context=200).capacity == bucket(204)


@pytest.mark.parametrize(
    ("prompt", "options", "words"),
    [
        (Prompt(()), {}, ["prompt 0", "empty", "expected at least one token"]),
        (Prompt((1, 96)), {}, ["prompt 0", "96", "0 to 95"]),
        (Prompt((-1,)), {}, ["-1", "0 to 95"]),
        (Prompt((1.5,)), {}, ["1.5"]),
        (Prompt(("a",)), {}, ["a", "integer"]),
        (Prompt((1,), id="x", max_new_tokens=0), {}, ["prompt x", "max_new_tokens is 0", "at least 1"]),
        (Prompt((1,)), {"max_new_tokens": -3}, ["max_new_tokens is -3"]),
        (Prompt((1,) * 256), {}, ["256 tokens", "at most 255"]),
        (Prompt((1,) * 216), {"max_new_tokens": 41}, ["216", "41", "257", "256"]),
        (Prompt((1,) * 100), {"max_context": 100}, ["100 tokens", "at most 99"]),
        (Prompt((1,)), {"max_context": 257}, ["max_context is 257", "256"]),
        (Prompt((1,)), {"max_context": 1}, ["max_context is 1"]),
        (Prompt((1,), where="file.jsonl, line 7", max_new_tokens=999), {}, ["file.jsonl, line 7", "999"]),
    ],
)
def test_refusals(prompt, options, words):
    with pytest.raises(InputError) as refusal:
        plan([prompt], TARGET, DRAFT, 3, **options)
    assert all(word in str(refusal.value) for word in words)


def test_a_drafter_that_ends_before_the_target_is_refused_with_the_numbers():
    short = DraftConfig.from_dict(draft_config(max_position_embeddings=64))
    assert budgets(plan([Prompt((1,) * 24)], TARGET, short, 3, max_new_tokens=40)) == [40]
    with pytest.raises(InputError, match=r"needs 65 positions .* 64"):
        plan([Prompt((1,) * 25)], TARGET, short, 3, max_new_tokens=40)


def test_numpy_ids(counting):
    assert counting.prompt(np.array([1, 2, 3])).ids == (1, 2, 3)
