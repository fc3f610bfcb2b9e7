"""A conversation that keeps its caches: each turn prefills only what the last did not leave there."""

from collections.abc import Generator, Iterator, Sequence

from domino_jax.errors import InputError
from domino_jax.events import Event, Finished, Prompt, Tokens
from domino_jax.loop import Run
from domino_jax.plan import Models, Options
from domino_jax.text import Text


class Session:
    """One row whose keys, values and drafter context outlive its answers. Made by `Engine.session`.

    A turn's text is bit for bit what the same turns give with any drafter or none (`exact`). A fresh run on the same tokens
    computes a part of them in other programs, whose rounding differs: its text is the same, or parts at a near-tie.
    """

    def __init__(self, run: Run, models: Models, options: Options, text: Text | None):
        if options.n != 1:
            raise InputError(f"n is {options.n}, expected 1: a session is one conversation")
        self.run, self.models, self.options, self.text = run, models, options, text
        self.messages: list[dict[str, str]] = []  # of `say`: role and content of each turn
        self.turn: Generator[Event] | None = None  # the last one's events

    @property
    def held(self) -> tuple[int, ...]:
        """The tokens that a next turn finds in the cache."""
        return tuple(self.run.held.get(0, ()))

    def stream(self, prompt: Prompt | Sequence[int]) -> Iterator[Event]:
        """The events of the answer to a prompt: the whole conversation so far, of which what `held` begins with is not computed again.

        An iterator left before its end leaves the conversation as it is by then: the next turn closes it and goes on from there.
        Raises InputError, with nothing changed, for a prompt that does not fit.
        """
        prompt = prompt if isinstance(prompt, Prompt) else Prompt(tuple(prompt))
        if prompt.n not in (None, 1) or prompt.sampling or prompt.min_tokens or prompt.stop_token_ids:
            raise InputError("a session's prompt sets n, sampling, min_tokens or stop_token_ids, expected these from Engine.session")
        tasks = self.models.plan([prompt], self.options).tasks
        self.leave()
        self.turn = self.run.events(tasks, reuse=True)
        return self.turn

    def leave(self) -> None:
        """Ends the last turn where it is."""
        if self.turn is not None:
            self.turn.close()

    def say(self, content: str, thinking: bool = False) -> Iterator[Event]:
        """The events of the answer to a further turn of `messages`, which this turn and its answer, or what was read of it, join."""
        if self.text is None:
            raise InputError("a text was said but the target has no tokenizer, expected token ids (Session.stream)")
        self.leave()
        messages = [*self.messages, {"role": "user", "content": content}]
        ids = tuple(self.text.encode_chat(messages, thinking))
        self.turn = self._remembered(messages, self.stream(Prompt(ids, where="the conversation")))
        return self.turn

    def _remembered(self, messages: list[dict[str, str]], events: Iterator[Event]) -> Iterator[Event]:
        pieces, failed = [], False
        try:
            for event in events:
                if isinstance(event, Tokens):
                    pieces.append(event.text)
                failed = isinstance(event, Finished) and event.result.error is not None
                yield event
        finally:
            events.close()
            if not failed:
                self.messages = [*messages, {"role": "assistant", "content": "".join(pieces)}]
