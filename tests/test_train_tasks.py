"""Prompts of everyday use: the same for a seed, all different, of every kind, complete texts, and apart from what is excluded."""

import gzip
import hashlib
import json
import re
from collections import Counter
from pathlib import Path
from random import Random

import pytest

from domino_jax import prompts
from domino_jax.directories import write_file
from domino_jax.errors import InputError
from domino_jax.train.tasks import __main__ as tasks
from domino_jax.train.tasks import kinds, passages
from domino_jax.train.tasks.grammar import Choice, Field, draw, parse
from domino_jax.train.tasks.kinds import KINDS, LISTS, generate
from domino_jax.train.tasks.overlap import RUN, words
from domino_jax.train.tasks.passages import PASSAGE_NAMES, PASSAGES, spoil
from domino_jax.train.tasks.texts import Source, source, texts

COUNT = 24_000
LONG = "one two three four five six seven eight nine ten eleven twelve thirteen"


def shown(entry: dict) -> str:
    return entry.get("prompt") or "\n".join(turn["content"] for turn in entry["messages"])


@pytest.fixture(scope="module")
def drawn() -> list[dict]:
    return list(generate(COUNT))


# what is drawn


def test_the_same_for_a_seed_and_others_for_another(drawn):
    assert list(generate(500)) == drawn[:500]
    assert len({shown(entry) for entry in generate(500, seed=1)} & {shown(entry) for entry in drawn[:500]}) < 25


def test_pinned(drawn):
    assert hashlib.sha256(json.dumps(drawn[:1000]).encode()).hexdigest()[:16] == "a396256355f7fc49"


def test_all_are_different(drawn):
    assert len({json.dumps({key: value for key, value in entry.items() if key != "kind"}) for entry in drawn}) == COUNT


def test_every_kind_has_its_share(drawn):
    counts = Counter(entry["kind"] for entry in drawn)
    assert sum(kind.share for kind in KINDS) == 100
    assert counts.keys() == {kind.name for kind in KINDS}
    for kind in KINDS:
        assert counts[kind.name] == pytest.approx(COUNT * kind.share / 100, rel=0.15)


def test_there_are_hundreds_of_phrasings():
    assert sum(len(set(kind.templates)) for kind in KINDS) > 600
    assert all(len(set(entries)) == len(entries) for entries in [*LISTS.values(), *(kind.templates for kind in KINDS)])


def test_texts_are_complete(drawn):
    """Nothing of the notation is left in a text, no sign is doubled, and articles fit what follows."""
    for entry in drawn:
        text = shown(entry)
        assert text == text.strip(), text
        assert not re.search(r"¶|\{\^|\{[a-z]\w*=|\{[A-Z]{2}|\{\d+-\d+\}|\[[^\]\n]*\|| ,|,\.|\?\?|(?<!\.)\.\.(?!\.)|\n{3}", text), text
        wrong = re.findall(r"\ba (?!one|eulogy|oubli)[aeio]\w{2,}|\ban (?!hour|SQL|HTML|honest)[b-df-hj-np-tv-z]\w{2,}", text)
        assert entry["kind"] in ("edit", "dialogue") or not wrong, text


def test_dialogues_end_with_the_user_and_take_turns(drawn):
    for entry in drawn:
        if entry["kind"] == "dialogue":
            roles = [turn["role"] for turn in entry["messages"]]
            assert roles[-1] == "user"
            assert roles in (["system", "user"], ["user", "assistant", "user"])
            assert all(turn["content"].strip() == turn["content"] != "" for turn in entry["messages"])


def test_questions_are_answered_in_their_texts():
    """A question comes with the sentence that answers it."""
    assert len(PASSAGES) > 25
    for number in range(300):
        told = passages.passage(Random(number), LISTS)
        assert set(told) == set(PASSAGE_NAMES)
        assert told["question"] != told["other"]
        assert told["sentence"] in told["text"]
        assert told["text"] not in (told["spoiled"], told["text_b"])


def test_names_and_lists_are_known():
    known = {*kinds.FUNCTION_NAMES, *PASSAGE_NAMES, "problem", "them"}
    used = set()

    def fields(nodes):
        for node in nodes:
            for option in node.options if isinstance(node, Choice) else ():
                yield from fields(option)
            if isinstance(node, Field):
                yield node

    for template in [*(t for kind in KINDS for t in kind.templates), *(entry for entries in LISTS.values() for entry in entries)]:
        named = set(known)
        for field in fields(parse(template)):
            assert field.source or field.name in named, template
            named.add(field.name)
            used.add(field.source)
    for passage in PASSAGES:
        used |= {field.source for text in passage.sentences for field in fields(parse(text))}
    assert {name for name in used if name and name.isupper()} | {"FUNCTION"} == LISTS.keys()


def test_a_kind_without_more_prompts_says_so(monkeypatch):
    monkeypatch.setattr(kinds, "HUNDRED", (kinds.Kind("greet", 100, ("Hi[!|.]",)),))
    assert sorted(entry["prompt"] for entry in generate(2)) == ["Hi!", "Hi."]
    with pytest.raises(InputError, match="expected at most 2"):
        list(generate(3))


# the notation


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("x[i] = {}", {"x[i] = {}"}),
        ("[a|b|] c", {"a c", "b c", " c"}),
        ("[a [b|c]|d]", {"a b", "a c", "d"}),
        ("{a ONE}, {^x=ONE} {x} {^x}", {"an apple, Pear pear Pear", "a pear, Apple apple Apple"}),
        ("{2-6/2}¶", {"2\n", "4\n", "6\n"}),
        ("{s=on|off}{s}", {"onon", "offoff"}),
        ("{TWO}", {"apple 1", "pear 1", "apple 2", "pear 2"}),
    ],
)
def test_the_notation(text, options):
    lists = {"ONE": ("apple", "pear"), "TWO": ("{ONE} {1-2}",)}
    random = Random(0)
    assert {draw(text, random, lists, {}) for _ in range(100)} == options


def test_slips_of_the_pen_leave_most_of_a_text():
    text = "Their bicycle was stolen from the yard because the gate had been left open until midnight."
    for number in range(100):
        spoiled = spoil(text, Random(number))
        assert spoiled != text
        assert len(set(spoiled.split()) & set(text.split())) > 6


# files


@pytest.fixture
def run(tmp_path, capsys):
    def ran(*arguments, status: int = 0) -> tuple[list[dict], str]:
        out = tmp_path / "out" / "prompts.jsonl"
        assert tasks.main([*map(str, arguments), "--out", str(out)]) == status
        err = capsys.readouterr().err
        if status:
            assert err.count("\n") == 1
            assert err.startswith("error: ")
        return [json.loads(line) for line in out.read_text().splitlines()] if out.exists() else [], err

    return ran


def write(path: Path, *entries: dict) -> Path:
    data = "".join(f"{json.dumps(entry)}\n" for entry in entries).encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def test_command_writes_what_regenerate_reads(run, tmp_path):
    entries, err = run("--count", 60, "--seed", 3)
    assert sorted(map(json.dumps, entries)) == sorted(map(json.dumps, generate(60, 3)))
    assert entries != list(generate(60, 3))
    assert "60 prompts in " in err
    assert " code" in err
    requests = prompts.from_file(str(tmp_path / "out" / "prompts.jsonl"), besides=prompts.BESIDES)
    assert len(requests) == 60


def test_command_is_a_function_of_its_arguments(run, tmp_path):
    more = write(tmp_path / "more.jsonl", *({"prompt": f"Say {number}."} for number in range(30)))
    arguments = ("--count", 40, "--add", more)
    first, _ = run(*arguments, "--seed", 5)
    assert run(*arguments, "--seed", 5)[0] == first
    assert run(*arguments, "--seed", 6)[0] != first


def test_prompts_are_added(run, tmp_path):
    one = write(tmp_path / "one.jsonl", {"prompt": "Hello?"}, {"prompt": "Hello?"}, {"prompt": "So?", "more": 1})
    two = write(tmp_path / "two.jsonl.gz", {"turns": ["Who?", "And then?"]}, {"turns": ["Hello?"]})
    entries, err = run("--count", 20, "--add", one, "--add", f"{two}:turns")
    assert [entry for entry in entries if entry["kind"] in ("one", "two")] != entries[20:]
    named = sorted((entry["kind"], entry["prompt"]) for entry in entries if entry["kind"] in ("one", "two"))
    assert named == [("one", "Hello?"), ("one", "So?"), ("two", "Who?")]
    assert "2 one" in err
    assert len(run("--count", 0, "--add", one)[0]) == 2


def test_a_source_is_a_file_and_a_key(tmp_path):
    assert source("a.jsonl") == Source(Path("a.jsonl"), "prompt")
    assert source("c:/a.jsonl:turns") == Source(Path("c:/a.jsonl"), "turns")
    assert source("c:/a.jsonl") == Source(Path("c:/a.jsonl"), "prompt")
    assert source(str(write(tmp_path / "a:b", {}))) == Source(tmp_path / "a:b", "prompt")
    assert Source(Path("x/gsm.v2.jsonl.gz"), "q").stem == "gsm.v2"


@pytest.mark.parametrize(
    ("prompt", "dropped"),
    [
        (f"Before. {LONG} after.", True),
        (f"Before {LONG.upper().replace(' ', ', ')}!", True),
        (f"Before. {LONG.replace('seven', 'and seven')} after.", False),
        (f"Before. {LONG.rpartition(' ')[0]} after all of this.", False),  # 12 words
        ("Who is it?", True),
        ("who IS it", True),
        ("Who is it now?", False),
        ("And then?", True),  # a later turn
    ],
)
def test_what_shares_thirteen_words_is_dropped(run, tmp_path, prompt, dropped):
    assert len(words(LONG)) == RUN
    more = write(tmp_path / "more.jsonl", {"prompt": prompt}, {"prompt": "Something else."})
    text = write(tmp_path / "text.jsonl", {"text": f"zero {LONG} fourteen"})
    turns = write(tmp_path / "turns.jsonl.gz", {"turns": ["Who is it?", "And then?"]})
    entries, err = run("--count", 0, "--add", more, "--exclude", f"{text}:text", "--exclude", f"{turns}:turns")
    assert [entry["prompt"] for entry in entries if entry["prompt"] == prompt] == [prompt] * (not dropped)
    by_file = {name: int(number) for number, name in re.findall(r"dropped (\d+) prompts that overlap with \S*/(\S+)", err)}
    assert by_file.keys() == {"text.jsonl", "turns.jsonl.gz"}
    assert sum(by_file.values()) == dropped


def test_dialogues_are_dropped_for_any_turn(run, tmp_path):
    entries, _ = run("--count", 300)
    turn = next(entry for entry in entries if entry["kind"] == "dialogue")["messages"][-1]["content"]
    left, _ = run("--count", 300, "--exclude", write(tmp_path / "no.jsonl", {"prompt": turn}))
    assert len(left) < len(entries)
    assert all(turn != said["content"] for entry in left for said in entry.get("messages", ()))


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b'{"prompt": "a"}\n{"text": "b"}\n', 'line 2: has no key "prompt", only text; expected'),
        (b'{"prompt": ""}\n', 'line 1: prompt is "", expected'),
        (b'{"prompt": []}\n', "line 1: prompt is [], expected"),
        (b'{"prompt": ["a", 3]}\n', 'line 1: prompt is ["a", 3], expected'),
        (b"[]\n", "line 1: is a list, expected a JSON object"),
        (b"{\n", "line 1: is not JSON"),
        (b"\xff\n", "line 1: is not UTF-8"),
        (b"\n\n", "is empty, expected"),
    ],
)
@pytest.mark.parametrize("option", ["--add", "--exclude"])
def test_bad_files_are_refused(run, tmp_path, option, content, complaint):
    path = tmp_path / "bad.jsonl"
    path.write_bytes(content)
    entries, err = run("--count", 5, option, path, status=2)
    assert entries == []
    assert f"{path}" in err
    assert complaint in err


def test_missing_and_broken_files_are_refused(run, tmp_path):
    assert "cannot be read (No such file or directory)" in run("--count", 5, "--add", tmp_path / "no.jsonl", status=2)[1]
    (tmp_path / "torn.jsonl.gz").write_bytes(gzip.compress(b'{"prompt": "a"}' * 99)[:-12])
    assert "torn.jsonl.gz: cannot be read" in run("--count", 5, "--exclude", tmp_path / "torn.jsonl.gz", status=2)[1]
    assert "expected some prompts" in run("--count", 0, status=2)[1]
    assert "too small" in run("--count", -1, status=2)[1]


def test_what_an_earlier_run_wrote_can_be_kept_out(run, tmp_path):
    entries, _ = run("--count", 60)
    dialogues = [entry for entry in entries if "messages" in entry]
    (tmp_path / "earlier.jsonl").write_text("".join(json.dumps(entry) + "\n" for entry in dialogues))
    kept, err = run("--count", 60, "--exclude", tmp_path / "earlier.jsonl")
    assert dialogues
    assert sorted(map(json.dumps, kept)) == sorted(json.dumps(entry) for entry in entries if "messages" not in entry)
    assert f"dropped {len(dialogues)} prompts" in err


def test_byte_order_marks_and_line_ends_do_not_matter(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'\xef\xbb\xbf{"prompt": "a"}\r\n\r\n{"prompt": "b"}')
    assert list(texts(Source(path, "prompt"))) == [["a"], ["b"]]


def test_the_file_is_complete_or_as_it_was(run, tmp_path, monkeypatch):
    first, _ = run("--count", 5)
    run("--count", 5, "--seed", 1, "--add", tmp_path / "no.jsonl", status=2)
    assert run("--count", 5)[0] == first

    def full(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("domino_jax.directories.os.replace", full)
        left, err = run("--count", 6, status=2)
    assert "cannot be written (No space left on device)" in err
    assert left == first
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["prompts.jsonl"]


def test_a_file_cannot_replace_a_directory(tmp_path):
    (tmp_path / "taken").mkdir()
    with pytest.raises(InputError, match="taken: is no file, expected one to make or replace"):
        write_file(tmp_path / "taken", "x")
    assert [path.name for path in tmp_path.iterdir()] == ["taken"]


def test_a_link_stays_and_what_it_leads_to_is_replaced(tmp_path):
    (tmp_path / "file").write_text("old")
    (tmp_path / "link").symlink_to("file")
    write_file(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").read_text() == "new"
