"""A conversation at the terminal."""

import io
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time

import pytest

import domino_jax
from domino_jax import chat, demo
from tests import models


@pytest.fixture
def talk(run, speaking_pair, monkeypatch):
    """Says these lines to the speaking pair."""

    def talk(*lines: str, options=("--max-context", "200")):
        monkeypatch.setattr("sys.stdin", io.StringIO("".join(line + "\n" for line in lines)))
        target, draft = map(str, speaking_pair)
        return run("--chat", "--target", target, "--draft", draft, *options)

    return talk


def test_turns_and_what_they_found_in_the_cache(talk):
    done = talk("hi", "again")
    assert (done.status, done.out) == (0, f"{models.TEXT}\n" * 2)
    kept = [tuple(map(int, found)) for found in re.findall(r"(\d+) of (\d+) prompt tokens were in the cache", done.err)]
    assert kept[0][0] == 0
    assert 0 < kept[1][0] < kept[1][1] > kept[0][1]


def test_a_new_conversation_and_the_end(talk):
    done = talk("hi", "/new", "  ", "hi", "/exit", "not said")
    assert done.out == f"{models.TEXT}\n" * 2
    sizes = re.findall(r"of (\d+) prompt tokens", done.err)
    assert sizes[0] == sizes[1]
    assert "a new conversation" in done.err


def test_a_full_conversation_says_so_and_can_go_on(talk):
    done = talk("hi", "x" * 300, "hi again")
    assert (done.status, done.out) == (0, f"{models.TEXT}\n" * 2)
    assert "the conversation has" in done.err
    assert "/new" in done.err


@pytest.mark.parametrize(
    "beside",
    [["--prompt", "hi"], ["--check"], ["--n", "2", "--temperature", "1"], ["--output", "json"], ["--batch-size", "2"], ["--stats", "json"]],
)
def test_what_has_no_place_in_a_conversation(refused, beside):
    assert f"--chat is given with {'a prompt' if beside[0] == '--prompt' else beside[0]}" in refused("--chat", *beside)


def test_a_pair_without_words(refused, counting_pair):
    assert "--chat is given but the target has no tokenizer" in refused("--chat", "--target", counting_pair[0])


def test_the_context_is_checked_before_a_weight_is_read(refused):
    assert "max_context is 5000" in refused("--chat", "--max-context", "5000")


def test_ctrl_c_stops_the_answer_and_not_the_program():
    """At a real terminal: an endless answer is stopped, the next turn is answered, Ctrl-C at the prompt drops a line, Ctrl-D ends."""
    terminal, child = pty.openpty()
    command = [sys.executable, "-m", "domino_jax.generate", "--chat", "--ignore-eos", "--max-new-tokens", "700", "--max-context", "1000"]
    with subprocess.Popen(command, stdin=child, stdout=child, stderr=child, start_new_session=True) as process:
        os.close(child)
        seen = ""

        def until(words: str, after: int = 0, seconds: float = 120) -> None:
            nonlocal seen
            end = time.monotonic() + seconds
            while words not in seen[after:]:
                assert time.monotonic() < end, seen
                if select.select([terminal], [], [], 1)[0]:
                    seen += os.read(terminal, 4096).decode(errors="replace")

        until("> ")
        os.write(terminal, b"Tom has 3 boxes of 7 pens. How many pens has Tom?\n")
        until("####")
        process.send_signal(signal.SIGINT)
        until("stopped")
        here = len(seen)
        os.write(terminal, b"And how many boxes?\n")
        until("####", here)
        process.send_signal(signal.SIGINT)
        until("stopped", here)
        until("> ", seen.index("stopped", here))
        here = len(seen)
        process.send_signal(signal.SIGINT)  # now at the prompt
        until(chat.HELP, here)
        os.write(terminal, b"/exit\n")
        assert process.wait(30) == 0
        os.close(terminal)


def test_session_of_the_demo_pair_remembers_what_was_read():
    engine = domino_jax.load(demo.TARGET, demo.DRAFT)
    session = engine.session(200)
    events = session.say("Tom has 3 boxes of 7 pens. How many pens has Tom?")
    read = ""
    for event in events:
        if isinstance(event, domino_jax.Tokens):
            read += event.text
            if len(read) > 20:
                break
    events.close()
    assert session.messages[-1] == {"role": "assistant", "content": read}
