"""Which blocks of a sequence are drafted in training, and what each of their proposals must be.

A block starts at an *anchor*: the verified token of a round that never was. With x the sequence and a the anchor, proposal j
(0-based) must be x[a+1+j], and the Domino head has by then read x[a], ..., x[a+j]. That is so in both label layouts; they
differ only in which row of the block pass predicts proposal j (`DraftConfig.first_row` + j).

Two more axis letters: A anchors (blocks) of a sequence; S here is the positions of a sequence.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jax import Array


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Blocks:
    anchor_BA: Array  # position of the verified token; 0 in unused places
    keep_BA: Array  # whether the place is used
    read_BAP: Array  # x[a+j], what the head reads before it corrects proposal j; read[..., 0] is the verified token
    label_BAP: Array  # x[a+1+j]
    valid_BAP: Array  # whether the label counts


def candidates(loss_mask_BS: Array) -> Array:
    """Positions that may be anchors: they and the next are supervised -> bool [B, S - 1]. Padding never changes them."""
    return loss_mask_BS[:, :-1] & loss_mask_BS[:, 1:]


def sample_anchors(key: Array, loss_mask_BS: Array, count: int) -> tuple[Array, Array]:
    """`count` anchors of each sequence, uniform without replacement, ascending; unused places are 0 -> (anchor_BA, keep_BA)."""
    valid = candidates(loss_mask_BS)
    drawn = jnp.where(valid, jax.random.uniform(key, valid.shape), 2.0)
    smallest, chosen = jax.lax.top_k(-drawn, min(count, valid.shape[1]))
    chosen = jnp.sort(jnp.where(smallest > -2.0, chosen, valid.shape[1]), axis=-1)
    keep_BA = chosen < valid.shape[1]
    pad = ((0, 0), (0, count - chosen.shape[1]))
    return jnp.pad(jnp.where(keep_BA, chosen, 0), pad), jnp.pad(keep_BA, pad)


def make_blocks(tokens_BS: Array, loss_mask_BS: Array, anchor_BA: Array, keep_BA: Array, num_proposals: int) -> Blocks:
    """What the blocks at these anchors read and must propose. Supervision of a block stops at the first label that does not count."""
    last = tokens_BS.shape[1] - 1
    index_BAP = anchor_BA[..., None] + 1 + jnp.arange(num_proposals)
    inside = jnp.minimum(index_BAP, last)

    def at(a_BS, index_BAP):
        return jnp.take_along_axis(a_BS[:, None], index_BAP, -1)

    counts = keep_BA[..., None] & (index_BAP <= last) & at(loss_mask_BS, inside)
    valid_BAP = jnp.cumprod(counts.astype(jnp.int32), -1).astype(bool)
    return Blocks(anchor_BA, keep_BA, at(tokens_BS, jnp.minimum(index_BAP - 1, last)), at(tokens_BS, inside), valid_BAP)
