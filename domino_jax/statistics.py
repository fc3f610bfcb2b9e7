"""Statistics of a run, as one dictionary and as one line."""

import importlib.metadata
from collections import Counter
from collections.abc import Sequence

from domino_jax.events import Result

LOW_ACCEPTANCE, ENOUGH_ROUNDS = 1.2, 8
PACKAGES = ("domino-jax", "jax", "jaxlib", "flax", "orbax-checkpoint", "safetensors", "transformers")


def summarize(results: Sequence[Result], seconds: dict[str, float], context: dict) -> dict:
    """Sums and counts of the results. `seconds` are wall clock by stage; `context`, which holds num_proposals, goes first.

    The stages: load, compile (which goes on while the weights load: the two overlap), decode (from the first token to the end), check;
    and of the run without compilation prefill, draft, verify, which are what the host waited for these programs, and host, which is
    its own work.
    tokens_per_second counts the tokens after each row's first over the time from the first of those to the end. The mean
    acceptance length is over all rounds of all rows, accepted + bonus each, before any cut by a stop or the budget; tokens_per_round
    is after the cuts. time_to_first_token is the mean over answers of the time from a prompt's turn to its first token.
    """
    lengths = [length for result in results for length in result.acceptance_lengths]
    tokens = sum(len(result.output_ids) for result in results)
    later = sum(max(len(result.output_ids) - 1, 0) for result in results)
    prompts = _prompts(results)
    return {
        **context,
        "prompts": sum(prompts.values()),
        "failed": sum(result.error is not None for result in results),
        "prompt_tokens": sum(len(ids) * count for (_, ids), count in prompts.items()),
        "tokens": tokens,
        "tokens_per_second": later / seconds["decode"] if later and seconds["decode"] else None,
        "time_to_first_token": sum(result.prefill_seconds for result in results) / len(results) if results else None,
        "rounds": len(lengths),
        "mean_acceptance_length": sum(lengths) / len(lengths) if lengths else None,
        "tokens_per_round": later / len(lengths) if lengths else None,
        "acceptance_histogram": {str(length): count for length, count in sorted(Counter(lengths).items())},
        "acceptance_by_position": by_position(lengths, context["num_proposals"]),
        "seconds": {stage: round(value, 6) for stage, value in seconds.items()},
        "answers": [_answer(result) for result in results],
        "versions": versions(),
    }


def by_position(lengths: Sequence[int], num_proposals: int) -> list[float] | None:
    """The share of rounds in which proposal 1..P, and all before it, stood. None without a round."""
    longer = Counter(lengths)
    stood = [sum(count for length, count in longer.items() if length > j) for j in range(1, num_proposals + 1)]
    return [count / len(lengths) for count in stood] if lengths else None


def _prompts(results: Sequence[Result]) -> dict[tuple, int]:
    """(id, prompt ids) -> how often it was asked: as often as its most frequent sample was answered."""
    asked: dict[tuple, int] = {}
    for (name, ids, _), count in Counter((result.id, result.prompt_ids, result.sample) for result in results).items():
        asked[name, ids] = max(asked.get((name, ids), 0), count)
    return asked


def _answer(result: Result) -> dict:
    stages = ("prefill_seconds", "decode_seconds", "draft_seconds", "verify_seconds")
    return {
        "id": result.id,
        "sample": result.sample,
        "rounds": result.rounds,
        "tokens": len(result.output_ids),
        "mean_acceptance_length": result.mean_acceptance_length,
        **{stage: round(getattr(result, stage), 6) for stage in stages},
    }


def line(statistics: dict) -> str:
    """The summary in one line."""
    parts = [f"{statistics['platform']} ({statistics['device']}), {statistics['dtype']}"]
    draft = statistics["draft"]
    parts.append("no draft" if draft == "none" else f"{draft} draft {statistics['draft_path']}")
    parts.append(_count(statistics["prompts"], "prompt"))
    if len(statistics["answers"]) != statistics["prompts"]:
        parts.append(_count(len(statistics["answers"]), "answer"))
    parts.append(_count(statistics["tokens"], "token"))
    if statistics["tokens_per_second"] is not None:
        parts.append(f"{statistics['tokens_per_second']:.1f} tokens/s after the first token")
    if statistics["time_to_first_token"] is not None:
        parts.append(f"first token after {statistics['time_to_first_token']:.3f} s")
    if statistics["rounds"]:
        parts.append(_count(statistics["rounds"], "round"))
        parts.append(f"mean acceptance length {statistics['mean_acceptance_length']:.2f} (accepted + bonus)")
    return ", ".join(parts)


def warning(statistics: dict) -> str | None:
    """What to say when a drafter is almost never right: it is then a wrong pair or a wrong alignment more often than a bad drafter."""
    mean = statistics["mean_acceptance_length"]
    if statistics["draft"] == "none" or statistics["rounds"] < ENOUGH_ROUNDS or mean >= LOW_ACCEPTANCE:
        return None
    return (
        f"warning: mean acceptance length {mean:.2f}, where 1 means that no proposal ever stood. The text is right all the same. "
        "Usual causes: a drafter trained for another target, shift_label or target_layer_ids that are not those of its training, "
        "a prompt unlike its training (thinking, no chat template)"
    )


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' * (number != 1)}"


def versions() -> dict[str, str | None]:
    """Of the packages that figures depend on; None: not installed."""
    return {name: _version(name) for name in PACKAGES}


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None
