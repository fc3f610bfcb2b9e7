"""Public sets as published, made tiny here, to prompt files."""

import gzip
import itertools
import json
from pathlib import Path

import pytest

from bench import published_sets
from domino_jax import sets

HUMANEVAL = {"task_id": "HumanEval/0", "prompt": 'def one():\n    """ {1} """\n', "entry_point": "one", "test": ""}
GSM8K = {"question": "How many {eggs}?", "answer": "It is 1000 + 18.\n#### 1,018"}
SPEC_BENCH = [
    {"question_id": 81, "category": "writing", "turns": ["Write a post.", "Shorten it."], "reference": ["x"]},
    {"question_id": 91, "category": "roleplay", "turns": ["Be a pirate.", "Again."]},
    {"question_id": 161, "category": "translation", "turns": ["Translate German to English: Guten Tag \u2028 über"]},
    {"question_id": 241, "category": "summarization", "turns": ["Summarize: ..."]},
    {"question_id": 321, "category": "qa", "turns": ["Who?"]},
    {"question_id": 401, "category": "math_reasoning", "turns": ["How many?"]},
    {"question_id": 481, "category": "rag", "turns": ["Passage. Question?"]},
]


def lines(*entries: dict) -> bytes:
    return "".join(f"{json.dumps(entry, ensure_ascii=False)}\n" for entry in entries).encode()


@pytest.fixture
def published(tmp_path) -> Path:
    directory = tmp_path / "published"
    directory.mkdir()
    (directory / "HumanEval.jsonl.gz").write_bytes(gzip.compress(lines(HUMANEVAL)))
    (directory / "gsm8k_test_200.jsonl").write_bytes(lines(GSM8K))
    (directory / "gsm8k_train.jsonl").write_bytes(b"not read")
    (directory / "spec_bench_240.jsonl").write_bytes(lines(*SPEC_BENCH))
    return directory


def read(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_bytes().split(b"\n") if line]


def test_one_file_a_set_phrased_as_published(published, tmp_path, capsys):
    out = tmp_path / "new" / "sets"
    assert published_sets.main([str(published), "--out", str(out)]) == 0
    assert "1 prompts in" in capsys.readouterr().err
    groups = ("mt_bench", "translation", "summarization", "qa", "math_reasoning", "rag")
    assert sorted(path.stem for path in out.iterdir()) == sorted(["humaneval", "gsm8k", *(f"spec_bench_{group}" for group in groups)])
    [task] = read(out / "humaneval.jsonl")
    fenced = f"```python\n{HUMANEVAL['prompt']}\n```"
    assert task == {
        "id": "HumanEval/0",
        "prompt": f"Write a solution to the following problem and make sure that it passes the tests:\n{fenced}",
    }
    [problem] = read(out / "gsm8k.jsonl")
    asked = "How many {eggs}?\nPlease reason step by step, and put your final answer within \\boxed{}."
    assert problem == {"prompt": asked, "answer": "#### 1018"}
    assert read(out / "spec_bench_mt_bench.jsonl") == [{"turns": ["Write a post.", "Shorten it."]}, {"turns": ["Be a pirate.", "Again."]}]
    assert read(out / "spec_bench_translation.jsonl") == [{"prompt": SPEC_BENCH[2]["turns"][0]}]


def test_files_can_be_read_as_prompts(published, tmp_path):
    assert published_sets.main([str(published), "--out", str(tmp_path)]) == 0
    found = {one.name: len(one.requests) for one in sets.read(sorted(map(str, tmp_path.glob("*.jsonl"))))}
    assert found == {path.stem: len(read(path)) for path in tmp_path.glob("*.jsonl")}
    assert len(found) > 3


def test_its_own_input_is_not_written_over(published, capsys):
    before = sorted(path.name for path in published.iterdir())
    assert published_sets.main([str(published), "--out", f"{published}/"]) == 2
    assert "is the directory of the published files, expected another" in capsys.readouterr().err
    assert sorted(path.name for path in published.iterdir()) == before


def test_a_part_is_enough(published, tmp_path):
    for path in published.glob("[Hs]*"):
        path.unlink()
    assert published_sets.main([str(published), "--out", str(tmp_path / "sets")]) == 0
    assert [path.name for path in (tmp_path / "sets").iterdir()] == ["gsm8k.jsonl"]


@pytest.mark.parametrize(
    ("file", "content", "complaint"),
    [
        ("HumanEval.jsonl.gz", b"no gzip", "cannot be read"),
        ("HumanEval.jsonl.gz", gzip.compress(lines(HUMANEVAL))[:-9], "cannot be read"),
        ("HumanEval.jsonl.gz", gzip.compress(lines(HUMANEVAL, {**HUMANEVAL, "prompt": 3})), "line 2: prompt is 3, expected"),
        ("gsm8k_test_200.jsonl", lines(GSM8K, {"question": "How?"}), "line 2: answer is null, expected"),
        ("gsm8k_test_200.jsonl", lines({**GSM8K, "answer": "It is 18."}), 'line 1: answer ends in "It is 18.", expected a number'),
        ("gsm8k_test_200.jsonl", b"\n\n[1]\n", "line 3: is a list, expected"),
        ("gsm8k_test_200.jsonl", b"{\n", "line 1: is not JSON"),
        ("gsm8k_test_200.jsonl", b"\n", "is empty, expected"),
        ("gsm8k_test_1.jsonl", lines(GSM8K), "holds gsm8k_test_1.jsonl and gsm8k_test_200.jsonl, expected one"),
        ("spec_bench_240.jsonl", lines({**SPEC_BENCH[0], "category": "art"}), 'line 1: category is "art", expected one of writing'),
        ("spec_bench_240.jsonl", lines({**SPEC_BENCH[0], "turns": []}), "line 1: turns is [], expected"),
        ("spec_bench_240.jsonl", lines({**SPEC_BENCH[4], "turns": ["a", "b"]}), "line 1: has 2 turns, expected one in the category qa"),
    ],
    ids=itertools.count(),
)
def test_what_is_broken_is_named_and_nothing_written(published, tmp_path, capsys, file, content, complaint):
    (published / file).write_bytes(content)
    assert published_sets.main([str(published), "--out", str(tmp_path / "sets")]) == 2
    printed = capsys.readouterr().err
    assert complaint in printed
    assert file in printed
    assert printed.count("\n") == 1
    assert not (tmp_path / "sets").exists()


def test_no_set(tmp_path, capsys):
    assert published_sets.main([str(tmp_path), "--out", str(tmp_path / "sets")]) == 2
    assert "holds no published set, expected HumanEval" in capsys.readouterr().err
