"""Early stopping: on trained lengths only, a pure function of the run, and a run that ended is ended."""

from __future__ import annotations

from workbench.training.early_stop import EarlyStop


def test_a_streak_is_broken_by_one_bad_check_and_unchanged_by_the_same_check_twice() -> None:
    stop = EarlyStop(accuracy=0.9, every=10, patience=2)
    streak: list[int] = []
    for step, worst in ((10, 0.95), (20, 0.5), (30, 0.9), (30, 0.9), (40, 0.99)):
        assert not stop.ends(streak)
        streak = stop.streak(streak, step, worst)
    assert streak == [30, 40]
    assert stop.ends(streak)


def test_checks_wait_for_the_last_law_and_step_0_is_none() -> None:
    stop = EarlyStop(every=10)
    assert [step for step in range(61) if stop.due(step, settled=25)] == [30, 40, 50, 60]
    assert not stop.due(0, settled=0)
