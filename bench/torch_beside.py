"""Rounds in PyTorch beside ours, in one run and in turns: what `bench.decode --baseline torch` adds."""

import argparse
from typing import Protocol

import jax

from bench import torch_parity, torch_rounds
from bench.limits import Case
from bench.timing import Variant, interleaved, raw
from domino_jax.engine import Engine

CONVENTIONS = {
    "PyTorch": "the same rounds with the same weights: Transformers' Qwen3 with SDPA and a static cache, our DFlash in PyTorch, the "
    "published rollout; rows frozen as ours. Its verify has no log-probabilities and no stop tokens, ours has both. In turns with ours; "
    "times faster: its time over ours in those turns",
    "same": "share of proposals, and of the tokens that the target chose, that are ours; in bfloat16 the two best tokens are often within "
    "rounding of each other. That both sides compute the same is checked before, in float32 on tiny models",
}


class Rounds(Protocol):
    """Ours: `bench.decode.Rounds`."""

    def draft(self) -> jax.Array: ...
    def round(self) -> jax.Array: ...
    def programs(self) -> dict[str, Variant]: ...


class Beside:
    """The rounds in PyTorch, with the engine's weights. `wrong`: how they are not ours on tiny models, None where they are."""

    conventions = CONVENTIONS

    def __init__(self, engine: Engine):
        self.left_out, self.agreed, self.wrong = {}, {}, None
        ours = torch_parity.Ours()
        for way in torch_rounds.WAYS:
            try:
                found = torch_parity.parity(way, ours)
            except torch_rounds.Unavailable as reason:
                self.left_out[way] = str(reason)
                continue
            self.agreed[way] = str(found)
            if not found.holds:
                self.wrong = f"{way}: {found}; {found.wrong} not within rounding, proposals {found.steps:.1f} steps below the best"
        self.target = torch_rounds.TorchTarget(engine.target, engine.drafter.layer_ids)
        self.drafter = torch_rounds.TorchDrafter(engine.drafter, self.target)

    def measure(self, case: Case, ours: Rounds, arguments: argparse.Namespace) -> dict:
        found, left_out = {}, dict(self.left_out)
        for way in self.agreed:
            try:
                found[way] = self.in_turns(way, case, ours, arguments)
            except (torch_rounds.Unavailable, torch_rounds.OutOfMemory) as reason:
                left_out[way] = str(reason).splitlines()[0]
            torch_rounds.give_back()
        return {"torch": found, "torch_left_out": left_out}

    def in_turns(self, way: str, case: Case, ours: Rounds, arguments: argparse.Namespace) -> dict:
        rounds = torch_rounds.TorchRounds(way, self.target, self.drafter, **vars(case))
        variants = rounds.variants | {"round": rounds.round()}
        ours_named = {f"ours, {name}": variant for name, variant in ours.programs().items()}
        timings = interleaved(variants | ours_named, arguments.repeats, arguments.iterations)
        theirs = {name: timings[name] for name in variants}
        (chosen_BT, proposals_BP), report = rounds.results(), ours.round()
        return raw(theirs) | {
            "times_faster": {name: timing.median / timings[f"ours, {name}"].median for name, timing in theirs.items()},
            "same_proposals": float((proposals_BP == ours.draft()).mean()),
            "same_chosen": float((chosen_BT == report[:, : chosen_BT.shape[1]]).mean()),
        }
