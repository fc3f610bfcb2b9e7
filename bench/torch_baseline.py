"""The published rollout in PyTorch, written from its description: what our rollout is compared with.

Base logits in one matmul; a native GRU over the verified token and the first proposal; `aten.gru_cell` for every proposal fed back;
the projector over [hidden; state]; a candidate pool by `topk`; on a GPU the whole of it in one CUDA graph. All in the dtype of the
weights, as published. One uncorrected proposal (`pure_draft_prefix_len` 1).
"""

from collections.abc import Callable

import jax
import numpy as np
import torch
from torch.nn import functional as F

from bench.timing import Variant
from domino_jax.domino import DominoHead


def device() -> str:
    """Where torch works: beside JAX."""
    return "cuda" if torch.cuda.is_available() and jax.default_backend() == "gpu" else "cpu"


def tensor(array: jax.Array | torch.Tensor) -> torch.Tensor:
    """The same bits on torch's device; a tensor stays the one that it is."""
    if isinstance(array, torch.Tensor):
        return array
    host = np.array(array)
    if array.dtype == "bfloat16":  # torch reads no such NumPy array
        return torch.from_numpy(host.view(np.int16)).view(torch.bfloat16).to(device())
    return torch.from_numpy(host).to(device())


Either = jax.Array | torch.Tensor


class Rollout:
    """Weights and inputs of one batch; calling it gives the proposals, int64 [B, P]. It reads what inputs that are tensors hold then."""

    def __init__(self, head: DominoHead, embed_VD: Either, head_VD: Either, hidden_BPD: Either, verified_B: Either, pool_size: int):
        D, R = hidden_BPD.shape[-1], head.recurrent_3RR.shape[-1]
        self.embed, self.lm_head, self.hidden = tensor(embed_VD), tensor(head_VD), tensor(hidden_BPD)
        self.verified = tensor(verified_B).long()
        self.w1, self.w2 = tensor(head.w1_EX[...]), tensor(head.w2_VE[...])
        self.gru = torch.nn.GRU(D, R, bias=False, batch_first=True, device=self.hidden.device, dtype=self.hidden.dtype)
        with torch.no_grad():
            self.gru.weight_ih_l0.copy_(tensor(head.input_3RD[...]).reshape(3 * R, D))
            self.gru.weight_hh_l0.copy_(tensor(head.recurrent_3RR[...]).reshape(3 * R, R))
        self.pool_size = pool_size if 0 < pool_size < len(self.embed) else 0

    @torch.no_grad()
    def __call__(self) -> torch.Tensor:
        B, P, _ = self.hidden.shape
        base_PBV = self.base().unflatten(0, (P, B))
        proposals = [base_PBV[0].argmax(-1)]
        if self.pool_size:
            pool_BC = torch.topk(base_PBV[1:].amax(0), self.pool_size, sorted=False).indices
            pooled_PBC = base_PBV[1:].gather(2, pool_BC.expand(P - 1, -1, -1))
            w2_BCE = F.embedding(pool_BC, self.w2)
        _, state_1BR = self.gru(F.embedding(torch.stack([self.verified, proposals[0]], 1), self.embed))
        state_BR = state_1BR[0]
        for j in range(1, P):
            inner_BE = F.silu(F.linear(torch.cat([self.hidden[:, j], state_BR], -1), self.w1))
            if self.pool_size:
                place_B1 = (pooled_PBC[j - 1] + torch.bmm(w2_BCE, inner_BE[..., None])[..., 0]).argmax(-1, keepdim=True)
                proposals.append(pool_BC.gather(1, place_B1)[:, 0])
            else:
                proposals.append((base_PBV[j] + F.linear(inner_BE, self.w2)).argmax(-1))
            if j + 1 < P:
                read_BD, gru = F.embedding(proposals[-1], self.embed), self.gru
                state_BR = torch.ops.aten.gru_cell(read_BD, state_BR, gru.weight_ih_l0, gru.weight_hh_l0, None, None)
        return torch.stack(proposals, 1)

    def base(self) -> torch.Tensor:
        """Base logits of all positions, [P · B, V]."""
        return F.linear(self.hidden.transpose(0, 1).reshape(-1, self.hidden.shape[-1]), self.lm_head)


def captured(work: Callable[[], object]) -> Variant:
    """Work as it is timed: a CUDA graph on a GPU, op by op on a CPU. Its results are the tensors that it fills or once returned."""
    if device() == "cpu":
        return Variant(work, lambda last: None)
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            work()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, capture_error_mode="thread_local"):  # JAX's threads may call CUDA meanwhile
        work()
    return Variant(graph.replay, lambda last: torch.cuda.synchronize())
