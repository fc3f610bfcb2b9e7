"""Answers on standard output: text for people, JSON for programs."""

import abc
import dataclasses
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TextIO

from tqdm import tqdm

from domino_jax import answers
from domino_jax.events import Event, Finished, Result, Tokens
from domino_jax.text import Text


@dataclass(frozen=True)
class Label:
    """Whose answer: the id of its prompt, and which of its several samples (from 0), None of an only one."""

    id: str | int
    sample: int | None = None

    def __str__(self) -> str:
        """For people, who count from 1."""
        return f"{self.id}" if self.sample is None else f"{self.id}, sample {self.sample + 1}"


class Printer(abc.ABC):
    """Writes complete answers, each in its turn or (not `ordered`) as it ends. `labels` say whose answer number 0, 1, ... is."""

    def __init__(self, labels: Sequence[Label], ordered: bool):
        self.labels, self.ordered = labels, ordered
        self.waiting: dict[int, Result] = {}  # complete, in the order in which they were
        self.next = 0

    def event(self, event: Event) -> None:
        if isinstance(event, Finished):
            self.complete(event.index, event.result)

    def complete(self, index: int, result: Result) -> None:
        self.waiting[index] = result
        if not self.ordered:
            self.end()
        while self.next in self.waiting:
            self.answer(self.next, self.waiting.pop(self.next))
            self.next += 1

    def end(self) -> None:
        """Writes what is complete, though it is not its turn: nothing more will come before it."""
        for index in sorted(self.waiting) if self.ordered else list(self.waiting):
            self.answer(index, self.waiting.pop(index))

    @abc.abstractmethod
    def answer(self, index: int, result: Result) -> None:
        """Writes one answer."""

    def write(self, text: str) -> None:
        with tqdm.external_write_mode(file=sys.stdout):  # a bar on the same terminal makes room
            sys.stdout.write(text)
            sys.stdout.flush()


class TextPrinter(Printer):
    """Text on stdout: an only answer streams, several come whole under a header each."""

    def __init__(self, labels: Sequence[Label], text: Text | None, *, show_rounds: bool = False, ordered: bool = True):
        super().__init__(labels, ordered)
        self.streaming, self.show_rounds = len(labels) == 1, show_rounds
        self.decode = text.decode if text else lambda ids: "".join(f" {token}" for token in ids)
        self.pieces: list[list[str]] = [[] for _ in labels]

    def event(self, event: Event) -> None:
        if isinstance(event, Tokens):
            piece = self.piece(event)
            self.pieces[event.index].append(piece)
            if self.streaming:
                self.write(piece)
        super().event(event)

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

    def answer(self, index: int, result: Result) -> None:
        text, self.pieces[index] = "".join(self.pieces[index]), []
        header, text = f"=== {self.labels[index]} ===\n", "" if result.error else text
        self.write("\n" if self.streaming else f"{header}{text}\n")


class JsonPrinter(Printer):
    """One object a line; with `hold` when all is known (a check adds to them). To stdout, or to a file, through to the disk as it ends."""

    def __init__(
        self,
        labels: Sequence[Label],
        context: dict,
        *,
        hold: bool = False,
        ordered: bool = True,
        logprobs: bool = False,
        file: TextIO | None = None,
    ):
        super().__init__(labels, ordered and file is None)
        self.context, self.hold, self.logprobs, self.file = context, hold, logprobs, file

    def complete(self, index: int, result: Result) -> None:
        if self.hold:
            self.waiting[index] = result
        else:
            super().complete(index, result)

    def answer(self, index: int, result: Result) -> None:
        entry = record(result, self.context, self.labels[index], self.logprobs)
        if self.file:
            answers.append(self.file, entry)
        else:
            self.write(json.dumps(entry, ensure_ascii=False) + "\n")  # at once: an interrupt leaves no half line


def record(result: Result, context: dict, label: Label, logprobs: bool = False) -> dict:
    """The JSON object of one answer."""
    fields = ("output_ids", "text", "finish_reason", "rounds", "acceptance_lengths", "mean_acceptance_length", "tokens_per_round")
    entry = {"id": label.id} | ({} if label.sample is None else {"sample": label.sample})
    entry |= {"prompt_ids": list(result.prompt_ids)} | {name: getattr(result, name) for name in fields}
    entry |= {"prefill_seconds": round(result.prefill_seconds, 6), "decode_seconds": round(result.decode_seconds, 6)}
    entry |= {name: context[name] for name in ("draft", "platform", "device", "dtype")}
    if logprobs:
        entry["logprobs"] = result.logprobs
    for name in ("error", "check"):
        if (value := getattr(result, name)) is not None:
            entry[name] = dataclasses.asdict(value) if name == "check" else value
    if result.trace is not None:
        entry["trace"] = [dataclasses.asdict(round) for round in result.trace]
    return entry
