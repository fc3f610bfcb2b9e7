"""A conversation at the terminal: `python -m domino_jax.generate --chat`. Answers go to stdout, everything else to stderr."""

import signal
import sys
from collections.abc import Iterator

from domino_jax import cli
from domino_jax.errors import InputError
from domino_jax.events import Compiled, Event, Finished, Result, Tokens
from domino_jax.session import Session

HELP = "/new starts another conversation, /exit or Ctrl-D ends; Ctrl-C stops an answer"


class Dropped(Exception):
    """Ctrl-C while a line is typed."""


class Interrupts:
    """What Ctrl-C does: it drops the line being typed, and is noted during an answer, as what the device is at must not be torn.

    The second one during an answer is raised.
    """

    def __init__(self):
        self.typing, self.pressed = False, 0

    def __call__(self, number, frame) -> None:
        if self.typing:
            self.typing = False
            raise Dropped
        self.pressed += 1
        if self.pressed > 1:
            raise KeyboardInterrupt


def converse(session: Session, thinking: bool) -> int:
    """Turns from standard input, a line each, until its end -> the exit status."""
    interrupts = Interrupts()
    before = signal.signal(signal.SIGINT, interrupts)
    try:
        if sys.stdin.isatty():
            cli.say(HELP)
        for said in turns(interrupts):
            if said == "/exit":
                break
            if said == "/new":
                session.messages = []
                cli.say("a new conversation")
            elif said.strip():
                try:
                    answer(session, said, thinking, interrupts)
                except InputError as error:  # the turn is taken back
                    cli.say(f"{error}; {HELP}")
    finally:
        signal.signal(signal.SIGINT, before)
    return cli.DONE


def turns(interrupts: Interrupts) -> Iterator[str]:
    """The lines that are typed."""
    prompt = "> " if sys.stdin.isatty() else ""
    while True:
        try:
            interrupts.typing = True
            said = input(prompt)
            interrupts.typing = False
        except EOFError:
            return
        except Dropped:
            cli.say(f"\n{HELP}")
        else:
            yield said


def answer(session: Session, said: str, thinking: bool, interrupts: Interrupts) -> None:
    """Prints the answer as it comes."""
    interrupts.pressed = 0
    events = session.say(said, thinking)
    for event in events:
        show(event)
        if interrupts.pressed:
            events.close()
            print(flush=True)
            cli.say("stopped")
            return


def show(event: Event) -> None:
    if isinstance(event, Compiled):
        cli.say(f"{'loaded from cache' if event.cached else 'compiled'} {event.program} in {event.seconds:.1f} s")
    elif isinstance(event, Tokens):
        print(event.text, end="", flush=True)
    elif isinstance(event, Finished):
        print(flush=True)
        cli.say(summary(event.result))


def summary(result: Result) -> str:
    """One line on a turn."""
    if result.error:
        return f"error: {result.error}"
    parts = [f"{len(result.output_ids)} tokens"]
    if result.rounds:
        parts.append(f"{(len(result.output_ids) - 1) / result.decode_seconds:.1f} tokens/s after the first")
        parts.append(f"mean acceptance length {result.mean_acceptance_length:.2f}")
    parts.append(f"{result.cached_tokens} of {len(result.prompt_ids)} prompt tokens were in the cache")
    return f"[{', '.join(parts)}]"
