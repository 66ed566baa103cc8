"""Checks before each request: who may send it, how large it may be, and what a browser may do with the answer.

Every page in a browser on this machine can reach a server on it. A foreign page may use this address in its links,
forms and scripts. With a host name that it points here (DNS rebinding) it even counts as the same origin. It could then
read every folder and start measurements. Therefore only known host names are answered, and a request that changes
anything must come from a page of this server.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

LOCAL = ("127.0.0.1", "localhost", "::1")
"""Names by which this machine calls itself; they are always answered to."""
MOST_BYTES = 4 << 20
"""Of a request's body."""
READ_BYTES = 4 * MOST_BYTES
"""Of a body that is read to its end and then refused in words; from a longer one the server hangs up, as it must."""
HEADERS = (
    ("X-Frame-Options", "DENY"),
    ("X-Content-Type-Options", "nosniff"),
    # Not no-referrer: with that, browsers say the origin "null" where they post.
    ("Referrer-Policy", "same-origin"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
)
STATUS = {400: "Bad Request", 403: "Forbidden", 413: "Content Too Large", 421: "Misdirected Request"}

Application = Callable[[dict[str, Any], Any], Iterable[bytes]]


class Hosts:
    """The names that the server answers to, whatever the port: a tunnel has another.

    Args:
        host: what the server listens on. Of a wildcard address every address counts, and the machine's own name: only
            a name can be pointed here by somebody else.
    """

    def __init__(self, host: str = LOCAL[0]) -> None:
        self._names = {*LOCAL, plain(host)}
        self._any_address = is_wildcard(host)
        if self._any_address:
            own = socket.gethostname().lower()
            self._names |= {own, own.partition(".")[0]}

    def __contains__(self, host: object) -> bool:
        """Whether a ``Host`` header, with or without its port, names this server."""
        name = host_name(host) if isinstance(host, str) else None
        return name is not None and (name in self._names or (self._any_address and _is_address(name)))


def host_name(text: str) -> str | None:
    """Return the host in ``name``, ``name:port``, ``[v6]`` or ``[v6]:port``, in a form for comparison; None if the text
    is not a host.
    """
    if text.startswith("["):
        name, closed, rest = text[1:].partition("]")
        if not closed or not _is_address(name) or (rest and not rest.startswith(":")):
            return None
        port = rest[1:] if rest else "0"
    else:
        name, colon, port = text.partition(":")
        port = port if colon else "0"
    good = name and port.isascii() and port.isdigit() and len(port) <= 5
    return plain(name) if good else None


def plain(host: str) -> str:
    """Return a host in a form for comparison: lower case, no final dot, addresses in their shortest form."""
    name = host.lower().removeprefix("[").removesuffix("]").removesuffix(".")
    try:
        return str(ipaddress.ip_address(name))
    except ValueError:
        return name


def is_wildcard(host: str) -> bool:
    """Whether a server that listens there answers at every address of its machine."""
    return plain(host) in ("", "0.0.0.0", "::", "*")


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def policy(scripts: Sequence[str]) -> str:
    """The Content-Security-Policy: everything from this server, and of inline scripts only those of given hashes."""
    rules = {
        "default-src": "'none'",
        "script-src": " ".join(("'self'", *scripts)),
        "style-src": "'self' 'unsafe-inline'",  # components and plots are placed by style attributes
        "img-src": "'self' data: blob:",
        "font-src": "'self' data:",
        "connect-src": "'self'",
        "base-uri": "'none'",
        "form-action": "'none'",
        "frame-ancestors": "'none'",
    }
    return "; ".join(f"{name} {value}" for name, value in rules.items())


def guard_application(application: Application, hosts: Hosts, content_policy: str) -> Application:
    """Return a WSGI application that refuses requests from other sites, and adds security headers to every answer."""
    headers = [*HEADERS, ("Content-Security-Policy", content_policy)]

    def answered(environ: dict[str, Any], start: Any) -> Iterable[bytes]:
        def begin(status: str, given: list[tuple[str, str]], *error: Any) -> Any:
            return start(status, [*given, *headers], *error)

        refused = refusal(environ, hosts)
        if refused is None:
            return application(environ, begin)
        code, sentence = refused
        body = f"{sentence}\n".encode()
        said = [("Content-Type", "text/plain; charset=utf-8"), ("Content-Length", str(len(body)))]
        begin(f"{code} {STATUS[code]}", said)
        return [] if environ.get("REQUEST_METHOD") == "HEAD" else [body]

    return answered


def refusal(environ: Mapping[str, Any], hosts: Hosts) -> tuple[int, str] | None:
    """Status and sentence for a request that is not answered, or None."""
    host = environ.get("HTTP_HOST", "")
    if host not in hosts:
        ways = "open it at 127.0.0.1 or localhost, or start it with --host and the name it is to be reached by"
        return 421, f"This dashboard is not called {host[:60]!a}; {ways}."
    origin = environ.get("HTTP_ORIGIN")
    if environ.get("REQUEST_METHOD") not in ("GET", "HEAD") and origin is not None and not _same(origin, host):
        return 403, f"A page of {origin[:60]!a} may not send requests to this dashboard."
    # Browsers say which page a request comes from; following a link to a view from elsewhere is fine.
    from_elsewhere = environ.get("HTTP_SEC_FETCH_SITE", "none") not in ("same-origin", "none")
    if from_elsewhere and environ.get("HTTP_SEC_FETCH_MODE") != "navigate":
        return 403, "A page of another site may not send requests to this dashboard."
    length = environ.get("CONTENT_LENGTH") or "0"
    if not (length.isascii() and length.isdigit()):
        return 400, "The request does not state its length."
    if len(length) > 12 or int(length) > MOST_BYTES:
        return 413, f"The request is longer than {MOST_BYTES >> 20} MB."
    return None


def _same(origin: str, host: str) -> bool:
    """Whether an origin is that of this server, as the browser names it."""
    try:
        parts = urlsplit(origin)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.netloc) and parts.netloc.lower() == host.lower()
