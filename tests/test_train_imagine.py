"""User turns that the target writes: what stands before them, how they are drawn, which are kept, and what is written."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

import domino_jax
from domino_jax import prompts
from domino_jax.engine import Engine
from domino_jax.errors import InputError
from domino_jax.text import MARK, Text
from domino_jax.train import imagine
from tests import models

COUNT = 24
BEFORE = [models.IM_START, *b"user\n"]
SUMMARY = re.compile(r"(\d+) turns drawn, (\d+) cut off, (\d+) empty, (\d+) repeated, (\d+) excluded")


@pytest.fixture(scope="module")
def babbler(tmp_path_factory) -> Path:
    """A target that says a, b, c, d or ends the turn, at temperature 1 each as often as the others whatever came before."""
    directory, _ = models.write_speaking_pair(tmp_path_factory.mktemp("babbler"))
    config, tensors = models.read(directory)
    tensors["lm_head.weight"] = -np.ones_like(tensors["lm_head.weight"])
    tensors["lm_head.weight"][[*b"abcd", models.IM_END]] = 0
    return models.write(directory, config | {"eos_token_id": 256}, models.published_names(tensors))


@pytest.fixture
def run(babbler, tmp_path, capsys):
    """Runs the command -> (the lines of its file, the last sentence on stderr)."""
    out = tmp_path / "out" / "turns.jsonl"

    def ran(*arguments, status: int = 0, target: Path = babbler) -> tuple[list[dict], str]:
        fixed = ["--target", target, "--out", out, "--count", COUNT, "--batch-size", 4, "--max-new-tokens", 6]
        out.unlink(missing_ok=True)
        assert imagine.main([*map(str, (*fixed, *arguments))]) == status
        last = capsys.readouterr().err.splitlines()[-1]
        assert out.exists() == (status == 0)
        assert last.startswith("error: ") == (status == 2)
        return [json.loads(line) for line in out.read_text().splitlines()] if out.exists() else [], last

    return ran


def counts(sentence: str) -> list[int]:
    """Of turns drawn, cut off, empty, repeated, excluded."""
    return [int(number) for number in SUMMARY.search(sentence).groups()]


def lines(path: Path, *texts: str) -> Path:
    path.write_text("".join(f"{text}\n" for text in texts))
    return path


def with_template(directory: Path, template: str) -> Path:
    directory.mkdir(exist_ok=True)
    models.write_tokenizer(directory)
    path = directory / "tokenizer_config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"chat_template": template}))
    return directory


# what stands before a turn


def test_what_stands_before_and_after_a_users_turn(tmp_path):
    text = Text(with_template(tmp_path, models.CHAT_TEMPLATE))
    assert text.user_turn() == (BEFORE, [models.IM_END, 10])
    assert text.user_turn("What é") == ([*BEFORE, *"What é".encode()], [models.IM_END, 10])
    system = [models.IM_START, *b"system\nBe brief.", models.IM_END, 10]
    assert text.user_turn("Hi", "Be brief.") == ([*system, *BEFORE, *b"Hi"], [models.IM_END, 10])


def test_an_opening_is_tokenised_together_with_what_stands_before_it():
    """In the demo's tokenizer a line end and a letter may be one token, or not: as in the whole text, whichever it is."""
    text = Text(Path(domino_jax.__file__).parent / "demo" / "target")
    for opening in ("", "Tom has", "\nTom", " Tom"):
        begun, ending = text.user_turn(opening)
        assert begun == text.tokenizer.encode(f"<|im_start|>user\n{opening}", add_special_tokens=False)
        assert ending[0] == text.tokenizer.convert_tokens_to_ids("<|im_end|>")


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("", "the tokenizer has no chat template, expected one that says where a user's turn begins"),
        ("<|im_start|>{{ messages[0].role }}", "of a user's turn the chat template shows it 0 times, expected the turn once and"),
        ("{{ messages[0].content * 2 }}.", "of a user's turn the chat template shows it 2 times, expected the turn once and"),
        ("user: {{ messages[0].content }}", "of a user's turn the chat template shows nothing after it, expected the turn once and"),
        ("{{ raise_exception('no user') }}", "the chat template refuses the messages (no user), expected role and content of each turn"),
    ],
)
def test_templates_without_a_place_for_a_turn_are_refused(tmp_path, template, message):
    with pytest.raises(InputError, match=f"^{re.escape(f'{tmp_path}: {message}')}"):
        Text(with_template(tmp_path, template)).user_turn()


def test_targets_without_tokenizer_or_template_are_refused(run, random_pair, tmp_path):
    _, error = run(target=random_pair[0], status=2)
    assert error == f"error: {random_pair[0]}: has no tokenizer, expected one with a chat template"
    silent, _ = models.write_speaking_pair(tmp_path, chat_template=False)
    assert "the tokenizer has no chat template, expected one" in run(target=silent, status=2)[1]


# what is drawn


def test_the_same_for_a_seed_and_others_for_another(run):
    first = run("--seed", 7)
    assert run("--seed", 7) == first
    assert run("--seed", 1007)[0] != first[0]


def test_turns_are_the_engines(run, babbler):
    """Those that ended, in order, the first of each text; a further run draws what this one would have drawn next."""
    asked = [domino_jax.Prompt((*BEFORE,), sampling={"seed": (2**32 - 9 + i) % 2**32}) for i in range(COUNT)]
    options = dict(batch_size=4, max_new_tokens=6, temperature=1.0, stop_token_ids=[models.IM_END])
    results = domino_jax.load(str(babbler)).generate(asked, **options)
    ended = [bytes(result.output_ids[:-1]).decode() for result in results if result.output_ids[-1] == models.IM_END]
    texts = [text for text in ended if text]
    entries, told = run("--seed", 2**32 - 9)
    assert entries == [{"prompt": text, "kind": "imagined"} for text in dict.fromkeys(texts)]
    assert counts(told) == [COUNT, COUNT - len(ended), len(ended) - len(texts), len(texts) - len(entries), 0]
    assert all(count > 0 for count in counts(told)[:4])
    assert f"; {len(entries)} kept in " in told
    two = [entry for seed in (2**32 - 9, 3) for entry in run("--seed", seed, "--count", 12)[0]]
    assert {entry["prompt"] for entry in two} == {entry["prompt"] for entry in entries}


def test_temperature_and_top_p_are_heard(run):
    """At temperature 5 the five likely tokens have 7 % each, and all others 65 % together."""
    hot, filtered = (run("--temperature", 5, "--count", 40, "--top-p", p)[0] for p in (1, 0.3))
    assert {*"".join(entry["prompt"] for entry in hot)} - {*"abcd"}
    assert {*"".join(entry["prompt"] for entry in filtered)} == {*"abcd"}


def test_no_turn_ends_before_the_tokens_it_must_have(run):
    assert min(len(entry["prompt"]) for entry in run()[0]) < 4
    found, _ = run("--min-new-tokens", 4)
    assert {len(entry["prompt"]) for entry in found} == {4, 5}  # one more ends the turn


def test_turns_go_through_the_openings_in_order(run, tmp_path, monkeypatch):
    asked, stream = [], Engine.stream
    monkeypatch.setattr(Engine, "stream", lambda self, prompts, **options: (asked.extend(prompts), stream(self, prompts, **options))[1])
    entries, _ = run("--openings", lines(tmp_path / "openings.txt", "How do", r"Fix:\n", "", "Who "))
    begun = ["How do", "Fix:\n", "", "Who "]
    assert [prompt.ids for prompt in asked] == [(*BEFORE, *opening.encode()) for opening in begun * (COUNT // 4)]
    assert [prompt.sampling["seed"] for prompt in asked] == [*range(COUNT)]
    texts = [entry["prompt"] for entry in entries]
    assert {re.match(r"How do|Fix:\n|Who |", text)[0] for text in texts} == {*begun}
    assert all(re.fullmatch(r"(How do|Fix:\n|Who )?[a-d]{1,5}", text) for text in texts)


def test_nothing_but_an_opening_is_empty(run, tmp_path):
    """The same seeds end at once, whatever the opening; with it and without it."""
    several = [counts(run("--count", 12, *more)[1]) for more in ([], ["--openings", lines(tmp_path / "one.txt", "!")])]
    assert all(empty > 0 and drawn == 12 for drawn, _, empty, _, _ in several)


# what is written


def test_what_overlaps_is_excluded(run, tmp_path):
    entries, _ = run()
    taken = lines(tmp_path / "taken.jsonl", json.dumps({"text": entries[1]["prompt"].upper()}), '{"text": "other"}')
    left, told = run("--exclude", f"{taken}:text")
    assert left == [entry for entry in entries if entry != entries[1]]
    assert counts(told)[4] == 1
    assert "has no key" in run("--exclude", taken, status=2)[1]


def test_bad_files_are_refused_before_anything_is_loaded(run, tmp_path):
    for option in ("--exclude", "--openings"):
        for content, message in ((b"\xff\n", "not UTF-8"), (b"", "is empty"), (None, "cannot be read (No such file")):
            path = tmp_path / "bad"
            path.unlink(missing_ok=True)
            if content is not None:
                path.write_bytes(content)
            error = run(option, path, target=tmp_path / "nowhere", status=2)[1]
            assert str(path) in error
            assert message in error


def test_where_nothing_can_be_written_is_refused_before_anything_is_loaded(run, tmp_path, monkeypatch):
    monkeypatch.setattr("domino_jax.checkpoint.load", lambda *_: pytest.fail("loaded"))
    taken = lines(tmp_path / "taken", "a file")
    _, said = run("--out", taken / "turns.jsonl", status=2)
    assert said == f"error: {taken}/turns.jsonl: cannot be written (File exists), expected a file to make or replace"
    assert taken.read_text() == "a file\n"


def test_a_system_message_goes_with_each_turn(run, tmp_path):
    """And has no part in what is excluded."""
    system = lines(tmp_path / "system.jsonl", '{"prompt": "Be brief."}')
    entries, _ = run("--system", "Be brief.", "--exclude", system)
    assert entries
    for entry in entries:
        said, asked = entry["messages"]
        assert said == {"role": "system", "content": "Be brief."}
        assert (asked["role"], entry["kind"]) == ("user", "imagined")
        assert re.fullmatch("[a-d]{1,5}", asked["content"])
    assert [entry["messages"][1]["content"] for entry in entries] != [entry["prompt"] for entry in run()[0]]  # other positions
    assert MARK not in json.dumps(entries)


def test_what_is_written_can_be_answered(run, tmp_path):
    for more in ((), ("--system", "Be brief.")):
        entries, _ = run(*more)
        assert len(prompts.from_file(str(tmp_path / "out" / "turns.jsonl"), besides=prompts.BESIDES)) == len(entries)


def test_nothing_left_is_refused_and_nothing_written(run, speaking_pair):
    """All cut off; and, by the target that always says the same, one turn of many."""
    _, error = run("--max-new-tokens", 1, "--temperature", 0, status=2)
    assert error == f"error: {COUNT} turns drawn, {COUNT} cut off, 0 empty, 0 repeated, 0 excluded: none is left, expected some to write"
    entries, told = run("--max-new-tokens", 20, "--temperature", 0, target=speaking_pair[0])
    assert entries == [{"prompt": models.TEXT, "kind": "imagined"}]
    assert counts(told) == [COUNT, 0, 0, COUNT - 1, 0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--count", "0"], "argument --count: 0 is too small, expected at least 1"),
        (["--temperature", "-1"], "temperature is -1.0, expected 0 (greedy) or a positive number"),
        (["--top-p", "0"], "top_p is 0.0, expected more than 0, up to 1 (off)"),
        (["--max-new-tokens", "300"], "turn 0: "),
        (["--temp", "1"], "unknown argument --temp, expected one of the options"),
    ],
)
def test_bad_options_are_refused_in_a_line(run, options, message):
    assert message in run(*options, status=2)[1]
