"""The command ``lengthlens``: its commands by name, each with a file in ``commands/`` that is imported when it runs.

Commands import what they need when called, so that --help is instant.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from workbench import __version__
from workbench.cli.guesses import ALIASES, first_unknown_option, option_before_command, unknown_command, unknown_option

COMMANDS: Mapping[str, str] = {
    "train": "workbench.cli.commands.train:train",
    "sweep": "workbench.cli.commands.sweep:sweep",
    "fork": "workbench.cli.commands.fork:fork",
    "measure": "workbench.cli.commands.measure:measure",
    "eval": "workbench.cli.commands.eval:evaluate",
    "adopt": "workbench.cli.commands.adopt:adopt",
    "open": "workbench.cli.commands.in_context.open:open_model",
    "prompts": "workbench.cli.commands.in_context.prompts:prompts",
    "answers": "workbench.cli.commands.in_context.answers:answers",
    "compile": "workbench.cli.commands.compile:compile_program",
    "list": "workbench.cli.commands.list:list_runs",
    "status": "workbench.cli.commands.status:status",
    "stop": "workbench.cli.commands.stop:stop",
    "info": "workbench.cli.commands.info:info",
    "steps": "workbench.cli.commands.steps:list_steps",
    "config": "workbench.cli.commands.config:print_config",
    "compare": "workbench.cli.commands.compare:compare",
    "plot": "workbench.cli.commands.plot:plot",
    "ablate": "workbench.cli.commands.ablate:ablate",
    "patch": "workbench.cli.commands.patch:patch",
    "attention": "workbench.cli.commands.attention:attention",
    "diagnose": "workbench.cli.commands.diagnose:diagnose",
    "prescribe": "workbench.cli.commands.prescribe:prescribe",
    "challenge": "workbench.cli.commands.challenge:challenge",
    "app": "workbench.cli.commands.app:serve_app",
    "gallery": "workbench.cli.commands.gallery:open_gallery",
    "tasks": "workbench.cli.commands.tasks:tasks",
    "measurements": "workbench.cli.commands.measurements:list_measurements",
    "quantities": "workbench.cli.commands.quantities:list_quantities",
    "glossary": "workbench.cli.commands.glossary:define",
    "docs": "workbench.cli.commands.docs:print_places",
    "new": "workbench.cli.commands.new:new",
    "predict": "workbench.cli.commands.predict:predict",
    "reproduce": "workbench.cli.commands.reproduce:reproduce",
    "cite": "workbench.cli.commands.cite:cite",
    "report": "workbench.cli.commands.sharing.report:report",
    "publish": "workbench.cli.commands.sharing.publish:publish",
    "export": "workbench.cli.commands.sharing.export:export",
    "data": "workbench.cli.commands.data:data",
    "fetch": "workbench.cli.commands.fetch:fetch",
    "rename": "workbench.cli.commands.rename:rename",
    "rm": "workbench.cli.commands.rm:remove_runs",
    "check": "workbench.cli.commands.check:check",
    "demo": "workbench.cli.commands.demo:demo",
}
"""Name -> where the command's function is; in the order of --help."""


class GuessingCommand(TyperCommand):
    """A command that answers an unknown option with the option that was probably meant."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        refuse_unknown_option(self, str(self.name), args)
        return super().parse_args(ctx, args)


def refuse_unknown_option(command: Any, name: str, words: list[str]) -> None:
    """Raise an error for the first option on the command line that the command does not have. Without a name, the
    command is `lengthlens` itself.

    Raises:
        UsageError: naming the option that was probably meant.
    """
    from workbench.cli.errors import UsageError

    options = {opt: param for param in command.params for opt in (*param.opts, *param.secondary_opts)}
    known = {*options, "--help", "--debug"}
    with_value = {opt for opt, param in options.items() if opt.startswith("-") and not getattr(param, "is_flag", True)}
    if unknown := first_unknown_option(words, known, with_value):
        named = {opt for opt in known if opt.startswith("--")}
        raise UsageError(unknown_option(unknown, name, named) if name else option_before_command(unknown))


def function_of(name: str) -> Any:
    """The function of a command."""
    module, _, function = COMMANDS[name].partition(":")
    return getattr(import_module(module), function)


class BuiltCommands(Mapping[str, Any]):
    """The commands as typer builds them from their functions, each when it is first looked up."""

    def __init__(self) -> None:
        self._built: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._built:
            single = typer.Typer(add_completion=False, rich_markup_mode="markdown", pretty_exceptions_enable=False)
            single.command(name, cls=GuessingCommand)(function_of(name))
            self._built[name] = typer.main.get_command(single)
        return self._built[name]

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)


class CommandGroup(TyperGroup):
    """A group that imports only the command that runs; --help imports them all."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**{**attributes, "commands": BuiltCommands()})
        self._listing = False

    def format_help(self, ctx: Any, formatter: Any) -> None:
        self._listing = True
        try:
            super().format_help(ctx, formatter)
        finally:
            self._listing = False

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of a name. A list of commands needs no options, which take most of the time to build."""
        if self._listing and cmd_name in COMMANDS:
            return TyperCommand(cmd_name, help=inspect.getdoc(function_of(cmd_name)))
        return super().get_command(ctx, cmd_name)

    def list_commands(self, ctx: Any) -> list[str]:
        return [*COMMANDS]

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        own = [word for word in args[:1] if word.startswith("--")]
        if not ctx.resilient_parsing:
            refuse_unknown_option(self, "", own)
        return super().parse_args(ctx, args)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command of the first word, which may be another name of it; `help COMMAND` is `COMMAND --help`.

        Raises:
            UsageError: for an unknown word, naming what was probably meant.
        """
        first, rest = args[0], args[1:]
        if first == "help" and not ctx.resilient_parsing:
            if not rest:
                print(ctx.get_help())
                raise typer.Exit
            first, rest = rest[0], ["--help"]
        words = ALIASES.get(first, (first,))
        if words[0] not in COMMANDS and not ctx.resilient_parsing:
            from workbench.cli.errors import UsageError

            raise UsageError(unknown_command(first, COMMANDS))
        return super().resolve_command(ctx, [*words, *rest])


app = typer.Typer(
    name="lengthlens",
    cls=CommandGroup,
    invoke_without_command=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    help="""Test whether a model still works on inputs longer than those it was trained on, and find out why.

For example, train a model, measure its checkpoints at many prefix lengths, and open the results in a browser:

- lengthlens train majority --positions none --lengths 1-50 --out checkpoints/majority
- lengthlens measure checkpoints
- lengthlens app checkpoints
""",
)


def _version(asked: bool) -> None:
    if asked:
        print(f"lengthlens {__version__}")
        raise typer.Exit


@app.callback()
def whole(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
    debug: Annotated[
        bool,
        typer.Option(
            "--debug",
            help="Show the traceback of an error instead of one sentence. You can also write it after the command.",
        ),
    ] = False,  # taken out of the words by workbench.cli.errors.guarded
) -> None:
    if context.invoked_subcommand is None:
        print(context.get_help())
        print(f"Next: {next_step(Path('checkpoints'))}")


def next_step(folder: Path) -> str:
    """The command that makes sense next, by what a folder of runs holds."""
    from workbench.runs.errors import RunError
    from workbench.runs.run import find_runs

    try:
        runs = find_runs(folder, [])
    except RunError:
        runs = []
    if not runs:
        demo = "lengthlens demo (five minutes: three runs trained, measured and shown)"
        return f"lengthlens gallery (the runs that come with it, in a browser), or {demo}"
    if not all((run.path / "measurements").exists() or (run.path / "table.parquet").exists() for run in runs):
        return f"lengthlens measure {folder}"
    return f"lengthlens app {folder}"


def main() -> None:
    """Entry point: prints one sentence and exits with a non-zero status for an error that the user can correct."""
    from workbench.cli.errors import exit_status

    sys.exit(exit_status(app))


if __name__ == "__main__":
    main()
