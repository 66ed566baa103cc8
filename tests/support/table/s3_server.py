"""A small server of the S3 kind on this machine: one bucket in memory, listed and read. Who asks is not looked at."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

PAGE = 7
"""Objects of one answer to a listing; there are more pages than one."""


class S3Server(ThreadingHTTPServer):
    """Attributes: ``objects`` by key; ``read`` = the keys that were asked for; ``broken`` = keys that answer 403."""

    def __init__(self, objects: Mapping[str, bytes]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.objects, self.read, self.broken = dict(objects), list[str](), set[str]()
        self.changed = 0
        """Seconds since the beginning of the objects' time."""

    def url(self, folder: str) -> str:
        return f"s3://bucket/{folder}?scheme=http&region=here&endpoint_override=127.0.0.1:{self.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    server: S3Server
    protocol_version = "HTTP/1.1"

    def log_message(self, *words: object) -> None:
        pass

    def do_HEAD(self) -> None:
        self._answer(body=False)

    def do_GET(self) -> None:
        self._answer(body=True)

    def _answer(self, body: bool) -> None:
        parts = urlsplit(self.path)
        key = unquote(parts.path).removeprefix("/bucket").lstrip("/")
        if not key:
            self._send(200, self._listing(parse_qs(parts.query)), body)
        elif key in self.server.broken:
            self._send(403, b"", body)
        elif key in self.server.objects:
            self.server.read += [key] * body
            self._send(200, self.server.objects[key], body)
        else:
            self._send(404, b"", body)

    def _listing(self, query: Mapping[str, list[str]]) -> bytes:
        prefix, after = query.get("prefix", [""])[0], query.get("continuation-token", [""])[0]
        keys = sorted(key for key in self.server.objects if key.startswith(prefix) and key > after)
        page, more = keys[:PAGE], len(keys) > PAGE
        contents = "".join(
            f"<Contents><Key>{escape(key)}</Key><LastModified>{self._time()}</LastModified>"
            f"<Size>{len(self.server.objects[key])}</Size></Contents>"
            for key in page
        )
        next_page = f"<NextContinuationToken>{escape(page[-1])}</NextContinuationToken>" if more else ""
        return (
            f"<ListBucketResult><Name>bucket</Name><Prefix>{escape(prefix)}</Prefix><KeyCount>{len(page)}</KeyCount>"
            f"<IsTruncated>{str(more).lower()}</IsTruncated>{next_page}{contents}</ListBucketResult>"
        ).encode()

    def _time(self) -> str:
        return f"2026-01-01T00:00:{self.server.changed:02}.000Z"

    def _send(self, status: int, data: bytes, body: bool) -> None:
        begin, end = 0, len(data)
        asked = self.headers.get("Range", "")
        if status == 200 and asked.startswith("bytes="):
            first, _, last = asked.removeprefix("bytes=").partition("-")
            begin, end, status = int(first), min(int(last) + 1, len(data)) if last else len(data), 206
        self.send_response(status)
        self.send_header("Content-Length", str(end - begin))
        self.send_header("Last-Modified", "Thu, 01 Jan 2026 00:00:00 GMT")
        self.end_headers()
        if body:
            self.wfile.write(data[begin:end])


@contextmanager
def serving(objects: Mapping[str, bytes]) -> Iterator[S3Server]:
    """The server, while the block lasts."""
    with S3Server(objects) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
