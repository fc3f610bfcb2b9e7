"""What a run will do, and what it refuses to do, before anything is loaded or allocated."""

import dataclasses

import numpy as np
import pytest

from domino_jax import DraftConfig, InputError, Prompt, TargetConfig
from domino_jax.plan import Models, Options, Plan
from domino_jax.sampling import Sampling
from tests.models import draft_config, target_config

MODELS = Models(
    target=TargetConfig.from_dict(target_config()),  # 96 tokens, 256 positions
    draft=DraftConfig.from_dict(draft_config()),
    num_proposals=3,
    stop_ids=(90, 91),
    has_text=True,
    dtype=np.dtype(np.float32),
    weights=10**6,
)
WARM = {"temperature": 1.0}
PROMPT = Prompt((1, 2))
LINE = "asked.jsonl, line 7"


def plan(*prompts: Prompt, **options) -> Plan:
    return MODELS.plan(prompts, Options(**options))


def task(prompt: Prompt = PROMPT, **options):
    (only,) = plan(prompt, **options).tasks
    return only


def refusal(*prompts: Prompt, models: Models = MODELS, **options) -> str:
    with pytest.raises(InputError) as refused:
        models.plan(prompts, Options(**options))
    assert "expected" in str(refused.value)
    assert "\n" not in str(refused.value)
    return str(refused.value)


# What is planned


def test_defaults():
    """Greedy, one answer, what the context leaves up to 512 tokens, the model's stop ids, rows for all prompts up to 8."""
    made = plan(Prompt((1, 2)), Prompt((3,), id="x"))
    first, second = made.tasks
    assert (first.budget, second.budget) == (254, 255)
    assert (first.sampling, first.stop, first.stop_ids, first.min_tokens, first.sample) == (Sampling(), (), (90, 91), 0, 0)
    assert (made.batch, made.capacity) == (2, 384)


def test_answers_are_numbered_by_prompt_and_sample():
    made = plan(Prompt((1,)), Prompt((2,), n=1), Prompt((3,), id="x", n=4), n=3, **WARM)
    assert [(t.number, t.sample) for t in made.tasks] == [(0, 0), (0, 1), (0, 2), (1, 0), (2, 0), (2, 1), (2, 2), (2, 3)]
    assert [t.prompt.ids for t in made.tasks] == [(1,)] * 3 + [(2,)] + [(3,)] * 4
    assert len({dataclasses.replace(t, number=0, sample=0, prompt=Prompt((1,))) for t in made.tasks[:3]}) == 1  # nothing else differs


@pytest.mark.parametrize(("count", "batch"), [(1, 1), (8, 8), (9, 8)])
def test_the_batch_is_as_many_rows_as_answers_up_to_eight(count, batch):
    assert plan(*[Prompt((1,))] * count).batch == plan(Prompt((1,)), n=count, **WARM).batch == batch
    assert plan(*[Prompt((1,))] * count, batch_size=11).batch == 11
    assert plan(*[Prompt((1,))] * count, batch_size=1).batch == 1


def test_no_prompts():
    assert (plan().tasks, plan().batch) == ((), 1)


def test_what_a_prompt_says_itself_goes_before_the_run():
    run = dict(max_new_tokens=50, n=2, min_tokens=5, stop=["run"], stop_token_ids=[7], temperature=0.5, top_k=9, seed=3)
    own = Prompt((1,), max_new_tokens=20, n=1, min_tokens=0, stop=("own",), stop_token_ids=(8, 9), sampling={"top_k": 2, "seed": 0})
    assert task(own, **run) == dataclasses.replace(
        task(own),
        budget=20,
        min_tokens=0,
        stop=("own",),
        stop_ids=(90, 91, 8, 9),
        sampling=Sampling(0.5, top_k=2, seed=0),  # the temperature is the run's, the rest of its own
    )
    plain = plan(Prompt((1,)), **run).tasks[0]
    assert (plain.budget, plain.min_tokens, plain.stop, plain.stop_ids) == (50, 5, ("run",), (90, 91, 7))
    assert plain.sampling == Sampling(0.5, top_k=9, seed=3)


def test_a_prompt_may_take_back_what_the_run_asks():
    nothing = Prompt((1,), n=1, min_tokens=0, stop=(), stop_token_ids=(), sampling={"temperature": 0.0})
    taken = task(nothing, n=2, min_tokens=5, stop=["a"], stop_token_ids=[7], temperature=1.0)
    assert (taken.min_tokens, taken.stop, taken.stop_ids, taken.sampling.temperature) == (0, (), (90, 91), 0.0)


def test_stop_ids():
    """The model's own first, each once; `ignore_eos` forgets the model's, and those that were asked for stay."""
    assert task(stop_token_ids=[5, 91, 5]).stop_ids == (90, 91, 5)
    assert task(stop_token_ids=[5, 91], ignore_eos=True).stop_ids == (5, 91)
    assert task(ignore_eos=True).stop_ids == ()
    assert task(stop_token_ids=list(range(20))).stop_ids == (90, 91, *range(20))


def test_min_tokens_up_to_the_whole_budget():
    assert task(min_tokens=10, max_new_tokens=10).min_tokens == 10
    assert task(min_tokens=254).budget == 254  # the default budget, cut to the context


def test_integers_of_numpy():
    made = task(max_new_tokens=np.int64(5), min_tokens=np.int32(2), n=np.int64(1), stop_token_ids=[*np.array([3, 4])])
    assert (made.budget, made.min_tokens, made.stop_ids) == (5, 2, (90, 91, 3, 4))


def test_the_plan_before_loading_is_the_engines(noisy, noisy_pair):
    from domino_jax.engine import open_pair

    prompts = [Prompt((1, 2)), Prompt((3,), n=3, sampling=WARM)]
    options = dict(max_new_tokens=20, stop_token_ids=[5], min_tokens=2)
    assert open_pair(*map(str, noisy_pair)).plan(prompts, **options) == noisy.plan(prompts, **options)


# What is refused


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"n": 0}, "n is 0, expected an integer of at least 1"),
        ({"n": -1}, "n is -1, expected an integer of at least 1"),
        ({"n": True}, "n is True, expected an integer"),
        ({"n": 2.0}, "n is 2.0, expected an integer"),
        ({"n": "2"}, "n is 2, expected an integer"),
        ({"n": 2}, "n is 2 at temperature 0, expected 1"),
        ({"min_tokens": -1}, "min_tokens is -1, expected 0 to the tokens it may have, 10"),
        ({"min_tokens": 11}, "min_tokens is 11, expected 0 to the tokens it may have, 10"),
        ({"min_tokens": 1.0}, "min_tokens is 1.0, expected 0 to"),
        ({"min_tokens": True}, "min_tokens is True, expected 0 to"),
        ({"stop_token_ids": (96,)}, "stop token id 96 is outside the vocabulary, expected an integer from 0 to 95"),
        ({"stop_token_ids": (5, -1)}, "stop token id -1 is outside"),
        ({"stop_token_ids": (5.0,)}, "stop token id 5.0 is outside"),
        ({"stop_token_ids": (True,)}, "stop token id True is outside"),
        ({"stop": ("a", "")}, "stop is ('a', ''), expected a list of texts of at least one character"),
    ],
)
def test_a_bad_value_is_refused_whoever_says_it(options, words):
    """The message names the prompt by its line, its id or its number, and is the same for the run's value and its own."""
    named = [("prompt 0", {}), ("prompt x", {"id": "x"}), (LINE, {"id": "x", "where": LINE})]
    for name, fields in named:
        said = refusal(Prompt((1,), max_new_tokens=10, **fields), **options)
        assert said.startswith(f"{name}: {words}")
        own = {name: value if name in ("n", "min_tokens") else tuple(value) for name, value in options.items()}
        assert refusal(Prompt((1,), max_new_tokens=10, **fields, **own)) == said


def test_the_first_bad_prompt_is_named():
    good, bad = Prompt((1,)), Prompt((1,), min_tokens=300)
    assert refusal(good, good, bad, bad).startswith("prompt 2: min_tokens is 300")
    assert refusal(good, dataclasses.replace(bad, where=LINE)).startswith(f"{LINE}: min_tokens")


@pytest.mark.parametrize(
    ("prompt", "options", "name"),
    [
        (Prompt((1,), sampling={"temperature": 0}, where=LINE), {"n": 2, "temperature": 1.0}, LINE),
        (Prompt((1,), n=2, id="x"), {}, "prompt x"),
        (Prompt((1,), n=2, sampling={"seed": 4}), {}, "prompt 0"),
    ],
)
def test_samples_need_a_temperature_of_their_own(prompt, options, name):
    assert refusal(prompt, **options).startswith(f"{name}: n is 2 at temperature 0, expected 1 (all would be the same)")


def test_stop_texts_need_a_tokenizer():
    silent = dataclasses.replace(MODELS, has_text=False)
    said = refusal(Prompt((1,), where=LINE), models=silent, stop=["a", "b"])
    assert said == f"{LINE}: stop is ['a', 'b'] but the target has no tokenizer, expected no stop texts"
    assert silent.plan([Prompt((1,), stop=())], Options(stop=["a"])).tasks[0].stop == ()


@pytest.mark.parametrize("batch_size", [0, -3])
def test_a_batch_of_nothing_is_refused(batch_size):
    assert refusal(Prompt((1,)), batch_size=batch_size) == f"batch_size is {batch_size}, expected at least 1"


@pytest.mark.parametrize(("prompt", "name"), [(Prompt((1,)), "prompt 0"), (Prompt((1,), where=LINE), LINE)])
def test_a_prompt_without_room_is_named(prompt, name):
    assert refusal(dataclasses.replace(prompt, ids=(1,) * 300)).startswith(f"{name} has 300 tokens, expected at most 255")
    assert refusal(dataclasses.replace(prompt, max_new_tokens=256)).startswith(f"{name}: 1 prompt tokens and max_new_tokens 256 need 257")
    assert refusal(dataclasses.replace(prompt, ids=())).startswith(f"{name} is empty")


# Values of other types


@pytest.mark.parametrize("value", [2.5, True, "5"])
@pytest.mark.parametrize("name", ["max_new_tokens", "batch_size", "max_context"])
def test_a_number_that_is_no_integer_is_refused(name, value):
    assert f"{name} is {value}, expected" in refusal(Prompt((1,)), **{name: value})


@pytest.mark.parametrize("value", [2.5, True, "5"])
def test_a_prompts_own_budget_that_is_no_integer_is_refused(value):
    said = refusal(Prompt((1,), max_new_tokens=value, where=LINE))
    assert said.startswith(LINE)
    assert f"max_new_tokens is {value}, expected" in said


@pytest.mark.parametrize("options", [{"stop": "###"}, {"stop": [3]}, {"stop_token_ids": 5}])
def test_stops_that_are_no_list_are_refused(options):
    """One text would be taken for a list of its characters."""
    assert next(iter(options)) in refusal(Prompt((1,)), **options)


@pytest.mark.parametrize(
    ("sampling", "words"), [({"temperature": -1}, "temperature is -1"), ({"top_k": 1.5}, "top_k is 1.5"), ({"temprature": 1}, "temprature")]
)
def test_sampling_that_means_nothing_names_its_prompt(sampling, words):
    said = refusal(Prompt((1,)), Prompt((1,), sampling=sampling))
    assert said.startswith("prompt 1")
    assert words in said
