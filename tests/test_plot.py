"""Pictures: which are refused, what is in those that are drawn."""

from pathlib import Path

import pytest

from domino_jax import plot
from domino_jax.errors import InputError

SUMMARY = dict(
    acceptance_histogram={"1": 1, "3": 2}, rounds=3, mean_acceptance_length=7 / 3, acceptance_by_position=[2 / 3, 2 / 3, 0.0],
    draft="domino", draft_path="all/drafts/one", prompts=2,
)  # fmt: skip


@pytest.fixture
def drawn(monkeypatch):
    """Draws without writing -> the figure."""
    figures = []
    monkeypatch.setattr(plot, "save", lambda figure, path: figures.append(figure))

    def draw(function, *arguments):
        function(*arguments, Path("x.png"))
        return figures[-1]

    return draw


def test_a_run_has_lengths_on_the_left_and_positions_on_the_right(drawn):
    figure = drawn(plot.draw_run, SUMMARY)
    left, right = figure.axes
    assert [bar.get_height() for bar in left.patches] == pytest.approx([1 / 3, 0, 2 / 3, 0])  # 1 to P + 1
    assert left.lines[0].get_xdata()[0] == pytest.approx(7 / 3)
    assert left.texts[0].get_text() == "mean 2.33"
    assert right.lines[0].get_xydata().tolist() == [[1, 2 / 3], [2, 2 / 3], [3, 0]]
    assert figure.get_suptitle() == "domino drafter drafts/one; prompts: 2, rounds: 3"


def test_a_curve_for_each_drafter(drawn):
    curves = [plot.Curve("a", 1.5, [0.5, 0.25]), plot.Curve("b", None, [0.25]), *[plot.Curve("c", 2.0, [1.0])] * 6]
    (axes,) = drawn(plot.draw_curves, curves).axes
    assert [line.get_label() for line in axes.lines][:3] == ["a: 1.50 a round", "b", "c: 2.00 a round"]
    assert len(axes.lines) == 8  # more than there are colours


def test_sets_have_a_group_of_bars_each_beside_the_curve_over_all(drawn):
    bars = [plot.Bars([4.0, 2.0, 3.0], [(3.5, 4.25), (1.5, 2.5), (2.5, 3.5)]), plot.Bars([6.0, None, None], [(5.0, 7.0), None, None])]
    curves = [plot.Curve("a", 3.0, [0.5, 0.25]), plot.Curve("b", None, [])]
    figure = drawn(plot.draw_sets, ["one", "two", "average"], bars, curves)
    left, right = figure.axes
    assert [label.get_text() for label in left.get_xticklabels()] == ["one", "two", "average"]
    drawn_bars = [(round(bar.get_x() + bar.get_width() / 2, 6), bar.get_height()) for bar in left.patches]
    assert drawn_bars == [(-0.2, 4), (0.8, 2), (1.8, 3), (0.2, 6)]  # a group stands about its tick; nothing where there is no round
    whiskers = [lines.get_segments()[0].tolist() for lines in left.collections]
    assert [[round(x, 6) for _, x in whisker] for whisker in whiskers] == [[3.5, 4.25], [1.5, 2.5], [2.5, 3.5], [5, 7]]
    assert [line.get_xydata().tolist() for line in right.lines] == [[[1, 0.5], [2, 0.25]], []]
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["a: 3.00 a round", "b"]


@pytest.mark.parametrize("suffix", [".png", ".svg"])
def test_the_same_figures_are_the_same_file(tmp_path, suffix):
    for name in ("one", "two"):
        plot.draw_run(SUMMARY, tmp_path / (name + suffix))
    one, two = ((tmp_path / (name + suffix)).read_bytes() for name in ("one", "two"))
    assert one == two
    assert len(one) > 5000


@pytest.mark.parametrize("name", ["x.png", "x.svg"])
def test_what_can_be_written(tmp_path, name):
    plot.refuse_impossible(tmp_path / name)
    plot.refuse_impossible(None)


@pytest.mark.parametrize("name", ["x", "x.pdf", "x.PNG", "missing/x.png", "."])
def test_what_cannot(tmp_path, name):
    with pytest.raises(InputError, match=r"^--plot .*expected"):
        plot.refuse_impossible(tmp_path / name)
