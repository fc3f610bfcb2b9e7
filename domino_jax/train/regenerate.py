"""python -m domino_jax.train.regenerate: writes the target's own answers to prompts, the data a drafter learns from.

Greedy, or drawn at a temperature; each prompt then has a seed of its own, the given one plus its number.

Every answer is one line, {"id", "prompt_ids", "output_ids", "finish_reason"}, appended when it is finished and flushed to the disk.
The same command goes on after a kill: what is there is kept, a torn last line is written again.
"""

import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from domino_jax import answers, cli, prompts
from domino_jax.engine import DTYPES, open_pair
from domino_jax.errors import InputError
from domino_jax.events import Finished
from domino_jax.sampling import Sampling


def command(argv: Sequence[str] | None) -> int:
    p = cli.Parser(prog="python -m domino_jax.train.regenerate", description="Writes the target's own answers to prompts, greedy or drawn.")
    p.add_argument("--target", required=True, metavar="PATH", help="directory or hub id of the target")
    p.add_argument("--draft", metavar="PATH", help="a drafter, for speed; default none")
    p.add_argument("--prompts", required=True, metavar="FILE.jsonl", help="one object a line with prompt, messages or prompt_ids")
    p.add_argument("--out", required=True, type=Path, metavar="FILE.jsonl", help="where answers are appended")
    p.add_argument("--max-new-tokens", type=cli.number(1), metavar="N", help="default 512, cut to what the context leaves")
    p.add_argument("--batch-size", type=cli.number(1), default=64, metavar="N", help="rows decoded together; default 64")
    p.add_argument("--temperature", type=float, default=0.0, metavar="T", help="0 (the default) is greedy")
    p.add_argument("--seed", type=cli.number(0), default=0, metavar="N", help="of drawn answers; default 0")
    p.add_argument("--thinking", action="store_true", help="thinking on in the chat template; default off")
    p.add_argument("--dtype", choices=["auto", *DTYPES], default="auto", help="default auto")
    p.add_argument("--debug", action="store_true", help="show tracebacks; default off")
    arguments = p.parse(argv)
    requests = prompts.from_file(arguments.prompts, besides=prompts.BESIDES)
    pair = open_pair(arguments.target, arguments.draft, arguments.dtype)
    Sampling(temperature=arguments.temperature)
    asked = [request.encode(pair.text, False, arguments.thinking) for request in requests]
    seeds = [{"seed": (arguments.seed + i) % 2**32} for i in range(len(asked))]
    asked = [replace(prompt, id=i, sampling=seeds[i] | (prompt.sampling or {})) for i, prompt in enumerate(asked)]
    pair.plan(asked, max_new_tokens=arguments.max_new_tokens)
    left = answers.unanswered(arguments.out, asked)
    if len(left) < len(asked):
        cli.say(f"{len(asked) - len(left)} of {len(asked)} answers are there already")
    if left:
        engine = pair.load(cli.transfer("loading"))
        options = {name: getattr(arguments, name) for name in ("max_new_tokens", "batch_size", "temperature")}
        events = engine.stream([asked[i] for i in left], **options)
        write(arguments.out, cli.progress("answers")((event for event in events if isinstance(event, Finished)), len(left)))
    return cli.DONE


def write(out: Path, ends: Iterable[Finished]) -> None:
    out.parent.mkdir(parents=True, exist_ok=True)
    with out.open("a", encoding="utf-8") as file:
        for end in ends:
            result = end.result
            if result.error:
                raise InputError(result.error)
            names = ("id", "prompt_ids", "output_ids", "finish_reason")
            answers.append(file, {name: getattr(result, name) for name in names})


def main(argv: Sequence[str] | None = None) -> int:
    return cli.run(command, argv)


if __name__ == "__main__":
    sys.exit(main())
