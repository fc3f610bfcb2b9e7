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

from collections.abc import Callable
from functools import partial

import jax
import jax.numpy as jnp
from flax import nnx
from jax import Array, lax

from domino_jax import layers
from domino_jax.config import DraftConfig
from domino_jax.pool import select_pool
from domino_jax.sampling import SamplingState, draw, perturbed


class DominoHead(nnx.Module):
    """GRU and correction projector. The columns of w1_EX are z's (D of them), then the GRU state's (R).

    Matrices are [out, in], as published: one row times such a matrix is a sum along memory, which XLA does on a GPU in one launch.
    """

    def __init__(self, config: DraftConfig, dtype: jnp.dtype, *, rngs: nnx.Rngs):
        D, R, E, V = config.hidden_size, config.domino.gru_hidden_dim, config.domino.emb_dim, config.draft_vocab_size

        def normal(*shape: int, fan_in: int) -> nnx.Param:
            return nnx.Param(fan_in**-0.5 * jax.random.normal(rngs.params(), shape, dtype))

        self.input_3RD = normal(3, R, D, fan_in=D)
        self.recurrent_3RR = normal(3, R, R, fan_in=R)
        self.w1_EX = normal(E, D + R, fan_in=D + R)
        self.w2_VE = normal(V, E, fan_in=E)
        self.bias1_E = nnx.Param(jnp.zeros(E, dtype)) if config.domino.bias else None
        self.bias2_V = nnx.Param(jnp.zeros(V, dtype)) if config.domino.bias else None

    def gru_input(self, token_BD: Array) -> Array:
        """What embedded tokens give the GRU -> float32 [B, 3, R]."""
        return jnp.einsum("BD,ARD->BAR", token_BD, self.input_3RD[...], preferred_element_type=jnp.float32)

    def input_table(self, embed_VD: Array) -> Array:
        """The same of every token, in the dtype of the weights -> [V, 3, R]."""
        # float32 multiplies in float32, as in `programs.lower`
        return jnp.einsum("VD,ARD->VAR", embed_VD, self.input_3RD[...], precision="highest")

    def read(self, token_BD: Array, state_BR: Array) -> Array:
        """The GRU state after one more (embedded) token, float32."""
        return layers.gru_cell(self.gru_input(token_BD), state_BR, self.recurrent_3RR[...])


def looked_up(table_V3R: Array, token_B: Array) -> Array:
    """What token ids give the GRU, from an `input_table` -> float32 [B, 3, R]. An impossible id reads some row."""
    return jnp.take(table_V3R, token_B, axis=0, mode="clip").astype(jnp.float32)


def rollout(
    head: DominoHead,
    gru_input: Callable[[Array], Array],
    base_BPV: Array,
    hidden_BPD: Array,
    verified_B: Array,
    prefix: int,
    pool_size: int,
    sampling: SamplingState | None = None,
    noise_BPV: Array | None = None,
    named=lambda choice: choice,
) -> Array:
    """The proposals of one block -> int32 [B, P]. `gru_input` is what token ids give the GRU, float32 [B, 3, R].

    `prefix` proposals are uncorrected. `pool_size` 0, or the vocabulary or more, corrects over the whole vocabulary. With `sampling`
    tokens are drawn, with the noise of their positions, instead of the largest taken. Where V are a drafter's own tokens, `named` turns
    them into ids.
    """
    P, V = base_BPV.shape[1:]
    prefix_BP = named(draw(base_BPV[:, :prefix], None if noise_BPV is None else noise_BPV[:, :prefix], sampling))
    if prefix >= P:
        return prefix_BP
    walk = Walk(head, gru_input, base_BPV, hidden_BPD, sampling, noise_BPV, named)
    carry = walk.prime(verified_B, prefix_BP)
    if not 0 < pool_size < V:
        return jnp.concatenate([prefix_BP, walk.over_vocabulary(carry, prefix, P)[1]], 1)
    first_BP = prefix_BP[:, :0]
    if prefix == 0:
        carry, first_BP = walk.over_vocabulary(carry, 0, 1)
    start = max(prefix, 1)
    tokens = [prefix_BP, first_BP]
    if start < P:
        with jax.named_scope("pool"):
            score_BPV = perturbed(base_BPV, noise_BPV, sampling)
            pool_BC = select_pool(score_BPV, pool_size, start)
        tokens.append(walk.over_pool(carry, start, P, pool_BC)[1])
    return jnp.concatenate(tokens, 1)


class Walk:
    """The walk over the corrected positions of one block. Its carry is (GRU state, the newest token, not yet read)."""

    def __init__(
        self,
        head: DominoHead,
        gru_input: Callable[[Array], Array],
        base_BPV: Array,
        hidden_BPD: Array,
        sampling: SamplingState | None,
        noise_BPV: Array | None,
        named=lambda choice: choice,
    ):
        w1_hidden_ED, self.w1_state_ER = jnp.split(head.w1_EX[...], [hidden_BPD.shape[-1]], 1)
        self.head, self.gru_input, self.base_BPV, self.sampling, self.noise_BPV = head, gru_input, base_BPV, sampling, noise_BPV
        self.named = named
        # z's part of W1 for all positions at once. Float32 from here on: correction sums are never rounded to the model's dtype.
        self.hidden_BPE = jnp.einsum("BPD,ED->BPE", hidden_BPD, w1_hidden_ED, preferred_element_type=jnp.float32)
        if head.bias1_E is not None:
            self.hidden_BPE += head.bias1_E[...]

    def read(self, token_B: Array, state_BR: Array) -> Array:
        """The GRU state after one more token, float32."""
        return layers.gru_cell(self.gru_input(token_B), state_BR, self.head.recurrent_3RR[...])

    def prime(self, verified_B: Array, prefix_BP: Array) -> tuple[Array, Array]:
        state_BR = jnp.zeros((verified_B.shape[0], self.w1_state_ER.shape[1]), jnp.float32)
        token_B = verified_B
        for next_B in prefix_BP.T:
            state_BR, token_B = self.read(token_B, state_BR), next_B
        return state_BR, token_B

    def inner(self, state_BR: Array, hidden_BE: Array) -> Array:
        """silu(W1 · [z ; g]), in the model's dtype."""
        dtype = self.w1_state_ER.dtype
        state_BE = jnp.einsum("BR,ER->BE", layers.rounded(state_BR, dtype), self.w1_state_ER, preferred_element_type=jnp.float32)
        return layers.rounded(jax.nn.silu(hidden_BE + state_BE), dtype)

    def over_vocabulary(self, carry: tuple[Array, Array], start: int, stop: int) -> tuple[tuple[Array, Array], Array]:
        """Proposals start..stop-1, each corrected over the whole vocabulary -> (carry, int32 [B, stop - start])."""
        w2_VE, bias2_V = self.head.w2_VE[...], 0 if self.head.bias2_V is None else self.head.bias2_V[...]

        def correct(inner_BE):
            return jnp.einsum("BE,VE->BV", inner_BE, w2_VE, preferred_element_type=jnp.float32) + bias2_V

        noise_BPV = None if self.noise_BPV is None else self.noise_BPV[:, start:stop]
        return self._scan(carry, start, stop, self.base_BPV[:, start:stop], noise_BPV, correct)

    def over_pool(self, carry: tuple[Array, Array], start: int, stop: int, pool_BC: Array) -> tuple[tuple[Array, Array], Array]:
        """The same, choosing among each row's pool. Its ids ascend, so a tie goes to the lowest."""
        w2_BCE, bias2_BC = self.head.w2_VE[...][pool_BC], 0 if self.head.bias2_V is None else self.head.bias2_V[...][pool_BC]

        def correct(inner_BE):
            return jnp.einsum("BE,BCE->BC", inner_BE, w2_BCE, preferred_element_type=jnp.float32) + bias2_BC

        def of_pool(a_BPV):
            return None if a_BPV is None else jnp.take_along_axis(a_BPV[:, start:stop], pool_BC[:, None], -1)

        return self._scan(carry, start, stop, of_pool(self.base_BPV), of_pool(self.noise_BPV), correct, pool_BC)

    def _scan(self, carry, start: int, stop: int, base_BPC: Array, noise_BPC: Array | None, correct, pool_BC: Array | None = None):
        """The feedback: read the newest token, correct the next position's logits, choose. `pool_BC` turns a choice into one of the V."""

        def step(carry, at):
            (state_BR, token_B), (base_BC, hidden_BE, noise_BC) = carry, at
            state_BR = self.read(token_B, state_BR)
            logits_BC = base_BC.astype(jnp.float32) + correct(self.inner(state_BR, hidden_BE))
            token_B = draw(logits_BC[:, None], None if noise_BC is None else noise_BC[:, None], self.sampling)[:, 0]
            if pool_BC is not None:
                token_B = jnp.take_along_axis(pool_BC, token_B[:, None], -1)[:, 0]
            token_B = self.named(token_B)
            return (state_BR, token_B), token_B

        along_P = jax.tree.map(lambda a: a.swapaxes(0, 1), (base_BPC, self.hidden_BPE[:, start:stop], noise_BPC))
        with jax.named_scope("walk"):
            # unrolled, an accelerator has the whole walk in one launch; a loop is one for each step, and quicker to compile
            walks = {"cpu": partial(lax.scan, step), "default": partial(lax.scan, step, unroll=True)}
            carry, tokens_PB = lax.platform_dependent(carry, along_P, **walks)
        return carry, tokens_PB.T
