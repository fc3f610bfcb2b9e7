"""Speculative rounds in PyTorch: what our rounds are compared with. Weights are ours, so both sides must choose the same tokens.

The target is Transformers' Qwen3, module by module: its embedding, layers, rotary embedding, norm and head, with SDPA, its default.
The loop over the layers is ours, which saves it the building of masks and the hooks that would collect hidden states, and so is the
cache. The drafter is ours: a DFlash backbone over a context cache of its own, then the rollout of `torch_baseline`. Draft and verify
keep their state in tensors that stay where they are, as a CUDA graph needs it.

    eager           operation by operation
    CUDA graph      draft and verify a graph each
    torch.compile   target pass and block pass compiled, the rest as it is; then a graph each
"""

import gc
import inspect
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F
from transformers import Qwen3Config, Qwen3ForCausalLM
from transformers.models.qwen3.modeling_qwen3 import Qwen3DecoderLayer, Qwen3RotaryEmbedding

from bench.timing import Variant
from bench.torch_baseline import Rollout, captured, device, tensor
from domino_jax import checkpoint
from domino_jax.drafter import BlockDrafter
from domino_jax.publish import rows_of
from domino_jax.target import Target

EAGER, GRAPH, COMPILED = "Transformers eager", "Transformers, CUDA graph", "torch.compile + SDPA"
WAYS = (EAGER, GRAPH, COMPILED)
CACHE = "cache" if "cache" in inspect.signature(Qwen3DecoderLayer.forward).parameters else "past_key_values"  # newer name, older name
OutOfMemory = torch.OutOfMemoryError


class Unavailable(Exception):
    """A way that does not run here; the message says why."""


def published(module: Target | BlockDrafter) -> dict[str, Tensor]:
    """The module's parameters under their bare published names."""
    parameters, found = checkpoint.leaves(module), {}
    for row in rows_of(module.config):
        for name, part in zip(row.sources, row.unpack(parameters[row.parameter]), strict=True):
            found[name] = tensor(part)
    return found


def give_back() -> None:
    """Frees the memory of rounds that are gone, graphs included."""
    gc.collect()
    if device() == "cuda":
        torch.cuda.empty_cache()


class Slots:
    """Keys and values [B, K, S, H] of each layer, allocated once. What is rejected is overwritten: nothing is ever cropped."""

    def __init__(self, layers: int, shape: tuple[int, ...], like: Tensor):
        self.keys, self.values = ([torch.zeros(shape, dtype=like.dtype, device=like.device) for _ in range(layers)] for _ in "kv")
        self.rows_B1 = torch.arange(shape[0], device=like.device)[:, None]

    def write(self, layer: int, key_BTKH: Tensor, value_BTKH: Tensor, slot_BT: Tensor) -> tuple[Tensor, Tensor]:
        """-> all keys and values of the layer."""
        self.keys[layer][self.rows_B1, :, slot_BT] = key_BTKH
        self.values[layer][self.rows_B1, :, slot_BT] = value_BTKH
        return self.keys[layer], self.values[layer]


class SlotCache:
    """What a Transformers layer takes for a cache: it writes a pass at the slots given, in each row its own."""

    def __init__(self, slots: Slots, slot_BT: Tensor):
        self.slots, self.slot_BT = slots, slot_BT

    def update(self, key_BKTH: Tensor, value_BKTH: Tensor, layer: int, *_, **__) -> tuple[Tensor, Tensor]:
        return self.slots.write(layer, key_BKTH.transpose(1, 2), value_BKTH.transpose(1, 2), self.slot_BT)


def additive(visible: Tensor, like: Tensor) -> Tensor:
    """A boolean mask as what is added to scores."""
    return torch.zeros(visible.shape, dtype=like.dtype, device=like.device).masked_fill_(~visible, float("-inf"))


class TorchTarget:
    """Transformers' Qwen3 with the weights of a target of ours."""

    def __init__(self, target: Target, layer_ids: tuple[int, ...]):
        config = Qwen3Config(**target.config.to_dict(), attn_implementation="sdpa")
        weights = {name if name == "lm_head.weight" else "model." + name: part for name, part in published(target).items()}
        with torch.device("meta"):
            self.model = Qwen3ForCausalLM(config).eval()
        self.model.load_state_dict(weights, assign=True)
        with torch.device(device()):
            self.model.model.rotary_emb = Qwen3RotaryEmbedding(config)  # it has buffers that are in no checkpoint
        self.embed, self.head = self.model.model.embed_tokens.weight.detach(), self.model.lm_head.weight.detach()
        self.config, self.layer_ids = target.config, layer_ids

    def allocate(self, batch: int, capacity: int) -> Slots:
        config = self.config
        return Slots(config.num_hidden_layers, (batch, config.num_key_value_heads, capacity, config.head_dim), self.embed)

    def forward(self, slots: Slots, tokens_BT: Tensor, slot_BT: Tensor) -> tuple[Tensor, Tensor]:
        """-> (logits_BTV, the captured residuals side by side)."""
        model, residuals = self.model.model, []
        x_BTD = model.embed_tokens(tokens_BT)
        visible_BTS = torch.arange(slots.keys[0].shape[2], device=x_BTD.device) <= slot_BT[..., None]
        mask_B1TS, turns = additive(visible_BTS[:, None], x_BTD), model.rotary_emb(x_BTD, slot_BT)
        options = {"attention_mask": mask_B1TS, "position_embeddings": turns, "position_ids": slot_BT, CACHE: SlotCache(slots, slot_BT)}
        for layer in model.layers:
            x_BTD = layer(x_BTD, **options)
            residuals.append(x_BTD)
        return self.model.lm_head(model.norm(x_BTD)), torch.cat([residuals[i] for i in self.layer_ids], -1)


class TorchDrafter:
    """A DFlash backbone with the weights of a drafter of ours. It has full attention and the target's embedding."""

    def __init__(self, drafter: BlockDrafter, target: TorchTarget):
        self.config, self.drafter, self.target, weights = drafter.config, drafter, target, published(drafter)
        self.fc, self.hidden_norm, self.norm = (weights[f"{name}.weight"] for name in ("fc", "hidden_norm", "norm"))
        self.layers = [self.layer_weights(weights, f"layers.{i}.") for i in range(self.config.num_hidden_layers)]
        rates = torch.from_numpy(self.config.rope.rates(self.config.head_dim)).float()
        self.rates = torch.cat([rates, rates]).to(self.fc.device)

    @staticmethod
    def layer_weights(weights: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
        """Of one layer, with matrices that read the same rows fused."""
        short = {name.removeprefix(prefix).split(".")[-2]: part for name, part in weights.items() if name.startswith(prefix)}
        fused = {"kv": torch.cat([short.pop("k_proj"), short.pop("v_proj")])}
        return short | fused | {"gate_up": torch.cat([short.pop("gate_proj"), short.pop("up_proj")])}

    def allocate(self, batch: int, capacity: int) -> Slots:
        """Context, and behind it a place for the block of the pass."""
        config = self.config
        shape = (batch, config.num_key_value_heads, capacity + config.block_size, config.head_dim)
        return Slots(config.num_hidden_layers, shape, self.fc)

    def rollout(self, hidden_BPD: Tensor, verified_B: Tensor) -> Rollout:
        return Rollout(self.drafter.head, self.target.embed, self.target.head, hidden_BPD, verified_B, self.drafter.pool_size)

    def block(self, slots: Slots, verified_B: Tensor, features_BTX: Tensor, slot_BT: Tensor, length_B: Tensor) -> Tensor:
        """Writes the features' keys and values at `slot_BT`, then passes the block at positions length.. -> hidden_BTD."""
        config, capacity = self.config, slots.keys[0].shape[2] - self.config.block_size
        at_T = torch.arange(config.block_size, device=verified_B.device)
        block_BT = torch.where(at_T == 0, verified_B[:, None], config.mask_token_id)
        x_BTD = F.embedding(block_BT, self.target.embed)
        context_BTD = self.normed(F.linear(features_BTX, self.fc), self.hidden_norm)
        position_BT = torch.cat([slot_BT, length_B[:, None] + at_T], 1)
        write_BT = torch.cat([slot_BT, (capacity + at_T).expand(len(verified_B), -1)], 1)
        slot_S = torch.arange(capacity + config.block_size, device=verified_B.device)
        mask_B11S = additive((slot_S < length_B[:, None, None, None]) | (slot_S >= capacity), x_BTD)
        angle_BTH = position_BT[..., None].float() * self.rates
        turns = tuple(f(angle_BTH)[:, :, None].to(x_BTD.dtype) for f in (torch.cos, torch.sin))
        for number, layer in enumerate(self.layers):
            x_BTD = x_BTD + self.attend(slots, number, layer, context_BTD, x_BTD, write_BT, turns, mask_B11S)
            gate, up = F.linear(self.normed(x_BTD, layer["post_attention_layernorm"]), layer["gate_up"]).chunk(2, -1)
            x_BTD = x_BTD + F.linear(F.silu(gate) * up, layer["down_proj"])
        return self.normed(x_BTD, self.norm)

    def attend(self, slots: Slots, number: int, layer: dict[str, Tensor], context_BTD, x_BTD, write_BT, turns, mask_B11S) -> Tensor:
        B, T, _ = x_BTD.shape
        K, H = self.config.num_key_value_heads, self.config.head_dim
        normed_BTD = self.normed(x_BTD, layer["input_layernorm"])
        kv = F.linear(torch.cat([context_BTD, normed_BTD], 1), layer["kv"]).unflatten(-1, (2, K, H))
        key_BTKH = turned(self.normed(kv[:, :, 0], layer["k_norm"]), *turns)
        key_BKSH, value_BKSH = slots.write(number, key_BTKH, kv[:, :, 1], write_BT)
        query_BTNH = self.normed(F.linear(normed_BTD, layer["q_proj"]).unflatten(-1, (-1, H)), layer["q_norm"])
        query_BTNH = turned(query_BTNH, *(turn[:, -T:] for turn in turns))
        # All rows of a block see the same: the queries that share a kv head are one tile, and no key is repeated.
        tile_BKMH = query_BTNH.unflatten(2, (K, -1)).permute(0, 2, 3, 1, 4).reshape(B, K, -1, H)
        mixed_BKMH = F.scaled_dot_product_attention(tile_BKMH, key_BKSH, value_BKSH, mask_B11S)
        return F.linear(mixed_BKMH.unflatten(2, (-1, T)).permute(0, 3, 1, 2, 4).reshape(B, T, -1), layer["o_proj"])

    def normed(self, x: Tensor, weight: Tensor) -> Tensor:
        return F.rms_norm(x, weight.shape, weight, self.config.rms_norm_eps)


def turned(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """RoPE over halves, x [B, T, heads, H]."""
    low, high = x.chunk(2, -1)
    return x * cos + torch.cat([-high, low], -1) * sin


class TorchRounds:
    """Rounds of a batch of rows, each `used` positions long. Rows that are not live are frozen: every round is the same work."""

    def __init__(self, way: str, target: TorchTarget, drafter: TorchDrafter, batch: int, capacity: int, used: int, live: bool = False):
        """Raises Unavailable where this way does not run."""
        if way != EAGER and device() == "cpu":
            raise Unavailable("needs CUDA")
        config, P, where = drafter.config, drafter.drafter.num_proposals, {"device": device()}
        self.first_row, self.at_T = config.first_row, torch.arange(P + 1, **where)
        self.slots, self.draft_slots = target.allocate(batch, capacity), drafter.allocate(batch, capacity)
        self.length_B = torch.full((batch,), used, **where)
        self.verified_B, self.features_from_B = torch.zeros_like(self.length_B), self.length_B.clone()
        self.live_B = torch.full((batch,), live, **where)
        self.features_BTX = torch.zeros((batch, P + 1, drafter.fc.shape[1]), dtype=drafter.fc.dtype, **where)
        self.hidden_BPD = torch.zeros((batch, P, config.hidden_size), dtype=drafter.fc.dtype, **where)
        self.proposals_BP, self.chosen_BT = self.at_T[1:].repeat(batch, 1), self.at_T.repeat(batch, 1)
        self.rollout = drafter.rollout(self.hidden_BPD, self.verified_B)
        self.block, self.forward = drafter.block, target.forward
        if way == COMPILED:
            self.compile()
        self.variants = {name: self.variant(way, work) for name, work in (("draft", self.draft), ("verify", self.verify))}

    def compile(self) -> None:
        """Makes block pass and target pass compiled ones. Raises Unavailable with what the compiler says."""
        torch._dynamo.reset()  # each batch and capacity is compiled anew, and not as a case of the last
        self.block, self.forward = (torch.compile(work, fullgraph=True, dynamic=False) for work in (self.block, self.forward))
        try:
            self.draft()
            self.verify()
        except Exception as error:  # a compiler can fail in any way
            raise Unavailable(" ".join(f"torch.compile fails: {type(error).__name__}: {error}".split())[:200]) from None

    def variant(self, way: str, work: Callable) -> Variant:
        wait = torch.cuda.synchronize if device() == "cuda" else lambda: None
        return Variant(work, lambda last: wait()) if way == EAGER else captured(work)

    def round(self) -> Variant:
        draft, verify = self.variants.values()

        def start() -> None:
            draft.start()
            verify.start()

        return Variant(start, verify.wait)

    def results(self) -> tuple[np.ndarray, np.ndarray]:
        """-> (chosen_BT, proposals_BP) of the last round."""
        return tuple(found.cpu().numpy().copy() for found in (self.chosen_BT, self.proposals_BP))

    @torch.no_grad()
    def draft(self) -> None:
        """Takes in the last round's features and fills `proposals_BP`."""
        slot_BT = self.features_from_B[:, None] + self.at_T
        hidden_BTD = self.block(self.draft_slots, self.verified_B, self.features_BTX, slot_BT, self.length_B)
        self.hidden_BPD.copy_(hidden_BTD[:, self.first_row : self.first_row + self.hidden_BPD.shape[1]])
        self.proposals_BP.copy_(self.rollout())

    @torch.no_grad()
    def forward_pass(self) -> tuple[Tensor, Tensor]:
        """The target over [verified, proposals] -> (logits_BTV, features_BTX)."""
        tokens_BT = torch.cat([self.verified_B[:, None], self.proposals_BP], 1)
        return self.forward(self.slots, tokens_BT, self.length_B[:, None] + self.at_T)

    @torch.no_grad()
    def verify(self) -> None:
        """Fills `chosen_BT`, and moves live rows on by what stands and the bonus."""
        logits_BTV, features_BTX = self.forward_pass()
        self.chosen_BT.copy_(logits_BTV.argmax(-1))
        accepted_B = (self.proposals_BP == self.chosen_BT[:, :-1]).long().cumprod(-1).sum(-1)
        bonus_B = self.chosen_BT.gather(1, accepted_B[:, None])[:, 0]
        self.features_BTX.copy_(features_BTX)
        self.features_from_B.copy_(self.length_B)
        self.verified_B.copy_(torch.where(self.live_B, bonus_B, self.verified_B))
        self.length_B.add_(torch.where(self.live_B, accepted_B + 1, 0))
