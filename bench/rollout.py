"""python -m bench.rollout: what the Domino rollout costs, alone and beside the published design in PyTorch.

One rollout turns the hidden states of a block into its proposals: base logits, candidate pool, the walk. Weights are random, made on
the device. Every implementation's proposals are checked against float32: where one is not the best token given those before it, the
best must be no more than a few bfloat16 steps better.
"""

import os

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # PyTorch is in the same process; before jax is imported

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx
from jax import Array

from bench import ladder
from bench.rows import collect, failures, refuse_impossible
from bench.timing import Variant, environment, headline, interleaved, raw
from domino_jax import checkpoint, cli, domino
from domino_jax.config import DraftConfig
from domino_jax.domino import DominoHead
from domino_jax.drafter import looks_up
from domino_jax.engine import DTYPES, resolve_dtype
from domino_jax.errors import InputError
from domino_jax.pool import by_search

SHAPES = {
    "8b": dict(hidden_size=4096, vocab_size=151936, gru_hidden_dim=1024, emb_dim=256, block_size=16),
    "small": dict(hidden_size=256, vocab_size=8192, gru_hidden_dim=128, emb_dim=64, block_size=16),
}
STEPS = 4  # bfloat16 steps that a proposal may lie below the best: base logits and inner values are both rounded
CONVENTIONS = {
    "time": "milliseconds of one rollout of block_size - 1 proposals; median of the repeats, each a loop of iterations dispatched one "
    "after the other and one wait, all variants in turns; a warm-up of three left out, and compilation (its seconds are in the JSON)",
    "spread": "(largest - smallest) / median of the repeats",
    "over base": "time over that of the base logits alone (hidden states times language-model head)",
    "speed-up": "PyTorch's time over ours; on a GPU PyTorch runs in a CUDA graph, on a CPU op by op",
    "agreement": "share of proposals that are the same; then the furthest any proposal lies below the best in float32, given the ones "
    "before it, in steps of bfloat16 at the best logit",
}


@dataclass(frozen=True)
class Inputs:
    head: DominoHead
    embed_VD: Array
    head_VD: Array
    hidden_BPD: Array
    verified_B: Array

    @classmethod
    def random(cls, shape: dict, batch: int, dtype: jnp.dtype, seed: int = 0) -> "Inputs":
        D, V, P = shape["hidden_size"], shape["vocab_size"], shape["block_size"] - 1
        config = DraftConfig.from_dict(draft_config(shape))
        keys = jax.random.split(jax.random.key(seed), 4)
        return cls(
            DominoHead(config, dtype, rngs=nnx.Rngs(seed)),
            jax.random.normal(keys[0], (V, D), dtype),
            jax.random.normal(keys[1], (V, D), dtype) * D**-0.5,
            jax.random.normal(keys[2], (batch, P, D), dtype),
            jax.random.randint(keys[3], (batch,), 0, V),
        )

    @property
    def arrays(self) -> tuple:
        return self.head, self.embed_VD, self.head_VD, self.hidden_BPD, self.verified_B


def draft_config(shape: dict) -> dict:
    """A config.json with these sizes; the backbone's are of no account here."""
    sizes = dict(intermediate_size=64, num_hidden_layers=1, num_attention_heads=1, head_dim=64, rope_theta=1e6)
    inner = dict(mask_token_id=0, target_layer_ids=[0], projector_type="domino", pure_draft_prefix_len=1, shift_label=True)
    return dict(shape, **sizes, dflash_config=inner)


def ours(pool_size: int) -> Callable:
    """The package's rollout, base logits included, with a table of GRU inputs or without."""

    def rollout(head, embed_VD, head_VD, hidden_BPD, verified_B, table_V3R=None):
        def gru_input(ids):
            return head.gru_input(jnp.take(embed_VD, ids, axis=0)) if table_V3R is None else domino.looked_up(table_V3R, ids)

        base_BPV = jnp.einsum("BPD,VD->BPV", hidden_BPD, head_VD)
        return domino.rollout(head, gru_input, base_BPV, hidden_BPD, verified_B, 1, pool_size)

    return rollout


def base_logits(head, embed_VD, head_VD, hidden_BPD, verified_B) -> Array:
    return jnp.einsum("BPD,VD->BPV", hidden_BPD, head_VD)


def compiled(function: Callable, arguments: tuple, dtype: jnp.dtype) -> Variant:
    """Flattened once, as the engine does it: what is timed is the program."""
    began = time.perf_counter()
    with jax.default_matmul_precision("highest" if dtype == jnp.float32 else "default"):
        leaves, structure = jax.tree.flatten(arguments)
        program = jax.jit(lambda *flat: function(*jax.tree.unflatten(structure, flat))).lower(*leaves).compile()
    return Variant(lambda: program(*leaves), compiling=time.perf_counter() - began)


def rungs(inputs: Inputs, table_V3R: Array, pool_size: int, dtype: jnp.dtype) -> dict[str, Variant]:
    """The ladder's variants."""
    tabled = (inputs.head, table_V3R, *inputs.arrays[2:])
    return {
        "inside": Variant(lambda: eager(partial(ladder.plain, one_matmul=False), inputs.arrays)),
        "one matmul": Variant(lambda: eager(partial(ladder.plain, one_matmul=True), inputs.arrays)),
        "compiled": compiled(partial(ladder.plain, one_matmul=True), inputs.arrays, dtype),
        "feedback": compiled(partial(ladder.feedback, pool_size=0), tabled, dtype),
        "pool": compiled(partial(ladder.feedback, pool_size=pool_size), tabled, dtype),
    }


def eager(function: Callable, arguments: tuple) -> Array:
    with jax.disable_jit():
        return function(*arguments)


@partial(jax.jit, static_argnums=2)
def steps_below_best(inputs: tuple, proposals_BP: Array, pool_size: int) -> Array:
    """How far each proposal lies below the best token in float32, given the proposals before it, in bfloat16 steps -> [B, P]."""
    head, embed_VD, head_VD, hidden_BPD, verified_B = jax.tree.map(lambda a: a.astype(jnp.float32) if a.ndim > 1 else a, inputs)
    base_BPV = jnp.einsum("BPD,VD->BPV", hidden_BPD, head_VD)
    read_BP = jnp.concatenate([verified_B[:, None], proposals_BP[:, :-1]], 1)
    state_BR = jnp.zeros((len(verified_B), head.recurrent_3RR.shape[-1]), jnp.float32)
    logits = []
    for j in range(proposals_BP.shape[1]):
        state_BR = head.read(embed_VD[read_BP[:, j]], state_BR)
        inner_BE = jax.nn.silu(jnp.concatenate([hidden_BPD[:, j], state_BR], -1) @ head.w1_EX[...].T)
        logits.append(base_BPV[:, j] + (inner_BE @ head.w2_VE[...].T if j else 0))
    logits_BPV = jnp.stack(logits, 1)
    if 0 < pool_size < base_BPV.shape[-1]:  # scored as the implementations score it, in the dtype of the weights
        scored_BPV = jnp.einsum("BPD,VD->BPV", inputs[3], inputs[2])
        pool_BC = by_search(scored_BPV, pool_size, 1)
        rows_B1 = jnp.arange(len(pool_BC))[:, None]
        outside_BV = jnp.ones(base_BPV.shape[::2], bool).at[rows_B1, pool_BC].set(False)
        outside_BV = outside_BV.at[rows_B1, proposals_BP].set(False)  # another may break a tie at the pool's edge otherwise
        logits_BPV = jnp.where(outside_BV[:, None] & (jnp.arange(proposals_BP.shape[1]) > 0)[:, None], -jnp.inf, logits_BPV)
    best_BP = logits_BPV.max(-1)
    chosen_BP = jnp.take_along_axis(logits_BPV, proposals_BP[..., None], -1)[..., 0]
    return (best_BP - chosen_BP) / (2.0 ** (jnp.floor(jnp.log2(jnp.abs(best_BP))) - 7))


def measure(shape: dict, batch: int, pool_size: int, dtype: jnp.dtype, arguments: argparse.Namespace) -> dict:
    """What a row of the table says, raw."""
    inputs = Inputs.random(shape, batch, dtype)
    table_V3R = jax.jit(DominoHead.input_table)(inputs.head, inputs.embed_VD) if looks_up() or arguments.ladder else None
    variants = {
        "base logits": compiled(base_logits, inputs.arrays, dtype),
        "ours": compiled(ours(pool_size), (*inputs.arrays, table_V3R if looks_up() else None), dtype),
    }
    if arguments.ladder:
        variants |= rungs(inputs, table_V3R, pool_size, dtype)
    proposals = {name: np.asarray(variant.start()) for name, variant in variants.items() if name != "base logits"}
    if arguments.baseline == "torch":
        from bench import torch_baseline

        baseline = torch_baseline.Rollout(*inputs.arrays, pool_size)
        proposals["torch"] = baseline().cpu().numpy().astype(np.int32)
        variants["torch"] = torch_baseline.captured(baseline)
    timings = interleaved(variants, arguments.repeats, arguments.iterations)
    found = {}
    for name, theirs in proposals.items():
        pool = 0 if name in ladder.RUNGS[:-1] else pool_size
        below_BP = np.asarray(steps_below_best(inputs.arrays, jnp.asarray(theirs), pool))
        found[name] = {"same": float((theirs == proposals["ours"]).mean()), "steps": float(below_BP.max())}
    return {
        "compile_seconds": {name: variant.compiling for name, variant in variants.items() if variant.compiling is not None},
        "agreement": found,
    } | raw(timings)


def markdown(about: dict, rows: Sequence[dict]) -> str:
    """The table and what it means."""
    lines = [f"{headline(about)}; {', '.join(f'{name} {size}' for name, size in about['shape'].items())}", ""]
    measured = next((row["median"] for row in rows if "median" in row), ())
    beside_torch = "torch" in measured
    names = [name for name in measured if name not in ("base logits", "ours", "torch")]
    columns = ["batch", "pool", "base logits ms", "ours ms", "over base"] + ["torch ms", "speed-up", "agreement"] * beside_torch
    columns += [f"{name} ms" for name in names]
    lines += [f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]
    for row in rows:
        cells = [row["batch"], row["pool_size"] or "all"]
        if "error" in row:
            lines.append(f"| {' | '.join(map(str, cells))} | {row['error']} |")
            continue
        took = row["median"]
        cells += [f"{took['base logits']:.3f}", spread(row, "ours"), f"{took['ours'] / took['base logits']:.2f}"]
        if beside_torch:
            agreed = row["agreement"]["torch"]
            steps = max(found["steps"] for found in row["agreement"].values())
            cells += [spread(row, "torch"), f"{took['torch'] / took['ours']:.2f}", f"{agreed['same']:.1%}; {steps:.1f}"]
        cells += [f"{took[name]:.3f}" for name in names]
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join([*lines, "", *(f"* {term}: {meaning}." for term, meaning in about["conventions"].items())])


def spread(row: dict, name: str) -> str:
    return f"{row['median'][name]:.3f} ({row['spread'][name]:.0%})"


def shape_of(arguments: argparse.Namespace) -> dict:
    """The sizes asked for, or a checkpoint's."""
    if arguments.draft is None:
        return SHAPES[arguments.shapes]
    config = checkpoint.open_draft(arguments.draft).config
    if config.domino is None:
        raise InputError(f"--draft {arguments.draft} is a DFlash drafter, expected one with a Domino head")
    sizes = dict(hidden_size=config.hidden_size, vocab_size=config.vocab_size, block_size=config.block_size)
    return sizes | dict(gru_hidden_dim=config.domino.gru_hidden_dim, emb_dim=config.domino.emb_dim)


def parser() -> cli.Parser:
    p = cli.Parser(prog="python -m bench.rollout", description="Milliseconds of a Domino rollout, base logits included.")
    p.add_argument("--shapes", choices=list(SHAPES), default="8b", help="Qwen3-8B's, or small ones for a CPU; default 8b")
    p.add_argument("--draft", metavar="PATH", help="take the sizes of this drafter; default those of --shapes")
    p.add_argument("--batch", type=int, nargs="+", default=[1, 8, 64], metavar="N", help="rows; default 1 8 64")
    p.add_argument("--pool", type=int, nargs="+", default=[0, 2048], metavar="K", help="candidate pools, 0 for none; default 0 2048")
    p.add_argument("--dtype", choices=["auto", *DTYPES], default="auto", help="default bfloat16 on an accelerator, float32 on a CPU")
    p.add_argument("--baseline", choices=["torch"], help="time the published design in PyTorch too; default none")
    p.add_argument("--ladder", action="store_true", help="what each published optimisation brings; default off")
    p.add_argument("--repeats", type=int, default=6, metavar="N", help="interleaved measurements; default 6")
    p.add_argument("--iterations", type=int, default=30, metavar="N", help="rollouts a measurement; default 30")
    p.add_argument("--json", type=Path, metavar="FILE", help="write everything measured; default none")
    p.add_argument("--debug", action="store_true", help="show tracebacks; default off")
    return p


def command(argv: Sequence[str] | None) -> int:
    arguments = parser().parse(argv)
    refuse_impossible(arguments)
    shape, dtype = shape_of(arguments), resolve_dtype(arguments.dtype)
    for name, least in (("batch", 1), ("pool", 0), ("repeats", 1), ("iterations", 1)):
        values = getattr(arguments, name)
        if min(values if isinstance(values, list) else [values]) < least:
            raise InputError(f"--{name} is {values}, expected at least {least}")
    about = environment("rollout") | {"dtype": dtype.name, "shape": shape, "repeats": arguments.repeats, "iterations": arguments.iterations}
    about["conventions"] = CONVENTIONS
    cases = [{"batch": batch, "pool_size": pool_size} for batch in arguments.batch for pool_size in arguments.pool]
    rows = collect("rollout", cases, partial(measure, shape, dtype=dtype, arguments=arguments), about, arguments)
    print(markdown(about, rows))
    wrong = failures(rows) + [
        f"batch {row['batch']}, pool {row['pool_size']}: {name} proposes a token {found['steps']:.1f} steps below the best"
        for row in rows
        for name, found in row.get("agreement", {}).items()
        if not found["steps"] <= STEPS
    ]
    for what in wrong:
        cli.say(f"FAIL: {what}")
    return cli.FAILED if wrong else cli.DONE


def main(argv: Sequence[str] | None = None) -> int:
    return cli.run(command, argv)


if __name__ == "__main__":
    sys.exit(main())
