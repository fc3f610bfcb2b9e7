"""The promise: whatever is proposed, the text is the target's own, token for token and bit for bit.

The target's own text comes from the step program, from check mode and from a NumPy oracle; proposals from drafters that are
good, random, perfect and malicious.
"""

import json

import jax
import numpy as np
import pytest
import safetensors.numpy
from hypothesis import given, settings
from hypothesis import strategies as st

import domino_jax
from domino_jax import Prompt, ScriptedDrafter, programs
from domino_jax.engine import Engine
from tests import models, reference

PROMPTS = [[0], [20, 3], [5, 6, 7, 9, 11]]
NEW, P = 40, 15


@pytest.fixture(scope="module")
def own_text(noisy) -> list[list[int]]:
    """The target's continuations of PROMPTS by the step program: no drafter, one token wide."""
    alone = Engine(noisy.target, None, noisy.dtype, stop_ids=noisy.stop_ids)
    return [result.output_ids for result in alone.generate(PROMPTS, max_new_tokens=NEW)]


def texts(engine: Engine, prompts=PROMPTS, **options) -> list[list[int]]:
    return [result.output_ids for result in engine.generate(prompts, **{"max_new_tokens": NEW} | options)]


# Real drafters


def test_the_step_program_and_check_mode_write_what_the_oracle_writes(noisy, noisy_pair, own_text):
    config = json.loads((noisy_pair[0] / "config.json").read_text())
    tensors = safetensors.numpy.load_file(noisy_pair[0] / "model.safetensors")
    oracle = reference.Target(config, {name.removeprefix("model."): tensor for name, tensor in tensors.items()})
    assert own_text == [oracle.greedy(prompt, NEW) for prompt in PROMPTS]
    assert texts(noisy, exact=True) == own_text


@pytest.mark.parametrize("num_proposals", [1, 3, 15, 16])
def test_a_good_drafter(noisy_pair, own_text, num_proposals):
    """Its acceptance is ragged: some rounds give one token, some the whole block."""
    engine = domino_jax.load(*map(str, noisy_pair), num_proposals=num_proposals)
    results = engine.generate(PROMPTS, max_new_tokens=NEW)
    assert [result.output_ids for result in results] == own_text
    lengths = {length for result in results for length in result.acceptance_lengths}
    assert {1, num_proposals + 1} <= lengths


@pytest.mark.parametrize("pool_size", [1, 8, 31])
def test_any_pool(noisy_pair, own_text, pool_size):
    assert texts(domino_jax.load(*map(str, noisy_pair), pool_size=pool_size)) == own_text


VARIANTS = {
    "shifted": models.draft_config(),
    "shifted, no prefix": models.draft_config(nested=dict(pure_draft_prefix_len=0)),
    "shifted, prefix 2": models.draft_config(nested=dict(pure_draft_prefix_len=2)),
    "shifted, prefix 3": models.draft_config(nested=dict(pure_draft_prefix_len=3)),
    "unshifted": models.draft_config(nested=dict(shift_label=False)),
    "unshifted, no prefix": models.draft_config(nested=dict(shift_label=False, pure_draft_prefix_len=0)),
    "layers in another order": models.draft_config(nested=dict(target_layer_ids=[3, 0])),
    "one layer": models.draft_config(nested=dict(target_layer_ids=[1])),
    "dflash": models.draft_config(domino=False),
    "grouped otherwise": models.draft_config(num_attention_heads=2, num_key_value_heads=2, head_dim=8, intermediate_size=40),
}


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("pool_size", [0, 10])
def test_rounds_by_the_book(variant, pool_size, tmp_path):
    """Every round of a random pair, its start, verified token, proposals and acceptance, as the NumPy oracle has them."""
    target_config, draft_config = models.target_config(tie_word_embeddings=variant == "dflash"), VARIANTS[variant]
    target, draft = models.write_random_pair(tmp_path, target_config, draft_config)
    engine = domino_jax.load(str(target), str(draft), pool_size=pool_size)
    prompts = [[1, 2, 3], [50, 60, 70, 80, 90, 10, 20]]
    oracle = reference.Target(target_config, models.random_tensors(target_config))
    drafter = reference.Drafter(draft_config, models.random_tensors(draft_config, 1), oracle)
    for prompt, result in zip(prompts, engine.generate(prompts, max_new_tokens=7, trace=True), strict=True):
        tokens, rounds = reference.speculate(oracle, drafter, prompt, 7, 3, pool_size)
        assert result.output_ids == tokens
        assert [(entry.start, entry.verified, entry.proposals, entry.accepted) for entry in result.trace] == rounds


# Scripted drafts


@pytest.fixture(scope="module")
def scripted(noisy):
    """A function (script by row and absolute position) -> engine; all of them run one set of executables."""
    base = {key: made for key, made in noisy.executables.items() if key[0] in (programs.prefill, programs.verify)}

    def make(script) -> Engine:
        engine = Engine(noisy.target, ScriptedDrafter(np.asarray(script, np.int32), P), noisy.dtype, stop_ids=noisy.stop_ids)
        engine.executables = base  # each script's own draft program is put in and taken out again
        for key in [key for key in base if key[0] is programs.draft]:
            del base[key]
        return engine

    return make


CAPACITY = 96  # what 5 prompt tokens, 40 new ones and P + 1 more need


def right_tokens(own_text) -> np.ndarray:
    script = np.full((3, CAPACITY), 31)
    for row, (prompt, text) in enumerate(zip(PROMPTS, own_text, strict=True)):
        script[row, : len(prompt) + NEW] = [*prompt, *text]
    return script


def test_every_acceptance_length(scripted, own_text):
    """A wrong token ends each round where the plan says: every length from 1 to P + 1, each row in another order."""
    seen = set()
    for turn in range(4):
        script = right_tokens(own_text)
        for row, prompt in enumerate(PROMPTS):
            lengths = np.random.default_rng([turn, row]).permutation(P + 1) + 1
            if row == turn:
                lengths = np.sort(lengths)
            for end in len(prompt) + np.cumsum(lengths):
                if end < CAPACITY:
                    script[row, end] = (script[row, end] + 1) % 31
        results = scripted(script).generate(PROMPTS, max_new_tokens=NEW)
        assert [result.output_ids for result in results] == own_text
        seen |= {length for result in results for length in result.acceptance_lengths}
    assert seen == set(range(1, P + 2))


def test_a_perfect_draft(scripted, own_text):
    results = scripted(right_tokens(own_text)).generate(PROMPTS, max_new_tokens=NEW)
    assert [result.output_ids for result in results] == own_text
    assert all(set(result.acceptance_lengths[:-1]) == {P + 1} for result in results)


@pytest.mark.parametrize("wrong", [-1, 0, 31, 32, 2**31 - 1, -(2**31)])
def test_a_draft_of_one_token_in_the_vocabulary_or_out(scripted, own_text, wrong):
    assert texts(scripted(np.full((3, CAPACITY), wrong))) == own_text


def test_a_draft_that_is_right_one_position_late(scripted, own_text):
    assert texts(scripted(np.roll(right_tokens(own_text), 1, axis=1))) == own_text


def test_a_draft_that_is_right_again_after_each_mistake(scripted, own_text):
    """Tokens after a wrong one must not count, right as they are."""
    script = right_tokens(own_text)
    script[:, 1::2] = 30
    results = scripted(script).generate(PROMPTS, max_new_tokens=NEW)
    assert [result.output_ids for result in results] == own_text
    assert {length for result in results for length in result.acceptance_lengths} <= {1, 2}


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), share=st.floats(0, 1))
def test_any_draft(scripted, own_text, seed, share):
    """Each proposal is right with some probability and anything otherwise."""
    rng, right = np.random.default_rng(seed), right_tokens(own_text)
    assert texts(scripted(np.where(rng.random(right.shape) < share, right, rng.integers(-2, 34, right.shape)))) == own_text


# Bits


def residuals_by_position(engine: Engine, prompts, order=None) -> dict[tuple[int, int], list[bytes]]:
    """(prompt, absolute position) -> the bytes of every layer's residual at each committed position that verify computed."""
    order = order or range(len(prompts))
    plan = engine.plan([Prompt(tuple(prompts[i])) for i in order], max_new_tokens=NEW, ignore_eos=True)
    run = engine._run(plan, exact=engine.drafter is None)
    list(run.compile(plan.tasks))
    for slot, task in enumerate(plan.tasks):
        run.fill(slot, task)
    found = {}
    while not run.state.done_B.all():
        start, live = np.asarray(run.state.length_B), ~np.asarray(run.state.done_B)
        proposals = run.impossible_BP
        if run.drafter:
            run.draft_cache, proposals = run.program(programs.draft, run.width)(*run.draft_arguments())
        run.state, residuals, report = run.program(programs.verify, run.width)(run.state, proposals)
        layers, accepted = [np.asarray(layer) for layer in residuals], np.asarray(report)[:, 2 * (run.width + 1)]
        for row in np.flatnonzero(live):
            for t in range(accepted[row] + 1):
                found[order[row], int(start[row]) + t] = [layer[row, t].tobytes() for layer in layers]
    return found


def test_verify_gives_the_same_bits_wherever_a_token_falls_in_its_round(noisy, scripted, own_text):
    """Drafted rounds of ragged lengths against check mode: every layer's output at every committed position, bit for bit."""
    script = right_tokens(own_text)
    script[np.random.default_rng(0).random(script.shape) < 0.15] = 30
    engine = scripted(script)
    drafted = residuals_by_position(engine, PROMPTS)
    plain = residuals_by_position(Engine(noisy.target, None, noisy.dtype, check_proposals=P, executables=engine.executables), PROMPTS)
    assert len(plain) == 3 * (NEW - 1)
    assert {place: drafted[place] for place in plain} == plain


def test_verify_gives_the_same_bits_in_any_slot_and_company(noisy):
    plain = Engine(noisy.target, None, noisy.dtype, check_proposals=P, executables=noisy.executables)
    assert residuals_by_position(plain, PROMPTS) == residuals_by_position(plain, PROMPTS, order=[2, 0, 1])


def test_verify_and_prefill_are_one_program_for_every_drafter(noisy, counting_pair, tmp_path):
    """The programs that choose tokens do not depend on who drafts: lowered for other drafters they are the same text."""
    other = domino_jax.load(str(counting_pair[0]), None)
    pair = models.write_counting_pair(tmp_path, target_layer_ids=[1])
    texts = set()
    for engine in (other, domino_jax.load(*map(str, counting_pair)), domino_jax.load(*map(str, pair))):
        run = engine._run(engine.plan([Prompt((1,))], max_new_tokens=8), exact=engine.drafter is None)
        arguments = (run.state, run.impossible_BP)
        texts.add(programs.lower(programs.verify, (engine.target,), arguments, engine.dtype).as_text())
    assert len(texts) == 1


# Rows


def test_ragged_rows_are_the_rows_alone(noisy, own_text):
    assert [texts(noisy, [prompt])[0] for prompt in PROMPTS] == own_text == texts(noisy, max_context=200)


@pytest.mark.parametrize("batch_size", [1, 2, 3, 5])
def test_slots_are_reused(noisy, own_text, batch_size):
    """More prompts than slots, in two orders; a slot's next row sees nothing of the last one. With 5, two slots stay idle."""
    assert texts(noisy, PROMPTS + PROMPTS[::-1], batch_size=batch_size) == own_text + own_text[::-1]


def test_one_engine_many_calls(noisy, own_text):
    for order in ([2], [0], [2], [0, 1, 2], [1]):
        assert texts(noisy, [PROMPTS[i] for i in order]) == [own_text[i] for i in order]


def test_equal_prompts_give_equal_rows(noisy, own_text):
    assert texts(noisy, [PROMPTS[1]] * 8) == [own_text[1]] * 8


def test_a_long_prompt_in_several_chunks(noisy):
    """150 tokens go in as chunks of 32 or 128 or 512; the drafter's context comes along."""
    rng = np.random.default_rng(3)
    prompts = [rng.integers(0, 29, length).tolist() for length in (150, 32, 33, 128)]
    alone = Engine(noisy.target, None, noisy.dtype)
    assert texts(noisy, prompts) == texts(alone, prompts)


# Ends


@pytest.mark.parametrize("drafting", [True, False])
def test_every_budget(counting, drafting):
    """After 0 come 1 to 28, where the chain stops: min(N, 28) tokens, always a prefix of the longest answer."""
    engine = counting if drafting else Engine(counting.target, None, counting.dtype, stop_ids=counting.stop_ids)
    prompts = [Prompt((0,), max_new_tokens=budget) for budget in range(1, 41)]
    for budget, result in enumerate(engine.generate(prompts), 1):
        assert result.output_ids == list(range(1, min(budget, 28) + 1))
        assert result.finish_reason == ("stop" if budget >= 28 else "length")


def test_a_stop_inside_an_accepted_block(counting):
    """From 20 the whole block is accepted, the stop id 28 in the midst of it; rows that end early wait for nobody."""
    results = counting.generate([[20], [0], [27]], max_new_tokens=40)
    assert [len(result.output_ids) for result in results] == [8, 28, 1]
    assert [result.acceptance_lengths for result in results] == [[16], [16, 16], []]
    assert {result.finish_reason for result in results} == {"stop"}


def test_ignoring_the_stop(counting):
    (result,) = counting.generate([[20]], max_new_tokens=40, ignore_eos=True)
    assert result.output_ids == [(21 + i) % 29 for i in range(40)]
    assert result.finish_reason == "length"


def test_the_context_to_its_last_position(noisy):
    """216 prompt tokens and 40 new ones fill 256 positions; the last rounds verify past them."""
    prompt = [(7 * i + i * i) % 29 for i in range(216)]
    assert texts(noisy, [prompt]) == texts(Engine(noisy.target, None, noisy.dtype), [prompt])
    with pytest.raises(domino_jax.InputError, match=r"216 .* 41 .* 257 .* 256"):
        noisy.generate([prompt], max_new_tokens=41)


# Failures


def test_a_row_whose_logits_are_not_finite_fails_alone(counting_pair, tmp_path):
    """The embedding of 9 is NaN: who reads a 9 fails, at its position and without text; neighbours go on."""
    tensors = safetensors.numpy.load_file(counting_pair[0] / "model.safetensors")
    tensors["model.embed_tokens.weight"][9] = np.nan
    models.write(tmp_path, json.loads((counting_pair[0] / "config.json").read_text()), tensors)
    engine = domino_jax.load(str(tmp_path), str(counting_pair[1]))
    failed, fine, at_once = engine.generate([[4], [20], [1, 9]], max_new_tokens=20)
    assert fine.output_ids == list(range(21, 29))
    for result, position in ((failed, 5), (at_once, 1)):
        assert (result.output_ids, result.text, result.finish_reason) == ([], None, "error")
        assert f"position {position} " in result.error


def test_a_draft_cannot_spoil_what_comes_before_it(counting_pair, tmp_path):
    """Token 30 is NaN through and through and only ever proposed: the text is the target's own all the same."""
    tensors = safetensors.numpy.load_file(counting_pair[0] / "model.safetensors")
    tensors["model.embed_tokens.weight"][30] = np.nan
    models.write(tmp_path, json.loads((counting_pair[0] / "config.json").read_text()), tensors)
    target = domino_jax.load(str(tmp_path))
    engine = target.with_drafter(ScriptedDrafter(np.full((2, CAPACITY), 30, np.int32), P))
    assert texts(engine, [[1], [20]]) == texts(target, [[1], [20]]) == [list(range(2, 29)), list(range(21, 29))]


def test_check_compares_bit_for_bit_and_names_the_first_difference(noisy, own_text):
    prompts = [Prompt(tuple(prompt)) for prompt in PROMPTS]
    results = noisy.generate(prompts, max_new_tokens=NEW)
    results[1].output_ids[7] += 1
    noisy.check(results, prompts, max_new_tokens=NEW)
    assert [result.check.equal for result in results] == [True, False, True]
    assert results[1].check.first_difference == 7
    best, second = noisy.best_two([*PROMPTS[1], *own_text[1][:7]])
    assert results[1].check.margin == best - second > 0
    assert jax.numpy.isfinite(best)
