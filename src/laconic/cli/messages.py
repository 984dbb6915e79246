"""Messages of one line on standard error, and the exit codes."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import typer
from typer.core import TyperGroup

# Exit codes, beside 0. After Ctrl-C it is that of shells: 128 and the number of the signal.
NOT_PROVED, BAD_INPUT, INTERRUPTED = 1, 2, 130
# The words of this command line, without the name of the program.
COMMAND: ContextVar[tuple[str, ...]] = ContextVar("COMMAND", default=())


def say(message: object) -> None:
    """Print a message on standard error, as one line."""
    typer.echo(f"laconic: {' '.join(str(message).split())}", err=True)


@contextmanager
def one_line_messages() -> Iterator[None]:
    """Print warnings, errors about the input and interruptions as one line each on standard error."""

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        from laconic.core.monitor import Hint, Note

        kind = "" if isinstance(message, Note) else "hint: " if isinstance(message, Hint) else "warning: "
        say(f"{kind}{message}")

    with warnings.catch_warnings():
        # Other warnings are for programmers.
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", UserWarning)
        warnings.filterwarnings("ignore", "Glyph", UserWarning)  # one for each letter that a font does not have
        warnings.showwarning = show
        try:
            yield
        except BrokenPipeError:  # the program that reads our output, such as head, has ended
            raise
        except (ValueError, TypeError, OSError, MemoryError, ImportError) as error:
            if getattr(error, "name", None) is not None:  # a module that is missing, without a sentence about it
                raise
            named = isinstance(error, OSError) and error.filename is not None
            say(f"{error.filename}: {error.strerror}." if named else error)  # type: ignore[union-attr]
            raise typer.Exit(BAD_INPUT) from None
        except KeyboardInterrupt as error:
            say(str(error) or "Interrupted.")
            raise typer.Exit(INTERRUPTED) from None


class Commands(TyperGroup):
    """All commands. An option that is not known, or a value of the wrong kind, is one line, too."""

    def list_commands(self, _: Any) -> list[str]:
        """Return the commands in the order of the help: from data to a result, then what to do with it."""
        return list(self.commands)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command whose help names its arguments without types of Python, such as list[Path]."""
        command = super().get_command(ctx, cmd_name)
        for parameter in command.params if command is not None else ():
            if parameter.param_type_name == "argument":
                # Versions of typer that print the type call this.
                vars(parameter)["display_type_rich"] = lambda **_: None
        return command

    def make_context(self, info_name: str | None, args: list[str], *given: Any, **extra: Any) -> Any:
        """Read the options above the command, and keep the words of the command line."""
        COMMAND.set(tuple(args))
        with _one_line_usage():
            return super().make_context(info_name, args, *given, **extra)

    def invoke(self, ctx: Any) -> Any:
        """Read the options of the command, and run it."""
        with _one_line_usage():
            return super().invoke(ctx)


@contextmanager
def _one_line_usage() -> Iterator[None]:
    try:
        yield
    except Exception as error:
        # typer has the class of click, or its own copy, depending on its version.
        kinds = [kind.__name__ for kind in type(error).__mro__]
        if "UsageError" not in kinds or "NoArgsIsHelpError" in kinds:
            raise
        context = getattr(error, "ctx", None)
        message = " ".join(error.format_message().split())  # type: ignore[attr-defined]
        end = "" if message.endswith((".", "?")) else "."
        say(f"{message}{end} See {'laconic' if context is None else context.command_path} --help.")
        raise typer.Exit(BAD_INPUT) from None
