"""python -m domino_jax.train.imagine: the target itself writes user turns, prompts for `domino_jax.train.regenerate` to have answered.

The method of Magpie (Xu et al. 2024, arXiv 2406.08464): an aligned chat model, given only what stands before a user's turn in its chat
template, writes a user's turn. The turns go through the openings in order, again and again; each has a seed of its own, the given one
plus its number, so that a run with --seed S + N adds to what one of N turns drew with --seed S.
"""

import json
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import cycle, islice
from pathlib import Path

from domino_jax import cli
from domino_jax.directories import require_writable, write_file
from domino_jax.engine import DTYPES, open_pair
from domino_jax.errors import InputError
from domino_jax.events import Event, Finished, Prompt, Result
from domino_jax.sampling import Sampling
from domino_jax.text import Text
from domino_jax.train.tasks.overlap import Excluded
from domino_jax.train.tasks.texts import source


def parser() -> cli.Parser:
    p = cli.Parser(prog="python -m domino_jax.train.imagine", description="Has the target write user turns: prompts for it to answer.")
    p.add_argument("--target", required=True, metavar="PATH", help="directory or hub id of the target, a chat model")
    p.add_argument("--draft", metavar="PATH", help="a drafter, for speed; default none")
    p.add_argument("--out", required=True, type=Path, metavar="FILE.jsonl", help="made or replaced, complete or not at all")
    p.add_argument("--count", required=True, type=cli.number(1), metavar="N", help="turns to draw; what is dropped is not made up for")
    p.add_argument("--openings", type=Path, metavar="FILE.txt", help="first words of turns, one a line, \\n for a newline; default none")
    p.add_argument("--system", metavar="TEXT", help="a system message, written with each turn; default what the template does by itself")
    p.add_argument("--temperature", type=float, default=1.0, metavar="T", help="default 1")
    p.add_argument("--top-p", type=float, default=1.0, metavar="P", help="default 1, which is off")
    p.add_argument("--max-new-tokens", type=cli.number(1), metavar="N", help="default 512, cut to what the context leaves")
    p.add_argument("--min-new-tokens", type=cli.number(0), default=0, metavar="N", help="no turn ends before; default 0")
    p.add_argument("--batch-size", type=cli.number(1), default=64, metavar="N", help="rows decoded together; default 64")
    p.add_argument("--seed", type=cli.number(0), default=0, metavar="N", help="of the first turn; default 0")
    p.add_argument("--exclude", action="append", default=[], type=source, metavar="FILE[:KEY]", help="drops what shares 13 words with it")
    p.add_argument("--dtype", choices=["auto", *DTYPES], default="auto", help="default auto")
    p.add_argument("--debug", action="store_true", help="show tracebacks; default off")
    return p


def openings(path: Path) -> list[str]:
    """One a line; an empty line is an empty opening."""
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not UTF-8"
        raise InputError(f"{path}: cannot be read ({reason}), expected a text of one opening a line") from None
    if not lines:
        raise InputError(f"{path}: is empty, expected one opening a line")
    return [line.replace("\\n", "\n") for line in lines]


def turns(text: Text, starts: Sequence[str], system: str | None, seed: int) -> list[Prompt]:
    """What stands before each turn, for the target to go on to the token that ends a turn."""
    begun = {start: text.user_turn(start, system) for start in dict.fromkeys(starts)}
    return [
        Prompt(tuple(ids), where=f"turn {i}", sampling={"seed": (seed + i) % 2**32}, stop_token_ids=(ending[0],))
        for i, (ids, ending) in enumerate(begun[start] for start in starts)
    ]


def drawn(events: Iterable[Event], count: int) -> list[Result]:
    """In the order of the turns."""
    results = {}
    for end in cli.progress("turns")((event for event in events if isinstance(event, Finished)), count):
        if end.result.error:
            raise InputError(end.result.error)
        results[end.index] = end.result
    return [results[i] for i in sorted(results)]


def sifted(starts: Sequence[str], results: Sequence[Result]) -> tuple[list[dict], Counter]:
    """Prompts of the turns that ended by themselves, go beyond their opening and are new; how many are not, by the reason."""
    found, lost = {}, Counter()
    for start, result in zip(starts, results, strict=True):
        text = (start + result.text).strip()
        if result.finish_reason == "length":
            lost["cut off"] += 1
        elif not result.text.strip():
            lost["empty"] += 1
        elif text in found:
            lost["repeated"] += 1
        else:
            found[text] = {"prompt": text, "kind": "imagined"}
    return [*found.values()], lost


def command(argv: Sequence[str] | None) -> int:
    arguments = parser().parse(argv)
    Sampling(temperature=arguments.temperature, top_p=arguments.top_p)
    excluded = Excluded(arguments.exclude)
    starts = list(islice(cycle(openings(arguments.openings) if arguments.openings else [""]), arguments.count))
    pair = open_pair(arguments.target, arguments.draft, arguments.dtype)
    if pair.text is None:
        raise InputError(f"{arguments.target}: has no tokenizer, expected one with a chat template")
    require_writable(arguments.out)
    asked = turns(pair.text, starts, arguments.system, arguments.seed)
    options = {name: getattr(arguments, name) for name in ("max_new_tokens", "batch_size", "temperature", "top_p")}
    options["min_tokens"] = arguments.min_new_tokens
    pair.plan(asked, **options)
    engine = pair.load(cli.transfer("loading"))
    found, lost = sifted(starts, drawn(engine.stream(asked, **options), len(asked)))
    left = excluded.kept(found)
    lost["excluded"] = len(found) - len(left)
    told = f"{len(asked)} turns drawn, " + ", ".join(f"{lost[why]} {why}" for why in ("cut off", "empty", "repeated", "excluded"))
    if not left:
        raise InputError(f"{told}: none is left, expected some to write")
    if arguments.system is not None:
        said = {"role": "system", "content": arguments.system}
        left = [{"messages": [said, {"role": "user", "content": entry["prompt"]}], "kind": entry["kind"]} for entry in left]
    write_file(arguments.out, "".join(f"{json.dumps(entry, ensure_ascii=False)}\n" for entry in left))
    cli.say(f"{told}; {len(left)} kept in {arguments.out}")
    return cli.DONE


def main(argv: Sequence[str] | None = None) -> int:
    return cli.run(command, argv)


if __name__ == "__main__":
    sys.exit(main())
