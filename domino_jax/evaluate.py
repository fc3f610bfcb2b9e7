"""python -m domino_jax.evaluate: target-only and drafters side by side on a file of prompts.

What a figure means stands in the table's footnote and in `Figures`: a mean acceptance length is over all rounds of all prompts,
accepted + bonus each, before any cut by a stop or the budget, and its interval is a bootstrap over prompts.
"""

import argparse
import dataclasses
import json
import re
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import jax
import numpy as np

from domino_jax import checkpoint, cli, plot, prompts
from domino_jax.drafter import DEFAULT_POOL_SIZE, BlockDrafter
from domino_jax.engine import DTYPES, Engine, open_pair
from domino_jax.errors import InputError
from domino_jax.events import Compiled, Finished, Prompt, Result, Started
from domino_jax.statistics import by_position

ANSWER = re.compile(r"#### *(-?\d+)")
RESAMPLES = 2000
NOTE = (
    "Acceptance length: accepted + bonus, mean over all rounds of all prompts, before cuts; 95 % interval by bootstrap over prompts. "
    "Oracle: the most tokens a round that any drafter could give on these answers. Tokens/s: after the first token, compilation left out."
)


@dataclass
class Figures:
    """One way of decoding all prompts. What is a mean over rounds is None where there was no round."""

    name: str
    kind: str
    score: float | None  # share of right answers, where answers are given
    equal: int  # outputs equal to target-only, token for token
    rounds: int
    acceptance_length: float | None
    interval: tuple[float, float] | None  # 95 %
    ratio: float | None  # acceptance length over the first drafter's
    ratio_interval: tuple[float, float] | None
    oracle: float | None
    by_position: list[float] | None  # share of rounds in which proposal j, and all before it, stood
    tokens: int
    tokens_per_second: float | None


def right(text: str | None, answer: str) -> bool:
    """By the number after `####` where the answer has one, else word for word."""
    if text is None:
        return False
    expected, found = ANSWER.search(answer), ANSWER.search(text)
    if expected:
        return found is not None and found[1] == expected[1]
    return text.strip() == answer.strip()


def read_answers(path: str) -> list[str] | None:
    """The `answer` of each line, or None if the file gives none."""
    lines = [line for line in Path(path).expanduser().read_bytes().removeprefix(b"\xef\xbb\xbf").split(b"\n") if line.strip()]
    answers = [json.loads(line).get("answer") for line in lines]
    if not any(answers):
        return None
    for number, answer in enumerate(answers, 1):
        if not isinstance(answer, str):
            raise InputError(f"{path}, prompt {number}: answer is {json.dumps(answer)}, expected a text in every line or in none")
    return answers


def decode(engine: Engine, asked: list[Prompt], name: str, options: dict) -> tuple[list[Result], float]:
    """-> results in order, seconds from the first token of the first prompt to the end."""
    results, first, last = {}, None, 0.0

    def ends():
        nonlocal first, last
        for event in engine.stream(asked, **options):
            if isinstance(event, Compiled):
                cli.say(f"{name}: compiled {event.program} for batch {event.batch}, capacity {event.capacity} in {event.seconds:.1f} s")
            elif isinstance(event, Started):
                first = first or time.perf_counter()
            elif isinstance(event, Finished):
                last = time.perf_counter()
                yield event

    for event in cli.progress(name)(ends(), len(asked)):
        results[event.index] = event.result
    return [results[i] for i in range(len(asked))], last - first


def mean_length(total, rounds):
    """Acceptance length of sums over prompts, also of many at once; NaN where there is no round."""
    return np.divide(total, rounds, out=np.full(np.shape(total), np.nan), where=np.asarray(rounds) > 0)


def resampled(rows: Sequence[Result], draws: np.ndarray) -> np.ndarray:
    """The mean acceptance length of each resample of prompts."""
    total, rounds = (np.array([function(row.acceptance_lengths) for row in rows], float) for function in (sum, len))
    return mean_length(total[draws].sum(1), rounds[draws].sum(1))


def interval(values: np.ndarray) -> tuple[float, float] | None:
    """The middle 95 % of those that are numbers."""
    values = values[np.isfinite(values)]
    return tuple(np.percentile(values, [2.5, 97.5]).tolist()) if len(values) else None


def figures(name: str, kind: str, width: int, rows: list[Result], plain: list[Result], first: list[Result], answers, seconds: float):
    """The figures of one way of decoding; `plain` is target-only, `first` the first drafter's."""
    lengths, first_lengths = ([length for row in some for length in row.acceptance_lengths] for some in (rows, first))
    draws = np.random.default_rng(0).integers(0, len(rows), (RESAMPLES, len(rows)))
    means, firsts = resampled(rows, draws), resampled(first, draws)
    later = [max(len(row.output_ids) - 1, 0) for row in rows]
    return Figures(
        name=name,
        kind=kind,
        score=None if answers is None else float(np.mean([right(row.text, answer) for row, answer in zip(rows, answers, strict=True)])),
        equal=sum(row.output_ids == other.output_ids for row, other in zip(rows, plain, strict=True)),
        rounds=len(lengths),
        acceptance_length=float(np.mean(lengths)) if lengths else None,
        interval=interval(means),
        ratio=float(np.mean(lengths) / np.mean(first_lengths)) if lengths and first_lengths else None,
        ratio_interval=interval(means / firsts),
        oracle=sum(later) / sum(-(-n // (width + 1)) for n in later) if any(later) else None,
        by_position=by_position(lengths, width),
        tokens=sum(len(row.output_ids) for row in rows),
        tokens_per_second=sum(later) / seconds if any(later) else None,
    )


def markdown(found: list[Figures], count: int) -> str:
    lines = [
        "| | score | equal to target-only | rounds | acceptance length | over the first drafter | oracle | tokens/s |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for f in found:
        score = "" if f.score is None else f"{f.score:.3f}"
        drafted = [_figure(f.acceptance_length, f.interval), _figure(f.ratio, f.ratio_interval), _figure(f.oracle)]
        mean, ratio, oracle = [""] * 3 if f.kind == "none" else drafted
        speed = _figure(f.tokens_per_second, digits=0)
        lines.append(f"| {f.name} | {score} | {f.equal} of {count} | {f.rounds} | {mean} | {ratio} | {oracle} | {speed} |")
    return "\n".join([*lines, "", NOTE])


def _figure(value: float | None, interval: tuple[float, float] | None = None, digits: int = 2) -> str:
    """A number with its interval, a dash where there is none."""
    if value is None:
        return "–"
    return f"{value:.{digits}f}" + (f" [{interval[0]:.{digits}f}, {interval[1]:.{digits}f}]" if interval else "")


def parser() -> cli.Parser:
    p = cli.Parser(prog="python -m domino_jax.evaluate", description="Target-only and drafters side by side on a file of prompts.")
    p.add_argument("--target", required=True, metavar="PATH", help="directory or hub id of the target")
    p.add_argument("--draft", action="append", default=[], metavar="PATH", help="of a drafter; repeatable, ratios are to the first")
    p.add_argument(
        "--prompts", required=True, metavar="FILE.jsonl", help="one object a line with prompt, messages or prompt_ids; answer if known"
    )
    p.add_argument("--max-new-tokens", type=cli.number(1), metavar="N", help="default 512, cut to what the context leaves")
    p.add_argument("--batch-size", type=cli.number(1), default=8, metavar="N", help="rows decoded together; default 8")
    p.add_argument("--num-proposals", type=cli.number(1), metavar="P", help="proposals a round; default block_size - 1")
    p.add_argument("--pool-size", type=cli.number(0), default=DEFAULT_POOL_SIZE, metavar="K", help=f"default {DEFAULT_POOL_SIZE}, 0: all")
    p.add_argument("--dtype", choices=["auto", *DTYPES], default="auto", help="default auto")
    p.add_argument("--output", choices=["markdown", "json"], default="markdown", help="of standard output; default markdown")
    p.add_argument("--plot", type=Path, metavar="FILE.png|svg", help="draw acceptance by position (extra: plot); default none")
    p.add_argument("--debug", action="store_true", help="show tracebacks; default off")
    return p


def refuse_impossible_plot(arguments: argparse.Namespace) -> None:
    if arguments.plot and not arguments.draft:
        raise InputError("--plot is given without --draft, expected both: nothing is accepted without a drafter")
    plot.refuse_impossible(arguments.plot)


def command(argv: Sequence[str] | None) -> int:
    arguments = parser().parse(argv)
    refuse_impossible_plot(arguments)
    requests = prompts.from_file(arguments.prompts, besides=("answer", "template"))
    answers = read_answers(arguments.prompts)
    pairs = [
        open_pair(arguments.target, draft, arguments.dtype, arguments.num_proposals, arguments.pool_size) for draft in arguments.draft
    ] or [open_pair(arguments.target, None, arguments.dtype)]
    asked = [request.encode(pairs[0].text, False, False) for request in requests]
    for pair in pairs:
        pair.plan(asked, max_new_tokens=arguments.max_new_tokens)
    options = {"max_new_tokens": arguments.max_new_tokens, "batch_size": arguments.batch_size}

    engine = pairs[0].load(cli.transfer("loading")).with_drafter(None)
    plain, seconds = decode(engine, asked, "target-only", options)
    found = [figures("target-only", "none", 0, plain, plain, plain, answers, seconds)]
    first = None
    for pair, path in zip(pairs, arguments.draft, strict=False):
        drafter: BlockDrafter = checkpoint.load(pair.draft, pair.dtype, **pair.options)
        engine = engine.with_drafter(drafter)
        name = f"{drafter.kind} {path}"
        rows, seconds = decode(engine, asked, name, options)
        first = first or rows
        found.append(figures(name, drafter.kind, drafter.num_proposals, rows, plain, first, answers, seconds))
    if arguments.plot:
        curves = [plot.Curve(f.name, f.acceptance_length, f.by_position) for f in found if f.kind != "none" and f.rounds]
        plot.draw_curves(curves, arguments.plot)
    if arguments.output == "json":
        context = {"platform": jax.default_backend(), "device": jax.devices()[0].device_kind, "dtype": engine.dtype.name,
                   "prompts": len(asked), "batch_size": arguments.batch_size, "pool_size": arguments.pool_size, "note": NOTE}  # fmt: skip
        print(json.dumps(context | {"runs": [dataclasses.asdict(f) for f in found]}, indent=1))
    else:
        print(markdown(found, len(asked)))
    return cli.DONE


def main(argv: Sequence[str] | None = None) -> int:
    return cli.run(command, argv)


if __name__ == "__main__":
    sys.exit(main())
