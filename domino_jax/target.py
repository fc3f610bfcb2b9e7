"""The target model: a dense Qwen3, Qwen2.5 or Llama 3. Its forward pass also returns the residual stream after every layer.

A drafter reads the residual stream of a few layers. All of them are returned, and whoever drafts picks its own, so the
compiled program is the same for every drafter and for none, and so is every bit it computes.
"""

import jax
import jax.numpy as jnp
from flax import nnx
from jax import Array

from domino_jax import layers
from domino_jax.cache import KVCache
from domino_jax.cached_attention import attend
from domino_jax.config import TargetConfig
from domino_jax.placing import place


class Embedder(nnx.Module):
    """Token embedding and language-model head; with tied embeddings one matrix serves as both."""

    def __init__(self, config: TargetConfig, dtype: jnp.dtype, *, rngs: nnx.Rngs):
        shape = (config.vocab_size, config.hidden_size)
        scale = config.hidden_size**-0.5
        self.embed_VD = nnx.Param(jax.random.normal(rngs.params(), shape, dtype))
        self.head_VD = None if config.tie_word_embeddings else nnx.Param(scale * jax.random.normal(rngs.params(), shape, dtype))

    def encode(self, tokens: Array) -> Array:
        """Token ids of any shape -> their embeddings, one more axis D. An impossible id (-1) reads some row; see `verify`."""
        return jnp.take(self.embed_VD[...], tokens, axis=0, mode="clip")

    def decode(self, hidden: Array) -> Array:
        """hidden [..., D] -> logits [..., V] in the model's dtype."""
        head_VD = self.embed_VD if self.head_VD is None else self.head_VD
        return jnp.einsum("...D,VD->...V", hidden, head_VD[...])


class TargetLayer(nnx.Module):
    """Parameters and arithmetic of one decoder layer. q, k and v are one matrix, kv head by kv head, so that it shards by K."""

    def __init__(self, config: TargetConfig, dtype: jnp.dtype, *, rngs: nnx.Rngs):
        D, F, H = config.hidden_size, config.intermediate_size, config.head_dim
        K, G = config.num_key_value_heads, config.queries_per_kv_head

        def normal(*shape: int, fan_in: int) -> nnx.Param:
            return nnx.Param(fan_in**-0.5 * jax.random.normal(rngs.params(), shape, dtype))

        # What writes to the residual stream starts (2L)^-1/2 smaller (GPT-2's choice): a deep random model would write in circles.
        branches = 2 * config.num_hidden_layers
        self.config = config
        self.input_norm_D = nnx.Param(jnp.ones(D, dtype))
        self.qkv_DKXH = normal(D, K, G + 2, H, fan_in=D)
        self.qkv_bias_KXH = nnx.Param(jnp.zeros((K, G + 2, H), dtype)) if config.qkv_bias else None
        self.q_norm_H = nnx.Param(jnp.ones(H, dtype)) if config.qk_norm else None
        self.k_norm_H = nnx.Param(jnp.ones(H, dtype)) if config.qk_norm else None
        self.out_KGHD = normal(K, G, H, D, fan_in=K * G * H * branches)
        self.out_bias_D = nnx.Param(jnp.zeros(D, dtype)) if config.out_bias else None
        self.post_norm_D = nnx.Param(jnp.ones(D, dtype))
        self.gate_up_D2F = normal(D, 2, F, fan_in=D)
        self.down_FD = normal(F, D, fan_in=F * branches)

    def __call__(self, x_BTD: Array, position_BT: Array, slot_BT: Array, key_BKSH: Array, value_BKSH: Array):
        """-> (x_BTD, key_BKSH, value_BKSH). Keys and values are written first; query t then sees every slot up to its own."""
        config, eps = self.config, self.config.rms_norm_eps
        G = config.queries_per_kv_head
        normed_BTD = layers.rms_norm(x_BTD, self.input_norm_D[...], eps)
        qkv_BTKXH = jnp.einsum("BTD,DKXH->BTKXH", normed_BTD, self.qkv_DKXH[...])
        if config.qkv_bias:
            qkv_BTKXH += self.qkv_bias_KXH[...]
        norms = (self.q_norm_H[...], self.k_norm_H[...]) if config.qk_norm else None
        # A value that is not finite is kept from other positions and marks its own, where it counts if the token is accepted: no
        # proposal can spoil a position before it.
        query_BTKGH, key_BKSH, value_BKSH, finite_BT = place(
            qkv_BTKXH, qkv_BTKXH, norms, position_BT, slot_BT, key_BKSH, value_BKSH, G=G, rope=config.rope, eps=eps
        )
        mixed_BTKGH = attend(query_BTKGH, key_BKSH, value_BKSH, slot_BT)
        x_BTD = x_BTD + layers.merge_heads(mixed_BTKGH, self.out_KGHD[...])
        if config.out_bias:
            x_BTD += self.out_bias_D[...]
        x_BTD = jnp.where(finite_BT[..., None], x_BTD, jnp.nan)
        normed_BTD = layers.rms_norm(x_BTD, self.post_norm_D[...], eps)
        return x_BTD + layers.swiglu(normed_BTD, self.gate_up_D2F[...], self.down_FD[...]), key_BKSH, value_BKSH


class Target(nnx.Module):
    """Embedder, layers, final norm. `rngs` draws random weights; a checkpoint replaces them leaf by leaf."""

    def __init__(self, config: TargetConfig, dtype: jnp.dtype, *, rngs: nnx.Rngs):
        self.config = config
        self.embedder = Embedder(config, dtype, rngs=rngs)
        self.layers = nnx.List([TargetLayer(config, dtype, rngs=rngs) for _ in range(config.num_hidden_layers)])
        self.norm_D = nnx.Param(jnp.ones(config.hidden_size, dtype))

    def forward(self, tokens_BT: Array, position_BT: Array, slot_BT: Array, cache: KVCache) -> tuple[Array, tuple[Array, ...], KVCache]:
        """-> (hidden_BTD after the final norm, the residual stream after each layer (L times [B, T, D]), the written cache).

        Layer i's residual is Hugging Face's `hidden_states[i + 1]`: its output, before the final norm. The layers are a
        Python loop over separate arrays: XLA copies each layer's weights out of a stack (5.5 against 13.4 ms on an H200).
        """
        x_BTD = self.embedder.encode(tokens_BT)
        residuals, keys, values = [], [], []
        for number, (layer, key_BKSH, value_BKSH) in enumerate(zip(self.layers, cache.key, cache.value, strict=True)):
            with jax.named_scope(f"layer{number}"):
                x_BTD, key_BKSH, value_BKSH = layer(x_BTD, position_BT, slot_BT, key_BKSH, value_BKSH)
            residuals.append(x_BTD)
            keys.append(key_BKSH)
            values.append(value_BKSH)
        hidden_BTD = layers.rms_norm(x_BTD, self.norm_D[...], self.config.rms_norm_eps)
        return hidden_BTD, tuple(residuals), KVCache(tuple(keys), tuple(values))
