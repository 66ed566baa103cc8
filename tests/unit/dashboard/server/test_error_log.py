"""The log of the dashboard names the page and the callback, and has the traceback of what nobody catches."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import planted
from workbench.core.failures import LOG
from workbench.dashboard import router
from workbench.dashboard.app import create_app
from workbench.dashboard.server.error_log import error_handler, request_origin

CALLBACK = "..page.children...nav.children...here.data.."


@pytest.fixture
def printed() -> Iterator[io.StringIO]:
    stream = io.StringIO()
    handler = error_handler(stream)
    LOG.addHandler(handler)
    yield stream
    LOG.removeHandler(handler)


def navigate() -> dict[str, object]:
    """What a browser posts where the page *Run* is opened."""
    place = {"path": "/run", "search": "?run=majority-nope-s0", "last": ""}
    outputs = [
        {"id": name, "property": kind} for name, kind in (("page", "children"), ("nav", "children"), ("here", "data"))
    ]
    inputs = [{"id": "place", "property": "data", "value": place}, {"id": "version", "property": "data", "value": "1"}]
    state = [{"id": "here", "property": "data", "value": None}]
    return {"output": CALLBACK, "outputs": outputs, "inputs": inputs, "state": state, "changedPropIds": ["place.data"]}


@pytest.mark.parametrize("caught", [True, False])
def test_an_error_is_logged_with_its_page_and_callback(
    small_root: Path, printed: io.StringIO, monkeypatch: pytest.MonkeyPatch, caught: bool
) -> None:
    """Caught, it is shown in place of the page; else the callback ends in a status of 500."""
    place = router.PAGES[1] if caught else router
    name = "draw" if caught else "page"
    monkeypatch.setattr(type(place) if caught else place, name, planted.of_ours())
    app = create_app(small_root)
    try:
        answer = app.server.test_client().post(
            "/_dash-update-component", json=navigate(), headers={"Referer": "http://127.0.0.1:8050/run?run=a"}
        )
    finally:
        app.server.extensions["lengthlens"].close()
    said = printed.getvalue()
    assert f"lengthlens.dashboard [page /run?run=a, callback {CALLBACK}]: " in said
    assert planted.DEFECT in said
    assert f'{planted.OURS}", line {planted.LINE}, in planted' in said
    assert said.count("Traceback") == 1
    assert answer.status_code == (200 if caught else 500)
    assert (planted.DEFECT in json.dumps(answer.get_json(silent=True), ensure_ascii=False)) is caught


def test_outside_a_request_there_is_no_page() -> None:
    assert request_origin() == ""
