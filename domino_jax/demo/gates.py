"""python -m domino_jax.demo.gates: holds the shipped pair to its figures, on problems it never saw. Exit status 1 if one is missed.

Everything is measured here and now: 200 problems of the test split in float32, greedy, and 32 of them with a pool of 64 ids (about
the share of the vocabulary that the default pool has of Qwen3's) and with the whole vocabulary.
"""

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict

import numpy as np

from domino_jax import checkpoint, cli, demo
from domino_jax.demo import problems
from domino_jax.engine import Engine, open_pair
from domino_jax.evaluate import compare, decode
from domino_jax.events import Prompt
from domino_jax.figures import Answers, Figures, Way
from domino_jax.tables import one_set

COUNT, FEW, SMALL_POOL = 200, 32, 64


def measure(count: int) -> tuple[list[Figures], dict[int, list]]:
    """-> (target-only, DFlash, Domino on `count` test problems; the results of the first FEW by pool size)."""
    pairs = {path: open_pair(demo.TARGET, path, "float32") for path in (demo.DFLASH, demo.DRAFT)}
    found, options = list(problems.generate("test", count)), {"batch_size": 8, "max_new_tokens": 256}
    engine = pairs[demo.DRAFT].load().with_drafter(None)
    asked = [engine.prompt(problem.question) for problem in found]
    ways = [way(engine, asked, options), *(way(with_pool(engine, pair.draft), asked, options) for pair in pairs.values())]
    domino = pairs[demo.DRAFT].draft
    pools = {
        size: decode(with_pool(engine, domino, size).stream(asked[:FEW], **options), FEW, f"pool {size}")[0] for size in (SMALL_POOL, 0)
    }
    return compare(ways, [[problem.answer for problem in found]]), pools


def way(engine: Engine, asked: list[Prompt], options: dict) -> Way:
    """The answers of this engine to all problems."""
    name, kind, width = (engine.drafter.kind, engine.drafter.kind, engine.num_proposals) if engine.drafter else ("target-only", "none", 0)
    results, seconds = decode(engine.stream(asked, **options), len(asked), name)
    return Way(name, kind, width, [Answers([[result] for result in results], seconds)])


def with_pool(engine: Engine, draft: checkpoint.Checkpoint, pool_size: int = 2048) -> Engine:
    return engine.with_drafter(checkpoint.load(draft, engine.dtype, pool_size=pool_size))


def gates(rows: list[Figures], pools: dict[int, list], count: int) -> list[tuple[str, bool, str]]:
    """(what must hold, whether it does, what was found)."""
    plain, _, domino = rows
    means = {size: np.mean([length for row in results for length in row.acceptance_lengths]) for size, results in pools.items()}
    scores, mean = f"{plain.score}, {domino.score}", domino.acceptance_length
    ratio = means[SMALL_POOL] / means[0]
    same = sum(a.output_ids == b.output_ids for a, b in zip(pools[SMALL_POOL], pools[0], strict=True))
    low, high = domino.ratio_interval
    return [
        ("right answers, target-only and Domino, >= 0.90 and the same", plain.score == domino.score >= 0.9, scores),
        ("mean acceptance length of Domino > 4.5", mean > 4.5, f"{mean:.2f}"),
        ("Domino over DFlash >= 1.12, interval above 1", domino.ratio >= 1.12 and low > 1, f"{domino.ratio:.2f} [{low:.2f}, {high:.2f}]"),
        (f"pool of {SMALL_POOL} over the vocabulary: acceptance >= 0.99", ratio >= 0.99, f"{ratio:.4f}"),
        (f"the same output ids with both, {FEW} of {FEW}", same == FEW, f"{same}"),
        (f"outputs equal to target-only, {count} of {count}", domino.equal == count, f"{domino.equal}"),
    ]


def command(argv: Sequence[str] | None) -> int:
    p = cli.Parser(prog="python -m domino_jax.demo.gates", description="Holds the shipped pair to its figures.")
    p.add_argument("--json", action="store_true", help="print the figures as JSON; default a table")
    p.add_argument("--debug", action="store_true", help="show tracebacks; default off")
    arguments = p.parse(argv)
    rows, pools = measure(COUNT)
    held = gates(rows, pools, COUNT)
    if arguments.json:
        print(json.dumps({"runs": [asdict(row) for row in rows], "gates": held}, indent=1))
    else:
        print(one_set(rows) + "\n")
        for name, passed, found in held:
            print(f"{'ok  ' if passed else 'FAIL'}  {name}: {found}")
    return cli.DONE if all(passed for _, passed, _ in held) else cli.FAILED


if __name__ == "__main__":
    sys.exit(cli.run(command, None))
