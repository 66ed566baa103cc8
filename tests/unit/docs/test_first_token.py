"""The page on the first token states the values of its table, and its figure is what its script draws."""

from __future__ import annotations

from tests.support.places import ROOT
from tests.support.scripts import script
from workbench.claims.determinacy.stored_rows import read_rows

script("verdict_figures")
script("pretrained_models")
STUDY = script("window_study")
FIGURE = script("window_figure")
PAGE = (ROOT / "docs" / "first_token.md").read_text(encoding="utf-8")
TEXT = " ".join(PAGE.split())
ROWS = read_rows(*STUDY.TABLE)
CHANGE = {
    (one.name, length): STUDY.change_of_accuracy(ROWS, one.name, length)
    for one in STUDY.CONDITIONS[1:]
    for length in one.lengths
}


def accuracy(condition: str, length: int) -> float:
    return float(STUDY.accuracy_of(ROWS, condition, length).mean())


def test_the_tables_of_the_page_are_those_of_the_script() -> None:
    lines = [*STUDY.table_lines(ROWS, STUDY.PAST), *STUDY.table_lines(ROWS, STUDY.INSIDE)]
    assert [line for line in PAGE.splitlines() if line.startswith("|")] == lines


def test_the_figure_is_current() -> None:
    stored = (FIGURE.PICTURES / FIGURE.NAME).read_text(encoding="utf-8")
    assert stored == FIGURE.window_figure(), "python docs/window_figure.py"


def test_every_length_of_every_condition_has_all_sequences() -> None:
    for one in STUDY.CONDITIONS:
        for length in one.lengths:
            assert len(STUDY.accuracy_of(ROWS, one.name, length)) == STUDY.SEQUENCES


def test_keeping_the_first_token_restores_accuracy() -> None:
    assert all(CHANGE["first kept", length][1] > 0 for length in STUDY.PAST)
    before, after = accuracy("unchanged", 400), accuracy("first kept", 400)
    assert f"At 800 tokens it is {before:.2f} without and {after:.2f} with the first token" in TEXT


def test_other_tokens_do_not_help() -> None:
    controls = [f"token {token} kept" for token in (1, 2, 37, 101)]
    for length in STUDY.PAST:
        assert all(CHANGE[name, length][2] < CHANGE["first kept", length][1] for name in controls)
    falls = sorted(-CHANGE[name, 400][0] for name in controls)
    assert f"accuracy falls by {falls[0]:.2f} to {falls[-1]:.2f} if token 1, 2, 37 or 101 stays visible" in TEXT
    kept = [accuracy(name, 400) for name in (*controls, "wide")]
    assert f"make it fall to {max(kept):.2f} or less" in TEXT


def test_two_controls_are_still_in_the_window_at_528_tokens() -> None:
    for token in (37, 101):
        assert CHANGE[f"token {token} kept", 264] == (0.0, 0.0, 0.0)
        assert str(token + STUDY.WINDOW) in TEXT


def test_the_gain_over_the_answers_without_the_first_token_in_sight() -> None:
    gains = [STUDY.change_of_affected_answers(ROWS, "first kept", length)[0] for length in STUDY.PAST]
    counts = [f"{STUDY.affected_answers(length)} of {length // 2}" for length in STUDY.PAST]
    assert f"{counts[0]}, {counts[1]} and {counts[2]} come after" in TEXT
    assert f"raises accuracy by {gains[0]:.2f}, {gains[1]:.2f} and {gains[2]:.2f}" in TEXT


def test_hiding_the_first_token_costs_accuracy_inside_the_window() -> None:
    falls = [-CHANGE["first hidden", length][0] for length in STUDY.INSIDE]
    assert all(CHANGE["first hidden", length][2] < 0 for length in STUDY.INSIDE)
    assert f"It falls by {min(falls):.3f} to {max(falls):.3f}" in TEXT
    for token in (1, 2, 37):
        changes = [CHANGE[f"token {token} hidden", length] for length in STUDY.INSIDE]
        assert all(low <= 0 <= high for _, low, high in changes)
    apart = [CHANGE["first hidden", n][2] < CHANGE["token 101 hidden", n][1] for n in STUDY.INSIDE]
    assert apart == [False, True, True]
    assert f"accuracy falls by {-CHANGE['token 101 hidden', 200][0]:.3f} at 400 tokens" in TEXT


def test_a_wider_window_helps_only_right_behind_its_end() -> None:
    wide = [CHANGE["wide", length] for length in STUDY.PAST]
    assert wide[0][1] > 0
    assert f"accuracy rises by {wide[0][0]:.3f} at 528 tokens" in TEXT
    assert wide[1][2] < 0
    assert accuracy("wide", 400) < 0.02


def test_the_first_token_leaves_the_window_and_no_word_to_copy_does() -> None:
    """A query sees the last 512 tokens, its own among them. So token 0 is out of sight from position 512 on."""
    assert max(STUDY.PAST) < STUDY.WINDOW
    assert max(2 * n for n in STUDY.INSIDE) <= STUDY.WINDOW < min(2 * n for n in STUDY.PAST)
