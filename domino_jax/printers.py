"""Answers on standard output: text for people, JSON for programs."""

import dataclasses
import json
import sys
from typing import TextIO

from domino_jax import answers
from domino_jax.events import Event, Finished, Result, Tokens
from domino_jax.text import Text


class TextPrinter:
    """Answers on stdout: one prompt streams, several come whole and in order under a header each."""

    def __init__(self, names: list[str | int], text: Text | None, show_rounds: bool):
        self.names, self.streaming, self.show_rounds = names, len(names) == 1, show_rounds
        self.decode = text.decode if text else lambda ids: "".join(f" {token}" for token in ids)
        self.pieces: list[list[str]] = [[] for _ in names]
        self.ended, self.next = [False] * len(names), 0

    def event(self, event: Event) -> None:
        if isinstance(event, Tokens):
            piece = self.piece(event)
            self.pieces[event.index].append(piece)
            if self.streaming:
                self.write(piece)
        elif isinstance(event, Finished):
            self.ended[event.index] = True
            if event.result.error:
                self.pieces[event.index].clear()
            while self.next < len(self.ended) and self.ended[self.next]:
                self.answer(self.next)
                self.next += 1

    def piece(self, event: Tokens) -> str:
        if self.show_rounds:
            return self.marked(event)
        if event.text is not None:
            return event.text
        ids = " ".join(map(str, event.ids))
        return f" {ids}" if self.pieces[event.index] else ids

    def marked(self, event: Tokens) -> str:
        """The accepted proposals of a round set apart from the target's own token: in colour at a terminal, else in brackets."""
        before, after = ("\033[32m", "\033[0m") if sys.stdout.isatty() else ("[", "]")
        accepted, own = (self.decode(list(ids)) for ids in (event.ids[: event.accepted], event.ids[event.accepted :]))
        return (f"{before}{accepted}{after}" if event.accepted else "") + own

    def answer(self, index: int) -> None:
        if not self.streaming:
            self.write(f"=== {self.names[index]} ===\n" + "".join(self.pieces[index]))
        self.write("\n")

    def write(self, text: str) -> None:
        sys.stdout.write(text)
        sys.stdout.flush()

    def end(self) -> None:
        """All is written already."""


class JsonPrinter:
    """One object a line, in order, as soon as it is known; with `hold`, when all is (a check adds to them).

    To standard output; or to a file, each through to the disk and in the order in which they end.
    """

    def __init__(self, context: dict, hold: bool, file: TextIO | None = None):
        self.context, self.hold, self.file = context, hold, file
        self.waiting: dict[int, Result] = {}
        self.next = 0

    def event(self, event: Event) -> None:
        if isinstance(event, Finished) and self.file:
            answers.append(self.file, record(event.result, self.context))
        elif isinstance(event, Finished):
            self.waiting[event.index] = event.result
            if not self.hold:
                self.end()

    def end(self) -> None:
        while (result := self.waiting.pop(self.next, None)) is not None:
            print(json.dumps(record(result, self.context), ensure_ascii=False), flush=True)
            self.next += 1


def record(result: Result, context: dict) -> dict:
    """The JSON object of one answer."""
    fields = ("output_ids", "text", "finish_reason", "rounds", "acceptance_lengths", "mean_acceptance_length", "tokens_per_round")
    entry = {"id": result.id, "prompt_ids": list(result.prompt_ids)} | {name: getattr(result, name) for name in fields}
    entry |= {"prefill_seconds": round(result.prefill_seconds, 6), "decode_seconds": round(result.decode_seconds, 6)}
    entry |= {name: context[name] for name in ("draft", "platform", "device", "dtype")}
    for name in ("error", "check"):
        if (value := getattr(result, name)) is not None:
            entry[name] = dataclasses.asdict(value) if name == "check" else value
    if result.trace is not None:
        entry["trace"] = [dataclasses.asdict(round) for round in result.trace]
    return entry
