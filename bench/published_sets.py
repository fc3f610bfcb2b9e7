"""python -m bench.published_sets: public evaluation sets, as they are published, to prompt files of `python -m domino_jax.evaluate`.

    python -m bench.published_sets DIR --out SETS

DIR holds any of these, named so (upstream's are called test.jsonl and question.jsonl), each plain or .gz; what else is there is left alone:

    HumanEval*.jsonl    openai/human-eval            -> humaneval.jsonl
    gsm8k_test*.jsonl   openai/grade-school-math     -> gsm8k.jsonl, with the number as `answer`
    spec_bench*.jsonl   hemingkx/Spec-Bench          -> spec_bench_GROUP.jsonl, one for each of its six groups

HumanEval and GSM8K are phrased as DFlash's evaluation does (z-lab/dflash, dflash/benchmark.py; Domino's follows it). Spec-Bench's questions
are asked as they stand; a conversation of its MT-Bench group is a line of `turns`, each asked after the answer to the one before.

To keep these sets out of training prompts (`train.tasks --exclude`), give the files as published: the phrasing around HumanEval's tasks
is a run of 13 words itself.
"""

import json
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from domino_jax import cli
from domino_jax.directories import write_file
from domino_jax.errors import InputError
from domino_jax.train.tasks.texts import objects

HUMANEVAL = "Write a solution to the following problem and make sure that it passes the tests:\n```python\n{prompt}\n```"
GSM8K = "{question}\nPlease reason step by step, and put your final answer within \\boxed{{}}."
ANSWER = re.compile(r"#### *(-?[\d,]+)")
MT_BENCH = ("writing", "roleplay", "reasoning", "math", "coding", "extraction", "stem", "humanities")
GROUPS = {category: "mt_bench" for category in MT_BENCH} | {
    category: category for category in ("translation", "summarization", "qa", "math_reasoning", "rag")
}


def text(entry: dict, key: str, where: str) -> str:
    if not isinstance(entry.get(key), str) or not entry[key]:
        raise InputError(f"{where}: {key} is {json.dumps(entry.get(key))[:80]}, expected a non-empty text")
    return entry[key]


def humaneval(path: Path) -> Iterator[tuple[str, dict]]:
    """(name of a set, line) pairs, as all readers below."""
    for where, entry in objects(path):
        yield "humaneval", {"id": text(entry, "task_id", where), "prompt": HUMANEVAL.format(prompt=text(entry, "prompt", where))}


def gsm8k(path: Path) -> Iterator[tuple[str, dict]]:
    for where, entry in objects(path):
        if (found := ANSWER.search(text(entry, "answer", where))) is None:
            raise InputError(f"{where}: answer ends in {json.dumps(entry['answer'][-40:])}, expected a number after ####")
        prompt = GSM8K.format(question=text(entry, "question", where))
        yield "gsm8k", {"prompt": prompt, "answer": f"#### {found[1].replace(',', '')}"}


def spec_bench(path: Path) -> Iterator[tuple[str, dict]]:
    for where, entry in objects(path):
        category, turns = text(entry, "category", where), entry.get("turns")
        if category not in GROUPS:
            raise InputError(f"{where}: category is {json.dumps(category)}, expected one of {', '.join(GROUPS)}")
        group = GROUPS[category]
        conversation = group == "mt_bench"
        if not isinstance(turns, list) or not turns or not all(isinstance(turn, str) and turn for turn in turns):
            raise InputError(f"{where}: turns is {json.dumps(turns)[:80]}, expected a list of non-empty texts")
        if not conversation and len(turns) > 1:
            raise InputError(f"{where}: has {len(turns)} turns, expected one in the category {category}")
        yield f"spec_bench_{group}", {"turns": turns} if conversation else {"prompt": turns[0]}


READERS = {"HumanEval*.jsonl": humaneval, "gsm8k_test*.jsonl": gsm8k, "spec_bench*.jsonl": spec_bench}


def read(directory: Path) -> dict[str, list[dict]]:
    """The lines of each set; raises InputError where no set is, where one is there twice, and for a line that is not as published."""
    sets: dict[str, list[dict]] = {}
    for pattern, reader in READERS.items():
        paths = sorted([*directory.glob(pattern), *directory.glob(f"{pattern}.gz")])
        if not paths:
            cli.say(f"{directory}: holds no {pattern}")
        if len(paths) > 1:
            raise InputError(f"{directory}: holds {' and '.join(path.name for path in paths)}, expected one {pattern}")
        for path in paths:
            for name, line in reader(path):
                sets.setdefault(name, []).append(line)
    if not sets:
        raise InputError(f"{directory}: holds no published set, expected {', '.join(READERS)} (or .gz)")
    return sets


def command(argv: Sequence[str] | None) -> int:
    p = cli.Parser(prog="python -m bench.published_sets", description="Public evaluation sets to prompt files, one a set.")
    p.add_argument("directory", type=Path, metavar="DIR", help="holds the sets as published: " + ", ".join(READERS))
    p.add_argument("--out", required=True, type=Path, metavar="DIR", help="where the prompt files are made or replaced")
    p.add_argument("--debug", action="store_true", help="show tracebacks; default off")
    arguments = p.parse(argv)
    if arguments.out.resolve() == arguments.directory.resolve():
        raise InputError(f"--out {arguments.out}: is the directory of the published files, expected another")
    for name, lines in read(arguments.directory).items():
        write_file(arguments.out / f"{name}.jsonl", "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines))
        cli.say(f"{len(lines)} prompts in {arguments.out / name}.jsonl")
    return cli.DONE


def main(argv: Sequence[str] | None = None) -> int:
    return cli.run(command, argv)


if __name__ == "__main__":
    sys.exit(main())
