"""What a link means, what it says when it is stale, and how it is written back."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.dashboard.pages.cursor_page import follow_last_checkpoint
from workbench.dashboard.state.cursor import Cursor, default_cursor, link, parse, resolve, write
from workbench.dashboard.state.filters import Filters, check_filters, read_filters, write_filters


@dataclass(frozen=True)
class Stub:
    name: str = "majority-nope-s0"
    trained: int = 50
    n_layers: int = 2
    n_heads: int = 4
    steps: tuple[int, ...] = (0, 100, 1000, 1500, 3000)
    lengths: tuple[int, ...] = (5, 50, 100, 200, 400)
    measured_steps: tuple[int, ...] = (0, 100, 1000, 1500, 3000)
    effect: tuple[int, int] = (0, 0)

    def leading(self, step: int, length: int) -> tuple[int, int]:
        return self.effect


RUN = Stub()


def test_a_bare_link_is_the_last_step_and_a_length_past_training() -> None:
    assert resolve("?run=majority-nope-s0", RUN) == (Cursor("majority-nope-s0", 3000, 200), [])


def test_the_default_length_is_the_longest_where_none_reaches_four_times_training() -> None:
    assert default_cursor(Stub(lengths=(5, 50, 100))).length == 100


def test_the_default_head_is_the_leading_one_and_is_left_out_of_links() -> None:
    run = Stub(effect=(0, 3))
    assert default_cursor(run) == Cursor("majority-nope-s0", 3000, 200, 0, 3)
    assert resolve("?run=majority-nope-s0", run)[0].head == 3
    assert "head" not in write(default_cursor(run), run)
    assert "layer=0&head=0" in write(Cursor("majority-nope-s0", 3000, 200, 0, 0), run)
    assert resolve("?layer=0&head=0", run)[0].head == 0
    (notice,) = resolve("?layer=9&head=9", run)[1]
    assert notice.shown == "The page shows L0H3."


def test_while_a_run_trains_the_default_is_the_last_measured_step() -> None:
    assert default_cursor(Stub(measured_steps=(0, 100, 1000))).step == 1000
    assert default_cursor(Stub(measured_steps=())).step == 3000
    assert default_cursor(Stub(steps=(), measured_steps=())).step == 0


def test_a_full_link_is_taken_at_its_word() -> None:
    cursor, notices = resolve("?run=x&step=100&len=5&layer=1&head=3&view=score&sample=7", RUN)
    assert cursor == Cursor("majority-nope-s0", 100, 5, 1, 3, "score", 7)
    assert notices == []


def test_a_step_that_is_missing_shows_the_nearest_earlier_one_and_says_so() -> None:
    cursor, (notice,) = resolve("?step=1700", RUN)
    assert cursor.step == 1500
    assert notice.asked == "This link names step 1,700, which majority-nope-s0 does not have."
    assert notice.shown == "The page shows 1,500, the nearest earlier checkpoint."
    assert notice.keep == "Keep 1,500"


def test_a_length_below_all_measured_ones_shows_the_first() -> None:
    cursor, (notice,) = resolve("?len=2", RUN)
    assert cursor.length == 5
    assert notice.shown == "The page shows 5, the first one."


@pytest.mark.parametrize(
    ("search", "said"),
    [
        ("?step=abc", "“abc”, which is not a whole number"),
        ("?layer=2", "head L2H0"),
        ("?head=-1", "head L0H-1"),
        ("?layer=x&head=y", "“x, y”"),
        ("?view=rainbow", "view “rainbow”"),
    ],
)
def test_whatever_a_run_does_not_have_is_said(search: str, said: str) -> None:
    cursor, notices = resolve(search, RUN)
    assert cursor == default_cursor(RUN)
    assert len(notices) == 1
    assert said in notices[0].asked


def test_every_stale_part_of_a_link_gets_its_own_notice() -> None:
    _, notices = resolve("?step=1700&len=60&layer=9", RUN)
    assert [n.keep for n in notices] == ["Keep 1,500", "Keep 50", "Keep L0H0"]


def test_a_run_without_any_measured_length_is_shown_at_its_training_length() -> None:
    assert resolve("?len=60", Stub(lengths=()))[0].length == 50


def test_defaults_are_left_out_when_a_link_is_written() -> None:
    assert write(default_cursor(RUN), RUN) == "/run?run=majority-nope-s0"
    assert write(Cursor(RUN.name, 100, 200, 1, 0), RUN) == "/run?run=majority-nope-s0&step=100&layer=1&head=0"


def test_names_with_folders_and_blanks_survive() -> None:
    run = Stub(name="sweep 1/majority-nope-s0")
    assert link(run.name) == "/run?run=sweep%201/majority-nope-s0"
    assert parse(link(run.name).partition("?")[2]) == {"run": run.name}


@given(
    st.sampled_from(RUN.steps),
    st.sampled_from(RUN.lengths),
    st.integers(0, 1),
    st.integers(0, 3),
    st.sampled_from(("attention", "times_length", "score")),
    st.integers(0, 99),
)
def test_what_is_written_is_read_back(step: int, length: int, layer: int, head: int, view: str, sample: int) -> None:
    cursor = Cursor(RUN.name, step, length, layer, head, view, sample)
    assert resolve(write(cursor, RUN).partition("?")[2], RUN) == (cursor, [])


@given(
    st.sampled_from(("", "scale-robust", "length-coupled", "not fitted", "undecided", "unseen position")),
    st.text(max_size=12),
    st.text(max_size=12),
    st.text(max_size=12),
)
def test_filters_are_read_back(verdict: str, task: str, positions: str, text: str) -> None:
    filters = Filters(verdict, task, positions, text)
    assert read_filters(write_filters(filters).partition("?")[2]) == (filters, [])


def test_filters_that_match_nothing_here_are_dropped_and_said() -> None:
    filters, notices = check_filters(Filters(task="sort", positions="ALiBi"), ["majority"], ["no positions"])
    assert filters == Filters()
    assert [n.shown for n in notices] == [
        "The page shows all tasks.",
        "The page shows runs with all position encodings.",
    ]
    assert read_filters("?verdict=good")[1][0].asked.startswith("This link names the verdict “good”")


def test_a_cursor_at_the_last_checkpoint_follows_a_growing_run() -> None:
    run = Stub(name="r", steps=(0, 10, 100), measured_steps=(0, 10, 100), lengths=(25, 50, 100, 400), trained=50)
    before = {"run": "r", "steps": [0, 10], "lengths": [50]}
    assert follow_last_checkpoint(Cursor("r", 10, 50, 1, 2), run, before) == Cursor("r", 100, 400, 1, 2)
    assert follow_last_checkpoint(Cursor("r", 0, 50), run, before) == Cursor(
        "r", 0, 400
    )  # moved to an earlier step: it stays there
    measured = {"run": "r", "steps": [0, 10], "lengths": [25, 50, 100]}
    assert follow_last_checkpoint(Cursor("r", 10, 50), run, measured) == Cursor(
        "r", 100, 50
    )  # a length that was chosen stays
    empty = {"run": "r", "steps": [0], "lengths": [50]}
    assert follow_last_checkpoint(Cursor("r", 0, 50), run, empty).step == 100
    unmeasured = Stub(name="r", steps=(0, 10, 100), measured_steps=(), lengths=(), trained=50)
    assert follow_last_checkpoint(Cursor("r", 10, 50), unmeasured, before) == Cursor("r", 100, 50)
