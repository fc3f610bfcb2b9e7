"""What only a GPU can show, in one run of a few minutes: python -m tests.gpu.run [--small] [--sampled]

Qwen3-8B and drafter shapes, random weights, bfloat16:
  1. speculative output and its log-probabilities are bit-equal to check mode, greedy and sampled, for the Domino drafter and for
     scripted drafts that force every acceptance length, in ragged batches of 1 and 8;
  2. the step program agrees with the verify program, or first differs where the top-two margin is at most one bfloat16 step;
  3. the compiled rollout proposes what the same code proposes op by op;
and the figures of the run: compile seconds, milliseconds a round, peak memory. Exit status 1 if a check fails.
--small runs the same checks on tiny shapes in float32, to try the script without a GPU.
"""

import argparse
import math
import re
import sys
import time
from collections import Counter

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx

from domino_jax import DraftConfig, Engine, Finished, Prompt, ScriptedDrafter, TargetConfig, domino, programs
from domino_jax.events import Compiled, Result

QWEN3_8B = dict(
    model_type="qwen3", vocab_size=151936, hidden_size=4096, intermediate_size=12288, num_hidden_layers=36, num_attention_heads=32,
    num_key_value_heads=8, head_dim=128, rope_theta=1e6, max_position_embeddings=40960,
)  # fmt: skip
DOMINO_B16 = dict(
    QWEN3_8B, num_hidden_layers=5, num_target_layers=36, block_size=16,
    dflash_config=dict(
        mask_token_id=151669, target_layer_ids=[1, 9, 17, 25, 33], projector_type="domino", emb_dim=256, gru_hidden_dim=1024,
        pure_draft_prefix_len=1, shift_label=True,
    ),
)  # fmt: skip
SMALL = dict(
    vocab_size=512, hidden_size=64, intermediate_size=96, num_hidden_layers=4, num_attention_heads=4, num_key_value_heads=2, head_dim=16
)
SAMPLED = dict(temperature=1.0, top_p=0.9, seed=1)
failures = []


def check(name: str, passed: bool, detail: str) -> None:
    print(f"{'ok  ' if passed else 'FAIL'}  {name}: {detail}", flush=True)
    if not passed:
        failures.append(name)


def configs(small: bool) -> tuple[TargetConfig, DraftConfig]:
    target, draft = dict(QWEN3_8B), dict(DOMINO_B16)
    if small:
        target |= SMALL
        draft |= {**SMALL, "num_hidden_layers": 2, "num_target_layers": 4}
        draft["dflash_config"] = draft["dflash_config"] | dict(mask_token_id=511, target_layer_ids=[0, 2], emb_dim=16, gru_hidden_dim=32)
    return TargetConfig.from_dict(target), DraftConfig.from_dict(draft)


def decode(engine: Engine, prompts: list[Prompt], **options) -> tuple[list[Result], list[Compiled], float]:
    """-> results in order, what was compiled, seconds of wall clock from the last compilation to the end."""
    results, compiled, began = {}, [], time.perf_counter()
    for event in engine.stream(prompts, **options):
        if isinstance(event, Compiled):
            compiled.append(event)
            began = time.perf_counter()
        elif isinstance(event, Finished):
            results[event.index] = event.result
    return [results[i] for i in range(len(prompts))], compiled, time.perf_counter() - began


def make_script(rng: np.random.Generator, results: list[Result], capacity: int, P: int, vocab: int) -> np.ndarray:
    """For each row the right tokens by absolute position, with one wrong token where each round's chosen acceptance ends."""
    script = rng.integers(0, vocab, (len(results), capacity)).astype(np.int32)
    for row, result in enumerate(results):
        known = [*result.prompt_ids, *result.output_ids]
        script[row, : len(known)] = known
        lengths = list(rng.permutation(P + 1) + 1)  # every acceptance length once, then at random
        verified = len(result.prompt_ids)
        while verified < len(known):
            length = lengths.pop() if lengths else rng.integers(1, P + 2)
            if length <= P and verified + length < len(known):
                script[row, verified + length] = (script[row, verified + length] + 1) % vocab
            verified += length
    return script


def label(batch: int, sampling: dict) -> str:
    return f"batch {batch}" + "".join(f", {name} {value}" for name, value in sampling.items())


def count_equal(ours: list[Result], theirs: list[Result]) -> int:
    return sum((a.output_ids, a.logprobs) == (b.output_ids, b.logprobs) for a, b in zip(ours, theirs, strict=True))


def lossless(engine: Engine, batch: int, tokens: int, **sampling) -> list[Compiled]:
    """Check 1 at one batch size and, where nothing is sampled, check 2."""
    name = label(batch, sampling)
    rng = np.random.default_rng(batch)
    V, P = engine.target.config.vocab_size, engine.num_proposals
    prompts = [Prompt(tuple(rng.integers(0, V, 5 + 7 * row).tolist())) for row in range(batch)]
    options = dict(max_new_tokens=tokens, batch_size=batch, **sampling)
    reference, compiled, check_seconds = decode(engine, prompts, exact=True, **options)
    distinct = len({token for result in reference for token in result.output_ids})

    drafted, more, _ = decode(engine, prompts, **options)
    compiled += more
    equal = count_equal(drafted, reference)
    check(f"{name}, Domino drafter = check mode", equal == batch, f"{equal} of {batch} rows, {distinct} distinct tokens")

    capacity = engine.plan(prompts, max_new_tokens=tokens).capacity
    scripted = Engine(engine.target, ScriptedDrafter(make_script(rng, reference, capacity, P, V), P), engine.dtype)
    # verify and prefill are the executables that check mode ran
    scripted.executables |= {key: made for key, made in engine.executables.items() if key[0] in (programs.verify, programs.prefill)}
    results, more, _ = decode(scripted, prompts, **options)
    compiled_again = [event.program for event in more if event.program != "draft"]
    lengths = Counter(length for result in results for length in result.acceptance_lengths)
    equal = count_equal(results, reference)
    check(
        f"{name}, every acceptance length = check mode",
        equal == batch and set(lengths) == set(range(1, P + 2)) and not compiled_again,
        f"{equal} of {batch} rows, {sum(len(result.output_ids) for result in results)} tokens, "
        f"rounds by length {dict(sorted(lengths.items()))}",
    )

    if sampling:
        return compiled
    stepping = Engine(engine.target, None, engine.dtype, check_proposals=P)
    stepped, more, step_seconds = decode(stepping, prompts, **options)
    compiled += more
    worst = 0.0
    different = 0
    for a, b in zip(stepped, reference, strict=True):
        if a.output_ids != b.output_ids:
            different += 1
            first = next(i for i in range(tokens) if a.output_ids[i] != b.output_ids[i])
            best, second = engine.best_two([*b.prompt_ids, *b.output_ids[:first]])
            step = 2.0 ** (math.floor(math.log2(abs(best))) - 7) if engine.dtype == jnp.bfloat16 else 1e-4
            worst = max(worst, (best - second) / step)
    check(
        f"{name}, step = verify or a near-tie",
        worst <= 1,
        f"{different} of {batch} rows differ somewhere; largest margin at a first difference {worst:.2f} of the allowed",
    )
    print(f"      check mode {check_seconds * 1e3 / tokens:.2f} ms a token, step program {step_seconds * 1e3 / tokens:.2f}", flush=True)
    return compiled


def time_round(engine: Engine, batch: int, tokens: int, **sampling) -> str:
    """Milliseconds of draft, verify and whole rounds: medians of 5 loops of 20 dispatches each, the wait for the last included."""
    prompts = [Prompt(tuple(range(1, 100)))] * batch
    engine.generate(prompts, max_new_tokens=tokens, batch_size=batch, **sampling)
    plan = engine.plan(prompts, max_new_tokens=tokens, batch_size=batch, **sampling)
    run = engine._run(plan)
    list(run.compile(plan.tasks))
    for slot, task in enumerate(plan.tasks):
        run.fill(slot, task)

    def median(work) -> float:
        times = []
        for _ in range(5):
            began = time.perf_counter()
            for _ in range(20):
                work()
            jax.block_until_ready((run.state, run.draft_cache))
            times.append((time.perf_counter() - began) / 20)
        return sorted(times)[2] * 1e3

    def draft():
        run.draft_cache, _ = run.program(programs.draft, run.width)(*run.draft_arguments())

    def verify():
        run.state, *_ = run.program(programs.verify, run.width)(run.state, run.impossible_BP)

    def both():
        run.round(run.rows)
        run.pending.clear()

    both()
    if sampling:  # a loop that is not counted, or a branch, would have the host wait for the device in mid-program
        texts = [run.program(function, run.width).compiled.as_text() for function in (programs.draft, programs.verify)]
        open_ended = sum(len(re.findall(r"conditional\(|while\((?!.*known_trip_count)", text)) for text in texts)
        check(f"{label(batch, sampling)}, nothing waits for the host", not open_ended, f"{open_ended} open-ended loops and branches")
    return f"draft {median(draft):.2f} ms, verify {median(verify):.2f} ms, round {median(both):.2f} ms"


def rollout_eager_and_compiled(draft_config: DraftConfig, dtype: jnp.dtype, trials: int, pool_size: int) -> None:
    """Check 3: `trials` random blocks at batches 1, 8 and 64; op by op means each primitive its own program."""
    config, V = draft_config, draft_config.vocab_size
    head = domino.DominoHead(config, dtype, rngs=nnx.Rngs(1))
    D, P, prefix = config.hidden_size, config.block_size - 1, config.domino.pure_draft_prefix_len
    embed_VD = jax.random.normal(jax.random.key(2), (V, D), dtype)
    head_VD = jax.random.normal(jax.random.key(3), (V, D), dtype) * D**-0.5

    def propose(head, embed_VD, head_VD, hidden_BPD, verified_B):
        base_BPV = jnp.einsum("BPD,VD->BPV", hidden_BPD, head_VD)

        def gru_input(ids):
            return head.gru_input(jnp.take(embed_VD, ids, axis=0))

        return domino.rollout(head, gru_input, base_BPV, hidden_BPD, verified_B, prefix, pool_size)

    compiled = jax.jit(propose)
    different = total = 0
    for batch in (1, 8, 64):
        for trial in range(trials):
            keys = jax.random.split(jax.random.key(1000 * batch + trial))
            hidden_BPD = jax.random.normal(keys[0], (batch, P, D), dtype)
            verified_B = jax.random.randint(keys[1], (batch,), 0, V)
            ours = np.asarray(compiled(head, embed_VD, head_VD, hidden_BPD, verified_B))
            with jax.disable_jit():
                eager = np.asarray(propose(head, embed_VD, head_VD, hidden_BPD, verified_B))
            different += int((ours != eager).sum())
            total += ours.size
    check(f"rollout op by op = compiled, pool {pool_size}", different == 0, f"{different} of {total:,} proposals differ")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--sampled", action="store_true", help="only what is sampled")
    arguments = parser.parse_args()
    small, greedy = arguments.small, not arguments.sampled
    dtype = jnp.dtype(jnp.float32 if small else jnp.bfloat16)
    target_config, draft_config = configs(small)
    device = jax.devices()[0]
    print(f"jax {jax.__version__}, {device.device_kind}, {dtype.name}, target {target_config.num_hidden_layers} layers", flush=True)

    for pool_size in (0, 2048 if not small else 64) if greedy else ():
        rollout_eager_and_compiled(draft_config, dtype, 2 if small else 20, pool_size)
    began = time.perf_counter()
    engine = Engine.random(target_config, draft_config, jax.random.key(0), dtype.name)
    jax.block_until_ready(jax.tree.leaves((engine.target, engine.drafter)))
    print(f"      random weights made in {time.perf_counter() - began:.1f} s", flush=True)
    for batch, sampling in [(1, {}), (8, {})] * greedy + [(1, SAMPLED), (8, SAMPLED)]:
        compiled = lossless(engine, batch, 160 if small else 200, **sampling)
        print("      compiled " + ", ".join(f"{event.program} {event.seconds:.1f} s" for event in compiled), flush=True)
        print(f"      {label(batch, sampling)}: {time_round(engine, batch, 40 if small else 400, **sampling)}", flush=True)
    if statistics := device.memory_stats():
        print(f"      peak memory {statistics['peak_bytes_in_use'] / 1e9:.1f} GB", flush=True)
    print("FAILED: " + ", ".join(failures) if failures else "all checks passed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
