"""The tokens a drafter reads and proposes: the target's, but for what its checkpoint brings itself.

Most drafters bring nothing. One in speculators' format may have an embedding or a head of its own, and may propose only U of the
target's V tokens: its logits, its projector and its candidate pool are then over those, and a table says which token each is.
Proposals, and the tokens it reads, are always the target's ids.
"""

import jax
import jax.numpy as jnp
from flax import nnx
from jax import Array

from domino_jax.config import DraftConfig
from domino_jax.target import Embedder


class Vocabulary(nnx.Module):
    def __init__(self, config: DraftConfig, dtype: jnp.dtype, *, rngs: nnx.Rngs):
        V, U, D = config.vocab_size, config.draft_vocab_size, config.hidden_size
        self.embed_VD = nnx.Param(jax.random.normal(rngs.params(), (V, D), dtype)) if config.own_embedding else None
        self.head_UD = nnx.Param(D**-0.5 * jax.random.normal(rngs.params(), (U, D), dtype)) if config.own_head else None
        self.id_U = nnx.Param(jnp.arange(U, dtype=jnp.int32)) if config.is_reduced else None

    def encode(self, embedder: Embedder, tokens: Array) -> Array:
        """The target's ids, of any shape -> their embeddings, one more axis D."""
        if self.embed_VD is None:
            return embedder.encode(tokens)
        return jnp.take(self.embed_VD[...], tokens, axis=0, mode="clip")

    def decode(self, embedder: Embedder, hidden: Array) -> Array:
        """hidden [..., D] -> logits [..., U]."""
        return embedder.decode(hidden) if self.head_UD is None else jnp.einsum("...D,UD->...U", hidden, self.head_UD[...])

    def named(self, choice: Array) -> Array:
        """Places among the U -> the target's ids."""
        return choice if self.id_U is None else self.id_U[...][choice]

    def of_drafter(self, a_BPV: Array) -> Array:
        """What belongs to the target's tokens (noise, say), of those U alone."""
        return a_BPV if self.id_U is None else a_BPV[..., self.id_U[...]]
