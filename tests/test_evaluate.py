"""The evaluation command on small pairs: one set and several, conversations, drawn answers, loops, refusals."""

import json
import os
import threading

import pytest

from domino_jax import evaluate, sets
from tests import models


@pytest.fixture
def written(tmp_path):
    """Writes a set of prompts -> its path."""

    def write(name: str, *entries: dict) -> str:
        path = tmp_path / f"{name}.jsonl"
        path.write_text("".join(json.dumps(entry) + "\n" for entry in entries))
        return str(path)

    return write


@pytest.fixture
def evaluated(capsys, monkeypatch):
    """Runs the command, which must succeed -> (its JSON, the ways of decoding that it is made of, stderr)."""
    ways = []
    report = evaluate.report
    monkeypatch.setattr(evaluate, "report", lambda *given: (ways.append(given[2]), report(*given)))

    def run(pair, *argv):
        draft = () if "--draft" in argv else ("--draft", str(pair[1]))
        assert evaluate.main(["--target", str(pair[0]), *draft, *argv, "--output", "json"]) == 0
        printed = capsys.readouterr()
        return json.loads(printed.out, parse_constant=lambda name: pytest.fail(name)), ways[-1], printed.err

    return run


def test_the_command(counting_pair, prompts_file, tmp_path, capsys):
    file = str(prompts_file({"prompt_ids": [0]}, {"prompt_ids": [20]}))
    argv = ["--target", str(counting_pair[0]), "--draft", str(counting_pair[1]), "--prompts", file, "--max-new-tokens", "40"]
    assert evaluate.main([*argv, "--output", "json", "--plot", str(tmp_path / "plot.png")]) == 0
    found = json.loads(capsys.readouterr().out)
    plain, domino = found["runs"]
    assert (plain["kind"], plain["acceptance_length"], plain["equal"], plain["score"]) == ("none", 1.0, 2, None)
    assert (domino["kind"], domino["acceptance_length"], domino["rounds"], domino["equal"], domino["tokens"]) == ("domino", 16.0, 3, 2, 36)
    (only,) = found["sets"]
    records = [run.pop("records") for run in only["runs"]]
    assert (only["name"], only["runs"]) == ("asked", [plain, domino])
    assert [(r["id"], r["turn"], r["tokens"], r["rounds"], sum(r["acceptance_lengths"])) for r in records[1]] == [
        (0, 1, 28, 2, 32),
        (1, 1, 8, 1, 16),
    ]
    assert (tmp_path / "plot.png").stat().st_size > 1000
    assert evaluate.main(argv) == 0
    table = capsys.readouterr().out.splitlines()
    assert [line.count("|") for line in table[:4]] == [9] * 4
    assert "accepted + bonus" in table[-1]


def test_several_sets_share_their_programs(counting_pair, misaligned_pair, written, evaluated, tmp_path):
    """A right drafter and one that is always wrong; terms of one line alone, a longer prompt: still one capacity, one set of programs."""
    few = written("few", {"prompt_ids": [0], "id": "a"}, {"prompt_ids": [20], "stop_token_ids": [25]})
    more = written("more", *({"prompt_ids": [n] * 9} for n in range(20, 24)))
    argv = ["--draft", str(misaligned_pair[1]), "--draft", str(counting_pair[1]), "--max-new-tokens", "38"]
    found, ways, said = evaluated(counting_pair, *argv, "--prompts", few, "--prompts", more, "--plot", str(tmp_path / "plot.svg"))
    plain, wrong, ours = found["runs"]
    assert [one["name"] for one in found["sets"]] == ["few", "more"]
    assert (wrong["acceptance_length"], ours["acceptance_length"], ours["ratio"], ours["ratio_interval"]) == (1.0, 16.0, 16.0, [16.0, 16.0])
    assert plain["equal"] == wrong["equal"] == ours["equal"] == found["prompts"] == 6
    assert [run["tokens"] for one in found["sets"] for run in one["runs"]] == [33] * 3 + [8 + 7 + 6 + 5] * 3
    assert [record["id"] for one in found["sets"] for record in one["runs"][0]["records"]] == ["a", 1, 0, 1, 2, 3]
    assert [len(some.sets) for some in ways] == [2] * 3
    for program in ("step", "prefill"):
        assert said.count(f"compiled {program} ") == 1
    assert said.count("compiled verify ") == 1  # of both drafters
    assert (tmp_path / "plot.svg").stat().st_size > 5000
    assert "plain mean of the sets" in found["note"]


def test_several_sets_as_tables(counting_pair, written, capsys):
    files = [written(name, {"prompt_ids": [20]}) for name in ("one", "two")]
    argv = ["--target", str(counting_pair[0]), "--draft", str(counting_pair[1]), "--max-new-tokens", "40"]
    assert evaluate.main([*argv, "--prompts", files[0], "--prompts", files[1]]) == 0
    assert "| average | 2 | 16.00 [16.00, 16.00] |" in capsys.readouterr().out.splitlines()


def test_drawn_answers_equal_target_only_and_have_seeds_of_their_own(noisy_pair, written, evaluated):
    file, argv = written("drawn", *[{"prompt_ids": [0]}] * 3, {"prompt_ids": [0], "seed": 5}), ("--max-new-tokens", "40")
    found, (plain, domino), _ = evaluated(noisy_pair, "--prompts", file, *argv, "--temperature", "1", "--seed", "4")
    assert found["runs"][1]["equal"] == found["prompts"] == 4
    assert (found["temperature"], found["seed"]) == (1.0, 4)
    ids = [row.output_ids for row in plain.sets[0].all]
    assert ids == [row.output_ids for row in domino.sets[0].all]
    assert len(set(map(tuple, ids))) == 3
    assert ids[1] == ids[3]  # seeds 4, 5, 6; 5
    assert found["runs"][1]["acceptance_length"] < 16


def test_conversations_are_asked_turn_by_turn(speaking_pair, written, evaluated):
    """The pair always says the same: what differs is what it is asked."""
    file = written(
        "talk", {"turns": ["a", "b", "c"], "answer": models.TEXT}, {"prompt": "d", "answer": "?"}, {"turns": ["e"], "answer": "?"}
    )
    found, ways, said = evaluated(speaking_pair, "--prompts", file, "--max-new-tokens", "12")
    for some in ways:
        rows = some.sets[0].rows
        assert [len(turns) for turns in rows] == [3, 1, 1]
        prompts = [bytes(token for token in row.prompt_ids if token < 256).decode() for row in rows[0]]
        assert [prompt.count(models.TEXT) for prompt in prompts] == [0, 1, 2]
        assert prompts[1].index("a") < prompts[1].index(models.TEXT) < prompts[1].index("b")
        assert rows[0][2].text == models.TEXT
    plain, domino = found["runs"]
    assert (domino["prompts"], domino["answers"], domino["equal"]) == (3, 5, 5)
    assert domino["score"] == plain["score"] == pytest.approx(1 / 3)
    records = found["sets"][0]["runs"][1]["records"]
    assert [(record["id"], record["turn"]) for record in records] == [(0, 1), (0, 2), (0, 3), (1, 1), (2, 1)]
    assert sum(record["rounds"] for record in records) == domino["rounds"] == 5
    assert said.count("compiled step ") == said.count("compiled draft ") == said.count("compiled verify ") == 1


def test_answers_that_loop_are_left_out_beside_all(speaking_pair, written, evaluated):
    """After a letter the pair repeats it until the budget ends; a line end it leaves by itself."""
    file = written("loop", {"prompt_ids": [65]}, {"prompt_ids": [10]}, {"prompt_ids": [66], "max_new_tokens": 31})
    found, _, _ = evaluated(speaking_pair, "--prompts", file, "--max-new-tokens", "40")
    domino = found["runs"][1]
    assert [record["looping"] for record in found["sets"][0]["runs"][1]["records"]] == [True, False, False]
    assert (domino["looping"], domino["answers"], domino["without_loops"]["answers"]) == (1, 3, 2)
    assert domino["without_loops"]["rounds"] < domino["rounds"]


def test_answers_are_in_every_line_or_in_none(counting_pair, prompts_file, capsys):
    file = str(prompts_file({"prompt_ids": [0], "answer": "#### 1"}, {"prompt_ids": [20]}))
    assert evaluate.main(["--target", str(counting_pair[0]), "--prompts", file]) == 2
    assert "line 2: answer is null, expected a text in every line or in none" in capsys.readouterr().err


def test_one_token_each(counting_pair, written, evaluated, tmp_path, capsys):
    files = ["--prompts", written("one", {"prompt_ids": [0]}), "--prompts", written("two", {"prompt_ids": [0]}), "--max-new-tokens", "1"]
    found, _, _ = evaluated(counting_pair, *files, "--plot", str(tmp_path / "plot.png"))
    plain, domino = found["runs"]
    assert plain["acceptance_length"] is domino["acceptance_length"] is domino["ratio"] is None
    assert evaluate.main(["--target", str(counting_pair[0]), "--draft", str(counting_pair[1]), *files]) == 0
    printed = capsys.readouterr()
    assert "nan" not in (printed.out + printed.err).lower()


# Refusals


@pytest.fixture
def refused(capsys):
    def refused(target, *argv) -> str:
        assert evaluate.main(["--target", str(target), *argv]) == 2
        printed = capsys.readouterr()
        assert printed.out == ""
        (line,) = printed.err.splitlines()
        return line

    return refused


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["--plot", "x.png"], "--plot is given without --draft"),
        (["--draft", "d", "--plot", "x.gif"], "x.gif: its suffix is .gif, expected .png or .svg"),
        (["--draft", "d", "--plot", "missing/x.png"], "missing/x.png: its directory is missing"),
        (["--seed", "3"], "--seed is given and nothing is sampled, expected also a --temperature above 0"),
        (["--temperature", "-1"], "temperature is -1.0, expected 0 (greedy) or a positive number"),
        (["--temperature", "1", "--seed", str(2**32)], "seed is 4294967296, expected"),
    ],
)
def test_options_that_cannot_be_are_refused_at_the_start(prompts_file, refused, argv, said):
    assert said in refused("missing", "--prompts", str(prompts_file({"prompt_ids": [0]})), *argv)


def test_one_answer_to_a_prompt(counting_pair, prompts_file, refused):
    file = prompts_file({"prompt_ids": [0]}, {"prompt_ids": [0], "n": 3, "temperature": 1})
    assert f"{file}, line 2: n is 3, expected 1" in refused(counting_pair[0], "--prompts", str(file))


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ({"turns": []}, "turns is [], expected a non-empty list of the user's texts"),
        ({"turns": "hi"}, 'turns is "hi", expected a non-empty list'),
        ({"turns": ["hi", 3]}, 'turns is ["hi", 3], expected'),
        ({"turns": ["hi", ""]}, 'turns is ["hi", ""], expected'),
        ({"turns": None}, "turns is null, expected"),
        ({"turns": [{"role": "user", "content": "hi"}]}, "turns is ["),
        ({"turns": ["hi"], "prompt": "hi"}, "has prompt and turns, expected exactly one of prompt, messages, prompt_ids, turns"),
        ({}, "has no prompt, expected exactly one of prompt, messages, prompt_ids, turns"),
        ({"turn": ["hi"]}, 'has the key "turn", expected only'),
    ],
)
def test_turns_that_are_none(prompts_file, refused, entry, said):
    file = prompts_file({"prompt_ids": [0]}, entry)
    assert f"error: {file}, line 2: {said}" in refused("missing", "--prompts", str(file))


def test_turns_without_a_tokenizer(counting_pair, prompts_file, refused):
    file = prompts_file({"prompt_ids": [0]}, {"turns": ["a", "b"]})
    said = refused(counting_pair[0], "--prompts", str(file))
    assert f"error: {file}, line 2, turn 2: is text but the target's directory has no tokenizer" in said


def test_turns_that_may_outgrow_the_context(speaking_pair, prompts_file, refused):
    """Before anything is decoded: answers of all their budget are reckoned with."""
    file = prompts_file({"turns": ["a", "b"]})
    said = refused(speaking_pair[0], "--prompts", str(file), "--max-new-tokens", "120")
    assert f"{file}, line 1, turn 2 after answers of 120 tokens: " in said
    assert "expected at most 256" in said


def test_two_sets_of_one_name(prompts_file, refused, tmp_path):
    file = prompts_file({"prompt_ids": [0]})
    (tmp_path / "other").mkdir()
    other = file.rename(tmp_path / "other" / file.name)
    prompts_file({"prompt_ids": [0]})
    said = refused("missing", "--prompts", str(file), "--prompts", str(other))
    assert f"--prompts {other}: is the second set named asked, expected file names that differ" in said


def test_a_set_is_read_once(tmp_path):
    """So it may be a pipe."""
    pipe = tmp_path / "pipe.jsonl"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_text, args=['{"prompt": "1 + 1?", "answer": "2"}\n{"prompt": "3?", "answer": "3"}\n'])
    writer.start()
    (found,) = sets.read([str(pipe)])
    writer.join()
    assert ([request.text for request in found.requests], found.answers) == (["1 + 1?", "3?"], ["2", "3"])
