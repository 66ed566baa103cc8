"""The dashboard's door: ``python app.py [FOLDER ...] [--host HOST] [--port PORT] [--trust-code FILE]``."""

from __future__ import annotations

import argparse
from pathlib import Path


def main(arguments: list[str] | None = None) -> None:
    """Read the command line and serve until Ctrl-C."""
    parser = argparse.ArgumentParser(description="Start the LengthLens dashboard on this machine.")
    parser.add_argument(
        "folders",
        nargs="*",
        type=Path,
        default=[Path("checkpoints")],
        metavar="FOLDER",
        help="show the runs in these folders (default: checkpoints)",
    )
    parser.add_argument(
        "--host", default="127.0.0.1", help="listen on this address (default: 127.0.0.1, only this machine)"
    )
    parser.add_argument("--port", type=int, default=8050, help="listen on this port (default: 8050)")
    parser.add_argument("--open", action="store_true", help="open the dashboard in a browser")
    parser.add_argument(
        "--trust-code",
        action="append",
        default=[],
        type=Path,
        metavar="FILE",
        help="allow the code of this Python file to run, if the task of a run is defined in it; repeatable",
    )
    parser.add_argument("--debug", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    folders = [] if given.folders == parser.get_default("folders") else given.folders
    trusted = [word for file in given.trust_code for word in ("--trust-code", str(file))]

    # Imported here: the worker process imports this file again and needs none of it.
    from workbench.dashboard.app import serve

    serve(
        given.folders,
        host=given.host,
        port=given.port,
        open_browser=given.open,
        debug=given.debug,
        trust_code=given.trust_code,
        typed=["python", "app.py", *map(str, folders), *trusted],
    )


if __name__ == "__main__":
    main()
