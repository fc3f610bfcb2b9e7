"""Continuous batching: prompts of all kinds in few slots, and every answer what it is alone.

All runs here have one shape for each batch size, as mixed as can be: greedy and drawn rows, rows that hold stop tokens back, more stop
ids than fit a first padding. Prompts go in by chunks of 8 tokens, so that a few dozen of them are many chunks.
"""

import dataclasses
import gc
import json
import time

import jax
import numpy as np
import pytest
import safetensors.numpy
from hypothesis import given, settings
from hypothesis import strategies as st

import domino_jax
from domino_jax import Compiled, Ended, Engine, Finished, Prompt, Started, Tokens, capacity, programs
from domino_jax.loop import Run
from domino_jax.plan import Task
from domino_jax.programs import Shape
from domino_jax.sampling import Sampling
from tests import models
from tests.test_sampling import chi_square, probabilities

CONTEXT, BATCHES = 79, (1, 2, 3)
SHAPES = {batch: Shape(batch, capacity=96, stop_ids=16, sampled=True, filtered=True, holding=True) for batch in BATCHES}


@pytest.fixture(scope="module", autouse=True)
def narrow_chunks():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(capacity, "PREFILL_WIDTHS", (8,))
        yield


@pytest.fixture(scope="module")
def oracle(noisy_pair):
    return models.oracle(noisy_pair[0])


def ids(length: int, seed: int = 0) -> tuple[int, ...]:
    return tuple(np.random.default_rng([length, seed]).integers(0, 29, length).tolist())


def warm(temperature: float, **others) -> dict:
    return {"temperature": temperature, **others}


PROMPTS = [
    Prompt(ids(1), max_new_tokens=1),
    Prompt(ids(40), max_new_tokens=30),
    Prompt(ids(35), max_new_tokens=12, sampling=warm(1.0, seed=5), n=3),
    Prompt(ids(17), max_new_tokens=25, stop_token_ids=(3, 17)),
    Prompt(ids(8), max_new_tokens=20, stop_token_ids=tuple(range(0, 24, 2)), min_tokens=9),
    Prompt(ids(33), max_new_tokens=9, sampling=warm(2.0, top_k=6, seed=1), n=2, stop_token_ids=(1, 2, 5, 8, 13), min_tokens=3),
    Prompt(ids(16), max_new_tokens=40),
    Prompt(ids(2), max_new_tokens=17, sampling=warm(0.7, top_p=0.9)),
    Prompt(ids(35), max_new_tokens=5, sampling=warm(1.0, seed=6)),  # the third one's tokens with other noise
]


def tasks_of(engine: Engine, prompts: list[Prompt] = PROMPTS, **options) -> tuple[Task, ...]:
    return engine.plan(prompts, max_context=CONTEXT, batch_size=1, **options).tasks


def new_run(engine: Engine, shape: Shape | int, exact: bool = False, trace: bool = False) -> Run:
    """`shape`: one of SHAPES by its batch, or another."""
    shape, drafter = SHAPES.get(shape, shape), None if exact else engine.drafter
    width = engine.num_proposals if drafter or exact else 0
    return Run(engine.target, drafter, engine.dtype, shape, width, engine.executables, engine.text, trace)


def decode(engine: Engine, tasks, shape: Shape | int, exact: bool = False, trace: bool = False) -> list:
    """The events but for compilations, which what other tests ran before decides."""
    return [event for event in new_run(engine, shape, exact, trace).events(tasks) if not isinstance(event, Compiled)]


def results_of(events) -> list:
    found = {event.index: event.result for event in events if isinstance(event, Finished)}
    return [found[index] for index in sorted(found)]


def answer(result) -> tuple:
    return result.output_ids, result.logprobs, result.finish_reason, result.prompt_ids, result.sample


def all_of(result) -> tuple:
    """With how it came about, round by round."""
    return answer(result), result.acceptance_lengths, result.trace


def texts(engine: Engine, prompts, batch: int = 2, exact: bool = False, **options) -> list[list[int]]:
    return [result.output_ids for result in results_of(decode(engine, tasks_of(engine, prompts, **options), batch, exact))]


@pytest.fixture
def dispatched(monkeypatch):
    """What runs dispatch, in order: (program, its arguments that are numbers or arrays of the host)."""
    calls, original = [], Run.program

    def program(self, function, width):
        made = original(self, function, width)

        def call(*arguments):
            calls.append((function.__name__, [a for a in arguments if isinstance(a, np.generic | np.ndarray)]))
            return made(*arguments)

        return call

    monkeypatch.setattr(Run, "program", program)
    return calls


def names(calls, *wanted: str) -> list[str]:
    return [name for name, _ in calls if name in wanted]


def chunks(calls) -> list[tuple[int, int, int, int]]:
    """Of every prefill: slot, offset, count, budget."""
    return [(int(slot), int(offset), int(count), int(budget)) for name, (slot, _, offset, count, budget) in (
        call for call in calls if call[0] == "prefill"
    )]  # fmt: skip


# Company


@pytest.fixture(scope="module")
def alone(noisy):
    """batch, exact -> every task's answer with no neighbour."""
    made = {}

    def answers(batch: int, exact: bool) -> list[tuple]:
        if (batch, exact) not in made:
            one_by_one = [results_of(decode(noisy, [task], batch, exact, trace=True)) for task in tasks_of(noisy)]
            made[batch, exact] = [all_of(result) for (result,) in one_by_one]
        return made[batch, exact]

    return answers


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("batch", BATCHES)
def test_every_answer_is_what_it_is_alone(noisy, alone, batch, exact):
    """Ids, log-probabilities, proposals and acceptance, bit for bit, whoever is in the other slots and was in one's own."""
    tasks = tasks_of(noisy)
    together = results_of(decode(noisy, tasks, batch, exact, trace=True))
    assert [all_of(result) for result in together] == alone(batch, exact)
    backwards = results_of(decode(noisy, tasks[::-1], batch, exact, trace=True))
    assert [all_of(result) for result in backwards[::-1]] == alone(batch, exact)


@settings(max_examples=30, deadline=None)
@given(batch=st.sampled_from([2, 3]), order=st.lists(st.sampled_from([*range(12), *[2, 3, 4, 11] * 3]), min_size=2, max_size=8))
def test_in_any_order_and_any_number_of_times(noisy, alone, batch, order):
    """Samples come before the first of their prompt, after it has long left, twice, and while equal prompts are on their way."""
    tasks = tasks_of(noisy)
    found = results_of(decode(noisy, [tasks[i] for i in order], batch, trace=True))
    assert [all_of(result) for result in found] == [alone(batch, False)[i] for i in order]


@pytest.mark.parametrize("batch", BATCHES)
def test_drafted_is_exact(noisy, batch):
    drafted, exact = (results_of(decode(noisy, tasks_of(noisy), batch, exact)) for exact in (False, True))
    assert [answer(result) for result in drafted] == [answer(result) for result in exact]
    assert {length for result in exact for length in result.acceptance_lengths} == {1}
    assert {1, 16} <= {length for result in drafted for length in result.acceptance_lengths}


def test_some_tasks_of_a_plan(noisy, alone):
    plan = noisy.plan(PROMPTS, max_context=CONTEXT, batch_size=2)
    some = results_of(noisy.run(plan, plan.tasks[3:6], trace=True))
    assert [all_of(result) for result in some] == alone(2, False)[3:6]
    assert [answer(result) for result in results_of(noisy.run(plan, exact=True))] == [made[0] for made in alone(2, True)]


def test_the_batch_size_does_not_change_the_text(noisy):
    """Other executables round otherwise; on this pair no token hangs on that."""
    one, two, three = (results_of(decode(noisy, tasks_of(noisy), batch)) for batch in BATCHES)
    assert [r.output_ids for r in one] == [r.output_ids for r in two] == [r.output_ids for r in three]
    assert len({tuple(r.output_ids) for r in one}) == len(one)


@pytest.mark.parametrize("exact", [False, True])
def test_a_slot_whose_prompt_comes_anew_is_no_source_until_it_is_whole(noisy, exact):
    """Equal prompts one after the other: a sample must not fork from the row where the next one's first chunk has just cleared it."""
    again, one = ids(48), dict(sampling=warm(1.0, seed=3))
    two = Prompt(again, n=2, max_new_tokens=12, **one)
    expected = texts(noisy, [two])
    for budget in range(4, 30, 2):  # in some of these runs the neighbour ends while the prompt comes in anew
        company = [Prompt(again, max_new_tokens=1, **one), Prompt((1,), max_new_tokens=budget, **one)]
        assert texts(noisy, [*company, two], exact=exact)[2:] == expected


# What happens when


def between(events, first, last) -> list:
    """The events after the one that `first` says and before the one that `last` does."""
    start = next(i for i, event in enumerate(events) if first(event))
    return events[start + 1 : next(i for i, event in enumerate(events) if last(event))]


def is_(kind: type, index: int):
    return lambda event: isinstance(event, kind) and event.index == index


@pytest.mark.parametrize("exact", [False, True])
def test_events_of_an_answer_come_in_order_and_join_to_its_result(noisy, exact):
    events = decode(noisy, tasks_of(noisy), 3, exact)
    assert isinstance(events[-1], Ended)
    assert sum(isinstance(event, Ended) for event in events) == 1
    for index, task in enumerate(tasks_of(noisy)):
        mine = [event for event in events[:-1] if event.index == index]
        assert [type(event) for event in mine] == [Started, *[Tokens] * (len(mine) - 2), Finished]
        result = mine[-1].result
        assert (result.id, result.sample, result.prompt_ids) == (task.number, task.sample, task.prompt.ids)
        assert mine[0].prompt_tokens == len(task.prompt.ids)
        assert [token for event in mine[1:-1] for token in event.ids] == result.output_ids
        assert [logprob for event in mine[1:-1] for logprob in event.logprobs] == result.logprobs
        assert len(result.logprobs) == len(result.output_ids) <= task.budget
        assert len(mine) == 2 + 1 + result.rounds
        assert [min(length - 1, len(event.ids)) for length, event in zip(result.acceptance_lengths, mine[2:-1], strict=True)] == [
            event.accepted for event in mine[2:-1]
        ]


def test_a_free_slot_takes_the_next_prompt_at_once(noisy):
    """While the long answer goes on the short ones come and go in the other slot, each in the round after the last one's end."""
    prompts = [Prompt((0,), max_new_tokens=60), *[Prompt((5 + i,), max_new_tokens=4) for i in range(5)]]
    events = decode(noisy, tasks_of(noisy, prompts), 2, exact=True)
    for index in range(2, 6):
        gap = between(events, is_(Finished, index - 1), is_(Started, index))
        assert [type(event) for event in gap] == [Tokens]  # the round that was under way
        assert gap[0].index == 0
    assert events[-2].index == 0


def test_a_long_prompt_holds_back_no_row_that_decodes(noisy):
    """Its 10 chunks go in one a round: the neighbour says a token for each."""
    prompts = [Prompt((0,), max_new_tokens=40), Prompt((5,), max_new_tokens=3), Prompt(ids(75), max_new_tokens=4)]
    events = decode(noisy, tasks_of(noisy, prompts), 2, exact=True)
    waiting = between(events, is_(Finished, 1), is_(Started, 2))
    assert [(type(event), event.index) for event in waiting] == [(Tokens, 0)] * 10


def test_two_long_prompts_come_in_together(noisy, dispatched):
    decode(noisy, tasks_of(noisy, [Prompt(ids(40), max_new_tokens=2), Prompt(ids(75), max_new_tokens=2)]), 2, exact=True)
    assert [slot for slot, *_ in chunks(dispatched)] == [0, 1] * 5 + [1] * 5


def test_chunks_of_a_prompt(noisy, dispatched):
    """Each where the last one ended, none beyond the prompt; only the last has a budget, for until then the row is frozen."""
    decode(noisy, tasks_of(noisy, [Prompt(ids(20), max_new_tokens=7), Prompt(ids(8), max_new_tokens=5)]), 1)
    assert chunks(dispatched) == [(0, 0, 8, 0), (0, 8, 8, 0), (0, 16, 4, 7), (0, 0, 8, 5)]


@pytest.mark.parametrize("exact", [False, True])
def test_rounds_do_not_touch_a_row_whose_prompt_is_coming_in(noisy, monkeypatch, exact):
    """By what the host asks for and by what the device does: the row stays done, at the length it has, and is not reported on."""
    seen, original = [], Run.round

    def round(self, rows):
        original(self, rows)
        for slot, row in self.rows.items():
            if row.is_prefilling:
                assert slot not in rows
                if row.offset:  # else its slot is as the last occupant left it
                    assert (int(self.state.length_B[slot]), bool(self.state.done_B[slot])) == (row.offset, True)
                    seen.append(row.offset)
            else:
                assert rows[slot] is row

    monkeypatch.setattr(Run, "round", round)
    decode(noisy, tasks_of(noisy), 3, exact)
    decode(noisy, tasks_of(noisy)[::-1], 3, exact)
    assert len(seen) > 30
    assert set(seen) == {8, 16, 24, 32}


# What is compiled, and what is left behind


def fresh(engine: Engine) -> Engine:
    return Engine(engine.target, engine.drafter, engine.dtype, engine.text, engine.stop_ids, engine.check_proposals)


def test_what_is_compiled_is_announced_and_nothing_at_all_on_the_second_call(noisy):
    """Not even a small operation of the host loop. What was announced is what the engine then has."""
    engine, options = fresh(noisy), dict(max_context=CONTEXT, batch_size=2)
    events = list(engine.stream(PROMPTS, **options))
    announced = [event.program for event in events if isinstance(event, Compiled)]
    assert sorted(announced) == sorted(function.__name__ for function, *_ in engine.executables)
    assert sorted(announced) == ["absorb", "copy", "draft", "fork", "prefill", "verify"]
    assert all(isinstance(event, Compiled) for event in events[: len(announced)])
    engine.generate(PROMPTS, **options)  # small operations of a run's allocation and of its first reports
    compilations = []
    jax.monitoring.register_event_duration_secs_listener(lambda name, *_, **__: compilations.append(name))
    try:
        second = list(engine.stream(PROMPTS[::-1], **options))
    finally:
        jax.monitoring.clear_event_listeners()
    assert not [event for event in second if isinstance(event, Compiled)]
    assert not [name for name in compilations if "backend_compile" in name]


def test_only_what_is_needed_is_compiled(noisy, monkeypatch):
    """Forks where there are samples, a drafter's programs where it drafts, the widths that the prompts have."""
    monkeypatch.setattr(programs, "compile_ahead", lambda *_: programs.Executable(None, (), 0.0, False))

    def compiled(exact: bool = False, **fields) -> list[str]:
        engine = fresh(noisy)
        run = new_run(engine, 1, exact)
        assert [event.program for event in run.compile(tasks_of(engine, [Prompt((1,), **fields)]))] == [
            function.__name__ for function, *_ in engine.executables
        ]
        assert {(width, shape) for function, width, shape in engine.executables if function is programs.prefill} == {(8, SHAPES[1])}
        return [function.__name__ for function, *_ in engine.executables]

    assert compiled() == compiled(sampling=warm(1.0)) == ["prefill", "absorb", "draft", "verify"]
    assert compiled(sampling=warm(1.0), n=2) == ["prefill", "absorb", "fork", "copy", "draft", "verify"]
    assert compiled(exact=True) == ["prefill", "verify"]
    assert compiled(exact=True, sampling=warm(1.0), n=2) == ["prefill", "fork", "verify"]


def test_memory_is_flat(noisy):
    """No array outlives a run, whether it was read to its end or left in the midst."""

    def whole():
        decode(noisy, tasks_of(noisy), 2)

    def left():
        events = new_run(noisy, 2).events(tasks_of(noisy))
        while not isinstance(next(events), Tokens):
            pass
        events.close()

    def living(act) -> int:
        act()
        gc.collect()
        return len(jax.live_arrays())

    living(whole)
    assert living(whole) == living(left) == living(whole)


def test_memory_is_flat_within_a_run(noisy):
    """A hundred answers hold no more arrays than ten: whatever a row had on the device goes with it."""

    def most(count: int) -> int:
        prompts = [Prompt(ids(3, seed), max_new_tokens=3, sampling=warm(1.0), n=2) for seed in range(count)]
        run = new_run(noisy, 2)
        return max(len(jax.live_arrays()) for event in run.events(tasks_of(noisy, prompts)) if isinstance(event, Finished))

    most(5)
    gc.collect()
    few = most(5)
    gc.collect()
    assert most(50) <= few + 4


def test_seconds(noisy):
    """The parts make up the wall clock, and a row's waits are within its own time."""
    events = new_run(noisy, 2).events(tasks_of(noisy))
    list(new_run(noisy, 2).events(tasks_of(noisy)))
    began = time.perf_counter()
    found = list(events)
    wall = time.perf_counter() - began
    seconds = found[-1].seconds
    assert set(seconds) == {"prefill", "draft", "verify", "host"}
    assert all(value > 0 for value in seconds.values())
    assert 0.8 * wall - 0.05 < sum(seconds.values()) <= wall
    for result in results_of(found):
        assert 0 < result.prefill_seconds <= wall
        assert 0 <= result.draft_seconds + result.verify_seconds <= result.decode_seconds <= wall
        assert (result.verify_seconds > 0) == (result.rounds > 0)
    assert max(result.verify_seconds for result in results_of(found)) <= seconds["verify"]
    assert max(result.draft_seconds for result in results_of(found)) <= seconds["draft"]


def test_seconds_of_a_row_alone(noisy):
    """All the waits are its own."""
    events = decode(noisy, tasks_of(noisy)[1:2], 1)
    (result,), seconds = results_of(events), events[-1].seconds
    assert seconds["draft"] == pytest.approx(result.draft_seconds, abs=1e-9)
    assert seconds["verify"] == pytest.approx(result.verify_seconds, abs=1e-9)
    assert seconds["prefill"] <= result.prefill_seconds


# Samples


def samples(engine: Engine, batch: int, n: int, exact: bool = False, **options) -> list:
    prompt = Prompt(ids(35), max_new_tokens=20, sampling=warm(1.0, seed=8), n=n)
    return results_of(decode(engine, tasks_of(engine, [prompt], **options), batch, exact))


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("batch", BATCHES)
def test_a_prompt_is_prefilled_once_for_all_its_samples(noisy, dispatched, batch, exact):
    """With one slot too: its prompt is still there when the next sample takes it."""
    prompts = [Prompt(ids(20), max_new_tokens=9), Prompt(ids(35), max_new_tokens=6, sampling=warm(1.0), n=5)]
    found = results_of(decode(noisy, tasks_of(noisy, prompts), batch, exact))
    assert sum(count for _, _, count, _ in chunks(dispatched)) == 20 + 35
    assert names(dispatched, "fork", "copy") == ["fork"] * 4 if exact else ["fork", "copy"] * 4
    assert [result.cached_tokens for result in found] == [0, 0, 35, 35, 35, 35]


def test_a_sample_is_the_same_in_any_company(noisy):
    """Alone with its prompt prefilled anew, forked in one slot or in many, as one of few or of many."""
    together = [result.output_ids for result in samples(noisy, 3, 5)]
    assert len({tuple(text) for text in together}) == 5
    for batch in BATCHES:
        assert [result.output_ids for result in samples(noisy, batch, 4)] == together[:4]
        for i, task in enumerate(tasks_of(noisy, [Prompt(ids(35), max_new_tokens=20, sampling=warm(1.0, seed=8), n=3)])):
            (result,) = results_of(decode(noisy, [task], batch))
            assert (result.output_ids, result.sample) == (together[i], i)
    assert [samples(noisy, 2, 1)[0].output_ids] == together[:1]


def test_a_forked_row_has_the_drafters_context(random_pair):
    """A drafter that reads its context proposes for each sample what it proposes where the prompt was prefilled."""
    engine = domino_jax.load(*map(str, random_pair))
    shape = Shape(2, 64, 8, sampled=True)
    tasks = tasks_of(engine, [Prompt(ids(32), max_new_tokens=12, sampling=warm(1.0), n=3)])
    for task, forked in zip(tasks, results_of(decode(engine, tasks, shape, trace=True)), strict=True):
        (anew,) = results_of(decode(engine, [task], shape, trace=True))
        assert all_of(forked) == all_of(anew)


def test_samples_of_two_prompts_in_two_slots(noisy):
    """Each forks from the slot that has its prompt."""
    first, second = (Prompt(ids(length), max_new_tokens=6, sampling=warm(1.0), n=4) for length in (20, 35))
    assert texts(noisy, [first, second]) == texts(noisy, [first]) + texts(noisy, [second])
    assert texts(noisy, [first, second], 3, exact=True) == texts(noisy, [first]) + texts(noisy, [second])


def test_a_prompt_that_fails_fails_in_each_of_its_samples(counting_pair, tmp_path):
    """And whoever comes after them into these slots is well."""
    tensors = safetensors.numpy.load_file(counting_pair[0] / "model.safetensors")
    tensors["model.embed_tokens.weight"][9] = np.nan
    models.write(tmp_path, json.loads((counting_pair[0] / "config.json").read_text()), tensors)
    engine = domino_jax.load(str(tmp_path), str(counting_pair[1]))
    bad, good = Prompt((1, 9), sampling=warm(1.0), n=3), Prompt((20,))
    found = results_of(decode(engine, tasks_of(engine, [bad, good, bad, good], max_new_tokens=8), 2))
    assert [result.finish_reason for result in found] == ["error"] * 3 + ["stop"] + ["error"] * 3 + ["stop"]
    assert found[3].output_ids == found[7].output_ids == list(range(21, 29))
    assert {(len(r.output_ids), len(r.logprobs), r.text) for r in found if r.error} == {(0, 0, None)}


def first_tokens(engine: Engine, prompt: Prompt, tokens: int, **options) -> list[tuple[int, ...]]:
    return [tuple(text[:tokens]) for text in texts(engine, [prompt], 3, **options)]


def test_samples_are_independent_draws(noisy, oracle):
    """Of one seed 600 samples: each by the distribution, and neighbours not together more often than chance has it."""
    prompt, sampling, many = ids(3), Sampling(4.0, top_k=4, seed=11), 600
    expected = probabilities(oracle(prompt)[0][-1], sampling)
    asked = Prompt(prompt, max_new_tokens=1, n=many, sampling=warm(4.0, top_k=4, seed=11))
    drawn = np.array(first_tokens(noisy, asked, 1))[:, 0]
    kept = np.flatnonzero(expected)
    assert len(kept) == 4
    assert abs(chi_square(np.bincount(drawn, minlength=32), expected)) < 5
    place = np.searchsorted(kept, drawn)
    pairs = np.outer(expected[kept], expected[kept]).ravel()
    for step in (1, 2):
        assert abs(chi_square(np.bincount(place[:-step] * 4 + place[step:], minlength=16), pairs)) < 5


def test_samples_of_many_seeds_are_independent(noisy, oracle):
    """The first three samples of 300 seeds, jointly: noise shared between samples would make them equal too often."""
    prompt, many = ids(3), 300
    sampling = Sampling(6.0, top_k=3)
    expected = probabilities(oracle(prompt)[0][-1], sampling)
    prompts = [Prompt(prompt, max_new_tokens=1, n=3, sampling=warm(6.0, top_k=3, seed=seed)) for seed in range(many)]
    drawn = np.array(texts(noisy, prompts, 3)).reshape(many, 3)
    kept = np.flatnonzero(expected)
    place = np.searchsorted(kept, drawn)
    shares = np.einsum("i,j,k->ijk", *[expected[kept]] * 3).ravel()
    assert abs(chi_square(np.bincount(place @ [9, 3, 1], minlength=27), shares)) < 5


# Log-probabilities


TEXT = models.TEXT.encode()  # the speaking pair's ids are bytes


@pytest.fixture(scope="module")
def speaking(speaking_pair):
    return domino_jax.load(*map(str, speaking_pair))


@pytest.fixture(scope="module")
def speak_up(speaking):
    """The events of the answer to a line end: TEXT and a stop token, all in one block."""
    shape = Shape(1, 64, 8, holding=True)

    def speak(exact: bool = False, **fields) -> list:
        prompt = Prompt((ord("\n"),), max_new_tokens=20, **fields)
        return decode(speaking, speaking.plan([prompt], max_context=47).tasks, shape, exact)

    return speak


def log_softmax(logits: np.ndarray) -> np.ndarray:
    fall = logits - logits.max(-1, keepdims=True)
    return fall - np.log(np.exp(fall).sum(-1, keepdims=True))


@pytest.mark.parametrize("exact", [False, True])
def test_logprobs_are_the_oracles(noisy, oracle, exact):
    """Greedy and drawn, filtered and held back: what the target gives to the token at temperature 1, before all that."""
    for result in results_of(decode(noisy, tasks_of(noisy), 3, exact)):
        whole = [*result.prompt_ids, *result.output_ids]
        expected = log_softmax(oracle(whole)[0])[len(result.prompt_ids) - 1 : -1]
        np.testing.assert_allclose(result.logprobs, expected[np.arange(len(result.output_ids)), result.output_ids], atol=1e-4)
        assert max(result.logprobs) <= 0


def test_logprobs_of_a_token_that_filters_make_certain(noisy, oracle):
    """Of one candidate the filtered probability is 1, and the target's is not."""
    (result,) = results_of(decode(noisy, tasks_of(noisy, [Prompt(ids(3), max_new_tokens=4, sampling=warm(3.0, top_k=1))]), 2))
    expected = log_softmax(oracle([*ids(3), *result.output_ids])[0])[2:-1].max(-1)
    np.testing.assert_allclose(result.logprobs, expected, atol=1e-4)
    assert max(result.logprobs) < -0.01


def test_logprobs_of_the_step_program(noisy, oracle):
    """Another executable: nearly the same numbers."""
    (step,) = results_of(decode(noisy.with_drafter(None), tasks_of(noisy, [Prompt(ids(3), max_new_tokens=10)]), 1))
    expected = log_softmax(oracle([*ids(3), *step.output_ids])[0])[2:-1]
    np.testing.assert_allclose(step.logprobs, expected[np.arange(10), step.output_ids], atol=1e-4)


def test_logprobs_are_cut_with_the_tokens(speak_up):
    """A stop text inside an accepted block: tokens that came after it are gone, and so are their numbers."""
    (whole,), events = results_of(speak_up()), speak_up(stop=("你",))
    (cut,) = results_of(events)
    assert cut.output_ids == list("é你".encode()) == whole.output_ids[: len(cut.output_ids)]
    assert cut.logprobs == whole.logprobs[:5]
    assert [x for event in events if isinstance(event, Tokens) for x in event.logprobs] == cut.logprobs


# Tokens before a stop


def masked_greedy(oracle, prompt, new: int, stops: set[int], least: int) -> list[int]:
    """Greedy decoding by the oracle, where the stop tokens have no logits for the first `least` tokens."""
    written = []
    while len(written) < new and not (written and written[-1] in stops):
        logits = oracle([*prompt, *written])[0][-1]
        if len(written) < least:
            logits[list(stops)] = -np.inf
        written.append(int(logits.argmax()))
    return written


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("length", [3, 35])
def test_min_tokens(noisy, oracle, length, exact):
    """Stop ids that are said all the time; every m in one batch, the text as if those logits were missing for so long."""
    stops = tuple(range(0, 30, 3))
    prompts = [Prompt(ids(length), max_new_tokens=20, stop_token_ids=stops, min_tokens=least) for least in (*range(5), 17, 20)]
    for prompt, text in zip(prompts, texts(noisy, prompts, 3, exact), strict=True):
        assert text == masked_greedy(oracle, prompt.ids, 20, {*stops, 30}, prompt.min_tokens)
        assert not {*text[: prompt.min_tokens]} & {*stops}
        assert len(text) >= prompt.min_tokens
        if len(text) < 20:
            assert text[-1] in stops


def test_min_tokens_of_a_run_and_of_its_whole_budget(noisy):
    """The stop id may be the last token of the budget where one more than `min_tokens` is written, not where all are."""
    free = texts(noisy, [Prompt(ids(16), max_new_tokens=20)])[0]
    place = next(i for i in range(3, 20) if free[i] not in free[:i])
    ask = dict(max_new_tokens=place + 1, stop_token_ids=(free[place],))
    prompts = [Prompt(ids(16), min_tokens=least, **ask) for least in (0, place, place + 1)]
    none, before, at = results_of(decode(noisy, tasks_of(noisy, prompts), 2))
    assert none.output_ids == before.output_ids == free[: place + 1]
    assert (none.finish_reason, before.finish_reason, at.finish_reason) == ("stop", "stop", "length")
    assert at.output_ids[:-1] == free[:place]
    assert at.output_ids[-1] != free[place]


def test_rows_that_ask_for_nothing_are_as_in_runs_that_know_nothing_of_it(noisy):
    """A greedy and a drawn row in a run whose programs neither hold back nor filter, and among rows that want both."""
    prompts = [Prompt(ids(3), min_tokens=0), Prompt(ids(35), sampling=warm(1.0, seed=2))]
    ask = dict(max_new_tokens=20, stop_token_ids=[9])
    plain = noisy.generate(prompts, max_context=CONTEXT, batch_size=2, **ask)
    company = Prompt((1,), min_tokens=4, sampling=warm(1.0, top_k=4))
    assert texts(noisy, [*prompts, company], **ask)[:2] == [result.output_ids for result in plain]


def test_what_is_held_back_leaves_its_share_to_the_others(noisy, oracle):
    """Two tokens, the likeliest four of each a stop: they are drawn from the rest, the second through verification."""
    prompt, sampling, many = ids(3), Sampling(5.0, top_k=3), 700
    stops = [int(token) for token in np.argsort(-oracle(prompt)[0][-1])[:4]]

    def shares(text):
        logits = oracle([*prompt, *text])[0][-1].copy()
        logits[[*stops, 30]] = -np.inf
        return probabilities(logits, sampling)

    expected = {
        (int(a), int(b)): shares(())[a] * shares((int(a),))[b]
        for a in np.flatnonzero(shares(()))
        for b in np.flatnonzero(shares((int(a),)))
    }
    asked = Prompt(prompt, max_new_tokens=2, n=many, sampling=warm(5.0, top_k=3), stop_token_ids=tuple(stops), min_tokens=2)
    found = first_tokens(noisy, asked, 2)
    counts = np.array([found.count(text) for text in expected])
    assert len(expected) == 9
    assert counts.sum() == many
    assert abs(chi_square(counts, np.array(list(expected.values())))) < 5


@pytest.mark.parametrize("exact", [False, True])
def test_stop_texts_wait_for_min_tokens_too(speak_up, exact):
    """TEXT is 9 bytes, é of two, 你 of three: a stop text that is complete, or begun, within the first tokens does not count."""

    def said(least: int, stop: str) -> tuple[str, int]:
        (result,) = results_of(speak_up(exact, stop=(stop,), min_tokens=least))
        return result.text, len(result.output_ids)

    whole = models.TEXT, 10
    assert [said(least, "é") for least in (0, 2, 5)] == [("", 2), whole, whole]
    assert [said(least, "你") for least in (0, 2, 5, 9)] == [("é", 5), ("é", 5), whole, whole]
    assert [said(least, "é你") for least in (0, 2)] == [("", 5), whole]


# Stop ids


@pytest.mark.parametrize("exact", [False, True])
def test_every_row_has_its_own_stop_ids(noisy, exact):
    """The same prompt with other ids in one batch: each ends with the first of its own, which is part of its ids."""
    free = texts(noisy, [Prompt(ids(3), max_new_tokens=30)])[0]
    sets = [(free[0],), (free[4], free[9]), (free[9],), (31,), tuple(token for token in range(30) if token not in free[:3])[:14]]
    assert len(sets[-1]) == 14
    prompts = [Prompt(ids(3), max_new_tokens=30, stop_token_ids=stops) for stops in sets]
    for stops, result in zip(sets, results_of(decode(noisy, tasks_of(noisy, prompts), 3, exact)), strict=True):
        end = next((i + 1 for i, token in enumerate(free) if token in stops), 30)
        assert result.output_ids == free[:end]
        assert result.finish_reason == ("stop" if end < 30 or free[-1] in stops else "length")


def test_ids_that_were_asked_for_stop_where_the_models_own_are_ignored(noisy):
    free = texts(noisy, [Prompt(ids(16), max_new_tokens=30)])[0]
    own, asked = (next(i for i in range(low, 30) if free[i] not in free[:i]) for low in (2, 6))
    engine = dataclasses.replace(noisy, stop_ids=(free[own],))
    prompt = Prompt(ids(16), max_new_tokens=30, stop_token_ids=(free[asked],))
    for end, options in ((own, {}), (asked, {"ignore_eos": True})):
        (result,) = results_of(decode(engine, tasks_of(engine, [prompt], **options), 2))
        assert (result.output_ids, result.finish_reason) == (free[: end + 1], "stop")


def test_a_stop_id_is_in_the_ids_and_not_in_the_text(speak_up):
    first, last = TEXT[2], TEXT[4]  # of the three bytes of 你
    for stop, text in ((first, "é"), (last, "é\ufffd")):  # what a stop token would have ended is left unfinished
        (result,) = results_of(speak_up(stop_token_ids=(stop,)))
        assert result.output_ids == [*TEXT[: TEXT.index(stop) + 1]]
        assert (result.text, result.finish_reason) == (text, "stop")
