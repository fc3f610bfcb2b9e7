"""What `bench.decode` found, as Markdown: a part a column, a case a row."""

from collections.abc import Sequence

from bench.timing import headline

PARTS = ("block pass", "base logits", "rollout", "draft", "verify", "round", "step")


def markdown(about: dict) -> str:
    """All tables and what they mean, from what --json keeps."""
    rows = about["rows"]
    lines = [title(about), "", "Milliseconds; in brackets, times the limit:", "", *times(rows), ""]
    lines += ["Gigabytes that must be moved; in brackets, the share of the bandwidth that this is:", "", *bandwidth(rows), ""]
    lines += ["Tokens a second at given acceptance lengths:", "", *speeds(rows), ""]
    if "torch_agreement" in about:
        lines += ["Beside PyTorch; in brackets, how many times faster ours is:", "", *beside_torch(rows), "", *agreement(about)]
    lines += [f"* not measured: {case}: {reason}." for case, reason in about["not_measured"].items()]
    return "\n".join([*lines, *(f"* {term}: {meaning}." for term, meaning in about["conventions"].items())])


def agreement(about: dict) -> list[str]:
    return [f"* {way}, float32, tiny models, before anything was timed: {found}." for way, found in about["torch_agreement"].items()]


def title(about: dict) -> str:
    """What was measured on what, and the rates of the run."""
    shapes = f"shapes {about['shapes']}, {about['num_proposals']} proposals, pool {about['pool_size'] or 'none'}"
    rates = about["rates"]
    measured = f"{rates['bytes_per_second'] / 1e12:.3g} TB/s, {rates['operations_per_second'] / 1e12:.3g} TFLOP/s"
    return f"{headline(about)}; {shapes}; {measured}"


def table(columns: Sequence[str], cells: Sequence[Sequence]) -> list[str]:
    return [f"| {' | '.join(map(str, line))} |" for line in (columns, ["---"] * len(columns), *cells)]


def case(row: dict) -> list[int]:
    return [row["batch"], row["capacity"], row["used"]]


def times(rows: Sequence[dict]) -> list[str]:
    cells = []
    for row in rows:
        found = {name: f"{row['median'][name]:.3f} ({row['over_limit'][name]:.2f})" for name in PARTS}
        found["round"] = f"{row['sum']:.3f} | {found['round']} | {row['host_gap']:.1%}"
        cells.append([*case(row), *found.values()])
    return table(["batch", "capacity", "used", *PARTS[:5], "sum", "round", "host gap", "step"], cells)


def bandwidth(rows: Sequence[dict]) -> list[str]:
    cells = [[*case(row), *(f"{row['bytes'][name] / 1e9:.3g} ({row['of_bandwidth'][name]:.0%})" for name in PARTS)] for row in rows]
    return table(["batch", "capacity", "used", *PARTS], cells)


def speeds(rows: Sequence[dict]) -> list[str]:
    names = list(rows[0]["tokens_per_second"]) if rows else []
    cells = []
    for row in rows:
        found = *row["tokens_per_second"].values(), row["step_tokens_per_second"]
        cells.append([*case(row), f"{row['even_at']:.2f}", *(f"{speed:,.0f}" for speed in found)])
    return table(["batch", "capacity", "used", "even at", *names, "steps"], cells)


def beside_torch(rows: Sequence[dict]) -> list[str]:
    cells = []
    for row in rows:
        for way, found in row.get("torch", {}).items():
            said = [f"{found['median'][name]:.3f} ({found['times_faster'][name]:.2f})" for name in ("draft", "verify", "round")]
            cells.append([*case(row), way, *said, f"{found['same_proposals']:.1%}, {found['same_chosen']:.1%}"])
        for way, reason in row.get("torch_left_out", {}).items():
            cells.append([*case(row), way, f"left out: {reason}", "", "", ""])
    return table(["batch", "capacity", "used", "rounds of", "draft ms", "verify ms", "round ms", "same proposals, chosen"], cells)
