"""Conversations: what each turn asks, and how long its answers may be."""

import dataclasses

import pytest

from domino_jax.conversations import Conversation, converse, messages
from domino_jax.errors import InputError
from domino_jax.events import Prompt, Result
from domino_jax.prompts import Request
from domino_jax.text import Text
from tests import models


@pytest.fixture(scope="module")
def text(tmp_path_factory) -> Text:
    directory = tmp_path_factory.mktemp("tokenizer")
    models.write_tokenizer(directory)
    return Text(directory)


def talk(text, *turns: str, tokens: int | None = 8, context: int = 2048, **more) -> Conversation:
    return Conversation.of(Request("f.jsonl, line 3", turns=turns, **more), text, tokens, context)


def answers(asked: list[Prompt], said: str) -> list[Result]:
    return [Result(prompt.id, prompt.ids, output_ids=[1, 2], text=said) for prompt in asked]


def test_messages_take_turns():
    assert messages(["a", "b", "c"], []) == [{"role": "user", "content": "a"}]
    assert [(m["role"], m["content"]) for m in messages(["a", "b", "c"], ["x", "y"])] == [
        ("user", "a"), ("assistant", "x"), ("user", "b"), ("assistant", "y"), ("user", "c"),
    ]  # fmt: skip


def test_a_turn_is_asked_after_the_answers_before_it(text):
    one, two = talk(text, "Hi", "And?", id=5), talk(text, "Bye")
    seen = []

    def ask(asked):
        seen.append(asked)
        return answers(asked, f"answer {len(seen)}"), 0.5

    found = converse([one, two], ask)
    assert found.seconds == 1.0
    assert [[row.text for row in rows] for rows in found.rows] == [["answer 1", "answer 2"], ["answer 1"]]
    assert [[prompt.where for prompt in asked] for asked in seen] == [["f.jsonl, line 3, turn 1"] * 2, ["f.jsonl, line 3, turn 2"]]
    (last,) = seen[1]
    said = messages(["Hi", "And?"], ["answer 1"])
    assert list(last.ids) == text.encode_chat(said)
    assert (last.id, last.max_new_tokens) == (5, 8)
    assert list(seen[0][0].ids) == text.encode_chat(said[:1])


def test_a_history_goes_before_the_own_answers(text):
    """Whatever a drafter's run says, its second turn is the one that target-only was asked."""
    seen = []

    def ask(asked):
        seen.append(asked)
        return answers(asked, "other"), 0.0

    plain = [[Result(0, (1,), text="first"), Result(0, (1,), text="second")]]
    found = converse([talk(text, "Hi", "And?")], ask, plain)
    assert list(seen[1][0].ids) == text.encode_chat(messages(["Hi", "And?"], ["first"]))
    assert [row.text for row in found.rows[0]] == ["other", "other"]


def test_a_plain_prompt_is_one_turn():
    ids = Conversation.of(Request("here", ids=(1, 2, 3), max_new_tokens=4, stop_token_ids=(9,)), None, 8, 64)
    assert ids.prompt([]) == ids.longest() == Prompt((1, 2, 3), max_new_tokens=4, where="here", stop_token_ids=(9,))


@pytest.mark.parametrize(("tokens", "context", "budget"), [(8, 60, 8), (None, 2048, 512), (None, 60, 57), (None, 3, 1)])
def test_the_budget_of_a_plain_prompt(tokens, context, budget):
    assert Conversation.of(Request("here", ids=(1, 2, 3)), None, tokens, context).budget == budget


def test_turns_share_what_the_context_leaves(text):
    fixed = len(text.encode_chat(messages(["Hi", "And?"], [""])))
    two = talk(text, "Hi", "And?", tokens=None, context=fixed + 101)
    assert two.budget == 50
    longest = two.longest()
    assert len(longest.ids) + longest.max_new_tokens == fixed + 100
    assert longest.where == "f.jsonl, line 3, turn 2 after answers of 50 tokens"


def test_an_answer_that_comes_back_longer_leaves_less_for_the_next(text):
    two = talk(text, "Hi", "And?", context=128)
    fixed = len(two.prompt([""]).ids)
    assert two.prompt(["x" * 8]).max_new_tokens == 8
    assert two.prompt(["x" * (128 - fixed - 3)]).max_new_tokens == 3
    assert two.prompt(["x" * 128]).max_new_tokens == 1  # which the plan refuses, by name


def test_turns_need_a_tokenizer():
    with pytest.raises(InputError, match=r"^f.jsonl, line 3, turn 2: is text but the target's directory has no tokenizer"):
        talk(None, "Hi", "And?").longest()


def test_the_seed_of_a_line_holds_in_all_turns(text):
    two = dataclasses.replace(talk(text, "Hi", "And?", sampling={"seed": 3}))
    assert [two.prompt(said).sampling for said in ([], ["x"])] == [{"seed": 3}] * 2
