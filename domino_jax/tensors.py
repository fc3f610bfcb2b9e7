"""The name table: which tensors of a published checkpoint make up which parameter.

Published matrices are PyTorch's, [out, in]; ours are shaped to be read and sharded (`layers.py` has the axis key). A row
lists the published names with their shapes, how to pack them into the parameter and how to take it apart again.
"""

from collections.abc import Callable
from dataclasses import dataclass

import jax.numpy as jnp
from jax import Array

from domino_jax.config import DecoderConfig, DraftConfig, TargetConfig

HEAD_TENSORS = ("prefix_gru.weight_ih_l0", "prefix_gru.weight_hh_l0", "embed_proj.0.weight", "embed_proj.2.weight")
HEAD_MODULES = ("prefix_gru.", "embed_proj.")
HEAD_BIASES = ("embed_proj.0.bias", "embed_proj.2.bias")  # no published drafter has them
HEAD_PREFIXES = ("logit_head.", "logits_correction.", "domino_head.")  # early SpecForge; speculators, newer and older
DRAFT_TO_TARGET, IN_DRAFT = "d2t", "t2d"  # a draft token's target id less its own; which target tokens the drafter has


@dataclass(frozen=True)
class Row:
    """`parameter` is a module path such as `layers.0.qkv_DKXH`; `sources` maps published names to published shapes."""

    parameter: str
    sources: dict[str, tuple[int, ...]]
    pack: Callable[..., Array]
    unpack: Callable[[Array], tuple[Array, ...]]


def cast(array: Array, dtype: jnp.dtype | None) -> Array:
    """In `dtype` (None: as it is). Integers stay what they are."""
    return array.astype(dtype) if dtype is not None and jnp.issubdtype(array.dtype, jnp.floating) else array


def _plain(parameter: str, name: str, *shape: int) -> Row:
    return Row(parameter, {name: shape}, lambda a: a, lambda a: (a,))


def _transposed(parameter: str, name: str, *shape: int) -> Row:
    return Row(parameter, {name: shape}, lambda a: a.T, lambda a: (a.T,))


def _decoder_layer(config: DecoderConfig, prefix: str) -> tuple[list[Row], dict[str, tuple[int, int]]]:
    """The rows that target and drafter layers share, and the published shapes of q, k and v."""
    D, F, H = config.hidden_size, config.intermediate_size, config.head_dim
    N, K, G = config.num_attention_heads, config.num_key_value_heads, config.queries_per_kv_head
    attention, mlp = prefix + "self_attn.", prefix + "mlp."
    rows = [
        _plain(prefix + "input_norm_D", prefix + "input_layernorm.weight", D),
        _plain(prefix + "post_norm_D", prefix + "post_attention_layernorm.weight", D),
        Row(
            prefix + "out_KGHD",
            {attention + "o_proj.weight": (D, N * H)},
            lambda o: o.T.reshape(K, G, H, D),
            lambda a: (a.reshape(N * H, D).T,),
        ),
        Row(
            prefix + "gate_up_D2F",
            {mlp + "gate_proj.weight": (F, D), mlp + "up_proj.weight": (F, D)},
            lambda gate, up: jnp.stack([gate.T, up.T], 1),
            lambda a: (a[:, 0].T, a[:, 1].T),
        ),
        _transposed(prefix + "down_FD", mlp + "down_proj.weight", D, F),
    ]
    shapes = {
        attention + "q_proj.weight": (N * H, D),
        attention + "k_proj.weight": (K * H, D),
        attention + "v_proj.weight": (K * H, D),
    }
    return rows, shapes


def target_rows(config: TargetConfig) -> list[Row]:
    """Qwen3, Qwen2.5 or Llama, names without the `model.` prefix."""
    D, H, V = config.hidden_size, config.head_dim, config.vocab_size
    K, G = config.num_key_value_heads, config.queries_per_kv_head

    def pack_qkv(q, k, v):
        return jnp.concatenate([q.T.reshape(D, K, G, H), k.T.reshape(D, K, 1, H), v.T.reshape(D, K, 1, H)], 2)

    def unpack_qkv(a):
        return a[:, :, :G].reshape(D, -1).T, a[:, :, G].reshape(D, -1).T, a[:, :, G + 1].reshape(D, -1).T

    def pack_qkv_bias(q, k, v):
        return jnp.concatenate([q.reshape(K, G, H), k.reshape(K, 1, H), v.reshape(K, 1, H)], 1)

    def unpack_qkv_bias(a):
        return a[:, :G].reshape(-1), a[:, G].reshape(-1), a[:, G + 1].reshape(-1)

    rows = [_plain("embedder.embed_VD", "embed_tokens.weight", V, D), _plain("norm_D", "norm.weight", D)]
    if not config.tie_word_embeddings:
        rows.append(_plain("embedder.head_VD", "lm_head.weight", V, D))
    for i in range(config.num_hidden_layers):
        layer, attention = f"layers.{i}.", f"layers.{i}.self_attn."
        shared, qkv = _decoder_layer(config, layer)
        rows += [*shared, Row(layer + "qkv_DKXH", qkv, pack_qkv, unpack_qkv)]
        if config.qk_norm:
            rows += _qk_norm(config, layer)
        if config.qkv_bias:
            biases = {name.replace("weight", "bias"): shape[:1] for name, shape in qkv.items()}
            rows.append(Row(layer + "qkv_bias_KXH", biases, pack_qkv_bias, unpack_qkv_bias))
        if config.out_bias:
            rows.append(_plain(layer + "out_bias_D", attention + "o_proj.bias", D))
    return rows


def _qk_norm(config: DecoderConfig, prefix: str) -> list[Row]:
    names = {"q_norm_H": "q_norm.weight", "k_norm_H": "k_norm.weight"}
    return [_plain(prefix + ours, f"{prefix}self_attn.{theirs}", config.head_dim) for ours, theirs in names.items()]


def draft_rows(config: DraftConfig) -> list[Row]:
    """DFlash, the head tensors where the config has a Domino head, and what the drafter has of a vocabulary of its own."""
    D, H = config.hidden_size, config.head_dim
    K, G = config.num_key_value_heads, config.queries_per_kv_head

    def pack_kv(k, v):
        return jnp.stack([k.T.reshape(D, K, H), v.T.reshape(D, K, H)], 2)

    def unpack_kv(a):
        return a[:, :, 0].reshape(D, -1).T, a[:, :, 1].reshape(D, -1).T

    rows = [
        _transposed("backbone.fc_XD", "fc.weight", D, len(config.target_layer_ids) * D),
        _plain("backbone.hidden_norm_D", "hidden_norm.weight", D),
        _plain("backbone.norm_D", "norm.weight", D),
    ]
    for i in range(config.num_hidden_layers):
        shared, qkv = _decoder_layer(config, f"layers.{i}.")
        (q_name, q_shape), *kv = qkv.items()
        layer = [
            *shared,
            *_qk_norm(config, f"layers.{i}."),
            Row(f"layers.{i}.q_DKGH", {q_name: q_shape}, lambda q: q.T.reshape(D, K, G, H), lambda a: (a.reshape(D, -1).T,)),
            Row(f"layers.{i}.kv_DK2H", dict(kv), pack_kv, unpack_kv),
        ]
        rows += [Row("backbone." + row.parameter, row.sources, row.pack, row.unpack) for row in layer]
    return rows + (_head_rows(config) if config.domino else []) + _vocabulary_rows(config)


def _vocabulary_rows(config: DraftConfig) -> list[Row]:
    V, U, D = config.vocab_size, config.draft_vocab_size, config.hidden_size

    def absolute(offset_U):
        return jnp.arange(U, dtype=jnp.int32) + offset_U.astype(jnp.int32)

    def offsets(id_U):
        return (id_U - jnp.arange(U, dtype=id_U.dtype),)

    rows = [_plain("vocabulary.embed_VD", "embed_tokens.weight", V, D)] * config.own_embedding
    rows += [_plain("vocabulary.head_UD", "lm_head.weight", U, D)] * config.own_head
    return rows + [Row("vocabulary.id_U", {DRAFT_TO_TARGET: (U,)}, absolute, offsets)] * config.is_reduced


def _head_rows(config: DraftConfig) -> list[Row]:
    D, R, E, V = config.hidden_size, config.domino.gru_hidden_dim, config.domino.emb_dim, config.draft_vocab_size

    def gates(parameter: str, name: str, width: int) -> Row:
        return Row(parameter, {name: (3 * R, width)}, lambda w: w.reshape(3, R, width), lambda a: (a.reshape(-1, width),))

    biases = [_plain("head.bias1_E", HEAD_BIASES[0], E), _plain("head.bias2_V", HEAD_BIASES[1], V)]
    return [
        gates("head.input_3RD", "prefix_gru.weight_ih_l0", D),
        gates("head.recurrent_3RR", "prefix_gru.weight_hh_l0", R),
        # columns of W1: first the backbone's hidden state, then the GRU state
        _plain("head.w1_EX", "embed_proj.0.weight", E, D + R),
        _plain("head.w2_VE", "embed_proj.2.weight", V, E),
        *(biases if config.domino.bias else []),
    ]
