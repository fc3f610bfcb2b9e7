"""How things are timed here: variants side by side in one process, interleaved, each in loops that hide the dispatch."""

import importlib.metadata
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import jax

WARM_UP = 3
PACKAGES = ("jax", "jaxlib", "flax", "torch", "transformers")


@dataclass(frozen=True)
class Timing:
    """Milliseconds an iteration, one entry a repeat; `dispatch`: the host's share of it, of the repeat in the middle."""

    repeats: tuple[float, ...]
    dispatch: float

    @property
    def median(self) -> float:
        return median(self.repeats)

    @property
    def spread(self) -> float:
        """(largest - smallest) / median."""
        return (max(self.repeats) - min(self.repeats)) / self.median


@dataclass(frozen=True)
class Variant:
    """`start` dispatches one iteration; `wait` returns when the device has done all of them. `compiling` took so many seconds before."""

    start: Callable[[], object]
    wait: Callable[[object], None] = jax.block_until_ready
    compiling: float | None = None


def interleaved(variants: Mapping[str, Variant], repeats: int, iterations: int) -> dict[str, Timing]:
    """Times each variant `repeats` times, in turns: a loop of `iterations` dispatches, then one wait."""
    found = {name: [] for name in variants}
    for variant in variants.values():
        for _ in range(WARM_UP):
            last = variant.start()
        variant.wait(last)
    for _ in range(repeats):
        for name, variant in variants.items():
            began = time.perf_counter()
            for _ in range(iterations):
                last = variant.start()
            dispatched = time.perf_counter()
            variant.wait(last)
            found[name].append(((time.perf_counter() - began) / iterations * 1e3, (dispatched - began) / iterations * 1e3))
    return {name: timing(pairs) for name, pairs in found.items()}


def timing(pairs: list[tuple[float, float]]) -> Timing:
    """From (milliseconds, of which dispatching) a repeat."""
    return Timing(tuple(whole for whole, _ in pairs), sorted(pairs)[len(pairs) // 2][1])


def raw(timings: Mapping[str, Timing]) -> dict:
    """All that was timed, as it is kept."""
    return {
        "milliseconds": {name: timing.repeats for name, timing in timings.items()},
        "dispatch": {name: timing.dispatch for name, timing in timings.items()},
        "median": {name: timing.median for name, timing in timings.items()},
        "spread": {name: timing.spread for name, timing in timings.items()},
    }


def environment(bench: str) -> dict:
    """Which bench found the figures, and what they depend on."""
    device = jax.devices()[0]
    versions = {}
    for name in PACKAGES:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            versions[name] = None
    try:
        described = subprocess.run(["git", "describe", "--always", "--dirty"], cwd=Path(__file__).parent, capture_output=True, text=True)
        commit = described.stdout.strip() or None
    except OSError:  # no git here
        commit = None
    return {
        "bench": bench,
        "platform": jax.default_backend(),
        "device": device.device_kind,
        "versions": versions,
        "commit": commit,
    }


def headline(about: dict) -> str:
    """An environment in words, as it was kept: device, dtype, versions, commit."""
    versions = [f"{name} {about['versions'][name]}" for name in ("jax", "torch", "transformers") if about["versions"].get(name)]
    return ", ".join([about["device"], about["dtype"], *versions, f"commit {about.get('commit') or 'unknown'}"])
