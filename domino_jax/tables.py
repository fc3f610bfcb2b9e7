"""The figures of an evaluation as Markdown: ways of decoding side by side, over one set of prompts or over several."""

from collections.abc import Callable, Sequence

from domino_jax.figures import Acceptance, Figures
from domino_jax.loops import LONGEST_PERIOD, REPEATS, TOKENS

NOTE = (
    "Acceptance length: accepted + bonus, mean over all rounds of all prompts, before cuts; 95 % interval by bootstrap over prompts. "
    "Oracle: the most tokens a round that any drafter could give on these answers. Tokens/s: after the first token, compilation left out."
)
LOOPS_NOTE = (
    f"An answer loops if its budget ended it in exact repetition: a run of one period of up to {LONGEST_PERIOD} tokens, "
    f"at least {REPEATS} periods and {TOKENS} tokens long."
)
AVERAGE_NOTE = (
    "Average: the plain mean of the sets' figures, each set counting the same (a ratio is that of two such means); its interval draws the "
    "prompts of each set anew. "
    "All: counts are sums, tokens/s all tokens over all seconds."
)


def one_set(found: Sequence[Figures]) -> str:
    """Ways of decoding in rows; a second table, if answers loop, leaves these out."""
    lines = table(
        ["score", "equal to target-only", "rounds", "acceptance length", "over the first drafter", "oracle", "tokens/s"],
        [(f.name, _score(f), _equal(f), f.rounds, _mean(f, f), _ratio(f, f), _oracle(f), _speed(f)) for f in found],
    )
    if any(f.looping for f in found):
        lines += ["", "Without the answers that loop:", ""]
        lines += table(
            ["answers", "rounds", "acceptance length", "over the first drafter"],
            [(f.name, _left(f), f.without_loops.rounds, _mean(f, f.without_loops), _ratio(f, f.without_loops)) for f in found],
        )
    return "\n".join([*lines, "", _counted(note(1), found)])


def several_sets(sets: dict[str, Sequence[Figures]], over_all: Sequence[Figures]) -> str:
    """A table for each quantity: sets and their average in rows, ways of decoding in columns."""
    everything = [f for found in sets.values() for f in found]
    drafters = [way for way, f in enumerate(over_all) if f.kind != "none"]
    others, ways, looping = drafters[1:], range(len(over_all)), any(f.looping for f in everything)

    def without(f: Figures) -> str:
        return f"{_mean(f, f.without_loops)} ({_left(f)})"

    quantities: list[tuple[str, str, Sequence[int], Callable[[Figures], str]]] = [
        ("Acceptance length", "average", drafters, lambda f: _mean(f, f)),
        ("Acceptance length over the first drafter's", "average", others, lambda f: _ratio(f, f)),
        ("Acceptance length without the answers that loop (those left)", "average", drafters if looping else [], without),
        ("The same over the first drafter's", "average", others if looping else [], lambda f: _ratio(f, f.without_loops)),
        ("Right answers", "average", ways if any(f.score is not None for f in everything) else [], _score),
        ("Answers equal to target-only", "all", drafters, _equal),
        ("Oracle", "average", drafters, _oracle),
        ("Tokens/s", "all", ways, _speed),
    ]
    lines = []
    for title, last, columns, cell in quantities:
        if columns:
            rows = [(name, found[0].prompts, *(cell(found[way]) for way in columns)) for name, found in (*sets.items(), (last, over_all))]
            lines += [f"{title}:", "", *table(["prompts", *(over_all[way].name for way in columns)], rows), ""]
    return "\n".join([*lines, _counted(note(len(sets)), everything)])


def note(sets: int) -> str:
    """What the figures of so many sets mean."""
    return " ".join([NOTE, *[AVERAGE_NOTE] * (sets > 1), LOOPS_NOTE])


def table(header: Sequence[str], rows: Sequence[tuple]) -> list[str]:
    """The lines of a Markdown table. The first column has no header: it names the rows."""
    return [f"| | {' | '.join(header)} |", "|---" * (len(header) + 1) + "|", *(f"| {' | '.join(map(str, row))} |" for row in rows)]


def _mean(f: Figures, some: Acceptance) -> str:
    return "" if f.kind == "none" else _figure(some.acceptance_length, some.interval)


def _ratio(f: Figures, some: Acceptance) -> str:
    return "" if f.kind == "none" else _figure(some.ratio, some.ratio_interval)


def _oracle(f: Figures) -> str:
    return "" if f.kind == "none" else _figure(f.oracle)


def _score(f: Figures) -> str:
    return "" if f.score is None else f"{f.score:.3f}"


def _equal(f: Figures) -> str:
    return f"{f.equal} of {f.answers}"


def _left(f: Figures) -> str:
    return f"{f.without_loops.answers} of {f.answers}"


def _speed(f: Figures) -> str:
    return _figure(f.tokens_per_second, digits=0)


def _figure(value: float | None, interval: tuple[float, float] | None = None, digits: int = 2) -> str:
    """A number with its interval, a dash where there is none."""
    if value is None:
        return "–"
    return f"{value:.{digits}f}" + (f" [{interval[0]:.{digits}f}, {interval[1]:.{digits}f}]" if interval else "")


def _counted(said: str, found: Sequence[Figures]) -> str:
    """The note, and that nothing loops where no table says what does."""
    return said if any(f.looping for f in found) else f"{said} None does here."
