"""python -m domino_jax.generate: prompts in, text or JSON out. Text goes to stdout, everything else to stderr."""

import argparse
import json
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import jax

import domino_jax
from domino_jax import cli, demo, prompts, statistics
from domino_jax.capacity import DEFAULT_MAX_NEW_TOKENS
from domino_jax.drafter import DEFAULT_POOL_SIZE
from domino_jax.engine import DEFAULT_BATCH_SIZE, DTYPES, Engine, Pair, open_pair
from domino_jax.errors import InputError
from domino_jax.events import Compiled, Event, Finished, Prompt, Result, Started
from domino_jax.printers import JsonPrinter, TextPrinter
from domino_jax.programs import use_compile_cache
from domino_jax.sampling import GREEDY, VALID, Sampling

EXAMPLE = (  # of the kind that the shipped pair was trained on
    "Zoltan drives to the market with 6 crates of tomato relish, and each crate holds 15 jars. Before lunch 74 jars are sold. "
    "All the others go after lunch, at 2 pesos a jar. How many pesos does Zoltan take after lunch?"
)
DESCRIPTION = (
    "Generates text with a Qwen3 target and a DFlash or Domino drafter. The drafter changes the speed and not one bit of the text."
)
EXACT = (
    "with --draft none: decode in check mode, bit for bit what any drafter gives at the same --num-proposals, "
    "--batch-size and --max-context; slower than the step program; default off"
)
REFUSALS = """what is refused, and the remedy (exit status 2, nothing on stdout):
  no such directory, and not a hub id   give a directory that holds config.json and *.safetensors
  a hub id without network              hf download OWNER/NAME --local-dir DIR elsewhere, then pass DIR
  missing, unexpected, misshapen tensor the files and config.json are not of one model: fetch both again
  a drafter for another target          use the target that the drafter was trained for
  a tied head that differs, head tensors under a plain config, a head without its tensors     fetch both files again
  quantised weights, scaled RoPE, sliding layers, speculators format, other model types     not supported
  more proposals than the block has     lower --num-proposals
  text for a target without tokenizer   --prompt-ids, or put the tokenizer's files beside config.json
  a tokenizer without chat template     --raw
  prompt and new tokens over the context, or the drafter's    lower --max-new-tokens, or shorten the prompt
  a bad JSONL line                      one object a line with prompt, messages or prompt_ids; optional id, max_new_tokens,
                                        stop, temperature, top_k, top_p, min_p, seed
  --draft without --target, --exact with a drafter, --raw with --thinking, --trace without --output json, --show-rounds with it
exit status: 0 done; 1 --check found a difference or a row failed; 2 bad input; 130 interrupted"""


class _Add(argparse.Action):
    """Collects prompts of all kinds in command-line order."""

    def __call__(self, parser, namespace, value, option_string=None):
        kind = {"--prompt": prompts.from_text, "--prompt-ids": prompts.from_ids}.get(option_string)
        found = [kind(value, option_string)] if kind else prompts.from_file(value)
        namespace.requests = [*(namespace.requests or []), *found]


def parser() -> cli.Parser:
    p = cli.Parser(prog="python -m domino_jax.generate", description=DESCRIPTION, epilog=REFUSALS)
    models = p.add_argument_group("models")
    models.add_argument(
        "--target", metavar="PATH", help="Hugging Face or Orbax directory, or a hub id, of a Qwen3 model; default the shipped pair"
    )
    models.add_argument(
        "--draft",
        metavar="PATH|none",
        help="the same of its drafter; none (the default with --target): target-only, the step program",
    )
    models.add_argument(
        "--dtype", choices=["auto", *DTYPES], default="auto", help="default auto: bfloat16 on an accelerator, float32 on a CPU"
    )
    models.add_argument("--num-proposals", type=cli.number(1), metavar="P", help="proposals a round; default block_size - 1")
    models.add_argument(
        "--pool-size",
        type=cli.number(0),
        default=DEFAULT_POOL_SIZE,
        metavar="K",
        help=f"candidate ids of the Domino head; default {DEFAULT_POOL_SIZE}, 0: all",
    )
    asking = p.add_argument_group(
        "prompts", "repeatable and mixable; without any, standard input (its last line end left out), and at a terminal an example"
    )
    asking.add_argument("--prompt", dest="requests", action=_Add, metavar="TEXT", help="a prompt text")
    asking.add_argument("--prompt-ids", dest="requests", action=_Add, metavar='"5 9 15"', help="token ids")
    asking.add_argument("--prompts", dest="requests", action=_Add, metavar="FILE.jsonl", help="one object a line, see below")
    asking.add_argument("--raw", action="store_true", help="no chat template: the text as it stands; default off")
    asking.add_argument(
        "--thinking",
        action="store_true",
        help="thinking on in the chat template; default off, as the public drafters were trained",
    )
    decoding = p.add_argument_group("decoding")
    decoding.add_argument(
        "--max-new-tokens",
        type=cli.number(1),
        metavar="N",
        help=f"default {DEFAULT_MAX_NEW_TOKENS}, cut to what the context leaves",
    )
    decoding.add_argument("--batch-size", type=cli.number(1), metavar="N", help="rows decoded together; default min(prompts, 8)")
    decoding.add_argument(
        "--max-context",
        type=cli.number(2),
        metavar="N",
        help="positions a row may use, all of them cached; default no more than the prompts need",
    )
    for name, (_, expected) in VALID.items():
        option, default = "--" + name.replace("_", "-"), getattr(GREEDY, name)
        kind = int if isinstance(default, int) else float
        decoding.add_argument(option, type=kind, default=default, metavar="X", help=f"{expected}; default {default}")
    decoding.add_argument(
        "--stop",
        action="append",
        default=[],
        metavar="TEXT",
        help="ends an answer and is left out; repeatable; default none",
    )
    decoding.add_argument("--ignore-eos", action="store_true", help="go on after stop tokens; default off")
    decoding.add_argument("--check", action="store_true", help="decode again in check mode and compare, bit for bit; default off")
    decoding.add_argument("--exact", action="store_true", help=EXACT)
    output = p.add_argument_group("output")
    output.add_argument("--output", choices=["text", "json"], default="text", help="default text; json is one object a line")
    output.add_argument(
        "--show-rounds", action="store_true", help="set accepted proposals apart in the text, in colour or brackets; default off"
    )
    output.add_argument("--trace", action="store_true", help="with --output json: every round's proposals; default off")
    output.add_argument("--stats", choices=["none", "line", "json"], default="line", help="statistics on stderr; default line")
    output.add_argument(
        "--compile-cache",
        metavar="DIR",
        help="keep compiled programs in DIR; default none. A cache is code that runs: trust the directory",
    )
    output.add_argument("--debug", action="store_true", help="show tracebacks; default off")
    output.add_argument("--version", action="version", version=f"domino_jax {domino_jax.__version__}")
    return p


def refuse_contradictions(arguments: argparse.Namespace) -> None:
    """Raises InputError for options that say two things at once. `arguments.draft` None with a target means none."""
    drafting = arguments.draft not in (None, "none")
    for wrong, message in (
        (arguments.target is None and drafting, "--draft is given without --target, expected both"),
        (
            arguments.exact and drafting,
            "--exact is given with a drafter, expected --draft none (decoding with a drafter is exact already)",
        ),
        (
            arguments.raw and arguments.thinking,
            "--raw and --thinking are given together, expected one: thinking is the chat template's",
        ),
        (arguments.trace and arguments.output != "json", "--trace is given without --output json, expected both"),
        (arguments.show_rounds and arguments.output == "json", "--show-rounds is given with --output json, expected --trace there"),
    ):
        if wrong:
            raise InputError(message)


def read_requests(arguments: argparse.Namespace) -> list[prompts.Request]:
    if arguments.requests:
        return arguments.requests
    if sys.stdin is not None and not sys.stdin.isatty():
        piped = sys.stdin.buffer.read().decode("utf-8", "surrogateescape")
        return [prompts.from_text(piped.removesuffix("\n").removesuffix("\r"), "standard input")]  # the shell's, not the prompt's
    cli.say(f"no prompt given; example: {EXAMPLE}")
    return [prompts.from_text(EXAMPLE, "the example prompt")]


def decode(engine: Engine, asked: list[Prompt], options: dict, printer: TextPrinter | JsonPrinter) -> tuple[list[Result], dict[str, float]]:
    """Runs the prompts, printing as they go -> (results in order, seconds by stage)."""
    seconds = {"compile": 0.0, "decode": 0.0}
    ends = watch(engine.stream(asked, **options), printer, seconds)
    if len(asked) > 1:
        ends = cli.progress("prompts")(ends, len(asked))
    results = {end.index: end.result for end in ends}
    return [results[index] for index in sorted(results)], seconds


def watch(events: Iterator[Event], printer: TextPrinter | JsonPrinter, seconds: dict[str, float]) -> Iterator[Finished]:
    """Announces compilation, prints answers, keeps `seconds` up to date; lets the ends of answers through."""
    first = None
    for event in events:
        announce(event, seconds)
        if isinstance(event, Started):
            first = first or time.perf_counter()
        elif isinstance(event, Finished):
            seconds["decode"] = time.perf_counter() - first
        printer.event(event)
        if isinstance(event, Finished):
            yield event


def announce(event: Event, seconds: dict[str, float]) -> None:
    """Says that something was compiled, and counts its seconds."""
    if isinstance(event, Compiled):
        seconds["compile"] += event.seconds
        how = "loaded from cache" if event.cached else "compiled"
        cli.say(f"{how} {event.program} for batch {event.batch}, capacity {event.capacity} in {event.seconds:.1f} s")


def notes(pair: Pair, engine: Engine, exact: bool) -> Iterator[str]:
    """What the user should know about this run, and could not see."""
    for opened in filter(None, (pair.target, pair.draft)):
        yield from opened.notes
        if (stored := opened.stored_dtypes) != [engine.dtype.name]:
            yield f"{opened.directory} is stored as {', '.join(stored)} and computed as {engine.dtype.name}"
    if exact:
        yield f"check mode, {engine.num_proposals + 1} positions a round for one token; the step program (without --exact) is faster"


def sampling_options(arguments: argparse.Namespace, requests: list[prompts.Request]) -> dict[str, float | int]:
    """The engine's sampling options. Raises InputError for impossible values, and for filters that nothing would use."""
    given = {name: getattr(arguments, name) for name in VALID}
    Sampling(**given)
    used = given["temperature"] > 0 or any((request.sampling or {}).get("temperature") for request in requests)
    idle = [name for name in VALID if given[name] != getattr(GREEDY, name) and not used]
    if idle:
        raise InputError(f"--{idle[0].replace('_', '-')} is given and nothing is sampled, expected also a --temperature above 0")
    return given


def shipped_or_given(arguments: argparse.Namespace) -> tuple[str, str | None]:
    """The target's and the drafter's place; without --target the pair that comes with the package."""
    draft = demo.DRAFT if arguments.target is None and arguments.draft is None else arguments.draft
    return arguments.target or demo.TARGET, None if draft == "none" else draft


def describe(arguments: argparse.Namespace, pair: Pair, engine: Engine, count: int) -> dict:
    """What the figures of this run depend on."""
    return {
        "platform": jax.default_backend(),
        "device": jax.devices()[0].device_kind,
        "dtype": engine.dtype.name,
        "draft": pair.draft.kind if pair.draft else "none",
        "draft_path": str(pair.draft.directory) if pair.draft else None,
        "target_path": str(pair.target.directory),
        "num_proposals": engine.num_proposals if pair.draft or arguments.exact else 0,
        "pool_size": arguments.pool_size,
        "batch_size": arguments.batch_size or min(count, DEFAULT_BATCH_SIZE),
        "thinking": arguments.thinking,
        "exact": arguments.exact,
        "sampling": {name: getattr(arguments, name) for name in VALID},
    }


def command(argv: Sequence[str] | None) -> int:
    """One run, from arguments to the exit status. What can be refused is refused before a weight is read or a word printed."""
    arguments = parser().parse(argv)
    refuse_contradictions(arguments)
    requests = read_requests(arguments)
    if arguments.compile_cache and (problem := use_compile_cache(Path(arguments.compile_cache).expanduser())):
        cli.say(f"warning: {problem}; going on without a compile cache")
    sys.stdout.reconfigure(encoding="utf-8")

    began = time.perf_counter()
    pair = open_pair(*shipped_or_given(arguments), arguments.dtype, arguments.num_proposals, arguments.pool_size)
    sampling = sampling_options(arguments, requests)
    if pair.text is None and (arguments.stop or any(request.stop for request in requests)):
        raise InputError("--stop is given but the target has no tokenizer, expected no stop texts")
    if "" in arguments.stop:
        raise InputError("--stop is empty, expected a text of at least one character")
    asked = [request.encode(pair.text, arguments.raw, arguments.thinking) for request in requests]
    pair.plan(asked, arguments.max_new_tokens, arguments.max_context)
    engine = pair.load(cli.progress("loading"))
    loaded = time.perf_counter() - began
    for note in notes(pair, engine, arguments.exact):
        cli.say(f"note: {note}")

    context = describe(arguments, pair, engine, len(asked))
    names = [number if prompt.id is None else prompt.id for number, prompt in enumerate(asked)]
    printer = JsonPrinter(context, hold=arguments.check)
    if arguments.output == "text":
        printer = TextPrinter(names, pair.text, arguments.show_rounds)
    options = {name: getattr(arguments, name) for name in ("max_new_tokens", "max_context", "batch_size", "ignore_eos", "stop")} | sampling
    results, seconds = decode(engine, asked, {**options, "exact": arguments.exact, "trace": arguments.trace}, printer)
    if arguments.check:
        began, compiled = time.perf_counter(), seconds["compile"]
        engine.check(results, asked, watch=lambda event: announce(event, seconds), **options)
        seconds["check"] = time.perf_counter() - began - (seconds["compile"] - compiled)
    printer.end()
    return report(arguments, results, {"load": loaded, **seconds}, context)


def report(arguments: argparse.Namespace, results: list[Result], seconds: dict[str, float], context: dict) -> int:
    """Statistics, warnings and failures on stderr -> the exit status."""
    summary = statistics.summarize(results, seconds, context)
    if (warning := statistics.warning(summary)) is not None:
        cli.say(warning)
    if arguments.stats == "line":
        cli.say(statistics.line(summary))
    elif arguments.stats == "json":
        cli.say(json.dumps(summary, ensure_ascii=False))
    different = [result for result in results if result.check and not result.check.equal]
    for result in different:
        where, margin = result.check.first_difference, "unknown" if result.check.margin is None else f"{result.check.margin:.3g}"
        cli.say(f"check: {result.id} differs from check mode at output token {where} (the target's top-two margin there: {margin})")
    failed = [result for result in results if result.error]
    if arguments.check and not different:
        cli.say(f"check: {len(results)} of {len(results)} answers equal check mode, bit for bit")
    for result in failed:
        cli.say(f"error: {result.error}")
    return cli.FAILED if different or failed else cli.DONE


def main(argv: Sequence[str] | None = None) -> int:
    return cli.run(command, argv)


if __name__ == "__main__":
    sys.exit(main())
