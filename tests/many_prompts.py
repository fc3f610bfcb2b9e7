"""A long file of mixed prompts on the shipped pair, greedy and sampled together: python -m tests.many_prompts [--count 1000] [--kills 10]

At each batch size the drafted answers must be those of check mode, ids and log-probabilities bit for bit, and those of the step program
or part from them where the target's two best logits are within 1e-4 (float32); a second run must compile nothing and keep no array. Then
the command line is killed at random moments and resumed: the file of answers must be that of a run left alone, but for the times.
Prints what it did; exit status 1 if something fails. Minutes on a GPU; the tests run it with up to 100 prompts.
"""

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import jax

import domino_jax
from domino_jax import Compiled, Engine, Finished, Prompt, Result, demo
from domino_jax.demo import problems
from domino_jax.loop import common_prefix

MARGIN = 1e-4  # float32, across executables
TIMES = ("prefill_seconds", "decode_seconds")
CONTEXT = 2048


def mixed_prompts(engine: Engine, count: int, seed: int = 0, longest: int = 1500, budget: int = 512) -> list[Prompt]:
    """Lengths from 1 to `longest` tokens, budgets from 1 to `budget`: word problems, and such one after the other, begun and cut anywhere.

    Every second prompt is sampled, each in its own way; every third must write some tokens before it may stop.
    """
    rng = random.Random(seed)
    told = [engine.prompt(problem.question).ids for problem in problems.generate("test", 200 + longest // 50, seed)]
    stream = [token for ids in told for token in ids]
    prompts = []
    for number in range(count):
        length = rng.randint(1, longest)
        start = rng.randrange(len(stream) - length)
        ids = stream[start : start + length] if number % 4 < 2 else told[number % len(told)]
        sampling = {"temperature": rng.choice([0.5, 1.0, 2.0]), "seed": number, **rng.choice(FILTERS)} if number % 2 else None
        budget_here = rng.randint(1, budget)
        least = rng.randrange(min(budget_here, 40)) if number % 3 == 0 else None
        prompts.append(Prompt(tuple(ids), number, budget_here, sampling=sampling, min_tokens=least))
    return prompts


FILTERS = [{}, {"top_k": 20}, {"top_p": 0.9}, {"min_p": 0.05}, {"top_k": 50, "top_p": 0.95}]


def decode(engine: Engine, prompts: Sequence[Prompt], **options) -> tuple[list[Result], list[str], float]:
    """-> (answers in order, programs compiled, seconds without compilation)."""
    results, compiled, began = {}, [], time.perf_counter()
    for event in engine.stream(prompts, **options):
        if isinstance(event, Compiled):
            compiled.append(event.program)
            began = time.perf_counter()
        elif isinstance(event, Finished):
            results[event.index] = event.result
    return [results[index] for index in sorted(results)], compiled, time.perf_counter() - began


def lossless(engine: Engine, prompts: Sequence[Prompt], batch: int, context: int) -> list[str]:
    """What is wrong at this batch size."""
    options = dict(batch_size=batch, max_context=context)
    drafted, compiled, seconds = decode(engine, prompts, **options)
    tokens = sum(len(result.output_ids) for result in drafted)
    rounds = [length for result in drafted for length in result.acceptance_lengths]
    arrays = len(jax.live_arrays())
    again, recompiled, _ = decode(engine, prompts, **options)
    kept = len(jax.live_arrays()) - arrays
    checked, _, check_seconds = decode(engine, prompts, exact=True, **options)
    plain, _, plain_seconds = decode(engine.with_drafter(None), prompts, **options)
    different = [r.id for r, c in zip(drafted, checked, strict=True) if (r.output_ids, r.logprobs) != (c.output_ids, c.logprobs)]
    repeated = [r.id for r, a in zip(drafted, again, strict=True) if (r.output_ids, r.logprobs) != (a.output_ids, a.logprobs)]
    parting = [part(engine, r, p) for r, p in zip(drafted, plain, strict=True) if r.output_ids != p.output_ids]
    print(
        f"batch {batch}: {len(prompts)} answers, {tokens} tokens, mean acceptance length {sum(rounds) / len(rounds):.2f}; "
        f"{len(prompts) - len(different)} equal check mode bit for bit, {len(prompts) - len(parting)} equal the step program; "
        f"tokens/s {tokens / seconds:.0f} drafted, {tokens / check_seconds:.0f} check mode, {tokens / plain_seconds:.0f} step; "
        f"compiled {', '.join(compiled)}, then {recompiled or 'nothing'}; arrays kept by the second run: {kept}",
        flush=True,
    )
    wrong = [f"answer {name} differs from check mode" for name in different]
    wrong += [f"answer {name} differs from itself when decoded again" for name in repeated]
    wrong += [f"answer {name} parts from the step program at a margin of {margin:.3g}" for name, margin in parting if margin > MARGIN]
    wrong += [f"the second run compiled {recompiled}"] * bool(recompiled) + [f"the second run kept {kept} arrays"] * (kept > 0)
    return [f"batch {batch}: {what}" for what in wrong]


def part(engine: Engine, ours: Result, theirs: Result) -> tuple[int, float]:
    """-> (the answer's id, the target's top-two margin where the two texts part; of a sampled text there is none to speak of)."""
    first = common_prefix(ours.output_ids, theirs.output_ids)
    best, second = engine.best_two([*ours.prompt_ids, *ours.output_ids[:first]])
    return ours.id, best - second


def killed_and_resumed(prompts: Sequence[Prompt], kills: int, batch: int, context: int, seed: int = 0) -> list[str]:
    """What is wrong with the file of a run that is killed at random moments, against that of one left alone."""
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory() as directory:
        asked, alone, often = (Path(directory) / name for name in ("asked.jsonl", "alone.jsonl", "often.jsonl"))
        asked.write_text("".join(json.dumps(line(prompt)) + "\n" for prompt in prompts))
        command = [sys.executable, "-m", "domino_jax.generate", "--prompts", asked, "--batch-size", str(batch), "--dtype", "float32"]
        command += ["--max-context", str(context), "--output", "json", "--resume", "--compile-cache", f"{directory}/programs", "--out"]
        began = time.perf_counter()
        subprocess.run([*command, alone], check=True, capture_output=True)
        whole, done = time.perf_counter() - began, 0
        for kill in range(kills):
            goal = rng.uniform(0, (kill + 1) / (kills + 1))  # of the answers
            with subprocess.Popen([*command, often], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
                while process.poll() is None and lines(often) < max(goal * len(prompts), done + 1):
                    time.sleep(0.01)
                time.sleep(rng.uniform(0, 0.2))
                process.kill()
            done = lines(often)
        subprocess.run([*command, often], check=True, capture_output=True)
        same = answers(alone) == answers(often)
    verdict = "the same" if same else "NOT the same"
    print(f"killed {kills} times: {len(prompts)} answers, {verdict} as left alone ({whole:.0f} s)", flush=True)
    return [] if same else ["the file of the killed and resumed run is another"]


def line(prompt: Prompt) -> dict:
    entry = {"id": prompt.id, "prompt_ids": list(prompt.ids), "max_new_tokens": prompt.max_new_tokens, **(prompt.sampling or {})}
    return entry | ({} if prompt.min_tokens is None else {"min_tokens": prompt.min_tokens})


def lines(path: Path) -> int:
    return path.read_bytes().count(b"\n") if path.exists() else 0


def answers(path: Path) -> list[dict]:
    """By id, without the times."""
    entries = sorted(map(json.loads, path.read_text().splitlines()), key=lambda entry: entry["id"])
    return [{key: value for key, value in entry.items() if key not in TIMES} for entry in entries]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--batch-sizes", type=int, nargs="*", default=[4, 8, 32])
    parser.add_argument("--kills", type=int, default=10)
    arguments = parser.parse_args()
    engine = domino_jax.load(demo.TARGET, demo.DRAFT, dtype="float32")
    prompts = mixed_prompts(engine, arguments.count)
    print(f"jax {jax.__version__}, {jax.devices()[0].device_kind}, float32, {len(prompts)} prompts, half of them sampled", flush=True)
    wrong = [what for batch in arguments.batch_sizes for what in lossless(engine, prompts, batch, CONTEXT - 1)]
    if arguments.kills:
        wrong += killed_and_resumed(prompts, arguments.kills, 8, CONTEXT - 1)
    print("\n".join(f"FAIL  {what}" for what in wrong) or "ok    all of it")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
