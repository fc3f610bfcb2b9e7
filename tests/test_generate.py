"""The command line: where answers end, what changes their speed only, what is drawn, checked and counted, and how a process ends.

The counting pair says t + 1 after t and stops at 28; the speaking pair answers every chat with models.TEXT. Runs share one
cache capacity and mostly one batch size, so that few programs are compiled.
"""

import json
import re
import signal
import time
from pathlib import Path

import jax
import numpy as np
import pytest
import safetensors.numpy

import domino_jax
from domino_jax.engine import Engine
from domino_jax.loop import Run
from tests import models
from tests.commands import CONTEXT, COUNT, altered, process, runner, start

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


@pytest.mark.parametrize("listed", [-1, 2**31, 10**400, [28, 2**31], "28", True])
def test_a_stop_id_that_no_token_has_is_refused(run, counting_pair, tmp_path, listed):
    target = altered(counting_pair[0], tmp_path / "target", generation_config={"eos_token_id": listed})
    done = runner(run, (target, counting_pair[1]), *CONTEXT)("--prompt-ids", "0", status=2)
    assert done.out == ""
    assert done.err.startswith(f"error: {target}/generation_config.json: eos_token_id is")


@pytest.mark.parametrize("draft", [(), ("--draft", "none")])
@pytest.mark.parametrize(("argv", "last"), [(("5 9",), 5), (("30",), 28), (("7", "--ignore-eos"), 7)])
def test_further_stop_ids(count, argv, last, draft):
    """They end an answer inside an accepted block, also where the model's own are ignored."""
    (answer,) = count("--prompt-ids", "0", "--stop-token-ids", *argv, *draft, "--output", "json", "--check").answers
    assert (answer["output_ids"], answer["finish_reason"]) == (COUNT[:last], "stop")
    assert answer["check"]["equal"]


def test_a_line_may_have_stop_ids_of_its_own(count, prompts_file):
    lines = ({"prompt_ids": [0], "stop_token_ids": 4}, {"prompt_ids": [0]}, {"prompt_ids": [0], "stop_token_ids": [12, 2]})
    answers = count("--prompts", prompts_file(*lines), "--stop-token-ids", "6", "--batch-size", 1, "--output", "json").answers
    assert [answer["output_ids"][-1] for answer in answers] == [4, 6, 2]


@pytest.mark.parametrize("draft", [(), ("--draft", "none")])
def test_no_stop_before_min_tokens(count, draft):
    """The chain goes on from what the target likes best beside a stop."""
    argv = ("--prompt-ids", "20", *draft, "--output", "json", "--check")
    (short,) = count(*argv).answers
    assert len(short["output_ids"]) == 8
    for tokens in (8, 9, 20):
        (answer,) = count(*argv, "--min-tokens", tokens).answers
        assert len(answer["output_ids"]) >= tokens
        assert answer["output_ids"][:7] == short["output_ids"][:7]
        assert 28 not in answer["output_ids"][: tokens - 1]
        assert answer["check"]["equal"]


def test_a_line_may_have_min_tokens_of_its_own(count, prompts_file):
    file = prompts_file({"prompt_ids": [24], "min_tokens": 0}, {"prompt_ids": [24]})
    one, other = count("--prompts", file, "--min-tokens", 12, "--batch-size", 1, "--output", "json").answers
    assert one["output_ids"] == [25, 26, 27, 28]
    assert len(other["output_ids"]) >= 12


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


def test_several_answers_are_drawn_each_for_itself(count):
    """The first is the only one of a run without --n; all are the same with a drafter and without, and in any company."""
    warm = ("--temperature", 60, "--max-new-tokens", 20, "--seed", 3)
    three = drawn(count, *warm, "--n", 3, "--batch-size", 2, "--check")
    assert len({*map(tuple, three)}) == 3
    assert three[:1] == drawn(count, *warm)
    assert three[:2] == drawn(count, *warm, "--n", 2, "--draft", "none")


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
    assert found["seconds"].keys() == {"load", "compile", "decode", "prefill", "draft", "verify", "host", "check"}
    assert all(seconds >= 0 for seconds in found["seconds"].values())
    assert found["acceptance_by_position"] == [1.0] * 15
    stages = ("prefill_seconds", "decode_seconds", "draft_seconds", "verify_seconds")
    assert [{key: answer[key] for key in answer if key not in stages} for answer in found["answers"]] == [
        dict(id=0, sample=0, rounds=2, tokens=28, mean_acceptance_length=16.0),
        dict(id=1, sample=0, rounds=0, tokens=1, mean_acceptance_length=None),
    ]
    assert all(answer[stage] >= 0 for answer in found["answers"] for stage in stages)
    assert found["tokens_per_second"] > 0
    assert found["time_to_first_token"] > 0
    assert found["versions"]["jax"] == jax.__version__


def test_statistics_count_prompts_and_answers(count):
    argv = ("--prompt-ids", "0", "--n", 3, "--temperature", 60, "--max-new-tokens", 5, "--ignore-eos", "--batch-size", 2)
    found = json.loads(count(*argv, "--stats", "json").last)
    assert (found["prompts"], found["prompt_tokens"], found["tokens"], found["batch_size"]) == (1, 1, 15, 2)
    assert [(answer["id"], answer["sample"]) for answer in found["answers"]] == [(0, 0), (0, 1), (0, 2)]
    assert "1 prompt, 3 answers, 15 tokens" in count(*argv).last


def test_positions_of_a_run_without_drafter(count):
    assert json.loads(count("--prompt-ids", "0", "--draft", "none", "--stats", "json").last)["acceptance_by_position"] == []


@pytest.mark.parametrize("suffix", ["png", "svg"])
def test_a_picture_is_drawn(count, tmp_path, suffix):
    count("--prompt-ids", "0", "--plot", tmp_path / f"x.{suffix}")
    assert (tmp_path / f"x.{suffix}").stat().st_size > 5000


def test_no_picture_without_a_round(count, tmp_path):
    done = count("--prompt-ids", "27", "--plot", tmp_path / "x.png")
    assert f"note: {tmp_path}/x.png is not drawn: there was no round" in done.err
    assert not (tmp_path / "x.png").exists()


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
    assert "27 rounds, mean acceptance length 1.00 " in done.last


def test_good_acceptance_is_not_warned_about(count):
    assert "warning" not in count("--prompt-ids", "0").err


# What a user could not see


@pytest.mark.parametrize(("stored", "computed"), [(np.float16, "float32"), (np.float32, "bfloat16"), (np.float32, "float32")])
def test_a_cast_is_stated(run, counting_pair, tmp_path, stored, computed):
    pair = []
    for source in counting_pair:
        raw, tensors = models.read(source)
        held = {name: tensor.astype(stored) for name, tensor in tensors.items()}
        pair.append(models.write(tmp_path / source.name, raw, held))
    done = runner(run, pair, *CONTEXT)("--prompt-ids", "0", "--dtype", computed)
    name = np.dtype(stored).name
    said = [f"note: {directory} is stored as {name} and computed as {computed}" for directory in pair if name != computed]
    assert [line for line in done.err.splitlines() if line.startswith("note: ")] == said
    assert done.out == " ".join(map(str, COUNT)) + "\n"


def test_a_tensor_that_is_left_out_is_named(run, counting_pair, tmp_path):
    raw, tensors = models.read(counting_pair[1])
    draft = models.write(tmp_path, raw, tensors | {"rotary_emb.inv_freq": np.ones(4, np.float32)})
    done = runner(run, (counting_pair[0], draft), *CONTEXT)("--prompt-ids", "0")
    assert "note: rotary_emb.inv_freq is ignored: RoPE angles are computed\n" in done.err
    assert "length 16.00" in done.last


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


# A cache of programs


def test_a_compile_cache_that_cannot_be_written_only_warns(count, tmp_path):
    (tmp_path / "file").touch()
    done = count("--prompt-ids", "26", "--compile-cache", tmp_path / "file" / "cache")
    assert done.out == "27 28\n"
    assert re.search(rf"^warning: {tmp_path}/file/cache cannot be written .*", done.err, re.M)


# As a process


def test_process_that_succeeds(counting_pair):
    done = process("--target", counting_pair[0], "--draft", counting_pair[1], *CONTEXT, "--prompt-ids", "0")
    assert (done.status, done.out) == (0, " ".join(map(str, COUNT)) + "\n")
    assert done.last.startswith("cpu")


def test_process_that_is_refused():
    done = process("--target", "missing", "--prompt-ids", "5")
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith("error: missing: no such directory")
    assert done.err.count("\n") == 1


@pytest.mark.parametrize("streaming", [False, True])
def test_process_in_the_c_locale_reads_and_writes_utf8(speaking_pair, streaming):
    argv = ("--target", speaking_pair[0], "--draft", speaking_pair[1], *CONTEXT, "--output", "text" if streaming else "json")
    environment = dict(LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0")  # Python's own ways out of it are shut
    done = process(*argv, stdin="你\n".encode(), **environment)
    if streaming:
        assert (done.status, done.out) == (0, models.TEXT + "\n")
        return
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
    started = start("--target", target, "--prompt-ids", "0", "--max-new-tokens", 60_000, "--ignore-eos")
    assert started.stdout.read(1) == b"1"
    yield started
    started.kill()
    started.communicate()


def interrupt(started, name: str) -> None:
    started.send_signal(getattr(signal, name))
    _, err = started.communicate(timeout=60)
    assert started.returncode == 130
    assert err.decode().splitlines()[-1] == "interrupted"
    assert b"Traceback" not in err


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_interrupt(endless, name):
    interrupt(endless, name)


def test_closed_pipe_ends_quietly(endless):
    endless.stdout.close()
    assert endless.wait(timeout=60) == 0
    said = endless.stderr.read().decode()
    assert all(line.startswith(("compiled", "loaded from cache")) for line in said.splitlines()), said


@pytest.fixture
def long_run(counting_pair, tmp_path, prompts_file):
    """Arguments of a run that takes seconds: 30 answers of 150 tokens, one token at a time; half of the prompts have two."""
    lines = [{"prompt_ids": [start], "n": 1 + start % 2, "temperature": 60} for start in range(20)]
    argv = ["--target", counting_pair[0], "--prompts", prompts_file(*lines), "--ignore-eos", "--max-new-tokens", 150]
    return [*argv, "--batch-size", 2, "--output", "json"]


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_a_killed_process_goes_on_where_its_file_ends(run, long_run, tmp_path, name):
    """30 answers; what is there when it is killed stays, and with --resume the file is that of a run that was never killed."""

    def answers(file: str) -> list[dict]:
        found = [json.loads(line) for line in (tmp_path / file).read_text().splitlines()]
        kept = [{key: entry[key] for key in entry if "seconds" not in key} for entry in found]
        return sorted(kept, key=lambda entry: (entry["id"], entry.get("sample", 0)))

    started = start(*long_run, "--out", tmp_path / "killed.jsonl")
    while not (tmp_path / "killed.jsonl").exists() or (tmp_path / "killed.jsonl").read_text().count("\n") < 3:
        assert started.poll() is None
        time.sleep(0.01)
    interrupt(started, name)
    before = (tmp_path / "killed.jsonl").read_text()
    assert 3 <= before.count("\n") < 30
    assert before.endswith("\n")
    assert run(*long_run, "--out", tmp_path / "killed.jsonl", "--resume").status == 0
    assert (tmp_path / "killed.jsonl").read_text().startswith(before)
    assert run(*long_run, "--out", tmp_path / "whole.jsonl").status == 0
    assert answers("killed.jsonl") == answers("whole.jsonl")
    assert len(answers("whole.jsonl")) == 30


@pytest.mark.parametrize("output", ["text", "json"])
def test_an_interrupt_writes_what_waited_for_its_turn(run, counting_pair, monkeypatch, output):
    """The second answer is done and the first is not."""
    events = Run.events

    def interrupted(self, tasks):
        for event in events(self, tasks):
            yield event
            if isinstance(event, domino_jax.Finished):
                raise KeyboardInterrupt

    monkeypatch.setattr(Run, "events", interrupted)
    argv = ("--prompt-ids", "0", "--prompt-ids", "26", "--batch-size", 2, *CONTEXT, "--output", output)
    done = run("--target", counting_pair[0], *argv)
    assert (done.status, done.last) == (130, "interrupted")
    found = done.out if output == "text" else [answer["output_ids"] for answer in done.answers]
    assert found == {"text": "=== 1 ===\n27 28\n", "json": [[27, 28]]}[output]
