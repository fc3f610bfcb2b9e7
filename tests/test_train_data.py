"""Training sequences: what each kind of line becomes, what is refused, and an order that a seed fixes."""

import json
from pathlib import Path

import numpy as np
import pytest

from domino_jax.errors import InputError
from domino_jax.text import Text
from domino_jax.train import data
from domino_jax.train.data import Batches, Examples, pack, read_examples, widths
from tests import models


@pytest.fixture(scope="module")
def text(speaking_pair) -> Text:
    return Text.load(speaking_pair[0])


@pytest.fixture
def read(tmp_path, text):
    """Reads lines, objects or texts, as the examples of a file."""

    def read(*lines, text=text, max_length: int = 200) -> Examples:
        path = tmp_path / "data.jsonl"
        path.write_text("\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines), encoding="utf-8")
        return read_examples(path, text, (models.IM_END, 0), 288, max_length)

    return read


def parts(examples: Examples, i: int = 0) -> tuple[bytes, bytes]:
    """The characters of a sequence that do not count and those that do, special tokens as their low byte."""
    ids, mask = examples[i]
    low = (ids % 256).astype(np.uint8)
    return low[~mask].tobytes(), low[mask].tobytes()


def rendered(*turns: tuple[str, str]) -> bytes:
    """What the template makes of a conversation, up to the assistant's turn."""
    start, end, think, end_think = (bytes([token % 256]) for token in (models.IM_START, models.IM_END, models.THINK, models.END_THINK))
    told = b"".join(start + f"{role}\n{content}".encode() + end + b"\n" for role, content in turns)
    return told + start + b"assistant\n" + think + b"\n\n" + end_think + b"\n\n"


END = bytes([models.IM_END % 256])


def test_token_ids(read):
    ids, mask = read({"id": 3, "prompt_ids": [5, 6], "output_ids": [7, 8, 9], "finish_reason": "stop"}, text=None)[0]
    assert (ids.tolist(), mask.tolist()) == ([5, 6, 7, 8, 9], [False, False, True, True, True])


def test_prompt_and_answer(read):
    """As served: one user turn of the chat template, the answer, and the first stop id, which the drafter must propose too."""
    assert parts(read({"prompt": "why?", "answer": "so."})) == (rendered(("user", "why?")), b"so." + END)


def test_every_assistant_turn_is_a_sequence(read):
    turns = [("system", "be"), ("user", "hi"), ("assistant", "yes"), ("user", "and"), ("assistant", "no")]
    examples = read({"messages": [{"role": role, "content": content} for role, content in turns]})
    assert len(examples) == 2
    assert parts(examples, 0) == (rendered(*turns[:2]), b"yes" + END)
    assert parts(examples, 1) == (rendered(*turns[:4]), b"no" + END)


def test_text_counts_from_its_first_token(read):
    assert parts(read({"text": "abc"})) == parts(read({"text": "abc", "prompt": "of no answer"})) == (b"", b"abc")


def test_kinds_may_be_mixed_and_lines_blank(read):
    examples = read({"text": "ab"}, "", {"prompt": "p", "answer": "a"}, "  ", {"prompt_ids": [1], "output_ids": [2, 3]})
    assert [len(examples[i][0]) for i in (0, 2)] == [2, 3]
    assert len(examples) == 3
    assert examples.dropped == 0


def test_sequences_are_cut_at_max_length_and_dropped_where_nothing_is_left(read):
    """A block needs two supervised tokens in a row."""
    lines = [{"prompt_ids": [1] * prompt, "output_ids": [2] * output} for prompt, output in ((1, 9), (4, 9), (5, 9), (2, 1), (0, 2))]
    examples = read(*lines, max_length=6)
    assert [(len(ids), int(mask.sum())) for ids, mask in (examples[i] for i in range(len(examples)))] == [(6, 5), (6, 2), (2, 2)]
    assert examples.dropped == 2


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "is not JSON"),
        ("[1]", "is no training sequence, expected an object with prompt_ids and output_ids, or messages, or prompt and answer, or text"),
        ({"prompt": "without answer"}, "is no training sequence"),
        ({"prompt_ids": [1, 288], "output_ids": [2, 3]}, "token id 288 is outside the vocabulary, expected an integer from 0 to 287"),
        ({"prompt_ids": [1], "output_ids": [2, -1]}, "token id -1 is outside"),
        ({"prompt_ids": [1], "output_ids": [2, True]}, "token id True is outside"),
        ({"prompt_ids": [1], "output_ids": [2, 1.0]}, "token id 1.0 is outside"),
        ({"prompt_ids": 1, "output_ids": [2, 3]}, "prompt_ids is 1, expected a list"),
        ({"prompt_ids": [1], "output_ids": None}, "output_ids is null, expected a list"),
        ({"text": 5}, "text is 5, expected a text"),
        ({"prompt": "p", "answer": None}, "answer is null, expected a text"),
        ({"messages": "hi"}, 'messages is "hi", expected a list'),
        ({"messages": [{"role": "user"}]}, "messages are malformed"),
        ({"messages": [{"role": "user", "content": "u"}, {"role": "assistant", "content": None}]}, "messages are malformed"),
    ],
)
def test_a_bad_line_is_refused_by_its_number(read, line, message):
    with pytest.raises(InputError, match=r"data\.jsonl, line 2: ") as refused:
        read({"text": "good"}, line)
    assert message in str(refused.value)


def test_text_without_a_tokenizer_or_template_is_refused(read, tmp_path):
    with pytest.raises(InputError, match=r"line 1: holds text but .* no tokenizer"):
        read({"text": "abc"}, text=None)
    models.write_tokenizer(tmp_path, chat_template=False)
    with pytest.raises(InputError, match=r"line 1: .* no chat template"):
        read({"prompt": "p", "answer": "a"}, text=Text.load(tmp_path))


def test_a_file_with_nothing_to_learn_is_refused(read, tmp_path):
    with pytest.raises(InputError, match=r"data\.jsonl: holds no sequence"):
        read({"text": "a"})
    with pytest.raises(InputError, match=r"none\.jsonl: cannot be read \(No such file"):
        read_examples(Path(tmp_path / "none.jsonl"), None, (), 288, 9)


# Order


def numbered(count: int) -> Examples:
    """Sequence i is i + 1 tokens long and says i + 1."""
    return pack(iter([([], [i + 1] * (i + 1)) for i in range(1, count + 1)]), 100, "numbers")


def test_every_epoch_is_a_permutation_of_its_own():
    batches = Batches(numbered(10), 3, 12, seed=1)
    epochs = [np.concatenate([batches.indices(3 * epoch + place) for place in range(3)]).tolist() for epoch in range(4)]
    assert all(len(set(epoch)) == 9 for epoch in epochs)
    assert len({tuple(epoch) for epoch in epochs}) == 4
    assert set().union(*epochs) == {*range(10)}  # what one epoch leaves out, another takes


def test_a_batch_is_a_function_of_seed_and_number():
    """Whatever was asked before, and of which object."""
    first = {number: Batches(numbered(10), 3, 12, seed=1).batch(number) for number in range(8)}
    other = Batches(numbered(10), 3, 12, seed=1)
    for number in (7, 0, 3, 3, 1):
        assert all(np.array_equal(ours, theirs) for ours, theirs in zip(first[number], other.batch(number), strict=True))
    assert not all(np.array_equal(first[number][0], Batches(numbered(10), 3, 12, seed=2).batch(number)[0]) for number in first)


def test_batches_are_padded_on_the_right():
    batches = Batches(numbered(10), 3, 12, seed=1)
    tokens, supervised = batches.batch(0)
    assert tokens.shape == supervised.shape == (3, 12)
    for row, i in enumerate(batches.indices(0)):
        length = i + 2
        assert tokens[row].tolist() == [length] * length + [0] * (12 - length)
        assert supervised[row].tolist() == [True] * length + [False] * (12 - length)


@pytest.mark.parametrize(
    ("max_length", "expected"),
    [
        (3072, [384, 768, 1536, 3072]),
        (1024, [128, 256, 512, 1024]),
        (384, [192, 384]),
        (1000, [128, 256, 504, 1000]),
        (255, [255]),
        (2, [2]),
    ],
)
def test_widths(max_length, expected):
    assert widths(max_length) == expected


def of_lengths(lengths) -> Examples:
    """Sequence i holds i alone."""
    return pack(iter([([], [i] * n) for i, n in enumerate(lengths)]), 1024, "numbers")


@pytest.mark.parametrize("together", [1, 3])
def test_sequences_of_like_length_share_a_batch(together):
    lengths = np.random.default_rng(0).permutation([2, 20, 128] * 9 + [129, 256] * 5 + [257] * 3 + [1024] * 8)
    batches = Batches(of_lengths(lengths), 4, 1024, seed=3, together=together)
    per_epoch = len(lengths) // (4 * together) * together
    for first in (0, per_epoch):
        numbers = range(first, first + per_epoch)
        shown = np.concatenate([batches.indices(number) for number in numbers])
        assert len({*shown.tolist()}) == len(shown) == 4 * per_epoch  # each at most once
        for number in numbers:
            tokens, supervised = batches.batch(number)
            longest = max(
                lengths[batches.indices(n)].max() for n in range(number - number % together, number - number % together + together)
            )
            assert tokens.shape[1] == batches.width(number) == min(width for width in widths(1024) if width >= longest)
            assert supervised.sum(1).tolist() == lengths[batches.indices(number)].tolist()
    padded = sum(4 * batches.width(number) for number in range(per_epoch))
    assert padded < 0.6 * 4 * per_epoch * 1024
    order = [batches.width(number) for number in range(per_epoch)]
    assert order not in (sorted(order), sorted(order)[::-1])


def test_padding_changes_no_sequence(monkeypatch):
    """The same sequences, whichever width they are padded to."""
    lengths, found = [100, 120] * 6, []
    for least in (128, 1024):
        monkeypatch.setattr(data, "LEAST_WIDTH", least)
        batches = Batches(of_lengths(lengths), 4, 1024, seed=3)
        assert batches.width(0) == least
        found.append([(batches.indices(number), batches.batch(number)) for number in range(3)])
    for (index, narrow), (same, wide) in zip(*found, strict=True):
        assert np.array_equal(index, same)
        for ours, theirs in zip(narrow, wide, strict=True):
            assert np.array_equal(ours, theirs[:, :128])
            assert not theirs[:, 128:].any()


def test_what_is_left_out_has_no_length_of_its_own():
    """Three of 35 sequences in every epoch, the longest no more often than the others."""
    batches = Batches(of_lengths([100] * 30 + [1000] * 5), 4, 1024, seed=0)
    epochs = [{*np.concatenate([batches.indices(8 * epoch + place) for place in range(8)]).tolist()} for epoch in range(200)]
    seen = np.array([sum(i in epoch for epoch in epochs) for i in range(35)])
    assert {len(epoch) for epoch in epochs} == {32}
    assert np.abs(seen - 200 * 32 / 35).max() < 5 * np.sqrt(200 * 32 * 3) / 35


@pytest.mark.parametrize("together", [1, 2])
def test_a_sample_has_the_widths_of_an_epoch(together):
    batches = Batches(of_lengths([100] * 240 + [500] * 120 + [1000] * 40), 2, 1024, seed=0, together=together)
    found = [batches.width(together * group) for group in batches.sample(10)]
    assert found == [128] * 6 + [512] * 3 + [1024]
    assert len({*batches.sample(10)}) == 10
    few = Batches(of_lengths([100, 100, 1000]), 1, 1024, seed=0)
    assert [few.width(group) for group in few.sample(6)] == [128] * 4 + [1024] * 2


def test_too_few_sequences_for_a_batch_are_refused():
    with pytest.raises(InputError, match="hold 2 sequences, expected at least batch_size = 3"):
        Batches(numbered(2), 3, 12, seed=0)
    with pytest.raises(InputError, match="hold 5 sequences, expected at least batch_size x accumulate = 3 x 2 = 6"):
        Batches(numbered(5), 3, 12, seed=0, together=2)
