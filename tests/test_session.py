"""Conversations: a turn computes only what is new, and its text is what it would be without the session."""

import json

import jax
import numpy as np
import pytest
import safetensors.numpy

import domino_jax
from domino_jax import Compiled, Ended, Engine, Finished, InputError, Prompt, Started, Tokens, capacity
from domino_jax.loop import Run
from domino_jax.session import Session
from tests import models, reference

CONTEXT = 79  # 96 slots with 16 more for the last round
WARM = dict(temperature=1.0, seed=4)


@pytest.fixture(scope="module", autouse=True)
def narrow_chunks():
    """A session compiles all widths: two are enough, and the wide one may reach past the last slot."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(capacity, "PREFILL_WIDTHS", (8, 32))
        yield


@pytest.fixture(scope="module")
def random(random_pair):
    """Its drafter reads its context: a wrong one would change the proposals."""
    return domino_jax.load(*map(str, random_pair))


@pytest.fixture(scope="module")
def speaking(speaking_pair):
    return domino_jax.load(*map(str, speaking_pair))


@pytest.fixture
def prefilled(monkeypatch):
    """(offset, count) of every chunk that is dispatched."""
    chunks, original = [], Run.program

    def program(self, function, width):
        made = original(self, function, width)

        def call(*arguments):
            if function.__name__ == "prefill":
                chunks.append((int(arguments[3]), int(arguments[4])))
            return made(*arguments)

        return call

    monkeypatch.setattr(Run, "program", program)
    return chunks


def tokens(length: int, seed: int = 0) -> list[int]:
    return np.random.default_rng([length, seed]).integers(0, 29, length).tolist()


def finished(events):
    """The result of a turn."""
    *_, done, ended = events
    assert isinstance(ended, Ended)
    assert isinstance(done, Finished)
    return done.result


def ask(session: Session, ids, budget: int):
    return finished(session.stream(Prompt(tuple(ids), max_new_tokens=budget)))


def fresh(engine: Engine, ids, budget: int, trace: bool = False, **options):
    (result,) = engine.generate([Prompt(tuple(ids))], max_new_tokens=budget, max_context=CONTEXT, batch_size=1, trace=trace, **options)
    return result


def read(session: Session, ids, budget: int, count: int) -> list[int]:
    """The first `count` tokens of a turn that is then left; a few more where a round brings them together. 0: left as it starts."""
    events, found, started = session.stream(Prompt(tuple(ids), max_new_tokens=budget)), [], False
    for event in events:
        started |= isinstance(event, Started)
        found += event.ids if isinstance(event, Tokens) else ()
        if started and len(found) >= count:
            break
    events.close()
    return found


TURNS = [(tokens(20), 9), ([7], 6), (tokens(11), 1), ([], 5), (tokens(2), 8)]  # what is said, how long the answer may be


def talk(session: Session, turns=TURNS) -> list:
    """The results of turns, each after all that was said and answered before."""
    conversation, results = [], []
    for said, budget in turns:
        results.append(ask(session, [*conversation, *said], budget))
        conversation = [*results[-1].prompt_ids, *results[-1].output_ids]
    return results


# Turns


@pytest.mark.parametrize("options", [{}, WARM])
def test_turns_are_drafted_exact_and_fresh(noisy, options):
    """Bit for bit what check mode says in a session of its own; and the text of a run that knows nothing of the turns before."""
    drafted, exact = (talk(noisy.session(CONTEXT, exact=exact, **options)) for exact in (False, True))
    for ours, theirs in zip(drafted, exact, strict=True):
        assert (ours.output_ids, ours.logprobs, ours.finish_reason) == (theirs.output_ids, theirs.logprobs, theirs.finish_reason)
        assert set(theirs.acceptance_lengths) <= {1}
        anew = fresh(noisy, ours.prompt_ids, len(ours.output_ids), **options)
        assert (ours.output_ids, ours.acceptance_lengths) == (anew.output_ids, anew.acceptance_lengths)
        np.testing.assert_allclose(ours.logprobs, anew.logprobs, atol=1e-4)
    assert max(length for result in drafted for length in result.acceptance_lengths) > 3


def test_turns_of_the_step_program(noisy):
    """No drafter, one token a round: another executable, and on this pair the same text."""
    step, drafted = talk(noisy.with_drafter(None).session(CONTEXT)), talk(noisy.session(CONTEXT))
    assert [result.output_ids for result in step] == [result.output_ids for result in drafted]
    assert [result.cached_tokens for result in step] == [result.cached_tokens for result in drafted]


def test_the_drafter_keeps_its_context(random, random_pair):
    """Every proposal of every turn is the oracle's, which starts from the whole conversation."""
    oracle = models.oracle(random_pair[0])
    drafter = reference.Drafter(models.draft_config(), models.random_tensors(models.draft_config(), 1), oracle)
    session = random.session(CONTEXT)
    session.run.trace = True
    for result in talk(session, [(tokens(9), 6), ([50], 5), (tokens(4), 6)]):
        written, rounds = reference.speculate(oracle, drafter, result.prompt_ids, len(result.output_ids), 3, 0)
        assert result.output_ids == written
        assert [(entry.start, entry.verified, entry.proposals, entry.accepted) for entry in result.trace] == rounds


def test_only_what_is_new_is_prefilled(noisy, prefilled):
    """The last token of an answer too, for its keys and values come with the round after it."""
    session, conversation = noisy.session(CONTEXT), []
    for said, budget in TURNS:
        prefilled.clear()
        held = len(session.held)
        result = ask(session, [*conversation, *said], budget)
        new = len(conversation) + len(said) - held
        assert sum(count for _, count in prefilled) == new == len(said) + bool(conversation)
        assert prefilled[0][0] == result.cached_tokens == held
        conversation = [*result.prompt_ids, *result.output_ids]
        assert session.held == tuple(conversation[:-1])


def test_chunks_go_on_from_what_is_held(noisy, prefilled):
    session = noisy.session(CONTEXT)
    first = ask(session, tokens(20), 3)
    prompt = [*tokens(20), *first.output_ids, *tokens(40)]
    result = ask(session, prompt, 3)
    assert prefilled == [(0, 20), (22, 32), (54, 9)]
    assert result.output_ids == fresh(noisy, prompt, 3).output_ids


def test_a_chunk_past_the_last_slot(random):
    """32 tokens wide from position 68 of 96: its padding falls off the end, and on nothing that is there."""
    session = random.session(CONTEXT)
    session.run.trace = True
    prompt = [*tokens(60), *ask(session, tokens(60), 9).output_ids, *tokens(8)]
    result, anew = ask(session, prompt, 2), fresh(random, prompt, 2, trace=True)
    assert (result.cached_tokens, result.output_ids, result.trace) == (68, anew.output_ids, anew.trace)


def test_an_answer_token_by_token(noisy):
    """Turns of one token each are one answer; nothing but that token is prefilled."""
    whole = fresh(noisy, tokens(20), 12)
    session, conversation = noisy.session(CONTEXT), tokens(20)
    for i, token in enumerate(whole.output_ids):
        result = ask(session, conversation, 1)
        assert (result.output_ids, result.rounds, result.cached_tokens) == ([token], 0, (19 + i if i else 0))
        conversation.append(token)


def test_events_of_a_turn(noisy):
    """Programs are announced with the first turn, whatever its length; no later turn compiles anything at all."""
    engine = Engine(noisy.target, noisy.drafter, noisy.dtype, noisy.text, noisy.stop_ids)
    session = engine.session(CONTEXT)
    first = list(session.stream([1, 2]))
    announced = [event.program for event in first if isinstance(event, Compiled)]
    assert sorted(announced) == ["absorb", "absorb", "draft", "prefill", "prefill", "verify"]
    rest = first[len(announced) :]
    assert [type(event) for event in rest] == [Started, *[Tokens] * (len(rest) - 3), Finished, Ended]
    assert {event.index for event in rest[:-1]} == {0}
    compilations = []
    jax.monitoring.register_event_duration_secs_listener(lambda name, *_, **__: compilations.append(name))
    try:
        talk(session)
        talk(engine.session(CONTEXT))
    finally:
        jax.monitoring.clear_event_listeners()
    assert not [name for name in compilations if "backend_compile" in name]


# Prompts that are no continuation


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("place", [0, 1, 10, 19, 20, 24])
def test_an_edited_history_is_prefilled_from_where_it_parts(noisy, prefilled, place, exact):
    session = noisy.session(CONTEXT, exact=exact)
    conversation = [*tokens(20), *ask(session, tokens(20), 8).output_ids, 3]
    prefilled.clear()
    edited = [*conversation[:place], (conversation[place] + 1) % 29, *conversation[place + 1 :]]
    result = ask(session, edited, 10)
    assert result.cached_tokens == place
    assert (prefilled[0][0], sum(count for _, count in prefilled)) == (place, len(edited) - place)
    assert result.output_ids == fresh(noisy, edited, 10).output_ids


@pytest.mark.parametrize("length", [1, 5, 20, 23])
def test_a_shorter_prompt_is_cut_off(noisy, prefilled, length):
    """What was held beyond it is not seen: but for its last token it is there."""
    session = noisy.session(CONTEXT)
    conversation = [*tokens(20), *ask(session, tokens(20), 9).output_ids]
    prefilled.clear()
    result = ask(session, conversation[:length], 12)
    assert prefilled == [(length - 1, 1)]
    assert result.output_ids == fresh(noisy, conversation[:length], 12).output_ids
    assert session.held == (*conversation[:length], *result.output_ids[:-1])


def test_the_same_prompt_again(noisy, prefilled):
    """A prompt that is all there is computed from its last token, and answered as before."""
    session = noisy.session(CONTEXT)
    first = ask(session, tokens(20), 9)
    again = ask(session, tokens(20), 9)
    exactly_held = ask(session, session.held, 5)
    assert prefilled == [(0, 20), (19, 1), (27, 1)]
    assert again.output_ids == first.output_ids
    assert exactly_held.output_ids == fresh(noisy, [*tokens(20), *first.output_ids[:-1]], 5).output_ids


def test_another_conversation(noisy, prefilled):
    session = noisy.session(CONTEXT)
    ask(session, [5, *tokens(30)], 9)
    prefilled.clear()
    other = ask(session, [6, *tokens(9)], 9)
    assert (other.cached_tokens, prefilled) == (0, [(0, 10)])
    assert other.output_ids == fresh(noisy, [6, *tokens(9)], 9).output_ids


# Turns that end otherwise


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("count", [0, 1, 2, 7])
@pytest.mark.parametrize("options", [{}, WARM])
def test_a_turn_left_in_the_midst(noisy, prefilled, count, exact, options):
    """Its prompt is held, and whatever was read of it but for the last token; the next turn goes on from there."""
    session = noisy.session(CONTEXT, exact=exact, **options)
    found = read(session, tokens(20), 30, count)
    assert len(found) >= count
    assert session.held == (*tokens(20), *found[:-1])
    prefilled.clear()
    prompt = [*tokens(20), *found, 11]
    result = ask(session, prompt, 9)
    held = 20 + len(found[:-1])
    assert prefilled == [(held, len(prompt) - held)]
    assert result.output_ids == fresh(noisy, prompt, 9, **options).output_ids


def test_the_drafters_context_after_a_turn_left_in_the_midst(random):
    """The round that was dispatched and not read had taken in the features of the one before it."""
    for count in (1, 2, 4):
        session = random.session(CONTEXT)
        session.run.trace = True
        prompt = [*tokens(20), *read(session, tokens(20), 30, count), 11]
        result = ask(session, prompt, 9)
        assert result.cached_tokens == len(prompt) - 2
        anew = fresh(random, prompt, 9, trace=True)
        assert (result.output_ids, result.trace) == (anew.output_ids, anew.trace)


def test_a_turn_that_was_never_begun(noisy):
    session = noisy.session(CONTEXT)
    ask(session, tokens(20), 5)
    held = session.held
    session.stream(tokens(9))
    session.stream(tokens(9)).close()
    assert session.held == held


def test_an_old_turn_has_ended_when_the_next_begins(noisy):
    """Its iterator, kept and called again, neither speaks with the new turn's voice nor disturbs it."""
    session = noisy.session(CONTEXT)
    old = session.stream(Prompt(tuple(tokens(20)), max_new_tokens=30))
    while not isinstance(next(old), Tokens):
        pass
    prompt = tokens(9)
    new = session.stream(Prompt(tuple(prompt), max_new_tokens=12))
    found = []
    for event in new:
        found += event.ids if isinstance(event, Tokens) else ()
        if len(found) == 1:
            stale = next(old, None)
            assert stale is None or isinstance(stale, Ended)
    assert found == fresh(noisy, prompt, 12).output_ids


def test_a_stop_inside_a_block(counting):
    """The round brought more tokens than the answer has: they are not held."""
    session = counting.session(CONTEXT)
    first = ask(session, [20], 40)
    assert (first.output_ids, first.acceptance_lengths) == (list(range(21, 29)), [16])
    assert session.held == tuple(range(20, 28))
    second = ask(session, [*range(20, 29), 3], 4)
    assert (second.output_ids, second.cached_tokens) == ([4, 5, 6, 7], 8)


@pytest.mark.parametrize("exact", [False, True])
def test_a_stop_text(speaking, exact):
    """The device goes on in vain; the conversation goes on after the token that completed the text."""
    session = speaking.session(63, exact=exact, stop=["你"], max_new_tokens=12)
    first = finished(session.stream([ord("\n")]))
    assert (first.text, first.finish_reason, first.output_ids) == ("é", "stop", [*"é你".encode()])
    conversation = [ord("\n"), *first.output_ids]
    assert session.held == tuple(conversation[:-1])
    second = finished(session.stream([*conversation, ord("\n")]))
    assert (second.text, second.cached_tokens) == ("é", len(conversation) - 1)
    own = finished(session.stream(Prompt((*conversation, ord("\n")), stop=("🙂",))))
    assert own.text == "é你"


def test_min_tokens_and_stop_ids_are_those_of_every_turn(noisy):
    """What would be said first is a stop id, and comes only after five other tokens."""
    stop = fresh(noisy, tokens(20), 12).output_ids[0]
    options = dict(stop_token_ids=[stop], min_tokens=5)
    expected = fresh(noisy, tokens(20), 40, **options)
    assert stop not in expected.output_ids[:5]
    for exact in (False, True):
        session = noisy.session(CONTEXT, exact=exact, **options)
        for _ in range(2):
            result = ask(session, tokens(20), 40)
            assert (result.output_ids, result.finish_reason) == (expected.output_ids, expected.finish_reason)


def test_a_turn_that_fails_leaves_nothing_behind(counting_pair, tmp_path):
    """The NaN it left in the cache is not held: the next turn begins anew, and is well."""
    weights = safetensors.numpy.load_file(counting_pair[0] / "model.safetensors")
    weights["model.embed_tokens.weight"][9] = np.nan
    models.write(tmp_path, json.loads((counting_pair[0] / "config.json").read_text()), weights)
    session = domino_jax.load(str(tmp_path), str(counting_pair[1])).session(CONTEXT)
    for bad in ([1, 9], [5]):  # in the prompt, and in the answer
        assert "not finite" in ask(session, bad, 12).error
        assert session.held == ()
        well = ask(session, [20], 12)
        assert (well.output_ids, well.cached_tokens) == (list(range(21, 29)), 0)


# What is refused


def refusal(session: Session, prompt) -> str:
    with pytest.raises(InputError) as refused:
        session.stream(prompt)
    assert "expected" in str(refused.value)
    return str(refused.value)


def test_a_conversation_that_outgrows_its_context_is_refused_and_goes_on(noisy):
    session = noisy.session(CONTEXT)
    first = ask(session, tokens(20), 9)
    held = session.held
    assert "79 tokens, expected at most 78" in refusal(session, tokens(79))
    assert "60 prompt tokens and max_new_tokens 20 need 80 positions" in refusal(session, Prompt(tuple(tokens(60)), max_new_tokens=20))
    assert "32" in refusal(session, [32])
    assert "empty" in refusal(session, [])
    assert session.held == held
    prompt = [*tokens(20), *first.output_ids, 5]
    second = ask(session, prompt, 9)
    assert second.cached_tokens == len(held)
    assert second.output_ids == fresh(noisy, prompt, 9).output_ids


def test_the_context_to_its_last_position(noisy):
    session = noisy.session(CONTEXT)
    first = ask(session, tokens(50), 20)
    prompt = [*tokens(50), *first.output_ids]
    last = finished(session.stream(prompt))  # the default is what the context leaves
    assert len(last.output_ids) == CONTEXT - 70
    assert last.output_ids == fresh(noisy, prompt, 9).output_ids
    again = ask(session, tokens(20), 40)
    assert again.output_ids == fresh(noisy, tokens(20), 40).output_ids


@pytest.mark.parametrize("fields", [{"n": 2}, {"sampling": {"temperature": 1.0}}, {"min_tokens": 3}, {"stop_token_ids": (3,)}])
def test_what_a_turn_may_not_change(noisy, fields):
    assert "expected these from Engine.session" in refusal(noisy.session(CONTEXT), Prompt((1,), **fields))


@pytest.mark.parametrize(
    "options",
    [
        {"max_context": 1},
        {"max_context": 257},
        {"stop_token_ids": [32]},
        {"temperature": -1.0},
        {"min_tokens": CONTEXT},
        {"stop": ["a"]},
        {"n": 2, "temperature": 1.0},
    ],
)
def test_a_session_that_means_nothing_is_refused(noisy, options):
    """A session is one conversation: it cannot go on from several answers."""
    with pytest.raises(InputError, match="expected"):
        noisy.session(**{"max_context": CONTEXT} | options)


def test_the_default_context_is_what_both_models_were_made_for(noisy):
    assert noisy.session().options.max_context == 256


# Texts


def test_what_is_said_and_answered_joins_the_messages(speaking, prefilled):
    """A turn of the template after the other; only the new one's tokens, and the end of the last answer, are prefilled."""
    session = speaking.session(180)
    said = []
    for content in ("hi", "you"):
        prefilled.clear()
        held = session.held
        result = finished(session.say(content))
        said += [{"role": "user", "content": content}, {"role": "assistant", "content": models.TEXT}]
        assert (result.text, session.messages) == (models.TEXT, said)
        assert prefilled[0][0] == result.cached_tokens >= len(held) - len("\n\n</think>\n\n<think>") - len(models.TEXT.encode())
    whole = speaking.text.encode_chat(said[:3])
    assert result.prompt_ids == tuple(whole)


@pytest.mark.parametrize("closed", [True, False])
def test_a_text_left_in_the_midst_joins_as_far_as_it_was_read(speaking, closed):
    """Whether its reader closes it or the next turn does."""
    session = speaking.session(180, max_new_tokens=20)
    events = session.say("hi")
    while not isinstance(event := next(events), Tokens):
        pass
    if closed:
        events.close()
    assert finished(session.say("more")).text == models.TEXT
    said = ["hi", event.text, "more", models.TEXT]
    assert session.messages == [{"role": role, "content": text} for role, text in zip(["user", "assistant"] * 2, said, strict=True)]
    assert next(events, None) is None


def test_a_text_that_is_refused_joins_nothing(speaking, noisy):
    session = speaking.session(180)
    finished(session.say("hi"))
    before = [*session.messages]
    with pytest.raises(InputError, match="the conversation has"):
        session.say("x" * 200)
    assert session.messages == before
    assert finished(session.say("you")).text == models.TEXT
    with pytest.raises(InputError, match="no tokenizer"):
        noisy.session(CONTEXT).say("hi")


def test_a_session_takes_no_batch_size(random):
    with pytest.raises(InputError, match="batch_size is 3, expected none"):
        random.session(CONTEXT, batch_size=3)
