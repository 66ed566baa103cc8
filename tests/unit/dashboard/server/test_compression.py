"""Compressed answers: what is compressed, what is kept, and how little a first page sends."""

from __future__ import annotations

import gzip
import http.client
import re
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import brotli
import pytest

from workbench.dashboard.app import create_app, quiet_server
from workbench.dashboard.server import compression
from workbench.dashboard.server.compression import StaticCache

PAGE_BYTES = 1_600_000
"""What a first page may send, its chart library or its table library included."""


class Answer(NamedTuple):
    """What came over the wire."""

    status: int
    headers: http.client.HTTPMessage
    data: bytes


Get = Callable[..., Answer]


@pytest.fixture(scope="module")
def get(small_root: Path) -> Iterator[Get]:
    """Asks a served dashboard for an address, as it is served to users: files are sent differently by a test client."""
    app = create_app(small_root)
    server = quiet_server(app, "127.0.0.1", 0)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()

    def ask(address: str, encoding: str = "") -> Answer:
        connection = http.client.HTTPConnection("127.0.0.1", server.effective_port, timeout=60)
        connection.request("GET", address, headers={"Accept-Encoding": encoding} if encoding else {})
        answer = connection.getresponse()
        data = answer.read()
        connection.close()
        return Answer(answer.status, answer.headers, data)

    yield ask
    server.task_dispatcher.shutdown()
    server.close()
    app.server.extensions["lengthlens"].close()
    thread.join(5)


def sent_bytes(get: Get, address: str) -> int:
    answer = get(address, "br")
    assert answer.status == 200, address
    return len(answer.data)


def addresses(get: Get) -> list[str]:
    """Scripts, styles and fonts that the first page names, and the two libraries that it loads on demand."""
    text = get("/").data.decode()
    named = re.findall(r'(?:src|href|content)="(/?(?:_dash|assets)[^"]+)"', text)
    return [address if address.startswith("/") else f"/{address}" for address in named]


def test_every_part_of_a_first_page_together_stays_within_its_bytes(get: Get) -> None:
    parts = addresses(get)
    assert len(parts) > 30
    assert sum("plotly-cartesian" in part for part in parts) == 1
    assert sum("dash_ag_grid" in part for part in parts) == 1
    total = sum(sent_bytes(get, part) for part in ["/", "/_dash-layout", "/_dash-dependencies", *parts])
    assert total <= PAGE_BYTES


def test_the_large_libraries_are_not_among_the_scripts_of_the_page(get: Get) -> None:
    text = get("/").data.decode()
    scripts = re.findall(r'<script[^>]* src="([^"]+)"', text)
    assert scripts
    assert not [script for script in scripts if "plotly" in script or "ag_grid" in script]


@pytest.mark.parametrize(("encoding", "decompress"), [("br", brotli.decompress), ("gzip", gzip.decompress)])
def test_a_compressed_answer_is_the_plain_one(get: Get, encoding: str, decompress: Callable[[bytes], bytes]) -> None:
    address = "/_dash-dependencies"
    plain = get(address, "identity")
    packed = get(address, encoding)
    assert "Content-Encoding" not in plain.headers
    assert packed.headers["Content-Encoding"] == encoding
    assert "Accept-Encoding" in packed.headers["Vary"]
    assert decompress(packed.data) == plain.data
    assert len(packed.data) < len(plain.data) / 5


def test_an_unknown_encoding_gets_the_plain_answer(get: Get) -> None:
    for encoding in ("identity", "deflate", "x" * 5000, ";q=nan", "*;q=0"):
        answer = get("/_dash-layout", encoding)
        assert answer.status == 200
        assert "Content-Encoding" not in answer.headers, encoding


def test_static_files_are_compressed_once_and_nothing_else_is_kept(get: Get, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []
    compress = brotli.compress

    def counted(data: bytes, **options: int) -> bytes:
        calls.append(1)
        return bytes(compress(data, **options))

    monkeypatch.setattr("flask_compress.flask_compress.brotli.compress", counted)
    styles = next(part for part in addresses(get) if part.partition("?")[0].endswith("run.css"))
    sent_bytes(get, styles)
    calls.clear()
    sent_bytes(get, styles)
    sent_bytes(get, f"{styles.partition('?')[0]}?m=made-up")
    assert calls == []
    sent_bytes(get, "/_dash-layout")
    sent_bytes(get, "/_dash-layout")
    assert calls == [1, 1]


def test_the_cache_keeps_no_more_than_its_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compression, "CACHED_BYTES", 10)
    cache = StaticCache()
    cache.set("br;/assets/a.js", b"12345678")
    cache.set("br;/assets/b.js", b"123")
    cache.set("br;", b"1")
    assert cache.get("br;/assets/a.js") == b"12345678"
    assert cache.get("br;/assets/b.js") is None
    assert cache.get("br;") is None
