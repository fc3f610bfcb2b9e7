"""python -m domino_jax.evaluate: target-only and drafters side by side on one or more sets of prompts.

What a figure means stands in the notes under the tables (`tables.py`) and in `figures.py`.
"""

import argparse
import json
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property, partial
from pathlib import Path

import jax

from domino_jax import checkpoint, cli, plot, sets, tables
from domino_jax.conversations import Conversation, converse
from domino_jax.drafter import DEFAULT_POOL_SIZE
from domino_jax.engine import DTYPES, Engine, Pair, open_pair
from domino_jax.errors import InputError
from domino_jax.events import Compiled, Event, Finished, Prompt, Result, Started
from domino_jax.figures import Figures, Way, figures, records
from domino_jax.prompts import Request
from domino_jax.sampling import Sampling
from domino_jax.sets import PromptSet
from domino_jax.statistics import versions


def parser() -> cli.Parser:
    p = cli.Parser(prog="python -m domino_jax.evaluate", description="Target-only and drafters side by side on sets of prompts.")
    p.add_argument("--target", required=True, metavar="PATH", help="directory or hub id of the target")
    p.add_argument("--draft", action="append", default=[], metavar="PATH", help="of a drafter; repeatable, ratios are to the first")
    p.add_argument(
        "--prompts",
        action="append",
        required=True,
        metavar="FILE.jsonl",
        help="a set of prompts, repeatable: one object a line with prompt, messages, prompt_ids or turns (the user's texts of a "
        "conversation, each asked when the one before is answered); answer if known",
    )
    p.add_argument("--max-new-tokens", type=cli.number(1), metavar="N", help="of an answer; default 512, cut to what the context leaves")
    p.add_argument("--temperature", type=float, default=0.0, metavar="T", help="0 (the default) is greedy")
    p.add_argument(
        "--seed",
        type=cli.number(0),
        default=0,
        metavar="N",
        help="of drawn answers: a set's first prompt has it, the next one more; default 0",
    )
    p.add_argument("--batch-size", type=cli.number(1), default=8, metavar="N", help="rows decoded together; default 8")
    p.add_argument("--num-proposals", type=cli.number(1), metavar="P", help="proposals a round; default block_size - 1")
    p.add_argument("--pool-size", type=cli.number(0), default=DEFAULT_POOL_SIZE, metavar="K", help=f"default {DEFAULT_POOL_SIZE}, 0: all")
    p.add_argument("--dtype", choices=["auto", *DTYPES], default="auto", help="default auto")
    p.add_argument("--output", choices=["markdown", "json"], default="markdown", help="of standard output; default markdown")
    p.add_argument(
        "--plot",
        type=Path,
        metavar="FILE.png|svg",
        help="draw acceptance by position, and of several sets acceptance lengths (extra: plot); default none",
    )
    p.add_argument("--debug", action="store_true", help="show tracebacks; default off")
    return p


def refuse_impossible_plot(arguments: argparse.Namespace) -> None:
    if arguments.plot and not arguments.draft:
        raise InputError("--plot is given without --draft, expected both: nothing is accepted without a drafter")
    plot.refuse_impossible(arguments.plot)


def refuse_impossible_sampling(arguments: argparse.Namespace, asked: Sequence[PromptSet]) -> None:
    """Raises InputError for numbers that mean nothing, and for a seed that nothing would use."""
    Sampling(arguments.temperature, seed=arguments.seed)
    drawn = arguments.temperature or any((request.sampling or {}).get("temperature") for one in asked for request in one.requests)
    if arguments.seed and not drawn:
        raise InputError("--seed is given and nothing is sampled, expected also a --temperature above 0")


# Decoding


@dataclass(frozen=True)
class Work:
    """The conversations of each set, and the engine's options."""

    sets: dict[str, list[Conversation]]
    options: dict

    @classmethod
    def of(cls, asked: Sequence[PromptSet], pair: Pair, arguments: argparse.Namespace) -> "Work":
        def conversation(number: int, request: Request) -> Conversation:
            seed = {"seed": (arguments.seed + number) % 2**32}  # one noise for all prompts would make one draw of them
            drawn = replace(request, sampling=seed | (request.sampling or {}))
            return Conversation.of(drawn, pair.text, arguments.max_new_tokens, pair.target.config.context)

        talks = {one.name: [conversation(*numbered) for numbered in enumerate(one.requests)] for one in asked}
        return cls(talks, {"batch_size": arguments.batch_size, "temperature": arguments.temperature})

    @cached_property
    def longest(self) -> list[Prompt]:
        """A plan with room for these has room for every turn of every set: one capacity, one set of programs."""
        return [talk.longest() for talks in self.sets.values() for talk in talks]


def way(engine: Engine, name: str, work: Work, plain: Way | None = None) -> Way:
    """Decodes all sets. Conversations go on from the answers of `plain`, which is target-only, or from their own."""
    plan = engine.plan(work.longest, **work.options)

    def ask(label: str, prompts: list[Prompt]) -> tuple[list[Result], float]:
        turn = engine.plan(prompts, **work.options)
        roomy = replace(plan, capacity=max(plan.capacity, turn.capacity))  # more only where answers came back as more tokens
        return decode(engine.run(roomy, turn.tasks), len(prompts), label)

    found = []
    for number, (set_name, talks) in enumerate(work.sets.items()):
        label = f"{name}, {set_name}" if len(work.sets) > 1 else name
        found.append(converse(talks, partial(ask, label), plain and plain.sets[number].rows))
    kind, width = (engine.drafter.kind, engine.num_proposals) if engine.drafter else ("none", 0)
    return Way(name, kind, width, found)


def decode(events: Iterator[Event], count: int, name: str) -> tuple[list[Result], float]:
    """-> the `count` results in order, seconds from the first token of the first prompt to the end."""
    results, first, last = {}, None, 0.0

    def ends():
        nonlocal first, last
        for event in events:
            if isinstance(event, Compiled):
                cli.say(f"{name}: compiled {event.program} for batch {event.batch}, capacity {event.capacity} in {event.seconds:.1f} s")
            elif isinstance(event, Started):
                first = first or time.perf_counter()
            elif isinstance(event, Finished):
                last = time.perf_counter()
                yield event

    for event in cli.progress(name)(ends(), count):
        if event.result.error:
            raise InputError(f"{name}, {event.result.error}")
        results[event.index] = event.result
    return [results[i] for i in range(count)], last - first


# The command


def command(argv: Sequence[str] | None) -> int:
    arguments = parser().parse(argv)
    refuse_impossible_plot(arguments)
    asked = sets.read(arguments.prompts)
    refuse_impossible_sampling(arguments, asked)
    pairs = [
        open_pair(arguments.target, draft, arguments.dtype, arguments.num_proposals, arguments.pool_size) for draft in arguments.draft
    ] or [open_pair(arguments.target, None, arguments.dtype)]
    work = Work.of(asked, pairs[0], arguments)
    for pair in pairs:
        pair.plan(work.longest, **work.options)

    engine = pairs[0].load(cli.transfer("loading")).with_drafter(None)
    ways = [way(engine, "target-only", work)]
    for pair, path in zip(pairs, arguments.draft, strict=False):
        engine = engine.with_drafter(checkpoint.load(pair.draft, pair.dtype, **pair.options))
        ways.append(way(engine, f"{engine.drafter.kind} {path}", work, ways[0]))
    report(arguments, asked, ways, engine.dtype.name)
    return cli.DONE


def report(arguments: argparse.Namespace, asked: Sequence[PromptSet], ways: Sequence[Way], dtype: str) -> None:
    """Prints and draws the figures of each set and of all."""
    expected = [one.answers for one in asked]
    by_set = {one.name: compare([way.of(n) for way in ways], expected[n : n + 1]) for n, one in enumerate(asked)}
    over_all = compare(ways, expected)
    if arguments.plot:
        draw(by_set, over_all, arguments.plot)
    if arguments.output == "json":
        context = {"platform": jax.default_backend(), "device": jax.devices()[0].device_kind, "dtype": dtype, "versions": versions()}
        names = ("target", "max_new_tokens", "temperature", "seed", "batch_size", "num_proposals", "pool_size")
        options = {name: getattr(arguments, name) for name in names}
        made_of = [
            {"name": name, "file": arguments.prompts[n], "runs": with_records(found, ways, n, expected[n])}
            for n, (name, found) in enumerate(by_set.items())
        ]
        found = {"prompts": over_all[0].prompts, "note": tables.note(len(asked)), "runs": list(map(asdict, over_all)), "sets": made_of}
        print(json.dumps(context | options | found, indent=1))
    else:
        print(tables.one_set(over_all) if len(asked) == 1 else tables.several_sets(by_set, over_all))


def with_records(found: Sequence[Figures], ways: Sequence[Way], number: int, expected: Sequence[str] | None) -> list[dict]:
    """The figures of set `number` with the records they are made of."""
    plain = ways[0].sets[number]
    return [asdict(f) | {"records": records(way.sets[number], plain, expected)} for f, way in zip(found, ways, strict=True)]


def draw(by_set: dict[str, Sequence[Figures]], over_all: Sequence[Figures], path: Path) -> None:
    """Acceptance by position, and of several sets the acceptance lengths beside it."""
    drafters = [way for way, f in enumerate(over_all) if f.kind != "none"]
    curves = [plot.Curve(over_all[way].name, over_all[way].acceptance_length, over_all[way].by_position or []) for way in drafters]
    if len(by_set) == 1:
        plot.draw_curves([curve for curve in curves if curve.by_position], path)
        return
    groups = [*by_set.values(), over_all]
    bars = [plot.Bars([found[way].acceptance_length for found in groups], [found[way].interval for found in groups]) for way in drafters]
    plot.draw_sets([*by_set, "average"], bars, curves, path)


def compare(ways: Sequence[Way], expected: Sequence[Sequence[str] | None]) -> list[Figures]:
    """The figures of target-only, which stands first, and of the drafters; ratios are to the first of these."""
    plain, *drafters = ways
    return [figures(plain, plain, plain, expected), *(figures(way, plain, drafters[0], expected) for way in drafters)]


def main(argv: Sequence[str] | None = None) -> int:
    return cli.run(command, argv)


if __name__ == "__main__":
    sys.exit(main())
