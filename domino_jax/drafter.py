"""What the engine needs of a drafter, and the two that give it: DFlash (with or without the Domino head) and a script."""

from typing import Protocol

import jax
import jax.numpy as jnp
from flax import nnx
from jax import Array

from domino_jax import cache, domino
from domino_jax.cache import KVCache
from domino_jax.config import DraftConfig
from domino_jax.dflash import DFlash
from domino_jax.domino import DominoHead
from domino_jax.errors import InputError
from domino_jax.sampling import SamplingState, draw, noise
from domino_jax.target import Embedder
from domino_jax.vocabulary import Vocabulary

DEFAULT_POOL_SIZE = 2048


def looks_up() -> bool:
    """Whether engines here give their drafters a table (`BlockDrafter.with_table`). On a CPU memory and time to start are dearer."""
    return jax.default_backend() != "cpu"


class Drafter(Protocol):
    """A pytree whose methods are pure. Its proposals may be anything: they change the speed and not one bit of the text."""

    kind: str
    num_proposals: int
    layer_ids: tuple[int, ...]  # whose residuals it reads, in this order

    def allocate(self, batch: int, capacity: int, dtype: jnp.dtype) -> KVCache: ...

    def prefill(self, cache: KVCache, features: tuple[Array, ...], row: Array, slot_1T: Array) -> KVCache:
        """Takes in one chunk of one row's prompt: the features ([1, T, D] each) of the positions `slot_1T`."""

    def propose(
        self,
        embedder: Embedder,
        cache: KVCache,
        features: tuple[Array, ...],
        slot_BT: Array,
        length_B: Array,
        verified_B: Array,
        sampling: SamplingState | None = None,
    ) -> tuple[Array, KVCache]:
        """Takes in the features of the last round, then proposes what follows `verified` at position `length` -> int32 [B, P]."""


class BlockDrafter(nnx.Module):
    """A DFlash backbone and, if its config has one, the Domino head on top."""

    def __init__(
        self,
        config: DraftConfig,
        dtype: jnp.dtype,
        *,
        rngs: nnx.Rngs,
        num_proposals: int | None = None,
        pool_size: int = DEFAULT_POOL_SIZE,
    ):
        self.config = config
        self.kind = config.kind
        self.layer_ids = config.target_layer_ids
        self.num_proposals = config.block_size - 1 if num_proposals is None else num_proposals
        self.pool_size = pool_size
        if not 1 <= self.num_proposals <= config.max_proposals:
            raise InputError(
                f"num_proposals is {num_proposals}, expected 1 to {config.max_proposals} "
                f"(a {self.kind} drafter of block size {config.block_size})"
            )
        if pool_size < 0:
            raise InputError(f"pool_size is {pool_size}, expected 0 (the full vocabulary) or more")
        self.backbone = DFlash(config, dtype, rngs=rngs)
        self.head = DominoHead(config, dtype, rngs=rngs) if config.domino else None
        self.vocabulary = Vocabulary(config, dtype, rngs=rngs)
        self.table_V3R = nnx.data(None)  # see `with_table`

    def with_table(self, embedder: Embedder) -> "BlockDrafter":
        """The same, with what each of the target's tokens gives the GRU looked up: 3VR numbers more memory, a matmul a step less."""
        if self.head is None or self.table_V3R is not None:
            return self
        embed_VD = (embedder if self.vocabulary.embed_VD is None else self.vocabulary).embed_VD
        tabled = jax.tree.map(lambda leaf: leaf, self)  # another module of the same arrays
        tabled.table_V3R = nnx.Param(jax.jit(DominoHead.input_table)(self.head, embed_VD[...]))
        return tabled

    def allocate(self, batch: int, capacity: int, dtype: jnp.dtype) -> KVCache:
        return cache.allocate(self.config, batch, capacity, dtype)

    def prefill(self, cache: KVCache, features: tuple[Array, ...], row: Array, slot_1T: Array) -> KVCache:
        one = cache.row(row, cleared=slot_1T[0, 0] == 0)
        return cache.with_row(row, self.backbone.write_context(features, slot_1T, one))

    def hidden(self, embedder, cache, features, slot_BT, length_B, verified_B):
        """The block pass: takes in the features of the last round -> (hidden_BPD that predict the proposals, cache)."""
        config = self.config
        masks_BT = jnp.full((verified_B.shape[0], config.block_size - 1), config.mask_token_id, jnp.int32)
        block_BTD = self.vocabulary.encode(embedder, jnp.concatenate([verified_B[:, None], masks_BT], 1))
        hidden_BTD, cache = self.backbone.block(block_BTD, features, slot_BT, length_B, cache)
        return hidden_BTD[:, config.first_row : config.first_row + self.num_proposals], cache

    def propose(self, embedder, cache, features, slot_BT, length_B, verified_B, sampling=None):
        vocabulary, noise_BPU = self.vocabulary, None
        with jax.named_scope("block_pass"):
            hidden_BPD, cache = self.hidden(embedder, cache, features, slot_BT, length_B, verified_B)
        with jax.named_scope("base_logits"):
            base_BPU = vocabulary.decode(embedder, hidden_BPD)
        if sampling is not None:
            with jax.named_scope("noise"):
                position_BP = length_B[:, None] + 1 + jnp.arange(self.num_proposals)
                noise_BPU = vocabulary.of_drafter(noise(sampling, position_BP, self.config.vocab_size))
        with jax.named_scope("rollout"):
            return self.walk(embedder, base_BPU, hidden_BPD, verified_B, sampling, noise_BPU), cache

    def walk(self, embedder, base_BPU, hidden_BPD, verified_B, sampling=None, noise_BPU=None) -> Array:
        """The proposals from base logits and hidden states -> int32 [B, P]."""
        vocabulary = self.vocabulary
        if self.head is None:
            return vocabulary.named(draw(base_BPU, noise_BPU, sampling))

        def gru_input(tokens):
            if self.table_V3R is None:
                return self.head.gru_input(vocabulary.encode(embedder, tokens))
            return domino.looked_up(self.table_V3R[...], tokens)

        prefix, pool = self.config.domino.pure_draft_prefix_len, self.pool_size
        walked = (gru_input, base_BPU, hidden_BPD, verified_B, prefix, pool, sampling, noise_BPU, vocabulary.named)
        return domino.rollout(self.head, *walked)


class ScriptedDrafter(nnx.Module):
    """Proposes what a table says for each slot of the batch and absolute position: forces any acceptance length in tests."""

    kind = "scripted"
    layer_ids = ()

    def __init__(self, script_BS: Array, num_proposals: int):
        self.script_BS = nnx.Param(jnp.asarray(script_BS, jnp.int32))
        self.num_proposals = num_proposals

    def allocate(self, batch: int, capacity: int, dtype: jnp.dtype) -> KVCache:
        return KVCache((), ())

    def prefill(self, cache, features, row, slot_1T):
        return cache

    def propose(self, embedder, cache, features, slot_BT, length_B, verified_B, sampling=None):
        position_BP = length_B[:, None] + 1 + jnp.arange(self.num_proposals)
        return jnp.take_along_axis(self.script_BS[...], position_BP, 1, mode="fill", fill_value=-1), cache
