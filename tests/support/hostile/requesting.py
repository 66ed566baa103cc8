"""Requests to a dashboard on this machine: valid, mutated, hostile; each follows from the seed and its number alone."""

from __future__ import annotations

import http.client
import json
import random
import re
import socket
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

ASK = "/_dash-update-component"
TIMEOUT = 240.0
"""Seconds after which an answer that has not come counts as a hang."""
ANSWERED = {200, 204, 304}
REFUSED = {400, 404, 405, 413, 414, 415, 421, 403, 431, 501, 503}
CLOSED, HANGS = 0, -1
"""In place of a status: the server hung up, which it may where there is no telling where a request ends; no answer."""

# What no page would send. Numbers come as text where JSON has none for them.
BIG = "9" * 400
STRINGS = (
    "", " ", "0", "-1", "1.99", "99.0", "-1.0", "0.0.0", "1e3", "0x10", "\u0663", "\u00b2", "nan", "inf", BIG,
    "\x00", "\x1b[31m", "\ud800", "\U0001f600" * 40, "a" * 20_000, "../../../../etc/passwd", "..", "/etc/passwd",
    "file:///etc/passwd", "<script>alert(1)</script>", "'; DROP TABLE rows; --", "{{7*7}}", "${jndi:ldap://x}", "%s%n",
    "|", "||||", "|||||", "a|b", "a|b|c|d|e", "circuits.hardmax|margin", "behaviour|accuracy", "__class__", "undefined",
    "os:system", "zero.0.0", "zero.9.9", "patch.0.999999", "zero.0.0," * 500, "q0-5k0-5", "q9-0k9-0", "q999999-999999k0-1",
)  # fmt: skip
OTHERS: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 3, 2**31, 2**63, 2**64, 10**30, -(10**18), 0.5, -0.0, 1e308, 5e-324,
    float("nan"), float("inf"), float("-inf"), [], {}, [[]], [None], {"a": {}}, {"__proto__": {"x": 1}}, ["x"] * 500,
    {"keys": {}}, {"theme": "light"}, {"step": float("nan")},
)  # fmt: skip
QUERIES = (
    "run=", "run=../..", "run=%00", "step=nan", "step=1e999", f"step={BIG}", "step=-5", "step=%D9%A3", "len=inf", "len=0",
    f"len={BIG}", "layer=9&head=9", "layer=-1&head=-1", "layer=x&head=", "view=x", "sample=-1", f"sample={BIG}", "sample=%FF",
    "seq=%00", "seq=" + "0" * 3000, "edits=zero.9.9", "edits=" + "zero.0.0," * 200, "pos=%C2%B2", "pos=-1", "site=99", "site=-1",
    "site=%C2%B2", "zoom=q5-1k0-3", "zoom=q0-999999k0-999999", "law=x", "quantity=|", "quantity=a|b", "quantity=|||||",
    "quantity=behaviour|accuracy", "x=y&y=x", "fix=a=b|=|c", "fix=task.name=majority|seeds.init=0", "len=4x", "len=1e9x", "len=x", "x=task.name&y=task.name", "over=nothing", "run2=..", "run2=majority-nope-s0",
    "seeds=1", "group=task.name", "group=<x>", "q=nothing", "theme=dark", "theme=<x>", "a=b&a=c&=&&;", "%", "%ZZ=%ZZ", "&" * 500, "verdict=x", "task=x&positions=y",
    "filter=%00&filter=(((", "quantity=circuits.hardmax|margin",
)  # fmt: skip
PATHS = (
    "/../../../../etc/passwd", "/assets/../../../../etc/passwd", "/assets/..%2f..%2f..%2f..%2fetc%2fpasswd", "/assets/%2e%2e/create.py",
    "/assets/....//....//etc/passwd", "/assets/%00", "/assets/fonts", "/assets/", "/assets/js/cursor.js%00.css", "/assets/..%5c..%5ccreate.py",
    "/_dash-component-suites/dash/../../app.py", "/_dash-component-suites/os/path.py", "/_dash-component-suites/dash/dash.py",
    "/_dash-component-suites/workbench/dashboard/app.py", "/_dash-component-suites//x", "/_dash-component-suites/dash/%00",
    "/data/", "/data/x", "/data/x.csv", "/data/..%2f..%2frun.json", "/data/%00.csv", "/data/accuracy-length.exe", "/data/.csv",
    "/data/accuracy-length.csv/../x", "/data/%F0%9F%98%80.csv", "/static/x", "/static/..%2fapp.py", "/_dash-layout/x", "/_reload-hash",
    "/_favicon.ico", "/%", "/%ZZ", "/%FF%FE", "//evil.example/", "/" + "a" * 6000, "/" + "a/" * 2000, "/;x=1", "/?" + "a" * 9000, "/.git/config",
    "/mcp", "/_mcp", "/console", "/?__debugger__=yes&cmd=resource&f=style.css", "/run.json", "/majority-nope-s0/run.json",
)  # fmt: skip
HOSTS = (
    "evil.example", "127.0.0.1.evil.example", "localhost.evil.example", "evil.example:80", "169.254.169.254", "0.0.0.0",
    "10.0.0.1", "127.0.0.2", "2130706433", "[::]", "[::1", "localhost:8050:80", "localhost:x", "user@localhost", "localhost, evil.example",
    "", " ", "localhost/evil", "\u4f60\u597d".encode().decode("latin-1"), "x" * 5000,
)  # fmt: skip
GOOD_HOSTS = ("localhost", "localhost:1", "LOCALHOST:99", "127.0.0.1", "127.0.0.1:65535", "[::1]:8050", "localhost.")
ORIGINS = (
    "http://evil.example", "https://evil.example:443", "null", "", "http://localhost.evil.example", "http://localhost:1", "file://",
    "http://127.0.0.1", "chrome-extension://abc", "http://[::1", "javascript:1", "http://",
)  # fmt: skip
METHODS = ("PUT", "DELETE", "PATCH", "TRACE", "OPTIONS", "HEAD", "CONNECT", "PROPFIND", "get", "A" * 300, "G@T")
COMPUTED = ("seq", "try", "maps")
"""Panels whose rows the worker computes; it may be busy."""
SECRET = re.compile(rb"root:[^:]*:0:0|\"seeds\": \{\s*\"init\"")
"""What only a file of this machine, or a run's own file, would hold."""


@dataclass
class Request:
    """One request, and the statuses that are right for it."""

    kind: str
    method: str
    path: str
    body: bytes | None = None
    headers: dict[str, str] = field(default_factory=dict)
    right: frozenset[int] = frozenset(ANSWERED)
    raw: bytes | None = None


@dataclass
class Outcome:
    """What came of many requests.

    Attributes:
        counts: kind and status -> how many.
        wrong: what must not be, one sentence each: a status that is not right for its kind, a hang, a secret.
    """

    counts: Counter[tuple[str, int]] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    @property
    def total(self) -> int:
        return sum(self.counts.values())

    def table(self) -> str:
        """Lines of kind, how many, and statuses."""
        kinds = sorted({kind for kind, _ in self.counts})
        lines = []
        for kind in kinds:
            statuses = {status: n for (k, status), n in sorted(self.counts.items()) if k == kind}
            said = ", ".join(f"{'closed' if status == CLOSED else status}: {n:,}" for status, n in statuses.items())
            lines.append(f"{kind:12} {sum(statuses.values()):7,}   {said}")
        return "\n".join(lines)


class Maker:
    """Makes requests to one dashboard.

    Args:
        port: where it listens on this machine.
        runs: names of its runs, the first measured.
        steps, lengths: of that run.
    """

    def __init__(self, port: int, runs: Sequence[str], steps: Sequence[int], lengths: Sequence[int]) -> None:
        self.port, self.runs, self.steps, self.lengths = port, runs, steps, lengths
        page = _get(port, "/").decode()
        self.files = re.findall(r'(?:src|href)="(/[^"]+)"', page)
        wired = json.loads(_get(port, "/_dash-dependencies"))
        self.callbacks = [one for one in wired if one["clientside_function"] is None]
        self.panels = re.findall(r"[\w-]+", _get(port, "/data/-.csv", 404).decode().partition("the panels are")[2])
        assert self.files
        assert self.callbacks
        assert self.panels
        self.makers: list[tuple[float, Callable[[random.Random], Request]]] = [
            (0.04, self.page), (0.04, self.file), (0.10, self.export), (0.002, self.computed), (0.28, self.asked),
            (0.30, self.mutated), (0.05, self.garbled), (0.06, self.searched), (0.03, self.odd_export), (0.04, self.odd_path),
            (0.02, self.odd_host), (0.02, self.odd_origin), (0.02, self.odd_method), (0.013, self.misframed), (0.0005, self.huge),
        ]  # fmt: skip

    def made(self, seed: int, number: int) -> Request:
        """The request of that number."""
        draw = random.Random(f"{seed}/{number}")
        weights = [weight for weight, _ in self.makers]
        return draw.choices([make for _, make in self.makers], weights)[0](draw)

    # ---- what a page sends -----------------------------------------------------------------------
    def page(self, draw: random.Random) -> Request:
        return Request(
            "page", "GET", draw.choice(["/", "/run", "/theory", "/nothing", "/_dash-layout", "/_dash-dependencies"])
        )

    def file(self, draw: random.Random) -> Request:
        return Request("file", "GET", draw.choice(self.files))

    def export(self, draw: random.Random) -> Request:
        tables = [one for one in self.panels if not one.startswith((*COMPUTED, "bound"))]
        kind = draw.choice(["csv", "parquet", "json", "py"])
        step, length = draw.choice(self.steps), draw.choice(self.lengths)
        query = f"run={self.runs[0]}&step={step}&len={length}&run2={self.runs[1]}&quantity=behaviour|accuracy&q=margin"
        right = frozenset(ANSWERED | {404})  # where nothing is measured there
        return Request("export", "GET", f"/data/{draw.choice(tables)}.{kind}?{query}", right=right)

    def computed(self, draw: random.Random) -> Request:
        """Through the worker, which finds no weights in made-up runs."""
        query = f"run={self.runs[0]}&len={draw.randrange(1, 300)}&sample={draw.randrange(9)}"
        panel = draw.choice([one for one in self.panels if one.startswith(COMPUTED)])
        return Request("computed", "GET", f"/data/{panel}.csv?{query}", right=frozenset({200, 404, 503}))

    def asked(self, draw: random.Random) -> Request:
        return _post("asked", self.body(draw), ANSWERED)

    def body(self, draw: random.Random, callback: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """A question as a page asks it, of any callback unless it is given."""
        wired = callback or draw.choice(self.callbacks)

        def listed(kind: str) -> list[dict[str, Any]]:
            return [{**_named(one), "value": self.value(draw, f"{one['id']}.{one['property']}")} for one in wired[kind]]

        inputs = listed("inputs")
        changed = [f"{one['id']}.{one['property']}" for one in inputs[:1]]
        made = {"output": wired["output"], "inputs": inputs, "state": listed("state"), "changedPropIds": changed}
        outputs = _outputs(wired)
        return made if outputs is None else made | {"outputs": outputs}

    def value(self, draw: random.Random, name: str) -> Any:
        """What a page's component may hold."""
        run = draw.choice(self.runs)
        step, length, head = (
            draw.choice(self.steps),
            draw.choice(self.lengths),
            f"{draw.randrange(2)}.{draw.randrange(4)}",
        )
        path = draw.choice(
            ["/", "/run", "/checkpoint", "/try", "/compare", "/sweep", "/theory", "/claims", "/glossary"]
        )
        extras = {
            "view": "attention",
            "sample": "0",
            "run2": self.runs[1],
            "configs": self.runs[1],
            "quantity": "circuits.hardmax|margin",
            "connection": "L0.0 -> MLP 0",
            "edits": "",
        }
        exact: dict[str, Any] = {
            "place.data": {"path": path, "search": f"?run={run}&step={step}", "last": run},
            "here.data": {"run": run, "title": "x", "waits": True},
            "page-look.data": {"theme": draw.choice(["light", "dark"]), "size": 11},
            "step.data": step, "length.data": length, "head.data": head,
            "late.data": {"step": step, "length": length, "head": head},
            "ledger-open.data": draw.choice([True, False]), "run.data": run, "theory-run.data": run, "extras.data": extras,
            "link.data": {"path": path, "run": run, "href": path}, "scale.data": {"layers": 2},
            "connection-select.value": "L0.0 -> MLP 0",
            "more-quantity.value": "behaviour|accuracy", "head-quantity.value": "margin",
            "sweep-asked.data": {"quantity": "behaviour|accuracy|matched||teacher_forced", "x": "task.name", "y": "seeds.init"},
            "sweep-quantity.value": "behaviour|accuracy", "sweep-kind.value": "behaviour|accuracy|matched||teacher_forced",
            "sweep-x.value": "task.name", "sweep-y.value": "seeds.init", "sweep-over.value": "mean", "sweep-unit.value": "times", "sweep-fix.value": draw.choice([None, ["task.name=majority"]]),
            "sweep-pace.value": draw.choice(["share", "step"]), "sweep-step-at.data": draw.choice([step, "1/4", None]),
            "sweep-length-at.data": draw.choice([length, "4x"]), "theory-job.data": "0123456789abcdef", "try-kind.value": "zero", "try-head.value": head,
            "try-block.value": "0", "try-prefix.value": 1, "try-repair.value": "P.int", "try-law.value": "matched", "try-text.value": "0110",
            "try-drop.data": {"edit": "zero.0.0"}, "filter.value": "major", "group.value": draw.choice(["", "seeds", "task.name", "<x>"]),
            "note-seen.data": "", "maps-session.data": f"session {draw.randrange(5)}",
            "views-ask.data": draw.choice([None, {"do": "list", "at": 1}, {"do": "delete", "at": 2, "file": "0:none"}, {"do": "save", "at": 3, "name": "", "link": "/nowhere"}]),
            "measure-ask.data": draw.choice([None, None, None, {"run": run, "only": "behaviour"}, {"cancel": 1}]),
        }  # fmt: skip
        ends: dict[str, Any] = {
            "-mode.data": draw.choice(["figure", "figure", "table"]), "-board-drawn.data": {"seen": ""}, ".n_intervals": 1, ".n_clicks": 1,
            "-board-session.data": f"session {draw.randrange(5)}", "-board-site.value": "1", "-board-view.value": "attention",
            "-board-news.data": "", "-board-jobs.data": draw.choice([None, {"keys": {"look": "a", "read": "b"}, "since": 1.0}]),
            "-board-query.data": {"prefix": 3, "last": 9}, "-board-tokens.data": {"text": "01"}, "-board-zoom.data": {"part": "q0-3k0-3"},
        }  # fmt: skip
        return exact[name] if name in exact else next((v for end, v in ends.items() if name.endswith(end)), None)

    # ---- what no page sends ----------------------------------------------------------------------
    def mutated(self, draw: random.Random) -> Request:
        body = self.body(draw)
        for _ in range(draw.choice([1, 1, 1, 2, 4])):
            _mutate(draw, body)
        return _post("mutated", body, ANSWERED | REFUSED)

    def garbled(self, draw: random.Random) -> Request:
        text = json.dumps(self.body(draw)).encode()
        deep = draw.choice([100, 1000, 100_000])
        body = draw.choice([
            b"", b"null", b"[]", b"{}", b'"x"', b"1e999", b"NaN", b"{" * 5, text[: draw.randrange(len(text))], text + b"x",
            b"[" * deep + b"]" * deep, b'{"a":' * deep + b"1" + b"}" * deep, draw.randbytes(300), b"\xff\xfe" + text, b"\x00" * 50,
            text.replace(b"{", b"[", 1), json.dumps([{"output": "place.data"}] * 1000).encode(), b'{"output": {"a": 1}}', BIG.encode(),
        ])  # fmt: skip
        kind = draw.choice(
            [
                "application/json",
                "application/json",
                "text/plain",
                "multipart/form-data",
                "application/json; charset=x",
                "",
            ]
        )
        return Request("garbled", "POST", ASK, body, {"Content-Type": kind}, frozenset({400, 415}))

    def searched(self, draw: random.Random) -> Request:
        """A page's address, as the browser says it."""
        place = self.value(draw, "place.data")
        place["search"] = "?" + "&".join([f"run={draw.choice(self.runs)}", *draw.sample(QUERIES, 3)])
        wired = next(one for one in self.callbacks if any(i["id"] == "place" for i in one["inputs"]))
        inputs = [{**_named(one), "value": place if one["id"] == "place" else None} for one in wired["inputs"]]
        state = [{**_named(one), "value": None} for one in wired["state"]]
        body = {
            "output": wired["output"],
            "outputs": _outputs(wired),
            "inputs": inputs,
            "state": state,
            "changedPropIds": ["place.data"],
        }
        return _post("searched", body, ANSWERED)

    def odd_export(self, draw: random.Random) -> Request:
        tables = [one for one in self.panels if not one.startswith(("seq", "try"))]
        query = "&".join([f"run={self.runs[0]}", *draw.sample(QUERIES, 3)]).replace(" ", "%20")
        kind = draw.choice(["csv", "parquet", "json", "py", "exe", ""])
        return Request(
            "odd export", "GET", f"/data/{draw.choice(tables)}.{kind}?{query}", right=frozenset(ANSWERED | REFUSED)
        )

    def odd_path(self, draw: random.Random) -> Request:
        return Request(
            "odd path",
            draw.choice(["GET", "HEAD", "POST"]),
            draw.choice(PATHS),
            right=frozenset(ANSWERED | REFUSED | {308}),
        )

    def odd_host(self, draw: random.Random) -> Request:
        if draw.random() < 0.2:
            return Request("good host", "GET", "/_dash-layout", headers={"Host": draw.choice(GOOD_HOSTS)})
        method, path = draw.choice(
            [("GET", "/"), ("GET", "/_dash-layout"), ("GET", f"/data/failure.csv?run={self.runs[0]}"), ("POST", ASK)]
        )
        body = json.dumps(self.body(draw)).encode() if method == "POST" else None
        headers = {"Host": draw.choice(HOSTS), "Content-Type": "application/json"}
        return Request("odd host", method, path, body, headers, frozenset({421}))

    def odd_origin(self, draw: random.Random) -> Request:
        headers = {"Origin": draw.choice(ORIGINS), "Content-Type": draw.choice(["application/json", "text/plain"])}
        return Request("odd origin", "POST", ASK, json.dumps(self.body(draw)).encode(), headers, frozenset({403}))

    def odd_method(self, draw: random.Random) -> Request:
        path = draw.choice(["/", ASK, "/assets/js/cursor.js", "/data/failure.csv"])
        return Request("odd method", draw.choice(METHODS), path, right=frozenset(ANSWERED | REFUSED))

    def misframed(self, draw: random.Random) -> Request:
        """Bytes that are hardly HTTP; the server may hang up."""
        host = f"Host: localhost:{self.port}\r\n"
        length = draw.choice(["-1", "x", "99999999999999999999", "0x10", "1, 2", "4194305", "4294967296"])
        text = draw.choice([
            f"POST {ASK} HTTP/1.1\r\n{host}Content-Length: {length}\r\n\r\n{{}}",
            f"POST {ASK} HTTP/1.1\r\n{host}Transfer-Encoding: chunked\r\n\r\nzz\r\n{{}}\r\n0\r\n\r\n",
            f"POST {ASK} HTTP/1.1\r\n{host}Transfer-Encoding: gzip\r\n\r\n{{}}",
            f"POST {ASK} HTTP/1.1\r\n{host}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{{}}x",
            "GET / HTTP/1.1\r\n\r\n", "GET /\r\n\r\n", "GET / HTTP/9.9\r\n" + host + "\r\n", "\r\n\r\n", "\x00\x01\x02\r\n\r\n", "GET\r\n\r\n",
            f"GET / HTTP/1.1\r\n{host}{host}\r\n", f"GET / HTTP/1.1\r\n{host}X: {'a' * 300_000}\r\n\r\n", f"GET / HTTP/1.1\r\n {host}\r\n",
            "GET http://evil.example/ HTTP/1.1\r\nHost: evil.example\r\n\r\n", f"GET / HTTP/1.1\r\n{host}X Y: 1\r\n\r\n",
        ])  # fmt: skip
        return Request("misframed", "", "", raw=text.encode("latin-1"), right=frozenset(ANSWERED | REFUSED | {CLOSED}))

    def huge(self, draw: random.Random) -> Request:
        body = json.dumps(self.body(draw)).encode() + b" " * (4 << 20)
        return Request("huge", "POST", ASK, body, {"Content-Type": "application/json"}, frozenset({413}))


def storm(
    make: Maker,
    count: int,
    seed: int = 0,
    threads: int = 4,
    each: Callable[[int], None] | None = None,
    every: int = 250,
) -> Outcome:
    """Send so many requests, some at a time.

    Args:
        make: makes them.
        count: how many.
        seed: of all of them.
        threads: how many at a time.
        each: told how many have been answered.
        every: after how many answers it is told.
    """
    found, lock, own = Outcome(), threading.Lock(), threading.local()

    def one(number: int) -> None:
        request = make.made(seed, number)
        status, answer = _send(make.port, request, own)
        with lock:
            found.counts[request.kind, status] += 1
            sent = (request.raw or request.body or b"")[:300]
            said = f"{number} ({request.kind}) {request.method[:20]} {request.path[:200]} {request.headers} {sent!r}"
            if status not in request.right:
                found.wrong.append(f"{'hangs' if status == HANGS else status}: {said}: {answer[:200]!r}")
            if SECRET.search(answer):
                found.wrong.append(f"tells a secret: {said}")
            if each is not None and found.total % every == 0:
                each(found.total)

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(one, range(count)))
    return found


def _post(kind: str, body: Any, right: set[int]) -> Request:
    return Request(kind, "POST", ASK, json.dumps(body).encode(), {"Content-Type": "application/json"}, frozenset(right))


def _named(one: Mapping[str, Any]) -> dict[str, Any]:
    return {"id": one["id"], "property": one["property"]}


def _outputs(wired: Mapping[str, Any]) -> Any:
    text = wired["output"]
    if wired.get("no_output"):
        return None
    parts = text[2:-2].split("...") if text.startswith("..") else [text]
    made = [dict(zip(("id", "property"), part.rsplit(".", 1), strict=True)) for part in parts]
    return made if text.startswith("..") else made[0]


def _mutate(draw: random.Random, body: dict[str, Any]) -> None:
    """Change one thing somewhere in a body, mostly a value that a callback reads."""
    hostile = deepcopy(draw.choice([*STRINGS, *OTHERS]))
    given = [
        one
        for kind in ("inputs", "state")
        if isinstance(body.get(kind), list)
        for one in body[kind]
        if isinstance(one, dict)
    ]
    if given and draw.random() < 0.75:
        one = draw.choice(given)
        value = one.get("value")
        if isinstance(value, dict) and value and draw.random() < 0.7:
            value[draw.choice([*value, "more"])] = hostile
        else:
            one[draw.choice(["value"] * 8 + ["id", "property"])] = hostile
        return
    key = draw.choice(["output", "outputs", "inputs", "state", "changedPropIds", "parsedChangedPropsIds"])
    if draw.random() < 0.4:
        body.pop(key, None)
    elif isinstance(body.get(key), list) and draw.random() < 0.5:
        body[key] = body[key][:-1] + [hostile] * draw.randrange(3)
    else:
        body[key] = hostile


def _get(port: int, path: str, right: int = 200) -> bytes:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=TIMEOUT)
    connection.request("GET", path)
    answer = connection.getresponse()
    data = answer.read()
    connection.close()
    assert answer.status == right, (path, answer.status, data[:200])
    return data


def _send(port: int, request: Request, own: threading.local) -> tuple[int, bytes]:
    """Status and body; CLOSED or HANGS in place of a status."""
    if request.raw is not None:
        return _send_raw(port, request.raw)
    for fresh in (False, True):  # a kept connection may have been closed meanwhile
        wire = getattr(own, "wire", None)
        if wire is None or fresh:
            wire = own.wire = socket.create_connection(("127.0.0.1", port), timeout=TIMEOUT)
        try:
            wire.sendall(_written(port, request))
            answer = http.client.HTTPResponse(wire, method=request.method)
            answer.begin()
            status, data = answer.status, answer.read()
            if answer.will_close:
                wire.close()
                own.wire = None
            return status, data
        except TimeoutError:
            wire.close()
            own.wire = None
            return HANGS, b""
        except (OSError, http.client.HTTPException):
            wire.close()
            own.wire = None
    return CLOSED, b""


def _written(port: int, request: Request) -> bytes:
    """A request as it goes over the wire, however wrong it is."""
    headers = {"Host": f"127.0.0.1:{port}"} | request.headers
    if request.body is not None or request.method == "POST":
        headers["Content-Length"] = str(len(request.body or b""))
    lines = [f"{request.method} {request.path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
    return "\r\n".join([*lines, "", ""]).encode("latin-1", "replace") + (request.body or b"")


def _send_raw(port: int, data: bytes) -> tuple[int, bytes]:
    with socket.create_connection(("127.0.0.1", port), timeout=TIMEOUT) as wire:
        try:
            wire.sendall(data)
            wire.shutdown(socket.SHUT_WR)
            answer = b""
            while len(answer) < 1 << 20 and (more := wire.recv(65536)):
                answer += more
        except TimeoutError:
            return HANGS, b""
        except OSError:
            return CLOSED, b""
    status = re.match(rb"HTTP/1\.[01] (\d{3})", answer)
    return (int(status[1]) if status else CLOSED), answer
