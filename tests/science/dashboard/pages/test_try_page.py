"""The Try it page: its controls and words without a browser, and its exports through the worker."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from circuits.one_sequence import look
from probes.one_sequence import read_sequence
from tests.support.dashboard.try_page import (
    EDITS,
    TEXT,
    root,  # noqa: F401 - fixtures
)
from workbench import figures
from workbench.dashboard.app import create_app


def test_exports_hold_what_is_drawn_and_snippets_draw_it(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    app = create_app(root)
    client = app.server.test_client()
    link = f"run=counter&seq={TEXT}&edits={EDITS}&pos=5"
    try:
        answer = client.get(f"/data/try-change.csv?{link}")
        assert answer.status_code == 200, answer.get_data(as_text=True)
        exported = pd.read_csv(io.BytesIO(answer.data), keep_default_na=False, na_values=[""])
        path = str(root / "counter")
        found = look(path, 100, {"text": TEXT}, 0, 0, edits=EDITS, cells=256)
        read = read_sequence(path, 100, {"text": TEXT}, EDITS)
        rows = ("pattern", "summary", "position")
        own = figures.sequence_view.data(found, read, part="change", rows=rows)
        assert len(exported) == len(own)
        np.testing.assert_allclose(exported["value"], own["value"], atol=1e-6)

        answers = pd.read_csv(io.BytesIO(client.get(f"/data/try-answers.csv?{link}").data))
        np.testing.assert_allclose(answers["value"], figures.answer_maps.data(found)["value"], atol=1e-6)
        code = client.get(f"/data/try-answers.py?{link}").get_data(as_text=True)
        assert "answer_maps(look(" in code

        parquet = pd.read_parquet(io.BytesIO(client.get(f"/data/try-change.parquet?{link}").data))
        np.testing.assert_allclose(parquet["value"].astype(float), own["value"], atol=1e-6)

        assert client.get(f"/data/try-edited.json?{link}&theme=dark").get_json()["figure"]["data"]

        monkeypatch.chdir(root.parent)
        code = client.get(f"/data/try-change.py?{link}").get_data(as_text=True)
        last = code.strip().rpartition("\n")
        held: dict[str, Any] = {}
        exec(f"{last[0]}\nmade = {last[2]}", held)
        drawn = [
            next(trace.customdata for trace in figure.data if trace.name == "cells")
            for figure in (held["made"], figures.sequence_view(found, read, part="change"))
        ]
        np.testing.assert_allclose(*drawn, atol=1e-6)

        refused = client.get("/data/try-clean.csv?run=counter&seq=01x")
        assert refused.status_code == 404
        assert "unknown token “x”" in refused.get_data(as_text=True)
    finally:
        app.server.extensions["lengthlens"].worker.close()
