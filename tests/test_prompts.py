"""Prompts from texts, ids and JSONL files: what is taken, and what is refused by file and line."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domino_jax import generate, prompts
from domino_jax.errors import InputError
from domino_jax.prompts import Request
from domino_jax.text import Text
from tests import models


@pytest.fixture(scope="session")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("prompts") / "asked.jsonl"


@pytest.fixture(scope="module")
def text(tmp_path_factory) -> Text:
    directory = tmp_path_factory.mktemp("tokenizer")
    models.write_tokenizer(directory)
    return Text(directory)


def read(path, content: bytes) -> list[Request]:
    path.write_bytes(content)
    return prompts.from_file(str(path))


# Files


@pytest.mark.parametrize(
    ("line", "field", "value"),
    [
        ({"prompt": "hi"}, "text", "hi"),
        ({"prompt": "a\u2028b\u0085c\r\nd"}, "text", "a\u2028b\u0085c\r\nd"),  # line ends to Python, but not to JSONL
        ({"prompt": " "}, "text", " "),
        ({"messages": [{"role": "user", "content": "hi"}]}, "messages", [{"role": "user", "content": "hi"}]),
        ({"prompt_ids": [5, 0, 15]}, "ids", (5, 0, 15)),
        ({"prompt_ids": [1], "id": "a b"}, "id", "a b"),
        ({"prompt_ids": [1], "id": 0}, "id", 0),
        ({"prompt_ids": [1], "max_new_tokens": 7}, "max_new_tokens", 7),
        ({"prompt_ids": [1], "n": 1}, "n", 1),
        ({"prompt_ids": [1], "min_tokens": 0}, "min_tokens", 0),
        ({"prompt_ids": [1], "min_tokens": 9}, "min_tokens", 9),
        ({"prompt_ids": [1], "stop_token_ids": 0}, "stop_token_ids", (0,)),
        ({"prompt_ids": [1], "stop_token_ids": [5, 9]}, "stop_token_ids", (5, 9)),
        ({"prompt_ids": [1], "stop": "a"}, "stop", ("a",)),
        ({"prompt_ids": [1], "stop": ["a", "b"]}, "stop", ("a", "b")),
        ({"prompt_ids": [1], "seed": 3}, "sampling", {"seed": 3}),
    ],
)
@pytest.mark.parametrize("ascii", [True, False])
def test_what_a_line_may_hold(path, line, field, value, ascii):
    (request,) = read(path, json.dumps(line, ensure_ascii=ascii).encode())
    assert getattr(request, field) == value
    assert request.where == f"{path}, line 1"


def test_turns_where_they_are_asked_for(path):
    path.write_text('{"turns": ["hi", "so?"], "id": 3}')
    (request,) = prompts.from_file(str(path), turns=True)
    assert (request.turns, request.id, request.text) == (("hi", "so?"), 3, None)


@pytest.mark.parametrize(
    "content",
    [
        b'{"prompt": "1"}\n{"prompt": "2"}\n',
        b'{"prompt": "1"}\n{"prompt": "2"}',
        b'{"prompt": "1"}\r\n{"prompt": "2"}\r\n',
        b'\xef\xbb\xbf{"prompt": "1"}\n{"prompt": "2"}\n',
        b'\n  \n{"prompt": "1"}\r\n\r\n\t{"prompt": "2"} \n\n',
    ],
    ids=["lines", "no last line end", "CRLF", "byte-order mark", "blank lines"],
)
def test_line_ends_and_blank_lines(path, content):
    assert [request.text for request in read(path, content)] == ["1", "2"]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b'{"prompt": "\xff"}', "is not UTF-8"),
        ('{"prompt": "é"}'.encode("utf-16"), "is not UTF-8"),
        (b'{"prompt": "\\ud83d"}', "half a surrogate pair"),
        (b'{"prompt": "a", "id": "\\ude42"}', "half a surrogate pair"),
        (b'{"prompt": "hi"', "is not JSON .* at column 16"),
        (b"{'prompt': 'hi'}", "is not JSON"),
        (b"hi", "is not JSON"),
        (b'{"prompt": "1"} {"prompt": "2"}', "is not JSON"),
        (b'{"prompt_ids": [' + b"1" * 5000 + b"]}", "cannot be read"),
        (b"[" * 100_000, "cannot be read"),
        (b'"hi"', "is a str, expected an object"),
        (b'["hi"]', "is a list, expected an object"),
        (b"null", "is a NoneType, expected an object"),
        (
            b'{"promt": "hi"}',
            'has the key "promt", expected only prompt, messages, .*, max_new_tokens, .*, seed',
        ),
        (b'{"prompt": "hi", "temprature": 0}', 'has the key "temprature"'),
        (b'{"turns": ["hi"]}', 'has the key "turns", expected only prompt, messages, prompt_ids'),  # unless they are asked for
        (b'{"prompt": "hi", "temperature": -1}', r"temperature is -1, expected 0 \(greedy\) or a positive number"),
        (b'{"prompt": "hi", "stop": ""}', 'stop is "", expected a text, or a list of texts'),
        (b'{"prompt": "hi", "stop": []}', "stop is"),
        (b'{"prompt": "hi", "stop": ["a", 3]}', "stop is"),
        (b'{"prompt": "hi", "top_k": 1.5}', "top_k is 1.5, expected"),
        (b'{"prompt": "hi", "seed": true}', "seed is true, expected"),
        (b"{}", "has no prompt, expected exactly one of"),
        (b'{"id": 3}', "has no prompt"),
        (b'{"prompt": "hi", "prompt_ids": [5]}', "has prompt and prompt_ids, expected exactly one of"),
        (b'{"prompt": "hi", "messages": null}', "has prompt and messages"),
        (b'{"prompt": ""}', 'prompt is "", expected a non-empty text'),
        (b'{"prompt": null}', "prompt is null, expected a non-empty text"),
        (b'{"prompt": ["hi"]}', "prompt is .*, expected a non-empty text"),
        (b'{"messages": []}', r"messages is \[\], expected a non-empty list of turns"),
        (b'{"messages": "hi"}', "messages is"),
        (b'{"messages": ["hi"]}', "messages is"),
        (b'{"messages": [{"content": "hi"}]}', "messages is"),
        (b'{"messages": [{"role": "user"}]}', "messages is"),
        (b'{"messages": [{"role": 1, "content": "hi"}]}', "messages is"),
        (b'{"prompt_ids": []}', r"prompt_ids is \[\], expected a non-empty list of token ids"),
        (b'{"prompt_ids": "5 9"}', "prompt_ids is"),
        (b'{"prompt_ids": [5, 9.0]}', "prompt_ids is"),
        (b'{"prompt_ids": [true]}', "prompt_ids is"),
        (b'{"prompt_ids": [NaN]}', "prompt_ids is"),
        (b'{"prompt": "hi", "id": true}', "id is true, expected an integer or a printable text"),
        (b'{"prompt": "hi", "id": null}', "id is null"),
        (b'{"prompt": "hi", "id": 1.5}', "id is 1.5"),
        (rb'{"prompt": "hi", "id": "a\nb"}', r"id is \"a\\nb\", expected"),
        (b'{"prompt": "hi", "max_new_tokens": 0}', "max_new_tokens is 0, expected an integer of at least 1"),
        (b'{"prompt": "hi", "max_new_tokens": true}', "max_new_tokens is true"),
        (b'{"prompt": "hi", "max_new_tokens": "5"}', "max_new_tokens is"),
        (b'{"prompt": "hi", "max_new_tokens": null}', "max_new_tokens is null"),
        (b'{"prompt": "hi", "n": 0}', "n is 0, expected an integer of at least 1"),
        (b'{"prompt": "hi", "n": 2.0}', "n is 2.0"),
        (b'{"prompt": "hi", "n": true}', "n is true"),
        (b'{"prompt": "hi", "min_tokens": -1}', "min_tokens is -1, expected an integer of at least 0"),
        (b'{"prompt": "hi", "min_tokens": false}', "min_tokens is false"),
        (b'{"prompt": "hi", "stop_token_ids": []}', r"stop_token_ids is \[\], expected a token id or a non-empty list of them"),
        (b'{"prompt": "hi", "stop_token_ids": -1}', "stop_token_ids is -1"),
        (b'{"prompt": "hi", "stop_token_ids": [5, "9"]}', "stop_token_ids is"),
        (b'{"prompt": "hi", "stop_token_ids": "5 9"}', "stop_token_ids is"),
        (b'{"prompt": "hi", "stop_token_ids": true}', "stop_token_ids is true"),
    ],
)
def test_a_bad_line_is_refused_by_file_and_number(path, line, said):
    with pytest.raises(InputError, match=f"^{path}, line 3: .*{said}"):
        read(path, b'{"prompt": "fine"}\n\n' + line + b"\n")


def test_bad_lines_stand_among_the_good_ones(path):
    """For whom they are to be left out."""
    path.write_bytes(b'{"prompt": "1"}\n?\n\n{"prompt": "2", "n": 3}\n[]')
    first, second, third, fourth = prompts.lines(str(path))
    assert (first.text, first.readable(), third.text, third.n) == ("1", first, "2", 3)
    assert all(request.is_line for request in (first, second, third, fourth))
    for request, number in ((second, 2), (fourth, 5)):
        assert request.refusal.startswith(f"{path}, line {number}: ")
        with pytest.raises(InputError, match=f"^{path}, line {number}: "):
            request.readable()


def test_commands_with_one_answer_to_a_prompt_refuse_several(path):
    with pytest.raises(InputError, match=f"^{path}, line 2: n is 3, expected 1"):
        read(path, b'{"prompt": "1", "n": 1}\n{"prompt": "2", "n": 3}')


def test_a_long_value_is_shown_in_part(path):
    with pytest.raises(InputError) as refused:
        read(path, json.dumps({"prompt_ids": [*range(10_000), "x"]}).encode())
    assert len(str(refused.value)) < len(str(path)) + 200


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(codec=None), max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["role", "content", "x"]), inner, max_size=3),
    max_leaves=6,
)
KEYS = ["prompt", "messages", "prompt_ids", "id", "max_new_tokens", "stop", "stop_token_ids", "n", "min_tokens"]
LINES = st.dictionaries(st.sampled_from(KEYS) | st.text(max_size=8), JSON, max_size=3).map(lambda entry: json.dumps(entry).encode())


@given(line=LINES | st.binary(max_size=30).map(lambda data: data.replace(b"\n", b"") or b"?"))
def test_any_line_is_a_request_or_refused_by_number(path, line):
    try:
        requests = read(path, b'{"prompt": "fine"}\n' + line + b'\n{"prompt": "fine"}')
    except InputError as error:
        requests, refusal = [], str(error)
    if requests:
        assert all((request.text, request.messages, request.ids).count(None) == 2 for request in requests)
    else:
        assert refusal.startswith(f"{path}, line 2: ")


@pytest.mark.parametrize("content", [b"", b"\n \r\n", b"\xef\xbb\xbf"])
def test_a_file_without_prompts_is_refused(path, content):
    with pytest.raises(InputError, match=f"^{path}: holds no prompt"):
        read(path, content)


@pytest.mark.parametrize("name", ["missing.jsonl", "", "~nobody-of-this-name/asked.jsonl"])
def test_a_file_that_cannot_be_read_is_refused(tmp_path, name):
    with pytest.raises(InputError, match=r"cannot be read .*expected a JSONL file"):
        prompts.from_file(str(tmp_path / name) if not name.startswith("~") else name)


# Texts and ids


@pytest.mark.parametrize(
    ("words", "ids"), [("5 9 15", (5, 9, 15)), ("0", (0,)), (" 5,9, 15 ", (5, 9, 15)), ("5\n9", (5, 9)), ("-1", (-1,)), ("7 7", (7, 7))]
)
def test_ids_are_separated_by_spaces_or_commas(words, ids):
    assert prompts.from_ids(words, "--prompt-ids").ids == ids


@pytest.mark.parametrize("words", ["five", "5 9.0", "5;9", "[5, 9]", "0x5", "", " , "])
def test_what_is_no_list_of_ids_is_refused(words):
    with pytest.raises(InputError, match=r"^--prompt-ids: .*expected"):
        prompts.from_ids(words, "--prompt-ids")


@pytest.mark.parametrize(("given_text", "said"), [("", "is empty"), ("a\udcffb", "is not UTF-8")])
def test_a_text_that_is_no_prompt_is_refused(given_text, said):
    with pytest.raises(InputError, match=f"^--prompt: {said}"):
        prompts.from_text(given_text, "--prompt")


# On the command line


def asked(*argv: str) -> list:
    requests = generate.parser().parse(argv).requests
    return [request.text or request.ids for request in requests]


def test_prompts_keep_the_order_of_the_command_line(path):
    path.write_text('{"prompt": "b"}\n{"prompt_ids": [3]}\n')
    argv = ["--prompt-ids", "1", "--prompt", "a", "--prompts", str(path), "--prompt", "c", "--prompts", str(path), "--prompt-ids", "2"]
    assert asked(*argv) == [(1,), "a", "b", (3,), "c", "b", (3,), (2,)]


def test_an_equals_sign_gives_what_starts_with_a_dash():
    assert asked("--prompt=--raw", "--prompt-ids=-1") == ["--raw", (-1,)]


# Encoding

MESSAGES = [{"role": "user", "content": "hi"}]


def test_a_text_is_one_user_turn(text):
    as_text = Request("here", text="hi").encode(text, raw=False, thinking=False)
    as_messages = Request("here", messages=MESSAGES).encode(text, raw=False, thinking=False)
    assert as_text.ids == as_messages.ids == tuple(text.encode_chat(MESSAGES))


def test_raw_is_the_text_as_it_stands(text):
    assert Request("here", text="é").encode(text, raw=True, thinking=False).ids == (0xC3, 0xA9)


def test_thinking_reaches_the_template(text):
    assert Request("here", text="hi").encode(text, raw=False, thinking=True).ids == tuple(text.encode_chat(MESSAGES, thinking=True))


def test_ids_need_no_tokenizer():
    prompt = Request("here", ids=(5, 9), id="x", max_new_tokens=3).encode(None, raw=False, thinking=False)
    assert (prompt.ids, prompt.id, prompt.max_new_tokens, prompt.where) == ((5, 9), "x", 3, "here")


def test_what_a_line_says_reaches_the_prompt():
    says = dict(id="x", max_new_tokens=9, min_tokens=3, n=2, stop_token_ids=(7,), sampling={"temperature": 1.0}, where="here")
    prompt = Request(ids=(5,), **says).encode(None, raw=False, thinking=False)
    assert {name: getattr(prompt, name) for name in says} == says


def test_text_needs_a_tokenizer():
    with pytest.raises(InputError, match=r"^asked, line 2: .*no tokenizer.*--prompt-ids"):
        Request("asked, line 2", text="hi").encode(None, raw=True, thinking=False)


def test_messages_need_the_template(text):
    with pytest.raises(InputError, match=r"^asked, line 2: .*chat template"):
        Request("asked, line 2", messages=MESSAGES).encode(text, raw=True, thinking=False)


def test_what_the_template_refuses_names_the_line(tmp_path):
    models.write_tokenizer(tmp_path, chat_template=False)
    with pytest.raises(InputError, match=f"^asked, line 2: {tmp_path}: .*--raw"):
        Request("asked, line 2", text="hi").encode(Text(tmp_path), raw=False, thinking=False)
