"""Which prompts a run decodes: how they are asked for, what --skip-bad leaves out, what --resume finds done."""

import io
import json
import re
import sys

import pytest

from domino_jax import intake
from domino_jax.errors import InputError
from domino_jax.events import Prompt
from domino_jax.intake import Sieve, Work, left_to_do
from domino_jax.prompts import Request
from tests import models
from tests.commands import altered

# Prompts


def asked(speak, *argv) -> list[list[int]]:
    return [answer["prompt_ids"] for answer in speak(*argv, "--output", "json").answers]


def test_raw_takes_the_text_as_it_stands(speak):
    assert asked(speak, "--prompt", "é\n", "--raw") == [[0xC3, 0xA9, 10]]


@pytest.mark.parametrize(("argv", "end"), [((), [models.THINK, 10, 10, models.END_THINK, 10, 10]), (("--thinking",), [*b"assistant\n"])])
def test_thinking_is_on_when_asked_for(speak, argv, end):
    (ids,) = asked(speak, "--prompt", "hi", *argv)
    assert ids[-len(end) :] == end


def test_messages_and_a_text_are_the_same_turn(speak, prompts_file):
    file = prompts_file({"messages": [{"role": "user", "content": "hi"}]})
    one, other = asked(speak, "--prompt", "hi", "--prompts", file, "--batch-size", 1)
    assert one == other


def standard_input(monkeypatch, data: bytes, terminal: bool = False) -> None:
    stream = io.TextIOWrapper(io.BytesIO(data), encoding="ascii")
    stream.isatty = lambda: terminal
    monkeypatch.setattr(sys, "stdin", stream)


def test_standard_input_is_the_prompt_when_none_is_given(speak, monkeypatch):
    standard_input(monkeypatch, "é".encode())
    assert asked(speak, "--raw") == [[0xC3, 0xA9]]


@pytest.mark.parametrize(("data", "said"), [(b"", "is empty"), (b"a\xff", "is not UTF-8")])
def test_standard_input_that_is_no_prompt_is_refused(refused, monkeypatch, data, said):
    standard_input(monkeypatch, data)
    assert f"standard input: {said}" in refused("--target", "somewhere")


def test_a_terminal_gets_an_example(speak, monkeypatch):
    standard_input(monkeypatch, b"not read", terminal=True)
    monkeypatch.setattr(intake, "EXAMPLE", "Short?")  # the context of this test is
    done = speak("--raw", "--output", "json")
    assert bytes(done.answers[0]["prompt_ids"]).decode() == intake.EXAMPLE
    assert intake.EXAMPLE in done.err


# Several answers


@pytest.mark.parametrize(
    ("entries", "argv", "said"),
    [
        (
            [{"prompt_ids": [0], "n": 2}],
            (),
            "asked.jsonl, line 1: n is 2 at temperature 0, expected 1 (all would be the same) or a temperature above 0",
        ),
        ([{"prompt_ids": [0], "temperature": 1}, {"prompt_ids": [0]}], ("--n", 3), "asked.jsonl, line 2: n is 3 at temperature 0"),
        ([{"prompt_ids": [0], "temperature": 0}], ("--n", 3, "--temperature", 1), "asked.jsonl, line 1: n is 3 at temperature 0"),
        ([], ("--n", 2, "--prompt-ids", "0"), "--prompt-ids: n is 2 at temperature 0"),
    ],
)
def test_samples_that_would_all_be_the_same_are_refused(refused, counting_pair, prompts_file, entries, argv, said):
    file = ("--prompts", prompts_file(*entries)) if entries else ()
    assert said in refused("--target", counting_pair[0], *file, *argv)


@pytest.mark.parametrize(("n", "said"), [(1, ["7"]), (2, ["7, sample 1", "7, sample 2"])])
def test_labels_count_samples_where_there_are_several(counting, n, said):
    asked = [Prompt((1,), id=7, n=n)]
    assert [*map(str, Work(asked, {}, counting.plan(asked, temperature=1.0), [*range(n)]).labels)] == said


# Lines that cannot be served

BAD = ["no JSON", '{"promt": "hi"}', {"prompt_ids": [99]}, {"prompt_ids": [5] * 300}, {"prompt": "no tokenizer"},
       {"prompt_ids": [1], "max_new_tokens": 999}, {"prompt_ids": [1], "n": 2}, {"prompt_ids": [1], "stop": "a"},
       {"prompt_ids": [1], "n": 0}, {"prompt_ids": [1], "min_tokens": 30, "max_new_tokens": 20}]  # fmt: skip


def test_bad_lines_are_named_and_left_out(count, prompts_file):
    """Ids count them in, so that they are the same with and without the bad lines, and before and after these are mended."""
    file = prompts_file({"prompt_ids": [25]}, *BAD, {"prompt_ids": [26], "id": "x"}, {"prompt_ids": [24]})
    done = count("--prompt-ids", "27", "--prompts", file, "--prompt-ids", "23", "--batch-size", 1, "--skip-bad", "--output", "json")
    assert [(answer["id"], answer["prompt_ids"]) for answer in done.answers] == [(0, [27]), (1, [25]), ("x", [26]), (13, [24]), (14, [23])]
    said = [line for line in done.err.splitlines() if line.startswith("skipped: ")]
    assert sorted(int(re.match(rf"skipped: {file}, line (\d+)\b.*expected", line)[1]) for line in said) == [*range(2, 12)]
    assert done.last == "skipped 10 of 15 prompts"


def test_what_the_template_refuses_is_left_out(run, speaking_pair, prompts_file, tmp_path):
    template = models.CHAT_TEMPLATE + "{% if messages[0].role != 'user' %}{{ raise_exception('no user') }}{% endif %}"
    target = altered(speaking_pair[0], tmp_path / "target", tokenizer_config={"chat_template": template})
    file = prompts_file({"messages": [{"role": "cook", "content": "hi"}]}, {"prompt": "hi"})
    done = run("--target", target, "--prompts", file, "--skip-bad", "--max-context", 47, "--output", "json")
    assert [answer["id"] for answer in done.answers] == [1]
    assert f"skipped: {file}, line 1: " in done.err
    assert "no user" in done.err


def test_without_it_the_first_bad_line_is_refused(refused, counting_pair, prompts_file):
    for bad in BAD:
        assert "asked.jsonl, line 2" in refused("--target", counting_pair[0], "--prompts", prompts_file({"prompt_ids": [1]}, bad))


@pytest.mark.parametrize("bad", [BAD[:2], BAD[2:]])
def test_nothing_left_is_refused(run, counting_pair, prompts_file, bad):
    done = run("--target", counting_pair[0], "--prompts", prompts_file(*bad), "--skip-bad")
    assert (done.status, done.out) == (2, "")
    assert done.last == f"error: --skip-bad: all {len(bad)} prompts were skipped, expected at least one that can be served"


def test_only_lines_of_files_are_left_out(run, counting_pair, prompts_file):
    done = run("--target", counting_pair[0], "--prompts", prompts_file({"prompt_ids": [1]}), "--prompt-ids", "99", "--skip-bad")
    assert (done.status, done.out) == (2, "")
    assert "--prompt-ids: token id 99" in done.last


def test_what_is_wrong_with_the_run_is_no_lines_fault(run, counting_pair, prompts_file):
    done = run("--target", counting_pair[0], "--prompts", prompts_file({"prompt_ids": [1]}), "--skip-bad", "--max-context", 257)
    assert (done.status, done.err.count("skipped")) == (2, 0)
    assert "max_context is 257" in done.last


def test_a_run_without_bad_lines_says_nothing_of_them(count, prompts_file):
    assert "skipped" not in count("--prompts", prompts_file({"prompt_ids": [26]}), "--skip-bad").err


def test_a_refusal_that_names_no_place_gets_one(capsys):
    def serve(request: Request) -> str:
        if request.id == 0:
            raise InputError("too long,\nexpected shorter")
        return "served"

    sieve = Sieve(True, 2)
    requests = [Request(f"f, line {number}", ids=(1,), id=number, is_line=True) for number in range(2)]
    assert sieve.through(requests, serve) == ["served"]
    assert capsys.readouterr().err == "skipped: f, line 0: too long, expected shorter\n"


# What is done already


def write_answers(path, *keys) -> None:
    entries = [dict(id=name, **({} if sample is None else {"sample": sample}), prompt_ids=ids) for name, ids, sample in keys]
    path.write_text("".join(json.dumps(entry) + "\n" for entry in entries))


def test_what_is_left_is_numbered_as_in_the_whole_run(tmp_path, capsys):
    asked = [Prompt((1,), id=0, n=2), Prompt((2,), id=1, n=1), Prompt((3,), id=2, n=3), Prompt((4,), id=3, n=1)]
    write_answers(tmp_path / "out", (2, [3], 2), (0, [1], 1), (0, [1], 0), (2, [3], 0), (3, [4], None))
    assert left_to_do(tmp_path / "out", asked) == [2, 4]
    assert capsys.readouterr().err == f"note: 5 of 7 answers are in {tmp_path / 'out'} already\n"


def test_nothing_and_everything_done(tmp_path, capsys):
    asked = [Prompt((1,), id=0, n=2), Prompt((2,), id=1, n=1)]
    assert left_to_do(None, asked) == left_to_do(tmp_path / "out", asked) == [0, 1, 2]
    assert capsys.readouterr().err == ""
    write_answers(tmp_path / "out", (0, [1], 0), (0, [1], 1), (1, [2], None))
    assert left_to_do(tmp_path / "out", asked) == []
