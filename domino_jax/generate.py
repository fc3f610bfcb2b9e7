"""python -m domino_jax.generate: prompts in, text or JSON out. Text goes to stdout, everything else to stderr."""

import argparse
import json
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TextIO

import jax

from domino_jax import chat, cli, demo, intake, plot, proposals, statistics
from domino_jax.bar import Bar
from domino_jax.engine import Engine, Pair, open_pair
from domino_jax.errors import InputError
from domino_jax.events import Compiled, Ended, Event, Finished, Result, Started
from domino_jax.intake import Work
from domino_jax.options import AUTO, parser, refuse_contradictions, sampling_options
from domino_jax.plan import Plan, batch_for
from domino_jax.printers import JsonPrinter, Label, Printer, TextPrinter
from domino_jax.programs import use_compile_cache
from domino_jax.prompts import Request
from domino_jax.sampling import VALID
from domino_jax.text import Text


def decode(events: Iterator[Event], printer: Printer, bar: Bar | None) -> tuple[list[Result], dict[str, float]]:
    """Prints a run as it goes -> (answers in order, seconds by stage)."""
    seconds, results, first = {"compile": 0.0, "decode": 0.0}, {}, None
    for event in events:
        announce(event, seconds)
        if isinstance(event, Started):
            first = first or time.perf_counter()
        elif isinstance(event, Finished):
            seconds["decode"] = time.perf_counter() - first
            results[event.index] = event.result
        elif isinstance(event, Ended):
            seconds |= event.seconds
        printer.event(event)
        if bar:
            bar.event(event)
    return [results[index] for index in sorted(results)], seconds


def announce(event: Event, seconds: dict[str, float]) -> None:
    """Says that something was compiled, and counts its seconds."""
    if isinstance(event, Compiled):
        seconds["compile"] += event.seconds
        how = "loaded from cache" if event.cached else "compiled"
        cli.say(f"{how} {event.program} for batch {event.batch}, capacity {event.capacity} in {event.seconds:.1f} s")


def notes(pair: Pair, engine: Engine, exact: bool) -> Iterator[str]:
    """What the user should know about this run, and could not see."""
    for opened in filter(None, (pair.target, pair.draft)):
        yield from opened.notes
        if (stored := opened.stored_dtypes) != [engine.dtype.name]:
            yield f"{opened.directory} is stored as {', '.join(stored)} and computed as {engine.dtype.name}"
    if exact:
        yield f"check mode, {engine.num_proposals + 1} positions a round for one token; the step program (without --exact) is faster"


def opened(arguments: argparse.Namespace, answers: int) -> Pair:
    """The pair asked for, to give so many answers; without --target the one that comes with the package."""
    draft = demo.DRAFT if arguments.target is None and arguments.draft is None else arguments.draft
    draft = None if draft == "none" else draft
    measured = arguments.num_proposals == AUTO
    number = None if measured else arguments.num_proposals
    pair = open_pair(arguments.target or demo.TARGET, draft, arguments.dtype, number, arguments.pool_size)
    return proposals.fastest(pair, batch_for(answers, arguments.batch_size)) if measured else pair


def describe(arguments: argparse.Namespace, pair: Pair, engine: Engine, plan: Plan) -> dict:
    """What the figures of this run depend on."""
    return {
        "platform": jax.default_backend(),
        "device": jax.devices()[0].device_kind,
        "dtype": engine.dtype.name,
        "draft": pair.draft.kind if pair.draft else "none",
        "draft_path": str(pair.draft.directory) if pair.draft else None,
        "target_path": str(pair.target.directory),
        "num_proposals": engine.num_proposals if pair.draft or arguments.exact else 0,
        "pool_size": arguments.pool_size,
        "batch_size": plan.batch,
        "thinking": arguments.thinking,
        "exact": arguments.exact,
        "sampling": {name: getattr(arguments, name) for name in VALID},
    }


def command(argv: Sequence[str] | None) -> int:
    """One run, from arguments to the exit status. What can be refused is refused before a weight is read or a word printed."""
    arguments = parser().parse(argv)
    refuse_contradictions(arguments)
    if arguments.compile_cache and (problem := use_compile_cache(Path(arguments.compile_cache).expanduser())):
        cli.say(f"warning: {problem}; going on without a compile cache")
    sys.stdout.reconfigure(encoding="utf-8")
    return converse(arguments) if arguments.chat else generate(arguments)


def converse(arguments: argparse.Namespace) -> int:
    pair = opened(arguments, 1)
    if pair.text is None:
        raise InputError("--chat is given but the target has no tokenizer, expected one beside config.json")
    options = engine_options(arguments, (), pair)
    pair.plan((), **options)
    engine = pair.load(cli.transfer("loading"))
    for note in notes(pair, engine, arguments.exact):
        cli.say(f"note: {note}")
    return chat.converse(engine.session(exact=arguments.exact, **options), arguments.thinking)


def generate(arguments: argparse.Namespace) -> int:
    requests = intake.read_requests(arguments)
    sieve = intake.Sieve(arguments.skip_bad, len(requests))
    requests = sieve.through(requests, Request.readable)
    began = time.perf_counter()
    pair = opened(arguments, sum(request.n or arguments.n for request in requests))
    work = intake.work(requests, pair, arguments, engine_options(arguments, requests, pair), sieve)
    if not work.left:
        sieve.end()
        return cli.DONE
    engine = pair.load(cli.transfer("loading"), work.plan, tasks=work.tasks, exact=arguments.exact)
    seconds = {"load": time.perf_counter() - began}
    for note in notes(pair, engine, arguments.exact):
        cli.say(f"note: {note}")
    context = describe(arguments, pair, engine, work.plan)
    results, spent = answer(arguments, engine, work, context)
    status = report(arguments, results, work.labels, seconds | spent, context)
    sieve.end()
    return status


def answer(arguments: argparse.Namespace, engine: Engine, work: Work, context: dict) -> tuple[list[Result], dict[str, float]]:
    """Decodes, checks and prints -> (answers in order, seconds by stage)."""
    with arguments.out.open("a", encoding="utf-8") if arguments.out else nullcontext() as file:
        printer = printer_for(arguments, work.labels, engine.text, context, file)
        bar = Bar(len(work.left), drafted=engine.drafter is not None) if len(work.left) > 1 else None
        try:
            results, seconds = decode(engine.run(work.plan, work.tasks, exact=arguments.exact, trace=arguments.trace), printer, bar)
            if arguments.check:
                check(engine, results, work, seconds)
        finally:  # what is done is written, also when interrupted
            if bar:
                bar.close()
            printer.end()
    return results, seconds


def engine_options(arguments: argparse.Namespace, requests: Sequence[Request], pair: Pair) -> dict:
    """The options of `domino_jax.plan.Options`. Raises InputError for what this pair cannot do for any prompt."""
    if arguments.stop and pair.text is None:
        raise InputError("--stop is given but the target has no tokenizer, expected no stop texts")
    if "" in arguments.stop:
        raise InputError("--stop is empty, expected a text of at least one character")
    last = pair.target.config.vocab_size - 1
    for token in arguments.stop_token_ids:
        if token > last:
            raise InputError(f"--stop-token-ids: {token} is outside the vocabulary, expected integers from 0 to {last}")
    names = ("max_new_tokens", "max_context", "batch_size", "n", "min_tokens", "stop", "stop_token_ids", "ignore_eos")
    return {name: getattr(arguments, name) for name in names} | sampling_options(arguments, requests)


def printer_for(arguments: argparse.Namespace, labels: Sequence[Label], text: Text | None, context: dict, file: TextIO | None) -> Printer:
    ordered = not arguments.unordered
    if arguments.output == "text":
        return TextPrinter(labels, text, show_rounds=arguments.show_rounds, ordered=ordered)
    return JsonPrinter(labels, context, hold=arguments.check, ordered=ordered, logprobs=arguments.logprobs, file=file)


def check(engine: Engine, results: list[Result], work: Work, seconds: dict[str, float]) -> None:
    """Compares the answers with check mode; adds to `seconds`."""
    began, compiled = time.perf_counter(), seconds["compile"]
    engine.check(results, work.asked, watch=lambda event: announce(event, seconds), **work.options)
    seconds["check"] = time.perf_counter() - began - (seconds["compile"] - compiled)


def report(arguments: argparse.Namespace, results: list[Result], labels: Sequence[Label], seconds: dict[str, float], context: dict) -> int:
    """Statistics, picture, warnings and failures -> the exit status."""
    summary = statistics.summarize(results, seconds, context)
    if (warning := statistics.warning(summary)) is not None:
        cli.say(warning)
    if arguments.plot and summary["rounds"]:
        plot.draw_run(summary, arguments.plot)
    elif arguments.plot:
        cli.say(f"note: {arguments.plot} is not drawn: there was no round")
    if arguments.stats == "line":
        cli.say(statistics.line(summary))
    elif arguments.stats == "json":
        cli.say(json.dumps(summary, ensure_ascii=False))
    return verdict(arguments, results, labels)


def verdict(arguments: argparse.Namespace, results: list[Result], labels: Sequence[Label]) -> int:
    """What --check found and which answers failed, on stderr -> the exit status."""
    different = [(label, result.check) for label, result in zip(labels, results, strict=True) if result.check and not result.check.equal]
    for label, found in different:
        margin = "unknown" if found.margin is None else f"{found.margin:.3g}"
        place = f"output token {found.first_difference} (the target's top-two margin there: {margin})"
        cli.say(f"check: {label} differs from check mode at {place}")
    if arguments.check and not different:
        cli.say(f"check: {len(results)} of {len(results)} answers equal check mode, bit for bit")
    failed = [result.error for result in results if result.error]
    for error in failed:
        cli.say(f"error: {error}")
    return cli.FAILED if different or failed else cli.DONE


def main(argv: Sequence[str] | None = None) -> int:
    return cli.run(command, argv)


if __name__ == "__main__":
    sys.exit(main())
