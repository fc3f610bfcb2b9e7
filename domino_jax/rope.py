"""Rotary position embedding: at what rate each pair of a head turns, and the published ways to stretch a context.

The rates of the default RoPE are theta^(-2i/H). A scaled one changes them once, whatever the position:

    linear   all of them divided by `factor`
    yarn     slow pairs divided, fast ones kept, a ramp between; the rotated pair is scaled as well (arXiv 2309.00071)
    llama3   the same idea with a ramp over wavelengths (Llama 3.1)
    dynamic  the default up to the original context; beyond it rates depend on the length, so keys in a cache would be stale: there
             the model is not run at all
"""

import math
from dataclasses import dataclass

import numpy as np

from domino_jax.errors import InputError
from domino_jax.fields import LARGEST, Fields, said

KINDS = ("default", "linear", "yarn", "llama3", "dynamic")
COMMON = {"rope_type", "type", "rope_theta", "partial_rotary_factor", "finetuned"}
NEEDED = {"linear": ("factor",), "yarn": ("factor",), "llama3": ("factor", "low_freq_factor", "high_freq_factor"), "dynamic": ("factor",)}
ALLOWED = {
    "linear": {"original_max_position_embeddings"},
    "yarn": {"original_max_position_embeddings", "beta_fast", "beta_slow", "attention_factor", "mscale", "mscale_all_dim", "truncate"},
    "llama3": {"original_max_position_embeddings"},
    "dynamic": {"original_max_position_embeddings"},
}


@dataclass(frozen=True)
class Scaling:
    """How a context was stretched. Names and defaults are those of `rope_parameters` in Transformers."""

    kind: str
    factor: float
    original: int  # the context before
    low_freq_factor: float = 1.0
    high_freq_factor: float = 4.0
    beta_fast: float = 32.0
    beta_slow: float = 1.0
    attention_factor: float | None = None
    mscale: float | None = None
    mscale_all_dim: float | None = None
    truncate: bool = True

    @property
    def magnitude(self) -> float:
        """What cosine and sine are multiplied by."""
        if self.kind != "yarn":
            return 1.0
        if self.attention_factor is not None:
            return self.attention_factor
        if self.mscale and self.mscale_all_dim:
            return self._mscale(self.mscale) / self._mscale(self.mscale_all_dim)
        return self._mscale(1.0)

    def _mscale(self, weight: float) -> float:
        return 0.1 * weight * math.log(self.factor) + 1.0 if self.factor > 1 else 1.0

    def scaled(self, rate_H: np.ndarray, theta: float) -> np.ndarray:
        """The rates after scaling, from the default ones."""
        if self.kind == "linear":
            return rate_H / self.factor
        if self.kind == "llama3":
            turns_H = self.original * rate_H / (2 * np.pi)  # over the original context
            kept_H = np.clip((turns_H - self.low_freq_factor) / (self.high_freq_factor - self.low_freq_factor), 0, 1)
        elif self.kind == "yarn":
            pairs = len(rate_H)
            low, high = (
                pairs * math.log(self.original / (turns * 2 * math.pi)) / math.log(theta) for turns in (self.beta_fast, self.beta_slow)
            )
            if self.truncate:
                low, high = math.floor(low), math.ceil(high)
            low, high = max(low, 0), min(high, 2 * pairs - 1)
            kept_H = 1 - np.clip((np.arange(pairs) - low) / ((high - low) or 0.001), 0, 1)
        else:
            return rate_H
        return (1 - kept_H) * rate_H / self.factor + kept_H * rate_H


@dataclass(frozen=True)
class Rope:
    """theta: the base. scaling: None is the default RoPE."""

    theta: float
    scaling: Scaling | None = None

    def rates(self, width: int) -> np.ndarray:
        """Radians a position by which each of the width / 2 pairs of a head turns, float64."""
        rate_H = self.theta ** (-np.arange(width // 2) / (width // 2))
        return self.scaling.scaled(rate_H, self.theta) if self.scaling else rate_H

    @property
    def magnitude(self) -> float:
        return self.scaling.magnitude if self.scaling else 1.0

    def context(self, max_position_embeddings: int) -> int:
        """The positions that a model may use whose config.json says `max_position_embeddings`."""
        if self.scaling is None or self.scaling.kind in ("linear", "llama3"):
            return max_position_embeddings
        if self.scaling.kind == "dynamic":
            return min(max_position_embeddings, self.scaling.original)
        return max(max_position_embeddings, int(self.scaling.factor * self.scaling.original))

    @classmethod
    def read(cls, fields: Fields, max_position_embeddings: int) -> "Rope":
        """From `rope_theta` and `rope_scaling`, or from `rope_parameters` as Transformers 5 writes them, or from both if they agree."""
        if fields.get("partial_rotary_factor", 1) != 1:
            raise fields.refuse("partial_rotary_factor", fields.get("partial_rotary_factor"), "1 (heads turn whole)")
        bases = [fields.number("rope_theta")] if fields.get("rope_theta", None) is not None else []
        scalings = []
        for key in ("rope_parameters", "rope_scaling"):
            parameters = fields.get(key, None)
            if parameters is None:
                continue
            if not isinstance(parameters, dict):
                raise fields.refuse(key, parameters, "an object or null")
            inner = Fields(parameters, f"{fields.where}: {key}")
            if inner.get("rope_theta", None) is not None:
                bases.append(inner.number("rope_theta"))
            scalings.append(_scaling(inner, fields, key, max_position_embeddings))
        if not bases:
            raise InputError(f"{fields.where}: rope_theta is missing, expected at the top level or in rope_parameters")
        if len(set(bases)) > 1:
            raise InputError(f"{fields.where}: rope_theta has the values {bases}, expected one value")
        if len(set(scalings)) > 1:
            raise InputError(f"{fields.where}: rope_parameters and rope_scaling differ, expected one RoPE scaling")
        rope = cls(bases[0], scalings[0] if scalings else None)
        if not rope._is_sound(max_position_embeddings):
            raise InputError(
                f"{fields.where}: rope_theta is {rope.theta} and the scaling {rope.to_dict()['rope_scaling']}, "
                "expected numbers of which angles, magnitude and context are finite"
            )
        return rope

    def _is_sound(self, max_position_embeddings: int) -> bool:
        """Whether what is computed of it are positive numbers that float32 holds, and positions that an int32 counts."""
        try:
            with np.errstate(all="ignore"):
                numbers = np.array([*self.rates(256), self.magnitude])
                finite = np.isfinite(numbers.astype(np.float32)).all() and (numbers > 0).all()
            return bool(finite) and 1 <= self.context(max_position_embeddings) <= LARGEST
        except (ArithmeticError, ValueError):  # a division by log 1, the floor of infinity
            return False

    def to_dict(self) -> dict:
        """Both spellings: Transformers 5 reads the object, older readers the number and the scaling."""
        inner = {"rope_type": "default"}
        if (scaling := self.scaling) is not None:
            inner = {"rope_type": scaling.kind, "factor": scaling.factor, "original_max_position_embeddings": scaling.original}
            names = {"llama3": ("low_freq_factor", "high_freq_factor"), "yarn": sorted(ALLOWED["yarn"] - inner.keys())}
            inner |= {name: getattr(scaling, name) for name in names.get(scaling.kind, ()) if getattr(scaling, name) is not None}
        old = {"rope_theta": self.theta, "rope_scaling": inner if self.scaling else None}
        return {**old, "rope_parameters": {**inner, "rope_theta": self.theta}}


def _scaling(inner: Fields, outer: Fields, key: str, max_position_embeddings: int) -> Scaling | None:
    kind = inner.get("rope_type", inner.get("type", "default"))
    if inner.get("type", kind) != kind:
        raise inner.refuse("type", inner.get("type"), f"what rope_type is, {said(kind)}")
    if kind not in KINDS:
        raise outer.refuse(f"{key}.rope_type", kind, f"one of {', '.join(KINDS)} (other RoPE scaling is not supported)")
    if inner.get("partial_rotary_factor", 1) != 1:
        raise inner.refuse("partial_rotary_factor", inner.get("partial_rotary_factor"), "1 (heads turn whole)")
    if unknown := inner.raw.keys() - COMMON - ALLOWED.get(kind, set()) - {*NEEDED.get(kind, ())}:
        raise InputError(f"{inner.where}: {', '.join(sorted(unknown))} is there, expected only keys of {kind} RoPE")
    if kind == "default":
        return None
    numbers = {name: inner.number(name) for name in NEEDED[kind]}
    if kind == "yarn":
        optional = ("beta_fast", "beta_slow", "attention_factor", "mscale", "mscale_all_dim")
        numbers |= {name: inner.number(name) for name in optional if inner.get(name, None) is not None}
        numbers["truncate"] = inner.boolean("truncate", True)
    if kind == "llama3" and numbers["low_freq_factor"] >= numbers["high_freq_factor"]:
        raise inner.refuse("high_freq_factor", numbers["high_freq_factor"], f"more than low_freq_factor = {numbers['low_freq_factor']}")
    original = outer.integer("original_max_position_embeddings", default=None)  # Phi's place, which goes before the other
    within = inner.integer("original_max_position_embeddings", default=original or max_position_embeddings)
    if original not in (None, within):
        raise outer.refuse("original_max_position_embeddings", original, f"the same in {key}, {within}")
    return Scaling(kind, original=within, **numbers)
