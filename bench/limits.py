"""How fast a part of a round could be at most: what it must read and compute, at the rates that the device shows in the same run."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp

from bench.timing import Variant, interleaved
from domino_jax import memory
from domino_jax.config import DecoderConfig, TargetConfig
from domino_jax.drafter import BlockDrafter
from domino_jax.engine import Engine


@dataclass(frozen=True)
class Case:
    """Rows, cache slots a row, and how many of them are used."""

    batch: int
    capacity: int
    used: int

    def __str__(self) -> str:
        return f"batch {self.batch}, capacity {self.capacity}, {self.used} used"


@dataclass(frozen=True)
class Rates:
    """What the device did in this run."""

    bytes_per_second: float
    operations_per_second: float

    @classmethod
    def measured(cls, dtype: jnp.dtype, size: int, side: int) -> "Rates":
        """By the sum of an array of `size` bytes and the product of two matrices of `side` x `side`."""
        array = jnp.ones(size // dtype.itemsize, dtype)
        matrix = jnp.ones((side, side), dtype)
        total, product = jax.jit(lambda a: a.sum(dtype=jnp.float32)), jax.jit(lambda a: a @ a)
        with jax.default_matmul_precision("highest" if dtype == jnp.float32 else "default"):  # as the engine's programs
            took = interleaved({"sum": Variant(lambda: total(array)), "product": Variant(lambda: product(matrix))}, 5, 10)
        return cls(array.nbytes / took["sum"].median * 1e3, 2 * side**3 / took["product"].median * 1e3)


@dataclass(frozen=True)
class Work:
    """Bytes that must be read and operations that must be done."""

    bytes: int
    operations: int

    def __add__(self, other: "Work") -> "Work":
        return Work(self.bytes + other.bytes, self.operations + other.operations)

    def milliseconds(self, rates: Rates) -> float:
        """Below which it cannot be."""
        return 1e3 * max(self.bytes / rates.bytes_per_second, self.operations / rates.operations_per_second)


def works(engine: Engine, case: Case) -> dict[str, Work]:
    """Of each part that is one program. Weights are read once, of the caches what is used."""
    target, drafter, size = engine.target.config, engine.drafter, engine.dtype.itemsize

    def work(parameters: int, positions: int, cached: DecoderConfig | None = None) -> Work:
        held = memory.cache_bytes(cached, engine.dtype, case.batch, case.used) if cached else 0
        return Work(parameters * size + held, 2 * parameters * case.batch * positions)

    def passed(positions: int) -> Work:
        return work(weights_read(engine.target, target), positions, target)

    head = target.vocab_size * target.hidden_size
    block = work(parameters(drafter.backbone), drafter.config.block_size, drafter.config)
    base = work(head, engine.num_proposals)
    rollout = base + work(parameters(drafter.head) - left_unread(drafter), engine.num_proposals)
    return {
        "block pass": block,
        "base logits": base,
        "rollout": rollout,
        "draft": block + rollout,
        "verify": passed(engine.num_proposals + 1),
        "step": passed(1),
    }


def parameters(module: object) -> int:
    return sum(leaf.size for leaf in jax.tree.leaves(module))


def weights_read(module: object, config: TargetConfig) -> int:
    """Parameters that one pass reads: all but an embedding that is only looked up."""
    return parameters(module) - (not config.tie_word_embeddings) * config.vocab_size * config.hidden_size


def left_unread(drafter: BlockDrafter) -> int:
    """Parameters of the head that a rollout does not read: the projector's rows of what is not in the pool, and what is in a table."""
    draft, pool = drafter.config, drafter.pool_size
    if draft.domino is None:
        return 0
    pooled_away = (draft.draft_vocab_size - pool) * draft.domino.emb_dim if 0 < pool < draft.draft_vocab_size else 0
    return pooled_away + (drafter.table_V3R is not None) * drafter.head.input_3RD.size
