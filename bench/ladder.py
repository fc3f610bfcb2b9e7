"""The four optimisations of the published rollout, one after the other, as each would be written without the next.

    inside     the language-model head inside the loop, every operation its own program
    one matmul base logits of all positions at once, before the loop
    compiled   the whole rollout one program
    feedback   the GRU's input from a table, embed · W_ih for every token; the projector's hidden half before the loop
    pool       a candidate pool in place of the whole vocabulary

The package's own rollout is the last, with kernels that select the pool on a GPU, and without the table on a CPU.
"""

import jax
import jax.numpy as jnp
from jax import Array, lax

from domino_jax import layers
from domino_jax.domino import DominoHead
from domino_jax.pool import by_search

RUNGS = ("inside", "one matmul", "compiled", "feedback", "pool")


def plain(head: DominoHead, embed_VD: Array, head_VD: Array, hidden_BPD: Array, verified_B: Array, one_matmul: bool) -> Array:
    """The rollout position by position, over the whole vocabulary, one uncorrected proposal -> int32 [B, P]."""
    base_BPV = jnp.einsum("BPD,VD->BPV", hidden_BPD, head_VD) if one_matmul else None

    def base(j: int) -> Array:
        return base_BPV[:, j] if one_matmul else hidden_BPD[:, j] @ head_VD.T

    state_BR = jnp.zeros((len(verified_B), head.recurrent_3RR.shape[-1]), jnp.float32)
    state_BR = head.read(embed_VD[verified_B], state_BR)
    proposals = [jnp.argmax(base(0), -1).astype(jnp.int32)]
    for j in range(1, hidden_BPD.shape[1]):
        state_BR = head.read(embed_VD[proposals[-1]], state_BR)
        both_BX = jnp.concatenate([hidden_BPD[:, j], layers.rounded(state_BR, hidden_BPD.dtype)], -1)
        inner_BE = jax.nn.silu(jnp.einsum("BX,EX->BE", both_BX, head.w1_EX[...], preferred_element_type=jnp.float32))
        inner_BE = layers.rounded(inner_BE, hidden_BPD.dtype)
        corrected_BV = jnp.einsum("BE,VE->BV", inner_BE, head.w2_VE[...], preferred_element_type=jnp.float32)
        proposals.append(jnp.argmax(base(j).astype(jnp.float32) + corrected_BV, -1).astype(jnp.int32))
    return jnp.stack(proposals, 1)


def feedback(head: DominoHead, table_V3R: Array, head_VD: Array, hidden_BPD: Array, verified_B: Array, pool_size: int) -> Array:
    """The same with cheap feedback, over the pool (0: the whole vocabulary)."""
    base_BPV = jnp.einsum("BPD,VD->BPV", hidden_BPD, head_VD)
    w1_hidden_ED, w1_state_ER = jnp.split(head.w1_EX[...], [hidden_BPD.shape[-1]], 1)
    hidden_BPE = jnp.einsum("BPD,ED->BPE", hidden_BPD, w1_hidden_ED, preferred_element_type=jnp.float32)
    first_B = jnp.argmax(base_BPV[:, 0], -1).astype(jnp.int32)
    state_BR = jnp.zeros((len(verified_B), w1_state_ER.shape[1]), jnp.float32)
    state_BR = layers.gru_cell(table_V3R[verified_B].astype(jnp.float32), state_BR, head.recurrent_3RR[...])
    w2, pool_BC, choices_BPC = head.w2_VE[...], None, base_BPV[:, 1:]
    if 0 < pool_size < len(head_VD):
        pool_BC = by_search(base_BPV, pool_size, 1)
        w2, choices_BPC = w2[pool_BC], jnp.take_along_axis(choices_BPC, pool_BC[:, None], -1)

    def step(carry, at):
        (state_BR, token_B), (base_BC, hidden_BE) = carry, at
        state_BR = layers.gru_cell(table_V3R[token_B].astype(jnp.float32), state_BR, head.recurrent_3RR[...])
        dtype = w1_state_ER.dtype
        state_BE = jnp.einsum("BR,ER->BE", layers.rounded(state_BR, dtype), w1_state_ER, preferred_element_type=jnp.float32)
        inner_BE = layers.rounded(jax.nn.silu(hidden_BE + state_BE), dtype)
        scored = "BE,BCE->BC" if pool_BC is not None else "BE,CE->BC"
        logits_BC = base_BC.astype(jnp.float32) + jnp.einsum(scored, inner_BE, w2, preferred_element_type=jnp.float32)
        token_B = jnp.argmax(logits_BC, -1).astype(jnp.int32)
        if pool_BC is not None:
            token_B = jnp.take_along_axis(pool_BC, token_B[:, None], -1)[:, 0]
        return (state_BR, token_B), token_B

    along_P = jax.tree.map(lambda a: a.swapaxes(0, 1), (choices_BPC, hidden_BPE[:, 1:]))
    _, tokens_PB = lax.scan(step, (state_BR, first_B), along_P)
    return jnp.concatenate([first_B[:, None], tokens_PB.T], 1)
