"""python -m bench.serve: the published serving sweep in our form. Decoding modes x concurrency x prompt sets, through the scheduler.

    python -m bench.serve --json OUT.json --plot OUT.svg          the shipped pair: target-only, DFlash, Domino
    python -m bench.serve --shapes 8b --json OUT.json             Qwen3-8B shapes, random weights, recorded acceptance (`recorded.py`)
    python -m bench.serve --from OUT.json --plot OUT.svg          table and plot of an earlier run

The load is a closed loop: `engine.stream` with as many slots as the concurrency says, all requests waiting from the start, and a
request that ends gives its slot to the next at once. What each figure means stands in CONVENTIONS, in `--help` and in every output.
"""

import os
import shlex
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import jax
import numpy as np

from bench import recorded, rows
from bench.cells import CONTINUOUS, CONVENTIONS, GANGS, TARGET_ONLY, Cell, Failure, figures, markdown, plot, read_json, write_json
from bench.prompt_sets import SETS, read_set
from bench.recorded import RecordedDrafter, Recording
from bench.timing import environment
from domino_jax import checkpoint, cli, demo
from domino_jax.capacity import chunk_widths
from domino_jax.drafter import Drafter
from domino_jax.engine import DTYPES, Engine, open_pair
from domino_jax.errors import InputError
from domino_jax.events import Compiled, Finished, Prompt, Result
from domino_jax.plot import refuse_impossible
from tests.gpu.run import configs

CONCURRENCY = (1, 2, 4, 8, 16, 32)
REQUESTS, WAVES = 64, 4  # of a cell: of prompt sets, and for each slot of --shapes
WARM_TOKENS = 16
RANDOM_PROMPT = 96  # tokens of the one prompt of --shapes


@dataclass(frozen=True)
class Case:
    """Requests with their budgets, and the context that gives every mode the same cache capacity."""

    prompt_set: str
    slots: int
    asked: tuple[Prompt, ...]
    max_context: int


# Measuring


def serve(engine: Engine, case: Case, asked: Sequence[Prompt], name: str, **options) -> tuple[list[Result], float]:
    """-> results in order, seconds from the first dispatch to the last token."""
    results, events = {}, engine.stream(asked, batch_size=case.slots, max_context=case.max_context, **options)
    began, ended = time.perf_counter(), 0.0

    def ends():
        nonlocal began, ended
        for event in events:
            if isinstance(event, Compiled):  # all of them come before the first dispatch
                cli.say(f"{name}: compiled {event.program} for batch {event.batch}, capacity {event.capacity} in {event.seconds:.1f} s")
                began = time.perf_counter()
            elif isinstance(event, Finished):
                results[event.index], ended = event.result, time.perf_counter()
                if len(results) == len(asked):  # the round dispatched in vain must not run into the next measurement
                    jax.block_until_ready(jax.live_arrays())
                yield event

    for event in cli.progress(name)(ends(), len(asked)):
        if event.result.error:
            raise RuntimeError(event.result.error)
    return [results[i] for i in range(len(asked))], ended - began


def warm_up(engine: Engine, case: Case, name: str) -> None:
    """Compiles and runs each program: a few tokens of as many requests as there are slots, and of one for each width of chunks."""
    by_width = {width: prompt for prompt in case.asked for width in chunk_widths(len(prompt.ids))}
    few = [*case.asked[: case.slots], *by_width.values()]
    serve(engine, case, [replace(prompt, max_new_tokens=min(prompt.max_new_tokens, WARM_TOKENS)) for prompt in few], f"{name}, warm-up")


def measure(engine: Engine, case: Case, mode: str, schedule: str, plain: list[Result] | None) -> tuple[Cell, list[Result]]:
    """One cell and its results; `plain` is target-only's, or None where this is target-only."""
    name = f"{case.prompt_set}, {mode}, {case.slots} slots"
    size = case.slots if schedule == GANGS else len(case.asked)
    results, seconds = [], 0.0
    for start in range(0, len(case.asked), size):
        more, took = serve(engine, case, case.asked[start : start + size], name)
        results += more
        seconds += took
    drafter = engine.drafter
    cell = Cell(
        prompt_set=case.prompt_set,
        mode=mode,
        schedule=schedule,
        concurrency=case.slots,
        seconds=round(seconds, 6),
        prompt_tokens=[len(result.prompt_ids) for result in results],
        output_tokens=[len(result.output_ids) for result in results],
        first_token_seconds=[round(result.prefill_seconds, 6) for result in results],
        decode_seconds=[round(result.decode_seconds, 6) for result in results],
        acceptance_histogram=histogram(results),
        differences=differences(results, results if plain is None else plain),
        as_drawn=drafter.recording.as_drawn(results) if isinstance(drafter, RecordedDrafter) else None,
    )
    return cell, results


def histogram(results: Iterable[Result]) -> dict[str, int]:
    counts = Counter(length for result in results for length in result.acceptance_lengths)
    return {str(length): count for length, count in sorted(counts.items())}


def differences(results: Sequence[Result], plain: Sequence[Result]) -> list[tuple[int, int]]:
    """(request, place of the first token that differs) for each request whose output is not target-only's."""
    found = []
    for number, (ours, theirs) in enumerate(zip(results, plain, strict=True)):
        if ours.output_ids != theirs.output_ids:
            pairs = enumerate(zip(ours.output_ids, theirs.output_ids, strict=False))
            shorter = min(len(ours.output_ids), len(theirs.output_ids))
            found.append((number, next((i for i, (a, b) in pairs if a != b), shorter)))
    return found


Modes = dict[str, Callable[[Engine, Case], Drafter | None]]


def sweep(engine: Engine, cases: Iterable[Case], modes: Modes, gangs: int, debug: bool) -> Iterator[Cell | Failure]:
    """All cells of all cases, the first mode target-only. Modes share the target's programs. A failure ends its case and no other."""
    for case in cases:
        plain = None
        for mode, drafter_for in modes.items():
            try:
                engine = engine.with_drafter(None)
                engine = engine.with_drafter(drafter_for(engine, case))
                warm_up(engine, case, f"{case.prompt_set}, {mode}, {case.slots} slots")
                cell, results = measure(engine, case, mode, CONTINUOUS, plain)
                yield cell
                plain = plain or results
                if case.slots == gangs:
                    yield measure(engine, case, mode, GANGS, plain)[0]
            except Exception as error:
                yield Failure(case.prompt_set, mode, case.slots, rows.reason(error, debug))
                break


def cases_of(name: str, asked: Sequence[Prompt], concurrency: Sequence[int], max_new_tokens: int) -> list[Case]:
    """Of a prompt its tokens and its budget count; all is greedy."""
    asked = tuple(Prompt(prompt.ids, max_new_tokens=prompt.max_new_tokens or max_new_tokens, where=prompt.where) for prompt in asked)
    max_context = max(len(prompt.ids) + prompt.max_new_tokens for prompt in asked)
    return [Case(name, slots, asked, max_context) for slots in concurrency]


# What serves it


def pair_sweep(arguments) -> tuple[dict, Iterator[Cell | Failure]]:
    """-> (what is said of the models, the cells), of checkpoints."""
    target, drafts = arguments.target or demo.TARGET, arguments.draft if arguments.target else [demo.DFLASH, demo.DRAFT]
    pairs = [open_pair(target, draft, arguments.dtype) for draft in drafts] or [open_pair(target, None, arguments.dtype)]
    given = [read_set(name, pairs[0].text, arguments.requests or REQUESTS, arguments.seed) for name in arguments.prompts or SETS]
    if len(dict(given)) < len(given):
        raise InputError(f"--prompts names the sets {', '.join(name for name, _ in given)}, expected different names")
    cases = [case for name, asked in given for case in cases_of(name, asked, arguments.concurrency, arguments.max_new_tokens or 256)]
    for pair in pairs:
        for case in cases:
            pair.plan(case.asked, batch_size=case.slots, max_context=case.max_context)
    engine = pairs[0].load(cli.transfer("loading"))
    drafters = [checkpoint.load(pair.draft, pair.dtype, **pair.options) for pair in pairs if pair.draft]
    modes: Modes = {TARGET_ONLY: lambda engine, case: None}
    for drafter, path in zip(drafters, drafts, strict=True):
        modes[drafter.kind if drafter.kind not in modes else f"{drafter.kind} {path}"] = lambda engine, case, drafter=drafter: drafter
    about = {"target": target, "drafts": drafts} if arguments.target else {"pair": "the shipped one"}
    about["dtype"] = engine.dtype.name
    return about, sweep(engine, cases, modes, arguments.gangs, arguments.debug)


def shapes_sweep(arguments) -> tuple[dict, Iterator[Cell | Failure]]:
    """The same of random weights with recorded acceptance: every request is one prompt with one budget."""
    target_config, draft_config = configs(arguments.shapes == "tiny")
    longest, budget = draft_config.block_size, arguments.max_new_tokens or 128
    shares_T, source = recorded.shares(arguments.acceptance, longest)
    engine = Engine.random(target_config, draft_config, jax.random.key(arguments.seed), arguments.dtype)
    drafter = engine.drafter
    ids = np.random.default_rng(arguments.seed).integers(0, target_config.vocab_size, RANDOM_PROMPT)
    prompt = Prompt(tuple(ids.tolist()), max_new_tokens=budget)
    cases = [
        Case(arguments.shapes, slots, (prompt,) * (arguments.requests or WAVES * slots), RANDOM_PROMPT + budget + longest)
        for slots in arguments.concurrency
    ]

    def record(engine: Engine, case: Case) -> RecordedDrafter:
        asked = [replace(prompt, max_new_tokens=budget + longest)]
        (told,), _ = serve(engine, case, asked, f"{case.slots} slots, the text in check mode", exact=True)
        walks = recorded.deal(shares_T, case.slots, budget - 1, arguments.seed)
        return RecordedDrafter(drafter, Recording(prompt.ids, tuple(told.output_ids), walks))

    about = {
        "shapes": arguments.shapes,
        "dtype": engine.dtype.name,
        "recorded": recorded.note(shares_T, source),
        "recorded_shares": shares_T.round(6).tolist(),
    }
    modes: Modes = {TARGET_ONLY: lambda engine, case: None, f"{drafter.kind}, recorded": record}
    return about, sweep(engine, cases, modes, arguments.gangs, arguments.debug)


def context(argv: Sequence[str]) -> dict:
    return environment("serve") | {
        "command": shlex.join(["python", "-m", "bench.serve", *argv]),
        "host_cores": os.cpu_count(),
        "conventions": CONVENTIONS,
        "sets": SETS,
    }


# The command


def parser() -> cli.Parser:
    conventions = "\n".join(f"  {term:18} {meaning}" for term, meaning in CONVENTIONS.items())
    p = cli.Parser(
        prog="python -m bench.serve",
        description="The published serving sweep in our form: decoding modes x concurrency x prompt sets, through the scheduler.",
        epilog=f"conventions:\n{conventions}\nexit status: 0 done, 1 failed, 2 bad input, 130 interrupted",
    )
    source = p.add_mutually_exclusive_group()
    source.add_argument("--target", metavar="PATH", help="directory or hub id of the target; default the shipped pair")
    source.add_argument(
        "--shapes", choices=["8b", "tiny"], help="random weights instead: of Qwen3-8B and its Domino drafter, or tiny to try it"
    )
    source.add_argument("--from", dest="earlier", type=Path, metavar="FILE.json", help="measure nothing: show what --json wrote")
    p.add_argument("--draft", action="append", default=[], metavar="PATH", help="of a drafter of --target; repeatable")
    said = "; ".join(f"{name}: {meaning}" for name, meaning in SETS.items())
    p.add_argument("--prompts", action="append", metavar="NAME[=FILE.jsonl]", help=f"repeatable; default {' and '.join(SETS)}. {said}")
    p.add_argument("--concurrency", nargs="+", type=cli.number(1), default=CONCURRENCY, metavar="N", help="slots; default 1 2 4 8 16 32")
    p.add_argument(
        "--requests", type=cli.number(1), metavar="N", help=f"of each cell; default {REQUESTS}, with --shapes {WAVES} for each slot"
    )
    p.add_argument("--max-new-tokens", type=cli.number(1), metavar="N", help="where a prompt has no budget; default 256, with --shapes 128")
    p.add_argument("--gangs", type=cli.number(0), default=8, metavar="N", help="compare with gangs at this concurrency; default 8, 0: none")
    p.add_argument(
        "--acceptance",
        metavar="MEAN|FILE.json",
        help=f"with --shapes: acceptance lengths to force, of this mean (default {recorded.AUTHORS_MEAN}, the Domino authors' for "
        "Qwen3-8B), or of the acceptance_histogram that generate --stats json wrote",
    )
    p.add_argument("--dtype", choices=["auto", *DTYPES], default="auto", help="default auto: bfloat16 on an accelerator, else float32")
    p.add_argument("--seed", type=cli.number(0), default=0, metavar="N", help="of prompts, random weights and rounds; default 0")
    p.add_argument("--json", type=Path, metavar="FILE", help="write everything, raw, after each cell; default none")
    p.add_argument("--plot", type=Path, metavar="FILE", help="draw tokens/s against concurrency (extra: plot); default none")
    p.add_argument("--debug", action="store_true", help="show tracebacks; default off")
    return p


def refuse(arguments) -> None:
    """Raises InputError for options that do not go together, and for output that could not be written after all the work."""
    for wrong, message in (
        (arguments.draft and not arguments.target, "--draft is given without --target, expected both"),
        (
            arguments.prompts and arguments.shapes,
            "--prompts is given with --shapes, expected one: random weights have a prompt of their own",
        ),
        (arguments.acceptance and not arguments.shapes, "--acceptance is given without --shapes, expected both"),
        (arguments.json and arguments.earlier, "--json is given with --from, expected one"),
    ):
        if wrong:
            raise InputError(message)
    rows.refuse_impossible(arguments)
    refuse_impossible(arguments.plot)


def command(argv: Sequence[str] | None) -> int:
    arguments = parser().parse(argv)
    refuse(arguments)
    if arguments.earlier:
        about, cells = read_json(arguments.earlier)
    else:
        about, cells = run(arguments, sys.argv[1:] if argv is None else argv)
    if arguments.plot and cells:
        plot(about, cells, arguments.plot)
    print(markdown(about, cells))
    return cli.FAILED if about.get("failed") else cli.DONE


def run(arguments, argv: Sequence[str]) -> tuple[dict, list[Cell]]:
    """Measures, and keeps the file up to date."""
    models, found = shapes_sweep(arguments) if arguments.shapes else pair_sweep(arguments)
    about, cells = context(argv) | models | {"failed": []}, []
    for cell in found:
        if isinstance(cell, Failure):
            about["failed"].append(asdict(cell))
            cli.say(f"FAIL: {cell}")
        else:
            cells.append(cell)
            f = figures(cell)
            cli.say(f"{cell.prompt_set}, {cell.mode}, {cell.concurrency} slots, {cell.schedule}: {f['tokens_per_second']:,.0f} tokens/s")
        if arguments.json:
            write_json(arguments.json, about, cells)
    return about, cells


def main(argv: Sequence[str] | None = None) -> int:
    return cli.run(command, argv)


if __name__ == "__main__":
    sys.exit(main())
