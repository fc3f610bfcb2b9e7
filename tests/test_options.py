"""The options: what is refused, with which remedy, and what --help says of them."""

import importlib.util
import re
from pathlib import Path

import pytest

import domino_jax
from domino_jax import generate, options, prompts
from tests.commands import altered

# Refusals


@pytest.mark.parametrize(
    ("argv", "nearest"),
    [
        (("--max-new-token", "5"), "--max-new-tokens"),
        (("--max-new", "5"), "--max-new-tokens"),
        (("--draft-modle", "x"), "--draft"),
        (("--pool", "0"), "--pool-size"),
        (("--batchsize=2",), "--batch-size"),
        (("--check-mode",), "--check"),
        (("--stat", "json"), "--stats"),
        (("--promt", "hi"), "--prompt"),
    ],
)
def test_an_unknown_option_is_refused_with_the_nearest(refused, argv, nearest):
    said = refused("--target", "somewhere", *argv)
    assert f"unknown argument {argv[0].split('=')[0]}" in said
    assert f"the nearest is {nearest})" in said


@pytest.mark.parametrize(
    ("argv", "named"),
    [
        (("--draft", "somewhere"), "--target"),
        (("--target", "a", "--draft", "b", "--exact"), "--draft none"),
        (("--target", "a", "--raw", "--thinking"), "--thinking"),
        (("--target", "a", "--trace"), "--output json"),
        (("--target", "a", "--output", "xml"), "--output"),
        (("--target", "a", "--stats", "all"), "--stats"),
        (("--target", "a", "--dtype", "float8"), "--dtype"),
        (("--target", "a", "--dtype"), "--dtype"),
        (("--target", "a", "--max-new-tokens", "0"), "at least 1"),
        (("--target", "a", "--max-new-tokens", "-1"), "at least 1"),
        (("--target", "a", "--max-new-tokens", "many"), "at least 1"),
        (("--target", "a", "--num-proposals", "0"), "at least 1"),
        (("--target", "a", "--num-proposals", "most"), "expected one of at least 1, or auto"),
        (("--target", "a", "--num-proposals", "auto"), "--num-proposals auto is given without a drafter"),
        (("--target", "a", "--draft", "none", "--num-proposals", "auto"), "--num-proposals auto is given without a drafter"),
        (("--draft", "none", "--exact", "--num-proposals", "auto"), "--num-proposals auto is given without a drafter"),
        (("--target", "a", "--pool-size", "-1"), "at least 0"),
        (("--target", "a", "--batch-size", "0"), "at least 1"),
        (("--target", "a", "--batch-size", "2.5"), "at least 1"),
        (("--target", "a", "--max-context", "1"), "at least 2"),
        (("--target", "a", "--prompt", ""), "--prompt"),
        (("--target", "a", "--prompt", "\udcff"), "--prompt"),
        (("--target", "a", "--prompt-ids", "5 x"), "--prompt-ids"),
        (("--target", "a", "--prompts", "missing.jsonl"), "missing.jsonl"),
        (("--target", "missing", "--prompt-ids", "5"), "missing"),
    ],
    ids=lambda value: " ".join(value)[:40] if isinstance(value, tuple) else "",
)
def test_bad_options_are_refused(refused, argv, named):
    assert named in refused(*argv).replace("argument --", "--")


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (("--prompt-ids", "5 32"), "--prompt-ids: token id 32 is outside the vocabulary, expected an integer from 0 to 31"),
        (("--prompt-ids", "-1"), "--prompt-ids: token id -1"),
        (("--prompt-ids", " ".join("5" * 300)), "300 tokens, expected at most 255"),
        (("--prompt-ids", " ".join("5" * 216), "--max-new-tokens", "41"), "216 prompt tokens and max_new_tokens 41 need 257 .* most 256"),
        (("--prompt-ids", "5 6 7", "--max-context", "8", "--max-new-tokens", "6"), "3 prompt tokens and max_new_tokens 6 .* most 8"),
        (("--prompt-ids", "5", "--max-context", "257"), "max_context is 257, expected 2 to max_position_embeddings = 256"),
        (("--prompt-ids", "5", "--num-proposals", "17"), "num_proposals is 17, expected .*16"),
        (("--prompt", "hi"), "--prompt: .*no tokenizer.*--prompt-ids"),
    ],
    ids=lambda value: value[-1][:20] if isinstance(value, tuple) else "",
)
def test_what_the_pair_cannot_serve_is_refused(refused, counting_pair, argv, said):
    assert re.search(said, refused("--target", counting_pair[0], "--draft", counting_pair[1], *argv))


def test_a_budget_that_just_fits_is_served(run, counting_pair):
    done = run("--target", counting_pair[0], "--prompt-ids", " ".join("5" * 216), "--max-new-tokens", "40", "--ignore-eos")
    assert done.out == " ".join(map(str, [*range(6, 29), *range(17)])) + "\n"


def test_a_bad_line_of_the_file_is_refused_before_anything_is_loaded(refused, prompts_file):
    file = prompts_file({"prompt": "hi"}, {"promt": "hi"})
    assert f"{file}, line 2: " in refused("--target", "missing", "--prompts", file)


def test_a_line_out_of_the_vocabulary_is_named(refused, counting_pair, prompts_file):
    file = prompts_file({"prompt_ids": [5]}, {"prompt_ids": [99], "id": "x"})
    assert f"{file}, line 2: token id 99" in refused("--target", counting_pair[0], "--prompts", file)


def test_a_tokenizer_without_template_points_to_raw(refused, speaking_pair, tmp_path):
    target = altered(speaking_pair[0], tmp_path / "target", tokenizer_config={"chat_template": None})
    assert "--raw" in refused("--target", target, "--prompt", "hi")


def test_messages_are_refused_without_template(refused, speaking_pair, prompts_file):
    file = prompts_file({"messages": [{"role": "user", "content": "hi"}]})
    assert f"{file}, line 1: " in refused("--target", speaking_pair[0], "--raw", "--prompts", file)


@pytest.mark.parametrize(("target", "draft", "said"), [(1, 1, "pass it as the draft"), (0, 0, "as the target")])
def test_a_drafter_and_a_target_are_not_confused(refused, counting_pair, target, draft, said):
    assert said in refused("--target", counting_pair[target], "--draft", counting_pair[draft], "--prompt-ids", "5")


def test_a_drafter_of_another_target_is_refused(refused, counting_pair, speaking_pair):
    said = refused("--target", counting_pair[0], "--draft", speaking_pair[1], "--prompt-ids", "5")
    assert "another target" in said


@pytest.mark.parametrize(
    ("argv", "named"),
    [
        (("--temperature", "-1"), "temperature is -1.0"),
        (("--temperature", "nan"), "temperature is nan"),
        (("--temperature", "1", "--top-p", "0"), "top_p is 0.0"),
        (("--temperature", "1", "--top-k", "-3"), "top_k is -3"),
        (("--temperature", "1", "--min-p", "1"), "min_p is 1.0"),
        (("--temperature", "1", "--seed", "-1"), "seed is -1"),
        (("--temperature", "hot"), "--temperature"),
        (("--top-p", "0.9"), "--top-p is given and nothing is sampled"),
        (("--seed", "7"), "--seed is given and nothing is sampled"),
    ],
)
def test_impossible_or_idle_sampling_is_refused(refused, counting_pair, argv, named):
    assert named in refused("--target", counting_pair[0], "--prompt-ids", "0", *argv)


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (("--n", "0"), "--n: 0 is too small, expected at least 1"),
        (("--n", "two"), "--n: 'two' is not an integer"),
        (("--n", "2"), "--prompt-ids: n is 2 at temperature 0, expected 1 .* or a temperature above 0"),
        (("--min-tokens", "-1"), "--min-tokens: -1 is too small, expected at least 0"),
        (("--min-tokens", "6", "--max-new-tokens", "5"), "--prompt-ids: min_tokens is 6, expected 0 to the tokens it may have, 5"),
        (("--stop-token-ids", "five"), "--stop-token-ids: ids: 'five' is not a list of token ids"),
        (("--stop-token-ids", ""), "--stop-token-ids: ids: is empty"),
        (("--stop-token-ids=-1 3",), "--stop-token-ids: -1 is no token id, expected integers of at least 0"),
        (("--stop-token-ids", "3 32"), "--stop-token-ids: 32 is outside the vocabulary, expected integers from 0 to 31"),
        (("--logprobs",), "--logprobs is given without --output json, expected both"),
        (("--logprobs", "--output", "text"), "--logprobs is given without --output json, expected both"),
        (("--skip-bad",), "--skip-bad is given without --prompts, expected both"),
        (("--plot", "x.png"), "--plot is given without a drafter, expected one"),
        (("--plot", "x.png", "--draft", "none"), "--plot is given without a drafter, expected one"),
    ],
)
def test_options_of_answers_are_refused(refused, counting_pair, argv, said):
    assert re.search(said, refused("--target", counting_pair[0], "--prompt-ids", "0", *argv))


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("x.pdf", "x.pdf: its suffix is .pdf, expected .png or .svg"),
        ("x", "x: its suffix is missing, expected .png or .svg"),
        ("missing/x.png", "missing/x.png: its directory is missing"),
        ("folder.svg", "folder.svg: is a directory"),
    ],
)
def test_a_picture_that_cannot_be_written_is_refused_at_the_start(refused, tmp_path, name, said):
    (tmp_path / "folder.svg").mkdir()
    assert said in refused("--target", "missing", "--draft", "missing", "--prompt-ids", "0", "--plot", tmp_path / name)


def test_without_matplotlib_the_pip_command_is_named(refused, monkeypatch):
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *more: None if name == "matplotlib" else find(name, *more))
    assert "pip install matplotlib" in refused("--target", "missing", "--draft", "missing", "--prompt-ids", "0", "--plot", "x.png")


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (("--resume",), "--resume is given without --out"),
        (("--out", "missing/x", "--output", "json"), "missing/x: its directory is missing"),
        (("--out", "x", "--output", "text"), "--out is given without --output json"),
        (("--out", "x", "--output", "json", "--check"), "--out is given with --check"),
    ],
)
def test_options_of_files_that_do_not_go_together(refused, argv, said):
    assert said in refused("--prompt-ids", "1", *argv)


# Help

ROOT = Path(domino_jax.__file__).parents[1]
OPTIONS = {option: action for action in generate.parser()._actions for option in action.option_strings}


def shown(capsys, *argv) -> str:
    with pytest.raises(SystemExit) as ended:
        generate.main([*argv])
    assert ended.value.code == 0
    return capsys.readouterr().out


def test_help_names_every_option(capsys):
    text = shown(capsys, "--help")
    assert [option for option in OPTIONS if option not in text] == []


def test_help_names_every_default():
    without = {"-h", "--help", "--version", "--target", "--prompt", "--prompt-ids", "--prompts"}
    assert [option for option, action in OPTIONS.items() if option not in without and "default" not in action.help] == []


def test_help_names_every_key_of_a_line():
    assert [key for key in prompts.FIELDS if not re.search(rf"\b{key}\b", options.REFUSALS)] == []


def test_every_option_that_a_message_names_exists():
    others = {"evaluate.py"}  # another command, with options of its own
    sources = "".join(path.read_text() for path in Path(domino_jax.__file__).parent.glob("*.py") if path.name not in others)
    ours = re.sub(r"hf download \S+ --local-dir", "", sources)
    assert {*re.findall(r"--[a-z][a-z-]*", ours)} <= OPTIONS.keys()


def options_of(module: str) -> set[str]:
    """Of a command, those that its file names."""
    paths = [ROOT / f"{module.replace('.', '/')}{end}" for end in (".py", "/__main__.py")]
    named = {*OPTIONS} if module == "domino_jax.generate" else set()
    return named | {option for path in paths if path.exists() for option in re.findall(r'"(--[a-z][a-z-]*)"', path.read_text())}


README = re.sub(r"hf download \S+ --local-dir|pip download --no-deps", "", (ROOT / "README.md").read_text(encoding="utf-8"))
COMMANDS = [(module, re.findall(r"--[a-z][a-z-]*", words)) for module, words in re.findall(r"python -m ([\w.]+)([^`\n]*)", README)]


@pytest.mark.parametrize(("module", "given"), COMMANDS)
def test_a_command_in_the_readme_has_the_options_it_is_given(module, given):
    assert {*given} <= options_of(module)


def test_every_option_that_the_readme_names_is_some_commands():
    known = set().union(*(options_of(module) for module, _ in COMMANDS))
    assert len(COMMANDS) > 20
    assert {*re.findall(r"--[a-z][a-z-]*", README)} <= known | {"--help"}


def test_version(capsys):
    assert shown(capsys, "--version") == f"domino_jax {domino_jax.__version__}\n"
