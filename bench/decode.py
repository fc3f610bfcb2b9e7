"""python -m bench.decode: what a round of speculative decoding costs, part by part, and how close each part is to the device's limits.

    python -m bench.decode --json OUT.json                                      Qwen3-8B's shapes, capacity 2048, half of it used
    python -m bench.decode --batch 1 --capacity 1024 4096 32768 --used 1000     what capacity costs that is not used
    python -m bench.decode --batch 1 8 --baseline torch                         beside rounds in PyTorch (`torch_rounds.py`)

Random weights, made on the device; with them nothing is accepted, so tokens a second are those of *given* acceptance lengths. The
rows are frozen, so that every iteration is the same work: the programs are the engine's own.
"""

import os

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # PyTorch may be in the same process; before jax is imported

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

from bench import parts, recorded
from bench.decode_tables import markdown
from bench.limits import Case, Rates, works
from bench.rows import keep, reason, refuse_impossible
from bench.timing import Variant, environment, interleaved, raw
from domino_jax import cli, memory, programs
from domino_jax.engine import DTYPES, Engine
from domino_jax.errors import InputError
from domino_jax.loop import Run
from domino_jax.programs import Shape
from tests.gpu.run import configs

LENGTHS = ("1", "2", "4", "6.06", "7.17", "16")  # 6.06 and 7.17: DFlash and Domino on Qwen3-8B at T = 0, as arXiv 2605.29707 reports
PROFILED = 3  # rounds
CONVENTIONS = {
    "time": "milliseconds; median of the repeats, each a loop of iterations dispatched one after the other and one wait, all parts in "
    "turns; a warm-up of three left out, and compilation (its seconds are in the JSON)",
    "block pass, base logits, rollout": "parts of the draft program, each compiled alone; the rollout has the base logits in it, as in "
    "`bench.rollout`",
    "draft, verify, step": "the engine's programs alone: block pass and rollout; a target pass over P + 1 positions with acceptance; over "
    "one, with no drafter",
    "round": "draft, then verify on its proposals, as the host loop dispatches them; sum: draft + verify",
    "host gap": "1 - sum / round; nothing where the sum is larger",
    "limit": "the larger of bytes / bandwidth and operations / matrix rate; bytes: weights read once, and the keys and values really "
    "used; operations: two a weight and position; of a round, its two programs' limits together. Both rates are measured in the same run: "
    "a sum over a large array, a large product",
    "of bandwidth": "those bytes over the time, as a share of the bandwidth measured",
    "tokens/s": "batch x acceptance length / round. Random weights accept nothing: the lengths are given (`--acceptance`), not measured, "
    "and the same for every implementation",
    "even at": "the acceptance length from which a round beats steps",
}


class Rounds:
    """The engine's programs on a batch of frozen rows, each `used` positions long."""

    def __init__(self, engine: Engine, case: Case, drafted: bool):
        shape = Shape.of(case.batch, case.capacity, 1)
        self.engine = engine
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
        run.draft_cache, proposals_BP = run.program(programs.draft, run.width)(*run.draft_arguments())
        return proposals_BP

    def verify(self) -> jax.Array:
        run = self.run
        run.state, _, report = run.program(programs.verify, run.width)(run.state, run.impossible_BP)
        return report

    def round(self) -> jax.Array:
        self.run.round({})
        return self.run.pending.pop().report

    def parts_of_draft(self) -> dict[str, Variant]:
        """Block pass, base logits and rollout, compiled here."""
        engine, run = self.engine, self.run
        modules = engine.drafter, engine.target.embedder
        compiled = partial(programs.compile_ahead, modules=modules, dtype=engine.dtype)
        block_pass = compiled(parts.block_pass, arguments=run.draft_arguments()[:-1], donate=[0])

        def start() -> jax.Array:
            run.draft_cache, hidden_BPD = block_pass(*run.draft_arguments()[:-1])
            return hidden_BPD

        hidden_BPD = start()
        base_logits = compiled(parts.base_logits, arguments=(hidden_BPD,))
        rollout = compiled(parts.rollout, arguments=(hidden_BPD, run.state.verified_B))
        return {
            "block pass": Variant(start),
            "base logits": Variant(lambda: base_logits(hidden_BPD)),
            "rollout": Variant(lambda: rollout(hidden_BPD, run.state.verified_B)),
        }

    def programs(self) -> dict[str, Variant]:
        return {name: Variant(getattr(self, name)) for name in ("draft", "verify", "round")}


def measure(engine: Engine, case: Case, rates: Rates, arguments: argparse.Namespace, theirs) -> dict:
    """One row of the tables, raw."""
    drafted, plain = Rounds(engine, case, True), Rounds(engine, case, False)
    variants = drafted.parts_of_draft() | drafted.programs() | {"step": Variant(plain.verify)}
    timings = interleaved(variants, arguments.repeats, arguments.iterations)
    took, needed = {name: timing.median for name, timing in timings.items()}, works(engine, case)
    least = {name: work.milliseconds(rates) for name, work in needed.items()}
    least["round"] = least["draft"] + least["verify"]
    moved = {name: work.bytes for name, work in needed.items()} | {"round": needed["draft"].bytes + needed["verify"].bytes}
    row = vars(case) | raw(timings) | {
        "compile_seconds": drafted.compiling | plain.compiling,
        "sum": took["draft"] + took["verify"],
        "limit": least,
        "over_limit": {name: took[name] / least[name] for name in took},
        "bytes": moved,
        "of_bandwidth": {name: 1e3 * moved[name] / took[name] / rates.bytes_per_second for name in took},
        "host_gap": max(0.0, 1 - (took["draft"] + took["verify"]) / took["round"]),
        "even_at": took["round"] / took["step"],
        "tokens_per_second": {name: 1e3 * case.batch * length / took["round"] for name, length in arguments.lengths.items()},
        "step_tokens_per_second": 1e3 * case.batch / took["step"],
    }  # fmt: skip
    if arguments.profile:
        profile(arguments.profile / f"batch{case.batch}_capacity{case.capacity}", drafted)
    del plain, variants  # the cache of the steps makes room for PyTorch's
    return row | (theirs.measure(case, drafted, arguments) if theirs else {})


def profile(directory: Path, rounds: Rounds) -> None:
    """A trace of a few rounds. Its scopes: draft (block_pass, base_logits, rollout), verify (layers, head, choice, acceptance)."""
    options = jax.profiler.ProfileOptions()
    options.python_tracer_level = 0  # Python's own calls would bury the programs
    jax.block_until_ready(rounds.round())
    with jax.profiler.trace(directory, profiler_options=options):
        for number in range(PROFILED):
            with jax.profiler.StepTraceAnnotation("round", step_num=number):
                jax.block_until_ready(rounds.round())


def lengths_of(asked: Sequence[str] | None, longest: int) -> dict[str, float]:
    """Acceptance lengths by name; of the default ones those that a round can reach."""
    if asked is None:
        return {text: float(text) for text in LENGTHS if float(text) <= longest}
    return dict(length_of(text, longest) for text in asked)


def length_of(text: str, longest: int) -> tuple[str, float]:
    """A number, or the mean of a recorded histogram."""
    try:
        name, length = text, float(text)
    except ValueError:
        length = float(recorded.shares_of_file(Path(text).expanduser(), longest) @ np.arange(1, longest + 1))
        name = f"{length:.2f} ({Path(text).name})"
    if not 1 <= length <= longest:
        raise InputError(f"--acceptance is {text}, expected acceptance lengths from 1 to {longest}")
    return name, length


def cases_of(arguments: argparse.Namespace, width: int) -> list[Case]:
    cases = []
    for capacity in arguments.capacity:
        used = capacity // 2 if arguments.used is None else arguments.used
        if not 1 <= used <= capacity - width:
            raise InputError(f"--used is {used}, expected 1 to {capacity - width} (capacity {capacity}, {width} positions a round)")
        cases += [Case(batch, capacity, used) for batch in arguments.batch]
    return cases


def excess(engine: Engine, case: Case) -> str | None:
    """Why a case is not measured: it would not fit. Steps have a cache of their own."""
    target, weights = engine.target.config, engine.models.weights
    need = memory.needed(target, engine.drafter.config, engine.dtype, weights, case.batch, case.capacity, engine.num_proposals)
    total = need.total + memory.cache_bytes(target, engine.dtype, case.batch, case.capacity)
    has = memory.device_bytes()
    return f"needs {memory.gigabytes(total)}, the device has {memory.gigabytes(has)}" if total > has else None


def parser() -> cli.Parser:
    p = cli.Parser(prog="python -m bench.decode", description="What a round and its parts cost, and how near the device's limits they are.")
    p.add_argument("--shapes", choices=["8b", "tiny"], default="8b", help="Qwen3-8B's with a 5-layer drafter, or tiny ones; default 8b")
    p.add_argument("--batch", type=int, nargs="+", default=[1, 8, 32, 64], metavar="N", help="rows; default 1 8 32 64")
    p.add_argument("--capacity", type=int, nargs="+", default=[2048], metavar="N", help="cache slots a row; default 2048")
    p.add_argument("--used", type=int, metavar="N", help="of them used; default half")
    p.add_argument("--num-proposals", type=int, metavar="P", help="verified a round; default block size - 1")
    p.add_argument(
        "--acceptance", nargs="+", metavar="X|FILE.json",
        help=f"acceptance lengths, or the mean of an acceptance_histogram as generate --stats json writes it; default {' '.join(LENGTHS)}",
    )  # fmt: skip
    p.add_argument("--dtype", choices=["auto", *DTYPES], default="auto", help="default bfloat16 on an accelerator, float32 on a CPU")
    p.add_argument("--baseline", choices=["torch"], help="time rounds in PyTorch too; default none")
    p.add_argument("--repeats", type=int, default=6, metavar="N", help="interleaved measurements; default 6")
    p.add_argument("--iterations", type=int, default=30, metavar="N", help="rounds a measurement; default 30")
    p.add_argument("--profile", type=Path, metavar="DIR", help=f"trace {PROFILED} rounds of each case with jax.profiler; default none")
    p.add_argument("--json", type=Path, metavar="FILE", help="write everything measured, after each case; default none")
    p.add_argument("--debug", action="store_true", help="show tracebacks; default off")
    return p


def command(argv: Sequence[str] | None) -> int:
    arguments = parser().parse(argv)
    refuse_impossible(arguments)
    for name in ("batch", "repeats", "iterations"):
        value = getattr(arguments, name)
        if (least := min(value if isinstance(value, list) else [value])) < 1:
            raise InputError(f"--{name} is {least}, expected at least 1")
    target, draft = configs(arguments.shapes == "tiny")
    width = (arguments.num_proposals or draft.block_size - 1) + 1
    cases, arguments.lengths = cases_of(arguments, width), lengths_of(arguments.acceptance, width)
    if arguments.profile:  # scopes are those of this code, also where the same program is cached under older names
        jax.config.update("jax_compilation_cache_include_metadata_in_key", True)
    engine = Engine.random(target, draft, jax.random.key(0), arguments.dtype, num_proposals=arguments.num_proposals)
    theirs = beside_torch(engine) if arguments.baseline else None
    if theirs and theirs.wrong:
        cli.say(f"FAIL: {theirs.wrong}")
        return cli.FAILED
    rates = measured_rates(engine)
    about = describe(engine, arguments, rates, theirs)
    for row in rows_of(engine, cases, rates, arguments, theirs, about["not_measured"]):
        about["rows"].append(row)
        keep(about, arguments.json)
    keep(about, arguments.json)  # what was not measured, too
    print(markdown(about))
    for case, why in about["not_measured"].items():
        cli.say(f"FAIL: {case}: {why}")
    return cli.FAILED if about["not_measured"] else cli.DONE


def beside_torch(engine: Engine):
    """The rounds in PyTorch, which is imported here alone."""
    from bench.torch_beside import Beside

    return Beside(engine)


def measured_rates(engine: Engine) -> Rates:
    on_accelerator = jax.default_backend() != "cpu"
    return Rates.measured(engine.dtype, 1 << (32 if on_accelerator else 26), 8192 if on_accelerator else 512)


def rows_of(engine: Engine, cases: Sequence[Case], rates: Rates, arguments, theirs, not_measured: dict[str, str]) -> Iterator[dict]:
    """A row for each case that can be measured; one that cannot costs no other."""
    for case in cli.progress("decode")(cases, len(cases)):
        if (why := excess(engine, case)) is not None:
            not_measured[str(case)] = why
            continue
        try:
            yield measure(engine, case, rates, arguments, theirs)
        except Exception as error:
            not_measured[str(case)] = reason(error, arguments.debug)


def describe(engine: Engine, arguments: argparse.Namespace, rates: Rates, theirs) -> dict:
    about = environment("decode") | {"dtype": engine.dtype.name, "shapes": arguments.shapes, "num_proposals": engine.num_proposals}
    about |= {"pool_size": engine.drafter.pool_size, "repeats": arguments.repeats, "iterations": arguments.iterations}
    about |= {"acceptance": arguments.lengths, "rates": vars(rates)}
    if theirs:
        about["torch_agreement"] = theirs.agreed
    return about | {"conventions": CONVENTIONS | (theirs.conventions if theirs else {}), "not_measured": {}, "rows": []}


def main(argv: Sequence[str] | None = None) -> int:
    return cli.run(command, argv)


if __name__ == "__main__":
    sys.exit(main())
