"""The command line: what it prints where, what it refuses, how it ends.

The counting pair says t + 1 after t and stops at 28; the speaking pair answers every chat with models.TEXT. Runs share one
cache capacity and mostly one batch size, so that few programs are compiled.
"""

import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import jax
import numpy as np
import pytest
import safetensors.numpy

import domino_jax
from domino_jax import generate
from domino_jax.engine import Engine
from domino_jax.events import Tokens
from tests import models

CONTEXT = ("--max-context", "47")
COUNT = [*range(1, 29)]  # the answer to 0
FIELDS = {
    "id": (str, int), "prompt_ids": list, "output_ids": list, "text": str, "finish_reason": str, "rounds": int,
    "acceptance_lengths": list, "mean_acceptance_length": float, "tokens_per_round": float, "prefill_seconds": float,
    "decode_seconds": float, "draft": str, "platform": str, "device": str, "dtype": str,
}  # fmt: skip


class Ran(NamedTuple):
    status: int
    out: str
    err: str

    @property
    def last(self) -> str:
        return self.err.splitlines()[-1]

    @property
    def answers(self) -> list[dict]:
        return [json.loads(line) for line in self.out.splitlines()]


@pytest.fixture
def run(capfd):
    def run(*argv) -> Ran:
        capfd.readouterr()
        return Ran(generate.main([*map(str, argv)]), *capfd.readouterr())

    return run


def runner(run, pair, *fixed):
    """Runs with this pair (and its drafter, unless --draft is given), and must succeed unless another status is expected."""

    def ran(*argv, status: int = 0) -> Ran:
        draft = () if "--draft" in argv else ("--draft", pair[1])
        done = run("--target", pair[0], *draft, *fixed, *argv)
        assert done.status == status, done.err
        assert "Traceback" not in done.err
        return done

    return ran


@pytest.fixture
def count(run, counting_pair):
    return runner(run, counting_pair, *CONTEXT)


@pytest.fixture
def speak(run, speaking_pair):
    return runner(run, speaking_pair, *CONTEXT)


@pytest.fixture
def refused(run):
    """The one sentence on stderr of a run that is refused."""

    def refused(*argv) -> str:
        done = run(*argv)
        assert (done.status, done.out) == (2, ""), done.err
        assert len(done.err.splitlines()) == 1
        assert done.last.startswith("error: ")
        return done.last

    return refused


@pytest.fixture
def prompts_file(tmp_path):
    def write(*entries: dict) -> Path:
        path = tmp_path / "asked.jsonl"
        path.write_text("".join(json.dumps(entry) + "\n" for entry in entries))
        return path

    return write


def altered(source: Path, copy: Path, **files: dict) -> Path:
    """A copy of a checkpoint directory in which these JSON files have these keys changed."""
    shutil.copytree(source, copy)
    for name, changes in files.items():
        path = copy / f"{name}.json"
        content = json.loads(path.read_text()) if path.exists() else {}
        path.write_text(json.dumps(content | changes))
    return copy


# JSON


@pytest.mark.parametrize("extra", [(), ("--trace",), ("--check",)])
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


# Trace


@pytest.fixture(scope="session")
def misaligned_pair(tmp_path_factory) -> tuple[Path, Path]:
    """The counting pair with a drafter whose config denies the shift of its labels: it proposes one token late, always wrongly."""
    return models.write_counting_pair(tmp_path_factory.mktemp("misaligned"), shift_label=False)


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


def test_trace_needs_json(refused):
    assert "--output json" in refused("--target", "somewhere", "--trace")


# Text


def test_one_answer_and_a_line_end(speak):
    assert speak("--prompt", "hi").out == models.TEXT + "\n"


def test_text_is_written_through_at_once(monkeypatch):
    reader = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BufferedWriter(reader), encoding="utf-8"))
    generate.TextPrinter([0], None, show_rounds=False).event(Tokens(0, (0xC3, 0xA9), "é"))
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
    monkeypatch.setattr(generate, "EXAMPLE", "Short?")  # the context of this test is
    done = speak("--raw", "--output", "json")
    assert bytes(done.answers[0]["prompt_ids"]).decode() == generate.EXAMPLE
    assert generate.EXAMPLE in done.err


# Where an answer ends


def expected_end(tokens: int) -> tuple[list[int], str]:
    return COUNT[:tokens], "stop" if tokens >= 28 else "length"


@pytest.mark.parametrize("draft", [(), ("--draft", "none")])
def test_every_budget_gives_exactly_that_many_tokens(count, prompts_file, draft):
    file = prompts_file(*({"prompt_ids": [0], "max_new_tokens": tokens} for tokens in range(1, 31)))
    answers = count("--prompts", file, "--batch-size", 1, "--output", "json", *draft).answers
    assert [(answer["output_ids"], answer["finish_reason"]) for answer in answers] == [*map(expected_end, range(1, 31))]


@pytest.mark.parametrize("tokens", [1, 27, 28, 29])
def test_max_new_tokens(count, tokens):
    (answer,) = count("--prompt-ids", "0", "--max-new-tokens", tokens, "--output", "json").answers
    assert (answer["output_ids"], answer["finish_reason"]) == expected_end(tokens)


def test_a_line_of_the_file_goes_before_max_new_tokens(count, prompts_file):
    file = prompts_file({"prompt_ids": [0], "max_new_tokens": 3}, {"prompt_ids": [0]})
    assert [len(answer["output_ids"]) for answer in count("--prompts", file, "--max-new-tokens", 5, "--output", "json").answers] == [3, 5]


def test_ignore_eos_goes_on_to_the_end_of_the_context(count):
    (answer,) = count("--prompt-ids", "0", "--ignore-eos", "--output", "json").answers
    assert answer["output_ids"] == [*COUNT, *range(18)]
    assert answer["finish_reason"] == "length"


@pytest.mark.parametrize(("listed", "last"), [([28, 5], 5), ([7], 7), (9, 9), ([], 28)])
def test_generation_config_stops_first(run, counting_pair, tmp_path, listed, last):
    target = altered(counting_pair[0], tmp_path / "target", generation_config={"eos_token_id": listed})
    done = runner(run, (target, counting_pair[1]), *CONTEXT)("--prompt-ids", "0", "--draft", "none")
    assert done.out == " ".join(map(str, range(1, last + 1))) + "\n"


# What changes the speed only


@pytest.mark.parametrize(
    ("argv", "lengths"),
    [
        (("--num-proposals", 1), [2] * 14),
        (("--num-proposals", 15), [16, 16]),
        (("--num-proposals", 16), [17, 17]),
        (("--pool-size", 0), [16, 16]),
        (("--pool-size", 8), None),
        (("--pool-size", 1000), [16, 16]),
        (("--dtype", "bfloat16"), [16, 16]),
        (("--dtype", "float32"), [16, 16]),
        (("--max-context", 30), [16, 16]),
        (("--draft", "none"), [1] * 27),
        (("--draft", "none", "--exact"), [1] * 27),
    ],
    ids=lambda value: " ".join(map(str, value))[:24] if isinstance(value, tuple) else "",
)
def test_options_that_leave_the_answer_as_it_is(count, argv, lengths):
    (answer,) = count("--prompt-ids", "0", "--output", "json", *argv).answers
    assert answer["output_ids"] == COUNT
    assert lengths is None or answer["acceptance_lengths"] == lengths
    assert answer["dtype"] == ("bfloat16" if "bfloat16" in argv else "float32")
    assert answer["draft"] == ("none" if "none" in argv else "domino")


@pytest.mark.parametrize("batch", [1, 2, 8])
def test_batch_size_leaves_the_answers_as_they_are(count, batch):
    argv = [word for start in (0, 26, 13, 3, 27) for word in ("--prompt-ids", start)]
    answers = count(*argv, "--batch-size", batch, "--output", "json").answers
    assert [answer["output_ids"] for answer in answers] == [[*range(start + 1, 29)] for start in (0, 26, 13, 3)] + [[28]]


def test_exact_runs_the_verify_program_and_says_that_it_is_slow(count):
    exact = count("--prompt-ids", "0", "--draft", "none", "--exact").err
    plain = count("--prompt-ids", "0", "--draft", "none").err
    assert (" verify for batch" in exact, " step for batch" in exact, "16 positions a round" in exact) == (True, False, True)
    assert (" verify for batch" in plain, " step for batch" in plain, "16 positions a round" in plain) == (False, True, False)


def test_a_target_alone_has_no_drafter(run, counting_pair):
    assert "no draft" in run("--target", counting_pair[0], *CONTEXT, "--prompt-ids", "0").last


# Sampling


def drawn(count, *argv) -> list[list[int]]:
    return [answer["output_ids"] for answer in count("--prompt-ids", "0", *argv, "--ignore-eos", "--output", "json").answers]


def test_a_seed_gives_the_same_text_with_a_drafter_and_without(count):
    warm = ("--temperature", 60, "--max-new-tokens", 20, "--seed", 3)  # the chain's logits are far apart
    assert drawn(count, *warm) == drawn(count, *warm, "--draft", "none") == drawn(count, *warm, "--check")
    assert drawn(count, *warm) != drawn(count, *warm[:-1], 4)
    assert drawn(count, *warm, "--top-k", 1) == drawn(count, "--max-new-tokens", 20)


def test_a_line_may_sample_otherwise_than_the_run(count, prompts_file):
    file = prompts_file({"prompt_ids": [0], "temperature": 60, "seed": 3}, {"prompt_ids": [0]})
    done = count("--prompts", file, "--ignore-eos", "--max-new-tokens", 20, "--batch-size", 1, "--output", "json", "--stats", "json")
    warm, greedy = (answer["output_ids"] for answer in done.answers)
    assert [greedy] == drawn(count, "--max-new-tokens", 20)
    assert [warm] == drawn(count, "--max-new-tokens", 20, "--temperature", 60, "--seed", 3)
    assert json.loads(done.last)["sampling"] == {"temperature": 0.0, "top_k": 0, "top_p": 1.0, "min_p": 0.0, "seed": 0}


@pytest.mark.parametrize(
    ("argv", "named"),
    [
        (("--temperature", "-1"), "temperature is -1.0"),
        (("--temperature", "nan"), "temperature is nan"),
        (("--temperature", "1", "--top-p", "0"), "top_p is 0.0"),
        (("--temperature", "1", "--top-k", "-3"), "top_k is -3"),
        (("--temperature", "1", "--min-p", "1"), "min_p is 1.0"),
        (("--temperature", "1", "--seed", "-1"), "seed is -1"),
        (("--temperature", "hot"), "--temperature"),
        (("--top-p", "0.9"), "--top-p is given and nothing is sampled"),
        (("--seed", "7"), "--seed is given and nothing is sampled"),
    ],
)
def test_impossible_or_idle_sampling_is_refused(refused, counting_pair, argv, named):
    assert named in refused("--target", counting_pair[0], "--prompt-ids", "0", *argv)


# Stop texts


@pytest.mark.parametrize("draft", [(), ("--draft", "none")])
@pytest.mark.parametrize(("stops", "said"), [(["你"], "é"), (["é"], ""), (["🙂", "你"], "é"), (["é你"], ""), (["x"], models.TEXT)])
def test_a_stop_text_ends_the_answer_inside_an_accepted_block(speak, stops, said, draft):
    """All ten tokens come in one round; what follows the stop text is neither printed nor among the ids."""
    argv = [word for stop in stops for word in ("--stop", stop)]
    assert speak("--prompt", "hi", *argv, *draft).out == said + "\n"
    (answer,) = speak("--prompt", "hi", *argv, *draft, "--output", "json", "--check").answers
    whole = [*models.TEXT.encode(), models.IM_END]
    complete = min((models.TEXT.find(stop) + len(stop) for stop in stops if stop in models.TEXT), default=None)
    ids = whole if complete is None else whole[: len(models.TEXT[:complete].encode())]
    assert (answer["text"], answer["output_ids"], answer["finish_reason"]) == (said, ids, "stop")
    assert answer["check"]["equal"]


def test_a_line_may_stop_otherwise_than_the_run(speak, prompts_file):
    """The slot of a row that a stop text ended goes to the next prompt, and the device's leftovers are not read."""
    lines = [{"prompt": "hi", "stop": "你"}, {"prompt": "hi"}, {"prompt": "hi", "stop": ["🙂"]}]
    done = speak("--prompts", prompts_file(*lines), "--stop", "é", "--batch-size", 1, "--output", "json")
    assert [answer["text"] for answer in done.answers] == ["é", "", "é你"]


def test_stop_texts_that_cannot_be_are_refused(refused, counting_pair, speaking_pair):
    assert "--stop is given but the target has no tokenizer" in refused("--target", counting_pair[0], "--prompt-ids", "0", "--stop", "a")
    assert "--stop is empty" in refused("--target", speaking_pair[0], "--prompt", "a", "--stop", "")


# Check mode


@pytest.mark.parametrize("draft", [(), ("--draft", "none"), ("--draft", "none", "--exact")])
def test_check_finds_answers_equal(count, draft):
    done = count("--prompt-ids", "0", "--prompt-ids", "20", "--batch-size", 1, "--check", "--output", "json", *draft)
    assert [answer["check"] for answer in done.answers] == [{"equal": True, "first_difference": None, "margin": None}] * 2
    assert done.last == "check: 2 of 2 answers equal check mode, bit for bit"


@pytest.fixture
def one_wrong_token(monkeypatch):
    """Check mode finds another fourth token for the first prompt."""
    streamed = Engine.stream

    def other(self, *arguments, **options):
        for event in streamed(self, *arguments, **options):
            if options.get("exact") and isinstance(event, domino_jax.Finished) and event.index == 0:
                event.result.output_ids[3] += 1
            yield event

    monkeypatch.setattr(Engine, "stream", other)


def test_check_reports_a_difference(count, one_wrong_token):
    done = count("--prompt-ids", "0", "--prompt-ids", "20", "--batch-size", 1, "--check", "--output", "json", status=1)
    differs, equal = (answer["check"] for answer in done.answers)
    assert (differs["equal"], differs["first_difference"], equal["equal"]) == (False, 3, True)
    assert differs["margin"] > 1  # the target's own, after 0 1 2 3: nothing is near the 4
    assert re.search(r"^check: 0 differs .* token 3 \(.* margin there: [\d.]+\)$", done.last)


def test_the_answer_is_printed_though_check_differs(count, one_wrong_token):
    assert count("--prompt-ids", "0", "--check", status=1).out == " ".join(map(str, COUNT)) + "\n"


# Statistics


def test_statistics_line(count, counting_pair):
    line = count("--prompt-ids", "0").last
    for part in (
        "cpu",
        "domino",
        str(counting_pair[1]),
        "1 prompt, 28 tokens",
        "tokens/s",
        "first token after",
        "2 rounds",
        "length 16.00",
    ):
        assert part in line


def test_statistics_as_json(count, counting_pair):
    done = count("--prompt-ids", "0", "--prompt-ids", "27", "--batch-size", 1, "--check", "--stats", "json")
    lines = [json.loads(line) for line in done.err.splitlines() if line.startswith("{")]
    assert len(lines) == 1
    (found,) = lines
    promised = dict(
        platform="cpu", device="cpu", dtype="float32", draft="domino", draft_path=str(counting_pair[1]), prompts=2, failed=0,
        prompt_tokens=2, tokens=29, rounds=2, mean_acceptance_length=16.0, acceptance_histogram={"16": 2}, num_proposals=15,
        pool_size=2048, batch_size=1, thinking=False,
    )  # fmt: skip
    assert {key: found[key] for key in promised} == promised
    assert found["seconds"].keys() == {"load", "compile", "decode", "check"}
    assert found["tokens_per_second"] > 0
    assert found["time_to_first_token"] > 0
    assert found["versions"]["jax"] == jax.__version__


def test_no_statistics(count):
    assert "tokens" not in count("--prompt-ids", "0", "--stats", "none").err


def test_compilation_is_announced(count):
    err = count("--prompt-ids", "0").err
    for program in ("prefill", "absorb", "draft", "verify"):
        assert re.search(rf"^(compiled|loaded from cache) {program} for batch 1, capacity 64 in [\d.]+ s$", err, re.M)


def test_low_acceptance_is_warned_about(run, misaligned_pair):
    done = runner(run, misaligned_pair, *CONTEXT)("--prompt-ids", "0")
    assert done.out == " ".join(map(str, COUNT)) + "\n"
    assert done.err.count("warning") == 1
    assert "shift_label" in done.err


def test_good_acceptance_is_not_warned_about(count):
    assert "warning" not in count("--prompt-ids", "0").err


# Rows that fail


def spoilt(pair: tuple[Path, Path], copy: Path, tensor: str, row: int) -> tuple[Path, Path]:
    """The pair with one row of one of the target's tensors not a number."""
    target = altered(pair[0], copy)
    tensors = safetensors.numpy.load_file(target / "model.safetensors")
    tensors[tensor][row] = np.nan
    safetensors.numpy.save_file(tensors, target / "model.safetensors")
    return target, pair[1]


def test_an_answer_from_bad_weights_is_not_printed(run, counting_pair, tmp_path):
    done = runner(run, spoilt(counting_pair, tmp_path / "target", "lm_head.weight", 9), *CONTEXT)("--prompt-ids", "3 4", status=1)
    assert done.out.strip() == ""
    assert re.search("^error: prompt 0: .* after position 1 are not finite", done.last)


@pytest.fixture
def spoilt_run(run, counting_pair, prompts_file, tmp_path):
    """Runs a target whose embedding of 25 is not a number: 20 fails after some tokens, 25 at once, 0 ends before it gets there."""
    ran = runner(run, spoilt(counting_pair, tmp_path / "target", "model.embed_tokens.weight", 25), *CONTEXT)
    file = prompts_file({"prompt_ids": [20]}, {"prompt_ids": [25], "id": "x"}, {"prompt_ids": [0], "max_new_tokens": 5})
    return lambda *argv: ran("--prompts", file, "--batch-size", 2, *argv, status=1)


@pytest.mark.parametrize(("draft", "position"), [((), r"\d+"), (("--draft", "none"), "5")])
def test_a_row_that_fails_leaves_the_others_alone(spoilt_run, draft, position):
    done = spoilt_run(*draft)
    assert done.out == "=== 0 ===\n\n=== x ===\n\n=== 2 ===\n1 2 3 4 5\n"
    first, second = done.err.splitlines()[-2:]
    assert re.search(f"^error: prompt 0: .* after position {position} are not finite", first)
    assert re.search("^error: prompt x: .* after position 0 are not finite", second)


def test_a_row_that_fails_says_so_in_json(spoilt_run):
    done = spoilt_run("--output", "json", "--check", "--stats", "json")
    first, second, third = done.answers
    for answer in (first, second):
        assert (answer["output_ids"], answer["text"], answer["finish_reason"]) == ([], None, "error")
        assert "not finite" in answer["error"]
    assert third["output_ids"] == [1, 2, 3, 4, 5]
    assert third["check"]["equal"]
    assert "error" not in third
    assert "3 of 3 answers equal check mode" in done.err
    assert '"failed": 2' in done.err


# Refusals


@pytest.mark.parametrize(
    ("argv", "nearest"),
    [
        (("--max-new-token", "5"), "--max-new-tokens"),
        (("--max-new", "5"), "--max-new-tokens"),
        (("--draft-modle", "x"), "--draft"),
        (("--pool", "0"), "--pool-size"),
        (("--batchsize=2",), "--batch-size"),
        (("--check-mode",), "--check"),
        (("--stat", "json"), "--stats"),
        (("--promt", "hi"), "--prompt"),
    ],
)
def test_an_unknown_option_is_refused_with_the_nearest(refused, argv, nearest):
    said = refused("--target", "somewhere", *argv)
    assert f"unknown argument {argv[0].split('=')[0]}" in said
    assert f"the nearest is {nearest})" in said


@pytest.mark.parametrize(
    ("argv", "named"),
    [
        (("--draft", "somewhere"), "--target"),
        (("--target", "a", "--draft", "b", "--exact"), "--draft none"),
        (("--target", "a", "--raw", "--thinking"), "--thinking"),
        (("--target", "a", "--trace"), "--output json"),
        (("--target", "a", "--output", "xml"), "--output"),
        (("--target", "a", "--stats", "all"), "--stats"),
        (("--target", "a", "--dtype", "float8"), "--dtype"),
        (("--target", "a", "--dtype"), "--dtype"),
        (("--target", "a", "--max-new-tokens", "0"), "at least 1"),
        (("--target", "a", "--max-new-tokens", "-1"), "at least 1"),
        (("--target", "a", "--max-new-tokens", "many"), "at least 1"),
        (("--target", "a", "--num-proposals", "0"), "at least 1"),
        (("--target", "a", "--pool-size", "-1"), "at least 0"),
        (("--target", "a", "--batch-size", "0"), "at least 1"),
        (("--target", "a", "--batch-size", "2.5"), "at least 1"),
        (("--target", "a", "--max-context", "1"), "at least 2"),
        (("--target", "a", "--prompt", ""), "--prompt"),
        (("--target", "a", "--prompt", "\udcff"), "--prompt"),
        (("--target", "a", "--prompt-ids", "5 x"), "--prompt-ids"),
        (("--target", "a", "--prompts", "missing.jsonl"), "missing.jsonl"),
        (("--target", "missing", "--prompt-ids", "5"), "missing"),
    ],
    ids=lambda value: " ".join(value)[:40] if isinstance(value, tuple) else "",
)
def test_bad_options_are_refused(refused, argv, named):
    assert named in refused(*argv).replace("argument --", "--")


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (("--prompt-ids", "5 32"), "--prompt-ids: token id 32 is outside the vocabulary, expected an integer from 0 to 31"),
        (("--prompt-ids", "-1"), "--prompt-ids: token id -1"),
        (("--prompt-ids", " ".join("5" * 300)), "300 tokens, expected at most 255"),
        (("--prompt-ids", " ".join("5" * 216), "--max-new-tokens", "41"), "216 prompt tokens and max_new_tokens 41 need 257 .* most 256"),
        (("--prompt-ids", "5 6 7", "--max-context", "8", "--max-new-tokens", "6"), "3 prompt tokens and max_new_tokens 6 .* most 8"),
        (("--prompt-ids", "5", "--max-context", "257"), "max_context is 257, expected 2 to max_position_embeddings = 256"),
        (("--prompt-ids", "5", "--num-proposals", "17"), "num_proposals is 17, expected .*16"),
        (("--prompt", "hi"), "--prompt: .*no tokenizer.*--prompt-ids"),
    ],
    ids=lambda value: value[-1][:20] if isinstance(value, tuple) else "",
)
def test_what_the_pair_cannot_serve_is_refused(refused, counting_pair, argv, said):
    assert re.search(said, refused("--target", counting_pair[0], "--draft", counting_pair[1], *argv))


def test_a_budget_that_just_fits_is_served(run, counting_pair):
    done = run("--target", counting_pair[0], "--prompt-ids", " ".join("5" * 216), "--max-new-tokens", "40", "--ignore-eos")
    assert done.out == " ".join(map(str, [*range(6, 29), *range(17)])) + "\n"


def test_a_bad_line_of_the_file_is_refused_before_anything_is_loaded(refused, prompts_file):
    file = prompts_file({"prompt": "hi"}, {"promt": "hi"})
    assert f"{file}, line 2: " in refused("--target", "missing", "--prompts", file)


def test_a_line_out_of_the_vocabulary_is_named(refused, counting_pair, prompts_file):
    file = prompts_file({"prompt_ids": [5]}, {"prompt_ids": [99], "id": "x"})
    assert f"{file}, line 2: token id 99" in refused("--target", counting_pair[0], "--prompts", file)


def test_a_tokenizer_without_template_points_to_raw(refused, speaking_pair, tmp_path):
    target = altered(speaking_pair[0], tmp_path / "target", tokenizer_config={"chat_template": None})
    assert "--raw" in refused("--target", target, "--prompt", "hi")


def test_messages_are_refused_without_template(refused, speaking_pair, prompts_file):
    file = prompts_file({"messages": [{"role": "user", "content": "hi"}]})
    assert f"{file}, line 1: " in refused("--target", speaking_pair[0], "--raw", "--prompts", file)


@pytest.mark.parametrize(("target", "draft", "said"), [(1, 1, "pass it as the draft"), (0, 0, "as the target")])
def test_a_drafter_and_a_target_are_not_confused(refused, counting_pair, target, draft, said):
    assert said in refused("--target", counting_pair[target], "--draft", counting_pair[draft], "--prompt-ids", "5")


def test_a_drafter_of_another_target_is_refused(refused, counting_pair, speaking_pair):
    said = refused("--target", counting_pair[0], "--draft", speaking_pair[1], "--prompt-ids", "5")
    assert "another target" in said


def test_a_compile_cache_that_cannot_be_written_only_warns(count, tmp_path):
    (tmp_path / "file").touch()
    done = count("--prompt-ids", "26", "--compile-cache", tmp_path / "file" / "cache")
    assert done.out == "27 28\n"
    assert re.search(rf"^warning: {tmp_path}/file/cache cannot be written .*", done.err, re.M)


def test_debug_shows_the_traceback_and_changes_nothing_else(capsys):
    assert generate.main(["--debug", "--target", "missing", "--prompt-ids", "5"]) == 2
    err = capsys.readouterr().err
    assert "Traceback" in err
    assert err.splitlines()[-1].startswith("error: missing")


def test_what_nobody_expected_is_one_line(run, counting_pair, monkeypatch):
    monkeypatch.setattr(Engine, "stream", lambda *_, **__: [][0])
    done = run("--target", counting_pair[0], "--prompt-ids", "5")
    assert (done.status, done.out) == (1, "")
    assert done.last == "error: IndexError: list index out of range (unexpected; --debug shows the traceback)"


# Help

OPTIONS = {option: action for action in generate.parser()._actions for option in action.option_strings}


def shown(capsys, *argv) -> str:
    with pytest.raises(SystemExit) as ended:
        generate.main([*argv])
    assert ended.value.code == 0
    return capsys.readouterr().out


def test_help_names_every_option(capsys):
    text = shown(capsys, "--help")
    assert [option for option in OPTIONS if option not in text] == []


def test_help_names_every_default():
    without = {"-h", "--help", "--version", "--target", "--prompt", "--prompt-ids", "--prompts"}
    assert [option for option, action in OPTIONS.items() if option not in without and "default" not in action.help] == []


def test_every_option_that_a_message_names_exists():
    others = {"evaluate.py"}  # another command, with options of its own
    sources = "".join(path.read_text() for path in Path(domino_jax.__file__).parent.glob("*.py") if path.name not in others)
    ours = re.sub(r"hf download \S+ --local-dir", "", sources)
    assert {*re.findall(r"--[a-z][a-z-]*", ours)} <= OPTIONS.keys()


def test_version(capsys):
    assert shown(capsys, "--version") == f"domino_jax {domino_jax.__version__}\n"


# As a process


def start(*argv, **environment) -> subprocess.Popen:
    cache = {"JAX_COMPILATION_CACHE_DIR": jax.config.jax_compilation_cache_dir, "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0"}
    return subprocess.Popen(
        [sys.executable, "-m", "domino_jax.generate", *map(str, argv)],
        cwd=Path(domino_jax.__file__).parents[1],
        env=os.environ | cache | environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def process(*argv, stdin: bytes = b"", **environment) -> Ran:
    started = start(*argv, **environment)
    out, err = started.communicate(stdin, timeout=60)
    return Ran(started.returncode, out.decode(), err.decode())


def test_process_that_succeeds(counting_pair):
    done = process("--target", counting_pair[0], "--draft", counting_pair[1], *CONTEXT, "--prompt-ids", "0")
    assert (done.status, done.out) == (0, " ".join(map(str, COUNT)) + "\n")
    assert done.last.startswith("cpu")


def test_process_that_is_refused():
    done = process("--target", "missing", "--prompt-ids", "5")
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith("error: missing: no such directory")
    assert done.err.count("\n") == 1


def test_process_in_the_c_locale_reads_and_writes_utf8(speaking_pair):
    argv = ("--target", speaking_pair[0], "--draft", speaking_pair[1], *CONTEXT, "--output", "json")
    environment = dict(LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0")  # Python's own ways out of it are shut
    done = process(*argv, stdin="你\n".encode(), **environment)
    assert (done.status, done.answers[0]["text"]) == (0, models.TEXT)
    assert models.TEXT in done.out  # as characters, not as escapes
    assert [*"user\n你".encode(), models.IM_END] == done.answers[0]["prompt_ids"][1:10]  # the last line end is not the prompt's


def test_compile_cache_serves_the_second_run(counting_pair, tmp_path):
    argv = ("--target", counting_pair[0], *CONTEXT, "--prompt-ids", "26", "--compile-cache", tmp_path / "cache")
    default = {"JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "1"}  # left at that, programs as quick to compile as these are not kept
    first, second = process(*argv, **default), process(*argv, **default)
    assert first.out == second.out == "27 28\n"
    assert re.findall("^(compiled|loaded from cache) ", first.err, re.M) == ["compiled"] * 2
    assert re.findall("^(compiled|loaded from cache) ", second.err, re.M) == ["loaded from cache"] * 2


@pytest.fixture
def endless(counting_pair, tmp_path):
    """A process that counts for minutes, and has begun: answers stream."""
    target = altered(counting_pair[0], tmp_path / "target", config={"max_position_embeddings": 100_000})
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)  # a process ignores SIGINT if its parent does
    started = start("--target", target, "--prompt-ids", "0", "--max-new-tokens", 60_000, "--ignore-eos")
    signal.signal(signal.SIGINT, handler)
    assert started.stdout.read(1) == b"1"
    yield started
    started.kill()
    started.communicate()


def test_interrupt(endless):
    endless.send_signal(signal.SIGINT)
    _, err = endless.communicate(timeout=60)
    assert endless.returncode == 130
    assert err.decode().splitlines()[-1] == "interrupted"
    assert b"Traceback" not in err


def test_closed_pipe_ends_quietly(endless):
    endless.stdout.close()
    assert endless.wait(timeout=60) == 0
    said = endless.stderr.read().decode()
    assert all(line.startswith(("compiled", "loaded from cache")) for line in said.splitlines()), said
