"""What is printed of an answer: the JSON fields, the trace, the text; whose it is, in which order, and what an interrupt leaves."""

import io
import json
import sys

import numpy as np
import pytest

from domino_jax.events import Finished, Result, Tokens
from domino_jax.printers import JsonPrinter, Label, TextPrinter
from tests import models
from tests.commands import CONTEXT, COUNT, altered, runner

FIELDS = {
    "id": (str, int), "prompt_ids": list, "output_ids": list, "text": str, "finish_reason": str, "rounds": int,
    "acceptance_lengths": list, "mean_acceptance_length": float, "tokens_per_round": float, "prefill_seconds": float,
    "decode_seconds": float, "draft": str, "platform": str, "device": str, "dtype": str,
}  # fmt: skip
BASE = dict(draft="none", platform="cpu", device="cpu", dtype="float32")
WARM = (
    "--temperature",
    60,
    "--ignore-eos",
    "--max-new-tokens",
    6,
    "--batch-size",
    2,
    "--output",
    "json",
)  # the chain's logits are far apart

# JSON


@pytest.mark.parametrize("extra", [(), ("--trace",), ("--check",), ("--logprobs",)])
def test_json_fields_are_exactly_those_promised(speak, extra):
    (answer,) = speak("--prompt", "hi", "--output", "json", *extra).answers
    assert [*answer] == [*FIELDS, *(option[2:] for option in extra)]
    for name, kind in FIELDS.items():
        assert isinstance(answer[name], kind), name
        assert type(answer[name]) is not bool


def test_json_values(count):
    (answer,) = count("--prompt-ids", "0", "--output", "json").answers
    times = {name: answer.pop(name) for name in ("prefill_seconds", "decode_seconds")}
    assert all(0 < seconds < 10 for seconds in times.values())
    assert answer == dict(
        id=0, prompt_ids=[0], output_ids=COUNT, text=None, finish_reason="stop", rounds=2, acceptance_lengths=[16, 16],
        mean_acceptance_length=16.0, tokens_per_round=13.5, draft="domino", platform="cpu", device="cpu", dtype="float32",
    )  # fmt: skip


def test_json_of_an_answer_without_rounds_has_null_means(count):
    (answer,) = count("--prompt-ids", "0", "--max-new-tokens", 1, "--output", "json").answers
    assert (answer["output_ids"], answer["rounds"], answer["acceptance_lengths"]) == ([1], 0, [])
    assert answer["mean_acceptance_length"] is answer["tokens_per_round"] is None


def test_json_text_is_the_answer_without_the_stop_token(speak):
    (answer,) = speak("--prompt", "hi", "--output", "json").answers
    assert (answer["text"], answer["output_ids"]) == (models.TEXT, [*models.TEXT.encode(), models.IM_END])


def test_json_is_one_object_a_line_in_order_with_ids_or_positions(count, prompts_file):
    file = prompts_file({"prompt_ids": [20], "id": "b"}, {"prompt_ids": [26]}, {"prompt_ids": [24], "id": 7})
    answers = count("--prompt-ids", "1", "--prompts", file, "--prompt-ids", "25", "--batch-size", 2, "--output", "json").answers
    assert [(answer["id"], answer["prompt_ids"]) for answer in answers] == [(0, [1]), ("b", [20]), (2, [26]), (7, [24]), (4, [25])]
    for answer in answers:
        assert answer["output_ids"] == [*range(answer["prompt_ids"][-1] + 1, 29)]


# Several answers to one prompt


def test_samples_are_numbered_where_there_are_several(count, prompts_file):
    file = prompts_file({"prompt_ids": [0], "id": "a", "n": 2}, {"prompt_ids": [3]}, {"prompt_ids": [5], "n": 1})
    answers = count("--prompts", file, "--n", 3, *WARM).answers
    assert [(answer["id"], answer.get("sample"), answer["prompt_ids"]) for answer in answers] == [
        ("a", 0, [0]), ("a", 1, [0]), (1, 0, [3]), (1, 1, [3]), (1, 2, [3]), (2, None, [5]),
    ]  # fmt: skip
    assert [*answers[0]][:3] == ["id", "sample", "prompt_ids"]
    assert len({tuple(answer["output_ids"]) for answer in answers if answer["id"] == 1}) == 3


def test_headers_number_samples_from_one(count, prompts_file):
    file = prompts_file({"prompt_ids": [0], "id": "a", "n": 2}, {"prompt_ids": [3]})
    done = count("--prompts", file, *WARM[:-2])
    assert [line for line in done.out.splitlines() if line.startswith("=")] == ["=== a, sample 1 ===", "=== a, sample 2 ===", "=== 1 ==="]


def test_an_only_prompt_with_several_answers_has_headers(count):
    done = count("--prompt-ids", "0", "--n", 2, *WARM[:-2])
    assert [line for line in done.out.splitlines() if line.startswith("=")] == ["=== 0, sample 1 ===", "=== 0, sample 2 ==="]


# Log-probabilities


def test_logprobs_are_one_a_token_of_the_target_as_it_is(count):
    """The chain says its next token with a logit of 5.66 (the norm of a one-hot vector of 32) over 31 zeros, at any temperature."""
    logprob = -np.log1p(31 * np.exp(-(32**0.5)))
    (answer,) = count("--prompt-ids", "0", "--logprobs", "--output", "json").answers
    assert answer["logprobs"] == pytest.approx([logprob] * 28, rel=1e-4)
    (answer,) = count("--prompt-ids", "0", "--logprobs", "--output", "json", "--temperature", 0.5, "--top-k", 1).answers
    assert answer["logprobs"] == pytest.approx([logprob] * 28, rel=1e-4)


# Trace


@pytest.mark.parametrize("pair", ["counting_pair", "misaligned_pair"])
@pytest.mark.parametrize("prompt", [[0], [3, 4, 5]])
def test_trace_tells_how_the_answer_came_about(run, request, pair, prompt):
    ran = runner(run, request.getfixturevalue(pair), *CONTEXT)
    (answer,) = ran("--prompt-ids", " ".join(map(str, prompt)), "--output", "json", "--trace").answers
    everything, position = prompt + answer["output_ids"], len(prompt)  # of the first token, which prefill gives
    assert [entry["accepted"] + 1 for entry in answer["trace"]] == answer["acceptance_lengths"]
    for entry in answer["trace"]:
        accepted = entry["proposals"][: entry["accepted"]]
        rest = everything[position + 1 :]
        assert (entry["start"], entry["verified"], len(entry["proposals"])) == (position, everything[position], 15)
        assert accepted[: len(rest)] == rest[: len(accepted)]
        if len(accepted) < min(len(rest), 15):
            assert entry["proposals"][len(accepted)] != rest[len(accepted)]  # why it ended there
        position += len(accepted) + 1
    *before, last = [0, *answer["acceptance_lengths"]]
    assert 1 + sum(before) <= len(answer["output_ids"]) <= 1 + sum(before) + last


# Text


def test_one_answer_and_a_line_end(speak):
    assert speak("--prompt", "hi").out == models.TEXT + "\n"


def test_text_is_written_through_at_once(monkeypatch):
    reader = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BufferedWriter(reader), encoding="utf-8"))
    TextPrinter([Label(0)], None).event(Tokens(0, (0xC3, 0xA9), "é"))
    assert reader.getvalue() == "é".encode()


def test_several_answers_under_headers_in_order(speak, prompts_file):
    file = prompts_file({"prompt": "two", "id": "b"}, {"messages": [{"role": "user", "content": "three"}], "max_new_tokens": 5})
    done = speak("--prompt", "one", "--prompts", file, "--prompt", "four", "--batch-size", 1)
    assert done.out == "=== 0 ===\né你🙂\n=== b ===\né你🙂\n=== 2 ===\né你\n=== 3 ===\né你🙂\n"


def test_answers_are_in_order_though_the_first_is_done_last(count):
    done = count("--prompt-ids", "0", "--prompt-ids", "26", "--batch-size", 2, "--draft", "none")
    assert done.out == f"=== 0 ===\n{' '.join(map(str, COUNT))}\n=== 1 ===\n27 28\n"


def test_ids_without_a_tokenizer(count):
    assert count("--prompt-ids", "0", "--num-proposals", 1).out == " ".join(map(str, COUNT)) + "\n"  # in many pieces


@pytest.mark.parametrize("tokens", [1, 4, 8])
def test_an_unfinished_character_becomes_one_replacement(speak, tokens):
    expected = models.TEXT.encode()[:tokens].decode("utf-8", "replace")
    assert expected.count("\ufffd") == 1
    assert speak("--prompt", "hi", "--max-new-tokens", tokens).out == expected + "\n"


def test_json_text_is_what_is_printed_whatever_the_budget(speak, prompts_file):
    file = prompts_file(*({"prompt": "hi", "max_new_tokens": tokens} for tokens in range(1, 11)))
    answers = speak("--prompts", file, "--batch-size", 1, "--output", "json").answers
    data = models.TEXT.encode()
    assert [answer["text"] for answer in answers] == [data[:tokens].decode("utf-8", "replace") for tokens in range(1, 11)]


def test_text_of_a_stop_token_is_left_out(run, speaking_pair, tmp_path):
    first_of_second = "你".encode()[0]
    target = altered(speaking_pair[0], tmp_path / "target", generation_config={"eos_token_id": [first_of_second]})
    ran = runner(run, (target, speaking_pair[1]), *CONTEXT)
    assert ran("--prompt", "hi").out == "é\n"
    (answer,) = ran("--prompt", "hi", "--output", "json").answers
    assert (answer["text"], answer["output_ids"], answer["finish_reason"]) == ("é", [*"é".encode(), first_of_second], "stop")


# Order, by hand


def finished(index: int, text: str = "") -> Finished:
    return Finished(index, Result(index, (1,), text=text, finish_reason="stop"))


LABELS = [Label("a"), Label("b"), Label("c", 0), Label("c", 1)]
ENDS = (2, 0, 3, 1)  # the order in which they end


def feed(printer, ends=ENDS) -> None:
    for index in ends:
        printer.event(Tokens(index, (index,), str(index)))
        printer.event(finished(index))


@pytest.mark.parametrize(("ordered", "order"), [(True, "abcc"), (False, "cacb")])
def test_json_comes_in_order_or_as_it_ends(capsys, ordered, order):
    feed(JsonPrinter(LABELS, BASE, ordered=ordered))
    assert "".join(json.loads(line)["id"] for line in capsys.readouterr().out.splitlines()) == order


@pytest.mark.parametrize(("ordered", "order"), [(True, (0, 1, 2, 3)), (False, ENDS)])
def test_text_comes_in_order_or_as_it_ends(capsys, ordered, order):
    feed(TextPrinter(LABELS, None, ordered=ordered))
    headers = ["a", "b", "c, sample 1", "c, sample 2"]
    assert capsys.readouterr().out == "".join(f"=== {headers[index]} ===\n{index}\n" for index in order)


@pytest.mark.parametrize("ordered", [True, False])
def test_an_only_answer_streams_in_any_order(capsys, ordered):
    printer = TextPrinter([Label(0)], None, ordered=ordered)
    printer.event(Tokens(0, (1,), "so "))
    assert capsys.readouterr().out == "so "
    printer.event(Tokens(0, (2,), "far"))
    printer.event(finished(0))
    assert capsys.readouterr().out == "far\n"


def test_an_answer_is_printed_before_the_next_ends(capsys):
    printer = JsonPrinter(LABELS, BASE)
    for index, lines in ((2, 0), (0, 1), (3, 0), (1, 3)):
        printer.event(finished(index))
        assert capsys.readouterr().out.count("\n") == lines


@pytest.mark.parametrize("make", [lambda: JsonPrinter(LABELS, BASE), lambda: JsonPrinter(LABELS, BASE, hold=True),
                                  lambda: TextPrinter(LABELS, None)])  # fmt: skip
def test_what_waits_for_its_turn_is_not_lost_when_nothing_more_comes(make, capsys):
    printer = make()
    feed(printer, (2, 0, 3))
    printer.end()
    said = capsys.readouterr().out
    assert [name for name in ("1", "2", "3") if f'"sample": {int(name) - 1}' in said or f"sample {name}" in said] == ["1", "2"]
    printer.end()
    assert capsys.readouterr().out == ""


def test_a_check_holds_all_until_the_end(capsys):
    printer = JsonPrinter(LABELS, BASE, hold=True, ordered=False)
    feed(printer)
    assert capsys.readouterr().out == ""
    printer.end()
    assert "".join(json.loads(line)["id"] for line in capsys.readouterr().out.splitlines()) == "cacb"


def test_a_file_gets_each_as_it_ends(tmp_path, capsys):
    with (tmp_path / "out").open("w", encoding="utf-8") as file:
        feed(JsonPrinter(LABELS, BASE, file=file))
    entries = [json.loads(line) for line in (tmp_path / "out").read_text().splitlines()]
    assert [(entry["id"], entry.get("sample")) for entry in entries] == [("c", 0), ("a", None), ("c", 1), ("b", None)]
    assert capsys.readouterr().out == ""


def test_events_that_a_printer_does_not_know_are_nothing_to_it(capsys):
    for printer in (JsonPrinter(LABELS, BASE), TextPrinter(LABELS, None)):
        printer.event(object())
    assert capsys.readouterr().out == ""


def test_unordered_answers_tell_whose_they_are(count):
    """The second ends first: it is shorter."""
    argv = ("--prompt-ids", "0", "--prompt-ids", "26", "--batch-size", 2, "--draft", "none", "--unordered")
    assert count(*argv).out == f"=== 1 ===\n27 28\n=== 0 ===\n{' '.join(map(str, COUNT))}\n"
    assert [answer["id"] for answer in count(*argv, "--output", "json").answers] == [1, 0]
    assert count("--prompt-ids", "26", "--unordered").out == "27 28\n"
