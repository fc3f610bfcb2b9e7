"""The Python interface: events, options, what is compiled when."""

import jax
import jax.numpy as jnp
import pytest

import domino_jax
from domino_jax import Compiled, DraftConfig, Ended, Engine, Finished, InputError, Prompt, Started, TargetConfig, Tokens
from tests import models


def test_events_come_in_order_and_join_to_the_result(speaking_pair):
    engine = domino_jax.load(*map(str, speaking_pair))
    events = list(engine.stream(["hi"], max_new_tokens=20))
    kinds = [type(event) for event in events if not isinstance(event, Compiled)]
    assert kinds[0] is Started
    assert kinds[-2:] == [Finished, Ended]
    assert set(kinds[1:-2]) == {Tokens}
    tokens, result = [event for event in events if isinstance(event, Tokens)], events[-2].result
    assert [token for event in tokens for token in event.ids] == result.output_ids == [*models.TEXT.encode(), models.IM_END]
    assert "".join(event.text for event in tokens) == result.text == models.TEXT
    assert (result.finish_reason, result.rounds, result.mean_acceptance_length, result.tokens_per_round) == ("stop", 1, 16.0, 9.0)
    assert result.prefill_seconds > 0 < result.decode_seconds


def test_prompts_of_every_kind(speaking_pair):
    """Text goes through the chat template; ids and Prompt objects as they are."""
    engine = domino_jax.load(*map(str, speaking_pair))
    ids = engine.text.encode_chat([{"role": "user", "content": "hi"}])
    results = engine.generate(["hi", ids, jnp.array(ids), Prompt(tuple(ids), id="mine", max_new_tokens=2)], max_new_tokens=20)
    assert [result.text for result in results] == [models.TEXT] * 3 + ["é"]
    assert [result.id for result in results] == [0, 1, 2, "mine"]
    assert len({result.prompt_ids for result in results}) == 1


def test_text_without_a_tokenizer_is_refused(counting):
    with pytest.raises(InputError, match="no tokenizer, expected token ids"):
        counting.generate(["hi"])


@pytest.mark.parametrize("option", [{"batch_size": 0}, {"batch_size": -1}, {"max_new_tokens": 0}, {"max_context": 0}])
def test_numbers_out_of_range_are_refused_at_the_call(counting, option):
    """`stream` is called and not iterated: nothing is done before the refusal."""
    with pytest.raises(InputError, match=f"{next(iter(option))} is"):
        counting.stream([[1]], **option)


def test_no_prompts(counting):
    assert counting.generate([]) == []


def test_a_bucket_compiles_once(random_pair):
    """Prompts of one bucket share their programs; a longer one compiles what its bucket needs, and says so."""
    engine = domino_jax.load(*map(str, random_pair))

    def compiled(length: int) -> list[tuple[str, int]]:
        events = engine.stream([[1] * length], max_new_tokens=8)
        return [(event.program, event.capacity) for event in events if isinstance(event, Compiled)]

    assert compiled(3) == [("prefill", 64), ("absorb", 64), ("draft", 64), ("verify", 64)]
    assert compiled(5) == compiled(9) == compiled(30) == []
    assert compiled(40) == [("prefill", 64), ("absorb", 64)]  # the next chunk width
    assert compiled(70) == [("prefill", 96), ("absorb", 96), ("draft", 96), ("verify", 96)]


def test_nothing_else_is_compiled_in_the_round_loop(random_pair):
    """A second run of the same shapes compiles nothing at all, not even a small op of the host loop."""
    engine = domino_jax.load(*map(str, random_pair))
    engine.generate([[1, 2]], max_new_tokens=8)
    compilations = []
    jax.monitoring.register_event_duration_secs_listener(lambda name, *_, **__: compilations.append(name))
    try:
        engine.generate([[3, 4, 5]], max_new_tokens=8)
    finally:
        jax.monitoring.clear_event_listeners()
    assert not [name for name in compilations if "backend_compile" in name]


def test_random_engines_are_of_the_given_shape_and_seed():
    configs = TargetConfig.from_dict(models.target_config()), DraftConfig.from_dict(models.draft_config())
    one, same, other = (Engine.random(*configs, jax.random.key(seed), "bfloat16") for seed in (0, 0, 1))
    assert one.target.layers[0].qkv_DKXH.shape == (32, 2, 4, 16)
    assert {leaf.dtype for leaf in jax.tree.leaves((one.target, one.drafter))} == {jnp.dtype(jnp.bfloat16)}
    assert one.generate([[1]], max_new_tokens=8)[0].output_ids == same.generate([[1]], max_new_tokens=8)[0].output_ids
    assert one.generate([[1]], max_new_tokens=8)[0].output_ids != other.generate([[1]], max_new_tokens=8)[0].output_ids


def test_bfloat16_equals_check_mode_bit_for_bit(noisy_pair):
    engine = domino_jax.load(*map(str, noisy_pair), dtype="bfloat16")
    prompts = [Prompt((0,)), Prompt((20, 3))]
    results = engine.generate(prompts, max_new_tokens=40)
    engine.check(results, prompts, max_new_tokens=40)
    assert all(result.check.equal for result in results)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"dtype": "float8"}, ["dtype is float8", "float32", "bfloat16"]),
        ({"num_proposals": 0}, ["num_proposals is 0", "1 to 16"]),
        ({"num_proposals": 17}, ["num_proposals is 17", "1 to 16"]),
        ({"pool_size": -1}, ["pool_size is -1"]),
    ],
)
def test_load_refuses(counting_pair, options, words):
    with pytest.raises(InputError) as refusal:
        domino_jax.load(*map(str, counting_pair), **options)
    assert all(word in str(refusal.value) for word in words)


def test_unshifted_drafters_propose_at_most_one_less(tmp_path):
    pair = models.write_counting_pair(tmp_path, shift_label=False)
    with pytest.raises(InputError, match="1 to 15"):
        domino_jax.load(*map(str, pair), num_proposals=16)


def test_a_run_of_nothing_ends_at_once(counting):
    (ended,) = counting.stream([])
    assert isinstance(ended, Ended)
    assert ended.seconds == {"prefill": 0, "draft": 0, "verify": 0, "host": 0}
    assert counting.generate([]) == []
