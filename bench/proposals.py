"""python -m bench.proposals: how many proposals a round are fastest, by batch size; `generate --num-proposals auto` reads the table.

    python -m bench.proposals --out OUT.json                                       the shipped pair, on word problems
    python -m bench.proposals --target T --draft D --prompts mine=FILE.jsonl       a pair of yours; the table goes beside D's weights

The drafter's block pass keeps its full width; fewer proposals shorten the rollout and narrow the verify pass. What each figure means
stands in CONVENTIONS, in `--help` and in every table.
"""

import argparse
import json
import shlex
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import fmean, median

from bench.prompt_sets import SETS, read_set
from bench.serve import Case, cases_of, serve, warm_up
from bench.timing import environment
from domino_jax import checkpoint, cli, demo, proposals
from domino_jax.directories import require_writable, write_file
from domino_jax.drafter import DEFAULT_POOL_SIZE, Drafter
from domino_jax.engine import DTYPES, Engine, Pair, open_pair
from domino_jax.errors import InputError
from domino_jax.events import Result
from domino_jax.fields import read_json
from domino_jax.proposals import TABLE

REQUESTS = 4  # for each row of a batch
NUMBERS = (3, 7, 15)
CONVENTIONS = {
    "num_proposals": "a round; 0: the step program, no drafter",
    "tokens_per_second": "new tokens over the seconds from the first dispatch to the last token, greedy, all prompts waiting from the "
    "start; the median of `repeats`, which take all numbers in turns; compilation and a warm-up left out",
    "acceptance_length": "accepted + bonus, mean over all rounds, before a stop or the budget cuts the last; of a step, 1",
    "even_at": "the acceptance length at which rounds are as fast as steps: the one found x tokens/s of steps / tokens/s of rounds",
}


# Measuring


def drafters_of(pair: Pair, drafter: Drafter, numbers: Iterable[int]) -> dict[int, Drafter | None]:
    """By the number of proposals: none, then one for each of `numbers`. They share their weights."""
    weights = checkpoint.leaves(drafter)

    def proposing(number: int) -> Drafter:
        return checkpoint.assemble(checkpoint.abstract(pair.draft.config, pair.dtype, **pair.options | {"num_proposals": number}), weights)

    return {0: None} | {number: proposing(number) for number in numbers}


def warmed(engine: Engine, drafters: Mapping[int, Drafter | None], case: Case) -> dict[int, Engine]:
    """An engine for each drafter, compiled and run. Each takes over what the one before it has compiled of the target."""
    engines = {}
    for number, drafter in drafters.items():
        engine = engines[number] = engine.with_drafter(drafter)
        warm_up(engine, case, label(number, case))
    return engines


def label(number: int, case: Case) -> str:
    return f"batch {case.slots}, {number or 'no'} proposals"


def measure(engines: Mapping[int, Engine], case: Case, repeats: int) -> list[dict]:
    """The figures of each engine, by CONVENTIONS."""
    rates, lengths = {number: [] for number in engines}, {}
    for _ in range(repeats):
        for number, engine in engines.items():
            results, seconds = serve(engine, case, case.asked, label(number, case))
            rates[number].append(sum(len(result.output_ids) for result in results) / seconds)
            lengths[number] = acceptance_length(results)
            cli.say(f"{label(number, case)}: {rates[number][-1]:,.0f} tokens/s")
    return [figures(case.slots, number, rates[number], lengths[number], rates[0]) for number in engines]


def acceptance_length(results: Iterable[Result]) -> float | None:
    """None where there was no round."""
    lengths = [length for result in results for length in result.acceptance_lengths]
    return fmean(lengths) if lengths else None


def figures(batch_size: int, number: int, rates: Sequence[float], length: float | None, steps: Sequence[float]) -> dict:
    return {
        "batch_size": batch_size,
        "num_proposals": number,
        "tokens_per_second": median(rates),
        "acceptance_length": length,
        "even_at": length and length * median(steps) / median(rates),
        "repeats": rates,
    }


# The table


def earlier(out: Path, pair: Pair) -> list[dict]:
    """What the table holds already, as it stands. Raises InputError for a file that is none."""
    if not out.exists():
        return []
    proposals.read(out, pair.draft.config.max_proposals)
    return read_json(out)["rows"]


def merged(rows: Sequence[dict], measured: Sequence[dict]) -> list[dict]:
    """In order. What was measured before on the same device, in the same dtype and at the same batch size gives way."""

    def place(row: dict) -> tuple[str, str, int]:
        return row["device"], row["dtype"], row["batch_size"]

    again = {place(row) for row in measured}
    kept = [row for row in rows if place(row) not in again]
    return sorted([*kept, *measured], key=lambda row: (*place(row), row["num_proposals"]))


def write(path: Path, rows: Sequence[dict]) -> None:
    """A row a line."""
    lines = ",\n".join("  " + json.dumps(row) for row in rows)
    write_file(path, json.dumps({"conventions": CONVENTIONS}, indent=1).removesuffix("\n}") + f',\n "rows": [\n{lines}\n ]\n}}\n')


def markdown(rows: Sequence[dict]) -> str:
    steps = {row["batch_size"]: row["tokens_per_second"] for row in rows if not row["num_proposals"]}
    lines = ["| batch size | proposals | tokens/s | over steps | acceptance length | even at |", "|---" * 6 + "|"]
    for row in rows:
        size, number, rate = row["batch_size"], row["num_proposals"], row["tokens_per_second"]
        length, even = ("" if row[name] is None else f"{row[name]:.2f}" for name in ("acceptance_length", "even_at"))
        of_rounds = [f"{rate / steps[size]:.2f} x", length, even] if number else [""] * 3
        lines.append(f"| {' | '.join(map(str, [size, number or 'none', f'{rate:,.0f}', *of_rounds]))} |")
    return "\n".join(lines)


# The command


def parser() -> cli.Parser:
    conventions = "\n".join(f"  {term:18} {meaning}" for term, meaning in CONVENTIONS.items())
    p = cli.Parser(
        prog="python -m bench.proposals",
        description="How many proposals a round are fastest, by batch size: the table of generate --num-proposals auto.",
        epilog=f"conventions:\n{conventions}\nthe table is written after each batch size\n"
        "exit status: 0 done, 1 failed, 2 bad input, 130 interrupted",
    )
    p.add_argument("--target", metavar="PATH", help="directory or hub id of the target; default the shipped pair")
    p.add_argument("--draft", metavar="PATH", help="the same of its drafter")
    p.add_argument("--prompts", default="problems", metavar="NAME[=FILE.jsonl]", help=f"default problems; {' or '.join(SETS)}, or a file's")
    p.add_argument("--batch-size", nargs="+", type=cli.number(1), default=[1, 8], metavar="N", help="rows decoded together; default 1 8")
    p.add_argument(
        "--num-proposals",
        nargs="+",
        type=cli.number(1),
        metavar="P",
        help=f"default block_size - 1, and of {' '.join(map(str, NUMBERS))} what is less",
    )
    p.add_argument("--requests", type=cli.number(1), metavar="N", help=f"prompts decoded; default {REQUESTS} for each row of a batch")
    p.add_argument("--max-new-tokens", type=cli.number(1), default=128, metavar="N", help="where a prompt has no budget; default 128")
    p.add_argument("--pool-size", type=cli.number(0), default=DEFAULT_POOL_SIZE, metavar="K", help=f"default {DEFAULT_POOL_SIZE}, 0: all")
    p.add_argument("--dtype", choices=["auto", *DTYPES], default="auto", help="default auto: bfloat16 on an accelerator, else float32")
    p.add_argument("--repeats", type=cli.number(1), default=3, metavar="N", help="measurements of each number, in turns; default 3")
    p.add_argument("--out", type=Path, metavar="FILE.json", help=f"the table, added to; default {TABLE} in the drafter's directory")
    p.add_argument("--debug", action="store_true", help="show tracebacks; default off")
    return p


def opened(arguments: argparse.Namespace) -> Pair:
    """The pair asked for, with as many proposals as will be measured at most."""
    if (arguments.target is None) != (arguments.draft is None):
        raise InputError("one of --target and --draft is given, expected both or neither")
    most = max(arguments.num_proposals or (), default=None)
    return open_pair(arguments.target or demo.TARGET, arguments.draft or demo.DRAFT, arguments.dtype, most, arguments.pool_size)


def cases(arguments: argparse.Namespace, pair: Pair) -> list[Case]:
    """One for each batch size. Raises InputError for what could not be served."""
    found = []
    for size in dict.fromkeys(arguments.batch_size):
        name, asked = read_set(arguments.prompts, pair.text, arguments.requests or REQUESTS * size, seed=0)
        found += cases_of(name, asked, [size], arguments.max_new_tokens)
    for case in found:
        pair.plan(case.asked, batch_size=case.slots, max_context=case.max_context)
    return found


def numbers(arguments: argparse.Namespace, pair: Pair) -> list[int]:
    return sorted({*(arguments.num_proposals or (number for number in NUMBERS if number < pair.num_proposals)), pair.num_proposals})


def context(pair: Pair, argv: Sequence[str]) -> dict:
    """What the figures of a row depend on."""
    around = environment("proposals")
    return {
        "device": proposals.device(),
        "dtype": pair.dtype.name,
        "jax": around["versions"]["jax"],
        "commit": around["commit"],
        "command": shlex.join(["python", "-m", "bench.proposals", *argv]),
    }


def command(argv: Sequence[str] | None) -> int:
    arguments = parser().parse(argv)
    pair = opened(arguments)
    out = arguments.out or pair.draft.directory / TABLE
    rows = earlier(out, pair)
    require_writable(out)
    asked = cases(arguments, pair)
    about = context(pair, sys.argv[1:] if argv is None else argv)
    engine = pair.load(cli.transfer("loading"))
    drafters, measured = drafters_of(pair, engine.drafter, numbers(arguments, pair)), []
    for case in asked:
        measured += [row | about for row in measure(warmed(engine, drafters, case), case, arguments.repeats)]
        write(out, merged(rows, measured))
    print(markdown(measured))
    return cli.DONE


def main(argv: Sequence[str] | None = None) -> int:
    return cli.run(command, argv)


if __name__ == "__main__":
    sys.exit(main())
