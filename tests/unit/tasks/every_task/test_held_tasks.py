"""What every registered task states and draws is held: with its defaults, each parameter off them, and all together."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import pytest

from tests.support.held import Held
from tests.support.tasks.task_facts import facts, variants
from workbench.tasks import make_task, rejection
from workbench.tasks.in_context import chance_by_draws
from workbench.tasks.registry import BUILT_IN


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Twelve files of five hundred words each, of sixty different ones."""
    root, words = tmp_path_factory.mktemp("text"), random.Random(0)
    known = ["".join(words.choices("abcdefghij", k=words.randint(2, 8))) for _ in range(60)]
    for i in range(12):
        parts = (words.choice(known) + (" " if j % 10 else "\n") for j in range(500))
        (root / f"{i}.txt").write_text("".join(parts))
    return str(root)


@pytest.mark.parametrize("name", BUILT_IN)
def test_what_a_task_states_and_draws(name: str, folder: str, held: Held, monkeypatch: pytest.MonkeyPatch) -> None:
    """Floors of draws and strings by rejection come of fewer draws here than they do elsewhere."""
    monkeypatch.setattr(chance_by_draws, "STRINGS", 256)
    monkeypatch.setattr(rejection, "TOKENS_AT_ONCE", 1 << 12)
    monkeypatch.setattr(rejection, "MOST_TOKENS", 1 << 15)
    chance_by_draws._share_in_reach.cache_clear()
    texts: Mapping[str, Any] = {"text": {"share": 0.7}, "next_token": {"share": 0.7, "tokens": 520}}
    always = {"folder": folder, **texts[name]} if name in texts else {}
    held({label: facts(name, parameters, quick=label != "default") for label, parameters in variants(name, **always)})
    chance_by_draws._share_in_reach.cache_clear()


@pytest.mark.parametrize("name", BUILT_IN)
def test_what_training_options_a_task_suggests(name: str, held: Held) -> None:
    cls = type(make_task(name))
    held([dict(cls.suggested), [[*key, dict(value)] for key, value in cls.suggested_with.items()], dict(cls.formerly)])


@pytest.mark.parametrize(
    "name", ["majority", "aaaa_star", "aa_star", "tomita", "needle", "letter_majority", "flip_flop"]
)
def test_a_mixture_of_one_draws_and_says_what_that_task_does(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rejection, "TOKENS_AT_ONCE", 1 << 12)
    monkeypatch.setattr(rejection, "MOST_TOKENS", 1 << 15)
    assert facts("mixture", {"components": (name,)}, quick=True) == facts(name, {}, quick=True)
    assert make_task("mixture", components=(name,)).outside_floor == make_task(name).outside_floor
