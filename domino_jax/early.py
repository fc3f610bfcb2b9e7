"""Programs compiled while the weights are still on their way: from shapes alone, in a thread of their own."""

from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field

import jax.numpy as jnp

from domino_jax import programs
from domino_jax.programs import Executable, Shape


@dataclass(frozen=True)
class Needed:
    """A program that a run cannot do without, and what it is compiled for: arrays, or their shapes. The first argument is donated."""

    key: tuple[Callable, int, Shape]  # the function, its width, and the shape of the run
    modules: tuple
    arguments: tuple

    @property
    def function(self) -> Callable:
        return self.key[0]

    @property
    def name(self) -> str:
        return "step" if self.function is programs.verify and not self.key[1] else self.function.__name__

    def compiled(self, dtype: jnp.dtype) -> Executable:
        return programs.compile_ahead(self.function, self.modules, self.arguments, dtype, [0])


@dataclass
class Early:
    """What is being compiled for one run, by key. It waits for nobody: whoever needs a program takes it, and then waits for it."""

    thread: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(1))
    made: dict[tuple, Future[Executable]] = field(default_factory=dict)

    @classmethod
    def compiling(cls, needed: Iterable[Needed], dtype: jnp.dtype) -> "Early":
        early = cls()
        for one in needed:
            early.made[one.key] = early.thread.submit(one.compiled, dtype)
        return early

    def take(self, key: tuple) -> Executable | None:
        """The program, without its weights; None if it is not among these. Raises what compiling it raised."""
        future = self.made.pop(key, None)
        return future and future.result()

    def end(self) -> None:
        """Begins no further program, so that a process can exit."""
        self.thread.shutdown(wait=False, cancel_futures=True)
        self.made.clear()
