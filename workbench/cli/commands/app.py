"""``lengthlens app``: the dashboard."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from workbench.cli.options import DeviceOption, DtypeOption, TrustCode


def serve_app(
    folders: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[DIR]...", help="Show the runs in these folders. Default: checkpoints/."),
    ] = None,
    host: Annotated[str, typer.Option(help="Listen on this address.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535, help="Listen on this port.")] = 8050,
    browser: Annotated[
        bool,
        typer.Option(
            "--open/--no-browser",
            help="Open the dashboard in a browser. By default the command only prints the address.",
        ),
    ] = False,
    filter_: Annotated[
        list[str] | None,
        typer.Option(
            "--filter",
            metavar="KEY=VALUE",
            help="Show only these runs on the Runs page: task=parity, verdict=length-coupled, positions=rotary, "
            "tag=TAG, or name=TEXT for runs whose name contains TEXT. If you give a value without a key, it is a "
            "task, a verdict or a part of the name. Repeatable.",
        ),
    ] = None,
    trust_code: TrustCode = None,
    device: DeviceOption = "cpu",
    dtype: DtypeOption = None,
) -> None:
    """Start the dashboard on this machine. It contacts no other machine."""
    from workbench.cli.runs_page_filter import runs_page_filter

    page = runs_page_filter(filter_ or [])
    from workbench.dashboard.app import serve
    from workbench.models.compute_device import ComputeDevice

    options: list[tuple[str, str | None]] = [("--device", device if device != "cpu" else None), ("--dtype", dtype)]
    options += [("--filter", text) for text in filter_ or ()]
    options += [("--trust-code", str(file)) for file in trust_code or ()]
    given = [word for name, value in options if value for word in (name, value)]
    chosen = ComputeDevice(device, dtype or "").resolve()
    serve(
        folders or [Path("checkpoints")],
        host=host,
        port=port,
        open_browser=browser,
        trust_code=trust_code or (),
        device=chosen,
        typed=["lengthlens", "app", *map(str, folders or ()), *given],
        page=page,
    )
