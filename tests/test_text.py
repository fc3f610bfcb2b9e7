"""Tokenizer, chat template, incremental decoding and stop ids."""

import json
from itertools import chain

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers.utils import chat_template_utils

from domino_jax.errors import InputError
from domino_jax.text import Text, stop_ids
from tests import models


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    directory = tmp_path_factory.mktemp("tokenizer")
    models.write_tokenizer(directory)
    return directory


@pytest.fixture(scope="module")
def text(directory) -> Text:
    return Text(directory)


def pieces(text: Text, *groups) -> list[str]:
    stream = text.stream()
    return [*(stream.push(list(ids))[0] for ids in groups), stream.finish()]


# Decoding

SPELLED = {models.THINK: b"<think>", models.END_THINK: b"</think>"}  # added tokens that are text; 256 to 258 are special and are not
IDS = st.integers(0, 260) | st.sampled_from([*models.TEXT.encode(), 0xFF])  # often parts of characters
GROUPS = st.lists(st.lists(IDS, max_size=5) | st.text(max_size=3).map(lambda s: [*s.encode()]), max_size=12)


def spelled(ids) -> str:
    return b"".join(SPELLED.get(token, bytes([token]) if token < 256 else b"") for token in ids).decode("utf-8", "replace")


@given(groups=GROUPS)
def test_pieces_join_to_the_text_of_all_ids(text, groups):
    """So none holds a U+FFFD that a later byte makes a character: nothing that was printed ever changes."""
    ids = [*chain(*groups)]
    assert text.decode(ids) == spelled(ids)
    assert "".join(pieces(text, *groups)) == spelled(ids)


def test_a_character_comes_in_one_piece(text):
    assert pieces(text, *([byte] for byte in models.TEXT.encode())) == ["", "é", "", "", "你", "", "", "", "🙂", ""]


def test_characters_come_as_soon_as_they_are_whole(text):
    data = models.TEXT.encode()
    assert pieces(text, data[:6], data[6:]) == ["é你", "🙂", ""]


@pytest.mark.parametrize("count", range(10))
def test_an_unfinished_character_at_the_end_becomes_one_replacement(text, count):
    ids = [*models.TEXT.encode()][:count]
    *before, last = pieces(text, ids)
    assert "\ufffd" not in "".join(before)
    assert last == ("" if count in (0, 2, 5, 9) else "\ufffd")


def test_special_tokens_have_no_text(text):
    assert text.decode([models.IM_START, 104, models.IM_END, 105, 256]) == "hi"
    assert pieces(text, [models.IM_START, 104], [models.IM_END], [105, 256]) == ["h", "", "i", ""]


def test_streams_do_not_mix(text):
    one, other = text.stream(), text.stream()
    turns = ((one, [0xC3]), (other, [0xE4]), (one, [0xA9]), (other, [0xBD, 0xA0]))
    assert [stream.push(ids)[0] for stream, ids in turns] == ["", "", "é", "你"]


# Encoding


def bracketed(role: str, content: str) -> list[int]:
    return [models.IM_START, *f"{role}\n{content}".encode(), models.IM_END, 10]


ASSISTANT = [models.IM_START, *b"assistant\n"]
NO_THOUGHT = [models.THINK, 10, 10, models.END_THINK, 10, 10]


@pytest.mark.parametrize(("thinking", "end"), [(False, ASSISTANT + NO_THOUGHT), (True, ASSISTANT)])
def test_chat_template_ids(text, thinking, end):
    ids = text.encode_chat([{"role": "user", "content": "hi"}], thinking)
    assert ids == bracketed("user", "hi") + end
    assert type(ids) is list  # the library's own call may return a mapping, whose iteration yields its keys
    assert all(type(token) is int for token in ids)


def test_thinking_is_off_by_default(text):
    assert text.encode_chat([{"role": "user", "content": "hi"}])[-6:] == NO_THOUGHT


def test_turns_of_a_conversation_keep_their_order(text):
    turns = [("system", "be brief"), ("user", "hi"), ("assistant", "é"), ("user", "你")]
    ids = text.encode_chat([{"role": role, "content": content} for role, content in turns], thinking=True)
    assert ids == [*chain(*(bracketed(*turn) for turn in turns)), *ASSISTANT]


def test_text_as_it_stands(text):
    assert text.encode(models.TEXT) == [*models.TEXT.encode()]


def test_a_tokenizer_without_template_points_to_raw(tmp_path):
    models.write_tokenizer(tmp_path, chat_template=False)
    with pytest.raises(InputError, match=r"no chat template.*--raw"):
        Text(tmp_path).encode_chat([{"role": "user", "content": "hi"}])


@pytest.mark.parametrize(
    "template", ["{{ raise_exception('roles must alternate') }}", "{{ messages[5].content }}", "{% if %}", "{{ '\\ud800' }}"]
)
def test_what_the_template_refuses_names_the_directory(tmp_path, template):
    models.write_tokenizer(tmp_path)
    config = json.loads((tmp_path / "tokenizer_config.json").read_text())
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config | {"chat_template": template}))
    with pytest.raises(InputError, match=f"^{tmp_path}: the chat template refuses the messages"):
        Text(tmp_path).encode_chat([{"role": "user", "content": "hi"}])


def test_without_the_library_of_templates_a_sentence_says_so(directory, monkeypatch):
    text = Text(directory)
    text.tokenizer.chat_template = "{{ messages[0].content }} rendered by nobody yet"
    monkeypatch.setattr(chat_template_utils, "is_jinja_available", lambda: False)
    with pytest.raises(InputError, match=r"^the chat template cannot be rendered \(.*jinja.*\), expected jinja2 to be installed$"):
        text.encode_chat([{"role": "user", "content": "hi"}])


# Loading


def test_a_directory_without_tokenizer_has_none(tmp_path):
    assert Text.load(tmp_path) is None


@pytest.mark.parametrize("content", ["{", "[]", '{"model": {"type": "unheard of"}}', "\0"])
def test_a_broken_tokenizer_file_is_refused(tmp_path, content):
    models.write_tokenizer(tmp_path)
    (tmp_path / "tokenizer.json").write_text(content)
    with pytest.raises(InputError, match=f"^{tmp_path}: the tokenizer cannot be loaded .*expected"):
        Text.load(tmp_path)


def test_an_error_without_words_is_named_by_its_kind(directory, monkeypatch):
    def broken(*_, **__):
        raise AssertionError

    monkeypatch.setattr("transformers.AutoTokenizer.from_pretrained", broken)
    with pytest.raises(InputError, match=r"cannot be loaded \(AssertionError\)"):
        Text(directory)


# Stop ids


@pytest.mark.parametrize(
    ("generation", "config", "expected"),
    [
        ([28, 5], 7, (28, 5)),
        ([28, 5, 28], 7, (28, 5)),
        (28, 7, (28,)),
        (0, 7, (0,)),  # an id like any other
        ([], 7, (7,)),
        (None, 7, (7,)),
        ("no key", 7, (7,)),
        ("no file", [7, 8], (7, 8)),
        ("no file", "no key", (models.IM_END,)),
        ([], [], (models.IM_END,)),
    ],
)
def test_stop_ids_come_from_the_first_file_that_lists_any(tmp_path, text, generation, config, expected):
    for name, listed in (("generation_config", generation), ("config", config)):
        if listed != "no file":
            (tmp_path / f"{name}.json").write_text(json.dumps({} if listed == "no key" else {"eos_token_id": listed}))
    assert stop_ids(tmp_path, text) == expected


def test_without_files_and_tokenizer_nothing_stops(tmp_path):
    assert stop_ids(tmp_path, None) == ()


@pytest.mark.parametrize("name", ["generation_config.json", "config.json"])
@pytest.mark.parametrize("value", [True, -1, 2.0, "28", [28, "5"], [None], [False], {"id": 28}])
def test_what_is_no_token_id_is_refused(tmp_path, name, value):
    (tmp_path / name).write_text(json.dumps({"eos_token_id": value}))
    with pytest.raises(InputError) as refused:
        stop_ids(tmp_path, None)
    assert str(refused.value).startswith(f"{tmp_path / name}: eos_token_id is {json.dumps(value)}, expected a token id")


# Stop texts


def until(text: Text, ids_by_round: list[list[int]], *stops: str) -> tuple[list[str], int | None]:
    """The pieces shown round by round, the rest at the end, and at which id of its round a stop text was complete."""
    stream, pieces = text.stream(stops), []
    for ids in ids_by_round:
        piece, used = stream.push(ids)
        pieces.append(piece)
        if used is not None:
            return pieces, used
    return [*pieces, stream.finish()], None


@pytest.mark.parametrize(
    ("rounds", "stops", "expected"),
    [
        (["ab", "cd"], ["x"], (["ab", "cd", ""], None)),
        (["abcd"], ["bc"], (["a"], 3)),
        (["ab", "cd"], ["bc"], (["a", ""], 1)),  # held back, then completed
        (["ab", "xd"], ["bc"], (["a", "bxd", ""], None)),  # held back, then let go
        (["ab"], ["bc"], (["a", "b"], None)),  # held back to the end
        (["aab"], ["ab"], (["a"], 3)),
        (["abc"], ["c", "b"], (["a"], 2)),  # the first to come, not the first to be given
        (["abc"], ["bc", "abcd"], (["a"], 3)),  # the longer one never came
        (["é"], ["é"], ([""], 2)),  # two bytes
    ],
)
def test_stop_texts(text, rounds, stops, expected):
    assert until(text, [list(part.encode()) for part in rounds], *stops) == expected


@settings(max_examples=200, deadline=None)
@given(st.lists(st.text("abé", max_size=4), max_size=6), st.lists(st.text("abé", min_size=1, max_size=3), min_size=1, max_size=2))
def test_any_text_is_cut_at_the_first_stop_to_be_complete(text, rounds, stops):
    """Token by token: the answer ends at the first token after which some stop text has come, before the earliest of them."""
    pieces, used = until(text, [list(part.encode()) for part in rounds], *stops)
    whole = "".join(rounds)
    ends = [end for end in range(len(whole) + 1) if any(stop in whole[:end] for stop in stops)]
    assert (used is None) == (not ends)
    expected = whole if not ends else whole[: min(at for stop in stops if (at := whole[: ends[0]].find(stop)) >= 0)]
    assert "".join(pieces) == expected
