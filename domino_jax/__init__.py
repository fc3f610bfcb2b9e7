"""Lossless speculative decoding in JAX: the DFlash block drafter with the Domino head."""

from importlib.metadata import PackageNotFoundError, version

from domino_jax.config import DraftConfig, TargetConfig
from domino_jax.drafter import ScriptedDrafter
from domino_jax.engine import Engine, load
from domino_jax.errors import InputError
from domino_jax.events import Check, Compiled, Ended, Finished, Prompt, Result, Round, Started, Tokens

try:
    __version__ = version("domino-jax")
except PackageNotFoundError:  # a source tree that was never installed
    __version__ = "0.1.0"

__all__ = [
    "Check", "Compiled", "DraftConfig", "Ended", "Engine", "Finished", "InputError", "Prompt", "Result", "Round", "ScriptedDrafter",
    "Started", "TargetConfig", "Tokens", "load",
]  # fmt: skip
