"""The training objective of DFlash and Domino drafters, and its metrics (arXiv 2605.29707, 2602.06036).

    base_j  = head · z_j                                    z_j: the block pass's hidden state for proposal j
    final_j = base_j + [j >= prefix] W2 · silu(W1 · [z_j ; GRU(x_a .. x_{a+j})])       teacher forcing: the head reads the truth
    L = (1 - λ) Σ w CE(final) / Σ w + λ Σ w CE(base) / Σ w,   w_j = valid_j · exp(-j / γ)

Sums run over everything an optimizer update sees (batch, devices, accumulation) before the one division. λ falls from 1 to 0:
the base anchor keeps the uncorrected proposals useful. Nothing is detached; at λ = 1 the head learns nothing. DFlash is the
same without the head: final = base.

Blocks do not see each other, so they are worked through in chunks, and a chunk's gradient is taken before the next begins: nothing
is computed twice, and memory is one chunk's.
"""

import dataclasses
from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jax import Array, lax

from domino_jax import layers
from domino_jax.dflash import DFlash, DFlashLayer, visible_block, visible_context
from domino_jax.domino import DominoHead
from domino_jax.drafter import BlockDrafter
from domino_jax.layers import MASKED
from domino_jax.target import Embedder
from domino_jax.train.blocks import Blocks

TOP = 5


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Sums:
    """Numerators and denominators, float32; they add up over chunks, batches and devices, and are divided once, by `metrics`."""

    weight: Array  # Σ w
    final_loss: Array  # Σ w CE(final)
    base_loss: Array
    rows: Array  # valid proposals
    top1: Array  # of them, label = argmax of the final logits
    top5: Array  # of them, label among the five largest
    base_top1: Array
    blocks: Array  # blocks with a valid proposal
    accepted: Array  # Σ over blocks of the longest right prefix
    base_accepted: Array

    def __add__(self, other: "Sums") -> "Sums":
        return jax.tree.map(jnp.add, self, other)

    @classmethod
    def zero(cls) -> "Sums":
        return cls(*(jnp.zeros((), jnp.float32) for _ in dataclasses.fields(cls)))

    def loss(self, base_weight: Array) -> Array:
        """The numerator of L at λ = base_weight."""
        return (1 - base_weight) * self.final_loss + base_weight * self.base_loss


def metrics(sums: Sums) -> dict[str, Array]:
    """Means. Acceptance length counts the bonus, over uniformly drawn anchors: more than an engine's, which visits harder ones."""
    rows, blocks, weight = (jnp.maximum(n, 1e-6) for n in (sums.rows, sums.blocks, sums.weight))
    return {
        "final_loss": sums.final_loss / weight,
        "base_loss": sums.base_loss / weight,
        "top1": sums.top1 / rows,
        "top5": sums.top5 / rows,
        "base_top1": sums.base_top1 / rows,
        "acceptance_length": (sums.accepted + sums.blocks) / blocks,
        "base_acceptance_length": (sums.base_accepted + sums.blocks) / blocks,
    }


def base_weight(step: Array | int, total_steps: int, start: float, ratio: float) -> Array:
    """λ after `step` optimizer updates: linear from `start` to 0 over `ratio` of the run, inside [0, 1]."""
    decay_steps = max(1, int(total_steps * ratio))
    return jnp.clip(start * (1 - jnp.minimum(step / decay_steps, 1.0)), 0.0, 1.0)


def decay(num_proposals: int, gamma: float | None) -> Array:
    """exp(-j / γ): early proposals matter more, for a wrong one ends the round. γ None or 0: no decay."""
    j_P = jnp.arange(num_proposals, dtype=jnp.float32)
    return jnp.exp(-j_P / gamma) if gamma else jnp.ones_like(j_P)


# The drafter's forward pass over many blocks of a sequence


def context_keys_values(backbone: DFlash, features: tuple[Array, ...]) -> list[tuple[Array, Array]]:
    """Every layer's keys and values of all positions, shared by all blocks: (key_BKSH, value_BKSH) a layer."""
    context_BSD = backbone.project_context(features)
    position_BS = jnp.broadcast_to(jnp.arange(context_BSD.shape[1]), context_BSD.shape[:2])
    return [tuple(a.swapaxes(1, 2) for a in layer.key_value(context_BSD, position_BS)) for layer in backbone.layers]


def _block_layer(layer: DFlashLayer, x_RTD: Array, position_RT: Array, context: tuple[Array, Array]) -> Array:
    """One layer over all blocks. Rows R = B · A are blocks; a row sees context *before* its anchor and its own block, as in decoding."""
    key_BKSH, value_BKSH = context
    B, K, S, H = key_BKSH.shape
    R, T = position_RT.shape
    normed_RTD = layers.rms_norm(x_RTD, layer.input_norm_D[...], layer.config.rms_norm_eps)
    query_RTKGH = layer.query(normed_RTD, position_RT)
    key_RTKH, value_RTKH = layer.key_value(normed_RTD, position_RT)
    query_BATKGH = query_RTKGH.reshape(B, R // B, *query_RTKGH.shape[1:])
    key_BATKH, value_BATKH = (a.reshape(B, R // B, T, K, H) for a in (key_RTKH, value_RTKH))
    scale, wide = H**-0.5, dict(preferred_element_type=jnp.float32)
    seen = jnp.einsum("BATKGH,BKSH->BKGATS", query_BATKGH, key_BKSH, **wide) * scale
    visible_RTS = visible_context(layer.window, position_RT[:, 0], T, S)
    seen = jnp.where(visible_RTS.reshape(B, R // B, -1, S)[:, None, None], seen, MASKED)
    own = jnp.einsum("BATKGH,BAUKH->BKGATU", query_BATKGH, key_BATKH, **wide) * scale
    if (visible_1TT := visible_block(layer.window, T)) is not None:
        own = jnp.where(visible_1TT, own, MASKED)
    weights = jax.nn.softmax(jnp.concatenate([seen, own], -1), -1).astype(x_RTD.dtype)
    mixed = jnp.einsum("BKGATS,BKSH->BATKGH", weights[..., :S], value_BKSH, **wide)
    mixed += jnp.einsum("BKGATU,BAUKH->BATKGH", weights[..., S:], value_BATKH, **wide)
    return layer.finish(x_RTD, mixed.astype(x_RTD.dtype).reshape(query_RTKGH.shape))


def block_hidden(drafter: BlockDrafter, embedder: Embedder, context: list, anchor_BA: Array, verified_BA: Array) -> Array:
    """Hidden states of the rows that predict proposals, for every block at once -> [B, A, P, D], P = `max_proposals`."""
    config, backbone = drafter.config, drafter.backbone
    masks = jnp.full((*verified_BA.shape, config.block_size - 1), config.mask_token_id, verified_BA.dtype)
    tokens_RT = jnp.concatenate([verified_BA[..., None], masks], -1).reshape(-1, config.block_size)
    position_RT = anchor_BA.reshape(-1, 1) + jnp.arange(config.block_size)
    x_RTD = embedder.encode(tokens_RT)
    for layer, keys_values in zip(backbone.layers, context, strict=True):
        x_RTD = _block_layer(layer, x_RTD, position_RT, keys_values)
    hidden_RTD = layers.rms_norm(x_RTD, backbone.norm_D[...], config.rms_norm_eps)
    return hidden_RTD[:, config.first_row :].reshape(*anchor_BA.shape, config.max_proposals, -1)


@jax.custom_vjp
def over_vocabulary(x_BAPD: Array, w_VD: Array) -> Array:
    """x · Wᵀ in float32. Its gradient, an array as large, is rounded to x's dtype before it is multiplied on: half the bytes."""
    return jnp.einsum("BAPD,VD->BAPV", x_BAPD, w_VD, preferred_element_type=jnp.float32)


def _over_vocabulary_backward(saved: tuple[Array, Array], g_BAPV: Array) -> tuple[Array, Array]:
    x_BAPD, w_VD = saved
    g_BAPV = g_BAPV.astype(x_BAPD.dtype)
    return jnp.einsum("BAPV,VD->BAPD", g_BAPV, w_VD), jnp.einsum("BAPV,BAPD->VD", g_BAPV, x_BAPD)


over_vocabulary.defvjp(lambda x_BAPD, w_VD: (over_vocabulary(x_BAPD, w_VD), (x_BAPD, w_VD)), _over_vocabulary_backward)


def correction(head: DominoHead, embedder: Embedder, hidden_BAPD: Array, read_BAP: Array, prefix: int) -> Array:
    """What the head adds to the base logits, having read the true tokens; 0 before proposal `prefix` -> float32 [B, A, P, V]."""
    B, A, P, D = hidden_BAPD.shape
    wide = dict(preferred_element_type=jnp.float32)
    input_RP3R = jnp.einsum("RPD,CQD->RPCQ", embedder.encode(read_BAP).reshape(B * A, P, D), head.input_3RD[...], **wide)
    width = head.recurrent_3RR.shape[-1]

    def read(state, gates):
        state = layers.gru_cell(gates, state, head.recurrent_3RR[...])
        return state, state

    _, states = lax.scan(read, jnp.zeros((B * A, width), jnp.float32), input_RP3R.swapaxes(0, 1))
    states_BAPR = states.swapaxes(0, 1).reshape(B, A, P, width).astype(hidden_BAPD.dtype)
    both = jnp.concatenate([hidden_BAPD, states_BAPR], -1)
    inner = jax.nn.silu(jnp.einsum("BAPX,EX->BAPE", both, head.w1_EX[...], **wide)).astype(hidden_BAPD.dtype)
    corrected_P1 = jnp.arange(P)[:, None] >= prefix
    return over_vocabulary(jnp.where(corrected_P1, inner, 0), head.w2_VE[...])


def logits(drafter: BlockDrafter, embedder: Embedder, context: list, blocks: Blocks) -> tuple[Array, Array]:
    """(base, final) logits of every proposal under teacher forcing -> float32 [B, A, P, V] each."""
    hidden_BAPD = block_hidden(drafter, embedder, context, blocks.anchor_BA, blocks.read_BAP[..., 0])
    head_VD = embedder.embed_VD if embedder.head_VD is None else embedder.head_VD
    base = over_vocabulary(hidden_BAPD, head_VD[...])
    if drafter.head is None:
        return base, base
    return base, base + correction(drafter.head, embedder, hidden_BAPD, blocks.read_BAP, drafter.config.domino.pure_draft_prefix_len)


# Loss and metrics


@jax.custom_vjp
def cross_entropy(logits_BAPV: Array, label_BAP: Array) -> Array:
    """-log softmax at the label, in float32."""
    return _cross_entropy_forward(logits_BAPV, label_BAP)[0]


def _cross_entropy_forward(logits_BAPV: Array, label_BAP: Array) -> tuple[Array, tuple]:
    at_label = jnp.take_along_axis(logits_BAPV, label_BAP[..., None], -1)[..., 0]
    logsumexp = jax.nn.logsumexp(logits_BAPV, -1)
    return logsumexp - at_label, (logits_BAPV, logsumexp, label_BAP)


def _cross_entropy_backward(saved: tuple[Array, Array, Array], g_BAP: Array) -> tuple[Array, None]:
    """softmax - one-hot, elementwise: derived, it would keep the exponentials and scatter into zeros, four more passes over the logits."""
    logits_BAPV, logsumexp, label_BAP = saved
    one_hot = jnp.arange(logits_BAPV.shape[-1]) == label_BAP[..., None]
    return (jnp.exp(logits_BAPV - logsumexp[..., None]) - one_hot) * g_BAP[..., None], None


cross_entropy.defvjp(_cross_entropy_forward, _cross_entropy_backward)


def rank_of_label(logits_BAPV: Array, label_BAP: Array) -> Array:
    """How many tokens come before the label, larger first and, among equals, lower ids first: 0 is the argmax."""
    at_label = jnp.take_along_axis(logits_BAPV, label_BAP[..., None], -1)
    ids = jnp.arange(logits_BAPV.shape[-1])
    return ((logits_BAPV > at_label) | ((logits_BAPV == at_label) & (ids < label_BAP[..., None]))).sum(-1)


def accepted_prefix(right_BAP: Array, valid_BAP: Array) -> Array:
    """Length of each block's longest prefix of right, valid proposals -> int32 [B, A]."""
    return jnp.cumprod((right_BAP & valid_BAP).astype(jnp.int32), -1).sum(-1)


def sums_of(base: Array, final: Array, blocks: Blocks, gamma: float | None) -> Sums:
    """The sums of these blocks' logits ([B, A, P, V] each)."""
    label, valid = blocks.label_BAP, blocks.valid_BAP
    weight = valid * decay(label.shape[-1], gamma)
    rank, base_rank = (rank_of_label(lax.stop_gradient(x), label) for x in (final, base))
    return Sums(
        weight=weight.sum(),
        final_loss=(weight * cross_entropy(final, label)).sum(),
        base_loss=(weight * cross_entropy(base, label)).sum(),
        rows=valid.sum().astype(jnp.float32),
        top1=(valid & (rank == 0)).sum().astype(jnp.float32),
        top5=(valid & (rank < TOP)).sum().astype(jnp.float32),
        base_top1=(valid & (base_rank == 0)).sum().astype(jnp.float32),
        blocks=valid.any(-1).sum().astype(jnp.float32),
        accepted=accepted_prefix(rank == 0, valid).sum().astype(jnp.float32),
        base_accepted=accepted_prefix(base_rank == 0, valid).sum().astype(jnp.float32),
    )


def sums_and_gradient(
    drafter: BlockDrafter,
    embedder: Embedder,
    features: tuple[Array, ...],
    blocks: Blocks,
    gamma: float | None,
    chunk: int,
    base_weight: Array,
) -> tuple[Sums, BlockDrafter]:
    """The sums of all blocks, and the float32 gradient of their loss's numerator in the drafter. `chunk`: blocks a sequence at a time."""
    context, of_context = jax.vjp(lambda backbone: context_keys_values(backbone, features), drafter.backbone)

    def split(a):
        return a.reshape(a.shape[0], -1, chunk, *a.shape[2:]).swapaxes(0, 1)

    def loss(drafter, context, part):
        sums = sums_of(*logits(drafter, embedder, context, part), part, gamma)
        return sums.loss(base_weight), sums

    def add(total, part):
        (_, sums), gradient = jax.value_and_grad(loss, argnums=(0, 1), has_aux=True)(drafter, context, part)
        return jax.tree.map(jnp.add, total, (sums, gradient)), None  # float32 + bfloat16 is float32

    zero = Sums.zero(), jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, jnp.float32), (drafter, context))
    (sums, (gradient, context_gradient)), _ = lax.scan(add, zero, jax.tree.map(split, blocks))
    (backbone_gradient,) = of_context(jax.tree.map(lambda g, leaf: g.astype(leaf.dtype), context_gradient, context))
    gradient.backbone = jax.tree.map(jnp.add, gradient.backbone, backbone_gradient)
    return sums, gradient
