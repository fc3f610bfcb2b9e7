"""python -m domino_jax.train: trains a DFlash or Domino drafter for a target, resumes by itself, exports the published layout."""

import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, fields
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

from domino_jax import checkpoint, cli, pairing, publish
from domino_jax.config import DecoderConfig, DominoConfig, DraftConfig, TargetConfig, check_pair
from domino_jax.engine import DTYPES, resolve_dtype
from domino_jax.errors import InputError
from domino_jax.text import Text, stop_ids
from domino_jax.train import drafters, objective, run
from domino_jax.train.data import Batches, read_examples
from domino_jax.train.drafters import DrafterUpdate, Objective
from domino_jax.train.features import FeatureBatches, layer_ids
from domino_jax.train.optimizer import Optimization
from domino_jax.train.run import State

DESCRIPTION = (
    "Trains a drafter against a frozen target and writes OUT/draft, the published Hugging Face layout: serving engines call it DFlash, "
    "with the head or without; projector_type in its config says which. OUT/log.csv is the course. The same command goes on where it was."
)


def parser() -> cli.Parser:
    p = cli.Parser(prog="python -m domino_jax.train", description=DESCRIPTION)
    p.add_argument("--target", required=True, metavar="PATH", help="directory or hub id of the target")
    p.add_argument("--out", required=True, type=Path, metavar="DIR", help="directory of the run")
    p.add_argument("--data", type=Path, metavar="FILE.jsonl", help="sequences; best the target's own answers (domino_jax.train.regenerate)")
    p.add_argument("--features", type=Path, metavar="DIR", help="instead of --data: what domino_jax.train.features wrote")
    p.add_argument("--init", metavar="PATH", help="start from this drafter and its shape; its label layout must be the one asked for")
    shape = p.add_argument_group("the drafter, where --init gives none")
    shape.add_argument("--projector", choices=["domino", "dflash"], default="domino", help="default domino")
    shape.add_argument("--layers", type=cli.number(1), default=5, metavar="N", help="default 5")
    shape.add_argument("--intermediate-size", type=cli.number(1), metavar="F", help="feed-forward width; default the target's")
    shape.add_argument("--block-size", type=cli.number(2), default=16, metavar="N", help="default 16")
    shape.add_argument(
        "--target-layer-ids", metavar='"1 9 17"', help="layers whose output it reads; default spread from 1 to 3 below the last"
    )
    shape.add_argument("--mask-token-id", type=cli.number(0), metavar="ID", help="an id that no text holds; default the last")
    shape.add_argument("--gru-hidden-dim", type=cli.number(1), default=1024, metavar="R", help="default 1024")
    shape.add_argument("--emb-dim", type=cli.number(1), default=256, metavar="E", help="default 256")
    shape.add_argument(
        "--prefix-len", type=cli.number(0), default=1, metavar="P", help="uncorrected proposals; default 1, as engines expect"
    )
    shape.add_argument("--unshifted", action="store_true", help="Domino in the DFlash label layout; default shifted")
    how = p.add_argument_group("objective")
    how.add_argument("--anchors", type=cli.number(1), default=256, metavar="N", help="blocks a sequence; default 256")
    how.add_argument(
        "--chunk", type=cli.number(1), metavar="N", help="blocks worked through at once; default the most up to 32 that divide --anchors"
    )
    how.add_argument("--gamma", type=float, default=7.0, help="decay over a block, 0 for none; default 7 (4 suits blocks of 8)")
    how.add_argument("--lambda-start", type=float, default=1.0, help="weight of the base loss at first; default 1")
    how.add_argument("--lambda-ratio", type=float, default=1.0, help="share of the run over which it falls to 0; default 1")
    much = p.add_argument_group("course")
    much.add_argument("--steps", type=cli.number(1), metavar="N", help="optimizer updates; default as many as fit into --minutes")
    much.add_argument("--minutes", type=float, metavar="M", help="stop after so long; without --steps, what the schedule is laid out for")
    much.add_argument("--batch-size", type=cli.number(1), default=16, metavar="N", help="sequences a micro-batch; default 16")
    much.add_argument("--accumulate", type=cli.number(1), default=1, metavar="N", help="micro-batches an update; default 1")
    much.add_argument("--max-length", type=cli.number(2), default=3072, metavar="N", help="sequences are cut here; default 3072")
    much.add_argument("--learning-rate", type=float, default=6e-4, help="peak; default 6e-4")
    much.add_argument("--warmup-ratio", type=float, default=0.04, help="default 0.04, then a cosine to 0")
    much.add_argument("--clip", type=float, default=1.0, help="largest gradient norm; default 1")
    much.add_argument("--weight-decay", type=float, default=0.0, help="default 0")
    much.add_argument("--seed", type=cli.number(0), default=0, metavar="N", help="of initial weights, order and anchors; default 0")
    much.add_argument("--dtype", choices=["auto", *DTYPES], default="auto", help="of the arithmetic; masters are float32; default auto")
    much.add_argument("--log-every", type=cli.number(1), default=50, metavar="N", help="updates a line of the log; default 50")
    much.add_argument("--save-every", type=cli.number(1), default=1000, metavar="N", help="updates a checkpoint; default 1000")
    much.add_argument("--plot", type=Path, metavar="FILE.png", help="draw the log at the end (extra: plot); default none")
    much.add_argument("--debug", action="store_true", help="show tracebacks; default off")
    return p


def refuse_contradictions(arguments) -> None:
    for wrong, message in (
        ((arguments.data is None) == (arguments.features is None), "--data or --features is expected, exactly one of them"),
        (arguments.steps is None and arguments.minutes is None, "--steps and --minutes are missing, expected at least one of them"),
        (
            arguments.unshifted and arguments.projector == "dflash",
            "--unshifted is given with --projector dflash, which is always unshifted",
        ),
        (not 0 <= arguments.lambda_start <= 1, f"--lambda-start is {arguments.lambda_start}, expected 0 to 1"),
        (not 0 < arguments.lambda_ratio <= 1, f"--lambda-ratio is {arguments.lambda_ratio}, expected more than 0, up to 1"),
        (not 0 <= arguments.warmup_ratio < 1, f"--warmup-ratio is {arguments.warmup_ratio}, expected 0 to less than 1"),
        (not 0 < arguments.learning_rate < math.inf, f"--learning-rate is {arguments.learning_rate}, expected a positive number"),
        (not arguments.clip > 0, f"--clip is {arguments.clip}, expected a positive number"),
        (not 0 <= arguments.weight_decay < math.inf, f"--weight-decay is {arguments.weight_decay}, expected 0 or more"),
        (not arguments.gamma >= 0, f"--gamma is {arguments.gamma}, expected 0 or more"),
        (
            arguments.minutes is not None and not 0 < arguments.minutes < math.inf,
            f"--minutes is {arguments.minutes}, expected a positive number",
        ),
    ):
        if wrong:
            raise InputError(message)


def spread(layers: int, target_layers: int) -> list[int]:
    """The reference's choice of captured layers for a drafter of so many layers: from 1 to 3 below the last, evenly."""
    if layers == 1:
        return [target_layers // 2]
    return [round(1 + i * (target_layers - 4) / (layers - 1)) for i in range(layers)]


def drafter_config(arguments, target: TargetConfig) -> DraftConfig:
    """The shape asked for, its model width and heads the target's. Raises InputError as for a config.json that says the same."""
    words = arguments.target_layer_ids
    ids = spread(arguments.layers, target.num_hidden_layers) if words is None else layer_ids(words)
    decoder = {field.name: getattr(target, field.name) for field in fields(DecoderConfig)}
    decoder |= {"num_hidden_layers": arguments.layers, "intermediate_size": arguments.intermediate_size or target.intermediate_size}
    domino = None
    if arguments.projector == "domino":
        domino = DominoConfig(arguments.gru_hidden_dim, arguments.emb_dim, arguments.prefix_len, not arguments.unshifted)
    config = DraftConfig(
        **decoder,
        block_size=arguments.block_size,
        mask_token_id=target.vocab_size - 1 if arguments.mask_token_id is None else arguments.mask_token_id,
        target_layer_ids=tuple(ids),
        num_target_layers=target.num_hidden_layers,
        domino=domino,
    )
    return DraftConfig.from_dict(config.to_dict(), "the drafter asked for")


def warm_start(arguments, target: checkpoint.Checkpoint) -> tuple[DraftConfig, dict[str, jax.Array]]:
    """Shape and weights of `--init`. Its labels must lie as asked: a DFlash backbone is one token off for a shifted Domino."""
    opened = checkpoint.open_draft(arguments.init)
    check_pair(target.config, opened.config, str(opened.directory / "config.json"))
    opened = checkpoint.share(opened, target)
    if opened.config.own_embedding or opened.config.own_head:
        raise InputError(f"--init {arguments.init} has an embedding or a head of its own, expected a drafter that shares the target's")
    if opened.config.kind != arguments.projector:
        raise InputError(f"--init {arguments.init} is a {opened.config.kind} drafter, expected --projector {opened.config.kind}")
    shifted = opened.config.first_row == 0
    if arguments.projector == "domino" and shifted == arguments.unshifted:
        raise InputError(f"--init {arguments.init} has {'' if shifted else 'un'}shifted labels, expected the layout that is asked for")
    return opened.config, dict(opened.parameters(jnp.float32))


def open_batches(arguments, target: checkpoint.Checkpoint, config: DraftConfig) -> Batches | FeatureBatches:
    if arguments.batch_size % jax.device_count():
        raise InputError(f"--batch-size is {arguments.batch_size}, expected a multiple of the {jax.device_count()} devices")
    if arguments.features is not None:
        return FeatureBatches(arguments.features, config, arguments.batch_size, arguments.seed, arguments.accumulate)
    text = Text.load(target.directory)
    stops = stop_ids(target.directory, text)
    examples = read_examples(arguments.data, text, stops, target.config.vocab_size, arguments.max_length)
    cli.say(
        f"{len(examples)} sequences, {len(examples.tokens)} tokens, {int(examples.supervised.sum())} of them supervised"
        + f"; {examples.dropped} left out, without two supervised tokens in a row" * bool(examples.dropped)
    )
    if masks := int((examples.tokens == config.mask_token_id).sum()):
        cli.say(f"note: the data hold the mask token {config.mask_token_id} {masks} times, expected one in no text (--mask-token-id)")
    return Batches(examples, arguments.batch_size, arguments.max_length, arguments.seed, arguments.accumulate)


def describe(update: DrafterUpdate) -> Callable:
    """The line of the log: the objective's means, λ, learning rate."""

    def line(sums: objective.Sums, steps: int, step: int) -> dict[str, float]:
        means = {name: float(value) for name, value in objective.metrics(sums).items()}
        rates = {"lambda": float(update.base_weight(step)), "learning_rate": float(update.learning_rate(step))}
        return {**means, **rates}

    return line


def command(argv: Sequence[str] | None) -> int:
    arguments = parser().parse(argv)
    refuse_contradictions(arguments)
    dtype = resolve_dtype(arguments.dtype)
    opened = checkpoint.open_target(arguments.target)
    if arguments.init:
        config, parameters = warm_start(arguments, opened)
    else:
        config = drafter_config(arguments, opened.config)
        check_pair(opened.config, config, "the drafter asked for")
        parameters = drafters.random_parameters(config, arguments.seed)
    chunk = arguments.chunk or max(n for n in range(1, 33) if arguments.anchors % n == 0)
    goal = Objective(arguments.anchors, chunk, arguments.gamma or None, arguments.lambda_start, arguments.lambda_ratio)
    optimization = Optimization(arguments.learning_rate, arguments.warmup_ratio, clip=arguments.clip, weight_decay=arguments.weight_decay)
    batches = open_batches(arguments, opened, config)
    target = checkpoint.load(opened, dtype, cli.transfer("loading"))
    mesh = drafters.data_mesh()

    def course(steps: int) -> tuple[DrafterUpdate, Callable, State]:
        update = DrafterUpdate(target, config, goal, optimization, steps, arguments.seed, dtype, mesh)
        state = drafters.initial_state(parameters, steps, optimization, mesh)
        return update, drafters.step_function(update, batches.batch, arguments.accumulate), state

    steps = arguments.steps or run.recorded_steps(arguments.out)
    if steps is None:
        _, step, state = course(1000)
        steps = run.calibrate(state, step, arguments.minutes, batches.sample(32))
        cli.say(f"{steps} updates fit into {arguments.minutes} minutes")
    identity = {"target": asdict(opened.config), "target_weights": pairing.fingerprint(opened), "draft": asdict(config),
                "objective": asdict(goal), "optimization": asdict(optimization), "steps": steps, "batch_size": arguments.batch_size,
                "accumulate": arguments.accumulate, "seed": arguments.seed, "max_length": arguments.max_length,
                "init": arguments.init, "dtype": dtype.name, "sequences": len(batches.examples), "widths": batches.widths}  # fmt: skip
    history = run.Run(arguments.out, identity)
    update, step, state = course(steps)

    def tokens(step: int) -> int:
        return arguments.batch_size * arguments.accumulate * batches.width(arguments.accumulate * step)

    state = history.train(
        history.restore(state), step, describe(update), steps, arguments.minutes, arguments.log_every, arguments.save_every, tokens
    )
    export(arguments.out / "draft", config, state, dtype)
    if arguments.plot:
        run.plot(arguments.out / "log.csv", arguments.plot)
    return cli.DONE


def export(directory: Path, config: DraftConfig, state: State, dtype: jnp.dtype) -> None:
    """In the dtype of the arithmetic: the objective saw no more of the masters."""
    parameters = {path: np.asarray(value) for path, value in state.parameters.items()}
    publish.save(directory, config, parameters, dtype)
    cli.say(f"step {int(state.step)}: wrote {directory} as {jnp.dtype(dtype).name}")


def main(argv: Sequence[str] | None = None) -> int:
    return cli.run(command, argv)


if __name__ == "__main__":
    sys.exit(main())
