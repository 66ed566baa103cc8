"""What the Theory page says of claims that are about runs like the one it shows."""

from __future__ import annotations

from typing import Any

import pytest

from workbench.claims.claims_about_run import claims_about
from workbench.dashboard.pages import theory
from workbench.dashboard.pages.theory import claims


def text(part: Any) -> str:
    """All words of components, in their order."""
    if isinstance(part, str):
        return part
    if isinstance(part, list | tuple):
        return " ".join(text(one) for one in part)
    return text(part.children)


def test_each_claim_is_told_with_its_source_and_the_command() -> None:
    about = claims_about("majority", {}, "none", "arange", "transformer")
    said = text(claims(about))
    for one in about:
        assert f"{one['claim']} {one['prediction']} ({one['source']})" in said
    assert f"lengthlens reproduce {' '.join(one['claim'] for one in about)}" in said


def test_nothing_is_said_where_there_is_none() -> None:
    assert claims([]) == []


def test_assumptions_are_one_list(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(theory, "verdict_of_run", lambda run, verdict: "")
    empty: dict[str, Any] = dict.fromkeys(("unknown", "reason", "language_class", "other_reading", "model"), "")
    lists: dict[str, Any] = {"assumptions": ["first", "second"], "reported": [], "notes": [], "claims": []}
    said = empty | lists | {"verdict": "not expressible", "theorem": "none"}
    run: Any = None
    *_, facts = theory.prediction(run, said)
    ((_, value),) = [part.children for part in facts.children if part.children[0].children == "Assuming"]
    assert [item.children for item in value.children.children] == ["first", "second"]
    *_, without = theory.prediction(run, said | {"assumptions": []})
    assert "Assuming" not in text(without)
