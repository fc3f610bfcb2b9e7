"""One start of the engine, from the process to the first token, told as JSON on stdout: what `bench.coldstart` runs, each time afresh.

python -m bench.one_start TARGET DRAFT|none DTYPE CACHE_DIR PROMPT_TOKENS
"""

import json
import sys
import time
from pathlib import Path

import jax
import numpy as np

from domino_jax import memory
from domino_jax.engine import open_pair
from domino_jax.events import Compiled, Prompt, Tokens
from domino_jax.programs import use_compile_cache

TRANSFERRED = 1 << 28  # bytes, to measure the way to the device


def start(target: str, draft: str, dtype: str, cache: str, prompt_tokens: str) -> dict:
    """When each part was done, on the monotonic clock, which all processes share, and what it took in memory."""
    done = {"interpreter and imports": time.monotonic()}
    device = jax.devices()[0]
    done["device"] = time.monotonic()
    if (problem := use_compile_cache(Path(cache))) is not None:
        raise SystemExit(problem)
    pair = open_pair(target, None if draft == "none" else draft, dtype)
    plan = pair.plan([Prompt((1,) * int(prompt_tokens), max_new_tokens=64)])
    done["opening"] = time.monotonic()
    engine = pair.load(plan=plan)
    jax.block_until_ready(jax.tree.leaves((engine.target, engine.drafter)))
    done["load"] = time.monotonic()
    compiled, events = [], engine.run(plan)
    for event in events:
        if isinstance(event, Compiled):
            compiled.append({"program": event.program, "seconds": event.seconds, "cached": event.cached})
            done["compile"] = time.monotonic()
        if isinstance(event, Tokens):
            break
    done["first token"] = time.monotonic()
    events.close()
    statistics = device.memory_stats() or {}
    models = pair.models
    need = memory.needed(models.target, models.draft, models.dtype, models.weights, plan.batch, plan.capacity, models.num_proposals)
    return {
        "done": done,
        "compiled": compiled,
        "platform": jax.default_backend(),
        "device": device.device_kind,
        "dtype": pair.dtype.name,
        "stored": sum(opened.bytes() for opened in (pair.target, pair.draft) if opened),
        "memory": vars(need) | {"peak": statistics.get("peak_bytes_in_use")},
        "transfer_rate": transfer_rate(),
    }


def transfer_rate() -> float:
    """Bytes a second from host memory to the device; the best of three."""
    array, seconds = np.ones(TRANSFERRED + 1, np.uint8)[1:], []  # not aligned, so that a CPU copies too
    for _ in range(3):
        began = time.perf_counter()
        jax.device_put(array).block_until_ready()
        seconds.append(time.perf_counter() - began)
    return TRANSFERRED / min(seconds)


if __name__ == "__main__":
    print(json.dumps(start(*sys.argv[1:])))
