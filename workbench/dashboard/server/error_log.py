"""The log of the dashboard: unexpected errors, on standard error, with the page and the callback that met them."""

from __future__ import annotations

import logging
import sys
from types import TracebackType
from typing import TextIO
from urllib.parse import urlsplit

from flask import Flask, has_request_context, request

from workbench.core.failures import LOG, Repeats, error_explanation

FORMAT = "%(asctime)s %(levelname)s %(name)s%(origin)s: %(message)s"
CALLBACKS = "/_dash-update-component"


def request_origin() -> str:
    """The page and the callback of the request that this thread answers, or "" outside a request."""
    if not has_request_context():
        return ""
    if request.path != CALLBACKS:
        return f" [{request.path}]"
    page = urlsplit(request.referrer or "")
    content = request.get_json(silent=True)
    output = content.get("output", "") if isinstance(content, dict) else ""
    address = page.path + (f"?{page.query}" if page.query else "")
    return f" [page {address or 'unknown'}, callback {str(output)[:200] or 'unknown'}]"


class NamedRequests(logging.Filter):
    """Adds to each record which page and callback it is of."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Add the name of the request to a log record, and return True."""
        record.__dict__.setdefault("origin", request_origin())
        return True


def error_handler(stream: TextIO | None = None) -> logging.Handler:
    """Return a logging handler that prints the records of ``lengthlens`` to a stream; None = standard error."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(logging.Formatter(FORMAT))
    handler.addFilter(NamedRequests())
    handler.addFilter(Repeats())
    return handler


def log_uncaught(server: Flask) -> None:
    """Log what no callback catches under ``lengthlens.dashboard``, instead of Flask's line without the callback."""

    def log(exc_info: tuple[type, BaseException, TracebackType] | tuple[None, None, None]) -> None:
        error = exc_info[1]
        LOG.getChild("dashboard").error(
            "%s", "not answered" if error is None else error_explanation(error), exc_info=exc_info
        )

    server.log_exception = log  # type: ignore[method-assign]
