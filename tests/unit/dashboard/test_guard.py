"""Who may ask the dashboard, how, and for how much: hosts, origins, headers, bodies, and exports that wait."""

from __future__ import annotations

import base64
import hashlib
import json
import logging
import random
import re
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from dash import Dash, Input, Output, html
from flask.testing import FlaskClient
from pydantic import TypeAdapter, ValidationError

from tests.support.hostile.requesting import Maker, storm
from workbench.dashboard.app import create_app, quiet_server
from workbench.dashboard.guard import MOST_BYTES, Hosts
from workbench.dashboard.panels.sequence import sequence_query
from workbench.dashboard.request_check import Malformed, Questions
from workbench.dashboard.server.worker import Job, Worker
from workbench.dashboard.state.request_values import ENDINGS, VALUES, type_of

ASK = "/_dash-update-component"
RUNS = ("majority-nope-s0", "flip_flop-rotary-s0", "majority-learned-s0")


@pytest.fixture(scope="module")
def app(small_root: Path) -> Iterator[Dash]:
    made = create_app(small_root)
    yield made
    made.server.extensions["lengthlens"].close()


@pytest.fixture
def client(app: Dash) -> FlaskClient:
    found: FlaskClient = app.server.test_client()
    return found


def told(run: str = RUNS[0], **changes: Any) -> dict[str, Any]:
    """The question of the Run page for the sentence about training, with some parts changed."""
    body = {
        "output": "rail-training.children",
        "outputs": {"id": "rail-training", "property": "children"},
        "inputs": [{"id": "log-version", "property": "data", "value": "x"}],
        "state": [{"id": "run", "property": "data", "value": run}],
        "changedPropIds": ["log-version.data"],
    }
    return body | changes


# ---- who asks ------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "host", ["127.0.0.1", "localhost:9", "LocalHost:8050", "[::1]:8050", "[0:0:0:0:0:0:0:1]", "localhost."]
)
def test_the_names_of_this_machine_are_answered_at_any_port(client: FlaskClient, host: str) -> None:
    assert client.get("/", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8050", "localhost.evil.example", "192.168.0.1", "[::1", "localhost:x", "user@localhost", "localhost, x", ""])  # fmt: skip
def test_another_name_is_told_nothing(client: FlaskClient, host: str) -> None:
    """A page elsewhere can point a name of its own at this machine, and would then read and write as we do."""
    for answer in (
        client.get("/_dash-layout", headers={"Host": host}),
        client.post(ASK, json=told(), headers={"Host": host}),
    ):
        assert answer.status_code == 421
        assert "--host" in answer.text
        assert "majority" not in answer.text


def test_the_host_that_is_given_is_answered_too() -> None:
    named = Hosts("lab.example")
    assert all(host in named for host in ("lab.example:8050", "LAB.example", "127.0.0.1", "localhost:1"))
    assert all(host not in named for host in ("other.example", "192.168.0.7", "0.0.0.0"))
    assert "[fe80::1]:8050" in Hosts("fe80::1")


@pytest.mark.parametrize("everywhere", ["0.0.0.0", "::"])
def test_of_all_addresses_every_address_counts_but_no_name_of_others(
    everywhere: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("socket.gethostname", lambda: "Box.lab.example")
    hosts = Hosts(everywhere)
    assert all(
        host in hosts for host in ("192.168.0.7:8050", "[fe80::1]:1", "box", "box.lab.example:8050", "localhost")
    )
    assert all(host not in hosts for host in ("evil.example", "box.evil.example", "192.168.0.7.evil.example"))


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "http://localhost:1", "https://localhost.evil.example", "file://"]
)
def test_a_page_of_another_origin_cannot_ask(client: FlaskClient, origin: str) -> None:
    assert client.post(ASK, json=told(), headers={"Host": "localhost:8050", "Origin": origin}).status_code == 403


def test_the_own_page_can_ask(client: FlaskClient) -> None:
    for headers in (
        {},
        {"Origin": "http://localhost:8050"},
        {"Origin": "http://LOCALHOST:8050", "Sec-Fetch-Site": "same-origin"},
    ):
        answer = client.post(ASK, json=told(), headers={"Host": "localhost:8050", **headers})
        assert answer.status_code == 200
        assert "3,000" in answer.text


def test_another_site_may_link_to_a_view_and_embed_nothing(client: FlaskClient) -> None:
    link, embedded = (
        {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"},
        {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"},
    )
    path = f"/data/failure.csv?run={RUNS[0]}"
    assert client.get(path, headers=link).status_code == 200
    assert client.get(path, headers=embedded).status_code == 403
    assert client.get(path, headers={"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "cors"}).status_code == 403


# ---- what an answer allows -----------------------------------------------------------------------
@pytest.mark.parametrize(
    ("path", "headers", "status"),
    [
        ("/", {}, 200),
        ("/assets/js/cursor.js", {}, 200),
        ("/data/failure.csv?run=majority-nope-s0", {}, 200),
        ("/data/none.csv", {}, 404),
        ("/assets/none.js", {}, 404),
        ("/_dash-component-suites/os/path.py", {}, 404),
        ("/", {"Host": "evil.example"}, 421),
    ],
)
def test_every_answer_carries_the_headers(
    client: FlaskClient, path: str, headers: Mapping[str, str], status: int
) -> None:
    answer = client.get(path, headers=headers)
    assert answer.status_code == status
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["X-Frame-Options"] == "DENY"
    assert answer.headers["Referrer-Policy"] == "same-origin"
    assert answer.headers["Cross-Origin-Resource-Policy"] == "same-origin"
    assert len(answer.headers.getlist("Content-Security-Policy")) == 1


def test_a_browser_runs_the_scripts_of_the_page_and_no_others(client: FlaskClient) -> None:
    answer = client.get("/")
    rules = dict(part.split(" ", 1) for part in answer.headers["Content-Security-Policy"].split("; "))
    assert rules["default-src"] == rules["base-uri"] == rules["form-action"] == rules["frame-ancestors"] == "'none'"
    assert rules["style-src"] == "'self' 'unsafe-inline'"
    assert rules["img-src"] == "'self' data: blob:"
    assert rules["font-src"] == "'self' data:"
    assert rules["connect-src"] == "'self'"
    inline = re.findall(r"<script(?![^>]*(?:src=|application/json))[^>]*>(.*?)</script>", answer.text, re.DOTALL)
    hashes = {f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'" for text in inline}
    assert len(hashes) == 2
    assert set(rules["script-src"].split()) == {"'self'", *hashes}


# ---- what is asked -------------------------------------------------------------------------------
def test_a_body_of_more_than_four_megabytes_is_refused(client: FlaskClient) -> None:
    given = {"content_type": "application/json"}
    assert client.post(ASK, data=b" " * (MOST_BYTES + 1), **given).status_code == 413
    assert client.post(ASK, data=json.dumps(told()).encode().ljust(MOST_BYTES), **given).status_code == 200


@pytest.mark.parametrize(
    "body",
    [
        b"", b"{", b"[]", b"null", b'"x"', b"{}", b'{"output": ["x"]}', b'{"output": {}}', b"\xff\xfe", b"NaN",
        b"[" * 100_000, b'{"a":' * 100_000, b'{"output": "rail-training.children", "inputs": 3}', b'"\\ud800"',
    ],
)  # fmt: skip
def test_a_body_that_is_no_question_is_refused_in_a_sentence(
    client: FlaskClient, body: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    assert client.post(ASK, data=body, content_type="application/json").status_code == 400
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"output": "no.such"}, "There is no callback 'no.such'"),
        ({"output": "step.data"}, "There is no callback"),
        ({"outputs": {"id": "grid", "property": "rowData"}}, "not those of its callback"),
        ({"outputs": None}, "not those of its callback"),
        ({"inputs": []}, "other inputs values"),
        ({"inputs": [{"id": "run", "property": "data", "value": "x"}]}, "other inputs values"),
        ({"inputs": {"id": "log-version"}}, "other inputs values"),
        ({"state": [7]}, "other state values"),
        ({"state": [{"id": "run", "property": "data", "value": 7}]}, "run.data: Input should be a valid string"),
        ({"state": [{"id": "run", "property": "data"}]}, "run.data: Input should be a valid string"),
        ({"changedPropIds": "log-version.data"}, "a changed property that its callback does not read"),
        ({"changedPropIds": [["run.data"]]}, "a changed property that its callback does not read"),
    ],
)
def test_a_question_must_be_one_that_a_page_asks(client: FlaskClient, changes: dict[str, Any], said: str) -> None:
    answer = client.post(ASK, json=told(**changes))
    assert answer.status_code == 400
    assert said in answer.text
    assert answer.text.count("\n") == 1


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("late.data", {"step": 1, "length": 2, "head": "0.1"}, {"step": 1, "length": 2, "head": "0.1", "more": 3}),
        ("step.data", 10**18 - 1, 10**18),
        ("step.data", 3, True),
        ("length.data", 0, -1),
        ("length.data", 5, 5.0),
        ("head.data", "0.1", "-1.0"),
        ("head.data", "all", "all heads"),
        ("head.data", "10.12", "0.1\n"),
        ("page-look.data", {"theme": "dark", "size": 11}, {"theme": "dark", "size": 11, "x": 1}),
        ("page-look.data", {"theme": "light", "size": 12}, {"theme": "red", "size": 12}),
        ("extras.data", {"view": "score", "sample": "3"}, {"view": "score", "other": "3"}),
        ("extras.data", {"pos": "", "site": "-1"}, {"pos": "-1"}),
        ("extras.data", {"sample": "0"}, {"sample": "\u0663"}),
        ("extras.data", {"sample": "12"}, {"sample": ""}),
        ("seq-board-site.value", "-1", ""),
        (
            "seq-board-jobs.data",
            {"keys": {"look": "a", "read": "b"}, "since": 1.5},
            {"keys": {"look": "a", "read": []}, "since": 1.5},
        ),
        ("seq-board-jobs.data", None, {"keys": {"look": "a", "read": "b", "x": []}, "since": 1.5}),
        ("failure-mode.data", "table", "x"),
        ("loss-shown.data", {"loss": [1, 2]}, {"loss": ["1"]}),
        ("sweep-kind.value", "a|b|c||e", "a|b"),
        ("sweep-length-at.data", "0.5x", "1e9x"),
        ("try-text.value", "0" * 300_000, "0" * 300_001),
    ],
)
def test_a_value_must_have_its_shape(name: str, good: Any, bad: Any) -> None:
    shape = TypeAdapter(type_of(name))
    shape.validate_python(good, strict=True)
    with pytest.raises(ValidationError):
        shape.validate_python(bad, strict=True)


def test_every_declared_type_is_complete() -> None:
    """A type that names something undefined fails only when a request comes."""
    for value_type in (*VALUES.values(), *ENDINGS.values()):
        assert TypeAdapter(value_type).rebuild(force=True) is not False


def test_all_that_callbacks_read_has_a_shape(app: Dash) -> None:
    assert Questions(app).undeclared == set()  # else: declare it where the component is made, by request_values.declare


def test_what_has_no_shape_is_at_most_text_or_a_number() -> None:
    app = Dash("unchecked")
    app.layout = html.Div(id="one")
    app.callback(Output("one", "title"), Input("one", "lang"))(lambda lang: lang)
    questions = Questions(app)
    assert questions.undeclared == {"one.lang"}

    def body(value: Any) -> dict[str, Any]:
        given = [{"id": "one", "property": "lang", "value": value}]
        return {"output": "one.title", "outputs": {"id": "one", "property": "title"}, "inputs": given}

    for value in ("en", 3, 0.5, None):
        questions.check(body(value))
    for value in ([], {}, ["en"], {"a": 1}, "x" * 5000):
        with pytest.raises(Malformed, match=r"one\.lang"):
            questions.check(body(value))


@pytest.fixture
def maker(
    small_root: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[Maker, FlaskClient]]:
    """Requests to a served dashboard whose worker says that it cannot; after them its log must hold no traceback."""
    monkeypatch.setattr(Worker, "submit", lambda *given, **more: "key")
    monkeypatch.setattr(Worker, "job", lambda *given: Job("failed", error="there are no weights"))
    app = create_app(small_root)
    server = quiet_server(app, "127.0.0.1", 0)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        yield Maker(server.effective_port, RUNS, (0, 1000, 3000), (5, 50, 400)), app.server.test_client()
    finally:
        server.task_dispatcher.shutdown()
        server.close()
        app.server.extensions["lengthlens"].close()
        thread.join(5)
    assert not [record.getMessage() for record in caplog.get_records("call") if record.exc_info]


def test_a_short_storm_of_requests_leaves_no_traceback(maker: tuple[Maker, FlaskClient]) -> None:
    """A sample of what the hostile tier sends by the ten thousand."""
    found = storm(maker[0], 250, seed=1)
    assert not found.wrong, "\n".join(found.wrong[:5])
    assert found.total == 250
    assert found.counts["odd host", 421] > 0
    assert found.counts["asked", 200] > found.total / 10


def test_no_question_breaks_where_one_part_of_it_is_not_there_yet(maker: tuple[Maker, FlaskClient]) -> None:
    """Every server callback, with each of its values in turn left out, as on a page that is still being drawn."""
    making, client = maker
    asked = 0
    for number, callback in enumerate(making.callbacks):
        body = making.body(random.Random(number), callback)
        for one in (*body["inputs"], *body["state"]):
            held, one["value"] = one["value"], None
            answer = client.post("/_dash-update-component", json=body)
            one["value"] = held
            asked += 1
            assert answer.status_code in (200, 204, 400), (callback["output"][:80], one["id"], answer.status_code)
    assert asked > 300


# ---- exports that wait ---------------------------------------------------------------------------
def test_at_most_two_exports_wait_and_further_ones_are_told_to_try_again(
    app: Dash, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = app.server.extensions["lengthlens"]
    path = f"/data/try-clean.csv?run={RUNS[0]}"
    waiting, go_on = threading.Semaphore(0), threading.Event()

    def wait(key: str, timeout: float) -> Job:
        waiting.release()
        assert go_on.wait(60)
        return Job("failed", error="there are no weights")

    monkeypatch.setattr(answers.worker, "submit", lambda *given, **more: "key")
    monkeypatch.setattr(answers.worker, "wait", wait)
    found: list[int] = []
    threads = [
        threading.Thread(target=lambda: found.append(app.server.test_client().get(path).status_code)) for _ in range(2)
    ]
    for thread in threads:
        thread.start()
        assert waiting.acquire(timeout=60)
    for _ in range(12):
        turned_away = app.server.test_client().get(path)
        assert turned_away.status_code == 503
        assert turned_away.headers["Retry-After"] == str(sequence_query.SOON)
        assert "try again" in turned_away.text
    assert app.server.test_client().get(f"/data/failure.csv?run={RUNS[0]}").status_code == 200
    go_on.set()
    for thread in threads:
        thread.join(60)
    assert found == [404, 404]  # answered: there are none of these data
    assert app.server.test_client().get(path).status_code == 404  # and their places are free again


def test_an_export_that_takes_too_long_is_to_be_asked_for_again(app: Dash, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = app.server.extensions["lengthlens"]
    monkeypatch.setattr(answers.worker, "submit", lambda *given, **more: "key")
    monkeypatch.setattr(answers.worker, "wait", lambda key, timeout: Job("running"))
    for _ in range(3):
        assert app.server.test_client().get(f"/data/try-clean.csv?run={RUNS[0]}").status_code == 503
