"""Word problems: the same for a seed, true in every step, told in full by their questions, and apart between the splits."""

import hashlib
import json
import re
from itertools import combinations
from random import Random

import pytest

from domino_jax.demo import problems, words
from domino_jax.demo.problems import HELD_OUT, SPLITS, TEMPLATES, Problem, generate, score, split_of
from domino_jax.demo.template import Template, calculate, parse
from domino_jax.errors import InputError

STEP = re.compile(r"\b(\d+) ([-+*/]) (\d+) = (\d+)\b")
NUMBER = re.compile(r"\d+")
TRUE = {"+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b, "/": lambda a, b: a // b if a % b == 0 else None}
COUNTS = {"train": 12_000, "test": 1_500, "held_out": 3_000}


@pytest.fixture(scope="module")
def drawn() -> dict[str, list[Problem]]:
    return {split: list(generate(split, count)) for split, count in COUNTS.items()}


@pytest.fixture(scope="module")
def everything(drawn) -> list[Problem]:
    return [problem for split in SPLITS for problem in drawn[split]]


def text(found: list[Problem]) -> str:
    return "\n".join(f"{p.template} {p.numbers}\n{p.question}\n{p.answer}" for p in found)


def test_the_same_for_a_seed_and_pinned():
    sample = [problem for split in SPLITS for problem in generate(split, 100, seed=3)]
    assert sample == [problem for split in SPLITS for problem in generate(split, 100, seed=3)]
    assert hashlib.sha256(text(sample).encode()).hexdigest()[:16] == "c963cddd30459501"


def test_another_seed_gives_others():
    assert not {p.question for p in generate("train", 500, seed=1)} & {p.question for p in generate("train", 500, seed=2)}


def test_a_smaller_count_gives_the_first_ones():
    assert list(generate("test", 30)) == list(generate("test", 80))[:30]
    assert list(generate("test", 0)) == []


def test_templates_have_names_of_their_own_and_all_appear(drawn):
    names = [template.name for template in TEMPLATES]
    assert len(set(names)) == len(names) >= 76
    assert len(HELD_OUT) == 8
    assert {p.template for p in drawn["held_out"]} == set(HELD_OUT)
    assert {p.template for p in drawn["train"]} == {p.template for p in drawn["test"]} == set(names) - set(HELD_OUT)


def test_splits_share_no_numbers_and_no_question(drawn):
    for one, other in combinations(SPLITS, 2):
        assert not {(p.template, p.numbers) for p in drawn[one]} & {(p.template, p.numbers) for p in drawn[other]}
        assert not {p.question for p in drawn[one]} & {p.question for p in drawn[other]}
    for split in SPLITS:
        assert {split_of(p.template, p.numbers) for p in drawn[split]} == {split}


def test_training_shows_no_calculation_of_a_test_problem(drawn):
    """Not only the drawn numbers differ: those that are read and written differ too."""
    train, test = ({(p.template, *NUMBER.findall(f"{p.question} {p.answer}")) for p in drawn[split]} for split in ("train", "test"))
    assert not train & test


@pytest.mark.parametrize("split", SPLITS)
def test_no_problem_comes_twice(drawn, split):
    assert len({p.question for p in drawn[split]}) == len(drawn[split]) == COUNTS[split]


def test_every_step_is_true_and_within_bounds(everything):
    for p in everything:
        *steps, last = p.answer.split("\n")
        assert 2 <= len(steps) <= 6, p
        for step in steps:
            assert len(STEP.findall(step)) == len(re.findall("=", step)) == 1, p
            a, sign, b, value = STEP.search(step).groups()
            a, b, value = int(a), int(b), int(value)
            assert TRUE[sign](a, b) == value, p
            assert 2 <= value <= 999
            assert max(a, b) <= 999
            if sign == "*":
                assert min(a, b) <= 12
                assert max(a, b) <= 99
            if sign == "/":
                assert b <= 12
        assert last == f"#### {value}" == f"#### {p.result}", p


def test_no_number_appears_from_nowhere(everything):
    """A number of the answer is in the question, a result of an earlier step, or a constant of the template."""
    constants = {t.name: {n for telling in t.tellings for n in NUMBER.findall(telling.question + telling.answer)} for t in TEMPLATES}
    for p in everything:
        known = {*NUMBER.findall(p.question), *constants[p.template]}
        for step in p.answer.split("\n"):
            before, _, after = step.partition(" = ")
            assert known.issuperset(NUMBER.findall(before)), p
            known.update(NUMBER.findall(after)[:1])
            assert known.issuperset(NUMBER.findall(after)), p


def test_texts_are_ascii_in_full_sentences(everything):
    for p in everything:
        assert (p.question + p.answer).isascii()
        assert not re.search(r"[{}]|  |\n\n| \n", p.question + p.answer), p
        assert "\n" not in p.question
        assert p.question.endswith(("?", "."))
        assert all(step.endswith(".") and not step[0].islower() for step in p.answer.split("\n")[:-1]), p


def test_names_of_the_question_come_again_in_the_answer(everything):
    for p in everything:
        asked, told = (set(re.findall(r"[A-Z][a-z]+", part)) & set(words.NAMES) for part in (p.question, p.answer))
        assert asked
        assert asked == told, p


def test_answers_are_long_enough_to_speculate_on(everything):
    lengths = [len(p.answer.split()) for p in everything]
    assert min(lengths) >= 32
    assert max(lengths) <= 110
    assert sum(lengths) / len(lengths) > 45


def test_the_question_determines_the_answers_wording():
    """Tellings of a template differ in their questions before a number or a word is filled in."""
    for template in TEMPLATES:
        assert 2 <= len(template.tellings) <= 3
        assert len({telling.question for telling in template.tellings}) == len(template.tellings)
        assert len({telling.answer for telling in template.tellings}) == len(template.tellings)


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda template: template.name)
def test_a_template_has_2000_draws_and_one_result_in_all_tellings(template):
    random, found = Random(template.name), set()
    for _ in range(40_000):
        if (values := template.draw(random)) is None:
            continue
        results = set()
        for telling in template.tellings:
            single = Template.__new__(Template)
            single.__dict__ = {**template.__dict__, "tellings": (telling,)}
            if (told := single.tell(random, values)) is not None:
                results.add(told[1].rpartition(" ")[2])
        assert len(results) <= 1, values
        if results:
            found.add(tuple(values[name] for name in template.numbers))
        if len(found) == 2_000:
            return
    pytest.fail(f"{len(found)} draws")


def test_there_are_words_enough():
    lists = {name: entries for name, entries in vars(words).items() if name.isupper()}
    assert len(set(words.NAMES)) == len(words.NAMES) >= 120
    assert len({word for name, entries in lists.items() if name != "NAMES" for word in entries}) >= 150
    assert all(len(set(entries)) == len(entries) for entries in lists.values())


def test_two_people_have_two_names(everything):
    pairs = {t.name for t in TEMPLATES if list(t.words.values()).count(words.NAMES) == 2}
    assert pairs
    for p in everything:
        assert (len(set(re.findall(r"[A-Z][a-z]+", p.question)) & set(words.NAMES)) == 2) == (p.template in pairs), p


@pytest.mark.parametrize(
    ("left", "sign", "right", "value"),
    [
        (12, "*", 99, None), (10, "*", 99, 990), (13, "*", 14, None), (12, "*", 83, 996), (100, "*", 3, None),
        (96, "/", 8, 12), (97, "/", 8, None), (130, "/", 13, None), (990, "/", 10, 99), (600, "/", 6, None),
        (7, "-", 5, 2), (7, "-", 6, None), (5, "-", 7, None), (500, "+", 499, 999), (500, "+", 500, None),
    ],
)  # fmt: skip
def test_the_arithmetic_ends_where_it_should(left, sign, right, value):
    assert calculate(left, sign, right) == value


GOOD = """
{who} has {a} bags of {b} nuts and eats {c}. How many are left?
{who} has {a * b = all} nuts.
{who} has {all - c = left} left.
"""


def test_a_template_says_what_is_wrong_with_it():
    Template("nuts", "who NAMES, a 2-9, b 2-9, c 2-9", GOOD)
    for draws, complaint in [
        ("who NAMES, a 2-9, b 2-9, c 2-9, d 2-9", r"\['d'\] drawn and not told"),
        ("who NAMES, a 2-9, b 2-9, c two", "'c two' is no draw"),
        ("who NAMES, town TOWNS, a 2-9, b 2-9, c 2-9", r"\['town'\] drawn and not told"),
    ]:
        with pytest.raises(ValueError, match=complaint):
            Template("nuts", draws, GOOD)
    with pytest.raises(ValueError, match="used before it is asked or calculated"):
        Template("nuts", "who NAMES, a 2-9, b 2-9, c 2-9", GOOD.replace("eats {c}", "eats some"))
    with pytest.raises(ValueError, match="in the answer and not in the question"):
        Template("nuts", "who NAMES, a 2-9, b 2-9, c 2-9", GOOD.replace("all} nuts", "all} {kind}"))
    for broken in (GOOD.replace("{all - c = left}", "{all}"), GOOD.replace("left} left.", "left} or {all + c = d}.")):
        with pytest.raises(ValueError, match="expected a question and 2 to 6 steps"):
            parse(broken)


@pytest.mark.parametrize(
    ("written", "right"),
    [
        ("Ada has 3 * 4 = 12 nuts.\nAda keeps 12 - 5 = 7.\n#### 7", True),
        ("#### 7", True),
        ("#### 7\n\nA farm has 3 * 3 = 9 cows.\n#### 9", True),
        ("#### 9\n#### 7", False),
        ("#### 70", False),
        ("#### -7", False),
        ("Ada keeps 12 - 5 = 7.", False),
        ("####", False),
        ("", False),
    ],
)
def test_score(written, right):
    assert score(written, Problem("How many?", "x\n#### 7", "nuts", (3, 4, 5))) is right


def test_a_right_answer_scores(drawn):
    first, second = next((a, b) for a in drawn["test"] for b in drawn["test"] if a.result != b.result)
    assert score(first.answer, first)
    assert not score(second.answer, first)


@pytest.mark.parametrize(("split", "count"), [("dev", 3), ("train", -1)])
def test_bad_requests_are_refused_before_anything_is_drawn(split, count):
    with pytest.raises(InputError, match="expected"):
        generate(split, count)


def test_command(capsys):
    assert problems.main(["--split", "held_out", "--count", "5", "--seed", "4"]) == 0
    printed = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert printed == [{"prompt": p.question, "answer": p.answer, "template": p.template} for p in generate("held_out", 5, 4)]


@pytest.mark.parametrize("arguments", [["--split", "dev"], ["--count", "0"], ["--seed", "-1"], ["--cuont", "3"]])
def test_command_refuses(capsys, arguments):
    assert problems.main(arguments) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("error: ")
    assert printed.err.count("\n") == 1
