"""A conversation at the terminal: `python -m domino_jax.generate --chat`. Answers go to stdout, everything else to stderr."""

import os
import select
import signal
import sys
from collections.abc import Iterator

from domino_jax import cli
from domino_jax.errors import InputError
from domino_jax.events import Compiled, Event, Finished, Result, Tokens
from domino_jax.session import Session

HELP = "/new starts another conversation, /exit or Ctrl-D ends; Ctrl-C stops an answer"


class Interrupts:
    """Ctrl-C during a conversation is noted, as what the device is at must not be torn; a second one before it is heeded is raised."""

    def __init__(self):
        self.pressed = 0
        self.woken, self.waker = os.pipe()
        for end in (self.woken, self.waker):
            os.set_blocking(end, False)

    def __enter__(self) -> "Interrupts":
        self.before = signal.signal(signal.SIGINT, self._note), signal.set_wakeup_fd(self.waker, warn_on_full_buffer=False)
        return self

    def __exit__(self, *_) -> None:
        handler, waker = self.before
        signal.set_wakeup_fd(waker)
        signal.signal(signal.SIGINT, handler)
        os.close(self.woken)
        os.close(self.waker)

    def _note(self, number, frame) -> None:
        self.pressed += 1
        if self.pressed > 1:
            raise KeyboardInterrupt

    def came(self) -> bool:
        """Whether Ctrl-C was pressed since this was last asked."""
        pressed, self.pressed = self.pressed, 0
        return pressed > 0

    def came_before_line(self) -> bool:
        """Waits for a line to be typed -> whether Ctrl-C came first. One just before the wait ends it too, by the pipe."""
        while not self.came():
            ready, _, _ = select.select([sys.stdin, self.woken], [], [])
            if sys.stdin in ready:
                return False
            os.read(self.woken, 4096)
        return True


def converse(session: Session, thinking: bool) -> int:
    """Turns from standard input, a line each, until its end -> the exit status."""
    if sys.stdin.isatty():
        cli.say(HELP)
    with Interrupts() as interrupts:
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
    return cli.DONE


def turns(interrupts: Interrupts) -> Iterator[str]:
    """The lines of standard input; at a terminal Ctrl-C drops the one being typed."""
    terminal = sys.stdin.isatty()
    while True:
        if terminal:
            print("> ", end="", file=sys.stderr, flush=True)
            if interrupts.came_before_line():
                print(file=sys.stderr)
                cli.say(HELP)
                continue
        line = sys.stdin.readline()
        if not line:
            return
        yield line.removesuffix("\n")


def answer(session: Session, said: str, thinking: bool, interrupts: Interrupts) -> None:
    """Prints the answer as it comes."""
    events = session.say(said, thinking)
    for event in events:
        show(event)
        if interrupts.came():
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
