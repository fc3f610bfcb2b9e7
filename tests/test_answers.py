"""Files of answers: killed at any moment and resumed, nothing is lost and nothing is there twice."""

import json
from dataclasses import replace

import pytest

from domino_jax import answers, generate
from domino_jax.answers import unanswered
from domino_jax.errors import InputError
from domino_jax.events import Prompt

ASKED = [Prompt((1,), id=0), Prompt((2,), id="b"), Prompt((1,), id=0), Prompt((3,), id=3)]


def line(prompt: Prompt, sample: int | None = None) -> bytes:
    entry = {"id": prompt.id, "prompt_ids": prompt.ids, "output_ids": []} | ({} if sample is None else {"sample": sample})
    return json.dumps(entry).encode() + b"\n"


@pytest.mark.parametrize(
    ("content", "left"),
    [
        (b"", [0, 1, 2, 3]),
        (line(ASKED[1]), [0, 2, 3]),
        (line(ASKED[0]), [1, 2, 3]),
        (line(ASKED[0]) + line(ASKED[2]), [1, 3]),  # twice asked, twice answered
        (line(ASKED[3]) + line(ASKED[0])[:9], [0, 1, 2]),
        (b"".join(map(line, ASKED)), []),
        (b'{"i', [0, 1, 2, 3]),
    ],
)
def test_what_is_left(content, left, tmp_path):
    path = tmp_path / "answers.jsonl"
    path.write_bytes(content)
    assert unanswered(path, ASKED) == left
    assert path.read_bytes() == content[: content.rfind(b"\n") + 1]


@pytest.mark.parametrize(
    ("content", "left"),
    [
        (b"", [0, 1, 2, 3]),
        (line(ASKED[0], 1) + line(ASKED[1]), [0, 2]),
        (line(ASKED[0], 2) + line(ASKED[0], 1) + line(ASKED[0], 0), [3]),
    ],
)
def test_samples_are_answers_of_their_own(content, left, tmp_path):
    (tmp_path / "answers.jsonl").write_bytes(content)
    assert unanswered(tmp_path / "answers.jsonl", [replace(ASKED[0], n=3), replace(ASKED[1], n=1)]) == left


@pytest.mark.parametrize("content", [line(ASKED[0], 3), line(ASKED[0], 1) * 2, line(ASKED[0]), line(ASKED[1], 0)])
def test_samples_that_were_not_asked_for(content, tmp_path):
    (tmp_path / "answers.jsonl").write_bytes(content)
    with pytest.raises(InputError, match="is the answer to another prompt"):
        unanswered(tmp_path / "answers.jsonl", [replace(ASKED[0], n=3), replace(ASKED[1], n=1)])


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b'{"prompt": "hi"}\n', "line 1: is no answer"),
        (b"no JSON\n", "line 1: is no answer"),
        (b'{"id": [], "prompt_ids": [1]}\n', "line 1: is no answer"),
        (line(Prompt((9,), id=0)), "line 1: is the answer to another prompt"),
        (line(ASKED[1]) * 2, "line 2: is the answer to another prompt"),
        (b'{"prompt": "hi"}', "ends in a line that is no answer"),
    ],
)
def test_a_file_of_something_else_is_left_alone(content, said, tmp_path):
    path = tmp_path / "answers.jsonl"
    path.write_bytes(content)
    with pytest.raises(InputError, match=said):
        unanswered(path, ASKED)
    assert path.read_bytes() == content


@pytest.fixture
def into(counting_pair, tmp_path, capsys):
    """Runs 12 prompts into a file -> (status, answers by id without their times, stderr)."""
    lines = [{"prompt_ids": [start], "max_new_tokens": 1 + start % 7} for start in range(11)]
    (tmp_path / "asked.jsonl").write_text("\n".join(map(json.dumps, [*lines, {"prompt_ids": [0], "id": "last"}])))

    def into(out: str, *options: str, batch_size: int | None = 3):
        argv = ["--target", str(counting_pair[0]), "--prompts", str(tmp_path / "asked.jsonl")]
        argv += [] if "--draft" in options else ["--draft", str(counting_pair[1])]
        argv += [] if batch_size is None else ["--batch-size", str(batch_size)]
        argv += ["--max-context", "47", "--output", "json", "--out", str(tmp_path / out), *options]
        status = generate.main(argv)
        printed = capsys.readouterr()
        assert printed.out == ""
        entries = [json.loads(entry) for entry in (tmp_path / out).read_text().splitlines()] if status == 0 else []
        found = {entry["id"]: {key: entry[key] for key in entry if "seconds" not in key} for entry in entries}
        assert len(found) == len(entries)
        return status, found, printed.err

    return into


@pytest.mark.parametrize("kept", [0, 1, 5, 11])
def test_killed_and_resumed_is_never_killed(into, kept, monkeypatch, tmp_path):
    """The kill comes in the middle of a line."""
    status, whole, _ = into("whole.jsonl")
    assert (status, len(whole)) == (0, 12)

    written = []

    def torn(file, answer):
        if len(written) == kept:
            file.write(json.dumps(answer)[:20])
            file.flush()
            raise KeyboardInterrupt
        written.append(answer)
        append(file, answer)

    append = answers.append
    with monkeypatch.context() as patch:
        patch.setattr(answers, "append", torn)
        assert into("torn.jsonl")[0] == 130
    assert len((tmp_path / "torn.jsonl").read_text().splitlines()) == kept + 1
    assert into("torn.jsonl")[0] == 2  # without --resume nothing is touched
    status, resumed, err = into("torn.jsonl", "--resume")
    assert (status, resumed) == (0, whole)
    assert (f"{kept} of 12 answers are in" in err) == bool(kept)
    assert into("torn.jsonl", "--resume")[1] == whole  # nothing left to do


def test_resuming_takes_the_room_of_the_whole_run(into, tmp_path):
    """One short prompt is left: it is decoded at the batch and capacity of all, on which rounding depends."""
    whole = into("whole.jsonl", "--draft", "none")[1]
    lines = (tmp_path / "whole.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "most.jsonl").write_text("".join(text for text in lines if json.loads(text)["id"] != 1))
    status, found, err = into("most.jsonl", "--draft", "none", "--resume", batch_size=None)
    assert (status, found) == (0, whole)
    assert "11 of 12 answers are in" in err
    assert "step for batch 8, capacity" in err


def test_a_mended_line_is_all_that_a_resumed_run_decodes(count, prompts_file, tmp_path):
    """What --skip-bad left out has its number all the same."""
    argv = ("--batch-size", 2, "--output", "json", "--out", tmp_path / "out.jsonl")
    file = prompts_file({"prompt_ids": [26]}, "oops", {"prompt_ids": [24]})
    assert count("--prompts", file, *argv, "--skip-bad").last == "skipped 1 of 3 prompts"
    before = (tmp_path / "out.jsonl").read_text()
    assert count("--prompts", file, *argv, "--skip-bad", "--resume").last == "skipped 1 of 3 prompts"
    assert (tmp_path / "out.jsonl").read_text() == before
    prompts_file({"prompt_ids": [26]}, {"prompt_ids": [25]}, {"prompt_ids": [24]})
    assert "2 of 3 answers are in" in count("--prompts", file, *argv, "--resume").err
    whole = (tmp_path / "out.jsonl").read_text()
    assert whole.startswith(before)
    assert sorted((entry["id"], entry["prompt_ids"]) for entry in map(json.loads, whole.splitlines())) == [(0, [26]), (1, [25]), (2, [24])]
