"""Files of answers: killed at any moment and resumed, nothing is lost and nothing is there twice."""

import json

import pytest

from domino_jax import answers, generate
from domino_jax.answers import unanswered
from domino_jax.errors import InputError
from domino_jax.events import Prompt

ASKED = [Prompt((1,), id=0), Prompt((2,), id="b"), Prompt((1,), id=0), Prompt((3,), id=3)]


def line(prompt: Prompt) -> bytes:
    return json.dumps({"id": prompt.id, "prompt_ids": prompt.ids, "output_ids": []}).encode() + b"\n"


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
    ("content", "said"),
    [
        (b'{"prompt": "hi"}\n', "line 1: is no answer"),
        (b"no JSON\n", "line 1: is no answer"),
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
def run(counting_pair, tmp_path, capsys):
    """Runs 12 prompts into a file -> (status, answers by id without their times, stderr)."""
    lines = [{"prompt_ids": [start], "max_new_tokens": 1 + start % 7} for start in range(11)]
    (tmp_path / "asked.jsonl").write_text("\n".join(map(json.dumps, [*lines, {"prompt_ids": [0], "id": "last"}])))

    def run(out: str, *options: str, batch_size: int = 3):
        argv = ["--target", str(counting_pair[0]), "--draft", str(counting_pair[1]), "--prompts", str(tmp_path / "asked.jsonl")]
        argv += ["--batch-size", str(batch_size), "--max-context", "47", "--output", "json", "--out", str(tmp_path / out), *options]
        status = generate.main(argv)
        printed = capsys.readouterr()
        assert printed.out == ""
        entries = [json.loads(entry) for entry in (tmp_path / out).read_text().splitlines()] if status == 0 else []
        found = {entry["id"]: {key: entry[key] for key in entry if "seconds" not in key} for entry in entries}
        assert len(found) == len(entries)
        return status, found, printed.err

    return run


@pytest.mark.parametrize("kept", [0, 1, 5, 11])
def test_killed_and_resumed_is_never_killed(run, kept, monkeypatch, tmp_path):
    """The kill comes in the middle of a line."""
    status, whole, _ = run("whole.jsonl")
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
        assert run("torn.jsonl")[0] == 130
    assert len((tmp_path / "torn.jsonl").read_text().splitlines()) == kept + 1
    assert run("torn.jsonl")[0] == 2  # without --resume nothing is touched
    status, resumed, err = run("torn.jsonl", "--resume")
    assert (status, resumed) == (0, whole)
    assert (f"{kept} of 12 answers are in" in err) == bool(kept)
    assert run("torn.jsonl", "--resume")[1] == whole  # nothing left to do


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--resume"], "--resume is given without --out"),
        (["--out", "missing/x", "--output", "json"], "missing/x: its directory is missing"),
        (["--out", "x", "--output", "text"], "--out is given without --output json"),
        (["--out", "x", "--output", "json", "--check"], "--out is given with --check"),
    ],
)
def test_options_that_do_not_go_together(options, said, capsys):
    assert generate.main(["--prompt-ids", "1", *options]) == 2
    assert said in capsys.readouterr().err
