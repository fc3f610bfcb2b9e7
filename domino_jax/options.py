"""The options of `python -m domino_jax.generate`: what each means, and which of them do not go together."""

import argparse
from pathlib import Path

import domino_jax
from domino_jax import cli, plot, prompts
from domino_jax.capacity import DEFAULT_MAX_NEW_TOKENS
from domino_jax.drafter import DEFAULT_POOL_SIZE
from domino_jax.engine import DTYPES
from domino_jax.errors import InputError
from domino_jax.sampling import GREEDY, VALID, Sampling

DESCRIPTION = (
    "Generates text with a target model and a DFlash or Domino drafter. The drafter changes the speed and not one bit of the text."
)
EXACT = (
    "with --draft none: decode in check mode, bit for bit what any drafter gives at the same --num-proposals, "
    "--batch-size and --max-context; slower than the step program; default off"
)
LOGPROBS = (
    "with --output json: the log-probability of each output token under the target, at temperature 1 and before any filter; default off"
)
REFUSALS = """what is refused, and the remedy (exit status 2, nothing on stdout):
  no such directory, and not a hub id   give a directory that holds config.json and *.safetensors
  a hub id without network              hf download OWNER/NAME --local-dir DIR elsewhere, then pass DIR
  missing, unexpected, misshapen tensor the files and config.json are not of one model: fetch both again
  a drafter for another target          use the target that the drafter was trained for
  a tied head that differs, head tensors under a plain config, a head without its tensors     fetch both files again
  quantised weights, scaled RoPE, sliding layers, speculators format, other model types     not supported
  more proposals than the block has     lower --num-proposals
  --num-proposals auto, not measured    python -m bench.proposals, as the refusal has it, on this device
  text for a target without tokenizer   --prompt-ids, or put the tokenizer's files beside config.json
  a tokenizer without chat template     --raw
  a token id outside the vocabulary     ids from 0 to the target's vocab_size - 1, in prompts and in --stop-token-ids
  prompt and new tokens over the context, or the drafter's    lower --max-new-tokens, or shorten the prompt
  a bad JSONL line                      one object a line with prompt, messages or prompt_ids; optional id, n, max_new_tokens,
                                        min_tokens, stop, stop_token_ids, temperature, top_k, top_p, min_p, seed; or --skip-bad
  more --min-tokens than new tokens     lower --min-tokens, or raise --max-new-tokens
  several answers at temperature 0      a --temperature above 0: all would be the same
  --stop without a tokenizer            --stop-token-ids
  filters or a seed, nothing sampled    a --temperature above 0
  --out to a file that exists           --resume, or another file; one that other prompts made is left alone
  --plot without matplotlib             pip install matplotlib; its file ends in .png or .svg, its directory exists
  --draft without --target, --exact with a drafter, --raw with --thinking, --show-rounds with --output json, --out with --check,
  --trace, --logprobs or --out without --output json, --resume without --out, --plot or
  --num-proposals auto without a drafter,
  --skip-bad without --prompts: say the other, or leave the one out; --chat with a prompt or anything that is not a conversation's
exit status: 0 done; 1 --check found a difference or a row failed; 2 bad input;
130 interrupted, by Ctrl-C or SIGTERM: what is done is written"""


AUTO = "auto"  # as many proposals as are fastest


class _Add(argparse.Action):
    """Collects prompts of all kinds in command-line order."""

    def __call__(self, parser, namespace, value, option_string=None):
        kind = {"--prompt": prompts.from_text, "--prompt-ids": prompts.from_ids}.get(option_string)
        found = [kind(value, option_string)] if kind else prompts.lines(value)
        namespace.requests = [*(namespace.requests or []), *found]


def _token_ids(words: str) -> tuple[int, ...]:
    try:
        ids = prompts.from_ids(words, "ids").ids
    except InputError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    if min(ids) < 0:
        raise argparse.ArgumentTypeError(f"{min(ids)} is no token id, expected integers of at least 0")
    return ids


def _proposals(text: str) -> int | str:
    try:
        return text if text == AUTO else cli.number(1)(text)
    except argparse.ArgumentTypeError as error:
        raise argparse.ArgumentTypeError(f"{error}, or {AUTO}") from None


def parser() -> cli.Parser:
    p = cli.Parser(prog="python -m domino_jax.generate", description=DESCRIPTION, epilog=REFUSALS)
    models = p.add_argument_group("models")
    models.add_argument(
        "--target",
        metavar="PATH",
        help="directory or hub id of a Qwen3, Qwen2.5 or Llama 3 model, in any layout; default the shipped pair",
    )
    models.add_argument(
        "--draft",
        metavar="PATH|none",
        help="the same of its drafter; none (the default with --target): target-only, the step program",
    )
    models.add_argument(
        "--dtype", choices=["auto", *DTYPES], default="auto", help="default auto: bfloat16 on an accelerator, float32 on a CPU"
    )
    models.add_argument(
        "--num-proposals",
        type=_proposals,
        metavar="P|auto",
        help="proposals a round; auto: as many as were fastest on this device by the drafter's table, which bench.proposals measures; "
        "default block_size - 1",
    )
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
    asking.add_argument(
        "--skip-bad",
        action="store_true",
        help="lines of FILE.jsonl that cannot be served are named on stderr and left out; default off",
    )
    asking.add_argument(
        "--chat",
        action="store_true",
        help="a conversation at the terminal, a line a turn; the caches stay, each turn prefills what is new; --max-context bounds it, "
        "default 4096; Ctrl-C stops an answer, /new starts another conversation, Ctrl-D ends; default off",
    )
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
    decoding.add_argument(
        "--min-tokens", type=cli.number(0), default=0, metavar="N", help="no stop of any kind before so many new tokens; default 0"
    )
    decoding.add_argument(
        "--n", type=cli.number(1), default=1, metavar="N", help="answers to each prompt, each drawn for itself (--temperature); default 1"
    )
    decoding.add_argument("--batch-size", type=cli.number(1), metavar="N", help="rows decoded together; default min(answers, 8)")
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
    decoding.add_argument(
        "--stop-token-ids", type=_token_ids, default=(), metavar='"5 9"', help="end an answer too, also with --ignore-eos; default none"
    )
    decoding.add_argument("--ignore-eos", action="store_true", help="go on after the model's own stop tokens; default off")
    decoding.add_argument("--check", action="store_true", help="decode again in check mode and compare, bit for bit; default off")
    decoding.add_argument("--exact", action="store_true", help=EXACT)
    output = p.add_argument_group("output")
    output.add_argument(
        "--out",
        type=lambda text: Path(text).expanduser(),
        metavar="FILE.jsonl",
        help="append each JSON object to FILE as its answer ends; default none",
    )
    output.add_argument("--resume", action="store_true", help="with --out: go on where FILE ends; default off")
    output.add_argument("--output", choices=["text", "json"], default="text", help="default text; json is one object a line")
    output.add_argument(
        "--show-rounds", action="store_true", help="set accepted proposals apart in the text, in colour or brackets; default off"
    )
    output.add_argument("--trace", action="store_true", help="with --output json: every round's proposals; default off")
    output.add_argument("--logprobs", action="store_true", help=LOGPROBS)
    output.add_argument("--unordered", action="store_true", help="answers as they end (those of --out always are); default in order")
    output.add_argument("--stats", choices=["none", "line", "json"], default="line", help="statistics on stderr; default line")
    output.add_argument(
        "--plot",
        type=lambda text: Path(text).expanduser(),
        metavar="FILE.png|svg",
        help="draw acceptance lengths and acceptance by position (extra: plot); default none",
    )
    output.add_argument(
        "--compile-cache",
        metavar="DIR",
        help="keep compiled programs in DIR; default none. A cache is code that runs: trust the directory",
    )
    output.add_argument("--debug", action="store_true", help="show tracebacks; default off")
    output.add_argument("--version", action="version", version=f"domino_jax {domino_jax.__version__}")
    return p


NOT_IN_CHAT = ("raw", "batch_size", "check", "output", "out", "unordered", "skip_bad", "show_rounds", "trace", "logprobs", "stats", "plot")


def _beside_chat(arguments: argparse.Namespace) -> str | None:
    """An option that a conversation has no place for."""
    if arguments.requests:
        return "a prompt"
    if arguments.n > 1:
        return "--n"
    given = [name for name in NOT_IN_CHAT if getattr(arguments, name) not in (None, False, "text", "line")]
    return f"--{given[0].replace('_', '-')}" if given else None


def refuse_contradictions(arguments: argparse.Namespace) -> None:
    """Raises InputError for options that say two things at once. No draft with a target means none; without one, the shipped drafter."""
    shipped = arguments.target is None and arguments.draft is None
    given, beside = arguments.draft not in (None, "none"), _beside_chat(arguments)
    for wrong, message in (
        (arguments.target is None and given, "--draft is given without --target, expected both"),
        (
            arguments.exact and (given or shipped),
            "--exact is given with a drafter, expected --draft none (decoding with a drafter is exact already)",
        ),
        (
            arguments.raw and arguments.thinking,
            "--raw and --thinking are given together, expected one: thinking is the chat template's",
        ),
        (
            arguments.chat and beside,
            f"--chat is given with {beside}, expected one: a conversation is one row of text, asked at the terminal",
        ),
        (arguments.trace and arguments.output != "json", "--trace is given without --output json, expected both"),
        (arguments.out and arguments.output != "json", "--out is given without --output json, expected both"),
        (arguments.out and arguments.check, "--out is given with --check, expected one: answers are written before they can be checked"),
        (arguments.resume and not arguments.out, "--resume is given without --out, expected both"),
        (
            arguments.out and not arguments.out.parent.is_dir(),
            f"{arguments.out}: its directory is missing, expected one to write in",
        ),
        (
            arguments.out and arguments.out.exists() and not arguments.resume,
            f"{arguments.out}: exists already, expected a new file (or --resume to go on where it ends)",
        ),
        (arguments.logprobs and arguments.output != "json", "--logprobs is given without --output json, expected both"),
        (
            arguments.skip_bad and not any(request.is_line for request in arguments.requests or []),
            "--skip-bad is given without --prompts, expected both: only lines of files are skipped",
        ),
        (
            arguments.num_proposals == AUTO and not (given or shipped),
            "--num-proposals auto is given without a drafter, expected one: its table says what was measured",
        ),
        (arguments.plot and not (given or shipped), "--plot is given without a drafter, expected one: nothing is accepted without"),
        (arguments.show_rounds and arguments.output == "json", "--show-rounds is given with --output json, expected --trace there"),
    ):
        if wrong:
            raise InputError(message)
    plot.refuse_impossible(arguments.plot)


def sampling_options(arguments: argparse.Namespace, requests: list[prompts.Request]) -> dict[str, float | int]:
    """The engine's sampling options. Raises InputError for impossible values, and for filters that nothing would use."""
    given = {name: getattr(arguments, name) for name in VALID}
    Sampling(**given)
    used = given["temperature"] > 0 or any((request.sampling or {}).get("temperature") for request in requests)
    idle = [name for name in VALID if given[name] != getattr(GREEDY, name) and not used]
    if idle:
        raise InputError(f"--{idle[0].replace('_', '-')} is given and nothing is sampled, expected also a --temperature above 0")
    return given
