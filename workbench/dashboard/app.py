"""Making the app and serving it."""

from __future__ import annotations

import contextlib
import inspect
import logging
import shlex
import socket
import threading
import webbrowser
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dash import Dash
from flask import Response
from waitress.server import create_server

from workbench.core.direction_marks import without_direction_marks_utf8
from workbench.core.failures import logging_to
from workbench.dashboard import command_palette, downloads, measure_now, request_check, router, saved_views
from workbench.dashboard.components import head_files, page_frame, theme
from workbench.dashboard.guard import LOCAL, READ_BYTES, Hosts, guard_application, policy
from workbench.dashboard.pages import cursor_page
from workbench.dashboard.pages.all_pages import PAGES
from workbench.dashboard.panels import guided_tour
from workbench.dashboard.panels.panel_updates import drawing
from workbench.dashboard.panels.prefetch import Prefetch
from workbench.dashboard.server.compression import compress_answers
from workbench.dashboard.server.connection_limits import IDLE_SECONDS, limit_connections
from workbench.dashboard.server.context import Context
from workbench.dashboard.server.error_log import error_handler, log_uncaught
from workbench.dashboard.server.worker import Worker
from workbench.dashboard.state.request_gate import taking_turns
from workbench.dashboard.state.store import Store
from workbench.models.compute_device import USUAL_DEVICE, ComputeDevice
from workbench.table.errors import TableError
from workbench.table.layout import require_folder
from workbench.tasks.source_code import trust

USUAL_FOLDER = Path("checkpoints")
"""What is served where no folder is named, whether it is there yet or not."""
THREADS = 8
"""Requests that are taken at once; few of them compute at a time."""


def create_app(root: Path | Sequence[Path], host: str = LOCAL[0], device: ComputeDevice = USUAL_DEVICE) -> Dash:
    """Return the dashboard of one or several folders of runs. It writes nothing to them, and does not import torch.

    Args:
        root: folder, or folders, below which runs are found; a folder that is still missing is empty.
        host: what it will be served on: it answers to that name and to those of this machine (:class:`.guard.Hosts`).
        device: the device on which the workers' models compute.
    """
    roots = [Path(root)] if isinstance(root, str | Path) else [Path(one) for one in root]
    # The model context protocol serves every callback to local agents: nothing a reader's tool should open.
    options: dict[str, Any] = (
        {"enable_mcp": False} if "enable_mcp" in inspect.signature(Dash.__init__).parameters else {}
    )
    app = Dash(
        "lengthlens",
        assets_folder=str(head_files.ASSETS),
        assets_ignore=head_files.PASSED_OVER,
        title="LengthLens",
        update_title="",
        suppress_callback_exceptions=True,
        serve_locally=True,
        add_log_handler=False,
        **options,
    )
    head_files.add(app)
    app.index_string = theme.index_string()
    app.layout = page_frame.layout(roots, measure_now.strip(), saved_views.drawer())
    workers = {"worker": Worker(device=device), "measurer": Worker(device=device)}
    context = Context(Store(roots), **workers, prefetch=Prefetch(drawing))
    router.connect(app, context)
    cursor_page.connect(app, context, PAGES)
    measure_now.connect(app, context)
    saved_views.connect(app, context)
    for page in PAGES:
        page.connect(app, context)
    downloads.connect(app.server, context)
    command_palette.connect(app.server, context)
    guided_tour.connect(app.server, context)
    request_check.connect(app)
    log_uncaught(app.server)
    compress_answers(app.server)
    app.server.json.ensure_ascii = False  # type: ignore[attr-defined]  # text as it is, for what follows
    app.server.after_request(plain_direction)  # before it is compressed: what is registered last comes first
    app.server.extensions["lengthlens"] = context
    scripts = [*app.csp_hashes(), theme.early_hash()]
    # What is refused takes no turn.
    app.server.wsgi_app = guard_application(taking_turns(app.server.wsgi_app), Hosts(host), policy(scripts))
    return app


def plain_direction(response: Response) -> Response:
    """An answer that a page shows, without the characters that turn the direction of text."""
    if response.mimetype in ("application/json", "text/html"):
        response.set_data(without_direction_marks_utf8(response.get_data()))
    return response


def serve(
    roots: Path | Sequence[Path],
    host: str = "127.0.0.1",
    port: int = 8050,
    open_browser: bool = False,
    debug: bool = False,
    trust_code: Sequence[Path] = (),
    device: ComputeDevice = USUAL_DEVICE,
    typed: Sequence[str] = ("python", "app.py"),
    page: str = "/",
) -> None:
    """Serve the dashboard until Ctrl-C.

    Args:
        roots: folder, or folders, below which runs are found.
        host, port: where to listen.
        open_browser: whether to open one.
        debug: serve by Dash's own development server.
        trust_code: files whose code the worker may run, for the runs whose task it is.
        device: the device on which the workers' models compute.
        typed: the words of the command that serves, without host and port, to be typed again.
        page: the page that is opened, as its path and query.

    Raises:
        TaskError: for a file of ``trust_code`` that cannot be read.
        SystemExit: if a folder is missing (but the usual one, which may be still to come) or the port is taken, naming
            the way out.
    """
    for root in _listed(roots):
        _require(root)
    for file in trust_code:
        trust(file)
    if not _free(host, port):
        there = [] if host == LOCAL[0] else ["--host", host]
        again = shlex.join([*typed, *there, "--port", str(port + 1 if port < 65535 else 8050)])
        raise SystemExit(f"port {port} on {host} is taken; choose another: {again}")
    with logging_to(error_handler()):
        app = create_app(roots, host, device)
        address = f"http://{f'[{host}]' if ':' in host else host}:{port}{page}"
        print(
            f"LengthLens reads {', '.join(page_frame.folder_text(r) for r in _listed(roots))} and serves {address} "
            f"(Ctrl-C ends it{'' if open_browser else '; --open opens the browser'})",
            flush=True,
        )
        threading.Thread(target=app.server.extensions["lengthlens"].store.refresh, daemon=True).start()  # read ahead
        if host not in LOCAL:
            print(f"warning: everybody who reaches {host}:{port} can read these folders; there is no login", flush=True)
        if open_browser:
            threading.Timer(1.0, webbrowser.open, [address]).start()
        try:
            if debug:
                app.run(host=host, port=port, debug=True, use_reloader=False)
            else:
                quiet_server(app, host, port).run()
        except KeyboardInterrupt:
            pass
        finally:
            app.server.extensions["lengthlens"].close()


def quiet_server(app: Dash, host: str, port: int) -> Any:
    """A server for the app (``run``, ``effective_port``, ``close``) that logs no request; errors are logged.

    Connections are kept and threads are reused. One move of a slider sends a dozen requests at once, and a new
    connection and thread for each would take longer than most answers. A page that waits for a worker occupies a thread
    meanwhile.
    """
    logging.getLogger("waitress.queue").setLevel(logging.ERROR)
    server = create_server(
        app.server,
        host=host,
        port=port,
        threads=THREADS,
        connection_limit=1000,
        channel_timeout=IDLE_SECONDS,
        cleanup_interval=5,
        max_request_body_size=READ_BYTES,
        asyncore_use_poll=True,
        ident=None,
    )
    return limit_connections(server)


def _require(root: Path) -> None:
    if root != USUAL_FOLDER:
        try:
            require_folder(root)
        except TableError as error:
            raise SystemExit(str(error)) from None


def _listed(roots: Path | Sequence[Path]) -> list[Path]:
    return [Path(roots)] if isinstance(roots, str | Path) else [Path(one) for one in roots]


def _free(host: str, port: int) -> bool:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with contextlib.closing(socket.socket(family, socket.SOCK_STREAM)) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
    return True
