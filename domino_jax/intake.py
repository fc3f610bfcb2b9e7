"""From the prompts of the command line to those that this run decodes: numbered, encoded, checked, and not answered yet."""

import argparse
import dataclasses
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from domino_jax import answers, cli, prompts
from domino_jax.engine import Pair
from domino_jax.errors import InputError
from domino_jax.events import Prompt
from domino_jax.plan import Plan, Task
from domino_jax.printers import Label
from domino_jax.prompts import Request

EXAMPLE = (  # of the kind that the shipped pair was trained on
    "Zoltan drives to the market with 6 crates of tomato relish, and each crate holds 15 jars. Before lunch 74 jars are sold. "
    "All the others go after lunch, at 2 pesos a jar. How many pesos does Zoltan take after lunch?"
)
T = TypeVar("T")


class Sieve:
    """Lets through what can be served. The rest is refused, or with `skip`, if it is a line of a file, named on stderr and left out."""

    def __init__(self, skip: bool, total: int):
        self.skip, self.total, self.skipped = skip, total, 0

    def through(self, requests: Sequence[Request], serve: Callable[[Request], T]) -> list[T]:
        """What `serve` makes of each request it does not refuse."""
        served = []
        for request in requests:
            try:
                served.append(serve(request))
            except InputError as error:
                if not (self.skip and request.is_line):
                    raise
                self.skipped += 1
                cli.say(f"skipped: {_named(request, error)}")
        if not served:
            raise InputError(f"--skip-bad: all {self.total} prompts were skipped, expected at least one that can be served")
        return served

    def end(self) -> None:
        if self.skipped:
            cli.say(f"skipped {self.skipped} of {self.total} prompts")


def _named(request: Request, error: InputError) -> str:
    """What is wrong and where; not every refusal says the latter."""
    said = " ".join(str(error).split())
    return said if said.startswith(request.where) else f"{request.where}: {said}"


def read_requests(arguments: argparse.Namespace) -> list[Request]:
    """The prompts asked for, the bad lines of files among them. One without an id gets its place, which bad lines count in."""
    requests = arguments.requests or [_unasked()]
    return [dataclasses.replace(request, id=number) if request.id is None else request for number, request in enumerate(requests)]


def _unasked() -> Request:
    """The prompt where none is given."""
    if sys.stdin is not None and not sys.stdin.isatty():
        piped = sys.stdin.buffer.read().decode("utf-8", "surrogateescape")
        return prompts.from_text(piped.removesuffix("\n").removesuffix("\r"), "standard input")  # the shell's, not the prompt's
    cli.say(f"no prompt given; example: {EXAMPLE}")
    return prompts.from_text(EXAMPLE, "the example prompt")


def servable(requests: Sequence[Request], pair: Pair, arguments: argparse.Namespace, options: dict, sieve: Sieve) -> list[Prompt]:
    """The prompts of those requests that this pair can serve with the engine's `options`, each with its `n`."""
    pair.plan((), **options)  # what is wrong with the run is no line's fault

    def serve(request: Request) -> Prompt:
        prompt = request.encode(pair.text, arguments.raw, arguments.thinking)
        pair.plan([prompt], **options)
        return dataclasses.replace(prompt, n=prompt.n or arguments.n)

    return sieve.through(requests, serve)


def left_to_do(out: Path | None, asked: Sequence[Prompt]) -> list[int]:
    """The numbers of the answers that `out` does not hold yet."""
    total = sum(prompt.n for prompt in asked)
    left = answers.unanswered(out, asked) if out else list(range(total))
    if len(left) < total:
        cli.say(f"note: {total - len(left)} of {total} answers are in {out} already")
    return left


@dataclass(frozen=True)
class Work:
    """The prompts of a run, what the engine is told of them, and the numbers of the answers that are still to be written.

    The plan is for all, also where few are left: rounding depends on batch and capacity.
    """

    asked: list[Prompt]
    options: dict
    plan: Plan
    left: list[int]

    @property
    def tasks(self) -> list[Task]:
        return [self.plan.tasks[number] for number in self.left]

    @property
    def labels(self) -> list[Label]:
        """Whose answers the tasks are."""
        return [Label(task.prompt.id, task.sample if task.prompt.n > 1 else None) for task in self.tasks]


def work(requests: Sequence[Request], pair: Pair, arguments: argparse.Namespace, options: dict, sieve: Sieve) -> Work:
    asked = servable(requests, pair, arguments, options, sieve)
    return Work(asked, options, pair.plan(asked, **options), left_to_do(arguments.out, asked))
