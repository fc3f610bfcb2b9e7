"""python -m domino_jax.demo.pretrain: trains the demo's target on word problems, from nothing."""

import json
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx

from domino_jax import cache, checkpoint, cli, publish
from domino_jax.config import TargetConfig
from domino_jax.demo import corpus
from domino_jax.engine import DTYPES
from domino_jax.rope import Rope
from domino_jax.target import Target
from domino_jax.train import run
from domino_jax.train.data import Batches
from domino_jax.train.drafters import data_mesh, initial_state
from domino_jax.train.objective import cross_entropy
from domino_jax.train.optimizer import Optimization, adamw
from domino_jax.train.run import State

CONFIG = TargetConfig(
    vocab_size=4160, hidden_size=256, intermediate_size=512, num_hidden_layers=8, num_attention_heads=4, num_key_value_heads=2,
    head_dim=64, rms_norm_eps=1e-6, rope=Rope(10000.0), max_position_embeddings=2048, tie_word_embeddings=True,
)  # fmt: skip
OPTIMIZATION = Optimization(learning_rate=2e-3, warmup_ratio=0.03, final_ratio=0.02, weight_decay=0.1)
MAX_LENGTH = 272


def loss_sums(target: Target, tokens_BS: jax.Array, supervised_BS: jax.Array) -> dict[str, jax.Array]:
    """Next-token cross-entropy and hits over the supervised tokens, as sums."""
    slot_BS = jnp.broadcast_to(jnp.arange(tokens_BS.shape[1]), tokens_BS.shape)
    empty = cache.allocate(target.config, *tokens_BS.shape, target.norm_D.dtype)
    hidden_BSD, _, _ = target.forward(tokens_BS, slot_BS, slot_BS, empty)
    logits_BSV = target.embedder.decode(hidden_BSD[:, :-1]).astype(jnp.float32)
    counts, label_BS = supervised_BS[:, 1:], tokens_BS[:, 1:]
    hits = jnp.argmax(logits_BSV, -1) == label_BS
    return {
        "tokens": counts.sum().astype(jnp.float32),
        "loss": (counts * cross_entropy(logits_BSV, label_BS)).sum(),
        "top1": (counts & hits).sum().astype(jnp.float32),
        "whole": (hits | ~counts).all(-1).sum().astype(jnp.float32),
    }


def make_update(total_steps: int, dtype: jnp.dtype, batches: Batches):
    """update(state, step) -> (state, sums)."""
    shape, optimizer = checkpoint.abstract(CONFIG, dtype), adamw(total_steps, OPTIMIZATION)

    def numerator(parameters, batch):
        target = checkpoint.assemble(shape, {path: value.astype(dtype) for path, value in parameters.items()})
        sums = loss_sums(target, *batch)
        return sums["loss"] / sums["tokens"], sums

    def step_once(state: State, batch):
        (_, sums), gradient = jax.value_and_grad(numerator, has_aux=True)(state.parameters, batch)
        changes, adam = optimizer.update(gradient, state.optimizer, state.parameters)
        return State(jax.tree.map(jnp.add, state.parameters, changes), adam, state.step + 1), sums

    compiled = jax.jit(step_once, donate_argnums=0)
    return lambda state, step: compiled(state, batches.batch(step))


def command(argv: Sequence[str] | None) -> int:
    p = cli.Parser(prog="python -m domino_jax.demo.pretrain", description="Trains the demo's target on word problems. Resumes by itself.")
    p.add_argument("--tokenizer", type=Path, required=True, help="directory of the tokenizer")
    p.add_argument("--out", type=Path, required=True, help="directory of the run")
    p.add_argument("--problems", type=cli.number(1), default=300_000, metavar="N", help="problems to train on; default 300000")
    p.add_argument("--batch-size", type=cli.number(1), default=256, metavar="N", help="sequences an update; default 256")
    p.add_argument("--steps", type=cli.number(1), metavar="N", help="updates; default as many as fit into --minutes")
    p.add_argument("--minutes", type=float, metavar="M", help="stop after so long; without --steps, what the schedule is laid out for")
    p.add_argument("--seed", type=cli.number(0), default=0, metavar="N", help="default 0")
    p.add_argument("--dtype", choices=list(DTYPES), default="bfloat16", help="of the arithmetic; masters are float32; default bfloat16")
    p.add_argument("--debug", action="store_true", help="show tracebacks; default off")
    arguments = p.parse(argv)
    dtype = DTYPES[arguments.dtype]

    cli.say(f"writing {arguments.problems} word problems")
    data = corpus.examples(arguments.tokenizer, arguments.problems, arguments.seed, MAX_LENGTH, os.cpu_count() or 1)
    cli.say(f"{len(data)} sequences, {len(data.tokens)} tokens, {data.supervised.sum()} supervised, {data.dropped} dropped")
    batches = Batches(data, arguments.batch_size, MAX_LENGTH, arguments.seed)
    parameters = checkpoint.leaves(Target(CONFIG, jnp.float32, rngs=nnx.Rngs(arguments.seed)))
    parameters["embedder.embed_VD"] *= 0.05  # tied: logits of a normed state must start small

    steps = arguments.steps
    if steps is None:
        probe = initial_state(parameters, 1000, OPTIMIZATION, data_mesh())
        steps = run.calibrate(probe, make_update(1000, dtype, batches), arguments.minutes)
    identity = {"config": asdict(CONFIG), "optimization": asdict(OPTIMIZATION), "steps": steps, "batch_size": arguments.batch_size,
                "problems": arguments.problems, "seed": arguments.seed, "dtype": arguments.dtype, "widths": batches.widths}  # fmt: skip
    course = run.Run(arguments.out, identity)
    state = course.restore(initial_state(parameters, steps, OPTIMIZATION, data_mesh()))

    def describe(sums, counted, step) -> dict[str, float]:
        tokens = float(sums["tokens"])
        whole = float(sums["whole"]) / (counted * arguments.batch_size)
        return {"loss": float(sums["loss"]) / tokens, "top1": float(sums["top1"]) / tokens, "whole_answers": whole}

    def tokens(step: int) -> int:
        return arguments.batch_size * batches.width(step)

    state = course.train(state, make_update(steps, dtype, batches), describe, steps, arguments.minutes, max(1, steps // 100), 10**9, tokens)
    save(arguments.out / "target", state, arguments.tokenizer)
    return cli.DONE


def save(directory: Path, state: State, tokenizer: Path) -> None:
    """The target in the published layout, bfloat16, with tokenizer and stop ids."""
    parameters = {path: np.asarray(value) for path, value in state.parameters.items()}
    publish.save(directory, CONFIG, parameters, jnp.dtype(jnp.bfloat16))
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (directory / name).write_bytes((tokenizer / name).read_bytes())
    added = json.loads((tokenizer / "tokenizer.json").read_text(encoding="utf-8"))["added_tokens"]
    number = {token["content"]: token["id"] for token in added}
    ids = [number["<|im_end|>"], number["<|endoftext|>"]]  # first the one that ends a turn
    (directory / "generation_config.json").write_text(json.dumps({"eos_token_id": ids}) + "\n", encoding="utf-8")


def main(argv: Sequence[str] | None = None) -> int:
    return cli.run(command, argv)


if __name__ == "__main__":
    sys.exit(main())
