"""The DFlash drafter: one parallel pass over a block, reading the target's hidden states (z-lab/dflash; arXiv of the same name).

Two streams meet in its attention. *Context*: the target's residuals at committed positions, projected once to width D and
turned into keys and values by every layer. *Block*: the verified token followed by mask tokens. A block row sees all context
before the block and the whole block, without causality.

    context   0 ........ length-1 | length ............ length+block_size-1   block
              cached keys, values   verified  MASK  MASK ... MASK

A sliding layer (newer drafters have some) sees less of both: `visible_context` and `visible_block` are the rules.

Context is never updated by the layers and skips their input norm. The block's keys and values lie in the cache past the row's length
(a sliding layer's are not kept at all); the next round's context and block are written over them.
"""

import jax
import jax.numpy as jnp
from flax import nnx
from jax import Array

from domino_jax import layers
from domino_jax.cache import KVCache, write
from domino_jax.cached_attention import attend
from domino_jax.config import DraftConfig, Window
from domino_jax.placing import place


def visible_context(window: Window | None, length_B: Array, block_size: int, slots: int) -> Array:
    """Which context slots the block at positions length.. sees -> boolean, broadcasts to [B, T, S]."""
    slot_S, length_B11 = jnp.arange(slots), length_B[:, None, None]
    committed_B1S = slot_S < length_B11
    if window is None:
        return committed_B1S
    first_BT1 = length_B11 - window.size
    if window.moves:  # a row is one of the positions in its own window
        first_BT1 += jnp.arange(block_size)[:, None] + 1
    return committed_B1S & (slot_S >= first_BT1)


def visible_block(window: Window | None, block_size: int) -> Array | None:
    """Which rows of the block a row sees -> boolean [1, T, T], or None where it sees all. The window bounds the context alone."""
    return jnp.tri(block_size, dtype=bool)[None] if window is not None and window.causal else None


class DFlashLayer(nnx.Module):
    """One drafter layer. Context needs keys and values but no queries, so q stands apart from the fused k and v."""

    def __init__(self, config: DraftConfig, window: Window | None, dtype: jnp.dtype, *, rngs: nnx.Rngs):
        D, F, H = config.hidden_size, config.intermediate_size, config.head_dim
        K, G = config.num_key_value_heads, config.queries_per_kv_head

        def normal(*shape: int, fan_in: int) -> nnx.Param:
            return nnx.Param(fan_in**-0.5 * jax.random.normal(rngs.params(), shape, dtype))

        self.config, self.window = config, window
        self.input_norm_D = nnx.Param(jnp.ones(D, dtype))
        self.q_DKGH = normal(D, K, G, H, fan_in=D)
        self.kv_DK2H = normal(D, K, 2, H, fan_in=D)
        self.q_norm_H = nnx.Param(jnp.ones(H, dtype))
        self.k_norm_H = nnx.Param(jnp.ones(H, dtype))
        self.out_KGHD = normal(K, G, H, D, fan_in=K * G * H)
        self.post_norm_D = nnx.Param(jnp.ones(D, dtype))
        self.gate_up_D2F = normal(D, 2, F, fan_in=D)
        self.down_FD = normal(F, D, fan_in=F)

    def project_query(self, normed_BTD: Array) -> Array:
        return jnp.einsum("BTD,DKGH->BTKGH", normed_BTD, self.q_DKGH[...])

    def project_key_value(self, x_BTD: Array) -> Array:
        return jnp.einsum("BTD,DKAH->BTKAH", x_BTD, self.kv_DK2H[...])

    def key_value(self, x_BTD: Array, position_BT: Array) -> tuple[Array, Array]:
        """Keys (normed and turned) and values of context or block rows -> two [B, T, K, H]."""
        kv_BTK2H = self.project_key_value(x_BTD)
        key_BTKH = layers.rms_norm(kv_BTK2H[..., 0, :], self.k_norm_H[...], self.config.rms_norm_eps)
        return layers.rotate(key_BTKH, position_BT, self.config.rope), kv_BTK2H[..., 1, :]

    def query(self, normed_BTD: Array, position_BT: Array) -> Array:
        """Queries of block rows, normed and turned -> [B, T, K, G, H]."""
        query_BTKGH = layers.rms_norm(self.project_query(normed_BTD), self.q_norm_H[...], self.config.rms_norm_eps)
        return layers.rotate(query_BTKGH, position_BT, self.config.rope)

    def finish(self, x_BTD: Array, mixed_BTKGH: Array) -> Array:
        """What follows attention: output projection and feed-forward, each onto the residual stream."""
        x_BTD = x_BTD + layers.merge_heads(mixed_BTKGH, self.out_KGHD[...])
        normed_BTD = layers.rms_norm(x_BTD, self.post_norm_D[...], self.config.rms_norm_eps)
        return x_BTD + layers.swiglu(normed_BTD, self.gate_up_D2F[...], self.down_FD[...])

    def __call__(self, x_BTD: Array, context_BTD: Array, context_slot_BT: Array, length_B: Array, key_BKSH: Array, value_BKSH: Array):
        """Writes the new context, then runs the block over all context -> (x_BTD, key_BKSH, value_BKSH)."""
        block_size, config = x_BTD.shape[1], self.config
        position_BT = length_B[:, None] + jnp.arange(block_size)
        normed_BTD = layers.rms_norm(x_BTD, self.input_norm_D[...], config.rms_norm_eps)
        # One matmul for both streams reads the weights once.
        rows_BUD = jnp.concatenate([normed_BTD, context_BTD], 1)
        position_BU = jnp.concatenate([position_BT, context_slot_BT], 1)
        if self.window is None:
            # what the target rejected would lie where the block does
            kept_BT = jnp.where(context_slot_BT < length_B[:, None], context_slot_BT, key_BKSH.shape[2])
            query_BTKGH, key_BKSH, value_BKSH, _ = place(
                self.project_query(normed_BTD),
                self.project_key_value(rows_BUD),
                (self.q_norm_H[...], self.k_norm_H[...]),
                position_BU,
                jnp.concatenate([position_BT, kept_BT], 1),
                key_BKSH,
                value_BKSH,
                G=config.queries_per_kv_head,
                rope=config.rope,
                eps=config.rms_norm_eps,
            )
            mixed_BTKGH = attend(query_BTKGH, key_BKSH, value_BKSH, jnp.broadcast_to(position_BT[:, -1:], position_BT.shape))
        else:
            key_BUKH, value_BUKH = self.key_value(rows_BUD, position_BU)
            key_BKSH = write(key_BKSH, key_BUKH[:, block_size:], context_slot_BT)
            value_BKSH = write(value_BKSH, value_BUKH[:, block_size:], context_slot_BT)
            seen_BTS = visible_context(self.window, length_B, block_size, key_BKSH.shape[2])
            block_key_BKTH, block_value_BKTH = (a[:, :block_size].swapaxes(1, 2) for a in (key_BUKH, value_BUKH))
            own_1TT = visible_block(self.window, block_size)
            segments = [(key_BKSH, value_BKSH, seen_BTS), (block_key_BKTH, block_value_BKTH, own_1TT)]
            mixed_BTKGH = layers.attention(self.query(normed_BTD, position_BT), segments)
        return self.finish(x_BTD, mixed_BTKGH), key_BKSH, value_BKSH


class DFlash(nnx.Module):
    """The backbone. It owns neither embeddings nor head: both are the target's."""

    def __init__(self, config: DraftConfig, dtype: jnp.dtype, *, rngs: nnx.Rngs):
        D, XD = config.hidden_size, len(config.target_layer_ids) * config.hidden_size
        self.config = config
        self.fc_XD = nnx.Param(XD**-0.5 * jax.random.normal(rngs.params(), (XD, D), dtype))
        self.hidden_norm_D = nnx.Param(jnp.ones(D, dtype))
        self.layers = nnx.List([DFlashLayer(config, window, dtype, rngs=rngs) for window in config.windows])
        self.norm_D = nnx.Param(jnp.ones(D, dtype))

    def project_context(self, features: tuple[Array, ...]) -> Array:
        """The captured residuals (J times [B, T, D], in `target_layer_ids` order) -> context_BTD, shared by all layers."""
        features_BTX = jnp.concatenate(features, -1)
        return layers.rms_norm(features_BTX @ self.fc_XD[...], self.hidden_norm_D[...], self.config.rms_norm_eps)

    def write_context(self, features: tuple[Array, ...], slot_BT: Array, cache: KVCache) -> KVCache:
        """The cache with the keys and values of new context at `slot_BT`; slots at or past the capacity are dropped."""
        context_BTD = self.project_context(features)
        keys, values = [], []
        for layer, key_BKSH, value_BKSH in zip(self.layers, cache.key, cache.value, strict=True):
            key_BTKH, value_BTKH = layer.key_value(context_BTD, slot_BT)
            keys.append(write(key_BKSH, key_BTKH, slot_BT))
            values.append(write(value_BKSH, value_BTKH, slot_BT))
        return KVCache(tuple(keys), tuple(values))

    def block(
        self, block_BTD: Array, features: tuple[Array, ...], slot_BT: Array, length_B: Array, cache: KVCache
    ) -> tuple[Array, KVCache]:
        """Writes new context at `slot_BT`, then passes the embedded block at positions length.. -> (hidden_BTD, cache).

        The block is always exactly `block_size` rows wide: attention runs both ways, so another width is another function. The cache
        must have room for it past the row's length.
        """
        with jax.named_scope("context"):
            context_BTD = self.project_context(features)
        x_BTD, keys, values = block_BTD, [], []
        for number, (layer, key_BKSH, value_BKSH) in enumerate(zip(self.layers, cache.key, cache.value, strict=True)):
            with jax.named_scope(f"draft_layer{number}"):
                x_BTD, key_BKSH, value_BKSH = layer(x_BTD, context_BTD, slot_BT, length_B, key_BKSH, value_BKSH)
            keys.append(key_BKSH)
            values.append(value_BKSH)
        return layers.rms_norm(x_BTD, self.norm_D[...], self.config.rms_norm_eps), KVCache(tuple(keys), tuple(values))
