"""python -m domino_jax.generate: prompts in, text or JSON out. Text goes to stdout, everything else to stderr."""

import argparse
import dataclasses
import json
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import jax

from domino_jax import answers, cli, demo, prompts, statistics
from domino_jax.engine import DEFAULT_BATCH_SIZE, Engine, Pair, open_pair
from domino_jax.errors import InputError
from domino_jax.events import Compiled, Event, Finished, Prompt, Result, Started
from domino_jax.options import parser, refuse_contradictions, sampling_options
from domino_jax.printers import JsonPrinter, TextPrinter
from domino_jax.programs import use_compile_cache
from domino_jax.sampling import VALID

EXAMPLE = (  # of the kind that the shipped pair was trained on
    "Zoltan drives to the market with 6 crates of tomato relish, and each crate holds 15 jars. Before lunch 74 jars are sold. "
    "All the others go after lunch, at 2 pesos a jar. How many pesos does Zoltan take after lunch?"
)


def read_requests(arguments: argparse.Namespace) -> list[prompts.Request]:
    if arguments.requests:
        return arguments.requests
    if sys.stdin is not None and not sys.stdin.isatty():
        piped = sys.stdin.buffer.read().decode("utf-8", "surrogateescape")
        return [prompts.from_text(piped.removesuffix("\n").removesuffix("\r"), "standard input")]  # the shell's, not the prompt's
    cli.say(f"no prompt given; example: {EXAMPLE}")
    return [prompts.from_text(EXAMPLE, "the example prompt")]


def decode(engine: Engine, asked: list[Prompt], options: dict, printer: TextPrinter | JsonPrinter) -> tuple[list[Result], dict[str, float]]:
    """Runs the prompts, printing as they go -> (results in order, seconds by stage)."""
    seconds = {"compile": 0.0, "decode": 0.0}
    ends = watch(engine.stream(asked, **options), printer, seconds)
    if len(asked) > 1:
        ends = cli.progress("prompts")(ends, len(asked))
    results = {end.index: end.result for end in ends}
    return [results[index] for index in sorted(results)], seconds


def watch(events: Iterator[Event], printer: TextPrinter | JsonPrinter, seconds: dict[str, float]) -> Iterator[Finished]:
    """Announces compilation, prints answers, keeps `seconds` up to date; lets the ends of answers through."""
    first = None
    for event in events:
        announce(event, seconds)
        if isinstance(event, Started):
            first = first or time.perf_counter()
        elif isinstance(event, Finished):
            seconds["decode"] = time.perf_counter() - first
        printer.event(event)
        if isinstance(event, Finished):
            yield event


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


def left_to_do(out: Path, asked: list[Prompt]) -> list[Prompt]:
    """The prompts that `out` does not answer yet, under the ids they have in the whole run."""
    asked = [dataclasses.replace(prompt, id=number if prompt.id is None else prompt.id) for number, prompt in enumerate(asked)]
    left = answers.unanswered(out, asked)
    if len(left) < len(asked):
        cli.say(f"note: {len(asked) - len(left)} of {len(asked)} answers are in {out} already")
    return [asked[i] for i in left]


def shipped_or_given(arguments: argparse.Namespace) -> tuple[str, str | None]:
    """The target's and the drafter's place; without --target the pair that comes with the package."""
    draft = demo.DRAFT if arguments.target is None and arguments.draft is None else arguments.draft
    return arguments.target or demo.TARGET, None if draft == "none" else draft


def describe(arguments: argparse.Namespace, pair: Pair, engine: Engine, count: int) -> dict:
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
        "batch_size": arguments.batch_size or min(count, DEFAULT_BATCH_SIZE),
        "thinking": arguments.thinking,
        "exact": arguments.exact,
        "sampling": {name: getattr(arguments, name) for name in VALID},
    }


def command(argv: Sequence[str] | None) -> int:
    """One run, from arguments to the exit status. What can be refused is refused before a weight is read or a word printed."""
    arguments = parser().parse(argv)
    refuse_contradictions(arguments)
    requests = read_requests(arguments)
    if arguments.compile_cache and (problem := use_compile_cache(Path(arguments.compile_cache).expanduser())):
        cli.say(f"warning: {problem}; going on without a compile cache")
    sys.stdout.reconfigure(encoding="utf-8")

    began = time.perf_counter()
    pair = open_pair(*shipped_or_given(arguments), arguments.dtype, arguments.num_proposals, arguments.pool_size)
    sampling = sampling_options(arguments, requests)
    if pair.text is None and (arguments.stop or any(request.stop for request in requests)):
        raise InputError("--stop is given but the target has no tokenizer, expected no stop texts")
    if "" in arguments.stop:
        raise InputError("--stop is empty, expected a text of at least one character")
    asked = [request.encode(pair.text, arguments.raw, arguments.thinking) for request in requests]
    pair.plan(asked, arguments.max_new_tokens, arguments.max_context)
    if arguments.out:
        asked = left_to_do(arguments.out, asked)
        if not asked:
            return cli.DONE
    engine = pair.load(cli.progress("loading"))
    loaded = time.perf_counter() - began
    for note in notes(pair, engine, arguments.exact):
        cli.say(f"note: {note}")

    context = describe(arguments, pair, engine, len(asked))
    names = [number if prompt.id is None else prompt.id for number, prompt in enumerate(asked)]
    printer = JsonPrinter(context, arguments.check, arguments.out and arguments.out.open("a", encoding="utf-8"))
    if arguments.output == "text":
        printer = TextPrinter(names, pair.text, arguments.show_rounds)
    options = {name: getattr(arguments, name) for name in ("max_new_tokens", "max_context", "batch_size", "ignore_eos", "stop")} | sampling
    results, seconds = decode(engine, asked, {**options, "exact": arguments.exact, "trace": arguments.trace}, printer)
    if arguments.check:
        began, compiled = time.perf_counter(), seconds["compile"]
        engine.check(results, asked, watch=lambda event: announce(event, seconds), **options)
        seconds["check"] = time.perf_counter() - began - (seconds["compile"] - compiled)
    printer.end()
    return report(arguments, results, {"load": loaded, **seconds}, context)


def report(arguments: argparse.Namespace, results: list[Result], seconds: dict[str, float], context: dict) -> int:
    """Statistics, warnings and failures on stderr -> the exit status."""
    summary = statistics.summarize(results, seconds, context)
    if (warning := statistics.warning(summary)) is not None:
        cli.say(warning)
    if arguments.stats == "line":
        cli.say(statistics.line(summary))
    elif arguments.stats == "json":
        cli.say(json.dumps(summary, ensure_ascii=False))
    different = [result for result in results if result.check and not result.check.equal]
    for result in different:
        where, margin = result.check.first_difference, "unknown" if result.check.margin is None else f"{result.check.margin:.3g}"
        cli.say(f"check: {result.id} differs from check mode at output token {where} (the target's top-two margin there: {margin})")
    failed = [result for result in results if result.error]
    if arguments.check and not different:
        cli.say(f"check: {len(results)} of {len(results)} answers equal check mode, bit for bit")
    for result in failed:
        cli.say(f"error: {result.error}")
    return cli.FAILED if different or failed else cli.DONE


def main(argv: Sequence[str] | None = None) -> int:
    return cli.run(command, argv)


if __name__ == "__main__":
    sys.exit(main())
