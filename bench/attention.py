"""python -m bench.attention: the attention of a pass over cached keys, over all slots by XLA and over those used by the kernel.

Before a time counts, its result is held against float32, and a query must come out the same, bit for bit, wherever in a round it
stands. The kernel (`domino_jax/cached_attention.py`) runs on GPUs in 16 bits. Elsewhere only XLA's is timed.
"""

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from bench.rows import collect, failures, refuse_impossible
from bench.timing import Variant, environment, headline, interleaved
from domino_jax import cached_attention, cli
from domino_jax.cached_attention import over_all_slots, over_used_slots
from domino_jax.engine import resolve_dtype
from domino_jax.errors import InputError

DEFAULT_CASES = ["1:2048:1024", "1:8192:1024", "1:32768:1024", "1:32768:30000", "8:2048:1024", "64:1024:512"]
CONVENTIONS = {
    "time": "milliseconds of the attention of all layers, each with keys and values of its own, projections left out; median of the "
    "repeats, each a loop of iterations dispatched one after the other and one wait, all variants in turns; a warm-up of three left out",
    "GB/s": "keys and values that are really used, over the time",
    "error": "largest difference from float32 attention over the same 16-bit inputs",
    "same anywhere": "outputs that are bit for bit the same when the query stands at another place of the round, of all that were moved",
}


@dataclass(frozen=True)
class Case:
    batch: int
    capacity: int
    used: int

    @classmethod
    def of(cls, text: str) -> "Case":
        try:
            batch, capacity, used = map(int, text.split(":"))
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text!r} is not batch:capacity:used") from None
        if batch < 1 or capacity % 64 or not 1 <= used <= capacity:
            raise argparse.ArgumentTypeError(f"{text!r}: expected rows, slots in 64s and at most as many used")
        return cls(batch, capacity, used)


@dataclass(frozen=True)
class Shape:
    layers: int
    kv_heads: int
    queries_per_kv_head: int
    head_dim: int
    positions: int


def implementations(query_BTKGH: Array, key_BKSH: Array) -> dict[str, Callable]:
    """Those that run here, (query, key, value, slot_BT) -> mixed values."""
    on_gpu = jax.default_backend() == "gpu" and cached_attention.has_kernel(query_BTKGH, key_BKSH)
    return {"all slots": over_all_slots} | ({"used slots": over_used_slots} if on_gpu else {})


def inputs(case: Case, shape: Shape, dtype: jnp.dtype) -> tuple[Array, list[Array], list[Array], Array]:
    """-> (query_BTKGH, keys and values of all layers [B, K, S, H], slot_BT: the last `positions` of those used)."""
    normal = jax.jit(lambda key, size: jax.random.normal(key, size, dtype), static_argnums=1)
    keys = jax.random.split(jax.random.key(0), 2 * shape.layers + 1)
    cached = case.batch, shape.kv_heads, case.capacity, shape.head_dim
    query = normal(keys[0], (case.batch, shape.positions, shape.kv_heads, shape.queries_per_kv_head, shape.head_dim))
    filled = [normal(key, cached) for key in keys[1:]]
    slot_T = jnp.arange(case.used - shape.positions, case.used)
    return query, filled[::2], filled[1::2], jnp.broadcast_to(slot_T, (case.batch, shape.positions))


def error(found: Array, query: Array, key: Array, value: Array, slot_BT: Array) -> float:
    with jax.default_matmul_precision("highest"):
        exact = over_all_slots(*(x.astype(jnp.float32) for x in (query, key, value)), slot_BT)
    return float(jnp.abs(found.astype(jnp.float32) - exact).max())


def same_anywhere(attention: Callable, query: Array, key: Array, value: Array, slot_BT: Array) -> float:
    """Share of outputs that keep every bit when the round starts later or earlier and the queries move within it accordingly."""
    T = query.shape[1]
    compiled, bits = jax.jit(attention), f"u{query.dtype.itemsize}"
    whole, kept, moved = np.asarray(compiled(query, key, value, slot_BT)).view(bits), 0, 0
    for shift in range(1, T):
        later = np.asarray(compiled(jnp.roll(query, -shift, 1), key, value, slot_BT + shift)).view(bits)
        same = later[:, : T - shift] == whole[:, shift:]
        kept, moved = kept + int(same.sum()), moved + same.size
    return kept / moved if moved else 1.0


def measure(shape: Shape, dtype: jnp.dtype, arguments: argparse.Namespace, **case: int) -> dict:
    """What a row of the table says, raw."""
    case = Case(**case)
    query, keys, values, slot_BT = inputs(case, shape, dtype)
    found = implementations(query, keys[0])

    def all_layers(attention: Callable) -> Callable:
        """Each layer's result is the next one's query: one after the other, as in a pass."""

        def run(query: Array, keys: list[Array], values: list[Array], slot_BT: Array) -> Array:
            for key, value in zip(keys, values, strict=True):
                query = attention(query, key, value, slot_BT)
            return query

        return jax.jit(run).lower(query, keys, values, slot_BT).compile()

    variants = {name: Variant(partial(all_layers(attention), query, keys, values, slot_BT)) for name, attention in found.items()}
    timings = interleaved(variants, arguments.repeats, arguments.iterations)
    used = 2 * shape.layers * case.batch * case.used * shape.kv_heads * shape.head_dim * dtype.itemsize
    one = query, keys[0], values[0], slot_BT
    return {
        "variants": {
            name: {
                "milliseconds": timing.repeats,
                "median": timing.median,
                "dispatch": timing.dispatch,
                "bytes_per_second": used / timing.median * 1e3,
                "error": error(jax.jit(found[name])(*one), *one),
                "same_anywhere": same_anywhere(found[name], *one),
            }
            for name, timing in timings.items()
        }
    }


def markdown(about: dict, rows: Sequence[dict]) -> str:
    lines = [f"{headline(about)}; {', '.join(f'{name} {size}' for name, size in about['shape'].items())}", ""]
    lines += ["| batch | capacity | used | | ms | GB/s | error | same anywhere |", "|---|---|---|---|---|---|---|---|"]
    for row in rows:
        sizes = [row["batch"], row["capacity"], row["used"]]
        if "error" in row:
            lines.append(f"| {' | '.join(map(str, sizes))} | {row['error']} |")
        for name, one in row.get("variants", {}).items():
            cells = [*sizes, name, f"{one['median']:.3f}", f"{one['bytes_per_second'] / 1e9:.3g}"]
            cells += [f"{one['error']:.1e}", f"{one['same_anywhere']:.2%}"]
            lines.append(f"| {' | '.join(map(str, cells))} |")
    if not any(name != "all slots" for row in rows for name in row.get("variants", {})):
        lines += ["", f"The kernel is not run: it needs a GPU and 16 bits, this is {about['device']} and {about['dtype']}."]
    return "\n".join([*lines, "", *(f"* {term}: {meaning}." for term, meaning in about["conventions"].items())])


def parser() -> cli.Parser:
    p = cli.Parser(prog="python -m bench.attention", description="Attention over cached keys: over all slots, and over those used.")
    p.add_argument(
        "--case", type=Case.of, nargs="+", default=[*map(Case.of, DEFAULT_CASES)], metavar="B:S:U",
        help=f"rows, cache slots a row, and how many are used; default {' '.join(DEFAULT_CASES)}",
    )  # fmt: skip
    sizes = {"layers": 36, "kv-heads": 8, "queries-per-kv-head": 4, "head-dim": 128, "positions": 16}
    for name, size in sizes.items():
        p.add_argument(
            f"--{name}", type=cli.number(1), default=size, metavar="N", help=f"default {size}, as Qwen3-8B verifies 15 proposals"
        )
    p.add_argument("--repeats", type=cli.number(1), default=6, metavar="N", help="interleaved measurements; default 6")
    p.add_argument("--iterations", type=cli.number(1), default=30, metavar="N", help="a measurement; default 30")
    p.add_argument("--json", type=Path, metavar="FILE", help="write everything measured; default none")
    p.add_argument("--debug", action="store_true", help="show tracebacks; default off")
    return p


def command(argv: Sequence[str] | None) -> int:
    arguments = parser().parse(argv)
    refuse_impossible(arguments)
    shape = Shape(arguments.layers, arguments.kv_heads, arguments.queries_per_kv_head, arguments.head_dim, arguments.positions)
    for case in arguments.case:
        if case.used < shape.positions:
            raise InputError(f"--case has {case.used} used slots, expected at least the {shape.positions} positions of a round")
    dtype = resolve_dtype("auto")
    about = environment("attention") | {"dtype": dtype.name, "shape": vars(shape), "conventions": CONVENTIONS}
    rows = collect("attention", [asdict(case) for case in arguments.case], partial(measure, shape, dtype, arguments), about, arguments)
    print(markdown(about, rows))
    failed = failures(rows)
    for what in failed:
        cli.say(f"FAIL: {what}")
    return cli.FAILED if failed else cli.DONE


def main(argv: Sequence[str] | None = None) -> int:
    return cli.run(command, argv)


if __name__ == "__main__":
    sys.exit(main())
