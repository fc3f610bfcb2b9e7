"""Holds the PyTorch rounds against ours before they are timed: tiny models, float32, the same weights.

Both sides go through the same rounds from the same state: ours decides what is verified next, and every other round its first
proposal is the target's own token, so that something stands. Where our two best tokens are further apart than rounding, the PyTorch
target must choose ours; each PyTorch proposal must be the best one given those before it.
"""

from dataclasses import dataclass, replace
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import torch

from bench import parts
from bench.rollout import steps_below_best
from bench.torch_rounds import TorchDrafter, TorchRounds, TorchTarget
from domino_jax import programs
from domino_jax.engine import Engine
from domino_jax.loop import Run
from domino_jax.programs import Shape
from tests.gpu.run import configs

BATCH, CAPACITY, ROUNDS, POOL_SIZE = 2, 128, 4, 64
MARGIN = 1e-3  # of logits around one: far above the rounding of float32, far below the usual distance of the two best
STEPS = 0.1  # bfloat16 steps, as `bench.rollout` counts them: the same for proposals


@dataclass(frozen=True)
class Parity:
    """Of one way, over all rounds."""

    proposals: int
    same_proposals: int
    steps: float  # the furthest a proposal lies below the best
    chosen: int
    same_chosen: int
    wrong: int  # tokens chosen otherwise although our two best are further apart than MARGIN
    difference: float  # the largest of any logit

    @property
    def holds(self) -> bool:
        return not self.wrong and self.steps <= STEPS

    def __str__(self) -> str:
        return (
            f"{self.same_proposals} of {self.proposals} proposals and {self.same_chosen} of {self.chosen} chosen tokens are ours, logits "
            f"within {self.difference:.1e}"
        )


def logits(target, state: programs.DecodeState, proposals_BP: jax.Array) -> jax.Array:
    tokens_BT = jnp.concatenate([state.verified_B[:, None], proposals_BP], 1)
    slot_BT = state.length_B[:, None] + jnp.arange(tokens_BT.shape[1])
    return target.embedder.decode(target.forward(tokens_BT, slot_BT, slot_BT, state.cache)[0])


class Ours:
    """Our side: a run of live rows that begin with one token each, and what it computes on the way."""

    def __init__(self):
        self.engine = engine = Engine.random(*configs(small=True), jax.random.key(1), "float32", pool_size=POOL_SIZE)
        self.run = run = Run(engine.target, engine.drafter, engine.dtype, Shape.of(BATCH, CAPACITY, 1), engine.num_proposals, {})
        for _ in run.compile(()):
            pass
        compiled = partial(programs.compile_ahead, dtype=engine.dtype)
        self.block_pass = compiled(parts.block_pass, (engine.drafter, engine.target.embedder), run.draft_arguments()[:-1])
        self.logits = compiled(logits, (engine.target,), (run.state, run.impossible_BP))

    def begin(self) -> None:
        whole, nowhere = jnp.full(BATCH, CAPACITY, jnp.int32), jnp.zeros(BATCH, jnp.int32)
        self.run.state = replace(
            self.run.state,
            length_B=nowhere,
            verified_B=1 + jnp.arange(BATCH, dtype=jnp.int32),
            remaining_B=whole,
            done_B=nowhere > 0,
            features_from_B=whole + 0,
        )

    def draft(self) -> tuple[jax.Array, jax.Array]:
        """-> (hidden_BPD, proposals_BP)."""
        run = self.run
        _, hidden_BPD = self.block_pass(*run.draft_arguments()[:-1])
        run.draft_cache, proposals_BP = run.program(programs.draft, run.width)(*run.draft_arguments())
        return hidden_BPD, proposals_BP

    def verify(self, proposals_BP: jax.Array) -> None:
        run = self.run
        run.state, residuals, _ = run.program(programs.verify, run.width)(run.state, proposals_BP)
        run.features = run.captured(residuals)


def parity(way: str, ours: Ours) -> Parity:
    """Raises Unavailable where this way does not run."""
    with torch.backends.cudnn.flags(enabled=False), jax.default_matmul_precision("highest"):  # cuDNN's GRU would round to TF32
        target = TorchTarget(ours.engine.target, ours.engine.drafter.layer_ids)
        theirs = TorchRounds(way, target, TorchDrafter(ours.engine.drafter, target), BATCH, CAPACITY, used=0, live=True)
        ours.begin()
        return total([one_round(ours, theirs, number) for number in range(ROUNDS)])


def one_round(ours: Ours, theirs: TorchRounds, number: int) -> Parity:
    state = ours.run.state
    theirs.length_B.copy_(torch.from_numpy(np.array(state.length_B)))  # making it has warmed it up
    theirs.verified_B.copy_(torch.from_numpy(np.array(state.verified_B)))
    theirs.features_from_B.copy_(torch.from_numpy(np.array(state.features_from_B % CAPACITY)))  # nowhere: what is not seen yet
    hidden_BPD, proposals_BP = ours.draft()
    theirs.variants["draft"].start()
    _, drafted_BP = theirs.results()
    embedder = ours.engine.target.embedder
    inputs = ours.engine.drafter.head, embedder.embed_VD[...], embedder.head_VD[...], hidden_BPD, state.verified_B
    below_BP = steps_below_best(inputs, jnp.asarray(drafted_BP, jnp.int32), POOL_SIZE)
    verified_BP = proposals_BP
    if number % 2:
        verified_BP = proposals_BP.at[:, 0].set(jnp.argmax(ours.logits(state, proposals_BP)[:, 0], -1).astype(jnp.int32))
    logits_BTV = np.asarray(ours.logits(state, verified_BP))
    theirs.proposals_BP.copy_(torch.from_numpy(np.array(verified_BP)))
    their_logits_BTV = theirs.forward_pass()[0].float().cpu().numpy()
    theirs.variants["verify"].start()
    chosen_BT, _ = theirs.results()
    ours.verify(verified_BP)
    best_BT2 = np.sort(logits_BTV, -1)[..., -2:]
    same_BT = chosen_BT == logits_BTV.argmax(-1)
    return Parity(
        proposals=drafted_BP.size,
        same_proposals=int((drafted_BP == np.asarray(proposals_BP)).sum()),
        steps=float(below_BP.max()),
        chosen=chosen_BT.size,
        same_chosen=int(same_BT.sum()),
        wrong=int((~same_BT & (best_BT2[..., 1] - best_BT2[..., 0] > MARGIN)).sum()),
        difference=float(np.abs(their_logits_BTV - logits_BTV).max()),
    )


def total(rounds: list[Parity]) -> Parity:
    names = ("proposals", "same_proposals", "chosen", "same_chosen", "wrong")
    sums = {name: sum(getattr(one, name) for one in rounds) for name in names}
    return Parity(**sums, steps=max(one.steps for one in rounds), difference=max(one.difference for one in rounds))
