"""Slow oracles in NumPy, float64, written from the equations: no cache, no batch, everything recomputed from the start.

They read published tensors (bare names, PyTorch's [out, in] matrices) and config.json dictionaries, nothing of ours.
"""

import numpy as np


class Weights:
    """float64 views of the tensors under a prefix."""

    def __init__(self, tensors: dict[str, np.ndarray], prefix: str = ""):
        self.tensors, self.prefix = tensors, prefix

    def __getitem__(self, name: str) -> np.ndarray:
        return np.asarray(self.tensors[f"{self.prefix}{name}.weight"], np.float64)

    def under(self, prefix: str) -> "Weights":
        return Weights(self.tensors, self.prefix + prefix)


def rms_norm(x, weight, eps):
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + eps) * weight


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def silu(x):
    return x * sigmoid(x)


def rope(x_THH, positions, theta):
    """x [tokens, heads, width]."""
    half = x_THH.shape[-1] // 2
    turned = np.empty_like(x_THH)
    for i in range(half):
        angle = np.asarray(positions) * theta ** (-i / half)
        low, high = x_THH[..., i], x_THH[..., i + half]
        turned[..., i] = low * np.cos(angle)[:, None] - high * np.sin(angle)[:, None]
        turned[..., i + half] = high * np.cos(angle)[:, None] + low * np.sin(angle)[:, None]
    return turned


def attention(query, key, value, visible):
    """One head at a time: query [T, N, H], key and value [S, K, H], visible [T, S]."""
    T, N, H = query.shape
    group = N // key.shape[1]
    mixed = np.zeros((T, N, H))
    for head in range(N):
        for t in range(T):
            score = np.where(visible[t], key[:, head // group] @ query[t, head] / np.sqrt(H), -np.inf)
            weight = np.exp(score - score.max())
            mixed[t, head] = (weight / weight.sum()) @ value[:, head // group]
    return mixed


def block_visible(length: int, rows: int, window: int | None = None, moves: bool = True, causal: bool = True) -> np.ndarray:
    """What the rows of a block at positions length.. see of the context and of the block -> boolean [rows, length + rows].

    A full layer (window None): all. A sliding one: SpecForge's rule; with `moves` false speculators' (one place for all rows).
    """
    seen = np.ones((rows, length + rows), bool)
    if window is None:
        return seen
    for row in range(rows):
        for j in range(length):
            seen[row, j] = j >= (length + row - (window - 1) if moves else length - window)
        for other in range(rows):
            seen[row, length + other] = other <= row or not causal
    return seen


def decoder_layer(w: Weights, config: dict, x_TD, positions, context_SD=None, context_positions=(), visible=None):
    """A Qwen3 layer. `context` gives further keys and values, before x's own; it is not normed. `visible` None: causal."""
    eps, width, theta = config["rms_norm_eps"], config["head_dim"], config["rope_theta"]
    stretch = (config.get("rope_scaling") or {"factor": 1})["factor"]  # linear scaling only
    normed = rms_norm(x_TD, w["input_layernorm"], eps)
    source = normed if context_SD is None else np.concatenate([context_SD, normed])
    places = [*context_positions, *positions]

    def heads(rows, name):
        return (rows @ w[f"self_attn.{name}_proj"].T).reshape(len(rows), -1, width)

    query = rope(rms_norm(heads(normed, "q"), w["self_attn.q_norm"], eps), np.array(positions) / stretch, theta)
    key = rope(rms_norm(heads(source, "k"), w["self_attn.k_norm"], eps), np.array(places) / stretch, theta)
    if visible is None:
        visible = np.array([[j <= i for j in places] for i in positions])
    mixed = attention(query, key, heads(source, "v"), visible).reshape(len(x_TD), -1)
    x_TD = x_TD + mixed @ w["self_attn.o_proj"].T
    normed = rms_norm(x_TD, w["post_attention_layernorm"], eps)
    return x_TD + (silu(normed @ w["mlp.gate_proj"].T) * (normed @ w["mlp.up_proj"].T)) @ w["mlp.down_proj"].T


class Target:
    def __init__(self, config: dict, tensors: dict[str, np.ndarray]):
        self.config, self.w = config, Weights(tensors)
        self.embed = self.w["embed_tokens"]
        self.head = self.embed if config["tie_word_embeddings"] else self.w["lm_head"]

    def __call__(self, ids) -> tuple[np.ndarray, list[np.ndarray]]:
        """-> logits [T, V], the residual stream after each layer."""
        x, residuals = self.embed[list(ids)], []
        for i in range(self.config["num_hidden_layers"]):
            x = decoder_layer(self.w.under(f"layers.{i}."), self.config, x, range(len(ids)))
            residuals.append(x)
        return rms_norm(x, self.w["norm"], self.config["rms_norm_eps"]) @ self.head.T, residuals

    def greedy(self, ids, new: int) -> list[int]:
        ids, start = list(ids), len(ids)
        while len(ids) < start + new:
            ids.append(int(self(ids)[0][-1].argmax()))
        return ids[start:]


def gru_step(w: Weights, token, state):
    """PyTorch's GRU without biases: rows of the matrices are reset, update, new."""
    i_r, i_u, i_n = np.split(w["weight_ih_l0"] @ token, 3)
    h_r, h_u, h_n = np.split(w["weight_hh_l0"] @ state, 3)
    new = np.tanh(i_n + sigmoid(i_r + h_r) * h_n)
    update = sigmoid(i_u + h_u)
    return (1 - update) * new + update * state


class GRUWeights(Weights):
    """The GRU's tensors have no `.weight` at the end."""

    def __getitem__(self, name: str) -> np.ndarray:
        return np.asarray(self.tensors[f"prefix_gru.{name}"], np.float64)


def rollout(
    embed, gru: Weights, w1, w2, base_PV, hidden_PD, verified: int, prefix: int, pool_size: int, bias1=0, bias2=0, ids=None
) -> list[int]:
    """The Domino head, one position after the other. Where V are a drafter's own tokens, `ids` are theirs in the target."""
    P, V = base_PV.shape
    ids = np.arange(V) if ids is None else ids
    everything = np.arange(V)
    pool = everything
    if 0 < pool_size < V:
        score = base_PV[max(prefix, 1) :].max(0, initial=-np.inf)
        pool = np.sort(np.argsort(-score, kind="stable")[:pool_size])
    state = gru_step(gru, embed[verified], np.zeros(gru["weight_hh_l0"].shape[1]))
    proposals = []
    for j in range(P):
        if j:
            state = gru_step(gru, embed[proposals[-1]], state)
        if j < prefix:
            proposals.append(int(ids[base_PV[j].argmax()]))
            continue
        logits = base_PV[j] + w2 @ silu(w1 @ np.concatenate([hidden_PD[j], state]) + bias1) + bias2
        candidates = everything if j == 0 else pool
        proposals.append(int(ids[candidates[logits[candidates].argmax()]]))
    return proposals


class Drafter:
    """Tensors of its own go before the target's: `embed_tokens`, `lm_head`; with `d2t` the rows of its head are those tokens alone.

    A config whose `layer_types` slide follows SpecForge's rule; `moves` and `causal` make it speculators'.
    """

    def __init__(self, config: dict, tensors: dict[str, np.ndarray], target: Target, moves: bool = True, causal: bool = True):
        self.config, self.target, self.tensors = config, target, tensors
        self.w, self.inner = Weights(tensors), config["dflash_config"]
        self.domino = "projector_type" in self.inner
        self.embed = self.w["embed_tokens"] if "embed_tokens.weight" in tensors else target.embed
        self.head = self.w["lm_head"] if "lm_head.weight" in tensors else target.head
        self.ids = np.arange(len(self.head)) + tensors.get("d2t", 0)
        self.moves, self.causal = moves, causal

    def hidden(self, residuals, verified: int, length: int) -> np.ndarray:
        """Hidden states of the block [verified, MASK, MASK, ...] at position `length`, over the features before it."""
        config, eps = self.config, self.config["rms_norm_eps"]
        features = np.concatenate([residuals[i][:length] for i in self.inner["target_layer_ids"]], -1)
        context = rms_norm(features @ self.w["fc"].T, self.w["hidden_norm"], eps)
        block = [verified] + [self.inner["mask_token_id"]] * (config["block_size"] - 1)
        x, positions = self.embed[block], range(length, length + len(block))
        for i in range(config["num_hidden_layers"]):
            slides = "sliding" in (config.get("layer_types") or ["full"] * (i + 1))[i]
            visible = block_visible(length, len(block), config["sliding_window"] if slides else None, self.moves, self.causal)
            x = decoder_layer(self.w.under(f"layers.{i}."), config, x, positions, context, range(length), visible)
        return rms_norm(x, self.w["norm"], eps)

    def propose(self, residuals, verified: int, length: int, num_proposals: int, pool_size: int) -> list[int]:
        hidden = self.hidden(residuals, verified, length)
        first = 0 if self.domino and self.inner.get("shift_label") else 1
        hidden = hidden[first : first + num_proposals]
        base = hidden @ self.head.T
        if not self.domino:
            return [int(token) for token in self.ids[base.argmax(-1)]]
        w1, w2, prefix = self.w["embed_proj.0"], self.w["embed_proj.2"], self.inner["pure_draft_prefix_len"]
        biases = [self.tensors.get(f"embed_proj.{layer}.bias", 0) for layer in (0, 2)]
        head = GRUWeights(self.tensors), w1, w2
        return rollout(self.embed, *head, base, hidden, verified, prefix, pool_size, *biases, self.ids)


def speculate(target: Target, drafter: Drafter, prompt, new: int, num_proposals: int, pool_size: int):
    """-> (new tokens, rounds as (start, verified, proposals, accepted)): decoding by the book, without a stop id."""
    ids, rounds = [*prompt, int(target(prompt)[0][-1].argmax())], []
    while len(ids) < len(prompt) + new:
        start, verified = len(ids) - 1, ids[-1]
        proposals = drafter.propose(target(ids)[1], verified, start, num_proposals, pool_size)
        chosen = target([*ids, *proposals])[0][start:].argmax(-1)
        accepted = 0
        while accepted < num_proposals and proposals[accepted] == chosen[accepted]:
            accepted += 1
        ids += [int(token) for token in chosen[: accepted + 1]]
        rounds.append((start, verified, tuple(proposals), accepted))
    return ids[len(prompt) : len(prompt) + new], rounds
