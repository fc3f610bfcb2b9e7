"""Acceptance: which proposals stand, and what of them a row may still emit. Pure functions of small arrays.

    proposals   p1  p2  p3 ... pP         what the drafter guessed for the positions after the verified token
    chosen   c0  c1  c2 ...    cP         what the target says after [verified, p1, ..., pP]

Proposal p_{j+1} stands while it equals c_j. With a of them accepted the round yields c_0 .. c_a: the accepted proposals,
which are the same tokens, and c_a, the bonus.
"""

import jax.numpy as jnp
from jax import Array


def count_accepted(proposals_BP: Array, chosen_BT: Array) -> Array:
    """The length of the longest agreeing prefix of each row -> int32 [B], 0 to P. An impossible proposal (-1) never agrees."""
    agrees_BP = (proposals_BP == chosen_BT[:, :-1]).astype(jnp.int32)
    return jnp.cumprod(agrees_BP, -1).sum(-1)


def count_emitted(chosen_BT: Array, accepted_B: Array, remaining_B: Array, stop_ids_BX: Array) -> tuple[Array, Array]:
    """How many of the round's accepted + 1 tokens a row emits, and whether it ends with them -> (int32 [B], bool [B]).

    A stop id *inside* the block ends the row there, the stop id included; so does the last token of its budget.
    """
    yielded_BT = jnp.arange(chosen_BT.shape[1]) <= accepted_B[:, None]
    stops_BT = (chosen_BT[..., None] == stop_ids_BX[:, None]).any(-1) & yielded_BT
    to_stop_B = jnp.where(stops_BT.any(-1), jnp.argmax(stops_BT, -1) + 1, accepted_B + 1)
    emitted_B = jnp.minimum(to_stop_B, remaining_B)
    return emitted_B, (stops_BT.any(-1) & (emitted_B == to_stop_B)) | (emitted_B == remaining_B)
