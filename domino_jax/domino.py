"""The Domino head: proposals that depend on each other, from hidden states that do not (arXiv 2605.29707).

The backbone scores all positions of a block at once; each position is blind to what the others chose. The head walks over
them and corrects each score by the tokens before it. With e the target's embedding, z_j the backbone's hidden state that
predicts proposal j+1, and x_0 = the verified token, x_1, x_2, ... the proposals:

    base_j = head · z_j                              one matmul for all positions, before the walk
    g_j    = GRU(e(x_j), g_{j-1}),   g_{-1} = 0      has read every token before the one predicted
    logits = base_j + W2 · silu(W1 · [z_j ; g_j])    j >= prefix; earlier positions are uncorrected
    x_{j+1} = argmax logits

The first `pure_draft_prefix_len` proposals are plain argmaxes of the base logits. Later ones choose from the candidate pool
(`pool.py`), or from the whole vocabulary; the very first proposal of a block always from the whole vocabulary.
"""

import jax
import jax.numpy as jnp
from flax import nnx
from jax import Array, lax

from domino_jax import layers
from domino_jax.config import DraftConfig
from domino_jax.pool import select_pool


class DominoHead(nnx.Module):
    """GRU and correction projector. The rows of w1_XE are z's (D of them), then the GRU state's (R)."""

    def __init__(self, config: DraftConfig, dtype: jnp.dtype, *, rngs: nnx.Rngs):
        D, R, E, V = config.hidden_size, config.domino.gru_hidden_dim, config.domino.emb_dim, config.vocab_size

        def normal(*shape: int, fan_in: int) -> nnx.Param:
            return nnx.Param(fan_in**-0.5 * jax.random.normal(rngs.params(), shape, dtype))

        self.input_D3R = normal(D, 3, R, fan_in=D)
        self.recurrent_R3R = normal(R, 3, R, fan_in=R)
        self.w1_XE = normal(D + R, E, fan_in=D + R)
        self.w2_VE = normal(V, E, fan_in=E)

    def read(self, token_BD: Array, state_BR: Array) -> Array:
        """The GRU state after one more (embedded) token, float32."""
        input_B3R = jnp.einsum("BD,DAR->BAR", token_BD, self.input_D3R[...], preferred_element_type=jnp.float32)
        return layers.gru_cell(input_B3R, state_BR, self.recurrent_R3R[...])


def rollout(head: DominoHead, embed, base_BPV: Array, hidden_BPD: Array, verified_B: Array, prefix: int, pool_size: int) -> Array:
    """The proposals of one block -> int32 [B, P]. `embed` maps token ids to embeddings; `prefix` proposals are uncorrected.

    `pool_size` 0, or the vocabulary or more, corrects over the whole vocabulary.
    """
    P, V = base_BPV.shape[1:]
    prefix_BP = jnp.argmax(base_BPV[:, :prefix], -1).astype(jnp.int32)
    if prefix >= P:
        return prefix_BP
    walk = Walk(head, embed, base_BPV, hidden_BPD)
    carry = walk.prime(verified_B, prefix_BP)
    if not 0 < pool_size < V:
        return jnp.concatenate([prefix_BP, walk.over_vocabulary(carry, prefix, P)[1]], 1)
    first_BP = prefix_BP[:, :0]
    if prefix == 0:
        carry, first_BP = walk.over_vocabulary(carry, 0, 1)
    start = max(prefix, 1)
    tokens = [prefix_BP, first_BP]
    if start < P:
        tokens.append(walk.over_pool(carry, start, P, select_pool(base_BPV[:, start:].max(1), pool_size))[1])
    return jnp.concatenate(tokens, 1)


class Walk:
    """The walk over the corrected positions of one block. Its carry is (GRU state, the newest token, not yet read)."""

    def __init__(self, head: DominoHead, embed, base_BPV: Array, hidden_BPD: Array):
        w1_hidden_DE, self.w1_state_RE = jnp.split(head.w1_XE[...], [hidden_BPD.shape[-1]])
        self.head, self.embed, self.base_BPV = head, embed, base_BPV
        # z's part of W1 for all positions at once. Float32 from here on: correction sums are never rounded to the model's dtype.
        self.hidden_BPE = jnp.einsum("BPD,DE->BPE", hidden_BPD, w1_hidden_DE, preferred_element_type=jnp.float32)

    def prime(self, verified_B: Array, prefix_BP: Array) -> tuple[Array, Array]:
        state_BR = jnp.zeros((verified_B.shape[0], self.w1_state_RE.shape[0]), jnp.float32)
        token_B = verified_B
        for next_B in prefix_BP.T:
            state_BR, token_B = self.head.read(self.embed(token_B), state_BR), next_B
        return state_BR, token_B

    def inner(self, state_BR: Array, hidden_BE: Array) -> Array:
        """silu(W1 · [z ; g]), in the model's dtype."""
        dtype = self.w1_state_RE.dtype
        state_BE = jnp.einsum("BR,RE->BE", layers.rounded(state_BR, dtype), self.w1_state_RE, preferred_element_type=jnp.float32)
        return layers.rounded(jax.nn.silu(hidden_BE + state_BE), dtype)

    def over_vocabulary(self, carry: tuple[Array, Array], start: int, stop: int) -> tuple[tuple[Array, Array], Array]:
        """Proposals start..stop-1, each corrected over the whole vocabulary -> (carry, int32 [B, stop - start])."""
        w2_VE = self.head.w2_VE[...]

        def choose(inner_BE, base_BV):
            correction_BV = jnp.einsum("BE,VE->BV", inner_BE, w2_VE, preferred_element_type=jnp.float32)
            return jnp.argmax(base_BV.astype(jnp.float32) + correction_BV, -1).astype(jnp.int32)

        return self._scan(carry, self.base_BPV[:, start:stop], self.hidden_BPE[:, start:stop], choose)

    def over_pool(self, carry: tuple[Array, Array], start: int, stop: int, pool_BC: Array) -> tuple[tuple[Array, Array], Array]:
        """The same, choosing among each row's pool. Its ids ascend, so a tie goes to the lowest."""
        base_BPC = jnp.take_along_axis(self.base_BPV[:, start:stop], pool_BC[:, None], -1)
        w2_BCE = self.head.w2_VE[...][pool_BC]

        def choose(inner_BE, base_BC):
            correction_BC = jnp.einsum("BE,BCE->BC", inner_BE, w2_BCE, preferred_element_type=jnp.float32)
            choice_B = jnp.argmax(base_BC.astype(jnp.float32) + correction_BC, -1)
            return jnp.take_along_axis(pool_BC, choice_B[:, None], -1)[:, 0]

        return self._scan(carry, base_BPC, self.hidden_BPE[:, start:stop], choose)

    def _scan(self, carry, base_BPC: Array, hidden_BPE: Array, choose):
        def step(carry, at):
            state_BR, token_B = carry
            base_BC, hidden_BE = at
            state_BR = self.head.read(self.embed(token_B), state_BR)
            token_B = choose(self.inner(state_BR, hidden_BE), base_BC)
            return (state_BR, token_B), token_B

        carry, tokens_PB = lax.scan(step, carry, (base_BPC.swapaxes(0, 1), hidden_BPE.swapaxes(0, 1)))
        return carry, tokens_PB.T
