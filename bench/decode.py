"""python -m bench.decode: what a round of speculative decoding costs, part by part, and how close each part is to the device's limits.

Random weights, made on the device; with them nothing is accepted, so tokens a second are those of *given* acceptance lengths. The
rows are frozen, so that every iteration is the same work: the programs are the engine's own.
"""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

from bench.rows import collect, failures
from bench.timing import Timing, Variant, environment, interleaved
from domino_jax import cli, memory, programs
from domino_jax.config import DecoderConfig, DraftConfig, TargetConfig
from domino_jax.engine import DTYPES, Engine
from domino_jax.errors import InputError
from domino_jax.loop import Run
from domino_jax.programs import Shape
from tests.gpu.run import configs

LENGTHS = (1.0, 2.0, 4.0, 6.06, 7.17, 16.0)  # 6.06 and 7.17: DFlash and Domino on Qwen3-8B at T = 0, as arXiv 2605.29707 reports
CONVENTIONS = {
    "time": "milliseconds; median of the repeats, each a loop of iterations dispatched one after the other and one wait, all parts in "
    "turns; a warm-up of three left out, and compilation (its seconds are in the JSON)",
    "draft, verify, step": "the engine's programs alone: block pass, base logits and rollout; a target pass over P + 1 positions with "
    "acceptance; over one",
    "round": "draft, then verify on its proposals, as the host loop dispatches them",
    "host gap": "1 - (draft + verify) / round; nothing where the sum is larger",
    "limit": "the larger of bytes / bandwidth and operations / matrix rate; bytes: weights read once, and the keys and values really "
    "used; operations: two a weight and position. Both rates are measured in the same run: a sum over a large array, a large product",
    "tokens/s": "batch x acceptance length / round; acceptance lengths are given, not measured",
    "even at": "the acceptance length from which a round beats steps",
}


@dataclass(frozen=True)
class Case:
    batch: int
    capacity: int
    used: int


@dataclass(frozen=True)
class Rates:
    """What the device did in this run."""

    bytes_per_second: float
    operations_per_second: float

    @classmethod
    def measured(cls, dtype: jnp.dtype, size: int, side: int) -> "Rates":
        """By the sum of an array of `size` bytes and the product of two matrices of `side` x `side`."""
        array = jnp.ones(size // dtype.itemsize, dtype)
        matrix = jnp.ones((side, side), dtype)
        total, product = jax.jit(lambda a: a.sum(dtype=jnp.float32)), jax.jit(lambda a: a @ a)
        took = interleaved({"sum": Variant(lambda: total(array)), "product": Variant(lambda: product(matrix))}, 5, 10)
        return cls(array.nbytes / took["sum"].median * 1e3, 2 * side**3 / took["product"].median * 1e3)


class Rounds:
    """The engine's programs on a batch of frozen rows, each `used` positions long."""

    def __init__(self, engine: Engine, case: Case, drafted: bool):
        shape = Shape.of(case.batch, case.capacity, 1)
        self.run = Run(
            engine.target,
            engine.drafter if drafted else None,
            engine.dtype,
            shape,
            engine.num_proposals if drafted else 0,
            engine.executables,
        )
        self.compiling = {event.program: event.seconds for event in self.run.compile(())}
        self.run.state = replace(self.run.state, length_B=jnp.full(case.batch, case.used, jnp.int32))

    def draft(self) -> jax.Array:
        run = self.run
        run.draft_cache, proposals_BP = run.program(programs.draft, run.width)(*run._draft_arguments())
        return proposals_BP

    def verify(self) -> jax.Array:
        run = self.run
        run.state, _, report = run.program(programs.verify, run.width)(run.state, run.impossible_BP)
        return report

    def round(self) -> jax.Array:
        self.run.round({})
        return self.run.pending.pop().report


def weights_read(module: object, config: DecoderConfig) -> int:
    """Parameters that one pass reads: all but an embedding that is only looked up."""
    leaves = sum(leaf.size for leaf in jax.tree.leaves(module))
    untied = isinstance(config, TargetConfig) and not config.tie_word_embeddings
    return leaves - untied * config.vocab_size * config.hidden_size


def limits(engine: Engine, case: Case, rates: Rates) -> dict[str, float]:
    """Milliseconds below which each part cannot be, at these rates."""
    target, draft, size = engine.target.config, engine.drafter.config, engine.dtype.itemsize
    width = engine.num_proposals + 1

    def limit(parameters: int, config: DecoderConfig, positions: int) -> float:
        read = parameters * size + memory.cache_bytes(config, engine.dtype, case.batch, case.used)
        return 1e3 * max(read / rates.bytes_per_second, 2 * parameters * case.batch * positions / rates.operations_per_second)

    target_weights, head = weights_read(engine.target, target), target.vocab_size * target.hidden_size
    found = {
        "draft": limit(weights_read(engine.drafter, draft) - pooled_away(engine, draft) + head, draft, width),
        "verify": limit(target_weights, target, width),
        "step": limit(target_weights, target, 1),
    }
    return found | {"round": found["draft"] + found["verify"]}


def pooled_away(engine: Engine, draft: DraftConfig) -> int:
    """Projector rows that the candidate pool leaves unread."""
    pool = engine.drafter.pool_size
    return (draft.draft_vocab_size - pool) * draft.domino.emb_dim if draft.domino and 0 < pool < draft.draft_vocab_size else 0


def measure(engine: Engine, rates: Rates, arguments: argparse.Namespace, **case: int) -> dict:
    """What a row of the table says, raw."""
    case = Case(**case)
    drafted, plain = Rounds(engine, case, True), Rounds(engine, case, False)
    parts = {"draft": drafted.draft, "verify": drafted.verify, "round": drafted.round, "step": plain.verify}
    timings = interleaved({name: Variant(start) for name, start in parts.items()}, arguments.repeats, arguments.iterations)
    took = {name: timing.median for name, timing in timings.items()}
    least = limits(engine, case, rates)
    return {
        "compile_seconds": drafted.compiling | plain.compiling,
        "milliseconds": {name: timing.repeats for name, timing in timings.items()},
        "dispatch": {name: timing.dispatch for name, timing in timings.items()},
        "median": took,
        "spread": {name: timing.spread for name, timing in timings.items()},
        "limit": least,
        "over_limit": {name: took[name] / least[name] for name in took},
        "host_gap": host_gap(timings),
        "even_at": took["round"] / took["step"],
        "tokens_per_second": {str(length): 1e3 * case.batch * length / took["round"] for length in arguments.acceptance},
        "step_tokens_per_second": 1e3 * case.batch / took["step"],
    }


def host_gap(timings: dict[str, Timing]) -> float:
    return max(0.0, 1 - (timings["draft"].median + timings["verify"].median) / timings["round"].median)


def markdown(about: dict, rows: Sequence[dict]) -> str:
    rates = about["rates"]
    lines = [
        f"{about['device']}, {about['dtype']}, jax {about['versions']['jax']}; {rates['bytes_per_second'] / 1e12:.3g} TB/s, "
        f"{rates['operations_per_second'] / 1e12:.3g} TFLOP/s",
        "",
    ]
    columns = ["batch", "capacity", "used", "draft ms", "verify ms", "round ms", "host gap", "step ms", "even at"]
    columns += [f"tokens/s at {length:g}" for length in about["acceptance"]] + ["tokens/s of steps"]
    lines += [f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]
    for row in rows:
        cells = [row["batch"], row["capacity"], row["used"]]
        if "error" in row:
            lines.append(f"| {' | '.join(map(str, cells))} | {row['error']} |")
            continue
        cells += [f"{row['median'][name]:.3f} ({row['over_limit'][name]:.2f})" for name in ("draft", "verify", "round")]
        cells += [f"{row['host_gap']:.1%}", f"{row['median']['step']:.3f} ({row['over_limit']['step']:.2f})", f"{row['even_at']:.2f}"]
        cells += [f"{speed:,.0f}" for speed in (*row["tokens_per_second"].values(), row["step_tokens_per_second"])]
        lines.append(f"| {' | '.join(map(str, cells))} |")
    lines += ["", "In brackets: times the limit."]
    return "\n".join([*lines, "", *(f"* {term}: {meaning}." for term, meaning in about["conventions"].items())])


def parser() -> cli.Parser:
    p = cli.Parser(prog="python -m bench.decode", description="What a round and its parts cost, and how near the device's limits they are.")
    p.add_argument("--shapes", choices=["8b", "tiny"], default="8b", help="Qwen3-8B's with a 5-layer drafter, or tiny ones; default 8b")
    p.add_argument("--batch", type=int, nargs="+", default=[1, 8, 32, 64], metavar="N", help="rows; default 1 8 32 64")
    p.add_argument("--capacity", type=int, nargs="+", default=[2048], metavar="N", help="cache slots a row; default 2048")
    p.add_argument("--used", type=int, metavar="N", help="of them used; default half")
    p.add_argument("--num-proposals", type=int, metavar="P", help="verified a round; default block size - 1")
    p.add_argument("--acceptance", type=float, nargs="+", default=list(LENGTHS), metavar="X", help="lengths; default 1 2 4 6.06 7.17 16")
    p.add_argument("--dtype", choices=["auto", *DTYPES], default="auto", help="default bfloat16 on an accelerator, float32 on a CPU")
    p.add_argument("--repeats", type=int, default=6, metavar="N", help="interleaved measurements; default 6")
    p.add_argument("--iterations", type=int, default=30, metavar="N", help="of each part a measurement; default 30")
    p.add_argument("--json", type=Path, metavar="FILE", help="write everything measured; default none")
    p.add_argument("--debug", action="store_true", help="show tracebacks; default off")
    return p


def cases_of(arguments: argparse.Namespace, width: int) -> list[Case]:
    """Raises InputError for what does not fit into the cache."""
    cases = []
    for capacity in arguments.capacity:
        used = capacity // 2 if arguments.used is None else arguments.used
        if not 1 <= used <= capacity - width:
            raise InputError(f"--used is {used}, expected 1 to {capacity - width} (capacity {capacity}, {width} positions a round)")
        cases += [Case(batch, capacity, used) for batch in arguments.batch]
    return cases


def command(argv: Sequence[str] | None) -> int:
    arguments = parser().parse(argv)
    for name in ("batch", "repeats", "iterations", "acceptance"):
        least = min(np.atleast_1d(getattr(arguments, name)))
        if least < 1:
            raise InputError(f"--{name} is {least}, expected at least 1")
    target, draft = configs(arguments.shapes == "tiny")
    cases = cases_of(arguments, (arguments.num_proposals or draft.block_size - 1) + 1)
    engine = Engine.random(target, draft, jax.random.key(0), arguments.dtype, num_proposals=arguments.num_proposals)
    on_accelerator = jax.default_backend() != "cpu"
    rates = Rates.measured(engine.dtype, 1 << (32 if on_accelerator else 26), 8192 if on_accelerator else 512)
    about = environment() | {"dtype": engine.dtype.name, "shapes": arguments.shapes, "num_proposals": engine.num_proposals}
    about |= {"acceptance": arguments.acceptance, "rates": vars(rates), "conventions": CONVENTIONS}
    rows = collect("decode", [asdict(case) for case in cases], partial(measure, engine, rates, arguments), about, arguments)
    print(markdown(about, rows))
    failed = failures(rows)
    for what in failed:
        cli.say(f"FAIL: {what}")
    return cli.FAILED if failed else cli.DONE


def main(argv: Sequence[str] | None = None) -> int:
    return cli.run(command, argv)


if __name__ == "__main__":
    sys.exit(main())
